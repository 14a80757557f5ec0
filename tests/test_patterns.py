"""Patterns that Python 3.11.0 to 3.11.4 match wrongly are not used: Debian 12 has such a Python.

There a possessive group ends where its last, failing repetition looked with an assertion or a repeat, and not where
that repetition began: ``(?:a|b(?!c))*+`` matches all of ``abc``. Fixed in 3.11.5 (CPython's issue 106052).
"""

from __future__ import annotations

import pkgutil
import re
from importlib import import_module
from re import _constants as codes  # type: ignore[attr-defined]  # Python's parser of patterns has no types
from re import _parser as parser  # type: ignore[attr-defined]  # Python's parser of patterns has no types
from typing import TYPE_CHECKING, Any

import pytest

import exporter

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

REPEATS = (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT)


def is_safe(pattern: str, flags: int = 0) -> bool:
    """Whether every possessive group of a pattern can fail before it looked anywhere only."""
    return all(_turn(turn) for turn in _possessive(parser.parse(pattern, flags)))


def _possessive(sequence: Iterable[Any]) -> Iterator[Any]:
    """What one turn of each possessive group is; one of a single character or class is right in every Python."""
    for code, given in sequence:
        inner = list(_inside(code, given))
        if code is codes.ATOMIC_GROUP or (code is codes.POSSESSIVE_REPEAT and _is_group(given[2])):
            yield from inner
        for one in inner:
            yield from _possessive(one)


def _is_group(body: Any) -> bool:
    return len(body) > 1 or body[0][0] not in (codes.IN, codes.LITERAL, codes.NOT_LITERAL, codes.ANY)


def _inside(code: Any, given: Any) -> Iterator[Any]:
    """The sequences that an element of a pattern holds."""
    if code is codes.BRANCH:
        yield from given[1]
    elif code is codes.ATOMIC_GROUP:
        yield given
    elif code in (*REPEATS, codes.SUBPATTERN, codes.ASSERT, codes.ASSERT_NOT):
        yield given[-1]


def _turn(sequence: Any) -> bool:
    elements = list(sequence)
    for at, (code, given) in enumerate(elements):
        if code in (codes.ASSERT, codes.ASSERT_NOT, codes.ATOMIC_GROUP):
            return False
        if code in REPEATS and (given[0] > 0 or at < len(elements) - 1):
            return False
        if code in (codes.BRANCH, codes.SUBPATTERN) and not all(_turn(one) for one in _inside(code, given)):
            return False
    return True


def patterns() -> dict[str, re.Pattern[Any]]:
    """The patterns of all modules, by where they are; a method of one (``re.compile(…).sub``) counts."""
    found = {}
    for info in pkgutil.walk_packages(exporter.__path__, "exporter."):
        if info.name != "exporter.__main__":
            for name, value in vars(import_module(info.name)).items():
                if type(value).__name__ == "LocalProxy":  # Flask's, of a request that there is not
                    continue
                one = getattr(value, "__self__", value)
                if isinstance(one, re.Pattern):
                    found[f"{info.name}.{name}"] = one
    return found


def test_no_pattern_is_one_of_them() -> None:
    found = patterns()
    assert len(found) > 20
    assert [
        name for name, one in found.items() if isinstance(one.pattern, str) and not is_safe(one.pattern, one.flags)
    ] == []


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        (r"(?:a|b(?!c))*+", False),
        (r"(?:(?![,\n])[\x00-\x20]|x)*+", False),
        (r"1(?:[eE][+-]?[0-9]++)?+", False),
        (r"(x)(?:( *+: *+)(y)?+)?+", False),
        (r"(?:a|%[0-9]{2})*+", False),
        (r"(?>a*b)", False),
        (r'"(?:[^"\\]|\\.)*+"', True),
        (r'"([^"]*+(?:""[^"]*+)*+)', True),
        (r"(?:\.[0-9]++)?", True),
    ],
)
def test_patterns_that_are(pattern: str, *, expected: bool) -> None:
    assert is_safe(pattern) == expected
