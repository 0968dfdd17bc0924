"""A finished request as its ledger, with its texts or with none of them."""

import json

from steelyard_chatqna import ledgers
from steelyard_chatqna.answer import Draft
from steelyard_chatqna.conversation import Conversation
from steelyard_contracts.answers import Budget, Citation, Ledger, UnsupportedSpan
from steelyard_contracts.enums import CitationMode
from steelyard_contracts.ledger import Degradation, totals
from steelyard_runtime import context

from .fakes import QUESTION, SEAL, TEXTS, evidence, run

SECRETS = ("QUESTION-TEXT", "ANSWER-TEXT", "ORIGINAL-TEXT", "QUOTE-TEXT", "CLAIM-TEXT", "MISSING-TEXT", "DETAIL-TEXT")


def draft() -> Draft:
    found = evidence(
        question="QUESTION-TEXT", degraded=[Degradation(stage="reranker", reason="late", detail="DETAIL-TEXT")]
    )
    made = Draft("ledger-1", Conversation("", (), "QUESTION-TEXT"), found, CitationMode.ATTRIBUTED)
    made.text, made.original_text = "ANSWER-TEXT", "ORIGINAL-TEXT"
    made.citations = [
        Citation(
            marker=1,
            chunk_id="a",
            document_id="doc-a",
            source="SOURCE-a.md",
            title="TITLE-a",
            section="SECTION-a",
            char_start=10,
            char_end=50,
            sha256="0" * 64,
            quote="QUOTE-TEXT",
            quote_start=10,
            quote_end=20,
            answer_start=0,
            answer_end=11,
            support=1.0,
        )
    ]
    made.unsupported = [UnsupportedSpan(answer_start=0, answer_end=5, text="CLAIM-TEXT", missing=["MISSING-TEXT"])]
    made.budget = Budget(
        window=10, system=1, history=1, question=1, evidence=1, reserved=1, unused=5, tokenizer="llamacpp"
    )
    return made


def kept() -> Ledger:
    async def make() -> Ledger:
        context.current().timings_ms["llm"] = 12.3456
        return ledgers.of_draft(draft())

    return run(make)


def test_an_answers_ledger_has_all_of_it() -> None:
    made = kept()
    assert (made.ledger_id, made.request_id, made.question) == ("ledger-1", "req-1", "QUESTION-TEXT")
    assert (made.answer, made.original_answer) == ("ANSWER-TEXT", "ORIGINAL-TEXT")
    assert made.totals == totals(made.entries)
    assert [one.text for one in made.evidence] == list(TEXTS.values())
    assert made.timings_ms == {"llm": 12.3}
    assert made.settings["strategy"] == "adaptive"
    assert (made.outcome, made.policy_hash) == ("degraded", "policy")
    assert Ledger.model_validate_json(made.model_dump_json()) == made


def test_no_vector_is_kept() -> None:
    assert "chunk_embedding" not in json.dumps(kept().model_dump(mode="json", exclude_none=True))


def test_without_texts_there_is_no_text_anywhere() -> None:
    whole = kept().model_dump_json()
    for secret in (*SECRETS, *TEXTS.values(), "SOURCE-a", "TITLE-a", "SECTION-b", "SOURCE-c"):
        assert secret in whole, f"{secret} is not even in the ledger with texts"
    bare = ledgers.without_texts(kept()).model_dump_json()
    for secret in (*SECRETS, *TEXTS.values(), "SOURCE-", "TITLE-", "SECTION-"):
        assert secret not in bare


def test_without_texts_every_text_field_is_empty() -> None:
    """Any string that is left is an id, a hash, a name of a setting or an enum's value, none of which has a space."""

    def strings(value: object) -> list[str]:
        if isinstance(value, dict):
            return [text for item in value.values() for text in strings(item)]
        if isinstance(value, list):
            return [text for item in value for text in strings(item)]
        return [value] if isinstance(value, str) else []

    bare = ledgers.without_texts(kept()).model_dump(mode="json", exclude_none=True)
    assert [text for text in strings(bare) if " " in text] == []


def test_without_texts_ids_spans_and_numbers_stay() -> None:
    whole, bare = kept(), ledgers.without_texts(kept())
    assert bare.entries == whole.entries
    assert bare.totals == whole.totals
    assert bare.budget == whole.budget
    assert [one.chunk_id for one in bare.evidence] == ["a", "b", "c"]
    citation = bare.citations[0]
    assert (citation.quote_start, citation.quote_end, citation.document_id) == (10, 20, "doc-a")
    metadata = bare.evidence[0].metadata
    assert metadata is not None
    assert (metadata.document_id, metadata.char_start, metadata.char_end) == ("doc-a", 10, 10 + len(SEAL))
    assert Ledger.model_validate_json(bare.model_dump_json()) == bare


def test_a_ledger_without_an_answer_has_none() -> None:
    async def make() -> Ledger:
        return ledgers.of_evidence("x", evidence())

    made = run(make)
    assert (made.question, made.answer, made.original_answer, made.citations) == (QUESTION, None, None, [])
