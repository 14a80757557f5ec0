"""Rows of ACCESS_HISTORY that are valid but difficult: one function for each statement, which returns its row or
rows.
"""

from __future__ import annotations

from copy import deepcopy
from datetime import UTC, datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any, Final

from tests.hard_objects import USERS, Json, Thing, World, hard_name

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

START: Final = datetime(2026, 3, 1, 8, tzinfo=UTC)
LOCATIONS: Final = (
    "s3://bucket/a b/ü%20.csv",
    "file:///tmp/data/",
    "gcs://b/x",
    "azure://acc.blob.core.windows.net/c/",
)
JOIN_TYPES: Final = ("INNER_JOIN", "LEFT_OUTER_JOIN", "FULL_OUTER_JOIN", "ASOF_JOIN", "LATERAL")
BODIES: Final = ("val", "'*****'", "case when current_role() = 'HR' then val else '*' end", 'sha2("v")\n-- 🦖')
SENTINEL: Final[Json] = {"objectDomain": "TRUNCATED", "objectId": -1, "objectName": "TRUNCATED"}
CUT_COLUMNS: Final[list[Json]] = [{"columnId": -1, "columnName": "TRUNCATED"}]


def query_id(rng: Random) -> str:
    number = rng.getrandbits(60)
    uuid = f"01ad{number & 0xFFFF:04x}-0606-6e2c-{number >> 44 & 0xFFFF:04x}-{number >> 8 & 0xFFFFFFFFFFFF:012x}"
    return rng.choice((uuid, uuid, uuid, str(number), f"q é%{number}", f"q/{number}\n.."))


def start_time(rng: Random) -> str:
    """An instant from a small pool, so that instants meet, in one of the spellings that people export."""
    moment = START + timedelta(seconds=rng.choice((0, 0, 1, 60, 61, rng.randint(0, 86_400))))
    moment = moment.replace(year=2999) if rng.random() < 0.01 else moment
    fraction = rng.choice(("", ".0", ".12", ".123", ".123", ".1234", ".123456", ".123456789"))
    separator, offset = rng.choice((" ", " ", "T")), rng.choice((0, 0, 0, -360, 330))
    local = moment.astimezone(timezone(timedelta(minutes=offset)))
    sign, hours, minutes = "-" if offset < 0 else "+", abs(offset) // 60, abs(offset) % 60
    spelt = [f" {sign}{hours:02}{minutes:02}", f"{sign}{hours:02}:{minutes:02}"] + ([] if offset else ["Z", ""])
    return f"{local:%Y-%m-%d}{separator}{local:%H:%M:%S}{fraction}{rng.choice(spelt)}"


def row(rng: Random, **columns: Any) -> Json:
    """A row with what the statement says, and the other columns empty or null."""
    empty: list[Json] | None = rng.choice(([], None, []))
    arrays = ("direct_objects_accessed", "base_objects_accessed", "objects_modified", "policies_referenced")
    base = {"query_id": query_id(rng), "query_start_time": start_time(rng), "user_name": rng.choice(USERS)}
    rest = {"object_modified_by_ddl": None, "parent_query_id": None, "root_query_id": None}
    return {**base, **{name: deepcopy(empty) for name in arrays}, **rest, **columns}


def policies(rng: Random, world: World, thing: Thing) -> list[Json]:
    """The policies enforced on a read: a masking policy on a column, a row access policy on the object, or both."""
    mask, filter_ = world.one(rng, "masking policy"), world.one(rng, "row access policy")

    def named(policy: Thing, kind: str) -> Json:
        return {"policyName": policy.name, "policyKind": kind, **policy.id_fields(rng, "policyId")}

    on_columns = [{**column, "policies": [named(mask, "MASKING_POLICY")]} for column in thing.columns_shown(rng)]
    both = {"columns": on_columns, "policies": [named(filter_, "ROW_ACCESS_POLICY")]}
    return [{**thing.shown(rng), **{key: both[key] for key in rng.choice((("columns",), ("policies",), tuple(both)))}}]


