"""What a manifest holds. Unknown keys are refused, so that a newer form is never half understood."""

import hashlib
import json
from collections.abc import Iterable
from enum import StrEnum
from typing import Literal, Self

from pydantic import Field, model_validator

from steelyard_contracts.base import Name, NonNegativeInt, Number, PositiveInt, Request, Text
from steelyard_contracts.enums import PairPolicy, ScoreKind
from steelyard_contracts.vectors import Vector

FORMAT = "steelyard-manifest/1"


class TruncationSide(StrEnum):
    """Which end of a text is cut away."""

    RIGHT = "right"


class ModelIdentity(Request):
    """A model or tokenizer by name and by the hash of its files."""

    name: Name
    sha256: Name


class Place(Request):
    """Where a candidate holds evidence.

    `start` and `end` are a half-open code-point span of the candidate's text; it holds the part `unit_start` to
    `unit_end` of the unit, in the unit's own characters.
    """

    candidate_id: Name
    start: NonNegativeInt
    end: PositiveInt
    unit_start: NonNegativeInt
    unit_end: PositiveInt


class Unit(Request):
    """One piece of annotated evidence, however many candidates repeat it.

    `length` is in characters; `grade` is its relevance on the scale of `Manifest.relevance_scale`.
    """

    unit_id: Name
    length: PositiveInt
    grade: PositiveInt = 1
    places: list[Place] = Field(default_factory=list)


class FrozenCandidate(Request):
    """A candidate as it was retrieved; `sha256` is that of its text in UTF-8, `tokens` its length in the context."""

    id: Name
    document_id: Name
    revision: Text
    scope: Name
    source: Text
    char_start: NonNegativeInt
    char_end: NonNegativeInt
    text: Text
    sha256: Name
    tokens: NonNegativeInt
    scores: dict[ScoreKind, Number] = Field(default_factory=dict)
    embedding: Vector | None = None

    @model_validator(mode="after")
    def _text_is_what_was_hashed(self) -> Self:
        if text_sha256(self.text) != self.sha256:
            raise ValueError(f"the text of candidate {self.id!r} is not what its sha256 says")
        return self


class FrozenQuery(Request):
    """A query with its candidates in retrieved order. `segment` names the protected group that it belongs to."""

    query_id: Name
    query: Name
    segment: Name = "all"
    embedding: Vector | None = None
    candidates: list[FrozenCandidate]
    units: list[Unit]

    @model_validator(mode="after")
    def _places_lie_in_candidates(self) -> Self:
        lengths = {candidate.id: len(candidate.text) for candidate in self.candidates}
        if len(lengths) != len(self.candidates):
            raise ValueError(f"query {self.query_id!r} has a candidate twice")
        for unit in self.units:
            for place in unit.places:
                if not place.start < place.end <= lengths.get(place.candidate_id, 0):
                    raise ValueError(f"evidence {unit.unit_id!r} lies outside of candidate {place.candidate_id!r}")
                if not place.unit_start < place.unit_end <= unit.length:
                    raise ValueError(f"candidate {place.candidate_id!r} holds more than all of {unit.unit_id!r}")
        return self


class Manifest(Request):
    """A frozen retrieval snapshot; `sha256` is that of everything else in it."""

    format: Literal["steelyard-manifest/1"] = "steelyard-manifest/1"
    name: Name
    sha256: Text = ""
    corpus_revision: Name
    preprocessing: Name
    tokenizer: ModelIdentity
    context_tokenizer: ModelIdentity
    embedding_model: ModelIdentity
    reranker: ModelIdentity
    truncation_side: TruncationSide = TruncationSide.RIGHT
    pair_policy: PairPolicy = PairPolicy.TRUNCATE
    pair_limit: PositiveInt
    context_budget: PositiveInt
    relevance_scale: Name = "1 = holds some of the evidence; a unit's grade counts for every candidate that holds it"
    queries: list[FrozenQuery]

    @model_validator(mode="after")
    def _queries_differ(self) -> Self:
        ids = [query.query_id for query in self.queries]
        if len(set(ids)) != len(ids):
            raise ValueError("a query id appears twice")
        return self

    def content_sha256(self) -> str:
        """The hash of the canonical JSON of everything but `sha256`."""
        content = self.model_dump(mode="json", exclude={"sha256"})
        return hashlib.sha256(json.dumps(content, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


def sealed(manifest: Manifest) -> Manifest:
    """The manifest with the hash of its content."""
    return manifest.model_copy(update={"sha256": manifest.content_sha256()})


def text_sha256(text: str) -> str:
    """SHA-256 of a text in UTF-8, in hex."""
    return hashlib.sha256(text.encode()).hexdigest()


def corpus_sha256(texts: Iterable[tuple[str, str]]) -> str:
    """SHA-256 over names and texts in the order of the names: a corpus's revision where nothing else names one."""
    digest = hashlib.sha256()
    for name, text in sorted(texts):
        digest.update(f"{name}\x00{text_sha256(text)}\n".encode())
    return digest.hexdigest()
