"""Citation mode `attributed`: align each sentence of an answer with the sent chunks.

A sentence is cut into claims at its clauses. A claim is supported by the sentences of the sent chunks (one, or up to
three where one is not enough) that hold its numbers, dates, identifiers, names and colours, cover at least half of its
content by weight and rarity, and affirm what it affirms. The rules are deterministic and use word lists only: what a
rule can not see is a relation (`the manager is X`, where the evidence knows X as the founder), and a paraphrase that
shares no word with its source is reported as unsupported, which is the side on which to err.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from steelyard_contracts.answers import Citation, UnsupportedSpan

from .citing import cite
from .claims import Claims, read_claims, read_question
from .evidence import SentChunk
from .facts import Fact, Kind, weight
from .index import EvidenceIndex
from .languages import UNKNOWN, detect
from .lexicon.language import Language
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
    """Find the support of every sentence of `answer` in the chunks that were `sent`.

    `Citation.support` is the share, by weight, of the sentence's key facts that stand in the quote: a number, date or
    identifier weighs 3, a name or a colour 2, a content word 1. A sentence of which only a part is supported has
    citations for that part (their support is then below 1) and is marked unsupported as well.

    `UnsupportedSpan.missing` names the facts that were not found, or the negation (`not`, `nicht`) by which only one
    of answer and evidence denies the other. A bare yes or no is judged as the question it answers: a yes needs
    evidence that affirms the question, a no evidence that denies it or has another value where the question has one.
    """
    index = EvidenceIndex(sent)
    language = _language_of(answer, question, index)
    asked = read_question(question, language)
    matcher = Matcher(index, asked, language)
    text = plain(answer)
    citations: list[Citation] = []
    unsupported: list[UnsupportedSpan] = []
    known: list[str] = []
    unknown: list[str] = []
    for sentence in split_sentences(answer):
        claims = read_claims(answer, text, sentence, asked, language)
        if claims is None:
            continue
        matches = matcher.match(claims)
        for group, match in zip(claims.groups, matches, strict=True):
            (known if match.holds else unknown).extend(_names(group, claims, answer))
        citations += _cite_all(sentence, claims, matches, index)
        if not all(match.holds for match in matches):
            unsupported.append(_mark(sentence, matches, answer))
    return Attribution(citations, unsupported, known, unknown)


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
    """One citation for each quoted sentence, in the order of the prompt; claims with the same quote share it."""
    quoted: dict[int, dict[tuple[int, Kind], Fact]] = {}
    for match in matches:
        for place, facts in match.support.items():
            quoted.setdefault(place, {}).update({(fact.start, fact.kind): fact for fact in facts})
    total = weight(fact for group in claims.groups for fact in group)
    citations = []
    for place, held in sorted(quoted.items()):
        evidence = index.sentences[place]
        quote = (evidence.start, evidence.end)
        share = min(1.0, weight(held.values()) / total)
        citations.append(cite(index.chunks[evidence.chunk], quote, (sentence.start, sentence.end), share))
    return citations
