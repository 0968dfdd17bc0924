"""The start of a text that fits the room of a pair."""

from typing import NamedTuple

from .format import PairFormat


class Cut(NamedTuple):
    """What is sent of a text, the tokens of the whole, and the tokens of what is sent."""

    text: str
    tokens_total: int
    tokens_kept: int


def cut(pair_format: PairFormat, text: str, room: int) -> Cut:
    """The start of `text` that has at most `room` tokens, cut between tokens; the whole text where it fits."""
    encoded = pair_format.encode(text)
    total = tokens = len(encoded)
    kept = text
    while tokens > room:
        # A cut can change how the last word is split, so what is left is counted again.
        kept = kept[: encoded.offsets[room - 1][1]]
        encoded = pair_format.encode(kept)
        room, tokens = room - max(0, len(encoded) - room), len(encoded)
    return Cut(kept, total, tokens)
