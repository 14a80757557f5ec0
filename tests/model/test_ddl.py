"""DDL changes and their settings, by the structure of their properties."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

import pytest

from exporter.input.properties import read
from exporter.model.effects import is_rename
from tests.model.told import facts_of, row

if TYPE_CHECKING:
    from exporter.input.row import Row
    from exporter.model.facts import Change, Setting

TABLE = {"objectDomain": "Table", "objectId": 5, "objectName": "D.S.T"}
ADDED = {"subOperationType": "ADD"}


def altered(properties: Any, **also: Any) -> Row:
    return row(object_modified_by_ddl={**TABLE, "operationType": "ALTER", "properties": properties, **also})


def change(properties: Any, **also: Any) -> Change:
    (found,) = facts_of(altered(properties, **also)).content.changes
    return found


def told(setting: Setting) -> tuple[str | None, ...]:
    """Column, property, element, key and id of the element, what was done to it, value."""
    of_element = setting.element, setting.element_key, setting.element_id, setting.sub_operation
    return setting.column_name, setting.property, *of_element, setting.value


def settings(properties: Any) -> list[tuple[str | None, ...]]:
    return [told(one) for one in change(properties).settings]


def atom(name: str, value: str | None, column: str | None = None) -> tuple[str | None, ...]:
    return column, name, None, None, None, None, value


@pytest.mark.parametrize(
    ("given", "value"),
    [
        ({"value": "x"}, "x"), ({"value": 1}, "1"), ({"value": True}, "true"), ({"value": [1, "2"]}, '[1,"2"]'),
        ({"value": {"a": None}}, '{"a":null}'), ({"value": "x", "more": 1}, "x"), ({"value": None}, '{"value":null}'),
        ({"value": "TRUNCATED"}, None), ("x", "x"), ("", ""), (1, "1"), (False, "false"), ([1, {}], "[1,{}]"),
        ({}, "{}"), ('{"value":"x"}', "x"), ("TRUNCATED", None), ({"value": "x", "subOperationType": None}, "x"),
        ({"value": "{no JSON"}, "{no JSON"), ("{no JSON", "{no JSON"), ({"a": {}, "b": 1}, '{"a":{},"b":1}'),
    ],
)  # fmt: skip
def test_an_atomic_property_is_its_value_or_itself(given: Any, value: str | None) -> None:
    """What Snowflake cut is no value (docs/fields.md)."""
    assert settings({"enabled": given}) == [atom("enabled", value)]


def test_minus_one_is_no_value_where_an_id_is_expected() -> None:
    """The increment of a sequence may be -1."""
    found = settings({"increment": -1, "swapTargetId": {"value": -1}, "cloneSourceId": "-1", "objectName": "TRUNCATED"})
    expected = {"increment": "-1", "swapTargetId": None, "cloneSourceId": None, "objectName": None}
    assert found == [atom(name, value) for name, value in sorted(expected.items())]


@pytest.mark.parametrize("given", [None, "TRUNCATED", ["TRUNCATED"], {"value": "TRUNCATED"}, [None]])
def test_a_compound_property_without_elements_is_no_setting(given: Any) -> None:
    assert settings({"columns": given}) == []


def test_numbers_keep_their_digits() -> None:
    """``1.10`` is not 1.1, and a large number is not rounded."""
    properties = '{"start":{"value":1.10},"increment":12345678901234567890}'
    assert settings(properties) == [atom("increment", "12345678901234567890"), atom("start", "1.10")]


@pytest.mark.parametrize(
    ("name", "key"),
    [("tags", "tag"), ("maskingPolicies", "masking-policy"), ("rowAccessPolicies", "row-access-policy"),
     ("aggregationPolicies", "aggregation-policy")],
)  # fmt: skip
def test_tags_and_policies_have_keys(name: str, key: str) -> None:
    by_id = {**ADDED, "objectId": {"value": 7}}
    found = settings({name: {"G.ONE": by_id, "g.two": {"subOperationType": "drop"}, "TRUNCATED": ADDED}})
    assert found == [
        (None, name, "G.ONE", f"{key}/7", "7", "ADD", None),
        (None, name, "g.two", f"{key}/name/G.TWO", None, "DROP", None),
    ]


def test_other_elements_have_none() -> None:
    found = settings({"allowedValues": {"a": ADDED, "b": "bare", "c": None}, "Policies": {"d": ADDED}})
    assert found == [
        (None, "Policies", "d", None, None, "ADD", None),
        (None, "allowedValues", "a", None, None, "ADD", None),
        (None, "allowedValues", "b", None, None, None, "bare"),
    ]


@pytest.mark.parametrize(
    ("element", "value"),
    [({"tagValue": {"value": "x"}, "value": "y"}, "x"), ({"tagValue": "x"}, "x"), ({"value": {"value": "y"}}, "y"),
     ({"tagValue": {"value": ""}}, ""), ({"tagValue": [1]}, "[1]"),
     ({"tagValue": {"value": [1]}}, "[1]"), ({"tagValue": None, "value": "y"}, "y")],
)  # fmt: skip
def test_the_value_of_a_tag(element: Any, value: str | None) -> None:
    (found,) = settings({"tags": {"G.T": {**element, **ADDED}}})
    assert found == (None, "tags", "G.T", "tag/name/G.T", None, "ADD", value)


def test_columns_are_elements_and_hold_properties_of_their_own() -> None:
    column = {
        **ADDED,
        "objectId": {"value": 11},
        "objectName": {"value": "B"},
        "tags": {"G.T": {**ADDED, "tagValue": {"value": "x"}}},
    }
    assert settings({"columns": {"A": column, "": ADDED, "TRUNCATED": ADDED, "C": "BIGINT"}}) == [
        ("A", "columns", "A", None, "11", "ADD", None),
        atom("objectName", "B", "A"),
        ("A", "tags", "G.T", "tag/name/G.T", None, "ADD", "x"),
        ("C", "columns", "C", None, None, None, "BIGINT"),
    ]


TYPED: Final = [
    ({"tags": {"G.T.X": None, "G.T.Y": ADDED}, "maskingPolicies": None}, {"tags": {"G.T.Y": ADDED}}),
    ({"tags": {"G.T.X": None}}, {}),
    ({"columns": {"A": None, "B": {**ADDED, "tags": {"G.T.X": None}}}}, {"columns": {"B": ADDED}}),
    ({"newOnes": {"D.S.X": None, "D.S.Y": ADDED}}, {"newOnes": {"D.S.Y": ADDED}}),
    ({"allowedValues": {"a": None, "b": ADDED}}, {"allowedValues": {"b": ADDED}}),
    ({"accountsToAdd": ["A.B"], "accountsToRemove": None, "accountsToSet": None}, {"accountsToAdd": ["A.B"]}),
    ({"comment": "x", "grant": None, "revoke": None}, {"comment": "x"}),
    (
        {"comment": None, "policyBody": None, "objectName": None, "swapTargetName": None, "columns": {"A": ADDED}},
        {"columns": {"A": ADDED}},
    ),
    ({"columns": {"A": {**ADDED, "objectName": None, "comment": None}}}, {"columns": {"A": ADDED}}),
    ({"columns": [{"objectName": "A", **ADDED, "newName": None, "comment": None}]}, {"columns": {"A": ADDED}}),
    (
        [{"comment": "x", "tags": None}, {"comment": None, "tags": {"G.T.X": ADDED}}],
        {"comment": "x", "tags": {"G.T.X": ADDED}},
    ),
    ({"comment": {"value": None, "subOperationType": "UNSET"}}, {"comment": {"subOperationType": "UNSET"}}),
    ({"newOnes": {"X": None, "Y": {"a": 1}}}, {"newOnes": {"Y": {"a": 1}}}),
    (
        {"columns": {"A": {"subOperationType": None, "maskingPolicies": {"G.P.M": ADDED}}}},
        {"columns": {"A": {"maskingPolicies": {"G.P.M": ADDED}}}},
    ),
]
"""Properties as tools with types write them, which give each row the names of all rows; and as they were."""


@pytest.mark.parametrize(("typed", "given"), TYPED)
def test_names_of_other_rows_are_nothing(typed: Any, given: Any) -> None:
    """A tag that was never set would be set, and a grant taken back."""
    assert settings(typed) == settings(given)


@pytest.mark.parametrize(
    "form", [{"G.T.X": {"subOperationType": None}}, [{"objectName": "G.T.X", "subOperationType": None}]]
)
def test_whether_it_was_set_or_unset_is_not_said_by_null(form: Any) -> None:
    found = read(json.dumps({"tags": form}, separators=(",", ":")))
    assert found.unknown == ("tags[].subOperationType",)
    assert found.is_doubtful


@pytest.mark.parametrize("columns", ["TRUNCATED", None])
def test_columns_that_were_truncated_are_none(columns: str | None) -> None:
    assert settings({"columns": columns, "comment": "c"}) == [atom("comment", "c")]


def test_what_a_change_says_of_its_object() -> None:
    properties = {"objectName": {"value": "D.S.NEW"}, "policyBody": {"value": "val"}, "comment": {"value": " "}}
    found = change(properties)
    assert (found.new_name, found.policy_body, found.comment) == ("D.S.NEW", "val", None)
    assert (found.swap_key, found.swap_domain, found.source_key, found.source_domain) == (None, None, None, None)
    assert found.properties == json.dumps(properties, separators=(",", ":"))


@pytest.mark.parametrize(
    ("properties", "swap"),
    [
        ({"swapTargetDomain": "View", "swapTargetId": 6, "swapTargetName": "D.S.X"}, ("view/6", "VIEW", "6", "D.S.X")),
        ({"swapTargetId": 6}, ("table/6", "TABLE", "6", None)),
        ({"swapTargetName": "d.s.x"}, ("table/name/D.S.X", "TABLE", None, "d.s.x")),
        ({"swapTargetDomain": "external_table", "swapTargetId": 0}, (None, "EXTERNAL TABLE", None, None)),
        ({"swapTargetDomain": "Table"}, (None, None, None, None)),
        ({"swapTargetName": "TRUNCATED"}, (None, None, None, None)),
    ],
)
def test_the_other_side_of_a_swap(properties: Any, swap: tuple[str | None, ...]) -> None:
    found = change({name: {"value": value} for name, value in properties.items()})
    assert (found.swap_key, found.swap_domain, found.swap_id, found.swap_name) == swap


@pytest.mark.parametrize("role", ["cloneSource", "LIKESOURCE", "source", "creationSourceObject", "sourceTarget"])
def test_what_an_object_was_made_from_has_many_names(role: str) -> None:
    """The documents give the property no name."""
    found = change({f"{role}Domain": {"value": "View"}, f"{role}Id": {"value": 8}, f"{role}Name": {"value": "D.S.V"}})
    assert (found.source_key, found.source_domain, found.source_id, found.source_name) == (
        *("view/8", "VIEW"),
        *("8", "D.S.V"),
    )


def test_other_properties_name_no_source() -> None:
    found = change({"resourceName": {"value": "X"}, "sourceNames": {"value": "X"}, "\u017fourceName": {"value": "X"}})
    assert found.source_key is None


@pytest.mark.parametrize(
    ("word", "operation"),
    [("create", "CREATE"), (" Alter ", "ALTER"), (None, "UNKNOWN"), ("", "")],
)
def test_operations_are_in_upper_case(word: str | None, operation: str) -> None:
    found = change({}, operationType=word)
    assert (found.operation, found.change_key) == (operation, f"{operation.lower()}/table/5")


@pytest.mark.parametrize(
    "also",
    [{"operationType": "TRUNCATED"}, {"objectId": None, "objectName": "TRUNCATED"}, {"objectId": 0, "objectName": ""}],
)
def test_what_was_truncated_is_no_change(also: Any) -> None:
    assert facts_of(altered({}, **also)).content.changes == ()


@pytest.mark.parametrize(
    ("given", "properties"),
    [
        (None, "{}"),
        ({}, "{}"),
        ('{"comment": {"value": "x"}}', '{"comment":{"value":"x"}}'),
        ("TRUNCATED", "TRUNCATED"),
    ],
)
def test_properties_as_they_came(given: Any, properties: str) -> None:
    assert change(given).properties == properties


def test_a_lone_change_has_a_plain_key() -> None:
    found = change({"comment": "x"})
    assert {found.change_key} == {one.change_key for one in found.settings} == {"alter/table/5"}


def test_changes_of_one_kind_to_one_object_in_one_query_are_told_apart_by_what_they_say() -> None:
    rows = [altered({"comment": text}) for text in ("x", "y")]
    other = altered({"comment": "x"}, objectId=6)
    found = facts_of(*rows, other).content.changes
    ends = {text: sha256(f'{{"comment":{{"value":"{text}"}}}}'.encode()).hexdigest()[:16] for text in ("x", "y")}
    keys = {f"alter/table/5/{ends['x']}": "x", f"alter/table/5/{ends['y']}": "y", "alter/table/6": "x"}
    assert {one.change_key: one.comment for one in found} == keys
    assert {one.change_key: one.value for change in found for one in change.settings} == keys
    assert found == tuple(sorted(found, key=lambda one: one.change_key))
    assert found == facts_of(other, *rows[::-1]).content.changes


def test_a_change_that_comes_twice_is_one_however_its_object_is_spelled() -> None:
    rows = [altered({"comment": "x"}, objectName=name, query=name) for name in ("d.s.t", "D.S.T")]
    (found,) = facts_of(*rows).content.changes
    assert (found.change_key, found.thing.name) == ("alter/table/5", "D.S.T")


def test_an_empty_text_is_no_properties() -> None:
    """Some tools write one for null; the shapes refuse it, and with it the query."""
    assert change("") == change(None)


@pytest.mark.parametrize("value", [{"subOperationType": "UNSET"}, {"value": {"a": 1}}, ["x"], {}, [], {"value": None}])
def test_no_json_is_a_name_or_a_text(value: Any) -> None:
    names = ("objectName", "comment", "policyBody", "swapTargetId", "swapTargetName", "cloneSourceName")
    found = change({**dict.fromkeys(names, value), "columns": {"A": {"objectName": value, "comment": value}}})
    told = (found.new_name, found.comment, found.policy_body, found.swap_key, found.swap_name, found.source_name)
    assert told == (None,) * 6
    assert not any(is_rename(one) for one in found.settings)
    assert {one.value for one in found.settings if one.property in names} == {'{"value":null}'}
