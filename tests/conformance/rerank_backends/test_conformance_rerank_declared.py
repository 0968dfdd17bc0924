"""What the settings declare, and what a server that is another one is called."""

import asyncio
import math
from pathlib import Path
from typing import Any

import pytest

from steelyard_reranker.backends.open import UNKNOWN_LIMIT, open_backend
from steelyard_reranker.backends.port import RerankBackendError
from steelyard_reranker.settings import RerankerSettings
from steelyard_runtime.blocking import Workers
from tests.harness.rerank_doubles import cohere, tei
from tests.harness.rerank_doubles.scores import score
from tests.unit.models.tiny_encoder import write_tokenizer

from .labs import Lab, lab, sample, within

MISDECLARED: dict[str, tuple[dict[str, Any], str]] = {
    "another model": ({"model_id": "BAAI/bge-reranker-base"}, "set RERANKER_MODEL_ID to that"),
    "an embedding model": ({"model_type": {"embedding": {"pooling": "cls"}}}, "is no reranker"),
    "a classifier": ({"model_type": {"classifier": {"id2label": {}, "label2id": {}}}}, "is no reranker"),
    "silent truncation": ({"auto_truncate": True}, "--auto-truncate false"),
}


@pytest.mark.parametrize("what", MISDECLARED)
def test_a_tei_server_that_is_not_as_declared_gets_no_text_until_it_is(what: str, tmp_path: Path) -> None:
    change, fix = MISDECLARED[what]

    async def use(lab: Lab) -> None:
        right = lab.double.info
        await lab.backend.probe()
        lab.double.info = {**right, **change}
        with pytest.raises(RerankBackendError, match=fix) as error:
            await lab.backend.probe()
        assert error.value.reason == "misdeclared"
        assert await lab.reason() == "misdeclared"
        assert lab.double.calls == []
        lab.double.info = right
        assert len(await lab.scores("a cat", sample(3))) == 3
        await lab.backend.probe()

    within("tei", tmp_path, use)


@pytest.mark.parametrize(
    "info",
    [
        {"auto_truncate": None},
        {"auto_truncate": "false"},
        {"max_input_length": 0},
        {"max_input_length": "512"},
        {"max_client_batch_size": True},
        {"model_id": None},
    ],
)
def test_an_info_that_does_not_say_it_is_no_info(info: dict[str, Any], tmp_path: Path) -> None:
    async def use(lab: Lab) -> None:
        lab.double.info = {**lab.double.info, **info}
        with pytest.raises(RerankBackendError, match=next(iter(info))) as error:
            await lab.backend.probe()
        assert error.value.reason == "bad_reply"

    within("tei", tmp_path, use)


def test_the_revision_that_tei_names_is_in_the_policy(tmp_path: Path) -> None:
    async def use(lab: Lab) -> None:
        assert lab.backend.policy["revision"] == "unknown"
        await lab.backend.probe()
        before = lab.backend.policy
        assert before["revision"] == lab.double.info["model_sha"]
        lab.double.info = {**lab.double.info, "model_sha": "another"}
        await lab.backend.probe()
        assert lab.backend.policy == {**before, "revision": "another"}
        lab.double.info = {**lab.double.info, "model_sha": None}
        await lab.backend.probe()
        assert lab.backend.revision == "unknown"

    within("tei", tmp_path, use)


def test_a_tei_server_that_takes_fewer_texts_gets_fewer(tmp_path: Path) -> None:
    async def use(lab: Lab) -> None:
        lab.double.info = {**lab.double.info, "max_client_batch_size": 7}
        await lab.scores("a cat", sample(20))
        assert [len(call["texts"]) for call in lab.double.calls] == [7, 7, 6]

    within("tei", tmp_path, use)


def test_a_tei_server_is_forbidden_to_cut(tmp_path: Path) -> None:
    async def use(lab: Lab) -> None:
        await lab.scores("a cat", sample(1))
        assert (lab.double.calls[0]["truncate"], lab.double.calls[0]["raw_scores"]) == (False, False)

    within("tei", tmp_path, use)


