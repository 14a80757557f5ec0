"""The SQL for the views: only columns that an export reads."""

from __future__ import annotations

from datetime import date

import pytest

from exporter.errors import UsageError
from exporter.fetch.snowflake import (
    ACCESS_HISTORY,
    QUERY_HISTORY,
    bounds,
    columns_sql,
    columns_to_read,
    rows_sql,
    schema_of,
)
from exporter.input import aggregates, query_history, reading


def test_every_column_that_a_row_is_read_from_is_asked_for() -> None:
    """And no other: a column that nobody reads would be copied for nothing."""
    assert set(ACCESS_HISTORY.columns) == reading._KNOWN - set(aggregates.COLUMNS)
    assert len(ACCESS_HISTORY.columns) == len(set(ACCESS_HISTORY.columns))


def test_every_column_of_query_history_that_is_read_is_asked_for() -> None:
    """Beside them, the day by which rows are asked for, and the user, by whom lines are left out and hidden."""
    assert set(QUERY_HISTORY.columns) == query_history._KNOWN | {"start_time", "user_name"}


def test_sql_text_stays_where_it_is_unless_it_is_wanted() -> None:
    there = [name.upper() for name in QUERY_HISTORY.columns]
    assert "query_text" not in columns_to_read(QUERY_HISTORY, there, query_text=False)
    assert "query_text" in columns_to_read(QUERY_HISTORY, there, query_text=True)


def test_a_column_that_the_view_lacks_is_not_asked_for() -> None:
    assert columns_to_read(ACCESS_HISTORY, ["USER_NAME", "QUERY_ID", "NEW_ONE"], query_text=False) == (
        "query_id",
        "user_name",
    )


@pytest.mark.parametrize(
    ("view", "schema"),
    [
        ("account", "SNOWFLAKE.ACCOUNT_USAGE"),
        ("Organization", "SNOWFLAKE.ORGANIZATION_USAGE"),
        ("governance.lineage", "GOVERNANCE.LINEAGE"),
        ('"my db"."a ""b"""', '"my db"."a ""b"""'),
    ],
)
def test_views_by_their_names(view: str, schema: str) -> None:
    assert schema_of(view) == schema


@pytest.mark.parametrize(
    "view", ["", "lineage", "a.b.c", "a.b; drop table c", "a.b --", 'a."b', "a.b\n", "\uff41.b", '"a%sb".c']
)
def test_what_is_no_schema_does_not_reach_the_sql(view: str) -> None:
    with pytest.raises(UsageError, match="is not account, organization or"):
        schema_of(view)


def test_the_sql() -> None:
    assert columns_sql("A.B", QUERY_HISTORY) == "select * from A.B.QUERY_HISTORY limit 0"
    sql = rows_sql("A.B", ACCESS_HISTORY, ["query_id", "user_name"])
    assert sql % {name: repr(text) for name, text in bounds(date(2026, 11, 21)).items()} == (
        "select query_id, user_name from A.B.ACCESS_HISTORY "
        "where query_start_time >= to_timestamp_ltz('2026-11-21 00:00:00 +0000') "
        "and query_start_time < to_timestamp_ltz('2026-11-22 00:00:00 +0000')"
    )


def test_a_day_ends_where_the_next_one_begins() -> None:
    assert bounds(date(2026, 12, 31))["until"] == bounds(date(2027, 1, 1))["since"] == "2027-01-01 00:00:00 +0000"
