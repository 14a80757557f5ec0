"""The story of an object: what happened to it, heard in the order of time; and what it can answer because of that.

One entity per table would make a graph that PROV forbids: two writes generate it twice, and an INSERT from a table into
itself derives it from itself. So each query that writes an object, or creates, replaces or restores it or adds, drops
or renames its columns by DDL, makes a version; a read uses the latest one before its start, in the order of (time,
query id), so that no cycle can arise. A version exists from its writer's end where QUERY_HISTORY tells it, else from
its start (PROV-CONSTRAINTS, 6.1). Reads count when their query starts, changes when it ends: no query reads what it
writes itself.

A version that writes some of the columns leaves the others as they were. So a column has versions of its own, one for
each version of the object that wrote it, in a chain that begins when the object is created.

What a story keeps is bounded by what its object is (its columns, names, settings), not by how often it is mentioned.
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
    """What a query that starts says to an object. ``reads``: whether it asks for the version in force; ``columns`` that
    it takes data from; ``names`` of the object that it shows (0) or gives (1); ``settings``: change key, column,
    property, element, and the names under which the element is set.
    """

    reads: bool = False
    columns: tuple[str, ...] = ()
    names: tuple[tuple[int, str], ...] = ()
    settings: tuple[Said, ...] = ()


class Ended(Struct, array_like=True, frozen=True, gc=False):
    """What it has done to the object when it ends. ``renamed``: former names of columns; ``written``: columns, and
    whether they are new; ``lost``: columns that are dropped.
    """

    drops: bool = False
    makes: bool = False
    creates: bool = False
    renamed: tuple[str, ...] = ()
    written: tuple[tuple[str, bool], ...] = ()
    lost: tuple[str, ...] = ()


class Answer(Struct, array_like=True, gc=False):
    """What an object answers to a query, in part: see :class:`exporter.things.answers.Answers`."""

    object_key: str
    state: str | None = None
    columns: dict[str, str] | None = None
    prior: str | None = None
    column_priors: dict[str, str] | None = None
    ending: Ending | None = None
    settings: list[tuple[Said, int]] | None = None
    life: int = 0


class Chapter(Struct, array_like=True, gc=False):
    """A story up to a time, so that it can go on from there."""

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
    """The story of the object ``key``; hear :class:`Started` and :class:`Ended` in the order of time, then
    :meth:`told`.
    """

    def __init__(self, key: str) -> None:
        self.key = key
        self._made: Asker | None = None  # the query that made the version in force, None where it was dropped or unmade
        self._dropped: str | None = None  # the query that dropped it last, where that came after the last version
        self._first: str | None = None  # the query that mentioned it first: what was there before is named by it
        self._last_made: str | None = None
        self._last_created: str | None = None
        self._columns: dict[str, str] = {}
        self._holding = Holding()
        self._unrecorded: dict[str, Ending | None] = {}
        self._unrecorded_columns: set[tuple[str, str]] = set()
        self._names = Names()
        self._life = 0  # counts up where versions, or columns of one name, are not of one chain any more

    # --- what a query says when it starts -----------------------------------------------------------------------------

    def starts(self, asker: Asker, at: int, said: Started) -> Iterator[tuple[Asker, Answer]]:
        """Answers to this query, and to others that had to wait; ``at``: when the query started (microseconds)."""
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
        """Tell those who set what holds no longer."""
        for asker, setting, until in over:
            yield asker, Answer(self.key, settings=[(setting, until)])

    # --- what it has done when it ends --------------------------------------------------------------------------------

    def ends(self, asker: Asker, at: int, done: Ended) -> Iterator[tuple[Asker, Answer]]:
        """The same for what it did: columns are renamed, the object is dropped, a version is made, columns written."""
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
        """Tell the query that made the version in force what became of it."""
        if self._made is not None:
            yield self._made, Answer(self.key, ending=ending)

    def _make(self, asker: Asker, *, creates: bool) -> None:
        self._made, self._dropped = asker, None
        self._last_made = _version(asker.query_id)
        if creates:
            self._last_created = asker.query_id
            self._columns = {}

    def _write(self, query_id: str, column: str, *, is_kept: bool) -> str:
        """The state before; from now on the column holds what the query wrote."""
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
        """What was there before the record begins: other periods of the same account have another one."""
        assert self._first is not None, "nobody mentioned the object"
        return _BEFORE + segment(self._first)

    def _touched(self, state: str) -> str:
        """The state; one that no query on record made has a node of its own because something refers to it."""
        if not state.startswith("version/"):
            self._unrecorded.setdefault(state, None)
        return state

    def _chain(self) -> str:
        return self._initial() if self._last_created is None else _version(self._last_created)

    def _column(self, column: str) -> str:
        """The state that wrote what the column holds."""
        if self._dropped is not None:
            state = self._in_force()
        elif column in self._columns:
            return self._columns[column]
        else:
            state = self._chain()
        self._unrecorded_columns.add((column, state))
        return state

    def chapter(self) -> Chapter:
        """Where the story stands: :meth:`going_on` goes on from there."""
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
        """Go on from where the story stood; nobody was heard yet."""
        self._first, self._made, self._dropped = before.first, before.made, before.dropped
        self._last_made, self._last_created, self._columns = before.last_made, before.last_created, before.columns
        self._holding = Holding(before.held, before.drops)
        for element, drops in before.drops_of_elements.items():
            self._holding.hear(element, drops)
        self._unrecorded, self._unrecorded_columns = before.unrecorded, set(before.unrecorded_columns)
        self._names = Names(before.names)

    def hears_of(self, element: str, drops: list[Drop]) -> None:
        """When a tag or policy that is set on the object was dropped."""
        self._holding.hear(element, drops)

    def over(self) -> Iterator[tuple[Asker, Answer]]:
        """What to tell those whose settings do not hold, as things stand when everything was heard."""
        yield from self._tell(self._holding.over())

    def told(self, seen: dict[str, tuple[int, int]]) -> Life:
        """What the story comes to; ``seen``: first and last time of each name that rows show on the object."""
        return Life(
            self._names.told(seen),
            dict(sorted(self._unrecorded.items())),
            set(self._unrecorded_columns),
        )


def _begins_anew(done: Ended, *, is_dropped: bool) -> bool:
    """Whether what comes after is to be told apart from what was before: another object, or another column of the name.

    The number of such times is told with each read. It means nothing but that two reads of a day are of one chain.
    """
    return done.drops or done.creates or is_dropped or bool(done.renamed) or any(is_new for _, is_new in done.written)


def _version(query_id: str) -> str:
    return f"version/{segment(query_id)}"
