"""RDF terms, and the IRIs that shapes are written with."""

from __future__ import annotations

from typing import Final

from pyoxigraph import BlankNode, Literal, NamedNode

__all__ = [
    "LANG_STRING", "RDF", "RDFS", "RESOURCE", "SH", "STRING", "SUBCLASS", "TYPE", "XSD",
    "BlankNode", "Literal", "NamedNode", "Term", "sh", "text",
]  # fmt: skip

Term = NamedNode | BlankNode | Literal

SH: Final = "http://www.w3.org/ns/shacl#"
RDF: Final = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
RDFS: Final = "http://www.w3.org/2000/01/rdf-schema#"
XSD: Final = "http://www.w3.org/2001/XMLSchema#"

TYPE: Final = NamedNode(f"{RDF}type")
SUBCLASS: Final = NamedNode(f"{RDFS}subClassOf")
RESOURCE: Final = NamedNode(f"{RDFS}Resource")
LANG_STRING: Final = NamedNode(f"{RDF}langString")
STRING: Final = NamedNode(f"{XSD}string")


def sh(name: str) -> NamedNode:
    """``path`` -> the SHACL term ``sh:path``."""
    return NamedNode(f"{SH}{name}")


def text(term: Term) -> str:
    """The term as results show it: the IRI, the lexical form, or ``_:name``."""
    return f"_:{term.value}" if isinstance(term, BlankNode) else term.value
