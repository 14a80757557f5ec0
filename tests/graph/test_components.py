"""One small graph for each constraint component, path and target, like those of the W3C's suite: core/*.ttl.

A file has shapes, data, and the expected report in SHACL's terms (a path that is not a property is written as in
SPARQL). Both engines must give this report.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest
from pyoxigraph import BlankNode, NamedNode, RdfFormat, parse

from exporter.graph.shapes import on_graph
from exporter.graph.shapes.by_pyshacl import validate
from exporter.graph.shapes.components import COMPONENTS
from exporter.graph.shapes.model import SH, Documents, text
from exporter.graph.shapes.reading import compiled, severity_of, shapes_graph
from tests.graph.any_shapes import PREFIXES

if TYPE_CHECKING:
    from exporter.graph.shapes.on_graph import Result

FILES: Final = tuple(sorted((Path(__file__).parent / "core").glob("*.ttl")))
_PARTS: Final = ("shapes", "data", "report")


def parts(path: Path) -> dict[str, str]:
    """The three parts of a file, each as a document."""
    rest, found = path.read_text("utf-8"), {}
    for name in reversed(_PARTS):
        rest, found[name] = rest.split(f"## {name}\n")
    return {name: PREFIXES + turtle for name, turtle in found.items()}


def reported(turtle: str) -> Counter[tuple[str | None, ...]]:
    """The results of a report; blank nodes are not told apart."""
    results: dict[object, dict[str, str]] = {}
    for quad in parse(turtle.encode(), format=RdfFormat.TURTLE):
        value = "_" if isinstance(quad.object, BlankNode) else text(quad.object)
        results.setdefault(quad.subject, {})[quad.predicate.value.removeprefix(SH)] = value
    names = ("focusNode", "sourceShape", "resultPath", "value")
    return Counter((*(one.get(name) for name in names), severity_of(one["resultSeverity"])) for one in results.values())


def counted(results: list[Result]) -> Counter[tuple[str | None, ...]]:
    return Counter(tuple("_" if part and part.startswith("_:") else part for part in one[:5]) for one in results)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_report_is_the_same_by_either_engine(path: Path, tmp_path: Path) -> None:
    wanted = parts(path)
    for name in ("shapes", "data"):
        (tmp_path / f"{name}.ttl").write_text(wanted[name], "utf-8")
    source = shapes_graph([tmp_path / "shapes.ttl"], own=())
    data = list(Documents().triples(tmp_path / "data.ttl"))
    expected = reported(wanted["report"])
    assert expected.total() > 0
    assert counted(on_graph.validate(data, compiled(source))) == expected
    assert counted(validate(data, source)) == expected


def test_every_component_has_a_file() -> None:
    with_file = {path.stem for path in FILES}
    assert set(COMPONENTS) <= with_file
    assert {
        f"path-{name}" for name in ("inverse", "sequence", "alternative", "zeroOrMore", "oneOrMore", "zeroOrOne")
    } < with_file


def test_the_files_use_what_they_are_named_after() -> None:
    for path in FILES:
        name = path.stem.split("-", maxsplit=1)[0]
        assert name in {"path", "target"} or f"sh:{name} " in parts(path)["shapes"], path.name


def test_reports_name_shapes_that_are_there() -> None:
    for path in FILES:
        shapes = parts(path)["shapes"]
        for quad in parse(parts(path)["report"].encode(), format=RdfFormat.TURTLE):
            if quad.predicate == NamedNode(f"{SH}sourceShape"):
                assert f"ex:{quad.object.value.removeprefix('https://example.org/')} a " in shapes
