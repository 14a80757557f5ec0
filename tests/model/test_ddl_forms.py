"""The four forms of DDL properties mean one thing: by converting every DDL row of the examples and of drawn histories
(:mod:`tests.model.ddl_forms`, written from the release notes), and the hard cases one by one.
"""

from __future__ import annotations

import json
from random import Random
from typing import TYPE_CHECKING, Any, Final

import pytest
from msgspec.structs import replace

from exporter.cli import main
from exporter.input.properties import canonical_form, columns_without_operation, read
from exporter.model.query import without_duplicates
from tests import golden
from tests.hard_ddl import DDL_ROWS
from tests.hard_objects import World
from tests.model.ddl_forms import FORMS, Json, rows_in, with_empty_lists, with_types
from tests.model.test_ddl import altered, atom, change, settings
from tests.model.told import facts_of, row

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from exporter.model.facts import Content

ADDED: Final = {"subOperationType": "ADD"}
COMPANY: Final = golden.EXAMPLES / "company-month" / "access_history.ndjson"


def drawn(seed: int, rows: int = 250) -> list[Json]:
    """DDL rows over one small world."""
    rng, told = Random(seed), list[Json]()
    world = World.build(rng)
    while len(told) < rows:
        told += rng.choice(DDL_ROWS)(rng, world)
    return told


def of_examples() -> list[Json]:
    """All rows of the golden examples, which are the corpus, each with an account of its own."""
    return [
        {**one, "organization_name": "EXAMPLE", "account_name": golden.account_name(folder)}
        for folder in golden.folders()
        for one in golden.rows(folder)
    ]


HISTORIES: Final = {
    "examples": of_examples,
    "company": lambda: [json.loads(line) for line in COMPANY.read_text(encoding="utf-8").split("\n") if line],
    "drawn": lambda: drawn(0),
    "drawn again": lambda: drawn(1),
}


def exported(rows: list[Json], folder: Path, *options: str) -> tuple[list[Json], set[golden.Triple], Json]:
    """Events and triples without the JSON of ``properties``, and the report."""
    folder.mkdir(parents=True)
    source, out = folder / "rows.ndjson", folder / "out"
    source.write_text("".join(f"{json.dumps(one, ensure_ascii=False)}\n" for one in rows), encoding="utf-8")
    assert main(["export", str(source), "--account", "A-B", "--out", str(out), "--engine", "local", *options]) == 0
    lines = [
        line for file in sorted((out / "events").rglob("*.ndjson")) for line in file.read_text("utf-8").split("\n")
    ]
    events = [json.loads(line) for line in lines if line]
    for event in events:
        for told in event.get("run", {}).get("facets", {}).get("accessHistory_ddl", {}).get("changes", ()):
            del told["properties"]
    triples = golden.triples((out / "graph").rglob("*.ttl"))
    kept = {triple for triple in triples if triple[1] != f"<{golden._AH}properties>"}
    return sorted(events, key=json.dumps), kept, json.loads((out / "report.json").read_text("utf-8"))


@pytest.mark.parametrize("history", HISTORIES)
def test_all_forms_give_the_same_events_and_triples(history: str, tmp_path: Path) -> None:
    rows = HISTORIES[history]()
    assert any(one.get("object_modified_by_ddl") for one in rows)
    events, triples, report = exported(rows, tmp_path / "first")
    other = {form: rows_in(form, rows) for form in FORMS}
    assert sum(told == rows for told in other.values()) == 1, "the form in which they come"
    for form, told in ((form, told) for form, told in other.items() if told != rows):
        also_events, also_triples, also_report = exported(told, tmp_path / form)
        assert also_events == events, form
        assert also_triples == triples, form
        assert also_report["exported"] == report["exported"]


def contents(rows: list[Json]) -> Iterator[Content]:
    """What each row says, without the JSON of its properties."""
    for one in rows:
        content = facts_of(row(**one)).content
        yield replace(content, changes=tuple(replace(each, properties="") for each in content.changes))


def in_any_order(rows: list[Json]) -> Iterator[Content]:
    """What each row says, whatever order the names of its properties have."""
    for content in contents(rows):
        changes = (replace(each, normal=canonical_form(each.normal)) for each in content.changes)
        yield replace(content, changes=tuple(changes))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("seed", range(2, 8))
def test_all_forms_give_the_same_facts_and_normal_form(seed: int, form: str) -> None:
    rows = drawn(seed)
    assert list(contents(rows_in(form, rows))) == list(contents(rows))


