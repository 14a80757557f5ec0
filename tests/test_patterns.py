"""Patterns that Python 3.11.0 to 3.11.4 match wrongly are not used: Debian 12 has such a Python.

There a possessive group goes on behind what its last, failing turn has looked at, by an assertion or by a repeat:
``(?:a|b(?!c))*+`` matches all of ``abc``. Fixed in 3.11.5 (CPython's gh-106052). A turn without either is right.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT: Final = Path(__file__).parents[1]
_SIMPLER: Final = ((r"\\.", "E"), (r"\[\^?\]?[^\]]*\]", "C"), (r"\{\w+\}", "F"))
"""Escapes, classes and what is put in, as one letter each: what they hold does not count."""
_INNERMOST: Final = re.compile(r"\((\?:|\?P<\w+>)?([^()]*)\)([*+?]\+)?")
_LOOKS: Final = re.compile(r"\(\?<?[=!]([^()]*)\)")


def wrong(pattern: str) -> bool:
    """Whether a pattern has a possessive group with an assertion, or with a repeat that more follows upon."""
    for old, new in _SIMPLER:
        pattern = re.sub(old, new, pattern)
    pattern = pattern.replace("(?>", "(?:a+b)*+(?:")
    while found := (_LOOKS.search(pattern) or _INNERMOST.search(pattern)):
        if found.re is _INNERMOST and found[3] and re.search(r"A|[*+?}][^|)]|[*+?}][*+?]?[^|)*+?]", found[2]):
            return True
        pattern = pattern[: found.start()] + ("A" if found.re is _LOOKS else "G") + pattern[found.end() :]
    return False


def texts() -> Iterator[tuple[str, str]]:
    """Every text of the program's code that might be a pattern, with its place."""
    for file in sorted((ROOT / "exporter").rglob("*.py")):
        source = file.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, (ast.Constant, ast.JoinedStr)):
                text = ast.get_source_segment(source, node) or ""
                if re.search(r"\)[*+?]\+|\(\?>", text):
                    yield f"{file.relative_to(ROOT)}:{node.lineno}", text


def test_no_pattern_is_one_of_them() -> None:
    assert [(place, text) for place, text in texts() if wrong(text)] == []


@pytest.mark.parametrize(
    ("pattern", "is_wrong"),
    [
        (r"(?:a|b(?!c))*+", True),
        (r"(?:(?![,\n])[\x00-\x20]|x)*+", True),
        (r"(?:[eE][+-]?[0-9]++)?+", True),
        (r"(x)(?:( *+: *+)(y)?+)?+", True),
        (r"(?>a*b)", True),
        (r"(?:[^\"\\]|\\.)*+", False),
        (r"([^\"]*+(?:\"\"[^\"]*+)*+)", False),
        (r"(?:\.[0-9]++)?", False),
    ],
)
def test_patterns_that_are(pattern: str, *, is_wrong: bool) -> None:
    assert wrong(pattern) == is_wrong
