"""Notes on what came with a CLONE or LIKE, and no row lists.

- Questions and pages that follow data: what a CLONE of a schema or database brought. Its row names the two, and not the
  objects in them: which table came from which is inferred from their names, and not known where the source was not on
  record. And what came with a CLONE or LIKE of a table whose row gives the source as a property alone. They are about
  all objects that the data went through. Questions that show single steps have the note on inferred ones, too.
- Questions about tags, policies and grants: what is set on a clone from the beginning.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from datetime import datetime
from functools import cached_property
from typing import Final, NamedTuple

from exporter.ask.answers import first_of
from exporter.ask.container_history import CloneStep, ContainerHistory, ContainerStatement, clone_rows, renamed
from exporter.ask.lookups import Lookups, NameHolder
from exporter.ask.notes.asked import CHANGES, FOLLOWING, MOST, Asked
from exporter.ask.parameters import as_text
from exporter.ask.triples import EARLY, MOMENT, Solution, in_utc, iris
from exporter.input.properties import is_of_source, read
from exporter.model.identifiers import match_name

_SHOWN: Final = 5
OF_SETTINGS: Final = ("policy-coverage", "exposure", "tag-reach", "unmasked-copies", "unmasked-reads")
"""Questions about tags, policies and grants: a clone can have them without a row that sets them."""
_OF_STEPS: Final = (
    *(CHANGES, "column-lineage", "writers"),
    *("page-near", "page-query-derivations", "page-query-writes", "page-writes"),
)
"""Questions that show single steps, or who made them."""
_DIRECT: Final = " No row names their columns: DIRECT is the column of the same name."
INFERRED: Final = "Inferred from names, as the row of a CLONE does not list what was in the schema or database"
NO_STEP: Final = "No row lists what was in it, so the answer has no step"
NOT_SAID: Final = "Its row does not say what came with it, so the answer has no step"
"""Parts of the notes on questions that follow data."""
_INFERRED: Final = """\
SELECT DISTINCT ?made ?change ?target ?time ?state ?from WHERE {
  @made@
  ?made ah:inferredFrom ?change ; ah:objectName ?target ; prov:wasDerivedFrom ?state .
  ?change prov:startedAtTime ?time .
  OPTIONAL { ?made ^dcterms:isPartOf/prov:wasDerivedFrom ?from }
}
ORDER BY ?time ?target
"""
"""The tables that a CLONE brought, as is inferred. ``?time``: when the statement started, as in the rows of answers.
``?state``, ``?from``: the versions of the table and of the column
that was copied.
"""
_BEGINNINGS: Final = """\
SELECT DISTINCT ?state WHERE {
  ?state a @class@ .
  FILTER NOT EXISTS { ?state prov:wasDerivedFrom|ah:priorVersion|ah:priorColumnVersion ?before }
}
"""
"""The states in which the first row found objects or columns, and of which nothing says where they came from."""
_MADE: Final = """\
SELECT DISTINCT ?made ?change ?target ?source ?time ?has_data ?has_columns WHERE {
  ?change ah:madeFromName ?source ; ah:changedObject ?made ; ah:objectName ?target ; prov:startedAtTime ?time ;
    dcterms:isPartOf ?query .
  ?made ah:domain ?domain .
  FILTER(?domain NOT IN ("Schema", "Database"))
  BIND(EXISTS {
    ?version prov:specializationOf ?made ; prov:wasGeneratedBy ?query ; prov:wasDerivedFrom ?state
  } AS ?has_data)
  BIND(EXISTS {
    ?column ah:columnOf ?made .
    ?column_version prov:specializationOf ?column ; prov:wasGeneratedBy ?query ; prov:wasDerivedFrom ?column_state
  } AS ?has_columns)
}
ORDER BY ?time ?target ?source
"""
"""What was made by CLONE or LIKE of a single object, and whether the graph has the step for data and for columns."""


_Periods = dict[str, list[tuple[datetime, datetime | None]]]
"""Objects, each with from when until when; None: no end."""


class _Gap(NamedTuple):
    """A step through a CLONE that the answer lacks. ``thing``: what came by it, empty where it is not on record.
    ``column``: the column that lacks the step, empty for the whole object.
    """

    step: CloneStep
    account: str
    thing: str = ""
    column: str = ""


def clones(asked: Asked) -> Iterator[str]:
    """Notes on what was made by CLONE or LIKE: inferred and missing steps of data, and what is set on it."""
    if asked.name in FOLLOWING:
        made = made_by_clones(asked.graph)
        if made or any(statement.source for history in asked.containers.values() for statement in history.statements):
            steps = _Steps(asked)
            yield from _inferred(asked, _with_sources(steps.inferred(), asked.containers))
            yield from _missing(asked, steps)
            yield from _made(asked, made, steps.periods)
    if asked.is_bridged:
        yield from _ends(asked)
    if asked.name in _OF_STEPS and asked.answer.rows and asked.graph.is_used("ah:inferredFrom"):
        shown = [*_with_sources(_shown(asked), asked.containers)]
        for note in _inferred(asked, shown):
            yield note + (_DIRECT if asked.name == "column-lineage" else "") + _only_by_id(asked, shown)
    if asked.times("at") and asked.match_names() and asked.graph.is_used("ah:inferredFrom"):
        yield from _before_its_name(asked)
    if asked.name in OF_SETTINGS:
        yield from _brought(asked)


# --- steps through a CLONE of a schema or database --------------------------------------------------------------------


class _Steps:
    """The steps through a CLONE on the way of an answer."""

    def __init__(self, asked: Asked) -> None:
        self._asked, self._graph, self._lineage, self._histories = asked, asked.graph, asked.lineage, asked.containers

    def inferred(self) -> list[Solution]:
        """The steps through a CLONE that are inferred."""
        return [
            row
            for row in _every_inferred(self._graph)
            if self._lineage.is_of_all
            or (row["made"] in self._lineage.states and (self._lineage.is_up or self._is_followed(row)))
        ]

    def _is_followed(self, row: Solution) -> bool:
        """Whether data is followed through an inferred step down."""
        if self._lineage.is_from_reads and self._lineage.thing(row["state"]) in self._lineage.asked_things:
            return False  # its first step is a query that reads the asked object, and no CLONE does
        return row["state"] in self._lineage.states or row["from"] in (self._lineage.columns or ())

    def gaps(self) -> Iterator[_Gap]:
        """The steps that the answer lacks, by the time that is asked for."""
        gaps = [*(self._gaps_up() if self._lineage.is_up else self._gaps_down()), *self._gaps_of_unknown()]
        until = self._asked.until
        return (gap for gap in dict.fromkeys(gaps) if until is None or gap.step.clone.time <= until)

    def _gaps_up(self) -> Iterator[_Gap]:
        whole = self._beginnings("ah:UnrecordedVersion")
        if self._lineage.columns is None:
            states = whole if self._lineage.is_of_all else whole & self._lineage.states
            begun = {(self._lineage.thing(state), "") for state in states}
            things = {self._lineage.thing(row["made"]) for row in self.inferred()} & self._lineage.asked_things
            begun |= {  # of which rows show no version
                (thing, column)
                for column in self._asked.match_names("column_name")
                for thing in things
                if self._graph.has_column(column, [thing])
            }
        else:
            begun = {
                (self._lineage.thing(version), "" if version in whole else self._column(column))
                for column in self._beginnings("ah:UnrecordedColumnVersion") & self._lineage.columns
                if (version := self._lineage.whole(column)) in whole or self._graph.text(version, "ah:inferredFrom")
            }
        for thing, column in sorted(begun):
            for number, (account, step) in enumerate(self._origins(thing)):
                yield _Gap(step, account, "" if number else thing, column)

    def _beginnings(self, name: str) -> set[str]:
        return {row["state"] for row in self._graph.select(_BEGINNINGS, **{"class": name})}

    def _column(self, state: str) -> str:
        return self._graph.text(self._lineage.thing(state), "ah:columnName") or ""

    def _origins(self, thing: str) -> Iterator[tuple[str, CloneStep]]:
        """The CLONEs that an object may have come by, by the name under which rows show it first."""
        names = self._graph.names_of(thing)
        if names and (history := self._histories.get(names[0].account)):
            since = history.count_until(datetime.fromisoformat(names[0].since))
            for step in history.origins(match_name(names[0].name), since):
                yield names[0].account, step

    def _gaps_down(self) -> Iterator[_Gap]:
        inferred = [row for row in _every_inferred(self._graph) if self._is_followed(row)]
        whole = {(row["change"], self._lineage.thing(row["state"])) for row in inferred}
        of_columns = {
            (row["change"], self._lineage.thing(row["state"]))
            for row in inferred
            if row["from"] in (self._lineage.columns or ())
        }
        columns: dict[str, set[str]] = {}
        for column in self._lineage.columns or ():
            columns.setdefault(self._lineage.thing(self._lineage.whole(column)), set()).add(self._column(column))
        for thing, periods in sorted(self.periods.items()):
            for account, place, step in self._copies_of(thing):
                key = step.clone.change, thing
                if key in (of_columns if thing in columns else whole) or not any(
                    since <= step.clone.time and (until is None or step.clone.time < until) for since, until in periods
                ):
                    continue
                missing = sorted(columns[thing]) if key in whole else [""]
                yield from (_Gap(step, account, "", column) for column in missing)
                if key not in whole:
                    yield from self._copies_of_copies(account, step.target, place + 1)

    @cached_property
    def periods(self) -> _Periods:
        """When each object held the data. What a column got is there also when others of its columns are written."""
        periods: dict[str, list[tuple[datetime, datetime | None]]] = {}
        for state in self._lineage.states:
            made = self._graph.text(state, "prov:generatedAtTime")
            ends = [*self._graph.objects(state, "ah:validUntil"), *self._graph.objects(state, "prov:invalidatedAtTime")]
            until = min(map(datetime.fromisoformat, ends), default=None) if self._lineage.columns is None else None
            period = datetime.fromisoformat(made) if made else EARLY, until
            periods.setdefault(self._lineage.thing(state), []).append(period)
        return periods

    def _copies_of(self, thing: str) -> Iterator[tuple[str, int, CloneStep]]:
        """The CLONEs that copied an object, each with its place."""
        for holder in self._graph.names_of(thing):
            if history := self._histories.get(holder.account):
                begin = history.count_before(datetime.fromisoformat(holder.since))
                until = datetime.fromisoformat(holder.until) if holder.until else None
                for step, place in history.copies(match_name(holder.name), begin, until):
                    yield holder.account, place, step

    def _copies_of_copies(self, account: str, name: str, place: int) -> Iterator[_Gap]:
        """The CLONEs that copied what no row names."""
        waiting, visited = [(name, place)], set[tuple[str, int]]()
        while waiting:
            name, place = waiting.pop()
            for step, next_place in self._histories[account].copies(name, place):
                yield _Gap(step, account)
                if (step.target, next_place) not in visited:
                    visited.add((step.target, next_place))
                    waiting.append((step.target, next_place + 1))

    def _gaps_of_unknown(self) -> Iterator[_Gap]:
        """Of what is asked for by a name that no row gives, at any time."""
        until = self._asked.until
        for name in sorted(self._asked.match_names()) if not self._lineage.is_of_all else ():
            if self._graph.holders(name):
                continue
            for account, history in self._histories.items():
                end = len(history.statements) if until is None else history.count_until(until)
                ends = [place for place in history.ends(name) if until is None and place < end]
                if self._lineage.is_up:
                    for place in (end, *ends):
                        yield from (_Gap(step, account) for step in history.origins(name, place))
                else:
                    for place in (0, *(place + 1 for place in ends)):
                        yield from self._copies_of_copies(account, name, place)

    @cached_property
    def arrived(self) -> dict[tuple[str, str], str]:
        """CLONE and name in its target -> the object that came by it, as far as rows name it later."""
        things = sorted({self._lineage.thing(state) for state in self._beginnings("ah:UnrecordedVersion")})
        first = ((thing, next(self._origins(thing), None)) for thing in things)
        return {(origin[1].clone.change, origin[1].target): thing for thing, origin in first if origin}


def _every_inferred(graph: Lookups, made: Iterable[str] | None = None) -> list[Solution]:
    """The steps through a CLONE that are inferred. ``made``: only those that made one of these versions."""
    return list(graph.select(_INFERRED, made="" if made is None else f"VALUES ?made {{ {iris(made)} }}"))


def _shown(asked: Asked) -> Iterator[Solution]:
    """The inferred steps in an answer of single steps: of the objects or queries that are asked for; if none are, those
    with a name in the answer.
    """
    graph, queries = asked.graph, asked.values("query_id")
    made: set[str] | None = None
    if asked.asked_objects:
        made = {state for thing in asked.asked_objects for state in graph.subjects("prov:specializationOf", thing)}
        if "to" in asked.values("way"):
            made = {other for state in made for other in graph.subjects("prov:wasDerivedFrom", state)}
    elif queries:
        nodes = (node for ident in queries for node in graph.with_text("ah:queryId", ident))
        made = {state for node in nodes for state in graph.subjects("prov:wasGeneratedBy", node)}
    names = {match_name(cell) for row in graph.at_most(asked.answer.rows, MOST) for cell in row if cell}
    rows = list(graph.at_most(asked.answer.dicts(), MOST)) if asked.name == CHANGES else []
    new = {(match_name(row["object_name"] or ""), row["query_start_time"]) for row in rows}
    for step in _every_inferred(graph, made):
        is_named = made is not None or match_name(step["target"]) in names
        is_new = asked.name != CHANGES or (match_name(step["target"]), step["time"]) in new
        if is_named and is_new and asked.has(datetime.fromisoformat(step["time"])):
            yield step


def _with_sources(steps: Iterable[Solution], histories: dict[str, ContainerHistory]) -> Iterator[Solution]:
    """Inferred steps with the name that the source had at the time of the CLONE."""
    clones = {
        statement.change: statement
        for history in histories.values()
        for statement in history.statements
        if statement.source
    }
    for step in steps:
        if clone := clones.get(step["change"]):
            yield {**step, "source": renamed(match_name(step["target"]), clone.name, clone.source)}


def _inferred(asked: Asked, steps: Iterable[Solution]) -> Iterator[str]:
    """A note that steps are inferred."""
    texts = dict.fromkeys(
        f"{step['target']} from {step['source']} at {step['time']}" for step in steps if asked.is_by_then(step["time"])
    )
    if texts:
        yield f"{INFERRED}: {first_of(list(texts), _SHOWN)}."


def _named_later(asked: Asked, steps: Iterable[Solution]) -> Iterator[tuple[Solution, NameHolder]]:
    """The inferred steps by which a table came that is asked for by name, and has the name only since a later row."""
    for step in steps:
        is_asked = match_name(step["target"]) in asked.match_names()
        for thing in asked.graph.objects(step["made"], "prov:specializationOf") if is_asked else ():
            first = asked.graph.names_of(thing)[0]
            if first.ident and in_utc(step["time"]) < in_utc(first.since):
                yield step, first


def _only_by_id(asked: Asked, steps: Iterable[Solution]) -> str:
    """What else is to be known of who made tables: those that had lost the name by the time that is asked for."""
    lost = [
        f"object_id={first.ident}"
        for step, first in _named_later(asked, steps)
        if asked.name == "writers" and asked.is_by_then(step["time"]) and first.until and asked.is_by_then(first.until)
    ]
    if not lost:
        return ""
    return (
        " What came so has its name since the first row that gives it: for the CLONE of the former ones ask by id "
        f"({first_of(list(dict.fromkeys(lost)), _SHOWN)})."
    )


def _before_its_name(asked: Asked) -> Iterator[str]:
    """A note on a time between the CLONE by which a table came and the first row that gives its name."""
    for step, first in _named_later(asked, _every_inferred(asked.graph)):
        if any(in_utc(step["time"]) <= at < in_utc(first.since) for at in asked.times("at")):
            yield (
                f"{first.name} (object_id={first.ident}) came with a CLONE at {step['time']}, as is inferred from "
                f"names, and has its name since the first row that gives it: ask with at={first.since}."
            )


def _missing(asked: Asked, steps: _Steps) -> Iterator[str]:
    """A note for each CLONE through which the answer has no step: the last ones."""
    lineage = asked.lineage
    by_clone: dict[ContainerStatement, list[_Gap]] = {}
    for gap in steps.gaps():
        by_clone.setdefault(gap.step.clone, []).append(gap)
    more = len(by_clone) - _SHOWN
    for clone, gaps in sorted(by_clone.items())[-_SHOWN:]:
        lacking, names = list[str](), dict[str, bool]()
        for step, account, thing, column in gaps:
            arrived = thing or steps.arrived.get((clone.change, step.target), "")
            source = asked.graph.called(step.source, account, clone.time)
            target = asked.graph.called(step.target, account, clone.end, arrived)
            lacking.append(f"from {step.source} to {target}" + (f" (column {column})" if column else ""))
            is_known = (arrived and not lineage.is_up) or asked.graph.holders(
                step.source if lineage.is_up else step.target
            )
            names[source if lineage.is_up else target] = bool(is_known)
        known, unknown = (
            [name for name, has_row in names.items() if has_row == expected] for expected in (True, False)
        )
        ask = f" Ask for {first_of(known, _SHOWN)}, too." if known and not lineage.is_of_all else ""
        ask += f" No row names {first_of(unknown, _SHOWN)}." if unknown else ""
        yield (
            f"{clone.name} was cloned from {clone.source} at {clone.at}. {NO_STEP} {first_of(lacking, _SHOWN)}.{ask}"
            + (f" So it is with {more:,} {'clone' if more == 1 else 'clones'} before this one." if more > 0 else "")
        )
        more = 0


# --- what was made by CLONE or LIKE of a single object, and what is set on clones -------------------------------------


def made_by_clones(graph: Lookups) -> list[Solution]:
    """What was made by CLONE or LIKE of a single object: ``made``, ``target``, ``source``, ``time``."""
    return list(graph.select(_MADE))


def _made(asked: Asked, rows: Iterable[Solution], periods: _Periods) -> Iterator[str]:
    """Notes that the answer lacks what came with a CLONE or LIKE of a table, for each such table that it leads to: one
    for all that got one name, as with a clone of each night. ``periods``: when each object held the data.
    """
    lineage = asked.lineage
    by_names: dict[tuple[str, str], list[_Way]] = {}
    for way in (_Way.of(asked, row) for row in rows):
        is_lacking = way.row["has_columns" if lineage.is_of_columns else "has_data"] != "true"
        if is_lacking and asked.is_by_then(way.row["time"]) and way.is_followed(asked, periods):
            by_names.setdefault((way.row["target"], way.row["source"]), []).append(way)
    for (target, source), ways in [*by_names.items()][:_SHOWN]:
        ask = list(dict.fromkeys(name for way in ways if (name := way.to_ask_for(asked))))
        yield (
            f"{target} was made from {source} by CLONE or LIKE at {first_of([way.row['time'] for way in ways], _SHOWN)}"
            f". {NOT_SAID} between {'their columns' if lineage.is_of_columns else 'them'}."
            + (f" Ask for {first_of(ask, _SHOWN)}, too." if ask else "")
        )


def _ends(asked: Asked) -> Iterator[str]:
    """A note on the CLONEs or LIKEs of a table at which an answer ends that goes past helpers: what a CLONE made is no
    helper (docs/openlineage.md, "Helpers").
    """
    rows = made_by_clones(asked.graph) if asked.ends else []
    lacking = [row for row in rows if row["made"] in asked.ends and row["has_columns"] != "true"]
    texts = [
        f"{row['target']} was made from {row['source']} at {row['time']}"
        for row in lacking
        if asked.is_by_then(row["time"])
    ]
    if texts:
        yield (
            "The answer ends at what a CLONE or LIKE made, as its row does not say what came with it: "
            f"{first_of(texts, _SHOWN)}."
        )


class _Way(NamedTuple):
    """What was made by CLONE or LIKE: a row of :data:`_MADE`, the account, and the objects that may be the source."""

    row: Solution
    account: str
    sources: set[str]

    @classmethod
    def of(cls, asked: Asked, row: Solution) -> _Way:
        """By the id that the row of the change gives; else what had the name before. Empty: not on record."""
        graph, time = asked.graph, datetime.fromisoformat(row["time"])
        account = next((holder.account for holder in graph.names_of(row["made"])), "")
        holders = [holder for holder in graph.holders(row["source"]) if holder.account == account]
        given = read(graph.text(row["change"], "ah:properties")).atoms.items()
        ids = {value for name, value in given if (place := is_of_source(name)) and place[1].lower() == "id"}
        sources = [holder for holder in holders if holder.ident in ids]
        sources = sources or [holder for holder in holders if holder.holds(time - MOMENT)]
        later = (holder for holder in holders if datetime.fromisoformat(holder.since) >= time)
        sources = sources or [holder for holder in later if holder.iri != row["made"] and not graph.is_made(holder)][:1]
        return cls(row, account, {holder.iri for holder in sources})

    def to_ask_for(self, asked: Asked) -> str:
        """What has the rest of the answer, with a time if it is the source; empty if it is asked for."""
        lineage, row = asked.lineage, self.row
        ends, column = (self.sources, "source") if lineage.is_up else ({row["made"]}, "target")
        if lineage.is_of_all or not ends.isdisjoint(lineage.asked_things):
            return ""
        time, only = datetime.fromisoformat(row["time"]), min(ends) if len(ends) == 1 else ""
        at = ""
        if (
            lineage.is_up and asked.values("at") and not asked.is_of_page
        ):  # what the source got later did not come along
            was_replaced = bool(only) and asked.graph.was_dropped(only, time)
            at = f" with at={as_text(time - MOMENT if was_replaced else time)}"
        return f"{asked.graph.called(row[column], self.account, time, only)}{at}"

    def is_followed(self, asked: Asked, periods: _Periods) -> bool:
        """Whether the answer follows data to what was made, or (down) to the source of it, which held the data then: by
        names, if no row gives the source. ``periods``: when each object held it, as far as that is known.
        """
        graph, lineage = asked.graph, asked.lineage
        ends = {self.row["made"]} if lineage.is_up else self.sources
        if lineage.is_of_all or not ends:
            return lineage.is_of_all or match_name(self.row["source"]) in lineage.names
        own = {graph.text(thing, "ah:columnOf") or thing for thing in asked.asked_objects if asked.is_of_page}
        things = {*lineage.things, *lineage.asked_things, *own}
        return any(
            not things.isdisjoint(forms := {end, *graph.same_names(end)})
            and (lineage.is_up or self._held_then([period for form in forms for period in periods.get(form, ())]))
            for end in ends
        )

    def _held_then(self, periods: Collection[tuple[datetime, datetime | None]]) -> bool:
        time = datetime.fromisoformat(self.row["time"])
        return not periods or any(since <= time and (until is None or time <= until) for since, until in periods)


def _brought(asked: Asked) -> Iterator[str]:
    """A note that no row records what is set on a clone from the beginning, for the clones that are asked for."""
    inferred = _with_sources(_every_inferred(asked.graph), asked.containers)
    rows = [*clone_rows(asked.graph), *inferred, *made_by_clones(asked.graph)]
    names = {match_name(holder.name) for thing in asked.things for holder in asked.graph.names_of(thing)}
    names |= asked.match_names()
    ends = asked.times("at")
    texts = [
        f"{target} from {source} at {time}"
        for time, target, source in sorted({(row["time"], row["target"], row["source"]) for row in rows})
        if not any(datetime.fromisoformat(time) > end for end in ends)
        and (not names or any(f"{name}.".startswith(f"{match_name(target)}.") for name in names))
    ]
    if texts:
        yield (
            "No row records which tags, policies and grants came with a CLONE or LIKE; the answer has those that were "
            f"set later: {first_of(texts, _SHOWN)}. Ask for the source, too."
        )
