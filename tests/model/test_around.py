"""Schemas and databases of objects by their names, and the role and warehouse of a query by its line of
QUERY_HISTORY.
"""

from __future__ import annotations

import pytest

from exporter.input.query_history import History
from exporter.model.objects import containers, runs_in


@pytest.mark.parametrize(
    ("kind", "name", "expected"),
    [
        ("table", "D.S.T", ["schema/name/D.S", "database/name/D"]),
        ("table", 'd."s.x".t', ["schema/name/D.%22s.x%22", "database/name/D"]),
        ("masking-policy", "D.S.P", ["schema/name/D.S", "database/name/D"]),
        ("of-tomorrow", "D.S.X", ["schema/name/D.S", "database/name/D"]),
        ("schema", "D.S", ["database/name/D"]),
        ("database-role", "D.R", ["database/name/D"]),
        ("table", "S.T", []),
        ("table", "T", []),
        ("table", "A.B.C.D", []),
        ("table", 'D.S."open', []),
        ("database", "D", []),
        ("role", "D.S.R", []),
        ("share", "ORG.ACC.SHARE", []),
        ("location", "a.b.c", []),
        ("user-stage", "A.B.C", []),
    ],
)
def test_an_object_is_in_what_its_name_says(kind: str, name: str, expected: list[str]) -> None:
    assert [thing.key for thing in containers(kind, name)] == expected


def test_a_container_has_the_one_spelling_that_stands_for_its_name() -> None:
    assert [thing.name for thing in containers("table", 'd."S".t')] == ["D.S", "D"]


@pytest.mark.parametrize(
    ("history", "expected"),
    [
        (History(role_name="ANALYST", role_type="ROLE", warehouse_name="WH"),
         ["role/name/ANALYST", "warehouse/name/WH"]),
        (History(role_name="Analyst", warehouse_name="w h"), ["role/name/%22Analyst%22", "warehouse/name/%22w%20h%22"]),
        (History(role_name="READER", role_type="DATABASE_ROLE"), ["database-role/name/READER"]),
        (History(role_name="TRUNCATED", warehouse_name=" "), []),
        (History(role_type="ROLE"), []),
    ],
)  # fmt: skip
def test_a_query_runs_as_a_role_on_a_warehouse(history: History, expected: list[str]) -> None:
    assert [thing.key for thing in runs_in(history)] == expected
