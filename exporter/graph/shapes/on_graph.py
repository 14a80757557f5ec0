"""Shapes on any RDF graph, or on one node as a graph of its own where the fast tests do not settle the matter; their
results, and the report of them in SHACL's vocabulary (SHACL, section 3.6).
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING, Final, NamedTuple

from exporter.graph.iri import absolute_iri
from exporter.graph.shapes.classes import class_of, hierarchy, is_class, superclasses
from exporter.graph.shapes.model import TYPE, Data, Finding, Literal, MemoryGraph, NamedNode, Shape, Targets, Term, text
from exporter.graph.shapes.paths import PropertyPath
from exporter.graph.terms import LEXICAL, Node, NodeClass, Property, Value, full, short

if TYPE_CHECKING:
    from pyoxigraph import Quad, Triple

    from exporter.graph.shapes.reading import Shapes


class NodeGraph(MemoryGraph):
    """The graph of some nodes below ``base``, with the superclasses of the ontology. Of a node that is only referred
    to, the class is derived from its IRI.
    """

    def __init__(self, nodes: Iterable[Node], base: str) -> None:
        super().__init__()
        self._base = base
        self.by_subject.update(_ontology().by_subject)
        for node in nodes:
            properties = _properties(node.of)
            described = self.by_subject.setdefault(iri_of(node, base), {})
            described.setdefault(TYPE, {}).update({NamedNode(full(name)): None for name in node.types})
            for term, values in node.values.items():
                iri, predicate = properties[term]
                described.setdefault(iri, {}).update({term_of(value, predicate, base): None for value in values})

    def has_class(self, node: Term, class_: NamedNode) -> bool:
        """Whether the node is an instance, by its types; by its IRI where the node itself is not in this graph."""
        if not isinstance(node, NamedNode) or is_class(node.value):
            return False
        names = [short(text(type_)) for type_ in self.objects(node, TYPE)] or [class_of(node.value, self._base)]
        return any(class_.value in superclasses(name) for name in names)


@cache
def _ontology() -> MemoryGraph:
    return MemoryGraph(hierarchy())


@cache
def _properties(node_class: NodeClass) -> dict[str, tuple[NamedNode, Property]]:
    """The properties of a class with their IRIs, by term."""
    return {predicate.term: (NamedNode(full(predicate.term)), predicate) for predicate in node_class.properties}


def term_of(value: Value, predicate: Property, base: str) -> Term:
    """A value in memory as an RDF term, by the range of its property."""
    if not predicate.is_literal:
        return NamedNode(absolute_iri(str(value), base))
    if predicate.range == "xsd:string":
        return Literal(str(value))
    return Literal(LEXICAL[predicate.range](value), datatype=NamedNode(full(predicate.range)))


def iri_of(node: Node, base: str) -> NamedNode:
    """The IRI of a node in memory."""
    return NamedNode(absolute_iri(node.iri, base))


def validate(triples: MemoryGraph | Iterable[Triple | Quad], shapes: Shapes) -> list[Result]:
    """The results of the shapes on the graph, in order. Names of graphs are ignored: all quads are one graph.

    Only superclasses that the graph states are known: add those of the ontology
    (:func:`exporter.graph.shapes.classes.hierarchy`).
    """
    graph = triples if isinstance(triples, MemoryGraph) else MemoryGraph(triples)
    return results_at(
        [(shape, focus) for shape in shapes.targeted for focus in focus_nodes(graph, shape.targets)], graph
    )


def focus_nodes(graph: MemoryGraph, targets: Targets) -> dict[Term, None]:
    """The nodes that a shape applies to (SHACL, section 2.1.3)."""
    nodes: dict[Term, None] = dict.fromkeys(targets.nodes)
    for class_ in targets.classes:
        nodes |= dict.fromkeys(graph.instances(class_))
    for predicate in targets.subjects_of:
        nodes |= {subject: None for _, subjects in graph.pairs(predicate) for subject in subjects}
    for predicate in targets.objects_of:
        nodes |= {value: None for value, _ in graph.pairs(predicate)}
    return nodes


def is_target(node: Term, targets: Targets, graph: MemoryGraph) -> bool:
    """Whether a shape applies to a node, by its classes and properties."""
    return any(graph.has_class(node, class_) for class_ in targets.classes) or any(
        graph.objects(node, predicate) for predicate in targets.subjects_of
    )


def results_at(focus_nodes: Iterable[tuple[Shape, Term]], data: Data) -> list[Result]:
    """The results of each shape at its focus node, in order."""
    return in_order(
        [
            result_of(
                finding.focus,
                shape.name,
                finding.path,
                finding.value,
                severity=shape.severity,
                component=finding.constraint.component_iri,
                message=" ".join([message.value for message in shape.messages]) or _default_message(finding),
                messages=shape.messages,
                shown=shape.shown,
            )
            for targeted, focus in focus_nodes
            for finding in targeted.results(data, focus)
            for shape in [finding.shape]
        ]
    )


def _default_message(finding: Finding) -> str:
    """The message for a shape that has no sh:message."""
    path = finding.shape.path
    return f"does not meet {finding.constraint.component}{'' if path is None else f' on {path}'}"


# --- results ----------------------------------------------------------------------------------------------------------


ALLOWED: Final = frozenset({"Warning", "Info"})
"""Severities that are no violation."""


class Terms(NamedTuple):
    """The parts of a result as Turtle writes them, for the validation report. ``path``: None for the node as a whole; a
    path of several steps is a blank node, as SHACL requires (section 2.3.1). ``value``: None where no single value is
    at fault. ``messages``: the sh:message of the shape, each with its language; empty where it has none.
    """

    focus: str
    shape: str
    path: str | None
    value: str | None
    messages: tuple[str, ...]


class Result(NamedTuple):
    """One validation result (SHACL, section 3.6.2), as texts: IRIs are whole, a blank node is ``_:name``.

    ``focus``: the node; ``shape``: the shape that it does not conform to, for a part without a name with that which it
    is part of; ``path``: the IRI of the property, or a path
    as SPARQL writes it (None: the node as a whole); ``value``: the value at fault (None: a value is missing, or their
    number is at fault); ``severity``: ``Violation``, ``Warning``, ``Info``, or another IRI; ``component``: the IRI of
    the constraint component; ``terms``: the same parts as RDF terms.
    """

    focus: str
    shape: str
    path: str | None
    value: str | None
    severity: str
    message: str
    component: str
    terms: Terms


def result_of(  # noqa: PLR0913 - the parts of a result
    focus: Term,
    shape: str,
    path: PropertyPath | None,
    value: Term | None,
    *,
    severity: str,
    component: str,
    message: str,
    messages: Iterable[Literal] = (),
    shown: str = "",
) -> Result:
    """The result with these parts; ``shape``: its name; ``messages``: the sh:message of the shape; ``shown``: how a
    person finds the shape, if not by its name.
    """
    return Result(
        text(focus),
        shown or shape,
        None if path is None else path.text,
        None if value is None else text(value),
        severity,
        message,
        component,
        Terms(
            str(focus),
            shape if shape.startswith("_:") else f"<{shape}>",
            None if path is None else path.turtle,
            None if value is None else str(value),
            tuple(map(str, messages)),
        ),
    )


def in_order(results: Iterable[Result]) -> list[Result]:
    """The results in an order that depends on nothing but the results themselves."""
    return sorted(results, key=lambda result: [(part is not None, part) for part in result[:-1]])


def violations(results: Iterable[Result]) -> int:
    """How many results are violations: all but warnings and information. A graph with results of these two alone may
    be published, though in the words of SHACL (section 3.4) it conforms only where there are no results at all.
    """
    return sum(result.severity not in ALLOWED for result in results)


_REPORT: Final = "https://w3id.org/access-history/report"
_HEADER: Final = "@prefix sh: <http://www.w3.org/ns/shacl#> .\n"


def shacl_report(results: Iterable[Result], *, is_cut: bool = False) -> str:
    """The results as Turtle. As in SHACL, ``sh:conforms`` is true only where there are none, not even warnings.
    ``is_cut``: whether there are more, which the report then says.

    Only a path of several steps and a shape without a name are blank nodes, as SHACL has them (section 2.3.1).
    """
    numbered = [(f"{_REPORT}/result/{number}", result) for number, result in enumerate(results, start=1)]
    listed = "".join(f" ;\n    sh:result <{iri}>" for iri, _ in numbered)
    report = f"<{_REPORT}> a sh:ValidationReport ;\n    sh:conforms {str(not numbered).lower()}{listed} .\n"
    cut = (
        f"# Only the first {len(numbered)} results are here; report.json counts all of them by shape.\n"
        if is_cut
        else ""
    )
    return "\n".join([cut + _HEADER, report, *(_described(iri, result) for iri, result in numbered)])


def _described(iri: str, result: Result) -> str:
    terms = result.terms
    severity = f"sh:{result.severity}" if result.severity.isalpha() else f"<{result.severity}>"
    lines = [
        f"<{iri}> a sh:ValidationResult",
        f"sh:focusNode {terms.focus}",
        f"sh:sourceShape {terms.shape}",
        f"sh:sourceConstraintComponent <{result.component}>",
        f"sh:resultSeverity {severity}",
        *(f"sh:resultMessage {message}" for message in terms.messages or (str(Literal(result.message)),)),
        *([] if terms.path is None else [f"sh:resultPath {terms.path}"]),
        *([] if terms.value is None else [f"sh:value {terms.value}"]),
    ]
    return " ;\n    ".join(lines) + " .\n"
