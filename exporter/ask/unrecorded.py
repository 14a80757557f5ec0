"""Notes on what answers cannot show, because no row has it.

- ``policy-coverage``: policies that were set before the record begins. No recorded statement set them; only queries for
  which they were enforced show that they were in force.
- Questions that follow data: what a CLONE of a schema or database brought. Its row names the two, and not the objects
  in them: which table came from which is inferred from their names, and not known where the source was not on record.
  And what came with a CLONE or LIKE of a table whose row gives the source as a property alone.
- ``policy-coverage``, ``exposure``, ``tag-reach``: what is set on a clone from the beginning.
- All questions and pages: that a schema or database was dropped, replaced, renamed or swapped (:func:`of_containers`).
  Its row does not name the objects in it.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import TYPE_CHECKING, Final, NamedTuple

from pyoxigraph import Literal, QuerySolutions

from exporter.ask.answers import first_of
from exporter.ask.names import Lookups
from exporter.ask.parameters import instant, values_of
from exporter.model.identifiers import match_name

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from pyoxigraph import Store

    from exporter.ask.answers import Answer
    from exporter.ask.names import NameHolder
    from exporter.ask.parameters import ParameterValues

QUESTION: Final = "policy-coverage"
PROTECTION: Final = frozenset((QUESTION, "exposure"))
_SHOWN: Final = 5
_ENFORCED: Final = """\
PREFIX ah: <https://w3id.org/access-history#>
PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
SELECT DISTINCT ?label WHERE {
  {
    SELECT DISTINCT ?policy ?object ?column_node ?place WHERE {
      ?enforcement ah:policy ?policy ; ah:protectedObject ?object .
      OPTIONAL { ?enforcement ah:protectedColumn ?column_node }
      BIND(COALESCE(?column_node, ?object) AS ?place)
    }
  }
  FILTER EXISTS {
    ?mark a ah:TagSetting ; ah:settingOn ?object .
    OPTIONAL { ?mark ah:onColumn ?marked }
    FILTER(COALESCE(?marked, ?object) = ?place)
  }
  FILTER NOT EXISTS {
    ?set a ah:PolicySetting ; ah:elementObject ?policy ; ah:settingOn ?object .
    OPTIONAL { ?set ah:onColumn ?covered }
    FILTER(COALESCE(?covered, ?object) = ?place)
  }
  FILTER NOT EXISTS {
    ?mark_of_policy a ah:TagSetting ; ah:settingOn ?object ; ah:elementObject/(ah:sameNameAs|^ah:sameNameAs)? ?tag .
    ?set_on_tag a ah:PolicySetting ; ah:elementObject ?policy ; ah:settingOn ?tag .
    OPTIONAL { ?mark_of_policy ah:onColumn ?marked_column }
    FILTER(COALESCE(?marked_column, ?object) = ?place)
  }
  OPTIONAL { ?policy rdfs:label ?label_of_policy }
  OPTIONAL { ?object rdfs:label ?label_of_object }
  OPTIONAL { ?place ah:columnName ?column }
  BIND(COALESCE(?label_of_policy, STR(?policy)) AS ?what)
  BIND(COALESCE(?label_of_object, STR(?object)) AS ?where)
  BIND(CONCAT(?what, " on ", ?where, IF(BOUND(?column), CONCAT(".", ?column), "")) AS ?label)
}
ORDER BY ?label
"""
"""What is set on a column names the object, too (``ah:settingOn``); it is on the object where it names no column."""


FOLLOWING_UP: Final = frozenset(("lineage-as-of", "root-cause"))
FOLLOWING_ALL: Final = frozenset(("tag-reach", "unmasked-copies"))
OF_TAGGED_COPIES: Final = "tag-reach"
"""The question about tags that copies lack: a clone can have them without a row that sets them."""
FOLLOWING_DOWN: Final = frozenset(("column-copies", "downstream-users", "end-up", "sensitive-data-movement"))
FOLLOWING_FROM_READS: Final = "sensitive-data-movement"
_CLONES: Final = """\
PREFIX ah: <https://w3id.org/access-history#>
PREFIX dcterms: <http://purl.org/dc/terms/>
PREFIX prov: <http://www.w3.org/ns/prov#>
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
PREFIX ah: <https://w3id.org/access-history#>
PREFIX prov: <http://www.w3.org/ns/prov#>
PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
SELECT DISTINCT ?change ?target ?source ?time WHERE {
  # asked
  ?made ah:inferredFrom ?change ; prov:generatedAtTime ?time ; ah:objectName ?target .
  ?made prov:wasDerivedFrom/prov:specializationOf/rdfs:label ?source .
}
ORDER BY ?time ?target ?source
"""
"""The tables that a CLONE brought, as is inferred. In place of ``# asked``: what leads to them from what was asked."""
_LEADS: Final = """\
VALUES ?name { NAMES }
  ?object ah:hasName/ah:matchName ?name .
  ?state prov:specializationOf ?object .
  ?state PATH ?made ."""
