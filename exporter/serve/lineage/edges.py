"""The whole lineage of an object or a column, upstream and downstream, as edges between objects or columns."""

from __future__ import annotations

from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from exporter.serve.site import Site, Thing

MOST: Final = 200_000
"""The most steps between versions that are read; far more than a picture can show."""


class Place(NamedTuple):
    """An object, or a column of it. ``column``: empty for the object itself."""

    iri: str
    column: str = ""


@dataclass(frozen=True)
class Named:
    """The name of a place, and the kind of its object."""

    name: str
    kind: str


@dataclass(frozen=True)
class Flow:
    """Data that went from one place to another: the number of queries, and the times of the first and the last."""

    queries: int
    first: str
    last: str


Flows = dict[Place, dict[Place, Flow]]


@dataclass
class Lineage:
    """``up``: from each place to its sources; ``down``: from each place to its targets. ``notes``: for the reader, such
    as that the object was dropped by then.
    """

    focus: Place
    up: Flows = field(default_factory=lambda: defaultdict(dict))
    down: Flows = field(default_factory=lambda: defaultdict(dict))
    named: dict[Place, Named] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


class _Version(NamedTuple):
    """``query`` and ``time`` of the query that made it; empty where none is on record."""

    place: Place
    query: str
    time: str


def lineage(site: Site, thing: Thing, column: str, day: date | None) -> Lineage:
    """The lineage of an object, or of its column, as of the end of a day; over all time where ``day`` is None."""
    made = Lineage(Place(thing.iri, column))
    made.named[made.focus] = Named(thing.name or thing.iri, thing.kind)
    asked = {"object": thing.iri, **({"column_name": column} if column else {})}
    at = None if day is None else _end(day)
    with ThreadPoolExecutor(1) as beside:  # both directions at once, by two of the processes for pages
        downwards = beside.submit(
            lambda: list(_edges(site, made, f"page-{'column-' if column else ''}down", asked, at))
        )
        _fill_up(site, made, asked, at)
        for source, target, flow in downwards.result():
            made.down[source][target] = flow
    return made


def _fill_up(site: Site, made: Lineage, asked: Mapping[str, str], at: str | None) -> None:
    question = "page-column-up" if made.focus.column else "page-up"
    if at is not None:
        present = site.rows("page-present", {"object": made.focus.iri, "at": at})
        if not present or present[0]["is_gone"] == "true":
            gone, none = "It was dropped by then, so nothing was in it.", "Nothing was written to it by then."
            made.notes.append(gone if present else none)
            return
        question += "-at"
        asked = {"version": present[0]["present"] or "", **{name: asked[name] for name in asked if name != "object"}}
    for source, target, flow in _edges(site, made, question, asked):
        made.up[target][source] = flow


def _edges(
    site: Site, made: Lineage, question: str, asked: Mapping[str, str], at: str | None = None
) -> Iterator[tuple[Place, Place, Flow]]:
    """Source, target and flow of each edge; only of queries until ``at``, where it is given."""
    rows = site.rows(question, asked, MOST)
    if len(rows) == MOST:
        made.notes.append(f"There are more than {MOST:,} steps; the picture leaves some out. A day makes them fewer.")
    versions = {
        row["version"]: _Version(
            Place(row["object_iri"] or "", row.get("column_name") or ""), row["query"] or "", row["time"] or ""
        )
        for row in rows
    }
    flows: dict[tuple[Place, Place], list[_Version]] = defaultdict(list)
    for row in rows:
        written, read = versions[row["version"]], versions.get(row["read"])
        is_counted = written.query and (at is None or written.time <= at)
        if read is not None and is_counted and read.place != written.place:
            flows[read.place, written.place].append(written)
    _name(site, made, {place for pair in flows for place in pair})
    for (source, target), writes in flows.items():
        times = [one.time for one in writes]
        yield source, target, Flow(len({one.query for one in writes}), min(times), max(times))


def _name(site: Site, made: Lineage, places: Iterable[Place]) -> None:
    for place in places:
        name, kind = site.objects.get(place.iri, (place.iri, ""))
        made.named.setdefault(place, Named(name, kind))


def _end(day: date) -> str:
    """The last microsecond of a day in UTC."""
    return f"{datetime.combine(day, time()) + timedelta(days=1, microseconds=-1):%Y-%m-%dT%H:%M:%S.%f}Z"
