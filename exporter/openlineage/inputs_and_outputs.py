"""A statement's content by dataset: its inputs, its outputs, its routines.

Only some parts of a statement concern datasets; others concern routines, policies, tags or roles: :func:`is_dataset`
has the rule. Helpers are left out, and what they held is in their place (:mod:`exporter.openlineage.bridging`).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Final

from msgspec import Struct, field
from msgspec.structs import replace

from exporter.model.answers import Bridge, ColumnSource, Dataset, HelperContent, ObjectSpelling
from exporter.model.facts import Access, Change, Content, Derivation, ObjectReference
from exporter.model.identifiers import DATA_KINDS, ROUTINE_KINDS, UNKNOWN_KIND, holds_data, is_known_to_hold_data
from exporter.openlineage.facets import Json, greatest, without_none
from exporter.openlineage.naming import DatasetName

if TYPE_CHECKING:
    from exporter.openlineage.settings import OpenLineageSettings

Datasets = Mapping[ObjectSpelling, Dataset]

DATASET_KINDS: Final = frozenset({*DATA_KINDS, UNKNOWN_KIND})
"""The kinds of datasets that were known when this version was made."""

_OPERATIONS: Final = frozenset(("CREATE", "ALTER", "DROP", "REPLACE", "UNDROP", "REFRESH"))
"""Operations that make a dataset an output; DESCRIBE, SHOW, GRANT and the like do not."""

_LIFECYCLE: Final[Mapping[str, str]] = {"CREATE": "CREATE", "ALTER": "ALTER", "DROP": "DROP", "REPLACE": "OVERWRITE"}
"""The operations that have a value of ``lifecycleStateChange``."""


def dataset_of(thing: ObjectReference, datasets: Datasets) -> Dataset:
    """The dataset of a thing under the name that the row has for it."""
    return datasets[thing.key, thing.name, thing.account]


def is_dataset(thing: ObjectReference, columns: Collection[object] = ()) -> bool:
    """Whether a thing is a dataset: its kind holds or shows data (:func:`exporter.model.identifiers.holds_data`), or
    rows show columns of it (``columns``). Routines never are.
    """
    return holds_data(thing.kind) or (bool(columns) and thing.kind not in ROUTINE_KINDS)


def changes_dataset(change: Change) -> bool:
    """Whether the change makes a dataset an output; other changes are in the ``ddl`` facet alone."""
    return is_known_to_hold_data(change.thing.kind) and change.operation in _OPERATIONS


def is_rename(change: Change) -> bool:
    """Whether the change gives a dataset another name."""
    return change.new_name is not None and changes_dataset(change)


# --- what a statement reads and writes --------------------------------------------------------------------------------


class Written(Access, frozen=True):
    """An object that is an output, under the name that it has as an output. ``access``: WRITE or DDL; ``state``: its
    change, as ``lifecycleStateChange`` names it, or None.
    """

    state: str | None = None


def written(content: Content) -> Iterator[Written]:
    """The objects that were written, and those that DDL changed. A rename creates the new name and drops the old one. A
    SWAP changes both objects: it has a row for each, and either of them, which may come later, names both.
    """
    for write in content.writes:
        if not is_dataset(write.thing, write.columns):
            continue
        yield Written("WRITE", write.thing, write.columns, "TRUNCATE" if content.truncates else None)
    for change in content.changes:
        if not changes_dataset(change):
            continue
        if change.new_name is None:
            state = _LIFECYCLE.get(change.operation)
            yield Written("DDL", change.thing, (), state)
            if change.swap_key is not None:
                yield Written("DDL", _partner(change, change.swap_key), (), state)
        else:
            renamed = replace(change.thing, name=change.new_name)
            yield Written("DDL", renamed, (), "RENAME")
            yield Written("DDL", change.thing, (), "DROP")


def _partner(change: Change, key: str) -> ObjectReference:
    """The other object of a SWAP, under the name that it had before."""
    return ObjectReference(key, key.split("/", 1)[0], change.swap_domain, change.swap_id, change.swap_name)


# --- descriptions of objects ------------------------------------------------------------------------------------------


def described(thing: ObjectReference) -> Json:
    """What a thing is, with the field names of the facets."""
    return without_none(
        {
            "objectDomain": thing.domain,
            "objectId": thing.object_id,
            "stageKind": thing.stage_kind,
            "location": thing.location,
            "accountName": thing.account,
        }
    )


def accessed(accesses: Sequence[Access]) -> Json:
    """How the objects that are one dataset were read or written: all accesses and columns, and what one of them is, one
    that the query named itself and that has an id if there is one. If there are several, ``objects`` has each.
    """
    by_key: dict[str, list[Access]] = {}
    for access in accesses:
        by_key.setdefault(access.thing.key, []).append(access)
    objects = [_accessed_object(by_key[key]) for key in sorted(by_key, key=lambda key: _order_of_object(by_key[key]))]
    if len(objects) == 1:
        return objects[0]
    ways = {"accesses": {access.access for access in accesses}, "columns": _columns(accesses)}
    return {**objects[0], **{name: sorted(values) for name, values in ways.items()}, "objects": objects}


def _accessed_object(accesses: Sequence[Access]) -> Json:
    """How one object was read or written, and what it is; of two values the greater is taken."""
    details: Json = {}
    for access in accesses:
        for name, value in described(access.thing).items():
            details[name] = max(value, details.get(name, value))
    return {
        "accesses": sorted({access.access for access in accesses}),
        "columns": sorted(_columns(accesses)),
        **details,
    }


def _columns(accesses: Iterable[Access]) -> set[str]:
    return {column.name for access in accesses for column in access.columns}


def _order_of_object(accesses: Sequence[Access]) -> tuple[bool, bool, bool, str]:
    """Objects with an id come first, of these what the query named itself, of these tables and views."""
    thing, is_named = accesses[0].thing, any(access.access in {"DIRECT", "WRITE"} for access in accesses)
    return thing.object_id is None, not is_named, thing.kind not in {"table", "view"}, thing.key


def routine(thing: ObjectReference) -> Json:
    """A function or procedure, or another thing without data, with the field names of the facets."""
    return without_none(
        {
            "name": thing.name,
            "argumentSignature": thing.signature,
            "kind": thing.kind,
            "objectId": thing.object_id,
            "dataType": thing.data_type,
        }
    )


ColumnEdge = tuple[str, str, str, str, bool]
"""A written column; the dataset (namespace, name) and column that it comes from; whether it is a base source. The
column is empty where rows name the source as a whole, such as a stage.
"""


class Output(Struct, frozen=True, gc=False):
    """A dataset that is written or changed: the accesses to it, and the objects that it stands for (``keys``, sorted).
    ``state``: its change, as ``lifecycleStateChange`` names it, or None; ``is_written``: whether data was written to
    it.
    """

    name: DatasetName
    dataset: Dataset
    writes: Sequence[Written]
    keys: Sequence[str]
    state: str | None
    is_written: bool


class DatasetUses(Struct, frozen=True, gc=False):
    """A statement by its datasets.

    ``inputs``: datasets that the view lists as read, with their accesses; ``unlisted``: datasets that it only names as
    the source of a column, with these columns; ``outputs``: in the order of names; ``sources``: key of the written
    object -> the sources of its columns, sorted; ``made_by``: the same key -> the columns that a routine made;
    ``routines``: label -> calls of routines, and of other things that are no datasets; ``behind``: datasets behind
    helpers that are no inputs by themselves, with their facets and the columns that are sources or were read;
    ``moved``: an output that got the place of a helper -> the sources of its columns, sorted; ``helpers``: the helpers
    that are left out -> READ, WRITE, DDL; ``filled_by``: routines that the row names only as what made their columns.
    """

    content: Content
    inputs: Mapping[DatasetName, Sequence[Access]]
    unlisted: Mapping[DatasetName, set[str]]
    outputs: Sequence[Output]
    sources: Mapping[str, list[ColumnEdge]]
    made_by: Mapping[str, list[Derivation]]
    routines: Mapping[str, Sequence[Access]]
    behind: Mapping[DatasetName, tuple[bytes, set[str]]] = field(default_factory=dict)
    moved: Mapping[DatasetName, list[ColumnEdge]] = field(default_factory=dict)
    helpers: Mapping[DatasetName, set[str]] = field(default_factory=dict)
    filled_by: Sequence[Access] = ()

    def input_names(self) -> list[DatasetName]:
        """All datasets that are inputs, sorted."""
        return sorted([*self.inputs, *self.unlisted, *self.behind])

    def sources_of(self, output: Output) -> list[ColumnEdge]:
        """The sources of the columns of all objects that the output stands for, sorted."""
        edges = [*(self.sources.get(key, []) for key in output.keys), self.moved.get(output.name, [])]
        return sorted(chain.from_iterable(edges))

    def made_from(self, sources: Sequence[ColumnEdge]) -> list[DatasetName]:
        """The datasets that an output with these sources was made from. Where the query writes several outputs, these
        are the sources of its own columns, so that the branches of an INSERT ALL stay apart; else they are all inputs.
        """
        if len(self.outputs) == 1 or not sources:
            return self.input_names()
        return sorted({source[1:3] for source in sources})


def dataset_uses(
    content: Content, datasets: Datasets, settings: OpenLineageSettings, bridge: Bridge | None = None
) -> DatasetUses:
    """The content, grouped by dataset; ``datasets``: of all things that it names; ``bridge``: what is in the place of
    helpers, None without any.
    """
    if bridge is not None:
        return _bridged(dataset_uses(content, datasets, with_base(settings) if bridge.views else settings), bridge)
    inputs, routines = _read(content, datasets, settings)
    sources, made_by = _derived(content, datasets, settings)
    return DatasetUses(
        content, inputs, _unlisted(sources, inputs), _outputs(content, datasets), sources, made_by, routines
    )


def with_base(settings: OpenLineageSettings) -> OpenLineageSettings:
    """The settings with the objects beneath views: they are needed to see through a view."""
    return settings if settings.base_inputs else dataclasses.replace(settings, base_inputs=True)


# --- helpers ----------------------------------------------------------------------------------------------------------


class ReadFromHelpers:
    """What a query read from helpers. ``hidden``: those that are no inputs; ``contents``: what tables held."""

    def __init__(self, bridge: Bridge) -> None:
        self.views = set(bridge.views)
        self.contents = {(namespace, name): content for namespace, name, content, _ in bridge.read}
        self.hidden = {(namespace, name) for namespace, name, _, is_whole in bridge.read if is_whole} | self.views


def resolved(sources: Iterable[ColumnEdge], from_helpers: ReadFromHelpers) -> list[ColumnEdge]:
    """The sources of columns, sorted, with those of a helper's column in its place. A direct source gives the direct
    sources of the helper's column, a base source the base sources; if there are none, the others.
    """
    edges: set[ColumnEdge] = set()
    for edge in sources:
        written_column, namespace, name, column, is_base = edge
        helper = namespace, name
        if helper not in from_helpers.hidden or (helper in from_helpers.views and is_base):
            edges.add(edge)
        if helper in from_helpers.contents:
            helper_sources = _sources_in(from_helpers.contents[helper], column)
            alike = [source for source in helper_sources if source[3] == is_base] or helper_sources
            edges.update((written_column, *source[:3], is_base or source[3]) for source in alike)
    return sorted(edges)


def _sources_in(content: HelperContent, column: str) -> Sequence[ColumnSource]:
    """The sources of a helper's column; of the helper as a whole (an empty column) all that it was filled from."""
    if column:
        return content.columns.get(column, ())
    return [(namespace, name, "", False) for namespace, name, _ in content.inputs]


