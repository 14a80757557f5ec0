"""The events of one export of everything are exactly those of a plain reading of the facts."""

from __future__ import annotations

from collections import defaultdict
from typing import Any, Final
from uuid import UUID, uuid5

import pytest

from exporter.model.fact_tables import FACTS
from exporter.openlineage.naming import RUN_NAMESPACE
from exporter.openlineage.settings import UNKNOWN_TYPE
from tests import exports
from tests.openlineage import plain_reading as plain
from tests.openlineage import told

Json = dict[str, Any]
WITH_HELPERS: Final = "TEST-24-dbt-run"
"""The account whose events leave out what its rows name: ``tests/openlineage/test_helpers.py`` reads those."""


def runs_of(kind: str = "COMPLETE") -> dict[plain.Query, Json]:
    return {query: event for query, event in told.runs(kind).items() if query[0] != WITH_HELPERS}


def datasets() -> list[Json]:
    return [event for event in told.datasets() if event["dataset"]["namespace"] != f"snowflake://{WITH_HELPERS}"]


def test_only_the_example_of_helpers_has_any() -> None:
    named = {query[0] for query, event in told.runs().items() if "accessHistory_helpers" in event["run"]["facets"]}
    assert named == {WITH_HELPERS}


@pytest.fixture(scope="module")
def facts() -> dict[str, list[Json]]:
    every = {name: exports.facts(exports.everything(), name) for name in FACTS}
    return {name: [fact for fact in every[name] if fact.get("account") != WITH_HELPERS] for name in FACTS}


@pytest.fixture(scope="module")
def queries(facts: dict[str, list[Json]]) -> dict[plain.Query, plain.Told]:
    return plain.read(facts)


@pytest.fixture(scope="module")
def runs() -> dict[plain.Query, Json]:
    return runs_of()


def test_every_query_starts_and_completes(queries: dict[plain.Query, plain.Told]) -> None:
    assert set(runs_of("START")) == set(runs_of("COMPLETE")) == set(queries)
    assert {event["eventType"] for event in told.events() if "run" in event} == {"START", "COMPLETE"}


def test_run_ids_follow_from_account_and_query_id(runs: dict[plain.Query, Json]) -> None:
    for (account, query_id), event in runs.items():
        assert event["run"]["runId"] == str(uuid5(UUID(RUN_NAMESPACE), f"{account}/{query_id}"))


def test_times_are_those_of_the_facts(facts: dict[str, list[Json]], runs: dict[plain.Query, Json]) -> None:
    for fact in facts["queries"]:
        spelt = fact["query_start_time"].strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        assert runs_of("START")[fact["account"], fact["query_id"]]["eventTime"] == spelt
        assert runs[fact["account"], fact["query_id"]]["eventTime"] == spelt


def test_inputs(queries: dict[plain.Query, plain.Told], runs: dict[plain.Query, Json]) -> None:
    for key, query in queries.items():
        found = {
            (one["namespace"], one["name"]): one["inputFacets"]["accessHistory_access"] for one in runs[key]["inputs"]
        }
        assert len(found) == len(runs[key]["inputs"]), "a dataset twice"
        assert {name: set(one["accesses"]) for name, one in found.items()} == dict(query.inputs)
        assert {name: set(one["columns"]) for name, one in found.items() if one["accesses"] != ["SOURCE"]} == dict(
            query.read
        )


def test_outputs_and_what_became_of_them(queries: dict[plain.Query, plain.Told], runs: dict[plain.Query, Json]) -> None:
    for key, query in queries.items():
        found = {(one["namespace"], one["name"]): one for one in runs[key]["outputs"]}
        assert len(found) == len(runs[key]["outputs"]), "a dataset twice"
        assert set(found) == query.outputs
        columns = {name: set(one["outputFacets"]["accessHistory_write"]["columns"]) for name, one in found.items()}
        assert {name: one for name, one in columns.items() if name in query.written} == query.written
        states = {name: one["facets"]["lifecycleStateChange"] for name, one in found.items()
                  if "lifecycleStateChange" in one["facets"]}  # fmt: skip
        assert set(states) == set(query.states)
        assert all(one["lifecycleStateChange"] in query.states[name] for name, one in states.items())
        previous = {name: one["previousIdentifier"] for name, one in states.items() if "previousIdentifier" in one}
        assert {name: (one["namespace"], one["name"]) for name, one in previous.items()} == query.previous


