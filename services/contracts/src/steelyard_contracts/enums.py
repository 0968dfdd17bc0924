"""The closed vocabularies that appear on the wire. A value that is not listed here is refused, never guessed."""

from enum import StrEnum


class Strategy(StrEnum):
    """How scored candidates are turned into the set that is sent to the model."""

    SLICE = "slice"
    THRESHOLD = "threshold"
    SLICE_THRESHOLD = "slice_threshold"
    KNEE_THRESHOLD = "knee_threshold"
    ADAPTIVE = "adaptive"


class ScoreKind(StrEnum):
    """What a score measures. Scores of two kinds are never compared or put in one order."""

    COSINE = "cosine"
    BM25 = "bm25"
    RRF = "rrf"
    RERANK = "rerank"
    TREE = "tree"


class Outcome(StrEnum):
    """The three answers that are never mixed up; an error is a problem document, not an outcome."""

    OK = "ok"
    EMPTY = "empty"
    DEGRADED = "degraded"


class Fate(StrEnum):
    """Whether a candidate reached the model."""

    SENT = "sent"
    DROPPED = "dropped"


class Reason(StrEnum):
    """Why a candidate was sent or dropped."""

    SELECTED = "selected"
    """The strategy kept it."""

    KEPT_FLOOR = "kept_floor"
    """Nothing passed, but it scored best and at least the floor, so it alone was kept."""

    BELOW_COSINE_FLOOR = "below_cosine_floor"
    """Its cosine is below the floor that applies before reranking."""

    BELOW_THRESHOLD = "below_threshold"
    """Its rerank score is below the threshold."""

    OVER_TOP_N = "over_top_n"
    """As many as `top_n` better ones were kept."""

    AFTER_KNEE = "after_knee"
    """It comes after the knee of the score curve."""

    VALUE_BELOW_THRESHOLD = "value_below_threshold"
    """Its value, utility less cost, is not above the least value."""

    DUPLICATE = "duplicate"
    """Its text says nothing that one with a better rank does not say."""

    BLANK_TEXT = "blank_text"
    """It has no text."""

    OVER_CONTEXT_BUDGET = "over_context_budget"
    """There was no room left for it in the model's window."""

    NOT_SCORED = "not_scored"
    """It was never scored."""


class SearchType(StrEnum):
    """How the retriever finds candidates."""

    SIMILARITY = "similarity"
    SIMILARITY_SCORE_THRESHOLD = "similarity_score_threshold"
    SIMILARITY_DISTANCE_THRESHOLD = "similarity_distance_threshold"
    MMR = "mmr"
    HYBRID = "hybrid"
    HIERARCHICAL = "hierarchical"


class HierarchicalMode(StrEnum):
    """How search type `hierarchical` judges what it meets."""

    QUICK = "quick"
    """By cosine alone."""

    THINKING = "thinking"
    """By the reranker: abstracts of documents and sections, then what is below those that pass."""


class TreeStop(StrEnum):
    """Why a hierarchical search went no deeper."""

    EXHAUSTED = "exhausted"
    """Everything that passed was opened."""

    CONVERGED = "converged"
    """The best candidates had stopped changing."""

    BUDGET = "budget"
    """As many texts as one search may have reranked were reranked."""

    DEADLINE = "deadline"
    """Another round would not have ended before the request's deadline."""


class Stage(StrEnum):
    """The part of the stack that an error, a degradation or a timing belongs to."""

    GATEWAY = "gateway"
    EMBEDDING = "embedding"
    RETRIEVER = "retriever"
    RERANKER = "reranker"
    LLM = "llm"
    DATAPREP = "dataprep"
    STORE = "store"


class PairPolicy(StrEnum):
    """What happens to a candidate whose pair is longer than the reranker can read."""

    TRUNCATE = "truncate"
    WINDOWS = "windows"
    ERROR = "error"


class PairStatus(StrEnum):
    """Whether a pair was measured with the reranker's own tokenizer."""

    EXACT = "exact"
    UNAVAILABLE = "unavailable"


class WindowAggregation(StrEnum):
    """Which of its windows' scores is a candidate's: the best of all, or the best of the first few."""

    MAX = "max"
    CAPPED = "capped"


class CitationMode(StrEnum):
    """Who places the citations: the model by markers, or the gateway by aligning sentences to evidence."""

    INLINE = "inline"
    ATTRIBUTED = "attributed"


class GroundednessPolicy(StrEnum):
    """What happens to an answer whose key facts nothing that was sent supports."""

    FLAG = "flag"
    ABSTAIN = "abstain"


class FileStatus(StrEnum):
    """What became of one ingested file."""

    PUBLISHED = "published"
    REPLACED = "replaced"
    UNCHANGED = "unchanged"
    REJECTED = "rejected"


class JobState(StrEnum):
    """Where an ingestion job stands."""

    RUNNING = "running"
    DONE = "done"
    INTERRUPTED = "interrupted"
    """Dataprep or the sender ended before all its files were done; those that are not have to be sent again."""
