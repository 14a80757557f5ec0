"""Rows of which any part is odd: absent, null, empty, of another JSON type, or there twice.

The shape of a row comes from the documents' types, so a new field is drawn too. Rows of drawn histories are among them,
with some of their values changed. Where an odd value makes a row unreadable, it has to be quarantined.
"""

from __future__ import annotations

import json
from copy import deepcopy
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from exporter.model.fact_tables import QUERY_HISTORY
from tests import aggregates
from tests.hard_ddl import DDL_ROWS
from tests.hard_objects import Json, World
from tests.hard_rows import ACCESS_ROWS
from tests.input.input_forms import _NATIVE, write_form
from tests.model.ddl_forms import converted
from tests.model.every_field import OBJECT_ARRAYS, OPERATIONS, below, element
from tests.openlineage import loads

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from random import Random

    import msgspec.inspect as types

ODD: Final[tuple[Any, ...]] = (
    None, "", " ", "\t", "TRUNCATED", "null", "undefined", "\\N", [], {}, [None], [[]], [{}], [""], 0, -1, 1, 5, 2.5,
    -0.0, 1e300, 10**30, True, False, "0", "-1", "05", "5.0", "x", ".", "..", "a.b", '"', '""', '"a.b"', "$SYS_VIEW_7",
    {"value": "x"}, {"value": None}, {"value": []}, {"value": {"value": 1}}, {"": ""}, ["x", 5], '["x"]', '{"a":1}',
    "[", "nul\u0000", "ü 🦖 \u2028", "a" * 3_000, "s3://b/%", "2026-03-01", "1", "🦖", "'", "\\", "<x>",
)  # fmt: skip
NAMES: Final = (
    *("D.S.A", "D.S.B", "d.s.a", '"D"."S"."a"', "A", "D.S.A", "D..A", '"x""y".S."%2F"'),
    *("D.S.$SYS_VIEW_7", "D.S.A__DBT_TMP"),
)
DOMAINS: Final = (
    *("Table", "View", "TABLE", "Dynamic table", "Materialized view", "Stage", "Function", "Procedure", "Stream"),
    *("Database", "Schema", "Role", "Share", "Tag", "Masking policy", "FUTURE KIND", "table ", "External_Table"),
)
USUAL: Final[dict[str, tuple[Any, ...]]] = {
    "objectDomain": DOMAINS,
    "objectId": (1, 2, 3, "1", "2", 2, "JSMITH"),
    "objectName": NAMES,
    "columnName": ("A", "B", "a", "$1", "C D"),
    "columnId": (1, 2, "3"),
    "argumentSignature": ("()", "(A NUMBER)", "(A NUMBER, B VARCHAR)"),
    "dataType": ("NUMBER", "VARCHAR"),
    "stageKind": ("Internal Named", "External Named", "Table", "User"),
    "location": ("s3://b/a.csv", "gcs://b/x", "azure://a.blob.core.windows.net/c/"),
    "accountName": ("OTHER", "AB12345"),
    "policyKind": ("MASKING_POLICY", "ROW_ACCESS_POLICY", "PROJECTION_POLICY"),
    "policyId": (11, "12"),
    "policyName": ("G.P.MASK", "G.P.ROWS"),
    "joinType": ("INNER_JOIN", "LEFT_OUTER_JOIN"),
    "type": ("INNER_JOIN", "ASOF_JOIN"),
}
STATEMENTS: Final = (
    ("TRUNCATE_TABLE", "truncate table D.S.A"),
    ("CREATE_TABLE_AS_SELECT", "create or replace temporary table A as select 1"),
    ("CREATE", "create schema D.T clone D.S at (offset => -60)"),
    ("CREATE", 'create or replace database "e" clone'),
    ("CREATE", "create transient table D.S.B clone D.S.A"),
    ("INSERT", "insert into D.S.A select * from D.S.B"),
)
"""Types and texts of QUERY_HISTORY that change the meaning of a row, and one that does not."""
DAYS: Final = ("2026-03-01", "2026-03-02", "2026-03-03")
"""The rows are of these days."""


