"""The fetch: which days are asked for, and what is done with each answer. Start reading here.

The two views are read one after the other, day by day. For a day that ROWS already has, the fetch first counts the
rows: most days have no late rows, and are not read again.
"""

from __future__ import annotations

from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any, Protocol

from exporter import private
from exporter.errors import UsageError
from exporter.fetch import files, state, views
from exporter.fetch.windows import Period, after
from exporter.locks import held
from exporter.manifest import refuse_in_export_here

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

    import pyarrow as pa

    from exporter.fetch.state import State
    from exporter.fetch.views import View
    from exporter.progress import Progress


class Session(Protocol):
    """What a fetch needs from Snowflake. Failures are raised as ExporterError, with a message for people."""

    account: str
    """ORG-ACCOUNT, as ``export --account`` takes it."""

    def columns(self, sql: str) -> list[str]:
        """The names of the columns of a result."""

    def number(self, sql: str, parameters: dict[str, str]) -> int:
        """The single number of a result."""

    def batches(self, sql: str, parameters: dict[str, str]) -> Iterator[pa.Table]:
        """The rows of a result, batch by batch."""


if TYPE_CHECKING:
    Connect = Callable[[], AbstractContextManager[Session]]


@dataclass(frozen=True)
class Wanted:
    """The options of a fetch. ``out``: ROWS; ``schema``: of the views; ``query_text``: whether SQL text is fetched;
    ``query_history``, ``aggregate``: whether that view, and AGGREGATE_ACCESS_HISTORY, are read.
    """

    out: Path
    period: Period
    schema: str = views.SCHEMAS["account"]
    query_text: bool = False
    query_history: bool = True
    aggregate: bool = False

    @property
    def views(self) -> tuple[View, ...]:
        """The views to read."""
        others = ((views.QUERY_HISTORY, self.query_history), (views.AGGREGATE, self.aggregate))
        return (views.ACCESS_HISTORY, *(view for view, is_wanted in others if is_wanted))


@dataclass
class Fetched:
    """The result of a fetch. ``rows``: by view and day, for the days that were read; ``same``: by view, days that were
    counted again and have no new rows; ``left_out``: by view, columns that the view does not have; ``removed``: days
    that ``--keep`` removed from ROWS; ``not_read``: by view, why AGGREGATE_ACCESS_HISTORY could not be read.
    """

    out: str
    account: str
    rows: dict[str, dict[date, int]] = field(default_factory=dict)
    same: dict[str, int] = field(default_factory=dict)
    left_out: dict[str, list[str]] = field(default_factory=dict)
    removed: list[date] = field(default_factory=list)
    not_read: dict[str, str] = field(default_factory=dict)

    def json(self) -> dict[str, Any]:
        """The result for ``--json``."""
        rows = {folder: {str(day): count for day, count in of.items()} for folder, of in self.rows.items()}
        removed = [str(day) for day in self.removed]
        return {**vars(self), "rows": rows, "removed": removed}


def planned(wanted: Wanted, now: datetime) -> Iterator[str]:
    """The SQL of a fetch, one statement at a time, with all columns that an export reads. Does not connect to
    Snowflake.
    """
    had = state.read(wanted.out)
    for view in wanted.views:
        columns = views.asked_for(view, view.columns, query_text=wanted.query_text)
        asked = had.asked(view.folder)
        yield views.columns_sql(wanted.schema, view)
        for day in wanted.period.days(now, asked):
            bounds = {name: f"'{time}'" for name, time in views.bounds(day, after(day)).items()}
            if day in asked:
                yield views.count_sql(wanted.schema, view) % bounds
            yield views.rows_sql(wanted.schema, view, columns) % bounds


def _now() -> datetime:
    return datetime.now(UTC)


def fetch(wanted: Wanted, connect: Connect, progress: Progress, clock: Callable[[], datetime] = _now) -> Fetched:
    """Fetches what ROWS does not have. After a failure, the days that are complete stay."""
    refuse_in_export_here(str(wanted.out), wanted.out.resolve())
    state.read(wanted.out)  # errors in ROWS are reported before anything is asked
    with private.made(), _held(wanted.out), ExitStack() as stack:
        had = state.read(wanted.out)
        with progress.stage("connecting"):
            session = stack.enter_context(connect())
        had.belongs(str(wanted.out), state.Source(wanted.schema, session.account, wanted.query_text))
        return _Fetch(wanted, session, had, progress, clock).run()


