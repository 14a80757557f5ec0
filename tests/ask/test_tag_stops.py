"""``tag-reach`` with ``stop_at``: where a query enforced a mask, or copied an aggregate; derived from rows and SQL."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest

from exporter.ask.aggregated import is_aggregated
from exporter.ask.questions import Graph
from exporter.cli import main
from tests import exports
from tests.ask.test_tag_reach import A, B, C, asked, cells, copied, table, tagged

if TYPE_CHECKING:
    from pathlib import Path

Json = dict[str, Any]
V: Final = table(8, "D.S.V", domain="View")


def masked(row: Json, thing: Json, column: str = "C", kind: str = "MASKING_POLICY") -> Json:
    """The row, of a query that enforced a policy on a column of ``thing``."""
    policy = {"policyName": "D.S.P", "policyId": 50, "policyKind": kind}
    shown = {key: thing[key] for key in ("objectDomain", "objectId", "objectName")}
    return {**row, "policies_referenced": [{**shown, "columns": [{"columnName": column, "policies": [policy]}]}]}


def through(number: int, view: Json, base: Json, target: Json) -> Json:
    """A column of a view over ``base`` goes into one of the target."""
    row = copied(number, view, target)
    shown = {key: base[key] for key in ("objectDomain", "objectId", "objectName")}
    written = row["objects_modified"][0]["columns"][0]
    written["baseSources"] = [{**shown, "columnName": "C"}]
    return {**row, "base_objects_accessed": [{**shown, "columns": [{"columnName": "C"}]}]}


STORIES: Final = {
    "the mask stands before both": ([tagged(1, A), masked(copied(2, A, B), A), copied(3, B, C)], set()),
    "the mask stands on the way": ([tagged(1, A), copied(2, A, B), masked(copied(3, B, C), B)], {"D.S.B.C"}),
    "a policy of another kind": ([tagged(1, A), masked(copied(2, A, B), A, kind="ROW_ACCESS_POLICY")], {"D.S.B.C"}),
    "a mask on another column": ([tagged(1, A), masked(copied(2, A, B), A, column="E")], {"D.S.B.C"}),
    "a mask of another query": (
        [tagged(1, A), copied(2, A, B), masked({**copied(3, A, C), "objects_modified": []}, A)], {"D.S.B.C"},
    ),
    "another way is left": (
        [tagged(1, A), masked(copied(2, A, C), A), copied(3, A, B), copied(4, B, C)], {"D.S.B.C", "D.S.C.C"},
    ),
    "what was there before stays": ([tagged(1, A), copied(2, A, B), masked(copied(3, A, B), A)], {"D.S.B.C"}),
    "a mask behind a view": ([tagged(1, A), masked(through(2, V, A, B), A)], set()),
    "a mask on the view": ([tagged(1, A), masked(through(2, V, A, B), V)], set()),
    "the view has the tag": ([tagged(1, V), masked(through(2, V, A, B), A)], set()),
}  # fmt: skip


@pytest.mark.parametrize("reads", ["full", "daily"])
@pytest.mark.parametrize("story", STORIES)
def test_masks(story: str, reads: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows, expected = STORIES[story]
    printed, noted = asked(rows, tmp_path, capsys, "--stop-at", "masks", "--format", "csv", reads=reads)
    assert cells(printed) == expected
    every = main(["query", "tag-reach", str(tmp_path / "out"), "--format", "csv"])
    assert every == 0
    fewer = len(cells(capsys.readouterr().out)) - len(expected)
    assert ("left out, since all ways" in noted) == bool(fewer)
    assert not expected or "Rows show no copy" not in noted


def test_the_statements_are_fewer_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [tagged(1, A), copied(2, A, B), masked(copied(3, B, C), B)]
    printed, _ = asked(rows, tmp_path, capsys, "--sql", "--stop-at", "masks")
    assert [line.split()[2] for line in printed.splitlines() if line.startswith("ALTER")] == ["D.S.B"]


# --- aggregates -------------------------------------------------------------------------------------------------------

TEXTS: Final = {
    "insert into d.s.b (c) select sum(c) from d.s.a": True,
    "insert into b (x, c) select c, count(distinct c) from a group by 1": True,
    "insert into b (c) select c from a": False,
    "insert into b (c) select max(c) from a": False,
    "insert into b (c) select sum(c) + c from a group by c": False,
    "insert into b (c) select sum(c) over (partition by x) from a": False,
    "insert into b (c) select sum(sum(c)) over () from a": False,
    "insert into b (c) select avg(c) / count(*) from a": True,
    "insert into b (c) select sum(iff(x.c > 1, x.c, 0)) from a x": True,
    "create or replace table b as select round(avg(c), 2) as c, x from a group by x": True,
    "create table b (x, c) as select c, sum(c) from a group by 1": True,
    "create view b (x, c) as select c, count_if(c > 1) from a group by 1": True,
    "create table b as with t as (select x, c from d.s.a) select count(c) as c from t": True,
    "create table b as with t as (select count(c) as n from d.s.a) select n + 1 as c from t": True,
    "create table b as with t (n, m) as (select count(c), min(c) from a) select n as c, m from t": True,
    "create table b as with t as (select count(c) n, min(c) m from a) select iff(n > 1, m, '') as c from t": False,
    "create table b as select sum(c) as c from a union all select c from a": False,
    "create table b as select sum(c) as c from a union all select avg(c) from a": True,
    "create table b as select a.c as c, sum(z.c) as x from a join z on z.i = a.i group by 1": False,
    "create table b as select sum(a.c) as c, z.c as x from a join z on z.i = a.i group by 2": True,
    'create table b as select sum("C") as "C" from "A"': True,
    "create table b as select sum(c) as c, x from a union all by name select x, c from a": None,
    # Nobody knows: the order of the table's columns, other statements, cut texts, and what is no SQL.
    "insert into b select x, sum(c) from a group by 1": None,
    "insert into b select sum(c) as x, c as c from a group by c": None,
    "insert overwrite into b select count(c) as c, c as x from a": None,
    "create table b as select * from a": None,
    "create table b as select sum(c) as c, x as c from a group by 2": None,
    "create table b as select sum(c) as c from a join z on z.i = a.i": None,
    "merge into b using (select sum(c) c from a) s on b.i = s.i when matched then update set c = s.c": None,
    "insert into b (c) select sum(c) from ...": None,
    "create table b as select other as c from somewhere": None,
    "insert into other (c) select sum(c) from a": None,
    "insert into e.s.b (c) select sum(c) from a": None,
    "insert into b (c) select sum(c) from e.s.a": None,
    "insert into b (c) select sum(d.s.a.c) + e.s.a.c from d.s.a, e.s.a": None,
    "": None,
    "🂡 ' \" $$ ((((": None,
    f"create table b as select {'(' * 3000}c{')' * 3000} as c from a": None,
    f"insert into b (c) select sum(c) from a where x in ({', '.join(map(str, range(20_000)))})": None,
    # What can have the column beside an aggregate of it, without its name.
    **dict.fromkeys(
        [
            f"insert into b (c, x) select {what}, 1 from a group by all"
            for what in (
                "sum(c) + max($1)", "sum(a.c) || a.$1", "sum(c) || max(object_construct(*)::string)", "sum(c) || {*}",
                "sum(c) || max(array_construct(*))", '"sum"(c)', '"Count" (c)', "d.s.sum(c)",
                "sum(c) || any_value(a)", "sum(c) || identifier('C')", "my_sum(c)",
                "sum(c) || (select max(c) from a)", "sum(c) || $v",
            )
        ]
    ),
    "insert into b (x, c) select c as k, sum(c) + k from a group by c": None,
    "insert into b (c, x) select count(c) || y, upper(c) as y from a": None,
    "insert into b (c) select count(z.c) || y.c from a z join (select * from a) y": None,
    "create table b as with t as (select sum(c) as q, * from a) select q || t.c as c from t": None,
    "create table b as with recursive t as (select sum(c) c from a union all select c from t) select c from t": None,
    "create table b as select sum(c) as c from a pivot (sum(x) for y in ('z'))": None,
}  # fmt: skip


def test_a_statement_that_uses_a_column_again_and_again_takes_no_time() -> None:
    more = ", ".join(f"t{n} as (select p.c + q.c as c from t{n - 1} p join t{n - 1} q)" for n in range(1, 60))
    text = f"create table b as with t0 as (select sum(c) as c from a), {more} select c from t59"
    assert is_aggregated(text, ("D.S.B", "C"), ("D.S.A", "C"))


@pytest.mark.parametrize("text", TEXTS)
def test_what_a_statement_copied(text: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert is_aggregated(text, ("D.S.B", "C"), ("D.S.A", "C")) is TEXTS[text]
    assert capfd.readouterr() == ("", "")  # SQL text is personal data


def exported(rows: list[Json], texts: dict[str, str], folder: Path) -> Path:
    given = exports.ndjson(rows, folder / "rows.ndjson")
    history = exports.ndjson(
        [{"query_id": ident, "query_text": text, "start_time": None} for ident, text in texts.items()],
        folder / "history.ndjson",
    )
    options = ("--outputs", "graph", "--query-history", str(history), "--query-text")
    assert exports.export([given], folder / "out", *options) == 0
    return folder / "out"


def test_aggregates(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [tagged(1, A), copied(2, A, B), copied(3, A, C), through(4, V, A, table(5, "D.S.E"))]
    texts = {
        "q2": "insert into d.s.b (c) select sum(c) from d.s.a",
        "q3": "insert into d.s.c (c) select c from d.s.a",
        "q4": "create table d.s.e as select count(c) as c from d.s.v",
    }
    with Graph(exported(rows, texts, tmp_path)) as graph:
        capsys.readouterr()
        assert main(["query", "tag-reach", str(tmp_path / "out"), "--stop-at", "aggregates", "--format", "csv"]) == 0
        assert cells(capsys.readouterr().out) == {"D.S.C.C"}  # by a process that can open no files
        names = [row["target_object_name"] for row in graph.ask("tag-reach").dicts()]
        stopped = graph.ask("tag-reach", stop_at="aggregates")
    assert names == ["D.S.B", "D.S.C", "D.S.E"]
    assert [row["target_object_name"] for row in stopped.dicts()] == ["D.S.C"]
    assert any("2 rows are left out" in note for note in stopped.notes)


def test_a_query_without_a_text_is_followed_and_named(tmp_path: Path) -> None:
    rows = [tagged(1, A), copied(2, A, B), copied(3, A, C)]
    with Graph(exported(rows, {"q3": "merge into c using ..."}, tmp_path)) as graph:
        answer = graph.ask("tag-reach", stop_at=["masks", "aggregates"])
    assert [row["target_object_name"] for row in answer.dicts()] == ["D.S.B", "D.S.C"]
    assert any("no SQL text of query q2" in note for note in answer.notes)
    assert any("SQL text of query q3 does not say" in note for note in answer.notes)


@pytest.mark.parametrize("options", [(), ("--sql",), ("--stop-at", "masks")])
def test_each_query_without_a_text_is_counted_once(
    options: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [tagged(1, A), *(copied(n, A, B) if n % 2 else copied(n, B, C) for n in range(3, 11))]
    noted = asked(rows, tmp_path, capsys, "--stop-at", "aggregates", *options)[1]
    assert "no SQL text of 8 queries" in noted


@pytest.mark.parametrize("options", [(), ("--sql",)])
def test_rows_that_are_left_out_are_counted_as_they_are_shown(
    options: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    printed, noted = asked([tagged(1, A), masked(copied(2, A, B), A)], tmp_path, capsys, "--stop-at", "Masks", *options)
    assert "1 row is left out" in noted
    assert "Nothing to set" in printed or not options


def test_a_table_that_is_read_by_itself_and_through_a_view(tmp_path: Path) -> None:
    """The sum is of the table, but the view gives the same column unmasked."""
    row = through(2, V, A, B)
    written, shown = row["objects_modified"][0]["columns"][0], row["base_objects_accessed"]
    source = {**{key: A[key] for key in ("objectDomain", "objectId", "objectName")}, "columnName": "C"}
    written["directSources"] = [{**written["directSources"][0], "columnName": "VC"}, source]
    row["direct_objects_accessed"] = [*row["direct_objects_accessed"], *shown]
    text = "insert into d.s.b (c) select sum(a.c) + v.vc from d.s.a a, d.s.v v group by v.vc"
    with Graph(exported([tagged(1, A), row], {"q2": text}, tmp_path)) as graph:
        assert [one["target_object_name"] for one in graph.ask("tag-reach", stop_at="aggregates").dicts()] == ["D.S.B"]


def test_columns_that_differ_in_letter_case_alone_are_for_a_person(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [tagged(1, A), copied(2, A, B, written="c"), copied(3, A, B, written="C")]
    lines = asked(rows, tmp_path, capsys, "--sql")[0].splitlines()
    assert all(line.startswith("-- ") for line in lines)
    assert sum("in several letter cases" in line for line in lines) == 2


def test_another_value_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked([tagged(1, A), copied(2, A, B)], tmp_path, capsys)
    assert main(["query", "tag-reach", str(tmp_path / "out"), "--stop-at", "mask"]) == 2
    assert "write masks or aggregates" in capsys.readouterr().err