_UP: Final = "(prov:wasDerivedFrom|ah:priorVersion)*"
_DOWN: Final = "(^prov:wasDerivedFrom|^ah:priorVersion)+"
_MADE: Final = """\
PREFIX ah: <https://w3id.org/access-history#>
PREFIX dcterms: <http://purl.org/dc/terms/>
PREFIX prov: <http://www.w3.org/ns/prov#>
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
PREFIX ah: <https://w3id.org/access-history#>
PREFIX prov: <http://www.w3.org/ns/prov#>
SELECT DISTINCT ?reached WHERE {
  VALUES ?name { NAMES }
  ?object ah:hasName/ah:matchName ?name .
  ?state prov:specializationOf ?object .
  ?state PATH ?other .
  ?other prov:specializationOf/ah:hasName/ah:matchName ?reached .
}
"""
_UNSET: Final = (
    "No row records which tags, policies and grants came with a CLONE or LIKE; the answer has those that were set"
)
_OF_COLUMNS: Final = frozenset(("column-copies", "root-cause", "tag-reach", "unmasked-copies"))
_NAMES: Final = """\
PREFIX ah: <https://w3id.org/access-history#>
SELECT DISTINCT ?id ?name WHERE { ?object ah:objectId ?id ; ah:hasName/ah:matchName ?name }
"""

