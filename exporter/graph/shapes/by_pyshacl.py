"""Validation by pySHACL, the reference engine, with results in the same form as those of the compiled shapes.

Import this module only where it is needed: rdflib and pySHACL take a second to load.
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
"""The logger that warns of each literal that does not fit its datatype. Here that is a result, so the warning is noise.
"""


def validate(triples: Iterable[Triple], source: Source) -> list[Result]:
    """The results of pySHACL, in order; raises UsageError where pySHACL fails on the shapes or on the graph."""
    return asked(triples, source, graph_of(source.triples))


def asked(triples: Iterable[Triple], source: Source, shapes: Graph) -> list[Result]:
    """The same, with ``shapes`` in the place of the source's own graph."""
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
    """The triples as an rdflib graph. Blank nodes keep their names, literals their texts: ``"01"^^xsd:integer`` and
    ``"1"^^xsd:integer`` are different terms (RDF 1.1, section 3.3).
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
    """The path of a shape as SPARQL writes it; the report of pySHACL has only nodes that describe it."""
    subject = BlankNode(shape) if isinstance(shape, BNode) else NamedNode(str(shape))
    (node,) = source.graph.objects(subject, sh("path"))
    return path_of(source, subject, node).text


def _text(node: Node | None) -> str | None:
    if node is None:
        return None
    return f"_:{node}" if isinstance(node, BNode) else str(node)
