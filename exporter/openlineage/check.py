"""Why an event must not go out. Nothing is dropped here: every event comes back, with its problems beside it.

The shape of the events is held against the specification's JSON Schemas by the tests; what depends on the rows is
looked at here, on every event.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

MAX_BYTES: Final = 10 * 2**20
MAX_JOB_NAME: Final = 2_000


@dataclass(frozen=True)
class Limits:
    """``max_bytes`` of an event's text in UTF-8, ``max_job_name`` characters of a job's name.

    ``refuses_nul``: whether the character NUL may not stand in it, which is allowed by the specification.
    The defaults are what a running Marquez was seen to take.
    """

    max_bytes: int = MAX_BYTES
    max_job_name: int = MAX_JOB_NAME
    refuses_nul: bool = False


LIMITS: Final = Limits()


def with_problems(events: DataFrame, limits: Limits = LIMITS) -> DataFrame:
    """The events with ``problems``: why each must not go out, as an array of sentences; empty for a sound one."""
    rules = {
        "event IS NULL": "'the event has no text: a field that every event has is missing'",
        "event_time IS NULL": "'eventTime is missing'",
        # RFC 3339 has four digits for the year.
        "year(event_time) NOT BETWEEN 1 AND 9999": "concat('eventTime is in the year ', year(event_time))",
        "query_id IS NOT NULL AND coalesce(job_name, '') = ''": "'job.name is missing'",
        f"length(job_name) > {limits.max_job_name}": _long("job.name", "length(job_name)", limits.max_job_name),
        f"octet_length(event) > {limits.max_bytes}": _long("the event", "octet_length(event)", limits.max_bytes),
    }
    if limits.refuses_nul:  # PostgreSQL stores none, and a backend on it answers with a fault that no retry mends
        rules[_HAS_NUL] = "'a name or text holds the character NUL'"
    told = ", ".join(f"IF({condition}, {reason}, NULL)" for condition, reason in rules.items())
    return events.selectExpr("*", f"array_compact(array({told})) AS problems")


def faults(events: DataFrame, limits: Limits = LIMITS) -> DataFrame:
    """Account, query id (None for a dataset's event), event type and ``reason``, one row for each problem."""
    found = with_problems(events, limits)
    return found.selectExpr("account", "query_id", "event_type", "explode(problems) AS reason")


_HAS_NUL: Final = r"contains(event, r'\u0000') AND event RLIKE r'(?<!\\)(?:\\\\)*\\u0000'"


def _long(what: str, size: str, limit: int) -> str:
    unit = "bytes" if "octet" in size else "characters"
    return f"concat('{what} has ', {size}, ' {unit}, more than {limit}')"
