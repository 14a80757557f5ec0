"""Statements nested in several levels: a push gives each run the same job, whenever its parents become known.

Marquez names a child's job ``parent.own``, and keeps a run at the job that it had first. So the parent is sent as a
facet of our own, and the tests also show why.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest

from tests import exports
from tests.marquez.seen import push
from tests.marquez.test_habits import run, under

if TYPE_CHECKING:
    from pathlib import Path

    from tests.marquez.api import Marquez

Json = dict[str, Any]


def chain(space: str, *names: str) -> list[Json]:
    """Runs of jobs of these names, each within the one before."""
    told: list[Json] = []
    for second, name in enumerate(names):
        at = {"eventTime": f"2026-01-01T00:00:{second:02d}.000000Z"}
        told.append(run(space, name, **at, **({"run": under(told[-1])} if told else {})))
    return told


@pytest.mark.parametrize("known", [0, 1], ids=["all told", "the first one never told"])
def test_each_job_is_there_once_under_its_own_name(marquez: Marquez, tmp_path: Path, known: int) -> None:
    space = f"snowflake://NESTED-{uuid4()}"
    folder = tmp_path / "out"
    (folder / "events").mkdir(parents=True)
    told = chain(space, "a", "b.c", "d", "e")
    exports.ndjson(reversed(told[known:]), folder / "events" / "part-00000.ndjson")
    assert push(folder, marquez) == 0
    jobs = {one["name"]: one["parentJobName"] for one in marquez.listed(space, "jobs")}
    assert jobs == dict.fromkeys(("a", "b.c", "d", "e")[known:])
    assert {one["latestRun"]["state"] for one in marquez.listed(space, "jobs")} == {"COMPLETED"}
    last = told[-1]["run"]
    facets = marquez.get("jobs", "runs", last["runId"])["facets"]
    assert facets["accessHistory_parent"] == last["facets"]["parent"]


def test_a_run_whose_parent_is_told_later_stays_at_the_job_that_it_had_first(marquez: Marquez) -> None:
    """What Marquez does with the facet ``parent``: a second job has what the run read and wrote, and no run."""
    space = f"snowflake://NESTED-{uuid4()}"
    above, below = chain(space, "above", "below")
    early = {**below, "run": {**below["run"], "facets": {}}}
    for event in (early, above, below):
        assert marquez.post(event) == 201
    assert {one["name"] for one in marquez.listed(space, "jobs")} == {"above", "below", "above.below"}
    runs = {one["name"]: one["latestRun"] and one["latestRun"]["id"] for one in marquez.listed(space, "jobs")}
    assert (runs["below"], runs["above.below"]) == (below["run"]["runId"], None)
    assert marquez.get("jobs", "runs", below["run"]["runId"])["jobVersion"]["name"] == "below"
