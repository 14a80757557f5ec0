"""A fake Snowflake behind the real connector: fakesnow's server, with the two views as tables of a schema.

Rows are put into its database directly; the queries of a fetch go over HTTP.
"""

from __future__ import annotations

import csv
import json
import socket
import threading
import time
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from exporter.fetch.snowflake import ACCESS_HISTORY, AGGREGATE, QUERY_HISTORY, View
from exporter.input.row import STRUCTURED
from tests import golden

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import pytest

    from tests.histories import Json

MONTH: Final = golden.EXAMPLES / "company-month"
_TIMES: Final = ("query_start_time", "start_time", "end_time", "interval_start_time", "interval_end_time")
_TYPES: Final = dict.fromkeys(_TIMES, "timestamp_ltz")
_NUMBERS: Final = (
    "total_elapsed_time",
    "bytes_scanned",
    "rows_produced",
    "rows_inserted",
    "rows_updated",
    "rows_deleted",
    "calls",
)
_SQL: Final = {
    **_TYPES,
    **dict.fromkeys(STRUCTURED, "array"),
    "object_modified_by_ddl": "object",
    "additional_properties": "variant",
    "invoker_identity": "variant",
    "session_id": "number",
    **dict.fromkeys(_NUMBERS, "number"),
}


@dataclass
class Snow:
    """A server. ``address``: what a connection needs to reach it; ``schema``: the database and schema of the tables."""

    address: dict[str, Any]
    duck: Any
    schema: str = "SNOWFLAKE.ACCOUNT_USAGE"

    def make(self, view: View, columns: Sequence[str] | None = None, more: Sequence[str] = ()) -> None:
        """Make the view anew, without rows. ``columns``: None for all that are known."""
        database, schema = self.schema.split(".")
        named = [f"{name} {_SQL.get(name, 'varchar')}" for name in columns or view.columns]
        self.run(
            f"create database if not exists {database}",
            f"create schema if not exists {database}.{schema}",
            f"create or replace table {self.schema}.{view.name} ({', '.join([*named, *more])})",
        )

    def drop(self, view: View) -> None:
        self.run(f"drop table if exists {self.schema}.{view.name}")

    def put(self, view: View, rows: Iterable[Json]) -> None:
        """Put rows into a view, as Snowflake would have them."""
        there = [row[0].lower() for row in self.duck.execute(f"describe {self.schema}.{view.name}").fetchall()]
        given = [{name.lower(): _text(value) for name, value in row.items()} for row in rows]
        columns = {name: pa.array([row.get(name) for row in given], pa.string()) for name in there}
        self.duck.register("given", pa.table(columns))
        self.duck.execute(f"insert into {self.schema}.{view.name} select * from given")
        self.duck.unregister("given")

    def run(self, *statements: str) -> None:
        """Run statements as a user of Snowflake."""
        from snowflake import connector  # noqa: PLC0415 - a fake behind it is slow to start

        with connector.connect(**self.address) as connection, connection.cursor() as cursor:
            for one in statements:
                cursor.execute(one)

    def connections(self, monkeypatch: pytest.MonkeyPatch, **more: Any) -> None:
        """Let the connector know this server as the connection ``lineage``."""
        told = {**self.address, **more}
        lines = [f"{name} = {json.dumps(value)}" for name, value in told.items() if not isinstance(value, dict)]
        monkeypatch.setenv("SNOWFLAKE_CONNECTIONS", "\n".join(["[lineage]", *lines, "[staging]", 'account = "other"']))


def _text(value: Any) -> str | None:
    if isinstance(value, str) or value is None:
        return value.replace(" +0000", "+00:00") if value else None  # the offset as DuckDB reads it
    return json.dumps(value)


@contextmanager
def started() -> Iterator[Snow]:
    """A server in a thread. As ``fakesnow.server()``, but it ends without what it has not answered: that one waits for
    ever for a request that never ends.
    """
    import uvicorn  # noqa: PLC0415 - slow to import

    fake = import_module("fakesnow.server")
    with closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    config = uvicorn.Config(fake.app, host="127.0.0.1", port=port, log_level="error", timeout_graceful_shutdown=2)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive(), "the fake Snowflake did not start"
        time.sleep(0.05)
    login = {"user": "fake", "password": "snow", "account": "fakesnow"}
    place = {"host": "127.0.0.1", "port": port, "protocol": "http", "network_timeout": 1}
    try:
        yield Snow(
            {**login, **place, "session_parameters": {"CLIENT_OUT_OF_BAND_TELEMETRY_ENABLED": False}},
            fake.shared_fs.duck_conn.cursor(),
        )
    finally:
        server.should_exit = True
        thread.join(timeout=10)


def remade(snow: Snow) -> Snow:
    """The server with both views made anew, without rows."""
    for view in (ACCESS_HISTORY, QUERY_HISTORY):
        snow.make(view)
    snow.drop(AGGREGATE)
    return snow


@cache
def month() -> tuple[Json, ...]:
    """The rows of the example's month."""
    lines = (MONTH / "access_history.ndjson").read_text(encoding="utf-8").splitlines()
    return tuple(json.loads(line) for line in lines)


@cache
def history() -> tuple[Json, ...]:
    """Its rows of QUERY_HISTORY."""
    with (MONTH / "query_history.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return tuple({name.lower(): None if text == "\\N" else text for name, text in row.items()} for row in rows)
