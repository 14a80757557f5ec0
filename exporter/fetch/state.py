"""What a fetch leaves: a file for each day, and the file that says which days there are.

``ROWS/access_history/2026-11-21.parquet`` has the rows of a day, and appears complete or not at all. Arrays are JSON
text, as Snowflake gives them. Times are instants in microseconds, the finest resolution that Spark reads.

``ROWS/fetch.json`` says where the rows come from, and which days ROWS has. It has no secrets and no data of rows. It is
replaced after each day, in one step, so that an interrupted fetch continues after the last complete day.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from contextlib import suppress
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Literal

import msgspec
from msgspec import Meta, Struct

from exporter.errors import UsageError
from exporter.input.formats import STATE

if TYPE_CHECKING:
    import pyarrow as pa

_ROWS_AT_ONCE: Final = 10_000
"""Rows of a row group: a reader of the file holds so many values of a column at once."""
_HIDDEN: Final = "."


def path(rows: Path, folder: str, day: date) -> Path:
    """The file of a day."""
    return rows / folder / f"{day}.parquet"


def write_day(file: Path, batches: Iterable[pa.Table]) -> int:
    """Writes the batches in place of the file's old content; returns the number of rows. Without rows there is no file.
    If it fails, the old file stays.
    """
    from pyarrow import parquet  # noqa: PLC0415 - slow to import

    new = file.with_name(f"{_HIDDEN}{file.name}")
    writer, count = None, 0
    try:
        for batch in batches:
            table = with_stable_types(batch)
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
    if writer is None:
        file.unlink(missing_ok=True)
    else:
        _put(new, file)
    return count


def _put(new: Path, place: Path) -> None:
    """Puts a file into its place in one step, complete even if the machine stops."""
    with new.open("rb") as file:
        os.fsync(file.fileno())
    new.replace(place)


def with_stable_types(batch: pa.Table) -> pa.Table:
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
    is_unchanged = types.is_boolean(kind) or types.is_floating(kind) or types.is_nested(kind)
    return kind if is_unchanged else string()


def clean(rows: Path, folder: str) -> None:
    """Removes incomplete files of a fetch that was killed."""
    for incomplete in (rows / folder).glob(f"{_HIDDEN}*.parquet"):
        incomplete.unlink()


class FetchedDay(Struct, frozen=True):
    """A day of a view. ``rows``: the number in its file (0: there is no file); ``asked``: when the view was last asked
    for the day, in UTC.
    """

    rows: int
    asked: Annotated[datetime, Meta(tz=True)]


class RowsSource(Struct, frozen=True):
    """Where the rows in ROWS come from; rows of different sources must not be mixed. ``schema``: of the views;
    ``account``: ORG-ACCOUNT of the connection; ``query_text``: whether SQL text is fetched.
    """

    schema: str
    account: str
    query_text: bool


class FetchState(Struct):
    """The file of the state. ``source``: None before the first fetch; ``days``: by folder of a view."""

    form: Literal[1]
    source: RowsSource | None
    days: dict[str, dict[date, FetchedDay]]

    def asked(self, folder: str) -> dict[date, datetime]:
        """When each day of a view was last asked for."""
        return {day: fetched_day.asked for day, fetched_day in self.days.get(folder, {}).items()}

    def check_source(self, shown: str, source: RowsSource) -> None:
        """Raises UsageError where ROWS has rows of another source; else records this source."""
        recorded = self.source or source
        for name, words in (("account", "account"), ("schema", "--view"), ("query_text", "--query-text")):
            before, now = getattr(recorded, name), getattr(source, name)
            if before != now:
                raise UsageError(
                    f"{shown}: was fetched with {words} {_setting_text(before)}, and now it is {_setting_text(now)}; "
                    "give the same, or another --out"
                )
        self.source = source


def _setting_text(value: str | bool) -> str:  # noqa: FBT001 - a value that is shown
    return {True: "on", False: "off"}[value] if isinstance(value, bool) else value


def read(rows: Path) -> FetchState:
    """The state of ROWS; an empty one where ROWS does not exist. Raises UsageError where it cannot be read, and where
    the folder has other files.
    """
    path = rows / STATE
    try:
        state = msgspec.json.decode(path.read_bytes(), type=FetchState)
    except FileNotFoundError:
        if rows.is_dir() and any(not path.name.startswith(".") for path in rows.iterdir()):
            raise UsageError(f"{rows}: holds other files and no {STATE}; give a folder that is empty or new") from None
        return FetchState(1, None, {})
    except NotADirectoryError:
        raise UsageError(f"{rows}: is not a folder") from None
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}") from None
    except ValueError:
        state = FetchState(1, None, {})
    if state.source is None:
        raise UsageError(f"{path}: is damaged; remove it and the folders beside it, and fetch the days again")
    return state


def write_state(rows: Path, state: FetchState) -> None:
    """Replaces the file of the state in one step."""
    days = {folder: dict(sorted(days.items())) for folder, days in state.days.items()}
    document = msgspec.to_builtins(FetchState(state.form, state.source, days), str_keys=True, builtin_types=(datetime,))
    text = json.dumps(document, indent=1, default=lambda time: time.isoformat(timespec="seconds"))
    new = rows / f".{STATE}.new"
    new.write_text(f"{text}\n", encoding="utf-8")
    _put(new, rows / STATE)
