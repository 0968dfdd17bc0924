"""Where output goes: results to standard output, everything else to standard error."""

import json
import sys
from dataclasses import dataclass
from typing import IO, Any

from pydantic import BaseModel
from rich.console import Console, RenderableType
from rich.text import Text

from steelyard_contracts.base import Response

from .render.text import printable

PLAIN_WIDTH = 1000
"""Columns of plain output, which nothing wraps: a file or a pipe has no width."""


@dataclass(frozen=True, slots=True)
class Terminal:
    """The two streams of one command. With `as_json`, standard output gets one JSON document and nothing else."""

    as_json: bool
    out: Console
    err: Console

    @classmethod
    def open(cls, *, as_json: bool) -> "Terminal":
        """A terminal on the process's own streams, plain where they are no terminal."""
        return cls(as_json, console(sys.stdout), console(sys.stderr))

    def result(self, value: BaseModel | dict[str, Any] | list[Any]) -> None:
        """Write the JSON document; a service's payload as the service sends it, absent optional fields left out."""
        if isinstance(value, BaseModel):
            text = value.model_dump_json(indent=1, exclude_none=isinstance(value, Response))
        else:
            text = json.dumps(value, ensure_ascii=False, indent=1, allow_nan=False)
        self.out.file.write(_encodable(text) + "\n")
        self.out.file.flush()

    def event(self, kind: str, value: BaseModel | dict[str, Any]) -> None:
        """Write what has just happened as one line of JSON, when the output is for a machine."""
        if self.as_json:
            fields = value.model_dump(mode="json") if isinstance(value, BaseModel) else value
            self.out.file.write(self.line({"event": kind, **fields}))
            self.out.file.flush()

    @staticmethod
    def line(value: dict[str, Any]) -> str:
        """A JSON object on one line."""
        return _encodable(json.dumps(value, ensure_ascii=False, allow_nan=False)) + "\n"

    def show(self, renderable: RenderableType) -> None:
        """Write something to read, unless the output is for a machine."""
        if not self.as_json:
            self.out.print(renderable)

    def note(self, text: str, style: str = "") -> None:
        """Say something about the work on standard error."""
        self.err.print(Text(printable(text), style=style))


def console(stream: IO[str]) -> Console:
    """A console on `stream`: coloured and as wide as the window on a terminal, plain and wide elsewhere."""
    if stream.isatty():
        return Console(file=stream, highlight=False, markup=False, emoji=False)
    return Console(
        file=stream, highlight=False, markup=False, emoji=False, color_system=None, width=PLAIN_WIDTH, soft_wrap=False
    )


def _encodable(text: str) -> str:
    """JSON with what is no character (a byte of a path that is not UTF-8) as the escape that stands for it in JSON."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
