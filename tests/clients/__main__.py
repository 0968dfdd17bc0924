"""Try other makers' clients against a real gateway: `make clients-test`.

They live in an environment of their own (`.venv-clients`, from requirements/clients.lock). The services run in this
one, over the model server's double, and the tests in that one.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.harness.stack import start_stack

FOLDER = Path(__file__).parent
CLIENTS = FOLDER.parents[1] / ".venv-clients" / "bin" / "python"
HANDBOOK = b"# Pump AX-104\n\n## Seals\n\nThe approved seal for AX-104-B is ZQ-77.\n"


def main() -> int:
    """Returns pytest's exit status."""
    with tempfile.TemporaryDirectory() as folder:
        stack = start_stack(Path(folder))
        try:
            reply = stack.ingest(("handbook.md", HANDBOOK))
            if reply.status_code != 200:
                raise RuntimeError(f"the handbook was not ingested: {reply.text}")
            environment = {**os.environ, "STEELYARD_CLIENTS_URL": f"{stack.chatqna.url}/v1"}
            options = ["-q", "-p", "no:cacheprovider", "-c", os.devnull, "-o", "python_files=try_*.py"]
            command = [str(CLIENTS), "-m", "pytest", *options, "--rootdir", str(FOLDER), str(FOLDER)]
            return subprocess.run(command, env=environment, check=False).returncode
        finally:
            stack.stop()


if __name__ == "__main__":
    sys.exit(main())
