"""Words whose number names one of them (`zone 1`, `Tabelle 2`) instead of counting something."""

from .words import folded

LABELS = folded(
    """
    zone table chapter section step phase class level page figure room rule article category grade version revision
    annex appendix group line platform gate port channel
    tabelle kapitel abschnitt schritt stufe klasse seite abbildung raum regel artikel kategorie anhang gruppe linie
    gleis kanal
    """
)
