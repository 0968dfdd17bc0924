"""The same two hosts as one stack, with what can be there twice on both: a rolling update behind HAProxy."""

import secrets
from typing import Any

from .client import Load
from .corpus import QUESTION
from .fleet import NAMES, Fleet
from .journal import Journal, Step, expect

GROUPS = {
    "gateway": ["alpha", "beta"],
    "retriever": ["alpha"],
    "dataprep": ["alpha"],
    "embedding": ["alpha", "beta"],
    "reranker": ["alpha", "beta"],
}
_OWN: dict[str, dict[str, Any]] = {name: {"steelyard_llm_model_id": "smollm2-135m-instruct"} for name in NAMES}


class OneStack:
    """The steps in their order, on hosts whose stacks were taken away and whose data was kept."""

    def __init__(self, fleet: Fleet, journal: Journal) -> None:
        self._fleet = fleet
        self._journal = journal

    def steps(self) -> list[tuple[str, Step]]:
        """Every step with its name."""
        return [
            ("site.yml, one stack on both hosts", self.first_run),
            ("site.yml, rolling update behind HAProxy", self.rolling),
            ("uninstall.yml with the data", self.purge),
        ]

    def first_run(self) -> str:
        """One stack between the hosts finds the documents that were kept."""
        token = {"steelyard_service_token": secrets.token_urlsafe(32)}
        self._fleet.controller.keep_in_vault(
            {"group_vars/all": {"steelyard_verify_key": self._fleet.key, **token}, "host_vars/alpha": token}
        )
        done = self._fleet.ran("site.yml", of=_OWN, groups=GROUPS)
        for host in self._fleet.hosts:
            wanted = {tier if tier != "gateway" else "chatqna" for tier, names in GROUPS.items() if host.name in names}
            expect(set(host.containers()) == wanted | {"llm"}, f"{host.name} runs {sorted(host.containers())}")
            self._fleet.sees(host)
        return f"{done.seconds:.0f} s, documents of before found from both gateways"

    def rolling(self) -> str:
        """A setting of rerankers and gateways changes, host by host, while questions come in on both hosts.

        With it, no answer may do without a reranker. What also the one retriever reads would interrupt answers: the
        embedded store is one file, so there is no second retriever.
        """
        changed = {name: {**own, "steelyard_rerank_failure_policy": "fail"} for name, own in _OWN.items()}
        client = self._fleet.client
        with Load(client(self._fleet.alpha), QUESTION) as first, Load(client(self._fleet.beta), QUESTION) as second:
            done = self._fleet.ran("site.yml", of=changed, groups=GROUPS)
        lost = first.lost + second.lost
        degraded = first.counts["degraded"] + second.counts["degraded"]
        seen = f"{lost} of {first.asked + second.asked} requests lost, {degraded} degraded"
        expect(lost == 0, f"lost requests: {dict(first.counts)}, {dict(second.counts)}")
        expect(degraded == 0, f"answers without a reranker: {dict(first.counts)}, {dict(second.counts)}")
        self._journal.figure(
            "rolling update of rerankers and gateways behind HAProxy, asked on both hosts",
            f"{done.seconds:.0f} s; {seen}",
        )
        return seen

    def purge(self) -> str:
        """Told to, uninstall.yml deletes documents, ledgers, models and secrets as well."""
        done = self._fleet.ran("uninstall.yml", of=_OWN, groups=GROUPS, extra={"steelyard_purge_data": True})
        for host in self._fleet.hosts:
            left = host.run("docker ps -aq; docker volume ls -q; ls -A /opt/steelyard").split()
            expect(not left, f"{host.name} still has {left}")
        return f"{done.seconds:.0f} s, nothing left"
