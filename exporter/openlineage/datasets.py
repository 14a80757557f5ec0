"""The datasets that the rows name: their identity, what they tell of themselves, and an event for each.

A few objects are read again and again, so what every event says of a dataset (its columns, type, hierarchy) is made
once for each dataset and joined as text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F

from exporter.facts.identifiers import UNKNOWN_KIND, canonical_name
from exporter.openlineage.facets import EVENT_SCHEMA, OBJECT_FIELDS, Facets
from exporter.openlineage.naming import dataset, qualified
from exporter.openlineage.pieces import DATASET_KINDS, OBJECT
from exporter.openlineage.sql import iso, sorted_set, struct, typed_fields
from exporter.sql import literal, literals

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from exporter.facts import Facts
    from exporter.openlineage.settings import OpenLineageSettings

DATASET: Final = "DATASET"
_KEYS: Final = ("account", "object_key", "object_name", "object_account")
_SEVERAL: Final = ("domain", "argument_signature", "data_type", "stage_kind", "location", "object_account")
_DATASETS: Final = literals((*DATASET_KINDS, UNKNOWN_KIND))
_TELLING: Final = ", ".join(f"o.{name}" for name in OBJECT_FIELDS)


def datasets(facts: Facts, settings: OpenLineageSettings) -> DataFrame:
    """One row per dataset: account, namespace, name, ``identity`` and ``facets`` (members of JSON objects),
    ``is_sent``, whether it has an event, and ``spellings``, the object keys, names and accounts that it goes by.

    Objects that had one name one after the other (a table that was made anew) are one dataset, with the columns of all:
    it must not look thinner than it is. Routines, policies and the like have a row for their name's sake.
    """
    named = _spelled(_objects(facts)).transform(_with_datasets, settings)
    # A tag may have a table's name: what is no dataset is kept apart.
    apart = named.selectExpr("*", f"thing.kind IN ({_DATASETS}) AS is_dataset")
    grouped = apart.groupBy("account", "dataset", "is_dataset").agg(
        F.collect_list(F.struct("thing", "columns")).alias("objects"),
        F.collect_list(F.struct("object_key", "object_name", "object_account")).alias("spellings"),
        F.max("is_seen").alias("is_seen"),
    )
    fields = typed_fields(sorted_set("flatten(objects.columns)"), settings.unknown_type)
    shown = grouped.selectExpr(
        *("account", "dataset.*", "is_dataset AND is_seen AS is_sent", "spellings", f"{fields} AS fields"),
        "array_max(objects.thing) AS thing",
        f"filter({sorted_set('objects.thing')}, o -> coalesce({_TELLING}) IS NOT NULL) AS things",
    )
    facets = Facets(settings)
    return shown.selectExpr(
        *("account", "namespace", "name", "is_sent", "spellings"),
        "regexp_extract(to_json(struct(namespace, name)), r'(?s)^.(.*).\\z', 1) AS identity",
        f"{facets.of_dataset()} AS facets",
        f"{facets.objects('things')} AS objects",
    )


def spellings(datasets: DataFrame) -> DataFrame:
    """Account, and key, name and account of an object as a row of facts has them -> its dataset."""
    return datasets.selectExpr("account", "namespace", "name", "identity", "facets", "inline(spellings)")


def _objects(facts: Facts) -> DataFrame:
    """Account, object key, the object's attributes, its columns, and its names (with the old one of a rename)."""
    objects = facts.objects.selectExpr("account", "object_key", f"{_THING} AS thing", "object_accounts")
    columns = facts.columns.select("account", "object_key", "column_name")
    names = facts.names.selectExpr("account", "object_key", "name AS object_name")
    renames = facts.ddl_changes.filter("new_name IS NOT NULL")
    new_names = renames.selectExpr("account", "object_key", "new_name AS object_name", "object_name AS old_name")
    union = objects
    for part in (columns, names, new_names):
        union = union.unionByName(part, allowMissingColumns=True)
    grouped = union.groupBy("account", "object_key").agg(
        F.max("thing").alias("thing"),
        F.max("object_accounts").alias("owners"),
        F.collect_set("column_name").alias("columns"),
        F.collect_set(F.struct("object_name", "old_name")).alias("names"),
    )
    return grouped.filter("thing IS NOT NULL")


# Of several domains the most telling is shown, which comes first in the alphabet (DYNAMIC TABLE before TABLE).
_THING: Final = struct(
    {
        name: f"array_min({name}s)" if name in _SEVERAL else "CAST(NULL AS string)" if name == "object_name" else name
        for name in OBJECT
    }
)


def _spelled(objects: DataFrame) -> DataFrame:
    """One row per object, name and account that rows may have it under, also none of either. ``is_seen``: not where
    a name or an account is known, but left out.
    """
    told = "filter(names, n -> n.object_name IS NOT NULL)"
    nameless = "named_struct('object_name', CAST(NULL AS string), 'old_name', CAST(NULL AS string))"
    has_name = f"n.object_name IS NOT NULL OR size({told}) = 0"
    has_owner = "o IS NOT NULL OR size(owners) = 0"
    spelling = struct(
        {
            "object_name": "n.object_name",
            "old_name": "n.old_name",
            "object_account": "o",
            "is_seen": f"({has_name}) AND ({has_owner})",
        }
    )
    by_owner = f"transform(concat(owners, array(CAST(NULL AS string))), o -> {spelling})"
    each = f"inline(flatten(transform(concat({told}, array({nameless})), n -> {by_owner})))"
    shown = objects.selectExpr("account", "object_key", "columns", "thing", each)
    return shown.groupBy(*_KEYS).agg(
        F.max("old_name").alias("old_name"),
        F.max("thing").alias("thing"),
        F.first("columns").alias("columns"),
        F.max("is_seen").alias("is_seen"),
    )


def _with_datasets(spelled: DataFrame, settings: OpenLineageSettings) -> DataFrame:
    names = (f"{canonical_name('object_name')} AS new", f"{canonical_name('old_name')} AS old")
    canonical = spelled.selectExpr("*", *names)
    whole = canonical.selectExpr("*", f"IF(old IS NULL, new, {qualified('new', 'old')}) AS canonical")
    named = dataset("thing", "object_account", "canonical", settings)
    return whole.selectExpr(*_KEYS, "thing", "columns", "is_seen", f"{named} AS dataset")


def dataset_events(facts: Facts, datasets: DataFrame, settings: OpenLineageSettings) -> DataFrame:
    """One event per dataset, at the time of the account's first query, so that it comes before all others."""
    begun = facts.queries.groupBy("account").agg(F.min("query_start_time").alias("event_time"))
    told = datasets.filter("is_sent").join(F.broadcast(begun), "account", how="inner")
    head = f'","producer":"{settings.producer}","schemaURL":"{EVENT_SCHEMA}/DatasetEvent","dataset":{{'
    begin = f"""'{{"eventTime":"', {iso("event_time")}, {literal(head)}, identity"""
    event = f"""concat({begin}, ',"facets":{{', concat_ws(',', facets, objects), '}}}}}}')"""
    columns = {
        "query_id": "CAST(NULL AS string)",
        "event_type": f"'{DATASET}'",
        "job_name": "CAST(NULL AS string)",
        "event": event,
    }
    return told.selectExpr("account", "event_time", *(f"{value} AS {name}" for name, value in columns.items()))
