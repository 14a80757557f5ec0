"""The graph in other syntaxes, the catalog and the tags: the same triples in each, read by other programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest
import rdflib
from pyoxigraph import BlankNode, Quad, RdfFormat, parse
from rdflib import DCAT, DCTERMS, FOAF, RDF, SKOS, Graph, URIRef

from exporter.graph.store import load
from exporter.graph.terms import SYNTAXES, Node
from exporter.graph.vocabulary import UNRECORDED_QUERY
from exporter.pipeline import texts
from exporter.pipeline.job import ExportJob
from exporter.pipeline.messages import Message
from tests import exports
from tests.graph import catalogs
from tests.graph.samples import ACCOUNT, BASE
from tests.histories import random_history

if TYPE_CHECKING:
    from pathlib import Path

    from tests.histories import Json

READ_AS: Final = {one.ending: RdfFormat.from_extension(one.ending) for one in SYNTAXES.values()}
TAGGED: Final = "snowflake://TEST-18-tag-history/"
Triples = set[tuple[str, str, str]]
# rdflib's own reader of JSON-LD uses what rdflib has deprecated
pytestmark = pytest.mark.filterwarnings("ignore:ConjunctiveGraph is deprecated:DeprecationWarning")


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All rows that the tests have, in every syntax, with the catalog."""
    folder = tmp_path_factory.mktemp("interchange")
    rows = exports.ndjson(exports.all_rows(), folder / "rows.ndjson")
    given = ("--outputs", "graph,catalog", "--graph-format", ",".join(SYNTAXES))
    assert exports.export([rows], folder / "out", *given) == 0
    return folder / "out"


def triple(quad: Quad) -> tuple[str, str, str]:
    return str(quad.subject), str(quad.predicate), str(quad.object)


def triples(path: Path) -> Triples:
    return {triple(quad) for quad in parse(path=path, format=READ_AS[path.suffix[1:]])}


def every(out: Path, ending: str) -> Triples:
    files = sorted((out / "graph").glob(f"*.{ending}"))
    assert files
    return set().union(*map(triples, files))


@pytest.mark.parametrize("ending", list(READ_AS)[1:])
def test_the_triples_are_the_same_in_every_syntax(ending: str, out: Path) -> None:
    """Whatever the names and texts hold: the rows are those of the examples and of random histories."""
    turtle_, other = every(out, "ttl"), every(out, ending)
    assert len(turtle_) > 1000
    assert sorted(other - turtle_) == []
    assert sorted(turtle_ - other) == []


@pytest.mark.parametrize("ending", ["nt", "jsonld"])
def test_another_engine_reads_the_same(ending: str, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rdflib, "NORMALIZE_LITERALS", False)
    read = Graph()
    for file in sorted((out / "graph").glob(f"*.{ending}")):
        read.parse(file)
    again = parse(read.serialize(format="nt", encoding="utf-8"), format=RdfFormat.N_TRIPLES)
    assert set(map(triple, again)) == every(out, "ttl")


def test_a_load_is_a_named_graph(out: Path) -> None:
    files = (out / "graph").glob("*.nq")
    names = {quad.graph_name.value for file in files for quad in parse(path=file, format=RdfFormat.N_QUADS)}
    assert len(names) == 1
    assert names.pop().startswith(f"snowflake://{exports.ACCOUNT}/load/")


def test_the_same_queries_are_the_same_load(tmp_path: Path) -> None:
    """In any order, and however often they are delivered; and others are another."""
    rows = random_history(1, 12)
    fewer = [row for row in rows if row["query_id"] != rows[0]["query_id"]]
    told = [rows, list(reversed(rows)), rows + rows, fewer]
    first, *again, other = [load_of(one, tmp_path / str(number)) for number, one in enumerate(told)]
    assert again == [first, first]
    assert other != first


def load_of(rows: list[Json], folder: Path) -> str:
    folder.mkdir()
    given = exports.ndjson(rows, folder / "rows.ndjson")
    assert exports.export([given], folder / "out", "--outputs", "graph", "--graph-format", "nquads") == 0
    (file,) = (folder / "out" / "graph").iterdir()
    (name,) = {quad.graph_name.value for quad in parse(path=file, format=RdfFormat.N_QUADS)}
    return str(name)


