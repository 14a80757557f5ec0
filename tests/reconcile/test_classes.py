"""Each edge is verified, undeclared, phantom or unknown, as rows say; what they cannot show is no phantom."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any, Final

import pytest

from exporter.cli import main
from tests.hard_rows import SENTINEL
from tests.reconcile.small import (
    HERE,
    classes,
    column_lineage,
    compared,
    dataset,
    ddl,
    event,
    filled,
    made,
    manifest,
    model,
    row,
    said,
    thing,
    written,
)

if TYPE_CHECKING:
    from pathlib import Path

A, B, C, T, U, X = (thing(10 + n, name) for n, name in enumerate("ABCTUX"))
VIEW: Final = thing(30, "V", domain="View")
STREAM: Final = thing(40, "ST", domain="Stream")
FILTER: Final = thing(50, "F", "KEY")

Capsys = pytest.CaptureFixture[str]


def swap(number: int, name: str, domain: str = "Table") -> dict[str, Any]:
    """The properties of a SWAP with another table, or what it is."""
    told = {"swapTargetName": f"D.S.{name}", "swapTargetId": number, "swapTargetDomain": domain}
    return {key: {"value": value} for key, value in told.items()}


@pytest.mark.parametrize("reads", ["full", "daily"])
def test_the_four_classes_of_tables(reads: str, tmp_path: Path, capsys: Capsys) -> None:
    rows = [
        filled("q1", 2, T, A, C=[(A, "C")]),
        filled("q2", 3, T, A, C=[(A, "C")]),
        filled("q3", 4, T, C, C=[(C, "C")]),
        row("q4", 5, [B]),
    ]
    nodes = {"t": model("t", "source.p.s.a", "source.p.s.b", "source.p.s.gone")}
    declared = said(manifest(nodes, ("a", "b", "gone")), tmp_path / "m.json")
    found = compared(made(rows, tmp_path, "--reads", reads), capsys, declared)
    assert classes(found) == {
        ("A", "T"): "verified",
        ("B", "T"): "phantom",
        ("C", "T"): "undeclared",
        ("GONE", "T"): "unknown no-row",
    }
    assert found["counts"] == {"verified": 1, "undeclared": 1, "phantom": 1, "unknown": 1}
    verified = next(one for one in found["edges"] if one["class"] == "verified")
    shown = {name: verified[name] for name in ("queries", "first", "first_query_id", "last", "last_query_id", "by")}
    assert shown == {
        "queries": 2,
        "first": "2026-03-02T08:00:00Z",
        "first_query_id": "q1",
        "last": "2026-03-03T08:00:00Z",
        "last_query_id": "q2",
        "by": "columns",
    }
    assert verified["declared_by"] == ["m.json"]
    assert verified["jobs"] == ["model.p.t"]


@pytest.mark.parametrize("reads", ["full", "daily"])
def test_columns(reads: str, tmp_path: Path, capsys: Capsys) -> None:
    """A column that only filters is a read; one whose data is not there is a phantom; letter case does not count."""
    rows = [filled("q1", 2, T, thing(10, "A", "C", "D", "E"), FILTER, C=[(A, "C")], E=[(A, "E")])]
    lineage = column_lineage(
        {"c": [("d.s.a", "c", "DIRECT"), ("d.s.f", "key", "INDIRECT")], "d": [("d.s.a", "D", "DIRECT")]},
        ("d.s.f", "other"),
    )
    inputs = [dataset("d.s.a"), dataset("d.s.f"), dataset("d.s.x")]
    declared = said(event(inputs, [dataset("d.s.t", **lineage)]), tmp_path / "e.json")
    found = compared(made([*rows, row("q2", 20, [X])], tmp_path, "--reads", reads), capsys, declared)
    assert classes(found) == {
        ("A:C", "T:C"): "verified",
        ("A:D", "T:D"): "phantom",
        ("A:E", "T:E"): "undeclared",
        ("F:KEY", "T"): "verified",
        ("F:OTHER", "T"): "phantom",
        ("X", "T"): "phantom",
    }
    by = {(one["source"]["name"], one["source"]["column"]): one["by"] for one in found["edges"]}
    assert by["D.S.F", "KEY"] == "reads"
    reasons = {one["source"]["column"]: one["reason"] for one in found["edges"] if one["class"] == "phantom"}
    assert reasons == {"D": "no-such-column", "OTHER": "no-such-column", None: "never-seen"}


def test_a_source_that_only_filters_is_a_read_and_no_column_lineage(tmp_path: Path, capsys: Capsys) -> None:
    rows = [filled("q1", 2, T, A, FILTER, C=[(A, "C")])]
    lineage = column_lineage({"C": [("d.s.a", "C", "DIRECT"), ("d.s.f", "KEY", "DIRECT")]})
    both = [dataset("d.s.a"), dataset("d.s.f")]
    declared = said(event(both, [dataset("d.s.t", **lineage)], day=2), tmp_path / "e.json")
    assert classes(compared(made(rows, tmp_path), capsys, declared)) == {
        ("A:C", "T:C"): "verified",
        ("F:KEY", "T:C"): "phantom",
    }
    table = said(event(both, [dataset("d.s.t")]), tmp_path / "t.json")
    found = compared(tmp_path / "out", capsys, table)
    assert {one["source"]["name"]: (one["class"], one["by"]) for one in found["edges"]} == {
        "D.S.A": ("verified", "columns"),
        "D.S.F": ("verified", "reads"),
    }


# --- what cannot be known ---------------------------------------------------------------------------------------------


def test_a_target_that_no_query_of_the_period_filled(tmp_path: Path, capsys: Capsys) -> None:
    rows = [filled("q1", 2, T, A, C=[(A, "C")]), filled("q2", 20, X, A, C=[(A, "C")]), row("q3", 21, [B])]
    declared = said(manifest({"t": model("t", "source.p.s.b")}, ("b",)), tmp_path / "m.json")
    graph = made(rows, tmp_path)
    assert classes(compared(graph, capsys, declared))["B", "T"] == "phantom"
    later = compared(graph, capsys, declared, "--since", "2026-03-10")
    assert classes(later)["B", "T"] == "unknown not-filled"
    none = compared(graph, capsys, declared, "--until", "2026-03-02")
    assert classes(none)["B", "T"] == "unknown not-filled"
    assert [any("no query of the period is in it" in one for one in each["notes"]) for each in (later, none)] == [
        False,
        True,
    ]


def test_a_run_outside_of_the_period(tmp_path: Path, capsys: Capsys) -> None:
    rows = [filled("q1", 2, T, A, C=[(A, "C")]), row("q3", 21, [B])]
    graph = made(rows, tmp_path)
    inside = said(event([dataset("d.s.b")], [dataset("d.s.t")], day=10), tmp_path / "in.json")
    after = said(event([dataset("d.s.b")], [dataset("d.s.t")], day=25), tmp_path / "out.json")
    assert classes(compared(graph, capsys, inside))["B", "T"] == "phantom"
    assert classes(compared(graph, capsys, after))["B", "T"] == "unknown outside-period"


def test_rows_that_do_not_say_everything(tmp_path: Path, capsys: Capsys) -> None:
    """A truncated row that filled the target, and one that does not say what it wrote but read the source."""
    cut = row("q2", 3, [A], objects_modified=[written(T, {}), SENTINEL])
    declared = said(manifest({"t": model("t", "source.p.s.b")}, ("b",)), tmp_path / "m.json")
    rows = [filled("q1", 2, T, A, C=[(A, "C")]), row("q3", 4, [B])]
    assert classes(compared(made([*rows, cut], tmp_path), capsys, declared))["B", "T"] == "unknown incomplete-rows"
    lost = row("q4", 5, [B], objects_modified=[SENTINEL])
    other = tmp_path / "other"
    other.mkdir()
    assert classes(compared(made([*rows, lost], other), capsys, declared))["B", "T"] == "unknown incomplete-rows"


def test_columns_that_rows_do_not_list(tmp_path: Path, capsys: Capsys) -> None:
    bare = row("q1", 2, [A], objects_modified=[T])
    lineage = column_lineage({"C": [("d.s.a", "C", "DIRECT")]})
    declared = said(event([dataset("d.s.a")], [dataset("d.s.t", **lineage)], day=2), tmp_path / "e.json")
    assert classes(compared(made([bare], tmp_path), capsys, declared)) == {("A:C", "T:C"): "unknown no-columns"}


def test_columns_of_a_table_of_a_provider(tmp_path: Path, capsys: Capsys) -> None:
    """Rows list a share's tables among the objects that were read, but never as sources of columns."""
    query = filled("q1", 2, T, A, C=[(A, "C")]) | {"provider_base_objects_accessed": [thing(77, "P", "C")]}
    lineage = column_lineage({"C": [("d.s.p", "C", "DIRECT")]})
    declared = said(event([dataset("d.s.p")], [dataset("d.s.t", **lineage)], day=2), tmp_path / "e.json")
    assert classes(compared(made([query], tmp_path), capsys, declared))["P:C", "T:C"] == "unknown no-columns"


