"""Lines that a simple JSON reader would lose: truncated rows, JSON of some tools, large sizes; and whole documents."""

from __future__ import annotations

import json
from typing import Any, Final

import pytest

from exporter.input import row as documents
from exporter.input.reading import read_line, rows_of_document
from exporter.input.row import Row
from exporter.model.query import content_of
from tests.input.bad_rows import ARRAYS, GOOD
from tests.input.plain_rows import BASE, DAMAGED, NOT_JSON, TOO_DEEP, first_of, line_of, problems, raw_line, read

THING: Final = {"objectDomain": "Table", "objectId": 1, "objectName": "D.S.T"}

# --- what Snowflake cut ----------------------------------------------------------------------------------------------

SENTINEL: Final = [{"objectDomain": "TRUNCATED", "objectId": "-1", "objectName": "TRUNCATED"}]
CUT: Final = [{**SENTINEL[0], "objectId": -1}]


@pytest.mark.parametrize("name", ARRAYS)
@pytest.mark.parametrize("value", ["TRUNCATED", '"TRUNCATED"', [{**THING, "objectId": -1, "objectName": "TRUNCATED"}]])
def test_a_column_that_was_truncated_is_the_sentinel(name: str, value: Any) -> None:
    cut = read(line_of(**{name: value}))[name]
    assert cut in (SENTINEL, [{**SENTINEL[0], "objectDomain": "Table"}])


@pytest.mark.parametrize("value", ["TRUNCATED", '"TRUNCATED"', CUT, json.dumps(CUT), CUT[0], [json.dumps(CUT[0])]])
def test_a_change_that_was_truncated_as_a_whole_is_the_object_of_the_sentinel(value: Any) -> None:
    """View, "Truncated records": the sentinel is an array, though the column has an object."""
    line = line_of(object_modified_by_ddl=value)
    found, row = read(line), read_line(line)
    assert isinstance(row, Row)
    assert content_of(row.content, "").incomplete == ("object_modified_by_ddl TRUNCATED",)
    assert found["object_modified_by_ddl"] == SENTINEL[0]
    assert found["direct_objects_accessed"] == [{**THING, "objectId": "1"}]
    assert found["unknown_columns"] is None


@pytest.mark.parametrize(
    "value", [[], [*CUT, *CUT], [{**CUT[0], "operationType": "DROP"}], [{**CUT[0], "objectId": 1}]]
)
def test_another_array_is_no_change(value: Any) -> None:
    expected = ["object_modified_by_ddl contains an array, but an object is expected"]
    assert problems(line_of(object_modified_by_ddl=value)) == expected
    assert problems(line_of(object_modified_by_ddl=json.dumps(value))) == expected


@pytest.mark.parametrize("value", ["TRUNCATED", CUT, json.dumps(CUT), [json.dumps(CUT[0])]])
def test_agents_that_were_truncated_are_one_of_which_all_was_cut(value: Any) -> None:
    found = read(line_of(agents_info=value))
    assert found["agents_info"] == [{"agentType": "TRUNCATED", "agentId": "-1", "agentName": "TRUNCATED"}]
    assert found["unknown_columns"] is None


@pytest.mark.parametrize(
    ("column", "value", "expected"),
    [
        ("direct_objects_accessed", {"columns": "TRUNCATED"}, {"columns": [{"columnName": "TRUNCATED"}]}),
        ("direct_objects_accessed", {"joinObjects": "TRUNCATED"}, {"joinObjects": [{"joinType": "TRUNCATED"}]}),
        ("policies_referenced", {"policies": "TRUNCATED"}, {"policies": [{"policyName": "TRUNCATED"}]}),
        (
            "policies_referenced",
            {"columns": [{"columnName": "A", "policies": "TRUNCATED"}]},
            {"columns": [{"columnName": "A", "policies": [{"policyName": "TRUNCATED"}]}]},
        ),
        (
            "objects_modified",
            {"columns": [{"columnName": "A", "directSources": "TRUNCATED", "baseSourceColumns": "TRUNCATED"}]},
            {
                "columns": [
                    {
                        "columnName": "A",
                        "directSources": [{"columnName": "TRUNCATED", "objectName": "TRUNCATED"}],
                        "baseSourceColumns": [{"columnName": "TRUNCATED", "objectName": "TRUNCATED"}],
                    }
                ]
            },
        ),
    ],
)
def test_a_list_that_was_truncated_is_one_element_that_says_so(column: str, value: Any, expected: Any) -> None:
    for text in (line_of(**{column: [value]}), line_of(**{column: json.dumps([value])})):
        assert read(text)[column] == [expected]


