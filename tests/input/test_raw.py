"""JSON that is kept as JSON has one spelling, whatever its input format."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.input import json_reader
from exporter.input.json_reader import NotJsonError, canonical_json, parse, parse_first, raw_json, raw_text, text_of
from exporter.input.reading import read_line
from exporter.input.row import Row, Unreadable, decode
from exporter.model.ddl import properties_of
from tests.input.plain_rows import line_of

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=20,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"a": 1.10, "b" : [1E5, -2.50, 1.0]}', '{"a":1.10,"b":[1E5,-2.50,1.0]}'),
        ("[12345678901234567890123456789, 1e400]", "[12345678901234567890123456789,1e400]"),
        (r'{"a": "x\u0041\/\u00e9\b\f\n\t\r\"\\"}', r'{"a":"xA/é\b\f\n\t\r\"\\"}'),
        (r'{"a": "\u001f\u007f"}', '{"a":"\\u001F\x7f"}'),
        ('{"a": "\x1f\t"}', r'{"a":"\u001F\t"}'),
        ('{"a":"\U0001f996 é \u2028"}', '{"a":"\\uD83E\\uDD96 é \u2028"}'),
        (r'{"a":"\ud83e\udd96"}', r'{"a":"\uD83E\uDD96"}'),
        (r'["\ud83e"]', r'["\uD83E"]'),
        (r'{"a": "\\u0041"}', r'{"a":"\\u0041"}'),
        ('{"a":1,"a":2}', '{"a":1,"a":2}'),
        ("{'a': 'b\"c'}", '{"a":"b\\"c"}'),
        (" \n[ ]", "[]"),
        ('{"a":1} and more', '{"a":1}'),
        ('{"a": 1', '{"a": 1'),
        ("[1, ]", "[1, ]"),
        ("{a: 1}", "{a: 1}"),
        ("plain text", "plain text"),
        ('"a text"', '"a text"'),
        ("7.10", "7.10"),
        ("", ""),
        ("null", "null"),
        ("[" * 900 + " " + "]" * 900, "[" * 900 + "]" * 900),
        ("[" * 1001 + " " + "]" * 1001, "[" * 1001 + " " + "]" * 1001),
    ],
)
def test_one_spelling(text: str, expected: str) -> None:
    assert raw_json(text) == expected
    assert raw_json(text.encode()) == expected
    assert raw_json(expected) == expected


@pytest.mark.parametrize("wrappings", [0, 1, 2, 3])
@pytest.mark.parametrize("spelling", ["documented", "capitals", "tolerant"])
def test_json_text_within_json_text_is_json(wrappings: int, spelling: str) -> None:
    """docs/input.md, "Which columns": arrays and objects may come as JSON text within JSON text; also those that are
    kept as JSON, and in each of the three readers.
    """
    value: Any = {"irc_event_type": "LoadTable", "number": 1.5, "text": 'a "b"'}
    for _ in range(wrappings):
        value = json.dumps(value)
    change = {"objectDomain": "Table", "objectId": 1, "objectName": "D.S.T", "operationType": "ALTER"}
    columns = {"additional_properties": value, "invoker_identity": value}
    line = line_of(**columns, object_modified_by_ddl={**change, "properties": value}, new_column=value)
    if spelling == "capitals":
        line = line.replace("additional_properties", "ADDITIONAL_PROPERTIES")
    elif spelling == "tolerant":
        line = line.replace('"query_id"', "'query_id'")
    row = read_line(line)
    assert isinstance(row, Row)
    expected = '{"irc_event_type":"LoadTable","number":1.5,"text":"a \\"b\\""}'
    assert (row.additional_properties, row.invoker_identity) == (expected, expected)
    assert row.unknown_columns == f'{{"new_column":{expected}}}'
    given_change = decode(row.content).change
    assert given_change is not None
    assert properties_of(given_change) == expected


@pytest.mark.parametrize("text", ["plain", '"in quotes"', '"{ not JSON', "7", ""])
def test_a_text_that_is_no_json_within_json_stays(text: str) -> None:
    row = read_line(line_of(additional_properties=text))
    assert isinstance(row, Row)
    assert (row.additional_properties or "") == text


def test_a_damaged_text_is_found_within_json_text() -> None:
    """docs/input.md, "Quarantine": half of a surrogate pair in a property."""
    change = {"objectDomain": "Table", "objectId": 1, "objectName": "D.S.T", "operationType": "ALTER"}
    properties = json.dumps(json.dumps({"comment": {"value": "\ud800"}}))
    assert isinstance(read_line(line_of(object_modified_by_ddl={**change, "properties": properties})), Unreadable)


@given(JSON, st.booleans(), st.sampled_from((None, 1)))
def test_the_value_stays_what_it_is(value: Any, in_ascii: bool, indent: int | None) -> None:  # noqa: FBT001 - drawn
    """Both for the decoder's way and for the patient one, which give the same text."""
    text = json.dumps(value, ensure_ascii=in_ascii, indent=indent)
    assert json.loads(raw_json(text)) == value
    assert json.loads(canonical_json(parse(text))) == value
    assert raw_json(text) == (canonical_json(parse(text)) if isinstance(value, list | dict) else text)


