"""CLONE of a schema or database: its tables come from those of the source of the same name, marked as inferred.

The expectations are read from the rows: a table that is first named after the CLONE, under a name in the clone, and
that its row does not create, came from the table that had that name in the source when the CLONE started.
"""

from __future__ import annotations

import re
from itertools import chain
from random import Random
from typing import TYPE_CHECKING, Any, Final

import pytest
from pyoxigraph import Literal, NamedNode, Store

from exporter.ask import movement
from exporter.ask.lookups import Lookups
from exporter.ask.questions import ask, find
from exporter.graph.store import load
from tests import exports
from tests.ask.stories import days, exported, exported_once, flat
from tests.ask.stories import told as told_by
from tests.ask.test_names import SET_MASK, changed, copied, read, renamed
from tests.ask.test_names import swapped as swap_of_tables
from tests.ask.updated_stories import GRAPH, assert_updates_give_the_same
from tests.engines.test_updates import UPDATE, triples

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path


Json = dict[str, Any]
_ENDS: Final = """
PREFIX ah: <https://w3id.org/access-history#>
PREFIX prov: <http://www.w3.org/ns/prov#>
SELECT ?made ?gone (MIN(?time) AS ?following) ?until WHERE {
  ?made ah:inferredFrom ?change ; prov:wasGeneratedBy ?query ; prov:specializationOf ?table .
  ?found ah:inferredFrom ?change ; prov:wasDerivedFrom ?made ; prov:specializationOf ?table .
  OPTIONAL { ?found prov:invalidatedAtTime ?gone }
  OPTIONAL { ?other prov:specializationOf ?table ; prov:generatedAtTime ?time FILTER(?other != ?made) }
  OPTIONAL { ?made ah:validUntil ?until }
} GROUP BY ?made ?gone ?until
"""
"""What a CLONE brought: when the state in which it was found was dropped, and when it was changed; and until when it
is said to be in force.
"""
_FOUND: Final = """
PREFIX ah: <https://w3id.org/access-history#>
PREFIX prov: <http://www.w3.org/ns/prov#>
SELECT ?made ?copied WHERE { ?made ah:inferredFrom ?change ; prov:wasGeneratedBy ?query ; prov:wasDerivedFrom ?copied }
"""


def table(name: str, number: int | None, columns: tuple[str, ...] = ("C",), domain: str = "Table") -> Json:
    found: Json = {"objectDomain": domain, "objectName": name, "columns": [{"columnName": one} for one in columns]}
    return found if number is None else {**found, "objectId": number}


def place(name: str, number: int) -> Json:
    return {"objectDomain": "Schema" if "." in name else "Database", "objectName": name, "objectId": number}


def cloned(source: str, target: str, number: int, operation: str = "CREATE", *, is_read: bool = False) -> Json:
    """The source is among the properties of the change, or among what the query read."""
    made = place(target, number)
    if is_read:
        return {**read(place(source, 1000 + len(source) * 8 + ord(source[-1]) % 8)), **changed(made, operation)}
    return changed(
        made, operation, cloneSourceName={"value": source}, cloneSourceDomain={"value": made["objectDomain"]}
    )


SOURCE, OTHER, A, X = table("D.S.SOURCE", 1), table("D.S.OTHER", 2), table("D.S.A", 3), table("D2.S.A", 53)
FILL, CLONE = copied(SOURCE, A), cloned("D.S", "D2.S", 71)
X2 = table("D2.S.A", 54)
TRUNCATED: Final[Json] = {"objects_modified": [X], "line": {"query_type": "TRUNCATE_TABLE"}}


def of_place(operation: str, name: str = "D2.S", number: int = 71) -> Json:
    return changed(place(name, number), operation)


def named(name: str, to: str, number: int = 71) -> Json:
    return changed(place(name, number), objectName={"value": to})


def swapped(name: str, other: str) -> Json:
    return changed(place(name, 71), swapTargetName={"value": other})


