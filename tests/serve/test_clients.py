"""/sparql as the clients of others ask it, as the W3C's tests of the protocol do, and while it is attacked."""

from __future__ import annotations

import http.client
import json
import socket
import subprocess
import sys
import threading
from contextlib import closing, contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlencode, urlsplit

import pytest
from pyoxigraph import RdfFormat, parse
from rdflib import Graph
from rdflib.plugins.stores.sparqlstore import SPARQLStore

from exporter.serve.server import make
from tests.ask.jena import java
from tests.graph.shape_graphs import VALID
from tests.serve.test_protocol import AH, ENDLESS, JSON, TRIPLES, USERS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from flask.testing import FlaskClient

    from exporter.serve.site import Site

FORMS: Final = {
    "text/turtle": RdfFormat.TURTLE,
    "application/n-triples": RdfFormat.N_TRIPLES,
    "application/rdf+xml": RdfFormat.RDF_XML,
    "application/ld+json": RdfFormat.JSON_LD,
}
DESCRIBE: Final = f"{AH}DESCRIBE ?user WHERE {{ ?user a ah:User }}"


@pytest.fixture
def client(small: Site) -> FlaskClient:
    return make(small, "127.0.0.1").test_client()


def triples(answer: Any) -> set[str]:
    form = FORMS[answer.content_type.partition(";")[0]]
    return {str(quad.triple) for quad in parse(answer.data, form)}


# --- media types ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "accept",
    [
        *FORMS,
        "*/*",
        "application/*",
        "application/sparql-results+xml, application/rdf+xml",  # rdflib's SPARQLStore and SPARQLWrapper
        "application/rdf+xml,application/xml,text/xml",
        "application/turtle,text/turtle",
        "application/x-turtle,text/turtle;q=0.9,text/html;q=0.5,*/*;q=0.1",
        "application/x-binary-rdf;q=0.8, application/rdf+xml;q=0.5, text/turtle;q=0.5, */*;q=0.1",  # RDF4J
        "application/sparql-results+json, application/sparql-results+xml;q=0.9, */*;q=0.1",
        "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
        "application/json",
    ],
)
@pytest.mark.parametrize("query", [TRIPLES, DESCRIBE])
def test_triples_in_the_form_that_a_client_takes(client: FlaskClient, query: str, accept: str) -> None:
    plain = client.get("/sparql", query_string={"query": query}, headers={"Accept": "application/n-triples"})
    answer = client.get("/sparql", query_string={"query": query}, headers={"Accept": accept})
    assert answer.status_code == 200, answer.text
    assert triples(answer) == triples(plain) != set()


def test_a_client_that_takes_no_triples_is_told_the_forms(client: FlaskClient) -> None:
    answer = client.get("/sparql", query_string={"query": TRIPLES}, headers={"Accept": "image/png"})
    assert answer.status_code == 406
    assert all(form in answer.text for form in FORMS)


@pytest.mark.parametrize("path", ["/sparql", "/health", "/", "/.well-known/void", "/questions"])
def test_head_is_get_without_a_body(client: FlaskClient, path: str) -> None:
    given = {"query": USERS} if path == "/sparql" else {}
    got, asked = client.get(path, query_string=given), client.head(path, query_string=given)
    assert (asked.status_code, asked.content_type, asked.data) == (got.status_code, got.content_type, b"")


def test_relative_iris_are_those_of_the_graph(month: Site) -> None:
    client = make(month, "127.0.0.1").test_client()
    (table,) = month.rows("page-named", {"object_name": "RAW.CRM.CUSTOMERS"})
    path = month.path(str(next(iter(table.values()))))
    answer = client.get("/sparql", query_string={"query": f"ASK {{ <{path}> ?is ?so }}"})
    assert answer.json["boolean"] is True


def test_relative_iris_without_an_export_are_those_of_the_endpoint(client: FlaskClient) -> None:
    query = "SELECT ?x WHERE { VALUES ?x { <a> } }"
    answer = client.get("/sparql", query_string={"query": query})
    assert answer.json["results"]["bindings"] == [{"x": {"type": "uri", "value": "http://localhost/a"}}]


