"""Objects, queries and statements -> the names under which OpenLineage knows them, as SQL expressions.

Sources: the naming page of OpenLineage (spec/Naming.md) for datasets, RFC 4122 section 4.3 for run ids.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from exporter.openlineage.sql import only_if, struct
from exporter.sql import let, literal

if TYPE_CHECKING:
    from exporter.openlineage.settings import OpenLineageSettings

RUN_NAMESPACE: Final = "303cd5b2-8b07-52f5-b4b1-903f3a349c94"
"""UUIDv5 of ``https://w3id.org/access-history/run`` in the URL namespace: the namespace of all run ids."""

UNRECORDED_JOB: Final = "unrecorded statement"
"""The job of a parent that has no row: one for all of them, since a name with its query id would make one job a run."""

_URL = r"r'(?s)^([A-Za-z][A-Za-z0-9+.\-]*)://([^/]*)/?(.*)\z'"
_DRIVE = r"r'(?s)^file://([A-Za-z]:[\\/].*)\z'"
_AZURE_PATH = r"r'(?s)^([^/]*)/?(.*)\z'"
_LAST_PART = r"""r'("(?:[^"]|"")*"|[^".]+)\z'"""
PARTS: Final = r"""r'("(?:[^"]|"")+"|[^."]+)'"""
"""The identifiers of a canonical name, for ``regexp_extract_all``."""
_QUOTED_OR_NOT = r"""r'("(?:[^"]|"")*"|[^"]+)'"""
_SHOWN_NAMES, _SHOWN_LENGTH, _PREFIX_LENGTH = 3, 120, 60


def account_namespace(account: str = "account") -> str:
    """``ORG-ACCOUNT`` -> ``snowflake://ORG-ACCOUNT``."""
    return f"concat('snowflake://', {account})"


def owner(object_account: str) -> str:
    """The account that an object belongs to: the organization's account named beside it, else the query's own."""
    return f"coalesce(concat(substring_index(account, '-', 1), '-', {object_account}), account)"


def dataset(thing: str, object_account: str, canonical: str, settings: OpenLineageSettings) -> str:
    """The dataset (namespace, name) that an object is. ``thing``: a struct of the facts' object columns, beside
    ``account``; ``object_account``: the account named beside it; ``canonical``: its canonical name.

    A name stands before a location, so that a stage that shows both keeps its name; an object with neither is named
    by its key.
    """
    own = account_namespace(owner(object_account))
    by_name = _dataset(own, object_label(f"{thing}.kind", letter_case(canonical, settings)))
    by_key = _dataset(own, f"{thing}.object_key")
    picked = f"""CASE WHEN {canonical} IS NOT NULL THEN {by_name}
        WHEN {thing}.location IS NOT NULL THEN {location(f"{thing}.location", own)}
        WHEN {thing}.object_key IS NOT NULL THEN {by_key} END"""
    return mapped(picked, settings)


def object_label(kind: str, name: str) -> str:
    """An object's name in its account, with ``%`` before a table's stage and ``~`` before a user's (Snowflake's own
    signs), which otherwise would be taken for the table itself.
    """
    return f"""CASE {kind} WHEN 'table-stage' THEN regexp_replace({name}, {_LAST_PART}, '%$1')
        WHEN 'user-stage' THEN concat('~', {name}) ELSE {name} END"""


def letter_case(name: str, settings: OpenLineageSettings) -> str:
    """The canonical name in the letter case of the settings; quoted parts keep theirs."""
    if settings.letter_case == "upper":
        return name
    parts = f"regexp_extract_all({name}, {_QUOTED_OR_NOT}, 1)"
    lowered = f"""array_join(transform({parts}, p -> IF(startswith(p, '"'), p, lower(p))), '')"""
    return f"""IF(contains({name}, '"'), {lowered}, lower({name}))"""


def location(url: str, own: str) -> str:
    """A place outside of Snowflake, as the naming page has it; the slash at the end goes, as Spark's producers do it.

    ``s3://b/p/f.csv`` -> ``s3://b``, ``p/f.csv``; ``gcs://`` -> ``gs://``; ``file:///p`` -> ``file``, ``/p``;
    ``azure://acc.blob.core.windows.net/c/p`` -> ``wasbs://c@acc.dfs.core.windows.net``, ``p``.
    What is no URL stays whole, in the account's namespace ``own``.
    """
    scheme, authority, path = (f"regexp_extract({url}, {_URL}, {group})" for group in (1, 2, 3))
    container, blob = (f"regexp_extract({path}, {_AZURE_PATH}, {group})" for group in (1, 2))
    azure = f"concat('wasbs://', {container}, '@', substring_index({authority}, '.', 1), '.dfs.core.windows.net')"
    other = f"concat(IF(lower({scheme}) = 'gcs', 'gs', lower({scheme})), '://', {authority})"
    file_namespace = f"IF({authority} = '', 'file', concat('file://', {authority}))"
    return f"""CASE WHEN {url} RLIKE {_DRIVE} THEN {_dataset("'file'", f"regexp_extract({url}, {_DRIVE}, 1)")}
        WHEN NOT {url} RLIKE {_URL} THEN {_dataset(own, url)}
        WHEN lower({scheme}) = 'file' THEN {_dataset(file_namespace, _path(f"concat('/', {path})"))}
        WHEN lower({scheme}) = 'azure' THEN {_dataset(azure, _path(blob))}
        ELSE {_dataset(other, _path(path))} END"""


