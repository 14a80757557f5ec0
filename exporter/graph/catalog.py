"""The catalog and the tags: an excerpt of the graph in vocabularies that data catalogs read.

``catalog``: one DCAT 3 catalog for each account. Each schema is a catalog inside it. Tables, views and stages are
datasets with their columns (CSVW). Places outside of Snowflake are distributions. ``tags``: each tag is a SKOS concept
scheme, and its values are concepts. A tag value that is set on a dataset or column now is its theme.
"""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING, Final

from exporter.graph.catalog_entries import Remark, by_key, shown
from exporter.graph.catalog_terms import (
    CATALOG,
    CATALOG_CLASSES,
    CATALOG_PREFIXES,
    COLUMN,
    CONCEPT,
    DATASET,
    DISTRIBUTION,
    PUBLISHER,
    SCHEME,
    TABLE_SCHEMA,
    TAG_CLASSES,
    TAG_PREFIXES,
)
from exporter.graph.iri import whole
from exporter.graph.terms import Node, NodeClass
from exporter.graph.writers import jsonld, jsonld_writer, turtle
from exporter.queries.identifiers import LOCATION_KIND, canonical_name, segment

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from exporter.graph.catalog_entries import Entry
    from exporter.graph.iri import Iris
    from exporter.graph.terms import Values

_PART: Final = r'(?:"(?:[^"]|"")+"|[^."]+)'
_in_schema: Final = re.compile(rf"({_PART}[.]{_PART})[.]{_PART}", re.DOTALL).fullmatch
_NOTHING: Final = Remark("")


def catalog_nodes(entries: Sequence[Entry], said: Iterable[Remark], iris: Iris) -> Iterator[Node]:
    """The nodes of the catalog of one account, that of ``iris``. ``entries``: all of its objects; ``said``: all remarks
    that its queries made on them.
    """
    remarks = by_key(said)
    datasets = sorted(shown(entries), key=lambda one: one.key)
    yield from _catalogs(datasets, [one.key for one in entries if one.is_tag], iris)
    yield Node(PUBLISHER, iris.path("publisher"), PUBLISHER.types, {"foaf:name": (iris.account,)})
    for one in datasets:
        yield from _dataset(one, remarks.get(one.key, _NOTHING), iris)


def tag_nodes(entries: Iterable[Entry], said: Iterable[Remark], iris: Iris) -> Iterator[Node]:
    """The nodes of the tags of one account."""
    remarks = by_key(said)
    for tag in sorted((one for one in entries if one.is_tag), key=lambda one: one.key):
        scheme = iris.path(tag.key)
        concepts = {value: _concept(tag.key, value, iris) for value in remarks.get(tag.key, _NOTHING).values}
        values: Values = {"dcterms:title": (tag.title,)}
        if concepts:
            values["skos:hasTopConcept"] = tuple(sorted(concepts.values()))
        yield Node(SCHEME, scheme, SCHEME.types, values)
        for value, iri in sorted(concepts.items()):
            said_of = {"skos:prefLabel": value, "skos:inScheme": scheme, "skos:topConceptOf": scheme}
            yield _node(CONCEPT, iri, **said_of)


def _node(of: NodeClass, iri: str, **values: str) -> Node:
    """A node with one value for each term."""
    return Node(of, iri, of.types, {term: (value,) for term, value in values.items()})


def _concept(tag: str, value: str, iris: Iris) -> str:
    return iris.path(f"{tag}/value/{segment(value)}")


def _catalogs(datasets: Iterable[Entry], tags: Iterable[str], iris: Iris) -> Iterator[Node]:
    """The catalog of the account, and one for each schema of a database, by its name."""
    by_schema = defaultdict(list)
    for one in datasets:
        by_schema[_schema(one)].append(iris.object(one.key))
    alone, publisher = by_schema.pop(None, []), iris.path("publisher")
    schemas = {name: iris.path(f"schema/name/{segment(name)}") for name in by_schema if name is not None}
    account = iris.account
    texts: Values = {
        "dcterms:title": (f"Snowflake account {account}",),
        "dcterms:description": (
            f"What ACCESS_HISTORY of the account {account} names: tables, views, stages and places",
        ),
        "dcterms:publisher": (publisher,),
    }
    lists = {
        "dcat:catalog": schemas.values(),
        "dcat:dataset": alone,
        "dcat:themeTaxonomy": [iris.path(tag) for tag in tags],
    }
    more = {term: tuple(sorted(set(found))) for term, found in lists.items() if found}
    yield Node(CATALOG, iris.path("catalog"), CATALOG.types, {**texts, **more})
    for name, iri in sorted(schemas.items()):
        values: Values = {
            "dcterms:title": (name,),
            "dcterms:description": (f"Schema {name}",),
            "dcterms:publisher": (publisher,),
            "dcat:dataset": tuple(sorted(set(by_schema[name]))),
        }
        yield Node(CATALOG, iri, CATALOG.types, values)


