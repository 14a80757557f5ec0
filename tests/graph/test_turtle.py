"""Literals in every syntax: every engine reads exactly the text of the row."""

from __future__ import annotations

from typing import Final

import pytest
import rdflib
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pyoxigraph import RdfFormat, parse

from exporter.graph import writers
from exporter.graph.terms import PREFIXES, Node, NodeClass, Property
from exporter.graph.writers import jsonld_writer
from tests.graph.samples import BASE, HARD

TEXT: Final = NodeClass("ah:Query", (), (Property("ah:queryText", "xsd:string", many=True),))
PREDICATE: Final = f"{PREFIXES['ah']}queryText"
CONTEXT: Final = writers.context_of([TEXT], PREFIXES)


def nodes(texts: list[str]) -> list[Node]:
    return [Node(TEXT, f"query/{n}", TEXT.types, {"ah:queryText": (text,)}) for n, text in enumerate(texts)]


def expected(texts: list[str]) -> set[tuple[str, str]]:
    return {(f"{BASE}query/{n}", text) for n, text in enumerate(texts)}


def found(document: str, form: RdfFormat) -> set[tuple[str, str]]:
    quads = parse(document.encode(), format=form)
    return {(quad.subject.value, quad.object.value) for quad in quads if quad.predicate.value == PREDICATE}  # type: ignore[union-attr]  # pyoxigraph types results and terms wider


any_texts = given(st.lists(st.text(min_size=1), min_size=1, max_size=100))


@any_texts
@example(HARD)
def test_texts_are_read_back_unchanged(texts: list[str]) -> None:
    document = writers.turtle_header(BASE) + "\n".join(writers.turtle(node) for node in nodes(texts))
    assert found(document, RdfFormat.TURTLE) == expected(texts)


@any_texts
@example(HARD)
@settings(max_examples=20)
def test_another_engine_reads_the_same(texts: list[str]) -> None:
    document = writers.turtle_header(BASE) + "\n".join(writers.turtle(node) for node in nodes(texts))
    graph = rdflib.Graph().parse(data=document, format="turtle")
    read = graph.subject_objects(rdflib.URIRef(PREDICATE))
    assert {(str(one), str(text)) for one, text in read} == expected(texts)


@any_texts
@example(HARD)
def test_in_lines(texts: list[str]) -> None:
    document = "\n".join(map(writers.ntriples_renderer(BASE), nodes(texts)))
    assert found(document, RdfFormat.N_TRIPLES) == expected(texts)
    assert len(document.split("\n")) == 2 * len(texts)


@any_texts
@example(HARD)
def test_in_json(texts: list[str]) -> None:
    writer = jsonld_writer(BASE, CONTEXT)
    document = writer.document(map(writer.render, nodes(texts)))
    assert found(document, RdfFormat.JSON_LD) == expected(texts)


@pytest.mark.parametrize("text", ["", "plain", "it's", "é 🦖 \u2028"])
def test_text_without_special_characters_is_not_escaped(text: str) -> None:
    assert writers.turtle(nodes([text])[0]) == f'<query/0> a ah:Query ;\n    ah:queryText "{text}" .'


def test_a_block() -> None:
    of = NodeClass(
        "ah:Query",
        ("prov:Activity",),
        (
            Property("prov:startedAtTime", "xsd:dateTime", many=True),
            Property("ah:position", "xsd:integer", many=True),
            Property("ah:setByProvider", "xsd:boolean", many=True),
            Property("prov:used", "ah:Version", many=True),
            Property("ah:incomplete", "xsd:string", many=True),
        ),
    )
    values = {
        "prov:startedAtTime": (1_767_258_000_120_000, -1_000_000),
        "ah:position": (1, -20),
        "ah:setByProvider": (True, False),
        "prov:used": ("table/1/version/q", "s3://b/c"),
        "ah:incomplete": ('a "b"', "c"),
    }
    assert writers.turtle(Node(of, "query/q", of.types, values)) == (
        "<query/q> a ah:Query , prov:Activity ;\n"
        '    prov:startedAtTime "2026-01-01T09:00:00.12Z"^^xsd:dateTime , "1969-12-31T23:59:59Z"^^xsd:dateTime ;\n'
        "    ah:position 1 , -20 ;\n"
        "    ah:setByProvider true , false ;\n"
        "    prov:used <table/1/version/q> , <s3://b/c> ;\n"
        '    ah:incomplete "a \\"b\\"" , "c" .'
    )
