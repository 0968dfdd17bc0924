"""Freezing: data sets by line and field, evidence found in candidates, the demo corpus as a snapshot."""

import json
from functools import partial
from pathlib import Path

import pytest

from steelyard_contracts.vectors import Vector
from steelyard_evidence.errors import DatasetError, InputError, RunError
from steelyard_evidence.freeze.build import freeze
from steelyard_evidence.freeze.dataset import AnnotatedQuery, Evidence, read_dataset
from steelyard_evidence.freeze.locating import find_quote, units_of
from steelyard_evidence.freeze.snapshot import Retrieved
from steelyard_evidence.manifest import FrozenCandidate, Manifest, ModelIdentity
from tests.unit.evidence.samples import IDENTITY, candidate

ROOT = Path(__file__).parents[3]
QUOTE = "Tighten the gland bolts to 24 Nm in two passes."


def line(**changes: object) -> str:
    return json.dumps(
        {"id": "q1", "query": "Which torque?", "evidence": [{"document": "a.md", "quote": QUOTE}], **changes}
    )


def test_a_data_set_is_read_line_by_line(tmp_path: Path) -> None:
    path = tmp_path / "set.jsonl"
    path.write_text(f"{line()}\n\n{line(id='q2', segment='numbers', evidence=[])}\n")
    first, second = read_dataset(path)
    assert first.evidence[0].quote == QUOTE
    assert (second.segment, second.evidence) == ("numbers", [])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (line(querry="x"), r"set.jsonl:2: querry"),
        (line(query=""), r":2: query"),
        (line(query=" \t"), r":2: the line: query is blank"),
        (line(evidence=[{"document": "a.md"}]), "either quote, or start and end"),
        (line(evidence=[{"document": "a.md", "quote": "x", "start": 1, "end": 2}]), "either quote, or start and end"),
        (line(evidence=[{"document": "a.md", "start": 4}]), "either quote, or start and end"),
        (line(evidence=[{"document": "a.md", "start": 4, "end": 4}]), "the span 4:4 is empty"),
        (line(evidence=[{"document": "a.md", "quote": " \n"}]), "quote is blank"),
        (line(id="q0"), "id 'q0' appears 2 times"),
        ("{", "Invalid JSON"),
    ],
)
def test_a_malformed_line_is_named(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "set.jsonl"
    path.write_text(f"{line(id='q0')}\n{text}\n")
    with pytest.raises(DatasetError, match=said):
        read_dataset(path)


@pytest.mark.parametrize("separator", ["\u2028", "\u2029", "\x85", "\x0b", "\x1c"])
def test_a_line_ends_where_json_lines_ends_it(tmp_path: Path, separator: str) -> None:
    """A JSON text may hold these as they are; only some of them have to be escaped."""
    path = tmp_path / "set.jsonl"
    raw = json.dumps(f"Which{separator}torque?", ensure_ascii=False)
    path.write_text(f'{{"id": "q1", "query": {raw}}}\r\n', newline="")
    assert read_dataset(path)[0].query == f"Which{separator}torque?"


def test_an_empty_or_absent_data_set_is_refused(tmp_path: Path) -> None:
    (tmp_path / "set.jsonl").write_text("\n")
    with pytest.raises(DatasetError, match="has no queries"):
        read_dataset(tmp_path / "set.jsonl")
    with pytest.raises(InputError, match="No such file"):
        read_dataset(tmp_path / "absent.jsonl")


def test_a_quote_is_found_whatever_its_white_space() -> None:
    text = "Before.\n\nTighten the  gland\nbolts to 24 Nm\tin two passes. After."
    found = find_quote(f" {QUOTE} ", text)
    assert found is not None
    (start, end), part = found
    assert text[start:end] == "Tighten the  gland\nbolts to 24 Nm\tin two passes."
    assert part == (0, len(QUOTE))


def test_a_quote_that_a_chunk_boundary_splits_is_found_in_both_halves() -> None:
    head, tail = (
        find_quote(QUOTE, "Safety first. Tighten the gland bolts "),
        find_quote(QUOTE, "to 24 Nm in two passes. Next."),
    )
    assert head == ((14, 37), (0, 23))
    assert tail == ((0, 23), (24, len(QUOTE)))


@pytest.mark.parametrize(
    "text", ["Tighten the", "passes. Other text", "", "Tighten the gland bolts to 25 Nm in two passes."]
)
def test_a_chance_likeness_is_no_evidence(text: str) -> None:
    assert find_quote(QUOTE, text) is None


def _at(name: str, start: int, text: str, source: str = "a.md") -> FrozenCandidate:
    return candidate(name, text).model_copy(
        update={"char_start": start, "char_end": start + len(text), "source": source}
    )


def test_spans_are_shared_out_among_candidates_of_their_document() -> None:
    asked = AnnotatedQuery(id="q", query="?", evidence=[Evidence(document="a.md", start=90, end=130)])
    one, two, other = _at("one", 0, "x" * 100), _at("two", 100, "y" * 100), _at("other", 90, "z" * 40, "b.md")
    (unit,) = units_of(asked, [one, two, other])
    assert unit.length == 40
    assert [(p.candidate_id, p.start, p.end, p.unit_start, p.unit_end) for p in unit.places] == [
        ("one", 90, 100, 0, 10),
        ("two", 0, 30, 10, 40),
    ]
    reworded = one.model_copy(update={"char_end": 101})
    assert units_of(asked, [reworded])[0].places == []


def test_entries_of_one_unit_are_one_piece_of_evidence() -> None:
    asked = AnnotatedQuery(
        id="q",
        query="?",
        evidence=[
            Evidence(unit="u", document="a.md", quote=QUOTE),
            Evidence(unit="u", document="b.md", quote=QUOTE, grade=2),
            Evidence(document="b.md", quote="In two passes, not in one."),
        ],
    )
    one, two = _at("one", 0, QUOTE), _at("two", 0, f"{QUOTE} In two passes, not in one.", "b.md")
    first, second = units_of(asked, [one, two])
    assert (first.unit_id, first.grade, [p.candidate_id for p in first.places]) == ("u", 2, ["one", "two"])
    assert (second.unit_id, [p.candidate_id for p in second.places]) == ("q#3", ["two"])


class _Snapshot:
    preprocessing = "none"
    embedding_model = ModelIdentity(name="m", sha256="0" * 64)

    def __init__(self, *candidates: FrozenCandidate) -> None:
        self._candidates = list(candidates)

    def retrieve(self, query: str, count: int) -> Retrieved:
        return Retrieved(Vector.from_floats([1.0] * 8), self._candidates[:count])

    def corpus_revision(self) -> str:
        return "1"


def _freeze(snapshot: _Snapshot, count: int = 5) -> Manifest:
    asked = AnnotatedQuery(id="q", query="?", evidence=[Evidence(document="a.md", quote=QUOTE)])
    return freeze(
        "set",
        [asked],
        snapshot,
        reranker=IDENTITY,
        tokenizer=IDENTITY,
        context_tokenizer=IDENTITY,
        candidates=count,
        pair_limit=128,
        context_budget=1000,
    )


def test_annotations_of_another_collection_are_refused() -> None:
    assert _freeze(_Snapshot(_at("one", 0, QUOTE))).queries[0].units[0].places
    with pytest.raises(DatasetError, match="no candidate holds any of the 1 annotated pieces"):
        _freeze(_Snapshot(_at("one", 0, QUOTE, "elsewhere.md")))


def test_a_query_that_can_not_be_searched_by_is_named() -> None:
    class Deaf(_Snapshot):
        def retrieve(self, query: str, count: int) -> Retrieved:
            raise RunError("text 0 has 702 tokens")

    with pytest.raises(DatasetError, match="set: query 'q': text 0 has 702 tokens"):
        _freeze(Deaf())


@pytest.mark.models
def test_the_demo_corpus_is_frozen_and_run_with_the_real_model(tmp_path: Path) -> None:
    from steelyard_dataprep.chunking import CHUNKER_VERSION
    from steelyard_evidence.embedded_default import embedded_encoder
    from steelyard_evidence.freeze.folder import texts_of
    from steelyard_evidence.freeze.local_snapshot import local_snapshot
    from steelyard_evidence.freeze.sizes import Sizes
    from steelyard_evidence.measures.survival import Boundary
    from steelyard_evidence.policy import Policy
    from steelyard_evidence.readers import open_embedded
    from steelyard_evidence.run.plan import Axis, Plan, Route
    from steelyard_evidence.run.runner import run_plan
    from steelyard_models.encoder import OnnxTextEncoder

    corpus = tmp_path / "corpus"
    corpus.mkdir()
    for name in ("ds-20-dosing-station-manual.md", "shipping-and-storage.txt", "service-bulletin-sb-031-rev-c.md"):
        (corpus / name).write_bytes((ROOT / "examples" / "corpus" / name).read_bytes())
    questions = json.loads((ROOT / "examples" / "questions.json").read_text())["questions"]
    here = {path.name for path in corpus.iterdir()}
    asked = [
        AnnotatedQuery(
            id=one["id"],
            query=one["question"],
            evidence=[
                Evidence(unit=f"{one['id']}#{place['fact']}", document=place["document"], quote=place["quote"])
                for place in one["evidence"]
                if place["document"] in here
            ],
        )
        for one in questions
        if one["language"] == "en" and any(place["document"] in here for place in one["evidence"])
    ]
    assert len(asked) >= 2
    model, encoder = embedded_encoder(OnnxTextEncoder)
    index = local_snapshot(
        partial(texts_of, corpus, encoder.tokenizer), *(Sizes(200), model, encoder, tmp_path / "cache")
    )
    with open_embedded() as reader:
        frozen = freeze(
            "demo",
            asked,
            index,
            reranker=reader.identity,
            tokenizer=IDENTITY,
            context_tokenizer=IDENTITY,
            candidates=8,
            pair_limit=reader.longest_pair,
            context_budget=1000,
        )
        short = Policy().with_pairs(budget=64)
        run = run_plan(frozen, Plan(current=short, proposed=Policy()), reader, tmp_path / "unfinished", lambda *_: None)
    assert frozen.preprocessing == f"steelyard-dataprep chunker {CHUNKER_VERSION}, 200 tokens"
    for query in frozen.queries:
        cosines = [one.scores["cosine"] for one in query.candidates]  # type: ignore[index]
        assert cosines == sorted(cosines, reverse=True)
    current, proposed = run.part(Axis.ROUTE, Route.CURRENT), run.part(Axis.ROUTE, Route.PROPOSED)
    assert current is not None
    assert proposed is not None
    assert proposed.pooled.boundaries[Boundary.PAIR].full > current.pooled.boundaries[Boundary.PAIR].full
    assert proposed.pooled.latency is not None
    assert proposed.pooled.latency.padding_waste is not None
    assert 0.0 <= proposed.pooled.latency.padding_waste < 0.5
