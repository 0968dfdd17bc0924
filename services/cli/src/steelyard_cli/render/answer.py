"""Citations and what an answer says about itself."""

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from steelyard_contracts.answers import Answered, Citation

from .text import one_line


def verdict(answered: Answered) -> list[Text]:
    """What a reader must know before trusting the answer; empty when there is nothing of the kind."""
    lines = []
    if answered.abstained is not None:
        lines.append(Text(f"no answer from the model: {one_line(answered.abstained)}", style="yellow"))
    if answered.extractive:
        lines.append(Text("extractive: the sentences above are the documents' own", style="yellow"))
    lines += [Text(f"degraded: {it.stage}: {one_line(it.detail)}", style="yellow") for it in answered.degraded]
    for span in answered.unsupported:
        missing = f" (not found: {', '.join(one_line(it) for it in span.missing)})" if span.missing else ""
        lines.append(Text(f"unsupported by the evidence: {one_line(span.text)}{missing}", style="red"))
    if answered.invented_markers:
        lines.append(
            Text(f"{answered.invented_markers} citations of chunks that were not sent were removed", style="red")
        )
    if answered.removed_links:
        lines.append(Text(f"{answered.removed_links} links that no evidence has were removed", style="red"))
    return lines


def citations(cited: list[Citation]) -> RenderableType:
    """Each citation: its number, where the quotation stands, and its exact words."""
    parts: list[RenderableType] = [Text("citations", style="bold")]
    for citation in cited:
        parts.append(Text.assemble((f"[{citation.marker}] ", "bold cyan"), _place(citation)))
        if citation.quote:
            # Character for character, so that it can be found in the document; only the terminal is protected.
            parts.append(Padding(Text(f"“{one_line(citation.quote)}”", style="italic"), (0, 0, 0, 4), expand=False))
    return Group(*parts)


def _place(citation: Citation) -> str:
    place = [one_line(citation.source)]
    if citation.section:
        place.append(one_line(citation.section))
    if citation.page is not None:
        over_a_break = citation.page_end is not None and citation.page_end != citation.page
        place.append(f"pages {citation.page}-{citation.page_end}" if over_a_break else f"page {citation.page}")
    place.append(f"characters {citation.quote_start}-{citation.quote_end}")
    place.append(f"support {citation.support:.2f}")
    return " · ".join(place)
