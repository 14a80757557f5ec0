"""``$SYS_VIEW_<number>``: the stream that the row reads, where only one is possible; never an object."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import pytest

from exporter.model.fact_tables import rows_of
from tests import exports
from tests.model.told import Json, facts_of, row

if TYPE_CHECKING:
    from pathlib import Path

STREAM: Final[Json] = {"objectDomain": "Stream", "objectId": 31, "objectName": "D.S.ST"}
OTHER: Final[Json] = {"objectDomain": "STREAM", "objectId": 32, "objectName": "D.S.ST2"}
TABLE: Final[Json] = {"objectDomain": "Table", "objectId": 5, "objectName": "D.S.T"}
TARGET: Final[Json] = {"objectDomain": "Table", "objectId": 9, "objectName": "D.S.COPY"}
SENTINEL: Final[Json] = {"objectDomain": "TRUNCATED", "objectId": -1, "objectName": "TRUNCATED"}
UNKNOWN: Final = ("objects_modified UNKNOWN_STREAM",)


def view(column: str = "ID", name: str = "$SYS_VIEW_1105") -> Json:
    return {"objectName": name, "columnName": column}


def read(thing: Json, *columns: str) -> Json:
    return {**thing, "columns": [{"columnName": name} for name in columns]}


def written(*direct: Json, base: list[Json] | None = None) -> list[Json]:
    sources = {"directSources": list(direct), "baseSources": base or [{**TABLE, "columnName": "ID"}]}
    return [{**TARGET, "columns": [{"columnName": "ID", **sources}]}]


def told(**columns: Any) -> tuple[set[tuple[str, str, str | None]], tuple[str, ...]]:
    """Kind of source, source and its column of each derivation; and what is incomplete."""
    content = facts_of(row(base_objects_accessed=[TABLE], **columns)).content
    found = {(one.source_type, one.source.key, one.source_column) for one in content.derivations}
    return found, content.incomplete


@pytest.mark.parametrize(
    "name",
    ["$SYS_VIEW_1105", "$sys_view_1105", '"$SYS_VIEW_1105"', '"$Sys_View_1"', 'D.S."$SYS_VIEW_1"', "D.S.$SYS_VIEW_1"],
)
@pytest.mark.parametrize("domain", [None, "View", "Stream", "Table"])
@pytest.mark.parametrize("number", [None, 0, -1])
def test_the_only_stream_that_a_row_reads_is_the_source(name: str, domain: str | None, number: int | None) -> None:
    source = {**view(name=name), "objectDomain": domain, "objectId": number}
    found = told(direct_objects_accessed=[STREAM, TABLE], objects_modified=written(source, base=[source]))
    assert found == ({("DIRECT", "stream/31", "ID"), ("BASE", "stream/31", "ID")}, ())


@pytest.mark.parametrize(
    ("direct", "is_known"),
    [
        ([], False), ([TABLE], False), ([STREAM, STREAM], True), ([STREAM, OTHER], False),
        ([{"objectDomain": "Stream", "objectName": "D.S.ST"}], True),
        ([STREAM, None], False), ([STREAM, SENTINEL], False),
        ([STREAM, view()], True), ([STREAM, {"locations": ["s3://a"]}], True),
    ],
)  # fmt: skip
def test_which_stream_it_is_has_to_be_certain(direct: list[Json], is_known: bool) -> None:  # noqa: FBT001 - a parameter
    found, incomplete = told(direct_objects_accessed=direct, objects_modified=written(view()))
    assert {one for one in found if one[0] == "BASE"} == {("BASE", "table/5", "ID")}
    assert len(found) == 1 + is_known
    assert (UNKNOWN[0] in incomplete) is not is_known
    if is_known:
        assert next(key for kind, key, _ in found if kind == "DIRECT") in {"stream/31", "stream/name/D.S.ST"}


@pytest.mark.parametrize(
    ("columns", "sources", "expected"),
    [
        ((["ID"], ["NO"]), [view("ID")], {"stream/31"}),
        ((["ID"], ["NO"]), [view("NO")], {"stream/32"}),
        ((["ID", "NO"], ["NO"]), [view("NO")], set()),
        # What is named of one system view belongs to one stream, so the column that decides is enough.
        ((["ID", "NO"], ["NO"]), [view("NO"), view("ID")], {"stream/31"}),
        ((["ID", "NO"], ["NO"]), [view("NO", "$SYS_VIEW_1"), view("ID", "$SYS_VIEW_2")], {"stream/31"}),
        (([], ["NO"]), [view("NO")], set()),
        ((["A"], ["B"]), [view("ID")], set()),
    ],
)  # fmt: skip
def test_of_several_streams_the_columns_decide(
    columns: tuple[list[str], list[str]], sources: list[Json], expected: set[str]
) -> None:
    direct = [read(STREAM, *columns[0]), read(OTHER, *columns[1])]
    found, _ = told(direct_objects_accessed=direct, objects_modified=written(*sources))
    assert {key for kind, key, _ in found if kind == "DIRECT"} == expected


@pytest.mark.parametrize("array", ["direct", "base", "provider_base"])
def test_a_system_view_that_is_read_is_the_stream(array: str) -> None:
    name = f"{array}_objects_accessed"
    direct = {"direct_objects_accessed": [STREAM]}
    one = {**direct, name: [*(direct.get(name) or []), read({"objectName": "$SYS_VIEW_3"}, "ID")]}
    content = facts_of(row(**one)).content
    assert [column.name for one in content.accesses for column in one.columns] == ["ID"]
    by_provider = {"stream/31@provider"} if array == "provider_base" else set[str]()
    assert {one.thing.key for one in content.accesses} == {"stream/31", *by_provider}
    alone = facts_of(row(**{name: [{"objectName": "$SYS_VIEW_3"}]})).content
    assert (alone.accesses, alone.incomplete) == ((), (f"{name} UNKNOWN_STREAM",))


def test_what_is_written_or_changed_is_never_the_stream() -> None:
    system = {"objectDomain": "View", "objectName": "$SYS_VIEW_3"}
    content = facts_of(
        row(
            direct_objects_accessed=[STREAM],
            objects_modified=[{**system, "columns": [{"columnName": "A", "directSources": [view()]}]}],
            object_modified_by_ddl={**system, "operationType": "CREATE"},
        )
    ).content
    assert (content.writes, content.derivations, content.changes) == ((), (), ())
    assert content.incomplete == ("object_modified_by_ddl UNKNOWN_STREAM", *UNKNOWN)


def test_policies_and_joins_are_of_the_stream() -> None:
    policy = {"policyName": "D.S.P", "policyKind": "MASKING_POLICY", "policyId": 7}
    guarded = {"objectName": "$SYS_VIEW_3", "columns": [{"columnName": "ID", "policies": [policy]}]}
    joined = {**TABLE, "joinObjects": [{"joinType": "INNER_JOIN", "node": {"objectName": "$SYS_VIEW_3"}}]}
    content = facts_of(row(direct_objects_accessed=[STREAM, joined], policies_referenced=[guarded])).content
    assert [one.protected.key for one in content.policies] == ["stream/31"]
    assert [(one.left.key, one.right.key) for one in content.joins] == [("table/5", "stream/31")]


def test_an_object_with_an_id_is_an_object() -> None:
    content = facts_of(row(direct_objects_accessed=[{**TABLE, "objectName": 'D.S."$SYS_VIEW_3"'}])).content
    assert [(one.thing.key, one.thing.name) for one in content.accesses] == [("table/5", 'D.S."$SYS_VIEW_3"')]


def test_no_fact_has_the_name_of_a_system_view() -> None:
    facts = facts_of(row(direct_objects_accessed=[view(), STREAM, OTHER], objects_modified=written(view())))
    assert "SYS_VIEW" not in str(list(rows_of(facts))).upper()


def test_streams_in_an_export(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Events and graph have the stream, or nothing; users named like a part of the system view do not matter."""
    good = {"query_start_time": "2026-03-01 08:00:00.000 +0000", "user_name": "SYS", "base_objects_accessed": [TABLE]}
    given = [
        {**good, "query_id": "q1", "direct_objects_accessed": [STREAM], "objects_modified": written(view())},
        {**good, "query_id": "q2", "direct_objects_accessed": [STREAM, OTHER], "objects_modified": written(view())},
        {**good, "query_id": "q3", "user_name": "VIEW_1105", "direct_objects_accessed": [STREAM]},
    ]
    rows, key = exports.ndjson(given, tmp_path / "rows.ndjson"), tmp_path / "key"
    key.write_text("correct horse battery staple of 40 characters", encoding="utf-8")
    for options in ((), ("--reads", "daily"), ("--pseudonyms", str(key)), ("--update",)):
        out = tmp_path / "-".join(("out", *options[:1]))
        assert exports.export([rows], out, *options) == 0
        assert "1 with a stream that the row does not name" in capsys.readouterr().out
        assert exports.report(out)["unknown_streams"] == 1
        triples, events = exports.triples(out), exports.events(out)
        assert "SYS_VIEW" not in f"{triples}{events}"
        places = {subject for subject, term, _ in triples if term.endswith("#incomplete>")}
        assert {one.rpartition("/")[2] for one in places} == {"q2>"}
        fields = [one for line in events for one in json.loads(line).get("outputs", [])]
        sources = {(field["namespace"], field["name"]) for one in fields
                   for column in one["facets"].get("columnLineage", {}).get("fields", {}).values()
                   for field in column["inputFields"]}  # fmt: skip
        assert {name for _, name in sources} == {"D.S.ST", "D.S.T"}
