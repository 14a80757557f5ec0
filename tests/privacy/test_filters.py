"""Lists of users, databases and schemas, and the period: which rows match, and what is removed from a row."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from exporter.errors import UsageError
from exporter.input.reading import read_line
from exporter.input.row import Row
from exporter.input.times import parse_time
from exporter.model.incomplete import not_understood
from exporter.model.query import query_facts
from exporter.privacy.excluded_objects import with_names_as_texts, without_excluded
from exporter.privacy.filters import Filters, database_and_schema, filters_of
from tests.input.bad_rows import GOOD
from tests.input.plain_rows import plain


def filters(**lists: Any) -> Filters:
    return Filters(**{name: tuple(value) if isinstance(value, list) else value for name, value in lists.items()})


# --- the period -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("since", "until", "at", "reason"),
    [
        ("2026-03-01", None, "2026-03-01T00:00:00Z", None),
        ("2026-03-01", None, "2026-02-28T23:59:59.999999Z", "since"),
        (None, "2026-03-02", "2026-03-01T23:59:59.999999Z", None),
        (None, "2026-03-02", "2026-03-02T00:00:00Z", "until"),
        ("2026-03-01 08:00:00 +0100", "2026-03-01T07:00:00.000001Z", "2026-03-01T07:00:00Z", None),
    ],
)
def test_since_counts_and_until_does_not(since: str | None, until: str | None, at: str, reason: str | None) -> None:
    assert filters_of(since, until, {}).row(parse_time(at), "ANYBODY") == reason


def test_a_row_without_a_time_is_not_left_out() -> None:
    assert filters_of("2026-03-01", "2026-03-02", {}).row(None, None) is None


@pytest.mark.parametrize(
    ("since", "until", "words"),
    [
        ("2026-03-02", "2026-03-01", "no query is left"),
        ("2026-03-01", "2026-03-01T00:00:00Z", "no query is left"),
        ("yesterday", None, "since: 'yesterday' is not a day or a time; write 2026-03-01"),
        (None, "2026-02-30", "until: '2026-02-30'"),
        ("", None, "since: '' is not a day"),
    ],
)
def test_periods_that_are_none(since: str | None, until: str | None, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        filters_of(since, until, {})


# --- lists ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lists", "left_out", "stays"),
    [
        ({"deny_users": ["jsmith"]}, ["JSMITH"], ["jsmith", "JSMITH2", "jane.doe@example.com"]),
        ({"deny_users": ['"jsmith"', "jane.doe@example.com"]}, ["jsmith", "jane.doe@example.com"], ["JSMITH"]),
        ({"deny_users": ["svc_*", '"Jane "*']}, ["SVC_LOADER", "SVC_", "Jane Doe"], ["svc_loader", "SVC", "JANE D"]),
        ({"allow_users": ["SVC_*"]}, ["JSMITH"], ["SVC_LOADER"]),
        ({"allow_users": ["*"], "deny_users": ["JSMITH"]}, ["JSMITH"], ["ANYBODY"]),
        ({"deny_users": ['"a*"', '"we""ird"']}, ["a*", 'we"ird'], ["ab", "A*"]),
    ],
)
def test_users(lists: dict[str, list[str]], left_out: list[str], stays: list[str]) -> None:
    one = filters(**lists)
    assert [one.row(0, name) for name in left_out] == ["users"] * len(left_out)
    assert [one.row(0, name) for name in stays] == [None] * len(stays)


@pytest.mark.parametrize(
    ("lists", "domain", "name", "reason"),
    [
        ({"deny_databases": ["hr"]}, "TABLE", "HR.PAY.SALARIES", "databases"),
        ({"deny_databases": ["hr"]}, "TABLE", 'hr."pay"."SALARIES"', "databases"),
        ({"deny_databases": ["hr"]}, "TABLE", '"hr".PAY.SALARIES', None),
        ({"deny_databases": ["hr"]}, "DATABASE", "HR", "databases"),
        ({"deny_databases": ["hr"]}, "SCHEMA", "HR.PAY", "databases"),
        ({"deny_databases": ["hr"]}, "TABLE", "HR", None),
        ({"deny_databases": ["hr"]}, "ROLE", "HR", None),
        ({"deny_databases": ["hr"]}, None, "HR.PAY.SALARIES", "databases"),
        ({"deny_databases": ["hr"]}, "TABLE", 'HR.PAY.SAL"ARIES', "databases"),
        ({"deny_databases": ["h*"]}, "TABLE", "HR.PAY.T", "databases"),
        ({"allow_databases": ["sales"]}, "TABLE", "HR.PAY.T", "databases"),
        ({"allow_databases": ["sales"]}, "TABLE", "SALES.A.T", None),
        ({"allow_databases": ["sales"]}, "TABLE", None, None),
        ({"allow_databases": ["sales"]}, "WAREHOUSE", "WH", None),
        ({"deny_schemas": ["hr.pay"]}, "VIEW", "HR.PAY.V", "schemas"),
        ({"deny_schemas": ["hr.pay"]}, "SCHEMA", "HR.PAY", "schemas"),
        ({"deny_schemas": ["hr.pay"]}, "VIEW", "OTHER.PAY.V", None),
        ({"deny_schemas": ["hr.pay"]}, "DATABASE", "HR", None),
        ({"deny_schemas": ["pay"]}, "VIEW", "OTHER.PAY.V", "schemas"),
        ({"deny_schemas": ["pay"]}, "TABLE", "PAY.T", "schemas"),
        ({"deny_schemas": ["pay"]}, "STAGE", 'pay."s t"', "schemas"),
        ({"deny_schemas": ["p*"]}, "MASKING POLICY", "PAY.MASK", "schemas"),
        ({"deny_schemas": ["pay"]}, "TABLE", "S.PAY", None),
        ({"deny_schemas": ["hr.pay"]}, "TABLE", "PAY.T", None),
        ({"deny_schemas": ["pay"]}, "DATABASE ROLE", "PAY.R", None),
        ({"deny_schemas": ["pay"]}, "SCHEMA", "PAY.S", None),
        # a kind that is new or of which nothing is said: it may be in a schema, or be one
        *(({"deny_schemas": ["pay"]}, kind, "PAY.T", "schemas") for kind in ("AGENT", "POLICY", "KIND OF NEXT YEAR")),
        ({"deny_schemas": ["pay"]}, "APPLICATION ROLE", "PAY.R", None),
        ({"deny_schemas": ["pay"]}, None, "PAY.T", "schemas"),
        ({"deny_schemas": ["hr.pay"]}, None, "HR.PAY", "schemas"),
        ({"allow_schemas": ["mart"]}, None, "MART.T", None),
        ({"allow_schemas": ["sales.mart"]}, None, "SALES.MART", None),
        ({"allow_schemas": ["sales.mart"]}, None, "SALES.RAW", "schemas"),
        ({"allow_schemas": ["mart"]}, None, "RAW.T", "schemas"),
        ({"allow_schemas": ["mart"]}, None, "T", None),
        ({"deny_databases": ["pay"]}, "TABLE", "PAY.T", "databases"),
        ({"allow_schemas": ["mart"]}, "TABLE", "MART.T", None),
        ({"allow_schemas": ["mart"]}, "TABLE", "RAW.T", "schemas"),
        ({"deny_schemas": ["hr.tmp_*"]}, "VIEW", "HR.TMP_1.V", "schemas"),
        ({"deny_schemas": ["hr.*"]}, "VIEW", "HR.X.V", "schemas"),
        ({"deny_schemas": ['"h.r"."p.*"']}, "VIEW", '"h.r"."p.*".V', "schemas"),
        ({"allow_schemas": ["sales.mart"]}, "TABLE", "SALES.RAW.T", "schemas"),
        ({"allow_schemas": ["sales.mart"]}, "TABLE", "SALES.MART.T", None),
        ({"allow_schemas": ["sales.mart"]}, "DATABASE", "SALES", None),
        ({"allow_schemas": ["sales.mart"]}, "DATABASE", "HR", "schemas"),
        ({"allow_schemas": ["mart"]}, "DATABASE", "HR", None),
        ({"allow_databases": ["hr"], "deny_schemas": ["hr.pay"]}, "TABLE", "HR.PAY.T", "schemas"),
    ],
)
def test_objects(lists: dict[str, list[str]], domain: str | None, name: str | None, reason: str | None) -> None:
    assert filters(**lists).object(domain, name) == reason


def test_a_user_s_stage_is_in_no_database() -> None:
    assert database_and_schema("STAGE", "jane.doe@example.com", "User") == (None, None)


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("deny_databases", "HR.PAY", "has 2 parts; the most is 1"),
        ("allow_schemas", "A.B.C", "has 3 parts; the most is 2"),
        ("deny_users", "a*b", "only at the end"),
        ("deny_users", "", "empty"),
        ("deny_schemas", "HR.", "empty"),
        ("deny_schemas", ".PAY", "empty"),
    ],
)
def test_what_is_no_name(name: str, text: str, words: str) -> None:
    with pytest.raises(UsageError, match=words) as error:
        filters(**{name: [text]})
    assert f"filter.{name}" in str(error.value)


# --- taking objects out of a row --------------------------------------------------------------------------------------

HR: Any = {"objectDomain": "Table", "objectId": 1, "objectName": "HR.PAY.SALARIES", "columns": [{"columnName": "A"}]}
SALES: Any = {"objectDomain": "Table", "objectId": 2, "objectName": "SALES.S.T", "columns": [{"columnName": "B"}]}
DENIED = filters(deny_databases=["HR"])
ALLOWED = filters(allow_databases=["SALES"])
LISTS = pytest.mark.parametrize("lists", [DENIED, ALLOWED], ids=["denied", "allowed"])


def row(**columns: Any) -> Row:
    read = read_line(json.dumps({**GOOD, "direct_objects_accessed": [], **columns}))
    assert isinstance(read, Row)
    return read


def written(*sources: Any) -> Any:
    named = [{**one, "columnName": "A", "columns": None} for one in sources]
    kinds = ("directSources", "baseSources", "directSourceColumns", "baseSourceColumns")
    return {**SALES, "columns": [{"columnName": "B", **dict.fromkeys(kinds, named)}]}


def policy(name: str) -> Any:
    return {"policyName": name, "policyId": 5, "policyKind": "MASKING_POLICY"}


def guarded(*policies: Any) -> Any:
    return {**SALES, "policies": list(policies), "columns": [{"columnName": "B", "policies": list(policies)}]}


def joined(*others: Any) -> Any:
    return {
        **SALES,
        "joinObjects": [{"joinType": "INNER", key: one} for one in others for key in ("node", "joinObject")],
    }


def change(name: str, **properties: Any) -> Any:
    return {
        "objectDomain": "Table",
        "objectId": 2,
        "objectName": name,
        "operationType": "ALTER",
        "properties": properties,
    }


STAGE: Any = {"objectDomain": "Stage", "stageKind": "Table"}
GRANT: Any = {"PRIVILEGES": ["SELECT"], "ROLES": ["R"]}
ON_ALL: Any = {**GRANT, "SECURABLE_OBJECT_DOMAIN": "TABLE", "SECURABLE_OBJECT_SCOPE_DOMAIN": "SCHEMA"}
ON_ALL_OF_DATABASE: Any = {"SECURABLE_OBJECT_SCOPE_DOMAIN": "DATABASE", "SECURABLE_OBJECT_SCOPE": "HR"}


@LISTS
@pytest.mark.parametrize(
    ("columns", "place"),
    [
        ({"direct_objects_accessed": [SALES, HR]}, "direct_objects_accessed"),
        ({"direct_objects_accessed": [SALES], "base_objects_accessed": [HR]}, "base_objects_accessed"),
        ({"objects_modified": [SALES], "provider_base_objects_accessed": [HR]}, "provider_base_objects_accessed"),
        ({"objects_modified": [HR, SALES]}, "objects_modified"),
        ({"objects_modified": [written(HR, SALES)]}, "objects_modified"),
        ({"policies_referenced": [SALES, HR]}, "policies_referenced"),
        ({"policies_referenced": [guarded(policy("HR.PAY.MASK"))]}, "policies_referenced"),
        ({"provider_policies_referenced": [guarded(policy("HR.PAY.MASK"))]}, "provider_policies_referenced"),
        ({"direct_objects_accessed": [joined(HR)]}, "direct_objects_accessed"),
        *(
            ({"objects_modified": [SALES, {"location": location}]}, "objects_modified")
            for location in (
                *("@HR.PAY.STAGE/a.csv", "@HR.PAY.%SALARIES", '@"HR".PAY.%SALARIES/x', '@HR.PAY.%"s t"/x, y'),
                *("'@HR.PAY.STAGE/x y'", "'@HR.PAY.STAGE'", "'@HR.PAY.%SALARIES'", "@SALES.S.X,'@HR.PAY.STAGE/x y'"),
            )
        ),
        *(
            ({"objects_modified": [SALES, {**STAGE, "objectName": name}]}, "objects_modified")
            for name in ("HR.PAY.%SALARIES", 'HR."pay.2".%"S T"')
        ),
        *(
            ({"objects_modified": [SALES], "object_modified_by_ddl": one}, "object_modified_by_ddl")
            for one in (
                change("HR.PAY.SALARIES"),
                change("SALES.S.T", objectName={"value": "HR.PAY.NEW"}),
                change("SALES.S.T", swapTargetName={"value": "HR.PAY.T"}, swapTargetDomain={"value": "Table"}),
                change("SALES.S.T", sourceName={"value": "HR.PAY.T"}),
                change("SALES.S.T", tags={"HR.TAGS.PII": {"tagValue": "x", "subOperationType": "ADD"}}),
                change("SALES.S.T", columns={"B": {"maskingPolicies": {"HR.PAY.MASK": {"subOperationType": "ADD"}}}}),
                change("SALES.S.T", grant={"value": {"OBJECT_DOMAIN": "DATABASE", "OBJECT_NAME": "HR"}}),
                *(
                    change("SALES.S.T", **{key: value})
                    for key in ("manifestStageLocation", "propertyOfNextYear")
                    for value in (
                        *({"value": "@HR.PAY.%T/x"}, {"value": "'@HR.PAY.STAGE/x y'"}, "'@HR.PAY.%T'"),
                        *({"value": "@HR.PAY.STAGE/dir/a, b.yml"}, "@HR.PAY.STAGE", {"value": '@"HR".PAY."S t"/x'}),
                        *({"value": "SALES.S.T, HR.PAY.T"}, {"value": "snow://agent/HR.PAY.BOT/versions/live"}),
                        *({"value": "HR.PAY.LOAD(NUMBER, VARCHAR)"}, {"value": ["@HR.PAY.STAGE"]}),
                    )
                ),
                change("SALES.S.T", grant='{"value":{"SECURABLE_OBJECT_NAME":"HR.PAY"}}'),
                change("SALES.S.T", grant={"value": json.dumps({**GRANT, "ROLES": ["R", "HR.READERS"]})}),
                change("SALES.S.T", revoke={**GRANT, "ROLES": "HR.READERS"}),
                change("SALES.S.T", grant={"value": json.dumps({**ON_ALL, "SECURABLE_OBJECT_SCOPE": "HR.PAY"})}),
                change("SALES.S.T", grant={"value": json.dumps([GRANT, {**ON_ALL, **ON_ALL_OF_DATABASE}])}),
                {**change("SALES"), "objectDomain": "Database", "properties": {"swapTargetName": {"value": "HR"}}},
            )
        ),
    ],
)  # fmt: skip
def test_what_is_left_out_is_nowhere_in_the_row(lists: Filters, columns: Any, place: str) -> None:
    """Neither its name nor its id, and the place says that something is not named there."""
    less = without_excluded(row(**columns), lists)
    assert less is not None
    assert less.text is not None
    assert (less.reason, less.objects > 0) == ("databases", True)
    assert "HR" not in less.text
    assert '"objectId":1,' not in less.text
    again = read_line(less.text)
    assert isinstance(again, Row)
    assert again.start == row(**columns).start
    found = msgspec.json.decode(less.text)[place]
    assert found == [*found[:-1], None] if isinstance(found, list) else not any(found.values())


@pytest.mark.parametrize(("schema", "is_out"), [("HR.PAY", True), ("OTHER.PAY", True), ("HR.S", False)])
def test_a_grant_on_all_objects_of_a_schema(schema: str, is_out: bool) -> None:  # noqa: FBT001 - a parameter of cases
    for place in ({"SCOPE": schema}, {"SCOPE": "ALL", "NAME": schema}):
        grant = {"value": json.dumps({**ON_ALL, **{f"SECURABLE_OBJECT_{key}": name for key, name in place.items()}})}
        given = row(object_modified_by_ddl=change("HR.S.T", grant=grant))
        assert (without_excluded(given, filters(deny_schemas=["pay"])) is not None) == is_out, place


@pytest.mark.parametrize(
    ("location", "is_out"),
    [
        ("@PAY.STAGE/a.csv", True),
        ("'@pay.STAGE/a b'", True),
        ("@PAY.%T", True),
        ("@S.PAY", False),
        ("@PAY", False),
        ("@%PAY", False),
        ("@~/PAY.STAGE", False),
        ("s3://bucket/@PAY.STAGE", False),
    ],
)
def test_a_stage_whose_database_is_not_named(location: str, is_out: bool) -> None:  # noqa: FBT001 - a parameter of cases
    given = row(direct_objects_accessed=[SALES], objects_modified=[{"location": location}])
    assert (without_excluded(given, filters(deny_schemas=["pay"])) is not None) == is_out


@pytest.mark.parametrize("name", ["@HR..STAGE/p", "@HR..%T", "snow://notebook/HR..N/live"])
def test_the_schema_public_may_be_left_out_of_a_name(name: str) -> None:
    """Snowflake's ``HR..T`` is ``HR.PUBLIC.T``."""
    for lists in ({"deny_databases": ["hr"]}, {"deny_schemas": ["hr.public"]}):
        given = row(direct_objects_accessed=[SALES], objects_modified=[{"location": name}])
        assert without_excluded(given, filters(**lists)) is not None
        given = row(object_modified_by_ddl=change("SALES.S.T", manifestStageLocation={"value": name}))
        assert without_excluded(given, filters(**lists)) is not None
    given = row(direct_objects_accessed=[SALES], objects_modified=[{"location": name}])
    assert without_excluded(given, filters(deny_schemas=["hr.pay"])) is None


