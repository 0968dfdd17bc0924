"""The web pages as people use them, in a real browser: mouse, keyboard, screen reader, and a hostile document."""

import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import requests

from tests.browser.accessibility import faults
from tests.browser.conftest import HANDBOOK, HOSTILE, HOSTILE_NAME
from tests.browser.devtools import Page
from tests.contract.keyed_gateway import keys
from tests.harness.processes import start, wait_ready
from tests.harness.stack import Stack, post

Visit = Callable[..., Any]

QUESTION = "Which seal is approved for AX-104-B?"
SEAL = "The approved seal for AX-104-B is ZQ-77."
BOLTS = "Cover bolts are tightened to 35 Nm in two passes."
CITATION = "#answer sup button"
ANSWERED = "document.querySelector('#account a')"


def asked(stack: Stack, question: str = QUESTION) -> str:
    """The ledger of an answer."""
    reply = post(stack.chatqna, "/v1/chatqna", {"messages": question, "stream": False})
    return str(reply.json()["steelyard"]["ledger_id"])


async def ask(page: Page, url: str, question: str = QUESTION) -> None:
    await page.open(url)
    await page.js("document.querySelector('#question').focus()")
    await page.type(question)
    await page.press("Ctrl+Enter")


def test_an_answer_streams_and_a_citation_shows_its_span_in_the_document(stack: Stack, visit: Visit) -> None:
    stack.llm.answer = lambda messages: f"{SEAL} {BOLTS}"
    stack.llm.pause_after = "Cover"

    async def work(page: Page) -> None:
        await ask(page, stack.chatqna.url)
        await page.until("document.querySelector('#answer').textContent.includes('ZQ-77')")
        assert "35 Nm" not in await page.js("document.querySelector('#answer').textContent")
        assert await page.js("!document.querySelector('#stop').hidden")
        stack.llm.resumed.set()
        await page.until(ANSWERED)
        assert await page.js("document.querySelector('#stop').hidden")
        text = await page.js("document.querySelector('#answer').textContent")
        assert re.sub(r"\d(?=The|Cover|$| Cover)", "", text) == f"{SEAL} {BOLTS}"
        assert await page.js("document.querySelector('#span').hidden")
        await page.hover(CITATION)
        await page.until("!document.querySelector('#span').hidden")
        shown = await page.js("document.querySelector('#span').innerText")
        place, quote = shown.split("\n", 1)
        assert quote.strip() == SEAL
        start_at, end = map(int, re.findall(r"characters (\d+) to (\d+)", place)[0])
        assert HANDBOOK[start_at:end] == SEAL
        await page.hover("h1")
        await page.until("document.querySelector('#span').hidden")
        assert SEAL in await page.js("document.querySelector('#sources').innerText")

    visit(work)


def test_a_second_question_goes_with_the_first_until_a_new_conversation_begins(stack: Stack, visit: Visit) -> None:
    stack.llm.answer = lambda messages: BOLTS if "bolts" in messages[-1]["content"].rsplit("Question:")[1] else SEAL

    def said_before() -> list[str]:
        messages: Any = stack.llm.requests[-1]["messages"]
        return [message["content"] for message in messages[1:-1]]

    async def work(page: Page) -> None:
        await ask(page, stack.chatqna.url)
        await page.until(ANSWERED)
        assert said_before() == []
        assert await page.js("document.querySelector('#question').value") == ""
        assert await page.js("document.querySelector('#earlier-card').hidden")
        await page.js("document.querySelector('#question').focus()")
        await page.type("And the cover bolts?")
        await page.press("Ctrl+Enter")
        await page.until(f"{ANSWERED} && document.querySelector('#answer').textContent.includes('35 Nm')")
        assert said_before() == [QUESTION, SEAL]
        assert (await page.js("document.querySelector('#earlier').innerText")).split("\n\n") == [QUESTION, SEAL]
        assert await page.js("document.querySelector('#asked').textContent") == "And the cover bolts?"
        await page.js("document.querySelector('#anew').click()")
        assert await page.js("document.querySelector('#answer-card').hidden")
        assert (await page.focused())["id"] == "question"
        await page.type(QUESTION)
        await page.press("Ctrl+Enter")
        await page.until(ANSWERED)
        assert said_before() == []
        assert await page.js("document.querySelector('#earlier-card').hidden")

    visit(work)


