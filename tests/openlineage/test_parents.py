"""Parents and roots: which events have them, and under which names."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import pytest

from exporter.input.query_history import NO_HISTORY, History
from exporter.model.answers import Answers
from exporter.model.facts import Content
from exporter.openlineage.events import name_of, parent_id, root_id, run_events, suffixed
from exporter.openlineage.naming import Job, run_id
from exporter.openlineage.settings import OpenLineageSettings
from tests import exports
from tests.input.bad_rows import GOOD
from tests.openlineage.statements import DEFAULTS, NS, Json, datasets, derived, query, read, thing, write

if TYPE_CHECKING:
    from pathlib import Path


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


def test_a_parent_whose_row_is_not_there_is_not_named_until_it_is() -> None:
    """A backend keeps a run at the job that it had first, and some name this by its parent's."""
    assert parent(Answers(), parent_query_id="p", root_query_id="r") is None
    assert parent(Answers(root_job="job r"), parent_query_id="p", root_query_id="r") is None
    facet = parent(Answers(parent_job="job p"), OpenLineageSettings(job_namespace="jobs"), **LATE)
    assert told(facet) == named("p", "job p", "jobs")


LATE: Final = {"parent_query_id": "p", "root_query_id": "r"}


def test_a_root_that_is_the_query_itself_has_its_own_job() -> None:
    facet = parent(Answers(parent_job="p", root_job="other"), parent_query_id="p", root_query_id="q")
    own = run_events(query(Content()), Answers(), DEFAULTS)[0].job_name
    assert own
    assert told(facet)["root"] == named("q", own)


def test_a_jobs_name_has_columns_of_query_history_only_where_the_settings_ask_for_it() -> None:
    history = History(query_tag="nightly", query_parameterized_hash="", warehouse_name="WH")
    assert suffixed(Job(), history, DEFAULTS).suffixes == ()
    chosen = OpenLineageSettings(job_name_from=("warehouse_name", "query_parameterized_hash", "query_tag"))
    assert suffixed(Job(), history, chosen).suffixes == ("WH", "nightly")
    assert suffixed(Job(), NO_HISTORY, chosen).suffixes == ()


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
            assert {one.job_name for one in sent} == {name_of(query(content, history), answers.datasets, settings)}
            assert {json.loads(one.body)["job"]["name"] for one in sent} == {one.job_name for one in sent}


def test_of_several_parents_the_one_that_is_named_has_its_own_job(tmp_path: Path) -> None:
    """Two rows of a query name different parents, which are different jobs."""
    each = [{**GOOD, "query_id": one, "direct_objects_accessed": [
        {"objectDomain": "Table", "objectId": number, "objectName": f"D.S.T{number}"}]}
        for number, one in enumerate(("a", "b"), 1)]  # fmt: skip
    for parents in (("a", "b"), ("b", "a")):
        children = [{**GOOD, "query_id": "c", "parent_query_id": one, "root_query_id": one} for one in parents]
        out = tmp_path / parents[0]
        given = exports.ndjson([*children, *each], tmp_path / f"{parents[0]}.ndjson")
        assert exports.export([given], out, "--outputs", "events") == 0
        found = [json.loads(text).get("run", {}).get("facets", {}).get("parent") for text in exports.events(out)]
        assert {(one["job"]["name"], one["root"]["job"]["name"]) for one in found if one} == {
            ("read D.S.T1", "read D.S.T1")
        }


def test_one_row_may_name_the_root_and_another_the_parent(tmp_path: Path) -> None:
    each = [{**GOOD, "query_id": one} for one in ("p", "r")]
    for number, row in enumerate(each, 1):
        row["direct_objects_accessed"] = [{"objectDomain": "Table", "objectId": number, "objectName": f"D.S.T{number}"}]
    children = [{**GOOD, "query_id": "c", **one} for one in ({"parent_query_id": "p"}, {"root_query_id": "r"})]
    given = exports.ndjson([*children, *each], tmp_path / "rows.ndjson")
    assert exports.export([given], tmp_path / "out", "--outputs", "events") == 0
    events = [json.loads(text) for text in exports.events(tmp_path / "out")]
    facets = [
        event["run"]["facets"]["parent"] for event in events if "parent" in event.get("run", {}).get("facets", {})
    ]
    assert [(one["job"]["name"], one["root"]["job"]["name"]) for one in facets] == [("read D.S.T1", "read D.S.T2")] * 2
