"""The histories of ``tests/model/test_stories.py``, each a separate account of one export with another base."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final

import pytest
from pyoxigraph import Literal, NamedNode, Store

from exporter.cli import main
from exporter.graph.store import load
from exporter.graph.terms import full
from tests import exports
from tests.model.test_stories import BESIDE, LOCATION, RENAME, SWAP, row, truncated

if TYPE_CHECKING:
    from pathlib import Path


BASE: Final = "https://data.example.org/snowflake/"
PLACE: Final = "<s3://bucket/a%20b/%C3%BC%2520.csv>"
PLACED: Final = [
    row("unload", "08:00", objects_modified=[LOCATION]),
    row("load", "09:00", base_objects_accessed=[LOCATION]),
]
STORIES: Final = {
    "RENAME": RENAME,
    "SWAP": SWAP,
    "TWICE": [*SWAP[1:3], *SWAP[1:3], SWAP[0], SWAP[0], SWAP[0]],
    "BESIDE": BESIDE,
    "CUT": [truncated(phase) for phase in range(9)],
    "ONE": PLACED,
    "OTHER": PLACED,
}
NAMES: Final = """PREFIX ah: <https://w3id.org/access-history#>
SELECT ?name ?since ?until WHERE {
  <THING> ah:hasName ?called . ?called ah:nameText ?name ; ah:validFrom ?since .
  OPTIONAL { ?called ah:validUntil ?until }
} ORDER BY ?name"""


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("stories")
    rows = [
        {**one, "organization_name": "STORY", "account_name": name} for name, rows in STORIES.items() for one in rows
    ]
    source = exports.ndjson(rows, folder / "rows.ndjson")
    assert exports.export([source], folder / "out", "--base", BASE) == 0
    return folder / "out"


@pytest.fixture(scope="module")
def graph(out: Path) -> Store:
    return load(out)


def of_class(graph: Store, story: str, name: str) -> set[str]:
    """The paths of the nodes of a class in a story's account."""
    account = f"{BASE}account/STORY-{story}/"
    found = graph.quads_for_pattern(None, NamedNode(full("rdf:type")), NamedNode(full(f"ah:{name}")))
    nodes = {quad.subject.value for quad in found}  # type: ignore[union-attr]  # pyoxigraph types results and terms wider
    return {node.removeprefix(account) for node in nodes if node.startswith(account)}


def names(graph: Store, story: str, key: str) -> list[tuple[str, str, str | None]]:
    """Name, and from when to when an object had it."""
    found = graph.query(NAMES.replace("THING", f"{BASE}account/STORY-{story}/{key}"))
    return [(one["name"].value, _clock(one["since"]), _clock(one["until"])) for one in found]  # type: ignore[misc, union-attr, index]


def _clock(moment: Literal | None) -> str | None:
    return moment and moment.value[len("2026-03-01T") :].removesuffix(":00Z")


def test_a_renamed_table_is_one_table_with_two_names(graph: Store) -> None:
    assert names(graph, "RENAME", "table/5") == [("D.S.A", "08:00", "08:20"), ("D.S.B", "08:20", None)]
    assert of_class(graph, "RENAME", "Table") == {"table/5"}


def test_swapped_tables_keep_their_ids_and_change_names(graph: Store) -> None:
    assert names(graph, "SWAP", "table/5") == [("D.S.X", "08:00", "08:20"), ("D.S.Y", "08:20", None)]
    assert names(graph, "SWAP", "table/6") == [("D.S.X", "08:20", None), ("D.S.Y", "08:00", "08:20")]


def test_the_rows_of_a_swap_are_both_kept_and_copies_dropped(graph: Store, out: Path) -> None:
    assert of_class(graph, "TWICE", "Query") == {"query/swap", "query/read-5"}
    assert len(of_class(graph, "TWICE", "Change")) == 2
    assert exports.report(out)["duplicates"] == 4


@pytest.mark.parametrize(("key", "name"), [("masking-policy/5", "G.P"), ("table/7", "D.S.RIGHT"), ("tag/10", "G.TAG")])
def test_a_thing_that_is_only_named_beside_others_keeps_all_its_names(key: str, name: str, graph: Store) -> None:
    """A policy that is enforced, the partner of a join, a tag that is set."""
    assert names(graph, "BESIDE", key) == [(f"{name}_NEW", "09:00", None), (f"{name}_OLD", "08:00", "09:00")]


def test_what_snowflake_truncated_is_on_record(graph: Store, out: Path) -> None:
    """All but the first of the rows lack something."""
    said = {(quad.subject.value, quad.object.value)  # type: ignore[union-attr]  # pyoxigraph types results and terms wider
            for quad in graph.quads_for_pattern(None, NamedNode(full("ah:incomplete")), None)}  # fmt: skip
    queries = {f"{BASE}account/STORY-CUT/query/phase-{phase}" for phase in range(1, 9)}
    assert {query for query, text in said if text.endswith(" TRUNCATED")} == queries
    assert exports.report(out)["truncated"] == 8


def test_nothing_is_named_after_a_sentinel(out: Path) -> None:
    on_record = {f"<{full(term)}>" for term in ("ah:properties", "ah:incomplete")}
    told = [triple for triple in exports.triples(out) if triple[1] not in on_record]
    assert [triple for triple in told if "TRUNCATED" in str(triple) or '"-1"' in str(triple)] == []
    for event in map(json.loads, exports.events(out)):
        every = [event.get("dataset"), *event.get("inputs", []), *event.get("outputs", [])]
        assert not [one for one in every if one and "TRUNCATED" in one["name"]]
        assert not [one for one in every if one and '"name": "TRUNCATED"' in json.dumps(one)]


def test_a_truncated_row_keeps_what_is_left(graph: Store) -> None:
    """Until the last phase its objects are known, if not their columns; then only query, time and user."""
    accesses = of_class(graph, "CUT", "Access")
    assert "query/phase-7/access/direct/table/1" in accesses
    assert not [one for one in accesses if one.startswith("query/phase-8/")]
    derived = of_class(graph, "CUT", "ColumnDerivation")
    assert derived
    assert {one.split("/version/")[1].split("/")[0] for one in derived} == {"phase-0"}


def test_a_place_is_one_for_all_accounts_and_its_versions_are_not(out: Path) -> None:
    triples = exports.triples(out)
    urls = {triple[2] for triple in triples if triple[0] == PLACE and triple[1].endswith("#locationUrl>")}
    assert urls == {'"s3://bucket/a b/ü%20.csv"'}
    versions = {one for one, term, of in triples if of == PLACE and term.endswith("#specializationOf>")}
    assert {one.removeprefix(f"<{BASE}account/").split("/")[0] for one in versions} == {"STORY-ONE", "STORY-OTHER"}


def test_every_iri_is_below_the_base_and_the_graph_conforms(out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """All but what is the same whoever exports it: places outside of Snowflake, accounts and organizations."""
    subjects = {triple[0] for triple in exports.triples(out)}
    elsewhere = {one for one in subjects if not one.startswith(f"<{BASE}account/STORY-")}
    named = {one for one in elsewhere if re.fullmatch(r"<snowflake://(STORY-[A-Z]+/account|STORY/organization)>", one)}
    assert elsewhere - named == {PLACE}
    assert "<snowflake://STORY/organization>" in named
    assert main(["validate", str(out), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["conforms"] is True
