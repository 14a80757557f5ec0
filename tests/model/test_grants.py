"""What a change grants and revokes, from its properties ``grant``, ``revoke`` and ``accountsTo…``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

from exporter.model.facts import Grant, ObjectReference
from exporter.model.grants import ANY, covering_revokes, ends_grant, grant_path, setting_of_grant
from tests.model.told import facts_of, row

if TYPE_CHECKING:
    from collections.abc import Callable

SHARE = {"objectDomain": "Share", "objectId": 5, "objectName": "PARTNERS"}
ON_VIEW = {"SECURABLE_OBJECT_DOMAIN": "View", "SECURABLE_OBJECT_ID": 12, "SECURABLE_OBJECT_NAME": "D.S.V"}
ON_ALL = {
    "SECURABLE_OBJECT_DOMAIN": "Table",
    "SECURABLE_OBJECT_SCOPE": "D.S",
    "SECURABLE_OBJECT_SCOPE_DOMAIN": "Schema",
}


def told(properties: Any, changed: Any = SHARE, operation: str = "GRANT") -> list[str]:
    """The paths of the grants; with a minus where they are revoked."""
    ddl = {**changed, "operationType": operation, "properties": properties}
    (change,) = facts_of(row(object_modified_by_ddl=ddl)).content.changes
    return ["-" * grant.is_revoked + grant_path(grant) for grant in change.grants]


def granted(value: Any, changed: Any = SHARE, name: str = "grant") -> list[str]:
    return told({name: {"value": value}}, changed)


@pytest.mark.parametrize(
    ("value", "paths"),
    [
        ({"PRIVILEGES": ["SELECT"], **ON_VIEW}, ["privilege/SELECT/on/view/12/to/share/5"]),
        (
            {"PRIVILEGES": ["SELECT", "references "], **ON_VIEW},
            ["privilege/REFERENCES/on/view/12/to/share/5", "privilege/SELECT/on/view/12/to/share/5"],
        ),
        ({"PRIVILEGES": ["SELECT"], **ON_ALL}, ["privilege/SELECT/on-all/TABLE/in/schema/name/D.S/to/share/5"]),
        ({"ROLES": ["D.READER"]}, ["of/database-role/name/D.READER/to/share/5"]),
        ({"ROLES": ['"a.b"']}, ["of/role/name/%22a.b%22/to/share/5"]),
        (
            [{"ROLES": "D.R"}, None, {"PRIVILEGES": "USAGE", "SECURABLE_OBJECT_DOMAIN": "Database",
                                      "SECURABLE_OBJECT_ID": 3}],
            ["of/database-role/name/D.R/to/share/5", "privilege/USAGE/on/database/3/to/share/5"],
        ),
    ],
)  # fmt: skip
def test_a_share_is_granted_privileges_and_roles(value: Any, paths: list[str]) -> None:
    assert granted(value) == paths
    assert granted(value, name="revoke") == [f"-{path}" for path in paths]


@pytest.mark.parametrize(
    "spelled",
    [str.lower, str.title, lambda name: name.title().replace("_", ""), lambda name: name.replace("_", "")],
)
def test_members_of_a_grant_are_read_in_any_letter_case(spelled: Callable[[str], str]) -> None:
    value = {"PRIVILEGES": ["SELECT"], **ON_VIEW}
    assert granted({spelled(name): one for name, one in value.items()}) == granted(value) != []


def test_of_several_spellings_the_documented_one_counts_or_none() -> None:
    view, other = {"PRIVILEGES": ["SELECT"], **ON_VIEW}, {"securable_object_id": 99}
    assert granted({**other, **view}) == granted(view)
    del view["SECURABLE_OBJECT_ID"]
    assert granted({**view, **other, "securableObjectId": 98}) == granted(view)


@pytest.mark.parametrize("name", ["accountsToSet", "accountsToAdd", "accountsToRemove"])
@pytest.mark.parametrize("value", [{"A": {"B": 1}}, 5, '{"A":1}', True])
def test_no_account_is_named_from_json(value: Any, name: str) -> None:
    assert [one for one in told({name: {"value": value}}, operation="ALTER") if "account" in one] == []


@pytest.mark.parametrize(
    "value",
    [
        {"PRIVILEGES": ["SELECT"]},
        {"PRIVILEGES": ["TRUNCATED"], **ON_VIEW},
        {"PRIVILEGES": [None, 1, {"x": 2}, ""], **ON_VIEW},
        {"PRIVILEGES": ["SELECT"], "SECURABLE_OBJECT_DOMAIN": "View", "SECURABLE_OBJECT_ID": -1,
         "SECURABLE_OBJECT_NAME": "TRUNCATED"},
        {"PRIVILEGES": ["SELECT"], **ON_ALL, "SECURABLE_OBJECT_ID": -1, "SECURABLE_OBJECT_NAME": "TRUNCATED"},
        {"ROLES": ["TRUNCATED", " ", None]},
        ON_VIEW, "TRUNCATED", "x{", [], {}, 7,
    ],
)  # fmt: skip
def test_what_names_no_object_or_no_privilege_is_no_grant(value: Any) -> None:
    assert granted(value) == []


def test_a_table_is_granted_to_the_roles_that_are_named() -> None:
    table = {"objectDomain": "Table", "objectId": 13, "objectName": "D.S.T"}
    assert granted({"PRIVILEGES": ["SELECT"], "ROLES": ["ANALYST"]}, table) == [
        "privilege/SELECT/on/table/13/to/role/name/ANALYST"
    ]
    assert granted({"PRIVILEGES": ["SELECT"]}, table) == []


def test_a_role_is_granted_privileges_and_other_roles() -> None:
    role = {"objectDomain": "ROLE", "objectName": "ANALYST"}
    assert granted({"PRIVILEGES": ["SELECT"], **ON_VIEW}, role) == ["privilege/SELECT/on/view/12/to/role/name/ANALYST"]
    assert granted({"ROLES": ["READER"]}, role) == ["of/role/name/READER/to/role/name/ANALYST"]


@pytest.mark.parametrize("all_of_them", ["ALL", "ALL PRIVILEGES"])
def test_to_revoke_all_is_to_revoke_each(all_of_them: str) -> None:
    value = {"PRIVILEGES": [all_of_them], **ON_VIEW}
    assert granted(value, name="revoke") == [f"-privilege/{ANY}/on/view/12/to/share/5"]
    assert granted(value) == [f"privilege/{all_of_them.replace(' ', '%20')}/on/view/12/to/share/5"]


def grant(value: Any) -> Grant:
    ddl = {**SHARE, "operationType": "GRANT", "properties": {"grant": {"value": value}}}
    return facts_of(row(object_modified_by_ddl=ddl)).content.changes[0].grants[0]


ON_TABLE = {"SECURABLE_OBJECT_DOMAIN": "Table", "SECURABLE_OBJECT_ID": 13, "SECURABLE_OBJECT_NAME": "D.S.T"}
IN_DATABASE = {**ON_ALL, "SECURABLE_OBJECT_SCOPE": "D", "SECURABLE_OBJECT_SCOPE_DOMAIN": "Database"}
ELSEWHERE = {**ON_ALL, "SECURABLE_OBJECT_SCOPE": "D.OTHER"}
NAMELESS = {"SECURABLE_OBJECT_DOMAIN": "Table", "SECURABLE_OBJECT_ID": 13}


@pytest.mark.parametrize(
    ("revoked", "held", "is_over"),
    [
        (ON_ALL, ON_TABLE, True),
        (IN_DATABASE, ON_TABLE, True),
        (IN_DATABASE, ON_ALL, True),
        (ON_ALL, ON_ALL, True),
        (ON_ALL, IN_DATABASE, False),
        (ON_ALL, ON_VIEW, False),
        (ELSEWHERE, ON_TABLE, False),
        (ON_ALL, NAMELESS, False),
        (ON_TABLE, ON_ALL, False),
    ],
)
def test_to_revoke_on_all_tables_is_to_revoke_on_each(revoked: Any, held: Any, is_over: bool) -> None:  # noqa: FBT001 - what is expected
    for given, taken, is_one in (("SELECT", "SELECT", True), ("SELECT", "ALL", True), ("SELECT", "INSERT", False)):
        one = grant({"PRIVILEGES": [given], **held})
        back = replace(grant({"PRIVILEGES": [ANY if taken == "ALL" else taken], **revoked}), is_revoked=True)
        told_of = [setting_of_grant(each, ObjectReference("share/5", "share"))[0] for each in (back, one)]
        assert ends_grant(told_of[0], told_of[1], covering_revokes(one)) is (is_over and is_one)


def test_a_share_is_opened_to_accounts_and_closed() -> None:
    def to(account: str) -> str:
        return f"of/share/5/to/account-object/name/{account}"

    assert told({"accountsToAdd": {"value": ["acc1", "ORG.ACC2"]}}, operation="ALTER") == [to("ACC1"), to("ORG.ACC2")]
    assert told({"accountsToRemove": {"value": ["acc1"]}}, operation="ALTER") == [f"-{to('ACC1')}"]
    assert told({"accountsToSet": {"value": ["acc1"]}}, operation="ALTER") == [f"-of/share/5/to/{ANY}", to("ACC1")]
    assert told({"accountsToAdd": "acc1"}, operation="ALTER") == [to("ACC1")]
    assert told({"accountsToAdd": {"value": "TRUNCATED"}}, operation="ALTER") == []
    assert told({"accountsToAdd": {"value": ["acc1"]}}, {**SHARE, "objectDomain": "Listing"}, "ALTER") == []


@pytest.mark.parametrize("value", ["TRUNCATED", ["TRUNCATED"], ["TRUNCATED", "acc1"], '["acc1","TRUNCATED"]'])
def test_accounts_of_which_some_are_cut_close_a_share_to_none(value: Any) -> None:
    """docs/input.md, "Rows that Snowflake truncated": nothing is revoked by the part that was cut."""
    listed = ["of/share/5/to/account-object/name/ACC1"] if "acc1" in value else []
    assert told({"accountsToSet": {"value": value}}, operation="ALTER") == listed


@pytest.mark.parametrize("name", ["accountsToSet", "accountsToAdd", "accountsToRemove"])
@pytest.mark.parametrize("value", ["", " ", [""], [" ", ""], '[""]'])
def test_an_empty_text_is_no_account(value: Any, name: str) -> None:
    """docs/fields.md: empty texts count as missing. So does the account that stood there: it can be any."""
    assert told({name: {"value": value}}, operation="ALTER") == []


@pytest.mark.parametrize("name", ["accountsToSet", "accountsToAdd", "accountsToRemove"])
@pytest.mark.parametrize("value", ["acc1, acc2", "acc1,TRUNCATED", '"a",acc2', '"a,b', ["acc1,acc2"]])
def test_a_text_with_commas_is_neither_an_account_nor_a_list(value: Any, name: str) -> None:
    assert told({name: {"value": value}}, operation="ALTER") == []


@pytest.mark.parametrize("value", ['"a,b"', ['"a,b"']])
def test_a_comma_in_quotes_is_part_of_a_name(value: Any) -> None:
    assert told({"accountsToAdd": value}, operation="ALTER") == ["of/share/5/to/account-object/name/%22a%2Cb%22"]