def test_column_lineage_edge_for_edge(queries: dict[plain.Query, plain.Told], runs: dict[plain.Query, Json]) -> None:
    edges = 0
    for key, query in queries.items():
        for output in runs[key]["outputs"]:
            expected = query.sources.get((output["namespace"], output["name"]), {})
            assert _edges(output["facets"].get("columnLineage", {}), "inputFields") == expected
            assert _edges(output["facets"].get("lineage", {}), "inputs") == expected
            edges += len(expected)
    assert edges > 10


def _edges(facet: Json, sources: str) -> plain.Sources:
    found: plain.Sources = {}
    for column, told_of in facet.get("fields", {}).items():
        for one in told_of[sources]:
            kinds = {"BASE" if "description" in kind else "DIRECT" for kind in one["transformations"]}
            key = ((one["namespace"], one["name"]), one["field"])
            assert key not in found.setdefault(column, {}), "a source twice"
            found[column][key] = kinds
    return found


def test_every_source_of_a_column_is_an_input_and_every_field_is_in_a_schema(runs: dict[plain.Query, Json]) -> None:
    """What a backend needs to keep an edge."""
    for event in runs.values():
        fields = {(one["namespace"], one["name"]): _fields(one) for one in event["inputs"]}
        for output in event["outputs"]:
            for column, sources in output["facets"].get("columnLineage", {}).get("fields", {}).items():
                assert column in _fields(output)
                for one in sources["inputFields"]:
                    assert one["field"] in fields[one["namespace"], one["name"]]


def test_lineage_names_the_sources_of_each_output_and_of_no_other(
    queries: dict[plain.Query, plain.Told], runs: dict[plain.Query, Json]
) -> None:
    for key, query in queries.items():
        for output in runs[key]["outputs"]:
            name = (output["namespace"], output["name"])
            if name not in query.written:
                assert "lineage" not in output["facets"]
                continue
            own = {source for sources in query.sources.get(name, {}).values() for source, _ in sources}
            expected = own if own and len(query.outputs) > 1 else set(query.inputs)
            assert set(told.names(output["facets"]["lineage"]["inputs"])) == expected


def _fields(dataset: Json) -> list[str]:
    fields = dataset["facets"].get("schema", {}).get("fields", [])
    names = [one["name"] for one in fields]
    assert len(names) == len(set(names)), "a field twice"
    assert {one["type"] for one in fields} <= {UNKNOWN_TYPE}
    return names


def test_a_dataset_has_every_column_that_is_known_of_it_wherever_it_is_named(
    facts: dict[str, list[Json]], runs: dict[plain.Query, Json]
) -> None:
    columns: dict[tuple[str, str], set[str]] = defaultdict(set)
    for one in facts["columns"]:
        columns[one["account"], one["object_key"]].add(one["column_name"])
    known: dict[tuple[str, plain.Dataset], set[str]] = defaultdict(set)
    for name in ("accesses", "writes"):
        for fact in facts[name]:
            if fact["kind"] not in plain.ROUTINES:
                known[fact["account"], plain.dataset(fact)] |= columns[fact["account"], fact["object_key"]]
    for (account, _), event in runs.items():
        for one in [*event["inputs"], *event["outputs"]]:
            if one.get("inputFacets", {}).get("accessHistory_access", {}).get("accesses") != ["SOURCE"]:
                assert set(_fields(one)) >= known[account, (one["namespace"], one["name"])]
    events = defaultdict(set)
    for event in told.datasets():
        dataset = event["dataset"]
        events[dataset["namespace"], dataset["name"]] |= set(_fields(dataset))
    assert all(events[dataset] >= fields for (_, dataset), fields in known.items() if dataset in events)


