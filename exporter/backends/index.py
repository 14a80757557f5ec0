"""The events of a folder, indexed on disk in the order in which they are sent.

The events are read once, so memory does not grow; the index has each event's run and parent, its time, a fingerprint of
its lineage, and its position in its file, where it is read again to be sent.

The order is by time: the datasets of a day before its runs, parents before their children, START before the end.
Backends take the last event to arrive for the present state, and a parent that they do not know for another job.

So a row that comes late makes an event that belongs before others that were delivered. Sent alone, it would bring back
a table that was dropped since, or remove columns that were added since. Therefore, for each dataset that such an event
names, the last event that writes it, and the last that names it, are sent again after it, and the last run of its job.
So are they after an event that the backend refused at first, once it takes it.
"""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import json
import os
import shutil
import sqlite3
import tempfile
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, suppress
from dataclasses import dataclass
from itertools import dropwhile
from operator import itemgetter
from pathlib import Path
from typing import IO, Any, Final

from exporter.backends.event import Json, datasets, facet, thing_of
from exporter.backends.ledger import ENDED, PLACED, SET_ASIDE, TAKEN, Delivered, fingerprint, run_and_job
from exporter.errors import UsageError
from exporter.publish.manifest import refuse_incomplete
from exporter.system import files as compressed

_TABLES: Final = """
CREATE TABLE events (file INT, at INT, size INT, mark TEXT, is_run INT, run TEXT, time TEXT, is_end INT);
CREATE TABLE runs (run TEXT PRIMARY KEY, job TEXT, place TEXT, shape TEXT, parent TEXT, root TEXT, query TEXT,
    started TEXT, ended TEXT, starts INT, begin TEXT, depth INT DEFAULT 0, chosen INT DEFAULT 1) WITHOUT ROWID;
CREATE TABLE jobs (job TEXT PRIMARY KEY, runs INT, first TEXT, last TEXT) WITHOUT ROWID;
-- sign +: an event that was taken; -: that was set aside; =: a run whose end was taken; @: such a run, with its job
CREATE TABLE ledger (sign TEXT, mark TEXT, times INT DEFAULT 1, PRIMARY KEY (sign, mark)) WITHOUT ROWID;
CREATE TABLE done (run TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE named (place INT, mark TEXT, thing TEXT, writes INT, is_settled INT, sent INT);
CREATE VIEW chosen AS
    SELECT e.*, e.rowid AS place, r.starts, r.begin, r.depth, r.query, r.job, r.place AS run_place,
        EXISTS (SELECT 1 FROM ledger WHERE sign = '+' AND mark = e.mark)
            OR (e.is_run AND NOT e.is_end AND e.run IN (SELECT run FROM done)) AS is_settled,
        CASE WHEN NOT e.is_run THEN substr(e.time, 1, 10) WHEN e.is_end AND r.starts THEN max(e.time, r.begin)
            ELSE coalesce(r.begin, e.time) END AS due
    FROM events e LEFT JOIN runs r ON r.run = e.run
    WHERE coalesce(r.chosen, 1);
"""
_RUN: Final = """INSERT INTO runs (run, job, place, shape, parent, root, query, started, ended, starts)
    VALUES (:run, :job, :place, :shape, :parent, :root, :query, :time, :time, NOT :is_end)
    ON CONFLICT (run) DO UPDATE SET shape = coalesce(excluded.shape, shape), started = min(started, excluded.started),
    ended = max(ended, excluded.ended), starts = max(starts, excluded.starts)"""
_EVENT: Final = "INSERT INTO events VALUES (:file, :at, :size, :mark, :is_run, :run, :time, :is_end)"
_MARK: Final = "INSERT INTO ledger (sign, mark) VALUES (?, ?) ON CONFLICT DO UPDATE SET times = times + 1"
_DONE: Final = """
INSERT OR IGNORE INTO done SELECT run FROM events WHERE is_end AND is_run
    AND (EXISTS (SELECT 1 FROM ledger WHERE sign = '+' AND mark = events.mark)
        OR EXISTS (SELECT 1 FROM ledger WHERE sign = '=' AND mark = replace(events.run, '-', '')))"""
_START_SET_ASIDE: Final = """
DELETE FROM done
WHERE run IN (SELECT run FROM events WHERE is_run AND NOT is_end
        AND EXISTS (SELECT 1 FROM ledger WHERE sign = '-' AND mark = events.mark))
    AND run IN (SELECT run FROM events WHERE is_run AND is_end
        AND EXISTS (SELECT 1 FROM ledger WHERE sign = '+' AND mark = events.mark))"""
