"""Datasets of objects: names, facets, events."""

from __future__ import annotations

import json
from itertools import permutations, product
from typing import TYPE_CHECKING, Any

import orjson
import pytest

from exporter.model.object_state import Profile
from exporter.openlineage import datasets, facets
from exporter.openlineage.datasets import DatasetProfile, as_reference, dataset_event, facets_of, profiles_of, spellings
from exporter.openlineage.settings import OpenLineageSettings
from tests import exports
from tests.input.bad_rows import GOOD

if TYPE_CHECKING:
    from pathlib import Path

SETTINGS = OpenLineageSettings()
OWN, OTHER = "snowflake://ORG-ACC", "snowflake://ORG-OTHER"


def profile(key: str = "table/1", names: tuple[str, ...] = ("D.S.T",), **more: Any) -> Profile:
    """An object; rows show it with its name and account, if it has any."""
    columns: dict[str, set[str]] = {column: set() for column in more.pop("columns", ())}
    seen_as = {*product(names or (None,), more.get("accounts") or (None,))}
    return Profile("ORG-ACC", key, names=dict.fromkeys(names, (0, 0)), columns=columns, **{"seen_as": seen_as, **more})


def spelled(one: Profile) -> dict[tuple[str | None, str | None], tuple[str, str, bool]]:
    return {
        (each.name, each.account): (*each.dataset[1:3], each.is_seen)
        for each in spellings(one, as_reference(one), SETTINGS)
    }


# --- spellings --------------------------------------------------------------------------------------------------------


def test_rows_may_show_an_object_under_each_name_and_none_with_each_account_and_none() -> None:
    found = spelled(profile(names=("d.s.t", "D.S.U"), accounts={"OTHER"}))
    assert found == {
        ("d.s.t", "OTHER"): (OTHER, "D.S.T", True),
        ("d.s.t", None): (OWN, "D.S.T", False),
        ("D.S.U", "OTHER"): (OTHER, "D.S.U", True),
        ("D.S.U", None): (OWN, "D.S.U", False),
        (None, "OTHER"): (OTHER, "table/1", False),
        (None, None): (OWN, "table/1", False),
    }


def test_what_has_no_name_is_seen_without() -> None:
    assert spelled(profile(names=())) == {(None, None): (OWN, "table/1", True)}
    place = profile("location/s3%3A%2F%2Fb%2Fa%2F", (), locations={"s3://b/a/"})
    assert spelled(place) == {(None, None): ("s3://b", "a", True)}


def test_what_a_row_gives_by_its_id_is_not_named_by_the_places_of_other_rows() -> None:
    """They may come later, and a job's name must not change then."""
    for places in ((), ("s3://b/z",), ("s3://b/z", "s3://b/a")):
        assert spelled(profile("stage/1", (), locations={*places})) == {(None, None): (OWN, "stage/1", True)}


def test_an_object_is_seen_as_rows_show_it() -> None:
    """Also where other rows, which may come later, give more of it."""
    one = profile(accounts={"OTHER"}, seen_as={(None, None), ("D.S.T", "OTHER")})
    assert {shown for shown, (_, _, is_seen) in spelled(one).items() if is_seen} == one.seen_as


def test_a_new_name_has_the_database_and_schema_of_the_greatest_former_name() -> None:
    renamed = profile(names=("D.S.T",), old_names={"N": {"D.S.T", "A.B.C", None}, "M": {None}})
    assert {name: dataset for (name, _), (_, dataset, _) in spelled(renamed).items() if name} == {
        "D.S.T": "D.S.T",
        "N": "D.S.N",
        "M": "M",
    }


def test_a_name_that_only_a_swap_gave_is_told_beside_others_but_not_of_what_has_none() -> None:
    assert {name for name, _ in spelled(profile(names=("D.S.T",), given={"D.S.U"}))} == {"D.S.T", "D.S.U", None}
    assert spelled(profile(names=(), given={"D.S.U"})) == {(None, None): (OWN, "table/1", True)}


def test_of_several_values_the_least_is_shown() -> None:
    found = as_reference(profile(domains={"TABLE", "DYNAMIC TABLE"}, object_id="1", stage_kinds={"b", "a"}))
    assert (found.domain, found.object_id, found.stage_kind, found.name) == ("DYNAMIC TABLE", "1", "a", None)


