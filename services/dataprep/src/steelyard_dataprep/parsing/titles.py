"""A title for documents that do not carry one, and the sentences about what was not read."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import PurePosixPath

from steelyard_dataprep.parsing.canonical import canonical_text

_LONGEST = 200
_PLACEHOLDER = re.compile(
    r"untitled(?: document)?(?:[ -]?\d+)?|unbenannt|sans titre|powerpoint presentation", re.IGNORECASE
)


def label(text: str) -> str:
    """Return a title or heading on one line of at most 200 characters, the last of which says whether it was cut.

    Labels are stored with every chunk below them; the heading itself stands in the text, whole.
    """
    line = " ".join(canonical_text(text).split())
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1].rstrip() + "…"


def given_title(carried: str) -> str:
    """Return the title that a file carries, or "" where it only has what programs write when nobody gave one."""
    return "" if _PLACEHOLDER.fullmatch(carried.strip()) else carried


def title_from_name(name: str) -> str:
    """Return the file name without folders and extension."""
    return PurePosixPath(name.replace("\\", "/")).stem or name


def notes_on(ignored: Counter[str]) -> tuple[str, ...]:
    """Return one sentence for each kind of element that was passed over."""
    return tuple(f"{kind} ignored: {count}" for kind, count in sorted(ignored.items()))
