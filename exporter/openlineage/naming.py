"""The OpenLineage names of objects, queries and statements.

Sources: the naming page of OpenLineage (spec/Naming.md) for datasets, RFC 4122 section 4.3 for run ids.
"""

from __future__ import annotations

import re
from functools import lru_cache
from hashlib import sha1
from typing import TYPE_CHECKING, Final

import orjson
from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Sequence

    from exporter.openlineage.settings import OpenLineageSettings
    from exporter.queries.facts import Thing

DatasetName = tuple[str, str]
"""The namespace and the name of a dataset."""

RUN_NAMESPACE: Final = "303cd5b2-8b07-52f5-b4b1-903f3a349c94"
"""UUIDv5 of ``https://w3id.org/access-history/run`` in the URL namespace: the namespace of all run ids."""

_RUN_NAMESPACE: Final = bytes.fromhex(RUN_NAMESPACE.replace("-", ""))
_VARIANT: Final = dict(zip("0123456789abcdef", "89ab" * 4, strict=True))
"""A hexadecimal digit -> the same digit with the two variant bits of RFC 4122 set."""

_SHOWN_NAMES, _SHOWN_LENGTH, _PREFIX_LENGTH = 3, 120, 60

_url: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]*)://([^/]*)/?(.*)", re.DOTALL).fullmatch
_drive: Final = re.compile(r"file://([A-Za-z]:[\\/].*)", re.DOTALL).fullmatch
_last_part: Final = re.compile(r'(?:"(?:[^"]|"")*"|[^".]+)\Z')
_quoted_or_not: Final = re.compile(r'("(?:[^"]|"")*"|[^"]+)').findall
_controls: Final = re.compile(r"[\x00-\x1f\x7f]+")
_reads_as_address: Final = re.compile(r"[0-9]|//").match
_escape: Final = re.compile(rb"\\(?:u00[01][0-9a-f]|.)")

parts: Final = re.compile(r'"(?:[^"]|"")+"|[^."]+').findall
"""Finds the identifiers of a canonical name, with their quotes."""


# --- datasets ---------------------------------------------------------------------------------------------------------


def account_namespace(account: str) -> str:
    """``ORG-ACCOUNT`` -> ``snowflake://ORG-ACCOUNT``."""
    return f"snowflake://{account}"


def dataset_name(thing: Thing, canonical: str | None, account: str, settings: OpenLineageSettings) -> DatasetName:
    """The dataset that an object is. ``canonical``: its canonical name, None without one; ``account``: the account of
    the queries; an account that the thing itself names is taken to be in the same organization.

    A name has priority over a location, so that a stage with both keeps its name. An object with neither gets its key
    as its name.
    """
    own = account_namespace(_owner(account, thing.account))
    if canonical is not None:
        namespace, name = own, object_label(thing.kind, letter_case(canonical, settings))
    elif thing.location is not None:
        namespace, name = place(thing.location, own)
    else:
        namespace, name = own, thing.key
    return settings.namespaces.get(namespace, namespace), name


def _owner(account: str, object_account: str | None) -> str:
    """The account that an object belongs to."""
    return account if object_account is None else f"{account.partition('-')[0]}-{object_account}"


def object_label(kind: str, name: str) -> str:
    """An object's name in its account. The stage of a table gets ``%`` and that of a user ``~`` in front (Snowflake's
    own signs); without the sign it would have the name of the table.
    """
    if kind == "user-stage":
        return f"~{name}"
    return _last_part.sub(lambda part: f"%{part[0]}", name) if kind == "table-stage" else name


def letter_case(name: str, settings: OpenLineageSettings) -> str:
    """The canonical name in the letter case of the settings; quoted parts stay unchanged."""
    if settings.letter_case == "upper":
        return name
    if '"' not in name:
        return name.lower()
    return "".join(part if part.startswith('"') else part.lower() for part in _quoted_or_not(name))


def place(url: str, own: str) -> DatasetName:
    """The dataset of a location outside of Snowflake, by OpenLineage's naming page, without the slash at its end (as
    Spark's producers do it).

    ``s3://b/p/f.csv`` -> ``s3://b``, ``p/f.csv``; ``gcs://`` -> ``gs://``; ``file:///p`` -> ``file``, ``/p``;
    ``azure://acc.blob.core.windows.net/c/p`` -> ``wasbs://c@acc.dfs.core.windows.net``, ``p``.
    A text that is no URL is the name itself, in the account's namespace ``own``.
    """
    if drive := _drive(url):
        return "file", drive[1]
    found = _url(url)
    if found is None:
        return own, url
    scheme, authority, path = found[1].lower(), found[2], found[3]
    if scheme == "file":
        return f"file://{authority}" if authority else "file", _path(f"/{path}")
    if scheme == "azure":
        container, _, blob = path.partition("/")
        return f"wasbs://{container}@{authority.partition('.')[0]}.dfs.core.windows.net", _path(blob)
    return f"{'gs' if scheme == 'gcs' else scheme}://{authority}", _path(path)


