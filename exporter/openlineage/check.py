"""Checks each event before it is written, and gives the reasons against it. Nothing is dropped here.

The tests validate the structure of events with the JSON Schemas of the specification. The checks here are for what
depends on the rows.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from exporter.openlineage.datasets import DATASET
from exporter.openlineage.times import year

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exporter.openlineage.events import Event

MAX_BYTES: Final = 10 * 2**20
MAX_JOB_NAME: Final = 2_000

_YEAR_1: Final = -62_135_596_800_000_000
_YEAR_10000: Final = 253_402_300_800_000_000
_has_nul: Final = re.compile(rb"(?<!\\)(?:\\\\)*\\u0000").search


@dataclass(frozen=True)
class Limits:
    """``max_bytes``: of an event's text in UTF-8; ``max_job_name``: characters of a job's name; ``refuses_nul``:
    whether the character NUL is refused, though the specification allows it. The defaults are what a running Marquez
    accepted.
    """

    max_bytes: int = MAX_BYTES
    max_job_name: int = MAX_JOB_NAME
    refuses_nul: bool = False


LIMITS: Final = Limits()


def problems(event: Event, limits: Limits = LIMITS) -> list[str]:
    """Why the event cannot be sent, one sentence for each reason; empty for a valid event."""
    return list(_problems(event, limits))


def _problems(event: Event, limits: Limits) -> Iterator[str]:
    # RFC 3339 allows only years of four digits.
    if not _YEAR_1 <= event.time < _YEAR_10000:
        yield f"eventTime is in the year {year(event.time)}"
    if event.type != DATASET and not event.job_name:
        yield "job.name is missing"
    if event.job_name is not None and len(event.job_name) > limits.max_job_name:
        yield f"job.name has {len(event.job_name)} characters, more than {limits.max_job_name}"
    if len(event.body) > limits.max_bytes:
        yield f"the event has {len(event.body)} bytes, more than {limits.max_bytes}"
    # PostgreSQL cannot store NUL: a backend on PostgreSQL answers with an error, however often the event is sent.
    if limits.refuses_nul and b"\\u0000" in event.body and _has_nul(event.body):
        yield "a name or text holds the character NUL"
