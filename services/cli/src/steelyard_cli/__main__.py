"""The `steelyard` command, and `python -m steelyard_cli`: the imports of a command can be interrupted, too."""

import signal
import sys


def main() -> None:
    """Run the command line; Ctrl-C ends it with 130 (`ExitCode.INTERRUPTED`), also while it is being loaded.

    SIGTERM, by which `timeout` and service managers end a command, is told to services and user as Ctrl-C is.
    """
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        from .main import main as command_line

        command_line()
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
