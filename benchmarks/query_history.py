"""A generated row, with the columns of QUERY_HISTORY for its query."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

HISTORY: Final = (
    *("query_id", "query_text", "query_type", "query_tag", "query_parameterized_hash", "session_id", "role_name"),
    *("role_type", "warehouse_name", "warehouse_size", "database_name", "schema_name", "start_time", "end_time"),
    *("total_elapsed_time", "execution_status", "bytes_scanned", "rows_produced", "rows_inserted", "rows_updated"),
    "rows_deleted",
)


@dataclass(frozen=True)
class Row:
    """One row as a line of JSON, with the columns of QUERY_HISTORY; ``job`` is the same each time the statement
    recurs.
    """

    line: str
    query_id: str
    start: datetime
    kind: str
    job: str
    user: str
    first: bool = True


def stamp(moment: datetime) -> str:
    """A time as the view's rows have it."""
    return f"{moment:%Y-%m-%d %H:%M:%S}.{moment.microsecond // 1000:03d} +0000"


def history_line(row: Row) -> list[object]:
    """The line of QUERY_HISTORY for a row's query."""
    elapsed = 100 + int(row.query_id[-4:], 16) % 20_000
    wrote = 10 * elapsed if row.kind in ("INSERT", "MERGE", "COPY", "CREATE_TABLE_AS_SELECT") else "\\N"
    shape = hashlib.md5(row.job.encode(), usedforsecurity=False).hexdigest()
    who = (f"/* {row.job} */ {row.kind}", row.kind, "\\N", shape, row.query_id[:8], f"ROLE_{row.user[-2:]}")
    ran = (stamp(row.start), stamp(row.start + timedelta(milliseconds=elapsed)), elapsed, "SUCCESS")
    where = ("ROLE", "WH_1", "Small", "RAW_0", "PUBLIC")
    return [row.query_id, *who, *where, *ran, 1000 * elapsed, elapsed, wrote, "\\N", "\\N"]
