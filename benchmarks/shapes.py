"""Job shapes: a statement that recurs, with the columns of its row as JSON text; it is made once, and again after a
rename.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from benchmarks.account import SENSITIVE, Account, Json, Relation, function, policy, procedure, stage

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

JOINS: Final = ("INNER_JOIN", "LEFT_OUTER_JOIN", "LEFT_OUTER_JOIN", "FULL_OUTER_JOIN")
ARRAYS: Final = ("direct_objects_accessed", "base_objects_accessed", "objects_modified", "policies_referenced")
HOT_WRITES: Final = 0.21
"""The part of the writes that goes into the hot table: a twentieth of the rows of such a mix."""
CUT: Final = [{"columnId": -1, "columnName": "TRUNCATED"}]


class Shape:
    """One job: its statement type, who runs it, its row. ``make`` gives the row's arrays from the present names."""

    def __init__(self, kind: str, users: list[str], relations: list[Relation], make: Callable[[], Json]) -> None:
        self.kind, self.users, self._make = kind, users, make
        self._text: str | None = None
        self._relations = relations
        for relation in relations:
            relation.shapes.append(self)

    def text(self) -> str:
        """The columns between user_name and parent_query_id, as JSON without the braces."""
        if self._text is None:
            made = self._make()
            columns = {
                **{name: made.pop(name, []) for name in ARRAYS[:3]},
                "object_modified_by_ddl": made.pop("ddl", None),
            }
            columns |= {"policies_referenced": made.pop("policies_referenced", []), **made}
            self._text = json.dumps(columns, separators=(",", ":"))[1:-1]
        return self._text

    def renamed(self) -> None:
        self._text = None

    def forget(self) -> None:
        """It does not recur, so it need not be updated after renames."""
        for relation in self._relations:
            relation.shapes.remove(self)


