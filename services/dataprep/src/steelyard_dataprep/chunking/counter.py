"""How chunking measures texts."""

from collections.abc import Callable

TokenCounter = Callable[[str], int]
"""Tokens of a text in the embedding model's own tokenizer, without the special ones that the model adds.

The limit to chunk with is therefore the model's window less its special tokens.
"""
