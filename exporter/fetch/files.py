"""Batches of a view's rows -> one Parquet file for each day, which appears complete or not at all.

The files are ``ROWS/access_history/2026-11-21.parquet`` and so on. Arrays are JSON text, as Snowflake gives them. Times
are instants in microseconds, the finest resolution that Spark reads.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import date
    from pathlib import Path

    import pyarrow as pa

_ROWS_AT_ONCE: Final = 10_000
"""Rows of a row group: a reader of the file holds so many values of a column at once."""
_HIDDEN: Final = "."


def path(rows: Path, folder: str, day: date) -> Path:
    """The file of a day."""
    return rows / folder / f"{day}.parquet"


def write(file: Path, batches: Iterable[pa.Table]) -> int:
    """Writes the batches in place of the file's old content; returns the number of rows. Without rows there is no file.
    If it fails, the old file stays.
    """
    from pyarrow import parquet  # noqa: PLC0415 - slow to import

    new = file.with_name(f"{_HIDDEN}{file.name}")
    writer, count = None, 0
    try:
        for batch in batches:
            table = alike(batch)
            if writer is None:
                file.parent.mkdir(parents=True, exist_ok=True)
                writer = parquet.ParquetWriter(new, table.schema, compression="zstd")
            writer.write_table(table.cast(writer.schema), row_group_size=_ROWS_AT_ONCE)
            count += table.num_rows
    except BaseException:
        with suppress(OSError):
            new.unlink()
        raise
    finally:
        if writer is not None:
            writer.close()
    _put(new, file, is_there=writer is not None)
    return count


def _put(new: Path, file: Path, *, is_there: bool) -> None:
    if not is_there:
        file.unlink(missing_ok=True)
        return
    descriptor = os.open(new, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    new.replace(file)


def alike(batch: pa.Table) -> pa.Table:
    """The batch with types that do not depend on its values. Snowflake sends numbers in as few bytes as a batch needs,
    so they are written as text. Nanoseconds are truncated to microseconds. Names are in lower case, as in the documents
    of the views.
    """
    import pyarrow as pa  # noqa: PLC0415 - slow to import

    fields = [pa.field(field.name.lower(), _type(field.type)) for field in batch.schema]
    return batch.rename_columns([field.name for field in fields]).cast(pa.schema(fields), safe=False)


def _type(kind: pa.DataType) -> pa.DataType:
    from pyarrow import string, timestamp, types  # noqa: PLC0415 - slow to import

    if types.is_timestamp(kind):  # without a zone, it is from a session in UTC
        return timestamp("us", "UTC")
    is_kept = types.is_boolean(kind) or types.is_floating(kind) or types.is_nested(kind)
    return kind if is_kept else string()


def clean(rows: Path, folder: str) -> None:
    """Removes incomplete files of a fetch that was killed."""
    for left in (rows / folder).glob(f"{_HIDDEN}*.parquet"):
        left.unlink()
