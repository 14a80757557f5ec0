"""The datasets and jobs that Marquez shows for rows, and those that a plain reading of the rows expects."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from exporter.cli import main
from tests.marquez import api, rows

if TYPE_CHECKING:
    from pathlib import Path

    from tests.marquez.api import Json, Marquez

Edge = tuple[str, str]


@dataclass(frozen=True)
class Seen:
    """``lineage``: what the rows say; the rest: what ``marquez`` shows, jobs with the queries whose runs they have."""

    marquez: Marquez
    lineage: rows.Lineage
    datasets: dict[rows.Name, Json]
    jobs: dict[rows.Name, Json]
    job_of: dict[rows.Query, rows.Name]

    def expected_edges(self) -> set[Edge]:
        """Of datasets to the jobs that read them, and of jobs to the datasets that they write."""
        edges = set()
        for query, statement in self.lineage.statements.items():
            job = node("job", self.job_of[query])
            edges |= {(node("dataset", name), job) for name in statement.inputs}
            edges |= {(job, node("dataset", name)) for name in statement.outputs}
        return edges

    def edges(self) -> set[Edge]:
        """Of the graphs of all jobs."""
        return api.edges_of(self.marquez, (node("job", name) for name in self.jobs))


def push(folder: Path, marquez: Marquez, *options: str) -> int:
    """``exporter push`` in this process; returns its exit code."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENLINEAGE_URL", marquez.url)
        patch.delenv("OPENLINEAGE_CONFIG", raising=False)
        return main(["push", str(folder), "--profile", "marquez", *options])


def look(marquez: Marquez, lineage: rows.Lineage) -> Seen:
    """Everything in the namespaces of the rows; every query must have a run that is complete."""
    accounts = {f"snowflake://{account}" for account, _ in lineage.statements}
    spaces = accounts | {name[0] for name in lineage.fields}
    datasets = {name_of(one): one for space in sorted(spaces) for one in marquez.listed(space, "datasets")}
    jobs = {name_of(one): one for space in sorted(accounts) for one in marquez.listed(space, "jobs")}
    runs = {query: marquez.get("jobs", "runs", rows.run_id(query)) for query in lineage.statements}
    assert {run["state"] for run in runs.values()} == {"COMPLETED"}
    return Seen(marquez, lineage, datasets, jobs, {query: name_of(run["jobVersion"]) for query, run in runs.items()})


def name_of(thing: Json) -> rows.Name:
    return thing["namespace"], thing["name"]


def node(kind: str, name: rows.Name) -> str:
    return ":".join((kind, *name))


def same(found: set[Any], expected: set[Any]) -> None:
    """Both ways, with what is too many and what is missing in the failure's text."""
    assert sorted(found - expected, key=str) == []
    assert sorted(expected - found, key=str) == []
