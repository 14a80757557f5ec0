"""``tag-reach``: stories that the drawn histories hardly have, statements, and notes."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

import pytest

from exporter.ask import tag_sql
from exporter.ask.answers import Answer
from exporter.cli import main
from tests import exports

if TYPE_CHECKING:
    from pathlib import Path

Json = dict[str, Any]
TAG: Final = "D.S.PII"


def table(number: int, name: str, *columns: Json, domain: str = "Table") -> Json:
    return {"objectDomain": domain, "objectId": number, "objectName": name, "columns": list(columns)}


def row(number: int, **told: Any) -> Json:
    arrays: Json = {name: [] for name in ("direct_objects_accessed", "base_objects_accessed", "objects_modified")}
    own = {"query_id": f"q{number}", "query_start_time": f"2026-01-{number:02}T06:00:00Z", "user_name": "ETL"}
    return {**own, **arrays, **told}


def copied(number: int, source: Json, target: Json, read: str = "C", written: str = "C") -> Json:
    """A column of the source goes into one of the target."""
    shown = {key: source[key] for key in ("objectDomain", "objectId", "objectName")}
    from_it = {"directSources": [{**shown, "columnName": read}], "baseSources": [{**shown, "columnName": read}]}
    reads = [{**shown, "columns": [{"columnName": read}]}]
    writes = [{**target, "columns": [{"columnName": written, **from_it}]}]
    return row(number, direct_objects_accessed=reads, base_objects_accessed=reads, objects_modified=writes)


def changed(number: int, thing: Json, properties: Json, operation: str = "ALTER") -> Json:
    shown = {key: thing[key] for key in ("objectDomain", "objectId", "objectName")}
    return row(number, object_modified_by_ddl={**shown, "operationType": operation, "properties": properties})


def tags(value: str = "high", doing: str = "ADD", name: str = TAG) -> Json:
    return {"tags": {name: {"objectId": {"value": 9}, "subOperationType": doing, "tagValue": {"value": value}}}}


def tagged(number: int, thing: Json, column: str = "C", **told: str) -> Json:
    return changed(number, thing, {"columns": {column: tags(**told)}})


A, B, C = (table(number, f"D.S.{name}") for number, name in enumerate("ABC", start=1))


def asked(
    rows: list[Json], folder: Path, capsys: pytest.CaptureFixture[str], *options: str, reads: str = "full"
) -> tuple[str, str]:
    """What the command prints, and its notes."""
    given = exports.ndjson(rows, folder / "rows.ndjson")
    assert exports.export([given], folder / "out", "--outputs", "graph", "--reads", reads) == 0
    capsys.readouterr()
    assert main(["query", "tag-reach", str(folder / "out"), *options]) == 0
    printed = capsys.readouterr()
    return printed.out, printed.err


def cells(text: str) -> set[str]:
    """The targets of an answer in CSV."""
    return {".".join(line.split(",")[-2:]) for line in text.splitlines()[1:]}


STORIES: Final = {
    "a chain": ([copied(1, A, B), copied(2, B, C), tagged(3, A)], {"D.S.B.C", "D.S.C.C"}),
    "one has it": ([copied(1, A, B), copied(2, B, C), tagged(3, A), tagged(4, B, value="low")], {"D.S.C.C"}),
    "its table has it": ([copied(1, A, B), copied(2, B, C), tagged(3, A), changed(4, B, tags())], {"D.S.C.C"}),
    "taken away again": ([copied(1, A, B), tagged(2, A), tagged(3, A, doing="DROP")], set()),
    "of the table alone": ([copied(1, A, B), changed(2, A, tags())], set()),
    "copied before a rename": (
        [copied(1, A, B), changed(2, A, {"columns": {"C": {"objectName": {"value": "E"}}}}), tagged(3, A, "E")],
        {"D.S.B.C"},
    ),
    "tagged before a rename": (
        [tagged(1, A), copied(2, A, B), changed(3, A, {"columns": {"C": {"objectName": {"value": "E"}}}})],
        {"D.S.B.C"},
    ),
    "renamed three times": (
        [copied(1, A, B)]
        + [changed(n, A, {"columns": {"CEFG"[n - 2]: {"objectName": {"value": "CEFG"[n - 1]}}}}) for n in (2, 3, 4)]
        + [tagged(5, A, "G")],
        {"D.S.B.C"},
    ),
    "the copy renamed": (
        [tagged(1, A), copied(2, A, B), changed(3, B, {"columns": {"C": {"objectName": {"value": "E"}}}})],
        {"D.S.B.E"},
    ),
    "the copy's table renamed": ([tagged(1, A), copied(2, A, B), changed(3, B, {"objectName": {"value": "D.S.Z"}})],
                                 {"D.S.Z.C"}),
    "the copy dropped": ([tagged(1, A), copied(2, A, B), changed(3, B, {}, "DROP")], set()),
    "the column dropped": (
        [tagged(1, A), copied(2, A, B), changed(3, B, {"columns": {"C": {"subOperationType": "DROP"}}})], set(),
    ),
    "another in its place": (
        [tagged(1, A), copied(2, A, B), changed(3, table(7, "D.S.B"), {}, "CREATE")], set(),
    ),
    "not back to where it came from": ([copied(1, B, A), tagged(2, A)], set()),
}  # fmt: skip


@pytest.mark.parametrize("reads", ["full", "daily"])
@pytest.mark.parametrize("story", STORIES)
def test_a_story(story: str, reads: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows, expected = STORIES[story]
    assert cells(asked(rows, tmp_path, capsys, "--format", "csv", reads=reads)[0]) == expected


def test_at_a_time(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [tagged(1, A), copied(3, A, B), tagged(5, B), copied(7, B, C)]
    asked(rows, tmp_path, capsys)
    for at, expected in (("01-02", set()), ("01-04", {"D.S.B.C"}), ("01-06", set()), ("01-08", {"D.S.C.C"})):
        assert main(["query", "tag-reach", str(tmp_path / "out"), "--at", f"2026-{at}", "--format", "csv"]) == 0
        assert cells(capsys.readouterr().out) == expected


def test_what_a_clone_of_a_schema_brought_is_there_from_then_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Rows show the clone's table after the CLONE of day 3, and its column E, which has no source, too."""
    schema = {"objectDomain": "Schema", "objectId": 71, "objectName": "D2.S"}
    source = {"cloneSourceName": {"value": "D.S"}, "cloneSourceDomain": {"value": "Schema"}}
    brought, other = table(52, "D2.S.B"), table(8, "D.S.Z")
    rows = [
        copied(1, A, B), tagged(2, A), changed(3, schema, source, "CREATE"), copied(4, brought, other, "E", "E"),
        copied(5, brought, other), tagged(6, brought, "E"),
    ]  # fmt: skip
    asked(rows, tmp_path, capsys)
    for at, expected in (
        ("01-02T12:00", {"D.S.B.C"}), ("01-03T12:00", {"D.S.B.C", "D2.S.B.C"}),
        ("01-07", {"D.S.B.C", "D2.S.B.C", "D.S.Z.C", "D.S.Z.E"}),
    ):  # fmt: skip
        assert main(["query", "tag-reach", str(tmp_path / "out"), "--at", f"2026-{at}", "--format", "csv"]) == 0
        assert cells(capsys.readouterr().out) == expected


