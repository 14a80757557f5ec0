"""Lists in answers for pages: a name or value with line ends, commas or anything else is one of the list."""

from __future__ import annotations

import re
from html import unescape
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qs, quote, urlsplit

import pytest

from exporter.ask.answers import with_objects
from exporter.ask.questions import questions
from tests.mcp.asked import asked
from tests.serve.conftest import pages_of
from tests.serve.test_browse import body
from tests.serve.test_pages import Page, got

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from flask.testing import FlaskClient

Json = dict[str, Any]
NOTE: Final = "see:\n\nG.T.PII=high"
"""A value that has another tag in it."""
USERS: Final = ("EVE\nBOB", "EVE, BOB", "EVE%0ABOB", "\nEVE\n\n")
COLUMNS: Final = ("A\n", "EMAIL", "\n", "A, B", "100%25", "\0", "\x1f", "\n\nC")


def _table(name: str, ident: int, columns: tuple[str, ...] = ()) -> Json:
    listed = [{"columnName": column, "columnId": number} for number, column in enumerate(columns, 1)]
    return {"objectDomain": "Table", "objectId": ident, "objectName": name, "columns": listed}


def _tagged(column: str, tag: str, value: str) -> Json:
    on_column = {"subOperationType": "ALTER", "tags": {tag: {"subOperationType": "ADD", "tagValue": {"value": value}}}}
    change = {**_table("D.S.T", 5), "operationType": "ALTER", "properties": {"columns": {column: on_column}}}
    del change["columns"]
    return {"object_modified_by_ddl": change}


T, U, ODD = _table("D.S.T", 5, COLUMNS), _table("D.S.U", 6, ("C",)), _table('D.S."A=\n\nD.S.B"', 7, ("C",))
ROWS: Final[list[Json]] = [
    {"objects_modified": [T]},
    _tagged("EMAIL", "G.T.NOTE", NOTE),
    _tagged("A, B", 'G.T."PII=OLD"', "x=y"),
    *({"user_name": user, "direct_objects_accessed": [T, ODD], "base_objects_accessed": [T, ODD],
       "objects_modified": [U]} for user in USERS),
]  # fmt: skip
READ: Final = "q4"
"""The first query that reads."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("lists")


@pytest.fixture(scope="module")
def client(folder: Path) -> Iterator[FlaskClient]:
    with pages_of(ROWS, folder) as client:
        yield client


def _named(html: str, path: str, parameter: str) -> set[str]:
    """The values of a parameter in the links of a page to ``path``."""
    parts = [urlsplit(unescape(link)) for link in re.findall(r'href="([^"]*)"', html)]
    return {parse_qs(part.query)[parameter][0] for part in parts if part.path == path}


def test_a_value_with_a_line_end_is_no_other_tag(client: FlaskClient) -> None:
    """No row sets G.T.PII. The tag whose name has PII in it is sensitive, with a sign of equality in its name too."""
    sensitive, others = (Page(part) for part in client.get("/gaps").text.split('aria-labelledby="gaps-')[1:])
    assert [row[:3] for row in body(sensitive)] == [["D.S.T", "A, B", 'G.T."PII=OLD" = x=y']]
    assert [row[:2] for row in body(others)] == [["D.S.T", "EMAIL"]]
    assert body(others)[0][2].split() == ["G.T.NOTE", "=", *NOTE.split()]
    counted = got(client, "/").text.partition("Sensitive columns without a policy")[2]
    assert counted.split()[0] == "(1)"


def test_a_user_with_a_line_end_is_one_user(client: FlaskClient) -> None:
    targets = client.get("/object?id=table/5").text.partition('<h2 id="targets">')[2].partition("</section>")[0]
    for html in (targets, client.get("/lineage/?id=table/5").text):
        assert _named(html, "/user", "name") == set(USERS)
    for user in USERS:
        assert "1 queries" in " ".join(got(client, f"/user?name={quote(user)}").text.split())


def test_each_column_that_a_query_read_leads_to_its_page(client: FlaskClient) -> None:
    page = got(client, f"/query?id={READ}")
    links = [link for link in page.links if link.startswith("/column?id=table/5&")]
    assert {parse_qs(urlsplit(link).query)["column"][0] for link in links} == set(COLUMNS)
    for link in links:
        got(client, link)


def test_each_object_that_a_user_read_leads_to_its_page(client: FlaskClient) -> None:
    answer = client.get(f"/ask/user-history?user_name={quote(USERS[0])}").text
    assert _named(answer, "/object", "id") == {"table/5", "table/7"}
    (row,) = body(Page(answer))
    assert sum(cell.split(", ") == ['D.S."A=\n\nD.S.B"', "D.S.T"] for cell in row) == 2


def test_columns_of_a_movement_are_whole(client: FlaskClient) -> None:
    page = got(client, "/ask/sensitive-data-movement?object_name=D.S.T")
    assert any(row[1] == "D.S.U" and row[4] == "C" for row in body(page))


def test_a_cell_of_an_own_query_is_one_value(client: FlaskClient) -> None:
    """The user chooses the names of its columns, and its texts are as they are."""
    query = 'SELECT ("A%41\\n\\nB" AS ?tags) ("C%43\\n\\nD" AS ?user_names) ("E%45" AS ?agent_name) {}'
    page = got(client, f"/write?query={quote(query)}")
    assert body(page) == [["A%41\n\nB", "C%43\n\nD", "E%45"]]


def test_an_assistant_can_tell_tags_apart(client: FlaskClient, folder: Path) -> None:
    """A line end of a value is an escape; between two tags it is none."""
    assert client
    with asked(folder / "out") as server:
        parts = {part["part"]: part for part in server.answer("object", object_name="D.S.T")["parts"]}
    place = parts["columns"]["columns"].index("tags")
    tags = {row[0]: row[place] for row in parts["columns"]["rows"]}
    assert tags["EMAIL"] == r"G.T.NOTE = see:\n\nG.T.PII=high"
    assert tags["A, B"] == 'G.T."PII=OLD" = x=y'


@pytest.mark.parametrize("name", [question.name for question in questions()])
def test_every_list_of_a_question_is_written_for_pages(name: str) -> None:
    query = next(question.query for question in questions() if question.name == name)
    assert not re.search(r'separator=", "|CONCAT\(", "', with_objects(name, query))
