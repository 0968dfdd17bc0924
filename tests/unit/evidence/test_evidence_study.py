"""The study on collections that the tests make: evidence, conditions, methods, scores in a cache, the page."""

import importlib.util
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from steelyard_evidence.errors import DatasetError, MissingPartError
from steelyard_evidence.evaluation.collection import Collection, GoldSpan, Passage, Question
from steelyard_evidence.evaluation.datasets import NAMES, load, load_one
from steelyard_evidence.study import methods as methods_module
from steelyard_evidence.study.comparison import ADAPTIVE, BASELINE, DEFAULT
from steelyard_evidence.study.conditions import Condition, near_copies, with_near_copies
from steelyard_evidence.study.figures import curves, figures
from steelyard_evidence.study.gold import gold_of
from steelyard_evidence.study.methods import methods
from steelyard_evidence.study.page import page
from steelyard_evidence.study.picture import picture
from steelyard_evidence.study.scoring import CANDIDATES, Scored, nearest
from steelyard_evidence.study.study import cases_of, run_study
from steelyard_evidence.tuning import grid as grid_module

TEXT = "".join(f"Sentence number {index:02d} stands here. " for index in range(40))


def words(text: str) -> int:
    return len(text.split())


def passages() -> list[Passage]:
    """Three sentences each, without the blank after them."""
    return [Passage(TEXT[start : start + 95], "d", start, start + 95) for start in range(0, len(TEXT) - 95, 96)]


def collection(*, by_unit: bool = False) -> Collection:
    spans = [(10, 60), (120, 400), (700, 760), (810, 870)]
    questions = tuple(Question(n, f"Which {n}?", (GoldSpan("d", *spans[n % 4]),)) for n in range(12))
    return Collection("toy", {"d": TEXT}, tuple(passages()), questions, by_unit)


def scored(condition: Condition, found: Collection | None = None) -> Scored:
    """Random scores with a fixed seed; passages that hold evidence score better."""
    toy = found or collection()
    pool = with_near_copies(toy.passages) if condition is Condition.REDUNDANT else list(toy.passages)
    rng = np.random.default_rng(7)
    vectors = rng.normal(size=(len(pool), 64)).astype(np.float32)
    for copy in range(len(toy.passages), len(pool)):
        original = (copy - len(toy.passages)) // 2
        vectors[copy] = vectors[original] + 0.05 * vectors[copy]
    count = len(toy.passages)
    near = [row for first in range(count) for row in (first, count + 2 * first, count + 2 * first + 1)]
    row = np.array(near[:count] if condition is Condition.REDUNDANT else range(count))
    rows = np.stack([row for _ in toy.questions])
    scores = rng.uniform(0.05, 0.5, size=rows.shape)
    for number, question in enumerate(toy.questions):
        holds = gold_of(toy, question, [pool[row] for row in rows[number]]).covers.any(axis=1)
        scores[number, holds] += 0.45
    tokens = np.array([words(one.text) for one in pool])
    queries = rng.normal(size=(len(toy.questions), 64)).astype(np.float32)
    return Scored(toy, condition, pool, rows, scores, vectors, queries, tokens)


def test_character_recall_counts_each_character_once() -> None:
    toy = collection()
    gold = gold_of(toy, toy.questions[1], toy.passages)
    assert gold.weights.sum() == pytest.approx(1.0)
    assert gold.recall([]) == 0.0
    assert gold.recall([1]) == pytest.approx(toy.ink("d", 120, 191) / toy.ink("d", 120, 400))
    assert gold.ceiling == pytest.approx(1.0)
    copies = with_near_copies(toy.passages)
    doubled = gold_of(toy, toy.questions[1], copies)
    position = len(toy.passages) + 2
    assert doubled.recall([1, position, position + 1]) == pytest.approx(gold.recall([1]))


def test_units_weigh_the_same_whatever_their_length() -> None:
    question = Question(0, "?", (GoldSpan("d", 0, 50), GoldSpan("d", 300, 700)))
    toy = collection(by_unit=True)
    gold = gold_of(toy, question, toy.passages)
    assert gold.recall([0]) == pytest.approx(0.5)


def test_near_copies_say_the_same_in_other_words() -> None:
    original = Passage("The pump and the valve of a station that leaks.", "d", 0, 47)
    first, second = near_copies(original)
    assert len({first.text, second.text, original.text}) == 3
    assert (first.document, first.start, first.end) == (second.document, second.start, second.end) == ("d", 0, 47)
    assert second.text.startswith("pump and the valve a station that leaks.")
    assert len(with_near_copies([original] * 4)) == 12


def test_noise_stands_among_the_candidates_whether_or_not_it_is_nearer() -> None:
    pool = [Passage(str(i), "d", 0, 1) for i in range(100)]
    vectors = np.zeros((100, 2), dtype=np.float32)
    vectors[:, 0] = np.linspace(1.0, 0.0, 100)
    query = np.array([1.0, 0.0], dtype=np.float32)
    assert nearest(vectors, query, 60, Condition.CLEAN, pool).tolist() == list(range(CANDIDATES))
    noisy = nearest(vectors, query, 60, Condition.NOISY, pool).tolist()
    assert noisy == [*range(40), *range(60, 70)]


PARTNER = '''"""A double of pyversity: candidates by their scores, whatever the strategy and the diversity."""

from enum import Enum
from types import SimpleNamespace

import numpy as np


class Strategy(Enum):
    MMR = "mmr"
    DPP = "dpp"


def diversify(embeddings, scores, k, strategy, diversity):
    return SimpleNamespace(indices=np.argsort(-scores, kind="stable")[:k])
'''


