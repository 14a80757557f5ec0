"""The catalog and the tags of an export: an excerpt of the graph in vocabularies that data catalogs read.

``catalog``: one DCAT 3 catalog for each account. Each schema is a catalog inside it. Tables, views and stages are
datasets with their columns (CSVW), unless they were dropped or replaced. Places outside of Snowflake are distributions.
``tags``: each tag is a SKOS concept scheme, and its values are concepts. A tag value that is set on a dataset or column
now is its theme.

They are made from a :class:`CatalogEntry` for each object, and from what queries note on objects
(:class:`CatalogNote`). Sources: Data Catalog Vocabulary 3, sections 6.3 to 6.8; SKOS Reference, sections 3 to 5;
Metadata Vocabulary for Tabular Data, section 5.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from msgspec import Struct, field

from exporter.graph import writers
from exporter.graph.iri import Iris, absolute_iri
from exporter.graph.nodes.changes import is_set
from exporter.graph.nodes.objects import column_names, domain_label, label_of
from exporter.graph.terms import PREFIXES, Node, NodeClass, Value, many, maybe, one
from exporter.model.answers import Answers
from exporter.model.effects import effects
from exporter.model.facts import Content, QueryFacts
from exporter.model.identifiers import LOCATION_KIND, canonical_name, is_known_to_hold_data, segment
from exporter.model.object_state import ObjectHistory, Profile

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


TAG: Final = "tag"


class CatalogEntry(Struct, frozen=True):
    """An object that holds data, or a tag. ``title``: its name, else its place, else its key; ``domain``: what kind of
    object it is, for people to read; ``former``: its earlier names; ``columns``: column name -> ids. All are sorted.
    """

    key: str
    title: str
    domain: str
    former: tuple[str, ...] = ()
    locations: tuple[str, ...] = ()
    columns: tuple[tuple[str, tuple[str, ...]], ...] = ()

    @property
    def is_tag(self) -> bool:
        return self.key.startswith(f"{TAG}/")


class CatalogNote(Struct):
    """What one query, or several, recorded about the object ``key``. ``modified``: when the last query that wrote it
    started (microseconds since 1970, UTC; None: no write is known); ``themes``: the tags that queries set and that are
    still set: column (None: the object itself), key of the tag, value; ``values``: values that a tag was set to, or
    allows; ``columns``: those that queries named to write, add, rename or drop them, or to set something on them: the
    last such query (its start and id), and whether the column was there after it.
    """

    key: str
    modified: int | None = None
    themes: set[tuple[str | None, str, str]] = field(default_factory=set)
    values: set[str] = field(default_factory=set)
    columns: dict[str, tuple[int, str, bool]] = field(default_factory=dict)

    def has(self, column: str) -> bool:
        """Whether no query has ended the column."""
        return self.columns.get(column, (0, "", True))[2]


def catalog_entry(profile: Profile, history: ObjectHistory) -> CatalogEntry | None:
    """The entry of an object; None where the catalog does not show it: it holds no data, or not any more."""
    if profile.kind != TAG and (history.is_gone or not is_known_to_hold_data(profile.kind)):
        return None
    label = label_of(profile, history)
    return CatalogEntry(
        profile.key,
        profile.key if label is None else label,
        domain_label(profile.kind),
        tuple(sorted({named.name for named in history.names if named.until is not None})),
        tuple(sorted(profile.locations)),
        tuple((name, tuple(sorted(profile.columns.get(name, ())))) for name in column_names(profile)),
    )


def catalog_notes(facts: QueryFacts, answers: Answers) -> list[CatalogNote]:
    """What a query recorded about objects, sorted by their keys."""
    notes: dict[str, CatalogNote] = {}

    def on(key: str) -> CatalogNote:
        return notes.setdefault(key, CatalogNote(key))

    for write in facts.content.writes:
        on(write.thing.key).modified = facts.start
    for key, columns in _columns(facts.content).items():
        on(key).columns = {name: (facts.start, facts.query_id, is_there) for name, is_there in columns.items()}
    for setting in [setting for change in facts.content.changes for setting in change.settings]:
        tag = setting.element_key
        if setting.property == "allowedValues" and setting.object_key.startswith(f"{TAG}/"):
            if setting.element is not None:
                on(setting.object_key).values.add(setting.element)
        elif setting.property == "tags" and tag is not None and setting.value is not None:
            on(tag).values.add(setting.value)
            is_over = (setting.change_key, setting.column_name, setting.property, tag) in answers.settings
            if is_set(setting) and not is_over:
                on(setting.object_key).themes.add((setting.column_name, tag, setting.value))
    for key, theme in _themes_of_new_names(answers):
        on(key).themes.add(theme)
    return [notes[key] for key in sorted(notes)]


def _themes_of_new_names(answers: Answers) -> Iterator[tuple[str, tuple[str | None, str, str]]]:
    """The tags that follow columns that a query renames, while they hold: the object's key, and the theme."""
    for key, carried_settings in answers.carried.items():
        for now in (carried.now for carried in carried_settings):
            if now.property_name == "tags" and now.element is not None and now.of_change not in answers.settings:
                yield from ((key, (now.column, now.element, value)) for value in now.values if value is not None)


