"""Batches of texts for a remote server, and which text of a refused batch was the reason.

A score of a pointwise model depends on its own pair alone, so its texts may be sent in any number of requests. A
listwise model's may not: they are sent in one, and what is refused is refused whole.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from steelyard_runtime.batches import ask_all, batches

from ..row_fault import RowFault, RowReason
from .port import RerankBackendError
from .reasons import BackendReason

Ask = Callable[[Sequence[str]], Awaitable[list[float]]]
"""Sends texts in one request. Raises RerankBackendError `rejected` for what the server refused to read."""
AskNamed = Callable[[Sequence[str]], Awaitable[tuple[list[float], str | None]]]
"""The same for a server that may name the model which scored; None when a reply names none."""

ISOLATION_CALLS = 16
"""Requests that may be spent in all on finding refused texts; the longest of 100 takes 9."""

WITNESSES = 3
"""Texts that are tried alone until the server reads one; one that refuses so many refuses the request, not a text."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What one request may hold: `rows` texts, and `text_bytes` of UTF-8 in all of them together."""

    rows: int
    text_bytes: int
    pointwise: bool = True


async def scored(texts: Sequence[str], ask: Ask, limits: Limits) -> list[float | RowFault]:
    """Return the score of each text, or the fault of that text alone.

    See `ask_all` for how they are sent. Raises RerankBackendError when any batch fails, since scores of half of the
    texts are no reply, and when the server refuses every text that it was sent.
    """
    scores: list[float | RowFault | None] = [None] * len(texts)
    sendable = []
    for row, text in enumerate(texts):
        size = len(text.encode())
        if size > limits.text_bytes:
            scores[row] = RowFault(
                RowReason.TEXT_TOO_LONG, f"the text has {size} bytes, one request takes {limits.text_bytes}"
            )
        else:
            sendable.append((row, size))
    parts = list(batches(sendable, limits.rows, limits.text_bytes))
    if len(parts) > 1 and not limits.pointwise:
        raise RerankBackendError(
            BackendReason.REJECTED,
            f"{len(texts)} texts do not fit one request, and a listwise model's can not be split",
        )
    isolation = _Isolation(texts, ask, ISOLATION_CALLS if limits.pointwise else 0)

    async def score(batch: Sequence[int]) -> None:
        for row, score in (await isolation.scores(batch)).items():
            scores[row] = score

    await ask_all(score, parts)
    answers = [score for score in scores if score is not None]
    if sendable and not isolation.read:
        raise RerankBackendError(BackendReason.REJECTED, isolation.refused)
    return answers


async def scored_by_one(
    texts: Sequence[str], ask: AskNamed, limits: Limits
) -> tuple[list[float | RowFault], str | None]:
    """Do as `scored` does, and return also the model that the replies name, None when none names one.

    Raises RerankBackendError `bad_reply` when they name two: scores of two models are no one list.
    """
    named: set[str] = set()

    async def asked(batch: Sequence[str]) -> list[float]:
        scores, model = await ask(batch)
        if model is not None:
            named.add(model)
        return scores

    scores = await scored(texts, asked, limits)
    if len(named) > 1:
        raise RerankBackendError(BackendReason.BAD_REPLY, f"the batches were scored by {' and '.join(sorted(named))}")
    return scores, next(iter(named), None)


class _Isolation:
    """Finds the texts for which a server refuses a batch, by halving what it refuses.

    Rows are halved in order of length, because length is the usual reason and the long ones then share a half. The
    shortest texts are tried alone first, until one is read. `read` says whether the server has read any text at all,
    `refused` how it refused the last one.
    """

    def __init__(self, texts: Sequence[str], ask: Ask, calls: int) -> None:
        self._texts = texts
        self._ask = ask
        self._calls = calls
        self.read = False
        self.refused = ""

    async def scores(self, rows: Sequence[int]) -> dict[int, float | RowFault]:
        try:
            return await self._send(rows)
        except RerankBackendError as error:
            if error.reason != BackendReason.REJECTED or self._calls == 0:
                raise
            if len(rows) == 1:
                self._spend()
                return {rows[0]: self._fault(str(error))}
        left = sorted(rows, key=lambda row: len(self._texts[row]), reverse=True)
        found: dict[int, float | RowFault] = {}
        while left:
            row = left.pop()
            scores, refused = await self._attempt([row])
            if refused is None:
                others = left[::-1]
                # Without a fault so far it is the others that hold the refused one.
                return {**found, **scores, **await (self._tried(others) if found else self._within(others, None))}
            found[row] = self._fault(refused)
            if len(found) == WITNESSES and not self.read:
                raise RerankBackendError(BackendReason.REJECTED, refused)
        return found

    async def _within(self, rows: Sequence[int], refused: str | None) -> dict[int, float | RowFault]:
        """Scores of rows that hold a refused one. `refused` says how, when it was these rows that were refused."""
        if len(rows) == 1 and refused is not None:
            return {rows[0]: self._fault(refused)}
        left, right = rows[: len(rows) // 2], rows[len(rows) // 2 :]
        if not left:
            return await self._tried(right)
        scores, refused = await self._attempt(left)
        if refused is None:
            # Then it is the other half that holds one: it is halved without being sent.
            return {**scores, **await self._within(right, refused=None)}
        return {**await self._within(left, refused), **await self._tried(right)}

    async def _tried(self, rows: Sequence[int]) -> dict[int, float | RowFault]:
        """Scores of rows that may all be right."""
        if not rows:
            return {}
        scores, refused = await self._attempt(rows)
        return scores if refused is None else await self._within(rows, refused)

    async def _attempt(self, rows: Sequence[int]) -> tuple[dict[int, float | RowFault], str | None]:
        """Scores, or how the rows were refused."""
        self._spend()
        try:
            return await self._send(rows), None
        except RerankBackendError as error:
            if error.reason != BackendReason.REJECTED:
                raise
            return {}, str(error)

    async def _send(self, rows: Sequence[int]) -> dict[int, float | RowFault]:
        scores = await self._ask([self._texts[row] for row in rows])
        self.read = True
        return dict(zip(rows, scores, strict=True))

    def _fault(self, refused: str) -> RowFault:
        self.refused = refused
        return RowFault(RowReason.TEXT_REFUSED, refused)

    def _spend(self) -> None:
        if self._calls == 0:
            raise RerankBackendError(
                BackendReason.REJECTED,
                f"the server refused more texts than {ISOLATION_CALLS} requests could tell apart",
            )
        self._calls -= 1
