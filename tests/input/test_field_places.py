"""Every field of the rows is in the places that docs/fields.md gives, in the facts, the events and the graph of an
export.
"""

from __future__ import annotations

import contextlib
import io
import json
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

import pyarrow.parquet as pq
import pytest
from rdflib import RDF, Graph

from exporter import cli
from exporter.model.fact_tables import FACTS
from tests.model import every_field
from tests.pages import sections, spans, table, text

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FACTS_CELL, EVENTS_CELL, GRAPH_CELL = 1, 2, 3
AGGREGATE: Final = "AGGREGATE_ACCESS_HISTORY"

Places = dict[str, str]
"""Place -> all texts in it, joined."""


class Found:
    """Where the words of :mod:`tests.model.every_field` are in an export, and what the page says."""

    def __init__(self, words: dict[str, list[str]], folder: Path) -> None:
        self.words = words
        self.places = {FACTS_CELL: in_facts(folder), EVENTS_CELL: in_events(folder), GRAPH_CELL: in_graph(folder)}

    def of(self, field: str, cell: int) -> set[str]:
        """The places that hold any word of the field."""
        texts = self.places[cell].items()
        return {place for place, said in texts if any(word in said for word in self.words[field])}


def collected(pairs: Iterator[tuple[str, str]]) -> Places:
    places: dict[str, list[str]] = {}
    for place, said in pairs:
        places.setdefault(place, []).append(said)
    return {place: "\n".join(said) for place, said in places.items()}


def walk(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Path and text of every leaf; the keys of a map of columns are ``*``."""
    if isinstance(value, dict):
        is_map = path.endswith(".fields")
        yield from chain.from_iterable(walk(value[k], f"{path}.{'*' if is_map else k}".lstrip(".")) for k in value)
    elif isinstance(value, list):
        yield from chain.from_iterable(walk(one, f"{path}[]") for one in value)
    elif value is not None:
        yield path, str(value)


def in_facts(folder: Path) -> Places:
    each = ((name, row) for name in FACTS for row in pq.read_table(folder / "facts" / name).to_pylist())
    leaves_ = chain.from_iterable(walk(row, name) for name, row in each)
    return collected((place.removesuffix("[]"), said) for place, said in leaves_)


def in_events(folder: Path) -> Places:
    lines = [line for file in (folder / "events").iterdir() for line in file.read_text("utf-8").splitlines()]
    return collected(chain.from_iterable(walk(json.loads(line)) for line in lines))


def in_graph(folder: Path) -> Places:
    """By class and property; a thing that is referred to says its IRI."""
    graph = Graph()
    for file in (folder / "graph").iterdir():
        graph.parse(file)
    short = graph.namespace_manager.normalizeUri
    kinds = {node: [short(kind) for kind in graph.objects(node, RDF.type)] for node in set(graph.subjects())}
    return collected(
        (f"{kind} {short(term)}", str(said)) for node, term, said in graph if term != RDF.type for kind in kinds[node]
    )


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Found:
    """An export of rows in which every field says something."""
    scratch, said = tmp_path_factory.mktemp("fields"), every_field.Said()
    row = every_field.full_row(said)
    history = every_field.history_row(said, row["query_id"])
    lines = [json.dumps(one) + "\n" for one in (row, *every_field.changes(said))]
    (scratch / "rows.ndjson").write_text("".join(lines), encoding="utf-8")
    (scratch / "history.ndjson").write_text(json.dumps(history) + "\n", encoding="utf-8")
    given = ["--query-history", str(scratch / "history.ndjson"), "--query-text", "--no-validate", "--account", "A"]
    wanted = ["--outputs", "events,graph,facts", "--engine", "local"]
    with contextlib.redirect_stdout(io.StringIO()):
        assert cli.main(["export", str(scratch / "rows.ndjson"), "--out", str(scratch / "out"), *given, *wanted]) == 0
    return Found(said.words, scratch / "out")


@pytest.fixture(scope="module")
def aggregated(tmp_path_factory: pytest.TempPathFactory) -> Found:
    """An export of a row of AGGREGATE_ACCESS_HISTORY in which every column of text says something."""
    scratch, said = tmp_path_factory.mktemp("calls"), every_field.Said()
    (scratch / "calls.ndjson").write_text(json.dumps(every_field.calls_row(said)), encoding="utf-8")
    given = ["--no-validate", "--account", "A", "--outputs", "events,graph,facts", "--engine", "local"]
    with contextlib.redirect_stdout(io.StringIO()):
        files = ["--aggregate", str(scratch / "calls.ndjson"), "--out", str(scratch / "out")]
        assert cli.main(["export", *files, *given]) == 0
    return Found(said.words, scratch / "out")


ROWS: Final = [
    (title, field, cells)
    for title, body in sections(text("docs/fields.md")).items()
    for cells in table(body)
    for field in spans(cells[0])
]


@pytest.mark.parametrize("cell", [FACTS_CELL, EVENTS_CELL, GRAPH_CELL], ids=["facts", "events", "graph"])
def test_fields_are_where_the_page_says(cell: int, found: Found) -> None:
    assert_places(found, cell, [row for row in ROWS if row[0] != AGGREGATE], least=90)


@pytest.mark.parametrize("cell", [FACTS_CELL, EVENTS_CELL, GRAPH_CELL], ids=["facts", "events", "graph"])
def test_columns_of_aggregated_rows_are_where_the_page_says(cell: int, aggregated: Found) -> None:
    assert_places(aggregated, cell, [row for row in ROWS if row[0] == AGGREGATE], least=6)


def assert_places(found: Found, cell: int, rows: list[tuple[str, str, list[str]]], least: int) -> None:
    checked = 0
    for title, field, cells in rows:
        name = f"ddl {field}" if f"ddl {field}" in found.words and title.startswith("object_modified") else field
        if name not in found.words:
            continue
        checked += 1
        places, said = found.of(name, cell), set(spans(cells[cell]))
        if "in the datasets' own events" in cells[cell]:
            said |= {place for place in places if place.startswith("dataset.")}
        if cells[cell].startswith("*none*"):
            assert places == set(), f"{field} is there, and the page says: {cells[cell]}"
        else:
            assert places & said, f"{field} is in {sorted(places)}, and the page says: {cells[cell]}"
    assert checked > least
