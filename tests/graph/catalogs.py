"""The rules for every catalog and its tags, checked with rdflib beside the graph that they are made from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import rdflib
from rdflib import CSVW, DCAT, DCTERMS, FOAF, PROV, RDF, RDFS, SKOS, Graph, URIRef

if TYPE_CHECKING:
    from rdflib.term import Node

AH: Final = rdflib.Namespace("https://w3id.org/access-history#")
LISTED: Final = """SELECT ?dataset ?title {
  ?top a dcat:Catalog ; dcat:catalog*/dcat:dataset ?dataset . ?dataset a dcat:Dataset ; dcterms:title ?title .
  FILTER NOT EXISTS { ?above dcat:catalog ?top } }"""

ENDED: Final = """SELECT DISTINCT ?column {
  { ?ending ah:property "columns" ; ah:subOperation "DROP" } UNION { ?ending ah:property "objectName" }
  ?ending ah:onColumn ?column . ?query ah:hasChange/ah:hasSetting ?ending ; prov:startedAtTime ?time .
  FILTER NOT EXISTS {
    { ?version prov:specializationOf ?column ; prov:wasGeneratedBy ?later } UNION
    { ?shown ah:onColumn ?column . ?later ah:hasChange/ah:hasSetting ?shown }
    ?later prov:startedAtTime ?then . FILTER(?then > ?time || (?then = ?time && STR(?later) > STR(?query))) } }"""
"""The columns that a statement dropped or renamed, and that no later one writes, adds, or sets something on."""


def unknown_terms(catalog: Graph, tags: Graph) -> set[Node]:
    """Terms that the vocabularies do not have, as rdflib lists them; it refuses others."""
    known = {URIRef(term) for vocabulary in (CSVW, DCAT, DCTERMS, FOAF, SKOS, RDF) for term in dir(vocabulary)}
    used = {*catalog.predicates(), *tags.predicates()}
    used |= {kind for one in (catalog, tags) for kind in one.objects(None, RDF.type)}
    assert DCAT.Dataset in used
    return used - known


def listed(catalog: Graph, graph: Graph) -> set[Node]:
    """The datasets that DCAT's own links lead to from the top; each has the name that the graph gives it."""
    rows = catalog.query(LISTED, initNs={"dcat": DCAT, "dcterms": DCTERMS})
    found = {(row[0], str(row[1])) for row in rows}  # type: ignore[index]  # pyoxigraph types results wider
    assert all(str(graph.value(one, RDFS.label) or title) == title for one, title in found)
    return {one for one, _ in found}


def holding_data(graph: Graph) -> set[Node]:
    """The objects of a graph that hold data: what was dropped or replaced does not, and its last name has ended."""
    kinds = (AH.Table, AH.View, AH.Stage, AH.Stream, AH.Location)
    held = {one for kind in kinds for one in graph.subjects(RDF.type, kind)}
    return {
        one for one in held
        if not (names := set(graph.objects(one, AH.hasName))) or any(not graph.value(it, AH.validUntil) for it in names)
    }  # fmt: skip


def columns(catalog: Graph, graph: Graph) -> set[Node]:
    """The columns of the datasets: those that the graph knows and no statement ended, by their names there."""
    ended = {row[0] for row in graph.query(ENDED, initNs={"ah": AH, "prov": PROV})}
    found = {
        (dataset, column)
        for dataset, schema in catalog.subject_objects(CSVW.tableSchema)
        for column in catalog.objects(schema, CSVW.column)
    }
    datasets = set(catalog.subjects(RDF.type, DCAT.Dataset))
    assert found == {(one, column) for column, one in graph.subject_objects(AH.columnOf) if one in datasets} - {
        (graph.value(column, AH.columnOf), column) for column in ended
    }
    for _, column in found:
        assert catalog.value(column, CSVW.name) == graph.value(column, AH.columnName)
    return {column for _, column in found}


def distributed(catalog: Graph, graph: Graph) -> set[Node]:
    """The objects that are places of files: each place is a distribution."""
    placed = set(graph.subjects(AH.locationUrl))
    for one in placed:
        places = {str(url) for url in graph.objects(one, AH.locationUrl)}
        parts = set(catalog.objects(one, DCAT.distribution))
        assert {str(catalog.value(part, DCTERMS.title)) for part in parts} == places
        assert all(isinstance(catalog.value(part, DCAT.accessURL), URIRef) for part in parts)
    return placed


def themes(catalog: Graph, tags: Graph) -> set[Node]:
    """The themes: each is a concept of a scheme."""
    found = {*catalog.objects(None, DCAT.theme), *catalog.objects(None, DCTERMS.subject)}
    assert found <= set(tags.subjects(RDF.type, SKOS.Concept))
    assert set(tags.objects(None, SKOS.inScheme)) <= set(tags.subjects(RDF.type, SKOS.ConceptScheme))
    assert set(catalog.objects(None, DCAT.themeTaxonomy)) == set(tags.subjects(RDF.type, SKOS.ConceptScheme))
    assert set(tags.objects(None, SKOS.hasTopConcept)) == set(tags.subjects(RDF.type, SKOS.Concept))
    return found
