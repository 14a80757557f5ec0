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
    """An answer as a table. A cell is None where nothing is bound; ``notes``: what else the person has to know, for
    example that a limit cut the rows.
    """

    columns: tuple[str, ...]
    rows: list[Row]
    notes: list[str] = field(default_factory=list)


def render(answer: Answer, fmt: str) -> str:
    """``answer`` in one of :data:`FORMATS`, with a newline at the end."""
    if fmt not in FORMATS:
        raise UsageError(f"There is no format {fmt}. There are: {', '.join(FORMATS)}.")
    return FORMATS[fmt](answer)


def _table(answer: Answer) -> str:
    """Columns side by side; cells are empty where nothing is bound. Control characters become visible characters."""
    rows = [answer.columns, *(tuple(visible(cell or "") for cell in row) for row in answer.rows)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(answer.columns))]
    header, *body = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)
    lines = [header, "  ".join("-" * width for width in widths), *body, _counted(len(answer.rows))]
    return "".join(f"{line.rstrip()}\n" for line in lines)


def _csv(answer: Answer) -> str:
    """CSV with a header (RFC 4180, but lines end in a newline alone). A cell is empty where nothing is bound.

    Spreadsheets run a cell that begins like a formula, and names can begin so. Such a cell gets a ``'`` in front, which
    spreadsheets take as the mark of a text. So does a cell of ``'`` and then a formula. To get the original back,
    remove one ``'`` where it stands before ``'``, ``=``, ``+``, ``-``, ``@``, a tab or a carriage return. Numbers are
    unchanged.
    """
    lines = ([_csv_cell(cell or "") for cell in row] for row in (answer.columns, *answer.rows))
    return "".join(f"{','.join(line)}\n" for line in lines)


_is_like_a_formula: Final = re.compile(r"'*[=+\-@\t\r\uFF1D\uFF0B\uFF0D\uFF20]").match
_is_number: Final = re.compile(r"[+-]?\d+(\.\d+)?([eE][+-]?\d+)?", re.ASCII).fullmatch
_breaks_a_cell: Final = re.compile(r"[,;|\t\r\n\"]").search
"""Characters that programs take for the end of a cell without quotes: some split cells at others than commas."""


def _csv_cell(text: str) -> str:
    if _is_like_a_formula(text) and not _is_number(text):
        text = f"'{text}"
    return '"' + text.replace('"', '""') + '"' if _breaks_a_cell(text) else text


def _json(answer: Answer) -> str:
    """An array of objects, with the names of columns as keys and null where nothing is bound. Control characters for
    terminals are escaped, which changes no value.
    """
    rows = [dict(zip(answer.columns, row, strict=True)) for row in answer.rows]
    return f"{in_json(json.dumps(rows, ensure_ascii=False, indent=2))}\n"


FORMATS: Final[Mapping[str, Callable[[Answer], str]]] = {"table": _table, "csv": _csv, "json": _json}


def _counted(rows: int) -> str:
    return "(1 row)" if rows == 1 else f"({rows} rows)"
