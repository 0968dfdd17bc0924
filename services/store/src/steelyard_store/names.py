"""Which strings can serve as ids, scopes and sources in every store."""

from __future__ import annotations

from steelyard_store.errors import StoreError


def check_text(field: str, value: str, error: type[StoreError]) -> None:
    """Refuse lone surrogates, which have no UTF-8 form and so cannot be stored.

    Raises:
        error: naming the field and the position.
    """
    try:
        value.encode()
    except UnicodeEncodeError as cause:
        raise error(f"{field} contains a lone surrogate at character {cause.start}") from cause


def check_name(field: str, value: str, error: type[StoreError]) -> None:
    """Refuse a name that some store would not compare byte for byte: blank, with NUL, or not encodable.

    Raises:
        error: naming the field.
    """
    if not isinstance(value, str):
        raise error(f"{field} must be text, got {type(value).__name__}")
    if not value.strip():
        raise error(f"{field} is blank")
    if "\0" in value:
        raise error(f"{field} contains a NUL character")
    check_text(field, value, error)
