"""A headless Chromium, driven over its DevTools protocol: pages opened, keys pressed, and everything that went wrong.

Nothing here waits for a time to pass: conditions are looked at in the page, at each of its frames, until they hold.
"""

import asyncio
import itertools
import json
import os
import shutil
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp

BINARIES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
PATIENCE_S = 60.0
"""How long anything may take before the test fails; a busy machine needs seconds."""

_FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-extensions", "--mute-audio",
    "--remote-debugging-port=0", "about:blank",
)  # fmt: skip
_KEYS = {"Tab": 9, "Enter": 13, "Escape": 27, "ArrowLeft": 37, "ArrowRight": 39, "ArrowDown": 40, "Home": 36}
_TEXTS = {"Enter": "\r"}
_MODIFIERS = {"Ctrl": 2, "Shift": 8}


def binary() -> str | None:
    """Where a Chromium is, or None."""
    return next((found for name in BINARIES if (found := shutil.which(name))), None)


@dataclass
class Page:
    """One tab. `complaints` are console errors, uncaught exceptions, and what the browser itself reported."""

    socket: aiohttp.ClientWebSocketResponse
    session_id: str
    complaints: list[str] = field(default_factory=list)
    _numbers: Any = field(default_factory=lambda: itertools.count(1))
    _waiting: dict[int, asyncio.Future[Any]] = field(default_factory=dict)
    _loaded: asyncio.Event = field(default_factory=asyncio.Event)

    async def call(self, method: str, *, session: bool = True, **parameters: Any) -> Any:
        """Call a method of the protocol; fails with its own error."""
        number = next(self._numbers)
        self._waiting[number] = asyncio.get_running_loop().create_future()
        message = {"id": number, "method": method, "params": parameters}
        await self.socket.send_str(json.dumps(message | ({"sessionId": self.session_id} if session else {})))
        async with asyncio.timeout(PATIENCE_S):
            return await self._waiting[number]

    async def open(self, url: str) -> None:
        """Go to `url` and wait until it and what it loads have loaded."""
        self._loaded.clear()
        await self.call("Page.navigate", url=url)
        await self.loaded()

    async def loaded(self) -> None:
        """Wait for the next load, and begin to wait for the one after it."""
        async with asyncio.timeout(PATIENCE_S):
            await self._loaded.wait()
        self._loaded.clear()

    async def js(self, expression: str) -> Any:
        """The value of an expression, of the promise's outcome if it is one."""
        reply = await self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in reply, f"{expression}: {reply['exceptionDetails']}"
        return reply["result"].get("value")

    async def until(self, condition: str) -> Any:
        """Wait until `condition` is true in the page, and return its value."""
        try:
            async with asyncio.timeout(PATIENCE_S):
                return await self.js(
                    "new Promise((done) => { const look = () => {"
                    f"const seen = ({condition}); seen ? done(seen) : setTimeout(look, 10); }}; look(); }})"
                )
        except TimeoutError:
            raise AssertionError(
                f"{condition} never came true; the page: {await self.js('document.body.innerText')}; {self.complaints}"
            ) from None

    async def type(self, text: str) -> None:
        """Type into whatever has the focus."""
        await self.call("Input.insertText", text=text)

    async def choose(self, selector: str, *paths: Path) -> None:
        """Choose files in a file field, as its dialog does."""
        found = await self.call("Runtime.evaluate", expression=f"document.querySelector({selector!r})")
        await self.call("DOM.setFileInputFiles", files=list(map(str, paths)), objectId=found["result"]["objectId"])

    async def press(self, key: str) -> None:
        """Press a key, such as `Tab`, `Shift+Tab` or `Ctrl+Enter`."""
        *held, name = key.split("+")
        common = {
            "key": name, "code": name, "windowsVirtualKeyCode": _KEYS[name],
            "modifiers": sum(_MODIFIERS[one] for one in held),
        }  # fmt: skip
        await self.call("Input.dispatchKeyEvent", type="keyDown", text=_TEXTS.get(name, ""), **common)
        await self.call("Input.dispatchKeyEvent", type="keyUp", **common)

    async def hover(self, selector: str) -> None:
        """Move the mouse to the middle of an element."""
        left, top = await self.js(
            f"(() => {{ const one = document.querySelector({selector!r}); one.scrollIntoView({{block: 'center'}});"
            "const box = one.getBoundingClientRect(); return [box.x + box.width / 2, box.y + box.height / 2] })()"
        )
        await self.call("Input.dispatchMouseEvent", type="mouseMoved", x=left, y=top)

    async def focused(self) -> dict[str, Any]:
        """Of the element that has the focus: its name in the page, its text, and whether one can see that it has it."""
        found = await self.js(
            "(() => { const one = document.activeElement; const style = getComputedStyle(one); return {"
            "tag: one.tagName.toLowerCase(), id: one.id, name: one.name ?? '', text: one.innerText ?? '',"
            "seen: style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2 } })()"
        )
        assert isinstance(found, dict)
        return found

    async def accessible(self) -> list[dict[str, Any]]:
        """The nodes of the accessibility tree that a screen reader would meet: role, name and level."""
        tree = await self.call("Accessibility.getFullAXTree")
        return [
            {
                "role": node["role"]["value"],
                "name": node.get("name", {}).get("value", ""),
                **{one["name"]: one["value"].get("value") for one in node.get("properties", [])},
            }
            for node in tree["nodes"]
            if not node.get("ignored")
        ]

    async def listen(self) -> None:
        """Take in what the browser says until it closes; run beside everything else."""
        async for message in self.socket:
            said = json.loads(message.data)
            if said.get("id") in self._waiting:
                future = self._waiting.pop(said["id"])
                if not future.done():
                    failed = "error" in said
                    future.set_exception(AssertionError(said["error"])) if failed else future.set_result(said["result"])
                continue
            self._note(said.get("method"), said.get("params", {}))

    def _note(self, event: str | None, said: dict[str, Any]) -> None:
        if event == "Page.loadEventFired":
            self._loaded.set()
        elif event == "Runtime.exceptionThrown":
            details = said["exceptionDetails"]
            self.complaints.append(f"exception: {details.get('exception', {}).get('description', details['text'])}")
        elif event == "Runtime.consoleAPICalled" and said["type"] in ("error", "warning", "assert"):
            self.complaints.append(f"console: {[one.get('value', one.get('description')) for one in said['args']]}")
        elif event == "Log.entryAdded" and said["entry"]["level"] in ("error", "warning"):
            self.complaints.append(f"{said['entry']['source']}: {said['entry']['text']} {said['entry'].get('url', '')}")
        elif event == "Audits.issueAdded":
            self.complaints.append(f"issue: {said['issue']['code']} {said['issue']['details']}")


