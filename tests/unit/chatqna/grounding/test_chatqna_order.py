"""Who does what to whom, where two names change places around the same words."""

import pytest

from steelyard_chatqna.grounding import SentChunk, attribute


def missing(evidence: str, answer: str) -> list[list[str]]:
    return [span.missing for span in attribute(answer, [SentChunk(1, "c1", evidence)]).unsupported]


@pytest.mark.parametrize(
    ("evidence", "answer", "names"),
    [
        ("Brandt reports to Ortiz.", "Ortiz reports to Brandt.", ["Ortiz", "Brandt"]),
        ("Brandt reports to the Ortiz.", "Ortiz reported to Brandt.", ["Ortiz", "Brandt"]),
        ("The AX-104 replaces the AX-200.", "The AX-200 replaces the AX-104.", ["AX-200", "AX-104"]),
        ("The AX-104 is heavier than the AX-200.", "The AX-200 is heavier than the AX-104.", ["AX-200", "AX-104"]),
        ("The ferry sails from Torsk to Halden.", "The ferry sails from Halden to Torsk.", ["Halden", "Torsk"]),
        ("The portrait of Vane was painted by Hals.", "The portrait of Hals was painted by Vane.", ["Hals", "Vane"]),
        (
            "Maria Lopez succeeded John Reed as the director.",
            "John Reed succeeded Maria Lopez as the director.",
            ["John", "Reed", "Maria", "Lopez"],
        ),
        (
            "The ferry sails from Torsk to Halden every day. The crossing takes 95 minutes.",
            "The ferry sails from Halden to Torsk, and the crossing takes 95 minutes.",
            ["Halden", "Torsk"],
        ),
    ],
)
def test_names_that_change_places_are_named(evidence: str, answer: str, names: list[str]) -> None:
    assert missing(evidence, answer) == [names]


@pytest.mark.parametrize(
    ("evidence", "answer"),
    [
        ("Brandt reports to Ortiz.", "Brandt reports to Ortiz."),
        ("Ortiz was hired by Brandt.", "It was Brandt that hired Ortiz."),
        ("It was Brandt that hired Ortiz.", "Ortiz was hired by Brandt."),
        ("The town of Torsk borders Halden.", "The town of Halden borders Torsk."),
        ("In 2012 Ingrid Moe married Pavel Dvorak.", "In 2012 Pavel Dvorak married Ingrid Moe."),
        ("It was written by Brandt and Ortiz.", "It was written by Ortiz and Brandt."),
        ("Brandt works with Ortiz on the pumps.", "Ortiz works with Brandt on the pumps."),
        ("The road runs between Torsk and Halden.", "The road runs between Halden and Torsk."),
        ("It sails from Torsk to Halden, then from Halden to Torsk.", "It sails from Halden to Torsk."),
        ("It sails from Torsk to Halden.", "It sails from Halden to Torsk once it has sailed from Torsk to Halden."),
        ("Brandt reports to Ortiz. In May, Ortiz reports to Brandt.", "In May, Ortiz reports to Brandt."),
        ("The AX-104 takes the same seal as the AX-200.", "The AX-200 takes the same seal as the AX-104."),
        ("Kestrel is similar to the Harrow.", "The Harrow is similar to Kestrel."),
        ("The AX-104 connects to the AX-200.", "The AX-200 connects to the AX-104."),
    ],
)
def test_what_says_the_same_in_another_order_is_supported(evidence: str, answer: str) -> None:
    assert missing(evidence, answer) == []
