"""The SQL tables of the index of a push, and the order in which events are sent."""

from __future__ import annotations

from typing import Final

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
FROM unsettled u LEFT JOIN jobs j ON j.job = u.job AND u.is_end
ORDER BY u.due, u.is_run, u.depth, u.query, u.run, u.is_end, u.place"""
MOVED: Final = """
SELECT count(*) FROM unsettled u JOIN runs r ON r.run = u.run
WHERE u.is_end AND r.place NOT IN (SELECT place FROM places)
    AND substr(r.place, 1, 16) IN (SELECT substr(place, 1, 16) FROM places)"""
TAIL: Final = """
SELECT u.file, u.at, u.size, u.mark, u.is_run, u.is_settled
FROM chosen u WHERE u.is_end OR NOT u.is_settled
ORDER BY u.due, u.is_run, u.depth, u.query, u.run, u.is_end, u.place"""
