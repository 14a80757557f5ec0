"""DDL as ACCESS_HISTORY records it, in the same small account; renames and swaps change it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tests.hard_objects import Json, Thing, World, hard_name
from tests.hard_rows import BODIES, row

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

TABLE_LIKE: Final = ("table", "view", "dynamic table", "external table")


def change(rng: Random, thing: Thing, operation: str, properties: Json) -> Json:
    ddl = {**thing.shown(rng), "operationType": operation, "properties": properties}
    ddl.pop("stageKind", None)
    return row(rng, object_modified_by_ddl=ddl)


def element(rng: Random, thing: Thing, sub_operation: str, **values: Any) -> Json:
    """One element of a compound property: a tag or a policy that is set or unset."""
    written = {"subOperationType": sub_operation, **{name: {"value": value} for name, value in values.items()}}
    number = thing.id_fields(rng).get("objectId")
    return {thing.name: written if number is None else {**written, "objectId": {"value": number}}}


def setting(rng: Random, world: World) -> Json:
    """Tags and policies, set and unset."""
    sub_operation = rng.choice(("ADD", "ADD", "ALTER", "DROP"))
    value = {} if sub_operation == "DROP" else {"tagValue": rng.choice(("sensitive", "public", "ü 🦖 %", ""))}
    tags = {"tags": element(rng, world.one(rng, "tag"), sub_operation, **value)}
    masks = {"maskingPolicies": element(rng, world.one(rng, "masking policy"), sub_operation)}
    return rng.choice((tags, masks, {**tags, **masks}))


def alter_settings(rng: Random, world: World) -> list[Json]:
    """Tags and policies on a table and on its columns."""
    thing = world.one(rng, *TABLE_LIKE)
    filters = {"rowAccessPolicies": element(rng, world.one(rng, "row access policy"), rng.choice(("ADD", "DROP")))}
    on_columns = {"columns": {name: setting(rng, world) for name in rng.sample(thing.columns, 2)}}
    own_tags = {"tags": setting(rng, world).get("tags", {})}
    return [change(rng, thing, "ALTER", rng.choice((filters, on_columns, own_tags, {**own_tags, **on_columns})))]


def create(rng: Random, world: World) -> list[Json]:
    """CREATE or REPLACE of a table or view, with tags and policies on its columns, or from another (LIKE, CLONE)."""
    thing = world.one(rng, *TABLE_LIKE)
    columns = {
        name: {**thing_id, "subOperationType": "ADD", **(setting(rng, world) if rng.random() < 0.3 else {})}
        for name in thing.columns
        for thing_id in [{"objectId": {"value": thing.number * 100 + thing.columns.index(name)}}]
    }
    return [change(rng, thing, rng.choice(("CREATE", "REPLACE")), {"columns": columns})]


def clone(rng: Random, world: World) -> list[Json]:
    """CREATE ... CLONE: the source among the accesses, the copy among the writes and in the DDL."""
    source, copy = world.one(rng, "table"), world.one(rng, "table")
    made = create(rng, World({**world.things, **{kind: [copy] for kind in TABLE_LIKE}}))[0]
    if rng.random() < 0.7:
        made["object_modified_by_ddl"]["properties"] |= _other(rng, "cloneSource", source)
    shown = source.read(rng)
    return [
        {
            **made,
            "direct_objects_accessed": [shown],
            "base_objects_accessed": [shown],
            "objects_modified": [copy.read(rng)],
        }
    ]


def policy(rng: Random, world: World) -> list[Json]:
    """A policy created, altered (its body) or dropped."""
    operation = rng.choice(("CREATE", "ALTER", "ALTER", "DROP"))
    body = {} if operation == "DROP" else {"policyBody": {"value": rng.choice(BODIES)}}
    return [change(rng, world.one(rng, "masking policy", "row access policy"), operation, body)]


def tag(rng: Random, world: World) -> list[Json]:
    """Allowed values of a tag, and a masking policy on it."""
    values = {value: {"subOperationType": rng.choice(("ADD", "DROP"))} for value in ("sensitive", "pu'blic", "🦖")}
    masked = {"maskingPolicies": element(rng, world.one(rng, "masking policy"), "ADD")}
    properties: Json = rng.choice(({"allowedValues": values}, masked, {}))
    return [change(rng, world.one(rng, "tag"), rng.choice(("CREATE", "ALTER")), properties)]


def rename(rng: Random, world: World) -> list[Json]:
    thing = world.one(rng, *TABLE_LIKE)
    new_name = rng.choice((f"DB.SCH.RENAMED_{rng.randint(1, 3)}", hard_name(rng)))
    renamed = change(rng, thing, "ALTER", {"objectName": {"value": new_name}})
    thing.name = new_name
    return [renamed]


def rename_column(rng: Random, world: World) -> list[Json]:
    thing = world.one(rng, *TABLE_LIKE)
    index, new = rng.randrange(len(thing.columns)), f"C{rng.randint(1, 3)}"
    properties = {thing.columns[index]: {"objectName": {"value": new}, "subOperationType": "ALTER"}}
    thing.columns[index] = new if new not in thing.columns else thing.columns[index]
    return [change(rng, thing, "ALTER", {"columns": properties})]


def alter_columns(rng: Random, world: World) -> list[Json]:
    """ADD or DROP of columns; the recorded name may be the type, as other tools have seen."""
    thing = world.one(rng, "table")
    name, sub_operation = rng.choice(("BIGINT", *thing.columns)), rng.choice(("ADD", "DROP"))
    properties = {name: {"objectId": {"value": 9}, "subOperationType": sub_operation}}
    return [change(rng, thing, "ALTER", {"columns": properties})]


def swap(rng: Random, world: World) -> list[Json]:
    """Two rows with one query id, one per table; the names change places, the ids stay."""
    one, other = rng.sample(world.things["table"], 2)
    rows = [change(rng, a, "ALTER", _other(rng, "swapTarget", b)) for a, b in ((one, other), (other, one))]
    rows[1] |= {key: rows[0][key] for key in ("query_id", "query_start_time", "user_name")}
    one.name, other.name = other.name, one.name
    return rows


def _other(rng: Random, role: str, thing: Thing) -> Json:
    """The other object of a SWAP or CLONE, in three properties. The documents leave CLONE's unnamed."""
    number = thing.id_fields(rng).get("objectId", 0)
    said = {"Domain": thing.shown(rng)["objectDomain"], "Id": number, "Name": thing.name}
    return {f"{role}{key}": {"value": value} for key, value in said.items()}


