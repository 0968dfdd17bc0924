"""Which services a stack has, and where they are."""

from typing import get_args

import pytest

from steelyard_chatqna.settings import ChatqnaSettings
from steelyard_cli.errors import ConfigurationError
from steelyard_cli.stack.services import CHATQNA, EMBEDDING, LLM, START_ORDER, expected
from steelyard_cli.stack.startup import link, make_plan


def names(environ):
    return [spec.name for spec in expected(environ)]


@pytest.mark.parametrize(
    "environ",
    [
        {},
        {"LLM_BACKEND": "openai"},
        {"LLM_URL": "http://127.0.0.1:9009"},
        {"LLM_URL": "http://localhost:9009/v1/"},
        {"LLM_URL": "http://localhost:9100", "LLM_PORT": "9100"},
    ],
)
def test_a_model_server_on_this_host_is_part_of_the_stack(environ):
    assert expected(environ) == START_ORDER


@pytest.mark.parametrize(
    "environ",
    [{"LLM_BACKEND": "extractive"}, {"LLM_URL": "http://10.0.0.7:8000"}, {"LLM_URL": "http://127.0.0.1:9100"}],
)
def test_a_stack_without_a_model_or_with_one_elsewhere_starts_none(environ):
    assert names(environ) == ["embedding", "retriever", "reranker", "dataprep", "chatqna"]


def test_the_backend_without_a_model_is_one_that_the_gateway_knows():
    assert "extractive" in get_args(ChatqnaSettings.model_fields["llm_backend"].annotation)


@pytest.mark.parametrize(
    ("host", "url"),
    [
        (None, "http://127.0.0.1:8888"),
        ("0.0.0.0", "http://127.0.0.1:8888"),
        ("localhost", "http://127.0.0.1:8888"),
        ("::", "http://[::1]:8888"),
        ("fd00::7", "http://[fd00::7]:8888"),
        ("192.168.1.5", "http://192.168.1.5:8888"),
    ],
)
def test_a_service_is_reached_where_it_listens(host, url):
    environ = {} if host is None else {"STEELYARD_BIND_HOST": host}
    assert CHATQNA.url(environ) == url
    assert LLM.url(environ) == "http://127.0.0.1:9009"


def test_peers_are_told_of_unusual_ports_only_and_never_overruled():
    assert link({}) == {}
    assert link({"EMBEDDING_PORT": "6001"}) == {"EMBEDDING_URL": "http://127.0.0.1:6001"}
    assert link({"EMBEDDING_PORT": "6001", "EMBEDDING_URL": "http://10.0.0.7:1"}) == {}


def test_the_model_server_serves_what_the_gateway_asks_for(monkeypatch, clean_environ):
    monkeypatch.setenv("LLM_MODEL_ID", "smollm2-135m-instruct")
    monkeypatch.setenv("LLM_CONTEXT_TOKENS", "2048")
    monkeypatch.setenv("LLM_PORT", "9100")
    monkeypatch.setenv("LLM_THREADS", "3")
    monkeypatch.setenv("AUTH", "off")
    llm, *others = make_plan(attached=False).services
    options = dict(zip(llm.command[3::2], llm.command[4::2], strict=True))
    assert options == {
        "--model": "smollm2-135m-instruct", "--context": "2048", "--host": "127.0.0.1", "--port": "9100",
        "--threads": "3",
    }  # fmt: skip
    assert [service.command[1:] for service in others] == [["-m", f"steelyard_{service.name}"] for service in others]


def test_a_port_for_two_is_refused(monkeypatch, clean_environ):
    monkeypatch.setenv("EMBEDDING_PORT", str(CHATQNA.default_port))
    monkeypatch.setenv("AUTH", "off")
    with pytest.raises(ConfigurationError, match=r"CHATQNA_PORT=8888 is also the port of embedding \(EMBEDDING_PORT\)"):
        make_plan(attached=False)
    assert EMBEDDING.port({"EMBEDDING_PORT": "8888"}) == CHATQNA.port({})
