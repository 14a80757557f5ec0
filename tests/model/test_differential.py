"""The facts of random histories, compared with a second reading of the same rows in plain Python."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any, Final

import pytest
from hypothesis import given, settings

from exporter.model.fact_tables import FACTS
from exporter.model.profiles import add, attributes_of
from tests import golden
from tests.facts import plain_reading as plain
from tests.histories import histories, random_history
from tests.model.told import KEYS, queries_of, tables

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from exporter.model.facts import QueryFacts
    from exporter.model.object_state import Profile

Check = Callable[[list[plain.Json], "list[QueryFacts]"], None]
ELEMENTS: Final = ("subOperationType", "objectId", "tagValue", "value")


def query(fact: plain.Json | QueryFacts) -> plain.Query:
    if isinstance(fact, dict):
        return plain.Query(fact["account"], fact["query_id"])
    return plain.Query(fact.account, fact.query_id)


def same(found: Iterable[Any], expected: Iterable[Any]) -> None:
    """Both ways, with what is too many and what is missing in the failure's text."""
    found, expected = list(found), set(expected)
    assert len(found) == len(set(found)), "doubles"
    assert sorted(set(found) - expected, key=str) == []
    assert sorted(expected - set(found), key=str) == []


# --- the checks -----------------------------------------------------------------------------------------------------


def keys(_: list[plain.Json], queries: list[QueryFacts]) -> None:
    """A table has the columns of its schema, one row a key, in the order of the keys, and nothing null that may not."""
    for name, facts in tables(queries).items():
        assert all(tuple(fact) == tuple(FACTS[name]) for fact in facts)
        every = [tuple(str(fact[column] or "") for column in KEYS[name]) for fact in facts]
        assert len(every) == len(set(every))
        needed = [column for column, kind in FACTS[name].items() if kind.endswith("not null")]
        assert not [fact for fact in facts for column in needed if fact[column] is None]
    for one in queries:
        for name, facts in tables([one]).items():
            of_query = [tuple(str(fact[column] or "") for column in KEYS[name]) for fact in facts]
            assert of_query == sorted(of_query), name


def starts(rows: list[plain.Json], queries: list[QueryFacts]) -> None:
    expected = plain.starts(rows)
    found = {query(fact): plain.time(fact["query_start_time"]) for fact in tables(queries)["queries"]}
    assert found == expected


def accesses(rows: list[plain.Json], queries: list[QueryFacts]) -> None:
    found = {
        (query(one), fact.access, fact.thing.key): {(column.name, column.column_id) for column in fact.columns}
        for one in queries
        for fact in one.content.accesses
    }
    assert found == plain.accesses(rows)


def writes(rows: list[plain.Json], queries: list[QueryFacts]) -> None:
    found = {
        (query(one), fact.thing.key): {(column.name, column.column_id) for column in fact.columns}
        for one in queries
        for fact in one.content.writes
    }
    assert found == plain.writes(rows)


def derivations(rows: list[plain.Json], queries: list[QueryFacts]) -> None:
    names = ("target_key", "target_column", "source_type", "object_key", "source_column")
    facts = tables(queries).get("derivations", [])
    same(((query(fact), *(fact[name] for name in names)) for fact in facts), plain.derivations(rows))


def policies(rows: list[plain.Json], queries: list[QueryFacts]) -> None:
    """One per object or column and policy; the column's id is one of those that the rows give it."""
    facts = [(query(one), fact) for one in queries for fact in one.content.policies]
    found = [(one, fact.protected.key, fact.column_name, fact.column_id, fact.policy_key) for one, fact in facts]
    expected = plain.policies(rows)
    assert set(found) <= expected
    same({(*one[:3], one[4]) for one in found}, {(*one[:3], one[4]) for one in expected})


def joins(rows: list[plain.Json], queries: list[QueryFacts]) -> None:
    names = ("left_key", "join_type", "object_key")
    facts = tables(queries).get("joins", [])
    same(((query(fact), *(fact[name] for name in names)) for fact in facts), plain_joins(rows))


def plain_joins(rows: Iterable[plain.Json]) -> Iterator[tuple[Any, ...]]:
    for row in rows:
        for left, thing in plain.named(row.get("direct_objects_accessed")):
            for join in thing.get("joinObjects") or []:
                right = plain.key(join.get("node") or join.get("joinObject"))
                if right:
                    yield plain.query(row), left, join.get("joinType") or join.get("type"), right


def changes(rows: list[plain.Json], queries: list[QueryFacts]) -> None:
    facts = tables(queries).get("ddl_changes", [])
    found = {(query(fact), fact["object_key"], fact["operation"]) for fact in facts}
    same(found, {(one, key, (change["operationType"]).upper()) for one, key, change in plain.changes(rows)})


def elements(rows: list[plain.Json], queries: list[QueryFacts]) -> None:
    """Tags and policies that changes set and unset on objects and their columns."""
    names = ("object_key", "column_name", "property", "element", "element_key", "sub_operation", "value")
    facts = [fact for fact in tables(queries).get("ddl_settings", []) if fact["element_key"]]
    same({(query(fact), *(fact[name] for name in names)) for fact in facts}, plain_elements(rows))


