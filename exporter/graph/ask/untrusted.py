"""Refuses what a question may not contain, with a message, before it is asked.

A question reads its graph and nothing else. ``SERVICE`` would reach the network. ``FROM`` and the updates (``LOAD``
among them) have no meaning here, and would give empty answers. These checks only serve the messages: safety does not
depend on them, since the process that answers cannot open files or connections (:mod:`exporter.graph.ask.worker`).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from exporter.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

LONGEST: Final = 1 << 20
"""The most characters of a question."""
_UPDATES: Final = frozenset(
    {"INSERT", "DELETE", "LOAD", "CLEAR", "DROP", "CREATE", "ADD", "MOVE", "COPY", "WITH"}
)  # fmt: skip
_PROLOGUE: Final = frozenset({"BASE", "PREFIX"})
_TOKEN: Final = re.compile(
    r"#[^\r\n]*+"
    r'|"""(?:[^"\\]|\\.|"[^"\\]|"\\.|""[^"\\]|""\\.)*+(?:""")?|"(?:[^"\\\r\n]|\\.)*+"?'
    r"|'''(?:[^'\\]|\\.|'[^'\\]|'\\.|''[^'\\]|''\\.)*+(?:''')?|'(?:[^'\\\r\n]|\\.)*+'?"
    r'|<[^<>"{}|^`\\\x00-\x20]*+>'
    r"|[?$]\w++|@[A-Za-z][\w-]*+"
    r"|(?P<words>[\w.-]++)(?P<local>:(?:[\w:.-]|%[0-9A-Fa-f][0-9A-Fa-f]|\\.)*+)?",
    re.DOTALL,
)
"""A comment, string, IRI or variable, in which no keyword can stand; or words, with the local name that follows a
prefix. What is never closed goes on to the end of the text, so that no part is scanned twice.
"""
_prefixes: Final = re.compile(r"PREFIX\s++([A-Za-z]++):", re.IGNORECASE).findall
_word: Final = re.compile(r"[A-Za-z]+").findall


class ForbiddenError(UsageError):
    """A question that would change the graph or reach another service."""


def refuse(query: str, name: str) -> None:
    """Raises UsageError for a question with a forbidden part: ForbiddenError for an update or a SERVICE. ``name``: of
    the question, for the message.
    """
    if len(query) > LONGEST:
        raise UsageError(f"{name} has {len(query):,} characters, more than {LONGEST:,}; ask several questions.")
    words = list(_words(query))
    if "SERVICE" in words:
        raise ForbiddenError(f"{name} has a SERVICE; a question can only read the graph, so remove that part.")
    if "FROM" in words:
        raise UsageError(f"{name} reads FROM somewhere; a question can only read the graph of --graph, so remove FROM.")
    first = next((word for word in words if word not in _PROLOGUE), "")
    if first in _UPDATES:
        raise ForbiddenError(f"{name} is an update ({first}); a question is a SELECT, ASK, CONSTRUCT or DESCRIBE.")


def _words(query: str) -> Iterator[str]:
    """The words that may be keywords, in upper case."""
    prefixes = {name.upper() for name in _prefixes(query)}
    for found in _TOKEN.finditer(query):
        words = [word.upper() for word in _word(found["words"] or "")]
        if found["local"] is None:
            yield from words
        elif words and words[-1] not in prefixes:
            yield words[-1]  # the engine reads SERVICE:x as a keyword and a name
