"""The parts of the benchmark: what each measures, and which results it compares with the required values."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from benchmarks import anchors, asked
from benchmarks.asked import LARGE, Figure, ratio
from benchmarks.generate import EVEN, HOT
from benchmarks.programs import ONCE, Bench, megabytes

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.measured import Program, Result

ANCHORED: Final = 20_000
"""The rows that other programs are measured on."""
_WHERE_ONCE: Final = "where no statement recurs"
Point = tuple[str, int, float]
"""A point of the plot: the program, rows, rows a second."""


@dataclass(frozen=True)
class Section:
    """The results of a part."""

    title: str
    words: str
    figures: list[Figure]
    results: list[Result]
    points: list[Point] = field(default_factory=list)


def small(bench: Bench) -> Section:
    """The smallest size, and the cost of validation there."""
    rows = bench.rows[0]
    others = bench.export(rows, is_validated=False), bench.export(rows, is_local=True)
    copy, loop, export, plain, in_processes = bench.measured(*_three(bench, rows), *others)
    validation = Figure("seconds of the export, validated / not", ratio(export.whole, plain.whole), asked.VALIDATED)
    return Section(
        f"{rows:,} rows",
        "Whole processes, including the start of Python and Spark. All but the one that says so are validated.",
        [*_against(rows, copy, loop, export), validation, _memory(export), *_of_local(export, in_processes)],
        [copy, loop, export, plain, in_processes],
        _points(rows, copy, loop, export),
    )


def scale(bench: Bench) -> Section:
    """All sizes, and whether a row takes longer in larger inputs."""
    found = {rows: bench.measured(*_three(bench, rows), bench.export(rows, is_local=True)) for rows in bench.rows}
    figures = [
        one
        for rows, (copy, loop, export, in_processes) in found.items()
        if rows > bench.rows[0] or len(found) == 1 or rows >= LARGE
        for one in (*_against(rows, copy, loop, export), _memory(export), *_of_local(export, in_processes))
    ]
    for less, more in pairwise(found):
        slower = ratio(_per_row(found[more][2]), _per_row(found[less][2]))
        what = f"seconds a row of the export, {more:,} rows / {less:,}"
        figures.append(Figure(what, slower, asked.PER_ROW if less >= LARGE else None))
    return Section(
        "More rows",
        "The same for larger inputs. From a million rows on, net seconds are compared.",
        figures,
        [result for results in found.values() for result in results],
        [point for rows, (*three, _) in found.items() for point in _points(rows, *three)],
    )


def large(bench: Bench) -> Section:
    """Whether a row takes longer among three million than among one million."""
    less, more = bench.measured(*(bench.export(number * LARGE, is_compressed=True) for number in (1, 3)))
    slower = ratio(_per_row(more), _per_row(less))
    return Section(
        "Three million rows",
        "With compressed outputs (`--compress gzip`): plain, those of three million rows are 45 GB.",
        [Figure(f"seconds a row, {more.rows:,} rows / {less.rows:,}", slower, asked.PER_ROW)],
        [less, more],
    )


def startup(bench: Bench) -> Section:
    """The time until the first result."""
    empty, export = bench.started(bench.session(), bench.export(100))
    figure = Figure("seconds, 100 rows / the empty session", ratio(export.whole, empty.whole), asked.FIRST_RESULT)
    return Section(
        "The first result",
        "From the shell, in turn: a session with default settings and one count of ten rows, and an export of 100 "
        "rows, validated, with both outputs. Medians.",
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
    """One table that nearly every statement reads, and many write."""
    rows = bench.rows[0]
    even, hot = bench.measured(bench.export(rows, EVEN), bench.export(rows, HOT))
    sizes = [megabytes(bench.history(rows, kind)) for kind in (EVEN, HOT)]
    return Section(
        f"One hot table, {rows:,} rows",
        "Two histories of the same kinds of statements, nearly all of which read tables. In one, each statement has "
        "its own tables; in the other, nine of ten rows read the same table, directly or through a view, and one of "
        "twenty writes it. "
        f"{sizes[0]:.0f} and {sizes[1]:.0f} MB.",
        [Figure("seconds, hot / even", ratio(hot.whole, even.whole), asked.SKEW), _memory(hot)],
        [even, hot],
    )


def fresh(bench: Bench) -> Section:
    """No statement recurs, so the cache of statements has no effect."""
    rows = bench.rows[0]
    plain, once = bench.measured(bench.export(rows), bench.export(rows, ONCE))
    return Section(
        f"No statement recurs, {rows:,} rows",
        "A working account runs the same statements again and again, and the parts that follow from a statement are "
        "made once. Here no two rows have the same content.",
        [Figure("seconds, none recurs / a working account", ratio(once.whole, plain.whole)), _memory(once)],
        [plain, once],
    )


def other_programs(bench: Bench) -> Section:
    """CPU seconds of the graph alone beside those of other programs."""
    rows = ANCHORED
    local, spark, once = bench.graph(rows, "local"), bench.graph(rows, "spark"), bench.graph(rows, "local", ONCE)
    graph, graph_once = bench.written(local), bench.written(once)
    convert, convert_once = bench.convert(graph, rows, "the graph"), bench.convert(graph_once, rows, _WHERE_ONCE)
    programs = [local, spark, once, convert, convert_once, bench.bytes_copied(rows), bench.loop(rows)]
    flat = bench.flat(rows)
    results = bench.measured(*programs, *([flat] if flat else []))
    cpu = {program: result.cpu for program, result in zip([*programs, flat], results, strict=False)}
    figures = [
        Figure("CPU seconds, graph alone, local / pyoxigraph", ratio(cpu[local], cpu[convert]), asked.TIMES_CONVERT),
        Figure(f"the same, {_WHERE_ONCE}", ratio(cpu[once], cpu[convert_once]), asked.TIMES_CONVERT_ONCE),
    ]
    triples, of_flat = anchors.triples(graph), 0
    if flat:
        of_flat = anchors.lines(flat.folder / anchors.TRIPLES)
        rate = ratio(of_flat, cpu[flat])
        figures += [
            Figure(f"triples a CPU second, {engine} / morph-kgc", ratio(ratio(triples, cpu[one]), rate), limit)
            for engine, one, limit in (("local", local, asked.TIMES_FLAT), ("Spark", spark, asked.TIMES_FLAT_SPARK))
        ]
    return Section(
        f"Beside other programs, {rows:,} rows",
        f"The graph alone, validated: {triples:,} triples. pyoxigraph parses this Turtle and writes it as N-Triples, "
        f"and checks nothing. morph-kgc makes {f'{of_flat:,}' if of_flat else 'some'} triples of the same rows, by a "
        "flat mapping (`benchmarks/anchors.py`). It is measured with `--morph-kgc PYTHON`, an interpreter that has it. "
        "Medians.",
        figures,
        results,
    )


PARTS: Final[dict[str, Callable[[Bench], Section]]] = {
    "small": small,
    "scale": scale,
    "startup": startup,
    "local": local,
    "skew": skew,
    "fresh": fresh,
    "large": large,
    "anchors": other_programs,
}
DEFAULT: Final = [name for name in PARTS if name != "large"]
"""The parts that are measured if none is named."""


def _three(bench: Bench, rows: int) -> tuple[Program, Program, Program]:
    return bench.copy(rows), bench.loop(rows), bench.export(rows)


def _against(rows: int, copy: Result, loop: Result, export: Result) -> list[Figure]:
    """An export compared with the loop and the copy. With few rows, the start of Spark is most of the time of a copy,
    so whole processes are compared there.
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
    """The requirement is for a million rows; fewer rows must not take more memory."""
    gigabytes = sum(export.peak.values()) / 1e9 or None
    return Figure(f"{export.rows:,} rows: memory of all processes, GB", gigabytes, asked.GIGABYTES)


def _of_local(export: Result, in_processes: Result) -> list[Figure]:
    """The same export without Spark, on all processors."""
    faster = ratio(export.whole, in_processes.whole)
    what = f"{export.rows:,} rows: seconds of the export on Spark / with --engine local"
    gigabytes = sum(in_processes.peak.values()) / 1e9 or None
    memory = Figure(
        f"{export.rows:,} rows: memory of all processes with --engine local, GB", gigabytes, asked.GIGABYTES
    )
    return [Figure(what, faster), memory]


def _per_row(result: Result) -> float | None:
    return result.whole / result.rows if result.whole else None


def _points(rows: int, copy: Result, loop: Result, export: Result) -> list[Point]:
    named = {"copy": copy, "loop": loop, "export": export}
    return [(name, rows, round(result.rate, 1)) for name, result in named.items() if result.rate]
