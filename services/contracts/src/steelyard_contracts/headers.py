"""Names of the headers that Steelyard's services read and write."""

REQUEST_ID = "X-Request-Id"
"""In and out: the caller's id, or one made by the first service that sees the request."""

TRACEPARENT = "traceparent"
"""W3C trace context: passed on as it came, or with a span of ours where traces are sent."""

DEADLINE_MS = "X-Deadline-Ms"
"""Milliseconds that the caller still has; each hop sends less than it got, and expired work is not started."""

POLICY_HASH = "X-Policy-Hash"
"""Hash of the settings that decide which evidence is kept."""

SERVER_TIMING = "Server-Timing"
"""Milliseconds per stage."""

RETRY_AFTER = "Retry-After"
"""Seconds after which an overloaded service, or one whose rate limit is reached, may be asked again."""

AUTHORIZATION = "Authorization"
"""`Bearer <key>`: an API key at the gateway, the service token between services."""
