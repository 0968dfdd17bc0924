"""The laboratory: the real playbooks against two hosts with systemd, over ssh. `python -m tests.lab FOLDER`.

Needs root, an engine, mmdebstrap, ssh and ansible-playbook; `make lab-test` brings the images and the bundle. Prints
one line for each step with its time, and fails with the first step that does not hold.
"""

import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from . import hosts
from .client import Client, Load
from .playbooks import ROOT, Controller, Outcome

QUESTION = "What torque do the gland bolts of the AX-104-B pump need?"
EVIDENCE = "24 Nm"
NAMES = ("alpha", "beta")
OWN: dict[str, dict[str, Any]] = {
    "alpha": {
        "steelyard_reranking_strategy": "adaptive",
        "steelyard_token_cost_alpha": 0.5,
        "steelyard_novelty_sigmoid_a": 12,
    },
    "beta": {
        "steelyard_reranking_strategy": "slice_threshold",
        "steelyard_reranking_threshold": 0.1,
        "steelyard_reranker_top_n": 4,
        "steelyard_llm_model_id": "smollm2-135m-instruct",
        "steelyard_llm_context_tokens": 2048,
    },
}
SPREAD = {
    "gateway": ["alpha"],
    "retriever": ["alpha"],
    "dataprep": ["alpha"],
    "embedding": ["beta"],
    "reranker": ["alpha", "beta"],
}


