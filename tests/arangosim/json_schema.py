"""Collection schemas, checked with the jsonschema library."""

from typing import Any

import jsonschema


def violation(rule: dict[str, Any], document: dict[str, Any]) -> str | None:
    """What is wrong with the document, or None."""
    error = next(iter(jsonschema.Draft4Validator(rule).iter_errors(document)), None)
    return None if error is None else f"{error.json_path}: {error.message}"
