"""Users, their passwords, JSON web tokens and access tokens."""

import base64
import binascii
import hmac
import time
from dataclasses import dataclass, field
from typing import Any

import jwt

from tests.arangosim.errors import UNAUTHORIZED, USER_DUPLICATE, USER_NOT_FOUND, WRONG_CREDENTIALS, ArangoError


@dataclass
class Accounts:
    """`required` false lets every request in as root. `jwt_seconds` is how long a token lives, by real time."""

    required: bool = True
    secret: str = "arangosim-secret-of-at-least-32-bytes"
    jwt_seconds: int = 3600
    passwords: dict[str, str] = field(default_factory=dict)
    tokens: dict[str, list[dict[str, Any]]] = field(default_factory=dict)

    def add(self, user: str, password: str) -> None:
        """Raises ArangoError 1702."""
        if user in self.passwords:
            raise ArangoError(USER_DUPLICATE, user)
        self.passwords[user] = password

    def remove(self, user: str) -> None:
        """Raises ArangoError 1703."""
        if self.passwords.pop(user, None) is None:
            raise ArangoError(USER_NOT_FOUND, user)

    def log_in(self, user: Any, password: Any) -> str:
        """A JSON web token. Raises ArangoError 401."""
        if not self._is_password(user, password):
            raise ArangoError(WRONG_CREDENTIALS)
        now = int(time.time())
        claims = {"iss": "arangodb", "preferred_username": user, "iat": now, "exp": now + self.jwt_seconds}
        return jwt.encode(claims, self.secret, algorithm="HS256")

    def create_token(self, user: str, name: str, valid_until: int) -> dict[str, Any]:
        """A new access token with its secret. Raises ArangoError 1703."""
        if user not in self.passwords:
            raise ArangoError(USER_NOT_FOUND, user)
        owned = self.tokens.setdefault(user, [])
        number = len(owned) + 1
        token = {
            "id": number,
            "name": name,
            "valid_until": valid_until,
            "created_at": int(time.time()),
            "fingerprint": f"v1...{number:06x}",
            "active": True,
            "token": f"v1.{user}.{number:06x}",
        }
        owned.append(token)
        return token

    def authenticated(self, header: str | None) -> str:
        """The user of an `Authorization` header. Raises ArangoError 11 with HTTP 401."""
        if not self.required:
            return "root"
        scheme, _, credentials = (header or "").partition(" ")
        user = {"basic": self._basic, "bearer": self._bearer}.get(scheme.lower(), lambda _text: None)(credentials)
        if user is None:
            raise ArangoError(UNAUTHORIZED)
        return user

    def _basic(self, credentials: str) -> str | None:
        try:
            user, _, password = base64.b64decode(credentials, validate=True).decode().partition(":")
        except (binascii.Error, UnicodeDecodeError):
            return None
        if self._is_password(user, password):
            return user
        owner = self._token_owner(password)
        return owner if owner is not None and user in ("", owner) else None

    def _bearer(self, credentials: str) -> str | None:
        owner = self._token_owner(credentials)
        if owner is not None:
            return owner
        try:
            claims = jwt.decode(credentials, self.secret, algorithms=["HS256"], issuer="arangodb")
        except jwt.InvalidTokenError:
            return None
        return str(claims.get("preferred_username", "root"))

    def _is_password(self, user: Any, password: Any) -> bool:
        known = self.passwords.get(user) if isinstance(user, str) else None
        return (
            known is not None and isinstance(password, str) and hmac.compare_digest(known.encode(), password.encode())
        )

    def _token_owner(self, text: str) -> str | None:
        now = time.time()
        return next(
            (
                user
                for user, owned in self.tokens.items()
                for token in owned
                if token["token"] == text and token["active"] and token["valid_until"] > now
            ),
            None,
        )
