"""Lineage of columns in whole exports: the data of a column when it was read, not data from before or after.

Each history is a separate account of one export; its queries are a minute apart.
"""

from __future__ import annotations

import re
from typing import Any, Final

import pytest
from pyoxigraph import Literal, NamedNode, Store

from exporter.ask.questions import ask, find
from tests.ask import stories

Json = dict[str, Any]
IDS: Final = {name: number for number, name in enumerate(("S", "A", "B", "D"), start=1)}
PREFIXES: Final = """PREFIX ah: <https://w3id.org/access-history#>
PREFIX dcterms: <http://purl.org/dc/terms/>
PREFIX prov: <http://www.w3.org/ns/prov#>
"""


def table(name: str, domain: str = "Table") -> Json:
    return {"objectDomain": domain, "objectId": IDS[name], "objectName": name}


def copied(source: str, target: str) -> Json:
    """``A.X`` into ``B.Z``: a row that reads one column and writes another."""
    (read, from_column), (written, to_column) = source.split("."), target.split(".")
    column = {"columnName": to_column, "directSources": [{**table(read), "columnName": from_column}]}
    return {
        "direct_objects_accessed": [{**table(read), "columns": [{"columnName": from_column}]}],
        "base_objects_accessed": [{**table(read), "columns": [{"columnName": from_column}]}],
        "objects_modified": [{**table(written), "columns": [column]}],
    }


def altered(name: str, operation: str = "ALTER", domain: str = "Table", **columns: Json) -> Json:
    properties = {"columns": columns} if columns else {}
    return {"object_modified_by_ddl": {**table(name, domain), "operationType": operation, "properties": properties}}


ADD: Final = {"subOperationType": "ADD"}
DROP: Final = {"subOperationType": "DROP"}
TO_Y: Final = {"subOperationType": "ALTER", "objectName": {"value": "Y"}}
STORIES: Final[dict[str, list[Json]]] = {
    "later": [copied("S.C", "A.W"), copied("A.X", "B.Z"), copied("S.C", "A.X")],
    "beside": [copied("S.C", "A.X"), copied("D.E", "A.W"), copied("A.W", "B.V"), copied("A.X", "B.Z")],
    "itself": [copied("S.C", "A.X"), copied("A.X", "A.X"), copied("A.X", "B.Z")],
    "anew": [copied("S.C", "A.X"), altered("A", "REPLACE", X=ADD), copied("A.X", "B.Z")],
    "anew-unlisted": [copied("S.C", "A.X"), altered("A", "CREATE"), copied("A.X", "B.Z")],
    "dropped": [copied("S.C", "A.X"), altered("A", X=DROP), altered("A", X=ADD), copied("A.X", "B.Z")],
    "renamed": [copied("S.C", "A.X"), altered("A", X=TO_Y), copied("A.Y", "B.Z")],
    "gone": [copied("S.C", "A.X"), altered("A", "DROP"), copied("A.X", "B.Z")],
    "restored": [copied("S.C", "A.X"), altered("A", "DROP"), altered("A", "UNDROP"), copied("A.X", "B.Z")],
    "kinds": [
        altered("S", "CREATE", "TRANSIENT TABLE"),
        altered("A", "CREATE", "Temporary table"),
        altered("B", "CREATE", "SECURE VIEW"),
    ],
}
COPIES: Final = {
    "later": {"A.W", "A.X"},
    "beside": {"A.X", "B.Z"},
    "itself": {"A.X", "B.Z"},
    "anew": {"A.X"},
    "anew-unlisted": {"A.X"},
    "dropped": {"A.X"},
    "renamed": {"A.X", "B.Z"},
    "gone": {"A.X"},
    "restored": {"A.X", "B.Z"},
}
"""What holds data of S.C."""


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return stories.told(STORIES, tmp_path_factory.mktemp("columns"))


def asked(question: str, graph: Store, **given: str) -> set[str]:
    """The answer as ``TABLE.COLUMN``."""
    answer = ask(graph, find(question), given)
    places = [answer.columns.index(name) for name in answer.columns if name.endswith(("object_name", "column_name"))]
    return {".".join(str(row[place]) for place in places) for row in answer.rows}


@pytest.mark.parametrize("story", COPIES)
def test_a_copy_derives_from_the_version_of_the_column(story: str, whole: Store) -> None:
    found = asked("column-copies", stories.of(story, whole), object_name="S", column_name="C")
    assert found == COPIES[story]


