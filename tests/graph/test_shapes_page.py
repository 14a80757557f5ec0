"""docs/shapes.md: its list of what is compiled is the code's, and its examples do what it says of them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from exporter.graph.shapes.on_nodes import Checks
from exporter.graph.shapes.parameters import COMPONENTS, PARAMETERS
from tests.graph.shape_graphs import ROOT

if TYPE_CHECKING:
    from pathlib import Path

PAGE: Final = (ROOT / "docs" / "shapes.md").read_text("utf-8")
TABLE: Final = [line for line in PAGE.splitlines() if re.fullmatch(r"\| `sh:.* \| 4\.\d \|", line)]
EXAMPLES: Final = re.findall(r"```turtle\n(.*?)```", PAGE, re.DOTALL)


def test_the_page_lists_what_is_compiled() -> None:
    listed = re.findall(r"`sh:(\w+)`", "\n".join(TABLE))
    assert sorted(listed) == sorted(PARAMETERS)
    outside = [name for line in TABLE for name in re.findall(r"`sh:(\w+)`", re.sub(r"\(.*?\)", "", line))]
    assert sorted(outside) == sorted(COMPONENTS)


def test_the_examples_are_checked_where_the_page_says(tmp_path: Path) -> None:
    needs_graph = []
    for number, example in enumerate(EXAMPLES):
        file = tmp_path / f"{number}.ttl"
        file.write_text(example, "utf-8")
        needs_graph.append(bool(Checks.load([file]).needs_graph))
    assert needs_graph == [False, False, True]


def test_the_page_names_its_tests() -> None:
    assert (ROOT / "tests" / "graph" / "core").is_dir()
    assert "python -m tests.graph.mutants" in PAGE
    assert (ROOT / "tests" / "graph" / "mutants.py").is_file()
