"""Rows with user names in every possible place. None of these names may be in any output."""

from __future__ import annotations

import gzip
import json
import re
from typing import TYPE_CHECKING, Any, Final

import pyarrow.parquet as pq

from tests.input.bad_rows import GOOD

if TYPE_CHECKING:
    from pathlib import Path

Json = dict[str, Any]
USERS: Final = (
    *("CANARY_ONE", "canary two", "canary.three@example.com", "O'Canary", 'can"ary', "金糸雀", "9071234567"),
    *("Canáry Four", "<canary>&five", "CANARY\\SIX"),
)
"""Users who run queries, as Snowflake stores their names."""
OTHERS: Final = ("CANARY_INVOKER", "CANARY_STAGE", "CANARY_OBJECT", "CANARY_SHEET", "CANARY_HISTORY", "CANARY_GRANTEE")
"""Users whom the rows only speak of: as invoker, by a stage, as an object, by worksheets; and in QUERY_HISTORY."""
_FOUND: Final = re.compile(
    r'canary|can\\*"+ary|canáry|can\\u00e1ry|can%22ary|can%c3%a1ry|金糸雀|9071234567', re.IGNORECASE
)


def table(name: str, **more: Any) -> Json:
    return {"objectDomain": "Table", "objectName": name, "columns": [{"columnName": "A"}], **more}


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def row(number: int, user: str, **columns: Any) -> Json:
    return {**GOOD, "query_id": f"q{number}", "direct_objects_accessed": [], "user_name": user, **columns}


def rows() -> list[Json]:
    """Rows that can be read."""
    every = [row(number, user, **_of(user)) for number, user in enumerate(USERS)]
    one = USERS[0]
    every += [
        row(100, "ADMIN", direct_objects_accessed=[table(f"D.DBT_{one}.T"), table('D."canary_one".T', objectId=7)]),
        row(101, "ADMIN", invoker_identity=OTHERS[0], base_objects_accessed=[table(f"D.S.{OTHERS[0]}")]),
        row(102, "ADMIN", invoker_identity={"type": "USER", "name": OTHERS[0]}),
        row(103, "ADMIN", objects_modified=[_stage(OTHERS[1])], direct_objects_accessed=[table(f"D.{OTHERS[1]}.T")]),
        row(104, "ADMIN", direct_objects_accessed=[{"objectDomain": "User", "objectId": 9, "objectName": OTHERS[2]}]),
        row(105, "ADMIN", direct_objects_accessed=[table(f"USER${OTHERS[3]}.PUBLIC.T"), table(f"D.S.{OTHERS[3]}_T")]),
        row(106, "ADMIN", agents_info=[{"agentType": "CORTEX_AGENT", "agentId": one, "agentName": f"agent of {one}"}]),
        row(107, "ADMIN", additional_properties={"irc_event_type": "LoadTable", "for": one.lower(), "\tof": [one]}),
        row(108, "ADMIN", column_of_next_year={"owner": one, one: 1}, event_source="snowflake_sql"),
        row(109, "ADMIN", object_modified_by_ddl=_change(one)),
        row(110, one, parent_query_id="q110"),
        row(111, one, direct_objects_accessed=[table("D.S.T")]),
        row(111, USERS[1], direct_objects_accessed=[table("D.S.T")]),
    ]
    return every


def _of(user: str) -> Json:
    """A query that reads a table of the user's, and writes to the user's stage, and to a place outside."""
    own = table(f"D.{quoted(user)}.T", columns=[{"columnName": user}])
    source = {"objectDomain": "Table", "objectName": own["objectName"], "columnName": user}
    written = table("D.S.COPY", columns=[{"columnName": "A", "directSources": [source], "baseSources": [source]}])
    outside = {"location": f"s3://bucket/home/{user}/a.csv"}
    return {"direct_objects_accessed": [own], "objects_modified": [_stage(user), written, outside]}


def _stage(user: str) -> Json:
    return {"objectDomain": "Stage", "objectId": user, "objectName": user, "stageKind": "User"}


def _change(user: str) -> Json:
    of_column = {user: {"objectId": {"value": 5}, "tags": {"D.S.OWNER": {"value": user, "subOperationType": "ADD"}}}}
    properties = {
        "columns": of_column,
        "comment": {"value": f"by {user},\nfor canary two"},
        "tags": {f"D.{user}.OWNER": {"tagValue": user.lower(), "subOperationType": "ADD"}},
        "policyBody": {"value": f"case when current_user() = '{user}' then VAL end"},
        "owner": {"value": json.dumps({"name": user})},
    }
    return {"objectDomain": "Table", "objectName": f"D.S.OF_{user}", "operationType": "ALTER", "properties": properties}


def bad_lines() -> list[str]:
    """Lines of NDJSON that are no rows."""
    one, good = USERS[0], {**GOOD, "user_name": USERS[0]}
    return [
        json.dumps({**good, "query_start_time": one}),
        json.dumps({**good, "query_start_time": "yesterday", "user_name": 7}),
        json.dumps({**good, "query_id": None, "direct_objects_accessed": [_stage("CANARY_UNSEEN")]}),
        json.dumps({**good, "direct_objects_accessed": {"note": f"of\n{one}"}}),
        json.dumps({**GOOD, "user_name": None, "user": "CANARY_ELSEWHERE"}),
        json.dumps(good)[:-20],
        f"{one}, who is no JSON",
        json.dumps({"user_name": "CANARY_ALONE"}),
        json.dumps([good]),
    ]


def history() -> list[Json]:
    one = USERS[0]
    texts = [
        f"SELECT * FROM d.s.t WHERE owner = '{one}' -- for {USERS[1]}\n/*{one.lower()}*/",
        f'GRANT ROLE analyst TO USER {OTHERS[5]}; SELECT "can""ary", \'O\'\'Canary\', "canary two"',
        f"PUT file:///home/{one.lower()}/a.csv @~/canary_one; USE DATABASE USER${OTHERS[3]}",
    ]
    lines: list[Json] = [
        {"query_id": f"q{number}", "query_text": text, "user_name": one} for number, text in enumerate(texts)
    ]
    told = {"query_tag": json.dumps({"user": one, "app": "dbt"}), "role_name": f"ROLE_{one}", "warehouse_name": one}
    lines += [
        {"query_id": "q5", **told, "database_name": f"DEV_{one}", "schema_name": USERS[1], "USER_NAME": OTHERS[4]}
    ]
    return [*lines, {"query_id": "q6", "query_text": f"-- {OTHERS[4]}", "end_time": one}]


def found(folder: Path) -> list[str]:
    """Every canary in the files below a folder, with the file that has it."""
    return [
        f"{path.relative_to(folder)}: …{text[max(0, one.start() - 60) : one.end() + 20]}"
        for path in sorted(folder.rglob("*"))
        if path.is_file()
        for text in [text_of(path)]
        for one in _FOUND.finditer(text)
    ]


def in_text(text: str) -> list[str]:
    """Every canary in a text."""
    return _FOUND.findall(text)


def text_of(path: Path) -> str:
    """The content of a file that was written, as text."""
    if path.suffix == ".parquet":
        return "\n".join(map(str, pq.read_table(path).to_pylist()))
    content = path.read_bytes()
    return (gzip.decompress(content) if path.suffix == ".gz" else content).decode("utf-8", "replace")
