"""Rows of a month, day by day, of which some come days late, as do lines of QUERY_HISTORY.

Each night a procedure calls another one, which loads, transforms and counts; dbt loads a table through a helper, and a
table is swapped with its new state; people read, comment, alter, rename and drop. The rows of parents and of swaps come
late more often than others: a job must not depend on them. Those of dbt's load come in time: what was behind a helper
is a part of its reader's job (docs/marquez.md).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from random import Random
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

Json = dict[str, Any]
BEGIN: Final = datetime(2026, 4, 1, tzinfo=UTC)
SOURCES: Final = ("ORDERS", "LINES", "RATES", "VISITS", "PEOPLE")
READERS: Final = ("ANNA", "BEN", "CARLA")
LATEST: Final = 3
"""The most days that a row comes late."""
_OFTEN: Final = {"top": 0.3, "sub": 0.3, "swap": 0.3, "load": 0.0}
"""How often a row comes late, by the kind of query, which is at the end of its id."""


@dataclass
class Arrival:
    """What comes on one day: ``rows`` of ACCESS_HISTORY, ``history``: lines of QUERY_HISTORY; ``late``: how many of
    both are of days before.
    """

    rows: list[Json] = field(default_factory=list)
    history: list[Json] = field(default_factory=list)
    late: int = 0


def arrivals(days: int, seed: int) -> list[Arrival]:
    """The days, each with what comes on it; the last one brings everything that is still missing."""
    rng, found = Random(seed), [Arrival() for _ in range(days)]
    for day in range(days):
        for row, line in _Day(day, rng).statements():
            of_row = next((share for kind, share in _OFTEN.items() if row["query_id"].endswith(kind)), 0.04)
            for thing, often in ((row, of_row), (line, 0.06))[: 2 if line else 1]:
                late = min(rng.randint(1, LATEST), days - 1 - day) if rng.random() < often else 0
                here = found[day + late]
                (here.rows if thing is row else here.history).append(thing)
                here.late += late > 0
    return found


class _Day:
    """The statements of one day, in their order, each with its line of QUERY_HISTORY."""

    def __init__(self, day: int, rng: Random) -> None:
        self._day, self._rng, self._count = day, rng, 0

    def statements(self) -> Iterator[tuple[Json, Json]]:
        """About thirty of them."""
        day = self._day
        top = self._made("top", reads=[_routine("NIGHT", 900)])
        sub = self._made("sub", reads=[_routine("LOAD", 901)], parent=top)
        yield top
        yield sub
        for number, name in enumerate(SOURCES):
            yield self._copy(_stage(name), _table(f"RAW.SHOP.{name}", 10 + number), "ID", "AT", above=(sub, top))
            stg = _table(f"STAGING.DBT.STG_{name}", 20 + number)
            columns = ("ID", "AT", "KIND") if day >= 6 else ("ID", "AT")
            yield self._copy(_table(f"RAW.SHOP.{name}", 10 + number), stg, *columns, above=(sub, top))
        facts = _table("MART.SALES.FCT_ORDERS", 30)
        yield self._copy(_table("STAGING.DBT.STG_ORDERS", 20), facts, "ID", "AT", above=(top, top), more=(21, 22))
        # A procedure without a row of its own, as one that touches nothing has.
        nobody: tuple[Json, Json] = {"query_id": f"04-{day:02d}-nobody"}, {}
        yield self._copy(facts, _table("MART.SALES.DAILY", 31), "ID", above=(nobody, nobody))
        yield self._copy(facts, _table(f"SANDBOX.ANNA.TRY_{day % 4}", 40 + day % 4), "ID", "AT")
        yield from self._load(_table("MART.SALES.WEEKLY", 33))
        yield from self._swap("MART.SALES.PRICES", "MART.SALES.PRICES_NEW")
        for _ in range(9):
            table = self._rng.choice([facts, _table("MART.SALES.DAILY", 31), _table("RAW.SHOP.ORDERS", 10)])
            yield self._made(reads=[{**table, "columns": _columns("ID")}], user=self._rng.choice(READERS))
        yield from self._changes(day)

    def _load(self, target: Json) -> Iterator[tuple[Json, Json]]:
        """dbt's load of a table: a helper is created from two sources, filled from a third one, read and dropped."""
        helper, columns = _table(f"{target['objectName']}__DBT_TMP", 700 + self._day), ("ID", "AT")
        row, line = self._copy(_table("STAGING.DBT.STG_ORDERS", 20), helper, *columns, more=(21,), suffix="load")
        yield {**row, "object_modified_by_ddl": _change(helper, "CREATE")}, line
        yield self._copy(_table("STAGING.DBT.STG_VISITS", 23), helper, *columns, suffix="load")
        yield self._copy(helper, target, *columns, suffix="load")
        yield self._made("load", change=_change(helper, "DROP"))

    def _swap(self, name: str, new: str) -> Iterator[tuple[Json, Json]]:
        """A new state of a table is made beside it and takes its place. The second row of a swap has no line."""
        here, there = (34, 35) if self._day % 2 else (35, 34)
        yield self._copy(_table("RAW.SHOP.RATES", 12), _table(new, there), "ID", "AT")
        row, line = self._made("swap", change=_swapped(_table(name, here), _table(new, there)))
        yield row, line
        yield {**row, "object_modified_by_ddl": _swapped(_table(new, there), _table(name, here))}, {}

    def _changes(self, day: int) -> Iterator[tuple[Json, Json]]:
        """DDL: comments that are set, changed and taken away, new columns, a rename, a drop and a table there again."""
        facts, old = _table("MART.SALES.FCT_ORDERS", 30), _table("MART.OLD.SUMS", 50)
        by_day: dict[int, list[Json]] = {
            1: [_change(facts, "ALTER", comment={"value": "one row for each order"})],
            2: [_change(old, "CREATE", columns={"ID": _added(1)}, comment={"value": "sums"})],
            5: [_change(facts, "ALTER", columns={"KIND": _added(2)})],
            8: [_change(facts, "ALTER", comment={"value": "orders, in EUR"})],
            9: [_change(old, "ALTER", objectName={"value": "MART.OLD.TOTALS"})],
            12: [_change(_table("SANDBOX.ANNA.TRY_1", 41), "DROP")],
            15: [_change(_table("MART.SALES.DAILY", 31), "ALTER", comment={"value": "by day"})],
            18: [_change(_table("MART.SALES.DAILY", 31), "ALTER", comment={"value": ""})],
        }
        for change in by_day.get(day, []):
            yield self._made(change=change, user="ANNA")
        if day > 9:
            yield self._made(reads=[{**_table("MART.OLD.TOTALS", 50), "columns": _columns("ID")}], user="BEN")

    def _copy(
        self,
        source: Json,
        target: Json,
        *columns: str,
        above: tuple[tuple[Json, Json], tuple[Json, Json]] | None = None,
        more: tuple[int, ...] = (),
        suffix: str = "",
    ) -> tuple[Json, Json]:
        """``INSERT INTO target SELECT columns FROM source``; ``above``: its parent and root; ``more``: further
        sources.
        """
        has_columns = source["objectDomain"] == "Table"
        written = [
            {**one, **({"directSources": [{**source, "columnName": one["columnName"]}]} if has_columns else {})}
            for one in _columns(*columns)
        ]
        reads = [{**source, "columns": _columns(*columns)} if has_columns else source]
        reads += [_table(f"STAGING.DBT.STG_{SOURCES[number - 20]}", number) for number in more]
        parent, root = above or (None, None)
        return self._made(suffix, reads=reads, writes=[{**target, "columns": written}], parent=parent, root=root)

    def _made(
        self,
        suffix: str = "",
        *,
        reads: list[Json] | None = None,
        writes: list[Json] | None = None,
        change: Json | None = None,
        user: str = "LOADER",
        parent: tuple[Json, Json] | None = None,
        root: tuple[Json, Json] | None = None,
    ) -> tuple[Json, Json]:
        """A row, and its line of QUERY_HISTORY."""
        self._count += 1
        start = BEGIN + timedelta(days=self._day, minutes=20 * self._count)
        query = f"04-{self._day:02d}-{self._count:02d}{suffix}"
        row = {
            "query_id": query,
            "query_start_time": start.isoformat(),
            "user_name": user,
            "direct_objects_accessed": reads or [],
            "base_objects_accessed": [one for one in reads or [] if one["objectDomain"] == "Table"],
            "objects_modified": writes or [],
            "object_modified_by_ddl": change,
            "parent_query_id": parent[0]["query_id"] if parent else None,
            "root_query_id": (root or parent)[0]["query_id"] if root or parent else None,  # type: ignore[index]  # one of the two is there
        }
        line = {
            "query_id": query,
            "query_type": "INSERT" if writes else "SELECT",
            "query_tag": f'{{"app": "dbt", "day": {self._day}}}' if writes else None,
            "query_parameterized_hash": f"{abs(hash_of(row)):032x}",
            "role_name": "LOADER" if user == "LOADER" else "ANALYST",
            "warehouse_name": "WH",
            "start_time": start.isoformat(),
            "end_time": (start + timedelta(seconds=30)).isoformat(),
            "execution_status": "SUCCESS",
            "rows_produced": 7,
        }
        return row, line


