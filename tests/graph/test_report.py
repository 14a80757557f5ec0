"""The validation report: what SHACL says that it has (section 3.6), as pySHACL writes it, and as Jena and TopBraid read
it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pyshacl
import pytest
from pyoxigraph import RdfFormat, parse
from rdflib import RDF, SH, BNode, Graph
from rdflib.collection import Collection

from exporter.errors import UsageError
from exporter.graph.shapes.by_pyshacl import graph_of
from exporter.graph.shapes.on_graph import shacl_report
from exporter.graph.validate import ENGINES, checked
from tests.ask.jena import java
from tests.graph.any_shapes import PREFIXES
from tests.graph.shape_graphs import source
from tests.graph.test_shapes import every_example

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from rdflib.term import Node

    from exporter.graph.shapes.on_graph import Result

BY: Final = pytest.mark.parametrize("by", ENGINES)
SHAPES: Final = """
ex:Texts a sh:NodeShape ; sh:targetClass ex:Thing ; sh:closed true ; sh:ignoredProperties ( rdf:type ex:value ex:knows
    ex:number ex:a ex:b ex:nameless ) ; sh:message "closed" ;
    sh:property ex:Value, ex:Number, ex:Far, ex:Either, ex:Some, ex:Few,
        [ sh:path ex:nameless ; sh:maxCount 0 ; sh:message "none" ] .
ex:Value sh:path ex:value ; sh:datatype xsd:integer ; sh:severity sh:Warning ;
    sh:message "an integer"@en, "eine \\"ganze\\" Zahl"@de .
ex:Number sh:path ex:number ; sh:maxInclusive 3 ; sh:message "at most 3" .
ex:Far sh:path ( ex:knows [ sh:inversePath ex:value ] [ sh:zeroOrMorePath ex:knows ] ) ;
    sh:maxCount 0 ; sh:message "far" .
ex:Either sh:path [ sh:alternativePath ( ex:a [ sh:oneOrMorePath ex:b ] ) ] ; sh:nodeKind sh:IRI ; sh:message "IRI" .
ex:Some sh:path [ sh:zeroOrOnePath ex:c ] ; sh:minCount 3 ; sh:message "three" ; sh:severity ex:Grave .
ex:Few sh:path ex:a ; sh:qualifiedValueShape [ sh:nodeKind sh:Literal ] ; sh:qualifiedMinCount 3 ;
    sh:qualifiedMaxCount 0 ; sh:message "between" .
"""
DATA: Final = """
ex:one a ex:Thing ; ex:value "x\\ny"@en, "1.5"^^xsd:decimal, <urn:v>, _:b, 7 ; ex:number 4, 4.5 ; ex:other "" ;
    ex:knows "x\\ny"@en, ex:one ; ex:a "literal" ; ex:b ex:one ; ex:nameless ex:one .
"""
PARTS: Final = (SH.focusNode, SH.value, SH.resultSeverity, SH.sourceConstraintComponent, SH.sourceShape)


def described(report: Graph) -> list[tuple[str, ...]]:
    """Each result of a report with every part that the recommendation names, as text; a blank node is only that."""
    return sorted(_described(report, one) for one in report.objects(None, SH.result))


def _described(report: Graph, result: Node) -> tuple[str, ...]:
    terms = ["a blank node" if isinstance(one, BNode) else str(one) for one in _terms(report, result)]
    path = report.value(result, SH.resultPath)
    messages = sorted(one.n3() for one in report.objects(result, SH.resultMessage))
    return (*terms, "" if path is None else _path(report, path), *messages)


def _terms(report: Graph, result: Node) -> Iterator[Any]:
    for part in PARTS:
        term = report.value(result, part)
        yield term if term is None or isinstance(term, BNode) else term.n3()


def _path(report: Graph, node: Node) -> str:
    """A path in one spelling."""
    if not isinstance(node, BNode):
        return node.n3()
    if (node, RDF.first, None) in report:
        return f"({' '.join(_path(report, one) for one in Collection(report, node))})"
    ((predicate, inner),) = report.predicate_objects(node)
    return f"[{predicate.n3()} {_path(report, inner)}]"


@pytest.fixture
def own(tmp_path: Path) -> tuple[Path, Path]:
    """A graph, and shapes that it breaks in all the ways that a report has to write."""
    (tmp_path / "shapes.ttl").write_text(PREFIXES + SHAPES, encoding="utf-8")
    (tmp_path / "data.ttl").write_text(PREFIXES + DATA, encoding="utf-8")
    return tmp_path / "data.ttl", tmp_path / "shapes.ttl"


def written(results: list[Result]) -> Graph:
    """The report, with the literals as they are written: rdflib's own parser would change them."""
    return graph_of(quad.triple for quad in parse(shacl_report(results), format=RdfFormat.TURTLE))


