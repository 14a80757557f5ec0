"""Events that are sent again after a late one: the last one about each of its datasets, and no others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from exporter.backends.index import Index
from exporter.backends.ledger import TAKEN, Ledger, fingerprint
from tests.backends.hostile import dataset, folder, run

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

Json = dict[str, Any]


def ended(number: int, *, reads: str = "", writes: str = "") -> Json:
    """The end of a run; datasets are letters."""
    return run(f"e{number}", number, reads=list(reads), writes=list(writes))[1]


@pytest.fixture
def again(tmp_path: Path) -> Callable[..., list[Json]]:
    """Those of delivered events that are sent again, in their order, after one that is late."""

    def found(*events: Json, late: Json) -> list[Json]:
        where = folder(tmp_path / "out", [*events, late])
        with Ledger(where / "push" / "backend") as ledger:
            for event in events:
                ledger.write(TAKEN, fingerprint(event))
        with Index(where, lambda _: None) as index, Ledger(where / "push" / "backend") as ledger:
            index.mark_delivered(ledger)
            marks = index.send_again(ledger)
            assert index.count_delivered() == len(events) - len(marks)
        return [event for event in events if fingerprint(event) in marks]

    return found


def test_the_last_to_write_and_the_last_to_name_follow(again: Callable[..., list[Json]]) -> None:
    history = [
        ended(1, writes="t"),
        ended(2, writes="t"),
        ended(3, reads="t"),
        ended(4, reads="t"),
        ended(5, writes="u"),
    ]
    assert again(*history, late=ended(0, writes="t")) == [history[1], history[3]]


def test_what_follows_is_followed_by_what_it_overtakes_itself(again: Callable[..., list[Json]]) -> None:
    history = [ended(1, reads="u", writes="t"), ended(2, reads="v", writes="u"), ended(3, writes="w")]
    assert again(*history, late=ended(0, reads="t")) == history[:2]


def test_before_an_event_nothing_is_overtaken(again: Callable[..., list[Json]]) -> None:
    assert again(ended(0, writes="t"), ended(1, writes="t"), late=ended(2, writes="t")) == []


def test_an_event_of_a_dataset_counts_as_one_that_writes_it(again: Callable[..., list[Json]]) -> None:
    history = [dataset("t", second=86_400), ended(86_401, reads="t")]
    assert again(ended(1, writes="t"), *history, late=ended(0, writes="t")) == history
