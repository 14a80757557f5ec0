"""What a picture of lineage is made of: boxes of objects with their columns in them, and edges, with their places.

The template ``picture.svg`` draws it. All texts are as rows have them, only made visible: the template escapes them.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from exporter.serve.lineage.address import Address, Edge, href, page_of, token
from exporter.serve.lineage.flows import Flow, LineageNode
from exporter.serve.lineage.layers import lay_out
from exporter.serve.lineage.picture import Group, Opened, parts
from exporter.serve.tables import time
from exporter.system.terminal import visible

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from exporter.serve.lineage.flows import Direction, Lineage
    from exporter.serve.lineage.layers import Layout
    from exporter.serve.lineage.picture import Line, Picture, PictureNode, Spot
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
    rows: list[Row] = field(default_factory=list)
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


@dataclass(frozen=True)
class Facts:
    """The facts that boxes show of their objects, by IRI. ``columns``: each with its tags and policies; ``readers``:
    how many users read it.
    """

    columns: Mapping[str, Sequence[tuple[str, str]]]
    readers: Mapping[str, int]


ColumnFlows = dict[tuple[LineageNode, LineageNode], Flow]


def drawing(  # noqa: PLR0913, PLR0917 - what a picture is made of
    site: Site, lineage: Lineage, picture: Picture, address: Address, facts: Facts, column_flows: ColumnFlows
) -> Drawing:
    """The drawing of a picture. ``column_flows``: the flows between the columns of its boxes."""
    boxes = _boxes(site, lineage, picture, address, facts)
    flows = list(_visible_edges(lineage, picture, address, column_flows))
    numbers = {key: number for number, key in enumerate(boxes)}
    edges = [(numbers[_key(line.source, site)], numbers[_key(line.target, site)]) for line, _, _ in flows]
    layout = lay_out([box.height for box in boxes.values()], [edge for edge in edges if edge[0] != edge[1]])
    for key, number in numbers.items():
        boxes[key].x = _MARGIN + layout.layer[number] * (WIDTH + _BETWEEN)
        boxes[key].y = _MARGIN + layout.top[number]
    arrows = [
        _arrow(site, address, (line, ends, flow), boxes, layout, edge)
        for (line, ends, flow), edge in zip(flows, edges, strict=True) if edge[0] != edge[1]
    ]  # fmt: skip
    centre = boxes.get(_key(address.chosen, site) if address.chosen else "") or boxes[_key(lineage.focus, site)]
    width = 2 * _MARGIN + layout.layers * (WIDTH + _BETWEEN) - _BETWEEN
    middle = centre.x + WIDTH / 2, centre.y + centre.height / 2
    return Drawing(width, 2 * _MARGIN + layout.height, list(boxes.values()), arrows, *middle)


def _key(spot: Spot, site: Site) -> str:
    """The box of a place: columns are in the box of their object."""
    if isinstance(spot, Group):
        return "|".join((spot.direction, token(spot.of, site), spot.schema, "rest" if spot.rest else ""))
    return site.path(spot.iri)


def _boxes(site: Site, lineage: Lineage, picture: Picture, address: Address, facts: Facts) -> dict[str, Box]:
    boxes: dict[str, Box] = {}
    for spot, node in picture.spots.items():
        key = _key(spot, site)
        if isinstance(spot, Group):
            boxes[key] = _group(site, spot, node, address, key)
        else:
            box = boxes.setdefault(key, _box(site, lineage, spot, address, facts, key))
            if spot.column:
                row = _row(site, address, spot, len(box.rows), facts, is_focus=spot == lineage.focus)
                box.rows.append(row)
            box.buttons += _buttons(site, node, spot, address)
    for box in boxes.values():
        box.height = _HEAD + ROW * len(box.rows) + (_FOOT if box.foot else 6 if box.rows else 0)
    return boxes


def _box(  # noqa: PLR0913, PLR0917 - a box, and where it is shown
    site: Site, lineage: Lineage, spot: LineageNode, address: Address, facts: Facts, key: str
) -> Box:
    label = lineage.labels[spot]
    name, kind = visible(label.name), visible(label.kind)
    split = label.name.rsplit("/", 1) if "://" in label.name.rstrip("/") else ["", label.name]
    *place, last = split if "://" in label.name else parts(label.name)
    classes = [_style_class(kind), "helper" if label.is_helper else ""]
    classes.append("focus" if spot.iri == lineage.focus.iri else "")
    classes.append("chosen" if address.chosen and spot.iri == address.chosen.iri else "")
    link = page_of(site, LineageNode(spot.iri))
    box = Box(
        key, name, cut(".".join(place), 30, from_left=True), cut(last, 26), kind, " ".join(filter(None, classes)), link
    )
    columns = facts.columns.get(spot.iri, ())
    is_open = spot.iri in address.columns and not spot.column
    if is_open:
        box.rows = [
            _row(site, address, LineageNode(spot.iri, column), number, facts)
            for number, (column, _) in enumerate(columns[:_MOST_COLUMNS])
        ]
    readers = facts.readers.get(spot.iri, 0)
    counts = [f"{readers:,} reader{'s' if readers != 1 else ''}"] if readers else []
    if not spot.column and columns:
        counts.insert(0, f"{'▴' if is_open else '▾'} {len(columns):,} column{'s' if len(columns) != 1 else ''}")
        box.unfold = href(address.unfolded(spot.iri), site)
    box.foot = " · ".join(counts)
    return box


def _row(  # noqa: PLR0913 - where a column is, and of what
    site: Site, address: Address, place: LineageNode, number: int, facts: Facts, *, is_focus: bool = False
) -> Row:
    marks = dict(facts.columns.get(place.iri, ())).get(place.column, "")
    y = _HEAD + ROW * number + ROW / 2
    return Row(place.column, cut(place.column, 27), y, href(address.of(place, site), site), visible(marks), is_focus)


def _group(site: Site, spot: Group, node: PictureNode, address: Address, key: str) -> Box:
    words = f"{node.size:,} {'more' if spot.rest else 'objects'}"
    opened = Opened(spot.direction, spot.of, spot.schema)
    link = page_of(site, spot.of) if spot.rest else href(address.toggled(opened), site)
    return Box(
        key, f"{words} in {visible(spot.schema)}", cut(spot.schema, 30, from_left=True), words, "", "group", link
    )


def _buttons(site: Site, node: PictureNode, spot: LineageNode, address: Address) -> Iterator[tuple[str, str, str, str]]:
    """The button that opens or closes the neighbours of a box, away from the focus."""
    direction = node.direction
    if direction is None or not (node.hidden or node.is_open):
        return
    of = "sources" if direction == "up" else "targets"
    if node.hidden:
        yield (
            direction,
            f"+{node.hidden:,}",
            href(address.toggled(Opened(direction, spot)), site),
            f"Show its {of} (+{node.hidden:,})",
        )
    else:
        yield direction, "−", href(address.toggled(Opened(direction, spot)), site), f"Hide its {of}"  # noqa: RUF001 - a minus


def _style_class(domain: str) -> str:
    words = domain.upper()
    return (
        "view" if "VIEW" in words or "STREAM" in words else "outside" if "STAGE" in words or "LOCATION" in words else ""
    )


def _visible_edges(
    lineage: Lineage, picture: Picture, address: Address, column_flows: ColumnFlows
) -> Iterator[tuple[Line, tuple[str, str], Flow | None]]:
    """Each edge, with the columns of its ends: between columns where they are shown and known, else between boxes."""
    by_boxes: dict[tuple[str, str], dict[tuple[str, str], Flow]] = defaultdict(dict)
    for (source, target), flow in column_flows.items():
        ends = (
            source.column if source.iri in address.columns else "",
            target.column if target.iri in address.columns else "",
        )
        if any(ends):
            by_boxes[source.iri, target.iri].setdefault(ends, flow)
    for line in picture.lines.values():
        if isinstance(line.source, Group) or isinstance(line.target, Group) or lineage.focus.column:
            yield (
                line,
                tuple("" if isinstance(spot, Group) else spot.column for spot in (line.source, line.target)),
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
    site: Site, address: Address, drawn: tuple[Line, tuple[str, str], Flow | None],
    boxes: Mapping[str, Box], layout: Layout, edge: tuple[int, int],
) -> Arrow:  # fmt: skip
    line, ends, flow = drawn
    source, target = boxes[_key(line.source, site)], boxes[_key(line.target, site)]
    is_back = layout.layer[edge[0]] > layout.layer[edge[1]]
    points = [(source.x + (0 if is_back else WIDTH), source.port(ends[0]))]
    for layer, y in layout.bends.get(edge, ()):
        left_edge = _MARGIN + layer * (WIDTH + _BETWEEN)
        passing = [(left_edge, y + _MARGIN), (left_edge + WIDTH, y + _MARGIN)]
        points += reversed(passing) if is_back else passing
    points.append((target.x + (WIDTH if is_back else 0), target.port(ends[1])))
    classes = [_CLASS[flow.evidence] if flow else "more"]
    classes += ["through"] if flow and flow.through else []
    opens = ""
    if isinstance(line.source, LineageNode) and isinstance(line.target, LineageNode):
        clicked_edge = edge_of(line.direction, line.source, line.target, ends if all(ends) else ("", ""))
        classes += ["chosen"] if address.edge == clicked_edge else []
        opens = href(replace(address, edge=clicked_edge, chosen=None), site) + "#moves"
    text = f"{source.full}{_of(ends[0])} → {target.full}{_of(ends[1])}"
    keys = (f"{source.key}|{ends[0]}", f"{target.key}|{ends[1]}")
    return Arrow(_path(points), " ".join(classes), f"{text}\n{flow_words(flow)}" if flow else text, opens, keys)


def edge_of(direction: Direction, source: LineageNode, target: LineageNode, ends: tuple[str, str] = ("", "")) -> Edge:
    """An edge from the place at which it was found. ``ends``: columns, if the ends are not columns themselves."""
    source, target = source._replace(column=source.column or ends[0]), target._replace(column=target.column or ends[1])
    return Edge(direction, target, source) if direction == "up" else Edge(direction, source, target)


def _of(column: str) -> str:
    return f".{visible(column)}" if column else ""


def flow_words(flow: Flow) -> str:
    """How often data moved, when, and by whom: the text of an edge."""
    if flow.evidence:
        since = f", seen from {time(flow.first)}" + (f" to {time(flow.last)}" if flow.last else "")
        return f"{_HOW[flow.evidence]}{since}"
    times = f"{flow.queries:,} queries, {time(flow.first)} to {time(flow.last)}" if flow.queries != 1 else (
        f"1 query, {time(flow.first)}"
    )  # fmt: skip
    by = f", by {cut(', '.join(flow.users), 80)}" if flow.users else ""
    return times + by + (f", through {', '.join(map(visible, flow.through))}" if flow.through else "")


def _path(points: list[tuple[float, float]]) -> str:
    """A curve through points: level at each of them, so that it passes a layer level."""
    (x, y), *others = points
    commands = [f"M{x:.0f} {y:.1f}"]
    for number, (next_x, next_y) in enumerate(others):
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
