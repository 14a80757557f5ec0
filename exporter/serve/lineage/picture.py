"""The visible part of a lineage: what the user opened, starting at the focus; many neighbours in groups."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from exporter.serve.lineage.flows import DIRECTIONS, Direction, Flow, Lineage, LineageNode, edge
from exporter.serve.tables import name_parts

MOST_SINGLE: Final = 12
"""The most neighbours that are shown one by one; if there are more, they are grouped by database and schema."""
MOST_OF_GROUP: Final = 30
"""The most members of a group in the picture; the table on the page of the object has all."""
MOST_AT_ONCE: Final = 40
"""With how many boxes in one direction no step but the first is opened by itself."""
MOST_BOXES: Final = 400
"""The most boxes of a picture."""
MOST_BEYOND: Final = 1_000
"""The most places without a box whose neighbours are read, for the tables."""


class Opened(NamedTuple):
    """What the user opened, or closed where it was open by itself: the sources (``up``) or targets (``down``) of a
    place; with ``group``, those of them in that schema.
    """

    direction: Direction
    place: LineageNode
    group: str = ""


@dataclass(frozen=True)
class Group:
    """The neighbours of a place in one schema. ``rest``: those of an opened group that are not shown."""

    direction: Direction
    of: LineageNode
    schema: str
    rest: bool = False


Spot = LineageNode | Group


@dataclass
class PictureNode:
    """A box of the picture. ``layer``: steps from the focus, negative for sources; ``hidden``: the number of its
    neighbours, away from the focus, that are not shown yet; ``is_open``: whether they are shown.
    """

    spot: Spot
    direction: Direction | None
    layer: int
    hidden: int = 0
    size: int = 1
    is_open: bool = False


@dataclass(frozen=True)
class PictureEdge:
    """An edge of the picture, in the direction of the data; ``flow`` is None where it leads to a group.
    ``direction``: in which direction from the focus it was found.
    """

    source: Spot
    target: Spot
    flow: Flow | None
    direction: Direction


@dataclass
class Picture:
    """The boxes by place or group, in the order in which they were reached, and the edges."""

    spots: dict[Spot, PictureNode] = field(default_factory=dict)
    lines: dict[tuple[Spot, Spot], PictureEdge] = field(default_factory=dict)

    def join(self, place: LineageNode, spot: Spot, flow: Flow | None, direction: Direction) -> None:
        """Adds an edge from a place to its source or target."""
        source, target = (spot, place) if direction == "up" else (place, spot)
        self.lines.setdefault((source, target), PictureEdge(source, target, flow, direction))


def picture(lineage: Lineage, opened: AbstractSet[Opened], steps: int = 1) -> Picture:
    """The visible part of a lineage: ``steps`` in each direction, as long as there are not too many boxes, and what was
    opened; without what was closed. The focus is always visible.
    """
    picture = Picture({lineage.focus: PictureNode(lineage.focus, None, 0, is_open=True)})
    for direction in DIRECTIONS:
        _walk(lineage, opened, steps, picture, direction)
    places = [spot for spot in picture.spots if isinstance(spot, LineageNode)]
    for direction in DIRECTIONS:
        lineage.load(direction, places)
    for place in places:
        _link(lineage, picture, picture.spots[place])
    return picture


def _walk(lineage: Lineage, opened: AbstractSet[Opened], steps: int, picture: Picture, direction: Direction) -> None:
    """Adds what can be reached in one direction through open places."""
    level, opened_by_steps, depth = [lineage.focus], {lineage.focus}, 0
    while level and len(picture.spots) < MOST_BOXES:
        lineage.load(direction, level)
        beyond = {
            other for place in level if place in opened_by_steps for other in lineage.neighbours(direction, place)
        }
        if depth >= max(1, steps) or (depth and len(opened_by_steps | beyond) > MOST_AT_ONCE):
            opened_by_steps.clear()
        following: list[LineageNode] = []
        for place in level:
            is_by_steps = place in opened_by_steps
            if depth and is_by_steps == (Opened(direction, place) in opened):
                continue
            picture.spots[place].is_open = bool(lineage.neighbours(direction, place))
            for spot in _add_neighbours(lineage, opened, picture, place, direction):
                following.append(spot)
                if is_by_steps:
                    opened_by_steps.add(spot)
        level, depth = following, depth + 1


def _add_neighbours(
    lineage: Lineage, opened: AbstractSet[Opened], picture: Picture, place: LineageNode, direction: Direction
) -> Iterator[LineageNode]:
    """Adds the neighbours of an open place; those that were not in the picture."""
    for spot, size in _shown(lineage, opened, place, direction):
        is_fresh = spot not in picture.spots
        if is_fresh:
            layer = picture.spots[place].layer + (-1 if direction == "up" else 1)
            picture.spots[spot] = PictureNode(spot, direction, layer, size=size)
        if isinstance(spot, Group):
            picture.join(place, spot, None, direction)
        elif is_fresh:
            yield spot


def _link(lineage: Lineage, picture: Picture, node: PictureNode) -> None:
    """Adds the edges of a place to all others in the picture, and counts its neighbours that are not shown."""
    assert isinstance(node.spot, LineageNode), "only places have neighbours"
    for direction in DIRECTIONS:
        for place, flow in lineage.neighbours(direction, node.spot).items():
            if place in picture.spots:
                picture.join(node.spot, place, flow, direction)
            elif direction == node.direction and not node.is_open:
                node.hidden += 1


def _shown(
    lineage: Lineage, opened: AbstractSet[Opened], place: LineageNode, direction: Direction
) -> Iterator[tuple[Spot, int]]:
    """The neighbours of an opened place, one by one or in groups; and how many each is."""
    ordered = sorted(lineage.neighbours(direction, place), key=lambda node: (lineage.labels[node].name, node))
    if len(ordered) <= MOST_SINGLE:
        yield from ((node, 1) for node in ordered)
        return
    schemas: dict[str, list[LineageNode]] = defaultdict(list)
    for node in ordered:
        schemas[schema(lineage.labels[node].name)].append(node)
    for name, members in schemas.items():
        if len(members) > 1 and Opened(direction, place, name) not in opened:
            yield Group(direction, place, name), len(members)
            continue
        yield from ((node, 1) for node in members[:MOST_OF_GROUP])
        if len(members) > MOST_OF_GROUP:
            yield Group(direction, place, name, rest=True), len(members) - MOST_OF_GROUP


@dataclass(frozen=True)
class Unseen:
    """What belongs to a lineage within the steps of its picture, and has no box in it. ``lines``: the edges to the
    members of groups, and those beyond them and beyond boxes that were not opened by themselves; ``beyond``: how many
    places these lead to, besides the members; ``is_whole``: false if there are more, which were not read.
    """

    lines: list[PictureEdge]
    beyond: int
    is_whole: bool


def unseen(lineage: Lineage, picture: Picture, opened: AbstractSet[Opened], steps: int) -> Unseen:
    """What a picture of this lineage has no box for. What the user closed is left out: that is what they asked for."""
    lines: list[PictureEdge] = []
    beyond, read, is_whole = set[LineageNode](), 0, True
    for direction in DIRECTIONS:
        levels = _not_opened(picture, opened, direction)
        members = dict[LineageNode, None]()
        for group in picture.spots:
            if isinstance(group, Group) and group.direction == direction:
                nodes = _folded(lineage, picture, group)
                lines += (PictureEdge(*edge(direction, group.of, node), flow, direction) for node, flow in nodes)
                levels[abs(picture.spots[group].layer)] += [node for node, _ in nodes if node not in members]
                members |= dict.fromkeys(node for node, _ in nodes)
        reached = {*picture.spots, *members}
        for depth in range(1, steps):
            level = levels[depth][: MOST_BEYOND - read]
            is_whole &= len(level) == len(levels[depth])
            read += len(level)
            lineage.load(direction, level)
            for place in level:
                for node, flow in _by_name(lineage, lineage.neighbours(direction, place)):
                    lines.append(PictureEdge(*edge(direction, place, node), flow, direction))
                    if node not in reached:
                        reached.add(node)
                        beyond.add(node)
                        levels[depth + 1].append(node)
    return Unseen(lines, len(beyond), is_whole)


def _not_opened(
    picture: Picture, opened: AbstractSet[Opened], direction: Direction
) -> defaultdict[int, list[LineageNode]]:
    """The boxes with neighbours that are not shown, by their steps from the focus, but for those that the user
    closed.
    """
    levels: defaultdict[int, list[LineageNode]] = defaultdict(list)
    for spot, node in picture.spots.items():
        is_closed = node.hidden and node.direction == direction and not node.is_open
        if is_closed and isinstance(spot, LineageNode) and Opened(direction, spot) not in opened:
            levels[abs(node.layer)].append(spot)
    return levels


def _folded(lineage: Lineage, picture: Picture, group: Group) -> list[tuple[LineageNode, Flow]]:
    """The members of a group that have no box of their own."""
    return [
        (node, flow)
        for node, flow in _by_name(lineage, lineage.neighbours(group.direction, group.of))
        if node not in picture.spots and schema(lineage.labels[node].name) == group.schema
    ]


def _by_name(lineage: Lineage, nodes: Mapping[LineageNode, Flow]) -> list[tuple[LineageNode, Flow]]:
    return sorted(nodes.items(), key=lambda item: (lineage.labels[item[0]].name, item[0]))


def schema(name: str) -> str:
    """The database and schema of a name; the whole name where it has none.

    >>> schema("DB.S.T"), schema('DB."a.b".T'), schema("s3://bucket/a.csv")
    ('DB.S', 'DB."a.b"', 's3://bucket')
    """
    if "://" in name:
        return "/".join(name.split("/")[:3])
    return ".".join(name_parts(name)[:-1]) or name
