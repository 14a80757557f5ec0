"""Nodes of what stays while queries come and go: objects, their names, their columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from exporter.facts.identifiers import canonical_name, segment
from exporter.rdf.accounts import owner
from exporter.rdf.history import RENAME
from exporter.rdf.iri import account_path, column_path, object_path, path
from exporter.rdf.kinds import DOMAIN_CLASSES, KIND_CLASSES
from exporter.rdf.references import date_time
from exporter.sql import aggregates

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from exporter.facts import Facts

_OBJECT = ("account", "object_key")


def name_path() -> str:
    """``OBJECT/called/TIME/NAME``."""
    return path("object_key", "'called'", segment(date_time("valid_from")), segment("name"))


def objects(facts: Facts) -> DataFrame:
    """One entity per object, with the names that it had and the objects that go by the same name."""
    named = facts.names.groupBy(*_OBJECT).agg(
        F.array_sort(F.collect_set(F.expr(name_path()))).alias("name_refs"),
        F.max(F.struct(F.col("valid_until").isNull(), "valid_from", "name")).alias("latest"),
    )
    whole = facts.objects.join(named, on=list(_OBJECT), how="left").join(
        _same_names(facts), on=list(_OBJECT), how="left"
    )
    return whole.select(
        *("account", "object_id", "canonical_name", "name_refs", "same_name_refs"),
        *("argument_signatures", "data_types", "stage_kinds", "locations", "object_accounts"),
        F.expr(_owners()).alias("account_refs"),
        F.expr(object_path()).alias("path"),
        F.coalesce("latest.name", F.get("locations", F.lit(0))).alias("label"),
        F.initcap(F.replace("kind", F.lit("-"), F.lit(" "))).alias("domain_label"),
        _types().alias("types"),
    )


def _owners() -> str:
    return f"array_compact(transform(object_accounts, one -> {account_path(owner('one'))}))"


def _same_names(facts: Facts) -> DataFrame:
    """Objects known by name alone -> objects with an id that had this name: perhaps the same, the rows do not say."""
    nameless = facts.objects.filter(F.col("canonical_name").isNotNull()).select(*_OBJECT, "kind", "canonical_name")
    kinds = facts.objects.filter(F.col("object_id").isNotNull()).select(*_OBJECT, "kind")
    had = facts.names.join(kinds, on=list(_OBJECT), how="inner").select(
        "account", "kind", F.col("object_key").alias("other"), F.expr(canonical_name("name")).alias("canonical_name")
    )
    pairs = nameless.join(had, on=["account", "kind", "canonical_name"], how="inner")
    return pairs.groupBy(*_OBJECT).agg(F.array_sort(F.collect_set("other")).alias("same_name_refs"))


def _types() -> Column:
    """The kind's classes and the exact ones that the domains show."""
    of_kind = F.create_map(*[part for kind, names in KIND_CLASSES.items() for part in (F.lit(kind), _array(names))])
    policy = F.when(F.col("kind").endswith("-policy"), _array(("ah:Policy",))).otherwise(_array(()))
    exact = F.create_map(*[F.lit(part) for pair in DOMAIN_CLASSES.items() for part in pair])
    exactly = F.array_compact(F.transform("domains", lambda domain: F.element_at(exact, domain)))
    classes = F.concat(exactly, F.coalesce(F.element_at(of_kind, F.col("kind")), policy))
    return F.concat(classes, _array(("ah:SnowflakeObject", "prov:Entity")))


def _array(names: tuple[str, ...]) -> Column:
    return F.array(*[F.lit(name) for name in names]).cast("array<string>")


def object_names(facts: Facts) -> DataFrame:
    """One node per name and time that an object had it."""
    return facts.names.select(
        "account", "name", "valid_from", "valid_until", "last_seen", F.expr(name_path()).alias("path")
    )


def columns(facts: Facts) -> DataFrame:
    """One entity per column; one that was renamed is another from then on, and says which it was."""
    renames = facts.ddl_settings.filter(RENAME)
    key = "account", "object_key", "column_name"
    before = path("object_key", "'column'", segment("column_name"))
    found = facts.columns.selectExpr(*key, "column_ids", "cast(null as string) AS before")
    no_ids = "cast(array() as array<string>) AS column_ids"
    renamed = renames.selectExpr(*key[:2], "value AS column_name", no_ids, f"{before} AS before")
    every = found.unionByName(renamed).groupBy(*key)
    return every.agg(
        *aggregates(
            column_ids="array_sort(array_distinct(flatten(collect_list(column_ids))))",
            renamed_from_refs="array_sort(collect_set(before))",
        )
    ).selectExpr("*", f"{column_path('column_name')} AS path", f"{object_path()} AS object_ref")