def _bridged(uses: DatasetUses, bridge: Bridge) -> DatasetUses:
    from_helpers, left_out = ReadFromHelpers(bridge), set(bridge.hidden)
    helpers = {name: {"READ"} for name in sorted(from_helpers.hidden | from_helpers.contents.keys())}
    for output in uses.outputs:
        if output.name in left_out:
            kinds = {"WRITE" if write.access == "WRITE" else "DDL" for write in output.writes}
            helpers.setdefault(output.name, set()).update(kinds)
    inputs = {name: accesses for name, accesses in uses.inputs.items() if name not in from_helpers.hidden}
    sources = {key: resolved(edges, from_helpers) for key, edges in uses.sources.items()}
    moved = {
        (namespace, name): sorted(
            (column, *source) for column, column_sources in content.columns.items() for source in column_sources
        )
        for namespace, name, content in bridge.moved
    }
    read = [
        (source[2], *source)
        for name, content in from_helpers.contents.items()
        for column in sorted(_columns(uses.inputs.get(name, ())))
        for source in _sources_in(content, column)
    ]
    behind = _behind(from_helpers, bridge, [*sources.values(), *moved.values(), read], inputs)
    filled = {key for output in uses.outputs if output.name in left_out for key in output.keys}
    return replace(
        uses,
        inputs=inputs,
        unlisted=_unlisted(sources, inputs.keys() | behind.keys()),
        outputs=[_arrived(output, moved) for output in uses.outputs if output.name not in left_out],
        sources={key: edges for key, edges in sources.items() if edges},
        behind=behind,
        moved=moved,
        helpers=helpers,
        filled_by=[
            Access("SOURCE", derivation.source) for key in sorted(filled) for derivation in uses.made_by.get(key, ())
        ],
    )


