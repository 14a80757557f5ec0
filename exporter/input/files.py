"""Files -> records, each a text with its place, without Spark: lines of JSON, CSV and Parquet.

Lines, records and their order follow the rules of Spark's readers: both engines give the same rows and the same
places. JSON documents and CSV files are held in memory as a whole.

CSV: the line end of the file's first line (LF, CR LF or CR) ends a record, except within quotes; a CR before it is no
part of the last field, since another tool may have written the header. Empty records are skipped. A quote within quotes
is doubled. White space after a closing quote is ignored. If other text follows the quote, the field is everything up to
the next delimiter, quotes included. A quote that is never closed takes the rest of the file.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from exporter.errors import UsageError
from exporter.input import formats, limits
from exporter.input.find import ACCESS_HISTORY, AGGREGATE_ACCESS_HISTORY, QUERY_HISTORY, REQUIRED, check_names
from exporter.input.formats import InputFiles
from exporter.input.limits import FREE, LONGEST_RECORD
from exporter.input.partitions import columns_in, with_columns
from exporter.input.reading import Record, holds_sql, rows_of_document

_LINE_END: Final = re.compile(r"\r\n|\n|\r")
_BLANKS: Final = "".join(map(chr, range(0x21)))


class Fields(NamedTuple):
    """A record. ``values``: its fields, None for an empty field without quotes. ``text``: the record as in the file."""

    values: list[str | None]
    text: str


def csv_records(text: str, delimiter: str) -> Iterator[Fields]:
    """The records of a CSV's text, the header first."""
    first = _LINE_END.search(text)
    line_end = first[0] if first else "\n"
    field = _field(re.escape(delimiter), line_end)
    at = 0
    while at < len(text):
        start, values, has_next, is_quoted = at, list[str | None](), True, False
        while has_next:
            match = field.match(text, at)
            assert match is not None, "an empty text is a field"
            values.append(_value(match, line_end))
            is_quoted = match["quoted"] is not None
            has_next = text.startswith(delimiter, match.end())
            at = match.end() + has_next
        end = at
        at += len(line_end) if text.startswith(line_end, at) else 0
        ends_with_lf = at == len(text) and line_end == "\r\n" and not is_quoted
        values[-1] = _without_rest(values[-1], "\n" if ends_with_lf else "\r")
        if text[start:end].strip("\n"):
            yield Fields(values, _without_line_end(text[start:at]))


def _field(delimiter: str, line_end: str) -> re.Pattern[str]:
    """Matches a field: what is in quotes, the closing quote, and the rest up to the next delimiter or line end."""
    rest = rf"(?:[^{delimiter}{line_end[0]}]|{line_end[0]}(?!{line_end[1:]}))*+"
    return re.compile(rf'(?:"(?P<quoted>[^"]*+(?:""[^"]*+)*+)(?P<closing>"?))?(?P<rest>{rest})')


def _value(match: re.Match[str], line_end: str) -> str | None:
    quoted, closing, rest = match.groups()
    if quoted is None:
        return rest or None
    inner = quoted.replace('""', '"')
    inner = inner.replace("\r\n", "\n") if line_end == "\r\n" else inner
    if not closing:
        return inner or '"'
    return f'"{inner}"{rest}' if rest.strip(_BLANKS) else inner


def _without_rest(value: str | None, rest: str) -> str | None:
    """The last field of a record without a part of a line end that the first line does not have."""
    return value if value is None or not value.endswith(rest) else value.removesuffix(rest) or None


def _without_line_end(text: str) -> str:
    return next((text.removesuffix(end) for end in ("\r\n", "\n", "\r") if text.endswith(end)), text)


NOT_UTF8: Final = "surrogateescape"
"""Decode bytes that are not UTF-8 to single surrogates (:func:`exporter.input.documented_form.is_damaged` detects
them).
"""
REPLACED: Final = "\ufffd"
"""The character by which readers of CSV and Parquet replace such bytes."""
DAMAGE: Final = "\\udcff"
"""A single surrogate as JSON's escape."""
_TIMES_PARQUET: Final = 1_000
"""The text of a Parquet file may be this many times its size: a value shared by many rows is stored once."""
_LONGEST: Final = LONGEST_RECORD + 2
_AT_ONCE: Final = 1 << 20
NULLS_IN_CSV: Final = frozenset({"\\N", "NULL", "null"})
"""Fields of a CSV that are NULL: a CSV has only texts."""


