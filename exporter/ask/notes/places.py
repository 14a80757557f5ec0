"""Notes on places of files. Places outside of Snowflake have several names: an external stage its own and the URL of
its location, a file its own URL and that of a folder around it; rows do not say which of these are the same. And the
stage of a table has the name of the table.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import islice
from typing import Final

from exporter.ask.answers import first_of
from exporter.ask.lookups import TABLE_STAGE, Lookups
from exporter.ask.movement import ARROW
from exporter.ask.notes.asked import FOLLOWING, MOST, Asked
from exporter.ask.triples import EARLY, LATE, in_utc
from exporter.model.identifiers import match_name

SAME_PLACE: Final = "Rows name one place outside of Snowflake in several ways"
"""The beginning of the note."""
_WRITTEN: Final = ("lineage-as-of", "page-up", "page-up-at", "page-writes", "writers")
_MOVED: Final = ("end-up", "page-down", "sensitive-data-movement")
_READ: Final = ("downstream-users", "page-readers", "when-accessed", "who-accessed")
OF_PLACES: Final = (*_WRITTEN, *_MOVED, *_READ)
"""Questions about what was written to a place, read from it, or moved from it."""
OF_NAMES: Final = ("downstream-users", "lineage-as-of", "sensitive-data-movement")
"""Questions whose answers have names of what data went through, without kinds."""
_ON_CLIENTS: Final = "file:"
"""The scheme of files of clients: the same path is another file on each machine."""
_SHOWN: Final = 5


def same_places(asked: Asked) -> Iterator[str]:
    """A note on other names of a place that is asked for, or that the data went through, by which rows show what the
    answer would have.
    """
    graph, things, names = asked.graph, {*asked.asked_objects, *asked.followed}, dict[str, str]()
    own = {thing: set(map(_folder, graph.objects(thing, "ah:locationUrl"))) for thing in sorted(things)}
    places = _Places(graph.every("ah:locationUrl") if any(own.values()) else ())
    for thing, folders in own.items():
        for url, how in graph.at_most(places.near(folders), MOST):
            for other in sorted(set(graph.with_text("ah:locationUrl", url)) - things - names.keys()):
                if _has_use(asked, thing, other):
                    names[other] = f"{asked.label(other)} ({how} {asked.label(thing)})"
    if names:
        yield (
            f"{SAME_PLACE}, and the answer does not have what was done by other names: "
            f"{first_of(sorted(names.values()), _SHOWN)}. Ask for {'this' if len(names) == 1 else 'these'}, too."
        )


def stages_with_names_of_tables(asked: Asked) -> Iterator[str]:
    """A note on stages of tables in an answer that has names without kinds."""
    graph, cells = asked.graph, (cell for row in asked.graph.at_most(asked.answer.rows, MOST) for cell in row if cell)
    named = {match_name(name) for cell in cells for name in cell.split(ARROW)}
    names = {
        stage.name
        for thing in {*asked.asked_objects, *asked.followed}
        if graph.text(thing, "ah:domain") == TABLE_STAGE
        for stage in graph.names_of(thing)
        if match_name(stage.name) in named
    }
    if names:
        yield (
            "Rows give the stage of a table (@%) the name of the table. In this answer, "
            f"{first_of(sorted(names), _SHOWN)} can mean either."
        )


def _folder(url: str) -> str:
    return f"{url.rstrip('/')}/"


class _Places:
    """All URLs, in order, so that those within a folder are found without a look at each."""

    def __init__(self, urls: Iterable[str]) -> None:
        self._urls = sorted((_folder(url), url) for url in urls if not url.startswith(_ON_CLIENTS))

    def near(self, folders: Iterable[str]) -> Iterator[tuple[str, str]]:
        """The URLs of these folders, within them and around them, each with what it is to the folder, in words."""
        for folder in sorted(folders):
            yield from (
                (url, "at the place of" if place == folder else "within") for place, url in self._from(folder, "")
            )
            parts = folder.split("/")
            for count in range(3, len(parts) - 1):  # from the bucket on
                around = "/".join(parts[:count]) + "/"
                yield from ((url, "around") for place, url in self._from(around, around))

    def _from(self, folder: str, only: str) -> Iterator[tuple[str, str]]:
        """The folders that begin so; ``only``: the one that is so."""
        for place, url in islice(self._urls, bisect_left(self._urls, (folder, "")), None):
            if not place.startswith(folder) or (only and place != only):
                return
            yield place, url


def _has_use(asked: Asked, thing: str, other: str) -> bool:
    """Whether rows show of another name of a place what the answer would have of it in the time that is asked for."""
    graph, states = asked.graph, list(asked.graph.subjects("prov:specializationOf", other))
    if asked.name in _READ and thing in asked.asked_objects:
        accesses = graph.subjects("ah:accessedObject", other)
        return any(asked.has_activity(read) for access in accesses for read in graph.reads_with(access))
    is_up = asked.name in _WRITTEN
    made = (
        states if is_up else [version for state in states for version in graph.subjects("prov:wasDerivedFrom", state)]
    )
    queries = {query for version in made for query in graph.objects(version, "prov:wasGeneratedBy")}
    if asked.name not in FOLLOWING:
        return any(map(asked.has_activity, queries))
    starts = list(graph.read_times(other) if asked.name in _READ else _starts(graph, queries))
    if thing not in asked.asked_objects:
        # What was read before the data came to the place did not have it; nor did what was written after it was read.
        begin, reads = asked.lineage.begins.get(thing), _starts(graph, _read_by(asked, thing) if is_up else ())
        first, last = (EARLY, max(reads, default=EARLY)) if is_up else (in_utc(begin) if begin else EARLY, LATE)
        starts = [start for start in starts if first <= start <= last]
    return any(asked.until is None or start <= asked.until for start in starts)


def _read_by(asked: Asked, thing: str) -> set[str]:
    """The queries by which the data of an answer came from an object."""
    graph, reached = asked.graph, asked.lineage.states
    states = (state for state in graph.subjects("prov:specializationOf", thing) if state in reached)
    made = (
        version for state in states for version in graph.subjects("prov:wasDerivedFrom", state) if version in reached
    )
    return {query for version in made for query in graph.objects(version, "prov:wasGeneratedBy")}


def _starts(graph: Lookups, queries: Iterable[str]) -> Iterator[datetime]:
    return (in_utc(time) for query in queries for time in graph.objects(query, "prov:startedAtTime"))
