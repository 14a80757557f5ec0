"""Measures the size of a graph: ``python -m benchmarks.triples --rows 20000``.

It prints triples and bytes of Turtle for each row, by class of node, for ``--reads full`` and ``--reads daily``;
``--graph DIR --rows N`` does so for an existing graph. The rows are those of :mod:`benchmarks.generate` (seed 1), with
lines of QUERY_HISTORY if ``--history`` is given. Many rows need ``--engine spark``. Files are in ``--work``; each graph
is compressed, and removed when it is measured.
"""

from __future__ import annotations

import argparse
import gzip
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final

from pyoxigraph import RdfFormat, parse

from exporter.system import files as compressed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_TYPE: Final = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
_find_class: Final = re.compile(rb"<[^>]*> a ah:(\w+)").match
MODES: Final = ("full", "daily")


class Sizes:
    """Nodes, triples and bytes by class. All kinds of objects count as one class, and so do all kinds of versions."""

    def __init__(self) -> None:
        self.nodes: Counter[str] = Counter()
        self.triples: Counter[str] = Counter()
        self.bytes: Counter[str] = Counter()
        self.packed = 0

    def add(self, file: Path) -> None:
        """Adds the nodes of a file of Turtle."""
        self.packed += _packed(file)
        with compressed.opened(file) as lines:
            self._add_nodes(lines)
        with compressed.opened(file) as content:
            self._add_triples(content)

    def _add_nodes(self, lines: Iterable[bytes]) -> None:
        """Nodes and their bytes: a node begins with a line that has its class, and ends with an empty line."""
        name = None
        for line in lines:
            found = None if line.startswith(b" ") else _find_class(line)
            if found:
                name = _group(found[1].decode())
                self.nodes[name] += 1
            if name is not None:
                self.bytes[name] += len(line)

    def _add_triples(self, content: IO[bytes]) -> None:
        subject, name = None, ""
        for quad in parse(content, RdfFormat.TURTLE):
            if quad.subject != subject and quad.predicate.value == _TYPE:
                subject, name = quad.subject, _group(str(quad.object).rstrip(">").rpartition("#")[2])
            self.triples[name] += 1

    def table(self, rows: int) -> Iterator[str]:
        """Lines of a table, the most triples first."""
        yield f"{'class':<22}{'nodes':>10}{'triples':>12}{'triples a row':>15}{'bytes a row':>13}"
        for name, triples in self.triples.most_common():
            yield _line(name, self.nodes[name], triples, self.bytes[name], rows)
        yield _line("all", self.nodes.total(), self.triples.total(), self.bytes.total(), rows)
        yield f"compressed by gzip: {self.packed / rows:,.0f} bytes a row"


def _packed(file: Path) -> int:
    """The bytes of a file when compressed by gzip."""
    return file.stat().st_size if file.suffix == compressed.ENDING else len(gzip.compress(file.read_bytes(), 6))


def _line(name: str, nodes: int, triples: int, size: int, rows: int) -> str:
    return f"{name:<22}{nodes:>10,}{triples:>12,}{triples / rows:>15.1f}{size / rows:>13,.0f}"


_GROUPS: Final = {
    "Version": ("PolicyVersion", "UnrecordedVersion"),
    "ColumnVersion": ("UnrecordedColumnVersion",),
    "Setting": ("PropertySetting", "TagSetting", "PolicySetting", "ColumnSetting"),
    "SnowflakeObject": ("Table", "View", "Stage", "Stream", "Tag", "Function", "Procedure", "MaskingPolicy"),
}
_GROUP_OF: Final = {name: group for group, names in _GROUPS.items() for name in names}


def _group(name: str) -> str:
    return _GROUP_OF.get(name, name)


def sizes_of(files: Iterable[Path]) -> Sizes:
    """The sizes of the files of a graph."""
    sizes = Sizes()
    for file in files:
        sizes.add(file)
    return sizes


def _exported(rows: Path, history: Path | None, folder: Path, mode: str, engine: str) -> Path:
    given = [
        "--out",
        str(folder / mode),
        "--account",
        "ACME-PROD",
        "--engine",
        engine,
        "--reads",
        mode,
        "--compress",
        "gzip",
    ]
    given += ["--outputs", "graph", "--query-history", str(history)] if history else ["--outputs", "graph"]
    subprocess.run([sys.executable, "-m", "exporter", "export", str(rows), *given], check=True)
    return folder / mode


def main() -> None:
    """Generates rows, exports them in each mode, and prints the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--history", action="store_true")
    parser.add_argument("--engine", choices=("local", "spark"), default="local")
    parser.add_argument("--work", type=Path, help="folder for the rows and graphs (default: that of the system)")
    parser.add_argument("--graph", type=Path, help="what an export left")
    parser.add_argument("--reads", nargs="+", choices=MODES, default=MODES)
    arguments = parser.parse_args()
    if arguments.graph:
        _print(arguments.graph, arguments.rows)
        return
    with tempfile.TemporaryDirectory(dir=arguments.work) as name:
        folder = Path(name)
        rows, history = folder / "rows.ndjson", folder / "history.csv" if arguments.history else None
        made = ["--rows", str(arguments.rows), "--seed", "1", "--out", str(rows)]
        made += ["--query-history", str(history)] if history else []
        subprocess.run([sys.executable, "-m", "benchmarks.generate", *made], check=True)
        for mode in arguments.reads:
            print(f"--reads {mode}", flush=True)
            exported = _exported(rows, history, folder, mode, arguments.engine)
            _print(exported, arguments.rows)
            shutil.rmtree(exported)


def _print(graph: Path, rows: int) -> None:
    print(*sizes_of(compressed.find_files(graph / "graph", ".ttl")).table(rows), "", sep="\n", flush=True)


if __name__ == "__main__":
    main()