def _path(path: str) -> str:
    """A path without the slash at its end; the whole bucket is ``/``."""
    return path.rstrip("/") or "/"


def qualified(new: str, old: str) -> str:
    """A canonical name; database and schema are taken from ``old`` where RENAME TO left them out."""
    of_old = parts(old)
    return ".".join([*of_old[: max(len(of_old) - len(parts(new)), 0)], new])


# --- runs and jobs ----------------------------------------------------------------------------------------------------


def run_id(account: str, query_id: str) -> str:
    """The UUIDv5 of ``ACCOUNT/QUERY_ID`` (RFC 4122, section 4.3). Snowflake's own ids look like UUIDs but have no valid
    variant. The run id of a parent has to follow from ``parent_query_id`` alone.
    """
    digest = sha1(_RUN_NAMESPACE + f"{account}/{query_id}".encode(), usedforsecurity=False).hexdigest()
    return f"{digest[:8]}-{digest[8:12]}-5{digest[13:16]}-{_VARIANT[digest[16]]}{digest[17:20]}-{digest[20:32]}"


def job_namespace(account: str, settings: OpenLineageSettings) -> str:
    """The namespace of jobs: the one of the settings, else the account's."""
    return settings.job_namespace or account_namespace(account)


class Job(Struct, frozen=True, gc=False):
    """Everything that distinguishes a job from others.

    ``prefixes``: texts before its name; ``verbs``: the DDL operations; ``inputs``, ``outputs``: the datasets;
    ``subjects``: routines and other things that are no datasets. All but the prefixes are sorted and without
    duplicates.
    """

    prefixes: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ()
    inputs: tuple[DatasetName, ...] = ()
    outputs: tuple[DatasetName, ...] = ()
    subjects: tuple[str, ...] = ()


@lru_cache(maxsize=10_000)
def job_name(job: Job) -> str:
    """A readable name, with a short hash of everything that distinguishes the job.

    ``write DB.S.T from DB.S.A, DB.S.B [0f1e2d3c4b]``. A name that would begin with a digit gets ``query`` in front.
    """
    shown = ": ".join([*(prefix[:_PREFIX_LENGTH] for prefix in job.prefixes), _title(job)])
    in_a_line = _controls.sub(" ", shown)
    # Marquez reads a digit or // after a colon as part of an address, and could not show the graph of such a job.
    readable = f"query {in_a_line}" if _reads_as_address(in_a_line) else in_a_line
    return f"{readable} [{sha1(_as_json(job), usedforsecurity=False).hexdigest()[:10]}]"


def _as_json(job: Job) -> bytes:
    """The text that a job's hash is made from. Backends keep the names of jobs, so this text must never change."""
    text = orjson.dumps(
        {
            "prefixes": job.prefixes,
            "verbs": job.verbs,
            "inputs": _identities(job.inputs),
            "outputs": _identities(job.outputs),
            "subjects": job.subjects,
        }
    )
    return _escape.sub(_in_capitals, text) if b"\\u00" in text else text


def _identities(names: Sequence[DatasetName]) -> list[dict[str, str]]:
    return [{"namespace": namespace, "name": name} for namespace, name in names]


def _in_capitals(escape: re.Match[bytes]) -> bytes:
    r"""The digits of ``\u001B`` in upper case, as Jackson writes them, whose texts the first hashes were made from."""
    text = escape[0]
    return rb"\u" + text[2:].upper() if len(text) > 2 else text


def _title(job: Job) -> str:
    inputs = _listed([name for _, name in job.inputs])
    outputs = _listed([name for _, name in job.outputs])
    verb, subjects = job.verbs[0] if job.verbs else "write", _listed(job.subjects)
    if job.outputs:
        return f"{verb} {outputs} from {inputs}" if job.inputs else f"{verb} {outputs}"
    if job.inputs:
        return f"read {inputs}"
    if job.verbs:
        return f"{verb} {subjects}"
    return f"call {subjects}" if job.subjects else "statement"


def _listed(names: Sequence[str]) -> str:
    """The first names, and the number of those left out."""
    more = len(names) - _SHOWN_NAMES
    shown = ", ".join([name[:_SHOWN_LENGTH] for name in names[:_SHOWN_NAMES]])
    return f"{shown} +{more}" if more > 0 else shown
