"""A lineage, and the part of it that is shown.

The lineage of an object or a column, upstream and downstream. The versions that belong to it are read at once, the
edges of a place when the picture shows it.

The visible part of a lineage: what the user opened, starting at the focus, in layers; many neighbours in groups.
"""

from __future__ import annotations

from collections import defaultdict, deque
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from exporter.ask.unrecorded import UNLISTED
from exporter.serve.site import MOST_ROWS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from collections.abc import Set as AbstractSet

    from exporter.serve.site import Params, Site, SiteObject

MOST: Final = 200_000
"""The most versions that are read; far more than a picture can show."""
_MOST_NEIGHBOURS: Final = 100_000
Way = Literal["up", "down"]


class LineageNode(NamedTuple):
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
    """Data that went from one place to another: the number of queries, and the times of the first and the last.

    ``evidence``: empty if queries moved the data. Of a view or stream that shows the data of its source: CERTAIN or
    POSSIBLE; then there are no queries, and the times are when queries showed it
    (``last`` is empty if that was after the day of the picture).
    """

    queries: int
    first: str
    last: str
    evidence: str = ""


VIEWS: Final = frozenset({"VIEW", "STREAM"})
"""Kinds of objects that show data of others, in upper case."""
NOT_SHOWN: Final = "No row shows what is behind it, so its data may come from anywhere."
"""The text where no query shows the sources of a view or stream."""
NOT_SHOWN_OF_COLUMN: Final = "No row shows what is behind this column; the picture of the whole has all that is known."
"""The same of one of its columns."""
_NONE: Final = Flow(0, "", "")
Flows = dict[LineageNode, dict[LineageNode, Flow]]
Ends = dict[LineageNode, list[str]]


@dataclass
class Lineage:
    """``up``: from each place to its sources; ``down``: from each place to its targets. Both have only the places whose
    edges were read. ``named``: these places and their neighbours. ``notes``: for the reader, such as that the object
    was dropped by then.
    """

    focus: LineageNode
    up: Flows = field(default_factory=lambda: defaultdict(dict))
    down: Flows = field(default_factory=lambda: defaultdict(dict))
    named: dict[LineageNode, Named] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def neighbours(self, way: Way, place: LineageNode) -> Mapping[LineageNode, Flow]:
        """The sources (``up``) or targets (``down``) of a place."""
        return (self.up if way == "up" else self.down).get(place, {})


