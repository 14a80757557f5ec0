"""Accounts in one graph whose objects have the same names: the answer about all is that about each."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Final

import pytest

from exporter.ask.parameters import bind
from exporter.ask.questions import ask, find, questions, select
from exporter.graph.store import load
from tests import exports
from tests.ask import drawn, stories
from tests.ask.drawn_parameters import ASKED_TOGETHER, drawn_of_several, history
from tests.ask.test_questions_random import answered

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pyoxigraph import Store

    from tests.ask.drawn_parameters import Given
    from tests.ask.plain_answers import Row

Json = dict[str, Any]
OF_ACCOUNTS: Final = ("ancestors", "column-readers", "end-up", "statements-of-request", "user-history")
"""Questions that count, list, or say the first or last: each account has its own rows, also if they look alike."""
SINCE = "2025-12-31T00:00:00Z"
ASKED_WITHOUT_NAMES = sorted(
    question.name
    for question in questions()
    if not any(one.required and one.name != "since" for one in question.parameters)
)


def table(ident: int, name: str, source: tuple[int, str] | None = None) -> Json:
    column: Json = {"columnName": "A", "columnId": ident * 10}
    if source:
        filled = {"objectDomain": "Table", "objectId": source[0], "objectName": source[1], "columnName": "A"}
        column |= {"directSources": [filled], "baseSources": [filled]}
    return {"objectDomain": "Table", "objectId": ident, "objectName": name, "columns": [column]}


def copies(first: int) -> list[Json]:
    """A copy of a column, and one to a stage, of which rows tell no columns; then a read."""
    read = [table(first, "D.S.X")]
    stage = {"objectDomain": "Stage", "objectId": first + 2, "objectName": "D.S.ST"}
    of_column = table(first + 1, "D.S.Y", (first, "D.S.X"))
    return [
        {"direct_objects_accessed": read, "base_objects_accessed": read, "objects_modified": [of_column]},
        {"direct_objects_accessed": read, "base_objects_accessed": read, "objects_modified": [stage]},
        {"user_name": "BEN", "base_objects_accessed": [table(first + 1, "D.S.Y")]},
    ]


def answer(store: Store, question: str, **given: str) -> list[tuple[str | None, ...]]:
    asked = find(question)
    bound = bind(asked.query, asked.parameters, {name: [value] for name, value in given.items()})
    return list(map(tuple, select(store, bound, question).rows))


def test_a_copy_is_new_in_each_account(tmp_path: Path) -> None:
    """The second account does later what the first did, with objects of the same names."""
    whole = stories.told({"one": copies(11), "two": [{"user_name": "X"}] * 5 + copies(111)}, tmp_path)
    rows = [
        ("new copy", "D.S.Y", "A", "ETL", 1),
        ("new reader", "D.S.X", None, "ETL", 1),
        ("new copy", "D.S.ST", None, "ETL", 2),
        ("new reader", "D.S.Y", None, "BEN", 3),
    ]
    expected = [
        (*row[:4], f"q{row[4] + later}", f"2026-01-01T00:{row[4] + later:02}:00Z") for later in (0, 5) for row in rows
    ]
    assert answer(whole, "changes", since=SINCE) == expected


def reads(number: int, *users: str) -> list[Json]:
    """Queries that read a table of each account; then one that copies it to a table of the same name in each."""
    read = [table(number, "D.S.X")]
    by_users: list[Json] = [
        {"user_name": user, "direct_objects_accessed": read, "base_objects_accessed": read} for user in users
    ]
    copy = {"objects_modified": [table(number + 1, "D.S.Y", (number, "D.S.X"))]}
    return [*by_users, {"direct_objects_accessed": read, "base_objects_accessed": read, **copy}]


def test_users_and_targets_of_one_name_in_two_accounts_are_two_rows(tmp_path: Path) -> None:
    """BEN reads twice in the one account, and three times in the other; the copies follow at minutes 3 and 4."""
    whole = stories.told({"one": reads(11, "BEN", "BEN"), "two": reads(21, "BEN", "BEN", "BEN")}, tmp_path)
    column = {"object_name": "D.S.X", "column_name": "A"}
    at = "2026-01-01T00:0{}:00Z".format
    readers = [("BEN", "3", at(3)), ("BEN", "2", at(2)), ("ETL", "1", at(3)), ("ETL", "1", at(4))]
    assert sorted(answer(whole, "column-readers", **column)) == sorted(readers)
    of_data = [("BEN", "D.S.X", at(2)), ("BEN", "D.S.X", at(3)), ("ETL", "D.S.X", at(3)), ("ETL", "D.S.X", at(4))]
    assert sorted(answer(whole, "downstream-users", object_name="D.S.X")) == of_data
    ends = [("D.S.Y", "Table", "A", at(3), "COLUMN"), ("D.S.Y", "Table", "A", at(4), "COLUMN")]
    assert answer(whole, "end-up", object_name="D.S.X") == ends
    assert len(answer(whole, "ancestors")) == 7
    assert len(answer(whole, "user-history", user_name="BEN")) == 5


def test_what_has_the_name_in_another_account_is_not_another_target(tmp_path: Path) -> None:
    """D.S.X is renamed, and gets its own data back; the other account has a D.S.X too."""
    copied = reads(11)
    renamed = {**table(11, "D.S.X"), "operationType": "ALTER", "properties": {"objectName": {"value": "D.S.OLD"}}}
    back = {"objects_modified": [table(11, "D.S.OLD", (12, "D.S.Y"))], "base_objects_accessed": [table(12, "D.S.Y")]}
    told = [*copied, {"object_modified_by_ddl": renamed}, back]
    (tmp_path / "alone").mkdir()
    (tmp_path / "both").mkdir()
    alone = stories.told({"one": told}, tmp_path / "alone")
    both = stories.told({"one": told, "two": [{"base_objects_accessed": [table(31, "D.S.X")]}]}, tmp_path / "both")
    assert answer(both, "end-up", object_name="D.S.X") == answer(alone, "end-up", object_name="D.S.X")


def test_rows_by_the_id_of_a_renamed_object_say_in_how_many_accounts_it_is(tmp_path: Path) -> None:
    """Both accounts have a table 11 that is renamed."""
    renamed = {**table(11, "D.S.X"), "operationType": "ALTER", "properties": {"objectName": {"value": "D.S.NEW"}}}
    story = [*reads(11, "BEN"), {"object_modified_by_ddl": renamed}]
    whole = stories.told({"one": story, "two": story}, tmp_path)
    asked_for = {"object_name": "D.S.NEW", "until": "2026-01-01T00:02:00Z"}
    told = ask(whole, find("when-accessed"), asked_for)
    assert told.rows == []
    assert "As object_id=11 (an id in 2 accounts) it has 2 rows; its names: " in " ".join(told.notes)


@pytest.mark.parametrize("given", [{"object_id": "11"}, {"object_id": "11", "domain": "Table"}], ids=["id", "kind"])
def test_an_id_in_two_accounts_means_both_and_says_so(given: dict[str, str], tmp_path: Path) -> None:
    whole = stories.told({"one": reads(11, "BEN"), "two": reads(11, "ANA")}, tmp_path)
    told = ask(whole, find("who-accessed"), given)
    assert {row[0] for row in told.rows} == {"ANA", "BEN", "ETL"}
    assert "11 is an id in 2 accounts: the answer has the objects with this id in each." in told.notes


def provided(number: int, *, by_array: bool) -> Json:
    """A query that reads a table of another account, which has a name of this account."""
    foreign = table(number, "D.S.X")
    if by_array:
        return {"user_name": "BEN", "provider_base_objects_accessed": [foreign]}
    return {"user_name": "BEN", "base_objects_accessed": [foreign | {"accountName": "PROV"}]}


def of_one(rows: list[Json], folder: Path) -> Store:
    folder.mkdir()
    return stories.told({"one": rows}, folder)


@pytest.mark.parametrize("by_array", [True, False], ids=["array", "account"])
def test_a_table_of_a_provider_takes_no_name_of_this_account(tmp_path: Path, *, by_array: bool) -> None:
    """D.S.OLD is read and becomes D.S.X; then somebody reads a table of a provider that is called D.S.X."""
    ana = {"user_name": "ANA", "base_objects_accessed": [table(2, "D.S.OLD")]}
    renamed = table(2, "D.S.OLD") | {"operationType": "ALTER", "properties": {"objectName": {"value": "D.S.X"}}}
    story = [ana, {"object_modified_by_ddl": renamed}, provided(77, by_array=by_array)]
    store = of_one(story, tmp_path / "names")
    assert answer(store, "who-accessed", object_name="D.S.X") == [("ANA",), ("BEN",)]
    assert [row[:2] for row in answer(store, "column-readers", object_name="D.S.X", column_name="A")] == [
        ("ANA", "1"),
        ("BEN", "1"),
    ]


@pytest.mark.parametrize("by_array", [True, False], ids=["array", "account"])
def test_a_reader_of_a_providers_table_is_new_to_this_accounts_one(tmp_path: Path, *, by_array: bool) -> None:
    own = {"user_name": "BEN", "base_objects_accessed": [table(2, "D.S.X")]}
    store = of_one([provided(77, by_array=by_array), own], tmp_path / "changes")
    assert [row[4] for row in answer(store, "changes", since=SINCE) if row[0] == "new reader"] == ["q1", "q2"]


@pytest.mark.parametrize("by_array", [True, False], ids=["array", "account"])
def test_only_the_accounts_own_objects_are_unused(tmp_path: Path, *, by_array: bool) -> None:
    own = {"user_name": "BEN", "base_objects_accessed": [table(2, "D.S.Y")]}
    store = of_one([own, provided(77, by_array=by_array)], tmp_path / "unused")
    assert [row[0] for row in answer(store, "unused-objects", since="2026-02-01T00:00:00Z")] == ["D.S.Y"]


def test_answers_about_all_objects_say_of_how_many_accounts_they_are(tmp_path: Path) -> None:
    whole = stories.told({"one": reads(11, "BEN"), "two": reads(21, "BEN")}, tmp_path)
    note = "and the answer does not say of which one a name is."
    noted = {name: note in " ".join(ask(whole, find(name), {}).notes) for name in ("user-history", "joins")}
    assert noted == {"user-history": True, "joins": False}
    assert note not in " ".join(ask(whole, find("who-accessed"), {"object_name": "D.S.X"}).notes)


@cache
def group() -> tuple[str, ...]:
    return drawn.GROUPS[1]


@pytest.mark.parametrize("question", ASKED_WITHOUT_NAMES)
def test_several_accounts_have_the_answers_of_each(question: str) -> None:
    given = {"since": SINCE} if any(one.name == "since" for one in find(question).parameters) else {}
    together = set(answer(drawn.store_of(group()), question, **given))
    assert together == {row for case in group() for row in answer(drawn.store(case), question, **given)}


NAMED: Final = sorted({question.name for question in questions() if question.parameters} - ASKED_TOGETHER)
"""Questions with parameters; the plain answers of the others are compared with those of several accounts already."""


def parameters(question: str, cases: Sequence[str]) -> list[Given]:
    """Few queries are parents of others: all of them are asked for."""
    drawn_values = drawn_of_several(question, cases)
    if question != "statements-of-request":
        return drawn_values
    parents = {query.parent for case in cases for query in history(case).queries.values()}
    return [*drawn_values, {"query_id": sorted(filter(None, parents))}]


def is_of_account(row: Row) -> bool:
    """Snowflake's query ids are unique, those of the histories are not: two queries of one id that were cut are one."""
    return "Truncated query" not in row


