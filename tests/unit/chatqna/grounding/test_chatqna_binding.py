"""What a value belongs to, where another one of its sort stands in the same sentence."""

import pytest

from steelyard_chatqna.grounding import SentChunk, attribute

PARKING = "Parking is free on deck 2; deck 1 costs 3 EUR a day."
WLAN = "Das WLAN ist kostenlos in Zone 1; Zone 2 kostet 4 EUR pro Tag."


def supported(evidence: str, answer: str, question: str) -> bool:
    return not attribute(answer, [SentChunk(1, "c1", evidence)], question).unsupported


@pytest.mark.parametrize(
    ("evidence", "question", "answer", "holds"),
    [
        (PARKING, "Is parking free?", "Parking is free on deck 2.", True),
        (PARKING, "Where is parking free?", "Deck 2.", True),
        (PARKING, "Is parking free?", "Parking is free on deck 1.", False),
        (PARKING, "Where is parking free?", "Deck 1 is free.", False),
        (PARKING, "What does deck 1 cost?", "Deck 1 costs 3 EUR a day.", True),
        (WLAN, "Ist das WLAN kostenlos?", "Das WLAN ist kostenlos in Zone 1.", True),
        (WLAN, "Ist das WLAN kostenlos?", "Das WLAN ist kostenlos in Zone 2.", False),
    ],
)
def test_what_two_values_have_in_common_tells_neither_from_the_other(
    evidence: str, question: str, answer: str, holds: bool
) -> None:
    assert supported(evidence, answer, question) == holds
