"""A line -> a row, or the reason why not: every spelling of a row gives the same row, and nothing is lost silently."""

from __future__ import annotations

import json
from functools import partial
from random import Random
from typing import TYPE_CHECKING, Any, Final

import pytest

from exporter.input import reading
from exporter.input import row as documents
from exporter.input.reading import read_line
from exporter.input.row import STRUCTURED, Row, Unreadable
from exporter.input.times import parse_time
from tests.histories import random_history
from tests.input.bad_rows import ARRAYS, BAD_NESTED_ROWS, BAD_ROWS, GOOD
from tests.input.noise import line
from tests.input.plain_rows import (
    NOT_JSON,
    OBJECT,
    TEXT,
    TEXT_INSIDE,
    TOO_DEEP,
    UNLIKE,
    first_of,
    line_of,
    plain,
    problems,
    raw_line,
    read,
)

if TYPE_CHECKING:
    from collections.abc import Callable

START: Final = 1_772_352_000_000_000
LONG: Final = "L" * 10_000


# --- what is set aside, and why --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("text", "words"), BAD_ROWS + BAD_NESTED_ROWS)
def test_every_bad_row_is_quarantined_with_its_reason(text: str, words: str) -> None:
    assert words in "; ".join(problems(text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("this is no JSON", [NOT_JSON]),
        (raw_line()[:-1], [NOT_JSON]),
        ("[1, 2]", [NOT_JSON]),
        ("null", [NOT_JSON]),
        (f"[{raw_line()},{raw_line()}]", [NOT_JSON]),
        (raw_line(account_name="01"), [NOT_JSON]),
        (raw_line(account_name='"a\\x"'), [NOT_JSON]),
        (raw_line(account_name='"a",'), [NOT_JSON]),
        ("{}", ["query_id is missing", "query_start_time is missing", "user_name is missing"]),
        (raw_line(user_name="null"), ["user_name is missing"]),
        (raw_line(query_id='"  "', user_name='" "'), ["query_id is missing", "user_name is missing"]),
        ('{"query_id":"q","query_start_time":undefined,"user_name":"u"}', ["query_start_time is missing"]),
        (line_of(query_start_time="yesterday"), ["query_start_time cannot be read as a time: yesterday"]),
        (line_of(query_start_time="x" * 100), [f"query_start_time cannot be read as a time: {'x' * 60}"]),
        (line_of(direct_objects_accessed="all of them"), [f"direct_objects_accessed {TEXT}"]),
        (line_of(direct_objects_accessed=7), [f"direct_objects_accessed {TEXT}"]),
        (line_of(objects_modified={"objectName": "T"}), [f"objects_modified {OBJECT}"]),
        (line_of(objects_modified='{"objectName": "T"}'), [f"objects_modified {OBJECT}"]),
        (line_of(base_objects_accessed='[{"objectName": '), [f"base_objects_accessed {UNLIKE}"]),
        (line_of(base_objects_accessed="[],[]"), [f"base_objects_accessed {UNLIKE}"]),
        (line_of(base_objects_accessed="[] x"), [f"base_objects_accessed {UNLIKE}"]),
        *(
            (line_of(base_objects_accessed=[text]), [f"base_objects_accessed {TEXT_INSIDE}"])
            for text in ("D.S.T", "TRUNCATED", "", "\\N", "7", "[]", '["{}"]', '{"objectName": "T"', "{} {}", '"T"')
        ),
        (line_of(base_objects_accessed=['{"objectName": "T"}', "T"]), [f"base_objects_accessed {TEXT_INSIDE}"]),
        (line_of(base_objects_accessed=['{"columns": {}}']), [f"base_objects_accessed {UNLIKE}"]),
        (line_of(base_objects_accessed=[f'{{"columnId": {"[" * 1001}']), [f"base_objects_accessed: {TOO_DEEP}"]),
        *(
            (line_of(base_objects_accessed=[{name: text}]),
             [f"base_objects_accessed {UNLIKE} (in it is text that is not a JSON array)"])
            for name, text in (("columns", "A, B"), ("columns", ""), ("columns", "{}"), ("locations", "TRUNCATED"))
        ),
        (line_of(base_objects_accessed='"abc'), [f"base_objects_accessed {TEXT}"]),
        (
            line_of(object_modified_by_ddl="CREATE"),
            ["object_modified_by_ddl contains text, but an object is expected"],
        ),
        (
            line_of(object_modified_by_ddl=[{"operationType": "CREATE"}]),
            ["object_modified_by_ddl contains an array, but an object is expected"],
        ),
        (
            '{"agents_info":"x","direct_objects_accessed":{},"base_objects_accessed":[1],"objects_modified":"{}"}',
            [f"agents_info {TEXT}", f"direct_objects_accessed {OBJECT}", f"base_objects_accessed {UNLIKE}",
             f"objects_modified {OBJECT}"],
        ),
    ],
)  # fmt: skip
def test_the_reasons_exactly(text: str, expected: list[str]) -> None:
    assert problems(text) == expected


