"""Send every service what its OpenAPI allows and what it forbids: `make fuzz`.

Schemathesis lives in an environment of its own (`.venv-fuzz`, from requirements/fuzz.lock). The services run in this
one, over the model server's double. A server error, a reply that its schema does not describe, and a body that is
accepted although its schema forbids it are failures.

    python -m tests.fuzz [--examples 100] [--seed 1] [SERVICE ...]
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.harness.stack import Stack, start_stack

ROOT = Path(__file__).parents[2]
SCHEMATHESIS = ROOT / ".venv-fuzz" / "bin" / "schemathesis"
SERVICES = ("embedding", "retriever", "reranker", "dataprep", "chatqna")
CHECKS = ("no_server_error", "response_schema_conformance", "content_type_conformance", "negative_data_rejection")
HANDBOOK = b"# Pump AX-104\n\n## Seals\n\nThe approved seal for AX-104-B is ZQ-77.\n"


def fuzz(stack: Stack, service: str, examples: int, seed: int) -> int:
    """Schemathesis's exit status for one service; it prints what it sent and what came back."""
    url = getattr(stack, service).url
    command = [
        str(SCHEMATHESIS), "run", str(ROOT / "docs" / "reference" / "openapi" / f"{service}.json"), "--url", url,
        "--checks", ",".join(CHECKS), "--mode", "all", "--phases", "examples,coverage,fuzzing",
        "--max-examples", str(examples), "--seed", str(seed), "--continue-on-failure", "--request-timeout", "120",
        "--warnings", "off", "--no-color",
    ]  # fmt: skip
    environment = {**os.environ, "SCHEMATHESIS_HOOKS": "tests.fuzz.checks", "PYTHONPATH": str(ROOT)}
    return subprocess.run(command, env=environment, cwd=ROOT, check=False).returncode


def main() -> int:
    """Returns 1 when a service fails."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--examples", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("services", nargs="*", default=SERVICES)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        stack = start_stack(Path(folder))
        try:
            reply = stack.ingest(("handbook.md", HANDBOOK))
            if reply.status_code != 200:
                raise RuntimeError(f"the handbook was not ingested: {reply.text}")
            failed = [one for one in options.services if fuzz(stack, one, options.examples, options.seed)]
        finally:
            stack.stop()
    sys.stdout.write(f"failed: {', '.join(failed)}\n" if failed else "no service failed\n")
    return min(1, len(failed))


if __name__ == "__main__":
    sys.exit(main())
