"""The visible part of a lineage: what the user opened, starting at the focus, in layers; many neighbours in groups."""

from __future__ import annotations

from collections import defaultdict, deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from exporter.serve.lineage.edges import Place, Way

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from collections.abc import Set as AbstractSet

    from exporter.serve.lineage.edges import Flow, Lineage

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
    place: Place
    group: str = ""


@dataclass(frozen=True)
class Group:
    """The neighbours of a place in one schema. ``rest``: those of an opened group that are not shown."""

    way: Way
    of: Place
    schema: str
    rest: bool = False


Spot = Place | Group


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

    def join(self, place: Place, spot: Spot, flow: Flow | None, way: Way) -> None:
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
                if isinstance(spot, Place):
                    waiting.append(spot)
            if isinstance(spot, Group):
                made.join(place, spot, None, way)


def _link(lineage: Lineage, opened: AbstractSet[Opened], made: Picture, seen: Seen) -> None:
    """Adds the edges of a place to all others in the picture, and counts its neighbours that are not shown."""
    if isinstance(seen.spot, Group):
        return
    for way in _WAYS:
        for one, flow in lineage.neighbours(way, seen.spot).items():
            if one in made.spots:
                made.join(seen.spot, one, flow, way)
            elif way == seen.way and Opened(seen.way, seen.spot) not in opened:
                seen.hidden += 1


def _shown(
    lineage: Lineage, opened: AbstractSet[Opened], place: Place, neighbours: Mapping[Place, Flow], way: Way
) -> Iterator[Spot]:
    """The neighbours of an opened place, one by one or in groups."""
    ordered = sorted(neighbours, key=lambda one: (lineage.named[one].name, one))
    if len(ordered) <= MOST_SINGLE:
        yield from ordered
        return
    schemas: dict[str, list[Place]] = defaultdict(list)
    for one in ordered:
        schemas[schema(lineage.named[one].name)].append(one)
    for name, members in schemas.items():
        if len(members) == 1 or Opened(way, place, name) in opened:
            yield from members[:MOST_OF_GROUP]
            if len(members) > MOST_OF_GROUP:
                yield Group(way, place, name, rest=True)
        else:
            yield Group(way, place, name)


def _size(lineage: Lineage, neighbours: Mapping[Place, Flow], spot: Spot) -> int:
    if isinstance(spot, Place):
        return 1
    members = sum(1 for one in neighbours if schema(lineage.named[one].name) == spot.schema)
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