def masked(**policies: Any) -> Any:
    return {"B": {"subOperationType": "ALTER", **policies}}


ADDED: Any = {"subOperationType": "ADD", "objectId": {"value": 7}}


@pytest.mark.parametrize(
    "lists",
    [
        *({"deny_schemas": ["pay"]}, {"deny_schemas": ["pa*"]}, {"allow_schemas": ["s"]}),
        *({"allow_schemas": ["sales.*"]}, {"allow_databases": ["sales"]}),
    ],
)
@pytest.mark.parametrize("name", ["PAY.X", 'pay."x y"', "PAY.%X", "PAY.Ünicode"])
def test_a_name_of_two_parts_is_one_in_a_schema_whatever_it_names(lists: dict[str, list[str]], name: str) -> None:
    """A table, a tag, a policy, an agent: as ``SCHEMA.NAME`` all of them are left out."""
    for columns in (
        {"direct_objects_accessed": [SALES, {"objectDomain": "Table", "objectId": 1, "objectName": name}]},
        {"direct_objects_accessed": [SALES, {"objectId": 1, "objectName": name}]},
        {"policies_referenced": [guarded(policy(name))]},
        {"policies_referenced": [guarded({"policyName": name, "policyId": 5})]},
        *(
            {"object_modified_by_ddl": change("SALES.S.T", **properties)}
            for properties in (
                {"tags": {name: {**ADDED, "tagValue": {"value": "x"}}}},
                {"tags": [{"objectName": name, "subOperationType": "ADD", "tagValue": "x"}]},
                {"columns": masked(tags={name: {**ADDED, "tagValue": {"value": "x"}}})},
                {"columns": masked(maskingPolicies={name: ADDED})},
                {"columns": [{"objectName": "B", "maskingPolicies": [{"objectName": name, **ADDED}]}]},
                {"rowAccessPolicies": {name: ADDED}},
                {"policiesOfNextYearPolicies": [{"objectName": name, **ADDED}]},
                {"objectName": {"value": name}},
                {"swapTargetName": {"value": name}, "swapTargetDomain": {"value": "Table"}},
                {"grant": {"value": {**GRANT, "SECURABLE_OBJECT_DOMAIN": "Table", "SECURABLE_OBJECT_NAME": name}}},
            )
        ),
    ):
        assert without_excluded(row(**columns), filters(**lists)) is not None, columns


