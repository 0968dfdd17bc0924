"""The pair that a reranker reads: its format and budget, what is sent of a text, and the report of what was read.

No web, no I/O: the laboratory uses these functions as the service does.
"""

from .cut import Piece, beginning, longest
from .format import CrossEncoderFormat, LateInteractionFormat, PairFormat
from .passage import Passage
from .planning import PairPlanner, Plan, QueryTooLongError
from .report import Judgement, judgement
from .settings import PairSettingError, PairSettings
from .windows import windows

__all__ = [
    "CrossEncoderFormat",
    "Judgement",
    "LateInteractionFormat",
    "PairFormat",
    "PairPlanner",
    "PairSettingError",
    "PairSettings",
    "Passage",
    "Piece",
    "Plan",
    "QueryTooLongError",
    "beginning",
    "judgement",
    "longest",
    "windows",
]
