"""Whether a question that was written out for a conversation still asks what its words ask."""

from .facts import DECISIVE, Fact
from .languages import detect
from .lexicon.words import fold
from .numbers import plain
from .reading import read_facts


def distortion(question: str, history: str, rewritten: str) -> str | None:
    """What is wrong with `rewritten`, None if nothing is.

    It has to keep every fact of the question, and may take the names, numbers and identifiers that it adds only from
    the history. A small model loses the one (`And to Japan?` becomes the question before) and invents the other.
    """
    known = fold(plain(f"{history}\n{question}"))
    text = fold(plain(rewritten))
    asked, facts = _facts(question), _facts(rewritten)
    keys = {fact.key for fact in facts}
    if any(fact.key not in keys and fact.form not in text for fact in asked):
        return "leaves out a part of the one that was asked"
    said = {fact.key for fact in (*_facts(history), *asked)}
    if any(fact.kind in DECISIVE and fact.key not in said and fact.form not in known for fact in facts):
        return "has a name or a number that nobody mentioned"
    return None


def _facts(text: str) -> list[Fact]:
    return read_facts(plain(text), 0, len(text), detect(text)).facts
