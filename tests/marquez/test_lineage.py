"""The corpus and the example company, exported and pushed: Marquez shows exactly the lineage of the rows.

The expected lineage is read from the rows in plain Python (:mod:`tests.marquez.rows`). A real Marquez at MARQUEZ_URL
must not have these accounts yet, since jobs of an older version of the program would remain.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import pytest

from exporter.openlineage.jobs import UNRECORDED_JOB
from tests import exports
from tests.marquez import api, exported, rows
from tests.marquez.seen import Seen, look, name_of, node, push, same

if TYPE_CHECKING:
    from tests.marquez.api import Marquez


@pytest.fixture(scope="module")
def seen(marquez: Marquez, tmp_path_factory: pytest.TempPathFactory) -> Seen:
    folder = tmp_path_factory.mktemp("examples") / "out"
    lineage = exported.examples(folder)
    known = {account for account, _ in lineage.statements if marquez.knows(f"snowflake://{account}")}
    assert not known, "this Marquez knows accounts of the examples: give an empty one"
    assert push(folder, marquez) == 0
    return look(marquez, lineage)


def test_every_dataset_with_all_its_known_fields_and_none_doubled(seen: Seen) -> None:
    same(set(seen.datasets), set(seen.lineage.fields))
    found = {name: api.fields(one) for name, one in seen.datasets.items()}
    assert found == {name: sorted(fields) for name, fields in seen.lineage.fields.items()}
    assert sum(map(len, found.values())) > 100


def test_every_job_has_a_run_of_a_query_and_the_latest_in_the_right_state(seen: Seen) -> None:
    queries = defaultdict(list)
    for query, statement in seen.lineage.in_order():
        queries[seen.job_of[query]].append((statement.at, rows.run_id(query)))
    same(set(seen.jobs), set(queries) | parents_without_a_row(seen))
    for name, told in queries.items():
        latest = {run for at, run in told if at == max(told)[0]}
        assert seen.jobs[name]["latestRun"]["id"] in latest
        assert seen.jobs[name]["latestRun"]["state"] == "COMPLETED"


def parents_without_a_row(seen: Seen) -> set[rows.Name]:
    queries = seen.lineage.statements
    found = {one.parent for one in queries.values() if one.parent and one.parent not in queries}
    return {(f"snowflake://{account}", UNRECORDED_JOB) for account, _ in found}


def test_the_graph_edge_for_edge(seen: Seen) -> None:
    expected = seen.expected_edges()
    same(seen.edges(), expected)
    assert len(expected) > 150


def test_column_lineage_edge_for_edge(seen: Seen) -> None:
    expected = {edge for statement in seen.lineage.statements.values() for edge in statement.columns}
    shown = [seen.marquez.dataset(name) for name in seen.datasets]
    same(api.column_edges(shown), expected)
    assert len(expected) > 50


def test_the_graph_of_columns_reaches_the_first_sources(seen: Seen) -> None:
    made = defaultdict(set)
    for statement in seen.lineage.statements.values():
        for source, column, target, output in statement.columns:
            made[target, output].add((source, column))
    target = ("snowflake://" + exports.ACCOUNT, "MART.SALES.FCT_ORDERS")
    expected, edge = set(), {one for one in made if one[0] == target}
    while edge:
        steps = {(one, source) for one in edge for source in made[one]} - expected
        expected |= steps
        edge = {source for _, source in steps}
    graph = seen.marquez.get("column-lineage", nodeId=node("dataset", target), depth=api.DEPTH)["graph"]
    found = {(edge["origin"], edge["destination"]) for field in graph for edge in field["inEdges"]}
    same(found, {(_column(*one), _column(*source)) for one, source in expected})


def _column(name: rows.Name, column: str) -> str:
    return f"{node('datasetField', name)}:{column}"


def test_parents(seen: Seen) -> None:
    queries = seen.lineage.statements
    children = 0
    for query, statement in queries.items():
        job = seen.jobs[seen.job_of[query]]
        if statement.parent is None:
            assert job["parentJobName"] is None
            continue
        children += 1
        named = seen.job_of[statement.parent][1] if statement.parent in queries else UNRECORDED_JOB
        assert job["parentJobName"] == named
        assert job["name"] == f"{named}.{job['simpleName']}"
    assert children > 10


def test_what_was_dropped_is_gone_and_what_was_renamed_leads_to_its_new_name(seen: Seen) -> None:
    gone = {name for name, one in seen.datasets.items() if one["deleted"]}
    assert gone == seen.lineage.dropped()
    renames = [pair for one in seen.lineage.statements.values() for pair in one.previous.items()]
    assert gone
    assert renames
    for new, old in renames:
        state = seen.marquez.dataset(new)["facets"]["lifecycleStateChange"]
        assert (state["lifecycleStateChange"], name_of(state["previousIdentifier"])) == ("RENAME", old)
        nodes = {node["id"] for node in seen.marquez.graph(node("dataset", old))}
        assert node("dataset", new) in nodes
