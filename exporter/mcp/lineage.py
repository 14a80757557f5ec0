"""The tool ``lineage``: from where data came to an object or column, and where it went, step by step."""

from __future__ import annotations

from collections import deque
from datetime import date
from typing import TYPE_CHECKING, Final

from exporter.ask.answers import Answer
from exporter.errors import UsageError
from exporter.mcp.answers import OF_ROWS
from exporter.mcp.lookups import OBJECT, shown, the_object
from exporter.mcp.tool import Tool, paging, text
from exporter.serve.lineage.flows import Flow, Lineage, LineageNode, Way, lineage

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from exporter.mcp.answers import Json
    from exporter.mcp.graph import OpenGraph
    from exporter.mcp.tool import Arguments

_COLUMNS: Final = (
    *("direction", "step", "source_name", "source_column", "target_name", "target_column"),
    *("queries", "first_time", "last_time", "evidence"),
)
_WAYS: Final[Mapping[str, tuple[Way, ...]]] = {"upstream": ("up",), "downstream": ("down",), "both": ("up", "down")}
_MOST_STEPS: Final = 10
_MOST_PLACES: Final = 200
"""The most places whose neighbours are read."""


def _answer(graph: OpenGraph, arguments: Arguments) -> Json:
    limit, offset = arguments.paging()
    steps = arguments.number("steps", 1, 1, _MOST_STEPS)
    way = arguments.text("direction") or "both"
    if way not in _WAYS:
        raise UsageError(f"direction: write one of {', '.join(_WAYS)}.")
    thing, _ = the_object(graph, arguments)
    made = lineage(graph.site, thing, _column(graph, thing.iri, arguments), _day(arguments.text("at")))
    notes = list[str]()
    rows = [row for one in _WAYS[way] for row in _edges(made, one, steps, notes)]
    notes += made.notes
    if not rows and not notes:
        notes.append("No row shows that data came to it or went from it.")
    table = graph.table(Answer(_COLUMNS, rows), limit, offset, [*notes, *graph.notes()], arguments, is_all=True)
    return {"object": shown(thing), **table}


def _column(graph: OpenGraph, iri: str, arguments: Arguments) -> str:
    """The column as the graph spells it; empty where none is asked for. Raises UsageError where there is none."""
    wanted = arguments.text("column_name")
    if wanted is None:
        return ""
    columns = [row["column_name"] or "" for row in graph.site.rows("page-columns", {"object": iri}, 10_000)]
    alike = [one for one in columns if one == wanted] or [one for one in columns if one.upper() == wanted.upper()]
    if not alike:
        raise UsageError(f"The object has no column {wanted} on record. The tool object lists its columns.")
    return alike[0]


def _day(value: str | None) -> date | None:
    try:
        return None if value is None else date.fromisoformat(value)
    except ValueError:
        raise UsageError("at: write a day such as 2026-09-30.") from None


def _edges(made: Lineage, way: Way, steps: int, notes: list[str]) -> Iterator[tuple[str | None, ...]]:
    """A row for each step that data took, the nearest first; each once."""
    waiting, reached, read = deque([(made.focus, 1)]), {made.focus}, 0
    while waiting:
        place, step = waiting.popleft()
        if read == _MOST_PLACES:
            notes.append(
                f"The answer has the steps of the first {_MOST_PLACES} places alone; begin at one of the last."
            )
            return
        read += 1
        for other, flow in sorted(made.neighbours(way, place).items(), key=lambda one: _name(made, one[0])):
            yield _row(made, way, step, (other, place) if way == "up" else (place, other), flow)
            if other not in reached and step < steps:
                reached.add(other)
                waiting.append((other, step + 1))


def _name(made: Lineage, place: LineageNode) -> tuple[str, str]:
    return made.named[place].name, place.column


def _row(
    made: Lineage, way: Way, step: int, ends: tuple[LineageNode, LineageNode], flow: Flow
) -> tuple[str | None, ...]:
    (source, source_column), (target, target_column) = (_name(made, place) for place in ends)
    direction = "upstream" if way == "up" else "downstream"
    queries = None if flow.evidence else str(flow.queries)
    cells = (source, source_column, target, target_column, queries, flow.first, flow.last, flow.evidence)
    return direction, str(step), *(cell or None for cell in cells)


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
        "direction": {**text("Where to look; both if not given."), "enum": list(_WAYS)},
        "steps": {
            "type": "integer", "minimum": 1, "maximum": _MOST_STEPS,
            "description": "How many steps to follow (1 if not given).",
        },
        "at": text("As of the end of this day, such as 2026-09-30 (UTC); the whole record if not given."),
        **paging(),
    },
    (), {**OF_ROWS, "properties": {"object": {"type": "object"}, **OF_ROWS["properties"]}}, _answer,
)  # fmt: skip