@pytest.mark.parametrize("end", ["source", "target"])
def test_rows_that_give_no_id_of_an_end(end: str, tmp_path: Path, capsys: Capsys) -> None:
    """Other rows give the id of the one object that had the name, so it is the same; of two it may be either."""
    a, t = ({key: value for key, value in one.items() if key != "objectId"} for one in (A, T))
    source, target = (a, T) if end == "source" else (A, t)
    rows = [filled("q1", 2, target, source, C=[(source, "C")]), row("q2", 3, [A]), row("q3", 4, [T])]
    declared = said(event([dataset("d.s.a")], [dataset("d.s.t")], day=4), tmp_path / "e.json")
    assert classes(compared(made(rows, tmp_path), capsys, declared)) == {("A", "T"): "verified"}
    renamed, name = (A, "A") if end == "source" else (T, "T")
    rows += [ddl("q4", 5, renamed, "ALTER", objectName={"value": "D.S.OLD"}), row("q5", 6, [thing(99, name)])]
    both = tmp_path / "both"
    both.mkdir()
    assert classes(compared(made(rows, both), capsys, declared)) == {("A", "T"): "unknown ambiguous"}


def test_a_name_in_two_accounts_is_not_known_and_not_undeclared(tmp_path: Path, capsys: Capsys) -> None:
    """A manifest of dbt gives no account."""
    other = row("q2", 3, [A]) | {"organization_name": "ACME", "account_name": "TEST"}
    rows = [filled("q1", 2, T, A), other]
    declared = said(manifest({"t": model("t", "source.p.s.a")}, ("a",)), tmp_path / "manifest.json")
    found = compared(made(rows, tmp_path, "--account", "acme-prod"), capsys, declared)
    assert classes(found) == {("A", "T"): "unknown ambiguous"}
    rows.append(filled("q3", 4, T, B))
    both = tmp_path / "both"
    both.mkdir()
    found = compared(made(rows, both, "--account", "acme-prod"), capsys, declared)
    assert classes(found) == {("A", "T"): "unknown ambiguous", ("B", "T"): "undeclared"}


def test_views_are_known_by_reads_alone(tmp_path: Path, capsys: Capsys) -> None:
    rows = [row("q1", 2, [VIEW], [A]), row("q2", 3, [B]), row("q3", 4, [thing(31, "W", domain="View"), X], [B, X])]
    nodes = {
        "v": model("v", "source.p.s.a", "source.p.s.b", materialized="view"),
        "w": model("w", "source.p.s.b", materialized="view"),
        "unread": model("unread", "source.p.s.a", materialized="view"),
    }
    declared = said(manifest(nodes, ("a", "b")), tmp_path / "m.json")
    found = compared(made(rows, tmp_path), capsys, declared)
    assert classes(found) == {
        ("A", "V"): "verified",
        ("B", "V"): "unknown view",
        ("B", "W"): "unknown view",
        ("A", "UNREAD"): "unknown view",
    }
    assert next(one for one in found["edges"] if one["class"] == "verified")["first_query_id"] == "q1"


@pytest.mark.parametrize("is_read", [True, False])
def test_a_view_is_verified_by_reads_of_the_period(tmp_path: Path, capsys: Capsys, *, is_read: bool) -> None:
    rows = [row("q1", 2, [VIEW], [A]), *([row("q2", 11, [VIEW], [A])] if is_read else []), row("q3", 20, [VIEW], [A])]
    declared = said(manifest({"v": model("v", "source.p.s.a", materialized="view")}, ("a",)), tmp_path / "m.json")
    period = ("--since", "2026-03-10", "--until", "2026-03-15")
    (edge,) = compared(made(rows, tmp_path), capsys, declared, *period)["edges"]
    told = [edge[key] for key in ("class", "first", "last", "queries")]
    assert told == (["verified", *["2026-03-11T08:00:00Z"] * 2, 1] if is_read else ["unknown", None, None, 0])


