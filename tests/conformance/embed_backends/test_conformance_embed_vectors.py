"""What every backend does when nothing is wrong, and with texts that it can not read."""

import asyncio
from pathlib import Path

import numpy as np
import pytest

from steelyard_contracts.errors import ErrorCode, SteelyardError
from tests.harness.embed_doubles.vectors import DIMENSION, vector

from .labs import ALL, LIMIT, WIRE, Lab, sample, within


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize("count", [1, 2, 32, 33, 100])
def test_every_text_has_its_own_unit_vector_in_the_texts_order(kind: str, count: int, tmp_path: Path) -> None:
    async def use(lab: Lab) -> None:
        texts = sample(count)
        vectors = await lab.vectors(texts)
        assert vectors.dtype == np.float32
        assert vectors.shape == (count, lab.embedder.dimension)
        np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
        np.testing.assert_allclose((await lab.vectors(texts[::-1]))[::-1], vectors, atol=1e-5)
        if lab.double is not None:
            np.testing.assert_array_equal(vectors, [vector(text) for text in texts])

    within(kind, tmp_path, use)


@pytest.mark.parametrize("kind", ALL)
def test_concurrent_requests_do_not_mix(kind: str, tmp_path: Path) -> None:
    async def use(lab: Lab) -> None:
        requests = [sample(1 + i % 7, words=3 + i) for i in range(24)]
        alone = [await lab.vectors(texts) for texts in requests[:6]]
        together = await asyncio.gather(*(lab.vectors(texts) for texts in requests))
        for one, other in zip(alone, together, strict=False):
            np.testing.assert_allclose(one, other, atol=1e-5)
        if lab.double is not None:
            for texts, rows in zip(requests, together, strict=True):
                np.testing.assert_array_equal(rows, [vector(text) for text in texts])

    within(kind, tmp_path, use)


@pytest.mark.parametrize("kind", WIRE)
def test_requests_that_wait_share_calls(kind: str, tmp_path: Path) -> None:
    async def use(lab: Lab) -> None:
        replies = await asyncio.gather(*(lab.vectors([f"cat {i}"]) for i in range(40)))
        assert len(lab.double.calls) <= 8
        for i, rows in enumerate(replies):
            np.testing.assert_array_equal(rows, [vector(f"cat {i}")])

    within(kind, tmp_path, use)


@pytest.mark.parametrize("kind", ALL)
def test_a_text_that_fills_the_model_is_read_and_one_token_more_is_refused(kind: str, tmp_path: Path) -> None:
    async def use(lab: Lab) -> None:
        most = lab.backend.max_tokens
        assert most is not None
        assert kind not in WIRE or most == LIMIT
        full = " ".join(["cat"] * (most - 2))
        assert lab.backend.count_tokens([full]) == [most]
        assert (await lab.vectors([full])).shape[0] == 1
        calls = None if lab.double is None else len(lab.double.calls)
        with pytest.raises(SteelyardError) as error:
            await lab.vectors(["cat", f"{full} cat"])
        assert error.value.code is ErrorCode.TEXT_TOO_LONG
        assert [fault.field for fault in error.value.errors] == ["input.1"]
        assert calls is None or len(lab.double.calls) == calls

    within(kind, tmp_path, use)


@pytest.mark.parametrize("kind", ALL)
def test_dimension_limit_and_revision_are_known_once_it_is_open(kind: str, tmp_path: Path) -> None:
    async def use(lab: Lab) -> None:
        assert lab.embedder.dimension == (DIMENSION if kind in WIRE else 384)
        assert len(lab.backend.tokenizer_sha256) == 64
        if kind == "tei":
            assert lab.backend.revision == lab.double.info["model_sha"]
        if kind == "openai":
            assert lab.backend.revision == "unknown"

    within(kind, tmp_path, use)


@pytest.mark.parametrize("kind", WIRE)
def test_texts_are_split_into_what_the_server_takes(kind: str, tmp_path: Path) -> None:
    async def use(lab: Lab) -> None:
        if kind == "tei":
            lab.double.info["max_client_batch_size"] = 7
            await lab.embedder.probe()
        texts = sample(40)
        np.testing.assert_array_equal(await lab.vectors(texts), [vector(text) for text in texts])
        sizes = sorted((len(lab.sent(call)) for call in lab.double.calls), reverse=True)
        assert sizes == ([7, 7, 7, 7, 7, 5] if kind == "tei" else [32, 8])
        assert sorted(text for call in lab.double.calls for text in lab.sent(call)) == sorted(texts)

    within(kind, tmp_path, use)


def test_a_request_is_as_its_server_documents_it(tmp_path: Path) -> None:
    async def of_tei(lab: Lab) -> None:
        await lab.vectors(["cat"])
        assert lab.double.calls == [{"inputs": ["cat"], "truncate": False, "normalize": True}]
        assert "Authorization" not in lab.double.heads[0]
        assert lab.double.heads[0]["Accept-Encoding"] == "identity"

    async def of_openai(lab: Lab) -> None:
        await lab.vectors(["cat"])
        assert lab.double.calls == [{"model": "text-embedding-double", "input": ["cat"], "encoding_format": "float"}]
        assert lab.double.heads[0]["Authorization"] == "Bearer sk-embedding-double"

    within("tei", tmp_path, of_tei)
    within("openai", tmp_path, of_openai)