NO_ID_A, NO_ID_B = table(0, "D.S.A"), table(0, "D.S.B")
OF_NO_ID: Final[Json] = {"tags": {TAG: {key: value for key, value in tags()["tags"][TAG].items() if key != "objectId"}}}
OTHER_FORMS: Final = {
    "the copy is written by its name": (
        [tagged(1, A), tagged(2, B), copied(3, A, NO_ID_B)], "Some rows give no id of D.S.B, and others do",
    ),
    "the copy has the tag by its name": (
        [tagged(1, A), copied(2, A, B), changed(3, B, {"columns": {"C": OF_NO_ID}})],
        "in the other form than their source: D.S.PII on D.S.B, column C. The answer has them as without it",
    ),
    "the copy's table has the tag by its name": (
        [tagged(1, A), copied(2, A, B), changed(3, B, OF_NO_ID)],
        "in the other form than their source: D.S.PII on D.S.B, column C. The answer has them as without it",
    ),
    "the source has the tag by its name": (
        [changed(1, A, {"columns": {"C": OF_NO_ID}}), copied(2, A, B), tagged(3, B)],
        "in the other form than their source: D.S.PII on D.S.B, column C. The answer has them as without it",
    ),
    "the tagged column is dropped by the name of its table": (
        [tagged(1, A), copied(2, A, B), changed(3, NO_ID_A, {"columns": {"C": {"subOperationType": "DROP"}}})],
        "the column C of D.S.A was dropped (query q3, 2026-01-03T06:00:00Z). The answer does not count this",
    ),
}  # fmt: skip


