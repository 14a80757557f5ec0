"""Random histories of one small warehouse in which data moves in cycles, for questions about lineage.

A few tables, views and stages are read, written, renamed, swapped, dropped, restored, created again, tagged and masked,
by queries that start together or finish late. All names are simple; :mod:`tests.histories` has difficult names and all
forms of rows, this module all orders of events.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from random import Random
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Json = dict[str, Any]
START: Final = datetime(2026, 5, 1, 6, tzinfo=UTC)
COLUMNS: Final = ("A", "B", "C")
USERS: Final = ("ANA", "BEN", "CLEO")
KINDS: Final = {"T": "Table", "V": "View", "S": "Stage", "M": "MASKING_POLICY", "R": "ROW_ACCESS_POLICY", "G": "TAG"}


@dataclass
class Thing:
    """``number`` is None where the rows never show an id: then the name is all that it goes by. ``over``: of a view,
    the place of its table in the list.
    """

    letter: str
    number: int | None
    name: str
    columns: list[str] = field(default_factory=lambda: list(COLUMNS))
    over: int = 0

    def shown(self) -> Json:
        kind = {"objectDomain": KINDS[self.letter], "objectName": self.name}
        return kind if self.number is None else {**kind, "objectId": self.number}

    def with_columns(self, columns: list[Json]) -> Json:
        return self.shown() if self.letter == "S" else {**self.shown(), "columns": columns}


@dataclass
class Warehouse:
    """What there is at present, and the rows so far."""

    rng: Random
    things: dict[str, list[Thing]]
    now: datetime = START
    rows: list[Json] = field(default_factory=list)
    history: list[Json] = field(default_factory=list)

    @classmethod
    def build(cls, rng: Random) -> Warehouse:
        counts = {"T": 4, "V": 1, "S": 2, "M": 1, "R": 1, "G": 2}
        nameless = rng.random() < 0.25
        return cls(
            rng,
            {
                letter: [_thing(letter, number, nameless=nameless) for number in range(1, count + 1)]
                for letter, count in counts.items()
            },
        )

    def one(self, letters: str) -> Thing:
        return self.rng.choice([thing for letter in letters for thing in self.things[letter]])

    def tell(self, **columns: Any) -> Json:
        """A row at this moment or soon after, and what QUERY_HISTORY says of its end."""
        self.now += timedelta(seconds=self.rng.choice((0, 0, 1, 2, 7)))
        query_id = f"q-{self.rng.getrandbits(48):012x}"
        arrays = ("direct_objects_accessed", "base_objects_accessed", "objects_modified", "policies_referenced")
        row = {
            "query_id": query_id,
            "query_start_time": f"{self.now:%Y-%m-%dT%H:%M:%S.000Z}",
            "user_name": self.rng.choice(USERS),
            "object_modified_by_ddl": None,
            **dict.fromkeys(("parent_query_id", "root_query_id")),
            **{name: [] for name in arrays},
            **columns,
        }
        self.rows.append(row)
        ended = self.now + timedelta(seconds=self.rng.choice((0, 1, 3, 20)))
        self.history.append({"query_id": query_id, "end_time": f"{ended:%Y-%m-%dT%H:%M:%S.000Z}"})
        return row


def _thing(letter: str, number: int, *, nameless: bool) -> Thing:
    ident = None if nameless and letter == "T" and number > 2 else 10 * (1 + "TVSMRG".index(letter)) + number
    return Thing(letter, ident, f"DB.S.{letter}{number}")


def _columns(rng: Random, *things: Thing) -> list[Json]:
    """One column or two that all of the things have."""
    names = [name for name in COLUMNS if all(name in thing.columns for thing in things)]
    return [{"columnName": name} for name in rng.sample(names, min(len(names), rng.randint(1, 2)))]


def _behind(world: Warehouse, thing: Thing) -> Thing:
    """The object that the data of ``thing`` is in."""
    return world.things["T"][thing.over] if thing.letter == "V" else thing


def _read(world: Warehouse, things: list[Thing]) -> Json:
    columns = [_columns(world.rng, thing, _behind(world, thing)) for thing in things]
    pairs = list(zip(things, columns, strict=True))
    return {
        "direct_objects_accessed": [thing.with_columns(named) for thing, named in pairs],
        "base_objects_accessed": [_behind(world, thing).with_columns(named) for thing, named in pairs],
    }


def _policies(world: Warehouse, thing: Thing) -> list[Json]:
    """A mask on columns, a filter on the object, both or neither."""
    mask, rows = ({"policyKind": KINDS[one.letter], "policyName": one.name, "policyId": one.number}
                  for one in (world.one("M"), world.one("R")))  # fmt: skip
    found = {
        "columns": [{**column, "policies": [mask]} for column in _columns(world.rng, thing)],
        "policies": [rows],
    }
    chosen = world.rng.choice(((), (), ("columns",), ("columns",), ("policies",), ("columns", "policies")))
    return [{**thing.shown(), **{name: found[name] for name in chosen}}] if chosen else []


def select(world: Warehouse) -> None:
    thing = world.one("TTTV")
    said = _read(world, [thing])
    world.tell(**said, policies_referenced=_policies(world, world.rng.choice((thing, _behind(world, thing)))))


def join(world: Warehouse) -> None:
    left, right = world.one("TV"), world.one("TV")
    said = _read(world, [left, right])
    kind = world.rng.choice(("INNER_JOIN", "LEFT_OUTER_JOIN"))
    said["direct_objects_accessed"][0]["joinObjects"] = [{"joinType": kind, "node": right.shown()}]
    world.tell(**said)


def _written(world: Warehouse, target: Thing, source: Thing) -> Json:
    """Each written column from some of the source's; a stage has no columns, and tells of none."""
    columns = _columns(world.rng, target)
    for column in columns if source.letter != "S" else ():
        chosen = [one["columnName"] for one in _columns(world.rng, source, _behind(world, source))]
        column["directSources"] = [{**source.shown(), "columnName": name} for name in chosen]
        column["baseSources"] = [{**_behind(world, source).shown(), "columnName": name} for name in chosen]
    return target.with_columns(columns)