@pytest.mark.parametrize(("member", "is_out"), [("target", False), ("targetName", True)])
def test_a_text_of_two_parts_in_an_unknown_place(member: str, *, is_out: bool) -> None:
    """Nothing shows whether it is a name, or a file or a version, unless its member is called so."""
    for columns in (
        {"additional_properties": {member: "PAY.X"}},
        {"column_of_next_year": {member: "PAY.X"}},
        {"object_modified_by_ddl": change("SALES.S.T", **{member: "PAY.X"})},
        {"object_modified_by_ddl": change("SALES.S.T", compoundOfNextYear={"a": {member: "PAY.X"}})},
    ):
        given = row(direct_objects_accessed=[SALES], **columns)
        assert (without_excluded(given, filters(deny_schemas=["pay"])) is not None) == is_out, columns


@pytest.mark.parametrize("name", ["PAY.BOT", 'pay."b o t"'])
def test_an_agent_of_two_parts_is_in_a_schema(name: str) -> None:
    agents = [{"agentType": "CORTEX_AGENT", "agentId": 1, "agentName": name}]
    given = row(direct_objects_accessed=[SALES], agents_info=agents)
    for lists in ({"deny_schemas": ["pay"]}, {"allow_schemas": ["sales.s"]}, {"allow_databases": ["sales"]}):
        assert without_excluded(given, filters(**lists)) is not None
    assert without_excluded(given, filters(deny_schemas=["bot"])) is None