_OF_CONTAINERS: Final = """\
PREFIX ah: <https://w3id.org/access-history#>
PREFIX dcterms: <http://purl.org/dc/terms/>
PREFIX prov: <http://www.w3.org/ns/prov#>
PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
SELECT DISTINCT ?made ?operation ?name ?new ?swapped ?time ?query_id WHERE {
  VALUES ?domain { "Schema" "Database" }
  ?made ah:domain ?domain .
  ?change ah:changedObject ?made ; ah:operation ?operation ; prov:startedAtTime ?time ;
    dcterms:isPartOf/ah:queryId ?query_id .
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
UNLISTED: Final = "No row lists what was in it: the answer may have"
"""Part of each note of :func:`of_containers`."""
_AS_IT_WAS: Final = ("user-history", "policy-access", "joins", "statements-of-request", "page-query")
"""Beginnings of questions whose answers have the names of objects as they were in the rows of queries."""
_between_names: Final = re.compile(r", |=").split


def notes(store: Store, question: str, params: ParameterValues) -> list[str]:
    """The notes for a person who asked the shipped question; none where nothing is known to be missing."""
    if question in PROTECTION:
        policies = _unrecorded_policies(store) if question == QUESTION else []
        return [*policies, *_brought(store, params)]
    if question in FOLLOWING_ALL:
        brought = _brought(store, params) if question == OF_TAGGED_COPIES else []
        return [*_inferred_note([*_rows(store, _INFERRED)]), *_made(store, question, params), *brought]
    if question in FOLLOWING_UP | FOLLOWING_DOWN:
        return [*_clones(store, question, params), *_made(store, question, params)]
    return []


def _rows(store: Store, question: str) -> Iterator[tuple[str, str, str, str]]:
    answer = store.query(question)
    for row in answer if isinstance(answer, QuerySolutions) else ():
        yield row["change"].value, row["target"].value, row["source"].value, row["time"].value


def _clones(store: Store, question: str, params: ParameterValues) -> list[str]:
    """A note on the steps through a CLONE that are inferred. And notes that there is no such step, for objects in a
    schema or database that was cloned (from which others were cloned, if data is followed down).
    """
    clones = list(_rows(store, _CLONES))
    if not clones:
        return []
    asked_names = _asked(store, params)
    is_up = question in FOLLOWING_UP
    steps = list(_rows(store, _leading_to(asked_names, _UP if is_up else _DOWN)))
    if question == FOLLOWING_FROM_READS:  # its first step is a query that reads the asked object, and no CLONE does
        steps = [step for step in steps if match_name(step[2]) not in asked_names]
    followed = {(change, match_name(target if is_up else source)) for change, target, source, _ in steps}
    texts = []
    for change, target, source, time in clones:
        prefix = f"{match_name(target if is_up else source)}."
        if any(name.startswith(prefix) and (change, name) not in followed for name in asked_names):
            texts.append(
                f"{target} was cloned from {source} at {time}. No row lists what was in it, so the answer has no step "
                f"between them: ask for the object of the same name in {source if is_up else target}, too."
            )
    return [*_inferred_note(steps), *texts[:_SHOWN]]


def _asked(store: Store, params: ParameterValues) -> set[str]:
    """The names that are asked for, and those of the ids."""
    names = {match_name(name) for name in values_of(params, "object_name")}
    ids = set(values_of(params, "object_id"))
    id_names = store.query(_NAMES) if ids else None
    if isinstance(id_names, QuerySolutions):
        names.update(row["name"].value for row in id_names if row["id"].value in ids)
    return names


def _made(store: Store, question: str, params: ParameterValues) -> list[str]:
    """Notes that the answer lacks what came with a CLONE or LIKE of a table, for each such table that it leads to."""
    answer = store.query(_MADE)
    is_of_columns = question in _OF_COLUMNS or "column_name" in params
    has_step = "has_columns" if is_of_columns else "has_data"
    clones = [row for row in answer if row[has_step].value != "true"] if isinstance(answer, QuerySolutions) else []
    if not clones:
        return []
    is_up = question in FOLLOWING_UP
    reached = None if question in FOLLOWING_ALL else _reached(store, _asked(store, params), is_up=is_up)
    texts = []
    for row in clones:
        target, source, time = (row[name].value for name in ("target", "source", "time"))
        if reached is None or match_name(target if is_up else source) in reached:
            other = "" if reached is None else f" Ask for {source if is_up else target}, too."
            texts.append(
                f"{target} was made from {source} by CLONE or LIKE at {time}. Its row does not say what came with it, "
                f"so the answer has no step between {'their columns' if is_of_columns else 'them'}.{other}"
            )
    return texts[:_SHOWN]


def _reached(store: Store, asked_names: set[str], *, is_up: bool) -> set[str]:
    """The names of the objects that data came from or went to, and the names that are asked for."""
    names = " ".join(str(Literal(name)) for name in sorted(asked_names))
    path = _UP if is_up else _DOWN
    answer = store.query(_REACHED.replace("PATH", path).replace("NAMES", names))
    return {*asked_names, *(row["reached"].value for row in (answer if isinstance(answer, QuerySolutions) else ()))}


def _brought(store: Store, params: ParameterValues) -> list[str]:
    """A note that no row records what is set on a clone from the beginning, for the clones that are asked for."""
    clones = sorted({(row[3], *row[1:3]) for text in (_CLONES, _INFERRED, _MADE) for row in _rows(store, text)})
    asked_names = _asked(store, params) if clones else set()
    by_then = [instant("at", value) for value in values_of(params, "at")]
    texts = [
        f"{target} from {source} at {time}"
        for time, target, source in clones
        if not any(datetime.fromisoformat(time) > end for end in by_then)
        and (not asked_names or any(f"{name}.".startswith(f"{match_name(target)}.") for name in asked_names))
    ]
    if not texts:
        return []
    return [f"{_UNSET} later: {first_of(texts, _SHOWN)}. Ask for the source, too."]


def _leading_to(asked_names: Iterable[str], path: str) -> str:
    names = " ".join(str(Literal(name)) for name in sorted(asked_names))
    return _INFERRED.replace("# asked", _LEADS.replace("PATH", path).replace("NAMES", names))


def _inferred_note(steps: Sequence[tuple[str, str, str, str]]) -> list[str]:
    """A note that steps are inferred."""
    if not steps:
        return []
    texts = first_of([f"{target} from {source} at {time}" for _, target, source, time in steps], _SHOWN)
    return [f"Inferred from names, as the row of a CLONE does not list what was in the schema or database: {texts}."]


def _unrecorded_policies(store: Store) -> list[str]:
    """A note if something with a tag had a policy enforced that no recorded statement set."""
    answer = store.query(_ENFORCED)
    labels = [row["label"].value for row in answer] if isinstance(answer, QuerySolutions) else []
    if not labels:
        return []
    texts = first_of(labels, _SHOWN)
    return [f"Enforced, but set before the record begins, and therefore not among the policies: {texts}."]


# --- schemas and databases that were dropped, replaced, renamed or swapped --------------------------------------------


class _Event(NamedTuple):
    """What a statement did to a schema or database. ``name``, ``other``: its names before and after a RENAME, or of
    both sides of a SWAP; ``other`` is empty for a DROP. ``iri``: the schema or database. ``is_undone``: whether an
    UNDROP took it back later. Objects with an id were dropped and restored with it.
    """

    time: datetime
    at: str
    query_id: str
    done: str
    name: str
    other: str
    iri: str
    is_undone: bool = False

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

    def is_reverted_by(self, undrop: _Event) -> bool:
        """Whether it is a DROP before an UNDROP of the same schema or database."""
        is_same = self.iri == undrop.iri or match_name(self.name) == match_name(undrop.name)
        return is_same and self.done == _DONE["DROP"] and self.time <= undrop.time

    def is_of(self, holders: Iterable[NameHolder]) -> bool:
        """Whether an object had one of these names then. A later UNDROP restored an object with an id."""
        return any(
            self.iri.startswith(f"{holder.account}/")
            and not (self.is_undone and holder.ident is not None)
            and datetime.fromisoformat(holder.since) <= self.time
            and (holder.until is None or datetime.fromisoformat(holder.until) > self.time)
            for holder in holders
        )


def of_containers(
    store: Store,
    question: str,
    params: ParameterValues,
    answer: Answer,
    things: Collection[str],
) -> list[str]:
    """A note for each schema or database with objects that are asked for (``things``: their IRIs) or in the answer, if
    it was dropped, replaced, renamed or swapped by the time that is asked for.
    """
    by_then = [instant(name, value) for name in ("at", "until") for value in values_of(params, name)]
    events = _events(store, max(by_then, default=None))
    if not events:
        return []
    lookups = Lookups(store)
    holders_by_name: dict[str, list[NameHolder]] = {match_name(name): [] for name in values_of(params, "object_name")}
    for thing in things:
        for holder in lookups.names_of(thing):
            holders_by_name.setdefault(match_name(holder.name), []).append(holder)
    answered = set[str]() if question.startswith(_AS_IT_WAS) else _within(answer, events)
    holders = {**{name: lookups.holders(name) for name in sorted(answered)}, **holders_by_name}
    messages = []
    for event in events:
        prefixes = tuple(f"{match_name(text)}." for text in (event.name, event.other) if text)
        concerned = [name for name in holders if name.startswith(prefixes)]
        others = {name: event.counterpart(name) for name in concerned if name in holders_by_name}
        renamed = {text: other for text, other in others.items() if other and event.is_of(lookups.holders(other))}
        names = sorted(name for name in concerned if name in renamed or event.is_of(holders[name]))
        if names:
            ask = sorted({others[name] for name in names if others.get(name)} - set(holders_by_name))
            messages.append(
                f"{event.text}. {UNLISTED} {first_of(names, _SHOWN)} as if that had not been done."
                + (f" Ask for {first_of(ask, _SHOWN)}, too." if ask else "")
            )
    more = f"There are {len(messages) - _SHOWN} more such statements before these."
    return messages if len(messages) <= _SHOWN else [*messages[-_SHOWN:], more]


def _events(store: Store, until: datetime | None) -> list[_Event]:
    """All until a time (None: at any time) in order, but for a DROP that an UNDROP took back by then. A SWAP is one
    event, though it has a change for each side.
    """
    answer = store.query(_OF_CONTAINERS)
    events: dict[tuple[str, frozenset[str]], _Event] = {}
    restored, pending = list[_Event](), list[_Event]()
    for row in answer if isinstance(answer, QuerySolutions) else ():
        name, at, query_id = row["name"].value, row["time"].value, row["query_id"].value
        new, swapped = (value.value if value is not None else "" for value in (row["new"], row["swapped"]))
        done = "swapped with" if swapped else "renamed to" if new else _DONE.get(row["operation"].value, "")
        event = _Event(datetime.fromisoformat(at), at, query_id, done, name, swapped or new, row["made"].value)
        if not done:
            restored.append(event)
            continue
        key = query_id, frozenset((done, name, event.other))
        events[key] = min(event, events.get(key, event))
    for event in sorted(restored):
        dropped = [key for key, earlier in events.items() if earlier.is_reverted_by(event)]
        if dropped:
            last = max(dropped, key=lambda key: events[key])
            undone = events.pop(last)
            if until is not None and event.time > until:
                pending.append(undone._replace(is_undone=True))
    return sorted(event for event in (*events.values(), *pending) if until is None or event.time <= until)


def _within(answer: Answer, events: Iterable[_Event]) -> set[str]:
    """The names in an answer that are in schemas or databases to which something happened."""
    prefixes = tuple({f"{match_name(text)}." for event in events for text in (event.name, event.other) if text})
    cells = {cell for row in answer.rows for cell in row if cell}
    return {name for cell in cells for part in _between_names(cell) if (name := match_name(part)).startswith(prefixes)}
