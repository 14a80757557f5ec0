"""Nodes that are not parts of a query: objects, their names and columns, versions from before the record, and what a
CLONE of a schema or database brought.

No row lists what such a CLONE brought; it is inferred. The version of a table that the CLONE made derives from that of
the source, as a copy of a table does, and refers to the change that it is inferred from. It comes before the state in
which the first query found it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from exporter.graph.iri import Iris, account_iri
from exporter.graph.nodes.agents import owners
from exporter.graph.nodes.versions import unrecorded_versions, with_ending
from exporter.graph.terms import (
    DOMAIN_CLASSES,
    KIND_CLASSES,
    UNRECORDED_COLUMN_VERSION_TYPES,
    UNRECORDED_VERSION_TYPES,
    Node,
    Values,
    single,
)
from exporter.graph.vocabulary import (
    COLUMN,
    COLUMN_DERIVATION,
    COLUMN_VERSION,
    OBJECT,
    OBJECT_NAME,
    VERSION,
    VIEW_SOURCE,
)
from exporter.input.aggregates import is_id
from exporter.input.times import iso
from exporter.model.answers import is_recorded, state_before, state_made_by
from exporter.model.identifiers import DOMAINS_OF_TAKEN, canonical_name, match_name, segment
from exporter.model.object_state import NamePeriod, ObjectHistory, Profile, ViewSource
from exporter.model.objects import containers
from exporter.model.other_accounts import account_in

if TYPE_CHECKING:
    from exporter.model.clones import FirstStateOutcome, Inferred

_PASSING: Final = frozenset(
    ("rdfs:label", "dcterms:isPartOf", "ah:hasName", "ah:canonicalName", "ah:matchName", "ah:isHelper")
)
_PASSING_NODES: Final = (OBJECT_NAME, VIEW_SOURCE)
_EVERY: Final = ("ah:SnowflakeObject", "prov:Entity")


def of_object(profile: Profile, history: ObjectHistory, iris: Iris) -> Iterator[Node]:
    """The object, the names that it had, its columns, and its versions that no recorded query made."""
    thing, types = iris.object(profile.key), _types(profile.kind, tuple(sorted(profile.domains)))
    names = [_name(profile.key, named, iris) for named in history.names]
    yield Node(OBJECT, thing, types, _object(profile, history, names, iris))
    yield from names
    yield from _columns(profile, thing, iris)
    yield from (_source(profile.key, source, iris) for source in history.sources)
    yield from unrecorded_versions(profile.key, history, iris)


def split_lasting(nodes: Iterable[Node]) -> tuple[list[Node], list[Node]]:
    """The nodes in two parts: what stays true whatever comes later, and what a later query may change (the label and
    the names of an object, whether it is a helper, the sources of a view). Both parts of a node have its types.
    """
    stay, pass_ = list[Node](), list[Node]()
    for node in nodes:
        terms = node.values.keys() if node.of in _PASSING_NODES else _PASSING if node.of is OBJECT else ()
        parts: dict[bool, Values] = {True: {}, False: {}}
        for term, values in node.values.items():
            parts[term in terms][term] = values
        if node.of not in _PASSING_NODES:
            stay.append(Node(node.of, node.iri, node.types, parts[False]))
        if terms:
            pass_.append(Node(node.of, node.iri, node.types, parts[True]))
    return stay, pass_


def _object(profile: Profile, history: ObjectHistory, names: list[Node], iris: Iris) -> Values:
    """The values of the node of an object."""
    values: Values = {}
    kind, label, name = profile.kind, label_of(profile, history), _last_name(history)
    inside = () if name is None else containers(kind, name, account_in(profile.key))
    if label is not None:
        values["rdfs:label"] = (label,)
    values["ah:domain"] = (domain_label(kind),)
    if profile.object_id is not None:
        values["ah:objectId"] = (profile.object_id,)
    canonical = canonical_of(profile)
    if canonical is not None:
        values["ah:canonicalName"] = (canonical,)
        values["ah:matchName"] = tuple(sorted(set(map(match_name, profile.names))))
    if history.is_helper:
        values["ah:isHelper"] = (True,)
    accounts = [account_iri(owner.account) for owner in owners(profile)]
    many: dict[str, Iterable[str]] = {
        "ah:hasName": {name.iri for name in names},
        "dcterms:isPartOf": [iris.object(thing.key) for thing in inside[:1]],
        "ah:sameNameAs": {iris.path(key) for key in history.same_names},
        "ah:argumentSignature": profile.signatures,
        "ah:returnType": profile.data_types,
        "ah:stageKind": profile.stage_kinds,
        "ah:locationUrl": profile.locations,
        "ah:owningAccount": {account.upper() for account in profile.accounts},
        "ah:account": {account for account in accounts if account is not None},
    }
    values.update({term: tuple(sorted(texts)) for term, texts in many.items() if texts})
    return values


def label_of(profile: Profile, history: ObjectHistory) -> str | None:
    """The current name, else the last one, else the object's place; None where none is known."""
    return _last_name(history) or min(profile.locations, default=None)


