"""Reads and policies in whichever array of a row they are, what wrote nothing, and the order of names.

Each case is a separate account of one export; query ``qN`` starts at minute N.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest

from exporter.ask.lookups import Lookups
from exporter.ask.questions import ask, find
from exporter.serve.site import PAGE_QUESTIONS
from tests.ask import stories
from tests.ask.test_names import asked, changed, copied, read, renamed, thing, told

if TYPE_CHECKING:
    from pyoxigraph import Store

Json = dict[str, Any]
SOURCE, A = thing("SOURCE", 1), thing("A", 3)
VIEW: Final[Json] = {"objectDomain": "View", "objectName": "SHDB.S.V", "columns": [{"columnName": "C"}]}
PROVIDED: Final[Json] = {
    "objectDomain": "Table", "objectName": "P.S.T", "accountName": "PROVACC", "columns": [{"columnName": "C"}],
}  # fmt: skip


def _policy(name: str, kind: str) -> Json:
    return {"policyName": name, "policyKind": kind}


def _around(kind: str, name: str, operation: str) -> Json:
    """A statement on a schema or database, by another user than who writes tables."""
    changed = {"objectDomain": kind, "objectName": name, "objectId": 50, "operationType": operation, "properties": {}}
    return {"user_name": "OPS", "object_modified_by_ddl": changed}


def _by_id(number: int) -> Json:
    return {"objectDomain": "Table", "objectId": number, "columns": [{"columnName": "C"}]}


def _enforced(table: Json, policy: Json) -> Json:
    """A read of column C under a policy, of the column or of the table."""
    of_table = policy["policyKind"] == "ROW_ACCESS_POLICY"
    parts = {"policies": [policy]} if of_table else {"columns": [{"columnName": "C", "policies": [policy]}]}
    return {**read(table), "policies_referenced": [{**table, **parts}]}


def _only_direct(*things: Json) -> Json:
    return {"user_name": "ANA", "direct_objects_accessed": list(things)}


STORIES: Final[dict[str, list[Json]]] = {
    "provider": [
        {
            "user_name": "ANA",
            "direct_objects_accessed": [{**VIEW, "objectId": 300}],
            "base_objects_accessed": [VIEW],
            "provider_base_objects_accessed": [PROVIDED],
            "objects_modified": [thing("OUT", 9)],
            "provider_policies_referenced": [
                {
                    **PROVIDED,
                    "columns": [{"columnName": "C", "policies": [_policy("P.S.MASK", "MASKING_POLICY")]}],
                    "policies": [_policy("P.S.ROWS", "ROW_ACCESS_POLICY")],
                }
            ],
        }
    ],
    # BEN's row has the table in both arrays, ANA's in one: also of a column (view, note on CASE)
    "direct": [read(A, "BEN"), _only_direct(thing("A", 3, columns=("C", "D"))), _only_direct(thing("B", 4))],
    **{
        f"{kind.lower()}-restored": [
            copied(SOURCE, A), _around(kind, name, "DROP"), _around(kind, name, "UNDROP"), read(A, "BEN"),
        ]
        for kind, name in (("Schema", "D.S"), ("Database", "D"))
    },
    # policies by their ids alone, of which 902 has its name in another row; and one of which nothing is given
    "policy-ids": [
        copied(A, thing("B", 4)),
        _enforced(A, {"policyKind": "MASKING_POLICY", "policyId": 900}),
        _enforced(A, {"policyKind": "MASKING_POLICY", "policyId": 902}),
        _enforced(A, {"policyKind": "ROW_ACCESS_POLICY", "policyId": 901}),
        changed({"objectDomain": "MASKING POLICY", "objectId": 902, "objectName": "D.S.NAMED"}),
        read(thing("B", 4)),
    ],
    # rows that give only the ids of A, which has its name in another row, and of 55 and 56, which have none
    "ids": [
        read(A),
        {**copied(_by_id(55), _by_id(56)), "user_name": "ETL"},
        {**read(_by_id(3), "BEN"), "parent_query_id": "q1", "root_query_id": "q1"},
        read(_by_id(56), "CLEO"),
    ],
    # the table has its first name only in the row that takes it away
    "renamed-at-once": [renamed(A, "B")],
}  # fmt: skip


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return stories.told(STORIES, tmp_path_factory.mktemp("any-array"))


def test_what_a_provider_shares_is_read(whole: Store) -> None:
    """docs/input.md: the provider's arrays are read as reads and policies of the provider."""
    graph = stories.of("provider", whole)
    assert told("who-accessed", graph, object_name="P.S.T") == {"ANA"}
    assert [row[0] for row in asked("when-accessed", graph, object_name="P.S.T").rows] == ["q1"]
    assert told("columns-accessed", graph, object_name="P.S.T") == {"C"}
    assert [row[3:] for row in asked("user-history", graph).rows] == [("SHDB.S.V", "P.S.T, SHDB.S.V")]
    assert told("end-up", graph, object_name="P.S.T") == {"D.S.OUT", "SHDB.S.V"}, "the view that is read shows it"
    movement = asked("sensitive-data-movement", graph, object_name="P.S.T")
    assert not movement.rows
    assert "end-up has where its data went" in " ".join(movement.notes), "it follows base objects alone"
    assert told("masking-policies", graph) == {"P.S.MASK"}
    assert told("row-access-policies", graph) == {"P.S.ROWS"}


