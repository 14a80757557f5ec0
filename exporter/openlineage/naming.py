"""Objects, queries and statements -> the names under which OpenLineage knows them.

Sources: the naming page of OpenLineage (spec/Naming.md) for datasets, RFC 4122 section 4.3 for run ids.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F

from exporter.facts.identifiers import name_parts

if TYPE_CHECKING:
    from pyspark.sql import Column

    from exporter.openlineage.settings import OpenLineageSettings

RUN_NAMESPACE: Final = "303cd5b2-8b07-52f5-b4b1-903f3a349c94"
"""UUIDv5 of ``https://w3id.org/access-history/run`` in the URL namespace: the namespace of all run ids."""

UNRECORDED_JOB: Final = "unrecorded statement"
"""The job of a parent that has no row: one for all of them, since a name with its query id would make one job a run."""

DATASET_TYPE: Final = "struct<namespace: string, name: string>"

_URL = r"(?s)^([A-Za-z][A-Za-z0-9+.\-]*)://([^/]*)/?(.*)\z"
_DRIVE = r"(?s)^file://([A-Za-z]:[\\/].*)\z"
_AZURE_ACCOUNT = r"^([^.]+)\."
_AZURE_PATH = r"(?s)^([^/]*)/?(.*)\z"
_PART = r'("(?:[^"]|"")+"|[^."]+)'
_QUOTED_OR_NOT = r'("(?:[^"]|"")*"|[^"]+)'
_SHOWN_NAMES, _SHOWN_LENGTH, _PREFIX_LENGTH = 3, 120, 60


def account_namespace(account: Column) -> Column:
    """``ORG-ACCOUNT`` -> ``snowflake://ORG-ACCOUNT``."""
    return F.concat(F.lit("snowflake://"), account)


def owner(account: Column, object_account: Column) -> Column:
    """The account that an object belongs to: the organization's account named beside it, else the query's own."""
    organization = F.substring_index(account, "-", 1)
    return F.when(object_account.isNull(), account).otherwise(F.concat(organization, F.lit("-"), object_account))


def dataset(account: Column, thing: Column, canonical: Column, settings: OpenLineageSettings) -> Column:
    """The dataset (namespace, name) that an object is. ``thing``: a struct of the object columns of the facts,
    ``canonical``: its canonical name.

    A name stands before a location, so that a stage that shows both keeps its name; an object with neither is named
    by its key.
    """
    own = account_namespace(owner(account, thing["object_account"]))
    by_name = _dataset(own, object_label(thing["kind"], letter_case(canonical, settings)))
    by_location = location(thing["location"], own)
    picked = (
        F.when(canonical.isNotNull(), by_name)
        .when(thing["location"].isNotNull(), by_location)
        .when(thing["object_key"].isNotNull(), _dataset(own, thing["object_key"]))
    )
    return mapped(picked, settings)


def object_label(kind: Column, name: Column) -> Column:
    """An object's name in its account, with ``%`` before a table's stage and ``~`` before a user's (Snowflake's own
    signs), which otherwise would be taken for the table itself.
    """
    of_table = F.regexp_replace(name, r'("(?:[^"]|"")*"|[^".]+)\z', "%$1")
    return (
        F.when(kind == "table-stage", of_table).when(kind == "user-stage", F.concat(F.lit("~"), name)).otherwise(name)
    )


def letter_case(name: Column, settings: OpenLineageSettings) -> Column:
    """The canonical name in the letter case of the settings; quoted parts keep theirs."""
    if settings.letter_case == "upper":
        return name
    parts = F.regexp_extract_all(name, F.lit(_QUOTED_OR_NOT), 1)
    lowered = F.transform(parts, lambda part: F.when(part.startswith('"'), part).otherwise(F.lower(part)))
    return F.when(F.contains(name, F.lit('"')), F.array_join(lowered, "")).otherwise(F.lower(name))


def location(url: Column, own: Column) -> Column:
    """A place outside of Snowflake, as the naming page has it; the slash at the end goes, as Spark's producers do it.

    ``s3://b/p/f.csv`` -> ``s3://b``, ``p/f.csv``; ``gcs://`` -> ``gs://``; ``file:///p`` -> ``file``, ``/p``;
    ``azure://acc.blob.core.windows.net/c/p`` -> ``wasbs://c@acc.dfs.core.windows.net``, ``p``.
    What is no URL stays whole, in the account's namespace ``own``.
    """
    scheme = F.lower(F.regexp_extract(url, _URL, 1))
    authority, path = F.regexp_extract(url, _URL, 2), F.regexp_extract(url, _URL, 3)
    container, blob = F.regexp_extract(path, _AZURE_PATH, 1), F.regexp_extract(path, _AZURE_PATH, 2)
    service = F.regexp_extract(authority, _AZURE_ACCOUNT, 1)
    azure = F.concat(F.lit("wasbs://"), container, F.lit("@"), service, F.lit(".dfs.core.windows.net"))
    other = F.concat(F.when(scheme == "gcs", "gs").otherwise(scheme), F.lit("://"), authority)
    file_namespace = F.when(authority == "", "file").otherwise(F.concat(F.lit("file://"), authority))
    return (
        F.when(url.rlike(_DRIVE), _dataset(F.lit("file"), F.regexp_extract(url, _DRIVE, 1)))
        .when(~url.rlike(_URL), _dataset(own, url))
        .when(scheme == "file", _dataset(file_namespace, _path(F.concat(F.lit("/"), path))))
        .when((scheme == "azure") & (service != ""), _dataset(azure, _path(blob)))
        .otherwise(_dataset(other, _path(path)))
    )


