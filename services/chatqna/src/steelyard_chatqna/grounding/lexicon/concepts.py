"""Words that decide a claim alone: colours and directions, by meaning, so that they compare across languages.

A claim with such a word needs a word of the same concept in its evidence, however well the rest is covered: the most
frequent invention of a small model is a colour, its most frequent slip the opposite direction.
"""

from .words import fold

_CONCEPTS = """
black: black schwarz schwarze schwarzer schwarzen schwarzes schwarzem 黒 黒色 黑 黑色 أسود سوداء الأسود السوداء
white: white weiß weiße weißer weißen weißes weiss 白 白色 أبيض بيضاء الأبيض البيضاء
red: red rot rote roter roten rotes rotem 赤 赤色 红 红色 أحمر حمراء الأحمر الحمراء
green: green grün grüne grüner grünen grünes 緑 緑色 绿 绿色 أخضر خضراء الأخضر الخضراء
blue: blue blau blaue blauer blauen blaues 青 青色 蓝 蓝色 أزرق زرقاء الأزرق الزرقاء
yellow: yellow gelb gelbe gelber gelben gelbes 黄 黄色 أصفر صفراء الأصفر الصفراء
orange: orange orangefarben orangen オレンジ 橙色 برتقالي برتقالية
brown: brown braun braune brauner braunen 茶色 褐色 棕色 بني بنية
grey: grey gray grau graue grauer grauen graues 灰色 رمادي رمادية
pink: pink rosa ピンク 粉色 粉红 وردي
purple: purple violet lila violett 紫 紫色 بنفسجي
silver: silver silvery silbern silberne 銀 銀色 银色 فضي فضية
gold: golden golden goldene 金色 ذهبي ذهبية
left: left links linke linken linker 左 左側 左侧 يسار اليسار اليسرى
right: rechts rechte rechten rechter 右 右側 右侧 يمين اليمين اليمنى
up: upward upwards aufwärts 上向き 向上 لأعلى
down: downward downwards abwärts 下向き 向下 لأسفل
above: above over oberhalb 上方 فوق
below: below beneath underneath unterhalb 下方 تحت
before: before prior vor bevor 前 以前 之前 قبل
after: after afterwards nach nachdem danach 後 以後 之后 بعد
maximum: maximum max maximal maximale maximaler maximalen höchstens 最大 最高 أقصى الأقصى
minimum: minimum min minimal minimale minimaler minimalen mindestens 最小 最低 أدنى الأدنى
increase: increase increases increased rise rises rose erhöhen erhöht steigt steigen 増加 增加 ارتفاع زيادة
decrease: decrease decreases decreased drop drops dropped reduce reduces reduced senken sinkt verringert 減少 减少 انخفاض
open: open opens opened öffnen geöffnet offen 開 打开 مفتوح
closed: close closes closed shut schließen geschlossen 閉 关闭 مغلق
hot: hot heiß heiße heißen 熱 热 ساخن
cold: cold kalt kalte kalten 冷 بارد باردة
clockwise: clockwise 時計回り 顺时针
anticlockwise: anticlockwise counterclockwise 反時計回り 逆时针
north: north northern nord norden nördlich 北 شمال
south: south southern süd süden südlich 南 جنوب
east: east eastern ost osten östlich 東 东 شرق
west: west western westen westlich 西 غرب
"""

_EVERYDAY = frozenset("over vor nach rose min max prior shut close drop links rot rosa lila 前 後".split(" "))
"""Forms that also mean something else; they prove their concept in evidence but do not demand it in an answer."""


def _read() -> dict[str, str]:
    table: dict[str, str] = {}
    for line in _CONCEPTS.strip().splitlines():
        concept, _, forms = line.partition(":")
        for form in forms.split():
            table[fold(form)] = concept
    return table


CONCEPT_OF = _read()
"""Folded word to the name of its concept."""

DEMANDING = frozenset(CONCEPT_OF) - _EVERYDAY
"""The folded words that demand their concept in the evidence."""
