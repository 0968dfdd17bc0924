"""Asks a gateway as its users do, once or without a pause in the background, and counts what came back."""

import json
import threading
import urllib.error
import urllib.request
from collections import Counter
from types import TracebackType
from typing import Any

_TIMEOUT_S = 300


class Client:
    """Asks one gateway with one key."""

    def __init__(self, address: str, key: str, port: int = 8888) -> None:
        self._url = f"http://{address}:{port}"
        self._key = key

    def ask(self, question: str) -> str:
        """The answer to a question. Raises OSError when there is none."""
        body = {"model": "any", "messages": [{"role": "user", "content": question}]}
        answer: str = self._post("/v1/chat/completions", body)["choices"][0]["message"]["content"]
        return answer

    def inspect(self, question: str) -> dict[str, Any]:
        """What the gateway would show the model, without asking the model. Raises OSError when there is no answer."""
        return self._post("/v1/inspect", {"messages": question})

    def _post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        headers = {"Authorization": f"Bearer {self._key}", "Content-Type": "application/json"}
        request = urllib.request.Request(self._url + path, json.dumps(body).encode(), headers)
        with urllib.request.urlopen(request, timeout=_TIMEOUT_S) as reply:
            found: dict[str, Any] = json.load(reply)
            return found


class Load:
    """Asks without a pause while the `with` block runs; `counts` has how often each outcome or error came."""

    def __init__(self, client: Client, question: str) -> None:
        self._client = client
        self._question = question
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._ask_on)
        self.counts: Counter[str] = Counter()

    def __enter__(self) -> "Load":
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._thread.join()

    @property
    def lost(self) -> int:
        """The requests that were not answered."""
        return sum(count for name, count in self.counts.items() if name.startswith("lost"))

    def _ask_on(self) -> None:
        while not self._ended.wait(0.2):
            try:
                self.counts[self._client.inspect(self._question)["outcome"]] += 1
            except urllib.error.HTTPError as error:
                self.counts[f"lost: {error.code}"] += 1
            except OSError as error:
                self.counts[f"lost: {type(error).__name__}"] += 1
