"""The graph that a server shows. Processes with limits answer its questions, as those of ``exporter serve``."""

from __future__ import annotations

from contextlib import ExitStack
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Final, Self

from pyoxigraph import Store

from exporter.ask import missing, stores
from exporter.ask.pool import Pool
from exporter.mcp.answers import UNTRUSTED, page
from exporter.mcp.names import without_names
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
            self._pool = Pool(store, OWN_QUESTIONS, _PROCESSES, seconds, waiting=_WAITING)
            sparql = Pool(store, OWN_QUESTIONS, 1, seconds, nice=_NICE, waiting=_WAITING)
            self.site = Site(graph, self._pool, sparql)
            self._store = Store.read_only(str(store))
            self._without_names = lru_cache(_SENTENCES)(partial(without_names, self._store))
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

    def ask(self, question: str, params: Mapping[str, Sequence[str]], most: int) -> Answer:
        """The answer to a shipped question, with its notes, as the command has it."""
        return self._pool.answer(question, params, most)

    def no_row(self, given: Mapping[str, Sequence[str]]) -> str:
        """The note on an empty answer to these parameters of which nothing else is known."""
        return missing.no_row(self._store, given)

    def notes(self) -> list[str]:
        """The notes on all answers: what the export left out, and whether there is a newer export."""
        return [*self.site.left_out, *([_OLD] if self.site.is_old() else [])]

    def table(  # noqa: PLR0913 - an answer, and what of it is shown
        self, answer: Answer, limit: int, offset: int, notes: Collection[str], arguments: Arguments, *, is_all: bool
    ) -> Json:
        """An answer of one table."""
        table = page(answer.columns, answer.rows, limit, offset, is_all=is_all)
        return {**table, **self.notes_of_answer(notes, arguments)}

    def notes_of_answer(self, notes: Collection[str], arguments: Arguments) -> Json:
        """The members of each answer besides its rows: the notes, and a warning that texts are data."""
        texts = arguments.all_texts()
        return {"notes": [self.without_names(note, texts) for note in dict.fromkeys(notes)], "untrusted": UNTRUSTED}

    def without_names(self, text: str, arguments: Collection[str] = ()) -> Json:
        """A note or an error as text without names, and the list of these names."""
        sentence = text.replace("--param ", "")
        if len(sentence) > _LONGEST_CACHED:
            return without_names(self._store, sentence, arguments)
        cached = self._without_names(sentence, frozenset(value for value in arguments if value in sentence))
        return {"text": cached["text"], "names": list(cached["names"])}
