"""The names that several queries of one time give an object: docs/input.md, "How a name or an id becomes a key"."""

from __future__ import annotations

from itertools import groupby, pairwise, permutations
from typing import TYPE_CHECKING, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.model.object_state import CUT_NAME, NameHistory, NamesOfQuery, names_in_order

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

Z, Y, B, A = "D.S.Z", "D.S.Y", "D.S.B", "D.S.A"


def renames(*moves: tuple[str, str]) -> list[NamesOfQuery]:
    return [(f"q{number}", ((0, before), (1, after))) for number, (before, after) in enumerate(moves)]


NAMES: Final = st.lists(st.sampled_from("ABCDEFGH"), min_size=2, max_size=8, unique=True)


@given(NAMES.flatmap(lambda names: st.tuples(st.just(names), st.permutations(list(pairwise(names))))))
def test_each_rename_follows_the_one_that_gave_its_name(drawn: tuple[list[str], list[tuple[str, str]]]) -> None:
    names, moves = drawn
    assert names_in_order(renames(*moves)) == names


@given(st.lists(st.sampled_from("ABCD"), min_size=3, max_size=9), st.randoms(use_true_random=False))
def test_the_last_name_is_the_last_where_names_come_again(walk: list[str], random: Random) -> None:
    names = [name for name, _ in groupby(walk)]
    moves = list(pairwise(names))
    if names[0] != names[-1]:
        assert names_in_order(renames(*random.sample(moves, len(moves))))[-1] == names[-1]


BACK: Final = [(Z, Y), (Y, Z), (Z, Y)]


@pytest.mark.parametrize(
    ("moves", "last"),
    [
        ([(Z, Y), (Y, B)], B),
        (BACK, Y),
        ([(Z, 'D.S."Y"'), (Y, B)], B),  # another spelling is no other name
        # several orders, which all end alike
        ([(Z, Y), (Y, Z), (Z, B), (B, Z), (Z, A)], A),
        # no order, or nothing says with which name it begins: the last in alphabetical order
        ([(Z, Y), (Y, Z)], Z),
        ([(Z, Y), (Z, B)], Y),
        ([(Z, Y), (A, B)], Y),
    ],
)
def test_the_order_of_the_names_counts_where_there_is_one(moves: Sequence[tuple[str, str]], last: str) -> None:
    for queries in permutations(renames(*moves)):
        assert names_in_order(queries)[-1] == last


def test_names_that_are_only_seen_come_before_those_that_are_given() -> None:
    seen: list[NamesOfQuery] = [("", ((0, Y),)), ("", ((0, "D.S.X"),))]
    assert names_in_order([*renames((Z, Y), (Y, B)), *seen]) == ["D.S.X", Z, Y, B]
    assert names_in_order(seen) == ["D.S.X", Y]


def test_a_query_that_shows_two_names_before_is_in_no_order() -> None:
    unclear: NamesOfQuery = "q9", ((0, A), (0, Z), (1, Y))
    assert names_in_order([*renames((Y, B)), unclear])[-1] == Y


def test_a_swap_that_is_cut_ends_the_name_that_a_rename_gave() -> None:
    cut: NamesOfQuery = "q9", ((0, Y), CUT_NAME)
    assert names_in_order([*renames((Z, Y)), cut]) == [Z, Y, ""]


def test_a_history_has_the_names_in_this_order_also_over_days() -> None:
    for queries in permutations(renames((Z, Y), (Y, B))):
        history = NameHistory()
        history.add(1, "q0", ((0, Z),))
        for query_id, names in queries:
            history.add(2, query_id, names)
        assert history.present() == (B, 2)
        later = NameHistory(history.kept())
        assert later.present() == (B, 2)
        assert [(period.name, period.since, period.until) for period in later.periods({})] == [
            (Z, 1, 2), (Y, 2, 2), (B, 2, None)
        ]  # fmt: skip
