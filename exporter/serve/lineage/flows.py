"""The lineage of an object or a column, upstream and downstream, read from the export where the picture shows it.

The versions that belong to it are read at once. The edges of places are read for a whole step of the picture together.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import date
from threading import RLock
from typing import Final, Literal, NamedTuple

from exporter.ask.answers import listed
from exporter.ask.notes.clones import INFERRED, NO_STEP, NOT_SAID
from exporter.ask.notes.columns import NOT_BY_COLUMN
from exporter.ask.notes.container_changes import UNLISTED
from exporter.ask.notes.former_columns import FORMER_COLUMNS
from exporter.ask.notes.incomplete import LACKS
from exporter.ask.notes.left_out import ADDED_UP
from exporter.ask.notes.places import SAME_PLACE
from exporter.ask.notes.two_forms import WITH_AND_WITHOUT_ID
from exporter.ask.notes.untold_writes import NEITHER
from exporter.ask.notes.views import UNREAD, UNREAD_OVER
from exporter.serve.site import MOST_ROWS, VIEW_KINDS, Params, Site, SiteObject

MOST: Final = 200_000
"""The most versions that are read; far more than a picture can show."""
_MOST_NEIGHBOURS: Final = 100_000
_NOTES: Final = (UNLISTED, INFERRED, NO_STEP, NOT_SAID, FORMER_COLUMNS, UNREAD, UNREAD_OVER)
_MAY_LACK: Final = (WITH_AND_WITHOUT_ID, SAME_PLACE, NOT_BY_COLUMN, NEITHER, LACKS, ADDED_UP)
"""Parts of the notes on answers that are about the lineage, too: what was done, and what may be missing."""
Direction = Literal["up", "down"]
DIRECTIONS: Final[tuple[Direction, ...]] = ("up", "down")


class LineageNode(NamedTuple):
    """An object, or a column of it. ``column``: empty for the object itself."""

    iri: str
    column: str = ""


@dataclass(frozen=True)
class NodeLabel:
    """The name of a place, and the kind of its object. ``is_helper``: a load fills, reads and drops it; ``account``: of
    an object that is not of the account whose rows name it; else empty.
    """

    name: str
    kind: str
    is_helper: bool = False
    account: str = ""

    @property
    def whole(self) -> str:
        """The name, with the account where it has one."""
        return f"{self.name} of {self.account}" if self.account else self.name


@dataclass(frozen=True)
class Flow:
    """Data that went from one place to another: the number of queries, the times of the first and the last, and the
    users who ran them.

    ``evidence``: empty if queries moved the data. Of a view or stream that shows the data of its source: CERTAIN or
    POSSIBLE; then there are no queries, and the times are when queries showed it (``last`` is empty if that was after
    the day of the picture). ``through``: the helpers between the two that are hidden; the rest is of the last step.
    """

    queries: int
    first: str
    last: str
    evidence: str = ""
    users: tuple[str, ...] = ()
    through: tuple[str, ...] = ()


NOT_SHOWN: Final = "No row shows what is behind it, so its data may come from anywhere."
"""The text where no query shows the sources of a view or stream."""
NOT_SHOWN_OF_COLUMN: Final = "No row shows what is behind this column; the picture of the whole has all that is known."
"""The text where no query shows the sources of a column of a view or stream."""
Flows = dict[LineageNode, dict[LineageNode, Flow]]
Ends = dict[LineageNode, list[str]]


def edge(direction: Direction, place: LineageNode, other: LineageNode) -> tuple[LineageNode, LineageNode]:
    """The source and the target of an edge between a place and its source (``up``) or target (``down``)."""
    return (other, place) if direction == "up" else (place, other)


@dataclass
class Lineage:
    """The edges of places are read from the export when they are asked for.

    ``flows``: from each place to its sources (``up``) and to its targets (``down``): only of places whose edges were
    read. ``labels``: these places and their neighbours. ``notes``: for the reader, such as that the object
    was dropped by then; ``may_lack``: what rows do not say of it. ``hides_helpers``: data that went through a helper
    goes on to what is beyond it.

    ``ends``: for each place, the last version of each chain upstream, and the first version of each chain downstream.
    All versions before the last, or after the first, also belong to the lineage. ``through``: places that were reached
    through a view or stream, whose versions are read when their edges are asked for. ``view_columns``: which columns of
    views show which columns of their sources, source first.
    """

    focus: LineageNode
    site: Site
    at: str | None
    since: str | None
    hides_helpers: bool = False
    flows: dict[Direction, Flows] = field(
        default_factory=lambda: {direction: defaultdict(dict) for direction in DIRECTIONS}
    )
    labels: dict[LineageNode, NodeLabel] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    may_lack: list[str] = field(default_factory=list)
    ends: dict[Direction, Ends] = field(default_factory=dict)
    through: set[tuple[Direction, LineageNode]] = field(default_factory=set)
    view_columns: dict[tuple[LineageNode, LineageNode], Flow] = field(default_factory=dict)
    lock: RLock = field(default_factory=RLock)

    def load(self, direction: Direction, places: Iterable[LineageNode]) -> None:
        """Read the edges of these places, unless they were read before."""
        flows = self.flows[direction]
        with self.lock:  # several requests share a lineage
            fresh = [place for place in dict.fromkeys(places) if place not in flows]
            for place in fresh:
                self._load_ends_through_views(direction, place)
            if fresh:
                flows.update((place, {}) for place in fresh)
                self._add_view_flows(direction, fresh)
                self._add_query_flows(direction, fresh)

    def neighbours(self, direction: Direction, place: LineageNode) -> Mapping[LineageNode, Flow]:
        """The sources (``up``) or targets (``down``) of a place."""
        nodes = self._direct(direction, place)
        if not self.hides_helpers or not any(self.labels[node].is_helper for node in nodes):
            return nodes
        return self._beyond_helpers(direction, place, {place})

    def _direct(self, direction: Direction, place: LineageNode) -> Mapping[LineageNode, Flow]:
        self.load(direction, [place])
        return self.flows[direction].get(place, {})

    def _beyond_helpers(
        self, direction: Direction, place: LineageNode, visited: set[LineageNode]
    ) -> dict[LineageNode, Flow]:
        beyond: dict[LineageNode, Flow] = {}
        for other, flow in self._direct(direction, place).items():
            if not self.labels[other].is_helper:
                beyond[other] = flow
            elif other not in visited:
                name = self.labels[other].name
                for last, final in self._beyond_helpers(direction, other, visited | {other}).items():
                    beyond.setdefault(last, replace(final, through=(name, *final.through)))
        return beyond

    def of_others(self) -> list[str]:
        """A note on each place that is not of the account whose rows name it: its name may mean another object, too."""
        names = {(label.name, label.account) for label in self.labels.values() if label.account}
        return [f"{name} is, or is also, an object of {account}." for name, account in sorted(names)]

    def rows_of(self, question: str, params: Params, most: int = MOST_ROWS) -> list[dict[str, str | None]]:
        """The rows of an answer. Its notes on schemas that were renamed, dropped …, on clones, on what is known with an
        id and without, on places with several names, on what rows do not give by column, and on queries that were cut
        become notes of the lineage.
        """
        answer = self.site.ask(question, params, most)
        for collected, parts in ((self.notes, _NOTES), (self.may_lack, _MAY_LACK)):
            notes = [note for note in answer.notes if any(part in note for part in parts)]
            collected += [note for note in notes if note not in collected]
        return answer.dicts()

    def moves(self, direction: Direction, place: LineageNode, other: LineageNode) -> Params:
        """The parameters of ``page-moves-up`` or ``-down`` for one edge; none where the place has no versions here."""
        self.load(direction, [place] if place in self.labels else [])
        source, target = edge(direction, place, other)
        ends = self.ends[direction].get(place) or self.ends[direction].get(LineageNode(place.iri), [])
        iris = {"source": self._iri(source), "target": self._iri(target)}
        return {"version": ends, **iris, **self._times(direction)} if ends else {}

    def _iri(self, place: LineageNode) -> str:
        if not place.column:
            return place.iri
        (row,) = self.site.rows("page-column", {"object": place.iri, "column_name": place.column})
        return row["column_iri"] or ""

    def columns_between(self, objects: Iterable[str]) -> dict[tuple[LineageNode, LineageNode], Flow]:
        """The flows between columns of these objects, source first, as far as the edges of the objects were read."""
        object_set = set(objects)
        flows = {
            ends: flow
            for ends, flow in self.view_columns.items()
            if ends[0].iri in object_set and ends[1].iri in object_set
        }
        for direction in DIRECTIONS:
            ends = [end for iri in sorted(object_set) for end in self.ends[direction].get(LineageNode(iri), ())]
            question = "page-column-sources" if direction == "up" else "page-column-targets"
            params = {"version": ends, **self._times(direction)}
            for row in self.rows_of(question, params, _MOST_NEIGHBOURS) if ends else ():
                node, other = _nodes(row)
                if other.iri in object_set and node != other:
                    flows.setdefault(edge(direction, node, other), _flow(row))
        return flows

    def _times(self, direction: Direction) -> dict[str, str]:
        at = {"at": self.at} if self.at is not None and direction == "down" else {}
        return {**at, **({"since": self.since} if self.since is not None else {})}

    def _load_ends_through_views(self, direction: Direction, place: LineageNode) -> None:
        if (direction, place) in self.through and place not in self.ends[direction]:
            ends_of = (_upwards if direction == "up" else _downwards)(self, place)
            self.ends[direction][place] = ends_of.get(place, [])
            for other, versions in ends_of.items():
                self.ends[direction].setdefault(other, versions)

    def _add_view_flows(self, direction: Direction, places: list[LineageNode]) -> None:
        """Adds the objects behind views and streams (``up``), or the views and streams over objects, or of their
        columns. As of a day, views that no query had read by then are left out; a source of a view was its source
        before the view was read.
        """
        viewed = {place for place in places if direction == "down" or self.labels[place].kind.upper() in VIEW_KINDS}
        if not viewed:
            return
        flows = self.flows[direction]
        question = "page-shows" if direction == "up" else "page-shown"
        params = {"object": sorted({place.iri for place in viewed})}
        for row in self.site.rows(question, params, _MOST_NEIGHBOURS):
            node, other = _nodes(row)
            if bool(node.column) != bool(other.column) or not self._is_in_force(direction, row):
                continue
            last = row["last_seen"] or ""
            last_seen = last if self.at is None or last <= self.at else ""
            flow = Flow(0, row["first_seen"] or "", last_seen, row["evidence"] or "")
            if node.column:
                self.view_columns.setdefault(edge(direction, node, other), flow)
            if node not in viewed:
                continue
            self._name(other, row)
            if other not in flows[node] or flows[node][other].evidence != "CERTAIN":
                flows[node][other] = flow
            if (
                direction == "down" or node == self.focus
            ):  # a query that read the view has the objects behind it, as of then
                self.through.add((direction, other))

    def _is_in_force(self, direction: Direction, row: Mapping[str, str | None]) -> bool:
        """Whether a view had a source at the time of the picture, and was read since then."""
        if self.since is not None and (row["last_seen"] or "") < self.since:
            return False
        if self.at is None:
            return True
        since = row["valid_from"] if direction == "up" else row["first_seen"]
        return (row["valid_until"] or "9") > self.at and (since or "") <= self.at

    def _add_query_flows(self, direction: Direction, places: list[LineageNode]) -> None:
        """Adds the places from which or to which queries moved data."""
        flows = self.flows[direction]
        ends = [end for place in places for end in self.ends.get(direction, {}).get(place, ())]
        question = "page-sources" if direction == "up" else "page-targets"
        params = {"version": ends, **self._times(direction)}
        for row in self.rows_of(question, params, _MOST_NEIGHBOURS) if ends else ():
            node, other = _nodes(row)
            self._name(other, row)
            if node in flows and other != node:
                flows[node][other] = _flow(row)

    def _name(self, place: LineageNode, row: Mapping[str, str | None]) -> None:
        is_helper = row["is_helper"] == "true"
        account = self.site.other_account(place.iri)
        self.labels.setdefault(place, NodeLabel(row["name"] or place.iri, row["kind"] or "", is_helper, account))


def _nodes(row: Mapping[str, str | None]) -> tuple[LineageNode, LineageNode]:
    """The place whose edges were asked for, and the other end of an edge."""
    own = LineageNode(row["own_iri"] or "", row["own_column_name"] or "")
    return own, LineageNode(row["object_iri"] or "", row["column_name"] or "")


def _flow(row: Mapping[str, str | None]) -> Flow:
    return Flow(
        int(row["queries"] or 0),
        row["first"] or "",
        row["last"] or "",
        users=tuple(listed(row["users"])),
    )


def read_lineage(  # noqa: PLR0913, PLR0917 - what the page can be asked for
    site: Site,
    thing: SiteObject,
    column: str,
    day: date | None,
    since: date | None = None,
    hides_helpers: bool = False,  # noqa: FBT001, FBT002 - part of the address
) -> Lineage:
    """The lineage of an object, or of its column, as of the end of a day; over all time where ``day`` is None.
    ``since``: without data that no query moved on that day or later.
    """
    at = None if day is None else f"{day.isoformat()}T23:59:59.999999Z"
    since_time = None if since is None else f"{since.isoformat()}T00:00:00Z"
    result = Lineage(LineageNode(thing.iri, column), site, at, since_time, hides_helpers)
    account = site.other_account(thing.iri)
    result.labels[result.focus] = NodeLabel(thing.name or thing.iri, thing.kind, account=account)
    with ThreadPoolExecutor(1) as executor:  # both directions at once, by two of the processes for pages
        downwards = executor.submit(_downwards, result, result.focus)
        result.ends["up"] = _upwards(result, result.focus)
        result.ends["down"] = downwards.result()
    if at is None:
        result.rows_of("page-names", {"object": thing.iri})
    of_focus = {"object": thing.iri, **({"at": at} if at is not None else {})}
    for question in ("page-shows", "page-shown") if thing.kind.upper() in VIEW_KINDS else ("page-shown",):
        result.rows_of(question, of_focus)
    if thing.kind.upper() in VIEW_KINDS and not result.neighbours("up", result.focus):
        result.notes.append(NOT_SHOWN_OF_COLUMN if result.focus.column else NOT_SHOWN)
    return result


def _object_params(place: LineageNode) -> dict[str, str]:
    return {"object": place.iri, **({"column_name": place.column} if place.column else {})}


def _downwards(lineage: Lineage, place: LineageNode) -> Ends:
    return _ends(lineage, "page-column-down" if place.column else "page-down", _object_params(place))


def _upwards(lineage: Lineage, place: LineageNode) -> Ends:
    question, params = "page-column-up" if place.column else "page-up", _object_params(place)
    if lineage.at is not None:
        present = lineage.rows_of("page-present", {"object": place.iri, "at": lineage.at})
        if not present or present[0]["is_gone"] == "true":
            is_view = lineage.labels[place].kind.upper() in VIEW_KINDS
            if place == lineage.focus and present:
                lineage.notes.append("It was dropped by then, so nothing was in it.")
            elif place == lineage.focus and not is_view:
                lineage.notes.append("Nothing was written to it by then.")
            return {}
        question += "-at"
        del params["object"]
        params["version"] = present[0]["present"] or ""
    return _ends(lineage, question, params)


def _ends(lineage: Lineage, question: str, params: Mapping[str, str]) -> Ends:
    """The versions of the answer to ``question`` that have no other version of the answer ``beside`` them."""
    rows = lineage.rows_of(question, params, MOST)
    if len(rows) == MOST:
        lineage.notes.append(
            f"There are more than {MOST:,} versions; the picture leaves some out. A day makes them fewer."
        )
    versions = {row["version"] for row in rows}
    ends: Ends = defaultdict(list)
    for row in rows:
        if row["beside"] not in versions:
            ends[LineageNode(row["object_iri"] or "", row.get("column_name") or "")].append(row["version"] or "")
    return ends
