"""Times in the forms in which they leave Snowflake."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F

if TYPE_CHECKING:
    from pyspark.sql import Column

_OFFSET: Final = r"\s*([+-]\d{2}):?(\d{2})\z"
_LONG: Final = r"^(?:[A-Za-z]{3}\.?,\s*)?(\d{1,2}) ([A-Za-z]{3})\.? (\d{4}) (\d{2}:\d{2}:\d{2})(\.\d+)?\s*(.*)\z"
_MONTHS: Final = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_CLOCK: Final = (
    r"^\d{4}-\d{2}-\d{2}([Tt ]\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?(\s*([Zz]|[+-]\d{2}:?\d{2}|[A-Z][A-Za-z/_]+))?)?\z"
)
_SECONDS: Final = r"^\d{9,10}(\.\d{1,9})?\z"
_WHOLE: Final = {r"^\d{12,13}\z": 1000, r"^\d{15,16}\z": 1_000_000, r"^\d{18,19}\z": 1_000_000_000}


def parse_time(text: Column) -> Column:
    """A time as text -> a timestamp in UTC, to the microsecond; None where it cannot be read.

    Read are: ISO dates and times with 0 to 9 digits of fraction and any offset, ``Z`` or none (then it is UTC, as the
    view's documents say of query_start_time); the long form of Snowflake's TIMESTAMP_OUTPUT_FORMAT
    (``Wed, 25 Jan 2022 16:17:47 +0000``); seconds, milli-, micro- or nanoseconds since 1970, as the drivers give them.
    """
    usual = F.when(text.rlike(_CLOCK), _clock(text))
    return F.coalesce(usual, F.get(F.transform(F.transform(F.array(F.trim(text)), _unusual), _in_years), F.lit(0)))


def _clock(text: Column) -> Column:
    return F.regexp_replace(text, _OFFSET, "$1:$2").try_cast("timestamp")


def _unusual(text: Column) -> Column:
    """The forms that only some tools write."""
    read = F.when(text.rlike(_SECONDS), _since_epoch(text, 1))
    for digits, per_second in _WHOLE.items():
        read = read.when(text.rlike(digits), _since_epoch(text, per_second))
    hours = F.regexp_replace(text, r"\s*([+-]\d{2})\z", "$1:00")
    return read.when(text.rlike(_LONG), _clock(_long_as_iso(text))).when(hours.rlike(_CLOCK), _clock(hours))


def _in_years(time: Column) -> Column:
    """The time, where its year has four digits: beyond, no other tool reads it."""
    return F.when(F.year(time).between(1, 9999), time)


def _since_epoch(digits: Column, per_second: int) -> Column:
    micros = (digits.try_cast("decimal(28,9)") * 1_000_000 / per_second).try_cast("bigint")
    return F.timestamp_micros(micros)


def _long_as_iso(text: Column) -> Column:
    months = F.array(*[F.lit(month.lower()) for month in _MONTHS])
    month = F.lpad(F.array_position(months, F.lower(_group(text, 2))).cast("string"), 2, "0")
    day = F.lpad(_group(text, 1), 2, "0")
    return F.concat(
        _group(text, 3), F.lit("-"), month, F.lit("-"), day, F.lit(" "), *[_group(text, n) for n in (4, 5, 6)]
    )


def _group(text: Column, number: int) -> Column:
    return F.regexp_extract(text, _LONG, number)
