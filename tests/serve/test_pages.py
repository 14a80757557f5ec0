"""The pages as a browser gets them: their content for the example, and that names in rows cannot inject anything."""

from __future__ import annotations

import csv
import io
import re
import shlex
from html import unescape
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

import pytest

from exporter import cli
from exporter.ask.answers import Answer, as_list
from exporter.ask.questions import questions
from exporter.ask.shipped import GROUPS, grouped
from exporter.serve import forms, objects, overview, server
from exporter.serve.site import SHORT_QUERIES_COUNTED, SHORT_QUERIES_MISSING
from exporter.serve.tables import is_incomplete, not_ready, note
from tests.ask.test_empty import LOADED, daily
from tests.ask.test_names import thing
from tests.exports import export, ndjson
from tests.golden import EXAMPLES
from tests.hostile.payloads import PAYLOADS
from tests.pages import sections, text
from tests.serve.conftest import LONG, pages_of, sited

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from flask.testing import FlaskClient

    from exporter.serve.site import Site

LATER: Final = "not ready yet"


class Page(HTMLParser):
    """What a page is made of."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.links: list[str] = []
        self.facts: dict[str, str] = {}
        self.titles: list[str] = []
        self.labels: set[str] = set()
        self.inputs: list[dict[str, str | None]] = []
        self.text = ""
        self.rows: list[list[str]] = []
        self._in_cell = False
        self._in: str | None = None
        self._of_chart = False
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        told = dict(attrs)
        self._in = tag if tag in ("dt", "dd", "title") else self._in
        if tag == "dt":
            self.facts[""] = ""
        if tag == "title":
            self.titles.append("")
        self._of_chart |= tag == "svg" and told.get("class") == "weeks"
        if self._of_chart:
            assert tag in ("svg", "g", "title", "rect")
            return
        self.tags.add(tag)
        self.attributes |= told.keys()
        self.links += [told[name] or "" for name in ("href", "src", "action") if name in told]
        if tag == "label":
            self.labels.add(told["for"] or "")
        if tag in ("input", "textarea", "select"):
            self.inputs.append(told)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")
        self._in_cell = tag in ("td", "th") or (self._in_cell and tag in ("a", "wbr"))

    def handle_endtag(self, tag: str) -> None:
        self._in_cell &= tag not in ("td", "th")
        self._of_chart &= tag != "svg"
        self._in = None if tag == self._in else self._in

    def handle_data(self, data: str) -> None:
        self.text += data
        if self._in == "title":
            self.titles[-1] += data
        elif self._in == "dt":
            self.facts[data] = ""
        elif self._in == "dd":
            self.facts[list(self.facts)[-1]] += data
        if self._in_cell:
            self.rows[-1][-1] += data


@pytest.fixture(scope="module")
def client(month: Site) -> FlaskClient:
    return server.make(month, "127.0.0.1").test_client()


def got(client: FlaskClient, path: str, status: int = 200) -> Page:
    answer = client.get(path)
    assert answer.status_code == status, answer.text
    return Page(answer.text)


# --- what they say ----------------------------------------------------------------------------------------------------


def test_the_first_page_has_the_answers_for_stewards(client: FlaskClient) -> None:
    page = got(client, "/")
    assert "336 queries" in " ".join(page.text.split())
    assert any(row[0] == "RAW.CRM.STORE_VISITS_2019" for row in page.rows if row)
    assert any("CAMPAIGN_AUDIENCE" in " ".join(row) for row in page.rows)


def test_a_search_finds_objects_columns_users_and_queries(client: FlaskClient) -> None:
    page = got(client, "/search?q=customer")
    assert ["MART.SALES.DIM_CUSTOMER_NEW", "Table", "MART.SALES.DIM_CUSTOMER"] in page.rows
    assert ["CUSTOMER_ID", "RAW.CRM.CUSTOMERS"] in page.rows
    assert "/column?id=table/1029&column=CUSTOMER_ID" in page.links
    assert ["PRIYA_STEWARD"] in got(client, "/search?q=priya").rows
    query = next(link for link in got(client, "/user?name=TOM_ANALYST").links if link.startswith("/query"))
    query_id = query.partition("=")[2]
    assert [query_id] in got(client, f"/search?q={query_id}").rows
    assert "No name" in got(client, "/search?q=nosuchthing").text


def test_an_object_with_its_names_columns_readers_writers_and_policies(client: FlaskClient) -> None:
    page = got(client, "/object?id=table/2055")
    assert ["MART.SALES.DIM_CUSTOMER_NEW", "2026-09-19 10:30:02", "2026-09-19 11:00:02"] in [
        row[:3] for row in page.rows
    ]
    assert ["EMAIL", "", "GOVERNANCE.POLICIES.EMAIL_MASK"] in page.rows
    assert ["TOM_ANALYST", "2", "2026-09-22 13:20:00", "2026-09-29 13:20:04"] in page.rows
    assert any(row[0] == "DBT_CLOUD" and row[1] == "8" for row in page.rows)
    assert ["Policy", "GOVERNANCE.POLICIES.PHONE_MASK"] in [row[:2] for row in page.rows]


def test_the_page_of_an_object_begins_with_what_a_steward_asks(client: FlaskClient, month: Site) -> None:
    """Each line has what the part below has, or the command."""
    page = got(client, "/object?id=table/1029")
    facts = {name: " ".join(text.split()) for name, text in page.facts.items()}
    assert page.titles[0].startswith("RAW.CRM.CUSTOMERS ")
    assert facts["What it is"] == "Table in RAW.CRM, 5 columns; on record from 2026-09-01 to 2026-09-30"
    assert "/object?id=schema/name/RAW.CRM" in page.links
    assert (
        facts["Where its data came from"] == "RAW.STAGES.S3_CRM, read by the queries that wrote it; last on 2026-09-30"
    )
    went = month.ask("end-up", {"object_id": "1029"}).rows
    assert facts["Where its data went"].startswith(f"{went[0][0]}, ")
    assert re.search(r"and (more than )?\d+ others", facts["Where its data went"])
    written = client.get("/object?id=table/1029").text.partition('<h2 id="targets">')[2].partition("</section>")[0]
    assert [row[0] for row in Page(written).rows[1:]] == ["STAGING.DBT.STG_CUSTOMERS"]
    readers = {row[0] for row in month.ask("who-accessed", {"object_id": "1029"}).rows}
    assert {name.strip() for name in facts["Who reads it"].partition(";")[0].split(",")} == readers
    assert "GOVERNANCE.TAGS.PII = sensitive on EMAIL since 2026-09-18" in facts["What protects it"]
    assert facts["What changed last"].startswith("ALTER on 2026-09-18 by PRIYA_STEWARD")
    assert "before 2026-09-01, the first day on record, are not known" in facts["What cannot be known"]


def test_what_is_only_possible_is_not_shown_as_certain(tmp_path: Path) -> None:
    """A query reads V alone, another one V and W: what is behind W is not certain. W is made anew as another view."""
    views = [thing("V", 11, "View"), thing("W", 12, "View"), thing("W", 13, "View")]
    rows = [
        {"direct_objects_accessed": views[:1], "base_objects_accessed": [thing("A", 1)]},
        *(
            {"direct_objects_accessed": [views[0], view], "base_objects_accessed": [thing("A", 1), thing("B", 2)]}
            for view in views[1:]
        ),
    ]
    with pages_of(rows, tmp_path) as client:
        facts = {name: " ".join(text.split()) for name, text in got(client, "/object?id=table/1").facts.items()}
    assert facts["Views over it"].partition(";")[0].replace(" ,", ",") == "D.S.V, D.S.W (2 objects, possible)"


def test_a_column_begins_with_the_same(client: FlaskClient) -> None:
    facts = {
        name: " ".join(text.split()) for name, text in got(client, "/column?id=table/1029&column=EMAIL").facts.items()
    }
    assert "SANDBOX.MARIA.CUSTOMER_EMAILS" in facts["Where it was copied to"]
    assert facts["Who read it unmasked"].startswith("DBT_CLOUD")
    assert "GOVERNANCE.TAGS.PII = sensitive on EMAIL since 2026-09-18" in facts["What protects it"]
    empty = got(client, "/column?id=table/2055&column=FULL_NAME").facts["Who read it unmasked"]
    # It was never masked: that no row shows a read without a mask would say the opposite.
    assert empty.startswith("No row shows a masking policy on MART.SALES.DIM_CUSTOMER.FULL_NAME")
    assert "shows a read without its mask" not in empty


@pytest.mark.parametrize("path", ["/object?id=table/1029", "/column?id=table/1029&column=EMAIL"])
def test_reads_by_week_add_up_to_the_reads(client: FlaskClient, month: Site, path: str) -> None:
    text = client.get(path).text
    weeks = re.findall(r"week of (\d{4}-\d\d-\d\d): ([\d,]+) quer", text)
    assert [day for day, _ in weeks] == ["2026-08-31", "2026-09-07", "2026-09-14", "2026-09-21", "2026-09-28"]
    if "object" in path:
        wanted = len(month.ask("when-accessed", {"object_id": "1029"}).rows)
    else:
        answer = month.ask("column-readers", {"object_id": "1029", "column_name": "EMAIL"})
        wanted = sum(int(row[1] or 0) for row in answer.rows)
    assert sum(int(count) for _, count in weeks) == wanted > 0


def test_values_are_in_words_and_units_and_names_are_links(client: FlaskClient) -> None:
    page = got(client, "/query?id=01bf0911-1400-6e2c-0200-dd20f12a9777")
    facts = page.facts
    assert (facts["Bytes scanned"], facts["Total elapsed time"], facts["Rows produced"]) == ("405.6 MB", "2.0 s", "158")
    assert facts["Started"] == "2026-09-11 14:00:02"
    assert {"/object?id=role/name/MARKETING", "/object?id=warehouse/name/ANALYST_WH"} <= set(page.links)
    assert {row[0] for row in page.rows if len(row) == 4} >= {"named in the statement", "behind what it names"}
    assert not {"DIRECT", "BASE"} & {cell for row in page.rows for cell in row}
    user = got(client, "/user?name=MARIA_ANALYST")
    assert "/object?id=table/2070" in user.links, "in the list of objects that a query read"


def test_a_name_leads_to_the_object_that_had_it_last_and_names_the_others(client: FlaskClient) -> None:
    page = got(client, "/object?name=mart.sales.dim_customer")
    assert "2 objects of one name, the last one Table 2055" in " ".join(page.text.split())
    assert "This page is of the 2 objects that had this name" in " ".join(page.text.split())
    assert {"/object?id=table/2051", "/object?id=table/2055"} <= set(page.links)
    lineage = client.get("/lineage/?name=mart.sales.dim_customer").text
    assert "1 other object had this name, too. This lineage is of Table 2055 alone" in lineage


def test_a_name_in_an_answer_leads_to_the_table_that_the_row_is_about(client: FlaskClient) -> None:
    """Of two tables that were swapped, the one that was read unmasked: its page has the read."""
    page = got(client, "/ask/unmasked-reads?object_name=MART.SALES.DIM_CUSTOMER&until=2026-09-19")
    assert ["LENA_SUPPORT", "PHONE"] in [[row[0], row[4]] for row in page.rows]
    links = [link for link in page.links if link.startswith(("/column", "/object"))]
    assert "/column?id=table/2051&column=PHONE" in links
    assert all("name=" not in link for link in links)
    behind = client.get("/column?id=table/2051&column=PHONE").text
    reads = behind.partition('id="unmasked-reads"')[2].partition("</section>")[0]
    assert "LENA_SUPPORT" in reads
    assert "<details" not in behind
    assert "/object?id=table/2055" in Page(behind).links


def test_a_part_without_rows_says_why(client: FlaskClient) -> None:
    text = got(client, "/column?id=table/2055&column=FULL_NAME").text
    assert "No row shows a masking policy on MART.SALES.DIM_CUSTOMER.FULL_NAME" in text
    assert "what roles may do, and what was granted before 2026-09-01" in got(client, "/object?id=table/1029").text
    for words in ("None.", "Nobody read it", "None were set", "Nowhere"):
        assert words not in text


def test_a_location_has_a_page_behind_each_link(tmp_path: Path) -> None:
    """By its URL, and by its IRI as answers have it: who read and wrote it, and where its data went."""
    source = ndjson(daily(LOADED), tmp_path / "rows.ndjson")
    assert export([source], tmp_path / "out", "--outputs", "graph") == 0
    with sited(tmp_path / "out") as site:
        client = server.make(site, "127.0.0.1").test_client()
        for asked in ("/object?name=s3://b/in", "/object?id=s3://b/in"):
            page = got(client, asked)
            assert any(row[:2] == ["ANA", "1"] for row in page.rows)
            assert any(row[:2] == ["s3://b/out", "Location"] for row in page.rows)
        behind = [link for link in page.links if "/object?" in link and "s3" in link and "out" in link]
        assert any(row[0] == "BEN" for row in got(client, behind[0]).rows)
        assert "/object?id=s3://b/in" in got(client, "/search?q=s3://b/in").links
        assert any(row[:2] == ["D.S.T", "Table"] for row in got(client, "/ask/end-up?ask=1&object_name=s3://b/in").rows)


def statement(query_id: str, time: str, **columns: Any) -> dict[str, Any]:
    return {"query_id": query_id, "query_start_time": f"2026-09-0{time}:00Z", "user_name": "ANA", **columns}


def ddl(query_id: str, time: str, operation: str, number: int, **columns: Any) -> dict[str, Any]:
    """A statement that changes columns of D.S.T."""
    told = {"objectDomain": "Table", "objectId": number, "objectName": "D.S.T", "operationType": operation}
    return statement(query_id, time, object_modified_by_ddl={**told, "properties": {"columns": columns}})


IDS: Final = {"D.S.PII": 9, "D.S.HIDE": 10, "D.S.ALL": 11}


def added(kind: str, name: str, **more: Any) -> dict[str, Any]:
    return {kind: {name: {"subOperationType": "ADD", "objectId": {"value": IDS[name]}, **more}}}


@pytest.fixture
def changed(tmp_path: Path) -> Iterator[FlaskClient]:
    """A tag and a mask on T.E, which is renamed to F; a mask through a tag on T.G; then another table is made of the
    name, without these columns, and a stage.
    """
    tag = {"objectDomain": "Tag", "objectId": 9, "objectName": "D.S.PII", "operationType": "ALTER"}
    pii = added("tags", "D.S.PII", tagValue={"value": "x"})
    rows = [
        ddl("1", "1T08:00", "CREATE", 1, E={"subOperationType": "ADD"}, G={"subOperationType": "ADD"}),
        ddl("2", "1T09:00", "ALTER", 1, E=pii),
        ddl("3", "1T10:00", "ALTER", 1, E=added("maskingPolicies", "D.S.HIDE")),
        ddl("4", "2T08:00", "ALTER", 1, E={"subOperationType": "ALTER", "objectName": {"value": "F"}}),
        ddl("5", "2T09:00", "ALTER", 1, G=pii),
        statement("6", "2T10:00", object_modified_by_ddl={**tag, "properties": added("maskingPolicies", "D.S.ALL")}),
        ddl("7", "3T08:00", "REPLACE", 2, H={"subOperationType": "ADD"}),
    ]
    assert export([ndjson(rows, tmp_path / "rows.ndjson")], tmp_path / "out", "--outputs", "graph") == 0
    with sited(tmp_path / "out") as site:
        yield server.make(site, "127.0.0.1").test_client()


def test_a_column_has_its_tag_and_its_policies_beside_each_other(tmp_path: Path) -> None:
    """A policy can be that of its tag: the page has what policy-coverage answers, and policies without a tag."""
    pii = added("tags", "D.S.PII", tagValue={"value": "x"})
    tag: dict[str, Any] = {"objectDomain": "Tag", "objectId": 9, "objectName": "D.S.PII", "operationType": "ALTER"}
    hide = added("maskingPolicies", "D.S.HIDE")
    rows = [
        ddl("1", "1T08:00", "CREATE", 1, E={**pii, **hide}, F=hide, G=pii, H={"subOperationType": "ADD"}),
        ddl("2", "1T09:00", "ALTER", 1, E={"subOperationType": "ALTER", "objectName": {"value": "E2"}}),
    ]
    masked = statement(
        "3", "1T10:00", object_modified_by_ddl={**tag, "properties": added("maskingPolicies", "D.S.ALL")}
    )
    for given_, of_tag in ((rows, ""), ([*rows, masked], "D.S.ALL")):
        out = tmp_path / str(len(given_))
        assert export([ndjson(given_, tmp_path / "rows.ndjson")], out, "--outputs", "graph") == 0
        with sited(out) as site:
            page = got(server.make(site, "127.0.0.1").test_client(), "/object?id=table/1")
        both = ", ".join(sorted(filter(None, ["D.S.HIDE", of_tag])))
        of_columns = {row[0]: row[1:] for row in page.rows if len(row) == 3 and len(row[0]) < 3}
        assert of_columns["E2"] == ["D.S.PII = x", ", ".join(sorted(both.split(", ")))]
        assert of_columns["F"] == ["", "D.S.HIDE"]
        assert of_columns["G"] == ["D.S.PII = x", of_tag]
        assert of_columns["E"] == of_columns["H"] == ["", ""]


def test_what_a_renamed_column_has_is_on_its_page(changed: FlaskClient) -> None:
    for path in ("/column?id=table/1&column=F", "/column?name=D.S.T&column=F"):
        held = [row for row in got(changed, path).rows if row[:1] in (["Tag"], ["Policy"])]
        assert {(*row[1:4], row[4][:10], row[6], row[7]) for row in held} == {
            ("D.S.PII", "x", "F", "2026-09-02", "ANA", "2"),
            ("D.S.HIDE", "", "F", "2026-09-02", "ANA", "3"),
            ("D.S.ALL", "through D.S.PII", "F", "2026-09-02", "ANA", "6"),
        }
    carriers = [row for row in got(changed, "/object?id=tag/9").rows if row[:1] == ["D.S.T"]]
    assert {row[1] for row in carriers} == {"E", "F", "G"}


@pytest.mark.parametrize("domain", ["Table", "Schema", "Database"])
def test_what_protects_a_table_and_its_columns_through_a_tag_of_the_whole(domain: str, tmp_path: Path) -> None:
    """The table, its schema or its database has the tag, and the tag the policy."""
    name = {"Table": "D.S.T", "Schema": "D.S", "Database": "D"}[domain]
    tag = {"objectDomain": "Tag", "objectId": 9, "objectName": "D.S.PII", "operationType": "ALTER"}
    whole = {"objectDomain": domain, "objectId": 1 if domain == "Table" else 70, "objectName": name}
    pii = {**whole, "operationType": "ALTER", "properties": added("tags", "D.S.PII", tagValue={"value": "x"})}
    rows = [
        ddl("1", "1T08:00", "CREATE", 1, E={"subOperationType": "ADD"}),
        statement("2", "1T09:00", object_modified_by_ddl=pii),
        statement("3", "1T10:00", object_modified_by_ddl={**tag, "properties": added("maskingPolicies", "D.S.ALL")}),
    ]
    assert export([ndjson(rows, tmp_path / "rows.ndjson")], tmp_path / "out", "--outputs", "graph") == 0
    with sited(tmp_path / "out") as site:
        client = server.make(site, "127.0.0.1").test_client()
        for path in ("/object?id=table/1", "/column?id=table/1&column=E"):
            held = {tuple(row[:3]) for row in got(client, path).rows if row[0] in {"Tag", "Policy"}}
            value = "x" if domain == "Table" else f"x through {name}"
            assert held == {("Tag", "D.S.PII", value), ("Policy", "D.S.ALL", "through D.S.PII")}


@pytest.mark.parametrize("has_tag", [70, 71])
def test_a_table_has_the_tag_of_the_schema_that_it_went_with(has_tag: int, tmp_path: Path) -> None:
    """D.S (70), in which it is, and D.OTHER (71) get each other's name; no row shows the table under the new one."""
    names = {70: "D.S", 71: "D.OTHER"}
    schemas = {ident: {"objectDomain": "Schema", "objectId": ident, "objectName": names[ident]} for ident in names}

    def swap(one: int, other: int) -> dict[str, Any]:
        target = {"swapTargetDomain": "Schema", "swapTargetId": other, "swapTargetName": names[other]}
        told = {key: {"value": value} for key, value in target.items()}
        return {**schemas[one], "operationType": "ALTER", "properties": told}

    pii = {
        **schemas[has_tag],
        "operationType": "ALTER",
        "properties": added("tags", "D.S.PII", tagValue={"value": "x"}),
    }
    rows = [
        ddl("1", "1T08:00", "CREATE", 1, E={"subOperationType": "ADD"}),
        statement("2", "1T09:00", object_modified_by_ddl=pii),
        *(statement("3", "1T10:00", object_modified_by_ddl=swap(*each)) for each in ((70, 71), (71, 70))),
    ]
    assert export([ndjson(rows, tmp_path / "rows.ndjson")], tmp_path / "out", "--outputs", "graph") == 0
    with sited(tmp_path / "out") as site:
        page = got(server.make(site, "127.0.0.1").test_client(), "/object?id=table/1")
    held = {tuple(row[:3]) for row in page.rows if row[0] in {"Tag", "Policy"}}
    assert held == ({("Tag", "D.S.PII", "x through D.OTHER")} if has_tag == 70 else set())


