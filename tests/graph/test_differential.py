"""The compiled shapes and pySHACL give exactly the same results on some twelve thousand graphs."""

from __future__ import annotations

import os
from collections import Counter
from random import Random
from typing import TYPE_CHECKING, Final

import pytest

from exporter.errors import UsageError
from exporter.graph.shapes import on_graph
from exporter.graph.shapes.by_pyshacl import graph_of, validate
from exporter.graph.shapes.model import Documents
from exporter.graph.shapes.reading import compiled, shapes_graph
from tests.graph import mutants
from tests.graph.any_shapes import Words, data, shapes
from tests.graph.shape_graphs import source
from tests.graph.targets import with_own_targets

if TYPE_CHECKING:
    from pathlib import Path

FAST: Final = with_own_targets(graph_of(source().triples))
WORDS: Final = Words(
    properties=("ex:p", "ex:q", "ex:r"),
    ordered=("ex:m", "ex:n"),
    classes=("ex:A", "ex:B", "ex:C"),
    nodes=("ex:a", "ex:b", "ex:c", "_:x", "_:y"),
    literals=(
        "1", '"1"', '"01"^^xsd:integer', '"a"', '"en"@en', '"b"@de-CH', '"c"@de', "true", '"x"^^xsd:integer', "1e0",
        '"2024-01-01"^^xsd:date', '"2024-01-01T00:00:00Z"^^xsd:dateTime', "1.5", '""', '"z"^^ex:t',
        '"P1D"^^xsd:duration',
    ),
    bounds=(
        "1", "2", "1.5", "1e1", '"2"^^xsd:byte', '"b"', '"b"@en', '"2024-01-01"^^xsd:date',
        '"2024-01-01T00:00:00Z"^^xsd:dateTime', '"2025-01-01T00:00:00"^^xsd:dateTime', '"P1D"^^xsd:dayTimeDuration',
        '"P1M"^^xsd:duration',
    ),
    patterns=('"^a"', '"e"', '"[0-9]"', '"^$"'),
    datatypes=(
        "xsd:string", "xsd:integer", "xsd:boolean", "xsd:dateTime", "xsd:date", "rdf:langString", "xsd:decimal", "ex:t",
    ),
)  # fmt: skip
SEEDS: Final = range(int(os.environ.get("EXPORTER_TEST_MUTATED", "3")))
"""More of them: ``EXPORTER_TEST_MUTATED=50 bin/test tests/graph/test_differential.py``."""
TARGETS: Final = ("sh:targetClass", "sh:targetNode", "sh:targetSubjectsOf", "sh:targetObjectsOf", "a")


@pytest.mark.parametrize("seed", SEEDS)
def test_mutated_graphs(seed: int) -> None:
    """Our shapes, in the form that pySHACL checks fastest."""
    told = mutants.compared(seed, 2_000, FAST)
    assert told["graphs"] == 2_000
    assert (told["by the compiled shapes alone"], told["by pySHACL alone"]) == (0, 0)
    assert told["results"] > 3_000
    assert told["shapes"] > 150
    assert told["not for pySHACL"] < 60


def test_mutated_graphs_with_the_original_shapes() -> None:
    told = mutants.compared(99, 500)
    assert (told["by the compiled shapes alone"], told["by pySHACL alone"]) == (0, 0)
    assert told["results"] > 700


def test_every_change_makes_a_difference() -> None:
    """No kind of mistake is drawn in vain: each makes some graph fail."""
    shapes_of_ours, random = mutants.shapes(), Random(5)
    for change in mutants.CHANGES:
        graph = list(mutants.BACKGROUND)
        for number in range(150):
            made = mutants.unchanged(random, number)
            change(random, made)
            graph.extend(made.triples())
        assert on_graph.validate(graph, shapes_of_ours), change.__name__


def test_any_shapes_on_any_graph(tmp_path: Path) -> None:
    """Shapes drawn from all components and paths. pySHACL has no answer where it is to name a blank node."""
    told: Counter[str] = Counter()
    for seed in range(120):
        random = Random(seed)
        (tmp_path / "shapes.ttl").write_text(shapes(random, WORDS, 8, TARGETS), "utf-8")
        (tmp_path / "data.ttl").write_text(data(random, WORDS, 40), "utf-8")
        drawn = shapes_graph([tmp_path / "shapes.ttl"], own=())
        graph = list(Documents().triples(tmp_path / "data.ttl"))
        found = on_graph.validate(graph, compiled(drawn))
        try:
            wanted = validate(graph, drawn)
        except UsageError:
            told["without an answer"] += 1
            continue
        assert [one[:5] for one in found] == [one[:5] for one in wanted], f"seed {seed}"
        told["results"] += len(found)
    assert told["without an answer"] < 10
    assert told["results"] > 4_000
