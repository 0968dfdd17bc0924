"""What a TEI server says of itself, held against what the settings declare."""

from dataclasses import dataclass
from typing import Any

from .model_server import Failure, ServerFault


@dataclass(frozen=True, slots=True)
class TeiInfo:
    """The part of `GET /info` that decides what its replies mean. Lengths are in tokens, special tokens included.

    `kinds` are what the model is served as, such as `reranker` or `embedding`.
    """

    model_id: str
    model_sha: str
    kinds: frozenset[str]
    auto_truncate: bool
    max_input_length: int
    max_client_batch_size: int


@dataclass(frozen=True, slots=True)
class Declared:
    """What a server should be: `kind` of model, the model that `setting` names, and what to do about another kind."""

    kind: str
    model_id: str
    setting: str
    advice: str


def read_info(value: Any, failure: Failure) -> TeiInfo:
    """Read the JSON value of `/info`; raises `bad_reply` naming the first field that is unusable."""
    fields = _Fields(value, failure)
    model_type = fields.value.get("model_type")
    sha = fields.value.get("model_sha")
    return TeiInfo(
        model_id=fields.text("model_id"),
        # A model that was read from a folder has no revision.
        model_sha=sha if isinstance(sha, str) and sha else "unknown",
        kinds=frozenset(model_type if isinstance(model_type, dict) else [str(model_type)]),
        auto_truncate=fields.truth("auto_truncate"),
        max_input_length=fields.count("max_input_length"),
        max_client_batch_size=fields.count("max_client_batch_size"),
    )


def check_info(info: TeiInfo, declared: Declared, failure: Failure) -> None:
    """Raise `misdeclared`, with the fix, unless the server is the declared one and cuts nothing silently."""
    if info.model_id != declared.model_id:
        raise misdeclared(
            failure,
            f"it serves {info.model_id!r}; set {declared.setting} to that, or start it with"
            f" --model-id {declared.model_id}",
        )
    if declared.kind not in info.kinds:
        raise misdeclared(failure, f"{info.model_id!r} is no {declared.kind} there; {declared.advice}")
    if info.auto_truncate:
        raise misdeclared(
            failure, "it cuts long texts silently; start it with --auto-truncate false (AUTO_TRUNCATE=false)"
        )


def misdeclared(failure: Failure, what: str) -> Exception:
    """The error for a TEI server that is another one than the settings declare."""
    return failure(ServerFault.MISDECLARED, f"the TEI server is not as declared: {what}")


class _Fields:
    """The fields of `/info`, each of its type."""

    def __init__(self, value: Any, failure: Failure) -> None:
        self._failure = failure
        if not isinstance(value, dict):
            raise self._unusable("no object")
        self.value = value

    def text(self, name: str) -> str:
        return str(self._of(name, str))

    def truth(self, name: str) -> bool:
        return bool(self._of(name, bool))

    def count(self, name: str) -> int:
        found = int(self._of(name, int))
        if found < 1:
            raise self._unusable(f"{name} is {found}")
        return found

    def _of(self, name: str, kind: type[Any]) -> Any:
        found = self.value.get(name)
        if type(found) is not kind:
            raise self._unusable(f"{name} is of type {type(found).__name__}")
        return found

    def _unusable(self, what: str) -> Exception:
        return self._failure(ServerFault.BAD_REPLY, f"/info of the TEI server is unusable: {what}")