def test_a_column_is_found_with_any_object_that_had_the_name(changed: FlaskClient) -> None:
    page = got(changed, "/column?name=D.S.T&column=f")
    assert "Lineage of the column of Table 1 as a picture" in " ".join(page.text.split())
    assert {"/object?id=table/1", "/object?id=table/2"} <= set(page.links)
    assert "the 2 objects that had this name" in got(changed, "/column?name=D.S.T&column=NONE", 404).text
    got(changed, "/column?id=table/2&column=F", 404)


def test_a_statement_leads_to_the_object_that_it_changed(changed: FlaskClient) -> None:
    page = changed.get("/object?id=table/1").text
    statements = page[page.index('id="changes"') : page.index('id="names"')]
    assert "/object?id=table/1" in statements
    assert "/object?id=table/2" not in statements


def test_an_unknown_name_is_reported_with_similar_ones(client: FlaskClient) -> None:
    assert "RAW.CRM.CUSTOMERS" in got(client, "/object?name=RAW.CMR.CUSTOMERS", 404).text
    for path in (
        "/object",
        "/object?id=table/0",
        "/object?id=a b",
        "/query?id=x",
        "/user?name=x",
        "/nowhere",
        "/ask/no",
    ):
        assert client.get(path).status_code in (400, 404), path
    assert "EMAIL" in got(client, "/column?id=table/2055&column=NOPE", 404).text