def test_an_answer_that_was_stopped_is_not_part_of_the_conversation(stack: Stack, visit: Visit) -> None:
    stack.llm.answer = lambda messages: f"{SEAL} {BOLTS}"
    stack.llm.pause_after = "Cover"

    async def work(page: Page) -> None:
        await ask(page, stack.chatqna.url)
        await page.until("document.querySelector('#answer').textContent.includes('ZQ-77')")
        await page.js("document.querySelector('#stop').click()")
        await page.until("document.querySelector('#notices').textContent.includes('Stopped')")
        assert await page.js("document.querySelector('#anew').hidden")
        assert await page.js("document.querySelector('#question').value") == QUESTION
        stack.llm.resumed.set()

    visit(work)


def test_everything_can_be_done_with_the_keyboard(stack: Stack, visit: Visit) -> None:
    stack.llm.answer = lambda messages: SEAL

    async def tab_to(page: Page, wanted: Callable[[dict[str, Any]], bool]) -> None:
        for _ in range(30):
            await page.press("Tab")
            here = await page.focused()
            assert here["seen"], f"nobody sees that {here} has the focus"
            if wanted(here):
                return
        raise AssertionError("the keyboard does not get there")

    async def work(page: Page) -> None:
        await page.open(stack.chatqna.url)
        await page.press("Tab")
        assert (await page.focused())["text"] == "Skip to the content"
        await page.press("Enter")
        await tab_to(page, lambda here: here["id"] == "question")
        await page.type(QUESTION)
        await tab_to(page, lambda here: here["text"] == "Ask")
        await page.press("Enter")
        await page.until(ANSWERED)
        await tab_to(page, lambda here: here["tag"] == "button" and here["text"].isdigit())
        assert SEAL in await page.js("document.querySelector('#span:not([hidden])').innerText")
        await page.press("Escape")
        assert await page.js("document.querySelector('#span').hidden")
        await page.press("Enter")
        assert (await page.focused())["id"].startswith("source-")
        await page.js("document.querySelector('#answer sup button').focus()")
        await tab_to(page, lambda here: here["text"] == "See the evidence")
        await page.press("Enter")
        await page.loaded()
        await page.until("document.querySelector('#selection strong')")
        await tab_to(page, lambda here: here["name"] == "min_value_threshold")
        before = await page.js("document.querySelector('#selection').innerText")
        assert "exactly as recorded" in before
        await page.press("Home")
        await page.until("!document.querySelector('#selection').innerText.includes('exactly as recorded')")

    visit(work)


def test_a_slider_replays_the_selection_as_the_api_does(stack: Stack, visit: Visit) -> None:
    ledger_id = asked(stack)

    async def work(page: Page) -> tuple[str, str]:
        await page.open(f"{stack.chatqna.url}/evidence?ledger={ledger_id}")
        await page.until("document.querySelector('#selection strong')")
        recorded = await page.js("document.querySelector('#selection strong').innerText")
        await page.js("document.querySelector('input[name=min_value_threshold]').focus()")
        await page.press("Home")
        await page.until("document.querySelector('#selection tr.changed')")
        least = await page.js("document.querySelector('input[name=min_value_threshold]').value")
        assert least == await page.js("document.querySelector('output[for=min_value_threshold]').textContent")
        return recorded, await page.js("document.querySelector('#selection strong').innerText")

    recorded, moved = visit(work)
    body = {"ledger_id": ledger_id, "settings": {"min_value_threshold": -4.0}}
    replayed = post(stack.chatqna, "/v1/replay", body).json()
    assert recorded == f"{len(replayed['before']['sent'])} kept"
    assert moved == f"{len(replayed['after']['sent'])} kept"
    assert moved != recorded


