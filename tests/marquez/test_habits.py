"""What Marquez refuses and keeps, tested on the fake one and on the real one at MARQUEZ_URL.

Each test has its own namespace, so that a Marquez with other data can be used.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest

from tests.marquez import api

if TYPE_CHECKING:
    from tests.marquez.api import Marquez

Json = dict[str, Any]
FACET = {"_producer": "https://example.com/p", "_schemaURL": "https://example.com/s"}
SPEC = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs"

MUCH = "".join(hashlib.sha256(bytes([one])).hexdigest() for one in range(79))[:5000]
"""A text that cannot be stored in much less than half of its length: PostgreSQL indexes at most 2,704 bytes of a name,
and shortens what repeats itself."""


@pytest.fixture
def space() -> str:
    return f"snowflake://HABITS-{uuid4()}"


def dataset(space: str, name: str, *columns: str, **facets: Any) -> Json:
    """A dataset with typed columns; a facet of None is left out, and other than a dict is ``schema``'s columns."""
    fields = [{"name": one, "type": "UNKNOWN"} for one in columns]
    told = {"schema": {**FACET, "fields": fields}} if columns else {}
    return {
        "namespace": space,
        "name": name,
        "facets": {**told, **{key: {**FACET, **one} for key, one in facets.items()}},
    }


def run(space: str, name: str = "j", **told: Any) -> Json:
    """A COMPLETE of a new run, unless told otherwise."""
    base = {"eventType": "COMPLETE", "eventTime": "2026-01-01T00:00:01.000000Z", "producer": "https://example.com/p"}
    named = {"run": {"runId": str(uuid4())}, "job": {"namespace": space, "name": name}, "schemaURL": f"{SPEC}/RunEvent"}
    return {**base, **named, "inputs": [], "outputs": [], **told}


def alone(given: Json) -> Json:
    """An event of a dataset by itself."""
    base = {"eventTime": "2026-01-01T00:00:00.000000Z", "producer": "https://example.com/p"}
    return {**base, "schemaURL": f"{SPEC}/DatasetEvent", "dataset": given}


def columns(**sources: tuple[str, str, str]) -> Json:
    """A ``columnLineage``: column -> namespace, dataset and field that it was made from."""
    inputs = {one: [dict(zip(("namespace", "name", "field"), source, strict=True))] for one, source in sources.items()}
    return {"fields": {one: {"inputFields": ones} for one, ones in inputs.items()}}


def made(marquez: Marquez, *events: Json) -> None:
    assert [marquez.post(event) for event in events] == [201] * len(events)


def without(event: Json, name: str) -> Json:
    return {key: value for key, value in event.items() if key != name}


