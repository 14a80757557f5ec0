"""IRIs: two keys never meet in one, and every engine reads them as they are written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import rdflib
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from pyoxigraph import RdfFormat, parse

from exporter.facts.identifiers import segment
from exporter.rdf import iri
from tests.columns import applied

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BASE: Final = "snowflake://ACME-PROD/"
few = settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
TEXTS: Final = st.one_of(st.text(min_size=1), st.text(alphabet="./%a2E F?#:é", min_size=1, max_size=6))
URLS: Final = st.builds("{}://{}".format, st.sampled_from(("s3", "file", "gcs", "https", "ah", "S3")), TEXTS)


def written(iris: list[str]) -> tuple[list[str], list[str]]:
    """The subjects of Turtle with a base, as pyoxigraph and as rdflib read them."""
    text = f"@base <{BASE}> .\n" + "".join(f"<{one}> a <x:{n}> .\n" for n, one in enumerate(iris))
    by_pyoxigraph = [quad.subject.value for quad in parse(text.encode(), format=RdfFormat.TURTLE)]  # type: ignore[union-attr]
    graph = rdflib.Graph().parse(data=text, format="turtle")
    kinds = {str(kind): str(subject) for subject, kind in graph.subject_objects(rdflib.RDF.type)}
    return by_pyoxigraph, [kinds[f"x:{n}"] for n in range(len(iris))]


def assert_kept(iris: list[str]) -> None:
    """Nothing that an engine does to an IRI (resolving, normalising) changes it."""
    whole = [one if "://" in one else BASE + one for one in iris]
    for read in written(iris):
        assert read == whole


@given(st.lists(TEXTS, min_size=1, max_size=100, unique=True))
@example(
    [".", "..", "%2E", "%2E%2E", "a/b", "a%2Fb", "a b", "a+b", "#", "?", "\0", "\n", "<>", "🦖", "\u00e9", "e\u0301"]
)
@few
def test_users_and_queries(spark: SparkSession, texts: list[str]) -> None:
    paths = applied(spark, iri.user_path, texts) + applied(spark, iri.query_path, texts)
    assert len(set(paths)) == 2 * len(texts)
    assert_kept(paths)


@given(st.lists(URLS, min_size=1, max_size=100, unique=True))
@example(
    ["s3://b/a/../x", "s3://b/x", "s3://b/./x", "s3://b/a%20b", "s3://b/a b", "s3://b/a+b", "s3://b/a?b", "s3://b"]
)
@example(
    ["file:///tmp/data/", "file:///tmp/data", "file:///C:/x", "s3://b//x", "s3://..", "ah://x", "https://x.org/#y"]
)
@few
def test_places(spark: SparkSession, urls: list[str]) -> None:
    keys = [f"location/{one}" for one in applied(spark, segment, urls)]
    paths = applied(spark, iri.object_path, keys)
    assert len(set(paths)) == len(urls)
    assert_kept(paths)
    assert not [one for one in paths if one.startswith(("https:", "ah:", "http:"))], (
        "no row names a term of a vocabulary"
    )


@given(st.lists(st.tuples(st.sampled_from(("table/1", "table/name/A", "view/1")), TEXTS), min_size=1, unique=True))
@few
def test_columns(spark: SparkSession, pairs: list[tuple[str, str]]) -> None:
    paths = applied(spark, lambda key, name: iri.column_path(name, key), pairs)
    assert len(set(paths)) == len(pairs)
    assert_kept(paths)
