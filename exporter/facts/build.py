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
    found = keep("things", things(rows))
    changes = keep("ddl_changes", ddl_changes(rows))
    stated = {
        "queries": keep("queries", queries(rows, query_history)),
        "accesses": keep("accesses", accesses(found)),
        "writes": keep("writes", writes(found)),
        "derivations": keep("derivations", derivations(found)),
        "policy_references": keep("policy_references", policy_references(found)),
        "joins": keep("joins", joins(found)),
        "ddl_changes": changes,
        "ddl_settings": keep("ddl_settings", ddl_settings(changes)),
    }
    partial = Facts(**stated, objects=changes, names=changes, columns=changes)
    named = keep("mentions", mentions(partial))
    return Facts(
        **stated,
        objects=keep("objects", objects(named)),
        names=keep("names", names(named, partial)),
        columns=keep("columns", columns(partial)),
    )
