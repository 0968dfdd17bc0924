"""Names and values in parallel parts of a sentence, a list or a table, and claims that mix two of them."""

import pytest

from steelyard_chatqna.grounding import SentChunk, attribute

CREW = "The brig Heron has a crew of nine. Its captain is Ruth Alder and its cook is Sam Birch."
MATES = "The first mate, Lena Frost, joined in 2019; the boatswain, Omar Said, joined in 2021."
MILL = "The old mill was built by Hugh Dale and is run by Tilda Ross."
RUNNERS = "Ruth Alder runs the office and Sam Birch cleans the hall."
BOARD = "The club elected its board. President: Nora Quist. Treasurer: Felix Amundsen. Secretary: Ada Holm."
ROOMS = "| Room | Person | Duty |\n|---|---|---|\n| 101 | Mara Lindt | payroll |\n| 102 | Jonas Behr | purchasing |"
PRICES = "- Erwachsene: 6,50 Euro\n- Kinder: 3 Euro\n- Rentner: 5 Euro"
DAIRY = "Den Käse macht Ilse Brandner, die Schafe hütet Georg Thal."
PLANT = "Директором завода является Павел Орлов, а главным инженером является Нина Белова."


def supported(evidence: str, answer: str, question: str = "") -> bool:
    return not attribute(answer, [SentChunk(1, "c1", evidence)], question).unsupported


@pytest.mark.parametrize(
    ("evidence", "answer"),
    [
        (CREW, "The captain of the Heron is Ruth Alder."),
        (CREW, "Sam Birch is the cook."),
        (CREW, "The cook is Sam Birch and the captain is Ruth Alder."),
        (MATES, "Omar Said is the boatswain."),
        (MATES, "Lena Frost joined in 2019."),
        (MILL, "The mill was built by Hugh Dale."),
        (MILL, "Tilda Ross runs the mill."),
        (MILL, "Tilda Ross manages the mill."),
        (MILL, "Hugh Dale constructed the old mill."),
        (RUNNERS, "Ruth Alder runs the office."),
        (BOARD, "The treasurer is Felix Amundsen."),
        (ROOMS, "Mara Lindt does the payroll in room 101."),
        (PRICES, "Rentner zahlen 5 Euro."),
        (DAIRY, "Die Schafe hütet Georg Thal."),
        (PLANT, "Директором завода является Павел Орлов."),
    ],
)
def test_a_value_with_its_own_label_is_supported(evidence: str, answer: str) -> None:
    assert supported(evidence, answer)


@pytest.mark.parametrize(
    ("evidence", "answer"),
    [
        (CREW, "The captain of the Heron is Sam Birch."),
        (CREW, "Ruth Alder is the cook."),
        (CREW, "The cook is Ruth Alder and the captain is Sam Birch."),
        (MATES, "Lena Frost is the boatswain."),
        (MATES, "Lena Frost joined in 2021."),
        (MILL, "The mill is run by Hugh Dale."),
        (RUNNERS, "Ruth Alder cleans the hall."),
        (BOARD, "The treasurer is Ada Holm."),
        (ROOMS, "Jonas Behr does the payroll."),
        (PRICES, "Rentner zahlen 6,50 Euro."),
        (DAIRY, "Georg Thal macht den Käse."),
        (PLANT, "Директором завода является Нина Белова."),
    ],
)
def test_a_value_with_the_label_of_another_is_not(evidence: str, answer: str) -> None:
    assert not supported(evidence, answer)


def test_the_question_says_what_a_bare_name_is_said_of() -> None:
    assert supported(CREW, "Sam Birch.", "Who is the cook?")
    assert not supported(CREW, "Sam Birch.", "Who is the captain?")


@pytest.mark.parametrize(
    ("evidence", "answer"),
    [
        ("Curie discovered polonium, and Warsaw honoured her with a prize.", "Curie was honoured with a prize."),
        (
            "Ada Holm lives in Bergen and Karl Weber repaired the roof.",
            "Ada Holm lives in Bergen.",
        ),
        ("Founded by Edith Crane, the choir is led by Tomas Reyes.", "The choir was founded by Edith Crane."),
        ("Lena Frost, a carpenter from Torsk, made the sails.", "Lena Frost made the sails."),
    ],
)
def test_parts_that_are_built_otherwise_tell_nothing(evidence: str, answer: str) -> None:
    assert supported(evidence, answer)