def _behind(
    from_helpers: ReadFromHelpers,
    bridge: Bridge,
    sources: Iterable[Sequence[ColumnEdge]],
    inputs: Mapping[DatasetName, Sequence[Access]],
) -> dict[DatasetName, tuple[bytes, set[str]]]:
    """The datasets behind the helpers, in the order of names, that are no inputs by themselves."""
    contents = [*from_helpers.contents.values(), *(content for _, _, content in bridge.moved)]
    facets = {(namespace, name): text for content in contents for namespace, name, text in content.inputs}
    behind = {name: (facets[name], set[str]()) for name in sorted(facets) if name not in inputs}
    for edges in sources:
        for _, namespace, name, column, _ in edges:
            if column and (namespace, name) in behind:
                behind[namespace, name][1].add(column)
    return behind


def _arrived(output: Output, moved: Mapping[DatasetName, list[ColumnEdge]]) -> Output:
    """The output; if it got the place of a helper, its data was written."""
    if output.name not in moved:
        return output
    return replace(output, is_written=True, state="CREATE" if output.state == "RENAME" else output.state)


# --- inputs and routines ----------------------------------------------------------------------------------------------


def _read(
    content: Content, datasets: Datasets, settings: OpenLineageSettings
) -> tuple[dict[DatasetName, list[Access]], dict[str, list[Access]]]:
    inputs: dict[DatasetName, list[Access]] = {}
    routines: dict[str, list[Access]] = {}
    for access in content.accesses:
        if not (settings.base_inputs or access.access == "DIRECT"):
            continue
        if is_dataset(access.thing, access.columns):
            dataset = dataset_of(access.thing, datasets)
            inputs.setdefault((dataset.namespace, dataset.name), []).append(access)
        else:
            routines.setdefault(_label(access.thing, datasets), []).append(access)
    for write in content.writes:  # a function whose result was copied to a column (view, "UDFs")
        if not is_dataset(write.thing, write.columns):
            routines.setdefault(_label(write.thing, datasets), []).append(Access("WRITE", write.thing))
    return inputs, routines