def insert(world: Warehouse) -> None:
    """Into one table or several, from one or several; at times a table from itself."""
    sources = [world.one("TTV") for _ in range(world.rng.choice((1, 1, 2)))]
    targets = world.rng.sample(world.things["T"], world.rng.choice((1, 1, 1, 2)))
    if world.rng.random() < 0.15:
        sources = [targets[0]]
    modified = [_written(world, target, world.rng.choice(sources)) for target in targets]
    masked = _policies(world, sources[0]) if world.rng.random() < 0.3 else []
    world.tell(**_read(world, sources), objects_modified=modified, policies_referenced=masked)


def load(world: Warehouse) -> None:
    stage, table = world.one("S"), world.one("T")
    world.tell(**_read(world, [stage]), objects_modified=[_written(world, table, stage)])


def unload(world: Warehouse) -> None:
    stage, table = world.one("S"), world.one("T")
    world.tell(**_read(world, [table]), objects_modified=[stage.shown()])


def put(world: Warehouse) -> None:
    place = [{"location": f"file:///home/ana/{world.rng.randint(1, 2)}.csv"}]
    world.tell(direct_objects_accessed=place, base_objects_accessed=place, objects_modified=[world.one("S").shown()])


def truncate(world: Warehouse) -> None:
    """The row is that of any write, with columns or without; QUERY_HISTORY alone tells."""
    table = world.one("T")
    columns = [{"columnName": name} for name in table.columns] if world.rng.random() < 0.5 else []
    world.tell(objects_modified=[table.with_columns(columns)])
    world.history[-1]["query_type"] = "TRUNCATE_TABLE"


def delete(world: Warehouse) -> None:
    """With conditions on columns of the table, or of another one; QUERY_HISTORY mostly tells that it was a DELETE."""
    table, other = world.one("T"), world.one("TV")
    columns = [{"columnName": name} for name in table.columns] if world.rng.random() < 0.5 else []
    named = world.rng.choice(([table], [table], [other], [table, other]))
    world.tell(**_read(world, named), objects_modified=[table.with_columns(columns)])
    if world.rng.random() < 0.7:
        world.history[-1]["query_type"] = "DELETE"


def _change(thing: Thing, operation: str, properties: Json) -> Json:
    return {**thing.shown(), "operationType": operation, "properties": properties}


