"""Names of months, folded, in English, German and Arabic (the others write numbers)."""

from .words import fold

_MONTHS = """
january jan januar jänner يناير
february feb februar فبراير
march mar märz مارس
april apr أبريل إبريل
may mai مايو
june jun juni يونيو
july jul juli يوليو
august aug أغسطس
september sep sept سبتمبر
october oct oktober okt أكتوبر
november nov نوفمبر
december dec dezember dez ديسمبر
"""

MONTH_OF = {
    fold(name): number for number, line in enumerate(_MONTHS.strip().splitlines(), start=1) for name in line.split()
}
"""Folded name to the number of the month."""
