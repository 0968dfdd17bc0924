"""The names of what stages took and gave, and their bound."""

from steelyard_runtime.tracing import export, openinference
from steelyard_runtime.tracing.openinference import MOST_DOCUMENTS


def test_documents_are_named_in_order_by_id_and_score_and_zero_is_a_score() -> None:
    assert openinference.retrieved({"b": 0.0, "a": None}) == {
        "retrieval.documents.0.document.id": "b",
        "retrieval.documents.0.document.score": 0.0,
        "retrieval.documents.1.document.id": "a",
        "steelyard.retrieved": 2,
    }


def test_a_span_names_so_many_documents_and_says_how_many_there_were() -> None:
    many = {f"c{number}": 0.5 for number in range(MOST_DOCUMENTS + 1)}
    found = openinference.reranked(many, many, model="m", top_k=3)
    assert found["steelyard.reranker_input"] == MOST_DOCUMENTS + 1
    assert f"reranker.output_documents.{MOST_DOCUMENTS - 1}.document.score" in found
    assert f"reranker.output_documents.{MOST_DOCUMENTS}.document.id" not in found
    assert len(found) < export._ATTRIBUTES


def test_a_models_counts_have_openinferences_names() -> None:
    usage = {"prompt_tokens": 7, "completion_tokens": 0, "total_tokens": 7}
    assert openinference.generated(usage) == {
        "llm.token_count.prompt": 7,
        "llm.token_count.completion": 0,
        "llm.token_count.total": 7,
    }
    assert "reranker.top_k" not in openinference.reranked({}, {}, model="m", top_k=None)
    assert openinference.embedded("m", 2, 9)["llm.token_count.prompt"] == 9