def test_the_properties_of_a_change_stay_truncated() -> None:
    for properties in ("TRUNCATED", {"columns": "TRUNCATED"}):
        change = {"operationType": "CREATE", "properties": properties}
        kept = properties if isinstance(properties, str) else '{"columns":"TRUNCATED"}'
        for value in (change, json.dumps(change)):
            assert read(line_of(object_modified_by_ddl=value))["object_modified_by_ddl"]["properties"] == kept


# --- JSON as some tools write it -------------------------------------------------------------------------------------


def test_undefined_is_null_but_for_inside_a_string() -> None:
    array = '[undefined,{"objectName":"undefined","objectId":undefined}]'
    for value in (array, json.dumps(array), json.dumps(json.dumps(array))):
        found = read(raw_line(direct_objects_accessed=value, agents_info="undefined"))
        assert found["direct_objects_accessed"] == [None, {"objectName": "undefined"}]
        assert found["agents_info"] is None


def test_single_quotes_and_control_characters() -> None:
    single = "{'query_id':'it\\'s','query_start_time':'2026-03-01 08:00:00','user_name':'\"u\"','agents_info':[]}"
    assert [read(single)[name] for name in ("query_id", "user_name", "agents_info")] == ["it's", '"u"', []]
    name = first_of(raw_line(direct_objects_accessed='[{"objectName":"a\tb\x00\\ud83e\\udd96"}]'))["objectName"]
    assert name == "a\tb\x00🦖"


@pytest.mark.parametrize("half", ["\\ud83e", "\\udd96x", "\\ud83ex\\udd96", "\udcff", "\ud83e"])  # noqa: PT014 - two halves, not one
def test_what_is_no_character_names_nothing(half: str) -> None:
    """Half of a pair as JSON writes it, and a byte that is not UTF-8 as Python reads it: written as ``?``, two names
    would be one.
    """
    for column in ("query_id", "user_name", "account_name", "additional_properties"):
        assert problems(raw_line(**{column: f'"a{half}"'})) == [f"{column} {DAMAGED}"]
    thing = f'[{{"objectName":"a","columns":[{{"columnName":"{half}"}}]}}]'
    for value in (thing, json.dumps(thing)):
        assert problems(raw_line(objects_modified=value)) == [f"objects_modified {DAMAGED}"]
    named, valued = f'{{"columns":{{"{half}":{{}}}}}}', f'{{"objectName":{{"value":"{half}"}}}}'
    for properties in (named, valued, json.dumps(named), json.dumps(valued)):
        change = f'{{"operationType":"ALTER","properties":{properties}}}'
        assert problems(raw_line(object_modified_by_ddl=change)) == [f"object_modified_by_ddl {DAMAGED}"]
    harmless = raw_line(of_next_year=f'"{half}"', direct_objects_accessed=f'[{{"of_next_year":"{half}"}}]')
    assert read(harmless)["direct_objects_accessed"] == [{}]


