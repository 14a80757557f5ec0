"""A history that grows day by day, with a push after each update: Marquez shows the same as after one export and one
push.

Two accounts have the same history, so that one Marquez can show both: one is exported at once, the other by updates.
The comparison ignores the account's name, and identifies runs by their queries.
"""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass, field
from itertools import pairwise
from random import Random
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

import pytest

from tests import exports, golden
from tests.marquez import api, month, rows
from tests.marquez.seen import name_of, node, push

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.marquez.api import Json, Marquez

_COMPANY: Final = golden.EXAMPLES / "company-month"
_HASH: Final = re.compile(r" \[[0-9a-f]{10}\]")
Days = list[list[Any]]
"""The rows that each update gets."""


@dataclass
class Table:
    """A table, as rows show it."""

    number: int
    name: str

    def said(self, *columns: str) -> Json:
        told = {"objectDomain": "Table", "objectId": self.number, "objectName": f"DB.S.{self.name}"}
        return {**told, "columns": [{"columnName": one} for one in columns]} if columns else told


@dataclass
class History:
    """Statements over days, one an hour."""

    days: Days = field(default_factory=lambda: [[]])
    count: int = 0

    def next_day(self) -> None:
        self.days.append([])

    def add(self, **told: Any) -> None:
        day = self.days[-1]
        start = f"2026-03-{len(self.days):02d}T{len(day):02d}:00:00Z"
        arrays = {"direct_objects_accessed": [], "base_objects_accessed": [], "objects_modified": []}
        row = {"query_id": f"01b0-{self.count:04d}", "query_start_time": start, "user_name": "U", **arrays, **told}
        day.append(row)
        self.count += 1

    def read(self, *tables: Json) -> None:
        self.add(direct_objects_accessed=[*tables], base_objects_accessed=[*tables])

    def copy(self, source: Table, target: Table, *columns: str) -> None:
        """``INSERT INTO target (columns) SELECT columns FROM source``."""
        made = [{"columnName": one, "directSources": [{**source.said(), "columnName": one}]} for one in columns]
        read = [source.said(*columns)]
        written = [{**target.said(), "columns": made}]
        self.add(direct_objects_accessed=read, base_objects_accessed=read, objects_modified=written)

    def change(self, table: Table, operation: str, **properties: Any) -> None:
        self.add(object_modified_by_ddl={**table.said(), "operationType": operation, "properties": properties})

    def rename(self, table: Table, name: str) -> Table:
        self.change(table, "ALTER", objectName={"value": f"DB.S.{name}"})
        return Table(table.number, name)


def tag(name: str, value: str | None) -> Json:
    """The properties that set a tag, or unset it if there is no value."""
    told = {"subOperationType": "DROP"} if value is None else {"subOperationType": "ADD", "tagValue": {"value": value}}
    return {"tags": {f"G.T.{name}": {"objectId": {"value": 90 + len(name)}, **told}}}


def three_days() -> Days:
    """Tables that are read, written, altered, renamed, dropped and there again, and what each day has to add."""
    history = History()
    names = ("SRC", "TGT", "OLD", "SHOWN", "GONE", "LATE", "STILL", "MADE")
    source, target, old, shown, gone, late, still, made = (
        Table(number, name) for number, name in enumerate(names, start=1)
    )
    for table in (target, old, gone, still):
        history.copy(source, table, "A", "B")
    kept = history.rename(still, "KEPT")
    history.change(target, "ALTER", **tag("OWNER", "sales"))
    history.change(target, "ALTER", columns={"A": {"objectId": {"value": 21}, **tag("PII", "yes")}})
    history.change(made, "CREATE", columns={"A": {"objectId": {"value": 8}, "subOperationType": "ADD"}})
    history.read(shown.said("X"), source.said("A"))
    new = history.rename(old, "NEW")
    history.change(gone, "DROP")
    history.next_day()
    added = {"C": {"objectId": {"value": 7}, "subOperationType": "ADD"}}
    history.change(target, "ALTER", columns=added)
    history.copy(source, target, "A", "B", "C")
    history.read(new.said("A", "N"), shown.said("X", "Y"))
    history.copy(source, late, "C")
    history.change(gone, "UNDROP")
    history.change(new, "ALTER", **tag("KEEP", "7 years"))
    history.change(late, "ALTER", **tag("OWNER", "ops"))
    history.change(late, "ALTER", **tag("OWNER", None))
    history.next_day()
    history.read(kept.said("A", "K"), made.said("A", "M"))
    history.read(target.said("A"), gone.said("A", "G"))
    history.copy(late, new, "C")
    last = history.rename(target, "LAST")
    history.copy(source, last, "A")
    history.change(late, "DROP")
    history.read(source.said("S"))
    return history.days


