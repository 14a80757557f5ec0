"""Accounts in one graph whose objects have the same names: the answer about all is that about each."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import pytest

from exporter.ask.parameters import bind
from exporter.ask.questions import find, questions, select
from tests.ask import drawn, stories

if TYPE_CHECKING:
    from pathlib import Path

    from pyoxigraph import Store

Json = dict[str, Any]
SINCE = "2025-12-31T00:00:00Z"
ASKED_WITHOUT_NAMES = sorted(
    question.name
    for question in questions()
    if not any(one.required and one.name != "since" for one in question.parameters) and question.name != "end-up"
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


@cache
def group() -> tuple[str, ...]:
    return drawn.GROUPS[0]


@pytest.mark.parametrize("question", ASKED_WITHOUT_NAMES)
def test_several_accounts_have_the_answers_of_each(question: str) -> None:
    given = {"since": SINCE} if any(one.name == "since" for one in find(question).parameters) else {}
    together = set(answer(drawn.store_of(group()), question, **given))
    assert together == {row for case in group() for row in answer(drawn.store(case), question, **given)}
