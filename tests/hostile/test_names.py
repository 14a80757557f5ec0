"""Names that try to break out of Turtle, IRIs, JSON, SPARQL and CSV: each is exported unchanged, and adds nothing."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING, Any, Final

import pytest
import rdflib
from pyoxigraph import Literal, NamedNode, RdfFormat, parse

from exporter.cli import main
from exporter.graph.terms import PREFIXES, SYNTAXES
from exporter.system.terminal import visible_text
from tests import exports
from tests.hostile.payloads import EVIL, PAYLOADS, rows

if TYPE_CHECKING:
    from pathlib import Path

READ_AS: Final = {one.ending: RdfFormat.from_extension(one.ending) for one in SYNTAXES.values()}
Triples = set[tuple[str, str, str]]


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("names")
    source = exports.ndjson(rows(), folder / "rows.ndjson")
    options = ("--outputs", "events,graph,catalog", "--graph-format", ",".join(SYNTAXES))
    assert exports.export([source], folder / "out", *options) == 0
    report = exports.report(folder / "out")
    assert report["exported"] == report["rows_in"] > 200
    assert report["violations"] == {}
    return folder / "out"


def triples(path: Path) -> Triples:
    quads = parse(path=path, format=READ_AS[path.suffix[1:]])
    return {(str(quad.subject), str(quad.predicate), str(quad.object)) for quad in quads}


def test_every_syntax_has_the_same_triples_and_no_others(exported: Path) -> None:
    turtle, *others = (triples(exported / "graph" / f"part-00000.{ending}") for ending in READ_AS)
    assert len(turtle) > 10_000
    for other in others:
        assert other == turtle


def test_another_reader_sees_the_same(exported: Path) -> None:
    graph = rdflib.Graph().parse(exported / "graph" / "part-00000.nt", format="nt")
    assert len(graph) == len(triples(exported / "graph" / "part-00000.ttl"))


@pytest.mark.parametrize(
    "file", ["graph/part-00000.ttl", "catalog.ttl", "tags.ttl", "catalog.jsonld", "shacl-report.ttl"]
)
def test_no_payload_becomes_a_statement(file: str, exported: Path) -> None:
    for quad in parse(path=exported / file, format=READ_AS[file.rpartition(".")[2]]):
        for term in (quad.subject, quad.predicate, quad.object):
            assert not isinstance(term, NamedNode) or not term.value.startswith((EVIL, "https://evil.example"))
        assert quad.predicate.value.startswith(tuple(PREFIXES.values())) or file != "graph/part-00000.ttl"


def test_names_are_exported_unchanged(exported: Path) -> None:
    """Each user, and each of their payloads, as a literal of its own."""
    quads = parse(path=exported / "graph" / "part-00000.ttl", format=RdfFormat.TURTLE)
    literals = {quad.object.value for quad in quads if isinstance(quad.object, Literal)}
    users = {row["user_name"] for row in rows()}
    assert users <= literals
    assert {payload for payload in PAYLOADS if any(payload in name for name in users)} == set(PAYLOADS)


def test_every_line_of_the_events_is_one_event(exported: Path) -> None:
    lines = (exported / "events" / "part-00000.ndjson").read_text(encoding="utf-8").split("\n")
    every: list[dict[str, Any]] = [json.loads(line) for line in lines if line]
    assert len(every) == exports.report(exported)["events"]
    assert all({"producer", "schemaURL", "eventTime"} <= event.keys() for event in every)
    assert not any("evil" in event for event in every)


def ask(exported: Path, capsys: pytest.CaptureFixture[str], *options: str) -> str:
    assert main(["query", "user-history", "--graph", str(exported / "graph" / "part-00000.ttl"), *options]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("number", range(0, 230, 31))
def test_a_parameter_is_a_value_whatever_it_holds(
    number: int, exported: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Who asks for one user gets the queries of that one."""
    name = list(rows())[number]["user_name"]
    found = json.loads(ask(exported, capsys, "--param", f"user_name={name}", "--format", "json"))
    assert [row["user_name"] for row in found] == [name]


def test_no_cell_of_csv_is_a_formula_and_none_is_lost(exported: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = json.loads(ask(exported, capsys, "--format", "json"))
    cells = list(csv.reader(io.StringIO(ask(exported, capsys, "--format", "csv"), newline="")))
    header, *body = cells
    assert not [cell for row in cells for cell in row if cell.startswith(("=", "+", "-", "@", "\t", "\r", "\uff1d"))]
    assert [dict(zip(header, map(as_it_was, row), strict=True)) for row in body] == [
        {name: value or "" for name, value in row.items()} for row in found
    ]


def as_it_was(cell: str) -> str:
    """What docs/safety.md says that a program does with a cell."""
    return (
        cell[1:] if cell.startswith("'") and cell.lstrip("'")[:1] in set("=+-@\t\r\uff1d\uff0b\uff0d\uff20") else cell
    )


def test_a_table_holds_nothing_that_a_terminal_obeys(exported: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = ask(exported, capsys)
    assert "\\x1b]0;evil\\x07" in table
    assert "\\u202egnp." in table
    assert visible_text(table) == table
    assert table.count("\n") == len(list(rows())) + 3, "no name makes a line of its own"
