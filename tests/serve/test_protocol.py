"""The SPARQL 1.1 Protocol at /sparql: requests, answers, and refusals."""

from __future__ import annotations

import csv
import io
import json
import threading
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest
from pyoxigraph import RdfFormat, parse

from exporter.ask import stores
from exporter.ask.pool import Pool
from exporter.serve import protocol
from exporter.serve.server import make
from exporter.serve.site import PAGE_QUESTIONS, Site
from tests.graph.shape_graphs import VALID

if TYPE_CHECKING:
    from pathlib import Path

    from flask.testing import FlaskClient

AH = "PREFIX ah: <https://w3id.org/access-history#>\n"
USERS = f"{AH}SELECT ?name WHERE {{ ?user a ah:User ; ah:userName ?name }} ORDER BY ?name"
TRIPLES = f"{AH}CONSTRUCT {{ ?user ah:userName ?name }} WHERE {{ ?user ah:userName ?name }}"
ENDLESS = "SELECT (COUNT(*) AS ?n) WHERE { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l }"
JSON = "application/sparql-results+json"


@pytest.fixture
def client(small: Site) -> FlaskClient:
    return make(small, "127.0.0.1").test_client()


def names_in_json(body: bytes) -> list[str]:
    return [row["name"]["value"] for row in json.loads(body)["results"]["bindings"]]


@pytest.fixture
def names(client: FlaskClient) -> list[str]:
    found = names_in_json(client.get("/sparql", query_string={"query": USERS}).data)
    assert found
    return found


@pytest.mark.parametrize("accept", [JSON, "application/json", "*/*", "", "text/html, */*;q=0.8"])
def test_json_is_the_answer_unless_another_is_wanted(client: FlaskClient, names: list[str], accept: str) -> None:
    answer = client.get("/sparql", query_string={"query": USERS}, headers={"Accept": accept} if accept else {})
    assert (answer.status_code, answer.content_type) == (200, JSON)
    assert names_in_json(answer.data) == names


def test_xml_csv_and_tsv(client: FlaskClient, names: list[str]) -> None:
    def got(kind: str) -> str:
        answer = client.get("/sparql", query_string={"query": USERS}, headers={"Accept": kind})
        assert answer.content_type == f"{kind}; charset=utf-8"
        return answer.text

    xml = ET.fromstring(got("application/sparql-results+xml"))
    assert [found.text for found in xml.iter("{http://www.w3.org/2005/sparql-results#}literal")] == names
    assert [row["name"] for row in csv.DictReader(io.StringIO(got("text/csv")))] == names
    assert got("text/tab-separated-values").splitlines() == ["?name", *(f'"{name}"' for name in names)]


def test_triples_are_turtle_or_n_triples(client: FlaskClient, names: list[str]) -> None:
    for kind, form in (("text/turtle", RdfFormat.TURTLE), ("application/n-triples", RdfFormat.N_TRIPLES)):
        answer = client.get("/sparql", query_string={"query": TRIPLES}, headers={"Accept": kind})
        assert answer.content_type == f"{kind}; charset=utf-8"
        assert sorted(triple.object.value for triple in parse(answer.data, form)) == names


JAVA = "text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2"


@pytest.mark.parametrize(
    ("accept", "table", "triples"),
    [
        (JAVA, 200, 200),
        ("*", 200, 200),
        ("text/html, *;q=.2", 200, 200),
        ("application/rdf+xml;charset=utf-8", 406, 200),
        ("text/turtle; charset=UTF-8, text/plain;q=.1", 406, 200),
        ("application/rdf+xml;level=1", 406, 200),
        ("application/sparql-results+json; charset=utf-8", 200, 406),
        ("text/turtle;q=0", 406, 406),
        (",,,,", 200, 200),
    ],
)
def test_what_clients_accept_in_other_words(client: FlaskClient, accept: str, table: int, triples: int) -> None:
    """The first is what Java sends where a program says nothing."""
    asked = [("/sparql", USERS), ("/sparql", TRIPLES), ("/sparql", None), ("/.well-known/void", None)]
    answers = [
        client.get(path, query_string=query and {"query": query}, headers={"Accept": accept}) for path, query in asked
    ]
    assert [answer.status_code for answer in answers] == [table, triples, triples, triples]


