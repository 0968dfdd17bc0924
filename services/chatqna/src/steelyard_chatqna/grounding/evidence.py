"""The chunks that were in the prompt, as the grounding functions see them."""

from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256

from steelyard_contracts.documents import CandidateMetadata

from ..inert import inert


def text_sha256(text: str) -> str:
    """Return the lower-case hexadecimal SHA-256 of the UTF-8 bytes of `text`.

    Raises UnicodeEncodeError for a lone surrogate: such a text can not have been in a prompt.
    """
    return sha256(text.encode("utf-8")).hexdigest()


@dataclass(frozen=True)
class SentChunk:
    """One chunk of the prompt: `marker` is its 1-based position there, `text` the stored text.

    The model was shown its inert copy, which differs only where the text holds control tokens of chat templates, and
    above it the `label`: what that says supports an answer as well, but there is no span of the text to quote for it.

    Without `metadata` (a caller that sent bare texts) the chunk counts as its own document, starting at 0.

    Raises ValueError when the marker is not positive, or when the metadata belongs to another chunk or has a span of
    another length than the text: a quote could then not be found again in the stored document.
    """

    marker: int
    chunk_id: str
    text: str
    metadata: CandidateMetadata | None = None
    label: str = ""

    def __post_init__(self) -> None:
        if self.marker < 1:
            raise ValueError(f"marker {self.marker} of chunk {self.chunk_id!r} is not positive")
        if self.metadata is None:
            return
        if self.metadata.chunk_id != self.chunk_id:
            raise ValueError(f"chunk {self.chunk_id!r} came with the metadata of chunk {self.metadata.chunk_id!r}")
        span = self.metadata.char_end - self.metadata.char_start
        if span != len(self.text):
            raise ValueError(f"chunk {self.chunk_id!r} has {len(self.text)} characters but a span of {span}")

    @cached_property
    def sha256(self) -> str:
        """The hash of the text as it stood in the prompt."""
        return text_sha256(inert(self.text))

    @property
    def char_start(self) -> int:
        """Where the text begins in the stored document, in code points."""
        return 0 if self.metadata is None else self.metadata.char_start
