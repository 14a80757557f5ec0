"""The graph that a server shows. Processes with limits answer its questions, as those of ``exporter serve``."""

from __future__ import annotations

from contextlib import ExitStack
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Final, Self

from pyoxigraph import Store

from exporter.ask import missing, stores
from exporter.ask.pool import Pool
from exporter.mcp.answers import UNTRUSTED, page
from exporter.mcp.names import apart
from exporter.serve.site import OWN_QUESTIONS, Site

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from pathlib import Path

    from exporter.ask.answers import Answer
    from exporter.mcp.answers import Json
    from exporter.mcp.tool import Arguments

SECONDS: Final = 50.0
"""The most seconds for an answer: less than the minute after which clients give up by themselves."""
_PROCESSES: Final = 2
_WAITING: Final = 14
"""How many questions may wait for one of the processes: assistants ask several at once."""
_NICE: Final = 10
"""By how much (nice(2)) queries in SPARQL give way to questions."""
_SENTENCES: Final = 1_000
"""How many sentences are kept with their names apart: answers about one graph have the same notes again and again, and
the parts of a long one are looked up ten thousands of times.
"""
_LONGEST_KEPT: Final = 10_000
"""Characters of such a sentence: what clients write can be in it."""
_OLD: Final = "The folder holds a newer export than the one that this server shows. Start the server again."


class OpenGraph:
    """The graph of an export, or of a folder or file of Turtle. Use it as a context. ``say``: called with messages for
    the person who started the server; ``seconds``: the most for an answer. Raises UsageError where there is no graph.
    """

    def __init__(self, graph: Path, say: Callable[[str], None], seconds: float = SECONDS) -> None:
        with ExitStack() as stack:
            store = stack.enter_context(stores.opened_store(graph, say))
            self._pool = Pool(store, OWN_QUESTIONS, _PROCESSES, seconds, waiting=_WAITING)
            sparql = Pool(store, OWN_QUESTIONS, 1, seconds, nice=_NICE, waiting=_WAITING)
            self.site = Site(graph, self._pool, sparql)
            self._store = Store.read_only(str(store))
            self._apart = lru_cache(_SENTENCES)(partial(apart, self._store))
            for close in (self._pool.close, sparql.close, self.site.close):
                stack.callback(close)
            self._stack = stack.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends the processes that answer, also while they do; calls that wait for them fail."""
        self._stack.close()

    def ask(self, question: str, given: Mapping[str, Sequence[str]], most: int) -> Answer:
        """The answer to a shipped question, with its notes, as the command has it."""
        return self._pool.answer(question, given, most)

    def no_row(self, given: Mapping[str, Sequence[str]]) -> str:
        """The note on an empty answer to these parameters of which nothing else is known."""
        return missing.no_row(self._store, given)

    def notes(self) -> list[str]:
        """What is true of all answers: what the export left out, and whether there is a newer one."""
        return [*self.site.left_out, *([_OLD] if self.site.is_old() else [])]

    def table(  # noqa: PLR0913 - an answer, and what of it is shown
        self, found: Answer, limit: int, offset: int, notes: Collection[str], arguments: Arguments, *, is_all: bool
    ) -> Json:
        """An answer of one table."""
        table = page(found.columns, found.rows, limit, offset, is_all=is_all)
        return {**table, **self.around(notes, arguments)}

    def around(self, notes: Collection[str], arguments: Arguments) -> Json:
        """What each answer has besides its rows."""
        given = arguments.all_texts()
        return {"notes": [self.apart(note, given) for note in dict.fromkeys(notes)], "untrusted": UNTRUSTED}

    def apart(self, text: str, given: Collection[str] = ()) -> Json:
        """A note or an error, with the names in it apart."""
        sentence = text.replace("--param ", "")
        if len(sentence) > _LONGEST_KEPT:
            return apart(self._store, sentence, given)
        told = self._apart(sentence, frozenset(one for one in given if one in sentence))
        return {"text": told["text"], "names": list(told["names"])}
