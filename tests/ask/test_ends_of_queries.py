"""With QUERY_HISTORY, a statement ends what it ends at its end, and begins what it makes at its start. Answers and
their notes are the same as without it, but for the times.

Query ``qN`` of a story runs on day N; the stories are accounts of one export.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from functools import cache
from typing import TYPE_CHECKING, Any, Final

import pytest

from exporter.ask.lookups import Lookups
from exporter.ask.questions import ask, find, questions
from exporter.graph.store import load
from tests.ask import stories, test_clone_gaps, test_clones, test_lost_masks, test_lost_tags, test_names, test_shares
from tests.ask import test_container_changes as containers
from tests.ask.test_clones import place
from tests.ask.test_names import changed, copied, read, renamed, thing
from tests.ask.test_shares import REPLACED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pyoxigraph import Store

Json = dict[str, Any]
_end_time: Final = re.compile(r"2026-01-\d\dT0[56]:[\d:.]+Z")
MOMENT: Final = timedelta.resolution
LONG: Final = {"seconds": timedelta(seconds=7.5), "minutes": timedelta(minutes=47)}
FROM: Final = {"cloneSourceDomain": {"value": "Schema"}, "cloneSourceName": {"value": "D.S"}}
A, A2, A3 = thing("A", 1), {**thing("A", 2), "objectName": "D2.S.A"}, {**thing("A", 3), "objectName": "D2.S.A"}
STORIES: Final[dict[str, list[Json]]] = {
    **REPLACED,
    # the first clone is read; the second one replaces it, and no row names its table
    "cloned-again": [
        read(A), changed(place("D2.S", 71), "CREATE", **FROM), read(A2), changed(place("D2.S", 72), "REPLACE", **FROM),
        read({**thing("B", 4), "objectName": "D2.S.B"}), changed(place("D2.S", 72), "DROP"),
    ],
    # the statement that makes the table anew reads the former one
    "from-itself": [
        copied(A, thing("B", 5)), test_shares.granted(test_shares.share(), A), copied(A, thing("A", 6), "REPLACE"),
        read(thing("A", 6)),
    ],
    **{
        f"{start}-{name}": every[name][0] if isinstance(every[name], tuple) else every[name]
        for start, every, names in (
            ("shares", test_shares.STORIES, ("granted-again", "share-dropped")),
            ("names", test_names.STORIES, ("nightly",)),
            ("containers", containers.ENDS, ("drop", "replace")),
            ("clones", test_clones.STORIES, ("schema-replaced",)),
            ("gaps", test_clone_gaps.STORIES, ("made-anew",)),
            ("masks", test_lost_masks.STORIES, ("replaced",)),
            ("tags", test_lost_tags.STORIES, ("replaced",)),
        )
        for name in names
    },
}  # fmt: skip


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Store]:
    """The graph of all stories whose queries take no time that is known, seconds, or minutes."""

    @cache
    def of(long: str) -> Store:
        folder = tmp_path_factory.mktemp(long or "none")
        rows = stories.flat([rows for rows, _ in stories.days_of_all(STORIES)])
        lines = {row["query_id"]: _end(row["query_start_time"], LONG[long]) for row in rows} if long else {}
        history = [{"query_id": query_id, "end_time": end} for query_id, end in lines.items()]
        return load(stories.exported(rows, history, folder / "out", "--outputs", "graph"))

    return of


def _end(start: str, long: timedelta) -> str:
    """In the form of the graph."""
    return f"{datetime.fromisoformat(start) + long:%Y-%m-%dT%H:%M:%S.%f}".rstrip("0").rstrip(".") + "Z"


def told(question: str, store: Store, given: dict[str, str], long: str) -> list[str]:
    """The rows of an answer and its notes, with the starts of statements in place of their ends."""
    answer = ask(store, find(question), given)
    starts = dict[str, str]()
    for start in (f"2026-01-{day:02}T06:00:00Z" for day in range(1, 20)):
        end = timedelta() if not long else LONG[long]
        # Notes advise the time just before an end, and what a statement reads has its name until just after that.
        starts |= {_end(start, one): start for one in (end - MOMENT, end, end + MOMENT)}
    texts = [*sorted(map(repr, answer.rows)), *answer.notes]
    return [_end_time.sub(lambda match: starts.get(match[0], match[0]), text) for text in texts]


def every_way(story: str, store: Store) -> Iterator[tuple[str, dict[str, str]]]:
    """Each question about all there is, and about the name that the most objects had, also at a time."""
    graph = Lookups(store)
    names = sorted(name for name in graph.every("ah:nameText") if name.count(".") == 2)
    label = max(names, key=lambda name: len(graph.holders(name)))
    middle = f"2026-01-{len(STORIES[story]):02}T00:00:00Z"
    for question in questions():
        known = {parameter.name: parameter.required for parameter in question.parameters}
        times = {"since": "2026-01-01T00:00:00Z"} if known.get("since") else {}
        ways = [{"object_name": label}] if "object_name" in known else []
        ways += [{**way, one: middle} for way in ways for one in ("at", "until") if one in known]
        for way in (*ways, {}):
            if all(name in {**way, **times} for name, is_required in known.items() if is_required):
                yield question.name, {**times, **way}


@pytest.mark.parametrize("story", STORIES)
def test_ends_change_nothing_but_times(story: str, graph: Callable[[str], Store]) -> None:
    without, *others = [(stories.of(story, graph(long)), long) for long in ("", *LONG)]
    for number, (question, given) in enumerate(every_way(story, without[0])):
        store, long = others[number % len(others)]
        assert told(question, store, given, long) == told(question, without[0], given, ""), (question, given, long)


def test_what_a_long_write_left_goes_on_from_what_was_there_while_it_ran(tmp_path: Path) -> None:
    """It began before the table got the name that is asked for, and ended after the table had lost it. What was in the
    table while it had the name is in what is read later, too.
    """
    old, named, later, out = (thing(name, number) for name, number in (("OLD", 1), ("N", 1), ("LATER", 1), ("OUT", 2)))
    long = {**copied(thing("SOURCE", 3), old), "line": {"end_time": "2026-01-04T00:00:00Z"}}
    rows, lines = stories.days(
        "long", [long, renamed(old, "N"), renamed(named, "LATER"), read(later, "BEN"), copied(later, out)]
    )
    store = load(stories.exported(stories.flat(rows), stories.flat(lines), tmp_path / "out", "--outputs", "graph"))
    given = {"object_name": "D.S.N"}
    assert {row[:2] for row in ask(store, find("downstream-users"), given).rows} >= {("BEN", "D.S.LATER")}
    assert "D.S.OUT" in {row[0] for row in ask(store, find("end-up"), given).rows}
    assert [row[0] for row in ask(store, find("column-copies"), {**given, "column_name": "C"}).rows] == ["D.S.OUT"]
