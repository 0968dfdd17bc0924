"""Arabic, as `words.fold` writes it: without vowel signs and tatweel, one alef, ya for alef maqsura, ha for ta marbuta.

Prefixes (`و`, `ال`, ...) are taken off by the stemmer; the lists hold the forms that stand in texts.
"""

from .language import Language
from .words import folded

_FINITE = folded("هو هي كان كانت يكون تكون يجب يمكن يجوز يتم تم قد سوف")


ARABIC = Language(
    code="ar",
    function_words=_FINITE
    | folded(
        """
        في من إلى على عن مع حتى هذا هذه ذلك تلك التي الذي الذين اللذان ما ماذا متى أين كيف لماذا كم هل أي أن إن أنّ إنّ
        لأن لكن أو ثم كل بعض غير سوى عند عندما إذا لو بين خلال نحو حوالي أيضا فقط جدا له لها لهم به بها فيه فيها منه
        منها عليه عليها و ف ب ل ك لا لم لن ليس ليست بدون دون نعم كلا أكثر أقل هناك هنا كما أنه أنها وهو وهي وفقا
        """
    ),
    light_words=folded("يبلغ تبلغ يقع تقع يسمى تسمى يستخدم تستخدم يحتوي تحتوي ينبغي يلزم"),
    negations=folded("لا لم لن ليس ليست يحظر يمنع عدم"),
    prohibitions=folded("ممنوع محظور"),
    local_negations=folded("بدون دون بلا"),
    contrasts=folded("لكن ولكن بل بينما إلا"),
    coordinators=folded("أو ثم"),
    finite=_FINITE,
)
