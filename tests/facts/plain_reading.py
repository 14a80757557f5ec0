"""A second, simple reading of the rows in plain Python; the facts and the graph are compared with it.

Written from the documents, not from the functions that it checks.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Json = dict[str, Any]
TABLES: Final = ("TABLE", "EXTERNAL TABLE", "DYNAMIC TABLE", "ICEBERG TABLE", "HYBRID TABLE", "EVENT TABLE")
ROUTINES: Final = ("function", "procedure")
SOURCES: Final = {"DIRECT": ("directSources", "directSourceColumns"), "BASE": ("baseSources", "baseSourceColumns")}
READS: Final = {
    "DIRECT": "direct_objects_accessed",
    "BASE": "base_objects_accessed",
    "PROVIDER_BASE": "provider_base_objects_accessed",
}
READ_AS_STREAM: Final = ("view", "stream", "table", "object")
OF_ACCOUNT: Final = "of account"
"""What :func:`with_accounts` adds to an object of another account: its name."""
POLICIES: Final = ("policies_referenced", "provider_policies_referenced")


# --- identifiers ----------------------------------------------------------------------------------------------------


def said(text: Any) -> str | None:
    """A text, unless it is blank or the sentinel."""
    return None if text is None or str(text).strip(" ") in ("", "TRUNCATED") else str(text)


def segment(text: str) -> str:
    """One path segment: all but unreserved ASCII as percent-encoded UTF-8; never ``.`` or ``..``."""
    plain = re.compile(r"[A-Za-z0-9.\-*_]")
    encoded = "".join(one if plain.match(one) else _percent(one) for one in text)
    return encoded.replace(".", "%2E") if encoded in (".", "..") else encoded


def _percent(character: str) -> str:
    return "".join(f"%{byte:02X}" for byte in character.encode("utf-8"))


def parts(name: str) -> list[tuple[str, bool]]:
    """The identifiers of a name and whether each is quoted; a name that is none of that is one quoted part."""
    found, rest = list[tuple[str, bool]](), name
    while True:
        match = re.match(r'"((?:[^"]|"")+)"|([^."]+)', rest, re.DOTALL)
        if not match:
            return [(name, True)]
        quoted = match.group(1)
        found.append((quoted.replace('""', '"'), True) if quoted is not None else (match.group(2), False))
        rest = rest[match.end() :]
        if not rest:
            return found
        if rest[0] != ".":
            return [(name, True)]
        rest = rest[1:]


def canonical(name: str) -> str:
    """One spelling for one identifier: what Snowflake stores, quoted only where it must be."""
    return ".".join(_spelt(*part) for part in parts(name))


def _spelt(text: str, quoted: bool) -> str:  # noqa: FBT001 - a pair of parts()
    stored = text.upper() if not quoted and re.fullmatch(r"[A-Za-z_][A-Za-z0-9_$]*", text) else text
    plain = re.fullmatch(r"[A-Z_][A-Z0-9_$]*", stored)
    return stored if plain else '"' + stored.replace('"', '""') + '"'


def number(value: Any) -> str | None:
    """An id as digits, None for 0, -1, names and none."""
    text = "" if value is None else str(value)
    return str(int(text)) if re.fullmatch(r"[0-9]+", text) and int(text) > 0 else None


def kind(thing: Json) -> str:
    domain = re.sub(r"[\s_]+", " ", thing.get("objectDomain") or "").strip().upper()
    if domain in ("", "TRUNCATED"):
        return "location" if said(thing.get("location")) else "object"
    if domain == "STAGE":
        owner = (said(thing.get("stageKind")) or "").lower()
        ident, name = said(thing.get("objectId")) or "", said(thing.get("objectName"))
        is_users = not owner and re.search(r"[^0-9.\-]", ident) and name in (None, ident)
        return f"{owner}-stage" if owner in ("table", "user") else "user-stage" if is_users else "stage"
    if domain in TABLES:
        return "table"
    return "view" if domain == "MATERIALIZED VIEW" else domain.lower().replace(" ", "-")


def key(thing: Json) -> str | None:
    """The natural key of an object, None where the row names nothing; with the account if it is of another one."""
    found = _key(thing)
    is_elsewhere = found and thing.get(OF_ACCOUNT) and not found.startswith("location/")
    return f"{found}@{segment(thing[OF_ACCOUNT])}" if is_elsewhere else found


def _key(thing: Json) -> str | None:
    of_kind, ident = kind(thing), number(thing.get("objectId"))
    if of_kind == "user-stage":  # both are the user's name, exactly
        user = said(thing.get("objectName")) or said(thing.get("objectId"))
        return f"user-stage/name/{segment(_spelt(user, True))}" if user not in (None, "0", "-1") else None
    if ident:
        return f"{of_kind}/{ident}"
    as_name = thing.get("objectId") if re.search(r"[^0-9.\-]", str(thing.get("objectId") or "")) else None
    name = said(thing.get("objectName")) or said(as_name)
    if name and not (of_kind in READ_AS_STREAM and system_view(name)):
        arguments = (said(thing.get("argumentSignature")) or "") if of_kind in ROUTINES else ""
        return f"{of_kind}/name/{segment(canonical(name) + arguments)}"
    place = said(thing.get("location"))
    return f"location/{segment(place)}" if place else None


def system_view(name: str) -> str | None:
    """The view by which a stream is read, if that is the last part of the name; it is no object."""
    match = re.search(r'(?:^|[.])(?:[$](sys_view_[0-9]+)|"[$](sys_view_[0-9]+)")$', name, re.IGNORECASE)
    return (match.group(1) or match.group(2)).upper() if match else None


def with_streams(row: Json) -> Json:
    """The row with the stream in the place of each system view that can only be this one: the only stream that it
    reads, or of several the only one that lists all columns that the row names of the system view. In place of an
    object that is written, and where it is not certain, the system view stays, which names nothing.
    """
    row = with_accounts(row)
    views: dict[str, list[Json]] = {}
    for one in _may_be_streams(row):
        if (
            kind(one) in (*READ_AS_STREAM, "location")
            and not number(one.get("objectId"))
            and (view := system_view(said(one.get("objectName")) or ""))
        ):
            views.setdefault(view, []).append(one)
    streams = _streams(row.get("direct_objects_accessed") or [])
    for every in views.values():
        names = {said(given.get("columnName")) for one in every for given in (one, *(one.get("columns") or []))}
        certain = list(streams.values())
        if len(certain) > 1:
            names -= {None}
            known = names and all(listed for _, listed in certain)
            certain = [(one, listed) for one, listed in certain if known and names <= listed]
        for one in every if len(certain) == 1 else []:
            one |= {name: certain[0][0].get(name) for name in ("objectDomain", "objectId", "objectName")}
    return row


def with_accounts(row: Json) -> Json:
    """The row, which says of what is in the arrays of a provider of which account it is, unless it is the row's own."""
    row = json.loads(json.dumps(row))
    for array in ("provider_base_objects_accessed", "provider_policies_referenced"):
        for thing in filter(None, row.get(array) or []):
            account = said(thing.get("accountName")) or "provider"
            if account != row.get("account_name"):
                thing[OF_ACCOUNT] = account
            for one in (thing, *filter(None, thing.get("columns") or [])):
                for policy in filter(None, one.get("policies") or []):
                    policy[OF_ACCOUNT] = account
    return row