def test_what_a_dataset_is(facts: dict[str, list[Json]]) -> None:
    """Its source, its type and its place in the hierarchy, against the objects that had its name."""
    objects = {(one["account"], one["object_key"]): one for one in facts["objects"]}
    by_dataset: dict[plain.Dataset, list[Json]] = defaultdict(list)
    for name in ("accesses", "writes"):
        for fact in facts[name]:
            if fact["kind"] in plain.DATASETS:
                by_dataset[plain.dataset(fact)].append(objects[fact["account"], fact["object_key"]])
    seen = set()
    for event in told.events():
        for one in [*event.get("inputs", []), *event.get("outputs", []), *filter(None, [event.get("dataset")])]:
            named, known = (one["namespace"], one["name"]), by_dataset.get((one["namespace"], one["name"]))
            source = one["facets"].get("dataSource")
            assert source is None or (source["name"], source.get("uri")) == _source(one["namespace"])
            if known and "datasetType" in one["facets"]:
                kind = one["facets"]["datasetType"]
                assert (kind["datasetType"], kind.get("subType")) in {_type(thing) for thing in known}
                levels = [(level["type"], level["name"]) for level in _hierarchy(one)]
                assert not levels or levels in [_levels(named[1], thing) for thing in known]
                seen |= {kind["datasetType"], *(level for level, _ in levels)}
    assert {"TABLE", "VIEW", "STAGE", "STREAM", "FILE", "DATABASE", "SCHEMA"} <= seen


def _source(namespace: str) -> tuple[str, str | None]:
    return namespace, namespace if "://" in namespace else None


def _type(thing: Json) -> tuple[str, str | None]:
    words = (thing["domains"] or ["FILE"])[0].split(" ")
    stage = (thing["stage_kinds"] or [None])[0]
    return words[-1], stage or " ".join(words[:-1]) or None


def _hierarchy(dataset: Json) -> list[Json]:
    return list(dataset["facets"].get("hierarchy", {}).get("hierarchy", []))


def _levels(name: str, thing: Json) -> list[tuple[str, str]]:
    last = (thing["domains"] or [""])[0]
    return list(zip(("DATABASE", "SCHEMA", last), plain.spelled_parts(name), strict=False))


def test_a_dataset_event_tells_which_objects_had_its_name(facts: dict[str, list[Json]]) -> None:
    ids: dict[plain.Dataset, set[str]] = defaultdict(set)
    for name in ("accesses", "writes"):
        for fact in facts[name]:
            if fact["kind"] in plain.DATASETS and fact["object_id"]:
                ids[plain.dataset(fact)].add(fact["object_id"])
    found: dict[plain.Dataset, set[str]] = {}
    for event in told.datasets():
        one = event["dataset"]
        objects = one["facets"].get("accessHistory_objects", {}).get("objects", [])
        known = found.setdefault((one["namespace"], one["name"]), set())
        known |= {thing["objectId"] for thing in objects if "objectId" in thing}
    # What rows show both with and without the name of its account has an event under that account only.
    shared = ids.keys() & found.keys()
    assert len(shared) > 20
    assert [(name, ids[name] - found[name]) for name in shared if ids[name] - found[name]] == []


