"""Updates: after any sequence of them, DIR has the content of one export of all rows."""

from __future__ import annotations

import gzip
import json
import shutil
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from itertools import permutations
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, Final

import pytest
from pyoxigraph import Quad, RdfFormat, Store, parse

from exporter.cli import main
from exporter.engines import state_on_spark, updates
from exporter.engines.changes import carried, syntax
from exporter.engines.hadoop import HadoopPlace
from exporter.engines.state_local import LocalStore
from exporter.engines.state_on_spark import SparkStore
from exporter.input.formats import local
from exporter.pipeline.job import ExportJob
from exporter.publish.places import LocalPlace
from exporter.publish.publication import Publication
from exporter.system import files as compressed
from tests import exports
from tests.histories import Json, history
from tests.input.bad_rows import GOOD

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from pyspark.sql import SparkSession

    from exporter.publish.places import Place

BASE: Final = datetime(2026, 3, 1, tzinfo=UTC)
UPDATE: Final = ("--update", "--allow-empty")
SHAPES: Final = "https://w3id.org/access-history/shapes#"


def triples(out: Path) -> set[str]:
    files = compressed.find_files(out / "graph", ".ttl")
    return {str(one) for file in files for one in parse(compressed.text(file), RdfFormat.TURTLE)}


def over_days(rng: Random, rows: Iterable[Json]) -> list[Json]:
    """The rows at times over some days; those of one query at one time, and some queries at the same."""
    told = [dict(row) for row in rows]
    seconds = rng.choice((3_600, 86_400, 5 * 86_400))
    times = {one: BASE + timedelta(seconds=rng.randrange(0, seconds, rng.choice((1, 3_600)))) for one in ids(told)}
    for row in told:
        row["query_start_time"] = times[row["query_id"]].isoformat()
    return told


def ids(rows: Iterable[Json]) -> list[str]:
    return sorted({row["query_id"] for row in rows})


def line(row: Json, hours: float) -> Json:
    """A line of QUERY_HISTORY: the query ends so many hours after its start."""
    end = datetime.fromisoformat(row["query_start_time"]) + timedelta(hours=hours)
    return {"query_id": row["query_id"], "end_time": end.isoformat(), "role_name": "R"}


def contradictions(rng: Random, rows: Sequence[Json]) -> Iterator[Json]:
    """Further rows of the same queries, which contradict the first: they name another user, start, parent or objects,
    the query itself as its parent, or nobody. The last are unreadable, the first of these mend them.
    """
    every = ids(rows)
    for row in rng.choices(rows, k=rng.choice((0, 1, 2, 5))):
        other = rng.choice(rows)
        yield {**row, "user_name": "SOMEBODY ELSE"}
        yield {**row, "query_start_time": other["query_start_time"]}
        yield {**row, "parent_query_id": rng.choice(every), "root_query_id": rng.choice(every)}
        yield {**row, "direct_objects_accessed": other.get("direct_objects_accessed")}
        yield {**row, "parent_query_id": row["query_id"]}
        yield {**row, "user_name": None}


def related(rng: Random, rows: Iterable[Json]) -> list[Json]:
    """The rows with further parents, which may be of any day, also of a later one."""
    told = list(rows)
    every, share = ids(told), rng.choice((0, 0.1, 0.5))
    parents = {one: rng.choice(every) for one in every if rng.random() < share}
    return [{**row, "parent_query_id": parents.get(row["query_id"], row.get("parent_query_id"))} for row in told]


