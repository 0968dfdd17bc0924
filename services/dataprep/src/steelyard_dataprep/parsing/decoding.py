"""Bytes to text, without guessing where the answer can be known."""

from __future__ import annotations

import codecs
import re
import unicodedata
from dataclasses import dataclass

import regex

from steelyard_dataprep.parsing.errors import UndecodableTextError

# UTF-32's little-endian mark begins with UTF-16's, so it is looked for first.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# Labels that are used for a larger set than they name; the supersets follow the WHATWG Encoding Standard.
_SUPERSETS = {"iso8859-1": "cp1252", "ascii": "cp1252", "shift_jis": "cp932", "gb2312": "gb18030", "gbk": "gb18030"}
_SAMPLE_BYTES = 128 * 1024
# What documents of today are written in. The sets of DOS and of mainframes are left out: a few accented letters fit
# them as well, and "Gewährleistung" would become "Gewõhrleistung".
_STATISTICAL = (
    *("cp1252", "cp1250", "cp1251", "cp1253", "cp1254", "cp1255", "cp1256", "cp1257", "cp1258", "cp874", "koi8_r"),
    *("iso8859_5", "cp932", "euc_jp", "gb18030", "big5", "euc_kr"),
)
_WESTERN_SYMBOLS = "€„“”‚‘’‹›«»–—…§°²³µ©®™·•½¼¾±×÷¡¿ªº´¨\xa0"
_WESTERN_CHARACTERS = (
    frozenset(map(chr, range(0x20, 0x7F)))
    | frozenset("\t\n\r\f" + _WESTERN_SYMBOLS)
    | frozenset("äöüßÄÖÜàâæçéèêëîïôœùûÀÂÆÇÉÈÊËÎÏÔŒÙÛáíóúñÁÍÓÚÑìòÌÒãõÃÕåøÅØ")
)
# Sets that are ASCII on the wire and switch by escape sequences, so that they are valid UTF-8 too.
_SHIFTED = (
    (re.compile(rb"\x1b\$(?:[@B]|\([DO-Q])"), ("iso2022_jp", "iso2022_jp_2", "iso2022_jp_2004", "iso2022_jp_ext")),
    (re.compile(rb"\x1b\$\)C"), ("iso2022_kr",)),
)
# No script with capitals has them in the middle of every third word: such text was written in another set.
_CAPITAL_INSIDE_A_WORD = regex.compile(r"(?V1)[\p{Ll}--[a-z]][\p{Lu}--[A-Z]]")
_MOST_CAPITALS_INSIDE = 0.03
_SYMBOL_INSIDE_A_WORD = re.compile(r"[^\W\d_][€„“”‚‹›§°²³µ©®™•½¼¾±×÷¡¿ªº´¨][^\W\d_]")


@dataclass(frozen=True, slots=True)
class Decoded:
    """The text, the character set it was read with, and whether that set was only inferred from the bytes."""

    text: str
    encoding: str
    inferred: bool = False

    @property
    def notes(self) -> tuple[str, ...]:
        """One sentence if the character set was inferred, else nothing."""
        return (f"character set {self.encoding} was inferred from the bytes",) if self.inferred else ()


def decode(name: str, data: bytes, declared: str | None = None) -> Decoded:
    """Decode `data`: mark, escape sequences, UTF-8, the `declared` character set, UTF-16 without mark, statistics.

    UTF-8 is tried before a declaration because text in another set is almost never valid UTF-8, while stale
    declarations are common. Decoding is always strict: no replacement characters enter the store.

    Raises UndecodableTextError if nothing fits.
    """
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            text = _strict(data[len(mark) :], encoding)
            if text is None:
                raise UndecodableTextError(name, f"begins with a mark for {encoding} but is not valid {encoding}")
            return Decoded(text, encoding)
    shifted = _shifted(data)
    if shifted is not None:
        return shifted
    text = _strict(data, "utf-8")
    # ASCII in UTF-16 is valid UTF-8 too, with every second byte NUL.
    if text is not None and data.count(0) * 20 <= len(data):
        return Decoded(text, "utf-8")
    if declared is not None:
        superset = _superset(declared)
        text = _strict(data, superset) if superset is not None else None
        if superset is not None and text is not None:
            return Decoded(text, superset)
    if 0 in data:
        return _unmarked_utf16(name, data)
    return _by_statistics(name, data)