REFUSED = {
    "no eventTime": (lambda s: without(run(s), "eventTime"), 422),
    "no run": (lambda s: without(run(s), "run"), 422),
    "no producer": (lambda s: without(run(s), "producer"), 422),
    "no job": (lambda s: without(run(s), "job"), 422),
    "jobType without jobType": (
        lambda s: run(
            s,
            job={
                "namespace": s,
                "name": "j",
                "facets": {"jobType": {**FACET, "processingType": "BATCH", "integration": "X"}},
            },
        ),
        422,
    ),
    "namespace with a space": (lambda s: run(s, inputs=[dataset(f"{s} x", "d")]), 400),
    "namespace with a percent sign": (lambda s: run(s, outputs=[dataset(f"{s}%20", "d")]), 400),
    "namespace with a comma": (lambda s: run(s, outputs=[dataset(f"{s},x", "d")]), 400),
    "namespace with a quote": (lambda s: run(s, outputs=[dataset(f"{s}'x", "d")]), 400),
    "namespace with an accent": (lambda s: run(s, outputs=[dataset(f"{s}é", "d")]), 400),
    "namespace of 1,025 characters": (lambda s: run(s, outputs=[dataset(s.ljust(1025, "x"), "d")]), 400),
    "no JSON": (lambda _: b"{", 500),
    "an array": (lambda s: json.dumps([run(s)]).encode(), 500),
    "a date without a time": (lambda s: run(s, eventTime="2026-01-01"), 500),
    "NUL": (lambda s: run(s, outputs=[dataset(s, "a\0b")]), 500),
    "NUL in a field": (lambda s: run(s, outputs=[dataset(s, "d", "a\0b")]), 500),
    "dataset name of 5,000 characters that hold much": (lambda s: run(s, outputs=[dataset(s, MUCH)]), 500),
    "field of 256 characters": (lambda s: run(s, outputs=[dataset(s, "d", "x" * 256)]), 500),
}
TAKEN = {
    "a run": run,
    "START": lambda s: run(s, eventType="START"),
    "a dataset by itself": lambda s: alone(dataset(s, "d", "A")),
    "field of 255 characters": lambda s: run(s, outputs=[dataset(s, "d", "x" * 255)]),
    "name of 2,000 characters": lambda s: run(s, "j" * 2000),
    "dataset name of 5,000 characters": lambda s: run(s, outputs=[dataset(s, "x" * 5000)]),
    "hard names": lambda s: run(s, 'a\n"ü" 😀', inputs=[dataset(s, 'D."a b"."\n😀"', 'x"y')]),
    "escaped NUL": lambda s: run(s, outputs=[dataset(s, r"a\u0000b")]),
    "every character of a namespace": lambda s: run(s, outputs=[dataset(f"{s}aZ0:;=/_-.@+", "d")]),
    "no schemaURL": lambda s: without(run(s), "schemaURL"),
    "a facet that nobody knows": lambda s: run(s, outputs=[dataset(s, "d", own_facet={"a": [1, {"b": None}]})]),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_refused(marquez: Marquez, space: str, case: str) -> None:
    event, status = REFUSED[case]
    assert marquez.post(event(space)) == status


@pytest.mark.parametrize("case", TAKEN)
def test_taken(marquez: Marquez, space: str, case: str) -> None:
    assert marquez.post(TAKEN[case](space)) == 201


def test_a_refused_namespace_breaks_the_list_of_namespaces(marquez: Marquez, space: str) -> None:
    """It is kept before it is refused: one such event, and the pages of Marquez show no namespace any more."""
    made(marquez, run(space))
    assert marquez.post(run(space, inputs=[dataset(f"{space} x", "d")])) == 400
    assert marquez.status("namespaces", limit=10_000) == 500
    assert marquez.get("namespaces", "default")["name"] == "default"
    assert marquez.status("namespaces", space) == 200


def test_a_jobs_namespace_is_rewritten(marquez: Marquez) -> None:
    odd = f"habits {uuid4()}"
    made(marquez, run(odd, "j"))
    assert [one["name"] for one in marquez.listed(odd.replace(" ", "_"), "jobs")] == ["j"]


# --- fields -----------------------------------------------------------------------------------------------------------


def test_an_output_has_the_fields_of_its_last_write(marquez: Marquez, space: str) -> None:
    made(
        marquez,
        run(space, outputs=[dataset(space, "d", "A", "B")]),
        run(space, outputs=[dataset(space, "d", "B", "C")]),
    )
    assert api.fields(marquez.dataset((space, "d"))) == ["B", "C"]


def test_an_output_without_schema_has_none(marquez: Marquez, space: str) -> None:
    made(marquez, alone(dataset(space, "d", "A")), run(space, outputs=[dataset(space, "d")]))
    assert api.fields(marquez.dataset((space, "d"))) == []


def test_fields_of_inputs_add_up(marquez: Marquez, space: str) -> None:
    made(
        marquez, run(space, inputs=[dataset(space, "d", "A", "B")]), run(space, inputs=[dataset(space, "d", "B", "C")])
    )
    made(marquez, run(space, inputs=[dataset(space, "d")]))
    assert api.fields(marquez.dataset((space, "d"))) == ["A", "B", "C"]


def test_an_event_of_a_dataset_is_a_write(marquez: Marquez, space: str) -> None:
    made(marquez, run(space, inputs=[dataset(space, "d", "A", "B")]), alone(dataset(space, "d", "B")))
    assert api.fields(marquez.dataset((space, "d"))) == ["B"]


def test_fields_without_a_type_are_doubled(marquez: Marquez, space: str) -> None:
    untyped = {**dataset(space, "d"), "facets": {"schema": {**FACET, "fields": [{"name": "B"}]}}}
    made(
        marquez,
        run(space, inputs=[dataset(space, "d", "A")]),
        run(space, inputs=[untyped]),
        run(space, inputs=[untyped]),
    )
    assert api.fields(marquez.dataset((space, "d"))) == ["A", "B", "B"]
    assert marquez.status("column-lineage", nodeId=f"datasetField:{space}:d:B") == 500


def test_the_type_unknown_is_enough(marquez: Marquez, space: str) -> None:
    plain = {**dataset(space, "d"), "facets": {"schema": {**FACET, "fields": [{"name": "B", "type": ""}]}}}
    made(marquez, run(space, inputs=[plain]), run(space, inputs=[plain]))
    assert api.fields(marquez.dataset((space, "d"))) == ["B"]


def test_the_fields_of_a_write_are_shown_when_the_run_has_ended(marquez: Marquez, space: str) -> None:
    begun = run(space, eventType="START", outputs=[dataset(space, "d", "A")])
    made(marquez, begun)
    assert api.fields(marquez.dataset((space, "d"))) == []
    made(marquez, {**begun, "eventType": "COMPLETE", "outputs": []})
    assert api.fields(marquez.dataset((space, "d"))) == ["A"]


def test_an_event_of_a_job_shows_its_datasets_and_no_run(marquez: Marquez, space: str) -> None:
    event = {**without(run(space, outputs=[dataset(space, "d", "A")]), "run"), "schemaURL": f"{SPEC}/JobEvent"}
    made(marquez, event)
    job = marquez.get("namespaces", space, "jobs", "j")
    assert ([one["name"] for one in job["outputs"]], job["latestRun"]) == (["d"], None)
    assert api.fields(marquez.dataset((space, "d"))) == []


# --- columns ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("inputs", "listed", "known", "kept"),
    [
        (["A"], ["X"], [], True),
        ([], ["X"], ["A"], True),
        ([], ["X"], [], False),
        (["A"], ["Y"], [], False),
        (None, ["X"], ["A"], False),
    ],
    ids=["all told", "field known before", "field unknown", "column not listed", "no input"],
)
def test_a_column_edge_is_kept_only_where_both_ends_are_known(
    marquez: Marquez, space: str, inputs: list[str] | None, listed: list[str], known: list[str], *, kept: bool
) -> None:
    lineage = columns(X=(space, "s", "A"))
    read = [] if inputs is None else [dataset(space, "s", *inputs)]
    made(marquez, *([alone(dataset(space, "s", *known))] if known else []))
    made(marquez, run(space, inputs=read, outputs=[dataset(space, "d", *listed, columnLineage=lineage)]))
    expected = {((space, "s"), "A", (space, "d"), "X")} if kept else set()
    assert api.column_edges([marquez.dataset((space, "d"))]) == expected
    if kept:
        graph = marquez.get("column-lineage", nodeId=f"dataset:{space}:d", depth=20)["graph"]
        made_of = {(edge["origin"], edge["destination"]) for node in graph for edge in node["inEdges"]}
        assert made_of == {(f"datasetField:{space}:d:X", f"datasetField:{space}:s:A")}


