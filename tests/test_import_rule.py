"""Imports point one way: schemas, errors <- facts <- {openlineage, rdf} <- pipeline <- cli."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "exporter"
MODULES = sorted(PACKAGE.rglob("*.py"))

OUTPUTS = {"openlineage", "rdf"}
TOP = {"pipeline", "cli", "__main__"}
# What each may not import; a module that is not named here may import all but the command line.
FORBIDDEN = {
    "schemas": OUTPUTS | TOP | {"facts"},
    "errors": OUTPUTS | TOP | {"facts"},
    "facts": OUTPUTS | TOP,
    "openlineage": TOP | {"rdf"},
    "rdf": TOP | {"openlineage"},
    "pipeline": {"cli", "__main__"},
    "cli": {"__main__"},
    "__main__": set(),
}


def part(module: Path) -> str:
    """The module or package directly below exporter."""
    return module.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported(module: Path) -> set[str]:
    """The parts that a module imports, wherever in it the import stands, for types only too."""
    found = set()
    for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module.name}, line {node.lineno}: imports are written in full"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        found |= {name.split(".")[1] for name in names if name.startswith("exporter.")}
    return found


@pytest.mark.parametrize("module", MODULES, ids=lambda module: str(module.relative_to(PACKAGE)))
def test_imports_point_one_way(module: Path) -> None:
    assert not imported(module) & FORBIDDEN.get(part(module), {"cli", "__main__"})


def test_every_part_of_the_rule_is_there() -> None:
    assert {part(module) for module in MODULES} >= set(FORBIDDEN)
    assert imported(PACKAGE / "pipeline.py") >= OUTPUTS
