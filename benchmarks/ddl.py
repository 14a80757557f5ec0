"""DDL of the synthetic account. A rename or swap changes the account: later rows show the new names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from benchmarks.account import SENSITIVE, Account, Json, Relation
from benchmarks.shapes import create_ddl

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

TAGS: Final = ("GOVERNANCE.TAGS.PII", "GOVERNANCE.TAGS.OWNER", "GOVERNANCE.TAGS.COST_CENTER")
VALUES: Final = ("sensitive", "internal", "public", "team-a", "team-b")


def alter(table: Relation, properties: Json) -> Json:
    return {**table.identity(), "operationType": "ALTER", "properties": properties}


def _tags(rng: Random) -> Json:
    number = rng.randrange(len(TAGS))
    said: Json = {"subOperationType": rng.choice(("ADD", "ADD", "DROP")), "objectId": {"value": 600_000 + number}}
    value = {"tagValue": {"value": rng.choice(VALUES)}} if said["subOperationType"] == "ADD" else {}
    return {"tags": {TAGS[number]: {**said, **value}}}


def create(rng: Random, account: Account) -> list[Json]:
    return [create_ddl(rng.choice(account.tables), rng.choice(("REPLACE", "REPLACE", "CREATE")))]


def tag(rng: Random, account: Account) -> list[Json]:
    table = rng.choice(account.tables)
    on_column = {"columns": {rng.choice(table.columns): _tags(rng)}}
    return [alter(table, rng.choice((_tags(rng), on_column)))]


def mask(rng: Random, account: Account) -> list[Json]:
    number = rng.randrange(len(SENSITIVE))
    said = {"subOperationType": rng.choice(("ADD", "ADD", "DROP")), "objectId": {"value": 700_000 + number}}
    set_on = {SENSITIVE[number]: {"maskingPolicies": {f"GOVERNANCE.POLICIES.MASK_{number}": said}}}
    return [alter(rng.choice(account.tables), {"columns": set_on})]


def filter_rows(rng: Random, account: Account) -> list[Json]:
    said = {"subOperationType": rng.choice(("ADD", "DROP")), "objectId": {"value": 700_100}}
    return [alter(rng.choice(account.tables), {"rowAccessPolicies": {"GOVERNANCE.POLICIES.FILTER_100": said}})]


def policy_body(rng: Random, account: Account) -> list[Json]:
    number = rng.randrange(len(SENSITIVE))
    roles = ", ".join(f"'ROLE_{rng.randrange(20)}'" for _ in range(rng.randint(1, 4)))
    body = f"case when current_role() in ({roles}) then val else '*****' end"
    identity = {"objectDomain": "MASKING_POLICY", "objectName": f"GOVERNANCE.POLICIES.MASK_{number}"}
    changed = {"operationType": "ALTER", "properties": {"policyBody": {"value": body}}}
    return [{**identity, "objectId": 700_000 + number, **changed}]


def comment(rng: Random, account: Account) -> list[Json]:
    return [alter(rng.choice(account.tables), {"comment": {"value": f'owner: "team {rng.randrange(30)}"\nreviewed'}})]


def add_column(rng: Random, account: Account) -> list[Json]:
    table = rng.choice(account.tables)
    said = {"objectId": {"value": table.first_column_id + 90}, "subOperationType": rng.choice(("ADD", "DROP"))}
    return [alter(table, {"columns": {f"EXTRA_{rng.randrange(9)}": said}})]


def drop_and_undrop(rng: Random, account: Account) -> list[Json]:
    """Two statements: the table is dropped and restored."""
    identity = rng.choice(account.tables).identity()
    return [{**identity, "operationType": operation, "properties": {}} for operation in ("DROP", "UNDROP")]


def rename(rng: Random, account: Account) -> list[Json]:
    table = rng.choice(account.tables)
    plain = table.name.removesuffix("_OLD")
    new = plain if plain != table.name or plain.endswith('"') else f"{plain}_OLD"
    change = alter(table, {"objectName": {"value": new}})
    _call(table, new)
    return [change]


def _call(table: Relation, name: str) -> None:
    table.name = name
    for shape in table.shapes:
        shape.renamed()


def swap(rng: Random, account: Account) -> list[Json]:
    """One statement, two rows: the names are exchanged, the ids stay."""
    pair = rng.sample(account.tables, 2)
    one, other = (table.identity() for table in pair)
    _call(pair[0], other["objectName"])
    _call(pair[1], one["objectName"])
    return [_swapped(one, other), _swapped(other, one)]


def _swapped(one: Json, other: Json) -> Json:
    target = {f"swapTarget{key}": {"value": other[f"object{key}"]} for key in ("Domain", "Id", "Name")}
    return {**one, "operationType": "ALTER", "properties": target}


KINDS: Final[dict[Callable[[Random, Account], list[Json]], float]] = {
    create: 0.30,
    tag: 0.20,
    mask: 0.10,
    filter_rows: 0.03,
    policy_body: 0.05,
    comment: 0.12,
    add_column: 0.10,
    drop_and_undrop: 0.05,
    rename: 0.03,
    swap: 0.02,
}
"""Kinds of DDL with their share."""
