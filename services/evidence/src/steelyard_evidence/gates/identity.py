"""Gate 2: who a text is survives windows and batches, and nothing about truncation changes silently."""

from collections.abc import Mapping, Sequence
from typing import Any

from steelyard_contracts.documents import CandidateMetadata
from steelyard_reranker.pairs import (
    Judgement,
    PairFormat,
    PairPlanner,
    PairSettingError,
    PairSettings,
    Passage,
    Plan,
    judgement,
)
from steelyard_reranker.row_fault import RowFault

from ..errors import InspectionError, LaboratoryError
from ..manifest import FrozenCandidate, Manifest, ModelIdentity
from ..policy import Policy
from ..run.reading import Reader
from ..run.result import Run
from ..survival import PairEncoder
from .thresholds import IdentityGate
from .verdict import Verdict

GATE = 2
_SAME_SCORE = 1e-4
"""What padding in another batch may change: the encoder's own bound of 1e-5 per component of a vector, summed up."""


def declared(gate: IdentityGate, manifest: Manifest, run: Run, proposed: Policy) -> list[Verdict]:
    """That the run is of this manifest and of this very policy, and that the policy may be released."""
    limit = proposed.pairs.budget or manifest.pair_limit
    policy = proposed.pairs.long_document
    return [
        Verdict(
            GATE,
            "the run is of this manifest",
            run.manifest_sha256 == manifest.sha256,
            f"run {run.manifest_sha256[:12]}, manifest {manifest.sha256[:12]}",
        ),
        Verdict(
            GATE,
            "the run measured the policy that is to be promoted",
            run.plan.get("proposed") == proposed.as_json(),
            _differences(run.plan.get("proposed", {}), proposed),
        ),
        Verdict(
            GATE,
            "the truncation policy is an allowed one",
            policy in gate.allowed_policies,
            f"{policy}; allowed are {', '.join(gate.allowed_policies)}",
        ),
        Verdict(
            GATE,
            "pairs are not shorter than allowed",
            limit >= gate.min_pair_limit,
            f"{limit} tokens; at least {gate.min_pair_limit}",
        ),
    ]


def replaced(run: Run, live: Policy, proposed: Policy) -> Verdict:
    """That the run compared with the configuration which is to be replaced, or that this has been done already."""
    check = "the run's current route is the configuration that is replaced"
    if live == proposed:
        return Verdict(GATE, check, True, "the proposed one is there already")
    measured = run.plan.get("current", {})
    return Verdict(GATE, check, measured == live.as_json(), _differences(measured, live))


def reranker(manifest: Manifest, reading: ModelIdentity) -> Verdict:
    """That the reranker which reads here is the one that the manifest was frozen for."""
    frozen = manifest.reranker
    return Verdict(
        GATE,
        "the reranker is the manifest's",
        reading.sha256 == frozen.sha256,
        f"{reading.name} ({reading.sha256[:12]}), frozen for {frozen.name} ({frozen.sha256[:12]})",
    )


def supported(pair_format: PairFormat, pairs: PairSettings) -> Verdict:
    """That the model has the proposed pair length."""
    try:
        PairPlanner(pair_format, pairs)
    except PairSettingError as error:
        return Verdict(GATE, "the model supports the pair length", False, str(error))
    return Verdict(GATE, "the model supports the pair length", True, f"its own limit is {pair_format.limit} tokens")


def offsets(encoder: PairEncoder, manifest: Manifest) -> Verdict:
    """That the tokenizer says where its tokens stand, on every candidate that holds evidence."""
    check = "the tokenizer tells offsets"
    looked_at = 0
    for query in manifest.queries:
        holding = {place.candidate_id for unit in query.units for place in unit.places}
        for candidate in query.candidates:
            if candidate.id in holding:
                try:
                    encoder.encode(query.query, candidate.text)
                except InspectionError as error:
                    return Verdict(GATE, check, False, str(error))
                looked_at += 1
    return Verdict(GATE, check, True, f"on {looked_at} candidates")


def windows_keep_identity(pair_format: PairFormat, pairs: PairSettings, manifest: Manifest) -> Verdict:
    """That every window of every candidate says whose it is, and quotes it at the span that it names."""
    check = "windows keep document, revision, section and scope"
    planner = PairPlanner(pair_format, pairs)
    seen = 0
    for query in manifest.queries:
        passages = [Passage(one.id, one.text, _metadata(one)) for one in query.candidates]
        plans = planner.plans(query.query, passages)
        for candidate, passage, plan in zip(query.candidates, passages, plans, strict=True):
            if not isinstance(plan, Plan):
                continue
            verdict = judgement(plan, [0.5] * len(plan.pieces), pairs)
            fault = None if isinstance(verdict, RowFault) else _fault(candidate, passage, plan, verdict)
            if fault is not None:
                return Verdict(GATE, check, False, f"candidate {candidate.id!r}: {fault}")
            seen += len(plan.pieces)
    return Verdict(GATE, check, True, f"{seen} windows and whole texts of {len(manifest.queries)} queries")


def batches_keep_identity(reader: Reader, manifest: Manifest, pairs: PairSettings) -> Verdict:
    """That a candidate's score does not depend on the order and the company in which it is read."""
    check = "batching gives every candidate its own score"
    query = max(manifest.queries, key=lambda query: len(query.candidates))
    try:
        together = reader.read(query.query, query.candidates, pairs)
        turned = reader.read(query.query, query.candidates[::-1], pairs)
    except LaboratoryError as error:
        return Verdict(GATE, check, False, str(error))
    worst = 0.0
    for one, other in zip(together.readings, turned.readings[::-1], strict=True):
        if (one.score is None) != (other.score is None):
            return Verdict(GATE, check, False, "a candidate has a score in one order and none in the other")
        worst = max(worst, abs((one.score or 0.0) - (other.score or 0.0)))
    return Verdict(
        GATE, check, worst <= _SAME_SCORE, f"scores of {len(query.candidates)} differ by {worst:.1e} at most"
    )


def _fault(candidate: FrozenCandidate, passage: Passage, plan: Plan, verdict: Judgement) -> str | None:
    if plan.passage is not passage:
        return "its plan is another candidate's"
    texts: Sequence[str] = plan.texts
    for piece, text in zip(plan.pieces, texts, strict=True):
        if candidate.text[piece.start : piece.end] != text:
            return f"the text at {piece.start}:{piece.end} is not the candidate's"
    own = _metadata(candidate)
    for window in [] if verdict.pair.windows is None else verdict.pair.windows.windows:
        identity = (window.chunk_id, window.document_id, window.revision, window.section, window.scope)
        if identity != (own.chunk_id, own.document_id, own.revision, own.section, own.scope):
            return f"a window calls itself {identity}"
    return None


def _metadata(candidate: FrozenCandidate) -> CandidateMetadata:
    """Of what the manifest keeps; it keeps no section, so each candidate gets one that no other has."""
    return CandidateMetadata(
        chunk_id=candidate.id,
        document_id=candidate.document_id,
        revision=candidate.revision,
        source=candidate.source,
        section=f"section of {candidate.id}",
        char_start=candidate.char_start,
        char_end=candidate.char_end,
        scope=candidate.scope,
    )


def _differences(measured: Mapping[str, Any], policy: Policy) -> str:
    now = policy.as_json()
    differing = [name for name in now if measured.get(name) != now[name]]
    return "; ".join(f"{name}: measured {measured.get(name)}, is {now[name]}" for name in differing) or "the same"
