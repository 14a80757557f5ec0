"""Rows of a fake Snowflake, through the real connector, to files and to an export."""

from __future__ import annotations

import json
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

import pyarrow.parquet as pq
import pytest

from exporter import settings
from exporter.cli import configuration
from exporter.errors import ExporterError, UsageError
from exporter.fetch import run, state
from exporter.fetch import snowflake as connection
from exporter.fetch import snowflake as views
from exporter.fetch.run import Fetched, FetchOptions, Period, fetch
from exporter.fetch.snowflake import ACCESS_HISTORY, AGGREGATE, QUERY_HISTORY
from exporter.fetch.state import FetchState, RowsSource
from exporter.system.progress import Progress
from tests import exports
from tests.aggregates import calls, thing
from tests.fetch.snow import Snow, history, month
from tests.system.test_private import modes, umask

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.histories import Json

pytestmark = pytest.mark.filterwarnings("ignore:Arrow output on a DB-API result:UserWarning")
SINCE: Final = date(2026, 9, 1)
DAYS: Final = 7
NOW: Final = datetime(2026, 9, 7, 6, 0, tzinfo=UTC)
"""In the morning of the seventh day."""


def rows(since: int = 1, until: int = DAYS) -> list[Json]:
    """Those of the example from one day of September to another, which is not included."""
    return [row for row in month() if f"2026-09-{since:02}" <= row["query_start_time"] < f"2026-09-{until:02}"]


def lines() -> list[Json]:
    return [row for row in history() if row["start_time"] < f"2026-09-{DAYS:02}"]


def fetched(out: Path, now: datetime = NOW, schema: str = views.SCHEMAS["account"], **wanted: Any) -> Fetched:
    """A fetch at a time, of the month from its first day on."""
    period = wanted.pop("period", Period(since=SINCE))
    asked = FetchOptions(out, period, schema, **wanted)
    return fetch(asked, lambda: connection.opened("lineage", schema), Progress(), lambda: now)


def update(folder: Path, out: Path) -> None:
    assert exports.export([folder], out, "--update") == 0


def files(folder: Path) -> dict[str, int]:
    """The files of a folder, each with the number of its rows."""
    found = sorted(folder.rglob("*.parquet"))
    return {str(path.relative_to(folder)): pq.read_metadata(path).num_rows for path in found}


def test_what_is_fetched_is_exported_like_the_files_of_an_unload(snowflake: Snow, tmp_path: Path) -> None:
    """Ends, counts and arrays come as they are, and SQL text stays where it is."""
    snowflake.put(ACCESS_HISTORY, rows())
    snowflake.put(QUERY_HISTORY, lines())
    done = fetched(tmp_path / "rows")
    assert sum(done.rows["access_history"].values()) == len(rows())
    assert sum(done.rows["query_history"].values()) == len(lines())
    assert done.left_out == {"access_history": [], "query_history": []}
    names = pq.read_schema(tmp_path / "rows" / "query_history" / "2026-09-01.parquet").names
    assert names == [name for name in QUERY_HISTORY.columns if name != "query_text"]
    unloaded = [exports.ndjson(rows(), tmp_path / "rows.ndjson")]
    given = ["--query-history", str(exports.ndjson(lines(), tmp_path / "history.ndjson"))]
    assert exports.export(unloaded, tmp_path / "unloaded", *given) == 0
    update(tmp_path / "rows", tmp_path / "out")
    assert exports.triples(tmp_path / "out") == exports.triples(tmp_path / "unloaded")