_ITEMS: Final = """
SELECT c.file, c.at, c.size, c.mark, c.is_run, j.runs, j.first, j.last,
    CASE WHEN c.is_end THEN (SELECT times FROM ledger WHERE sign = '=' AND mark = replace(c.run, '-', '')) END
FROM chosen c LEFT JOIN jobs j ON j.job = c.job AND c.is_end
WHERE c.is_settled = ?
ORDER BY c.due, c.is_run, c.depth, c.query, c.run, c.is_end, c.place"""
_TAIL: Final = """
SELECT c.file, c.at, c.size, c.mark, c.is_settled FROM chosen c WHERE c.is_end OR NOT c.is_settled
ORDER BY c.due, c.is_run, c.depth, c.query, c.run, c.is_end, c.place"""
_MOVED: Final = """
WITH places AS (SELECT mark FROM ledger WHERE sign = '@')
SELECT count(*) FROM chosen WHERE is_end AND NOT is_settled AND run_place NOT IN places
    AND substr(run_place, 1, 16) IN (SELECT substr(mark, 1, 16) FROM places)"""
_FOLLOW: Final = """
UPDATE named SET sent = 1 WHERE NOT sent AND place IN (
    WITH early AS (SELECT thing, min(place) AS place FROM named WHERE sent GROUP BY thing),
        late AS (
            SELECT thing, max(t.place) AS named, max(CASE WHEN t.writes THEN t.place END) AS written
            FROM named t JOIN early e USING (thing) WHERE t.place > e.place GROUP BY thing)
    SELECT named FROM late UNION ALL SELECT written FROM late)
"""
"""An event that is sent again names other datasets too, which may have later events: repeated until nothing is added.
"""
_DEEPEST: Final = 100
"""The most generations of parents; more can only be a cycle."""
_SHAPING: Final = (
    "columnLineage",
    "lineage",
    "lifecycleStateChange",
    "documentation",
    "accessHistory_columnRoutines",
)
"""The facets of an output that decide whether two runs of one job have the same lineage. ``tags`` is none of them: each
run has all tags that its outputs have, so the latest is enough.
"""

_GIVE: Final = "give the folder that exporter export wrote"


# --- one event --------------------------------------------------------------------------------------------------------


def _entry(event: Json) -> Json:
    """The entry of an event. Keys: ``mark`` (its fingerprint), ``is_run`` and ``is_end`` (0 or 1), ``run`` (null for a
    dataset), ``time``. Runs also have ``job`` (namespace and name), ``place`` (run and job, as in the ledger),
    ``shape`` (null at the START), ``parent``, ``root`` and ``query``; null where there is none.
    """
    common = {"mark": fingerprint(event), "time": event["eventTime"]}
    if "run" not in event:
        return {**common, "is_run": 0, "run": None, "is_end": 1}
    run, job, parent = event["run"], event["job"], facet(event["run"], "parent")
    is_end = event.get("eventType") != "START"
    return {
        **common,
        "is_run": 1,
        "run": run["runId"],
        "is_end": int(is_end),
        "job": json.dumps(thing_of(job)),
        "place": run_and_job(run["runId"], job),
        "shape": _shape(event) if is_end else None,
        "parent": (parent.get("run") or {}).get("runId"),
        "root": ((parent.get("root") or {}).get("run") or {}).get("runId"),
        "query": facet(run, "externalQuery").get("externalQueryId"),
    }


def _shape(event: Json) -> str:
    """A fingerprint of a run's lineage: its datasets, and the facets of its outputs."""
    read = [thing_of(dataset) for dataset in event.get("inputs") or []]
    written = []
    for output in event.get("outputs") or []:
        facets = output.get("facets") or {}
        written.append((*thing_of(output), {name: facets[name] for name in _SHAPING if name in facets}))
    text = json.dumps([read, written], sort_keys=True)
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


@dataclass(frozen=True)
class Item:
    """An event by its position: number of the file, offset and size. ``runs``, ``first``, ``last``: of its job, where
    it represents all of the job's runs, else None. ``ends``: how often the backend already got the end of the run that
    it ends.
    """

    file: int
    at: int
    size: int
    mark: str
    is_run: bool
    runs: int | None
    first: str | None
    last: str | None
    ends: int = 0


# --- the files --------------------------------------------------------------------------------------------------------


def require_events(folder: Path) -> None:
    """Raises UsageError where a folder has no events, so that this comes before any error about the backend."""
    with ExitStack() as closing:
        _opened(folder, closing)