def test_what_is_behind_a_declared_view_but_not_declared(tmp_path: Path, capsys: Capsys) -> None:
    """Over another view it is declared, since rows show only the tables behind all views."""
    rows = [row("q1", 2, [VIEW], [A, B])]
    nodes = {"v": model("v", "model.p.w", materialized="view"), "w": model("w", "source.p.s.a", materialized="view")}
    declared = said(manifest(nodes, ("a",)), tmp_path / "m.json")
    found = classes(compared(made(rows, tmp_path), capsys, declared))
    assert found == {("B", "V"): "undeclared", ("W", "V"): "unknown view", ("A", "W"): "unknown view"}


@pytest.mark.parametrize("case", ["perhaps behind it", "behind a column that was not read", "behind it"])
def test_a_view_is_explained_by_what_is_declared_certainly_behind_it_and_read(
    case: str, tmp_path: Path, capsys: Capsys
) -> None:
    """T is declared to come from A. Over A alone, the view V is no other source; else data came from V, too."""

    def of_view(query_id: str, direct: list[dict[str, Any]], base: list[dict[str, Any]]) -> dict[str, Any]:
        columns = {"C": [(one, "C") for one in direct]}
        return row(query_id, 3, direct, base, objects_modified=[written(T, columns)])

    rows, expected = {
        "perhaps behind it": (
            [of_view("q1", [A, VIEW], [A, X])], {("A", "T"): "verified", ("V", "T"): "undeclared"},
        ),
        "behind a column that was not read": (
            [row("q0", 2, [VIEW], [A, B]), row("q9", 4, [A]), of_view("q1", [VIEW], [B])],
            {("A", "T"): "phantom", ("V", "T"): "undeclared"},
        ),
        "behind it": ([row("q0", 2, [VIEW], [A]), of_view("q1", [VIEW], [A])], {("A", "T"): "verified"}),
    }[case]  # fmt: skip
    declared = said(manifest({"t": model("t", "source.p.s.a")}, ("a",)), tmp_path / "m.json")
    assert classes(compared(made(rows, tmp_path), capsys, declared)) == expected


@pytest.mark.parametrize(("last", "expected"), [("new", "verified"), ("old", "unknown ambiguous")])
def test_a_table_that_is_made_anew_each_night_without_a_row_of_it_is_one(
    last: str, expected: str, tmp_path: Path, capsys: Capsys
) -> None:
    """As with CREATE TABLE AS SELECT in the guide's examples, whose rows have no object_modified_by_ddl."""
    nights = [thing(100 + day, "T") for day in (2, 3, 4)]
    rows = [filled(f"q{day}", day, table, A, C=[(A, "C")]) for day, table in zip((2, 3, 4), nights, strict=True)]
    if last == "old":  # it is still there: two objects have the name, such as a temporary table
        rows.append(row("q5", 5, [nights[0]]))
    declared = said(manifest({"t": model("t", "source.p.s.a")}, ("a",)), tmp_path / "m.json")
    assert classes(compared(made(rows, tmp_path), capsys, declared)) == {("A", "T"): expected}


@pytest.mark.parametrize("reads", ["full", "daily"])
@pytest.mark.parametrize("listed", [[A], []])
def test_a_source_that_only_columns_give_is_one(
    reads: str, listed: list[dict[str, Any]], tmp_path: Path, capsys: Capsys
) -> None:
    """Rows can have sources in directSources that are missing from direct_objects_accessed; X is behind the view."""
    columns = {"C": [(A, "C")], "E": [(VIEW, "C")]}
    target = written(T, columns)
    target["columns"][1]["baseSources"] = [{**X, "columnName": "C"}]
    rows = [row("q1", 2, listed, objects_modified=[target]), row("q2", 3, [VIEW], [X])]
    declared = said(manifest({"t": model("t", "source.p.s.a")}, ("a",)), tmp_path / "m.json")
    found = classes(compared(made(rows, tmp_path, "--reads", reads), capsys, declared))
    assert found == {("A", "T"): "verified", ("V", "T"): "undeclared"}


def test_a_source_that_a_row_gives_without_its_id_is_one(tmp_path: Path, capsys: Capsys) -> None:
    nameless = {key: value for key, value in B.items() if key != "objectId"}
    rows = [filled("q1", 2, T, A, B, C=[(A, "C")], E=[(B, "C")]), filled("q2", 3, T, nameless, E=[(nameless, "C")])]
    declared = said(manifest({"t": model("t", "source.p.s.a")}, ("a",)), tmp_path / "m.json")
    found = compared(made(rows, tmp_path), capsys, declared)
    undeclared = [edge for edge in found["edges"] if edge["class"] == "undeclared"]
    assert [(edge["source"]["name"], edge["queries"]) for edge in undeclared] == [("D.S.B", 2)]


def test_another_platform_account_and_name(tmp_path: Path, capsys: Capsys) -> None:
    rows = [filled("q1", 2, T, A, C=[(A, "C")])]
    inputs = [
        dataset("bucket/path", "s3://b"),
        dataset("d.s.a", "snowflake://other-account"),
        dataset("d.s.a", "snowflake://xy12345.us-east-1"),
        dataset("a"),
    ]
    declared = said(event(inputs, [dataset("d.s.t")], day=2), tmp_path / "e.json")
    graph = made(rows, tmp_path)
    found = compared(graph, capsys, declared)
    reasons = {(one["source"]["namespace"], one["source"]["name"]): one["reason"] for one in found["edges"]}
    assert reasons == {
        ("s3://b", "s3://b/bucket/path"): "other-platform",
        ("snowflake://OTHER-ACCOUNT", "D.S.A"): "other-account",
        ("snowflake://xy12345.us-east-1.aws", "D.S.A"): "other-account",
        ("snowflake://ACME-PROD", "A"): "no-object-name",
        (None, "D.S.A"): None,
    }
    assert [one["class"] for one in found["edges"] if one["reason"] is None] == ["undeclared"]
    assert main(["reconcile", str(graph), str(declared), "--namespace", "snowflake://xy12345.us-east-1"]) == 0
    again = compared(graph, capsys, declared, "--namespace", "snowflake://xy12345.us-east-1")
    assert "verified" in {one["class"] for one in again["edges"]}