@pytest.mark.parametrize("story", OTHER_FORMS)
def test_rows_that_give_no_id_are_told(story: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows, said = OTHER_FORMS[story]
    printed, notes = asked(rows, tmp_path, capsys, "--format", "csv")
    assert cells(printed) == {"D.S.B.C"}
    assert said in notes


def test_another_tag_of_the_copy_is_no_other_form(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = {"tags": {"D.S.OTHER": OF_NO_ID["tags"][TAG]}}
    rows = [tagged(1, A), copied(2, A, B), changed(3, B, {"columns": {"C": other}}), changed(4, C, OF_NO_ID)]
    assert "in the other form" not in asked(rows, tmp_path, capsys)[1]


def test_no_row_sets_a_tag(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "No row sets a tag on a column" in asked([copied(1, A, B)], tmp_path, capsys)[1]


def test_a_tag_is_set_on_objects_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = asked([copied(1, A, B), changed(2, A, tags())], tmp_path, capsys)[1]
    assert "set on objects as a whole" in said


def test_the_source_is_gone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """B has what A held, and no tag; the tag of A ended with A."""
    again = changed(3, table(7, "D.S.A"), {}, "REPLACE")
    said = asked([tagged(1, A), copied(2, A, B), again, tagged(4, table(7, "D.S.A"))], tmp_path, capsys)[1]
    assert "D.S.PII on D.S.A.C until 2026-01-03T06:00:00Z" in said


def test_the_source_is_dropped_at_the_time_and_restored_later(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [tagged(1, A), copied(2, A, B), changed(3, A, {}, "DROP"), changed(5, A, {}, "UNDROP")]
    printed, _ = asked(rows, tmp_path, capsys, "--format", "csv")
    assert cells(printed) == {"D.S.B.C"}
    assert main(["query", "tag-reach", str(tmp_path / "out"), "--at", "2026-01-04"]) == 0
    assert "restored later: D.S.PII on D.S.A.C" in capsys.readouterr().err


def test_a_clone_can_have_tags_that_no_row_sets(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = {"cloneSourceDomain": {"value": "Table"}, "cloneSourceId": {"value": 1},
              "cloneSourceName": {"value": "D.S.A"}}  # fmt: skip
    said = asked([tagged(1, A), changed(2, B, source, "CREATE")], tmp_path, capsys)[1]
    assert "D.S.B was made from D.S.A by CLONE or LIKE" in said
    assert "No row records which tags, policies and grants came with a CLONE or LIKE" in said


# --- statements -------------------------------------------------------------------------------------------------------


def test_the_statements_of_a_history(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    external = table(4, 'D.S."odd ""name"', domain="External table")
    view = table(5, "D.S.ORDER", domain="View")
    rows = [tagged(1, A, value="it's"), copied(2, A, external, written='"mixed Case"'), copied(3, A, view)]
    lines = asked(rows, tmp_path, capsys, "--sql")[0].splitlines()
    assert [line for line in lines if not line.startswith("--")] == [
        """ALTER EXTERNAL TABLE D.S."odd ""name" MODIFY COLUMN "mixed Case" SET TAG D.S.PII = 'it''s';""",
        """ALTER VIEW D.S."ORDER" MODIFY COLUMN C SET TAG D.S.PII = 'it''s';""",
    ]


def test_different_values_are_for_a_person_to_choose(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [tagged(1, A, value="high"), tagged(2, B, value="low"), copied(3, A, C), copied(4, B, C)]
    lines = asked(rows, tmp_path, capsys, "--sql")[0].splitlines()
    assert all(line.startswith("-- ") for line in lines)
    assert sum("ALTER TABLE D.S.C MODIFY COLUMN C SET TAG" in line for line in lines) == 2


COLUMNS: Final = (
    "source_object_name", "source_column_name", "tag_name", "value", "target_object_name", "target_column_name",
    "source_iri", "target_iri", "target_class_iri",
)  # fmt: skip
EVIL: Final = (
    "x'; DROP TABLE T; --", 'x"; DROP TABLE T; --', "x\nDROP TABLE T;", "x\r\nDROP TABLE T;", "x\u2028DROP TABLE T;",
    "x\\'; DROP TABLE T; --", "*/ DROP TABLE T; /*", "x\u202eDROP", "x\0y", "$$; DROP TABLE T; $$", "", '"', '""', "\\",
    'D.S."a\nDROP TABLE T;"', "x\U000e0041y", "x\tDROP",
)  # fmt: skip
_TOKEN: Final = re.compile(
    r"""'(?:[^'\\\n]|''|\\u[0-9a-f]{4}|\\[\\n])*'|"(?:[^"\n]|"")+"|[A-Z_][A-Z0-9_$]*|[.=;]|\ +"""
)


@pytest.mark.parametrize("place", range(6))
@pytest.mark.parametrize("text", EVIL)
def test_a_hostile_name_or_value_stays_what_it_is(text: str, place: int) -> None:
    """Each line is a comment, or one statement: read token by token, with the end of the statement at its end alone."""
    told = ["D.S.A", "C", TAG, "high", "D.S.B", "C", "i", "i", "https://w3id.org/access-history#Table"]
    for given in (text, f"D.S.{text}", f'D.S."{text}"'):
        told[place] = given
        for line in tag_sql.statements(Answer(COLUMNS, [tuple(told)])).split("\n"):
            assert not re.search(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202e]", line)
            if line and not line.startswith("-- "):
                found = _TOKEN.findall(line)
                assert "".join(found) == line
                assert [one for one in found if one == ";"] == [";"]
                assert found[-1] == ";"
                assert [one for one in found if one.isalpha()][:2] == ["ALTER", "TABLE"]


def test_a_value_reads_back_as_it_was() -> None:
    for text in EVIL:
        inner = tag_sql.literal(text)[1:-1].replace("''", "'")
        told = re.sub(r"\\(?:u([0-9a-f]{4})|(.))", lambda one: chr(int(one[1], 16)) if one[1] else
                      {"n": "\n", "\\": "\\"}[one[2]], inner)  # fmt: skip
        assert told.encode("utf-16", "surrogatepass").decode("utf-16") == text


def test_what_is_no_table_or_view_is_a_comment() -> None:
    told = ("D.S.A", "C", TAG, "high", "D.S.B", "C", "i", "i", "https://w3id.org/access-history#Stage")
    lines = tag_sql.statements(Answer(COLUMNS, [told])).splitlines()
    assert all(line.startswith("-- ") for line in lines)
    assert "is not a table or a view" in lines[-1]


def test_statements_are_for_this_question_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked([copied(1, A, B)], tmp_path, capsys)
    assert main(["query", "joins", str(tmp_path / "out"), "--sql"]) == 2
    assert main(["query", "tag-reach", str(tmp_path / "out"), "--sql", "--json"]) == 2


def test_the_history_of_a_tag_has_what_happened_at_one_time_in_the_order_in_which_it_is_applied(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Statements that start together are applied in the order of their ids (docs/graph.md)."""
    rows = [tagged(1, A, value="b"), {**tagged(1, A, value="a"), "query_id": "q2"}]
    rows += [{**tagged(2, A), "query_id": "q3"}, {**tagged(2, A, doing="DROP"), "query_id": "q4"}]
    given = exports.ndjson(rows, tmp_path / "rows.ndjson")
    assert exports.export([given], tmp_path / "out", "--outputs", "graph") == 0
    capsys.readouterr()
    query = ["query", "tag-history", str(tmp_path / "out"), "--object-name", "D.S.A", "--column-name", "C", "--json"]
    assert main(query) == 0
    told = [(row["operation"], row["value"]) for row in json.loads(capsys.readouterr().out)]
    assert told == [("ADD", "b"), ("ADD", "a"), ("ADD", "high"), ("DROP", "high")]
