"""An answer as text: a table for people, CSV for spreadsheets, JSON for programs."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from exporter.errors import UsageError
from exporter.printable import in_json, visible

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
    rows = [answer.columns, *(tuple(visible(cell or "") for cell in row) for row in answer.rows)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(answer.columns))]
    header, *body = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)
    lines = [header, "  ".join("-" * width for width in widths), *body, _counted(len(answer.rows))]
    return "".join(f"{line.rstrip()}\n" for line in lines)


def _csv(answer: Answer) -> str:
    """With a header (RFC 4180, but for newlines alone at the ends of lines); an empty cell where nothing is known.

    Spreadsheets run a cell that begins like a formula, and names can begin so: such a cell gets a ``'`` before it,
    which spreadsheets take as the mark of a text. So does one that begins with ``'`` and then like a formula: whoever
    takes one ``'`` away before ``'``, ``=``, ``+``, ``-``, ``@``, a tab or a carriage return has what the graph says.
    Numbers stay as they are.
    """
    lines = ([_csv_cell(cell or "") for cell in row] for row in (answer.columns, *answer.rows))
    return "".join(f"{','.join(line)}\n" for line in lines)


_is_like_a_formula: Final = re.compile(r"'*[=+\-@\t\r\uFF1D\uFF0B\uFF0D\uFF20]").match
_is_number: Final = re.compile(r"[+-]?\d+(\.\d+)?([eE][+-]?\d+)?", re.ASCII).fullmatch
_breaks_a_cell: Final = re.compile(r"[,;|\t\r\n\"]").search
"""What programs take for the end of a cell that has no quotes: some part cells at other marks than commas."""


def _csv_cell(text: str) -> str:
    if _is_like_a_formula(text) and not _is_number(text):
        text = f"'{text}"
    return '"' + text.replace('"', '""') + '"' if _breaks_a_cell(text) else text


def _json(answer: Answer) -> str:
    """An array of objects, the columns' names as keys; null where nothing is known. What a terminal would obey is
    escaped, which changes no value.
    """
    rows = [dict(zip(answer.columns, row, strict=True)) for row in answer.rows]
    return f"{in_json(json.dumps(rows, ensure_ascii=False, indent=2))}\n"


FORMATS: Final[Mapping[str, Callable[[Answer], str]]] = {"table": _table, "csv": _csv, "json": _json}


def _counted(rows: int) -> str:
    return "(1 row)" if rows == 1 else f"({rows} rows)"