@pytest.mark.parametrize(
    ("provided", "namespace"),
    [({"accountName": "Prov"}, "snowflake://ACME-PROV"), ({}, "snowflake://ACME-PROD@provider")],
    ids=["named", "unnamed"],
)
def test_a_name_that_a_provider_has_too(
    provided: dict[str, str], namespace: str, tmp_path: Path, capsys: Capsys
) -> None:
    """In this account's namespace it is the account's table; the provider's has the namespace that events give it."""
    rows = [
        filled("q1", 2, T, A, C=[(A, "C")]),
        row("q2", 2, [B]) | {"provider_base_objects_accessed": [{**A, "objectId": 77, **provided}]},
    ]
    graph = made(rows, tmp_path)
    found = {
        given: compared(
            graph, capsys, said(event([dataset("d.s.a", given)], [dataset("d.s.t")], day=2), tmp_path / name)
        )
        for name, given in (("own.json", "snowflake://ACME-PROD"), ("provider.json", namespace))
    }
    assert [one["class"] for one in found["snowflake://ACME-PROD"]["edges"]] == ["verified"]
    of_provider = {one["class"]: one["reason"] for one in found[namespace]["edges"]}
    assert of_provider == {"phantom": "never-seen", "undeclared": None}


@pytest.mark.parametrize(
    "namespace", ["snowflake://ACME-PROD", "snowflake://acme-prod", HERE + ".snowflakecomputing.com"]
)
def test_spellings_of_an_account(namespace: str, tmp_path: Path, capsys: Capsys) -> None:
    rows = [filled("q1", 2, T, A, C=[(A, "C")])]
    declared = said(event([dataset("d.s.A", namespace)], [dataset('"D".s.t', namespace)], day=2), tmp_path / "e.json")
    assert classes(compared(made(rows, tmp_path), capsys, declared)) == {("A", "T"): "verified"}


def test_letter_case_counts_in_quotes(tmp_path: Path, capsys: Capsys) -> None:
    low = thing(60, '"a"')
    rows = [filled("q1", 2, T, low, C=[(low, "C")]), row("q2", 3, [A])]
    nodes = {"t": model("t", "source.p.s.a", "model.p.low"), "low": model("low", relation_name='d.s."a"')}
    declared = said(manifest(nodes, ("a",)), tmp_path / "m.json")
    found = classes(compared(made(rows, tmp_path), capsys, declared))
    assert (found["A", "T"], found['"a"', "T"]) == ("phantom", "verified")


# --- what is seen through ---------------------------------------------------------------------------------------------


def test_ephemeral_models_and_exposures(tmp_path: Path, capsys: Capsys) -> None:
    rows = [filled("q1", 2, T, A, C=[(A, "C")])]
    nodes = {
        "t": model("t", "model.p.part"),
        "part": model("part", "model.p.inner", materialized="ephemeral"),
        "inner": model("inner", "source.p.s.a", "test.p.check", materialized="ephemeral"),
        "check": model("check", "model.p.t", kind="test"),
    }
    board = {"resource_type": "exposure", "name": "board", "depends_on": {"nodes": ["model.p.t"]}}
    declared = said(manifest(nodes, ("a",), {"exposure.p.board": board}), tmp_path / "m.json")
    found = compared(made(rows, tmp_path), capsys, declared)
    assert classes(found) == {("A", "T"): "verified", ("T", "dbt://p/exposure.p.board"): "unknown other-platform"}
    assert next(one for one in found["edges"] if one["class"] == "verified")["via"] == ["model.p.part", "model.p.inner"]


def test_functions_are_seen_through_and_what_a_manifest_lacks_is_told(tmp_path: Path, capsys: Capsys) -> None:
    rows = [filled("q1", 2, T, A, C=[(A, "C")])]
    function = {"resource_type": "function", "name": "f", "depends_on": {"nodes": ["source.p.s.a"]}}
    told = manifest({"t": model("t", "function.p.f", "model.p.gone")}, ("a",))
    declared = said({**told, "functions": {"function.p.f": function}}, tmp_path / "m.json")
    found = compared(made(rows, tmp_path), capsys, declared)
    assert classes(found) == {("A", "T"): "verified"}
    lacks = "m.json: left out: what goes through model.p.gone, which nodes depend on and the manifest lacks."
    assert lacks in found["notes"]


def test_a_facet_that_is_not_read_is_told(tmp_path: Path, capsys: Capsys) -> None:
    rows = [filled("q1", 2, T, A, C=[(A, "C")])]
    outputs = [dataset("d.s.t", lineage={"inputs": []}), dataset("d.s.u", lineage={"inputs": []}, **column_lineage({}))]
    found = compared(made(rows, tmp_path), capsys, said(event([dataset("d.s.a")], outputs, day=2), tmp_path / "e.json"))
    assert "e.json: left out: the facet lineage of d.s.t, which is not read (columnLineage is)." in found["notes"]


@pytest.mark.parametrize("kind", ["Table", "View"])
def test_helper_tables_are_seen_through(kind: str, tmp_path: Path, capsys: Capsys) -> None:
    """dbt fills T__dbt_tmp from A and merges it into T; a view has no rows, and the row has A as a base object."""
    helper = thing(70, "T__DBT_TMP", domain=kind)
    sources = [(helper, "C")] if kind == "Table" else []
    rows = [
        ddl("q0", 1, helper, "CREATE"),
        *([filled("q1", 2, helper, A, C=[(A, "C")])] if kind == "Table" else []),
        row(
            "q2", 3, [helper], [helper if kind == "Table" else A],
            objects_modified=[written(T, {"C": sources}) if sources else T],
        ),
        row("q3", 4, [B]),
    ]  # fmt: skip
    declared = said(manifest({"t": model("t", "source.p.s.a", "source.p.s.b")}, ("a", "b")), tmp_path / "m.json")
    found = compared(made(rows, tmp_path), capsys, declared)
    assert classes(found) == {("A", "T"): "verified", ("B", "T"): "phantom"}
    if kind == "Table":
        lineage = column_lineage({"C": [("d.s.a", "C", "DIRECT"), ("d.s.a", "X", "DIRECT")]})
        events = said(event([dataset("d.s.a")], [dataset("d.s.t", **lineage)], day=3), tmp_path / "e.json")
        assert classes(compared(tmp_path / "out", capsys, events)) == {
            ("A:C", "T:C"): "verified",
            ("A:X", "T:C"): "phantom",
        }


