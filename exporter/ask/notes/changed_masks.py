"""Notes on answers about masks, of reads by day: a graph with ``--reads daily`` has the times of the first and the last
of alike reads alone, so those in between, under other masks, are not asked about.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from datetime import datetime
from functools import cache
from typing import Final

from exporter.ask.answers import first_of
from exporter.ask.lookups import Lookups
from exporter.ask.notes.asked import AGENT_READS, UNMASKED_COPIES, Asked
from exporter.ask.notes.left_out import BY_DAY, is_by_day
from exporter.ask.notes.mask_periods import WHOLE, Held, columns_with_masks, masked_wholes, masks_in_force, without
from exporter.ask.notes.within_agents import wanted_agents
from exporter.ask.triples import EARLY, LATE
from exporter.system.reachable import reachable

_SHOWN: Final = 3
_READS_LOOKED_AT: Final = 100_000


def reads_around_changes(asked: Asked) -> Iterator[str]:
    """Where a mask was set or ended between the first and the last of alike reads of a day; in unmasked-copies, where
    a copy was to be counted between the two alone.
    """
    graph = asked.graph
    if not is_by_day(graph):
        return
    texts = set[str]()
    for column, first, last in _copies_read(graph) if asked.name == UNMASKED_COPIES else _masked_read(asked):
        if asked.has(first, last):
            thing = graph.text(column, "ah:columnOf") or ""
            texts.add(f"{graph.name_at(thing, first.isoformat())} on {first:%Y-%m-%d}")
    if texts:
        yield (
            f"{BY_DAY} masks were set or ended between the first and the last of alike reads of a day, and the answer "
            f"lacks reads between these two: {first_of(sorted(texts), _SHOWN)}. A graph of --reads full has each read."
        )


_Read = tuple[str, datetime, datetime]
"""A column, and when the first and the last of alike reads of it started."""


class _Masks:
    """When columns were masked, each object looked up once; ``only_set``: without masks that queries enforced and no
    row sets.
    """

    def __init__(self, graph: Lookups, *, only_set: bool = False) -> None:
        wholes = masked_wholes(graph)
        self._graph = graph
        self._of_thing = cache(lambda thing: masks_in_force(graph, thing, wholes, only_set=only_set))

    def of(self, column: str) -> list[Held]:
        """When a column was masked, perhaps: a tag of the whole object masks columns of one data type."""
        of_columns = self._of_thing(self._graph.text(column, "ah:columnOf") or "")
        names = (self._graph.text(column, "ah:matchName") or "", WHOLE)
        return [held for name in names for held in of_columns.get(name, ())]


class _Copies:
    """The copies of masked columns, whenever they were made, and what each is a copy of."""

    def __init__(self, graph: Lookups) -> None:
        self._graph = graph
        self._sources = defaultdict[str, set[str]](set)
        self._masked = set(columns_with_masks(graph))
        reachable(self._masked, self._copied_to)

    def __iter__(self) -> Iterator[str]:
        yield from sorted(self._sources)

    def masked_sources(self, copy: str) -> set[str]:
        """The masked columns whose data may be in a copy; a column under another name is no copy of itself."""
        sources = reachable([copy], lambda column: self._sources.get(column, ()))
        return self._masked & sources.keys() - reachable([copy], self._graph.renamed_columns).keys()

    def _copied_to(self, column: str) -> set[str]:
        graph, copies = self._graph, set[str]()
        for version in graph.subjects("prov:specializationOf", column):
            for filled in graph.subjects("prov:wasDerivedFrom", version):
                copies |= set(graph.objects(filled, "prov:specializationOf"))
        for copy in copies:
            self._sources[copy].add(column)
        return copies


def _masked_read(asked: Asked) -> Iterator[_Read]:
    """Reads by day of columns whose own mask changed between the first and the last one."""
    graph, names, masks = asked.graph, asked.match_names("column_name"), _Masks(asked.graph)
    agents = wanted_agents(asked) if asked.name == AGENT_READS else None
    for column in columns_with_masks(graph):
        is_meant = asked.is_about(graph.text(column, "ah:columnOf") or "")
        if is_meant and (not names or graph.text(column, "ah:matchName") in names):
            yield from _around(graph, column, _changes(masks.of(column)), agents)


def _copies_read(graph: Lookups) -> Iterator[_Read]:
    """Reads by day of copies of masked columns, that count between the first and the last one alone."""
    masks, own_masks, copies = _Masks(graph), _Masks(graph, only_set=True), _Copies(graph)
    of_all = _changes([held for column in columns_with_masks(graph) for held in masks.of(column)])
    for copy in copies:
        own, counted = own_masks.of(copy), None
        changes = sorted({*of_all, *_changes(own)}) if own else of_all
        for reads in _around(graph, copy, changes):
            counted = counted or _Counted(
                (held for source in copies.masked_sources(copy) for held in masks.of(source)), own
            )
            if counted.is_between(*reads[1:]):
                yield reads


class _Counted:
    """When reads of a copy count: while its source is masked, and it is not itself."""

    def __init__(self, of_sources: Iterable[Held], own: Iterable[Held]) -> None:
        gaps = sorted((held.since, held.until) for held in own)
        self._of = {held: list(without(held, gaps)) for held in of_sources}
        all_pieces = ((piece, held) for held, pieces in self._of.items() for piece in pieces)
        self._pieces = sorted(all_pieces, key=lambda pair: pair[0].since)
        self._begins = [piece.since for piece, _ in self._pieces]

    def is_between(self, first: datetime, last: datetime) -> bool:
        """Whether a read between two others counts, and neither of these."""
        inside = self._pieces[bisect_right(self._begins, first) : bisect_left(self._begins, last)]
        return any(
            piece.until <= last
            and not any(part.since <= time < part.until for part in self._of[held] for time in (first, last))
            for piece, held in inside
        )


def _changes(periods: Collection[Held]) -> list[datetime]:
    return sorted({time for held in periods for time in (held.since, held.until)} - {EARLY, LATE})


def _around(graph: Lookups, column: str, changes: list[datetime], agents: set[str] | None = None) -> Iterator[_Read]:
    """The reads by day of a column that enforced no mask on it, around one of these times; of these agents."""
    accesses = graph.at_most(graph.subjects("ah:readColumn", column) if changes else (), _READS_LOOKED_AT)
    for reads in (reads for access in accesses for reads in graph.reads_with(access)):
        times = graph.starts_of(reads)
        first, last = min(times), max(times)
        place = bisect_right(changes, first)
        if (
            place < len(changes)
            and changes[place] < last
            and not _enforces(graph, reads, column)
            and (agents is None or not agents.isdisjoint(graph.objects(reads, "prov:wasAssociatedWith")))
        ):
            yield column, first, last


def _enforces(graph: Lookups, reads: str, column: str) -> bool:
    masks = (mask for mask in graph.objects(reads, "ah:enforced") if graph.is_mask(mask))
    return any(column in graph.objects(mask, "ah:protectedColumn") for mask in masks)
