"""Literals in Turtle: whatever a row holds comes out of every engine as it went in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import rdflib
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from pyoxigraph import RdfFormat, parse

from exporter.rdf.terms import PREFIXES, NodeClass, Property
from exporter.rdf.turtle import header, render

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BASE: Final = "snowflake://ACME-PROD/"
TEXT: Final = NodeClass("ah:Query", (), (Property("ah:queryText", "text", "xsd:string"),))
HARD: Final = [
    'a "quote"', "it's", "back\\slash", "\\n is no newline", "line\nbreak", "carriage\r\nreturn", "tab\t", "nul\0nul",
    "\u2028 and \u2029", "\u0085", "🦖 é", "é", "'''", '"""', '\\"', "\\", '"', "\x01\x1f\x7f", "\ufeff", "<a> .",
    "@base", "{}[]^`|", " ", "\u00a0", "\\u0041", "ends with \\", "x" * 100_000,
]  # fmt: skip


@given(st.lists(st.text(min_size=1), min_size=1, max_size=100))
@example(HARD)
@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_texts_come_out_as_they_went_in(spark: SparkSession, texts: list[str]) -> None:
    rows = [("ACME-PROD", f"query/{number}", text) for number, text in enumerate(texts)]
    table = spark.createDataFrame(rows, "account string, path string, text string")
    blocks = [row["turtle"] for row in render(table, TEXT, "ACME-PROD", BASE).collect()]
    document = header(BASE) + "".join(blocks)
    predicate = f"{PREFIXES['ah']}queryText"
    expected = {(f"{BASE}query/{number}", text) for number, text in enumerate(texts)}
    quads = parse(document.encode(), format=RdfFormat.TURTLE)
    found = {(quad.subject.value, quad.object.value) for quad in quads if quad.predicate.value == predicate}  # type: ignore[union-attr]
    assert found == expected
    graph = rdflib.Graph().parse(data=document, format="turtle")
    assert {(str(one), str(text)) for one, text in graph.subject_objects(rdflib.URIRef(predicate))} == expected
