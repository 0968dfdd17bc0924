"""What a TEI server says of itself, held against what the settings declare."""

from dataclasses import dataclass
from typing import Any

from .port import RerankBackendError
from .reasons import BackendReason


@dataclass(frozen=True, slots=True)
class TeiInfo:
    """The part of `GET /info` that decides what scores mean. Lengths are in tokens, special tokens included."""

    model_id: str
    model_sha: str
    is_reranker: bool
    auto_truncate: bool
    max_input_length: int
    max_client_batch_size: int


def read_info(value: Any) -> TeiInfo:
    """Read the JSON value of `/info`; raises RerankBackendError `bad_reply` naming the first field that is unusable."""
    if not isinstance(value, dict):
        raise _unusable("no object")
    model_type = value.get("model_type")
    sha = value.get("model_sha")
    return TeiInfo(
        model_id=_of(value, "model_id", str),
        # A model that was read from a folder has no revision.
        model_sha=sha if isinstance(sha, str) and sha else "unknown",
        is_reranker="reranker" in model_type if isinstance(model_type, dict) else model_type == "reranker",
        auto_truncate=_of(value, "auto_truncate", bool),
        max_input_length=_of(value, "max_input_length", int),
        max_client_batch_size=_of(value, "max_client_batch_size", int),
    )


def check_info(info: TeiInfo, model_id: str, declared_limit: int | None) -> None:
    """Raise RerankBackendError `misdeclared`, with the fix, unless the server is the declared one."""
    if info.model_id != model_id:
        raise _misdeclared(
            f"it serves {info.model_id!r}; set RERANKER_MODEL_ID to that, or start it with --model-id {model_id}"
        )
    if not info.is_reranker:
        raise _misdeclared(f"{info.model_id!r} is no reranker there; serve a cross-encoder with one label")
    if info.auto_truncate:
        raise _misdeclared("it cuts long texts silently; start it with --auto-truncate false (AUTO_TRUNCATE=false)")
    if declared_limit is not None and info.max_input_length < declared_limit:
        raise _misdeclared(
            f"it reads {info.max_input_length} tokens of a pair, {declared_limit} are declared; lower"
            " RERANK_PAIR_BUDGET_TOKENS, or raise its --max-batch-tokens"
        )


def _of(value: dict[str, Any], name: str, kind: type[Any]) -> Any:
    found = value.get(name)
    if type(found) is not kind:
        raise _unusable(f"{name} is of type {type(found).__name__}")
    if isinstance(found, int) and kind is int and found < 1:
        raise _unusable(f"{name} is {found}")
    return found


def _unusable(what: str) -> RerankBackendError:
    return RerankBackendError(BackendReason.BAD_REPLY, f"/info of the TEI server is unusable: {what}")


def _misdeclared(what: str) -> RerankBackendError:
    return RerankBackendError(BackendReason.MISDECLARED, f"the TEI server is not as declared: {what}")
