"""The eight phases in which Snowflake truncates a long record: the rest is exported, and nothing is named after the
placeholder.
"""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, Any, Final

import pytest
from pyoxigraph import Literal, RdfFormat, parse

from tests import exports

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

Json = dict[str, Any]
CUT: Final = "TRUNCATED"
THING: Final[Json] = {"objectDomain": CUT, "objectId": -1, "objectName": CUT}
COLUMNS: Final = [{"columnId": -1, "columnName": CUT}]


def table(number: int, **more: Any) -> Json:
    column = {"columnId": 10 * number, "columnName": f"C{number}"}
    return {
        "objectDomain": "Table",
        "objectId": number,
        "objectName": f"D.S.T{number}",
        "columns": [{**column, **more}],
    }


def row() -> Json:
    source = {"objectDomain": "Table", "objectId": 1, "objectName": "D.S.T1", "columnName": "C1"}
    change = {"objectDomain": "Table", "objectId": 3, "objectName": "D.S.T3", "operationType": "CREATE"}
    return {
        "query_start_time": "2026-03-01 08:00:00.000 +0000",
        "user_name": "JSMITH",
        "direct_objects_accessed": [table(1)],
        "base_objects_accessed": [table(2)],
        "objects_modified": [table(3, directSources=[source], baseSources=[source])],
        "policies_referenced": [
            table(1, policies=[{"policyName": "D.S.P", "policyId": 9, "policyKind": "MASKING_POLICY"}])
        ],
        "object_modified_by_ddl": {
            **change,
            "properties": {"columns": {"C3": {"objectId": {"value": 30}, "subOperationType": "ADD"}}},
        },
    }


def _lineage(one: Json) -> None:
    one["objects_modified"][0]["columns"][0] |= {"directSources": [dict(THING, columnName=CUT)], "baseSources": CUT}


def _columns(name: str) -> Callable[[Json], None]:
    def cut(one: Json) -> None:
        one[name][0]["columns"] = COLUMNS

    return cut


def _whole(*names: str) -> Callable[[Json], None]:
    def cut(one: Json) -> None:
        one.update({name: [THING] for name in names})

    return cut


def _properties(one: Json) -> None:
    one["object_modified_by_ddl"]["properties"]["columns"] = CUT


PHASES: Final[tuple[tuple[Callable[[Json], None], set[str]], ...]] = (
    (_lineage, {"objects_modified"}),
    (_columns("policies_referenced"), {"policies_referenced"}),
    (_columns("base_objects_accessed"), {"base_objects_accessed"}),
    (_columns("direct_objects_accessed"), {"direct_objects_accessed"}),
    (_properties, {"object_modified_by_ddl"}),
    (_whole("policies_referenced"), set()),
    (_whole("base_objects_accessed", "direct_objects_accessed"), set()),
    (_whole("objects_modified"), set()),
)
"""What each phase cuts, and where it is the first to; a record has gone through all phases before its last one."""


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder, rows, one = tmp_path_factory.mktemp("cut"), [], row()
    for number, (cut, _) in enumerate(PHASES, start=1):
        cut(one)
        rows.append({"query_id": f"phase {number}", **deepcopy(one)})
    assert exports.export([exports.ndjson(rows, folder / "rows.ndjson")], folder / "out", "--strict") == 0
    assert exports.report(folder / "out")["truncated"] == len(PHASES)
    return folder / "out"


def test_nothing_is_named_after_the_sentinel(exported: Path) -> None:
    for quad in parse(path=exported / "graph" / "part-00000.ttl", format=RdfFormat.TURTLE):
        assert CUT not in quad.subject.value
        if isinstance(quad.object, Literal):
            is_said = quad.predicate.value.endswith(("#incomplete", "#properties"))
            assert is_said or CUT not in quad.object.value, quad
        else:
            assert CUT not in str(quad.object), quad
            assert not str(quad.object).endswith("/-1>")


@pytest.mark.parametrize("phase", range(1, 9))
def test_each_query_says_where_it_is_truncated(phase: int, exported: Path) -> None:
    quads = parse(path=exported / "graph" / "part-00000.ttl", format=RdfFormat.TURTLE)
    said = {
        quad.object.value
        for quad in quads
        if quad.predicate.value.endswith("#incomplete") and quad.subject.value.endswith(f"/query/phase%20{phase}")
    }
    assert said == {f"{place} {CUT}" for _, places in PHASES[:phase] for place in places}


def test_the_rest_is_exported(exported: Path) -> None:
    """Objects outlive their columns; at the end the DDL change alone says which table it was."""
    quads = list(parse(path=exported / "graph" / "part-00000.ttl", format=RdfFormat.TURTLE))
    used = {(quad.subject.value[-1], str(quad.object)) for quad in quads if quad.predicate.value.endswith("prov#used")}
    read = {phase for phase, version in used if "/table/1/" in version}
    written = {quad.object.value[-1] for quad in quads if quad.predicate.value.endswith("#wasGeneratedBy")}
    assert read == {"1", "2", "3", "4", "5", "6"}
    assert written >= {"1", "2", "3", "4", "5", "6", "7"}
