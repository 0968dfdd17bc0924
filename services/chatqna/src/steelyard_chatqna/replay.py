"""Selecting a recorded ledger's candidates again: what the reranker's `/v1/select` is asked, and what its answer means.

The selection rules are the reranker's, and its `/v1/select` runs the very code that selected the first time; the ledger
has everything that it reads (docs/adr/0011-replay.md).
"""

from collections.abc import Mapping, Sequence
from typing import Any

from steelyard_contracts.answers import Ledger
from steelyard_contracts.enums import Fate, Outcome, Reason, ScoreKind, Strategy
from steelyard_contracts.errors import ErrorCode, SteelyardError
from steelyard_contracts.ledger import LedgerEntry, totals
from steelyard_contracts.replay import Replay, ReplayChange, ReplayRequest, ReplaySide
from steelyard_contracts.selection import SelectionOverrides, SelectResponse
from steelyard_contracts.vectors import Vector

PATH = "/v1/select"

_COMMON = ("top_n", "threshold")
_NAMES = (*SelectionOverrides.model_fields, *_COMMON)
_UNSELECTABLE = frozenset({Reason.NOT_SCORED, Reason.BELOW_COSINE_FLOOR})
"""Reasons given before selection: under no settings of it are such candidates seen."""


def effective(ledger: Ledger, request: ReplayRequest) -> tuple[Strategy, dict[str, Any]]:
    """The strategy and every setting to select with: the request's where it has them, else the recorded ones.

    0 is a value, and null switches `adaptive_floor_score` off. Raises `not_replayable` when the ledger does not record
    them all.
    """
    settings = {name: ledger.settings[name] for name in _NAMES if name in ledger.settings}
    for name in request.settings.model_fields_set:
        value = getattr(request.settings, name)
        if value is not None or name == "adaptive_floor_score":
            settings[name] = value
    settings |= {name: value for name in _COMMON if (value := getattr(request, name)) is not None}
    missing = [name for name in _NAMES if name not in settings]
    if missing and ledger.entries:
        raise _not_replayable(f"it does not record {', '.join(missing)}")
    if "top_n" in settings:
        settings["top_n"] = int(settings["top_n"])  # an older ledger has 3.0
    return ledger.strategy if request.strategy is None else request.strategy, settings


def align_inputs(ledger: Ledger, strategy: Strategy, settings: Mapping[str, Any]) -> dict[str, Any] | None:
    """What `/v1/select` is asked; None when no candidate reached selection. Raises `not_replayable`."""
    if ledger.score_kind is not ScoreKind.RERANK:
        raise _not_replayable(
            f"the reranker had failed, so its candidates have scores of kind {ledger.score_kind} only, and every"
            " strategy selects by rerank scores"
        )
    entries = [entry for entry in ledger.entries if entry.reason not in _UNSELECTABLE]
    if not entries:
        return None
    vectors = _vectors(ledger, entries) if strategy is Strategy.ADAPTIVE else {}
    texts = _stand_ins(entries)
    return {
        "strategy": strategy,
        "candidates": [
            {
                "id": entry.chunk_id,
                "score": 0.0 if entry.reason is Reason.BLANK_TEXT else _score(entry),
                "tokens": 0 if entry.value is None else entry.value.token_count,
                "retrieval_rank": entry.retrieval_rank,
                "text": texts[entry.chunk_id],
                **({"embedding": vectors[entry.chunk_id]} if vectors else {}),
            }
            for entry in entries
        ],
        **({"query_embedding": _plain(ledger.query_embedding)} if vectors else {}),
        "settings": {name: settings[name] for name in SelectionOverrides.model_fields},
        **{name: settings[name] for name in _COMMON},
    }


def align_outputs(
    ledger: Ledger, strategy: Strategy, settings: Mapping[str, Any], reply: SelectResponse | None
) -> Replay:
    """The new account beside the recorded one; raises `upstream_bad_reply` when the reply is of other candidates."""
    recorded = {entry.chunk_id: entry for entry in ledger.entries}
    decided = [] if reply is None else reply.ledger
    untouched = [entry for entry in ledger.entries if entry.reason in _UNSELECTABLE]
    if [*sorted(one.chunk_id for one in decided)] != sorted(recorded.keys() - {one.chunk_id for one in untouched}):
        raise SteelyardError(ErrorCode.UPSTREAM_BAD_REPLY, "reranker: its selection is of other candidates than asked")
    selected = [_decided(recorded[one.chunk_id], one) for one in decided]
    as_before = _kept(selected) == _kept(_before_later_drops(ledger.entries))
    entries = [*(_dropped_again(selected, recorded) if as_before else selected), *untouched]
    return Replay(
        ledger_id=ledger.ledger_id,
        outcome=Outcome.OK if any(entry.fate is Fate.SENT for entry in entries) else Outcome.EMPTY,
        strategy=strategy,
        settings=dict(settings),
        entries=entries,
        totals=totals(entries),
        later_drops_applied=as_before,
        identical=entries == ledger.entries,
        before=_side(ledger, ledger.entries),
        after=_side(ledger, entries),
        changes=_changes(recorded, entries),
    )