class Laboratory:
    """The steps in their order; each says what it saw."""

    def __init__(self, folder: Path) -> None:
        self._key, keys = _api_key(folder)
        self._hosts = hosts.start(NAMES, folder)
        self._alpha, self._beta = self._hosts
        self._folder = folder
        self._controller = Controller(
            folder,
            self._hosts,
            {
                "steelyard_api_keys_source": str(keys),
                "steelyard_image_archive": str(folder / "images.tar"),
                "steelyard_models_archive": str(folder / "models.tar"),
                "steelyard_gateway_address": "0.0.0.0",
                "steelyard_scopes": "public",
                "steelyard_backup_folder": str(folder / "backups"),
                "steelyard_verify_key": self._key,
            },
        )

    def steps(self) -> list[tuple[str, Callable[[], str]]]:
        """Every step with its name."""
        return [
            ("check mode on fresh hosts", self.check_mode),
            ("first run", self.first_run),
            ("documents and a question", self.question),
            ("second run", self.second_run),
            ("one variable", self.one_variable),
            ("rollback", self.rollback),
            ("a reranker that is never ready", self.bad_release),
            ("reboot", self.reboot),
            ("backup and restore", self.round_trip),
            ("secrets", self.secrets),
            ("uninstall, then one stack on both hosts", self.spread),
        ]

    def check_mode(self) -> str:
        """A dry run shows the env file and touches nothing."""
        done = self._ran("site.yml", "--check", "--diff")
        _expect("+TOKEN_COST_ALPHA='0.5'" in done.text, "the env file is not in the difference")
        _expect(self._alpha.run("ls /opt/steelyard 2>/dev/null | wc -l").strip() == "0", "alpha was written to")
        return "env file shown, nothing written"

    def first_run(self) -> str:
        """Two empty hosts become two stacks, each with its own env file."""
        self._ran("site.yml", "--diff")
        for host in self._hosts:
            wanted = (ROOT / f"tests/lab/golden/{host.name}.env").read_text(encoding="utf-8")
            _expect(host.run("cat /opt/steelyard/current/.env") == wanted, f"the env file of {host.name} is another")
        return "env files are the golden ones"

    def question(self) -> str:
        """The demonstration corpus is taken in, and the question finds its evidence and an answer."""
        answers = []
        for host in self._hosts:
            self._ingest(host)
            _expect(self._sees(host), f"{host.name} does not show the evidence to the model")
            answers.append(Client(host.address, self._key).ask(QUESTION))
            _expect(bool(answers[-1].strip()), f"{host.name} gave no answer")
        return f"{answers}"

    def second_run(self) -> str:
        """The same again changes nothing and replaces no container."""
        before = [host.containers() for host in self._hosts]
        done = self._ran("site.yml")
        _expect(set(done.changed.values()) == {0}, f"changed {done.changed}")
        _expect([host.containers() for host in self._hosts] == before, "containers were replaced")
        return f"changed {done.changed}"

    def one_variable(self) -> str:
        """A changed variable replaces the services that read it and no other."""
        before = self._beta.containers()
        self._ran("site.yml", of={**OWN, "beta": {**OWN["beta"], "steelyard_token_cost_alpha": 2}})
        return f"replaced on beta: {self._replaced(before, {'reranker'})}"

    def rollback(self) -> str:
        """One command brings the release of before back, under load, without losing a request."""
        before = self._beta.containers()
        with Load(Client(self._beta.address, self._key), QUESTION) as load:
            done = self._ran("rollback.yml", "--limit", "beta")
        _expect(load.lost == 0, f"lost requests: {dict(load.counts)}")
        return f"{done.seconds:.0f} s, {self._replaced(before, {'reranker'})} replaced, asked {dict(load.counts)}"

    def bad_release(self) -> str:
        """A release whose reranker never becomes ready is taken back on every host by itself."""
        links = [host.run("readlink /opt/steelyard/current") for host in self._hosts]
        for host in self._hosts:
            host.run(
                "for it in $(docker image ls --format '{{.Repository}}' | grep ^steelyard/ | sort -u);"
                " do docker tag $it:latest $it:broken; done;"
                " docker rm -f broken &>/dev/null; docker create --name broken steelyard/reranker:latest >/dev/null;"
                " echo 'raise SystemExit(1)' >/tmp/never.py;"
                " docker cp /tmp/never.py broken:/opt/steelyard/healthcheck.py;"
                " docker commit broken steelyard/reranker:broken >/dev/null; docker rm broken >/dev/null"
            )
        with Load(Client(self._beta.address, self._key), QUESTION) as load:
            release = {"steelyard_image_tag": "broken", "steelyard_wait_timeout_s": 60}
            done = self._play("site.yml", extra=release)
        _expect(not done.succeeded, "the release was accepted")
        _expect("reranker on " in done.text and "runs again" in done.text, "the cause is not named")
        _expect(
            [host.run("readlink /opt/steelyard/current") for host in self._hosts] == links, "a host did not go back"
        )
        self._ran("verify.yml")
        return f"back after {done.seconds:.0f} s, asked {dict(load.counts)}"

    def reboot(self) -> str:
        """A host that restarts has its stack back by itself."""
        self._beta.reboot()
        began = time.monotonic()
        while True:
            try:
                Client(self._beta.address, self._key).inspect(QUESTION)
            except OSError:
                _expect(time.monotonic() - began < 300, "the stack of beta is not back after 300 s")
                time.sleep(1)
            else:
                return f"answers {time.monotonic() - began:.0f} s after the engine"

    def round_trip(self) -> str:
        """A backup that is brought back has every row of before, though everything was deleted in between."""
        self._ran("backup.yml", "--limit", "beta")
        (kept,) = (self._folder / "backups").iterdir()
        self._beta.run(
            "cd /opt/steelyard/current && docker compose stop dataprep retriever >/dev/null 2>&1;"
            " docker run --rm -u 0 -v steelyard_store:/data steelyard/cli:latest sh -c 'rm /data/*'"
        )
        done = self._ran("restore.yml", "--limit", "beta", extra={"steelyard_restore_from": str(kept)})
        _expect(self._sees(self._beta), "beta lost its documents")
        return f"rows compared by the playbook, {done.seconds:.0f} s"

    def secrets(self) -> str:
        """The token and the key are in their files and nowhere else."""
        places = 0
        for host in self._hosts:
            token = host.run("cat /opt/steelyard/secrets/service_token")
            for secret in (token, self._key):
                found = host.run(
                    f"docker inspect $(docker ps -aq) | grep -cF '{secret}';"
                    f" grep -rlF '{secret}' /opt/steelyard /var/log /etc /root | grep -v secrets/service_token | wc -l;"
                    f" journalctl --no-pager | grep -vF 'grep -cF' | grep -cF '{secret}';"
                    f" for it in $(docker ps -q); do docker logs $it 2>&1; done | grep -cF '{secret}'",
                    check=False,
                ).split()
                _expect(set(found) == {"0"}, f"{host.name} shows a secret: inspect, files, journal, logs = {found}")
                places += len(found)
                shown = sum(secret in output for output in self._controller.outputs)
                _expect(shown == 0, f"{shown} outputs of playbooks show a secret")
        return f"{places} searches on hosts, {len(self._controller.outputs)} outputs of playbooks"

    def spread(self) -> str:
        """The same hosts carry one stack between them; one of two rerankers may be replaced without a lost request."""
        self._ran("uninstall.yml")
        of = {"alpha": OWN["alpha"], "beta": {}}
        first = self._ran("site.yml", of=of, groups=SPREAD)
        _expect(set(self._beta.containers()) == {"embedding", "reranker"}, f"beta runs {self._beta.containers()}")
        _expect(self._sees(self._alpha), "alpha does not show the evidence to the model")
        again = self._ran("site.yml", of=of, groups=SPREAD)
        _expect(set(again.changed.values()) == {0}, f"changed {again.changed}")
        changed = {host: {**variables, "steelyard_confusion_cost_weight": 0.9} for host, variables in of.items()}
        with Load(Client(self._alpha.address, self._key), QUESTION) as load:
            self._ran("site.yml", of=changed, groups=SPREAD)
        _expect(load.lost == 0, f"lost requests: {dict(load.counts)}")
        _expect(load.counts["degraded"] == 0, f"answers without a reranker: {dict(load.counts)}")
        return f"first run {first.seconds:.0f} s; rolling update under load: {dict(load.counts)}"

    def _play(self, playbook: str, *words: str, **given: Any) -> Outcome:
        return self._controller.run(playbook, given.pop("of", OWN), *words, **given)

    def _ran(self, playbook: str, *words: str, **given: Any) -> Outcome:
        done = self._play(playbook, *words, **given)
        _expect(done.succeeded, f"{playbook} failed:\n{done.text[-6000:]}")
        return done

    def _replaced(self, before: dict[str, str], wanted: set[str]) -> list[str]:
        after = self._beta.containers()
        replaced = {name for name in after if after[name] != before.get(name)}
        _expect(replaced == wanted, f"replaced {replaced}, not {wanted}")
        return sorted(replaced)

    def _sees(self, host: hosts.Host) -> bool:
        ledger = Client(host.address, self._key).inspect(QUESTION)
        return bool(ledger["outcome"] == "ok")

    def _ingest(self, host: hosts.Host) -> None:
        packed = subprocess.run(
            ["tar", "-C", str(ROOT / "examples"), "-cf", "-", "corpus"], capture_output=True, check=True
        )
        unpack = "tar -xf - -C /srv && chmod -R a+rX /srv/corpus"
        subprocess.run([*host.ssh, unpack], input=packed.stdout, check=True)
        host.run(
            "cd /opt/steelyard/current && docker compose run --rm -T -v /srv/corpus:/documents:ro cli"
            " ingest --url http://dataprep:5000 /documents"
        )


