"""The catalog and the tags, read by other programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest
from pyoxigraph import BlankNode, RdfFormat, parse
from rdflib import CSVW, DCAT, DCTERMS, FOAF, RDF, SKOS, Graph, URIRef

from exporter.graph.catalog import (
    CatalogEntry,
    CatalogNote,
    catalog_entry,
    catalog_nodes,
    catalog_notes,
    documents,
    merged_notes,
    tag_nodes,
)
from exporter.graph.iri import Iris
from exporter.graph.nodes.objects import of_object
from exporter.graph.writers import writer_of
from exporter.model.answers import Answers
from exporter.model.facts import Change, Content, ObjectReference, QueryFacts, Setting, Write
from exporter.model.object_state import NamePeriod, ObjectHistory, Profile
from tests import exports
from tests.graph import catalogs
from tests.graph.samples import ACCOUNT, BASE, IRIS, NINE, TEN, by_iri, query, table

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# rdflib's own reader of JSON-LD uses what rdflib has deprecated
pytestmark = pytest.mark.filterwarnings("ignore:ConjunctiveGraph is deprecated:DeprecationWarning")
OTHER: Final = Iris("ACME-SALES", ACCOUNT, BASE)
MAIL, TAG, ALLOWING = "table/501/column/EMAIL", "tag/7", "tag/8"


def thing(key: str, *names: str, **known: Any) -> tuple[Profile, ObjectHistory]:
    """An object that had these names, the last of which holds."""
    named = [NamePeriod(NINE + n, name, NINE + n + 1, NINE) for n, name in enumerate(names[:-1])]
    named += [NamePeriod(TEN, name, None, TEN) for name in names[-1:]]
    seen = dict.fromkeys(names, (NINE, TEN))
    return Profile(ACCOUNT, key, names=seen, **known), ObjectHistory(named)


THINGS: Final = (
    thing("table/501", "DB.SCH.OLD", "DB.SCH.PEOPLE", columns={"EMAIL": {"11"}, "A B": set()}),
    thing("view/502", 'db."s.x".v'),
    thing("stream/503", "ONE"),
    thing("stage/504", "DB.SCH.S", locations={"s3://b/c", "https://x.org/d"}),
    thing("table/505"),
    thing("location/s3%3A%2F%2Fb", locations={"s3://b"}),
    thing("function/506", "DB.SCH.F"),
    thing("masking-policy/507", "DB.SCH.P"),
    thing(TAG, "GOVERNANCE.TAGS.DATA_CATEGORY"),
    thing(ALLOWING),
)
ENTRIES: Final = [made for profile, life in THINGS if (made := catalog_entry(profile, life)) is not None]


def tagged(change: str, key: str, tag: str, value: str | None, what: str = "ADD", column: str | None = None) -> Setting:
    return Setting(change, key, column, "tags", "T", tag, None, what, value)


def altered(query_id: str, *settings: Setting, start: int = NINE) -> QueryFacts:
    changes = tuple(
        Change(one.change_key, ObjectReference(one.object_key, "table"), "ALTER", settings=(one,)) for one in settings
    )
    content = Content(changes=changes, writes=(Write(table(501)),))
    return QueryFacts(ACCOUNT, query_id, start, "ETL", content)


def said() -> Iterator[CatalogNote]:
    """One tag was set to sensitive and then to public, another set and unset again; a third is on the table."""
    first = altered("q1", tagged("a", "table/501", TAG, "sensitive", column="EMAIL"), tagged("b", "view/502", TAG, "x"))
    later = altered(
        "q2", tagged("a", "table/501", TAG, "public", "ALTER", "EMAIL"), tagged("b", "view/502", TAG, None, "DROP"),
        tagged("c", "table/501", TAG, "for all"), start=TEN,
    )  # fmt: skip
    allowed = Setting("d", ALLOWING, None, "allowedValues", "red", None, None, "ADD", None)
    over = {("a", "EMAIL", "tags", TAG): TEN, ("b", None, "tags", TAG): TEN}
    yield from catalog_notes(first, Answers(settings=over))
    yield from catalog_notes(later, Answers())
    yield from catalog_notes(altered("q3", allowed), Answers())


def files() -> dict[str, str]:
    """Of two accounts, of which one has a table and a tag alone."""
    few = [CatalogEntry("table/1", "A.B.C", "Table"), CatalogEntry("tag/1", "T", "Tag")]
    catalog = [*catalog_nodes(ENTRIES, said(), IRIS), *catalog_nodes(few, [], OTHER)]
    tags = [*tag_nodes(ENTRIES, said(), IRIS), *tag_nodes(few, [], OTHER)]
    by_iri(catalog)
    by_iri(tags)
    return dict(documents(catalog, tags, BASE))


FILES: Final = files()


@pytest.fixture(scope="module")
def catalog() -> Graph:
    """As rdflib reads the JSON-LD."""
    return Graph().parse(data=FILES["catalog.jsonld"], format="json-ld")


@pytest.fixture(scope="module")
def tags() -> Graph:
    return Graph().parse(data=FILES["tags.jsonld"], format="json-ld")


@pytest.fixture(scope="module")
def graph() -> Graph:
    """What the graph says of the same things."""
    nodes = [node for profile, life in THINGS for node in of_object(profile, life, IRIS)]
    write = writer_of("ntriples", BASE).render
    return Graph().parse(data="\n".join(map(write, nodes)) + "\n", format="nt")


def triples(name: str) -> set[tuple[str, str, str]]:
    form = RdfFormat.TURTLE if name.endswith("ttl") else RdfFormat.JSON_LD
    return {(str(one.subject), str(one.predicate), str(one.object)) for one in parse(FILES[name].encode(), format=form)}


@pytest.mark.parametrize("name", ["catalog", "tags"])
def test_both_syntaxes_say_the_same_and_no_node_is_blank(name: str) -> None:
    assert triples(f"{name}.ttl") == triples(f"{name}.jsonld")
    quads = list(parse(FILES[f"{name}.ttl"].encode(), format=RdfFormat.TURTLE))
    assert quads
    assert not [quad for quad in quads if isinstance(quad.subject, BlankNode) or isinstance(quad.object, BlankNode)]


def test_the_catalog_has_the_classes_of_the_tags_that_it_refers_to(catalog: Graph, tags: Graph) -> None:
    for term, kind in (
        (DCAT.theme, SKOS.Concept),
        (DCTERMS.subject, SKOS.Concept),
        (DCAT.themeTaxonomy, SKOS.ConceptScheme),
    ):
        values = {*catalog.objects(None, term)}
        assert values
        assert all((value, RDF.type, kind) in catalog for value in values)
    assert {*tags} <= {*catalog}


def test_every_term_is_one_of_its_vocabulary(catalog: Graph, tags: Graph) -> None:
    assert catalogs.unknown_terms(catalog, tags) == set()


def test_every_dataset_is_found_from_the_catalog_of_its_account(catalog: Graph, graph: Graph) -> None:
    wanted = catalogs.holding_data(graph)
    assert len(wanted) == 6
    assert catalogs.listed(catalog, graph) == wanted | {URIRef("snowflake://ACME-SALES/table/1")}


def test_a_schema_is_a_catalog_by_its_name(catalog: Graph) -> None:
    found = {
        str(catalog.value(one, DCTERMS.title)): {str(dataset) for dataset in catalog.objects(one, DCAT.dataset)}
        for one in catalog.objects(URIRef(f"{BASE}catalog"), DCAT.catalog)
    }
    assert found == {"DB.SCH": {f"{BASE}table/501", f"{BASE}stage/504"}, 'DB."s.x"': {f"{BASE}view/502"}}
    alone = {str(one) for one in catalog.objects(URIRef(f"{BASE}catalog"), DCAT.dataset)}
    assert alone == {f"{BASE}stream/503", f"{BASE}table/505", "s3://b"}


def test_what_a_dataset_says_of_itself(catalog: Graph) -> None:
    one = URIRef(f"{BASE}table/501")
    said_ = {term: {str(value) for value in catalog.objects(one, term)} for term in catalog.predicates(one)}
    assert {term: said_[term] for term in said_ if str(term).startswith(str(DCTERMS))} == {
        DCTERMS.title: {"DB.SCH.PEOPLE"},
        DCTERMS.description: {"Table DB.SCH.PEOPLE"},
        DCTERMS.identifier: {"table/501"},
        DCTERMS.alternative: {"DB.SCH.OLD"},
        DCTERMS.modified: {"2026-01-01T10:00:00+00:00"},  # as rdflib spells it
    }
    nameless = URIRef(f"{BASE}table/505")
    assert str(catalog.value(nameless, DCTERMS.title)) == "table/505"
    assert catalog.value(nameless, DCTERMS.modified) is None


def test_a_present_name_is_not_also_a_former_one() -> None:
    names = [NamePeriod(1, "A", 2, 1), NamePeriod(2, "B", 3, 2), NamePeriod(3, "A", None, 3)]
    made = catalog_entry(Profile(ACCOUNT, "table/1"), ObjectHistory(names))
    assert made is not None
    nodes = by_iri(catalog_nodes([made], [], IRIS))
    assert nodes["table/1"].values["dcterms:alternative"] == ("B",)


def test_datasets_have_the_columns_that_the_graph_knows(catalog: Graph, graph: Graph) -> None:
    found = catalogs.columns(catalog, graph)
    assert len(found) == 2
    for column in found:
        assert catalog.value(column, DCTERMS.identifier) == graph.value(column, catalogs.AH.columnId)


def test_columns_that_were_dropped_or_renamed_are_none_of_today(tmp_path: Path) -> None:
    """D was dropped; C is called E, and has its tag; F was dropped and added again, and G renamed and written again."""
    columns = [{"columnName": name} for name in "CDFGK"]
    people = {"objectDomain": "Table", "objectId": 3, "objectName": "D.S.A"}
    drop, add = {"subOperationType": "DROP"}, {"subOperationType": "ADD"}
    pii = {"D.S.PII": {"objectId": {"value": 80}, "subOperationType": "ADD", "tagValue": {"value": "high"}}}
    altered_ = [
        {"C": {"tags": pii}},
        {"C": {"subOperationType": "ALTER", "objectName": {"value": "E"}}},
        {"D": drop, "F": drop},
        {"F": add, "G": {"subOperationType": "ALTER", "objectName": {"value": "H"}}},
    ]
    ddl = [{"object_modified_by_ddl": {**people, "operationType": "ALTER", "properties": {"columns": each}}}
           for each in altered_]  # fmt: skip
    first, last = {**people, "columns": columns}, {**people, "columns": [{"columnName": "G"}]}
    rows = [
        {"query_id": f"q{n}", "query_start_time": f"2026-01-0{n}T06:00:00Z", "user_name": "ANA", **row}
        for n, row in enumerate([{"base_objects_accessed": [first]}, *ddl, {"objects_modified": [last]}], 1)
    ]
    rows_file = exports.ndjson(rows, tmp_path / "rows.ndjson")
    assert exports.export([rows_file], tmp_path / "out", "--outputs", "graph,catalog") == 0
    made = Graph().parse(tmp_path / "out" / "catalog.ttl")
    assert {str(name) for name in made.objects(None, CSVW.name)} == {"E", "F", "G", "H", "K"}
    (tagged_column,) = made.subjects(DCTERMS.subject)
    assert str(made.value(tagged_column, CSVW.name)) == "E"
    graph_ = Graph().parse(next((tmp_path / "out" / "graph").glob("*.ttl")))
    assert len(catalogs.columns(made, graph_)) == 5


def _done(operation: str, number: int, name: str, domain: str = "Table", **properties: Any) -> dict[str, Any]:
    on = {"objectDomain": domain, "objectId": number, "objectName": name, "operationType": operation}
    return {"object_modified_by_ddl": {**on, "properties": properties}}


MADE: Final = [_done("CREATE", 1, "D.S.A"), _done("CREATE", 2, "D.T.B")]
SWAP: Final = {"swapTargetId": {"value": 1}, "swapTargetDomain": {"value": "Table"}}


@pytest.mark.parametrize(
    ("then", "listed"),
    [
        ([_done("DROP", 1, "D.S.A")], {"table/2": "D.T.B"}),
        ([_done("DROP", 1, "D.S.A"), _done("UNDROP", 1, "D.S.A")], {"table/1": "D.S.A", "table/2": "D.T.B"}),
        ([_done("REPLACE", 3, "D.S.A"), _done("REPLACE", 4, "D.S.A")], {"table/2": "D.T.B", "table/4": "D.S.A"}),
        ([_done("DROP", 8, "D.S", "Schema")], {"table/2": "D.T.B"}),
        ([_done("DROP", 9, "D", "Database")], {}),
        (
            [_done("DROP", 9, "D", "Database"), _done("UNDROP", 9, "D", "Database")],
            {"table/1": "D.S.A", "table/2": "D.T.B"},
        ),
        (
            [
                _done("CREATE", 3, "D.S.A_NEW"),
                _done("ALTER", 3, "D.S.A_NEW", swapTargetName={"value": "D.S.A"}, **SWAP),
            ],
            {"table/1": "D.S.A_NEW", "table/2": "D.T.B", "table/3": "D.S.A"},
        ),
    ],
)
def test_what_was_dropped_or_replaced_holds_no_data(
    then: list[dict[str, Any]], listed: dict[str, str], tmp_path: Path
) -> None:
    rows = [
        {"query_id": f"q{n}", "query_start_time": f"2026-01-0{n}T06:00:00Z", "user_name": "ANA", **row}
        for n, row in enumerate([*MADE, *then], 1)
    ]
    rows_file = exports.ndjson(rows, tmp_path / "rows.ndjson")
    assert exports.export([rows_file], tmp_path / "out", "--outputs", "graph,catalog") == 0
    made = Graph().parse(tmp_path / "out" / "catalog.ttl")
    titles = {one: str(made.value(one, DCTERMS.title)) for one in made.subjects(RDF.type, DCAT.Dataset)}
    assert {str(made.value(one, DCTERMS.identifier)): title for one, title in titles.items()} == listed
    assert set(made.objects(None, DCAT.dataset)) == set(titles)
    schemas = {str(made.value(one, DCTERMS.title)) for one in made.objects(None, DCAT.catalog)}
    assert schemas == {name[:3] for name in listed.values()}
    graph_ = Graph().parse(next((tmp_path / "out" / "graph").glob("*.ttl")))
    assert catalogs.listed(made, graph_) == catalogs.holding_data(graph_)


def test_a_place_of_files_is_a_distribution(catalog: Graph, graph: Graph) -> None:
    assert len(catalogs.distributed(catalog, graph)) == 2


def test_a_theme_is_the_value_that_holds_now(catalog: Graph, tags: Graph) -> None:
    def named(one: Any) -> tuple[str, str]:
        return str(tags.value(tags.value(one, SKOS.inScheme), DCTERMS.title)), str(tags.value(one, SKOS.prefLabel))

    column, whole, view = (URIRef(BASE + path) for path in (MAIL, "table/501", "view/502"))
    category = "GOVERNANCE.TAGS.DATA_CATEGORY"
    assert {named(one) for one in catalog.objects(column, DCTERMS.subject)} == {(category, "public")}
    assert {named(one) for one in catalog.objects(whole, DCAT.theme)} == {(category, "for all")}
    assert set(catalog.objects(view, DCAT.theme)) == set()


def test_every_theme_is_a_concept_of_a_scheme(catalog: Graph, tags: Graph) -> None:
    assert catalogs.themes(catalog, tags)


def test_what_a_tag_was_set_to_or_allows_is_a_concept(tags: Graph) -> None:
    def values(tag: str) -> set[str]:
        return {str(tags.value(one, SKOS.prefLabel)) for one in tags.subjects(SKOS.topConceptOf, URIRef(BASE + tag))}

    assert values(TAG) == {"sensitive", "public", "for all", "x"}
    assert values(ALLOWING) == {"red"}
    assert str(tags.value(URIRef(BASE + ALLOWING), DCTERMS.title)) == ALLOWING


def test_who_publishes_is_said(catalog: Graph) -> None:
    published = {
        str(one): str(catalog.value(catalog.value(one, DCTERMS.publisher), FOAF.name))
        for one in catalog.subjects(RDF.type, DCAT.Catalog)
    }
    assert published[f"{BASE}catalog"] == ACCOUNT
    assert (
        published["snowflake://ACME-SALES/catalog"]
        == published["snowflake://ACME-SALES/schema/name/A.B"]
        == OTHER.account
    )
    assert all(catalog.value(URIRef(one), DCTERMS.description) is not None for one in published)


def test_an_account_without_anything_has_a_catalog() -> None:
    assert {node.of.name for node in catalog_nodes([], [], IRIS)} == {"dcat:Catalog", "foaf:Agent"}
    made = dict(documents(catalog_nodes([], [], IRIS), [], BASE))
    assert list(parse(made["tags.jsonld"].encode(), format=RdfFormat.JSON_LD)) == []
    assert list(parse(made["tags.ttl"].encode(), format=RdfFormat.TURTLE)) == []


def test_only_what_holds_data_and_tags_have_an_entry() -> None:
    shown = {"table/501", "view/502", "stream/503", "stage/504", "table/505", "location/s3%3A%2F%2Fb", TAG, ALLOWING}
    assert {one.key for one in ENTRIES} == shown


def test_remarks_are_the_same_in_any_order() -> None:
    every = list(said())
    assert (
        merged_notes(every)
        == merged_notes(reversed(every))
        == merged_notes([*merged_notes(every[:2]).values(), *every[2:]])
    )
    assert merged_notes(every)["table/501"].modified == TEN


def test_a_query_that_says_nothing_for_the_catalog_has_no_remark() -> None:
    assert catalog_notes(query(), Answers()) == []
