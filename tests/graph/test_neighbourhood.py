"""How far shapes look: those that stay around one object have the same results there as in the whole graph; the
others are refused by name.
"""

from __future__ import annotations

import json
from collections import Counter
from random import Random
from typing import TYPE_CHECKING, Final

import msgspec
from pyoxigraph import Literal, RdfFormat, parse

from exporter.engines import local
from exporter.engines.local import LocalEngine
from exporter.graph.shapes import on_graph
from exporter.graph.shapes.checks import Checks
from exporter.graph.shapes.classes import hierarchy
from exporter.graph.shapes.model import MemoryGraph
from exporter.graph.shapes.neighbourhood import (
    BEHIND,
    BETWEEN_OBJECTS,
    OBJECT_OF,
    OWN,
    REFERRED,
    REFERRING,
    WITHIN_OBJECT,
    types_of,
)
from exporter.graph.shapes.on_graph import Result, in_order
from exporter.graph.shapes.reading import Shapes, compiled, shapes_graph
from exporter.graph.terms import short
from exporter.graph.vocabulary import NODE_CLASSES
from exporter.input.reading import Record
from exporter.pipeline import answer, neighbourhood, rounds, write
from exporter.pipeline.job import ExportJob
from exporter.pipeline.messages import Message, To
from tests.graph.neighbourhood_shapes import Values, shapes
from tests.graph.shape_graphs import BASE
from tests.stewards import history

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import pytest

    from exporter.graph.terms import Node
    from exporter.model.facts import QueryFacts

JOB: Final = ExportJob("ACME-PROD", BASE, events=False, shapes=("drawn",))
ACCOUNTS: Final = ({}, {"organization_name": "ORG", "account_name": "ONE"}, {"account_name": "TWO"})


class Exported:
    """The nodes of an export, as they are sent to objects; and its graph."""

    def __init__(self, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
        random = Random(seed)
        sent: list[tuple[str | QueryFacts, list[Node]]] = []

        class Recorded:
            def __init__(self, _: ExportJob) -> None:
                pass

            def of_object(self, key: str, nodes: list[Node]) -> Iterator[Message]:
                sent.append((key, nodes))
                yield from ()

            def of_query(self, facts: QueryFacts, nodes: list[Node]) -> Iterator[Message]:
                sent.append((facts, nodes))
                yield from ()

        for step in (answer, write):
            monkeypatch.setattr(step, "needs_neighbourhoods", lambda _: True)
            monkeypatch.setattr(step, "ToObjects", Recorded)
        rows = [{**row, **random.choice(ACCOUNTS)} for row in history(random, 20)]
        records = [Record("/rows", 0, "line", json.dumps(row)) for row in rows]
        made = local.export_records(records, ExportJob(JOB.account, JOB.base, events=False, validate=False))
        text = b"".join(one.body for one in made if one.to == "graph-ttl")
        self.triples = [one.triple for one in parse(text, format=RdfFormat.TURTLE)]
        self.graph = MemoryGraph([*self.triples, *hierarchy()])
        self._sent = sent

    def values(self) -> Values:
        literals: dict[str, set[str]] = {}
        for one in self.triples:
            if isinstance(one.object, Literal):
                literals.setdefault(short(one.predicate.value), set()).add(str(one.object))
        iris = {str(one.subject) for one in self.triples}
        return Values({term: tuple(sorted(some)) for term, some in literals.items()}, tuple(sorted(iris)))

    def in_neighbourhoods(self, checks: Checks, monkeypatch: pytest.MonkeyPatch) -> list[Result]:
        """What is found around objects."""
        monkeypatch.setattr(neighbourhood, "checks", lambda _: checks)
        to = neighbourhood.ToObjects(JOB)
        letters = [
            one
            for whose, nodes in self._sent
            for one in (to.of_object(whose, nodes) if isinstance(whose, str) else to.of_query(whose, nodes))
        ]
        found = rounds._neighbourhoods(LocalEngine(), [letters], JOB)
        return in_order([msgspec.json.decode(one.body, type=Result) for one in found if one.to == To.RESULT])


def test_any_shapes_find_the_same_in_neighbourhoods_as_in_the_whole_graph(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each by itself, so that none leans on what another asks for."""
    told: Counter[str] = Counter()
    for seed in range(45):
        exported = Exported(seed, monkeypatch)
        file = tmp_path / f"{seed}.ttl"
        file.write_text(shapes(Random(seed), exported.values(), 60), encoding="utf-8")
        for shape in compiled(shapes_graph([file], own=())).targeted:
            alone = Shapes((shape,))
            checks = Checks(alone)
            if checks.neighbourhood:
                found = exported.in_neighbourhoods(checks, monkeypatch)
                assert found == on_graph.validate(exported.graph, alone), f"{file}: {shape.name}"
                told.update([*checks.neighbourhood.needed.rings] if found else ())
            told.update(refused=len(checks.needs_graph))
    assert min(told[name] for name in (OWN, REFERRED, REFERRING, BEHIND, "refused")) > 10, told


def test_the_vocabulary_says_which_nodes_belong_to_an_object() -> None:
    known = {(of, one.term) for of in NODE_CLASSES for one in of.properties if not one.is_literal}
    assert known >= WITHIN_OBJECT
    assert known >= BETWEEN_OBJECTS.keys()
    assert known >= {(of, other) for (of, _), other in BETWEEN_OBJECTS.items()}
    assert not WITHIN_OBJECT & BETWEEN_OBJECTS.keys()
    assert {of for of, _ in (*WITHIN_OBJECT, *BETWEEN_OBJECTS)} <= OBJECT_OF.keys()
    assert {(of, term) for of, term in OBJECT_OF.items() if term is not None} <= WITHIN_OBJECT


def test_properties_that_stay_at_an_object_lead_to_its_own_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the vocabulary cannot say: nodes that are said to be of one object are of one."""
    exported, met = Exported(3, monkeypatch), Counter[tuple[str, str]]()
    owners: dict[str, set[str]] = {}
    for whose, nodes in exported._sent:
        own = next((one.iri for one in nodes if one.of.name == "ah:SnowflakeObject"), None)
        for node in nodes:
            term = OBJECT_OF.get(node.of)
            if node.of in OBJECT_OF:
                owners.setdefault(node.iri, set()).add(str(node.values[term][0]) if term else str(own))
        assert isinstance(whose, str) == (own is not None)
    for _, nodes in exported._sent:
        for node in nodes:
            assert set(node.types) <= set(types_of(node.of)), node.iri
            for of, term in WITHIN_OBJECT if node.of in OBJECT_OF else ():
                for value in node.values.get(term, ()) if of is node.of else ():
                    met[of.name, term] += 1
                    assert owners[str(value)] == owners[node.iri], (node.iri, term)
    assert len(met) > len(WITHIN_OBJECT) // 2
