"""Yes and no as an answer of their own, and the questions that ask for one."""

import re

from .words import fold, folded

YES = folded("yes yeah yep correct right true ja doch genau richtig はい ええ 是 是的 对 对的 可以 نعم أجل بلى صحيح")
NO = folded("no nope incorrect false wrong nein falsch いいえ 不 不是 不对 不可以 不行 否 لا كلا")

_PARTICLES = YES | NO

SPACED_PARTICLES = folded("yes no yeah yep correct right ja nein doch نعم لا كلا")
"""Those that stand before a comma or a full stop in a longer sentence, where words are separated."""

_PUNCTUATION = " \t\n*_`\"'.,;:!。、，！؟،"

_ASKS_SOMETHING = re.compile(
    r"""
      \b(?:what|which|who|whom|whose|when|where|why|how)\b
    | \b(?:was\s(?:ist|sind|kostet|bedeutet|macht|passiert|muss|soll)|welche\w*|wer|wen|wem|wann|wo|woher|wohin|woraus
          |womit|wofür|warum|wie|wieso|wodurch|worin|worauf)\b
    | 何 | いつ | どこ | 誰 | だれ | どの | どれ | どちら | いくら | いくつ | なぜ | どう
    | 什么 | 多少 | 谁 | 哪 | 几 | 怎 | 为何 | 何时
    """,
    re.IGNORECASE | re.VERBOSE,
)
_POLAR_OPENING = re.compile(
    r"""
    \s*(?: (?:is|are|am|was|were|be|do|does|did|can|could|may|might|must|shall|should|will|would|has|have|had)\b
         | (?:ist|sind|war|waren|kann|können|darf|dürfen|muss|müssen|soll|sollen|haben|werden)\b
         | (?!(?:und|in|bei|mit|für|von|the|and|der|die|das)\b)[a-zäöü]+[ts]\s  # a German verb: `Enthält ...`
         | (?:هل|أ)\s?
    )
    """,
    re.IGNORECASE | re.VERBOSE,
)
_POLAR_ENDING = re.compile(r"(?:か|吗|嗎)\s*[?？。]?\s*\Z")
_QUESTION_MARK = re.compile(r"[?？؟]\s*\Z")


def particle(sentence: str) -> str:
    """Return the folded yes or no that `sentence` begins with, an empty string when it begins with neither."""
    bare = sentence.strip(_PUNCTUATION)
    # What is left may be a no-break space alone.
    first = "".join(bare.split(maxsplit=1)[:1]).strip(_PUNCTUATION)
    for candidate in (bare, first, first[:3], first[:2]):
        if fold(candidate) in _PARTICLES and (candidate in (bare, first) or not candidate.isascii()):
            return fold(candidate)
    return ""


def is_polar(question: str) -> bool:
    """Whether `question` asks for a yes or no: by its first word or its last particle, and without `what` or `how`."""
    if _ASKS_SOMETHING.search(question):
        return False
    if _POLAR_ENDING.search(question):
        return True
    return _QUESTION_MARK.search(question) is not None and _POLAR_OPENING.match(question) is not None


def is_beside(answer: str, question: str) -> bool:
    """Whether `answer` is a yes or no alone, and `question` asks for something else: `Yes` to `How many months?`."""
    if _ASKS_SOMETHING.search(question) is None or _POLAR_OPENING.match(question) is not None:
        return False
    return fold(answer.strip(_PUNCTUATION)) in _PARTICLES
