"""Inspection with tokenizers that the tests build: counts, partial loss, and everything that must fail loudly."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from steelyard_evidence.errors import InputError, NoOffsetsError, PairLimitError, SpanError
from steelyard_evidence.survival import PairEncoder, TruncationStrategy, inspect
from steelyard_evidence.survival.inspection import kept_spans
from steelyard_evidence.textfile import read_text
from tests.unit.evidence.tiny_tokenizers import word_tokenizer

SECOND = TruncationStrategy.ONLY_SECOND
TEXT = "one two three four five six"


@pytest.fixture
def encoder(tmp_path: Path) -> PairEncoder:
    return PairEncoder(word_tokenizer(tmp_path, TEXT + " which"))


def span(part: str, text: str = TEXT) -> tuple[int, int]:
    return text.index(part), text.index(part) + len(part)


def test_baked_in_truncation_and_padding_are_off(encoder: PairEncoder) -> None:
    assert len(encoder.encode("which", TEXT)) == 1 + 6 + 3
    assert len(encoder.encode("which", "one")) == 5


@pytest.mark.parametrize(
    ("limit", "kept", "spans"),
    [(10, 2, ((0, 27),)), (9, 2, ((0, 23),)), (7, 1, ((0, 13),)), (6, 0, ((0, 7),))],
)
def test_full_partial_and_lost(encoder: PairEncoder, limit: int, kept: int, spans: object) -> None:
    found = inspect(encoder, "which", TEXT, span("three four"), limit, SECOND)
    assert (found.target, found.kept, found.full, found.partial) == (2, kept, kept == 2, kept == 1)
    assert found.kept_spans == spans
    assert found.pair_tokens == 10


def test_a_token_counts_when_the_evidence_touches_it(encoder: PairEncoder) -> None:
    found = inspect(encoder, "which", TEXT, (10, 11), 10, SECOND)
    assert found.target == 1


def test_json_has_exactly_the_published_keys(encoder: PairEncoder) -> None:
    found = inspect(encoder, "which", TEXT, span("five"), 8, SECOND).as_json()
    assert list(found) == ["pair_tokens", "query_tokens", "target", "kept", "full", "partial", "kept_spans"]
    assert found["kept_spans"] == [[0, 18]]


@pytest.mark.parametrize(
    ("evidence", "said"),
    [((5, 5), "no span"), ((0, 28), "no span"), ((-1, 3), "no span"), ((6, 4), "no span"), ((3, 4), "is blank")],
)
def test_a_span_that_holds_nothing_is_refused(encoder: PairEncoder, evidence: tuple[int, int], said: str) -> None:
    with pytest.raises(SpanError, match=said):
        inspect(encoder, "which", TEXT, evidence, 10, SECOND)


def test_evidence_that_no_token_shows_is_no_survival(encoder: PairEncoder) -> None:
    text = "one \u0301 two"  # a mark alone is no word, so the pre-tokenizer gives it its own [UNK]
    assert inspect(encoder, "which", text, (4, 5), 10, SECOND).target == 1
    with pytest.raises(NoOffsetsError, match="no token has an offset"):
        _Blind(encoder).inspect(text)


@pytest.mark.parametrize("limit", [1, 3])
def test_a_limit_without_room_is_refused(encoder: PairEncoder, limit: int) -> None:
    with pytest.raises(PairLimitError):
        inspect(encoder, "which", TEXT, span("one"), limit, SECOND)


def test_a_query_longer_than_the_limit_is_refused(encoder: PairEncoder) -> None:
    with pytest.raises(PairLimitError, match="only_second can not bring the pair to 8"):
        inspect(encoder, "which " * 9, TEXT, span("one"), 8, SECOND)


@dataclass
class _Encoding:
    """What a tokenizer without offsets or sequence ids answers."""

    offsets: list[tuple[int, int]]
    sequence_ids: list[int | None]

    @property
    def ids(self) -> list[int]:
        return [7] * len(self.offsets)

    @property
    def attention_mask(self) -> list[int]:
        return [1] * len(self.offsets)


class _Tokenizer:
    def __init__(self, encoding: _Encoding) -> None:
        self._encoding = encoding

    def encode(self, query: str, document: str) -> _Encoding:
        return self._encoding


class _Blind:
    """An encoder whose tokenizer leaves the middle of the text out."""

    def __init__(self, encoder: PairEncoder) -> None:
        encoder._whole = _Tokenizer(_Encoding([(0, 3), (0, 3), (6, 9)], [0, 1, 1]))  # type: ignore[assignment]
        self._encoder = encoder

    def inspect(self, text: str) -> None:
        inspect(self._encoder, "which", text, (4, 5), 10, SECOND)


@pytest.mark.parametrize(
    ("encoding", "said"),
    [
        (_Encoding([(0, 0), (0, 0)], [0, 1]), "no offsets"),
        (_Encoding([(0, 3), (0, 3)], [None, None]), "no sequence ids"),
        (_Encoding([(0, 3), (0, 99)], [0, 1]), "outside of the document"),
    ],
)
def test_missing_offsets_are_a_failure(encoder: PairEncoder, encoding: _Encoding, said: str) -> None:
    encoder._whole = _Tokenizer(encoding)  # type: ignore[assignment]
    with pytest.raises(NoOffsetsError, match=said):
        inspect(encoder, "which", TEXT, span("one"), 10, SECOND)


def test_kept_spans_are_runs_of_neighbouring_tokens() -> None:
    whole = ((0, 3), (4, 7), (7, 7), (8, 13), (14, 18))
    assert kept_spans(whole, ((0, 3), (4, 7), (14, 18))) == ((0, 7), (14, 18))
    assert kept_spans(whole, ()) == ()


def test_what_is_no_tokenizer_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="No such file"):
        PairEncoder(tmp_path / "absent.json")
    (tmp_path / "broken.json").write_text("{}")
    with pytest.raises(InputError, match=r"is no tokenizer\.json"):
        PairEncoder(tmp_path / "broken.json")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_files_are_read_by_their_mark_and_keep_their_line_ends(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "text.txt"
    path.write_bytes("Größe\r\n漢字 🙂\r".encode(encoding))
    assert read_text(path) == "Größe\r\n漢字 🙂\r"


def test_another_encoding_must_be_named(tmp_path: Path) -> None:
    path = tmp_path / "text.txt"
    path.write_bytes("Größe".encode("cp1252"))
    with pytest.raises(InputError, match="byte 2 is not utf-8"):
        read_text(path)
    assert read_text(path, "cp1252") == "Größe"
    with pytest.raises(InputError, match="no encoding 'nonsense'"):
        read_text(path, "nonsense")
