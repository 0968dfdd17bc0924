"""Units of measure: the ways to write one unit, and the factor to the base unit of its dimension.

`35 Nm`, `35 N·m` and `35 newton metres` are one quantity, and so are `2000 ms` and `2 s`. A dimension is a string;
two quantities compare only when their dimensions are equal, apart from the plain degree, which may be any temperature.
"""

from decimal import Decimal
from typing import NamedTuple

from .lexicon.words import fold, folded, words


class Unit(NamedTuple):
    """A dimension and the factor to its base unit."""

    dimension: str
    factor: Decimal


_TABLE = """
length 0.001: mm millimetre millimetres millimeter millimeters millimetern ミリ ミリメートル 毫米 ملم مم مليمتر
length 0.01: cm centimetre centimetres centimeter centimeters zentimeter センチ センチメートル 厘米 سم سنتيمتر
length 1: m metre metres meter meters metern メートル 米 متر مترا أمتار
length 1000: km kilometre kilometres kilometer kilometers kilometern キロメートル キロ 公里 千米 كم كيلومتر كيلومترا
length 0.0254: inch inches zoll インチ 英寸 بوصة
length 0.3048: ft foot feet フィート 英尺 قدم
length 1609.344: mile miles meile meilen マイル 英里 ميل
length 0.000001: µm μm micron microns micrometre micrometres micrometer micrometers mikrometer
mass 0.000001: mg milligram milligrams milligramm ミリグラム 毫克 ملغ
mass 0.001: g gram grams gramm グラム 克 غرام جرام غ
mass 1: kg kilogram kilograms kilo kilos kilogramm kilogrammes キログラム 公斤 千克 كغ كجم كيلوغرام كيلوجرام كلغ
mass 1000: t tonne tonnes tons tonnen トン 吨 طن
mass 0.45359237: lb lbs pound pounds ポンド 磅 رطل
time 0.001: ms msec millisecond milliseconds millisekunde millisekunden ミリ秒 毫秒
time 1: s sec secs second seconds sek sekunde sekunden 秒 秒間 秒钟 ثانية ثوان ثواني
time 60: min mins minute minutes minuten 分 分間 分钟 دقيقة دقائق
time 3600: h hr hrs hour hours std stunde stunden 時間 小时 ساعة ساعات
time 86400: d day days tag tage tagen tages 日間 日 天 يوم أيام يوما
time 604800: week weeks woche wochen 週間 周 أسبوع أسابيع أسبوعا
months 1: month months monat monate monaten か月 ヶ月 ヵ月 カ月 ケ月 个月 個月 شهر أشهر شهرا شهور
months 12: year years yr yrs jahr jahre jahren 年 年間 سنة سنوات عام أعوام عاما
volume 0.001: ml millilitre millilitres milliliter milliliters ミリリットル 毫升 مل
volume 1: l litre litres liter liters litern リットル 升 لتر لترا لترات
volume 1000: m³ m3 kubikmeter 立方メートル 立方米
pressure 1: bar bars バール 巴 بار
pressure 0.001: mbar millibar
pressure 0.00001: pa pascal パスカル 帕 باسكال
pressure 0.01: kpa 千帕
pressure 10: mpa 兆帕
pressure 0.0689475729: psi
pressure 0.00133322: mmhg
voltage 1: v volt volts ボルト 伏 伏特 فولت
voltage 0.001: mv millivolt
voltage 1000: kv kilovolt kilovolts
current 1: a amp amps ampere amperes アンペア 安 安培 أمبير
current 0.001: ma milliampere
power 1: w watt watts ワット 瓦 瓦特 واط وات
power 1000: kw kilowatt kilowatts キロワット 千瓦 كيلوواط
power 1000000: mw megawatt megawatts
energy 0.001: wh
energy 1: kwh kilowattstunde kilowattstunden
charge 0.001: mah 毫安时 ミリアンペア時
charge 1: ah
frequency 1: hz hertz ヘルツ 赫兹 هرتز
frequency 1000: khz kilohertz
frequency 1000000: mhz megahertz
frequency 1000000000: ghz gigahertz
rotation 1: rpm min-1 u/min r/min 1/min 回転 转
torque 1: nm n·m n⋅m n-m newtonmeter newtonmetern ニュートンメートル 牛米 牛·米 牛顿米
torque 1000: knm kn·m
force 1: n newton newtons
force 1000: kn kilonewton
celsius 1: °c ℃ celsius c° セルシウス 摄氏度 مئوية
fahrenheit 1: °f fahrenheit
degree 1: ° degree degrees grad 度 درجة درجات
sound 1: db db(a) decibel decibels dezibel デシベル 分贝
ratio 0.01: % percent pc prozent パーセント 百分比 بالمئة بالمائة
ratio 0.001: ‰ promille
data 1: kb kilobyte kilobytes
data 1000: mb megabyte megabytes
data 1000000: gb gigabyte gigabytes
data 1000000000: tb terabyte terabytes
euro 1: € eur euro euros ユーロ 欧元 يورو
euro 0.01: cent cents ct
dollar 1: $ usd dollar dollars us$ ドル 美元 دولار دولارا
pound 1: £ gbp sterling
yen 1: ¥ jpy yen 円
yuan 1: cny rmb yuan renminbi 元
franc 1: chf franken francs
area 1: m² m2 sqm quadratmeter 平方メートル 平方米
area 1000000: km² km2 quadratkilometer 平方キロメートル 平方公里
area 10000: ha hectare hectares hektar
"""

