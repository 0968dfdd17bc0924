"""Measure, embed, check: nothing is cut, and a fault names the text that has it."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

import numpy as np
import pytest

from steelyard_contracts.errors import ErrorCode, SteelyardError
from steelyard_embedding.backends.port import PROBE_TEXT, EmbeddingBackendError, ModelChangedError, Vectors
from steelyard_embedding.embedder import Embedder, open_embedder

from .fake_model import FakeModel, vector_of


def run(model: FakeModel, use: Callable[[Embedder], Awaitable[None]], max_texts: int = 4) -> None:
    async def main() -> None:
        async with open_embedder(model, max_texts) as embedder:
            model.runs.clear()
            await use(embedder)

    asyncio.run(main())


def refused(model: FakeModel, texts: Sequence[str], max_texts: int = 4) -> SteelyardError:
    caught: list[SteelyardError] = []

    async def use(embedder: Embedder) -> None:
        with pytest.raises(SteelyardError) as error:
            await embedder.embed(texts)
        caught.append(error.value)

    run(model, use, max_texts)
    assert model.runs == [], "a refused request reached the model"
    return caught[0]


def test_vectors_and_tokens() -> None:
    async def use(embedder: Embedder) -> None:
        vectors, tokens = await embedder.embed(["one", "two words"])
        np.testing.assert_array_equal(vectors, np.array([vector_of("one"), vector_of("two words")]))
        assert tokens == 3 + 4

    run(FakeModel(), use)


def test_no_text_is_refused() -> None:
    error = refused(FakeModel(), [])
    assert (error.code, error.detail) == (ErrorCode.INVALID_REQUEST, "input: should have at least one text")


@pytest.mark.parametrize("blank", ["", " ", "\t\n", "\u3000", "\u00a0"])
def test_blank_texts_are_named(blank: str) -> None:
    error = refused(FakeModel(), ["fine", blank, "fine", blank])
    assert error.code is ErrorCode.INVALID_REQUEST
    assert [fault.field for fault in error.errors] == ["input.1", "input.3"]


def test_max_texts_are_taken_and_one_more_is_refused() -> None:
    async def use(embedder: Embedder) -> None:
        vectors, _ = await embedder.embed(["a"] * 4)
        assert vectors.shape == (4, 8)

    run(FakeModel(), use, max_texts=4)
    error = refused(FakeModel(), ["a"] * 5, max_texts=4)
    assert (error.code, error.detail) == (ErrorCode.INVALID_REQUEST, "input: has 5 texts, at most 4 are taken")


def test_a_text_that_fills_the_model_is_read_and_one_token_more_is_refused_by_name() -> None:
    full, long = "a b c d", "a b c d e"

    async def use(embedder: Embedder) -> None:
        await embedder.embed([full])

    run(FakeModel(max_tokens=6), use)
    error = refused(FakeModel(max_tokens=6), [full, long, full, long + " f"])
    assert error.code is ErrorCode.TEXT_TOO_LONG
    assert [(fault.field, fault.message) for fault in error.errors] == [
        ("input.1", "has 7 tokens, the model reads at most 6"),
        ("input.3", "has 8 tokens, the model reads at most 6"),
    ]
    assert long not in error.detail


def test_the_probe_is_quiet_while_the_model_stays_and_loud_when_it_is_replaced() -> None:
    model = FakeModel()

    async def use(embedder: Embedder) -> None:
        await embedder.probe()
        await embedder.probe()
        model.vectors = lambda texts: np.array([-vector_of(text) for text in texts])  # type: ignore[method-assign]
        with pytest.raises(ModelChangedError):
            await embedder.probe()
        # The model at start stays the measure: a replaced one does not become normal by being looked at.
        with pytest.raises(ModelChangedError):
            await embedder.probe()

    run(model, use)


def test_a_probe_of_another_dimension_is_a_backend_error() -> None:
    model = FakeModel()

    async def use(embedder: Embedder) -> None:
        model.vectors = lambda texts: np.ones((len(texts), 3), dtype=np.float32)  # type: ignore[method-assign]
        with pytest.raises(EmbeddingBackendError, match="shape"):
            await embedder.probe()

    run(model, use)


def test_the_probe_answers_while_the_model_is_busy() -> None:
    model = FakeModel()

    async def use(embedder: Embedder) -> None:
        original = model.vectors

        def busy(texts: Sequence[str]) -> Vectors:
            if list(texts) != [PROBE_TEXT]:
                model.begun.release()
                assert model.permits.acquire(timeout=20)
            return original(texts)

        model.vectors = busy  # type: ignore[method-assign]
        request = asyncio.create_task(embedder.embed(["long work"]))
        await asyncio.to_thread(model.wait_until_begun)
        async with asyncio.timeout(10):
            await embedder.probe()
        assert not request.done()
        model.let_go()
        await request

    run(model, use)


def test_a_model_that_has_no_probe_vector_does_not_start() -> None:
    model = FakeModel()
    model.vectors = lambda texts: np.zeros((len(texts), 8), dtype=np.float32)  # type: ignore[method-assign]

    async def main() -> None:
        async with open_embedder(model, 4):
            raise AssertionError("opened")

    with pytest.raises(EmbeddingBackendError, match="zero"):
        asyncio.run(main())


def test_a_missing_row_in_a_shared_run_never_shifts_vectors_to_another_request() -> None:
    """A model that loses one row of a batch: each request is tried alone instead of getting its neighbour's rows."""
    model = FakeModel()

    async def use(embedder: Embedder) -> None:
        original = model.vectors
        held = True

        def lossy(texts: Sequence[str]) -> Vectors:
            nonlocal held
            if held:
                held = False
                model.begun.release()
                assert model.permits.acquire(timeout=20)
            rows = original(texts)
            return rows[1:] if len(texts) > 1 else rows

        model.vectors = lossy  # type: ignore[method-assign]
        first = asyncio.create_task(embedder.embed(["first"]))
        await asyncio.to_thread(model.wait_until_begun)
        waiting = [asyncio.create_task(embedder.embed([text])) for text in ("a", "b", "c")]
        while len(embedder._batcher._waiting) < 3:  # noqa: ASYNC110  the batcher has no event for it
            await asyncio.sleep(0)
        model.let_go()
        for text, task in zip(("first", "a", "b", "c"), (first, *waiting), strict=True):
            vectors, _ = await task
            np.testing.assert_array_equal(vectors, [vector_of(text)])

    run(model, use)
    assert ["a", "b", "c"] in model.runs


def test_leaving_refuses_what_still_waits() -> None:
    model = FakeModel()

    async def main() -> None:
        async with open_embedder(model, 4) as embedder:
            model.hold = True
            request = asyncio.create_task(embedder.embed(["a"]))
            await asyncio.to_thread(model.wait_until_begun)
            asyncio.get_running_loop().call_soon(model.let_go)
        with pytest.raises(EmbeddingBackendError, match="closed"):
            await request

    asyncio.run(main())
