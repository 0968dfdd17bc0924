"""Which part of an answer the sent evidence supports: pure functions of texts, without models, I/O or settings.

`attribute` serves citation mode `attributed`, `resolve` mode `inline`, `extract` the backend without a model, and
`decide` the groundedness policy. All take the chunks as `SentChunk`, with the exact text that was in the prompt.
"""

from .attribution import Attribution, attribute
from .evidence import SentChunk, text_sha256
from .extractive import Extract, extract
from .inline import Resolved, resolve
from .policy import Decision, decide

__all__ = [
    "Attribution",
    "Decision",
    "Extract",
    "Resolved",
    "SentChunk",
    "attribute",
    "decide",
    "extract",
    "resolve",
    "text_sha256",
]
