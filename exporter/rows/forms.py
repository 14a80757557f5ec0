"""Which files there are to read, and in which form: decided from names and first bytes, before Spark reads a row."""

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
"""Bytes of text in a byte of gzip or Parquet, about: rows repeat themselves."""
_ROWS_FREE: Final = 100_000
"""Rows of Parquet that may be in a file of any size; of more, each takes a byte at least."""
DOCUMENT_LIMIT: Final = 512 * 1024 * 1024
"""Bytes of a JSON document that is read as a whole; larger inputs must have one object a line."""


@dataclass(frozen=True)
class Source:
    """Files of one form: what a single Spark reader takes. ``columns`` and ``delimiter`` are a CSV's header; ``types``
    the columns of Parquet files with their types, which differ between tools.
    """

    form: str
    paths: tuple[str, ...]
    columns: tuple[str, ...] = ()
    delimiter: str = ","
    types: tuple[str, ...] = ()


@dataclass(frozen=True)
class Inputs:
    """What was found: sources to read, files that are no rows, and about how many bytes of text (None: not known)."""

    sources: tuple[Source, ...]
    skipped: tuple[str, ...]
    size: int | None

    @property
    def named(self) -> str:
        """The first of what was found, for a message."""
        paths = [path for one in self.sources for path in one.paths]
        return ", ".join(paths[:3]) + (f" and {len(paths) - 3} more" if len(paths) > 3 else "")


NOTHING: Final = Inputs((), (), 0)


@dataclass(frozen=True)
class Came:
    """All that an export reads: rows of ACCESS_HISTORY, and those of QUERY_HISTORY where they are given."""

    rows: Inputs
    history: Inputs | None = None

    @property
    def size(self) -> int | None:
        """Bytes of all; None where the size of one is not known."""
        return size(self.rows, self.history)

    @property
    def sources(self) -> tuple[Source, ...]:
        """All that there is to read."""
        return self.rows.sources + (self.history.sources if self.history else ())


def size(*found: Inputs | None) -> int | None:
    """Bytes of all that was found, for None there is nothing to read; None where the size of one is not known."""
    sizes = [one.size for one in found if one is not None]
    known = [one for one in sizes if one is not None]
    return sum(known) if len(known) == len(sizes) else None


def find(names: Iterable[str], required: str = "query_id") -> Inputs:
    """Files, folders, globs and tables -> what to read.

    ``required``: the column that a CSV's header must name. Raises UsageError for what is not there, is empty, or is
    in no form that can be read.
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
        raise UsageError("no input was given: name a file, a folder, a glob or a table")
    return Inputs(_merged(sources), tuple(skipped), size)


def _may_be_table(name: str) -> bool:
    """Whether it can name a table: what ends as files of rows do is a file, there or not."""
    return bool(_TABLE_NAME.fullmatch(name)) and _form_by_name(name) is None and not name.lower().endswith(".gz")


def is_remote(path: str) -> bool:
    """Whether it is the URI of another file system."""
    return bool(_REMOTE.match(path)) and not path.startswith("file:")


def shown(path: str) -> str:
    r"""A path as text: a byte of it that is not UTF-8 stands there as ``\xff``."""
    return path if path.isascii() else os.fsencode(path).decode("utf-8", "backslashreplace")


def local(name: str) -> str:
    """The path that a URI of this machine's files, or a path, names."""
    return name.removeprefix("file://").removeprefix("file:")


def uri(path: str) -> str:
    """A path as Spark is told it: one without a scheme would be of its own file system, which may be another."""
    return path if is_remote(path) else f"file://{os.path.abspath(local(path))}"  # noqa: PTH100 - Path leaves ".." in it


def text_bytes(name: str, size: int) -> int:
    """About how many bytes of text a file of so many bytes holds."""
    return size * _PACKED if name.lower().endswith((".gz", ".parquet")) else size