def test_what_a_row_gives_by_its_id_alone_was_read(whole: Store) -> None:
    """By the name that other rows give, and by its id if none does."""
    graph = stories.of("ids", whole)
    rows = {row[1]: row[3:] for row in asked("user-history", graph).rows}
    assert rows == {"q1": ("D.S.A",) * 2, "q2": ("55",) * 2, "q3": ("D.S.A",) * 2, "q4": ("56",) * 2}
    assert {row[0]: row[3] for row in asked("ancestors", graph).rows}["q3"] == "D.S.A"
    assert [row[2] for row in asked("statements-of-request", graph, query_id="q1").rows] == ["D.S.A"]
    users = [row[:2] for row in asked("downstream-users", graph, object_id="55", domain="Table").rows]
    assert users == [("CLEO", "56"), ("ETL", "55")]


def test_a_policy_without_a_name_is_shown_by_its_id(whole: Store) -> None:
    """View, "policies_referenced": each policy has policyName and policyId; a row may lack the one."""
    graph = stories.of("policy-ids", whole)
    assert told("masking-policies", graph) == {"900", "D.S.NAMED"}
    assert told("row-access-policies", graph) == {"901"}
    assert {row[4] for row in asked("policy-access", graph).rows} == {"900", "D.S.NAMED", "901"}
    assert {row[2] for row in asked("unmasked-copies", graph).rows} == {"900", "D.S.NAMED"}
    page = ask(graph, find(str(PAGE_QUESTIONS / "page-query-policies.rq")), {"query_id": "q2"}).rows
    assert [row[0] for row in page] == ["900"]


@pytest.mark.parametrize(("name", "readers"), [("D.S.A", {"ANA", "BEN"}), ("D.S.B", {"ANA"})])
def test_a_table_that_a_row_only_names_is_read(name: str, readers: set[str], whole: Store) -> None:
    graph = stories.of("direct", whole)
    assert told("who-accessed", graph, object_name=name) == readers
    assert told("column-readers", graph, object_name=name, column_name="C") == readers
    assert len(asked("when-accessed", graph, object_name=name).rows) == len(readers), "a query counts once"
    assert told("columns-accessed", graph, object_name=name) == ({"C", "D"} if len(readers) == 2 else {"C"})


@pytest.mark.parametrize("story", ["schema-restored", "database-restored"])
def test_an_undrop_of_what_a_table_is_in_writes_nothing(story: str, whole: Store) -> None:
    graph = stories.of(story, whole)
    assert [row[:2] for row in asked("writers", graph, object_name="D.S.A").rows] == [("ETL", "q1")]
    (table,) = Lookups(graph).of_id("3")
    page = ask(graph, find(str(PAGE_QUESTIONS / "page-writes.rq")), {"object": table.iri}).rows
    assert [row[:2] for row in page] == [("ETL", "1")]
    page = ask(graph, find(str(PAGE_QUESTIONS / "page-query-writes.rq")), {"query_id": "q3"}).rows
    assert page == [], "the page of the UNDROP"


def test_the_present_name_is_last(whole: Store) -> None:
    """The former name and the present one begin with the same row."""
    rows = asked("former-names", stories.of("renamed-at-once", whole), object_id="3").rows
    assert [(row[1], row[3] is None) for row in rows] == [("D.S.A", False), ("D.S.B", True)]
