"""The hosts with what is asked of them: playbooks run on all, a corpus taken in, containers that were replaced."""

import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from . import hosts
from .client import Client
from .composed import api_key
from .corpus import QUESTION, ROOT
from .journal import expect
from .playbooks import Controller, Outcome

NAMES = ("alpha", "beta")


class Fleet:
    """Two hosts and their controller."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        keys = folder / "api_keys.json"
        self.key = api_key(keys)
        self.hosts = hosts.start(NAMES, folder)
        self.alpha, self.beta = self.hosts
        self.controller = Controller(
            folder / "controller",
            self.hosts,
            {
                "steelyard_api_keys_source": str(keys),
                "steelyard_image_archive": str(folder / "images.tar"),
                "steelyard_image_lock": str(folder / "images.lock"),
                "steelyard_models_archive": str(folder / "models.tar"),
                "steelyard_gateway_address": "0.0.0.0",
                "steelyard_scopes": "public",
                "steelyard_backup_folder": str(folder / "backups"),
            },
        )

    def client(self, host: hosts.Host, key: str | None = None) -> Client:
        """Asks the gateway of a host, with the key of this run unless another is given."""
        return Client(host.address, key or self.key)

    def ran(self, playbook: str, *words: str, of: Mapping[str, Mapping[str, Any]], **given: Any) -> Outcome:
        """Run a playbook. Raises LabError when it fails."""
        done = self.controller.run(playbook, of, *words, **given)
        expect(done.succeeded, f"{playbook} failed:\n{done.text[-6000:]}")
        return done

    def sees(self, host: hosts.Host) -> None:
        """Raise LabError unless the gateway of a host finds evidence for the question."""
        expect(self.client(host).answers(QUESTION), f"{host.name} does not show the evidence to the model")

    def ingest(self, host: hosts.Host) -> None:
        """Take the demonstration corpus in."""
        packed = subprocess.run(
            ["tar", "-C", str(ROOT / "examples"), "-cf", "-", "corpus"], capture_output=True, check=True
        )
        unpack = "tar -xf - -C /srv && chmod -R a+rX /srv/corpus"
        subprocess.run([*host.ssh, unpack], input=packed.stdout, check=True)
        host.run(
            "cd /opt/steelyard/current && docker compose run --rm -T -v /srv/corpus:/documents:ro cli"
            " ingest --url http://dataprep:5000 /documents"
        )


def replaced(before: Mapping[str, str], after: Mapping[str, str]) -> set[str]:
    """The services whose container is another one."""
    return {name for name in after if after[name] != before.get(name)}