# --- datasets ---------------------------------------------------------------------------------------------------------


def gathered(*objects: Profile) -> dict[Any, DatasetProfile]:
    found: dict[Any, DatasetProfile] = {}
    for one in objects:
        for key, told in profiles_of(one, SETTINGS).items():
            found.setdefault(key, DatasetProfile(*key)).add(told)
    return found


FIRST = profile("table/1", columns=("A", "B"), domains={"TABLE"}, object_id="1")
SECOND = profile("table/2", columns=("B", "C"), domains={"EXTERNAL TABLE"}, object_id="2")
THIRD = profile("table/name/D%2ES", names=("d.s.t",), columns=("D",))


def test_objects_of_one_name_are_one_dataset_in_whatever_order_they_tell() -> None:
    made = {
        orjson.dumps(facets_of(dataset, SETTINGS), option=orjson.OPT_SORT_KEYS)
        for order in permutations((FIRST, SECOND, THIRD))
        for dataset in [gathered(*order)["ORG-ACC", OWN, "D.S.T", True]]
    }
    assert len(made) == 1
    left, right = gathered(FIRST, SECOND), gathered(THIRD)
    key = ("ORG-ACC", OWN, "D.S.T", True)
    left[key].add(right[key])
    assert left[key] == gathered(THIRD, FIRST, SECOND)[key]


def test_a_dataset_has_the_columns_of_all_its_objects_and_the_type_of_the_last() -> None:
    facets = facets_of(gathered(FIRST, SECOND)["ORG-ACC", OWN, "D.S.T", True], SETTINGS)
    assert [one["name"] for one in facets["schema"]["fields"]] == ["A", "B", "C"]
    assert {one["type"] for one in facets["schema"]["fields"]} == {"UNKNOWN"}
    assert (facets["datasetType"]["datasetType"], facets["datasetType"]["subType"]) == ("TABLE", "EXTERNAL")
    assert [(one["type"], one["name"]) for one in facets["hierarchy"]["hierarchy"]] == [
        ("DATABASE", "D"),
        ("SCHEMA", "S"),
        ("EXTERNAL TABLE", "T"),
    ]
    assert (facets["dataSource"]["name"], facets["dataSource"]["uri"]) == (OWN, OWN)


def test_a_users_name_is_no_place_in_the_hierarchy() -> None:
    user = profile("user-stage/name/%22a.b%40c.com%22", ('"a.b@c.com"',), domains={"STAGE"})
    facets = facets_of(gathered(user)["ORG-ACC", OWN, "~a.b@c.com", True], SETTINGS)
    assert not {"hierarchy", "catalog"} & facets.keys()


def test_what_is_told_of_a_dataset_is_told_again_by_what_an_object_keeps() -> None:
    """An object is told of in several datasets, and none of them may change what another has."""
    one = profile(names=("D.S.T", "D.S.U"), columns=("A",))
    datasets_ = {told.name: told for told in profiles_of(one, SETTINGS).values()}
    datasets_["D.S.T"].add(DatasetProfile("ORG-ACC", OWN, "D.S.T", True, columns={"X"}))
    assert (datasets_["D.S.U"].columns, set(one.columns)) == ({"A"}, {"A"})


def test_what_is_no_dataset_is_kept_apart_and_has_no_event() -> None:
    found = gathered(FIRST, profile("tag/7"), profile("object/name/D", names=("D.S.T",)))
    dataset, tag = found["ORG-ACC", OWN, "D.S.T", True], found["ORG-ACC", OWN, "D.S.T", False]
    assert (dataset.is_sent, tag.is_sent) == (True, False)
    assert dataset.columns == {"A", "B"}
    assert set(dataset.things) == {"table/1", "object/name/D"}


def test_a_kind_is_a_dataset_unless_it_is_known_to_hold_no_data() -> None:
    """docs/openlineage.md, "Datasets, and what is none"."""
    others = {"masking-policy", "new-policy", "database-role", "api-integration", "tag", "sequence", "warehouse"}
    others |= {"function", "procedure", "data-metric-function", "schema", "database", "share", "user-object", "task"}
    held = {"semantic-view", "model", "dataset", "interactive-table", "new-thing", "object", "stream", "user-stage"}
    for kind in (*others, *held):
        assert _is_sent(profile(f"{kind}/7")) == (kind in held), kind
    assert _is_sent(profile("listing/7", columns=("A",)))
    assert not _is_sent(profile("function/7", columns=("A",)))


