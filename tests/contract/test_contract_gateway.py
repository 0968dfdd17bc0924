"""chatqna over the real services: the `openai` package and OPEA's requests work, every outcome is told apart."""

import json
from typing import Any

import openai
import pytest
import requests

from steelyard_contracts.answers import Answered, Ledger
from steelyard_contracts.ledger import totals
from tests.harness.llm_double import templated, tokens
from tests.harness.stack import Stack, post

QUESTION = "Which seal is approved for AX-104-B?"


@pytest.fixture
def client(stack: Stack) -> Any:
    with openai.OpenAI(base_url=f"{stack.chatqna.url}/v1", api_key="unused", max_retries=0) as made:
        yield made


def ask(client: openai.OpenAI, question: str = QUESTION, **fields: Any) -> Any:
    return client.chat.completions.create(model="steelyard", messages=[{"role": "user", "content": question}], **fields)


def events(reply: requests.Response) -> list[str]:
    """The data of a stream's events."""
    return [line.removeprefix("data: ") for line in reply.content.decode("utf-8").split("\n\n") if line]


def check_invariant(ledger: Ledger) -> None:
    counted = totals(ledger.entries)
    assert counted == ledger.totals
    assert counted.retrieved == counted.sent + sum(counted.dropped.values()) == len(ledger.evidence)


def test_an_answer_has_citations_that_can_be_proven(stack: Stack, client: openai.OpenAI) -> None:
    answer = ask(client)
    extension = Answered.model_validate(answer.model_extra["steelyard"])
    assert answer.choices[0].finish_reason == "stop"
    assert "ZQ-77" in answer.choices[0].message.content
    assert extension.outcome == "ok"
    ledger = Ledger.model_validate(
        requests.get(f"{stack.chatqna.url}/v1/ledgers/{extension.ledger_id}", timeout=30).json()
    )
    check_invariant(ledger)
    texts = {one.chunk_id: one.text for one in ledger.evidence}
    assert extension.citations
    for citation in extension.citations:
        text = texts[citation.chunk_id]
        assert text is not None
        start = citation.quote_start - citation.char_start
        assert text[start : start + len(citation.quote)] == citation.quote
        sent = next(entry for entry in ledger.entries if entry.chunk_id == citation.chunk_id)
        assert sent.rank == citation.marker
    assert ledger.answer == answer.choices[0].message.content
    # Who reads the values must be able to see what they were held against.
    assert ledger.settings["min_value_threshold"] == -1.0
    assert ledger.settings["strategy"] == "adaptive"


def test_usage_and_budget_are_the_model_servers_own(stack: Stack, client: openai.OpenAI) -> None:
    answer = ask(client)
    budget = Answered.model_validate(answer.model_extra["steelyard"]).budget
    assert budget is not None
    prompt = budget.system + budget.history + budget.question + budget.evidence
    assert prompt == answer.usage.prompt_tokens == len(tokens(templated(stack.llm.requests[-1]["messages"])))


def test_a_stream_gives_the_same_text_and_the_extension_last(client: openai.OpenAI) -> None:
    whole = ask(client).choices[0].message.content
    chunks = list(ask(client, stream=True, stream_options={"include_usage": True}))
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices) == whole
    assert [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices][-1] == "stop"
    assert chunks[-1].usage.total_tokens > 0
    assert chunks[-1].model_extra["steelyard"]["outcome"] == "ok"


@pytest.mark.parametrize("strategy", ["slice", "threshold", "slice_threshold", "knee_threshold", "adaptive"])
def test_the_requests_strategy_is_the_one_that_is_used(stack: Stack, strategy: str) -> None:
    stack.retriever_proxy.rewrite = lambda reply: seen.update(reply) or reply
    seen: dict[str, Any] = {}
    reply = post(stack.chatqna, "/v1/inspect", {"messages": QUESTION, "reranking_strategy": strategy})
    ledger = reply.json()
    assert ledger["strategy"] == strategy
    assert reply.headers["X-Policy-Hash"] == ledger["policy_hash"]
    check_invariant(Ledger.model_validate(ledger))
    assert ("embedding" in seen) == (strategy == "adaptive")


def test_sampling_fields_are_passed_on_as_they_are(stack: Stack, client: openai.OpenAI) -> None:
    ask(client, temperature=0, top_p=0.5, seed=7, stop=["END"], max_tokens=33, presence_penalty=0)
    sent = stack.llm.requests[-1]
    assert {
        name: sent[name] for name in ("temperature", "top_p", "seed", "stop", "max_tokens", "presence_penalty")
    } == {
        "temperature": 0,
        "top_p": 0.5,
        "seed": 7,
        "stop": ["END"],
        "max_tokens": 33,
        "presence_penalty": 0,
    }
    assert "frequency_penalty" not in sent


