import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from steelyard_chatqna.grounding.sentences import may_have_ended, split_sentences

PIECES = st.sampled_from(
    [
        "The pump",
        " weighs 3.5 kg",
        ".",
        "!",
        "?",
        "…",
        "。",
        "？",
        "؟",
        "\n",
        "\n\n",
        "\r\n",
        "\u2028",
        " ",
        "\u3000",
        "e.g. ",
        "z. B. ",
        "Nr. 5",
        "| a | b |",
        "- item",
        "1. ",
        "AX-104-B",
        "塗装は黒です",
        "「はい。」",
        "المضخة",
        "»",
        ")",
        "\t",
        "\x1c",
        "# Head",
    ]
)
TEXTS = st.one_of(st.text(max_size=200), st.lists(PIECES, max_size=40).map("".join))


def parts(text: str) -> list[str]:
    return [text[s.start : s.end] for s in split_sentences(text)]


@given(TEXTS)
@example("")
@example(" \n ")
@example(".")
def test_spans_are_ordered_disjoint_and_cover_all_that_is_not_space(text: str) -> None:
    covered: set[int] = set()
    end = 0
    for sentence in split_sentences(text):
        assert end <= sentence.start < sentence.end <= len(text)
        assert not text[sentence.start].isspace()
        assert not text[sentence.end - 1].isspace()
        end = sentence.end
        covered.update(range(sentence.start, sentence.end))
    assert {i for i, char in enumerate(text) if not char.isspace()} <= covered


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two! Three?", ["One.", "Two!", "Three?"]),
        ("It weighs 3.5 kg. It is 1,000.5 mm long.", ["It weighs 3.5 kg.", "It is 1,000.5 mm long."]),
        ("Use a solvent, e.g. Ethanol. Then dry.", ["Use a solvent, e.g. Ethanol.", "Then dry."]),
        ("See No. 5 on p. 12. No. It is closed.", ["See No. 5 on p. 12.", "No.", "It is closed."]),
        ("Dr. J. K. Meyer left the U.S. The plant stayed.", ["Dr. J. K. Meyer left the U.S.", "The plant stayed."]),
        ("It delivers 35 l/min. Then stop.", ["It delivers 35 l/min.", "Then stop."]),
        ("Stop at 40 °C. Use max. 5 bar.", ["Stop at 40 °C.", "Use max. 5 bar."]),
        ("Oil, filters etc. Then close it.", ["Oil, filters etc.", "Then close it."]),
        ("Fit the AX-104-B. Use v2.3.1 only.", ["Fit the AX-104-B.", "Use v2.3.1 only."]),
        ('He said "Stop." Then he left.', ['He said "Stop."', "Then he left."]),
        ("Wait... Then go on.", ["Wait...", "Then go on."]),
        (
            "Nehmen Sie z. B. Öl. Siehe Nr. 5. Danach trocknen.",
            ["Nehmen Sie z. B. Öl.", "Siehe Nr. 5.", "Danach trocknen."],
        ),
        (
            "Am 5. Mai 2024 im 19. Jahrhundert, d. h. früh. Gut.",
            ["Am 5. Mai 2024 im 19. Jahrhundert, d. h. früh.", "Gut."],
        ),
        ("色は黒です。重さは3.5kgです！本当？", ["色は黒です。", "重さは3.5kgです！", "本当？"]),
        ("彼は「止めて。」と言った。終わり。", ["彼は「止めて。」と言った。", "終わり。"]),
        ("泵是黑色的。重量为12公斤。", ["泵是黑色的。", "重量为12公斤。"]),
        ("هل المضخة سوداء؟ نعم. وزنها ٣٫٥ كغ.", ["هل المضخة سوداء؟", "نعم.", "وزنها ٣٫٥ كغ."]),
        (
            "- first item\n- second item\n1. Open it.\n2. Close it.",
            ["- first item", "- second item", "1. Open it.", "2. Close it."],
        ),
        ("| part | kg |\n|---|---|\n| AX-104-B. New | 12 |", ["| part | kg |", "|---|---|", "| AX-104-B. New | 12 |"]),
        (
            "# Head\nThe pump must be primed with clean water before it is\nstarted for a first time. Then run it.",
            [
                "# Head",
                "The pump must be primed with clean water before it is\nstarted for a first time.",
                "Then run it.",
            ],
        ),
        ("Technical data\nWeight 12 kg", ["Technical data", "Weight 12 kg"]),
        ("# 13. Fewer settings\n## (4) Torque\n", ["# 13. Fewer settings", "## (4) Torque"]),
        (
            "Die neue Pumpe wurde dem Kunden wie vereinbart am\n12. Mai 2024 geliefert. Gut.",
            ["Die neue Pumpe wurde dem Kunden wie vereinbart am\n12. Mai 2024 geliefert.", "Gut."],
        ),
    ],
)
def test_splits(text: str, expected: list[str]) -> None:
    assert parts(text) == expected


def test_rows_and_blocks_are_marked() -> None:
    sentences = split_sentences("Intro. More.\n| a | b |\n| 1 | 2 |")
    assert [(s.block, s.row) for s in sentences] == [(0, False), (0, False), (1, True), (2, True)]


@given(TEXTS)
def test_what_can_not_have_ended_is_one_sentence(text: str) -> None:
    assert may_have_ended(text) or len(split_sentences(text)) <= 1
