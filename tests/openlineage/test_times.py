"""Times in events."""

from __future__ import annotations

import pytest

from exporter.openlineage.facets import iso

YEAR_10000 = 253_402_300_800_000_000


@pytest.mark.parametrize(
    ("time", "expected"),
    [
        (0, "1970-01-01T00:00:00.000000Z"),
        (-1, "1969-12-31T23:59:59.999999Z"),
        (951_782_400_000_000, "2000-02-29T00:00:00.000000Z"),
        (4_107_542_400_000_000, "2100-03-01T00:00:00.000000Z"),
        (-62_135_596_800_000_000, "0001-01-01T00:00:00.000000Z"),
        (YEAR_10000 - 1, "9999-12-31T23:59:59.999999Z"),
    ],
)
def test_times_are_utc_to_the_microsecond(time: int, expected: str) -> None:
    assert iso(time) == expected
