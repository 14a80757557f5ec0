"""docs/shapes.md is true: its list of compiled components is that of the code, and its examples do what it says."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from exporter.graph.shapes.checks import Checks
from exporter.graph.shapes.components import COMPONENTS, PARAMETERS
from exporter.graph.shapes.neighbourhood import BETWEEN_OBJECTS, OBJECT_OF
from exporter.graph.vocabulary import NODE_CLASSES
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
    found = []
    for number, example in enumerate(EXAMPLES):
        file = tmp_path / f"{number}.ttl"
        file.write_text(example, "utf-8")
        checks = Checks.load([file])
        found.append(
            "whole graph" if checks.needs_graph else "around objects" if checks.neighbourhood else "node by node"
        )
    assert found == ["node by node", "around objects", "whole graph"]


def test_the_page_says_how_far_an_export_looks() -> None:
    about = PAGE.partition("### What an export can check")[2].partition("### What a violation keeps out")[0]
    tables = "\n".join(line for line in about.splitlines() if line.startswith("|"))
    assert {of.name for of in OBJECT_OF} <= set(re.findall(r"`(ah:\w+)`", tables))
    assert {term for _, term in BETWEEN_OBJECTS} <= set(re.findall(r"`(ah:\w+)`", tables))
    beyond = {of.name for of in NODE_CLASSES if of not in OBJECT_OF}
    assert beyond.isdisjoint(re.findall(r"`(ah:\w+)`", tables))


def test_the_page_names_its_tests() -> None:
    assert (ROOT / "tests" / "graph" / "core").is_dir()
    assert "python -m tests.graph.mutants" in PAGE
    assert (ROOT / "tests" / "graph" / "mutants.py").is_file()
