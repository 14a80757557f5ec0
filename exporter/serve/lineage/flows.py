"""The lineage of an object or a column, upstream and downstream, read from the export where the picture shows it.

The versions that belong to it are read at once. The edges of places are read for a whole step of the picture together.
"""

from __future__ import annotations

from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import date, datetime, time, timedelta
from threading import RLock
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from exporter.ask.unrecorded import UNLISTED
from exporter.serve.site import MOST_ROWS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from exporter.serve.site import Params, Site, SiteObject

MOST: Final = 200_000
"""The most versions that are read; far more than a picture can show."""
_MOST_NEIGHBOURS: Final = 100_000
Way = Literal["up", "down"]
WAYS: Final[tuple[Way, ...]] = ("up", "down")


class LineageNode(NamedTuple):
    """An object, or a column of it. ``column``: empty for the object itself."""

    iri: str
    column: str = ""


@dataclass(frozen=True)
class Named:
    """The name of a place, and the kind of its object. ``is_helper``: a load fills, reads and drops it."""

    name: str
    kind: str
    is_helper: bool = False


@dataclass(frozen=True)
class Flow:
    """Data that went from one place to another: the number of queries, the times of the first and the last, and the
    users who ran them.

    ``evidence``: empty if queries moved the data. Of a view or stream that shows the data of its source: CERTAIN or
    POSSIBLE; then there are no queries, and the times are when queries showed it (``last`` is empty if that was after
    the day of the picture). ``through``: the helpers between the two that are hidden; the rest is of the last step.
    """

    queries: int
    first: str
    last: str
    evidence: str = ""
    users: tuple[str, ...] = ()
    through: tuple[str, ...] = ()


VIEWS: Final = frozenset({"VIEW", "STREAM", "SEMANTIC VIEW"})
"""Kinds of objects that show data of others, in upper case."""
NOT_SHOWN: Final = "No row shows what is behind it, so its data may come from anywhere."
"""The text where no query shows the sources of a view or stream."""
NOT_SHOWN_OF_COLUMN: Final = "No row shows what is behind this column; the picture of the whole has all that is known."
"""The same of one of its columns."""
Flows = dict[LineageNode, dict[LineageNode, Flow]]
Ends = dict[LineageNode, list[str]]


@dataclass
class Lineage:
    """``up``: from each place to its sources; ``down``: from each place to its targets. Both have only the places whose
    edges were read. ``named``: these places and their neighbours. ``notes``: for the reader, such as that the object
    was dropped by then. ``hides_helpers``: data that went through a helper goes on to what is beyond it.
    """

    focus: LineageNode
    up: Flows = field(default_factory=lambda: defaultdict(dict))
    down: Flows = field(default_factory=lambda: defaultdict(dict))
    named: dict[LineageNode, Named] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    hides_helpers: bool = False

    def load(self, way: Way, places: Iterable[LineageNode]) -> None:
        """Reads the edges of these places, if they are read from an export."""

    def neighbours(self, way: Way, place: LineageNode) -> Mapping[LineageNode, Flow]:
        """The sources (``up``) or targets (``down``) of a place."""
        found = self._direct(way, place)
        if not self.hides_helpers or not any(self.named[one].is_helper for one in found):
            return found
        return self._beyond_helpers(way, place, {place})

    def _direct(self, way: Way, place: LineageNode) -> Mapping[LineageNode, Flow]:
        return (self.up if way == "up" else self.down).get(place, {})

    def _beyond_helpers(self, way: Way, place: LineageNode, seen: set[LineageNode]) -> dict[LineageNode, Flow]:
        beyond: dict[LineageNode, Flow] = {}
        for other, flow in self._direct(way, place).items():
            if not self.named[other].is_helper:
                beyond[other] = flow
            elif other not in seen:
                name = self.named[other].name
                for last, final in self._beyond_helpers(way, other, seen | {other}).items():
                    beyond.setdefault(last, replace(final, through=(name, *final.through)))
        return beyond


