"""Words whose number or letter names one of them (`zone 1`, `Tabelle 2`, `Rev B`) instead of counting something."""

from .words import folded

_ALIKE = {"page": "pag", "seite": "pag", "section": "section", "abschnitt": "section"}
"""The words that stand in the label of a chunk, and what an answer in another language calls them; by English stems."""

LABELS = (
    dict.fromkeys(
        folded(
            """
            zone table chapter step phase class level figure room rule article category grade version revision
            annex appendix group line platform gate port channel edition issue ausgabe auflage fassung
            tabelle kapitel schritt stufe klasse abbildung raum regel artikel kategorie anhang gruppe linie gleis kanal
            """
        ),
        "",
    )
    | _ALIKE
)
"""What is named by a number behind each word; where it is empty, the word's own key says it."""

REVISIONS = folded("rev revision version edition issue ausgabe auflage fassung")
"""Words whose capital letter names one of them: `Rev B`, `revision B` and `Fassung B` are the same one."""
