"""Imports point one way: system <- input <- model <- privacy <- graph <- openlineage <- settings <- pipeline <-
{publish, ask, engines} <- {fetch, openlineage.push, reconcile} <- serve <- mcp <- {api, cli}.
"""

from __future__ import annotations

import ast
from functools import cache
from graphlib import CycleError, TopologicalSorter
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

PACKAGE: Final = Path(__file__).parents[1] / "exporter"
MODULES: Final = {
    ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__"): path
    for path in sorted(PACKAGE.rglob("*.py"))
}
LAYERS: Final = (
    {"errors", "system"},
    {"input"},
    {"model"},
    {"privacy"},
    {"graph"},
    {"openlineage"},
    {"settings"},
    {"pipeline"},
    # The engine fills a publication, and a place may be of one of Spark's file systems.
    {"publish", "ask", "engines"},
    {"fetch", "openlineage.push", "reconcile"},
    {"serve"},
    {"mcp"},
    {"api", "cli"},
    {"__main__"},
)
"""Modules and packages below exporter; each may import its own layer and those before it."""
APART: Final = {("openlineage", "graph")}
"""Parts that never import each other: an output is deleted with its folder."""
ALSO: Final = {("input", "exporter.model.facts")}
"""What a part may import of a later one: types of values, which import nothing of what their own part does."""
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


class Import(NamedTuple):
    """``module``: of the exporter or of a library; ``for_types``: whether only type checkers follow it."""

    module: str
    for_types: bool


def part(module: str) -> str:
    """The module or package directly below exporter; a push is a part of its own."""
    if module.startswith("exporter.openlineage.push"):
        return "openlineage.push"
    return module.split(".")[1] if "." in module else ""


@cache
def imports(module: str) -> frozenset[Import]:
    """All imports of a module, wherever in it they stand."""
    return frozenset(_imports(ast.parse(MODULES[module].read_text(encoding="utf-8")), module, for_types=False))


def _imports(node: ast.AST, module: str, *, for_types: bool) -> Iterator[Import]:
    if isinstance(node, ast.ImportFrom):
        assert node.level == 0, f"{module}, line {node.lineno}: imports are written in full"
        names = [f"{node.module}.{alias.name}" for alias in node.names]
        yield from (Import(name if name in MODULES else str(node.module), for_types) for name in names)
    elif isinstance(node, ast.Import):
        yield from (Import(alias.name, for_types) for alias in node.names)
    guarded = node.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING" else []
    for child in ast.iter_child_nodes(node):
        yield from _imports(child, module, for_types=for_types or child in guarded)


def layer(name: str) -> int:
    return next(number for number, names in enumerate(LAYERS) if name in names)


@pytest.mark.parametrize("module", [name for name in MODULES if name != "exporter"])
def test_imports_point_one_way(module: str) -> None:
    """For types, too."""
    own = part(module)
    for one in imports(module):
        other = part(one.module) if one.module in MODULES else ""
        if not other or (own, one.module) in ALSO:
            continue
        assert layer(other) <= layer(own), f"{module} imports {one.module}"
        assert not {(own, other), (other, own)} & APART, f"{module} imports {one.module}"


def test_what_is_imported_of_a_later_part_is_types_alone() -> None:
    """They import nothing that leads back to who imports them."""
    for own, module in ALSO:
        reached, left = set[str](), [module]
        while left:
            one = left.pop()
            reached.add(one)
            left += [other.module for other in imports(one) if other.module in MODULES and other.module not in reached]
        assert own not in {part(one) for one in reached}, f"{module} leads to {own}"


def test_no_imports_go_in_a_circle() -> None:
    """Between modules, also where an import waits in a function."""
    graph = {
        module: {one.module for one in imports(module) if not one.for_types and one.module in MODULES} - {module}
        for module in MODULES
    }
    try:
        assert len(list(TopologicalSorter(graph).static_order())) == len(MODULES)
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))


@pytest.mark.parametrize("library", WITHOUT)
def test_slow_libraries_are_where_they_are_needed(library: str) -> None:
    found = {part(name) for name in MODULES for one in imports(name) if one.module.split(".")[0] == library}
    assert found <= WITHOUT[library]


def test_every_part_of_the_rule_is_there() -> None:
    assert {part(module) for module in MODULES} - {""} == set(chain.from_iterable(LAYERS))
    of_export = {part(one.module) for one in imports("exporter.engines.export")}
    assert of_export >= {"pipeline", "publish", "settings"}
    of_steps = {part(one.module) for name in MODULES if part(name) == "pipeline" for one in imports(name)}
    assert of_steps >= {"input", "model", "graph", "openlineage"}
    assert all(any(one.module == module for one in _of(own)) for own, module in ALSO), "an exception of no use"


def _of(own: str) -> Iterator[Import]:
    return (one for name in MODULES if part(name) == own for one in imports(name))
