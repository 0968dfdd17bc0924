"""What attribution has to know of one language; all entries are folded as `words.fold` folds them."""

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Language:
    """`function_words` carry no claim; `light_words` are verbs and nouns that any paraphrase adds or drops.

    `negations` deny what follows them in their clause, or all of it when nothing does; `prohibitions` always all of it;
    `local_negations` what follows, whatever else is denied. `contrasts` and
    `coordinators` begin a new clause, a coordinator only where a word of `finite` follows it. `negation_pattern`
    and `negation_idioms` take the place of the lists where words are not separated: what an idiom matches is no
    negation, although it holds one (`不锈钢`).
    """

    code: str
    function_words: frozenset[str]
    light_words: frozenset[str] = frozenset()
    negations: frozenset[str] = frozenset()
    prohibitions: frozenset[str] = frozenset()
    local_negations: frozenset[str] = frozenset()
    contrasts: frozenset[str] = frozenset()
    coordinators: frozenset[str] = frozenset()
    finite: frozenset[str] = frozenset()
    negation_pattern: re.Pattern[str] | None = None
    negation_idioms: re.Pattern[str] | None = None
    decimal_comma: bool = False
    has_names: bool = False
