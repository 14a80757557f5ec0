"""What runs in Spark's Python workers: pySHACL on one batch of nodes at a time. Imports nothing of Spark."""

from __future__ import annotations

import gc
import re
from functools import cache
from typing import TYPE_CHECKING, Any, Final

import pyshacl
from rdflib import RDF, RDFS, SH, Graph, URIRef

from exporter.rdf import reading
from exporter.rdf.kinds import KIND_CLASSES
from exporter.rdf.targets import add_marks, for_parts
from exporter.rdf.terms import AH, PREFIXES, full
from exporter.resources import ontology_dir, shapes_dir

if TYPE_CHECKING:
    from rdflib.term import Node

FIELDS: Final = ("iri", "shape", "path", "value", "message", "severity")
WRONG_CLASS: Final = f"{AH}ANodeHasTheClassThatItsIriSays"

_OBJECT: Final = "(location/[^/]+|[^/]+/(name/)?[^/]+)"
_STATE: Final = "(version/[^/]+|initial-version|version-after-drop/[^/]+)"
_PARTS: Final = (
    (r"^query/[^/]+$", "ah:Query"),
    (r"^query/[^/]+/access/", "ah:Access"),
    (r"^query/[^/]+/enforced(-by-provider)?/", "ah:PolicyEnforcement"),
    (r"^query/[^/]+/join/", "ah:Join"),
    (r"^query/[^/]+/association/", "ah:AgentAssociation"),
    (r"^query/[^/]+/change/.*/setting/", "ah:Setting"),
    (r"^query/[^/]+/change/", "ah:Change"),
    (r"^account$", "ah:Account"),
    (r"^organization$", "ah:Organization"),
    (r"^user/[^/]+$", "ah:User"),
    (r"^agent/", "ah:SoftwareAgent"),
    (rf"^{_OBJECT}/column/[^/]+$", "ah:Column"),
    (rf"^{_OBJECT}/called/[^/]+/[^/]+$", "ah:ObjectName"),
    (rf"^{_OBJECT}/version/[^/]+/derivation/", "ah:ColumnDerivation"),
    (rf"^{_OBJECT}/{_STATE}/column/[^/]+$", "ah:ColumnVersion"),
    (rf"^{_OBJECT}/{_STATE}$", "ah:Version"),
    (r"^location/[^/]+$", "ah:Location"),
)
_CLASS_BY_PATH: Final = tuple((re.compile(pattern), name) for pattern, name in _PARTS)


def class_of(iri: str, base: str) -> str:
    """The class, as ``ah:…``, that an IRI of ours says its node has."""
    below = re.match(rf"{re.escape(base)}(account/[^/]+/)?|snowflake://[^/]+/", iri)
    if not below:
        return "ah:Location"
    path = iri[below.end() :]
    for pattern, name in _CLASS_BY_PATH:
        if pattern.match(path):
            return name
    kind = path.split("/", 1)[0]
    known = KIND_CLASSES.get(kind)
    return known[0] if known else "ah:Policy" if kind.endswith("-policy") else "ah:SnowflakeObject"


@cache
def shapes() -> Graph:
    """The shapes of ``shapes/``, one graph."""
    graph = Graph()
    for file in sorted(shapes_dir().glob("*.ttl")):
        graph.parse(file, format="turtle")
    return graph


@cache
def _shapes_for_parts() -> Graph:
    return for_parts(shapes())


@cache
def superclasses() -> Graph:
    """The ontology's class hierarchy, which SHACL's ``sh:class`` looks at."""
    ontology = Graph()
    for file in sorted(ontology_dir().glob("access-history.ttl")):
        ontology.parse(file, format="turtle")
    hierarchy = Graph()
    for triple in ontology.triples((None, RDFS.subClassOf, None)):
        hierarchy.add(triple)
    return hierarchy


def prepare() -> None:
    """Read the shapes and the ontology, which a check would else do when it is the first of its process."""
    _shapes_for_parts()
    superclasses()


def check(nodes: list[Any], base: str) -> list[tuple[str | None, ...]]:
    """Validation results of one graph of nodes (``iri``, ``turtle``, ``refs``), in the order of :data:`FIELDS`."""
    gc.disable()  # a third of the time, to look again and again at terms that are all in use
    try:
        found = check_nodes([{"iri": one[0], "turtle": one[1], "refs": one[2]} for one in nodes], base)
    finally:
        gc.enable()
    return [tuple(row[name] for name in FIELDS) for row in found]


def check_nodes(nodes: list[dict[str, Any]], base: str) -> list[dict[str, str | None]]:
    """What pySHACL says of the nodes, and whether each has the class that its IRI says."""
    graph = reading.graph(_header(base) + "".join(node["turtle"] for node in nodes))
    add_marks(graph, shapes(), superclasses())
    wrong = [_wrong_class(node["iri"], base) for node in nodes if not _has_its_class(graph, node["iri"], base)]
    described = {node["iri"] for node in nodes}
    for ref in {ref for node in nodes for ref in node["refs"]} - described:
        graph.add((URIRef(ref), RDF.type, URIRef(full(class_of(ref, base)))))
    graph += superclasses()
    _, report, _ = pyshacl.validate(
        graph, shacl_graph=_shapes_for_parts(), inplace=True, inference="none", advanced=False
    )
    results = [_result(report, result) for result in report.subjects(RDF.type, SH.ValidationResult)]
    return wrong + [result for result in results if result["iri"] in described]


def _header(base: str) -> str:
    return f"@base <{base}> .\n" + "".join(f"@prefix {name}: <{iri}> .\n" for name, iri in PREFIXES.items())


def _has_its_class(graph: Graph, iri: str, base: str) -> bool:
    said = class_of(iri, base)
    types = set(graph.objects(URIRef(iri), RDF.type))
    return URIRef(full(said)) in types or (said == "ah:Query" and URIRef(full("ah:UnrecordedQuery")) in types)


def _wrong_class(iri: str, base: str) -> dict[str, str | None]:
    message = f"the node should be a {class_of(iri, base)} by its IRI"
    return dict(zip(FIELDS, (iri, WRONG_CLASS, None, None, message, "Violation"), strict=True))


def _result(report: Graph, result: Node) -> dict[str, str | None]:
    def one(predicate: URIRef) -> str | None:
        value = report.value(result, predicate)
        return None if value is None else str(value)

    severity = (one(SH.resultSeverity) or "Violation").rsplit("#", 1)[-1]
    values = (
        one(SH.focusNode),
        one(SH.sourceShape),
        one(SH.resultPath),
        one(SH.value),
        one(SH.resultMessage),
        severity,
    )
    return dict(zip(FIELDS, values, strict=True))