def test_fetch_and_update_day_by_day_come_to_what_one_export_says(snowflake: Snow, tmp_path: Path) -> None:
    """With rows that come a day late, in either view."""
    late, late_lines = rows(2, 3)[::3], [line for line in lines() if line["start_time"] < "2026-09-03"][::4]
    snowflake.put(ACCESS_HISTORY, [row for row in rows(until=4) if row not in late])
    snowflake.put(QUERY_HISTORY, [line for line in lines() if line not in late_lines])
    first = fetched(tmp_path / "rows", NOW - timedelta(days=4))
    update(tmp_path / "rows", tmp_path / "out")
    snowflake.put(ACCESS_HISTORY, [*late, *rows(4)])
    snowflake.put(QUERY_HISTORY, late_lines)
    second = fetched(tmp_path / "rows")
    update(tmp_path / "rows", tmp_path / "out")
    assert set(first.rows["access_history"]) == {SINCE + timedelta(days=number) for number in range(3)}
    assert min(second.rows["access_history"]) == date(2026, 9, 2), "the day with late rows is fetched again"
    assert second.same == {"access_history": 2, "query_history": 1}
    all_rows = exports.ndjson(rows(), tmp_path / "rows.ndjson")
    given = ["--query-history", str(exports.ndjson(lines(), tmp_path / "history.ndjson"))]
    assert exports.export([all_rows], tmp_path / "once", *given) == 0
    assert exports.triples(tmp_path / "out") == exports.triples(tmp_path / "once")


@contextmanager
def breaks_after(days: int) -> Iterator[Any]:
    """A connection that is lost in the middle of a day."""
    with connection.opened("lineage", views.SCHEMAS["account"]) as session:
        answers, real = iter(range(days)), session.batches

        def batches(sql: str, parameters: dict[str, str]) -> Iterator[Any]:
            yield from real(sql, parameters)
            if next(answers, None) is None:
                raise ExporterError("the network is gone")

        session.batches = batches  # type: ignore[method-assign]  # a stand-in
        yield session


def test_a_fetch_that_breaks_keeps_whole_days_and_the_next_one_continues(snowflake: Snow, tmp_path: Path) -> None:
    snowflake.put(ACCESS_HISTORY, rows())
    wanted = FetchOptions(tmp_path / "rows", Period(since=SINCE, overlap=0), query_history=False)
    with pytest.raises(ExporterError, match="the network is gone"):
        fetch(wanted, lambda: breaks_after(3), Progress(), lambda: NOW)
    assert list(files(tmp_path / "rows")) == [f"access_history/2026-09-0{day}.parquet" for day in (1, 2, 3)]
    done = fetch(wanted, lambda: connection.opened("lineage", wanted.schema), Progress(), lambda: NOW)
    assert min(done.rows["access_history"]) == date(2026, 9, 4)
    assert sum(files(tmp_path / "rows").values()) == len(rows())
    assert not list((tmp_path / "rows").rglob(".*")), "nothing half-done is left"


def test_days_that_are_settled_are_not_asked_for_again(snowflake: Snow, tmp_path: Path) -> None:
    snowflake.put(ACCESS_HISTORY, rows())
    fetched(tmp_path / "rows", query_history=False)
    again = fetched(tmp_path / "rows", period=Period(), query_history=False)
    assert (again.rows, again.same) == ({"access_history": {}}, {"access_history": 4}), (
        "the third to the sixth, and today"
    )
    later, period = NOW + timedelta(days=30), Period(until=date(2026, 9, 8))
    assert fetched(tmp_path / "rows", later, period=period, query_history=False).same == {"access_history": 4}
    assert fetched(tmp_path / "rows", later, period=period, query_history=False).same == {"access_history": 0}


def test_older_days_go_where_rows_are_not_to_be_kept(snowflake: Snow, tmp_path: Path) -> None:
    snowflake.put(ACCESS_HISTORY, rows())
    fetched(tmp_path / "rows", query_history=False)
    done = fetched(tmp_path / "rows", period=Period(keep=4), query_history=False)
    assert done.removed == [date(2026, 9, 1), date(2026, 9, 2)]
    assert min(files(tmp_path / "rows")) == "access_history/2026-09-03.parquet"
    again = fetched(tmp_path / "rows", period=Period(keep=4), query_history=False)
    assert again.rows == {"access_history": {}}, "and are not fetched again"


