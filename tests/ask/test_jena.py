"""Apache Jena reads the graph, and answers every question from the unchanged files as pyoxigraph does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest
from pyoxigraph import RdfFormat, parse, serialize

from exporter.ask.parameters import bind
from exporter.ask.questions import find, questions, select
from exporter.graph.store import graph_files, load
from tests.ask import drawn
from tests.ask.drawn_parameters import drawn_parameters
from tests.ask.jena import Jena, Row, jena
from tests.ask.lineage_graphs import SOME, graph_of
from tests.graph.shape_graphs import VALID

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyoxigraph import Store

pytestmark = pytest.mark.jvm
CASES: Final = ("dense-15", "hard-106", "shared-1")
"""Some of the random histories: of each kind, with ends of queries and without. Each question has rows in one."""


@pytest.fixture(scope="module")
def engine() -> Iterator[Jena]:
    with jena() as started:
        yield started


def both(engine: Jena, dataset: Any, store: Store, query: str) -> tuple[list[Row], list[Row]]:
    """The rows of Jena and of pyoxigraph, sorted; with the same columns."""
    columns, by_jena = engine.select(dataset, query)
    by_pyoxigraph = select(store, query, "the question")
    assert columns == by_pyoxigraph.columns
    return sorted(by_jena, key=str), sorted(by_pyoxigraph.rows, key=str)


@pytest.fixture(scope="module")
def files(engine: Jena, tmp_path_factory: pytest.TempPathFactory) -> list[tuple[Any, Store]]:
    """The graphs of the small company and of some copies, in Jena and in pyoxigraph."""
    every = (VALID, graph_of(SOME, tmp_path_factory.mktemp("copies")))
    return [(engine.load([file]), load(file)) for file in every]


@pytest.mark.parametrize("name", [question.name for question in questions()])
def test_a_file_runs_unchanged(name: str, engine: Jena, files: list[tuple[Any, Store]]) -> None:
    for dataset, store in files:
        by_jena, by_pyoxigraph = both(engine, dataset, store, find(name).query)
        assert by_jena == by_pyoxigraph


@pytest.fixture(scope="module")
def graphs(engine: Jena, tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Any, Store]]:
    """The graphs of some random histories, in Jena and in pyoxigraph."""
    folder = tmp_path_factory.mktemp("jena")
    loaded = {}
    for case in CASES:
        serialize(drawn.store(case), folder / f"{case}.nq", format=RdfFormat.N_QUADS)
        loaded[case] = engine.load([folder / f"{case}.nq"]), drawn.store(case)
    return loaded


@pytest.mark.parametrize("name", [question.name for question in questions()])
def test_a_question_has_the_same_answer(name: str, engine: Jena, graphs: dict[str, tuple[Any, Store]]) -> None:
    """With the parameters of the differential test, and with none."""
    question, rows = find(name), 0
    for case, (dataset, store) in graphs.items():
        every = [{}, *drawn_parameters(name, case)]
        for query in dict.fromkeys(bind(question.query, question.parameters, given) for given in every):
            by_jena, by_pyoxigraph = both(engine, dataset, store, query)
            assert by_jena == by_pyoxigraph, f"{case}: {query}"
            rows += len(by_jena)
    assert rows, "nothing was answered"


def test_jena_reads_the_turtle_as_it_is(engine: Jena) -> None:
    """Every file of an export with hard names: as many triples as there are, without an error."""
    files = graph_files(drawn.exported())
    known = {quad.triple for file in files for quad in parse(path=file, format=RdfFormat.TURTLE)}
    assert engine.size(engine.load(files)) == len(known)


def test_what_is_no_sparql_1_1_is_refused(engine: Jena) -> None:
    """Jena's own extensions are off: a file that used one would not pass for plain SPARQL."""
    with pytest.raises(Exception, match="QueryParseException"):
        engine.select(engine.load([VALID]), "SELECT * WHERE { ?s ?p ?o . LET (?x := ?o) }")


def broken(folder: Path) -> Path:
    file = folder / "broken.ttl"
    file.write_text("<urn:a> <urn:b> .\n", encoding="utf-8")
    return file


def test_what_is_no_turtle_is_refused(engine: Jena, tmp_path: Path) -> None:
    with pytest.raises(Exception, match="RiotException"):
        engine.load([broken(tmp_path)])
