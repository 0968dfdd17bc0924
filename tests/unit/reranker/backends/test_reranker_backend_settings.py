"""The settings of the backends: what each needs, what it does not read, and the parts of the dialect."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from steelyard_reranker.app import build
from steelyard_reranker.backends.scale import Scale
from steelyard_reranker.backends.wire_dialect import WireDialect, parse_dialect
from steelyard_reranker.settings import RerankerSettings

URL = "http://127.0.0.1:8080"


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"rerank_backend": "tei"}, "RERANK_BACKEND=tei needs RERANK_URL"),
        ({"rerank_backend": "cohere"}, "RERANK_BACKEND=cohere needs RERANK_URL"),
        ({"rerank_backend": "pinecone"}, "RERANK_BACKEND=pinecone needs RERANK_API_KEY_FILE"),
        ({"rerank_backend": "onnx"}, "RERANK_BACKEND=onnx needs RERANK_MODEL_DIR"),
        ({"rerank_url": URL}, "RERANK_BACKEND=local reads no RERANK_URL"),
        ({"rerank_api_key_file": "key"}, "RERANK_BACKEND=local reads no RERANK_API_KEY_FILE"),
        ({"rerank_model_dir": "dir"}, "RERANK_BACKEND=local reads no RERANK_MODEL_DIR"),
        ({"rerank_backend": "onnx", "rerank_model_dir": "d", "rerank_url": URL}, "reads no RERANK_URL"),
        ({"rerank_dialect": "path=/x"}, "RERANK_BACKEND=local does not read path of RERANK_DIALECT"),
        ({"rerank_backend": "tei", "rerank_url": URL, "rerank_dialect": "scale=logit"}, "does not read scale"),
        ({"rerank_backend": "onnx", "rerank_model_dir": "d", "rerank_dialect": "top_n=omit"}, "does not read top_n"),
        ({"rerank_backend": "sentence-transformers"}, "rerank_backend"),
        ({"rerank_backend": "tei", "rerank_url": "localhost:8080"}, "http or https URL"),
        ({"rerank_backend": "tei", "rerank_url": "http://user:key@host"}, "user information"),
    ],
)
def test_settings_that_do_not_fit_together_are_named(settings: dict[str, Any], named: str) -> None:
    with pytest.raises(ValidationError, match=named):
        RerankerSettings(**settings)


def test_the_empty_text_is_no_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("RERANK_URL", "RERANK_API_KEY_FILE", "RERANK_MODEL_DIR", "RERANK_DIALECT"):
        monkeypatch.setenv(name, "")
    settings = RerankerSettings.load()
    assert settings.rerank_url is None
    assert settings.rerank_dialect is None


def test_the_dialect_is_cohere_v2_unless_it_is_said_otherwise() -> None:
    assert RerankerSettings(rerank_backend="cohere", rerank_url=URL).dialect == WireDialect(
        path="/v2/rerank", top_n="send", documents="text", scale=Scale.PROBABILITY, model="pointwise", listing=""
    )
    onnx = RerankerSettings(rerank_backend="onnx", rerank_model_dir="d")
    assert onnx.dialect.scale is Scale.LOGIT


def test_each_part_of_the_dialect_is_read() -> None:
    text = "path=/v1/rerank top_n=omit  documents=object scale=logit model=listwise listing=/v1/models?a=b"
    assert parse_dialect(text, WireDialect()) == WireDialect(
        "/v1/rerank", "omit", "object", Scale.LOGIT, "listwise", "/v1/models?a=b"
    )


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("paht=/x", "'paht=/x'; the parts are path, top_n"),
        ("path", "path=; a path begins"),
        ("path=x", "path=x"),
        ("path=//host/x", "path=//host/x"),
        ("path=/x#y", "path=/x#y"),
        ("top_n=yes", "top_n=yes; it should be send or omit"),
        ("documents=string", "documents=string; it should be text or object"),
        ("scale=cosine", "scale=cosine; it should be probability or logit"),
        ("model=pairwise", "model=pairwise; it should be pointwise or listwise"),
        ("scale=logit scale=logit", "'scale' twice"),
        ("scale=logit,top_n=omit", "scale=logit,top_n=omit"),
    ],
)
def test_a_wrong_part_of_the_dialect_is_named(text: str, named: str) -> None:
    with pytest.raises(ValueError, match=named.replace("?", r"\?")):
        parse_dialect(text, WireDialect())
    with pytest.raises(ValidationError):
        RerankerSettings(rerank_backend="cohere", rerank_url=URL, rerank_dialect=text)


def test_a_file_without_a_key_stops_the_service_before_it_listens(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("two words")
    settings = RerankerSettings(rerank_backend="tei", rerank_url=URL, rerank_api_key_file=str(tmp_path / "key"))
    with pytest.raises(ValueError, match=r"RERANK_API_KEY_FILE=.* holds no key"):
        build(settings)
