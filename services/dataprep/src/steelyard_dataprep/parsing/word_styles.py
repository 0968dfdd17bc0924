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


def attribute(element: etree._Element, name: str) -> str:
    """Return an attribute by its name without namespace, empty if it is absent."""
    return next((content for key, content in element.attrib.items() if key.rpartition("}")[2] == name), "")


def value(element: etree._Element | None) -> str | None:
    """Return the `w:val` attribute of a property, None if either is absent."""
    return (attribute(element, "val") or None) if element is not None else None


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

    def list_of(self, paragraph: etree._Element) -> tuple[str, int | None] | None:
        """Return the id of the list that numbers or bullets the paragraph and, where it is said, its level from 0."""
        level: int | None = None
        for properties, _ in self._inherited(paragraph):
            said = value(child(properties, "numPr", "ilvl"))
            if level is None and said is not None and said.isdecimal():
                level = int(said)
            numbering = value(child(properties, "numPr", "numId"))
            if numbering is not None:
                return (numbering, level) if numbering != "0" else None
        return None

    def chain(self, paragraph: etree._Element) -> list[str]:
        """Return the ids of the paragraph's style and of those that it inherits from."""
        identifier = value(child(child(paragraph, "pPr"), "pStyle"))
        found: list[str] = []
        while identifier in self._styles and len(found) < _MAX_INHERITANCE:
            found.append(identifier)
            identifier = value(child(self._styles[identifier], "basedOn"))
        return found

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