def company() -> Days:
    """The example company's month, in three parts."""
    told = [json.loads(line) for line in (_COMPANY / "access_history.ndjson").read_text("utf-8").splitlines()]
    limits = ("2026-09-01", "2026-09-10", "2026-09-19", "2026-10-01")
    return [[row for row in told if start <= row["query_start_time"][:10] < end] for start, end in pairwise(limits)]


def view(marquez: Marquez, days: Days, account: str) -> dict[str, Any]:
    """What is shown of the account's datasets and jobs, by names without the account. The hash at the end of a job's
    name is made of the names of its datasets, the account's among them, so the query of its latest run is in its place.
    """
    space, lineage = f"snowflake://{account}", rows.read([row for day in days for row in day], account)
    queries = {rows.run_id(query): query[1] for query in lineage.statements}
    datasets = [marquez.dataset(name_of(one)) for one in marquez.listed(space, "datasets")]
    listed = {one["name"]: one for one in marquez.listed(space, "jobs")}
    jobs = {name: _job(one, marquez.get("namespaces", space, "jobs", name), queries) for name, one in listed.items()}
    runs = {query: marquez.get("jobs", "runs", run) for run, query in queries.items()}
    shown = {
        "runs": {query: _run(one, jobs) for query, one in runs.items()},
        "datasets": {one["name"]: _dataset(one) for one in datasets},
        "jobs": {f"{_HASH.sub('', name)} {one['run']}": one for name, one in jobs.items()},
        "edges": sorted(
            [_end(one, jobs) for one in edge]
            for edge in api.edges_of(marquez, (node("job", (space, name)) for name in jobs))
        ),
        "columns": sorted(map(list, api.column_edges(datasets))),
    }
    return dict(json.loads(_HASH.sub("", json.dumps(shown)).replace(account, "ACCOUNT")))


def _end(thing: str, jobs: dict[str, Json]) -> str:
    """A node of the graph; a job with its latest run."""
    name = thing.rpartition(":")[2]
    return f"{thing} {jobs[name]['run']}" if thing.startswith("job:") else thing


def _dataset(shown: Json) -> Json:
    told = shown["facets"].get("lifecycleStateChange") or {}
    state = [told.get("lifecycleStateChange"), told.get("previousIdentifier")]
    texts = {one: shown[one] for one in ("deleted", "lastLifecycleState", "description")}
    tags = sorted((one.get("field", ""), one["key"], one["value"]) for one in tags_of(shown))
    return {"fields": api.fields(shown), "change": state, "tags": tags, **texts}


def tags_of(shown: Json) -> list[Json]:
    """The tags that are shown of a dataset, without any as with an empty list."""
    return list((shown["facets"].get("tags") or {}).get("tags", ()))


def _job(listed: Json, alone: Json, queries: dict[str, str]) -> Json:
    """``latest``: what its latest run read and wrote; ``version``: what its latest version does."""
    run = listed["latestRun"]
    return {
        "parent": listed["parentJobName"],
        "run": run and [queries.get(run["id"], "no query"), run["state"]],
        "latest": [sorted(map(name_of, listed[side])) for side in ("inputs", "outputs")],
        "version": [sorted(map(name_of, alone[side])) for side in ("inputs", "outputs")],
    }