@BY
def test_the_report_is_that_of_pyshacl(by: str, own: tuple[Path, Path]) -> None:
    """Result by result: terms and not their texts, paths of several steps, all messages."""
    data, shapes = own
    report = written(checked(data, by=by, shapes_dirs=[shapes])[0])
    _, theirs, _ = pyshacl.validate(Graph().parse(data), shacl_graph=Graph().parse(shapes))
    assert isinstance(theirs, Graph)
    assert described(report) == described(theirs)
    assert {len(described(report)) > 12, *report.objects(None, SH.conforms)} == {
        True,
        *theirs.objects(None, SH.conforms),
    }


def test_every_refusal_of_the_shipped_shapes_is_reported_as_by_pyshacl(tmp_path: Path) -> None:
    graph = every_example(tmp_path)
    (tmp_path / "all.nt").write_text("".join(f"{one} .\n" for one in graph), encoding="utf-8")
    report = written(checked(tmp_path / "all.nt", by="compiled")[0])
    _, theirs, _ = pyshacl.validate(graph_of(graph), shacl_graph=graph_of(source().triples))
    assert isinstance(theirs, Graph)
    assert described(report) == described(theirs)


@pytest.mark.jvm
def test_jena_and_topbraid_read_the_report(own: tuple[Path, Path], tmp_path: Path) -> None:
    data, shapes = own
    results = checked(data, by="compiled", shapes_dirs=[shapes])[0]
    for name, found in (("bad", results), ("good", [])):
        (tmp_path / f"{name}.ttl").write_text(shacl_report(found), encoding="utf-8")
        with java("shacl") as jvm:
            jvm.org.apache.jena.sys.JenaSystem.init()
            model = jvm.org.apache.jena.riot.RDFDataMgr.loadModel((tmp_path / f"{name}.ttl").as_uri())
            of_jena = jvm.org.apache.jena.shacl.ValidationReport.fromGraph(model.getGraph())
            node = model.listSubjectsWithProperty(model.createProperty(str(SH.conforms))).next()
            of_topbraid = jvm.org.topbraid.shacl.validation.ResourceValidationReport(node)
            assert of_jena.conforms() == of_topbraid.conforms() == (not found)
            entries = list(of_jena.getEntries())
            assert len(entries) == of_topbraid.results().size() == len(found)
            components = {str(one.sourceConstraintComponent()) for one in entries}
            assert components == {one.component for one in found}
            assert {str(one.getSourceConstraintComponent()) for one in of_topbraid.results()} == components
            paths = {str(one.resultPath()) for one in entries}
            assert len(paths) == len({one.path for one in found})


FORBIDDEN: Final = """
ex:Asked a sh:NodeShape ; sh:targetClass ex:Thing ;
    sh:sparql [ sh:message "m" ; sh:select "SELECT $this WHERE { $this ?p ?o MINUS { $this ?p 1 } }" ] .
"""


@BY
def test_a_query_that_shacl_forbids_is_refused_and_no_other_engine_is_named(by: str, own: tuple[Path, Path]) -> None:
    """SHACL, section 5.2.1: no MINUS, VALUES or SERVICE."""
    data, shapes = own
    shapes.write_text(PREFIXES + FORBIDDEN, encoding="utf-8")
    with pytest.raises(UsageError) as caught:
        checked(data, by=by, shapes_dirs=[shapes])[0]
    assert "--by" not in str(caught.value)


def test_a_query_that_pyshacl_can_ask_is_referred_to_it(own: tuple[Path, Path]) -> None:
    data, shapes = own
    allowed = FORBIDDEN.replace("MINUS { $this ?p 1 }", "FILTER (?p != <urn:minus>)")
    shapes.write_text(PREFIXES + allowed, encoding="utf-8")
    with pytest.raises(UsageError, match="--by pyshacl"):
        checked(data, by="compiled", shapes_dirs=[shapes])[0]


def test_a_report_that_is_cut_says_so(own: tuple[Path, Path]) -> None:
    data, shapes = own
    results = checked(data, by="compiled", shapes_dirs=[shapes])[0][:3]
    assert shacl_report(results, is_cut=True).startswith("# Only the first 3 results are here")
    assert "Only" not in shacl_report(results)
