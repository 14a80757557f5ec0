"""Names in lines are replaced only in texts, and only where a name may be."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exporter.input.reading import read_line
from exporter.input.row import Row
from exporter.privacy.filters import Filters
from exporter.privacy.key import Key
from exporter.privacy.lines import lines_of
from exporter.privacy.screen import Screen
from tests.histories import Json, histories
from tests.input.bad_rows import GOOD
from tests.input.plain_rows import plain

if TYPE_CHECKING:
    from exporter.privacy.lines import Lines

KEY = Key(b"a key of 24 bytes, ASCII")
LINES = lines_of(KEY, frozenset({"JSMITH", "objectName", "TABLE", "TRUNCATED", "66564", "null", "D"}))
BIG = 98765432109876543210
ONE = KEY.pseudonym("JSMITH")
NAMED = KEY.pseudonym("objectName")


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('{"user_name": "JSMITH"}', f'{{"user_name": "{ONE}"}}'),
        ('{"USER_NAME" :\t"JSMITH"}', f'{{"USER_NAME" :\t"{ONE}"}}'),
        ('{"a": "x\\nJSMITH\\t"}', f'{{"a": "x\\n{ONE}\\t"}}'),
        ('{"a": "\\u004aSMITH"}', f'{{"a": "{ONE}"}}'),
        ("{'a': 'JSMITH'}", f"{{'a': \"{ONE}\"}}"),
        ('{"a": ["JSMITH", 1.50, 1e400, 98765432109876543210]}', f'{{"a": ["{ONE}", 1.50, 1e400, {BIG}]}}'),
        ('{"a": 1, "a": "JSMITH", "a": undefined}', f'{{"a": 1, "a": "{ONE}", "a": undefined}}'),
        # names of columns are members' names in a change; those of the documents stay
        (
            '{"object_modified_by_ddl": {"properties": {"columns": {"JSMITH": {"objectName": "x"}}}}}',
            f'{{"object_modified_by_ddl": {{"properties": {{"columns": {{"{ONE}": {{"objectName": "x"}}}}}}}}}}',
        ),
        # JSON in a text, in a text
        ('{"a": "[{\\"b\\": \\"x\\\\nJSMITH\\"}]"}', f'{{"a": "[{{\\"b\\": \\"x\\\\n{ONE}\\"}}]"}}'),
        ('{"a": "\\"\\\\\\"JSMITH\\\\\\"\\""}', f'{{"a": "\\"\\\\\\"{ONE}\\\\\\"\\""}}'),
        # also as an element of an array of texts, where it is a user's
        ('{"a": ["{\\"objectName\\": \\"JSMITH\\"}"]}', f'{{"a": ["{{\\"{NAMED}\\": \\"{ONE}\\"}}"]}}'),
        ('{"a": "{ call JSMITH }"}', f'{{"a": "{{ call {ONE} }}"}}'),
        # Snowflake's own words, ids and what stands for nothing are no names
        *((line, line) for line in (
            '{"query_id": "JSMITH", "base_objects_accessed": [{"objectDomain": "TABLE", "stageKind": "TABLE"}]}',
            '{"direct_objects_accessed": [{"objectId": "66564", "columns": [{"columnId": "66564"}]}]}',
            '{"direct_objects_accessed": ["{\\"objectDomain\\": \\"TABLE\\", \\"objectId\\": \\"66564\\"}"]}',
            '{"objects_modified": [{"columns": ["{\\"columnId\\": \\"66564\\"}"]}]}',
            '{"a": "TRUNCATED", "b": "null", "columns": "TRUNCATED"}',
            '{"account_name": "JSMITH", "organization_name": "JSMITH"}',
            '{"objects_modified": [{"accountName": "JSMITH"}]}',
            '{"query_start_time": "JSMITH"}',
        )),
    ],
)  # fmt: skip
def test_lines(line: str, expected: str) -> None:
    assert LINES.line(line) == expected


@settings(max_examples=60, deadline=None)
@given(histories(), st.integers(0, 5))
def test_a_row_says_the_same_with_other_names(rows: list[Json], form: int) -> None:
    """Whatever the form: what is read is what was read before, with pseudonyms where there were names."""
    lines = lines_of(KEY, frozenset({row["user_name"] for row in rows}))
    for row in rows:
        text = _in_form(row, form)
        before, after = read_line(text), read_line(lines.line(text))
        assert isinstance(before, Row)
        assert isinstance(after, Row)
        assert (after.query_id, after.start) == (before.query_id, before.start)
        assert after.user_name == KEY.pseudonym(before.user_name)
        assert _shape(plain(after)) == _shape(lines_in(plain(before), lines))


def lines_in(value: Any, lines: Lines) -> Any:
    """A value as JSON with the names replaced in it, read again."""
    return json.loads(lines.line(json.dumps(value)))


def _in_form(row: Json, form: int) -> str:
    structured = {name: json.dumps(value) for name, value in row.items() if isinstance(value, list | dict)}
    lists = {name: [*map(json.dumps, value)] for name, value in row.items() if isinstance(value, list)}
    doubled = {name: [*map(json.dumps, texts)] for name, texts in lists.items()}
    texts = ({}, structured, {name: json.dumps(text) for name, text in structured.items()}, {}, lists, doubled)
    return json.dumps({**row, **texts[form]}, indent=2 if form == 3 else None)


def _shape(value: Any) -> Any:
    """A value without the order of what its texts of JSON hold."""
    return json.dumps(value, sort_keys=True, default=str)


def test_a_line_of_any_length_takes_time_in_proportion() -> None:
    """No text makes the search slow."""
    names = frozenset({"A" * 50, "a a a a", *(f"USER{number}" for number in range(2000))})
    text = json.dumps({**GOOD, "x": "a " * 100_000, "y": '"' * 50_000, "z": "user1999 " * 20_000})
    assert KEY.pseudonym("USER1999") in lines_of(KEY, names).line(text)


@pytest.mark.parametrize("is_earlier", [False, True])
def test_a_column_that_is_called_like_a_field_of_ours_is_text(*, is_earlier: bool) -> None:
    """The user's own column is one too, whatever the place in the row."""
    key = Key(b"a key of 24 bytes, ASCII")
    names = frozenset[str]() if is_earlier else frozenset({"JSMITH"})
    kept = Screen(Filters(), key, names=frozenset({"JSMITH"})).pseudonyms()
    lines = lines_of(key, names, frozenset(kept))
    for name in ("content", "start", "unknown_columns", "interval_end", "user_name"):
        for row in (f'{{"{name}": "JSMITH", "a": []}}', f'{{"a": [], "{name}": "JSMITH"}}'):
            assert lines.line(row) == row.replace("JSMITH", key.pseudonym("JSMITH")), row
