"""The facts that an export writes as Parquet, compared with the rows."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from functools import cache
from itertools import pairwise
from typing import Any, Final

import pytest

from exporter.model.fact_tables import FACTS
from tests import exports
from tests.model.told import KEYS, queries_of, tables

OF_THINGS: Final = {
    "objects": ("account", "object_key"),
    "names": ("account", "object_key", "name", "valid_from"),
    "columns": ("account", "object_key", "column_name"),
}
Fact = dict[str, Any]


@cache
def table(name: str) -> list[Fact]:
    return exports.facts(exports.everything(), name)


@cache
def told() -> dict[str, list[Fact]]:
    """The facts of the queries as they are in memory; what they should be, tests/queries says."""
    return tables(queries_of(exports.all_rows()))


@pytest.mark.parametrize("name", FACTS)
def test_a_table_has_the_columns_of_its_schema_and_one_row_a_key(name: str) -> None:
    facts = table(name)
    assert facts, "the rows have all kinds of facts"
    assert all(tuple(fact) == tuple(FACTS[name]) for fact in facts)
    keys = [tuple(str(fact[column]) for column in {**KEYS, **OF_THINGS}[name]) for fact in facts]
    assert len(keys) == len(set(keys))
    needed = [column for column, kind in FACTS[name].items() if kind.endswith("not null")]
    assert not [fact for fact in facts for column in needed if fact[column] is None]


@pytest.mark.parametrize("name", [name for name in FACTS if name not in OF_THINGS])
def test_a_table_has_the_facts_of_the_queries(name: str) -> None:
    assert as_texts(name, table(name)) == as_texts(name, told()[name])


def as_texts(name: str, facts: list[Fact]) -> list[str]:
    times = [column for column, kind in FACTS[name].items() if kind.startswith("timestamp")]
    return sorted(json.dumps({**fact, **{one: utc(fact[one]) for one in times}}, sort_keys=True) for fact in facts)


def utc(time: str | datetime | None) -> str | None:
    moment = datetime.fromisoformat(time) if isinstance(time, str) else time
    return None if moment is None else (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).isoformat()


def test_every_object_and_column_that_a_fact_names_is_described() -> None:
    objects = {(fact["account"], fact["object_key"]) for fact in table("objects")}
    columns = {(fact["account"], fact["object_key"], fact["column_name"]) for fact in table("columns")}
    for name in ("accesses", "writes", "derivations", "policy_references", "joins", "ddl_changes"):
        assert {(fact["account"], fact["object_key"]) for fact in table(name)} <= objects, name
    for fact in table("accesses") + table("writes"):
        listed = {one["column_name"] for one in fact["columns"]}
        assert {(fact["account"], fact["object_key"], one) for one in listed} <= columns


def test_names_follow_each_other_and_none_that_was_seen_is_lost() -> None:
    held: dict[tuple[str, str], list[Fact]] = {}
    for fact in table("names"):
        held.setdefault((fact["account"], fact["object_key"]), []).append(fact)
    for facts in held.values():
        facts.sort(key=lambda fact: (fact["valid_from"], fact["valid_until"] is None, fact["valid_until"]))
        for fact, following in pairwise(facts):
            assert fact["valid_until"] is not None
            assert fact["valid_until"] <= following["valid_from"]  # earlier: another object took the name
        assert all(fact["valid_from"] <= fact["last_seen"] for fact in facts)
    called = {(*owner, fact["name"]) for owner, facts in held.items() for fact in facts}
    of_queries = [fact for name, facts in told().items() if name != "ddl_settings" for fact in facts]
    seen = {(fact["account"], fact.get("object_key"), fact.get("object_name")) for fact in of_queries}
    assert {one for one in seen if one[2] is not None} <= called
