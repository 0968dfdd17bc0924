from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

README = Path(__file__).parents[3] / "services" / "store" / "README.md"


def test_the_example_in_the_readme_prints_what_the_readme_says(tmp_path: Path) -> None:
    program, output = re.findall(r"^```(?:python)?\n(.*?)^```$", README.read_text(), re.MULTILINE | re.DOTALL)
    program = program.replace("/tmp/steelyard", str(tmp_path))
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (ran.stdout, ran.stderr) == (output, "")
