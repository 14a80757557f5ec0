"""IRIs: two keys never have the same one, and every engine reads them unchanged."""

from __future__ import annotations

from typing import Final

import pytest
import rdflib
from hypothesis import example, given
from hypothesis import strategies as st
from pyoxigraph import RdfFormat, parse

from exporter.graph.iri import STORAGE_SCHEMES, Iris, absolute_iri
from exporter.model.identifiers import segment
from exporter.settings import DEFAULT_ACCOUNT
from tests.graph.samples import ACCOUNT, BASE, IRIS

TEXTS: Final = st.one_of(st.text(min_size=1), st.text(alphabet="./%a2E F?#:é", min_size=1, max_size=6))
URLS: Final = st.builds("{}://{}".format, st.sampled_from(("s3", "file", "gcs", "https", "ah", "S3")), TEXTS)


def written(iris: list[str]) -> tuple[list[str], list[str]]:
    """The subjects of Turtle with a base, as pyoxigraph and as rdflib read them."""
    text = f"@base <{BASE}> .\n" + "".join(f"<{one}> a <x:{n}> .\n" for n, one in enumerate(iris))
    by_pyoxigraph = [quad.subject.value for quad in parse(text.encode(), format=RdfFormat.TURTLE)]  # type: ignore[union-attr]  # pyoxigraph types results and terms wider
    graph = rdflib.Graph().parse(data=text, format="turtle")
    kinds = {str(kind): str(subject) for subject, kind in graph.subject_objects(rdflib.RDF.type)}
    return by_pyoxigraph, [kinds[f"x:{n}"] for n in range(len(iris))]


def assert_kept(iris: list[str]) -> None:
    """Nothing that an engine does to an IRI (resolving, normalising) changes it."""
    in_full = [absolute_iri(one, BASE) for one in iris]
    for read in written(iris):
        assert read == in_full


@given(st.lists(TEXTS, min_size=1, max_size=100, unique=True))
@example(
    [".", "..", "%2E", "%2E%2E", "a/b", "a%2Fb", "a b", "a+b", "#", "?", "\0", "\n", "<>", "🦖", "\u00e9", "e\u0301"]
)
def test_users_and_queries(texts: list[str]) -> None:
    paths = [IRIS.user(text) for text in texts] + [IRIS.query(text) for text in texts]
    assert len(set(paths)) == 2 * len(texts)
    assert_kept(paths)


@given(st.lists(URLS, min_size=1, max_size=100, unique=True))
@example(
    ["s3://b/a/../x", "s3://b/x", "s3://b/./x", "s3://b/a%20b", "s3://b/a b", "s3://b/a+b", "s3://b/a?b", "s3://b"]
)
@example(
    ["file:///tmp/data/", "file:///tmp/data", "file:///C:/x", "s3://b//x", "s3://..", "ah://x", "https://x.org/#y"]
)
@example(["s3://a@b:80\n", "s3://a@b:80", "s3://a:b@c", "s3://a@b:80/c:d@e", "s3://~", "s3://%7E"])
def test_places(urls: list[str]) -> None:
    paths = [IRIS.object(f"location/{segment(url)}") for url in urls]
    assert len(set(paths)) == len(urls)
    assert_kept(paths)
    assert not [one for one in paths if one.startswith(("https:", "ah:", "http:"))], (
        "no row names a term of a vocabulary"
    )


def test_a_location_outside_of_snowflake_is_its_own_iri() -> None:
    shown = {
        "s3://bucket/a b/ü%20.csv": "s3://bucket/a%20b/%C3%BC%2520.csv",
        "gcs://b/day=1,2+3": "gcs://b/day=1,2+3",
        "abfss://box@store.dfs.core.windows.net/x": "abfss://box@store.dfs.core.windows.net/x",
        "s3://a b@c": "s3://a%20b%40c",
        "https://x.org/y": "location/https%3A%2F%2Fx.org%2Fy",
        "S3://b": "location/S3%3A%2F%2Fb",
        "@stage/x": "location/%40stage%2Fx",
    }
    assert {url: IRIS.object(f"location/{segment(url)}") for url in shown} == shown


def test_what_only_has_a_place_for_its_kind_is_below_the_account() -> None:
    """A thing without a domain that has a place beside its id or name."""
    assert [IRIS.object(key) for key in ("location/123", "location/name/A")] == ["location/123", "location/name/A"]


@pytest.mark.parametrize("scheme", STORAGE_SCHEMES)
def test_every_scheme_of_storage(scheme: str) -> None:
    assert IRIS.object(f"location/{segment(f'{scheme}://b/x')}") == f"{scheme}://b/x"


@given(st.lists(st.tuples(st.sampled_from(("table/1", "table/name/A", "view/1")), TEXTS), min_size=1, unique=True))
def test_columns(pairs: list[tuple[str, str]]) -> None:
    paths = [IRIS.column(key, name) for key, name in pairs]
    assert len(set(paths)) == len(pairs)
    assert_kept(paths)


def test_versions() -> None:
    assert IRIS.version("table/1", "q 1") == IRIS.state("table/1", "version/q%201") == "table/1/version/q%201"
    assert IRIS.column_state("table/1", "before/q-1", "a.b/c") == "table/1/before/q-1/column/a.b%2Fc"


def test_another_account_is_below_its_own_namespace() -> None:
    other = Iris("ACME-SALES", ACCOUNT, BASE)
    assert other.query("q") == "snowflake://ACME-SALES/query/q"
    assert other.object("table/7") == "snowflake://ACME-SALES/table/7"
    assert other.object("location/s3%3A%2F%2Fb") == "s3://b"


@pytest.mark.parametrize("base", ["https://lineage.example/", "https://lineage.example/a/b/", "urn:x/"])
def test_another_account_is_below_a_base_of_ones_own(base: str) -> None:
    others = [Iris(account, DEFAULT_ACCOUNT, base).object("table/7") for account in ("ACME-PROD", "A B", "A~B")]
    names = ("ACME-PROD", "A+B", "A%7EB")
    assert [absolute_iri(one, base) for one in others] == [f"{base}account/{name}/table/7" for name in names]
    assert Iris(DEFAULT_ACCOUNT, DEFAULT_ACCOUNT, base).object("table/7") == "table/7"