@pytest.mark.parametrize(
    ("query", "kind", "instead"),
    [
        ('SELECT ("A\\u0001B" AS ?name) {}', "application/sparql-results+xml", JSON),
        ('SELECT ("A\\uFFFEB" AS ?name) {}', "text/xml", JSON),
        ('CONSTRUCT { <a:b> <a:c> "A\\u0001B" } WHERE {}', "application/rdf+xml", "text/turtle"),
        ("CONSTRUCT { <a:b> <http://x/> <a:c> } WHERE {}", "application/rdf+xml", "application/n-triples"),
        ("CONSTRUCT { <a:b> <urn:1> <a:c> } WHERE {}", "application/xml", "application/ld+json"),
    ],
)
def test_what_xml_cannot_hold_is_no_broken_xml(client: FlaskClient, query: str, kind: str, instead: str) -> None:
    refused = client.get("/sparql", query_string={"query": query}, headers={"Accept": kind})
    assert (refused.status_code, refused.content_type) == (406, "text/plain; charset=utf-8")
    assert "XML cannot hold" in refused.text
    assert instead in refused.text
    assert client.get("/sparql", query_string={"query": query}, headers={"Accept": instead}).status_code == 200


def test_yes_and_no(client: FlaskClient) -> None:
    assert client.get("/sparql", query_string={"query": "ASK { ?a ?b ?c }"}).json == {"head": {}, "boolean": True}


def test_post_both_ways(client: FlaskClient, names: list[str]) -> None:
    for answer in (
        client.post("/sparql", data={"query": USERS}),
        client.post("/sparql", data=USERS.encode(), content_type="application/sparql-query; charset=utf-8"),
    ):
        assert names_in_json(answer.data) == names


def test_a_query_that_cannot_be_read_is_answered_in_the_words_of_the_engine(client: FlaskClient) -> None:
    answer = client.get("/sparql", query_string={"query": "SELECT ?a\nWHERE { ?a ?b }"})
    assert answer.status_code == 400
    assert "2:" in answer.text
    assert answer.content_type == "text/plain; charset=utf-8"


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("INSERT DATA { <a:b> <a:b> <a:b> }", 403),
        ("PREFIX a: <a:> DELETE WHERE { ?a ?b ?c }", 403),
        ("LOAD <file:///etc/passwd>", 403),
        ("SELECT * WHERE { SERVICE <http://127.0.0.1:1/> { ?a ?b ?c } }", 403),
        ("SELECT * FROM <file:///etc/passwd> WHERE { ?a ?b ?c }", 400),
    ],
)
def test_what_is_no_question_to_this_graph_is_refused(client: FlaskClient, query: str, status: int) -> None:
    for answer in (client.get("/sparql", query_string={"query": query}), client.post("/sparql", data={"query": query})):
        assert answer.status_code == status
        assert "root:" not in answer.text


def test_updates_are_refused_by_each_way_of_the_protocol(client: FlaskClient) -> None:
    update = "INSERT DATA { <a:b> <a:b> <a:b> }"
    assert client.post("/sparql", data={"update": update}).status_code == 403
    assert client.post("/sparql", data=update, content_type="application/sparql-update").status_code == 403
    assert client.put("/sparql", data=update).status_code == 405


@pytest.mark.parametrize(
    ("asked", "status", "words"),
    [
        ({"method": "POST", "data": {"q": USERS}}, 400, "Give one query"),
        ({"query_string": {"query": [USERS, USERS]}}, 400, "there are 2"),
        ({"query_string": {"query": USERS, "default-graph-uri": "a:b"}}, 400, "default-graph-uri"),
        ({"method": "POST", "data": b"{}", "content_type": "application/json"}, 415, "application/sparql-query"),
        ({"method": "POST", "data": b"\xff", "content_type": "application/sparql-query"}, 400, "UTF-8"),
        ({"query_string": {"query": USERS}, "headers": {"Accept": "image/png"}}, 406, "text/csv"),
        ({"query_string": {"query": USERS}, "headers": {"Accept": "text/turtle"}}, 406, "text/csv"),
        ({"query_string": {"query": TRIPLES}, "headers": {"Accept": "text/csv"}}, 406, "text/turtle"),
    ],
)
def test_requests_outside_of_the_protocol(client: FlaskClient, asked: dict, status: int, words: str) -> None:
    answer = client.open("/sparql", **asked)
    assert (answer.status_code, words in answer.text) == (status, True), answer.text


def test_an_answer_that_is_too_large_is_refused_whole(client: FlaskClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "MOST", 1000)
    answer = client.get("/sparql", query_string={"query": "SELECT * WHERE { ?a ?b ?c }"})
    assert (answer.status_code, "larger" in answer.text) == (400, True)


