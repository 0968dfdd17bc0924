"""Small tokenizers that the tests build themselves."""

from pathlib import Path

from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace
from tokenizers.processors import TemplateProcessing


def word_tokenizer(folder: Path, words: str = "", *, name: str = "tokenizer.json") -> Path:
    """A tokenizer of whole words with BERT's template; a word that it does not know is [UNK]. Cuts at 4 tokens."""
    vocabulary = {"[UNK]": 0, "[CLS]": 1, "[SEP]": 2, **{word: i for i, word in enumerate(words.split(), start=3)}}
    tokenizer = Tokenizer(WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    tokenizer.post_processor = TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
    )
    tokenizer.enable_truncation(4)
    tokenizer.enable_padding(length=4)
    path = folder / name
    tokenizer.save(str(path))
    return path
