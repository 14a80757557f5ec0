"""Notes on what took the place of another object: a table that is made anew each night (CREATE OR REPLACE, or a build
and a SWAP) is another object each time, and one table to its users. The masks and reads of the former one are not its
own.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import count, islice
from typing import Final, NamedTuple

from exporter.ask.answers import first_of
from exporter.ask.asked import Asked, in_utc
from exporter.ask.lookups import Lookups, NameHolder
from exporter.ask.mask_periods import (
    ALWAYS,
    AT_END,
    EARLY,
    LATE,
    MOMENT,
    WHOLE,
    Period,
    is_masked_around,
    masked_things,
    masked_wholes,
    masks_of,
    own_masks,
)
from exporter.ask.parameters import as_text
from exporter.model.identifiers import match_name

_OF_MASKS: Final = ("changes", "policy-coverage", "unmasked-copies", "unmasked-reads")
_OF_READS: Final = "unmasked-reads"
_COVERAGE: Final = "policy-coverage"
_SHOWN: Final = 3
_SHOWN_ENTRIES: Final = 5
_LOOKED_AT: Final = 100_000
"""Of the reads of a column, at most: of more, a late one is late enough for an order."""
_BY_TIME: Final = "column-readers has them, by the id, or of several objects by the name with since (and until) as here"
DATA: Final = ("Table", "View", "table", "view")


def _of_name(graph: Lookups, name: str, account: str) -> list[NameHolder]:
    """The tables and views with an id that had a name, in order. What rows give without an id may be any of them."""
    return [
        holder
        for holder in graph.holders(name)
        if holder.ident and holder.account == account and holder.domain.endswith(DATA)
    ]


# --- masks ------------------------------------------------------------------------------------------------------------


class Namesakes(NamedTuple):
    """Objects that had one name, one after the other, of which one is masked and the others are not: ``holder``, the
    last of the others; ``ids``: of the others, in order; ``since``: when the first of them got the name, if several did
    since the masked one; ``masked``: the masked one; ``columns``: those that are masked on this one, and on which no
    row shows a mask on the others; ``read``: when one of these was read last under the name, in the time that is asked
    for; ``lasts``: how long the last one had the name; ``had``: what rows show on the masked one: a mask, or a tag.
    """

    holder: NameHolder
    masked: NameHolder
    columns: set[str]
    ids: Sequence[str] = ()
    since: str = ""
    read: datetime = EARLY
    lasts: timedelta = timedelta()
    had: str = "masked"

    @property
    def weight(self) -> tuple[datetime, timedelta, tuple[datetime, str, datetime]]:
        """What a person looks at first has the most: the latest read; of what was not read, the name of the longest
        time.
        """
        return self.read, self.lasts, self.holder.order


def asked_things(asked: Asked) -> set[str]:
    """The objects that are asked for; what is masked, if it is all."""
    return asked.about if asked.values("object_name", "object_id", "object") else masked_things(asked.graph)


def histories(asked: Asked, things: Iterable[str]) -> Iterator[list[NameHolder]]:
    """The objects that had one name, for each name of these."""
    graph = asked.graph
    names = {(match_name(holder.name), holder.account) for thing in things for holder in graph.names_of(thing)}
    for name, account in sorted(names):
        yield _of_name(graph, name, account)


def unmasked_since(asked: Asked) -> Iterator[Namesakes]:
    """What got the names of masked objects, and has them in the time that is asked for; in no order."""
    columns, wholes = asked.match_names("column_name"), masked_wholes(asked.graph)
    for holders in histories(asked, asked_things(asked)):
        for one in _unmasked(asked, holders, wholes):
            if not columns or one.columns & {*columns, WHOLE}:
                period = period_of(one.holder, holders)
                read = max(_reads(asked, one.holder, period, one.columns), default=EARLY)
                yield one._replace(holder=as_it_came(asked, one.holder), read=read, lasts=period.end - period.begin)


def have_masked_namesakes(asked: Asked) -> set[str]:
    """The objects with a name that another one had or has, on which rows show a mask, on a column that is asked for."""
    graph, columns, found = asked.graph, asked.match_names("column_name"), set[str]()
    for holders in histories(asked, asked_things(asked)):
        masks = {holder.iri: masks_of(graph, holder.iri).keys() for holder in holders}
        masked = {iri for iri, own in masks.items() if (own & {*columns, WHOLE} if columns else own)}
        found |= {iri for iri in masks if masked - {iri}}
    return found


def _left(holder: NameHolder, holders: Iterable[NameHolder]) -> datetime | None:
    """When an object had lost its name: at the latest when a row shows it as that of another one that has it since, if
    no query names the former one so later. No row need say it, as of a SWAP of the schema.
    """
    if holder.until is not None:
        return in_utc(holder.until)
    last = max(in_utc(holder.since), in_utc(holder.seen or holder.since))
    others = (one for one in holders if one.iri != holder.iri and one.until is None)
    shown = (in_utc(time) for one in others for time in (one.since, one.seen) if time)
    return min((time for time in shown if time > last), default=None)


def period_of(holder: NameHolder, holders: Iterable[NameHolder]) -> Period:
    """When an object had its name, of the objects that had it."""
    return Period(in_utc(holder.since), _left(holder, holders) or LATE)


def as_it_came(asked: Asked, holder: NameHolder) -> NameHolder:
    """The same since when it came to the name: with its schema or database, if that was renamed or swapped before the
    first query that names it so.
    """
    former = [one for one in asked.graph.names_of(holder.iri) if one.until == holder.since]
    places = asked.places.get(holder.account) if former else None
    for statement in reversed(places.statements if places else ()):
        for one in former if statement.time <= in_utc(holder.since) else ():
            is_its = statement.counterpart(match_name(one.name)) == match_name(holder.name)
            if is_its and in_utc(one.since) <= statement.time:
                return replace(holder, since=statement.at)
    return holder


def asked_in(asked: Asked, thing: str, named: Period) -> list[Period]:
    """The times in which masks count, if an object has a name in the time that is asked for, ``named``: of an answer of
    one time, that, unless it was dropped then and restored later; of changes, only if it got the name then; of reads in
    clear, always, since those before and after a mask are in the answer.
    """
    if asked.name == _COVERAGE:
        times = asked.times("at")
        there = [Period(time, time + MOMENT) for time in times if not asked.graph.was_dropped(thing, time)]
        every = there if times else [AT_END]
    else:
        every = [Period(asked.since or EARLY, asked.until or LATE)]
    then = [time for time in every if max(time.begin, named.begin) < min(time.end, named.end)]
    if asked.name == "changes":
        return [time for time in then if time.begin <= named.begin]
    return [ALWAYS] if then and asked.name == _OF_READS else then


def named_then(asked: Asked, thing: str) -> Iterator[tuple[NameHolder, Period]]:
    """The names of a table or view in the time that is asked for, each with that time. What rows give without an id
    keeps its name if they give it with an id later.
    """
    for holder in asked.graph.names_of(thing):
        if holder.domain.endswith(DATA):
            others = asked.graph.holders(holder.name) if holder.until is None and holder.ident else ()
            period = period_of(holder, [one for one in others if one.account == holder.account])
            yield from ((holder, time) for time in asked_in(asked, thing, period))


def _unmasked(asked: Asked, holders: Sequence[NameHolder], wholes: Collection[str]) -> Iterator[Namesakes]:
    """Those of the objects that had one name, in order, that got it from masked ones: from those with masks while they
    had the name, before the next one had it. They have no mask in the time that is asked for. ``wholes``: schemas and
    databases with tags that mask.
    """
    graph, about = asked.graph, asked.about
    masked, shown = dict[str, NameHolder](), list[tuple[datetime, str, NameHolder]]()
    for holder in holders:
        named = period_of(holder, holders)
        masked |= {column: other for time, column, other in shown if time < named.begin}
        shown = [one for one in shown if one[0] >= named.begin]
        former = {column: other for column, other in masked.items() if other.iri != holder.iri}
        times = asked_in(asked, holder.iri, named) if former and (not about or holder.iri in about) else []
        lost = set[str]().union(
            *(
                _lost(graph, holder, former.keys(), time)
                for time in times
                if not is_masked_around(graph, holder, wholes, time)
            )
        )
        if lost:
            yield Namesakes(holder, max((former[one] for one in lost), key=lambda one: one.order), lost)
        shown += [(time, column, holder) for column, time in _masked_since(graph, holder, named).items()]


def _lost(graph: Lookups, holder: NameHolder, columns: Collection[str], period: Period) -> set[str]:
    """The columns with a mask on a former object, and none on this one in a period."""
    own, there = own_masks(graph, holder.iri, period), columns_of(graph, holder.iri)
    if WHOLE in own:
        return set()
    return {one for one in columns if one not in own and (not own if one == WHOLE else one in there)}


def _masked_since(graph: Lookups, holder: NameHolder, named: Period) -> dict[str, datetime]:
    """The columns on which an object surely had a mask in the time that it had the name; and since when each has it."""
    return {
        column: min(one.since for one in found)
        for column, every in masks_of(graph, holder.iri).items()
        if (found := [one for one in every if one.since < min(one.sure, named.end) and named.begin < one.sure])
    }


def columns_of(graph: Lookups, thing: str) -> set[str]:
    """The names of the columns of an object, as they are compared."""
    return {graph.text(column, "ah:matchName") or "" for column in graph.subjects("ah:columnOf", thing)}


def _in_words(graph: Lookups, one: Namesakes, *, has_accounts: bool) -> str:
    """``D.S.T.EMAIL (object_id=2 since 2026-09-02T03:00:00Z; masked: object_id=1)``; of several objects,
    ``D.S.T.EMAIL (since 2026-09-02T03:00:00Z; 3 objects, the latest object_id=4; masked: object_id=1)``.
    """
    holder, named = one.holder, sorted(one.columns - {WHOLE})
    what = f"{holder.name}.{first_of(named, _SHOWN)}" if named else holder.name
    owner = graph.of_account(holder.iri) if has_accounts or graph.is_of_other(holder.iri) else ""
    until = f" until {holder.until}" if holder.until else ""
    which = first_of(one.ids, _SHOWN) if one.ids else f"{holder.ident} since {holder.since}"
    last = f"; the last, {holder.ident}," if until and one.ids[1:] else ""
    if one.since:
        objects = f"{len(one.ids)} objects, the latest object_id={holder.ident}{until}"
        return f"{what}{owner} (since {one.since}; {objects}; {one.had}: object_id={one.masked.ident})"
    return f"{what}{owner} (object_id={which}{last}{until}; {one.had}: object_id={one.masked.ident})"


def entries_of(found: Iterable[Namesakes]) -> list[Namesakes]:
    """The entries of a note. What was read comes first, then those with the most weight; the second one of a name comes
    after the first ones of others, since a table that has its mask every other night has many. An object is in one
    entry, under the name of the most weight; objects that had one name since the same masked one are in one.
    """
    runs, told = defaultdict[tuple[object, ...], list[Namesakes]](list), set[str]()
    for one in sorted(found, key=lambda one: one.weight, reverse=True):
        if one.holder.iri not in told:
            told.add(one.holder.iri)
            runs[*one.holder.key, one.masked.iri, one.had, *sorted(one.columns)].append(one)
    entries = sorted(map(_as_one, runs.values()), key=lambda one: one.weight, reverse=True)
    numbers = defaultdict[tuple[str, str], Iterator[int]](count)
    return sorted(entries, key=lambda one: (one.read == EARLY, next(numbers[one.holder.key])))


def _as_one(every: Sequence[Namesakes]) -> Namesakes:
    """The last of those with one name, with the ones before it."""
    ordered = sorted(every, key=lambda one: one.holder.order)
    if len(ordered) == 1:
        return ordered[0]
    ids, read = [one.holder.ident or "" for one in ordered], max(one.read for one in ordered)
    return ordered[-1]._replace(ids=ids, since=ordered[0].holder.since, read=read)


def took_place(asked: Asked) -> Iterator[str]:
    """Notes on objects that had one name, one after the other, of which some are masked: on those that are not, and
    that answers about masks lack.
    """
    if asked.name not in _OF_MASKS:
        return
    found = list(unmasked_since(asked))
    if found:
        lack = f" Reads of it are not in the answer: {_BY_TIME}." if asked.name == _OF_READS else ""
        yield (
            "Another object got the name of one that was masked (as by CREATE OR REPLACE or a SWAP, also of the "
            f"schema), and no row shows a masking policy on it{then_of(asked)}: "
            f"{entries_in_words(asked, entries_of(found))}.{lack}"
        )
    before = list(_read_before(asked, {one.holder.iri for one in found})) if asked.name == _OF_READS else []
    if before:
        ordered = sorted(before, key=lambda one: one.holder.order, reverse=True)
        yield (
            "An object was read under a name that a masked one had later, and no row shows a masking policy on it: "
            f"{entries_in_words(asked, ordered)}. These reads are not in the answer: column-readers has them, by the "
            "id."
        )


def then_of(asked: Asked) -> str:
    """When no row shows a mask, in words."""
    if asked.name == _COVERAGE:
        return " at that time" if asked.times("at") else " at the end of the record"
    return " in that time" if asked.name != _OF_READS and (asked.since or asked.until) else ""


def entries_in_words(asked: Asked, entries: Sequence[Namesakes]) -> str:
    """The first entries; of more, what has the others."""
    has_accounts = len(asked.graph.accounts()) > 1
    texts = [_in_words(asked.graph, one, has_accounts=has_accounts) for one in entries]
    listed = first_of(texts, _SHOWN_ENTRIES, "; ")
    takes = {parameter.name for parameter in asked.question.parameters}
    ways = ["for one object (object_name)"] if "object_name" in takes and not asked.about else []
    ways += ["for less of the time (since, until)"] if "since" in takes else []
    return f"{listed} (ask {' or '.join(ways)})" if len(texts) > _SHOWN_ENTRIES and ways else listed


def _read_before(asked: Asked, told: Collection[str]) -> Iterator[Namesakes]:
    """The objects of which no row shows a mask on a column that was read, in the time that is asked for, under a name
    that one with a mask on such a column got later: one for each name. ``told``: objects that are left out.
    """
    graph, asked_columns, wholes = asked.graph, asked.match_names("column_name"), masked_wholes(asked.graph)
    about = asked.about
    for holders in histories(asked, asked_things(asked)):
        periods = [period_of(holder, holders) for holder in holders]
        shown = [_masked_since(graph, holder, named) for holder, named in zip(holders, periods, strict=True)]
        found = list[tuple[NameHolder, NameHolder, set[str]]]()
        for place, holder in enumerate(holders):
            own = own_masks(graph, holder.iri)
            if WHOLE in own or holder.iri in told or (about and holder.iri not in about):
                continue
            after = list(zip(holders, shown, strict=True))[place + 1 :][::-1]
            later = {column: one for one, masked in after if one.iri != holder.iri for column in masked.keys() - own}
            read = {
                column
                for column in (columns_of(graph, holder.iri) - own if later else ())
                if (column in later or WHOLE in later) and (not asked_columns or column in asked_columns)
                if any(_reads(asked, holder, periods[place], [column]))
            }
            if read and not is_masked_around(graph, holder, wholes):
                first = min((later.get(one) or later[WHOLE] for one in read), key=lambda one: one.order)
                found.append((holder, first, read & later.keys()))
        if found:
            last, masked, _ = found[-1]
            ids = list(dict.fromkeys(holder.ident or "" for holder, _, _ in found[::-1]))
            yield Namesakes(last, masked, set().union(*(columns for _, _, columns in found)), ids)


def _reads(asked: Asked, holder: NameHolder, named: Period, names: Collection[str]) -> Iterator[datetime]:
    """When queries read columns of an object while it had the name, in the time that is asked for. ``names``: of the
    columns; any, with that of an object as a whole. Of reads by day, the first and the last.
    """
    graph, every = asked.graph, WHOLE in names
    accesses = (
        access
        for column in graph.subjects("ah:columnOf", holder.iri)
        if every or graph.text(column, "ah:matchName") in names
        for access in graph.subjects("ah:readColumn", column)
    )
    for time in _starts(graph, islice(accesses, _LOOKED_AT)):
        is_then = asked.has(time) and (asked.name == _COVERAGE or not asked.until or time < asked.until)
        if is_then and named.begin <= time < named.end:
            yield time


# --- reads ------------------------------------------------------------------------------------------------------------


def last_read_before(asked: Asked, thing: str) -> str:
    """When what had the name of an object before it was last read under this name, in the time that is asked for, in
    words; empty if it was not.
    """
    graph = asked.graph
    for present in graph.names_of(thing)[-1:]:
        for other in reversed(_of_name(graph, present.name, present.account) if present.until is None else []):
            is_before = other.iri != thing and other.until is not None and asked.has(in_utc(other.until))
            reads = (
                [one for one in read_times(graph, other.iri) if asked.has(one) and other.holds(one)]
                if is_before
                else ()
            )
            if reads:
                return f"has the name since {present.since}; what had it before was read last at {as_text(max(reads))}"
    return ""


def read_times(graph: Lookups, thing: str) -> Iterator[datetime]:
    """When the reads of an object started; of reads by day, the first and the last one."""
    return _starts(graph, graph.subjects("ah:accessedObject", thing))


def _starts(graph: Lookups, accesses: Iterable[str]) -> Iterator[datetime]:
    """When the reads with these accesses started; of reads by day, the first and the last one."""
    terms = ("prov:qualifiedUsage", "ah:accessPattern")
    for read in {read for access in accesses for term in terms for read in graph.subjects(term, access)}:
        for time in ("prov:startedAtTime", "ah:lastStartedAtTime"):
            yield from map(in_utc, graph.objects(read, time))
