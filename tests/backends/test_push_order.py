"""The order of events in the index, and while several are sent at once."""

from __future__ import annotations

import json
import random
import tracemalloc
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.backends.delivery import Order, OrderNode, node_of
from exporter.backends.index import Index
from tests.backends.hostile import Hostile, dataset, folder, run, run_id
from tests.backends.pushing import push

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

Json = dict[str, Any]
THINGS = st.frozensets(st.sampled_from("abcde"), max_size=3)


@given(st.lists(st.tuples(THINGS, THINGS), max_size=40), st.randoms(use_true_random=False), st.integers(1, 6))
def test_whatever_ends_first_no_event_overtakes_one_that_it_shares_something_with(
    wanted: list[tuple[frozenset[str], frozenset[str]]], chance: random.Random, window: int
) -> None:
    order, going, finished = Order(), list[int](), set[int]()
    turns = [OrderNode(reads - writes, writes) for reads, writes in wanted]
    place = {id(turn): n for n, turn in enumerate(turns)}

    def go(n: int) -> None:
        for earlier in range(n):
            one, other = turns[earlier], turns[n]
            shared = one.writes & (other.reads | other.writes) or one.reads & other.writes
            assert not shared or earlier in finished
        going.append(n)

    def end_one() -> None:
        n = going.pop(chance.randrange(len(going)))
        finished.add(n)
        for turn in order.done(turns[n]):
            go(place[id(turn)])

    for n, turn in enumerate(turns):
        while going and n - len(finished) >= window:
            end_one()
        if order.add(turn):
            go(n)
    while going:
        end_one()
    assert len(finished) == len(turns), "none waits for ever"
    assert order._last == {}, "and nothing is kept"


def test_readers_of_one_dataset_go_together_and_its_writers_alone() -> None:
    order = Order()
    reads = [node_of(run(f"r{n}", n, reads=["T"], job=f"read {n}")[1]) for n in range(3)]
    write = node_of(run("w", 3, writes=["T"])[1])
    assert [order.add(one) for one in [*reads, write]] == [True, True, True, False]
    assert [order.done(one) for one in reads] == [[], [], [write]]


def test_runs_of_one_job_and_the_events_of_one_run_follow_each_other() -> None:
    order = Order()
    turns = [node_of(event) for query in ("q1", "q2") for event in run(query, 1, job="j")]
    assert [order.add(one) for one in turns] == [True, False, False, False]
    assert [order.done(one) for one in turns] == [[turns[1]], [turns[2]], [turns[3]], []]


# --- the index --------------------------------------------------------------------------------------------------------


def sent(where: Path) -> list[Json]:
    """The events in the index's order."""

    with Index(where, lambda _: None) as made:
        return [json.loads(made.line(item)) for item in made.items()]


def place_of(events: list[Json], query: str, kind: str) -> int:
    (found,) = (
        n
        for n, one in enumerate(events)
        if "run" in one and (one["run"]["runId"], one["eventType"]) == (run_id(query), kind)
    )
    return found


def shuffled(events: Iterable[Json], seed: int) -> list[Json]:
    mixed = list(events)
    random.Random(seed).shuffle(mixed)
    return mixed


@pytest.mark.parametrize("seed", range(5))
def test_parents_before_children_even_where_they_end_or_begin_later(seed: int, tmp_path: Path) -> None:
    family = [
        *run("child", 5, writes=["T"], parent="mother"),
        *run("mother", 6, parent="grandmother", lasts=9),
        *run("grandmother", 6, lasts=20),
        *run("before", 1, writes=["T"]),
        *run("after", 8, writes=["T"]),
        dataset("T", second=99),
    ]
    events = sent(folder(tmp_path / "out", shuffled(family, seed), files=2))
    assert len(events) == len(family)
    assert "dataset" in events[0]
    starts = [place_of(events, query, "START") for query in ("before", "grandmother", "mother", "child", "after")]
    assert starts == sorted(starts)
    for query in ("child", "mother", "grandmother"):
        assert place_of(events, query, "START") < place_of(events, query, "COMPLETE")


@pytest.mark.parametrize("seed", range(3))
def test_a_parent_of_which_only_the_end_is_sent_comes_first_too(seed: int, tmp_path: Path) -> None:
    ends = [run("child", 5, parent="mother")[1], run("mother", 4, lasts=30)[1], run("other", 20)[1]]
    events = sent(folder(tmp_path / "out", shuffled(ends, seed)))
    assert [one["run"]["runId"] for one in events] == [run_id(query) for query in ("mother", "child", "other")]


def test_of_equal_times_the_query_id_decides_and_no_run_is_torn(tmp_path: Path) -> None:
    events = [event for n in reversed(range(20)) for event in run(f"q{n:02d}", 7)]
    found = [(one["run"]["runId"], one["eventType"]) for one in sent(folder(tmp_path / "out", events))]
    assert found == [(run_id(f"q{n:02d}"), kind) for n in range(20) for kind in ("START", "COMPLETE")]


