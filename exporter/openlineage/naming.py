"""The OpenLineage names of objects, queries and statements.

Sources: the naming page of OpenLineage (spec/Naming.md) for datasets, RFC 4122 section 4.3 for run ids.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from hashlib import sha1
from typing import TYPE_CHECKING, Final

import orjson
from msgspec import Struct

from exporter.model.identifiers import TABLE_STAGE, USER_STAGE, location_of, unquoted
from exporter.model.other_accounts import account_in

if TYPE_CHECKING:
    from exporter.model.facts import ObjectReference
    from exporter.openlineage.settings import OpenLineageSettings

DatasetName = tuple[str, str]
"""The namespace and the name of a dataset."""

RUN_NAMESPACE: Final = "303cd5b2-8b07-52f5-b4b1-903f3a349c94"
"""UUIDv5 of ``https://w3id.org/access-history/run`` in the URL namespace: the namespace of all run ids."""

_RUN_NAMESPACE: Final = bytes.fromhex(RUN_NAMESPACE.replace("-", ""))
_VARIANT: Final = dict(zip("0123456789abcdef", "89ab" * 4, strict=True))
"""A hexadecimal digit -> the same digit with the two variant bits of RFC 4122 set."""

_SHOWN_LENGTH, _SUFFIX_LENGTH, _VERB_LENGTH = 80, 60, 30
_MOST_LISTED: Final = 20
_TITLE_LENGTH: Final = 243
"""The most characters of a job's name before its hash; the shortest limit of the backends is 256 for all."""
_OUR_VERBS: Final = frozenset(("write", "read", "call", "use"))
"""Verbs of names of statements without a DDL operation."""

_url: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]*)://([^/]*)/?(.*)", re.DOTALL).fullmatch
_is_elsewhere: Final = re.compile(r"(?!snowflake:)[a-z0-9]+://").match
_drive: Final = re.compile(r"file://([A-Za-z]:[\\/].*)", re.DOTALL).fullmatch
_last_part: Final = re.compile(r'(?:"(?:[^"]|"")*"|[^".]+)\Z')
_quoted_or_not: Final = re.compile(r'("(?:[^"]|"")*"|[^"]+)').findall
_controls: Final = re.compile(r"[\x00-\x1f\x7f]+")
_reads_as_address: Final = re.compile(r":(?=[0-9]|//)")
_is_plain: Final = re.compile(r"(?=.{1,80}\Z)[A-Za-z_][\w$]*\.[A-Za-z_][\w$]*\.[A-Za-z_][\w$]*", re.ASCII).fullmatch
"""Whether a name has three parts without quotes, and is short enough to be shown."""
_is_plain_verb: Final = re.compile(r"[a-z_]{1,30}").fullmatch
_is_plain_subject: Final = re.compile(r"[A-Za-z_][\w$. ]{,79}(?:\([\w$ ,]{,80}\))?", re.ASCII).fullmatch
_escape: Final = re.compile(rb"\\(?:u00[01][0-9a-f]|.)")

_parts: Final = re.compile(r'"(?:[^"]|"")+"|[^."]+').findall


def parts(name: str) -> list[str]:
    """The identifiers of a canonical name or of a dataset's, with their quotes. The stage of a user is one, with ``~``.

    >>> parts('DB."a.b"'), parts("~jane.doe@example.com")
    (['DB', '"a.b"'], ['~jane.doe@example.com'])
    """
    return [name] if name.startswith("~") else _parts(name)


def plain_parts(name: str) -> list[str]:
    """The parts of such a name without quotes."""
    return [unquoted(part) for part in parts(name)]


# --- datasets ---------------------------------------------------------------------------------------------------------


def account_namespace(account: str) -> str:
    """``ORG-ACCOUNT`` -> ``snowflake://ORG-ACCOUNT``."""
    return f"snowflake://{account}"


def dataset_name(
    thing: ObjectReference, canonical: str | None, account: str, settings: OpenLineageSettings
) -> DatasetName:
    """The dataset that an object is. ``canonical``: its canonical name, None without one; ``account``: the account of
    the queries; an account that the thing itself names is taken to be in the same organization.

    The name follows from one row, whatever other rows say of the object. So a location is the name only of what nothing
    but its location identifies; another object that a row gives without a name gets its key.
    """
    own = account_namespace(_owner(account, thing))
    if canonical is not None:
        namespace, name = own, object_label(thing.kind, canonical, settings)
    elif (location := location_of(thing.key)) is not None:
        namespace, name = external_dataset(location, own)
    else:
        namespace, name = own, thing.key
    return settings.namespaces.get(namespace, namespace), name