def _label(thing: ObjectReference, datasets: Datasets) -> str:
    """What a thing without data is called in the name of a job."""
    name = dataset_of(thing, datasets).name
    if thing.kind in ROUTINE_KINDS:
        return name + (thing.signature or "")  # the arguments distinguish overloaded routines
    return name if thing.domain is None else f"{thing.domain.lower()} {name}"


# --- sources ----------------------------------------------------------------------------------------------------------


def _derived(
    content: Content, datasets: Datasets, settings: OpenLineageSettings
) -> tuple[dict[str, list[ColumnEdge]], dict[str, list[Derivation]]]:
    sources: dict[str, list[ColumnEdge]] = {}
    made_by: dict[str, list[Derivation]] = {}
    for derivation in content.derivations:
        if not (settings.base_inputs or derivation.source_type == "DIRECT"):
            continue
        column = derivation.source_column or ""
        if is_dataset(derivation.source, column):
            dataset, is_base = dataset_of(derivation.source, datasets), derivation.source_type == "BASE"
            edge = derivation.target_column, dataset.namespace, dataset.name, column, is_base
            sources.setdefault(derivation.target_key, []).append(edge)
        else:
            made_by.setdefault(derivation.target_key, []).append(derivation)
    return {key: sorted(sources[key]) for key in sorted(sources)}, made_by


def _unlisted(sources: Mapping[str, list[ColumnEdge]], inputs: Collection[DatasetName]) -> dict[DatasetName, set[str]]:
    """The sources that are no inputs, in the order of the columns that were written, each with its known columns."""
    unlisted: dict[DatasetName, set[str]] = {}
    for source in sources.values():
        for _, namespace, name, column, _ in source:
            if (namespace, name) not in inputs:
                unlisted.setdefault((namespace, name), set()).update([column] if column else ())
    return unlisted


# --- outputs ----------------------------------------------------------------------------------------------------------


def _outputs(content: Content, datasets: Datasets) -> list[Output]:
    by_name: dict[DatasetName, list[Written]] = {}
    for use in written(content):
        dataset = dataset_of(use.thing, datasets)
        by_name.setdefault((dataset.namespace, dataset.name), []).append(use)
    return [_output(name, by_name[name], datasets) for name in sorted(by_name)]


def _output(name: DatasetName, writes: list[Written], datasets: Datasets) -> Output:
    dataset, keys = shown_dataset(writes, datasets), sorted({write.thing.key for write in writes})
    is_written = any(write.access == "WRITE" for write in writes)
    return Output(name, dataset, writes, keys, greatest(write.state for write in writes), is_written)


def shown_dataset(accesses: Sequence[Access], datasets: Datasets) -> Dataset:
    """The dataset to describe where several objects of one query are the same dataset. One of them may be no table but
    have the same name.
    """
    first = min(accesses, key=lambda access: (access.access, access.thing.key)) if len(accesses) > 1 else accesses[0]
    return dataset_of(first.thing, datasets)
