import pytest

from steelyard_chatqna.grounding.evidence import SentChunk, text_sha256
from steelyard_contracts.documents import CandidateMetadata


def metadata(**changes: object) -> CandidateMetadata:
    values: dict[str, object] = {"chunk_id": "c1", "document_id": "d", "revision": "r", "source": "s", "scope": "x"}
    values |= {"char_start": 100, "char_end": 103}
    return CandidateMetadata.model_validate(values | changes)


def test_the_hash_is_of_the_utf_8_bytes() -> None:
    assert text_sha256("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    assert SentChunk(1, "c", "ä").sha256 == text_sha256("ä") != text_sha256("a\u0308")


def test_a_bare_text_starts_at_zero_and_a_stored_one_where_it_stands() -> None:
    assert SentChunk(1, "c", "abc").char_start == 0
    assert SentChunk(1, "c1", "abc", metadata()).char_start == 100


@pytest.mark.parametrize(
    ("marker", "chunk_id", "text", "message"),
    [(0, "c1", "abc", "marker 0"), (1, "c2", "abc", "'c1'"), (1, "c1", "abcd", "4 characters but a span of 3")],
)
def test_evidence_that_can_not_be_proven_is_refused(marker: int, chunk_id: str, text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SentChunk(marker, chunk_id, text, metadata())