@pytest.mark.parametrize("form", ["table", "columns"])
def test_what_is_behind_a_view_that_filled_a_helper(form: str, tmp_path: Path, capsys: Capsys) -> None:
    """The statement names the view V, which is declared. The table A behind it is no source that is missing."""
    helper = thing(70, "T__DBT_TMP")
    of_helper = written(helper, {"C": [(VIEW, "C")]})
    of_helper["columns"][0]["baseSources"] = [{**A, "columnName": "C"}]
    rows = [
        row("q1", 2, [VIEW], [A], objects_modified=[of_helper]),
        filled("q2", 3, T, helper, C=[(helper, "C")]),
        ddl("q3", 4, helper, "DROP"),
    ]
    lineage = column_lineage({"C": [("d.s.v", "C", "DIRECT")]}) if form == "columns" else {}
    events = [
        event([dataset("d.s.a")], [dataset("d.s.v")], run="r1"),
        event([dataset("d.s.v")], [dataset("d.s.t", **lineage)], run="r2"),
    ]
    found = compared(made(rows, tmp_path), capsys, said(events, tmp_path / "e.json"), "--since", "2026-03-02")
    into = ("V:C", "T:C") if form == "columns" else ("V", "T")
    assert classes(found) == {("A", "V"): "verified", into: "verified"}
    assert not found["notes"], "the helper is no other object that data went to"


@pytest.mark.parametrize("form", ["table", "columns"])
@pytest.mark.parametrize(
    ("known_by", "bases", "expected"),
    [
        ("declared", [A], {("A", "V"): "unknown view", ("V", "T"): "unknown view"}),
        ("read", [A], {("V", "T"): "unknown view"}),
        ("read", [A, B], {("V", "T"): "unknown view", ("B", "T"): "undeclared"}),
        ("read", [B], {("V", "T"): "phantom", ("B", "T"): "undeclared"}),
        ("nothing", [A], {("V", "T"): "unknown view", ("A", "T"): "undeclared"}),
        ("read, helper not", [A], {("V", "T"): "phantom", ("A", "T"): "undeclared"}),
    ],
)
def test_a_declared_view_behind_a_helper_that_is_a_view(
    known_by: str, bases: list[Any], expected: dict[Any, str], form: str, tmp_path: Path, capsys: Capsys
) -> None:
    """Of dbt's T__dbt_tmp, a view, rows show only the tables behind it; whether V is between, no row says."""
    helper = thing(70, "T__DBT_TMP", domain="View")
    target = written(T, {"C": [(helper, "C")]})
    target["columns"][0]["baseSources"] = [{**one, "columnName": "C"} for one in bases]
    through = row("q3", 4, [helper], bases, objects_modified=[target])
    rows = [
        ddl("q0", 1, VIEW, "CREATE"),
        *([row("q1", 2, [VIEW], [A])] if known_by.startswith("read") else []),
        ddl("q2", 3, helper, "CREATE"),
        filled("q3", 4, T, A, C=[(A, "C")]) if known_by == "read, helper not" else through,
        ddl("q4", 5, helper, "DROP"),
    ]
    lineage = column_lineage({"C": [("d.s.v", "C", "DIRECT")]}) if form == "columns" else {}
    events = [event([dataset("d.s.v")], [dataset("d.s.t", **lineage)], run="r1", day=4)]
    if known_by == "declared":
        events.append(event([dataset("d.s.a")], [dataset("d.s.v")], run="r2", day=4))
    found = classes(compared(made(rows, tmp_path), capsys, said(events, tmp_path / "e.json")))
    assert {tuple(end.partition(":")[0] for end in ends): one for ends, one in found.items()} == expected


def test_helpers_that_are_declared_are_seen_through(tmp_path: Path, capsys: Capsys) -> None:
    rows = [filled("q1", 2, T, A, C=[(A, "C")])]
    events = [
        event([dataset("d.s.a")], [dataset("d.s.t__dbt_tmp")], day=2),
        event([dataset("d.s.t__dbt_tmp")], [dataset("d.s.t")], day=2, run="r2"),
    ]
    found = compared(made(rows, tmp_path), capsys, said(events, tmp_path / "e.json"))
    assert classes(found) == {("A", "T"): "verified"}
    assert found["edges"][0]["via"] == ["D.S.T__DBT_TMP"]


def test_a_stream_that_is_declared_as_its_table(tmp_path: Path, capsys: Capsys) -> None:
    behind = {"objects_modified": [written(T, {"C": [(STREAM, "C")]})]}
    behind["objects_modified"][0]["columns"][0]["baseSources"] = [{**A, "columnName": "C"}]
    rows = [row("q1", 2, [STREAM], [A], **behind)]
    declared = said(manifest({"t": model("t", "source.p.s.a")}, ("a",)), tmp_path / "m.json")
    assert classes(compared(made(rows, tmp_path), capsys, declared)) == {("A", "T"): "verified"}


# --- names at a time --------------------------------------------------------------------------------------------------


def test_the_name_at_the_time_of_the_declaration(tmp_path: Path, capsys: Capsys) -> None:
    """T and U are swapped on the 10th: before, T is the table that B filled."""
    swapped = [ddl("q3", 10, T, "ALTER", **swap(14, "U")), ddl("q3", 10, U, "ALTER", **swap(13, "T"))]
    rows = [filled("q1", 2, T, B, C=[(B, "C")]), filled("q2", 3, U, A, C=[(A, "C")]), *swapped, row("q9", 30, [B])]
    graph = made(rows, tmp_path)
    early = said(event([dataset("d.s.b"), dataset("d.s.a")], [dataset("d.s.t")], day=5), tmp_path / "early.json")
    late = said(event([dataset("d.s.b"), dataset("d.s.a")], [dataset("d.s.t")], day=20), tmp_path / "late.json")
    assert classes(compared(graph, capsys, early)) == {("B", "T"): "verified", ("A", "T"): "phantom"}
    assert classes(compared(graph, capsys, late)) == {("B", "T"): "phantom", ("A", "T"): "verified"}
    now = compared(graph, capsys, early)["edges"][0]["target"]
    assert (now["name"], now["object"]) == ("D.S.T", "D.S.U")


