"""What the settings declare, what a server that is another one is called, and a model that is replaced."""

import asyncio
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from steelyard_contracts.errors import ErrorCode, UpstreamError
from steelyard_embedding.backends.port import ModelChangedError
from steelyard_embedding.settings import EmbeddingSettings
from tests.harness.embed_doubles import tei
from tests.harness.embed_doubles.vectors import vector

from .labs import LIMIT, WIRE, Lab, double_of, opened, remote_settings, sample, within

MISDECLARED: dict[str, tuple[dict[str, Any], str]] = {
    "another model": ({"model_id": "BAAI/bge-small-en"}, "set EMBEDDING_MODEL_ID to that"),
    "a reranker": ({"model_type": {"reranker": {"id2label": {}, "label2id": {}}}}, "is no embedding there"),
    "silent truncation": ({"auto_truncate": True}, "--auto-truncate false"),
}


@pytest.mark.parametrize("what", MISDECLARED)
def test_a_tei_server_that_is_not_as_declared_gets_no_text_until_it_is(what: str, tmp_path: Path) -> None:
    change, fix = MISDECLARED[what]

    async def use(lab: Lab) -> None:
        right = lab.double.info
        lab.double.info = {**right, **change}
        with pytest.raises(UpstreamError, match=fix) as error:
            await lab.embedder.probe()
        assert error.value.code is ErrorCode.MODEL_UNAVAILABLE
        assert await lab.code() is ErrorCode.MODEL_UNAVAILABLE
        assert lab.double.calls == []
        lab.double.info = right
        await lab.embedder.probe()
        assert len(await lab.vectors(sample(3))) == 3

    within("tei", tmp_path, use)


@pytest.mark.parametrize(
    "info",
    [
        {"auto_truncate": None},
        {"auto_truncate": "false"},
        {"max_input_length": 0},
        {"max_input_length": "512"},
        {"max_client_batch_size": True},
        {"max_client_batch_size": 0},
        {"model_id": None},
    ],
)
def test_an_info_that_does_not_say_it_is_no_info(info: dict[str, Any], tmp_path: Path) -> None:
    async def use(lab: Lab) -> None:
        lab.double.info = {**lab.double.info, **info}
        with pytest.raises(UpstreamError, match=next(iter(info))) as error:
            await lab.embedder.probe()
        assert error.value.code is ErrorCode.UPSTREAM_BAD_REPLY

    within("tei", tmp_path, use)


def test_another_revision_of_the_model_is_another_model(tmp_path: Path) -> None:
    async def use(lab: Lab) -> None:
        before = lab.double.info["model_sha"]
        lab.double.info["model_sha"] = "another"
        with pytest.raises(ModelChangedError, match=f"revision another .* it was {before}"):
            await lab.embedder.probe()
        with pytest.raises(ModelChangedError):
            await lab.vectors(["cat"])
        assert lab.backend.revision == before
        lab.double.info["model_sha"] = before
        await lab.embedder.probe()
        await lab.vectors(["cat"])

    within("tei", tmp_path, use)


@pytest.mark.parametrize("kind", WIRE)
def test_a_model_that_is_replaced_while_its_server_is_away_gets_no_text(kind: str, tmp_path: Path) -> None:
    async def use(lab: Lab) -> None:
        await lab.vectors(["cat"])
        await lab.double.__aexit__()
        assert await lab.code(["cat"]) is ErrorCode.UPSTREAM_UNREACHABLE
        await lab.double.restart()
        lab.double.weights = "2"
        lab.double.calls.clear()
        with pytest.raises(ModelChangedError, match="cosine"):
            await lab.embedder.probe()
        with pytest.raises(ModelChangedError, match="cosine"):
            await lab.vectors(["dog"])
        assert all(lab.sent(call) != ["dog"] for call in lab.double.calls)
        lab.double.weights = "1"
        await lab.embedder.probe()
        np.testing.assert_array_equal(await lab.vectors(["dog"]), [vector("dog")])

    within(kind, tmp_path, use)


