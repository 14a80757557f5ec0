"""Delivered events that have to be sent again, because an event that comes late would otherwise overwrite them.

A backend takes the last event to arrive for the present state. A row that comes late makes an event that belongs before
others that were delivered. Sent alone, it would bring back a table that was dropped since, or remove columns that were
added since. So for each dataset that such an event names, the last event that writes it, and the last that names it,
are sent again after it.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Iterator


class Told(NamedTuple):
    """An event: its ``place`` in the order, its fingerprint, whether it is to be sent, and its text."""

    place: int
    mark: str
    is_sent: bool
    line: bytes


_TABLE: Final = "CREATE TEMP TABLE told (place INT, mark TEXT, thing TEXT, writes INT, sent INT)"
_ROW: Final = "INSERT INTO told VALUES (?, ?, ?, ?, ?)"
_FOLLOW: Final = """
UPDATE told SET sent = 1 WHERE NOT sent AND place IN (
    WITH early AS (SELECT thing, min(place) AS place FROM told WHERE sent GROUP BY thing),
        late AS (
            SELECT thing, max(t.place) AS named, max(CASE WHEN t.writes THEN t.place END) AS written
            FROM told t JOIN early e USING (thing) WHERE t.place > e.place GROUP BY thing)
    SELECT named FROM late UNION ALL SELECT written FROM late)
"""
"""An event that is sent again names other datasets too, which may have later events: repeated until nothing is added.
"""


def overtaken(db: sqlite3.Connection, events: Iterable[Told]) -> list[str]:
    """The fingerprints of events to send again. ``events``: in order, from the first one on that is to be sent."""
    db.execute(_TABLE)
    db.executemany(_ROW, _rows(events))
    delivered = {mark for (mark,) in db.execute("SELECT mark FROM told WHERE NOT sent")}
    while db.execute(_FOLLOW).rowcount > 0:
        pass
    found = sorted({mark for (mark,) in db.execute("SELECT mark FROM told WHERE sent")} & delivered)
    db.execute("DROP TABLE told")
    return found


def _rows(events: Iterable[Told]) -> Iterator[tuple[int, str, str, bool, bool]]:
    """One row for each dataset of each event."""
    for told in events:
        event = json.loads(told.line)
        written = [*(event.get("outputs") or []), *([event["dataset"]] if "dataset" in event else [])]
        for side, writes in ((event.get("inputs") or [], False), (written, True)):
            for one in side:
                thing = json.dumps([one["namespace"], one["name"]])
                yield told.place, told.mark, thing, writes, told.is_sent
