"""An answer as text: a table for people, CSV for spreadsheets, JSON for programs."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from exporter.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

Row = tuple[str | None, ...]


@dataclass(frozen=True)
class Answer:
    """``rows``: None where nothing is known; ``notes``: what else to tell the person, such as a limit that cut."""

    columns: tuple[str, ...]
    rows: list[Row]
    notes: list[str] = field(default_factory=list)


def render(answer: Answer, fmt: str) -> str:
    """``answer`` in one of :data:`FORMATS`, ending in a newline."""
    if fmt not in FORMATS:
        raise UsageError(f"There is no format {fmt}. There are: {', '.join(FORMATS)}.")
    return FORMATS[fmt](answer)


def _table(answer: Answer) -> str:
    """Columns side by side; nothing where nothing is known. Control characters are shown, not obeyed."""
    rows = [answer.columns, *(tuple(_visible(cell or "") for cell in row) for row in answer.rows)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(answer.columns))]
    header, *body = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)
    lines = [header, "  ".join("-" * width for width in widths), *body, _counted(len(answer.rows))]
    return "".join(f"{line.rstrip()}\n" for line in lines)


def _csv(answer: Answer) -> str:
    """With a header (RFC 4180, but for newlines alone at the ends of lines); an empty cell where nothing is known."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerows([answer.columns, *answer.rows])
    return text.getvalue()


def _json(answer: Answer) -> str:
    """An array of objects, the columns' names as keys; null where nothing is known."""
    rows = [dict(zip(answer.columns, row, strict=True)) for row in answer.rows]
    return f"{json.dumps(rows, ensure_ascii=False, indent=2)}\n"


FORMATS: Final[Mapping[str, Callable[[Answer], str]]] = {"table": _table, "csv": _csv, "json": _json}


def _visible(cell: str) -> str:
    return "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in cell)


def _counted(rows: int) -> str:
    return "(1 row)" if rows == 1 else f"({rows} rows)"
