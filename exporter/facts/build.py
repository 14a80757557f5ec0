"""Rows -> facts, table by table; nothing here writes."""

from __future__ import annotations

from dataclasses import fields
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

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
    from collections.abc import Callable, Mapping

    from pyspark.sql import DataFrame


def with_account(rows: DataFrame, account: str) -> DataFrame:
    """The rows with the account that they belong to: their own in ORGANIZATION_USAGE, the given one elsewhere."""
    own = F.concat("organization_name", F.lit("-"), "account_name")
    return rows.withColumn("account", F.coalesce(own, F.lit(account)))


def build(
    rows: DataFrame,
    query_history: DataFrame | None,
    keep: Callable[[str, DataFrame], DataFrame],
    also: Mapping[str, Callable[[Facts], DataFrame]] = MappingProxyType({}),
) -> Facts:
    """The facts of good rows. ``keep`` stores a table under its name and returns it as stored, so that what builds on
    it does not compute it again. ``also``: more tables to store, made of the facts of queries alone, which are there
    before objects, names and columns.
    """
    kept: dict[str, DataFrame] = {}

    def stored(name: str, made: Callable[[], DataFrame]) -> Callable[[], None]:
        def step() -> None:
            kept[name] = keep(name, made())

        return step

    def facts() -> Facts:
        """What is there so far; the tables that are not have a stand-in that nobody may read."""
        return Facts(**{one.name: kept.get(one.name, rows) for one in fields(Facts)})

    def of_facts(more: Callable[[Facts], DataFrame]) -> Callable[[], DataFrame]:
        return lambda: more(facts())

    made: dict[str, Callable[[], DataFrame]] = {
        "things": lambda: things(rows),
        "ddl_changes": lambda: ddl_changes(rows),
        "queries": lambda: queries(rows, query_history),
        "accesses": lambda: accesses(kept["things"]),
        "derivations": lambda: derivations(kept["things"]),
        "ddl_settings": lambda: ddl_settings(kept["ddl_changes"]),
        "writes": lambda: writes(kept["things"]),
        "policy_references": lambda: policy_references(kept["things"]),
        "joins": lambda: joins(kept["things"]),
        "mentions": lambda: mentions(facts()),
        "names": lambda: names(kept["mentions"], facts()),
        "columns": lambda: columns(facts()),
        "objects": lambda: objects(kept["mentions"]),
        **{name: of_facts(more) for name, more in also.items()},
    }
    after = {**_AFTER, **dict.fromkeys(also, _OF_QUERIES)}
    together({name: stored(name, one) for name, one in made.items()}, after)
    return facts()


_OF_THINGS: Final = ("accesses", "derivations", "writes", "policy_references", "joins")
_OF_QUERIES: Final = (*_OF_THINGS, "queries", "ddl_changes", "ddl_settings")
_AFTER: Final = {
    **dict.fromkeys(_OF_THINGS, ("things",)),
    "ddl_settings": ("ddl_changes",),
    "mentions": (*_OF_THINGS, "ddl_settings"),
    "columns": (*_OF_THINGS, "ddl_settings"),
    "names": ("mentions",),
    "objects": ("mentions",),
}
"""Which tables each is made from."""
