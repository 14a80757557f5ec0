"""What is behind views and streams, read from the rows in plain Python.

Certain is what a query that read nothing but the view has as base objects, and what the base sources of a column are
whose only direct source is a column of the view.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from tests.facts import plain_reading as plain

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from tests.graph.ask.plain_history import History, Json, Query

Pair = tuple[str, str | None, str | None]
"""The source, the column of the view, the column of the source."""


class Shown(NamedTuple):
    """A pair that is certain for a definition of a view: first shown by a query, and valid until the view was dropped
    or created anew.
    """

    view: str
    source: str
    name: str | None
    view_column: str | None
    source_column: str | None
    query_id: str
    first: datetime
    until: datetime | None


def certain(history: History) -> list[Shown]:
    """All that is certain, each once for a definition of the view, by the first query that shows it."""
    return _all(history, every=False)


def every_definition(history: History) -> list[Shown]:
    """The same with what is only possible."""
    return _all(history, every=True)


@lru_cache(maxsize=500)
def _all(history: History, *, every: bool) -> list[Shown]:
    found: dict[tuple[str, int, Pair], Shown] = {}
    for query in sorted(history.queries.values(), key=lambda one: (one.start, one.query_id)):
        for view, pair, name in _shown_by(history, query.query_id, every=every):
            number, until = _definition(history, view, query)
            at = (view, number, pair)
            if at not in found:
                found[at] = Shown(view, pair[0], name, pair[1], pair[2], query.query_id, query.start, until)
    return list(found.values())


def behind(history: History, view: str) -> set[str]:
    """The keys of all that is ever certain to be behind a view."""
    return {one.source for one in certain(history) if one.view == view}


def _definition(history: History, view: str, query: Query) -> tuple[int, datetime | None]:
    """The number of the definition that a query reads, and its end. A drop that is reverted before any query reads the
    view ends nothing.
    """
    reads = sorted((one.start, one.query_id) for one in history.queries.values()
                   if any(view == shown for shown, _, _ in _shown_by(history, one.query_id, every=True)))  # fmt: skip
    events, number, end, is_dropped = history.events(view), 0, None, False
    marks = sorted([(time, ident, 1 + rank) for time, ident, rank in events] + [(*one, 0) for one in reads])
    numbers: list[tuple[datetime | None, set[tuple[datetime, str]]]] = [(None, set())]
    for time, ident, what in marks:
        end = numbers[-1][0]
        if what == 0:
            if end is not None:
                numbers.append((None, set()))
            numbers[-1][1].add((time, ident))
        elif not numbers[-1][1]:
            is_dropped = what == 2
        elif what == 2:
            numbers[-1] = (end or time, numbers[-1][1])
            is_dropped = True
        elif history.is_created(view, ident):
            numbers[-1] = (end or time, numbers[-1][1])
            is_dropped = False
        elif is_dropped:
            numbers[-1] = (None, numbers[-1][1])
            is_dropped = False
    for number, (end, who) in enumerate(numbers):
        if (query.start, query.query_id) in who:
            return number, end
    return number, end


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
    base = [(key, thing) for row in rows for key, thing in plain.named(row.get("base_objects_accessed"))
            if plain.kind(thing) not in plain.ROUTINES]  # fmt: skip
    is_cut = any(not _is_whole(row, "direct_objects_accessed") for row in rows)
    if every or (len(direct) == 1 and not is_cut):
        for view in views:
            for key, thing in base:
                if key != view:
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