@pytest.mark.parametrize(
    ("value", "text", "raw"),
    [
        (b"null", None, None),
        (b'"a \\u0041"', "a A", "a A"),
        (b'"{\\"a\\": 1.10}"', '{"a": 1.10}', '{"a":1.10}'),
        (b'{"a": 1.10}', '{"a":1.10}', '{"a":1.10}'),
        (b"[1, 2]", "[1,2]", "[1,2]"),
        (b"1.10", "1.10", "1.10"),
        (b"true", "true", "true"),
    ],
)
def test_a_value_as_text(value: bytes, text: str | None, raw: str | None) -> None:
    assert text_of(value) == text
    assert raw_text(value) == raw


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[undefined, 'undefined', \"undefined\"]", '[null,"undefined","undefined"]'),
        ("[NaN, -Infinity, +INF]", '[null,"-Infinity","Infinity"]'),
        (r"""{'it\'s "so"': 'a\nb'}""", r'{"it\'s \"so\"":"a\nb"}'.replace("\\'", "'")),
        ('["\x00\n"]', r'["\u0000\n"]'),
        (" [ ] ", "[]"),
        ("-0.0", "-0.0"),
        ("[" * json_reader.DEEPEST + "]" * json_reader.DEEPEST, "[" * json_reader.DEEPEST + "]" * json_reader.DEEPEST),
    ],
)
def test_more_is_read_than_the_standard_allows(text: str, expected: str) -> None:
    assert canonical_json(parse(text)) == expected


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", "{", "[1", "[1,]", "[,1]", "[1 2]", '{"a"}', '{"a":}', '{"a":1,}', "{1:2}", "{a:1}", '{"a" 1}'),
        *(
            "[1}",
            '{"a":1]',
            "]",
            "nul",
            "trueish",
            "undefined1",
            "01",
            "+1",
            "1.",
            ".5",
            "-",
            "1e",
            "0x1",
            '"abc',
            "'a",
        ),
        *(r'"\x"', r'"\u12"', '"a" "b"', "{} {}", "[]x", "\ufeff[]", "/* */ 1", "[1]\x0b", '"\\'),
        "[" * (json_reader.DEEPEST + 1) + "]" * (json_reader.DEEPEST + 1),
        "[" * 1_000_000,
    ],
)
def test_text_that_is_not_even_lenient_json(text: str) -> None:
    with pytest.raises(NotJsonError):
        parse(text)


def test_the_first_value_and_where_it_ends() -> None:
    assert parse_first(' {"a":[1]} , x') == (parse('{"a":[1]}'), 10)
