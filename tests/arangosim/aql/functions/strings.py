"""String functions."""

import hashlib
import json
from typing import Any
from urllib.parse import quote

from tests.arangosim.aql.functions.registry import aql
from tests.arangosim.aql.operators import like, matches
from tests.arangosim.values import is_true, to_number, to_string


@aql("CONCAT", 1, None)
def concat(*values: Any) -> str:
    parts = values[0] if len(values) == 1 and isinstance(values[0], list) else values
    return "".join(to_string(part) for part in parts)


@aql("CONCAT_SEPARATOR", 2, None)
def concat_separator(separator: Any, *values: Any) -> str:
    parts = values[0] if len(values) == 1 and isinstance(values[0], list) else values
    return to_string(separator).join(to_string(part) for part in parts if part is not None)


@aql("LOWER", 1)
def lower(value: Any) -> str:
    return to_string(value).lower()


@aql("UPPER", 1)
def upper(value: Any) -> str:
    return to_string(value).upper()


@aql("CHAR_LENGTH", 1)
def char_length(value: Any) -> int:
    return len(to_string(value))


@aql("SUBSTRING", 2, 3)
def substring(value: Any, start: Any, count: Any = None) -> str:
    text = to_string(value)
    first = int(to_number(start))
    first = max(len(text) + first, 0) if first < 0 else first
    return text[first:] if count is None else text[first : first + int(count)]


@aql("LEFT", 2)
def left(value: Any, count: Any) -> str:
    return to_string(value)[: int(count)]


@aql("RIGHT", 2)
def right(value: Any, count: Any) -> str:
    return to_string(value)[-int(count) :] if count else ""


@aql("CONTAINS", 2, 3)
def contains(text: Any, wanted: Any, as_index: Any = False) -> Any:
    found = to_string(text).find(to_string(wanted))
    return found if is_true(as_index) else found >= 0


@aql("SPLIT", 1, 3)
def split(value: Any, separator: Any = None, limit: Any = None) -> list[str]:
    parts = [to_string(value)] if separator is None else to_string(value).split(to_string(separator))
    return parts if limit is None else parts[: int(limit)]


@aql("TRIM", 1, 2)
def trim(value: Any, characters: Any = None) -> str:
    return to_string(value).strip(characters if isinstance(characters, str) else None)


@aql("SUBSTITUTE", 2, 4)
def substitute(value: Any, search: Any, replacement: Any = "", limit: Any = -1) -> str:
    return to_string(value).replace(to_string(search), to_string(replacement), int(limit))


@aql("LIKE", 2, 3)
def like_function(text: Any, pattern: Any, case_insensitive: Any = False) -> bool:
    return like(text, pattern, ignore_case=is_true(case_insensitive))


@aql("REGEX_TEST", 2, 3)
def regex_test(text: Any, pattern: Any, case_insensitive: Any = False) -> bool:
    return matches(text, pattern, ignore_case=is_true(case_insensitive))


@aql("JSON_STRINGIFY", 1)
def json_stringify(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


@aql("JSON_PARSE", 1)
def json_parse(value: Any) -> Any:
    try:
        return json.loads(value) if isinstance(value, str) else None
    except json.JSONDecodeError:
        return None


@aql("SHA256", 1)
def sha256(value: Any) -> str:
    return hashlib.sha256(to_string(value).encode()).hexdigest()


@aql("ENCODE_URI_COMPONENT", 1)
def encode_uri_component(value: Any) -> str:
    return quote(to_string(value), safe="!'()*-._~")
