"""API keys as people and machines read them; never their hashes."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

from .tables import table
from .text import one_line

if TYPE_CHECKING:
    from steelyard_chatqna.keys.record import ApiKey


def key_summary(key: "ApiKey") -> dict[str, Any]:
    """What may be shown of a key."""
    return key.model_dump(mode="json", exclude={"sha256"})


def keys_table(keys: "Sequence[ApiKey]", console: Console) -> Table:
    """One row per key, in the order of the file."""
    made = table(console)
    for name in ("id", "name", "scopes"):
        made.add_column(name, overflow="fold")
    made.add_column("documents", no_wrap=True)
    made.add_column("per minute", justify="right")
    for name in ("created", "revoked"):
        made.add_column(name, no_wrap=True)
    for key in keys:
        made.add_row(
            key.id,
            one_line(key.name),
            ", ".join(map(one_line, key.scopes)),
            "read, write" if key.writes else "read",
            str(key.requests_per_minute),
            f"{key.created:%Y-%m-%d %H:%M}",
            "" if key.revoked is None else f"{key.revoked:%Y-%m-%d %H:%M}",
            style="" if key.revoked is None else "dim",
        )
    return made
