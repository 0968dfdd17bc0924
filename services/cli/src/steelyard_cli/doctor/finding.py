"""One finding of `steelyard doctor`."""

from collections.abc import Sequence
from enum import StrEnum

from pydantic import BaseModel


class Level(StrEnum):
    """How bad a finding is: `warn` works, but not well; with `fail` the stack can not do its work."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


class Finding(BaseModel):
    """What was found about one thing, and what to do about it (None when there is nothing to do)."""

    name: str
    level: Level
    found: str
    fix: str | None = None


def judge(name: str, found: str, *, ok: bool, otherwise: Level, fix: str) -> Finding:
    """A finding that is `ok`, or else `otherwise` with its fix."""
    return (
        Finding(name=name, level=Level.OK, found=found)
        if ok
        else Finding(name=name, level=otherwise, found=found, fix=fix)
    )


def worst(findings: Sequence[Finding]) -> Level:
    """The worst level among findings."""
    order = list(Level)
    return max((finding.level for finding in findings), key=order.index, default=Level.OK)