def _path(path: str) -> str:
    """A path without the slash at its end; the whole bucket is ``/``."""
    trimmed = rf"regexp_replace({path}, r'/+\z', '')"
    return f"coalesce(nullif({trimmed}, ''), '/')"


def _dataset(namespace: str, name: str) -> str:
    return struct({"namespace": namespace, "name": name})


def mapped(dataset: str, settings: OpenLineageSettings) -> str:
    """The dataset under the namespace that the settings give instead of its own."""
    if not settings.namespaces:
        return dataset
    moves = ", ".join(f"{literal(before)}, {literal(after)}" for before, after in settings.namespaces.items())
    moved = _dataset(f"coalesce(map({moves})[d.namespace], d.namespace)", "d.name")
    return let("d", dataset, only_if("d IS NOT NULL", moved))


def qualified(new: str, old: str) -> str:
    """A canonical name, with the database and schema of another where it has none: RENAME TO may leave them out."""
    old_parts, new_parts = (f"regexp_extract_all({name}, {PARTS}, 1)" for name in (old, new))
    missing = f"greatest(size({old_parts}) - size({new_parts}), 0)"
    return f"array_join(concat(slice({old_parts}, 1, {missing}), array({new})), '.')"


def run_id(query_id: str) -> str:
    """The UUIDv5 of ``ACCOUNT/QUERY_ID``: Snowflake's ids look like UUIDs and are of no RFC variant, and a parent's
    run id must follow from ``parent_query_id`` alone. Source: RFC 4122, section 4.3.
    """
    name = f"encode(concat(account, '/', {query_id}), 'UTF-8')"
    digest = f"sha1(concat(X'{RUN_NAMESPACE.replace('-', '')}', {name}))"
    with_version = f"overlay({digest} PLACING '5' FROM 13 FOR 1)"
    variant = f"translate(substring({digest}, 17, 1), '0123456789abcdef', '89ab89ab89ab89ab')"
    marked = f"overlay({with_version} PLACING {variant} FROM 17 FOR 1)"
    return f"regexp_replace({marked}, '^(.{{8}})(.{{4}})(.{{4}})(.{{4}})(.{{12}}).*', '$1-$2-$3-$4-$5')"


def job_namespace(settings: OpenLineageSettings) -> str:
    """The namespace of jobs: the one of the settings, else the account's."""
    return literal(settings.job_namespace) if settings.job_namespace else account_namespace()


def job(prefixes: str, verbs: str, inputs: str, outputs: str, subjects: str) -> str:
    """Everything that tells a job from another, as a struct.

    ``prefixes``: texts that go before its name; ``verbs``: the DDL operations; ``inputs``, ``outputs``: the datasets;
    ``subjects``: routines and other things that are no datasets. All are sorted arrays without nulls.
    """
    return struct({"prefixes": prefixes, "verbs": verbs, "inputs": inputs, "outputs": outputs, "subjects": subjects})


def job_name(job: str) -> str:
    """A name that people can read, and a short hash of everything; ``job``: the name of a column or variable that holds
    what :func:`job` gives, null for none.

    ``write DB.S.T from DB.S.A, DB.S.B [0f1e2d3c4b]``; before it, ``query`` where it would begin with a digit.
    """
    shown = f"concat(transform({job}.prefixes, p -> substring(p, 1, {_PREFIX_LENGTH})), array({_title(job)}))"
    in_a_line = rf"regexp_replace(array_join({shown}, ': '), r'\p{{Cntrl}}+', ' ')"
    # Marquez reads a digit or // after a colon as part of an address: of such a job it could show no graph.
    readable = rf"regexp_replace({in_a_line}, r'^(?=\d|//)', 'query ')"
    return f"concat({readable}, ' [', substring(sha1(to_json({job})), 1, 10), ']')"


def _title(job: str) -> str:
    inputs, outputs = (_listed(f"{job}.{side}.name") for side in ("inputs", "outputs"))
    subjects, verb = _listed(f"{job}.subjects"), f"coalesce(get({job}.verbs, 0), 'write')"
    source = f"IF(size({job}.inputs) > 0, concat(' from ', {inputs}), '')"
    return f"""CASE WHEN size({job}.outputs) > 0 THEN concat({verb}, ' ', {outputs}, {source})
        WHEN size({job}.inputs) > 0 THEN concat('read ', {inputs})
        WHEN size({job}.verbs) > 0 THEN concat({verb}, ' ', {subjects})
        WHEN size({job}.subjects) > 0 THEN concat('call ', {subjects}) ELSE 'statement' END"""


def _listed(names: str) -> str:
    """The first names, and how many more there are."""
    shown = f"transform(slice({names}, 1, {_SHOWN_NAMES}), n -> substring(n, 1, {_SHOWN_LENGTH}))"
    more = f"IF(size({names}) > {_SHOWN_NAMES}, concat(' +', size({names}) - {_SHOWN_NAMES}), '')"
    return f"concat(array_join({shown}, ', '), {more})"
