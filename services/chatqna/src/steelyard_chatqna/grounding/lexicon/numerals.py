"""Numbers that are written as words. `one` and its relatives are left out: they are articles and pronouns as well."""

from decimal import Decimal

from .words import fold

_ENGLISH_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
_ENGLISH = "zero - two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen"  # noqa: E501 - one row from 0 to 19
_GERMAN = "null - zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn fünfzehn sechzehn siebzehn achtzehn neunzehn"  # noqa: E501 - one row from 0 to 19
_GERMAN_TENS = "zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig"
_ARABIC = "صفر - اثنان ثلاثة أربعة خمسة ستة سبعة ثمانية تسعة عشرة"
_ARABIC_FEMININE = "- - اثنين ثلاث أربع خمس ست سبع ثماني تسع عشر"


def _read() -> dict[str, Decimal]:
    table: dict[str, Decimal] = {}
    for row in (_ENGLISH, _GERMAN, _ARABIC, _ARABIC_FEMININE):
        table |= {fold(word): Decimal(value) for value, word in enumerate(row.split()) if word != "-"}
    table |= {
        fold(f"{word}einhalb"): Decimal(value) + Decimal("0.5")
        for value, word in enumerate(_GERMAN.split())
        if value > 1
    }
    table |= {fold("eineinhalb"): Decimal("1.5"), fold("anderthalb"): Decimal("1.5")}
    english_units = ["one", *_ENGLISH.split()[2:10]]
    german_units = ["ein", *_GERMAN.split()[2:10]]
    for position, (english, german) in enumerate(zip(_ENGLISH_TENS.split(), _GERMAN_TENS.split(), strict=True)):
        tens = 20 + 10 * position
        table |= {english: Decimal(tens), fold(german): Decimal(tens)}
        for unit in range(1, 10):
            table[f"{english}-{english_units[unit - 1]}"] = Decimal(tens + unit)
            table[fold(f"{german_units[unit - 1]}und{german}")] = Decimal(tens + unit)
    return table


VALUE_OF = _read()
"""Folded word to its value."""

MAGNITUDE_OF = {
    fold(word): Decimal(10) ** power
    for power, listed in (
        (2, "hundred hundert"),
        (3, "thousand tausend ألف آلاف 千"),
        (4, "万"),
        (6, "million millions mio million. millionen مليون ملايين"),
        (8, "億 亿"),
        (9, "billion billions mrd milliarde milliarden مليار"),
    )
    for word in listed.split()
}
"""Folded word behind a number to the factor that it stands for."""

HAN_DIGITS = {char: Decimal(value) for value, char in enumerate("〇一二三四五六七八九十")} | {"两": Decimal(2)}
"""A single Han numeral; it counts as a number only in front of a counter or a unit."""

HAN_COUNTERS = frozenset("個个つ台本年月日天時时分秒回度人名件次只枚か箇周週小升米公厘毫")
"""First character of what a Han numeral may count."""
