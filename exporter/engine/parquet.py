"""Write tables of facts as Parquet without Spark."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet

from exporter.queries.tables import FACTS

if TYPE_CHECKING:
    from pathlib import Path

_COLUMNS: Final = pa.list_(pa.struct([("column_name", pa.string()), ("column_id", pa.string())]))
_AGENTS: Final = pa.list_(
    pa.struct([("agent_type", pa.string()), ("agent_id", pa.string()), ("agent_name", pa.string())])
)
_TIME: Final = pa.timestamp("us", tz="UTC")
_TYPES: Final = {
    "string": pa.string(),
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "timestamp": _TIME,
    "array<string>": pa.list_(pa.string()),
    "array<struct<column_name: string, column_id: string>>": _COLUMNS,
    "array<struct<agent_type: string, agent_id: string, agent_name: string>>": _AGENTS,
}


def write(table: str, lines: Path, folder: Path) -> None:
    """Write the rows of a table as a Parquet file in ``folder``. ``lines``: a file with one JSON object on each line;
    if it does not exist, the table is empty.
    """
    text = lines.read_text(encoding="utf-8") if lines.is_file() else ""
    rows = [json.loads(line) for line in text.split("\n") if line]
    types = {name: _TYPES[kind.removesuffix(" not null")] for name, kind in FACTS[table].items()}
    arrays = [_array([row.get(name) for row in rows], kind) for name, kind in types.items()]
    folder.mkdir(parents=True)
    parquet.write_table(pa.Table.from_arrays(arrays, names=list(types)), folder / "part-00000.parquet")


def _array(values: list[Any], kind: pa.DataType) -> pa.Array:
    if kind != _TIME:
        return pa.array(values, kind)
    texts = [None if value is None else value.removesuffix("Z") for value in values]
    return pc.assume_timezone(pc.cast(pa.array(texts, pa.string()), pa.timestamp("us")), "UTC")
