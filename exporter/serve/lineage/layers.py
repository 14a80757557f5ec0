"""Boxes in layers from left to right, and the way of each edge around them.

The library decides the layer of each box, its place among the others, and where an edge passes the layers between its
ends (Sugiyama's method: few layers, few crossings). All its boxes have one size. Ours are as high as their columns, so
the heights are decided here: each box is as near to its neighbours as its own neighbours in the layer allow.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from fast_sugiyama import from_edges

Edge = tuple[int, int]
_GAP: Final = 22.0
"""Between two boxes of a layer."""
_BEND: Final = 12.0
"""The height of an edge that passes a layer."""
_ROUNDS: Final = 8


@dataclass
class Layout:
    """``layer`` and ``top`` of each box, by its number. ``bends``: for each edge, the layer and height at each layer
    between its ends, from the source on. ``layers``: how many there are; ``height``: of all.
    """

    layer: dict[int, int] = field(default_factory=dict)
    top: dict[int, float] = field(default_factory=dict)
    bends: dict[tuple[int, int], list[tuple[int, float]]] = field(default_factory=dict)
    layers: int = 0
    height: float = 0.0


def lay_out(heights: Sequence[float], edges: Sequence[Edge]) -> Layout:
    """The places of boxes with these heights, and of the edges between them (no edge leads from a box to itself)."""
    layout = Layout()
    forward = _without_circles(edges)
    for part in _connected(len(heights), forward.values()):
        # The library gives the numbers after these to bends.
        number = {vertex: position for position, vertex in enumerate(part)}
        numbered = sorted({(number[a], number[b]) for a, b in forward.values() if a in number})
        unconnected: list[Any] = [([(0, (0.0, 0.0))], 0, 0, [])]
        for positions, _, _, chains in from_edges(numbered, dummy_vertices=True) if numbered else unconnected:
            bends = {int(vertex): len(heights) + int(vertex) for vertex, _ in positions if int(vertex) >= len(part)}
            vertices = dict(enumerate(part)) | bends
            positions_of = {vertices[int(vertex)]: position for vertex, position in positions}
            _add(layout, heights, positions_of, [(vertices[int(a)], vertices[int(b)]) for a, b in chains or ()])
    for edge, ahead in forward.items():
        if edge != ahead:
            layout.bends[edge] = layout.bends[ahead][::-1]
    return layout


def _connected(boxes: int, edges: Iterable[Edge]) -> list[list[int]]:
    """The boxes of each connected part. The library takes one part at a time: of several it mixes up the bends."""
    parts: dict[int, set[int]] = {box: {box} for box in range(boxes)}
    for source, target in edges:
        if parts[source] is not (other := parts[target]):
            parts[source] |= other
            parts.update(dict.fromkeys(other, parts[source]))
    return sorted(sorted(part) for part in {id(part): part for part in parts.values()}.values())


def _without_circles(edges: Sequence[Edge]) -> dict[Edge, Edge]:
    """Each edge with the one in its place: the reverse where it closes a circle."""
    after: dict[int, list[int]] = defaultdict(list)
    for source, target in sorted(set(edges)):
        after[source].append(target)
    backwards, done = set[Edge](), set[int]()
    for start in sorted(after):
        path, waiting = [start], [iter(after[start])] if start not in done else []
        while waiting:
            target = next(waiting[-1], -1)
            if target < 0:
                done.add(path.pop())
                waiting.pop()
            elif target in path:
                backwards.add((path[-1], target))
            elif target not in done:
                path.append(target)
                waiting.append(iter(after[target]))
    return {(a, b): (b, a) if (a, b) in backwards else (a, b) for a, b in edges}


def _add(
    layout: Layout, heights: Sequence[float], positions: Mapping[int, tuple[float, float]], chains: list[Edge]
) -> None:
    """Adds a connected part below what is there. ``chains``: each edge, cut at the layers that it passes."""
    levels = {y: number for number, y in enumerate(sorted({y for _, y in positions.values()}, reverse=True))}
    order: list[list[int]] = [[] for _ in levels]
    for vertex, position in sorted(positions.items(), key=lambda item: (item[1][0], item[0])):
        order[levels[position[1]]].append(vertex)
    size = {vertex: heights[vertex] if vertex < len(heights) else _BEND for vertex in positions}
    middle = _middles(order, size, chains)
    shift = layout.height - min(middle[vertex] - size[vertex] / 2 for vertex in positions)
    for vertex in positions:
        if vertex < len(heights):
            layout.layer[vertex], layout.top[vertex] = (
                levels[positions[vertex][1]],
                middle[vertex] - size[vertex] / 2 + shift,
            )
    for ends, passed in _passed(chains, len(heights)).items():
        layout.bends[ends] = [(levels[positions[vertex][1]], middle[vertex] + shift) for vertex in passed]
    layout.layers = max(layout.layers, len(levels))
    layout.height = max(middle[vertex] + size[vertex] / 2 for vertex in positions) + shift + _GAP


def _passed(chains: list[Edge], real: int) -> dict[Edge, list[int]]:
    """Each edge with the bends that it passes. A bend has one edge in and one out."""
    after = dict(edge for edge in chains if edge[0] >= real)
    passed_by = {}
    for source, target in chains:
        if source < real:
            passed, vertex = [], target
            while vertex >= real:
                passed.append(vertex)
                vertex = after[vertex]
            passed_by[source, vertex] = passed
    return passed_by


def _middles(order: list[list[int]], size: Mapping[int, float], chains: list[Edge]) -> dict[int, float]:
    """The height of the middle of each box and bend."""
    neighbours: dict[int, list[int]] = defaultdict(list)
    for source, target in chains:
        neighbours[source].append(target)
        neighbours[target].append(source)
    middle = {vertex: float(position) for layer in order for position, vertex in enumerate(layer)}
    for layer in order:
        middle |= _apart(layer, size, [0.0] * len(layer))
    for round_ in range(_ROUNDS):
        for layer in order if round_ % 2 == 0 else reversed(order):
            wanted = [
                sum(middle[other] for other in neighbours[vertex]) / len(neighbours[vertex])
                if neighbours[vertex]
                else middle[vertex]
                for vertex in layer
            ]
            middle |= _apart(layer, size, wanted)
    return middle


def _apart(layer: list[int], size: Mapping[int, float], wanted: list[float]) -> dict[int, float]:
    """The heights nearest to the wanted ones (by least squares) at which the boxes of a layer are in their order and
    do not touch: neighbours that would touch are moved as one.
    """
    offsets, offset = [], 0.0
    for position, vertex in enumerate(layer):
        if position:
            gap = _GAP if size[vertex] > _BEND or size[layer[position - 1]] > _BEND else 2.0
            offset += (size[layer[position - 1]] + size[vertex]) / 2 + gap
        offsets.append(offset)
    blocks: list[tuple[float, int]] = []  # sum of what is wanted, number of boxes
    for position, wanted_middle in enumerate(wanted):
        blocks.append((wanted_middle - offsets[position], 1))
        while len(blocks) > 1 and blocks[-2][0] / blocks[-2][1] >= blocks[-1][0] / blocks[-1][1]:
            (total, number), (total_before, number_before) = blocks.pop(), blocks.pop()
            blocks.append((total + total_before, number + number_before))
    bases = [total / number for total, number in blocks for _ in range(number)]
    return {vertex: base + offset for vertex, base, offset in zip(layer, bases, offsets, strict=True)}
