"""Asks a gateway as its users do, once or over and over in the background, and counts what came back."""

import json
import threading
import urllib.error
import urllib.request
from collections import Counter
from types import TracebackType
from typing import Any

_TIMEOUT_S = 300
_PAUSE_S = 0.7
"""Between two questions, so that a laboratory on two cores is left room for what is being tested."""


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

    def evidence(self, question: str) -> list[str]:
        """The chunks that would be sent to the model, in their order. Raises OSError when there is no answer."""
        sent = [one for one in self.inspect(question)["entries"] if one["fate"] == "sent"]
        return [str(one["chunk_id"]) for one in sorted(sent, key=lambda it: it["rank"])]

    def answers(self, question: str) -> bool:
        """Whether the question finds evidence now, and nothing is missing on the way."""
        try:
            return bool(self.inspect(question)["outcome"] == "ok")
        except OSError:
            return False

    def status(self, path: str) -> int:
        """The status of a page that is asked for with the key."""
        request = urllib.request.Request(self._url + path, headers={"Authorization": f"Bearer {self._key}"})
        try:
            with urllib.request.urlopen(request, timeout=_TIMEOUT_S) as reply:
                return int(reply.status)
        except urllib.error.HTTPError as error:
            return error.code

    def _post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        headers = {"Authorization": f"Bearer {self._key}", "Content-Type": "application/json"}
        request = urllib.request.Request(self._url + path, json.dumps(body).encode(), headers)
        with urllib.request.urlopen(request, timeout=_TIMEOUT_S) as reply:
            found: dict[str, Any] = json.load(reply)
            return found


class Load:
    """Asks over and over while the `with` block runs; `counts` has how often each outcome or error came."""

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
    def asked(self) -> int:
        """The requests that were made."""
        return sum(self.counts.values())

    @property
    def shown(self) -> str:
        """How many requests were lost of how many, and how many answers had to do without a stage."""
        return f"{self.lost} of {self.asked} requests lost, {self.counts['degraded']} degraded"

    @property
    def lost(self) -> int:
        """The requests that were not answered."""
        return sum(count for name, count in self.counts.items() if name.startswith("lost"))

    def _ask_on(self) -> None:
        while not self._ended.wait(_PAUSE_S):
            try:
                self.counts[self._client.inspect(self._question)["outcome"]] += 1
            except urllib.error.HTTPError as error:
                self.counts[f"lost: {error.code}"] += 1
            except OSError as error:
                self.counts[f"lost: {type(error).__name__}"] += 1
