"""One trace through five real services: who is whose child, what the stages took and gave, and no text in it."""

import json
from collections.abc import Iterator

import pytest
import requests

from tests.harness.otlp_double import ExportedSpan, OtlpDouble
from tests.harness.stack import TIMEOUT_S, Stack, start_stack

CALLER = "b7ad6b7169203331"
CANARY = "CANARYQUINCE"
HANDBOOK = f"# Pump {CANARY}\n\nThe approved seal for the pump is {CANARY} ZQ-77.\n\n# Bolts\n\nTurn bolts to 35 Nm.\n"
ERROR = 2


@pytest.fixture(scope="module")
def collector() -> Iterator[OtlpDouble]:
    double = OtlpDouble().start()
    yield double
    double.stop()


@pytest.fixture(scope="module")
def traced(collector: OtlpDouble, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """Five services that send their traces; this module has a stack of its own, since the common one sends none."""
    running = start_stack(
        tmp_path_factory.mktemp("traced"),
        OTEL_EXPORTER_OTLP_ENDPOINT=collector.url,
        OTEL_METRICS_EXPORTER="otlp",
        FASTAPI_OTEL_AUTO_CONFIGURE="true",
    )
    try:
        assert running.ingest((f"{CANARY}.md", HANDBOOK.encode())).status_code == 200
        yield running
    finally:
        running.stop()


@pytest.fixture(autouse=True)
def _undisturbed() -> None:
    """Instead of the common stack's: these tests do not start that one."""


def ask(stack: Stack, trace: str, **body: object) -> requests.Response:
    return requests.post(
        f"{stack.chatqna.url}/v1/chat/completions",
        json={"model": "x", "messages": [{"role": "user", "content": f"Which seal {CANARY} is approved?"}], **body},
        headers={"traceparent": f"00-{trace}-{CALLER}-01"},
        timeout=TIMEOUT_S,
    )


def whole(collector: OtlpDouble, trace: str, last: str = "POST /v1/chat/completions") -> dict[str, list[ExportedSpan]]:
    """The spans of a trace by service and name, once every service that a call went to has sent its own."""
    count = 1
    while True:
        found = collector.wait(count, trace=trace)
        ids = {span.id for span in found}
        served = {span.parent for span in found if span.kind == 2}
        called = {
            span.id
            for span in found
            if span.kind == 3 and span.attributes["steelyard.upstream"] in {"embedding", "retriever", "reranker"}
        }
        if (
            any(span.name == last for span in found)
            and called <= served
            and all(span.parent in ids | {CALLER} for span in found)
        ):
            named: dict[str, list[ExportedSpan]] = {}
            for span in found:
                named.setdefault(f"{span.service} {span.name}", []).append(span)
            return named
        count = len(found) + 1


@pytest.mark.parametrize("stream", [False, True])
def test_an_answer_is_one_trace_through_all_services(traced: Stack, collector: OtlpDouble, stream: bool) -> None:
    trace = "0af7651916cd43dd8448eb211c80319" + ("a" if stream else "b")
    assert ask(traced, trace, stream=stream).status_code == 200
    named = whole(collector, trace)
    (gateway,) = named["gateway POST /v1/chat/completions"]
    assert gateway.parent == CALLER
    work = {
        "embedding": ("POST /v1/embeddings", "embed", "EMBEDDING"),
        "retriever": ("POST /v1/retrieval", "search", "RETRIEVER"),
        "reranker": ("POST /v1/reranking", "rerank", "RERANKER"),
    }
    for service, (route, name, kind) in work.items():
        (stage,), (call,) = named[f"gateway {service}"], named[f"gateway POST {service}"]
        (served,), (inner,) = named[f"{service} {route}"], named[f"{service} {name}"]
        assert (stage.parent, call.parent, served.parent, inner.parent) == (gateway.id, stage.id, call.id, served.id)
        assert inner.attributes["openinference.span.kind"] == kind
        assert served.attributes["steelyard.request_id"] == gateway.attributes["steelyard.request_id"]
    (llm,) = named["gateway llm"]
    assert llm.attributes["openinference.span.kind"] == "LLM"
    assert [one.parent for one in named["gateway POST llm"] if one.attributes["url.path"].endswith("completions")] == [
        llm.id
    ]
    assert llm.attributes["llm.token_count.prompt"] > 0
    assert llm.attributes["llm.token_count.completion"] > 0
    assert all(span.status != ERROR for spans in named.values() for span in spans)


def test_spans_name_what_was_found_and_kept_by_id_and_score(traced: Stack, collector: OtlpDouble) -> None:
    trace = "0af7651916cd43dd8448eb211c80319c"
    answer = ask(traced, trace).json()
    named = whole(collector, trace)
    (search,), (rerank,), (embed,) = (
        named["retriever search"],
        named["reranker rerank"],
        named["embedding embed"],
    )
    count = search.attributes["steelyard.retrieved"]
    found = [search.attributes[f"retrieval.documents.{i}.document.id"] for i in range(count)]
    ledger = requests.get(
        f"{traced.chatqna.url}/v1/ledgers/{answer['steelyard']['ledger_id']}", timeout=TIMEOUT_S
    ).json()
    by_rank = sorted(ledger["entries"], key=lambda one: one["retrieval_rank"])
    assert found == [one["chunk_id"] for one in by_rank]
    assert {rerank.attributes[f"reranker.input_documents.{i}.document.id"] for i in range(count)} == set(found)
    sent = sorted((one for one in by_rank if one.get("rank")), key=lambda one: one["rank"])
    assert rerank.attributes["reranker.output_documents.0.document.id"] == sent[0]["chunk_id"]
    assert rerank.attributes["reranker.output_documents.0.document.score"] == sent[0]["scores"]["rerank"]
    assert rerank.attributes["reranker.model_name"]
    assert rerank.attributes["reranker.top_k"] == 3
    assert embed.attributes["embedding.model_name"] == "all-minilm-l6-v2"
    assert embed.attributes["llm.token_count.prompt"] > 0


def test_a_model_that_breaks_off_is_an_error_of_its_span_and_of_the_request(
    traced: Stack, collector: OtlpDouble
) -> None:
    trace = "0af7651916cd43dd8448eb211c80319d"
    traced.llm.fault = "error_event"
    try:
        assert "error" in ask(traced, trace, stream=True).text
    finally:
        traced.llm.reset()
    named = whole(collector, trace)
    (gateway,), (llm,) = named["gateway POST /v1/chat/completions"], named["gateway llm"]
    assert (gateway.status, gateway.attributes["error.type"]) == (ERROR, "upstream_bad_reply")
    assert (llm.status, llm.attributes["error.type"]) == (ERROR, "upstream_bad_reply")


def test_a_client_that_leaves_in_the_middle_of_an_answer_ends_every_span(traced: Stack, collector: OtlpDouble) -> None:
    trace = "0af7651916cd43dd8448eb211c80319e"
    traced.llm.answer = lambda _messages: "The approved seal for the pump is ZQ-77. Turn bolts to 35 Nm. This is all."
    traced.llm.pause_after = "35"
    try:
        with requests.post(
            f"{traced.chatqna.url}/v1/chat/completions",
            json={"model": "x", "stream": True, "messages": [{"role": "user", "content": "Which seal is approved?"}]},
            headers={"traceparent": f"00-{trace}-{CALLER}-01"},
            timeout=TIMEOUT_S,
            stream=True,
        ) as reply:
            assert next(reply.iter_content(1))
        named = whole(collector, trace)
    finally:
        traced.llm.resumed.set()
        traced.llm.reset()
    (gateway,), (llm,) = named["gateway POST /v1/chat/completions"], named["gateway llm"]
    assert gateway.attributes["steelyard.client_left"] is True
    assert gateway.status != ERROR
    assert llm.attributes["steelyard.cancelled"] is True


def test_no_text_of_a_document_question_or_answer_is_in_any_span(traced: Stack, collector: OtlpDouble) -> None:
    trace = "0af7651916cd43dd8448eb211c80319f"
    answer = ask(traced, trace)
    assert CANARY in json.dumps(answer.json()["choices"])
    listed = requests.get(f"{traced.chatqna.url}/v1/dataprep/documents?source={CANARY}", timeout=TIMEOUT_S)
    assert listed.status_code < 500
    whole(collector, trace)
    assert collector.raw
    assert all(CANARY.encode() not in body for body in collector.raw)
