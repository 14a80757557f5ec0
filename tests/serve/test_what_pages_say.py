"""What pages say where rows give an agent no name, where a column has another name now, and where no row sets a policy.

All stories are one export; the accounts of their rows are one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest

from exporter.ask.notes.clones import INFERRED
from exporter.ask.notes.enforced_alone import ENFORCED
from exporter.ask.notes.policies import FORCED
from exporter.serve import server
from exporter.serve.objects import FORMER
from exporter.serve.periods import settings
from exporter.serve.site import PageSubject
from tests import exports
from tests.ask.test_any_array import STORIES
from tests.ask.test_clones import cloned
from tests.ask.test_names import SET_MASK, changed, copied, read, renamed, thing
from tests.hard_rows import SENTINEL
from tests.mcp.asked import asked
from tests.serve.conftest import pages_of, sited
from tests.serve.test_pages import Page

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from flask.testing import FlaskClient

    from exporter.serve.site import Site

Json = dict[str, Any]
SOURCE, A, B, C = thing("SOURCE", 1), thing("A", 3, columns=("C", "D")), thing("B", 4), thing("C", 5)
G, H = thing("G", 6, columns=("C", "D", "E")), thing("H", 7, columns=("C", "D"))
TO_E: Final[Json] = {"C": {"subOperationType": "ALTER", "objectName": {"value": "E"}}}
TO_C: Final[Json] = {"E": {"subOperationType": "ALTER", "objectName": {"value": "C"}}}
DROP: Final[Json] = {"subOperationType": "DROP", "objectId": {"value": 61}}
DROP_IN_ARRAY: Final[Json] = {"objectName": "D", "subOperationType": "DROP", "objectId": 62}
AGENTS: Final[list[Json]] = [
    {"agentType": "EXTERNAL_AGENT", "agentId": None, "agentName": None},
    {"agentType": "CORTEX_AGENT", "agentId": 5, "agentName": "D.S.BOT"},
]
ROWS: Final[list[Json]] = [
    {**read(SOURCE, "ANA"), "agents_info": AGENTS[:1]},
    {**read(SOURCE, "ANA"), "agents_info": AGENTS},
    # C of A is called E now; of B it was, and is called C again; of C another column has the name C now
    read(A), changed(A, columns=TO_E),
    copied(SOURCE, B), changed(B, columns=TO_E), changed(B, columns=TO_C),
    copied(SOURCE, C), changed(C, columns=TO_E), changed(C, columns={"C": {"subOperationType": "ADD"}}),
    {**read(B, masked=True), **STORIES["provider"][0]},
    read(B, masked=True),
    # C and D of G are dropped, D in the form of 2026; of H, C is dropped and added again, and a later row reads D
    read(G), changed(G, columns={"C": DROP}), changed(G, columns=[DROP_IN_ARRAY]),
    read(H), changed(H, columns={"C": DROP, "D": DROP}), changed(H, columns={"C": {"subOperationType": "ADD"}}),
    read(thing("H", 7, columns=("D",))),
    {**read({key: value for key, value in B.items() if key != "columns"}, "SPARK"), "event_source": "horizon_irc"},
]  # fmt: skip


def _exported(told: list[Json], folder: Path) -> Path:
    rows = [
        {"user_name": "ETL", **row, "query_id": f"q{day}", "query_start_time": f"2026-01-{day:02} 06:00:00 Z"}
        for day, row in enumerate(told, 1)
    ]
    assert exports.export([exports.ndjson(rows, folder / "rows.ndjson")], folder / "out") == 0
    return folder / "out"


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FlaskClient]:
    with sited(_exported(ROWS, tmp_path_factory.mktemp("what-pages-say"))) as site:
        yield server.make(site, "127.0.0.1").test_client()


def _text(client: FlaskClient, path: str) -> str:
    response = client.get(path)
    assert response.status_code == 200
    return " ".join(Page(response.text).text.split())


def test_an_agent_without_a_name_is_on_the_page_of_its_query(client: FlaskClient) -> None:
    """docs/graph.md: agents outside of Snowflake have neither an id nor a name."""
    assert "EXTERNAL_AGENT without a name" in _text(client, "/query?id=q1")
    chain = _text(client, "/query?id=q2")
    assert "EXTERNAL_AGENT without a name" in chain
    assert "D.S.BOT" in chain


@pytest.mark.parametrize(
    ("name", "columns", "former"), [("A", 2, "C is called E now."), ("B", 1, "E is called C now."), ("C", 2, "")]
)
def test_a_renamed_column_counts_once(name: str, columns: int, former: str, client: FlaskClient) -> None:
    text = _text(client, f"/object?name=D.S.{name}")
    assert f", {columns} column{'s' if columns > 1 else ''};" in text
    assert (f"{FORMER}{former}" in text) if former else (FORMER not in text)


def test_a_dropped_column_is_none_of_today(client: FlaskClient) -> None:
    """View, "object_modified_by_ddl": ALTER TABLE … DROP COLUMN has the sub-operation DROP."""
    response = client.get("/object?name=D.S.G")
    page = Page(response.text)
    assert ", 1 column and 2 that were dropped;" in " ".join(page.text.split())
    rows = [row for row in page.rows if row and row[0] in {"C", "D", "E"} and len(row) == 4]
    assert [(row[0], row[3][:10]) for row in rows] == [("E", ""), ("C", "2026-01-14"), ("D", "2026-01-15")]
    assert "This column was dropped on 2026-01-14." in _text(client, "/column?name=D.S.G&column=C")
    assert "This column" not in _text(client, "/column?name=D.S.G&column=E")
    assert "This column is called E now." in _text(client, "/column?name=D.S.A&column=C")


def test_a_column_that_a_later_row_shows_is_one_of_today(client: FlaskClient) -> None:
    assert ", 2 columns;" in _text(client, "/object?name=D.S.H")
    for column in "CD":
        assert "This column" not in _text(client, f"/column?name=D.S.H&column={column}")


def test_a_picture_counts_the_columns_of_today(client: FlaskClient) -> None:
    assert "▾ 1 column " in client.get("/lineage/?name=D.S.G").text
    opened = client.get("/lineage/?name=D.S.G&columns=table/6").text
    assert "<title>C (dropped on 2026-01-14)</title>" in opened
    assert "<title>E</title>" in opened
    assert "<title>C (called E now)</title>" in client.get("/lineage/?name=D.S.A&columns=table/3").text


def test_the_page_of_a_provided_table_says_what_protects_it(client: FlaskClient) -> None:
    for path in ("/object?name=P.S.T", "/column?name=P.S.T&column=C"):
        text = _text(client, path)
        assert ENFORCED in text
        assert "P.S.MASK on C (of the data's provider), last on 2026-01-11" in text
        assert ("P.S.ROWS (of the data's provider)" in text) == path.startswith("/object")


def test_the_page_of_a_table_that_was_masked_before_the_record_says_so(client: FlaskClient) -> None:
    assert f"{ENFORCED}D.S.MASK on C, last on 2026-01-12" in _text(client, "/object?name=D.S.B")
    assert ENFORCED not in _text(client, "/object?name=D.S.A")


def test_the_page_of_a_column_says_which_reads_list_no_columns(client: FlaskClient) -> None:
    """beyond_the_documents.md, ``event_source``; docs/not-recorded.md, "Columns"."""
    text = _text(client, "/column?name=D.S.B&column=C")
    assert text.count("Rows list no columns of what 1 query read of D.S.B (by SPARK, at 2026-01-20 06:00:00)") == 2
    assert "Rows list no columns" not in _text(client, "/column?name=D.S.A&column=C")


def test_the_page_and_the_picture_of_a_column_say_what_rows_do_not_give_by_column(tmp_path: Path) -> None:
    stage = thing("ST", 50, "Stage")
    loaded = {**read(stage, "ETL"), "objects_modified": [B]}
    with pages_of([copied(SOURCE, B), loaded, copied(B, C), read(C)], tmp_path) as client:
        for path in ("/column?name=D.S.C&column=C", "/lineage/?name=D.S.C&column=C"):
            told = "or what its data came from, do not say which column came from which: query q2."
            assert told in client.get(path).text, path
        text = _text(client, "/column?name=D.S.C&column=C")
        assert "came fromD.S.B, D.S.SOURCE. Notes below say what is not among these." in text
        assert "came from which" not in client.get("/lineage/?name=D.S.SOURCE&column=C").text


NAMELESS: Final = {key: value for key, value in B.items() if key != "objectId"}
HALVES: Final[list[Json]] = [
    copied(NAMELESS, A), read(B), {**read(C), "policies_referenced": [SENTINEL]},
    changed(C, columns="TRUNCATED"), {**read(H), "objects_modified": [SENTINEL]},
]  # fmt: skip


@pytest.fixture(scope="module")
def of_halves(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Rows that give B with an id and without, and rows that Snowflake cut."""
    with sited(_exported(HALVES, tmp_path_factory.mktemp("halves"))) as site:
        yield site


