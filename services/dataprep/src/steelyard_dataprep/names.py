"""The name under which an uploaded file is known. It is a label: no file of this machine is ever opened by it."""

import re

from steelyard_contracts.errors import ErrorCode, SteelyardError

_ABSOLUTE = re.compile(r"(?:[A-Za-z]:)?[/\\]")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_LONGEST = 1024
_ESCAPED = re.compile("%(22|0[AD])", re.IGNORECASE)
"""What a form's writer may not put into a quoted name as it is, in the writing of the HTML standard: `"`, LF and CR."""


def source_name(filename: str) -> str:
    """The document's name from an upload's file name: a relative path keeps its folders, so that two files of one name
    in two folders stay two documents; of an absolute path only the last part is kept, because the rest says where it
    lay on somebody's machine. A quotation mark is restored from the `%22` that browsers, curl and HTTP libraries write
    for it; they leave every other `%` alone.

    Raises `invalid_request` for a name that is empty, too long, or holds `..` or a control character.
    """
    filename = _ESCAPED.sub(lambda escape: chr(int(escape[1], 16)), filename)
    if _CONTROL.search(filename) or len(filename) > _LONGEST:
        raise SteelyardError(
            ErrorCode.INVALID_REQUEST, f"files: a name has control characters or more than {_LONGEST} characters"
        )
    parts = filename.replace("\\", "/").split("/")
    # White space around a name tells files apart as any letter does.
    kept = [part for part in parts if part.strip() not in ("", ".")]
    if any(part.strip() == ".." for part in kept):
        raise SteelyardError(ErrorCode.INVALID_REQUEST, "files: a name should not point out of its folder with '..'")
    if not kept:
        raise SteelyardError(ErrorCode.INVALID_REQUEST, "files: a file has no name")
    return kept[-1] if _ABSOLUTE.match(filename) else "/".join(kept)
