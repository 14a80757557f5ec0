"""Limits on files, lines and rows, so that memory and time are bounded.

The unpacked size of a file and the length of its lines are checked before it is read: a few bytes of gzip can unpack to
gigabytes, and a reader holds a whole line in memory. A row that is too large is quarantined with a reason. The view
truncates its own records, and Snowflake's identifiers have at most 255 characters: no row of the view comes near these
limits.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Final

from msgspec import Struct

from exporter.errors import UsageError
from exporter.input.row import Row, decode

LONGEST_RECORD: Final = 32 << 20
"""Longest record, in characters. The data derived from a row takes about a dozen times its size in memory."""
LONGEST_FIELD: Final = 2 * LONGEST_RECORD
"""Longest field of a CSV, in characters, before Spark fails: a quote that is never closed would fill the memory."""
LONGEST_DOCUMENT: Final = 64 << 20
"""Longest JSON document that is not strict JSON, in characters: reading it takes 15 times as much memory."""
LONG: Final = 32 << 10
"""The other limits are checked only for records with more characters than this."""
OBJECTS: Final = 500_000
"""Most JSON objects in a record: each object, column or source takes 1 to 10 KB of memory until it is written."""
VALUES: Final = 2_000_000
"""Most values in a record."""
LONGEST_NAME: Final = 64 << 10
"""Longest name, id or location, in characters."""
SHOWN: Final = 64 << 10
"""The quarantine keeps this many characters of a record that is too long."""


def too_much(text: str) -> str | None:
    """The reason why a record is too large to be read; None if it is not."""
    if len(text) > LONGEST_RECORD:
        return (
            f"the record has more than {LONGEST_RECORD:,} characters; no row of the view is that long "
            f"(only its first {SHOWN:,} characters are kept here)"
        )
    if text.count("{") > OBJECTS:
        return f"the record has more than {OBJECTS:,} JSON objects; no row of the view is that large"
    if text.count(",") + text.count("[") > VALUES:
        return f"the record has more than {VALUES:,} values; no row of the view is that large"
    return None


def shortened(text: str) -> str:
    """The text of a quarantined record that is kept: all of it, unless it is too long."""
    return text if len(text) <= LONGEST_RECORD else text[:SHOWN]


def long_names(row: Row) -> list[str]:
    """Problems with names, ids and locations that are too long, one sentence for each field. Raw JSON is not
    limited.
    """
    texts = {name: getattr(row, name) for name in row.__struct_fields__ if name not in _KEPT}
    lengths = [(name, len(text)) for name, text in texts.items() if isinstance(text, str) and len(text) > LONGEST_NAME]
    document = decode(row.content)
    lengths += [(place, len(text)) for place, text in _texts("", document) if len(text) > LONGEST_NAME]
    longest = {name: max(size for text, size in lengths if text == name) for name, _ in lengths}
    return [f"{name} has {size:,} characters; at most {LONGEST_NAME:,} are allowed" for name, size in longest.items()]


_KEPT: Final = frozenset({"content", "additional_properties", "invoker_identity", "unknown_columns"})


def _texts(name: str, value: Any) -> Iterator[tuple[str, str]]:
    """All texts of a document, each with the name of its field."""
    if isinstance(value, str):
        yield name, value
    elif isinstance(value, list):
        for element in value:
            yield from _texts(name, element)
    elif isinstance(value, Struct):
        for field, encoded in zip(value.__struct_fields__, value.__struct_encode_fields__, strict=True):
            yield from _texts(encoded, getattr(value, field))


RATIO: Final = 200
"""A file may unpack to this many times its size. Files of rows reach 10 to 60: query ids and times do not repeat."""
FREE: Final = 64 << 20
"""Any file may unpack to this many bytes."""
LONGEST_LINE: Final = 128 << 20
"""Longest line, in bytes: Spark would fail on a longer one. A shorter line that exceeds a record's limit is
quarantined.
"""
_AT_ONCE: Final = 1 << 20


@contextmanager
def opened(path: str | Path) -> Iterator[IO[bytes] | gzip.GzipFile]:
    """The file, opened and unpacked if it is gzip. Raises UsageError if it cannot be read."""
    try:
        with Path(path).open("rb") as file:
            is_gzip = file.read(2) == b"\x1f\x8b"
            file.seek(0)
            if is_gzip:
                with gzip.open(file) as content:
                    yield content
            else:
                yield file
    except (OSError, EOFError, zlib.error) as error:
        raise UsageError(f"{path}: cannot be read: {error}") from None


def unpacked(path: Path) -> int:
    """The number of bytes that a gzip file unpacks to. Raises UsageError if it cannot be unpacked, or if it has more
    bytes or a longer line than rows can have (a gzip bomb). Unpacking stops as soon as a limit is exceeded.
    """
    allowed = max(FREE, RATIO * path.stat().st_size)
    try:
        with gzip.open(path) as file:
            return _checked(path, file, allowed)
    except (OSError, EOFError, zlib.error) as error:
        raise UsageError(f"{path}: cannot be read: {error}") from None


def check_lines(path: Path) -> None:
    """Raise UsageError if a file that is not gzip has a line that is too long."""
    size = path.stat().st_size
    if size > LONGEST_LINE:
        with path.open("rb") as file:
            _checked(path, file, size)


def _checked(path: Path, file: IO[bytes] | gzip.GzipFile, allowed: int) -> int:
    size = line_length = 0
    while chunk := file.read(_AT_ONCE):
        size += len(chunk)
        last = max(chunk.rfind(b"\n"), chunk.rfind(b"\r"))
        line_length = line_length + len(chunk) if last < 0 else len(chunk) - 1 - last
        if size > allowed:
            raise UsageError(
                f"{path}: unpacks to more than {allowed >> 20:,} MiB, over {RATIO} times its size, which rows of the "
                "view do not (a gzip bomb?); check its content, and give it unpacked if it is right"
            )
        if line_length > LONGEST_LINE:
            raise UsageError(f"{path}: has a line of more than {LONGEST_LINE >> 20} MiB, which is not a row; remove it")
    return size
