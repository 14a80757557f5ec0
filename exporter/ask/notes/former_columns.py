"""Notes on columns in an answer that have, or had, another name: rows have the names of their time.

Columns have no ids. A name in an answer is that of the column which got the data, or gave it; the column may have been
renamed or dropped since, or its table made anew, and another column may have its name now.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping
from datetime import datetime
from functools import cache
from typing import Final, NamedTuple

from exporter.ask.answers import first_of
from exporter.ask.lookups import Lookups, NameHolder
from exporter.ask.notes.asked import MOST, TAG_REACH, UNMASKED_COPIES, Asked
from exporter.ask.notes.column_names import drops_of, names_of_renamed, renames_from
from exporter.ask.notes.columns import copies_of, object_of, starts_of_copies
from exporter.ask.parameters import as_text
from exporter.ask.triples import EARLY, in_utc
from exporter.model.identifiers import match_name
from exporter.system.reachable import reachable

FORMER_COLUMNS: Final = "has columns by the names of their time"
"""A part of the note."""
_COLUMN_LINEAGE: Final = "column-lineage"
_END_UP: Final = "end-up"
_OF_COPIES: Final = (TAG_REACH, UNMASKED_COPIES)
OF_NAMES: Final = (
    *("column-copies", _COLUMN_LINEAGE, _END_UP, "root-cause", *_OF_COPIES),
    *("page-column-down", "page-column-up", "page-column-up-at"),
)
"""Questions whose answers have columns of objects that are not asked for."""
_TARGETS: Final = (("target_object_name", "target_column_name"), ("target_name", "target_column_name"))
_SOURCES: Final = (("source_object_name", "source_column_name"),)
_TABULAR: Final = ("table", "view")
_SHOWN: Final = 5
_EXACT: Final = 2
"""How many renames of a column ``unmasked-copies`` follows by versions."""
_LOOKED_AT: Final = 10_000
"""How many versions the note looks at, at most."""
_Shown = dict[tuple[str, str], str]
"""The names of objects and columns in an answer, as they are compared, and together as it spells them."""


class _End(NamedTuple):
    """What became of a column with data: ``left``: when it lost its name; ``name``: what it is called since ``since``,
    empty if it is gone; ``is_recreated``: as its table was made anew under its own id or name.
    """

    left: datetime
    since: datetime
    name: str = ""
    is_recreated: bool = False


class _Present(NamedTuple):
    """A column that has a name at the end of the record, by its last version: ``since`` when it has it."""

    version: str
    since: datetime


def former_columns(asked: Asked) -> Iterator[str]:
    """A note on columns of the answer that are renamed, dropped, or of a table that was made anew, since data came to
    them or from them. First those whose name is that of another column, of which the answer has nothing.
    """
    if asked.name == TAG_REACH and not asked.values("at"):
        return  # it has present names
    shown, held = _names_in_answer(asked), defaultdict[str, set[str]](set)
    for version in asked.graph.at_most(_versions(asked, shown), _LOOKED_AT):
        for column in asked.graph.objects(version, "prov:specializationOf"):
            held[column].add(version)
    for column in _asked_columns(asked):
        held.pop(column, None)
    held_columns = _Held(asked.graph, held, tells_of_both=asked.name == UNMASKED_COPIES)
    sentences = {
        sentence
        for column in held
        for thing in asked.graph.objects(column, "ah:columnOf")
        for name, spelled in _names(asked, shown, thing, column)
        for sentence in held_columns.sentences(column, thing, name, spelled)
    }
    if sentences:
        texts = list(dict.fromkeys(text for _, text in sorted(sentences)))
        yield f"The answer {FORMER_COLUMNS}: {first_of(texts, _SHOWN, '; ')}."


def _names_in_answer(asked: Asked) -> _Shown:
    pairs = _TARGETS if asked.name == TAG_REACH else (*_TARGETS, *_SOURCES)
    places = [pair for pair in pairs if {*pair} <= {*asked.answer.columns}]
    rows = (dict(zip(asked.answer.columns, row, strict=True)) for row in asked.graph.at_most(asked.answer.rows, MOST))
    named = ((row[thing], row[column]) for row in rows for thing, column in places)
    return {(match_name(thing), match_name(column)): f"{thing}.{column}" for thing, column in named if thing and column}


def _names(asked: Asked, shown: _Shown, thing: str, column: str) -> Iterator[tuple[str, str]]:
    """The names of an object under which the answer has a column, each with both as they are spelled there. Pages show
    all that was found, by the present name.
    """
    graph, match = asked.graph, asked.graph.text(column, "ah:matchName") or ""
    if asked.is_of_page:
        name = asked.label(thing)
        yield name, f"{name}.{graph.label(column)}"
        return
    for name in dict.fromkeys(match_name(holder.name) for holder in graph.names_of(thing)):
        if (name, match) in shown:
            yield name, shown[name, match]


def _asked_columns(asked: Asked) -> set[str]:
    """The columns that are asked for, of which other notes tell this."""
    names, graph = asked.match_names("column_name"), asked.graph
    things = (object_of(graph, thing) for thing in (asked.asked_objects if names else ()))
    return {column for thing in things for column in graph.columns_of(thing, names)}


def names_taken_over(asked: Asked) -> Iterator[str]:
    """For ``unmasked-copies``: names that columns of one table had one after the other, by RENAME, if one of them was
    renamed more than twice and the answer has a column under one of its names. It follows two renames by the versions
    of a column, and further ones by the times at which a name was given.
    """
    graph, texts = asked.graph, set[str]()
    for pair in {row[:2] for row in graph.at_most(asked.answer.rows, MOST)}:
        name, column = pair[0] or "", match_name(pair[1] or "")
        for thing in {holder.iri for holder in graph.holders(name)}:
            of_column = _columns_of_names(graph, thing)
            often = [names for names in of_column.values() if column in names and len(names) > _EXACT + 1]
            own = {column_name for names in often for column_name in names}
            count = Counter(column_name for names in of_column.values() for column_name in {*names})
            texts.update(f"{name}.{column_name}" for column_name in own if count[column_name] > 1)
    if texts:
        yield (
            "By RENAME, columns of one table had the same name one after the other: "
            f"{first_of(sorted(texts), _SHOWN)}. The answer can have copies of one as copies of another."
        )


def _columns_of_names(graph: Lookups, thing: str) -> dict[tuple[datetime, str], list[str]]:
    """The renamed columns of an object, by the time of the first RENAME and the name before it, each with the names
    that it had one after the other.
    """
    renames = sorted(
        (in_utc(time), graph.text(former, "ah:matchName") or "", graph.text(new, "ah:matchName") or "")
        for new in graph.subjects("ah:columnOf", thing)
        for former in graph.objects(new, "ah:renamedFrom")
        for version in graph.subjects("prov:specializationOf", new)
        if any(former in graph.objects(source, "prov:specializationOf")
               for source in graph.objects(version, "prov:wasDerivedFrom"))
        for whole in graph.objects(version, "dcterms:isPartOf")
        for time in graph.objects(whole, "prov:generatedAtTime")
    )  # fmt: skip
    return names_of_renamed(renames)


# --- the versions of columns that an answer is about ------------------------------------------------------------------


def _versions(asked: Asked, shown: _Shown) -> Iterator[str]:
    """The versions of columns that the data of an answer is in, or came from."""
    graph = asked.graph
    if asked.name == _COLUMN_LINEAGE:
        yield from _filled_and_read(asked, shown)
    elif asked.name in _OF_COPIES or (asked.name == _END_UP and not asked.values("column_name")):
        starts = {
            version for column in starts_of_copies(asked) for version in graph.subjects("prov:specializationOf", column)
        }
        sources = _Sources(asked) if asked.name == UNMASKED_COPIES else None
        for version in copies_of(graph, starts):
            if sources is None or version not in starts:
                is_meant = _is_then(asked, version)
            else:  # it has the masked columns, too, that were copied
                is_meant = (_is_copied(graph, version) and sources.has(version)) or (
                    any(graph.derivations_of(version)) and _is_then(asked, version)
                )
            if is_meant:
                yield version
    else:
        reached = sorted(asked.lineage.columns or ())
        yield from reached if asked.lineage.is_up else (version for version in reached if _is_then(asked, version))


def _filled_and_read(asked: Asked, shown: _Shown) -> Iterator[str]:
    """The versions of columns in the answer that were filled in the time that is asked for, and those that were read
    for it.
    """
    graph = asked.graph
    for name, column in shown:
        for thing in {holder.iri for holder in graph.holders(name) if asked.is_about(holder.iri)}:
            for target in graph.columns_of(thing, (column,)):
                for made in graph.subjects("prov:specializationOf", target):
                    if any(graph.derivations_of(made)) and _is_then(asked, made):
                        yield from (made, *graph.objects(made, "prov:wasDerivedFrom"))


def _is_copied(graph: Lookups, version: str) -> bool:
    """Whether a query filled something with a version of a column."""
    return any(any(graph.derivations_of(made)) for made in graph.subjects("prov:wasDerivedFrom", version))


class _Sources:
    """Which versions of masked columns an ``unmasked-copies`` can be about: where columns had a name one after the
    other, those of which a copy is in the answer.
    """

    def __init__(self, asked: Asked) -> None:
        graph = self._graph = asked.graph
        rows = (dict(zip(asked.answer.columns, row, strict=True)) for row in graph.at_most(asked.answer.rows, MOST))
        places = {tuple(row[column] or "" for column in _TARGETS[0]) for row in rows}
        self._copies = {
            column
            for name, column_name in places
            for holder in graph.holders(name)
            for column in graph.columns_of(holder.iri, (match_name(column_name),))
        }
        self._is_shared = cache(lambda column: any(drops_of(graph, column)) or any(renames_from(graph, column)))

    def has(self, version: str) -> bool:
        """Whether the answer can have it."""
        graph = self._graph
        if not any(map(self._is_shared, graph.objects(version, "prov:specializationOf"))):
            return True
        held = graph.at_most(copies_of(graph, {version}), _LOOKED_AT)
        return any(not self._copies.isdisjoint(graph.objects(copy, "prov:specializationOf")) for copy in held)


def _is_then(asked: Asked, version: str) -> bool:
    """Whether a version was made in the time that is asked for; of copies that were read then, before its end."""
    for query in asked.graph.objects(version, "prov:wasGeneratedBy"):
        starts = asked.graph.objects(query, "prov:startedAtTime")
        if any(map(asked.is_by_then, starts)) if asked.name == UNMASKED_COPIES else asked.has_activity(query):
            return True
    return False


# --- what became of them ----------------------------------------------------------------------------------------------


class _Held:
    """Columns with data, each with versions that hold it. Look-ups are cached: each version is looked at once.
    ``tells_of_both``: also of a column that was dropped, if the one that has its name since is in the answer, too.
    """

    def __init__(self, graph: Lookups, held: Mapping[str, Collection[str]], *, tells_of_both: bool) -> None:
        self._graph, self._held, self._tells_of_both = graph, held, tells_of_both
        self._renames = cache(self._renames_of)
        self._drops = cache(lambda column: sorted(drops_of(graph, column)))
        self._replaced = cache(lambda thing: graph.replacements(thing, None))
        self._present = cache(self._present_of)
        self._table_now = cache(lambda thing, name: _has_name_now(graph, thing, name))
        self._ends = cache(self._ends_of)
        self._kept = {version for versions in held.values() for version in reachable(sorted(versions), self._next)}

    def sentences(self, column: str, thing: str, name: str, spelled: str) -> Iterator[tuple[int, str]]:
        """What to tell of a column that an answer has as ``spelled``, by the name ``name`` of its object; with 0 in
        front of what is gravest.
        """
        table = self._table_now(thing, name)
        if table is not None:
            namesakes = self._graph.columns_of(table.iri, (self._graph.text(column, "ah:matchName") or "",))
            if self._kept.isdisjoint(version for other in namesakes for version in self._versions(other)):
                has_it = f"another one has the name {table.name} since {table.since}"
                yield 0, f"{spelled} is of a former table, and {has_it}"
            return
        present, place = self._present(column), spelled.removesuffix(self._graph.label(column))
        for end in self._ends(column):
            other = present if present is not None and present.since >= end.left else None
            has_data = other is not None and other.version in self._kept
            text = f"{spelled} is called {place}{end.name} since {as_text(end.since)}"
            if not end.name:
                text = f"{spelled} was {'made anew' if end.is_recreated else 'dropped'} at {as_text(end.since)}"
            if other is not None and not has_data:
                yield 0, f"{text}, and another column has its name since {as_text(other.since)}"
            elif other is not None and (end.name or (self._tells_of_both and not end.is_recreated)):
                yield 1, f"{text}, and another column of the answer has its name since {as_text(other.since)}"
            elif end.name or not (end.is_recreated or has_data):
                yield 1, text

    def _ends_of(self, column: str) -> list[_End]:
        """What became of a column, once for each name that it has now: of several times, the last one."""
        ends, seen = dict[str, _End](), set[str]()
        for version in sorted(self._held[column], key=self._start):
            if version not in seen:
                chain = reachable([version], self._later)
                seen |= chain.keys()
                end = self._end_of(column, chain)
                if end is not None and end.name != self._graph.label(column):
                    ends[end.name] = end
        return list(ends.values())

    def _end_of(self, column: str, chain: Collection[str]) -> _End | None:
        """What became of a column after these versions of it, which follow each other; None if it still is there."""
        renames = [rename for version in chain for rename in self._renames(column).get(version, ())]
        if renames:
            since, new, version = min(renames)
            end = self._end_of(new, reachable([version], self._later))
            return _End(since, since, self._graph.label(new)) if end is None else end._replace(left=since)
        last = max(map(self._start, chain))
        dropped = [_End(time, time) for time in self._drops(column) if time >= last]
        things = self._graph.objects(column, "ah:columnOf")
        replaced = (time for thing in things for time in self._replaced(thing) if time > last)
        return min([*dropped, *(_End(time, time, is_recreated=True) for time in replaced)], default=None)

    def _renames_of(self, column: str) -> dict[str, list[tuple[datetime, str, str]]]:
        """The versions of a column after which it was renamed, each with the time, the column that it then was, and its
        first version.
        """
        renames = defaultdict[str, list[tuple[datetime, str, str]]](list)
        for new in self._graph.subjects("ah:renamedFrom", column):
            for version in self._versions(new):
                if not any(self._graph.derivations_of(version)):  # no query filled it
                    for former in self._graph.objects(version, "prov:wasDerivedFrom"):
                        renames[former].append((self._start(version), new, version))
        return renames

    def _present_of(self, column: str) -> _Present | None:
        """What has the name of a column at the end of the record, as far as rows show; None if nothing has."""
        last = max(self._versions(column), key=self._start, default=None)
        if last is None or self._end_of(column, [last]) is not None:
            return None
        before = reachable([last], lambda version: self._graph.objects(version, "ah:priorColumnVersion"))
        return _Present(last, min(map(self._start, before)))

    def _versions(self, column: str) -> Iterator[str]:
        return self._graph.subjects("prov:specializationOf", column)

    def _later(self, version: str) -> Iterator[str]:
        return self._graph.subjects("ah:priorColumnVersion", version)

    def _next(self, version: str) -> Iterator[str]:
        """The next versions of a column, also under another name."""
        columns = self._graph.objects(version, "prov:specializationOf")
        yield from self._later(version)
        yield from (made for column in columns for _, _, made in self._renames(column).get(version, ()))

    def _start(self, version: str) -> datetime:
        """When the query started that made a version; of one that was there before the record, before all times."""
        queries = self._graph.objects(version, "prov:wasGeneratedBy")
        times = (time for query in queries for time in self._graph.objects(query, "prov:startedAtTime"))
        return min(map(in_utc, times), default=EARLY)


def _has_name_now(graph: Lookups, thing: str, name: str) -> NameHolder | None:
    """The table or view that has a name which another object had; None if that one still has it, or nothing."""
    own = [holder for holder in graph.names_of(thing) if match_name(holder.name) == name]
    holders = [
        holder for holder in graph.holders(name) if holder.until is None and holder.domain.lower().endswith(_TABULAR)
    ]
    same = {thing, *graph.same_names(thing)}
    if not own or any(holder.iri in same for holder in holders):
        return None
    return next((holder for holder in reversed(holders) if holder.account == own[-1].account), None)