def test_a_tei_server_that_was_restarted_with_another_model_is_seen_at_once(tmp_path: Path) -> None:
    async def use(lab: Lab) -> None:
        await lab.scores("a cat", sample(1))
        policy = lab.backend.policy
        await lab.double.__aexit__()
        assert await lab.reason() == "unreachable"
        assert lab.backend.policy == policy  # what the server is now is not known, so nothing has changed yet
        await lab.double.restart()
        lab.double.info = {**lab.double.info, "model_id": "another/model"}
        assert await lab.reason() == "misdeclared"
        assert len(lab.double.calls) == 1

    within("tei", tmp_path, use)


@pytest.mark.parametrize("budget", [512, 513])
def test_a_tei_server_that_reads_less_than_the_declared_budget_is_misdeclared(budget: int, tmp_path: Path) -> None:
    async def run() -> None:
        scoring = Workers("scoring", 1)
        async with tei.TeiDouble() as double:
            settings = RerankerSettings(rerank_backend="tei", rerank_url=double.url)
            async with open_backend(settings, scoring=scoring, probing=scoring, declared_limit=budget) as opened:
                if budget == 512:
                    await opened.backend.probe()
                else:
                    with pytest.raises(RerankBackendError, match="reads 512 tokens of a pair, 513 are declared"):
                        await opened.backend.probe()
        scoring.close()

    asyncio.run(run())


@pytest.mark.parametrize("kind", ["tei", "pinecone"])
def test_the_limit_of_a_pair_is_the_servers_own_once_it_has_said_it(kind: str, tmp_path: Path) -> None:
    write_tokenizer(tmp_path)

    async def use(lab: Lab) -> None:
        assert lab.opened.pair_format is not None
        assert lab.opened.pair_format.limit == UNKNOWN_LIMIT
        await lab.backend.probe()
        assert lab.opened.pair_format.limit == 512

    within(kind, tmp_path, use, rerank_model_dir=str(tmp_path))


@pytest.mark.parametrize("kind", ["tei", "cohere", "pinecone"])
def test_without_a_tokenizer_pairs_are_unmeasured(kind: str, tmp_path: Path) -> None:
    async def use(lab: Lab) -> None:
        assert lab.opened.pair_format is None

    within(kind, tmp_path, use)


def test_the_limit_in_the_models_files_is_taken_where_the_server_names_none(tmp_path: Path) -> None:
    write_tokenizer(tmp_path)
    (tmp_path / "tokenizer_config.json").write_text('{"model_max_length": 8192}')

    async def use(lab: Lab) -> None:
        assert lab.opened.pair_format is not None
        assert lab.opened.pair_format.limit == 8192

    within("cohere", tmp_path, use, rerank_model_dir=str(tmp_path))


@pytest.mark.parametrize("top_n", ["send", "omit"])
@pytest.mark.parametrize("documents", ["text", "object"])
def test_the_dialect_is_spoken_as_it_is_declared(top_n: str, documents: str, tmp_path: Path) -> None:
    async def use(lab: Lab) -> None:
        lab.double.documents = dict if documents == "object" else str
        lab.double.takes_top_n = top_n == "send"
        assert await lab.scores("a cat", ["dog", "sea"]) == [score("a cat", "dog"), score("a cat", "sea")]
        assert lab.double.calls[0].get("top_n") == (2 if top_n == "send" else None)

    within("cohere", tmp_path, use, rerank_dialect=f"top_n={top_n} documents={documents}")


def test_logits_are_mapped_where_they_are_declared_and_refused_where_they_are_not(tmp_path: Path) -> None:
    def logit(value: float) -> float:
        return 40.0 * value - 20.0

    async def declared(lab: Lab) -> None:
        lab.double.scaled = logit
        scores = await lab.scores("a cat", ["dog", "sea"])
        raw = [logit(score("a cat", text)) for text in ("dog", "sea")]
        assert scores == pytest.approx([1 / (1 + math.exp(-one)) for one in raw])

    async def undeclared(lab: Lab) -> None:
        lab.double.scaled = logit
        assert await lab.reason() == "out_of_scale"

    within("cohere", tmp_path, declared, rerank_dialect="scale=logit")
    within("cohere", tmp_path, undeclared)


def test_a_listwise_models_texts_are_never_parted(tmp_path: Path) -> None:
    async def use(lab: Lab) -> None:
        await lab.scores("a cat", sample(200))
        assert len(lab.double.calls) == 1
        assert await lab.reason(["the sea", "the sea " * 600]) == "rejected"
        assert len(lab.double.calls) == 2
        assert await lab.reason(sample(1001)) == "rejected"
        assert len(lab.double.calls) == 2

    within("cohere", tmp_path, use, rerank_dialect="model=listwise")


