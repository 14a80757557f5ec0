"""What the settings change in the events, on the facts of one export of everything."""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import functions as F

from exporter.errors import UsageError
from exporter.openlineage.events import EVENT_COLUMNS, events
from exporter.openlineage.settings import OpenLineageSettings
from tests.openlineage import told
from tests.openlineage.told import HISTORY, with_history

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from exporter.facts import Facts

Json = dict[str, Any]


@cache
def all_facts(spark: SparkSession) -> Facts:
    return told.facts(spark)


def sent(facts: Facts, **settings: Any) -> list[Json]:
    found = events(facts, OpenLineageSettings(**settings))
    assert tuple(found.columns) == EVENT_COLUMNS
    return [json.loads(row.event) for row in found.collect()]


def completes(found: list[Json]) -> list[Json]:
    return [event for event in found if event.get("eventType") == "COMPLETE"]


def test_complete_alone_holds_what_start_and_complete_do(spark: SparkSession) -> None:
    found = sent(all_facts(spark), start_events=False)
    assert {event.get("eventType") for event in found} == {"COMPLETE", None}
    key = lambda event: json.dumps(event, sort_keys=True)  # noqa: E731
    assert sorted(completes(found), key=key) == sorted(completes(list(told.events())), key=key)


def test_without_base_objects_no_base_is_left_and_every_edge_has_its_input(spark: SparkSession) -> None:
    found = completes(sent(all_facts(spark), base_inputs=False))
    accesses = {one for event in found for dataset in event["inputs"]
                for one in dataset["inputFacets"]["accessHistory_access"]["accesses"]}  # fmt: skip
    assert accesses <= {"DIRECT", "SOURCE"}
    assert "base source" not in json.dumps([event["outputs"] for event in found])
    for event in found:
        inputs = set(told.names(event["inputs"]))
        for output in event["outputs"]:
            for column in output["facets"].get("columnLineage", {}).get("fields", {}).values():
                assert set(told.names(column["inputFields"])) <= inputs


def test_reads_alone_stay_at_home_by_switch(spark: SparkSession) -> None:
    found = completes(sent(all_facts(spark), reads=False))
    every = completes(list(told.events()))
    assert found
    assert len(found) == len([event for event in every if event["outputs"]]) < len(every)


def test_dataset_events_by_switch(spark: SparkSession) -> None:
    assert not [event for event in sent(all_facts(spark), dataset_events=False) if "dataset" in event]


def test_the_text_of_a_query_goes_out_only_by_switch(spark: SparkSession) -> None:
    facts = with_history(all_facts(spark))
    hidden, shown = sent(facts), sent(facts, sql=True)
    assert HISTORY["query_text"] not in json.dumps(hidden, ensure_ascii=False)
    assert not [key for event in hidden for key, _ in told.facets(event) if key == "sql"]
    texts = {event["job"]["facets"]["sql"]["query"] for event in completes(shown)}
    assert texts == {HISTORY["query_text"]}


def test_what_query_history_adds(spark: SparkSession) -> None:
    found = completes(sent(with_history(all_facts(spark))))
    starts = told.runs("START")
    counted = 0
    for event in found:
        facet = event["run"]["facets"]["accessHistory_query"]
        assert (facet["role"], facet["warehouse"], facet["queryTag"]) == ("LOADER", "WH", "nightly")
        assert event["job"]["facets"]["jobType"]["jobType"] == "INSERT"
        assert event["job"]["name"].startswith("nightly: 0123abcd: ")
        assert event["eventTime"] > starts[told.account(event), told.query_id(event)]["eventTime"]
        written = [one for one in event["outputs"] if "WRITE" in one["outputFacets"]["accessHistory_write"]["accesses"]]
        rows = [one["outputFacets"].get("outputStatistics", {}).get("rowCount") for one in written]
        assert rows == ([7] if len(written) == 1 else [None] * len(written))
        counted += len(rows) == 1
    assert counted


def test_what_goes_before_a_jobs_name_can_be_chosen(spark: SparkSession) -> None:
    facts = with_history(all_facts(spark))
    plain = {event["job"]["name"] for event in told.events() if "job" in event}
    assert {event["job"]["name"] for event in completes(sent(facts, job_name_from=()))} == plain
    assert all(
        event["job"]["name"].startswith("WH: ") for event in completes(sent(facts, job_name_from=("warehouse_name",)))
    )


def test_namespaces_letter_case_and_type_are_the_users(spark: SparkSession) -> None:
    accounts = {event["job"]["namespace"] for event in told.events() if "job" in event}
    moves = dict.fromkeys(accounts, "snowflake://it's") | {"file": "file://host"}
    found = sent(
        all_facts(spark),
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


def test_the_events_are_the_same_in_any_order_and_partitions(spark: SparkSession) -> None:
    facts = all_facts(spark)
    shuffled = {name: table.orderBy(F.rand(7)).repartition(5) for name, table in facts.tables()}
    before = spark.conf.get("spark.sql.shuffle.partitions")
    spark.conf.set("spark.sql.shuffle.partitions", "7")
    try:
        found = sorted(json.dumps(event, sort_keys=True) for event in sent(type(facts)(**shuffled)))
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", before)
    assert found == sorted(json.dumps(event, sort_keys=True) for event in told.events())


@pytest.mark.parametrize(
    ("setting", "word"),
    [
        ({"job_name_from": ("rows_inserted",)}, "rows_inserted"),
        ({"job_name_from": ("no_column",)}, "no_column"),
        ({"producer": "me"}, "URI"),
        ({"producer": 'urn:"'}, "URI"),
    ],
)
def test_a_choice_that_makes_no_events_is_refused(setting: dict[str, Any], word: str) -> None:
    with pytest.raises(UsageError, match=word):
        OpenLineageSettings(**setting)
