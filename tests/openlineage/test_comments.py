"""A comment is state of an object: every later event of its datasets has it, until it is changed or taken away.

A backend takes each event for the present state; an event without the comment would remove it.
"""

from __future__ import annotations

import json
from itertools import chain, zip_longest
from typing import TYPE_CHECKING, Any, Final

from tests import exports

if TYPE_CHECKING:
    from pathlib import Path

Json = dict[str, Any]
Shown = dict[str, str | None]


def table(name: str, number: int = 1) -> Json:
    return {"objectDomain": "Table", "objectId": number, "objectName": f"DB.S.{name}", "columns": [{"columnName": "A"}]}


def row(day: int, **told: Any) -> Json:
    query = f"q{day:02d}"
    return {"query_id": query, "query_start_time": f"2026-03-{day:02d}T00:00:00Z", "user_name": "U", **told}


def read(day: int, name: str = "T", number: int = 1) -> Json:
    return row(day, direct_objects_accessed=[table(name, number)], base_objects_accessed=[table(name, number)])


def change(day: int, operation: str = "ALTER", name: str = "T", number: int = 1, **properties: Any) -> Json:
    told = {"objectDomain": "Table", "objectId": number, "objectName": f"DB.S.{name}", "operationType": operation}
    return row(day, object_modified_by_ddl={**told, "properties": properties})


def swap(day: int, name: str, number: int, other: str, partner: int) -> Json:
    target = {"swapTargetDomain": said("Table"), "swapTargetId": {"value": partner}}
    return change(day, name=name, number=number, **target, swapTargetName=said(f"DB.S.{other}"))


def said(text: str) -> Json:
    return {"value": text}


def last_events(out: Path) -> dict[str, Shown]:
    """The description of each dataset in the last event that names it, in the order in which they are pushed: of each
    account.
    """
    found: dict[str, Shown] = {}
    for text in sorted(exports.events(out), key=lambda one: json.loads(one)["eventTime"]):
        event = json.loads(text)
        named = [event["dataset"]] if "dataset" in event else [*event["inputs"], *event["outputs"]]
        for one in named:
            shown = found.setdefault(one["namespace"], {})
            shown[one["name"].removeprefix("DB.S.")] = one["facets"].get("documentation", {}).get("description")
    return found


def export(out: Path, rows: list[Json], *options: str) -> None:
    given = exports.ndjson(rows, out.parent / "rows.ndjson")
    assert exports.export([given], out, "--outputs", "events", *options) == 0


