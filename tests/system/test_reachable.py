"""What is reached in a graph, step by step."""

from __future__ import annotations

from typing import Final

from exporter.system.reachable import reachable

AFTER: Final = {"a": ["b", "c"], "b": ["a"], "c": ["d", "c"], "d": [], "e": ["a"]}
"""A circle (a, b), a step to itself (c), an end (d), and a node that none leads to (e)."""


def test_all_that_follows_is_reached_and_each_is_asked_once() -> None:
    asked: list[str] = []

    def following(node: str) -> list[str]:
        asked.append(node)
        return AFTER[node]

    assert set(reachable(["a", "a"], following)) == {"a", "b", "c", "d"}
    assert sorted(asked) == ["a", "b", "c", "d"]


def test_the_last_that_waits_is_visited_first() -> None:
    assert list(reachable(["d", "e"], AFTER.__getitem__)) == ["e", "a", "c", "d", "b"]


def test_of_nothing_nothing_is_reached() -> None:
    assert list(reachable([], AFTER.__getitem__)) == []