def test_a_ledger_is_found_by_its_id(stack: Stack, visit: Visit) -> None:
    ledger_id = asked(stack)

    async def work(page: Page) -> None:
        await page.open(f"{stack.chatqna.url}/evidence")
        await page.until("document.querySelector('#newest-title')")
        await page.js("document.querySelector('#ledger').focus()")
        await page.type(ledger_id)
        await page.press("Enter")
        await page.loaded()
        await page.until(f"document.querySelector('#question-title')?.innerText === {QUESTION!r}")

    visit(work)


@pytest.mark.parametrize("path", ["/", "/documents", "/evidence", "/evidence?ledger={}", "/services"])
def test_a_page_is_accessible_and_complains_of_nothing(stack: Stack, visit: Visit, path: str) -> None:
    stack.llm.answer = lambda messages: f"{SEAL} The pump is painted black."
    ledger_id = asked(stack)

    async def work(page: Page) -> list[str]:
        if path == "/":
            await ask(page, stack.chatqna.url)
            await page.until(ANSWERED)
            await page.hover(CITATION)
        else:
            await page.open(stack.chatqna.url + path.format(ledger_id))
            await page.until("document.querySelector('table, #selection strong')")
            await page.js("document.querySelectorAll('details').forEach((one) => (one.open = true))")
        return await faults(page)

    assert visit(work) == []


def test_what_is_not_supported_and_what_went_wrong_is_said_to_everybody(stack: Stack, visit: Visit) -> None:
    stack.llm.answer = lambda messages: f"{SEAL} The pump is painted black."

    async def unsupported(page: Page) -> None:
        await ask(page, stack.chatqna.url)
        await page.until(ANSWERED)
        assert await page.js("document.querySelector('.unsupported').innerText") == "The pump is painted black."
        [notices] = [node for node in await page.accessible() if node["role"] == "status" and node["live"] == "polite"]
        assert notices
        assert "not supported" in await page.js("document.querySelector('#notices').innerText")

    async def broken(page: Page) -> None:
        await ask(page, stack.chatqna.url)
        await page.until("document.querySelector('#notices').innerText")
        assert "llm is overloaded" in await page.js("document.querySelector('#notices').innerText")
        assert await page.js("document.querySelector('#stop').hidden")

    visit(unsupported)
    stack.llm.fault = "503"
    visit(broken, "the server responded with a status of")


def test_an_answer_can_be_stopped(stack: Stack, visit: Visit) -> None:
    stack.llm.answer = lambda messages: f"{SEAL} {BOLTS}"
    stack.llm.pause_after = "Cover"

    async def work(page: Page) -> None:
        await ask(page, stack.chatqna.url)
        await page.until("document.querySelector('#answer').textContent.includes('ZQ-77')")
        await page.js("document.querySelector('#stop').focus()")
        await page.press("Enter")
        await page.until("document.querySelector('#notices').innerText.includes('Stopped')")
        assert await page.js("document.querySelector('#stop').hidden")

    visit(work)
    assert stack.llm.cancelled.wait(30)


def test_what_a_document_or_a_model_writes_is_text(stack: Stack, visit: Visit) -> None:
    written = "The filter is replaced every 90 days. <img src=x onerror=alert(4)> [a](javascript:alert(5))"
    stack.llm.answer = lambda messages: written
    question = "How often is the filter replaced?"
    ledger_id = asked(stack, question)

    async def work(page: Page) -> None:
        await ask(page, stack.chatqna.url, question)
        await page.until(ANSWERED)
        assert HOSTILE_NAME.removesuffix(".md") in await page.js("document.querySelector('#sources').innerText")
        await page.open(f"{stack.chatqna.url}/evidence?ledger={ledger_id}")
        await page.until("document.querySelector('#selection strong')")
        await page.js("document.querySelectorAll('details').forEach((one) => (one.open = true))")
        assert HOSTILE in await page.js("document.querySelector('main').innerText")
        assert await page.js("document.querySelectorAll('main img, main script, main [onload]').length") == 0

    visit(work)


