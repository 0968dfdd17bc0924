"""What a reasoning model thinks aloud before its answer is not part of the answer.

Qwen3 and DeepSeek-R1 begin with `<think>...</think>` when their server has no reasoning parser. What a model considers
and rejects there would be judged, cited, and shown as what it says.
"""

import re

_TAGS = ("think", "thinking")
_BEGIN = re.compile(rf"\s*<(?P<close>/?)(?P<tag>{'|'.join(_TAGS)})>")
_SPACE = re.compile(r"\s*")
_BEGINNINGS = frozenset(
    full[:length] for tag in _TAGS for full in (f"<{tag}>", f"</{tag}>") for length in range(len(full))
)
"""What may still become a tag, the empty text too."""


class ThinkingFilter:
    """Filters an answer as it comes; how it was cut into pieces does not change what comes out.

    Takes out one block at the very start, with the white space around it; without its end, all that there is. Of a
    block whose beginning the chat template wrote, only an end before any other text is taken out: everything else
    would have to be held back until it is certain that no end will come. `taken` is what went in and has not come out;
    followed by what came out it is all that went in, at any time.
    """

    def __init__(self) -> None:
        self.taken = ""
        self._begun = False  # the start is decided, and is a block
        self._ended = False  # what comes now comes out
        self._end_tag = ""  # of the block that is open
        self._searched = 0

    def feed(self, text: str) -> str:
        """Take a piece; return what is decided."""
        if self._ended:
            return text
        self.taken += text
        if not self._begun and not self._begins():
            return self._release(0) if self._ended else ""
        return self._rest()

    def finish(self) -> str:
        """The rest: what looked like the beginning of a block and was none."""
        return "" if self._begun or self._ended else self._release(0)

    def _begins(self) -> bool:
        """Whether the answer begins with a block; `_ended` when it is certain that it does not."""
        match = _BEGIN.match(self.taken)
        if match is None:
            self._ended = self.taken.lstrip() not in _BEGINNINGS
            return False
        self._begun, self._searched = True, match.end()
        if not match["close"]:
            self._end_tag = f"</{match['tag']}>"
        return True

    def _rest(self) -> str:
        """What follows the block and the white space behind it."""
        if self._end_tag:
            found = self.taken.find(self._end_tag, self._searched)
            if found < 0:
                self._searched = max(self._searched, len(self.taken) - len(self._end_tag) + 1)
                return ""
            self._searched, self._end_tag = found + len(self._end_tag), ""
        space = _SPACE.match(self.taken, self._searched)
        self._searched = self._searched if space is None else space.end()
        return "" if self._searched == len(self.taken) else self._release(self._searched)

    def _release(self, start: int) -> str:
        self._ended = True
        self.taken, text = self.taken[:start], self.taken[start:]
        return text