def _owner(account: str, thing: ObjectReference) -> str:
    """The account that an object belongs to. Names of accounts have no small letters; ``ACME-X@provider`` is a provider
    of shared data to the account ``ACME-X`` that the row does not name.
    """
    if thing.account is None:
        return f"{account}{account_in(thing.key)}"
    return f"{account.partition('-')[0]}-{thing.account.upper()}"


def object_label(kind: str, canonical: str, settings: OpenLineageSettings) -> str:
    """An object's name in its account. The stage of a table gets ``%`` in front and that of a user ``~`` (Snowflake's
    own signs); without the sign it would have the name of the table. A user's name stays exactly as it is: other users
    differ from it in letter case alone.
    """
    if kind == USER_STAGE:
        return f"~{unquoted(canonical)}"
    name = letter_case(canonical, settings)
    return _last_part.sub(lambda part: f"%{part[0]}", name) if kind == TABLE_STAGE else name


def letter_case(name: str, settings: OpenLineageSettings) -> str:
    """The canonical name in the letter case of the settings; quoted parts stay unchanged."""
    if settings.letter_case == "upper":
        return name
    if '"' not in name:
        return name.lower()
    return "".join(part if part.startswith('"') else part.lower() for part in _quoted_or_not(name))


def external_dataset(url: str, own: str) -> DatasetName:
    """The dataset of a location outside of Snowflake, by OpenLineage's naming page, without the slash at its end (as
    Spark's producers do it).

    ``s3://b/p/f.csv`` -> ``s3://b``, ``p/f.csv``; ``gcs://`` -> ``gs://``; ``file:///p`` -> ``file``, ``/p``;
    ``azure://acc.blob.core.windows.net/c/p`` -> ``wasbs://c@acc.dfs.core.windows.net``, ``p``.
    A text that is no URL is the name itself, in the account's namespace ``own``.
    """
    if drive := _drive(url):
        return "file", drive[1]
    match = _url(url)
    if match is None:
        return own, url
    scheme, authority, path = match[1].lower(), match[2], match[3]
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

    ``suffixes``: texts that the settings ask for in its name; ``verbs``: the DDL operations; ``inputs``, ``outputs``:
    the datasets; ``subjects``: routines and other things that are no datasets; ``renamed``: the one of two outputs that
    has become the other, None where the statement is no rename. All but the suffixes are sorted and without duplicates.
    In words only: ``not_called``: the subjects that are no routines; ``fills_helper``: whether the statement writes a
    helper.
    """

    suffixes: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ()
    inputs: tuple[DatasetName, ...] = ()
    outputs: tuple[DatasetName, ...] = ()
    subjects: tuple[str, ...] = ()
    renamed: DatasetName | None = None
    not_called: tuple[str, ...] = ()
    fills_helper: bool = False


HELPER: Final = "helper"
"""What a query fills, creates or drops, in the job's name: names of helpers have random parts, and each would be a job.
"""


@lru_cache(maxsize=10_000)
def job_name(job: Job, own: str | None) -> str:
    """A name that says what the job does, and to what, in its first characters, since lists of jobs cut names.

    ``write MART.SALES.FCT_ORDERS from STAGE.ORDERS``; ``own``: the namespace of the account's own datasets, None where
    jobs of several accounts share a namespace. Where the name alone does not say everything that distinguishes the job,
    a short hash of that follows: ``write MART.SALES.FCT_ORDERS from STAGE.ORDERS + 2 [0f1e2d3c4b]``.
    """
    suffix = "; ".join([suffix[:_SUFFIX_LENGTH] for suffix in job.suffixes])
    title = _title(job, _first, 1) + (f" ({suffix})" if suffix else "")
    if _says_all(job, own):
        return title
    # Marquez reads a digit or // after a colon as part of an address, and could not show the graph of such a job.
    readable = _reads_as_address.sub(": ", _controls.sub(" ", title))
    return f"{readable[:_TITLE_LENGTH]} [{sha1(_as_json(job), usedforsecurity=False).hexdigest()[:10]}]"


def job_description(job: Job) -> str:
    """What the job does, with all datasets by their whole names; of a long list, the first ones."""
    if HELPER in job.not_called and not job.verbs:
        title = _title_of_helper(job)
    else:
        title = _title(job, _whole, _MOST_LISTED)
        if not job.outputs and (job.verbs or not job.inputs):
            return title  # it has the subjects
    called = [subject for subject in job.subjects if subject not in job.not_called]
    also_named = [subject for subject in job.not_called if subject != HELPER]
    also = f", also {_listed(also_named)}" if also_named else ""
    return title + (f", calling {_listed(called)}" if called else "") + also


def _title_of_helper(job: Job) -> str:
    """What the statement does, where that is to read or fill a helper."""
    inputs = _whole(job.inputs, "")
    if job.fills_helper:
        return f"write {HELPER} from {inputs}" if inputs else f"write {HELPER}"
    return f"read {inputs or HELPER}"


def _as_json(job: Job) -> bytes:
    """The text that a job's hash is made from. Backends keep the names of jobs, so this text must never change."""
    text = orjson.dumps(
        {
            "prefixes": job.suffixes,
            "verbs": job.verbs,
            "inputs": _identities(job.inputs),
            "outputs": _identities(job.outputs),
            "subjects": job.subjects,
            **({} if job.renamed is None else {"renamed": _identities([job.renamed])}),
        }
    )
    return _escape.sub(_in_capitals, text) if b"\\u00" in text else text


