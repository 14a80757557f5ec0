"""Measures an export beside a bare Spark copy and an rdflib loop: ``python -m benchmarks.run``.

Everything is validated and both outputs are written; each program runs in separate processes. The results become
sections of docs/benchmarks.md, with a plot; parts that are not measured do not change. The default parts and sizes
take about a quarter of an hour and 30 GB of disk; ``--parts small --rows 5000`` takes a minute. Three million rows are
measured only on request: ``--parts large``. Exit code 1 if a required value is not met.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import shlex
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from importlib.metadata import version
from pathlib import Path
from typing import Final

from benchmarks import page, plot
from benchmarks.measured import ROOT, say
from benchmarks.parts import DEFAULT, PARTS, Point
from benchmarks.programs import Bench

PAGE: Final = ROOT / "docs" / "benchmarks.md"
_NOT_SHOWN: Final = ("work", "page", "morph_kgc")  # folders of one machine mean nothing on another


def machine() -> str:
    """Where this was measured."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    cores = f"{len(os.sched_getaffinity(0))} cores ({_processor()}), {memory:.0f} GiB"
    versions = f"Python {platform.python_version()}, {_java()}, Spark {version('pyspark')}, rdflib {version('rdflib')}"
    return f"{cores}, {versions}, load {os.getloadavg()[0]:.1f} at the start"


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    found = re.search(r"^model name\s*:\s*(.+)$", info.read_text(), re.MULTILINE) if info.exists() else None
    return found[1] if found else platform.machine()


def _java() -> str:
    command = str(Path(os.environ["JAVA_HOME"], "bin", "java")) if "JAVA_HOME" in os.environ else "java"
    said = subprocess.run([command, "-version"], capture_output=True, text=True, check=False).stderr
    found = re.search(r'version "([^"]+)"', said)
    return f"Java {found[1]}" if found else "no Java"


def command_of(given: argparse.Namespace, parser: argparse.ArgumentParser) -> str:
    """The command, with all arguments that differ from the defaults."""
    told = {name: value for name, value in vars(given).items() if value != parser.get_default(name)}
    words = [f"--{name.replace('_', '-')} {_word(value)}" for name, value in told.items() if name not in _NOT_SHOWN]
    return " ".join(["python -m benchmarks.run", *words])


def _word(value: object) -> str:
    return ",".join(map(str, value)) if isinstance(value, list) else shlex.quote(str(value))


def _names(words: str) -> list[str]:
    names = words.split(",")
    if unknown := set(names) - set(PARTS):
        raise argparse.ArgumentTypeError(f"{', '.join(sorted(unknown))}: the parts are {', '.join(PARTS)}")
    return [name for name in PARTS if name in names]


def _sizes(words: str) -> list[int]:
    return sorted({int(word.replace("_", "")) for word in words.split(",")})


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.run", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--parts",
        type=_names,
        default=DEFAULT,
        metavar="LIST",
        help=f"some of {','.join(PARTS)}; by default all but large",
    )
    parser.add_argument(
        "--rows",
        type=_sizes,
        default=[200_000, 1_000_000],
        metavar="LIST",
        help="sizes: the least for small, skew and fresh, all for scale (default: 200000,1000000)",
    )
    parser.add_argument("--runs", type=int, default=1, help="runs of each program; medians count (default: 1)")
    parser.add_argument("--starts", type=int, default=5, help="runs of those that only start (default: 5)")
    parser.add_argument("--loop-rows", type=int, default=3_000, help="rows for the rdflib loop (default: 3000)")
    parser.add_argument("--loop-format", choices=("nt", "turtle"), default="nt", help="what the loop writes")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--morph-kgc", metavar="PYTHON", help="the interpreter of an environment with morph-kgc, for the anchors"
    )
    parser.add_argument(
        "--work", type=Path, help="folder for inputs, which are kept, and outputs; else a temporary one"
    )
    parser.add_argument("--page", type=Path, default=PAGE, help="the page to write (default: docs/benchmarks.md)")
    return parser


def main() -> int:
    parser = _parser()
    given = parser.parse_args()
    where, command = machine(), command_of(given, parser)
    measured: dict[str, tuple[list[Point], str]] = {}
    is_met = True
    with ExitStack() as stack:
        work = given.work or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        work.mkdir(parents=True, exist_ok=True)
        bench = Bench(
            given.rows,
            work.resolve(),
            given.runs,
            given.starts,
            given.loop_rows,
            given.loop_format,
            given.seed,
            given.morph_kgc,
        )
        bench.begin()
        for name in given.parts:
            section = PARTS[name](bench)
            measured[name] = section.points, page.text(section, where, command)
            print(measured[name][1], flush=True)
            is_met &= all(figure.is_met for figure in section.figures)
            write(given.page, measured)
    say("everything that is asked holds" if is_met else "not everything that is asked holds")
    return 0 if is_met else 1


def write(file: Path, measured: dict[str, tuple[list[Point], str]]) -> None:
    """Writes the parts to the page, and all points of the page to the plot."""
    before = file.read_text(encoding="utf-8") if file.exists() else ""
    whole = page.with_parts(before, measured)
    points = {(name, rows): rate for own, _ in page.parts_of(whole).values() for name, rows, rate in own}
    file.write_text(whole, encoding="utf-8")
    if points:
        drawn = plot.svg([(*point, rate) for point, rate in points.items()])
        (file.parent / "benchmarks.svg").write_text(drawn, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
