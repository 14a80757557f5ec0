"""Messages for people about a fetch: the summary at its end, and notes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from exporter.fetch.views import ACCESS_HISTORY, OF_ORGANIZATION, QUERY_TEXT, SCHEMAS
from exporter.printable import visible

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import date

    from exporter.fetch.run import Fetched, Wanted

_WIDTH = 12


def summary(done: Fetched) -> str:
    """The rows by view, and the command to run next."""
    lines = [f"  {folder:<16}{_view(done, folder)}" for folder in done.rows]
    if done.removed:
        lines.append(f"  {'removed':<16}{len(done.removed):>{_WIDTH},} days, {_period(done.removed)}")
    has_rows = Path(done.out, ACCESS_HISTORY.folder).is_dir()
    end = [f"Written to {done.out}", *([_next(done)] if has_rows else [])]
    return "\n".join(map(visible, [*lines, "", *end]))


def _view(done: Fetched, folder: str) -> str:
    rows, same = done.rows[folder], done.same[folder]
    again = f"; {_days(same)} asked for again, nothing new" if same else ""
    of = f"{_days(len(rows))} ({_period(list(rows))})" if rows else "no day"
    count = sum(rows.values())
    return f"{count:>{_WIDTH},} row{'' if count == 1 else 's'} of {of}{again}"


def _days(number: int) -> str:
    return f"{number:,} day{'' if number == 1 else 's'}"


def _period(days: list[date]) -> str:
    return f"{min(days)}" if len(days) == 1 else f"{min(days)} to {max(days)}"


def _next(done: Fetched) -> str:
    return f"Export it: exporter export {done.out} --out lineage --update"


def kept(out: Path) -> str:
    """For the message of a fetch that was interrupted: what remains of it."""
    return f"the days that are complete are in {out}, and the next fetch continues after them"


def advice(done: Fetched, wanted: Wanted) -> Iterator[str]:
    """Notes: columns that were left out, and views without rows."""
    for problem in done.not_read.values():
        yield f"not read, and short queries on hybrid tables are missing: {problem}"
    for view in wanted.views:
        if view.folder in done.not_read:
            continue
        name = f"{wanted.schema}.{view.name}"
        missing = [column for column in done.left_out[view.folder] if column not in _not_missed(wanted)]
        if missing:
            yield f"{name} has no {', '.join(missing)}: left out"
        rows = done.rows[view.folder]
        if rows and not any(rows.values()) and not done.same[view.folder]:
            yield f"{name} has no row from {min(rows)} to {max(rows)}{_why(view.name, wanted.schema)}"


def _not_missed(wanted: Wanted) -> frozenset[str]:
    """Columns that are no news where they are missing."""
    others = frozenset() if wanted.schema == SCHEMAS["organization"] else OF_ORGANIZATION
    return others if wanted.query_text else others | {QUERY_TEXT}


def _why(view: str, schema: str) -> str:
    if view != ACCESS_HISTORY.name:
        return ""
    late = "a day" if schema == SCHEMAS["organization"] else "three hours"
    return f"; it needs Enterprise Edition (without it the view is empty), and rows are up to {late} late"