def test_a_gateway_with_keys_asks_for_one_and_keeps_it_for_the_tab(stack: Stack, visit: Visit, tmp_path: Path) -> None:
    key = keys(tmp_path / "keys.json", "add", "reader", "--scope", "public")
    gateway = start(
        "chatqna",
        {
            "API_KEYS_FILE": str(tmp_path / "keys.json"),
            "LEDGER_PATH": str(tmp_path / "ledgers.db"),
            "EMBEDDING_URL": stack.embedding.url,
            "RETRIEVER_URL": stack.retriever.url,
            "RERANKER_URL": stack.reranker.url,
            "LLM_URL": stack.llm.url,
        },
    )

    async def work(page: Page) -> None:
        await ask(page, gateway.url)
        await page.until("document.querySelector('#notices').innerText.includes('key')")
        await page.open(f"{gateway.url}/evidence")
        await page.until("document.querySelector('#page-error').innerText.includes('key')")
        await page.js("document.querySelector('#key-button').focus()")
        await page.press("Enter")
        await page.until("document.querySelector('#key-dialog').open")
        assert (await page.focused())["id"] == "key-input"
        await page.press("Escape")
        await page.until("!document.querySelector('#key-dialog').open")
        assert (await page.focused())["id"] == "key-button"
        await page.press("Enter")
        await page.type(key)
        await page.press("Enter")
        await page.loaded()
        await page.until("document.querySelector('#newest-title')")
        await ask(page, gateway.url)
        await page.until(ANSWERED)

    try:
        wait_ready(gateway)
        visit(work, "the server responded with a status of 401", "Status Error Code 401")
        listed = requests.get(f"{gateway.url}/v1/ledgers", headers={"Authorization": f"Bearer {key}"}, timeout=30)
        assert len(listed.json()["ledgers"]) == 1
    finally:
        gateway.stop()


def planted(script: str) -> Callable[[Page, str], Awaitable[list[str]]]:
    async def work(page: Page, url: str) -> list[str]:
        await page.open(url)
        await page.js(script)
        await page.js("new Promise((done) => setTimeout(done, 50))")
        return [*page.complaints, *await faults(page)]

    return work


@pytest.mark.parametrize(
    ("defect", "said"),
    [
        ("document.body.append(Object.assign(document.createElement('script'), {text: '1'}))", "ContentSecurityPolicy"),
        ("document.body.setAttribute('style', 'color: red')", "ContentSecurityPolicy"),
        ("console.error('planted')", "planted"),
        ("void Promise.reject(new Error('planted'))", "planted"),
        ("fetch('/static/nothing.js').then(() => 1)", "404"),
        ("document.querySelector('main').append(document.createElement('button'))", "a button without a name"),
        ("document.querySelector('#question').outerHTML = '<textarea></textarea>'", "a textbox without a name"),
        ("document.querySelector('h1').outerHTML = '<h4>x</h4>'", "headings of level 1"),
        ("document.querySelector('h1').style.color = '#999'", "too faint in light"),
        ("document.querySelector('h1').style.width = '500px'", "px wide in a window of 320"),
        ("document.querySelector('nav').outerHTML = '<p>x</p>'", "0 landmarks navigation"),
    ],
)
def test_the_browser_and_the_rules_see_what_is_planted(stack: Stack, visit: Visit, defect: str, said: str) -> None:
    work = planted(defect)
    seen = visit(lambda page: work(page, stack.chatqna.url), "Security", "planted", "404", "issue")
    assert any(said in one for one in seen), seen
