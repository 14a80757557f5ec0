"""The facts as one table of pieces, so that a single shuffle brings all that is known of a query together.

A piece is one thing that a query did: a row of facts, under the query, the ``part`` of the event that it belongs to,
and the ``thing`` that it is about. Each part fills its own columns and leaves the others null. Names are made from the
union (:mod:`exporter.openlineage.named`), so that the plan holds their expressions once and not once a part.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F

from exporter.facts.identifiers import ROUTINE_KINDS, canonical_name
from exporter.schemas import QUERIES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import Column, DataFrame

    from exporter.facts import Facts
    from exporter.openlineage.settings import OpenLineageSettings

INPUT, OUTPUT, COLUMN, ROUTINE = "INPUT", "OUTPUT", "COLUMN", "ROUTINE"
CHANGE, TAG, POLICY, JOIN, QUERY, FAMILY = "CHANGE", "TAG", "POLICY", "JOIN", "QUERY", "FAMILY"

DATASET_KINDS: Final = ("table", "view", "stage", "table-stage", "user-stage", "stream", "location")
"""What DDL changes of are outputs; other kinds of thing (policies, tags, roles …) are told in the ``ddl`` facet."""

DATASET_OPERATIONS: Final = ("CREATE", "ALTER", "DROP", "REPLACE", "UNDROP", "REFRESH")
"""What changes a dataset; DESCRIBE, SHOW, GRANT and the like do not make it an output."""

_LIFECYCLE: Final[Mapping[str, str]] = {"CREATE": "CREATE", "ALTER": "ALTER", "DROP": "DROP", "REPLACE": "OVERWRITE"}
"""The operations that one of the six values of ``lifecycleStateChange`` fits."""

OBJECT: Final = (
    "object_key",
    "kind",
    "domain",
    "object_id",
    "object_name",
    "argument_signature",
    "data_type",
    "stage_kind",
    "location",
    "object_account",
)
_CHANGE: Final[Mapping[str, str]] = {
    "change_key": "changeKey",
    "operation": "operation",
    "domain": "objectDomain",
    "object_id": "objectId",
    "object_name": "objectName",
    "argument_signature": "argumentSignature",
    "new_name": "newName",
    "swap_domain": "swapDomain",
    "swap_id": "swapId",
    "swap_name": "swapName",
    "source_domain": "sourceDomain",
    "source_id": "sourceId",
    "source_name": "sourceName",
    "policy_body": "policyBody",
    "comment": "comment",
    "properties": "properties",
}
_POLICY: Final[Mapping[str, str]] = {
    "column_name": "field",
    "policy_kind": "policyKind",
    "policy_id": "policyId",
    "policy_name": "policyName",
}
_QUERY: Final = {
    name: kind.removesuffix(" not null") for name, kind in QUERIES.items() if name not in ("account", "query_id")
}


def _struct(fields: Mapping[str, str]) -> str:
    return "struct<" + ", ".join(f"{name}: {kind}" for name, kind in fields.items()) + ">"


THING_TYPE: Final = _struct(dict.fromkeys(OBJECT, "string"))
ITEM: Final[Mapping[str, str]] = {
    "thing": THING_TYPE,
    "other": THING_TYPE,
    "access": "string",
    "columns": "array<string>",
    "lifecycle": "string",
    "description": "string",
    "change": _struct(dict.fromkeys(_CHANGE.values(), "string")),
    "verb": "string",
    "tag": _struct(dict.fromkeys(("key", "value", "field"), "string")),
    "policy": _struct({**dict.fromkeys(_POLICY.values(), "string"), "provider": "boolean"}),
    "join_type": "string",
    "query": _struct(_QUERY),
    "relative": _struct(dict.fromkeys(("role", "query_id", "job_name"), "string")),
}
"""What a piece tells. ``thing``: the object read, written, changed, protected, or a column's source; ``other``: the
left side of a join, the old name of a rename."""


def pieces(facts: Facts, settings: OpenLineageSettings) -> DataFrame:
    """All that the facts say of queries, a piece a row, but for the names of their parents' jobs."""
    parts = (
        _queries(facts, settings),
        _inputs(facts, settings),
        _outputs(facts),
        _columns(facts, settings),
        _changes(facts),
        _tags(facts),
        _policies(facts),
        _joins(facts),
    )
    return reduce(lambda union, part: union.unionByName(part), parts)


def piece(rows: DataFrame, part: str | Column, key: Column, field: Column, **told: Column) -> DataFrame:
    """Rows of facts as pieces of one part, grouped by key and field; what is not told is null."""
    given = [told.get(name, F.lit(None)).cast(kind).alias(name) for name, kind in ITEM.items()]
    kind = F.lit(part) if isinstance(part, str) else part
    keys = (kind.alias("part"), key.cast("string").alias("key"), field.cast("string").alias("field"))
    return rows.select("account", "query_id", *keys, *given)


def _nothing() -> Column:
    return F.lit(None).cast("string")


