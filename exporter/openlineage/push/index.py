"""The events of a folder in the order to send them in. They are read once and indexed on disk, so memory does not grow.

The order is by time: the datasets of a day before its runs, parents before their children, START before the end.
Backends take the last event to arrive for the present state, and a parent that they do not know for another job.
"""

from __future__ import annotations

import os
import sqlite3
from collections import Counter
from dataclasses import dataclass
from itertools import dropwhile
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, Self

from exporter.openlineage.push.entries import entry
from exporter.openlineage.push.files import opened
from exporter.openlineage.push.overtaken import Told, overtaken
from exporter.openlineage.push.tables import EVENT, MOVED, ORDERED, RUN, TABLES, TAIL

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator
    from pathlib import Path
    from types import TracebackType

Json = dict[str, Any]
_BATCH: Final = 1_000
_DEEPEST: Final = 100
"""The most generations of parents; more can only be a cycle."""


@dataclass(frozen=True)
class Item:
    """An event by its position: number of the file, offset and size. ``runs``, ``first``, ``last``: of its job, where
    it represents all of the job's runs, else None. ``is_again``: it ends a run whose end the backend already got.
    """

    file: int
    at: int
    size: int
    mark: str
    is_run: bool
    runs: int | None
    first: str | None
    last: str | None
    is_again: bool = False


