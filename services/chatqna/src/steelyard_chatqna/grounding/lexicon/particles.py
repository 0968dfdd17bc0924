"""Yes and no as an answer of their own."""

from .words import fold, words

YES = frozenset(
    fold(word)
    for word in words(
        "yes yeah yep correct right true ja doch genau richtig はい ええ 是 是的 对 对的 可以 نعم أجل بلى صحيح"
    )
)
NO = frozenset(
    fold(word) for word in words("no nope incorrect false wrong nein falsch いいえ 不 不是 不对 不可以 不行 否 لا كلا")
)

SPACED_PARTICLES = frozenset(fold(word) for word in words("yes no yeah yep correct right ja nein doch نعم لا كلا"))
"""Those that stand before a comma or a full stop in a longer sentence, where words are separated."""

_PUNCTUATION = " \t\n*_`\"'.,;:!。、，！؟،"


def particle(sentence: str) -> str:
    """Return the folded yes or no that `sentence` begins with, an empty string when it begins with neither."""
    bare = sentence.strip(_PUNCTUATION)
    first = bare.split(maxsplit=1)[0].strip(_PUNCTUATION) if bare else ""
    for candidate in (bare, first, *(first[:size] for size in (3, 2))):
        if fold(candidate) in YES | NO and (candidate in (bare, first) or not candidate.isascii()):
            return fold(candidate)
    return ""
