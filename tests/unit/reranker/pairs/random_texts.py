"""Random texts in many scripts, made from a seed, so that a failure can be repeated."""

import base64
import json
import random
from collections.abc import Callable

from .tiny_tokenizers import CORPUS

_ENGLISH = " ".join(CORPUS[:3]).split()
_EMOJI = ("😀", "👨\u200d👩\u200d👧", "🇩🇪", "🇫🇷", "👍🏽", "🏴\U000e0067\U000e0062\U000e007f", "e\u0301", "☺️")
_THAI = "การบำรุงรักษาปั๊มทุกเดือนตามคู่มือน้ำ"
_ARABIC = "الصِّيانة الدورية للمضخة مذكورة في الدليل ﷺ"


def _english(source: random.Random) -> str:
    return "".join(
        source.choice(_ENGLISH) + source.choice((" ", " ", "  ", "\n", "\r\n")) for _ in range(source.randrange(1, 80))
    )


def _chinese(source: random.Random) -> str:
    return "".join(chr(source.randrange(0x4E00, 0x9FA5)) for _ in range(source.randrange(1, 120)))


def _arabic(source: random.Random) -> str:
    return "".join(source.choice(_ARABIC) for _ in range(source.randrange(1, 160)))


def _thai(source: random.Random) -> str:
    return "".join(source.choice(_THAI) for _ in range(source.randrange(1, 160)))


def _json(source: random.Random) -> str:
    return json.dumps({f"k{source.random()}": source.choice(CORPUS) for _ in range(source.randrange(1, 4))})


def _base64(source: random.Random) -> str:
    return base64.b64encode(source.randbytes(source.randrange(1, 160))).decode()


def _emoji(source: random.Random) -> str:
    return "".join(source.choice(_EMOJI) for _ in range(source.randrange(1, 80)))


def _anything(source: random.Random) -> str:
    return "".join(
        chr(code)
        for code in (source.randrange(1, 0x11000) for _ in range(source.randrange(1, 120)))
        if not 0xD800 <= code < 0xE000
    )


SCRIPTS: tuple[Callable[[random.Random], str], ...] = (
    _english, _chinese, _arabic, _thai, _json, _base64, _emoji, _anything,
)  # fmt: skip


def random_text(source: random.Random, script: Callable[[random.Random], str] | None = None) -> str:
    """A text of `script`, or of any; at times with one of another behind it. It is never blank."""
    text = "x" * source.randrange(2) + (script or source.choice(SCRIPTS))(source)
    if source.random() < 0.3:
        text += source.choice(("", " ", "\u200d", "\u0301", "\n\n")) + source.choice(SCRIPTS)(source)
    return text if text.strip() else "x"
