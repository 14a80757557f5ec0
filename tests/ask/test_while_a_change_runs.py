"""Reads that start while a statement runs that sets or ends a mask, or in the same moment.

A query is masked by what is set when it starts, and the time of a statement is its start (docs/graph.md). QUERY_HISTORY
says when it ended: until then its mask may not be there yet, or may still be. So a query that enforced a mask in this
time says nothing about the time after it, and one that did not was before the first mask.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

import pytest

from exporter.ask.lookups import Lookups
from exporter.ask.notes.mask_periods import masks_of
from exporter.ask.questions import ask, find
from exporter.graph.store import load
from tests.ask.stories import exported
from tests.ask.test_masked_before_the_record import COPY, POLICY, TAG, T, enforced, of_mask, of_tag
from tests.ask.test_names import changed, copied, read, thing

if TYPE_CHECKING:
    from pathlib import Path

    from pyoxigraph import Store

Json = dict[str, Any]
_BEGIN: Final = datetime(2026, 1, 1, tzinfo=UTC)
_RUNS: Final = 5
SET, UNSET = (changed(T, columns={"C": of_mask(doing)}) for doing in ("ADD", "DROP"))
OTHER: Final = {"maskingPolicies": {"D.S.OTHER": {"objectId": {"value": 901}, "subOperationType": "ADD"}}}
UNSET_OTHER: Final = {"maskingPolicies": {"D.S.OTHER": {"objectId": {"value": 901}, "subOperationType": "DROP"}}}
ENDS: Final[dict[str, tuple[list[Json], list[Json]]]] = {
    "unset": ([SET], [UNSET]),
    "unset, older than the record": ([], [UNSET]),
    "another in its place": ([SET], [changed(T, columns={"C": OTHER}), changed(T, columns={"C": UNSET_OTHER})]),
    "unset from a tag": ([changed(TAG, **of_mask("ADD")), changed(T, columns={"C": of_tag("ADD")})],
                         [changed(TAG, **of_mask("DROP"))]),
    "tag unset": ([changed(TAG, **of_mask("ADD")), changed(T, columns={"C": of_tag("ADD")})],
                  [changed(T, columns={"C": of_tag("DROP")})]),
    "policy replaced": ([], [changed(POLICY, "REPLACE")]),
    "table made anew": ([SET], [changed(T, "REPLACE")]),
}  # fmt: skip
"""What sets the mask, and what ends it: the first statement of these runs for five seconds."""


def graph(rows: list[tuple[float, Json]], folder: Path, *, ends: bool) -> Store:
    """``rows``: each with its start in seconds. Each statement runs for five seconds, which QUERY_HISTORY may say."""
    given, lines = [], []
    for number, (start, row) in enumerate(rows, 1):
        ident, time = f"q{number:02}", _BEGIN + timedelta(seconds=start)
        own = {"query_id": ident, "query_start_time": f"{time:%FT%T}Z"}
        given.append({"user_name": "ETL", **row, **own, "organization_name": "STORY", "account_name": "X"})
        end = time + timedelta(seconds=_RUNS)
        if ends and "object_modified_by_ddl" in row:
            lines.append({"query_id": ident, "start_time": f"{time:%FT%T}Z", "end_time": f"{end:%FT%T}Z"})
    return load(exported(given, lines, folder / "out"))


def around(name: str, late: float) -> list[tuple[float, Json]]:
    """EVE reads the column masked, also late in the run of what ends the mask; then ANA reads it and its copy."""
    begun, ended = ENDS[name]
    setting = [(100.0 * number, row) for number, row in enumerate(begun)]
    ending = [(1000.0 + 100 * number, row) for number, row in enumerate(ended)]
    return [
        *setting, (500, enforced()), (510, copied(T, COPY)), *ending[:1], (1000 + late, enforced()), *ending[1:],
        (2000, read(T)), (2100, read(COPY)),
    ]  # fmt: skip


@pytest.mark.parametrize("name", ENDS)
@pytest.mark.parametrize(("late", "ends"), [(0, False), (0, True), (2, True), (_RUNS, True)])
def test_a_mask_that_was_enforced_while_it_ended_has_ended(
    name: str, late: float, tmp_path: Path, *, ends: bool
) -> None:
    store = graph(around(name, late), tmp_path, ends=ends)
    reads = ask(store, find("unmasked-reads"), {"object_name": "D.S.T", "since": "2026-01-01T00:33:00Z"})
    assert [row[5] for row in reads.rows] == ["AFTER"]
    copies = ask(store, find("unmasked-copies"), {"since": "2026-01-01T00:33:00Z"})
    assert copies.rows == []


@pytest.mark.parametrize(("late", "ends"), [(1, False), (_RUNS + 1, True)])
def test_a_mask_that_was_enforced_later_has_not(late: float, tmp_path: Path, *, ends: bool) -> None:
    store = graph(around("unset", late), tmp_path, ends=ends)
    reads = ask(store, find("unmasked-reads"), {"object_name": "D.S.T", "since": "2026-01-01T00:33:00Z"})
    assert [row[5] for row in reads.rows] == ["WHILE"]
    assert len(ask(store, find("unmasked-copies"), {"since": "2026-01-01T00:33:00Z"}).rows) == 1


def test_notes_have_the_same_periods(tmp_path: Path) -> None:
    store = graph(around("unset", 2), tmp_path, ends=True)
    held = [one for several in masks_of(Lookups(store), _table(store)).values() for one in several]
    assert [one.until for one in held] == [_BEGIN + timedelta(seconds=1000)]


def _table(store: Store) -> str:
    return next(one for one in Lookups(store).of_class("ah:Table") if one.endswith("/table/1"))


BEGINS: Final[dict[str, list[Json]]] = {
    "set": [SET],
    "tag set": [changed(TAG, **of_mask("ADD")), changed(T, columns={"C": of_tag("ADD")})],
    "set on the tag": [changed(T, columns={"C": of_tag("ADD")}), changed(TAG, **of_mask("ADD"))],
}


@pytest.mark.parametrize("name", BEGINS)
@pytest.mark.parametrize(
    ("late", "ends", "word"), [(2, True, "BEFORE"), (_RUNS, True, "WHILE"), (2, False, "WHILE"), (-1, True, "BEFORE")]
)
def test_a_read_while_the_first_mask_is_set_was_before_it(
    name: str, late: float, word: str, tmp_path: Path, *, ends: bool
) -> None:
    *others, last = BEGINS[name]
    rows = [*((10.0 * number, row) for number, row in enumerate(others)), (100, last), (100 + late, read(T))]
    store = graph(rows, tmp_path, ends=ends)
    assert [row[5] for row in ask(store, find("unmasked-reads"), {"object_name": "D.S.T"}).rows] == [word]


def test_a_read_while_another_mask_is_set_was_unmasked_while_one_was_set(tmp_path: Path) -> None:
    rows = [(0, SET), (100, changed(T, columns={"C": OTHER})), (102, read(T))]
    store = graph(rows, tmp_path, ends=True)
    assert [row[5] for row in ask(store, find("unmasked-reads"), {"object_name": "D.S.T"}).rows] == ["WHILE"]


def test_what_read_a_table_that_was_being_made_anew_read_the_former_one(tmp_path: Path) -> None:
    """The mask of another table is not ended by it."""
    other = thing("OTHER", 3)
    rows = [(0, enforced()), (10, changed(other, "REPLACE")), (12, enforced()), (100, read(T))]
    store = graph(rows, tmp_path, ends=True)
    assert [row[5] for row in ask(store, find("unmasked-reads"), {"object_name": "D.S.T"}).rows] == ["WHILE"]