@dataclass(kw_only=True)
class _Asked(Lineage):
    """A lineage that reads the edges of each place from the export when they are asked for.

    ``ends``: for each place, the last version of each chain upstream, and the first version of each chain downstream.
    All versions before the last, or after the first, also belong to the lineage. ``through``: places that were reached
    through a view or stream, whose versions are read when their edges are asked for.
    """

    site: Site
    at: str | None
    ends: dict[Way, Ends] = field(default_factory=dict)
    through: set[tuple[Way, LineageNode]] = field(default_factory=set)

    def neighbours(self, way: Way, place: LineageNode) -> Mapping[LineageNode, Flow]:
        known = self.up if way == "up" else self.down
        if place not in known:
            known[place] = self._found(way, place)
        return known[place]

    def rows_of(self, question: str, asked: Params, most: int = MOST_ROWS) -> list[dict[str, str | None]]:
        """The rows of an answer. If what they show was in a schema that was renamed, dropped …, the reader is told."""
        answer = self.site.ask(question, asked, most)
        self.notes += [note for note in answer.notes if UNLISTED in note and note not in self.notes]
        return [dict(zip(answer.columns, row, strict=True)) for row in answer.rows]

    def _found(self, way: Way, place: LineageNode) -> dict[LineageNode, Flow]:
        if (way, place) in self.through and place not in self.ends[way]:
            own = _asked(place)
            ends_of = _upwards(self, place, own) if way == "up" else _ends(self, _downward(place), own)
            self.ends[way][place] = ends_of.get(place, [])
            for other, versions in ends_of.items():
                self.ends[way].setdefault(other, versions)
        return {**self._shown(way, place), **self._moved(way, place)}

    def _shown(self, way: Way, place: LineageNode) -> dict[LineageNode, Flow]:
        """The objects behind a view or stream (``up``), or the views and streams over an object, or of its columns. As
        of a day, views that no query had read by then are left out; what is behind a view was so before it was read.
        """
        flows: dict[LineageNode, Flow] = {}
        if way == "up" and self.named[place].kind.upper() not in VIEWS:
            return flows
        for row in self.site.rows("page-shows" if way == "up" else "page-shown", {"object": place.iri}):
            own, column = row["own_column_name"] or "", row["column_name"] or ""
            if own != place.column or bool(column) != bool(own) or not self._is_there(way, row):
                continue
            other = LineageNode(row["object_iri"] or "", column)
            self.named.setdefault(other, Named(row["name"] or other.iri, row["kind"] or ""))
            if flows.get(other, _NONE).evidence != "CERTAIN":
                last = row["last_seen"] or ""
                seen = last if self.at is None or last <= self.at else ""
                flows[other] = Flow(0, row["first_seen"] or "", seen, row["evidence"] or "")
            if way == "down" or place == self.focus:  # a query that read the view has the objects behind it, as of then
                self.through.add((way, other))
        return flows

    def _is_there(self, way: Way, row: Mapping[str, str | None]) -> bool:
        """Whether a view had a source at the time of the picture."""
        if self.at is None:
            return True
        since = row["valid_from"] if way == "up" else row["first_seen"]
        return (row["valid_until"] or "9") > self.at and (since or "") <= self.at

    def _moved(self, way: Way, place: LineageNode) -> dict[LineageNode, Flow]:
        """The places from which or to which queries moved data."""
        ends = self.ends.get(way, {}).get(place)
        if not ends:
            return {}
        asked: dict[str, str | list[str]] = {"version": ends}
        if way == "down" and self.at is not None:
            asked["at"] = self.at
        flows = {}
        for row in self.rows_of("page-sources" if way == "up" else "page-targets", asked, _MOST_NEIGHBOURS):
            other = LineageNode(row["object_iri"] or "", (row["column_name"] or "") if place.column else "")
            self.named.setdefault(other, Named(row["name"] or other.iri, row["kind"] or ""))
            if other != place:
                flows[other] = Flow(int(row["queries"] or 0), row["first"] or "", row["last"] or "")
        return flows


def lineage(site: Site, thing: SiteObject, column: str, day: date | None) -> Lineage:
    """The lineage of an object, or of its column, as of the end of a day; over all time where ``day`` is None."""
    at = None if day is None else _end(day)
    made = _Asked(focus=LineageNode(thing.iri, column), site=site, at=at)
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


MOST_SINGLE: Final = 12
"""The most neighbours that are shown one by one; if there are more, they are grouped by database and schema."""
MOST_OF_GROUP: Final = 30
"""The most members of a group in the picture; the table has all."""
_WIDTH: Final = 285
_HEIGHT: Final = 64
_WAYS: Final[tuple[Way, ...]] = ("up", "down")


class Opened(NamedTuple):
    """What the user opened: the sources (``up``) or targets (``down``) of a place; with ``group``, those of them in
    that schema.
    """

    way: Way
    place: LineageNode
    group: str = ""


@dataclass(frozen=True)
class Group:
    """The neighbours of a place in one schema. ``rest``: those of an opened group that are not shown."""

    way: Way
    of: LineageNode
    schema: str
    rest: bool = False


Spot = LineageNode | Group


@dataclass
class Seen:
    """A box of the picture. ``layer``: steps from the focus, negative for sources; ``row``: its position in the layer;
    ``hidden``: the number of its neighbours, away from the focus, that are not shown yet.
    """

    spot: Spot
    way: Way | None
    layer: int
    row: float = 0
    hidden: int = 0
    size: int = 1


@dataclass(frozen=True)
class Line:
    """An edge of the picture, in the direction of the data; ``flow`` is None where it leads to a group."""

    source: Spot
    target: Spot
    flow: Flow | None


@dataclass
class Picture:
    """The boxes by place or group, in the order in which they were reached, and the edges."""

    spots: dict[Spot, Seen] = field(default_factory=dict)
    lines: dict[tuple[Spot, Spot], Line] = field(default_factory=dict)

    def join(self, place: LineageNode, spot: Spot, flow: Flow | None, way: Way) -> None:
        """Adds an edge from a place to its source or target."""
        source, target = (spot, place) if way == "up" else (place, spot)
        self.lines.setdefault((source, target), Line(source, target, flow))


