"""Objects that had one name, one after the other: a table that is made anew each night (CREATE OR REPLACE, or a build
and a SWAP) is another object each time, and one table to its users.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import count
from typing import Final, NamedTuple

from exporter.ask.answers import first_of
from exporter.ask.container_history import names_with_containers
from exporter.ask.lookups import Lookups, NameHolder
from exporter.ask.notes.asked import CHANGES, POLICY_COVERAGE, UNMASKED_READS, Asked
from exporter.ask.notes.mask_periods import (
    ALWAYS,
    AT_END,
    WHOLE,
    Period,
    masked_things,
)
from exporter.ask.triples import EARLY, LATE, MOMENT, in_utc
from exporter.model.identifiers import match_name

_SHOWN: Final = 3
_SHOWN_ENTRIES: Final = 5
DATA: Final = ("Table", "View", "table", "view")


def tables_of_name(graph: Lookups, name: str, account: str, domains: tuple[str, ...] = DATA) -> list[NameHolder]:
    """The tables and views (or what else ``domains`` are the ends of) with an id that had a name, in order. What rows
    give without an id may be any of them.
    """
    return [
        holder
        for holder in graph.holders(name)
        if holder.ident and holder.account == account and holder.domain.endswith(domains)
    ]


def _without_ids(graph: Lookups, name: str, account: str, domains: tuple[str, ...]) -> list[NameHolder]:
    """The same where no row gives an id: a table and a view of one name are two objects all the same."""
    holders = [
        holder for holder in graph.holders(name) if holder.account == account and holder.domain.endswith(domains)
    ]
    return [] if any(holder.ident for holder in holders) or len({holder.iri for holder in holders}) == 1 else holders


class Succession(NamedTuple):
    """Objects that had one name, one after the other, of which one is masked and the others are not: ``holder``, the
    last of the others; ``ids``: of the others, in order; ``since``: when the first of them got the name, if several did
    since the masked one; ``spans``: the times of the one, in order, if it got the name several times; ``masked``: the
    masked one; ``columns``: those that are masked on this one, and on which no
    row shows a mask on the others; ``read``: when one of these was read last under the name, in the time that is asked
    for; ``duration``: how long the last one had the name; ``had``: what rows show on the masked one: a mask, or a tag.
    """

    holder: NameHolder
    masked: NameHolder
    columns: set[str]
    ids: Sequence[str] = ()
    since: str = ""
    spans: Sequence[NameHolder] = ()
    read: datetime = EARLY
    duration: timedelta = timedelta()
    had: str = "masked"

    @property
    def weight(self) -> tuple[datetime, timedelta, tuple[datetime, str, datetime]]:
        """What a person looks at first has the most: the latest read; of what was not read, the name of the longest
        time.
        """
        return self.read, self.duration, self.holder.order


def asked_things(asked: Asked) -> set[str]:
    """The objects that are asked for; what is masked, if it is all."""
    return asked.asked_objects if asked.values("object_name", "object_id", "object") else masked_things(asked.graph)


def holders_by_name(asked: Asked, things: Iterable[str], domains: tuple[str, ...] = DATA) -> Iterator[list[NameHolder]]:
    """The objects that had one name, for each name of these, also those that had it with their schema or database, by
    RENAME or SWAP, and in no row. ``domains``: as of :func:`tables_of_name`.
    """
    graph = asked.graph
    names = {holder.key for thing in things for holder in (*graph.names_of(thing), *_with_containers(asked, thing))}
    for account, name in sorted(names):
        holders = tables_of_name(graph, name, account, domains)
        moved = _moved_to(asked, name, account, domains)
        if moved:
            holders = sorted((*holders, *moved), key=lambda holder: holder.order)
        yield holders or _without_ids(graph, name, account, domains)


def _with_containers(asked: Asked, thing: str) -> Iterator[NameHolder]:
    """The names that an object had with its schema or database, and in no row."""
    account = next((holder.account for holder in asked.graph.names_of(thing)), "")
    history = asked.containers.get(account)
    return names_with_containers(asked.graph, history, thing) if history else iter(())


def _moved_to(asked: Asked, name: str, account: str, domains: tuple[str, ...]) -> list[NameHolder]:
    """The objects with an id that had a name with their schema or database, and in no row then."""
    history = asked.containers.get(account)
    former = history.former_names(name) if history else set[str]()
    things = {holder.iri for other in sorted(former) for holder in tables_of_name(asked.graph, other, account, domains)}
    moved = (holder for thing in sorted(things) for holder in _with_containers(asked, thing))
    return [holder for holder in moved if holder.key == (account, name)]


def _left(holder: NameHolder, holders: Iterable[NameHolder]) -> datetime | None:
    """When an object had lost its name: at the latest when a row shows it as that of another one that has it since, if
    no query names the former one so later. No row need say it, as of a SWAP of the schema.
    """
    if holder.until is not None:
        return in_utc(holder.until)
    last = max(in_utc(holder.since), in_utc(holder.seen or holder.since))
    taken_by = (other for other in holders if other.iri != holder.iri and other.until is None)
    shown = (in_utc(time) for other in taken_by for time in (other.since, other.seen) if time)
    return min((time for time in shown if time > last), default=None)


def period_of(holder: NameHolder, holders: Iterable[NameHolder]) -> Period:
    """When an object had its name, of the objects that had it."""
    return Period(in_utc(holder.since), _left(holder, holders) or LATE)


def with_container_rename(asked: Asked, holder: NameHolder) -> NameHolder:
    """The same since when it came to the name: with its schema or database, if that was renamed or swapped before the
    first query that names it so.
    """
    former = [before for before in asked.graph.names_of(holder.iri) if before.until == holder.since]
    history = asked.containers.get(holder.account) if former else None
    for statement in reversed(history.statements if history else ()):
        for before in former if statement.time <= in_utc(holder.since) else ():
            is_its = statement.counterpart(match_name(before.name)) == match_name(holder.name)
            if is_its and in_utc(before.since) <= statement.time:
                return replace(holder, since=statement.at)
    return holder


def periods_asked_for(asked: Asked, thing: str, named: Period) -> list[Period]:
    """The times in which masks count, if an object has a name in the time that is asked for, ``named``: of an answer of
    one time, that, unless it was dropped then and restored later; of changes, only if it got the name then; of reads in
    clear, always, since those before and after a mask are in the answer.
    """
    if asked.name == POLICY_COVERAGE:
        times = asked.times("at")
        there = [Period(time, time + MOMENT) for time in times if not asked.graph.was_dropped(thing, time)]
        periods = there if times else [AT_END]
    else:
        periods = [Period(asked.since or EARLY, asked.until or LATE)]
    then = [period for period in periods if max(period.begin, named.begin) < min(period.end, named.end)]
    if asked.name == CHANGES:
        return [time for time in then if time.begin <= named.begin]
    return [ALWAYS] if then and asked.name == UNMASKED_READS else then


def names_in_time(asked: Asked, thing: str) -> Iterator[tuple[NameHolder, Period]]:
    """The names of a table or view in the time that is asked for, each with that time. What rows give without an id
    keeps its name if they give it with an id later.
    """
    for holder in asked.graph.names_of(thing):
        if holder.domain.endswith(DATA):
            holders = asked.graph.holders(holder.name) if holder.until is None and holder.ident else ()
            period = period_of(holder, [other for other in holders if other.account == holder.account])
            yield from ((holder, time) for time in periods_asked_for(asked, thing, period))


def columns_of(graph: Lookups, thing: str) -> set[str]:
    """The names of the columns of an object, as they are compared."""
    return {graph.text(column, "ah:matchName") or "" for column in graph.subjects("ah:columnOf", thing)}


def _in_words(graph: Lookups, entry: Succession, *, has_accounts: bool) -> str:
    """``D.S.T.EMAIL (object_id=2 since 2026-09-02T03:00:00Z; masked: object_id=1)``; of several objects,
    ``D.S.T.EMAIL (since 2026-09-02T03:00:00Z; 3 objects, the latest object_id=4; masked: object_id=1)``; without ids,
    ``D.S.T.EMAIL (View since 2026-09-02T03:00:00Z; masked: Table)``. Of one that got the name several times, all.
    """
    holder = entry.holder
    named = graph.spelled(holder.iri, sorted(entry.columns - {WHOLE}))
    place = f"{holder.name}.{first_of(named, _SHOWN)}" if named else holder.name
    owner = graph.of_account(holder.iri) if has_accounts or graph.is_of_other(holder.iri) else ""
    until = f" until {holder.until}" if holder.until else ""
    ids = [ident for ident in entry.ids if ident]
    identity = (
        f"object_id={first_of(ids, _SHOWN)}"
        if ids
        else f"{_id_or_kind(holder)}{_all_spans(entry)} since {holder.since}"
    )
    last = f"; the last, {holder.ident}," if until and ids[1:] else ""
    if entry.since:
        objects = f"{len(entry.ids)} objects, the latest {_id_or_kind(holder)}{until}"
        return f"{place}{owner} (since {entry.since}; {objects}; {entry.had}: {_id_or_kind(entry.masked)})"
    return f"{place}{owner} ({identity}{last}{until}; {entry.had}: {_id_or_kind(entry.masked)})"


def _all_spans(entry: Succession) -> str:
    """The times before the last one in which an object had a name, before the words for that one."""
    before = entry.spans[:-1]
    if len(before) < _SHOWN:
        return "".join(f" since {span.since} until {span.until} and" for span in before)
    return f" for {len(entry.spans):,} times since {before[0].since}, the last of them"


def _id_or_kind(holder: NameHolder) -> str:
    """How to tell an object from others that had its name: by its kind, where rows give no id."""
    return f"object_id={holder.ident}" if holder.ident else holder.domain


def ordered_entries(successions: Iterable[Succession]) -> list[Succession]:
    """The entries of a note. What was read comes first, then those with the most weight; the second one of a name comes
    after the first ones of others, since a table that has its mask every other night has many. An object is told under
    the name of the most weight, with all times in which it had that; objects that had one name since the same masked
    one are in one entry.
    """
    runs, shown = defaultdict[tuple[object, ...], list[Succession]](list), dict[str, tuple[str, str]]()
    for entry in sorted(successions, key=lambda entry: entry.weight, reverse=True):
        if shown.setdefault(entry.holder.iri, entry.holder.key) == entry.holder.key:
            runs[*entry.holder.key, entry.masked.iri, entry.had, *sorted(entry.columns)].append(entry)
    entries = sorted(map(_in_one_entry, runs.values()), key=lambda entry: entry.weight, reverse=True)
    numbers = defaultdict[tuple[str, str], Iterator[int]](count)
    return sorted(entries, key=lambda entry: (entry.read == EARLY, next(numbers[entry.holder.key])))


def _in_one_entry(entries: Sequence[Succession]) -> Succession:
    """The last of those with one name, with the ones before it, or with its own times before."""
    ordered = sorted(entries, key=lambda entry: entry.holder.order)
    if len(ordered) == 1:
        return ordered[0]
    objects = {entry.holder.iri: entry.holder.ident or "" for entry in ordered}
    ids, read = [*objects.values()], max(entry.read for entry in ordered)
    if len(objects) == 1:
        return ordered[-1]._replace(spans=[entry.holder for entry in ordered], read=read)
    return ordered[-1]._replace(ids=ids, since=ordered[0].holder.since, read=read)


def time_in_words(asked: Asked) -> str:
    """When no row shows a mask, in words."""
    if asked.name == POLICY_COVERAGE:
        return " at that time" if asked.times("at") else " at the end of the record"
    return " in that time" if asked.name != UNMASKED_READS and (asked.since or asked.until) else ""


def entries_in_words(asked: Asked, entries: Sequence[Succession]) -> str:
    """The first entries; of more, what has the others."""
    has_accounts = asked.has_several_accounts
    texts = [_in_words(asked.graph, entry, has_accounts=has_accounts) for entry in entries]
    listed = first_of(texts, _SHOWN_ENTRIES, "; ")
    takes = {parameter.name for parameter in asked.question.parameters}
    ways = ["for one object (object_name)"] if "object_name" in takes and not asked.asked_objects else []
    ways += ["for less of the time (since, until)"] if "since" in takes else []
    return f"{listed} (ask {' or '.join(ways)})" if len(texts) > _SHOWN_ENTRIES and ways else listed


def read_times(graph: Lookups, thing: str) -> Iterator[datetime]:
    """When the reads of an object started; of reads by day, the first and the last one."""
    return _starts(graph, graph.subjects("ah:accessedObject", thing))


def _starts(graph: Lookups, accesses: Iterable[str]) -> Iterator[datetime]:
    """When the reads with these accesses started; of reads by day, the first and the last one."""
    terms = ("prov:qualifiedUsage", "ah:accessPattern")
    for read in {read for access in accesses for term in terms for read in graph.subjects(term, access)}:
        for time in ("prov:startedAtTime", "ah:lastStartedAtTime"):
            yield from map(in_utc, graph.objects(read, time))