def create_as(world: Warehouse) -> None:
    """CREATE or REPLACE … AS SELECT, or CLONE: what was in the table is gone, unless it is copied from itself."""
    target, source = world.one("T"), world.one("TV")
    target.columns = list(COLUMNS) if target is not _behind(world, source) else target.columns
    properties: Json = {}
    if world.rng.random() < 0.4 and source.letter == "T":
        properties = {"cloneSourceName": {"value": source.name}, "cloneSourceId": {"value": source.number or 0}}
    world.tell(
        **_read(world, [source]),
        objects_modified=[_written(world, target, source)],
        object_modified_by_ddl=_change(target, world.rng.choice(("CREATE", "REPLACE")), properties),
    )


def replace(world: Warehouse) -> None:
    world.tell(object_modified_by_ddl=_change(world.one("T"), "REPLACE", {}))


def drop(world: Warehouse) -> None:
    """And, most times, bring back: at once or after other statements."""
    thing = world.one("TTTSV")
    world.tell(object_modified_by_ddl=_change(thing, "DROP", {}))
    if world.rng.random() < 0.6:
        if world.rng.random() < 0.5:
            world.rng.choice(STATEMENTS)(world)
        world.tell(object_modified_by_ddl=_change(thing, "UNDROP", {}))


def rename(world: Warehouse) -> None:
    table = world.one("T")
    new = f"DB.S.{world.rng.choice('TN')}{world.rng.randint(1, 9)}"
    if new not in [one.name for one in world.things["T"]]:
        rename_to(world, table, new)


def swap(world: Warehouse) -> None:
    one, other = world.rng.sample(world.things["T"], 2)
    rows = []
    for table, with_ in ((one, other), (other, one)):
        target = {"Domain": "Table", "Id": with_.number or 0, "Name": with_.name}
        said = {f"swapTarget{name}": {"value": value} for name, value in target.items()}
        rows.append(world.tell(object_modified_by_ddl=_change(table, "ALTER", said)))
    rows[1] |= {key: rows[0][key] for key in ("query_id", "query_start_time", "user_name")}
    world.history.pop()
    one.name, other.name = other.name, one.name


def tag(world: Warehouse) -> None:
    def setting() -> Json:
        mark, doing = world.one("G"), world.rng.choice(("ADD", "DROP"))
        value = {"tagValue": {"value": world.rng.choice(("secret", "open"))}} if doing == "ADD" else {}
        ident = {"objectId": {"value": mark.number}} if len(world.rows) % 3 else {}  # not every row gives it
        return {"tags": {mark.name: {**ident, "subOperationType": doing, **value}}}

    thing = world.one("TV")
    columns = {column["columnName"]: setting() for column in _columns(world.rng, thing)}
    properties: Json = world.rng.choice(({"columns": columns}, {"columns": columns}, setting()))
    world.tell(object_modified_by_ddl=_change(thing, "ALTER", properties))


def mask(world: Warehouse) -> None:
    """A masking policy set on columns, or unset."""
    thing, policy = world.one("TV"), world.one("M")
    doing = world.rng.choice(("ADD", "ADD", "DROP"))
    said = {policy.name: {"objectId": {"value": policy.number}, "subOperationType": doing}}
    columns = {column["columnName"]: {"maskingPolicies": said} for column in _columns(world.rng, thing)}
    world.tell(object_modified_by_ddl=_change(thing, "ALTER", {"columns": columns}))


def renew(world: Warehouse) -> None:
    """A table is made anew under a name of its own and swapped in, or takes the name of the one that is dropped."""
    old = world.one("T")
    number = 100 + len(world.history)
    new = Thing("T", number, f"{old.name}_NEW")
    source = world.one("T")
    world.tell(
        **_read(world, [source]),
        objects_modified=[_written(world, new, source)],
        object_modified_by_ddl=_change(new, "CREATE", {}),
    )
    place = world.things["T"].index(old)
    world.tell(object_modified_by_ddl=_change(old, "DROP", {}))
    world.tell(object_modified_by_ddl=_change(new, "ALTER", {"objectName": {"value": old.name}}))
    world.things["T"][place] = Thing("T", number, old.name)


