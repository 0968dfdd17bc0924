"""The checks that Schemathesis runs besides its own; read by it, in its own environment."""

from typing import Any

import schemathesis

INTEGRITY = "embedding_misaligned"
"""A body can ask for `adaptive` without its vectors. Nobody guesses them, and the status is 500 as documented."""


@schemathesis.check
def no_server_error(_context: Any, response: Any, _case: Any) -> None:
    """No status of 500 or more but the one that is documented."""
    if response.status_code >= 500 and response.json().get("code") != INTEGRITY:
        raise AssertionError(f"a server error: {response.status_code} {response.text[:500]}")
