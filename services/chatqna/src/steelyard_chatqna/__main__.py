"""`python -m steelyard_chatqna`: run the gateway."""

from steelyard_runtime.serve import run

from .settings import ChatqnaSettings

if __name__ == "__main__":
    run("chatqna", ChatqnaSettings, lambda settings: settings.chatqna_port, "steelyard_chatqna.app:build")
