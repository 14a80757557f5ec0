"""The same question asked of pySHACL, the reference engine, with the answer in the same form.

Imported by who needs it alone: rdflib and pySHACL take a second to load.
"""

from __future__ import annotations

import logging
import warnings
from functools import cache
from typing import TYPE_CHECKING, Final

import pyshacl
from rdflib import SH, XSD, BNode, Graph, Literal, URIRef

from exporter.errors import UsageError
from exporter.graph.shapes.reading import path_of, severity_of
from exporter.graph.shapes.results import Result, in_order
from exporter.graph.shapes.terms import BlankNode, NamedNode, sh

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyoxigraph import Triple
    from rdflib.term import Node

    from exporter.graph.shapes.source import Source
    from exporter.graph.shapes.terms import Term

_LITERALS: Final = "rdflib.term"
"""The logger that tells of every literal that is none of its datatype; here that is a result, and not news."""


def validate(triples: Iterable[Triple], source: Source) -> list[Result]:
    """What pySHACL finds in the graph, in order; raises UsageError where it cannot say."""
    return asked(triples, source, graph_of(source.triples))


def asked(triples: Iterable[Triple], source: Source, shapes: Graph) -> list[Result]:
    """The same with the source's shapes in another form."""
    logger = logging.getLogger(_LITERALS)
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            _, report, _ = pyshacl.validate(graph_of(triples), shacl_graph=shapes, inplace=True)
    except Exception as error:  # noqa: BLE001 - pySHACL raises all kinds, also of Python's own
        said = (str(error).splitlines() or [type(error).__name__])[0]
        raise UsageError(f"pySHACL cannot check this: {said}. Try --by compiled") from None
    finally:
        logger.setLevel(level)
    return in_order([_result(report, one, source) for one in report.objects(None, SH.result)])


def graph_of(triples: Iterable[Triple]) -> Graph:
    """The triples as rdflib has them, blank nodes under their names, literals with their own texts:
    ``"01"^^xsd:integer`` is another term than ``"1"^^xsd:integer`` (RDF 1.1, section 3.3).
    """
    iri = cache(URIRef)

    def term(one: Term) -> Node:
        if isinstance(one, NamedNode):
            return iri(one.value)
        if isinstance(one, BlankNode):
            return BNode(one.value)
        if one.language:
            return Literal(one.value, lang=one.language)
        datatype = iri(one.datatype.value)
        return Literal(one.value, datatype=None if datatype == XSD.string else datatype, normalize=False)

    graph = Graph()
    graph.addN((term(one.subject), term(one.predicate), term(one.object), graph) for one in triples)  # type: ignore[arg-type]
    return graph


def _result(report: Graph, result: Node, source: Source) -> Result:
    def one(predicate: URIRef) -> Node | None:
        return report.value(result, predicate)

    shape, path = one(SH.sourceShape), one(SH.resultPath)
    messages = sorted(str(message) for message in report.objects(result, SH.resultMessage))
    return Result(
        _text(one(SH.focusNode)) or "",
        _text(shape) or "",
        _path(shape, source) if isinstance(path, BNode) else _text(path),
        _text(one(SH.value)),
        severity_of(str(one(SH.resultSeverity))),
        " ".join(messages),
    )


def _path(shape: Node | None, source: Source) -> str:
    """The path of a shape, written as SPARQL does; the report has it in nodes of its own."""
    subject = BlankNode(shape) if isinstance(shape, BNode) else NamedNode(str(shape))
    (node,) = source.graph.objects(subject, sh("path"))
    return path_of(source, subject, node).text


def _text(node: Node | None) -> str | None:
    if node is None:
        return None
    return f"_:{node}" if isinstance(node, BNode) else str(node)
