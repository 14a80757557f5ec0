"""What follows from the ontology: the page to read, and the context of JSON-LD. ::

    python -m exporter.graph.reference > docs/ontology.html
    python -m exporter.graph.reference context > ontology/context.jsonld

Every term has an anchor, its local name: ``https://w3id.org/access-history#Query`` leads to it where the page is
served. A term shows its definition and links to superclasses, domains, ranges, alignments and shapes.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING, Final
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from rdflib import DCTERMS, OWL, RDF, RDFS, SH, SKOS, Graph, URIRef

from exporter.graph.terms import AH, PREFIXES
from exporter.graph.vocabulary import NODE_CLASSES
from exporter.system.files import ontology_dir, shapes_dir

if TYPE_CHECKING:
    from rdflib.term import Node

KINDS: Final = {
    "Classes": OWL.Class,
    "Properties that refer to things": OWL.ObjectProperty,
    "Properties that hold values": OWL.DatatypeProperty,
}
_DOMAINS: Final = (RDFS.domain, URIRef("https://schema.org/domainIncludes"))
_ONTOLOGY: Final = URIRef(AH.removesuffix("#"))
_STYLE: Final = (
    "body { font: 16px/1.5 system-ui, sans-serif; max-width: 60em; margin: 2em auto; padding: 0 1em }"
    " code, pre { font-family: ui-monospace, monospace; font-size: 0.9em }"
    " pre { background: #f4f4f4; padding: 0.6em; white-space: pre-wrap; overflow-wrap: anywhere }"
    " dt { font-weight: 600 } dd { margin-left: 1.5em } nav a { margin-right: 0.7em }"
    " section section { border-top: 1px solid #ddd } h3 small { font-weight: normal }"
)


@cache
def shapes() -> Graph:
    """The shipped shapes, one graph."""
    graph = Graph()
    for file in sorted(shapes_dir().glob("*.ttl")):
        graph.parse(file, format="turtle")
    return graph


def terms_of(graph: Graph, kind: URIRef) -> list[URIRef]:
    """The terms of one kind that the vocabulary defines, by name."""
    return sorted(
        subject for subject in graph.subjects(RDF.type, kind) if isinstance(subject, URIRef) and subject.startswith(AH)
    )


def page() -> str:
    """The page as HTML that is also well-formed XML."""
    ontology = Graph().parse(ontology_dir() / "access-history.ttl")
    aligned = Graph().parse(ontology_dir() / "alignments.ttl")
    title = str(ontology.value(_ONTOLOGY, DCTERMS.title))
    html = Element("html", lang="en")
    head = SubElement(html, "head")
    SubElement(head, "meta", charset="utf-8")
    SubElement(head, "meta", name="viewport", content="width=device-width, initial-scale=1")
    _text(head, "title", title)
    _text(head, "style", _STYLE)
    body = SubElement(html, "body")
    _text(body, "h1", title)
    _introduction(body, ontology)
    for name, kind in KINDS.items():
        section = SubElement(body, "section")
        _text(section, "h2", name)
        nav = SubElement(section, "nav")
        for term in terms_of(ontology, kind):
            _link(nav, term, ontology)
        for term in terms_of(ontology, kind):
            _term(section, term, ontology, aligned)
    indent(html, " ")
    return f"<!DOCTYPE html>\n{tostring(html, encoding='unicode')}\n"


def _introduction(body: Element, ontology: Graph) -> None:
    _text(body, "p", str(ontology.value(_ONTOLOGY, DCTERMS.description)))
    facts = SubElement(body, "dl")
    for name, predicate in {
        "Version": OWL.versionIRI,
        "Modified": DCTERMS.modified,
        "Licence": DCTERMS.license,
        "Creator": DCTERMS.creator,
    }.items():
        _described(facts, name, ontology.objects(_ONTOLOGY, predicate), ontology)
    _text(facts, "dt", "Namespace")
    _text(SubElement(facts, "dd"), "code", f"@prefix ah: <{AH}> .")


def _term(parent: Element, term: URIRef, ontology: Graph, aligned: Graph) -> None:
    section = SubElement(parent, "section", id=_local(term))
    heading = _text(section, "h3", str(ontology.value(term, RDFS.label)))
    heading.text = f"{heading.text} "
    _text(SubElement(heading, "small"), "code", f"ah:{_local(term)}")
    _text(section, "p", str(ontology.value(term, RDFS.comment)))
    for example in ontology.objects(term, SKOS.example):
        _text(section, "pre", str(example))
    facts = {
        "Is a": (*ontology.objects(term, RDFS.subClassOf), *ontology.objects(term, RDFS.subPropertyOf)),
        "Kinds of it": (*ontology.subjects(RDFS.subClassOf, term), *ontology.subjects(RDFS.subPropertyOf, term)),
        "Property of": [node for predicate in _DOMAINS for node in ontology.objects(term, predicate)],
        "Its values are": ontology.objects(term, RDFS.range),
        "Properties": [subject for predicate in _DOMAINS for subject in ontology.subjects(predicate, term)],
        "Value of": ontology.subjects(RDFS.range, term),
        "In other vocabularies": aligned.objects(term),
        "Shapes": [*shapes().subjects(SH.targetClass, term), *shapes().subjects(SH.path, term)],
    }
    described = SubElement(section, "dl")
    for name, things in facts.items():
        _described(described, name, things, ontology)
    if not len(described):
        section.remove(described)


def _described(parent: Element, name: str, things: Iterable[Node], ontology: Graph) -> None:
    nodes = sorted(set(things), key=str)
    if nodes:
        _text(parent, "dt", name)
        place = SubElement(parent, "dd")
        for thing in nodes:
            _link(place, thing, ontology)


def _link(parent: Element, thing: Node, ontology: Graph) -> None:
    """Writes a link: to the anchor for a term of ours, to the IRI for others. Literals and shapes become plain text."""
    is_ours = thing in ontology.subjects(RDF.type) and str(thing).startswith(AH)
    is_elsewhere = isinstance(thing, URIRef) and not str(thing).startswith(f"{_ONTOLOGY}/shapes#")
    text = shapes().namespace_manager.normalizeUri(thing).strip("<>") if isinstance(thing, URIRef) else str(thing)
    target = f"#{_local(thing)}" if is_ours else str(thing) if is_elsewhere else None
    place = _text(parent, "a", text) if target else _text(parent, "code", text)
    if target:
        place.set("href", target)
    place.tail = " "


def _local(term: Node) -> str:
    return str(term).removeprefix(AH)


def _text(parent: Element, tag: str, text: str) -> Element:
    made = SubElement(parent, tag)
    made.text = text
    return made


def context() -> str:
    """A short name for each class and property: with ``@id`` for a property that refers to nodes, or the datatype of
    its values; without a type for texts and classes.
    """
    named: dict[str, str | dict[str, str]] = {"id": "@id", "type": "@type"}
    ranges = {
        predicate.term: predicate.range if predicate.is_literal else "@id"
        for kind in NODE_CLASSES
        for predicate in kind.properties
    }
    ontology = Graph().parse(ontology_dir() / "access-history.ttl")
    ours = {f"ah:{_local(term)}" for kind in KINDS.values() for term in terms_of(ontology, kind)}
    by_name = sorted(ours, key=lambda term: (term[3].isupper(), term))  # properties before classes
    for term in sorted({*ranges} - ours) + by_name:
        kind = ranges.get(term, "xsd:string")
        named[term.partition(":")[2]] = term if kind == "xsd:string" else {"@id": term, "@type": kind}
    lines = (f"    {json.dumps(name)}: {json.dumps(term)}" for name, term in {**PREFIXES, **named}.items())
    return '{\n  "@context": {\n    "@version": 1.1,\n' + ",\n".join(lines) + "\n  }\n}\n"


if __name__ == "__main__":
    sys.stdout.write(context() if sys.argv[1:] == ["context"] else page())
