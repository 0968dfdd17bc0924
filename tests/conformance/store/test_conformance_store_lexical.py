"""BM25 search: words of many languages, identifiers, and text that tries to be a query language."""

from __future__ import annotations

import pytest

from steelyard_store import InvalidQuery
from tests.conformance.store.harness import Opened
from tests.conformance.store.samples import OPEN, ids, publication

pytestmark = pytest.mark.anyio

ENGLISH = [
    "The refund is paid within fourteen days of the return.",
    "The invoice is sent by post on the first working day.",
    "The warranty covers the motor for two years.",
    "The manual describes the assembly of the pump.",
    "The pump must be cleaned after each use.",
    "The delivery takes three working days.",
    "The price list is valid until the end of the year.",
    "The guarantee does not cover the filter.",
]
GERMAN = [
    "Die Kündigungsfrist beträgt drei Monate zum Quartalsende.",
    "Der Müller liefert das Mehl jeden Dienstag.",
    "Größere Änderungen müssen schriftlich bestätigt werden.",
    "Die Straße ist wegen Bauarbeiten gesperrt.",
    "Der Vertrag verlängert sich um ein Jahr.",
    "Übernachtungen werden mit dem Reisekostenformular abgerechnet.",
    "Das Büro schließt um achtzehn Uhr.",
    "Die Prüfung der Anlage erfolgt jährlich.",
]
JAPANESE = [
    "返品は購入後三十日以内に受け付けています。",
    "東京本社の営業時間は午前九時から午後六時までです。",
    "大阪支社では火曜日に会議があります。",
    "請求書は毎月末に発行されます。",
    "黒猫が庭で寝ています。",
    "ソフトウェアの更新は自動的に行われます。",
    "社員は年に二十日の有給休暇を取得できます。",
    "京都の工場では新しい機械を導入しました。",
]
CHINESE = [
    "退货政策规定客户可在三十天内退回商品。",
    "北京办事处的电话号码已经更改。",
    "上海工厂生产电动汽车的电池。",
    "员工每年享有十五天的带薪年假。",
    "发票将在付款后七个工作日内寄出。",
    "服务器维护时间为每周日凌晨两点。",
    "南京大学图书馆今天不开放。",
    "请在会议开始前十分钟到达。",
]
THAI = [
    "พนักงานมีสิทธิ์ลาพักร้อนปีละสิบวัน",
    "ลูกค้าสามารถคืนสินค้าภายในสามสิบวัน",
    "สำนักงานกรุงเทพเปิดเวลาแปดโมงเช้า",
    "ใบแจ้งหนี้จะส่งทางอีเมลทุกสิ้นเดือน",
    "ห้ามกินยานี้ก่อนขับรถ",
    "โรงงานเชียงใหม่ผลิตกระดาษรีไซเคิล",
    "การประชุมประจำสัปดาห์จัดทุกวันจันทร์",
    "กรุณาติดต่อฝ่ายบุคคลเรื่องเงินเดือน",
]
ARABIC = [
    "يحق للموظف إجازة سنوية مدتها واحد وعشرون يوما",
    "يمكن إرجاع المنتج خلال ثلاثين يوما من الشراء",
    "تفتح المكتبة أبوابها الساعة الثامنة صباحا",
    "يُرسَل الكِتَابُ بالبريد المسجل",
    "تم تحديث نظام الحاسوب في فرع القاهرة",
    "الاجتماع الأسبوعي يوم الأحد",
    "مدرسة اللغات تقبل التسجيل الآن",
    "سعر الكهرباء ارتفع هذا العام",
]
KOREAN = [
    "직원은 매년 열다섯 일의 연차 휴가를 사용할 수 있습니다.",
    "환불은 구매 후 삼십 일 이내에 가능합니다.",
    "서울 본사는 오전 아홉 시에 문을 엽니다.",
    "부산 공장에서는 배터리를 생산합니다.",
    "회의는 월요일에 열립니다.",
]
OTHERS = [
    "Οι εργαζόμενοι δικαιούνται άδεια είκοσι ημερών.",
    "Сотрудники имеют право на ежегодный отпуск.",
    "कर्मचारियों को हर साल बीस दिन की छुट्टी मिलती है।",
    "Pracownicy mają prawo do urlopu; Łódź jest siedzibą spółki.",
    "Çalışanların yıllık izin hakkı İstanbul ofisinde onaylanır.",
    "Người lao động được nghỉ phép hàng năm.",
    "העובדים זכאים לחופשה שנתית.",
    "کارمندان سالانه مرخصی دارند و کتاب می‌خوانند.",
]

