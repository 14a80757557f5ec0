"""Stories whose days are added by updates, in any split: they give the graph of one export."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tests.ask.stories import days_of_all, exported, flat
from tests.engines.test_updates import UPDATE, applied, triples

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from tests.ask.stories import Json


GRAPH: Final = ("--outputs", "graph")


def assert_updates_give_the_same(stories: Mapping[str, Sequence[Json]], folder: Path) -> None:
    """Updates in any split of the days give the graph of one export, and so do their changes, applied. All stories are
    accounts of one export: what one of them lacks is in the names of the triples that differ. Events, which nothing is
    compared with here, are made in the first split alone.
    """
    every = days_of_all(stories)

    def part(days: Sequence[int]) -> tuple[list[Json], list[Json]]:
        return flat([every[day][0] for day in days]), flat([every[day][1] for day in days])

    once = triples(exported(*part(range(len(every))), folder / "once", *GRAPH))
    for number, runs in enumerate(splits(len(every))):
        for run in runs:
            out = exported(*part(run), folder / f"{number}", *UPDATE, *(GRAPH if number else ()))
        assert triples(out) == once, runs
        assert applied(out) == once, runs


def splits(length: int) -> list[list[range]]:
    """Days in runs: one by one; and every other one, of long stories every third, the later of them first and last, so
    that rows come late.
    """
    whole = range(length)
    late = [[whole[at::step] for at in reversed(range(step))] for step in ((2, 3) if length > 6 else (2,))]
    return [[whole[day : day + 1] for day in whole], *late, late[0][::-1]]
