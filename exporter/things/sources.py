"""The objects and columns behind a view or stream, as far as the queries that read it show them.

Each query shows a part, certain or possible (:mod:`exporter.queries.views`). A source is certain if one query shows
that it is. Of the others, those remain possible that were seen after the view was last read alone: a query that reads
nothing else has all objects behind it.

What the queries show belongs to one definition of the view. It ends when the view is dropped, when it is created again
under the same key, or when another view (CREATE OR REPLACE with a new id) takes its name. The state is bounded by the
sources and columns of the view, and not by the number of queries.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct, field

from exporter.things.lives import Sight, Source

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exporter.queries.views import Pair, Shown


class Definition(Struct, array_like=True, gc=False):
    """What is known of one definition of a view. ``state``: the version of the view in which it was first read, which
    identifies the definition. ``alone``: when the view was last read alone. ``since``: when the view was created with
    it, or the definition before it ended; None if it may be older than the record. ``until``: when it ended, None while
    it holds.
    """

    state: str
    certain: dict[str, Sight] = field(default_factory=dict)
    possible: dict[str, Sight] = field(default_factory=dict)
    alone: int | None = None
    until: int | None = None
    since: int | None = None


class Sources:
    """All definitions of a view, the latest last. ``created``: when the view was last created, None if no row says."""

    def __init__(self, definitions: list[Definition] | None = None, created: int | None = None) -> None:
        self.definitions = definitions or []
        self.created = created

    def sees(self, shown: Shown, query_id: str, at: int, state: str) -> None:
        """Add what a query shows. ``at``: its start; ``state``: the version of the view that it read. To be called in
        the order of time.
        """
        if not self.definitions or self.definitions[-1].until is not None:
            begun = [time for time in (self.created, *(one.until for one in self.definitions[-1:])) if time is not None]
            self.definitions.append(Definition(state, since=max(begun, default=None)))
        now = self.definitions[-1]
        for known, pairs in ((now.certain, shown.certain), (now.possible, shown.possible)):
            for pair, name in pairs:
                sight = known.setdefault(_text(pair), Sight(query_id, at, at, name))
                sight.last = max(sight.last, at)
        if shown.alone:
            now.alone = at

    def ends(self, at: int, *, creates: bool = False) -> None:
        """The view is dropped, or created again."""
        if self.definitions and self.definitions[-1].until is None:
            self.definitions[-1].until = at
        if creates:
            self.created = at

    def is_restored(self) -> None:
        """A drop is reverted. The definition goes on that the drop ended, unless the view was created again since."""
        last = self.definitions[-1] if self.definitions else None
        if last is not None and last.until is not None and (self.created is None or last.until > self.created):
            last.until = None

    def all(self, taken: int | None = None) -> Iterator[Source]:
        """The sources of all definitions, each once, sorted within a definition. ``taken``: when another view took the
        name for good, which ends the last definition.
        """
        for one in self.definitions:
            until = taken if one.until is None else one.until
            for text in sorted(one.certain.keys() | one.possible.keys()):
                sight = one.certain.get(text) or one.possible[text]
                if text in one.certain or one.alone is None or sight.last > one.alone:
                    key, view_column, source_column = _pair(text)
                    certain = text in one.certain
                    yield Source(one.state, key, view_column, source_column, certain, sight, one.since, until)


def _text(pair: Pair) -> str:
    """A pair as the key of a dict that can be encoded. Keys of objects contain no NUL, and names of columns may: so the
    length of the first column separates it from the second.
    """
    key, view_column, source_column = pair
    if view_column is None:
        return key
    rest = "" if source_column is None else f"\0{source_column}"
    return f"{key}\0{len(view_column)}\0{view_column}{rest}"


def _pair(text: str) -> Pair:
    key, has_columns, rest = text.partition("\0")
    if not has_columns:
        return key, None, None
    length, _, columns = rest.partition("\0")
    view_column, source_column = columns[: int(length)], columns[int(length) :]
    return key, view_column, source_column[1:] if source_column else None