RIGHT = [
    (ENGLISH, "When is the refund paid?", 0),
    (ENGLISH, "WARRANTY motor", 2),
    (ENGLISH, "guarantee filter", 7),
    (ENGLISH, "ｒｅｆｕｎｄ", 0),
    (GERMAN, "Wie lang ist die Kündigungsfrist?", 0),
    (GERMAN, "KUNDIGUNGSFRIST", 0),
    (GERMAN, "Kuendigungsfrist", 0),
    (GERMAN, "Mueller Mehl", 1),
    (GERMAN, "Muller", 1),
    (GERMAN, "groessere aenderungen", 2),
    (GERMAN, "STRASSE gesperrt", 3),
    (GERMAN, "Strasse", 3),
    (GERMAN, "übernachtungen", 5),
    (GERMAN, "Büro", 6),
    (JAPANESE, "返品", 0),
    (JAPANESE, "返品はいつまでできますか", 0),
    (JAPANESE, "東京の営業時間", 1),
    (JAPANESE, "大阪", 2),
    (JAPANESE, "請求書の発行日", 3),
    (JAPANESE, "猫", 4),
    (JAPANESE, "ｿﾌﾄｳｪｱ", 5),
    (JAPANESE, "有給休暇は何日", 6),
    (JAPANESE, "京都", 7),
    (CHINESE, "退货", 0),
    (CHINESE, "退货政策是什么？", 0),
    (CHINESE, "北京电话", 1),
    (CHINESE, "电池", 2),
    (CHINESE, "年假有多少天", 3),
    (CHINESE, "发票", 4),
    (CHINESE, "服务器", 5),
    (CHINESE, "南京", 6),
    (THAI, "ลาพักร้อน", 0),
    (THAI, "คืนสินค้าได้กี่วัน", 1),
    (THAI, "กรุงเทพ", 2),
    (THAI, "ใบแจ้งหนี้", 3),
    (THAI, "ยา", 4),
    (THAI, "กระดาษ", 5),
    (THAI, "ประชุมวันจันทร์", 6),
    (THAI, "เงินเดือน", 7),
    (ARABIC, "إجازة الموظف", 0),
    (ARABIC, "اجازة", 0),
    (ARABIC, "ارجاع المنتج", 1),
    (ARABIC, "مكتبة", 2),
    (ARABIC, "المكتبه", 2),
    (ARABIC, "كتاب بريد", 3),
    (ARABIC, "الكتـــاب", 3),
    (ARABIC, "القاهره", 4),
    (ARABIC, "مدرسة", 6),
    (KOREAN, "휴가", 0),
    (KOREAN, "환불 가능", 1),
    (KOREAN, "서울", 2),
    (KOREAN, "배터리", 3),
    (OTHERS, "ΑΔΕΙΑ εργαζομενοι", 0),
    (OTHERS, "ОТПУСК", 1),
    (OTHERS, "छुट्टी", 2),
    (OTHERS, "lodz", 3),
    (OTHERS, "istanbul yillik izin", 4),
    (OTHERS, "nghi phep", 5),
    (OTHERS, "לְחֻפְשָׁה שְׁנָתִית", 6),
    (OTHERS, "كتاب ميخوانند", 7),
]


@pytest.mark.parametrize(("texts", "query", "right"), RIGHT, ids=[query for _, query, _ in RIGHT])
async def test_the_right_text_is_first_among_its_language_and_the_others(
    store: Opened, texts: list[str], query: str, right: int
) -> None:
    await store.publish(
        publication("right", texts),
        *(
            publication(f"distractor-{number}", other)
            for number, other in enumerate((ENGLISH, GERMAN, JAPANESE, CHINESE, THAI, ARABIC, KOREAN, OTHERS))
            if other is not texts
        ),
    )
    hits = await store.reader.search_lexical(query, 5, OPEN)
    assert ids(hits)[:1] == [f"right#{right}"], [hit.chunk.text for hit in hits]


async def test_hits_are_bm25_positive_and_descending(store: Opened) -> None:
    await store.publish(publication("d", ENGLISH))
    hits = await store.reader.search_lexical("the pump is cleaned", 50, OPEN)
    assert hits[0].chunk.text == ENGLISH[4]
    assert len(hits) == len(ENGLISH)
    assert {hit.kind for hit in hits} == {"bm25"}
    scores = [hit.score for hit in hits]
    assert all(type(score) is float and score > 0 for score in scores)
    assert scores == sorted(scores, reverse=True)


async def test_a_rare_word_outweighs_words_that_stand_everywhere(store: Opened) -> None:
    crowd = [f"the the the is is of of number {number}" for number in range(60)]
    await store.publish(publication("crowd", crowd), publication("one", ["A text about a capybara and other animals."]))
    assert ids(await store.reader.search_lexical("what is the the the capybara of the", 3, OPEN))[0] == "one#0"


async def test_a_word_that_stands_everywhere_still_finds_everything(store: Opened) -> None:
    await store.publish(publication("d", ENGLISH))
    assert len(await store.reader.search_lexical("the", 50, OPEN)) == len(ENGLISH)
    assert len(await store.reader.search_lexical("the", 3, OPEN)) == 3


async def test_equal_texts_are_ordered_by_chunk_id(store: Opened) -> None:
    await store.publish(*(publication(name, ["equal words"]) for name in ("c", "a", "d", "b")))
    await store.publish(publication("z", ENGLISH))
    assert ids(await store.reader.search_lexical("equal", 3, OPEN)) == ["a#0", "b#0", "c#0"]


