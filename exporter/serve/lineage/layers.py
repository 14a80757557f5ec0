"""Boxes in layers from left to right, and the way of each edge around them.

The library decides the layer of each box, its place among the others, and where an edge passes the layers between its
ends (Sugiyama's method: few layers, few crossings). All its boxes have one size. Ours are as high as their columns, so
the heights are decided here: each box is as near to its neighbours as its own neighbours in the layer allow.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from fast_sugiyama import from_edges

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

Edge = tuple[int, int]
_GAP: Final = 22.0
"""Between two boxes of a layer."""
_BEND: Final = 12.0
"""The height of an edge that passes a layer."""
_ROUNDS: Final = 8


@dataclass
class Laid:
    """``layer`` and ``top`` of each box, by its number. ``bends``: for each edge, the layer and height at each layer
    between its ends, from the source on. ``layers``: how many there are; ``height``: of all.
    """

    layer: dict[int, int] = field(default_factory=dict)
    top: dict[int, float] = field(default_factory=dict)
    bends: dict[tuple[int, int], list[tuple[int, float]]] = field(default_factory=dict)
    layers: int = 0
    height: float = 0.0


def laid(heights: Sequence[float], edges: Sequence[Edge]) -> Laid:
    """The places of boxes with these heights, and of the edges between them (no edge leads from a box to itself)."""
    made = Laid()
    forward = _without_circles(edges)
    for part in _connected(len(heights), forward.values()):
        number = {one: place for place, one in enumerate(part)}  # the library gives the numbers after these to bends
        numbered = sorted({(number[a], number[b]) for a, b in forward.values() if a in number})
        alone: list[Any] = [([(0, (0.0, 0.0))], 0, 0, [])]
        for positions, _, _, chains in from_edges(numbered, dummy_vertices=True) if numbered else alone:
            bends = {int(one): len(heights) + int(one) for one, _ in positions if int(one) >= len(part)}
            every = dict(enumerate(part)) | bends
            at = {every[int(one)]: place for one, place in positions}
            _add(made, heights, at, [(every[int(a)], every[int(b)]) for a, b in chains or ()])
    for edge, ahead in forward.items():
        if edge != ahead:
            made.bends[edge] = made.bends[ahead][::-1]
    return made


def _connected(boxes: int, edges: Iterable[Edge]) -> list[list[int]]:
    """The boxes of each connected part. The library takes one part at a time: of several it mixes up the bends."""
    beside: dict[int, set[int]] = {one: {one} for one in range(boxes)}
    for source, target in edges:
        if beside[source] is not (other := beside[target]):
            beside[source] |= other
            beside.update(dict.fromkeys(other, beside[source]))
    return sorted(sorted(part) for part in {id(part): part for part in beside.values()}.values())


def _without_circles(edges: Sequence[Edge]) -> dict[Edge, Edge]:
    """Each edge with the one in its place: the reverse where it closes a circle."""
    after: dict[int, list[int]] = defaultdict(list)
    for source, target in sorted(set(edges)):
        after[source].append(target)
    backwards, done = set[Edge](), set[int]()
    for start in sorted(after):
        way, left = [start], [iter(after[start])] if start not in done else []
        while left:
            target = next(left[-1], -1)
            if target < 0:
                done.add(way.pop())
                left.pop()
            elif target in way:
                backwards.add((way[-1], target))
            elif target not in done:
                way.append(target)
                left.append(iter(after[target]))
    return {(a, b): (b, a) if (a, b) in backwards else (a, b) for a, b in edges}


def _add(
    made: Laid, heights: Sequence[float], positions: Mapping[int, tuple[float, float]], chains: list[Edge]
) -> None:
    """Adds a connected part below what is there. ``chains``: each edge, cut at the layers that it passes."""
    levels = {y: number for number, y in enumerate(sorted({y for _, y in positions.values()}, reverse=True))}
    order: list[list[int]] = [[] for _ in levels]
    for one, at in sorted(positions.items(), key=lambda item: (item[1][0], item[0])):
        order[levels[at[1]]].append(one)
    size = {one: heights[one] if one < len(heights) else _BEND for one in positions}
    middle = _middles(order, size, chains)
    up = made.height - min(middle[one] - size[one] / 2 for one in positions)
    for one in positions:
        if one < len(heights):
            made.layer[one], made.top[one] = levels[positions[one][1]], middle[one] - size[one] / 2 + up
    for ends, passed in _passed(chains, len(heights)).items():
        made.bends[ends] = [(levels[positions[one][1]], middle[one] + up) for one in passed]
    made.layers = max(made.layers, len(levels))
    made.height = max(middle[one] + size[one] / 2 for one in positions) + up + _GAP


def _passed(chains: list[Edge], real: int) -> dict[Edge, list[int]]:
    """Each edge with the bends that it passes. A bend has one edge in and one out."""
    after = dict(edge for edge in chains if edge[0] >= real)
    found = {}
    for source, target in chains:
        if source < real:
            passed, one = [], target
            while one >= real:
                passed.append(one)
                one = after[one]
            found[source, one] = passed
    return found


def _middles(order: list[list[int]], size: Mapping[int, float], chains: list[Edge]) -> dict[int, float]:
    """The height of the middle of each box and bend."""
    beside: dict[int, list[int]] = defaultdict(list)
    for source, target in chains:
        beside[source].append(target)
        beside[target].append(source)
    middle = {one: float(place) for layer in order for place, one in enumerate(layer)}
    for layer in order:
        middle |= _apart(layer, size, [0.0] * len(layer))
    for round_ in range(_ROUNDS):
        for layer in order if round_ % 2 == 0 else reversed(order):
            wanted = [
                sum(middle[other] for other in beside[one]) / len(beside[one]) if beside[one] else middle[one]
                for one in layer
            ]
            middle |= _apart(layer, size, wanted)
    return middle


def _apart(layer: list[int], size: Mapping[int, float], wanted: list[float]) -> dict[int, float]:
    """The heights nearest to the wanted ones (by least squares) at which the boxes of a layer are in their order and
    do not touch: neighbours that would are moved as one.
    """
    offsets, offset = [], 0.0
    for place, one in enumerate(layer):
        if place:
            gap = _GAP if size[one] > _BEND or size[layer[place - 1]] > _BEND else 2.0
            offset += (size[layer[place - 1]] + size[one]) / 2 + gap
        offsets.append(offset)
    blocks: list[tuple[float, int]] = []  # sum of what is wanted, number of boxes
    for place, want in enumerate(wanted):
        blocks.append((want - offsets[place], 1))
        while len(blocks) > 1 and blocks[-2][0] / blocks[-2][1] >= blocks[-1][0] / blocks[-1][1]:
            (total, number), (before, others) = blocks.pop(), blocks.pop()
            blocks.append((total + before, number + others))
    bases = [total / number for total, number in blocks for _ in range(number)]
    return {one: base + offset for one, base, offset in zip(layer, bases, offsets, strict=True)}
