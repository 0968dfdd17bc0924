"""A small manifest and a reader that needs no model."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from steelyard_contracts.vectors import Vector
from steelyard_evidence.manifest import FrozenCandidate, FrozenQuery, Manifest, ModelIdentity, Place, Unit, sealed
from steelyard_evidence.manifest.form import text_sha256
from steelyard_evidence.run.reading import Positions, Reading, Readings
from steelyard_reranker.pairs import PairFormat, PairSettings

FACT = "The seal is ZQ-77."
FILLER = "Inspect the pump weekly. "
IDENTITY = ModelIdentity(name="fake", sha256="f" * 64)


def candidate(name: str, text: str, *, tokens: int = 50, axis: int = 0) -> FrozenCandidate:
    return FrozenCandidate(
        id=name,
        document_id=f"doc-{name}",
        revision="r1",
        scope="default",
        source=f"{name}.md",
        char_start=0,
        char_end=len(text),
        text=text,
        sha256=text_sha256(text),
        tokens=tokens,
        embedding=Vector.from_floats([float(axis == index) for index in range(8)]),
    )


def unit(name: str, *candidates: FrozenCandidate, fact: str = FACT) -> Unit:
    """A unit that each of the candidates holds whole."""
    places = []
    for one in candidates:
        start = one.text.index(fact)
        places.append(Place(candidate_id=one.id, start=start, end=start + len(fact), unit_start=0, unit_end=len(fact)))
    return Unit(unit_id=name, length=len(fact), places=places)


def query(number: int, *, segment: str = "all") -> FrozenQuery:
    """Five candidates; the third holds the fact at its beginning, and the fifth a second one at its end."""
    texts = [FILLER * 4, FILLER * 3, f"{FACT} {FILLER * 3}", FILLER * 5, f"{FILLER * 6}Torque is 24 Nm."]
    candidates = [candidate(f"c{rank}", text, axis=rank) for rank, text in enumerate(texts, 1)]
    units = [unit("seal", candidates[2]), unit("torque", candidates[4], fact="Torque is 24 Nm.")]
    return FrozenQuery(
        query_id=f"q{number}",
        query=f"Question {number}?",
        segment=segment,
        embedding=Vector.from_floats([1.0] * 8),
        candidates=candidates,
        units=units,
    )


def manifest(queries: Sequence[FrozenQuery] | None = None, *, context_budget: int = 150) -> Manifest:
    return sealed(
        Manifest(
            name="sample",
            corpus_revision="1",
            preprocessing="none",
            tokenizer=IDENTITY,
            context_tokenizer=IDENTITY,
            embedding_model=IDENTITY,
            reranker=IDENTITY,
            pair_limit=100,
            context_budget=context_budget,
            queries=[query(1), query(2, segment="identifiers")] if queries is None else list(queries),
        )
    )


def by_fact(text: str) -> float:
    """High for texts that show a fact, as far as they are read."""
    return 0.9 if FACT in text else 0.8 if "24 Nm" in text else 0.1


class CharacterFormat:
    """Every character is a token."""

    limit = 1024

    def query_tokens(self, query: str) -> int:
        return len(query)

    def room(self, query_tokens: int, limit: int) -> int:
        return limit - query_tokens

    def text_tokens(self, text: str) -> int:
        return len(text)

    def spans(self, text: str) -> list[tuple[int, int]]:
        return [(at, at + 1) for at in range(len(text))]

    def pair_tokens(self, query_tokens: int, text_tokens: int) -> int:
        return query_tokens + text_tokens


@dataclass
class FakeReader:
    """Reads the first `budget` characters of each text; a score is `judge` of what was read."""

    judge: Callable[[str], float] = by_fact
    identity: ModelIdentity = field(default_factory=lambda: IDENTITY)
    load_seconds: float = 0.5
    seconds: float = 0.01
    asked: list[tuple[str, int, int | None]] = field(default_factory=list)
    tokenizer: Path = Path("tokenizer.json")
    pair_format: PairFormat = field(default_factory=CharacterFormat)

    def read(self, query: str, candidates: Sequence[FrozenCandidate], pairs: PairSettings) -> Readings:
        self.asked.append((query, len(candidates), pairs.budget))
        readings = []
        for one in candidates:
            kept = one.text[: pairs.budget]
            readings.append(Reading(self.judge(kept), ((0, len(kept)),)))
        return Readings(tuple(readings), self.seconds, Positions(80, 100))