@pytest.mark.parametrize(
    ("domain", "name", "properties"),
    [
        ("Schema", "PAY.S", {"objectName": {"value": "PAY.NEW"}}),
        ("Schema", "PAY.S", {"swapTargetName": {"value": "PAY.NEW"}, "swapTargetDomain": {"value": "Schema"}}),
        ("Schema", "PAY.S", {"sourceName": {"value": "PAY.OLD"}, "sourceDomain": {"value": "Schema"}}),
        ("Database role", "PAY.R", {"objectName": {"value": "PAY.R2"}}),
        ("Share", "SH", {"grant": {**GRANT, "SECURABLE_OBJECT_DOMAIN": "SCHEMA", "SECURABLE_OBJECT_NAME": "PAY.S"}}),
        ("Table", "PAY.S.T", {"grant": {**GRANT, "ROLES": ["PAY.READERS"]}}),
        ("Table", "PAY.S.T", {"tags": {"S.TAG": ADDED}, "columns": masked(maskingPolicies={"S.PAY": ADDED})}),
    ],
)
def test_the_first_of_two_parts_is_a_database_where_the_kind_says_so(domain: str, name: str, properties: Any) -> None:
    """A database that is called as a schema that is left out."""
    given = {**change(name, **properties), "objectDomain": domain}
    assert without_excluded(row(object_modified_by_ddl=given), filters(deny_schemas=["pay"])) is None


