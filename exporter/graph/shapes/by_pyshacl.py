"""Validation by pySHACL, the reference engine, with results in the same form as those of the compiled shapes.

Import this module only where it is needed: rdflib and pySHACL take a second to load.
"""

from __future__ import annotations

import logging
import re
import warnings
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, Final, cast

import pyshacl
from rdflib import SH, XSD, BNode, Graph, Literal, URIRef
from rdflib.paths import Path
from rdflib.plugins.sparql import prepareQuery

from exporter.errors import UsageError
from exporter.graph.shapes import classes, misspelt
from exporter.graph.shapes.constraints import flags_of
from exporter.graph.shapes.literals import Expression
from exporter.graph.shapes.model import BlankNode, NamedNode, Term, sh, text
from exporter.graph.shapes.model import Literal as Plain
from exporter.graph.shapes.on_graph import Result, in_order, result_of
from exporter.graph.shapes.paths import Predicate, PropertyPath
from exporter.graph.shapes.reading import (
    compiled,
    constraints_in_sparql,
    messages_of,
    problem_of_sparql,
    severity_of,
)
from exporter.graph.shapes.source import ShapesGraph, path_of

if TYPE_CHECKING:
    from pyoxigraph import Triple
    from rdflib.term import Node

_OF_PYTHON: Final = (AssertionError, AttributeError, TypeError, LookupError)
_LITERALS: Final = "rdflib.term"
"""The logger that warns of each literal that does not fit its datatype. Here that is a result, so the warning is noise.
"""


def validate(triples: Iterable[Triple], source: ShapesGraph) -> list[Result]:
    """The results of pySHACL, in order; raises UsageError where pySHACL fails on the shapes or on the graph, or where a
    sh:pattern takes too long.
    """
    triples = list(triples)
    for constraint, shape in constraints_in_sparql(source):
        problem = problem_of_sparql(source, constraint)
        if problem is not None:
            raise source.refused(shape, problem)
    _refuse_misspelt(source)
    _search(triples, source)
    return run_pyshacl(triples, source, graph_of(source.triples))


def _refuse_misspelt(source: ShapesGraph) -> None:
    """Raise UsageError for a misspelt term in the text of a query: what it asks for is never there."""
    for name in ("select", "ask"):
        for query, subjects in source.graph.pairs(sh(name)):
            for subject in subjects if isinstance(query, Plain) else ():
                for iri in sorted(_iris_in(text(query), _prefixes(source, subject))):
                    term = NamedNode(iri)
                    fault = misspelt.fault_of_term(term, source.graph) or classes.fault_of_term(term, source.graph)
                    if fault:
                        raise source.refused(subject, f"sh:{name}: {fault}")


def _prefixes(source: ShapesGraph, constraint: Term) -> dict[str, str]:
    """The prefixes that a query may use: those that files declare, above all for it, and those that rdflib knows."""
    known = {prefix: str(namespace) for prefix, namespace in Graph().namespaces()}
    for_it = {
        declared for given in source.values(constraint, "prefixes") for declared in source.values(given, "declare")
    }
    every = [(declared, holder) for declared, holders in source.graph.pairs(sh("declare")) for holder in holders]
    for declared, _ in sorted(every, key=lambda pair: pair[0] in for_it):
        for prefix in source.values(declared, "prefix"):
            known |= {text(prefix): text(namespace) for namespace in source.values(declared, "namespace")}
    return known


def _iris_in(query: str, prefixes: dict[str, str]) -> set[str]:
    """The IRIs in a query, as rdflib parses it; none if it does not, which pySHACL reports."""
    try:
        return set(_iris(prepareQuery(query, initNs=prefixes).algebra))
    except Exception:  # noqa: BLE001 - rdflib raises all kinds for what is no query
        return set()


def _iris(part: object) -> Iterator[str]:
    """The IRIs in a part of a query: those of terms and paths, and the datatypes of literals."""
    if isinstance(part, URIRef):
        yield str(part)
    elif isinstance(part, Literal):
        yield from _iris(part.datatype)
    elif isinstance(part, Path):
        yield from _iris([*vars(part).values()])
    elif isinstance(part, dict | list | tuple | set):
        for inner in part.values() if isinstance(part, dict) else part:
            yield from _iris(inner)


def _search(triples: list[Triple], source: ShapesGraph) -> None:
    """Raise UsageError if a sh:pattern takes longer than the limit for a value that it may be asked for. pySHACL's own
    searches have no limit.
    """
    for pattern, subjects in source.graph.pairs(sh("pattern")):
        for subject in subjects:
            flags = flags_of("".join(text(given) for given in source.values(subject, "flags")).lower())
            paths = {path for path in source.values(subject, "path") if isinstance(path, NamedNode)}
            with suppress(re.error):  # pySHACL reports it
                expression = Expression(text(pattern), flags)
                for value in _texts(triples, paths) if expression.is_limited else ():
                    expression.found(value)


