import codecs

import pytest

from steelyard_dataprep.parsing.decoding import decode
from steelyard_dataprep.parsing.errors import UndecodableTextError

GERMAN = "Die Straßenbahn fährt über die Brücke. Für Kinder gelten ermäßigte Preise – täglich außer Sonntag. " * 4
JAPANESE = "東京都の図書館は午前九時に開館します。貸出は一人五冊まで、期間は二週間です。延滞にご注意ください。" * 4
ARABIC = "تفتح المكتبة أبوابها في الساعة التاسعة صباحا. يمكن استعارة خمسة كتب لمدة أسبوعين. " * 4


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
def test_byte_order_mark_decides(encoding: str, sample: str) -> None:
    decoded = decode("a.txt", ("\ufeff" + sample).encode(encoding))
    assert (decoded.text, decoded.encoding, decoded.notes) == (sample, encoding, ())


def test_utf8_needs_no_mark(sample: str) -> None:
    assert decode("a.txt", sample.encode()).text == sample


@pytest.mark.parametrize(
    ("text", "encoding"), [(GERMAN, "cp1252"), (JAPANESE, "shift_jis"), (ARABIC, "cp1256"), (JAPANESE, "euc_jp")]
)
def test_older_character_sets_are_inferred_and_noted(text: str, encoding: str) -> None:
    decoded = decode("a.txt", text.encode(encoding))
    assert decoded.text == text
    assert decoded.notes == (f"character set {decoded.encoding} was inferred from the bytes",)


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("text", ["Plain ASCII text.\nSecond line.", GERMAN, JAPANESE + "\n a b c\n" * 9])
def test_utf16_without_mark(text: str, encoding: str) -> None:
    decoded = decode("a.txt", text.encode(encoding))
    assert (decoded.text, decoded.encoding, decoded.inferred) == (text, encoding, True)


def test_declaration_is_used_where_utf8_does_not_fit() -> None:
    short = "größe".encode("latin-1")
    assert decode("a.html", short, "ISO-8859-1").encoding == "cp1252"
    assert decode("a.html", "größe".encode(), "ISO-8859-1").text == "größe"
    assert decode("a.html", "髙島屋".encode("cp932"), "Shift_JIS").text == "髙島屋"


@pytest.mark.parametrize("label", ["no-such-set", "hex", "rot13"])
def test_declarations_that_are_no_character_set_are_passed_over(label: str) -> None:
    assert decode("a.html", GERMAN.encode("cp1252"), label).text == GERMAN


def test_stray_nul_bytes_do_not_make_utf16() -> None:
    assert decode("a.log", b"a line\0 with a stray NUL, and some more text after it").encoding == "utf-8"


def test_a_large_file_is_judged_by_a_sample_and_decoded_whole() -> None:
    text = (JAPANESE + "\n") * 700
    data = text.encode("cp932")
    assert len(data) > 2 * 128 * 1024
    assert decode("a.txt", data).text == text


@pytest.mark.parametrize(
    "data",
    [bytes(range(256)) * 8, codecs.BOM_UTF16_LE + b"\x00\xd8a", codecs.BOM_UTF8 + b"\xff\xfe", b"\x00\x01\x02\x03" * 9],
)
def test_what_is_not_text_is_a_typed_error(data: bytes) -> None:
    with pytest.raises(UndecodableTextError, match=r"'odd\.txt'") as caught:
        decode("odd.txt", data)
    assert caught.value.code == "undecodable_text"


@pytest.mark.parametrize(
    ("text", "encoding", "read_as"),
    [
        ("Gewährleistung für Prüfgeräte über fünf Jahre", "latin-1", "cp1252"),
        ("Die Größe der Öffnung beträgt 5 mm – für Rückfragen: Büro. Preis 12 €.", "cp1252", "cp1252"),
        ("Café à la crème, déjà vu, garçon naïf, œuvre.", "cp1252", "cp1252"),
        ("El niño comió jamón; ¿cuántos años tiene Málaga?", "cp1252", "cp1252"),
        ("Volumen 3 m³, Fläche 4 m², Temperatur 20 °C", "latin-1", "cp1252"),
        ("Zażółć gęślą jaźń, wszystkie łodzie są żółte i łatwe do znalezienia.", "cp1250", "cp1250"),
        ("A szivattyú jótállása öt évre szól; a tömítésről később, egy külön füzetben esik szó.", "cp1250", "cp1250"),
        ("A garantia não cobre as vedações, nem as condições.", "cp1252", "cp1252"),
        ("Гарантия действует пять лет и покрывает насос.", "cp1251", "cp1251"),
        ("يجب الإبلاغ عن العيب خلال أربعة عشر يوما من اكتشافه", "cp1256", "cp1256"),
    ],
)
def test_accented_letters_are_not_taken_for_another_set_of_todays_or_of_dos(
    text: str, encoding: str, read_as: str
) -> None:
    decoded = decode("notes.txt", text.encode(encoding))
    assert (decoded.text, decoded.encoding, decoded.inferred) == (text, read_as, True)


RUSSIAN = "Гарантия действует пять лет и покрывает насос. В течение этого срока замена уплотнений бесплатна. " * 3


@pytest.mark.parametrize("encoding", ["iso8859_5", "cp1251", "koi8_r"])
def test_cyrillic_sets_are_told_apart_by_where_capitals_stand(encoding: str) -> None:
    decoded = decode("a.txt", RUSSIAN.encode(encoding))
    assert (decoded.text, decoded.encoding) == (RUSSIAN, encoding)


def test_a_cyrillic_set_of_dos_is_refused_and_not_misread() -> None:
    with pytest.raises(UndecodableTextError):
        decode("a.txt", RUSSIAN.encode("cp855"))


@pytest.mark.parametrize(
    ("text", "encoding"), [(JAPANESE, "iso2022_jp"), ("보증 기간은 오 년입니다. " * 4, "iso2022_kr")]
)
def test_escape_sequences_say_the_set_without_a_declaration(text: str, encoding: str) -> None:
    data = text.encode(encoding)
    assert data.isascii()
    decoded = decode("a.txt", data)
    assert (decoded.text, decoded.encoding, decoded.inferred) == (text, encoding, False)


def test_an_escape_sequence_of_a_terminal_is_no_character_set() -> None:
    assert decode("a.log", b"\x1b[31mred\x1b[0m $B").encoding == "utf-8"