def _identities(names: Sequence[DatasetName]) -> list[dict[str, str]]:
    return [{"namespace": namespace, "name": name} for namespace, name in names]


def _in_capitals(escape: re.Match[bytes]) -> bytes:
    r"""The digits of ``\u001B`` in upper case, as Jackson writes them, whose texts the first hashes were made from."""
    text = escape[0]
    return rb"\u" + text[2:].upper() if len(text) > 2 else text


def _says_all(job: Job, own: str | None) -> bool:
    """Whether no other job of the account has the same title: it shows everything that distinguishes the job, and each
    name is plain, so that it cannot look like two, and is the account's own.
    """
    is_plain = all(_is_plain_verb(verb) and verb not in _OUR_VERBS for verb in job.verbs)
    if job.suffixes or len(job.verbs) > 1 or not is_plain:
        return False
    if job.inputs or job.outputs:
        most = (1, 1) if job.renamed is None and not _is_swap(job) else (0, 2)
        is_whole = not job.subjects and len(job.inputs) <= most[0] and len(job.outputs) <= most[1]
        return is_whole and all(space == own and _is_plain(name) for space, name in (*job.inputs, *job.outputs))
    # With an operation, a subject without its kind in front would look like a dataset.
    is_clear = all(_is_plain_subject(subject) and (" " in subject or not job.verbs) for subject in job.subjects)
    return len(job.subjects) <= 1 and is_clear


def _is_swap(job: Job) -> bool:
    return job.verbs == ("swap",) and len(job.outputs) == 2 and not job.inputs


def _title(job: Job, shown: Callable[[Sequence[DatasetName], str], str], most: int) -> str:
    """``shown``: the text for some datasets, given the name of a dataset that was named before; ``most``: subjects to
    show.
    """
    subjects = _listed([subject[:_SHOWN_LENGTH] for subject in job.subjects], most)
    if job.renamed is not None:
        new = [output for output in job.outputs if output != job.renamed]
        return f"rename {shown([job.renamed], '')} to {shown(new, job.renamed[1])}"
    if _is_swap(job):
        return f"swap {shown(job.outputs[:1], '')} with {shown(job.outputs[1:], job.outputs[0][1])}"
    if not job.outputs and not job.verbs:
        if job.inputs:
            return f"read {shown(job.inputs, '')}"
        is_call = len(job.subjects) > len(job.not_called)
        return f"{'call' if is_call else 'use'} {subjects}" if job.subjects else "statement"
    verb = job.verbs[0][:_VERB_LENGTH] if job.verbs else "write"
    title = f"{verb} {shown(job.outputs, '') if job.outputs else subjects}"
    # A statement that reads what it writes is better known by what else it reads.
    inputs = sorted(job.inputs, key=lambda dataset: dataset in job.outputs)
    return f"{title} from {shown(inputs, job.outputs[0][1] if job.outputs else '')}" if inputs else title


def _first(names: Sequence[DatasetName], reference: str) -> str:
    """The first name, without what it has in common with the name ``reference``, and the number of the others."""
    name, more = names[0][1], len(names) - 1
    if _is_plain(name) and _is_plain(reference):
        own, reference_parts = name.split("."), reference.split(".")
        same = 2 if own[:2] == reference_parts[:2] else int(own[0] == reference_parts[0])
        name = ".".join(own[same:])
    shown = name if len(name) <= _SHOWN_LENGTH else f"{name[: _SHOWN_LENGTH - 1]}…"
    return f"{shown} + {more}" if more else shown


def _whole(names: Sequence[DatasetName], _of: str) -> str:
    """The names; of places outside of Snowflake, with their namespaces."""
    return _listed([_address(space, name) if _is_elsewhere(space) else name for space, name in names])


def _address(namespace: str, name: str) -> str:
    """A place outside of Snowflake: ``s3://bucket/path``, ``s3://bucket/``, ``file://host/path``."""
    is_whole_path = name == "/" or namespace.startswith("file:")
    return f"{namespace}{name}" if is_whole_path else f"{namespace}/{name}"


def _listed(names: Sequence[str], most: int = _MOST_LISTED) -> str:
    """The first names, and the number of those left out."""
    more = len(names) - most
    shown = ", ".join(names[:most])
    return f"{shown} + {more}" if more > 0 else shown
