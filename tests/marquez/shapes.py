"""Rows of a history with repeated statements: so many shapes of a job, each a table made from two others."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

Json = dict[str, Any]
BEGIN: Final = datetime(2026, 1, 1, tzinfo=UTC)


def history(account: str, rows: int, shapes: int) -> Iterator[Json]:
    """Row ``n`` is the statement of shape ``n % shapes``: table T from the tables before it, column by column."""
    for number in range(rows):
        yield statement(account, number, number % shapes)


def statement(account: str, number: int, shape: int) -> Json:
    """One row of ACCESS_HISTORY."""
    sources = [_table(one) for one in {max(shape - 1, 0), shape // 2} if one != shape or shape == 0]
    inputs = [{**one, "columns": _columns("A", "B")} for one in sources]
    made = {"directSources": [{**one, "columnName": "A"} for one in sources]}
    written = [{**one, **made} for one in _columns("A", "B")]
    organization, _, name = account.partition("-")
    return {
        "organization_name": organization,
        "account_name": name,
        "query_id": f"01b0-{number:08d}",
        "query_start_time": (BEGIN + timedelta(seconds=number)).isoformat(),
        "user_name": "LOADER",
        "direct_objects_accessed": inputs,
        "base_objects_accessed": inputs,
        "objects_modified": [{**_table(shape + 1), "columns": written}],
    }


def _table(number: int) -> Json:
    return {"objectDomain": "Table", "objectId": 1000 + number, "objectName": f"DB.S.T{number}"}


def _columns(*names: str) -> list[Json]:
    return [{"columnId": number, "columnName": name} for number, name in enumerate(names, start=1)]