def test_a_column_with_where_its_data_came_from_and_went(client: FlaskClient) -> None:
    """Of the object that the page is of, whatever had its name before or has it now."""
    page = got(client, "/column?id=table/2051&column=email")
    assert ["RAW.CRM.CUSTOMERS", "EMAIL"] in [row[:2] for row in page.rows]
    source = got(client, "/column?name=RAW.CRM.CUSTOMERS&column=EMAIL")
    assert ["SANDBOX.MARIA.CUSTOMER_EMAILS", "Table", "EMAIL"] in source.rows


def test_a_query_with_all_that_it_did(client: FlaskClient, month: Site) -> None:
    query_id = month.rows("writers", {"object_name": "SANDBOX.MARIA.CUSTOMER_EMAILS", "domain": "Table"})[0]["query_id"]
    page = got(client, f"/query?id={query_id}")
    assert {"Read", "Wrote", "Columns that it filled"} <= {line.strip() for line in page.text.splitlines()}
    assert any("SANDBOX.MARIA.CUSTOMER_EMAILS" in row and "EMAIL" in row for row in page.rows)


def test_every_question_has_a_form_with_a_label_for_each_field(client: FlaskClient) -> None:
    listed = got(client, "/questions")
    for question in questions():
        assert f"/ask/{question.name}" in listed.links
        page = got(client, f"/ask/{question.name}")
        fields = [one for one in page.inputs if one.get("type") not in ("hidden", "search")]
        assert list(dict.fromkeys(one["name"] for one in fields)) == [one.name for one in question.parameters]
        assert {one["id"] for one in fields} == page.labels


