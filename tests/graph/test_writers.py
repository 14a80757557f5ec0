"""The graph in all syntaxes: the same triples in each, read by other programs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

import pytest
import rdflib
from pyoxigraph import DefaultGraph, NamedNode, RdfFormat, parse
from rdflib import Graph

from exporter.graph.iri import Iris
from exporter.graph.nodes.objects import of_object
from exporter.graph.store import load_digest, load_iri
from exporter.graph.terms import SYNTAXES
from exporter.graph.writers import Writer, writer_of
from exporter.input.query_history import History
from exporter.model.answers import Answers, Ending
from exporter.model.facts import Agent, Change, Content, Setting
from exporter.model.object_state import NamePeriod, ObjectHistory, Profile
from exporter.pipeline.job import ExportJob
from exporter.pipeline.texts import pieces
from tests.graph.samples import ACCOUNT, BASE, HARD, IRIS, NINE, TEN, copied, of_query, query, table

if TYPE_CHECKING:
    from exporter.graph.terms import Node

READ_AS: Final = {one.ending: RdfFormat.from_extension(one.ending) for one in SYNTAXES.values()}
LOAD: Final = load_iri(load_digest(ACCOUNT, "q1"), BASE)
# rdflib's own reader of JSON-LD uses what rdflib has deprecated
pytestmark = pytest.mark.filterwarnings("ignore:ConjunctiveGraph is deprecated:DeprecationWarning")


def of_hard(text: str, number: int, iris: Iris = IRIS) -> list[Node]:
    """A query and an object that have this text wherever a text may stand."""
    source, target = table(2 * number, text), table(2 * number + 1, text)
    setting = Setting("c", target.key, text, "tags", text, "tag/1", text, "ADD", text)
    change = Change("c", target, text, text, policy_body=text, comment=text, properties=text, settings=(setting,))
    content = copied(source, text, target, text)
    whole = Content(
        content.accesses, content.writes, content.derivations, changes=(change,), agents=(Agent(text, text, text),)
    )
    state = {source.key: "before/q-1"}
    answers = Answers(state, {(source.key, text): "before/q-1"}, endings={target.key: Ending(TEN, text, TEN)})
    facts = query(whole, f"{number}{text}", history=History(query_text=text, end_time=TEN, rows_inserted=2**40))
    profile = Profile(ACCOUNT, target.key, "1", {"TABLE"}, {text}, locations={text}, columns={text: {"1", text}})
    life = ObjectHistory([NamePeriod(NINE, text, TEN, NINE)], {"before/q-1": None}, {(text, "before/q-1")})
    return [*of_query(facts, answers, iris), *of_object(profile, life, iris)]


NODES: Final = [node for number, text in enumerate(HARD) for node in of_hard(text, number)]


def document(name: str, nodes: list[Node] = NODES, size: int = 50) -> str:
    """As files have it: chunks of ``size`` nodes, each line ended."""
    one = writer(name)
    texts = [one.render(node).encode() for node in nodes]
    chunks = [one.chunk(texts[start : start + size], is_first=not start) for start in range(0, len(texts), size)]
    return "".join(f"{text}\n" for text in [*(chunk.decode() for chunk in chunks), one.footer] if text)


def writer(name: str, base: str = BASE) -> Writer:
    return writer_of(name, base, LOAD if SYNTAXES[name].names_load else None)


def triples(name: str, text: str) -> set[tuple[str, str, str]]:
    quads = parse(text.encode(), format=READ_AS[SYNTAXES[name].ending])
    return {(str(quad.subject), str(quad.predicate), str(quad.object)) for quad in quads}


@pytest.mark.parametrize("name", list(SYNTAXES)[1:])
def test_the_triples_are_the_same_in_every_syntax(name: str) -> None:
    """Whatever the names and texts hold."""
    turtle, other = triples("turtle", document("turtle")), triples(name, document(name))
    assert len(turtle) > 1000
    assert sorted(other - turtle) == []
    assert sorted(turtle - other) == []


@pytest.mark.parametrize("name", SYNTAXES)
def test_only_a_syntax_that_names_the_load_has_a_named_graph(name: str) -> None:
    """Questions read the others, and only their default graph: they would find nothing in a named one."""
    quads = parse(document(name, NODES[:6]).encode(), format=READ_AS[SYNTAXES[name].ending])
    wanted = NamedNode(LOAD) if SYNTAXES[name].names_load else DefaultGraph()
    assert {quad.graph_name for quad in quads} == {wanted}, f"{name}: say names_load in exporter/graph/terms.py"


@pytest.mark.parametrize("base", [BASE, "https://lineage.example/", "urn:x/"])
@pytest.mark.parametrize("name", ["ntriples", "jsonld"])
def test_rows_of_another_account_too(name: str, base: str) -> None:
    nodes = of_hard("T", 1, Iris("ACME-SALES", ACCOUNT, base))
    turtle, other = writer("turtle", base), writer(name, base)
    found = [triples(kind, one.document(map(one.render, nodes))) for kind, one in (("turtle", turtle), (name, other))]
    assert found[0] == found[1]
    below = "snowflake://ACME-SALES/" if base == BASE else f"{base}account/ACME-SALES/"
    assert all(subject.startswith(f"<{below}") for subject, _, _ in found[0])


@pytest.mark.parametrize(("name", "form"), [("ntriples", "nt"), ("jsonld", "json-ld")])
def test_another_engine_reads_the_same(name: str, form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rdflib, "NORMALIZE_LITERALS", False)
    nodes = [node for number, text in enumerate(HARD) if text.isprintable() for node in of_hard(text[:99], number)]
    text = document(name, nodes)
    again = Graph().parse(data=text, format=form).serialize(format="nt")
    assert triples("ntriples", again) == triples(name, text)


@pytest.mark.parametrize("name", [name for name, one in SYNTAXES.items() if one.separator])
def test_every_chunk_is_a_document(name: str) -> None:
    one = writer(name)
    texts = [one.render(node).encode() for node in NODES[:6]]
    chunks = one.chunk(texts[:3], is_first=True), one.chunk(texts[3:], is_first=False)
    parts = [triples(name, chunk.decode()) for chunk in chunks]
    assert set.union(*parts) == triples(name, document(name, NODES[:6]))
    assert all(parts)


def test_json_is_a_document_as_a_whole() -> None:
    read = json.loads(document("jsonld", NODES[:7], size=2))
    assert [node["id"] for node in read["@graph"]] == [
        node.iri if "://" in node.iri else BASE + node.iri for node in NODES[:7]
    ]


def test_nothing_is_no_file() -> None:
    assert list(pieces([], ExportJob(ACCOUNT, BASE))) == []


def test_a_load_is_a_named_graph() -> None:
    quads = parse(document("nquads").encode(), format=RdfFormat.N_QUADS)
    names = {str(quad.graph_name) for quad in quads}
    assert names == {f"<{LOAD}>"}
    assert LOAD.startswith(f"snowflake://{ACCOUNT}/load/")


def test_the_same_queries_are_the_same_load() -> None:
    """In any order; and others are another."""

    def load(*queries: str) -> str:
        digest = 0
        for one in queries:
            digest ^= load_digest("A", one)
        return load_iri(digest, "snowflake://A/")

    names = [load(*queries) for queries in ("xyz", "zxy", "xy", "")]
    assert names[0] == names[1]
    assert len(set(names)) == 3
    assert load_digest("A", "BC") != load_digest("AB", "C")
