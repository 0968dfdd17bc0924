"""Carrying out a plan on a manifest, part by part and query by query."""

from collections.abc import Sequence
from pathlib import Path

from steelyard_reranker.pairs import PairPlanner, PairSettingError, PairSettings, QueryTooLongError

from ..errors import RunError, UnsupportedLengthError
from ..manifest import FrozenCandidate, FrozenQuery, Manifest, ModelIdentity
from ..tell import Tell
from .applied import reranked, retrieved
from .hardware import hardware
from .journal import Journal
from .oracle import centred
from .plan import Part, Plan
from .reading import Reader, Readings
from .record import Record, record
from .result import Run, summarise


def run_plan(manifest: Manifest, plan: Plan, reader: Reader, journal_path: Path, tell: Tell) -> Run:
    """Run every part on every query, those that an unfinished run has done left out.

    Raises RunError when the reader is another model than the manifest's, and what the reader raises. What no part could
    read is refused before anything is read.
    """
    check_reranker(manifest, reader.identity)
    parts = list(plan.parts())
    _check_lengths(manifest, parts, reader)
    identity = {"manifest": manifest.sha256, "plan": plan.sha256(), "reranker": reader.identity.sha256}
    of = len(parts) * len(manifest.queries)
    with Journal(journal_path, identity) as journal:
        known = _Known(reader)
        for number, part in enumerate(parts):
            for position, query in enumerate(manifest.queries):
                if (part.key, query.query_id) not in journal.records:
                    journal.add(_measure(manifest, part, query, known))
                tell(part.key, number * len(manifest.queries) + position + 1, of)
        summaries = [
            summarise(part, [journal.records[part.key, query.query_id] for query in manifest.queries]) for part in parts
        ]
        return Run(
            manifest=manifest.name,
            manifest_sha256=manifest.sha256,
            context_budget=manifest.context_budget,
            plan=plan.as_json(),
            hardware=hardware(),
            load_seconds=reader.load_seconds,
            first_read_seconds=known.first_seconds,
            parts=summaries,
        )


def check_reranker(manifest: Manifest, identity: ModelIdentity) -> None:
    """Raise RunError when the manifest was frozen for another reranker than this one."""
    if identity.sha256 != manifest.reranker.sha256:
        raise RunError(
            f"the manifest was frozen for reranker {manifest.reranker.name} ({manifest.reranker.sha256[:12]}),"
            f" this is {identity.name} ({identity.sha256[:12]}); --reranker names the one that reads"
        )


def _check_lengths(manifest: Manifest, parts: Sequence[Part], reader: Reader) -> None:
    """Raise UnsupportedLengthError for a pair length that a part can not have, with the model or with a query."""
    bounds = [part.policy.effective_pairs(manifest.pair_limit) for part in parts if part.policy is not None]
    for pairs in dict.fromkeys(bounds):
        try:
            planner = PairPlanner(reader.pair_format, pairs)
            for query in manifest.queries:
                planner.plans(query.query, [])
        except PairSettingError as error:
            raise UnsupportedLengthError(str(error)) from error
        except QueryTooLongError as error:
            raise UnsupportedLengthError(f"query {query.query_id!r}: {error.detail}") from error


class _Known:
    """Readings by what was read, so that parts that read the same share one measurement."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._done: dict[tuple[object, ...], Readings] = {}
        self.first_seconds: float | None = None

    def read(
        self, query: FrozenQuery, candidates: Sequence[FrozenCandidate], pairs: PairSettings, *, oracle: bool
    ) -> Readings:
        key = (query.query_id, tuple(one.id for one in candidates), pairs, oracle)
        if key not in self._done:
            if self.first_seconds is None:
                self.first_seconds = self._reader.read(query.query, candidates, pairs).seconds
            if oracle:
                plain = self.read(query, candidates, pairs, oracle=False)
                self._done[key] = centred(self._reader, query, candidates, pairs, plain)
            else:
                self._done[key] = self._reader.read(query.query, candidates, pairs)
        return self._done[key]


def _measure(manifest: Manifest, part: Part, query: FrozenQuery, known: _Known) -> Record:
    if part.policy is None:
        ids = [one.id for one in query.candidates]
        return record(part.key, query, ids, retrieved(query, manifest.context_budget), None)
    policy = part.policy
    candidates = policy.looked_at(query.candidates)
    readings = known.read(query, candidates, policy.effective_pairs(manifest.pair_limit), oracle=part.oracle)
    applied = reranked(query, candidates, readings.readings, policy, manifest.context_budget)
    return record(part.key, query, [one.id for one in candidates], applied, readings)
