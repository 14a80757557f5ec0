"""Several rows of one query become one query."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from exporter.input.query_history import History
from exporter.model.facts import Agent
from exporter.model.query import account_of, contradict_each_other, objects, query_facts, without_duplicates
from tests.histories import histories
from tests.model.told import ACCOUNT, facts_of, micros, row, row_of

TABLE = {"objectDomain": "Table", "objectId": 5, "objectName": "D.S.T"}
READ = {"direct_objects_accessed": [{**TABLE, "columns": [{"columnName": "A", "columnId": 1}]}]}


@pytest.mark.parametrize(
    ("columns", "account"),
    [
        ({"organization_name": "ACME", "account_name": "RETAIL"}, "ACME-RETAIL"), ({}, "ACME-PROD"),
        ({"organization_name": "ACME"}, "ACME-PROD"), ({"account_name": "RETAIL"}, "ACME-PROD"),
    ],
)  # fmt: skip
def test_the_account_of_a_row(columns: dict[str, str], account: str) -> None:
    assert account_of(row(**columns), ACCOUNT) == account


def test_rows_of_different_users_disagree() -> None:
    assert not contradict_each_other([row()])
    assert not contradict_each_other([row(), row(event_source="x")])
    assert contradict_each_other([row(), row(user_name="jsmith")])


@pytest.mark.parametrize(
    "columns",
    [
        {"direct_objects_accessed": [{"columns": [{"columnId": "1", "columnName": "A"}], "objectName": "D.S.T",
                                      "objectId": "5", "objectDomain": "Table", "locations": None, "of_next_year": 1}]},
        {**READ, "base_objects_accessed": []},
        {**READ, "agents_info": [], "object_modified_by_ddl": None},
        {**READ, "query_start_time": "2026-03-01T09:00:00+01:00"},
    ],
)  # fmt: skip
def test_rows_that_say_the_same_are_one_however_they_spell_it(columns: dict[str, Any]) -> None:
    one, other = row(**READ), row(**columns)
    assert without_duplicates([one, other]) == [one]
    assert without_duplicates([other, one, one, other]) == [other]
    assert facts_of(one, other) == facts_of(other)
    assert facts_of(one, other).row_count == 1


@pytest.mark.parametrize(
    "columns",
    [
        {},
        {"direct_objects_accessed": [{**TABLE, "columns": [{"columnName": "A", "columnId": 2}]}]},
        {"direct_objects_accessed": [TABLE]},
        {"base_objects_accessed": READ["direct_objects_accessed"]},
        {**READ, "event_source": ""},
        {**READ, "query_start_time": "2026-03-01 08:00:01"},
        {**READ, "object_modified_by_ddl": {"operationType": "ALTER"}},
    ],
)
def test_rows_that_differ_are_kept(columns: dict[str, Any]) -> None:
    rows = [row(**READ), row(**columns)]
    assert without_duplicates(rows) == rows
    assert facts_of(*rows).row_count == 2


def test_properties_are_compared_as_json() -> None:
    spaced, plain, other = (
        row(object_modified_by_ddl={**TABLE, "operationType": "ALTER", "properties": text})
        for text in ('{"comment": {"value": "x"}}', {"comment": {"value": "x"}}, {"comment": {"value": "y"}})
    )
    assert without_duplicates([spaced, plain, other]) == [spaced, other]


def test_a_query_says_what_its_rows_say() -> None:
    told = {name: f"a {name}" for name in ("parent_query_id", "root_query_id", "event_source", "account_locator")}
    given = {**told, "organization_name": "ACME", "account_name": "RETAIL"}
    facts = facts_of(row(**given, additional_properties={"a": 1}, invoker_identity={"b": 2}))
    assert (facts.account, facts.query_id, facts.user_name, facts.row_count) == (ACCOUNT, "q", "JSMITH", 1)
    assert facts.start == facts.end == micros("2026-03-01 08:00:00")
    assert {name: getattr(facts, name) for name in given} == given
    assert (facts.additional_properties, facts.invoker_identity) == ('{"a":1}', '{"b":2}')


def test_of_what_rows_say_differently_the_least_is_kept_and_blanks_are_nothing() -> None:
    rows = [
        row(parent_query_id=parent, event_source=event, query_start_time=f"2026-03-01 08:00:0{second}")
        for second, (parent, event) in enumerate((("TRUNCATED", " "), ("b", ""), ("a", "TRUNCATED"), (None, None)))
    ]
    for some in permutations(rows):
        facts = facts_of(*some)
        assert (facts.parent_query_id, facts.event_source, facts.row_count) == ("a", None, 4)
        assert facts.start == micros("2026-03-01 08:00:00")
    assert facts_of(rows[0]).parent_query_id is None


def test_the_history_of_a_query_tells_its_end() -> None:
    facts = query_facts(ACCOUNT, [row()], History(end_time=7))
    assert (facts.end, facts.history.end_time) == (7, 7)


def test_agents_keep_their_order() -> None:
    agents = [{"agentType": "B", "agentId": 1, "agentName": " "}, None, {"agentType": "A"}]
    assert facts_of(row(agents_info=agents)).content.agents == (
        Agent("B", "1", None), Agent(None, None, None), Agent("A", None, None)
    )  # fmt: skip


@pytest.mark.parametrize(
    ("given", "kept", "places"),
    [
        ({"agentType": "A", "agentId": -1, "agentName": "TRUNCATED"}, ("A", None, None), ["agents_info TRUNCATED"]),
        ({"agentType": "A", "agentId": "-1"}, ("A", None, None), ["agents_info TRUNCATED"]),
        ({"agentType": "TRUNCATED", "agentId": 5, "agentName": "N"}, (None, "5", "N"), ["agents_info TRUNCATED"]),
        ({"agentName": "TRUNCATED"}, (None, None, None), ["agents_info TRUNCATED"]),
        ({"objectDomain": "TRUNCATED", "objectId": -1, "objectName": "TRUNCATED"}, (None, None, None),
         ["agents_info TRUNCATED"]),
        ({"agentType": "A", "agentId": -15, "agentName": "TRUNCATED_1"}, ("A", "-15", "TRUNCATED_1"), []),
        ({}, (None, None, None), ["agents_info UNNAMED"]),
    ],
)  # fmt: skip
def test_no_agent_is_known_by_what_was_cut_of_it(given: Any, kept: tuple[str | None, ...], places: list[str]) -> None:
    content = facts_of(row(agents_info=[given])).content
    assert content.agents == (Agent(*kept),)
    assert list(content.incomplete) == places


def test_of_several_lists_of_agents_the_greatest_is_kept() -> None:
    a, b, nobody = {"agentType": "A"}, {"agentType": "B"}, {}
    lists: list[list[Any]] = [[a], [a, nobody], [nobody, b], []]
    for some in permutations(lists):
        facts = facts_of(*[row(agents_info=one) for one in some])
        assert facts.content.agents == (Agent("A", None, None), Agent(None, None, None))


def test_of_two_spellings_of_a_thing_the_least_is_kept_and_their_columns_joined() -> None:
    lower = {**TABLE, "objectName": "d.s.t", "columns": [{"columnName": "B"}, {"columnName": "A", "columnId": 1}]}
    upper = {**TABLE, "dataType": "X", "columns": [{"columnName": "A", "columnId": 0}, {"columnName": "A"}]}
    together = facts_of(row(base_objects_accessed=[lower, upper]))
    apart = facts_of(row(base_objects_accessed=[upper]), row(base_objects_accessed=[lower]))
    assert together.content == apart.content
    (access,) = together.content.accesses
    assert (access.thing.name, access.thing.data_type) == ("D.S.T", "X")
    assert [(one.name, one.column_id) for one in access.columns] == [("A", None), ("A", "1"), ("B", None)]


def test_a_name_wins_over_none() -> None:
    nameless = {**TABLE, "objectName": None}
    for things in ([TABLE, nameless], [nameless, TABLE]):
        (access,) = facts_of(row(base_objects_accessed=things)).content.accesses
        assert access.thing.name == TABLE["objectName"]


def test_what_one_place_leaves_out_of_an_object_the_others_give() -> None:
    """A routine, a table of another account and a policy, each with all that identifies it in one place only."""
    routine = {"objectDomain": "Procedure", "objectId": 5}
    named = {**routine, "objectName": "D.S.P", "argumentSignature": "(A NUMBER)", "dataType": "NUMBER"}
    table, other = {"objectDomain": "Table", "objectId": 9}, {"objectName": "D.S.T", "accountName": "OTHER"}
    policy = {"policyKind": "MASKING_POLICY", "policyId": 7}
    column = {"columnName": "A", "directSources": [{**table, "columnName": "A"}, routine]}
    content = facts_of(
        row(
            direct_objects_accessed=[routine, {**table, "joinObjects": [{"joinObject": TABLE}]}],
            base_objects_accessed=[named, {**table, **other}],
            objects_modified=[{**TABLE, "objectName": None, "columns": [column]}],
            policies_referenced=[{**table, "policies": [policy], "columns": [{"columnName": "A", "policies": [
                {**policy, "policyName": "D.S.MASK"}]}]}],
            object_modified_by_ddl={**table, "operationType": "ALTER", "properties": {}},
        )
    ).content  # fmt: skip
    found = {
        (thing.key, thing.name, thing.signature, thing.data_type, thing.account)
        for thing in objects(content)
        if thing.key != f"table/{TABLE['objectId']}"
    }
    assert found == {
        ("procedure/5", "D.S.P", "(A NUMBER)", "NUMBER", None),
        ("table/9@OTHER", "D.S.T", None, None, "OTHER"),
        ("table/9", None, None, None, None),  # changed by DDL, so of this account
    }
    assert {one.target_name for one in content.derivations} == {TABLE["objectName"]}
    assert {one.policy_name for one in content.policies} == {"D.S.MASK"}


@given(histories(max_rows=6), st.randoms(use_true_random=False))
@settings(max_examples=25)
def test_rows_in_whatever_order_make_the_same_facts(rows: list[dict[str, Any]], rng: Any) -> None:
    """Also where their ids meet: all rows of the history are taken for one query's."""
    of_query = [replace(row_of(one), query_id="q", user_name="U", start=0) for one in rows]
    facts = query_facts(ACCOUNT, without_duplicates(of_query))
    rng.shuffle(of_query)
    assert query_facts(ACCOUNT, without_duplicates(of_query)) == facts
    assert facts.row_count == len(without_duplicates(of_query))


@pytest.mark.parametrize(
    ("own", "given", "session", "name"),
    [
        ("D.S.T", "X", ("E", "my schema"), 'E."my schema".X'),
        ("D.S.T", "R.X", ("E", "S"), "E.R.X"),
        ("D.S", "R", ("E", None), "E.R"),
        ("D.S.T", "D.R.X", ("E", "S"), "D.R.X"),
        ("D.S.T", "X", ("E", None), "X"),
        ("D.S.T", "X", (None, None), "X"),
        ("D", "E", ("E", "S"), "E"),
        (None, "X", ("E", "S"), "X"),
    ],
)
def test_a_new_name_without_its_schema_is_in_that_of_the_session(
    own: str | None, given: str, session: tuple[str | None, str | None], name: str
) -> None:
    """Snowflake resolves a name in the session's current database and schema, which QUERY_HISTORY has."""
    change = {"objectDomain": "Table", "objectId": 5, "objectName": own, "operationType": "ALTER"}
    history = History(database_name=session[0], schema_name=session[1])
    renamed = row(object_modified_by_ddl={**change, "properties": {"objectName": {"value": given}}})
    (found,) = query_facts("A-B", [renamed], history).content.changes
    assert found.new_name == name