def test_a_table_that_is_created_again_each_day_is_one_dataset(tmp_path: Path, capsys: Capsys) -> None:
    rows: list[Any] = []
    for day in (2, 3, 4):
        daily = thing(100 + day, "T")
        write = filled(f"q{day}", day, daily, A, C=[(A, "C")])
        write["object_modified_by_ddl"] = {**daily, "operationType": "CREATE", "properties": {}}
        rows.append(write)
    rows.append(row("q9", 9, [B]))
    declared = said(
        manifest({"t": model("t", "source.p.s.a", "source.p.s.b")}, ("a", "b"), generated_at="2026-03-03T09:00:00Z"),
        tmp_path / "m.json",
    )
    found = compared(made(rows, tmp_path), capsys, declared)
    assert classes(found) == {("A", "T"): "verified", ("B", "T"): "phantom"}
    assert next(one for one in found["edges"] if one["class"] == "verified")["queries"] == 3


@pytest.mark.parametrize("reads", ["full", "daily"])
@pytest.mark.parametrize("after", ["drop", "nothing", "use", "rename and drop"])
def test_a_table_that_is_built_beside_and_takes_the_name_is_one_dataset(
    after: str, reads: str, tmp_path: Path, capsys: Capsys
) -> None:
    """X is filled from the former T, which becomes U. If U is in use from then on, it is a dataset of its own."""
    old, old_aside, new, new_aside = thing(100, "T"), thing(100, "U", "C"), thing(101, "T"), thing(101, "U")
    build = filled("q3", 3, new_aside, A, C=[(A, "C")])
    build["object_modified_by_ddl"] = {**new_aside, "operationType": "CREATE", "properties": {}}
    moved = [ddl("q4", 4, old, "ALTER", **swap(101, "U")), ddl("q4", 4, new_aside, "ALTER", **swap(100, "T"))]
    if after == "rename and drop":
        renamed = ((4, old, "OLD"), (5, new_aside, "T"))
        moved = [ddl(f"q{day}", day, one, "ALTER", objectName={"value": f"D.S.{name}"}) for day, one, name in renamed]
    ends = {
        "nothing": [],
        "use": [row("q6", 6, [old_aside]), ddl("q7", 7, old_aside, "DROP")],
        "drop": [ddl("q7", 7, old_aside, "DROP")],
        "rename and drop": [ddl("q7", 7, thing(100, "OLD"), "DROP")],
    }
    first = [filled("q1", 1, old, A, C=[(A, "C")]), filled("q2", 2, X, old, C=[(old, "C")])]
    rows = [*first, build, *moved, *ends[after], row("q9", 9, [new])]
    graph = made(rows, tmp_path, "--reads", reads)
    models = {"t": model("t", "source.p.s.a"), "x": model("x", "model.p.t")}
    declared = said(manifest(models, ("a",), generated_at="2026-03-09T09:00:00Z"), tmp_path / "m.json")
    edges = compared(graph, capsys, declared)["edges"]
    found = {
        (one["source"]["iri"][-3:], one["source"]["name"], one["class"])
        for one in edges
        if one["target"]["name"] == "D.S.X"
    }
    assert found == (
        {("100", "D.S.T", "undeclared"), ("101", "D.S.T", "phantom")}
        if after == "use"
        else {("101", "D.S.T", "verified")}
    )
    alone = said(manifest({"x": model("x")}), tmp_path / "x.json")
    told = compared(graph, capsys, alone)["edges"]
    assert [one["source"]["name"] for one in told] == ["D.S.T"], "its name when X was filled from it"


@pytest.mark.parametrize("start", ["made", "there before", "built beside"])
@pytest.mark.parametrize("way", ["swap", "swap from the other side", "rename", "swap and replace"])
def test_tables_that_took_the_name_one_after_the_other(
    way: str,
    start: str,
    tmp_path: Path,
    capsys: Capsys,
) -> None:
    """Each night a table is built beside T and takes its name, and the former one is dropped; nobody reads T."""

    def filled_and_made(day: int, number: int, name: str, source: Any) -> Any:
        change = {**thing(number, name), "operationType": "CREATE", "properties": {}}
        write = filled(f"q{day}", day, thing(number, name), source, C=[(source, "C")])
        return {**write, "object_modified_by_ddl": change} if day > 1 or start != "there before" else write

    def takes_the_name(day: int, old: int, new: int) -> list[Any]:
        if way == "rename":
            return [
                ddl(f"r{day}", day, thing(old - 1, "ASIDE"), "DROP"),
                ddl(f"s{day}", day + 1, thing(old, "T"), "ALTER", objectName={"value": "D.S.ASIDE"}),
                ddl(f"t{day}", day + 2, thing(new, "NEW"), "ALTER", objectName={"value": "D.S.T"}),
            ]
        sides = [(thing(old, "T"), swap(new, "NEW")), (thing(new, "NEW"), swap(old, "T"))]
        sides = sides[::-1] if way == "swap from the other side" else sides
        swapped = [ddl(f"s{day}", day, one, "ALTER", **properties) for one, properties in sides]
        return [*swapped, ddl(f"t{day}", day + 1, thing(old, "NEW"), "DROP")]

    renamed = ddl("q2", 2, thing(101, "NEW"), "ALTER", objectName={"value": "D.S.T"})
    rows = [
        filled_and_made(1, 101, "NEW" if start == "built beside" else "T", B),
        *([renamed] if start == "built beside" else []),
        filled_and_made(5, 102, "NEW", A),
        *takes_the_name(6, 101, 102),
        filled_and_made(15, 103, "T" if way == "swap and replace" else "NEW", A),
        *([] if way == "swap and replace" else takes_the_name(16, 102, 103)),
        *([ddl("q19", 19, thing(102, "ASIDE"), "DROP")] if way == "rename" else []),
    ]
    graph = made(rows, tmp_path)
    both = said(event([dataset("d.s.a"), dataset("d.s.b")], [dataset("d.s.t")], day=20), tmp_path / "both.json")
    found = compared(graph, capsys, both)
    assert classes(found) == {("A", "T"): "verified", ("B", "T"): "verified"}
    assert [one["queries"] for one in found["edges"]] == [2, 1]
    one_only = said(event([dataset("d.s.a")], [dataset("d.s.t")], day=2), tmp_path / "one.json")
    at_that_time = "NEW" if start == "built beside" else "T"
    assert classes(compared(graph, capsys, one_only)) == {("A", "T"): "verified", ("B", at_that_time): "undeclared"}


