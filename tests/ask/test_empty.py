"""An empty or short answer says why."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

import pytest

from exporter import cli
from exporter.ask.questions import ask, find
from exporter.graph.store import load
from tests import exports
from tests.ask import stories

if TYPE_CHECKING:
    from pathlib import Path

    from pyoxigraph import Store

Json = dict[str, Any]
BASE: Final = "snowflake://ACME-PROD/"


def table(number: int, name: str, *columns: str) -> Json:
    said = {"objectDomain": "Table", "objectId": number, "objectName": f"D.S.{name}"}
    return {**said, "columns": [{"columnName": column} for column in columns]} if columns else said


def read(*objects: Json) -> Json:
    return {"direct_objects_accessed": list(objects), "base_objects_accessed": list(objects)}


def set_on(thing: Json, **properties: Json) -> Json:
    change = {**thing, "operationType": "ALTER", "properties": properties}
    return {"object_modified_by_ddl": change}


TAG: Final = {"D.S.PII": {"objectId": {"value": 9}, "subOperationType": "ADD", "tagValue": {"value": "x"}}}
TAG_LOW: Final = {"D.S.PII": {**TAG["D.S.PII"], "tagValue": {"value": "low"}}}
MASK: Final = {"D.S.MASK": {"objectId": {"value": 40}, "subOperationType": "ADD"}}
SHARE: Final = {"objectDomain": "Share", "objectName": "OUT"}
ROWS: Final = [
    read(table(1, "A", "X", "Y")),
    set_on(table(1, "A"), objectName={"value": "D.S.OLD"}),
    read(table(1, "OLD", "X")),
    read(table(2, "A", "X")),
    {
        **read(table(2, "A", "X")),
        "objects_modified": [{"objectDomain": "Stage", "objectId": 3, "objectName": "D.S.ST"}],
    },
    set_on(table(2, "A"), columns={"X": {"maskingPolicies": MASK}}),
    {
        **read(table(5, "CUT", "X")),
        "base_objects_accessed": [{"objectDomain": "Table", "objectId": -1, "objectName": "TRUNCATED"}],
    },
]
"""Query ``q1`` starts on 1 March, each other one a day later."""


def rows() -> list[Json]:
    return [
        {
            "query_id": f"q{day}",
            "query_start_time": f"2026-03-{day:02}T06:00:00.000Z",
            "user_name": "ANA",
            **row,
        }
        for day, row in enumerate(ROWS, 1)
    ]


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder: Path = tmp_path_factory.mktemp("missing")
    given = [exports.ndjson(rows(), folder / "rows.ndjson")]
    assert exports.export(given, folder / "out", "--outputs", "graph", "--account", "ACME-PROD") == 0
    return folder / "out"


@pytest.fixture(scope="module")
def store(out: Path) -> Store:
    return load(out)


def notes(store: Store, question: str, **given: str) -> str:
    return "\n".join(ask(store, find(question), given).notes)


@pytest.mark.parametrize(
    ("given", "is_outside"),
    [
        ({"until": "2026-02-01"}, True),
        ({"until": "2026-03-01T06:00:00"}, True),
        ({"since": "2026-03-07T07:00:00"}, True),
        ({"since": "2026-02-27"}, True),
        ({"until": "2026-03-09"}, True),
        ({"since": "2026-03-01", "until": "2026-03-08"}, False),
        ({"since": "2026-03-03", "until": "2026-03-04"}, False),
        ({}, False),
    ],
)
def test_times_outside_of_the_record(store: Store, given: dict[str, str], *, is_outside: bool) -> None:
    told = notes(store, "when-accessed", object_name="D.S.A", **given)
    wanted = "The record covers 2026-03-01T06:00:00Z to 2026-03-07T06:00:00Z: "
    assert (wanted in told) == is_outside
    assert all(f"{name}={value}" in told for name, value in given.items() if len(given) == 1) or not is_outside


def test_a_state_at_a_time_before_the_record(store: Store) -> None:
    assert "at=2026-01-01 is outside of it" in notes(store, "lineage-as-of", object_name="D.S.ST", at="2026-01-01")


def test_what_had_a_name_for_a_time_is_counted_by_its_id(store: Store) -> None:
    told = notes(store, "when-accessed", object_name="D.S.OLD", until="2026-03-02")
    assert "As object_id=1 it has 1 row; its names: D.S.A from 2026-03-01T06:00:00Z until" in told
    by_id = ask(store, find("when-accessed"), {"object_id": "1", "until": "2026-03-02"})
    assert [row[0] for row in by_id.rows] == ["q1"]


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """Column X of table 1 goes to table 5, and Y nowhere; then it gets the name OLD, and table 2 has its name."""
    folder: Path = tmp_path_factory.mktemp("copied")
    source = {"objectDomain": "Table", "objectId": 1, "objectName": "D.S.A", "columnName": "X"}
    told = [
        set_on(table(1, "A"), comment={"value": "x"}),
        {
            **read(table(1, "A", "X", "Y")),
            "objects_modified": [{**table(5, "B"), "columns": [{"columnName": "Z", "directSources": [source]}]}],
        },
        set_on(table(1, "A"), objectName={"value": "D.S.OLD"}),
        read(table(2, "A", "X", "Y")),
    ]
    timed = [
        {"query_id": f"q{day}", "query_start_time": f"2026-03-{day:02}T06:00:00Z", "user_name": "ANA", **row}
        for day, row in enumerate(told, 1)
    ]
    given = [exports.ndjson(timed, folder / "rows.ndjson")]
    assert exports.export(given, folder / "out", "--outputs", "graph", "--account", "ACME-PROD") == 0
    return load(folder / "out")


@pytest.mark.parametrize(
    ("question", "given"),
    [
        ("end-up", {"object_name": "D.S.OLD", "until": "2026-03-03"}),
        ("end-up", {"object_name": "D.S.OLD", "until": "2026-03-02"}),
        ("column-copies", {"object_name": "D.S.OLD", "column_name": "Y"}),
        ("root-cause", {"object_name": "D.S.OLD", "column_name": "X"}),
        ("lineage-as-of", {"object_name": "D.S.OLD", "at": "2026-03-04"}),
    ],
)
def test_a_question_that_takes_long_is_advised_by_an_id_that_has_rows(
    question: str, given: dict[str, str], copied: Store
) -> None:
    """It is not asked again for that."""
    assert not ask(copied, find(question), given).rows
    told = notes(copied, question, **given)
    by_id = {name: value for name, value in given.items() if name != "object_name"}
    has_rows = bool(ask(copied, find(question), {**by_id, "object_id": "1", "domain": "Table"}).rows)
    assert ("Ask by object_id=1, too" in told) == has_rows
    assert "it has" not in told


def test_no_id_is_told_of_what_no_data_came_of(store: Store) -> None:
    """The question by it would be empty, too."""
    assert "Ask by" not in notes(store, "end-up", object_name="D.S.OLD", until="2026-03-02")
    assert ask(store, find("end-up"), {"object_id": "1", "until": "2026-03-02"}).rows == []


def test_a_column_that_never_had_a_mask(store: Store) -> None:
    assert "No row shows a masking policy on D.S.CUT.X" in notes(
        store, "unmasked-reads", object_name="D.S.CUT", column_name="X"
    )
    masked = ask(store, find("unmasked-reads"), {"object_id": "2", "column_name": "X", "since": "2026-03-06"})
    assert masked.rows == []
    assert "No row shows a masking policy" not in "".join(masked.notes)


def test_an_object_without_a_tag(store: Store) -> None:
    assert "No row sets a tag on D.S.A" in notes(store, "policy-coverage", object_id="2", domain="Table")


def tagged(day: int, operation: str = "ALTER", **properties: Json) -> Json:
    change = {**table(1, "A"), "operationType": operation, "properties": properties}
    own = {"query_id": f"q{day}", "query_start_time": f"2026-03-{day:02}T06:00:00Z", "user_name": "ANA"}
    return {**own, "object_modified_by_ddl": change}


@pytest.mark.parametrize(
    ("at", "says"),
    [
        ("2026-03-02", "Later ones: D.S.PII on D.S.A.X since 2026-03-02T06:00:00Z"),
        ("2026-03-04", "Dropped then, or on what was, and restored later: D.S.PII on D.S.A.X"),
        (
            None,
            "dropped or replaced, or with the object or the column: D.S.PII on D.S.A.X until",
        ),
    ],
)
def test_tags_of_another_time_are_told(at: str | None, says: str, tmp_path: Path) -> None:
    tag = {"D.S.PII": {"objectId": {"value": 9}, "subOperationType": "ADD", "tagValue": {"value": "x"}}}
    rows = [tagged(1), tagged(2, columns={"X": {"tags": tag}}), tagged(3, "DROP"), tagged(5, "UNDROP")]
    rows.append(tagged(7, "DROP"))
    assert exports.export([exports.ndjson(rows, tmp_path / "rows.ndjson")], tmp_path / "out", "--outputs", "graph") == 0
    told = notes(load(tmp_path / "out"), "policy-coverage", **({"at": at} if at else {}))
    assert says in told
    assert "has what this question asks for" not in told


RENAMED_COLUMN: Final = {"X": {"subOperationType": "ALTER", "objectName": {"value": "Y"}}}


@pytest.mark.parametrize(
    ("change", "ended"),
    [
        # CREATE OR REPLACE TAG makes another tag: the documents' object_modified_by_ddl has its new id
        ({"objectDomain": "Tag", "objectName": "D.S.PII", "objectId": 10, "operationType": "REPLACE"}, ["X"]),
        # the tag stays: on the column by its new name, or with another value
        ({**table(1, "A"), "operationType": "ALTER", "properties": {"columns": RENAMED_COLUMN}}, []),
        ({**table(1, "A"), "operationType": "ALTER", "properties": {"columns": {"X": {"tags": TAG_LOW}}}}, []),
    ],
)
def test_a_tag_is_told_to_have_ended_only_if_it_did(change: Json, ended: list[str], tmp_path: Path) -> None:
    rows = [tagged(1, columns={"X": {"tags": TAG}}), {**tagged(2), "object_modified_by_ddl": change}]
    if not ended:
        column = "Y" if change["properties"]["columns"] == RENAMED_COLUMN else "X"
        rows.append(tagged(3, columns={column: {"tags": {"D.S.PII": {**TAG["D.S.PII"], "subOperationType": "DROP"}}}}))
        ended = [column]
    assert exports.export([exports.ndjson(rows, tmp_path / "rows.ndjson")], tmp_path / "out", "--outputs", "graph") == 0
    (told,) = (one for one in notes(load(tmp_path / "out"), "policy-coverage").split("\n") if "Earlier ones" in one)
    assert "ended when the tag was unset, dropped or replaced, or with the object or the column" in told
    assert re.findall(r"D\.S\.PII on D\.S\.A\.(\w) until", told) == ended


@pytest.mark.parametrize("renames", [{"objectName": {"value": "D.S.Z"}}, {"swapTargetName": {"value": "D.S.Z"}}])
def test_a_tag_that_a_rename_without_an_id_carries_on_is_not_told_to_have_ended(renames: Json, tmp_path: Path) -> None:
    own = {"objectDomain": "Table", "objectName": "D.S.A", "operationType": "ALTER"}
    rows = [
        {**tagged(1), "object_modified_by_ddl": {**own, "properties": {"tags": TAG}}},
        {**tagged(2), "object_modified_by_ddl": {**own, "properties": renames}},
    ]
    assert exports.export([exports.ndjson(rows, tmp_path / "rows.ndjson")], tmp_path / "out", "--outputs", "graph") == 0
    told = notes(load(tmp_path / "out"), "policy-coverage")
    assert "Earlier ones" not in told
    assert "the answer does not follow its data, tags, policies and grants" in told


@pytest.mark.parametrize("question", ["policy-coverage", "tag-history", "tag-reach", "unmasked-reads"])
@pytest.mark.parametrize("number", [None, 9])
def test_a_tag_or_policy_that_is_unset_without_its_id_is_told(
    number: int | None, question: str, tmp_path: Path
) -> None:
    """It may be the one that was set with its id: nothing else says so."""
    kind = "maskingPolicies" if question == "unmasked-reads" else "tags"

    def of_tag(sub_operation: str, number: int | None) -> Json:
        ident = {} if number is None else {"objectId": {"value": number}}
        return {"X": {kind: {"D.S.PII": {"subOperationType": sub_operation, **ident}}}}

    rows = [tagged(1, columns=of_tag("ADD", 9)), tagged(2, columns=of_tag("DROP", number))]
    assert exports.export([exports.ndjson(rows, tmp_path / "rows.ndjson")], tmp_path / "out", "--outputs", "graph") == 0
    params = {"column_name": "X"} if question in {"tag-history", "unmasked-reads"} else {}
    params |= {"object_name": "D.S.A"} if params else {}
    told = notes(load(tmp_path / "out"), question, **params)
    assert ("Some rows set or unset D.S.PII without an id, where other rows give the id" in told) == (number is None)


@pytest.mark.parametrize(
    "question", ["policy-coverage", "tag-history", "tag-reach", "unmasked-copies", "unmasked-reads"]
)
@pytest.mark.parametrize(("set_with", "changed_with"), [(None, 9), (9, None), (9, 9)])
@pytest.mark.parametrize("change", [{"operationType": "DROP"}, {"operationType": "REPLACE"}, "RENAME"])
def test_a_tag_or_policy_that_ends_in_another_form_than_it_was_set_is_told(
    change: Json | str, set_with: int | None, changed_with: int | None, question: str, tmp_path: Path
) -> None:
    """The documents give some statements on tags and policies with ids, and others without (examples 13, 17 and 18)."""
    is_mask = question in {"unmasked-reads", "unmasked-copies"}
    kind, domain = ("maskingPolicies", "Masking Policy") if is_mask else ("tags", "Tag")
    element = {"subOperationType": "ADD", **({"objectId": {"value": set_with}} if set_with else {})}
    own = {"objectDomain": domain, "objectName": "D.S.PII", **({"objectId": changed_with} if changed_with else {})}
    if isinstance(change, str):
        change = {"operationType": "ALTER", "properties": {"objectName": {"value": "D.S.NEW"}}}
    rows = [
        {**tagged(1), "object_modified_by_ddl": {**own, "objectId": 9, "operationType": "CREATE"}},
        tagged(2, columns={"X": {kind: {"D.S.PII": element}}}),
        {**tagged(3), "object_modified_by_ddl": {**own, **change}},
    ]
    assert exports.export([exports.ndjson(rows, tmp_path / "rows.ndjson")], tmp_path / "out", "--outputs", "graph") == 0
    store, word = load(tmp_path / "out"), "renamed" if "properties" in change else change["operationType"].lower()
    params = {"object_name": "D.S.A", "column_name": "X"} if question in {"tag-history", "unmasked-reads"} else {}
    about = "Rows name a tag or policy with its id and without: D.S.PII was "
    assert (f"{about}{word}" in notes(store, question, **params)) == (set_with != changed_with)
    if question == "policy-coverage":
        assert about not in notes(store, question, at="2026-03-02T12:00:00")


@pytest.mark.parametrize("again", [9, 10])
def test_a_tag_that_was_dropped_or_replaced_for_a_time_is_told(again: int, tmp_path: Path) -> None:
    """It is dropped, or another one takes its name and is dropped; then it is restored."""
    tag = {"D.S.PII": {"objectId": {"value": 9}, "subOperationType": "ADD", "tagValue": {"value": "x"}}}

    def of_tag(day: int, number: int, operation: str) -> Json:
        change = {"objectDomain": "Tag", "objectId": number, "objectName": "D.S.PII", "operationType": operation}
        return {**tagged(day), "object_modified_by_ddl": change}

    replaced = [of_tag(3, again, "CREATE")] if again != 9 else []
    rows = [tagged(1, columns={"X": {"tags": tag}}), *replaced, of_tag(4, again, "DROP"), of_tag(6, 9, "UNDROP")]
    assert exports.export([exports.ndjson(rows, tmp_path / "rows.ndjson")], tmp_path / "out", "--outputs", "graph") == 0
    told = notes(load(tmp_path / "out"), "policy-coverage", at="2026-03-05")
    assert "Dropped then, or on what was, and restored later: D.S.PII on D.S.A.X" in told


def test_a_note_on_one_of_two_objects_of_a_name_says_which(tmp_path: Path) -> None:
    """A was masked, was replaced for two days by another A, which never was, and came back."""
    masked = {**read(table(1, "A", "X")), "policies_referenced": [
        {**table(1, "A"), "columns": [{"columnName": "X", "policies": [
            {"policyName": "D.S.MASK", "policyId": 40, "policyKind": "MASKING_POLICY"}]}]}]}  # fmt: skip

    def ddl(number: int, operation: str) -> Json:
        return {"object_modified_by_ddl": {**table(number, "A"), "operationType": operation}}

    story = [masked, ddl(2, "REPLACE"), read(table(2, "A", "X")), ddl(2, "DROP"), ddl(1, "UNDROP"), masked]
    rows = [{**row, **{key: tagged(day)[key] for key in ("query_id", "query_start_time", "user_name")}}
            for day, row in enumerate(story, 1)]  # fmt: skip
    assert exports.export([exports.ndjson(rows, tmp_path / "rows.ndjson")], tmp_path / "out", "--outputs", "graph") == 0
    told = notes(load(tmp_path / "out"), "unmasked-reads", object_name="D.S.A")
    assert "No row shows a masking policy on a column of D.S.A (object_id=2)" in told
    assert "on a column of D.S.A," not in told


def test_a_stage(store: Store) -> None:
    assert "D.S.ST is a stage: rows name no columns" in notes(
        store, "column-readers", object_name="D.S.ST", column_name="X"
    )
    assert "outside of Snowflake" in notes(store, "when-accessed", object_id="3", domain="Stage")


def test_queries_that_were_cut_in_the_time_that_is_asked_for(store: Store) -> None:
    told = "1 query was cut by Snowflake (base_objects_accessed), so the answer may lack what it did; the first is q7."
    assert told in notes(store, "when-accessed", object_name="D.S.A")
    assert "cut by Snowflake" not in notes(store, "when-accessed", object_name="D.S.A", until="2026-03-07")
    assert "cut by Snowflake" not in notes(store, "tag-history", object_name="D.S.A", column_name="X")


@pytest.mark.parametrize("question", ["ancestors", "statements-of-request"])
def test_queries_whose_objects_were_cut(question: str, tmp_path: Path) -> None:
    cut = [{"objectDomain": "TRUNCATED", "objectId": -1, "objectName": "TRUNCATED"}]
    row = {**rows()[0], "direct_objects_accessed": cut, "parent_query_id": "q9", "root_query_id": "q9"}
    given = exports.ndjson([row], tmp_path / "rows.ndjson")
    assert exports.export([given], tmp_path / "out", "--outputs", "graph") == 0
    ident = {"query_id": "q9"} if question == "statements-of-request" else {}
    assert "cut by Snowflake (direct_objects_accessed)" in notes(load(tmp_path / "out"), question, **ident)


@pytest.mark.parametrize(
    ("question", "given", "is_lacking"),
    [
        *((name, {"object_name": "D.S.A", "column_name": "X"}, True) for name in ("tag-history", "unmasked-reads")),
        *((name, {}, True) for name in ("policy-coverage", "unmasked-copies", "agent-reads", "exposure", "tag-reach")),
        *((name, {"since": "2026-03-01T00:00:00Z"}, True) for name in ("changes",)),
        ("changes", {"since": "2026-03-03T00:00:00Z"}, False),
        ("policy-coverage", {"at": "2026-03-01T12:00:00Z"}, False),
        ("end-up", {"object_name": "D.S.A"}, True),
        ("who-accessed", {"object_name": "D.S.A"}, False),
    ],
)
def test_a_tag_or_policy_that_a_row_gives_in_an_unknown_form_is_told(
    question: str,
    given: dict[str, str],
    is_lacking: bool,  # noqa: FBT001 - a parameter of the test
    tmp_path: Path,
) -> None:
    """The elements of the lists have ids and no names; the query ran on 2 March."""
    of_id = [{"subOperationType": "ADD", "objectId": {"value": 9}}]
    few = [read(table(1, "A", "X")), set_on(table(1, "A"), columns={"X": {"tags": of_id, "maskingPolicies": of_id}})]
    told = notes(exported(daily(few), tmp_path), question, **given)
    assert ("1 query was not understood in full (object_modified_by_ddl" in told) == is_lacking
    assert ("the first is q2." in told) == is_lacking


def test_an_object_without_a_name_is_told(tmp_path: Path) -> None:
    store = exported(daily([read(table(1, "A", "X")), read({"objectDomain": "Table"})]), tmp_path)
    assert "1 query was not understood in full" in notes(store, "who-accessed", object_name="D.S.A")


def test_an_answer_that_lacks_nothing_has_no_notes(store: Store) -> None:
    assert notes(store, "writers", object_id="3", domain="Stage", until="2026-03-07") == ""


def test_filters_are_named_and_the_rows_of_an_answer_stay_as_they_are(
    out: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = exports.ndjson(rows(), tmp_path / "rows.ndjson")
    options = ("--outputs", "graph", "--account", "ACME-PROD", "--since", "2026-03-02")
    assert exports.export([given], tmp_path / "out", *options) == 0
    capsys.readouterr()
    query = ["query", "writers", "--param", "object_name=D.S.ST", "--format", "json", "--graph"]
    assert cli.main([*query, str(out)]) == 0
    whole = capsys.readouterr()
    assert cli.main([*query, str(tmp_path / "out")]) == 0
    fewer = capsys.readouterr()
    assert fewer.out == whole.out
    assert "The settings of this export leave out rows or objects: since 2026-03-02" in fewer.err
    assert "leave out" not in whole.err


def test_a_schema(store: Store) -> None:
    assert "D.S is a schema: rows tell reads and writes of the objects in it" in notes(
        store, "who-accessed", object_name="D.S", domain="Schema"
    )


def test_grants_of_which_no_row_tells(store: Store) -> None:
    told = notes(store, "exposure", object_name="D.S.CUT")
    assert "what roles may do, and what was granted before 2026-03-01T06:00:00Z, is not on record" in told


def test_a_column_that_never_had_a_tag(store: Store) -> None:
    assert "No row sets a tag on D.S.CUT.X: what was set before 2026-03-01T06:00:00Z" in notes(
        store, "tag-history", object_name="D.S.CUT", column_name="X"
    )


def test_an_empty_answer_has_the_period_of_the_record(out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Where nothing else is known of it; as on the pages."""
    said = "No row from 2026-03-01T06:00:00Z to 2026-03-07T06:00:00Z has what this question asks for."
    assert cli.main(["query", "masking-policies", "--graph", str(out)]) == 0
    assert said in capsys.readouterr().err
    assert cli.main(["query", "who-accessed", "--graph", str(out), "--param", "object_name=D.S.A"]) == 0
    assert said not in capsys.readouterr().err