def hash_of(row: Json) -> int:
    """A number that is the same for the same statement."""
    names = [one["objectName"] for side in ("direct_objects_accessed", "objects_modified") for one in row[side]]
    return sum(number * ord(letter) for number, letter in enumerate("/".join(names), start=1))


def _table(name: str, number: int) -> Json:
    return {"objectDomain": "Table", "objectId": number, "objectName": name}


def _stage(name: str) -> Json:
    return {"objectDomain": "Stage", "objectName": f"RAW.STAGES.{name}", "stageKind": "External Named"}


def _routine(name: str, number: int) -> Json:
    return {
        "objectDomain": "Procedure",
        "objectId": number,
        "objectName": f"OPS.JOBS.{name}",
        "argumentSignature": "()",
    }


def _columns(*names: str) -> list[Json]:
    return [{"columnId": number, "columnName": name} for number, name in enumerate(names, start=1)]


def _change(table: Json, operation: str, **properties: Any) -> Json:
    return {**table, "operationType": operation, "properties": properties}


def _swapped(table: Json, other: Json) -> Json:
    """A row's change for one of the two tables of ``ALTER TABLE table SWAP WITH other``."""
    given = {"Domain": "Table", "Id": other["objectId"], "Name": other["objectName"]}
    return _change(table, "ALTER", **{f"swapTarget{part}": {"value": value} for part, value in given.items()})


def _added(number: int) -> Json:
    return {"objectId": {"value": str(number)}, "subOperationType": "ADD"}
