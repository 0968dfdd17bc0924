"""Runs playbooks on this machine in place of every host of an inventory."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.deploy.compose_files import ROOT

ANSIBLE = ROOT / "ansible"
PLAYBOOKS = Path(__file__).parent / "playbooks"
needs_ansible = pytest.mark.skipif(
    shutil.which("ansible-playbook") is None, reason="ansible-playbook is not installed (docs/operate/ansible.md)"
)


def play(playbook: str | Path, inventory: Path, root: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Run a playbook of ansible/ or at a path; each host has a folder of its own below `root`."""
    where = f"steelyard_root={root}/{{{{ inventory_hostname }}}}"
    here = ["-e", "ansible_connection=local", "-e", "ansible_python_interpreter={{ ansible_playbook_python }}"]
    command = ["ansible-playbook", "-i", str(inventory), str(playbook), "-e", where, *here]
    clean = {"PATH": os.environ["PATH"], "HOME": str(root), "LC_ALL": "C.UTF-8", "ANSIBLE_CONFIG": "ansible.cfg"}
    return subprocess.run([*command, *options], cwd=ANSIBLE, env=clean, capture_output=True, text=True, check=False)
