"""Batches of a view's rows -> one Parquet file for each day, which appears whole or not at all.

The files are ``ROWS/access_history/2026-11-21.parquet`` and so on. Arrays are JSON text in them, as Snowflake gives
them, and times are instants in microseconds, the finest that Spark reads.
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
"""Rows of a row group: what a reader of the file holds of a column."""
_HIDDEN: Final = "."


def path(rows: Path, folder: str, day: date) -> Path:
    """The file of a day."""
    return rows / folder / f"{day}.parquet"


def write(file: Path, batches: Iterable[pa.Table]) -> int:
    """Write the batches in place of what the file held; returns the number of rows. There is no file where there is no
    row. A failure leaves the old file.
    """
    from pyarrow import parquet  # noqa: PLC0415 - slow to import

    new = file.with_name(f"{_HIDDEN}{file.name}")
    writer, count = None, 0
    try:
        for batch in batches:
            table = alike(batch)
            if writer is None:
                file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
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
    """The batch with types that do not hang on its values: Snowflake gives numbers in as few bytes as a batch needs, so
    they are written as text. Nanoseconds are cut. Names are in lower case, as in the documents of the views.
    """
    import pyarrow as pa  # noqa: PLC0415 - slow to import

    fields = [pa.field(field.name.lower(), _type(field.type)) for field in batch.schema]
    return batch.rename_columns([field.name for field in fields]).cast(pa.schema(fields), safe=False)


def _type(kind: pa.DataType) -> pa.DataType:
    from pyarrow import string, timestamp, types  # noqa: PLC0415 - slow to import

    if types.is_timestamp(kind):  # one without a zone is of a session in UTC
        return timestamp("us", "UTC")
    is_kept = types.is_boolean(kind) or types.is_floating(kind) or types.is_nested(kind)
    return kind if is_kept else string()


def clean(rows: Path, folder: str) -> None:
    """Remove what a fetch left that was killed."""
    for left in (rows / folder).glob(f"{_HIDDEN}*.parquet"):
        left.unlink()
