"""What is shown of a growing answer: nothing that will be replaced, and in the end exactly the verdict's text."""

import random
from collections.abc import Callable, Sequence

import pytest

from steelyard_chatqna.gate import AnswerGate
from steelyard_chatqna.grounding import attribution
from steelyard_chatqna.grounding.claims import Claims, read_claims
from steelyard_chatqna.grounding.evidence import SentChunk
from steelyard_chatqna.grounding.sentences import Sentence
from steelyard_chatqna.verdict import Judge, Verdict
from steelyard_contracts.enums import CitationMode, GroundednessPolicy

from .fakes import QUESTION, SEAL, run, words
from .judging_here import judged_here

ABSTAIN, FLAG = GroundednessPolicy.ABSTAIN, GroundednessPolicy.FLAG
ATTRIBUTED, INLINE = CitationMode.ATTRIBUTED, CitationMode.INLINE
HOT = "The pump may reach 80 degrees."
SENT = (SentChunk(1, "a", f"{SEAL} {HOT}"), SentChunk(2, "b", "保守点検は毎月行う。"))


def fed(
    pieces: Sequence[str], mode: CitationMode, policy: GroundednessPolicy, sent: Sequence[SentChunk] = SENT
) -> tuple[list[str], AnswerGate, Verdict]:
    """What was shown for each piece."""

    async def work() -> tuple[list[str], AnswerGate, Verdict]:
        gate = AnswerGate(judged_here(QUESTION, sent, mode), mode, policy)
        return [await gate.feed(piece) for piece in pieces], gate, await gate.finish()

    return run(work)


SUPPORTED = f"{SEAL} It is a seal. {HOT}"
UNSUPPORTED = "The pump is painted black. It was made in 1987. Everybody likes it."
LATE = f"The pump is painted black. {SEAL} {HOT}"


class TestFlag:
    @pytest.mark.parametrize("text", [SUPPORTED, UNSUPPORTED])
    def test_attributed_answers_are_shown_as_they_come(self, text: str) -> None:
        shown, gate, verdict = fed(words(text), ATTRIBUTED, FLAG)
        assert shown == words(text)
        assert not gate.must_abstain(verdict)
        assert gate.rest(verdict) == ""


class TestNotStreamed:
    @pytest.mark.parametrize("policy", [FLAG, ABSTAIN])
    @pytest.mark.parametrize("mode", [ATTRIBUTED, INLINE])
    def test_an_answer_that_nobody_sees_grow_is_judged_once(
        self, mode: CitationMode, policy: GroundednessPolicy
    ) -> None:
        judged: list[str] = []
        judge = judged_here(QUESTION, SENT, mode)

        async def noted(answer: str) -> Verdict:
            judged.append(answer)
            return await judge(answer)

        async def work() -> None:
            gate = AnswerGate(noted, mode, policy, streamed=False)
            assert [await gate.feed(piece) for piece in words(SUPPORTED)] == [""] * len(words(SUPPORTED))
            assert gate.rest(await gate.finish()) == SUPPORTED

        run(work)
        assert judged == [SUPPORTED]


class TestAbstain:
    def test_nothing_is_shown_before_a_complete_sentence_is_supported(self) -> None:
        pieces = words(SUPPORTED)
        shown, gate, verdict = fed(pieces, ATTRIBUTED, ABSTAIN)
        first = len(words(SEAL))
        assert shown[:first] == [""] * first
        assert shown[first] == "".join(pieces[: first + 1])
        assert "".join(shown) + gate.rest(verdict) == SUPPORTED
        assert not gate.must_abstain(verdict)

    def test_unsupported_sentences_are_held_back_until_a_supported_one_is_complete(self) -> None:
        shown, gate, verdict = fed(words(LATE), ATTRIBUTED, ABSTAIN)
        opened = next(i for i, one in enumerate(shown) if one)
        assert "".join(words(LATE)[:opened]).endswith(SEAL)
        assert "".join(shown) + gate.rest(verdict) == LATE
        assert [span.text for span in verdict.unsupported] == ["The pump is painted black."]

    def test_an_answer_without_support_is_never_shown(self) -> None:
        shown, gate, verdict = fed(words(UNSUPPORTED), ATTRIBUTED, ABSTAIN)
        assert set(shown) == {""}
        assert gate.must_abstain(verdict)

    def test_one_sentence_is_shown_when_it_is_complete(self) -> None:
        shown, gate, verdict = fed(words(SEAL), ATTRIBUTED, ABSTAIN)
        assert set(shown) == {""}
        assert not gate.must_abstain(verdict)
        assert gate.rest(verdict) == SEAL

    @pytest.mark.parametrize(
        "pieces",
        [
            ["It is hot. The pump may reach 80", "0 degrees."],
            ["It is hot. The pump may reach 80.", "5 degrees."],
            ["It is hot. ", "The pump may reach 80", " thousand degrees."],
        ],
    )
    def test_a_sentence_that_only_begins_like_a_supported_one_opens_nothing(self, pieces: list[str]) -> None:
        shown, gate, verdict = fed(pieces, ATTRIBUTED, ABSTAIN)
        assert set(shown) == {""}
        assert gate.must_abstain(verdict)

    def test_a_courtesy_claims_nothing_and_is_kept(self) -> None:
        _, gate, verdict = fed(words("I do not know."), ATTRIBUTED, ABSTAIN)
        assert not gate.must_abstain(verdict)
        assert gate.rest(verdict) == "I do not know."

    def test_japanese_sentences_are_complete_without_a_space(self) -> None:
        text = "保守点検は毎月行う。以上です。"
        shown, gate, verdict = fed(list(text), ATTRIBUTED, ABSTAIN)
        assert next(i for i, one in enumerate(shown) if one) == text.index("以")
        assert "".join(shown) + gate.rest(verdict) == text

    def test_an_empty_answer_is_no_answer_to_replace(self) -> None:
        _, gate, verdict = fed([], ATTRIBUTED, ABSTAIN)
        assert not gate.must_abstain(verdict)
        assert gate.rest(verdict) == ""

    def test_each_sentence_is_judged_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        judged: list[str] = []

        def watched(answer: str, text: str, sentence: Sentence, *rest: object) -> Claims | None:
            judged.append(answer[sentence.start : sentence.end])
            return read_claims(answer, text, sentence, *rest)  # type: ignore[arg-type]

        monkeypatch.setattr(attribution, "read_claims", watched)
        fed(words(UNSUPPORTED), ATTRIBUTED, ABSTAIN)
        assert judged == ["The pump is painted black.", "It was made in 1987.", "Everybody likes it."]


