"""What a model thinks aloud before its answer is not judged, cited or shown, however its text was cut into pieces."""

import random

import pytest

from steelyard_chatqna.llm.client import Delta
from steelyard_chatqna.thinking import ThinkingFilter

from .fakes import SEAL, FakeLlm, words
from .test_chatqna_answer import answered

THOUGHT = "<think>\nThe pump may be black. It was made in 1987.\n</think>\n\n"


def filtered(*pieces: str) -> tuple[str, str]:
    one = ThinkingFilter()
    shown = "".join([*map(one.feed, pieces), one.finish()])
    return one.taken, shown


@pytest.mark.parametrize(
    ("taken", "shown"),
    [
        (THOUGHT, "Yes."),
        (" \n<thinking>a</think>b</thinking> ", "Yes."),
        ("<think>a <think> b</think>", "Yes. </think>"),
        ("<think></think>", "<think>Yes.</think>"),
        ("\n</think>\n", "Yes."),
        ("<think>never ended </think", ""),
        ("<think>only thought</think>\n", ""),
        ("", "It is thought.</think> Yes."),
        ("", "Write <think>x</think> around it."),
        ("", "<thin"),
        ("", "<thinker>x</thinker>"),
        ("", "<b>x</b>"),
        ("", " \n"),
        ("", "  Yes.\n"),
        ("", ""),
    ],
)
def test_only_a_block_at_the_start_is_taken_out(taken: str, shown: str) -> None:
    assert filtered(taken + shown) == (taken, shown)


PIECES = ["<", "</", "think", "thinking", "ing", ">", "<think>", "</think>", "</thinking>", " ", "\n", "x", "é"]


def test_however_it_is_cut_the_same_comes_out_and_nothing_is_lost() -> None:
    """10,000 random texts, each cut at random."""
    chance = random.Random(11)
    for _ in range(10_000):
        text = "".join(chance.choice(PIECES) for _ in range(chance.randint(1, 12)))
        cuts = sorted(chance.choices(range(len(text) + 1), k=5))
        one, shown = ThinkingFilter(), ""
        for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True):
            shown += one.feed(text[start:end])
            assert one.taken + shown == text[:end], (text, cuts)
        shown += one.finish()
        assert (one.taken, shown) == filtered(text), (text, cuts)


def test_plain_words_are_not_held_back() -> None:
    one = ThinkingFilter()
    said = words("The bolts are <think> tightened to 35 Nm.")
    assert [one.feed(word) for word in said] == said


@pytest.mark.parametrize("mode", ["attributed", "inline"])
@pytest.mark.parametrize("policy", ["flag", "abstain"])
def test_the_answer_after_it_is_judged_alone(policy: str, mode: str) -> None:
    said = THOUGHT + SEAL + (" [1]" if mode == "inline" else "")
    draft, shown = answered(FakeLlm(list(said)), groundedness_policy=policy, citation_mode=mode)
    assert "".join(shown) == draft.text == said.removeprefix(THOUGHT)
    assert (draft.abstained, draft.original_text, draft.unsupported) == (None, said, [])
    assert draft.citations
    assert all(citation.answer_end <= len(draft.text) for citation in draft.citations)


@pytest.mark.parametrize("said", [THOUGHT, THOUGHT.partition("</think>")[0]])
def test_an_answer_that_is_nothing_but_thinking_is_none(said: str) -> None:
    llm = FakeLlm([*said, [Delta("", "length")]])
    draft, shown = answered(llm, no_evidence_answer="None.", groundedness_policy="flag")
    assert shown == ["None."]
    assert (draft.abstained, draft.original_text, draft.finish_reason) == ("empty_answer", said, "length")


def test_what_only_looked_like_the_beginning_of_a_block_is_shown() -> None:
    draft, shown = answered(FakeLlm([" <thi"]), groundedness_policy="flag")
    assert shown == [" <thi"]
    assert (draft.abstained, draft.original_text) == (None, None)
