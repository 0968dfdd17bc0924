"""Documents and ingestion jobs, which the gateway passes on to dataprep within the scopes of the caller."""

from collections.abc import AsyncIterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar
from urllib.parse import quote

from pydantic import BaseModel

from steelyard_contracts.dataprep import (
    DeleteRequest,
    DeleteResponse,
    DocumentDetails,
    DocumentList,
    GetRequest,
    Job,
    JobList,
)
from steelyard_contracts.enums import FileStatus, Stage
from steelyard_contracts.errors import ErrorCode, SteelyardError, UpstreamError
from steelyard_runtime import context
from steelyard_runtime.upstream.http import RawReply, Upstream

from .scopes import check_writes, covered, readable, writable

Payload = TypeVar("Payload", bound=BaseModel)

_PATH = "/v1/dataprep"
_PASSING = frozenset({ErrorCode.NOT_FOUND, ErrorCode.UNSUPPORTED_TYPE})
"""Refusals of dataprep that are about what the caller asked for, and not about the gateway's own call."""


@dataclass(frozen=True, slots=True)
class Documents:
    """What a caller may do with documents. `existing` are the scopes; `dataprep` is None where there is none.

    Every method raises `documents_disabled` without a dataprep, the errors of `scopes`, and UpstreamError: dataprep's
    own error, or that it gave no usable reply.
    """

    dataprep: Upstream | None
    existing: tuple[str, ...]

    @property
    def visible(self) -> tuple[str, ...]:
        """The scopes that the caller may see."""
        return covered(self.existing, context.current().caller)

    @property
    def may_write(self) -> bool:
        """Whether the caller may upload and delete."""
        return context.current().caller.writes

    async def page(self, asked: GetRequest) -> DocumentList:
        """One page of the documents that the caller may see, of those that are asked for."""
        within = asked.model_copy(update={"scopes": list(self._readable(asked.scopes))})
        return self._read(await self._sent("POST", "/get", body=within), DocumentList)

    async def details(self, name_or_id: str, scopes: Sequence[str] | None) -> DocumentDetails:
        """The document of that id, or those of that name; raises `not_found`."""
        query = [("file_path", name_or_id), *_named(self._readable(scopes))]
        return self._read(await self._sent("GET", "/document", query), DocumentDetails)

    async def delete(self, asked: DeleteRequest) -> DeleteResponse:
        """Delete a document; raises `not_found`."""
        scopes = writable(asked.scopes, self.existing, context.current().caller)
        within = asked.model_copy(update={"scopes": list(scopes)})
        return self._read(await self._sent("POST", "/delete", body=within), DeleteResponse)

    async def ingest(self, form: AsyncIterable[bytes], described: Mapping[str, str]) -> tuple[Job, int]:
        """Pass an upload on while it comes; the job and its status, which may be that of a file's rejection.

        The form's scope is checked by dataprep, because it is wherever in the form its sender has put it.
        """
        caller = context.current().caller
        check_writes(caller)
        bound = () if caller.scopes is None else self.visible
        reply = await self._sent("POST", "/ingest", _named(bound), form=form, described=described)
        try:
            return self._upstream().read(reply, Job), reply.status
        except UpstreamError:
            return self._read(reply, Job), reply.status

    async def jobs(self, scopes: Sequence[str] | None, before: str | None, limit: int) -> JobList:
        """One page of the jobs that the caller may see, newest first."""
        query = [*_named(self._readable(scopes)), ("limit", str(limit))]
        if before is not None:
            query.append(("before", before))
        return self._read(await self._sent("GET", "/jobs", query), JobList)

    async def job(
        self, job_id: str, scopes: Sequence[str] | None, after: str | None, limit: int, status: FileStatus | None
    ) -> Job:
        """A job that the caller may see, with a page of its files; raises `not_found`."""
        query = [*_named(self._readable(scopes)), ("limit", str(limit))]
        query += [(name, value) for name, value in (("after", after), ("status", status)) if value is not None]
        return self._read(await self._sent("GET", f"/jobs/{quote(job_id, safe='')}", query), Job)

    def _readable(self, scopes: Sequence[str] | None) -> tuple[str, ...]:
        return readable(scopes, self.existing, context.current().caller)

    async def _sent(
        self,
        method: str,
        path: str,
        query: Sequence[tuple[str, str]] = (),
        *,
        body: BaseModel | None = None,
        form: AsyncIterable[bytes] | None = None,
        described: Mapping[str, str] | None = None,
    ) -> RawReply:
        content = form if body is None else body.model_dump_json(exclude_none=True).encode()
        with context.current().timed(Stage.DATAPREP):
            return await self._upstream().relay(method, _PATH + path, query=query, body=content, described=described)

    def _read(self, reply: RawReply, payload: type[Payload]) -> Payload:
        if reply.status != 200:
            raise self._upstream().refusal(reply, passing=_PASSING)
        return self._upstream().read(reply, payload)

    def _upstream(self) -> Upstream:
        if self.dataprep is None:
            raise SteelyardError(
                ErrorCode.DOCUMENTS_DISABLED, "this gateway has no ingestion service; DATAPREP_URL would name it"
            )
        return self.dataprep


def _named(scopes: Sequence[str]) -> list[tuple[str, str]]:
    return [("scopes", scope) for scope in scopes]
