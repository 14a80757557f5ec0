"""Validation of any Turtle, by pySHACL or by the compiled shapes, with the same results."""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from exporter.errors import UsageError
from exporter.graph.shapes.classes import hierarchy
from exporter.graph.shapes.model import Documents, MemoryGraph
from exporter.graph.shapes.on_graph import Result, violations
from exporter.graph.shapes.on_graph import validate as by_compiled
from exporter.graph.shapes.reading import compiled, refuse_ignored, shapes_graph
from exporter.graph.store import graph_files
from exporter.system.folders import steady
from exporter.system.terminal import visible

if TYPE_CHECKING:
    from pyoxigraph import Triple

ENGINES = ("pyshacl", "compiled")
_SHOWN: Final = ("focus", "shape", "path", "value", "severity", "message")


def validate(
    path: Path, *, by: str = "pyshacl", shapes_dirs: Iterable[Path] = (), as_json: bool = False
) -> tuple[bool, str]:
    """Whether no result is a violation, and the results as text or as JSON. Both say whether the graph conforms in the
    words of SHACL (section 3.4): it has no results at all, not even warnings.

    ``by``: one of :data:`ENGINES`; ``shapes_dirs``: folders of shapes in addition to the project's own. Raises
    UsageError where the path has no graph, a file does not parse, or a shape uses a feature that the engine does not
    support.
    """
    results, counted = checked(path, by=by, shapes_dirs=shapes_dirs)
    return not violations(results), _as_json(results, counted) if as_json else _as_text(results, counted)


class Counted(NamedTuple):
    """What was validated: ``files`` of the graph, their ``triples``, the ``nodes`` that these are about; and the
    ``shapes``, those of nodes and those of their properties.
    """

    files: int
    triples: int
    nodes: int
    shapes: int


def checked(path: Path, *, by: str = "pyshacl", shapes_dirs: Iterable[Path] = ()) -> tuple[list[Result], Counted]:
    """All validation results of the graph, in order, and what was validated. Arguments and errors as in
    :func:`validate`.
    """

    def read() -> tuple[int, list[Triple]]:
        files, documents = graph_files(path), Documents()
        return len(files), [triple for file in files for triple in documents.triples(file)]

    files, triples = steady(path, read)
    if not triples:
        raise UsageError(f"{path}: holds no triples, so there is nothing to validate")
    source, nodes = shapes_graph(shapes_dirs), len({triple.subject for triple in triples})
    counted = Counted(files, len(triples), nodes, source.count())
    triples.extend(hierarchy())
    if by == "compiled":
        return by_compiled(MemoryGraph(triples), compiled(source)), counted
    refuse_ignored(source)
    from exporter.graph.shapes.by_pyshacl import validate as by_pyshacl  # noqa: PLC0415 - long to load

    return by_pyshacl(triples, source), counted


def _as_json(results: list[Result], counted: Counted) -> str:
    shown = [{name: getattr(result, name) for name in _SHOWN} for result in results]
    whole = {"conforms": not results, "violations": violations(results), "counted": counted._asdict(), "results": shown}
    return json.dumps(whole, indent=1)


def _as_text(results: list[Result], counted: Counted) -> str:
    """The results as text, grouped by node, after what was validated."""
    words = [f"{number:,} {name if number > 1 else name[:-1]}" for name, number in counted._asdict().items()]
    lines = [f"Conforms: {not results}"]
    if results:
        lines.append(f"Results: {len(results)}, of which violations: {violations(results)}")
    lines.append(f"Validated: {', '.join(words[:-1])}, with {words[-1]}")
    for focus, group in groupby(results, key=lambda result: result.focus):
        lines += ["", focus]
        for result in group:
            lines.append(f"  {result.severity}: {result.message}")
            lines.append(f"    shape {result.shape}")
            lines += [f"    path {result.path}"] * (result.path is not None)
            lines += [f"    value {result.value or '(empty)'}"] * (result.value is not None)
    return "\n".join(map(visible, lines))