def _expect(holds: bool, otherwise: str) -> None:
    if not holds:
        raise hosts.LabError(otherwise)


def _api_key(folder: Path) -> tuple[str, Path]:
    path = folder / "api_keys.json"
    words = [sys.executable, "-m", "steelyard_cli", "keys", "add", "lab", "--scope", "public"]
    key = hosts.run(*words, "--requests-per-minute", "100000", "--file", str(path))
    return key.strip(), path


def main(folder: Path) -> int:
    """Run every step; returns the exit code. The hosts are removed, whatever happens."""
    whole = time.monotonic()
    hosts.stop(NAMES)
    for old in ("key", "key.pub", "api_keys.json"):
        (folder / old).unlink(missing_ok=True)
    shutil.rmtree(folder / "backups", ignore_errors=True)
    try:
        laboratory = Laboratory(folder)
        sys.stdout.write(f"hosts: {time.monotonic() - whole:.0f} s\n")
        for name, step in laboratory.steps():
            began = time.monotonic()
            seen = step()
            sys.stdout.write(f"{name}: {time.monotonic() - began:.0f} s: {seen}\n")
            sys.stdout.flush()
    except hosts.LabError as error:
        sys.stdout.write(f"FAILED: {error}\n")
        return 1
    finally:
        hosts.stop(NAMES)
    sys.stdout.write(f"all in {time.monotonic() - whole:.0f} s\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve()))
