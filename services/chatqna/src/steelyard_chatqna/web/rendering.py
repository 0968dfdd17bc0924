"""A template with its values as a reply that a browser trusts with nothing but this package's own files."""

from typing import Any

from fastapi.responses import HTMLResponse, Response

from .assets import templates

_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self';"
        " form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}


def html(name: str, values: dict[str, Any]) -> Response:
    """The reply."""
    return HTMLResponse(templates().get_template(name).render(values), headers=_HEADERS)