def read(rng: Random, world: World) -> list[Json]:
    direct, base = world.one(rng), world.one(rng, "table", "external table")
    enforced = policies(rng, world, direct) if rng.random() < 0.4 else None
    return [
        row(
            rng,
            direct_objects_accessed=[direct.read(rng)],
            base_objects_accessed=[base.read(rng)],
            policies_referenced=enforced,
        )
    ]


def join(rng: Random, world: World) -> list[Json]:
    left, right = world.one(rng), world.one(rng)
    kind, partner = rng.choice(JOIN_TYPES), right.shown(rng)
    form = rng.choice(({"joinType": kind, "node": partner}, {"type": kind, "joinObject": partner}))
    return [row(rng, direct_objects_accessed=[{**left.read(rng), "joinObjects": [form]}, right.read(rng)])]


def sources(rng: Random, world: World, thing: Thing) -> list[Json]:
    """Source columns of one object, at times with a function among them, which has no columnName."""
    columns = [{**thing.shown(rng), "columnName": rng.choice(thing.columns)} for _ in range(rng.randint(0, 3))]
    return columns + ([world.one(rng, "function").shown(rng)] if rng.random() < 0.2 else [])


def written(rng: Random, world: World, target: Thing, source: Thing) -> Json:
    suffix = rng.choice(("Sources", "Sources", "SourceColumns"))
    lineage = {f"direct{suffix}": sources(rng, world, source), f"base{suffix}": sources(rng, world, source)}
    return {**target.shown(rng), "columns": [{**column, **deepcopy(lineage)} for column in target.columns_shown(rng)]}


def insert(rng: Random, world: World) -> list[Json]:
    """INSERT, MERGE or CTAS; from itself in one case of five, into several targets in another."""
    source = world.one(rng)
    targets = [world.one(rng, "table", "dynamic table") for _ in range(rng.choice((1, 1, 1, 1, 3)))]
    source = targets[0] if rng.random() < 0.2 else source
    modified = [written(rng, world, target, source) for target in targets]
    shown = source.read(rng)
    return [row(rng, direct_objects_accessed=[shown], base_objects_accessed=[shown], objects_modified=modified)]


def through_stream(rng: Random, world: World) -> list[Json]:
    """A table filled through one or two streams. Sources name a system view in place of the stream, and so, now and
    then, do the objects that were read.
    """
    streams = [world.one(rng, "stream"), *([world.one(rng)] if rng.random() < 0.4 else [])]
    table, target = world.one(rng, "table"), world.one(rng, "table")
    spelt = rng.choice(("$SYS_VIEW_{}", "$sys_view_{}", '"$SYS_VIEW_{}"', 'DB.SCH."$SYS_VIEW_{}"'))
    numbers = [rng.choice((1105, 1106, 7)) for _ in streams]
    direct = [stream.read(rng) for stream in streams]
    one = {"objectDomain": rng.choice(("View", "Stream", "Table")), **rng.choice(({}, {"objectId": 0}))}
    modified = written(rng, world, target, table)
    for column in modified["columns"]:
        through = [
            {**one, "objectName": spelt.format(number), "columnName": rng.choice(stream.columns)}
            for stream, number in zip(streams, numbers, strict=True)
        ]
        column[rng.choice(("directSources", "directSourceColumns"))] = through[: rng.randint(1, 2)]
    if rng.random() < 0.2:
        direct.append({**one, "objectName": spelt.format(numbers[0])})
    base = [table.read(rng)]
    return [row(rng, direct_objects_accessed=direct, base_objects_accessed=base, objects_modified=[modified])]


def files(rng: Random, world: World) -> list[Json]:
    """COPY, PUT and GET: between a stage, a place outside and a table, in either direction."""
    user_stage = {"objectDomain": "Stage", "objectId": "JSMITH", "objectName": "JSMITH", "stageKind": "User"}
    place = rng.choice(({"location": rng.choice(LOCATIONS)}, {"locations": [*LOCATIONS[:2]]}, user_stage))
    ends = [rng.choice((world.one(rng, "stage").shown(rng), place)), world.one(rng, "table").read(rng)]
    rng.shuffle(ends)
    return [row(rng, direct_objects_accessed=ends[:1], base_objects_accessed=ends[:1], objects_modified=ends[1:])]