def _remote(name: str) -> Source:
    form = _form_by_name(name)
    if form is None:
        endings = ", ".join(sorted(_ENDINGS))
        raise UsageError(f"{name}: the form of a remote input is told by its ending, one of {endings} (and .gz)")
    if form == CSV:
        raise UsageError(f"{name}: CSV is read from local files only; unload as JSON or Parquet, or copy it here first")
    return Source(form, (name,))


def _form_by_name(name: str) -> str | None:
    lowered = name.lower().rstrip("/*")
    return _ENDINGS.get(Path(lowered.removesuffix(".gz")).suffix)


def _source(path: Path, required: str) -> Source:
    """The form of one local file, from its first bytes; its ending decides only where those do not."""
    first = _first_bytes(path)
    is_gzip = path.suffix.lower() == ".gz"
    size = unpacked(path) if is_gzip else path.stat().st_size
    if first.startswith(b"PAR1"):
        return Source(PARQUET, (str(path),), types=_parquet_types(path))
    if _form_by_name(path.name) == PARQUET:
        raise UsageError(f"{path}: is called Parquet and is not (it does not begin with PAR1)")
    if first.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise UsageError(f"{path}: is UTF-16; write it as UTF-8")
    text = first.decode("utf-8", errors="ignore").lstrip("\ufeff")
    if text.lstrip()[:1] in ("{", "[") or _form_by_name(path.name) == NDJSON:
        form = _json_form(path, text, size)
        if form == NDJSON and not is_gzip:
            check_lines(path)
        return Source(form, (str(path),))
    return _csv(path, text, required)


def _first_bytes(path: Path) -> bytes:
    """Enough to tell the form; a first line, which may be a header of many columns, in full."""
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
    """How a file of this machine begins, as text."""
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
        raise UsageError(f"{path}: is no Parquet that can be read: {first_line}") from None
    if rows > max(_ROWS_FREE, path.stat().st_size):
        raise UsageError(
            f"{path}: holds {rows:,} rows in fewer bytes, as rows with ids of their own cannot be: it is no unload of "
            "the view"
        )
    _refuse_twice(path, [field.name for field in schema])
    return tuple(f"{field.name.lower()} {field.type}" for field in schema)


def _refuse_twice(path: Path, columns: list[str]) -> None:
    """Names count in any case, so two columns whose names differ in nothing else are one name for two things."""
    counts = Counter(column.strip().lower() for column in columns)
    twice = next((name for name, count in counts.items() if count > 1), None)
    if twice is not None:
        raise UsageError(f"{path}: has several columns called {twice}; names count in any case, so keep one of them")


def _json_form(path: Path, text: str, size: int) -> str:
    """One object a line, or one document for the whole file (an array of rows, or a row over several lines). ``size``:
    bytes of text.
    """
    line, newline, _ = text.lstrip().partition("\n")
    opens = line.rstrip().endswith(("{", "[", ","))
    is_document = line.startswith("[") or (bool(newline) and opens and not _is_json(line)) or _wraps_rows(line)
    if is_document and size > DOCUMENT_LIMIT:
        limit = DOCUMENT_LIMIT // 1024**2
        raise UsageError(f"{path}: a JSON document of over {limit} MiB; write one object a line (NDJSON)")
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
    """The header's columns, and the delimiter with which it names ``required``."""
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
        f"{path}: line 1 is no header with a column {required}; unload with HEADER = TRUE, "
        "separated by comma, semicolon, tab or |"
    )


def _first_record(text: str, delimiter: str) -> list[str]:
    try:
        return next(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))
    except csv.Error:  # a field longer than any name
        return []


def _merged(sources: list[Source]) -> tuple[Source, ...]:
    """Sources of one form in one: a reader for each form, not for each file."""
    groups: dict[Source, list[str]] = {}
    for source in sources:
        groups.setdefault(replace(source, paths=()), []).extend(source.paths)
    return tuple(replace(like, paths=tuple(dict.fromkeys(paths))) for like, paths in groups.items())
