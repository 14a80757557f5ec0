"""What a question may not ask for, refused in words before it is asked.

A question reads the graph that it is asked of and nothing else. ``SERVICE`` would reach the network; ``FROM`` and the
updates (``LOAD`` among them) have no meaning here, and would be answered with nothing. The words are for the person who
wrote such a question: that none of it happens does not hang on them, for the process that answers can open no file
and no connection (:mod:`exporter.graph.ask.worker`).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from exporter.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

LONGEST: Final = 1 << 20
"""Characters of a question at most."""
_UPDATES: Final = frozenset(
    {"INSERT", "DELETE", "LOAD", "CLEAR", "DROP", "CREATE", "ADD", "MOVE", "COPY", "WITH"}
)  # fmt: skip
_PROLOGUE: Final = frozenset({"BASE", "PREFIX"})
_TOKEN: Final = re.compile(
    r"#[^\r\n]*+"
    r'|"""(?:[^"\\]|\\.|"(?!""))*+"""|"(?:[^"\\\r\n]|\\.)*+"'
    r"|'''(?:[^'\\]|\\.|'(?!''))*+'''|'(?:[^'\\\r\n]|\\.)*+'"
    r'|<[^<>"{}|^`\\\x00-\x20]*+>'
    r"|[?$]\w++|@[A-Za-z][\w-]*+"
    r"|(?P<name>[\w.-]*+:(?:[\w:.-]|%[0-9A-Fa-f]{2}|\\.)*+)"
    r"|[0-9.]++"
    r"|(?P<word>[A-Za-z_]\w*+)",
    re.DOTALL,
)
"""A comment, string, IRI, variable, name with a prefix or number, none of which holds a keyword; or a word."""


def refuse(query: str, name: str) -> None:
    """Raise a UsageError, which names the question, for what it may not ask for."""
    if len(query) > LONGEST:
        raise UsageError(f"{name} has {len(query):,} characters, more than {LONGEST:,}; ask several questions.")
    words = list(_words(query))
    if "SERVICE" in words:
        raise UsageError(f"{name} asks a SERVICE; a question reads the graph alone, so take that part out.")
    if "FROM" in words:
        raise UsageError(f"{name} reads FROM somewhere; a question reads the graph of --graph alone, so take FROM out.")
    first = next((word for word in words if word not in _PROLOGUE), "")
    if first in _UPDATES:
        raise UsageError(f"{name} is an update ({first}); a question is a SELECT, ASK, CONSTRUCT or DESCRIBE.")


def _words(query: str) -> Iterator[str]:
    """The words that may be keywords, in capitals."""
    for found in _TOKEN.finditer(query):
        if found["word"]:
            yield found["word"].upper()
        elif found["name"] and found["name"].upper().startswith(("SERVICE:", "FROM:")):
            # The engine reads SERVICE:x as a keyword and a name, unless there is such a prefix.
            word = found["name"].partition(":")[0]
            if not re.search(rf"PREFIX\s+{word}:", query, re.IGNORECASE):
                yield word.upper()
