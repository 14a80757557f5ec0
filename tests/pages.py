"""The documents for the tests: their commands, sections and tables."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from exporter.cli import PROGRAM

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT: Final = Path(__file__).parents[1]
PAGES: Final = (*sorted(ROOT.glob("*.md")), *sorted(ROOT.glob("deploy/*.md")), *sorted(ROOT.glob("docs/**/*.md")))
EXAMPLE: Final = "out/company-month"
BLOCK: Final = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Command(NamedTuple):
    """A command line of a page. ``shown``: what a console block shows below it, None in a bash block."""

    page: Path
    line: str
    shown: str | None

    @property
    def arguments(self) -> list[str]:
        """What follows the program's name."""
        words = shlex.split(self.line)
        return words[words.index("exporter") + 1 :]

    @property
    def is_on_the_example(self) -> bool:
        """Whether it can be run here."""
        return EXAMPLE in self.arguments or self.arguments[0] == "queries"


def text(name: str) -> str:
    """A file of the project."""
    return (ROOT / name).read_text(encoding="utf-8")


def commands(page: Path) -> Iterator[Command]:
    """The command lines of a page that start the exporter."""
    return (one for one in _lines(page) if re.match(r"(\w+=\S+ )*exporter ", one.line))


def _lines(page: Path) -> Iterator[Command]:
    for kind, body in BLOCK.findall(page.read_text(encoding="utf-8")):
        whole = body.replace("\\\n", "")
        if kind == "console":
            for part in re.split(r"^\$ ", whole, flags=re.MULTILINE)[1:]:
                line, _, shown = part.partition("\n")
                yield Command(page, line, shown)
        elif kind in ("bash", "sh"):
            yield from (Command(page, line, None) for line in whole.splitlines())


def read(arguments: list[str]) -> None:
    """Reads a command line as the program does, and runs nothing. Raises Click's errors."""
    with PROGRAM.make_context("exporter", list(arguments)) as program:
        name, command, words = PROGRAM.resolve_command(program, list(arguments))
        assert command is not None
        command.make_context(name, words, parent=program)


def as_shown(note: str) -> str:
    """A note in the words of a web page, which has times to the second."""
    return re.sub(r"(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)(\.\d+)?Z", r"\1 \2", note)


def sections(page: str) -> dict[str, str]:
    """The parts of a page below its headings of the second level."""
    parts = re.split(r"^## (.+)$", page, flags=re.MULTILINE)
    return {title.replace("`", ""): body for title, body in zip(parts[1::2], parts[2::2], strict=True)}


def table(body: str) -> list[list[str]]:
    """The rows of the tables in a part of a page, without those that say nothing in their first cell."""
    lines = [re.split(r"(?<!\\)\|", line)[1:-1] for line in body.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in cells] for cells in lines if cells[0].strip() not in ("", "field", "file", "key")]


def spans(cell: str) -> list[str]:
    """The code spans of a cell; ``a.{b,c}[].d`` stands for ``a.b[].d`` and ``a.c[].d``."""
    return [one for span in re.findall(r"`([^`]+)`", cell) for one in _expanded(span)]


def _expanded(span: str) -> list[str]:
    found = re.search(r"\{(\w+(?:,\w+)+)\}", span)
    if not found:
        return [span.replace("\\|", "|")]
    return [one for part in found[1].split(",") for one in _expanded(span.replace(found[0], part, 1))]


def named(body: str, cell: int = 0) -> set[str]:
    """The code spans in one column of the tables in a part of a page."""
    return {span for cells in table(body) for span in spans(cells[cell])}
