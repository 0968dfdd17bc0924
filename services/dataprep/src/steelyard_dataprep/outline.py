"""The tree of a parsed document: itself, its sections and theirs, each with a heading and an abstract."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .chunking import ChunkSpan, abstract
from .chunking.abstracts import beginning
from .chunking.counter import TokenCounter
from .parsing import ParsedDocument

_HEADING_TOKENS = 32
"""Of a heading in front of its abstract; both together stay far below the 128 tokens that the shortest models read."""


@dataclass(frozen=True, slots=True)
class Branch:
    """A node to be.

    `title` is the document's, or the headings down to the section. `text` is what is embedded: heading and abstract.
    `parent` indexes the outline's branches, None for the document.
    """

    title: str
    abstract: str
    text: str
    parent: int | None


@dataclass(frozen=True, slots=True)
class Outline:
    """Branches, each after the one above it, the document first; `above[i]` is the branch over the i-th chunk."""

    branches: tuple[Branch, ...]
    above: tuple[int, ...]


def outline(parsed: ParsedDocument, chunks: Sequence[ChunkSpan], count_tokens: TokenCounter) -> Outline:
    """The tree over `chunks`; sections without a chunk below them are left out.

    A section's abstract is of its text and that of the sections below it, so one that only holds others has one too.
    """
    sections = parsed.sections
    depths = [0 if section.level == 0 else len(section.path) for section in sections]
    parents = _parents(depths, [section.level == 0 for section in sections])
    used = set()
    for chunk in chunks:
        at: int | None = chunk.section
        while at is not None and at not in used:
            used.add(at)
            at = parents[at]
    branches = [_branch(parsed.title, parsed.title or parsed.text, parsed.text, None, count_tokens)]
    place: dict[int | None, int] = {None: 0}
    for index in sorted(used):
        section = sections[index]
        after = (at for at in range(index + 1, len(sections)) if depths[at] <= depths[index])
        end = sections[next(after, len(sections)) - 1].char_end
        title = " > ".join((*section.path, section.title)) if section.level > 0 else ""
        place[index] = len(branches)
        body = parsed.text[section.body_start : end]
        branches.append(_branch(title, section.title or parsed.title, body, place[parents[index]], count_tokens))
    return Outline(tuple(branches), tuple(place[chunk.section] for chunk in chunks))


def _parents(depths: Sequence[int], loose: Sequence[bool]) -> list[int | None]:
    """For each section the one that encloses it; text before the first heading is directly below the document."""
    parents: list[int | None] = []
    enclosing: list[int] = []
    for index, (depth, before_headings) in enumerate(zip(depths, loose, strict=True)):
        del enclosing[depth:]
        parents.append(enclosing[-1] if enclosing else None)
        if not before_headings:
            enclosing.append(index)
    return parents


def _branch(title: str, heading: str, body: str, parent: int | None, count_tokens: TokenCounter) -> Branch:
    sentences = abstract(body, count_tokens)
    return Branch(title, sentences, f"{beginning(heading, count_tokens, _HEADING_TOKENS)}\n{sentences}".strip(), parent)
