"""Questions, chunks and labels for the calibration script, and a few sentences in scripts that MiniLM cannot read."""

import csv
import json
import os
from dataclasses import dataclass
from pathlib import Path

from semantic_text_splitter import TextSplitter
from tokenizers import Tokenizer

from steelyard_models.tokenizer import TextTokenizer

CHUNK_TOKENS = 200


@dataclass(frozen=True)
class Question:
    text: str
    supported: frozenset[int]  # chunks that count as support
    unclear: frozenset[int]  # chunks that touch a gold span without holding half of it: left out


@dataclass(frozen=True)
class Task:
    name: str
    chunks: list[str]
    sources: list[str]  # the document that each chunk is from
    questions: list[Question]


def data_folder() -> Path:
    return Path(os.environ.get("STEELYARD_EVAL_DATA", "../shared/data"))


def chunking_eval(tokenizer_json: Path) -> Task:
    """472 questions over five documents; support is a chunk that holds at least half of a gold span (or lies in it)."""
    folder = data_folder() / "chunking_eval"
    tokenizer = Tokenizer.from_file(str(tokenizer_json))
    tokenizer.no_truncation()  # or every length would count as at most the 128 tokens that the file sets
    tokenizer.no_padding()
    splitter = TextSplitter.from_huggingface_tokenizer(tokenizer, CHUNK_TOKENS)
    spans: list[tuple[str, int, int]] = []
    chunks: list[str] = []
    for path in sorted((folder / "corpora").glob("*.md")):
        for start, chunk in splitter.chunk_indices(path.read_text(encoding="utf-8")):
            spans.append((path.stem, start, start + len(chunk)))
            chunks.append(chunk)
    questions = []
    with (folder / "questions_df.csv").open(newline="", encoding="utf-8") as stream:
        for row in csv.DictReader(stream):
            gold = [(int(ref["start_index"]), int(ref["end_index"])) for ref in json.loads(row["references"])]
            supported, unclear = set(), set()
            for index, (document, start, end) in enumerate(spans):
                if document != row["corpus_id"]:
                    continue
                shared = [(min(end, e) - max(start, s), e - s) for s, e in gold]
                if any(overlap >= min(length, end - start) / 2 for overlap, length in shared if overlap > 0):
                    supported.add(index)
                elif any(overlap > 0 for overlap, _ in shared):
                    unclear.add(index)
            questions.append(Question(row["question"], frozenset(supported), frozenset(unclear)))
    return Task("chunking_eval", chunks, [span[0] for span in spans], questions)


def hotpotqa(tokenizer: TextTokenizer, limit: int) -> Task:
    """100 questions over 994 paragraphs; support is a paragraph with a supporting fact, cut at `limit` tokens."""
    folder = data_folder() / "hotpotqa"
    corpus = json.loads((folder / "hotpotqa_train_corpus.json").read_text(encoding="utf-8"))
    titles = list(corpus)
    chunks = []
    for title in titles:
        text = f"{title}. {''.join(corpus[title])}"
        offsets = tokenizer.encode(text).offsets
        chunks.append(text if len(offsets) <= limit else text[: offsets[limit - 1][1]])
    questions = [
        Question(row["question"], frozenset(titles.index(fact[0]) for fact in row["supporting_facts"]), frozenset())
        for row in json.loads((folder / "hotpotqa_train.json").read_text(encoding="utf-8"))
    ]
    return Task("hotpotqa", chunks, titles, questions)


