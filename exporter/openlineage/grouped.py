"""Pieces -> one row per query, with everything that its event tells, in a fixed order.

Two groupings after one shuffle: pieces of the same dataset or column first, the query's pieces then. Collected lists
come in any order, so each is sorted, and where one value is wanted the greatest is taken.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F

from exporter.openlineage.pieces import (
    CHANGE,
    COLUMN,
    FAMILY,
    INPUT,
    ITEM,
    JOIN,
    OBJECT,
    OUTPUT,
    POLICY,
    QUERY,
    ROUTINE,
    TAG,
    THING_TYPE,
)

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from exporter.facts import Facts
    from exporter.openlineage.settings import OpenLineageSettings

_KEYS: Final = ("account", "query_id", "part", "key", "field")
_DATASET_TYPE: Final = f"""struct<namespace: string, name: string, object: {THING_TYPE}, keys: array<string>,
    accesses: array<string>, columns: array<string>, known: array<struct<name: string, type: string>>,
    lifecycle: string, previous: struct<namespace: string, name: string>, description: string>"""


def known_fields(facts: Facts, settings: OpenLineageSettings) -> DataFrame:
    """Account, object key, and every column known of the object with a type, sorted by name."""
    fields = _fields(F.sort_array(F.collect_set("column_name")), settings)
    return facts.columns.groupBy("account", "object_key").agg(fields.alias("known"))


def _fields(names: Column, settings: OpenLineageSettings) -> Column:
    return F.transform(names, lambda name: F.struct(name.alias("name"), F.lit(settings.unknown_type).alias("type")))


def with_known_fields(pieces: DataFrame, fields: DataFrame) -> DataFrame:
    """The pieces, each dataset with its object's columns.

    Pieces that are no datasets get a key that meets nothing but is spread over all partitions, as null would not be.
    """
    is_dataset = F.col("part").isin(INPUT, OUTPUT)
    elsewhere = F.concat(F.lit("-"), F.col("query_id"))
    keyed = pieces.withColumn("object_key", F.when(is_dataset, F.col("thing.object_key")).otherwise(elsewhere))
    return keyed.join(fields, ["account", "object_key"], how="left").drop("object_key")


def by_query(pieces: DataFrame, settings: OpenLineageSettings) -> DataFrame:
    """One row per query that has a row: its ``query`` struct, and sorted arrays of everything else."""
    told = F.struct(*ITEM, "known", "dataset", "other_dataset", "subject", "is_routine")
    items = pieces.groupBy(*_KEYS).agg(F.collect_list(told).alias("items"))
    sources = F.transform(F.filter("items", _is_source), _source)
    sourced = items.withColumn("sources", F.when(F.col("part") == COLUMN, F.sort_array(sources)))
    parts = sourced.select("account", "query_id", *(_only(part, item) for part, item in _parts().items()))
    grouped = parts.groupBy("account", "query_id").agg(*(F.collect_list(part).alias(part) for part in _parts()))
    queries = grouped.filter(F.size(QUERY) > 0).select(
        "account",
        "query_id",
        F.get(QUERY, F.lit(0)).alias("query"),
        *(F.sort_array(part).alias(name) for part, name in _SORTED.items()),
        *(F.sort_array(F.array_distinct(F.flatten(part))).alias(name) for part, name in _LISTS.items()),
    )
    return _with_unlisted(queries, settings)


_SORTED: Final = {INPUT: "inputs", OUTPUT: "outputs", COLUMN: "columns", ROUTINE: "routines", TAG: "tags"}
_LISTS: Final = {CHANGE: "changes", POLICY: "policies", JOIN: "joins", FAMILY: "family"}


def _only(part: str, item: Column) -> Column:
    return F.when(F.col("part") == part, item).alias(part)


def _parts() -> dict[str, Column]:
    """What each part is in its query's row."""
    return {
        QUERY: F.get("items", F.lit(0))["query"],
        INPUT: _dataset(),
        OUTPUT: _dataset(),
        COLUMN: _column(),
        ROUTINE: _routine(),
        TAG: F.struct("key", F.sort_array("items.tag").alias("tags")),
        CHANGE: F.transform("items", lambda item: _named(item, "verb", "subject", "change")),
        POLICY: F.transform("items", lambda item: _named(item, "dataset", "policy")),
        JOIN: F.transform("items", lambda item: _named(item, "other_dataset", "join_type", "dataset")),
        FAMILY: F.col("items.relative"),
    }


def _named(item: Column, *names: str) -> Column:
    return F.struct(*(item[name].alias(name) for name in names))


