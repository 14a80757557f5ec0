"""The vocabulary table, the ontology, the shapes and the JSON-LD context agree on every term.

Each failure lists every place that is missing, so that "add a property" can be followed by running this file.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from functools import cache
from typing import TYPE_CHECKING, Final

import pytest
from rdflib import OWL, RDF, RDFS, SH, SKOS, Graph, URIRef
from rdflib.namespace import DCTERMS

from exporter.graph import reference
from exporter.graph.terms import (
    AH,
    DOMAIN_CLASSES,
    KIND_CLASSES,
    PREFIXES,
    SETTING_CLASSES,
    UNRECORDED_COLUMN_VERSION_TYPES,
    UNRECORDED_VERSION_TYPES,
    NodeClass,
    Property,
)
from exporter.graph.vocabulary import NODE_CLASSES
from tests.graph.published import all_shapes, iri, local, ontology, shapes
from tests.graph.shape_graphs import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rdflib.term import Node

CONTEXT: Final = "python -m exporter.graph.reference context > ontology/context.jsonld"
IRI: Final = URIRef(AH.removesuffix("#"))
PAIRS: Final = [(node_class, one) for node_class in NODE_CLASSES for one in node_class.properties]


@cache
def context() -> dict[str, str | dict[str, str]]:
    """The terms of the JSON-LD context by the IRI that they stand for, as ``prefix:name``."""
    text = (ROOT / "ontology" / "context.jsonld").read_text(encoding="utf-8")
    terms: dict[str, str | dict[str, str]] = json.loads(text)["@context"]
    return {
        (term if isinstance(term, str) else term["@id"]): term
        for term in terms.values()
        if isinstance(term, str | dict)
    }


@cache
def emitted_classes() -> frozenset[str]:
    """Every class of ours that the code can write: those of the tables, and those that it names beside them."""
    tables = (
        {node_class.name for node_class in NODE_CLASSES} | set(DOMAIN_CLASSES.values()) | set(SETTING_CLASSES.values())
    )
    versions = (UNRECORDED_VERSION_TYPES, UNRECORDED_COLUMN_VERSION_TYPES)
    of_kinds = {name for names in (*KIND_CLASSES.values(), *versions) for name in names}
    code = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "exporter" / "graph" / "nodes").glob("*.py"))
    named = set(re.findall(r'"(ah:[A-Z]\w+)"', code))
    return frozenset(name for name in tables | of_kinds | named if name.startswith("ah:"))


def properties_of(node_class: NodeClass) -> Iterator[Node]:
    """The property shapes of the node shapes that are targeted at a class."""
    for shape in shapes().subjects(SH.targetClass, iri(node_class.name)):
        yield from shapes().objects(shape, SH.property)


def shape_of(node_class: NodeClass, one: Property) -> Node | None:
    """The property shape that says of what kind the values are; those that compare or narrow them stand beside it."""
    kind = SH.datatype if one.is_literal else SH["class"]
    on_path = (shape for shape in properties_of(node_class) if (shape, SH.path, iri(one.term)) in shapes())
    return next((shape for shape in on_path if shapes().value(shape, kind) is not None), None)


def places_without(node_class: NodeClass, one: Property) -> list[str]:
    """Where a property of the table is missing, or said to be something else."""
    missing = [*_in_ontology(one), *_in_context(one), *_in_shapes(node_class, one)]
    return [f"{node_class.name} {one.term}: {place}" for place in missing]


def _in_ontology(one: Property) -> Iterator[str]:
    kind = OWL.DatatypeProperty if one.is_literal else OWL.ObjectProperty
    if one.term.startswith("rdfs:"):
        return
    if (iri(one.term), RDF.type, kind) not in ontology():
        yield f"declare it as a {kind.fragment} in ontology/access-history.ttl"
    elif one.term.startswith("ah:") and ontology().value(iri(one.term), RDFS.range) != iri(one.range):
        yield f"rdfs:range is not {one.range} in ontology/access-history.ttl"


def _in_context(one: Property) -> Iterator[str]:
    term = context().get(one.term)
    wanted = "@id" if not one.is_literal else None if one.range == "xsd:string" else one.range
    if term is None or (term.get("@type") if isinstance(term, dict) else None) != wanted:
        yield f"make the context again: {CONTEXT}"


def _in_shapes(node_class: NodeClass, one: Property) -> Iterator[str]:
    shape = shape_of(node_class, one)
    if shape is None:
        name = f"{node_class.name.removeprefix('ah:')}-{one.term.partition(':')[2]}"
        yield f"add ahs:{name} to shapes/, with an example that fails it in shapes/invalid/{name}.ttl"
        return
    graph = shapes()
    said = graph.value(shape, SH.datatype if one.is_literal else SH["class"])
    if said != iri(one.range):
        yield f"ahs:{local(shape)} says {said}, not {one.range}"
    at_least, at_most = graph.value(shape, SH.minCount), graph.value(shape, SH.maxCount)
    if (at_least is not None and at_least.toPython() > 0) is not one.required:  # type: ignore[attr-defined]  # a literal of rdflib
        yield f"ahs:{local(shape)} has sh:minCount {at_least}, required is {one.required}"
    if (at_most is None) is not one.many:
        yield f"ahs:{local(shape)} has sh:maxCount {at_most}, many is {one.many}"


def test_every_property_is_in_ontology_context_and_shapes() -> None:
    forgotten = [place for node_class, one in PAIRS for place in places_without(node_class, one)]
    assert not forgotten, "\n".join(["", *forgotten])


def test_a_missing_property_is_reported_with_each_place() -> None:
    one = Property("ah:costCenter", "xsd:string")
    told = "\n".join(places_without(NODE_CLASSES[0], one))
    for place in ("ontology/access-history.ttl", "ontology/context.jsonld", "shapes/invalid/Query-costCenter.ttl"):
        assert f"{place}" in told


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        (Property("ah:queryId", "xsd:integer", required=True), "rdfs:range is not xsd:integer"),
        (Property("ah:queryId", "xsd:integer", required=True), "not xsd:integer"),
        (Property("ah:queryId", "xsd:string"), "required is False"),
        (Property("ah:queryId", "xsd:string", required=True, many=True), "many is True"),
        (Property("prov:used", "ah:Column", many=True), "not ah:Column"),
    ],
)
def test_a_property_that_differs_is_named(changed: Property, told: str) -> None:
    assert any(told in place for place in places_without(NODE_CLASSES[0], changed))


def test_every_class_is_in_ontology_and_context() -> None:
    graph = ontology()
    forgotten = [
        f"{name}: declare it as an owl:Class in ontology/access-history.ttl"
        for name in sorted(emitted_classes())
        if (iri(name), RDF.type, OWL.Class) not in graph
    ]
    forgotten += [f"{name}: make the context again: {CONTEXT}" for name in sorted(emitted_classes() - set(context()))]
    assert not forgotten, "\n".join(["", *forgotten])


def test_every_node_class_has_a_shape_with_its_types() -> None:
    """``also``: the classes of others that the node shape asks for by ``sh:hasValue`` on ``rdf:type``."""
    graph = shapes()
    forgotten = []
    for node_class in NODE_CLASSES:
        asked = {
            value
            for shape in properties_of(node_class)
            if (shape, SH.path, RDF.type) in graph
            for value in graph.objects(shape, SH.hasValue)
        }
        forgotten += [
            f"{node_class.name}: no shape asks for the type {name}"
            for name in node_class.also
            if iri(name) not in asked
        ]
        if (None, SH.targetClass, iri(node_class.name)) not in graph:
            forgotten.append(f"{node_class.name}: no node shape in shapes/ is targeted at it")
    assert not forgotten, "\n".join(["", *forgotten])


def test_every_type_that_is_added_is_a_superclass() -> None:
    """A node says the classes of PROV beside ours, and the ontology draws the same conclusion."""
    missing = [
        f"{node_class.name} rdfs:subClassOf {name}"
        for node_class in NODE_CLASSES
        for name in node_class.also
        if iri(name) not in set(ontology().transitive_objects(iri(node_class.name), RDFS.subClassOf))
    ]
    assert not missing, f"state in ontology/access-history.ttl: {', '.join(missing)}"


def test_a_kind_of_object_is_a_subclass_of_object_and_a_setting_of_setting() -> None:
    of_kinds = {name for names in KIND_CLASSES.values() for name in names if name.startswith("ah:")} | set(
        DOMAIN_CLASSES.values()
    )
    wanted = dict.fromkeys(of_kinds, "ah:SnowflakeObject") | dict.fromkeys(SETTING_CLASSES.values(), "ah:Setting")
    missing = [
        f"{name} rdfs:subClassOf {above}"
        for name, above in sorted(wanted.items())
        if iri(above) not in set(ontology().transitive_objects(iri(name), RDFS.subClassOf))
    ]
    assert not missing, f"state in ontology/access-history.ttl: {', '.join(missing)}"


def test_no_shape_uses_an_undefined_term() -> None:
    graph = shapes()
    terms = {one.term for _, one in PAIRS} | {"rdf:type"}
    paths = {iri(term) for term in terms}
    unknown = [
        f"ahs:{local(shape)}: sh:path {path}" for shape, path in graph.subject_objects(SH.path) if path not in paths
    ]
    compared = (SH.lessThanOrEquals, SH.disjoint, SH.equals, SH.lessThan)
    unknown += [
        f"ahs:{local(shape)}: {path}"
        for term in compared
        for shape, path in graph.subject_objects(term)
        if path not in paths
    ]
    classes = {*ontology().subjects(RDF.type, OWL.Class)}
    unknown += [
        f"ahs:{local(shape)}: {term.fragment} {name}"
        for term in (SH.targetClass, SH["class"])
        for shape, name in graph.subject_objects(term)
        if name not in classes
    ]
    assert not unknown, "\n".join(["", *sorted(unknown)])


def test_every_property_shape_hangs_on_a_node_shape() -> None:
    hanging = set(shapes().objects(None, SH.property))
    loose = [local(shape) for shape in all_shapes() if "-" in local(shape) and not local(shape).startswith("part-")]
    assert [name for name in loose if URIRef(f"https://w3id.org/access-history/shapes#{name}") not in hanging] == []


def test_every_term_of_the_ontology_is_emitted_or_above_one_that_is() -> None:
    graph = ontology()
    emitted = {iri(name) for name in emitted_classes()} | {iri(one.term) for _, one in PAIRS}
    above = {
        other
        for term in emitted
        for relation in (RDFS.subClassOf, RDFS.subPropertyOf)
        for other in graph.transitive_objects(term, relation)
    }
    unused = [str(term) for term in terms_of(graph) if term not in above]
    assert not unused, f"nothing writes these terms; take them out of ontology/access-history.ttl: {unused}"


def terms_of(graph: Graph) -> list[Node]:
    """The classes and properties of our namespace."""
    kinds = (OWL.Class, OWL.ObjectProperty, OWL.DatatypeProperty)
    return sorted({term for kind in kinds for term in graph.subjects(RDF.type, kind) if str(term).startswith(AH)})


def test_every_term_is_documented() -> None:
    graph = ontology()
    wanted = (RDFS.label, RDFS.comment, SKOS.example, RDFS.isDefinedBy)
    lacking = [f"{term}: {one}" for term in terms_of(graph) for one in wanted if graph.value(term, one) is None]
    assert not lacking, "\n".join(["", *lacking])


def test_no_two_terms_have_one_label() -> None:
    named = Counter(
        str(label).lower() for term in terms_of(ontology()) for label in ontology().objects(term, RDFS.label)
    )
    assert [label for label, times in named.items() if times > 1] == []


def test_every_property_says_where_it_belongs_and_what_it_holds() -> None:
    graph = ontology()
    schema = URIRef("https://schema.org/domainIncludes")
    for node_class, one in PAIRS:
        if one.term.startswith("ah:"):
            domains = {*graph.objects(iri(one.term), RDFS.domain), *graph.objects(iri(one.term), schema)}
            above = set(graph.transitive_objects(iri(node_class.name), RDFS.subClassOf))
            assert domains & above, f"{one.term} is written on {node_class.name}, which is not among its domains"


def test_the_ontology_says_what_it_is() -> None:
    graph = ontology()
    said = (
        DCTERMS.title, DCTERMS.description, DCTERMS.creator, DCTERMS.created, DCTERMS.modified, DCTERMS.license,
        OWL.versionIRI, OWL.versionInfo, URIRef("http://purl.org/vocab/vann/preferredNamespacePrefix"),
    )  # fmt: skip
    assert [str(term) for term in said if graph.value(IRI, term) is None] == []
    assert str(graph.value(IRI, URIRef("http://purl.org/vocab/vann/preferredNamespaceUri"))) == AH


def test_the_alignments_are_on_terms_of_ours() -> None:
    alignments = Graph().parse(ROOT / "ontology" / "alignments.ttl")
    ours = {term for triple in alignments for term in triple if str(term).startswith(AH)}
    assert ours <= set(terms_of(ontology()))


def test_the_context_is_made_again_after_a_change() -> None:
    assert (ROOT / "ontology" / "context.jsonld").read_text(encoding="utf-8") == reference.context(), CONTEXT


def test_the_context_gives_each_prefix_and_no_term_of_ours_that_is_not_there() -> None:
    text = json.loads((ROOT / "ontology" / "context.jsonld").read_text(encoding="utf-8"))["@context"]
    assert {name: text.get(name) for name in PREFIXES} == PREFIXES
    ours = {iri(name) for name in context() if name.startswith("ah:")}
    assert ours == set(terms_of(ontology()))
