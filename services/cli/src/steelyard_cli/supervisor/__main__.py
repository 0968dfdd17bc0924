"""`python -m steelyard_cli.supervisor --state-dir DIR`: run the plan that is the first line of standard input."""

import argparse
import sys
from pathlib import Path

from pydantic import ValidationError

from ..errors import CliError
from .plan import Plan, RunFolder
from .supervisor import supervise


def main() -> int:
    """Run the supervisor and return its exit code."""
    parser = argparse.ArgumentParser(prog="python -m steelyard_cli.supervisor")
    parser.add_argument("--state-dir", type=Path, required=True)
    folder = RunFolder(parser.parse_args().state_dir)
    try:
        plan = Plan.model_validate_json(sys.stdin.readline())
        folder.create()
        supervise(plan, folder)
    except ValidationError as error:
        sys.stderr.write(f"the plan on standard input is refused: {error}\n")
        return 2
    except CliError as error:
        sys.stderr.write(f"{error}\n")
        return int(error.exit_code)
    return 0


if __name__ == "__main__":
    sys.exit(main())
