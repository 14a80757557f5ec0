"""Detect which view a file contains. One given in place of another would make an empty export."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

from exporter.errors import UsageError
from exporter.rows import aggregates, forms, paths
from exporter.rows.row import STRUCTURED

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from exporter.rows.forms import Source

ACCESS_HISTORY: Final = "ACCESS_HISTORY"
QUERY_HISTORY: Final = "QUERY_HISTORY"
AGGREGATE_ACCESS_HISTORY: Final = "AGGREGATE_ACCESS_HISTORY"
REQUIRED: Final[Mapping[str, tuple[str, ...]]] = {
    ACCESS_HISTORY: ("query_id", "query_start_time", "user_name"),
    QUERY_HISTORY: ("query_id",),
    AGGREGATE_ACCESS_HISTORY: aggregates.REQUIRED,
}
"""The columns that a table or the header of a file must have, by view."""
GIVEN: Final[Mapping[str, str]] = {
    ACCESS_HISTORY: "as INPUT",
    QUERY_HISTORY: "with --query-history",
    AGGREGATE_ACCESS_HISTORY: "with --aggregate",
}
"""How the rows of a view are given to ``exporter export``."""
OBJECTS: Final = frozenset(STRUCTURED) - {"object_modified_by_ddl", "agents_info"}
"""Columns that rows of accesses alone have."""
OF_HISTORY: Final = frozenset({"query_text", "execution_status", "total_elapsed_time"})
"""Columns that QUERY_HISTORY alone has."""
OF_INTERVALS: Final = frozenset({"interval_start_time", "interval_end_time"})
"""Columns that the aggregated views alone have."""
_KEYS: Final = re.compile(r'(?<!\\)"(\w+)"\s*:')
"""The keys of a JSON text. Keys in a JSON text inside a string are not matched, because their quotes are escaped."""


def check_names(names: Collection[str], where: str, view: str) -> None:
    """Raise UsageError if the columns are those of another view. ``names``: in lower case. ``where``: the file or
    table, for the message. ``view``: the one that it is given as.
    """
    found = _view_of(names)
    if found is None or found == view:
        return
    if found not in GIVEN:
        raise UsageError(
            f"{where}: these are rows of {found}, which do not say what was accessed; "
            f"give rows of {AGGREGATE_ACCESS_HISTORY} {GIVEN[AGGREGATE_ACCESS_HISTORY]}"
        )
    raise UsageError(f"{where}: these are rows of {found}, not of {view}; give them {GIVEN[found]}")


def _view_of(names: Collection[str]) -> str | None:
    """The view that has these columns; None where they do not say."""
    has_objects, has_id = not OBJECTS.isdisjoint(names), "query_id" in names
    if not OF_INTERVALS.isdisjoint(names):
        if has_id:  # rows of several views, which are told apart one by one
            return None
        is_of_queries = not has_objects and "query_text" in names
        return "AGGREGATE_QUERY_HISTORY" if is_of_queries else AGGREGATE_ACCESS_HISTORY
    if has_objects:
        return ACCESS_HISTORY if has_id else None
    is_history = has_id and "query_start_time" not in names and not OF_HISTORY.isdisjoint(names)
    return QUERY_HISTORY if is_history else None


def check_files(sources: Iterable[Source], view: str) -> None:
    """The same for local JSON files, by the keys in their first bytes."""
    for source in sources:
        if source.form in (forms.NDJSON, forms.JSON_DOCUMENT) and not paths.is_remote(source.paths[0]):
            for path in source.paths:
                keys = {key.lower() for key in _KEYS.findall(forms.first_text(Path(path)))}
                check_names(keys, path, view)
