"""Notes on schemas and databases that were dropped, replaced, renamed or swapped, in all questions and pages.

Their rows do not name the objects in them.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final, NamedTuple

from exporter.ask.answers import first_of
from exporter.ask.container_history import RENAME, SWAP, ContainerHistory, ContainerStatement
from exporter.ask.lookups import Lookups, NameHolder
from exporter.ask.notes.asked import TIME_COLUMNS, UNMASKED_READS, Asked
from exporter.ask.notes.changes_without_id import OF_ALL
from exporter.ask.triples import EARLY, LATE, in_utc
from exporter.model.clones import BEGINS, ENDS, RESTORES
from exporter.model.identifiers import match_name

_SHOWN: Final = 5
_DONE: Final = {"DROP": "dropped", "REPLACE": "replaced", RENAME: "renamed to", SWAP: "swapped with"}
UNLISTED: Final = "No row lists what was in it: the answer may have"
"""Part of each note of :func:`container_changes`."""
_AS_IT_WAS: Final = ("user-history", "policy-access", "joins", "statements-of-request", "page-query")
"""Beginnings of questions whose answers have the names of objects as they were in the rows of queries."""
_OF_PRESENT: Final = ("exposure", "policy-coverage", "unused-objects")
"""Questions whose answers have the names of objects at the end of the time that is asked for."""
_WITHOUT_ID: Final = """\
SELECT DISTINCT ?thing WHERE {
  ?thing ah:hasName ?name ; ah:domain ?domain .
  FILTER(?domain NOT IN ("Schema", "Database") && NOT EXISTS { ?thing ah:objectId ?id })
}
"""
_MASKING: Final = """\
SELECT DISTINCT ?thing ?element WHERE {
  {
    ?mask ah:property "maskingPolicies" ; ah:settingOn ?on ; ah:validFrom ?time .
    ?mask ah:elementObject|ah:settingOn ?element .
    OPTIONAL { ?tagged ah:elementObject/(ah:sameNameAs|^ah:sameNameAs)? ?on ; ah:settingOn ?tagged_thing }
    BIND(COALESCE(?tagged_thing, ?on) AS ?thing)
  } UNION {
    ?enforcement ah:policyKind "MASKING_POLICY" ; ah:protectedObject ?thing ; ah:policy ?element .
  }
}
"""
"""What masks objects: as rows set it, or queries enforced it."""
_Holders = dict[str, list["NameHolder"]]
"""A name as it is compared -> the objects that had it."""
_between_names: Final = re.compile(r", |=").split


class _Event(NamedTuple):
    """A DROP, REPLACE, RENAME or SWAP. ``is_undone``: whether an UNDROP took it back later. Objects with an id were
    dropped and restored with the schema or database.
    """

    statement: ContainerStatement
    is_undone: bool = False

    @property
    def prefixes(self) -> tuple[str, ...]:
        """With what the names of the objects in it begin, before and after the event."""
        return tuple(f"{match_name(text)}." for text in self.statement.names)

    @property
    def what(self) -> str:
        """``D.S was renamed to D.T``."""
        statement = self.statement
        return f"{statement.name} was {_DONE[statement.operation]}" + (f" {statement.other}" if statement.other else "")

    @property
    def text(self) -> str:
        """``D.S was renamed to D.T at 2026-03-04T04:00:00Z (query q7)``."""
        return f"{self.what} at {self.statement.at} (query {self.statement.query_id})"

    @property
    def kind(self) -> tuple[str, ...]:
        """What is the same of statements that are run again and again; the two sides of a SWAP can change places."""
        names = [match_name(name) for name in self.statement.names]
        if self.statement.operation == SWAP:
            names.sort()
        return self.statement.account, self.statement.operation, *names

    def text_of_several(self, number: int, first: _Event) -> str:
        """Of this one and those before it."""
        last = f"the last time at {self.statement.at} (query {self.statement.query_id})"
        return f"{self.what} {number:,} times from {first.statement.at} on, {last}"

    def is_of(self, holders: Iterable[NameHolder]) -> bool:
        """Whether an object had one of these names then, and not only until a DROP or REPLACE of what it is in. A later
        UNDROP restored an object with an id.
        """
        statement = self.statement
        time = statement.end if statement.operation in ENDS else statement.time
        return any(
            statement.account == holder.account
            and not (self.is_undone and holder.ident is not None)
            and holder.holds(time)
            for holder in holders
        )


class _Concerned(NamedTuple):
    """An event, the names that it concerns, and those to ask for, too."""

    event: _Event
    names: Sequence[str]
    ask: Sequence[str]


def container_changes(asked: Asked) -> Iterator[str]:
    """A note for each schema or database with objects that are asked for, in the answer or on the way of its data, if
    it was dropped, replaced, renamed or swapped by the time that is asked for.
    """
    graph, events = asked.graph, _events(asked)
    if not events:
        return
    own: _Holders = {name: [] for name in asked.match_names()}
    for holder in (holder for thing in asked.asked_objects for holder in graph.names_of(thing)):
        own.setdefault(match_name(holder.name), []).append(holder)
    named = {**({} if asked.name.startswith(_AS_IT_WAS) else _within(asked, events)), **own}
    all_named = {**_masking(asked), **named}
    links = _links(asked, {**_without_id(asked), **all_named})
    _link_former(asked, own, links)
    later_names = {name: (name, holders) for name, holders in all_named.items()}
    runs = defaultdict[tuple[str, ...], list[_Concerned]](list)
    for event in events:
        statement, linked = event.statement, links.get(event.statement, {})
        concerned = {
            name: of_name
            for name, of_name in later_names.items()
            if name.startswith(event.prefixes) and event.is_of(_still_inside(asked, of_name[1], statement))
        }
        moved = {first_name for first_name, _ in concerned.values()}
        moved = moved & set(named) if statement.other else moved  # what masks goes on to mask under another name
        for name, of_name in concerned.items():
            later_names.setdefault(statement.counterpart(name), of_name)
        if names := sorted(moved | set(linked)):
            other_names = {statement.counterpart(name) for name in _asked_by_name(asked, own, moved) - set(linked)}
            other_names = {other for other in other_names if not _is_asked_for(asked, other, statement)}
            other_names = other_names.union(*(named_so - set(own) for named_so in linked.values())) - {""}
            ask = [graph.called(other, statement.account, statement.time) for other in sorted(other_names)]
            runs[event.kind].append(_Concerned(event, names, ask if own else []))
    yield from _in_words(sorted(runs.values(), key=lambda run: run[-1].event))


def _in_words(runs: Sequence[Sequence[_Concerned]]) -> Iterator[str]:
    """A note for each kind of statement that was run on the same schemas and databases: a SWAP of each night is one.
    Of very many, the last ones.
    """
    more = sum(map(len, runs[:-_SHOWN]))
    for run in runs[-_SHOWN:]:
        names = dict.fromkeys(name for concerned in run for name in concerned.names)
        ask = dict.fromkeys(name for concerned in reversed(run) for name in concerned.ask)
        text = run[0].event.text if len(run) == 1 else run[-1].event.text_of_several(len(run), run[0].event)
        yield (
            f"{text}. {UNLISTED} {first_of(list(names), _SHOWN)} as if that had not been done."
            + (f" Ask for {first_of(list(ask), _SHOWN)}, too." if ask else "")
            + (f" Such statements were run {more:,} times before, on other schemas or databases." if more else "")
        )
        more = 0


def _asked_by_name(asked: Asked, own: _Holders, names: set[str]) -> set[str]:
    """Those of the names by which something is asked for: what is asked for by its id has it under any name."""
    asked_names = asked.match_names()
    return {name for name in names & set(own) if name in asked_names or not all(holder.ident for holder in own[name])}


def _is_asked_for(asked: Asked, name: str, statement: ContainerStatement) -> bool:
    """Whether a name is asked for, or only objects had it at a statement that are: rows show another name of them."""
    holders = [holder for holder in asked.graph.holders(name) if holder.account == statement.account]
    then = {holder.iri for holder in holders if holder.holds(statement.time)}
    return name in asked.match_names() or (bool(then) and then <= asked.asked_objects)


def _events(asked: Asked) -> list[_Event]:
    """All until the time that is asked for, in order, but for what an UNDROP took back by then."""
    until = asked.until
    events = list[_Event]()
    for history in asked.containers.values():
        undone = {end: history.statements[undrop].time for end, undrop in history.undone.items()}
        events += [
            _Event(statement, place in undone)
            for place, statement in enumerate(history.statements)
            if statement.operation not in {BEGINS, RESTORES}
            if (place not in undone if until is None else statement.time <= until < undone.get(place, LATE))
        ]
    return sorted(events)


def _masking(asked: Asked) -> _Holders:
    """The policies and tags by which columns of the answer are masked, which ``unmasked-reads`` does not name."""
    by_name: _Holders = {}
    if asked.name == UNMASKED_READS and asked.answer.rows:
        for row in asked.graph.select(_MASKING):
            if asked.is_about(row["thing"]):
                for holder in asked.graph.names_of(row["element"]):
                    by_name.setdefault(match_name(holder.name), []).append(holder)
    return by_name


def _still_inside(asked: Asked, holders: Iterable[NameHolder], statement: ContainerStatement) -> Iterator[NameHolder]:
    """The objects that a statement finds: not those without an id that went with an earlier RENAME, and that no row
    names so since then.
    """
    history = asked.containers[statement.account]
    for holder in holders:
        if holder.ident or _is_still_inside(history, holder, statement):
            yield holder


def _is_still_inside(history: ContainerHistory, holder: NameHolder, statement: ContainerStatement) -> bool:
    passed = history.forward(match_name(holder.name), history.count_until(_instant(holder.since)))
    renames = (history.statements[place] for place, _, _ in passed)
    first = next((rename for rename in renames if rename.operation == RENAME), statement)
    return first.time >= statement.time or _instant(holder.seen or "") >= first.time


def _within(asked: Asked, events: Iterable[_Event]) -> _Holders:
    """The names in the answer that are in schemas or databases to which something happened, with the objects that they
    mean: those that the data went through; or those that had the name at a time of the row, or at the end.
    """
    prefixes = tuple({prefix for event in events for prefix in event.prefixes})
    columns = asked.answer.columns
    times: dict[str, set[str]] = {}
    for row in asked.answer.rows:
        of_row = {time for column, time in zip(columns, row, strict=True) if time and column in TIME_COLUMNS}
        for part in (part for cell in row if cell for part in _between_names(cell)):
            if (name := match_name(part)).startswith(prefixes):
                times.setdefault(name, set()).update(of_row)
    return {name: _meant(asked, name, times[name]) for name in sorted(times)}


def _meant(asked: Asked, name: str, times: Iterable[str]) -> list[NameHolder]:
    accounts = asked.accounts
    holders = [holder for holder in asked.graph.holders(name) if not accounts or holder.account in accounts]
    if asked.followed:
        meant = _on_way(asked, holders)
    elif times or asked.name in _OF_PRESENT:
        ends = [*map(datetime.fromisoformat, times), asked.until or LATE]
        meant = [holder for holder in holders if any(map(holder.holds, ends))]
    else:
        return holders
    return meant or holders


def _on_way(asked: Asked, holders: Iterable[NameHolder]) -> list[NameHolder]:
    """Those that the data went through, each from when it did."""
    return [
        replace(holder, since=max(holder.since, asked.lineage.begins.get(holder.iri, ""), key=_instant))
        for holder in holders
        if holder.iri in asked.followed
    ]


def _instant(time: str) -> datetime:
    return in_utc(time) if time else EARLY


def _without_id(asked: Asked) -> _Holders:
    """The objects without an id on the way of the data; of an answer about all objects, all of them."""
    things = {thing for thing in asked.followed if not asked.graph.text(thing, "ah:objectId")}
    if asked.name in OF_ALL and not asked.things:
        things = {row["thing"] for row in asked.graph.select(_WITHOUT_ID)}
    by_name: _Holders = {}
    holders = [holder for thing in sorted(things) for holder in asked.graph.names_of(thing)]
    for holder in _on_way(asked, holders) if asked.followed else holders:
        by_name.setdefault(match_name(holder.name), []).append(holder)
    return by_name


# --- what renames and swaps lead to -----------------------------------------------------------------------------------


def _links(asked: Asked, holders: _Holders) -> dict[ContainerStatement, dict[str, set[str]]]:
    """The renames and swaps between names that are asked for, in the answer or on its way, and the next names of these
    objects that rows give, too: statement -> name -> the other names. The answer does not follow them, but for objects
    with an id.
    """
    links: dict[ContainerStatement, dict[str, set[str]]] = {}
    for name, own in holders.items():
        for account, history in asked.containers.items():
            of_account = [holder for holder in own if holder.account == account]
            other_holders = _OtherHolders(asked.graph, account, of_account)
            for chain in _chains(asked.graph, history, name, of_account) if of_account or not own else ():
                passed = list[ContainerStatement]()
                for statement, other, is_back in chain:
                    passed.append(statement)
                    if other_holders.has(statement, other, is_back=is_back):
                        for step in passed:
                            links.setdefault(step, {}).setdefault(name, set())
                        links[statement][name].add(other)
                        break
    return links


def _link_former(asked: Asked, own: _Holders, links: dict[ContainerStatement, dict[str, set[str]]]) -> None:
    """Add to the links those by which what had a name that is asked for came to it, where other objects had it since,
    as by CREATE OR REPLACE, and the answer is of these alone.
    """
    for name in sorted(asked.match_names()):
        for account, history in asked.containers.items():
            holders = [holder for holder in own[name] if holder.account == account]
            for place in _places_before(asked, history, holders) if holders else ():
                _link_steps(asked, name, account, list(_former(history, name, place, EARLY)), links)


def _link_steps(
    asked: Asked,
    name: str,
    account: str,
    steps: Sequence[tuple[ContainerStatement, str, bool]],
    links: dict[ContainerStatement, dict[str, set[str]]],
) -> None:
    """Link the statements by which a name came from a former one, back to the first that an object had then, unless
    that is asked for itself. ``steps``: as of :func:`_former`.
    """
    for number, (statement, former, _) in enumerate(steps, start=1):
        holders = [holder for holder in asked.graph.holders(former) if holder.account == account]
        then = {holder.iri for holder in holders if holder.holds(statement.time)}
        if then:
            if then.isdisjoint(asked.asked_objects):
                for step, *_ in steps[:number]:
                    links.setdefault(step, {}).setdefault(name, set())
                links[statement][name].add(former)
            return


def _places_before(asked: Asked, history: ContainerHistory, holders: Sequence[NameHolder]) -> set[int]:
    """The places in a history before which others may have had the name of some objects: where one of these got it, and
    the end, unless one of these has it then. Of an answer of one time, that, with the same condition.
    """
    ends = asked.times("at") or [asked.until or LATE]
    places = {history.count_until(time) for time in ends if not any(holder.holds(time) for holder in holders)}
    if asked.times("at") or asked.name in _OF_PRESENT:
        return places
    begins = (in_utc(holder.since) for holder in holders)
    return places | {history.count_until(begin) for begin in begins if asked.since is None or begin > asked.since}


def _chains(
    graph: Lookups, history: ContainerHistory, name: str, named_holders: Sequence[NameHolder]
) -> Iterator[Iterator[tuple[ContainerStatement, str, bool]]]:
    """The renames and swaps by which objects with a name came to it, and those that gave them others: each with the
    other name, and whether it is a former one. An object without an id, or that no row gives, may be several.
    """
    holders: list[NameHolder | None] = [*named_holders] or [None]
    for holder in holders:
        since = history.count_until(_instant(holder.since)) if holder else 0
        until = history.count_until(_instant(holder.until)) if holder and holder.until else len(history.statements)
        ends = [] if holder and holder.ident else [place for place in history.ends(name) if since <= place < until]
        ends = sorted(ends)[-_SHOWN:]
        made = _instant(holder.since if holder and graph.is_made(holder) else "")
        for place in {since, *ends, since if holder and holder.ident else until}:
            yield _former(history, name, place, made)
        for place in {since, *(end + 1 for end in ends)}:
            later = ((history.statements[number], later) for number, _, later in history.forward(name, place))
            yield ((statement, name_then, False) for statement, name_then in later if statement.other)


def _former(
    history: ContainerHistory, name: str, place: int, made: datetime
) -> Iterator[tuple[ContainerStatement, str, bool]]:
    """The renames and swaps by which an object came to a name, until a CLONE, or until a row made it."""
    for statement, _, former in history.backward(name, place):
        if statement.source or statement.time < made:
            return
        if statement.other:
            yield statement, former, True


class _OtherHolders:
    """The objects of an account that have the names of some objects, ``named_holders``, and may be others."""

    def __init__(self, graph: Lookups, account: str, named_holders: Sequence[NameHolder]) -> None:
        self._graph, self._account = graph, account
        self._own, self._have_ids = (
            {holder.iri for holder in named_holders},
            bool(named_holders) and all(holder.ident for holder in named_holders),
        )
        self._of_name: dict[str, list[NameHolder]] = {}

    def has(self, statement: ContainerStatement, name: str, *, is_back: bool) -> bool:
        """Whether rows give what had the name before, or got it after the statement, as another object."""
        return any(
            holder.holds(statement.time)
            if is_back
            else (not holder.ident or datetime.fromisoformat(holder.since) > statement.time)
            and not self._graph.is_made(holder)
            for holder in self._of(name)
        )

    def _of(self, name: str) -> list[NameHolder]:
        if name not in self._of_name:
            self._of_name[name] = [
                holder
                for holder in self._graph.holders(name)
                if not (self._have_ids and holder.ident) and holder.iri not in self._own
                if holder.account == self._account
            ]
        return self._of_name[name]