@pytest.mark.parametrize(
    ("listing", "served"), [("/v1/models?endpoint=rerank", True), ("", True), ("/v1/models?endpoint=rerank", False)]
)
def test_a_listing_says_whether_the_model_is_served(listing: str, served: bool, tmp_path: Path) -> None:
    dialect = f"listing={listing}" if listing else None

    async def use(lab: Lab) -> None:
        if served:
            await lab.backend.probe()
            return
        with pytest.raises(RerankBackendError, match=cohere.MODEL) as error:
            await lab.backend.probe()
        assert error.value.reason == "misdeclared"

    model = cohere.MODEL if served else "another"
    within("cohere", tmp_path, use, rerank_dialect=dialect, reranker_model_id=model)


def test_a_probe_looks_again_only_when_a_minute_has_passed_or_something_failed(tmp_path: Path) -> None:
    async def use(lab: Lab) -> None:
        for _ in range(5):
            await lab.backend.probe()
        assert lab.double.looks == 1
        lab.double.alter = lambda _rows: None
        await lab.reason()
        for _ in range(5):
            await lab.backend.probe()
        assert lab.double.looks == 2

    within("cohere", tmp_path, use, rerank_dialect="listing=/v1/models")
    within("pinecone", tmp_path, use)


def test_the_model_that_answered_is_recorded_beside_the_one_that_was_asked_for(tmp_path: Path) -> None:
    async def use(lab: Lab) -> None:
        before = lab.backend.policy
        assert before["returned_model"] is None
        if lab.kind == "pinecone":
            lab.double.served = "bge-reranker-v2-m3-2"
        else:
            lab.double.returned_model = "bge-reranker-v2-m3-2"
        await lab.scores("a cat", sample(1))
        assert lab.backend.policy["returned_model"] == "bge-reranker-v2-m3-2"
        assert lab.backend.policy["reranker"] == before["reranker"] == lab.backend.model_id

    within("pinecone", tmp_path, use)
    within("cohere", tmp_path, use)


@pytest.mark.parametrize("kind", ["pinecone", "cohere"])
def test_scores_of_two_models_are_no_reply(kind: str, tmp_path: Path) -> None:
    async def use(lab: Lab) -> None:
        def change(rows: Any) -> Any:
            lab.double.served = lab.double.returned_model = f"model-{len(lab.double.calls)}"
            return rows

        lab.double.alter = change
        assert await lab.reason(sample(101 if kind == "pinecone" else 1001)) == "bad_reply"
        assert len(lab.double.calls) == 2
        assert len(await lab.scores("a cat", ["dog"])) == 1

    within(kind, tmp_path, use)


@pytest.mark.parametrize(
    ("change", "reason"), [({"type": "embed"}, "misdeclared"), ({"model": "another"}, "misdeclared")]
)
def test_a_pinecone_plan_without_the_model_is_misdeclared(change: dict[str, Any], reason: str, tmp_path: Path) -> None:
    async def use(lab: Lab) -> None:
        lab.double.model = {**lab.double.model, **change}
        with pytest.raises(RerankBackendError) as error:
            await lab.backend.probe()
        assert error.value.reason == reason

    within("pinecone", tmp_path, use)


def test_pinecone_is_forbidden_to_cut_and_asked_for_a_hundred_at_most(tmp_path: Path) -> None:
    async def use(lab: Lab) -> None:
        await lab.scores("a cat", sample(101))
        assert [len(call["documents"]) for call in lab.double.calls] == [100, 1]
        assert {call["parameters"]["truncate"] for call in lab.double.calls} == {"NONE"}
        assert not any(call["return_documents"] for call in lab.double.calls)

    within("pinecone", tmp_path, use)


def test_the_scale_of_a_models_output_is_declared(tmp_path: Path) -> None:
    async def run() -> None:
        async with lab("onnx", tmp_path) as logits, lab("onnx", tmp_path, rerank_dialect="scale=probability") as raw:
            assert all(0 < one < 1 for one in await logits.scores("a cat", sample(5)))
            assert await raw.reason(sample(5)) == "out_of_scale"

    asyncio.run(run())
