"""Annotated data sets: one JSON object a line.

    {"id": "q1", "query": "Which seal fits AX-104-B?", "segment": "identifiers",
     "evidence": [{"document": "manual.md", "quote": "The approved seal for AX-104-B is ZQ-77.", "grade": 2},
                  {"unit": "torque", "document": "manual.md", "start": 120, "end": 168}]}

`evidence` names a document by its source name and either quotes it or gives a half-open code-point span of its stored
text. Entries of the same `unit` are the same piece of evidence in several places; without one each entry is a unit.
"""

from collections import Counter
from pathlib import Path
from typing import Self

from pydantic import Field, ValidationError, model_validator

from steelyard_contracts.base import Name, NonNegativeInt, PositiveInt, Request

from ..errors import DatasetError
from ..textfile import read_text


class Evidence(Request):
    """One place of one piece of evidence."""

    unit: Name | None = None
    document: Name
    quote: Name | None = None
    start: NonNegativeInt | None = None
    end: PositiveInt | None = None
    grade: PositiveInt = 1

    @model_validator(mode="after")
    def _quote_or_span(self) -> Self:
        spanned = self.start is not None and self.end is not None
        if (self.quote is not None) == spanned or (self.start is None) != (self.end is None):
            raise ValueError("evidence should have either quote, or start and end")
        if self.start is not None and self.end is not None and self.start >= self.end:
            raise ValueError(f"the span {self.start}:{self.end} is empty")
        if self.quote is not None and not self.quote.strip():
            raise ValueError("quote is blank")
        return self


class AnnotatedQuery(Request):
    """One line of a data set."""

    id: Name
    query: Name
    segment: Name = "all"
    evidence: list[Evidence] = Field(default_factory=list)

    @model_validator(mode="after")
    def _asks_something(self) -> Self:
        if not self.query.strip():
            raise ValueError("query is blank")
        return self


def read_dataset(path: Path) -> list[AnnotatedQuery]:
    """Read a data set; raises DatasetError naming the line and the field, and InputError."""
    queries = []
    # Not `splitlines`: a JSON text may hold line separators that are no end of a line of the file.
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        if not line.strip():
            continue
        try:
            queries.append(AnnotatedQuery.model_validate_json(line))
        except ValidationError as error:
            first = error.errors(include_input=False, include_url=False)[0]
            where = ".".join(map(str, first["loc"])) or "the line"
            message = first["msg"].removeprefix("Value error, ")
            raise DatasetError(f"{path}:{number}: {where}: {message}") from error
    for query_id, count in Counter(query.id for query in queries).items():
        if count > 1:
            raise DatasetError(f"{path}: id {query_id!r} appears {count} times")
    if not queries:
        raise DatasetError(f"{path}: has no queries")
    return queries
