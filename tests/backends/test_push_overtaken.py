"""Events that are sent again after one that was late, or refused at first: the last one about each of its datasets, and
no others.
"""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

import pytest

from exporter.backends.index import Index
from exporter.backends.ledger import TAKEN, Ledger, fingerprint
from tests.backends.hostile import Asked, Hostile, Reply, dataset, folder, history, run, run_id
from tests.backends.pushing import counted, kept, push, texts

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

Json = dict[str, Any]
pytestmark = pytest.mark.usefixtures("alone")


def ended(number: int, *, reads: str = "", writes: str = "", job: str | None = None) -> Json:
    """The end of a run; datasets are letters."""
    return run(f"e{number}", number, reads=list(reads), writes=list(writes), job=job)[1]


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


def test_the_last_run_of_its_job_follows(again: Callable[..., list[Json]]) -> None:
    """The edges of a job are those of the run that came last."""
    history = [ended(1, reads="t", job="j"), ended(2, reads="t", job="j"), ended(3, reads="t", job="k")]
    assert again(*history, late=ended(0, reads="t", job="j")) == history[1:]


def test_before_an_event_nothing_is_overtaken(again: Callable[..., list[Json]]) -> None:
    assert again(ended(0, writes="t"), ended(1, writes="t"), late=ended(2, writes="t")) == []


def test_an_event_of_a_dataset_counts_as_one_that_writes_it(again: Callable[..., list[Json]]) -> None:
    history = [dataset("t", second=86_400), ended(86_401, reads="t")]
    assert again(ended(1, writes="t"), *history, late=ended(0, writes="t", job="j")) == history


# --- refused at first -------------------------------------------------------------------------------------------------

REFUSED = run_id("e2")
AT_FIRST = [ended(1, writes="t"), ended(2, writes="t"), ended(3, writes="t"), ended(4, reads="t"), ended(5, writes="u")]


class Backend:
    """One that refuses a run, and later, perhaps, everything else."""

    def __init__(self) -> None:
        self.refuses, self.denies = True, False

    def __call__(self, asked: Asked) -> Reply:
        if asked.run == REFUSED:
            return Reply(422) if self.refuses else Reply()
        return Reply(401) if self.denies else Reply()


def test_what_is_taken_after_it_was_refused_is_followed_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Else a table would be shown as it was before: dropped ones would be there again."""
    where, backend = folder(tmp_path / "out", AT_FIRST), Backend()
    with Hostile(backend) as server:
        assert push(where, server.url, capsys)[:2] == (3, counted(delivered=4, set_aside=1))
        assert push(where, server.url, capsys)[:2] == (3, counted(already_delivered=4, set_aside=1)), "still refused"
        backend.refuses, before = False, len(server.taken)
        code, counts, said = push(where, server.url, capsys)
        assert (code, counts) == (0, counted(already_delivered=2, delivered=3))
        assert server.taken[before:] == [AT_FIRST[1], AT_FIRST[2], AT_FIRST[3]]
        assert "2 delivered events were sent again: events that were set aside before" in said
        assert push(where, server.url, capsys)[:2] == (0, counted(already_delivered=5))
        assert kept(where) == []


def test_after_a_start_that_was_refused_the_end_of_its_run_is_sent_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without the START the run has no beginning and no duration, and after it alone it would be a running one."""
    start, end = run("e2", 2, writes=["t"])
    later = [*run("e3", 3, writes=["u"]), *run("e4", 4, reads=["t"])]
    where = folder(tmp_path / "out", [start, end, *later])
    refuses = True

    def answer(asked: Asked) -> Reply:
        return Reply(500 if refuses and asked.run == REFUSED and asked.event["eventType"] == "START" else 201)

    with Hostile(answer) as server:
        assert push(where, server.url, capsys, "--concurrency", "1")[:2] == (3, counted(delivered=5, set_aside=1))
        assert push(where, server.url, capsys)[:2] == (3, counted(already_delivered=5, set_aside=1)), "still refused"
        refuses, before = False, len(server.taken)
        code, counts, _ = push(where, server.url, capsys, "--concurrency", "1")
        assert code == 0
        assert server.taken[before:] == [start, end, later[3]], "the reader of t follows its writer"
        assert counts == counted(already_delivered=3, delivered=3)
        assert push(where, server.url, capsys)[:2] == (0, counted(already_delivered=6))
        assert kept(where) == []


