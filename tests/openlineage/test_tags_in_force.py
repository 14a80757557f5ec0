"""The tags of an output are those in force after its query: what later rows bring back or drop changes nothing of it
(docs/openlineage.md). Query ``qN`` of a story runs on day N; updates, day by day, must give the same events.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import pytest

from tests import exports
from tests.ask.stories import days, flat

if TYPE_CHECKING:
    from pathlib import Path

Json = dict[str, Any]
TABLE: Final[Json] = {"objectDomain": "Table", "objectName": "D.S.A", "objectId": 9}
WRITE: Final[Json] = {"objects_modified": [{**TABLE, "columns": [{"columnName": "C"}]}]}
_OF_TAG: Final = ("DROP", "UNDROP", "CREATE", "REPLACE")


def ddl(thing: Json, operation: str, **properties: Any) -> Json:
    return {"object_modified_by_ddl": {**thing, "operationType": operation, "properties": properties}}


def tag(operation: str, number: int, **properties: Any) -> Json:
    return ddl({"objectDomain": "Tag", "objectName": "G.T.Z", "objectId": number}, operation, **properties)


def schema(operation: str, number: int, **properties: Any) -> Json:
    return ddl({"objectDomain": "Schema", "objectName": "G.T", "objectId": number}, operation, **properties)


def renamed(new: str) -> Json:
    return {"objectName": {"value": f"G.{new}"}}


def set_tag(number: int, value: str = "x") -> Json:
    element = {"subOperationType": "ADD", "tagValue": {"value": value}, "objectId": {"value": number}}
    return ddl(TABLE, "ALTER", tags={"G.T.Z": element})


def on_column(number: int, column: str = "C") -> Json:
    tags = {"G.T.Z": {"subOperationType": "ADD", "tagValue": {"value": "x"}, "objectId": {"value": number}}}
    return ddl(TABLE, "ALTER", columns={column: {"tags": tags}})


def rename(former: str, new: str) -> Json:
    return ddl(TABLE, "ALTER", columns={former: {"objectName": {"value": new}}})


STORIES: Final[dict[str, list[Json]]] = {
    # tag 7 replaces another one before it is set on the table
    "undropped": [
        tag("CREATE", 3), tag("REPLACE", 7), set_tag(7), WRITE, tag("DROP", 7), tag("UNDROP", 7), WRITE,
    ],
    "dropped-before": [
        tag("CREATE", 3), tag("DROP", 3), tag("CREATE", 7), set_tag(7), WRITE, tag("DROP", 7), WRITE, tag("UNDROP", 7),
        WRITE,
    ],
    # tag 7 is replaced itself, the new one renamed, and 7 brought back
    "brought-back": [
        tag("CREATE", 3), tag("REPLACE", 7), set_tag(7), WRITE, tag("REPLACE", 8), WRITE,
        tag("ALTER", 8, **renamed("T.BAD")), tag("UNDROP", 7), WRITE,
    ],
    # the same, and its column gets another name before and after
    "column-renamed": [
        tag("CREATE", 3), tag("REPLACE", 7), on_column(7), rename("C", "E"), WRITE, tag("REPLACE", 8),
        rename("E", "F"), WRITE, tag("ALTER", 8, **renamed("T.BAD")), tag("UNDROP", 7), WRITE, rename("F", "G"),
    ],
    # the schema of a former tag is dropped, and brought back after that of the present one
    "schema-restored": [
        tag("CREATE", 3), schema("DROP", 70), schema("CREATE", 71), tag("CREATE", 7), set_tag(7), WRITE,
        schema("ALTER", 71, **renamed("T2")), schema("UNDROP", 70), WRITE,
    ],
    "schema-of-the-tag-restored": [
        tag("CREATE", 7), on_column(7), WRITE, schema("DROP", 70), rename("C", "E"), WRITE, schema("UNDROP", 70), WRITE,
    ],
}  # fmt: skip
X: Final = "x"
ON: Final[dict[str, dict[str, list[str]]]] = {
    "undropped": {"q3": [X], "q4": [X], "q7": [X]},
    "dropped-before": {"q4": [X], "q5": [X], "q7": [], "q9": [X]},
    "brought-back": {"q3": [X], "q4": [X], "q6": [], "q9": [X]},
    "column-renamed": {"q3": ["C"], "q4": ["E"], "q5": ["E"], "q7": [], "q8": [], "q11": ["F"], "q12": ["G"]},
    "schema-restored": {"q5": [X], "q6": [X], "q9": [X]},
    "schema-of-the-tag-restored": {"q2": ["C"], "q3": ["C"], "q5": [], "q6": [], "q8": ["E"]},
}
"""The query -> the column that has the tag, or X for the table."""


def shown(events: list[str]) -> dict[str, list[str]]:
    found = {}
    for event in map(json.loads, events):
        for output in event.get("outputs", ()) if event.get("eventType") == "COMPLETE" else ():
            query = event["run"]["facets"]["externalQuery"]["externalQueryId"]
            found[query] = [one.get("field", X) for one in output["facets"].get("tags", {"tags": []})["tags"]]
    return found


@pytest.mark.parametrize("name", STORIES)
def test_the_tags_of_an_output_are_those_in_force_after_its_query(name: str, tmp_path: Path) -> None:
    rows, _ = days(name, STORIES[name])
    once, daily = tmp_path / "once", tmp_path / "daily"
    assert exports.export([exports.ndjson(flat(rows), tmp_path / "rows.ndjson")], once) == 0
    assert shown(exports.events(once)) == ON[name]
    for number, of_day in enumerate(rows):
        given = exports.ndjson(of_day, tmp_path / f"{number}.ndjson")
        assert exports.export([given], daily, "--update") == 0
    assert shown(exports.events(daily)) == ON[name]