def test_column_edges_of_earlier_writes_stay(marquez: Marquez, space: str) -> None:
    for source in ("s", "t"):
        written = dataset(space, "d", "X", columnLineage=columns(X=(space, source, "A")))
        made(marquez, run(space, source, inputs=[dataset(space, source, "A")], outputs=[written]))
    found = api.column_edges([marquez.dataset((space, "d"))])
    assert found == {((space, one), "A", (space, "d"), "X") for one in ("s", "t")}


# --- jobs and runs ----------------------------------------------------------------------------------------------------


def test_a_job_shows_its_latest_version_only(marquez: Marquez, space: str) -> None:
    made(marquez, run(space, inputs=[dataset(space, "a")], outputs=[dataset(space, "x")]))
    second = {"inputs": [dataset(space, "b")], "outputs": [dataset(space, "y")]}
    made(marquez, run(space, eventTime="2026-01-02T00:00:00Z", **second))
    (job,) = marquez.listed(space, "jobs")
    assert ([one["name"] for one in job["inputs"]], [one["name"] for one in job["outputs"]]) == (["b"], ["y"])
    own = f"job:{space}:j"
    expected = {(f"dataset:{space}:b", own), (own, f"dataset:{space}:y")}
    assert api.edges(marquez.graph(own)) == expected


