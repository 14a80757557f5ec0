"""Imports point one way, also for types and inside functions: {errors, version} <- system <- input <- model <-
privacy <- graph <- openlineage <- settings <- pipeline <- publish <- ask <- {engines, fetch, backends, reconcile} <-
serve <- mcp <- cli <- api.
"""

from __future__ import annotations

import ast
from functools import cache
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

PACKAGE: Final = Path(__file__).parents[1] / "exporter"
MODULES: Final = {
    ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__"): path
    for path in sorted(PACKAGE.rglob("*.py"))
}
LAYERS: Final = (
    {"errors", "version"},
    {"system"},
    {"input"},
    {"model"},
    {"privacy"},
    {"graph"},
    {"openlineage"},
    {"settings"},
    {"pipeline"},
    {"publish"},
    {"ask"},
    {"engines", "fetch", "backends", "reconcile"},
    {"serve"},
    {"mcp"},
    {"cli"},
    {"api"},
    {"__main__", "exporter"},
)
"""Modules and packages below exporter, and its face; each may import itself and the layers before its own."""
APART: Final = {("openlineage", "graph")}
"""Parts that never import each other: an output is deleted with its folder."""
WITHOUT: Final = {
    "pyspark": {"engines", "system"},
    "py4j": set(),
    "rdflib": {"graph"},
    "pyshacl": {"graph"},
    "pandas": set(),
    "flask": {"serve"},
    "fast_sugiyama": {"serve"},
    "waitress": {"serve"},
    "mcp": {"mcp"},
    "uvicorn": {"mcp"},
    "snowflake": {"fetch"},
}
"""Libraries that are slow to import, and the parts that may do so."""


def part(module: str) -> str:
    """The module or package directly below exporter; of its face ``exporter``."""
    return module.split(".")[1] if "." in module else module


@cache
def imports(module: str) -> frozenset[str]:
    """The modules that a module imports, of the exporter or of a library: wherever in it that stands."""
    return frozenset(chain.from_iterable(_imports(node, module) for node in ast.walk(_tree(module))))


def _tree(module: str) -> ast.Module:
    return ast.parse(MODULES[module].read_text(encoding="utf-8"))


def _imports(node: ast.AST, module: str) -> Iterator[str]:
    if isinstance(node, ast.ImportFrom):
        assert node.level == 0, f"{module}, line {node.lineno}: imports are written in full"
        names = [f"{node.module}.{alias.name}" for alias in node.names]
        yield from (name if name in MODULES else str(node.module) for name in names)
    elif isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)


def own_imports(module: str) -> set[str]:
    """The other modules of the exporter that a module imports."""
    return {other for other in imports(module) if other in MODULES} - {module}


def layer(name: str) -> int:
    return next(number for number, names in enumerate(LAYERS) if name in names)


@pytest.mark.parametrize("module", MODULES)
def test_imports_point_one_way(module: str) -> None:
    own = part(module)
    for imported in own_imports(module):
        other = part(imported)
        assert other == own or layer(other) < layer(own), f"{module} imports {imported}"
        assert not {(own, other), (other, own)} & APART, f"{module} imports {imported}"


def circles(imports_of: Mapping[str, set[str]]) -> set[frozenset[str]]:
    """The modules that import each other, directly or by others. ``imports_of``: of each module."""
    reached = dict[str, set[str]]()
    for module in imports_of:
        found, left = set[str](), [module]
        while left:
            new = imports_of[left.pop()] - found
            found |= new
            left += new
        reached[module] = found
    return {
        frozenset(other for other in others if module in reached[other])
        for module, others in reached.items()
        if module in others
    }


def test_no_imports_go_in_a_circle() -> None:
    assert not circles({module: own_imports(module) for module in MODULES})


def test_a_circle_would_be_found() -> None:
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"a"}}) == {frozenset({"b", "c"})}


@pytest.mark.parametrize("library", WITHOUT)
def test_slow_libraries_are_where_they_are_needed(library: str) -> None:
    found = {part(name) for name in MODULES for imported in imports(name) if imported.split(".")[0] == library}
    assert found <= WITHOUT[library]


def test_every_part_of_the_rule_is_there() -> None:
    assert {part(module) for module in MODULES} == set(chain.from_iterable(LAYERS))
    of_export = set(map(part, own_imports("exporter.engines.export")))
    assert of_export >= {"pipeline", "publish", "settings"}
    of_steps = {part(other) for name in MODULES if part(name) == "pipeline" for other in own_imports(name)}
    assert of_steps >= {"input", "model", "graph", "openlineage"}


def test_imports_for_types_and_inside_functions_count() -> None:
    assert "exporter.api" in own_imports("exporter"), "for types"
    assert "exporter.engines.hadoop" in own_imports("exporter.engines.export"), "inside a function"
