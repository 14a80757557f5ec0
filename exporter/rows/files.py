"""Read files into records, each a text with its place, without Spark.

Lines, records and their numbers follow the rules of Spark's readers: both engines give the same rows and the same
places. JSON documents and CSV files are held in memory as a whole.
"""

from __future__ import annotations

import gzip
import io
import os
import re
import zlib
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final, NamedTuple, cast

import msgspec

from exporter.errors import UsageError
from exporter.rows import delimited, forms, paths
from exporter.rows.limits import LONGEST_RECORD
from exporter.rows.packed import FREE
from exporter.rows.reading import rows_of_document
from exporter.rows.views import ACCESS_HISTORY, REQUIRED, check_names

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from exporter.rows.forms import Source

_VIEWS: Final = {columns: view for view, columns in REQUIRED.items()}
NOT_UTF8: Final = "surrogateescape"
"""Decode bytes that are not UTF-8 to single surrogates (:func:`exporter.rows.fitting.is_damaged` detects them)."""
REPLACED: Final = "\ufffd"
"""The character by which readers of CSV and Parquet replace such bytes."""
DAMAGE: Final = "\\udcff"
"""A single surrogate as JSON's escape."""
_TIMES_PARQUET: Final = 1_000
"""The text of a Parquet file may be this many times its size: a value shared by many rows is stored once."""
_LONGEST: Final = LONGEST_RECORD + 2
_AT_ONCE: Final = 1 << 20
_NULL_IN_CSV: Final = "\\N"


class Record(NamedTuple):
    """A line or record. ``file``: its full path. ``number``: its number in the file, from 1. ``unit``: ``line`` or
    ``row``, what the number counts. ``text``: a JSON object, or the text of the line. ``is_record``: False if a CSV
    record has too few or too many fields; it is then not a row, whatever it contains.
    """

    file: str
    number: int
    unit: str
    text: str
    is_record: bool = True


def records(source: Source, required: tuple[str, ...] = REQUIRED[ACCESS_HISTORY]) -> Iterator[Record]:
    """All records in the files of a source, blank lines included. ``required``: columns that a header must name.

    Raises UsageError if a file cannot be read or a required column is missing.
    """
    if source.form == forms.TABLE:
        raise UsageError(f"{source.paths[0]}: there is no such file or folder; if it is a table, use --engine spark")
    if paths.is_remote(source.paths[0]):
        raise UsageError(f"{source.paths[0]}: only files on this machine can be read without Spark: use --engine spark")
    if source.form == forms.CSV and not source.columns:
        raise UsageError(f"{source.paths[0]}: the file is empty")
    read = _READERS[source.form]
    for path in source.paths:
        file = paths.shown(os.path.abspath(path))  # noqa: PTH100 - Path would leave ".." in it, which Spark does not
        unit = "line" if source.form == forms.NDJSON else "row"
        for number, (text, is_record) in enumerate(read(path, source, required), start=1):
            yield Record(file, number, unit, text, is_record)


def check_columns(names: Iterable[str], source: Source, required: tuple[str, ...]) -> None:
    """Raise UsageError if the column names of a CSV, a Parquet file or a table lack a required one, or if they are the
    columns of another view.
    """
    lower, where = [name.strip().lower() for name in names], ", ".join(source.paths[:3])
    check_names(lower, where, _VIEWS.get(required, ACCESS_HISTORY))
    missing = [name for name in required if name not in lower]
    if missing:
        there = ", ".join(sorted(lower))
        raise UsageError(f"{where}: there is no column {missing[0]} (there are: {there})")


def _lines(path: str, _source: Source, _required: tuple[str, ...]) -> Iterator[tuple[str, bool]]:
    with _opened(path) as file, io.TextIOWrapper(file, encoding="utf-8", errors=NOT_UTF8, newline=None) as lines:
        while line := lines.readline(_LONGEST):
            if len(line) == _LONGEST:
                _skip_line(lines)
            yield line.removesuffix("\n").removeprefix("\ufeff"), True


