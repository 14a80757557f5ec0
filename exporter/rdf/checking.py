"""``exporter validate``: any Turtle against the shapes, by pySHACL, in one graph."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pyshacl
from rdflib import RDF, SH, Graph

from exporter.errors import UsageError
from exporter.rdf.store import graph_files
from exporter.rdf.worker import shapes, superclasses

if TYPE_CHECKING:
    from pathlib import Path


def validate(path: Path, *, as_json: bool) -> tuple[bool, str]:
    """Whether the Turtle conforms, and pySHACL's report as text or JSON. Warnings do not count against it.

    Raises UsageError where the path holds no Turtle, or a file of it does not parse.
    """
    graph = Graph()
    for file in graph_files(path):
        try:
            graph.parse(file)
        except Exception as error:  # noqa: BLE001 - rdflib's parsers raise all kinds
            raise UsageError(f"{file}: is no Turtle: {(str(error).splitlines() or [''])[0]}") from None
    if not len(graph):
        raise UsageError(f"{path}: holds no triples, so there is nothing to check")
    graph += superclasses()
    conforms, report, text = pyshacl.validate(graph, shacl_graph=shapes(), inplace=True, allow_warnings=True)
    return conforms, _as_json(conforms=conforms, report=report) if as_json else text.rstrip()


def _as_json(*, conforms: bool, report: Graph) -> str:
    names = {"focus": SH.focusNode, "shape": SH.sourceShape, "path": SH.resultPath, "message": SH.resultMessage}
    results = [
        {name: str(report.value(result, predicate) or "") for name, predicate in names.items()}
        for result in report.subjects(RDF.type, SH.ValidationResult)
    ]
    return json.dumps({"conforms": conforms, "results": sorted(results, key=str)}, indent=1)