# Written for this script: (question, the one text that answers it). Every other text of the language is a negative.
FOREIGN: dict[str, list[tuple[str, str]]] = {
    "Japanese": [
        (
            "灯台はいつ建てられましたか。",
            "岬の灯台は1874年に建設され、石造りの塔の高さは三十一メートルです。現在も現役で、毎晩光を放っています。",
        ),
        (
            "図書館の開館時間を教えてください。",
            "市立図書館は平日の午前九時から午後八時まで開館しています。土日は午後五時に閉館します。",
        ),
        (
            "返品には何日以内に申し込む必要がありますか。",
            "商品の返品は、お届けから十四日以内にお申し込みください。未使用の商品に限り、返金いたします。",
        ),
        (
            "この薬の副作用は何ですか。",
            "主な副作用として、眠気、めまい、口の渇きが報告されています。症状が続く場合は医師に相談してください。",
        ),
        (
            "会社の本社はどこにありますか。",
            "同社は1962年に大阪で創業し、本社は京都市下京区に置かれている。従業員は約三千人である。",
        ),
        (
            "猫は一日に何時間眠りますか。",
            "成猫は一日におよそ十四時間眠ると言われている。子猫や老猫はさらに長く眠ることが多い。",
        ),
        (
            "富士山の標高はどれくらいですか。",
            "日本で最も高い山である富士山の標高は3776メートルで、山頂には気象観測所が置かれていた。",
        ),
        (
            "有給休暇は何日もらえますか。",
            "入社から六か月が経過した社員には、年間十日の有給休暇が付与される。勤続年数に応じて日数は増える。",
        ),
        (
            "サーバーを再起動する方法は。",
            "管理画面の設定から再起動を選択すると、サーバーは約二分で再起動します。保存していない作業は失われます。",
        ),
        (
            "電車が遅れた原因は何でしたか。",
            "今朝の電車の遅延は、信号設備の故障が原因でした。運転は午前十時に再開されました。",
        ),
        ("この小説の作者は誰ですか。", "小説『雪国』の作者は川端康成であり、彼は1968年にノーベル文学賞を受賞した。"),
        (
            "地震の際に何をすべきですか。",
            "地震が起きたら、まず机の下に身を隠し、揺れが収まってから火の元を確認してください。",
        ),
    ],
    "Arabic": [
        (
            "متى بُنيت المنارة؟",
            "تقع المنارة على الرأس الشمالي، وقد بُنيت عام 1874 من الحجر، ويبلغ ارتفاعها واحدا وثلاثين مترا.",
        ),
        (
            "ما هي ساعات عمل المكتبة؟",
            "تفتح المكتبة البلدية أبوابها من التاسعة صباحا حتى الثامنة مساء في أيام العمل، وتغلق مبكرا يوم الجمعة.",
        ),
        (
            "خلال كم يوم يمكن إرجاع المنتج؟",
            "يمكن للعملاء إرجاع المنتجات خلال أربعة عشر يوما من تاريخ الاستلام بشرط ألا تكون مستعملة.",
        ),
        (
            "ما الآثار الجانبية لهذا الدواء؟",
            "من الآثار الجانبية الشائعة للدواء النعاس والدوار وجفاف الفم. استشر الطبيب إذا استمرت الأعراض.",
        ),
        (
            "أين يقع المقر الرئيسي للشركة؟",
            "تأسست الشركة عام 1962 في حلب، ويقع مقرها الرئيسي الآن في عمّان، ويعمل بها ثلاثة آلاف موظف.",
        ),
        (
            "كم ساعة تنام القطة في اليوم؟",
            "تنام القطط البالغة نحو أربع عشرة ساعة في اليوم، أما القطط الصغيرة فتنام مدة أطول.",
        ),
        ("ما ارتفاع أعلى جبل في اليابان؟", "جبل فوجي هو أعلى جبل في اليابان، إذ يبلغ ارتفاعه 3776 مترا فوق سطح البحر."),
        (
            "كم عدد أيام الإجازة السنوية للموظف؟",
            "يحصل الموظف بعد ستة أشهر من العمل على عشرة أيام إجازة سنوية مدفوعة الأجر، وتزداد مع سنوات الخدمة.",
        ),
        (
            "كيف أعيد تشغيل الخادم؟",
            "لإعادة تشغيل الخادم اختر الأمر من صفحة الإعدادات، وسيعود الخادم إلى العمل بعد دقيقتين تقريبا.",
        ),
        ("ما سبب تأخر القطار؟", "تأخر القطار هذا الصباح بسبب عطل في نظام الإشارات، واستؤنفت الحركة في الساعة العاشرة."),
        ("من مؤلف هذه الرواية؟", "كتب نجيب محفوظ رواية أولاد حارتنا، وهو مؤلف مصري نال جائزة نوبل في الأدب عام 1988."),
        ("ماذا نفعل عند حدوث زلزال؟", "عند حدوث زلزال احتم تحت طاولة متينة، ثم تحقق من مصادر النار بعد توقف الاهتزاز."),
    ],
    "Russian": [
        (
            "Когда был построен маяк?",
            "Маяк на северном мысу был построен в 1874 году из камня, его высота тридцать один метр.",
        ),
        (
            "Какие часы работы у библиотеки?",
            "Городская библиотека работает по будням с девяти утра до восьми вечера, в выходные закрывается раньше.",
        ),
        (
            "В течение скольких дней можно вернуть товар?",
            "Вернуть товар можно в течение четырнадцати дней после получения, если он не был в употреблении.",
        ),
        (
            "Какие побочные эффекты у этого лекарства?",
            "Частые побочные эффекты лекарства: сонливость, головокружение и сухость во рту.",
        ),
        (
            "Почему опоздал поезд?",
            "Утренний поезд опоздал из-за неисправности сигнализации; движение возобновилось в десять часов.",
        ),
        (
            "Как перезапустить сервер?",
            "Чтобы перезапустить сервер, выберите команду на странице настроек; через две минуты он снова заработает.",
        ),
    ],
}