def _vectors(ledger: Ledger, entries: Sequence[LedgerEntry]) -> dict[str, Any]:
    """The vectors of the candidates by id; `adaptive` does without none."""
    kept = {
        one.chunk_id: one.metadata.chunk_embedding
        for one in ledger.evidence
        if one.metadata is not None and one.metadata.chunk_embedding is not None
    }
    lacking = [entry.chunk_id for entry in entries if entry.chunk_id not in kept]
    if not lacking and ledger.query_embedding is not None:
        return {entry.chunk_id: _plain(kept[entry.chunk_id]) for entry in entries}
    if ledger.strategy is not Strategy.ADAPTIVE:
        why = f"it was recorded under strategy {ledger.strategy}, for which no embeddings are fetched"
    elif ledger.question is None:
        why = "LEDGER_TEXTS=false kept its embeddings out, from which texts could be recovered"
    else:
        why = f"{len(lacking)} of {len(entries)} candidates have no embedding in it, or the question has none"
    raise _not_replayable(f"strategy adaptive needs embeddings, and {why}")


def _stand_ins(entries: Sequence[LedgerEntry]) -> dict[str, str]:
    """A text for each candidate that is blank, or a duplicate, or neither, as the candidate's own was.

    Whether a text is one does not depend on settings: texts, scores and their order are as recorded. So no text has to
    be kept for a replay, nor a digest by which it could be recognised. A duplicate says what a better one says, and the
    best of the readable is never one.
    """
    texts = {entry.chunk_id: f"text {number}" for number, entry in enumerate(entries)}
    readable = [entry for entry in entries if entry.reason is not Reason.BLANK_TEXT]
    best = min(readable, key=lambda entry: (-_score(entry), entry.retrieval_rank, entry.chunk_id), default=None)
    for entry in entries:
        if entry.reason is Reason.BLANK_TEXT:
            texts[entry.chunk_id] = ""
        elif entry.reason is Reason.DUPLICATE and best is not None:
            texts[entry.chunk_id] = texts[best.chunk_id]
    return texts


def _score(entry: LedgerEntry) -> float:
    score = entry.scores.get(ScoreKind.RERANK)
    if score is None:
        raise _not_replayable(f"candidate {entry.chunk_id} has no rerank score in it")
    return score


def _decided(recorded: LedgerEntry, decision: LedgerEntry) -> LedgerEntry:
    update = {"value": decision.value, "fate": decision.fate, "reason": decision.reason, "rank": decision.rank}
    return recorded.model_copy(update={**update, "kept_as": None})


def _before_later_drops(entries: Sequence[LedgerEntry]) -> list[LedgerEntry]:
    """The recorded entries as selection had left them, except for the ranks."""
    return [
        entry
        if entry.kept_as is None
        else entry.model_copy(update={"fate": Fate.SENT, "reason": entry.kept_as, "kept_as": None})
        for entry in entries
    ]


def _kept(entries: Sequence[LedgerEntry]) -> set[str]:
    return {entry.chunk_id for entry in entries if entry.fate is Fate.SENT}


def _dropped_again(selected: Sequence[LedgerEntry], recorded: Mapping[str, LedgerEntry]) -> list[LedgerEntry]:
    """The selection less what a later stage had dropped of the same one; ranks close up."""
    entries = []
    rank = 0
    for entry in selected:
        before = recorded[entry.chunk_id]
        if entry.fate is Fate.SENT and before.kept_as is not None:
            update = {"fate": Fate.DROPPED, "reason": before.reason, "rank": None, "kept_as": entry.reason}
            entries.append(entry.model_copy(update=update))
        elif entry.fate is Fate.SENT:
            rank += 1
            entries.append(entry.model_copy(update={"rank": rank}))
        else:
            entries.append(entry)
    return entries


def _side(ledger: Ledger, entries: Sequence[LedgerEntry]) -> ReplaySide:
    # The retriever's counts, which exist for every candidate; those of the values only for what was weighed.
    tokens = {one.chunk_id: one.metadata.tokens for one in ledger.evidence if one.metadata is not None}
    sent = [entry for entry in sorted(entries, key=lambda one: one.rank or 0) if entry.fate is Fate.SENT]
    counts = [tokens.get(entry.chunk_id) for entry in sent]
    known = [count for count in counts if count is not None]
    return ReplaySide(sent=[entry.chunk_id for entry in sent], tokens=sum(known) if len(known) == len(counts) else None)


def _changes(recorded: Mapping[str, LedgerEntry], entries: Sequence[LedgerEntry]) -> list[ReplayChange]:
    pairs = [(recorded[entry.chunk_id], entry) for entry in entries]
    return [
        ReplayChange(
            chunk_id=after.chunk_id,
            reason_before=before.reason,
            reason_after=after.reason,
            rank_before=before.rank,
            rank_after=after.rank,
        )
        for before, after in pairs
        if (before.reason, before.rank) != (after.reason, after.rank)
    ]


def _plain(vector: Vector | None) -> Any:
    return None if vector is None else {"dim": vector.dim, "base64": vector.to_base64()}


def _not_replayable(why: str) -> SteelyardError:
    return SteelyardError(ErrorCode.NOT_REPLAYABLE, f"this ledger can not be replayed: {why}")
