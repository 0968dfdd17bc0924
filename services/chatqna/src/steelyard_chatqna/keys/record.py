"""An API key: what its owner holds, and what is kept of it.

The owner holds `steelyard_<id>_<secret>`. The id is public, in logs and ledgers; the secret has 256 random bits. What
is kept is the SHA-256 of the whole: nothing can be guessed from it, so no slow hash is needed.
"""

import hmac
import re
import secrets
from datetime import UTC, datetime
from hashlib import sha256
from typing import Annotated, Literal, Self

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, StringConstraints, model_validator

from steelyard_runtime.scopes import LONGEST_SCOPE, SCOPE_CHARACTER

KEY_PATTERN = re.compile(r"steelyard_([0-9a-f]{12})_[A-Za-z0-9_-]{43}")
"""What a key looks like; scanners for leaked secrets can look for it too."""

_ID_BYTES = 6
_SECRET_BYTES = 32
_NO_DIGEST = "0" * 64
"""No SHA-256 that anybody knows an input of: an unknown id is compared too, so that it takes as long as a known one."""

ScopeName = Annotated[
    str, StringConstraints(strict=True, min_length=1, max_length=LONGEST_SCOPE, pattern=f"^{SCOPE_CHARACTER}+$")
]


class ApiKey(BaseModel):
    """What is kept of one key.

    `requests_per_minute` bounds any 60 seconds. `writes` says that it may upload and delete documents of its scopes,
    and not only find them. A revoked key stays, for the record.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    id: Annotated[str, StringConstraints(strict=True, pattern=r"^[0-9a-f]{12}$")]
    name: Annotated[str, StringConstraints(strict=True, min_length=1, max_length=128, pattern=r"^[^\x00-\x1f\x7f]+$")]
    scopes: Annotated[tuple[ScopeName, ...], Field(min_length=1)]
    requests_per_minute: Annotated[int, Field(strict=True, ge=1, le=100_000)]
    sha256: Annotated[str, StringConstraints(strict=True, pattern=r"^[0-9a-f]{64}$")]
    created: AwareDatetime
    revoked: AwareDatetime | None = None
    writes: Annotated[bool, Field(strict=True)] = False

    @model_validator(mode="after")
    def _names_each_scope_once(self) -> Self:
        if len(set(self.scopes)) != len(self.scopes):
            raise ValueError("scopes: one is named twice")
        return self


class KeyList(BaseModel):
    """The content of a key file."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    version: Literal[1] = 1
    keys: tuple[ApiKey, ...] = ()

    @model_validator(mode="after")
    def _ids_and_names_are_unique(self) -> Self:
        ids = [key.id for key in self.keys]
        if len(set(ids)) != len(ids):
            raise ValueError("keys: an id appears twice")
        names = [key.name for key in self.keys if key.revoked is None]
        if len(set(names)) != len(names):
            raise ValueError("keys: two keys that are not revoked have the same name")
        return self


def new_key(
    name: str, scopes: tuple[str, ...], requests_per_minute: int, *, writes: bool = False
) -> tuple[str, ApiKey]:
    """Make a key: what its owner gets, and what is kept. Raises ValidationError for a name, scope or rate."""
    key_id = secrets.token_hex(_ID_BYTES)
    shown = f"steelyard_{key_id}_{secrets.token_urlsafe(_SECRET_BYTES)}"
    kept = ApiKey(
        id=key_id,
        name=name,
        scopes=scopes,
        requests_per_minute=requests_per_minute,
        sha256=_digest(shown),
        created=datetime.now(UTC).replace(microsecond=0),
        writes=writes,
    )
    return shown, kept


def id_of(shown: str) -> str:
    """The public id in a key, empty when it is not a key."""
    match = KEY_PATTERN.fullmatch(shown)
    return "" if match is None else match[1]


def proves(shown: str, key: ApiKey | None) -> bool:
    """Whether `shown` is that key and it is not revoked, in a time that does not depend on where it differs."""
    equal = hmac.compare_digest(_digest(shown), _NO_DIGEST if key is None else key.sha256)
    return equal and key is not None and key.revoked is None


def _digest(shown: str) -> str:
    return sha256(shown.encode()).hexdigest()
