"""The grants of a share, from its properties ``grant`` and ``revoke``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from exporter.openlineage.pieces import GRANTS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

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
]  # fmt: skip


@pytest.mark.parametrize(("word", "said", "expected"), CASES)
def test_a_grant_tells_what_to_whom_and_on_what(
    spark: SparkSession, word: str, said: Any, expected: list[dict[str, Any]]
) -> None:
    rows = spark.createDataFrame([(word, json.dumps(said))], "property string, value string")
    found = rows.selectExpr(f"to_json({GRANTS}) AS grants").first()
    assert found is not None
    assert json.loads(found.grants) == expected