def _thing(**other: Column) -> Column:
    """The object columns of the row, some of them from elsewhere."""
    return F.struct(*(other.get(name, F.col(name)).alias(name) for name in OBJECT))


def _queries(facts: Facts, settings: OpenLineageSettings) -> DataFrame:
    hidden = () if settings.sql else ("query_text",)
    told = F.struct(*(_nothing() if name in hidden else F.col(name) for name in _QUERY))
    return piece(facts.queries, QUERY, _nothing(), _nothing(), query=told)


def _inputs(facts: Facts, settings: OpenLineageSettings) -> DataFrame:
    """Objects read: datasets are inputs, functions and procedures are told in a facet."""
    shown = facts.accesses if settings.base_inputs else facts.accesses.filter(F.col("access") == "DIRECT")
    part = F.when(F.col("kind").isin(*ROUTINE_KINDS), ROUTINE).otherwise(INPUT)
    names = F.col("columns.column_name")
    return piece(shown, part, F.col("object_key"), _nothing(), thing=_thing(), access=F.col("access"), columns=names)


def _outputs(facts: Facts) -> DataFrame:
    names, access = F.col("columns.column_name"), F.lit("WRITE")
    return piece(facts.writes, OUTPUT, _nothing(), _nothing(), thing=_thing(), access=access, columns=names)


def _columns(facts: Facts, settings: OpenLineageSettings) -> DataFrame:
    """Where the columns written come from, under the object and the column written."""
    is_direct = F.col("source_type") == "DIRECT"
    shown = facts.derivations if settings.base_inputs else facts.derivations.filter(is_direct)
    source = {"columns": F.array("source_column"), "access": F.col("source_type"), "thing": _thing()}
    return piece(shown, COLUMN, F.col("target_key"), F.col("target_column"), **source)


def _changes(facts: Facts) -> DataFrame:
    """Every DDL change, and beside it the datasets that it changes: a rename makes the new name and ends the old.

    The thing of a change is given only where it is no dataset.
    """
    is_dataset = F.col("kind").isin(*DATASET_KINDS) & F.col("operation").isin(*DATASET_OPERATIONS)
    is_rename = is_dataset & F.col("new_name").isNotNull()
    state = F.create_map(*(F.lit(text) for pair in _LIFECYCLE.items() for text in pair))[F.col("operation")]
    outcomes = F.array(
        _outcome(CHANGE, _nothing(), _nothing()),
        F.when(is_dataset & ~is_rename, _outcome(OUTPUT, state, F.col("object_name"))),
        F.when(is_rename, _outcome(OUTPUT, F.lit("RENAME"), F.col("new_name"))),
        F.when(is_rename, _outcome(OUTPUT, F.lit("DROP"), F.col("object_name"))),
    )
    told = facts.ddl_changes.withColumn("outcome", F.explode(F.array_compact(outcomes)))
    part, state, name = (F.col(f"outcome.{field}") for field in ("part", "state", "name"))
    is_change = part == CHANGE
    return piece(
        told,
        part,
        _nothing(),
        _nothing(),
        thing=F.when(
            ~is_change | ~is_dataset, _thing(object_name=F.when(is_change, F.col("object_name")).otherwise(name))
        ),
        other=F.when(state == "RENAME", _thing()),
        access=F.when(~is_change, F.lit("DDL")),
        lifecycle=state,
        description=F.when(~is_change, F.col("comment")),
        change=F.when(is_change, F.struct(*_CHANGE)),
        verb=F.when(is_change, F.when(is_rename, "rename").otherwise(F.lower("operation"))),
    )


def _outcome(part: str, state: Column, name: Column) -> Column:
    return F.struct(F.lit(part).alias("part"), state.cast("string").alias("state"), name.cast("string").alias("name"))


def _tags(facts: Facts) -> DataFrame:
    """Tags that a change sets on a dataset or its columns; what it takes away is told in the ``ddl`` facet."""
    is_set = (F.col("property") == "tags") & F.col("element").isNotNull()
    still_there = F.coalesce(F.col("sub_operation"), F.lit("ADD")) != "DROP"
    tag = F.struct(canonical_name(F.col("element")), F.coalesce("value", F.lit("")), "column_name")
    return piece(facts.ddl_settings.filter(is_set & still_there), TAG, F.col("object_key"), _nothing(), tag=tag)


def _policies(facts: Facts) -> DataFrame:
    policy = F.struct(*_POLICY, "provider")
    return piece(facts.policy_references, POLICY, _nothing(), _nothing(), thing=_thing(), policy=policy)


def _joins(facts: Facts) -> DataFrame:
    given = {
        "object_key": F.col("left_key"),
        "kind": F.substring_index("left_key", "/", 1),
        "object_name": F.col("left_name"),
    }
    left = F.struct(*(given.get(name, _nothing().cast("string")).alias(name) for name in OBJECT))
    return piece(facts.joins, JOIN, _nothing(), _nothing(), thing=_thing(), other=left, join_type=F.col("join_type"))
