"""A text to be judged, with the identity that it keeps however it is cut."""

from dataclasses import dataclass

from steelyard_contracts.documents import CandidateMetadata


@dataclass(frozen=True, slots=True)
class Passage:
    """One candidate's text. `metadata` says which document, revision, section and scope it is from, where known."""

    chunk_id: str
    text: str
    metadata: CandidateMetadata | None = None

    def document_span(self, start: int, end: int) -> tuple[int, int] | None:
        """A span of the text as one of the document's; None when the text is not the document's own at its place."""
        found = self.metadata
        if found is None or found.char_end - found.char_start != len(self.text):
            return None
        return found.char_start + start, found.char_start + end
