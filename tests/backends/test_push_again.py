"""For backends that keep former versions, events of the outputs follow a run that is sent again with other content."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

import pytest

from tests import exports
from tests.backends.hostile import Hostile
from tests.backends.pushing import counted, push

if TYPE_CHECKING:
    from pathlib import Path

Json = dict[str, Any]
pytestmark = pytest.mark.usefixtures("alone")
FACET: Final = {"_producer": "https://example.com/p", "_schemaURL": "https://example.com/s"}
SPEC: Final = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs"
LINEAGE: Final = {**FACET, "fields": {"A": {"inputFields": [{"namespace": "n", "name": "s", "field": "A"}]}}}


def told(*columns: str, kind: str = "COMPLETE", number: int = 0) -> Json:
    """An event of a run that drops ``t``, which has these columns."""
    facets = {
        "schema": {**FACET, "fields": [{"name": one, "type": "UNKNOWN"} for one in columns]},
        "lifecycleStateChange": {**FACET, "lifecycleStateChange": "DROP"},
        "columnLineage": LINEAGE,
    }
    return {
        "eventTime": f"2026-01-01T00:00:0{number}Z",
        "eventType": kind,
        "producer": "https://example.com/p",
        "schemaURL": f"{SPEC}/RunEvent",
        "run": {"runId": f"0194f0f0-0000-7000-8000-00000000000{number}"},
        "job": {"namespace": "n", "name": "j"},
        "inputs": [{"namespace": "n", "name": "s"}],
        "outputs": [{"namespace": "n", "name": "t", "facets": facets}] if kind == "COMPLETE" else [],
    }


def pushed(
    folder: Path, events: list[Json], server: Hostile, capsys: pytest.CaptureFixture[str], profile: str
) -> list[Json]:
    """What arrives of the events, which are those of the folder now."""
    (folder / "events").mkdir(parents=True, exist_ok=True)
    exports.ndjson(events, folder / "events" / "part-00000.ndjson")
    before = len(server.taken)
    push(folder, server.url, capsys, "--profile", profile, "--concurrency", "1")
    return [*server.taken[before:]]


def test_events_of_its_outputs_follow_without_facets_of_the_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    start, other = told(kind="START"), told("A", number=1)
    with Hostile() as server:
        first = [start, told("A"), other]
        assert pushed(tmp_path, first, server, capsys, "marquez") == first
        again = told("A", "B")
        run, dataset = pushed(tmp_path, [start, again, other], server, capsys, "marquez")[:2]
        assert run == {**again, "eventTime": "2026-01-01T00:00:00.000001Z"}
        facets = {name: facet for name, facet in again["outputs"][0]["facets"].items() if name != "columnLineage"}
        facets["tags"] = dataset["dataset"]["facets"]["tags"]
        assert facets["tags"]["tags"] == []  # otherwise Marquez would show those of an earlier event of the dataset
        assert datetime.now(UTC) - datetime.fromisoformat(dataset["eventTime"]) < timedelta(minutes=10)
        assert dataset == {
            "eventTime": dataset["eventTime"],
            "producer": again["producer"],
            "schemaURL": f"{SPEC}/DatasetEvent",
            "dataset": {"namespace": "n", "name": "t", "facets": facets},
        }
        assert push(tmp_path, server.url, capsys, "--profile", "marquez").counts == counted(already_delivered=3)


def test_each_time_it_ends_later(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of two values of a facet of a run, Marquez shows that of the later event, and any of those of one time."""
    with Hostile() as server:
        times = [
            pushed(tmp_path, [told(*columns)], server, capsys, "marquez")[0]["eventTime"]
            for columns in ("A", "AB", "ABC", "ABCD")
        ]
    assert times == [f"2026-01-01T00:00:00{fraction}Z" for fraction in ("", ".000001", ".000002", ".000003")]


def test_a_run_that_has_another_job_than_before_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Marquez keeps it at the job that it had first; nobody could know why the new job has no run."""
    other = told("A", number=1)
    moved = {**told("A"), "job": {"namespace": "n", "name": "k"}}

    def said(*events: Json, profile: str = "marquez") -> str:
        (tmp_path / "events").mkdir(exist_ok=True)
        exports.ndjson(events, tmp_path / "events" / "part-00000.ndjson")
        return push(tmp_path, server.url, capsys, "--profile", profile).said

    with Hostile() as server:
        assert "another job" not in said(told("A"), other)
        assert "another job" not in said(told("A", "B"), other)
        assert "runs with another job than when they were delivered, since rows came late: 1." in said(moved, other)
        (summary,) = (tmp_path / "push").glob("*/summary.json")
        assert json.loads(summary.read_text("utf-8"))["moved"] == 1
        assert "another job" not in said(moved, other)
        ledger = summary.parent / "ledger.txt"
        former = [line for line in ledger.read_text("ascii").splitlines(keepends=True) if not line.startswith("@")]
        ledger.write_text("".join(former), "ascii")
        assert "another job" not in said({**moved, "job": {"namespace": "n", "name": "l"}}, other)
    with Hostile() as server:
        said(told("A"), profile="any")
        assert "another job" not in said(moved, profile="any")


def test_other_backends_get_the_run_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Hostile() as server:
        pushed(tmp_path, [told("A")], server, capsys, "any")
        assert pushed(tmp_path, [told("A", "B")], server, capsys, "any") == [told("A", "B")]
