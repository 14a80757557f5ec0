"""What is read from Snowflake: two or three views, only the columns that an export reads, one day at a time.

The list of columns follows from what the rest of the program reads: a column that it learns to read is fetched too. A
column that a view does not have (editions and accounts differ) is left out of the SQL.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from exporter.errors import UsageError
from exporter.queries.facts import HISTORY_COLUMNS
from exporter.rows import aggregates, fetched
from exporter.rows.row import STRUCTURED, Row

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import date

_NAMED: Final = frozenset({"query_id", "start", "user_name", "content", "unknown_columns"})
_OF_CALLS: Final = frozenset({"calls", "interval_end", "query_parameterized_hash"})
"""Fields of a row whose columns have other names, listed below, and those that AGGREGATE_ACCESS_HISTORY alone has."""
_PART: Final = r'(?:[A-Za-z_][A-Za-z0-9_$]*|"(?:[^"%\x00-\x1f]|"")+")'
_SCHEMA: Final = re.compile(rf"{_PART}\.{_PART}", re.ASCII)

SCHEMAS: Final = {"account": "SNOWFLAKE.ACCOUNT_USAGE", "organization": "SNOWFLAKE.ORGANIZATION_USAGE"}
"""The names for Snowflake's own schemas in ``--view``."""
GRANTS: Final = {
    SCHEMAS["account"]: "grant database role SNOWFLAKE.GOVERNANCE_VIEWER to role ROLE",
    SCHEMAS["organization"]: "grant application role SNOWFLAKE.ORGANIZATION_GOVERNANCE_VIEWER to role ROLE",
}
"""The smallest grant that lets a role read both views of a schema."""
QUERY_TEXT: Final = "query_text"
OF_ORGANIZATION: Final = frozenset(
    {
        "organization_name",
        "account_name",
        "account_locator",
        "provider_base_objects_accessed",
        "provider_policies_referenced",
    }
)
"""Columns that only ORGANIZATION_USAGE has."""


@dataclass(frozen=True)
class View:
    """``folder``: below ROWS; ``time``: the column that decides the day of a row; ``columns``: those that an export
    reads, in the order of the SELECT; ``required``: columns that the view has to have.
    """

    name: str
    folder: str
    time: str
    columns: tuple[str, ...]
    required: tuple[str, ...]


ACCESS_HISTORY: Final = View(
    "ACCESS_HISTORY",
    fetched.ACCESS_HISTORY,
    "query_start_time",
    (
        *("query_id", "query_start_time", "user_name"),
        *STRUCTURED,
        *(name for name in Row.__struct_fields__ if name not in _NAMED | _OF_CALLS),
    ),
    ("query_id", "query_start_time", "user_name"),
)
QUERY_HISTORY: Final = View(
    "QUERY_HISTORY",
    fetched.QUERY_HISTORY,
    "start_time",
    ("query_id", "start_time", "user_name", *HISTORY_COLUMNS),
    ("query_id", "start_time"),
)
AGGREGATE: Final = View(
    "AGGREGATE_ACCESS_HISTORY",
    fetched.AGGREGATE,
    "interval_start_time",
    (
        *(*aggregates.COLUMNS, "user_name", "direct_objects_accessed", "base_objects_accessed", "objects_modified"),
        *("policies_referenced", "object_modified_by_ddl", "organization_name", "account_name", "account_locator"),
    ),
    aggregates.REQUIRED,
)


def schema_of(view: str) -> str:
    """``account``, ``organization`` or DATABASE.SCHEMA -> the schema for the SQL, in upper case where it has no quotes.
    Raises UsageError for anything else.
    """
    known = SCHEMAS.get(view.lower())
    if known is None and not _SCHEMA.fullmatch(view):
        raise UsageError(f"--view {view}: is not account, organization or DATABASE.SCHEMA")
    return known or (view if '"' in view else view.upper())


def asked_for(view: View, there: Iterable[str], *, query_text: bool) -> tuple[str, ...]:
    """The columns to ask for, of those that are ``there``; SQL text only where it is wanted."""
    known = {name.lower() for name in there}
    return tuple(name for name in view.columns if name in known and (query_text or name != QUERY_TEXT))


def columns_sql(schema: str, view: View) -> str:
    """The SQL for the names of a view's columns; it returns no rows."""
    return f"select * from {schema}.{view.name} limit 0"  # noqa: S608 - see schema_of


def count_sql(schema: str, view: View) -> str:
    """The SQL for the number of rows of a day; its parameters are :func:`bounds`."""
    return f"select count(*) from {schema}.{view.name}{_where(view)}"  # noqa: S608 - see schema_of


def rows_sql(schema: str, view: View, columns: Iterable[str]) -> str:
    """The SQL for the rows of a day; its parameters are :func:`bounds`."""
    return f"select {', '.join(columns)} from {schema}.{view.name}{_where(view)}"  # noqa: S608 - see schema_of


def _where(view: View) -> str:
    return f" where {view.time} >= to_timestamp_ltz(%(since)s) and {view.time} < to_timestamp_ltz(%(until)s)"


def bounds(day: date, after: date) -> dict[str, str]:
    """The parameters of a day: midnights of UTC, of the day itself and of the next day ``after``."""
    return {"since": f"{day} 00:00:00 +0000", "until": f"{after} 00:00:00 +0000"}
