"""Every fact of one export of everything, against a second reading of the same rows in plain Python."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from pyoxigraph import NamedNode

from exporter.rdf.store import load
from exporter.schemas import FACTS
from tests import exports
from tests.facts import plain_reading as plain

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql import SparkSession

KEYS = {
    "queries": ("account", "query_id"),
    "accesses": ("account", "query_id", "access", "object_key"),
    "writes": ("account", "query_id", "object_key"),
    "derivations": (
        *("account", "query_id", "target_key", "target_column"),
        *("source_type", "object_key", "source_column"),
    ),
    "policy_references": ("account", "query_id", "object_key", "column_name", "policy_key", "provider"),
    "joins": ("account", "query_id", "left_key", "join_type", "object_key"),
    "ddl_changes": ("account", "query_id", "change_key"),
    "ddl_settings": ("account", "query_id", "change_key", "column_name", "property", "element"),
    "objects": ("account", "object_key"),
    "names": ("account", "object_key", "name", "valid_from"),
    "columns": ("account", "object_key", "column_name"),
}


@pytest.fixture(scope="module")
def rows(spark: SparkSession) -> list[plain.Json]:  # noqa: ARG001 - exports.everything() works in it
    return list(exports.all_rows())


def table(name: str) -> list[dict[str, Any]]:
    return exports.facts(exports.everything(), name)


def query(fact: dict[str, Any]) -> plain.Query:
    return plain.Query(fact["account"], fact["query_id"])


def listed(fact: dict[str, Any]) -> set[tuple[str, str | None]]:
    return {(one["column_name"], one["column_id"]) for one in fact["columns"]}


def same(found: Iterable[Any], expected: Iterable[Any]) -> None:
    """Both ways, with what is too many and what is missing in the failure's text."""
    found, expected = list(found), set(expected)
    assert len(found) == len(set(found)), "doubles"
    assert sorted(set(found) - expected, key=str) == []
    assert sorted(expected - set(found), key=str) == []


@pytest.mark.parametrize("name", FACTS)
def test_a_table_has_the_columns_of_its_schema_and_one_row_a_key(name: str, rows: list[plain.Json]) -> None:
    assert rows
    facts = table(name)
    assert facts, "the rows have all kinds of facts"
    assert all(tuple(fact) == tuple(FACTS[name]) for fact in facts)
    keys = [tuple(str(fact[column]) for column in KEYS[name]) for fact in facts]
    assert len(keys) == len(set(keys))
    needed = [column for column, kind in FACTS[name].items() if kind.endswith("not null")]
    assert not [fact for fact in facts for column in needed if fact[column] is None]


def test_queries(rows: list[plain.Json]) -> None:
    expected = plain.starts(rows)
    same(((query(fact), fact["query_start_time"].replace(tzinfo=None)) for fact in table("queries")),
         ((one, at.replace(tzinfo=None)) for one, at in expected.items()))  # fmt: skip


def test_accesses(rows: list[plain.Json]) -> None:
    expected = plain.accesses(rows)
    found = {(query(fact), fact["access"], fact["object_key"]): listed(fact) for fact in table("accesses")}
    same(found, expected)
    assert {one for one in expected if found[one] != expected[one]} == set()


def test_writes(rows: list[plain.Json]) -> None:
    expected = plain.writes(rows)
    found = {(query(fact), fact["object_key"]): listed(fact) for fact in table("writes")}
    same(found, expected)
    assert {one for one in expected if found[one] != expected[one]} == set()


def test_derivations(rows: list[plain.Json]) -> None:
    names = ("target_key", "target_column", "source_type", "object_key", "source_column")
    same(((query(fact), *(fact[name] for name in names)) for fact in table("derivations")), plain.derivations(rows))


def test_policy_references(rows: list[plain.Json]) -> None:
    names = ("object_key", "column_name", "column_id", "policy_key")
    found = {(query(fact), *(fact[name] for name in names)) for fact in table("policy_references")}
    same(found, plain.policies(rows))


def test_changes(rows: list[plain.Json]) -> None:
    found = {(query(fact), fact["object_key"], fact["operation"]) for fact in table("ddl_changes")}
    same(found, {(one, key, (change["operationType"]).upper()) for one, key, change in plain.changes(rows)})


def test_every_object_and_column_that_a_fact_names_is_described(rows: list[plain.Json]) -> None:
    assert rows
    objects = {(fact["account"], fact["object_key"]) for fact in table("objects")}
    columns = {(fact["account"], fact["object_key"], fact["column_name"]) for fact in table("columns")}
    for name in ("accesses", "writes", "derivations", "policy_references", "joins", "ddl_changes"):
        assert {(fact["account"], fact["object_key"]) for fact in table(name)} <= objects, name
    for fact in table("accesses") + table("writes"):
        assert {(fact["account"], fact["object_key"], one) for one, _ in listed(fact)} <= columns


def test_versions_in_force(rows: list[plain.Json]) -> None:
    """``prov:used`` of the graph: the version that each query read of each object."""
    found = load(exports.everything()).query(
        "PREFIX prov: <http://www.w3.org/ns/prov#> SELECT ?query ?version WHERE { ?query prov:used ?version }"
    )
    expected = {
        (f"snowflake://{one.account}/query/{plain.segment(one.query_id)}",
         f"snowflake://{one.account}/{object_key}/{state}")
        for one, object_key, state in plain.states_used(rows)
    }  # fmt: skip
    same(((_iri(query), _iri(version)) for query, version in found), expected)


def _iri(node: Any) -> str:
    assert isinstance(node, NamedNode)
    return node.value


def test_names_follow_each_other_and_none_that_was_seen_is_lost(rows: list[plain.Json]) -> None:
    held: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for fact in table("names"):
        held.setdefault((fact["account"], fact["object_key"]), []).append(fact)
    for facts in held.values():
        facts.sort(key=lambda fact: (fact["valid_from"], fact["valid_until"] is None, fact["valid_until"]))
        assert [fact["valid_until"] for fact in facts] == [fact["valid_from"] for fact in facts[1:]] + [None]
        assert all(fact["valid_from"] <= fact["last_seen"] for fact in facts)
    called = {(*owner, fact["name"]) for owner, facts in held.items() for fact in facts}
    assert names_seen(rows) <= called


def names_seen(rows: list[plain.Json]) -> set[tuple[str, str, str]]:
    """Account, object and name, wherever a row shows an object with its name."""
    arrays = (*plain.READS.values(), "objects_modified", *plain.POLICIES)
    seen = [
        (plain.query(row).account, key, thing.get("objectName"))
        for row in rows
        for name in arrays
        for key, thing in plain.named(row.get(name))
        if name not in plain.POLICIES or _protects(thing)
    ]
    seen += [(one.account, key, change.get("objectName")) for one, key, change in plain.changes(rows)]
    return {(account, key, name) for account, key, name in seen if plain.said(name)}


def _protects(thing: plain.Json) -> bool:
    return bool(thing.get("policies") or [one for one in thing.get("columns") or [] if one.get("policies")])