def test_a_missing_column_is_left_out_and_reported(snowflake: Snow, tmp_path: Path) -> None:
    lacking = ("agents_info", "event_source")
    there = [name for name in ACCESS_HISTORY.columns if name not in lacking]
    snowflake.make(ACCESS_HISTORY, there, ["NEW_ONE varchar"])
    snowflake.put(ACCESS_HISTORY, rows(until=2))
    done = fetched(tmp_path / "rows", period=Period(SINCE, date(2026, 9, 2)), query_history=False)
    assert set(done.left_out["access_history"]) == set(lacking)
    names = pq.read_schema(tmp_path / "rows" / "access_history" / "2026-09-01.parquet").names
    assert not {*lacking, "new_one"} & set(names)


def test_the_views_of_an_organization_name_their_accounts(snowflake: Snow, tmp_path: Path) -> None:
    schema = views.SCHEMAS["organization"]
    organization = Snow(snowflake.address, snowflake.duck, schema)
    organization.make(ACCESS_HISTORY)
    told = [{**row, "organization_name": "ACME", "account_name": row["user_name"][:3]} for row in rows(until=2)]
    organization.put(ACCESS_HISTORY, told)
    fetched(tmp_path / "rows", schema=schema, period=Period(SINCE, date(2026, 9, 2)), query_history=False)
    assert exports.export([tmp_path / "rows" / "access_history"], tmp_path / "out") == 0
    assert any("snowflake://ACME-ETL" in line for line in exports.events(tmp_path / "out"))


def test_sql_text_comes_where_it_is_wanted(snowflake: Snow, tmp_path: Path) -> None:
    snowflake.put(QUERY_HISTORY, lines()[:3])
    fetched(tmp_path / "rows", query_text=True, period=Period(SINCE, date(2026, 9, 2)))
    table = pq.read_table(tmp_path / "rows" / "query_history" / "2026-09-01.parquet")
    assert sorted(table["query_text"].to_pylist()) == sorted(line["query_text"] for line in lines()[:3])


class Told:
    """A connection to a server that tells whose it is."""

    account = "a-name-of-an-address"

    def cursor(self) -> AbstractContextManager[Told]:
        return nullcontext(self)

    def execute(self, _sql: str) -> Told:
        return self

    def fetchone(self) -> tuple[str, str]:
        return "ACME", "DATA_PROD"


def test_the_account_is_called_as_snowflake_itself_calls_it() -> None:
    """And not as an address does, in which an underscore cannot be."""
    assert connection.SnowflakeSession(Told(), views.SCHEMAS["account"]).account == "ACME-DATA_PROD"


def test_rows_of_another_source_are_refused(snowflake: Snow, tmp_path: Path) -> None:
    snowflake.put(ACCESS_HISTORY, rows(until=2))
    fetched(tmp_path / "rows", query_history=False)
    with pytest.raises(UsageError, match="was fetched with --query-text off, and now it is on"):
        fetched(tmp_path / "rows", query_text=True)
    told = json.loads((tmp_path / "rows" / "fetch.json").read_text("utf-8"))
    told["source"]["account"] = "OTHER-ACCOUNT"
    (tmp_path / "rows" / "fetch.json").write_text(json.dumps(told), encoding="utf-8")
    with pytest.raises(UsageError, match="was fetched with account OTHER-ACCOUNT, and now it is fakesnow"):
        fetched(tmp_path / "rows")


@pytest.mark.parametrize("text", ["", "[]", '{"form": 1}', '{"form": 99}', '{"form": 1, "source": {}, "days": {}}'])
def test_a_damaged_state_is_reported(tmp_path: Path, text: str) -> None:
    (tmp_path / "fetch.json").write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match="is damaged"):
        fetch(FetchOptions(tmp_path, Period()), pytest.fail, Progress())  # type: ignore[arg-type]  # a stand-in that ends the test


def test_a_folder_with_other_files_is_not_written_to(tmp_path: Path) -> None:
    (tmp_path / "thesis.doc").write_text("mine", encoding="utf-8")
    with pytest.raises(UsageError, match="holds other files"):
        fetch(FetchOptions(tmp_path, Period()), pytest.fail, Progress())  # type: ignore[arg-type]  # a stand-in that ends the test


