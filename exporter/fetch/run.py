"""The fetch: which days are asked for, what is done with each answer, and its messages. Start reading here.

A query belongs to the day (UTC) on which it starts. It appears in the views when it has ended, and then some hours
later. So a day is asked for again until this was done once at least OVERLAP days after its end; then it is settled. The
default is three days: two for which a statement may run (Snowflake's STATEMENT_TIMEOUT_IN_SECONDS), and one for the
latency of the views, which is up to three hours for an account and up to a day for an organization.

The views are read one after the other, day by day. For a day that ROWS already has, the fetch first counts the rows:
most days have no late rows, and are not read again.
"""

from __future__ import annotations

from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from typing import TYPE_CHECKING, Any, Final, Protocol

from exporter.errors import UsageError
from exporter.fetch import snowflake, state
from exporter.fetch import state as files
from exporter.fetch.snowflake import ACCESS_HISTORY, OF_ORGANIZATION, QUERY_TEXT, SCHEMAS
from exporter.publish.manifest import refuse_in_export_here
from exporter.system import private
from exporter.system.folders import held
from exporter.system.terminal import visible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from contextlib import AbstractContextManager
    from pathlib import Path

    import pyarrow as pa

    from exporter.fetch.snowflake import View
    from exporter.fetch.state import FetchState
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
        kept = self.first_kept(now)
        if self.since is not None:
            if kept is not None and self.since < kept:
                raise UsageError(
                    f"--since {self.since}: --keep {self.keep} keeps no day before {kept}; give one of them"
                )
            return self.since
        first = earliest or now.date() - YEAR * _DAY
        return first if kept is None else max(first, kept)

    def first_kept(self, now: datetime) -> date | None:
        """The first day that ROWS keeps; None where it keeps all."""
        return None if self.keep is None else now.date() - self.keep * _DAY

    def days(self, now: datetime, asked: Mapping[date, datetime]) -> list[date]:
        """The days to ask for, in order. ``asked``: when each day in ROWS was last asked for."""
        end = min(self.until or date.max, now.date() + _DAY)
        first = self.first(now, min(asked, default=None))
        every = [first + number * _DAY for number in range((end - first).days)]
        return [day for day in every if day not in asked or not self.is_settled(day, asked[day])]

    def is_settled(self, day: date, at: datetime) -> bool:
        """Whether a day cannot have late rows any more, if it was last asked for at the time ``at``."""
        return at >= datetime.combine(after(day), time(), UTC) + self.overlap * _DAY


def after(day: date) -> date:
    """The next day."""
    return day + _DAY


def day_of(text: str, option: str) -> date:
    """``2026-11-21`` -> the day. Raises UsageError, which names the option."""
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise UsageError(f"{option} {text}: is not a day such as 2026-11-21; rows are fetched by days of UTC") from None


_WIDTH = 12


def summary(done: Fetched) -> str:
    """The rows by view, and the command to run next."""
    lines = [f"  {folder:<16}{_view(done, folder)}" for folder in done.rows]
    if done.removed:
        lines.append(f"  {'removed':<16}{len(done.removed):>{_WIDTH},} days, {_period(done.removed)}")
    end = [f"Written to {done.out}", *([_next(done)] if done.left.get(ACCESS_HISTORY.folder) else [])]
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


def what_remains(out: Path) -> str:
    """For the message of a fetch that was interrupted: what remains of it."""
    return f"the days that are complete are in {out}, and the next fetch continues after them"


def advice(done: Fetched, wanted: Wanted) -> Iterator[str]:
    """Notes: columns that were left out, views without rows, and why nothing is left to export."""
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
    if not done.left.get(ACCESS_HISTORY.folder):
        yield _nothing_left(done, wanted)


def _nothing_left(done: Fetched, wanted: Wanted) -> str:
    nothing = f"{done.out} has no row of {ACCESS_HISTORY.name}, so there is nothing to export"
    if not done.removed:
        return nothing
    which = f"{_days(len(done.removed))} ({_period(done.removed)})"
    return f"{nothing}: --keep {wanted.period.keep} removed {which}, and no later day has a row"


def _not_missed(wanted: Wanted) -> frozenset[str]:
    """Columns that are no news where they are missing."""
    others = frozenset() if wanted.schema == SCHEMAS["organization"] else OF_ORGANIZATION
    return others if wanted.query_text else others | {QUERY_TEXT}


def _why(view: str, schema: str) -> str:
    if view != ACCESS_HISTORY.name:
        return ""
    late = "a day" if schema == SCHEMAS["organization"] else "three hours"
    return f"; it needs Enterprise Edition (without it the view is empty), and rows are up to {late} late"


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
    schema: str = snowflake.SCHEMAS["account"]
    query_text: bool = False
    query_history: bool = True
    aggregate: bool = False

    @property
    def views(self) -> tuple[View, ...]:
        """The views to read."""
        others = ((snowflake.QUERY_HISTORY, self.query_history), (snowflake.AGGREGATE, self.aggregate))
        return (snowflake.ACCESS_HISTORY, *(view for view, is_wanted in others if is_wanted))


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
        rows = {folder: {str(day): count for day, count in of.items()} for folder, of in self.rows.items()}
        removed = [str(day) for day in self.removed]
        return {**vars(self), "rows": rows, "removed": removed}