def test_a_question_without_an_end_is_ended_and_others_are_answered_meanwhile(
    names: list[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    graph = tmp_path_factory.mktemp("endless") / "small.ttl"
    graph.write_bytes(VALID.read_bytes())
    with stores.opened_store(graph, lambda _: None) as store:
        pool = Pool(store, PAGE_QUESTIONS, 2, 5.0)
        client = make(Site(graph, pool, pool), "127.0.0.1").test_client()
        answers: list[int] = []

        def ask_without_end() -> None:
            answers.append(client.get("/sparql", query_string={"query": ENDLESS}).status_code)

        thread = threading.Thread(target=ask_without_end)
        thread.start()
        while thread.is_alive():
            assert names_in_json(make(Site(graph, pool, pool), "127.0.0.1").test_client().get(
                "/sparql", query_string={"query": USERS}
            ).data) == names  # fmt: skip
        assert answers == [503]
        assert names_in_json(client.get("/sparql", query_string={"query": USERS}).data) == names
        pool.close()


def test_what_takes_too_much_memory_is_ended(tmp_path_factory: pytest.TempPathFactory) -> None:
    graph = tmp_path_factory.mktemp("memory") / "small.ttl"
    graph.write_bytes(VALID.read_bytes())
    with stores.opened_store(graph, lambda _: None) as store:
        pool = Pool(store, PAGE_QUESTIONS, 1, 30.0, memory=64 << 20)
        client = make(Site(graph, pool, pool), "127.0.0.1").test_client()
        answer = client.get(
            "/sparql", query_string={"query": "SELECT ?a ?d WHERE { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i } ORDER BY ?a ?d"}
        )
        assert (answer.status_code, "memory" in answer.text) == (400, True)
        assert client.get("/health").json == {"status": "ok"}
        pool.close()


def test_health(client: FlaskClient) -> None:
    answer = client.get("/health")
    assert (answer.status_code, answer.json) == (200, {"status": "ok"})


# --- who may ask ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("host", ["127.0.0.1:7878", "localhost", "localhost:9", "[::1]:7878", "LOCALHOST:7878"])
def test_it_answers_to_the_names_of_this_machine(client: FlaskClient, host: str) -> None:
    assert client.get("/health", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize("host", ["evil.example", "evil.example:7878", "127.0.0.1.evil.example", "localhost.evil"])
def test_a_site_that_points_its_name_here_gets_nothing(client: FlaskClient, host: str) -> None:
    for path in ("/health", "/sparql?query=ASK{}"):
        assert client.get(path, headers={"Host": host}).status_code == 421


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"},
        {"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "cors"},
    ],
)
def test_pages_of_other_sites_may_not_ask(client: FlaskClient, headers: dict[str, str]) -> None:
    answer = client.post("/sparql", data={"query": USERS}, headers=headers)
    assert answer.status_code == 403
    assert not [name for name, _ in answer.headers if name.startswith("Access-Control")]


def test_a_link_from_another_site_may_be_followed_and_our_own_pages_may_ask(client: FlaskClient) -> None:
    follow = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    assert client.get("/health", headers=follow).status_code == 200
    own = {"Origin": "http://localhost", "Sec-Fetch-Site": "same-origin", "Sec-Fetch-Mode": "cors"}
    answer = client.post("/sparql", data={"query": USERS}, headers=own)
    assert answer.status_code == 200
    assert not [name for name, _ in answer.headers if name.startswith("Access-Control")]


def test_every_answer_tells_browsers_what_they_may_do(client: FlaskClient) -> None:
    for answer in (client.get("/health"), client.get("/nowhere"), client.get("/sparql")):
        assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
        assert "frame-ancestors 'none'" in answer.headers["Content-Security-Policy"]
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert answer.headers["Referrer-Policy"] == "no-referrer"


def test_a_store_of_many_files_is_asked_though_no_other_file_may_be_opened(tmp_path: Path) -> None:
    """Each file of a graph is files of its own in the store, which opens them when they are first read."""
    folder = tmp_path / "graph"
    folder.mkdir()
    for number in range(40):
        (folder / f"part-{number:02}.ttl").write_text(f'<urn:a> <urn:b{number}> "{number}" .')
    with stores.opened_store(folder, lambda _: None) as store:
        pool = Pool(store, PAGE_QUESTIONS, 1, 20.0)
        client = make(Site(folder, pool, pool), "127.0.0.1").test_client()
        answer = client.get("/sparql", query_string={"query": "SELECT * WHERE { ?a ?b ?c }"})
        assert len(answer.json["results"]["bindings"]) == 40
        pool.close()
