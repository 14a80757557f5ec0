"""Parameters in addresses: a page refuses one that it does not have, and no link or form of a page has one."""

from __future__ import annotations

from collections import Counter, deque
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qs, urlencode, urljoin, urlsplit

import pytest

from exporter.ask.questions import questions
from exporter.serve import server
from tests.serve.test_pages import got

if TYPE_CHECKING:
    from flask.testing import FlaskClient

    from exporter.serve.site import Site

EXEMPT: Final = frozenset({"static", "protocol.sparql", "protocol.void", "protocol.health"})
"""The protocol says what an endpoint does with other parameters; the others have no content that one could narrow."""
OBJECT: Final = "id=table/1029"
"""RAW.CRM.CUSTOMERS."""


@pytest.fixture(scope="module")
def client(month: Site) -> FlaskClient:
    return server.make(month, "127.0.0.1").test_client()


def test_every_page_refuses_a_parameter_that_it_does_not_have(client: FlaskClient) -> None:
    rules = [rule for rule in client.application.url_map.iter_rules() if rule.endpoint not in EXEMPT]
    assert len(rules) >= 18
    for rule in rules:
        path = rule.rule.replace("<any(csv, json):kind>", "csv").replace("<name>", "writers")
        answer = client.get(f"{path}?nosuch=2027-01-01")
        assert answer.status_code == 400, path
        assert "has no parameter nosuch." in answer.text, path


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("/browse/queries?user=ETL&sinc=2027-01-01", "no parameter sinc. Did you mean since?"),
        (f"/lineage/?{OBJECT}&at=2026-09-01", "no parameter at. Its parameters: id, name, column, day, since,"),
        (f"/lineage/lineage.csv?{OBJECT}&dya=2026-09-01", "Did you mean day?"),
        (f"/lineage/picture.svg?{OBJECT}&dya=2026-09-01", "Did you mean day?"),
        (f"/column?{OBJECT}&colum=EMAIL", "Did you mean column?"),
        ("/gaps?since=2027-01-01", "no parameter since. It takes none."),
        ("/browse/queries?since=2026-09-01&since=2027-01-01", "since is given 2 times"),
    ],
)
def test_a_parameter_that_is_refused_is_named_with_those_that_there_are(
    path: str, said: str, client: FlaskClient
) -> None:
    assert said in " ".join(got(client, path, 400).text.split())


@pytest.mark.parametrize("kind", ["", ".csv", ".json"])
@pytest.mark.parametrize("name", [question.name for question in questions()])
def test_a_question_refuses_it_as_the_command_does(name: str, kind: str, client: FlaskClient) -> None:
    """Also with an empty value, and before it is asked."""
    answer = client.get(f"/ask/{name}{kind}?objectname=")
    assert answer.status_code == 400
    assert f"{name} has no parameter objectname." in answer.text
    has_name = any(one.name == "object_name" for one in questions_by_name[name].parameters)
    assert ("Did you mean object_name?" in answer.text) == has_name
    assert "exporter query" not in answer.text


questions_by_name: Final = {question.name: question for question in questions()}


class Ways(HTMLParser):
    """The links of a page, and what its forms send as they stand."""

    def __init__(self, html: str, at: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self._at = at
        self._form: tuple[str, list[tuple[str, str]]] | None = None
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        told = dict(attrs)
        if tag in ("a", "use", "image") and told.get("href"):
            self.found.append(urljoin(self._at, told["href"] or ""))
        if tag == "form":
            self._form = urljoin(self._at, told.get("action") or self._at.partition("?")[0]), []
        if self._form and tag in ("input", "textarea", "select") and told.get("name"):
            self._form[1].append((told["name"] or "", told.get("value") or ""))

    def handle_endtag(self, tag: str) -> None:
        if tag == "form" and self._form:
            action, fields = self._form
            self.found.append(f"{action}?{urlencode(fields)}")
            self._form = None


def test_links_and_forms_of_the_pages_lead_somewhere(client: FlaskClient) -> None:
    """From the first page on: of each page, and of each set of parameters of it, the first few."""
    waiting, seen, taken = deque(["/"]), {"/"}, Counter[tuple[str, tuple[str, ...]]]()
    while waiting:
        address = waiting.popleft()
        answer = client.get(address)
        is_empty_form = answer.status_code == 400 and " needs " in answer.text and "Its parameters: " in answer.text
        assert answer.status_code < 400 or is_empty_form, address
        if answer.mimetype != "text/html":
            continue
        for way in Ways(answer.text, address).found:
            parts = urlsplit(way)
            form = parts.path, tuple(sorted(parse_qs(parts.query, keep_blank_values=True)))
            found = parts._replace(fragment="").geturl()
            if parts.netloc or found in seen or taken[form] >= 2:
                continue
            seen.add(found)
            taken[form] += 1
            waiting.append(found)
    paths = {path for path, _ in taken}
    rules = [rule for rule in client.application.url_map.iter_rules() if rule.endpoint not in EXEMPT]
    assert {rule.rule for rule in rules if "<" not in rule.rule} <= paths | {"/"}
    assert {f"/ask/{name}" for name in questions_by_name} <= paths
    assert {names for path, names in taken if path == "/lineage/"} >= {("id", "steps"), ("edge", "id", "steps")}
