"""A plot as SVG: rows a second by number of rows, both on logarithmic scales."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final
from xml.sax.saxutils import escape

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from benchmarks.parts import Point

WIDTH, HEIGHT = 720, 400
LEFT, RIGHT, TOP, BOTTOM = 80, 110, 40, 50
SERIES: Final = {"copy": ("#4477aa", "Spark copy"), "export": ("#117733", "export"), "loop": ("#aa3377", "rdflib loop")}
"""Colours that everybody can distinguish, and the labels of the lines."""
_STEPS: Final = (1, 2, 5)
_SVG: Final = (
    f'xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
    'font-family="sans-serif" font-size="13"'
)


class Axis:
    """Converts values to positions on a logarithmic scale."""

    def __init__(self, values: Iterable[float], start: float, end: float) -> None:
        logs = [math.log10(value) for value in values]
        self.least, self.most = min(logs) - 0.15, max(logs) + 0.15
        self._start, self._end = start, end

    def place(self, value: float) -> float:
        part = (math.log10(value) - self.least) / (self.most - self.least)
        return round(self._start + part * (self._end - self._start), 1)

    def ticks(self) -> list[int]:
        """1, 2, 5, 10 …; only powers of ten if these would be too many."""
        exponents = range(math.floor(self.least), math.ceil(self.most) + 1)
        within = [
            step * 10**exponent
            for exponent in exponents
            if exponent >= 0
            for step in _STEPS
            if self.least <= math.log10(step * 10**exponent) <= self.most
        ]
        powers = [tick for tick in within if math.log10(tick).is_integer()]
        return powers if len(powers) > 2 else within


def svg(points: Sequence[Point]) -> str:
    """The points of each program, with a line between them."""
    across = Axis([rows for _, rows, _ in points], LEFT, WIDTH - RIGHT)
    up = Axis([rate for _, _, rate in points], HEIGHT - BOTTOM, TOP)
    parts = [*_grid(across, up, {rows for _, rows, _ in points})]
    for name, (colour, words) in SERIES.items():
        own = sorted((rows, rate) for program, rows, rate in points if program == name)
        parts += _series([(across.place(rows), up.place(rate), f"{rate:,.0f}") for rows, rate in own], colour, words)
    title = "Rows a second by rows: Spark copy, export, rdflib loop; whole processes"
    return "\n".join(
        [
            f"<svg {_SVG}>",
            f"<title>{escape(title)}</title>",
            f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>',
            *parts,
            "</svg>\n",
        ]
    )


def _grid(across: Axis, up: Axis, sizes: Iterable[int]) -> Iterable[str]:
    bottom, end = HEIGHT - BOTTOM, WIDTH - RIGHT
    for tick in up.ticks():
        y = up.place(tick)
        yield f'<path d="M{LEFT} {y}H{end}" stroke="#ddd"/>'
        yield _text(LEFT - 8, y + 4, f"{tick:,}", "end")
    for size in sorted(sizes):
        x = across.place(size)
        yield f'<path d="M{x} {TOP}V{bottom}" stroke="#ddd"/>'
        yield _text(x, bottom + 18, f"{size:,}", "middle")
    yield _text(LEFT, TOP - 16, "rows a second, whole process", "start")
    yield _text((LEFT + end) / 2, HEIGHT - 10, "rows", "middle")


def _series(places: list[tuple[float, float, str]], colour: str, words: str) -> Iterable[str]:
    if places:
        line = " ".join(f"{x},{y}" for x, y, _ in places)
        yield f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2"/>'
        for x, y, rate in places:
            yield f'<circle cx="{x}" cy="{y}" r="4" fill="{colour}"/>'
            yield _text(x, y - 9, rate, "middle", colour)
        x, y, _ = places[-1]
        yield _text(x + 10, y + 4, words, "start", colour)


def _text(x: float, y: float, words: str, anchor: str, colour: str = "#333") -> str:
    return f'<text x="{x}" y="{y}" text-anchor="{anchor}" fill="{colour}">{escape(words)}</text>'
