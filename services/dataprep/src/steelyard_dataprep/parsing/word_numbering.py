"""The numbers that Word writes before paragraphs: they stand nowhere in the text, only how to count them does."""

from __future__ import annotations

import re
from dataclasses import dataclass

from lxml import etree

from steelyard_dataprep.parsing.numbering import written
from steelyard_dataprep.parsing.word_styles import attribute, child, local_name, value

_FORMS = {"decimal": "1", "lowerLetter": "a", "upperLetter": "A", "lowerRoman": "i", "upperRoman": "I"}
_PLACE = re.compile("%([1-9])")


@dataclass(frozen=True, slots=True)
class _Level:
    start: int
    form: str | None  # None: bullets, and what is not written in figures or letters
    text: str
    style: str | None


class Numbering:
    """Counts the numbered paragraphs of a document, in reading order; `root` is its numbering part, if there is one."""

    def __init__(self, root: etree._Element | None) -> None:
        elements = list(root) if root is not None else []
        self._levels = {
            attribute(one, "abstractNumId"): _levels(one) for one in elements if local_name(one) == "abstractNum"
        }
        self._lists = {attribute(one, "numId"): one for one in elements if local_name(one) == "num"}
        self._counts: dict[str, dict[int, int]] = {}
        self._begun: set[str] = set()

    def mark(self, list_id: str, level: int | None, styles: list[str]) -> str:
        """The number of the next paragraph of that list, as Word shows it; empty for a bullet and an unknown list.

        Without a `level`, it is the one that names one of the paragraph's styles, else the first.
        """
        listed = self._lists.get(list_id)
        shared = value(child(listed, "abstractNumId")) or ""
        levels = self._levels.get(shared, {})
        if level is None:
            level = next((at for at, one in levels.items() if one.style is not None and one.style in styles), 0)
        if listed is None or level not in levels:
            return ""
        counts = self._counts.setdefault(shared, {})
        if list_id not in self._begun:
            self._begun.add(list_id)
            for at, start in _restarts(listed).items():
                counts[at] = start - 1
        counts[level] = counts.get(level, levels[level].start - 1) + 1
        for deeper in [at for at in counts if at > level]:
            del counts[deeper]
        return _shown(levels[level].text, levels, counts)


def _shown(text: str, levels: dict[int, _Level], counts: dict[int, int]) -> str:
    places = [int(place) - 1 for place in _PLACE.findall(text)]
    if not places or any(place not in levels or levels[place].form is None for place in places):
        return ""

    def number(match: re.Match[str]) -> str:
        place = int(match[1]) - 1
        return written(counts.get(place, levels[place].start), levels[place].form or "1")

    return _PLACE.sub(number, text).strip()


def _levels(abstract: etree._Element) -> dict[int, _Level]:
    found = {}
    for one in abstract:
        if local_name(one) == "lvl":
            found[_whole(attribute(one, "ilvl"), 0)] = _Level(
                _whole(value(child(one, "start")), 0),
                _FORMS.get(value(child(one, "numFmt")) or "decimal"),
                value(child(one, "lvlText")) or "",
                value(child(one, "pStyle")),
            )
    return found


def _restarts(listed: etree._Element) -> dict[int, int]:
    found = {}
    for one in listed:
        start = value(child(one, "startOverride")) if local_name(one) == "lvlOverride" else None
        if start is not None:
            found[_whole(attribute(one, "ilvl"), 0)] = _whole(start, 1)
    return found


def _whole(text: str | None, otherwise: int) -> int:
    return int(text) if text is not None and re.fullmatch("[0-9]{1,6}", text) else otherwise