@pytest.mark.parametrize("accept", [*FORMS, ""])
def test_the_endpoint_describes_itself(client: FlaskClient, accept: str) -> None:
    """SPARQL 1.1 Service Description: GET without a query; and VoID, at the place of RFC 5785."""
    headers = {"Accept": accept} if accept else {}
    of_service, void = (triples(client.get(path, headers=headers)) for path in ("/sparql", "/.well-known/void"))
    sd = "http://www.w3.org/ns/sparql-service-description#"
    address = "<http://localhost/sparql>"
    assert f"{address} <{sd}endpoint> {address}" in of_service
    assert f"{address} <{sd}supportedLanguage> <{sd}SPARQL11Query>" in of_service
    assert f"<http://localhost/sparql#graph> <http://rdfs.org/ns/void#sparqlEndpoint> {address}" in void
    assert not any("_:" in one for one in of_service | void)


# --- the W3C's tests of the protocol for queries that need no dataset of their own ------------------------------------


def asked(client: FlaskClient, **request: Any) -> Any:
    return client.open("/sparql", **request)


ASK: Final = "ASK {}"
FORM: Final = "application/x-www-form-urlencoded"
DIRECT: Final = "application/sparql-query"


@pytest.mark.parametrize(
    "request_",
    [
        {"method": "POST", "data": urlencode({"query": ASK}), "content_type": FORM},
        {"method": "GET", "query_string": {"query": ASK}},
        {"method": "POST", "data": ASK, "content_type": DIRECT},
    ],
    ids=["query_post_form", "query_get", "query_post_direct"],
)
def test_queries_that_succeed(client: FlaskClient, request_: dict[str, Any]) -> None:
    answer = asked(client, **request_)
    assert (answer.status_code, answer.json["boolean"]) == (200, True)


@pytest.mark.parametrize(
    ("query", "kinds"),
    [
        ("SELECT (1 AS ?value) {}", {JSON, "application/sparql-results+xml", "text/csv", "text/tab-separated-values"}),
        (ASK, {JSON, "application/sparql-results+xml"}),
        ("DESCRIBE <http://example.org/>", set(FORMS)),
        ("CONSTRUCT { <s> <p> 1 } WHERE {}", set(FORMS)),
    ],
    ids=["query_content_type_select", "query_content_type_ask", "query_content_type_describe", "…_construct"],
)
def test_content_types(client: FlaskClient, query: str, kinds: set[str]) -> None:
    for accept in kinds:
        answer = asked(client, method="POST", data=query, content_type=DIRECT, headers={"Accept": accept})
        assert (answer.status_code, answer.content_type.partition(";")[0]) == (200, accept)


@pytest.mark.parametrize(
    "request_",
    [
        {"method": "PUT", "query_string": {"query": ASK}},
        {"method": "GET", "query_string": [("query", ASK), ("query", "SELECT * {}")]},
        {"method": "POST", "data": ASK, "content_type": "text/plain"},
        {"method": "POST", "data": urlencode({"query": ASK})},
        {"method": "POST", "data": ASK},
        {"method": "POST", "data": ASK.encode("utf-16"), "content_type": f"{DIRECT}; charset=UTF-16"},
        {"method": "GET", "query_string": {"query": "ASK {"}},
    ],
    ids=[
        "bad_query_method", "bad_multiple_queries", "bad_query_wrong_media_type", "bad_query_missing_form_type",
        "bad_query_missing_direct_type", "bad_query_non_utf8", "bad_query_syntax",
    ],
)  # fmt: skip
def test_queries_that_fail(client: FlaskClient, request_: dict[str, Any]) -> None:
    assert 400 <= asked(client, **request_).status_code < 500


