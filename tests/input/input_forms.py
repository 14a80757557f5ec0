"""The same rows in every format in which they leave Snowflake: native or textual arrays, NDJSON, JSON, CSV, Parquet."""

from __future__ import annotations

import csv
import gzip
import io
import json
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

Json = dict[str, Any]
_VARIANTS: Final = ("additional_properties", "invoker_identity")


def write_form(rows: list[Json], folder: Path, form: str) -> Path:
    """Write rows to one file in ``folder`` in the given form (a key of FORMS) and return its path."""
    name, write = FORMS[form]
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(write(rows))
    return path


def _line(row: Json) -> str:
    return json.dumps(row, ensure_ascii=False, separators=(",", ":"))


def _lines(rows: Iterable[Json], end: str = "\n") -> bytes:
    return "".join(_line(row) + end for row in rows).encode()


def _textual(row: Json, encode: Callable[[Any], str]) -> Json:
    """The row with its arrays and objects as text."""
    return {name: encode(value) if isinstance(value, list | dict) else value for name, value in row.items()}


def _pretty(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)


def _doubled(row: Json) -> Json:
    """Arrays and objects as JSON text in JSON text; VARIANT columns as JSON text."""
    once = {name: _line(value) if name in _VARIANTS and value else value for name, value in row.items()}
    return _textual(once, lambda value: json.dumps(json.dumps(value)))


def _in_texts(row: Json) -> Json:
    """As a cast TO_ARRAY leaves the row: each element of an array is JSON text, and other JSON is text."""
    arrays = {name: values for name, values in row.items() if _is_list(values)}
    lists = {name: [None if one is None else _line(one) for one in values] for name, values in arrays.items()}
    return _textual({name: value for name, value in row.items() if name not in lists}, _line) | lists


def _is_list(value: Any) -> bool:
    return isinstance(value, list)


def _columns(rows: Iterable[Json]) -> list[str]:
    return list(dict.fromkeys(name for row in rows for name in row))


def _csv(rows: list[Json]) -> bytes:
    """As COPY INTO writes it: arrays as JSON text, NULL as \\N, quotes doubled, a header in upper case."""
    text, names = io.StringIO(), _columns(rows)
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([name.upper() for name in names])
    for row in (_textual(row, _pretty) for row in rows):
        writer.writerow(["\\N" if row.get(name) is None else row[name] for name in names])
    return text.getvalue().encode()


def _parquet(rows: list[Json], schema: pa.Schema) -> bytes:
    sink = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), sink)
    return sink.getvalue()


def _parquet_text(rows: list[Json]) -> bytes:
    schema = pa.schema([(name.upper(), pa.string()) for name in _columns(rows)])
    return _parquet([{k.upper(): v for k, v in _textual(row, _line).items()} for row in rows], schema)


def _parquet_lists(rows: list[Json]) -> bytes:
    """As COPY INTO writes arrays that are cast: lists of JSON text. One is a list of bytes, as of tools that do not say
    which bytes are text.
    """
    lists = {name: pa.string() for row in rows for name, value in row.items() if _is_list(value)}
    lists["base_objects_accessed"] = pa.binary()
    kinds = {name: pa.list_(lists[name]) if name in lists else pa.string() for name in _columns(rows)}
    upper = [{name.upper(): value for name, value in _in_texts(row).items()} for row in rows]
    return _parquet(upper, pa.schema([(name.upper(), kind) for name, kind in kinds.items()]))


def _struct(texts: str, **others: pa.DataType) -> pa.StructType:
    return pa.struct([*((name, pa.string()) for name in texts.split()), *others.items()])


_IDENTITY = "objectDomain objectId objectName argumentSignature dataType"
_SOURCES = pa.list_(_struct(f"{_IDENTITY} columnName columnId"))
_POLICIES = pa.list_(_struct("policyName policyId policyKind"))
_NODE = _struct(_IDENTITY)
_LINEAGE = dict.fromkeys(("directSources", "baseSources", "directSourceColumns", "baseSourceColumns"), _SOURCES)
_COLUMNS = pa.list_(_struct("columnName columnId", policies=_POLICIES, **_LINEAGE))
_JOINS = pa.list_(_struct("joinType type", node=_NODE, joinObject=_NODE))
_OBJECTS = pa.list_(
    _struct(
        f"{_IDENTITY} stageKind location accountName",
        locations=pa.list_(pa.string()),
        columns=_COLUMNS,
        joinObjects=_JOINS,
        policies=_POLICIES,
    )
)
_NATIVE: Final[dict[str, pa.DataType]] = {
    **dict.fromkeys(("direct_objects_accessed", "base_objects_accessed", "objects_modified"), _OBJECTS),
    **dict.fromkeys(("policies_referenced", "provider_base_objects_accessed"), _OBJECTS),
    "provider_policies_referenced": _OBJECTS,
    "object_modified_by_ddl": _struct(f"{_IDENTITY} operationType properties"),
    "agents_info": pa.list_(_struct("agentType agentId agentName")),
}


def _parquet_native(rows: list[Json]) -> bytes:
    """Real lists and structs; ``properties`` and what has no fixed fields stay JSON text, ids are text."""
    schema = pa.schema([(name, _NATIVE.get(name, pa.string())) for name in _columns(rows)])
    return _parquet([{field.name: _as(row.get(field.name), field.type) for field in schema} for row in rows], schema)


def _as(value: Any, kind: pa.DataType) -> Any:
    """The value as the Arrow type wants it, loudly when the type has no place for a key."""
    if value is None:
        return None
    if pa.types.is_list(kind):
        return [_as(element, kind.value_type) for element in value]
    if pa.types.is_struct(kind):
        fields = {field.name: field.type for field in kind}
        return {name: _as(element, fields[name]) for name, element in value.items()}
    return value if isinstance(value, str) else _line(value)


FORMS: Final[dict[str, tuple[str, Callable[[list[Json]], bytes]]]] = {
    "ndjson": ("rows.ndjson", _lines),
    "ndjson-gz": ("rows.ndjson.gz", lambda rows: gzip.compress(_lines(rows), mtime=0)),
    "ndjson-upper": ("rows.ndjson", lambda rows: _lines({k.upper(): v for k, v in row.items()} for row in rows)),
    "ndjson-crlf-bom": ("rows.ndjson", lambda rows: b"\xef\xbb\xbf" + _lines(rows, "\r\n")),
    "ndjson-sparse": (
        "rows.ndjson",
        lambda rows: _lines({k: v for k, v in row.items() if v is not None} for row in rows),
    ),
    "json-array": ("rows.json", lambda rows: json.dumps(rows, indent=2).encode()),
    "json-text": ("rows.ndjson", lambda rows: _lines(_textual(row, _pretty) for row in rows)),
    "json-double": ("rows.ndjson", lambda rows: _lines(_doubled(row) for row in rows)),
    "json-elements": ("rows.ndjson", lambda rows: _lines(map(_in_texts, rows))),
    "csv": ("rows.csv", _csv),
    "csv-gz": ("rows.csv.gz", lambda rows: gzip.compress(_csv(rows), mtime=0)),
    "parquet-text": ("rows.parquet", _parquet_text),
    "parquet-native": ("rows.parquet", _parquet_native),
    "parquet-lists": ("rows.parquet", _parquet_lists),
}
"""Form -> (file name, bytes of the file)."""