def _some(rng: Random, columns: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(rng.sample(columns, max(1, min(len(columns), int(rng.triangular(1, len(columns) + 1, 6))))))


def _bases(read: list[tuple[Relation, tuple[str, ...]]]) -> list[tuple[Relation, tuple[str, ...]]]:
    """The tables behind what is read, with the columns of the same names (or the first, as a filter would read)."""
    below: dict[Relation, dict[str, None]] = {}
    for relation, columns in read:
        for table in relation.tables():
            wanted = [column for column in columns if column in table.columns] or [table.columns[0]]
            below.setdefault(table, {}).update(dict.fromkeys(wanted))
    return [(table, tuple(columns)) for table, columns in below.items()]


def accesses(read: list[tuple[Relation, tuple[str, ...]]], join: str = "") -> Json:
    """Direct and base accesses of a read and the policies on the tables below."""
    direct = [relation.read(columns) for relation, columns in read]
    if join and len(read) > 1:
        direct[0]["joinObjects"] = [{"joinType": join, "node": read[1][0].identity()}]
    below = _bases(read)
    policies = [element for table, columns in below if len(element := _enforced(table, columns)) > 3]
    base = [table.read(columns) for table, columns in below]
    return {"direct_objects_accessed": direct, "base_objects_accessed": base, "policies_referenced": policies}


def _enforced(table: Relation, columns: tuple[str, ...]) -> Json:
    masked = [
        {"columnId": table.column_id(c), "columnName": c, "policies": [policy("MASKING_POLICY", SENSITIVE.index(c))]}
        for c in columns
        if table.masked and c in SENSITIVE
    ]
    own = {"policies": [policy("ROW_ACCESS_POLICY", 100)]} if table.filtered else {}
    return {**({"columns": masked} if masked else {}), **table.identity(), **own}


def lineage(
    target: Relation, columns: tuple[str, ...], read: list[tuple[Relation, tuple[str, ...]]], via: Json | None
) -> Json:
    """A write: each column from one column that is read, directly and from the table behind it."""
    element = target.read(columns)
    for place, column in enumerate(element["columns"]):
        source, names = read[place % len(read)]
        name = names[place % len(names)]
        table = next((t for t in source.tables() if name in t.columns), source)
        direct = [{"columnName": name, **source.identity()}, *([via] if via and place == 0 else [])]
        column |= {"baseSources": [{"columnName": name, **table.identity()}], "directSources": direct}
    return element


# --- one function per kind of job: from the account and chance to a shape -------------------------------------------


def _picked(rng: Random, account: Account, count: int) -> list[tuple[Relation, tuple[str, ...]]]:
    """Views or tables to read; a hot table, if any, is the first of them and behind every view."""
    pool = account.views if rng.random() < 0.6 else account.tables
    chosen = rng.sample(pool, min(count, len(pool)))
    if account.hot and pool is account.tables:
        chosen = [account.hot, *(table for table in chosen[1:] if table is not account.hot)]
    return _with_columns(rng, chosen)


def _with_columns(rng: Random, chosen: list[Relation]) -> list[tuple[Relation, tuple[str, ...]]]:
    return [(relation, _some(rng, relation.columns)) for relation in chosen]


def _users(rng: Random, account: Account) -> list[str]:
    return [rng.choice(account.users) for _ in range(rng.choice((1, 1, 2, 4)))]


def _involved(read: list[tuple[Relation, tuple[str, ...]]], *more: Relation) -> list[Relation]:
    return list(dict.fromkeys([table for relation, _ in read for table in (relation, *relation.tables())] + list(more)))


def select(rng: Random, account: Account) -> Shape:
    read, join = _picked(rng, account, rng.choice((1, 1, 1, 2, 3))), rng.choice(JOINS)
    return Shape("SELECT", _users(rng, account), _involved(read), lambda: accesses(read, join))


def agent_select(rng: Random, account: Account) -> Shape:
    read, agent = (
        _picked(rng, account, 1),
        {"agentType": "CORTEX_AGENT", "agentId": 42, "agentName": "OPS.AGENTS.ASSISTANT"},
    )
    return Shape("SELECT", _users(rng, account), _involved(read), lambda: {**accesses(read), "agents_info": [agent]})


def udf_select(rng: Random, account: Account) -> Shape:
    read, called = _picked(rng, account, 1), function(rng.randrange(account.functions))

    def make() -> Json:
        made = accesses(read)
        return {**made, **{name: [called, *made[name]] for name in ARRAYS[:2]}}

    return Shape("SELECT", _users(rng, account), _involved(read), make)


def write(rng: Random, account: Account, targets: int = 1, via: Json | None = None) -> Shape:
    """INSERT, MERGE or CTAS; one in twenty reads its own target."""
    read = _picked(rng, account, rng.choice((1, 1, 2)))
    others = account.others()
    into = _with_columns(rng, rng.sample(others, min(targets, len(others))))
    if account.hot:
        if rng.random() < HOT_WRITES:
            read, into = into[:1], _with_columns(rng, [account.hot])
    elif rng.random() < 0.05:
        read = [into[0], *read[1:]]
    kind = "MULTI_TABLE_INSERT" if targets > 1 else rng.choice(("INSERT", "MERGE", "CREATE_TABLE_AS_SELECT", "UPDATE"))

    def make() -> Json:
        modified = [lineage(table, columns, read, via) for table, columns in into]
        created = into[0][0] if kind == "CREATE_TABLE_AS_SELECT" else None
        ddl = {"ddl": create_ddl(created, "REPLACE")} if created else {}
        return {**accesses(read, "LEFT_OUTER_JOIN"), "objects_modified": modified, **ddl}

    return Shape(kind, _users(rng, account), _involved(read, *(table for table, _ in into)), make)


def create_ddl(table: Relation, operation: str) -> Json:
    columns = {c: {"objectId": {"value": table.column_id(c)}, "subOperationType": "ADD"} for c in table.columns}
    return {**table.identity(), "operationType": operation, "properties": {"columns": columns}}


def multi_write(rng: Random, account: Account) -> Shape:
    return write(rng, account, rng.choice((2, 2, 3)))


def udf_write(rng: Random, account: Account) -> Shape:
    return write(rng, account, via=function(rng.randrange(account.functions)))


def _between(
    kind: str, users: list[str], table: Relation | None, reads: Callable[[], Json], writes: Callable[[], Json]
) -> Shape:
    def make() -> Json:
        source = reads()
        return {"direct_objects_accessed": [source], "base_objects_accessed": [source], "objects_modified": [writes()]}

    return Shape(kind, users, [table] if table else [], make)


def load(rng: Random, account: Account) -> Shape:
    table, source = rng.choice(account.tables), stage(rng.randrange(account.stages))
    return _between("COPY", _users(rng, account)[:1], table, lambda: source, lambda: table.read(table.columns))


def unload(rng: Random, account: Account) -> Shape:
    table, target = account.hot or rng.choice(account.tables), stage(rng.randrange(account.stages))
    return _between("UNLOAD", _users(rng, account)[:1], table, lambda: table.read(table.columns), lambda: target)


def put(rng: Random, account: Account) -> Shape:
    file, target = (
        {"location": f"file:///data/in/file_{rng.randrange(500)}.csv"},
        stage(4 * rng.randrange(account.stages)),
    )
    return _between("PUT_FILES", _users(rng, account)[:1], None, lambda: file, lambda: target)


def get(rng: Random, account: Account) -> Shape:
    folder, source = {"location": f"file:///data/out/{rng.randrange(50)}/"}, stage(4 * rng.randrange(account.stages))
    return _between("GET_FILES", _users(rng, account)[:1], None, lambda: source, lambda: folder)


def iceberg(rng: Random, account: Account) -> Shape:
    read = _picked(rng, account, 1)
    call = {
        "event_source": "horizon_irc",
        "additional_properties": {"irc_event_type": rng.choice(("LoadTable", "PlanTableScan"))},
    }
    return Shape("CALL", _users(rng, account), _involved(read), lambda: {**accesses(read), **call})


def call(rng: Random, account: Account) -> Shape:
    """CALL of a procedure; the statements inside are rows of their own."""
    called = [procedure(rng.randrange(account.procedures))]
    made: Json = {"direct_objects_accessed": called, "base_objects_accessed": called}
    return Shape("CALL", _users(rng, account)[:1], [], lambda: dict(made))


def truncated(rng: Random, account: Account) -> Shape:
    """A write too large for the view: column lineage is truncated first, then columns of policies and base accesses."""
    whole, phase = write(rng, account), rng.choice((1, 2, 3, 4))
    inner = whole._make
    cut = ("objects_modified", "policies_referenced", "base_objects_accessed", "direct_objects_accessed")[:phase]

    def make() -> Json:
        made = inner()
        return made | {name: [{**e, "columns": CUT} if "columns" in e else e for e in made[name]] for name in cut}

    whole._make = make
    return whole
