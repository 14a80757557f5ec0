"""The parts of the benchmark: what each measures, and which figures it holds against what is asked."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from benchmarks import asked
from benchmarks.asked import LARGE, Figure, ratio
from benchmarks.generate import EVEN, HOT
from benchmarks.programs import ONCE, Bench, megabytes

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.measured import Program, Result

Point = tuple[str, int, float]
"""Of the plot: the program, rows, rows a second."""


@dataclass(frozen=True)
class Section:
    """What a part came to."""

    title: str
    words: str
    figures: list[Figure]
    results: list[Result]
    points: list[Point] = field(default_factory=list)


def small(bench: Bench) -> Section:
    """The least of the sizes, and what validation costs there."""
    rows = bench.rows[0]
    copy, loop, export, plain = bench.measured(*_three(bench, rows), bench.export(rows, is_validated=False))
    validation = Figure("seconds of the export, validated / not", ratio(export.whole, plain.whole), asked.VALIDATED)
    return Section(
        f"{rows:,} rows",
        "Whole processes, the start of Python and Spark included. Validated, but for the last line.",
        [*_against(rows, copy, loop, export), validation, _memory(export)],
        [copy, loop, export, plain],
        _points(rows, copy, loop, export),
    )


def scale(bench: Bench) -> Section:
    """All sizes, and whether a row takes longer where there are more."""
    found = {rows: bench.measured(*_three(bench, rows)) for rows in bench.rows}
    figures = [
        one
        for rows, (copy, loop, export) in found.items()
        if rows > bench.rows[0] or len(found) == 1 or rows >= LARGE
        for one in (*_against(rows, copy, loop, export), _memory(export))
    ]
    for less, more in pairwise(found):
        slower = ratio(_per_row(found[more][2]), _per_row(found[less][2]))
        what = f"seconds a row of the export, {more:,} rows / {less:,}"
        figures.append(Figure(what, slower, asked.PER_ROW if less >= LARGE else None))
    return Section(
        "More rows",
        "The same for larger inputs. From a million rows on the copy is compared by its work alone (net), with the "
        "export's seconds without the start of its session.",
        figures,
        [result for three in found.values() for result in three],
        [point for rows, three in found.items() for point in _points(rows, *three)],
    )


def startup(bench: Bench) -> Section:
    """How soon a person has something."""
    empty, export = bench.started(bench.session(), bench.export(100))
    figure = Figure("seconds, 100 rows / the empty session", ratio(export.whole, empty.whole), asked.FIRST_RESULT)
    return Section(
        "The first result",
        "From the shell, in turn: a session with nothing set and one count of ten rows, and an export of 100 rows, "
        "validated, both outputs. Medians.",
        [figure],
        [empty, export],
    )


def local(bench: Bench) -> Section:
    """The example without Spark."""
    (result,) = bench.started(bench.example())
    return Section(
        "The example without Spark",
        "From the shell: `exporter export examples/company-month/access_history.ndjson --engine local …`, with its "
        "QUERY_HISTORY, validated, both outputs. Median.",
        [Figure("seconds", result.whole, asked.LOCAL_SECONDS)],
        [result],
    )


def skew(bench: Bench) -> Section:
    """One table that nearly everybody reads, and many write."""
    rows = bench.rows[0]
    even, hot = bench.measured(bench.export(rows, EVEN), bench.export(rows, HOT))
    sizes = [megabytes(bench.history(rows, kind)) for kind in (EVEN, HOT)]
    return Section(
        f"One hot table, {rows:,} rows",
        "Two histories of the same kinds of statements, nearly all of which read tables. In the one, each has its own; "
        "in the other, nine rows of ten read the same table, directly or through a view, and one of twenty writes it. "
        f"{sizes[0]:.0f} and {sizes[1]:.0f} MB.",
        [Figure("seconds, hot / even", ratio(hot.whole, even.whole), asked.SKEW), _memory(hot)],
        [even, hot],
    )


def fresh(bench: Bench) -> Section:
    """Nothing recurs: what is remembered of statements helps nobody."""
    rows = bench.rows[0]
    plain, once = bench.measured(bench.export(rows), bench.export(rows, ONCE))
    return Section(
        f"No statement recurs, {rows:,} rows",
        "A working account runs the same statements again and again, and what a statement says is made once. Here no "
        "two rows have the same content.",
        [Figure("seconds, none recurs / a working account", ratio(once.whole, plain.whole)), _memory(once)],
        [plain, once],
    )


PARTS: Final[dict[str, Callable[[Bench], Section]]] = {
    "small": small,
    "scale": scale,
    "startup": startup,
    "local": local,
    "skew": skew,
    "fresh": fresh,
}


def _three(bench: Bench, rows: int) -> tuple[Program, Program, Program]:
    return bench.copy(rows), bench.loop(rows), bench.export(rows)


def _against(rows: int, copy: Result, loop: Result, export: Result) -> list[Figure]:
    """An export beside the loop and the copy. Where rows are few, the start of Spark is most of what a copy takes: both
    are compared as whole processes there.
    """
    faster = ratio(export.rate, loop.rate)
    rates, seconds = (f"{rows:,} rows: {what} of the export / of the " for what in ("rows/s", "seconds"))
    if rows < LARGE:
        slower = ratio(export.whole, copy.whole)
        return [
            Figure(f"{rates}loop", faster, asked.TIMES_THE_LOOP),
            Figure(f"{seconds}copy", slower, asked.TIMES_THE_COPY),
        ]
    slower = ratio(export.net, copy.net)
    return [
        Figure(f"{rates}loop", faster, asked.TIMES_THE_LOOP_LARGE),
        Figure(f"{seconds}copy, both net", slower, asked.TIMES_THE_COPY_LARGE),
    ]


def _memory(export: Result) -> Figure:
    """What is asked is asked of a million rows; with fewer there is no reason to take more."""
    gigabytes = sum(export.peak.values()) / 1e9 or None
    return Figure(f"{export.rows:,} rows: memory of all processes, GB", gigabytes, asked.GIGABYTES)


def _per_row(result: Result) -> float | None:
    return result.whole / result.rows if result.whole else None


def _points(rows: int, copy: Result, loop: Result, export: Result) -> list[Point]:
    named = {"copy": copy, "loop": loop, "export": export}
    return [(name, rows, round(result.rate, 1)) for name, result in named.items() if result.rate]