def _columns(content: Content) -> dict[str, dict[str, bool]]:
    """The columns that a query writes or names in DDL, by the object's key: whether they are there after it."""
    columns: defaultdict[str, dict[str, bool]] = defaultdict(dict)
    for write in content.writes:
        columns[write.thing.key] |= {column.name: True for column in write.columns}
    settings = [setting for change in content.changes for setting in change.settings]
    for setting in settings:
        if setting.column_name is not None:
            columns[setting.object_key][setting.column_name] = True
    for key, effect in effects(content).items() if settings else ():
        columns[key] |= dict.fromkeys((*effect.lost, *(former for former, _ in effect.renamed)), False)
        columns[key] |= dict.fromkeys((new for _, new in effect.renamed), True)
    return {key: names for key, names in columns.items() if names}


def merged_notes(notes: Iterable[CatalogNote]) -> Mapping[str, CatalogNote]:
    """All notes on an object merged into one, by the object's key. The order of the notes does not matter."""
    merged: dict[str, CatalogNote] = {}
    for note in notes:
        kept = merged.setdefault(note.key, CatalogNote(note.key))
        kept.modified = max((at for at in (kept.modified, note.modified) if at is not None), default=None)
        kept.themes |= note.themes
        kept.values |= note.values
        kept.columns |= {name: max(kept.columns.get(name, said), said) for name, said in note.columns.items()}
    return merged


_PART: Final = r'(?:"(?:[^"]|"")+"|[^."]+)'
_in_schema: Final = re.compile(rf"({_PART}[.]{_PART})[.]{_PART}", re.DOTALL).fullmatch
_NOTHING: Final = CatalogNote("")


def catalog_nodes(entries: Sequence[CatalogEntry], notes: Iterable[CatalogNote], iris: Iris) -> Iterator[Node]:
    """The nodes of the catalog of one account, that of ``iris``. ``entries``: all of its objects; ``notes``: all
    that its queries made on them.
    """
    of_object = merged_notes(notes)
    datasets = sorted([item for item in entries if not item.is_tag], key=lambda item: item.key)
    yield from _catalogs(datasets, [item.key for item in entries if item.is_tag], iris)
    yield _node(PUBLISHER, iris.path("publisher"), {"foaf:name": (iris.account,)})
    for entry in datasets:
        yield from _dataset(entry, of_object.get(entry.key, _NOTHING), iris)


def tag_nodes(entries: Iterable[CatalogEntry], notes: Iterable[CatalogNote], iris: Iris) -> Iterator[Node]:
    """The nodes of the tags of one account."""
    of_object = merged_notes(notes)
    for tag in sorted((entry for entry in entries if entry.is_tag), key=lambda tag: tag.key):
        scheme = iris.path(tag.key)
        concepts = {value: _concept(tag.key, value, iris) for value in of_object.get(tag.key, _NOTHING).values}
        top = sorted(concepts.values())
        yield _node(SCHEME, scheme, {"dcterms:title": (tag.title,), "skos:hasTopConcept": top})
        for value, iri in sorted(concepts.items()):
            in_scheme = {"skos:inScheme": (scheme,), "skos:topConceptOf": (scheme,)}
            yield _node(CONCEPT, iri, {"skos:prefLabel": (value,), **in_scheme})