def _skip_line(lines: io.TextIOWrapper) -> None:
    """Skip the rest of a line that is too long: the part that was read is enough to quarantine it."""
    while (rest := lines.readline(_AT_ONCE)) and not rest.endswith("\n"):
        pass


def _document(path: str, _source: Source, _required: tuple[str, ...]) -> Iterator[tuple[str, bool]]:
    for row in rows_of_document(_whole(path, NOT_UTF8)):
        yield row, True


def _csv(path: str, source: Source, required: tuple[str, ...]) -> Iterator[tuple[str, bool]]:
    check_columns(source.columns, source, required)
    rows = delimited.records(_whole(path, "replace"), source.delimiter)
    next(rows, None)
    for values, text in rows:
        if len(values) == len(source.columns):
            given = zip(source.columns, values, strict=True)
            there = {name: value for name, value in given if value is not None and value != _NULL_IN_CSV}
            yield with_damage(json_text(there)), True
        else:
            yield text, not text.strip(" ")


def _parquet(path: str, source: Source, required: tuple[str, ...]) -> Iterator[tuple[str, bool]]:
    from exporter.rows import parquet  # noqa: PLC0415 - what it needs is slow to import, and not needed for other forms

    check_columns(parquet.columns(path), source, required)
    left = max(FREE, _TIMES_PARQUET * Path(path).stat().st_size)
    for record in parquet.records(path):
        text = with_damage(json_text(record))
        left -= len(text)
        if left < 0:
            raise UsageError(
                f"{path}: contains over {_TIMES_PARQUET:,} times its size as text, which rows of the view do not; "
                "check the file, and convert it to NDJSON if it is right"
            )
        yield text, True


_READERS: Final[Mapping[str, Callable[[str, Source, tuple[str, ...]], Iterator[tuple[str, bool]]]]] = {
    forms.NDJSON: _lines,
    forms.JSON_DOCUMENT: _document,
    forms.CSV: _csv,
    forms.PARQUET: _parquet,
}


def _whole(path: str, errors: str) -> str:
    with _opened(path) as file:
        content = file.read(forms.DOCUMENT_LIMIT + 1)
    if len(content) > forms.DOCUMENT_LIMIT:
        limit = forms.DOCUMENT_LIMIT >> 20
        raise UsageError(
            f"{path}: is larger than {limit} MiB, too much to read into memory; use --engine spark or NDJSON"
        )
    return content.decode("utf-8", errors=errors).removeprefix("\ufeff")


@contextmanager
def _opened(path: str) -> Iterator[IO[bytes]]:
    """The file, opened and unpacked if it is gzip. Raises UsageError if it cannot be read."""
    try:
        with Path(path).open("rb") as file:
            is_gzip = file.read(2) == b"\x1f\x8b"
            file.seek(0)
            if is_gzip:
                with gzip.open(file) as unpacked:
                    yield cast("IO[bytes]", unpacked)
            else:
                yield file
    except (OSError, EOFError, zlib.error) as error:
        raise UsageError(f"{path}: cannot be read: {error}") from None


def with_damage(text: str) -> str:
    """A record as JSON, in which a reader has replaced bytes that are not UTF-8: each becomes a single surrogate, which
    marks the text as damaged. The original bytes are lost, so no object may be named by such a text.
    """
    return text.replace(REPLACED, DAMAGE)


_CONTROL: Final = re.compile(r"\\\\|\\u00[01][0-9a-f]")


def json_text(record: Mapping[str, Any]) -> str:
    """The record as JSON, with the same escapes as Spark's ``to_json``."""
    text = msgspec.json.encode(record).decode("utf-8")
    return _CONTROL.sub(_in_capitals, text) if "\\u00" in text else text


def _in_capitals(found: re.Match[str]) -> str:
    return found[0] if found[0] == "\\\\" else f"\\u{found[0][2:].upper()}"