@pytest.mark.parametrize("form", FORMS)
def test_names_of_other_rows_that_are_null_say_nothing(form: str) -> None:
    """A null comment would take the comment away, and a null policy body would be a new version of a table."""
    for seed in range(10, 14):
        with_content = [one for one in drawn(seed, 60) if "{}" not in json.dumps(one)]  # no tool with types keeps {}
        rows = rows_in(form, with_content)
        typed = with_types(rows)
        assert typed != rows
        assert list(in_any_order(typed)) == list(in_any_order(rows))


@pytest.mark.parametrize("history", ["drawn", "company"])
def test_empty_lists_in_all_rows_give_the_same_events_and_triples(history: str, tmp_path: Path) -> None:
    """Some tools with types write an empty array where a row has no list."""
    rows = HISTORIES[history]()
    told = with_empty_lists(rows_in("arrays and bare values", rows))
    events, triples, report = exported(rows, tmp_path / "plain")
    also_events, also_triples, also_report = exported(told, tmp_path / "emptied")
    assert also_events == events
    assert also_triples == triples
    assert also_report["not_understood"] == report["not_understood"]


@pytest.mark.parametrize("form", FORMS)
def test_the_first_form_is_the_normal_form(form: str) -> None:
    for one in drawn(9, 100):
        properties = one["object_modified_by_ddl"]["properties"]
        given = json.dumps({name: value for name, value in properties.items() if value != {}}, separators=(",", ":"))
        (other,) = rows_in(form, [one])
        found = read(json.dumps(other["object_modified_by_ddl"]["properties"], separators=(",", ":"))).normal
        assert json.loads(found or "") == json.loads(given)
        assert read(given).normal == given
        assert read(given).unknown == ()


@pytest.mark.parametrize("form", FORMS)
def test_one_change_in_two_forms_under_one_query_is_one_change(form: str) -> None:
    for one in drawn(3, 60):
        (other,) = rows_in(form, [one])
        rows = [row(**one), row(**other)]
        assert len(without_duplicates(rows)) == 1
        assert without_duplicates(rows) == without_duplicates(rows[::-1])


def test_two_forms_of_one_row_are_a_duplicate_also_in_an_update(tmp_path: Path) -> None:
    rows = drawn(4, 40)
    others = rows_in("arrays and bare values", rows)
    _, triples, report = exported([*rows, *others], tmp_path / "once", "--update")
    assert report["rows_in"] == 2 * len(rows) == report["exported"] + report["duplicates"]
    assert report["duplicates"] >= len(rows)
    exported(others, tmp_path / "in two", "--update")
    (tmp_path / "more.ndjson").write_text("".join(json.dumps(one) + "\n" for one in rows), encoding="utf-8")
    out = str(tmp_path / "in two" / "out")
    given = [str(tmp_path / "more.ndjson"), "--account", "A-B", "--out", out, "--engine", "local"]
    assert main(["export", *given, "--update", "--allow-empty"]) == 0
    found = golden.triples((tmp_path / "in two" / "out" / "graph").rglob("*.ttl"))
    assert {one for one in found if one[1] != f"<{golden._AH}properties>"} == triples


# --- hard cases -------------------------------------------------------------------------------------------------------


def elements(properties: Any) -> list[tuple[str | None, ...]]:
    """Property, element, operation and value of each setting."""
    return [(one.property, one.element, one.sub_operation, one.value) for one in change(properties).settings]


@pytest.mark.parametrize("name", ["value", "objectName", "subOperationType", "objectId", "tags"])
def test_columns_may_have_any_name(name: str) -> None:
    keyed = {"columns": {name: {**ADDED, "objectId": {"value": 7}}}}
    array = {"columns": [{"objectName": name, **ADDED, "objectId": 7}]}
    assert settings(keyed) == settings(array) == [(name, "columns", name, None, "7", "ADD", None)]


def test_an_allowed_value_may_be_value() -> None:
    assert elements({"allowedValues": {"value": ADDED}}) == [("allowedValues", "value", "ADD", None)]
    assert elements({"allowedValues": [{"objectName": "value", **ADDED}]}) == [("allowedValues", "value", "ADD", None)]


def test_elements_of_one_name_are_one_element() -> None:
    tag, mask = [{"objectName": "D.S.T", **ADDED}], [{"objectName": "D.S.M", **ADDED}]
    twice = [{"objectName": "A", "tags": tag}, {"objectName": "A", "maskingPolicies": mask}]
    assert settings({"columns": twice}) == settings(
        {"columns": [{"objectName": "A", "tags": tag, "maskingPolicies": mask}]}
    )
    assert read(json.dumps({"columns": twice})).unknown == ()