@pytest.mark.parametrize(
    "behind", [raw_line(), f" {raw_line()}", f",{raw_line()}", " xyz", "xyz", "x", "{", " []", ";", "1", "[1]", '"x"']
)
def test_a_line_of_several_things_is_no_row(behind: str) -> None:
    assert problems(raw_line() + behind) == [NOT_JSON]


@pytest.mark.parametrize("behind", [",", "]", "} ", " ]", ", \t", "\r"])
def test_the_rest_of_an_array_may_stand_behind_a_row(behind: str) -> None:
    assert read(raw_line() + behind) == read(raw_line())


@pytest.mark.parametrize("text", ["", " ", "   ", "\t", "\r", "\ufeff", "\ufeff "])
def test_blank_lines_are_none(text: str) -> None:
    assert read_line(text) is None


# --- what is read ----------------------------------------------------------------------------------------------------


def test_a_row_in_the_documents_own_form() -> None:
    row = read_line(line_of(agents_info=[{"agentName": "A"}], account_locator="AB1", parent_query_id="p"))
    assert isinstance(row, Row)
    assert (row.query_id, row.start, row.user_name) == (GOOD["query_id"], START, "JSMITH")
    assert (row.parent_query_id, row.root_query_id, row.account_locator) == ("p", None, "AB1")
    columns = dict(zip(STRUCTURED, json.loads(row.content), strict=True))
    assert columns == {
        **dict.fromkeys(STRUCTURED),
        **{name: GOOD[name] for name in ARRAYS},
        "agents_info": [{"agentName": "A"}],
    }


NAMES: Final = (
    '"with ""quotes"""."a.b".T', 'D."dots.in.quotes".T', 'D.S."new\nline"', 'D.S."🦖 é"', 'D.S."100%"', f"D.S.{LONG}",
    'D.S."back\\slash"', "D.S.'single'", 'D.S."\u2028"', 'D.S."\u0000"', 'D.S."."', 'D.S."<>{}|^`"', 'D.S."\ufeff"',
)  # fmt: skip
TIMES: Final = (
    *("2026-03-01 08:00:00 +0000", "2026-03-01 08:00:00", "2026-03-01T08:00:00Z", "2026-03-01 13:30:00 +05:30"),
    *(f"2026-03-01 08:00:00.{'123456789'[:digits]} +0000" for digits in range(1, 10)),
    *("2999-12-31 23:59:59 +0000", "1772352000", "Sun, 01 Mar 2026 08:00:00 +0000"),
)


def _lists_inside(value: dict[str, Any]) -> str:
    """The object as text, in which lists have texts again."""
    lists = {
        name: [*map(json.dumps, inner)] for name, inner in value.items() if name in _LISTS and isinstance(inner, list)
    }
    return json.dumps({**value, **lists})


def _text_inside(value: dict[str, Any]) -> dict[str, Any]:
    return {name: json.dumps(inner) if isinstance(inner, list | dict) else inner for name, inner in value.items()}


_LISTS: Final = ("columns", "joinObjects", "policies")
ELEMENTS: Final[tuple[Callable[[Any], Any], ...]] = (
    json.dumps, partial(json.dumps, indent=2), lambda value: json.dumps(json.dumps(value)), _lists_inside, _text_inside,
)  # fmt: skip
"""How an object in an array may be written as text, or what is in it."""


