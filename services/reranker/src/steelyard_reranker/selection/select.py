"""The one entry point: scored candidates in, a decision about each of them out."""

from steelyard_contracts.enums import Reason, Strategy

from .adaptive import adaptive_reasons
from .candidates import Candidates
from .cutoffs import slice_reasons, slice_threshold_reasons, threshold_reasons
from .embeddings import Embeddings
from .errors import EmbeddingMisalignedError, UnknownStrategyError
from .knee import knee_reasons
from .result import Selection, ValueTerms, decide
from .settings import SelectionSettings
from .text_identity import duplicate_positions


def select(
    strategy: Strategy | str, candidates: Candidates, settings: SelectionSettings, embeddings: Embeddings | None = None
) -> Selection:
    """Choose which candidates are kept and say of each one why.

    The order of the input does not matter: everything happens in `Candidates.canonical_order`. Blank texts were never
    scored, so every strategy drops them as `blank_text` before it applies its rule. `adaptive` then drops duplicate
    texts, and only it does; what it weighs, and the mean and median it weighs with, is what remains.

    No candidates give an empty selection under every strategy, without a look at `embeddings`.

    Raises:
        UnknownStrategyError: `strategy` is none of the five.
        EmbeddingMisalignedError: `adaptive` and n >= 1, and the query or any candidate, be it blank or a duplicate, is
            without a usable vector (see `Embeddings.align`).
    """
    rule = parse_strategy(strategy)
    order, readable = candidates.canonical_order()
    scores = candidates.scores[order[:readable]]
    terms: list[ValueTerms | None] = [None] * len(order)
    match rule:
        case Strategy.SLICE:
            reasons = slice_reasons(scores, settings.top_n)
        case Strategy.THRESHOLD:
            reasons = threshold_reasons(scores, settings.threshold)
        case Strategy.SLICE_THRESHOLD:
            reasons = slice_threshold_reasons(scores, settings.top_n, settings.threshold)
        case Strategy.KNEE_THRESHOLD:
            reasons = knee_reasons(scores)
        case Strategy.ADAPTIVE:
            reasons, terms[:readable] = _weigh(candidates, order, readable, settings, embeddings)
    reasons += [Reason.BLANK_TEXT] * (len(order) - readable)
    return Selection(rule, decide((candidates.chunk_ids[index] for index in order), reasons, terms))


def parse_strategy(name: Strategy | str) -> Strategy:
    """Return the strategy of that exact name.

    Raises:
        UnknownStrategyError: there is none.
    """
    try:
        return Strategy(name)
    except ValueError as error:
        raise UnknownStrategyError(f"strategy must be one of {', '.join(Strategy)}, got {name!r}") from error


def _weigh(
    candidates: Candidates, order: list[int], readable: int, settings: SelectionSettings, embeddings: Embeddings | None
) -> tuple[list[Reason], list[ValueTerms | None]]:
    """Apply `adaptive` to the readable candidates; their reasons and terms come in canonical order."""
    if not order:
        return [], []
    if embeddings is None:
        raise EmbeddingMisalignedError(f"strategy adaptive got no embeddings for {len(order)} candidates")
    units = embeddings.align([candidates.chunk_ids[index] for index in order])
    duplicates = duplicate_positions([candidates.texts[index] for index in order[:readable]])
    weighed = [position for position in range(readable) if position not in duplicates]
    if len(weighed) < len(order):
        units = units.rows(weighed)
    rows = [order[position] for position in weighed]
    weighed_reasons, weighed_terms = adaptive_reasons(
        candidates.scores[rows], candidates.token_counts[rows], units, settings
    )
    reasons = [Reason.DUPLICATE] * readable
    terms: list[ValueTerms | None] = [None] * readable
    for position, reason, value in zip(weighed, weighed_reasons, weighed_terms, strict=True):
        reasons[position] = reason
        terms[position] = value
    return reasons, terms