def _may_be_streams(row: Json) -> Iterator[Json]:
    """The objects read, protected, joined, and the sources of columns."""
    for array in (*READS.values(), *POLICIES):
        for one in filter(None, row.get(array) or []):
            yield one
            for join in one.get("joinObjects") or []:
                yield from filter(None, (join.get("node"), join.get("joinObject")))
    for one in filter(None, row.get("objects_modified") or []):
        for column in one.get("columns") or []:
            for spelling in (*SOURCES["DIRECT"], *SOURCES["BASE"]):
                yield from filter(None, (column or {}).get(spelling) or [])


def _streams(direct: list[Json]) -> dict[str, tuple[Json, set[str]]]:
    """The streams read, with their columns; none if something is read that the row does not name."""
    found: dict[str, tuple[Json, set[str]]] = {}
    for one in direct:
        if not one or (not list(named([one])) and not system_view(one.get("objectName") or "")):
            return {}
        if (stream := key(one)) and kind(one) == "stream":
            found.setdefault(stream, (one, set()))[1].update(name for name, _ in columns(one))
    return found


def columns(thing: Json) -> set[tuple[str, str | None]]:
    """The columns that have a name, with their ids."""
    every = [(said(one.get("columnName")), ident(one.get("columnId"))) for one in thing.get("columns") or []]
    return {(name, number) for name, number in every if name}