def test_the_second_question_is_retrieved_for_itself(stack: Stack, client: openai.OpenAI) -> None:
    client.chat.completions.create(
        model="steelyard",
        messages=[
            {"role": "user", "content": QUESTION},
            {"role": "assistant", "content": "ZQ-77."},
            {"role": "user", "content": "How are spare diaphragms stored?"},
        ],
    )
    prompt = stack.llm.requests[-1]["messages"]
    assert "diaphragms are stored flat" in prompt[-1]["content"]
    assert [one["role"] for one in prompt] == ["system", "user", "assistant", "user"]


def test_opeas_request_streams_json_in_utf8_by_default(stack: Stack) -> None:
    stack.llm.answer = lambda _messages: "The approved seal for AX-104-B is ZQ-77."
    reply = post(
        stack.chatqna, "/v1/chatqna", {"messages": QUESTION, "top_n": 1, "k": 5, "reranking_strategy": "slice"}
    )
    assert reply.headers["content-type"] == "text/event-stream; charset=utf-8"
    *chunks, done = events(reply)
    assert done == "[DONE]"
    parsed = [json.loads(chunk) for chunk in chunks]
    text = "".join(chunk["choices"][0]["delta"].get("content", "") for chunk in parsed)
    assert text == "The approved seal for AX-104-B is ZQ-77."
    extension = Answered.model_validate(parsed[-1]["steelyard"])
    assert (extension.totals.retrieved, extension.totals.sent) == (5, 1)


def test_opeas_request_in_one_piece(stack: Stack) -> None:
    body = {"messages": [{"role": "user", "content": QUESTION}], "stream": False, "temperature": 0.01, "max_tokens": 64}
    reply = post(stack.chatqna, "/v1/chatqna", body)
    assert reply.status_code == 200
    assert "ZQ-77" in reply.json()["choices"][0]["message"]["content"]


def test_no_evidence_is_said_and_the_model_is_not_asked(stack: Stack, client: openai.OpenAI) -> None:
    answer = ask(client, extra_body={"reranking_strategy": "threshold", "reranking_threshold": 1})
    extension = Answered.model_validate(answer.model_extra["steelyard"])
    assert extension.outcome == "empty"
    assert extension.abstained == "nothing_selected"
    assert "no evidence" in answer.choices[0].message.content
    assert extension.totals.sent == 0
    assert extension.totals.retrieved == sum(extension.totals.dropped.values()) > 0
    assert stack.llm.requests == []


def test_an_answer_that_nothing_supports_is_replaced(stack: Stack, client: openai.OpenAI) -> None:
    stack.llm.answer = lambda _messages: "The pump is painted black."
    for stream in (False, True):
        answer = ask(client, stream=stream)
        if stream:
            chunks = list(answer)
            text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks)
            extension = Answered.model_validate(chunks[-1].model_extra["steelyard"])
        else:
            text = answer.choices[0].message.content
            extension = Answered.model_validate(answer.model_extra["steelyard"])
        assert extension.abstained == "unsupported_answer"
        assert "black" not in text
        ledger = requests.get(f"{stack.chatqna.url}/v1/ledgers/{extension.ledger_id}", timeout=30).json()
        assert ledger["original_answer"] == "The pump is painted black."


def _drop_a_vector(reply: dict[str, Any]) -> dict[str, Any]:
    reply["metadata"][1].pop("chunk_embedding", None)
    return reply


def _shorten_a_vector(reply: dict[str, Any]) -> dict[str, Any]:
    reply["metadata"][0]["chunk_embedding"] = [0.5, 0.5]
    return reply


@pytest.mark.parametrize("rewrite", [_drop_a_vector, _shorten_a_vector])
@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/chatqna", "/v1/inspect"])
def test_misaligned_embeddings_reach_the_client(stack: Stack, rewrite: Any, path: str) -> None:
    stack.retriever_proxy.rewrite = rewrite
    messages: Any = QUESTION if path != "/v1/chat/completions" else [{"role": "user", "content": QUESTION}]
    reply = post(stack.chatqna, path, {"messages": messages, "reranking_strategy": "adaptive"})
    assert reply.status_code == 500
    body = reply.json()
    assert body.get("error", body)["code"] == "embedding_misaligned"
    assert stack.llm.requests == []
    assert post(stack.chatqna, path, {"messages": messages, "reranking_strategy": "slice"}).status_code == 200


