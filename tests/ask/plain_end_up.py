"""All objects that hold data of a column or an object, computed in plain Python.

For columns, the sources in the rows are followed. If a query read the data and wrote something whose column sources are
not in the rows, only the object is known, and everything that was derived from it.
"""

from __future__ import annotations

import json
from collections import defaultdict
from typing import TYPE_CHECKING, Any, NamedTuple

from tests.ask import plain_history as past
from tests.ask.plain_asking import domain, in_time, meant, same_name
from tests.ask.plain_grants import opened as grants
from tests.ask.plain_lineage import followed, is_from
from tests.ask.plain_meant import name_at, same_column
from tests.ask.plain_views import certain

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from datetime import datetime

    from tests.ask.plain_asking import Given, Meant, Row
    from tests.ask.plain_history import Column, History, Query, State


class Arrival(NamedTuple):
    """``column``: None where the object alone is known; ``until``: how long a view shows the data, None for no end."""

    key: str | None
    name: str | None
    domain: str
    column: str | None
    time: datetime
    by: str
    until: datetime | None = None


def end_up(history: History, given: Given) -> set[Row]:
    return end_up_of_all(history, [given])


def end_up_of_all(history: History, every: Sequence[Given]) -> set[Row]:
    """To several values the answer is one: where the data of each went, also into what another one means. A name is one
    value, whatever had it; without a name each object is.
    """
    first: dict[tuple[Any, ...], datetime] = {}
    for given, turns in _values(history, every):
        search = _Search(history, given, turns)
        there = list(search.arrivals())
        for key, name, kind, column, time, by, _ in (*there, *search.shares(there)):
            if in_time(given, time) and not search.is_itself(key, column, time):
                row = (name, kind, column, by)
                first[row] = min(time, first.get(row, time))
    return {(name, kind, column, time, by) for (name, kind, column, by), time in first.items()}


def _values(history: History, every: Sequence[Given]) -> Iterator[tuple[Given, list[Meant]]]:
    """Each value with the objects that it means; ids and kinds beside a name only say which of those that had it."""
    found: dict[tuple[str | None, ...], tuple[Given, set[Meant]]] = {}
    for given in every:
        for turn in meant(history, given):
            value = given.get("object_name", turn.key)
            key = (value, *(given.get(name) for name in ("column_name", "since", "until")))
            found.setdefault(key, (given, set()))[1].add(turn)
    yield from ((given, sorted(turns, key=str)) for given, turns in found.values())


