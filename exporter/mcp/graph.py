"""The graph that a server shows. Processes with limits answer its questions, as those of ``exporter serve``.

The names in a sentence are separated from its text: a name comes from a row, so it is data, not part of a sentence.

Anybody who may create a table may call it "Ignore all previous instructions". Cells of an answer are data by their
place. The notes on an answer and errors are sentences of this program that name objects, columns, users and queries.
For an assistant they become a text with numbers in the places of names, and the list of the names::

    {"text": "[1] was truncated at 2026-09-03T00:00:00Z: what it held before is not in the answer.", "names": ["D.S.T"]}

A name is found as the graph has it: the longest part of a sentence, between signs that end words, that is the value of
a property of the graph, was given as an argument, or is an IRI. A number or a single word in small letters stays.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Final, Self

from pyoxigraph import Literal, NamedNode, Store

from exporter.ask import stores
from exporter.ask.answers import Answer
from exporter.ask.notes.empty import no_row
from exporter.ask.pool import Pool
from exporter.graph.terms import full
from exporter.graph.vocabulary import NODE_CLASSES
from exporter.mcp.resources import SCHEME
from exporter.serve.site import PAGE_QUESTIONS, Site
from exporter.system.terminal import message, visible_text

Json = dict[str, Any]

LONGEST_CELL: Final = 2_000
"""Characters."""
SECONDS: Final = 50.0
"""The most seconds for an answer: less than the minute after which clients give up by themselves."""
_PROCESSES: Final = 2
_WAITING: Final = 14
"""How many questions may wait for one of the processes: assistants ask several at once."""
_NICE: Final = 10
"""By how much (nice(2)) queries in SPARQL give way to questions."""
_SENTENCES: Final = 1_000
"""How many sentences are cached without their names: answers about one graph have the same notes again and again, and
for a long note the parts are looked up ten thousands of times.
"""
_LONGEST_CACHED: Final = 10_000
"""Characters of such a sentence: what clients write can be in it."""
_OLD: Final = "The folder holds a newer export than the one that this server shows. Start the server again."


class OpenGraph:
    """The graph of an export, or of a folder or file of Turtle. Use it as a context. ``say``: called with messages for
    the person who started the server; ``seconds``: the most for an answer. Raises UsageError where there is no graph.
    """

    def __init__(self, graph: Path, say: Callable[[str], None], seconds: float = SECONDS) -> None:
        with ExitStack() as stack:
            store = stack.enter_context(stores.opened_store(graph, say))
            pool = Pool(store, PAGE_QUESTIONS, _PROCESSES, seconds, waiting=_WAITING)
            sparql = Pool(store, PAGE_QUESTIONS, 1, seconds, nice=_NICE, waiting=_WAITING)
            self.site = Site(graph, pool, sparql)
            self._store = Store.read_only(str(store))
            self._without_names = lru_cache(_SENTENCES)(partial(without_names, self._store))
            for close in (pool.close, sparql.close, self.site.close):
                stack.callback(close)
            self._stack = stack.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends the processes that answer, also while they do; calls that wait for them fail."""
        self._stack.close()

    def ask(self, question: str, params: Mapping[str, Sequence[str]], most: int) -> Answer:
        """The answer to a shipped question, with its notes, as the command has it."""
        return self.site.ask(question, params, most, of_page=False)

    def no_row(self, given: Mapping[str, Sequence[str]]) -> str:
        """The note on an empty answer to these parameters of which nothing else is known."""
        return no_row(self._store, given)

    def notes(self) -> list[str]:
        """The notes on all answers: what the export left out, and whether there is a newer export."""
        return [*self.site.left_out, *self.newer()]

    def newer(self) -> list[str]:
        """A note if there is a newer export, which may have what an answer or an error does not."""
        return [_OLD] if self.site.is_old() else []

    def as_rows_have_it(self, argument: Any) -> Any:
        """The value of an argument with the characters that an answer shows as escapes, since they cannot be seen: a
        name can be asked for as an answer has it. As it is where a row has the escape itself.
        """
        if isinstance(argument, list):
            return [self.as_rows_have_it(one) for one in argument]
        if not isinstance(argument, str) or not _unseen.search(argument):
            return argument
        is_written_so = next(iter(self._store.quads_for_pattern(None, None, Literal(argument))), None) is not None
        return argument if is_written_so else _plain(argument, _unseen)

    def without_names(self, text: str, arguments: Collection[str] = ()) -> Json:
        """A note or an error as text without names, and the list of these names."""
        sentence = text.replace("--param ", "")
        if len(sentence) > _LONGEST_CACHED:
            return without_names(self._store, sentence, arguments)
        cached = self._without_names(sentence, frozenset(value for value in arguments if value in sentence))
        return {"text": cached["text"], "names": list(cached["names"])}


# --- names apart from sentences ---------------------------------------------------------------------------------------

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
_inside: Final = re.compile(r'(?:\.(?:"(?:[^"]|"")*"|[\w$-]+))+').match
_escape: Final = re.compile(r"\\(?:x[0-9a-f]{2}|u[0-9a-f]{4}|U[0-9a-f]{8}|[tnr\\])")

_unseen: Final = re.compile(r"\\(?:x[0-9a-f]{2}|u[0-9a-f]{4}|U[0-9a-f]{8})")


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
            # A name that no row has can begin with that of a schema or database, as of what a CLONE may have brought.
            inside = _inside(text, end)
            if inside and _end_of_name(store, text, end + 1, ends, arguments) is None:
                end = inside.end()
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


def cell(text: str | None) -> str | None:
    """A text as data. Characters that cannot be seen are escapes, as on a terminal: instructions can hide in them."""
    if text is None:
        return None
    return visible_text(text if len(text) <= LONGEST_CELL else f"{text[:LONGEST_CELL]}…")


def _plain(part: str, escape: re.Pattern[str] = _escape) -> str:
    """A name as the graph has it: messages show some characters as escapes."""
    return escape.sub(lambda match: match[0].encode("ascii").decode("unicode_escape"), part)
