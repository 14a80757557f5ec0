"""The graph as files: each one parses by itself in two engines, has no blank nodes, and conforms."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
import rdflib
from pyoxigraph import RdfFormat, Store, parse

from exporter.cli import main
from exporter.graph.terms import AH
from tests import exports

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def out() -> Path:
    return exports.everything()


def test_two_engines_read_the_same_triples_and_no_blank_node(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rdflib, "NORMALIZE_LITERALS", False)  # else rdflib writes +00:00 for Z
    files = sorted((out / "graph").glob("*.ttl"))
    assert files
    for file in files:
        by_rdflib = rdflib.Graph().parse(file)
        assert not [triple for triple in by_rdflib for term in triple if isinstance(term, rdflib.BNode)]
        # rdflib writes N-Triples with its own escapes: they are compared as one engine reads them.
        again = parse(by_rdflib.serialize(format="nt", encoding="utf-8"), format=RdfFormat.N_TRIPLES)
        assert set(again) == set(parse(path=file, format=RdfFormat.TURTLE))


def test_no_two_files_describe_one_subject(out: Path) -> None:
    """One block a node: a subject that two blocks describe would have two of what there can be one of."""
    seen: set[str] = set()
    for file in sorted((out / "graph").glob("*.ttl")):
        blocks = [line.split(" a ")[0] for line in file.read_text("utf-8").split("\n") if line.startswith("<")]
        own = [block for block in blocks if "://" not in block or block.startswith("<snowflake://")]
        assert len(own) == len(set(own))
        assert not seen & set(own)
        seen |= set(own)


def test_the_whole_graph_conforms(out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", str(out), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["conforms"] is True


def test_the_report_counts_what_the_graph_holds(out: Path) -> None:
    store = Store()
    for file in (out / "graph").glob("*.ttl"):
        store.bulk_load(path=file, format=RdfFormat.TURTLE)
    queries = list(store.query(f"SELECT ?q WHERE {{ ?q a <{AH}Query> }}"))  # type: ignore[arg-type]  # typed wider than it is here
    report = exports.report(out)
    assert len(queries) == report["queries"]
    assert report["nodes"] == report["nodes_checked"]
    assert report["violations"] == {}
