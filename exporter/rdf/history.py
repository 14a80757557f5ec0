"""What happens to objects and their columns, in one table: reads, drops, new versions, columns read and written.

Reads count when their query starts, changes when it ends: a query does not read what it writes itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from exporter.facts.identifiers import TRUNCATED
from exporter.sql import aggregates, union

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from exporter.facts import Facts

READ, READ_COLUMN, DROP, MAKE, WRITE_COLUMN = range(5)
"""The kinds of events, in the order in which those of one query and time count."""
_COMMON: Final = ("account", "query_id", "object_key", "at", "event")
_MORE: Final = {
    "is_data": "boolean",
    "is_base": "boolean",
    "is_created": "boolean",
    "policy_body": "string",
    "column_name": "string",
    "derivation": "struct<target_key: string, target_column: string, source_type: string, object_name: string, "
    "target_name: string, kind: string>",
}
COLUMNS: Final = (*_COMMON, *_MORE)
RENAME: Final = (
    "property = 'objectName' AND column_name IS NOT NULL AND value <> column_name "
    f"AND trim(value) <> '' AND value <> '{TRUNCATED}'"
)
"""The settings by which a column gets another name."""
_ADDED: Final = "property = 'columns' AND sub_operation = 'ADD'"
_DROPPED: Final = "property = 'columns' AND sub_operation = 'DROP'"


def events(facts: Facts) -> DataFrame:
    """One row per query, object (and column) and kind of event, with :data:`COLUMNS`; see
    :func:`exporter.rdf.versions.timeline`.
    """
    parts = (_reads(facts), _column_reads(facts), _drops(facts), _makes(facts), _column_writes(facts))
    return union(parts)


def _shaped(events: DataFrame, event: int, **given: str) -> DataFrame:
    """The events with all columns of the timeline: those that are given, and null for the others."""
    more = [f"{given.get(name, f'cast(null as {kind})')} AS {name}" for name, kind in _MORE.items()]
    return events.selectExpr("account", "query_id", "object_key", "at", f"{event} AS event", *more)


def _reads(facts: Facts) -> DataFrame:
    of_read = "account", "query_id", "query_start_time", "object_key"
    policies = "account", "query_id", "query_start_time", "policy_key AS object_key"
    parts = [
        facts.accesses.selectExpr(*of_read, "true AS is_data", "access = 'BASE' AS is_base"),
        facts.derivations.selectExpr(*of_read, "true AS is_data", "false AS is_base"),
        facts.policy_references.selectExpr(*policies, "false AS is_data", "false AS is_base"),
    ]
    every = union(parts)
    once = every.groupBy("account", "query_id", "object_key").agg(
        *aggregates(at="min(query_start_time)", is_data="bool_or(is_data)", is_base="bool_or(is_base)")
    )
    return _shaped(once, READ, is_data="is_data", is_base="is_base")


def _column_reads(facts: Facts) -> DataFrame:
    """Sources of columns when their query started, and columns that are renamed when that is done."""
    fields = "target_key, target_column, source_type, object_name, target_name, kind"
    sources = facts.derivations.withColumnRenamed("query_start_time", "at")
    read = _shaped(sources, READ_COLUMN, column_name="source_column", derivation=f"struct({fields})")
    none = "cast(null as string)"
    renamed = (
        f"struct(object_key AS target_key, value AS target_column, {none} AS source_type, {none} AS object_name, "
        f"{none} AS target_name, {none} AS kind)"
    )
    renames = _at_end(facts.ddl_settings.filter(RENAME).drop("query_start_time"), facts)
    return read.unionByName(_shaped(renames, READ_COLUMN, column_name="column_name", derivation=renamed))


def _drops(facts: Facts) -> DataFrame:
    drops = facts.ddl_changes.filter("operation = 'DROP'").select("account", "query_id", "object_key").distinct()
    return _shaped(_at_end(drops, facts), DROP)


def _makes(facts: Facts) -> DataFrame:
    key, no_body = ("account", "query_id", "object_key"), "cast(null as string) AS policy_body"
    creates = "operation IN ('CREATE', 'REPLACE')"
    by_ddl = facts.ddl_changes.filter(f"{creates} OR operation = 'UNDROP' OR policy_body IS NOT NULL")
    parts = [
        facts.writes.selectExpr(*key, "false AS is_created", no_body),
        by_ddl.selectExpr(*key, f"{creates} AS is_created", "policy_body"),
        facts.ddl_settings.filter(f"{_ADDED} OR {_DROPPED} OR {RENAME}").selectExpr(
            *key, "false AS is_created", no_body
        ),
    ]
    every = union(parts)
    once = every.groupBy(*key).agg(*aggregates(is_created="bool_or(is_created)", policy_body="max(policy_body)"))
    return _shaped(_at_end(once, facts), MAKE, is_created="is_created", policy_body="policy_body")


def _column_writes(facts: Facts) -> DataFrame:
    """Columns that queries wrote, added (also by CREATE) or gave a name; what is added or renamed is new."""
    key = "account", "query_id", "object_key"
    parts = [
        facts.writes.selectExpr(*key, "explode(columns.column_name) AS column_name", "false AS is_created"),
        facts.ddl_settings.filter(_ADDED).selectExpr(*key, "element AS column_name", "true AS is_created"),
        facts.ddl_settings.filter(RENAME).selectExpr(*key, "value AS column_name", "true AS is_created"),
    ]
    every = union(parts)
    once = every.groupBy(*key, "column_name").agg(*aggregates(is_created="bool_or(is_created)"))
    return _shaped(_at_end(once, facts), WRITE_COLUMN, column_name="column_name", is_created="is_created")


def _at_end(events: DataFrame, facts: Facts) -> DataFrame:
    times = facts.queries.selectExpr("account", "query_id", "coalesce(end_time, query_start_time) AS at")
    return events.join(times, on=["account", "query_id"], how="inner")
