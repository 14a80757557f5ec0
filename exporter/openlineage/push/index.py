"""The events of a folder, indexed on disk in the order in which they are sent.

The events are read once, so memory does not grow; the index has each event's run and parent, its time, a fingerprint of
its lineage, and its position in its file, where it is read again to be sent.

The order is by time: the datasets of a day before its runs, parents before their children, START before the end.
Backends take the last event to arrive for the present state, and a parent that they do not know for another job.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import shutil
import sqlite3
import tempfile
from collections import Counter
from dataclasses import dataclass
from itertools import dropwhile
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, Self

from exporter.errors import UsageError
from exporter.openlineage.push.ledger import fingerprint, run_and_job
from exporter.openlineage.push.order import QueuedEvent, overtaken
from exporter.system import files as compressed

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator
    from pathlib import Path
    from types import TracebackType

TABLES: Final = """
CREATE TABLE events (file INT, at INT, size INT, mark TEXT, is_run INT, run TEXT, time TEXT, is_end INT);
CREATE TABLE runs (run TEXT PRIMARY KEY, job TEXT, place TEXT, shape TEXT, parent TEXT, root TEXT, query TEXT,
    started TEXT, ended TEXT, starts INT, begin TEXT, depth INT DEFAULT 0, chosen INT DEFAULT 1) WITHOUT ROWID;