def _path(path: Column) -> Column:
    """A path without the slash at its end; the whole bucket is ``/``."""
    trimmed = F.regexp_replace(path, r"/+\z", "")
    return F.when(trimmed == "", F.lit("/")).otherwise(trimmed)


def _dataset(namespace: Column, name: Column) -> Column:
    return F.struct(namespace.alias("namespace"), name.alias("name"))


def mapped(dataset: Column, settings: OpenLineageSettings) -> Column:
    """The dataset under the namespace that the settings give instead of its own."""
    moves = list(settings.namespaces.items())
    if not moves:
        return dataset
    to = F.create_map(*(F.lit(text) for move in moves for text in move))
    chosen = F.coalesce(to[dataset["namespace"]], dataset["namespace"])
    return F.when(dataset.isNotNull(), _dataset(chosen, dataset["name"]))


def qualified(new: Column, old: Column) -> Column:
    """A canonical name with the database and schema of another where it has none itself: RENAME TO may leave them out."""
    parts = F.regexp_extract_all(old, F.lit(_PART), 1)
    missing = F.size(name_parts(old)) - F.size(name_parts(new))
    return F.when(missing > 0, F.array_join(F.concat(F.slice(parts, 1, missing), F.array(new)), ".")).otherwise(new)


def run_id(account: Column, query_id: Column) -> Column:
    """The UUIDv5 of ``ACCOUNT/QUERY_ID``: Snowflake's ids look like UUIDs and are of no RFC variant, and a parent's
    run id must follow from ``parent_query_id`` alone. Source: RFC 4122, section 4.3.
    """
    name = F.encode(F.concat(account, F.lit("/"), query_id), "UTF-8")
    digest = F.sha1(F.concat(F.unhex(F.lit(RUN_NAMESPACE.replace("-", ""))), name))
    variant = F.translate(F.substring(digest, 17, 1), "0123456789abcdef", "89ab89ab89ab89ab")
    return F.concat(
        F.substring(digest, 1, 8),
        F.lit("-"),
        F.substring(digest, 9, 4),
        F.lit("-5"),
        F.substring(digest, 14, 3),
        F.lit("-"),
        variant,
        F.substring(digest, 18, 3),
        F.lit("-"),
        F.substring(digest, 21, 12),
    )


def job_namespace(account: Column, settings: OpenLineageSettings) -> Column:
    """The namespace of jobs: the one of the settings, else the account's."""
    return F.lit(settings.job_namespace) if settings.job_namespace else account_namespace(account)


def job_name(prefixes: Column, operations: Column, inputs: Column, outputs: Column, subjects: Column) -> Column:
    """A name that people can read and a short hash of everything that tells this job from another.

    ``prefixes``: texts that go before it; ``operations``: the DDL verbs; ``inputs``, ``outputs``: the datasets;
    ``subjects``: routines and other things that are no datasets. All are sorted arrays without nulls.
    ``write DB.S.T from DB.S.A, DB.S.B [0f1e2d3c4b]``.
    """
    identity = F.to_json(F.struct(prefixes, operations, inputs, outputs, subjects))
    digest = F.substring(F.sha1(identity), 1, 10)
    shown = F.concat(
        F.transform(prefixes, lambda text: F.substring(text, 1, _PREFIX_LENGTH)),
        F.array(_title(operations, inputs, outputs, subjects)),
    )
    readable = F.regexp_replace(F.array_join(shown, ": "), r"\p{Cntrl}+", " ")
    return F.concat(readable, F.lit(" ["), digest, F.lit("]"))


def _title(operations: Column, inputs: Column, outputs: Column, subjects: Column) -> Column:
    verb = F.lower(F.coalesce(F.get(operations, F.lit(0)), F.lit("write")))
    source = F.when(F.size(inputs) > 0, F.concat(F.lit(" from "), _listed(inputs["name"]))).otherwise("")
    written = F.concat(verb, F.lit(" "), _listed(outputs["name"]), source)
    changed = F.concat(verb, F.lit(" "), _listed(subjects))
    called = F.concat(F.lit("call "), _listed(subjects))
    return (
        F.when(F.size(outputs) > 0, written)
        .when(F.size(inputs) > 0, F.concat(F.lit("read "), _listed(inputs["name"])))
        .when(F.size(operations) > 0, changed)
        .when(F.size(subjects) > 0, called)
        .otherwise("statement")
    )


def _listed(names: Column) -> Column:
    """The first names, and how many more there are."""
    shown = F.transform(F.slice(names, 1, _SHOWN_NAMES), lambda name: F.substring(name, 1, _SHOWN_LENGTH))
    more = F.size(names) - _SHOWN_NAMES
    rest = F.when(more > 0, F.concat(F.lit(" +"), more.cast("string"))).otherwise("")
    return F.concat(F.array_join(shown, ", "), rest)
