"""A trait of the XML library: it reports that memory ran out as a syntax error."""

from __future__ import annotations

from lxml import etree


def raise_if_out_of_memory(error: etree.XMLSyntaxError) -> None:
    """Raise MemoryError if that is what the error means."""
    if error.code == etree.ErrorTypes.ERR_NO_MEMORY:
        raise MemoryError("libxml2 ran out of memory") from error
