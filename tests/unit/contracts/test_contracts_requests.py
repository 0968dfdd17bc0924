"""Every request payload: unknown keys at every level, falsy overrides, strict values, and what it may not carry."""

import importlib
import pkgutil
from typing import Any, get_args

import pytest
from pydantic import BaseModel, TypeAdapter, ValidationError

import steelyard_contracts
from steelyard_contracts import enums, errors
from steelyard_contracts.base import Bool, Int, Name, NonNegativeInt, Number, PositiveInt, Probability, Request, Text
from steelyard_contracts.chat import ChatCompletionRequest, ChatQnARequest, InspectRequest, Message
from steelyard_contracts.dataprep import DeleteRequest, GetRequest
from steelyard_contracts.embeddings import EmbeddingInput, EmbeddingRequest, TextsDoc
from steelyard_contracts.errors import HTTP_STATUS, ErrorCode, SteelyardError
from steelyard_contracts.replay import ReplayRequest
from steelyard_contracts.reranking import RerankRequest
from steelyard_contracts.selection import SelectionOverrides, SelectRequest

MODULES = [
    importlib.import_module(f"steelyard_contracts.{module.name}")
    for module in pkgutil.iter_modules(steelyard_contracts.__path__)
]
MODELS = {
    value.__name__: value
    for module in MODULES
    for value in vars(module).values()
    if isinstance(value, type) and issubclass(value, BaseModel) and value.__module__ == module.__name__
}


def refused(model: type[BaseModel], value: Any) -> set[str]:
    with pytest.raises(ValidationError) as refusal:
        model.model_validate(value)
    return {fault["type"] for fault in refusal.value.errors()}


@pytest.mark.parametrize("name", sorted(name for name, model in MODELS.items() if issubclass(model, Request)))
def test_every_request_refuses_unknown_keys(name: str) -> None:
    assert "extra_forbidden" in refused(MODELS[name], {"no_such_key": 1})


def _numbers_and_texts(annotation: Any) -> set[Any]:
    found = set()
    if annotation in (int, float, bool, str):
        found.add(annotation)
    for argument in get_args(annotation):
        found |= _numbers_and_texts(argument)
    return found


@pytest.mark.parametrize(
    ("name", "field"),
    [
        (name, field)
        for name, model in sorted(MODELS.items())
        if issubclass(model, Request) and "[" not in name
        for field in model.model_fields
    ],
)
def test_no_field_of_a_request_coerces(name: str, field: str) -> None:
    """Validates the field alone with each wrong JSON type for its own type."""
    info = MODELS[name].model_fields[field]
    adapter: TypeAdapter[Any] = TypeAdapter(info.rebuild_annotation())
    kinds = _numbers_and_texts(info.rebuild_annotation())
    wrong: list[Any] = []
    if int in kinds and float not in kinds:
        wrong += ["1", 1.0, 1.5, True, 10**400] if str not in kinds else [1.0, True, 10**400]
    if float in kinds:
        wrong += [True, float("nan"), float("inf"), 10**400] + (["0.5"] if str not in kinds else [])
    if bool in kinds:
        wrong += ["true", "yes", 1, 0, "0", 1.0] if kinds == {bool} else []
    if str in kinds:
        wrong += [b"x", "a\0b", "\ud800"]
    for value in wrong:
        with pytest.raises(ValidationError):
            adapter.validate_python(value)


TYPES: list[tuple[Any, list[Any], list[Any]]] = [
    (Int, [0, -5, 2**53 - 1], [True, "5", 5.0, None, 2**53, -(2**53), 10**400]),
    (PositiveInt, [1], [0, -1, True, "1", 1.0]),
    (NonNegativeInt, [0, 1], [-1, False, "0", 0.0]),
    (Number, [0, -0.0, 1e308, 5], [True, "5", float("nan"), float("inf"), -float("inf"), None, 10**400]),
    (Probability, [0, 1, 0.5], [-1e-9, 1.0000001, True, "0.5", float("nan")]),
    (Bool, [True, False], [0, 1, "true", "yes", None, 1.0]),
    (Text, ["", "a", "\n", "🙂", "a" * 100_000], ["\0", "a\0b", "\ud800", b"a", 1, None]),
    (Name, ["a"], ["", "\0", b"a", 1]),
]


