"""Sentences that claim nothing about the evidence: courtesies, announcements, and saying that it is not there."""

import re

from .words import words

COURTESY = re.compile(
    r"\s*(?:[-*#>]\s*)*(?:"
    r"sure|of course|certainly|absolutely|great question|good question|thanks?(?: you)?|you(?:'|’)re welcome|hello|hi|"
    r"i hope|hope this|let me know|feel free|please let me|is there anything|if you (?:have|need) (?:any|more|further)|"
    r"here (?:is|are)|here's|the answer is as follows|"
    r"gern(?:e)?|natürlich|selbstverständlich|hallo|ich hoffe|hier (?:ist|sind)|falls sie (?:weitere|noch)|bei weiteren|"
    r"はい[、,]?(?:承知|もちろん)|もちろん|承知|お役に立|他に(?:ご質問|何か)|以下(?:に|の(?:通り|とおり))|"
    r"当然|好的|希望(?:这|以上)|以下是|如下|如果您?(?:还有|需要)|"
    r"بالتأكيد|بالطبع|مرحبا|آمل|إليك|فيما يلي"
    r")(?![^\W\d_\u3040-\u30ff\u3400-\u9fff])",
    re.IGNORECASE,
)
"""How a courtesy or an announcement begins."""

REFUSAL = re.compile(
    r"\bi (?:do not|don(?:'|’)t|cannot|can(?:'|’)t|am not|am unable|could not|couldn(?:'|’)t) (?:know|have|find|answer|say|"
    r"determine|tell|sure|able)|"
    r"\b(?:context|text|document|documents|passage|source|sources|information|excerpt|manual|evidence)\b[^.!?]{0,40}?"
    r"\b(?:does not|do not|doesn(?:'|’)t|don(?:'|’)t|did not) (?:\w+ )?(?:say|mention|specify|provide|contain|include|state|tell|"
    r"give|describe|explain|indicate|answer)|"
    r"\bno (?:\w+ )?(?:information|mention|details?)\b|"
    r"\bnot (?:\w+ )?(?:mentioned|specified|stated|indicated|disclosed)\b|"
    r"\bnot (?:\w+ )?(?:available|found|given|provided|included|contained|described|listed) (?:in|by) "
    r"(?:the|this|these|any) (?:\w+ )?(?:context|text|documents?|passages?|information|sources?|excerpts?)|"
    r"\bcannot be (?:determined|answered)|"
    r"\b(?:ich weiß (?:es )?nicht|keine (?:\w+ )?(?:angaben?|informationen|information|hinweise?)|"
    r"nicht (?:\w+ )?(?:erwähnt|angegeben|genannt|beantwort\w+|ersichtlich)|"
    r"nicht im (?:kontext|text|dokument) |im (?:kontext|text|dokument) (?:\w+ )?nicht enthalten)|"
    r"(?:記載|情報|言及|説明)[はがも]?(?:され|あり|含まれ|見つかり)?[^。]{0,6}(?:ません|ない)|(?:分|わ)かり(?:かね)?ません|不明です|"
    r"(?:没有|未)(?:提到|提及|说明|提供|找到|给出|包含)|不知道|无法(?:确定|回答|得知)|"
    r"(?:لا|لم) (?:يذكر|تذكر|يتضمن|يحتوي|يرد|يحدد|توجد معلومات)|لا أعرف|لا أعلم|غير مذكور|غير محدد",
    re.IGNORECASE,
)
"""A sentence that says that the evidence does not answer."""

ANNOUNCEMENT_END = ":："
QUESTION_END = "?？؟"

TALK_WORDS = words("context answer answers question passage excerpt kontext antwort antwortet frage textstelle")
"""Words about the conversation itself; they are no facts of an answer."""
