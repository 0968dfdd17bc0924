"""A sentence as it is compared with another one: its facts, its names, and its parallel parts."""

from collections.abc import Sequence
from functools import cached_property

from .facts import Fact
from .lexicon.dictation import DICTATION, SAYING
from .lexicon.language import Language
from .names import Name, names_in
from .parallel import Contrast, Mark, Part, contrasts, cuts, part_of


class Passage:
    """The facts of the sentence `text[start:end]`, whose offsets count in `text`.

    What is derived from them is made when it is first asked for, and never changed. Several threads may ask at once.
    """

    def __init__(self, facts: Sequence[Fact], text: str, span: tuple[int, int], language: Language) -> None:
        self.facts = facts
        self.text = text
        self._start, self._end = span
        self.language = language
        self._names: list[Name] | None = None
        self._contrasts: dict[tuple[Mark, ...], list[Contrast]] = {}

    @property
    def names(self) -> list[Name]:
        """Its names in order, capitalised first words among them."""
        if self._names is None:
            self._names = names_in(self.facts, self.text)
        return self._names

    @cached_property
    def named(self) -> list[Mark]:
        """Where the names stand that are sure to be some."""
        return [Mark(name.start, name.end) for name in self.names if name.is_sure]

    @property
    def may_dictate(self) -> bool:
        """Whether it has a verb of saying; where words are not separated that is not known, and may be."""
        return self.language.negation_pattern is not None or any(fact.form in SAYING for fact in self.facts)

    @cached_property
    def dictated(self) -> range:
        """The part of it that is no statement, but what a reader is told to say (`answer with: ...`); else empty."""
        found = DICTATION.search(self.text, self._start, self._end) if self.may_dictate else None
        if found is None:
            return range(0)
        return range(found.start(), found.end() if found["before"] else self._end)

    @cached_property
    def entry(self) -> Part | None:
        """The sentence as an entry of a list, None if it has no name or several."""
        return part_of(self.facts, self._start, self.named) if self.facts else None

    @cached_property
    def _cuts(self) -> list[int]:
        return cuts(self.facts, self.text, self.language)

    def contrasts(self, marks: tuple[Mark, ...]) -> Sequence[Contrast]:
        """What tells the first of `marks` from the others, see `parallel.contrasts`."""
        known = self._contrasts.get(marks)
        if known is None:
            known = self._contrasts[marks] = contrasts(marks, self.facts, self._cuts)
        return known