def whole(rng: Random, world: World) -> list[Json]:
    """Operations on the object as a whole: none of them has properties, a comment at most."""
    operation = rng.choice(("DROP", "UNDROP", "DESCRIBE", "SHOW", "REFRESH", "SUSPEND", "RESUME", "ALTER"))
    comment = {"comment": {"value": 'a "comment"\non two lines \\ 🦖'}} if operation == "ALTER" else {}
    kinds = (*TABLE_LIKE, "schema", "stage", "tag", "masking policy")
    return [change(rng, world.one(rng, *kinds), operation, comment)]


def sequence(rng: Random, world: World) -> list[Json]:
    properties = {"start": {"value": "2"}, "increment": {"value": "7"}, "comment": {"value": "Comment on Sequence"}}
    return [change(rng, world.one(rng, "sequence"), "CREATE", properties)]


def share(rng: Random, world: World) -> list[Json]:
    """A share and its listing: accounts, grants, manifests."""
    granted = {"value": grant(rng, world)}
    accounts = {"value": rng.sample(["acc1", "acc2", "ORG.ACC3"], rng.randint(1, 2))}
    shares = (
        ("CREATE", {"secureObjectsOnly": {"value": False}}),
        (rng.choice(("DROP", "UNDROP", "CREATE")), {}),
        ("ALTER", {"accountsToAdd": accounts, "shareRestrictions": {"value": False}}),
        ("ALTER", {rng.choice(("accountsToSet", "accountsToRemove")): accounts}),
        ("GRANT", {"grant": granted}),
        ("GRANT", {"grant": granted}),
        ("REVOKE", {"revoke": granted}),
    )
    listings = (
        ("CREATE", {"manifest": {"value": "title: 🦖\nterms: 'x'"}, "share": {"value": "MY_SHARE"}}),
        ("ALTER", {"addTargets": {"value": "a"}, "removeTargets": {"value": "b"}}),
        ("ALTER", {"manifestStageLocation": {"value": "@db.s.stage1"}, "versionAlias": {"value": "V3"}}),
    )
    kind, (operation, properties) = rng.choice([("share", s) for s in shares] + [("listing", x) for x in listings])
    return [change(rng, world.one(rng, kind), operation, properties)]


def grant(rng: Random, world: World) -> Json:
    """A privilege on an object or on all of a schema, or a role of a database, as GRANT and REVOKE say it."""
    thing = world.one(rng, "table", "view")
    on_one = {"SECURABLE_OBJECT_ID": thing.number, "SECURABLE_OBJECT_NAME": thing.name}
    on_all = {"SECURABLE_OBJECT_SCOPE": "DB.SCH", "SECURABLE_OBJECT_SCOPE_DOMAIN": "Schema"}
    privileges = {"PRIVILEGES": rng.choice((["SELECT"], ["SELECT", "REFERENCES"], ["ALL"]))}
    where = {"SECURABLE_OBJECT_DOMAIN": thing.kind.title(), **rng.choice((on_one, on_one, on_all))}
    return rng.choice(({**privileges, **where}, {**privileges, **where}, {"ROLES": ["DB.READER"]}))


DDL_ROWS: Final[tuple[Callable[[Random, World], list[Json]], ...]] = (
    *(alter_settings, alter_settings, create, clone, policy, policy, tag, rename, rename_column),
    *(alter_columns, swap, whole, whole, sequence, share),
)
