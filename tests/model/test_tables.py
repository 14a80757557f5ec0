"""The facts as tables."""

from __future__ import annotations

from typing import Any, Final

import pytest

from exporter.input.query_history import History
from exporter.input.times import iso_micros
from exporter.model.fact_tables import FACTS, QUERY_HISTORY, rows_of, rows_of_object
from exporter.model.object_state import NamePeriod, ObjectHistory, Profile
from exporter.model.profiles import add
from exporter.model.query import query_facts
from tests.model.told import ACCOUNT, facts_of, row

NAMED: Final = {"objectDomain": "Function", "objectName": "d.s.f", "argumentSignature": "(N NUMBER)"}


def test_a_query_with_its_history() -> None:
    numbers = {name: number for number, (name, kind) in enumerate(QUERY_HISTORY.items()) if kind == "bigint"}
    texts = {name: f"a {name}" for name, kind in QUERY_HISTORY.items() if kind == "string"}
    facts = query_facts(ACCOUNT, [row()], History(**texts, **numbers, end_time=1))
    ((name, fact),) = rows_of(facts)
    assert (name, tuple(fact)) == ("queries", tuple(FACTS["queries"]))
    assert {column: fact[column] for column in QUERY_HISTORY} == {**texts, **numbers, "end_time": iso_micros(1)}


def test_a_query_without() -> None:
    ((_, fact),) = rows_of(facts_of(row(agents_info=[{"agentType": "A"}])))
    assert {fact[column] for column in QUERY_HISTORY} == {None}
    assert fact["agents"] == [{"agent_type": "A", "agent_id": None, "agent_name": None}]
    assert (fact["incomplete"], fact["row_count"]) == ([], 1)


def of_object(profile: Profile, life: ObjectHistory) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for name, fact in rows_of_object(profile, life):
        assert tuple(fact) == tuple(FACTS[name])
        found.setdefault(name, []).append(fact)
    return found


def test_an_object_its_names_and_its_columns() -> None:
    told = set("HGFEDCBA"), {"()"}, {"X"}, {"Y"}, {"s3://b"}, {"AB2", "AB1"}
    columns = {"B": {"2", "10"}, "A": set()}
    profile = Profile("O-A", "table/5", "5", *told, names={"T": (1, 2)}, columns=columns, renamed_from={"C": {"B"}})
    life = ObjectHistory(names=[NamePeriod(1, "T", 5, 2), NamePeriod(5, "U", None, 7)])
    key = {"account": "O-A", "object_key": "table/5"}
    assert of_object(profile, life) == {
        "objects": [{**key, "kind": "table", "object_id": "5", "canonical_name": None, "domains": list("ABCDEFGH"),
                     "argument_signatures": ["()"], "data_types": ["X"], "stage_kinds": ["Y"], "locations": ["s3://b"],
                     "object_accounts": ["AB1", "AB2"]}],
        "names": [{**key, "name": "T", "valid_from": iso_micros(1), "valid_until": iso_micros(5),
                   "last_seen": iso_micros(2)},
                  {**key, "name": "U", "valid_from": iso_micros(5), "valid_until": None, "last_seen": iso_micros(7)}],
        "columns": [{**key, "column_name": "A", "column_ids": []},
                    {**key, "column_name": "B", "column_ids": ["10", "2"]}],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("thing", "canonical"),
    [(NAMED, "D.S.F"), ({**NAMED, "objectId": 5}, None), ({"location": "s3://name/b"}, None),
     ({"objectDomain": "Stage", "objectId": "jsmith", "stageKind": "User"}, '"jsmith"')],
)  # fmt: skip
def test_an_object_that_is_keyed_by_name_has_a_canonical_one(thing: dict[str, Any], canonical: str | None) -> None:
    found: dict[tuple[str, str], Profile] = {}
    add(found, facts_of(row(base_objects_accessed=[thing])))
    profile = found[next(key for key in found if key[1].partition("/")[0] not in {"database", "schema"})]
    (fact,) = of_object(profile, ObjectHistory())["objects"]
    assert fact["canonical_name"] == canonical