class OddRows:
    """Draws rows; ``queries``: the number of query ids among which they choose."""

    def __init__(self, rng: Random, queries: int) -> None:
        self._rng, self._world = rng, World.build(rng)
        self._ids = [f"q{number}" for number in range(queries)]
        self._kinds = [element(kind) for kind in OBJECT_ARRAYS.values()]

    def rows(self, number: int) -> list[Json]:
        """This many rows, some of them twice."""
        found: list[Json] = []
        while len(found) < number:
            found.append(deepcopy(self._rng.choice(found)) if found and self._rng.random() < 0.05 else self.row())
        return found

    def row(self) -> Json:
        """A row of the documents' types, or of a drawn statement; with odd values, none of them in one of four."""
        rng = self._rng
        made = self._full() if rng.random() < 0.6 else rng.choice((*ACCESS_ROWS, *DDL_ROWS))(rng, self._world)[0]
        made = deepcopy(made)  # rows of the generators share parts
        query_id = rng.choice(self._ids)
        number = self._ids.index(query_id)
        row = {**self._in_form(made), "query_id": query_id, "user_name": ("JSMITH", "名前 🦖")[number % 2]}
        row["query_start_time"] = f"{DAYS[number % 3]}T0{number % 10}:00:00Z"
        if rng.random() < 0.3:
            row |= {"parent_query_id": rng.choice(self._ids), "root_query_id": rng.choice((None, *self._ids))}
        for _ in range(rng.choice((0, 1, 2, 5))):
            change(rng, row if rng.random() < 0.1 else rng.choice(_structured(row)))
        return row

    def load(self) -> list[Json]:
        """The rows of a load with helpers, in one of the sessions that the others are of; some have an odd value."""
        rng, rows = self._rng, deepcopy(loads.Rows(loads.drawn(self._rng, 12)).rows)
        for row in rows:
            row["query_start_time"] = f"{rng.choice(DAYS)}{row['query_start_time'][10:]}"
            if rng.random() < 0.3:
                change(rng, rng.choice(_structured(row)))
        return rows

    def calls(self) -> Json:
        """A row of AGGREGATE_ACCESS_HISTORY: its calls are those of a row, half of them with odd values."""
        rng = self._rng
        row = {**dict.fromkeys(aggregates.COLUMNS), **self.row()}
        begin = datetime.fromisoformat(f"{rng.choice(DAYS)}T0{rng.randrange(10)}:00:00+00:00")
        end = begin + timedelta(minutes=rng.choice((1, 1, 60, 1_500)))
        made = {name: row[name] for name in aggregates.COLUMNS} | {
            "interval_start_time": begin.isoformat(),
            "interval_end_time": end.isoformat(),
            "query_parameterized_hash": rng.choice((None, "h1", "h2")),
            "calls": rng.choice((1, 5, "7", 120)),
        }
        for _ in range(rng.choice((0, 1))):
            change(rng, made)
        return made

    def line(self) -> Json:
        """A line of QUERY_HISTORY; half of them with odd values."""
        rng, number = self._rng, self._rng.randrange(len(self._ids))
        usual = {"end_time": f"{rng.choice((DAYS[number % 3],) * 5 + DAYS)} 09:30:00 +0000"}
        line = {name: usual.get(name, number if kind == "bigint" else "X") for name, kind in QUERY_HISTORY.items()}
        line["query_id"] = self._ids[number]
        if rng.random() < 0.5:
            line["query_type"], line["query_text"] = rng.choice(STATEMENTS)
        for _ in range(rng.choice((0, 1, 2, 4))):
            change(rng, line)
        return line

    def _full(self) -> Json:
        """A row with elements in some of its arrays."""
        rng = self._rng
        row: Json = {name: self._value(kind, "") for name, kind in OBJECT_ARRAYS.items() if rng.random() < 0.5}
        if rng.random() < 0.4:
            row["object_modified_by_ddl"] = {
                **self._named(),
                "operationType": rng.choice(OPERATIONS),
                "properties": self._properties(),
            }
        agent = {"agentType": "CORTEX_AGENT", "agentId": rng.choice((7, "7")), "agentName": "N"}
        given = {
            "agents_info": [deepcopy(agent) for _ in range(rng.randrange(3))],
            "additional_properties": {"irc_event_type": "LoadTable"},
            "invoker_identity": {"a": [1]},
            "event_source": "horizon_irc",
            "column_of_next_year": [1, {}],
        }
        return row | {name: value for name, value in given.items() if rng.random() < 0.2}

    def _named(self) -> Json:
        names = ("objectDomain", "objectId", "objectName", "argumentSignature")
        return {name: self._rng.choice(USUAL[name]) for name in names if self._rng.random() < 0.8}

    def _properties(self) -> Any:
        """Properties of a drawn DDL row, or with the fields of several."""
        rng = self._rng
        each = [row["object_modified_by_ddl"] for _ in range(2) for row in rng.choice(DDL_ROWS)(rng, self._world)[:1]]
        found = [deepcopy((one or {}).get("properties") or {}) for one in each]
        return {**found[0], **found[1]} if rng.random() < 0.5 else found[0]

    def _in_form(self, row: Json) -> Json:
        """The row with its DDL properties in one of their four forms, or each in one of its own."""
        rng, ddl = self._rng, row.get("object_modified_by_ddl")
        if not ddl or not isinstance(ddl.get("properties"), dict):
            return row
        arrays, bare = (rng.choice((0, 0.5, 1)) for _ in range(2))
        properties = converted(ddl["properties"], lambda: (rng.random() < arrays, rng.random() < bare))
        return {**row, "object_modified_by_ddl": {**ddl, "properties": properties}}

    def _value(self, kind: types.Type, name: str) -> Any:
        """A value of a type; arrays may have an element again, with or without some of its fields."""
        rng, each, fields = self._rng, element(kind), below(kind)
        if each is not None:
            found = [self._value(each, name) for _ in range(rng.choice((0, 1, 1, 2)))]
            if found and rng.random() < 0.4:
                again = deepcopy(rng.choice(found))
                for field in ("objectName", "objectId", "accountName", "location"):
                    if isinstance(again, dict) and rng.random() < 0.4:
                        again.pop(field, None)
                found.insert(rng.randint(0, len(found)), again)
            return found
        if fields is not None:
            wanted = [one for one in fields if rng.random() < (0.85 if one in {"objectDomain", "columnName"} else 0.6)]
            return {one: self._value(fields[one], one) for one in wanted}
        return rng.choice(USUAL.get(name, ("X", 1)))