def alter_columns(world: Warehouse) -> None:
    """A column dropped, renamed or added; nothing else goes on at that time, for the table is locked."""
    table = world.one("T")
    kept, gone = world.rng.choice(table.columns), [name for name in COLUMNS if name not in table.columns]
    if gone and world.rng.random() < 0.5:
        said: Json = {gone[0]: {"subOperationType": "ADD"}}
        table.columns.append(gone[0])
    elif gone and world.rng.random() < 0.5:
        said = {kept: {"subOperationType": "ALTER", "objectName": {"value": gone[0]}}}
        table.columns[table.columns.index(kept)] = gone[0]
    elif len(table.columns) == 1:
        return
    else:
        said = {kept: {"subOperationType": "DROP"}}
        table.columns.remove(kept)
    world.now += timedelta(seconds=30)
    world.tell(object_modified_by_ddl=_change(table, "ALTER", {"columns": said}))
    world.now += timedelta(seconds=30)


def policy(world: Warehouse) -> None:
    operation = world.rng.choice(("CREATE", "ALTER", "ALTER", "REPLACE", "DROP", "UNDROP"))
    said = {} if operation in {"DROP", "UNDROP"} else {"policyBody": {"value": f"val || '{world.rng.randint(1, 3)}'"}}
    world.tell(object_modified_by_ddl=_change(world.one("MR"), operation, said))


def call(world: Warehouse) -> None:
    """A procedure: what it runs has it for a parent, once in a while by way of another procedure."""
    called = [{"objectDomain": "PROCEDURE", "objectName": "DB.S.P", "argumentSignature": "()"}]
    root = parent = world.tell(direct_objects_accessed=called, base_objects_accessed=called)["query_id"]
    for _ in range(world.rng.randint(1, 2)):
        told = len(world.rows)
        world.rng.choice((select, insert, load))(world)
        world.rows[told] |= {"parent_query_id": parent, "root_query_id": root}
        parent = world.rng.choice((root, world.rows[told]["query_id"]))


STATEMENTS: Final[tuple[Callable[[Warehouse], None], ...]] = (
    *(select,) * 5, *(insert,) * 7, *(load,) * 2, *(create_as,) * 2, *(rename,) * 2,
    join, unload, put, replace, drop, *(swap,) * 2, tag, mask, policy, call, renew, *(alter_columns,) * 2,
)  # fmt: skip


def take(world: Warehouse) -> None:
    """A table is created under the name of another: CREATE OR REPLACE has a new id, no DROP. Now and then the new one
    is temporary, and the other is there again.
    """
    old, source = world.one("T"), world.one("TV")
    new = Thing("T", 200 + len(world.rows), old.name)
    world.tell(
        **_read(world, [source]),
        objects_modified=[_written(world, new, source)],
        object_modified_by_ddl=_change(new, world.rng.choice(("CREATE", "REPLACE")), {}),
    )
    place = world.things["T"].index(old)
    world.things["T"][place] = new
    if world.rng.random() < 0.3:
        for _ in range(world.rng.randint(0, 2)):
            world.rng.choice(STATEMENTS)(world)
        if new in world.things["T"]:
            world.things["T"][world.things["T"].index(new)] = old


def review(world: Warehouse) -> None:
    """A view is created again over another table: under its id, or (CREATE OR REPLACE) under a new one. Now and then it
    is dropped first, and now and then restored.
    """
    old = world.one("V")
    if world.rng.random() < 0.3:
        world.tell(object_modified_by_ddl=_change(old, "DROP", {}))
        if world.rng.random() < 0.3:
            world.tell(object_modified_by_ddl=_change(old, "UNDROP", {}))
            return
    number = old.number if world.rng.random() < 0.5 else 300 + len(world.rows)
    new = Thing("V", number, old.name, over=world.rng.randrange(len(world.things["T"])))
    world.tell(object_modified_by_ddl=_change(new, world.rng.choice(("CREATE", "REPLACE")), {}))
    world.things["V"][world.things["V"].index(old)] = new


def spell(world: Warehouse) -> None:
    """The same name, spelled otherwise."""
    thing = world.one("T")
    parts = thing.name.replace('"', "").split(".")
    thing.name = world.rng.choice((".".join(parts), ".".join([*parts[:2], f'"{parts[2]}"']), ".".join(parts).lower()))


def mask_tag(world: Warehouse) -> None:
    """A masking policy set on a tag, or unset: it is on every column with the tag."""
    mark, policy = world.one("G"), world.one("M")
    said = {
        policy.name: {
            "objectId": {"value": policy.number},
            "subOperationType": world.rng.choice(("ADD", "ADD", "DROP")),
        }
    }
    world.tell(object_modified_by_ddl=_change(mark, "ALTER", {"maskingPolicies": said}))