@dataclass(kw_only=True)
class _Asked(Lineage):
    """A lineage that reads the edges of places from the export when they are asked for.

    ``ends``: for each place, the last version of each chain upstream, and the first version of each chain downstream.
    All versions before the last, or after the first, also belong to the lineage. ``through``: places that were reached
    through a view or stream, whose versions are read when their edges are asked for. ``parts``: which columns of views
    show which columns of their sources, source first.
    """

    site: Site
    at: str | None
    since: str | None
    ends: dict[Way, Ends] = field(default_factory=dict)
    through: set[tuple[Way, LineageNode]] = field(default_factory=set)
    parts: dict[tuple[LineageNode, LineageNode], Flow] = field(default_factory=dict)
    lock: RLock = field(default_factory=RLock)

    def load(self, way: Way, places: Iterable[LineageNode]) -> None:
        known = self.up if way == "up" else self.down
        with self.lock:  # several requests share a lineage
            fresh = [place for place in dict.fromkeys(places) if place not in known]
            for place in fresh:
                self._reach_through_views(way, place)
            if fresh:
                known.update((place, {}) for place in fresh)
                self._add_shown(way, fresh)
                self._add_moved(way, fresh)

    def _direct(self, way: Way, place: LineageNode) -> Mapping[LineageNode, Flow]:
        self.load(way, [place])
        return super()._direct(way, place)

    def rows_of(self, question: str, asked: Params, most: int = MOST_ROWS) -> list[dict[str, str | None]]:
        """The rows of an answer. If what they show was in a schema that was renamed, dropped …, the reader is told."""
        answer = self.site.ask(question, asked, most)
        self.notes += [note for note in answer.notes if UNLISTED in note and note not in self.notes]
        return answer.dicts()

    def moves(self, way: Way, place: LineageNode, other: LineageNode) -> Params:
        """The parameters of ``page-moves-up`` or ``-down`` for one edge; none where the place has no versions here."""
        self.load(way, [place] if place in self.named else [])
        source, target = (other, place) if way == "up" else (place, other)
        ends = self.ends[way].get(place) or self.ends[way].get(LineageNode(place.iri), [])
        iris = {"source": self._iri(source), "target": self._iri(target)}
        return {"version": ends, **iris, **self._times(way)} if ends else {}

    def _iri(self, place: LineageNode) -> str:
        if not place.column:
            return place.iri
        (row,) = self.site.rows("page-column", {"object": place.iri, "column_name": place.column})
        return row["column_iri"] or ""

    def columns_between(self, objects: Iterable[str]) -> dict[tuple[LineageNode, LineageNode], Flow]:
        """The flows between columns of these objects, source first, as far as the edges of the objects were read."""
        wanted = set(objects)
        found = {ends: flow for ends, flow in self.parts.items() if ends[0].iri in wanted and ends[1].iri in wanted}
        for way in WAYS:
            ends = [end for iri in sorted(wanted) for end in self.ends[way].get(LineageNode(iri), ())]
            question = "page-column-sources" if way == "up" else "page-column-targets"
            asked = {"version": ends, **self._times(way)}
            for row in self.rows_of(question, asked, _MOST_NEIGHBOURS) if ends else ():
                own = LineageNode(row["own_iri"] or "", row["own_column_name"] or "")
                other = LineageNode(row["object_iri"] or "", row["column_name"] or "")
                if other.iri in wanted and own != other:
                    found.setdefault((other, own) if way == "up" else (own, other), _flow(row))
        return found

    def _times(self, way: Way) -> dict[str, str]:
        at = {"at": self.at} if self.at is not None and way == "down" else {}
        return {**at, **({"since": self.since} if self.since is not None else {})}

    def _reach_through_views(self, way: Way, place: LineageNode) -> None:
        if (way, place) in self.through and place not in self.ends[way]:
            own = _asked(place)
            ends_of = _upwards(self, place, own) if way == "up" else _ends(self, _downward(place), own)
            self.ends[way][place] = ends_of.get(place, [])
            for other, versions in ends_of.items():
                self.ends[way].setdefault(other, versions)

    def _add_shown(self, way: Way, places: list[LineageNode]) -> None:
        """The objects behind views and streams (``up``), or the views and streams over objects, or of their columns. As
        of a day, views that no query had read by then are left out; what is behind a view was so before it was read.
        """
        wanted = {place for place in places if way == "down" or self.named[place].kind.upper() in VIEWS}
        if not wanted:
            return
        known = self.up if way == "up" else self.down
        question = "page-shows" if way == "up" else "page-shown"
        asked = {"object": sorted({place.iri for place in wanted})}
        for row in self.site.rows(question, asked, _MOST_NEIGHBOURS):
            own = LineageNode(row["own_iri"] or "", row["own_column_name"] or "")
            other = LineageNode(row["object_iri"] or "", row["column_name"] or "")
            if bool(own.column) != bool(other.column) or not self._is_there(way, row):
                continue
            last = row["last_seen"] or ""
            seen = last if self.at is None or last <= self.at else ""
            flow = Flow(0, row["first_seen"] or "", seen, row["evidence"] or "")
            if own.column:
                self.parts.setdefault((other, own) if way == "up" else (own, other), flow)
            if own not in wanted:
                continue
            self._name(other, row)
            if other not in known[own] or known[own][other].evidence != "CERTAIN":
                known[own][other] = flow
            if way == "down" or own == self.focus:  # a query that read the view has the objects behind it, as of then
                self.through.add((way, other))

    def _is_there(self, way: Way, row: Mapping[str, str | None]) -> bool:
        """Whether a view had a source at the time of the picture, and was read since then."""
        if self.since is not None and (row["last_seen"] or "") < self.since:
            return False
        if self.at is None:
            return True
        since = row["valid_from"] if way == "up" else row["first_seen"]
        return (row["valid_until"] or "9") > self.at and (since or "") <= self.at

    def _add_moved(self, way: Way, places: list[LineageNode]) -> None:
        """The places from which or to which queries moved data."""
        known = self.up if way == "up" else self.down
        ends = [end for place in places for end in self.ends.get(way, {}).get(place, ())]
        question = "page-sources" if way == "up" else "page-targets"
        asked = {"version": ends, **self._times(way)}
        for row in self.rows_of(question, asked, _MOST_NEIGHBOURS) if ends else ():
            own = LineageNode(row["own_iri"] or "", row["own_column_name"] or "")
            other = LineageNode(row["object_iri"] or "", row["column_name"] or "")
            self._name(other, row)
            if own in known and other != own:
                known[own][other] = _flow(row)

    def _name(self, place: LineageNode, row: Mapping[str, str | None]) -> None:
        is_helper = row["is_helper"] == "true"
        self.named.setdefault(place, Named(row["name"] or place.iri, row["kind"] or "", is_helper))


