"""How long the real playbook takes to refuse a wrong inventory: `python -m tests.bench.inventory_bench [ROUNDS]`.

Needs ansible-playbook on the PATH (`make deploy-test` makes `.venv-ansible`). Each fault of the table of tests/deploy
that a single variable makes is put on one of several hosts that do not exist, so that a refusal that asked a host would
be seen by its time. Prints wall and CPU seconds; `ansible-playbook --version` is what Ansible takes to start.
"""

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from tests.deploy.ansible_runs import ANSIBLE
from tests.deploy.test_deploy_preflight import ONE_VARIABLE

HOSTS = 3


def timed(command: Sequence[str]) -> tuple[float, float, int]:
    """Wall seconds, CPU seconds and exit code of one command."""
    environment = {**os.environ, "ANSIBLE_CONFIG": "ansible.cfg"}
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(command, cwd=ANSIBLE, env=environment, capture_output=True, check=False)
    wall, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.returncode


def line(name: str, runs: Sequence[tuple[float, float, int]]) -> str:
    """Median and worst of several runs."""
    walls, cpus = [run[0] for run in runs], [run[1] for run in runs]
    return (
        f"{name}: n={len(runs)}, wall median {statistics.median(walls):.1f} s, worst {max(walls):.1f} s,"
        f" CPU median {statistics.median(cpus):.1f} s"
    )


def main(rounds: int) -> int:
    """Time `rounds` of the table's faults; returns the number of inventories that were not refused."""
    refused, accepted = [], 0
    with tempfile.TemporaryDirectory() as folder:
        inventory = Path(folder) / "hosts.yml"
        for name, value, _ in ONE_VARIABLE[:rounds]:
            hosts = {f"host{number}": {"ansible_host": f"192.0.2.{number}"} for number in range(1, HOSTS + 1)}
            hosts[f"host{HOSTS}"][name] = value
            inventory.write_text(json.dumps({"all": {"hosts": hosts}}), encoding="utf-8")
            run = timed(["ansible-playbook", "-i", str(inventory), "site.yml"])
            refused.append(run)
            accepted += run[2] == 0
    print(line("start of Ansible", [timed(["ansible-playbook", "--version"]) for _ in range(3)]))
    print(line(f"refused inventories of {HOSTS} hosts", refused))
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores; {accepted} were not refused")
    return accepted


if __name__ == "__main__":
    raise SystemExit(main(int(sys.argv[1]) if len(sys.argv) > 1 else len(ONE_VARIABLE)))
