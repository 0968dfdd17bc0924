"""Words that decide a claim alone, by meaning, so that they compare across languages.

A colour has to stand in the evidence, however well the rest of the claim is covered: it is the most frequent invention
of a small model. A direction or degree may be paraphrased away, but evidence with its opposite denies it.
"""

from .words import fold

_COLOURS = """
black: black schwarz schwarze schwarzer schwarzen schwarzes schwarzem 黒 黒色 黑 黑色 أسود سوداء الأسود السوداء
white: white weiß weiße weißer weißen weißes weiss 白 白色 أبيض بيضاء الأبيض البيضاء
red: red rote roter roten rotes rotem 赤 赤色 红 红色 أحمر حمراء الأحمر الحمراء
green: green grün grüne grüner grünen grünes 緑 緑色 绿 绿色 أخضر خضراء الأخضر الخضراء
blue: blue blau blaue blauer blauen blaues 青 青色 蓝 蓝色 أزرق زرقاء الأزرق الزرقاء
yellow: yellow gelb gelbe gelber gelben gelbes 黄 黄色 أصفر صفراء الأصفر الصفراء
orange: orange orangefarben orangen オレンジ 橙色 برتقالي برتقالية
brown: brown braun braune brauner braunen 茶色 褐色 棕色 بني بنية
grey: grey gray grau graue grauer grauen graues 灰色 رمادي رمادية
pink: pink ピンク 粉色 粉红 وردي
purple: purple violett 紫 紫色 بنفسجي
silver: silver silvery silbern silberne 銀 銀色 银色 فضي فضية
gold: golden golden goldene 金色 ذهبي ذهبية
"""

_DIRECTIONS = """
left: left linke linken linker 左 左側 左侧 يسار اليسار اليسرى
right: rechts rechte rechten rechter 右 右側 右侧 يمين اليمين اليمنى
up: upward upwards aufwärts 上向き 向上 لأعلى
down: downward downwards abwärts 下向き 向下 لأسفل
above: above oberhalb 上方 فوق
below: below beneath underneath unterhalb 下方 تحت
before: before prior vor bevor 前 以前 之前 قبل
after: after afterwards nach nachdem danach 後 以後 之后 بعد
maximum: maximum maximal maximale maximaler maximalen höchstens 最大 最高 أقصى الأقصى
minimum: minimum minimal minimale minimaler minimalen mindestens 最小 最低 أدنى الأدنى
increase: increase increases increased rises erhöhen erhöht steigt steigen 増加 增加 ارتفاع زيادة
decrease: decrease decreases decreased reduce reduces reduced senken sinkt verringert 減少 减少 انخفاض
open: open opens opened öffnen geöffnet offen 開 打开 مفتوح
closed: close closes closed schließen geschlossen 閉 关闭 مغلق
hot: hot heiß heiße heißen 熱 热 ساخن
cold: cold kalt kalte kalten 冷 بارد باردة
clockwise: clockwise 時計回り 顺时针
anticlockwise: anticlockwise counterclockwise 反時計回り 逆时针
north: north northern nord norden nördlich 北 شمال
south: south southern süd süden südlich 南 جنوب
east: east eastern ost osten östlich 東 东 شرق
west: west western westen westlich 西 غرب
"""

_PAIRS = (
    "left right", "up down", "above below", "before after", "maximum minimum", "increase decrease", "open closed",
    "hot cold", "clockwise anticlockwise", "north south", "east west",
)  # fmt: skip


def _read(listed: str) -> dict[str, str]:
    table: dict[str, str] = {}
    for line in listed.strip().splitlines():
        concept, _, forms = line.partition(":")
        for form in forms.split():
            table[fold(form)] = concept
    return table


COLOUR_OF = _read(_COLOURS)
"""Folded word to the colour that it names."""

DIRECTION_OF = _read(_DIRECTIONS)
"""Folded word to the direction or degree that it names."""

OPPOSITE_OF = dict(pair.split() for pair in _PAIRS) | {pair.split()[1]: pair.split()[0] for pair in _PAIRS}
"""Direction to its opposite."""