class Drawn:
    """A history over days, in any split and order, with overlaps, and lines of QUERY_HISTORY for some of it. Some of
    its rows, and of its lines, contradict each other; some queries are refused by the shapes, and have children.
    """

    def __init__(self, rng: Random, rows: int) -> None:
        self.rows = related(rng, over_days(rng, history(rng, rows)))
        further = list(contradictions(rng, self.rows))
        self.rows += rng.sample(further, rng.randint(0, len(further) // 2))
        by_id = {row["query_id"]: row for row in self.rows}
        with_lines = rng.sample(ids(self.rows), rng.randint(0, len(by_id)))
        with_lines += rng.sample(with_lines, len(with_lines) // 4)
        self.lines = [line(by_id[one], rng.choice((0, 0, 0.01, 0.01, 1, 1, 30, -1))) for one in with_lines]
        self.parts = [self._part(rng) for _ in range(rng.randint(1, 3))]
        known = {id(row) for part, _ in self.parts for row in part}
        told = {id(one) for _, part in self.parts for one in part}
        self.parts.append(
            ([row for row in self.rows if id(row) not in known], [one for one in self.lines if id(one) not in told])
        )

    def _part(self, rng: Random) -> tuple[list[Json], list[Json]]:
        rows = rng.sample(self.rows, rng.randint(1, len(self.rows)))
        if rng.random() < 0.5:
            rows = sorted(self.rows, key=lambda row: str(row["query_start_time"]))[: len(rows)]
        return rows, rng.sample(self.lines, rng.randint(0, len(self.lines)))


def export(rows: list[Json], lines: list[Json], out: Path, *options: str) -> None:
    rows_file = exports.ndjson(rows, out.with_suffix(".rows.ndjson"))
    lines_file = exports.ndjson(lines, out.with_suffix(".lines.ndjson"))
    given = "--query-history", str(lines_file), "--force", "--allow-empty", *options
    code = exports.export([rows_file], out, *given)
    assert code == (1 if exports.report(out)["violations"] else 0)


def updated(drawn: Drawn, folder: Path, reads: str) -> Path:
    """Every other update compresses what it makes."""
    for number, (rows, lines) in enumerate(drawn.parts):
        compress = "--compress", compressed.KINDS[number % 2]
        export(rows or drawn.rows[:1], lines, folder / "updated", "--reads", reads, *UPDATE, *compress)
    return folder / "updated"


@pytest.mark.parametrize("seed", range(24))
def test_after_any_updates_the_graph_is_that_of_one_export(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the state of days and runs is put together early, so that late rows come to such days."""
    monkeypatch.setattr(updates, "TOGETHER", 1 + seed % 3)
    rng = Random(seed)
    drawn, reads = Drawn(rng, rng.randint(1, 25)), ("full", "daily")[seed % 2]
    out = updated(drawn, tmp_path, reads)
    export(drawn.rows, drawn.lines, tmp_path / "once", "--reads", reads)
    assert triples(out) == triples(tmp_path / "once")
    assert triples(out) == applied(out)


def applied(out: Path) -> set[str]:
    """The changes of all updates, in their order, on an empty store."""
    store = Store()
    for folder in sorted((out / "changes").iterdir(), key=lambda path: int(path.name)):
        text = gzip.decompress((folder / "update.ru.gz").read_bytes()).decode()
        if text:
            store.update(text)
    return {str(quad.triple) for quad in store}


def long(rng: Random) -> list[tuple[list[Json], list[Json]]]:
    """The rows and lines of seven updates: late, twice, some with nothing new."""
    drawn = Drawn(rng, rng.randint(3, 25))
    parts = [
        (rng.choices(drawn.rows, k=rng.randint(1, 9)), rng.sample(drawn.lines, len(drawn.lines) // 4)) for _ in range(6)
    ]
    return [*parts, (drawn.rows, drawn.lines)] if rng.random() < 0.5 else [parts[0], (drawn.rows, []), *parts[1:]]


def numbers_in(out: Path) -> list[int]:
    return sorted(int(path.name) for path in (out / "changes").iterdir())


def follow_by_triples(store: Store, folder: Path) -> None:
    """First what was removed, then what was added: a triple cannot be in both."""
    removed, added = (
        {quad.triple for quad in parse(gzip.decompress((folder / f"{name}.nt.gz").read_bytes()), RdfFormat.N_TRIPLES)}
        for name in ("removed", "added")
    )
    assert not removed & added
    for triple in removed:
        store.remove(Quad(*triple))
    store.extend(Quad(*triple) for triple in added)


def follow_by_update(store: Store, folder: Path) -> None:
    text = gzip.decompress((folder / "update.ru.gz").read_bytes()).decode()
    if text:
        store.update(text)


@pytest.mark.parametrize("seed", range(300, 306))
def test_changes_that_are_put_together_serve_a_store_that_has_none_some_or_all_of_them(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A store that stopped after any update, or where the next one had removed but not yet added, and goes on with the
    folders that are there at the end.
    """
    together = 2 + seed % 2
    monkeypatch.setattr(updates, "TOGETHER", together)
    rng, out = Random(seed), tmp_path / "out"
    stopped: list[list[str]] = [[]]
    digests, events = list[str](), list[str]()
    for number, (rows, lines) in enumerate(long(rng), start=1):
        export(rows, lines, out, *UPDATE)
        stopped.append(sorted(triples(out)))
        folder = out / "changes" / str(number)
        digests.append(sha256((folder / "update.ru.gz").read_bytes()).hexdigest())
        events += gzip.decompress((folder / "events.ndjson.gz").read_bytes()).decode().splitlines()
    numbers = numbers_in(out)
    alone = {2: [5, 6, 7], 3: [4, 5, 6, 7]}[together]
    assert numbers == [*{2: [2, 4], 3: [3]}[together], *alone]
    for follow in (follow_by_update, follow_by_triples):
        for had, said in enumerate(stopped):
            half = stopped[min(had + 1, len(digests))]
            store = Store()
            store.bulk_load(
                "".join(f"{one} .\n" for one in said if one in half or had % 2).encode(), RdfFormat.N_TRIPLES
            )
            for number in numbers:
                if number > had:
                    follow(store, out / "changes" / str(number))
            assert {str(quad.triple) for quad in store} == set(stopped[-1] if had < len(digests) else said), had
    told = [line.split() for number in numbers for line in parts_told(out / "changes" / str(number) / "updates.txt")]
    assert [(int(number), digest) for number, _, digest in told] == list(enumerate(digests[: -len(alone)], start=1))
    each = [gzip.decompress((out / f"changes/{number}/events.ndjson.gz").read_bytes()).decode() for number in numbers]
    assert "".join(each).splitlines() == events
    assert main(["validate", str(out)]) == 0


def parts_told(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []


def copy(number: int, *ways: str) -> Json:
    """A query of a day of its own that fills U.B from T.A, told as a source in these ways."""
    source = {"objectDomain": "Table", "objectId": 1, "objectName": "D.S.T", "columnName": "A"}
    column = {"columnName": "B", **{way: [source] for way in ways}}
    written = {"objectDomain": "Table", "objectId": 2, "objectName": "D.S.U", "columns": [column]}
    return {
        **GOOD,
        "query_id": f"q-{number}",
        "query_start_time": f"2026-03-0{number}T10:00:00Z",
        "objects_modified": [written],
    }


def test_what_days_share_stays_while_one_of_them_says_it(tmp_path: Path) -> None:
    """A late row tells more of the second day's query, so that it shares nothing with the first day's any more."""
    out, late = tmp_path / "out", copy(2, "directSources", "baseSources")
    rows = [copy(1, "directSources"), copy(2, "directSources")]
    for part in (rows, [late]):
        export(part, [], out, "--reads", "daily", *UPDATE)
    export([*rows, late], [], tmp_path / "once", "--reads", "daily")
    assert sum("#DerivationPattern" in one for one in triples(out)) == 2
    assert triples(out) == triples(tmp_path / "once")
    assert applied(out) == triples(out)


def tagged_tables(rng: Random) -> list[Json]:
    """Two tables with a tagged column that is renamed, and a share with a grant; they and the tag are dropped and
    restored.
    """
    tag = {"D.S.G": {"subOperationType": "ADD", "objectId": {"value": 9}, "tagValue": {"value": "x"}}}
    on_table = {"PRIVILEGES": ["SELECT"], "SECURABLE_OBJECT_DOMAIN": "Table", "SECURABLE_OBJECT_NAME": "D.S.T1"}

    def renamed(old: str, new: str) -> Json:
        return {"columns": {old: {"subOperationType": "ALTER", "objectName": {"value": new}}}}

    def changed(domain: str, number: int, name: str, operation: str, properties: Json) -> Json:
        thing = {"objectDomain": domain, "objectId": number, "objectName": name}
        return {**thing, "operationType": operation, "properties": properties}

    tables, others = [("Table", 1, "D.S.T1"), ("Table", 2, "D.S.T2")], [("Tag", 9, "D.S.G"), ("Share", 8, "SH")]
    told = [changed(*one, "CREATE", {"columns": {"A": {"subOperationType": "ADD", "tags": tag}}}) for one in tables]
    told += [changed("Share", 8, "SH", "GRANT", {"grant": {"value": on_table}})]
    for one in rng.sample(tables + others, 4):
        told += [changed(*rng.choice(tables), "ALTER", renamed(*rng.choice(("AB", "BA"))))]
        told += [changed(*one, "DROP", {}), changed(*one, "UNDROP", {})]
    times = [(BASE + timedelta(hours=8 * number)).isoformat() for number in range(len(told))]
    return [
        {**GOOD, "query_id": at, "query_start_time": at, "object_modified_by_ddl": one}
        for at, one in zip(times, told, strict=True)
    ]


@pytest.mark.parametrize("seed", range(4))
def test_a_store_that_follows_has_what_renames_and_drops_carried_on(seed: int, tmp_path: Path) -> None:
    """Also where a second row contradicts the first one of a query, which is then in no output."""
    rng, out = Random(seed), tmp_path / "out"
    rows = tagged_tables(rng)
    first, second = sorted(rng.sample([5, 8, 11, 14], 2))  # each is an UNDROP
    contradicting = {**rng.choice(rows[8:]), "user_name": "SOMEBODY ELSE"}
    for part in (rows[:first], rows[first:second], rows[second:], [contradicting]):
        export(part, [], out, "--reads", ("full", "daily")[seed % 2], *UPDATE)
        assert applied(out) == triples(out)


def test_a_parent_of_a_later_day_with_two_names(tmp_path: Path) -> None:
    """Its objects are known on the day of its child, by which the child's job is named, and begin on its own day."""
    each = [{"objectDomain": "Table", "objectId": 5, "objectName": name} for name in ("D.S.T", "D.S.U")]
    parent = {**GOOD, "query_id": "p", "query_start_time": "2026-03-02T10:00:00Z"}
    parent |= {"direct_objects_accessed": each[:1], "base_objects_accessed": each[1:]}
    child = {**GOOD, "query_id": "c", "query_start_time": "2026-03-01T10:00:00Z", "parent_query_id": "p"}
    for part in ([child], [parent]):
        export(part, [], tmp_path / "out", *UPDATE)
    export([child, parent], [], tmp_path / "once")
    assert triples(tmp_path / "out") == triples(tmp_path / "once")


def test_a_parent_of_a_later_day_that_takes_the_name_of_what_it_reads(tmp_path: Path) -> None:
    """CREATE OR REPLACE TABLE T AS SELECT … FROM T: the former table is known on the day of the child, before any
    query mentioned it, and ends on the day of the parent.
    """
    old, new = ({"objectDomain": "Table", "objectId": number, "objectName": "D.S.T"} for number in (5, 6))
    parent = at("p", 2, direct_objects_accessed=[old], base_objects_accessed=[old])
    parent["object_modified_by_ddl"] = {**new, "operationType": "CREATE", "properties": {}}
    child = at("c", 1, parent_query_id="p")
    for reads in ("full", "daily"):
        out, once = tmp_path / reads, tmp_path / f"{reads}-once"
        for part in ([parent], [child]):
            export(part, [], out, "--reads", reads, *UPDATE)
        export([child, parent], [], once, "--reads", reads)
        assert triples(out) == triples(once)
        assert any("table/5/before/p" in one for one in triples(out))


def at(query_id: str, day: int, **columns: Any) -> Json:
    """A query of a day of March."""
    return {**GOOD, "query_id": query_id, "query_start_time": f"2026-03-0{day}T10:00:00Z", **columns}


def table(number: int) -> Json:
    return {"objectDomain": "Table", "objectId": number, "objectName": f"D.S.T{number}"}


@pytest.mark.parametrize("day", [1, 3], ids=["before its child", "after its child"])
@pytest.mark.parametrize("reads", ["full", "daily"])
@pytest.mark.parametrize("why", ["rows", "shape"])
def test_a_quarantined_parent_of_another_day_is_in_no_output(why: str, reads: str, day: int, tmp_path: Path) -> None:
    """By its rows, which name two users, or by a shape, as it is its own parent; also after its child was exported."""
    table = {"objectDomain": "Table", "objectId": 9, "objectName": "D.S.ONLY_OF_THE_PARENT"}
    parent = at("p", day, direct_objects_accessed=[table], objects_modified=[table])
    child = at("c", 2, parent_query_id="p", root_query_id="p")
    other = {**parent, **({"user_name": "OTHER"} if why == "rows" else {"parent_query_id": "p"})}
    parts = [[parent], [child], [other, at("x", 4)]]
    for order in list(permutations(parts))[::2]:
        out = tmp_path / "".join(str(parts.index(one)) for one in order)
        for rows in order:
            export(rows, [], out, "--reads", reads, *UPDATE)
        export([parent, child, other, at("x", 4)], [], Path(f"{out}-once"), "--reads", reads)
        assert triples(out) == triples(Path(f"{out}-once"))
        assert not any("ONLY_OF_THE_PARENT" in one for one in triples(out))
        assert applied(out) == triples(out)


@pytest.mark.parametrize(
    ("columns", "made"),
    [
        ({"direct_objects_accessed": [table(1)]}, [2]),  # each day reads it
        ({"objects_modified": [table(2)]}, [2, 3]),  # read on day 3
        ({"objects_modified": [table(1)]}, [2, 3, 4, 5]),
        ({"object_modified_by_ddl": {**table(2), "operationType": "DROP", "properties": {}}}, [2, 3]),
        ({"query_id": "parent", "direct_objects_accessed": []}, [2, 4]),  # its child is of day 4
        ({"direct_objects_accessed": [{"objectDomain": "Table", "objectName": "D.S.T2"}]}, [2, 3]),  # it has no id
    ],
    ids=["read", "write", "write of what all days read", "drop", "parent", "name"],
)
def test_a_late_row_makes_again_only_the_days_that_it_affects(columns: Json, made: list[int], tmp_path: Path) -> None:
    out, once = tmp_path / "out", tmp_path / "once"
    rows = [at(f"reads-1-{day}", day, direct_objects_accessed=[table(1)]) for day in range(1, 6)]
    rows += [at(f"reads-2-{day}", day, direct_objects_accessed=[table(2)]) for day in (1, 3)]
    rows += [at("child", 4, parent_query_id="parent", direct_objects_accessed=[])]
    late = {**at("late", 2, direct_objects_accessed=[]), "query_start_time": "2026-03-02T08:00:00Z", **columns}
    for part in (rows, [late]):
        export(part, [], out, *UPDATE)
    export([*rows, late], [], once)
    assert exports.report(out)["made"] == [f"2026-03-0{day}" for day in made]
    assert exports.report(out)["period"] == exports.report(once)["period"]
    assert triples(out) == triples(once)
    assert applied(out) == triples(out)


def test_a_day_whose_only_query_is_quarantined_and_names_two_parents_of_another_day(tmp_path: Path) -> None:
    """One of its rows names each of them, so one of them is still named when the query is out."""
    tables = [
        {"direct_objects_accessed": [table(number)], "objects_modified": [table(number + 2)]} for number in (1, 2)
    ]
    parents = [at(f"p{number}", 2, **columns) for number, columns in enumerate(tables)]
    child = [at("c", 1, parent_query_id=f"p{number}", user_name=f"U{number}") for number in range(2)]
    for name, parts in (("parents-first", (parents, child)), ("child-first", (child, parents))):
        for part in parts:
            export(part, [], tmp_path / name, *UPDATE)
        export([*parents, *child], [], tmp_path / f"{name}-once")
        assert triples(tmp_path / name) == triples(tmp_path / f"{name}-once") == applied(tmp_path / name)


@pytest.mark.parametrize("reads", ["full", "daily"])
def test_a_refused_query_that_ends_on_a_later_day_is_quarantined(reads: str, tmp_path: Path) -> None:
    """Its start was exported with the day before, also by an earlier run. The day on which it ends has another refused
    query. Its child stays.
    """
    written = GOOD["direct_objects_accessed"]
    late = at("late", 2, parent_query_id="late", objects_modified=written)
    own = at("own", 3, parent_query_id="own", objects_modified=written)
    others = [at("c", 2, parent_query_id="late"), at("first", 1, objects_modified=written), at("last", 4)]
    out, lines = tmp_path / "out", [line(late, 30)]
    for part in ([others[1], late], [own, others[0]], others[2:]):
        export(part, lines, out, "--reads", reads, *UPDATE)
        refused = {f"{SHAPES}QueryNotItsOwnParent"} if part[0] is not others[2] else set()
        assert exports.report(out)["violations"].keys() == refused
    rows = [late, own, *others]
    export(rows, lines, tmp_path / "once", "--reads", reads)
    assert triples(out) == triples(tmp_path / "once")
    assert applied(out) == triples(out)
    for each in (out, tmp_path / "once"):
        assert {json.loads(one["as_it_came"])["query_id"] for one in exports.quarantine(each)} == {"late", "own"}
    assert not any("query/late>" in one and "startedAtTime" in one for one in triples(out))


def test_an_object_does_not_end_before_it_is_used_by_a_wrong_end(tmp_path: Path) -> None:
    """By a wrong line of QUERY_HISTORY, a view would be dropped before it was read: its end is not used."""
    table = {"objectDomain": "Table", "objectId": 8, "objectName": "D.S.T"}
    view = {"objectDomain": "View", "objectId": 9, "objectName": "D.S.V"}
    read = at("read", 2, direct_objects_accessed=[view], base_objects_accessed=[table])
    drop = at("drop", 3, object_modified_by_ddl={**view, "operationType": "DROP", "properties": {}})
    lines, out, once = [line(drop, -48)], tmp_path / "out", tmp_path / "once"
    export([read], [], out, *UPDATE)
    export([drop], lines, out, *UPDATE)
    export([read, drop], lines, once)
    assert triples(out) == triples(once)
    for each in (out, once):
        assert exports.quarantine(each) == []
        assert exports.report(each)["query_history"]["contradicting"] == 1


AT_MOST_TEN: Final = """
@prefix sh: <http://www.w3.org/ns/shacl#> .
@prefix ah: <https://w3id.org/access-history#> .
<https://example.org/shapes#Quick> a sh:NodeShape ;
    sh:targetClass ah:Query ;
    sh:property [ sh:path ah:totalElapsedTime ; sh:maxInclusive 10 ; sh:message "takes at most 10 milliseconds" ] .
"""


def test_a_query_that_was_refused_is_exported_when_a_later_line_mends_it(tmp_path: Path) -> None:
    """The line of the query, which ends on the next day, first has a time that a shape refuses."""
    row = at("q", 1, objects_modified=GOOD["direct_objects_accessed"])
    lines = [{**line(row, hours), "total_elapsed_time": time} for hours, time in ((24, 11), (25, 1))]
    out, others = tmp_path / "out", [at("x", 2), at("y", 2, parent_query_id="q")]
    shapes = tmp_path / "shapes.ttl"
    shapes.write_text(AT_MOST_TEN, encoding="utf-8")
    for number, part in enumerate(([row, others[0]], others[1:])):
        export(part, lines[number : number + 1], out, "--shapes", str(shapes), *UPDATE)
        assert bool(exports.report(out)["violations"]) == (number == 0)
        assert sum("/query/q>" in one and "startedAtTime" in one for one in triples(out)) == number
    export([row, *others], lines, tmp_path / "once")
    assert triples(out) == triples(tmp_path / "once")
    assert applied(out) == triples(out)


@pytest.mark.parametrize("seed", range(100, 106))
def test_the_changes_have_the_events_that_were_not_there_before(seed: int, tmp_path: Path) -> None:
    rng, out, before = Random(seed), tmp_path / "out", set[str]()
    drawn, added = Drawn(rng, rng.randint(5, 25)), 0
    for number, (rows, lines) in enumerate(drawn.parts):
        export(rows or drawn.rows[:1], lines, out, *UPDATE, "--compress", compressed.KINDS[number % 2])
        after = set(exports.events(out))
        folders = sorted((out / "changes").iterdir(), key=lambda path: int(path.name))
        assert len(folders) == number + 1
        text = gzip.decompress((folders[-1] / "events.ndjson.gz").read_bytes()).decode()
        told = [one for one in text.split("\n") if one]
        assert {json.dumps(json.loads(one), sort_keys=True) for one in told} == after - before
        assert len(told) == len(after - before)
        before, added = after, added + len(told)
    assert added >= len(before) > 0


def test_spark_knows_what_other_days_share(spark: SparkSession, tmp_path: Path) -> None:
    job = ExportJob("ACME-PROD", "snowflake://ACME-PROD/", daily=True)
    of, about = syntax(job), "<snowflake://ACME-PROD/derived/0a1b2c3d4e5f60718293> <urn:term>"
    assert of is not None
    (tmp_path / "part-00000.ttl").write_text(
        f"{of.opening}\n\n<derived/0a1b2c3d4e5f60718293> <urn:term> <urn:said> .\n"
    )
    gone = [f"{about} <urn:said> .", f"{about} <urn:of-no-day> ."]
    found = state_on_spark._in_no_other_part(
        spark.createDataFrame([(one,) for one in gone], "value string"),
        state_on_spark._parts(spark, [str(tmp_path)], "\n\n", of.ending),
        of,
    )
    assert [row.value for row in found.collect()] == gone[1:]


@pytest.mark.parametrize("place", [LocalPlace, lambda out: HadoopPlace(f"file://{out}")], ids=["folder", "URI"])
def test_spark_writes_the_changes_in_parts_that_are_joined(
    spark: SparkSession, tmp_path: Path, place: Callable[[str], Place]
) -> None:
    """Each file is one, sorted, whatever number of tasks wrote it."""
    each = [(f"<urn:{number:04}> <urn:is> <urn:{number % 7}> .", number % 3 > 0) for number in range(2_000)]
    both = spark.createDataFrame(each, state_on_spark._DIFFER)
    removed, added = (sorted(one for one, is_added in each if is_added is which) for which in (False, True))
    settings = {"spark.sql.shuffle.partitions": "4", "spark.sql.adaptive.coalescePartitions.enabled": "false"}
    before = {name: spark.conf.get(name) for name in settings}
    with Publication(place(str(tmp_path / "out")), replace=False) as new:
        for name, value in settings.items():
            spark.conf.set(name, value)
        try:
            state_on_spark._write(both.select("value"), f"{new.work}/changes/added.nt.gz")
            state_on_spark._write(both, f"{new.work}/changes/update.ru.gz", is_update=True)
        finally:
            for name, was in before.items():
                spark.conf.set(name, was)
        parts = [path.name for path in Path(local(new.work)).glob("changes/update.ru.gz/part-*")]
        new.take_changes(f"{new.work}/changes", 1)
        whole, update = (
            _text(Path(local(new.folder)) / f"changes/1/{name}") for name in ("added.nt.gz", "update.ru.gz")
        )
    assert len(parts) > 1
    assert whole.splitlines() == sorted(one for one, _ in each)
    store = Store()
    store.update("INSERT DATA {" + "\n".join(removed) + "}")
    store.update(update)
    assert sorted(f"{quad.triple} ." for quad in store) == added


def test_the_texts_of_a_day_can_be_taken_again(spark: SparkSession, tmp_path: Path) -> None:
    """A run may make a day twice, with quarantined rows each time, which are not compressed in DIR."""
    with Publication(LocalPlace(str(tmp_path / "out")), replace=False) as new:
        for text in ("before", "after"):
            lines = spark.createDataFrame([(text,)], "value string")
            lines.write.option("compression", "gzip").text(f"{new.work}/outputs/to=quarantine")
            state_on_spark.take(spark, new, "outputs", "2026-03-01")
            (file,) = Path(new.folder, "quarantine").iterdir()
            assert file.read_text("utf-8") == f"{text}\n"


def test_spark_puts_changes_together_as_the_local_engine_does(spark: SparkSession, tmp_path: Path) -> None:
    """The same triples, and the same bytes of updates and events; and DIR is a complete export afterwards. Spark does
    it in a folder, and in one that is given as a URI.
    """
    rng, job, made = Random(300), ExportJob("ACME-PROD", "snowflake://ACME-PROD/"), {}
    for rows, lines in long(rng)[:5]:
        export(rows, lines, tmp_path / "out", *UPDATE)
    told = json.loads((tmp_path / "out" / "manifest.json").read_text())
    for name in ("local", "spark", "spark-uri"):
        out = shutil.copytree(tmp_path / "out", tmp_path / name)
        where = HadoopPlace(f"file://{out}") if name == "spark-uri" else LocalPlace(str(out))
        with where.held(), Publication(where, replace=False, update=True) as new:
            new.carry(["events", "graph", "state", "quarantine"])
            for file in ("export.ttl", "log.json", "report.json", "shacl-report.ttl"):
                new.text(file, new.text_before(file) or "")
            assert carried(new, job) == 6
            store = LocalStore(new, job) if name == "local" else SparkStore(spark, new, job)
            assert store.unjoined_changes() == [1, 2, 3, 4, 5]
            store.join_changes([1, 2, 3])
            assert store.unjoined_changes() == [4, 5]
            new.publish(told)
        assert numbers_in(out) == [3, 4, 5]
        assert triples(out) == applied(out)
        assert main(["validate", str(out)]) == 0
        made[name] = out / "changes" / "3"
    locally = made.pop("local")
    for by_spark in made.values():
        for name in ("added.nt.gz", "removed.nt.gz"):
            each = [_text(folder / name).split("\n")[:-1] for folder in (locally, by_spark)]
            assert sorted(each[0]) == sorted(each[1])
            assert len(each[0]) == len(set(each[0])) > 0
        for name in ("update.ru.gz", "events.ndjson.gz", "updates.txt"):
            assert (by_spark / name).read_bytes() == (locally / name).read_bytes()


def _text(path: Path) -> str:
    return gzip.decompress(path.read_bytes()).decode()


def test_a_state_in_another_form_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Otherwise its rows would not be found, and DIR would have the new ones alone."""
    out, manifest = tmp_path / "out", tmp_path / "out" / "manifest.json"
    export([copy(1, "directSources")], [], out, *UPDATE)
    told = json.loads(manifest.read_text())
    for form in (
        {**told, "state": 1},
        {**told, "state": told["state"] - 1},
        {name: value for name, value in told.items() if name != "state"},
    ):
        manifest.write_text(json.dumps(form))
        rows = exports.ndjson([copy(2, "directSources")], tmp_path / "rows.ndjson")
        assert exports.export([rows], out, *UPDATE) == 2
        assert "keeps its state in another form; make it again" in capsys.readouterr().err
        assert len(list((out / "graph").glob("day=*"))) == 1
