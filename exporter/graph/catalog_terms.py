"""The classes of nodes of the catalog and of the tags, in the terms of DCAT, SKOS and CSVW.

Sources: Data Catalog Vocabulary 3, sections 6.3 to 6.8; SKOS Reference, sections 3 to 5; Metadata Vocabulary for
Tabular Data, section 5.
"""

from __future__ import annotations

from typing import Final

from exporter.graph.terms import PREFIXES, NodeClass, many, maybe, one

CATALOG_PREFIXES: Final = {
    **{name: PREFIXES[name] for name in ("dcterms", "rdf", "skos", "xsd")},
    "csvw": "http://www.w3.org/ns/csvw#",
    "dcat": "http://www.w3.org/ns/dcat#",
    "foaf": "http://xmlns.com/foaf/0.1/",
}
TAG_PREFIXES: Final = {name: PREFIXES[name] for name in ("dcterms", "rdf", "skos", "xsd")}
CATALOG: Final = NodeClass(
    "dcat:Catalog",
    (),
    (
        one("dcterms:title"),
        one("dcterms:description"),
        one("dcterms:publisher", "foaf:Agent"),
        many("dcat:catalog", "dcat:Catalog"),
        many("dcat:dataset", "dcat:Dataset"),
        many("dcat:themeTaxonomy", "skos:ConceptScheme"),
    ),
)
PUBLISHER: Final = NodeClass("foaf:Agent", (), (one("foaf:name"),))
DATASET: Final = NodeClass(
    "dcat:Dataset",
    (),
    (
        one("dcterms:title"),
        one("dcterms:description"),
        one("dcterms:identifier"),
        many("dcterms:alternative"),
        maybe("dcterms:modified", "xsd:dateTime"),
        many("dcat:theme", "skos:Concept"),
        many("dcat:distribution", "dcat:Distribution"),
        maybe("csvw:tableSchema", "csvw:Schema"),
    ),
)
DISTRIBUTION: Final = NodeClass("dcat:Distribution", (), (one("dcterms:title"), one("dcat:accessURL", "rdfs:Resource")))
TABLE_SCHEMA: Final = NodeClass("csvw:Schema", (), (many("csvw:column", "csvw:Column"),))
COLUMN: Final = NodeClass(
    "csvw:Column",
    (),
    (
        one("csvw:name"),
        many("dcterms:identifier"),
        many("dcterms:subject", "skos:Concept"),
    ),
)
CATALOG_CLASSES: Final = (CATALOG, PUBLISHER, DATASET, DISTRIBUTION, TABLE_SCHEMA, COLUMN)
SCHEME: Final = NodeClass(
    "skos:ConceptScheme",
    (),
    (one("dcterms:title"), many("skos:hasTopConcept", "skos:Concept")),
)
CONCEPT: Final = NodeClass(
    "skos:Concept",
    (),
    (
        one("skos:prefLabel"),
        one("skos:inScheme", "skos:ConceptScheme"),
        one("skos:topConceptOf", "skos:ConceptScheme"),
    ),
)
TAG_CLASSES: Final = (SCHEME, CONCEPT)
