"""Read Parquet into records with the same values as Spark: nulls are left out, times are texts, and an instant has its
offset. A column of doubles becomes texts with as few digits as give the number; in arrays and objects these are numbers
as Java writes them. A column's NaN is null, as pandas writes it. A value of the type JSON, as DuckDB writes it for
values of several types, is what its JSON says.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date, datetime, time
from decimal import Decimal
from math import isfinite, isnan
from typing import Any, Final

import pyarrow as pa
from msgspec import DecodeError, Raw, json
from pyarrow import parquet

from exporter.errors import UsageError
from exporter.input.times import iso, micros_of

_ROWS_AT_ONCE: Final = 64
_BYTES_AT_ONCE: Final = 512 << 20
"""Memory for a batch of one column, if every row had the column's whole content: a shared value is stored once."""


_VARIANT: Final = re.compile(r"extension<[^<>]*variant|(?=.*\bmetadata: \w*binary)(?=.*\bvalue: \w*binary)")
"""Finds a VARIANT in the text of a type: two columns of bytes, with the names and the values of its JSON (Parquet's
VariantEncoding.md).
"""


JSON_TYPE: Final = "extension<arrow.json>"
"""Parquet's logical type JSON, a text of JSON, as the text of a type."""


def columns(path: str) -> list[str]:
    """The names of a file's columns. Raises UsageError for a column of VARIANT, since its bytes are not JSON."""
    schema = parquet.read_schema(path)
    variant = next((field.name for field in schema if _VARIANT.search(str(field.type))), None)
    if variant is not None:
        raise UsageError(
            f"{path}: the column {variant} has the type VARIANT, which only --engine spark reads: use it, or write the "
            "column as text, with TO_JSON"
        )
    return list(schema.names)


def parquet_records(path: str) -> Iterator[dict[str, Any]]:
    """The records of a file, column -> value, ready to be encoded as JSON. Raises UsageError if the file is truncated
    or is not Parquet.
    """
    try:
        with parquet.ParquetFile(path, coerce_int96_timestamp_unit="us") as file:
            legacy = {column.name for column in map(file.schema.column, range(len(file.schema))) if _is_int96(column)}
            of_json = {field.name: field.type for field in file.schema_arrow if has_json(str(field.type))}
            for batch in file.iter_batches(batch_size=_at_once(file.metadata)):
                for record in _rows(_with_times(batch, legacy)):
                    record |= {name: _with_json(record[name], kind) for name, kind in of_json.items()}
                    columns = ((name, _in_column(value)) for name, value in record.items())
                    yield {name: value for name, value in columns if value is not None}
    except (pa.ArrowException, OSError) as error:
        first_line = (str(error).splitlines() or ["unreadable"])[0]
        raise UsageError(f"{path}: cannot be read: {first_line}") from None


def _at_once(file: parquet.FileMetaData) -> int:
    """The number of rows in a batch."""
    groups = (file.row_group(group) for group in range(file.num_row_groups))
    sizes = (group.column(at).total_uncompressed_size for group in groups for at in range(group.num_columns))
    largest: int = max(sizes, default=1)
    return max(1, min(_ROWS_AT_ONCE, _BYTES_AT_ONCE // max(1, largest)))


def _rows(batch: pa.RecordBatch) -> list[dict[str, Any]]:
    try:
        return list(batch.to_pylist(maps_as_pydicts="lossy"))
    except UnicodeDecodeError:
        return list(_as_bytes(batch).to_pylist(maps_as_pydicts="lossy"))


def _as_bytes(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The batch with texts as bytes: a file can declare a column as UTF-8 that is not."""
    for at, field in enumerate(batch.schema):
        if pa.types.is_string(field.type) or pa.types.is_large_string(field.type):
            kind = pa.large_binary() if pa.types.is_large_string(field.type) else pa.binary()
            batch = batch.set_column(at, field.with_type(kind), batch.column(at).cast(kind))
        elif isinstance(field.type, pa.JsonType):
            texts = batch.column(at).storage
            batch = batch.set_column(at, field.with_type(pa.binary()), texts.cast(pa.binary()))
    return batch


def has_json(kind: str) -> bool:
    """Whether a type, as text, is JSON or has it inside."""
    return JSON_TYPE in kind


def _with_json(value: Any, kind: pa.DataType) -> Any:
    """A value of this type with JSON in place of the texts that have it."""
    if value is None:
        return None
    if isinstance(kind, pa.JsonType):
        return _json(str(_as_text(value)))
    if pa.types.is_struct(kind):
        return {field.name: _with_json(value[field.name], field.type) for field in kind}
    if pa.types.is_map(kind):
        return {name: _with_json(member, kind.item_type) for name, member in value.items()}
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return [_with_json(element, kind.value_type) for element in value]
    return value


def _json(text: str) -> str | Raw | None:
    """The JSON; a text that is none stays a text."""
    try:
        compact = json.format(text, indent=-1)
    except DecodeError:
        return text
    if compact.startswith('"'):
        return json.decode(compact, type=str)
    return None if compact == "null" else Raw(compact.encode())


def _is_int96(column: parquet.ColumnSchema) -> bool:
    """Whether it is a time as older tools write it: an instant, although its type has no time zone."""
    return bool(column.physical_type == "INT96")


def _with_times(batch: pa.RecordBatch, legacy: set[str]) -> pa.RecordBatch:
    """The batch with times in microseconds, the finest unit of Python. ``legacy``: columns whose times are in UTC."""
    for at, field in enumerate(batch.schema):
        if pa.types.is_timestamp(field.type) and (field.type.unit == "ns" or field.name in legacy):
            kind = pa.timestamp("us", "UTC" if field.name in legacy else field.type.tz)
            batch = batch.set_column(at, field.with_type(kind), batch.column(at).cast(kind, safe=False))
    return batch


PLAIN_BELOW: Final = 1e16
"""Smaller numbers in a column of doubles are written without an exponent, since they may be times or ids."""


def _in_column(value: Any) -> Any:
    if isinstance(value, float):
        return None if isnan(value) else _digits(value, PLAIN_BELOW)
    return _plain(value)


def _plain(value: Any) -> Any:
    """The value as JSON. A null in a struct is left out; a null in an array stays."""
    if value is None or isinstance(value, str | bool | int | Raw):
        return value
    if isinstance(value, dict):
        return {
            _as_text(name) if isinstance(name, bytes) else name: _plain(member)
            for name, member in value.items()
            if member is not None
        }
    if isinstance(value, list):
        return [_plain(element) for element in value]
    if isinstance(value, float):
        return Raw(_digits(value).encode()) if isfinite(value) else _digits(value)
    return _as_text(value)


_JAVA_PLAIN: Final = (1e-3, 1e7)
"""Between these Java writes a double without an exponent: Double.toString."""


def _digits(value: float, below: float = _JAVA_PLAIN[1]) -> str:
    """A double as Java writes it. ``below``: smaller numbers have no exponent."""
    if not isfinite(value):
        return "NaN" if isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if value == 0 or _JAVA_PLAIN[0] <= abs(value) < below:
        return repr(value)
    digits, exponent = format(Decimal(repr(value)).normalize(), "E").split("E")
    return f"{digits if '.' in digits else f'{digits}.0'}E{int(exponent)}"


def _as_text(value: Any) -> str | Raw:
    if isinstance(value, datetime):
        text = iso(micros_of(value)).replace("T", " ").removesuffix("Z")
        return text if value.tzinfo is None else f"{text}+00:00"
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, Decimal):
        return Raw(format(value, "f").encode())
    return value.decode("utf-8", errors="replace") if isinstance(value, bytes) else str(value)
