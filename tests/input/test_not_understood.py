"""What this version does not know is exported as far as it is understood, kept, and counted by name."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import pytest

from exporter.cli import main
from exporter.input import properties, reading
from exporter.model import incomplete as unknown
from exporter.pipeline.outcome import MOST, OTHERS, Unknown
from tests import exports, golden
from tests.histories import FORMS, write_form
from tests.pages import sections, spans, table, text

if TYPE_CHECKING:
    from pathlib import Path

Json = dict[str, Any]
TABLE: Final = {"objectDomain": "Table", "objectId": 5, "objectName": "D.S.T"}
POLICY: Final = {"policyName": "D.S.P", "policyId": 7, "policyKind": "ROW_ACCESS_POLICY"}


def row(number: int = 1, **columns: Any) -> Json:
    return {"query_id": f"q{number}", "query_start_time": "2026-03-01T08:00:00Z", "user_name": "JSMITH", **columns}


def ddl(operation: str = "ALTER", given: Any = None, **also: Any) -> Json:
    return row(object_modified_by_ddl={**TABLE, "operationType": operation, "properties": given or {}, **also})


def export(rows: list[Json], folder: Path, *options: str, form: str = "ndjson", code: int = 0) -> Json:
    """The report of an export of the rows to ``folder``/out."""
    source = str(write_form(rows, folder / "in", form))
    given = [source, "--account", "A-B", "--out", str(folder / "out"), "--engine", "local"]
    assert main(["export", *given, *options]) == code
    return json.loads((folder / "out" / "report.json").read_text(encoding="utf-8"))


def objects(folder: Path, term: str) -> list[str]:
    triples = golden.triples((folder / "out" / "graph").rglob("*.ttl"))
    return sorted(
        json.loads(value) for _, name, value in triples if name == f"<https://w3id.org/access-history#{term}>"
    )


@pytest.mark.parametrize(
    ("one", "what"),
    [
        (row(new_column=[1]), "column new_column"),
        (row(new_column="x"), "column new_column"),
        (row(NEW_COLUMN=0), "column new_column"),
        (ddl("MUTATE"), "operation MUTATE"),
        (row(direct_objects_accessed=[{**TABLE, "objectDomain": "Hologram"}]), "domain HOLOGRAM"),
        (ddl(objectDomain="Hologram"), "domain HOLOGRAM"),
        (ddl(given={"swapTargetDomain": "Hologram", "swapTargetId": 7}), "domain HOLOGRAM"),
        (row(event_source="carrier_pigeon"), "event_source carrier_pigeon"),
        (ddl(given={"columns": [{"subOperationType": "ADD"}]}), "property columns[].objectName"),
        (ddl(given={"futureThing": {"value": 1}}), "property futureThing"),
        (ddl(given={"comment": {"subOperationType": "UNSET"}}), "property comment"),
        (ddl(given={"columns": {"A": {"objectName": ["B"]}}}), "property columns[].objectName"),
        (row(direct_objects_accessed=[{**TABLE, "newKey": 1}]), "property direct_objects_accessed[].newKey"),
        (row(direct_objects_accessed=[{**TABLE, "policies": [5]}]), "property direct_objects_accessed[].policies"),
        (row(agents_info=[{"agentType": "CORTEX_AGENT", "newKey": 1}]), "property agents_info[].newKey"),
        (ddl(given={"objectName": {"value": "NEW"}}), "property objectName"),
        (ddl(given={"objectName": {"value": None}}), "property objectName"),
        (ddl(given={"objectName": 5}), "property objectName"),
        (ddl(given={"columns": {"A": {"objectName": 5}}}), "property columns[].objectName"),
        (ddl(given={"tags": {"D.S.G": {"subOperationType": "ADD", "tagValue": ["a"]}}}), "property tags[].tagValue"),
        (ddl(given={"tags": {"D.S.G": {"tagValue": "a"}}}), "property tags[].subOperationType"),
        (ddl(given=[{"objectName": "columns", "value": [{"objectName": "X", "subOperationType": "ADD"}]}]),
         "property [].objectName"),
        (ddl(given={"columns": {"A": {"objectId": 5}}}), "property columns[].subOperationType"),
        (ddl(given={"columns": [{"objectName": "A"}, {"objectName": "B", "subOperationType": "ADD"}]}),
         "property columns[].subOperationType"),
        (ddl(given={"columns": {"A": {"objectId": "x", "subOperationType": "ADD"}}}), "property columns[].objectId"),
        (ddl(given={"swapTargetName": 5, "swapTargetDomain": "Table"}), "property swapTargetName"),
        (ddl(given={"swapTargetId": True, "swapTargetDomain": "Table"}), "property swapTargetId"),
        (ddl(given={"cloneSourceName": 5}), "property cloneSourceName"),
        (ddl(given={"comment": 5}), "property comment"),
        (ddl(objectDomain="Share", given={"accountsToSet": {"A": {"B": 1}}}), "property accountsToSet"),
        (ddl(objectDomain="Share", given={"accountsToAdd": ["A.B", 5]}), "property accountsToAdd"),
        (ddl(objectDomain="Share", given={"accountsToAdd": ["A.B", ""]}), "property accountsToAdd"),
        (ddl(objectDomain="Share", given={"accountsToRemove": {"value": [" "]}}), "property accountsToRemove"),
        (ddl(objectDomain="Share", given={"accountsToSet": ""}), "property accountsToSet"),
        (ddl(objectDomain="Share", given={"accountsToAdd": {"value": "A, B"}}), "property accountsToAdd"),
        (ddl(objectDomain="Share", given={"accountsToRemove": "A,TRUNCATED"}), "property accountsToRemove"),
        (ddl("GRANT", objectDomain="Share", given={"grant": "SELECT ON D.S.T"}), "property grant"),
        (ddl("GRANT", objectDomain="Share", given={"grant": {"value": ["SELECT", "D.S.T"]}}), "property grant"),
        (ddl("REVOKE", objectDomain="Share", given={"revoke": {"PRIVILEGES": ["SELECT"]}}), "property revoke"),
        (ddl("GRANT", objectDomain="Share", given={"grant": {"ROLES": "D.R", "NEW": 1}}), "property grant.NEW"),
        (ddl("GRANT", objectDomain="Share", given={"grant": {"ROLES": ["D.R", 5]}}), "property grant.ROLES"),
        (ddl("GRANT", objectDomain="Share"), "property grant"),
        (ddl("REVOKE", objectDomain="Share", given={"revoke": {}}), "property revoke"),
        (ddl("REVOKE", objectDomain="Share", given={"revoke": [{"ROLES": "D.R"}, {"PRIVILEGES": "SELECT"}]}),
         "property revoke"),
        (ddl(newKey=1), "property object_modified_by_ddl.newKey"),
        (row(direct_objects_accessed=[{"objectId": "x"}]), "property direct_objects_accessed[].objectId"),
        (row(direct_objects_accessed=[{"objectId": 7}]), "property direct_objects_accessed[].objectId"),
        (row(direct_objects_accessed=[{**TABLE, "objectId": "x"}]), "property direct_objects_accessed[].objectId"),
        (row(objects_modified=[{**TABLE, "objectId": True}]), "property objects_modified[].objectId"),
        (row(base_objects_accessed=[{**TABLE, "objectId": {"value": 1}}]), "property base_objects_accessed[].objectId"),
        (row(policies_referenced=[{**TABLE, "objectId": -5, "policies": [POLICY]}]),
         "property policies_referenced[].objectId"),
        *((row(**{place: [{**TABLE, **given}]}), f"property {place}[].{path}")
          for place in ("policies_referenced", "provider_policies_referenced")
          for given, path in (
              ({}, "policies"),
              ({"policies": []}, "policies"),
              ({"columns": [{"columnName": "A"}, {"columnName": "B", "policies": []}]}, "policies"),
              ({"columns": [{"columnName": "A"}, {"columnName": "B", "policies": [POLICY]}]}, "columns[].policies"),
          )),
        (row(objects_modified=[{**TABLE, "columns": [{"columnName": "A", "baseSources": [
            {"objectDomain": "Table", "objectName": "D.S.U", "objectId": "x", "columnName": "B"}]}]}]),
         "property objects_modified[].objectId"),
        (row(policies_referenced=[{**TABLE, "columns": [{"columnName": "A", "policies": [
            {"policyName": "D.S.P", "policyId": "x", "policyKind": "MASKING_POLICY"}]}]}]),
         "property policies_referenced[].columns[].policies[].policyId"),
        (ddl(objectId="x"), "property object_modified_by_ddl.objectId"),
        (ddl("DROP", objectName=None, objectId=None), "property object_modified_by_ddl.objectName"),
        (ddl("DROP", objectName="", objectId=-1, objectDomain="TAG"), "property object_modified_by_ddl.objectName"),
        (ddl(operationType=None), "property object_modified_by_ddl.operationType"),
        *((row(**{place: [{**TABLE, "columns": [{"columnName": "A", "policies": [{"policyKind": "JOIN_POLICY"}]}]}]}),
           f"property {place}[].columns[].policies[].policyName")
          for place in ("policies_referenced", "provider_policies_referenced")),
        (row(policies_referenced=[{**TABLE, "policies": [{"policyKind": "JOIN_POLICY", "policyId": 0}]}]),
         "property policies_referenced[].policies[].policyName"),
    ],
)  # fmt: skip
def test_it_is_counted_with_an_example_and_exported(
    one: Json, what: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = export([row(7), one, {**one, "query_id": "q2"}], tmp_path)
    place = f"{tmp_path / 'in' / 'rows.ndjson'}, line 2"
    assert report["not_understood"] == {what: {"count": 2, "example": place}}
    assert report["exported"] == 3
    assert f"not understood: {what} (2)" in capsys.readouterr().out


@pytest.mark.parametrize(
    "ident", [None, 0, -1, 0.0, "0", "-1", "", " ", "TRUNCATED", 7, "7", "007", 7.0, 32998411400350]
)
def test_numbers_and_no_id_are_understood(ident: Any, tmp_path: Path) -> None:
    """docs/input.md, "How a name or an id becomes a key"."""
    report = export([row(direct_objects_accessed=[{**TABLE, "objectId": ident}])], tmp_path)
    assert report["not_understood"] == {}


def test_ids_of_doubles_are_those_of_whole_numbers(tmp_path: Path) -> None:
    """Tools with types make doubles of numbers where some are missing."""
    rows = []
    for number in (7, 7.0):
        columns = [{"columnName": "A", "columnId": number}, {"columnName": "B", "columnId": number - 7}]
        policies = {"maskingPolicies": {"G.P.M": {"subOperationType": "ADD", "objectId": {"value": number}}}}
        change = {**TABLE, "operationType": "ALTER", "properties": {"columns": {"A": policies}}}
        rows.append(row(direct_objects_accessed=[{**TABLE, "columns": columns}], object_modified_by_ddl=change))
    report = export(rows, tmp_path)
    assert report["not_understood"] == {}
    ids = {value for _, name, value in exports.triples(tmp_path / "out") if name.endswith("#columnId>")}
    assert ids == {'"7"'}


def test_the_name_of_a_user_is_the_id_of_a_stage(tmp_path: Path) -> None:
    """Source: view, "objectId"."""
    stage = {"objectDomain": "Stage", "objectId": "JSMITH", "stageKind": "User"}
    assert export([row(direct_objects_accessed=[stage])], tmp_path)["not_understood"] == {}


AGENT: Final = {"agentType": "CORTEX_AGENT", "agentName": "D.S.BOT", "agentId": 4}
CONTRADICTED: Final = [
    ("query_start_time", "2026-03-01T08:00:00Z", "2026-03-02T12:00:00Z", '"2026-03-02T12:00:00.000000Z"'),
    ("parent_query_id", "p1", "p2", '"p2"'),
    ("root_query_id", "p1", "p2", '"p2"'),
    ("event_source", "horizon_irc", "snowflake_sql", '"snowflake_sql"'),
    ("account_locator", "AB1", "CD2", '"CD2"'),
    ("additional_properties", {"a": 1}, {"a": 2}, '{"a":2}'),
    ("invoker_identity", {"a": 1}, {"a": 2}, '{"a":2}'),
    ("agents_info", [AGENT | {"agentId": 5}], [AGENT],
     '[{"agentType":"CORTEX_AGENT","agentId":"4","agentName":"D.S.BOT"}]'),
]  # fmt: skip
"""A column that a query has once, the value that counts, another one, and how that is kept."""


@pytest.mark.parametrize(("column", "counts", "other", "kept"), CONTRADICTED)
@pytest.mark.parametrize("is_first", [True, False])
def test_a_value_that_another_row_of_the_query_contradicts_is_kept_and_counted(
    column: str, counts: Any, other: Any, kept: str, *, is_first: bool, tmp_path: Path
) -> None:
    """docs/input.md, "Duplicates". A third row, which does not give the column, contradicts nothing."""
    given = row(direct_objects_accessed=[TABLE])
    rows = [{**given, column: counts}, {**given, column: other}]
    if column != "query_start_time":
        rows.append(row(base_objects_accessed=[TABLE]))
    report = export(rows if is_first else rows[::-1], tmp_path)
    assert set(report["not_understood"]) == {f"contradicted {column}"}
    assert report["exported"] == len(rows)
    assert objects(tmp_path, "unknownColumns") == [f'{{"{column}":{kept}}}']


def test_a_contradiction_is_counted_by_the_run_that_reads_the_row(tmp_path: Path) -> None:
    one = row(direct_objects_accessed=[TABLE])
    example = f"{tmp_path / 'in' / 'rows.ndjson'}, line 1"
    for given in ([one], [{**one, "parent_query_id": "p2"}]):
        assert export(given, tmp_path, "--update")["not_understood"] == {}
    report = export([{**one, "parent_query_id": "p1"}], tmp_path, "--update")
    assert report["not_understood"] == {"contradicted parent_query_id": {"count": 1, "example": example}}
    assert export([row(9)], tmp_path, "--update")["not_understood"] == {}, "the day is made again"
    assert objects(tmp_path, "unknownColumns") == ['{"parent_query_id":"p2"}']


def test_strict_is_exit_1(tmp_path: Path) -> None:
    export([row(new_column=1)], tmp_path / "one", "--strict", code=1)
    assert export([row()], tmp_path / "other", "--strict")["not_understood"] == {}


@pytest.mark.parametrize("nothing", [None, "", [], {}])
def test_an_unknown_column_without_content_says_nothing(nothing: Any, tmp_path: Path) -> None:
    assert export([row(new_column=nothing)], tmp_path)["not_understood"] == {}


@pytest.mark.parametrize("form", FORMS)
def test_unknown_columns_are_kept_the_same_from_every_format(form: str, tmp_path: Path) -> None:
    rows = [row(new_column='{"a":[1,2.50]}', second="x"), row(2, new_column=None, second=None)]
    report = export(rows, tmp_path, form=form)
    assert {what: one["count"] for what, one in report["not_understood"].items()} == {
        "column new_column": 1,
        "column second": 1,
    }
    assert objects(tmp_path, "unknownColumns") == ['{"new_column":{"a":[1,2.50]},"second":"x"}']


SOURCE: Final = {"objectDomain": "Table", "objectId": 6, "columnName": "B"}
DEEP: Final = row(
    base_objects_accessed=[
        {**TABLE, "columns": [{"columnName": "A", "newKey": 2.5}, {"columnName": "B", "newKey": "x"}]}
    ],
    objects_modified=[{**TABLE, "columns": [{"columnName": "A", "directSources": [{**SOURCE, "newKey": {"a": [1]}}]}]}],
    policies_referenced=[
        {
            **TABLE,
            "policies": [{"policyName": "D.S.P", "policyKind": "MASKING_POLICY", "newKey": ["ü"]}],
            "newKey": None,
        }
    ],
)
KEPT: Final = {
    "base_objects_accessed[].columns[].newKey": '["x",2.5]',
    "objects_modified[].columns[].directSources[].newKey": '[{"a":[1]}]',
    "policies_referenced[].policies[].newKey": '[["ü"]]',
}


@pytest.mark.parametrize("form", [one for one in FORMS if one != "parquet-native"])
def test_unknown_keys_at_any_depth_are_kept_the_same_from_every_format(form: str, tmp_path: Path) -> None:
    report = export([DEEP], tmp_path, form=form)
    assert {what: one["count"] for what, one in report["not_understood"].items()} == {
        f"property {path}": 1 for path in KEPT
    }
    assert objects(tmp_path, "unknownColumns") == ["{" + ",".join(f'"{path}":{of}' for path, of in KEPT.items()) + "}"]


@pytest.mark.parametrize(("usual", "written"), [('"', "'"), ('": ', '" : ')])
def test_unknown_keys_of_lines_that_other_tools_wrote_are_told(usual: str, written: str, tmp_path: Path) -> None:
    line = json.dumps(DEEP, ensure_ascii=False).replace(usual, written)
    (tmp_path / "rows.ndjson").write_text(line, encoding="utf-8")
    given = [str(tmp_path / "rows.ndjson"), "--account", "A-B", "--out", str(tmp_path / "out"), "--engine", "local"]
    assert main(["export", *given, "--strict"]) == 1
    report = json.loads((tmp_path / "out" / "report.json").read_text(encoding="utf-8"))
    assert set(report["not_understood"]) == {f"property {path}" for path in KEPT}
    assert objects(tmp_path, "unknownColumns") == ["{" + ",".join(f'"{path}":{of}' for path, of in KEPT.items()) + "}"]


@pytest.mark.parametrize("secret", ["SECRET.S.T", {"name": "SECRET.S.T"}])
def test_unknown_keys_that_name_what_a_filter_leaves_out_are_not_kept(secret: Any, tmp_path: Path) -> None:
    config = tmp_path / "settings.toml"
    config.write_text('[filter]\ndeny_databases = ["SECRET"]\n', encoding="utf-8")
    out = {**TABLE, "objectId": 8, "objectName": "SECRET.S.U", "newKey": "note on it"}
    rows = [
        row(1, direct_objects_accessed=[{**TABLE, "newKey": secret}]),
        row(2, direct_objects_accessed=[{**TABLE, "newKey": "kept"}, out]),
        row(3, direct_objects_accessed=[{**TABLE, "newKey": "kept"}]),
    ]
    export(rows, tmp_path, "--config", str(config))
    assert objects(tmp_path, "unknownColumns") == ['{"direct_objects_accessed[].newKey":["kept"]}']
    for file in (tmp_path / "out" / "graph").rglob("*.ttl"):
        assert "SECRET" not in file.read_text("utf-8")
        assert "note on it" not in file.read_text("utf-8")


def test_a_change_that_a_filter_leaves_out_is_not_counted(tmp_path: Path) -> None:
    settings = tmp_path / "settings.toml"
    settings.write_text('[filter]\ndeny_schemas = ["D.S"]\n', encoding="utf-8")
    kept = {**TABLE, "objectName": "D.KEPT.T"}
    one = {**ddl("DROP"), "direct_objects_accessed": [kept], "base_objects_accessed": [kept]}
    report = export([one], tmp_path, "--config", str(settings), "--strict")
    assert (report["exported"], report["not_understood"]) == (1, {})


def test_policies_that_a_filter_leaves_out_are_not_missed_in_the_row(tmp_path: Path) -> None:
    settings = tmp_path / "settings.toml"
    settings.write_text('[filter]\ndeny_schemas = ["D.S"]\n', encoding="utf-8")
    kept = {**TABLE, "objectName": "D.KEPT.T"}
    guarded = [{**kept, "policies": [POLICY]}, {**kept, "columns": [{"columnName": "A", "policies": [POLICY]}]}]
    one = row(direct_objects_accessed=[kept], policies_referenced=guarded)
    report = export([one], tmp_path, "--config", str(settings), "--strict")
    assert (report["exported"], report["not_understood"]) == (1, {})
    assert objects(tmp_path, "incomplete") == ["policies_referenced UNNAMED"]


def test_a_column_with_sql_text_is_told_where_a_filter_removes_an_object(tmp_path: Path) -> None:
    config = tmp_path / "settings.toml"
    config.write_text('[filter]\ndeny_databases = ["SECRET"]\n', encoding="utf-8")
    both = [TABLE, {**TABLE, "objectId": 8, "objectName": "SECRET.S.U"}]
    report = export([row(direct_objects_accessed=both, query_text="SELECT 1")], tmp_path, "--config", str(config))
    assert (report["exported"], set(report["not_understood"])) == (1, {"column query_text"})
    assert objects(tmp_path, "unknownColumns") == ['{"query_text":null}']


def test_unknown_keys_are_kept_with_pseudonyms_also_of_user_stages(tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_bytes(b"0123456789abcdef")
    key.chmod(0o600)
    stage = {"objectDomain": "Stage", "stageKind": "User", "objectId": 9, "newKey": "of JSMITH"}
    report = export([row(direct_objects_accessed=[stage])], tmp_path, "--pseudonyms", str(key))
    assert "property direct_objects_accessed[].newKey" in report["not_understood"]
    (kept,) = objects(tmp_path, "unknownColumns")
    assert "JSMITH" not in kept
    assert json.loads(kept)["direct_objects_accessed[].newKey"][0].startswith("of ")


def test_what_is_not_understood_is_still_exported(tmp_path: Path) -> None:
    changed = ddl(
        "MUTATE", {"columns": [{"objectName": "A", "subOperationType": "ADD", "new": 1}, {"x": 1}], "tags": 5}
    )
    export([changed], tmp_path)
    assert objects(tmp_path, "operation") == ["MUTATE"]
    assert objects(tmp_path, "properties") == [
        json.dumps(changed["object_modified_by_ddl"]["properties"], separators=(",", ":"))
    ]
    assert "A" in objects(tmp_path, "element")


def test_sql_text_and_bind_values_are_not_kept(tmp_path: Path) -> None:
    report = export([row(query_text="SELECT 'SECRET'", bind_values=["SECRET"])], tmp_path)
    assert set(report["not_understood"]) == {"column bind_values", "column query_text"}
    assert all("SECRET" not in file.read_text("utf-8") for file in (tmp_path / "out").rglob("*") if file.is_file())


def test_bind_values_of_query_history_are_in_no_output(tmp_path: Path) -> None:
    history = tmp_path / "history.ndjson"
    line = {"query_id": "q1", "query_type": "SELECT", "execution_status": "SUCCESS", "bind_values": ["SECRET"]}
    history.write_text(json.dumps(line), encoding="utf-8")
    report = export([row()], tmp_path, "--query-history", str(history), "--query-text")
    assert report["not_understood"] == {}
    assert all("SECRET" not in file.read_text("utf-8") for file in (tmp_path / "out").rglob("*") if file.is_file())


def test_pseudonyms_and_filters_hold(tmp_path: Path) -> None:
    key, config = tmp_path / "key", tmp_path / "settings.toml"
    key.write_bytes(b"0123456789abcdef")
    key.chmod(0o600)
    config.write_text('[filter]\ndeny_databases = ["SECRET"]\n', encoding="utf-8")
    access = [TABLE]
    rows = [
        row(direct_objects_accessed=access, of_jsmith="JSMITH", jsmith={"jsmith": "JSMITH"}),
        row(2, direct_objects_accessed=access, more=[{"objectName": "SECRET.S.T"}]),
        row(3, direct_objects_accessed=access, kept="x"),
    ]
    report = export(rows, tmp_path, "--pseudonyms", str(key), "--config", str(config))
    told = json.dumps(report).replace(str(tmp_path), "")
    assert "jsmith" not in told.lower().replace("of_jsmith", "")
    assert "column kept" in report["not_understood"]
    for file in (tmp_path / "out" / "graph").rglob("*.ttl"):
        assert "SECRET" not in file.read_text("utf-8")
        assert "JSMITH" not in file.read_text("utf-8").upper().replace("OF_JSMITH", "")


def test_with_reads_by_day_it_is_counted_and_kept_of_queries_that_write(tmp_path: Path) -> None:
    rows = [row(direct_objects_accessed=[TABLE], new_column=1), row(2, objects_modified=[TABLE], new_column=2)]
    assert export(rows, tmp_path, "--reads", "daily")["not_understood"]["column new_column"]["count"] == 2
    assert objects(tmp_path, "unknownColumns") == ['{"new_column":"2"}']


def test_an_update_counts_the_rows_of_its_run_and_gives_the_same_graph(tmp_path: Path) -> None:
    rows = [row(one, new_column=one, direct_objects_accessed=[TABLE]) for one in range(1, 5)]
    export(rows, tmp_path / "once")
    assert export(rows[:3], tmp_path / "twice", "--update")["not_understood"]["column new_column"]["count"] == 3
    assert export(rows[3:], tmp_path / "twice", "--update")["not_understood"]["column new_column"]["count"] == 1
    assert export([row(9)], tmp_path / "twice", "--update")["not_understood"] == {}
    assert objects(tmp_path / "twice", "unknownColumns") == objects(tmp_path / "once", "unknownColumns")


def test_names_are_bounded_whatever_the_order() -> None:
    names = [f"column {number:04}" for number in range(3 * MOST)]
    places = {name: ("f", number, "line") for number, name in enumerate(names)}
    one, other, both = Unknown(), Unknown(), Unknown()
    for name in names:
        one.add(name, 2, places[name])
    for name in reversed(names):
        (other if int(name[-1]) % 2 else both).add(name, 2, places[name])
    for entry in other.entries():
        both.add(*entry)
    assert one.entries() == both.entries()
    assert [what for what, _, _ in one.entries()] == [*names[:MOST], OTHERS]
    assert sum(number for _, number, _ in one.entries()) == 6 * MOST


@pytest.mark.parametrize("agents", [[{"agentType": "EXTERNAL_AGENT", "agentId": None, "agentName": None}], None])
def test_agents_without_invoker_identity_are_understood(agents: Any, tmp_path: Path) -> None:
    """Behaviour change 2420: invoker_identity is gone, agents_info stays, null where no agent took part."""
    report = export([row(agents_info=agents, direct_objects_accessed=[TABLE])], tmp_path, "--strict")
    assert report["not_understood"] == {}
    assert objects(tmp_path, "agentType") == (["EXTERNAL_AGENT"] if agents else [])
    assert objects(tmp_path, "invokerIdentity") == []


def test_rows_without_a_line_of_query_history_are_exported(tmp_path: Path) -> None:
    history = tmp_path / "history.csv"
    history.write_text("query_id,query_type\nq1,SELECT\nq9,INSERT\n", encoding="utf-8")
    report = export([row(), row(2)], tmp_path, "--query-history", str(history), "--strict")
    assert (report["exported"], report["not_understood"]) == (2, {})
    assert objects(tmp_path, "queryType") == ["SELECT"]


def test_an_id_without_a_kind_or_name_is_no_reader_in_changes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [
        row(one, direct_objects_accessed=[each]) for one, each in enumerate([{"objectId": "x"}, {"objectId": 7}, TABLE])
    ]
    export(rows, tmp_path)
    of_ids = ["direct_objects_accessed NOT_UNDERSTOOD"] * 2
    assert sorted(objects(tmp_path, "incomplete")) == [*of_ids, "direct_objects_accessed UNNAMED"]
    capsys.readouterr()
    assert (
        main(["query", "changes", "--graph", str(tmp_path / "out"), "--param", "since=2026-01-01", "--format", "json"])
        == 0
    )
    assert [one["object_name"] for one in json.loads(capsys.readouterr().out)] == ["D.S.T"]


KNOWN: Final = {
    "columns": reading._KNOWN,
    "operations": unknown.KNOWN_OPERATIONS,
    "event sources": unknown.KNOWN_EVENT_SOURCES,
    "domains": unknown.KNOWN_DOMAINS,
    "properties": {*properties.KNOWN_PROPERTIES, "sourceDomain", "sourceId", "sourceName"},
    "compound properties": {*properties.KNOWN_COMPOUND, "Policies"},
    "members of their elements": properties.KNOWN_OF_COLUMN,
    "operations on elements": properties.KNOWN_SUB_OPERATIONS,
}


def test_the_page_lists_what_was_known() -> None:
    body = sections(text("docs/input.md"))["What is not understood"]
    listed = {cells[0]: set(spans(cells[1])) for cells in table(body) if cells[0] in KNOWN}
    known = {name: set(values) for name, values in KNOWN.items()}
    left = {name: values - listed.get(name, set()) for name, values in known.items()}
    missing = {name: values for name, values in left.items() if values}
    assert missing == {}, "name these in docs/input.md (What was known)"
    assert listed == known, "docs/input.md (What was known) has some that the exporter does not know"
