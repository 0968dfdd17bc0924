"""The chat template that a model is published with, rendered as its servers render it."""

import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NoReturn

from jinja2 import TemplateError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from steelyard_contracts.errors import ErrorCode, SteelyardError

from .template import Messages

TEMPLATE_FILE = "chat_template.jinja"
CONFIG_FILE = "tokenizer_config.json"
_SPECIAL = ("bos_token", "eos_token", "pad_token", "unk_token")

Render = Callable[[Messages], str]


class TemplateFileError(ValueError):
    """A chat template can not be read, or takes no system message."""


def published_beside(tokenizer: Path) -> Render | None:
    """The template that lies beside a `tokenizer.json`: `chat_template.jinja`, else that of `tokenizer_config.json`.

    None when neither file holds one. Rendering raises `invalid_request` for turns that the template refuses. Raises
    TemplateFileError, naming the file, also for a template that refuses a system message: every prompt here has one.
    """
    config_path, template_path = tokenizer.with_name(CONFIG_FILE), tokenizer.with_name(TEMPLATE_FILE)
    config = _config(config_path) if config_path.exists() else {}
    try:
        source, path = (
            (template_path.read_text(encoding="utf-8"), template_path)
            if template_path.exists()
            else (_default(config.get("chat_template")), config_path)
        )
    except (OSError, UnicodeDecodeError) as error:
        raise TemplateFileError(f"{template_path}: it can not be read ({type(error).__name__})") from None
    if source is None:
        return None
    render = _rendering(source, {name: token for name in _SPECIAL if (token := _token(config.get(name)))}, path)
    try:
        render([{"role": "system", "content": "a"}, {"role": "user", "content": "b"}])
    except SteelyardError:
        raise TemplateFileError(f"{path}: its chat template takes no system message before a user's") from None
    return render


def _rendering(source: str, special: Mapping[str, str], path: Path) -> Render:
    # The options, filters and functions are those that published templates are written for.
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, autoescape=False, extensions=["jinja2.ext.loopcontrols"]
    )
    environment.filters["tojson"] = _to_json
    environment.globals |= {"raise_exception": _refuse, "strftime_now": _now}
    try:
        template = environment.from_string(source)
    except TemplateError as error:
        raise TemplateFileError(f"{path}: its chat template can not be read: {error}") from None

    def render(messages: Messages) -> str:
        try:
            return template.render(
                messages=list(messages), add_generation_prompt=True, tools=None, documents=None, **special
            )
        except (TemplateError, TypeError, ValueError, KeyError, ZeroDivisionError):
            # What the template says of them could quote them.
            raise SteelyardError(
                ErrorCode.INVALID_REQUEST, "messages: the model's chat template does not take these turns"
            ) from None

    return render


def _config(path: Path) -> dict[str, Any]:
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise TemplateFileError(f"{path}: it can not be read as JSON ({type(error).__name__})") from None
    if not isinstance(config, dict):
        raise TemplateFileError(f"{path}: it is no JSON object")
    return config


def _default(template: Any) -> str | None:
    """The template, or of several named ones the default."""
    if isinstance(template, list):
        named = [one for one in template if isinstance(one, dict) and one.get("name") == "default"]
        template = named[0].get("template") if named else None
    return template if isinstance(template, str) else None


def _token(value: Any) -> str | None:
    token = value.get("content") if isinstance(value, dict) else value
    return token if isinstance(token, str) else None


def _to_json(value: Any, indent: int | None = None) -> str:
    return json.dumps(value, ensure_ascii=False, indent=indent)


def _refuse(message: str) -> NoReturn:
    raise TemplateError(message)


def _now(pattern: str) -> str:
    return datetime.now(UTC).strftime(pattern)