class _Search:
    """``turns``: what is asked for. ``held``: columns, in the states in which they hold data of it."""

    def __init__(self, history: History, given: Given, turns: list[Meant]) -> None:
        self.history = history
        self.turns = turns
        self.wanted = given.get("column_name")
        self.name = given.get("object_name")
        self.cut = {row["query_id"] for row in history.rows if _is_cut(row)}
        self.followed = followed(history, self.turns, self.wanted)
        self.held: set[Column] = set().union(*(one.held for one in self.followed))
        self.columns: dict[str, set[tuple[str, str]]] = defaultdict(set)
        self.readers = set(self._readers())

    def is_itself(self, key: str | None, column: str | None, time: datetime) -> bool:
        """Of several objects that have or had the name, one is another object while it has another name."""
        if key is None or not any(turn.key == key for turn in self.turns):
            return False
        names = self.history.names
        others = {one for one in names.held if one != key and self._is_called(names.ever_called(one))}
        is_called_so = not others or self._is_called([str(name_at(self.history, key, time))])
        return is_called_so and (column is None or same_column(column, self.wanted))

    def _is_called(self, names: Iterable[str]) -> bool:
        return self.name is not None and any(same_name(name, self.name) for name in names)

    def arrivals(self) -> Iterator[Arrival]:
        yield from self._by_column()
        own = {query_id for query_id, _, _ in self.readers}
        through: dict[str, set[str]] = defaultdict(set)
        for query_id, kind, key in self.readers:
            if kind != "DIRECT" and (query_id, "DIRECT", key) not in self.readers:
                through[query_id].add(key)
        yield from self._by_object(own, through)
        for query_id in own:
            query = self.history.queries[query_id]
            if query_id in self.cut:
                yield Arrival(None, query_id, "Truncated query", None, query.start, "OBJECT")
            yield from self._views(query, through[query_id], self.columns[query_id])

    def shares(self, there: list[Arrival]) -> Iterator[Arrival]:
        """The shares that open what the data is in, from then on or when it came there; and what it is from."""
        places = [(one.key, one.time, one.until) for one in there if one.key]
        places += [(one.key, one.since, one.until) for one in self.turns]
        for opened in (one for one in grants(self.history) if one.grant.kind == "SHARE"):
            since = opened.grant.query.start
            for key, time, end in places:
                is_open = opened.until is None or time is None or opened.until > time
                if key == opened.grant.key and is_open and (end is None or since < end):
                    yield self._shared(opened.grant.share, max(since, time or since))

    def _shared(self, share: str, time: datetime) -> Arrival:
        return Arrival(share, name_at(self.history, share, time), domain(share), None, time, "OBJECT")

    def _by_column(self) -> Iterator[Arrival]:
        """All copies from where the data was."""
        for one in {one for source in self.followed for one in source.copies}:
            yield self._arrival(self.history.queries[one.query_id], one.target.state.key, one.target.name, "COLUMN")

    def _readers(self) -> Iterator[tuple[str, str, str]]:
        """Queries that read the data, by which kind of access, and the object that they read it from. Notes the columns
        with the data that each of them read.
        """
        for query in self.history.queries.values():
            for (kind, key), (_, columns) in query.shown.items():
                every = query.query_id in self.cut
                shows = self.wanted is None or every or any(same_column(one, self.wanted) for one in columns)
                is_own = any(
                    one.key == key and is_from(self.history, one, query.data[key], query.start) for one in self.turns
                )
                if shows and is_own:
                    own = {one for one in columns if self.wanted is None or same_column(one, self.wanted)}
                    self.columns[query.query_id] |= {(key, one) for one in own}
                    yield query.query_id, kind, key
                kept = {
                    one.name for one in self.held
                    if one.state.key == key and self._goes_on(query.data[key], one.state)
                }  # fmt: skip
                if kept & columns or (every and kept):
                    self.columns[query.query_id] |= {(key, one) for one in kept & columns}
                    yield query.query_id, kind, key

    def _goes_on(self, state: State | None, earlier: State) -> bool:
        while state is not None and state != earlier:
            state = self.history.prior(state)
        return state == earlier

    def _by_object(self, readers: set[str], through: dict[str, set[str]]) -> Iterator[Arrival]:
        told = {one.target.state for one in self.history.copies if one.source.name}
        told -= set(self._through_shared(through))
        # What is read without columns, such as a stage, is the source of none.
        shown: dict[tuple[str, str], set[str]] = defaultdict(set)
        for query_id, kind, key in self.readers:
            shown[query_id, key] |= self.history.queries[query_id].shown[kind, key][1]
        as_whole = {query_id for (query_id, _), columns in shown.items() if not columns}
        first = {
            state
            for query_id in readers - self.history.removing
            for state in self.history.queries[query_id].makes.values()
            if state not in told or query_id in self.cut or query_id in as_whole
            if query_id in self.cut or not self._is_own(state, {key for one, key in shown if one == query_id})
        }
        states = past.reached(first, self.history.onward)
        for query in self.history.queries.values():
            for key, state in query.makes.items():
                is_reached = query.query_id not in self.history.removing and states & set(query.data.values())
                if state in first or is_reached:
                    yield self._arrival(query, key, None, "OBJECT")

    def _is_own(self, state: State, read: set[str]) -> bool:
        """Whether it goes on from what alone was read: nothing is told to move between its columns."""
        return read == {state.key} and self.history.prior(state) is not None

    def _through_shared(self, through: dict[str, set[str]]) -> Iterator[State]:
        """What was filled from columns of views over shared data, of which rows give no source behind the view."""
        based = {one.target for one in self.history.copies if one.kind == "BASE"}
        for one in self.history.copies:
            start = self.history.queries[one.query_id].start
            shared = {key for key in through[one.query_id] if "@" in key or key.startswith("view/")}
            over = (shown for shown in certain(self.history) if shown.view == one.source.state.key)
            is_over = any(shown.source in shared and shown.first <= start and shown.at(start) for shown in over)
            if one.kind == "DIRECT" and one.target not in based and is_over:
                yield one.target.state

    def _views(self, query: Query, keys: set[str], read: set[tuple[str, str]]) -> Iterator[Arrival]:
        """What a query named to read the data of objects: views and streams that these are known to be behind by then,
        by the columns that show the columns ``read`` where they are certain.
        """
        for view in query.keys("DIRECT"):
            over = [one for one in certain(self.history) if one.view == view and one.source in keys
                    and ("@" in one.source or view not in query.keys("BASE"))]  # fmt: skip
            ends = {one.until for one in over if one.first <= query.start and one.at(query.start)}
            if not ends:
                continue
            columns = {
                one.view_column
                for one in over
                if one.at(query.start) and one.source in keys and (one.source, one.source_column) in read
            }
            for column in columns - {None} or {None}:
                arrival = self._arrival(query, view, column, "COLUMN" if column else "OBJECT")
                yield from (arrival._replace(until=until) for until in ends)

    def _arrival(self, query: Query, key: str, column: str | None, by: str) -> Arrival:
        return Arrival(key, name_at(self.history, key, query.start), domain(key), column, query.start, by)


def _is_cut(row: Any) -> bool:
    arrays = ("direct_objects_accessed", "base_objects_accessed", "objects_modified")
    return any('"TRUNCATED"' in json.dumps(row.get(name)) for name in arrays)
