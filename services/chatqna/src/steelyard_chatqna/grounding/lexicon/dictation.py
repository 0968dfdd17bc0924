"""Where a text tells its reader what to answer: what it has him say is nothing that it says itself."""

import re

from .words import folded

SAYING = folded(
    """
    reply respond answer say write output return repeat tell end begin start finish
    antworte antworten erwidere erwidern sag sage sagen schreib schreibe schreiben wiederhole wiederholen nenne nennen
    gib geben ответь ответьте отвечай отвечайте напиши напишите скажи скажите أجب أجيبوا اكتب اكتبوا قل قولوا
    """
)
"""The verbs of `DICTATION` that stand between spaces: a sentence without any need not be searched for it."""

_FLAGS = re.IGNORECASE | re.VERBOSE

DICTATION = re.compile(
    r"""
    (?: ^ | (?<=[.:;,!?("'“„«\-–—>*]) | (?<=[.:;,!?("'“„«\-–—>*]\s)
      | \b(?:and | then | always | only | just | please | must | should | now | instead
            | und | dann | immer | nur | bitte | stets)\s )
    (?: (?:reply | respond | answer)\b (?:\s+[\w-]+){0,5}? \s+ (?:with | that | only)\b
      | (?:say | write)\b (?:\s+[\w-]+){0,4}? \s+ (?:that | only)\b
      | (?:reply | respond | answer | say | write | output | return | repeat)\b
        (?:\s+(?:only | just | exactly | always | simply | at | in | to | the | this | these)\b (?:\s+[\w-]+){0,6}?)?
        \s* [:"'“‘«]
      | tell\s+ (?:[\w-]+\s+){1,4}? (?:that | to)\b
      | (?:end | begin | start | finish)\s+(?:your | the | every | each | all)\s+
        (?:answer | reply | response | message)s?\s+with\b
      | (?:antworten? | erwidern?)\b (?:\s+[\w-]+){0,5}? \s* (?: \b(?:mit | dass)\b | [:"„“»] )
      | (?:sagen? | sag | schreiben? | schreib | wiederholen? | nennen?)\b (?:\s+[\w-]+){0,6}? \s*
        (?: \bdass\b | [:"„“»] )
      | (?:gib | geben\ssie)\b [^.!?]{1,80}? \baus\b
      | (?:ответь | отвечай | напиши | скажи)(?:те)? \s (?:\w+\s){0,4}?
        (?: (?:только | что | словом | фразой)\b | [:«"„] )
      | (?:أجب | أجيبوا | اكتب | اكتبوا | قل | قولوا)\s (?:دائما\s | فقط\s){0,2} (?: ب | أن\b | إن\b | [:«"“] )
    )
    | (?: 请 | 只 | 仅 | 必须 | 始终 | 一律 | 都 )[^。，,]{0,6}? (?: 回答 | 回复 | 答复 | 输出 ) \s* [:：“"「『]?
    | (?P<before> (?: [「『][^」』]{1,80}[」』]と(?:だけ|のみ)? | [^。、]{1,30}と(?:だけ|のみ) ) \s*
        (?: 答え | 回答し | 返答し | 返信し | 出力し | 言っ | 書い ) (?: て | なさい | ろ | ること ) )
    """,
    _FLAGS,
)
"""The imperative of a verb of saying, with what introduces the words; in Japanese those stand `before` it."""

ADDRESS = re.compile(
    r"""
      \b(?:ignore | disregard | forget)\s+(?:\w+\s+){0,4}?(?:instructions? | prompts? | questions?)\b
    | \b(?:system | assistants? | chatbots? | language\smodels? | (?:ai|llm)(?:\s(?:assistants? | models?))?)\s*[:,]
    | \b(?:note | message | instructions?)\s(?:to | for)\s(?:the\s | any\s | all\s)?
      (?:assistants? | chatbots? | ai\b | llm | model)
    | \b(?:ignorieren? | vergiss | vergessen)\s[^.!?]{0,40}?(?:anweisung | vorgabe | frage)
    | \b(?:assistent(?:en)? | chatbots? | ki(?:-\w+)? | sprachmodelle?)\s*:
    | (?: これまで | 以前 | 上記 )[^。]{0,4}(?: 指示 | 命令 )[^。]{0,4}(?: 無視 | 忘れ )
    | 忽略[^。]{0,8}(?: 指令 | 指示 | 说明 | 提示 )
    | تجاهل[^.]{0,20}(?: التعليمات | الأوامر )
    | игнорируй(?:те)?\s[^.]{0,30}(?: инструкци | указани )
    """,
    _FLAGS,
)
"""Where a text speaks to the model that reads it, and not to a person."""
