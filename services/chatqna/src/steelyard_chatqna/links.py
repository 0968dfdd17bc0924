"""What an answer may link to: the addresses that its evidence, or its caller, wrote down, and no picture at all.

A document can tell the model to write `![](https://elsewhere/?q=` with the conversation behind it. Who shows the answer
as Markdown then sends the conversation there, and for a picture nobody has to click. So an address that nobody wrote is
taken out, whatever syntax it stands in, and what loads by itself is made a plain link or plain text. A bare host name
(`elsewhere.com/x`) is no address here; no Markdown standard makes it a link.
"""

import re
from collections.abc import Callable, Iterable
from functools import cached_property

REMOVED = "(link removed)"

_ANYWHERE = ("http:", "https:")
_WORDS = ("ftp:", "ftps:", "file:/", "blob:http", "mailto:", "javascript:", "vbscript:", "www.")
_TAGS = ("img", "image", "picture", "source", "iframe", "object", "embed", "video", "audio", "link", "script", "svg",
         "style", "input", "base", "meta", "form")  # fmt: skip
# With re.ASCII throughout: ignoring case, `[\x7f-\U0010ffff]` would take in "i", "k" and "s" by their foreign capitals.
_ADDRESS = r"[^\s<>\"'`\[\]{}|\\^\x7f-\U0010ffff]"
_URL = re.compile(
    rf"(?:(?:{'|'.join(map(re.escape, _ANYWHERE))}|(?<![A-Za-z0-9])(?:{'|'.join(map(re.escape, _WORDS))}))(?=\S)"
    r"|(?<![A-Za-z0-9])data:[a-z]+/"
    r"|(?<=[(<\"'=])//(?=\S)|(?<=: )//(?=\S))"
    rf"{_ADDRESS}*",
    re.IGNORECASE | re.ASCII,
)
_LOADED = re.compile(rf"!(?=\[)|<(?=(?:{'|'.join(_TAGS)})\b)", re.IGNORECASE | re.ASCII)


def _beginnings(starts: Iterable[str]) -> str:
    found = {start[:length] for start in starts for length in range(1, len(start) + 1)}
    return "|".join(map(re.escape, sorted(found, key=len, reverse=True)))


_UNDECIDED = re.compile(
    rf"(?:{_beginnings((*_ANYWHERE, '//', '![', *(f'<{tag}' for tag in _TAGS)))}"
    rf"|(?<![A-Za-z0-9])(?:{_beginnings((*_WORDS, 'data:'))}|data:[a-z]*))\Z",
    re.IGNORECASE | re.ASCII,
)
_AFTER_ADDRESS = ".,;:!?*_~"


def addresses(texts: Iterable[str]) -> frozenset[str]:
    """Every address that is written in one of the texts."""
    found: set[str] = set()
    for text in texts:
        position = 0
        while (match := _address(text, position)) is not None:
            end = _end(match)
            found.add(text[match.start() : end])
            position = max(end, match.start() + 1)
    return frozenset(found)


def without_pictures(text: str) -> str:
    """The text with nothing that loads by itself, and as long as before."""
    return _LOADED.sub(" ", text)


class LinkFilter:
    """Filters an answer as it comes; how it was cut into pieces does not change what comes out.

    `known` tells the addresses that may stay; it is asked once, when the answer has one. `seen` is all that went in and
    `removed` the number of addresses that were taken out. What may be the beginning of an address is held back until it
    is decided.
    """

    def __init__(self, known: Callable[[], frozenset[str]]) -> None:
        self.seen = ""
        self.removed = 0
        self._ask_known = known
        self._done = 0

    def feed(self, text: str) -> str:
        """Take a piece; return what is decided."""
        self.seen += text
        return self._decide(final=False)

    def finish(self) -> str:
        """The rest."""
        return self._decide(final=True)

    def _decide(self, *, final: bool) -> str:
        parts: list[str] = []
        while (match := _address(self.seen, self._done)) is not None:
            if match.end() == len(self.seen) and not final:
                parts.append(self._plain(match.start()))
                return "".join(parts)
            parts.append(self._plain(match.start()))
            end = max(_end(match), match.start() + 1)
            address = self.seen[match.start() : end]
            if address not in self._known:
                self.removed += 1
                address = REMOVED
            parts.append(address)
            self._done = end
        # No beginning of an address or a tag has a space in it.
        undecided = None if final else _UNDECIDED.search(self.seen, max(self._done, self.seen.rfind(" ") + 1))
        parts.append(self._plain(len(self.seen) if undecided is None else undecided.start()))
        return "".join(parts)

    @cached_property
    def _known(self) -> frozenset[str]:
        return self._ask_known()

    def _plain(self, end: int) -> str:
        """The text up to `end`, in which there is no address."""
        # Searched with what follows, which decides whether a `!` begins a picture.
        start, self._done = self._done, end
        context = self.seen[start : end + _LONGEST_TAG]
        return without_pictures(context)[: end - start]


def _address(text: str, position: int) -> re.Match[str] | None:
    """The first address in `text` from `position` on."""
    # In every address is one of these; looking for them first costs a hundredth of looking for an address.
    if text.find(":", position) < 0 and text.find("//", position) < 0 and "www." not in text[position:].lower():
        return None
    return _URL.search(text, position)


_LONGEST_TAG = max(map(len, _TAGS)) + 2


def _end(match: re.Match[str]) -> int:
    """Where an address ends: before a parenthesis that it does not open, and before the sentence's punctuation."""
    depth = 0
    end = match.end()
    for position in range(match.start(), match.end()):
        depth += {"(": 1, ")": -1}.get(match.string[position], 0)
        if depth < 0:
            end = position
            break
    while end > match.start() and match.string[end - 1] in _AFTER_ADDRESS:
        end -= 1
    return end
