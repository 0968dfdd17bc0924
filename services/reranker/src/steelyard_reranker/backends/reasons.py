"""Why a backend gave no scores: the names in metrics, replies and logs."""

from enum import StrEnum


class BackendReason(StrEnum):
    """Short names that stay as they are; dashboards and alerts are written with them."""

    UNREACHABLE = "unreachable"
    """No connection could be made, or it was closed before a reply began."""

    TIMEOUT = "timeout"
    """The scores were not complete in the share of the request's time that reranking may take."""

    OVERLOADED = "overloaded"
    """The server answered 429 or 503, or asked by Retry-After to be left alone for a while yet."""

    UNAUTHORIZED = "unauthorized"
    """The server answered 401 or 403: RERANK_API_KEY_FILE holds no key, or one without this model."""

    REJECTED = "rejected"
    """The server refused what it was sent (400, 413, 422), and not because of single texts."""

    BAD_STATUS = "bad_status"
    """The server answered another status that is no success, a redirect among them."""

    BAD_REPLY = "bad_reply"
    """The reply broke off, is too large, is compressed, is not strict JSON, or has another shape than documented."""

    WRONG_COUNT = "wrong_count"
    """There are more or fewer scores than texts."""

    BAD_INDEX = "bad_index"
    """A row's index is no whole number, is negative, or is beyond the last text."""

    DUPLICATE_INDEX = "duplicate_index"
    """Two rows have one index."""

    NOT_A_NUMBER = "not_a_number"
    """A score is a string, a truth value, null or missing."""

    NOT_FINITE = "not_finite"
    """A score is NaN or infinite."""

    OUT_OF_SCALE = "out_of_scale"
    """A score is outside of [0, 1] although the scale is declared to be a probability."""

    MISDECLARED = "misdeclared"
    """The server is another one than the settings declare: model, kind of model, truncation or length."""

    CIRCUIT_OPEN = "circuit_open"
    """The server failed several times in a row and is left alone for a few seconds."""

    SATURATED = "saturated"
    """As many requests wait for the server already as may; the others get an answer at once."""

    MODEL_FAILED = "model_failed"
    """The model in this process failed."""

    CRASHED = "crashed"
    """The backend's code failed; the log has the place."""
