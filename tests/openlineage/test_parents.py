"""Parents and roots: which events have them, and under which names."""

from __future__ import annotations

import json
from typing import Any

import pytest

from exporter.openlineage.events import run_events
from exporter.openlineage.jobs import UNRECORDED_JOB, job_of, parent_id, root_id
from exporter.openlineage.naming import job_name, run_id
from exporter.openlineage.settings import OpenLineageSettings
from exporter.queries.facts import NO_HISTORY, Content, History
from exporter.things.answers import Answers
from tests.openlineage.statements import DEFAULTS, NS, Json, datasets, derived, query, read, thing, write


def parent(answers: Answers, settings: OpenLineageSettings = DEFAULTS, **ids: Any) -> Json | None:
    found = [
        json.loads(one.body)["run"]["facets"].get("parent")
        for one in run_events(query(Content(), **ids), answers, settings)
    ]
    assert found[0] == found[1]
    return found[0]


def named(query_id: str, job: str, namespace: str = NS) -> Json:
    return {"run": {"runId": run_id("ORG-ACC", query_id)}, "job": {"namespace": namespace, "name": job}}


def told(facet: Json | None) -> Json:
    assert facet
    return {name: value for name, value in facet.items() if not name.startswith("_")}


@pytest.mark.parametrize("ids", [{}, {"root_query_id": "r"}, {"parent_query_id": "q", "root_query_id": "r"}])
def test_a_query_without_a_parent_or_that_is_its_own_has_none(ids: dict[str, str]) -> None:
    assert parent(Answers(parent_job="p", root_job="r"), **ids) is None
    assert (parent_id(query(Content(), **ids)), root_id(query(Content(), **ids))) == (None, None)


def test_a_parent_and_a_root_have_the_names_under_which_they_were_sent() -> None:
    assert told(parent(Answers(parent_job="job p"), parent_query_id="p")) == named("p", "job p")
    facet = parent(Answers(parent_job="job p", root_job="job r"), parent_query_id="p", root_query_id="r")
    assert told(facet) == {**named("p", "job p"), "root": named("r", "job r")}


def test_those_that_have_no_row_are_one_job() -> None:
    facet = parent(Answers(), OpenLineageSettings(job_namespace="jobs"), parent_query_id="p", root_query_id="r")
    assert told(facet) == {**named("p", UNRECORDED_JOB, "jobs"), "root": named("r", UNRECORDED_JOB, "jobs")}


def test_a_root_that_is_the_query_itself_has_its_own_job() -> None:
    facet = parent(Answers(parent_job="p", root_job="other"), parent_query_id="p", root_query_id="q")
    own = run_events(query(Content()), Answers(), DEFAULTS)[0].job_name
    assert own
    assert told(facet)["root"] == named("q", own)


def test_what_query_history_does_not_tell_is_no_part_of_a_jobs_name() -> None:
    history = History(query_tag="nightly", query_parameterized_hash="", warehouse_name="WH")
    assert job_of(Content(), {}, history, DEFAULTS).prefixes == ("nightly",)
    assert job_of(Content(), {}, NO_HISTORY, DEFAULTS).prefixes == ()
    chosen = OpenLineageSettings(job_name_from=("warehouse_name", "query_tag"))
    assert job_of(Content(), {}, history, chosen).prefixes == ("WH", "nightly")


def test_a_job_is_named_for_its_children_as_it_is_sent() -> None:
    content = Content(
        accesses=(read("table/1"), read("function/2", signature="()")),
        writes=(write("table/9", "A"),),
        derivations=(derived("A", thing("table/3"), "X"), derived("A", thing("table/4"), "X", "BASE")),
    )
    for history in (NO_HISTORY, History(query_tag="nightly", query_parameterized_hash="")):
        for settings in (DEFAULTS, OpenLineageSettings(base_inputs=False), OpenLineageSettings(reads=False)):
            answers = Answers(datasets=datasets(content))
            sent = run_events(query(content, history), answers, settings)
            assert {one.job_name for one in sent} == {job_name(job_of(content, answers.datasets, history, settings))}
            assert {json.loads(one.body)["job"]["name"] for one in sent} == {one.job_name for one in sent}
