"""What a picture of lineage is made of: boxes of objects with their columns in them, and edges, with their places.

The template ``picture.svg`` draws it. All texts are as rows have them, only made visible: the template escapes them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

from exporter.serve.lineage.address import Address, EdgeOfAddress, href, page_of, token
from exporter.serve.lineage.flows import Flow, Lineage, LineageNode
from exporter.serve.lineage.layers import lay_out
from exporter.serve.lineage.picture import Group, Opened, Picture, PictureEdge, PictureNode, Spot
from exporter.serve.site import Site
from exporter.serve.tables import name_parts, time
from exporter.system.terminal import counted, visible

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
HOW: Final = {"CERTAIN": "shown by the view", "POSSIBLE": "possibly shown by the view"}
"""In place of the number of queries: how a view or stream has the data of its source."""
_CLASS: Final = {"": "moved", "CERTAIN": "shows", "POSSIBLE": "possible"}


@dataclass(frozen=True)
class ColumnInBox:
    """A column in a box. ``y``: of its middle, in the box; ``marks``, ``past``: as in :class:`ColumnFacts`."""

    name: str
    short: str
    y: float
    href: str
    marks: str = ""
    past: str = ""
    is_focus: bool = False


@dataclass
class Box:
    """``place`` and ``name``: two lines; ``buttons``: the buttons at its sides, with their text, address and label."""

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
    rows: list[ColumnInBox] = field(default_factory=list)
    foot: str = ""
    unfold: str = ""
    buttons: list[tuple[str, str, str, str]] = field(default_factory=list)

    def port(self, column: str) -> float:
        """The height of an end of an edge, at a column or at the head."""
        return self.y + next((row.y for row in self.rows if row.name == column), _HEAD / 2)


@dataclass(frozen=True)
class Arrow:
    """An edge. ``ends``: the keys of its ends with their columns, for scripts; ``text``: its description."""

    path: str
    classes: str
    text: str
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


class ColumnFacts(NamedTuple):
    """A column, its tags and policies, and why it is none of today; empty if it is."""

    name: str
    marks: str
    past: str


@dataclass(frozen=True)
class Facts:
    """The facts that boxes show of their objects, by IRI. ``columns``: those of today first; ``readers``: how many
    users read it.
    """

    columns: Mapping[str, Sequence[ColumnFacts]]
    readers: Mapping[str, int]


ColumnFlows = dict[tuple[LineageNode, LineageNode], Flow]
Ends = tuple[str, str]
"""The columns at the two ends of an edge, empty where an end is a whole box."""


def drawing(  # noqa: PLR0913, PLR0917 - what a picture is made of
    site: Site, lineage: Lineage, picture: Picture, address: Address, facts: Facts, column_flows: ColumnFlows
) -> Drawing:
    """The drawing of a picture. ``column_flows``: the flows between the columns of its boxes."""
    return _Drawer(site, lineage, picture, address, facts, column_flows).drawing()


@dataclass(frozen=True)
class _Drawer:
    site: Site
    lineage: Lineage
    picture: Picture
    address: Address
    facts: Facts
    column_flows: ColumnFlows

    def drawing(self) -> Drawing:
        boxes = self.boxes()
        numbers = {key: number for number, key in enumerate(boxes)}
        edges = [
            ((numbers[self.key(line.source)], numbers[self.key(line.target)]), line, ends, flow)
            for line, ends, flow in self.visible_edges()
        ]
        edges = [edge for edge in edges if edge[0][0] != edge[0][1]]
        layout = lay_out([box.height for box in boxes.values()], [edge for edge, *_ in edges])
        for key, number in numbers.items():
            boxes[key].x = _MARGIN + layout.layer[number] * (WIDTH + _BETWEEN)
            boxes[key].y = _MARGIN + layout.top[number]
        by_number = list(boxes.values())
        arrows = [
            self.arrow(line, ends, flow, by_number[edge[0]], by_number[edge[1]], layout.bends.get(edge, ()))
            for edge, line, ends, flow in edges
        ]
        chosen = boxes.get(self.key(self.address.chosen)) if self.address.chosen else None
        centre = chosen or boxes[self.key(self.lineage.focus)]
        width = 2 * _MARGIN + layout.layers * (WIDTH + _BETWEEN) - _BETWEEN
        middle = centre.x + WIDTH / 2, centre.y + centre.height / 2
        return Drawing(width, 2 * _MARGIN + layout.height, by_number, arrows, *middle)

    def key(self, spot: Spot) -> str:
        """The box of a place: columns are in the box of their object."""
        if isinstance(spot, Group):
            return "|".join((spot.direction, token(spot.of, self.site), spot.schema, "rest" if spot.rest else ""))
        return self.site.path(spot.iri)

    def boxes(self) -> dict[str, Box]:
        boxes: dict[str, Box] = {}
        for spot, node in self.picture.spots.items():
            key = self.key(spot)
            if isinstance(spot, Group):
                boxes[key] = self.group(spot, node, key)
                continue
            box = boxes.setdefault(key, self.box(spot, key))
            if spot.column:
                box.rows.append(self.row(spot, len(box.rows)))
            if step := step_of(node, self.address, self.site):
                text = "−" if node.is_open and not node.hidden else f"+{node.hidden:,}"  # noqa: RUF001 - a minus
                box.buttons.append((node.direction or "", text, step[1], step[0]))
        for box in boxes.values():
            box.height = _HEAD + ROW * len(box.rows) + (_FOOT if box.foot else 6 if box.rows else 0)
        return boxes

    def box(self, spot: LineageNode, key: str) -> Box:
        label = self.lineage.labels[spot]
        name, kind = visible(label.whole), visible(label.kind)
        split = label.name.rsplit("/", 1) if "://" in label.name.rstrip("/") else ["", label.name]
        *place, last = split if "://" in label.name else name_parts(label.name)
        where = ".".join(place) + (label.account and f" of {label.account}")
        classes = [_style_class(kind), "helper" if label.is_helper else ""]
        classes.append("focus" if spot.iri == self.lineage.focus.iri else "")
        classes.append("chosen" if self.address.chosen and spot.iri == self.address.chosen.iri else "")
        box = Box(
            key, name, cut(where, 30, from_left=True), cut(last, 26), kind, " ".join(filter(None, classes)),
            page_of(self.site, LineageNode(spot.iri)),
        )  # fmt: skip
        counts = []
        columns = self.facts.columns.get(spot.iri, ())
        if columns and not spot.column:
            is_open = spot.iri in self.address.columns
            if is_open:
                names = [column.name for column in columns[:_MOST_COLUMNS]]
                box.rows = [self.row(LineageNode(spot.iri, column), number) for number, column in enumerate(names)]
            count = sum(not column.past for column in columns)
            counts.append(f"{'▴' if is_open else '▾'} {counted(count, 'column')}")
            box.unfold = href(self.address.unfolded(spot.iri), self.site)
        if readers := self.facts.readers.get(spot.iri, 0):
            counts.append(counted(readers, "reader"))
        box.foot = " · ".join(counts)
        return box

    def row(self, place: LineageNode, number: int) -> ColumnInBox:
        columns = self.facts.columns.get(place.iri, ())
        facts = next((column for column in columns if column.name == place.column), ColumnFacts(place.column, "", ""))
        link = href(self.address.of(place, self.site), self.site)
        y = _HEAD + ROW * number + ROW / 2
        marks, past = visible(facts.marks), visible(facts.past)
        return ColumnInBox(place.column, cut(place.column, 27), y, link, marks, past, place == self.lineage.focus)

    def group(self, spot: Group, node: PictureNode, key: str) -> Box:
        words = f"{node.size:,} {'more' if spot.rest else 'objects'}"
        opened = Opened(spot.direction, spot.of, spot.schema)
        link = page_of(self.site, spot.of) if spot.rest else href(self.address.toggled(opened), self.site)
        full = f"{words} in {visible(spot.schema)}"
        return Box(key, full, cut(spot.schema, 30, from_left=True), words, "", "group", link)

    def visible_edges(self) -> Iterator[tuple[PictureEdge, Ends, Flow | None]]:
        """Each edge, with the columns of its ends: between columns where they are shown and known, else between
        boxes.
        """
        shown = self.address.columns
        by_boxes: dict[tuple[str, str], dict[Ends, Flow]] = defaultdict(dict)
        for (left, right), flow in self.column_flows.items():
            ends = (left.column if left.iri in shown else "", right.column if right.iri in shown else "")
            if any(ends):
                by_boxes[left.iri, right.iri].setdefault(ends, flow)
        for line in self.picture.lines.values():
            source, target = line.source, line.target
            if isinstance(source, Group) or isinstance(target, Group):
                columns = ["" if isinstance(spot, Group) else spot.column for spot in (source, target)]
                yield line, (columns[0], columns[1]), line.flow
                continue
            of_columns = by_boxes.get((source.iri, target.iri), {})
            if line.flow is None or line.flow.through or self.lineage.focus.column or not of_columns:
                yield line, (source.column, target.column), line.flow
                continue
            for ends, flow in of_columns.items():
                yield line, ends, flow if all(ends) else line.flow

    def arrow(  # noqa: PLR0913, PLR0917 - an edge, and where its ends are
        self,
        line: PictureEdge,
        ends: Ends,
        flow: Flow | None,
        source: Box,
        target: Box,
        bends: Sequence[tuple[int, float]],
    ) -> Arrow:
        is_back = source.x > target.x
        points = [(source.x + (0 if is_back else WIDTH), source.port(ends[0]))]
        for layer, y in bends:
            left_edge = _MARGIN + layer * (WIDTH + _BETWEEN)
            passing = [(left_edge, y + _MARGIN), (left_edge + WIDTH, y + _MARGIN)]
            points += reversed(passing) if is_back else passing
        points.append((target.x + (WIDTH if is_back else 0), target.port(ends[1])))
        classes = [_CLASS[flow.evidence] if flow else "more"]
        classes += ["through"] if flow and flow.through else []
        edge = edge_of(line, ends if all(ends) else ("", ""))
        classes += ["chosen"] if edge and self.address.edge == edge else []
        text = f"{source.full}{_of(ends[0])} → {target.full}{_of(ends[1])}" + (f"\n{flow_words(flow)}" if flow else "")
        keys = (f"{source.key}|{ends[0]}", f"{target.key}|{ends[1]}")
        opens = moves_href(edge, self.address, self.site) if edge else ""
        return Arrow(_path(points), " ".join(classes), text, opens, keys)


def step_of(node: PictureNode, address: Address, site: Site) -> tuple[str, str] | None:
    """How to open or close the neighbours of a box, away from the focus: a text, and the address that does it. None
    where there are none.
    """
    if isinstance(node.spot, Group) or node.direction is None or not (node.hidden or node.is_open):
        return None
    neighbours = "sources" if node.direction == "up" else "targets"
    text = f"Show its {neighbours} (+{node.hidden:,})" if node.hidden else f"Hide its {neighbours}"
    return text, href(address.toggled(Opened(node.direction, node.spot)), site)


def edge_of(line: PictureEdge, ends: Ends = ("", "")) -> EdgeOfAddress | None:
    """An edge from the place at which it was found; None where it leads to a group. ``ends``: columns, if the ends are
    not columns themselves.
    """
    source, target = line.source, line.target
    if isinstance(source, Group) or isinstance(target, Group):
        return None
    source, target = source._replace(column=source.column or ends[0]), target._replace(column=target.column or ends[1])
    place, other = (target, source) if line.direction == "up" else (source, target)
    return EdgeOfAddress(line.direction, place, other)


def moves_href(edge: EdgeOfAddress, address: Address, site: Site) -> str:
    """The address of the list of queries of an edge."""
    return f"{href(replace(address, edge=edge, chosen=None), site)}#moves"


def _style_class(domain: str) -> str:
    words = domain.upper()
    return (
        "view" if "VIEW" in words or "STREAM" in words else "outside" if "STAGE" in words or "LOCATION" in words else ""
    )


def _of(column: str) -> str:
    return f".{visible(column)}" if column else ""


def flow_words(flow: Flow) -> str:
    """How often data moved, when, and by whom: the text of an edge."""
    if flow.evidence:
        since = f", seen from {time(flow.first)}" + (f" to {time(flow.last)}" if flow.last else "")
        return f"{HOW[flow.evidence]}{since}"
    times = f"{flow.queries:,} queries, {time(flow.first)} to {time(flow.last)}" if flow.queries != 1 else (
        f"1 query, {time(flow.first)}"
    )  # fmt: skip
    by = f", by {cut(', '.join(flow.users), 80)}" if flow.users else ""
    return times + by + (f", through {', '.join(map(visible, flow.through))}" if flow.through else "")


def _path(points: list[tuple[float, float]]) -> str:
    """A curve through points: level at each of them, so that it passes a layer level."""
    (x, y), *following = points
    commands = [f"M{x:.0f} {y:.1f}"]
    for number, (next_x, next_y) in enumerate(following):
        if number % 2 == 1:  # from the left to the right edge of a layer
            commands.append(f"H{next_x:.0f}")
        else:
            half = (x + next_x) / 2
            commands.append(f"C{half:.0f} {y:.1f} {half:.0f} {next_y:.1f} {next_x:.0f} {next_y:.1f}")
        x, y = next_x, next_y
    return "".join(commands)


def cut(text: str, most: int, *, from_left: bool = False) -> str:
    """The text, visible and not longer than ``most``."""
    text = visible(text)
    if len(text) <= most:
        return text
    return f"…{text[1 - most :]}" if from_left else f"{text[: most - 1]}…"
