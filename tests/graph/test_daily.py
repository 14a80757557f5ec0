"""``--reads daily``: the daily reads are the sums of the single reads, and nothing else changes."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any, Final

import pytest
import rdflib
from pyoxigraph import DefaultGraph, RdfFormat

from exporter.cli import main
from exporter.graph.store import load
from exporter.input.query_history import NO_HISTORY
from exporter.input.reading import read_line
from exporter.input.row import Row
from exporter.model.accesses import only_reads, read_groups
from exporter.model.query import query_facts
from exporter.serve.site import PAGE_QUESTIONS
from tests import exports
from tests.graph.prov_constraints import violations
from tests.graph.test_constraints import ontology
from tests.histories import Json, random_history
from tests.input.bad_rows import GOOD

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from pyoxigraph import Store

FULL: Final = """PREFIX ah: <https://w3id.org/access-history#> PREFIX prov: <http://www.w3.org/ns/prov#>
SELECT DISTINCT ?query ?user ?role ?time ?object ?version ?type ?name ?column WHERE {
  ?query prov:qualifiedUsage ?access ; prov:startedAtTime ?time ; prov:wasAssociatedWith ?user .
  ?user a ah:User .
  OPTIONAL { ?query ah:roleName ?role }
  ?access ah:accessedObject ?object ; prov:entity ?version ; ah:accessType ?type .
  OPTIONAL { ?access ah:objectName ?name }
  OPTIONAL { ?access ah:readColumn ?column }
  FILTER NOT EXISTS { ?made prov:wasGeneratedBy ?query }
  FILTER NOT EXISTS { ?query ah:hasChange ?change }
  FILTER NOT EXISTS { ?query ah:incomplete ?place }
  FILTER NOT EXISTS { ?query prov:qualifiedUsage/ah:accessedObject/a ah:Procedure }
  FILTER NOT EXISTS { ?derivation prov:hadActivity ?query }
}"""
DAILY: Final = """PREFIX ah: <https://w3id.org/access-history#> PREFIX prov: <http://www.w3.org/ns/prov#>
SELECT DISTINCT ?read ?count ?user ?role ?first ?last ?object ?version ?type ?name ?column WHERE {
  ?read ah:accessPattern ?pattern ; ah:queryCount ?count ; prov:startedAtTime ?first ;
    prov:wasAssociatedWith ?user ; prov:used ?version .
  OPTIONAL { ?read ah:lastStartedAtTime ?later }
  BIND(COALESCE(?later, ?first) AS ?last)
  ?user a ah:User .
  OPTIONAL { ?read ah:roleName ?role }
  ?pattern ah:accessedObject ?object ; ah:accessType ?type .
  OPTIONAL { ?pattern ah:objectName ?name }
  OPTIONAL { ?pattern ah:readColumn ?column }
}"""
Told = tuple[str | None, ...]


def rows_of(seed: int) -> list[Json]:
    """A random history at three times of three days, so that many reads meet."""
    rows = random_history(seed, 60)
    days = {one: number for number, one in enumerate(sorted({row["query_id"] for row in rows}))}
    for row in rows:
        number = days[row["query_id"]]
        row["query_start_time"] = f"2026-03-0{1 + number // 20} {9 + number % 3:02}:00:00Z"
        row["user_name"] = f"USER_{number % 2}"
    return rows


def export(rows: Iterable[Json], folder: Path, mode: str, *options: str) -> Path:
    file = exports.ndjson(rows, folder / "rows.ndjson")
    assert exports.export([file], folder / mode, "--reads", mode, *options) == 0
    return folder / mode


def asked(store: Store, query: str) -> list[Told]:
    found: Any = store.query(query)
    return [tuple(None if term is None else term.value for term in row) for row in found]


@pytest.mark.parametrize("seed", range(6))
def test_daily_reads_are_the_sums_of_single_reads(seed: int, tmp_path: Path) -> None:
    """By user, role, object, day, version, kind, name, column; and by column how many queries, the first, the last."""
    rows = rows_of(seed)
    full, daily = (load(export(rows, tmp_path, mode)) for mode in ("full", "daily"))
    singles = asked(full, FULL)
    cells = {(user, role, time[:10], *rest) for _, user, role, time, *rest in singles if time}
    days = asked(daily, DAILY)
    assert {(user, role, first[:10], *rest) for _, _, user, role, first, _, *rest in days if first} == cells
    queries, times = defaultdict(set), defaultdict(set)
    for query, user, role, time, thing, _, _, _, column in singles:
        if column and time:
            queries[user, role, time[:10], thing, column].add(query)
            times[user, role, time[:10], thing, column].add(time)
    counts: Counter[Told] = Counter()
    spans = defaultdict(set)
    counted = {
        (user, role, first[:10], thing, column, read, int(count), first, last)
        for read, count, user, role, first, last, thing, _, _, _, column in days
        if column and first and count
    }
    for *key, _, count, first, last in counted:
        counts[tuple(key)] += count  # type: ignore[arg-type]  # a list of three
        spans[tuple(key)] |= {first, last}
    assert counts == {key: len(each) for key, each in queries.items()}
    assert {key: (min(each), max(each)) for key, each in spans.items()} == {
        key: (min(each), max(each)) for key, each in times.items()
    }


def test_there_is_one_node_for_a_user_role_object_and_day(tmp_path: Path) -> None:
    store = load(export(rows_of(0), tmp_path, "daily"))
    found = asked(store, """PREFIX ah: <https://w3id.org/access-history#> PREFIX prov: <http://www.w3.org/ns/prov#>
        PREFIX dcterms: <http://purl.org/dc/terms/>
        SELECT ?read ?time ?user ?object ?count (COUNT(?part) AS ?parts) WHERE {
          ?read a ah:DailyRead ; prov:startedAtTime ?time ; prov:wasAssociatedWith ?user ; ah:queryCount ?count ;
            ah:accessedObject|(ah:accessPattern/ah:accessedObject) ?object .
          OPTIONAL { ?read dcterms:hasPart ?part }
        } GROUP BY ?read ?time ?user ?object ?count""")  # fmt: skip
    keys = [(time[:10], user, thing) for _, time, user, thing, _, _ in found if time]
    assert len(keys) == len(set(keys)) > 10
    assert {parts for *_, parts in found} > {"0"}, "some are not alike"
    assert max(int(count or 0) for *_, count, _ in found) > 1


@pytest.mark.parametrize("seed", range(3))
def test_the_page_of_an_object_has_the_same_readers(seed: int, tmp_path: Path) -> None:
    """Users, their numbers of queries, the first and the last, though parts of a day have several sets of columns."""
    rows = rows_of(seed)
    full, daily = (load(export(rows, tmp_path, mode)) for mode in ("full", "daily"))
    question = (PAGE_QUESTIONS / "page-readers.rq").read_text("utf-8")
    read = asked(full, "SELECT DISTINCT ?o WHERE { ?a <https://w3id.org/access-history#accessedObject> ?o }")
    for (thing,) in read:
        query = question.replace("?object { UNDEF }", f"?object {{ <{thing}> }}")
        assert sorted(asked(daily, query), key=str) == sorted(asked(full, query), key=str) != [], thing


def test_a_daily_read_leaves_out_what_follows(tmp_path: Path) -> None:
    """The object, which its pattern has, and a last time that is the first."""
    read = {"objectDomain": "Table", "objectId": 1, "objectName": "D.S.T"}
    row = {**GOOD, "base_objects_accessed": [read], "objects_modified": []}
    times = {"q-1": "2026-03-01T10:00:00Z", "q-2": "2026-03-02T10:00:00Z", "q-3": "2026-03-02T11:00:00Z"}
    rows = [{**row, "query_id": one, "query_start_time": time} for one, time in times.items()]
    store = load(export(rows, tmp_path, "daily"))
    found = asked(store, """PREFIX ah: <https://w3id.org/access-history#> PREFIX prov: <http://www.w3.org/ns/prov#>
        SELECT ?first ?last ?count ?object ?of_pattern WHERE {
          ?read a ah:DailyRead ; prov:startedAtTime ?first ; ah:queryCount ?count .
          ?read ah:accessPattern/ah:accessedObject ?of_pattern .
          OPTIONAL { ?read ah:lastStartedAtTime ?last }
          OPTIONAL { ?read ah:accessedObject ?object }
        } ORDER BY ?first""")  # fmt: skip
    thing = f"snowflake://{exports.ACCOUNT}/table/1"
    assert found == [
        ("2026-03-01T10:00:00Z", None, "1", None, thing),
        ("2026-03-02T10:00:00Z", "2026-03-02T11:00:00Z", "2", None, thing),
    ]


@pytest.mark.parametrize("seed", range(3))
def test_it_conforms_and_is_a_possible_history(seed: int, tmp_path: Path) -> None:
    """By the shapes, by PROV-CONSTRAINTS, and nothing is referred to that is not there."""
    out = export(rows_of(seed), tmp_path, "daily")
    assert main(["validate", str(out), "--by", "compiled"]) == 0
    store = load(out)
    triples = [quad.triple for quad in store]
    said = rdflib.Graph().parse(data=store.dump(format=RdfFormat.TURTLE, from_graph=DefaultGraph()), format="turtle")
    assert violations(said, ontology()) == []
    there = {str(one.subject) for one in triples}
    ours = {str(one.object) for one in triples if str(one.object).startswith(f"<snowflake://{exports.ACCOUNT}")}
    assert ours <= there


def test_events_facts_and_the_account_are_the_same(tmp_path: Path) -> None:
    rows = rows_of(2)
    full, daily = (export(rows, tmp_path, mode, "--outputs", "events,graph,facts") for mode in ("full", "daily"))
    assert exports.events(full) == exports.events(daily)
    assert exports.facts(full, "accesses") == exports.facts(daily, "accesses")
    told = [exports.report(out) for out in (full, daily)]
    for name in ("rows_in", "exported", "duplicates", "quarantined", "queries", "events", "truncated"):
        assert told[0][name] == told[1][name], name
    for one in told:
        assert one["nodes"] == one["nodes_checked"]
    store = load(daily)
    about = asked(store, "SELECT ?e WHERE { ?e a <https://w3id.org/access-history#Export> }")
    assert told[1]["nodes"] == len({quad.subject for quad in store}) - len(about)


def test_a_query_that_is_held_back_counts_in_no_day(tmp_path: Path) -> None:
    read = {"objectDomain": "Table", "objectId": 1, "objectName": "D.S.T", "columns": [{"columnName": "A"}]}
    good = {**GOOD, "base_objects_accessed": [read]}
    rows = [{**good, "query_id": f"q-{number}"} for number in range(3)]
    rows.append({**good, "query_id": "own-parent", "parent_query_id": "own-parent"})
    file = exports.ndjson(rows, tmp_path / "rows.ndjson")
    assert exports.export([file], tmp_path / "out", "--reads", "daily") == 1
    report = exports.report(tmp_path / "out")
    assert (report["exported"], report["quarantined"]) == (3, 1)
    counts = asked(load(tmp_path / "out"), "SELECT ?n WHERE { ?r <https://w3id.org/access-history#queryCount> ?n }")
    assert set(counts) == {("3",)}


def test_a_parent_that_only_reads_is_known_by_its_id(tmp_path: Path) -> None:
    read = {"objectDomain": "Table", "objectId": 1, "objectName": "D.S.T"}
    parent = {**GOOD, "query_id": "p", "base_objects_accessed": [read], "objects_modified": []}
    child = {**GOOD, "query_id": "c", "parent_query_id": "p", "objects_modified": [read]}
    store = load(export([parent, child], tmp_path, "daily"))
    found = asked(
        store,
        """PREFIX ah: <https://w3id.org/access-history#> PREFIX dcterms: <http://purl.org/dc/terms/>
        SELECT ?id WHERE { ?child ah:queryId "c" ; dcterms:isPartOf ?p . ?p a ah:UnrecordedQuery ; ah:queryId ?id }""",
    )
    assert found == [("p",)]


def test_a_shape_that_refuses_a_day_ends_the_export(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "few.ttl").write_text(
        """@prefix sh: <http://www.w3.org/ns/shacl#> . @prefix ah: <https://w3id.org/access-history#> .
        @prefix my: <https://example.org/shapes#> .
        my:Few a sh:NodeShape ; sh:targetClass ah:DailyRead ; sh:property my:FewQueries .
        my:FewQueries a sh:PropertyShape ; sh:path ah:queryCount ; sh:maxInclusive 1 ; sh:message "too many" .""",
        encoding="utf-8",
    )
    file = exports.ndjson(rows_of(0), tmp_path / "rows.ndjson")
    given = "--reads", "daily", "--shapes", str(tmp_path / "own")
    assert exports.export([file], tmp_path / "out", *given) == 2
    said = capsys.readouterr().err
    assert "https://example.org/shapes#FewQueries" in said
    assert "--reads full" in said
    assert not (tmp_path / "out").exists()


# --- what a statement reads -------------------------------------------------------------------------------------------


def content(**row: Any) -> Any:
    read = read_line(json.dumps({**GOOD, **row}))
    assert isinstance(read, Row)
    return query_facts("A", [read], NO_HISTORY).content


def test_each_column_is_in_one_part_by_the_ways_in_which_it_was_read() -> None:
    def table(*columns: str) -> Json:
        named = [{"columnName": one} for one in columns]
        return {"objectDomain": "Table", "objectId": 1, "objectName": "D.S.T", "columns": named}

    found = read_groups(content(direct_objects_accessed=[table("A")], base_objects_accessed=[table("A", "B")]))
    assert [(one.ways, one.columns) for one in found] == [(("BASE", "DIRECT"), ("A",)), (("BASE",), ("B",))]


def test_masked_and_unmasked_columns_are_in_different_parts() -> None:
    columns = [{"columnName": one} for one in "ABC"]
    table = {"objectDomain": "Table", "objectId": 1, "objectName": "D.S.T", "columns": columns}
    mask = {"policyId": 7, "policyName": "D.S.P", "policyKind": "MASKING_POLICY"}
    masked = [{"columnName": one, "policies": [mask]} for one in "AB"]
    said = {"objectDomain": "Table", "objectId": 1, "objectName": "D.S.T", "columns": masked}
    found = read_groups(content(direct_objects_accessed=[], base_objects_accessed=[table], policies_referenced=[said]))
    assert sorted((one.columns, len(one.policies)) for one in found) == [(("A", "B"), 2), (("C",), 0)]


@pytest.mark.parametrize(
    ("row", "is_read"),
    [
        ({"base_objects_accessed": [{"objectDomain": "Table", "objectId": 1}]}, True),
        ({"base_objects_accessed": []}, False),
        ({"direct_objects_accessed": [{"objectDomain": "Procedure", "objectId": 1, "objectName": "P"}]}, False),
        ({"base_objects_accessed": [{"objectDomain": "TRUNCATED", "objectName": "TRUNCATED"}]}, False),
    ],
)
def test_what_only_reads(row: Json, is_read: bool) -> None:  # noqa: FBT001 - what is expected
    nothing = {"direct_objects_accessed": [], "base_objects_accessed": [], "objects_modified": []}
    assert only_reads(content(**{**nothing, **row})) is is_read


# --- roles ------------------------------------------------------------------------------------------------------------

ROLES: Final = """PREFIX ah: <https://w3id.org/access-history#> PREFIX prov: <http://www.w3.org/ns/prov#>
SELECT DISTINCT ?user ?day ?name ?role WHERE {
  ?read %s ; prov:wasAssociatedWith ?user ; prov:startedAtTime ?time .
  ?user a ah:User .
  OPTIONAL { ?read ah:roleName ?name }
  OPTIONAL { ?read ah:role ?role . ?role a ah:Role }
  BIND(SUBSTR(STR(?time), 1, 10) AS ?day)
}"""


def test_a_daily_read_refers_to_the_role_of_its_queries(tmp_path: Path) -> None:
    """Roles of the account and of a database can have one name, and are two."""
    read = {"objectDomain": "Table", "objectId": 1, "objectName": "D.S.T"}
    kinds = ["ROLE", "DATABASE_ROLE", None, "APPLICATION_ROLE"]
    rows = [
        {**GOOD, "query_id": f"q{number}", "base_objects_accessed": [read], "objects_modified": []}
        for number in range(len(kinds) + 1)
    ]
    lines = [{"query_id": f"q{number}", "role_name": "R", "role_type": kind} for number, kind in enumerate(kinds)]
    history = str(exports.ndjson(lines, tmp_path / "lines.ndjson"))
    stores = [load(export(rows, tmp_path, mode, "--query-history", history)) for mode in ("full", "daily")]
    full, daily = (
        set(asked(store, ROLES % kind))
        for store, kind in zip(stores, ("prov:qualifiedUsage ?access", "a ah:DailyRead"), strict=True)
    )
    assert daily == full
    base = f"snowflake://{exports.ACCOUNT}"
    roles = {f"{base}/{kind}/name/R" for kind in ("role", "database-role")}
    assert {(name, role) for _, _, name, role in daily} == {("R", None), (None, None), *(("R", one) for one in roles)}
    nodes = asked(stores[1], "PREFIX ah: <https://w3id.org/access-history#> SELECT ?r WHERE { ?r a ah:DailyRead }")
    assert len(nodes) == 4, "a role of the account, of a database, of an application; and none"
    there = {quad.subject for quad in stores[1]}
    assert {quad.object for quad in stores[1] if "access-history#role>" in str(quad.predicate)} <= there
