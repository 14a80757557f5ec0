"""The page of results, ``docs/benchmarks.md``: one part for each part of the benchmark, each measured when it was.

A part stands between two comments, the first of which holds the points of the plot; parts that are not measured anew
stay as they are.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final

from benchmarks.memory import KINDS, PYTHON
from benchmarks.parts import PARTS, Point

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.measured import Result
    from benchmarks.parts import Section

_HEAD: Final = """\
# How fast

`python -m benchmarks.run` measures everything here and writes this page; each part says which command made it, and on
which machine. The rows are made by `benchmarks/generate.py`: about 2 KB each, from an account that grows with them.

- *export*: `exporter export` with all its outputs that are made without being asked for, events and graph, everything
  validated.
- *copy*: Spark reads the text of the same rows and writes it back, and does nothing else.
- *loop*: what a competent person writes first, a loop over the rows with rdflib that writes the same model in outline
  as N-Triples (`benchmarks/rdflib_loop.py`): no events, no shapes, no history of names. It is run on the first rows
  alone, and its time for all is its start once and the rest in proportion.

Seconds: *whole* is a process from its start to its end; *net* what it counts by itself, for the export the total of its
`report.json` without the start of the session. Memory is that of all processes of a program together, at the half
second when it was most: proportional set size (PSS), in MB of a million bytes.

![rows a second, by rows](benchmarks.svg)
"""
_PART: Final = re.compile(r"<!-- part (\w+) (\[.*?\]) -->\n(.*?)<!-- end \1 -->\n", re.DOTALL)


def parts_of(page: str) -> dict[str, tuple[list[Point], str]]:
    """The parts of a page: their points and their text."""
    return {name: ([(p, r, s) for p, r, s in json.loads(points)], body) for name, points, body in _PART.findall(page)}


def with_parts(page: str, measured: dict[str, tuple[list[Point], str]]) -> str:
    """The page with these parts in place of older ones, in the order of the benchmark."""
    every = {**parts_of(page), **measured}
    made = [
        f"<!-- part {name} {json.dumps(every[name][0])} -->\n{every[name][1]}<!-- end {name} -->\n"
        for name in _in_order(every)
    ]
    return "\n".join([_HEAD, *made])


def _in_order(names: dict[str, tuple[list[Point], str]]) -> list[str]:
    return [name for name in PARTS if name in names]


def text(section: Section, machine: str, command: str) -> str:
    """A part as Markdown."""
    figures = [
        "| | asked | aim | seen |",
        "|---|---|---|---|",
        *(figure.line() for figure in section.figures),
    ]
    made = f"Measured by `{command}`: {machine}."
    return "\n".join(
        [f"## {section.title}\n", f"{section.words}\n", *figures, "", *_table(section.results), f"\n{made}\n"]
    )


def _table(results: Sequence[Result]) -> list[str]:
    memory = [kind.replace(PYTHON, "Python driver") if kind == PYTHON else kind for kind in KINDS]
    head = ["", "rows", "whole, s", "net, s", "rows/s", "MB", *(f"MB: {kind}" for kind in memory)]
    rule = "|".join(["---", *["---:"] * (len(head) - 1)])
    return [f"| {' | '.join(head).strip()} |", f"|{rule}|", *map(_line, results)]


def _line(result: Result) -> str:
    whole, peak = number(result.whole), result.peak
    if len(result.runs) > 1:
        every = [run.whole for run in result.runs]
        whole += f" ({number(min(every))} to {number(max(every))})"
    rows = f"{result.rows:,}" if result.rows else ""
    rows += f" of {result.all_rows:,}" if result.all_rows else ""
    memory = [number(sum(peak.values()) / 1e6 or None), *(number(peak.get(kind, 0) / 1e6 or None) for kind in KINDS)]
    return f"| {' | '.join([result.name, rows, whole, number(result.net), number(result.rate or None), *memory])} |"


def number(value: float | None) -> str:
    """For a table; a dash where there is none."""
    if value is None:
        return "-"
    return f"{value:,.0f}" if value >= 100 else f"{value:.2f}" if value < 10 else f"{value:.1f}"