def _node(node_class: NodeClass, iri: str, values: Mapping[str, Iterable[Value]]) -> Node:
    """A node with these values; terms without a value are left out."""
    of_terms = {term: tuple(some) for term, some in values.items()}
    return node_class.node(iri, {term: some for term, some in of_terms.items() if some})


def _concept(tag: str, value: str, iris: Iris) -> str:
    return iris.path(f"{tag}/value/{segment(value)}")


def _catalogs(datasets: Iterable[CatalogEntry], tags: Iterable[str], iris: Iris) -> Iterator[Node]:
    """The catalog of the account, and one for each schema of a database, by its name."""
    by_schema: defaultdict[str | None, set[str]] = defaultdict(set)
    for entry in datasets:
        by_schema[_schema(entry)].add(iris.object(entry.key))
    without_schema = by_schema.pop(None, set())
    schemas = {name: iris.path(f"schema/name/{segment(name)}") for name in by_schema if name is not None}

    def catalog(iri: str, title: str, description: str, values: Mapping[str, Iterable[str]]) -> Node:
        about = {"dcterms:title": (title,), "dcterms:description": (description,)}
        return _node(CATALOG, iri, {**about, "dcterms:publisher": (iris.path("publisher"),), **values})

    account = iris.account
    yield catalog(
        iris.path("catalog"),
        f"Snowflake account {account}",
        f"What ACCESS_HISTORY of the account {account} names: tables, views, stages and places",
        {
            "dcat:catalog": sorted(schemas.values()),
            "dcat:dataset": sorted(without_schema),
            "dcat:themeTaxonomy": sorted({iris.path(tag) for tag in tags}),
        },
    )
    for name, iri in sorted(schemas.items()):
        yield catalog(iri, name, f"Schema {name}", {"dcat:dataset": sorted(by_schema[name])})


def _schema(entry: CatalogEntry) -> str | None:
    """``DB.SCHEMA`` of a name of three parts; None for every other name."""
    match = _in_schema(canonical_name(entry.title))
    return match[1] if match else None


def _dataset(entry: CatalogEntry, note: CatalogNote, iris: Iris) -> Iterator[Node]:
    """The nodes of an object that holds data: the dataset, its columns and its places."""
    key = entry.key
    places = {url: iris.path(f"{key}/distribution/{segment(url)}") for url in entry.locations}
    schema = iris.path(f"{key}/columns")
    columns = {name: iris.column(key, name) for name, _ in entry.columns if note.has(name)}

    def themes(column: str | None) -> list[str]:
        """The themes from tags that are set on a column, or on the object itself."""
        return sorted({_concept(tag, value, iris) for on, tag, value in note.themes if on == column})

    values: dict[str, Iterable[Value]] = {
        "dcterms:title": (entry.title,),
        "dcterms:description": (f"{entry.domain} {entry.title}",),
        "dcterms:identifier": (key,),
        "dcterms:alternative": [name for name in entry.former if name != entry.title],
        "dcterms:modified": () if note.modified is None else (note.modified,),
        "dcat:theme": themes(None),
        "dcat:distribution": places.values(),
        "csvw:tableSchema": (schema,) if columns else (),
    }
    yield _node(DATASET, iris.object(key), values)
    for url, iri in places.items():
        where = iris.object(f"{LOCATION_KIND}/{segment(url)}")
        yield _node(DISTRIBUTION, iri, {"dcterms:title": (url,), "dcat:accessURL": (where,)})
    if columns:
        yield _node(TABLE_SCHEMA, schema, {"csvw:column": sorted(columns.values())})
    for name, ids in [(name, ids) for name, ids in entry.columns if name in columns]:
        about = {"csvw:name": (name,), "dcterms:identifier": ids, "dcterms:subject": themes(name)}
        yield _node(COLUMN, columns[name], about)


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
        yield f"{name}.jsonld", _jsonld(nodes, writers.context_of(classes, prefixes), base)


def _turtle(nodes: Iterable[Node], prefixes: Mapping[str, str], base: str) -> str:
    in_order = sorted(nodes, key=lambda node: absolute_iri(node.iri, base))
    return writers.turtle_header(base, prefixes) + "\n".join(f"{writers.turtle(node)}\n" for node in in_order)


def _jsonld(nodes: Iterable[Node], context: writers.Context, base: str) -> str:
    writer = writers.jsonld_writer(base, context)
    return writer.document(sorted(map(writer.render, nodes)))
