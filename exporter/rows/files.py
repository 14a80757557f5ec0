"""Files -> records, each a text with its place, for whoever reads them without Spark.

What is a line, a record and its number is as Spark's readers have it: both engines give the same rows, and name the
same places. A file that is no NDJSON is held in memory as a whole.
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
from exporter.rows import delimited, forms
from exporter.rows.limits import LONGEST_RECORD
from exporter.rows.packed import FREE
from exporter.rows.reading import rows_of_document
from exporter.rows.views import check_names

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from exporter.rows.forms import Source

REQUIRED: Final = ("query_id", "query_start_time", "user_name")
"""Columns without which there is no row."""
REQUIRED_OF_HISTORY: Final = ("query_id",)
"""The same of QUERY_HISTORY."""
NOT_UTF8: Final = "surrogateescape"
"""What becomes of bytes that are not UTF-8: halves of surrogate pairs (:func:`exporter.rows.fitting.is_damaged`)."""
REPLACED: Final = "\ufffd"
"""What readers of CSV and Parquet put in the place of such bytes."""
DAMAGE: Final = "\\udcff"
"""The same as JSON writes half of a pair."""
_TIMES_PARQUET: Final = 1_000
"""Times its own size that the text of a Parquet file may have: what many rows share stands once in it."""
_LONGEST: Final = LONGEST_RECORD + 2
_AT_ONCE: Final = 1 << 20
_NULL_IN_CSV: Final = "\\N"


class Record(NamedTuple):
    """A line or record. ``file``: its path in full; ``number``: which one of the file, from 1; ``unit``: what the
    number counts, lines or rows; ``text``: a JSON object, or what stands there. ``is_record``: False where a CSV has
    too few or too many fields, so that it is no row whatever it says.
    """

    file: str
    number: int
    unit: str
    text: str
    is_record: bool = True


def records(source: Source, required: tuple[str, ...] = REQUIRED) -> Iterator[Record]:
    """Everything in the files of a source, blank lines too. ``required``: columns that a header must name.

    Raises UsageError where a file cannot be read, or a required column is not there.
    """
    if source.form == forms.TABLE:
        raise UsageError(f"{source.paths[0]}: there is no such file or folder; if it is a table, use --engine spark")
    if forms.is_remote(source.paths[0]):
        raise UsageError(f"{source.paths[0]}: only files on this machine can be read without Spark: use --engine spark")
    if source.form == forms.CSV and not source.columns:
        raise UsageError(f"{source.paths[0]}: the file is empty")
    read = _READERS[source.form]
    for path in source.paths:
        file = forms.shown(os.path.abspath(path))  # noqa: PTH100 - Path would leave ".." in it, which Spark does not
        unit = "line" if source.form == forms.NDJSON else "row"
        for number, (text, is_record) in enumerate(read(path, source, required), start=1):
            yield Record(file, number, unit, text, is_record)


def check_columns(names: Iterable[str], source: Source, required: tuple[str, ...]) -> None:
    """Raise UsageError where a required column is not among the names of a CSV, a Parquet file or a table, or
    they are those of the other view.
    """
    lower, where = [name.strip().lower() for name in names], ", ".join(source.paths[:3])
    check_names(lower, where, is_history=required == REQUIRED_OF_HISTORY)
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
    """The rest of a line of which enough has been read to set it aside."""
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
                f"{path}: holds over {_TIMES_PARQUET:,} times its size in text, as rows do not; look at it, and "
                "give it as NDJSON if that is right"
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
        raise UsageError(f"{path}: has over {limit} MiB, too much to hold in memory; use --engine spark, or NDJSON")
    return content.decode("utf-8", errors=errors).removeprefix("\ufeff")


@contextmanager
def _opened(path: str) -> Iterator[IO[bytes]]:
    """The file's content, unpacked; raises UsageError where that fails."""
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
    """A record as JSON, whose bytes that are not UTF-8 a reader has replaced already: each becomes half of a surrogate
    pair, so that nothing is named by what is not known any more.
    """
    return text.replace(REPLACED, DAMAGE)


_CONTROL: Final = re.compile(r"\\\\|\\u00[01][0-9a-f]")


def json_text(record: Mapping[str, Any]) -> str:
    """The record as JSON, spelt as Spark's ``to_json`` spells it."""
    text = msgspec.json.encode(record).decode("utf-8")
    return _CONTROL.sub(_in_capitals, text) if "\\u00" in text else text


def _in_capitals(found: re.Match[str]) -> str:
    return found[0] if found[0] == "\\\\" else f"\\u{found[0][2:].upper()}"