def _dataset() -> Column:
    """What a query did to one dataset. Two objects of one name count as one dataset, with the columns of both."""
    keys, first = F.col("items.thing.object_key"), F.get("items", F.lit(0))
    is_one = F.array_min(keys) == F.array_max(keys)
    all_known = F.sort_array(F.array_distinct(F.flatten(F.array_compact("items.known"))))
    return F.struct(
        first["dataset"]["namespace"].alias("namespace"),
        first["dataset"]["name"].alias("name"),
        F.array_max("items.thing").alias("object"),
        F.sort_array(F.array_distinct(keys)).alias("keys"),
        F.sort_array(F.array_distinct("items.access")).alias("accesses"),
        F.sort_array(F.array_distinct(F.flatten(F.array_compact("items.columns")))).alias("columns"),
        F.when(is_one, first["known"]).otherwise(all_known).alias("known"),
        F.array_max("items.lifecycle").alias("lifecycle"),
        F.array_max("items.other_dataset").alias("previous"),
        F.array_max("items.description").alias("description"),
    )


def _is_source(item: Column) -> Column:
    return F.get(item["columns"], F.lit(0)).isNotNull() & item["dataset"].isNotNull()


def _source(item: Column) -> Column:
    return F.struct(
        item["dataset"]["namespace"].alias("namespace"),
        item["dataset"]["name"].alias("name"),
        F.get(item["columns"], F.lit(0)).alias("field"),
        (item["access"] == "BASE").alias("base"),
        item["thing"]["domain"].alias("domain"),
    )


def _column() -> Column:
    """A column written and its sources, each once, whether it is a direct one, a base one, or both."""
    sources = F.col("sources")
    direct = F.struct(F.lit("DIRECT").alias("type"), F.lit(None).cast("string").alias("description"))
    base = F.struct(F.lit("DIRECT").alias("type"), F.lit("base source").alias("description"))

    def same(one: Column, other: Column) -> Column:
        return (
            (one["field"] == other["field"]) & (one["name"] == other["name"]) & (one["namespace"] == other["namespace"])
        )

    def merged(source: Column, index: Column) -> Column:
        is_repeated = (index > 0) & same(source, F.get(sources, index - 1))
        has_base = F.exists(sources, lambda other: other["base"] & same(source, other))
        kinds = F.when(source["base"], F.array(base)).when(has_base, F.array(direct, base)).otherwise(F.array(direct))
        once = F.struct(
            *(source[name].alias(name) for name in ("namespace", "name", "field")),
            kinds.alias("transformations"),
            source["domain"].alias("domain"),
        )
        return F.when(~is_repeated, once)

    routines = F.transform(F.filter("items", lambda item: item["is_routine"]), _routine_item)
    return F.struct(
        "key",
        F.col("field").alias("column"),
        F.array_compact(F.transform(sources, merged)).alias("sources"),
        F.sort_array(routines).alias("routines"),
    )


def _routine_item(item: Column) -> Column:
    thing = item["thing"]
    fields = ("object_name", "argument_signature", "kind", "object_id", "data_type")
    return F.struct(*(thing[name].alias(name) for name in fields), item["access"].alias("access"))


def _routine() -> Column:
    """A function or procedure that a query called."""
    called = F.transform("items", _routine_item)
    return F.struct(F.get("items", F.lit(0))["subject"].alias("subject"), F.sort_array(called).alias("called"))


def _with_unlisted(queries: DataFrame, settings: OpenLineageSettings) -> DataFrame:
    """The queries, with the sources of columns among the inputs even where the view does not list them: a backend
    drops an edge from a dataset that is no input.
    """
    found = queries.withColumn("sources", F.flatten("columns.sources"))
    unlisted = F.array_except(F.transform("sources", identity), F.transform("inputs", identity))

    def told(dataset: Column) -> Column:
        own = F.filter("sources", lambda source: identity(source) == dataset)
        names = F.sort_array(F.array_distinct(own["field"]))
        thing = F.struct(*(F.array_max(own["domain"]) if name == "domain" else F.lit(None) for name in OBJECT))
        nothing, accesses = F.lit(None), F.array(F.lit("SOURCE"))
        values = (dataset["namespace"], dataset["name"], thing, nothing, accesses, names, _fields(names, settings))
        return F.struct(*values, nothing, nothing, nothing).cast(_DATASET_TYPE)

    inputs = F.concat("inputs", F.transform(unlisted, told))
    return found.withColumn("inputs", F.sort_array(inputs)).drop("sources")


def identity(dataset: Column) -> Column:
    """Namespace and name of a dataset, and nothing else of it."""
    return F.struct(dataset["namespace"].alias("namespace"), dataset["name"].alias("name"))
