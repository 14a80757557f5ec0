"""Objects of other accounts in a row: an id is unique in its account alone (view, "objectId"), and so is a name.

Rows of ORGANIZATION_USAGE give ``accountName`` in the objects, and the objects of a provider of shared data in arrays
of their own (beyond_the_documents.md, "Columns that newer accounts have").
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

import pytest

from exporter.ask.questions import Graph
from tests import exports

if TYPE_CHECKING:
    from pathlib import Path

Json = dict[str, Any]
OWN: Final = {"organization_name": "ACME", "account_name": "CONS"}
COLUMN: Final = {"columnName": "X", "columnId": 900}
MINE: Final = {"objectDomain": "Table", "objectId": 77, "objectName": "D.S.MINE", "columns": [COLUMN]}
SHARED: Final = {"objectDomain": "Table", "objectId": 5, "objectName": "SH.S.T", "columns": [COLUMN]}
THEIRS: Final = {"objectDomain": "Table", "objectId": 77, "objectName": "PDB.S.T", "columns": [COLUMN]}
POLICY: Final = {"policyName": "G.P.M", "policyId": 700, "policyKind": "MASKING_POLICY"}
MASKED: Final = {**THEIRS, "columns": [{"columnName": "X", "policies": [POLICY]}]}
CREATED: Final = {
    "objectDomain": "MASKING_POLICY", "objectId": 700, "objectName": "L.P.LOCAL", "operationType": "CREATE",
    "properties": {"policyBody": {"value": "'local'"}},
}  # fmt: skip
ACCOUNTS: Final = ("PROV", None)
"""The account that the arrays of the provider name; None: none."""


def row(day: int, user: str, *things: Json, **told: Any) -> Json:
    own = {"query_id": f"q{day}", "query_start_time": f"2026-09-{day:02}T08:00:00Z", "user_name": user, **OWN}
    return {**own, "direct_objects_accessed": list(things), "base_objects_accessed": list(things), **told}


def of(account: str | None, thing: Json) -> Json:
    return thing if account is None else {**thing, "accountName": account}


def graph_of(rows: list[Json], folder: Path, *options: str) -> Path:
    assert exports.export([exports.ndjson(rows, folder / "rows.ndjson")], folder / "out", *options) == 0
    return folder / "out"


def turtle(out: Path) -> str:
    return "".join(path.read_text("utf-8") for path in (out / "graph").rglob("*.ttl"))


def rows_of(account: str | None, *, in_own_arrays: bool = False) -> list[Json]:
    arrays = {"base_objects_accessed": [SHARED, of(account, THEIRS)], "policies_referenced": [of(account, MASKED)]}
    others = {
        "provider_base_objects_accessed": [of(account, THEIRS)],
        "provider_policies_referenced": [of(account, MASKED)],
    }
    return [
        row(1, "O", object_modified_by_ddl=CREATED),
        row(2, "U", MINE),
        row(3, "CU", SHARED, **(arrays if in_own_arrays else others)),
        row(4, "U2", MINE),
    ]


CASES: Final = [*((account, False) for account in ACCOUNTS), ("PROV", True)]


@pytest.mark.parametrize("reads", ["full", "daily"])
@pytest.mark.parametrize(("account", "in_own_arrays"), CASES)
def test_what_another_account_has_under_an_id_is_another_object(
    account: str | None,
    in_own_arrays: bool,  # noqa: FBT001 - a parameter of a test
    reads: str,
    tmp_path: Path,
) -> None:
    out = graph_of(rows_of(account, in_own_arrays=in_own_arrays), tmp_path, "--reads", reads)
    with Graph(out) as graph:

        def told(question: str, **given: str) -> set[tuple[str | None, ...]]:
            return {tuple(one) for one in graph.ask(question, **given).rows}

        assert told("who-accessed", object_name="D.S.MINE") == {("U",), ("U2",)}
        assert told("who-accessed", object_name="PDB.S.T") == {("CU",)}
        assert {one[1] for one in told("former-names", object_name="D.S.MINE")} == {"D.S.MINE"}
        assert told("unmasked-reads", object_name="D.S.MINE") == set()
        notes = graph.ask("who-accessed", object_id="77", domain="Table").notes
        assert "77 is an id in 2 accounts: the answer has the objects with this id in each." in notes
        unused = told("unused-objects", since="2026-09-03T12:00:00Z")
        assert {one[0] for one in unused}.isdisjoint({"PDB.S.T", "D.S.MINE"}), "only its own account can drop it"
    texts = turtle(out)
    owner = account or "provider"
    assert f"table/77@{owner}>" in texts
    assert ("masking-policy/700@" in texts) is not in_own_arrays


def test_a_body_is_that_of_the_accounts_own_policy(tmp_path: Path) -> None:
    with Graph(graph_of(rows_of("PROV"), tmp_path)) as graph:
        assert [row[-1] for row in graph.ask("enforced-policy", query_id="q3").rows] == [None]


def test_a_name_of_another_account_ends_no_name_of_this_one(tmp_path: Path) -> None:
    """A DROP of the schema ends this account's table, and not the provider's of the same name."""
    named = {**MINE, "objectName": "PDB.S.T", "objectId": 8}
    dropped = {
        "objectDomain": "Schema",
        "objectId": 3,
        "objectName": "PDB.S",
        "operationType": "DROP",
        "properties": {},
    }
    provider = {"provider_base_objects_accessed": [of("PROV", THEIRS)]}
    told = [row(1, "U", named), row(2, "CU", SHARED, **provider), row(3, "O", object_modified_by_ddl=dropped)]
    with Graph(graph_of([*told, row(4, "CU", SHARED, **provider)], tmp_path)) as graph:
        found = {tuple(row) for row in graph.ask("former-names", object_name="PDB.S.T").rows}
        users = {row[0] for row in graph.ask("who-accessed", object_name="PDB.S.T").rows}
    assert found == {
        ("8", "PDB.S.T", "2026-09-01T08:00:00Z", "2026-09-03T08:00:00Z"),
        ("77", "PDB.S.T", "2026-09-02T08:00:00Z", None),
    }
    assert users == {"U", "CU"}


def test_objects_with_the_account_of_the_row_are_its_own(tmp_path: Path) -> None:
    """Also if the row says so of each of them."""
    rows = [row(2, "U", of("CONS", MINE)), row(3, "U", of("cons", MINE)), row(4, "U", MINE)]
    assert "@" not in "".join(line for line in turtle(graph_of(rows, tmp_path)).split("\n") if line[:1] == "<")


def test_an_account_in_any_letter_case_is_one(tmp_path: Path) -> None:
    """Also this one, in the arrays of a provider."""
    arrays = ("provider_base_objects_accessed", "provider_policies_referenced")
    rows = [
        row(day, "CU", SHARED, **{name: [of(account, MASKED)] for name in arrays})
        for day, account in enumerate(("PROV", "prov", "cons"), 1)
    ]
    texts = turtle(graph_of(rows, tmp_path))
    assert "table/77@PROV>" in texts
    assert "@prov" not in texts
    assert "@CONS" not in texts.upper().replace("@PREFIX", "")
    assert "masking-policy/700>" in texts


def test_a_source_without_an_account_is_what_the_row_reads_under_its_name(tmp_path: Path) -> None:
    source = {"objectDomain": "Table", "objectId": 77, "objectName": "PDB.S.T", "columnName": "X"}
    filled = {"columnName": "Y", "directSources": [source], "baseSources": [source]}
    written = {"objectDomain": "Table", "objectId": 9, "objectName": "D.S.NEW", "columns": [filled]}
    rows = [row(1, "U", MINE), row(2, "U", of("PROV", THEIRS), objects_modified=[written])]
    out = graph_of(rows, tmp_path)
    with Graph(out) as graph:
        assert [one[0] for one in graph.ask("root-cause", object_name="D.S.NEW", column_name="Y").rows] == ["PDB.S.T"]
        assert graph.ask("column-copies", object_name="D.S.MINE", column_name="X").rows == []
    events = [json.loads(text) for text in exports.events(out)]
    fields = [
        one["facets"]["columnLineage"]["fields"]
        for event in events
        for one in event.get("outputs", ())
        if "columnLineage" in one.get("facets", {})
    ]
    assert {(one["namespace"], one["name"]) for each in fields for one in each["Y"]["inputFields"]} == {
        ("snowflake://ACME-PROV", "PDB.S.T")
    }


@pytest.mark.parametrize(
    ("account", "table"), [("CONS", "table/77/"), ("prov", "table/77@PROV/"), (None, "table/77/")], ids=str
)
def test_a_source_is_of_the_account_that_it_says(account: str | None, table: str, tmp_path: Path) -> None:
    """The row reads a table of each account under one id and name. A source without an account is then its own."""
    source = {"objectDomain": "Table", "objectId": 77, "objectName": "PDB.S.T", "columnName": "X"}
    source = source if account is None else of(account, source)
    filled = {"columnName": "Y", "directSources": [source], "baseSources": [source]}
    written = {"objectDomain": "Table", "objectId": 9, "objectName": "D.S.NEW", "columns": [filled]}
    both = [of("CONS", THEIRS), of("PROV", THEIRS)]
    texts = turtle(graph_of([row(1, "U", *both, objects_modified=[written])], tmp_path))
    assert set(re.findall(r"ah:sourceColumn <\S*?(table/.*?)column", texts)) == {table}


def test_an_account_that_rows_only_name_is_none_of_the_graph(tmp_path: Path) -> None:
    """A share is opened to it, and it owns a table."""
    opened = {
        "objectDomain": "Share",
        "objectName": "SH",
        "operationType": "ALTER",
        "properties": {"accountsToAdd": {"value": ["ACME.PROV"]}},
    }
    rows = [row(1, "U", object_modified_by_ddl=opened), row(2, "U", of("PROV", THEIRS)), row(3, "U", MINE)]
    with Graph(graph_of(rows, tmp_path)) as graph:
        assert not any("rows of 2 accounts" in note for note in graph.ask("user-history").notes)
