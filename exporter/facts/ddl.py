"""facts/ddl_changes, facts/ddl_settings: what a query changed by DDL, and every property that the row shows of it.

Sources: view, "object_modified_by_ddl" and its usage notes; guide, "Examples: Tracking objects modified by a DDL
operation". Properties are atomic (``{"value": …}``) or compound (a name -> ``{"subOperationType": …}``), and those of
columns hold compounds again; they are read by that shape and not by a list of names, for new ones keep coming.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import Window as W
from pyspark.sql import functions as F

from exporter.facts import identifiers
from exporter.facts.common import CHANGE_FIELDS, QUERY_COLUMNS, identified, key_of, one_per_key, said
from exporter.schemas import DDL_CHANGES, DDL_SETTINGS

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_MAP: Final = "map<string,string>"
_ENDS: Final = ("Domain", "Id", "Name")
_OF_ELEMENT: Final = ("objectId", "subOperationType", "tagValue", "value")


def ddl_changes(rows: DataFrame) -> DataFrame:
    """One row per change. Two of one kind to one object in one query are told apart by a hash of what they say."""
    change = F.col("object_modified_by_ddl")
    parsed = rows.filter(change.isNotNull()).select(
        *QUERY_COLUMNS,
        change.alias("change"),
        F.upper(F.trim(F.coalesce(change["operationType"], F.lit("UNKNOWN")))).alias("operation"),
        F.coalesce(change["properties"], F.lit("{}")).alias("properties"),
        _atoms(change["properties"]).alias("p"),
    )
    named = identified(parsed, "change", CHANGE_FIELDS)
    whole = named.filter(F.col("object_key").isNotNull() & (F.col("operation") != identifiers.TRUNCATED))
    changes = whole.select(
        *[name for name in whole.schema.names if name != "p"],
        F.element_at("p", "objectName").alias("new_name"),
        *[F.element_at("p", f"swapTarget{end}").alias(f"swap_{end.lower()}") for end in _ENDS],
        *[_source_value(end).alias(f"source_{end.lower()}") for end in _ENDS],
        F.element_at("p", "policyBody").alias("policy_body"),
        F.element_at("p", "comment").alias("comment"),
    )
    both = _other_object(_other_object(changes, "swap"), "source")
    each = one_per_key(both, ["account", "query_id", "object_key", "operation", "properties"])
    return each.withColumn("change_key", _change_key()).select(*DDL_CHANGES)


def _change_key() -> Column:
    plain = F.concat(F.lower(F.expr(identifiers.segment("operation"))), F.lit("/"), F.col("object_key"))
    alike = F.count(F.lit(1)).over(W.partitionBy("account", "query_id", "object_key", "operation"))
    told_apart = F.concat(plain, F.lit("/"), F.substring(F.sha2("properties", 256), 1, 16))
    return F.when(alike == 1, plain).otherwise(told_apart)


def _source_value(end: str) -> Column:
    """The property that names what the object was made from (CLONE, LIKE): the documents give it no name."""
    keys = F.filter(
        F.map_keys("p"), lambda name: name.rlike(rf"(?i)^(clone|like|creation)?source(object|target)?{end}\z")
    )
    return F.element_at(F.col("p"), F.get(keys, F.lit(0)))


def _other_object(changes: DataFrame, side: str) -> DataFrame:
    """The changes with the key of the other object that they name; its domain is their own unless they say it."""
    domain, ident = f"{side}_domain", f"{side}_id"
    is_named = F.coalesce(ident, f"{side}_name").isNotNull()
    like_own = changes.withColumn(domain, F.when(is_named, F.coalesce(domain, "domain")))
    made = key_of(like_own, f"{side}_key", domain, ident, f"{side}_name")
    return made.withColumn(domain, F.expr(identifiers.normal_domain(domain))).withColumn(
        ident, F.expr(identifiers.usable_id(ident))
    )


def _atoms(properties: Column) -> Column:
    """The values of the atomic properties by name; None for compound ones and for those that say nothing.

    One lambda for all: an expression for each property would say where it comes from a dozen times.
    """
    values = F.transform_values(F.from_json(properties, _MAP), lambda _, raw: atomic(raw))
    return F.transform_values(values, lambda _, value: said(value))


def atomic(raw: Column) -> Column:
    """The value of an atomic property: of ``{"value": x}``, x; of a bare value, itself; of anything else, None."""
    inner = F.from_json(raw, "value string")["value"]
    return F.when(raw.startswith("{"), inner).when(~raw.startswith("["), raw)


def ddl_settings(changes: DataFrame) -> DataFrame:
    """One row per atomic property, per element of a compound one, and the same below each column."""
    of_object = _entries(changes.select(*QUERY_COLUMNS, "change_key", "object_key", "properties"), "properties")
    is_column = (F.col("property") == "columns") & _is_compound(F.col("raw"))
    on_object = of_object.filter(~is_column).withColumn("column_name", F.lit(None).cast("string"))
    columns = of_object.filter(is_column).select(
        *QUERY_COLUMNS,
        "change_key",
        "object_key",
        F.explode(F.from_json("raw", _MAP)).alias("column_name", "of_column"),
    )
    named = columns.filter(said(F.col("column_name")).isNotNull())
    as_element = named.withColumn("property", F.lit("columns")).select(
        *_head(), F.col("column_name").alias("element"), F.col("of_column").alias("of_element")
    )
    below = _entries(named, "of_column", "column_name").filter(~F.col("property").isin(*_OF_ELEMENT))
    entries = on_object.unionByName(below)
    return _atoms_of(entries).unionByName(_elements(_compounds(entries).unionByName(as_element))).distinct()


def _entries(rows: DataFrame, column: str, *also: str) -> DataFrame:
    keep = (*QUERY_COLUMNS, "change_key", "object_key", *also)
    return rows.select(*keep, F.explode(F.from_json(column, _MAP)).alias("property", "raw"))


def _is_compound(raw: Column) -> Column:
    """An object that is not ``{"value": …}``."""
    keys = F.map_keys(F.from_json(raw, _MAP))
    return raw.startswith("{") & ~F.array_contains(keys, "value") & (F.size(keys) > 0)


def _atoms_of(entries: DataFrame) -> DataFrame:
    """Atomic entries as they are."""
    is_said = F.col("raw") != identifiers.TRUNCATED  # columns that Snowflake cut away are a bare text
    nothing = [F.lit(None).cast("string").alias(name) for name in ("element", "element_key", "element_id")]
    return entries.filter(~_is_compound(F.col("raw")) & is_said).select(
        *_head(),
        *nothing,
        F.lit(None).cast("string").alias("sub_operation"),
        F.coalesce(atomic(F.col("raw")), "raw").alias("value"),
    )


def _compounds(entries: DataFrame) -> DataFrame:
    """Compound entries, element by element."""
    return entries.filter(_is_compound(F.col("raw"))).select(
        *_head(), F.explode(F.from_json("raw", _MAP)).alias("element", "of_element")
    )


def _head() -> list[str]:
    return [*QUERY_COLUMNS, "change_key", "object_key", "column_name", "property"]


def _elements(rows: DataFrame) -> DataFrame:
    """One row per element; ``element_key``: the tag or policy that it names, None for values and columns."""
    read = rows.withColumn("_of", F.from_json("of_element", _MAP)).select(
        *_head(),
        "element",
        atomic(F.element_at("_of", "objectId")).alias("element_id"),
        F.upper(F.element_at("_of", "subOperationType")).alias("sub_operation"),
        atomic(F.coalesce(F.element_at("_of", "tagValue"), F.element_at("_of", "value"))).alias("given"),
        F.when(F.col("_of").isNull(), F.col("of_element")).alias("bare"),
        _element_domain(F.col("property")).alias("element_domain"),
    )
    named = read.withColumn("tagged", F.when(F.col("element_domain").isNotNull(), F.col("element")))
    ident = "CASE WHEN element_domain IS NOT NULL THEN element_id END"
    made = key_of(named, "element_key", "element_domain", ident, "tagged")
    return (
        made.withColumn("element_id", F.expr(identifiers.usable_id("element_id")))
        .withColumn("value", F.coalesce("given", "bare"))
        .select(*DDL_SETTINGS)
    )


def _element_domain(property_: Column) -> Column:
    """TAG for tags, MASKING POLICY for maskingPolicies, and so on for every property of policies."""
    policy = F.regexp_extract(property_, r"^([a-zA-Z]+)Policies\z", 1)
    words = F.upper(F.regexp_replace(policy, "([a-z])([A-Z])", "$1 $2"))
    return F.when(property_ == "tags", "TAG").when(policy != "", F.concat(words, F.lit(" POLICY")))
