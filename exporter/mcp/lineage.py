"""The tool ``lineage``: from where data came to an object or column, and where it went, step by step."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from datetime import date
from typing import TYPE_CHECKING, Final

from exporter.ask.answers import Answer
from exporter.errors import UsageError
from exporter.mcp.lookups import OBJECT, object_json, requested_object
from exporter.mcp.tool import OF_ROWS, Arguments, Json, Tool, paging, text
from exporter.serve.lineage.flows import Direction, Flow, Lineage, LineageNode, edge, read_lineage
from exporter.serve.site import SiteObject

if TYPE_CHECKING:
    from exporter.mcp.graph import OpenGraph

_COLUMNS: Final = (
    *("direction", "step", "source_name", "source_column", "target_name", "target_column"),
    *("queries", "first_time", "last_time", "evidence"),
)
_DIRECTIONS: Final[Mapping[str, tuple[Direction, ...]]] = {
    "upstream": ("up",),
    "downstream": ("down",),
    "both": ("up", "down"),
}
_MOST_STEPS: Final = 10
_MOST_PLACES: Final = 200
"""The most places whose neighbours are read."""


def _answer(graph: OpenGraph, arguments: Arguments) -> Json:
    steps = arguments.number("steps", 1, 1, _MOST_STEPS)
    requested = arguments.text("direction") or "both"
    if requested not in _DIRECTIONS:
        raise UsageError(f"direction: write one of {', '.join(_DIRECTIONS)}.")
    thing, _ = requested_object(graph, arguments)
    found_lineage = read_lineage(graph.site, thing, _column(graph, thing, arguments), _day(arguments.text("at")))
    notes = list[str]()
    rows = [row for direction in _DIRECTIONS[requested] for row in _edges(found_lineage, direction, steps, notes)]
    notes += found_lineage.notes
    if not rows and not notes:
        notes.append("No row shows that data came to it or went from it.")
    return {"object": object_json(thing), **graph.table(Answer(_COLUMNS, rows), notes, arguments)}


def _column(graph: OpenGraph, thing: SiteObject, arguments: Arguments) -> str:
    """The column as the graph spells it; empty where none is asked for. Raises UsageError where there is none."""
    requested = arguments.text("column_name")
    if requested is None:
        return ""
    spelling, _ = graph.site.column_of(thing, requested)
    if spelling is None:
        raise UsageError(f"The object has no column {requested} on record. The tool object lists its columns.")
    return spelling


def _day(value: str | None) -> date | None:
    try:
        return None if value is None else date.fromisoformat(value)
    except ValueError:
        raise UsageError("at: write a day such as 2026-09-30.") from None


def _edges(lineage: Lineage, direction: Direction, steps: int, notes: list[str]) -> Iterator[tuple[str | None, ...]]:
    """A row for each step that data took, the nearest first; each once."""
    waiting, reached, read = deque([(lineage.focus, 1)]), {lineage.focus}, 0
    while waiting:
        place, step = waiting.popleft()
        if read == _MOST_PLACES:
            notes.append(
                f"The answer has the steps of the first {_MOST_PLACES} places alone; begin at one of the last."
            )
            return
        read += 1
        for other, flow in sorted(
            lineage.neighbours(direction, place).items(), key=lambda neighbour: _name(lineage, neighbour[0])
        ):
            yield _row(lineage, direction, step, edge(direction, place, other), flow)
            if other not in reached and step < steps:
                reached.add(other)
                waiting.append((other, step + 1))


def _name(lineage: Lineage, place: LineageNode) -> tuple[str, str]:
    return lineage.labels[place].name, place.column


def _row(
    lineage: Lineage, direction: Direction, step: int, ends: tuple[LineageNode, LineageNode], flow: Flow
) -> tuple[str | None, ...]:
    (source, source_column), (target, target_column) = (_name(lineage, place) for place in ends)
    word = "upstream" if direction == "up" else "downstream"
    queries = None if flow.evidence else str(flow.queries)
    cells = (source, source_column, target, target_column, queries, flow.first, flow.last, flow.evidence)
    return word, str(step), *(cell or None for cell in cells)


LINEAGE: Final = Tool(
    "lineage",
    "Lineage",
    "From where did data come to an object or a column, and where did it go, step by step? A row is a step: queries "
    "moved data from source to target, how many, when first and last; or evidence CERTAIN or POSSIBLE where a view or "
    "stream shows data and no query moved it. root-cause and lineage-as-of go back to the first sources, end-up to all "
    "places where data ended up; this tool shows what is between.",
    {
        **OBJECT,
        "column_name": text("The lineage of this column alone."),
        "direction": {**text("Where to look; both if not given."), "enum": list(_DIRECTIONS)},
        "steps": {
            "type": "integer", "minimum": 1, "maximum": _MOST_STEPS,
            "description": "How many steps to follow (1 if not given).",
        },
        "at": text("As of the end of this day, such as 2026-09-30 (UTC); the whole record if not given."),
        **paging(),
    },
    (), {**OF_ROWS, "properties": {"object": {"type": "object"}, **OF_ROWS["properties"]}}, _answer,
)  # fmt: skip