def _is_sent(one: Profile) -> bool:
    return any(dataset.is_sent for dataset in gathered(one).values())


def test_a_spelling_that_is_not_seen_makes_no_event_unless_another_object_is_seen_so() -> None:
    owned = profile(accounts={"OTHER"})
    assert {key[1:3]: one.is_sent for key, one in gathered(owned).items()} == {
        (OTHER, "D.S.T"): True,
        (OWN, "D.S.T"): False,
        (OTHER, "table/1"): False,
        (OWN, "table/1"): False,
    }
    assert gathered(owned, SECOND)["ORG-ACC", OWN, "D.S.T", True].is_sent


def test_a_place_is_a_file_in_no_hierarchy() -> None:
    place = profile("location/s3%3A%2F%2Fb%2Fp", (), locations={"s3://b/p"})
    (dataset,) = gathered(place).values()
    facets = facets_of(dataset, SETTINGS)
    assert facets["datasetType"]["datasetType"] == "FILE"
    assert "hierarchy" not in facets
    local = facets_of(DatasetProfile("a", "file", "/x", is_dataset=True, things=dataset.things), SETTINGS)
    assert "uri" not in local["dataSource"]


def test_an_object_with_only_a_name_has_no_facets() -> None:
    (dataset,) = (one for one in gathered(THIRD).values() if one.name == "D.S.T")
    assert set(facets_of(dataset, SETTINGS)) == {"dataSource", "schema"}
    told = json.loads(dataset_event(dataset, facets_of(dataset, SETTINGS), 0, SETTINGS, {}).body)["dataset"]["facets"]
    assert "accessHistory_objects" not in told


def test_the_event_of_a_dataset_tells_what_every_event_does_and_which_objects_had_its_name() -> None:
    dataset = gathered(SECOND, FIRST, THIRD)["ORG-ACC", OWN, "D.S.T", True]
    event = dataset_event(dataset, facets_of(dataset, SETTINGS), 1_000_001, SETTINGS, {})
    assert (event.time, event.type, event.job_name) == (1_000_001, "DATASET", None)
    body = json.loads(event.body)
    assert (body["eventTime"], body["schemaURL"].rpartition("/")[2]) == ("1970-01-01T00:00:01.000001Z", "DatasetEvent")
    told = body["dataset"]["facets"].pop("accessHistory_objects")
    assert told["objects"] == [
        {"objectDomain": "TABLE", "objectId": "1"},
        {"objectDomain": "EXTERNAL TABLE", "objectId": "2"},
    ]
    assert (body["dataset"]["namespace"], body["dataset"]["name"]) == (OWN, "D.S.T")
    of_runs = datasets.facets_for_runs(facets_of(dataset, SETTINGS))
    assert json.loads(of_runs) == body["dataset"]["facets"] == facets_of(dataset, SETTINGS)


def test_an_object_that_one_place_of_a_row_names_is_one_dataset(tmp_path: Path) -> None:
    """A view twice in a row, once without its name; a table whose account and name only its read gives."""
    view, table = ({"objectDomain": domain, "objectId": 5} for domain in ("View", "Table"))
    named = {**view, "objectName": "D.S.V", "joinObjects": [{"joinType": "INNER_JOIN", "joinObject": {**view}}]}
    target = {"objectDomain": "Table", "objectId": 6, "objectName": "D.S.OUT"}
    column = {"columnName": "A", "directSources": [{**table, "columnName": "B"}]}
    rows = [
        {**GOOD, "query_id": "q1", "direct_objects_accessed": [view, named]},
        {
            **GOOD,
            "query_id": "q2",
            "direct_objects_accessed": [],
            "base_objects_accessed": [{**table, "objectName": "D.S.T", "accountName": "OTHER"}],
            "objects_modified": [{**target, "columns": [column]}],
        },
    ]
    assert exports.export([exports.ndjson(rows, tmp_path / "rows.ndjson")], tmp_path / "out") == 0
    runs = [json.loads(text) for text in exports.events(tmp_path / "out") if '"eventType": "COMPLETE"' in text]
    inputs = {one["job"]["name"]: [(each["namespace"], each["name"]) for each in one["inputs"]] for one in runs}
    other = f"snowflake://{exports.ACCOUNT.partition('-')[0]}-OTHER"
    assert sorted(inputs.values()) == [[(other, "D.S.T")], [(f"snowflake://{exports.ACCOUNT}", "D.S.V")]]
    assert "read D.S.V" in inputs
    (output,) = next(one["outputs"] for one in runs if one["outputs"])
    (source,) = output["facets"]["columnLineage"]["fields"]["A"]["inputFields"]
    assert (source["namespace"], source["name"]) == (other, "D.S.T")


