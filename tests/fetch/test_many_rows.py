"""20,000 rows from Snowflake to files, and back."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from exporter.fetch import snowflake as connection
from exporter.fetch import snowflake as views
from exporter.fetch.run import FetchOptions, Period, fetch
from exporter.input import files, find
from exporter.input.reading import read_line
from exporter.input.row import Row
from exporter.system.progress import Progress

if TYPE_CHECKING:
    from pathlib import Path

    from tests.fetch.snow import Snow

pytestmark = pytest.mark.filterwarnings("ignore:Arrow output on a DB-API result:UserWarning")
ROWS: Final = 20_000
READ: Final = '[{"objectDomain": "Table", "objectId": 66564, "objectName": "GOVERNANCE.TABLES.T1"}]'


def test_many_rows_come_and_are_read_back(snowflake: Snow, tmp_path: Path) -> None:
    """Every one once, over four days, each with its own time."""
    snowflake.make(views.ACCESS_HISTORY)
    snowflake.duck.execute(
        f"insert into {snowflake.schema}.ACCESS_HISTORY "
        "(QUERY_ID, QUERY_START_TIME, USER_NAME, DIRECT_OBJECTS_ACCESSED) "
        "select 'q' || n, timestamptz '2026-09-01 00:00:00+00' + interval (n * 17280) millisecond, 'JSMITH', "
        f"'{READ}' from range({ROWS}) of_rows(n)"
    )
    schema = views.SCHEMAS["account"]
    wanted = FetchOptions(tmp_path / "rows", Period(date(2026, 9, 1), date(2026, 9, 5)), query_history=False)
    clock = lambda: datetime(2026, 9, 9, tzinfo=UTC)  # noqa: E731 - a clock that stands
    done = fetch(wanted, lambda: connection.opened("lineage", schema), Progress(), clock)
    assert done.rows["access_history"] == dict.fromkeys([date(2026, 9, day) for day in range(1, 5)], ROWS // 4)
    folder = tmp_path / "rows" / "access_history"
    table = pq.read_table(folder)
    assert sorted(table["query_id"].to_pylist()) == sorted(f"q{number}" for number in range(ROWS))
    assert table["query_start_time"].type == pa.timestamp("us", "UTC")
    (source,) = find.find([str(folder)]).sources
    read = [read_line(one.text) for one in files.records(source)]
    assert [one.start for one in read if isinstance(one, Row)] == [
        1_788_220_800_000_000 + number * 17_280_000 for number in range(ROWS)
    ]