@pytest.mark.parametrize("name", ["B", "H"])
def test_lineage_has_the_notes_of_the_questions_about_it(name: str, of_halves: Site) -> None:
    """As below the answers of end-up and lineage-as-of; the tool of assistants has the notes of the picture."""
    text = server.make(of_halves, "127.0.0.1").test_client().get(f"/lineage/?name=D.S.{name}").text.replace("<wbr>", "")
    assert "1 query was cut by Snowflake (objects_modified)" in text
    assert ("Rows give D.S.B with an id and without" in text) == (name == "B")


def test_lineage_of_whole_rows_has_no_notes(client: FlaskClient) -> None:
    text = client.get("/lineage/?name=D.S.B").text
    assert "may lack" not in text
    assert "without:" not in text


@pytest.mark.parametrize(
    ("query", "place"), [("q3", "policies_referenced"), ("q4", "object_modified_by_ddl"), ("q5", "objects_modified")]
)
def test_a_part_of_a_query_that_was_cut_is_said(query: str, place: str, of_halves: Site) -> None:
    """A cut of policies and of DDL, like that of what was written."""
    text = _text(server.make(of_halves, "127.0.0.1").test_client(), f"/query?id={query}")
    assert f"1 query was cut by Snowflake ({place}), so the answer may lack what it did" in text


