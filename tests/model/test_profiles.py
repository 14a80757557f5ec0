"""What queries add to the profiles of objects."""

from __future__ import annotations

from copy import deepcopy
from itertools import permutations
from typing import TYPE_CHECKING, Any, Final

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Struct, structs

from exporter.model import profiles
from exporter.model.facts import ObjectReference
from exporter.model.object_state import Profile
from exporter.model.profiles import add, merge
from exporter.openlineage.datasets import as_reference, spellings
from exporter.openlineage.inputs_and_outputs import written
from exporter.openlineage.settings import OpenLineageSettings
from exporter.system.cache import Recent
from tests.histories import histories
from tests.model.told import GOOD, facts_of, queries_of, row

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pytest

    from exporter.model.facts import QueryFacts

Profiles = dict[tuple[str, str], Profile]
SETTINGS: Final = OpenLineageSettings()
TABLE: Final = {"objectDomain": "Table", "objectId": 5, "objectName": "D.S.T"}


def known(*queries: QueryFacts) -> Profiles:
    found: Profiles = {}
    for query in queries:
        add(found, query)
    return found


def of(key: str, **columns: Any) -> Profile:
    """What a row says of an object."""
    return known(facts_of(row(**columns)))["ACME-PROD", key]


def test_what_rows_show_of_an_object() -> None:
    shown = {"objectDomain": "Stage", "objectId": 5, "objectName": "S", "stageKind": "External Named",
             "location": "s3://b", "accountName": "AB1", "dataType": "X", "argumentSignature": "()"}  # fmt: skip
    start = facts_of(row()).start
    assert of("stage/5@AB1", base_objects_accessed=[shown]) == Profile(
        "ACME-PROD", "stage/5@AB1", "5", {"STAGE"}, {"()"}, {"X"}, {"External Named"}, {"s3://b"}, {"AB1"},
        {("S", "AB1")}, names={"S": (start, start)}, shown=(start, "q"), called=(start, frozenset({("", ((0, "S"),))})),
        first=(start, "q", False),
    )  # fmt: skip


def things(value: Any) -> Iterator[ObjectReference]:
    """Every object in a value of the facts, wherever it is."""
    if isinstance(value, ObjectReference):
        yield value
    elif isinstance(value, Struct):
        yield from things(structs.astuple(value))
    elif isinstance(value, tuple):
        for each in value:
            yield from things(each)


def shows_each_thing(query: QueryFacts) -> None:
    found = known(query)
    for thing in [*things(query.content), *(one.thing for one in written(query.content))]:
        profile = found[query.account, thing.key]
        assert {thing.name} - {None} <= profile.names.keys() | profile.old_names.keys()
        assert {thing.account} - {None} <= profile.accounts
        seen = [one for one in spellings(profile, as_reference(profile), SETTINGS) if one.is_seen]
        assert (thing.name, thing.account) in {(one.name, one.account) for one in seen}


@given(histories())
@settings(max_examples=100, deadline=None)
def test_a_profile_has_every_spelling_that_its_queries_have(rows: list[dict[str, Any]]) -> None:
    """Otherwise a query asks for the dataset of a spelling for which nobody answers."""
    for query in queries_of(rows):
        shows_each_thing(query)


def test_a_profile_has_the_spelling_of_a_join_beside_another_of_the_same_object() -> None:
    view = {"objectDomain": "View", "objectId": 5, "objectName": "D.S.V", "accountName": "AB1"}
    joined = {**view, "joinObjects": [{"joinType": "INNER", "node": TABLE}]}
    for other in ({}, {"objectName": "D.S.A"}, {"objectName": "TRUNCATED"}, {"objectName": " "}):
        nameless = {"objectDomain": "View", "objectId": 5, **other}
        for each in permutations((joined, nameless)):
            query = facts_of(row(direct_objects_accessed=list(each)))
            assert [join.left.name for join in query.content.joins] == ["D.S.V"]
            shows_each_thing(query)


def test_columns_from_everywhere_with_their_ids() -> None:
    columns = [{"columnName": "A", "columnId": 1}, {"columnName": "B"}]
    source = {**TABLE, "columnName": "C"}
    mask = {"policyName": "G.M", "policyKind": "MASKING_POLICY"}
    profile = of(
        "table/5",
        direct_objects_accessed=[{**TABLE, "columns": columns}],
        objects_modified=[{**TABLE, "columns": [{"columnName": "D", "columnId": 4, "directSources": [source]}]}],
        policies_referenced=[{**TABLE, "columns": [{"columnName": "E", "columnId": 5, "policies": [mask]}]}],
        object_modified_by_ddl={**TABLE, "operationType": "ALTER", "properties": {"columns": {
            "F": {"subOperationType": "ADD", "objectId": {"value": 6}},
            "A": {"subOperationType": "ALTER", "tags": {"G.T": {"objectId": {"value": 77}}}},
        }}},
    )  # fmt: skip
    assert profile.columns == {"A": {"1"}, "B": set(), "C": set(), "D": {"4"}, "E": {"5"}, "F": {"6"}}