class TestCutOff:
    @staticmethod
    def verdict(text: str, *, cut_off: bool) -> Verdict:
        async def work() -> Verdict:
            gate = AnswerGate(judged_here(QUESTION, SENT, ATTRIBUTED), ATTRIBUTED, ABSTAIN)
            await gate.feed(text)
            return await gate.finish(cut_off=cut_off)

        return run(work)

    def test_a_name_that_was_cut_is_marked_and_replaces_nothing(self) -> None:
        text = "The approved seal for AX-104-"
        assert self.verdict(text, cut_off=False).groundless
        verdict = self.verdict(text, cut_off=True)
        assert (verdict.text, verdict.groundless) == (text, False)
        assert [span.text for span in verdict.unsupported] == [text]

    @pytest.mark.parametrize(
        "text", ["The pump is painted black and was made in 19", "ポンプは黒く塗られ、1987年に作られた。重さ"]
    )
    def test_what_was_invented_before_the_cut_stays_groundless(self, text: str) -> None:
        assert self.verdict(text, cut_off=True).groundless


class TestVerdictsThatDisagree:
    """What a judge says of a part and of the whole need not agree; the gate has to be right either way."""

    @staticmethod
    def decide(monkeypatch: pytest.MonkeyPatch, groundless: Callable[[str], bool]) -> None:
        """Let every verdict have a citation, and be groundless as said."""
        citations = Judge(QUESTION, SENT, ATTRIBUTED).judge(SEAL).citations

        def said(_: Judge, text: str) -> Verdict:
            return Verdict(text, citations, (), 0, groundless(text))

        monkeypatch.setattr(Judge, "judge", said)

    def test_a_citation_in_a_groundless_part_opens_nothing(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.decide(monkeypatch, lambda _: True)
        shown, gate, verdict = fed(words(SUPPORTED), ATTRIBUTED, ABSTAIN)
        assert set(shown) == {""}
        assert gate.must_abstain(verdict)

    def test_what_was_shown_is_not_taken_back(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.decide(monkeypatch, lambda text: text == SUPPORTED)
        shown, gate, verdict = fed(words(SUPPORTED), ATTRIBUTED, ABSTAIN)
        assert verdict.groundless
        assert not gate.must_abstain(verdict)
        assert "".join(shown) + gate.rest(verdict) == SUPPORTED


class TestInline:
    @pytest.mark.parametrize("policy", GroundednessPolicy)
    def test_the_answer_is_shown_when_it_is_complete_without_invented_markers(self, policy: GroundednessPolicy) -> None:
        text = f"{SEAL} [1] It is a seal. [9]"
        shown, gate, verdict = fed(words(text), INLINE, policy)
        assert set(shown) == {""}
        assert not gate.must_abstain(verdict)
        assert gate.rest(verdict) == verdict.text == f"{SEAL} [1] It is a seal."
        assert verdict.invented_markers == 1

    def test_an_answer_without_support_is_replaced_under_abstain_only(self) -> None:
        _, gate, verdict = fed(words(UNSUPPORTED), INLINE, ABSTAIN)
        assert gate.must_abstain(verdict)
        _, gate, verdict = fed(words(UNSUPPORTED), INLINE, FLAG)
        assert not gate.must_abstain(verdict)


def _random_pieces(source: random.Random) -> Callable[[str], list[str]]:
    def cut(text: str) -> list[str]:
        cuts = sorted(source.randrange(len(text) + 1) for _ in range(source.randrange(12)))
        return [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]

    return cut


@pytest.mark.parametrize("mode", CitationMode)
@pytest.mark.parametrize("policy", GroundednessPolicy)
def test_what_is_shown_is_the_verdicts_text_however_the_answer_is_cut(
    mode: CitationMode, policy: GroundednessPolicy
) -> None:
    cut = _random_pieces(random.Random(11))
    for text in (SUPPORTED, LATE, f"{SEAL} [1][7]", "保守点検は毎月行う。黒い。", "", "\n\n") * 3:
        shown, gate, verdict = fed(cut(text), mode, policy)
        assert "".join(shown) + gate.rest(verdict) == verdict.text
        if gate.must_abstain(verdict):
            assert set(shown) <= {""}


@pytest.mark.parametrize("mode", CitationMode)
def test_nothing_of_an_answer_that_must_be_replaced_was_shown(mode: CitationMode) -> None:
    cut = _random_pieces(random.Random(12))
    for _ in range(10):
        shown, gate, verdict = fed(cut(UNSUPPORTED), mode, ABSTAIN)
        assert gate.must_abstain(verdict)
        assert "".join(shown) == ""
