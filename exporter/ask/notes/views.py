"""Notes on views and streams: what may be behind them, or over the objects that are asked for.

Questions follow a view or stream to the objects behind it only where that is certain (``ah:evidence``). The notes say
which objects are only possible, through chains of views, as of the time that was asked for; which views no row
explains; and which streams a row does not name.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from datetime import datetime
from functools import cache, partial
from typing import Final, NamedTuple

from exporter.ask.answers import Row, first_of
from exporter.ask.lookups import Lookups, NameHolder
from exporter.ask.notes.asked import MOST, Asked
from exporter.ask.notes.columns import known_as_wholes
from exporter.ask.notes.left_out import is_by_day
from exporter.ask.triples import EARLY, Solution, in_utc, iris, literals
from exporter.model.effects import CREATES
from exporter.model.identifiers import LOCATION_KIND, match_name
from exporter.model.views import UNKNOWN_STREAM
from exporter.system.reachable import reachable

UPWARD: Final = ("lineage-as-of", "root-cause")
_DOWNWARD: Final = {"end-up": "target_name", "downstream-users": "object_name"}
"""Questions, with the column of the answer that names what holds the data."""
_SHOWN: Final = 5
_DOMAINS: Final = ("View", "Stream")
OF_SOURCES_OF_VIEWS: Final = ("page-behind", "page-shows")
OF_VIEWS_OVER: Final = ("page-shown", "page-views")
"""Questions of the pages on what is behind a view, and on the views over an object."""
UNREAD: Final = "No query on record read "
UNREAD_OVER: Final = "Over the names of what is asked for or of what its data went to, and not in the answer"
"""How the notes begin on views that no query read since other objects got the names of what they read."""
_VIEW, _SOURCE = "ah:view", "ah:sourceObject"
_BY_TURNS: Final = (
    "Objects that had one name by turns, as with a swap and back, count as behind the view over it all the time."
)
_SOURCES: Final = """\
SELECT DISTINCT ?to ?evidence ?since ?until WHERE {
  VALUES ?from { @from@ }
  ?shown @term@ ?from ; @other@ ?to ; ah:evidence ?evidence .
  FILTER NOT EXISTS { ?shown ah:viewColumn ?column }
  OPTIONAL { ?shown ah:validFrom ?since }
  OPTIONAL { ?shown ah:validUntil ?until }
}
"""
_COLUMN_SOURCES: Final = """\
SELECT ?since ?until WHERE {
  VALUES ?view { @view@ }
  VALUES ?match_name { @column@ }
  ?column ah:columnOf ?view ; ah:matchName ?match_name .
  ?shown ah:viewColumn ?column ; ah:evidence "CERTAIN" .
  OPTIONAL { ?shown ah:validFrom ?since }
  OPTIONAL { ?shown ah:validUntil ?until }
}
"""
_NAMED: Final = """\
SELECT DISTINCT ?view ?name ?source ?since ?until WHERE {
  VALUES ?view { @view@ }
  ?shown ah:view ?view ; ah:sourceName ?name ; ah:sourceObject ?source .
  ?source ah:objectId ?id .
  FILTER NOT EXISTS { ?shown ah:viewColumn ?column }
  OPTIONAL { ?shown ah:validFrom ?since }
  OPTIONAL { ?shown ah:validUntil ?until }
}
"""
_UNKNOWN: Final = """\
SELECT DISTINCT ?query ?query_id ?time ?object WHERE {
  VALUES ?incomplete { @incomplete@ }
  ?query ah:incomplete ?incomplete ; prov:startedAtTime ?time .
  OPTIONAL { ?query ah:queryId ?query_id }
  { ?query prov:qualifiedUsage|ah:accessPattern ?access . ?access ah:accessedObject ?object }
  UNION { ?query ah:madeVersion ?version . ?version prov:specializationOf ?object }
}
"""


class _Period(NamedTuple):
    """What is asked for: definitions of views that were in force at some time in it. None: no limit."""

    since: datetime | None = None
    until: datetime | None = None

    def has(self, row: Solution) -> bool:
        """Whether a definition was in force from ``?since`` until ``?until``; each is empty for no limit."""
        begins_later = self.until and row["since"] and datetime.fromisoformat(row["since"]) > self.until
        ended = self.since and row["until"] and datetime.fromisoformat(row["until"]) <= self.since
        return not begins_later and not ended


class _Behind(NamedTuple):
    """The objects behind views, or the views over objects. ``certain``: those of the first step that are certain, which
    the answer has; ``possible``: all others, in any number of steps.
    """

    certain: set[str]
    possible: set[str]


def views_and_streams(asked: Asked) -> Iterator[str]:
    """Notes on a question about views, streams, or objects that may be behind some."""
    if "lineage" not in asked.question.needs:
        return
    period = _Period(min(asked.times("at", "since"), default=None), asked.until)
    if asked.name in UPWARD:
        yield from _upward(asked, period)
        yield from _ends_of_lineage(asked)
    elif asked.name in _DOWNWARD:
        yield from _downward(asked, period)
    yield from _unknown_streams(asked)


def read_by_former_names(asked: Asked) -> Iterator[str]:
    """Of the pages of a view, an object, and their lineage: notes on views that no query read since other objects got
    the names of what they read, as the questions on where data came from and went have them.
    """
    things = {*asked.asked_objects}
    if asked.name in OF_SOURCES_OF_VIEWS:
        period = _Period(asked.until, asked.until)
        for thing in sorted(things):
            yield from _unread_since(asked, thing, _reached(asked.graph, {thing}, _VIEW, period).certain)
    else:
        column = asked.answer.columns.index("object_iri")
        yield from _not_read_since(asked, things, {row[column] or "" for row in asked.answer.rows})


def over(graph: Lookups, thing: str, since: datetime | None = None) -> dict[str, bool]:
    """The views and streams over an object from a time on, in any number of steps, by index: each with whether every
    step of a way to it is certain. Those that are come first.
    """

    def further(end: str, evidences: Collection[str]) -> Iterator[str]:
        for shown in graph.subjects(_SOURCE, end):
            if _evidence(graph, shown, since) in evidences:
                yield from graph.objects(shown, _VIEW)

    certain = reachable([thing], lambda end: further(end, ("CERTAIN",)))
    possible = reachable([thing], lambda end: further(end, ("CERTAIN", "POSSIBLE")))
    return {
        view: view in certain
        for view in sorted(possible, key=lambda view: (view not in certain, view))
        if view != thing
    }


def with_over(asked: Asked, things: Collection[str]) -> set[str]:
    """These objects, and the views and streams that are certainly over them."""
    views_by_thing = (over(asked.graph, thing, asked.since) for thing in things)
    return {*things, *(view for views in views_by_thing for view, is_certain in views.items() if is_certain)}


def _evidence(graph: Lookups, shown: str, since: datetime | None) -> str | None:
    """How certain it is that an object is behind a view from a time on; None if it is no more. Where the definition
    ended, and no row shows what is behind the view later, it is possible.
    """
    until = graph.text(shown, "ah:validUntil")
    if until is None or since is None or in_utc(until) > since:
        return graph.text(shown, "ah:evidence")
    view_sources = {view_source for view in graph.objects(shown, _VIEW) for view_source in graph.subjects(_VIEW, view)}
    ends = [graph.text(view_source, "ah:validUntil") for view_source in view_sources]
    return None if any(end is None or in_utc(end) > in_utc(until) for end in ends) else "POSSIBLE"


def behind(asked: Asked, thing: str) -> str | None:
    """What rows show to be behind a view or stream at any time, as a sentence without its end; None if they do not."""
    views = _reached(asked.graph, {thing}, _VIEW, _Period())
    texts = [f"Behind it, as rows show: {_listed(asked, views.certain)}"] if views.certain else []
    texts += [f"Possibly behind it: {_listed(asked, views.possible)}"] if views.possible else []
    return f"{'. '.join(texts)}. Ask for these" if texts else None


def _upward(asked: Asked, period: _Period) -> Iterator[str]:
    """What is behind the views that are asked for, and their columns, beyond what the answer has."""
    graph = asked.graph
    for thing in sorted(asked.things):
        domain = graph.text(thing, "ah:domain") or ""
        if domain not in _DOMAINS or not _had_name_then(asked, thing):
            continue
        views, name = _reached(graph, {thing}, _VIEW, period), asked.label(thing)
        if not views.certain and not views.possible:
            yield f"{name}: no row shows what is behind this {domain.lower()}. Its data may come from anywhere."
            continue
        yield from _unread_since(asked, thing, views.certain)
        if turns := _by_turns(graph, {thing}, period).get(thing):
            yield f"{_BY_TURNS} The answer has what came to each of them: {name} over {_listed(asked, turns)}."
        columns = [match_name(column) for column in (asked.values("column_name") if views.certain else ())]
        yield from _shown_of_some(asked, thing, columns, views.certain)
        unknown = [column for column in columns if not _shows_column(graph, thing, column, period)]
        of_other_form = [column for column in unknown if _other_form_shows(graph, thing, column, period)]
        if of_other_form:
            spelled = ", ".join(graph.spelled(thing, of_other_form))
            yield (
                f"Rows give {name} with an id and without, and show of one of them alone what is behind its column "
                f"{spelled}. The answer lacks what came to the same column of what is behind the "
                f"other: {_listed(asked, views.certain)}."
            )
        if of_none := [column for column in unknown if column not in of_other_form]:
            yield (
                f"Rows show what is behind {name} ({_listed(asked, views.certain)}), but not what is behind its column "
                f"{', '.join(graph.spelled(thing, of_none))}: the answer lacks that."
            )
        if views.possible:
            yield (
                f"Possibly also behind {name}, and not in the answer: {_listed(asked, views.possible)}. "
                "Only queries that read it together with others show this."
            )


def _last_read(asked: Asked, thing: str) -> datetime:
    """When an object was read last, by the time that is asked for."""
    until = asked.until
    return max((time for time in asked.graph.read_times(thing) if until is None or time <= until), default=EARLY)


def _replaced_since(asked: Asked, source: str, last: datetime) -> NameHolder | None:
    """What has the name that an object behind a view had, since a time after ``last``, the last read of the view; None
    if nothing has. A view reads by name, and only a read of it shows what it reads.
    """
    graph, until = asked.graph, asked.until
    former = graph.names_of(source)
    names = {match_name(holder.name): holder.account for holder in former} if former else {}
    present = [holder for name in names for holder in graph.holders(name) if holder.account == names[name]]
    then = [holder for holder in present if (holder.until is None if until is None else holder.holds(until))]
    if any(holder.iri == source for holder in then):
        return None
    return next((holder for holder in then if in_utc(holder.since) > last), None)


def _unread_since(asked: Asked, view: str, sources: Collection[str]) -> Iterator[str]:
    """A note on a view over objects that were made anew since its last read."""
    last = _last_read(asked, view)
    holders = (_replaced_since(asked, source, last) for source in sources)
    replacements = {holder for holder in holders if holder and holder.iri not in sources}
    texts = [
        f"{holder.name} (another object since {holder.since})"
        for holder in sorted(replacements, key=lambda holder: holder.name)
    ]
    if texts:
        yield (
            f"{UNREAD}{asked.label(view)} since other objects got the names of what it reads: "
            f"{first_of(texts, _SHOWN)}. The answer has the former ones alone. Ask for these names with the same time."
        )


def _shown_of_some(asked: Asked, view: str, columns: Collection[str], certain: Collection[str]) -> Iterator[str]:
    """A note on objects behind a view of which no row shows that its columns come from them, though it does of others
    of the same name: rows show columns only where what was read was written.
    """
    graph = asked.graph
    shown_things = {
        graph.text(source, "ah:columnOf") or ""
        for column in graph.columns_of(view, set(columns))
        for shown in graph.subjects("ah:viewColumn", column)
        for source in graph.objects(shown, "ah:sourceColumn")
    }
    names = {match_name(holder.name) for thing in shown_things for holder in graph.names_of(thing)}
    same_names = {
        thing
        for thing in certain
        for named in graph.names_of(thing)
        if match_name(named.name) in names and (asked.until is None or named.holds(asked.until))
    }
    if columns and (missing := same_names - shown_things):
        spelled = ", ".join(graph.spelled(view, columns))
        yield (
            f"What {asked.label(view)} reads was made anew, and rows show what is behind its column "
            f"{spelled} only at times when a query wrote what it read. The answer lacks what came from "
            f"these objects of the same name: {_listed(asked, missing)}. lineage-as-of of the view, with a time of "
            "each, has where they came from."
        )


def _ends_of_lineage(asked: Asked) -> Iterator[str]:
    """A note on the views and streams of the answer of which no row shows what is behind them: where it ends."""
    graph = asked.graph
    place = asked.answer.columns.index("source_object_name")
    names = {name for row in graph.at_most(asked.answer.rows, MOST) if (name := row[place])}
    things = {holder.iri for name in names for holder in graph.holders(name) if holder.domain in _DOMAINS}
    ends = {
        thing
        for thing in things & asked.followed - set(asked.things)
        if not any(any(graph.objects(shown, _SOURCE)) for shown in graph.subjects(_VIEW, thing))
    }
    if ends:
        yield (
            f"No row shows what is behind these views and streams of the answer: {_listed(asked, ends)}. What they "
            "show may come from anywhere."
        )


def _had_name_then(asked: Asked, thing: str) -> bool:
    """Whether an object had a name that is asked for at the time ``at``; true where either is not given."""
    names, times = asked.match_names(), asked.times("at")
    holders = asked.graph.names_of(thing) if names and times else []
    return not (names and times) or any(
        match_name(holder.name) in names and any(map(holder.holds, times)) for holder in holders
    )


def _shows_column(graph: Lookups, view: str, column: str, period: _Period) -> bool:
    """Whether a source of this column of a view is certain. ``column``: as it is matched."""
    return any(map(period.has, graph.select(_COLUMN_SOURCES, view=iris([view]), column=literals([column]))))


def _other_form_shows(graph: Lookups, view: str, column: str, period: _Period) -> bool:
    """As :func:`_shows_column`, of the same view as rows give it in the other form, with an id or without."""
    return any(_shows_column(graph, other, column, period) for other in graph.same_names(view))


def _downward(asked: Asked, period: _Period) -> Iterator[str]:
    """What else holds the data of what is asked for: a note on each of the things, one on what the data went to, and
    one on views that the answer does not follow.
    """
    graph, things = asked.graph, set(asked.things)
    answered = _answered(asked, asked.answer.rows)
    yield from _not_read_since(asked, things | asked.followed, answered)
    yield from _over_recreated(asked)
    noted = set[str]()
    for thing in sorted(things):
        possible = _reached(graph, {thing}, _SOURCE, period).possible - answered
        noted |= possible
        if possible:
            yield (
                f"Possibly over {asked.label(thing)}, and followed only where it is certain: "
                f"{_listed(asked, possible)}. Only queries that read these together with others show this."
            )
    possible = _reached(graph, answered - things, _SOURCE, period).possible - answered - noted - things
    if possible:
        yield (
            "Possibly over what the data went to, and followed only where it is certain: "
            f"{_listed(asked, possible)}. Only queries that read these together with others show this."
        )
    if asked.name != "end-up":
        return
    by, column = (asked.answer.columns.index(name) for name in ("known_by", "target_column_name"))
    rows = (row for row in asked.answer.rows if row[by] == "OBJECT" and row[column] is None)
    # What the data went to before the time that is asked for is not in the answer, but views may be read later.
    whole = _answered(asked, rows) | (known_as_wholes(asked) if asked.since else set())
    if is_by_day(graph):
        # A view is in the answer only where a query that also wrote or was cut read it.
        if over := _not_followed(asked, things | answered | whole, answered, period):
            yield (
                f"Over what was asked for or what its data went to, and not in the answer: {_listed(asked, over)}. "
                "Reads by day do not say which of them went through a view or stream, so the answer lacks these, and "
                "shares that open them (exposure has the shares). downstream-users has who reads these."
            )
    elif over := _not_followed(asked, whole, answered, period):
        yield (
            f"Over what the data went to, and not in the answer: {_listed(asked, over)}. These are over "
            "objects of which only the whole is known (known_by OBJECT), and data is not followed on from there. "
            "downstream-users has who reads these."
        )


def _not_read_since(asked: Asked, things: Collection[str], answered: Collection[str]) -> Iterator[str]:
    """A note on views over what had the name of one of these objects before, and that no query has read since."""
    graph, texts, last_read = asked.graph, set[str](), cache(partial(_last_read, asked))
    names = {(holder.name, holder.account) for thing in things for holder in graph.names_of(thing)}
    former = {holder.iri for name, account in names for holder in graph.holders(name) if holder.account == account}
    for source in sorted(former.difference(things)):
        for view, is_certain in over(graph, source).items():
            replacement = (
                _replaced_since(asked, source, last_read(view)) if is_certain and view not in answered else None
            )
            if replacement and replacement.iri in things:
                texts.add(f"{asked.label(view)} (over {replacement.name}, another object since {replacement.since})")
    if texts:
        yield (
            f"{UNREAD_OVER}, since no query on record read them after other objects got these names: "
            f"{first_of(sorted(texts), _SHOWN)}."
        )


def _over_recreated(asked: Asked) -> Iterator[str]:
    """Notes on views over objects that lost the data, or the name: those without an id that were made anew or had a
    name several times, and count as the same, and those that had a name by turns.
    """
    graph, texts = asked.graph, set[str]()
    over_each = {
        source: [view for view, is_certain in over(graph, source, asked.since).items() if is_certain]
        for source in sorted(asked.followed)
    }
    for source, views in over_each.items():
        begin = asked.lineage.begins.get(source)
        changes = [change for change in graph.subjects("ah:changedObject", source) if views]
        times = [
            time
            for change in changes
            if any(operation in CREATES for operation in graph.objects(change, "ah:operation"))
            for time in graph.objects(change, "prov:startedAtTime")
            if begin is None or in_utc(time) > in_utc(begin)
        ]
        has_id = graph.text(source, "ah:objectId") is not None
        names = Counter(match_name(holder.name) for holder in graph.names_of(source) if views and not has_id)
        if times or any(count > 1 for count in names.values()):
            how = f"made anew {min(times, key=in_utc)}" if times else "had the name several times"
            texts |= {f"{asked.label(view)} over {asked.label(source)} ({how})" for view in views}
    if texts:
        yield (
            "Rows do not say which of the objects that had a name a view over it read, if they give no id, or if one "
            "had the name several times. Readers of these views, and the views, may be in the answer though what they "
            "read was another object by then, or be missing: "
            f"{first_of(sorted(texts), _SHOWN)}."
        )
    if asked.name == "downstream-users" and not is_by_day(graph):
        return  # the row of each read says which one it read
    turns = _by_turns(graph, {view for views in over_each.values() for view in views}, _Period(asked.since))
    shown = {
        f"{asked.label(view)} over {asked.label(source)}"
        for source, views in over_each.items()
        for view in views
        if source in turns.get(view, ())
    }
    if shown:
        yield (
            f"{_BY_TURNS} The answer may have these views, their readers, and shares that open them, for a time when "
            f"they showed another one: {first_of(sorted(shown), _SHOWN)}."
        )


def _by_turns(graph: Lookups, views: Collection[str], period: _Period) -> dict[str, set[str]]:
    """Views -> the objects behind them that had one name by turns, as with a swap and back, or a drop and its undoing:
    of these the graph does not tell when each was behind the view.
    """
    sources_by_name: dict[tuple[str | None, ...], set[str]] = {}
    for row in graph.select(_NAMED, view=iris(views)) if views else ():
        if period.has(row):
            key = (row["view"], match_name(row["name"] or ""), row["since"], row["until"])
            sources_by_name.setdefault(key, set()).add(row["source"])
    turns: dict[str, set[str]] = {}
    for (view, *_), sources in sources_by_name.items():
        if len(sources) > 1:
            turns.setdefault(view or "", set()).update(sources)
    return turns


def _not_followed(asked: Asked, starts: Collection[str], answered: Collection[str], period: _Period) -> set[str]:
    """The views that are certainly over these objects, and not in the answer; with a time, those that were read then,
    as those in the answer.
    """
    over, has_time = _reached(asked.graph, starts, _SOURCE, period).certain, bool(asked.since or asked.until)
    return {view for view in over.difference(answered) if not has_time or _is_read_then(asked, view)}


def _is_read_then(asked: Asked, thing: str) -> bool:
    accesses = asked.graph.subjects("ah:accessedObject", thing)
    return any(asked.has_activity(read) for access in accesses for read in asked.graph.reads_with(access))


def _answered(asked: Asked, rows: Iterable[Row]) -> set[str]:
    """The objects in the rows of the same accounts that have a name in these rows of the answer."""
    accounts = {account for thing in asked.things for account in _accounts_of(asked.graph, thing)}
    column = asked.answer.columns.index(_DOWNWARD[asked.name])
    names = {name for row in asked.graph.at_most(rows, MOST) if (name := row[column])}
    holders = (holder for name in names for holder in asked.graph.holders(name))
    return {holder.iri for holder in holders if holder.row_account in accounts}


def _accounts_of(graph: Lookups, thing: str) -> set[str]:
    """The accounts of the rows that name an object; a location has no name, and may be in the rows of several."""
    of_names = {holder.row_account for holder in graph.names_of(thing)}
    states = graph.subjects("prov:specializationOf", thing) if not of_names else ()
    return of_names | {state.partition(f"/{LOCATION_KIND}/")[0] for state in states}


def _reached(graph: Lookups, starts: Collection[str], term: str, period: _Period) -> _Behind:
    """All that chains of views lead to. ``term``: the end of a source at which the starts are."""
    certain, reached, fresh = set[str](), set[str](), set(starts)
    other = _SOURCE if term == _VIEW else _VIEW
    while fresh:
        sources = graph.select(_SOURCES, **{"from": iris(fresh)}, term=term, other=other)
        ends = [row for row in sources if period.has(row)]
        if fresh == set(starts):
            certain = {row["to"] for row in ends if row["evidence"] == "CERTAIN"}
        fresh = {row["to"] for row in ends} - reached - set(starts)
        reached |= fresh
    return _Behind(certain, reached - certain)


def _unknown_streams(asked: Asked) -> Iterator[str]:
    """A note on queries that read or write what is asked for, or are in the answer, and whose rows name a stream by
    ``$SYS_VIEW_<number>`` alone, so that it is unknown (``docs/input.md``).
    """
    cells = {cell for row in asked.graph.at_most(asked.answer.rows, MOST) for cell in row if cell}
    places = (f"{column} {UNKNOWN_STREAM}" for column in ("direct_objects_accessed", "objects_modified"))
    ident_by_query = {
        row["query"]: row["query_id"]
        for row in asked.graph.select(_UNKNOWN, incomplete=literals(places))
        if asked.has(datetime.fromisoformat(row["time"]))
        and (asked.is_about(row["object"]) or row["query_id"] in cells)
    }
    if ident_by_query:
        idents = sorted(filter(None, ident_by_query.values()))
        more = f" and {len(ident_by_query) - _SHOWN} more" if len(ident_by_query) > _SHOWN else ""
        yield (
            "Rows name a stream by $SYS_VIEW_<number> alone: which stream that is, is "
            f"not known, and the answer may lack what went through it: {', '.join(idents[:_SHOWN])}{more}."
        )


def _listed(asked: Asked, things: set[str]) -> str:
    """Names, each once, with how many of the objects have it if several."""
    counts = sorted(Counter(map(asked.label, things)).items())
    return first_of([name if count == 1 else f"{name} ({count} objects)" for name, count in counts], _SHOWN)