@pytest.mark.parametrize("question", NAMED)
def test_several_accounts_have_the_answers_of_each_to_the_same_parameters(question: str) -> None:
    full = 0
    for given in parameters(question, group()):
        each = [answered(question, drawn.store(case), given) for case in group()]
        rows = [row for one in each for row in one]
        together = answered(question, drawn.store_of(group()), given)
        assert set(together) == set(rows), f"{question} {given} of {group()}"
        if question in OF_ACCOUNTS:
            told, expected = (sorted(filter(is_of_account, of_all), key=str) for of_all in (together, rows))
            assert told == expected, f"{question} {given} of {group()}"
        full += bool(rows)
    assert full, "no answer has a row"


def test_a_table_that_a_consumer_names_is_of_the_account_of_its_provider(tmp_path: Path) -> None:
    """beyond_the_documents.md, ``provider_base_objects_accessed``: with the provider's ``accountName``."""
    table = {"objectDomain": "Table", "objectName": "D.S.T", "columns": [{"columnName": "A"}]}
    view = {**table, "objectDomain": "View", "objectName": "C.SH.V"}
    of_provider, of_consumer = {**table, "objectId": 1}, {**table, "accountName": "PROV"}
    for name, count in {"PROV": 0, "OTHER": 1}.items():
        rows = [
            {"query_id": "q1", "account_name": "PROV", "direct_objects_accessed": [of_provider]},
            {
                "query_id": "q2",
                "account_name": "CONS",
                "direct_objects_accessed": [view],
                "provider_base_objects_accessed": [{**of_consumer, "accountName": name}],
            },
        ]
        each = [
            {"query_start_time": "2026-01-01T06:00:00Z", "user_name": "ANA", "organization_name": "ACME", **row}
            for row in rows
        ]
        given = [exports.ndjson(each, tmp_path / f"{name}.ndjson")]
        assert exports.export(given, tmp_path / name, "--outputs", "graph") == 0
        notes = ask(load(tmp_path / name), find("who-accessed"), {"object_name": "D.S.T"}).notes
        assert sum("D.S.T is a name in 2 accounts" in note for note in notes) == count
