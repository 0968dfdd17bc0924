"""From queries and a snapshot to a manifest."""

from collections.abc import Sequence

from steelyard_contracts.enums import PairPolicy
from steelyard_models.tokenizer import TextTokenizer

from ..errors import DatasetError, RunError
from ..manifest import FrozenQuery, Manifest, ModelIdentity
from ..tell import Progress, silent
from .dataset import AnnotatedQuery
from .locating import units_of
from .snapshot import Snapshot


def freeze(
    name: str,
    queries: Sequence[AnnotatedQuery],
    snapshot: Snapshot,
    *,
    reranker: ModelIdentity,
    tokenizer: ModelIdentity,
    context_tokenizer: ModelIdentity,
    candidates: int,
    pair_limit: int,
    context_budget: int,
    on_queries: Progress = silent,
) -> Manifest:
    """Retrieve candidates for every query, find its evidence in them, and return the manifest, not yet sealed.

    `tokenizer` is the reranker's, `context_tokenizer` the one that candidates' lengths are counted with.

    Raises DatasetError when no candidate holds any evidence at all, since the annotations are then of another
    collection, and for a query that the snapshot can not search by, with its id.
    """
    frozen = []
    for number, query in enumerate(queries, start=1):
        try:
            found = snapshot.retrieve(query.query, candidates)
        except RunError as error:
            raise DatasetError(f"{name}: query {query.id!r}: {error}") from error
        frozen.append(
            FrozenQuery(
                query_id=query.id,
                query=query.query,
                segment=query.segment,
                embedding=found.embedding,
                candidates=found.candidates,
                units=units_of(query, found.candidates),
            )
        )
        on_queries(number, len(queries))
    units = [unit for query in frozen for unit in query.units]
    if units and not any(unit.places for unit in units):
        raise DatasetError(
            f"{name}: no candidate holds any of the {len(units)} annotated pieces of evidence; are document names and"
            " quotes those of this collection?"
        )
    return Manifest(
        name=name,
        corpus_revision=snapshot.corpus_revision(),
        preprocessing=snapshot.preprocessing,
        tokenizer=tokenizer,
        context_tokenizer=context_tokenizer,
        embedding_model=snapshot.embedding_model,
        reranker=reranker,
        pair_policy=PairPolicy.TRUNCATE,
        pair_limit=pair_limit,
        context_budget=context_budget,
        queries=frozen,
    )


def tokenizer_identity(tokenizer: TextTokenizer) -> ModelIdentity:
    """A tokenizer by its folder's name and the hash of its file."""
    return ModelIdentity(name=tokenizer.path.parent.name, sha256=tokenizer.sha256)
