"""Derive natural keys from the names and ids of Snowflake objects.

The key of an object is its kind and its id (view, "objectId": unique within a given account *and domain*). If the row
gives no usable id, its name is the key, with ``name/`` before it so that it cannot equal an id. A sentinel or the name
of a system view is never used as a key.

Identifiers follow Snowflake's rules: unquoted ones are stored in upper case, quoted ones unchanged, and a dot inside
quotes does not separate parts.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final
from urllib.parse import quote, unquote

TRUNCATED: Final = "TRUNCATED"
"""The sentinel that Snowflake writes in a truncated record."""
TABLES: Final = (
    "TABLE",
    "EXTERNAL TABLE",
    "DYNAMIC TABLE",
    "ICEBERG TABLE",
    "HYBRID TABLE",
    "EVENT TABLE",
    "TRANSIENT TABLE",
    "TEMPORARY TABLE",
)
VIEWS: Final = ("VIEW", "MATERIALIZED VIEW", "SECURE VIEW")
FUNCTIONS: Final = ("FUNCTION", "EXTERNAL FUNCTION", "TABLE FUNCTION", "AGGREGATE FUNCTION")
ROUTINE_KINDS: Final = ("function", "procedure")
UNKNOWN_KIND: Final = "object"
READ_AS_STREAM: Final = ("view", "stream", "table", UNKNOWN_KIND)
"""Kinds that a row may give for the view through which Snowflake reads a stream."""
LOCATION_KIND: Final = "location"
_TAKEN: Final = (
    "QUERY",
    "USER",
    "AGENT",
    "LOCATION",
    "ACCOUNT",
    "EXPORT",
    "READS",
    "PART",
    "ACCESS",
    "ENFORCED",
    "DECLARED",
)
"""Domains whose kind would equal a path of the graph that is not for objects (``user/JSMITH`` is a user)."""
DOMAINS_OF_TAKEN: Final = {f"{domain.lower()}-object": domain for domain in _TAKEN}
"""Kind of an object -> its domain, of those whose kind is not spelled like their domain."""
_KINDS: Final = {
    **dict.fromkeys(TABLES, "table"),
    **dict.fromkeys(VIEWS, "view"),
    **dict.fromkeys(FUNCTIONS, "function"),
    **{domain: kind for kind, domain in DOMAINS_OF_TAKEN.items()},
}
TABLE_STAGE: Final = "table-stage"
USER_STAGE: Final = "user-stage"
_STAGES: Final = {"table": TABLE_STAGE, "user": USER_STAGE}
_OF_OTHERS: Final = frozenset({*_KINDS.values(), *_STAGES.values(), UNKNOWN_KIND})
"""Kinds that no other domain may get, because ids are unique only within a domain."""

_OTHER_KINDS: Final = frozenset(
    kind.lower().replace(" ", "-")
    for kind in (
        *("SEQUENCE", "TAG", "COLUMN", "SCHEMA", "DATABASE", "WAREHOUSE", "SHARE", "LISTING"),
        *("USER OBJECT", "AGENT OBJECT", "ACCOUNT OBJECT", "QUERY OBJECT", "EXPORT OBJECT", "SESSION", "MCP SERVER"),
        *("POSTGRES INSTANCE", "APPLICATION", "APPLICATION PACKAGE", "ALERT", "TASK", "PIPE", "FILE FORMAT", "SECRET"),
        *("NETWORK RULE", "COMPUTE POOL", "SERVICE", "IMAGE REPOSITORY", "NOTEBOOK", "STREAMLIT", "MODULE"),
        *("FAILOVER GROUP", "REPLICATION GROUP", "CONNECTION", "EXTERNAL VOLUME"),
    )
)
_OTHER_FAMILIES: Final = ("policy", "role", "integration", "function", "procedure")
"""Last words of kinds that hold no data: ``masking-policy``, ``database-role``, ``storage-integration``."""
DATA_KINDS: Final = (
    *("table", "view", "stage", TABLE_STAGE, USER_STAGE, "stream", "location"),
    *("semantic-view", "model", "dataset", "cortex-search-service", "git-repository"),
)
"""The kinds that were known to hold or show data when this version was made; a kind that is in neither list does, too
(:func:`holds_data`).
"""


def holds_data(kind: str) -> bool:
    """Whether objects of a kind hold or show data: all do that are not known to be something else, such as policies,
    roles, functions, or schemas and databases, which other objects are in.

    >>> holds_data("semantic-view"), holds_data("a-new-table"), holds_data("masking-policy"), holds_data("sequence")
    (True, True, False, False)
    """
    return kind not in _OTHER_KINDS and kind.rpartition("-")[2] not in _OTHER_FAMILIES


def is_known_to_hold_data(kind: str) -> bool:
    """The same, without what rows give no domain for: it can be anything."""
    return kind != UNKNOWN_KIND and holds_data(kind)


_PART: Final = r'("(?:[^"]|"")+"|[^."]+)'
_parts_of: Final = re.compile(_PART).findall
_is_plain_name: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_$]*(?:[.][A-Za-z_][A-Za-z0-9_$]*)*").fullmatch
_is_well_formed: Final = re.compile(rf"{_PART}(?:[.]{_PART})*").fullmatch
_is_stored: Final = re.compile(r"[A-Z_][A-Z0-9_$]*").fullmatch
_gaps: Final = re.compile(r"[ \t\n\x0b\f\r_]+")
_id: Final = re.compile(r"0*([1-9][0-9]*)(?:[.]0+)?").fullmatch
_gives_none: Final = re.compile(r"(?:-?0+|-1)(?:[.]0+)?").fullmatch
_is_cut_id: Final = re.compile(r"-1(?:[.]0+)?").fullmatch
_is_system_view: Final = re.compile(r'(?:.*[.])?("?)([$]SYS_VIEW_[0-9]+)\1', re.IGNORECASE | re.DOTALL).fullmatch
_LAST_OF_SYSTEM_VIEWS: Final = (*"0123456789", *(f'{digit}"' for digit in "0123456789"))
_is_no_id: Final = re.compile(r"[-0-9.]*").fullmatch
_HIDDEN_DOTS: Final = {".": "%2E", "..": "%2E%2E"}


@lru_cache(maxsize=1_000)
def normal_domain(text: str | None) -> str | None:
    """The domain in normal form: upper case, one space between words; None if missing, blank or the sentinel.

    >>> normal_domain("MASKING_POLICY"), normal_domain("External table"), normal_domain("TRUNCATED")
    ('MASKING POLICY', 'EXTERNAL TABLE', None)
    """
    if text is None:
        return None
    spelled = _gaps.sub(" ", text).strip(" ").upper()
    return None if spelled in {"", TRUNCATED} else spelled


@lru_cache(maxsize=10_000)
def kind_of(domain: str | None, stage_kind: str | None = None, location: str | None = None) -> str:
    """The kind of an object, within which ids are unique: the first segment of its key. ``domain``: the result of
    :func:`normal_domain`.

    A table stage has the id of its table, and a user stage has the user's name as its id (view, "objectId"), so both
    are separate kinds. An object with neither domain nor location has the kind ``object``.
    """
    if domain is None:
        return UNKNOWN_KIND if location is None else LOCATION_KIND
    if domain == "STAGE":
        return _STAGES.get((stage_kind or "").lower(), "stage")
    return _KINDS.get(domain) or _kind_of_its_own(domain)


def _kind_of_its_own(domain: str) -> str:
    kind = "-".join(segment(word).replace("-", "%2D") for word in domain.split(" ")).lower()
    return f"{kind}%20" if kind in _OF_OTHERS else kind


def usable_id(text: str | None) -> str | None:
    """The id as digits if it is a positive number (``66564.0`` is 66564); None for 0, -1, names and None."""
    match = _id(text) if text else None
    return match[1] if match else None


def is_no_id(text: str | None) -> bool:
    """Whether a row gives no id by it: None, blank, 0, -1 or the sentinel of a truncated record (view, "objectId")."""
    return text is None or known_name(text) is None or _gives_none(text) is not None


def is_cut_id(text: str | None) -> bool:
    """Whether it is what Snowflake writes in place of an id that it cut, -1 (view, "Truncated records")."""
    return text is not None and _is_cut_id(text) is not None


def uncut(text: str | None) -> str | None:
    """The value of a column that is a text; None if it is missing, blank, or what Snowflake writes in place of a value
    that it cut: the sentinel, or -1.

    >>> uncut("ACME"), uncut("TRUNCATED"), uncut("-1"), uncut(" ")
    ('ACME', None, None, None)
    """
    known = known_name(text)
    return None if is_cut_id(known) else known


def id_as_name(text: str | None) -> str | None:
    """The id if it is not a number. Otherwise None."""
    return None if text is None or _is_no_id(text) else known_name(text)


def is_name_of_user_stage(name: str | None, ident: str | None) -> bool:
    """Whether a stage with this name and id is a user's: its id is its name, or a name alone. Others have numbers as
    ids, and whole names (view, "objectId" and "objectName").

    >>> is_name_of_user_stage("7", "7"), is_name_of_user_stage(None, "JSMITH"), is_name_of_user_stage("D.S.STAGE", "7")
    (True, True, False)
    """
    return name == ident is not None if name is not None else id_as_name(ident) is not None


def name_of_user_stage(name: str | None, ident: str | None) -> str | None:
    """The name of the stage of a user, as an identifier: rows have the user's name as its name and as its id, exactly
    as Snowflake stores it, so dots and small letters in it count (view, "objectId" and "objectName").

    >>> name_of_user_stage("JSMITH", None), name_of_user_stage(None, "jane.doe@example.com")
    ('JSMITH', '"jane.doe@example.com"')
    """
    user = name if name is not None or is_no_id(ident) else ident
    return None if user is None else stored_as(user)


def known_name(text: str | None) -> str | None:
    """The name; None if it is empty, only spaces (U+0020, as in Spark's ``trim``) or the sentinel."""
    return text if text and text != TRUNCATED and not (text[0] == " " == text[-1] and not text.strip(" ")) else None


def system_view(name: str) -> str | None:
    """The last part of a name, in upper case without quotes, if it is that of a view through which Snowflake reads a
    stream; otherwise None. A row that gives no id with it names no object (:mod:`exporter.model.views`).

    >>> system_view("$SYS_VIEW_7"), system_view('D.S."$sys_view_7"'), system_view("SYS_VIEW_7")
    ('$SYS_VIEW_7', '$SYS_VIEW_7', None)
    """
    match = _is_system_view(name) if name.endswith(_LAST_OF_SYSTEM_VIEWS) else None
    return match[2].upper() if match else None


def is_qualified(name: str) -> bool:
    """Whether a name has more than one part; a dot inside quotes does not count.

    >>> is_qualified("DB.ROLE"), is_qualified('"a.b"')
    (True, False)
    """
    return len(parts_of(name)) > 1


def parts_of(name: str) -> list[str]:
    """The parts of a name, quoted ones with their quotes; empty if the text is not a list of identifiers.

    >>> parts_of('DB."a.b"')
    ['DB', '"a.b"']
    """
    return _parts_of(name) if _is_well_formed(name) else []


def stored_as(name: str) -> str:
    """The identifier for a name as Snowflake stores it: with quotes if it needs them.

    >>> stored_as("ANALYST"), stored_as("Analyst")
    ('ANALYST', '"Analyst"')
    """
    return name if _is_stored(name) else quoted(name)


@lru_cache(maxsize=20_000)
def canonical_name(name: str) -> str:
    """The name in canonical form, equal for all names of the same identifier: plain parts in upper case, others quoted.

    A text that is not a list of identifiers becomes one quoted part.

    >>> canonical_name('db.s."T"'), canonical_name('"a.b".c')
    ('DB.S.T', '"a.b".C')
    """
    if _is_plain_name(name):
        return name.upper()
    return ".".join(map(_stored_part, _parts_of(name))) if _is_well_formed(name) else quoted(name)


@lru_cache(maxsize=20_000)
def match_name(name: str) -> str:
    """The name in the form in which names are compared. Letter case counts only in quotes.

    Parts without quotes become upper case, and so does a text that is not a list of identifiers and has no quotes. A
    quoted part loses its quotes if it does not need them; other quoted parts stay unchanged. Source: Snowflake,
    "Identifier requirements".

    >>> match_name('db.s."T"'), match_name('"a.b".c'), match_name("@~/a b")
    ('DB.S.T', '"a.b".C', '@~/A B')
    """
    if '"' not in name:
        return name.upper()
    return ".".join(map(_matched_part, _parts_of(name))) if _is_well_formed(name) else name


def _matched_part(part: str) -> str:
    if part.startswith('"'):
        return part[1:-1] if _is_stored(part[1:-1]) else part
    return part.upper()


def _stored_part(part: str) -> str:
    stored = part.upper() if _is_plain_name(part) else unquoted(part)
    return stored if _is_stored(stored) else quoted(stored)


def quoted(part: str) -> str:
    """What Snowflake stores as a quoted identifier."""
    return '"' + part.replace('"', '""') + '"'


def unquoted(part: str) -> str:
    """A quoted part of a name without its quotes, another as it is.

    >>> unquoted('"a""b"'), unquoted("ab")
    ('a"b', 'ab')
    """
    return part[1:-1].replace('""', '"') if part.startswith('"') else part


@lru_cache(maxsize=20_000)
def segment(text: str) -> str:
    """The text as one segment of a path: percent-encoded, ASCII only, never ``.`` or ``..``. Different texts give
    different segments. Letters, digits and ``. - * _`` stay unchanged. Source: RFC 3986, sections 2.1 and 3.3.
    """
    return _HIDDEN_DOTS.get(text) or quote(text, safe="*").replace("~", "%7E")


def object_key(
    kind: str, object_id: str | None, name: str | None, signature: str | None = None, location: str | None = None
) -> str | None:
    """The key of an object: ``kind/ID``, else ``kind/name/NAME`` (functions and procedures with their arguments),
    else ``location/URL``; None if the row has none of the three. A system view is no name.

    ``object_id``: a result of :func:`usable_id`; ``name``, ``location``: results of :func:`known_name`.
    """
    if object_id is not None:
        return f"{kind}/{object_id}"
    if name is not None and (kind not in READ_AS_STREAM or system_view(name) is None):
        arguments = signature or "" if kind in ROUTINE_KINDS else ""
        return f"{kind}/name/{segment(canonical_name(name) + arguments)}"
    return None if location is None else f"{LOCATION_KIND}/{segment(location)}"


def location_of(key: str) -> str | None:
    """The location of which a key is made; None for all other keys.

    >>> location_of("location/s3%3A%2F%2Fb%2Fp"), location_of("location/name/D.S.T"), location_of("table/5")
    ('s3://b/p', None, None)
    """
    kind, _, rest = key.partition("/")
    return unquote(rest) if kind == LOCATION_KIND and "/" not in rest else None