@pytest.fixture
def partner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """pyversity; where it is not installed, a double, which the study's own processes find as well."""
    is_there = importlib.util.find_spec("pyversity") is not None
    if not is_there:
        (tmp_path / "pyversity.py").write_text(PARTNER)
        monkeypatch.syspath_prepend(tmp_path)
    methods_module._pyversity.cache_clear()
    yield
    methods_module._pyversity.cache_clear()
    if not is_there:
        sys.modules.pop("pyversity", None)


@pytest.mark.usefixtures("partner")
def test_every_method_obeys_its_settings() -> None:
    cases = cases_of(scored(Condition.REDUNDANT))
    found = {method.name: method.outcomes(cases) for method in methods()}
    assert set(found) == {"slice", "threshold", "knee", "MMR", "DPP", "adaptive-k"}
    for name in ("slice", "MMR", "DPP"):
        per_setting = len(cases[0])
        steps = np.diff(found[name].tokens[:per_setting], axis=0)
        assert (steps >= 0).all(), name
        assert found[name].recall[per_setting - 1].tolist() == [case.gold.ceiling for case in cases]
    assert (np.diff(found["threshold"].tokens, axis=0) <= 0).all()
    assert len(found["knee"].names) == 1


def test_a_missing_partner_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    methods_module._pyversity.cache_clear()
    monkeypatch.setitem(sys.modules, "pyversity", None)
    with pytest.raises(MissingPartError, match=r"pyversity, which is not installed.*bench\.lock"):
        methods()


@pytest.fixture
def few_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grid_module, "TOKEN_ALPHAS", (0.0, 0.0025))
    monkeypatch.setattr(grid_module, "MIDPOINTS", (0.25,))
    monkeypatch.setattr(grid_module, "CONFUSION_WEIGHTS", (0.0, 1.0))


@pytest.mark.usefixtures("few_settings", "partner")
def test_the_study_tunes_on_even_questions_and_tells_odd_ones() -> None:
    found = run_study([scored(Condition.CLEAN), scored(Condition.REDUNDANT)], lambda *_: None, workers=1)
    for cell in found.cells:
        assert {int(n) % 2 for n in cell.even[BASELINE].numbers} == {0}
        assert {int(n) % 2 for n in cell.odd[ADAPTIVE].numbers} == {1}
        for row in found.tuned[cell.collection, cell.condition]:
            even = cell.even[row.method]
            assert even.recall[even.names.index(row.point.name)].mean() >= row.wanted - 1e-9
            assert row.point.recall.n == 6
    redundant = {row.method: row for row in found.tuned["toy", Condition.REDUNDANT]}
    ours = redundant[ADAPTIVE]
    assert ours.tokens_less is not None
    assert ours.tokens_less.mean == pytest.approx(ours.point.tokens.mean - redundant[BASELINE].point.tokens.mean)

    text = page(found, "selection.svg")
    assert "| toy | redundant |" in text
    assert DEFAULT in text
    assert "nan" not in text
    assert "](selection.svg)" in text
    assert picture(found).count('aria-label="toy, ') == 2
    assert json.loads(json.dumps(figures(found)))["questions"] == {"toy": 12}
    lines = curves(found).splitlines()
    assert lines[0].startswith("data_set,condition,method,setting,recall")
    assert len(lines) > 20


def test_without_the_data_the_study_says_so(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="no evaluation data there; STEELYARD_EVAL_DATA names the folder"):
        load(tmp_path / "absent", words)
    with pytest.raises(DatasetError, match="chunking_eval: FileNotFoundError"):
        load(tmp_path, words)


def test_the_data_sets_are_read_in_their_own_forms(tmp_path: Path) -> None:
    chunking, hotpot, musique = (tmp_path / name for name in NAMES)
    (chunking / "corpora").mkdir(parents=True)
    (chunking / "corpora" / "d.md").write_text(TEXT)
    references = json.dumps([{"content": TEXT[10:60], "start_index": 10, "end_index": 60}]).replace('"', '""')
    (chunking / "questions_df.csv").write_text(f'question,references,corpus_id\nWhich?,"{references}",d\n')
    hotpot.mkdir()
    (hotpot / "hotpotqa_train_corpus.json").write_text(json.dumps({"T": ["One. ", "Two."], "U": ["Three."]}))
    asked = [{"question": "Q?", "supporting_facts": [["T", 1], ["U", 0], ["U", 7]]}]
    (hotpot / "hotpotqa_train.json").write_text(json.dumps(asked))
    musique.mkdir()
    (musique / "musique_train_corpus.json").write_text(
        json.dumps([{"title": "T", "text": "A."}, {"title": "T", "text": "B."}])
    )
    paragraphs = [
        {"title": "T", "paragraph_text": "B.", "is_supporting": True},
        {"title": "T", "paragraph_text": "A.", "is_supporting": False},
    ]
    (musique / "musique_train.json").write_text(json.dumps([{"question": "Q?", "paragraphs": paragraphs}]))

    first, second, third = load(tmp_path, words)
    (gold,) = first.questions[0].gold
    assert TEXT[gold.start : gold.end] == TEXT[10:60]
    assert all(first.documents["d"][one.start : one.end] == one.text for one in first.passages)
    assert [second.documents[span.document][span.start : span.end] for span in second.questions[0].gold] == [
        "Two.",
        "Three.",
    ]
    (support,) = third.questions[0].gold
    assert third.documents[support.document] == "T. B."
    (musique / "musique_train.json").write_text("[{}]")
    with pytest.raises(DatasetError, match="musique: KeyError"):
        load_one("musique", tmp_path, words)
