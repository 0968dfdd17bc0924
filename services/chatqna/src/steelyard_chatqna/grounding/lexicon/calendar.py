"""Names of months and weekdays, folded; months in English, German and Arabic (the others write numbers)."""

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

_WEEKDAYS = """
monday mondays montag montags montagen 月曜 月曜日 星期一 周一 الاثنين الإثنين
tuesday tuesdays dienstag dienstags dienstagen 火曜 火曜日 星期二 周二 الثلاثاء
wednesday wednesdays mittwoch mittwochs mittwochen 水曜 水曜日 星期三 周三 الأربعاء
thursday thursdays donnerstag donnerstags donnerstagen 木曜 木曜日 星期四 周四 الخميس
friday fridays freitag freitags freitagen 金曜 金曜日 星期五 周五 الجمعة
saturday saturdays samstag samstags samstagen sonnabend sonnabends 土曜 土曜日 星期六 周六 السبت
sunday sundays sonntag sonntags sonntagen 日曜 日曜日 星期日 星期天 周日 الأحد
"""

WEEKDAYS = tuple(line.split()[0] for line in _WEEKDAYS.strip().splitlines())
"""The weekdays' own names, from Monday."""

WEEKDAY_OF = {
    fold(name): day for day, line in zip(WEEKDAYS, _WEEKDAYS.strip().splitlines(), strict=True) for name in line.split()
}
"""Folded name to the weekday that it names."""
