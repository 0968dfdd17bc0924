"""English."""

from .language import Language
from .words import words

_FINITE = words("is are was were be has have had do does did can could may might must shall should will would needs")

ENGLISH = Language(
    code="en",
    function_words=_FINITE
    | words(
        """
        a an the this that these those there here it its itself he him his she her hers they them their theirs we us our
        you your yours i me my one ones who whom whose which what when where why how whether if then than as so such
        and or but nor yet of in on at by to from for with into onto over about between among through during
        per via within up out off until till since because while though although unless both either each every all any
        some many much more most few less several other another same own only just also too very quite rather even still
        already again ever being been am having doing don doesn didn isn aren wasn weren won can't cannot not no never
        without neither s t ll re ve d m o upon toward towards however therefore thus hence moreover furthermore
        additionally otherwise instead let's etc e.g i.e eg ie respectively approximately about around roughly
        often usually typically generally later another's that's it's there's here's whatever whichever
        """
    ),
    light_words=words(
        """
        make made making use used using uses call called named name get gets got give given gives go goes include
        includes included including contain contains provide provides provided know known take takes taken come comes
        set found find become became consist consists comprise comprises feature features locate located state stated
        mention mentioned describe described following based accord according need needed require required allow
        allowed permit permitted possible able mean means ensure order way total value amount number type kind
        recommend recommended please note person people thing things case
        """
    ),
    negations=words(
        """
        not no never cannot can't don't doesn't didn't isn't aren't wasn't weren't won't wouldn't shouldn't mustn't
        couldn't hasn't haven't hadn't neither none nobody nothing nowhere unable lacks lack prohibits
        """
    ),
    prohibitions=words("prohibited forbidden banned disallowed excluded excludes"),
    local_negations=words("without except unlike"),
    contrasts=words("but however although though whereas while unless because since so otherwise instead"),
    coordinators=words("and or nor then which who that"),
    finite=_FINITE,
    has_names=True,
)