class Index:
    """The events below ``folder/events``. ``leaves_out``: why an event is not to be sent, None if it is."""

    def __init__(self, folder: Path, leaves_out: Callable[[Json], str | None]) -> None:
        """Raises UsageError where there are no events, or a file holds other lines."""
        self._paths, self._files = opened(folder)
        # SQLite's database without a name is a temporary file: no other process sees it, and it ends with this one.
        self._db = sqlite3.connect("", isolation_level=None)
        self._db.executescript(f"PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN;{TABLES}")
        self.left_out: Counter[str] = Counter()
        self._fill(leaves_out)
        self._relate()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._db.close()
        for file in self._files:
            os.close(file)

    # --- filling --------------------------------------------------------------------------------------------------

    def _fill(self, leaves_out: Callable[[Json], str | None]) -> None:
        rows: list[Json] = []
        for told in self._entries(leaves_out):
            rows.append(told)
            if len(rows) == _BATCH:
                self._store(rows)
        self._store(rows)

    def _store(self, rows: list[Json]) -> None:
        self._db.executemany(EVENT, rows)
        self._db.executemany(RUN, [row for row in rows if row["is_run"]])
        rows.clear()

    def _entries(self, leaves_out: Callable[[Json], str | None]) -> Iterator[Json]:
        for number, path in enumerate(self._paths):
            at = 0
            with open(self._files[number], "rb", closefd=False) as file:
                for count, line in enumerate(file, start=1):
                    if line.strip():
                        told = entry(line, f"{path}, line {count}", leaves_out)
                        if isinstance(told, str):
                            self.left_out[told] += 1
                        else:
                            yield {**told, "file": number, "at": at, "size": len(line)}
                    at += len(line)

    def _relate(self) -> None:
        """Sets the generation of each run, from the top; and from the bottom, the latest time at which it began: its
        children's.
        """
        run, deepest = self._db.execute, 0
        run("UPDATE runs SET begin = started")
        run("CREATE INDEX by_parent ON runs (parent)")
        run("CREATE INDEX by_run ON events (run)")
        for depth in range(1, _DEEPEST):
            rows = run(
                "UPDATE runs SET depth = ? WHERE parent <> run AND parent IN (SELECT run FROM runs WHERE depth = ?)",
                (depth, depth - 1),
            ).rowcount
            if not rows:
                break
            deepest = depth
        for depth in range(deepest, 0, -1):
            run(
                """UPDATE runs SET begin = min(runs.begin, c.begin)
                FROM (SELECT parent, min(begin) AS begin FROM runs WHERE depth = ? GROUP BY parent) c
                WHERE c.parent = runs.run AND runs.depth < ?""",
                (depth, depth),
            )

    # --- choosing -------------------------------------------------------------------------------------------------

    def choose_latest(self) -> int:
        """Keeps the latest run of each job, one for each different lineage of its runs, and the parents and roots of
        these. Returns the number of runs that are left out.
        """
        run = self._db.execute
        run("INSERT INTO jobs SELECT job, count(*), min(started), max(ended) FROM runs GROUP BY job")
        run("UPDATE runs SET chosen = 0")
        run("""UPDATE runs SET chosen = 1 WHERE run IN (SELECT run FROM (SELECT run, row_number() OVER
            (PARTITION BY job, shape ORDER BY started DESC, query DESC, run DESC) AS n FROM runs) WHERE n = 1)""")
        while run("""UPDATE runs SET chosen = 1 WHERE NOT chosen AND run IN (
            SELECT parent FROM runs WHERE chosen UNION SELECT root FROM runs WHERE chosen)""").rowcount:
            pass
        return int(run("SELECT count(*) FROM runs WHERE NOT chosen").fetchone()[0])

    def count_latest(self) -> int:
        """About how many events the latest runs have; their parents are not counted."""
        (count,) = self._db.execute("SELECT count(*) FROM (SELECT DISTINCT job, shape FROM runs)").fetchone()
        (events, datasets) = self._db.execute(
            "SELECT count(*), count(*) FILTER (WHERE NOT is_run) FROM events"
        ).fetchone()
        (runs,) = self._db.execute("SELECT count(*) FROM runs").fetchone()
        return int(datasets + count * (events - datasets) / max(runs, 1))

    def know(self, runs: Iterable[str]) -> None:
        """Notes the runs whose end the backend already got, by their ids in hexadecimal."""
        self._db.executemany("INSERT OR IGNORE INTO given VALUES (?)", ((run,) for run in runs))

    def moved(self, places: Iterable[str]) -> int:
        """How many runs that are still to be sent have another job than when the backend got them before. ``places``:
        the ledger's.
        """
        self._db.executemany("INSERT OR IGNORE INTO places VALUES (?)", ((one,) for one in places))
        (count,) = self._db.execute(MOVED).fetchone()
        return int(count)

    def settle(self, marks: Iterable[str]) -> int:
        """Marks the events with these fingerprints as delivered, and each START whose end is among them: sent after its
        end, it would make the run a running one again. Returns the number of events.
        """
        self._db.executemany("INSERT OR IGNORE INTO settled VALUES (?)", ((mark,) for mark in marks))
        self._db.execute("""INSERT OR IGNORE INTO done SELECT run FROM events
            WHERE is_end AND run IS NOT NULL AND mark IN (SELECT mark FROM settled)""")
        return self._count_settled()

    def _count_settled(self) -> int:
        (count,) = self._db.execute("SELECT count(*) FROM unsettled").fetchone()
        return self.count() - int(count)

    def send_again(self, refused: Container[str]) -> tuple[list[str], int]:
        """Unmarks delivered events that one still to be sent would overtake (:mod:`.overtaken`). Returns their
        fingerprints, and how many events are still marked as delivered. ``refused``: events that were set aside; they
        overtake nothing, since otherwise each push would send the same events again.
        """
        is_behind = any(row[-1] for row in self._tail(refused))
        marks = overtaken(self._db, self._told(self._tail(refused))) if is_behind else []
        self._db.executemany("DELETE FROM settled WHERE mark = ?", ((mark,) for mark in marks))
        return marks, self._count_settled()

    def _tail(self, refused: Container[str]) -> Iterator[tuple[Any, ...]]:
        """The events from the first one on that is not delivered."""
        rows = (row for row in self._db.execute(TAIL) if row[3] not in refused)
        return dropwhile(itemgetter(5), rows)

    def _told(self, rows: Iterable[tuple[Any, ...]]) -> Iterator[Told]:
        for place, (file, at, size, mark, is_run, is_settled) in enumerate(rows):
            item = Item(file, at, size, mark, bool(is_run), None, None, None)
            yield Told(place, mark, not is_settled, self.line(item))

    def count(self) -> int:
        """The number of chosen events."""
        told = "SELECT count(*) FROM events e LEFT JOIN runs r ON r.run = e.run WHERE coalesce(r.chosen, 1)"
        return int(self._db.execute(told).fetchone()[0])

    # --- reading --------------------------------------------------------------------------------------------------

    def items(self) -> Iterator[Item]:
        """The chosen events that are still to be sent, in order."""
        for file, at, size, mark, is_run, runs, first, last, is_again in self._db.execute(ORDERED):
            yield Item(file, at, size, mark, bool(is_run), runs, first, last, bool(is_again))

    def line(self, item: Item) -> bytes:
        """The event's text. Thread-safe."""
        return os.pread(self._files[item.file], item.size, item.at).rstrip(b"\r\n")