def test_a_cycle_of_parents_is_sent_too(tmp_path: Path) -> None:
    events = [*run("a", 1, parent="b"), *run("b", 2, parent="a"), *run("c", 3, parent="c")]
    assert len(sent(folder(tmp_path / "out", events))) == 6


# --- the latest runs --------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("alone")
def test_latest_sends_the_latest_run_of_each_job_and_what_its_lineage_needs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    events = [dataset("T"), dataset("S")]
    for n in range(30):
        events += run(f"load{n:02d}", n, reads=["S"], writes=["T"], job="load", parent=f"call{n:02d}", lasts=0.5)
        events += run(f"call{n:02d}", n - 0.1, job="job of call", lasts=0.8)
    events += run("odd", 4.5, reads=["S"], writes=["T"], job="load", column="B")
    with Hostile() as server:
        code, counts, said = push(folder(tmp_path / "out", shuffled(events, 0)), server.url, capsys, "--runs", "latest")
    queries = [one["run"]["runId"] for one in server.taken if "run" in one]
    assert set(queries) == {run_id("load29"), run_id("call29"), run_id("odd")}, "another source of a column is kept too"
    assert (code, counts["events"]) == (0, 8)
    assert "leaves out 58 runs" in said
    (end,) = (
        one for one in server.taken if one.get("eventType") == "COMPLETE" and one["run"]["runId"] == run_id("load29")
    )
    facet = end["job"]["facets"]["accessHistory_runs"]
    assert (facet["runs"], facet["first"], facet["last"]) == (
        31,
        "2024-01-01T00:00:00.000000Z",
        "2024-01-01T00:00:29.500000Z",
    )


@pytest.mark.usefixtures("alone")
def test_the_latest_run_needs_its_own_parent(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    events = [
        *run("old call", 1, job="call"),
        *run("load", 2, job="load", parent="old call"),
        *run("new call", 9, job="call"),
    ]
    where = folder(tmp_path / "out", events)
    with Hostile() as server:
        push(where, server.url, capsys, "--runs", "latest", "--concurrency", "1")
        assert [one["run"]["runId"] for one in server.taken if one["eventType"] == "START"] == [
            run_id(query) for query in ("old call", "load", "new call")
        ]
        assert push(where, server.url, capsys, "--runs", "all").counts["delivered"] == 0, "they were delivered"


@pytest.mark.usefixtures("alone")
def test_the_lineage_of_the_latest_runs_is_that_of_all(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Many runs of few shapes, some of which differ in the columns alone, or change what their names stand for."""
    chance = random.Random(5)
    told = [(f"S{n % 7}", f"T{n % 11}", column, f"job {n}") for n in range(15) for column in "AB"]
    events = []
    for n in range(450):
        source, target, column, job = chance.choice(told)
        events += run(f"q{n:05d}", n, reads=[source], writes=[target], column=column, job=f"{job} {source} {target}")
        if n % 50 == 7:
            end = run(f"d{n:05d}", n + 0.5, writes=[target], job=f"change {target}")[1]
            state = chance.choice(["DROP", "CREATE"])
            end["outputs"][0]["facets"]["lifecycleStateChange"] = {"lifecycleStateChange": state}
            events.append(end)
    where = folder(tmp_path / "out", shuffled(events, 1), files=4)
    with Hostile() as some, Hostile() as every:
        latest = push(where, some.url, capsys, "--runs", "latest")
        push(where, every.url, capsys)
    assert latest.counts["delivered"] < len(events) / 10
    assert edges(some.taken) == edges(every.taken)
    assert states(some.taken) == states(every.taken)


def edges(events: list[Json]) -> set[tuple[str, ...]]:
    """By job, as a backend keeps them of each job's runs: datasets and columns."""
    return {
        (event["job"]["name"], source["name"], source["field"], output["name"], column)
        for event in events
        for output in event.get("outputs", ())
        for column, field in output["facets"].get("columnLineage", {}).get("fields", {}).items()
        for source in field["inputFields"]
    }


def states(events: list[Json]) -> dict[str, str]:
    """What each dataset is at the end."""
    told = {}
    for event in events:
        for output in event.get("outputs", ()):
            change = output["facets"].get("lifecycleStateChange")
            if change:
                told[output["name"]] = change["lifecycleStateChange"]
    return told


def test_a_large_folder_does_not_fill_the_memory(tmp_path: Path) -> None:
    """What is held of an event is held on disk: ten times the events take little more memory."""
    peaks = []
    for count in (200, 2_000):
        events = (event for n in range(count) for event in run(f"q{n:06d}", n, reads=["S" * 500], writes=["T"]))
        where = folder(tmp_path / str(count), events)
        tracemalloc.start()
        with Index(where, lambda _: None) as made:
            assert sum(1 for _ in made.items()) == 2 * count
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < peaks[0] * 1.5 < 20_000_000, peaks
