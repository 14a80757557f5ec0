"""The story of an object: it receives the mentions of the object in order of time and answers the queries.

One PROV entity per table would be invalid: two writes would generate it twice, and an INSERT from a table into itself
would derive it from itself. So a query makes a new version of an object if it writes, creates, replaces or restores it,
or adds, drops or renames its columns by DDL. A read uses the latest version before its start, in the order of (time,
query id), so that there are no cycles. A version exists from the end of the query that made it, or from its start if
QUERY_HISTORY gives no end (PROV-CONSTRAINTS, 6.1). Reads count at the start of their query, changes at its end: a
query does not read what it writes itself.

A version that writes some columns leaves the others unchanged. So columns have their own versions, one for each version
of the object that wrote the column, in a chain that begins when the object is created.

The state of a story is bounded by its object (its columns, names, settings), not by the number of mentions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct

from exporter.queries.identifiers import segment
from exporter.things.answers import Ending
from exporter.things.holding import Asker, Held, Holding, Said
from exporter.things.lives import Drop, Life
from exporter.things.names import Names

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from exporter.things.holding import Over

_BEFORE: Final = "before/"
_GONE: Final = "version-after-drop/"


class Started(Struct, array_like=True, frozen=True, gc=False):
    """The mention of an object at the start of a query. ``reads``: whether the query needs the version in force.
    ``columns``: its source columns. ``names``: names of the object that are seen (0) or given (1). ``settings``: change
    key, column, property, element, and the names of the element.
    """

    reads: bool = False
    columns: tuple[str, ...] = ()
    names: tuple[tuple[int, str], ...] = ()
    settings: tuple[Said, ...] = ()


class Ended(Struct, array_like=True, frozen=True, gc=False):
    """The mention of an object at the end of a query. ``drops``, ``makes``, ``creates``: as in
    :class:`exporter.queries.effects.Effect`. ``renamed``: former names of columns. ``written``: columns, and whether
    they are new. ``lost``: columns that are dropped.
    """

    drops: bool = False
    makes: bool = False
    creates: bool = False
    renamed: tuple[str, ...] = ()
    written: tuple[tuple[str, bool], ...] = ()
    lost: tuple[str, ...] = ()


class Answer(Struct, array_like=True, gc=False):
    """One answer of an object to a query, a part of :class:`exporter.things.answers.Answers`."""

    object_key: str
    state: str | None = None
    columns: dict[str, str] | None = None
    prior: str | None = None
    column_priors: dict[str, str] | None = None
    ending: Ending | None = None
    settings: list[tuple[Said, int]] | None = None
    life: int = 0


class Chapter(Struct, array_like=True, gc=False):
    """The state of a story at the end of a day, from which the next day continues."""

    first: str | None
    made: Asker | None
    dropped: str | None
    last_made: str | None
    last_created: str | None
    columns: dict[str, str]
    held: list[Held]
    drops: list[Drop]
    drops_of_elements: dict[str, list[Drop]]
    unrecorded: dict[str, Ending | None]
    unrecorded_columns: list[tuple[str, str]]
    names: list[tuple[str, int, int]]


class Story:
    """The story of the object ``key``. Pass :class:`Started` and :class:`Ended` in order of time, then call
    :meth:`told`.
    """

    def __init__(self, key: str) -> None:
        self.key = key
        self._made: Asker | None = None  # the query that made the version in force; None if dropped or not recorded
        self._dropped: str | None = None  # the query that dropped it, if that was after the last version
        self._first: str | None = None  # the query that mentioned it first; the state before the record is named by it
        self._last_made: str | None = None
        self._last_created: str | None = None
        self._columns: dict[str, str] = {}
        self._holding = Holding()
        self._unrecorded: dict[str, Ending | None] = {}
        self._unrecorded_columns: set[tuple[str, str]] = set()
        self._names = Names()
        self._life = 0  # increases when a new chain of versions begins, of the object or of a column

    # --- the start of a query -----------------------------------------------------------------------------------------

    def starts(self, asker: Asker, at: int, said: Started) -> Iterator[tuple[Asker, Answer]]:
        """Answers to this query, and later answers to earlier ones. ``at``: its start (microseconds since 1970)."""
        self._first = self._first or asker.query_id
        if said.names:
            self._names.hear(at, said.names)
        for setting in said.settings:
            yield from self._tell(self._holding.set(asker, at, setting))
        if said.reads or said.columns:
            state = self._touched(self._in_force())
            columns = {column: self._column(column) for column in said.columns}
            yield asker, Answer(self.key, state, columns or None, life=self._life)

    def _tell(self, over: Iterable[Over]) -> Iterator[tuple[Asker, Answer]]:
        """Answers to the queries whose settings have ended."""
        for asker, setting, until in over:
            yield asker, Answer(self.key, settings=[(setting, until)])

    # --- the end of a query -------------------------------------------------------------------------------------------

    def ends(self, asker: Asker, at: int, done: Ended) -> Iterator[tuple[Asker, Answer]]:
        """The same for its changes: columns are renamed, the object is dropped, a version is made, columns written."""
        self._first = self._first or asker.query_id
        columns = {column: self._column(column) for column in done.renamed}
        self._life += _begins_anew(done, is_dropped=self._dropped is not None)
        if columns:
            self._touched(self._in_force())
        yield from self._tell(self._holding.lose(done.lost, at))
        if done.drops:
            yield from self._drop(asker, at)
        prior = None
        if done.makes:
            yield from self._next(Ending(until=at))
            yield from self._tell(self._holding.make(asker, at, creates=done.creates))
            prior = None if done.creates else self._touched(self._last_made or self._initial())
            self._make(asker, creates=done.creates)
        priors = {}
        for column, is_new in done.written:
            is_kept = not (is_new or self._last_created == asker.query_id)
            before = self._write(asker.query_id, column, is_kept=is_kept)
            if is_kept:
                priors[column] = before
        if columns or prior or priors:
            yield asker, Answer(self.key, None, columns or None, prior, priors or None)

    def _drop(self, asker: Asker, at: int) -> Iterator[tuple[Asker, Answer]]:
        self._holding.drop(asker, at)
        state = self._touched(self._in_force())
        yield from self._next(Ending(at, asker.query_id, at))
        if not state.startswith("version/"):
            self._unrecorded[state] = Ending(None, asker.query_id, at)
        self._made, self._dropped = None, asker.query_id

    def _next(self, ending: Ending) -> Iterator[tuple[Asker, Answer]]:
        """The answer to the query that made the version in force: how it ended."""
        if self._made is not None:
            yield self._made, Answer(self.key, ending=ending)

    def _make(self, asker: Asker, *, creates: bool) -> None:
        self._made, self._dropped = asker, None
        self._last_made = _version(asker.query_id)
        if creates:
            self._last_created = asker.query_id
            self._columns = {}

    def _write(self, query_id: str, column: str, *, is_kept: bool) -> str:
        """Record that the query wrote the column. Returns the column's state before."""
        before = self._columns.get(column)
        if before is None:
            before = self._chain()
            if is_kept:
                self._unrecorded_columns.add((column, before))
        self._columns[column] = _version(query_id)
        return before

    # --- states -------------------------------------------------------------------------------------------------------

    def _in_force(self) -> str:
        if self._made is not None:
            return _version(self._made.query_id)
        return self._initial() if self._dropped is None else _GONE + segment(self._dropped)

    def _initial(self) -> str:
        """The state before the first recorded query; it differs between exports of different periods."""
        assert self._first is not None, "nobody mentioned the object"
        return _BEFORE + segment(self._first)

    def _touched(self, state: str) -> str:
        """The state. If no recorded query made it, note that something refers to it, so that it gets a node."""
        if not state.startswith("version/"):
            self._unrecorded.setdefault(state, None)
        return state

    def _chain(self) -> str:
        return self._initial() if self._last_created is None else _version(self._last_created)

    def _column(self, column: str) -> str:
        """The state that wrote the column's present data."""
        if self._dropped is not None:
            state = self._in_force()
        elif column in self._columns:
            return self._columns[column]
        else:
            state = self._chain()
        self._unrecorded_columns.add((column, state))
        return state

    def chapter(self) -> Chapter:
        """The present state of the story, from which :meth:`going_on` continues."""
        return Chapter(
            self._first,
            self._made,
            self._dropped,
            self._last_made,
            self._last_created,
            self._columns,
            *self._holding.kept(),
            self._unrecorded,
            sorted(self._unrecorded_columns),
            self._names.held(),
        )

    def going_on(self, before: Chapter) -> None:
        """Continue from a chapter. To be called before any mention."""
        self._first, self._made, self._dropped = before.first, before.made, before.dropped
        self._last_made, self._last_created, self._columns = before.last_made, before.last_created, before.columns
        self._holding = Holding(before.held, before.drops)
        for element, drops in before.drops_of_elements.items():
            self._holding.hear(element, drops)
        self._unrecorded, self._unrecorded_columns = before.unrecorded, set(before.unrecorded_columns)
        self._names = Names(before.names)

    def hears_of(self, element: str, drops: list[Drop]) -> None:
        """Record when a tag or policy that is set on the object was dropped."""
        self._holding.hear(element, drops)

    def over(self) -> Iterator[tuple[Asker, Answer]]:
        """After all mentions: answers to the queries whose settings do not hold because of a drop."""
        yield from self._tell(self._holding.over())

    def told(self, seen: dict[str, tuple[int, int]]) -> Life:
        """The result of the story. ``seen``: name -> first and last time it was seen on the object."""
        return Life(
            self._names.told(seen),
            dict(sorted(self._unrecorded.items())),
            set(self._unrecorded_columns),
        )


def _begins_anew(done: Ended, *, is_dropped: bool) -> bool:
    """Whether a new chain of versions begins: another object, or another column of the same name.

    The number of chains so far is part of each answer. It only shows whether two reads of a day used the same chain.
    """
    return done.drops or done.creates or is_dropped or bool(done.renamed) or any(is_new for _, is_new in done.written)


def _version(query_id: str) -> str:
    return f"version/{segment(query_id)}"
