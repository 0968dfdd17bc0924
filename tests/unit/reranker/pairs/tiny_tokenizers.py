"""Small tokenizers of the three kinds that rerankers have, trained on a few sentences, each with its pair template."""

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

from steelyard_models.tokenizer import TextTokenizer

CORPUS = (
    "The approved seal for the pump is fitted before the cover bolts are tightened to the torque in the handbook.",
    "Maintenance documentation contains general inspection information; it must not be used with solvents.",
    "A text that is longer than a pair is read in windows, which overlap so that a sentence stands whole in one.",
    "Die Dichtung der Pumpe wird vor dem Anziehen der Schrauben eingesetzt. Das Handbuch nennt das Drehmoment.",
    "保守点検は毎月行う。ポンプの密封は承認された部品だけを使う。",
    "الصيانة الدورية للمضخة مذكورة في الدليل",
    "การบำรุงรักษาปั๊มทุกเดือนตามคู่มือ",
    '{"part": "AX-104-B", "seal": "ZQ-77", "torque_nm": 35}',
)
KINDS = ("wordpiece", "bpe", "unigram")


@cache
def tiny(kind: str) -> TextTokenizer:
    """A tokenizer like BERT's, RoBERTa's or XLM-RoBERTa's, with about 400 entries."""
    made = {"wordpiece": _wordpiece, "bpe": _bpe, "unigram": _unigram}[kind]()
    with TemporaryDirectory() as folder:
        path = Path(folder) / "tokenizer.json"
        made.save(str(path))
        return TextTokenizer(path)


def _wordpiece() -> Tokenizer:
    made = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    made.normalizer = normalizers.BertNormalizer(lowercase=True)
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    special = ["[UNK]", "[CLS]", "[SEP]"]
    made.train_from_iterator(
        CORPUS, trainers.WordPieceTrainer(vocab_size=400, show_progress=False, special_tokens=special)
    )
    ends = [("[CLS]", made.token_to_id("[CLS]")), ("[SEP]", made.token_to_id("[SEP]"))]
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=ends
    )
    return made


def _bpe() -> Tokenizer:
    """Bytes are its letters, so that one character can be four tokens."""
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    made.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=400,
        show_progress=False,
        special_tokens=["<s>", "</s>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )
    made.train_from_iterator(CORPUS, trainer)
    made.post_processor = processors.RobertaProcessing(
        ("</s>", made.token_to_id("</s>")), ("<s>", made.token_to_id("<s>")), trim_offsets=True
    )
    return made


def _unigram() -> Tokenizer:
    made = Tokenizer(models.Unigram())
    made.normalizer = normalizers.NFKC()
    made.pre_tokenizer = pre_tokenizers.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=400, show_progress=False, unk_token="<unk>", special_tokens=["<unk>", "<s>", "</s>"]
    )
    made.train_from_iterator(CORPUS, trainer)
    made.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>",
        pair="<s> $A </s> </s> $B </s>",
        special_tokens=[("<s>", made.token_to_id("<s>")), ("</s>", made.token_to_id("</s>"))],
    )
    return made
