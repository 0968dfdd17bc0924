"""The laboratory: `python -m tests.lab FOLDER`, inside tests/lab/sandbox.sh and after tests/lab/prepare.sh.

First one stack by Compose alone, then the real playbooks against two hosts with systemd, over ssh. Prints a line for
each step with its time, then the figures, and fails with the first step that does not hold.
"""

import sys
from pathlib import Path

from .composed import ComposedStack
from .fleet import Fleet
from .journal import Journal, LabError
from .one_stack import OneStack
from .two_stacks import TwoStacks


def main(folder: Path) -> int:
    """Run every step; returns the exit code. The hosts end with the sandbox."""
    journal = Journal()
    try:
        journal.walk(ComposedStack(folder, journal).steps())
        fleet = Fleet(folder)
        journal.walk([*TwoStacks(fleet, journal).steps(), *OneStack(fleet, journal).steps()])
    except LabError as error:
        sys.stdout.write(f"FAILED: {error}\n")
        return 1
    journal.close()
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve()))