OTHERS = {
    "with the same id": ("direct_objects_accessed", {"objectId": 1, "accountName": "OTHER"}, "-OTHER"),
    "in another letter case": ("direct_objects_accessed", {"objectId": 1, "accountName": "other"}, "-OTHER"),
    "without an id": ("direct_objects_accessed", {"accountName": "OTHER"}, "-OTHER"),
    "of an unnamed provider": ("provider_base_objects_accessed", {"objectId": 1}, "@provider"),
}


@pytest.mark.parametrize(("array", "given", "account"), OTHERS.values(), ids=OTHERS)
def test_the_table_of_another_account_is_another_dataset(
    array: str, given: dict[str, Any], account: str, tmp_path: Path
) -> None:
    """A dataset is its namespace and name: columns and comments of two with one name do not mix."""
    own = {"objectDomain": "Table", "objectName": "D.S.T"}
    change = {**own, "objectId": 1, "operationType": "ALTER", "properties": {"comment": {"value": "own"}}}
    rows = [
        {
            **GOOD,
            "query_id": "q1",
            "direct_objects_accessed": [{**own, "objectId": 1, "columns": [{"columnName": "A"}]}],
        },
        {
            **GOOD,
            "query_id": "q2",
            "direct_objects_accessed": [],
            array: [{**own, **given, "columns": [{"columnName": "X"}]}],
        },
        {**GOOD, "query_id": "q3", "direct_objects_accessed": [], "object_modified_by_ddl": change},
    ]
    assert exports.export([exports.ndjson(rows, tmp_path / "rows.ndjson")], tmp_path / "out") == 0
    told = [json.loads(text) for text in exports.events(tmp_path / "out")]
    shown = [one for event in told for one in ([event["dataset"]] if "dataset" in event else event["inputs"])]
    found = {
        one["namespace"]: (
            [column["name"] for column in one["facets"]["schema"]["fields"]],
            one["facets"].get("documentation", {}).get("description"),
        )
        for one in shown
    }
    account = (exports.ACCOUNT if account == "@provider" else exports.ACCOUNT.partition("-")[0]) + account
    assert found == {f"snowflake://{exports.ACCOUNT}": (["A"], "own"), f"snowflake://{account}": (["X"], None)}
    jobs = {event["job"]["name"] for event in told if event.get("eventType") == "COMPLETE" and event["inputs"]}
    assert "read D.S.T" in jobs
    assert len(jobs) == 2


@pytest.mark.parametrize(
    ("namespace", "uri"),
    [
        ("snowflake://ORG-ACC", "snowflake://ORG-ACC"),
        ("wasbs://c@acc.dfs.core.windows.net", "wasbs://c@acc.dfs.core.windows.net"),
        ('snowflake://ORG-{"a": 1}', "snowflake://ORG-%7B%22a%22:%201%7D"),
        ("s3://ü%20%zz[", "s3://%C3%BC%20%25zz%5B"),
    ],
)
def test_the_uri_of_a_place_is_one(namespace: str, uri: str) -> None:
    facet = facets.data_source(namespace, "https://example.com")["dataSource"]
    assert (facet["name"], facet["uri"]) == (namespace, uri)


@pytest.mark.parametrize("name", ["Z", {"value": "Z"}])
def test_the_schema_has_the_new_name_of_a_renamed_column_also_where_no_other_row_shows_it(
    name: object, tmp_path: Path
) -> None:
    column = {"objectId": {"value": 11}, "subOperationType": "ALTER", "objectName": name}
    changed = {"objectDomain": "Table", "objectId": 1, "objectName": "D.S.A", "operationType": "ALTER"}
    row = {"query_id": "q", "query_start_time": "2026-03-01T00:00:00Z", "user_name": "U"}
    row["object_modified_by_ddl"] = {**changed, "properties": {"columns": {"X": column}}}
    given = exports.ndjson([row], tmp_path / "rows.ndjson")
    assert exports.export([given], tmp_path / "out", "--outputs", "events") == 0
    (dataset,) = (event["dataset"] for event in map(json.loads, exports.events(tmp_path / "out")) if "dataset" in event)
    assert [column["name"] for column in dataset["facets"]["schema"]["fields"]] == ["X", "Z"]


