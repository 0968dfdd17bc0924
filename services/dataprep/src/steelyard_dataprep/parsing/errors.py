"""Why a file was not parsed.

ParseError                   the one root; `code` is stable, the message names the file
├── UnsupportedTypeError     not a format that this service reads
├── TooLargeError            input, unpacked content, page count or text above its limit
├── EmptyDocumentError       readable, but holds no text
├── UndecodableTextError     no character set gives text for these bytes
├── CorruptDocumentError     the format's own structure is broken
├── EncryptedPdfError        a PDF that needs a password to open
├── EncryptedOfficeError     an Office file that needs a password to open
├── ScannedPdfError          a PDF of images without a text layer
├── MissingColumnError       the chosen text column is not in the table
├── ParserTimeoutError       the parser used up its CPU time
├── ParserMemoryError        the parser used up its memory
├── ParserCrashedError       the parser process died or replied nonsense
└── ParserStarvedError       the parser did not get the time or the process that it needs
"""

from __future__ import annotations

from typing import ClassVar


class ParseError(Exception):
    """A file that could not be parsed; `name` is the file, `reason` the cause without the file's name."""

    code: ClassVar[str] = "parse_error"

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(f"{name!r}: {reason}")
        self.name = name
        self.reason = reason


class UnsupportedTypeError(ParseError):
    """Not a format that this service reads."""

    code = "unsupported_type"


class TooLargeError(ParseError):
    """Input, unpacked content, page count or text above its limit."""

    code = "too_large"


class EmptyDocumentError(ParseError):
    """Readable, but holds no text."""

    code = "empty_document"


class UndecodableTextError(ParseError):
    """No character set gives text for these bytes."""

    code = "undecodable_text"


class CorruptDocumentError(ParseError):
    """The format's own structure is broken."""

    code = "corrupt_document"


class EncryptedPdfError(ParseError):
    """A PDF that needs a password to open."""

    code = "encrypted_pdf"


class EncryptedOfficeError(ParseError):
    """An Office file that needs a password to open."""

    code = "encrypted_office"


class ScannedPdfError(ParseError):
    """A PDF of images without a text layer."""

    code = "scanned_pdf"


class MissingColumnError(ParseError):
    """The chosen text column is not in the table."""

    code = "missing_column"


class ParserTimeoutError(ParseError):
    """The parser used up its CPU time."""

    code = "parser_timeout"


class ParserMemoryError(ParseError):
    """The parser used up its memory."""

    code = "parser_memory"


class ParserCrashedError(ParseError):
    """The parser process died or replied nonsense."""

    code = "parser_crashed"


class ParserStarvedError(ParseError):
    """The parser did not get the time or the process that it needs; the machine's fault, not the file's."""

    code = "parser_starved"


ERRORS_BY_CODE: dict[str, type[ParseError]] = {
    error.code: error
    for error in (
        UnsupportedTypeError,
        TooLargeError,
        EmptyDocumentError,
        UndecodableTextError,
        CorruptDocumentError,
        EncryptedPdfError,
        EncryptedOfficeError,
        ScannedPdfError,
        MissingColumnError,
        ParserTimeoutError,
        ParserMemoryError,
        ParserCrashedError,
        ParserStarvedError,
    )
}
