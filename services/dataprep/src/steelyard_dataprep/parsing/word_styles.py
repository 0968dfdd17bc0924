"""What the paragraph styles of a Word document say about structure."""

from __future__ import annotations

import re

from lxml import etree

_HEADING_NAME = re.compile(r"heading ([1-9])")
_CONTENTS_NAME = re.compile(r"toc [1-9]|table of figures")
_BODY_LEVEL = 9
_MAX_INHERITANCE = 20


def local_name(element: etree._Element) -> str:
    """Return the tag without its namespace (Word has two for the same elements); empty for what is no element."""
    tag = element.tag
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""


def value(element: etree._Element | None) -> str | None:
    """Return the `w:val` attribute of a property, None if either is absent."""
    if element is None:
        return None
    return next((content for key, content in element.attrib.items() if key.rpartition("}")[2] == "val"), None)


def child(element: etree._Element | None, *path: str) -> etree._Element | None:
    """Return the first descendant along a path of local names, or None."""
    for step in path:
        element = next((inner for inner in element if local_name(inner) == step), None) if element is not None else None
    return element


class Styles:
    """Style definitions by their id; names are English in every language version of Word."""

    def __init__(self, root: etree._Element | None) -> None:
        self._styles: dict[str, etree._Element] = {}
        for style in root if root is not None else ():
            if local_name(style) == "style":
                identifier = next((content for key, content in style.attrib.items() if key.endswith("}styleId")), "")
                self._styles[identifier] = style

    def heading_level(self, paragraph: etree._Element) -> int | None:
        """Return the level from 1 of a heading paragraph, None for any other; a title counts as level 1."""
        for properties, name in self._inherited(paragraph):
            outline = value(child(properties, "outlineLvl"))
            if outline is not None and outline.isdigit():
                return int(outline) + 1 if int(outline) < _BODY_LEVEL else None
            match = _HEADING_NAME.fullmatch(name)
            if match is not None:
                return int(match[1])
            if name == "title":
                return 1
        return None

    def is_list_item(self, paragraph: etree._Element) -> bool:
        """Whether the paragraph is numbered or bulleted."""
        for properties, _ in self._inherited(paragraph):
            numbering = value(child(properties, "numPr", "numId"))
            if numbering is not None:
                return numbering != "0"
        return False

    def is_contents_line(self, paragraph: etree._Element) -> bool:
        """Whether the paragraph belongs to a generated table of contents, which only repeats the headings."""
        return any(_CONTENTS_NAME.fullmatch(name) for _, name in self._inherited(paragraph))

    def _inherited(self, paragraph: etree._Element) -> list[tuple[etree._Element | None, str]]:
        """Return paragraph properties and style name, from the paragraph itself to its most general style."""
        own = child(paragraph, "pPr")
        chain: list[tuple[etree._Element | None, str]] = [(own, "")]
        identifier = value(child(own, "pStyle"))
        # Bounded, since a broken file may have styles that inherit from each other.
        while identifier in self._styles and len(chain) < _MAX_INHERITANCE:
            style = self._styles[identifier]
            chain.append((child(style, "pPr"), (value(child(style, "name")) or "").lower()))
            identifier = value(child(style, "basedOn"))
        return chain
