"""The embedded model's own tokenizer in the gateway: its counts are what the model server reports of the same prompts.

The texts are in composed form (NFC), to which the published tokenizer brings every text. llama.cpp leaves texts as they
are, so its count of a decomposed letter differs from that of the tokenizer.
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests

from steelyard_chatqna.llm.local_tokens import LocalTokenizer
from steelyard_models.llm_server import resolve_gguf
from tests.harness import gguf_tokenizer

pytestmark = pytest.mark.models

MODEL = "qwen2.5-coder-0.5b-instruct-q4_k_m"
CORPUS = Path(__file__).parents[2] / "examples" / "corpus"
TEXTS = [
    "",
    " \n spaced \n\n\t",
    "Which seal is approved for AX-104-B? 35 N·m, 1.234,56 €, it's 2026-11-30T20:39:42Z",
    "«保守» 点検は毎月です。 ポンプ、٣٥ نيوتن متر — 👩\u200d🔧🏽 é ﬁ Å",
    "def f(x):\n    return {'a': [1, 2]}  # 0x1F\r\n",
    "<|im_start|> <|im_end|> <|fim_prefix|> <tool_call>",
]


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    command = [sys.executable, "-m", "steelyard_models.llm_server", "--model", MODEL, "--slots", "1", "--threads", "1"]
    with subprocess.Popen([*command, "--context", "2048"], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield json.loads(process.stdout.readline())["url"]
        finally:
            process.terminate()
            process.wait(timeout=60)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return gguf_tokenizer.write(resolve_gguf(MODEL)[0], tmp_path_factory.mktemp("tokenizer"))


def conversation(*turns: str) -> list[dict[str, str]]:
    roles = ["system", *("user", "assistant") * len(turns)]
    return [{"role": role, "content": turn} for role, turn in zip(roles, turns, strict=False)]


def reported(url: str, messages: Any) -> int:
    body = {"messages": messages, "max_tokens": 1, "temperature": 0}
    reply = requests.post(f"{url}/v1/chat/completions", json=body, timeout=300)
    assert reply.status_code == 200, reply.text
    return int(reply.json()["usage"]["prompt_tokens"])


def tokenized(url: str, messages: Any) -> int:
    prompt = requests.post(f"{url}/apply-template", json={"messages": messages}, timeout=60).json()["prompt"]
    body = {"content": prompt, "add_special": True, "parse_special": True}
    return len(requests.post(f"{url}/tokenize", json=body, timeout=60).json()["tokens"])


def test_the_count_is_the_usage_that_the_server_reports(url: str, folder: Path) -> None:
    local = LocalTokenizer.load(folder)
    asked = [conversation("Be brief.", text) for text in TEXTS] + [conversation("Be brief.", "Hi", "Hello!", TEXTS[3])]
    assert [local.count(messages) for messages in asked] == [reported(url, messages) for messages in asked]


def test_and_what_it_tokenizes_over_the_whole_corpus(url: str, folder: Path) -> None:
    local = LocalTokenizer.load(folder)
    texts = [path.read_text(encoding="utf-8", errors="ignore") for path in sorted(CORPUS.glob("*.*"))]
    asked = [conversation("Use the context.", text) for text in texts if "\0" not in text]
    assert len(asked) >= 5
    assert [local.count(messages) for messages in asked] == [tokenized(url, messages) for messages in asked]


def test_without_the_template_the_count_is_an_upper_bound(url: str, tmp_path: Path) -> None:
    local = LocalTokenizer.load(gguf_tokenizer.write(resolve_gguf(MODEL)[0], tmp_path, template=False))
    asked = [conversation("Be brief.", text) for text in TEXTS] + [conversation("", *["x"] * 9)]
    counts = [(local.count(messages), tokenized(url, messages)) for messages in asked]
    assert all(counted >= true for counted, true in counts), counts
