"""What of a request's own fields the model is asked with, and whose fault it is when the model refuses them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from steelyard_contracts.chat import ChatQnARequest
from steelyard_contracts.enums import Stage
from steelyard_contracts.errors import ErrorCode, SteelyardError
from steelyard_runtime.upstream.errors import RequestRefusedError

from .fakes import QUESTION
from .gateway_bench import Bench, chat, completed, streamed


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


class TestSampling:
    def sent(self, bench: Bench, body: Any = None) -> dict[str, Any]:
        bench.use(lambda gateway: completed(gateway, body))
        return bench.llm.asked[-1][1]

    def test_without_fields_the_settings_are_sent(self, bench: Bench) -> None:
        bench.settings |= {"llm_temperature": 0.3, "llm_max_tokens": 77}
        assert self.sent(bench) == {"temperature": 0.3, "max_tokens": 77}

    def test_zeros_are_sent_as_zeros(self, bench: Bench) -> None:
        bench.settings["llm_temperature"] = 0.3
        zeros = {
            "temperature": 0,
            "top_p": 0,
            "frequency_penalty": 0,
            "presence_penalty": 0,
            "seed": 0,
            "top_logprobs": 0,
        }
        assert self.sent(bench, chat(**zeros, logprobs=False)) == {**zeros, "logprobs": False, "max_tokens": 256}

    def test_false_and_empty_values_are_sent_as_they_are(self, bench: Bench) -> None:
        body = chat(stop=[], logit_bias={}, user="")
        assert self.sent(bench, body) == {
            "stop": [],
            "logit_bias": {},
            "user": "",
            "temperature": 0.0,
            "max_tokens": 256,
        }

    @pytest.mark.parametrize("answer", [completed, streamed])
    def test_what_the_model_server_refuses_is_the_requests_fault_if_it_gave_anything(
        self, bench: Bench, answer: Callable[..., Any]
    ) -> None:
        refusal = RequestRefusedError(400, "the reply of llm is unusable: status 400", stage=Stage.LLM)
        bench.llm.pieces = [refusal]
        with pytest.raises(SteelyardError) as refused:
            bench.use(lambda gateway: answer(gateway, chat(response_format={"type": "yaml"}, top_p=0)))
        assert (refused.value.code, refused.value.stage) == (ErrorCode.INVALID_REQUEST, Stage.LLM)
        assert "status 400" in refused.value.detail
        assert [fault.field for fault in refused.value.errors] == ["top_p", "response_format"]
        [kept] = bench.ledgers()
        assert [one.reason for one in kept.degraded] == ["invalid_request"]
        with pytest.raises(RequestRefusedError) as unasked:
            bench.use(lambda gateway: answer(gateway, chat(max_tokens=9)))
        assert unasked.value.code is ErrorCode.UPSTREAM_BAD_REPLY

    @pytest.mark.parametrize(
        ("fields", "limit"),
        [
            ({"max_tokens": 9}, 9),
            ({"max_completion_tokens": 8}, 8),
            ({"max_tokens": 9, "max_completion_tokens": 8}, 8),
            ({"max_tokens": 1, "max_completion_tokens": 8}, 1),
        ],
    )
    def test_the_smallest_limit_is_reserved_and_sent_once(self, bench: Bench, fields: Any, limit: int) -> None:
        assert self.sent(bench, chat(**fields)) == {"temperature": 0.0, "max_tokens": limit}

    @pytest.mark.parametrize(
        ("tokenizer", "name"),
        [("llamacpp", "repeat_penalty"), ("vllm", "repetition_penalty"), ("./folder", "repetition_penalty")],
    )
    def test_opeas_own_fields_are_passed_on_as_the_server_calls_them(
        self, bench: Bench, tokenizer: str, name: str
    ) -> None:
        bench.settings["llm_tokenizer"] = tokenizer
        body = ChatQnARequest.model_validate(
            {"messages": QUESTION, "top_k": 5, "typical_p": 0, "repetition_penalty": 0, "max_new_tokens": 3}
        )
        assert self.sent(bench, body) == {
            "top_k": 5,
            "typical_p": 0,
            name: 0,
            "temperature": 0.0,
            "max_tokens": 3,
        }

    def test_evidence_overrides_are_not_sent_to_the_model(self, bench: Bench) -> None:
        assert self.sent(bench, chat(k=3, top_n=1, score_threshold=0)) == {"temperature": 0.0, "max_tokens": 256}
        assert bench.neighbours.retriever.asked[-1][1]["k"] == 3
