"""Two hosts with a stack and variables of their own each: from a machine without an engine to data that outlives it."""

import json
import re
import secrets
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from .client import Load
from .corpus import EVIDENCE, QUESTION, ROOT, golden_questions
from .fleet import Fleet, replaced
from .hosts import Host
from .journal import Journal, Step, eventually, expect
from .leaks import Leaks
from .playbooks import Outcome

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
_NEVER_READY = (
    "it=$(docker create steelyard/reranker:latest) && echo 'raise SystemExit(1)' >/tmp/never.py"
    " && docker cp /tmp/never.py $it:/opt/steelyard/healthcheck.py && docker commit $it && docker rm $it >/dev/null"
)
"""Makes an image whose reranker works and is never ready, and prints its id."""
_IMAGE_ID = re.compile("sha256:[0-9a-f]{64}")
_PATIENCE_S = 300
_TOKEN = "/opt/steelyard/secrets/service_token"


class TwoStacks:
    """The steps in their order; each says what it saw."""

    def __init__(self, fleet: Fleet, journal: Journal) -> None:
        self._fleet = fleet
        self._journal = journal
        self._leaks = Leaks(fleet)
        self._to_answer: dict[str, float] = {}
        self._vault(secrets.token_urlsafe(32))

    def steps(self) -> list[tuple[str, Step]]:
        """Every step with its name."""
        return [
            ("engines by hosts.yml", self.engines),
            ("site.yml --check --diff on fresh hosts", self.check_mode),
            ("site.yml, first run", self.first_run),
            ("documents and a question on each host", self.question),
            ("site.yml, second run", self.second_run),
            ("site.yml, one variable of one host changed", self.one_variable),
            ("rollback.yml", self.rollback),
            ("site.yml, an image whose reranker is never ready", self.bad_release),
            ("reboot of a host", self.reboot),
            ("backup.yml, everything deleted, restore.yml", self.round_trip),
            ("rotate_secrets.yml", self.rotate),
            ("search for secrets", self.search),
            ("uninstall.yml", self.uninstall),
        ]

    def engines(self) -> str:
        """Hosts without an engine are given one."""
        without = [host.name for host in self._fleet.hosts if not host.run("command -v docker", check=False)]
        expect(without == list(OWN), f"only {without} had no engine")
        done = self._ran("hosts.yml")
        self._to_answer["engines"] = done.seconds
        versions = "docker version --format {{.Server.Version}}; docker compose version --short"
        return " ".join(self._fleet.alpha.run(versions).split())

    def check_mode(self) -> str:
        """A dry run shows the env file and no secret, and touches nothing."""
        done = self._ran("site.yml", "--check", "--diff")
        expect("+TOKEN_COST_ALPHA='0.5'" in done.text, "the env file is not in the difference")
        self._leaks.outputs()
        for host in self._fleet.hosts:
            expect(host.run("ls /opt/steelyard 2>/dev/null | wc -l").strip() == "0", f"{host.name} was written to")
        return "env file shown, no secret shown, nothing written"

    def first_run(self) -> str:
        """Two empty hosts become two stacks, each with its own env file."""
        done = self._ran("site.yml", "--diff")
        self._to_answer["site.yml"] = done.seconds
        for host in self._fleet.hosts:
            wanted = (ROOT / f"tests/lab/golden/{host.name}.env").read_text(encoding="utf-8")
            found = _IMAGE_ID.sub("sha256:ID", host.run("cat /opt/steelyard/current/.env"))
            expect(found == wanted, f"the env file of {host.name} is another:\n{found}")
        self._note_token()
        return "env files are the golden ones"

    def question(self) -> str:
        """The demonstration corpus is taken in, and the question finds its evidence and an answer."""
        began = self._journal.seconds
        with ThreadPoolExecutor() as beside:
            list(beside.map(self._fleet.ingest, self._fleet.hosts))
        answers = []
        for host in self._fleet.hosts:
            self._fleet.sees(host)
            answers.append(self._fleet.client(host).ask(QUESTION))
            expect(EVIDENCE in answers[-1], f"{host.name} answers {answers[-1]!r}")
        self._to_answer["corpus and answers"] = self._journal.seconds - began
        parts = ", ".join(f"{name} {seconds:.0f} s" for name, seconds in self._to_answer.items())
        whole = sum(self._to_answer.values())
        self._journal.figure("two empty hosts to an answered question on both", f"{whole:.0f} s ({parts})")
        return f"{answers}"

    def second_run(self) -> str:
        """The same again changes nothing and replaces no container."""
        before = [host.containers() for host in self._fleet.hosts]
        done = self._ran("site.yml")
        expect(set(done.changed.values()) == {0}, f"changed {done.changed}")
        expect([host.containers() for host in self._fleet.hosts] == before, "containers were replaced")
        self._journal.figure("`site.yml` again", f"{done.seconds:.0f} s, changed {sum(done.changed.values())}")
        return f"changed {done.changed}"

    def one_variable(self) -> str:
        """A changed variable replaces the services that read it and no other."""
        before = [host.containers() for host in self._fleet.hosts]
        done = self._ran("site.yml", of={**OWN, "beta": {**OWN["beta"], "steelyard_token_cost_alpha": 2}})
        after = [host.containers() for host in self._fleet.hosts]
        changed = [replaced(was, now) for was, now in zip(before, after, strict=True)]
        expect(changed == [set(), {"reranker"}], f"replaced {changed}")
        seen = "its reranker replaced, nothing else"
        self._journal.figure("one variable of one host changed", f"{done.seconds:.0f} s, {seen}")
        return seen

    def rollback(self) -> str:
        """One command brings the release of before back, under load, without losing a request."""
        before = self._fleet.beta.containers()
        with Load(self._fleet.client(self._fleet.beta), QUESTION) as load:
            done = self._ran("rollback.yml", "--limit", "beta")
        changed = replaced(before, self._fleet.beta.containers())
        expect(changed == {"reranker"}, f"replaced {changed}")
        expect(load.lost == 0, f"lost requests: {dict(load.counts)}")
        self._journal.figure("`rollback.yml`, asked all the while", f"{done.seconds:.0f} s; {load.shown}")
        return load.shown

    def bad_release(self) -> str:
        """A new image whose reranker never becomes ready is taken back on every host, without a lost request."""
        links = self._links()
        bad = {host.name: {**OWN[host.name], "steelyard_image_lock": self._lock(host)} for host in self._fleet.hosts}
        client = self._fleet.client
        with Load(client(self._fleet.alpha), QUESTION) as first, Load(client(self._fleet.beta), QUESTION) as second:
            done = self._fleet.controller.run("site.yml", bad, extra={"steelyard_wait_timeout_s": 60})
        expect(not done.succeeded, "the release was accepted")
        named = "reranker on " in done.text and "runs again" in done.text
        expect(named, f"the cause is not named:\n{done.text[-6000:]}")
        expect(self._links() == links, "a host did not go back")
        expect(first.lost + second.lost == 0, f"lost requests: {dict(first.counts)}, {dict(second.counts)}")
        self._ran("verify.yml")
        both = f"alpha {first.shown}, beta {second.shown}"
        self._journal.figure(
            "a new image whose reranker is never ready (60 s allowed), asked all the while",
            f"taken back on both hosts after {done.seconds:.0f} s; {both}",
        )
        return both

    def reboot(self) -> str:
        """A host that restarts has its stack back by itself."""
        began = self._journal.seconds
        self._fleet.beta.reboot()
        client = self._fleet.client(self._fleet.beta)
        eventually(lambda: client.answers(QUESTION), _PATIENCE_S, "the stack of beta is not back")
        seconds = self._journal.seconds - began
        self._journal.figure("reboot of a host until its stack answers", f"{seconds:.0f} s")
        return "the stack answers"

    def round_trip(self) -> str:
        """A backup that is brought back has every row of before, and golden questions find the same evidence."""
        beta = self._fleet.beta
        client = self._fleet.client(beta)
        questions = golden_questions()
        before = [client.evidence(question) for question in questions]
        expect(sum(map(len, before)) > len(questions), f"the golden questions find nothing: {before}")
        saved = self._ran("backup.yml", "--limit", "beta")
        (kept,) = (self._fleet.folder / "backups").iterdir()
        beta.run(
            "cd /opt/steelyard/current && docker compose stop dataprep retriever >/dev/null 2>&1;"
            " docker run --rm -u 0 -v steelyard_store:/data steelyard/cli:latest sh -c 'rm /data/*'"
        )
        done = self._ran("restore.yml", "--limit", "beta", extra={"steelyard_restore_from": str(kept)})
        after = [client.evidence(question) for question in questions]
        expect(after == before, f"the evidence is another:\n{before}\n{after}")
        seen = f"rows of every table equal, evidence of {len(questions)} golden questions the same"
        times = f"{saved.seconds:.0f} s, {done.seconds:.0f} s"
        self._journal.figure("`backup.yml`, everything deleted, `restore.yml`", f"{times}; {seen}")
        return seen

    def rotate(self) -> str:
        """Every host has a new token, the old one opens nothing, and the stacks answer."""
        old = [host.run(f"cat {_TOKEN}") for host in self._fleet.hosts]
        wanted = secrets.token_urlsafe(32)
        self._vault(wanted)
        done = self._ran("rotate_secrets.yml")
        self._note_token()
        new = [host.run(f"cat {_TOKEN}") for host in self._fleet.hosts]
        expect(new[0] == wanted, "the token of alpha is not the vault's")
        for host, was, now in zip(self._fleet.hosts, old, new, strict=True):
            seen = [self._fleet.client(host, token).status("/metrics") for token in (was, now)]
            expect(seen == [401, 200], f"{host.name} answers the old and the new token with {seen}")
            self._fleet.sees(host)
        self._journal.figure("`rotate_secrets.yml`", f"{done.seconds:.0f} s, every container replaced")
        return "old tokens refused, new ones known, evidence found"

    def search(self) -> str:
        """Tokens and keys are in their files and nowhere else."""
        seen = self._leaks.everywhere()
        self._journal.figure("search for tokens and keys", seen)
        return seen

    def uninstall(self) -> str:
        """The services are gone, and documents, ledgers, models and secrets are there."""
        done = self._ran("uninstall.yml")
        for host in self._fleet.hosts:
            expect(not host.run("docker ps -aq").split(), f"{host.name} has containers")
            volumes = set(host.run("docker volume ls -q").split())
            wanted = {f"steelyard_{name}" for name in ("store", "ledgers", "models")}
            expect(wanted <= volumes, f"{host.name} has only the volumes {volumes}")
            host.run(f"test -s {_TOKEN}")
        return f"{done.seconds:.0f} s, no container, all volumes and secrets there"

    def _ran(self, playbook: str, *words: str, **given: Any) -> Outcome:
        return self._fleet.ran(playbook, *words, of=given.pop("of", OWN), **given)

    def _links(self) -> list[str]:
        return [host.run("readlink /opt/steelyard/current") for host in self._fleet.hosts]

    def _lock(self, host: Host) -> str:
        locked = json.loads((self._fleet.folder / "images.lock").read_text(encoding="utf-8"))
        never_ready = {"steelyard/reranker:latest": host.run(_NEVER_READY).strip()}
        path = self._fleet.folder / f"{host.name}.lock"
        path.write_text(json.dumps({**locked, **never_ready}), encoding="utf-8")
        return str(path)

    def _vault(self, token: str) -> None:
        self._leaks.secrets |= {token, self._fleet.key}
        of_all = {"steelyard_verify_key": self._fleet.key}
        of_alpha = {"steelyard_service_token": token}
        self._fleet.controller.keep_in_vault({"group_vars/all": of_all, "host_vars/alpha": of_alpha})

    def _note_token(self) -> None:
        self._leaks.secrets |= {host.run(f"cat {_TOKEN}") for host in self._fleet.hosts}
