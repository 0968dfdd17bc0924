"""Files on their way into the store, by the document that each will be, so that a deletion reaches them too."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from steelyard_contracts.errors import ErrorCode, SteelyardError


class Intake:
    """One file on its way; `withdrawn` once its document has been deleted after the file was accepted.

    `deletions` is how often the store knew the document to have been deleted when the file was accepted.
    """

    def __init__(self, document_id: str) -> None:
        self.document_id = document_id
        self.withdrawn = False
        self.deletions = 0

    def check(self) -> None:
        """Raise `deleted_meanwhile` for a file that was withdrawn."""
        if self.withdrawn:
            raise deleted_meanwhile()


def deleted_meanwhile() -> SteelyardError:
    """The error for a file whose document was deleted."""
    return SteelyardError(ErrorCode.DELETED_MEANWHILE, "the document was deleted while this file was on its way")


class Intakes:
    """The files of this process that are accepted and not yet published or rejected.

    Without it a deletion that is answered while a file of the same document is being embedded, or waits in line, would
    be undone a moment later, when the document was never published before: the store counts the deletions of what it
    holds, and so tells other processes of them, but has nothing to delete then.
    """

    def __init__(self) -> None:
        self._open: dict[str, set[Intake]] = {}
        self._turn = asyncio.Lock()

    def accept(self, document_id: str) -> Intake:
        """Register a file; `close` has to follow."""
        intake = Intake(document_id)
        self._open.setdefault(document_id, set()).add(intake)
        return intake

    def close(self, intake: Intake) -> None:
        """Forget a file, whatever became of it."""
        others = self._open.get(intake.document_id, set())
        others.discard(intake)
        if not others:
            self._open.pop(intake.document_id, None)

    @asynccontextmanager
    async def publishing(self, intake: Intake) -> AsyncIterator[None]:
        """The moment of publication; no deletion comes between. Raises `deleted_meanwhile`."""
        async with self._turn:
            intake.check()
            yield

    @asynccontextmanager
    async def deleting(self, document_id: str) -> AsyncIterator[bool]:
        """The moment of a deletion; says whether files are on their way. They are withdrawn unless the block raises."""
        async with self._turn:
            waiting = [intake for intake in self._open.get(document_id, ()) if not intake.withdrawn]
            yield bool(waiting)
            for intake in waiting:
                intake.withdrawn = True
