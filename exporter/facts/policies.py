"""facts/policy_references: which policies were enforced on which objects and columns a query read.

Sources: view, "policies_referenced"; guide, "Masking and row access policy references".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F

from exporter.facts import identifiers
from exporter.facts.accesses import column_id
from exporter.facts.common import OBJECT_COLUMNS, QUERY_COLUMNS, key_of, one_per_key, said
from exporter.schemas import POLICY_REFERENCES

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_KEYS: Final = ["account", "query_id", "object_key", "column_name", "policy_key", "provider"]


def policy_references(things: DataFrame) -> DataFrame:
    """One row per query, protected object or column, and policy."""
    objects = things.filter(F.col("place").isin("POLICY", "PROVIDER_POLICY"))
    protected = objects.withColumn("p", F.explode(_protected())).filter(F.size("p.policies") > 0)
    each = protected.select(
        *(*QUERY_COLUMNS, *OBJECT_COLUMNS),
        (F.col("place") == "PROVIDER_POLICY").alias("provider"),
        said(F.col("p.column_name")).alias("column_name"),
        column_id(F.col("p.column_id")).alias("column_id"),
        F.explode("p.policies").alias("policy"),
    )
    stated = each.withColumn("policy_kind", F.expr(policy_kind("policy.policyKind")))
    named = key_of(stated, "policy_key", "policy_kind", "policy.policyId", "policy.policyName")
    whole = named.filter(F.col("policy_key").isNotNull()).select(
        *[name for name in named.schema.names if name != "policy"],
        F.expr(identifiers.usable_id("policy.policyId")).alias("policy_id"),
        said(F.col("policy.policyName")).alias("policy_name"),
    )
    return one_per_key(whole, _KEYS).select(*POLICY_REFERENCES)


def _protected() -> Column:
    """The object's own policies and those of each column, side by side."""
    none = F.lit(None).cast("string")
    own = F.struct(none.alias("column_name"), none.alias("column_id"), F.col("policies"))
    columns = F.transform(
        F.coalesce("guarded", F.array()),
        lambda one: F.struct(
            one["columnName"].alias("column_name"),
            one["columnId"].alias("column_id"),
            one["policies"].alias("policies"),
        ),
    )
    return F.concat(F.array(own), columns)


def policy_kind(kind: str) -> str:
    """``MASKING_POLICY``, ``ROW_ACCESS_POLICY`` …, in the view's spelling; ``POLICY`` where the row does not say."""
    return f"coalesce(replace({identifiers.normal_domain(kind)}, ' ', '_'), 'POLICY')"
