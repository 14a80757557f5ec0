"""Stores load the graph as exported, and answer the shipped questions over HTTP like ``exporter query``."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING, Final

import pytest
from pyoxigraph import RdfFormat, parse, serialize

from exporter.ask.parameters import bind
from exporter.ask.questions import questions, select
from exporter.graph.store import graph_files
from tests.ask import drawn
from tests.ask.drawn_parameters import drawn_parameters

if TYPE_CHECKING:
    from pathlib import Path

    from tests.ask.jena import Row
    from tests.stores.endpoint import Endpoint

pytestmark = pytest.mark.jvm
"""Also where no JVM is asked: the graphs of the random histories are made in that process."""
CASES: Final = ("dense-1",)
"""A random history, with the ends of queries. tests/ask/test_jena.py asks of hard rows, too."""
ASKED: Final = 3
"""How often, besides without parameters; test_jena.py has more, and needs no text of a request."""
TURTLE: Final = "text/turtle"
N_TRIPLES: Final = "application/n-triples"


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
def test_the_files_are_loaded_as_they_are(store: Endpoint, grown: tuple[Path, Path], *, packed: bool) -> None:
    """Every file of an export with hard names, also as a stream of gzip."""
    files = graph_files(grown[1])
    for file in files:
        body = gzip.compress(file.read_bytes(), 1) if packed else file.read_bytes()
        store.add(body, TURTLE, **({"Content_Encoding": "gzip"} if packed else {}))
    assert store.triples() == {str(quad.triple) for file in files for quad in parse(path=file, format=RdfFormat.TURTLE)}


def in_order(rows: list[Row]) -> list[Row]:
    return sorted(rows, key=str)


@pytest.mark.parametrize("case", CASES)
def test_the_questions_have_the_same_answers_over_http(store: Endpoint, case: str) -> None:
    """Each question with its parameters bound as text: those of the differential test, and none."""
    here, answered = drawn.store(case), set[str]()
    store.add(serialize((quad.triple for quad in here), format=RdfFormat.N_TRIPLES), N_TRIPLES)
    for question in questions():
        every = [{}, *drawn_parameters(question.name, case)[:ASKED]]
        for query in dict.fromkeys(bind(question.query, question.parameters, given) for given in every):
            columns, rows = store.select(query)
            expected = select(here, query, question.name)
            assert columns == expected.columns
            assert in_order(rows) == in_order(expected.rows), query
            answered |= {question.name} if rows else set()
    assert len(answered) > len(questions()) // 2