DROPPED, RESTORED = of_place("DROP"), of_place("UNDROP")
# A table that a CLONE brought ends as any other does. Story -> rows after FILL and CLONE, and the days on which it is
# there after the CLONE. Snowflake drops and restores the tables of a schema with it; the tables of the one that
# replaces it are others. An UNDROP restores the schema that was dropped last.
ENDS: Final[dict[str, tuple[list[Json], str]]] = {
    "schema-dropped": ([read(X), DROPPED, read(A), read(A)], "3"),
    "schema-restored": ([read(X), DROPPED, read(A), RESTORED, read(A)], "367"),
    "schema-restored-and-read": ([read(X), DROPPED, read(A), RESTORED, read(X), read(A)], "3678"),
    "schema-dropped-twice": ([read(X), DROPPED, RESTORED, DROPPED, read(A), RESTORED, read(A)], "3589"),
    "database-dropped": ([read(X), of_place("DROP", "D2", 70), read(A), of_place("UNDROP", "D2", 70), read(A)], "367"),
    "schema-replaced": ([read(X), of_place("REPLACE", number=72), read(A), read(A)], "3"),
    "database-replaced": ([read(X), of_place("REPLACE", "D2", 72), read(A), read(A)], "3"),
    "cloned-again": ([read(X), cloned("D.S", "D2.S", 73, "REPLACE"), read(X2), read(A)], "3"),
    "dropped-and-cloned-again": ([read(X), DROPPED, cloned("D.S", "D2.S", 73), read(X2), read(A)], "3"),
    "name-taken": ([read(X), copied(OTHER, X2, "CREATE"), read(X2), read(A)], "3"),
    "name-taken-in-vain": ([read(X), copied(OTHER, X2, "CREATE"), read(X2), read(X), read(A)], "34567"),
    "shown-after-the-drop": ([read(X), DROPPED, read(A), read(X), read(A)], "34567"),
    "shown-between": ([read(X), DROPPED, read(X), RESTORED, read(A)], "34567"),
    "own-drop": ([read(X), changed(X, "DROP"), DROPPED, RESTORED, changed(X, "UNDROP"), read(A)], "378"),
    "own-drop-first": ([changed(X, "DROP"), read(A), changed(X, "UNDROP"), read(X)], "56"),
    "written-before-the-drop": ([copied(SOURCE, X), DROPPED, read(A), RESTORED, read(A)], "367"),
    "written-after-the-drop": ([read(X), DROPPED, RESTORED, copied(SOURCE, X), DROPPED, read(A)], "356"),
    # the table was moved before the schema was dropped
    "table-renamed": ([read(X), changed(X, objectName={"value": "E.S.A"}), DROPPED, read(A), RESTORED], "34567"),
    # the schema has another name, which a row shows
    "schema-renamed": ([read(X), named("D2.S", "E.S"), read(table("E.S.A", 53)), of_place("DROP", "E.S"), read(A),
                        of_place("UNDROP", "E.S"), read(A)], "34589"),
    "schema-swapped": ([read(X), swapped("D2.S", "E.S"), read(table("E.S.A", 53)), of_place("DROP", "E.S"), read(A),
                        of_place("UNDROP", "E.S"), read(A)], "34589"),
    # another schema has its former name when that is dropped
    "other-schema": ([read(X), named("D2.S", "E.S"), of_place("CREATE", number=75), of_place("DROP", number=75),
                      of_place("UNDROP", number=75), read(A)], "345678"),
}  # fmt: skip
STORIES: Final[dict[str, list[Json]]] = {
    **{name: [FILL, CLONE, *rows] for name, (rows, _) in ENDS.items()},
    "read": [FILL, CLONE, copied(OTHER, A), read(X, "ANA"), read(A, "BEN")],
    "written": [FILL, CLONE, read(X), copied(OTHER, X), read(X), TRUNCATED, read(X)],
    "written-first": [FILL, CLONE, copied(OTHER, X), copied(X, table("E.S.B", 9))],
    "written-on": [FILL, CLONE, copied(X, table("E.S.B", 9)), copied(table("E.S.B", 9), table("E.S.C", 10))],
    "database": [FILL, cloned("D", "D2", 71, is_read=True), read(X)],
    "chain": [FILL, CLONE, read(X), cloned("D2.S", "D3.S", 72), read(table("D3.S.A", 63))],
    "replaced-daily": [FILL, CLONE, read(X), copied(OTHER, A), cloned("D.S", "D2.S", 73, "REPLACE"), read(A),
                       read(table("D2.S.A", 54)), read(X)],
    "renamed-into": [copied(SOURCE, table("E.S.B", 3)),
                     changed(table("E.S.B", 3), objectName={"value": "D.S.A"}), CLONE, read(X)],
    # the name in the source is only given before the CLONE, and rows show another one afterwards
    "given-by-rename": [changed(table("E.S.B", 3), objectName={"value": "D.S.A"}), CLONE, named("D.S", "D.OLD", 50),
                        read(table("D.OLD.A", 3)), read(X)],
    "given-by-swap": [*swap_of_tables(table("D.S.A", 4), table("E.S.B", 3)), CLONE, read(table("E.S.C", 3)),
                      changed(X, "DROP")],
    "columns": [copied(SOURCE, A), read(table("D.S.A", 3, ("C", "E"))), CLONE,
                changed(A, columns={"F": {"subOperationType": "ADD"}}), read(table("D2.S.A", 53, ("C", "E", "F")))],
    "undropped": [FILL, changed(A, "DROP"), changed(A, "UNDROP"), CLONE, read(X)],
    "by-name": [copied(SOURCE, table("D.S.A", None)), CLONE, read(table("d2.s.a", None))],
    # nothing is inferred
    "made": [FILL, CLONE, changed(X, "CREATE"), read(X)],
    "seen-before": [FILL, read(X), CLONE, read(X)],
    "dropped": [FILL, changed(A, "DROP"), CLONE, read(X)],
    "renamed-away": [FILL, changed(A, objectName={"value": "E.S.B"}), CLONE, read(X)],
    "target-made-anew": [FILL, CLONE, changed(place("D2.S", 74), "REPLACE"), read(X)],
    "target-dropped": [FILL, CLONE, changed(place("D2", 75), "DROP"), read(X)],
    "target-renamed": [FILL, CLONE, changed(place("E.S", 76), objectName={"value": "D2.S"}), read(X)],
    "source-made-anew": [FILL, changed(place("D.S", 77), "REPLACE"), CLONE, read(X)],
    "other-kind": [FILL, CLONE, read(table("D2.S.A", 53, domain="View"))],
    "not-cloned": [FILL, changed(place("D2.S", 71), "CREATE"), read(X)],
    "source-not-on-record": [CLONE, read(X), read(A)],
}  # fmt: skip
INFERRED: Final = {
    **{name: {"53": "3/version/q1"} for name in ENDS},
    "cloned-again": {"53": "3/version/q1", "54": "3/version/q1"},
    "dropped-and-cloned-again": {"53": "3/version/q1", "54": "3/version/q1"},
    "read": {"53": "3/version/q1"}, "written": {"53": "3/version/q1"}, "written-first": {"53": "3/version/q1"},
    "written-on": {"53": "3/version/q1"},
    "database": {"53": "3/version/q1"}, "chain": {"53": "3/version/q1", "63": "53/before/q3"},
    "replaced-daily": {"53": "3/version/q1", "54": "3/version/q4"}, "renamed-into": {"53": "3/version/q1"},
    "given-by-rename": {"53": "3/before/q1"}, "given-by-swap": {"53": "3/before/q1"},
    "columns": {"53": "3/version/q1"}, "undropped": {"53": "3/version/q3"},
    "by-name": {"name/D2.S.A": "name/D.S.A/version/q1"},
}  # fmt: skip


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The export of a story."""
    return exported_once(STORIES, tmp_path_factory)


def inferred(store: Store) -> set[tuple[str, str, str]]:
    """Account and key of each table that a CLONE brought, with the path of the version that it came from."""
    found = set()
    for row in store.query(_FOUND):  # type: ignore[union-attr]  # pyoxigraph types results and terms wider
        made, source = (row[name].value.removeprefix("snowflake://") for name in ("made", "copied"))
        account, _, path = made.partition("/")
        found.add((account, path.removeprefix("table/").partition("/version/")[0], source.partition("/table/")[2]))
    return found


@pytest.mark.parametrize("name", STORIES)
def test_tables_of_a_clone_come_from_those_of_its_source(name: str, told: Callable[[str], Path]) -> None:
    found = {key: source for _, key, source in inferred(load(told(name)))}
    assert found == INFERRED.get(name, {})


def test_updates_in_any_split_give_the_same_graph(tmp_path: Path) -> None:
    assert_updates_give_the_same(STORIES, tmp_path)


@pytest.mark.parametrize("name", ["given-by-rename", "given-by-swap", "renamed-into"])
def test_splits_of_the_rows_give_the_same_graph(name: str, told: Callable[[str], Path], tmp_path: Path) -> None:
    rows, lines = days(name, STORIES[name])
    whole = triples(told(name))
    for number in range(1, 2 ** len(rows) - 1, 3):
        first = [bool(number >> day & 1) for day in range(len(rows))]
        for is_first in (True, False):
            part = [day for day, is_in in enumerate(first) if is_in == is_first]
            out = exported(
                flat([rows[day] for day in part]),
                flat([lines[day] for day in part]),
                tmp_path / str(number),
                *UPDATE,
                *GRAPH,
            )
        assert triples(out) == whole, first


def cells(out: Path, question: str, place: int = 0, **given: str) -> set[str | None]:
    return {row[place] for row in ask(load(out), find(question), given).rows}


def at(day: int) -> str:
    """Noon of a day is after its query."""
    return f"2026-01-{day:02}T12:00:00Z"


def whole(term: str) -> str:
    prefix, _, name = term.partition(":")
    return {"ah": "https://w3id.org/access-history#", "prov": "http://www.w3.org/ns/prov#"}[prefix] + name


ALL: Final = {"D.S.A", "D.S.SOURCE"}


@pytest.mark.parametrize(
    ("name", "day", "sources"),
    [
        ("read", 2, ALL), ("read", 5, ALL), ("written", 3, ALL), ("written", 5, {*ALL, "D.S.OTHER"}),
        ("written", 7, set()), ("written-first", 3, {*ALL, "D.S.OTHER"}), ("made", 4, set()),
    ],
)  # fmt: skip
def test_what_a_clone_brought_is_followed_up_until_rows_say_otherwise(
    name: str, day: int, sources: set[str], told: Callable[[str], Path]
) -> None:
    out = told(name)
    assert cells(out, "lineage-as-of", object_id="53", at=at(day)) == sources
    assert cells(out, "root-cause", object_id="53", column_name="C", at=at(day)) == sources


@pytest.mark.parametrize("name", ENDS)
def test_what_a_clone_brought_ends_as_any_other_table(name: str, told: Callable[[str], Path]) -> None:
    store, (_, there) = load(told(name)), ENDS[name]
    for day in range(3, len(STORIES[name]) + 1):
        wanted = ALL if str(day) in there else set()
        for question, given in (("lineage-as-of", {}), ("root-cause", {"column_name": "C"})):
            rows = ask(store, find(question), {"object_id": "53", "at": at(day), **given}).rows
            assert {row[0] for row in rows} == wanted, (question, day)


def test_the_version_of_a_clone_is_dropped_and_restored_with_its_schema(told: Callable[[str], Path]) -> None:
    store, base = load(told("schema-restored")), "snowflake://STORY-schema-restored/"
    said = {
        (version, term): quad.object.value.removeprefix(base)
        for version in ("version/q2", "before/q3", "version/q6")
        for term in ("ah:validUntil", "ah:priorVersion", "prov:invalidatedAtTime", "prov:wasInvalidatedBy")
        for quad in store.quads_for_pattern(NamedNode(f"{base}table/53/{version}"), NamedNode(whole(term)), None)
    }
    dropped = {"prov:invalidatedAtTime": "2026-01-04T06:00:00Z", "prov:wasInvalidatedBy": "query/q4"}
    assert said == {
        **{(version, term): value for version in ("version/q2", "before/q3") for term, value in dropped.items()},
        ("version/q2", "ah:validUntil"): "2026-01-04T06:00:00Z",
        ("before/q3", "ah:priorVersion"): "table/53/version/q2",
        ("version/q6", "ah:priorVersion"): "table/53/before/q3",
    }


def test_what_a_clone_brought_is_followed_up_without_a_time(told: Callable[[str], Path]) -> None:
    assert cells(told("read"), "root-cause", object_name="D2.S.A", column_name="C") == ALL
    found = cells(told("written-first"), "root-cause", object_name="E.S.B", column_name="C")
    assert found == {*ALL, "D.S.OTHER", "D2.S.A"}


SWAPPED_WITH_ITS_SOURCE: Final = [
    FILL,
    CLONE,
    read(X),
    swapped("D2.S", "D.S"),
    read(table("D.S.A", 53)),
    read(table("D2.S.A", 3)),
]
NAME_TAKEN: Final = [FILL, CLONE, read(X), renamed(X, "D2.S.OLD"), read(X2), read(table("D2.S.OLD", 53))]


@pytest.mark.parametrize("rows", [SWAPPED_WITH_ITS_SOURCE, NAME_TAKEN])
def test_end_up_calls_what_came_with_a_clone_as_at_that_time(rows: list[Json], tmp_path: Path) -> None:
    """docs/graph.md, "Names in questions": the name of the object at that time, not its present name. The row of the
    CLONE and the first one of the table say it; and no note takes it for the name of another table.
    """
    answer = ask(told_by({"clone": rows}, tmp_path), find("end-up"), {"object_id": "3", "domain": "Table"})
    assert [row[0] for row in answer.rows] == ["D2.S.A"]
    notes = " ".join(answer.notes)
    assert "D2.S.A (object_id=53) is called" in notes
    assert "(object_id=3) is called" not in notes
    assert "(object_id=54) is called" not in notes


def test_what_was_cloned_is_followed_down(told: Callable[[str], Path]) -> None:
    assert cells(told("read"), "downstream-users", object_name="D.S.A") == {"ANA", "BEN"}
    assert cells(told("read"), "downstream-users", 1, object_name="D.S.SOURCE") >= {"D2.S.A"}
    assert cells(told("read"), "column-copies", object_name="D.S.A", column_name="C") == {"D2.S.A"}
    # what was written into the source after the CLONE is not in the clone
    assert cells(told("read"), "column-copies", object_name="D.S.OTHER", column_name="C") == {"D.S.A"}
    assert "D2.S.A" in cells(told("read"), "end-up", object_name="D.S.SOURCE", column_name="C")
    chain_ = cells(told("chain"), "column-copies", object_name="D.S.A", column_name="C")
    assert chain_ == {"D2.S.A", "D3.S.A"}


def test_the_way_of_data_goes_on_from_what_a_clone_brought(told: Callable[[str], Path]) -> None:
    graph, question = Lookups(load(told("written-on"))), find(movement.QUESTION)
    rows, _ = movement.rows(graph, question, {"object_name": "D.S.SOURCE", "domain": "Table"})
    way = "D.S.SOURCE-->D.S.A-->D2.S.A-->E.S.B-->E.S.C"
    assert {row[0] for row in rows} == {way[: end.start()] for end in re.finditer("-->|$", way)} - {"D.S.SOURCE"}


def test_columns_come_from_those_of_the_same_name_that_were_there(told: Callable[[str], Path]) -> None:
    out = told("columns")
    assert cells(out, "root-cause", object_id="53", column_name="C") == ALL
    assert cells(out, "root-cause", object_id="53", column_name="E") == {"D.S.A"}
    assert cells(out, "root-cause", object_id="53", column_name="F") == set()


def test_the_step_is_marked_with_the_clone(told: Callable[[str], Path]) -> None:
    store, base = load(told("read")), "snowflake://STORY-read/"
    (mark,) = store.quads_for_pattern(
        NamedNode(f"{base}table/53/version/q2"), NamedNode("https://w3id.org/access-history#inferredFrom"), None
    )
    assert mark.object == NamedNode(f"{base}query/q2/change/create/schema/71")
    operation = NamedNode("https://w3id.org/access-history#operation")
    assert [one.object for one in store.quads_for_pattern(mark.object, operation, None)] == [Literal("CREATE")]


@pytest.mark.parametrize(
    ("name", "question", "given", "notes"),
    [
        ("read", "lineage-as-of", {"object_name": "d2.s.a", "at": at(4)}, ["D2.S.A from D.S.A"]),
        ("read", "downstream-users", {"object_name": "D.S.A"}, ["D2.S.A from D.S.A"]),
        ("read", "downstream-users", {"object_name": "D2.S.A"}, []),
        ("written-first", "root-cause", {"object_name": "E.S.B", "column_name": "C"}, ["D2.S.A from D.S.A"]),
        ("read", "unmasked-copies", {}, ["D2.S.A from D.S.A"]),
        ("read", "sensitive-data-movement", {"object_id": "3", "domain": "Table"}, ["Ask for D2.S.A, too."]),
        ("dropped", "root-cause", {"object_id": "53", "column_name": "C"}, ["Ask for D.S.A, too."]),
        # questions that show single steps
        ("read", "column-lineage", {}, ["D2.S.A from D.S.A at 2026-01-02T06:00:00Z. No row names their columns"]),
        ("read", "column-lineage", {"target_object_name": "D.S.A"}, []),
        ("read", "column-lineage", {"since": at(3)}, []),
        ("read", "writers", {"object_name": "D2.S.A"}, ["D2.S.A from D.S.A"]),
        ("read", "writers", {"object_name": "D.S.A"}, []),
        ("read", "changes", {"since": "2026-01-02"}, ["D2.S.A from D.S.A"]),
        ("read", "changes", {"since": at(3)}, []),
    ],
)
def test_answers_say_what_is_inferred_and_what_is_not_followed(
    name: str, question: str, given: dict[str, str], notes: Sequence[str], told: Callable[[str], Path]
) -> None:
    every = ask(load(told(name)), find(question), given).notes
    found = [note for note in every if "Inferred from names" in note or "was cloned from" in note]
    assert len(found) == len(notes)
    assert all(part in note for part, note in zip(notes, found, strict=True)), found


@pytest.mark.parametrize("columns", [("C",), ()])
def test_a_new_copy_by_a_clone_has_the_name_that_it_had_in_the_clone(columns: tuple[str, ...], tmp_path: Path) -> None:
    """Its schema was renamed since."""
    filled = FILL if columns else {**FILL, "objects_modified": [table("D.S.A", 3, ())]}
    later = [read(table(name, 53, columns)) for name in ("D2.S.A", "D2.T.A")]
    rows, lines = days("moved", [filled, CLONE, later[0], named("D2.S", "D2.T"), later[1]])
    store = load(exported(flat(rows), flat(lines), tmp_path / "out"))
    answer = ask(store, find("changes"), {"since": at(1), "until": at(3)})
    copies = [row for row in answer.dicts() if row["change"] == "new copy"]
    assert [(row["object_name"], row["query_id"]) for row in copies] == [("D2.S.A", "q2")]
    assert any("Inferred from names" in note and "D2.S.A from D.S.A at 2026-01-02" in note for note in answer.notes)


def test_a_clone_that_is_made_anew_has_its_name_since_the_first_row_that_gives_it(tmp_path: Path) -> None:
    """docs/not-recorded.md, "Data that moves without a row"."""
    again = {**cloned("D.S", "D2.S", 73, "REPLACE"), "line": {"end_time": "2026-01-04T06:20:00Z"}}
    rows, lines = days("weekly", [FILL, CLONE, read(X), again, read(A), read(table("D2.S.A", 54))])
    store = load(exported(flat(rows), flat(lines), tmp_path / "out"))
    answer = ask(store, find("writers"), {"object_name": "D2.S.A"})
    assert [row["query_id"] for row in answer.dicts()] == ["q4"]
    (told,) = (note for note in answer.notes if "Inferred" in note)
    assert "D2.S.A from D.S.A at 2026-01-02T06:00:00Z, D2.S.A from D.S.A at 2026-01-04T06:00:00Z. What" in told
    assert told.endswith("for the CLONE of the former ones ask by id (object_id=53).")
    came = "D2.S.A (object_id=54) came with a CLONE at 2026-01-04T06:00:00Z, as is inferred from names"
    for day, is_told in ((3, False), (5, True), (6, False)):
        given = {"object_name": "D2.S.A", "at": f"2026-01-{day:02}T06:00:00Z"}
        told = "\n".join(ask(store, find("lineage-as-of"), given).notes)
        assert (
            f"{came}, and has its name since the first row that gives it: ask with at=2026-01-06T06:00:00Z." in told
        ) == is_told


def _made(name: str, number: int) -> Json:
    """CREATE TABLE … CLONE D.S.A: the documents do not name the property with the source."""
    return changed(table(name, number), "CREATE", cloneSourceName={"value": "D.S.A"})


def _written(name: str, number: int) -> Json:
    """The same, where the row has the tables, too, but not which column came from which."""
    return {**read(A), "objects_modified": [table(name, number)], **_made(name, number)}


@pytest.fixture(scope="module")
def of_tables(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """CLONEs of a table: D2.S.A, D3.S.A, D4.S.A, and what was written from D2.S.A."""
    whole = {**_made("D4.S.A", 73), **copied(A, table("D4.S.A", 73))}
    rows = [FILL, _made("D2.S.A", 53), _written("D3.S.A", 63), whole, copied(X, table("E.S.B", 9)), CLONE]
    told = [
        {"user_name": "ETL", **row, "query_id": f"q{number}", "query_start_time": at(number)}
        for number, row in enumerate(rows, 1)
    ]
    return load(exported(told, [], tmp_path_factory.mktemp("tables") / "once"))


@pytest.mark.parametrize(
    ("question", "given", "targets"),
    [
        ("lineage-as-of", {"object_name": "D2.S.A", "at": at(5)}, ["D2.S.A"]),
        ("lineage-as-of", {"object_name": "D3.S.A", "at": at(5)}, []),
        ("root-cause", {"object_name": "D3.S.A", "column_name": "C"}, ["D3.S.A"]),
        ("root-cause", {"object_name": "D4.S.A", "column_name": "C"}, []),
        ("root-cause", {"object_name": "E.S.B", "column_name": "C"}, ["D2.S.A"]),
        ("column-copies", {"object_name": "D.S.A", "column_name": "C"}, ["D2.S.A", "D3.S.A"]),
        ("end-up", {"object_name": "D.S.SOURCE"}, ["D2.S.A"]),
        ("sensitive-data-movement", {"object_name": "D.S.A", "domain": "Table"}, ["D2.S.A"]),
        ("downstream-users", {"object_name": "E.S.B"}, []),
        ("unmasked-copies", {}, ["D2.S.A", "D3.S.A"]),
    ],
)
def test_answers_say_where_a_table_was_cloned_and_no_step_is_known(
    question: str, given: dict[str, str], targets: list[str], of_tables: Store
) -> None:
    notes = [note for note in ask(of_tables, find(question), given).notes if "by CLONE or LIKE" in note]
    assert [note.partition(" was made from D.S.A")[0] for note in notes] == targets


@pytest.mark.parametrize(
    ("question", "given"),
    [
        ("end-up", {}),
        ("column-copies", {"column_name": "C"}),
        ("downstream-users", {}),
        ("sensitive-data-movement", {"domain": "Table"}),
    ],
)
def test_clones_of_each_night_are_told_at_once_if_they_were_made_after_the_data_came(
    question: str, given: dict[str, str], tmp_path: Path
) -> None:
    """A table is filled from SOURCE on day 1, and from OTHER on day 3. Its clone is made anew on days 2, 4 and 6, and
    on day 5 a third table is copied into it, and on day 7 a fourth one.
    """
    third, last = table("D.S.THIRD", 11), table("D.S.LAST", 12)
    nights = [_made("D2.S.A", number) for number in (53, 54, 55)]
    rows = [FILL, nights[0], copied(OTHER, A), nights[1], copied(third, A), nights[2], copied(last, A)]
    told = [
        {"user_name": "ETL", **row, "query_id": f"q{number}", "query_start_time": at(number)}
        for number, row in enumerate(rows, 1)
    ]
    store = load(exported(told, [], tmp_path / "once"))
    days = {"D.S.SOURCE": [2, 4, 6], "D.S.OTHER": [4, 6], "D.S.THIRD": [6], "D.S.LAST": [], "D.S.A": [2, 4, 6]}
    for name, known in days.items():
        notes = ask(store, find(question), {"object_name": name, **given}).notes
        notes = [note for note in notes if "by CLONE or LIKE" in note]
        assert len(notes) == bool(known), name
        listed = "".join(notes).partition(" by CLONE or LIKE at ")[2].partition(". ")[0]
        assert [time for time in listed.split(", ") if time] == [at(day) for day in known], name
        ids = [f"D2.S.A (object_id={52 + day // 2})" for day in known]
        assert not known or f"Ask for {', '.join(ids)}, too." in notes[0], name


@pytest.mark.parametrize("question", ["policy-coverage", "exposure"])
@pytest.mark.parametrize(
    ("given", "known"),
    [
        ({}, ["D2.S.A from D.S.A", "D3.S.A from D.S.A", "D4.S.A from D.S.A", "D2.S from D.S"]),
        ({"object_name": "d2.s.a"}, ["D2.S.A from D.S.A", "D2.S from D.S"]),
        ({"object_id": "63"}, ["D3.S.A from D.S.A"]),
        ({"object_name": "D3.S.A", "at": "2026-01-02"}, []),
        ({"object_name": "D.S.A"}, []),
    ],
)
def test_what_is_set_on_a_clone_from_the_beginning_is_not_on_record(
    question: str, given: dict[str, str], known: list[str], of_tables: Store
) -> None:
    notes = [note for note in ask(of_tables, find(question), given).notes if "came with a CLONE" in note]
    assert len(notes) == bool(known)
    listed = notes[0].partition("set later: ")[2] if notes else ""
    assert [part.partition(" at ")[0] for part in listed.split(", ") if " from " in part] == known


@pytest.mark.parametrize(
    ("question", "given"),
    [("unmasked-copies", {}), ("unmasked-reads", {"object_name": "D3.S.A", "column_name": "C"})],
)
def test_a_clone_may_have_the_masks_of_its_source(question: str, given: dict[str, str], of_tables: Store) -> None:
    notes = ask(of_tables, find(question), given).notes
    assert any("came with a CLONE" in note and "D3.S.A from D.S.A" in note for note in notes)


MINE: Final = "USER$JSMITH.S"


@pytest.mark.parametrize(
    ("rows", "options", "hidden", "found"),
    [
        ([FILL, {**CLONE, "query_id": "c"}, {**CLONE, "query_id": "c", "user_name": "OTHER"}, read(X)], (), (), {}),
        ([FILL, cloned("D.S", "D2.S", 71, is_read=True), read(X)], ("--config", "settings"), ('"D.', "/D."), {}),
        (
            [copied(OTHER, table(f"{MINE}.A", 3)), cloned(MINE, "D2.S", 71), read(X, "JSMITH")],
            ("--pseudonyms", "key"),
            ("JSMITH",),
            {"53": "3/version/q1"},
        ),
    ],
    ids=["quarantine", "filter", "pseudonyms"],
)
def test_a_clone_that_is_left_out_brings_nothing_and_what_is_hidden_stays_hidden(
    rows: list[Json], options: Sequence[str], hidden: Sequence[str], found: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "key").write_bytes(b"0123456789abcdef")
    (tmp_path / "key").chmod(0o600)
    (tmp_path / "settings").write_text('[filter]\ndeny_databases = ["D"]\n', encoding="utf-8")
    own = [{"user_name": "ETL", "query_id": f"q{at}", **row} for at, row in enumerate(rows, 1)]
    told = [{**row, "query_start_time": at(number)} for number, row in enumerate(own, 1)]
    out = exported(told, [], tmp_path / "out", *(str(tmp_path / one) if "-" not in one else one for one in options))
    assert {key: source for _, key, source in inferred(load(out))} == found
    report = exports.report(out)
    assert report["exported"] + report["quarantined"] + sum((report["filtered"] or {}).get("rows", {}).values()) == len(
        rows
    )
    texts = [one.read_text("utf-8") for one in (*out.rglob("*.ttl"), *out.rglob("*.ndjson"))]
    assert [part for part in hidden for text in texts if part in text] == []


# --- drawn histories --------------------------------------------------------------------------------------------------

_PLACES: Final = ("D.S", "D.R", "D2.S", "D2.R", "D", "D2", "D3")
_NAMES: Final = tuple(f"{schema}.{name}" for schema in ("D.S", "D.R", "D2.S", "D2.R", "D3.S") for name in "AB")


def _of_table(rng: Random) -> Json:
    one, other = (table(rng.choice(_NAMES), number) for number in rng.sample((*range(1, 12), None), 2))
    return rng.choices(
        (
            read(one),
            copied(one, other),
            changed(one, rng.choice(("CREATE", "REPLACE", "DROP", "UNDROP"))),
            changed({**one, "objectId": one.get("objectId", 12)}, objectName={"value": rng.choice(_NAMES)}),
        ),
        (6, 4, 2, 1),
    )[0]


def _of_place(rng: Random) -> Json:
    first = rng.choice(_PLACES)
    second = rng.choice([name for name in _PLACES if ("." in name) == ("." in first) and name != first])
    made = place(first, rng.randrange(70, 90))
    return rng.choices(
        (
            cloned(first, second, rng.randrange(70, 90)),
            cloned(first, second, rng.randrange(70, 90), is_read=True),
            changed(made, objectName={"value": second}),
            changed(made, rng.choice(("CREATE", "DROP", "UNDROP"))),
        ),
        (3, 3, 1, 1),
    )[0]


def drawn_history(seed: int, hours: int = 9) -> list[Json]:
    rng, rows = Random(seed), []
    for number in range(rng.randrange(8, 30)):
        day, hour = divmod(number * hours, 24)
        own = {"query_id": f"q{number:02}", "query_start_time": f"2026-01-{day + 1:02}T{hour:02}:00:00Z"}
        rows.append(
            {
                "user_name": "ETL",
                **(_of_table if rng.random() < 0.65 else _of_place)(rng),
                **own,
                "organization_name": "ORG",
                "account_name": f"A{seed}",
            }
        )
    return rows


def _key(one: Json) -> str:
    return str(one["objectId"]) if "objectId" in one else f"name/{one['objectName']}"


def _tables(row: Json) -> dict[str, str]:
    """The key and name of each table that a row names."""
    listed = [*row.get("direct_objects_accessed", []), *row.get("objects_modified", [])]
    listed.append(row.get("object_modified_by_ddl", {}))
    return {_key(one): one["objectName"] for one in listed if one.get("objectDomain") == "Table"}


def _change(row: Json) -> Json:
    return row.get("object_modified_by_ddl", {})


def _new_name(row: Json) -> str | None:
    return _change(row).get("properties", {}).get("objectName", {}).get("value")


def _around(name: str) -> set[str]:
    database, schema, _ = name.split(".")
    return {database, f"{database}.{schema}"}


def _makes(row: Json) -> set[str]:
    """The schemas and databases whose name belongs to another one after the row."""
    change = _change(row)
    return (
        {change["objectName"], _new_name(row) or ""} if change.get("objectDomain") in {"Schema", "Database"} else set()
    )


def _source(row: Json) -> str | None:
    change = _change(row)
    if change.get("objectDomain") not in {"Schema", "Database"} or change["operationType"] != "CREATE":
        return None
    read_ = [one["objectName"] for one in row.get("direct_objects_accessed", [])]
    source = change["properties"].get("cloneSourceName", {}).get("value") or next(iter(read_), None)
    return None if source == change["objectName"] else source


def expected(rows: list[Json]) -> set[tuple[str, str, str]]:
    """What CLONEs brought, read from the rows in order of time."""
    found = set()
    for key in {key for row in rows for key in _tables(row)}:
        first = next(number for number, row in enumerate(rows) if key in _tables(row))
        name = _tables(rows[first])[key]
        is_made = _change(rows[first]).get("operationType") in {"CREATE", "REPLACE"}
        before = [number for number in range(first) if _makes(rows[number]) & _around(name)]
        if is_made or not before or _source(rows[before[-1]]) is None:
            continue
        clone = before[-1]
        source = name.replace(_change(rows[clone])["objectName"], str(_source(rows[clone])), 1)
        account = f"ORG-{rows[0]['account_name']}"
        found |= {(account, key, state) for state in _had(rows, source, clone, key)}
    return found


def _had(rows: list[Json], name: str, clone: int, copy: str) -> set[str]:
    """The versions in force of what had a name at a CLONE."""
    found = set()
    for key in {key for row in rows[:clone] for key in _tables(row)} - {copy}:
        own = [number for number in range(clone) if key in _tables(rows[number])]
        last = rows[own[-1]]
        changes_it = _key(_change(last)) == key if _change(last) else False
        if ((changes_it and _new_name(last)) or _tables(last)[key]) != name:
            continue
        if any(_makes(row) & _around(name) for row in rows[own[-1] + 1 : clone]):
            continue
        shown = max(number for number, row in enumerate(rows) if key in _tables(row))
        if any(_takes(row, name, key) for row in rows[shown + 1 : clone]):
            continue
        state: str | None = f"before/{rows[own[0]]['query_id']}"
        for number in own:
            state = _after(rows[number], key, state)
        if state is not None:
            found.add(f"{key}/{state}")
    return found


def _takes(row: Json, name: str, key: str) -> bool:
    change = _change(row)
    is_other = change.get("objectDomain") == "Table" and "objectId" in change and _key(change) != key
    return is_other and change["operationType"] in {"CREATE", "REPLACE"} and change["objectName"] == name


def _after(row: Json, key: str, state: str | None) -> str | None:
    change = _change(row)
    if change and _key(change) == key and change["objectDomain"] == "Table":
        if change["operationType"] == "DROP":
            return None
        if change["operationType"] != "ALTER":
            return f"version/{row['query_id']}"
    if any(_key(one) == key for one in row.get("objects_modified", [])):
        return f"version/{row['query_id']}"
    return state


def test_drawn_histories_are_as_read_plainly(tmp_path: Path) -> None:
    histories = [drawn_history(seed) for seed in range(160)]
    out = exported(list(chain.from_iterable(histories)), [], tmp_path / "once", *GRAPH)
    wanted = set(chain.from_iterable(map(expected, histories)))
    store = load(out)
    assert len(wanted) > 50
    assert inferred(store) == wanted
    ends = [tuple(row) for row in store.query(_ENDS)]  # type: ignore[union-attr]  # pyoxigraph types results and terms wider
    assert len(ends) > 50
    assert sum(until is not None for *_, until in ends) > 25
    for made, gone, following, until in ends:
        known = [one.value for one in (gone, following) if one is not None]
        assert (until.value if until else None) == min(known, default=None), made


@pytest.mark.parametrize("part", range(2))
def test_drawn_histories_are_the_same_after_updates(part: int, tmp_path: Path) -> None:
    rows = list(chain.from_iterable(drawn_history(seed) for seed in range(part, 60, 2)))
    once = exported(rows, [], tmp_path / "once", *GRAPH)
    rng = Random(part)
    days = sorted({row["query_start_time"][:10] for row in rows})
    pieces = [[row for row in rows if row["query_start_time"][:10] == day] for day in days]
    if part:
        pieces = [rng.sample(rows, len(rows) // 2), rows]
    for piece in pieces:
        out = exported(piece, [], tmp_path / "updated", *UPDATE, *GRAPH)
    assert triples(out) == triples(once)


@pytest.mark.parametrize("reads", ["full", "daily"])
def test_where_data_ends_up_has_what_was_done_with_what_a_clone_brought(tmp_path: Path, reads: str) -> None:
    """Its unload, and the view over it. With reads by day the view is in a note."""
    view, stage = table("D2.S.V", 60, domain="View"), {"objectDomain": "Stage", "objectId": 61, "objectName": "D.S.OUT"}
    through = {"direct_objects_accessed": [view], "base_objects_accessed": [X]}
    rows = [FILL, CLONE, read(X, "BEN"), {"user_name": "CLEO", **through}, {**read(X), "objects_modified": [stage]}]
    graph = told_by({"cloned": rows}, tmp_path, "--reads", reads)
    for name in ("D.S.A", "D.S.SOURCE"):
        for column in ({}, {"column_name": "C"}):
            answer = ask(graph, find("end-up"), {"object_name": name, **column})
            assert {"D2.S.A", "D.S.OUT"} < {*(row[0] for row in answer.rows), "D.S.A"}
            assert "D2.S.V" in "\n".join([*(row[0] or "" for row in answer.rows), *answer.notes])


@pytest.mark.parametrize("reads", ["full", "daily"])
def test_what_a_clone_of_a_schema_brought_is_a_copy_that_was_read(tmp_path: Path, reads: str) -> None:
    """The first row of the table itself comes after the CLONE, and the reads are of the version that it found."""
    mask = {"objectId": {"value": 900}, "subOperationType": "DROP"}
    rows = [
        changed(A, columns=SET_MASK),
        CLONE,
        changed(X, columns={"C": {"maskingPolicies": {"D.S.MASK": mask}}}),
        read(A, "ANA", masked=True),
        read(X, "BEN"),
    ]
    graph = told_by({"cloned": rows}, tmp_path, "--reads", reads)
    copied_to = {row[0:2] + row[3:] for row in ask(graph, find("unmasked-copies"), {}).rows}
    assert copied_to == {("D.S.A", "C", "D2.S.A", "C")}


@pytest.mark.parametrize("reads", ["full", "daily"])
@pytest.mark.parametrize("columns", ["with columns", "without columns"])
def test_a_clone_of_each_night_is_no_new_copy(columns: str, reads: str, tmp_path: Path) -> None:
    """docs/questions.md: a copy is new if neither these columns, nor others with the same names, were copied before."""

    def seen(what: Json) -> Json:
        return what if columns == "with columns" else {key: one for key, one in what.items() if key != "columns"}

    again = [cloned("D.S", "D2.S", 72, "REPLACE"), read(seen(X2)), read(seen(table("D2.S.OTHER", 55)))]
    rows = [{"objects_modified": [seen(A)]}, {"objects_modified": [seen(OTHER)]}, CLONE, read(seen(X)), *again]
    answer = ask(told_by({"nightly": rows}, tmp_path, "--reads", reads), find("changes"), {"since": "2026-01-01"})
    column = "C" if columns == "with columns" else None
    assert [(row[1], row[2], row[4]) for row in answer.rows if row[0] == "new copy"] == [
        ("D2.S.A", column, "q3"),
        ("D2.S.OTHER", column, "q5"),
    ]
    (inferred,) = [note for note in answer.notes if note.startswith("Inferred from names")]
    assert "at 2026-01-01T00:03:00Z" in inferred
    assert "D2.S.A from D.S.A at 2026-01-01T00:05:00Z" not in inferred
