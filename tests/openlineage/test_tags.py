"""The tags of outputs, against a plain reading of drawn statements: after each of them an output has the tags that are
set on its object then, and a name that is given up has none.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final

import pytest

from tests.openlineage import told

Json = dict[str, Any]
Tags = dict[tuple[str | None, str], str]
"""Column (None: the table) and tag -> value."""
COLUMNS: Final = ("A", "B", "C")
TAGS: Final = ("OWNER", "PII")


@dataclass
class Table:
    """A table as it is now. ``is_dropped``: whether only an UNDROP brings it back."""

    number: int
    columns: set[str] = field(default_factory=lambda: {"A", "B"})
    tags: Tags = field(default_factory=dict)
    is_dropped: bool = False


class Account:
    """Draws statements on two names, and keeps what they do. ``rows``; ``expected``: query id -> name -> tags of the
    output, None for an output without the facet.
    """

    def __init__(self, seed: int) -> None:
        self.rng, self.rows, self.expected = Random(seed), list[Json](), dict[str, dict[str, set[Any] | None]]()
        self.names = {"T": Table(1), "U": Table(2)}
        self.gone: set[str] = set()
        """Tags that are dropped."""
        self.tag_ids = dict(zip(TAGS, range(90, 90 + len(TAGS)), strict=True))
        self.is_schema_gone = False
        """Whether the schema of the tags is dropped."""
        self.made = 2

    def draw(self, count: int) -> None:
        kinds = [
            self.write,
            self.write,
            self.write,
            self.tag,
            self.tag,
            self.tag,
            self.untag,
            self.column,
            self.rename_column,
            self.rename,
            self.swap,
        ]
        kinds += [self.drop, self.replace, self.drop_tag, self.drop_schema, self.replace_tag]
        for _ in range(count):
            self.rng.choice(kinds)()

    # --- statements -------------------------------------------------------------------------------------------------

    def write(self) -> None:
        name, table = self.any()
        columns = [{"columnName": one} for one in sorted(table.columns)]
        self.row({name: self.now(table) or None}, objects_modified=[{**self.thing(name), "columns": columns}])

    def tag(self) -> None:
        name, table = self.any()
        column, tag = self.rng.choice([None, *sorted(table.columns)]), self.rng.choice(TAGS)
        value = self.rng.choice(("x", "y"))
        if tag in self.gone or self.is_schema_gone:
            return
        table.tags[column, tag] = value
        self.set_tag(name, table, column, tag, {"subOperationType": "ADD", "tagValue": {"value": value}})

    def untag(self) -> None:
        name, table = self.any()
        held = [key for key in table.tags if key[1] not in self.gone]
        if held and not self.is_schema_gone:
            column, tag = self.rng.choice(held)
            del table.tags[column, tag]
            self.set_tag(name, table, column, tag, {"subOperationType": "DROP"})

    def set_tag(self, name: str, table: Table, column: str | None, tag: str, said: Json) -> None:
        tags = {"tags": {f"G.T.{tag}": {"objectId": {"value": self.tag_ids[tag]}, **said}}}
        on = tags if column is None else {"columns": {column: {"objectId": {"value": 7}, **tags}}}
        self.alter({name: self.now(table)}, name, **on)

    def column(self) -> None:
        name, table = self.any()
        column = self.rng.choice(COLUMNS)
        operation = "DROP" if column in table.columns else "ADD"
        table.columns ^= {column}
        table.tags = {key: value for key, value in table.tags.items() if key[0] != column}
        changed = {column: {"objectId": {"value": 7}, "subOperationType": operation}}
        self.alter({name: self.now(table) or None}, name, columns=changed)

    def rename_column(self) -> None:
        name, table = self.any()
        free = [one for one in COLUMNS if one not in table.columns]
        if not free or not table.columns:
            return
        former, new = self.rng.choice(sorted(table.columns)), free[0]
        table.columns ^= {former, new}
        table.tags = {(new if on == former else on, tag): value for (on, tag), value in table.tags.items()}
        changed = {former: {"objectId": {"value": 7}, "objectName": {"value": new}}}
        self.alter({name: self.now(table) or None}, name, columns=changed)

    def rename(self) -> None:
        name, table = self.any()
        new = f"{name[0]}{len(self.rows)}"
        del self.names[name]
        self.names[new] = table
        said = {**self.thing(name, table), "operationType": "ALTER"}
        self.row(
            {new: self.now(table) or None, name: None},
            object_modified_by_ddl={**said, "properties": {"objectName": {"value": f"DB.S.{new}"}}},
        )

    def swap(self) -> None:
        (name, table), (other, partner) = self.names.items()
        if table.is_dropped or partner.is_dropped:
            return
        self.names = {name: partner, other: table}
        said = {"Domain": "Table", "Id": partner.number, "Name": f"DB.S.{other}"}
        self.row(
            {name: self.now(partner) or None, other: self.now(table) or None},
            object_modified_by_ddl={
                **self.thing(name, table),
                "operationType": "ALTER",
                "properties": {f"swapTarget{key}": {"value": value} for key, value in said.items()},
            },
        )

    def drop(self) -> None:
        name, table = self.any()
        self.ddl({name: None}, name, "DROP")
        table.is_dropped = True
        if self.rng.random() < 0.5:
            table.is_dropped = False
            self.ddl({name: self.now(table) or None}, name, "UNDROP")
        else:
            self.create(name, "CREATE")

    def replace(self) -> None:
        self.create(self.any()[0], "REPLACE")

    def create(self, name: str, operation: str) -> None:
        self.made += 1
        self.names[name] = Table(self.made)
        changed = {one: {"objectId": {"value": 7}, "subOperationType": "ADD"} for one in ("A", "B")}
        self.ddl({name: None}, name, operation, columns=changed)

    def drop_tag(self) -> None:
        tag = self.rng.choice(TAGS)
        if self.is_schema_gone:
            return
        operation = "UNDROP" if tag in self.gone else "DROP"
        self.gone ^= {tag}
        self.of_tag(tag, operation)

    def replace_tag(self) -> None:
        """Another tag has the name from then on, and is set on nothing."""
        tag = self.rng.choice(TAGS)
        if self.is_schema_gone:
            return
        operation = "CREATE" if tag in self.gone else "REPLACE"
        self.gone -= {tag}
        self.tag_ids[tag] += len(TAGS)
        for table in self.names.values():
            table.tags = {key: value for key, value in table.tags.items() if key[1] != tag}
        self.of_tag(tag, operation)

    def of_tag(self, tag: str, operation: str) -> None:
        said = {"objectDomain": "Tag", "objectId": self.tag_ids[tag], "objectName": f"G.T.{tag}"}
        self.row({}, object_modified_by_ddl={**said, "operationType": operation, "properties": {}})

    def drop_schema(self) -> None:
        operation = "UNDROP" if self.is_schema_gone else "DROP"
        self.is_schema_gone = not self.is_schema_gone
        said = {"objectDomain": "Schema", "objectId": 70, "objectName": "G.T"}
        self.row({}, object_modified_by_ddl={**said, "operationType": operation, "properties": {}})

    # --- rows -------------------------------------------------------------------------------------------------------

    def any(self) -> tuple[str, Table]:
        return self.rng.choice(list(self.names.items()))

    def now(self, table: Table) -> set[Any]:
        if self.is_schema_gone:
            return set()
        return {(f"G.T.{tag}", value, on) for (on, tag), value in table.tags.items() if tag not in self.gone}

    def thing(self, name: str, table: Table | None = None) -> Json:
        number = (table or self.names[name]).number
        return {"objectDomain": "Table", "objectId": number, "objectName": f"DB.S.{name}"}

    def alter(self, expected: dict[str, set[Any] | None], name: str, **properties: Any) -> None:
        self.ddl(expected, name, "ALTER", **properties)

    def ddl(self, expected: dict[str, set[Any] | None], name: str, operation: str, **properties: Any) -> None:
        said = {**self.thing(name), "operationType": operation, "properties": properties}
        self.row(expected, object_modified_by_ddl=said)

    def row(self, expected: dict[str, set[Any] | None], **said: Any) -> None:
        number = len(self.rows)
        query = f"q{number:03d}"
        start = f"2026-03-01T{number // 60:02d}:{number % 60:02d}:00Z"
        self.rows.append({"query_id": query, "query_start_time": start, "user_name": "U", **said})
        self.expected[query] = {f"DB.S.{name}": tags for name, tags in expected.items()}


def shown(event: Json) -> dict[str, set[Any] | None]:
    facets = {output["name"]: output["facets"].get("tags") for output in event["outputs"]}
    return {
        name: facet and {(tag["key"], tag["value"], tag.get("field")) for tag in facet["tags"]}
        for name, facet in facets.items()
    }


def found_of(account: Account) -> dict[str, dict[str, set[Any] | None]]:
    """As :attr:`Account.expected`, from the events."""
    events = [json.loads(text) for text in told.texts(account.rows)]
    ended = [event for event in events if event.get("eventType") == "COMPLETE"]
    return {event["run"]["facets"]["externalQuery"]["externalQueryId"]: shown(event) for event in ended}


@pytest.mark.parametrize("seed", range(20))
def test_after_each_statement_an_output_has_the_tags_that_hold_then(seed: int) -> None:
    account = Account(seed)
    account.draw(120)
    account.rng.shuffle(account.rows)
    found = found_of(account)
    assert found == account.expected
    assert sum(bool(tags) for each in found.values() for tags in each.values()) > 0


def altered(account: Account, expected: set[Any] | None, column: str | None, tag: str, **of_tag: Any) -> None:
    of_tag = {"subOperationType": "ADD", "objectId": {"value": 501}, **of_tag}
    said = {"tags": {tag: of_tag}}
    account.alter({"T": expected}, "T", **(said if column is None else {"columns": {column: said}}))


@pytest.mark.parametrize("column", [None, "A"])
def test_a_tag_whose_name_was_cut_has_the_name_with_which_it_was_set_before(column: str | None) -> None:
    """docs/input.md, "Rows that Snowflake truncated": it is known by its id."""
    account = Account(0)
    low, high = ({("DB.S.PII", value, column)} for value in ("low", "high"))
    altered(account, low, column, "DB.S.PII", tagValue={"value": "low"})
    altered(account, high, column, "TRUNCATED", tagValue={"value": "high"})
    altered(account, high, column, "TRUNCATED", tagValue={"value": "high"})
    written = {**account.thing("T"), "columns": [{"columnName": "A"}]}
    account.row({"T": high}, objects_modified=[written])
    altered(account, set(), column, "TRUNCATED", subOperationType="DROP")
    assert found_of(account) == account.expected


@pytest.mark.parametrize("column", [None, "A"])
def test_no_empty_list_is_said_where_a_tag_without_a_known_name_is_left(column: str | None) -> None:
    account = Account(0)
    altered(account, None, column, "TRUNCATED", tagValue={"value": "low"})
    account.row({"T": None}, objects_modified=[{**account.thing("T"), "columns": [{"columnName": "A"}]}])
    altered(account, {("DB.S.PII", "high", column)}, column, "DB.S.PII", tagValue={"value": "high"})
    assert found_of(account) == account.expected
