"""What the OpenAPI document says of errors: the media type and the shape that they really have."""

from collections.abc import Iterator
from typing import Any

from fastapi import FastAPI
from pydantic import BaseModel

from steelyard_contracts.errors import OpenAIErrorReply, Problem

from .paths import Paths
from .problems import MEDIA_TYPE

_SCHEMAS = "#/components/schemas/"


def install(app: FastAPI, openai_paths: Paths) -> None:
    """Describe every operation's errors: problem documents, and OpenAI's error objects on `openai_paths`."""
    generate = app.openapi

    def openapi() -> dict[str, Any]:
        fresh = app.openapi_schema is None
        document = generate()
        if fresh:
            _describe(document, openai_paths)
        return document

    app.openapi = openapi  # type: ignore[method-assign]  # FastAPI's own way to extend the document


def _describe(document: dict[str, Any], openai_paths: Paths) -> None:
    for path, operation in _operations(document):
        if path in openai_paths:
            described = _error(
                "OpenAI's error object; `code` says which error it is.", "application/json", OpenAIErrorReply
            )
        else:
            described = _error("A problem document (RFC 9457); `code` says which error it is.", MEDIA_TYPE, Problem)
        # A route that answers a failure with a payload of its own has said so.
        own = operation["responses"]["default"].get("content", {})
        operation["responses"]["default"] = {**described, "content": described["content"] | own}
    schemas = document.setdefault("components", {}).setdefault("schemas", {})
    for model in (Problem, OpenAIErrorReply) if openai_paths else (Problem,):
        schema = model.model_json_schema(ref_template=_SCHEMAS + "{model}")
        schemas.update(schema.pop("$defs", {}))
        schemas[model.__name__] = schema


def _operations(document: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for path, methods in document["paths"].items():
        for operation in methods.values():
            yield path, operation


def _error(description: str, media_type: str, model: type[BaseModel]) -> dict[str, Any]:
    schema = {"$ref": _SCHEMAS + model.__name__}
    return {"description": description, "content": {media_type: {"schema": schema}}}