@pytest.fixture(scope="module")
def cloned_client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FlaskClient]:
    """q1 reads D.S.A, q2 clones D as D2, q3 reads D2.S.A."""
    rows = [read(A), cloned("D", "D2", 71), read({**A, "objectId": 53, "objectName": "D2.S.A"})]
    with pages_of(rows, tmp_path_factory.mktemp("cloned")) as client:
        yield client


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("/query?id=q2", ["inferred from names"]),
        ("/object?id=table/53", [
            "D.S.A, read by the queries that wrote it or cloned with its schema or database (partly inferred",
            "ETL (partly inferred from names)",
        ]),
        ("/object?id=table/3", ["D2.S.A (partly inferred from names)"]),
    ],
)  # fmt: skip
def test_pages_say_that_a_step_through_a_clone_is_inferred(
    path: str, said: list[str], cloned_client: FlaskClient
) -> None:
    """View, "objects_modified": the columns that a query named are in the row, and the row of a CLONE names none."""
    text = _text(cloned_client, path)
    assert f"{INFERRED}: D2.S.A from D.S.A" in text
    assert [one for one in said if one not in text] == []
    assert "named in the statement" not in text


# --- a table that is made anew each night -----------------------------------------------------------------------------

NIGHTS: Final = [thing("N", number) for number in (31, 34, 33, 32, 35)]
"""D.S.N of five nights, in order of time."""


@pytest.fixture(scope="module")
def nightly(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder: Path = tmp_path_factory.mktemp("nightly")
    rows = [copied(SOURCE, night, "CREATE") for night in NIGHTS] + [read(NIGHTS[0], "TOM"), read(NIGHTS[-1])]
    with pages_of(rows, folder):
        return folder / "out"


@pytest.fixture(scope="module")
def nights(nightly: Path) -> Iterator[FlaskClient]:
    with sited(nightly) as site:
        yield server.make(site, "127.0.0.1").test_client()


@pytest.mark.parametrize(
    ("path", "of_name"),
    [
        ("/object?name=D.S.N", ""), ("/column?name=D.S.N&column=C", ""),
        ("/object?id=table/35", "/object?name=D.S.N"), ("/column?id=table/35&column=C", "/column?name=D.S.N&column=C"),
    ],
)  # fmt: skip
def test_many_objects_of_a_name_are_folded_and_their_readers_together(
    path: str, of_name: str, nights: FlaskClient
) -> None:
    html = nights.get(path).text
    begin = "Other objects had this name, too: 4." if of_name else "This page is of the 5 objects that had this name"
    folded = html.partition(f"<details><summary>{begin}")[2].partition("</details>")[0]
    assert [f"/object?id=table/{number}" in folded for number in (31, 32, 33, 34)] == [True] * 4
    users = {row[0] for row in Page(html).rows} & {"ANA", "TOM"}
    assert users == ({"ANA"} if of_name else {"ANA", "TOM"})
    assert not of_name or of_name in Page(html).links


def test_many_objects_of_a_name_are_few_links(nights: FlaskClient) -> None:
    page = Page(nights.get("/column?id=table/1&column=C").text)
    assert " ".join(page.facts["Where it was copied to"].split()) == "D.S.N (5 objects)"
    row = ["D.S.N Table 31 Table 32 Table 33 and 2 others", "Table", "C Table 31 Table 32 Table 33 and 2 others"]
    assert row in page.rows
    assert {"/object?name=D.S.N", "/column?name=D.S.N&column=C"} <= set(page.links)
    assert [row[1] for row in Page(nights.get("/object?name=D.X.N").text).rows[1:]].count(row[0]) == 1


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("", "needs object_name or object_id. Its parameters"),
        ("&object_name=D.S.N&column_name=C&since=2026-13-45", "since=2026-13-45 is not a time"),
    ],
)
def test_messages_on_pages_name_no_option_of_the_command(given: str, said: str, nights: FlaskClient) -> None:
    html = nights.get(f"/ask/column-readers?ask=1{given}").text
    alert = html.partition('role="alert">')[2].partition("</p>")[0]
    assert said in alert
    assert "--param" not in alert


