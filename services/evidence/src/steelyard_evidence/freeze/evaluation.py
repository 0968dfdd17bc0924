"""The evaluation data as a data set and its texts."""

from collections.abc import Iterator

from steelyard_dataprep.chunking.counter import TokenCounter

from ..evaluation.collection import Collection, Question
from ..evaluation.datasets import cut
from ..manifest.form import text_sha256
from ..tell import Progress, silent
from .dataset import AnnotatedQuery, Evidence
from .local_index import IndexedText

_FEW_DOCUMENTS = 10
"""Up to so many, each one's questions are a segment."""


def texts_of(
    collection: Collection, count_tokens: TokenCounter, chunk_tokens: int, on_documents: Progress = silent
) -> Iterator[IndexedText]:
    """Yield the collection's documents in texts of at most `chunk_tokens`."""
    for number, (name, text) in enumerate(collection.documents.items(), start=1):
        revision = text_sha256(text)
        for one in cut(name, text, count_tokens, chunk_tokens):
            yield IndexedText(one.document, revision, one.start, one.end, one.text)
        on_documents(number, len(collection.documents))


def queries_of(collection: Collection, count: int) -> list[AnnotatedQuery]:
    """Questions at even distances through the collection; where documents are few, each one's are a segment."""
    step = max(1, len(collection.questions) // count)
    chosen = collection.questions[::step][:count]
    return [_annotated(collection, question) for question in chosen]


def _annotated(collection: Collection, question: Question) -> AnnotatedQuery:
    segment = question.gold[0].document if len(collection.documents) <= _FEW_DOCUMENTS else collection.name
    return AnnotatedQuery(
        id=f"{collection.name}-{question.number}",
        query=question.text,
        segment=segment,
        evidence=[_evidence(collection, span.document, span.start, span.end) for span in question.gold],
    )


def _evidence(collection: Collection, document: str, start: int, end: int) -> Evidence:
    text = collection.documents[document]
    first, last = trimmed(text, start, end)
    return Evidence(document=document, start=first, end=last)


def trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    """A span without the white space at its ends."""
    whole = text[start:end]
    return start + len(whole) - len(whole.lstrip()), end - len(whole) + len(whole.rstrip())