@contextmanager
def _held(out: Path) -> Iterator[None]:
    """Locks ROWS, so that no other process writes it. ROWS is created where it does not exist; if it stays empty, it is
    removed again. The lock is inside ROWS, since the folder above may not be writable.
    """
    is_new = not out.exists()
    try:
        with held(out / ".lock", str(out)):
            yield
    finally:
        if is_new:
            with suppress(OSError):
                out.rmdir()


class _Fetch:
    """One running fetch."""

    def __init__(
        self, wanted: Wanted, session: Session, had: State, progress: Progress, clock: Callable[[], datetime]
    ) -> None:
        self.wanted, self.session, self.had, self.progress, self.clock = wanted, session, had, progress, clock
        self.done = Fetched(str(wanted.out), session.account)

    def run(self) -> Fetched:
        columns = {view.folder: found for view in self.wanted.views if (found := self._columns_or_none(view))}
        todo = [(day, view) for view in self.wanted.views if view.folder in columns for day in self._days(view)]
        for day, view in sorted(todo, key=lambda one: one[0]):
            self._take(view, day, columns[view.folder])
        self._remove()
        return self.done

    def _columns_or_none(self, view: View) -> tuple[str, ...] | None:
        """The columns to ask for. AGGREGATE_ACCESS_HISTORY, which a role may not see or an account may not have, is
        left out where it cannot be read, and the others are read: None.
        """
        try:
            return self._columns(view)
        except UsageError as error:
            if view is not views.AGGREGATE:
                raise
            self.done.not_read[view.folder] = str(error)
            return None

    def _columns(self, view: View) -> tuple[str, ...]:
        """The columns to ask for; records those that the view does not have."""
        files.clean(self.wanted.out, view.folder)
        there = self.session.columns(views.columns_sql(self.wanted.schema, view))
        asked = views.asked_for(view, there, query_text=self.wanted.query_text)
        missing = [name for name in view.columns if name.lower() not in {one.lower() for one in there}]
        needed = [name for name in missing if name in view.required]
        if needed:
            raise UsageError(
                f"{self.wanted.schema}.{view.name}: has no column {', '.join(needed)}, so it is no {view.name}; give "
                "the schema of the views with --view"
            )
        self.done.left_out[view.folder] = missing
        return asked

    def _days(self, view: View) -> list[date]:
        self.done.rows[view.folder], self.done.same[view.folder] = {}, 0
        return self.wanted.period.days(self.clock(), self.had.asked(view.folder))

    def _take(self, view: View, day: date, columns: tuple[str, ...]) -> None:
        """Asks a view for a day, and records the answer."""
        schema, bounds, at = self.wanted.schema, views.bounds(day, after(day)), self.clock()
        before = self.had.days.get(view.folder, {}).get(day)
        with self.progress.stage(f"{view.name} of {day}"):
            if before and self.session.number(views.count_sql(schema, view), bounds) == before.rows:
                self.done.same[view.folder] += 1
                rows = before.rows
            else:
                batches = self.session.batches(views.rows_sql(schema, view, columns), bounds)
                rows = files.write(files.path(self.wanted.out, view.folder, day), batches)
                self.done.rows[view.folder][day] = rows
                self.progress.counted("rows", sum(sum(of.values()) for of in self.done.rows.values()))
        self.had.put(view.folder, day, state.Taken(rows, at))
        state.write(self.wanted.out, self.had)

    def _remove(self) -> None:
        """Removes the days that ROWS is not to keep."""
        first = self.wanted.period.first_kept(self.clock())
        for folder, days in self.had.days.items():
            for day in [day for day in days if first and day < first]:
                files.path(self.wanted.out, folder, day).unlink(missing_ok=True)
                del days[day]
                self.done.removed.append(day)
        self.done.removed = sorted(set(self.done.removed))
        state.write(self.wanted.out, self.had)
