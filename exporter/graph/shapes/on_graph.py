"""Shapes on any RDF graph, or on one node as a graph of its own where the fast tests do not settle the matter; their
results, and the report of them in SHACL's vocabulary (SHACL, section 3.6).
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

from exporter.graph.iri import whole
from exporter.graph.shapes.model import TYPE, BlankNode, Graph, Literal, NamedNode, Term, text
from exporter.graph.shapes.values import class_of, superclasses, term_of
from exporter.graph.terms import full

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from pyoxigraph import Quad, Triple

    from exporter.graph.shapes.model import Finding, Shape, Targets
    from exporter.graph.shapes.reading import Shapes
    from exporter.graph.terms import Node, NodeClass, Property


class NodeGraph:
    """The triples of one node (:class:`exporter.graph.shapes.model.Data`). For other nodes, the class is derived from
    the IRI.
    """

    def __init__(self, node: Node, base: str) -> None:
        self.focus = NamedNode(whole(node.iri, base))
        self._base = base
        self._classes = frozenset[str]().union(*(superclasses(name) for name in node.types))
        self._of: dict[NamedNode, dict[Term, None]] = {TYPE: {NamedNode(full(name)): None for name in node.types}}
        properties = _properties(node.of)
        for name, values in node.values.items():
            iri, predicate = properties[name]
            self._of[iri] = {term_of(value, predicate, base): None for value in values}

    def objects(self, subject: Term, predicate: NamedNode) -> Collection[Term]:
        """The values of the node's property."""
        return self._described(subject).get(predicate, {})

    def subjects(self, predicate: NamedNode, value: Term) -> Collection[Term]:
        """Always raises LookupError: a node alone does not show what refers to it. Near shapes never ask."""
        raise LookupError(f"who has {value} as {predicate}")

    def about(self, subject: Term) -> Iterator[tuple[NamedNode, Term]]:
        """Every property of the node with each of its values."""
        for predicate, values in self._described(subject).items():
            for value in values:
                yield predicate, value

    def has_class(self, node: Term, class_: NamedNode) -> bool:
        """Whether the node is an instance; for another node, whether its IRI says so."""
        if node == self.focus:
            return class_.value in self._classes
        return isinstance(node, NamedNode) and class_.value in superclasses(class_of(node.value, self._base))

    def has(self, predicate: NamedNode) -> bool:
        """Whether the node has the property."""
        return bool(self._of.get(predicate))

    def is_a(self, class_: NamedNode) -> bool:
        """Whether the node is an instance."""
        return class_.value in self._classes

    def _described(self, subject: Term) -> dict[NamedNode, dict[Term, None]]:
        if subject != self.focus or isinstance(subject, BlankNode):
            raise LookupError(f"what {subject} is")
        return self._of


@lru_cache(maxsize=1_000)
def _properties(of: NodeClass) -> dict[str, tuple[NamedNode, Property]]:
    """The properties of a class with their IRIs, by term."""
    return {predicate.term: (NamedNode(full(predicate.term)), predicate) for predicate in of.properties}


def validate(triples: Graph | Iterable[Triple | Quad], shapes: Shapes) -> list[Result]:
    """The results of the shapes on the graph, in order. Names of graphs are ignored: all quads are one graph.

    Only superclasses that the graph states are known: add those of the ontology
    (:func:`exporter.graph.shapes.values.hierarchy`).
    """
    graph = triples if isinstance(triples, Graph) else Graph(triples)
    return in_order(
        [
            in_words(result)
            for shape in shapes.targeted
            for focus in focus_nodes(graph, shape.targets)
            for result in shape.results(graph, focus)
        ]
    )


def focus_nodes(graph: Graph, targets: Targets) -> dict[Term, None]:
    """The nodes that a shape applies to (SHACL, section 2.1.3)."""
    found: dict[Term, None] = dict.fromkeys(targets.nodes)
    for class_ in targets.classes:
        found |= dict.fromkeys(graph.instances(class_))
    for predicate in targets.subjects_of:
        found |= {subject: None for _, subjects in graph.pairs(predicate) for subject in subjects}
    for predicate in targets.objects_of:
        found |= {value: None for value, _ in graph.pairs(predicate)}
    return found


def in_words(finding: Finding) -> Result:
    """The result with all its parts as texts."""
    shape, value, path = finding.shape, finding.value, finding.path
    return Result(
        text(finding.focus),
        shape.name,
        None if path is None else path.text,
        None if value is None else text(value),
        shape.severity,
        " ".join([message.value for message in shape.messages]) or _default_message(shape, finding),
        finding.constraint.component_iri,
        Terms(
            str(finding.focus),
            shape.name if shape.name.startswith("_:") else f"<{shape.name}>",
            None if path is None else path.turtle,
            None if value is None else str(value),
            tuple(map(str, shape.messages)),
        ),
    )


def _default_message(shape: Shape, finding: Finding) -> str:
    """The message for a shape that has no sh:message."""
    where = "" if shape.path is None else f" on {shape.path}"
    return f"does not meet {finding.constraint.component}{where}"


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

    ``focus``: the node; ``shape``: the shape that it does not conform to; ``path``: the IRI of the property, or a path
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
    every = [(f"{_REPORT}/result/{number}", result) for number, result in enumerate(results, start=1)]
    listed = "".join(f" ;\n    sh:result <{iri}>" for iri, _ in every)
    report = f"<{_REPORT}> a sh:ValidationReport ;\n    sh:conforms {str(not every).lower()}{listed} .\n"
    cut = (
        f"# Only the first {len(every)} results are here; report.json counts all of them by shape.\n" if is_cut else ""
    )
    return "\n".join([cut + _HEADER, report, *(_described(iri, result) for iri, result in every)])


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