def _last_name(history: ObjectHistory) -> str | None:
    """The current name, else the last one; None if no row gives a name."""
    ranked = ((named.until is None, named.since, named.name) for named in history.names)
    return max(ranked, default=(False, 0, None))[2]


def domain_label(kind: str) -> str:
    """``masking-policy`` -> ``Masking Policy``, ``agent-object`` -> ``Agent``."""
    words = DOMAINS_OF_TAKEN.get(kind, kind).replace("-", " ").split(" ")
    return " ".join(word[:1].upper() + word[1:].lower() for word in words)


def canonical_of(profile: Profile) -> str | None:
    """The name in its one canonical spelling, where the key is the name and rows give it; else None."""
    is_key = "/".join(profile.key.split("/", 2)[:2]).endswith("/name")
    return canonical_name(min(profile.names)) if is_key and profile.names else None


@lru_cache(maxsize=1_000)
def _types(kind: str, domains: tuple[str, ...]) -> tuple[str, ...]:
    """The classes of an object: the exact ones that its domains show, then those of its kind."""
    exact = [DOMAIN_CLASSES[domain] for domain in domains if domain in DOMAIN_CLASSES]
    policy = ("ah:Policy",) if kind.endswith("-policy") else ()
    return (*exact, *KIND_CLASSES.get(kind, policy), *_EVERY)


def _name(key: str, named: NamePeriod, iris: Iris) -> Node:
    """``OBJECT/called/TIME/NAME``."""
    values = single(
        {
            "ah:nameText": named.name,
            "ah:matchName": match_name(named.name),
            "ah:validFrom": named.since,
            "ah:validUntil": named.until,
            "ah:lastSeen": named.seen,
        }
    )
    iri = iris.path(f"{key}/called/{segment(iso(named.since))}/{segment(named.name)}")
    return OBJECT_NAME.node(iri, values)


def _source(view: str, source: ViewSource, iris: Iris) -> Node:
    """``VIEW/STATE/shows/object/SOURCE``, ``VIEW/STATE/shows/column/NAME/of/SOURCE`` with ``/column/NAME`` where the
    rows give the column of the source.
    """
    is_aggregated = is_id(source.sight.query_id)  # such queries have no id in Snowflake
    values = single(
        {
            "ah:view": iris.object(view),
            "ah:sourceObject": iris.object(source.key),
            "ah:viewColumn": None if source.view_column is None else iris.column(view, source.view_column),
            "ah:sourceName": source.sight.name,
            "ah:sourceColumn": None if source.source_column is None else iris.column(source.key, source.source_column),
            "ah:evidence": "CERTAIN" if source.is_certain else "POSSIBLE",
            "ah:evidenceQueryId": None if is_aggregated else source.sight.query_id,
            "ah:firstSeen": source.sight.first,
            "ah:lastSeen": source.sight.last,
            "ah:validFrom": source.since,
            "ah:validUntil": source.until,
        }
    )
    path = f"object/{source.key}"
    if source.view_column is not None:
        path = f"column/{segment(source.view_column)}/of/{source.key}"
    if source.source_column is not None:
        path += f"/column/{segment(source.source_column)}"
    return VIEW_SOURCE.node(iris.path(f"{view}/{source.state}/shows/{path}"), values)


def _columns(profile: Profile, thing: str, iris: Iris) -> Iterator[Node]:
    """One entity for each column. A renamed column is another entity from then on, which refers to the former one."""
    for name in column_names(profile):
        ids, former = profile.columns.get(name), profile.renamed_from.get(name)
        values: Values = {"rdfs:label": (name,), "ah:columnName": (name,), "ah:matchName": (match_name(name),)}
        if ids:
            values["ah:columnId"] = tuple(sorted(ids))
        values["ah:columnOf"] = (thing,)
        if former:
            values["ah:renamedFrom"] = tuple(sorted(iris.column(profile.key, before) for before in former))
        yield COLUMN.node(iris.column(profile.key, name), values)


def column_names(profile: Profile) -> list[str]:
    """The columns that rows name, and those that a RENAME made; sorted."""
    return sorted(profile.columns.keys() | profile.renamed_from.keys())


