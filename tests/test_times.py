"""Times in every spelling in which they leave Snowflake."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import TYPE_CHECKING, Final

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import functions as F

from exporter.times import parse_time
from tests.columns import applied
from tests.facts import plain_reading as plain

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

READ: Final = {
    "2022-01-25 16:17:47.388 +0000": "2022-01-25T16:17:47.388000",
    "2022-01-25 16:17:47.388 -0600": "2022-01-25T22:17:47.388000",
    "2022-01-25 16:17:47 +05:30": "2022-01-25T10:47:47",
    "2022-01-25T16:17:47Z": "2022-01-25T16:17:47",
    "2022-01-25 16:17:47": "2022-01-25T16:17:47",
    "2022-01-25 16:17": "2022-01-25T16:17:00",
    "2022-01-25": "2022-01-25T00:00:00",
    "2022-01-25 16:17:47+01": "2022-01-25T15:17:47",
    "2022-01-25 16:17:47.1": "2022-01-25T16:17:47.100000",
    "2022-01-25 16:17:47.123456789": "2022-01-25T16:17:47.123456",
    "2022-01-25 16:17:47.999999999 Z": "2022-01-25T16:17:47.999999",
    "2022-01-25 16:17:47 Europe/Berlin": "2022-01-25T15:17:47",
    "Tue, 25 Jan 2022 16:17:47 +0000": "2022-01-25T16:17:47",
    "Mon, 25 Jan 2022 16:17:47.388 -0600": "2022-01-25T22:17:47.388000",
    "25 Jan 2022 16:17:47": "2022-01-25T16:17:47",
    "1643127467": "2022-01-25T16:17:47",
    "1643127467.388": "2022-01-25T16:17:47.388000",
    "1643127467388": "2022-01-25T16:17:47.388000",
    "1643127467388000": "2022-01-25T16:17:47.388000",
    "1643127467388000000": "2022-01-25T16:17:47.388000",
    "2999-12-31 23:59:59.999999 +0000": "2999-12-31T23:59:59.999999",
    "1969-12-31 23:59:59 +0000": "1969-12-31T23:59:59",
    "2024-02-29 00:00:00 +0000": "2024-02-29T00:00:00",
    " 2022-01-25 16:17:47 ": "2022-01-25T16:17:47",
}
UNREADABLE: Final = (
    *("yesterday", "", " ", "2023-02-29 00:00:00", "2022-01-25 24:01:00", "2022-13-01", "01/25/2022 16:17:47"),
    *("2022-01-25 16:17:47 +9900", "25.01.2022", "12", "99999999999999999999", "2022-01-25 16:17:47 Mars/Base", "T"),
    *("Tue, 32 Jan 2022 16:17:47 +0000", "Tue, 25 Foo 2022 16:17:47 +0000", "NaN", "undefined", "2022-01-25 16"),
)


def micros(moment: datetime) -> int:
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)


def test_times_that_can_be_read(spark: SparkSession) -> None:
    found = applied(spark, lambda text: F.unix_micros(parse_time(F.col(text))), list(READ))
    assert dict(zip(READ, found, strict=True)) == {text: micros(plain.time(iso)) for text, iso in READ.items()}


def test_times_that_cannot(spark: SparkSession) -> None:
    assert dict.fromkeys(UNREADABLE) == dict(
        zip(UNREADABLE, applied(spark, lambda text: parse_time(F.col(text)).cast("string"), UNREADABLE), strict=True)
    )


MOMENTS: Final = st.datetimes(datetime(1, 1, 3), datetime(9999, 12, 29))  # noqa: DTZ001 - the offset is drawn beside it


@st.composite
def spelt(draw: st.DrawFn) -> str:
    """A moment in one of the ISO spellings, with 0 to 9 digits of fraction and any offset or none."""
    offset = draw(st.one_of(st.none(), st.integers(-12 * 60, 14 * 60)))
    moment, digits = draw(MOMENTS), draw(st.text("0123456789", max_size=9))
    zone = "" if offset is None else f"{timezone(timedelta(minutes=offset))}".removeprefix("UTC") or "Z"
    zone = zone.replace(":", draw(st.sampled_from((":", "")))) if zone != "Z" else zone
    gap, letter = draw(st.sampled_from(("", " "))), draw(st.sampled_from(" T"))
    return (
        f"{moment:%Y-%m-%d}".rjust(10, "0")
        + f"{letter}{moment:%H:%M:%S}{'.' * bool(digits)}{digits}{gap * bool(zone)}{zone}"
    )


@given(st.lists(spelt(), min_size=1, max_size=200))
@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_the_instant_is_the_one_that_was_written(spark: SparkSession, texts: list[str]) -> None:
    found = applied(spark, lambda text: F.unix_micros(parse_time(F.col(text))), texts)
    assert found == [micros(plain.time(text)) for text in texts]