def _structured(row: Json) -> list[Any]:
    """The arrays and objects of a row; the row itself if it has none."""
    return [value for value in row.values() if isinstance(value, dict | list) and value] or [row]


def change(rng: Random, row: Any) -> None:
    """Change one place of a row, if it has any: remove it, put an odd value there, or a value of another place."""
    places = list(_places(row))
    if not places:
        return
    holder, at = rng.choice(places)
    what = rng.random()
    if what < 0.25:
        del holder[at]
    elif what < 0.85:
        holder[at] = deepcopy(rng.choice(ODD))
    else:
        other, there = rng.choice(places)
        value = deepcopy(other[there])
        if len(json.dumps(value)) < 2_000:
            holder[at] = value


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every place in a value: what holds it, and its name or number there."""
    each = value.items() if isinstance(value, dict) else enumerate(value)
    for at, below_it in list(each):
        yield value, at
        if isinstance(below_it, dict | list):
            yield from _places(below_it)


# --- forms ------------------------------------------------------------------------------------------------------------


def write(rows: list[Json], folder: Path, form: str) -> Path:
    """The rows in a file of a form of :data:`tests.input_forms.FORMS`. In Parquet, a value that its column has no place
    for becomes text or null, as a query that writes Parquet would do.
    """
    natives: dict[str, dict[str, pa.DataType]] = {
        "parquet-native": _NATIVE,
        "parquet-text": {},
        "parquet-lists": dict.fromkeys(_NATIVE, pa.list_(pa.string())),
    }
    native = natives.get(form)
    if native is None:
        return write_form(rows, folder, form)
    names = list(dict.fromkeys(name for row in rows for name in row if name))
    schema = pa.schema([(name, native.get(name, pa.string())) for name in names])
    table = pa.Table.from_pylist(
        [{field.name: fitted(row.get(field.name), field.type) for field in schema} for row in rows], schema
    )
    path = folder / f"{form}.parquet"
    pq.write_table(table, path)
    return path


def fitted(value: Any, kind: pa.DataType) -> Any:
    """The value as the type holds it; null where it cannot."""
    if value is None:
        return None
    if pa.types.is_list(kind):
        return [fitted(one, kind.value_type) for one in value] if isinstance(value, list) else None
    if pa.types.is_struct(kind):
        if not isinstance(value, dict):
            return None
        return {field.name: fitted(value.get(field.name), field.type) for field in kind}
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
