"""Pages of a graph of two accounts, in which objects have the same name and id: each says of which account it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest

from exporter.api import Graph
from exporter.serve import server
from tests import exports
from tests.ask.test_names import read, thing
from tests.serve.conftest import sited
from tests.serve.test_pages import Page

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from flask.testing import FlaskClient

ROWS: Final[list[dict[str, Any]]] = [
    {**read(thing("N", 1), masked=True), "account_name": "ONE"},
    {**read(thing("N", 1)), "account_name": "TWO"},
]


@pytest.fixture(scope="module", params=["snowflake", "https://example.org/g/"])
def graph(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With another base, the objects of the exported account have IRIs without its name."""
    out: Path = tmp_path_factory.mktemp("accounts") / "out"
    rows = [
        {**row, "organization_name": "ACME", "query_id": f"q{day}", "query_start_time": f"2026-01-{day:02} 06:00:00 Z"}
        for day, row in enumerate(ROWS, 1)
    ]
    base = () if request.param == "snowflake" else ("--base", request.param, "--account", "ACME-ONE")
    assert exports.export([exports.ndjson(rows, out.parent / "rows.ndjson")], out, *base) == 0
    return out


@pytest.fixture
def client(graph: Path) -> Iterator[FlaskClient]:
    with sited(graph) as site:
        yield server.make(site, "127.0.0.1").test_client()


def _page(client: FlaskClient, path: str, status: int = 200) -> tuple[str, list[list[str]]]:
    response = client.get(path)
    assert response.status_code == status
    page = Page(response.text)
    return " ".join(page.text.split()), [row for row in page.rows if row[:2] == ["Table", "1"]]


def test_a_page_says_of_which_account_it_is(client: FlaskClient) -> None:
    for path in ("/object?name=D.S.N", "/column?name=D.S.N&column=C"):
        text, others = _page(client, path)
        assert "This page is of Table 1 of the account ACME-TWO alone" in text
        assert [row[-1] for row in others] == ["ACME-ONE"]
        assert "2 accounts" not in text  # the answers on the page are about this object alone


def test_an_id_without_its_account_leads_to_all(client: FlaskClient, graph: Path) -> None:
    """A path is one of the exported account, which has an object of that id or not."""
    if "example.org" in (graph / "manifest.json").read_text("utf-8"):
        assert "Table 1 of the account ACME-ONE alone" in _page(client, "/object?id=table/1")[0]
    else:
        text, found = _page(client, "/object?id=table/1", 404)
        assert [row[-1] for row in found] == ["ACME-ONE", "ACME-TWO"]
        assert "none with this name" not in text


def test_what_is_not_masked_is_said_of_one_account(graph: Path) -> None:
    with Graph(graph) as opened:
        notes = opened.ask("unmasked-reads", object_name="D.S.N").notes
    assert [note for note in notes if "of D.S.N (object_id=1 of the account ACME-TWO)" in note]
    assert not [note for note in notes if "ACME-ONE" in note]
