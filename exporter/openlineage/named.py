"""Pieces -> the same pieces with the names that OpenLineage gives to what they are about."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from exporter.facts.identifiers import ROUTINE_KINDS, canonical_name
from exporter.openlineage.naming import dataset, qualified
from exporter.openlineage.pieces import CHANGE, INPUT, OUTPUT, ROUTINE

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from exporter.openlineage.settings import OpenLineageSettings


def with_names(pieces: DataFrame, settings: OpenLineageSettings) -> DataFrame:
    """The pieces with ``dataset`` and ``other_dataset`` (of ``thing`` and ``other``), ``routine`` (where the thing is
    one), and ``subject``, the label of a thing that is no dataset. Pieces of a dataset get it as their key.
    """
    canonical = pieces.withColumns(
        {"_name": canonical_name(F.col("thing.object_name")), "_other": canonical_name(F.col("other.object_name"))}
    )
    is_rename = (F.col("part") == OUTPUT) & F.col("other").isNotNull()
    whole = canonical.withColumn(
        "_name", F.when(is_rename, qualified(F.col("_name"), F.col("_other"))).otherwise(F.col("_name"))
    )
    is_routine = F.col("thing.kind").isin(*ROUTINE_KINDS)
    account = F.col("account")
    named = whole.withColumns(
        {
            "dataset": F.when(~is_routine, dataset(account, F.col("thing"), F.col("_name"), settings)),
            "other_dataset": dataset(account, F.col("other"), F.col("_other"), settings),
            "is_routine": is_routine,
            "subject": _subject(),
        }
    )
    is_dataset = F.col("part").isin(INPUT, OUTPUT)
    key = F.when(is_dataset, _text(F.col("dataset"))).otherwise(F.col("key"))
    return named.withColumn("key", key).drop("_name", "_other")


def _subject() -> Column:
    """A routine as its callers know it, with the arguments that tell overloaded ones apart; of other things that DDL
    changes, the kind and the name.
    """
    label, domain = F.coalesce("_name", "thing.object_key"), F.lower("thing.domain")
    called = F.concat(label, F.coalesce("thing.argument_signature", F.lit("")))
    changed = F.when(F.col("thing").isNotNull(), F.concat_ws(" ", domain, label))
    return F.when(F.col("part") == ROUTINE, called).when(F.col("part") == CHANGE, changed)


def _text(dataset: Column) -> Column:
    """One text for a dataset; no namespace holds a line feed, so that different datasets never share one."""
    return F.concat(dataset["namespace"], F.lit("\n"), dataset["name"])