def named(things: Iterable[Json] | None) -> Iterator[tuple[str, Json]]:
    """The things that have a key, each place of several as a thing of its own."""
    for thing in things or []:
        for place in thing.get("locations") or [thing.get("location")]:
            one = {**thing, "location": place}
            if found := key(one):
                yield found, one


@cache
def time(text: str) -> datetime:
    """An ISO time with or without fraction and offset, in UTC, to the microsecond."""
    match = re.fullmatch(r"(\S{10})[T ](\d\d:\d\d:\d\d)(?:\.(\d+))?\s*(Z|[+-]\d\d:?\d\d)?", text)
    assert match, text
    day, clock, fraction, offset = match.groups()
    moment = datetime.fromisoformat(f"{day}T{clock}").replace(tzinfo=UTC)
    shift = timedelta()
    if offset and offset != "Z":
        minutes = int(offset[1:3]) * 60 + int(offset[-2:])
        shift = timedelta(minutes=minutes if offset[0] == "+" else -minutes)
    return moment + timedelta(microseconds=int((fraction or "0").ljust(6, "0")[:6])) - shift


# --- facts ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Query:
    """A row's query: the key of everything that the row says."""

    account: str
    query_id: str


def query(row: Json) -> Query:
    return Query(f"{row['organization_name']}-{row['account_name']}", row["query_id"])


def ident(given: str | int | None) -> str | None:
    """A column's id; 0 and -1 are none."""
    return None if given in (None, 0, -1, "0", "-1", "") else str(given)


def accesses(rows: Iterable[Json]) -> dict[tuple[Query, str, str], set[tuple[str, str | None]]]:
    """(query, kind of access, object) -> columns."""
    found: dict[tuple[Query, str, str], set[tuple[str, str | None]]] = {}
    for row in map(with_streams, rows):
        for access, column in READS.items():
            for object_key, thing in named(row.get(column)):
                found.setdefault((query(row), access, object_key), set()).update(columns(thing))
    return found


def writes(rows: Iterable[Json]) -> dict[tuple[Query, str], set[tuple[str, str | None]]]:
    """(query, object) -> columns."""
    found: dict[tuple[Query, str], set[tuple[str, str | None]]] = {}
    for row in rows:
        for object_key, thing in named(row.get("objects_modified")):
            found.setdefault((query(row), object_key), set()).update(columns(thing))
    return found


Derivation = tuple[Query, str, str, str, str, str | None]


def derivations(rows: Iterable[Json]) -> set[Derivation]:
    """(query, target, its column, kind of source, source, its column)."""
    return {
        (query(row), target, column, source_type, source_key, said(source.get("columnName")))
        for row in map(with_streams, rows)
        for target, thing in named(row.get("objects_modified"))
        for one in thing.get("columns") or []
        for source_type, spellings in SOURCES.items()
        for spelling in spellings
        for source in one.get(spelling) or []
        if (source_key := key({name: value for name, value in source.items() if name != "location"}))
        and (column := said(one.get("columnName")))
    }


def changes(rows: Iterable[Json]) -> Iterator[tuple[Query, str, Json]]:
    """(query, object, the change) of each DDL change that names its object."""
    for row in rows:
        change = row.get("object_modified_by_ddl")
        if change and (object_key := key(change)):
            yield query(row), object_key, change


def policies(rows: Iterable[Json]) -> set[tuple[Query, str, str | None, str | None, str]]:
    """(query, protected object, its column, the column's id, policy)."""
    return {
        (query(row), object_key, column, ident(given.get("columnId")), policy_key)
        for row in map(with_streams, rows)
        for name in POLICIES
        for object_key, thing in named(row.get(name))
        for column, given in [(None, thing), *((said(c.get("columnName")), c) for c in thing.get("columns") or [])]
        for policy in given.get("policies") or []
        if (policy_key := key(_as_object(policy)))
    }


def _as_object(policy: Json) -> Json:
    return {
        "objectDomain": policy.get("policyKind") or "POLICY",
        "objectId": policy.get("policyId"),
        "objectName": policy.get("policyName"),
        OF_ACCOUNT: policy.get(OF_ACCOUNT),
    }


def starts(rows: Iterable[Json]) -> dict[Query, datetime]:
    """When each query started: the earliest time that its rows give."""
    found: dict[Query, datetime] = {}
    for row in rows:
        at = time(row["query_start_time"])
        found[query(row)] = min(found.get(query(row), at), at)
    return found