KINDS = [("Iceberg Table", 9), ("Table", 10), ("View", 2), ("Dynamic Table", 3), ("Table", 30)]
"""What has one name, a day each: the ids are in no order, as numbers nor as texts."""


def of_kinds() -> list[list[dict[str, Any]]]:
    """A day each: created, read with its id and without, dropped."""
    days = []
    for day, (domain, ident) in enumerate(KINDS, 1):
        one = {"objectDomain": domain, "objectId": ident, "objectName": "D.S.T"}
        without_id = {"objectDomain": domain, "objectName": "D.S.T"}
        given: list[dict[str, Any]] = [
            {"object_modified_by_ddl": {**one, "operationType": "CREATE", "properties": {}}},
            {"direct_objects_accessed": [{**one, "columns": [{"columnName": "A"}]}]},
            {"direct_objects_accessed": [without_id]},
            {"object_modified_by_ddl": {**one, "operationType": "DROP", "properties": {}}},
        ]
        days.append([
            {**GOOD, "direct_objects_accessed": [], **row, "query_id": f"{day}-{number}",
             "query_start_time": f"2026-03-0{day}T0{number}:00:00Z"}
            for number, row in enumerate(given)
        ])  # fmt: skip
    return days


def test_a_dataset_has_the_type_of_the_object_that_the_row_gives(tmp_path: Path) -> None:
    """What was done with a table was not done with the view that took its name, nor the other way round."""
    once = tmp_path / "once"
    rows = [row for day in of_kinds() for row in day]
    assert exports.export([exports.ndjson(rows, tmp_path / "rows.ndjson")], once, "--outputs", "events") == 0
    types, at_first = types_in(once)
    wanted = {f"{day}-{number}": kind for day, (kind, _) in enumerate(KINDS, 1) for number in range(4)}
    # Tables without an id are one object, whichever kind of table it was: what had the name last with an id.
    wanted |= {f"{day}-2": "Table" for day, (kind, _) in enumerate(KINDS, 1) if kind.endswith("Table")}
    assert types == {ident: {kind.upper()} for ident, kind in wanted.items()}
    assert at_first == ["TABLE"]
    for number, day in enumerate(of_kinds()):
        given = exports.ndjson(day, tmp_path / f"{number}.ndjson")
        assert exports.export([given], tmp_path / "daily", "--outputs", "events", "--update") == 0
    daily, news = types_in(tmp_path / "daily")
    assert news == [kind.upper() for kind, _ in KINDS]
    with_id = {ident: types for ident, types in wanted.items() if not ident.endswith("-2")}
    assert {ident: daily[ident] for ident in with_id} == {ident: types[ident] for ident in with_id}


def types_in(out: Path) -> tuple[dict[str, set[str]], list[str]]:
    """By query, the types of its datasets, as ``datasetType``, ``hierarchy`` and ``catalog`` have it; and those of the
    events of datasets, in order.
    """
    of_runs, of_datasets = dict[str, set[str]](), list[str]()
    for path in sorted((out / "events").rglob("*.ndjson")):
        for event in map(json.loads, path.read_text("utf-8").splitlines()):
            if "dataset" in event:
                of_datasets.append(type_in(event["dataset"]["facets"]))
            else:
                query_id = event["run"]["facets"]["externalQuery"]["externalQueryId"]
                shown = {type_in(one["facets"]) for one in (*event["inputs"], *event["outputs"])}
                of_runs.setdefault(query_id, set()).update(shown)
    return of_runs, of_datasets


def type_in(facets_: dict[str, Any]) -> str:
    told = facets_["datasetType"]
    kind = f"{told['subType']} {told['datasetType']}" if "subType" in told else told["datasetType"]
    assert facets_["hierarchy"]["hierarchy"][-1] == {"type": kind, "name": "T"}
    assert ("catalog" in facets_) == ("ICEBERG" not in kind)
    return str(kind)