FROM_OUTSIDE: Final[Json] = {"location": "s3://b/in"}
LOADED: Final[list[Json]] = [
    {
        "direct_objects_accessed": [FROM_OUTSIDE],
        "base_objects_accessed": [FROM_OUTSIDE],
        "objects_modified": [table(3, "T")],
    },
    {**read(table(3, "T")), "user_name": "BEN", "objects_modified": [{"location": "s3://b/out"}]},
]


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return exported(LOADED, tmp_path_factory.mktemp("loaded"))


@pytest.mark.parametrize(
    ("question", "url", "column", "cells"),
    [
        ("who-accessed", "s3://b/in", "user_name", ["ANA"]),
        ("when-accessed", "s3://b/in", "query_id", ["q1"]),
        ("downstream-users", "s3://b/in", "user_name", ["ANA", "BEN"]),
        ("end-up", "s3://b/in", "target_name", ["D.S.T", "s3://b/out"]),
        ("writers", "s3://b/out", "query_id", ["q2"]),
        ("root-cause", "s3://b/out", "source_object_name", []),
    ],
)
def test_a_location_is_asked_for_by_its_url(
    question: str, url: str, column: str, cells: list[str], loaded: Store
) -> None:
    """A row has its URL in the place of a name (view, "Usage notes": files of a location outside of Snowflake)."""
    column_name = {"column_name": "C"} if question == "root-cause" else {}
    found = ask(loaded, find(question), {"object_name": url, **column_name})
    assert [row[found.columns.index(column)] for row in found.rows] == cells
    assert not any("There is no object" in note for note in found.notes)


