"""The screen never raises for any input, and a row stays a row of the same query."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from functools import cache
from random import Random
from typing import Final

import pytest

from exporter.input.query_history import History
from exporter.input.reading import Record, read_line
from exporter.input.row import Row, Unreadable
from exporter.privacy.filters import Filters
from exporter.privacy.key import Key
from exporter.privacy.screen import Screen
from tests.histories import random_history
from tests.input import noise
from tests.input.bad_rows import BAD_NESTED_ROWS, BAD_ROWS, GOOD

KEY: Final = Key(b"a key of 24 bytes, ASCII")


@cache
def lines() -> list[str]:
    return [noise.line(Random(seed)) for seed in range(1000)]


def histories() -> list[str]:
    """Rows whose objects are in two databases, side by side in one query."""
    rng = Random(1)
    rows = [row for seed in range(60) for row in random_history(seed, 5)]
    return [re.sub(r"\bDB\.SCH\b", lambda _: rng.choice(("D.S", "E.S")), json.dumps(row)) for row in rows]


@cache
def rubbish() -> list[str]:
    return [
        *(line for line, _ in BAD_ROWS + BAD_NESTED_ROWS),
        *("[" * 100_000, '{"user_name":' * 5_000, '"' * 9_999, "\\" * 9_999, "\x00", "\ufeff", "{'a': '\\'\"'}"),
        *(json.dumps({**GOOD, "x": "[" * 100_000}), json.dumps({**GOOD, "user_name": "[" * 999})),
        *histories(),
    ]


SCREENS: Final = {
    "names": Screen(Filters(), KEY, query_text=True),
    "earlier": Screen(Filters(), KEY).knowing(
        [], Screen(Filters(), KEY).knowing(["u", "A", "D", "JSMITH"]).pseudonyms()
    ),
    "denied": Screen(Filters(deny_databases=("E",), deny_users=("A",))),
    "allowed": Screen(Filters(allow_schemas=("D.S",), since=0)),
    "all": Screen(Filters(deny_schemas=("SCH",), until=2**60), KEY),
}


@pytest.mark.parametrize("name", SCREENS)
def test_whatever_comes(name: str) -> None:
    records = [Record("/f", 0, "line", line) for line in lines() + rubbish()]
    screen = SCREENS[name]
    if name in {"names", "all"}:
        screen = screen.knowing(told for record in records for told in screen.users_in(record))
        assert len(screen.names) > 10
    changed = 0
    for record in records:
        before, after = read_line(record.text), screen.look(record)
        if isinstance(after.row, Row) and after.left_out is None:
            again = read_line(after.text)
            assert isinstance(before, Row)
            assert isinstance(again, Row)
            assert (again.query_id, again.start) == (before.query_id, before.start)
            changed += again != before
        elif after.left_out is None:
            assert isinstance(before, Unreadable) == isinstance(after.row, Unreadable)
    assert changed > 20


@pytest.mark.parametrize("name", SCREENS)
def test_whatever_comes_of_query_history(name: str) -> None:
    for line in lines()[:300] + rubbish():
        assert isinstance(list(SCREENS[name].users_in(Record("/f", 0, "line", line, is_history=True))), list)
        kept = SCREENS[name].line(History(query_text=line, query_tag=line, database_name="D", schema_name=line), line)
        assert kept is None or kept.role_name is None


def test_words_of_snowflake_in_query_history_stay_and_other_texts_do_not() -> None:
    users = "USER", "CREATE", "SUCCESS", "ROLE", "Large", "12345", "JSMITH", "CONTACT", "CLUSTERING", "ABORTED"
    screen = Screen(Filters(), KEY).knowing(users)
    own = (
        *(
            History(query_type=text)
            for text in (
                *("CREATE_USER", "CREATE_TABLE_AS_SELECT", "SELECT", "MULTI_TABLE_INSERT"),
                *("ALTER_TABLE_MANAGE_CONTACT", "ALTER_TABLE_DROP_CLUSTERING_KEY", "ALTER_USER_RESET_PASSWORD"),
            )
        ),
        *(History(role_type=text) for text in ("ROLE", "DATABASE_ROLE", "APPLICATION")),
        *(History(warehouse_size=text) for text in ("Large", "X-Small", "2X-Large")),
        *(
            History(execution_status="SUCCESS"),
            History(execution_status="FAIL"),
            History(execution_status="ABORTED"),
            History(session_id="12345"),
        ),
    )
    assert [screen.line(line, "{}") for line in own] == list(own)
    hidden = KEY.pseudonym("JSMITH")
    for name in ("query_type", "role_type", "warehouse_size", "execution_status", "session_id"):
        of_user = screen.line(History(**{name: "jsmith"}), "{}")
        within = screen.line(History(**{name: "CREATE_JSMITH"}), "{}")
        assert (getattr(of_user, name), getattr(within, name).rpartition("_USER_")[2]) == (hidden, hidden[5:])


def test_without_names_a_line_stays_as_it_came() -> None:
    screen = replace(SCREENS["names"], names=frozenset({"NOBODY HERE"}))
    for line in lines():
        seen = screen.look(Record("/f", 0, "line", line))
        if isinstance(seen.row, Row):
            assert seen.text == line


@pytest.mark.parametrize("name", ["denied", "allowed"])
def test_nothing_of_what_is_left_out_stays(name: str) -> None:
    """Wherever a query names it; shares and listings are in no database, whatever their names look like."""
    lines = [line for line in histories() if not re.search(r'"objectDomain": "(Share|Listing)"', line, re.IGNORECASE)]
    stays = [seen.text for line in lines if (seen := SCREENS[name].look(Record("/f", 0, "line", line))).text]
    assert len(stays) > 100
    assert [text for text in stays if re.search(r"\bE\.S\b", text)] == []
