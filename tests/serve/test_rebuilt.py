"""The pages of the name of a table that is made anew each night: built as X_NEW, swapped with X, and dropped."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest

from exporter.serve import server
from tests import exports
from tests.ask.test_names import SET_MASK, changed, copied, read, renamed, swapped, thing
from tests.mcp.asked import asked, whole
from tests.serve.conftest import pages_of, sited
from tests.serve.test_contradictions import Part, Parts

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from flask.testing import FlaskClient

Json = dict[str, Any]
SOURCE, COPY, OUT = thing("SOURCE", 1), thing("COPY", 2), thing("OUT", 3)


def built(number: int) -> Json:
    return {**copied(SOURCE, thing("X_NEW", number)), **changed(thing("X_NEW", number), "CREATE")}


def of_view(user: str, view: int, table: int) -> Json:
    """A read of the view V over X."""
    own = {"user_name": user, "direct_objects_accessed": [thing("V", view, "View")]}
    return {**own, "base_objects_accessed": [thing("X", table)]}


def night(number: int) -> list[Json]:
    """X_NEW is built, swapped with the X of the night before, and that one is dropped."""
    return [
        built(number),
        *swapped(thing("X_NEW", number), thing("X", number - 1)),
        changed(thing("X_NEW", number - 1), "DROP"),
    ]


def policy(number: int) -> Json:
    return {"objectDomain": "Masking Policy", "objectId": number, "objectName": "D.S.MASK"}


ROWS: Final[list[Json]] = [
    {**copied(SOURCE, thing("X", 30, columns=("C", "D"))), **changed(thing("X", 30), "CREATE")},
    read(thing("X", 30, columns=("C", "D")), "TOM"),  # unmasked, before the mask
    *night(31),
    of_view("VIC", 51, 31), copied(thing("X", 31), COPY),
    changed(thing("X", 31), columns=SET_MASK), read(thing("X", 31), "MAX", masked=True),
    *night(32), of_view("VIC", 51, 32),
    # Of 32, another table: X is kept as X_ARCHIVE, where EVE reads it and EVA writes to it
    built(33), renamed(thing("X", 32), "X_ARCHIVE"), renamed(thing("X_NEW", 33), "X"),
    read(thing("X_ARCHIVE", 32), "EVE"), {**copied(COPY, thing("X_ARCHIVE", 32)), "user_name": "EVA"},
    changed(thing("X_ARCHIVE", 32), columns=SET_MASK), copied(thing("X_ARCHIVE", 32), OUT),
    *night(34),
    # The policy is made anew, too
    changed(policy(900), "DROP"), changed(policy(901), "CREATE"),
]  # fmt: skip


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder, rows, day = tmp_path_factory.mktemp("rebuilt"), list[Json](), 0
    for row in ROWS:
        day += not row.get("again")  # the second row of a SWAP is of the same query
        told = {key: value for key, value in row.items() if key != "again"}
        rows.append(
            {"user_name": "ETL", **told, "query_id": f"q{day}", "query_start_time": f"2026-01-{day:02} 06:00:00 Z"}
        )
    assert exports.export([exports.ndjson(rows, folder / "rows.ndjson")], folder / "out") == 0
    return folder / "out"


@pytest.fixture(scope="module")
def client(out: Path) -> Iterator[FlaskClient]:
    with sited(out) as site:
        yield server.make(site, "127.0.0.1").test_client()


OBJECT, COLUMN = "/object?name=D.S.X", "/column?name=d.s.x&column=c"


def _parts(client: FlaskClient, path: str) -> dict[str, Part]:
    response = client.get(path)
    assert response.status_code == 200
    return Parts(response.text).parts


@pytest.mark.parametrize(
    ("path", "part", "first"),
    [
        (OBJECT, "sources", {"D.S.SOURCE"}), (OBJECT, "targets", {"D.S.COPY"}), (OBJECT, "views", {"D.S.V"}),
        # What EVE and EVA did, they did to X_ARCHIVE
        (OBJECT, "readers", {"TOM", "VIC", "ETL", "MAX"}), (OBJECT, "writers", {"ETL"}),
        (OBJECT, "columns", {"C", "D"}), (OBJECT, "settings", {"Policy"}),
        (OBJECT, "end-up", {"D.S.V", "D.S.COPY", "D.S.X_ARCHIVE", "D.S.OUT"}),
        (COLUMN, "root-cause", {"D.S.SOURCE"}), (COLUMN, "column-copies", {"D.S.COPY", "D.S.X_ARCHIVE", "D.S.OUT"}),
        (COLUMN, "column-readers", {"TOM", "VIC", "ETL", "MAX"}), (COLUMN, "unmasked-reads", {"VIC", "ETL"}),
        (COLUMN, "settings", {"Policy"}),
    ],
)  # fmt: skip
def test_a_part_is_of_all_that_had_the_name(path: str, part: str, first: set[str], client: FlaskClient) -> None:
    assert {row[0] for row in _parts(client, path)[part].texts} == first


def test_what_happens_after_the_name_is_lost_is_not_of_the_name(client: FlaskClient) -> None:
    page = _parts(client, OBJECT)
    # Of X_ARCHIVE, the mask of day 19; that of day 8 ended for the name with the SWAP of day 11.
    held = [(row["Valid from"].text[:10], row["Valid until"].text[:10]) for row in page["settings"].rows]
    assert held == [("2026-01-08", "2026-01-11")]
    assert "What protects it1 ended" in page[""].words
    statements = {row["Query"].text for row in page["changes"].rows}
    assert {"q1", "q4", "q15", "q22"} <= statements
    assert not statements & {"q19", "q23"}
    (of_views,) = page["views"].texts
    assert of_views[3:5] == ("2026-01-06 06:00:00", "2026-01-13 06:00:00"), "two tables, one view"
    ids = {row["Id"].text for row in page["names"].rows}
    assert ids == {str(number) for number in range(30, 35)}


def test_the_first_line_on_reads_in_clear_says_that_it_lacks_some(client: FlaskClient) -> None:
    """TOM read the X of the first night, which never had a mask: a note on the answer names that table."""
    page = _parts(client, COLUMN)
    assert "Who read it unmaskedVIC, ETL. Notes below say what is not among these." in page[""].words
    assert "object_id=30 until 2026-01-04" in page["unmasked-reads"].words


def test_reads_by_week_are_of_the_name(client: FlaskClient) -> None:
    html = client.get(OBJECT).text
    counts = [text.partition(" quer")[0] for text in html.split("<title>week of ")[1:]]
    assert counts == ["2025-12-29: 1", "2026-01-05: 3", "2026-01-12: 1", "2026-01-19: 0"]


def test_what_a_page_says_of_one_object_has_its_id(client: FlaskClient) -> None:
    page = _parts(client, OBJECT)
    for part in ("columns", "exposure"):
        assert "Of Table 34 alone, which got the name on 2026-01-22." in page[part].words
    assert "Only other objects of this name had the columns D." in page["columns"].words
    links = {link for row in page["columns"].rows for link in row["Column"].links}
    assert links == {"/column?name=D.S.X&column=C", "/column?name=D.S.X&column=D"}
    assert {row[0] for row in _parts(client, "/column?name=D.S.X&column=D")["column-readers"].texts} == {"TOM"}


@pytest.mark.parametrize("path", ["/object?id=table/34", "/column?id=table/34&column=C"])
def test_no_row_is_said_of_the_object_alone(path: str, client: FlaskClient) -> None:
    """Each part without rows: other objects of the name had readers, copies, views and masks."""
    page = _parts(client, path)
    empty = {name: part for name, part in page.items() if name and not part.rows}
    assert len(empty) >= 4
    for name, part in empty.items():
        assert "Of Table 34 alone: other objects had its name." in part.words, name
    assert ("/column?name=D.S.X&column=C" if "column" in path else "/object?name=D.S.X") in client.get(
        path
    ).text.replace("&amp;", "&")


UNREAD: Final = "No query on record read D.S.V since other objects got the names of what it reads: D.S.X (another"
OVER: Final = "since no query on record read them after other objects got these names: D.S.V (over D.S.X, another"


def test_the_lineage_of_a_view_says_that_what_it_reads_was_made_anew(client: FlaskClient, out: Path) -> None:
    """V was read over 31 and 32; X is 34 now. lineage-as-of has the note, so the picture has it, and the tool."""
    with asked(out) as tools:
        question = tools.notes("lineage-as-of", object_name="D.S.V", at="2026-01-30T23:59:59Z")
        told = tools.answer("lineage", object_name="D.S.V", direction="upstream")
        of_tool = [whole(note) for note in told["notes"]]
        below = tools.notes("lineage", object_name="D.S.X", direction="downstream")
    names = [row[told["columns"].index("source_name")] for row in told["rows"]]
    texts = {
        "/lineage/?name=D.S.V": UNREAD, "/object?name=D.S.V": UNREAD,
        "/lineage/?name=D.S.X": OVER, "/object?id=table/34": OVER,
    }  # fmt: skip
    for path, note in texts.items():
        assert note in client.get(path).text, path
    # As of that day, V is over 32 alone, which still has a name: not even lineage-as-of has the note.
    assert not any(UNREAD in one for one in question)
    assert UNREAD not in client.get("/lineage/?name=D.S.V&day=2026-01-30").text
    for notes, note in ((of_tool, UNREAD), (below, OVER)):
        assert any(note in one for one in notes)
    # 31 was set aside as X_NEW by the SWAP, and dropped; 32 is kept as X_ARCHIVE.
    assert sorted(names) == ["D.S.X", "D.S.X_ARCHIVE"]
    behind = {row["Source object"].text for row in _parts(client, "/object?name=D.S.V")["behind"].rows}
    assert behind == {"D.S.X", "D.S.X_ARCHIVE"}


def test_the_page_of_a_name_says_that_a_view_over_it_is_shared(tmp_path: Path) -> None:
    """Granted when V had been read over 31. No query read it over 32, which has the name since then."""
    share = {"objectDomain": "Share", "objectId": 70, "objectName": "SH"}
    on = {"PRIVILEGES": ["SELECT"], "SECURABLE_OBJECT_DOMAIN": "VIEW", "SECURABLE_OBJECT_ID": 51}
    granted = changed(share, "GRANT", grant={"value": {**on, "SECURABLE_OBJECT_NAME": "D.S.V"}})
    made = {**copied(SOURCE, thing("X", 31)), **changed(thing("X", 31), "CREATE")}
    again = {**copied(SOURCE, thing("X", 32)), **changed(thing("X", 32), "REPLACE")}
    with pages_of([made, of_view("VIC", 51, 31), granted, again], tmp_path) as client:
        part = _parts(client, "/object?name=D.S.X")["exposure"]
        assert UNREAD in client.get("/lineage/?name=D.S.V&day=2026-01-01").text
    assert "Of Table 32 alone, which got the name on" in part.words
    assert "D.S.V, a view over D.S.X, was granted to a share: ask exposure for it, too." in part.words


def test_what_a_user_read_leads_to_the_object_by_its_id(client: FlaskClient) -> None:
    """Five objects had the name: the row of the query says which one it read."""
    for user, read_by_user in (("TOM", "table/30"), ("MAX", "table/31"), ("EVE", "table/32")):
        (row,) = _parts(client, f"/user?name={user}")["part-1"].rows
        assert row["Direct objects"].links == row["Base objects"].links == [f"/object?id={read_by_user}"]
    (of_view, _) = _parts(client, "/user?name=VIC")["part-1"].rows
    assert [of_view[name].links for name in ("Direct objects", "Base objects")] == [
        ["/object?id=view/51"], ["/object?id=table/32"],
    ]  # fmt: skip


def test_a_policy_that_is_made_anew_is_one_page(client: FlaskClient) -> None:
    page = _parts(client, "/object?name=D.S.MASK")
    assert {row[0] for row in page["enforced"].texts} == {"D.S.X_NEW"}, "as the table is called now"
    held = {row["Object"].text: row["Valid until"].text[:10] for row in page["carriers"].rows}
    assert held == {"D.S.X_NEW": "2026-01-12", "D.S.X_ARCHIVE": "2026-01-24"}, "the policy is dropped then"


def test_a_name_that_was_of_a_view_and_of_a_table_has_the_parts_of_both(
    tmp_path: Path,
) -> None:
    view, table = thing("K", 61, "View"), thing("K", 62)
    seen = {"user_name": "ANA", "direct_objects_accessed": [view], "base_objects_accessed": [SOURCE]}
    with pages_of(
        [seen, changed(view, "DROP"), copied(SOURCE, table, "CREATE"), read(table, "BEN")], tmp_path
    ) as client:
        page = _parts(client, "/object?name=D.S.K")
    assert [page[part].texts[0][1] for part in ("behind",)] == ["D.S.SOURCE"]
    assert {row[0] for row in page["sources"].texts} == {"D.S.SOURCE"}
    assert {row[0] for row in page["readers"].texts} == {"ANA", "BEN"}
