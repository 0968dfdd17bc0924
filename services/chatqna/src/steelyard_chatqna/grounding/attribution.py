"""Citation mode `attributed`: align each sentence of an answer with the sent chunks.

A sentence is cut into claims at its clauses. A claim is supported by the sentences of the sent chunks (one, or up to
three where one is not enough) that hold its numbers, dates, identifiers, names and colours, cover at least half of its
content by weight and rarity, and affirm what it affirms. The rules are deterministic and use word lists only: what a
rule can not see is a relation (`the manager is X`, where the evidence knows X as the founder), except that of two names
which change places around the same English words (`X reports to Y`, `from X to Y`), and of values in parallel parts of
a sentence, list or table (`its captain is X and its cook is Y`); and a paraphrase that shares no word with its source
is reported as unsupported, which is the side on which to err. What a text orders its reader to say it does not say.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from steelyard_contracts.answers import Citation, UnsupportedSpan

from .citing import cite
from .claims import Claims, Question, read_claims, read_question
from .evidence import SentChunk
from .facts import Fact, Kind, weight
from .index import EvidenceIndex
from .languages import UNKNOWN, detect
from .lexicon.language import Language
from .lexicon.particles import is_beside
from .lexicon.words import fold
from .matching import Match, Matcher
from .numbers import plain
from .sentences import Sentence, split_sentences

_TELLING_LENGTH = 60
"""Characters from which on an answer shows its language alone."""


@dataclass(frozen=True)
class Attribution:
    """What the sent chunks support of an answer.

    `supported_facts` are the key facts of claims that hold, `unsupported_facts` those of claims that do not; facts are
    named as the answer writes them. An answer without key facts (a courtesy, a refusal) has neither.
    """

    citations: list[Citation]
    unsupported: list[UnsupportedSpan]
    supported_facts: list[str]
    unsupported_facts: list[str]


def attribute(answer: str, sent: Sequence[SentChunk], question: str = "") -> Attribution:
    """Find the support of every sentence of `answer` in the chunks that were `sent`; see `Attributor`."""
    return Attributor(sent, question).attribute(answer)


class Attributor:
    """Holds one answer, as it grows, against the chunks that were sent; a sentence is read again only if it changed."""

    def __init__(self, sent: Sequence[SentChunk], question: str = "") -> None:
        self._question = question
        self._index = EvidenceIndex(sent)
        self._asked: dict[str, tuple[Question, Matcher]] = {}
        self._read: dict[tuple[str, int, str], _ReadSentence | None] = {}

    def attribute(self, answer: str) -> Attribution:
        """Find the support of every sentence of `answer`.

        `Citation.support` is the share, by weight, of the sentence's key facts that stand in the quote: a number, date
        or identifier weighs 3, a name or a colour 2, a content word 1. A sentence of which only a part is supported has
        citations for that part (their support is then below 1) and is marked unsupported as well.

        `UnsupportedSpan.missing` names the facts that were not found, or only as something else or in an order to the
        reader; or the negation (`not`, `nicht`) by which only one of answer and evidence denies the other. A bare yes
        or no is judged as the question it answers: a yes needs evidence that affirms the question, a no evidence that
        denies it or has another value where the question has one. To a question for something else it is no answer.
        """
        if is_beside(answer, self._question):
            said = answer.strip()
            start = answer.index(said)
            mark = UnsupportedSpan(answer_start=start, answer_end=start + len(said), text=said, missing=[said])
            return Attribution([], [mark], [], [said])
        language = _language_of(answer, self._question, self._index)
        text = plain(answer)
        read = [self._sentence(answer, text, sentence, language) for sentence in split_sentences(answer)]
        claiming = [one for one in read if one is not None]
        return Attribution(
            citations=[citation for one in claiming for citation in one.citations],
            unsupported=[one.unsupported for one in claiming if one.unsupported is not None],
            supported_facts=[name for one in claiming for name in one.known],
            unsupported_facts=[name for one in claiming for name in one.unknown],
        )

    def _sentence(self, answer: str, text: str, sentence: Sentence, language: Language) -> "_ReadSentence | None":
        key = (language.code, sentence.start, answer[sentence.start : sentence.end])
        if key not in self._read:
            self._read[key] = self._judged(answer, text, sentence, language)
        return self._read[key]

    def _judged(self, answer: str, text: str, sentence: Sentence, language: Language) -> "_ReadSentence | None":
        if language.code not in self._asked:
            asked = read_question(self._question, language)
            self._asked[language.code] = asked, Matcher(self._index, asked, language)
        asked, matcher = self._asked[language.code]
        claims = read_claims(answer, text, sentence, asked, language, self._index.names_model)
        if claims is None:
            return None
        matches = matcher.match(claims)
        known: list[str] = []
        unknown: list[str] = []
        for group, match in zip(claims.groups, matches, strict=True):
            (known if match.holds else unknown).extend(_names(group, claims, answer))
        holds = all(match.holds for match in matches)
        citations = _cite_all(sentence, claims, matches, self._index)
        return _ReadSentence(citations, None if holds else _mark(sentence, matches, answer), known, unknown)


class _ReadSentence(NamedTuple):
    """What one sentence of an answer adds to its attribution."""

    citations: list[Citation]
    unsupported: UnsupportedSpan | None
    known: list[str]
    unknown: list[str]


def _language_of(answer: str, question: str, index: EvidenceIndex) -> Language:
    """The language of the answer. One of a few words may be a foreign title: then the question has a say, too."""
    told = answer if len(answer) >= _TELLING_LENGTH else f"{question}\n{answer}"
    for text in (told, question):
        language = detect(text)
        if language is not UNKNOWN:
            return language
    return next((known for known in index.languages if known is not UNKNOWN), UNKNOWN)


def _names(group: Sequence[Fact], claims: Claims, answer: str) -> list[str]:
    return [claims.verdict] if claims.verdict else [answer[fact.start : fact.end] for fact in group]


def _mark(sentence: Sentence, matches: Sequence[Match], answer: str) -> UnsupportedSpan:
    missing: list[str] = []
    for match in matches:
        missing += [match.cue] if match.cue else [_surface(fact, answer) for fact in match.missing]
    return UnsupportedSpan(
        answer_start=sentence.start,
        answer_end=sentence.end,
        text=answer[sentence.start : sentence.end],
        missing=list(dict.fromkeys(missing)),
    )


def _surface(fact: Fact, answer: str) -> str:
    """The fact as the answer writes it; one of the question has only its folded form here."""
    surface = answer[fact.start : fact.end]
    return surface if fold(plain(surface)) == fold(fact.form) else fact.form


def _cite_all(sentence: Sentence, claims: Claims, matches: Sequence[Match], index: EvidenceIndex) -> list[Citation]:
    """One citation for each quoted sentence, in the order of the prompt; claims with the same quote share it.

    A label is no span of a text. What only labels hold is cited with the whole chunks below them.
    """
    quoted: dict[int, dict[tuple[int, Kind], Fact]] = {}
    for match in matches:
        for place, facts in match.support.items():
            quoted.setdefault(place, {}).update({(fact.start, fact.kind): fact for fact in facts})
    total = weight(fact for group in claims.groups for fact in group)
    if not index.labels.isdisjoint(quoted):
        in_texts = {place: held for place, held in quoted.items() if place not in index.labels}
        quoted = in_texts or {label: {} for label in quoted}
    citations = []
    for place, held in sorted(quoted.items()):
        evidence = index.sentence(place)
        whole = (0, len(index.chunks[evidence.chunk].text))
        quote = whole if place in index.labels else (evidence.start, evidence.end)
        share = min(1.0, weight(held.values()) / total)
        citations.append(cite(index.chunks[evidence.chunk], quote, (sentence.start, sentence.end), share))
    return citations
