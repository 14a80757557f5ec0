"""What there is: the tree, the lists with their filters, and a search that finds what is nearly meant."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from exporter.serve import server
from tests.exports import export
from tests.mcp.asked import asked
from tests.serve.conftest import MONTH, sited
from tests.serve.test_pages import Page, got

if TYPE_CHECKING:
    from pathlib import Path

    from flask.testing import FlaskClient

    from exporter.serve.site import Site


@pytest.fixture(scope="module")
def client(month: Site) -> FlaskClient:
    return server.make(month, "127.0.0.1").test_client()


def body(page: Page) -> list[list[str]]:
    return [row for row in page.rows[1:] if row]


def test_every_number_of_the_first_page_leads_to_as_many_rows(client: FlaskClient) -> None:
    text = client.get("/").text
    figures = text.partition('class="figures"')[2].partition("</ul>")[0]
    assert figures.count("<b>") == figures.count("<a href=") == 5
    assert len(body(got(client, "/browse/queries"))) == 336
    assert len(body(got(client, "/browse/users"))) == 11
    assert len(body(got(client, "/browse/objects"))) == 80
    last = body(got(client, "/browse/queries?since=2026-09-30"))
    assert {row[1][:10] for row in last} == {"2026-09-30"}
    assert {row[1][:10] for row in body(got(client, "/browse/queries?until=2026-09-02"))} == {"2026-09-01"}
    for heading in (part.partition("</h2>")[0] for part in text.split("<h2")[1:]):
        assert heading.index("</a>") > heading.find('class="kind"')


def test_the_tree_leads_to_every_object(client: FlaskClient, month: Site) -> None:
    """Each schema has as many objects as the tree says; what is in no schema is found by its kind."""
    page = got(client, "/browse/")
    assert "RAW 4 schemas" in " ".join(page.text.split())
    seen: set[str] = set()
    for link in page.links:
        if link.startswith(("/browse/schema", "/browse/objects?kind=")):
            seen.update(one for one in got(client, link).links if one.startswith("/object?id="))
    rows = month.sparql.result(
        "PREFIX ah: <https://w3id.org/access-history#> SELECT ?o { ?o ah:domain ?kind FILTER(?kind NOT IN "
        '("Database", "Schema")) }', "text/csv", None, 10_000_000,
    ).body.decode().splitlines()[1:]  # fmt: skip
    assert len(rows) > 50
    assert len(seen) >= len(rows)
    assert len(body(got(client, "/browse/schema?id=schema/name/RAW.CRM"))) == 2


def test_lists_are_filtered(client: FlaskClient) -> None:
    assert [row[0] for row in body(got(client, "/browse/objects?kind=Tag"))] == [
        "GOVERNANCE.TAGS.OWNER",
        "GOVERNANCE.TAGS.PII",
    ]
    assert {row[1] for row in body(got(client, "/browse/objects?kind=Masking Policy&kind=Row Access Policy"))} == {
        "Masking Policy", "Row Access Policy",
    }  # fmt: skip
    assert [row[0] for row in body(got(client, "/browse/users?text=priya"))] == ["PRIYA_STEWARD"]
    rows = body(got(client, "/browse/queries?user=MARIA_ANALYST&type=insert&since=2026-09-11&until=2026-09-12"))
    assert [row[:1] + row[2:] for row in rows] == [
        ["01bf0911-1400-6e2c-0200-dd20f12a9777", "MARIA_ANALYST", "MARKETING", "INSERT"]
    ]
    assert "No row from 2026-09-01 to 2026-09-30 shows one" in got(client, "/browse/users?text=nobody").text
    assert client.get("/browse/queries?since=soon").status_code == 400
    assert client.get("/browse/schema?id=schema/name/NO.SUCH").status_code == 404
    page = got(client, "/browse/objects?kind=Tag&text=own")
    assert {("kind", "Tag"), ("text", "own")} <= {(one.get("name"), one.get("value")) for one in page.inputs}


def test_a_search_finds_what_is_nearly_meant(client: FlaskClient) -> None:
    page = got(client, "/search?q=custmers")
    assert "/search?q=CUSTOMERS" in page.links
    assert "RAW.CRM.CUSTOMERS" in got(client, "/search?q=CUSTOMERS").text
    assert "/search?q=PRIYA_STEWARD" in got(client, "/search?q=priya_stewart").links
    assert "nearest" not in got(client, "/search?q=qqqqqqqqqqqqqqqq").text
    assert "/search?q=MART.SALES.SALES_ASSISTANT" in got(client, "/search?q=sales_asistant").links, "a software agent"
    assert "Software agents" in got(client, "/search?q=sales_assistant").text


def test_results_of_a_search_are_by_kind(client: FlaskClient) -> None:
    text = client.get("/search?q=e").text
    headings = [part.partition(">")[2].partition("<")[0] for part in text.split("<h2")[1:]]
    assert headings == ["Objects", "Tags", "Policies", "Columns", "Users", "Software agents"]
    assert "GOVERNANCE.TAGS.OWNER" in text.partition('id="Tags"')[2].partition("</section>")[0].replace("<wbr>", "")


def test_sql_is_found_where_it_was_kept(client: FlaskClient, tmp_path: Path) -> None:
    sql = "copy into raw.shop.orders from @raw.stages.s3_shop/orders/2026/09/01/"
    assert sql in (MONTH / "query_history.csv").read_text("utf-8")
    assert sql not in client.get("/search?q=from @raw.stages").text
    options = ("--outputs", "graph", "--query-text", "--query-history", str(MONTH / "query_history.csv"))
    assert export([MONTH / "access_history.ndjson"], tmp_path / "out", *options) == 0
    with sited(tmp_path / "out") as site:
        kept = server.make(site, "127.0.0.1").test_client()
        for path in (
            "/search?q=FROM @RAW.STAGES.S3_SHOP/orders/2026/09/01",
            "/browse/queries?text=s3_shop/orders/2026/09/01",
        ):
            assert "01bf0901-0210-6e2c-0100-dd20f12a9777" in {row[0] for row in got(kept, path).rows if row}


def test_a_name_that_has_a_pseudonym_is_not_found_but_the_page_says_why(client: FlaskClient, tmp_path: Path) -> None:
    """On the page of a search and in a search by MCP."""
    (tmp_path / "key").write_text("5b0e9fd0c0ffee00c0ffee00\n")
    (tmp_path / "key").chmod(0o600)
    options = ("--outputs", "graph", "--pseudonyms", str(tmp_path / "key"))
    assert export([MONTH / "access_history.ndjson"], tmp_path / "out", *options) == 0
    with sited(tmp_path / "out") as site:
        hidden = server.make(site, "127.0.0.1").test_client()
        assert "Users have pseudonyms" in got(hidden, "/search?q=LENA_SUPPORT").text
        assert "Users have pseudonyms" not in got(hidden, "/search?q=DIM_CUSTOMER").text
    assert "Users have pseudonyms" not in got(client, "/search?q=NOBODY").text
    with asked(tmp_path / "out") as by_mcp:
        notes = [note["text"] for note in by_mcp.answer("search", text="LENA_SUPPORT")["notes"]]
        assert any(note.startswith("Users have pseudonyms") for note in notes)


def test_a_list_that_its_filters_empty_says_so(client: FlaskClient) -> None:
    nobody = got(client, "/browse/queries?user=NOBODY").text
    assert "No row from 2026-09-01 to 2026-09-30 shows one with these filters: User = NOBODY." in nobody
    typed = got(client, "/browse/queries?type=NONE").text
    assert "Only queries with a line of QUERY_HISTORY have a type." in typed