def test_events_of_one_run_add_up(marquez: Marquez, space: str) -> None:
    begun = run(space, eventType="START", inputs=[dataset(space, "a")])
    made(
        marquez,
        begun,
        {**begun, "eventType": "COMPLETE", "inputs": [dataset(space, "b")], "outputs": [dataset(space, "x")]},
    )
    (job,) = marquez.listed(space, "jobs")
    assert sorted(one["name"] for one in job["inputs"]) == ["a", "b"]


def test_empty_sides_of_complete_leave_what_start_said(marquez: Marquez, space: str) -> None:
    begun = run(space, eventType="START", inputs=[dataset(space, "a")], outputs=[dataset(space, "x")])
    made(marquez, begun, {**begun, "eventType": "COMPLETE", "inputs": [], "outputs": []})
    (job,) = marquez.listed(space, "jobs")
    assert ([one["name"] for one in job["inputs"]], [one["name"] for one in job["outputs"]]) == (["a"], ["x"])


def test_a_list_of_jobs_shows_the_latest_run_and_a_job_its_latest_version(marquez: Marquez, space: str) -> None:
    made(marquez, run(space, inputs=[dataset(space, "a")], outputs=[dataset(space, "x")]))
    later = {"eventType": "START", "eventTime": "2026-01-02T00:00:00Z"}
    made(marquez, run(space, **later, outputs=[dataset(space, "y")]))
    (listed,), alone = marquez.listed(space, "jobs"), marquez.get("namespaces", space, "jobs", "j")
    assert ([one["name"] for one in listed["inputs"]], [one["name"] for one in listed["outputs"]]) == ([], ["y"])
    assert ([one["name"] for one in alone["inputs"]], [one["name"] for one in alone["outputs"]]) == (["a"], ["x"])


def test_a_second_run_that_began_takes_the_edges_away_until_it_ends(marquez: Marquez, space: str) -> None:
    first = run(space, inputs=[dataset(space, "a")], outputs=[dataset(space, "x")])
    second = run(space, eventType="START", eventTime="2026-01-02T00:00:00Z")
    own = f"job:{space}:j"
    made(marquez, first, second)
    assert api.edges(marquez.graph(own)) == set()
    made(marquez, {**first, "run": second["run"], "eventTime": "2026-01-02T00:00:01Z"})
    assert api.edges(marquez.graph(own)) == {(f"dataset:{space}:a", own), (own, f"dataset:{space}:x")}


def test_complete_alone_has_no_start_and_start_after_complete_turns_it_back(marquez: Marquez, space: str) -> None:
    ended = run(space)
    made(marquez, ended)
    shown = marquez.get("jobs", "runs", ended["run"]["runId"])
    assert (shown["state"], shown["startedAt"]) == ("COMPLETED", None)
    made(marquez, {**ended, "eventType": "START"})
    assert marquez.get("jobs", "runs", ended["run"]["runId"])["state"] == "RUNNING"


def test_a_run_belongs_to_the_job_that_named_it_first(marquez: Marquez, space: str) -> None:
    first = run(space, "first")
    made(marquez, first, {**first, "job": {"namespace": space, "name": "second"}})
    runs = {job["name"]: job["latestRun"] and job["latestRun"]["id"] for job in marquez.listed(space, "jobs")}
    assert runs == {"first": first["run"]["runId"], "second": None}


def test_an_event_sent_twice_changes_nothing(marquez: Marquez, space: str) -> None:
    lineage = columns(X=(space, "s", "A"))
    event = run(space, inputs=[dataset(space, "s", "A")], outputs=[dataset(space, "d", "X", columnLineage=lineage)])
    made(marquez, event)
    once = state(marquez, space)
    made(marquez, event)
    assert state(marquez, space) == once
    assert [len(job["latestRuns"]) for job in marquez.listed(space, "jobs")] == [1]


def state(marquez: Marquez, space: str) -> tuple[Any, ...]:
    datasets = list(marquez.listed(space, "datasets"))
    shown = sorted((one["name"], api.fields(one), one["deleted"]) for one in datasets)
    jobs = sorted((one["name"], one["latestRun"]["state"]) for one in marquez.listed(space, "jobs"))
    return shown, jobs, api.column_edges(datasets), api.edges(marquez.graph(f"job:{space}:j"))