@pytest.mark.parametrize("half", ["\\ud83e", "\udcec"])
def test_a_damaged_name_of_a_member_is_told(half: str) -> None:
    """It may be the name of a field that is read, so what the row says is not certain."""
    thing = f'"objectDomain":"Table","objectId":1,"objectName":"A","{half}":1'
    policy = f'"policyName":"P","policyKind":"MASKING_POLICY","{half}":1'
    for column, value in (
        ("direct_objects_accessed", f"[{{{thing}}}]"),
        ("objects_modified", f'[{{"objectName":"A","columns":[{{"columnName":"C","{half}":1}}]}}]'),
        ("objects_modified", f'[{{"objectName":"A","columns":[{{"baseSources":[{{"{half}":1}}]}}]}}]'),
        ("policies_referenced", f'[{{"objectName":"A","policies":[{{{policy}}}]}}]'),
        ("object_modified_by_ddl", f'{{"operationType":"ALTER",{thing}}}'),
        ("agents_info", f'[{{"agentName":"A","{half}":1}}]'),
    ):
        for given in (value, json.dumps(value)):
            assert problems(raw_line(**{column: given})) == [f"{column} {DAMAGED}"]
    harmless = raw_line(agents_info=f'[{{"agentName":"A","of_next_year":{{"{half}":1}}}}]')
    assert read(harmless)["agents_info"] == [{"agentName": "A"}]


def test_pairs_of_surrogates_are_characters() -> None:
    pair = '"\\ud83e\\udd96"'
    assert read(raw_line(user_name=pair))["user_name"] == "🦖"
    change = f'{{"operationType":"ALTER","properties":{{"objectName":{{"value":{pair}}}}}}}'
    found = read(raw_line(object_modified_by_ddl=change))["object_modified_by_ddl"]
    assert found["properties"] == '{"objectName":{"value":"\\uD83E\\uDD96"}}'


def test_of_two_values_of_one_name_the_last_counts() -> None:
    twice = raw_line(user_name='"v"', agents_info='[{"agentName":"A","agentName":"B"}],"agents_info":[]')
    assert (read(twice)["user_name"], read(twice)["agents_info"]) == ("v", [])
    things = '[{"objectName":"A","objectName":"B"}]'
    assert first_of(raw_line(agents_info='"[]"', direct_objects_accessed=things)) == {"objectName": "B"}


def test_a_column_in_two_letter_cases_must_say_the_same() -> None:
    """A CSV with such a header is refused. Null says nothing."""
    assert problems(raw_line(USER_NAME='"w"', agents_info='"[]"')) == [
        "there are several columns user_name with different values"
    ]
    for other in ("null", '"u"'):
        given = raw_line(user_name='"u"', USER_NAME=other, agents_info='"[]"')
        assert read(given)["user_name"] == read(raw_line(USER_NAME='"u"', user_name=other))["user_name"] == "u"


@pytest.mark.parametrize(
    ("value", "text"),
    [("66564.0", "66564.0"), ("1.10", "1.1"), ("true", "true"), ('{"a": 1.10}', '{"a":1.10}'), ("[1, 2]", "[1,2]"),
     ("9" * 6000, "9" * 6000), ("1e400", "1e400")],
)  # fmt: skip
def test_a_text_takes_any_value(value: str, text: str) -> None:
    things = f'[{{"objectId":{value},"locations":[{value}]}}]'
    for line in (raw_line(direct_objects_accessed=things), raw_line(direct_objects_accessed=things, x="undefined")):
        assert first_of(line) == {"objectId": text, "locations": [text]}


# --- sizes -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("depth", [100, 800, 950, 996])
def test_deep_nesting_is_read(depth: int) -> None:
    deep = '{"a":' * depth + "1" + "}" * depth
    assert read(raw_line(of_next_year=deep))["query_id"] == "q"
    assert read(raw_line(additional_properties=deep))["additional_properties"] == deep
    change = f'{{"operationType":"ALTER","properties":{deep}}}'
    assert read(raw_line(object_modified_by_ddl=change))["object_modified_by_ddl"]["properties"] == deep
    things = f'[{{"of_next_year":{deep},"objectName":"A"}}]'
    assert first_of(raw_line(direct_objects_accessed=things)) == {"objectName": "A"}


