"""Runs the real playbooks over ssh and says what they did."""

import os
import re
import secrets
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from .corpus import ROOT
from .hosts import Host, run

_RECAP = re.compile(r"^(\w+) +: ok=(\d+) +changed=(\d+) +unreachable=(\d+) +failed=(\d+)", re.MULTILINE)


@dataclass(frozen=True)
class Outcome:
    """What one run of a playbook printed, whether it succeeded, how long it took, and what changed on each host."""

    text: str
    succeeded: bool
    seconds: float
    changed: dict[str, int]


class Controller:
    """An inventory of the laboratory's hosts; keeps the output of every run, for the search for secrets."""

    def __init__(self, folder: Path, hosts: list[Host], common: Mapping[str, Any]) -> None:
        self._folder = folder
        self._hosts = hosts
        self._common = dict(common)
        self._password = folder / "vault_password"
        self.outputs: list[str] = []
        folder.mkdir(mode=0o700)
        self._password.write_text(secrets.token_urlsafe(32), encoding="utf-8")

    def keep_in_vault(self, variables: Mapping[str, Mapping[str, str]]) -> None:
        """Keep secret variables beside the inventory, encrypted: by `group_vars/GROUP` or `host_vars/HOST`."""
        for place, of in variables.items():
            path = self._folder / f"{place}.yml"
            path.parent.mkdir(exist_ok=True)
            words = ["ansible-vault", "encrypt", "--vault-password-file", str(self._password), "--output", str(path)]
            run(*words, stdin=yaml.safe_dump(dict(of)))

    def run(
        self,
        playbook: str,
        of: Mapping[str, Mapping[str, Any]],
        *words: str,
        groups: Mapping[str, list[str]] | None = None,
        extra: Mapping[str, Any] | None = None,
    ) -> Outcome:
        """Run one playbook; `of` has each host's own variables, `extra` those of all, none is on the command line."""
        inventory = self._folder / "hosts.yml"
        inventory.write_text(yaml.safe_dump(self._inventory(of, groups or {}, extra or {})), encoding="utf-8")
        inventory.chmod(0o600)
        environment = {**os.environ, "ANSIBLE_CONFIG": str(ROOT / "ansible/ansible.cfg"), "ANSIBLE_NOCOLOR": "1"}
        began = time.monotonic()
        vault = ["--vault-password-file", str(self._password)]
        command = ["ansible-playbook", "-i", str(inventory), *vault, playbook, *words]
        done = subprocess.run(
            command, cwd=ROOT / "ansible", env=environment, capture_output=True, text=True, check=False
        )
        text = done.stdout + done.stderr
        self.outputs.append(text)
        changed = {name: int(count) for name, _, count, _, _ in _RECAP.findall(text)}
        return Outcome(text, done.returncode == 0, time.monotonic() - began, changed)

    def _inventory(
        self, of: Mapping[str, Mapping[str, Any]], groups: Mapping[str, list[str]], extra: Mapping[str, Any]
    ) -> dict[str, Any]:
        common = {
            "ansible_user": "root",
            "ansible_python_interpreter": "/usr/bin/python3",
            "ansible_ssh_private_key_file": str(self._hosts[0].key),
            "ansible_ssh_common_args": "-o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null",
            **self._common,
            **extra,
        }
        hosts = {host.name: {"ansible_host": host.address, **of.get(host.name, {})} for host in self._hosts}
        children = {name: {"hosts": dict.fromkeys(members)} for name, members in groups.items()}
        return {"all": {"vars": common, "hosts": hosts, "children": children}}
