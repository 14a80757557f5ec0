"""What is behind views and streams, read from the rows in plain Python.

Certain is what a query that read nothing but the view has as base objects, and what the base sources of a column are
whose only direct source is a column of the view.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from tests.facts import plain_reading as plain

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.ask.plain_history import History, Json, Query

Pair = tuple[str, str | None, str | None]
"""The source, the column of the view, the column of the source."""


class Shown(NamedTuple):
    """A pair that is certain for a definition of a view: first shown by a query. ``since``: when the view was created
    with it, or the former definition ended; ``until``: when the view was dropped, created anew, or its name was taken.
    """

    view: str
    source: str
    name: str | None
    view_column: str | None
    source_column: str | None
    query_id: str
    first: datetime
    since: datetime | None
    until: datetime | None

    def at(self, time: datetime) -> bool:
        """Whether the definition is in force when a query starts; in the moment of a replacement, both are."""
        return (self.since is None or self.since <= time) and (self.until is None or self.until >= time)


@lru_cache(maxsize=500)
def certain(history: History) -> list[Shown]:
    """All that is certain, each once for a definition of the view, by the first query that shows it."""
    found: dict[tuple[str, int, Pair], Shown] = {}
    for query in sorted(history.queries.values(), key=lambda one: (one.start, one.query_id)):
        for view, pair, name in _shown_by(history, query.query_id):
            number, one = _definition(history, view, query)
            at = (view, number, pair)
            if at not in found:
                turn = _turn(history, view, one, pair[0])
                since = max((time for time in (one.since, turn[0]) if time is not None), default=None)
                until = min((time for time in (one.until, turn[1]) if time is not None), default=None)
                found[at] = Shown(view, pair[0], name, pair[1], pair[2], query.query_id, query.start, since, until)
    return list(found.values())


def _turn(history: History, view: str, one: _Definition, source: str) -> tuple[datetime | None, datetime | None]:
    """From when until when a source is behind a definition, if others had its name before or after it. They are told
    apart between two queries of which those until then and those from then on show no source of the name in common.
    What is called differently later has the name with which it was seen first; what has no id is left aside.
    """
    names = dict[str, str]()
    seen = list[tuple[datetime, str]]()
    for time, ident in sorted(one.readers):
        for shown, (key, column, _), name in sorted(_shown_by(history, ident, every=True), key=str):
            if shown == view and column is None and name and "/name/" not in key and "@" not in key:
                names.setdefault(key, name)
                seen.append((time, key))
    of_name = [(time, key) for time, key in seen if names[key].upper() == names.get(source, "").upper()]
    begins = ends = None
    for (time, _), (next_time, _) in pairwise(of_name):
        before, after = ({key for at, key in of_name if (at <= time) == is_before} for is_before in (True, False))
        if time < next_time and not before & after:
            if source in after:
                begins = time + timedelta(microseconds=1)
            elif ends is None:
                ends = next_time - timedelta(microseconds=1)
    return begins, ends


@dataclass
class _Definition:
    """``readers``: time and id of the queries that show something of it; ``is_dropped``: a DROP ended it."""

    since: datetime | None
    until: datetime | None = None
    is_dropped: bool = False
    readers: set[tuple[datetime, str]] = field(default_factory=set)


def _definition(history: History, view: str, query: Query) -> tuple[int, _Definition]:
    """The definition that a query reads, and its number. A drop that is reverted before any query reads the view ends
    nothing.
    """
    reads = sorted((one.start, one.query_id) for one in history.queries.values()
                   if any(view == shown for shown, _, _ in _shown_by(history, one.query_id, every=True)))  # fmt: skip
    found: list[_Definition] = []
    created: datetime | None = None
    marks = [(time, ident, 1 + rank) for time, ident, rank in history.events(view)]
    for time, ident, what in sorted([*marks, *((*one, 0) for one in reads)]):
        last = found[-1] if found else None
        if what == 0:
            if last is None or last.until is not None:
                begun = [one for one in (created, last and last.until) if one is not None]
                last = _Definition(max(begun, default=None))
                found.append(last)
            last.readers.add((time, ident))
        elif what == 1 and not history.is_created(view, ident):
            if last is not None and last.is_dropped:
                last.until, last.is_dropped = None, False
        else:
            if last is not None and last.until is None:
                last.until, last.is_dropped = time, what == 2
            elif last is not None and what == 1:
                last.is_dropped = False
            created = time if what == 1 else created
    return next((number, one) for number, one in enumerate(found) if (query.start, query.query_id) in one.readers)


@lru_cache(maxsize=20_000)
def _shown_by(history: History, query_id: str, *, every: bool = False) -> list[tuple[str, Pair, str | None]]:
    return list(_shown(history, query_id, every=every))


def _shown(history: History, query_id: str, *, every: bool) -> Iterator[tuple[str, Pair, str | None]]:
    """View, pair and name of the source of what one query makes certain; with ``every`` also what it makes possible."""
    rows = [row for row in history.rows if row["query_id"] == query_id]
    columns = [(target, column) for row in rows for target, thing in plain.named(row.get("objects_modified"))
               for column in thing.get("columns") or []]  # fmt: skip
    direct = _named(rows) | {key for _, column in columns for key, _, _ in _sources(column, "DIRECT")}
    views = {key for key in direct if key.split("/")[0] in ("view", "stream")}
    arrays = ("base_objects_accessed", "provider_base_objects_accessed")
    base = [(key, thing, array) for row in rows for array in arrays for key, thing in plain.named(row.get(array))
            if plain.kind(thing) not in plain.ROUTINES]  # fmt: skip
    # view, "Data sharing notes": a view of another account is its own base object
    shared = {key for key, _, array in base if array == arrays[0] and key.startswith("view/name/")}
    is_cut = any(not _is_whole(row, "direct_objects_accessed") for row in rows)
    if every or (len(direct) == 1 and not is_cut):
        for view in views:
            for key, thing, array in base:
                if key != view and (view not in shared or array == arrays[1]):
                    yield view, (key, None, None), plain.said(thing.get("objectName"))
    yield from _of_columns(rows, columns, views, every=every)


def _named(rows: list[Json]) -> set[str]:
    """What the rows of a query read themselves, and what they join it with."""
    every = [one for row in rows for one in row.get("direct_objects_accessed") or [] if one]
    sides = [join.get("node") or join.get("joinObject") for one in every for join in one.get("joinObjects") or []]
    return {key for key, _ in plain.named([*every, *(side for side in sides if side)])}


def _of_columns(
    rows: list[Json], columns: list[tuple[str, Json]], views: set[str], *, every: bool
) -> Iterator[tuple[str, Pair, str | None]]:
    by_column: dict[tuple[str, str], list[Json]] = {}
    for target, column in columns:
        by_column.setdefault((target, plain.said(column.get("columnName")) or ""), []).append(column)
    for (_, name), parts in by_column.items():
        of = {one for part in parts for one in _sources(part, "DIRECT")}
        is_certain = len({one[:2] for one in of}) == 1 and all(_is_whole(row, "objects_modified") for row in rows)
        for view, view_column, _ in of if name and (every or is_certain) else ():
            if view in views and view_column:
                for key, source_column, spelled in {one for part in parts for one in _sources(part, "BASE")}:
                    if key != view and key.split("/")[0] not in plain.ROUTINES:
                        yield view, (key, view_column, source_column), spelled
                        yield view, (key, None, None), spelled


def _sources(column: Json, kind: str) -> Iterator[tuple[str, str | None, str | None]]:
    for spelling in plain.SOURCES[kind]:
        for one in column.get(spelling) or []:
            key = plain.key({name: value for name, value in one.items() if name != "location"})
            if key:
                yield key, plain.said(one.get("columnName")), plain.said(one.get("objectName"))


def _is_whole(row: Json, array: str) -> bool:
    """Whether everything in the array has a name, and nothing was truncated."""
    for one in row.get(array) or []:
        if not one or '"TRUNCATED"' in plain.json.dumps(one) or not list(plain.named([one])):
            return False
        if any(not column or not plain.said(column.get("columnName")) for column in one.get("columns") or []):
            return False
    return True
