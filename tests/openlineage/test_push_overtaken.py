"""Events that are sent again after a late one: the last one about each of its datasets, and no others."""

from __future__ import annotations

import json
import sqlite3
from typing import TYPE_CHECKING

from exporter.openlineage.push.order import QueuedEvent, overtaken

if TYPE_CHECKING:
    from collections.abc import Sequence


def told(number: int, *, reads: str = "", writes: str = "", late: bool = False) -> QueuedEvent:
    """A run's event; datasets are letters."""
    sides = {side: [{"namespace": "n", "name": one} for one in names] for side, names in _sides(reads, writes)}
    return QueuedEvent(number, f"e{number}", late, json.dumps({"run": {}, **sides}).encode())


def _sides(reads: str, writes: str) -> Sequence[tuple[str, str]]:
    return (("inputs", reads), ("outputs", writes))


def again(*events: QueuedEvent) -> list[str]:
    return overtaken(sqlite3.connect("", isolation_level=None), events)


def test_the_last_to_write_and_the_last_to_name_follow() -> None:
    late = told(0, writes="t", late=True)
    history = [told(1, writes="t"), told(2, writes="t"), told(3, reads="t"), told(4, reads="t"), told(5, writes="u")]
    assert again(late, *history) == ["e2", "e4"]


def test_what_follows_is_followed_by_what_it_overtakes_itself() -> None:
    late = told(0, reads="t", late=True)
    history = [told(1, reads="u", writes="t"), told(2, reads="v", writes="u"), told(3, writes="w")]
    assert again(late, *history) == ["e1", "e2"]


def test_before_an_event_nothing_is_overtaken() -> None:
    assert again(told(0, writes="u", late=True), told(1, writes="t"), told(2, writes="t", late=True)) == []


def test_an_event_of_a_dataset_counts_as_one_that_writes_it() -> None:
    alone = json.dumps({"dataset": {"namespace": "n", "name": "t"}}).encode()
    assert again(told(0, writes="t", late=True), told(1, writes="t"), QueuedEvent(2, "e2", False, alone)) == ["e2"]
