"""Derivations: the source columns of a written column, direct and base ones, and functions that computed it.

Sources: guide, "Column lineage"; view, "directSources", "baseSources", "Usage Notes: Column Lineage".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from exporter.queries.facts import Derivation, Thing
from exporter.queries.objects import Key, both, once, one_of, said, source
from exporter.rows.documents import SourcedColumnDocument, SourceDocument

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Sources = list[SourceDocument | None] | None


def derivations(target: Thing, columns: Iterable[SourcedColumnDocument | None] | None) -> Iterator[Derivation]:
    """The derivations of an object's columns. Columns without a name and sources that name nothing are left out."""
    for column in columns or ():
        name = None if column is None else said(column.column_name)
        if column is not None and name is not None:
            yield from _derived(target, name, "DIRECT", column.direct_sources, column.direct_source_columns)
            yield from _derived(target, name, "BASE", column.base_sources, column.base_source_columns)


def _derived(target: Thing, column: str, source_type: str, *spellings: Sources) -> Iterator[Derivation]:
    for documents in spellings:
        for one in documents or ():
            thing = None if one is None else source(one)
            if one is not None and thing is not None:
                yield Derivation(target.key, target.name, column, source_type, thing, said(one.column_name))


def derivations_once(facts: Iterable[Derivation]) -> tuple[Derivation, ...]:
    """One derivation per target column, kind of source and source."""
    return once(facts, _key, _one)


def _key(fact: Derivation) -> Key:
    return fact.target_key, fact.target_column, fact.source_type, fact.source.key, fact.source_column or ""


def _one(one: Derivation, other: Derivation) -> Derivation:
    name = one_of(one.target_name, other.target_name)
    return replace(one, target_name=name, source=both(one.source, other.source))
