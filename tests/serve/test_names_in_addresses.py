"""Names in addresses: users, columns and kinds are found as questions find them, and objects by their ids."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest

from tests.ask.test_names import changed, read, thing
from tests.serve.conftest import pages_of
from tests.serve.test_browse import body
from tests.serve.test_pages import Page, got

if TYPE_CHECKING:
    from collections.abc import Iterator

    from flask.testing import FlaskClient

Json = dict[str, Any]
T, GONE = thing("T", 1, columns=("C", "c d")), thing("GONE", 2)
MASK: Final = {"policyKind": "MASKING_POLICY", "policyName": "D.S.MASK", "policyId": 900}


def _without_id(one: Json) -> Json:
    """As some elements of ``policies_referenced`` name an object."""
    columns = [{"columnName": "C", "policies": [MASK]}]
    return {"objectDomain": one["objectDomain"], "objectName": one["objectName"], "columns": columns}


ROWS: Final[list[Json]] = [
    read(T, "ANA_LEE"), {**read(T, "ANA_LEE"), "policies_referenced": [_without_id(T)]},
    read(T, "ben"), read(T, "BEN"), read(T, "dora"), read(T, 'O"NEIL'),
    # Dropped after a row without the id; a later one of another name is no reason to show it
    {**read(GONE, "ANA_LEE"), "policies_referenced": [_without_id(GONE)]}, changed(GONE, "DROP"),
    read(thing("S", 3), "ANA_LEE"), changed({"objectDomain": "Stage", "objectName": "D.S.S"}, "CREATE"),
]  # fmt: skip


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FlaskClient]:
    with pages_of(ROWS, tmp_path_factory.mktemp("names-in-addresses")) as client:
        yield client


def _words(page: Page) -> str:
    return " ".join(page.text.split())


# --- users ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "user", "queries"),
    [
        ("ANA_LEE", "ANA_LEE", 4), ("ana_lee", "ANA_LEE", 4), ('"ANA_LEE"', "ANA_LEE", 4), ("dora", "dora", 1),
        ("DORA", "dora", 1), ("ben", "ben", 1), ("BEN", "BEN", 1), ('"ben"', "ben", 1), ('O"NEIL', 'O"NEIL', 1),
        ('"O""NEIL"', 'O"NEIL', 1),
    ],
)  # fmt: skip
def test_a_user_is_found_in_any_letter_case(asked: str, user: str, queries: int, client: FlaskClient) -> None:
    """As the question ``user-history`` finds it; as it is stored first, since links of pages have the name so."""
    page = _words(got(client, f"/user?name={asked}"))
    assert f"{user} user {queries} queries from 2026-01-01" in page
    assert "only in letter case" not in page


def test_of_several_users_the_page_has_the_others(client: FlaskClient) -> None:
    page = got(client, "/user?name=Ben")
    assert "BEN user The names of other users differ from this one only in letter case: ben. 1 queries" in _words(page)
    assert "/user?name=ben" in page.links


def test_a_user_that_there_is_not(client: FlaskClient) -> None:
    assert "The nearest: ANA_LEE" in _words(got(client, "/user?name=ana_le", 404))
    assert "/user?name=ANA_LEE" in got(client, '/user?name="ana_lee"', 404).links


def test_a_list_of_queries_is_of_a_user_in_any_letter_case(client: FlaskClient) -> None:
    ids = {
        asked: [row[0] for row in body(got(client, f"/browse/queries?user={asked}"))] for asked in ("ana_lee", "DORA")
    }
    assert ids == {"ana_lee": ["q9", "q7", "q2", "q1"], "DORA": ["q5"]}
    assert [row[0] for row in body(got(client, '/browse/queries?user="ben"'))] == ["q3"]


def test_a_query_that_there_is_not_is_said_to_be_compared_letter_by_letter(client: FlaskClient) -> None:
    assert "q1" in got(client, "/query?id=q1").text
    page = got(client, "/query?id=Q1", 404).text
    assert "letter by letter" in page
    assert "only in quotes" not in page


# --- objects, columns and kinds ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/object?name=D.S.T", "/object?name=d.s.t", "/column?name=D.S.T&column=C"])
def test_an_object_with_an_id_comes_before_its_name_alone(path: str, client: FlaskClient) -> None:
    """docs/graph.md: rows that name it without its id in one place make another node, which no read has."""
    page = got(client, path)
    assert "This page is of the 2 objects that had this name" in _words(page)
    assert "of Table 1 as a picture" in _words(page)
    assert {"/object?id=table/1", "/object?id=table/name/D.S.T"} <= set(page.links)
    assert any(row[:1] == ["ANA_LEE"] for row in page.rows)


def test_an_object_that_was_dropped_comes_before_its_name_alone(client: FlaskClient) -> None:
    assert "Lineage of Table 2 as a picture" in _words(got(client, "/object?name=D.S.GONE"))


def test_the_name_of_another_kind_of_object_is_a_choice(client: FlaskClient) -> None:
    page = got(client, "/object?name=D.S.S")
    assert "Other objects had this name, too." in _words(page)
    assert {"/object?id=table/3", "/object?id=stage/name/D.S.S"} & set(page.links)


@pytest.mark.parametrize(
    ("asked", "column"), [("c", "C"), ('"C"', "C"), ("c d", "c d"), ("C D", "c d"), ('"c d"', "c d"), ('"c"', None)]
)
def test_a_column_is_found_in_any_letter_case(asked: str, column: str | None, client: FlaskClient) -> None:
    page = got(client, f"/column?id=table/1&column={asked}", 200 if column else 404)
    assert f"{column} column of D.S.T" in _words(page) if column else "No column" in page.text


def test_a_kind_is_found_in_any_letter_case(client: FlaskClient) -> None:
    tables, lower = (body(got(client, f"/browse/objects?kind={kind}")) for kind in ("Table", "table"))
    assert tables == lower
    assert len(tables) == 5
