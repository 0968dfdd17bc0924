"""The vector index: inverted lists around k-means centroids (IVF), searched by probing the nearest lists.

Recall is what the lists allow: with `nProbe` 1 only the nearest list is read, with `nProbe` = `nLists` the search is
exact. Training is Lloyd's algorithm from a seeded start, so equal data gives equal lists.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from tests.arangosim.errors import (
    BAD_PARAMETER,
    QUERY_FUNCTION_ARGUMENT_TYPE_MISMATCH,
    QUERY_VECTOR_INDEX_NOT_READY,
    ArangoError,
)
from tests.arangosim.indexes import Document, attribute

Matrix = npt.NDArray[np.float32]
ROWS_PER_LIST, CHUNK = 64, 4096
METRICS = ("cosine", "l2", "innerProduct")
State = Literal["unusable", "training", "ready"]


@dataclass(frozen=True)
class VectorParameters:
    """`params` of the index definition."""

    metric: str
    dimension: int
    n_lists: int
    default_n_probe: int = 1
    training_iterations: int = 25

    @classmethod
    def of(cls, params: Any) -> "VectorParameters":
        """Raises ArangoError 10 for a missing or wrong value."""
        if not isinstance(params, dict):
            raise ArangoError(BAD_PARAMETER, "vector index needs params")
        if params.get("metric") not in METRICS:
            raise ArangoError(BAD_PARAMETER, f"params.metric is {params.get('metric')!r}, not one of {METRICS}")
        numbers = {
            "dimension": params.get("dimension"),
            "nLists": params.get("nLists"),
            "defaultNProbe": params.get("defaultNProbe", 1),
            "trainingIterations": params.get("trainingIterations", 25),
        }
        for name, value in numbers.items():
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise ArangoError(BAD_PARAMETER, f"params.{name} is {value!r}, not a positive integer")
        return cls(params["metric"], *numbers.values())


def number_array(value: Any) -> npt.NDArray[Any] | None:
    """A one-dimensional array of numbers, or None when the value is no list of numbers."""
    if not isinstance(value, list):
        return None
    try:
        array = np.asarray(value)
    except ValueError:
        return None
    return array if array.ndim == 1 and array.dtype.kind in "if" else None


def as_vector(value: Any, dimension: int) -> Matrix | None:
    """float32 of shape (dimension,), or None when the value is no such array of numbers."""
    array = number_array(value)
    return None if array is None or len(array) != dimension else array.astype(np.float32)


def _unit(rows: Matrix) -> Matrix:
    norms = np.linalg.norm(rows, axis=-1, keepdims=True)
    unit: Matrix = np.divide(rows, norms, out=np.zeros_like(rows), where=norms > 0)
    return unit


def train(rows: Matrix, n_lists: int, iterations: int) -> Matrix:
    """Centroids of shape (n_lists, dimension) by Lloyd's algorithm on at most 64 rows per list.

    Rows and start are drawn with a fixed seed. A list that becomes empty keeps its centroid.
    """
    random = np.random.default_rng(7)
    if len(rows) > ROWS_PER_LIST * n_lists:
        rows = rows[np.sort(random.choice(len(rows), ROWS_PER_LIST * n_lists, replace=False))]
    centroids: Matrix = rows[np.sort(random.choice(len(rows), n_lists, replace=False))].copy()
    for _ in range(iterations):
        nearest = _nearest(rows, centroids)
        sums = np.zeros_like(centroids)
        np.add.at(sums, nearest, rows)
        sizes = np.bincount(nearest, minlength=n_lists)[:, None]
        moved: Matrix = np.where(sizes > 0, sums / np.maximum(sizes, 1), centroids).astype(np.float32)
        if np.array_equal(moved, centroids):
            break
        centroids = moved
    return centroids


def _nearest(rows: Matrix, centroids: Matrix) -> npt.NDArray[np.int64]:
    """The number of each row's nearest centroid, by Euclidean distance; ties go to the lower number."""
    norms = (centroids**2).sum(axis=1)[None, :]
    parts = [
        (norms - 2 * rows[start : start + CHUNK] @ centroids.T).argmin(axis=1) for start in range(0, len(rows), CHUNK)
    ]
    nearest: npt.NDArray[np.int64] = np.concatenate(parts)
    return nearest


@dataclass
class _Lists:
    """Trained state; `members[i]` are the vectors by document key of list i."""

    centroids: Matrix
    members: list[dict[str, Matrix]] = field(default_factory=list)
    home: dict[str, int] = field(default_factory=dict)

    def copy(self) -> "_Lists":
        return _Lists(self.centroids, [dict(member) for member in self.members], dict(self.home))