@asynccontextmanager
async def chromium() -> AsyncIterator[Page]:
    """A fresh browser with one tab, gone afterwards with all that it wrote."""
    found = binary()
    assert found is not None
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        process = await asyncio.create_subprocess_exec(
            found, f"--user-data-dir={folder}", *_FLAGS, env={**os.environ, "TMPDIR": folder},
            stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        assert process.stderr is not None
        draining = None
        try:
            async with asyncio.timeout(PATIENCE_S):
                address = ""
                while "DevTools listening on " not in address:
                    address = (await process.stderr.readline()).decode()
                    assert address, "the browser ended before it listened"
            draining = asyncio.create_task(_drain(process.stderr))
            async with (
                aiohttp.ClientSession() as session,
                session.ws_connect(address.rpartition(" ")[2].strip(), max_msg_size=0) as socket,
            ):
                page = Page(socket, "")
                listening = asyncio.create_task(page.listen())
                try:
                    await _attach(page)
                    yield page
                finally:
                    listening.cancel()
                    await asyncio.gather(listening, return_exceptions=True)
        finally:
            process.kill()
            await process.wait()
            if draining is not None:
                await draining


async def _attach(page: Page) -> None:
    targets = await page.call("Target.getTargets", session=False)
    tab = next(one["targetId"] for one in targets["targetInfos"] if one["type"] == "page")
    attached = await page.call("Target.attachToTarget", session=False, targetId=tab, flatten=True)
    page.session_id = attached["sessionId"]
    for domain in ("Page", "Runtime", "Log", "Audits", "Accessibility"):
        await page.call(f"{domain}.enable")


async def _drain(stream: asyncio.StreamReader) -> None:
    while await stream.readline():
        pass