def test_questions_are_in_the_groups_of_their_document(client: FlaskClient) -> None:
    groups = {
        title: re.findall(r"^### (\S+-?\S*)$", body, re.MULTILINE)
        for title, body in sections(text("docs/questions.md")).items()
    }
    named = {one.name for one in questions()}
    wanted = {title: sorted(named.intersection(names)) for title, names in groups.items()}
    shown = {title: [one.name for one in some] for title, some in grouped(questions()).items()}
    assert {title: names for title, names in wanted.items() if names} == shown
    page = client.get("/questions").text
    assert [part.partition("<")[0] for part in page.split("<h2>")[1:]] == list(GROUPS)


def test_a_form_says_which_field_is_needed(client: FlaskClient) -> None:
    hints = re.findall(r'<label for="field-(\w+)">.*?<span class="hint">(.*?)</span>', client.get("/ask/writers").text)
    told = dict(hints)
    assert told["object_id"] == "this or object name is needed"
    assert told["object_name"] == "this or object id is needed"
    assert told["since"] == "may be left out"
    assert (
        dict(re.findall(r'"field-(\w+)">.*?"hint">(.*?)<', client.get("/ask/enforced-policy").text))["query_id"]
        == "needed"
    )


def test_an_answer_has_the_command_and_the_address_of_just_what_was_asked(
    client: FlaskClient, month: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    text_of = client.get("/ask/unmasked-reads?object_name=RAW.CRM.CUSTOMERS&column_name=EMAIL&since=").text
    line = unescape(re.search(r"<code>(.*?)</code>", text_of)[1])
    program, *words = shlex.split(line)
    assert (program, cli.main([*words, "--format", "csv"])) == ("exporter", 0)
    printed = capsys.readouterr().out
    address = unescape(re.search(r'The address of this answer: <a href="(.*?)"', text_of)[1])
    assert address == "/ask/unmasked-reads?ask=1&object_name=RAW.CRM.CUSTOMERS&column_name=EMAIL"
    assert len(got(client, address).rows) == len(printed.splitlines()) > 5
    assert client.get(address.replace("unmasked-reads", "unmasked-reads.csv")).text == printed
    answer = client.get(address.replace("unmasked-reads", "unmasked-reads.json"))
    assert answer.content_type == "application/json"
    assert len(answer.json) == len(printed.splitlines()) - 1
    assert month.graph.is_dir()


def test_an_answer_is_a_table_and_csv_as_the_command_prints_it(
    client: FlaskClient, month_graph: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = {"object_name": "MART.SALES.DIM_CUSTOMER", "domain": "Table", "since": "2026-09-20T00:00:00"}
    query = "&".join(f"{name}={quote(value)}" for name, value in given.items())
    params = [word for name, value in given.items() for word in ("--param", f"{name}={value}")]
    assert cli.main(["query", "writers", "--graph", str(month_graph), *params, "--format", "csv"]) == 0
    printed = capsys.readouterr().out
    answer = client.get(f"/ask/writers.csv?{query}")
    assert answer.content_type == "text/csv; charset=utf-8"
    assert answer.text == printed
    page = got(client, f"/ask/writers?{query}")
    names = [row["user_name"] for row in csv.DictReader(io.StringIO(printed))]
    assert [row[0] for row in page.rows[1:]] == names != []
    since = next(one for one in page.inputs if one.get("name") == "since")
    assert {"value": "2026-09-20T00:00:00", "type": "datetime-local"}.items() <= since.items()


def test_a_form_does_not_wait_for_a_long_answer(client: FlaskClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """It says so, loads again by itself, and has the answer then."""
    monkeypatch.setattr(forms, "_WAIT", 0.0)
    address = "/ask/who-accessed?object_name=MART.SALES.DIM_CUSTOMER"
    first = client.get(address)
    assert first.status_code == 200
    assert "still being asked" in first.text
    assert 'http-equiv="refresh"' in first.text
    monkeypatch.setattr(forms, "_WAIT", LONG)
    then = client.get(address)
    assert "<h2>Answer" in then.text
    assert 'http-equiv="refresh"' not in then.text


def test_a_page_does_not_wait_for_its_long_parts(month: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each says so, and has its answer when the page is loaded again."""
    client = server.make(month, "127.0.0.1").test_client()
    address = "/object?name=RAW.CRM.STORE_VISITS_2019"
    monkeypatch.setattr(objects, "_WAIT", 0.0)
    first = got(client, address)
    assert LATER in first.text
    monkeypatch.setattr(objects, "_WAIT", LONG)
    assert LATER not in got(client, address).text


def test_a_wrong_parameter_is_answered_with_a_message(client: FlaskClient) -> None:
    assert "not a time" in got(client, "/ask/writers?object_name=A&domain=Table&since=soon", 400).text
    assert "not a time" in client.get("/ask/writers.csv?object_name=A&domain=Table&since=soon").text


def test_a_users_own_query(client: FlaskClient) -> None:
    def asked(query: str, status: int = 200) -> Page:
        return got(client, f"/write?query={quote(query)}", status)

    ah = "PREFIX ah: <https://w3id.org/access-history#>"
    assert ["TOM_ANALYST"] in asked(f"{ah} SELECT ?user_name {{ ?user ah:userName ?user_name }}").rows
    assert ["yes"] in asked("ASK {}").rows
    assert "userName" in asked(f"{ah} CONSTRUCT {{ ?u ah:userName ?n }} {{ ?u ah:userName ?n }}").text
    assert "not valid SPARQL" in asked("SELECT", 400).text
    assert "SERVICE" in asked("SELECT * { SERVICE <http://127.0.0.1:1> {} }", 403).text


def test_pages_say_when_a_newer_export_is_in_the_folder(client: FlaskClient, month_graph: Path) -> None:
    assert "newer export" not in got(client, "/questions").text
    manifest = month_graph / "manifest.json"
    before = manifest.read_text("utf-8")
    manifest.write_text(before + "\n", "utf-8")
    assert "newer export" in got(client, "/questions").text
    manifest.write_text(before, "utf-8")


# --- gaps -------------------------------------------------------------------------------------------------------------


def gaps_of(site: Site) -> dict[str, set[str]]:
    """The tags of each part of the page."""
    text_of = server.make(site, "127.0.0.1").test_client().get("/gaps").text
    parts = {title: part.partition("</section>")[0] for title, part in zip(
        ("Sensitive", "Other tags"), text_of.split('aria-labelledby="gaps-')[1:], strict=True
    )}  # fmt: skip
    return {
        title: {cell for row in Page(part).rows[1:] for cell in row[2].split(", ")} for title, part in parts.items()
    }


def test_a_gap_of_an_owner_is_not_one_of_personal_data(month: Site, month_graph: Path) -> None:
    """Of the example, only the owner's tag is on what no policy covers; another setting counts it."""
    found = gaps_of(month)
    assert found == {"Sensitive": set(), "Other tags": {"GOVERNANCE.TAGS.OWNER = crm-team"}}
    with sited(month_graph, sensitive_tags=("owner",)) as site:
        assert gaps_of(site) == {"Sensitive": found["Other tags"], "Other tags": set()}
    first = server.make(month, "127.0.0.1").test_client().get("/").text
    assert "GOVERNANCE.TAGS.OWNER" not in first.partition('id="look-3"')[2].partition("</section>")[0].replace(
        "<wbr>", ""
    )


def test_which_tags_are_sensitive(month: Site) -> None:
    """By name, and those that a masking policy was ever set on."""
    assert month.rows("page-masked-tags") == [{"object_name": "GOVERNANCE.TAGS.PII"}]
    names = ("G.T.PII", 'G.T."pii level"', "G.T.GDPR_ART9", "G.T.PHI", "G.T.SENSITIVE_DATA", "G.T.OWNER", "PII.T.OWNER")
    assert [overview.is_sensitive(month, name) for name in names] == [True] * 5 + [False] * 2
    tags = as_list(["G.T.OWNER=x", "G.T.PII"])
    answer = Answer(("tags", "policies"), [(tags, ""), (tags, "P")])
    assert overview.gaps_of(month, answer, sensitive=True).rows == [(tags, "")]
    assert overview.gaps_of(month, answer, sensitive=False).rows == []


# --- names that are made to break out ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def hostile(hostile_graph: Path) -> Iterator[tuple[Site, FlaskClient]]:
    with sited(hostile_graph) as site:
        yield site, server.make(site, "127.0.0.1").test_client()


def assert_is_ours(page: Page) -> None:
    """Nothing but our own markup, and links to our own pages."""
    assert not page.tags & {"script", "img", "iframe", "object", "embed", "svg", "base"}
    assert not [name for name in page.attributes if name.startswith("on") or name == "style"]
    assert [link for link in page.links if not link.startswith(("/", "#")) or link.startswith("//")] == []


def test_no_name_becomes_a_part_of_a_page(hostile: tuple[Site, FlaskClient]) -> None:
    site, client = hostile
    rows = site.sparql.result(
        "PREFIX ah: <https://w3id.org/access-history#> SELECT ?object WHERE { ?object ah:domain ?d } ORDER BY ?object",
        "text/csv", None, 10_000_000,
    ).body.decode().splitlines()[1:]  # fmt: skip
    assert len(rows) > 100
    for iri in rows[:: len(rows) // 6]:
        page = got(client, f"/object?id={quote(site.path(iri), safe='')}")
        assert_is_ours(page)
        columns = [link for link in page.links if link.startswith("/column?")]
        if columns:
            assert_is_ours(got(client, columns[0]))
    for payload in PAYLOADS:
        if payload.strip():
            assert_is_ours(got(client, f"/search?q={quote(payload, errors='surrogatepass')}"))
    script = got(client, "/search?q=%3Cscript%3E")
    assert any("<script>alert(1)</script>" in cell for row in script.rows for cell in row)


MARKED = quote("\u202egnp.")


def test_marks_of_direction_in_names_are_shown_as_escapes(hostile: tuple[Site, FlaskClient]) -> None:
    """Else a browser shows another name: ``\\u202egnp.`` as ``.png``."""
    _, client = hostile
    link = next(link for link in got(client, f"/search?q={MARKED}").links if link.startswith("/object?"))
    for path in (f"/search?q={MARKED}", link, link.replace("/object?", "/lineage/?", 1)):
        shown = client.get(path, follow_redirects=True).text
        assert "\\u202egnp." in shown
        assert not re.search("[\x00-\x08\u200b\u202a-\u202e\u2066-\u2069]", shown)


def test_nothing_that_is_asked_becomes_a_part_of_a_page(client: FlaskClient) -> None:
    for path in ("/search?q=", "/object?name=", "/object?id=", "/query?id=", "/user?name=", "/write?query=",
                 "/ask/writers?domain=Table&object_name=", "/column?id=table/2055&column="):  # fmt: skip
        for payload in ('"><script>alert(1)</script>', "<img src=x onerror=alert(1)>", "{{7*7}}", "' onload='x"):
            answer = client.get(path + quote(payload))
            assert answer.status_code < 500
            assert_is_ours(Page(answer.text))
            assert "49" not in Page(answer.text).text or "{{7*7}}" not in payload


# --- short queries on hybrid tables -----------------------------------------------------------------------------------

HYBRID = EXAMPLES / "25-hybrid-table"


@pytest.mark.parametrize("is_given", [True, False])
def test_the_page_of_a_hybrid_table_says_whether_short_queries_count(tmp_path: Path, *, is_given: bool) -> None:
    options = ["--aggregate", str(HYBRID / "aggregate_access_history.json")] if is_given else []
    assert export([HYBRID / "access_history.json"], tmp_path / "out", *options) == 0
    with sited(tmp_path / "out") as site:
        hybrid = server.make(site, "127.0.0.1").test_client()
        for path in ("/object?id=table/71", "/column?id=table/71&column=ID"):
            text = got(hybrid, path).text
            assert (SHORT_QUERIES_COUNTED in text, SHORT_QUERIES_MISSING in text) == (is_given, not is_given)
        page = got(hybrid, "/object?id=table/71")
        readers = {row[0]: row[1] for row in page.rows if len(row) == 4 and row[0] in ("SHOP_APP", "ANALYST")}
        assert readers["ANALYST"] == "1"
        assert ("SHOP_APP" in readers) == is_given
        if is_given:
            assert any(row[:2] == ["SHOP_APP", "992"] for row in page.rows), "readers: 480 and 512 calls"
            assert any(row[:2] == ["SHOP_APP", "35"] for row in page.rows), "writers: 35 calls"


def test_notes_have_the_times_of_the_page_and_links_to_the_queries_that_they_name(client: FlaskClient) -> None:
    html = client.get("/gaps").text
    assert re.search(r'at <time title="2026-09-08T15:00:02\.296Z">2026-09-08 15:00:02</time>', html)
    cut = "01bf0916-1400-6e2c-0200-dd20f12a9777"
    html = client.get("/ask/unmasked-reads?ask=1").text
    assert re.search(rf'the first is <a href="/query\?id={cut}">{cut}</a>', html)
    assert client.get(f"/query?id={cut}").status_code == 200


def test_a_note_is_no_markup_and_a_path_no_query() -> None:
    told = str(note("<b> s3://x/01bf0916-1400-6e2c-0200-dd20f12a9777/a", has_links=False))
    assert told == "&lt;b&gt; s3://x/01bf0916-1400-6e2c-0200-dd20f12a9777/a"
    assert "href" not in str(note("s3://x/01bf0916-1400-6e2c-0200-dd20f12a9777/a"))


def test_a_name_with_a_comma_is_one_name_of_a_list(tmp_path: Path) -> None:
    """Of a column that a query read, and of an object that a user read."""
    odd, column = 'DB.S."SALES, OLD"', "A, B"
    thing = {
        "objectDomain": "Table",
        "objectId": 7,
        "objectName": odd,
        "columns": [{"columnName": column}, {"columnName": "C"}],
    }
    other = {"objectDomain": "Table", "objectId": 8, "objectName": "DB.S.T", "columns": [{"columnName": "C"}]}
    row = {
        "query_id": "q", "query_start_time": "2026-09-01 08:00:00 Z", "user_name": "U",
        "direct_objects_accessed": [thing, other], "base_objects_accessed": [thing, other],
    }  # fmt: skip
    assert export([ndjson([row], tmp_path / "rows.ndjson")], tmp_path / "out") == 0
    with sited(tmp_path / "out") as site:
        client = server.make(site, "127.0.0.1").test_client()
        query = Page(client.get("/query?id=q").text)
        history = client.get("/ask/user-history?user_name=U").text
    columns = {unescape(link) for link in query.links if "/column" in link}
    assert columns == {"/column?id=table/7&column=A,+B", "/column?id=table/7&column=C", "/column?id=table/8&column=C"}
    assert re.search(r'href="/object\?id=table/7">DB\.(<wbr>)?S\.(<wbr>)?&#34;SALES, OLD&#34;(<wbr>)?</a>', history)
    rows = csv.DictReader(io.StringIO(client.get("/ask/user-history.csv?user_name=U").text))
    assert {row["direct_objects"] for row in rows} == {f"{odd}, DB.S.T"}


def test_a_page_that_lacks_an_answer_is_loaded_again(month: Site, client: FlaskClient) -> None:
    with server.make(month, "127.0.0.1").test_request_context():
        assert not is_incomplete()
        assert LATER in not_ready()
        assert is_incomplete()
    assert "Refresh" not in client.get("/browse/").headers


def test_what_protects_a_column_includes_the_policies_of_its_tags(client: FlaskClient) -> None:
    """The mask is set on the tag; the tag was off from the 17th to the 18th (examples/company-month/README.md)."""
    page = Page(client.get("/column?name=RAW.CRM.CUSTOMERS&column=EMAIL").text)
    mask, through = "GOVERNANCE.POLICIES.EMAIL_MASK", "through GOVERNANCE.TAGS.PII"
    assert page.facts["What protects it"].startswith(f"{mask} {through} on EMAIL since 2026-09-18; GOVERNANCE.TAGS.PII")
    held = [row[4:6] for row in page.rows if row[:3] == ["Policy", mask, through]]
    assert held[:2] == [["2026-09-18 09:15:02", ""], ["2026-09-04 09:05:02", "2026-09-17 09:00:02"]]