def _opened(folder: Path, closing: ExitStack) -> list[tuple[Path, IO[bytes]]]:
    """The paths, and the open files. They stay the files of one export, even if another one replaces the folder.

    Raises UsageError where there are none, where one is lost, or where they are being replaced.
    """
    with suppress(FileNotFoundError):
        before = folder.stat() if folder.exists() else None
        refuse_incomplete(folder, "events", "a push")
        paths = compressed.find_files(folder / "events", ".ndjson")
        files: list[tuple[Path, IO[bytes]]] = [(path, closing.enter_context(path.open("rb"))) for path in paths]
        if before is None or os.path.samestat(before, folder.stat()):
            if files:
                return files
            if not folder.is_dir():
                raise UsageError(f"{folder}: there is no such folder; give the one that exporter export wrote")
            raise UsageError(f"{folder}: holds no events; {_GIVE}, with events among its outputs")
    raise UsageError(f"{folder}: was replaced by another export just now; start the push again")


def _unpacked(path: Path, packed: IO[bytes], closing: ExitStack) -> IO[bytes]:
    """The file; for a compressed one its content, in a temporary file without a name. Raises UsageError where it is
    damaged.
    """
    if path.suffix != compressed.ENDING:
        return packed
    unpacked = closing.enter_context(tempfile.TemporaryFile())  # noqa: SIM115 - the stack closes it
    try:
        shutil.copyfileobj(gzip.GzipFile(fileobj=packed), unpacked)
    except compressed.BROKEN as error:
        raise UsageError(f"{path}: cannot be unpacked: {error}; export the rows again") from None
    unpacked.seek(0)
    return unpacked


