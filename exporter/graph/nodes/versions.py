"""Nodes of versions of objects and columns, of reads, and of derivations of columns from columns.

One entity for each table would break PROV: two writes would generate it twice. So each query that changes what an
object holds makes a version of it, and a version of each column that it wrote, added or renamed; the versions of all
other columns stay. ``state`` is the path of a version below its object (:mod:`exporter.model.answers`).

What the nodes of one query are made from is computed once: its facts, the answers to it, its effects, its IRIs.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from exporter.graph.terms import UNRECORDED_COLUMN_VERSION_TYPES, UNRECORDED_VERSION_TYPES, Node, Value, Values
from exporter.graph.vocabulary import ACCESS, COLUMN_DERIVATION, COLUMN_VERSION, VERSION
from exporter.model.answers import Answers, Ending, state_made_by
from exporter.model.effects import effects
from exporter.model.facts import Column, Derivation, QueryFacts, Write
from exporter.model.identifiers import ROUTINE_KINDS, segment
from exporter.model.object_state import ObjectHistory

if TYPE_CHECKING:
    from exporter.graph.iri import Iris


class QueryContext:
    """A query with its facts and answers. ``iri``: of its node; ``version``: the state that it made."""

    __slots__ = ("answers", "content", "effects", "end", "facts", "iri", "iris", "start", "version")

    def __init__(self, facts: QueryFacts, answers: Answers, iris: Iris) -> None:
        self.facts = facts
        self.answers = answers
        self.iris = iris
        self.content = facts.content
        self.effects = effects(facts.content)
        self.start = facts.start
        self.end = facts.end
        self.iri = iris.query(facts.query_id)
        self.version = state_made_by(facts.query_id)


def accesses(query: QueryContext) -> list[Node]:
    """One usage for each kind of access and object, with the version and the columns that were read."""
    states, below, query_iri = query.answers.states, query.iris.below, query.iri
    usages = []
    for access in query.content.accesses:
        thing = access.thing
        key = thing.key
        values: Values = {
            "prov:entity": (f"{below}{key}/{states[key]}",),
            "ah:accessType": (access.access,),
            "ah:accessedObject": (query.iris.object(key),),
        }
        if thing.name is not None:
            values["ah:objectName"] = (thing.name,)
        if access.columns:
            values["ah:readColumn"] = column_iris(f"{below}{key}", access.columns)
        usages.append(ACCESS.node(f"{query_iri}/access/{access.access.lower()}/{key}", values))
    return usages


def column_iris(thing: str, columns: Iterable[Column]) -> tuple[str, ...]:
    """The IRIs of columns of the object at the path ``thing``. A column that is listed under two ids appears once."""
    return tuple(dict.fromkeys([f"{thing}/column/{segment(column.name)}" for column in columns]))


def column_derivation(derivation: Derivation, query: QueryContext) -> Node:
    """``OBJECT/version/QUERY/derivation/COLUMN/KIND/SOURCE[/column/COLUMN]``."""
    below, source, source_column = query.iris.below, derivation.source, derivation.source_column
    key, target = source.key, f"{below}{derivation.target_key}"
    state, target_column = query.answers.states[key], segment(derivation.target_column)
    values: Values = {
        "prov:entity": (f"{below}{key}/{state}",),
        "prov:hadActivity": (query.iri,),
        "ah:sourceType": (derivation.source_type,),
        "ah:sourceObject": (query.iris.object(key),),
    }
    if source.name is not None:
        values["ah:sourceName"] = (source.name,)
    path = key
    if source_column is not None:
        name = segment(source_column)
        path = f"{key}/column/{name}"
        values["ah:sourceColumn"] = (f"{below}{path}",)
        values["ah:sourceColumnVersion"] = (f"{below}{key}/{query.answers.columns[key, source_column]}/column/{name}",)
    if source.kind in ROUTINE_KINDS:
        values["ah:viaFunction"] = (f"{below}{key}",)
    values["ah:targetColumn"] = (f"{target}/column/{target_column}",)
    values["ah:targetColumnVersion"] = (f"{target}/{query.version}/column/{target_column}",)
    if derivation.target_name is not None:
        values["ah:targetName"] = (derivation.target_name,)
    iri = f"{target}/{query.version}/derivation/{target_column}/{derivation.source_type.lower()}/{path}"
    return COLUMN_DERIVATION.node(iri, values)


# --- made by a query ----------------------------------------------------------------------------------------------


def versions(query: QueryContext, derived: Mapping[str, tuple[str, ...]]) -> Iterator[Node]:
    """The versions that a query made; ``derived``: the sorted IRIs of their derivations, by the object's key. What is
    left by a DELETE came from nothing that it read: its row names the table as that of any write does.
    """
    made = [(key, effect) for key, effect in query.effects.items() if effect.makes]
    if not made:
        return
    sources: Values = {} if query.facts.history.deletes else _sources(query)
    writes = {write.thing.key: write for write in query.content.writes}
    for key, effect in made:
        values = _made(key, query)
        if not effect.empties:
            values |= sources
        if key in derived:
            values["prov:qualifiedDerivation"] = derived[key]
        if key in writes:
            _add_write(writes[key], f"{query.iris.below}{key}", values)
        if effect.policy_body is not None:
            values["ah:policyBody"] = (effect.policy_body,)
        _add_drop(query.answers.endings.get(key), query.iris, values)
        yield VERSION.node(query.iris.state(key, query.version), values)


def _made(key: str, query: QueryContext) -> Values:
    """When the version was made, how long it was current, and which version came before it."""
    values: Values = {
        "prov:specializationOf": (query.iris.object(key),),
        "prov:wasGeneratedBy": (query.iri,),
        "prov:generatedAtTime": (query.end,),
    }
    ending, prior = query.answers.endings.get(key), query.answers.priors.get(key)
    _add_until(ending, values)
    if prior is not None:
        values["ah:priorVersion"] = (query.iris.state(key, prior),)
    return values


def _sources(query: QueryContext) -> Values:
    """The versions that a query read, and those of them in base_objects_accessed: its own versions derive from
    these.
    """
    states, below = query.answers.states, query.iris.below
    read = sorted(
        [(f"{below}{key}/{states[key]}", effect.is_base) for key, effect in query.effects.items() if effect.is_data]
    )
    values: Values = {}
    if read:
        values["prov:wasDerivedFrom"] = tuple([iri for iri, _ in read])
        base = [iri for iri, is_base in read if is_base]
        if base:
            values["ah:derivedFromBase"] = tuple(base)
    return values


def _add_write(write: Write, thing: str, values: Values) -> None:
    if write.columns:
        values["ah:wroteColumn"] = column_iris(thing, write.columns)
    if write.thing.name is not None:
        values["ah:objectName"] = (write.thing.name,)


def with_ending(node: Node, ending: Ending | None, iris: Iris) -> Node:
    """A version with the values that its ending adds."""
    values = dict(node.values)
    _add_until(ending, values)
    _add_drop(ending, iris, values)
    return node._replace(values=values)


def _add_until(ending: Ending | None, values: Values) -> None:
    if ending is not None and ending.until is not None:
        values["ah:validUntil"] = (ending.until,)


def _add_drop(ending: Ending | None, iris: Iris, values: Values) -> None:
    """Adds the DROP that ended a version."""
    if ending is not None and ending.query_id is not None:
        values["prov:wasInvalidatedBy"] = (iris.query(ending.query_id),)
        if ending.at is not None:
            values["prov:invalidatedAtTime"] = (ending.at,)


def column_versions(query: QueryContext, derivations: Sequence[Node]) -> Iterator[Node]:
    """The versions of columns that a query wrote, added or renamed, with the column versions that they derive from."""
    filled = _filled(derivations)
    for key, effect in query.effects.items():
        for column in effect.written:
            former = [old for old, new in effect.renamed if new == column]
            yield _column_version(key, column, query, filled, former)


def _filled(derivations: Sequence[Node]) -> Mapping[Value, dict[Value, Value]]:
    """The IRIs of column versions -> the columns that they derive from, each with its version."""
    filled: dict[Value, dict[Value, Value]] = defaultdict(dict)
    for node in derivations:
        source = node.values.get("ah:sourceColumnVersion")
        if source is not None:
            filled[node.values["ah:targetColumnVersion"][0]][node.values["ah:sourceColumn"][0]] = source[0]
    return filled


def _column_version(
    key: str,
    column: str,
    query: QueryContext,
    filled: Mapping[Value, dict[Value, Value]],
    former: Sequence[str],
) -> Node:
    thing, name = f"{query.iris.below}{key}", segment(column)
    version = f"{thing}/{query.version}"
    iri = f"{version}/column/{name}"
    values: Values = {
        "prov:specializationOf": (f"{thing}/column/{name}",),
        "dcterms:isPartOf": (version,),
        "prov:wasGeneratedBy": (query.iri,),
    }
    prior = query.answers.column_priors.get((key, column))
    if prior is not None:
        values["ah:priorColumnVersion"] = (f"{thing}/{prior}/column/{name}",)
    masks = query.answers.kept_masks.get((key, column))
    if masks is not None:
        values["ah:keepsMask"] = tuple(sorted(query.iris.path(policy) for policy in masks))
    sources = dict(filled.get(iri, {}))
    for old in former:
        state = query.answers.columns[key, old]
        sources[f"{thing}/column/{segment(old)}"] = query.iris.column_state(key, state, old)
    if sources:
        # By column, which is the same in all runs of a statement; by version, it would not be.
        values["prov:wasDerivedFrom"] = tuple(
            [version for _, version in sorted(sources.items(), key=lambda item: str(item[0]))]
        )
    return COLUMN_VERSION.node(iri, values)


# --- not in the rows of a query that made them ------------------------------------------------------------------------


def unrecorded_versions(key: str, history: ObjectHistory, iris: Iris) -> Iterator[Node]:
    """The versions of an object and of its columns that no recorded query made, and that some node refers to; and those
    of the object that the UNDROP of its schema or database made.
    """
    thing = iris.object(key)
    for state, ending in sorted(history.unrecorded.items()):
        values: Values = {"prov:specializationOf": (thing,)}
        _add_drop(ending, iris, values)
        yield Node(VERSION, iris.state(key, state), UNRECORDED_VERSION_TYPES, values)
    for restored in history.restored:
        values = {
            "prov:specializationOf": (thing,),
            "prov:wasGeneratedBy": (iris.query(restored.query_id),),
            "prov:generatedAtTime": (restored.at,),
            "ah:priorVersion": (iris.state(key, restored.prior),),
        }
        yield with_ending(VERSION.node(iris.version(key, restored.query_id), values), restored.ending, iris)
    for column, state in sorted(history.unrecorded_columns):
        values = {
            "prov:specializationOf": (iris.column(key, column),),
            "dcterms:isPartOf": (iris.state(key, state),),
        }
        yield Node(COLUMN_VERSION, iris.column_state(key, state, column), UNRECORDED_COLUMN_VERSION_TYPES, values)