@pytest.mark.parametrize("mask", [0, 0o022, 0o777])
def test_other_users_of_the_machine_cannot_read_the_rows(
    mask: int, snowflake: Snow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And the state says nothing of how somebody logged in."""
    snowflake.connections(monkeypatch, password="s3cret-pass")
    snowflake.put(ACCESS_HISTORY, rows(until=2))
    with umask(mask):
        fetched(tmp_path / "above" / "rows", query_history=False)
        fetched(tmp_path / "above" / "rows", query_history=False)
    assert modes(tmp_path / "above") == {0o700, 0o600}
    assert list(tmp_path.rglob("*"))[:2] == [tmp_path / "above", tmp_path / "above" / "rows"], (
        "nothing beside the folder"
    )
    assert "s3cret-pass" not in (tmp_path / "above" / "rows" / "fetch.json").read_text("utf-8")


def test_a_fetched_folder_says_itself_what_it_is(tmp_path: Path) -> None:
    """Its QUERY_HISTORY and its account, unless something else is said."""
    for name in ("access_history", "query_history"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "2026-09-01.parquet").touch()
    source = RowsSource(views.SCHEMAS["account"], "ACME-RETAIL", query_text=False)
    state.write_state(tmp_path, FetchState(1, source, {}))
    read = configuration.load({"inputs": (str(tmp_path),), "out": "out"}, None, {})
    assert read.inputs == (str(tmp_path / "access_history"),)
    assert (read.query_history, read.account) == ((str(tmp_path / "query_history"),), "ACME-RETAIL")
    both = configuration.load({"inputs": (str(tmp_path), "more.ndjson"), "out": "out"}, None, {})
    assert both.inputs == (str(tmp_path / "access_history"), "more.ndjson")
    assert (both.query_history, both.account) == ((), settings.DEFAULT_ACCOUNT)
    assert (
        configuration.load({"inputs": (str(tmp_path),), "out": "out"}, None, {"EXPORTER_ACCOUNT": "A-B"}).account
        == "A-B"
    )


def test_a_folder_without_rows_yet_says_so(tmp_path: Path) -> None:
    (tmp_path / "fetch.json").write_text("{}", encoding="utf-8")
    with pytest.raises(UsageError, match="has no rows of ACCESS_HISTORY"):
        configuration.load({"inputs": (str(tmp_path),), "out": "out"}, None, {})


def test_short_queries_come_with_the_others_and_are_exported(snowflake: Snow, tmp_path: Path) -> None:
    first = rows()[0]
    day = str(first["query_start_time"])[:10]
    orders = thing(1, "SHOP.PUBLIC.ORDERS", "ID")
    snowflake.make(AGGREGATE)
    snowflake.put(ACCESS_HISTORY, [first])
    snowflake.put(AGGREGATE, [calls(f"{day}T10:00", "APP", "h", 120, [orders])])
    done = fetched(tmp_path / "rows", aggregate=True)
    assert sum(done.rows["aggregate_access_history"].values()) == 1
    assert exports.export([tmp_path / "rows"], tmp_path / "out") == 0
    report = json.loads((tmp_path / "out" / "report.json").read_text("utf-8"))
    assert report["aggregate"] == {"rows_in": 1, "exported": 1, "duplicates": 0, "quarantined": 0, "calls": 120}


def test_a_view_of_short_queries_that_cannot_be_read_leaves_the_others(snowflake: Snow, tmp_path: Path) -> None:
    snowflake.put(ACCESS_HISTORY, rows()[:1])
    done = fetched(tmp_path / "rows", aggregate=True)
    assert sum(done.rows["access_history"].values()) == 1
    assert "AGGREGATE_ACCESS_HISTORY" in done.not_read["aggregate_access_history"]
    wanted = FetchOptions(tmp_path / "rows", Period(), aggregate=True)
    assert any("short queries on hybrid tables are missing" in line for line in run.advice(done, wanted))
