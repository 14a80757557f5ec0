"""The fetch: which days are asked for, what is done with each answer, and its messages. Start reading here.

A query belongs to the day (UTC) on which it starts. It appears in the views when it has ended, and then some hours
later. So a day is asked for again until this was done once at least OVERLAP days after its end; then it is settled. The
default is three days: two for which a statement may run (Snowflake's STATEMENT_TIMEOUT_IN_SECONDS), and one for the
latency of the views, which is up to three hours for an account and up to a day for an organization.

The views are read one after the other, day by day. For a day that ROWS already has, the fetch first counts the rows:
most days have no late rows, and are not read again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from exporter.errors import UsageError
from exporter.fetch import snowflake, state
from exporter.fetch.snowflake import (
    ACCESS_HISTORY,
    AGGREGATE,
    OF_ORGANIZATION,
    QUERY_HISTORY,
    QUERY_TEXT,
    SCHEMAS,
    SnowflakeSession,
    View,
)
from exporter.fetch.state import FetchState
from exporter.publish.manifest import refuse_in_export
from exporter.system import private
from exporter.system.folders import held
from exporter.system.terminal import counted, visible

if TYPE_CHECKING:
    from exporter.system.progress import Progress

OVERLAP: Final = 3
YEAR: Final = 365
"""How many days the views go back."""
_DAY: Final = timedelta(days=1)


@dataclass(frozen=True)
class Period:
    """``since``: the first day, None for the first that ROWS or the views have; ``until``: the day after the last one,
    None for tomorrow; ``overlap``: days after its end when a day is settled; ``keep``: how many days ROWS keeps, None
    for all.
    """

    since: date | None = None
    until: date | None = None
    overlap: int = OVERLAP
    keep: int | None = None

    def __post_init__(self) -> None:
        """Raises UsageError for options that contradict each other."""
        if self.since and self.until and self.since >= self.until:
            raise UsageError(f"--since {self.since} --until {self.until}: there is no day between them")
        if self.keep is not None and self.keep <= self.overlap:
            raise UsageError(
                f"--keep {self.keep}: the last {self.overlap} days are asked for again for late rows (--overlap), so "
                f"keep {self.overlap + 1} days or more"
            )

    def first(self, now: datetime, earliest: date | None) -> date:
        """The first day to ask for; ``earliest``: the first day in ROWS, None where it has none."""
        first_kept = self.first_kept(now)
        if self.since is not None:
            if first_kept is not None and self.since < first_kept:
                raise UsageError(
                    f"--since {self.since}: --keep {self.keep} keeps no day before {first_kept}; give one of them"
                )
            return self.since
        first = earliest or now.date() - YEAR * _DAY
        return first if first_kept is None else max(first, first_kept)

    def first_kept(self, now: datetime) -> date | None:
        """The first day that ROWS keeps; None where it keeps all."""
        return None if self.keep is None else now.date() - self.keep * _DAY

    def days(self, now: datetime, last_asked: Mapping[date, datetime]) -> list[date]:
        """The days to ask for, in order. ``last_asked``: when each day in ROWS was last asked for."""
        end = min(self.until or date.max, now.date() + _DAY)
        first = self.first(now, min(last_asked, default=None))
        all_days = [first + number * _DAY for number in range((end - first).days)]
        return [day for day in all_days if day not in last_asked or not self.is_settled(day, last_asked[day])]

    def is_settled(self, day: date, at: datetime) -> bool:
        """Whether a day cannot have late rows any more, if it was last asked for at the time ``at``."""
        return at >= datetime.combine(day + _DAY, time(), UTC) + self.overlap * _DAY


def day_of(text: str, option: str) -> date:
    """``2026-11-21`` -> the day. Raises UsageError, which names the option."""
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise UsageError(f"{option} {text}: is not a day such as 2026-11-21; rows are fetched by days of UTC") from None


@dataclass(frozen=True)
class FetchOptions:
    """The options of a fetch. ``out``: ROWS; ``schema``: of the views; ``query_text``: whether SQL text is fetched;
    ``query_history``, ``aggregate``: whether that view, and AGGREGATE_ACCESS_HISTORY, are read.
    """

    out: Path
    period: Period
    schema: str = SCHEMAS["account"]
    query_text: bool = False
    query_history: bool = True
    aggregate: bool = False

    @property
    def views(self) -> tuple[View, ...]:
        """The views to read."""
        optional = ((QUERY_HISTORY, self.query_history), (AGGREGATE, self.aggregate))
        return (ACCESS_HISTORY, *(view for view, is_read in optional if is_read))


@dataclass
class Fetched:
    """The result of a fetch. ``rows``: by view and day, for the days that were read; ``same``: by view, days that were
    counted again and have no new rows; ``left_out``: by view, columns that the view does not have; ``removed``: days
    that ``--keep`` removed from ROWS; ``not_read``: by view, why AGGREGATE_ACCESS_HISTORY could not be read; ``left``:
    by view, the rows that ROWS has after the fetch.
    """

    out: str
    account: str
    rows: dict[str, dict[date, int]] = field(default_factory=dict)
    same: dict[str, int] = field(default_factory=dict)
    left_out: dict[str, list[str]] = field(default_factory=dict)
    removed: list[date] = field(default_factory=list)
    not_read: dict[str, str] = field(default_factory=dict)
    left: dict[str, int] = field(default_factory=dict)

    def json(self) -> dict[str, Any]:
        """The result for ``--json``."""
        rows = {folder: {str(day): count for day, count in days.items()} for folder, days in self.rows.items()}
        removed = [str(day) for day in self.removed]
        return {**vars(self), "rows": rows, "removed": removed}


def planned(options: FetchOptions, now: datetime) -> Iterator[str]:
    """The SQL of a fetch, one statement at a time, with all columns that an export reads. Does not connect to
    Snowflake.
    """
    fetch_state = state.read(options.out)
    for view in options.views:
        columns = snowflake.columns_to_read(view, view.columns, query_text=options.query_text)
        last_asked = fetch_state.asked(view.folder)
        yield snowflake.columns_sql(options.schema, view)
        for day in options.period.days(now, last_asked):
            bounds = {name: f"'{time}'" for name, time in snowflake.bounds(day).items()}
            if day in last_asked:
                yield snowflake.count_sql(options.schema, view) % bounds
            yield snowflake.rows_sql(options.schema, view, columns) % bounds


def fetch(
    options: FetchOptions,
    connect: Callable[[], AbstractContextManager[SnowflakeSession]],
    progress: Progress,
    clock: Callable[[], datetime] = lambda: datetime.now(UTC),
) -> Fetched:
    """Fetches what ROWS does not have. After a failure, the days that are complete stay."""
    refuse_in_export(str(options.out), options.out.resolve().parents)
    state.read(options.out)  # errors in ROWS are reported before anything is asked
    with private.made(), _locked(options.out), ExitStack() as stack:
        fetch_state = state.read(options.out)
        with progress.stage("connecting"):
            session = stack.enter_context(connect())
        fetch_state.check_source(
            str(options.out), state.RowsSource(options.schema, session.account, options.query_text)
        )
        fetched = Fetched(str(options.out), session.account)
        return _Fetch(options, session, fetch_state, progress, clock, fetched).run()


@contextmanager
def _locked(out: Path) -> Iterator[None]:
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


@dataclass
class _Fetch:
    """One running fetch."""

    options: FetchOptions
    session: SnowflakeSession
    fetch_state: FetchState
    progress: Progress
    clock: Callable[[], datetime]
    fetched: Fetched

    def run(self) -> Fetched:
        todo = [entry for view in self.options.views for entry in self._days(view)]
        for day, view, columns in sorted(todo, key=lambda entry: entry[0]):
            self._fetch_day(view, day, columns)
        self._remove()
        days_of = self.fetch_state.days.items()
        self.fetched.left = {folder: sum(day.rows for day in days.values()) for folder, days in days_of}
        return self.fetched

    def _days(self, view: View) -> list[tuple[date, View, tuple[str, ...]]]:
        """The days to ask for, with the columns. None for AGGREGATE_ACCESS_HISTORY where it cannot be read: a role may
        not see it, and an account may not have it.
        """
        try:
            columns = self._columns(view)
        except UsageError as error:
            if view is not AGGREGATE:
                raise
            self.fetched.not_read[view.folder] = str(error)
            return []
        self.fetched.rows[view.folder], self.fetched.same[view.folder] = {}, 0
        days = self.options.period.days(self.clock(), self.fetch_state.asked(view.folder))
        return [(day, view, columns) for day in days]

    def _columns(self, view: View) -> tuple[str, ...]:
        """The columns to ask for; records those that the view does not have."""
        state.clean(self.options.out, view.folder)
        present = {name.lower() for name in self.session.columns(snowflake.columns_sql(self.options.schema, view))}
        missing = [name for name in view.columns if name not in present]
        needed = [name for name in missing if name in view.required]
        if needed:
            raise UsageError(
                f"{self.options.schema}.{view.name}: has no column {', '.join(needed)}, so it is not {view.name}; give "
                "the schema of the views with --view"
            )
        self.fetched.left_out[view.folder] = missing
        return snowflake.columns_to_read(view, present, query_text=self.options.query_text)

    def _fetch_day(self, view: View, day: date, columns: tuple[str, ...]) -> None:
        """Asks a view for a day, and records the answer."""
        schema, bounds, at = self.options.schema, snowflake.bounds(day), self.clock()
        before = self.fetch_state.days.get(view.folder, {}).get(day)
        with self.progress.stage(f"{view.name} of {day}"):
            if before and self.session.number(snowflake.count_sql(schema, view), bounds) == before.rows:
                self.fetched.same[view.folder] += 1
                rows = before.rows
            else:
                batches = self.session.batches(snowflake.rows_sql(schema, view, columns), bounds)
                rows = state.write_day(state.path(self.options.out, view.folder, day), batches)
                self.fetched.rows[view.folder][day] = rows
                self.progress.counted("rows", sum(sum(days.values()) for days in self.fetched.rows.values()))
        self.fetch_state.days.setdefault(view.folder, {})[day] = state.FetchedDay(rows, at)
        state.write_state(self.options.out, self.fetch_state)

    def _remove(self) -> None:
        """Removes the days that ROWS is not to keep."""
        first = self.options.period.first_kept(self.clock())
        for folder, days in self.fetch_state.days.items():
            for day in [day for day in days if first and day < first]:
                state.path(self.options.out, folder, day).unlink(missing_ok=True)
                del days[day]
                self.fetched.removed.append(day)
        self.fetched.removed = sorted(set(self.fetched.removed))
        state.write_state(self.options.out, self.fetch_state)


# --- for people -------------------------------------------------------------------------------------------------------

_WIDTH = 12


def summary(fetched: Fetched) -> str:
    """The rows by view, and the command to run next."""
    lines = [f"  {folder:<16}{_view(fetched, folder)}" for folder in fetched.rows]
    if fetched.removed:
        days = f"{len(fetched.removed):>{_WIDTH},} day{'' if len(fetched.removed) == 1 else 's'}"
        lines.append(f"  {'removed':<16}{days}, {_period(fetched.removed)}")
    lines += ["", f"Written to {fetched.out}"]
    if fetched.left.get(ACCESS_HISTORY.folder):
        lines.append(f"Export it: exporter export {fetched.out} --out lineage --update")
    return "\n".join(map(visible, lines))


def _view(fetched: Fetched, folder: str) -> str:
    rows, same = fetched.rows[folder], fetched.same[folder]
    counted_again = f"; {counted(same, 'day')} asked for again, nothing new" if same else ""
    count = sum(rows.values())
    return f"{count:>{_WIDTH},} row{'' if count == 1 else 's'}{f' of {_days(rows)}' if rows else ''}{counted_again}"


def _days(days: Collection[date]) -> str:
    return f"{counted(len(days), 'day')} ({_period(days)})"


def _period(days: Collection[date]) -> str:
    return f"{min(days)}" if len(days) == 1 else f"{min(days)} to {max(days)}"


def advice(fetched: Fetched, options: FetchOptions) -> Iterator[str]:
    """Notes: columns that were left out, views without rows, and why nothing is left to export."""
    for problem in fetched.not_read.values():
        yield f"not read, and short queries on hybrid tables are missing: {problem}"
    for view in options.views:
        if view.folder in fetched.not_read:
            continue
        name = f"{options.schema}.{view.name}"
        missing = [column for column in fetched.left_out[view.folder] if column not in _expected_to_miss(options)]
        if missing:
            yield f"{name} has no {', '.join(missing)}: left out"
        rows = fetched.rows[view.folder]
        if rows and not any(rows.values()) and not fetched.same[view.folder]:
            yield f"{name} has no row from {min(rows)} to {max(rows)}{_why(view.name, options.schema)}"
    if not fetched.left.get(ACCESS_HISTORY.folder):
        yield _nothing_to_export(fetched, options)


def _nothing_to_export(fetched: Fetched, options: FetchOptions) -> str:
    nothing = f"{fetched.out} has no row of {ACCESS_HISTORY.name}, so there is nothing to export"
    if not fetched.removed:
        return nothing
    return f"{nothing}: --keep {options.period.keep} removed {_days(fetched.removed)}, and no later day has a row"


def _expected_to_miss(options: FetchOptions) -> frozenset[str]:
    """Columns whose absence needs no note."""
    columns = frozenset() if options.schema == SCHEMAS["organization"] else OF_ORGANIZATION
    return columns if options.query_text else columns | {QUERY_TEXT}


def _why(view: str, schema: str) -> str:
    if view != ACCESS_HISTORY.name:
        return ""
    late = "a day" if schema == SCHEMAS["organization"] else "three hours"
    return f"; it needs Enterprise Edition (without it the view is empty), and rows are up to {late} late"
