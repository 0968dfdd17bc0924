"""What a full stop may follow without ending a sentence, in English and German (the others have no such stop)."""

from .words import words

NEVER_LAST = words(
    """
    e.g i.e cf vs viz dr mr mrs ms prof st sen rep gen col jr sr approx resp incl excl al
    z.b d.h u.a s.o s.u u.u o.ä i.d.r bzw ca evtl ggf inkl exkl zzgl hr fr hrsg vgl sog insb mind bspw geb
    """
)
"""Abbreviations that something always follows."""

BEFORE_A_NUMBER = words(
    """
    no nos nr p pp s ch chap art vol ed fig figs eq eqs sec sect ref refs max min typ est para § abs abb tab kap bd ziff
    pos str jan feb mar apr jun jul aug sep sept oct nov dec okt dez
    """
)
"""Abbreviations only in front of a number: `No.` alone is an answer, `l/min.` a unit at the end."""

AFTER_ORDINAL = words(
    """
    januar jänner februar märz april mai juni juli august september oktober november dezember
    jahrhundert jahrhunderts jahrtausend jahrtausends auflage kapitel stock etage platz tag woche monat quartal
    generation klasse grad
    """
)
"""German words behind an ordinal, which is written with a full stop (`5. Mai`)."""

STARTERS = words(
    """
    the this that these those it he she they we you i in on at a an if when for to but and however
    der die das er sie es wir ein eine im am wenn bei für zum
    """
)
"""Words whose capital shows that an initialism before them ended its sentence (`the U.S. The ...`)."""
