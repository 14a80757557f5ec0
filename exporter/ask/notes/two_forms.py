"""Notes on objects that rows give in two forms, each of which is known by itself: with an id and without, and the stage
of a table (``@%T``) as such and as a stage with the id and name of the table.

Where data went through the one form, or ended in it, and rows say of the other what the answer would have, the answer
is short.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator
from datetime import datetime
from typing import Final, NamedTuple

from exporter.ask.answers import first_of
from exporter.ask.lookups import SAME_NAME, Lookups
from exporter.ask.notes.asked import FOLLOWING, FOLLOWING_ALL, MOST, UNMASKED_COPIES, Asked
from exporter.ask.notes.changes_without_id import OF_ALL
from exporter.ask.notes.columns import copies_of, filled_as_wholes, starts_of_copies
from exporter.ask.notes.left_out import is_by_day
from exporter.ask.triples import EARLY, LATE, Solution, in_utc
from exporter.system.reachable import reachable

WITH_AND_WITHOUT_ID: Final = "with an id and without: what they say of one is not known of the other"
_OF_READERS: Final = (
    *("column-readers", "columns-accessed", "downstream-users", "page-readers", "when-accessed", "who-accessed"),
    UNMASKED_COPIES,
)
_OF_WRITES: Final = ("page-writes", "writers")
_OF_WRITERS: Final = ("column-lineage", *_OF_WRITES)
"""Questions about the reads of objects, and about what was written to one."""
_END_UP: Final = "end-up"
_NEW_READER: Final = "new reader"
_SHOWN: Final = 5
_LOOKED_AT: Final = 10_000
"""How many nodes a note looks at, at most."""
_TWICE: Final = """\
SELECT DISTINCT ?nameless ?thing ?name WHERE {
  ?nameless ah:sameNameAs ?thing ; rdfs:label ?name .
  FILTER(EXISTS { ?access ah:accessedObject ?nameless } || EXISTS { ?version prov:specializationOf ?nameless }
    || EXISTS { ?enforcement ah:protectedObject ?nameless }@granted@)
}
ORDER BY ?name
"""
_OF_GRANTS: Final = (_END_UP, "exposure")
_IS_GRANTED: Final = " || EXISTS { ?grant ah:grantedObject|ah:grantee ?nameless }"


def with_and_without_id(asked: Asked) -> Iterator[str]:
    """What rows give with an id and without: for an empty answer that follows data, is about all objects, or asks by
    id, and for pages that follow data, whose answers have what they begin at. Of an answer that has rows, or asks by
    name, what the other form would add to it; of grants, what was granted in the other form alone (``shares`` has this
    of ``end-up``).
    """
    has_rows, of_grants = bool(asked.answer.rows) and not asked.is_of_page, asked.name in _OF_GRANTS
    # A question by name has both forms of what had this name, and not what had other names of it.
    is_split = asked.name in FOLLOWING | OF_ALL or bool(asked.values("object_id"))
    if not (is_split or asked.asked_objects) or not asked.graph.has_mixed_ids():
        return
    if (has_rows or not is_split) and asked.name != "exposure":
        yield from _of_short_answer(asked)
        return
    about = {*asked.asked_objects, *asked.followed}
    rows = list(asked.graph.select(_TWICE, granted=_IS_GRANTED if of_grants else ""))
    if has_rows:
        rows = [row for row in rows if _lacks_grants(asked, row, _with_grantees(asked, about))]
    names = [row["name"] for row in rows if has_rows or not about or about & {row["nameless"], row["thing"]}]
    if names:
        yield _in_words(names)


def _in_words(names: Iterable[str]) -> str:
    given = first_of(list(dict.fromkeys(names)), _SHOWN)
    return f"Rows give {given} {WITH_AND_WITHOUT_ID}, though it may be the same."


def _with_grantees(asked: Asked, about: Iterable[str]) -> Collection[str]:
    """These objects, and the shares and roles that they were granted to."""

    def further(thing: str) -> list[str]:
        grants = asked.graph.subjects("ah:grantedObject", thing)
        return [grantee for grant in grants for grantee in asked.graph.objects(grant, "ah:grantee")]

    return reachable(about, further)


def _lacks_grants(asked: Asked, row: Solution, has: Collection[str]) -> bool:
    """Whether an answer has one form of an object, and not what was granted in the other: if it is about all objects,
    what those have who have the one.
    """
    forms = row["nameless"], row["thing"]
    return any(
        any(asked.graph.subjects("ah:grantedObject", other))
        and (form in has and other not in has if has else any(asked.graph.subjects("ah:grantee", form)))
        for form, other in (forms, forms[::-1])
    )


def _of_short_answer(asked: Asked) -> Iterator[str]:
    """The note on an answer that has rows, where the other form of what it is about would add to it."""
    names = {
        asked.label(thing if asked.graph.text(thing, "ah:objectId") is None else other)
        for thing, other in _adding(asked, Lookups.same_names)
    }
    if names:
        yield _in_words(sorted(names))


def stages_of_tables_as_others(asked: Asked) -> Iterator[str]:
    """A note on stages of tables that rows also give as stages with the same id and name, where the answer has one of
    the two: a row that has such a stage as the source of a column need not say that it is the stage of a table.
    """
    graph, texts = asked.graph, set[str]()
    for _, other in _adding(asked, Lookups.same_stages) if asked.name not in FOLLOWING_ALL else ():
        ident, domain = (graph.text(other, term) or "" for term in ("ah:objectId", "ah:domain"))
        texts.add(f"{asked.label(other)} ({asked.by_id(ident, domain)})")
    if texts:
        yield (
            "Rows give the stage of a table (@%) also as a stage of its own, with the same id and name, though it may "
            "be the same: what they say of one is not known of the other. Ask for "
            f"{first_of(sorted(texts), _SHOWN)}, too."
        )


# --- what the other form would add ------------------------------------------------------------------------------------


class Place(NamedTuple):
    """An object that an answer is about, or that its data went through. ``columns``: as they are compared, those that
    it is about, none for the whole; ``times``: when the data came there, or, of an answer about where data came from,
    when it was read there.
    """

    thing: str
    columns: Collection[str]
    times: Collection[datetime]


def _adding(asked: Asked, forms: Callable[[Lookups, str], Collection[str]]) -> Iterator[tuple[str, str]]:
    """The objects that an answer is about, or that its data went through, each with another form of it of which rows
    say what the answer would have, and does not have: each other form once. ``forms``: gives those of an object.
    """
    graph = asked.graph
    if asked.name in FOLLOWING_ALL:
        places = [place for place in _holders_of_copies(asked) if forms(graph, place.thing)]
    elif asked.name in FOLLOWING:
        things = {*asked.lineage.things, *asked.lineage.asked_things}
        places = [followed(asked, thing) for thing in sorted(things) if forms(graph, thing)]
    else:
        columns = asked.match_names("column_name")
        places = [Place(thing, columns, [EARLY]) for thing in sorted(asked.asked_objects)]
    # Very many objects with an id, such as tables of each night, may be one without: it is told once.
    done = {*asked.asked_objects, *asked.followed}
    for place in places:
        for other in sorted({*forms(graph, place.thing)} - done):
            if _adds(asked, place, other):
                done.add(other)
                yield place.thing, other


def followed(asked: Asked, thing: str) -> Place:
    """An object that data went through."""
    graph, lineage = asked.graph, asked.lineage
    versions = lineage.columns or set()
    columns = {
        graph.text(column, "ah:matchName") or ""
        for column in (graph.columns_of(thing) if versions else ())
        if not versions.isdisjoint(graph.subjects("prov:specializationOf", column))
    }
    times = set[datetime]()
    for state in graph.subjects("prov:specializationOf", thing):
        if state in lineage.states:
            times.update(_left(asked, state) if lineage.is_up else made_at(graph, state))
    if thing in lineage.asked_things:
        times.add((asked.until or LATE) if lineage.is_up else EARLY)
    return Place(thing, columns, times)


def _holders_of_copies(asked: Asked) -> Iterator[Place]:
    """What holds the data of all columns that an answer follows."""
    graph, starts = asked.graph, starts_of_copies(asked)
    columns, times = defaultdict[str, set[str]](set), defaultdict[str, set[datetime]](set)
    first = {version for column in starts for version in graph.subjects("prov:specializationOf", column)}
    held = [(column, EARLY) for column in starts]
    for version in graph.at_most(copies_of(graph, first), _LOOKED_AT):
        for column in graph.objects(version, "prov:specializationOf") if version not in first else ():
            held += [(column, time) for time in made_at(graph, asked.lineage.whole(version))]
    for column, time in held:
        for thing in graph.objects(column, "ah:columnOf"):
            columns[thing].add(graph.text(column, "ah:matchName") or "")
            times[thing].add(time)
    return (Place(thing, columns[thing], times[thing]) for thing in sorted(times))


def made_at(graph: Lookups, state: str) -> list[datetime]:
    """When the query started that made a version; of one that was there before the first row, the earliest time."""
    makers = graph.objects(state, "prov:wasGeneratedBy")
    return [in_utc(time) for query in makers for time in graph.objects(query, "prov:startedAtTime")] or [EARLY]


def _left(asked: Asked, state: str) -> list[datetime]:
    """When the queries started by which the data of an answer came from a version; of one that the answer begins at,
    the time that is asked for.
    """
    graph, reached = asked.graph, asked.lineage.states
    made = (version for version in graph.subjects("prov:wasDerivedFrom", state) if version in reached)
    return [time for version in made for time in made_at(graph, version)] or [asked.until or LATE]


def _adds(asked: Asked, place: Place, other: str) -> bool:
    """Whether rows say of the other form of an object what the answer would have, as far as it may be this object: by
    its name alone an object with an id is meant while it has that name.
    """
    graph, is_up = asked.graph, _is_up(asked)
    uses = list(graph.at_most(_uses(asked, place, other), _LOOKED_AT))
    if not uses or not place.times:
        return False
    is_nameless = graph.text(place.thing, "ah:objectId") is None
    with_id, nameless = (other, place.thing) if is_nameless else (place.thing, other)
    # The times of the rows without an id, as far as they are after the others, or before them.
    if is_nameless:
        times = [own for own in place.times if (own >= min(uses) if is_up else own <= max(uses))]
    else:
        times = [use for use in uses if (use <= max(place.times) if is_up else use >= min(place.times))]
    is_stage = graph.text(nameless, "ah:objectId") is not None
    return bool(times) and (is_stage or any(has_name(graph, with_id, nameless, time) for time in times))


def _is_up(asked: Asked) -> bool:
    """Whether an answer is about where data came from."""
    return asked.name in FOLLOWING and asked.name not in FOLLOWING_ALL and asked.lineage.is_up


def has_name(graph: Lookups, thing: str, nameless: str, time: datetime) -> bool:
    """Whether an object has the name of one without an id at a time. What no row makes had its first name before the
    first row that gives it.
    """
    keys = {holder.key for holder in graph.names_of(nameless)}
    return any(
        holder.key in keys
        and (holder.holds(time) or (number == 0 and time < in_utc(holder.since) and not graph.is_made(holder)))
        for number, holder in enumerate(graph.names_of(thing))
    )


def _uses(asked: Asked, place: Place, other: str) -> Iterator[datetime]:
    """When rows have of the other form of an object what an answer would have of it."""
    graph, is_following = asked.graph, asked.name in FOLLOWING
    columns = set(reachable(graph.columns_of(other, place.columns), graph.renamed_columns)) if place.columns else None
    if asked.name in _OF_READERS:
        yield from (time for time in _read(asked, other, columns) if asked.has(time))
    is_up = asked.name in _OF_WRITERS or _is_up(asked)
    is_stage = (graph.text(other, "ah:domain") or "").endswith("Stage")
    if not is_up and not is_following and not (is_stage and asked.name in _OF_READERS):
        return
    states = [
        state
        for part in ([other] if columns is None else columns)
        for state in graph.subjects("prov:specializationOf", part)
    ]
    if not is_up:
        states = [made for state in states for made in graph.subjects("prov:wasDerivedFrom", state)]
    elif asked.name not in _OF_WRITES:
        states = [state for state in states if _is_filled(graph, state)]
    if asked.name == _END_UP:
        yield from filter(asked.has, _read_through_views(graph, other, columns))
        states += filled_as_wholes(graph, other, columns) if columns else ()
    for state in states:
        for time in made_at(graph, graph.text(state, "dcterms:isPartOf") or state):
            is_meant = asked.until is None or time <= asked.until if is_following else asked.has(time)
            if time != EARLY and is_meant:
                yield time


def _is_filled(graph: Lookups, state: str) -> bool:
    """Whether rows say from what a version of an object or column was filled: of a stage or file, they name no column
    and of a column no version.
    """
    return any(graph.objects(state, "prov:wasDerivedFrom")) or any(graph.derivations_of(state))


def _read_through_views(graph: Lookups, thing: str, columns: Collection[str] | None) -> Iterator[datetime]:
    """When an object, or these columns of it, was read through a view or stream that is certainly over it. Reads by day
    do not say what was read through a view: then when the view was read.
    """
    shown = (
        shown for shown in graph.subjects("ah:sourceObject", thing) if graph.text(shown, "ah:evidence") == "CERTAIN"
    )
    views = {view for view_source in shown for view in graph.objects(view_source, "ah:view")}
    if is_by_day(graph):
        yield from (time for view in sorted(views) for time in graph.read_times(view))
        return
    for access in graph.subjects("ah:accessedObject", thing) if views else ():
        if columns is None or not {*columns}.isdisjoint(graph.objects(access, "ah:readColumn")):
            for read in graph.reads_with(access):
                accessed = (
                    one for other in graph.accesses_of(read) for one in graph.objects(other, "ah:accessedObject")
                )
                if not views.isdisjoint(accessed):
                    yield from graph.starts_of(read)


def _read(asked: Asked, thing: str, columns: Collection[str] | None) -> Iterator[datetime]:
    """When an object, or these columns of it, was read; for a question about reads without a mask, by queries that
    enforced none on it.
    """
    graph = asked.graph
    for access in graph.subjects("ah:accessedObject", thing):
        if columns is None or not {*columns}.isdisjoint(graph.objects(access, "ah:readColumn")):
            for read in graph.reads_with(access):
                masks = (mask for mask in graph.objects(read, "ah:enforced") if graph.is_mask(mask))
                masked = {owner for mask in masks for owner in graph.objects(mask, "ah:protectedObject")}
                if asked.name != UNMASKED_COPIES or thing not in masked:
                    yield from graph.starts_of(read)


# --- new readers ------------------------------------------------------------------------------------------------------


def new_readers_by_name(asked: Asked) -> Iterator[str]:
    """A note on readers that are new to what has the name alone, and had read an object with an id that has this name
    since.
    """
    graph, texts = asked.graph, set[str]()
    rows = graph.at_most(asked.answer.dicts(), MOST) if graph.has_mixed_ids() else iter(())
    for row in rows:
        query = row["query_id"] if row["change"] == _NEW_READER else None
        for read in graph.with_text("ah:queryId", query) if query else ():
            time = in_utc(row["query_start_time"] or "")
            users = set(graph.objects(read, "prov:wasAssociatedWith"))
            for nameless in {holder.iri for holder in graph.holders(row["object_name"] or "") if not holder.ident}:
                if any(nameless in graph.objects(access, "ah:accessedObject") for access in graph.accesses_of(read)):
                    texts.update(
                        f"{row['user_name']} had read {asked.label(thing)} ({graph.names_of(thing)[0].thing})"
                        for thing in graph.objects(nameless, SAME_NAME)
                        if has_name(graph, thing, nameless, time)
                        and any(graph.once(_first_reads, thing).get(user, time) < time for user in users)
                    )
    if texts:
        yield (
            "Rows that give no id of what was read have new readers, who may not be new: "
            f"{first_of(sorted(texts), _SHOWN)} before, also under another name."
        )


def _first_reads(graph: Lookups, thing: str) -> dict[str, datetime]:
    """Who read an object, and when first."""
    first = dict[str, datetime]()
    for access in graph.subjects("ah:accessedObject", thing):
        for read in graph.reads_with(access):
            for user in graph.objects(read, "prov:wasAssociatedWith"):
                first[user] = min([*graph.starts_of(read), *([first[user]] if user in first else [])])
    return first