HISTORIES: Final[dict[str, tuple[list[Json], Shown]]] = {
    "set, then read": ([change(1, comment=said("c")), read(2)], {"T": "c"}),
    "at creation": ([change(1, "CREATE", comment=said("c")), read(2)], {"T": "c"}),
    "changed": ([change(1, comment=said("c")), change(2, comment=said("d")), read(3)], {"T": "d"}),
    "emptied": ([change(1, comment=said("c")), change(2, comment=said("")), read(3)], {"T": None}),
    "unset": (
        [change(1, comment=said("c")), change(2, comment={"value": None}), read(3)],
        {"T": None},
    ),
    "unset as an operation": (
        [change(1, comment=said("c")), change(2, comment={"subOperationType": "UNSET"}), read(3)],
        {"T": None},
    ),
    "no text": ([change(1, comment=said("c")), change(2, comment=["d"]), read(3)], {"T": None}),
    "a text that looks like JSON": ([change(1, comment='{"a":1}'), read(2)], {"T": '{"a":1}'}),
    "another change": ([change(1, comment=said("c")), change(2, retention=said("1")), read(3)], {"T": "c"}),
    "renamed": (
        [change(1, comment=said("c")), change(2, objectName=said("DB.S.N")), read(3, "N")],
        {"T": "c", "N": "c"},
    ),
    "another object of the name": (
        [change(1, comment=said("c")), change(2, "CREATE", number=2), read(3, number=2)],
        {"T": None},
    ),
    "replaced under its id": ([change(1, comment=said("c")), change(2, "REPLACE"), read(3)], {"T": None}),
    "swapped": (
        [change(1, comment=said("c")), swap(2, "T", 1, "N", 2), swap(2, "N", 2, "T", 1)],
        {"T": None, "N": "c"},
    ),
    "swapped, one row": ([change(1, comment=said("c")), swap(2, "N", 2, "T", 1)], {"T": None, "N": "c"}),
    "swapped twice": (
        [change(1, comment=said("c")), swap(2, "T", 1, "N", 2), swap(3, "N", 1, "T", 2)],
        {"T": "c", "N": None},
    ),
    "another object renamed to the name": (
        [
            change(1, comment=said("c")),
            change(2, objectName=said("DB.S.N")),
            change(3, "ALTER", "O", 2, objectName=said("DB.S.T")),
        ],
        {"T": None, "N": "c", "O": None},
    ),
    "emptied under a new name": (
        [change(1, comment=said("c")), change(2, objectName=said("DB.S.N")), change(3, name="N", comment=said(""))],
        {"T": None, "N": None},
    ),
    "read without its id": ([change(1, comment=said("c")), read(2, number=0)], {"T": "c"}),
    "set without an id": ([change(1, number=0, comment=said("c")), read(2)], {"T": "c"}),
    "unset without its id": (
        [change(1, comment=said("c")), change(2, number=0, comment=said("")), read(3)],
        {"T": None},
    ),
    "changed without its id": (
        [change(1, comment=said("c")), change(2, number=0, comment=said("d")), read(3)],
        {"T": "d"},
    ),
    "dropped, then read without an id": (
        [change(1, comment=said("c")), change(2, "DROP"), read(3, number=0)],
        {"T": None},
    ),
    "dropped without its id, then read without": (
        [change(1, comment=said("c")), change(2, "DROP", number=0), read(3, number=0)],
        {"T": None},
    ),
    "dropped without its id, and still there": (
        [change(1, comment=said("c")), change(2, "DROP", number=0), read(3)],
        {"T": "c"},
    ),
    "renamed, then read without an id": (
        [change(1, comment=said("c")), change(2, objectName=said("DB.S.N")), read(3, number=0)],
        {"T": None, "N": "c"},
    ),
    "set without an id, before another object": (
        [read(1), change(2, number=0, comment=said("c")), read(3, number=2)],
        {"T": None},
    ),
    "set without an id, on another object": (
        [read(1), read(2, number=2), change(3, number=0, comment=said("c"))],
        {"T": "c"},
    ),
    "set without an id, before it was renamed to the name": (
        [change(1, number=0, comment=said("c")), change(2, name="N", objectName=said("DB.S.T")), read(3)],
        {"T": None, "N": None},
    ),
    "created anew without an id": (
        [change(1, comment=said("c")), change(2, "REPLACE", number=0), read(3, number=0)],
        {"T": None},
    ),
    "of a column": ([change(1, columns={"A": {"comment": said("c")}}), read(2)], {"T": None}),
}


def test_the_last_comment_counts_in_other_orders_and_in_updates(tmp_path: Path) -> None:
    """Each history is an account of its own, and each update has a row of each."""
    expected = {f"snowflake://ORG-H{number}": shown for number, (_, shown) in enumerate(HISTORIES.values())}
    of_each = [
        [
            {**one, "query_id": f"h{number}{one['query_id']}", "organization_name": "ORG", "account_name": f"H{number}"}
            for one in rows
        ]
        for number, (rows, _) in enumerate(HISTORIES.values())
    ]
    export(tmp_path / "once", [*chain(*of_each)])
    assert last_events(tmp_path / "once") == expected
    for name in ("in order", "from the last", "the first one last"):
        orders = [{"in order": rows, "from the last": rows[::-1]}.get(name, [*rows[1:], rows[0]]) for rows in of_each]
        for updated in zip_longest(*orders):
            export(tmp_path / name, [one for one in updated if one is not None], "--update")
        assert last_events(tmp_path / name) == expected, name


def test_a_comment_that_comes_late_is_in_the_events_of_later_days(tmp_path: Path) -> None:
    """A backend then has it, whichever of the days is pushed last."""
    for rows in ([read(1), read(3)], [change(2, comment=said("c"))]):
        export(tmp_path / "out", rows, "--update")
    (day,) = (tmp_path / "out" / "events" / "day=2026-03-03").glob("*.ndjson")
    told = [one for line in day.read_text("utf-8").splitlines() for one in json.loads(line).get("inputs", [])]
    assert [one["facets"]["documentation"]["description"] for one in told] == ["c"]
