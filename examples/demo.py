"""`make demo`: start the stack, ingest the demo corpus, ask the demo question, show its ledger, stop.

Every step is a command that a person can type; each is printed before it runs. A stack that runs already is used and
left running, and so is the demo's own with `--keep`.
"""

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

EXAMPLES = Path(__file__).parent
COMMAND = (str(Path(sys.executable).parent / "steelyard"),)


def main() -> int:
    """Run the demo; returns the exit code of the first step that fails, 0 when all succeed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--keep", action="store_true", help="leave the stack running at the end")
    keep = parser.parse_args().keep
    running = subprocess.run([*COMMAND, "status", "--json"], capture_output=True, check=False).returncode == 0
    if not running and (failed := step("up", "--detach")):
        return failed
    try:
        return step("ingest", str(EXAMPLES / "corpus")) or step("ask", demo_question())
    finally:
        if not running and not keep:
            step("down")


def demo_question() -> str:
    """The question of `questions.json` that is marked as the demo's."""
    listed = json.loads((EXAMPLES / "questions.json").read_text(encoding="utf-8"))["questions"]
    return next(str(one["question"]) for one in listed if one.get("demo"))


def step(*arguments: str) -> int:
    """Print and run one command of the product; returns its exit code."""
    shown = " ".join(f'"{one}"' if " " in one else one for one in ("steelyard", *arguments))
    print(f"\n$ {shown}", flush=True)
    started = time.monotonic()
    code = subprocess.run([*COMMAND, *arguments], check=False).returncode
    print(f"({time.monotonic() - started:.1f} s)", flush=True)
    return code


if __name__ == "__main__":
    raise SystemExit(main())
