"""Sentences that claim nothing about the evidence: courtesies, announcements, and saying that it is not there."""

import re

from .words import words

_FLAGS = re.IGNORECASE | re.VERBOSE

OPENING = re.compile(
    r"""
    \s*(?:[-*\#>]\s*)*
    (?: (?:(?: sure(?:\sthing)? | of\scourse | certainly | absolutely | (?:great|good)\squestion | thanks | thank\syou
            | hello | hi | gerne? | natürlich | selbstverständlich | hallo
            | もちろん(?:です)? | 承知(?:しました)? | 当然 | 好的 | بالتأكيد | بالطبع | مرحبا )
          \s*(?:[,.!:،。、]|-|\Z)\s*)+
      | (?:here(?:\sis|\sare|'s) | hier\s(?:ist|sind) | 以下(?:は|に|が|の通り) | 以下是
            | إليك | فيما\sيلي)[^:.。]{0,80}:\s*
    )
    """,
    _FLAGS,
)
"""What a sentence may begin with before it says anything: a courtesy with its comma, an announcement with its colon."""

COURTESY = re.compile(
    r"""
    \s*
    (?: you're\swelcome | i\shope | hope\sthis | let\sme\sknow | feel\sfree | please\slet\sme | is\sthere\sanything
      | if\syou\s(?:have|need)\s(?:any|more|further) | the\sanswer\sis\sas\sfollows
      | ich\shoffe | falls\ssie\s(?:weitere|noch)
      | お役に立 | 他に(?:ご質問|何か) | 以下の(?:通り|とおり) | 希望(?:这|以上) | 如果您?(?:还有|需要) | آمل
    )
    (?![^\W\d_\u3040-\u30ff\u3400-\u9fff])
    """,
    _FLAGS,
)
"""How a sentence begins that is a courtesy as a whole."""

REFUSAL = re.compile(
    r"""
      \bi\s(?:do\snot|don't|cannot|can't|am\snot|am\sunable|could\snot|couldn't)\s
        (?:know|have|find|answer|say|determine|tell|sure|able)
    | \b(?:context|text|documents?|passage|sources?|information|excerpt|manual|evidence)\b[^.!?]{0,40}?
      \b(?:does\snot|do\snot|doesn't|don't|did\snot)\s(?:\w+\s)?
        (?:say|mention|specify|provide|contain|include|state|tell|give|describe|explain|indicate|answer)
    | \bno\s(?:\w+\s)?(?:information|mention|details?)\b
    | \bnot\s(?:\w+\s)?(?:mentioned|specified|stated|indicated|disclosed)\b
    | \bnot\s(?:\w+\s)?(?:available|found|given|provided|included|contained|described|listed)\s(?:in|by)\s
        (?:the|this|these|any)\s(?:\w+\s)?(?:context|text|documents?|passages?|information|sources?|excerpts?)
    | \bcannot\sbe\s(?:determined|answered)
    | \bich\sweiß\s(?:es\s)?nicht | \bkeine\s(?:\w+\s)?(?:angaben?|informationen|information|hinweise?)
    | \bnicht\s(?:\w+\s)?(?:erwähnt|angegeben|genannt|beantwort\w+|ersichtlich)
    | \bnicht\sim\s(?:kontext|text|dokument)\s | \bim\s(?:kontext|text|dokument)\s(?:\w+\s)?nicht\senthalten
    | (?:記載|情報|言及|説明)[はがも]?(?:され|あり|含まれ|見つかり)?[^。]{0,6}(?:ません|ない)
    | (?:分|わ)かり(?:かね)?ません | 不明です
    | (?:没有|未)(?:提到|提及|说明|提供|找到|给出|包含) | 不知道 | 无法(?:确定|回答|得知)
    | (?:لا|لم)\s(?:يذكر|تذكر|يتضمن|يحتوي|يرد|يحدد|توجد\sمعلومات) | لا\sأعرف | لا\sأعلم | غير\s(?:مذكور|محدد)
    """,
    _FLAGS,
)
"""A sentence that says that the evidence does not answer."""

SOURCE = re.compile(
    r"""
      \s*(?:based\son|according\sto|as\s(?:stated|mentioned|described|shown|given)\sin|from|per
           |laut|gemäß|nach|basierend\sauf)\s[^,.:;\d]{0,60}?
        \b(?:information|context|text|documents?|passages?|paragraphs?|table|sources?|sections?|manual|excerpts?
            |kontext|dokument|angaben|informationen|tabelle|absatz|abschnitt|handbuch)\b[^,.:;\d]{0,60},\s*
    | \s*(?:根据|依据)[^,。、]{0,20},\s*
    | \s*(?:文脈|資料|文書|情報|本文)によると?、?\s*
    | \s*(?:وفقا|بناء|حسب)[^،.]{0,40}،\s*
    """,
    _FLAGS,
)
"""Where an answer says that it comes from, at the beginning of a sentence; no claim of its own."""

ANNOUNCEMENT_END = frozenset(":：")
QUESTION_END = frozenset("?？؟")

TALK_WORDS = words("context answer answers question passage excerpt kontext antwort antwortet frage textstelle")
"""Words about the conversation itself; they are no facts of an answer."""