def tagged(value: Any) -> Any:
    return {"SALES.S.TAG": value}


@LISTS
@pytest.mark.parametrize(
    "text", ["hr.pay.x", "HR.PAY.F(val)", "@HR.PAY.STAGE/x", '{"name": "HR.PAY"}', "HR.PAY.A,HR.PAY.B"]
)
def test_texts_that_people_wrote_are_not_searched(lists: Filters, text: str) -> None:
    for properties in (
        {"comment": {"value": text}},
        {"comment": text},
        {"policyBody": {"value": text}},
        {"columns": {"B": {"comment": {"value": text}, "subOperationType": "ALTER"}}},
        {"columns": [{"objectName": "B", "comment": text}]},
        {"tags": tagged({"subOperationType": "ADD", "tagValue": {"value": text}})},
        {"tags": tagged({"subOperationType": "ADD", "value": text})},
        {"tags": tagged(text)},
        {"tags": [{"objectName": "SALES.S.TAG", "tagValue": text}]},
        {"columns": {"B": {"tags": tagged({"subOperationType": "ADD", "tagValue": text})}}},
        {"allowedValues": {text: {"subOperationType": "ADD"}}},
        {"allowedValues": {text: text}},
    ):
        assert without_excluded(row(object_modified_by_ddl=change("SALES.S.T", **properties)), lists) is None, (
            properties
        )


