"""The budget is counted before the embedded model is asked, and is what the model server then reports."""

from typing import Any

import pytest
import requests

from tests.e2e.conftest import TIMEOUT_S, Product

QUESTION = {"role": "user", "content": "Which seal is approved for AX-104-B? «保守» 👩\u200d🔧"}


@pytest.mark.parametrize(
    "messages",
    [
        [QUESTION],
        [{"role": "system", "content": " Answer kindly.\n\n"}, QUESTION],
        [{"role": "user", "content": "Hello. \n"}, {"role": "assistant", "content": "\n Hello!"}, QUESTION],
    ],
    ids=["a question", "with instructions", "with history"],
)
def test_the_budget_is_the_servers_own_count(product: Product, messages: Any) -> None:
    reply = requests.post(
        f"http://127.0.0.1:{product.environment['CHATQNA_PORT']}/v1/chat/completions",
        json={"messages": messages, "max_tokens": 4, "reranking_strategy": "slice", "top_n": 2},
        timeout=TIMEOUT_S,
    )
    assert reply.status_code == 200, reply.text
    answer = reply.json()
    budget = answer["steelyard"]["budget"]
    assert budget["evidence"] > 0
    counted = sum(budget[part] for part in ("system", "history", "question", "evidence"))
    assert counted == answer["usage"]["prompt_tokens"]
    assert counted + budget["reserved"] + budget["unused"] == budget["window"]
