"""The page of results, ``docs/benchmarks.md``: one section for each part of the benchmark, from when it was last
measured.

A section is between two comments; the first has the points of the plot. Parts that are not measured again do not
change.
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

How fast is an export, and how much memory does it need? `python -m benchmarks.run` measures everything here and writes
this page; each part names its command and its machine. `benchmarks/generate.py` generates the rows: about 2 KB each,
from an account that grows with them.

- *export*: `exporter export` with its default outputs, events and graph, everything validated.
- *copy*: Spark reads the text of the same rows and writes it back, and does nothing else.
- *loop*: a simple loop over the rows with rdflib, as a competent person would first write it. It writes a simplified
  model as N-Triples (`benchmarks/rdflib_loop.py`), without events, shapes or a history of names. Only the first rows
  are measured; the time for all rows is extrapolated, without its start.

Seconds: *whole* is a process from its start to its end; *net* is what the program itself reports, for the export the
total of its `report.json` without the start of the session; *CPU* is of all processes together. Memory is the greatest
sum over all processes of a program, sampled at most every half second: proportional set size (PSS), in MB of a million
bytes.

An export that is not measured comes first. So Java has its cache of Spark's classes
([setup.md](setup.md#the-cache-of-sparks-classes)), as a user's Java has from the second export on. The copy, the loop
and the empty session do not use it.

![rows a second, by rows](benchmarks.svg)
"""
_PART: Final = re.compile(r"<!-- part (\w+) (\[.*?\]) -->\n(.*?)<!-- end \1 -->\n", re.DOTALL)


def parts_of(page: str) -> dict[str, tuple[list[Point], str]]:
    """The parts of a page: their points and their text."""
    return {name: ([(p, r, s) for p, r, s in json.loads(points)], body) for name, points, body in _PART.findall(page)}


def with_parts(page: str, measured: dict[str, tuple[list[Point], str]]) -> str:
    """The page with these parts in the place of older ones, in the order of the benchmark. What was written after the
    last part stays.
    """
    every = {**parts_of(page), **measured}
    made = [
        f"<!-- part {name} {json.dumps(every[name][0])} -->\n{every[name][1]}<!-- end {name} -->\n"
        for name in _in_order(every)
    ]
    written = max((part.end() for part in _PART.finditer(page)), default=len(page))
    return "\n".join([_HEAD, *made]) + page[written:]


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
    head = ["", "rows", "whole, s", "net, s", "CPU, s", "rows/s", "MB", *(f"MB: {kind}" for kind in memory)]
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
    seconds = [number(result.net), number(result.cpu)]
    return f"| {' | '.join([result.name, rows, whole, *seconds, number(result.rate or None), *memory])} |"


def number(value: float | None) -> str:
    """For a table; a dash where there is none."""
    if value is None:
        return "-"
    return f"{value:,.0f}" if value >= 100 else f"{value:.2f}" if value < 10 else f"{value:.1f}"