def test_elements_may_be_json_texts() -> None:
    """So are those of a list in Parquet that COPY INTO wrote."""
    column = {"objectName": "A", "subOperationType": "ADD", "maskingPolicies": [{"objectName": "P", **ADDED}]}
    tag = {"subOperationType": "ADD", "tagValue": "x"}
    plain = {"columns": [column], "tags": {"T": tag}}
    texts = {"columns": [json.dumps(column)], "tags": {"T": json.dumps(tag)}}
    assert settings(texts) == settings(plain) != ()
    assert read(json.dumps(texts)).unknown == ()
    assert canonical_form(read(json.dumps(texts)).normal) == canonical_form(read(json.dumps(plain)).normal)


def test_a_name_may_look_like_json() -> None:
    assert elements({"allowedValues": ['{"a": 1}']}) == [("allowedValues", '{"a": 1}', None, None)]


def test_of_two_elements_that_contradict_each_other_the_last_is_taken_and_it_is_noted() -> None:
    twice = [{"objectName": "A", "subOperationType": one} for one in ("ADD", "DROP")]
    assert elements({"columns": twice}) == [("columns", "A", "DROP", None)]
    assert read(json.dumps({"columns": twice})).unknown == ("columns[].subOperationType",)


@pytest.mark.parametrize("element", [{**ADDED}, {"objectName": None, **ADDED}, {"objectName": ["A"]}, 5])
def test_an_element_without_a_name_is_noted(element: Any) -> None:
    properties = {"columns": [element, {"objectName": "B", **ADDED}]}
    assert elements(properties) == [("columns", "B", "ADD", None)]
    assert len(read(json.dumps(properties)).unknown) == 1


@pytest.mark.parametrize("accounts", [["A.B", "A.C"], "A.B", []])
def test_an_atomic_property_may_be_an_array(accounts: Any) -> None:
    share = {"objectDomain": "Share", "objectId": 5, "objectName": "S"}
    wrapped, bare = (
        change(one, **share) for one in ({"accountsToSet": {"value": accounts}}, {"accountsToSet": accounts})
    )
    assert wrapped.grants == bare.grants
    assert wrapped.settings == bare.settings


def test_a_grant_may_be_a_bare_object() -> None:
    share = {"objectDomain": "Share", "objectId": 5, "objectName": "S"}
    grant = {"PRIVILEGES": ["SELECT"], "SECURABLE_OBJECT_DOMAIN": "Table", "SECURABLE_OBJECT_NAME": "D.S.T"}
    wrapped, bare = change({"grant": {"value": grant}}, **share), change({"grant": grant}, **share)
    assert wrapped.grants
    assert replace(bare, properties=wrapped.properties) == wrapped


EMPTY: Final = [{}, [], {"value": []}, "[]", "{}", {"value": None}, [None], {"D.S.X": None}]
COMPOUND: Final = ["tags", "maskingPolicies", "rowAccessPolicies", "storageLifecyclePolicies", "allowedValues"]


@pytest.mark.parametrize("empty", EMPTY)
@pytest.mark.parametrize("name", [*COMPOUND, "columns"])
def test_a_list_without_elements_says_nothing(name: str, empty: Any) -> None:
    """It would count as a mask. What the row gave stays in the change as it came."""
    given = change({"comment": "x", name: empty})
    assert given.settings == change({"comment": "x"}).settings
    assert canonical_form(given.normal) == canonical_form(change({"comment": "x"}).normal)
    assert json.loads(given.properties or "") == {"comment": "x", name: empty}
    assert read(given.properties).unknown == ()


@pytest.mark.parametrize("empty", EMPTY)
@pytest.mark.parametrize("name", COMPOUND)
@pytest.mark.parametrize("form", FORMS)
def test_a_list_without_elements_says_nothing_in_a_column(form: str, name: str, empty: Any) -> None:
    """In each of the forms; also that nothing else is said of a column stays reported."""
    column = {**ADDED, "objectId": {"value": 7}, "maskingPolicies": {"D.S.M": {**ADDED, "objectId": {"value": 3}}}}
    plain = {"columns": {"A": {name: None, **column}, "B": {"objectId": {"value": 8}}}}
    (there,) = rows_in(form, [{"object_modified_by_ddl": {"properties": plain}}])
    text = json.dumps(there["object_modified_by_ddl"]["properties"])
    emptied = text.replace(f'"{name}": null', f'"{name}": {json.dumps(empty)}')
    if name == "maskingPolicies":
        emptied = text
    emptied = emptied.replace('"objectId": 8', f'"objectId": 8, "{name}": {json.dumps(empty)}')
    assert settings(emptied) == settings(text)
    assert canonical_form(read(emptied).normal) == canonical_form(read(text).normal)
    assert columns_without_operation(read(emptied)) == columns_without_operation(read(text)) == ["B"]