CREATE TABLE settled (mark TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE jobs (job TEXT PRIMARY KEY, runs INT, first TEXT, last TEXT) WITHOUT ROWID;
CREATE TABLE done (run TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE given (run TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE places (place TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE VIEW chosen AS
    SELECT e.*, e.rowid AS place, r.starts, r.begin, r.depth, r.query, r.job, e.mark IN (SELECT mark FROM settled)
        OR (e.is_run AND NOT e.is_end AND e.run IN (SELECT run FROM done)) AS is_settled,
        CASE WHEN NOT e.is_run THEN substr(e.time, 1, 10) WHEN e.is_end AND r.starts THEN max(e.time, r.begin)
            ELSE coalesce(r.begin, e.time) END AS due
    FROM events e LEFT JOIN runs r ON r.run = e.run
    WHERE coalesce(r.chosen, 1);
CREATE VIEW unsettled AS SELECT * FROM chosen WHERE NOT is_settled;
"""
RUN: Final = """INSERT INTO runs (run, job, place, shape, parent, root, query, started, ended, starts)
    VALUES (:run, :job, :place, :shape, :parent, :root, :query, :time, :time, NOT :is_end)
    ON CONFLICT (run) DO UPDATE SET shape = coalesce(excluded.shape, shape), started = min(started, excluded.started),
    ended = max(ended, excluded.ended), starts = max(starts, excluded.starts)"""
EVENT: Final = "INSERT INTO events VALUES (:file, :at, :size, :mark, :is_run, :run, :time, :is_end)"
ORDERED: Final = """
SELECT u.file, u.at, u.size, u.mark, u.is_run, j.runs, j.first, j.last,
    u.is_end AND replace(u.run, '-', '') IN (SELECT run FROM given)
FROM chosen u LEFT JOIN jobs j ON j.job = u.job AND u.is_end
WHERE u.is_settled = ?
ORDER BY u.due, u.is_run, u.depth, u.query, u.run, u.is_end, u.place"""
MOVED: Final = """
SELECT count(*) FROM unsettled u JOIN runs r ON r.run = u.run
WHERE u.is_end AND r.place NOT IN (SELECT place FROM places)
    AND substr(r.place, 1, 16) IN (SELECT substr(place, 1, 16) FROM places)"""
TAIL: Final = """
SELECT u.file, u.at, u.size, u.mark, u.is_run, u.is_settled
FROM chosen u WHERE u.is_end OR NOT u.is_settled
ORDER BY u.due, u.is_run, u.depth, u.query, u.run, u.is_end, u.place"""


Json = dict[str, Any]
_SHAPING: Final = (
    "columnLineage",
    "lineage",
    "lifecycleStateChange",
    "tags",
    "documentation",
    "accessHistory_columnRoutines",
)
"""The facets of an output that decide whether two runs of one job have the same lineage."""


def entry(line: bytes, where: str, leaves_out: Callable[[Json], str | None]) -> Json | str:
    """The entry of an event, or the reason why it is left out.

    Keys: ``mark`` (its fingerprint), ``is_run`` and ``is_end`` (0 or 1), ``run`` (null for a dataset), ``time``. Runs
    also have ``job`` (namespace and name), ``place`` (run and job, as in the ledger), ``shape`` (null at the START),
    ``parent``, ``root`` and ``query``; null where there is none. Raises UsageError, with ``where``, for a line that is
    no event.
    """
    try:
        event = json.loads(line)
        return leaves_out(event) or {"mark": fingerprint(event), **_row(event)}
    except (ValueError, KeyError, TypeError, AttributeError):
        raise UsageError(f"{where}: is not an OpenLineage event; give the folder that exporter export wrote") from None


def _row(event: Json) -> Json:
    if "run" not in event:
        return {"is_run": 0, "run": None, "time": event["eventTime"], "is_end": 1}
    facets = event["run"].get("facets") or {}
    parent, outputs = facets.get("parent") or {}, event.get("outputs") or []
    is_end = event.get("eventType") != "START"
    return {
        "is_run": 1,
        "run": event["run"]["runId"],
        "time": event["eventTime"],
        "is_end": int(is_end),
        "job": json.dumps([event["job"]["namespace"], event["job"]["name"]]),
        "place": run_and_job(event["run"]["runId"], event["job"]),
        "shape": _shape(event.get("inputs") or [], outputs) if is_end else None,
        "parent": (parent.get("run") or {}).get("runId"),
        "root": ((parent.get("root") or {}).get("run") or {}).get("runId"),
        "query": (facets.get("externalQuery") or {}).get("externalQueryId"),
    }


def _shape(inputs: list[Json], outputs: list[Json]) -> str:
    """A fingerprint of a run's lineage: its datasets, and the facets of its outputs."""
    read = [(dataset["namespace"], dataset["name"]) for dataset in inputs]
    written = [(output["namespace"], output["name"], _shaping_facets(output.get("facets") or {})) for output in outputs]
    text = json.dumps([read, written], sort_keys=True)
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def _shaping_facets(facets: Json) -> Json:
    return {name: facets[name] for name in _SHAPING if name in facets}


def require_events(folder: Path) -> None:
    """Raises UsageError where a folder has no events, so that this comes before any error about the backend."""
    for file in _of_one_export(folder)[1]:
        os.close(file)


def opened(folder: Path) -> tuple[list[Path], list[int]]:
    """The paths, and the open files. They stay the files of one export, even if another one replaces the folder.

    Raises UsageError where there are none, where they are being replaced, or where a compressed one is damaged.
    """
    paths, files = _of_one_export(folder)
    return paths, [_unpacked(path, file) for path, file in zip(paths, files, strict=True)]


def _of_one_export(folder: Path) -> tuple[list[Path], list[int]]:
    files: list[int] = []
    try:
        folder_state = folder.stat() if folder.exists() else None
        paths = compressed.find_files(folder / "events", ".ndjson")
        files.extend(os.open(path, os.O_RDONLY) for path in paths)
        if folder_state is None or os.path.samestat(folder_state, folder.stat()):
            if not paths:
                raise UsageError(_no_events(folder))
            return paths, files
    except FileNotFoundError:
        pass
    for file in files:
        os.close(file)
    raise UsageError(f"{folder}: was replaced by another export just now; start the push again")


def _no_events(folder: Path) -> str:
    if not folder.is_dir():
        return f"{folder}: there is no such folder; give the one that exporter export wrote"
    return f"{folder}: holds no events; give the folder that exporter export wrote, with events among its outputs"


def _unpacked(path: Path, file: int) -> int:
    """The file; for a compressed one its content, in a temporary file without a name."""
    if path.suffix != compressed.ENDING:
        return file
    with open(file, "rb") as packed, tempfile.TemporaryFile() as unpacked:
        try:
            shutil.copyfileobj(gzip.GzipFile(fileobj=packed), unpacked)
        except compressed.BROKEN as error:
            raise UsageError(f"{path}: cannot be unpacked: {error}; export the rows again") from None
        unpacked.seek(0)
        return os.dup(unpacked.fileno())


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
        self._set_generations()

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
        for row in self._entries(leaves_out):
            rows.append(row)
            if len(rows) == _BATCH:
                self._store(rows)
        self._store(rows)

    def _store(self, rows: list[Json]) -> None:
        self._db.executemany(EVENT, rows)
        self._db.executemany(RUN, [row for row in rows if row["is_run"]])
        rows.clear()

    def _entries(self, leaves_out: Callable[[Json], str | None]) -> Iterator[Json]:
        for number, path in enumerate(self._paths):
            offset = 0
            with open(self._files[number], "rb", closefd=False) as file:
                for count, line in enumerate(file, start=1):
                    if line.strip():
                        row = entry(line, f"{path}, line {count}", leaves_out)
                        if isinstance(row, str):
                            self.left_out[row] += 1
                        else:
                            yield {**row, "file": number, "at": offset, "size": len(line)}
                    offset += len(line)

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

    def add_known_runs(self, runs: Iterable[str]) -> None:
        """Notes the runs whose end the backend already got, by their ids in hexadecimal."""
        self._db.executemany("INSERT OR IGNORE INTO given VALUES (?)", ((run,) for run in runs))

    def count_moved(self, places: Iterable[str]) -> int:
        """How many runs that are still to be sent have another job than when the backend got them before. ``places``:
        the ledger's.
        """
        self._db.executemany("INSERT OR IGNORE INTO places VALUES (?)", ((place,) for place in places))
        (count,) = self._db.execute(MOVED).fetchone()
        return int(count)

    def mark_delivered(self, marks: Iterable[str]) -> int:
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
        """Unmarks delivered events that one still to be sent would overtake (:func:`.order.overtaken`). Returns their
        fingerprints, and how many events are still marked as delivered. ``refused``: events that were set aside; they
        overtake nothing, since otherwise each push would send the same events again.
        """
        is_behind = any(row[-1] for row in self._tail(refused))
        marks = overtaken(self._db, self._queued(self._tail(refused))) if is_behind else []
        self._db.executemany("DELETE FROM settled WHERE mark = ?", ((mark,) for mark in marks))
        return marks, self._count_settled()

    def _tail(self, refused: Container[str]) -> Iterator[tuple[Any, ...]]:
        """The events from the first one on that is not delivered."""
        rows = (row for row in self._db.execute(TAIL) if row[3] not in refused)
        return dropwhile(itemgetter(5), rows)

    def _queued(self, rows: Iterable[tuple[Any, ...]]) -> Iterator[QueuedEvent]:
        for number, (file, at, size, mark, is_run, is_settled) in enumerate(rows):
            item = Item(file, at, size, mark, bool(is_run), None, None, None)
            yield QueuedEvent(number, mark, not is_settled, self.line(item))

    def count(self) -> int:
        """The number of chosen events."""
        text = "SELECT count(*) FROM events e LEFT JOIN runs r ON r.run = e.run WHERE coalesce(r.chosen, 1)"
        return int(self._db.execute(text).fetchone()[0])

    # --- reading --------------------------------------------------------------------------------------------------

    def items(self) -> Iterator[Item]:
        """The chosen events that are still to be sent, in order."""
        return self._ordered(is_settled=False)

    def delivered(self) -> Iterator[Item]:
        """The chosen events that the backend has, in order."""
        return self._ordered(is_settled=True)

    def _ordered(self, *, is_settled: bool) -> Iterator[Item]:
        for file, at, size, mark, is_run, runs, first, last, is_again in self._db.execute(ORDERED, (is_settled,)):
            yield Item(file, at, size, mark, bool(is_run), runs, first, last, bool(is_again))

    def line(self, item: Item) -> bytes:
        """The event's text. Thread-safe."""
        return os.pread(self._files[item.file], item.size, item.at).rstrip(b"\r\n")
