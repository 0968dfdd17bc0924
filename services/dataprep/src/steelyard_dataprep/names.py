"""The name under which an uploaded file is known. It is a label: no file of this machine is ever opened by it."""

import re

from steelyard_contracts.errors import ErrorCode, SteelyardError

_ABSOLUTE = re.compile(r"(?:[A-Za-z]:)?[/\\]")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_LONGEST = 1024


def source_name(filename: str) -> str:
    """The document's name from an upload's file name: a relative path keeps its folders, so that two files of one name
    in two folders stay two documents; of an absolute path only the last part is kept, because the rest says where it
    lay on somebody's machine.

    Raises `invalid_request` for a name that is empty, too long, or holds `..` or a control character.
    """
    if _CONTROL.search(filename) or len(filename) > _LONGEST:
        raise SteelyardError(
            ErrorCode.INVALID_REQUEST, f"files: a name has control characters or more than {_LONGEST} characters"
        )
    parts = [part.strip() for part in filename.replace("\\", "/").split("/")]
    kept = [part for part in parts if part not in ("", ".")]
    if ".." in kept:
        raise SteelyardError(ErrorCode.INVALID_REQUEST, "files: a name should not point out of its folder with '..'")
    if not kept:
        raise SteelyardError(ErrorCode.INVALID_REQUEST, "files: a file has no name")
    return kept[-1] if _ABSOLUTE.match(filename) else "/".join(kept)
