"""OpenInference's names for what a stage of retrieval took and gave: ids, scores, counts and models, never a text."""

from collections.abc import Iterable, Mapping

from .spans import Attributes

MOST_DOCUMENTS = 100
"""Documents of one list that a span names; `steelyard.<list>` has how many there were."""


def retrieved(documents: Mapping[str, float | None]) -> Attributes:
    """What a retriever found: scores by id, the best first."""
    return _documents("retrieval.documents", documents.items()) | {"steelyard.retrieved": len(documents)}


def reranked(
    given: Mapping[str, float | None], kept: Mapping[str, float | None], *, model: str, top_k: int | None
) -> Attributes:
    """What a reranker got, with the scores that it came with, and what it kept, with its own."""
    named: dict[str, str | int | float] = {
        **_documents("reranker.input_documents", given.items()),
        **_documents("reranker.output_documents", kept.items()),
        "reranker.model_name": model,
        "steelyard.reranker_input": len(given),
        "steelyard.reranker_output": len(kept),
    }
    return named if top_k is None else named | {"reranker.top_k": top_k}


def embedded(model: str, texts: int, tokens: int) -> Attributes:
    """What an embedding model read."""
    return {"embedding.model_name": model, "steelyard.texts": texts, "llm.token_count.prompt": tokens}


def generated(usage: Mapping[str, int]) -> Attributes:
    """What a language model counted; `usage` is OpenAI's."""
    return {
        f"llm.token_count.{name.removesuffix('_tokens')}": count
        for name, count in usage.items()
        if name.endswith("_tokens")
    }


def _documents(prefix: str, documents: Iterable[tuple[str, float | None]]) -> dict[str, str | int | float]:
    named: dict[str, str | int | float] = {}
    for number, (name, score) in enumerate(documents):
        if number == MOST_DOCUMENTS:
            break
        named[f"{prefix}.{number}.document.id"] = name
        if score is not None:
            named[f"{prefix}.{number}.document.score"] = score
    return named
