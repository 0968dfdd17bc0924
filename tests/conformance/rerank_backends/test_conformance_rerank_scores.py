"""What every backend does when nothing is wrong."""

import asyncio
from pathlib import Path

import pytest

from steelyard_reranker.backends.batching import WITNESSES
from steelyard_reranker.backends.port import RerankBackendError
from steelyard_reranker.row_fault import RowFault
from tests.harness.rerank_doubles.scores import score

from .labs import ALL, IN_PROCESS, WIRE, Lab, sample, within


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize("count", [1, 2, 32, 33, 100, 101, 200])
def test_every_text_has_its_own_score_in_the_texts_order(kind: str, count: int, tmp_path: Path) -> None:
    async def use(lab: Lab) -> None:
        texts = sample(count)
        scores = await lab.scores("a cat", texts)
        assert len(scores) == count
        assert all(0.0 <= one <= 1.0 for one in scores)
        backwards = await lab.scores("a cat", texts[::-1])
        assert backwards[::-1] == pytest.approx(scores, abs=1e-5)
        if lab.double is not None:
            assert scores == [score("a cat", text) for text in texts]

    within(kind, tmp_path, use)


@pytest.mark.parametrize("kind", ALL)
def test_a_score_depends_on_its_pair_alone(kind: str, tmp_path: Path) -> None:
    async def use(lab: Lab) -> None:
        texts = ["a cat likes fish", "the sea", "dog"]
        together = await lab.scores("the cat", texts)
        alone = [(await lab.scores("the cat", [text]))[0] for text in texts]
        assert together == pytest.approx(alone, abs=1e-5)
        assert len(set(together)) == 3

    within(kind, tmp_path, use)


@pytest.mark.parametrize("kind", ALL)
def test_equal_texts_tie(kind: str, tmp_path: Path) -> None:
    async def use(lab: Lab) -> None:
        first, other, second = await lab.scores("a cat", ["tie the sea", "a dog likes fish", "tie the sea"])
        assert first == pytest.approx(second, abs=1e-6)
        assert first != other

    within(kind, tmp_path, use)


@pytest.mark.parametrize("kind", WIRE)
def test_ties_of_different_texts_stay_in_their_places(kind: str, tmp_path: Path) -> None:
    async def use(lab: Lab) -> None:
        texts = [f"tie {i}" for i in range(40)]
        texts[17] = "no"
        scores = await lab.scores("a cat", texts)
        assert [one == 0.5 for one in scores] == [i != 17 for i in range(40)]

    within(kind, tmp_path, use)


@pytest.mark.parametrize("kind", ALL)
def test_no_texts_ask_nobody(kind: str, tmp_path: Path) -> None:
    async def use(lab: Lab) -> None:
        assert await lab.scores("a cat", []) == []
        if lab.double is not None:
            assert (lab.double.calls, lab.double.looks) == ([], 0)

    within(kind, tmp_path, use)


@pytest.mark.parametrize("kind", ALL)
def test_concurrent_requests_do_not_mix(kind: str, tmp_path: Path) -> None:
    async def use(lab: Lab) -> None:
        queries = [" ".join(("a", "cat", "dog", "likes", "fish")[: 1 + i % 5]) for i in range(12)]
        texts = [sample(3 + i) for i in range(12)]
        together = await asyncio.gather(*(lab.scores(q, t) for q, t in zip(queries, texts, strict=True)))
        for query, given, scores in zip(queries, texts, together, strict=True):
            assert scores == pytest.approx(await lab.scores(query, given), abs=1e-5)

    within(kind, tmp_path, use)


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize(
    "text", ["日本語の文章です。", "مرحبا بالعالم", "👩‍👩‍👧‍👦 e\u0301", "a\x00b", '{"json": [1]}', "\u2028\u2029"]
)
def test_any_text_is_scored(kind: str, text: str, tmp_path: Path) -> None:
    async def use(lab: Lab) -> None:
        scores = await lab.scores("a cat", [text, "the sea"])
        assert all(isinstance(one, float) for one in scores)
        if lab.double is not None:
            assert scores[0] == score("a cat", text)

    within(kind, tmp_path, use)


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize("places", [[0], [2], [16], [39], [3, 4], [0, 20, 39]])
def test_a_text_that_is_too_long_is_named_and_costs_no_other_its_score(
    kind: str, places: list[int], tmp_path: Path
) -> None:
    async def use(lab: Lab) -> None:
        texts = sample(40)
        right = await lab.scores("a cat", texts)
        for place in places:
            texts[place] = "the sea " * 600
        scores = await lab.scores("a cat", texts)
        assert [i for i, one in enumerate(scores) if isinstance(one, RowFault)] == places
        assert all(scores[i] == pytest.approx(right[i], abs=1e-5) for i in range(40) if i not in places)
        if lab.double is not None:
            assert len(lab.double.calls) <= 4 + 16

    within(kind, tmp_path, use)


@pytest.mark.parametrize("kind", WIRE)
def test_a_query_that_is_too_long_for_any_text_is_refused_after_a_few_calls(kind: str, tmp_path: Path) -> None:
    async def use(lab: Lab) -> None:
        with pytest.raises(RerankBackendError) as error:
            await lab.scores("cat " * 600, sample(20))
        assert error.value.reason == "rejected"
        assert len(lab.double.calls) == 1 + WITNESSES

    within(kind, tmp_path, use)


@pytest.mark.parametrize("kind", WIRE)
def test_more_bytes_than_one_request_takes_are_sent_in_several(kind: str, tmp_path: Path) -> None:
    async def use(lab: Lab) -> None:
        texts = [f"{i} " + "x" * 700_000 for i in range(5)]
        if kind == "cohere":
            texts = texts[:2]
        assert await lab.scores("a cat", texts) == [score("a cat", text) for text in texts]

    within(kind, tmp_path, use)


@pytest.mark.parametrize("kind", ALL)
def test_the_probe_passes_and_the_policy_names_the_model(kind: str, tmp_path: Path) -> None:
    async def use(lab: Lab) -> None:
        await lab.backend.probe()
        await lab.scores("a cat", sample(2))
        assert lab.backend.policy["reranker"] == lab.backend.model_id
        assert lab.backend.policy["revision"] == lab.backend.revision
        assert lab.backend.model_id

    within(kind, tmp_path, use)


@pytest.mark.parametrize("kind", IN_PROCESS)
@pytest.mark.parametrize(
    ("change", "reasons"),
    [
        (lambda out: out[:-1], {"wrong_count", "model_failed", "crashed"}),
        (lambda out: out * float("nan"), {"not_finite", "model_failed"}),
        (lambda out: out * float("inf"), {"not_finite", "model_failed"}),
        (lambda out: 1 / 0, {"crashed"}),
    ],
)
def test_a_model_that_fails_gives_no_scores(kind: str, change: object, reasons: set[str], tmp_path: Path) -> None:
    async def use(lab: Lab) -> None:
        lab.plant(change)  # type: ignore[arg-type]
        assert await lab.reason() in reasons

    within(kind, tmp_path, use)
