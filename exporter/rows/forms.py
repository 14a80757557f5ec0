"""Which files to read, and in which form. Decided from names and first bytes, before Spark reads a row."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import re
import zlib
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final, cast

from exporter.errors import UsageError
from exporter.rows import listing
from exporter.rows.packed import check_lines, unpacked

if TYPE_CHECKING:
    from collections.abc import Iterable

NDJSON: Final = "ndjson"
JSON_DOCUMENT: Final = "json"
CSV: Final = "csv"
PARQUET: Final = "parquet"
TABLE: Final = "table"

_ENDINGS: Final = {
    ".ndjson": NDJSON,
    ".jsonl": NDJSON,
    ".json": NDJSON,
    ".csv": CSV,
    ".tsv": CSV,
    ".parquet": PARQUET,
}
_FIRST_BYTES: Final = 65_536
_LONGEST_HEADER: Final = 8 << 20
_DELIMITERS: Final = ",;\t|"
_TABLE_NAME: Final = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*){0,2}")
_REMOTE: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")
_PACKED: Final = 10
"""Estimated bytes of text for each byte of gzip or Parquet; rows repeat much of their text."""
_ROWS_FREE: Final = 100_000
"""A Parquet file of any size may have this many rows. A larger number needs at least one byte for each row."""
DOCUMENT_LIMIT: Final = 512 * 1024 * 1024
"""Largest JSON document, in bytes: it is read as a whole. Larger inputs must have one object on each line."""


@dataclass(frozen=True)
class Source:
    """Files of one form, read by one Spark reader. ``columns`` and ``delimiter``: the header of a CSV. ``types``: the
    columns of Parquet files with their types, which differ by the tool that wrote them.
    """

    form: str
    paths: tuple[str, ...]
    columns: tuple[str, ...] = ()
    delimiter: str = ","
    types: tuple[str, ...] = ()


@dataclass(frozen=True)
class Inputs:
    """The input that was found. ``sources``: what to read. ``skipped``: files that contain no rows. ``size``: estimated
    bytes of text, None if it is not known.
    """

    sources: tuple[Source, ...]
    skipped: tuple[str, ...]
    size: int | None

    @property
    def named(self) -> str:
        """The first three paths that were found, for a message."""
        paths = [path for one in self.sources for path in one.paths]
        return ", ".join(paths[:3]) + (f" and {len(paths) - 3} more" if len(paths) > 3 else "")


NOTHING: Final = Inputs((), (), 0)


@dataclass(frozen=True)
class Came:
    """All input of an export: ``rows`` of ACCESS_HISTORY, and ``history`` (QUERY_HISTORY) or None if not given."""

    rows: Inputs
    history: Inputs | None = None

    @property
    def size(self) -> int | None:
        """Estimated bytes of text in all; None if the size of one is not known."""
        return size(self.rows, self.history)

    @property
    def sources(self) -> tuple[Source, ...]:
        """The sources of both views."""
        return self.rows.sources + (self.history.sources if self.history else ())


def size(*found: Inputs | None) -> int | None:
    """Estimated bytes of text in all inputs. An input that is None counts as 0. None if the size of one is unknown."""
    sizes = [one.size for one in found if one is not None]
    known = [one for one in sizes if one is not None]
    return sum(known) if len(known) == len(sizes) else None


def find(names: Iterable[str], required: str = "query_id") -> Inputs:
    """Find what to read for the names of files, folders, globs and tables.

    ``required``: the column that a CSV's header must name. Raises UsageError if an input does not exist, has no usable
    header, or has a form that cannot be read.
    """
    sources: list[Source] = []
    skipped: list[str] = []
    size: int | None = 0
    for name in names:
        if is_remote(name):
            sources.append(_remote(name))
            size = None
            continue
        if not Path(local(name)).exists() and _may_be_table(name) and not listing.matching(name):
            sources.append(Source(TABLE, (name,)))
            size = None
            continue
        for path in listing.files(local(name), skipped, lambda path: _form_by_name(path.name) is not None):
            sources.append(_source(path, required))
            size = None if size is None else size + text_bytes(path.name, path.stat().st_size)
    if not sources:
        raise UsageError("no input was given: give a file, a folder, a glob or a table")
    return Inputs(_merged(sources), tuple(skipped), size)


def _may_be_table(name: str) -> bool:
    """Whether it can name a table. A name with the ending of a file is a file, even if that file does not exist."""
    return bool(_TABLE_NAME.fullmatch(name)) and _form_by_name(name) is None and not name.lower().endswith(".gz")


def is_remote(path: str) -> bool:
    """Whether it is the URI of another file system."""
    return bool(_REMOTE.match(path)) and not path.startswith("file:")


def shown(path: str) -> str:
    r"""A path as text; a byte that is not UTF-8 is written as ``\xff``."""
    return path if path.isascii() else os.fsencode(path).decode("utf-8", "backslashreplace")


def local(name: str) -> str:
    """The path without ``file:``."""
    return name.removeprefix("file://").removeprefix("file:")


def uri(path: str) -> str:
    """A path as a URI for Spark. Without a scheme, Spark would look in its default file system, which may be remote."""
    return path if is_remote(path) else f"file://{os.path.abspath(local(path))}"  # noqa: PTH100 - Path leaves ".." in it


def text_bytes(name: str, size: int) -> int:
    """Estimated bytes of text in a file of ``size`` bytes."""
    return size * _PACKED if name.lower().endswith((".gz", ".parquet")) else size


def _remote(name: str) -> Source:
    form = _form_by_name(name)
    if form is None:
        endings = ", ".join(sorted(_ENDINGS))
        raise UsageError(f"{name}: the name of a remote input must end in one of {endings} (.gz may follow)")
    if form == CSV:
        raise UsageError(f"{name}: CSV is read from local files only; unload as JSON or Parquet, or copy it here first")
    return Source(form, (name,))


def _form_by_name(name: str) -> str | None:
    lowered = name.lower().rstrip("/*")
    return _ENDINGS.get(Path(lowered.removesuffix(".gz")).suffix)


def _source(path: Path, required: str) -> Source:
    """One local file with its form, decided by its first bytes. Its ending decides only if those are not enough."""
    first = _first_bytes(path)
    is_gzip = path.suffix.lower() == ".gz"
    size = unpacked(path) if is_gzip else path.stat().st_size
    if first.startswith(b"PAR1"):
        return Source(PARQUET, (str(path),), types=_parquet_types(path))
    if _form_by_name(path.name) == PARQUET:
        raise UsageError(f"{path}: ends in .parquet but is not Parquet (it does not begin with PAR1)")
    if first.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise UsageError(f"{path}: is encoded as UTF-16; save it as UTF-8")
    text = first.decode("utf-8", errors="ignore").lstrip("\ufeff")
    if text.lstrip()[:1] in ("{", "[") or _form_by_name(path.name) == NDJSON:
        form = _json_form(path, text, size)
        if form == NDJSON and not is_gzip:
            check_lines(path)
        return Source(form, (str(path),))
    return _csv(path, text, required)


def _first_bytes(path: Path) -> bytes:
    """The beginning of a file, at least its whole first line: a header may have many columns."""
    try:
        with path.open("rb") as file:
            if file.read(2) != b"\x1f\x8b":
                file.seek(0)
                return _with_first_line(file)
        if path.suffix.lower() != ".gz":
            raise UsageError(f"{path}: is gzip, but its name does not end in .gz; rename it")
        with gzip.open(path) as packed:
            return _with_first_line(cast("IO[bytes]", packed))
    except (OSError, EOFError, zlib.error) as error:
        raise UsageError(f"{path}: cannot be read: {error}") from None


def first_text(path: Path) -> str:
    """The beginning of a local file as text."""
    return _first_bytes(path).decode("utf-8", errors="ignore")


def _with_first_line(file: IO[bytes]) -> bytes:
    first = file.read(_FIRST_BYTES)
    return first if b"\n" in first or b"\r" in first else first + file.readline(_LONGEST_HEADER)


def _parquet_types(path: Path) -> tuple[str, ...]:
    from pyarrow import ArrowException, parquet  # noqa: PLC0415 - slow to import, and not needed for other forms

    try:
        with parquet.ParquetFile(path) as file:
            schema, rows = file.schema_arrow, file.metadata.num_rows
    except (ArrowException, OSError) as error:
        first_line = (str(error).splitlines() or ["unreadable"])[0]
        raise UsageError(f"{path}: cannot be read as Parquet: {first_line}") from None
    if rows > max(_ROWS_FREE, path.stat().st_size):
        raise UsageError(
            f"{path}: has {rows:,} rows in fewer bytes, which is impossible for rows with different query ids: it was "
            "not unloaded from the view"
        )
    _refuse_twice(path, [field.name for field in schema])
    return tuple(f"{field.name.lower()} {field.type}" for field in schema)


def _refuse_twice(path: Path, columns: list[str]) -> None:
    """Raise UsageError if two column names differ only in letter case: columns are found in any letter case."""
    counts = Counter(column.strip().lower() for column in columns)
    twice = next((name for name, count in counts.items() if count > 1), None)
    if twice is not None:
        raise UsageError(f"{path}: has several columns named {twice} (letter case does not count); keep one of them")


def _json_form(path: Path, text: str, size: int) -> str:
    """NDJSON (one object on each line), or one JSON document (an array of rows, or a row over several lines).
    ``size``: bytes of text. Raises UsageError if a document is too large.
    """
    line, newline, _ = text.lstrip().partition("\n")
    opens = line.rstrip().endswith(("{", "[", ","))
    is_document = line.startswith("[") or (bool(newline) and opens and not _is_json(line)) or _wraps_rows(line)
    if is_document and size > DOCUMENT_LIMIT:
        limit = DOCUMENT_LIMIT // 1024**2
        raise UsageError(f"{path}: is a JSON document larger than {limit} MiB; write one object on each line (NDJSON)")
    return JSON_DOCUMENT if is_document else NDJSON


def _is_json(line: str) -> bool:
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


def _wraps_rows(line: str) -> bool:
    return bool(re.match(r'\{\s*("(?!query_id)\w+"\s*:\s*"[^"]*"\s*,\s*)*"rows"\s*:\s*\[', line))


def _csv(path: Path, text: str, required: str) -> Source:
    """A CSV with its columns and its delimiter: the one with which the header has a column ``required``."""
    header = text.lstrip("\r\n")
    if not header.strip():
        return Source(CSV, (str(path),))
    for delimiter in _DELIMITERS:
        columns = _first_record(header, delimiter)
        if required in [column.strip().lower() for column in columns]:
            named = [column.strip() or f"unnamed {number}" for number, column in enumerate(columns, start=1)]
            _refuse_twice(path, named)
            return Source(CSV, (str(path),), tuple(named), delimiter)
    raise UsageError(
        f"{path}: line 1 is not a header with a column {required}; unload with HEADER = TRUE, "
        "separated by comma, semicolon, tab or |"
    )


def _first_record(text: str, delimiter: str) -> list[str]:
    try:
        return next(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))
    except csv.Error:  # a field longer than any name
        return []


def _merged(sources: list[Source]) -> tuple[Source, ...]:
    """Sources of equal form merged into one, so that there is one reader for each form, not for each file."""
    groups: dict[Source, list[str]] = {}
    for source in sources:
        groups.setdefault(replace(source, paths=()), []).extend(source.paths)
    return tuple(replace(like, paths=tuple(dict.fromkeys(paths))) for like, paths in groups.items())