def picture(lineage: Lineage, opened: AbstractSet[Opened]) -> Picture:
    """The visible part of a lineage after these places and groups were opened; the focus is always visible."""
    made = Picture({lineage.focus: Seen(lineage.focus, None, 0)})
    _walk(lineage, opened, made, "up")
    _walk(lineage, opened, made, "down")
    for seen in list(made.spots.values()):
        _link(lineage, opened, made, seen)
    _arrange(made)
    return made


def _walk(lineage: Lineage, opened: AbstractSet[Opened], made: Picture, way: Way) -> None:
    """Adds what can be reached in one direction through opened places."""
    step = -1 if way == "up" else 1
    waiting = deque([lineage.focus])
    while waiting:
        place = waiting.popleft()
        if place != lineage.focus and Opened(way, place) not in opened:
            continue
        neighbours = lineage.neighbours(way, place)
        for spot in _shown(lineage, opened, place, neighbours, way):
            if spot not in made.spots:
                layer = made.spots[place].layer + step
                made.spots[spot] = Seen(spot, way, layer, size=_size(lineage, neighbours, spot))
                if isinstance(spot, LineageNode):
                    waiting.append(spot)
            if isinstance(spot, Group):
                made.join(place, spot, None, way)


def _link(lineage: Lineage, opened: AbstractSet[Opened], made: Picture, seen: Seen) -> None:
    """Adds the edges of a place to all others in the picture, and counts its neighbours that are not shown."""
    if isinstance(seen.spot, Group):
        return
    for way in _WAYS:
        for lineage_node, flow in lineage.neighbours(way, seen.spot).items():
            if lineage_node in made.spots:
                made.join(seen.spot, lineage_node, flow, way)
            elif way == seen.way and Opened(seen.way, seen.spot) not in opened:
                seen.hidden += 1


def _shown(
    lineage: Lineage, opened: AbstractSet[Opened], place: LineageNode, neighbours: Mapping[LineageNode, Flow], way: Way
) -> Iterator[Spot]:
    """The neighbours of an opened place, one by one or in groups."""
    ordered = sorted(neighbours, key=lambda node: (lineage.named[node].name, node))
    if len(ordered) <= MOST_SINGLE:
        yield from ordered
        return
    schemas: dict[str, list[LineageNode]] = defaultdict(list)
    for lineage_node in ordered:
        schemas[schema(lineage.named[lineage_node].name)].append(lineage_node)
    for name, members in schemas.items():
        if len(members) == 1 or Opened(way, place, name) in opened:
            yield from members[:MOST_OF_GROUP]
            if len(members) > MOST_OF_GROUP:
                yield Group(way, place, name, rest=True)
        else:
            yield Group(way, place, name)


def _size(lineage: Lineage, neighbours: Mapping[LineageNode, Flow], spot: Spot) -> int:
    if isinstance(spot, LineageNode):
        return 1
    members = sum(1 for neighbour in neighbours if schema(lineage.named[neighbour].name) == spot.schema)
    return members - MOST_OF_GROUP if spot.rest else members


def schema(name: str) -> str:
    """The database and schema of a name; the whole name where it has none.

    >>> schema("DB.S.T"), schema('DB."a.b".T'), schema("s3://bucket/a.csv")
    ('DB.S', 'DB."a.b"', 's3://bucket')
    """
    if "://" in name:
        return "/".join(name.split("/")[:3])
    parts, quoted = [""], False
    for letter in name:
        quoted ^= letter == '"'
        if letter == "." and not quoted:
            parts.append("")
        else:
            parts[-1] += letter
    return ".".join(parts[:-1]) or name


def _arrange(made: Picture) -> None:
    """Orders each layer by the boxes that its members were reached from; all layers have the same vertical centre."""
    layers: dict[int, list[Seen]] = defaultdict(list)
    for seen in made.spots.values():
        layers[seen.layer].append(seen)
    for layer in layers.values():
        for number, seen in enumerate(layer):
            seen.row = number - (len(layer) - 1) / 2


def at(seen: Seen) -> dict[str, float]:
    """The coordinates of a box in the picture."""
    return {"x": seen.layer * _WIDTH, "y": seen.row * _HEIGHT}