def test_a_table_of_which_archives_are_rotated(tmp_path: Path, capsys: Capsys) -> None:
    """Each day T becomes OLD, the former OLD becomes OLDER and is dropped, and T is made anew; nobody reads them."""

    def renamed(day: int, number: int, name: str, other: str) -> Any:
        return ddl(f"r{number}{other}", day, thing(number, name), "ALTER", objectName={"value": f"D.S.{other}"})

    rows: list[Any] = []
    for day, number in ((2, 101), (6, 102), (10, 103)):
        write = filled(f"q{day}", day, thing(number, "T"), A, C=[(A, "C")])
        change = {**thing(number, "T"), "operationType": "CREATE", "properties": {}}
        archived = [renamed(day - 2, number - 2, "OLD", "OLDER")] if number == 103 else []
        archived += [renamed(day - 1, number - 1, "T", "OLD")] if number > 101 else []
        rows += [*archived, {**write, "object_modified_by_ddl": change}]
    rows.append(ddl("q20", 20, thing(101, "OLDER"), "DROP"))
    declared = said(event([dataset("d.s.a")], [dataset("d.s.t")], day=15), tmp_path / "e.json")
    found = compared(made(rows, tmp_path), capsys, declared)
    assert found["edges"][0]["target"]["name"] == "D.S.T"
    assert "D.S.OLD" not in {one["target"]["object"] for one in found["edges"]}
    assert classes(found) == {("A", "T"): "verified"}


Q: Final = thing(15, "") | {"objectName": "D.Q.T"}
SCHEMAS: Final[list[Any]] = [
    {"objectDomain": "Schema", "objectId": 800 + n, "objectName": f"D.{one}"} for n, one in enumerate("SQ")
]
SWAPPED: Final = [
    ddl("q3", 4, one, "ALTER", **swap(other["objectId"], other["objectName"].removeprefix("D."), "Schema"))
    for one, other in (SCHEMAS, SCHEMAS[::-1])
]
RENAMED: Final = [
    ddl("q2a", 3, SCHEMAS[0], "ALTER", objectName={"value": "D.OLD"}),
    ddl("q3", 4, SCHEMAS[1], "ALTER", objectName={"value": "D.S"}),
]
A2, B2 = (
    {**one, "objectId": 90 + n, "objectName": f"D.RAW.{name}"} for n, (one, name) in enumerate(((A, "A"), (B, "B")))
)


@pytest.mark.parametrize("out", ["json", "contract"])
@pytest.mark.parametrize("moved", [SWAPPED, RENAMED], ids=["swap", "rename"])
def test_a_schema_that_took_the_name_of_another(moved: list[Any], out: str, tmp_path: Path, capsys: Capsys) -> None:
    """A fills S.T, and B fills Q.T, which is S.T from the 4th on. No row says so until one names it."""
    rows = [filled("q1", 2, T, A2, C=[(A2, "C")]), filled("q2", 3, Q, B2, C=[(B2, "C")]), *moved, row("q5", 9, [X])]
    graph = made(rows, tmp_path)
    if out == "contract":
        given = tmp_path / "c.yaml"
        given.write_text(
            "{kind: DataContract, apiVersion: v3.1.0, id: t,\n"
            "servers: [{server: p, type: snowflake, account: acme-prod}],\n"
            "schema: [{name: D.S.T, properties: [{name: C, transformSourceObjects: [D.RAW.B.C]}]}]}\n"
        )
        found = compared(graph, capsys, given)
        assert classes(found) == {("D.RAW.B:C", "T:C"): "unknown moved"}
        return
    late, early = (
        said(event([dataset(f"d.raw.{one}") for one in "ab"], [dataset("d.s.t")], day=day), tmp_path / f"{day}.json")
        for day in (5, 2)
    )
    found = compared(graph, capsys, late)
    assert classes(found) == {("D.RAW.A", "T"): "unknown moved", ("D.RAW.B", "T"): "unknown moved"}
    assert "(query q3, 2026-03-04T08:00:00Z): rows do not say which" in found["edges"][0]["why"]
    assert classes(compared(graph, capsys, early)) == {("D.RAW.A", "T"): "verified", ("D.RAW.B", "T"): "phantom"}
    only_b = said(event([dataset("d.raw.b")], [dataset("d.s.t")], day=5), tmp_path / "b.json")
    found = compared(graph, capsys, only_b)
    assert classes(found) == {("D.RAW.B", "T"): "unknown moved"}, "A is not undeclared"
    assert any(one.startswith("Rows show 1 edge more") for one in found["notes"])
    later = tmp_path / "later"
    later.mkdir()
    now = [{**Q, "objectName": "D.S.T"}, {**T, "objectName": "D.Q.T" if moved is SWAPPED else "D.OLD.T"}]
    known = made([*rows[:-1], row("q5", 5, now), row("q6", 9, [X])], later)
    at_6 = said(event([dataset("d.raw.a"), dataset("d.raw.b")], [dataset("d.s.t")], day=6), tmp_path / "6.json")
    assert classes(compared(known, capsys, at_6)) == {("D.RAW.A", "T"): "phantom", ("D.RAW.B", "T"): "verified"}


def test_a_rename_that_gives_no_id(tmp_path: Path, capsys: Capsys) -> None:
    """A filled U while it was T; the row of the RENAME does not say which object it was."""
    t, u = ({"objectDomain": "Table", "objectName": f"D.S.{name}"} for name in "TU")
    rows = [
        filled("q1", 2, t, A, C=[(A, "C")]),
        ddl("q2", 3, t, "ALTER", objectName={"value": "D.S.U"}),
        filled("q3", 4, u, B, C=[(B, "C")]),
    ]
    declared = said(event([dataset("d.s.a"), dataset("d.s.b")], [dataset("d.s.u")], day=4), tmp_path / "e.json")
    found = compared(made(rows, tmp_path), capsys, declared)
    assert classes(found) == {("A", "U"): "unknown moved", ("B", "U"): "verified"}
    assert "D.S.T was renamed to D.S.U (query q2, 2026-03-03T08:00:00Z)" in found["edges"][0]["why"]