def withdraw(world: Warehouse) -> None:
    """A tag or a masking policy is dropped and, most times, brought back after other statements; or made anew."""
    thing = world.one("GM")
    world.tell(object_modified_by_ddl=_change(thing, "DROP", {}))
    for _ in range(world.rng.randint(1, 4)):
        world.rng.choice((select, insert, unmask))(world)
    ends = world.rng.random()
    if ends < 0.9:
        world.tell(object_modified_by_ddl=_change(thing, "UNDROP" if ends < 0.8 else "REPLACE", {}))


def unmask(world: Warehouse) -> None:
    """A column is masked, copied, and no longer masked; the copy is read before and after that, by two names."""
    source, target = world.rng.sample(world.things["T"], 2)
    column, policy = world.rng.choice(source.columns), world.one("M")

    def masked(doing: str) -> Json:
        said = {policy.name: {"objectId": {"value": policy.number}, "subOperationType": doing}}
        return _change(source, "ALTER", {"columns": {column: {"maskingPolicies": said}}})

    into = world.rng.choice(target.columns)
    written = target.with_columns([{"columnName": into, "directSources": [{**source.shown(), "columnName": column}]}])
    read = source.with_columns([{"columnName": column}])
    world.tell(object_modified_by_ddl=masked("ADD"))
    world.tell(direct_objects_accessed=[read], base_objects_accessed=[read], objects_modified=[written])
    for doing in world.rng.choice(((None, "DROP", None), ("DROP", None), (None, "DROP"))):
        if doing:
            world.tell(object_modified_by_ddl=masked(doing))
            rename_to(world, target, f"DB.S.{target.letter}{len(world.rows)}")
        else:
            copy = target.with_columns([{"columnName": into}])
            world.tell(direct_objects_accessed=[copy], base_objects_accessed=[copy])


def protect(world: Warehouse) -> None:
    """A masked column is copied, into another table or its own; the copy gets another name, or a mask of its own, and
    is read.
    """
    source, target = world.one("T"), world.one("T")
    column, policy, into = world.rng.choice(source.columns), world.one("M"), world.rng.choice(target.columns)
    said = {policy.name: {"objectId": {"value": policy.number}, "subOperationType": "ADD"}}
    written = target.with_columns([{"columnName": into, "directSources": [{**source.shown(), "columnName": column}]}])
    read = source.with_columns([{"columnName": column}])
    world.tell(object_modified_by_ddl=_change(source, "ALTER", {"columns": {column: {"maskingPolicies": said}}}))
    world.tell(direct_objects_accessed=[read], base_objects_accessed=[read], objects_modified=[written])
    if world.rng.random() < 0.6:
        new = world.rng.choice([name for name in (*COLUMNS, "NEW") if name not in target.columns])
        world.now += timedelta(seconds=30)
        renaming = {into: {"subOperationType": "ALTER", "objectName": {"value": new}}}
        world.tell(object_modified_by_ddl=_change(target, "ALTER", {"columns": renaming}))
        world.now += timedelta(seconds=30)
        target.columns[target.columns.index(into)] = into = new
    else:
        world.tell(object_modified_by_ddl=_change(target, "ALTER", {"columns": {into: {"maskingPolicies": said}}}))
    copy = target.with_columns([{"columnName": into}])
    world.tell(direct_objects_accessed=[copy], base_objects_accessed=[copy])


def rename_to(world: Warehouse, table: Thing, name: str) -> None:
    world.tell(object_modified_by_ddl=_change(table, "ALTER", {"objectName": {"value": name}}))
    table.name = name


ENDING: Final = (truncate, *(take,) * 2, spell, mask_tag, tag, *(unmask,) * 2, withdraw, *(protect,) * 2)
"""Statements that end data in ways of their own."""


def history(
    seed: int, statements: int, also: Sequence[Callable[[Warehouse], None]] = ()
) -> tuple[list[Json], list[Json]]:
    """The rows of about so many statements, in the order of their delivery, and their lines of QUERY_HISTORY. ``also``:
    statements that are drawn among the others.
    """
    world = Warehouse.build(Random(seed))
    for _ in range(statements):
        world.rng.choice((*STATEMENTS, *also))(world)
    world.rows += [dict(world.rng.choice(world.rows))]
    world.rng.shuffle(world.rows)
    return world.rows, world.history
