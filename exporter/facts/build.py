"""Rows -> facts, table by table; nothing here writes."""

from __future__ import annotations

from dataclasses import fields
from types import MappingProxyType, SimpleNamespace
from typing import TYPE_CHECKING, Final, cast

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

    Tables = Mapping[str, DataFrame]


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
    made: dict[str, Callable[[Tables], DataFrame]] = {
        "things": lambda _: things(rows),
        "ddl_changes": lambda _: ddl_changes(rows),
        "queries": lambda _: queries(rows, query_history),
        "accesses": lambda there: accesses(there["things"]),
        "derivations": lambda there: derivations(there["things"]),
        "ddl_settings": lambda there: ddl_settings(there["ddl_changes"]),
        "writes": lambda there: writes(there["things"]),
        "policy_references": lambda there: policy_references(there["things"]),
        "joins": lambda there: joins(there["things"]),
        "mentions": lambda there: mentions(_so_far(there)),
        "names": lambda there: names(there["mentions"], _so_far(there)),
        "columns": lambda there: columns(_so_far(there)),
        "objects": lambda there: objects(there["mentions"]),
        **{name: _of_facts(more) for name, more in also.items()},
    }
    stored = {name: _stored(name, one, keep) for name, one in made.items()}
    tables = together(stored, {**_AFTER, **dict.fromkeys(also, _OF_QUERIES)})
    return Facts(**{one.name: tables[one.name] for one in fields(Facts)})


def _stored(
    name: str, made: Callable[[Tables], DataFrame], keep: Callable[[str, DataFrame], DataFrame]
) -> Callable[[Tables], DataFrame]:
    return lambda there: keep(name, made(there))


def _of_facts(made: Callable[[Facts], DataFrame]) -> Callable[[Tables], DataFrame]:
    return lambda there: made(_so_far(there))


def _so_far(tables: Tables) -> Facts:
    """The facts that are there. To read one that is not is an error, and not an empty table."""
    return cast("Facts", SimpleNamespace(**tables))


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
