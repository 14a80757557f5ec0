"""The effects of the settings on the events of everything."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest

from exporter.errors import UsageError
from exporter.openlineage.settings import OpenLineageSettings
from tests import exports
from tests.openlineage import told
from tests.openlineage.told import HISTORY, history, sent

Json = dict[str, Any]


def completes(found: list[Json]) -> list[Json]:
    return [event for event in found if event.get("eventType") == "COMPLETE"]


def in_order(events: list[Json]) -> list[str]:
    return sorted(json.dumps(event, sort_keys=True) for event in events)


def test_complete_alone_holds_what_start_and_complete_do() -> None:
    found = sent(start_events=False)
    assert {event.get("eventType") for event in found} == {"COMPLETE", None}
    assert in_order(completes(found)) == in_order(completes(list(told.events())))


def test_without_base_objects_no_base_is_left_and_every_edge_has_its_input() -> None:
    # What is behind a view that is a helper is shown also without base objects: nothing else is known of it.
    found = [one for one in completes(sent(base_inputs=False)) if "accessHistory_helpers" not in one["run"]["facets"]]
    accesses = {one for event in found for dataset in event["inputs"]
                for one in dataset["inputFacets"]["accessHistory_access"]["accesses"]}  # fmt: skip
    assert accesses <= {"DIRECT", "SOURCE"}
    assert "base source" not in json.dumps([event["outputs"] for event in found])
    for event in found:
        inputs = set(told.names(event["inputs"]))
        for output in event["outputs"]:
            for column in output["facets"].get("columnLineage", {}).get("fields", {}).values():
                assert set(told.names(column["inputFields"])) <= inputs


def test_queries_that_only_read_are_left_out_by_a_setting() -> None:
    found = completes(sent(reads=False))
    every = completes(list(told.events()))
    assert found
    fills = [event for event in every if _fills_a_helper(event)]
    assert len(fills) == 2, "the example of dbt fills two tables that are no outputs"
    assert len(found) == len([event for event in every if event["outputs"]]) + len(fills) < len(every)


def _fills_a_helper(event: Json) -> bool:
    named = event["run"]["facets"].get("accessHistory_helpers", {"helpers": []})["helpers"]
    return any("WRITE" in one["accesses"] for one in named)


def test_dataset_events_by_switch() -> None:
    assert not [event for event in sent(dataset_events=False) if "dataset" in event]


def test_the_text_of_a_query_is_sent_only_by_a_setting() -> None:
    hidden, shown = sent(history=history()), told.events_with_history()
    assert json.dumps(HISTORY["query_text"]).strip('"') not in json.dumps(hidden)
    assert not [key for event in hidden for key, _ in told.facets(event) if key == "sql"]
    texts = {event["job"]["facets"]["sql"]["query"] for event in completes(list(shown))}
    assert texts == {HISTORY["query_text"]}


def test_what_query_history_adds() -> None:
    found = completes(sent(history=history()))
    starts = told.runs("START")
    counted = 0
    for event in found:
        facet = event["run"]["facets"]["accessHistory_query"]
        assert (facet["role"], facet["warehouse"], facet["queryTag"]) == ("LOADER", "WH", "nightly")
        assert event["job"]["facets"]["jobType"]["jobType"] == "INSERT"
        tags = {one["key"]: one["value"] for one in event["run"]["facets"]["tags"]["tags"]}
        assert tags == {"user": facet["userName"], "role": "LOADER", "warehouse": "WH"}
        assert event["job"]["facets"]["tags"]["tags"] == event["run"]["facets"]["tags"]["tags"]
        assert event["job"]["name"] == starts[told.account(event), told.query_id(event)]["job"]["name"]
        assert event["eventTime"] > starts[told.account(event), told.query_id(event)]["eventTime"]
        written = [one for one in event["outputs"] if "WRITE" in one["outputFacets"]["accessHistory_write"]["accesses"]]
        rows = [one["outputFacets"].get("outputStatistics", {}).get("rowCount") for one in written]
        assert rows == ([7] if len(written) == 1 else [None] * len(written))
        counted += len(rows) == 1
    assert counted


def test_columns_of_query_history_are_in_a_jobs_name_only_where_they_are_chosen() -> None:
    plain = {event["job"]["name"] for event in told.events() if "job" in event}
    assert {event["job"]["name"] for event in completes(sent(history=history()))} == plain
    named = completes(sent(history=history(), job_name_from=("warehouse_name",)))
    assert all(" (WH) [" in event["job"]["name"] for event in named)


def test_namespaces_letter_case_and_type_are_the_users() -> None:
    accounts = {event["job"]["namespace"] for event in told.events() if "job" in event}
    moves = dict.fromkeys(accounts, "snowflake://it's") | {"file": "file://host"}
    found = sent(
        namespaces=moves,
        letter_case="lower",
        job_namespace="jobs",
        unknown_type="",
        producer="urn:me",
    )
    datasets = {name for event in found for side in ("inputs", "outputs") for name in told.names(event.get(side, []))}
    datasets |= {name for event in found if "dataset" in event for name in told.names([event["dataset"]])}
    assert not accounts & {namespace for namespace, _ in datasets}
    assert ("snowflake://it's", "db.s.v1") in datasets
    assert "file" not in {namespace for namespace, _ in datasets}
    assert {event["job"]["namespace"] for event in found if "job" in event} == {"jobs"}
    assert (
        {event["producer"] for event in found}
        == {facet["_producer"] for event in found for _, facet in told.facets(event)}
        == {"urn:me"}
    )
    assert {
        field["type"]
        for event in found
        for key, facet in told.facets(event)
        if key == "schema"
        for field in facet["fields"]
    } == {""}


def test_the_events_are_the_same_in_any_order_of_the_rows() -> None:
    """What one query says to objects and datasets may be heard before or after what another says."""
    rows = list(exports.all_rows())
    Random(7).shuffle(rows)
    assert told.texts(rows) == told.texts(exports.all_rows())
    assert in_order([json.loads(text) for text in told.texts(rows)]) == in_order(list(told.events()))


@pytest.mark.parametrize(
    ("setting", "word"),
    [
        ({"job_name_from": ("rows_inserted",)}, "rows_inserted"),
        ({"job_name_from": ("no_column",)}, "no_column"),
        ({"producer": "me"}, "URI"),
        ({"producer": 'urn:"'}, "URI"),
        ({"job_namespace": ""}, "job_namespace is empty"),
        ({"namespaces": {"a": "b", "snowflake://A-X": ""}}, "namespaces of snowflake://A-X is empty"),
    ],
)
def test_a_choice_that_makes_no_events_is_refused(setting: dict[str, Any], word: str) -> None:
    with pytest.raises(UsageError, match=word):
        OpenLineageSettings(**setting)
