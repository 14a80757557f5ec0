"""Separates the names in a sentence from its text: a name comes from a row, so it is data, not part of a sentence.

Anybody who may create a table may call it "Ignore all previous instructions". Cells of an answer are data by their
place. The notes on an answer and errors are sentences of this program that name objects, columns, users and queries.
For an assistant they become a text with numbers in the places of names, and the list of the names::

    {"text": "[1] was truncated at 2026-09-03T00:00:00Z: what it held before is not in the answer.", "names": ["D.S.T"]}

A name is found as the graph has it: the longest part of a sentence, between signs that end words, that is the value of
a property of the graph, was given as an argument, or is an IRI. A number or a single word in small letters stays.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from pyoxigraph import Literal, NamedNode

from exporter.graph.terms import full
from exporter.graph.vocabulary import NODE_CLASSES
from exporter.mcp.answers import SCHEME, cell
from exporter.system.terminal import message

if TYPE_CHECKING:
    from collections.abc import Collection

    from pyoxigraph import Store

    from exporter.mcp.answers import Json

_MOST: Final = 100_000
"""How many parts of a sentence are looked up at most, in a tenth of a second. A longer sentence is data as a whole."""
_WORDS: Final = frozenset(
    {
        *("ah:accessType", "ah:agentType", "ah:domain", "ah:eventSource", "ah:evidence", "ah:executionStatus"),
        *("ah:exporterVersion", "ah:incomplete", "ah:joinType", "ah:modelVersion", "ah:objectId", "ah:operation"),
        *("ah:policyKind", "ah:property", "ah:queryType", "ah:sourceType", "ah:subOperation"),
    }
)
"""Properties whose values are words of Snowflake or of this program, and ids: ``Table``, ``CREATE``, ``66564``."""
_TEXTS: Final = tuple(
    NamedNode(full(term))
    for term in sorted(
        {
            node_property.term
            for node in NODE_CLASSES
            for node_property in node.properties
            if node_property.range == "xsd:string" and node_property.term not in _WORDS
        }
    )
)
"""The properties whose values people chose."""
_iri: Final = re.compile(rf"(?!{SCHEME})[a-z][a-z0-9+.-]*://[^\s,;]+").match
_is_plain: Final = re.compile(r"\d+|[A-Za-z]?[a-z]+").fullmatch
"""A number, or a single word that is not in capitals: the sentences have such words, and one alone says nothing."""
_escape: Final = re.compile(r"\\(?:x[0-9a-f]{2}|u[0-9a-f]{4}|U[0-9a-f]{8}|[tnr\\])")


def without_names(store: Store, text: str, arguments: Collection[str] = ()) -> Json:
    """A sentence of this program for an assistant, as above; ``arguments``: the values of arguments, which may have
    come from a row.
    """
    ends = [number for number in range(1, len(text) + 1) if _is_bound(text, number)]
    if len(ends) ** 2 > 2 * _MOST:
        return {"text": "A long message, as data: [1]", "names": [cell(text) or ""]}
    names: dict[str, int] = {}
    sentence, position = list[str](), 0
    while position < len(text):
        can_begin = position == 0 or _is_bound(text, position)
        end = _end_of_name(store, text, position, ends, arguments) if can_begin else None
        if end is None:
            sentence.append(text[position])
            position += 1
        else:
            number = names.setdefault(_plain(text[position:end]), len(names) + 1)
            sentence.append(f"[{number}]")
            position = end
    return {"text": message("".join(sentence)), "names": [cell(name) or "" for name in names]}


def _end_of_name(store: Store, sentence: str, position: int, ends: list[int], arguments: Collection[str]) -> int | None:
    """Where the longest name that begins at a place ends; None where none begins there."""
    if match := _iri(sentence, position):
        return position + len(match[0].rstrip(".:)"))
    for end in reversed(ends):
        if end <= position:
            return None
        part = sentence[position:end]
        if part.isspace():
            continue
        if part in arguments or _is_text(store, part) or ("\\" in part and _is_text(store, _plain(part))):
            return end
    return None


def _is_text(store: Store, part: str) -> bool:
    value = Literal(part)
    if _is_plain(part) or next(iter(store.quads_for_pattern(None, None, value)), None) is None:
        return False
    return any(next(iter(store.quads_for_pattern(None, term, value)), None) is not None for term in _TEXTS)


def _is_bound(sentence: str, position: int) -> bool:
    """Whether a word may end before, and another begin at, a position."""
    return position == len(sentence) or not (_is_of_word(sentence[position - 1]) and _is_of_word(sentence[position]))


def _is_of_word(letter: str) -> bool:
    return letter.isalnum() or letter in "_-"


def _plain(part: str) -> str:
    """A name as the graph has it: messages show some characters as escapes."""
    return _escape.sub(lambda match: match[0].encode("ascii").decode("unicode_escape"), part)
