"""Notes on what answers cannot show, because no row has it.

- Questions that follow data: what a CLONE of a schema or database brought. Its row names the two, and not the objects
  in them: which table came from which is inferred from their names, and not known where the source was not on record.
  And what came with a CLONE or LIKE of a table whose row gives the source as a property alone.
- ``policy-coverage``, ``exposure``, ``tag-reach``: what is set on a clone from the beginning.
- All questions and pages: that a schema or database was dropped, replaced, renamed or swapped (:func:`containers`).
  Its row does not name the objects in it.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, NamedTuple

from exporter.ask.answers import first_of
from exporter.ask.lookups import literals
from exporter.model.clones import RESTORES, taken_back
from exporter.model.identifiers import match_name
from exporter.model.object_state import Event

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from exporter.ask.asked import Asked
    from exporter.ask.lookups import NameHolder

_SHOWN: Final = 5
_Row = dict[str, str]


# --- what a CLONE or LIKE brought -------------------------------------------------------------------------------------

_FOLLOWING_UP: Final = frozenset(("lineage-as-of", "root-cause"))
_FOLLOWING_DOWN: Final = frozenset(("column-copies", "downstream-users", "end-up", "sensitive-data-movement"))
_FOLLOWING_ALL: Final = frozenset(("tag-reach", "unmasked-copies"))
_FOLLOWING_FROM_READS: Final = "sensitive-data-movement"
_OF_SETTINGS: Final = frozenset(("policy-coverage", "exposure", "tag-reach"))
"""Questions about tags, policies and grants: a clone can have them without a row that sets them."""
_OF_COLUMNS: Final = frozenset(("column-copies", "root-cause", "tag-reach", "unmasked-copies"))
_UP: Final = "(prov:wasDerivedFrom|ah:priorVersion)*"
_DOWN: Final = "(^prov:wasDerivedFrom|^ah:priorVersion)+"
_CLONES: Final = """\
SELECT DISTINCT ?change ?target ?source ?time WHERE {
  VALUES ?operation { "CREATE" "REPLACE" }
  VALUES ?domain { "Schema" "Database" }
  ?change ah:operation ?operation ; ah:changedObject ?made ; ah:objectName ?target ; prov:startedAtTime ?time .
  ?made ah:domain ?domain .
  { ?change ah:madeFromName ?source } UNION {
    ?change dcterms:isPartOf ?query .
    ?query prov:qualifiedUsage|ah:accessPattern ?access .
    ?access ah:accessedObject ?read ; ah:objectName ?source .
    ?read ah:domain ?domain .
  }
  FILTER(?source != ?target)
}
ORDER BY ?time ?target ?source
"""
"""The row of a CLONE has its source in the change, or among what it read (view, "Read query notes")."""
_INFERRED: Final = """\
SELECT DISTINCT ?change ?target ?source ?time WHERE {
  @asked@
  ?made ah:inferredFrom ?change ; prov:generatedAtTime ?time ; ah:objectName ?target .
  ?made prov:wasDerivedFrom/prov:specializationOf/rdfs:label ?source .
}
ORDER BY ?time ?target ?source
"""
"""The tables that a CLONE brought, as is inferred. ``@asked@``: what leads to them from what was asked, if not all."""
_LEADS: Final = """\
VALUES ?name { @names@ }
  ?object ah:hasName/ah:matchName ?name .
  ?state prov:specializationOf ?object .
  ?state @path@ ?made ."""
_MADE: Final = """\
SELECT DISTINCT ?change ?target ?source ?time ?has_data ?has_columns WHERE {
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
_REACHED: Final = """\
SELECT DISTINCT ?reached WHERE {
  VALUES ?name { @names@ }
  ?object ah:hasName/ah:matchName ?name .
  ?state prov:specializationOf ?object .
  ?state @path@ ?other .
  ?other prov:specializationOf/ah:hasName/ah:matchName ?reached .
}
"""
_NAMES: Final = """\
SELECT DISTINCT ?name WHERE {
  VALUES ?id { @ids@ }
  ?object ah:objectId ?id ; ah:hasName/ah:matchName ?name
}
"""


def clones(asked: Asked) -> Iterator[str]:
    """Notes on what was made by CLONE or LIKE: inferred and missing steps of data, and what is set on it."""
    if asked.name in _FOLLOWING_ALL:
        yield from _inferred(asked.graph.select(_INFERRED, asked=""))
    elif asked.name in _FOLLOWING_UP | _FOLLOWING_DOWN:
        yield from _steps(asked)
    if asked.name in _FOLLOWING_ALL | _FOLLOWING_UP | _FOLLOWING_DOWN:
        yield from _made(asked)
    if asked.name in _OF_SETTINGS:
        yield from _brought(asked)


def _steps(asked: Asked) -> Iterator[str]:
    """A note on the steps through a CLONE that are inferred. And notes that there is no such step, for objects in a
    schema or database that was cloned (from which others were cloned, if data is followed down).
    """
    rows = list(asked.graph.select(_CLONES))
    if not rows:
        return
    names, is_up = _asked_names(asked), asked.name in _FOLLOWING_UP
    ours, theirs = ("target", "source") if is_up else ("source", "target")
    leads = _LEADS.replace("@path@", _UP if is_up else _DOWN).replace("@names@", literals(names))
    steps = list(asked.graph.select(_INFERRED, asked=leads))
    if asked.name == _FOLLOWING_FROM_READS:  # its first step is a query that reads the asked object, and no CLONE does
        steps = [step for step in steps if match_name(step["source"]) not in names]
    yield from _inferred(steps)
    followed = {(step["change"], match_name(step[ours])) for step in steps}
    texts = [
        f"{row['target']} was cloned from {row['source']} at {row['time']}. No row lists what was in it, so the answer "
        f"has no step between them: ask for the object of the same name in {row[theirs]}, too."
        for row in rows
        if any(name.startswith(f"{match_name(row[ours])}.") and (row["change"], name) not in followed for name in names)
    ]
    yield from texts[:_SHOWN]


def _inferred(steps: Iterable[_Row]) -> Iterator[str]:
    """A note that steps are inferred."""
    texts = [f"{step['target']} from {step['source']} at {step['time']}" for step in steps]
    if texts:
        yield (
            "Inferred from names, as the row of a CLONE does not list what was in the schema or database: "
            f"{first_of(texts, _SHOWN)}."
        )


def _asked_names(asked: Asked) -> set[str]:
    """The names that are asked for, and those of the ids."""
    ids = asked.values("object_id")
    of_ids = asked.graph.select(_NAMES, ids=literals(ids)) if ids else ()
    return asked.match_names() | {row["name"] for row in of_ids}


def _made(asked: Asked) -> Iterator[str]:
    """Notes that the answer lacks what came with a CLONE or LIKE of a table, for each such table that it leads to."""
    is_of_columns = asked.name in _OF_COLUMNS or "column_name" in asked.params
    rows = [row for row in asked.graph.select(_MADE) if row["has_columns" if is_of_columns else "has_data"] != "true"]
    ours, theirs = ("target", "source") if asked.name in _FOLLOWING_UP else ("source", "target")
    is_of_all = asked.name in _FOLLOWING_ALL
    if rows and not is_of_all:
        names, path = _asked_names(asked), _UP if asked.name in _FOLLOWING_UP else _DOWN
        names |= {row["reached"] for row in asked.graph.select(_REACHED, path=path, names=literals(names))}
        rows = [row for row in rows if match_name(row[ours]) in names]
    for row in rows[:_SHOWN]:
        yield (
            f"{row['target']} was made from {row['source']} by CLONE or LIKE at {row['time']}. Its row does not say "
            f"what came with it, so the answer has no step between {'their columns' if is_of_columns else 'them'}."
            + ("" if is_of_all else f" Ask for {row[theirs]}, too.")
        )


def _brought(asked: Asked) -> Iterator[str]:
    """A note that no row records what is set on a clone from the beginning, for the clones that are asked for."""
    queries = (_CLONES, _INFERRED.replace("@asked@", ""), _MADE)
    rows = [row for query in queries for row in asked.graph.select(query)]
    names = _asked_names(asked) if rows else set()
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


# --- schemas and databases that were dropped, replaced, renamed or swapped --------------------------------------------

_OF_CONTAINERS: Final = """\
SELECT DISTINCT ?made ?id ?operation ?name ?new ?swapped ?time ?query_id WHERE {
  VALUES ?domain { "Schema" "Database" }
  ?made ah:domain ?domain .
  ?change ah:changedObject ?made ; ah:operation ?operation ; prov:startedAtTime ?time ;
    dcterms:isPartOf/ah:queryId ?query_id .
  OPTIONAL { ?made ah:objectId ?id }
  OPTIONAL { ?change ah:newName ?new }
  OPTIONAL { ?change ah:swappedWithName ?swapped }
  FILTER(?operation IN ("DROP", "REPLACE", "UNDROP") || BOUND(?new) || BOUND(?swapped))
  OPTIONAL { ?change ah:objectName ?own }
  OPTIONAL { ?made rdfs:label ?label }
  BIND(COALESCE(?own, ?label) AS ?name)
  FILTER(BOUND(?name))
}
"""
_DONE: Final = {"DROP": "dropped", "REPLACE": "replaced"}
_OPERATIONS: Final = {"": RESTORES, **{done: operation for operation, done in _DONE.items()}}
_NEVER: Final = datetime.max.replace(tzinfo=UTC)
UNLISTED: Final = "No row lists what was in it: the answer may have"
"""Part of each note of :func:`containers`."""
_AS_IT_WAS: Final = ("user-history", "policy-access", "joins", "statements-of-request", "page-query")
"""Beginnings of questions whose answers have the names of objects as they were in the rows of queries."""
_between_names: Final = re.compile(r", |=").split


class _Event(NamedTuple):
    """What a statement did to a schema or database. ``name``, ``other``: its names before and after a RENAME, or of
    both sides of a SWAP; ``other`` is empty for a DROP. ``done``: empty for an UNDROP. ``iri``: the schema or database;
    ``has_id``: whether rows give its id. ``is_undone``: whether an UNDROP took it back later. Objects with an id were
    dropped and restored with it.
    """

    time: datetime
    at: str
    query_id: str
    done: str
    name: str
    other: str
    iri: str
    has_id: bool
    is_undone: bool = False

    @property
    def prefixes(self) -> tuple[str, ...]:
        """With what the names of the objects in it begin, before and after the event."""
        return tuple(f"{match_name(text)}." for text in (self.name, self.other) if text)

    @property
    def text(self) -> str:
        other = f" {self.other}" if self.other else ""
        return f"{self.name} was {self.done}{other} at {self.at} (query {self.query_id})"

    def counterpart(self, name: str) -> str:
        """The name that an object has after the event, or had before; empty if there is none."""
        for text, other in ((self.name, self.other), (self.other, self.name)):
            if text and other and name.startswith(f"{match_name(text)}."):
                return match_name(other) + name.removeprefix(match_name(text))
        return ""

    def as_recorded(self, place: int) -> list[Event]:
        """The events of the rows, one for each name. ``place``: in the order of time."""
        operation = _OPERATIONS.get(self.done, "ALTER")
        return [
            Event(place, self.query_id, place, "", match_name(name), "", operation, self.iri if self.has_id else "")
            for name in (self.name, self.other)
            if name
        ]

    def is_of(self, holders: Iterable[NameHolder]) -> bool:
        """Whether an object had one of these names then. A later UNDROP restored an object with an id."""
        return any(
            self.iri.startswith(f"{holder.account}/")
            and not (self.is_undone and holder.ident is not None)
            and holder.holds(self.time)
            for holder in holders
        )


def containers(asked: Asked) -> Iterator[str]:
    """A note for each schema or database with objects that are asked for or in the answer, if it was dropped, replaced,
    renamed or swapped by the time that is asked for.
    """
    graph, events = asked.graph, _events(asked)
    if not events:
        return
    asked_holders: dict[str, list[NameHolder]] = {name: [] for name in asked.match_names()}
    for holder in (holder for thing in asked.about for holder in graph.names_of(thing)):
        asked_holders.setdefault(match_name(holder.name), []).append(holder)
    answered = set[str]() if asked.name.startswith(_AS_IT_WAS) else _within(asked, events)
    holders = {**{name: graph.holders(name) for name in sorted(answered)}, **asked_holders}
    texts = []
    for event in events:
        concerned = [name for name in holders if name.startswith(event.prefixes)]
        others = {name: event.counterpart(name) for name in concerned if name in asked_holders}
        renamed = {name for name, other in others.items() if other and event.is_of(graph.holders(other))}
        names = sorted(name for name in concerned if name in renamed or event.is_of(holders[name]))
        if names:
            ask = sorted({others[name] for name in names if others.get(name)} - set(asked_holders))
            texts.append(
                f"{event.text}. {UNLISTED} {first_of(names, _SHOWN)} as if that had not been done."
                + (f" Ask for {first_of(ask, _SHOWN)}, too." if ask else "")
            )
    yield from texts[-_SHOWN:]
    if len(texts) > _SHOWN:
        yield f"There are {len(texts) - _SHOWN} more such statements before these."


def _events(asked: Asked) -> list[_Event]:
    """All until the time that is asked for, in order, but for what an UNDROP took back by then. A SWAP is one event,
    though it has a change for each side.
    """
    until = asked.until
    events: dict[tuple[str, frozenset[str]], _Event] = {}
    for row in asked.graph.select(_OF_CONTAINERS):
        name, at, query_id, other = row["name"], row["time"], row["query_id"], row["swapped"] or row["new"]
        done = "swapped with" if row["swapped"] else "renamed to" if row["new"] else _DONE.get(row["operation"], "")
        event = _Event(datetime.fromisoformat(at), at, query_id, done, name, other, row["made"], bool(row["id"]))
        key = query_id, frozenset((done, name, other))
        events[key] = min(event, events.get(key, event))
    every = sorted(events.values())
    recorded = [each for place, event in enumerate(every) for each in event.as_recorded(place)]
    undone = {end.end: every[undrop.end].time for end, undrop in taken_back(recorded).items()}
    return [
        event._replace(is_undone=place in undone)
        for place, event in enumerate(every)
        if event.done and (until is None or event.time <= until < undone.get(place, _NEVER))
        if until is not None or place not in undone
    ]


def _within(asked: Asked, events: Iterable[_Event]) -> set[str]:
    """The names in the answer that are in schemas or databases to which something happened."""
    prefixes = tuple({prefix for event in events for prefix in event.prefixes})
    cells = {cell for row in asked.answer.rows for cell in row if cell}
    return {name for cell in cells for part in _between_names(cell) if (name := match_name(part)).startswith(prefixes)}