@pytest.mark.parametrize(("kind", "good", "bad"), TYPES, ids=lambda value: str(value)[:20])
def test_the_strict_types(kind: Any, good: list[Any], bad: list[Any]) -> None:
    adapter: TypeAdapter[Any] = TypeAdapter(kind)
    for value in good:
        assert adapter.validate_python(value) == value
    for value in bad:
        with pytest.raises(ValidationError):
            adapter.validate_python(value)


SAMPLING = {"temperature": 0, "top_p": 0, "frequency_penalty": 0, "presence_penalty": 0, "seed": 0, "top_logprobs": 0}
EVIDENCE = {"score_threshold": 0, "distance_threshold": 0, "lambda_mult": 0, "reranking_threshold": 0}


@pytest.mark.parametrize("model", [ChatCompletionRequest, ChatQnARequest])
def test_falsy_overrides_of_chat_are_kept(model: type[BaseModel]) -> None:
    request = model.model_validate(
        {"messages": [{"role": "user", "content": "q"}], "stream": False, **SAMPLING, **EVIDENCE}
    )
    dumped = request.model_dump(exclude_none=True)
    assert {name: dumped[name] for name in SAMPLING | EVIDENCE} == SAMPLING | EVIDENCE
    assert dumped["stream"] is False


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("temperature", 2.01),
        ("temperature", "0"),
        ("temperature", True),
        ("top_p", 1.01),
        ("max_tokens", 0),
        ("n", 2),
        ("stream", "true"),
        ("stream", 1),
        ("k", -1),
        ("top_n", 0),
        ("reranking_strategy", "adaptiv"),
        ("tools", [{"type": "function"}]),
        ("rerankin_strategy", "slice"),
        ("messages", []),
        ("messages", [{"role": "user", "content": "q", "contnt": "x"}]),
        ("messages", [{"role": "robot", "content": "q"}]),
        ("messages", [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}]),
        ("messages", [{"role": "user", "content": "a\0b"}]),
        ("messages", [{"role": "assistant", "content": "a", "tool_calls": [{"id": "1"}]}]),
        ("stream_options", {"include_usage": "yes"}),
        ("stream_options", {"include": True}),
        ("logit_bias", {"50256": "x"}),
        ("metadata", {"a": 1}),
    ],
)
def test_a_chat_completion_request_is_strict(field: str, value: Any) -> None:
    assert refused(ChatCompletionRequest, {"messages": [{"role": "user", "content": "q"}], field: value})


def test_an_assistants_turn_of_the_openai_package_is_accepted() -> None:
    turn = {
        "role": "assistant",
        "content": "a",
        "refusal": None,
        "annotations": [],
        "audio": None,
        "function_call": None,
        "tool_calls": None,
    }
    assert Message.model_validate(turn).text == "a"


def test_parts_of_a_turn_are_joined() -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    assert Message.model_validate({"role": "user", "content": parts}).text == "a\nb"
    assert Message.model_validate({"role": "user", "content": None}).text == ""


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("documents", ["text"]),
        ("documents", [{"title": "t", "text": "x"}]),
        ("retrieved_docs", [{"text": "x"}]),
        ("reranked_docs", [{"text": "x"}]),
        ("embedding", [0.5]),
        ("input", "q"),
        ("chat_template", "{context}"),
        ("image_path", "/etc/passwd"),
        ("audio_path", "/etc/passwd"),
        ("tools", [{"type": "function", "function": {"name": "f"}}]),
        ("modalities", ["audio"]),
        ("echo", True),
        ("best_of", 2),
        ("input_guardrail_params", {}),
        ("request_type", "reranking"),
        ("query", "also a question"),
    ],
)
def test_what_chatqna_would_ignore_is_refused(field: str, value: Any) -> None:
    assert refused(ChatQnARequest, {"messages": "q", field: value})


def test_what_opea_leaves_empty_is_accepted() -> None:
    empty: dict[str, Any] = {"documents": [], "retrieved_docs": [], "reranked_docs": [], "embedding": [], "input": None}
    assert ChatQnARequest.model_validate({"messages": "q", **empty}).stream is True


@pytest.mark.parametrize(
    ("limits", "applied"),
    [
        ({}, None),
        ({"max_tokens": 5}, 5),
        ({"max_new_tokens": 7}, 7),
        ({"max_tokens": 5, "max_new_tokens": 7}, 5),
        ({"max_tokens": 9, "max_new_tokens": 7}, 7),
    ],
)
def test_the_smaller_limit_of_an_answer_applies(limits: dict[str, int], applied: int | None) -> None:
    assert ChatQnARequest.model_validate({"query": "q", **limits}).max_tokens == applied