# --- parents ----------------------------------------------------------------------------------------------------------


def under(parent: Json) -> Json:
    """A run whose parent is another one's run."""
    named = {**FACET, "run": parent["run"], "job": parent["job"]}
    return {"runId": str(uuid4()), "facets": {"parent": named}}


def names(marquez: Marquez, space: str) -> dict[str, tuple[str, str | None]]:
    return {one["name"]: (one["simpleName"], one["parentJobName"]) for one in marquez.listed(space, "jobs")}


def test_a_child_is_named_after_its_parent(marquez: Marquez, space: str) -> None:
    parent = run(space, "top")
    made(marquez, parent, run(space, "child", run=under(parent)))
    assert names(marquez, space) == {"top": ("top", None), "top.child": ("child", "top")}


def test_a_name_that_begins_with_the_parents_is_not_lengthened(marquez: Marquez, space: str) -> None:
    parent = run(space, "a.b")
    made(marquez, parent, run(space, "a.b.child", run=under(parent)))
    assert names(marquez, space) == {"a.b": ("a.b", None), "a.b.child": ("child", "a.b")}


def test_an_unknown_parent_is_made_and_complete(marquez: Marquez, space: str) -> None:
    parent = run(space, "top")
    made(marquez, run(space, "child", run=under(parent)))
    assert names(marquez, space) == {"top": ("top", None), "top.child": ("child", "top")}
    assert marquez.get("jobs", "runs", parent["run"]["runId"])["state"] == "COMPLETED"


def test_a_parent_that_comes_later_under_another_name_is_two_jobs(marquez: Marquez, space: str) -> None:
    parent = run(space, "top")
    made(marquez, run(space, "child", run=under(parent)), {**parent, "job": {"namespace": space, "name": "other"}})
    runs = {job["name"]: job["latestRun"] and job["latestRun"]["id"] for job in marquez.listed(space, "jobs")}
    assert set(runs) == {"top", "top.child", "other"}
    assert (runs["top"], runs["other"]) == (parent["run"]["runId"], None)


def test_a_parent_that_is_a_child_is_made_once_more_under_its_short_name(marquez: Marquez, space: str) -> None:
    top = run(space, "top")
    child = run(space, "child", run=under(top))
    made(marquez, top, child, run(space, "grandchild", run=under(child)))
    assert set(names(marquez, space)) == {"top", "top.child", "child", "child.grandchild"}


def test_a_parent_that_is_a_child_is_known_by_its_whole_name(marquez: Marquez, space: str) -> None:
    top = run(space, "top")
    child = run(space, "top.child", run=under(top))
    made(marquez, top, child, run(space, "top.child.grandchild", run=under(child)))
    assert set(names(marquez, space)) == {"top", "top.child", "top.child.grandchild"}


# --- lifecycle and names ----------------------------------------------------------------------------------------------


def test_drop_deletes_and_any_later_event_brings_back(marquez: Marquez, space: str) -> None:
    dropped = dataset(space, "d", "A", lifecycleStateChange={"lifecycleStateChange": "DROP"})
    created = dataset(space, "d", "A", lifecycleStateChange={"lifecycleStateChange": "CREATE"})
    made(marquez, run(space, outputs=[dataset(space, "d", "A")]), run(space, "drop", outputs=[dropped]))
    assert marquez.dataset((space, "d"))["deleted"]
    made(marquez, run(space, "create", outputs=[created]))
    assert not marquez.dataset((space, "d"))["deleted"]
    made(marquez, run(space, "drop", outputs=[dropped]), run(space, "read", inputs=[dataset(space, "d", "A")]))
    assert not marquez.dataset((space, "d"))["deleted"]


def test_rename_leaves_the_old_dataset_as_it_was(marquez: Marquez, space: str) -> None:
    before = {"lifecycleStateChange": "RENAME", "previousIdentifier": {"namespace": space, "name": "old"}}
    renamed = dataset(space, "new", "A", lifecycleStateChange=before)
    made(marquez, run(space, outputs=[dataset(space, "old", "A")]), run(space, "rename", outputs=[renamed]))
    assert not marquez.dataset((space, "old"))["deleted"]
    new = marquez.dataset((space, "new"))
    assert new["lastLifecycleState"] == "RENAME"
    assert new["facets"]["lifecycleStateChange"]["previousIdentifier"] == before["previousIdentifier"]