@pytest.mark.parametrize(
    ("question", "names"), [("sensitive-data-movement", ["s3://b/in"]), ("who-accessed", ["s3://b/in", "D.S.T"])]
)
def test_where_a_location_cannot_be_asked_for_the_answer_says_so(
    question: str, names: list[str], loaded: Store
) -> None:
    found = ask(loaded, find(question), {"object_name": names})
    assert any("A location outside of Snowflake has no name" in note for note in found.notes)
    assert not any("There is no object" in note for note in found.notes)


@pytest.mark.parametrize(("asked", "other"), [("F", "E"), ("E", "F")])
def test_the_other_name_of_a_renamed_column_is_told(asked: str, other: str, tmp_path: Path) -> None:
    renamed = {"E": {"subOperationType": {"value": "ALTER"}, "objectName": {"value": "F"}}}
    graph = exported([read(table(1, "A", "E")), set_on(table(1, "A"), columns=renamed)], tmp_path)
    told = notes(graph, "column-readers", object_name="D.S.A", column_name=asked)
    assert "The column E was renamed to F" in told
    assert f"Ask for column_name={other}, too." in told


def test_a_column_that_was_renamed_many_times_is_told_in_one_note(tmp_path: Path) -> None:
    """A new column with the first name is another one."""
    names = ["E", *(f"F{number}" for number in range(1, 8))]
    renames = [
        set_on(table(1, "A"), columns={old: {"subOperationType": {"value": "ALTER"}, "objectName": {"value": new}}})
        for old, new in pairwise(names)
    ]
    added = set_on(table(1, "A"), columns={"E": {"subOperationType": {"value": "ADD"}}})
    graph = exported([read(table(1, "A", "E")), *renames, added, read(table(1, "A", "E"))], tmp_path)
    told = notes(graph, "column-readers", object_name="D.S.A", column_name="E")
    assert told.count("was renamed to") == 4
    assert "The column E was renamed to F1, F1 was renamed to F2," in told
    assert "and 3 more, and reads count under the name of their time. Ask for column_name=F1" in told
    assert "Another column of the name was added since: E at 2026-03-09T06:00:00Z." in told


def daily(few: list[Json]) -> list[Json]:
    return [
        {"query_id": f"q{day}", "query_start_time": f"2026-03-{day:02}T06:00:00.000Z", "user_name": "ANA", **row}
        for day, row in enumerate(few, 1)
    ]


def exported(few: list[Json], folder: Path) -> Store:
    """The graph of these rows, one a day."""
    named = daily(few)
    assert exports.export([exports.ndjson(named, folder / "few.ndjson")], folder / "few", "--outputs", "graph") == 0
    return load(folder / "few" / "graph")


def test_statements_that_ran_others_are_named(tmp_path: Path) -> None:
    """q1 calls q2 and q3, and q2 calls q4."""
    parents = [None, "q1", "q1", "q2"]
    store = stories.told({"calls": [{**read(table(1, "A")), "parent_query_id": one} for one in parents]}, tmp_path)
    told = ask(store, find("statements-of-request"), {"query_id": "q1"})
    assert [row[0] for row in told.rows] == ["q2", "q3"]
    assert (
        "Some of these statements ran others, which the answer does not have: ask for the statements of q2, too."
    ) in told.notes
    assert not any("ran others" in note for note in ask(store, find("statements-of-request"), {"query_id": "q2"}).notes)