@LISTS
@pytest.mark.parametrize("name", ["comment", "policyBody", "tags", "allowedValues", "tagValue", "value"])
def test_columns_and_tags_can_be_called_so(lists: Filters, name: str) -> None:
    masked = {"subOperationType": "ALTER", "maskingPolicies": {"HR.PAY.MASK": {"subOperationType": "ADD"}}}
    for properties in (
        {"columns": {name: masked}},
        {"columns": {name: {"tags": {"HR.PAY.TAG": {"tagValue": "x", "subOperationType": "ADD"}}}}},
        {"columns": [{"objectName": name, "tags": [{"objectName": "HR.PAY.TAG", "tagValue": "x"}]}]},
        {"tags": {name: {"tagValue": "x"}, "HR.PAY.TAG": "x"}},
    ):
        assert without_excluded(row(object_modified_by_ddl=change("SALES.S.T", **properties)), lists) is not None


@LISTS
@pytest.mark.parametrize(
    "columns",
    [
        {"direct_objects_accessed": [HR]},
        {"objects_modified": [HR, {"location": "s3://bucket/hr/salaries.csv"}]},
        {"object_modified_by_ddl": change("HR.PAY.SALARIES")},
        {"object_modified_by_ddl": {**change("HR"), "objectDomain": "Database"}},
        {"direct_objects_accessed": [HR], "objects_modified": [{"objectName": "JSMITH", "stageKind": "User"}]},
    ],
)
def test_a_query_of_nothing_else_is_left_out_whole(lists: Filters, columns: Any) -> None:
    less = without_excluded(row(**columns), lists)
    assert less is not None
    assert less.text is None