def records(source: InputFiles, view: str = ACCESS_HISTORY) -> Iterator[Record]:
    """All records in the files of a source of a view, in their order, blank lines included. A file is one block, named
    by its full path. Raises UsageError if a file cannot be read, or a header lacks a column that the view must have.
    """
    if source.form == formats.TABLE:
        raise UsageError(f"{source.paths[0]}: there is no such file or folder; if it is a table, use --engine spark")
    if formats.is_remote(source.paths[0]):
        raise UsageError(f"{source.paths[0]}: only files on this machine can be read without Spark: use --engine spark")
    if source.form == formats.CSV and not source.columns:
        raise UsageError(f"{source.paths[0]}: the file is empty")
    read, is_history, is_aggregate = _READERS[source.form], view == QUERY_HISTORY, view == AGGREGATE_ACCESS_HISTORY
    for path in source.paths:
        file = formats.shown(formats.absolute(path))
        unit = "line" if source.form == formats.NDJSON else "row"
        columns = columns_in(file, is_history=is_history)
        for text, is_record in read(path, source, view):
            whole = with_columns(text, columns) if columns else text
            yield Record(file, 0, unit, whole, is_history, is_record, is_aggregate)


def check_columns(names: Iterable[str], paths: Sequence[str], view: str) -> None:
    """Raise UsageError if the column names of a CSV, a Parquet file or a table, and those in the names of its folders,
    lack one that the view must have, or if they are the columns of another view.
    """
    is_history = view == QUERY_HISTORY
    folders = (columns_in(formats.shown(formats.absolute(path)), is_history=is_history) for path in paths)
    lower, where = [name.strip().lower() for name in names], ", ".join(paths[:3])
    lower += set.intersection(*map(set, folders))
    check_names(lower, where, view)
    missing = [name for name in REQUIRED[view] if name not in lower]
    if missing:
        names_text = ", ".join(sorted(lower))
        raise UsageError(f"{where}: there is no column {missing[0]} (there are: {names_text})")


def _lines(path: str, _source: InputFiles, _view: str) -> Iterator[tuple[str, bool]]:
    with limits.opened(path) as file, io.TextIOWrapper(file, encoding="utf-8", errors=NOT_UTF8, newline=None) as lines:
        while line := lines.readline(_LONGEST):
            if len(line) == _LONGEST:
                _skip_line(lines)
            yield line.removesuffix("\n").removeprefix("\ufeff"), True


def _skip_line(lines: io.TextIOWrapper) -> None:
    """Skip the rest of a line that is too long: the part that was read is enough to quarantine it."""
    while (rest := lines.readline(_AT_ONCE)) and not rest.endswith("\n"):
        pass


def _document(path: str, _source: InputFiles, _view: str) -> Iterator[tuple[str, bool]]:
    for row in rows_of_document(_whole_text(path, NOT_UTF8)):
        yield row, True


def _csv(path: str, source: InputFiles, view: str) -> Iterator[tuple[str, bool]]:
    check_columns(source.columns, (path,), view)
    rows = csv_records(_whole_text(path, "replace"), source.delimiter)
    next(rows, None)
    for values, text in rows:
        if len(values) == len(source.columns):
            pairs = zip(source.columns, values, strict=True)
            record = {name: value for name, value in pairs if value is not None and value not in NULLS_IN_CSV}
            yield with_damage(json_text(record)), True
        else:
            is_blank = not text.strip(" ")
            yield "" if any(map(holds_sql, source.columns)) else text, is_blank  # nothing says which part is SQL


def _parquet(path: str, _source: InputFiles, view: str) -> Iterator[tuple[str, bool]]:
    from exporter.input import parquet  # noqa: PLC0415 - what it needs is slow to import, and not needed for other forms

    check_columns(parquet.columns(path), (path,), view)
    remaining = max(FREE, _TIMES_PARQUET * Path(path).stat().st_size)
    for record in parquet.parquet_records(path):
        text = with_damage(json_text(record))
        remaining -= len(text)
        if remaining < 0:
            raise UsageError(
                f"{path}: contains over {_TIMES_PARQUET:,} times its size as text, which rows of the view do not; "
                "check the file, and convert it to NDJSON if it is right"
            )
        yield text, True


_READERS: Final[Mapping[str, Callable[[str, InputFiles, str], Iterator[tuple[str, bool]]]]] = {
    formats.NDJSON: _lines,
    formats.JSON_DOCUMENT: _document,
    formats.CSV: _csv,
    formats.PARQUET: _parquet,
}


def _whole_text(path: str, errors: str) -> str:
    with limits.opened(path) as file:
        content = file.read(formats.DOCUMENT_LIMIT + 1)
    if len(content) > formats.DOCUMENT_LIMIT:
        limit = formats.DOCUMENT_LIMIT >> 20
        raise UsageError(
            f"{path}: is larger than {limit} MiB, too much to read into memory; use --engine spark or NDJSON"
        )
    return content.decode("utf-8", errors=errors).removeprefix("\ufeff")


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


def _in_capitals(match: re.Match[str]) -> str:
    return match[0] if match[0] == "\\\\" else f"\\u{match[0][2:].upper()}"
