"""What statements did to schemas and databases, and so where the name of an object leads, back and forth in time.

Rows name a schema or database that is cloned, dropped, restored, renamed or swapped, and not the objects in it. What
such an object was called before and after, and from which object a CLONE made it, follows from its name alone.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import datetime
from itertools import product
from typing import Final, NamedTuple

from exporter.ask.lookups import Lookups, NameHolder, account_part
from exporter.ask.triples import LATE, Solution, in_utc
from exporter.model.clones import BEGINS, ENDS, RESTORES, taken_back
from exporter.model.identifiers import match_name, parts_of
from exporter.model.object_state import ContainerEvent

_CHANGES: Final = """\
SELECT DISTINCT ?change ?made ?id ?operation ?name ?new ?swapped ?time ?end ?query_id WHERE {
  VALUES ?domain { "Schema" "Database" }
  ?made ah:domain ?domain .
  ?change ah:changedObject ?made ; ah:operation ?operation ; prov:startedAtTime ?time ;
    dcterms:isPartOf ?query .
  ?query ah:queryId ?query_id .
  OPTIONAL { ?query prov:endedAtTime ?end }
  OPTIONAL { ?made ah:objectId ?id }
  OPTIONAL { ?change ah:newName ?new }
  OPTIONAL { ?change ah:swappedWithName ?swapped }
  FILTER(?operation IN ("CREATE", "DROP", "REPLACE", "UNDROP") || BOUND(?new) || BOUND(?swapped))
  OPTIONAL { ?change ah:objectName ?own }
  OPTIONAL { ?made rdfs:label ?label }
  BIND(COALESCE(?own, ?label) AS ?name)
  FILTER(BOUND(?name))
}
"""
CONTAINERS: Final = ("Schema", "Database")
RENAME: Final = "RENAME"
SWAP: Final = "SWAP"


class ContainerStatement(NamedTuple):
    """What a statement did to a schema or database. ``operation``: CREATE, REPLACE, DROP, UNDROP, RENAME or SWAP.
    ``name``, ``other``: its names before and after a RENAME, or of both sides of a SWAP; else ``other`` is empty.
    ``iri``: the schema or database; ``has_id``: whether rows give its id. ``change``: the change, or the version that
    was written. ``source``: the name of what was cloned, empty if it is no CLONE. ``time``, ``at``: when it started;
    ``end``: when it ended, and with it what it ends; the same where no row says it.
    """

    time: datetime
    at: str
    query_id: str
    operation: str
    name: str
    other: str
    iri: str
    has_id: bool
    change: str
    source: str
    end: datetime

    @property
    def account(self) -> str:
        """The part of its IRI that the IRIs of all objects of its account begin with."""
        return account_part(self.iri, has_id=self.has_id)

    @property
    def names(self) -> list[str]:
        """The names before and after it."""
        return [name for name in (self.name, self.other) if name]

    def counterpart(self, name: str) -> str:
        """The name that an object has after a RENAME or SWAP, or had before; empty if there is none."""
        return renamed(name, self.name, self.other) or renamed(name, self.other, self.name)

    def recorded(self, place: int) -> list[ContainerEvent]:
        """The events of the rows, one for each name. ``place``: in the order of time."""
        operation = "ALTER" if self.other else self.operation
        key = self.iri if self.has_id else ""
        names = (match_name(name) for name in self.names)
        return [ContainerEvent(place, self.query_id, place, "", name, "", operation, key) for name in names]


class CloneStep(NamedTuple):
    """A CLONE, and the names of an object in its target and its source at that time."""

    clone: ContainerStatement
    target: str
    source: str


def renamed(name: str, before: str, after: str) -> str:
    """The name of an object of a schema or database ``before`` in the one ``after``; empty if it is not in it, or if
    either is empty.

    >>> renamed("D.S.T", "d.s", "E"), renamed("D.S2.T", "D.S", "E")
    ('E.T', '')
    """
    prefix = f"{match_name(before)}."
    return f"{match_name(after)}.{name.removeprefix(prefix)}" if before and after and name.startswith(prefix) else ""


def containers_of(name: str) -> list[str]:
    """The database and the schema that a name, as it is compared, is in."""
    parts = parts_of(name)
    return [".".join(parts[:count]) for count in range(1, min(len(parts), 3))]


class ContainerHistory:
    """The statements on schemas and databases of one account, in the order of time. ``undone``: the place of a DROP or
    REPLACE -> that of the UNDROP that takes it back.
    """

    def __init__(self, statements: Iterable[ContainerStatement]) -> None:
        self.statements = sorted(statements)
        recorded = [
            event
            for place, statement in enumerate(self.statements)
            if statement.operation != BEGINS
            for event in statement.recorded(place)
        ]
        self.undone = {end.end: undrop.end for end, undrop in taken_back(recorded).items()}
        self._restored = {undrop: end for end, undrop in self.undone.items()}
        self._times = [statement.time for statement in self.statements]
        self._of_name: dict[str, list[int]] = {}
        # schema or database -> those that were renamed to it, or swapped with it
        self._former: dict[str, set[str]] = {}
        for place, statement in enumerate(self.statements):
            for name in {match_name(name) for name in (*statement.names, statement.source) if name}:
                self._of_name.setdefault(name, []).append(place)
            if statement.other:
                self._former.setdefault(match_name(statement.other), set()).add(match_name(statement.name))
            if statement.operation == SWAP:
                self._former.setdefault(match_name(statement.name), set()).add(match_name(statement.other))

    def count_until(self, time: datetime) -> int:
        """How many statements there were until a time."""
        return bisect_right(self._times, time)

    def count_before(self, time: datetime) -> int:
        """How many statements there were before a time."""
        return bisect_left(self._times, time)

    def ends(self, name: str) -> list[int]:
        """The places of all statements after which another schema or database may have what is in the name."""
        places = (place for text in containers_of(name) for place in self._of_name.get(text, ()))
        return [place for place in places if self.statements[place].operation in {*ENDS, RENAME, SWAP}]

    def origins(self, name: str, place: int) -> Iterator[CloneStep]:
        """The CLONEs that an object may have come by that has a name before the statement at ``place``, and that no row
        made: the last one first, with that by which its source may have come, and so on.
        """
        for statement, target, source in self.backward(name, place):
            if statement.source:
                yield CloneStep(statement, target, source)

    def backward(self, name: str, place: int) -> Iterator[tuple[ContainerStatement, str, str]]:
        """The statements by which an object may have come to the name that it has before the statement at ``place``,
        the last one first: each with the names after it and before it, after a CLONE with that in the source.
        """
        while (place := self._last(name, place)) >= 0:
            statement, former = self.statements[place], ""
            if statement.source:
                former = renamed(name, statement.name, statement.source)
            elif place in self._restored:
                place = self._restored[place]
                former = renamed(name, statement.name, self.statements[place].name)
            elif statement.operation in {RENAME, SWAP}:
                former = renamed(name, statement.other, statement.name)
                former = former or (
                    renamed(name, statement.name, statement.other) if statement.operation == SWAP else ""
                )
            elif statement.operation == RESTORES:
                continue
            if not former:
                return
            yield statement, name, former
            name = former

    def copies(self, name: str, place: int, until: datetime | None = None) -> Iterator[tuple[CloneStep, int]]:
        """The CLONEs that copied an object that has a name from the statement at ``place`` on, and has it, or what
        statements on its schema and database make of it, ``until`` a time: each with its place.
        """
        for statement_place, source, target in self.forward(name, place):
            statement = self.statements[statement_place]
            if until is not None and statement.time >= until:
                return
            if statement.source:
                yield CloneStep(statement, target, source), statement_place

    def forward(self, name: str, place: int) -> Iterator[tuple[int, str, str]]:
        """The places of the statements by which an object got other names, or copies, that has a name from the
        statement at ``place`` on: each with the names before it and after it, after a CLONE with that of the copy.
        """
        place -= 1
        while (place := self._next(name, place)) < len(self.statements):
            statement_place, statement, other = place, self.statements[place], ""
            if statement.source and (target := renamed(name, statement.source, statement.name)):
                yield place, name, target
                continue
            if place in self.undone:
                place = self.undone[place]
                other = renamed(name, statement.name, self.statements[place].name)
            elif statement.operation in ENDS:
                return
            elif statement.operation == SWAP or renamed(name, statement.name, statement.other):
                other = statement.counterpart(name)
            if other:
                yield statement_place, name, other
                name = other

    def former_names(self, name: str) -> set[str]:
        """The names that an object with a name may have had before RENAMEs and SWAPs of what it is in, at any time."""
        found, waiting = set[str](), [name]
        while waiting:
            one = waiting.pop()
            former = {
                renamed(one, text, before) for text in containers_of(one) for before in self._former.get(text, ())
            }
            waiting += former - found
            found |= former
        return found - {name}

    def _last(self, name: str, before: int) -> int:
        """The place of the last statement on what a name is in, before a place; -1 if there is none. A CLONE of it
        does nothing to it.
        """
        last = -1
        for text in containers_of(name):
            places = self._of_name.get(text, [])
            number = bisect_left(places, before) - 1
            while number >= 0 and not self._is_on(places[number], text):
                number -= 1
            last = max(last, places[number] if number >= 0 else -1)
        return last

    def _next(self, name: str, after: int) -> int:
        """The place of the next statement that a name is in, after a place; their number if there is none."""
        place_lists = (self._of_name.get(text, []) for text in containers_of(name))
        later = (places[number] for places in place_lists if (number := bisect_right(places, after)) < len(places))
        return min(later, default=len(self.statements))

    def _is_on(self, place: int, text: str) -> bool:
        return text in map(match_name, self.statements[place].names)


def clone_rows(graph: Lookups) -> list[Solution]:
    """The CLONEs of schemas and databases: ``target``, ``source``, ``time``, and ``change``, which says so. By index: a
    query would look at all that was created, and at all that comes from something.
    """
    rows = {
        (row["change"], row["target"], row["source"]): row
        for domain in CONTAINERS
        for made in graph.with_text("ah:domain", domain)
        for row in (*_clones_in_changes(graph, made, domain), *_clones_in_writes(graph, made, domain))
        if row["source"] != row["target"]
    }
    return sorted(rows.values(), key=lambda row: (in_utc(row["time"]), row["target"], row["source"]))


def _clones_in_changes(graph: Lookups, made: str, domain: str) -> Iterator[Solution]:
    """CLONEs by which a schema or database was created. The row has the source in the change, or among what it read
    (view, "Read query notes").
    """
    for change in graph.subjects("ah:changedObject", made):
        if graph.text(change, "ah:operation") not in {"CREATE", "REPLACE"}:
            continue
        queries = list(graph.objects(change, "dcterms:isPartOf"))
        sources = {
            *graph.objects(change, "ah:madeFromName"),
            *(name for query in queries for _, name in _containers_read(graph, query, domain)),
        }
        common = {"change": change, "made": made, "id": "", "query_id": "", "end": _end(graph, queries)}
        for time, target, source in product(
            graph.objects(change, "prov:startedAtTime"), graph.objects(change, "ah:objectName"), sources
        ):
            yield {**common, "time": time, "target": target, "source": source}


def _clones_in_writes(graph: Lookups, made: str, domain: str) -> Iterator[Solution]:
    """CLONEs whose row has no change: it has the new schema or database among what was written (view, "Write operation
    notes"). ``change``: the version.
    """
    for version in graph.subjects("prov:specializationOf", made):
        copied = {
            thing
            for source in graph.objects(version, "prov:wasDerivedFrom")
            for thing in graph.objects(source, "prov:specializationOf")
            if graph.text(thing, "ah:domain") == domain
        }
        queries = [
            query
            for query in graph.objects(version, "prov:wasGeneratedBy")
            if not any(graph.objects(query, "ah:hasChange"))
        ]
        target = graph.text(version, "ah:objectName") or graph.text(made, "rdfs:label") or ""
        for query, thing in product(queries, copied) if target else ():
            time = graph.text(query, "prov:startedAtTime")
            names = {name for read, name in _containers_read(graph, query, domain) if read == thing}
            for source in names or graph.objects(thing, "rdfs:label"):
                yield {
                    "change": version,
                    "made": made,
                    "target": target,
                    "source": source,
                    "id": graph.text(made, "ah:objectId") or "",
                    "query_id": graph.text(query, "ah:queryId") or "",
                    "time": time or "",
                    "end": _end(graph, [query]),
                }


def _containers_read(graph: Lookups, query: str, domain: str) -> Iterator[tuple[str, str]]:
    """The schemas or databases that a query read, each with its name there."""
    for access in graph.accesses_of(query):
        for read in graph.objects(access, "ah:accessedObject"):
            if graph.text(read, "ah:domain") == domain:
                yield from ((read, name) for name in graph.objects(access, "ah:objectName"))


def _end(graph: Lookups, queries: Iterable[str]) -> str:
    """When a query ended; empty if no row says it."""
    return next((end for query in queries for end in graph.objects(query, "prov:endedAtTime")), "")


def _has_containers(graph: Lookups) -> bool:
    """Whether rows give a schema or database as an object of its own. An index knows it; a query is planned first."""
    return any(any(graph.with_text("ah:domain", domain)) for domain in CONTAINERS)


def container_histories(graph: Lookups) -> dict[str, ContainerHistory]:
    """What happened to schemas and databases, by account."""
    if not _has_containers(graph):
        return {}
    clones = {row["change"]: row for row in clone_rows(graph)}
    changes: dict[tuple[str, frozenset[str]], ContainerStatement] = {}
    for row in graph.select(_CHANGES):
        other = row["swapped"] or row["new"]
        operation = SWAP if row["swapped"] else RENAME if row["new"] else row["operation"]
        source = clones.pop(row["change"], {}).get("source", "")
        statement = _statement(row, operation, row["name"], other, source)
        # A SWAP has a change for each side.
        key = f"{statement.account}/{row['query_id']}", frozenset((operation, row["name"], other))
        changes[key] = min(statement, changes.get(key, statement))
    statements = [
        *changes.values(),
        *(_statement(row, BEGINS, row["target"], "", row["source"]) for row in clones.values()),
    ]
    accounts = sorted({statement.account for statement in statements})
    return {
        account: ContainerHistory(statement for statement in statements if statement.account == account)
        for account in accounts
    }


def _statement(row: Solution, operation: str, name: str, other: str, source: str) -> ContainerStatement:
    at, iri, change = row["time"], row["made"], row["change"]
    has_id, end = bool(row["id"]), in_utc(row["end"] or at)
    return ContainerStatement(in_utc(at), at, row["query_id"], operation, name, other, iri, has_id, change, source, end)


def names_with_containers(graph: Lookups, history: ContainerHistory, thing: str) -> Iterator[NameHolder]:
    """The names that an object got with its schema or database, by RENAME or SWAP, and that no row gives it, in order.
    Each begins with the statement, and ends with the next one, or where a row gives the object another name. None from
    before a query that still has the former one. Where a row gives the same name later, that one is the name.
    """
    names = graph.names_of(thing)
    for holder, following in zip(names, [*names[1:], None], strict=True):
        last = max(in_utc(time) for time in (holder.since, holder.seen) if time)
        end = LATE if holder.until is None else in_utc(holder.until)
        moved = list[NameHolder]()
        for place, _, name in history.forward(match_name(holder.name), history.count_until(last)):
            statement = history.statements[place]
            if statement.time >= end:
                break
            if statement.other:
                moved[-1:] = [replace(former, until=statement.at) for former in moved[-1:]]
                moved.append(replace(holder, since=statement.at, name=name, seen=None))
        if moved and following is not None and (moved[-1].until, moved[-1].key) == (following.since, following.key):
            moved.pop()
        yield from moved


def periods_inside(graph: Lookups, thing: str, whole: str) -> Iterator[tuple[datetime, datetime | None]]:
    """From when until when an object is in a schema or database: while it has a name in it that it got while this had
    its own. What is in one that is renamed goes with it, under its former name until a row shows the new one; what has
    the new name already is in another one. The questions about masks have the same rule.
    """
    names = [(match_name(name.name), *_period(name)) for name in graph.names_of(thing)]
    for number, around in enumerate(graph.names_of(whole)):
        begin, end = _period(around)
        for text, since, until in names:
            was_there = number == 0 and (until is None or until > begin)
            has_such_a_name = text.startswith(f"{match_name(around.name)}.") and (end is None or since < end)
            if has_such_a_name and (since >= begin or was_there):
                yield max(since, begin), until


def _period(name: NameHolder) -> tuple[datetime, datetime | None]:
    until = None if name.until is None else datetime.fromisoformat(name.until)
    return datetime.fromisoformat(name.since), until