def _forms(row: dict[str, Any]) -> list[str]:
    """One row in every spelling."""
    text = {name: json.dumps(value) if isinstance(value, list | dict) else value for name, value in row.items()}
    double = {name: json.dumps(value) if name in STRUCTURED else value for name, value in text.items() if value}
    with_words = {name: "\\N" if value is None else value for name, value in text.items()}
    lists = {name: value for name, value in row.items() if isinstance(value, list)}
    return [
        json.dumps(row),
        *(json.dumps({**row, **{name: [*map(form, value)] for name, value in lists.items()}}) for form in ELEMENTS),
        json.dumps({**text, **{name: json.dumps([*map(json.dumps, value)]) for name, value in lists.items()}}),
        json.dumps(row, ensure_ascii=False),
        "\ufeff" + json.dumps(row),
        json.dumps(row, indent=2),
        json.dumps({name.upper(): value for name, value in row.items()}),
        json.dumps({f" {name.title()} ": value for name, value in row.items()}),
        json.dumps(text),
        json.dumps({name.upper(): value for name, value in text.items()}, indent=1),
        json.dumps(with_words),
        json.dumps(double),
        json.dumps({name: json.dumps(value) if name in STRUCTURED else value for name, value in double.items()}),
        json.dumps(
            {name: f" \ufeff{value} " if name in STRUCTURED else value for name, value in text.items() if value}
        ),
        json.dumps({**row, "of_next_year": "?"}).replace('"?"', "undefined"),
        json.dumps({**row, "of_next_year": "?"}).replace('"?"', '"\x01"'),
        json.dumps({**row, "of_next_year": "?"}).replace('"?"', "-Infinity"),
        json.dumps({**row, "of_next_year": "?"}).replace('"?"', "[" * 950 + "]" * 950),
    ]


@pytest.mark.parametrize("name", NAMES)
def test_names_are_what_the_row_says_in_every_spelling(name: str) -> None:
    thing = {"objectDomain": "Table", "objectName": name, "columns": [{"columnName": name}]}
    row = {**GOOD, "direct_objects_accessed": [thing], "additional_properties": {"said": name}}
    for text in _forms(row):
        assert read(text)["direct_objects_accessed"] == [thing]
        assert json.loads(read(text)["additional_properties"]) == {"said": name}


@pytest.mark.parametrize("seed", range(12))
def test_every_spelling_of_a_row_is_the_same_row(seed: int) -> None:
    for row in random_history(seed, 10):
        if row["user_name"] not in {"null", "\\N"}:
            first, *others = [read(text) for text in _forms(row)]
            for other in others:
                assert {**other, "unknown_columns": None} == first


@pytest.mark.parametrize("seed", range(20))
def test_the_three_ways_of_reading_agree(seed: int) -> None:
    """The quicker ones take less, and give the same."""
    rng = Random(seed)
    for text in (line(rng) for _ in range(100)):
        found = read_line(text)
        for one in (reading._read_by_name(text), reading._read_tolerantly(text)):
            if isinstance(found, Row):
                assert one is None or (isinstance(one, Row) and plain(one) == plain(found)), text
            else:
                assert not isinstance(one, Row), text


def test_whatever_comes_is_a_row_or_a_reason() -> None:
    rng = Random(1)
    seen = set()
    for _ in range(600):
        text = line(rng)
        for at in {rng.randrange(len(text)) for _ in range(2)}:
            broken = text[:at] + rng.choice(("", '"', "\\", "{", "]", ",", "\x00", "9")) + text[at + 1 :]
            found = read_line(broken)
            seen.add(type(found))
            assert not isinstance(found, Unreadable) or found.problems
            assert not isinstance(found, Row) or documents.decode(found.content)
    assert {Row, Unreadable} <= seen


@pytest.mark.parametrize("ident", [7, "7", 32998411400350, 0, -1, None, "", "JSMITH", 10**25])
def test_ids_as_texts(ident: Any) -> None:
    found = first_of(line_of(direct_objects_accessed=[{"objectName": "T", "objectId": ident}]))
    assert found == {"objectName": "T"} | ({} if ident is None else {"objectId": str(ident)})


@pytest.mark.parametrize("text", TIMES)
def test_odd_times_are_one_instant_each(text: str) -> None:
    assert read(line_of(query_start_time=text))["start"] == parse_time(text)