def test_the_last_comment_is_in_every_event_of_its_dataset(
    facts: dict[str, list[Json]], runs: dict[plain.Query, Json]
) -> None:
    """Datasets that were several objects are in tests/openlineage/test_comments.py."""
    times = {(one["account"], one["query_id"]): (one["query_start_time"], one["query_id"]) for one in facts["queries"]}
    emptied = {
        (one["account"], one["query_id"], one["change_key"])
        for one in facts["ddl_settings"]
        if one["property"] == "comment" and one["column_name"] is None and one["element"] is None
    }
    last: dict[plain.Dataset, str | None] = {}
    for fact in sorted(
        facts["ddl_changes"], key=lambda one: (times[one["account"], one["query_id"]], one["comment"] or "")
    ):
        is_news = (fact["account"], fact["query_id"], fact["change_key"]) in emptied
        if fact["kind"] in plain.DATASETS and (is_news or fact["operation"] in ("CREATE", "REPLACE")):
            last[plain.dataset(fact)] = fact["comment"]
    alone = [event["dataset"] for event in told.datasets()]
    commented = 0
    every = [one for event in runs.values() for side in ("inputs", "outputs") for one in event[side]]
    for one in [*every, *alone]:
        name = one["namespace"], one["name"]
        if name in last:
            assert one["facets"].get("documentation", {}).get("description") == last[name], name
            commented += last[name] is not None
    assert commented > 1


def test_a_start_tells_who_and_under_which_parent_and_names_no_dataset(runs: dict[plain.Query, Json]) -> None:
    """A backend shows an output without its columns as a dataset without columns."""
    for key, event in runs_of("START").items():
        assert (event["inputs"], event["outputs"]) == ([], [])
        assert event["job"] == runs[key]["job"]
        kept = ("externalQuery", "parent", "accessHistory_query", "tags")
        assert event["run"]["runId"] == runs[key]["run"]["runId"]
        assert event["run"]["facets"] == {
            name: facet for name, facet in runs[key]["run"]["facets"].items() if name in kept
        }
        assert event["job"]["facets"]["jobType"]["jobType"] == "QUERY"
        who = [
            {"key": "user", "value": event["run"]["facets"]["accessHistory_query"]["userName"], "source": "SNOWFLAKE"}
        ]
        assert event["run"]["facets"]["tags"]["tags"] == event["job"]["facets"]["tags"]["tags"] == who


def test_routines_policies_joins_tags_and_changes(
    queries: dict[plain.Query, plain.Told], runs: dict[plain.Query, Json]
) -> None:
    for key, query in queries.items():
        facets = runs[key]["run"]["facets"]
        routines = facets.get("accessHistory_routines", {}).get("routines", [])
        assert {one.get("name") for one in routines} == query.routines
        policies = facets.get("accessHistory_policies", {}).get("policies", [])
        found = {((one["namespace"], one["name"]), one.get("field"), one.get("policyName")) for one in policies}
        assert found == query.policies
        joins = facets.get("accessHistory_joins", {}).get("joins", [])
        sides = {(*told.names([one["left"]]), one.get("joinType"), *told.names([one["right"]])) for one in joins}
        assert sides == query.joins
        outputs = [((one["namespace"], one["name"]), one["facets"]) for one in runs[key]["outputs"]]
        tags = {(name, tag["key"], tag["value"], tag.get("field"))
                for name, facets in outputs for tag in facets.get("tags", {}).get("tags", [])}  # fmt: skip
        assert tags == query.tags
        made = {(name, column, one.get("name")) for name, facets in outputs
                for column, ones in facets.get("accessHistory_columnRoutines", {}).get("fields", {}).items()
                for one in ones}  # fmt: skip
        assert made == query.column_routines


def test_changes_with_all_that_their_properties_say(
    queries: dict[plain.Query, plain.Told], runs: dict[plain.Query, Json]
) -> None:
    said = 0
    for key, query in queries.items():
        changes = runs[key]["run"]["facets"].get("accessHistory_ddl", {}).get("changes", [])
        found = [((one["operation"], one.get("objectName"), one["properties"]), one) for one in changes]
        assert sorted(change for change, _ in found) == sorted(query.changes.values())
        settings = [(change, tuple(map(setting.get, SETTING)))
                    for change, one in found for setting in one.get("settings", [])]  # fmt: skip
        assert len(settings) == len(set(settings)), "a setting twice"
        assert set(settings) == query.settings
        grants = [(change, grant) for change, one in found for grant in one.get("grants", [])]
        assert grants == query.grants
        said += len(settings)
    assert said > 20


SETTING = ("property", "field", "element", "objectId", "subOperation", "value")


