"""Detect which of the two views a file contains. One given in place of the other would make an empty export."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

from exporter.errors import UsageError
from exporter.rows import forms, paths
from exporter.rows.row import STRUCTURED

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from exporter.rows.forms import Source

OBJECTS: Final = frozenset(STRUCTURED) - {"object_modified_by_ddl", "agents_info"}
"""Columns that ACCESS_HISTORY alone has."""
OF_HISTORY: Final = frozenset({"query_text", "execution_status", "total_elapsed_time"})
"""Columns that QUERY_HISTORY alone has."""
_KEYS: Final = re.compile(r'(?<!\\)"(\w+)"\s*:')
"""The keys of a JSON text. Keys in a JSON text inside a string are not matched, because their quotes are escaped."""


def check_names(names: Collection[str], where: str, *, is_history: bool) -> None:
    """Raise UsageError if the columns are those of the other view. ``names``: in lower case. ``where``: the file or
    table, for the message. ``is_history``: whether it is given as QUERY_HISTORY.
    """
    if is_history and not OBJECTS.isdisjoint(names):
        raise UsageError(
            f"{where}: these are rows of ACCESS_HISTORY, but --query-history needs rows of QUERY_HISTORY; "
            "give this file as INPUT"
        )
    has_none = "query_id" in names and "query_start_time" not in names and OBJECTS.isdisjoint(names)
    if not is_history and has_none and not OF_HISTORY.isdisjoint(names):
        raise UsageError(f"{where}: these are rows of QUERY_HISTORY; give them with --query-history")


def check_files(sources: Iterable[Source], *, is_history: bool) -> None:
    """The same for local JSON files, by the keys in their first bytes."""
    for source in sources:
        if source.form in (forms.NDJSON, forms.JSON_DOCUMENT) and not paths.is_remote(source.paths[0]):
            for path in source.paths:
                keys = {key.lower() for key in _KEYS.findall(forms.first_text(Path(path)))}
                check_names(keys, path, is_history=is_history)
