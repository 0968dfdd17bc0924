"""A gateway with API keys over the real services: scopes decide what is found, and a replay asks the real reranker."""

from typing import Any

import openai
import pytest
import requests

from steelyard_contracts.answers import Answered, Ledger
from steelyard_contracts.replay import Replay
from tests.contract.keyed_gateway import QUESTION, Door, keys
from tests.harness.stack import TIMEOUT_S, Stack, post


def found(ledger: Ledger) -> str:
    return " ".join(one.text or "" for one in ledger.evidence)


def test_a_key_finds_what_its_scopes_hold_and_nothing_else(door: Door) -> None:
    assert "ZQ-99" in found(door.inspect(door.board))
    assert "ZQ-99" not in found(door.inspect(door.board, scopes=["public"]))
    public = door.inspect(door.public)
    assert "ZQ-77" in found(public)
    assert "ZQ-99" not in found(public)
    refused = door.call("POST", "/v1/inspect", door.public, {"messages": QUESTION, "scopes": ["internal"]})
    assert (refused.status_code, refused.json()["code"]) == (403, "scope_forbidden")


def test_the_openai_package_sees_the_kinds_of_refusal_that_it_knows(door: Door) -> None:
    def models(key: str) -> Any:
        with openai.OpenAI(base_url=f"{door.gateway.url}/v1", api_key=key, max_retries=0) as client:
            return list(client.models.list())

    assert models(door.public)
    with pytest.raises(openai.AuthenticationError):
        models("sk-none")
    slow = keys(door.path, "add", "slow", "--scope", "public", "--requests-per-minute", "1")
    assert models(slow)
    with pytest.raises(openai.RateLimitError) as limited:
        models(slow)
    assert int(limited.value.response.headers["Retry-After"]) >= 1


def test_the_openai_package_finds_the_model_that_answers_and_no_other(door: Door) -> None:
    with openai.OpenAI(base_url=f"{door.gateway.url}/v1", api_key=door.public, max_retries=0) as client:
        (listed,) = client.models.list()
        assert client.models.retrieve(listed.id) == listed
        with pytest.raises(openai.NotFoundError) as absent:
            client.models.retrieve("vendor/gpt-4o")
        assert absent.value.code == "model_not_found"
        assert listed.id in absent.value.message
    with (
        openai.OpenAI(base_url=f"{door.gateway.url}/v1", api_key="sk-none", max_retries=0) as stranger,
        pytest.raises(openai.AuthenticationError),
    ):
        stranger.models.retrieve(listed.id)


def test_a_revoked_key_is_refused_by_the_gateway_that_runs(door: Door) -> None:
    key = keys(door.path, "add", "guest", "--scope", "public")
    assert door.call("GET", "/v1/models", key).status_code == 200
    keys(door.path, "revoke", "guest")
    assert door.call("GET", "/v1/models", key).status_code == 401
    assert door.call("GET", "/v1/models", door.public).status_code == 200


def test_a_ledger_of_more_scopes_than_a_key_has_does_not_exist_for_it(door: Door) -> None:
    ledger_id = door.inspect(door.board).ledger_id
    for method, path, body in (
        ("GET", f"/v1/ledgers/{ledger_id}", None),
        ("POST", "/v1/replay", {"ledger_id": ledger_id}),
    ):
        assert door.call(method, path, door.board, body).status_code == 200
        assert door.call(method, path, door.public, body).status_code == 404
    assert ledger_id not in door.call("GET", "/v1/ledgers", door.public).text


STRATEGIES = ["slice", "threshold", "slice_threshold", "knee_threshold", "adaptive"]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_replay_by_the_real_reranker_is_the_record(stack: Stack, strategy: str) -> None:
    recorded = Ledger.model_validate(
        post(stack.chatqna, "/v1/inspect", {"messages": QUESTION, "reranking_strategy": strategy}).json()
    )
    again = Replay.model_validate(post(stack.chatqna, "/v1/replay", {"ledger_id": recorded.ledger_id}).json())
    assert again.identical
    assert [one.model_dump_json() for one in again.entries] == [one.model_dump_json() for one in recorded.entries]
    with_vectors = requests.get(
        f"{stack.chatqna.url}/v1/ledgers/{recorded.ledger_id}?vectors=true", timeout=TIMEOUT_S
    ).json()
    assert ("query_embedding" in with_vectors) == (strategy == "adaptive")
    whole = post(stack.chatqna, "/v1/replay", {"ledger": with_vectors}).json()
    assert Replay.model_validate(whole) == again


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_replay_with_another_strategy_is_what_that_strategy_selects(stack: Stack, strategy: str) -> None:
    recorded = post(stack.chatqna, "/v1/inspect", {"messages": QUESTION, "reranking_strategy": "adaptive"}).json()
    fields = {"strategy": strategy, "top_n": 2, "threshold": 0.3}
    replayed = Replay.model_validate(
        post(stack.chatqna, "/v1/replay", {"ledger_id": recorded["ledger_id"], **fields}).json()
    )
    live = post(
        stack.chatqna,
        "/v1/inspect",
        {"messages": QUESTION, "reranking_strategy": strategy, "top_n": 2, "reranking_threshold": 0.3},
    )
    assert replayed.entries == Ledger.model_validate(live.json()).entries


def test_a_replay_asks_no_model_and_keeps_nothing(stack: Stack) -> None:
    recorded = post(stack.chatqna, "/v1/inspect", {"messages": QUESTION}).json()["ledger_id"]
    before = len(stack.llm.requests)
    listed = requests.get(f"{stack.chatqna.url}/v1/ledgers?limit=200", timeout=TIMEOUT_S).json()
    assert post(stack.chatqna, "/v1/replay", {"ledger_id": recorded, "strategy": "slice"}).status_code == 200
    assert len(stack.llm.requests) == before
    assert requests.get(f"{stack.chatqna.url}/v1/ledgers?limit=200", timeout=TIMEOUT_S).json() == listed


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"ledger_id": "none"}, 404, "not_found"),
        ({}, 422, "invalid_request"),
        ({"ledger_id": "a", "ledger": None, "top_n": 0}, 422, "invalid_request"),
        ({"ledger_id": "a", "strategy": "best"}, 422, "invalid_request"),
        ({"ledger_id": "a", "settings": {"token_cost": 1}}, 422, "invalid_request"),
    ],
)
def test_what_can_not_be_replayed_is_refused(stack: Stack, body: Any, status: int, code: str) -> None:
    reply = post(stack.chatqna, "/v1/replay", body)
    assert (reply.status_code, reply.json()["code"]) == (status, code)


def test_an_answer_records_how_it_ended(stack: Stack) -> None:
    answer = post(stack.chatqna, "/v1/chatqna", {"messages": QUESTION, "stream": False}).json()
    extension = Answered.model_validate(answer["steelyard"])
    kept = requests.get(f"{stack.chatqna.url}/v1/ledgers/{extension.ledger_id}", timeout=TIMEOUT_S).json()
    assert kept["finish_reason"] == answer["choices"][0]["finish_reason"] == "stop"
    assert kept["scopes"] == ["public"]
    nothing = post(
        stack.chatqna,
        "/v1/chatqna",
        {"messages": QUESTION, "stream": False, "reranking_strategy": "threshold", "reranking_threshold": 1.0},
    ).json()
    kept = requests.get(f"{stack.chatqna.url}/v1/ledgers/{nothing['steelyard']['ledger_id']}", timeout=TIMEOUT_S).json()
    assert kept["abstained"] == nothing["steelyard"]["abstained"] == "nothing_selected"