@pytest.mark.parametrize("empty", [{}, []])
def test_a_list_without_elements_takes_nothing_from_another(empty: Any) -> None:
    tagged = {"tags": {"G.T": ADDED}}
    assert settings([tagged, {"tags": empty}]) == settings(tagged)
    twice = [{"objectName": "A", **ADDED, **tagged}, {"objectName": "A", **ADDED, "tags": empty}]
    assert settings({"columns": twice}) == settings({"columns": {"A": {**ADDED, **tagged}}})
    assert read(json.dumps({"columns": twice})).unknown == ()


def test_what_is_no_list_of_elements_stays() -> None:
    """A column may be called as a property is, a new property may be of any kind, and accounts may be set to none."""
    assert settings({"columns": {"tags": {}}}) == [("tags", "columns", "tags", None, None, None, None)]
    assert settings({"newThings": []}) == [atom("newThings", "[]")]
    assert settings({"accountsToSet": []}) == [atom("accountsToSet", "[]")]
    assert read('{"newThings":[]}').unknown == ("newThings",)
    assert read('{"maskingPolicies":"x"}').unknown == ("maskingPolicies",)


@pytest.mark.parametrize("name", ["tags", "maskingPolicies", "storageLifecyclePolicies", "futureThings"])
def test_what_names_keyed_may_come_in_arrays_also_if_the_name_is_new(name: str) -> None:
    keyed = {name: {"D.S.X": {**ADDED, "objectId": {"value": 3}}}}
    array = {name: [{"objectName": "D.S.X", **ADDED, "objectId": 3}]}
    assert settings(keyed) == settings(array) != []


@pytest.mark.parametrize(
    "given",
    [
        '{"columns":[{"objectName":"A","objectName":{"value":"B"},"subOperationType":"ALTER"}]}',
        '{"columns":[{"objectName":"A","objectName":"B","subOperationType":"ALTER"}]}',
        '{"columns":[{"objectName":"A","newName":"B","subOperationType":"ALTER"}]}',
        '{"columns":[{"newName":"B","objectName":"A","subOperationType":"ALTER"}]}',
    ],
)
def test_a_renamed_column_in_an_array_has_two_names(given: str) -> None:
    keyed = {"columns": {"A": {"objectName": {"value": "B"}, "subOperationType": "ALTER"}}}
    assert settings(given) == settings(keyed)


def test_the_operation_on_an_element_may_be_wrapped() -> None:
    assert elements({"columns": {"A": {"subOperationType": {"value": "ADD"}}}}) == [("columns", "A", "ADD", None)]


def test_properties_may_be_the_array_that_the_documents_say() -> None:
    given = [{"comment": "x"}, {"columns": [{"objectName": "A", **ADDED}]}]
    assert settings(given) == settings({"comment": {"value": "x"}, "columns": {"A": ADDED}})


def test_names_may_be_in_any_order() -> None:
    one = {"columns": [{"objectName": name, **ADDED} for name in "BA"]}
    other = {"columns": dict.fromkeys("AB", ADDED)}
    assert len(facts_of(altered(one), altered(other)).content.changes) == 1
    assert canonical_form(read(json.dumps(one)).normal) == canonical_form(read(json.dumps(other)).normal)


def test_numbers_keep_their_digits_and_names_their_characters() -> None:
    array = '{"columns":[{"objectName":"ü\\"🦖","objectId":12345678901234567890,"subOperationType":"ADD"}]}'
    keyed = '{"columns":{"ü\\"🦖":{"objectId":{"value":12345678901234567890},"subOperationType":"ADD"}}}'
    assert settings(array) == settings(keyed)
    assert change(array).normal == change(keyed).normal == change(keyed).properties


@pytest.mark.parametrize(
    ("properties", "path"),
    [
        ({"futureThing": 1}, "futureThing"),
        ({"columns": {"SECRET": {"dataType": "NUMBER"}}}, "columns[].dataType"),
        ({"tags": [{"objectName": "D.S.SECRET", "subOperationType": "ADD", "origin": "x"}]}, "tags[].origin"),
        ({"maskingPolicies": [{"objectName": "D.S.SECRET"}]}, "maskingPolicies[].subOperationType"),
        ([{"objectName": "comment", "value": "SECRET"}], "[].objectName"),
        ({"columns": ["SECRET"]}, "columns[]"),
        ({"columns": "SECRET"}, "columns"),
        ({"columns": {"SECRET": {"subOperationType": "MOVE"}}}, "columns[].subOperationType"),
        ([1], "properties"),
        ([{"objectName": "SECRET"}], "[].objectName"),
    ],
)
def test_what_is_not_understood_is_noted_without_names_of_users(properties: Any, path: str) -> None:
    assert read(json.dumps(properties)).unknown == (path,)
