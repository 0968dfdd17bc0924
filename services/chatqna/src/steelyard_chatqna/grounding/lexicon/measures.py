"""Words that ask for a measure, with the dimensions of `units` that can answer.

Asked for a price that the evidence does not give, a small model answers with a weight that it does give.
"""

from .words import fold

_MONEY = frozenset({"euro", "dollar", "pound", "yen", "yuan", "franc"})
_LENGTH = frozenset({"length"})
_TIME = frozenset({"time", "months"})

_MEASURES = {
    "cost costs price fee fare kosten kostet preis gebühr 価格 料金 値段 价格 售价 票价 سعر ثمن رسوم تكلفة": _MONEY,
    "weigh weighs weight heavy wiegt wiegen gewicht schwer 質量 重量 وزن تزن يزن": frozenset({"mass"}),
    "deep depth tall height high wide width far reach reaches distance tief tiefe hoch höhe breit breite weit "
    "entfernung 深 深度 高度 距離 距离 عمق ارتفاع عرض مسافة": _LENGTH,
    "temperature hot temperatur heiß 温度 حرارة": frozenset({"celsius", "fahrenheit", "degree"}),
    "duration dauer dauert 期間 时长 مدة": _TIME,
    "power output leistung 出力 功率 قدرة": frozenset({"power"}),
    "voltage spannung 電圧 电压 جهد": frozenset({"voltage"}),
    "pressure druck 圧力 压力 ضغط": frozenset({"pressure"}),
}

MEASURE_OF = {fold(word): dimensions for listed, dimensions in _MEASURES.items() for word in listed.split()}
"""Folded word to the dimensions of what it asks for."""
