"""An update: new rows are assigned to days, and the days that they affect are made again, one after the other, each
from the state of things at the end of the day before (:mod:`exporter.engines.state`).

Of the days after the first one with new rows, those are made again that it affects (:mod:`exporter.engines.affected`).
With other shapes than DIR was made with, all days are: any query may be refused now, or no longer.
If a day changes what earlier days have used of it, they are made again too: those with children of queries that it
refuses or names otherwise, and those on which queries started that end on this day and that the shapes refuse.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from exporter.engines.affected import CONTAINER_RECEIVERS, OPEN_RECEIVERS, STATE_RECEIVERS, Affected
from exporter.engines.state import SPAN, THINGS_DAY, TOGETHER, Store, begin, first_of, last_of
from exporter.errors import UsageError
from exporter.pipeline import rounds
from exporter.pipeline.extract import exclude_quarantined
from exporter.pipeline.job import ExportJob
from exporter.pipeline.messages import To
from exporter.pipeline.outcome import Counts
from exporter.pipeline.quarantine import number_lines
from exporter.pipeline.rounds import EarlierDays, Engine, NotByDay
from exporter.pipeline.texts import text_outputs
from exporter.pipeline.updates import (
    AGAIN,
    CHILDREN,
    DAY,
    INDEX,
    LINES,
    MOVED,
    OF_SEVERAL,
    OPEN_DAY,
    as_before,
    as_context,
    as_held,
    as_parents,
    as_refused,
    asks_for_context,
    assign_days,
    compare_parents,
    count_held,
    end_of,
    forget_rows,
    look_up,
    open_messages,
    resolved,
    rows_again,
    to_queries,
    unwrapped,
)
from exporter.pipeline.write import JOBS
from exporter.system.progress import Progress

if TYPE_CHECKING:
    from exporter.publish.earlier import ExportInput

Messages = TypeVar("Messages")
T = TypeVar("T")
_PARENTS: Final = "parents"
_CLONES: Final = "clones"
_ROWS: Final = "rows"


@dataclass
class Updated(Generic[Messages]):
    """The result of an update. ``days``: all days of DIR, each with the later days for which it has open messages.
    ``rebuilt_days``: those that were made again. ``new``: number of new rows by day. ``are_rows_rewritten``: whether
    the rows of all runs were stored again.
    """

    counts: Counts = field(default_factory=Counts)
    refused: dict[str, int] = field(default_factory=dict)
    results: list[Messages] = field(default_factory=list)
    days: dict[str, list[str]] = field(default_factory=dict)
    rebuilt_days: list[str] = field(default_factory=list)
    new: dict[str, int] = field(default_factory=dict)
    are_rows_rewritten: bool = False

    def add_results(self, results: Iterable[Messages], refused: Mapping[str, int]) -> None:
        """Add the results of validation of a day, and how many of them refuse a node, by shape."""
        self.results += results
        for shape, times in refused.items():
            self.refused[shape] = self.refused.get(shape, 0) + times


@dataclass(frozen=True)
class Update(Generic[Messages]):
    """Adds rows to DIR, once. ``store``: the state in DIR. ``export_input``: what the rows were read from, and the
    earlier runs of DIR. ``done``: what is done so far.
    """

    engine: Engine[Messages]
    store: Store[Messages]
    job: ExportJob
    export_input: ExportInput
    progress: Progress
    done: Updated[Messages] = field(default_factory=Updated, init=False)

    def add(self, read: Messages) -> Updated[Messages]:
        """Add the messages of the first step (``read``) to DIR."""
        store, done, earlier = self.store, self.done, self.export_input.earlier.days
        done.days = dict(earlier)
        with self.progress.stage("date"):
            done.new, dated = self._dated(self.engine.persist(read, "read"))
        if done.are_rows_rewritten:
            earlier = {}
        again = {*done.new, *(earlier if self.export_input.earlier.has_other_shapes else ())}
        first = min((begin(day, store.names_before(THINGS_DAY)) for day in again), default=None)
        stay = {day: later for day, later in earlier.items() if first is None or day < first}
        store.carry(path for day in stay for path in _paths(day))
        store.carry(f"state/{name}" for name in store.names_before(THINGS_DAY) if first_of(name) in stay)
        done.days = dict(stay)
        ending = {later for open_days in stay.values() for later in open_days if first is not None and later >= first}
        todo = {*again, *ending, *(day for day in earlier if day not in stay)}
        together = [name for name in store.names_before(THINGS_DAY) if SPAN in name]
        must = {day for day in todo if any(first_of(name) <= day <= last_of(name) for name in together)}
        affected = Affected(self.engine, store, self.job, earlier, {*again, *ending, *must})
        self._make(todo, sorted({*stay, *todo}), affected)
        self._count_held(dated)
        self._publish_things()
        if self.export_input.changes:
            self._write_changes()
        self._join()
        return done

    def _make(self, days: Iterable[str], all_days: Sequence[str], affected: Affected[Messages]) -> None:
        """Make those of these days that are affected, and the later ones on which their queries end. ``all_days``: the
        days that have rows.
        """
        store, done = self.store, self.done
        store.carry(f"state/{name}" for name in _named(_PARENTS, all_days))
        todo, rebuilt, turns = set(days), dict[str, rounds.Exported[Messages]](), 0
        late: list[Messages] = []
        while todo:
            day = min(todo)
            todo.remove(day)
            if not affected.has(day):
                store.carry((*_paths(day), f"state/{THINGS_DAY}/{day}"))
                done.days[day] = affected.earlier[day]
                continue
            rebuilt[day], other_days = _Day(self, day, late).make(all_days)
            other_days += affected.add_every() if rebuilt[day].counts.first is None else []
            earlier = min((other for other in other_days if other < day), default=None)
            if rebuilt[day].started is None:
                affected.note_rebuilt(day, done.days[day])
                affected.add(other_days)
                todo.update(later for later in done.days[day] if later > day)
            else:
                late += self._keep_quarantined(rebuilt[day], f"{day}late-{turns}")
                todo.add(day)
            if earlier is not None:
                turns += 1
                if turns > rounds.TURNS:
                    raise rounds.endless(rebuilt[day].refused, self.job)
                affected.add_every()
                todo.update(self._drop_from(begin(earlier, store.names(THINGS_DAY))))
        for day in sorted(rebuilt):
            done.counts.join(rebuilt[day].counts)
            done.rebuilt_days.append(day)
            done.add_results(rebuilt[day].results, rebuilt[day].refused)

    def _keep_quarantined(self, exported: rounds.Exported[Messages], name: str) -> list[Messages]:
        """Persist what a day quarantines that started on an earlier one, as the folders of its messages are written
        again when the day is. Returns the messages of the quarantined queries.
        """
        engine = self.engine
        results = [engine.persist(result, f"{name}-results-{at}") for at, result in enumerate(exported.results)]
        self.done.add_results(results, exported.refused)
        return [engine.persist(messages, f"{name}-{at}") for at, messages in enumerate(exported.quarantined)]

    def _drop_from(self, first: str) -> list[str]:
        """Remove from the new DIR this day and those after it, which have to be made again. Returns them."""
        store, done = self.store, self.done
        again = [day for day in done.days if day >= first]
        store.drop(path for day in again for path in _paths(day))
        store.drop(f"state/{name}" for name in store.names(THINGS_DAY) if first_of(name) >= first)
        for day in again:
            del done.days[day]
        return again

    def _publish_things(self) -> None:
        """Write the nodes of things as they are at the end of the last day."""
        engine, store, job = self.engine, self.store, self.job
        with self.progress.stage("things"):
            texts = store.latest(store.names(THINGS_DAY), text_outputs(job))
            stored = engine.write_texts([engine.map(texts, engine.output(rounds.unchanged), job)], THINGS_DAY)
            store.publish(stored, THINGS_DAY, THINGS_DAY)

    def _write_changes(self) -> None:
        """Write the changes between the old DIR and the new one: of the days that were made, or that have no rows any
        more, and of the nodes of things.
        """
        done = self.done
        again = sorted({*done.rebuilt_days, *(self.export_input.earlier.days.keys() - done.days.keys())})
        with self.progress.stage("changes"):
            self.store.changes(again, sorted(done.days), THINGS_DAY, text_outputs(self.job))

    def _join(self) -> None:
        """Put the oldest states together, and the oldest changes, if there are enough others."""
        store = self.store
        with self.progress.stage("join"):
            _join(store, _ROWS, None)
            _join(store, THINGS_DAY, CONTAINER_RECEIVERS)
            for numbers in _groups_to_join(store.unjoined_changes() if self.export_input.changes else []):
                store.join_changes(numbers)

    def _count_held(self, dated: Messages) -> None:
        """Count the given rows that are in quarantine already, and stay there, among the duplicates."""
        engine, store, done = self.engine, self.store, self.done
        if done.counts.numbers["duplicates"]:
            again = engine.filter(dated, [AGAIN])
            known = [store.load_of(_named(_PARENTS, done.days), [To.QUERY], [again])]
            if done.counts.numbers[OF_SEVERAL]:
                several = engine.filter(dated, [OF_SEVERAL])
                known.append(store.load_of(store.names(_ROWS), sorted(done.days), [several]))
            in_quarantine = [engine.map(messages, as_held, self.job) for messages in known]
            counted = engine.persist(engine.shuffle([again, *in_quarantine], count_held, self.job), "held")
            done.counts.join(engine.counts(counted))

    def _dated(self, read: Messages) -> tuple[dict[str, int], Messages]:
        """Store the new rows under their days. Returns their number by day, and what was stored. If rows are removed or
        move to another day, the rows of all runs are stored again.
        """
        engine, store, job, done = self.engine, self.store, self.job, self.done
        runs = store.names_before(_ROWS)
        store.carry(f"state/{name}" for name in runs)
        index = engine.map(store.load_of(runs, [INDEX], [read]), to_queries, job)
        dated = engine.persist(engine.shuffle([read, index], assign_days, job), "dated")
        counts = engine.counts(dated)
        done.are_rows_rewritten = bool(counts.numbers[MOVED]) or job.forgets
        if done.are_rows_rewritten:
            known = engine.map(store.load(runs, [*done.days, LINES]), to_queries, job)
            if job.forget_asked:
                users = engine.persist(engine.map(known, look_up, job), "users")
                job = replace(job, forget_users=resolved(engine.counts(users).numbers, job, store.shown))
            stays = engine.persist(engine.shuffle([known], forget_rows, job), "stays")
            dated = engine.persist(engine.shuffle([read, stays], assign_days, job), "dated-anew")
            counts = engine.counts(dated)
            store.drop(f"state/{name}" for name in runs)
        new = {name.removeprefix(DAY): rows for name, rows in counts.numbers.items() if name.startswith(DAY)}
        store.save([engine.filter(dated, [*sorted(new), LINES, INDEX, To.PLACE])], f"{_ROWS}/{job.run:05d}")
        done.counts.join(counts)
        if counts.numbers["unreadable"] or counts.numbers["not_understood"]:
            aside = engine.shuffle(
                [engine.filter(dated, [To.PLACE, To.QUARANTINED_ROWS, To.UNKNOWN])], engine.output(number_lines), job
            )
            stored = engine.write_texts([aside], "unreadable")
            done.counts.join(engine.counts(stored))
            if counts.numbers["unreadable"]:
                store.publish(stored, "unreadable", f"run={job.run:05d}")
        if not job.forgets:
            store.carry(["quarantine/run=*"])
        return new, dated


def _groups_to_join(single: list[T]) -> Iterator[list[T]]:
    """What is put together of these, oldest first: the oldest of them, if there are enough others."""
    while len(single) >= 2 * TOGETHER:
        yield single[:TOGETHER]
        single = single[TOGETHER:]


def _join(store: Store[Messages], folder: str, kept_whole: Sequence[str] | None) -> None:
    """Put the oldest states of a folder together, if there are enough others."""
    for old in _groups_to_join([name for name in store.names(folder) if SPAN not in name]):
        store.join(old, kept_whole, f"{folder}/{first_of(old[0])}{SPAN}{last_of(old[-1])}")


def _paths(day: str) -> list[str]:
    """The files and folders of a day in DIR, without the state of things."""
    return [
        f"state/open/{day}",
        f"state/{_CLONES}/{day}",
        f"graph/day={day}",
        f"events/day={day}",
        f"quarantine/day={day}*",
    ]


def _named(folder: str, days: Iterable[str]) -> list[str]:
    return [f"{folder}/{day}" for day in sorted(days)]


class _Day(Generic[Messages]):
    """Makes one day of an update. ``late``: the queries that later days of this update refused, and with which the day
    has to be made again.
    """

    def __init__(self, update: Update[Messages], day: str, late: Sequence[Messages]) -> None:
        self._engine, self._store, self._day, self._late = update.engine, update.store, day, late
        self._job = replace(update.job, day=day, day_end=end_of(day), in_order=False, screen=None)
        self._progress, self._done = update.progress, update.done
        self._has_other_shapes = update.export_input.earlier.has_other_shapes

    def make(self, all_days: Sequence[str]) -> tuple[rounds.Exported[Messages], list[str]]:
        """Make the day after those that are done; and the other days that have to be made again because of it.
        ``all_days``: the days that have rows.
        """
        engine, store, day, job, done = self._engine, self._store, self._day, self._job, self._done
        store_before = [text for text in sorted(done.days) if text < day]
        still_open = engine.map(store.load(_named("open", store_before[-1:]), OPEN_RECEIVERS), open_messages, job)
        still_open = engine.persist(still_open, f"{day}open")
        things = [name for name in store.names(THINGS_DAY) if last_of(name) < day]

        def states(others: Sequence[Messages]) -> Messages:
            return store.latest_of(things, STATE_RECEIVERS, others)

        def container_events(others: Sequence[Messages], to: Sequence[str]) -> Messages:
            return store.load_of(things, to, others)

        try:
            exported = rounds.export(
                engine,
                self._input_messages(all_days),
                job,
                self._progress,
                EarlierDays(
                    states,
                    container_events,
                    partial(store.load, self._runs(), [To.PLACE]),
                    still_open,
                    any(day in later for later in done.days.values()),
                    any(name < f"{_CLONES}/{day}" for name in store.names(_CLONES)),
                ),
            )
        except NotByDay as refused:
            raise UsageError(
                "the shapes refuse an object, so all queries that mention it must be quarantined, also those of other "
                "days, which an update cannot do. Nothing was changed. Export all rows without --update: then the "
                "quarantine lists these queries"
            ) from refused
        if exported.started is not None:
            return exported, [exported.started]
        store.save(
            [engine.map(engine.filter(of_round, [To.SNAPSHOT]), unwrapped, job) for of_round in exported.messages],
            f"{THINGS_DAY}/{day}",
        )
        if exported.counts.numbers["clones"]:
            store.save([engine.filter(exported.messages[0], [To.TALLY])], f"{_CLONES}/{day}")
        for outputs, name in zip(exported.outputs, exported.names, strict=True):
            store.publish(outputs, name, f"day={day}")
        open_days = {name.removeprefix(OPEN_DAY) for name in exported.counts.numbers if name.startswith(OPEN_DAY)}
        earlier = {later for text, later_days in done.days.items() if text < day for later in later_days}
        done.days[day] = sorted(text for text in open_days | earlier if text > day)
        if done.days[day]:
            messages = [*exported.messages, still_open]
            store.save(
                [engine.map(engine.filter(of_round, [To.OPEN]), unwrapped, job) for of_round in messages], f"open/{day}"
            )
        return exported, self._compared(exported)

    def _compared(self, exported: rounds.Exported[Messages]) -> list[str]:
        """Store what children on other days need of this day's queries. Returns the days with children of queries for
        which this has changed.
        """
        engine, store, job, name = self._engine, self._store, self._job, f"{_PARENTS}/{self._day}"
        changed = [*exported.quarantined, *self._late]
        if exported.counts.numbers[JOBS]:
            changed.append(engine.filter(exported.messages[-1], [To.JOB]))
        if not (changed or store.has(name)):
            return []
        before = engine.persist(
            engine.map(store.load([name], [To.QUERY]), as_before, job), f"{self._day}parents-before"
        )
        now = [engine.map(messages, as_parents, job) for messages in changed]
        index = store.load_of(self._runs(), [INDEX], [*now, before])
        compared = engine.persist(
            engine.shuffle([*now, before, engine.map(index, to_queries, job)], compare_parents, job),
            f"{self._day}compared",
        )
        store.drop([f"state/{name}"])
        if now:
            store.save(now, name)
        names = engine.counts(compared).numbers
        return sorted(name.removeprefix(CHILDREN) for name in names if name.startswith(CHILDREN))

    def _runs(self) -> list[str]:
        return self._store.names(_ROWS)

    def _input_messages(self, all_days: Sequence[str]) -> list[Messages]:
        """The rows of the day, the rows of parents on other days, and the lines of QUERY_HISTORY for both. With other
        shapes also which queries were refused, so that those can be counted of which that changes.
        """
        engine, job = self._engine, self._job
        runs, others_days = self._runs(), [text for text in all_days if text != self._day]
        own = engine.persist(engine.map(self._store.load(runs, [self._day]), rows_again, job), f"{self._day}rows")
        asked = engine.map(own, asks_for_context, job)
        other_rows = self._store.load_of(runs, others_days, [asked])
        parents = self._store.load_of(_named(_PARENTS, others_days), [To.QUERY], [asked])
        context = engine.persist(engine.map(other_rows, as_context, job), f"{self._day}context")
        lines = engine.map(self._store.load_of(runs, [LINES], [own, context]), to_queries, job)
        late = [engine.map(messages, exclude_quarantined, job) for messages in self._late]
        if self._has_other_shapes:
            late.append(engine.map(self._store.load_before(f"{_PARENTS}/{self._day}", [To.QUERY]), as_refused, job))
        return [own, context, parents, lines, *late]
