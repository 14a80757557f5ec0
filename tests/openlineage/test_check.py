"""The reasons why an event cannot be sent."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from exporter.openlineage import events
from exporter.openlineage.events import Event, problems

SOUND = Event(1_704_067_200_000_000, "COMPLETE", "write T [1]", b'{"name":"T"}')
YEAR_10000 = 253_402_300_800_000_000


@pytest.fixture(autouse=True)
def small_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "MOST_BYTES", 50)
    monkeypatch.setattr(events, "LONGEST_JOB_NAME", 20)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"job_name": None}, "job.name is missing"),
        ({"job_name": ""}, "job.name is missing"),
        ({"job_name": "é" * 21}, "job.name has 21 characters, more than 20"),
        ({"body": '"{}"'.format("ü" * 30).encode()}, "the event has 62 bytes, more than 50"),
        ({"time": YEAR_10000}, "eventTime is not in the years 1 to 9999"),
        ({"time": -62_135_596_800_000_001}, "eventTime is not in the years 1 to 9999"),
    ],
)
def test_an_event_that_cannot_be_sent_has_a_reason(changes: dict[str, Any], reason: str) -> None:
    assert problems(replace(SOUND, **changes)) == [reason]


def test_every_reason_is_reported() -> None:
    bad = Event(YEAR_10000, "START", "n" * 21, b"x" * 51)
    assert len(problems(bad)) == 3


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"type": "DATASET", "job_name": None},
        {"body": rb'{"name":"a\u0000b"}'},  # the specification allows it; push has the backends that refuse it
        {"job_name": "é" * 20, "body": b"x" * 50},
        {"time": YEAR_10000 - 1},
    ],
)
def test_a_valid_event_has_no_problems(changes: dict[str, Any]) -> None:
    assert problems(replace(SOUND, **changes)) == []