def plain_elements(rows: Iterable[plain.Json]) -> Iterator[tuple[Any, ...]]:
    domains = {"tags": "TAG", "maskingPolicies": "MASKING POLICY", "rowAccessPolicies": "ROW ACCESS POLICY"}
    for one, key, change in plain.changes(rows):
        columns = change["properties"].get("columns", {})
        of_columns = [] if columns == "TRUNCATED" else [item for item in columns.items() if plain.said(item[0])]
        for column, properties in [(None, change["properties"]), *of_columns]:
            for name in domains.keys() & properties.keys():
                for element, told in properties[name].items():
                    ident = told.get("objectId", {}).get("value")
                    thing = {"objectDomain": domains[name], "objectId": plain.number(ident), "objectName": element}
                    value = told.get("tagValue", {}).get("value")
                    yield one, key, column, name, element, plain.key(thing), told["subOperationType"], value


def described(rows: list[plain.Json], queries: list[QueryFacts]) -> None:
    """Every object and column that a fact names has a profile, with every name that was seen."""
    found: dict[tuple[str, str], Profile] = {}
    for one in queries:
        assert list(add(found, one)) == sorted(_keys(one))
        assert attributes_of(one.content).names.keys() <= _keys(one)
    of_objects = [(name, facts) for name, facts in tables(queries).items() if name not in {"queries", "ddl_settings"}]
    for fact in (fact for _, facts in of_objects for fact in facts):
        profile = found[fact["account"], fact["object_key"]]
        assert fact["object_name"] is None or fact["object_name"] in profile.names
        assert fact["domain"] is None or fact["domain"] in profile.domains
        assert fact["object_id"] == profile.object_id
        assert {column["column_name"] for column in fact.get("columns", [])} <= profile.columns.keys()
    assert names_seen(rows) <= {(*key, name) for key, profile in found.items() for name in profile.names}


def _keys(one: QueryFacts) -> set[str]:
    """Of all objects that the facts name."""
    settings = [fact for fact in tables([one]).get("ddl_settings", []) if fact["element_key"]]
    named = {fact["element_key"] for fact in settings}
    for grant in (grant for change in one.content.changes for grant in change.grants):
        named |= {thing.key for thing in (grant.thing, grant.grantee) if thing is not None}
    for thing, new in ((change.thing, change.new_name) for change in one.content.changes):
        if new is not None and thing.object_id is None and thing.kind in {"stage", "stream", "table", "view"}:
            named.add(plain.key({"objectDomain": thing.domain, "objectName": new}))  # known by its name: another object
    for facts in tables([one]).values():
        for fact in facts:
            named |= {fact.get(name) for name in ("object_key", "policy_key", "swap_key", "source_key")}
    return named - {None}


def names_seen(rows: list[plain.Json]) -> set[tuple[str, str, str]]:
    """Account, object and name, wherever a row shows an object with its name."""
    arrays = (*plain.READS.values(), "objects_modified", *plain.POLICIES)
    seen = [
        (plain.query(row).account, key, thing.get("objectName"))
        for row in map(plain.with_accounts, rows)
        for name in arrays
        for key, thing in plain.named(row.get(name))
        if name not in plain.POLICIES or _protects(thing)
    ]
    seen += [(one.account, key, change.get("objectName")) for one, key, change in plain.changes(rows)]
    return {(account, key, name) for account, key, name in seen if plain.said(name)}


def _protects(thing: plain.Json) -> bool:
    return bool(thing.get("policies") or [one for one in thing.get("columns") or [] if one.get("policies")])


# --- what they look at ----------------------------------------------------------------------------------------------

CHECKS: Final = (keys, starts, accesses, writes, derivations, policies, joins, changes, elements, described)


def of_account(rows: Iterable[plain.Json], name: str) -> list[plain.Json]:
    """The rows in an account of their own."""
    return [{**row, "organization_name": "TEST", "account_name": name} for row in rows]


@given(rows=histories())
@settings(max_examples=60)
def test_facts_of_random_histories(rows: list[plain.Json]) -> None:
    """All checks of each history: to draw one takes longer than to check it."""
    rows = of_account(rows, "drawn")
    queries = queries_of(rows)
    for check in CHECKS:
        check(rows, queries)


@pytest.mark.parametrize("check", CHECKS)
def test_facts_of_the_examples_and_of_long_histories(check: Check) -> None:
    check(*long_histories())


@cache
def long_histories() -> tuple[list[plain.Json], list[QueryFacts]]:
    told = [(folder.name, golden.rows(folder)) for folder in golden.folders()]
    told += [(f"random-{seed}", random_history(seed, 15)) for seed in range(60)]
    rows = [row for name, each in told for row in of_account(each, name)]
    queries = queries_of(rows)
    assert set(tables(queries)) == set(KEYS), "the rows have all kinds of facts"
    return rows, queries
