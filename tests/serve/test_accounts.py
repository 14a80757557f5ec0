"""Pages of a graph of two accounts, in which objects have the same name and id: each says of which account it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest

from exporter.api import Graph
from exporter.serve import server
from tests import exports
from tests.ask.test_names import MASK, copied, read, thing
from tests.mcp.asked import asked
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


SHARED: Final = [
    {**read(thing("N", 1)), "user_name": "ANN"},
    {**read({**thing("N", 1), "accountName": "PROV"}), "user_name": "BOB"},
    {
        "user_name": "CAR",
        "provider_policies_referenced": [{**thing("N", 1), "columns": [{"columnName": "C", "policies": [MASK]}]}],
    },
    {**copied({**thing("N", 1), "accountName": "PROV"}, thing("OUT", 2)), "user_name": "ETL"},
]
"""Rows of one account: a table of its own, of the account PROV and of an unnamed provider have one name and id."""


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out: Path = tmp_path_factory.mktemp("shared") / "out"
    rows = [
        {**row, "query_id": f"q{day}", "query_start_time": f"2026-01-0{day} 06:00:00 Z"}
        for day, row in enumerate(SHARED, 1)
    ]
    assert exports.export([exports.ndjson(rows, out.parent / "rows.ndjson")], out, "--account", "ACME-X") == 0
    return out


def test_pages_say_of_which_account_the_objects_of_others_are(shared: Path) -> None:
    with sited(shared) as site:
        client = server.make(site, "127.0.0.1").test_client()
        text, others = _page(client, "/object?name=D.S.N")
        assert "This page is of Table 1 of the account ACME-X alone" in text
        assert {row[-1] for row in others} == {"ACME-PROV", "a provider's account"}
        text, others = _page(client, "/object?id=table/1@PROV")
        assert "Table of the account ACME-PROV in D.S" in text
        assert {row[-1] for row in others} == {"ACME-X", "a provider's account"}
        text, _ = _page(client, "/object?id=table/1@provider")
        assert "Table of a provider's account in D.S" in text
        assert "shows a read of it. Of Table 1 of a provider's account alone: other objects had its name." in text
        assert "<title>D.S.N of ACME-PROV " in client.get("/object?id=table/1@PROV").text
        found = Page(client.get("/search?q=D.S.N").text).rows
        assert {row[-1] for row in found if row[0] == "D.S.N"} == {"ACME-X", "ACME-PROV", "a provider's account"}
        assert "D.S.N of ACME-PROV" in _page(client, "/query?id=q2")[0]
        assert "D.S.N of ACME-PROV" not in _page(client, "/query?id=q1")[0]
        picture = client.get("/lineage/picture.svg?name=D.S.OUT").text
        assert ">D.S of ACME-PROV<" in picture
        assert "D.S.N of a" not in picture


def test_tools_say_of_which_account_the_objects_of_others_are(shared: Path) -> None:
    with asked(shared) as tools:
        found = tools.result("object", object_name="D.S.N").structured_content
        rows = {
            one["part"]: [dict(zip(one["columns"], row, strict=True)) for row in one["rows"]] for one in found["parts"]
        }
        assert (found["object"]["account"], [row["user_name"] for row in rows["readers"]]) == ("ACME-X", ["ANN"])
        assert {row["account"] for row in rows["others_of_that_name"]} == {"ACME-PROV", "a provider's account"}
        assert any("Other objects had this name, too" in note["text"] for note in found["notes"])
        found = tools.result("object", iri="table/1@provider").structured_content
        assert any(
            "shows a read of it. Rows may say it of others of its name." in note["text"] for note in found["notes"]
        )
        found = tools.result("search", text="D.S.N").structured_content
        accounts = {row[found["columns"].index("account")] for row in found["rows"]}
        assert accounts == {"ACME-X", "ACME-PROV", "a provider's account"}
        found = tools.result("lineage", object_name="D.S.OUT").structured_content
        assert {"text": "[1] is, or is also, an object of [2].", "names": ["D.S.N", "ACME-PROV"]} in found["notes"]
