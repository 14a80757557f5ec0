"""The ends of tags, policies and grants, also where the object or the tag is dropped and restored."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any, Final

import pytest

from exporter.graph.store import load
from tests import exports
from tests.model.told import GOOD

if TYPE_CHECKING:
    from pathlib import Path

    from tests.histories import Json

TABLE: Final = {"objectDomain": "Table", "objectId": 13, "objectName": "D.S.T"}
MASK: Final = {"objectDomain": "Masking policy", "objectId": 7, "objectName": "D.S.MASK"}
TAG: Final = {"objectDomain": "Tag", "objectId": 9, "objectName": "D.S.PII"}
SHARE: Final = {"objectDomain": "Share", "objectId": 5, "objectName": "PARTNERS"}
SCHEMA: Final = {"objectDomain": "Schema", "objectName": "D.S"}
NAMELESS: Final = {"objectDomain": "Table", "objectName": "D.S.N"}
ON_TABLE: Final = {"SECURABLE_OBJECT_DOMAIN": "Table", "SECURABLE_OBJECT_ID": 13, "SECURABLE_OBJECT_NAME": "D.S.T"}
QUESTION: Final = """PREFIX ah: <https://w3id.org/access-history#>
SELECT ?from ?until WHERE { ?held ah:validFrom ?from ; (ah:settingOn|ah:grantedObject) ?on .
  OPTIONAL { ?held ah:validUntil ?until } } ORDER BY ?from ?until"""


def ddl(day: int, operation: str, changed: Json, **properties: Any) -> Json:
    """A change at noon of a day in March."""
    return {
        **GOOD,
        "query_id": f"q{day:02}",
        "query_start_time": f"2026-03-{day:02} 12:00:00.000 +0000",
        "object_modified_by_ddl": {**changed, "operationType": operation, "properties": properties},
    }


def element(thing: Json, sub_operation: str = "ADD") -> Json:
    return {thing["objectName"]: {"objectId": {"value": thing["objectId"]}, "subOperationType": sub_operation}}


def masked(day: int, sub_operation: str = "ADD", on: Json = TABLE) -> Json:
    column = {"subOperationType": "ALTER", "maskingPolicies": element(MASK, sub_operation)}
    return ddl(day, "ALTER", on, columns={"EMAIL": column})


def tagged(day: int) -> Json:
    return ddl(day, "ALTER", TABLE, tags=element(TAG))


def granted(day: int) -> Json:
    return ddl(day, "GRANT", SHARE, grant={"value": {"PRIVILEGES": ["SELECT"], **ON_TABLE}})


def drop(day: int, what: Json, operation: str = "DROP") -> Json:
    return ddl(day, operation, what)


CASES: Final[dict[str, tuple[list[Json], list[tuple[int, int | None]]]]] = {
    "nothing is dropped": ([masked(1), tagged(2), granted(3)], [(1, None), (2, None), (3, None)]),
    "the object is dropped": ([masked(1), tagged(2), drop(4, TABLE)], [(1, 4), (2, 4)]),
    "the policy is dropped": ([masked(1), tagged(2), drop(4, MASK)], [(1, 4), (2, None)]),
    "the tag is dropped": ([masked(1), tagged(2), drop(4, TAG)], [(1, None), (2, 4)]),
    "first the tag, then the object": ([tagged(1), drop(3, TAG), drop(5, TABLE)], [(1, 3)]),
    "first the object, then the tag": ([tagged(1), drop(3, TABLE), drop(5, TAG)], [(1, 3)]),
    "it was unset before": ([masked(1), masked(3, "DROP"), drop(5, TABLE), drop(6, MASK)], [(1, 3)]),
    "it was set again before": ([masked(1), masked(3), drop(5, TABLE)], [(1, 3), (3, 5)]),
    "the object comes back": ([masked(1), drop(3, TABLE), drop(5, TABLE, "UNDROP")], [(1, None)]),
    "it comes back, and is masked anew": (
        [masked(1), drop(3, TABLE), drop(5, TABLE, "UNDROP"), masked(7)],
        [(1, 7), (7, None)],
    ),
    "the tag comes back": ([tagged(1), drop(3, TAG), drop(5, TAG, "UNDROP")], [(1, None)]),
    "the tag comes back too late": ([tagged(1), drop(3, TAG), tagged(5), drop(7, TAG, "UNDROP")], [(1, 3), (5, None)]),
    "dropped twice": ([masked(1), drop(3, TABLE), drop(5, TABLE), masked(6)], [(1, 3), (6, None)]),
    "another of the name": (
        [masked(1, on=NAMELESS), drop(3, NAMELESS), drop(5, NAMELESS, "CREATE"), masked(7, on=NAMELESS)],
        [(1, 3), (7, None)],
    ),
    "the column is dropped": (
        [masked(1), tagged(2), ddl(4, "ALTER", TABLE, columns={"EMAIL": {"subOperationType": "DROP"}})],
        [(1, 4), (2, None)],
    ),
    "what was granted is dropped": ([granted(1), drop(3, TABLE)], [(1, 3)]),
    "the share is dropped": ([granted(1), drop(3, SHARE), drop(5, TABLE)], [(1, 3)]),
    "the share is granted anew": ([granted(1), drop(3, TABLE), drop(4, TABLE, "UNDROP"), granted(6)],
                                  [(1, 6), (6, None)]),
    # CREATE OR REPLACE by rows that give no other id
    "the tag is replaced": ([tagged(1), drop(3, TAG, "REPLACE"), tagged(5), masked(6)], [(1, 3), (5, None), (6, None)]),
    "the tag is replaced twice": (
        [tagged(1), drop(3, TAG, "REPLACE"), tagged(5), drop(7, TAG, "REPLACE")], [(1, 3), (5, 7)],
    ),
    "the tag that replaced it comes back": (
        [tagged(1), drop(3, TAG, "REPLACE"), tagged(4), drop(5, TAG), drop(7, TAG, "UNDROP")], [(1, 3), (4, None)],
    ),
    "the tag is dropped, then made anew": (
        [tagged(1), drop(3, TAG), drop(5, TAG, "REPLACE"), drop(7, TAG, "UNDROP")], [(1, 3)],
    ),
    "the policy is replaced": ([masked(1), drop(4, MASK, "REPLACE"), tagged(5)], [(1, 4), (5, None)]),
    "the tag with a mask is replaced": (
        [ddl(1, "ALTER", TAG, maskingPolicies=element(MASK)), drop(4, TAG, "REPLACE")], [(1, 4)],
    ),
    "the tag with a mask is created if it is not there": (
        [tagged(1), ddl(2, "ALTER", TAG, maskingPolicies=element(MASK)), drop(4, TAG, "CREATE")],
        [(1, None), (2, None)],
    ),
    "the schema is replaced": ([ddl(1, "ALTER", SCHEMA, tags=element(TAG)), drop(4, SCHEMA, "REPLACE")], [(1, 4)]),
    "the schema is created if it is not there": (
        [ddl(1, "ALTER", SCHEMA, tags=element(TAG)), drop(4, SCHEMA, "CREATE")], [(1, None)],
    ),
    "the share is replaced": ([granted(1), drop(4, SHARE, "REPLACE")], [(1, None)]),
    "it is dropped and granted in another order": ([drop(1, TABLE), drop(2, TABLE, "UNDROP"), granted(3)], [(3, None)]),
}  # fmt: skip


def held(out: Path) -> list[tuple[int, int | None]]:
    """From which day until which, of everything that was set."""
    found = load(out).query(QUESTION)
    days = [(one["from"], one["until"]) for one in found]  # type: ignore[union-attr, index]
    return [(int(since.value[8:10]), until and int(until.value[8:10])) for since, until in days]


@pytest.mark.parametrize("name", CASES)
def test_the_end_of_a_setting(name: str, tmp_path: Path) -> None:
    rows, expected = CASES[name]
    assert exports.export([exports.ndjson(rows, tmp_path / "rows.ndjson")], tmp_path / "out") == 0
    assert held(tmp_path / "out") == expected


@pytest.mark.parametrize("name", CASES)
def test_the_end_of_a_setting_day_by_day(name: str, tmp_path: Path) -> None:
    """One row an update, the last one late."""
    rows, expected = CASES[name]
    for row in [*rows[:-2], *rows[:-3:-1]]:
        one = exports.ndjson([row], tmp_path / "row.ndjson")
        assert exports.export([one], tmp_path / "out", "--update") == 0
    assert held(tmp_path / "out") == expected


# --- drawn histories against a plain reading --------------------------------------------------------------------------

OTHER: Final = {"objectDomain": "Table", "objectId": 14, "objectName": "D.S.O"}


def drawn(rng: Random) -> list[Json]:
    """A change a day: tags, masks and grants on two tables, and drops of everything."""
    told: list[Json] = []
    for day in range(1, rng.randint(5, 28)):
        table = rng.choice((TABLE, OTHER))
        tag = ddl(day, "ALTER", table, tags=element(TAG, rng.choice(("ADD", "DROP"))))
        on_table = {**ON_TABLE, "SECURABLE_OBJECT_ID": table["objectId"]}
        operation = rng.choice(("grant", "grant", "revoke"))
        grant = ddl(day, operation.upper(), SHARE, **{operation: {"value": {"PRIVILEGES": ["SELECT"], **on_table}}})
        mask = masked(day, rng.choice(("ADD", "DROP")), on=table)
        dropped = drop(day, rng.choice((table, MASK, TAG, SHARE)), rng.choice(("DROP", "UNDROP")))
        told.append(rng.choice((tag, grant, mask, dropped)))
    return told


def plainly(rows: list[Json]) -> list[tuple[int, int | None]]:
    """From which day until which each setting held, read off the rows: it ends with the next of the same, or where one
    of its two ends was dropped and was not back by then.
    """
    told = [(day_of(row), *said(row["object_modified_by_ddl"])) for row in rows]
    drops = [(day, what, operation) for day, what, operation in told if operation in {"DROP", "UNDROP"}]
    found = []
    for day, what, operation in told:
        if operation == "set":
            later = (other for other, same, does in told if other > day and same == what and does in {"set", "unset"})
            next_day = next(later, None)
            ends = [gone(drops, end, day, next_day) for end in what[:2]]
            found.append((day, min([end for end in (*ends, next_day) if end is not None], default=None)))
    return sorted(found, key=lambda pair: pair[0])


def gone(drops: list[tuple[int, Any, str]], end: Any, since: int, until: int | None) -> int | None:
    at: int | None = None
    for day, what, operation in drops:
        if what == (end,) and day > since and (until is None or day < until):
            at = None if operation == "UNDROP" else at or day
    return at


def day_of(row: Json) -> int:
    return int(row["query_start_time"][8:10])


def said(change: Json) -> tuple[tuple[Any, ...], str]:
    """What two things a change is about, and whether it sets, unsets or drops."""
    own, operation, properties = change["objectId"], change["operationType"], change["properties"]
    if not properties:
        return (own,), operation
    if operation in {"GRANT", "REVOKE"}:
        (granted_,) = properties.values()
        return (own, granted_["value"]["SECURABLE_OBJECT_ID"]), "set" if operation == "GRANT" else "unset"
    ((name, one),) = (properties.get("tags") or properties["columns"]["EMAIL"]["maskingPolicies"]).items()
    known = {thing["objectName"]: thing["objectId"] for thing in (TAG, MASK)}
    return (own, known[name]), "unset" if one["subOperationType"] == "DROP" else "set"


@pytest.mark.parametrize("seed", range(5))
def test_random_histories_hold_as_a_plain_reading_says(seed: int, tmp_path: Path) -> None:
    rng = Random(seed)
    rows = drawn(rng)
    assert exports.export([exports.ndjson(rows, tmp_path / "rows.ndjson")], tmp_path / "once", "--force") == 0
    assert held(tmp_path / "once") == plainly(rows)
    late = rng.sample(rows, len(rows) // 2)
    for part in ([row for row in rows if row not in late], late):
        if part:
            file = exports.ndjson(part, tmp_path / "part.ndjson")
            assert exports.export([file], tmp_path / "out", "--update", "--force") == 0
    assert held(tmp_path / "out") == plainly(rows)
