"""The catalog and the tags: what catalogs read of the graph, in the vocabularies that they know.

``catalog``: a DCAT 3 catalog for each account: its schemas as catalogs in it, their tables, views and stages as
datasets with their columns (CSVW), and the places outside of Snowflake as distributions. ``tags``: each tag as a SKOS
concept scheme, its values as concepts. What a tag says of a dataset or column now is its theme.

Sources: Data Catalog Vocabulary 3, sections 6.3 to 6.8; SKOS Reference, sections 3 to 5; Metadata Vocabulary for
Tabular Data, section 5.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from exporter.facts.identifiers import canonical_name, segment
from exporter.rdf import objects
from exporter.rdf.changes import with_intervals
from exporter.rdf.iri import column_path, known, object_path, path
from exporter.rdf.terms import PREFIXES, NodeClass, many, maybe, one
from exporter.sql import aggregates, literal, literals

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame

    from exporter.facts import Facts

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
        one("dcterms:title", "title"),
        one("dcterms:description", "description"),
        one("dcterms:publisher", "publisher_ref", "foaf:Agent"),
        many("dcat:catalog", "catalog_refs", "dcat:Catalog"),
        many("dcat:dataset", "dataset_refs", "dcat:Dataset"),
        many("dcat:themeTaxonomy", "scheme_refs", "skos:ConceptScheme"),
    ),
)
PUBLISHER: Final = NodeClass("foaf:Agent", (), (one("foaf:name", "name"),))
DATASET: Final = NodeClass(
    "dcat:Dataset",
    (),
    (
        one("dcterms:title", "title"),
        one("dcterms:description", "description"),
        one("dcterms:identifier", "identifier"),
        many("dcterms:alternative", "former_names"),
        maybe("dcterms:modified", "modified", "xsd:dateTime"),
        many("dcat:theme", "theme_refs", "skos:Concept"),
        many("dcat:distribution", "distribution_refs", "dcat:Distribution"),
        maybe("csvw:tableSchema", "schema_ref", "csvw:Schema"),
    ),
)
DISTRIBUTION: Final = NodeClass(
    "dcat:Distribution", (), (one("dcterms:title", "title"), one("dcat:accessURL", "url_ref", "rdfs:Resource"))
)
TABLE_SCHEMA: Final = NodeClass("csvw:Schema", (), (many("csvw:column", "column_refs", "csvw:Column"),))
COLUMN: Final = NodeClass(
    "csvw:Column",
    (),
    (
        one("csvw:name", "column_name"),
        many("dcterms:identifier", "column_ids"),
        many("dcterms:subject", "theme_refs", "skos:Concept"),
    ),
)
SCHEME: Final = NodeClass(
    "skos:ConceptScheme",
    (),
    (one("dcterms:title", "title"), many("skos:hasTopConcept", "concept_refs", "skos:Concept")),
)
CONCEPT: Final = NodeClass(
    "skos:Concept",
    (),
    (
        one("skos:prefLabel", "value"),
        one("skos:inScheme", "scheme_ref", "skos:ConceptScheme"),
        one("skos:topConceptOf", "scheme_ref", "skos:ConceptScheme"),
    ),
)
_KINDS: Final = ("table", "view", "stream", "stage", "table-stage", "user-stage", "location")
_PART: Final = r'(?:"(?:[^"]|"")+"|[^."]+)'
_IN_SCHEMA: Final = literal(rf"(?s)^({_PART}[.]{_PART})[.]{_PART}\z")
_OBJECT: Final = ["account", "object_key"]


def catalog(facts: Facts) -> Mapping[NodeClass, DataFrame]:
    """The nodes of the catalog, one table a class."""
    found = _datasets(facts)
    columns = facts.columns.filter(f"substring_index(object_key, '/', 1) IN ({literals(_KINDS)})")
    return {
        CATALOG: _accounts(facts, found).unionByName(_schemas(found), allowMissingColumns=True),
        PUBLISHER: facts.queries.selectExpr("account", "'publisher' AS path", "account AS name").distinct(),
        DATASET: found,
        DISTRIBUTION: _distributions(found),
        TABLE_SCHEMA: _table_schemas(columns),
        COLUMN: columns.join(_themes(facts), on=[*_OBJECT, "column_name"], how="left").selectExpr(
            "account", f"{column_path('column_name')} AS path", "column_name", "column_ids", "theme_refs"
        ),
    }


def tags(facts: Facts) -> Mapping[NodeClass, DataFrame]:
    """The nodes of the tags, one table a class."""
    of_tags = facts.objects.filter("kind = 'tag'").select(*_OBJECT)
    concepts = _concepts(facts)
    top = concepts.groupBy("account", "scheme_ref").agg(*aggregates(concept_refs="array_sort(collect_set(path))"))
    named = (
        objects.objects(facts)
        .selectExpr("account", "path AS object_key", "label")
        .join(of_tags, on=_OBJECT, how="left_semi")
    )
    schemes = named.withColumnRenamed("object_key", "scheme_ref").join(top, on=["account", "scheme_ref"], how="left")
    return {
        SCHEME: schemes.selectExpr(
            "account", "scheme_ref AS path", "coalesce(label, scheme_ref) AS title", "concept_refs"
        ),
        CONCEPT: concepts,
    }


def _concepts(facts: Facts) -> DataFrame:
    """The values that tags were set to, and those that they allow."""
    settings = facts.ddl_settings
    given = settings.filter("property = 'tags' AND element_key IS NOT NULL AND value IS NOT NULL")
    allowed = settings.filter("property = 'allowedValues' AND startswith(object_key, 'tag/') AND element IS NOT NULL")
    every = given.selectExpr("account", "element_key AS scheme_ref", "value").unionByName(
        allowed.selectExpr("account", "object_key AS scheme_ref", "element AS value")
    )
    return every.distinct().selectExpr("*", f"{_concept('scheme_ref')} AS path")


def _concept(tag: str) -> str:
    return path(tag, "'value'", segment("value"))


def _themes(facts: Facts) -> DataFrame:
    """The values of tags that hold now, by object and column (None: the object itself)."""
    holds = "property = 'tags' AND valid_from IS NOT NULL AND valid_until IS NULL AND value IS NOT NULL"
    set_now = with_intervals(facts.ddl_settings).filter(holds)
    return set_now.groupBy(*_OBJECT, "column_name").agg(
        *aggregates(theme_refs=f"array_sort(collect_set({_concept('element_key')}))")
    )


def _datasets(facts: Facts) -> DataFrame:
    """Everything that holds data, with ``catalog_ref``: its schema, or the account's catalog where it is in none."""
    own = facts.objects.filter(f"kind IN ({literals(_KINDS)})").selectExpr(*_OBJECT, f"{object_path()} AS path")
    former = facts.names.filter("valid_until IS NOT NULL").groupBy(*_OBJECT)
    written = facts.writes.groupBy(*_OBJECT).agg(*aggregates(modified="max(query_start_time)"))
    with_columns = facts.columns.select(*_OBJECT).distinct().selectExpr("*", "true AS has_columns")
    themes = _themes(facts).filter("column_name IS NULL").drop("column_name")
    shown = objects.objects(facts).select("account", "path", "label", "domain_label", "locations")
    whole = own.join(shown, on=["account", "path"], how="inner")
    for more in (former.agg(*aggregates(former="array_sort(collect_set(name))")), written, with_columns, themes):
        whole = whole.join(more, on=_OBJECT, how="left")
    titled = whole.selectExpr("*", "coalesce(label, object_key) AS title")
    schema = f"nullif(regexp_extract({canonical_name('title')}, {_IN_SCHEMA}, 1), '')"
    return titled.selectExpr(
        *("account", "object_key", "path", "title", "modified", "theme_refs", "locations"),
        "object_key AS identifier",
        "concat(domain_label, ' ', title) AS description",
        "array_except(former, array(title)) AS former_names",
        f"{schema} AS schema_name",
        f"transform(locations, url -> {_distribution()}) AS distribution_refs",
        f"CASE WHEN has_columns THEN {path('object_key', _COLUMNS)} END AS schema_ref",
    )