@pytest.mark.parametrize(
    "rewrite",
    [
        lambda reply: reply | {"metadata": reply["metadata"][:-1]},
        lambda reply: reply | {"metadata": reply["metadata"][1:] + reply["metadata"][:1]},
        lambda reply: {"retrieved_docs": "none"},
        lambda reply: [],
    ],
)
def test_a_nonsensical_reply_of_the_retriever_is_502(stack: Stack, rewrite: Any) -> None:
    stack.retriever_proxy.rewrite = rewrite
    reply = post(stack.chatqna, "/v1/inspect", {"messages": QUESTION})
    assert (reply.status_code, reply.json()["code"], reply.json()["stage"]) == (502, "upstream_bad_reply", "retriever")


@pytest.mark.parametrize(("fault", "status"), [("503", 503), ("html", 502)])
@pytest.mark.parametrize("stream", [False, True])
def test_a_model_that_fails_before_its_first_byte_gives_a_real_status(
    stack: Stack, client: openai.OpenAI, fault: str, status: int, *, stream: bool
) -> None:
    stack.llm.fault = fault
    with pytest.raises(openai.APIStatusError) as caught:
        ask(client, stream=stream)
    assert caught.value.status_code == status
    assert caught.value.body["stage"] == "llm"


@pytest.mark.parametrize("fault", ["cut", "error_event"])
def test_a_model_that_fails_in_the_middle_ends_the_stream_with_an_error(stack: Stack, fault: str) -> None:
    sentence = "The approved seal for AX-104-B is ZQ-77. "
    stack.llm.answer, stack.llm.fault = (lambda _messages: sentence * 8), fault
    reply = post(stack.chatqna, "/v1/chatqna", {"messages": QUESTION})
    assert reply.status_code == 200
    said = events(reply)
    assert "[DONE]" not in said
    last = json.loads(said[-1])
    assert last["error"]["code"] == "upstream_bad_reply"
    assert '"finish_reason":"stop"' not in reply.text


def test_a_client_that_leaves_stops_the_model(stack: Stack) -> None:
    stack.llm.fault = "hang"
    with pytest.raises(requests.ReadTimeout):
        requests.post(
            f"{stack.chatqna.url}/v1/chatqna",
            json={"messages": QUESTION, "reranking_strategy": "slice"},
            timeout=(5, 3),
        )
    assert stack.llm.cancelled.wait(10)


@pytest.mark.parametrize(
    ("body", "status", "field"),
    [
        ({"messages": []}, 422, "messages"),
        ({"messages": [{"role": "user", "content": "  "}]}, 422, None),
        ({"messages": [{"role": "assistant", "content": "x"}]}, 422, None),
        ({"messages": [{"role": "user", "content": "x"}], "temprature": 0}, 422, "temprature"),
        ({"messages": [{"role": "user", "content": "x"}], "n": 2}, 422, "n"),
        ({"messages": [{"role": "user", "content": "x"}], "k": -1}, 422, "k"),
        ({"messages": [{"role": "user", "content": "x"}], "reranking_strategy": "best"}, 422, "reranking_strategy"),
        ({"messages": [{"role": "user", "content": "x"}], "temperature": "0"}, 422, "temperature"),
    ],
)
def test_bad_chat_requests_get_openais_error_object(
    stack: Stack, body: dict[str, Any], status: int, field: str | None
) -> None:
    reply = post(stack.chatqna, "/v1/chat/completions", body)
    assert reply.status_code == status
    error = reply.json()["error"]
    assert error["type"] == "invalid_request_error"
    assert error["param"] == field


def test_a_question_that_does_not_fit_is_refused_before_the_model(stack: Stack) -> None:
    history = [{"role": "user", "content": "word " * 5000}, {"role": "assistant", "content": "noted"}]
    body = {"messages": [*history, {"role": "user", "content": QUESTION}]}
    reply = post(stack.chatqna, "/v1/chat/completions", body)
    assert (reply.status_code, reply.json()["error"]["code"]) == (400, "context_length_exceeded")
    assert stack.llm.requests == []


def test_evidence_that_does_not_fit_is_dropped_with_its_reason(stack: Stack) -> None:
    words = "word " * 3700
    body = {
        "messages": [
            {"role": "user", "content": words},
            {"role": "assistant", "content": "noted"},
            {"role": "user", "content": QUESTION},
        ],
        "reranking_strategy": "slice",
        "top_n": 4,
    }
    extension = Answered.model_validate(post(stack.chatqna, "/v1/chat/completions", body).json()["steelyard"])
    assert extension.totals.dropped["over_context_budget"] >= 1
    assert extension.budget is not None
    assert extension.budget.unused >= 0


def test_an_unknown_ledger_is_not_found(stack: Stack) -> None:
    reply = requests.get(f"{stack.chatqna.url}/v1/ledgers/none", timeout=30)
    assert (reply.status_code, reply.json()["code"]) == (404, "not_found")
