"""What of a statement is about datasets, and what is about other things: routines, policies, tags, roles."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from exporter.openlineage.values import Json, said
from exporter.queries.facts import Access
from exporter.queries.identifiers import ROUTINE_KINDS, UNKNOWN_KIND

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from exporter.openlineage.settings import OpenLineageSettings
    from exporter.queries.facts import Change, Content, Derivation, Thing
    from exporter.queries.spoken import Spelled
    from exporter.things.answers import Dataset

    Datasets = Mapping[Spelled, Dataset]

CHANGEABLE_KINDS: Final = frozenset(("table", "view", "stage", "table-stage", "user-stage", "stream", "location"))
"""What DDL changes of are outputs; other kinds of thing (policies, tags, roles …) are told in the ``ddl`` facet."""

DATASET_KINDS: Final = CHANGEABLE_KINDS | {UNKNOWN_KIND}
"""What has an event of its own."""

_OPERATIONS: Final = frozenset(("CREATE", "ALTER", "DROP", "REPLACE", "UNDROP", "REFRESH"))
"""What changes a dataset; DESCRIBE, SHOW, GRANT and the like do not make it an output."""

_LIFECYCLE: Final[Mapping[str, str]] = {"CREATE": "CREATE", "ALTER": "ALTER", "DROP": "DROP", "REPLACE": "OVERWRITE"}
"""The operations that one of the six values of ``lifecycleStateChange`` fits."""


def dataset_of(thing: Thing, datasets: Datasets) -> Dataset:
    """The dataset that a thing is under the name that the row has."""
    return datasets[thing.key, thing.name, thing.account]


def is_routine(thing: Thing) -> bool:
    """Whether it is a function or procedure, which holds no data."""
    return thing.kind in ROUTINE_KINDS


def changes_dataset(change: Change) -> bool:
    """Whether the change makes a dataset an output."""
    return change.thing.kind in CHANGEABLE_KINDS and change.operation in _OPERATIONS


def is_rename(change: Change) -> bool:
    """Whether a dataset has another name from now on."""
    return change.new_name is not None and changes_dataset(change)


# --- what a statement reads and writes --------------------------------------------------------------------------------


def shown_accesses(content: Content, settings: OpenLineageSettings) -> Sequence[Access]:
    """What was read, without the objects beneath views where the settings say so."""
    if settings.base_inputs:
        return content.accesses
    return [access for access in content.accesses if access.access == "DIRECT"]


def shown_derivations(content: Content, settings: OpenLineageSettings) -> Sequence[Derivation]:
    """The sources of columns, without those beneath views where the settings say so."""
    if settings.base_inputs:
        return content.derivations
    return [derivation for derivation in content.derivations if derivation.source_type == "DIRECT"]


class Written(Access, frozen=True):
    """An object that is an output, under the name that it has as one. ``access``: WRITE or DDL; ``state``: what became
    of it, as ``lifecycleStateChange`` has it; ``comment`` on it.
    """

    state: str | None = None
    comment: str | None = None


def written(content: Content) -> Iterator[Written]:
    """What was written, and what DDL changed. A rename makes the new name and ends the old."""
    for write in content.writes:
        yield Written("WRITE", write.thing, write.columns)
    for change in content.changes:
        if not changes_dataset(change):
            continue
        if change.new_name is None:
            yield Written("DDL", change.thing, (), _LIFECYCLE.get(change.operation), change.comment)
        else:
            renamed = replace(change.thing, name=change.new_name)
            yield Written("DDL", renamed, (), "RENAME", change.comment)
            yield Written("DDL", change.thing, (), "DROP", change.comment)


# --- what is told of an object ----------------------------------------------------------------------------------------


def described(thing: Thing) -> Json:
    """What a thing is, under the names of the facets."""
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
    """How the objects that are one dataset were read or written: every access, every column, what they are."""
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
    """A function or procedure."""
    return said(
        {
            "name": thing.name,
            "argumentSignature": thing.signature,
            "kind": thing.kind,
            "objectId": thing.object_id,
            "dataType": thing.data_type,
        }
    )