_COLUMNS: Final = "'columns'"


def _distribution() -> str:
    return path("object_key", "'distribution'", segment("url"))


def _distributions(found: DataFrame) -> DataFrame:
    each = found.selectExpr("account", "object_key", "explode(locations) AS url")
    as_key = each.selectExpr("*", f"{path(literal('location'), segment('url'))} AS place")
    return as_key.selectExpr(
        "account", f"{_distribution()} AS path", "url AS title", f"{object_path('place')} AS url_ref"
    )


def _table_schemas(columns: DataFrame) -> DataFrame:
    refs = aggregates(column_refs=f"array_sort(collect_set({column_path('column_name')}))")
    return columns.groupBy(*_OBJECT).agg(*refs).selectExpr("*", f"{path('object_key', _COLUMNS)} AS path")


def _accounts(facts: Facts, found: DataFrame) -> DataFrame:
    """The catalog of each account: its schemas, and what is in none of them."""
    refs = found.groupBy("account").agg(
        *aggregates(
            catalog_refs=f"array_sort(collect_set({_schema()}))",
            dataset_refs="array_sort(collect_set(CASE WHEN schema_name IS NULL THEN path END))",
        )
    )
    tags = facts.objects.filter("kind = 'tag'").groupBy("account")
    schemes = tags.agg(*aggregates(scheme_refs="array_sort(collect_set(object_key))"))
    every = facts.queries.select("account").distinct()
    whole = every.join(refs, on="account", how="left").join(schemes, on="account", how="left")
    return whole.selectExpr(
        "*",
        "'catalog' AS path",
        "concat('Snowflake account ', account) AS title",
        "concat('What ACCESS_HISTORY of the account ', account, ' names: tables, views, stages and places') AS "
        "description",
        "'publisher' AS publisher_ref",
    )


def _schemas(found: DataFrame) -> DataFrame:
    """A catalog for each schema of a database, by its name."""
    refs = aggregates(dataset_refs="array_sort(collect_set(path))")
    return (
        found.filter("schema_name IS NOT NULL")
        .groupBy("account", "schema_name")
        .agg(*refs)
        .selectExpr(
            *("account", "dataset_refs"),
            f"{_schema()} AS path",
            "schema_name AS title",
            "concat('Schema ', schema_name) AS description",
            "'publisher' AS publisher_ref",
        )
    )


def _schema() -> str:
    return known("schema_name", path("'schema'", "'name'", segment("schema_name")))
