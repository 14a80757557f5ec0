"""Rows -> facts, table by table; nothing here writes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from exporter.facts import Facts
from exporter.facts.accesses import accesses, joins, writes
from exporter.facts.ddl import ddl_changes, ddl_settings
from exporter.facts.derivations import derivations
from exporter.facts.objects import columns, mentions, names, objects
from exporter.facts.policies import policy_references
from exporter.facts.queries import queries
from exporter.facts.things import things
from exporter.together import together

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame


def with_account(rows: DataFrame, account: str) -> DataFrame:
    """The rows with the account that they belong to: their own in ORGANIZATION_USAGE, the given one elsewhere."""
    own = F.concat("organization_name", F.lit("-"), "account_name")
    return rows.withColumn("account", F.coalesce(own, F.lit(account)))


def build(rows: DataFrame, query_history: DataFrame | None, keep: Callable[[str, DataFrame], DataFrame]) -> Facts:
    """The facts of good rows. ``keep`` stores a table under its name and returns it as stored, so that what builds on
    it does not compute it again.
    """
    first = together(
        {
            "things": lambda: keep("things", things(rows)),
            "ddl_changes": lambda: keep("ddl_changes", ddl_changes(rows)),
            "queries": lambda: keep("queries", queries(rows, query_history)),
        }
    )
    found, changes = first["things"], first["ddl_changes"]
    stated = together(
        {
            "accesses": lambda: keep("accesses", accesses(found)),
            "derivations": lambda: keep("derivations", derivations(found)),
            "ddl_settings": lambda: keep("ddl_settings", ddl_settings(changes)),
            "writes": lambda: keep("writes", writes(found)),
            "policy_references": lambda: keep("policy_references", policy_references(found)),
            "joins": lambda: keep("joins", joins(found)),
        }
    )
    stated.update(queries=first["queries"], ddl_changes=changes)
    partial = Facts(**stated, objects=changes, names=changes, columns=changes)
    entities = together(
        {"objects": lambda: _objects(partial, keep), "columns": lambda: {"columns": keep("columns", columns(partial))}}
    )
    return Facts(**stated, **entities["objects"], **entities["columns"])


def _objects(facts: Facts, keep: Callable[[str, DataFrame], DataFrame]) -> dict[str, DataFrame]:
    named = keep("mentions", mentions(facts))
    return together(
        {"names": lambda: keep("names", names(named, facts)), "objects": lambda: keep("objects", objects(named))}
    )