@pytest.mark.parametrize("story", COPIES)
def test_the_root_cause_is_the_same_from_the_other_end(story: str, whole: Store) -> None:
    """S.C is above B.Z where B.Z holds its data, and nowhere else."""
    above = asked("root-cause", stories.of(story, whole), object_name="B", column_name="Z")
    assert ("S.C" in above) is ("B.Z" in COPIES[story])


def test_data_of_other_columns_is_no_root_cause(whole: Store) -> None:
    assert asked("root-cause", stories.of("beside", whole), object_name="B", column_name="Z") == {"A.X", "S.C"}


@pytest.mark.parametrize(
    ("column", "given", "is_noted"),
    [
        ("X", {}, True),
        ("X", {"until": "2026-01-01T00:02:00Z"}, False),
        ("X", {"since": "2026-01-01T00:03:00Z"}, False),
        ("W", {}, False),
    ],
)
def test_an_answer_says_if_it_reaches_back_before_a_drop_of_the_column(
    column: str, given: dict[str, str], whole: Store, *, is_noted: bool
) -> None:
    """A.X is read, dropped at minute 2, and added again; then the new one is copied."""
    params = {"object_name": "A", "column_name": column, **given}
    notes = ask(stories.of("dropped", whole), find("column-readers"), params).notes
    told = "The column X of A was dropped at 2026-01-01T00:02:00Z: what the answer has from before that is of the "
    assert any(note.startswith(told) for note in notes) is is_noted


def answers(graph: Store, where: str) -> list[tuple[str, ...]]:
    """The variables in the order in which they stand in ``where``."""
    variables = " ".join(dict.fromkeys(re.findall(r"\?\w+", where)))
    found = graph.query(f"{PREFIXES}SELECT {variables} WHERE {{ {where} }}")
    return sorted(tuple(_short(cell) for cell in row) for row in found)  # type: ignore[union-attr, union-attr]


def _short(cell: Any) -> str:
    if isinstance(cell, NamedNode):
        return cell.value.split("/", 3)[3] if cell.value.startswith("snowflake:") else cell.value.split("#")[-1]
    return cell.value if isinstance(cell, Literal) else ""


def test_a_renamed_column_is_linked_to_what_it_was(whole: Store) -> None:
    graph = stories.of("renamed", whole)
    assert answers(graph, "?now ah:renamedFrom ?before") == [("table/2/column/Y", "table/2/column/X")]
    versions = answers(graph, "?now a ah:ColumnVersion ; prov:wasDerivedFrom ?before ; prov:wasGeneratedBy ?query")
    assert ("table/2/version/q2/column/Y", "table/2/version/q1/column/X", "query/q2") in versions


def test_a_column_has_no_prior_version_where_it_was_added(whole: Store) -> None:
    """Two versions of A.X, of which neither comes after the other; what was there before the first is not on record."""
    prior = answers(stories.of("dropped", whole), "?now ah:priorColumnVersion ?before ; dcterms:isPartOf ?version")
    assert prior == [
        ("table/2/version/q1/column/X", "table/2/before/q1/column/X", "table/2/version/q1"),
        ("table/3/version/q4/column/Z", "table/3/before/q4/column/Z", "table/3/version/q4"),
    ]


def test_a_column_that_nobody_wrote_since_its_table_was_made_is_unrecorded(whole: Store) -> None:
    found = answers(
        stories.of("anew-unlisted", whole), "?version a ah:UnrecordedColumnVersion ; dcterms:isPartOf ?whole"
    )
    assert ("table/2/version/q2/column/X", "table/2/version/q2") in found


def test_a_version_holds_until_the_next(whole: Store) -> None:
    held = answers(stories.of("restored", whole), "?version prov:generatedAtTime ?from ; ah:validUntil ?until")
    assert held == [("table/2/version/q1", "2026-01-01T00:01:00Z", "2026-01-01T00:02:00Z")]


def test_kinds_of_tables_and_views_have_classes(whole: Store) -> None:
    graph = stories.of("kinds", whole)
    for kind, thing in (("TransientTable", "table/1"), ("TemporaryTable", "table/2"), ("SecureView", "view/3")):
        assert answers(graph, f"?thing a ah:{kind}") == [(thing,)]
