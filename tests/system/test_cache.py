"""What does a cache keep, and what does it give up first?"""

from __future__ import annotations

from exporter.system.cache import LARGE, Recent

SMALL, BIG, HUGE = 0, 100_000, 10**9


def keys(number: int) -> list[object]:
    return [object() for _ in range(number)]


def test_the_least_recently_used_value_goes_first() -> None:
    cache, (one, two, three) = Recent[str](2), keys(3)
    cache.keep(one, "one")
    cache.keep(two, "two")
    assert cache.get(one) == "one"
    cache.keep(three, "three")
    assert [cache.get(key) for key in (one, two, three)] == ["one", None, "three"]


def test_an_equal_key_is_another_one() -> None:
    cache = Recent[str](2)
    one, two = [1], [1]
    cache.keep(one, "one")
    assert cache.get(two) is None


def test_few_large_values_are_kept_and_they_take_no_place_of_small_ones() -> None:
    cache, small, large = Recent[int](1_000), keys(1_000), keys(LARGE + 1)
    for number, key in enumerate(small):
        cache.keep(key, number, SMALL)
    for number, key in enumerate(large):
        cache.keep(key, number, BIG)
    assert [cache.get(key) for key in small] == list(range(1_000))
    assert [cache.get(key) for key in large] == [None, *range(1, LARGE + 1)]


def test_a_huge_value_is_returned_and_not_kept() -> None:
    cache, (key,) = Recent[str](2), keys(1)
    assert cache.keep(key, "huge", HUGE) == "huge"
    assert cache.get(key) is None
