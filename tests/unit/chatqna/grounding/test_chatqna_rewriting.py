"""A question that was written out has to ask what its words ask, with nothing that nobody mentioned."""

import pytest

from steelyard_chatqna.grounding.rewriting import distortion

BOLTS = "What torque do the gland bolts of the AX-104 need?\nThe gland bolts are tightened to 35 Nm."
TRIPS = "How high is the daily allowance for trips to Austria?\n45 euros."
WARRANTY = "Wie lange ist die Gewährleistung?\n24 Monate."


@pytest.mark.parametrize(
    ("question", "history", "rewritten"),
    [
        ("And how often are they checked?", BOLTS, "How often are the gland bolts of the AX-104 checked?"),
        ("And to Japan?", TRIPS, "How high is the daily allowance for trips to Japan?"),
        ("Und für Verschleißteile?", WARRANTY, "Wie lange ist die Gewährleistung für Verschleißteile?"),
        ("消耗品は？", "保証期間はどのくらいですか。\n24か月です。", "消耗品の保証期間はどのくらいですか。"),
        ("What happens above 35 Nm?", BOLTS, "What happens to the gland bolts of the AX-104 above 35 Nm?"),
        ("How many beds are there?", BOLTS, "How many beds are there?"),
        ("Why?", BOLTS, "Why are the gland bolts of the AX-104 tightened to 35 Nm?"),
    ],
)
def test_a_faithful_one(question: str, history: str, rewritten: str) -> None:
    assert distortion(question, history, rewritten) is None


@pytest.mark.parametrize(
    ("question", "history", "rewritten"),
    [
        ("And to Japan?", TRIPS, "How high is the daily allowance for trips to Austria?"),
        ("Und für Verschleißteile?", WARRANTY, "Wie lange ist die Gewährleistung?"),
        ("消耗品は？", "保証期間はどのくらいですか。\n24か月です。", "保証期間はどのくらいですか。"),
        ("What happens above 40 Nm?", BOLTS, "What happens to the gland bolts above 35 Nm?"),
        ("And for the AX-200?", BOLTS, "What torque do the gland bolts of the AX-104 need?"),
    ],
)
def test_one_that_loses_a_part(question: str, history: str, rewritten: str) -> None:
    assert distortion(question, history, rewritten) == "leaves out a part of the one that was asked"


@pytest.mark.parametrize(
    ("question", "history", "rewritten"),
    [
        ("And how often are they checked?", BOLTS, "How often are the gland bolts of the AX-200 checked?"),
        ("And how often are they checked?", BOLTS, "Are the gland bolts checked every 1000 hours?"),
        ("Who checks them?", BOLTS, "Does Ms Okafor of the plant in Graz check the gland bolts?"),
    ],
)
def test_one_that_invents(question: str, history: str, rewritten: str) -> None:
    assert distortion(question, history, rewritten) == "has a name or a number that nobody mentioned"
