"""Japanese. Hiragana is grammar here: content is Han and Katakana runs, negation is at the end of its clause."""

import re

from .language import Language
from .words import words

JAPANESE = Language(
    code="ja",
    function_words=words(
        "場合 時 事 物 為 以下 何 何色 毎 毎分 毎時 毎秒 各 約 可能 必要 使用 質問 回答 次 等 的 下 上記 内"
    ),
    contrasts=frozenset(),
    negation_pattern=re.compile(
        r"てはいけ(?:ない|ません)|てはな(?:らない|りません)|ないで|ません|(?<![少危])ない|(?<![少危])なく|ずに|なし|無し|禁止|不可|せず"
    ),
    negation_idioms=re.compile(
        r"なければ(?:なら|いけ)(?:ない|ません|なりません)?|なければなりません|なくては(?:なら|いけ)(?:ない|ません)|"
        r"ないと(?:いけ|なら)(?:ない|ません)|かもしれ(?:ない|ません)|だけでなく|ではなく?ない"
    ),
)