def test_what_only_joined_in_a_helper_is_no_phantom(tmp_path: Path, capsys: Capsys) -> None:
    """T__DBT_TMP is filled from A, joined with F by its key, and T from T__DBT_TMP."""
    helper = thing(70, "T__DBT_TMP")
    rows = [
        row("q1", 2, [thing(10, "A", "C"), FILTER], objects_modified=[written(helper, {"C": [(A, "C")]}, base=True)]),
        filled("q2", 3, T, helper, C=[(helper, "C")]),
    ]
    lineage = column_lineage({"c": [("d.s.a", "c", "DIRECT"), ("d.s.f", "key", "INDIRECT")]}, ("d.s.f", "gone"))
    outputs = [dataset("d.s.t", **lineage)]
    declared = said(event([dataset("d.s.a"), dataset("d.s.f")], outputs, day=3), tmp_path / "e.json")
    found = classes(compared(made(rows, tmp_path), capsys, declared))
    assert found == {
        ("A:C", "T:C"): "verified", ("F:KEY", "T"): "unknown no-columns", ("F:GONE", "T"): "unknown no-columns",
    }  # fmt: skip


def test_a_target_whose_rows_were_cut_may_have_other_sources(tmp_path: Path, capsys: Capsys) -> None:
    cut = [{"objectDomain": "TRUNCATED", "objectId": -1, "objectName": "TRUNCATED"}]
    rows = [filled("q1", 2, T, A, C=[(A, "C")]), filled("q2", 3, U, B, C=[(B, "C")])]
    rows.append(row("q3", 4, cut, cut, objects_modified=[{**T, "columns": "TRUNCATED"}]))
    nodes = {"t": model("t", "source.p.s.a"), "u": model("u", "source.p.s.b")}
    declared = said(manifest(nodes, ("a", "b")), tmp_path / "m.json")
    found = compared(made(rows, tmp_path), capsys, declared)
    assert classes(found) == {("A", "T"): "verified", ("B", "U"): "verified"}
    said_of_cut = "Rows do not say everything that D.S.T was filled from: edges that no declaration has may be missing."
    assert said_of_cut in found["notes"]


# --- the events of a run ----------------------------------------------------------------------------------------------


def test_events_of_a_run_belong_together_and_failed_runs_declare_nothing(tmp_path: Path, capsys: Capsys) -> None:
    rows = [filled("q1", 2, T, A, C=[(A, "C")]), row("q2", 20, [B])]
    ours = "https://w3id.org/access-history/exporter/0.1.0"
    events = [
        event([dataset("d.s.a")], [], kind="START", run="r1"),
        event([dataset("d.s.b")], [dataset("d.s.t")], kind="START", run="r2"),
        event([], [dataset("d.s.t")], run="r1"),
        event([], [], kind="FAIL", run="r2"),
        event([dataset("d.s.b")], [dataset("d.s.t")], run="r3", producer=ours),
    ]
    found = compared(made(rows, tmp_path), capsys, said(events, tmp_path / "e.json"))
    assert classes(found) == {("A", "T"): "verified"}
    left = "e.json: left out: 1 run that ended in FAIL or ABORT, 1 event that exporter made from rows itself."
    assert left in found["notes"]


@pytest.mark.parametrize("reverses", [False, True])
@pytest.mark.parametrize("splits", [False, True])
def test_events_of_a_run_belong_together_in_any_order_and_in_several_files(
    tmp_path: Path, capsys: Capsys, *, reverses: bool, splits: bool
) -> None:
    rows = [filled("q1", 2, T, A, C=[(A, "C")]), row("q2", 20, [B])]
    events = [
        event([dataset("d.s.a")], [], kind="START", run="r1"),
        event([dataset("d.s.b")], [dataset("d.s.t")], kind="START", run="r2"),
        event([], [dataset("d.s.t")], run="r1"),
        event([], [], kind="FAIL", run="r2"),
    ]
    told = events[::-1] if reverses else events
    files = [told[:2], told[2:]] if splits else [told]
    declared = [said(given, tmp_path / f"e{number}.json") for number, given in enumerate(files)]
    found = compared(made(rows, tmp_path), capsys, *declared)
    assert classes(found) == {("A", "T"): "verified"}


def test_a_path_of_a_table_that_has_a_name_in_snowflake(tmp_path: Path, capsys: Capsys) -> None:
    rows = [filled("q1", 2, T, A, C=[(A, "C")])]
    links = {"symlinks": {"identifiers": [{"namespace": HERE, "name": "d.s.a", "type": "TABLE"}]}}
    declared = said(event([dataset("lake/a", "s3://b", **links)], [dataset("d.s.t")], day=2), tmp_path / "e.json")
    assert classes(compared(made(rows, tmp_path), capsys, declared)) == {("A", "T"): "verified"}


# --- every edge has one class -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(12))
def test_every_declared_and_every_seen_edge_has_one_class(seed: int, tmp_path: Path, capsys: Capsys) -> None:
    """Random statements over a few tables, of which random edges are declared. Expected from the rows alone."""
    rng, names = Random(seed), "ABCDE"
    things = {name: thing(10 + number, name) for number, name in enumerate(names)}
    rows, seen = [], set[tuple[str, str]]()
    for number in range(12):
        target, *sources = rng.sample(names, rng.randint(2, 4))
        first = things[sources[0]]
        rows.append(
            filled(f"q{number}", 1 + number, things[target], *(things[one] for one in sources), C=[(first, "C")])
        )
        seen |= {(source, target) for source in sources}
    pairs = [(source, target) for source in names for target in names if source != target]
    declared = set(rng.sample(pairs, 7))
    nodes = {
        target: model(target, *(f"model.p.{source}" for source in names if (source, target) in declared))
        for target in names
    }
    found = classes(compared(made(rows, tmp_path), capsys, said(manifest(nodes), tmp_path / "m.json")))
    assert found.keys() == declared | seen
    filled_ones = {target for _, target in seen}
    for edge in declared | seen:
        known = {(True, True): "verified", (False, True): "undeclared", (True, False): "phantom"}
        wanted = known[edge in declared, edge in seen]
        if wanted == "phantom" and edge[1] not in filled_ones:
            wanted = "unknown not-filled"
        assert found[edge] in (wanted, "unknown no-row" if wanted.startswith(("phantom", "unknown")) else wanted), edge
