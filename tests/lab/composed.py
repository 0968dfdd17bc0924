"""One stack by Compose alone, on the laboratory's own engine: what an operator without Ansible runs."""

import json
import os
import signal
import sys
from functools import partial
from pathlib import Path
from typing import Any

from .client import Client, Load
from .corpus import EVIDENCE, EVIDENCE_IN, QUESTION, ROOT
from .hosts import run
from .journal import Journal, Step, eventually, expect

SERVICES = ("embedding", "dataprep", "retriever", "reranker", "llm", "chatqna")
GATEWAY = "chatqna"
_LARGEST_MB = 350
_USER = "10001"
_FILES = ("compose.yaml", "compose.embedded.yaml")
_PATIENCE_S = 300


class ComposedStack:
    """The stack of compose.yaml with the embedded overlay; its secrets and keys are in a folder of this run."""

    def __init__(self, folder: Path, journal: Journal) -> None:
        self._folder = folder
        self._journal = journal
        self._keys = folder / "composed/keys"
        self._keys.mkdir(parents=True)
        self._token = folder / "composed/service_token"
        self._token.write_text(os.urandom(24).hex(), encoding="utf-8")
        key_file = self._keys / "api_keys.json"
        self._key = api_key(key_file)
        for path in (self._token, self._keys, key_file):
            os.chown(path, int(_USER), int(_USER))
        self._token.chmod(0o400)
        self._client = Client("127.0.0.1", self._key)

    def steps(self) -> list[tuple[str, Step]]:
        """Every step with its name."""
        return [
            ("size of the images", self.sizes),
            ("compose up --wait", self.up),
            ("a question to the composed stack", self.question),
            ("what the running containers may do", self.policy),
            ("each service killed once", self.killed),
            ("compose down", self.down),
        ]

    def sizes(self) -> str:
        """No image is larger than what was promised."""
        listed = run("docker", "image", "ls", "--format", "{{.Repository}}", "--filter", "reference=steelyard/*:latest")
        sizes = {}
        for name in sorted(listed.split()):
            sizes[name.removeprefix("steelyard/")] = round(int(_inspect(f"{name}:latest", "{{.Size}}")) / 1e6)
        expect(set(sizes) == {*SERVICES, "cli"}, f"the images are {sorted(sizes)}")
        large = {name: size for name, size in sizes.items() if size >= _LARGEST_MB}
        expect(not large, f"images of {_LARGEST_MB} MB or more: {large}")
        base = round(int(_inspect("python:3.11-slim-bookworm", "{{.Size}}")) / 1e6)
        shown = ", ".join(f"{name} {size}" for name, size in sorted(sizes.items(), key=lambda it: -it[1]))
        self._journal.figure("images, MB", f"{shown}; {base} of each is the base, and shared")
        return shown

    def up(self) -> str:
        """Every service becomes healthy."""
        archive = f"{self._folder}/models.tar:/models.tar:ro"
        unpack = ("tar", "--extract", "--no-same-owner", "--file=/models.tar", "--directory=/models")
        self._compose("run", "--rm", "-T", "--volume", archive, "models", *unpack)
        began = self._journal.seconds
        self._compose("up", "--wait", "--wait-timeout", str(_PATIENCE_S), "--no-build", "--detach")
        seconds = self._journal.seconds - began
        states = {name: self._state(name)["Health"]["Status"] for name in SERVICES}
        expect(set(states.values()) == {"healthy"}, f"states {states}")
        self._journal.figure("`compose up --wait`, images and models there", f"{seconds:.0f} s")
        return f"healthy: {', '.join(states)}"

    def question(self) -> str:
        """A document is taken in, and the question finds its answer there."""
        corpus = f"{ROOT / 'examples/corpus'}:/documents:ro"
        ingest = ("ingest", "--url", "http://dataprep:5000", f"/documents/{EVIDENCE_IN}")
        self._compose("run", "--rm", "-T", "-v", corpus, "cli", *ingest)
        answer = self._client.ask(QUESTION)
        expect(EVIDENCE in answer, f"the answer is {answer!r}")
        return answer

    def policy(self) -> str:
        """The kernel and the engine say of each running container what the Compose files promise of it."""
        for name in SERVICES:
            found = json.loads(run("docker", "inspect", self._id(name)))[0]
            faults = [*_held_back(found), *self._open(name, found), *self._shown(found)]
            expect(not faults, f"{name}: {'; '.join(faults)}")
        return f"{len(SERVICES)} containers hold to what was promised"

    def killed(self) -> str:
        """Each service is killed while questions come, starts again by itself, and the stack answers as before."""
        seen = []
        for name in SERVICES:
            back = partial(self._back, name, self._restarts(name))
            with Load(self._client, QUESTION) as load:
                os.kill(self._state(name)["Pid"], signal.SIGKILL)
                seconds = eventually(back, _PATIENCE_S, f"{name} is not back")
            eventually(partial(self._client.answers, QUESTION), _PATIENCE_S, f"no evidence since {name} was killed")
            seen.append(f"{name} {seconds:.0f} s")
            self._journal.figure(f"`{name}` killed, asked meanwhile", f"back after {seconds:.0f} s; {load.shown}")
        return ", ".join(seen)

    def down(self) -> str:
        """Everything of the stack is taken away, its volumes included."""
        self._compose("down", "--volumes", "--timeout", "20")
        left = run("docker", "ps", "--all", "--quiet", "--filter", "label=com.docker.compose.project=steelyard")
        expect(not left.split(), f"containers are left: {left}")
        return "nothing left"

    def _compose(self, *words: str) -> str:
        given = {"STEELYARD_SERVICE_TOKEN_FILE": str(self._token), "API_KEYS_FOLDER": str(self._keys)}
        files = [word for name in _FILES for word in ("-f", str(ROOT / "compose" / name))]
        return run("docker", "compose", *files, *words, environment=given)

    def _id(self, service: str) -> str:
        return f"steelyard-{service}-1"

    def _state(self, service: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(_inspect(self._id(service), "{{json .State}}"))
        return found

    def _restarts(self, service: str) -> int:
        return int(_inspect(self._id(service), "{{.RestartCount}}"))

    def _back(self, service: str, before: int) -> bool:
        return self._restarts(service) > before and self._state(service)["Health"]["Status"] == "healthy"

    def _open(self, name: str, found: dict[str, Any]) -> list[str]:
        ports = {key: value for key, value in found["NetworkSettings"]["Ports"].items() if value}
        wanted = {"8888/tcp": [{"HostIp": "127.0.0.1", "HostPort": "8888"}]} if name == GATEWAY else {}
        networks = list(found["NetworkSettings"]["Networks"])
        ways_out = [it for it in networks if _inspect(it, "{{.Internal}}", kind="network") != "true"]
        wanted_out = ["steelyard_edge"] if name == GATEWAY else []
        return [
            *([f"publishes {ports}"] if ports != wanted else []),
            *([f"has a way out by {ways_out}"] if ways_out != wanted_out else []),
        ]

    def _shown(self, found: dict[str, Any]) -> list[str]:
        secrets = (self._token.read_text(encoding="utf-8"), self._key)
        everything = json.dumps(found)
        process = Path(f"/proc/{found['State']['Pid']}")
        texts = {
            "docker inspect": everything,
            "its environment": (process / "environ").read_text(encoding="utf-8", errors="replace"),
            "its command line": (process / "cmdline").read_text(encoding="utf-8", errors="replace"),
            "its log": run("docker", "logs", found["Id"], errors=True),
        }
        return [f"a secret is in {place}" for place, text in texts.items() if any(it in text for it in secrets)]


def api_key(path: Path) -> str:
    """A new key for the scope of the demonstration, whose hash is added to a file."""
    words = [sys.executable, "-m", "steelyard_cli", "keys", "add", "lab", "--scope", "public"]
    return run(*words, "--requests-per-minute", "100000", "--file", str(path)).strip()


def _inspect(name: str, template: str, kind: str = "") -> str:
    return run("docker", *([kind] if kind else []), "inspect", "--format", template, name).strip()


def _held_back(found: dict[str, Any]) -> list[str]:
    host = found["HostConfig"]
    lines = Path(f"/proc/{found['State']['Pid']}/status").read_text(encoding="utf-8").splitlines()
    status = {name: value.split() for name, _, value in (line.partition(":") for line in lines)}
    wanted = {
        f"runs as {status['Uid']}": set(status["Uid"]) == {_USER} == set(status["Gid"]),
        f"has capabilities {status['CapEff']}": int(status["CapEff"][0], 16) == 0,
        f"could gain capabilities {status['CapBnd']}": int(status["CapBnd"][0], 16) == 0,
        "may gain privileges": status["NoNewPrivs"] == ["1"],
        "runs without a filter of system calls": status["Seccomp"] == ["2"],
        "can write its file system": host["ReadonlyRootfs"] is True,
        "is privileged": host["Privileged"] is False,
        f"has devices {host['Devices']}": not host["Devices"],
        "has no memory limit": host["Memory"] > 0,
        "has no limit on processes": (host["PidsLimit"] or 0) > 0,
    }
    return [fault for fault, holds in wanted.items() if not holds]
