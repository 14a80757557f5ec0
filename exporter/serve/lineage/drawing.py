"""What a picture of lineage is made of: boxes of objects with their columns in them, and edges, with their places.

The template ``picture.svg`` draws it. All texts are as rows have them, only made visible: the template escapes them.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from exporter.serve.lineage.address import Address, Edge, href, page_of, token
from exporter.serve.lineage.flows import Flow, LineageNode
from exporter.serve.lineage.layers import laid
from exporter.serve.lineage.picture import Group, Opened, parts
from exporter.serve.notes import time
from exporter.system.terminal import visible

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from exporter.serve.lineage.flows import Lineage, Way
    from exporter.serve.lineage.layers import Laid
    from exporter.serve.lineage.picture import Line, Picture, Seen, Spot
    from exporter.serve.site import Site

WIDTH: Final = 236
_BETWEEN: Final = 92
"""Between two layers."""
_HEAD: Final = 46
_FOOT: Final = 20
ROW: Final = 20
_MARGIN: Final = 40
"""Around all boxes: the buttons at their sides are in it."""
_MOST_COLUMNS: Final = 40
"""The most columns in a box; the others are on the page of the object."""
_HOW: Final = {"CERTAIN": "shown by the view", "POSSIBLE": "possibly shown by the view"}
"""In place of the number of queries: how a view or stream has the data of its source."""
_CLASS: Final = {"": "moved", "CERTAIN": "shows", "POSSIBLE": "possible"}


@dataclass(frozen=True)
class Row:
    """A column in a box. ``y``: of its middle, in the box; ``marks``: whether it has a policy or a tag."""

    name: str
    short: str
    y: float
    href: str
    marks: str = ""
    is_focus: bool = False


@dataclass
class Box:
    """``place`` and ``name``: two lines; ``ways``: the buttons at its sides, with their text, address and label."""

    key: str
    full: str
    place: str
    name: str
    kind: str
    classes: str
    href: str
    x: float = 0
    y: float = 0
    height: float = _HEAD
    rows: list[Row] = field(default_factory=list)
    foot: str = ""
    unfold: str = ""
    ways: list[tuple[str, str, str, str]] = field(default_factory=list)

    def port(self, column: str) -> float:
        """The height of an end of an edge, at a column or at the head."""
        return self.y + next((row.y for row in self.rows if row.name == column), _HEAD / 2)


@dataclass(frozen=True)
class Arrow:
    """An edge. ``ends``: the keys of its ends with their columns, for scripts; ``says``: what it stands for."""

    path: str
    classes: str
    says: str
    href: str
    ends: tuple[str, str]


@dataclass
class Drawing:
    """``x``, ``y``: the middle of what was clicked last, or of the focus."""

    width: float
    height: float
    boxes: list[Box]
    arrows: list[Arrow]
    x: float
    y: float


@dataclass(frozen=True)
class Facts:
    """What boxes say of their objects, by IRI. ``columns``: each with its tags and policies; ``readers``: how many
    users read it.
    """

    columns: Mapping[str, Sequence[tuple[str, str]]]
    readers: Mapping[str, int]


ColumnFlows = dict[tuple[LineageNode, LineageNode], Flow]


def drawing(  # noqa: PLR0913, PLR0917 - what a picture is made of
    site: Site, found: Lineage, shown: Picture, asked: Address, facts: Facts, between: ColumnFlows
) -> Drawing:
    """The drawing of a picture. ``between``: the flows between the columns of its boxes."""
    boxes = _boxes(site, found, shown, asked, facts)
    flows = list(_drawn(found, shown, asked, between))
    numbers = {key: number for number, key in enumerate(boxes)}
    edges = [(numbers[_key(line.source, site)], numbers[_key(line.target, site)]) for line, _, _ in flows]
    at = laid([box.height for box in boxes.values()], [edge for edge in edges if edge[0] != edge[1]])
    for key, number in numbers.items():
        boxes[key].x = _MARGIN + at.layer[number] * (WIDTH + _BETWEEN)
        boxes[key].y = _MARGIN + at.top[number]
    arrows = [
        _arrow(site, asked, (line, ends, flow), boxes, at, edge)
        for (line, ends, flow), edge in zip(flows, edges, strict=True) if edge[0] != edge[1]
    ]  # fmt: skip
    looked = boxes.get(_key(asked.chosen, site) if asked.chosen else "") or boxes[_key(found.focus, site)]
    width = 2 * _MARGIN + at.layers * (WIDTH + _BETWEEN) - _BETWEEN
    middle = looked.x + WIDTH / 2, looked.y + looked.height / 2
    return Drawing(width, 2 * _MARGIN + at.height, list(boxes.values()), arrows, *middle)


def _key(spot: Spot, site: Site) -> str:
    """The box of a place: columns are in the box of their object."""
    if isinstance(spot, Group):
        return "|".join((spot.way, token(spot.of, site), spot.schema, "rest" if spot.rest else ""))
    return site.path(spot.iri)


def _boxes(site: Site, found: Lineage, shown: Picture, asked: Address, facts: Facts) -> dict[str, Box]:
    boxes: dict[str, Box] = {}
    for spot, seen in shown.spots.items():
        key = _key(spot, site)
        if isinstance(spot, Group):
            boxes[key] = _group(site, spot, seen, asked, key)
        else:
            box = boxes.setdefault(key, _box(site, found, spot, asked, facts, key))
            if spot.column:
                row = _row(site, asked, spot, len(box.rows), facts, is_focus=spot == found.focus)
                box.rows.append(row)
            box.ways += _ways(site, seen, spot, asked)
    for box in boxes.values():
        box.height = _HEAD + ROW * len(box.rows) + (_FOOT if box.foot else 6 if box.rows else 0)
    return boxes


def _box(  # noqa: PLR0913, PLR0917 - a box, and where it is shown
    site: Site, found: Lineage, spot: LineageNode, asked: Address, facts: Facts, key: str
) -> Box:
    told = found.named[spot]
    name, kind = visible(told.name), visible(told.kind)
    split = told.name.rsplit("/", 1) if "://" in told.name.rstrip("/") else ["", told.name]
    *place, last = split if "://" in told.name else parts(told.name)
    classes = [_look(kind), "helper" if told.is_helper else ""]
    classes.append("focus" if spot.iri == found.focus.iri else "")
    classes.append("chosen" if asked.chosen and spot.iri == asked.chosen.iri else "")
    at = page_of(site, LineageNode(spot.iri))
    made = Box(
        key, name, cut(".".join(place), 30, from_left=True), cut(last, 26), kind, " ".join(filter(None, classes)), at
    )
    columns = facts.columns.get(spot.iri, ())
    is_open = spot.iri in asked.columns and not spot.column
    if is_open:
        made.rows = [
            _row(site, asked, LineageNode(spot.iri, column), number, facts)
            for number, (column, _) in enumerate(columns[:_MOST_COLUMNS])
        ]
    readers = facts.readers.get(spot.iri, 0)
    counts = [f"{readers:,} reader{'s' if readers != 1 else ''}"] if readers else []
    if not spot.column and columns:
        counts.insert(0, f"{'▴' if is_open else '▾'} {len(columns):,} column{'s' if len(columns) != 1 else ''}")
        made.unfold = href(asked.unfolded(spot.iri), site)
    made.foot = " · ".join(counts)
    return made


def _row(  # noqa: PLR0913 - where a column is, and of what
    site: Site, asked: Address, place: LineageNode, number: int, facts: Facts, *, is_focus: bool = False
) -> Row:
    marks = dict(facts.columns.get(place.iri, ())).get(place.column, "")
    y = _HEAD + ROW * number + ROW / 2
    return Row(place.column, cut(place.column, 27), y, href(asked.of(place, site), site), visible(marks), is_focus)


def _group(site: Site, spot: Group, seen: Seen, asked: Address, key: str) -> Box:
    words = f"{seen.size:,} {'more' if spot.rest else 'objects'}"
    opened = Opened(spot.way, spot.of, spot.schema)
    at = page_of(site, spot.of) if spot.rest else href(asked.toggled(opened), site)
    return Box(key, f"{words} in {visible(spot.schema)}", cut(spot.schema, 30, from_left=True), words, "", "group", at)


def _ways(site: Site, seen: Seen, spot: LineageNode, asked: Address) -> Iterator[tuple[str, str, str, str]]:
    """The button that opens or closes what is beyond a box."""
    way = seen.way
    if way is None or not (seen.hidden or seen.is_open):
        return
    of = "sources" if way == "up" else "targets"
    if seen.hidden:
        yield (
            way,
            f"+{seen.hidden:,}",
            href(asked.toggled(Opened(way, spot)), site),
            f"Show its {of} (+{seen.hidden:,})",
        )
    else:
        yield way, "−", href(asked.toggled(Opened(way, spot)), site), f"Hide its {of}"  # noqa: RUF001 - a minus


def _look(domain: str) -> str:
    words = domain.upper()
    return (
        "view" if "VIEW" in words or "STREAM" in words else "outside" if "STAGE" in words or "LOCATION" in words else ""
    )


def _drawn(
    found: Lineage, shown: Picture, asked: Address, between: ColumnFlows
) -> Iterator[tuple[Line, tuple[str, str], Flow | None]]:
    """Each edge, with the columns of its ends: between columns where they are shown and known, else between boxes."""
    by_boxes: dict[tuple[str, str], dict[tuple[str, str], Flow]] = defaultdict(dict)
    for (source, target), flow in between.items():
        ends = (
            source.column if source.iri in asked.columns else "",
            target.column if target.iri in asked.columns else "",
        )
        if any(ends):
            by_boxes[source.iri, target.iri].setdefault(ends, flow)
    for line in shown.lines.values():
        if isinstance(line.source, Group) or isinstance(line.target, Group) or found.focus.column:
            yield (
                line,
                tuple("" if isinstance(one, Group) else one.column for one in (line.source, line.target)),
                line.flow,
            )  # type: ignore[misc]
            continue
        of_columns = by_boxes.get((line.source.iri, line.target.iri), {})
        if line.flow is None or line.flow.through or not of_columns:
            yield line, ("", ""), line.flow
        else:
            for ends, flow in of_columns.items():
                yield line, ends, flow if all(ends) else line.flow


def _arrow(  # noqa: PLR0913, PLR0917 - an edge, and where its ends are
    site: Site, asked: Address, drawn: tuple[Line, tuple[str, str], Flow | None],
    boxes: Mapping[str, Box], at: Laid, edge: tuple[int, int],
) -> Arrow:  # fmt: skip
    line, ends, flow = drawn
    source, target = boxes[_key(line.source, site)], boxes[_key(line.target, site)]
    is_back = at.layer[edge[0]] > at.layer[edge[1]]
    points = [(source.x + (0 if is_back else WIDTH), source.port(ends[0]))]
    for layer, y in at.bends.get(edge, ()):
        left = _MARGIN + layer * (WIDTH + _BETWEEN)
        around = [(left, y + _MARGIN), (left + WIDTH, y + _MARGIN)]
        points += reversed(around) if is_back else around
    points.append((target.x + (WIDTH if is_back else 0), target.port(ends[1])))
    classes = [_CLASS[flow.evidence] if flow else "more"]
    classes += ["through"] if flow and flow.through else []
    opens = ""
    if isinstance(line.source, LineageNode) and isinstance(line.target, LineageNode):
        one = edge_of(line.way, line.source, line.target, ends if all(ends) else ("", ""))
        classes += ["chosen"] if asked.edge == one else []
        opens = href(replace(asked, edge=one, chosen=None), site) + "#moves"
    says = f"{source.full}{_of(ends[0])} → {target.full}{_of(ends[1])}"
    keys = (f"{source.key}|{ends[0]}", f"{target.key}|{ends[1]}")
    return Arrow(_path(points), " ".join(classes), f"{says}\n{flow_words(flow)}" if flow else says, opens, keys)


def edge_of(way: Way, source: LineageNode, target: LineageNode, ends: tuple[str, str] = ("", "")) -> Edge:
    """An edge from the place at which it was found. ``ends``: columns, if the ends are not columns themselves."""
    here = source._replace(column=source.column or ends[0]), target._replace(column=target.column or ends[1])
    return Edge(way, here[1], here[0]) if way == "up" else Edge(way, here[0], here[1])


def _of(column: str) -> str:
    return f".{visible(column)}" if column else ""


def flow_words(flow: Flow) -> str:
    """How often data moved, when, and by whom: the text of an edge."""
    if flow.evidence:
        seen = f", seen from {time(flow.first)}" + (f" to {time(flow.last)}" if flow.last else "")
        return f"{_HOW[flow.evidence]}{seen}"
    times = f"{flow.queries:,} queries, {time(flow.first)} to {time(flow.last)}" if flow.queries != 1 else (
        f"1 query, {time(flow.first)}"
    )  # fmt: skip
    by = f", by {cut(', '.join(flow.users), 80)}" if flow.users else ""
    return times + by + (f", through {', '.join(map(visible, flow.through))}" if flow.through else "")


def _path(points: list[tuple[float, float]]) -> str:
    """A curve through points: level at each of them, so that it passes a layer level."""
    (x, y), *others = points
    made = [f"M{x:.0f} {y:.1f}"]
    for place, (next_x, next_y) in enumerate(others):
        if place % 2 == 1:  # from the left to the right edge of a layer
            made.append(f"H{next_x:.0f}")
        else:
            half = (x + next_x) / 2
            made.append(f"C{half:.0f} {y:.1f} {half:.0f} {next_y:.1f} {next_x:.0f} {next_y:.1f}")
        x, y = next_x, next_y
    return "".join(made)


def cut(text: str, most: int, *, from_left: bool = False) -> str:
    """The text, visible and not longer than ``most``."""
    text = visible(text)
    if len(text) <= most:
        return text
    return f"…{text[1 - most :]}" if from_left else f"{text[: most - 1]}…"