def test_agents_and_truncated_places(facts: dict[str, list[Json]], runs: dict[plain.Query, Json]) -> None:
    for fact in facts["queries"]:
        facets = runs[fact["account"], fact["query_id"]]["run"]["facets"]
        assert facets["accessHistory_query"]["userName"] == fact["user_name"]
        assert facets["accessHistory_query"]["accessHistoryRows"] == fact["row_count"]
        assert facets["accessHistory_query"].get("parentQueryId") == fact["parent_query_id"]
        assert facets["accessHistory_query"].get("rootQueryId") == fact["root_query_id"]
        agents = [
            (one.get("type"), one.get("id"), one.get("name")) for one in facets["accessHistory_query"].get("agents", [])
        ]
        assert agents == [(one["agent_type"], one["agent_id"], one["agent_name"]) for one in fact["agents"] or []]
        assert facets.get("accessHistory_incompleteness", {}).get("places", []) == (fact["incomplete"] or [])


def test_a_parent_is_named_as_it_is_sent_and_left_out_where_it_has_no_row(
    facts: dict[str, list[Json]], runs: dict[plain.Query, Json]
) -> None:
    found, unknown = 0, 0
    for fact in facts["queries"]:
        parent = runs[fact["account"], fact["query_id"]]["run"]["facets"].get("parent")
        if fact["parent_query_id"] in (None, fact["query_id"]):
            assert parent is None
            continue
        assert (parent is None) == ((fact["account"], fact["parent_query_id"]) not in runs)
        if parent is None:
            unknown += 1
            continue
        found += 1
        _is_run_of(runs, (fact["account"], fact["parent_query_id"]), parent)
        assert ("root" in parent) == ((fact["account"], fact["root_query_id"]) in runs)
        if "root" in parent:
            _is_run_of(runs, (fact["account"], fact["root_query_id"]), parent["root"])
    assert found > 1
    assert unknown > 1


def _is_run_of(runs: dict[plain.Query, Json], query: plain.Query, named: Json) -> None:
    account, query_id = query
    assert named["run"]["runId"] == str(uuid5(UUID(RUN_NAMESPACE), f"{account}/{query_id}"))
    assert named["job"]["namespace"] == f"snowflake://{account}"
    assert named["job"]["name"] == runs[query]["job"]["name"]


def test_a_job_is_one_set_of_inputs_and_outputs(runs: dict[plain.Query, Json]) -> None:
    sets = defaultdict(set)
    for (account, _), event in runs.items():
        inputs, outputs = (tuple(sorted(told.names(event[side]))) for side in ("inputs", "outputs"))
        sets[account, event["job"]["name"]].add((inputs, outputs))
        assert runs_of("START")[account, told.query_id(event)]["job"]["name"] == event["job"]["name"]
    assert all(len(one) == 1 for one in sets.values())


def test_a_dataset_event_for_each_dataset_at_the_start_of_its_account(facts: dict[str, list[Json]]) -> None:
    """An object that rows show both with and without the name of its account has an event under that account only."""
    begun: dict[str, Any] = {}
    for fact in facts["queries"]:
        begun[fact["account"]] = min(fact["query_start_time"], begun.get(fact["account"], fact["query_start_time"]))
    times = {one.strftime("%Y-%m-%dT%H:%M:%S.%fZ") for one in begun.values()}
    assert {event["eventTime"] for event in datasets()} <= times
    events = [tuple(told.names([event["dataset"]])) for event in datasets()]
    owned = {(one["account"], one["object_key"]) for one in facts["objects"] if one["object_accounts"]}
    touched = [fact for name in ("accesses", "writes") for fact in facts[name] if fact["kind"] in plain.DATASETS]
    shown = [one for one in touched if one["object_account"] or (one["account"], one["object_key"]) not in owned]
    assert {(plain.dataset(fact),) for fact in shown} <= set(events)
    own = [one for one in events if one[0][0].startswith("snowflake://")]
    assert len(own) == len(set(own)), "two events for one dataset"