_PHRASES = {
    ("newton", "metre"): "nm",
    ("newton", "metres"): "nm",
    ("newton", "meter"): "nm",
    ("newton", "meters"): "nm",
    ("نيوتن", "متر"): "nm",
    ("degrees", "celsius"): "°c",
    ("degree", "celsius"): "°c",
    ("grad", "celsius"): "°c",
    ("درجه", "مئويه"): "°c",
    ("degrees", "fahrenheit"): "°f",
    ("per", "cent"): "%",
    ("watt", "hours"): "wh",
    ("kilowatt", "hours"): "kwh",
    ("ampere", "hours"): "ah",
    ("square", "metres"): "m²",
    ("square", "meters"): "m²",
    ("cubic", "metres"): "m³",
    ("square", "kilometres"): "km²",
    ("square", "kilometers"): "km²",
    ("cubic", "meters"): "m³",
}

PHRASE_STARTS = frozenset(first for first, _ in _PHRASES)
"""First words of the units that have two, folded."""

PREFIX_RATES = {"毎分": "min", "毎時": "h", "毎秒": "s", "每分钟": "min", "每分": "min", "每小时": "h", "每秒": "s"}
"""What stands before a number in Japanese and Chinese and makes its unit a rate."""

SUFFIX_RATES = {"每分钟": "min", "每小时": "h", "每秒": "s", "毎分": "min"}
"""The same behind the unit."""

DIVIDERS = folded("/ per pro je في a")
"""What stands between the two units of a rate."""


def _read() -> dict[str, Unit]:
    table: dict[str, Unit] = {}
    for line in _TABLE.strip().splitlines():
        head, _, surfaces = line.partition(":")
        dimension, factor = head.split()
        for surface in surfaces.split():
            table[fold(surface)] = Unit(dimension, Decimal(factor))
    table |= {" ".join(pair): table[fold(surface)] for pair, surface in _PHRASES.items()}
    return table


UNIT_OF = _read()
"""Folded way of writing to the unit."""

LONGEST_UNSPACED = 8
"""Characters of the longest unit in a script without spaces."""

AMBIGUOUS = words("a d t g m n s c h v w l pa ma mw pc ct ha ah foot feet second seconds grad pound pounds")
"""Ways of writing that mean something else without a number in front of them."""


def rate(numerator: Unit, denominator: Unit) -> Unit:
    """Return the unit of `numerator` per `denominator`."""
    return Unit(f"{numerator.dimension}/{denominator.dimension}", numerator.factor / denominator.factor)


def general(dimension: str) -> str:
    """Return the sort that a dimension is of: that itself, but one for the three ways to give a temperature."""
    return "temperature" if dimension in ("degree", "celsius", "fahrenheit") else dimension


def comparable(one: str, other: str) -> bool:
    """Whether quantities of these two dimensions can be compared; a plain degree may be of either temperature scale."""
    return one == other or ("degree" in (one, other) and general(one) == general(other) == "temperature")
