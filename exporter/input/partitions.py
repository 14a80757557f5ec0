"""Columns in the names of folders, as Hive, Spark and DuckDB partition files: ``account_name=EU/part-0.parquet``.

Their writers leave such a column out of the files. Only columns that the program reads are taken; others, such as
``day=2026-09-01``, divide the files and say nothing that the rows do not say. A value of the row itself counts more.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final
from urllib.parse import unquote

import msgspec
from msgspec import Raw

from exporter.input import documented_form, json_reader, reading
from exporter.input.query_history import COLUMNS as OF_HISTORY
from exporter.input.row import ABSENT, NOT_DECODED, columns_of, lower_name

_part: Final = re.compile(r"(?<![^/])([^/=]+)=([^/]+)(?=/)")
_NULL: Final = "__HIVE_DEFAULT_PARTITION__"
_READ: Final = {True: OF_HISTORY, False: reading.OF_TEXT}


@lru_cache(maxsize=1024)
def columns_in(path: str, *, is_history: bool) -> dict[str, str]:
    """The columns in the folders of a file's path: name in lower case -> value. ``is_history``: whether the file has
    rows of QUERY_HISTORY, of which other columns are read.
    """
    parts = ((lower_name(unquote(name)), value) for name, value in _part.findall(path))
    return {name: unquote(value) for name, value in parts if name in _READ[is_history] and value != _NULL}


def with_columns(text: str, columns: dict[str, str]) -> str:
    """A record with those of the columns that it does not have; as it is if it is not a JSON object."""
    try:
        row = columns_of(text)
    except NOT_DECODED:
        members = documented_form.members_of(text) or json_reader.Members()
        row = {name: Raw(json_reader.canonical_json(value).encode()) for name, value in members.last().items()}
    present = {lower_name(name) for name, value in row.items() if value != ABSENT}
    missing = {name: value for name, value in columns.items() if name not in present}
    if not row or not missing:
        return text
    kept = {name: value for name, value in row.items() if lower_name(name) not in missing}
    try:
        return msgspec.json.encode({**kept, **missing}).decode()
    except UnicodeEncodeError:  # the name of a column is damaged, so the row is quarantined
        return text