def _export(days: Days, lines: Days, out: Path, account: str, *options: str) -> None:
    """``lines``: of QUERY_HISTORY."""
    given = exports.ndjson([row for day in days for row in day], out.parent / f"{out.name}.ndjson")
    history = exports.ndjson([one for day in lines for one in day], out.parent / f"{out.name}-history.ndjson")
    told = ["--query-history", str(history)] if any(lines) else []
    assert exports.export([given], out, "--account", account, "--outputs", "events", *told, *options) == 0


def _run(shown: Json, jobs: dict[str, Json]) -> Json:
    """A run with its job, which has its latest run for its hash."""
    name = shown["jobVersion"]["name"]
    # One that is sent again ends some microseconds later.
    times = [time and time[: len("2026-09-01T02:10:01")] for time in (shown["startedAt"], shown["endedAt"])]
    facets = {
        facet: value for facet, value in shown["facets"].items() if facet != "accessHistory_parent"
    }  # has ids of runs
    return {"state": shown["state"], "job": [name, jobs[name]["run"]], "times": times, "facets": facets}


def at_once(days: Days, folder: Path, marquez: Marquez, lines: Days | None = None) -> dict[str, Any]:
    account = f"ONCE-{uuid4().hex[:12].upper()}"
    _export(days, lines or [], folder / "once", account)
    assert push(folder / "once", marquez) == 0
    return view(marquez, days, account)


def by_updates(
    days: Days, folder: Path, marquez: Marquez, lines: Days | None = None, *, pushes_each: bool = True
) -> dict[str, Any]:
    """An update for each part, pushed before the next is there, or all at the end; another push has nothing to send."""
    account, out = f"GROWN-{uuid4().hex[:12].upper()}", folder / "grown"
    for number, day in enumerate(days, start=1):
        _export([day], [lines[number - 1]] if lines else [], out, account, "--update")
        if pushes_each or number == len(days):
            assert push(out, marquez) == 0
    assert push(out, marquez) == 0
    (summary,) = (out / "push").glob("*/summary.json")
    assert json.loads(summary.read_text("utf-8"))["delivered"] == 0
    return view(marquez, days, account)


@pytest.mark.parametrize("told", [three_days, company], ids=["three days", "company"])
def test_after_updates_marquez_shows_what_it_shows_after_one_export(
    marquez: Marquez, told: Callable[[], Days], tmp_path: Path
) -> None:
    once = at_once(told(), tmp_path, marquez)
    assert list(_differences(by_updates(told(), tmp_path, marquez), once)) == []
    assert sum(bool(one["tags"]) for one in once["datasets"].values()) >= 1
    assert len(once["datasets"]) > 5
    assert len(once["columns"]) > 5


@pytest.mark.parametrize("seed", [1])
def test_a_month_of_daily_updates_with_late_rows_shows_what_one_export_shows(
    marquez: Marquez, seed: int, tmp_path: Path
) -> None:
    """Rows and lines of QUERY_HISTORY come up to three days late, those of parents most often. A real Marquez gets a
    whole month.
    """
    is_real = marquez.url == os.environ.get("MARQUEZ_URL", "").rstrip("/")
    arrived = month.arrivals(30 if is_real else 10, seed)
    days, lines = [one.rows for one in arrived], [one.history for one in arrived]
    assert sum(one.late for one in arrived) > 20
    once = at_once(days, tmp_path, marquez, lines)
    assert list(_differences(by_updates(days, tmp_path, marquez, lines), once)) == []
    told = {name: one["description"] for name, one in once["datasets"].items()}
    assert told["MART.SALES.FCT_ORDERS"] == "orders, in EUR"
    assert told["MART.OLD.SUMS"] == "sums"


def _late(day: int, number: int) -> Days:
    """The three days, but one row comes after all others."""
    days = three_days()
    row = days[day].pop(number)
    return [*days, [row]]


def _drawn(seed: int) -> Days:
    """The rows of the three days, in any three parts."""
    rng, parts = Random(seed), Days([[], [], []])
    for row in (row for day in three_days() for row in day):
        rng.choice(parts).append(row)
    return parts