def _texts(triples: list[Triple], predicates: set[NamedNode]) -> list[str]:
    """The texts of all values of the predicates; without any, of all terms. Sorted, for messages."""
    terms = (
        (triple.object for triple in triples if triple.predicate in predicates)
        if predicates
        else (term for triple in triples for term in (triple.subject, triple.object))
    )
    return sorted({text(cast("Term", term)) for term in terms})


def run_pyshacl(triples: Iterable[Triple], source: ShapesGraph, shapes: Graph) -> list[Result]:
    """The same, with ``shapes`` in the place of the source's own graph."""
    logger = logging.getLogger(_LITERALS)
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            _, report, _ = pyshacl.validate(graph_of(triples), shacl_graph=shapes, inplace=True)
    except Exception as error:  # noqa: BLE001 - pySHACL raises all kinds, also of Python's own
        raise _refused(error, source) from None
    finally:
        logger.setLevel(level)
    if not isinstance(report, Graph):  # pySHACL returns some of its errors in the place of a report
        raise _refused(report, source)
    return in_order([_result(report, node, source) for node in report.objects(None, SH.result)])


def _refused(error: object, source: ShapesGraph) -> UsageError:
    """The error for what pySHACL cannot check. It names the other engine only if that can read the shapes. For an error
    of Python's own, which names no shape, it says what the other engine finds wrong.
    """
    said = (str(getattr(error, "message", error)).splitlines() or [type(error).__name__])[0].rstrip(". ")
    try:
        compiled(source)
    except UsageError as other:
        if isinstance(error, _OF_PYTHON) and "is not compiled" not in str(other):
            return other
        return UsageError(f"pySHACL cannot check this: {said}")
    return UsageError(f"pySHACL cannot check this: {said}. Try --by compiled")


def graph_of(triples: Iterable[Triple]) -> Graph:
    """The triples as an rdflib graph. Blank nodes keep their names, literals their texts: ``"01"^^xsd:integer`` and
    ``"1"^^xsd:integer`` are different terms (RDF 1.1, section 3.3).
    """
    iri = cache(URIRef)

    def term(literal: Term) -> Node:
        if isinstance(literal, NamedNode):
            return iri(literal.value)
        if isinstance(literal, BlankNode):
            return BNode(literal.value)
        if literal.language:
            return Literal(literal.value, lang=literal.language)
        datatype = iri(literal.datatype.value)
        return Literal(literal.value, datatype=None if datatype == XSD.string else datatype, normalize=False)

    graph = Graph()
    graph.addN((term(triple.subject), term(triple.predicate), term(triple.object), graph) for triple in triples)  # type: ignore[arg-type]  # pyoxigraph types terms wider, for RDF-star
    return graph


def _result(report: Graph, result: Node, source: ShapesGraph) -> Result:
    def one(predicate: URIRef) -> Node | None:
        return report.value(result, predicate)

    focus, shape, value = (_term(one(name)) for name in (SH.focusNode, SH.sourceShape, SH.value))
    assert focus is not None, "a result has a focus node (SHACL, section 3.6.2.1)"
    assert shape is not None, "pySHACL writes the shape of each result"
    path = _path(one(SH.resultPath), shape, source)
    messages = sorted(str(message) for message in report.objects(result, SH.resultMessage))
    return result_of(
        focus,
        text(shape),
        path,
        value,
        severity=severity_of(str(one(SH.resultSeverity))),
        component=str(one(SH.sourceConstraintComponent)),
        message=" ".join(messages),
        messages=messages_of(source, shape),
        shown=source.shown(shape),
    )


def _path(path: Node | None, shape: Term, source: ShapesGraph) -> PropertyPath | None:
    """The path of a result. The report of pySHACL has only nodes that describe a path of several steps: it is then the
    path of the shape.
    """
    if path is None or isinstance(path, URIRef):
        return None if path is None else Predicate(NamedNode(path))
    (node,) = source.graph.objects(shape, sh("path"))
    return path_of(source, shape, node)


def _term(node: Node | None) -> Term | None:
    """The same term as :func:`graph_of` was given."""
    if isinstance(node, Literal):
        datatype = None if node.datatype is None else NamedNode(node.datatype)
        return Plain(str(node), language=node.language) if node.language else Plain(str(node), datatype=datatype)
    if isinstance(node, BNode):
        return BlankNode(node)
    return None if node is None else NamedNode(str(node))