async def test_a_word_of_title_or_section_finds_the_chunk_behind_one_that_says_it(store: Opened) -> None:
    await store.publish(
        publication("head", ["nothing of it here"], section="Zeppelin maintenance"),
        publication("body", ["the zeppelin is here"]),
        publication("rest", ENGLISH),
    )
    assert ids(await store.reader.search_lexical("zeppelin", 5, OPEN)) == ["body#0", "head#0"]


IDENTIFIERS = ["Part AX-104-B fits.", "Part AX-104-C fits.", "Part BX-104-B fits.", "Part AX-401-B fits.", "No part."]


@pytest.mark.parametrize(
    "query", ["AX-104-B", "ax104b", "AX104B", "AX 104 B", "ax_104.b", "“AX–104–B”", "part:AX-104-B!"]
)
async def test_an_identifier_is_found_in_any_spelling(store: Opened, query: str) -> None:
    await store.publish(publication("d", IDENTIFIERS), publication("e", ENGLISH))
    assert ids(await store.reader.search_lexical(query, 3, OPEN))[0] == "d#0"


async def test_an_identifier_is_found_by_its_parts(store: Opened) -> None:
    await store.publish(publication("d", IDENTIFIERS), publication("e", ENGLISH))
    assert ids(await store.reader.search_lexical("401", 3, OPEN)) == ["d#3"]
    assert set(ids(await store.reader.search_lexical("104", 9, OPEN))) == {"d#0", "d#1", "d#2"}
    assert ids(await store.reader.search_lexical("BX", 3, OPEN)) == ["d#2"]


async def test_numbers_are_one_number_in_every_script(store: Opened) -> None:
    await store.publish(publication("d", ["order 4711", "order 4712"]), publication("e", ENGLISH))
    for query in ("4711", "٤٧١١", "４７１１", "४७११"):
        assert ids(await store.reader.search_lexical(query, 3, OPEN)) == ["d#0"]


HOSTILE = {
    "empty": "",
    "blank": " \t\n",
    "quote": '"',
    "quotes": '""""',
    "apostrophe": "'; DROP TABLE chunk; --",
    "and": "AND",
    "operators": "alpha AND NOT OR NEAR",
    "near": "NEAR(alpha beta, 5)",
    "star": "*",
    "prefix": "alph*",
    "column": "body:alpha",
    "braces": "{body heading} : alpha",
    "caret": "^alpha",
    "minus": "-alpha",
    "parentheses": "((((((",
    "plus": "alpha + beta",
    "backslash": "\\",
    "nul": "al\0pha \0",
    "percent": "%s %d %",
    "emoji": "🧪🧪🧪 👩‍🔬",
    "controls": "".join(map(chr, range(32))),
    "marks only": "\u0301\u0301\u064b",
    "one long word": "a" * 100_000,
    "many words": "alpha " * 20_000,
    "different words": " ".join(f"w{number}" for number in range(20_000)),
    "long unspaced": "東京" * 50_000,
    "deep parentheses": "(" * 50_000 + "alpha" + ")" * 50_000,
    "every bmp character": "".join(chr(code) for code in range(0x10000) if not 0xD800 <= code < 0xE000),
    "joiners": "-_./" * 1_000,
    "rtl overrides": "\u202ealpha\u202c",
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
async def test_hostile_text_is_only_words(store: Opened, text: str) -> None:
    await store.publish(publication("d"), publication("e", ["東京 alpha"]), publication("f", ENGLISH))
    hits = await store.reader.search_lexical(text, 5, OPEN)
    assert all(hit.score > 0 and hit.chunk.document_id in "def" for hit in hits)
    assert len(await store.reader.search_lexical("alpha", 5, OPEN)) == 2


@pytest.mark.parametrize(
    "query", ["alpha AND", "NEAR(alpha beta, 5)", "{body heading} : alpha", "^alpha", "-alpha", '"alpha', "alpha*"]
)
async def test_words_between_syntax_are_still_found(store: Opened, query: str) -> None:
    await store.publish(publication("d", ["the alpha text"]), publication("f", ENGLISH))
    assert ids(await store.reader.search_lexical(query, 5, OPEN))[0] == "d#0"


async def test_words_that_look_like_operators_are_words(store: Opened) -> None:
    await store.publish(publication("d", ["near and or not"]), publication("f", ENGLISH[1:4]))
    for query in ("NEAR", "AND", "OR", "NOT"):
        assert ids(await store.reader.search_lexical(query, 5, OPEN)) == ["d#0"]


@pytest.mark.parametrize("text", ["\ud800", "alpha \udfff", None, 7, b"alpha"])
async def test_what_is_not_text_is_refused(store: Opened, text: str) -> None:
    with pytest.raises(InvalidQuery, match="query text"):
        await store.reader.search_lexical(text, 5, OPEN)


async def test_no_common_word_is_an_honest_empty_result(store: Opened) -> None:
    await store.publish(publication("d", ENGLISH))
    assert await store.reader.search_lexical("xylophone", 5, OPEN) == []
