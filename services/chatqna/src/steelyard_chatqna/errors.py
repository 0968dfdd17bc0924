"""Which error code each of the gateway's own exceptions is."""

from steelyard_contracts.errors import ErrorCode

from .ledger_store import LedgerStoreError
from .pipeline.integrity import EmbeddingMisalignedError

ERRORS: dict[type[Exception], ErrorCode] = {
    EmbeddingMisalignedError: ErrorCode.EMBEDDING_MISALIGNED,
    LedgerStoreError: ErrorCode.STORE_UNAVAILABLE,
}