def copy_nodes(profile: Profile, inferred: Iterable[Inferred], iris: Iris) -> Iterator[Node]:
    """The columns of all copies of a table, and the versions of the table that they come from and no recorded query
    made. The versions of the copies are in :func:`version_of_copy`.
    """
    history = ObjectHistory()
    made: list[Node] = []
    for copy in inferred:
        for name, (state, _) in sorted(copy.columns.items()):
            made += _copied_column(profile.key, copy, name, state, iris)
        if not is_recorded(copy.state):
            history.unrecorded[copy.state] = None
        history.unrecorded_columns.update(
            (name, state) for name, (state, is_made) in copy.columns.items() if not is_made
        )
        for state, _ in copy.columns.values():
            if not is_recorded(state):
                history.unrecorded[state] = None
    yield from unrecorded_versions(profile.key, history, iris)
    yield from made


def version_of_copy(source: str, inferred: Inferred, iris: Iris) -> tuple[Node, Node]:
    """The version that a CLONE made of a table, and the state in which the first query found it. ``source``: the key of
    the table that was cloned.
    """
    copy, event = inferred.copy, inferred.copy.event
    query, thing = iris.query(event.query_id), iris.object(copy.key)
    made, first = state_made_by(event.query_id), state_before(copy.first)
    derived = iris.state(source, inferred.state)
    columns = sorted(inferred.columns.items())
    values: Values = {
        "prov:specializationOf": (thing,),
        "prov:wasGeneratedBy": (query,),
        "prov:generatedAtTime": (event.end,),
        "prov:wasDerivedFrom": (derived,),
        "ah:derivedFromBase": (derived,),
        "ah:inferredFrom": (f"{query}/change/{event.change_key}",),
    }
    if columns:
        derivations = [_derivation_iri(source, copy.key, made, name, iris) for name, _ in columns]
        values["prov:qualifiedDerivation"] = tuple(derivations)
    values["ah:objectName"] = (copy.name,)
    before: Values = {
        "prov:specializationOf": (thing,),
        "prov:wasDerivedFrom": (iris.state(copy.key, made),),
        "ah:inferredFrom": values["ah:inferredFrom"],
    }
    return (
        VERSION.node(iris.state(copy.key, made), values),
        Node(VERSION, iris.state(copy.key, first), UNRECORDED_VERSION_TYPES, before),
    )


def with_outcome(made: Node, first: Node, outcome: FirstStateOutcome, iris: Iris) -> list[Node]:
    """The two versions of :func:`version_of_copy`, when it is known what became of the second one: both are the same
    data, so the first one ended with it.
    """
    if outcome.is_kept:  # a version that no other follows is the last one, and its time is known
        first = first._replace(values={**first.values, "ah:priorVersion": (made.iri,)})
    return [with_ending(made, outcome.ending, iris), first]


def _copied_column(source: str, inferred: Inferred, name: str, state: str, iris: Iris) -> Iterator[Node]:
    """The versions of a column of the copy, and its derivation. ``state``: that of the column of the source."""
    copy, event = inferred.copy, inferred.copy.event
    query = iris.query(event.query_id)
    made, first = state_made_by(event.query_id), state_before(copy.first)
    column, source_version = iris.column(copy.key, name), iris.column_state(source, state, name)
    own = iris.column_state(copy.key, made, name)
    yield COLUMN_VERSION.node(
        own,
        {
            "prov:specializationOf": (column,),
            "dcterms:isPartOf": (iris.state(copy.key, made),),
            "prov:wasGeneratedBy": (query,),
            "prov:wasDerivedFrom": (source_version,),
        },
    )
    yield Node(
        COLUMN_VERSION,
        iris.column_state(copy.key, first, name),
        UNRECORDED_COLUMN_VERSION_TYPES,
        {
            "prov:specializationOf": (column,),
            "dcterms:isPartOf": (iris.state(copy.key, first),),
            "ah:priorColumnVersion": (own,),
        },
    )
    yield COLUMN_DERIVATION.node(
        _derivation_iri(source, copy.key, made, name, iris),
        {
            "prov:entity": (iris.state(source, inferred.state),),
            "prov:hadActivity": (query,),
            "ah:sourceType": ("DIRECT",),
            "ah:sourceObject": (iris.object(source),),
            "ah:sourceName": (copy.source,),
            "ah:sourceColumn": (iris.column(source, name),),
            "ah:sourceColumnVersion": (source_version,),
            "ah:targetColumn": (column,),
            "ah:targetColumnVersion": (own,),
            "ah:targetName": (copy.name,),
        },
    )


def _derivation_iri(source: str, target: str, made: str, name: str, iris: Iris) -> str:
    return iris.path(f"{target}/{made}/derivation/{segment(name)}/direct/{source}/column/{segment(name)}")