def test_what_was_read_is_read_again_from_deeper_down() -> None:
    """Python's stack has an end, and who decodes a content later may be closer to it."""

    def decode_below(content: bytes, frames: int) -> None:
        if frames:
            decode_below(content, frames - 1)
        else:
            documents.decode(content)

    for depth in range(700, 996, 7):
        deep = "[" * depth + "]" * depth
        row = read_line(raw_line(direct_objects_accessed=f'[{{"of_next_year":{deep},"objectName":"A"}}]'))
        assert isinstance(row, Row)
        decode_below(row.content, 90)


@pytest.mark.parametrize("depth", [1001, 100_000])
def test_deeper_nesting_is_no_row_and_no_crash(depth: int) -> None:
    assert problems(raw_line(of_next_year="[" * depth + "]" * depth)) == [TOO_DEEP]
    assert problems(f"{{{BASE}," + '"a":{' * depth) == [TOO_DEEP]
    assert problems(line_of(agents_info="[" * depth + "]" * depth)) == [f"agents_info: {TOO_DEEP}"]


def test_a_hundred_thousand_columns() -> None:
    columns = [{"columnId": number, "columnName": f"C{number}"} for number in range(100_000)]
    row = {**GOOD, "direct_objects_accessed": [{**THING, "columns": columns}]}
    native, text = (
        json.dumps(row),
        json.dumps({**row, "direct_objects_accessed": json.dumps([{**THING, "columns": columns}])}),
    )
    for one in (native, text, native[:-1] + ',"x":undefined}'):
        assert len(first_of(one)["columns"]) == 100_000


@pytest.mark.parametrize(
    "text",
    [
        "{" + "x" * 10**6,
        "[" * 10**6,
        '{"a":' + '"' * 10**6,
        '{"a":"' + "\\" * 10**6,
        '{"a":' + "1" * 10**6,
        " " * 10**6 + "x",
    ],
)
def test_long_rubbish_is_no_row(text: str) -> None:
    assert problems(text) == [TOO_DEEP if text.startswith("[") else NOT_JSON]


# --- documents -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        (
            '[{"query_id": 1.10, "b":[1, 2]},{"x":"é🦖\\u0041"}]',
            ['{"query_id": 1.10, "b":[1, 2]}', '{"x":"é🦖\\u0041"}'],
        ),
        ('{"rows": [{"a":1}, {"b" : 2}]}', ['{"a":1}', '{"b" : 2}']),
        ('{"x":1,"rows":[{"a":"rows"}]} ', ['{"a":"rows"}']),
        ('{"rows":[{"a":1}],"rows":[{"b":1}]}', ['{"b":1}']),
        ('{"a":1}', ['{"a":1}']),
        ('{\n"a":1}', ['{\n"a":1}']),
        ('\ufeff[{"a":1}]', ['{"a":1}']),
        (' \n\t[{"a":1}]', ['{"a":1}']),
        ("[]", []),
        ('{"rows":[]}', []),
        ('{"rows":null}', ['{"rows":null}']),
        ('{"rows":{"a":1}}', ['{"rows":{"a":1}}']),
        ('{"ROWS":[{"a":1}]}', ['{"ROWS":[{"a":1}]}']),
        ('[1,"x",null,[1]]', ["1", "x", "", "[1]"]),
        ('[1,"x",null,{"a":undefined}]', ["1", "x", "", '{"a":null}']),
        ('[{"a":"\t"}]', ['{"a":"\\t"}']),
        ("[{'a':1}]", ['{"a":1}']),
        ('[{"a":"\\ud83e"}]', ['{"a":"\\uD83E"}']),
        ('[{"a":1} {"b":2}]', ['[{"a":1} {"b":2}]']),
        ('[{"a":1},{"b":2}', ['[{"a":1},{"b":2}']),
        ('[{"a":1}] x', ['[{"a":1}] x']),
        ('{"rows":[{"a":1}', ['{"rows":[{"a":1}']),
        ("", [""]),
    ],
)
def test_the_rows_of_a_document(text: str, rows: list[str]) -> None:
    assert rows_of_document(text) == rows