ARRIVALS: Final = {
    "day 2 last": [three_days()[one] for one in (0, 2, 1)],
    "a late write, before a new column and a rename": _late(0, 0),
    "a late write of what was renamed": _late(0, 1),
    "a late write, after the column": _late(1, 1),
    "a late tag": _late(0, 5),
    "a tag that is set after it was taken away": _late(1, 6),
    "any": _drawn(1),
    "any other": _drawn(2),
}


@pytest.mark.parametrize("days", ARRIVALS.values(), ids=ARRIVALS)
def test_rows_that_come_late_do_not_bring_back_what_has_changed_since(
    marquez: Marquez, days: Days, tmp_path: Path
) -> None:
    """A run that is told again with more columns has two versions of its output in Marquez 0.51, which takes any of
    them for the present one (``findOutputDatasetVersionsFor`` has no order), and the stand-in the first.
    """
    once = at_once(three_days(), tmp_path, marquez)
    assert list(_differences(by_updates(days, tmp_path, marquez), once)) == []


def _with_tags(*tags: tuple[str, str | None], dropped: str = "") -> tuple[list[Json], list[Json]]:
    """A table that is written, gets these tags or loses them, and is written again, and once more after the tag
    ``dropped`` is dropped; and a late write with a column more, for which all of these are sent again.
    """
    history, source, target = History(), Table(1, "SRC"), Table(2, "TGT")
    history.copy(source, target, "A", "NEW")
    history.copy(source, target, "A")
    for name, value in tags:
        history.change(target, "ALTER", **tag(name, value))
    history.copy(source, target, "A")
    if dropped:
        tag_itself = {"objectDomain": "Tag", "objectId": 90 + len(dropped), "objectName": f"G.T.{dropped}"}
        history.add(object_modified_by_ddl={**tag_itself, "operationType": "DROP", "properties": {}})
        history.copy(source, target, "A")
    late, *others = history.days[0]
    return others, [late]


@pytest.mark.parametrize("is_dropped", [False, True], ids=["unset", "tag dropped"])
def test_a_tag_that_was_taken_away_does_not_come_back(marquez: Marquez, *, is_dropped: bool, tmp_path: Path) -> None:
    """Sent again, the run that sets it and those after that share a version of the dataset."""
    first, late = _with_tags(("PII", "yes"), dropped="PII") if is_dropped else _with_tags(("PII", "yes"), ("PII", None))
    shown = by_updates([first, late], tmp_path, marquez)["datasets"]["DB.S.TGT"]
    assert (shown["fields"], shown["tags"]) == (["A", "NEW"], [])


def test_tags_that_come_late_are_shown_also_when_runs_are_sent_a_third_time(marquez: Marquez, tmp_path: Path) -> None:
    """What is sent last counts, and not any of what was sent for the same run."""
    first, late = _with_tags(("OWNER", "ops"), ("PII", "yes"), ("OWNER", "sales"))
    *first, alter, owner, write = first
    shown = by_updates([[*first, owner, write], late, [alter]], tmp_path, marquez)["datasets"]["DB.S.TGT"]
    assert (shown["fields"], shown["tags"]) == (["A", "NEW"], [["", "G.T.OWNER", "sales"], ["", "G.T.PII", "yes"]])


def test_a_folder_of_many_updates_is_pushed_like_one_export(marquez: Marquez, tmp_path: Path) -> None:
    """The events of a day's datasets come before the runs of that day, and after those of the days before."""
    once = at_once(three_days(), tmp_path, marquez)
    assert list(_differences(by_updates(three_days(), tmp_path, marquez, pushes_each=False), once)) == []


def _differences(found: Any, expected: Any, *where: str) -> Iterator[tuple[str, Any, Any]]:
    """Where, what is shown after the updates, and what is after one export."""
    if isinstance(found, dict) and isinstance(expected, dict):
        for key in sorted(found.keys() | expected.keys()):
            yield from _differences(found.get(key), expected.get(key), *where, key)
    elif isinstance(found, list) and isinstance(expected, list) and where[0] in ("edges", "columns"):
        extra, missing = [one for one in found if one not in expected], [one for one in expected if one not in found]
        if extra or missing:
            yield where[0], extra, missing
    elif found != expected:
        yield ", ".join(where), found, expected