def test_tags_are_gone_with_the_next_write(marquez: Marquez, space: str) -> None:
    tags = [{"key": "PII", "value": "sensitive", "source": "SNOWFLAKE"}]
    made(marquez, run(space, "alter", outputs=[dataset(space, "d", "A", tags={"tags": tags})]))
    assert marquez.dataset((space, "d"))["facets"]["tags"]["tags"] == tags
    made(marquez, run(space, "read", inputs=[dataset(space, "d", "A")]))
    assert marquez.dataset((space, "d"))["facets"]["tags"]["tags"] == tags
    made(marquez, run(space, "write", outputs=[dataset(space, "d", "A")]))
    assert "tags" not in marquez.dataset((space, "d"))["facets"]


def test_events_of_a_dataset_with_the_same_columns_share_a_version_and_the_latest_has_its_facets(
    marquez: Marquez, space: str
) -> None:
    """So an event without a facet does not take it away, and of two with the same time either is shown."""
    tags = [{"key": "PII", "value": "sensitive", "source": "SNOWFLAKE"}]

    def at(minute: int, **facets: Any) -> Json:
        return {**alone(dataset(space, "d", "A", **facets)), "eventTime": f"2026-01-01T00:{minute:02}:00.000000Z"}

    made(marquez, at(1, tags={"tags": tags}), run(space, "write", outputs=[dataset(space, "d", "A")]), at(2))
    assert marquez.dataset((space, "d"))["facets"]["tags"]["tags"] == tags
    made(marquez, at(3, tags={"tags": []}), at(2, tags={"tags": tags}))
    assert marquez.dataset((space, "d"))["facets"]["tags"]["tags"] == []


def test_symlinks_lead_to_the_same_dataset_unless_the_name_is_one_already(marquez: Marquez, space: str) -> None:
    also = {"identifiers": [{"namespace": space, "name": name, "type": "TABLE"} for name in ("alias", "known")]}
    made(marquez, alone(dataset(space, "known", "K")), run(space, outputs=[dataset(space, "d", "A", symlinks=also)]))
    assert api.fields(marquez.dataset((space, "alias"))) == ["A"]
    assert api.fields(marquez.dataset((space, "known"))) == ["K"]


def test_the_graph_of_a_dataset_is_its_connected_component(marquez: Marquez, space: str) -> None:
    made(marquez, run(space, "one", inputs=[dataset(space, "a")], outputs=[dataset(space, "b")]))
    made(marquez, run(space, "two", inputs=[dataset(space, "b")], outputs=[dataset(space, "c")]))
    made(marquez, run(space, "three", inputs=[dataset(space, "z")]))
    found = api.edges(marquez.graph(f"dataset:{space}:a"))
    data, jobs = (lambda name: f"dataset:{space}:{name}"), (lambda name: f"job:{space}:{name}")
    assert found == {
        (data("a"), jobs("one")),
        (jobs("one"), data("b")),
        (data("b"), jobs("two")),
        (jobs("two"), data("c")),
    }


@pytest.mark.parametrize(("name", "status"), [("a: 1", 200), ("1a", 500), ("1a: b", 404), ("//a", 500)])
def test_a_name_that_begins_with_a_digit_has_no_graph(marquez: Marquez, space: str, name: str, status: int) -> None:
    made(marquez, run(space, name, outputs=[dataset(space, name, "A")]))
    assert marquez.status("lineage", nodeId=f"job:{space}:{name}") == status
    assert marquez.status("lineage", nodeId=f"dataset:{space}:{name}") == status
    assert name in names(marquez, space)


def test_what_is_not_there_is_not_found(marquez: Marquez, space: str) -> None:
    made(marquez, run(space))
    assert marquez.status("namespaces", space, "datasets", "none") == 404
    assert marquez.status("jobs", "runs", str(uuid4())) == 404
    assert marquez.status("lineage", nodeId=f"dataset:{space}:none") == 404