def test_a_floor_of_null_is_not_an_absent_floor() -> None:
    off = SelectionOverrides.model_validate({"adaptive_floor_score": None})
    absent = SelectionOverrides.model_validate({})
    assert off.model_fields_set == {"adaptive_floor_score"}
    assert absent.model_fields_set == set()
    zero = SelectionOverrides.model_validate({"adaptive_floor_score": 0})
    assert zero.adaptive_floor_score == 0


@pytest.mark.parametrize(
    ("model", "value"),
    [
        (EmbeddingRequest, {"input": []}),
        (EmbeddingRequest, {"input": [1, 2]}),
        (EmbeddingRequest, {"input": "a", "encoding_format": "hex"}),
        (EmbeddingRequest, {"input": "a", "dimensions": 0}),
        (EmbeddingRequest, {"input": None}),
        (TextsDoc, {"text": []}),
        (TextsDoc, {"text": None}),
        (EmbeddingInput, {"input": "a", "text": "a"}),
        (EmbeddingInput, {}),
        (EmbeddingInput, []),
        (RerankRequest, {"query": "q", "documents": [1]}),
        (RerankRequest, {"query": "q", "documents": [{"txt": "a"}]}),
        (RerankRequest, {"query": "q", "documents": [], "top_n": 0}),
        (RerankRequest, {"query": "q", "documents": [], "return_documents": "yes"}),
        (SelectRequest, {"strategy": "slice", "candidates": [{"id": "a", "score": 1.5, "tokens": 1}]}),
        (SelectRequest, {"strategy": "slice", "candidates": [{"id": "a", "score": 0.5, "tokens": -1}]}),
        (SelectRequest, {"strategy": "slice", "candidates": [{"id": "", "score": 0.5, "tokens": 1}]}),
        (SelectRequest, {"strategy": "Slice", "candidates": []}),
        (SelectRequest, {"strategy": "slice", "candidates": [], "settings": {"alpha": 1}}),
        (InspectRequest, {"messages": []}),
        (ReplayRequest, {"ledger_id": ""}),
        (GetRequest, {"limit": 0}),
        (GetRequest, {"limit": 1001}),
        (GetRequest, {"scopes": [""]}),
        (DeleteRequest, {"file_path": ""}),
        (DeleteRequest, {"all": True}),
    ],
)
def test_other_requests_are_strict(model: type[BaseModel], value: Any) -> None:
    assert refused(model, value)


def test_every_error_has_one_status_that_is_an_error() -> None:
    assert set(HTTP_STATUS) == set(ErrorCode)
    assert all(400 <= status <= 599 for status in HTTP_STATUS.values())
    assert SteelyardError(ErrorCode.EMBEDDING_MISALIGNED, "x").status == 500
    assert SteelyardError(ErrorCode.STORE_UNAVAILABLE, "x").status == 503
    assert SteelyardError(ErrorCode.SCOPE_UNKNOWN, "x").status == 403
    assert SteelyardError(ErrorCode.BODY_TOO_LARGE, "x").status == 413
    assert SteelyardError(ErrorCode.UPSTREAM_TIMEOUT, "x").status == 504


def test_the_vocabularies_are_closed_and_spelt_like_their_members() -> None:
    assert [reason.value for reason in enums.Reason] == [
        "selected",
        "kept_floor",
        "below_cosine_floor",
        "below_threshold",
        "over_top_n",
        "after_knee",
        "value_below_threshold",
        "duplicate",
        "blank_text",
        "over_context_budget",
        "not_scored",
    ]
    assert [kind.value for kind in enums.ScoreKind] == ["cosine", "bm25", "rrf", "rerank", "tree"]
    assert [outcome.value for outcome in enums.Outcome] == ["ok", "empty", "degraded"]
    for module in (enums, errors):
        for value in vars(module).values():
            if isinstance(value, type) and issubclass(value, enums.StrEnum) and value is not enums.StrEnum:
                assert [member.name.lower() for member in value] == [member.value for member in value]


def test_contracts_do_no_io() -> None:
    allowed = {"pydantic", "pydantic_core", "steelyard_contracts"}
    stdlib = {"array", "base64", "binascii", "collections", "enum", "math", "sys", "typing", "__future__"}
    import ast
    from pathlib import Path

    for module in MODULES:
        tree = ast.parse(Path(str(module.__file__)).read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.level == 0:
                names = [str(node.module)]
            assert {name.split(".")[0] for name in names} <= allowed | stdlib, module.__name__