# --- a server that runs -----------------------------------------------------------------------------------------------


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """A server in a process of its own; its address."""
    graph = folder / "small.ttl"
    graph.write_bytes(VALID.read_bytes())
    command = [sys.executable, "-m", "exporter", "serve", str(graph), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            yield server.stdout.readline().strip()
        finally:
            server.kill()


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with served(tmp_path_factory.mktemp("served")) as found:
        yield found


def test_rdflibs_own_client(address: str) -> None:
    graph = Graph(SPARQLStore(f"{address}sparql"))
    assert len(list(graph.query(USERS))) > 0
    assert len(graph.query(TRIPLES).graph or ()) == len(list(graph.query(USERS)))


@pytest.mark.jvm
def test_jenas_own_client(address: str) -> None:
    with java("jena") as jvm:
        jvm.org.apache.jena.sys.JenaSystem.init()
        client = jvm.org.apache.jena.sparql.exec.http.QueryExecutionHTTP
        assert client.service(f"{address}sparql").query(TRIPLES).build().execConstruct().size() > 0
        assert client.service(f"{address}sparql").query(DESCRIBE).build().execDescribe().size() > 0
        assert client.service(f"{address}sparql").query("ASK {}").build().execAsk() is True


def got(
    address: str, path: str, body: bytes | Iterable[bytes] | None = None, kind: str = ""
) -> tuple[http.client.HTTPResponse, bytes]:
    """The answer to a GET, or to a POST of a body of this kind, which is sent to its end before the answer is read."""
    parts = urlsplit(address)
    assert parts.hostname
    with closing(http.client.HTTPConnection(parts.hostname, parts.port, timeout=90)) as one:
        one.request("GET" if body is None else "POST", path, body, {} if body is None else {"Content-Type": kind})
        answer = one.getresponse()
        return answer, answer.read()


@pytest.mark.parametrize("kind", [FORM, DIRECT, "application/octet-stream"])
@pytest.mark.parametrize("is_whole", [True, False], ids=["with its length", "in chunks"])
def test_a_request_that_is_too_large_is_answered_in_words(address: str, kind: str, *, is_whole: bool) -> None:
    piece = (b"query=ASK{}" if kind == FORM else b"ASK {}").ljust(1 << 20)
    answer, body = got(address, "/sparql", piece * 30 if is_whole else iter([piece] * 30), kind)
    assert answer.status == (415 if kind.endswith("stream") else 413)
    assert answer.status == 415 or b"16 MiB" in body, body
    assert answer.getheader("Content-Type") == "text/plain; charset=utf-8"
    assert got(address, "/health")[0].status == 200


def test_a_long_query_is_answered_in_each_way(address: str) -> None:
    """Also where each of its characters takes twelve of a form."""
    query = "ASK {} #".ljust(1_048_576, "ü")
    assert got(address, "/sparql", query.encode(), DIRECT)[0].status == 200
    assert got(address, "/sparql", f"query=ASK{{}}%23{'%F0%9F%98%80' * 100_000}".encode(), FORM)[0].status == 200
    for longer, kind in ((f"{query}#", DIRECT), (f"query=ASK{{}}%23{'a' * 1_048_576}", FORM)):
        answer, body = got(address, "/sparql", longer.encode(), kind)
        assert (answer.status, b"1,048,576 characters" in body) == (413, True), body


@pytest.mark.parametrize("path", ["/", "/write", "/health"])
def test_a_page_that_takes_no_body_says_so_of_a_large_one(address: str, path: str) -> None:
    answer, _ = got(address, path, b" " * (30 << 20), FORM)
    assert answer.status == 405


def test_endless_queries_leave_pages_and_health_alone(tmp_path: Path) -> None:
    """Of ten, some are answered 503 at once, since no more may wait; pages are answered while the others go on."""
    path = f"/sparql?{urlencode({'query': ENDLESS})}"
    answers: list[tuple[int, str | None]] = []
    refused = threading.Event()

    def ask_without_end(address: str) -> None:
        with suppress(OSError, http.client.HTTPException):  # the server ends before these queries do
            answer, _ = got(address, path)
            answers.append((answer.status, answer.getheader("Retry-After")))
            refused.set()

    with served(tmp_path) as address:
        threads = [threading.Thread(target=ask_without_end, args=(address,)) for _ in range(10)]
        for thread in threads:
            thread.start()
        assert refused.wait(60)
        for page in ("/health", "/", "/questions") * 3:
            assert got(address, page)[0].status == 200
        assert sum(thread.is_alive() for thread in threads) >= 1, "the endless queries ended before the pages"
        assert set(answers) == {(503, "5")}
    for thread in threads:
        thread.join()


def test_half_open_connections_lock_nobody_out_and_are_closed(address: str) -> None:
    parts = urlsplit(address)
    assert parts.hostname
    held = [socket.create_connection((parts.hostname, parts.port), 60) for _ in range(500)]
    try:
        for one in held[::2]:
            one.sendall(b"GET /health HTTP/1.1\r\nHost: loc")
        assert json.loads(got(address, "/health")[1]) == {"status": "ok"}
        assert [one.recv(1) for one in held[:20]] == [b""] * 20
    finally:
        for one in held:
            one.close()