def _strict(data: bytes, encoding: str) -> str | None:
    try:
        return data.decode(encoding)
    except UnicodeDecodeError:
        return None


def _shifted(data: bytes) -> Decoded | None:
    for sequence, encodings in _SHIFTED:
        if sequence.search(data):
            for encoding in encodings:
                text = _strict(data, encoding)
                if text is not None:
                    return Decoded(text, encoding)
    return None


def _superset(label: str) -> str | None:
    try:
        # Decoding refuses codecs such as hex and rot13, which a look-up would find.
        b"a".decode(label, "replace")
    except LookupError:
        return None
    name = codecs.lookup(label).name
    return _SUPERSETS.get(name, name)


def _unmarked_utf16(name: str, data: bytes) -> Decoded:
    even, odd = data[0::2].count(0), data[1::2].count(0)
    encoding = "utf-16-le" if odd > even else "utf-16-be"
    text = _strict(data, encoding)
    if text is None or min(even, odd) * 4 > max(even, odd) or not _reads_as_text(text):
        raise UndecodableTextError(name, "is binary: it holds NUL bytes and is not UTF-16")
    return Decoded(text, encoding, inferred=True)


def _reads_as_text(text: str) -> bool:
    sample = text[:65536]
    odd = sum(unicodedata.category(char) in {"Cc", "Cn", "Co", "Cs"} and char not in "\t\n\r\f" for char in sample)
    return odd * 100 <= len(sample)


def _reads_as_words(text: str) -> bool:
    sample = text[:65536]
    letters = sum(char.isalpha() and not char.isascii() for char in sample)
    return len(_CAPITAL_INSIDE_A_WORD.findall(sample)) <= _MOST_CAPITALS_INSIDE * max(letters, 1)


def _western(data: bytes) -> str | None:
    """The text if it is plainly of a Western European language in cp1252, else None.

    Statistics can not tell cp1252 from its neighbours by a few accented letters. Here every character beyond ASCII has
    to be one that these languages use, and be as rare among the letters as it is there.
    """
    text = _strict(data, "cp1252")
    if text is None or not set(text) <= _WESTERN_CHARACTERS or _SYMBOL_INSIDE_A_WORD.search(text):
        return None
    if "õ" in text and "ã" not in text:
        # Portuguese has both. The Hungarian letter with two strokes stands at the same place in cp1250.
        return None
    letters = sum(char.isalpha() for char in text)
    accented = sum(char.isalpha() and not char.isascii() for char in text)
    return text if accented * 4 <= letters else None


def _by_statistics(name: str, data: bytes) -> Decoded:
    western = _western(data)
    if western is not None:
        return Decoded(western, "cp1252", inferred=True)
    # Imported here: most files are UTF-8, and the import costs more than parsing them.
    from charset_normalizer import from_bytes

    sample = data[:_SAMPLE_BYTES]
    if len(data) > _SAMPLE_BYTES:
        # A sample that ends inside a multi-byte character would rule its character set out.
        sample = sample[: max(sample.rfind(b"\n"), sample.rfind(b" ")) + 1] or sample
    for match in from_bytes(sample, cp_isolation=list(_STATISTICAL)):
        text = _strict(data, match.encoding)
        if text is not None and _reads_as_text(text) and _reads_as_words(text):
            return Decoded(text, match.encoding, inferred=True)
    raise UndecodableTextError(name, "no character set gives text for its bytes; convert it to UTF-8")