class VectorIndex:
    """`held` keeps a new index in state `training` until `train_now`, as a slow build would."""

    type = "vector"

    def __init__(
        self, index_id: str, definition: dict[str, Any], *, held: bool = False, sparse_update_bug: bool = False
    ) -> None:
        fields = definition.get("fields")
        if not isinstance(fields, list) or len(fields) != 1 or not isinstance(fields[0], str):
            raise ArangoError(BAD_PARAMETER, "a vector index has exactly one field")
        self.id = index_id
        self.name = definition.get("name") or f"idx_{index_id}"
        self.path: str = fields[0]
        self.sparse = bool(definition.get("sparse", False))
        self.parameters = VectorParameters.of(definition.get("params"))
        self.held = held
        self.sparse_update_bug = sparse_update_bug
        self._definition = definition
        self._pending: dict[str, Matrix] = {}
        self._lists: _Lists | None = None
        self._live = False

    @property
    def state(self) -> State:
        if self._lists is not None:
            return "ready"
        return "training" if len(self._pending) >= self.parameters.n_lists else "unusable"

    def definition(self) -> dict[str, Any]:
        defaults = {
            "defaultNProbe": self.parameters.default_n_probe,
            "trainingIterations": self.parameters.training_iterations,
        }
        shown = self._definition | {
            "id": self.id,
            "name": self.name,
            "sparse": self.sparse,
            "unique": False,
            "params": defaults | self._definition["params"],
            "trainingState": self.state,
        }
        if self.state == "unusable":
            shown["errorMessage"] = "not enough training data for vector index"
        return shown

    def same_as(self, definition: dict[str, Any]) -> bool:
        return (
            definition["type"] == "vector"
            and definition.get("fields") == [self.path]
            and VectorParameters.of(definition.get("params")) == self.parameters
        )

    def check(self, document: Document, replaced: Document | None) -> None:
        value = attribute(document, self.path)
        if value is None:
            if self.sparse and (replaced is None or not self.sparse_update_bug):
                return
            raise ArangoError(BAD_PARAMETER, f"vector field not present in document {document['_key']}")
        if as_vector(value, self.parameters.dimension) is None:
            size = len(value) if isinstance(value, list) else "none"
            raise ArangoError(
                BAD_PARAMETER,
                f"vector attribute '{self.path}' of document {document['_key']} is no array of numbers of the index's "
                f"dimension {self.parameters.dimension}, its length is {size}",
            )

    def put(self, document: Document) -> None:
        vector = as_vector(attribute(document, self.path), self.parameters.dimension)
        if vector is None:
            return
        if self.parameters.metric == "cosine":
            vector = _unit(vector[None, :])[0]
        if self._lists is None:
            self._pending[document["_key"]] = vector
            if not self.held and self._live:
                self.train_now()
        else:
            self._assign(self._lists, document["_key"], vector)

    def remove(self, document: Document) -> None:
        self._pending.pop(document["_key"], None)
        if self._lists is not None and document["_key"] in self._lists.home:
            number = self._lists.home.pop(document["_key"])
            del self._lists.members[number][document["_key"]]

    def clear(self) -> None:
        self._pending.clear()
        if self._lists is not None:
            self._lists.home.clear()
            for members in self._lists.members:
                members.clear()

    def fork(self) -> "VectorIndex":
        copy = VectorIndex.__new__(VectorIndex)
        copy.__dict__.update(self.__dict__)
        copy._pending = dict(self._pending)
        copy._lists = self._lists.copy() if self._lists is not None else None
        return copy

    def train_now(self) -> bool:
        """Train when there is data enough; true when the index is ready afterwards."""
        if self._lists is None and len(self._pending) >= self.parameters.n_lists:
            rows = np.stack(list(self._pending.values()))
            lists = _Lists(train(rows, self.parameters.n_lists, self.parameters.training_iterations))
            lists.members = [{} for _ in range(self.parameters.n_lists)]
            homes = _nearest(rows, lists.centroids)
            for (key, vector), number in zip(self._pending.items(), homes.tolist(), strict=True):
                lists.members[number][key] = vector
                lists.home[key] = number
            self._lists, self._pending, self.held = lists, {}, False
        self._live = True
        return self._lists is not None

    def search(
        self, query: Any, count: int, n_probe: int | None, accepts: Callable[[str], bool]
    ) -> Iterable[tuple[str, float]]:
        """The best `count` (document key, score) among the probed lists, best first, ties by key.

        Scores are cosine similarity or inner product (higher first) or Euclidean distance (lower first). Documents
        that `accepts` refuses are skipped without probing further lists. Raises ArangoError 1542 and 1555.
        """
        if self._lists is None:
            raise ArangoError(QUERY_VECTOR_INDEX_NOT_READY, f"index {self.name} is in state {self.state}")
        vector = as_vector(query, self.parameters.dimension)
        if vector is None:
            raise ArangoError(
                QUERY_FUNCTION_ARGUMENT_TYPE_MISMATCH,
                f"the query vector is not an array of {self.parameters.dimension} numbers",
            )
        if self.parameters.metric == "cosine":
            vector = _unit(vector[None, :])[0]
        probes = min(n_probe or self.parameters.default_n_probe, self.parameters.n_lists)
        scored: list[tuple[str, float]] = []
        for number in self._probed(self._lists, vector, probes):
            members = self._lists.members[number]
            kept = [key for key in members if accepts(key)]
            if kept:
                scored += zip(kept, self._scores(np.stack([members[key] for key in kept]), vector), strict=True)
        sign = 1 if self.parameters.metric == "l2" else -1
        return sorted(scored, key=lambda pair: (sign * pair[1], pair[0]))[:count]

    def _assign(self, lists: _Lists, key: str, vector: Matrix) -> None:
        number = int(_nearest(vector[None, :], lists.centroids)[0])
        lists.members[number][key] = vector
        lists.home[key] = number

    def _probed(self, lists: _Lists, vector: Matrix, probes: int) -> list[int]:
        if self.parameters.metric == "l2":
            order = np.argsort(((lists.centroids - vector) ** 2).sum(axis=1), kind="stable")
        else:
            order = np.argsort(-(lists.centroids @ vector), kind="stable")
        return [int(number) for number in order[:probes]]

    def _scores(self, rows: Matrix, vector: Matrix) -> list[float]:
        if self.parameters.metric == "l2":
            return [float(value) for value in np.sqrt(((rows - vector) ** 2).sum(axis=1))]
        return [float(value) for value in rows @ vector]
