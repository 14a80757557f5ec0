"""Times in every format in which they leave Snowflake, and in the outputs."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.input.reading import read_line
from exporter.input.row import Unreadable
from exporter.input.times import LAST, iso, iso_micros, micros_of, parse_time
from tests.input.bad_rows import GOOD

READ: Final = {
    "2022-01-25 16:17:47.388 +0000": "2022-01-25T16:17:47.388",
    "2022-01-25 16:17:47.388 -0600": "2022-01-25T22:17:47.388",
    "2022-01-25 16:17:47 +05:30": "2022-01-25T10:47:47",
    "2022-01-25T16:17:47Z": "2022-01-25T16:17:47",
    "2022-01-25T16:17:47.388+00:00": "2022-01-25T16:17:47.388",
    "2022-01-25 16:17:47.388+0000": "2022-01-25T16:17:47.388",
    "2022-01-25 16:17:47": "2022-01-25T16:17:47",
    "2022-01-25 16:17": "2022-01-25T16:17:00",
    "2022-01-25 6:17": "2022-01-25T06:17:00",
    "2022-01-25 6:17:47": "2022-01-25T06:17:47",
    "2022-01-25": "2022-01-25T00:00:00",
    "2022-01-25 16:17:47+01": "2022-01-25T15:17:47",
    "2022-01-25 16:17:47\t+0100": "2022-01-25T15:17:47",
    "2022-01-25T16:17:47  Z": "2022-01-25T16:17:47",
    "2022-01-25 16:17:47.1": "2022-01-25T16:17:47.100",
    "2022-01-25 16:17:47.123456789": "2022-01-25T16:17:47.123456",
    "2022-01-25T16:17:47.123456789012345Z": "2022-01-25T16:17:47.123456",
    "2022-01-25 16:17:47.999999999 Z": "2022-01-25T16:17:47.999999",
    "2022-01-25 23:59:59 +1800": "2022-01-25T05:59:59",
    "2022-01-25 23:59:59 -0059": "2022-01-26T00:58:59",
    "2022-01-25 23:59:59 -00:00": "2022-01-25T23:59:59",
    "Tue, 25 Jan 2022 16:17:47 +0000": "2022-01-25T16:17:47",
    "Mon, 25 Jan 2022 16:17:47.388 -0600": "2022-01-25T22:17:47.388",
    "Tue., 25 JAN. 2022 16:17:47.123456789 -06:00": "2022-01-25T22:17:47.123456",
    "25 Jan 2022 16:17:47": "2022-01-25T16:17:47",
    "5 Jan 2022 16:17:47 Z": "2022-01-05T16:17:47",
    "5 Jan 2022 16:17:47. +0000": "2022-01-05T16:17:47",
    "5 Jan 2022 16:17:47 UTC+01:00": "2022-01-05T15:17:47",
    "5 Jan 2022 16:17:47 +1:00": "2022-01-05T15:17:47",
    "1643127467": "2022-01-25T16:17:47",
    "1643127467.388": "2022-01-25T16:17:47.388",
    "1643127467.1234569": "2022-01-25T16:17:47.123456",
    "1643127467388": "2022-01-25T16:17:47.388",
    "1643127467388.0": "2022-01-25T16:17:47.388",
    "1643127467388.1239": "2022-01-25T16:17:47.388123",
    "1643127467388000": "2022-01-25T16:17:47.388",
    "1643127467388123.0": "2022-01-25T16:17:47.388123",
    "1643127467388000000": "2022-01-25T16:17:47.388",
    "1643127467388999999": "2022-01-25T16:17:47.388999",
    "164312746738": "1975-03-17T18:25:46.738",
    "000000000": "1970-01-01T00:00:00",
    "2999-12-31 23:59:59.999999 +0000": "2999-12-31T23:59:59.999999",
    "1969-12-31 23:59:59 +0000": "1969-12-31T23:59:59",
    "2024-02-29 00:00:00 +0000": "2024-02-29T00:00:00",
    "0001-01-01 00:00:00 +0000": "0001-01-01T00:00:00",
    "9999-12-31 23:59:59.999999": "9999-12-31T23:59:59.999999",
    " 2022-01-25 16:17:47 ": "2022-01-25T16:17:47",
    " 1643127467 ": "2022-01-25T16:17:47",
}
ZONES: Final = {
    "2022-01-25 16:17:47 Europe/Berlin": "2022-01-25T15:17:47",
    "2022-01-25 23:59:59Europe/Berlin": "2022-01-25T22:59:59",
    "2022-01-25 23:59:59 America/New_York": "2022-01-26T04:59:59",
    "2022-03-27 02:30:00 Europe/Berlin": "2022-03-27T01:30:00",  # the hour that was left out
    "2022-10-30 02:30:00 Europe/Berlin": "2022-10-30T00:30:00",  # the hour that came twice: the first
    "1880-01-01 00:00:00 Europe/Berlin": "1879-12-31T23:06:32",
    "2022-01-25 23:59:59 UTC": "2022-01-25T23:59:59",
    "2022-01-25 23:59:59 GMT": "2022-01-25T23:59:59",
    "2022-01-25 23:59:59 Zulu": "2022-01-25T23:59:59",
    "05 Jan 2022 16:17:47 America/New_York": "2022-01-05T21:17:47",
}
"""As java.time has them."""
SHORT: Final = (
    " PST",
    "PDT",
    " EST",
    " CST",
    " IST",
    " BST",
    " CET",
    " CEST",
    " MST",
    " HST",
    " JST",
    " WET",
    " AET",
    "PRC",
)
"""Each is of several zones, or of one in winter alone: Snowflake, java.time and the zones of ISO differ in them."""
UNREADABLE: Final = (
    *("yesterday", "", " ", "2023-02-29 00:00:00", "2022-01-25 24:01:00", "2022-13-01", "01/25/2022 16:17:47"),
    *("2022-01-25 16:17:47 +9900", "25.01.2022", "12", "99999999999999999999", "2022-01-25 16:17:47 Mars/Base", "T"),
    *("Tue, 32 Jan 2022 16:17:47 +0000", "Tue, 25 Foo 2022 16:17:47 +0000", "NaN", "undefined", "2022-01-25 16"),
    *("2022-01-25t16:17:47Z", "2022-01-25T16:17:47z", "2022-01-25 16:17 +0100", "2022-01-25 16:17:47.", "1900-02-29"),
    *("2022-01-25 16:17:60", "2022-01-25 23:59:59 +1801", "2022-01-25 23:59:59 -0060", "2022-00-10", "2022-01-00"),
    *("2022-01-25 23:59:59 europe/berlin", "2022-01-25 23:59:59 UTC+1", "2022-01-25  10:00:00", "2022-01-25T"),
    *("2022-01-25 10:00:00 +1", "2022-01-25 10:00:00 +01:0", "2022-01-25 10:00:00 + 0100", "2022-1-25 10:00:00"),
    *("12022-01-25 10:00:00", "-2022-01-25 10:00:00", "2022-01-25 10:0:00", "٢٠٢٢-01-25 10:00:00", "2022-01-25Z"),
    *("2022-01-25 +1:+2:+3", "2022-01-25  1: 2: 3", "2022-01-25 1_:00:00", "2022-01-25 10:00:00.1_1", "-1643127467"),
    *(
        "16431274670",
        "16431274673880",
        "1643127467.",
        "9999999999.9999999999",
        "5 Jan 0000 16:17:47",
    ),
    *("0000-01-01 00:00:00", "0001-01-01 00:00:00 +0500", "9999-12-31 23:59:59 -0600", "5 Jan 2022 26:17:47"),
    *(
        "2022-01-25 16:17:47 America",
        "2022-01-25 16:17:47 A",
        "2022-01-25 16:17:47.388 +0000 UTC",
        "2022-01-25T16:17,5",
    ),
    *(f"2022-07-25 16:17:47{zone}" for zone in SHORT),
    *(f"25 Jul 2022 16:17:47.5{zone}" for zone in SHORT),
    "2022-01-25 16:17:47" + " " * 1000,
    "1" * 100_000,
)


def micros(moment: datetime) -> int:
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)


@pytest.mark.parametrize(("text", "expected"), (READ | ZONES).items())
def test_times_that_can_be_read(text: str, expected: str) -> None:
    assert parse_time(text) == micros(datetime.fromisoformat(expected).replace(tzinfo=UTC))


@pytest.mark.parametrize("zone", SHORT)
def test_a_zone_that_is_abbreviated_is_told(zone: str) -> None:
    text = f"2022-07-25 16:17:47{zone}"
    said = f"has an abbreviation, which may be one of several zones; give the offset, as +0000: {text}"
    assert read_line(json.dumps({**GOOD, "query_start_time": text})) == Unreadable((f"query_start_time {said}",))
    calls = {"user_name": "U", "interval_start_time": "2022-07-25", "interval_end_time": text, "calls": 1}
    assert read_line(json.dumps(calls)) == Unreadable((f"interval_end_time {said}",))
    for other in (
        "20220725T161747",
        "2022-07-25T16",
        "1.64E12",
        "2022-07-25 4:17 PM",
        "2022-07-25 16:17:47 Mars/Base",
        f"2022-07-25 x{zone}",
    ):
        [problem] = read_line(json.dumps({**GOOD, "query_start_time": other})).problems
        assert problem == f"query_start_time cannot be read as a time: {other}"


@pytest.mark.parametrize("text", UNREADABLE)
def test_times_that_cannot(text: str) -> None:
    assert parse_time(text) is None


MOMENTS: Final = st.datetimes(datetime(1, 1, 3), datetime(9999, 12, 29))  # noqa: DTZ001 - the offset is drawn beside it


@given(
    MOMENTS,
    st.text("0123456789", max_size=9),
    st.none() | st.integers(-12 * 60, 14 * 60),
    st.sampled_from((":", "")),
    st.sampled_from(("", " ")),
    st.sampled_from(" T"),
)
def test_the_instant_is_the_one_that_was_written(
    moment: datetime, digits: str, offset: int | None, colon: str, gap: str, letter: str
) -> None:
    """With 0 to 9 digits of fraction and any offset or none."""
    zone = "" if offset is None else f"{timezone(timedelta(minutes=offset))}".removeprefix("UTC") or "Z"
    zone = gap + zone.replace(":", colon) if zone else ""
    day = f"{moment:%Y-%m-%d}".rjust(10, "0")
    text = f"{day}{letter}{moment:%H:%M:%S}{'.' * bool(digits)}{digits}{zone}"
    shift = timedelta(minutes=offset or 0)
    expected = moment.replace(tzinfo=UTC, microsecond=int((digits + "000000")[:6])) - shift
    assert parse_time(text) == micros(expected)


@given(MOMENTS)
def test_a_time_is_written_in_utc(moment: datetime) -> None:
    at = micros(moment.replace(tzinfo=UTC))
    to_seconds = moment.replace(microsecond=0).isoformat()
    assert iso_micros(at) == f"{to_seconds}.{moment.microsecond:06}Z"
    assert iso(at) == (to_seconds + f".{moment.microsecond:06}".rstrip("0")).rstrip(".") + "Z"
    assert parse_time(iso(at)) == parse_time(iso_micros(at)) == at == micros_of(moment)


@pytest.mark.parametrize(
    ("text", "short", "long"),
    [
        ("2026-03-01 08:00:00 +0000", "2026-03-01T08:00:00Z", "2026-03-01T08:00:00.000000Z"),
        ("2026-03-01 08:00:00.123 +0000", "2026-03-01T08:00:00.123Z", "2026-03-01T08:00:00.123000Z"),
        ("2026-03-01 08:00:00.123456 +0000", "2026-03-01T08:00:00.123456Z", "2026-03-01T08:00:00.123456Z"),
        ("1969-12-31 23:59:59.5 +0000", "1969-12-31T23:59:59.5Z", "1969-12-31T23:59:59.500000Z"),
        ("0001-01-01 00:00:00 +0000", "0001-01-01T00:00:00Z", "0001-01-01T00:00:00.000000Z"),
        ("9999-12-31 23:59:59.999999", "9999-12-31T23:59:59.999999Z", "9999-12-31T23:59:59.999999Z"),
    ],
)
def test_times_as_they_are_written(text: str, short: str, long: str) -> None:
    at = parse_time(text)
    assert at is not None
    assert (iso(at), iso_micros(at)) == (short, long)


@pytest.mark.parametrize(
    ("time", "expected"),
    [
        (0, "1970-01-01T00:00:00.000000Z"),
        (-1, "1969-12-31T23:59:59.999999Z"),
        (951_782_400_000_000, "2000-02-29T00:00:00.000000Z"),
        (4_107_542_400_000_000, "2100-03-01T00:00:00.000000Z"),
        (-62_135_596_800_000_000, "0001-01-01T00:00:00.000000Z"),
        (LAST, "9999-12-31T23:59:59.999999Z"),
    ],
)
def test_times_of_events_are_utc_to_the_microsecond(time: int, expected: str) -> None:
    assert iso_micros(time) == expected