@pytest.mark.parametrize("size", [1, 100, texts.PIECE])
@pytest.mark.parametrize("syntax", SYNTAXES)
def test_every_part_of_a_large_graph_is_a_document(syntax: str, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of several tasks puts its nodes together to pieces, which are one file."""
    monkeypatch.setattr(texts, "PIECE", size)
    job = ExportJob(ACCOUNT, BASE, syntaxes=(syntax,), query_digest=7)
    output, write = texts.graph_output(syntax), texts.writer(syntax, BASE, job.query_digest).render
    nodes = [Node(UNRECORDED_QUERY, f"query/{n}", UNRECORDED_QUERY.types, {"ah:queryId": (str(n),)}) for n in range(7)]
    found: list[set[tuple[str, str, str]]] = []
    for part in (nodes[:1], nodes[1:3], nodes[3:]):
        told = [Message(output, "", b"", write(node).encode()) for node in part]
        pieces = list(texts.pieces(told, job))
        document = b"".join(piece.body + b"\n" for piece in pieces)
        found.append({triple(quad) for quad in parse(document, format=READ_AS[SYNTAXES[syntax].ending])})
    assert [len(one) for one in found] == [3, 6, 12]
    assert len(set().union(*found)) == 3 * len(nodes)


@pytest.mark.parametrize("ending", ["nt", "jsonld"])
def test_questions_are_answered_from_other_syntaxes(ending: str, out: Path, tmp_path: Path) -> None:
    (tmp_path / "graph").mkdir()
    for file in (out / "graph").glob(f"*.{ending}"):
        (tmp_path / "graph" / file.name).write_bytes(file.read_bytes())
    (tmp_path / "export.ttl").write_bytes((out / "export.ttl").read_bytes())
    assert len(load(tmp_path)) == len(load(out))


# --- the catalog and the tags


@pytest.fixture(scope="module")
def catalog(out: Path) -> Graph:
    """As rdflib reads the JSON-LD."""
    return Graph().parse(out / "catalog.jsonld")


@pytest.fixture(scope="module")
def tags(out: Path) -> Graph:
    return Graph().parse(out / "tags.jsonld")


@pytest.fixture(scope="module")
def graph(out: Path) -> Graph:
    read = Graph()
    for file in (out / "graph").glob("*.nt"):
        read.parse(file)
    return read


@pytest.mark.parametrize("name", ["catalog", "tags"])
def test_both_syntaxes_say_the_same_and_no_node_is_blank(name: str, out: Path) -> None:
    assert triples(out / f"{name}.ttl") == triples(out / f"{name}.jsonld")
    quads = parse(path=out / f"{name}.ttl", format=RdfFormat.TURTLE)
    assert not [quad for quad in quads if isinstance(quad.subject, BlankNode) or isinstance(quad.object, BlankNode)]


def test_every_term_is_one_of_its_vocabulary(catalog: Graph, tags: Graph) -> None:
    assert catalogs.unknown_terms(catalog, tags) == set()


def test_every_dataset_is_found_from_the_catalog_of_its_account(catalog: Graph, graph: Graph) -> None:
    assert catalogs.listed(catalog, graph) == catalogs.holding_data(graph)


def test_datasets_have_the_columns_that_the_graph_knows(catalog: Graph, graph: Graph) -> None:
    assert len(catalogs.columns(catalog, graph)) > 100


def test_a_place_of_files_is_a_distribution(catalog: Graph, graph: Graph) -> None:
    assert catalogs.distributed(catalog, graph)


def test_a_theme_is_the_value_that_holds_now(catalog: Graph, tags: Graph) -> None:
    """One tag was set to sensitive and then to public, another set and unset again."""
    column = URIRef(f"{TAGGED}table/501/column/EMAIL")
    now = {(str(tags.value(tags.value(one, SKOS.inScheme), DCTERMS.title)), str(tags.value(one, SKOS.prefLabel)))
           for one in catalog.objects(column, DCTERMS.subject)}  # fmt: skip
    assert now == {("GOVERNANCE.TAGS.DATA_CATEGORY", "public")}


def test_every_theme_is_a_concept_of_a_scheme(catalog: Graph, tags: Graph) -> None:
    assert catalogs.themes(catalog, tags)


def test_what_a_tag_allows_is_a_concept(tags: Graph) -> None:
    scheme = next(one for one in tags.subjects(RDF.type, SKOS.ConceptScheme) if "13-create-tag/" in str(one))
    values = {str(tags.value(one, SKOS.prefLabel)) for one in tags.subjects(SKOS.inScheme, scheme)}
    assert values == {"sensitive", "public"}


def test_who_publishes_is_said(catalog: Graph) -> None:
    every = set(catalog.subjects(RDF.type, DCAT.Catalog))
    assert every
    for one in every:
        assert catalog.value(catalog.value(one, DCTERMS.publisher), FOAF.name) is not None
        assert catalog.value(one, DCTERMS.description) is not None
