"""Rows of AGGREGATE_ACCESS_HISTORY for tests, in the form of Snowflake's page of the view ("Columns")."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable
    from random import Random

Json = dict[str, Any]
COLUMNS: Final = (
    "user_name",
    "direct_objects_accessed",
    "base_objects_accessed",
    "objects_modified",
    "object_modified_by_ddl",
    "policies_referenced",
)
"""The columns that the view shares with ACCESS_HISTORY."""


def thing(ident: int, name: str, *columns: str, domain: str = "Table", sources: Json | None = None) -> Json:
    """An element of an object column; ``sources``: those of each column that was written, as in objects_modified."""
    listed = [
        {"columnId": 100 * ident + at, "columnName": column, **(sources or {})} for at, column in enumerate(columns)
    ]
    return {"objectDomain": domain, "objectId": ident, "objectName": name, "columns": listed}


def calls(
    start: str,
    user: str,
    hash_: str | None,
    number: int,
    read: Iterable[Json] = (),
    written: Iterable[Json] = (),
    minutes: float = 1,
    **more: Any,
) -> Json:
    """A row. ``start``: of the interval, as ``2026-09-01T08:00``; ``minutes``: its length."""
    begin = datetime.fromisoformat(start).replace(tzinfo=UTC)
    read = list(read)
    return {
        "interval_start_time": begin.isoformat(),
        "interval_end_time": (begin + timedelta(minutes=minutes)).isoformat(),
        "query_parameterized_hash": hash_,
        "user_name": user,
        "calls": number,
        "direct_objects_accessed": read,
        "base_objects_accessed": read,
        "objects_modified": list(written),
        "object_modified_by_ddl": None,
        "policies_referenced": [],
        **more,
    }


def added_up(rng: Random, rows: Iterable[Json]) -> list[Json]:
    """Rows of the aggregated view that do what some rows of ACCESS_HISTORY do, each in the minute of its start or in an
    interval of another length, which can go over midnight.
    """
    found = []
    for number, row in enumerate(rows):
        begin = datetime.fromisoformat(str(row["query_start_time"])).astimezone(UTC).replace(second=0, microsecond=0)
        length = timedelta(minutes=rng.choice((1, 1, 1, 60, 1_500)))
        times = {"interval_start_time": begin.isoformat(), "interval_end_time": (begin + length).isoformat()}
        own = {name: row[name] for name in (*COLUMNS, "organization_name", "account_name") if name in row}
        hash_ = rng.choice((None, f"hash-{number}", "hash"))
        found.append({**times, "query_parameterized_hash": hash_, "calls": 1 + number % 7, **own})
    return found
