"""The validation report, in SHACL's own vocabulary (SHACL, section 3.6), without blank nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rdflib import RDF, SH, Graph, Literal, URIRef

if TYPE_CHECKING:
    from pyspark.sql import Row

    from exporter.rdf.validation import Verdict

LIMIT: Final = 10_000
"""Results that are listed; the report counts all of them by shape."""
_REPORT: Final = "https://w3id.org/access-history/report"


def shacl_report(verdict: Verdict) -> str:
    """All rounds' results as Turtle, the first :data:`LIMIT` of them."""
    graph = Graph()
    graph.bind("sh", SH)
    report = URIRef(_REPORT)
    graph.add((report, RDF.type, SH.ValidationReport))
    graph.add((report, SH.conforms, Literal(not verdict.by_shape)))
    rows = [
        row for found in verdict.found for row in found.orderBy("iri", "shape", "path", "value").limit(LIMIT).collect()
    ]
    for number, row in enumerate(rows[:LIMIT], start=1):
        _add(graph, report, URIRef(f"{_REPORT}/result/{number}"), row)
    return graph.serialize(format="turtle")


def _add(graph: Graph, report: URIRef, result: URIRef, row: Row) -> None:
    graph.add((report, SH.result, result))
    graph.add((result, RDF.type, SH.ValidationResult))
    graph.add((result, SH.focusNode, URIRef(row["iri"])))
    graph.add((result, SH.sourceShape, URIRef(row["shape"])))
    graph.add((result, SH.resultSeverity, SH[row["severity"]]))
    graph.add((result, SH.resultMessage, Literal(row["message"])))
    if row["path"]:
        graph.add((result, SH.resultPath, URIRef(row["path"])))
    if row["value"]:
        graph.add((result, SH.value, Literal(row["value"])))
