"""Pieces -> the same pieces with the names that OpenLineage gives to what they are about."""

from __future__ import annotations

from typing import TYPE_CHECKING

from exporter.facts.identifiers import canonical_name
from exporter.openlineage.naming import dataset, qualified
from exporter.openlineage.pieces import CHANGE, INPUT, IS_ROUTINE, OUTPUT, ROUTINE
from exporter.openlineage.sql import only_if

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from exporter.openlineage.settings import OpenLineageSettings


def with_names(pieces: DataFrame, settings: OpenLineageSettings) -> DataFrame:
    """The pieces with ``dataset`` and ``other_dataset`` (of ``thing`` and ``other``; null for a routine), ``is_routine``,
    and ``subject``, the label of what is no dataset. Pieces of a dataset get it as their key.
    """
    spelled = pieces.withColumns(
        {"own": canonical_name(pieces["thing.object_name"]), "old": canonical_name(pieces["other.object_name"])}
    )
    is_rename = f"part = '{OUTPUT}' AND old IS NOT NULL"
    kept = [name for name in pieces.columns if name != "key"]
    whole = spelled.selectExpr(*kept, "key", f"IF({is_rename}, {qualified('own', 'old')}, own) AS own", "old")
    is_routine = f"coalesce(thing.{IS_ROUTINE}, false)"
    named = whole.selectExpr(
        *kept,
        "key",
        f"{only_if(f'NOT {is_routine}', dataset('thing', 'own', settings))} AS dataset",
        f"{dataset('other', 'old', settings)} AS other_dataset",
        f"{is_routine} AS is_routine",
        f"{_subject('own')} AS subject",
    )
    # No namespace holds a line feed, so that different datasets never share a key.
    key = f"IF(part IN ('{INPUT}', '{OUTPUT}'), concat(dataset.namespace, '\\n', dataset.name), key)"
    return named.selectExpr(*kept, f"{key} AS key", "dataset", "other_dataset", "is_routine", "subject")


def _subject(name: str) -> str:
    """A routine as its callers know it, with the arguments that tell overloaded ones apart; of other things that DDL
    changes, the kind and the name.
    """
    label = f"coalesce({name}, thing.object_key)"
    called = f"concat({label}, coalesce(thing.argument_signature, ''))"
    changed = f"concat_ws(' ', lower(thing.domain), {label})"
    return f"CASE part WHEN '{ROUTINE}' THEN {called} WHEN '{CHANGE}' THEN {only_if('thing IS NOT NULL', changed)} END"
