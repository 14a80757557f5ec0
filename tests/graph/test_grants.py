"""Grants in the graph: to whom, on what, and for which period, whether exported at once or day by day."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest

from exporter.graph.store import load
from tests import exports
from tests.model.told import GOOD

if TYPE_CHECKING:
    from pathlib import Path

    from tests.histories import Json

SHARE: Final = {"objectDomain": "Share", "objectId": 5, "objectName": "PARTNERS"}
VIEW: Final = {"SECURABLE_OBJECT_DOMAIN": "View", "SECURABLE_OBJECT_ID": 12, "SECURABLE_OBJECT_NAME": "D.S.V"}
TABLE: Final = {"SECURABLE_OBJECT_DOMAIN": "Table", "SECURABLE_OBJECT_ID": 13, "SECURABLE_OBJECT_NAME": "D.S.T"}
TABLES: Final = {
    "SECURABLE_OBJECT_DOMAIN": "Table",
    "SECURABLE_OBJECT_SCOPE": "D.S",
    "SECURABLE_OBJECT_SCOPE_DOMAIN": "Schema",
}
QUESTION: Final = """PREFIX ah: <https://w3id.org/access-history#>
PREFIX prov: <http://www.w3.org/ns/prov#>
SELECT ?object ?all ?privilege ?grantee ?kind ?query ?from ?until WHERE {
  ?change ah:hasGrant ?grant .
  ?grant a ah:Grant, prov:Entity ; ah:grantedObject/ah:domain ?domain ; ah:objectName ?object ;
    ah:grantee/ah:domain ?grantee_domain ; ah:granteeName ?grantee ; ah:grantedTo ?kind ;
    prov:wasGeneratedBy/ah:queryId ?query ; ah:validFrom ?from .
  OPTIONAL { ?grant ah:privilege ?privilege }
  OPTIONAL { ?grant ah:onAll ?all }
  OPTIONAL { ?grant ah:validUntil ?until }
} ORDER BY ?query ?privilege ?grantee"""


def ddl(day: int, operation: str, changed: Json = SHARE, **properties: Any) -> Json:
    """A change at noon of a day in March; its query is called by the day."""
    said = {name: {"value": value} for name, value in properties.items()}
    return {
        **GOOD,
        "query_id": f"q{day:02}",
        "query_start_time": f"2026-03-{day:02} 12:00:00.000 +0000",
        "object_modified_by_ddl": {**changed, "operationType": operation, "properties": said},
    }


def select(**on: Any) -> Json:
    return {"PRIVILEGES": ["SELECT"], **on}


ROWS: Final = [
    ddl(1, "CREATE", secureObjectsOnly=True),
    ddl(2, "GRANT", grant=select(**VIEW)),
    ddl(3, "GRANT", grant=select(**TABLES)),
    ddl(4, "GRANT", grant={"ROLES": ["D.READER"]}),
    ddl(5, "ALTER", accountsToAdd=["NORTH", "SOUTH"]),
    ddl(6, "GRANT", grant={"PRIVILEGES": ["REFERENCES"], **VIEW}),
    ddl(7, "REVOKE", revoke={"PRIVILEGES": ["ALL"], **VIEW}),
    ddl(8, "ALTER", accountsToSet=["SOUTH", "WEST"]),
    ddl(9, "GRANT", grant=select(**VIEW)),
    ddl(10, "GRANT", grant=select(**VIEW)),
    ddl(11, "ALTER", accountsToRemove=["WEST"]),
    ddl(12, "REVOKE", revoke={"PRIVILEGES": ["SELECT"], **TABLES}),
    ddl(13, "GRANT", grant=select(**TABLE)),
    ddl(14, "GRANT", grant={"PRIVILEGES": ["SELECT", "REFERENCES"], **VIEW}),
    ddl(15, "REVOKE", revoke=select(**TABLES)),
]
GRANTS: Final = [
    ("D.S.V", None, "SELECT", "PARTNERS", "SHARE", 2, 7),
    ("D.S", "TABLE", "SELECT", "PARTNERS", "SHARE", 3, 12),
    ("D.READER", None, None, "PARTNERS", "SHARE", 4, None),
    ("PARTNERS", None, None, "NORTH", "ACCOUNT", 5, 8),
    ("PARTNERS", None, None, "SOUTH", "ACCOUNT", 5, 8),
    ("D.S.V", None, "REFERENCES", "PARTNERS", "SHARE", 6, 7),
    ("PARTNERS", None, None, "SOUTH", "ACCOUNT", 8, None),
    ("PARTNERS", None, None, "WEST", "ACCOUNT", 8, 11),
    ("D.S.V", None, "SELECT", "PARTNERS", "SHARE", 9, 10),
    ("D.S.V", None, "SELECT", "PARTNERS", "SHARE", 10, 14),
    ("D.S.T", None, "SELECT", "PARTNERS", "SHARE", 13, 15),
    ("D.S.V", None, "REFERENCES", "PARTNERS", "SHARE", 14, None),
    ("D.S.V", None, "SELECT", "PARTNERS", "SHARE", 14, None),
]


def told(out: Path) -> list[tuple[Any, ...]]:
    rows = []
    for one in load(out).query(QUESTION):  # type: ignore[union-attr]  # pyoxigraph types results and terms wider
        texts = [one[name] and one[name].value for name in ("object", "all", "privilege", "grantee", "kind")]  # type: ignore[index]  # pyoxigraph types results wider
        days = [one[name] and int(one[name].value[8:10]) for name in ("from", "until")]  # type: ignore[index]  # pyoxigraph types results wider
        assert one["query"].value == f"q{days[0]:02}"  # type: ignore[index]  # pyoxigraph types results wider
        rows.append((*texts, *days))
    return rows


def test_a_grant_holds_until_it_is_revoked_or_created_again(tmp_path: Path) -> None:
    assert exports.export([exports.ndjson(ROWS, tmp_path / "rows.ndjson")], tmp_path / "out") == 0
    assert told(tmp_path / "out") == GRANTS


@pytest.mark.parametrize("parts", [[ROWS[:3], ROWS[3:7], ROWS[7:]], [ROWS[6:], ROWS[:6]], [ROWS[1::2], ROWS[::2]]])
def test_day_by_day_as_well(parts: list[list[Json]], tmp_path: Path) -> None:
    for part in parts:
        rows = exports.ndjson(part, tmp_path / "rows.ndjson")
        assert exports.export([rows], tmp_path / "out", "--update") == 0
    assert told(tmp_path / "out") == GRANTS