def test_an_assistant_can_tell_the_objects_of_a_name_apart(nightly: Path) -> None:
    with asked(nightly) as server:
        answer = server.answer("lineage", iri="table/1", direction="downstream")
    rows = [dict(zip(answer["columns"], row, strict=True)) for row in answer["rows"]]
    assert [row["target_iri"].rpartition("/")[2] for row in rows] == ["31", "34", "33", "32", "35"]
    assert {row["source_iri"].rpartition("/")[2] for row in rows} == {"1"}


def test_the_first_lines_of_a_stage_or_file_do_not_say_flatly_that_nothing_was_done(tmp_path: Path) -> None:
    """Their files are read and written by others, which has no row: the note is in the place of the sentence."""
    stage, url = {"objectDomain": "Stage", "objectId": 9, "objectName": "D.S.ST"}, "s3://bucket/in/"
    loaded = {
        "direct_objects_accessed": [{"location": url}, stage],
        "base_objects_accessed": [{"location": url}, stage],
        "objects_modified": [B],
    }
    with pages_of([loaded], tmp_path) as client:
        for name, note in (("D.S.ST", "D.S.ST is a stage: its files"), (url, f"{url} is outside of Snowflake")):
            first, _, rest = _text(client, f"/object?name={name}").partition("What cannot be known")
            for title in ("Where its data came from", "Who writes it"):
                assert f"{title}{note}" in first
            assert "shows a write" not in first + rest
            assert "Who reads itETL" in first


PII: Final[Json] = {"objectDomain": "TAG", "objectId": 80, "objectName": "D.S.PII"}
OF_MASK: Final[Json] = {"objectDomain": "MASKING_POLICY", "objectId": 900, "objectName": "D.S.MASK"}
SET_PII: Final[Json] = {"tags": {"D.S.PII": {"objectId": {"value": 80}, "subOperationType": "ADD"}}}
UNSET_PII: Final[Json] = {"tags": {"D.S.PII": {"objectId": {"value": 80}, "subOperationType": "DROP"}}}


def test_a_tag_or_policy_that_was_renamed_is_called_by_its_present_name(tmp_path: Path) -> None:
    """It is the same one, so its period goes on; a period that was over before keeps the name of its time."""
    told = [
        changed(B, columns={"C": SET_PII}),
        changed(B, columns={"C": UNSET_PII}),
        changed(A, columns=SET_MASK),
        changed(A, columns={"D": SET_PII}),
        changed(PII, **SET_MASK["C"]),
        renamed(OF_MASK, "M2"),
        renamed(PII, "SENS"),
        changed(A, "DROP"),
        changed(A, "UNDROP"),
        read(A),
    ]
    with sited(_exported(told, tmp_path)) as site:
        of_a, of_b = (_periods(site, name) for name in ("D.S.A", "D.S.B"))
        page = server.make(site, "127.0.0.1").test_client().get("/object?name=D.S.A").text.replace("<wbr>", "")
    mask, tag = "D.S.M2 (set as D.S.MASK)", "D.S.SENS (set as D.S.PII)"
    assert of_b == {("D.S.PII", None, "2026-01-02")}
    assert of_a == {
        (mask, None, "2026-01-08"), (mask, None, None),
        (tag, None, "2026-01-08"), (tag, None, None),
        (mask, f"through {tag}", "2026-01-08"), (mask, f"through {tag}", None),
    }  # fmt: skip
    columns = {row[0]: row[1:3] for row in Page(page).rows if row[0] in ("C", "D")}
    assert columns == {"C": ["", "D.S.M2"], "D": ["D.S.SENS", "D.S.M2"]}


def _periods(site: Site, name: str) -> set[tuple[str | None, ...]]:
    """The tags and policies of an object, each with what it is through, and the day of its end."""
    thing, _ = site.by_name(name)
    assert thing is not None
    rows = settings(site, PageSubject(thing)).dicts()
    return {(row["set_name"], row["value"], (row["valid_until"] or "")[:10] or None) for row in rows}


def test_a_page_says_that_another_mask_on_the_tag_may_have_taken_the_place_of_one(tmp_path: Path) -> None:
    """By FORCE, which rows do not tell."""
    other = {"maskingPolicies": {"D.S.M2": {"objectId": {"value": 901}, "subOperationType": "ADD"}}}
    told = [changed(A, columns={"C": SET_PII}), changed(PII, **SET_MASK["C"]), changed(PII, **other), read(A)]
    with pages_of(told, tmp_path) as client:
        first = _text(client, "/object?name=D.S.A").partition("What cannot be known")[0]
        assert f"{FORCED} Rows do not tell types" in first
        assert "D.S.MASK on D.S.PII (D.S.M2 was set 2026-01-01" in first