@LISTS
@pytest.mark.parametrize(
    "columns",
    [
        {"direct_objects_accessed": [SALES], "objects_modified": [written(SALES)]},
        {"direct_objects_accessed": [joined(SALES)], "policies_referenced": [guarded(policy("SALES.S.MASK"))]},
        {"objects_modified": [{"location": "s3://bucket/a.csv"}, {"objectName": "J", "stageKind": "User"}]},
        {"direct_objects_accessed": [{"objectDomain": "Table", "objectId": 7}]},
        {"object_modified_by_ddl": change("SALES.S.T", comment={"value": "see HR.PAY.T and more"}, n={"value": 1.5})},
        {"objects_modified": [{"location": "@~/HR.PAY.T"}, {"location": "@~"}, {"location": "'@~/HR.PAY.T x'"}]},
        {"objects_modified": [{"location": "@SALES.S.%T/HR.PAY.T"}, {**STAGE, "objectName": "SALES.S.%T"}]},
        {"object_modified_by_ddl": change("SALES.S.T", file={"value": "data.csv"})},
        {"object_modified_by_ddl": change("SALES.S.T", grant={**ON_ALL, "SECURABLE_OBJECT_SCOPE": "SALES.S"})},
        {"object_modified_by_ddl": change("SALES.S.T", grant={**GRANT, "ROLES": ["HR", '"HR.PAY"', "SALES.R"]})},
        {"object_modified_by_ddl": change("SALES.S.T", manifestStageLocation={"value": "@SALES.S.STAGE/HR.PAY.T"})},
        {"object_modified_by_ddl": change("SALES.S.T", note={"value": "see below, HR.PAY.T"})},
        {"agents_info": [{"agentType": "CORTEX_AGENT", "agentId": 7, "agentName": "SALES.S.BOT"}]},
        {},
    ],
)
def test_a_row_without_what_is_left_out_stays_as_it_came(lists: Filters, columns: Any) -> None:
    assert without_excluded(row(**columns), lists) is None


@LISTS
def test_an_agent_of_a_schema_that_is_left_out_keeps_its_place_alone(lists: Filters) -> None:
    agents = [
        {"agentType": "CORTEX_AGENT", "agentId": 1, "agentName": name}
        for name in ("HR.PAY.BOT", "SALES.S.BOT", "BOT", "v1.0 helper")
    ]
    less = without_excluded(row(direct_objects_accessed=[SALES], agents_info=agents), lists)
    assert less is not None
    assert less.text is not None
    assert [agent and agent["agentName"] for agent in msgspec.json.decode(less.text)["agents_info"]] == [
        *(None, "SALES.S.BOT", "BOT", "v1.0 helper")
    ]
    assert less.objects == 1


@LISTS
@pytest.mark.parametrize("name", ["additional_properties", "invoker_identity", "column_of_next_year"])
def test_a_column_of_unknown_members_goes_whole(lists: Filters, name: str) -> None:
    less = without_excluded(row(direct_objects_accessed=[SALES], **{name: {"of": ["HR.PAY.T"], "n": 1}}), lists)
    assert less is not None
    assert less.text is not None
    assert msgspec.json.decode(less.text).get(name) is None