def test_what_has_to_follow_is_not_forgotten_if_the_push_ends_before(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    where, backend = folder(tmp_path / "out", AT_FIRST), Backend()
    with Hostile(backend) as server:
        push(where, server.url, capsys)
        backend.refuses, backend.denies = False, True
        assert push(where, server.url, capsys)[:2] == (3, counted(already_delivered=2, delivered=1, left=2))
        backend.denies, before = False, len(server.taken)
        assert push(where, server.url, capsys)[:2] == (0, counted(already_delivered=3, delivered=2))
        assert server.taken[before:] == AT_FIRST[2:4]
        assert push(where, server.url, capsys)[:2] == (0, counted(already_delivered=5))


def test_what_follows_can_be_new(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With the next export a new event comes, which is the last to write."""
    where, backend, new = folder(tmp_path / "out", AT_FIRST), Backend(), ended(9, writes="t")
    with Hostile(backend) as server:
        push(where, server.url, capsys)
        shutil.rmtree(where / "events")
        folder(tmp_path / "next", [*AT_FIRST, new]).joinpath("events").rename(where / "events")
        backend.refuses, before = False, len(server.taken)
        assert push(where, server.url, capsys)[:2] == (0, counted(already_delivered=4, delivered=2))
        assert server.taken[before:] == [AT_FIRST[1], new, new]


def test_what_is_still_refused_follows_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    where, backend = folder(tmp_path / "out", [*AT_FIRST[:3], *run("e9", 9, writes=["t"])[1:]]), Backend()
    bad = [REFUSED, run_id("e9")]
    with Hostile(lambda asked: Reply(422) if asked.run in bad else backend(asked)) as server:
        assert push(where, server.url, capsys)[1] == counted(delivered=2, set_aside=2)
        backend.refuses = False
        bad.remove(REFUSED)
        assert push(where, server.url, capsys)[:2] == (3, counted(already_delivered=1, delivered=2, set_aside=1))
        assert server.taken[-2:] == AT_FIRST[1:3]


def test_what_was_taken_late_is_not_sent_again_if_the_push_ends_before(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """docs/openlineage.md, "Once": only what was being sent goes again. What has to follow comes with the next push."""
    rest = [ended(number, writes="v") for number in (11, 12)]
    where, backend = folder(tmp_path / "out", AT_FIRST), Backend()
    with Hostile(backend) as server:
        push(where, server.url, capsys)
        shutil.rmtree(where / "events")
        folder(tmp_path / "next", [*AT_FIRST, *rest]).joinpath("events").rename(where / "events")
        backend.refuses, backend.denies = False, True
        assert push(where, server.url, capsys)[:2] == (3, counted(already_delivered=4, delivered=1, left=2))
        backend.denies, before = False, len(server.taken)
        code, counts, said = push(where, server.url, capsys)
        assert (code, counts) == (0, counted(already_delivered=3, delivered=4))
        assert "2 delivered events were sent again" in said
        assert server.taken[before:] == [*rest, *AT_FIRST[2:4]]
        assert push(where, server.url, capsys)[:2] == (0, counted(already_delivered=7))


@pytest.mark.parametrize("concurrency", ["1", "8"])
@pytest.mark.parametrize("down", [503, 401])
def test_after_two_pushes_that_ended_early_nothing_goes_twice(
    down: int, concurrency: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Events that an ended push left were not refused: what the next push delivers of them is on record at once."""
    events = history(60)
    where, most = folder(tmp_path / "out", events), 0
    with Hostile(lambda asked: Reply(down) if asked.number > most else Reply()) as server:
        for _ in range(3):
            code, counts, said = push(where, server.url, capsys, "--concurrency", concurrency, "--profile", "any")
            assert (code, counts["left"]) == (3, len(events) - len(server.taken))
            assert "were being sent" not in said
            assert counts["already_delivered"] + counts["delivered"] == len(server.taken)
            most = len(server.asked) + 25
        most = 10**9
        assert push(where, server.url, capsys, "--profile", "any").code == 0
    assert texts(server.taken) == texts(events)