class Index(AbstractContextManager["Index"]):
    """The events below ``folder/events``. ``leaves_out``: why an event is not to be sent, None if it is."""

    def __init__(self, folder: Path, leaves_out: Callable[[Json], str | None]) -> None:
        """Raises UsageError where there are no events, or a file holds other lines."""
        with ExitStack() as closing:
            self._files = [(path, _unpacked(path, file, closing)) for path, file in _opened(folder, closing)]
            # SQLite's database without a name is a temporary file: no other process sees it, and it ends with this one.
            self._db = closing.enter_context(contextlib.closing(sqlite3.connect("", isolation_level=None)))
            self._db.executescript(f"PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN;{_TABLES}")
            self.left_out: Counter[str] = Counter()
            for entry in self._entries(leaves_out):
                self._db.execute(_EVENT, entry)
                if entry["is_run"]:
                    self._db.execute(_RUN, entry)
            self._set_generations()
            self._closing = closing.pop_all()

    def __exit__(self, *_: object) -> None:
        self._closing.close()

    def _entries(self, leaves_out: Callable[[Json], str | None]) -> Iterator[Json]:
        for number, (path, file) in enumerate(self._files):
            offset = 0
            for count, line in enumerate(file, start=1):
                at, offset = offset, offset + len(line)
                if not line.strip():
                    continue
                try:
                    event = json.loads(line)
                    reason = leaves_out(event)
                    entry = _entry(event) if reason is None else {}
                except (ValueError, KeyError, TypeError, AttributeError):
                    raise UsageError(f"{path}, line {count}: is not an OpenLineage event; {_GIVE}") from None
                if reason is None:
                    yield {**entry, "file": number, "at": at, "size": len(line)}
                else:
                    self.left_out[reason] += 1

    def _set_generations(self) -> None:
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

    def _number(self, query: str) -> int:
        return int(self._db.execute(query).fetchone()[0])

    # --- choosing -----------------------------------------------------------------------------------------------------

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
        return self._number("SELECT count(*) FROM runs WHERE NOT chosen")

    def count_latest(self) -> int:
        """About how many events the latest runs have; their parents are not counted."""
        latest = self._number("SELECT count(*) FROM (SELECT DISTINCT job, shape FROM runs)")
        of_datasets = self._number("SELECT count(*) FROM events WHERE NOT is_run")
        of_runs = self._number("SELECT count(*) FROM events WHERE is_run")
        return int(of_datasets + latest * of_runs / max(self._number("SELECT count(*) FROM runs"), 1))

    def mark_delivered(self, delivered: Delivered, signs: Sequence[str] = (TAKEN, ENDED, PLACED)) -> None:
        """Marks what the ledger says of events, of ends of runs and of their jobs. A START whose end was delivered
        counts as delivered, also if that end said something else: sent after it, it would make the run a running one
        again. One that was set aside does not: the same end follows it once more (:meth:`follow`). A new end could be
        refused after it.
        """
        for sign in signs:
            marks = ((sign, mark) for mark in delivered.marks(sign))
            self._db.executemany(_MARK, marks)
        self._db.executemany(_MARK, ((SET_ASIDE, mark) for mark in delivered.refused))
        self._db.execute(_DONE)
        self._db.execute(_START_SET_ASIDE)

    def count(self) -> int:
        """The number of chosen events."""
        return self._number("SELECT count(*) FROM events e LEFT JOIN runs r USING (run) WHERE coalesce(r.chosen, 1)")

    def count_delivered(self) -> int:
        """How many of these are marked as delivered."""
        return self._number("SELECT count(*) FROM chosen WHERE is_settled")

    def count_moved(self) -> int:
        """How many runs that are still to be sent have another job than when the backend got them before."""
        return self._number(_MOVED)

    def send_again(self, delivered: Delivered) -> list[str]:
        """Unmarks delivered events that one still to be sent would overtake; returns their fingerprints. Events that
        were set aside overtake nothing as long as they are refused, since otherwise each push would send the same
        events again: see :meth:`follow`.
        """
        marks = self._followers(lambda mark, is_settled: None if mark in delivered.refused else bool(is_settled))
        self._unmark(marks)
        return marks

    def follow(self, taken: Collection[str], refused: Collection[str]) -> tuple[list[str], int]:
        """For the end of a push that has delivered all but ``refused``: leaves only those events to be sent that have
        to follow ``taken``, which earlier pushes had set aside. Returns their fingerprints, and how many of them were
        delivered by earlier pushes.
        """
        marks = self._followers(lambda mark, is_settled: False if mark in taken else True if is_settled else None)
        if marks:  # what earlier pushes delivered: the last ones can be of this push
            marks = self._followers(lambda mark, _: None if mark in refused else mark not in taken)
        before = self._unmark(marks)
        self._db.execute("INSERT OR IGNORE INTO ledger (sign, mark) SELECT '+', mark FROM chosen WHERE NOT is_settled")
        self._unmark(marks)
        return marks, before

    def _followers(self, is_delivered: Callable[[str, int], bool | None]) -> list[str]:
        """The fingerprints of the delivered events that have to follow those that are not. ``is_delivered``: by its
        fingerprint, and whether the ledger has it; None if an event does not count.
        """

        def tail() -> Iterator[tuple[int, int, int, str, bool]]:
            """The events from the first one on that is not delivered."""
            return dropwhile(itemgetter(4), counted())

        def counted() -> Iterator[tuple[int, int, int, str, bool]]:
            for file, at, size, mark, is_settled in self._db.execute(_TAIL):
                is_done = is_delivered(mark, is_settled)
                if is_done is not None:
                    yield file, at, size, mark, is_done

        if not any(is_settled for *_, is_settled in tail()):
            return []
        self._db.execute("DELETE FROM named")
        self._db.executemany("INSERT INTO named VALUES (?, ?, ?, ?, ?, ?)", self._named(tail()))
        while self._db.execute(_FOLLOW).rowcount > 0:
            pass
        query = "SELECT DISTINCT mark FROM named WHERE sent AND is_settled ORDER BY mark"
        return [mark for (mark,) in self._db.execute(query)]

    def _unmark(self, marks: Iterable[str]) -> int:
        """From here on these events are to be sent; returns how many of them the ledger has."""
        rows = ((TAKEN, mark) for mark in marks)
        return self._db.executemany("DELETE FROM ledger WHERE sign = ? AND mark = ?", rows).rowcount

    def _named(self, rows: Iterable[tuple[int, int, int, str, bool]]) -> Iterator[tuple[Any, ...]]:
        """One row for each dataset of each event, and for the run and its job."""
        for place, (file, at, size, mark, is_settled) in enumerate(rows):
            event = json.loads(self._text(file, at, size))
            if "run" in event:
                job = json.dumps(["job", *thing_of(event["job"])])
                for thing in (job, event["run"]["runId"]):
                    yield place, mark, thing, True, is_settled, not is_settled
            for side, writes in (("inputs", False), ("outputs", True), ("dataset", True)):
                for dataset in datasets({side: event[side]} if side in event else {}):
                    yield place, mark, json.dumps(thing_of(dataset)), writes, is_settled, not is_settled

    # --- reading ------------------------------------------------------------------------------------------------------

    def items(self, *, delivered: bool = False) -> Iterator[Item]:
        """The chosen events in order: those that are still to be sent, or those that the backend has."""
        for file, at, size, mark, is_run, runs, first, last, ends in self._db.execute(_ITEMS, (delivered,)):
            yield Item(file, at, size, mark, bool(is_run), runs, first, last, ends or 0)

    def line(self, item: Item) -> bytes:
        """The event's text. Thread-safe."""
        return self._text(item.file, item.at, item.size)

    def _text(self, file: int, at: int, size: int) -> bytes:
        return os.pread(self._files[file][1].fileno(), size, at).rstrip(b"\r\n")
