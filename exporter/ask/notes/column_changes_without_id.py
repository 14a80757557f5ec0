"""Notes on columns that rows rename, drop or add without an id of the table, where other rows give one.

Such a change counts for what is known by that name alone. The table with the id keeps its columns as they were: their
data, tags and policies stay under the former name, and go on after a DROP.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Final, NamedTuple

from exporter.ask.answers import first_of
from exporter.ask.lookups import SAME_NAME, Lookups, NameHolder
from exporter.ask.notes.asked import MOST, TAG_REACH, UNMASKED_COPIES, UNMASKED_READS, Asked
from exporter.ask.notes.column_names import COUNTED_BY_NAME, drops_of
from exporter.ask.notes.columns import copies_of, object_of, starts_of_copies
from exporter.ask.notes.mask_periods import Held, masks_of
from exporter.ask.notes.settings_without_id import SET_BY
from exporter.ask.triples import EARLY, LATE, in_utc
from exporter.graph.terms import full
from exporter.model.identifiers import match_name

_COLUMN_LINEAGE: Final = "column-lineage"
_UP: Final = ("root-cause", "page-column-up", "page-column-up-at")
_DOWN: Final = ("column-copies", "end-up", "page-column-down", TAG_REACH, UNMASKED_COPIES)
OF_COLUMNS: Final = (*_UP, *_DOWN, *SET_BY, _COLUMN_LINEAGE, "column-readers")
"""Questions whose answers depend on which column had a name when."""
_ADD, _DROP = "ADD", "DROP"
_SHOWN: Final = 5
_LOOKED_AT: Final = 10_000
"""How many nodes the note looks at, at most."""


class _Change(NamedTuple):
    """A RENAME, DROP or ADD of a column, by a row without the id of its table. ``thing``: the table with an id that had
    the name then; ``name``, ``new``: the column's, as they are compared, ``new`` empty unless it was renamed;
    ``new_as_written``: as the row has it.
    """

    time: datetime
    thing: str
    name: str
    new: str
    new_as_written: str
    operation: str
    text: str

    @property
    def names(self) -> set[str]:
        return {self.name, self.new} - {""}


def column_changes(asked: Asked) -> Iterator[str]:
    """A note on changes of columns that the answer does not count, though they may be about a column of it."""
    changes = [change for change, is_concerned in _with_concern(asked) if is_concerned]
    if not changes:
        return
    texts = list(dict.fromkeys(change.text for change in sorted(changes)))
    more = f" and {len(texts) - _SHOWN} more before" if len(texts) > _SHOWN else ""
    objects = sorted({asked.graph.names_of(change.thing)[0].thing for change in changes})
    yield (
        f"By rows that give no id of the object, {', '.join(texts[-_SHOWN:])}{more}. The answer does not count this "
        f"for {first_of(objects, _SHOWN)}, which had such a name then, though it may be about "
        f"{'it' if len(objects) == 1 else 'them'}: it has these columns, with their data, tags and policies, as if "
        f"that had not been done.{_to_ask(asked, changes)}"
    )


def with_changed_columns(asked: Asked) -> set[str]:
    """The objects that are asked for whose columns rows without an id may have changed, as far as the answer is about
    that.
    """
    return {change.thing for change, is_concerned in _with_concern(asked) if is_concerned} & set(asked.things)


def _to_ask(asked: Asked, changes: Iterable[_Change]) -> str:
    names = asked.match_names("column_name") if asked.name in COUNTED_BY_NAME else set[str]()
    own = [change for change in changes if change.thing in asked.asked_objects and change.new and names & change.names]
    spelled = {change.name: change.name for change in own} | {change.new: change.new_as_written for change in own}
    others = sorted(text for name, text in spelled.items() if name not in names)
    return f" Ask for {first_of([f'column_name={name}' for name in others], _SHOWN)}, too." if others else ""


def _with_concern(asked: Asked) -> Iterator[tuple[_Change, bool]]:
    """The changes until the time that is asked for, each with whether the answer is about what it may have changed."""
    graph = asked.graph
    changes = [
        change
        for change in graph.at_most(_changes(graph), _LOOKED_AT)
        if (asked.until is None or change.time <= asked.until) and any(graph.columns_of(change.thing, change.names))
    ]
    if changes:
        concerns = [concern for concern in (_of_settings(asked), _of_data(asked), _of_names(asked)) if concern]
        yield from ((change, any(concern(change) for concern in concerns)) for change in changes)


# --- the changes ------------------------------------------------------------------------------------------------------


def _changes(graph: Lookups) -> Iterator[_Change]:
    for nameless in dict.fromkeys(graph.having(SAME_NAME)):
        settings = [setting for setting in graph.subjects("ah:settingOn", nameless) if _operation(graph, setting)]
        holders = _holders(graph, nameless) if settings else []
        starts = [in_utc(holder.since) for holder in holders]
        for setting in settings:
            for change in graph.subjects("ah:hasSetting", setting):
                for time in map(in_utc, graph.objects(change, "prov:startedAtTime")):
                    # The latest one: by its name, a temporary table is meant while there is one.
                    holder = holders[place - 1] if (place := bisect_right(starts, time)) else None
                    if holder is not None and holder.holds(time):
                        yield _change(graph, setting, change, time, holder)


def _holders(graph: Lookups, nameless: str) -> list[NameHolder]:
    """The objects with an id that had the name of one without, in order."""
    things = {thing for thing in graph.objects(nameless, SAME_NAME) if graph.text(thing, "ah:objectId")}
    names = {holder.key: holder.name for holder in graph.names_of(nameless)}
    return [
        holder
        for name in names.values()
        for holder in graph.holders(name)
        if holder.iri in things and holder.key in names
    ]


def _operation(graph: Lookups, setting: str) -> str:
    """What a row does to a column; empty for anything else."""
    if graph.text(setting, "ah:onColumn") is None:
        return ""
    property_name = graph.text(setting, "ah:property")
    if property_name == "objectName":
        return "RENAME" if graph.text(setting, "ah:value") else ""
    operation = graph.text(setting, "ah:subOperation") if property_name == "columns" else None
    return operation if operation in {_ADD, _DROP} else ""


def _change(graph: Lookups, setting: str, change: str, time: datetime, holder: NameHolder) -> _Change:
    name, operation = graph.label(graph.text(setting, "ah:onColumn") or ""), _operation(graph, setting)
    new = (graph.text(setting, "ah:value") or "") if operation == "RENAME" else ""
    done = {_ADD: "added", _DROP: "dropped"}.get(operation, f"renamed to {new}")
    idents = (graph.text(query, "ah:queryId") for query in graph.objects(change, "dcterms:isPartOf"))
    query = next((f"query {ident}, " for ident in idents if ident), "")
    text = f"the column {name} of {holder.name} was {done} ({query}{graph.text(change, 'prov:startedAtTime')})"
    return _Change(time, holder.iri, match_name(name), match_name(new), new, operation, text)


# --- which answers they concern ---------------------------------------------------------------------------------------

_Concern = Callable[[_Change], bool]
"""Whether an answer is about what a change may have changed."""


def _of_settings(asked: Asked) -> _Concern | None:
    """Of questions about tags and policies: those of a renamed or dropped column, if the answer is about their time."""
    if asked.name not in SET_BY:
        return None
    names = asked.match_names("column_name")

    def concerns(change: _Change) -> bool:
        is_asked = not asked.asked_objects or change.thing in asked.asked_objects
        if change.operation == _ADD or not is_asked or (names and not names & change.names):
            return False
        if asked.name == UNMASKED_READS:
            return _is_used_otherwise(asked, change, _reads_in_clear)
        if asked.name == UNMASKED_COPIES:
            return _is_used_otherwise(asked, change, _copies)
        own = [change.name] if asked.name != "tag-history" else sorted(change.names)
        return any(
            held.since <= change.time < held.until or len(own) > 1
            for name in own
            for held in _set_on(asked, change.thing, name)
        ) and (asked.name != TAG_REACH or _is_copied(asked, change))

    return concerns


def _set_on(asked: Asked, thing: str, name: str) -> Iterator[Held]:
    """The tags and policies that rows set on a column, of the kinds that the question is about; and its masks."""
    graph, classes = asked.graph, {full(kind) for kind in SET_BY[asked.name].split()}
    for column in graph.columns_of(thing, (name,)):
        for setting in graph.subjects("ah:onColumn", column):
            since, until = graph.text(setting, "ah:validFrom"), graph.text(setting, "ah:validUntil")
            if since and not classes.isdisjoint(graph.objects(setting, "rdf:type")):
                end = in_utc(until) if until else LATE
                yield Held(in_utc(since), end, end)
    if "ah:PolicySetting" in SET_BY[asked.name]:
        yield from masks_of(graph, thing).get(name, ())


_Uses = Callable[[Asked, str, Iterable[str]], Iterator[datetime]]


def _is_used_otherwise(asked: Asked, change: _Change, uses: _Uses) -> bool:
    """Whether a column that was masked by then was used later, by its former name or the new one; or one that is masked
    by its new name was used by its former one before.
    """
    graph, masks = asked.graph, masks_of(asked.graph, change.thing)
    own, new = (graph.columns_of(change.thing, (name,)) if name else [] for name in (change.name, change.new))
    if any(held.since <= change.time for held in masks.get(change.name, ())):
        return any(time >= change.time for time in uses(asked, change.thing, [*own, *new]))
    return bool(masks.get(change.new)) and any(time <= change.time for time in uses(asked, change.thing, own))


def _reads_in_clear(asked: Asked, thing: str, columns: Iterable[str]) -> Iterator[datetime]:
    """When these columns were read in the time that is asked for by queries that enforced no mask on their object."""
    graph = asked.graph
    for access in (access for column in columns for access in graph.subjects("ah:readColumn", column)):
        for read in graph.reads_with(access):
            masks = (mask for mask in graph.objects(read, "ah:enforced") if graph.is_mask(mask))
            if not any(thing in graph.objects(mask, "ah:protectedObject") for mask in masks):
                yield from (time for time in graph.starts_of(read) if asked.has(time))


def _copies(asked: Asked, _: str, columns: Iterable[str]) -> Iterator[datetime]:
    """When something was filled from these columns."""
    graph = asked.graph
    for column in columns:
        for version in graph.subjects("prov:specializationOf", column):
            for made in graph.subjects("prov:wasDerivedFrom", version):
                yield from _made(graph, made)


def _is_copied(asked: Asked, change: _Change) -> bool:
    """Whether anything was filled from a column: before, too, since one that was dropped is in no answer any more."""
    columns = [column for name in change.names for column in asked.graph.columns_of(change.thing, (name,))]
    return any(_copies(asked, change.thing, columns))


def _of_data(asked: Asked) -> _Concern | None:
    """Of questions that follow the data of columns: a change on its way, after it came there; of one about where data
    came from, before it was read there under the new name.
    """
    if asked.name in _DOWN:
        starts = starts_of_copies(asked)
        held = _first_times(asked.graph, starts)
    elif asked.name in _UP:
        starts = set[str]()
        held = _last_times(asked)
    else:
        return None
    asked_columns = _asked_columns(asked)

    def concerns(change: _Change) -> bool:
        own, new = (
            [column for column in asked.graph.columns_of(change.thing, (name,)) if column in held] if name else []
            for name in (change.name, change.new)
        )
        if change.operation == _ADD and not _was_dropped(asked.graph, own, change.time):
            return False
        if not asked_columns.isdisjoint((*own, *new)):  # of a RENAME: unless both are asked for
            return not change.new or not (own and new and {*own, *new} <= asked_columns)
        if asked.name in _DOWN:
            return any(held[column] <= change.time for column in own if column not in starts)
        is_filled = bool(new) and _is_filled(asked.graph, asked.graph.columns_of(change.thing, (change.name,)))
        return bool(own) or (is_filled and any(held[column] >= change.time for column in new))

    return concerns


def _asked_columns(asked: Asked) -> set[str]:
    """The columns that are asked for by their names."""
    names, graph = asked.match_names("column_name"), asked.graph
    things = (object_of(graph, thing) for thing in (asked.asked_objects if names else ()))
    return {column for thing in things for column in graph.columns_of(thing, names)}


def _was_dropped(graph: Lookups, columns: Iterable[str], by: datetime) -> bool:
    return any(time <= by for column in columns for time in drops_of(graph, column))


def _is_filled(graph: Lookups, columns: Iterable[str]) -> bool:
    """Whether a query wrote any of these columns."""
    versions = (version for column in columns for version in graph.subjects("prov:specializationOf", column))
    return any(_made(graph, version) for version in versions)


def _first_times(graph: Lookups, starts: Collection[str]) -> Mapping[str, datetime]:
    """The columns that hold the data of ``starts``, each with when it came there first."""
    first = {version for column in starts for version in graph.subjects("prov:specializationOf", column)}
    held = dict.fromkeys(starts, EARLY)
    for version in graph.at_most(copies_of(graph, first), _LOOKED_AT):
        for column in graph.objects(version, "prov:specializationOf"):
            held[column] = min([*_made(graph, version), held.get(column, LATE)])
    return held


def _last_times(asked: Asked) -> Mapping[str, datetime]:
    """The columns that the data of an answer came from, each with when it was read there last."""
    graph, reached = asked.graph, asked.lineage.columns or set()
    held = defaultdict[str, datetime](lambda: EARLY)
    for version in sorted(reached):
        made = (other for other in graph.subjects("prov:wasDerivedFrom", version) if other in reached)
        times = [time for other in made for time in _made(graph, other)]
        for column in graph.objects(version, "prov:specializationOf"):
            held[column] = max([held[column], *times])
    return held


def _made(graph: Lookups, version: str) -> Sequence[datetime]:
    """When the queries started that made a version."""
    queries = graph.objects(version, "prov:wasGeneratedBy")
    return [in_utc(time) for query in queries for time in graph.objects(query, "prov:startedAtTime")]


def _of_names(asked: Asked) -> _Concern | None:
    """Of questions whose answers have columns by the names of their time: a column that is asked for, or answered."""
    graph, names = asked.graph, asked.match_names("column_name")
    if asked.name == _COLUMN_LINEAGE:
        rows = list(graph.at_most(asked.answer.dicts(), MOST))
        answered = {
            (match_name(row[f"{end}_object_name"] or ""), match_name(row[f"{end}_column_name"] or ""))
            for row in rows
            for end in ("source", "target")
        }

        def is_answered(change: _Change) -> bool:
            own = {match_name(holder.name) for holder in graph.names_of(change.thing)}
            return change.operation != _ADD and any((name, change.name) in answered for name in own)

        return is_answered
    if asked.name != "column-readers":
        return None

    def is_asked(change: _Change) -> bool:
        is_meant = change.operation != _ADD and change.thing in asked.asked_objects and bool(names & change.names)
        others = change.names - names or {change.name}
        columns = [column for name in others for column in graph.columns_of(change.thing, (name,))]
        is_whole = bool(change.new) and change.names <= names
        return is_meant and not is_whole and any(any(graph.subjects("ah:readColumn", column)) for column in columns)

    return is_asked