def procedure(rng: Random, world: World) -> list[Json]:
    """A procedure, its child and its grandchild; at times the parent's own row is not there."""
    called = [world.one(rng, "procedure").shown(rng)]
    top = row(rng, direct_objects_accessed=called, base_objects_accessed=called)
    child = {**insert(rng, world)[0], "parent_query_id": top["query_id"], "root_query_id": top["query_id"]}
    grandchild = {**read(rng, world)[0], "parent_query_id": child["query_id"], "root_query_id": top["query_id"]}
    return [top, child, grandchild][rng.choice((0, 0, 1)) :]


def newer_columns(rng: Random, world: World) -> list[Json]:
    """What newer accounts record: calls of the Iceberg catalog, agents, the organization's columns."""
    agent = {"agentType": "CORTEX_AGENT", "agentId": rng.choice((7, "7")), "agentName": hard_name(rng)}
    organization = {"organization_name": "ACME", "account_name": "RETAIL", "account_locator": "AB12345"}
    table = world.one(rng, "iceberg table").read(rng)
    call = {"event_source": "horizon_irc", "additional_properties": {"irc_event_type": "LoadTable"}}
    shared = {"provider_base_objects_accessed": [{**table, "accountName": "AB12345"}]}
    extra = rng.choice(({"agents_info": [agent]}, call, {**organization, **shared}, {"column_of_next_year": [1, {}]}))
    return [{**row(rng, direct_objects_accessed=[table], base_objects_accessed=[table]), **extra}]


def truncated(rng: Random, world: World) -> list[Json]:
    """The eight phases of truncation, each with those before it (phases 6 and 7 are the organization's columns)."""
    thing, target = world.one(rng, "table"), world.one(rng, "table")
    full = {**read(rng, world)[0], "policies_referenced": policies(rng, world, thing)}
    full |= {"objects_modified": [written(rng, world, target, thing)], "object_modified_by_ddl": _created(rng, target)}
    full |= {"provider_base_objects_accessed": [thing.read(rng)]}
    full |= {"provider_policies_referenced": policies(rng, world, thing)}
    phase = rng.randint(1, 8)
    for name in _CUT_IN_TURN[:phase]:
        full[name] = _without_columns(full[name])
    for name in _REPLACED_LAST[: rng.randint(1, 5)] if phase == 8 else ():
        full[name] = [SENTINEL]
    return [full]


_CUT_IN_TURN: Final = (
    "objects_modified",
    "policies_referenced",
    "base_objects_accessed",
    "direct_objects_accessed",
    "object_modified_by_ddl",
    "provider_base_objects_accessed",
    "provider_policies_referenced",
)
_REPLACED_LAST: Final = (*_CUT_IN_TURN[1::-1], "base_objects_accessed", *_CUT_IN_TURN[5:])


def _without_columns(value: Any) -> Any:
    if isinstance(value, dict):
        return {**value, "properties": {**value["properties"], "columns": "TRUNCATED"}}
    return [{**element, "columns": CUT_COLUMNS} if "columns" in element else element for element in value]


def _created(rng: Random, thing: Thing) -> Json:
    columns = {name: {"objectId": {"value": 1}, "subOperationType": "ADD"} for name in thing.columns}
    return {**thing.shown(rng), "operationType": "REPLACE", "properties": {"columns": columns}}


def nothing(rng: Random, world: World) -> list[Json]:  # noqa: ARG001 - makers of rows share one signature
    """A row that says only that a query ran."""
    return [row(rng)]


ACCESS_ROWS: Final[tuple[Callable[[Random, World], list[Json]], ...]] = (
    *(read, read, read, join, insert, insert, insert, files, procedure, newer_columns, truncated, nothing),
    through_stream,
)
