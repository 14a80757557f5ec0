"""A table that two statements of one second name anew: each row has the name before it and after it, so the order of
their names is the order of the statements, whatever their ids are, and in whatever order the rows come (docs/input.md).
"""

from __future__ import annotations

from itertools import permutations
from typing import TYPE_CHECKING, Any, Final

import pytest

from exporter.ask.questions import ask, find
from exporter.graph.store import load
from tests import exports
from tests.ask.test_names import changed, read, thing

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pyoxigraph import Store

Json = dict[str, Any]


def row(ident: str, minute: int, said: Json) -> Json:
    return {"user_name": "ETL", **said, "query_id": ident, "query_start_time": f"2026-01-01T00:{minute:02}:00Z"}


def renamed(before: str, after: str) -> Json:
    return changed(thing(before, 1), objectName={"value": f"D.S.{after}"})


def swap(one: Json, other: Json) -> Json:
    target = {"Domain": one["objectDomain"], "Id": other["objectId"], "Name": other["objectName"]}
    return changed(one, **{f"swapTarget{name}": {"value": value} for name, value in target.items()})


SWAPPED: Final = [row("q1", 2, swap(thing("Y", 1), thing("B", 5))), row("q1", 2, swap(thing("B", 5), thing("Y", 1)))]
STORIES: Final[dict[str, list[Json]]] = {
    "two-renames": [row("q2", 2, renamed("Z", "Y")), row("q3", 2, renamed("Y", "B"))],
    "ids-the-other-way-round": [row("q3", 2, renamed("Z", "Y")), row("q2", 2, renamed("Y", "B"))],
    "there-and-back": [
        row("q5", 2, renamed("Z", "Y")),
        row("q2", 2, renamed("Y", "Z")),
        row("q3", 2, renamed("Z", "B")),
    ],
    "rename-and-swap": [row("q2", 2, renamed("Z", "Y")), *SWAPPED],
}  # fmt: skip
AROUND: Final = [
    row("q0", 1, read(thing("Z", 1), "ANN")),
    # another table gets the name that the first one had for a moment
    row("q7", 5, changed(thing("Y", 7), "CREATE")), row("q8", 6, read(thing("Y", 7), "BEN")),
]  # fmt: skip


def graph_of(parts: Sequence[list[Json]], folder: Path) -> Store:
    for number, rows in enumerate(parts):
        given = exports.ndjson(rows, folder / f"rows{number}.ndjson")
        options = ("--account", "ACME-PROD", "--outputs", "graph", "--update")
        assert exports.export([given], folder / "out", *options) == 0
    return load(folder / "out")


@pytest.mark.parametrize("story", STORIES)
def test_the_name_that_the_last_of_them_gave_is_the_present_one(story: str, tmp_path: Path) -> None:
    rows = [*STORIES[story], *AROUND]
    halves = [[*AROUND, STORIES[story][-1]], STORIES[story][:-1]]
    ways = {"in-order": [rows], "reversed": [rows[::-1]], "late": halves, "early": halves[::-1]}
    for way, parts in ways.items():
        (folder := tmp_path / way).mkdir()
        graph = graph_of(parts, folder)
        held = ask(graph, find("former-names"), {"object_id": "1"}).dicts()
        assert [name["name"] for name in held if name["valid_until"] is None] == ["D.S.B"], way
        assert [name["user_name"] for name in ask(graph, find("who-accessed"), {"object_name": "D.S.B"}).dicts()] == [
            "ANN"
        ]
        notes = ask(graph, find("who-accessed"), {"object_name": "D.S.Z"}).notes
        assert any("is called D.S.B now" in note for note in notes), way


def test_the_order_of_rows_in_a_file_does_not_matter(tmp_path: Path) -> None:
    rows, texts = [*STORIES["two-renames"], AROUND[0]], set[str]()
    for number, ordered in enumerate(permutations(rows)):
        (folder := tmp_path / str(number)).mkdir()
        graph_of([list(ordered)], folder)
        texts.add("".join(sorted(path.read_text() for path in (folder / "out" / "graph").rglob("*.ttl"))))
    assert len(texts) == 1


def test_notes_leave_out_a_name_that_nothing_could_be_called_by(tmp_path: Path) -> None:
    graph = graph_of([[*STORIES["two-renames"], AROUND[0]]], tmp_path)
    (note,) = [one for one in ask(graph, find("who-accessed"), {"object_name": "D.S.Y"}).notes if "its names" in one]
    assert (
        "its names: D.S.Z from 2026-01-01T00:01:00Z until 2026-01-01T00:02:00Z, D.S.B from 2026-01-01T00:02:00Z."
        in note
    )
