"""German. Nouns are written with capitals, so that a capital does not show a name."""

from .language import Language
from .words import folded

_FINITE = folded(
    """
    ist sind war waren sei wird werden wurde wurden hat haben hatte hatten kann können konnte konnten darf dürfen muss
    müssen musste soll sollen sollte sollten will wollen mag möchte würde würden
    """
)

GERMAN = Language(
    code="de",
    function_words=_FINITE
    | folded(
        """
        der die das den dem des ein eine einen einem einer eines er sie es ihn ihm ihr ihre ihren ihrem ihrer ihres sein
        seine seinen seinem seiner seines wir uns unser unsere man sich dies diese dieser dieses diesen diesem jene
        jener welche welcher welches welchem welchen wer wen wem wessen was wann wo woher wohin warum wie wieviel woraus
        womit wofür wodurch ob wenn dann als so und oder aber auch noch nur schon sehr mehr viel viele alle aller allen
        jede jeder jedes jeden jedem von vom in im an am auf aus bei beim bis durch für gegen mit nach seit über um
        unter vor zu zum zur zwischen während wegen ab pro je daß dass da dort hier hin her denn weil damit daher
        deshalb jedoch sondern sowie sowohl etwa ca rund circa z.b d.h usw etc bzw nicht kein keine keinen keinem keiner
        keines nie niemals ohne weder ja nein doch einmal selbst eben gerade worden gewesen bin bist habe einige
        beide beiden andere anderen ander dazu darf dafür davon dabei danach außerdem zudem
        ans aufs ins übers unters a u
        """
    ),
    light_words=folded(
        """
        besteht bestehen machen macht gemacht verwenden verwendet genutzt nutzen heißt heißen genannt nennen gibt geben
        beträgt betragen liegt liegen befindet befinden erfolgt erfolgen gehört gehören enthält enthalten lassen lässt
        bitte beachten laut gemäß folgende folgenden erforderlich nötig notwendig möglich erlaubt ermöglicht insgesamt
        art weise wert anzahl menge bekommen bekommt erhält erhalten
        """
    ),
    negations=folded(
        """
        nicht kein keine keinen keinem keiner keines nie niemals nichts niemand weder keinesfalls keineswegs
        """
    ),
    prohibitions=folded("verboten untersagt unzulässig ausgeschlossen"),
    local_negations=folded("ohne außer ausgenommen"),
    contrasts=folded("aber sondern jedoch obwohl während weil da sonst"),
    coordinators=folded("und oder sowie dann welche welcher"),
    finite=_FINITE,
    decimal_comma=True,
)
