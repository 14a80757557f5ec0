"""The grants of a share, from its properties ``grant`` and ``revoke``."""

from __future__ import annotations

import json
from typing import Any

import pytest

from exporter.model.facts import Setting
from exporter.openlineage.changes import grants_of
from exporter.openlineage.facets import without_none

ON = {"SECURABLE_OBJECT_DOMAIN": "Table", "SECURABLE_OBJECT_ID": 7, "SECURABLE_OBJECT_NAME": 'D.S."t"'}
TOLD_ON = {"objectDomain": "Table", "objectId": "7", "objectName": 'D.S."t"'}
SCOPE = {"SECURABLE_OBJECT_SCOPE": "ALL", "SECURABLE_OBJECT_SCOPE_DOMAIN": "Schema"}
CASES: list[tuple[str, Any, list[dict[str, Any]]]] = [
    ("grant", {"PRIVILEGES": ["SELECT", "REFERENCES"], **ON},
     [{"operation": "GRANT", "privileges": ["SELECT", "REFERENCES"], **TOLD_ON}]),
    ("revoke", {"ROLES": ["R1"]}, [{"operation": "REVOKE", "roles": ["R1"]}]),
    ("grant", {"PRIVILEGES": "USAGE", **SCOPE},
     [{"operation": "GRANT", "privileges": ["USAGE"], "scope": "ALL", "scopeDomain": "Schema"}]),
    ("grant", [{"PRIVILEGES": ["A"]}, {"PRIVILEGES": ["B"]}],
     [{"operation": "GRANT", "privileges": ["A"]}, {"operation": "GRANT", "privileges": ["B"]}]),
    ("grant", {"PRIVILEGES": ["A", None, 1, {"x": [2]}], "ROLES": []},
     [{"operation": "GRANT", "privileges": ["A", "1", '{"x":[2]}'], "roles": []}]),
    ("grant", {"PRIVILEGES": None, "ROLES": 5, "SECURABLE_OBJECT_NAME": True},
     [{"operation": "GRANT", "roles": ["5"], "objectName": "true"}]),
    # What Snowflake cut is no name.
    ("grant", {"PRIVILEGES": ["A", "TRUNCATED"], **ON, "SECURABLE_OBJECT_ID": -1, "SECURABLE_OBJECT_NAME": "TRUNCATED"},
     [{"operation": "GRANT", "privileges": ["A"], "objectDomain": "Table"}]),
    ("grant", {"PRIVILEGES": ["TRUNCATED"], "ROLES": "TRUNCATED", **ON}, [{"operation": "GRANT", **TOLD_ON}]),
    # Nor is an empty text.
    ("grant", {"PRIVILEGES": ["A", ""], "ROLES": [" "], "SECURABLE_OBJECT_DOMAIN": "", "SECURABLE_OBJECT_ID": 7},
     [{"operation": "GRANT", "privileges": ["A"], "objectId": "7"}]),
    ("grant", [{"ROLES": "R"}, None], [{"operation": "GRANT", "roles": ["R"]}, {"operation": "GRANT"}]),
]  # fmt: skip


def grants(word: str, value: str) -> list[dict[str, Any]]:
    setting = Setting("grant/share/1", "share/1", None, word, None, None, None, None, value)
    return [without_none(grant) for grant in grants_of(setting)]


@pytest.mark.parametrize(("word", "said", "expected"), CASES)
def test_a_grant_has_privilege_grantee_and_object(word: str, said: Any, expected: list[dict[str, Any]]) -> None:
    assert grants(word, json.dumps(said)) == expected


@pytest.mark.parametrize("value", ["x{", '{"PRIVILEGES":["A"]} and more', '[1,{"PRIVILEGES":["A"]}]', '{"A":1', ""])
def test_other_json_is_no_grant(value: str) -> None:
    assert grants("grant", value) == []
