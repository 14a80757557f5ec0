"""The form of an input: of a path, of a file, of a folder that a fetch wrote.

Paths are of this machine, or URIs of other file systems. The form of a file follows from its name and first bytes,
before Spark reads a row. A folder written by ``exporter fetch`` has ``fetch.json`` (:mod:`exporter.fetch.state`), which
gives the account.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import re
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from exporter.errors import UsageError
from exporter.input.limits import LONGEST_FIELD, check_lines, opened, unpacked

_REMOTE: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")


def is_remote(path: str) -> bool:
    """Whether it is the URI of another file system."""
    return bool(_REMOTE.match(path)) and not path.startswith("file:")


def shown(path: str) -> str:
    r"""A path as text; a byte that is not UTF-8 is written as ``\xff``."""
    return path if path.isascii() else os.fsencode(path).decode("utf-8", "backslashreplace")


def local(name: str) -> str:
    """The path without ``file:``."""
    return name.removeprefix("file://").removeprefix("file:")


def absolute(path: str) -> str:
    """The absolute path of a file or folder of this machine, without ``..``."""
    return os.path.abspath(path)  # noqa: PTH100 - Path leaves ".." in it, and Spark's paths of files have none


def uri(path: str) -> str:
    """A path as a URI for Spark. Without a scheme, Spark would look in its default file system, which may be remote."""
    return path if is_remote(path) else f"file://{absolute(local(path))}"


NDJSON: Final = "ndjson"
JSON_DOCUMENT: Final = "json"
CSV: Final = "csv"
PARQUET: Final = "parquet"
TABLE: Final = "table"

ENDINGS: Final = {
    ".ndjson": NDJSON,
    ".jsonl": NDJSON,
    ".json": NDJSON,
    ".csv": CSV,
    ".tsv": CSV,
    ".parquet": PARQUET,
}
_PACKED_BY: Final = {
    ".bz2": "bzip2",
    ".zst": "zstd",
    ".xz": "xz",
    ".br": "brotli",
    ".deflate": "deflate",
    ".raw_deflate": "deflate",
    ".lz4": "lz4",
    ".snappy": "snappy",
    ".zip": "zip",
}
"""What compresses a file, by the end of its name: those of COPY INTO <location> but gzip, and of other tools."""
_OTHER_FORMS: Final = {".avro": "Avro", ".orc": "ORC"}
_BEGINNINGS: Final = {
    b"BZh": "compressed by bzip2",
    b"\x28\xb5\x2f\xfd": "compressed by zstd",
    b"\xfd7zXZ\x00": "compressed by xz",
    b"\x04\x22\x4d\x18": "compressed by lz4",
    b"PK\x03\x04": "a zip archive (as Excel's workbooks are)",
    b"Obj\x01": "Avro",
    b"ORC": "ORC",
}
_FIRST_BYTES: Final = 65_536
_LONGEST_HEADER: Final = 8 << 20
_DELIMITERS: Final = ",;\t|"
KEYS: Final = re.compile(r'(?<!\\)"(\w+)"\s*:')
"""The keys of a JSON text. Keys in a JSON text inside a string are not matched, because their quotes are escaped."""
_NAMING: Final = frozenset({"query_id", "interval_start_time"})
"""Columns by which a header of any view is recognized; whether it is the right one is checked when it is read."""
_PACKED: Final = 10
"""Estimated bytes of text for each byte of gzip or Parquet; rows repeat much of their text."""
_ROWS_FREE: Final = 100_000
"""A Parquet file of any size may have this many rows. A larger number needs at least one byte for each row."""
DOCUMENT_LIMIT: Final = 512 * 1024 * 1024
"""Largest JSON document, in bytes: it is read as a whole. Larger inputs must have one object on each line."""


@dataclass(frozen=True)
class InputFiles:
    """Files of one form, read by one Spark reader. ``columns`` and ``delimiter``: the header of a CSV. ``is_long``:
    whether a CSV has so much text that one of its fields may be longer than :data:`LONGEST_FIELD`. ``types``: the
    columns of Parquet files with their types, which differ by the tool that wrote them.
    """

    form: str
    paths: tuple[str, ...]
    columns: tuple[str, ...] = ()
    delimiter: str = ","
    is_long: bool = False
    types: tuple[str, ...] = ()


def text_bytes(name: str, size: int) -> int:
    """Estimated bytes of text in a file of ``size`` bytes."""
    return size * _PACKED if name.lower().endswith((".gz", ".parquet")) else size


def form_by_name(name: str) -> str | None:
    """The form that belongs to the ending of a name; None for other endings."""
    lowered = name.lower().rstrip("/*")
    return ENDINGS.get(Path(lowered.removesuffix(".gz")).suffix)


def refuse_unread(path: Path, first: bytes = b"") -> None:
    """Raise UsageError for a file that says by its name, or by its first bytes, that it has rows in a form that is not
    read: they would be missing without a word.
    """
    name = Path(path.name.lower())
    packed = _PACKED_BY.get(name.suffix) if form_by_name(name.stem) else None
    by_name = f"compressed by {packed}" if packed else _OTHER_FORMS.get(name.suffix)
    what = by_name or next((text for begin, text in _BEGINNINGS.items() if first.startswith(begin)), None)
    if what is not None:
        raise UsageError(
            f"{path}: is {what}, which is not read; give its rows as NDJSON, JSON or CSV, compressed by gzip or not, "
            "or as Parquet"
        )


def refuse_without_ending(path: Path) -> None:
    """Raise UsageError for a file of a folder whose first bytes are rows, but whose name does not end as that of rows:
    it would be skipped among what holds none.
    """
    with opened(path) as file:
        first = file.read(_FIRST_BYTES)
    text = first.decode("utf-8", errors="ignore").lstrip("\ufeff").lstrip()
    names = {name.strip().lower() for delimiter in _DELIMITERS for name in _first_record(text, delimiter)}
    if text[:1] in ("{", "["):
        names = {key.lower() for key in KEYS.findall(text)}
    if first.startswith(b"PAR1") or not _NAMING.isdisjoint(names):
        endings = ", ".join(ENDINGS)
        raise UsageError(
            f"{path}: holds rows, but its name has no ending of rows ({endings}; .gz may follow), so it would be "
            "skipped in its folder; rename it, move it away, or give each file by itself"
        )


def input_file(path: Path, required: str) -> InputFiles:
    """One local file with its form, decided by its first bytes. Its ending decides only if those are not enough."""
    first = _first_bytes(path)
    refuse_unread(path, first)
    is_gzip = path.suffix.lower() == ".gz"
    size = unpacked(path) if is_gzip else path.stat().st_size
    if first.startswith(b"PAR1"):
        return InputFiles(PARQUET, (str(path),), types=_parquet_types(path))
    if form_by_name(path.name) == PARQUET:
        raise UsageError(f"{path}: ends in .parquet but is not Parquet (it does not begin with PAR1)")
    if first.startswith((b"\xff\xfe", b"\xfe\xff")) or first[:2].count(0) == 1:
        raise UsageError(f"{path}: is encoded as UTF-16; save it as UTF-8")
    text = first.decode("utf-8", errors="ignore").lstrip("\ufeff")
    if text.lstrip()[:1] in ("{", "[") or form_by_name(path.name) == NDJSON:
        form = _json_form(path, text, size)
        if form == NDJSON and not is_gzip:
            check_lines(path)
        return InputFiles(form, (str(path),))
    return _csv(path, text, required, is_long=size > LONGEST_FIELD)


def _first_bytes(path: Path) -> bytes:
    """The beginning of a file, at least its whole first line: a header may have many columns."""
    with opened(path) as file:
        if isinstance(file, gzip.GzipFile) and path.suffix.lower() != ".gz":
            raise UsageError(f"{path}: is gzip, but its name does not end in .gz; rename it")
        if not isinstance(file, gzip.GzipFile) and path.suffix.lower() == ".gz" and path.stat().st_size:
            raise UsageError(f"{path}: is not gzip, but its name ends in .gz; rename it")
        first = file.read(_FIRST_BYTES)
        return first if b"\n" in first or b"\r" in first else first + file.readline(_LONGEST_HEADER)


def first_text(path: Path) -> str:
    """The beginning of a local file as text."""
    return _first_bytes(path).decode("utf-8", errors="ignore")


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
    doubled = next((name for name, count in counts.items() if count > 1), None)
    if doubled is not None:
        raise UsageError(f"{path}: has several columns named {doubled} (letter case does not count); keep one of them")


def _json_form(path: Path, text: str, size: int) -> str:
    """NDJSON (one object on each line), or one JSON document (an array of rows, or a row over several lines).
    ``size``: bytes of text. Raises UsageError if a document is too large.
    """
    line, newline, _ = text.lstrip().partition("\n")
    has_opened = line.rstrip().endswith(("{", "[", ","))
    is_document = line.startswith("[") or (bool(newline) and has_opened and not _is_json(line)) or _wraps_rows(line)
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


def _csv(path: Path, text: str, required: str, *, is_long: bool) -> InputFiles:
    """A CSV with its columns and its delimiter: the one with which the header has a column ``required``, or one by
    which another view is recognized.
    """
    header = text.lstrip("\r\n")
    if not header.strip():
        return InputFiles(CSV, (str(path),))
    for delimiter in _DELIMITERS:
        columns = _first_record(header, delimiter)
        if not _NAMING.union({required}).isdisjoint(column.strip().lower() for column in columns):
            names = [column.strip() or f"unnamed {number}" for number, column in enumerate(columns, start=1)]
            _refuse_twice(path, names)
            if _may_have_escapes(path, delimiter):
                raise UsageError(
                    f"{path}: has fields that are not in quotes, and backslashes that may be Snowflake's escapes in "
                    "them, so names could be others; unload with FIELD_OPTIONALLY_ENCLOSED_BY = '\"', or as JSON"
                )
            return InputFiles(CSV, (str(path),), tuple(names), delimiter, is_long)
    raise UsageError(
        f"{path}: line 1 is not a header with a column {required}; unload with HEADER = TRUE, "
        "separated by comma, semicolon, tab or |"
    )


_LOOKED_AT: Final = 64 << 20
"""The bytes of a file, unpacked, in which escapes are looked for, so that a start does not read all of the input."""


def _may_have_escapes(path: Path, delimiter: str) -> bool:
    r"""Whether backslashes in a CSV may be escapes. COPY INTO <location> writes them in fields that are not in quotes
    (ESCAPE_UNENCLOSED_FIELD, by default), and then before each backslash, delimiter and line end.

    Nobody else writes a JSON without quotes around it, where each quote in it is one; or no field at all in quotes. Any
    other character behind a single backslash shows that there are no escapes, except in NULL's ``\N``. Of a long file,
    the beginning is looked at.
    """
    end = re.escape(delimiter.encode())
    is_plain = re.compile(rb"(?<!\\)(?:\\\\)*\\[^\\\r\nN%b]" % end).search
    has_escape = re.compile(rb"\\[\\\r\n%b]" % end).search
    has_json = re.compile(rb'(?:^|(?<!\\)%b)[\[{]+"\w' % end).search
    has_quotes = re.compile(rb'(?:^|(?<!\\)%b)"' % end).search
    is_escaped, is_bare, is_in_quotes, left = False, False, False, _LOOKED_AT
    with opened(path) as file:
        while left > 0 and (line := file.readline(_LONGEST_HEADER)):
            left -= len(line)
            is_in_quotes = is_in_quotes or has_quotes(line) is not None
            if b"\\" in line:
                if is_plain(line):
                    return False
                is_escaped = is_escaped or has_escape(line) is not None
                is_bare = is_bare or has_json(line) is not None
    return is_escaped and (is_bare or not is_in_quotes)


def _first_record(text: str, delimiter: str) -> list[str]:
    try:
        return next(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter), [])
    except csv.Error:  # a field longer than any name
        return []


STATE: Final = "fetch.json"


def settings_of_inputs(inputs: Sequence[str]) -> dict[str, Any]:
    """The settings that follow from the inputs. A fetched folder is replaced by its folder of ACCESS_HISTORY. If it is
    the only input, it also gives QUERY_HISTORY, AGGREGATE_ACCESS_HISTORY and the account. Raises UsageError if it has
    no rows yet.
    """
    settings: dict[str, Any] = {"inputs": tuple(_rows(text) if _is_fetched(text) else text for text in inputs)}
    if len(inputs) == 1 and _is_fetched(inputs[0]):
        folder = Path(local(inputs[0]))
        account = _account(folder / STATE)
        settings |= {"account": account} if account else {}
        views = {"query_history": folder / "query_history", "aggregate": folder / "aggregate_access_history"}
        settings |= {name: (str(path),) for name, path in views.items() if _has_days(path)}
    return settings


def _has_days(folder: Path) -> bool:
    """Whether a view has a file; ``fetch --keep`` may have removed all."""
    return any(folder.glob("*.parquet"))


def _is_fetched(name: str) -> bool:
    with suppress(PermissionError):  # told with the name that was given, where the input is found
        return not is_remote(name) and Path(local(name), STATE).is_file()
    return False


def _rows(name: str) -> str:
    rows = Path(local(name), "access_history")
    if not _has_days(rows):
        raise UsageError(f"{name}: has no rows of ACCESS_HISTORY; fetch some: exporter fetch --out {name}")
    return str(rows)


def _account(state: Path) -> str | None:
    with suppress(OSError, ValueError, KeyError, TypeError):
        return str(json.loads(state.read_text(encoding="utf-8"))["source"]["account"])
    return None
