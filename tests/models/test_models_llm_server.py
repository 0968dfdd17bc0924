"""The local LLM server with the real 135M model: what the gateway relies on, endpoint by endpoint."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import requests
from openai import BadRequestError, OpenAI

from steelyard_models.errors import LlmServerError, ModelMissingError, UnknownModelError
from steelyard_models.llm_server import resolve_gguf

pytestmark = pytest.mark.models

SMALL = "smollm2-135m-instruct"
SYSTEM = "You answer questions using only the numbered context. Answer in one short sentence."
CONVERSATIONS: list[list[dict[str, str]]] = [
    [{"role": "user", "content": "Hi"}],
    [{"role": "system", "content": SYSTEM}, {"role": "user", "content": "猫は何が好きですか <|im_end|> 👍🏽"}],
    [
        {"role": "system", "content": SYSTEM},
        {"role": "user", "content": "[1] The sea is blue.\n\nWhat is blue?"},
        {"role": "assistant", "content": "The sea. [1]"},
        {"role": "user", "content": "Why?"},
    ],
]


@contextmanager
def running(*options: str, **environment: str) -> Iterator[tuple[dict[str, Any], "subprocess.Popen[str]"]]:
    command = [sys.executable, "-m", "steelyard_models.llm_server", "--model", SMALL, "--threads", "2", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, **environment}) as process:
        assert process.stdout is not None
        try:
            yield json.loads(process.stdout.readline()), process
        finally:
            process.terminate()
            process.wait(timeout=60)


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with running("--context", "512", "--slots", "1") as (ready, _):
        yield ready["url"]


@pytest.fixture
def client(url: str) -> Iterator[OpenAI]:
    with OpenAI(base_url=f"{url}/v1", api_key="unused", max_retries=0, timeout=120) as opened:
        yield opened


def post(url: str, path: str, body: dict[str, Any]) -> Any:
    answer = requests.post(url + path, json=body, timeout=120)
    answer.raise_for_status()
    return answer.json()


def metric(url: str, name: str) -> float:
    found = re.search(rf"^llamacpp:{name} (\S+)$", requests.get(f"{url}/metrics", timeout=60).text, re.MULTILINE)
    assert found is not None
    return float(found[1])


def test_ready_line_and_clean_stop() -> None:
    with running("--context", "300") as (ready, process):
        assert ready["event"] == "ready"
        assert (ready["model"], ready["context"], ready["slots"]) == (SMALL, 300, 2)
        assert ready["url"] == f"http://127.0.0.1:{ready['port']}"
        assert requests.get(f"{ready['url']}/health", timeout=60).json() == {"status": "ok"}
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=60) == 0
        assert process.stdout is not None
        assert process.stdout.read() == ""


def test_models_names_the_alias_and_the_context_of_a_request(url: str) -> None:
    (model,) = requests.get(f"{url}/v1/models", timeout=60).json()["data"]
    assert model["id"] == SMALL
    assert model["meta"]["n_ctx"] == 512


@pytest.mark.parametrize("messages", CONVERSATIONS, ids=["bare", "hostile", "turns"])
def test_usage_counts_the_tokens_of_the_applied_template(url: str, client: OpenAI, messages: list[Any]) -> None:
    prompt = post(url, "/apply-template", {"messages": messages})["prompt"]
    tokens = post(url, "/tokenize", {"content": prompt, "add_special": True, "parse_special": True})["tokens"]
    answer = client.chat.completions.create(model=SMALL, messages=messages, max_tokens=1, temperature=0)
    assert answer.usage is not None
    assert answer.usage.prompt_tokens == len(tokens)
    counted = post(url, "/v1/chat/completions/input_tokens", {"messages": messages})
    assert counted["input_tokens"] == len(tokens)


def test_stream_ends_with_finish_reason_then_usage(client: OpenAI) -> None:
    chunks = list(
        client.chat.completions.create(
            model="any name is accepted",
            messages=[{"role": "user", "content": "Say hello."}],
            max_tokens=5,
            temperature=0,
            stream=True,
            stream_options={"include_usage": True},
        )
    )
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    assert text.strip()
    assert chunks[-2].choices[0].finish_reason in {"stop", "length"}
    assert chunks[-1].choices == []
    usage = chunks[-1].usage
    assert usage is not None
    assert usage.total_tokens == usage.prompt_tokens + usage.completion_tokens
    assert {chunk.model for chunk in chunks} == {SMALL}


def test_repeated_prefix_is_taken_from_the_cache(client: OpenAI) -> None:
    def ask(question: str) -> int:
        context = "The lighthouse of the island was built by two brothers. " * 8
        messages: Any = [{"role": "user", "content": context + question}]
        answer = client.chat.completions.create(model=SMALL, messages=messages, max_tokens=1, temperature=0)
        assert answer.usage is not None
        assert answer.usage.prompt_tokens_details is not None
        return answer.usage.prompt_tokens_details.cached_tokens or 0

    ask("Who built it?")
    assert ask("When was it built?") > 80


def test_prompt_longer_than_the_context_is_refused_with_its_length(client: OpenAI) -> None:
    with pytest.raises(BadRequestError) as caught:
        client.chat.completions.create(
            model=SMALL, messages=[{"role": "user", "content": "word " * 600}], max_tokens=1, stream=True
        )
    body: Any = caught.value.body
    assert body["type"] == "exceed_context_size_error"
    assert body["n_ctx"] == 512
    assert body["n_prompt_tokens"] > 600


def becomes_idle(url: str) -> bool:
    """Whether no request is being worked on within 30 s; the count goes down only after a reply has been sent."""
    for _ in range(60):
        if metric(url, "requests_processing") == 0:
            return True
        threading.Event().wait(0.5)
    return False


@pytest.mark.parametrize("stream", [True, False], ids=["stream", "plain"])
def test_disconnected_client_frees_its_slot(url: str, client: OpenAI, stream: bool) -> None:
    before = metric(url, "tokens_predicted_total")
    body = {
        "messages": [{"role": "user", "content": "Tell a story."}],
        "max_tokens": 400,
        "ignore_eos": True,
        "stream": stream,
    }
    host, port = url.removeprefix("http://").split(":")
    data = json.dumps(body).encode()
    head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: {host}\r\nContent-Length: {len(data)}\r\n\r\n".encode()
    with socket.create_connection((host, int(port)), timeout=60) as connection:
        connection.sendall(head + data)
        if stream:
            assert connection.recv(64).startswith(b"HTTP/1.1 200")
    # The only slot is busy until the disconnect is noticed, so the next answer comes after that.
    client.chat.completions.create(
        model=SMALL, messages=[{"role": "user", "content": "Hi"}], max_tokens=1, temperature=0
    )
    assert metric(url, "tokens_predicted_total") - before < 400
    assert becomes_idle(url)


def test_debug_endpoints_and_other_origins_are_closed(url: str) -> None:
    assert requests.get(f"{url}/slots", timeout=60).status_code == 501
    answer = requests.get(f"{url}/health", headers={"Origin": "http://page.example"}, timeout=60)
    assert answer.headers["Access-Control-Allow-Origin"] == ""


def test_key_from_the_environment_is_required() -> None:
    with running("--context", "300", LLAMA_API_KEY="secret") as (ready, _):
        for key, status in (("wrong", 401), ("secret", 200)):
            answer = requests.post(
                f"{ready['url']}/v1/chat/completions/input_tokens",
                json={"messages": CONVERSATIONS[0]},
                headers={"Authorization": f"Bearer {key}"},
                timeout=60,
            )
            assert answer.status_code == status
        assert requests.get(f"{ready['url']}/health", timeout=60).status_code == 200


def run_failing(*options: str) -> str:
    command = [sys.executable, "-m", "steelyard_models.llm_server", *options]
    run = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert run.returncode == 1
    assert run.stdout == ""
    return run.stderr


def test_unusable_file_is_reported_with_the_reason(tmp_path: Path) -> None:
    path = tmp_path / "broken.gguf"
    path.write_bytes(b"GGUF" + b"\0" * 100)
    said = run_failing("--model", str(path))
    assert "bad GGUF version" in said
    assert f"error: llama.cpp did not start {path}" in said


def test_busy_port_is_reported() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        said = run_failing("--model", SMALL, "--port", port)
    assert f"port: {port}" in said
    assert "error: llama.cpp did not start" in said


def test_model_option_is_a_name_or_a_file(tmp_path: Path) -> None:
    path = tmp_path / "own-model.gguf"
    with pytest.raises(LlmServerError, match=r"own-model\.gguf: there is no such file"):
        resolve_gguf(str(path))
    path.write_bytes(b"")
    assert resolve_gguf(str(path)) == (path, "own-model")
    with pytest.raises(UnknownModelError):
        resolve_gguf("gpt-oracle")
    with pytest.raises(LlmServerError, match="its role is 'embedding'"):
        resolve_gguf("all-minilm-l6-v2")
    with pytest.raises(ModelMissingError):
        resolve_gguf(SMALL, tmp_path)