@pytest.mark.parametrize("kind", WIRE)
def test_a_server_that_comes_later_is_waited_for(kind: str, tmp_path: Path) -> None:
    async def run() -> None:
        double = double_of(kind)
        async with double:
            settings = EmbeddingSettings(**remote_settings(kind, double.url, tmp_path))
        async with opened(settings) as embedder:
            lab = Lab(kind, embedder, double)
            assert (embedder.dimension, embedder.backend.revision) == (None, "unknown")
            assert await lab.code(["cat"]) is ErrorCode.UPSTREAM_UNREACHABLE
            await double.restart()
            await embedder.probe()
            np.testing.assert_array_equal(await lab.vectors(["cat"]), [vector("cat")])
            await double.__aexit__()

    asyncio.run(run())


def test_the_probe_text_is_billed_once_a_minute_while_all_is_well(tmp_path: Path) -> None:
    async def use(lab: Lab) -> None:
        for _ in range(5):
            await lab.embedder.probe()
        assert lab.double.calls == []
        assert lab.double.looks == 5

    within("tei", tmp_path, use)
    within("openai", tmp_path, use)


@pytest.mark.parametrize(
    ("listing", "limit"),
    [
        (None, LIMIT),
        ({"object": "list", "data": []}, LIMIT),
        ({"object": "list", "data": [{"id": "text-embedding-double"}]}, LIMIT),
        ({"object": "list", "data": [{"id": "another", "max_model_len": 8}]}, LIMIT),
        ({"object": "list", "data": [{"id": "text-embedding-double", "max_model_len": 32}]}, 32),
        ({"object": "list", "data": [{"id": "text-embedding-double", "max_model_len": 8192}]}, LIMIT),
    ],
)
def test_a_listing_may_lower_the_limit_of_the_models_files(listing: Any, limit: int, tmp_path: Path) -> None:
    async def use(lab: Lab) -> None:
        lab.double.listing = listing
        await lab.embedder.probe()
        assert lab.backend.max_tokens == limit

    within("openai", tmp_path, use)


def test_files_that_name_no_limit_are_refused_where_no_server_does(tmp_path: Path) -> None:
    async def run(kind: str) -> None:
        async with double_of(kind) as double:
            settings = EmbeddingSettings(**remote_settings(kind, double.url, tmp_path))
            (tmp_path / "model" / "tokenizer_config.json").unlink(missing_ok=True)
            async with opened(settings) as embedder:
                assert embedder.backend.max_tokens == LIMIT

    asyncio.run(run("tei"))
    with pytest.raises(ValueError, match=r"EMBEDDING_MODEL_DIR=.*model_max_length"):
        asyncio.run(run("openai"))


@pytest.mark.parametrize(
    ("given", "missing"),
    [
        ({"embedding_backend": "tei"}, "needs EMBEDDING_MODEL_DIR"),
        ({"embedding_backend": "openai", "embedding_model_dir": "x"}, "needs EMBEDDING_SERVER_URL"),
        ({"embedding_server_url": "http://x"}, "reads no EMBEDDING_SERVER_URL"),
        ({"embedding_api_key_file": "x"}, "reads no EMBEDDING_API_KEY_FILE"),
        ({"embedding_model_dir": "x"}, "reads no EMBEDDING_MODEL_DIR"),
    ],
)
def test_a_backend_names_the_setting_that_it_lacks_or_does_not_read(given: dict[str, Any], missing: str) -> None:
    with pytest.raises(ValidationError, match=missing):
        EmbeddingSettings(**given)


def test_the_limit_of_tei_is_its_servers(tmp_path: Path) -> None:
    async def use(lab: Lab) -> None:
        lab.double.info["max_input_length"] = 40
        await lab.embedder.probe()
        assert lab.backend.max_tokens == 40
        assert lab.backend.model_id == tei.MODEL

    within("tei", tmp_path, use)
