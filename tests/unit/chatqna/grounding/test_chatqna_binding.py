"""What a value belongs to, where another one of its sort stands in the same sentence."""

import pytest

from steelyard_chatqna.grounding import SentChunk, attribute

PARKING = "Parking is free on deck 2; deck 1 costs 3 EUR a day."
WLAN = "Das WLAN ist kostenlos in Zone 1; Zone 2 kostet 4 EUR pro Tag."
LEAVE = "本人の結婚の場合は5日、子の結婚の場合は2日の休暇を取得できます。"
STAFF = "東京支店は8名、大阪支店は5名の社員を採用します。"
YEARS = "契約は2024年3月1日、更新は2025年4月1日の予定です。"
RETURNS = "注文は3日以内に出荷し、返品は14日以内に受け付けます。"


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


@pytest.mark.parametrize(
    ("evidence", "question", "answer", "holds"),
    [
        (LEAVE, "結婚の場合は何日の休暇を取得できますか？", "5日", True),
        (LEAVE, "本人の結婚の場合は何日の休暇を取得できますか？", "5日の休暇を取得できます。", True),
        (LEAVE, "本人の結婚の場合は何日の休暇を取得できますか？", "2日", False),
        (LEAVE, "子の結婚の場合は何日の休暇を取得できますか？", "2日です。", True),
        (LEAVE, "子の結婚の場合は何日の休暇を取得できますか？", "5日です。", False),
        (STAFF, "東京支店は何名の社員を採用しますか？", "8名です。", True),
        (STAFF, "東京支店は何名の社員を採用しますか？", "5名です。", False),
        (STAFF, "大阪支店は何名採用しますか？", "5名です。", True),
        (STAFF, "大阪支店は何名採用しますか？", "8名です。", False),
        (YEARS, "契約は何年ですか？", "2024です。", True),
        (YEARS, "契約は何年ですか？", "2025です。", False),
        (RETURNS, "返品は何日以内に受け付けますか？", "14日以内です。", True),
        (RETURNS, "注文は何日以内に出荷しますか？", "14日です。", False),
    ],
)
def test_the_end_of_a_japanese_sentence_is_said_of_all_its_values(
    evidence: str, question: str, answer: str, holds: bool
) -> None:
    assert supported(evidence, answer, question) == holds