def test_what_stays_is_the_same() -> None:
    """All but the objects that are taken out: numbers, texts, the properties of a change to the letter."""
    given = row(
        direct_objects_accessed=[SALES, HR],
        objects_modified=[written(SALES)],
        object_modified_by_ddl=change("SALES.S.T", n={"value": 1.50}, big={"value": 12345678901234567890123}),
        agents_info=[{"agentType": "CORTEX_AGENT", "agentId": 7}],
        additional_properties={"irc_event_type": "LoadTable", "n": 1.0},
        invoker_identity="SOMEBODY",
        parent_query_id="p",
        organization_name="ORG",
        account_name="ACC",
    )
    less = without_excluded(given, DENIED)
    assert less is not None
    assert less.text is not None
    again = read_line(less.text)
    assert isinstance(again, Row)
    before, after = plain(given), plain(again)
    before["direct_objects_accessed"] = [before["direct_objects_accessed"][0], None]
    assert after == before


def test_a_stage_whose_user_s_name_is_a_number_is_known_by_its_name() -> None:
    stage = {"objectDomain": "Stage", "objectId": 12345, "objectName": "12345", "stageKind": "User"}
    text = with_names_as_texts(row(objects_modified=[stage, SALES]), ())
    assert text is not None
    again = read_line(text)
    assert isinstance(again, Row)
    found = plain(again)["objects_modified"][0]
    assert found["objectName"] == "12345"
    assert "objectId" not in found
    assert with_names_as_texts(row(objects_modified=[{**stage, "objectId": "JSMITH"}]), ()) is None


def test_such_a_stage_is_known_as_the_source_of_a_column_which_has_no_kind() -> None:
    stage = {"objectDomain": "Stage", "objectId": "12345", "objectName": "12345"}
    named = {"objectDomain": "Stage", "objectId": 7, "objectName": "D.S.STAGE"}
    column = {"columnName": "A", "directSources": [stage, named], "baseSources": [stage]}
    text = with_names_as_texts(row(objects_modified=[{**SALES, "columns": [column]}]), ())
    assert text is not None
    again = read_line(text)
    assert isinstance(again, Row)
    (found,) = plain(again)["objects_modified"][0]["columns"]
    assert [source.get("objectId") for source in found["directSources"]] == [None, "7"]
    assert [source.get("objectId") for source in found["baseSources"]] == [None]


# --- changes that are removed, of objects that stay -------------------------------------------------------------------


@LISTS
@pytest.mark.parametrize(
    "removed",
    [
        change("SALES.S.T", swapTargetName={"value": "HR.PAY.T"}, swapTargetDomain={"value": "Table"}),
        change("HR.PAY.T", swapTargetName={"value": "SALES.S.T"}, swapTargetDomain={"value": "Table"}),
        change("SALES.S.T", objectName={"value": "HR.PAY.T"}),
        change("HR.PAY.T", objectName={"value": "SALES.S.T"}),
        {**change("SALES.S.T", cloneSourceName={"value": "HR.PAY.T"}), "operationType": "CREATE"},
        change("SALES.S.T", maskingPolicies={"HR.PAY.MASK": {"subOperationType": "ADD"}}),
    ],
)
def test_the_query_of_a_removed_change_says_so(lists: Filters, removed: Any) -> None:
    """It names an object that stays, so it stays, too."""
    less = without_excluded(row(object_modified_by_ddl=removed), lists)
    assert less is not None
    assert less.text is not None
    again = read_line(less.text)
    assert isinstance(again, Row)
    facts = query_facts("A", [again])
    assert facts.content.incomplete == ("object_modified_by_ddl UNNAMED",)
    assert not_understood(again) == (), "it was understood, and removed"
    assert "HR" not in less.text


def test_a_change_of_a_role_and_of_nothing_that_stays() -> None:
    granted = {**change("R", grant={**GRANT, "SECURABLE_OBJECT_DOMAIN": "SCHEMA", "SECURABLE_OBJECT_NAME": "HR.PAY"})}
    less = without_excluded(row(object_modified_by_ddl={**granted, "objectDomain": "Role"}), DENIED)
    assert less is not None
    assert less.text is None
