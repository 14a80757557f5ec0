"""Notes on sources of columns: of queries that read one object and wrote another, some rows give no source of any
column, or none behind the columns of a view over shared data.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from typing import Final, NamedTuple

from exporter.ask.answers import first_of
from exporter.ask.lookups import Lookups
from exporter.ask.notes.asked import Asked, queries_in_words
from exporter.ask.notes.mask_periods import columns_with_masks
from exporter.ask.triples import LATE, in_utc
from exporter.model.identifiers import match_name
from exporter.system.reachable import reachable

_SHOWN: Final = 3
_COLUMN_LINEAGE, _TAG_REACH, _UNMASKED_COPIES = "column-lineage", "tag-reach", "unmasked-copies"
_UP_BY_COLUMN: Final = (_COLUMN_LINEAGE, "root-cause", "page-column-up", "page-column-up-at")
OF_COLUMN_LINEAGE: Final = (*_UP_BY_COLUMN, "column-copies", "page-column-down", _TAG_REACH, _UNMASKED_COPIES)
"""Questions that follow columns alone."""
_SET_ON: Final = {
    _TAG_REACH: {"ah:TagSetting": "ah:settingOn"},
    _UNMASKED_COPIES: {"ah:PolicySetting": "ah:settingOn", "ah:PolicyEnforcement": "ah:protectedObject"},
}
_INTO_ITSELF: Final = (
    " What is asked for is in no answer of its own end-up: what it got from itself ({}) may be in any column of it."
)
NOT_BY_COLUMN: Final = "do not say which column came from which"
"""The part of a note that says that an answer may lack what rows do not give by column."""
_NO_PLACES_OF_DATA: Final = ("Function", "Procedure", "Sequence")
"""Ends of the kinds of objects that queries name without columns, and that no data comes from."""
_COPIED: Final = ("prov:wasDerivedFrom", "ah:priorColumnVersion")
_LOOKED_AT: Final = 10_000
"""How many nodes a note looks at, at most."""


def without_column_sources(asked: Asked) -> Iterator[str]:
    """For answers that follow columns: queries that wrote on the way of the data, and whose rows do not say which
    column came from which, as where they give no columns of what was written, or of what was read.
    """
    is_down = asked.name not in _UP_BY_COLUMN
    things = {object_of(asked.graph, thing) for thing in asked.asked_objects} or _set_things(asked)
    queries, own = dict[str, bool](), set[str]()
    for made, thing in _without_sources_down(asked) if is_down else _without_sources_up(asked):
        for query in asked.graph.objects(made, "prov:wasGeneratedBy"):
            if asked.has_activity(query) or (asked.name == _UNMASKED_COPIES and _is_by_then(asked, query)):
                queries[query] = queries.get(query, False) or thing not in things
                if is_down and thing in things and _is_into_itself(asked.graph, made, thing, query):
                    own.add(query)
    if queries:
        into_itself = _INTO_ITSELF.format(queries_in_words(asked.graph, own)) if own else ""
        yield (
            f"Rows of queries that {_actions_in_words(asked, is_further=any(queries.values()))} {NOT_BY_COLUMN}: "
            f"{queries_in_words(asked.graph, queries)}. The answer cannot have these; end-up and lineage-as-of follow "
            f"whole objects.{into_itself}"
        )


def into_itself(asked: Asked) -> Iterator[str]:
    """For an ``end-up`` of a column: what its table got from itself, which the answer does not have."""
    things = {object_of(asked.graph, thing) for thing in asked.asked_objects}
    own = {
        query
        for made, thing in (_without_sources_down(asked) if asked.values("column_name") else ())
        for query in asked.graph.objects(made, "prov:wasGeneratedBy")
        if thing in things and asked.has_activity(query) and _is_into_itself(asked.graph, made, thing, query)
    }
    if own:
        yield (
            f"Rows of queries that read what is asked for and wrote it {NOT_BY_COLUMN}: "
            f"{queries_in_words(asked.graph, own)}. The data may be in any other column of it since: the answer has "
            "what was written from these, and not these."
        )


def _is_into_itself(graph: Lookups, made: str, thing: str, query: str) -> bool:
    """Whether a query wrote the object that it read, or made it anew under its name."""
    time = graph.text(query, "prov:startedAtTime") or ""
    name = match_name(graph.name_at(thing, time))
    return any(
        written == thing or match_name(graph.name_at(written, time)) == name
        for written in graph.objects(made, "prov:specializationOf")
    )


def _actions_in_words(asked: Asked, *, is_further: bool) -> str:
    """What such queries did. ``is_further``: also at a further step of the way."""
    if asked.name in _UP_BY_COLUMN:
        return f"wrote what is asked for{', or what its data came from,' if is_further else ''}"
    return f"read what is asked for{', or copies of it,' if is_further else ''} and wrote it or other objects"


def _is_by_then(asked: Asked, query: str) -> bool:
    return any(map(asked.is_by_then, asked.graph.objects(query, "prov:startedAtTime")))


def _without_sources_up(asked: Asked) -> Iterator[tuple[str, str]]:
    """The versions that the data may have come through, and that were filled with what rows do not give by column; each
    with its object.
    """
    graph, names = asked.graph, asked.match_names("column_name")
    reached = (None if asked.name == _COLUMN_LINEAGE else asked.lineage.columns) or set()
    for made in graph.at_most(wholes_behind(asked, reached), _LOOKED_AT):
        parts = list(graph.subjects("dcterms:isPartOf", made))
        if reached:
            meant = [part for part in parts if part in reached]
        else:
            meant = [part for part in parts if not names or names & _names_of_column(graph, part)]
        thing = graph.text(made, "prov:specializationOf") or ""
        sources = [  # what a DELETE reads of its own table fills no column
            source
            for source in graph.objects(made, "prov:wasDerivedFrom")
            if thing not in graph.objects(source, "prov:specializationOf") or _is_no_delete(graph, made)
        ]
        is_of_others = bool(parts and asked.answer.rows and not meant)  # writes other columns alone
        lacks_all_sources = not is_of_others and not any(_has_source(graph, part) for part in parts)
        lacks_a_source = not all(_has_source(graph, part) for part in meant)
        if sources and (lacks_all_sources or (lacks_a_source and _reads_a_whole(graph, made, sources))):
            yield made, thing


def wholes_behind(asked: Asked, columns: Iterable[str]) -> Iterable[str]:
    """The versions of objects that the data may have been in: those of which versions of columns are a part, those that
    were read for them, and those before.
    """
    graph = asked.graph
    wholes = {asked.lineage.whole(part) for part in graph.at_most(sorted(columns), _LOOKED_AT)}
    held = {thing for whole in wholes for thing in graph.objects(whole, "prov:specializationOf")}
    read = {state for whole in wholes for state in graph.objects(whole, "prov:wasDerivedFrom")}
    wholes.update(state for state in read if not held.isdisjoint(graph.objects(state, "prov:specializationOf")))
    if not wholes or not asked.values("at"):  # also what was there before it was made anew or emptied
        things = (object_of(graph, thing) for thing in sorted(asked.asked_objects))
        wholes.update(state for thing in things for state in graph.subjects("prov:specializationOf", thing))
    return reachable(sorted(wholes), lambda version: graph.objects(version, "ah:priorVersion"))


def _without_sources_down(asked: Asked) -> Iterator[tuple[str, str]]:
    """The versions that were filled from objects with the data, and of which rows do not say it by column; each with
    the object that was read, or that is only a source.
    """
    holders = _holders(asked.graph, starts_of_copies(asked))
    for made, thing, read, has_source in _filled(asked.graph, holders):
        if not any(has_source) or not (read or all(has_source)):
            yield made, thing
    yield from _whole_sources(asked.graph, holders)


def whole_sources(asked: Asked) -> Iterator[str]:
    """For an ``end-up``, which begins at what queries read: objects that rows have as a source alone, without a column
    (beyond the documents, "Sources in directSources that are missing from direct_objects_accessed").
    """
    graph, holders = asked.graph, _holders(asked.graph, starts_of_copies(asked))
    for thing in sorted(asked.asked_objects - set(holders)):
        holders[thing] = set(), set(graph.subjects("prov:specializationOf", thing))
    sources, targets, queries = set[str](), set[str](), set[str]()
    for made, thing in _whole_sources(graph, holders):
        for query in filter(asked.has_activity, graph.objects(made, "prov:wasGeneratedBy")):
            queries.add(query)
            sources.add(asked.label(thing))
            targets.update(map(asked.label, graph.objects(made, "prov:specializationOf")))
    if queries:
        yield (
            f"Rows have {first_of(sorted(sources), _SHOWN)} as a source of what queries wrote, without a column, and "
            f"not among what they read: {queries_in_words(graph, queries)}. The answer does not follow these. Ask "
            f"end-up of what they wrote, too: {first_of(sorted(targets), _SHOWN)}."
        )


def _whole_sources(graph: Lookups, holders: _Holders) -> Iterator[tuple[str, str]]:
    """The versions that were filled from these objects by queries whose rows name them only as a source, without a
    column; each with the source.
    """
    for thing, (_, states) in sorted(holders.items()):
        versions = reachable(sorted(states), lambda version: graph.subjects("ah:priorVersion", version))
        filled = (made for state in versions for made in graph.subjects("prov:wasDerivedFrom", state))
        for made in dict.fromkeys(graph.at_most(filled, _LOOKED_AT)):
            parts = graph.subjects("dcterms:isPartOf", made)
            derivations = (derivation for part in parts for derivation in graph.derivations_of(part))
            is_whole = any(
                thing in graph.objects(derivation, "ah:sourceObject")
                and not any(graph.objects(derivation, "ah:sourceColumn"))
                for derivation in derivations
            )
            if is_whole and thing not in _columns_read(graph, made):
                yield made, thing


def known_as_wholes(asked: Asked) -> set[str]:
    """The objects that an ``end-up`` of any time until the one that is asked for knows as a whole (``known_by``)."""
    graph, starts = asked.graph, set(asked.asked_objects)
    holders = _holders(graph, starts_of_copies(asked))
    for thing in starts - set(holders) if not asked.values("column_name") else ():  # which has no columns
        holders[thing] = set(), set(graph.subjects("prov:specializationOf", thing))
    filled = _filled(graph, holders, with_sources=True)
    first = {made for made, _, read, has_source in filled if not read or not any(has_source)}

    def further(state: str) -> Iterator[str]:
        return (other for term in ("prov:wasDerivedFrom", "ah:priorVersion") for other in graph.subjects(term, state))

    return {
        thing
        for state in graph.at_most(reachable(sorted(first), further), _LOOKED_AT)
        if any(_is_by_then(asked, query) for query in graph.objects(state, "prov:wasGeneratedBy"))
        for thing in graph.objects(state, "prov:specializationOf")
    } - starts


class _Filled(NamedTuple):
    """A version that was filled by a query that read an object with data that is followed. ``read``: the columns of it
    that its rows list; ``has_source``: of each column of the version, whether rows give a source of it.
    """

    made: str
    thing: str
    read: set[str]
    has_source: list[bool]


_Holders = dict[str, tuple[set[str], set[str]]]
"""Object -> its columns with data that is followed, and its versions that hold it first."""


def _filled(graph: Lookups, holders: _Holders, *, with_sources: bool = False) -> Iterator[_Filled]:
    """What other objects were filled with by queries that read these columns, or of whose reads rows list no columns.
    ``with_sources``: also where rows give sources of all that was filled.
    """
    for thing, (columns, states) in sorted(holders.items()):
        versions = reachable(sorted(states), lambda version: graph.subjects("ah:priorVersion", version))
        filled = (made for state in versions for made in graph.subjects("prov:wasDerivedFrom", state))
        for made in dict.fromkeys(graph.at_most(filled, _LOOKED_AT)):
            has_source = [_has_source(graph, part) for part in graph.subjects("dcterms:isPartOf", made)]
            is_left_out = bool(has_source) and all(has_source) and not with_sources
            is_own = graph.text(made, "prov:specializationOf") == thing
            if is_left_out or (is_own and not _is_no_delete(graph, made)):
                continue
            read = _columns_read(graph, made).get(thing)
            if read is not None and (not read or not columns.isdisjoint(read)):
                yield _Filled(made, thing, read, has_source)


def filled_as_wholes(graph: Lookups, thing: str, columns: Collection[str]) -> list[str]:
    """The versions of objects that were filled by queries that read these columns of one, or of whose reads rows list
    no columns, where rows do not give a source of all that was filled.
    """
    holders = {thing: ({*columns}, set(graph.subjects("prov:specializationOf", thing)))}
    return [filled.made for filled in _filled(graph, holders)]


def _holders(graph: Lookups, starts: Iterable[str]) -> _Holders:
    """What holds the data of columns, after any number of copies."""
    holders: _Holders = defaultdict(lambda: (set(), set()))
    first = set[str]()
    for column in starts:
        first.update(graph.subjects("prov:specializationOf", column))
        for thing in graph.objects(column, "ah:columnOf"):
            holders[thing][0].add(column)
            holders[thing][1].update(graph.subjects("prov:specializationOf", thing))
    for part in graph.at_most(copies_of(graph, first), _LOOKED_AT):
        for column in graph.objects(part, "prov:specializationOf"):
            for thing in graph.objects(column, "ah:columnOf"):
                holders[thing][0].add(column)
                holders[thing][1].update(graph.objects(part, "dcterms:isPartOf"))
    return holders


def copies_of(graph: Lookups, versions: Iterable[str]) -> Iterable[str]:
    """These versions of columns, and those that were filled from them, directly or by further copies."""

    def filled(version: str) -> Iterator[str]:
        return (other for term in _COPIED for other in graph.subjects(term, version))

    return reachable(sorted(versions), filled)


def starts_of_copies(asked: Asked) -> set[str]:
    """The columns whose data is followed downward."""
    graph = asked.graph
    if asked.name == _TAG_REACH:
        return _tagged_columns(asked)
    if asked.name == _UNMASKED_COPIES:
        return set(columns_with_masks(graph))
    names = asked.match_names("column_name")
    return {
        column for thing in asked.asked_objects for column in graph.columns_of(object_of(asked.graph, thing), names)
    }


def _tagged_columns(asked: Asked) -> set[str]:
    """The columns that have a tag at the time that is asked for, of those that are."""
    graph, names, times = asked.graph, asked.match_names("tag_name"), asked.times("at") or [LATE]
    columns = set[str]()
    for setting in graph.of_class("ah:TagSetting"):
        since, until = graph.text(setting, "ah:validFrom"), graph.text(setting, "ah:validUntil")
        tags = graph.objects(setting, "ah:elementObject")
        is_meant = not names or any(match_name(holder.name) in names for tag in tags for holder in graph.names_of(tag))
        holds = since is not None and any(
            in_utc(since) <= time and (until is None or time < in_utc(until)) for time in times
        )
        if is_meant and holds:
            columns.update(graph.objects(setting, "ah:onColumn"))
    return columns


def _names_of_column(graph: Lookups, part: str) -> set[str]:
    """The names, as they are compared, of the column that a version is one of."""
    columns = graph.objects(part, "prov:specializationOf")
    return {name for column in columns for name in graph.objects(column, "ah:matchName")}


def _reads_a_whole(graph: Lookups, made: str, sources: Iterable[str]) -> bool:
    """Whether a version was filled from something of which the rows of its query list no columns."""
    read = _columns_read(graph, made)
    things = {thing for state in sources for thing in graph.objects(state, "prov:specializationOf")}
    return any(
        read.get(thing) == set() and not (graph.text(thing, "ah:domain") or "").endswith(_NO_PLACES_OF_DATA)
        for thing in things
    )


def _columns_read(graph: Lookups, made: str) -> dict[str, set[str]]:
    """What the query that made a version read, each with the columns that its rows list."""
    columns = defaultdict[str, set[str]](set)
    for query in graph.objects(made, "prov:wasGeneratedBy"):
        for access in graph.accesses_of(query):
            for thing in graph.objects(access, "ah:accessedObject"):
                columns[thing].update(graph.objects(access, "ah:readColumn"))
    return dict(columns)


def _is_no_delete(graph: Lookups, made: str) -> bool:
    """Whether QUERY_HISTORY says what made a version. What a DELETE left has no sources then."""
    return any(graph.text(query, "ah:queryType") for query in graph.objects(made, "prov:wasGeneratedBy"))


def _has_source(graph: Lookups, part: str) -> bool:
    """Whether rows give a source of a version of a column."""
    return any(graph.objects(part, "prov:wasDerivedFrom"))


def through_shared_views(asked: Asked) -> Iterator[str]:
    """For answers that follow columns: those that were filled from columns of a view over shared data, of which rows
    give no source behind the view (view, "Data sharing notes").
    """
    if asked.name == "column-lineage":
        return
    graph, is_up = asked.graph, asked.name in _UP_BY_COLUMN
    things = {object_of(graph, thing) for thing in asked.asked_objects or _set_things(asked)}
    parts = sorted(asked.lineage.columns or ()) if is_up else _filled_over(graph, things)
    label = asked.label
    routes = {
        f"{label(thing)} to {label(graph.text(whole, 'prov:specializationOf') or whole)}": query
        for part in graph.at_most(parts, _LOOKED_AT)
        for whole in graph.objects(part, "dcterms:isPartOf")
        for thing in sorted(_shared_behind(graph, part, whole))
        if is_up or thing in things
        for query in graph.objects(whole, "prov:wasGeneratedBy")
        if asked.has_activity(query)
    }
    if routes:
        yield (
            "Rows do not say what is behind the columns of a view over shared data. So the answer cannot have what "
            f"came through one: {first_of(sorted(routes), _SHOWN)} ({queries_in_words(graph, set(routes.values()))}). "
            f"{'lineage-as-of' if is_up else 'end-up'} follows whole objects."
        )


def _filled_over(graph: Lookups, things: Iterable[str]) -> Iterator[str]:
    """The versions of columns that were filled from views over those of these objects that are shared."""
    shows = (
        view_source
        for thing in things
        if _is_shared(graph, thing)
        for view_source in graph.subjects("ah:sourceObject", thing)
    )
    views = {view for view_source in graph.at_most(shows, _LOOKED_AT) for view in graph.objects(view_source, "ah:view")}
    for view in sorted(views):
        for derivation in graph.subjects("ah:sourceObject", view):
            yield from graph.objects(derivation, "ah:targetColumnVersion")
            yield from graph.subjects("ah:derivationPattern", derivation)


def _shared_behind(graph: Lookups, part: str, whole: str) -> set[str]:
    """The shared objects behind the views of whose columns a version of a column was filled; none if rows give what is
    behind these columns. Shared is what is of another account, and a view that is behind another one.
    """
    derivations = graph.derivations_of(part)
    if any("BASE" in graph.objects(derivation, "ah:sourceType") for derivation in derivations):
        return set()
    views = {view for derivation in derivations for view in graph.objects(derivation, "ah:sourceObject")}
    behind = {thing for view in views for shows in graph.subjects("ah:view", view)
              if "CERTAIN" in graph.objects(shows, "ah:evidence")
              for thing in graph.objects(shows, "ah:sourceObject")}  # fmt: skip
    used = {thing for state in graph.objects(whole, "prov:wasDerivedFrom")
            for thing in graph.objects(state, "prov:specializationOf")}  # fmt: skip
    return {thing for thing in (behind & used) - views if _is_shared(graph, thing)}


def _is_shared(graph: Lookups, thing: str) -> bool:
    return graph.is_of_other(thing) or graph.text(thing, "ah:domain") == "View"


def object_of(graph: Lookups, thing: str) -> str:
    """The object that a page is about, which asks for a column of it, too."""
    return graph.text(thing, "ah:columnOf") or thing


def _set_things(asked: Asked) -> set[str]:
    """The objects that have tags or policies, of a question that is about these."""
    places = (
        (node, place) for name, place in _SET_ON.get(asked.name, {}).items() for node in asked.graph.of_class(name)
    )
    return {
        thing for node, place in asked.graph.at_most(places, _LOOKED_AT) for thing in asked.graph.objects(node, place)
    }