def _flow(row: Mapping[str, str | None]) -> Flow:
    return Flow(
        int(row["queries"] or 0),
        row["first"] or "",
        row["last"] or "",
        users=tuple(filter(None, (row["users"] or "").split("\n"))),
    )


def lineage(  # noqa: PLR0913, PLR0917 - what the page can be asked for
    site: Site,
    thing: SiteObject,
    column: str,
    day: date | None,
    since: date | None = None,
    hides_helpers: bool = False,  # noqa: FBT001, FBT002 - part of the address
) -> _Asked:
    """The lineage of an object, or of its column, as of the end of a day; over all time where ``day`` is None.
    ``since``: without what no query moved on that day or later.
    """
    at = None if day is None else _end(day)
    began = None if since is None else f"{since.isoformat()}T00:00:00Z"
    made = _Asked(
        focus=LineageNode(thing.iri, column), site=site, at=at, since=began, hides_helpers=hides_helpers
    )  # fmt: skip
    made.named[made.focus] = Named(thing.name or thing.iri, thing.kind)
    with ThreadPoolExecutor(1) as beside:  # both directions at once, by two of the processes for pages
        asked = _asked(made.focus)
        downwards = beside.submit(_ends, made, _downward(made.focus), asked)
        made.ends["up"] = _upwards(made, made.focus, asked)
        made.ends["down"] = downwards.result()
    if at is None:
        made.rows_of("page-names", {"object": thing.iri})
    if thing.kind.upper() in VIEWS and not made.neighbours("up", made.focus):
        made.notes.append(NOT_SHOWN_OF_COLUMN if made.focus.column else NOT_SHOWN)
    return made


def _asked(place: LineageNode) -> dict[str, str]:
    return {"object": place.iri, **({"column_name": place.column} if place.column else {})}


def _downward(place: LineageNode) -> str:
    return "page-column-down" if place.column else "page-down"


def _upwards(made: _Asked, place: LineageNode, asked: Mapping[str, str]) -> Ends:
    question = "page-column-up" if place.column else "page-up"
    if made.at is not None:
        present = made.rows_of("page-present", {"object": place.iri, "at": made.at})
        if not present or present[0]["is_gone"] == "true":
            if place == made.focus and (present or made.named[place].kind.upper() not in VIEWS):
                gone, none = "It was dropped by then, so nothing was in it.", "Nothing was written to it by then."
                made.notes.append(gone if present else none)
            return {}
        question += "-at"
        asked = {"version": present[0]["present"] or "", **{name: asked[name] for name in asked if name != "object"}}
    return _ends(made, question, asked)


def _ends(made: _Asked, question: str, asked: Mapping[str, str]) -> Ends:
    """The versions of the answer to ``question`` that have no other version of the answer ``beside`` them."""
    rows = made.site.rows(question, asked, MOST)
    if len(rows) == MOST:
        made.notes.append(
            f"There are more than {MOST:,} versions; the picture leaves some out. A day makes them fewer."
        )
    versions = {row["version"] for row in rows}
    found: Ends = defaultdict(list)
    for row in rows:
        if row["beside"] not in versions:
            found[LineageNode(row["object_iri"] or "", row.get("column_name") or "")].append(row["version"] or "")
    return found


def _end(day: date) -> str:
    """The last microsecond of a day in UTC."""
    return f"{datetime.combine(day, time()) + timedelta(days=1, microseconds=-1):%Y-%m-%dT%H:%M:%S.%f}Z"


def walk(found: Lineage, way: Way) -> Iterator[tuple[LineageNode, LineageNode, Flow]]:
    """Every edge of one direction, from the focus on: place, neighbour, flow."""
    step, seen = [found.focus], {found.focus}
    while step:
        found.load(way, step)
        edges = [(place, other, flow) for place in step for other, flow in found.neighbours(way, place).items()]
        yield from edges
        step = [other for _, other, _ in edges if other not in seen]
        seen.update(step)
