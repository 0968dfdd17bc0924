"""Files in, canonical text with sections and pages out."""

from steelyard_dataprep.parsing.dispatch import parse
from steelyard_dataprep.parsing.document import PageSpan, ParsedDocument, Section
from steelyard_dataprep.parsing.errors import ParseError
from steelyard_dataprep.parsing.limits import ParseLimits
from steelyard_dataprep.parsing.media_type import MediaType

# Raise it whenever the same bytes give another ParsedDocument: stored revisions are named after it.
PARSER_VERSION = "7"

__all__ = ["PARSER_VERSION", "MediaType", "PageSpan", "ParseError", "ParseLimits", "ParsedDocument", "Section", "parse"]
