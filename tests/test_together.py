"""Steps that wait for others start when these are over, and not before; a step that fails is told."""

from __future__ import annotations

from functools import partial
from threading import Barrier
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.together import AT_ONCE, both, together

if TYPE_CHECKING:
    from collections.abc import Mapping

WAIT = 20.0  # seconds, after which what should run at the same time does not


@st.composite
def orders(draw: st.DrawFn) -> dict[str, tuple[str, ...]]:
    """Up to eight steps, each after any of those before it."""
    names = [f"step-{number}" for number in range(draw(st.integers(1, 8)))]
    return {
        name: tuple(draw(st.sets(st.sampled_from(names[:number])))) if number else ()
        for number, name in enumerate(names)
    }


@given(orders())
def test_each_step_finds_done_what_it_waits_for(after: dict[str, tuple[str, ...]]) -> None:
    done: list[str] = []

    def step(name: str, there: Mapping[str, str]) -> str:
        assert set(after[name]) <= set(done)
        assert all(there[one] == one.upper() for one in after[name])
        done.append(name)
        return name.upper()

    steps = {name: partial(step, name) for name in after}
    assert together(steps, after) == {name: name.upper() for name in after}
    assert sorted(done) == sorted(after)


def test_steps_that_wait_for_nothing_run_at_the_same_time() -> None:
    meet = Barrier(AT_ONCE)
    assert len(together({str(n): lambda _: meet.wait(WAIT) for n in range(AT_ONCE)}, {})) == AT_ONCE


def test_a_step_starts_while_others_that_it_does_not_need_run() -> None:
    meet = Barrier(2)
    steps = {"short": lambda _: 0, "long": lambda _: meet.wait(WAIT), "next": lambda _: meet.wait(WAIT)}
    assert sorted(together(steps, {"next": ("short",)})) == ["long", "next", "short"]


@pytest.mark.parametrize("after", [{"one": ("other",), "other": ("one",)}, {"one": ("no such step",)}])
def test_steps_that_can_never_start_are_told(after: dict[str, tuple[str, ...]]) -> None:
    with pytest.raises(ValueError, match="nothing can start of one"):
        together({"one": lambda _: 1, "other": lambda _: 2}, after)


def test_the_first_that_fails_is_raised_when_what_runs_is_over() -> None:
    over: list[str] = []
    meet = Barrier(2)

    def fails() -> None:
        meet.wait(WAIT)
        raise ValueError("no such table")

    def goes_on() -> None:
        meet.wait(WAIT)
        over.append("other")

    with pytest.raises(ValueError, match="no such table"):
        together(
            {"one": lambda _: fails(), "other": lambda _: goes_on(), "third": lambda _: over.append("third")},
            {"third": ("one",)},
        )
    assert over == ["other"]
    with pytest.raises(ValueError, match="no such table"):
        both(fails, goes_on)
    assert over == ["other", "other"]