def planned(wanted: Wanted, now: datetime) -> Iterator[str]:
    """The SQL of a fetch, one statement at a time, with all columns that an export reads. Does not connect to
    Snowflake.
    """
    had = state.read(wanted.out)
    for view in wanted.views:
        columns = snowflake.asked_for(view, view.columns, query_text=wanted.query_text)
        asked = had.asked(view.folder)
        yield snowflake.columns_sql(wanted.schema, view)
        for day in wanted.period.days(now, asked):
            bounds = {name: f"'{time}'" for name, time in snowflake.bounds(day, after(day)).items()}
            if day in asked:
                yield snowflake.count_sql(wanted.schema, view) % bounds
            yield snowflake.rows_sql(wanted.schema, view, columns) % bounds


def _now() -> datetime:
    return datetime.now(UTC)


def fetch(wanted: Wanted, connect: Connect, progress: Progress, clock: Callable[[], datetime] = _now) -> Fetched:
    """Fetches what ROWS does not have. After a failure, the days that are complete stay."""
    refuse_in_export_here(str(wanted.out), wanted.out.resolve())
    state.read(wanted.out)  # errors in ROWS are reported before anything is asked
    with private.made(), _locked(wanted.out), ExitStack() as stack:
        had = state.read(wanted.out)
        with progress.stage("connecting"):
            session = stack.enter_context(connect())
        had.belongs(str(wanted.out), state.RowsSource(wanted.schema, session.account, wanted.query_text))
        return _Fetch(wanted, session, had, progress, clock).run()


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


class _Fetch:
    """One running fetch."""

    def __init__(
        self, wanted: Wanted, session: Session, had: FetchState, progress: Progress, clock: Callable[[], datetime]
    ) -> None:
        self.wanted, self.session, self.had, self.progress, self.clock = wanted, session, had, progress, clock
        self.done = Fetched(str(wanted.out), session.account)

    def run(self) -> Fetched:
        columns = {view.folder: found for view in self.wanted.views if (found := self._columns_or_none(view))}
        todo = [(day, view) for view in self.wanted.views if view.folder in columns for day in self._days(view)]
        for day, view in sorted(todo, key=lambda one: one[0]):
            self._take(view, day, columns[view.folder])
        self._remove()
        self.done.left = {folder: sum(day.rows for day in days.values()) for folder, days in self.had.days.items()}
        return self.done

    def _columns_or_none(self, view: View) -> tuple[str, ...] | None:
        """The columns to ask for. AGGREGATE_ACCESS_HISTORY, which a role may not see or an account may not have, is
        left out where it cannot be read, and the others are read: None.
        """
        try:
            return self._columns(view)
        except UsageError as error:
            if view is not snowflake.AGGREGATE:
                raise
            self.done.not_read[view.folder] = str(error)
            return None

    def _columns(self, view: View) -> tuple[str, ...]:
        """The columns to ask for; records those that the view does not have."""
        files.clean(self.wanted.out, view.folder)
        there = self.session.columns(snowflake.columns_sql(self.wanted.schema, view))
        asked = snowflake.asked_for(view, there, query_text=self.wanted.query_text)
        missing = [name for name in view.columns if name.lower() not in {text.lower() for text in there}]
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
        schema, bounds, at = self.wanted.schema, snowflake.bounds(day, after(day)), self.clock()
        before = self.had.days.get(view.folder, {}).get(day)
        with self.progress.stage(f"{view.name} of {day}"):
            if before and self.session.number(snowflake.count_sql(schema, view), bounds) == before.rows:
                self.done.same[view.folder] += 1
                rows = before.rows
            else:
                batches = self.session.batches(snowflake.rows_sql(schema, view, columns), bounds)
                rows = files.write_day(files.path(self.wanted.out, view.folder, day), batches)
                self.done.rows[view.folder][day] = rows
                self.progress.counted("rows", sum(sum(of.values()) for of in self.done.rows.values()))
        self.had.put(view.folder, day, state.Taken(rows, at))
        state.write_state(self.wanted.out, self.had)

    def _remove(self) -> None:
        """Removes the days that ROWS is not to keep."""
        first = self.wanted.period.first_kept(self.clock())
        for folder, days in self.had.days.items():
            for day in [day for day in days if first and day < first]:
                files.path(self.wanted.out, folder, day).unlink(missing_ok=True)
                del days[day]
                self.done.removed.append(day)
        self.done.removed = sorted(set(self.done.removed))
        state.write_state(self.wanted.out, self.had)