def test_a_renamed_column_is_another_that_was_the_first() -> None:
    renames = {
        name: {"objectName": {"value": new}} for name, new in (("A", "B"), ("C", "C"), ("D", " "), ("E", "TRUNCATED"))
    }
    profile = of(
        "table/5", object_modified_by_ddl={**TABLE, "operationType": "ALTER", "properties": {"columns": renames}}
    )
    assert profile.renamed_from == {"B": {"A"}}
    assert set(profile.columns) == {"A", "C", "D", "E"}


def test_things_named_beside_others_have_a_domain() -> None:
    mask = {"policyName": "G.M", "policyId": 7, "policyKind": "MASKING_POLICY"}
    properties = {
        "swapTargetId": {"value": 6}, "swapTargetName": {"value": "D.S.X"},
        "cloneSourceDomain": {"value": "View"}, "cloneSourceName": {"value": "D.S.V"},
        "tags": {"G.T": {"subOperationType": "ADD"}}, "rowAccessPolicies": {"TRUNCATED": {"objectId": {"value": 9}}},
    }  # fmt: skip
    found = known(facts_of(row(
        policies_referenced=[{**TABLE, "policies": [mask]}],
        object_modified_by_ddl={**TABLE, "operationType": "ALTER", "properties": properties},
    )))  # fmt: skip
    told = {key: (one.object_id, one.domains, set(one.names)) for (_, key), one in found.items()}
    assert told == {
        "table/5": ("5", {"TABLE"}, {"D.S.T"}),
        "table/6": ("6", {"TABLE"}, {"D.S.X"}),
        "view/name/D.S.V": (None, {"VIEW"}, {"D.S.V"}),
        "masking-policy/7": ("7", {"MASKING POLICY"}, {"G.M"}),
        "tag/name/G.T": (None, {"TAG"}, {"G.T"}),
        "row-access-policy/9": ("9", {"ROW ACCESS POLICY"}, set()),
        "database/name/D": (None, {"DATABASE"}, {"D"}),
        "schema/name/D.S": (None, {"SCHEMA"}, {"D.S"}),
    }


def test_accounts_are_apart() -> None:
    rows = [
        {
            **GOOD,
            "organization_name": "O",
            "account_name": name,
            "base_objects_accessed": [{**TABLE, "objectName": name}],
        }
        for name in ("A", "B")
    ]
    told = {account: set(one.names) for (account, _), one in known(*queries_of(rows)).items()}
    assert told == {"O-A": {"A"}, "O-B": {"B"}}


@given(histories(), st.randoms(use_true_random=False))
@settings(max_examples=25)
def test_what_is_known_depends_on_no_order_and_no_grouping(rows: list[dict[str, Any]], rng: Any) -> None:
    queries = queries_of(rows)
    whole = known(*queries)
    rng.shuffle(queries)
    parts = [known(*queries[start::3]) for start in range(3)]
    rng.shuffle(parts)
    merged: Profiles = {}
    for part in deepcopy(parts):
        for key, profile in part.items():
            if key in merged:
                before = deepcopy(profile)
                merge(merged[key], profile)
                merge(merged[key], profile)
                assert profile == before
            else:
                merged[key] = profile
    assert merged == whole


def test_merged_profiles_share_nothing() -> None:
    columns = {"objectDomain": "Table", "objectId": 5, "columns": [{"columnName": "A", "columnId": 1}]}
    facts = facts_of(row(base_objects_accessed=[columns]))
    first, second = known(facts), known(facts)
    ((key, profile),) = first.items()
    profile.columns["A"].add("2")
    profile.domains.add("VIEW")
    assert second[key].columns == {"A": {"1"}}
    assert known(facts) == second


def test_results_do_not_depend_on_the_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    queries = [
        facts_of(row(query_id=str(number), base_objects_accessed=[{**TABLE, "objectName": f"T{number % 7}"}]))
        for number in range(50)
    ]
    whole = known(*queries)
    monkeypatch.setattr(profiles, "_recent", Recent(2))
    assert known(*queries) == whole
    monkeypatch.setattr(profiles, "_OF_COLUMN", 10**9)
    assert known(*queries) == whole