def _schema(one: Entry) -> str | None:
    """``DB.SCHEMA`` of a name of three parts; None for every other name."""
    found = _in_schema(canonical_name(one.title))
    return found[1] if found else None


def _dataset(one: Entry, remark: Remark, iris: Iris) -> Iterator[Node]:
    """The nodes of an object that holds data: the dataset, its columns and its places."""
    key = one.key
    places = {url: iris.path(f"{key}/distribution/{segment(url)}") for url in one.locations}
    schema = iris.path(f"{key}/columns")
    values: Values = {
        "dcterms:title": (one.title,),
        "dcterms:description": (f"{one.domain} {one.title}",),
        "dcterms:identifier": (key,),
    }
    former = [name for name in one.former if name != one.title]
    if former:
        values["dcterms:alternative"] = tuple(former)
    if remark.modified is not None:
        values["dcterms:modified"] = (remark.modified,)
    values.update(_themes("dcat:theme", None, remark, iris))
    if places:
        values["dcat:distribution"] = tuple(places.values())
    if one.columns:
        values["csvw:tableSchema"] = (schema,)
    yield Node(DATASET, iris.object(key), DATASET.types, values)
    for url, iri in places.items():
        where = iris.object(f"{LOCATION_KIND}/{segment(url)}")
        yield _node(DISTRIBUTION, iri, **{"dcterms:title": url, "dcat:accessURL": where})
    if one.columns:
        columns = tuple(sorted(iris.column(key, name) for name, _ in one.columns))
        yield Node(TABLE_SCHEMA, schema, TABLE_SCHEMA.types, {"csvw:column": columns})
    for name, ids in one.columns:
        yield _column(one, name, ids, remark, iris)


def _column(one: Entry, name: str, ids: tuple[str, ...], remark: Remark, iris: Iris) -> Node:
    values: Values = {"csvw:name": (name,)}
    if ids:
        values["dcterms:identifier"] = ids
    values.update(_themes("dcterms:subject", name, remark, iris))
    return Node(COLUMN, iris.column(one.key, name), COLUMN.types, values)


def _themes(term: str, column: str | None, remark: Remark, iris: Iris) -> Values:
    """The themes from tags that are set on a column, or on the object itself where ``column`` is None."""
    found = {_concept(tag, value, iris) for on, tag, value in remark.themes if on == column}
    return {term: tuple(sorted(found))} if found else {}


def documents(catalog: Iterable[Node], tags: Iterable[Node], base: str) -> Iterator[tuple[str, str]]:
    """The files of catalog and tags, each in Turtle and JSON-LD, as pairs of name and text. The catalog repeats the
    tags, since tools look for the class of a theme in the file that refers to it.
    """
    of_tags = list(tags)
    for name, nodes, classes, prefixes in (
        ("catalog", [*catalog, *of_tags], (*CATALOG_CLASSES, *TAG_CLASSES), CATALOG_PREFIXES),
        ("tags", of_tags, TAG_CLASSES, TAG_PREFIXES),
    ):
        yield f"{name}.ttl", _turtle(nodes, prefixes, base)
        yield f"{name}.jsonld", _jsonld(nodes, jsonld.context_of(classes, prefixes), base)


def _turtle(nodes: Iterable[Node], prefixes: Mapping[str, str], base: str) -> str:
    in_order = sorted(nodes, key=lambda node: whole(node.iri, base))
    return turtle.header(base, prefixes) + "\n".join(f"{turtle.render(node)}\n" for node in in_order)


def _jsonld(nodes: Iterable[Node], context: jsonld.Context, base: str) -> str:
    writer = jsonld_writer(base, context)
    texts = sorted(map(writer.render, nodes))
    return "".join(f"{line}\n" for line in writer.document([texts] if texts else [[]]))