@pytest.mark.parametrize(
    ("number", "start"), [("1772352000", START), ("1772352000123", START + 123_000), ("1772352000.5", START + 500_000)]
)
def test_a_time_may_be_a_number(number: str, start: int) -> None:
    assert read(raw_line(query_start_time=number))["start"] == start


@pytest.mark.parametrize("ident", ["not-a-uuid", "1", "a/b", "..", "q é%", "line\nbreak", "x" * 300, " x "])
def test_odd_query_ids_stay_as_they_are(ident: str) -> None:
    assert read(line_of(query_id=ident))["query_id"] == ident


@pytest.mark.parametrize("name", ["O'Brien", "a/b", "..", LONG, "undefined", "TRUNCATED", "null"])
def test_odd_users_stay_as_they_are(name: str) -> None:
    assert read(line_of(user_name=name))["user_name"] == name


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("7", "7"), ("1.10", "1.10"), ("123456789012345678901", "123456789012345678901"), ("true", "true"),
        ("null", None), ("undefined", None), ("NaN", None), ('{"a": 1.10, "b":[ ]}', '{"a":1.10,"b":[]}'),
        ('"a\tb\x01"', "a\tb\x01"), ('"\\ud83e\\udd96"', "🦖"), ('""', ""),
        ('"\\u0000"', "\x00"), ("9" * 5000, "9" * 5000), ("1e400", "1e400"),
    ],
)  # fmt: skip
def test_texts_as_they_came(value: str, text: str | None) -> None:
    assert read(raw_line(account_name=value))["account_name"] == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ('{"a": 1.10, "b" : [1E5]}', '{"a":1.10,"b":[1E5]}'),
        ('"{\\"a\\": 1.10 , \\"b\\":[ ] }"', '{"a":1.10,"b":[]}'),
        ('{"a":"\\ud83e\\udd96 \\u0041\\/"}', '{"a":"\\uD83E\\uDD96 A/"}'),
        ('{"a":1,"a":2}', '{"a":1,"a":2}'),
        ('{"a":undefined}', '{"a":null}'),
        ('"{\\"a\\": tru }"', '{"a": tru }'),
        ('"plain text"', "plain text"),
        ('""', ""),
        ("7.10", "7.10"),
        ("null", None),
    ],
)
def test_json_that_is_kept_has_one_spelling(value: str, text: str | None) -> None:
    for behind in ({}, {"x": "undefined"}, {"agents_info": '"[]"'}):
        row = read(raw_line(additional_properties=value, invoker_identity=value, **behind))
        assert (row["additional_properties"], row["invoker_identity"]) == (text, text)
    change = raw_line(object_modified_by_ddl=f'{{"operationType":"CREATE","properties":{value}}}')
    assert read(change)["object_modified_by_ddl"].get("properties") == text


@pytest.mark.parametrize("word", ["\\N", "NULL", "null", "undefined", "", " ", '"null"', '""', "\ufeff"])
def test_words_for_null_where_an_array_is_expected(word: str) -> None:
    row = read(line_of(**dict.fromkeys((*ARRAYS, "agents_info", "object_modified_by_ddl"), word)))
    assert all(row[name] is None for name in STRUCTURED)


def test_words_for_null_where_a_text_is_expected() -> None:
    """Where arrays are text, or names are not in the documents' case, as some tools write JSON. No id is such a word,
    also beside arrays as the documents have them; anything else may be.
    """
    words = {"parent_query_id": "\\N", "root_query_id": "null", "account_name": "", "event_source": "NULL"}
    as_text = read(line_of(**words, direct_objects_accessed="[]"))
    in_capitals = read(json.dumps({name.upper(): value for name, value in {**GOOD, **words}.items()}))
    own = read(line_of(**words))
    for row in (as_text, in_capitals):
        assert [row[name] for name in words] == [None, None, "", None]
    assert [own[name] for name in words] == [None, None, "", "NULL"]
    assert problems(line_of(query_id="NULL")) == ["query_id is missing"]
    bad = json.dumps({"QUERY_ID": " ", "QUERY_START_TIME": "\\N", "USER_NAME": "null"})
    assert problems(bad) == ["query_id is missing", "query_start_time is missing", "user_name is missing"]
