"""What one sentence of an answer claims, once the question's own words and the courtesies are taken out."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from .designations import leading_designation
from .facts import DECISIVE, HARD, Fact, Kind
from .lexicon.english import ENGLISH
from .lexicon.german import GERMAN
from .lexicon.language import Language
from .lexicon.meta import ANNOUNCEMENT_END, COURTESY, OPENING, QUESTION_END, REFUSAL, SOURCE, TALK_WORDS
from .lexicon.particles import NO, YES, is_polar, particle
from .numbers import plain
from .passages import Passage
from .reading import read_facts
from .sentences import Sentence

_WORDS_OF_A_CLAIM = 2
"""A clause with fewer words and nothing decisive is no claim of its own; it joins its neighbour."""

_REFUSE_IN_NEGATIONS = (ENGLISH, GERMAN)
"""Languages in which no answer says that it does not know without a negation, so that others need no search for it."""


class Question(NamedTuple):
    """The facts of the question, the keys that an answer merely repeats, and the clauses that it denies.

    A `polar` question asks for yes or no.
    """

    facts: list[Fact]
    keys: frozenset[str]
    polar: bool
    denied_clauses: frozenset[int]


class Claims(NamedTuple):
    """What a sentence claims.

    `groups` are the claims, each a list of key facts; `said` is the whole sentence, with what it repeats of the
    question. `verdict` is the particle of a bare yes or no, whose claim is the question itself; `denied` says that it
    is a no. A sentence that `is_incoherent` has a verdict, and then says the opposite: `No, it is.`
    """

    groups: list[list[Fact]]
    said: Passage
    cues: list[str]
    denied_clauses: frozenset[int] = frozenset()
    verdict: str = ""
    denied: bool = False
    is_incoherent: bool = False


def read_question(question: str, language: Language) -> Question:
    """Read the facts that `question` names; its language is that of the answer unless it shows another."""
    facts = read_facts(plain(question), 0, len(question), language)
    kept = [fact for fact in facts.facts if fact.form not in TALK_WORDS]
    keys = frozenset(key for fact in kept for key in (fact.key, fact.form))
    return Question(kept, keys, is_polar(question), facts.denied)


def read_claims(
    original: str,
    text: str,
    sentence: Sentence,
    question: Question,
    language: Language,
    names_model: Callable[[Fact], bool],
) -> Claims | None:
    """Return what `sentence` of the answer claims, None when it claims nothing.

    `names_model` says whether the evidence knows a name with a number as one, `text` is the answer after
    `numbers.plain`. Words of the question are no key facts, unless the question asks for yes or no, the sentence denies
    something, or nothing else is left of it. Identifiers always are: a question about a model that no document knows
    must not prove that model.
    """
    start = sentence.start
    for preamble in (OPENING, SOURCE):
        match = preamble.match(text, start, sentence.end)
        start = start if match is None else match.end()
    read = read_facts(text, start, sentence.end, language)
    facts = [fact for fact in read.facts if fact.form not in TALK_WORDS]
    designation = leading_designation(facts, text)
    if designation is not None and names_model(designation):
        facts[1] = designation
    may_refuse = bool(read.cues) or language not in _REFUSE_IN_NEGATIONS
    if _claims_nothing(text[start : sentence.end], facts, question, may_refuse=may_refuse):
        return None
    cues = [original[low:high] for low, high in read.cues]
    if not facts:
        return _verdict(original[sentence.start : sentence.end], question, cues, language)
    own = [fact for fact in facts if not _repeats(fact, question)]
    passage = Passage(facts, text, (start, sentence.end), language)
    if not own and _is_asked_whole(facts, question):
        said = particle(original[start : sentence.end])
        if said in (YES if cues else NO):
            return Claims([facts], passage, cues, verdict=said, is_incoherent=True)
    keys = facts if read.cues or question.polar or not own else own
    return Claims(_groups(keys), passage, cues, read.denied)


def _claims_nothing(said: str, facts: Sequence[Fact], question: Question, *, may_refuse: bool) -> bool:
    """Whether the sentence asks, announces, thanks, or says that it does not know, without a value of its own."""
    if any(fact.kind in HARD and not _repeats(fact, question) for fact in facts if fact.kind is not Kind.IDENTIFIER):
        return False
    last = said.rstrip("*_` ")[-1:]
    if last in QUESTION_END or (may_refuse and REFUSAL.search(said) is not None):
        return True
    if any(fact.kind in HARD for fact in facts):
        return False
    return said.startswith("#") or last in ANNOUNCEMENT_END or COURTESY.match(said) is not None


def _verdict(surface: str, question: Question, cues: list[str], language: Language) -> Claims | None:
    said = particle(surface)
    if not question.facts or not (said or cues):
        return None
    denied = said in NO or (said not in YES and bool(cues))
    return Claims([question.facts], Passage(question.facts, "", (0, 0), language), cues, verdict=surface, denied=denied)


def _repeats(fact: Fact, question: Question) -> bool:
    return fact.kind is not Kind.IDENTIFIER and (fact.key in question.keys or fact.form in question.keys)


def _is_asked_whole(facts: Sequence[Fact], question: Question) -> bool:
    """Whether the sentence has all that a question asks for a yes or no to, which denies nothing itself."""
    said = {fact.key for fact in facts}
    return question.polar and not question.denied_clauses and said.issuperset(fact.key for fact in question.facts)


def _groups(facts: Sequence[Fact]) -> list[list[Fact]]:
    """Group facts by clause; a clause that is too small for a claim joins the one before it, or the first the next."""
    groups: list[list[Fact]] = []
    clause = -1
    for fact in facts:
        if fact.clause != clause or not groups:
            groups.append([])
            clause = fact.clause
        groups[-1].append(fact)
    joined: list[list[Fact]] = []
    for group in groups:
        if joined and (_is_small(group) or _is_small(joined[-1])):
            joined[-1].extend(group)
        else:
            joined.append(group)
    return joined


def _is_small(group: Sequence[Fact]) -> bool:
    return len(group) < _WORDS_OF_A_CLAIM and not any(fact.kind in DECISIVE for fact in group)
