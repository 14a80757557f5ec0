"""The corpus and the example company, exported and pushed: Marquez shows exactly the lineage of the rows.

The expected lineage is read from the rows in plain Python (:mod:`tests.marquez.rows`). A real Marquez at MARQUEZ_URL
must not have these accounts yet, since jobs of an older version of the program would remain.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest

from tests import exports
from tests.marquez import api, exported, rows
from tests.marquez.seen import Seen, look, name_of, node, push, same

if TYPE_CHECKING:
    from pathlib import Path

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
    same(set(seen.jobs), set(queries))
    for name, told in queries.items():
        latest = {run for at, run in told if at == max(told)[0]}
        assert seen.jobs[name]["latestRun"]["id"] in latest
        assert seen.jobs[name]["latestRun"]["state"] == "COMPLETED"


def test_the_graph_edge_for_edge(seen: Seen) -> None:
    expected = seen.expected_edges()
    same(seen.edges(), expected)
    assert len(expected) > 130


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


def test_a_dbt_run_shows_each_model_made_from_its_sources(marquez: Marquez, tmp_path: Path) -> None:
    """As the README of the example says; its three helpers are nowhere."""
    account = f"DBT-{uuid4().hex[:12].upper()}"
    space, schema = f"snowflake://{account}", "SHOP.MARTS."
    exported.dbt_run(tmp_path / "out", account)
    assert push(tmp_path / "out", marquez) == 0
    datasets = [marquez.dataset(name_of(one)) for one in marquez.listed(space, "datasets")]
    columns = {
        f"{source[1]}.{column} {target[1].removeprefix(schema)}.{output}"
        for source, column, target, output in api.column_edges(datasets)
    }
    assert columns == {
        "SHOP.RAW.ORDERS.ID ORDERS.ORDER_ID",
        "SHOP.RAW.CUSTOMERS.NAME ORDERS.CUSTOMER",
        "SHOP.RAW.ORDERS.AMOUNT ORDERS.AMOUNT",
        "SHOP.RAW.CUSTOMERS.ID CUSTOMERS.ID",
        "SHOP.RAW.CUSTOMERS.NAME CUSTOMERS.NAME",
        "SHOP.MARTS.ORDERS.CUSTOMER REVENUE.CUSTOMER",
        "SHOP.MARTS.ORDERS.AMOUNT REVENUE.REVENUE",
    }
    models = {one["name"] for one in datasets} - {"SHOP.RAW.ORDERS", "SHOP.RAW.CUSTOMERS"}
    assert models == {f"{schema}ORDERS", f"{schema}CUSTOMERS", f"{schema}REVENUE"}
    upstream = marquez.get("column-lineage", nodeId=node("datasetField", (space, f"{schema}REVENUE")) + ":REVENUE")
    reached = {one["id"].rpartition("SHOP.")[2] for one in upstream["graph"]}
    assert reached == {"MARTS.REVENUE:REVENUE", "MARTS.ORDERS:AMOUNT", "RAW.ORDERS:AMOUNT"}
    assert not any("__DBT_TMP" in one["name"] for one in marquez.listed(space, "jobs"))
    graph = {one["id"] for one in marquez.graph(node("dataset", (space, f"{schema}REVENUE")))}
    assert {node("dataset", name_of(one)) for one in datasets} <= graph


def test_jobs_stand_by_themselves_and_a_childs_run_names_its_parents(seen: Seen) -> None:
    queries = seen.lineage.statements
    assert {job["parentJobName"] for job in seen.jobs.values()} == {None}
    children = 0
    for query, statement in queries.items():
        shown = seen.marquez.get("jobs", "runs", rows.run_id(query))["facets"]
        assert "parent" not in shown
        parent = shown.get("accessHistory_parent")
        if statement.parent not in queries:
            assert parent is None
            continue
        children += 1
        assert parent["run"]["runId"] == rows.run_id(statement.parent)
        assert (parent["job"]["namespace"], parent["job"]["name"]) == seen.job_of[statement.parent]
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
