import pytest

from steelyard_chatqna.grounding import Decision, SentChunk, attribute, decide
from steelyard_contracts.enums import GroundednessPolicy

SENT = [SentChunk(1, "c1", "The pump weighs 8.5 kg.")]


@pytest.mark.parametrize(
    ("answer", "decision"),
    [
        ("The pump is painted black.", Decision.ABSTAIN),
        ("It weighs 9.5 kg.", Decision.ABSTAIN),
        ("It weighs 8.5 kg.", Decision.KEEP),
        ("It weighs 8.5 kg and is painted black.", Decision.KEEP),
        ("It weighs 8.5 kg. It is painted black.", Decision.KEEP),
        ("I don't know.", Decision.KEEP),
        ("", Decision.KEEP),
    ],
)
def test_only_an_answer_without_any_support_is_replaced(answer: str, decision: Decision) -> None:
    attribution = attribute(answer, SENT)
    assert decide(attribution, GroundednessPolicy.ABSTAIN) is decision
    assert decide(attribution, GroundednessPolicy.FLAG) is Decision.KEEP
