"""Which parts of a statement concern datasets, and which concern routines, policies, tags or roles."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from exporter.openlineage.values import Json, said
from exporter.queries.facts import Access, Thing
from exporter.queries.identifiers import ROUTINE_KINDS, UNKNOWN_KIND

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from exporter.openlineage.settings import OpenLineageSettings
    from exporter.queries.facts import Change, Content, Derivation
    from exporter.things.answers import Dataset, Spelled

    Datasets = Mapping[Spelled, Dataset]

CHANGEABLE_KINDS: Final = frozenset(("table", "view", "stage", "table-stage", "user-stage", "stream", "location"))
"""Kinds of things that are outputs where DDL changes them; changes of other kinds are in the ``ddl`` facet alone."""

DATASET_KINDS: Final = CHANGEABLE_KINDS | {UNKNOWN_KIND}
"""Kinds of things that get an event of their own."""

_OPERATIONS: Final = frozenset(("CREATE", "ALTER", "DROP", "REPLACE", "UNDROP", "REFRESH"))
"""Operations that make a dataset an output; DESCRIBE, SHOW, GRANT and the like do not."""

_LIFECYCLE: Final[Mapping[str, str]] = {"CREATE": "CREATE", "ALTER": "ALTER", "DROP": "DROP", "REPLACE": "OVERWRITE"}
"""The operations that have a value of ``lifecycleStateChange``."""


def dataset_of(thing: Thing, datasets: Datasets) -> Dataset:
    """The dataset of a thing under the name that the row has for it."""
    return datasets[thing.key, thing.name, thing.account]


def is_routine(thing: Thing) -> bool:
    """Whether it is a function or procedure, which holds no data."""
    return thing.kind in ROUTINE_KINDS


def changes_dataset(change: Change) -> bool:
    """Whether the change makes a dataset an output."""
    return change.thing.kind in CHANGEABLE_KINDS and change.operation in _OPERATIONS


def is_rename(change: Change) -> bool:
    """Whether the change gives a dataset another name."""
    return change.new_name is not None and changes_dataset(change)


# --- what a statement reads and writes --------------------------------------------------------------------------------


def shown_accesses(content: Content, settings: OpenLineageSettings) -> Sequence[Access]:
    """The reads; without the objects beneath views, where the settings leave them out."""
    if settings.base_inputs:
        return content.accesses
    return [access for access in content.accesses if access.access == "DIRECT"]


def shown_derivations(content: Content, settings: OpenLineageSettings) -> Sequence[Derivation]:
    """The sources of columns; without those beneath views, where the settings leave them out."""
    if settings.base_inputs:
        return content.derivations
    return [derivation for derivation in content.derivations if derivation.source_type == "DIRECT"]


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


def _partner(change: Change, key: str) -> Thing:
    """The other object of a SWAP, under the name that it had before."""
    return Thing(key, key.split("/", 1)[0], change.swap_domain, change.swap_id, change.swap_name)


# --- descriptions of objects ------------------------------------------------------------------------------------------


def described(thing: Thing) -> Json:
    """What a thing is, with the field names of the facets."""
    return said(
        {
            "objectDomain": thing.domain,
            "objectId": thing.object_id,
            "stageKind": thing.stage_kind,
            "location": thing.location,
            "accountName": thing.account,
        }
    )


def accessed(touches: Sequence[Access]) -> Json:
    """How the objects that are one dataset were read or written: all accesses, columns and objects."""
    told: Json = {
        "accesses": sorted({touch.access for touch in touches}),
        "columns": sorted({column.name for touch in touches for column in touch.columns}),
        **described(touches[0].thing),
    }
    for touch in touches[1:]:
        for name, value in described(touch.thing).items():
            told[name] = max(value, told.get(name, value))
    return told


def routine(thing: Thing) -> Json:
    """A function or procedure, with the field names of the facets."""
    return said(
        {
            "name": thing.name,
            "argumentSignature": thing.signature,
            "kind": thing.kind,
            "objectId": thing.object_id,
            "dataType": thing.data_type,
        }
    )
