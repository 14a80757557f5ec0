"""Notes on masks, tags and other policies that a table lost because another object took its place: that one lacks them,
which no row says. The masks and reads of the former one are not its own.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime
from typing import Final

from exporter.ask.answers import first_of
from exporter.ask.container_history import CONTAINERS
from exporter.ask.lookups import Lookups, NameHolder
from exporter.ask.notes.asked import POLICY_COVERAGE, UNMASKED_READS, Asked
from exporter.ask.notes.clones import OF_SETTINGS
from exporter.ask.notes.mask_periods import (
    WHOLE,
    Held,
    Period,
    has_settings,
    is_masked_around,
    masked_wholes,
    masks_of,
    own_masks,
    settings_of,
)
from exporter.ask.notes.settings_without_id import containers_of
from exporter.ask.notes.successors import (
    DATA,
    Succession,
    asked_things,
    columns_of,
    entries_in_words,
    holders_by_name,
    ordered_entries,
    period_of,
    periods_asked_for,
    time_in_words,
    with_container_rename,
)
from exporter.ask.triples import EARLY

OF_POLICIES: Final = ("changes", "page-settings", "policy-coverage")
OF_TAGS: Final = (*OF_POLICIES, "tag-history")
OF_MASKS: Final = (*OF_POLICIES, "unmasked-copies", "unmasked-reads")
"""The questions whose answers lack what was lost."""
LOST: Final = "Another object got the name of one that "
"""The beginning of the notes on it."""

# --- masks ------------------------------------------------------------------------------------------------------------

_SHOWN: Final = 3
_LOOKED_AT: Final = 100_000
"""Of the reads of a column, at most: of more, a late one is late enough for an order."""
_BY_TIME: Final = "column-readers has them, by the id, or of several objects by the name with since (and until) as here"


def unmasked_successors(asked: Asked) -> Iterator[Succession]:
    """What got the names of masked objects, and has them in the time that is asked for; in no order."""
    columns, wholes = asked.match_names("column_name"), masked_wholes(asked.graph)
    for holders in holders_by_name(asked, asked_things(asked)):
        for succession in _unmasked(asked, holders, wholes):
            if not columns or succession.columns & {*columns, WHOLE}:
                period = period_of(succession.holder, holders)
                read = max(_reads(asked, succession.holder, period, succession.columns), default=EARLY)
                yield succession._replace(
                    holder=with_container_rename(asked, succession.holder),
                    read=read,
                    duration=period.end - period.begin,
                )


def with_names_of_masked(asked: Asked) -> set[str]:
    """The objects with a name that another one had or has, on which rows show a mask, on a column that is asked for."""
    graph, columns, things = asked.graph, asked.match_names("column_name"), set[str]()
    for holders in holders_by_name(asked, asked_things(asked)):
        masks = {holder.iri: masks_of(graph, holder.iri).keys() for holder in holders}
        masked = {iri for iri, own in masks.items() if (own & {*columns, WHOLE} if columns else own)}
        things |= {iri for iri in masks if masked - {iri}}
    return things


def _unmasked(asked: Asked, holders: Sequence[NameHolder], wholes: Collection[str]) -> Iterator[Succession]:
    """Those of the objects that had one name, in order, that got it from masked ones: from those with masks while they
    had the name, before the next one had it. They have no mask in the time that is asked for. ``wholes``: schemas and
    databases with tags that mask.
    """
    graph, about = asked.graph, asked.asked_objects
    masked, shown = dict[str, NameHolder](), list[tuple[datetime, str, NameHolder]]()
    for holder in holders:
        named = period_of(holder, holders)
        masked |= {column: other for time, column, other in shown if time < named.begin}
        shown = [entry for entry in shown if entry[0] >= named.begin]
        former = {column: other for column, other in masked.items() if other.iri != holder.iri}
        times = periods_asked_for(asked, holder.iri, named) if former and (not about or holder.iri in about) else []
        lost = set[str]().union(
            *(
                _lost(graph, holder, former.keys(), time)
                for time in times
                if not is_masked_around(graph, holder, wholes, time)
            )
        )
        if lost:
            yield Succession(
                holder, max((former[column] for column in lost), key=lambda former_holder: former_holder.order), lost
            )
        shown += [(since, column, holder) for column, since in _masked_since(asked, holder, named).items()]


def _end_of_name(graph: Lookups, holder: NameHolder, named: Period) -> datetime:
    """When an object lost its name: if it was dropped or replaced, then. The statement that does so may read it by its
    name, which it has a microsecond longer than its settings.
    """
    dropped = graph.dropped_at(holder.iri, named.end)
    return named.end if dropped is None or dropped < named.begin else dropped


def _lost(graph: Lookups, holder: NameHolder, columns: Collection[str], period: Period) -> set[str]:
    """The columns with a mask on a former object, and none on this one in a period."""
    own, there = own_masks(graph, holder.iri, period), columns_of(graph, holder.iri)
    if WHOLE in own:
        return set()
    return {column for column in columns if column not in own and (not own if column == WHOLE else column in there)}


def _masked_since(asked: Asked, holder: NameHolder, named: Period) -> dict[str, datetime]:
    """The columns on which an object surely had a mask when it lost its name, and since when: one that was unset before
    is not lost. Of unmasked reads, which can be before and after a mask: at any time in which it had the name.
    """
    until = _end_of_name(asked.graph, holder, named)
    begin = named.begin if asked.name == UNMASKED_READS else until
    return {
        column: min(held.since for held in surely_held)
        for column, periods in masks_of(asked.graph, holder.iri).items()
        if (surely_held := [held for held in periods if held.since < min(held.sure, until) and begin <= held.sure])
    }


def lost_masks(asked: Asked) -> Iterator[str]:
    """Notes on objects that had one name, one after the other, of which some are masked: on those that are not, and
    that answers about masks lack.
    """
    successors = list(unmasked_successors(asked))
    if successors:
        lack = f" Reads of it are not in the answer: {_BY_TIME}." if asked.name == UNMASKED_READS else ""
        yield (
            f"{LOST}was masked (as by CREATE OR REPLACE or a SWAP, also of the "
            f"schema), and no row shows a masking policy on it{time_in_words(asked)}: "
            f"{entries_in_words(asked, ordered_entries(successors))}.{lack}{_came_by_clone(asked, successors)}"
        )
    yield from _lost_settings(asked, "maskingPolicies", "a masking policy", "one", ("Tag",))
    before = (
        list(_read_before_masked(asked, {successor.holder.iri for successor in successors}))
        if asked.name == UNMASKED_READS
        else []
    )
    if before:
        ordered = sorted(before, key=lambda entry: entry.holder.order, reverse=True)
        yield (
            "An object was read under a name that a masked one had later, and no row shows a masking policy on it: "
            f"{entries_in_words(asked, ordered)}. These reads are not in the answer: column-readers has them, by the "
            "id."
        )


def _read_before_masked(asked: Asked, successors: Collection[str]) -> Iterator[Succession]:
    """The objects of which no row shows a mask on a column that was read, in the time that is asked for, under a name
    that one with a mask on such a column got later: one for each name. ``told``: objects that are left out.
    """
    about, wholes = asked.asked_objects, masked_wholes(asked.graph)
    for holders in holders_by_name(asked, asked_things(asked)):
        periods = [period_of(holder, holders) for holder in holders]
        masked = [_masked_since(asked, *pair).keys() for pair in zip(holders, periods, strict=True)]
        entries = list[Succession]()
        for place, (holder, named) in enumerate(zip(holders, periods, strict=True)):
            if holder.iri not in successors and (not about or holder.iri in about):
                after = zip(holders[place + 1 :], masked[place + 1 :], strict=True)
                entries += _masked_later(asked, holder, named, list(after), wholes)
        if entries:
            ids = [entry.holder.ident or "" for entry in reversed(entries)]
            columns = set[str]().union(*(entry.columns for entry in entries))
            yield Succession(entries[-1].holder, entries[-1].masked, columns, list(dict.fromkeys(ids)))


def _masked_later(
    asked: Asked,
    holder: NameHolder,
    named: Period,
    after: Sequence[tuple[NameHolder, AbstractSet[str]]],
    wholes: Collection[str],
) -> Iterator[Succession]:
    """An object that had a name in a period, if it was read in it without a mask, and one of those that had the name
    ``after`` it, each with its masked columns, has one on what was read.
    """
    graph, own, asked_columns = asked.graph, own_masks(asked.graph, holder.iri), asked.match_names("column_name")
    if WHOLE in own:
        return
    first = dict[str, NameHolder]()  # column -> the first with a mask on it
    for other, columns in reversed(after):
        if other.iri != holder.iri:
            first.update(dict.fromkeys(columns - own, other))
    read = {
        column
        for column in (columns_of(graph, holder.iri) - own if first else ())
        if (column in first or WHOLE in first) and (not asked_columns or column in asked_columns)
        if any(_reads(asked, holder, named, [column]))
    }
    if read and not is_masked_around(graph, holder, wholes):
        masked = min(
            (first.get(column) or first[WHOLE] for column in read), key=lambda former_holder: former_holder.order
        )
        yield Succession(holder, masked, read & first.keys())


def _reads(asked: Asked, holder: NameHolder, named: Period, names: Collection[str]) -> Iterator[datetime]:
    """When queries read columns of an object while it had the name, in the time that is asked for. ``names``: of the
    columns; any, with that of an object as a whole. Of reads by day, the first and the last.
    """
    graph = asked.graph
    accesses = (
        access
        for column in graph.columns_of(holder.iri, () if WHOLE in names else names)
        for access in graph.subjects("ah:readColumn", column)
    )
    for time in graph.starts(graph.at_most(accesses, _LOOKED_AT)):
        is_then = asked.has(time) and (asked.name == POLICY_COVERAGE or not asked.until or time < asked.until)
        if is_then and named.begin <= time < named.end:
            yield time


def _came_by_clone(asked: Asked, entries: Iterable[Succession]) -> str:
    """A sentence on those that may have what was lost, since they were made by CLONE or LIKE. Other questions have a
    note on all of these.
    """
    graph = asked.graph
    names = {
        entry.holder.name for entry in entries if asked.name not in OF_SETTINGS and _is_clone(graph, entry.holder.iri)
    }
    if not names:
        return ""
    return f" Made by CLONE or LIKE, and no row records what came with that: {first_of(sorted(names), _SHOWN)}."


def _is_clone(graph: Lookups, thing: str) -> bool:
    changes, versions = (graph.subjects(term, thing) for term in ("ah:changedObject", "prov:specializationOf"))
    return any(any(graph.objects(change, "ah:madeFromName")) for change in changes) or any(
        any(graph.objects(version, "ah:inferredFrom")) for version in versions
    )


# --- tags and other policies ------------------------------------------------------------------------------------------

_SETTINGS_LOOKED_AT: Final = 10_000
_TAGS: Final = "tags"
_POLICIES: Final = {
    "rowAccessPolicies": "a row access policy",
    "aggregationPolicies": "an aggregation policy",
    "projectionPolicies": "a projection policy",
    "joinPolicies": "a join policy",
}


def lost_tags(asked: Asked) -> Iterator[str]:
    """A note on what got the names of tagged objects, and of which no row shows that it has the tag. An answer of
    policy-coverage without rows says which tags ended on what is asked for.
    """
    is_empty = asked.name == POLICY_COVERAGE and not asked.answer.rows
    if not is_empty or asked.asked_objects:
        yield from _lost_settings(asked, _TAGS, "a tag", "the tag", (*DATA, *CONTAINERS))


def lost_policies(asked: Asked) -> Iterator[str]:
    """Notes on what got the names of objects with row access policies, and others that do not mask, and of which no row
    shows that it has one.
    """
    for property_, words in _POLICIES.items():
        yield from _lost_settings(asked, property_, words, "one")


def _lost_settings(
    asked: Asked, property_: str, words: str, pronoun: str, domains: tuple[str, ...] = DATA
) -> Iterator[str]:
    if not has_settings(asked.graph, property_):
        return
    columns = asked.match_names("column_name")
    things = things_with(asked, "ah:TagSetting" if property_ == _TAGS else "ah:PolicySetting")
    successions = (
        succession
        for holders in holders_by_name(asked, things, domains)
        for succession in _without(asked, holders, property_, things)
    )
    entries = [
        entry._replace(columns=entry.columns & {*columns, WHOLE} if columns else entry.columns) for entry in successions
    ]
    is_empty = property_ == _TAGS and asked.name == POLICY_COVERAGE and not asked.answer.rows
    told = asked.asked_objects if is_empty else set[str]()
    entries = [entry for entry in entries if entry.columns and entry.masked.iri not in told]
    if entries:
        yield (
            f"{LOST}had {words} (as by CREATE OR REPLACE or a SWAP, also of the "
            f"schema), and no row shows {pronoun} on it{time_in_words(asked)}: "
            f"{entries_in_words(asked, ordered_entries(entries))}.{_came_by_clone(asked, entries)}"
        )


def things_with(asked: Asked, class_: str) -> set[str]:
    """The objects that are asked for, and what they are in; if it is all, what has or had such a setting, or an
    enforced policy.
    """
    if asked.values("object_name", "object_id", "object"):
        return {*asked.asked_objects, *containers_of(asked.graph, asked.asked_objects)}
    graph = asked.graph
    settings = graph.at_most(graph.of_class(class_), _SETTINGS_LOOKED_AT)
    things = {thing for setting in settings for thing in graph.objects(setting, "ah:settingOn")}
    enforced = graph.with_text("ah:policyKind", "ROW_ACCESS_POLICY") if class_ == "ah:PolicySetting" else ()
    return things | {thing for enforcement in enforced for thing in graph.objects(enforcement, "ah:protectedObject")}


def _without(
    asked: Asked, holders: Sequence[NameHolder], property_: str, things: Collection[str]
) -> Iterator[Succession]:
    """Those of the objects that had one name, in order, that lack a tag or policy in the time that is asked for, which
    a former one had when it lost the name. A policy is lacking where there is none of its kind. ``things``: the objects
    that are asked for.
    """
    graph, asked_tags = asked.graph, asked.match_names("tag_name")
    on = {holder.iri: settings_of(graph, holder.iri, property_) for holder in holders}
    for element in sorted({element for elements in on.values() for element in elements}):
        if asked_tags and asked_tags.isdisjoint(holder.key[1] for holder in graph.names_of(element)):
            continue
        having = dict[str, NameHolder]()
        for holder in holders:
            named, own = period_of(holder, holders), on[holder.iri].get(element, {})
            until = _end_of_name(graph, holder, named)
            former = {
                column: former_holder for column, former_holder in having.items() if former_holder.iri != holder.iri
            }
            times = [
                Period(max(time.begin, named.begin), min(time.end, named.end))
                for time in (periods_asked_for(asked, holder.iri, named) if former else ())
                if not graph.was_dropped(element, time.begin)
            ]
            lost = _lacking(graph, holder, set(former), own if property_ == _TAGS else _together(on[holder.iri]), times)
            if lost and (not asked.asked_objects or holder.iri in things):
                last = max((former[lost_column] for lost_column in lost), key=lambda former_holder: former_holder.order)
                yield Succession(
                    with_container_rename(asked, holder),
                    last,
                    lost,
                    duration=named.end - named.begin,
                    had=graph.label(element),
                )
            for column, periods in own.items():  # one that was unset is not lost
                having.pop(column, None)
                if any(held.since < until <= held.sure for held in periods):
                    having[column] = holder


def _together(by_element: Mapping[str, Mapping[str, list[Held]]]) -> dict[str, list[Held]]:
    """Policies of one kind, of which one place has one at a time, as one."""
    return {
        name: [held for by_name in by_element.values() for held in by_name.get(name, ())]
        for own in by_element.values()
        for name in own
    }


def _lacking(
    graph: Lookups, holder: NameHolder, columns: set[str], own: dict[str, list[Held]], times: Sequence[Period]
) -> set[str]:
    """The columns of an object on which no row has set the tag by the end of one of the times at least. What was set on
    it, and unset, is not lost.
    """
    there = {*columns_of(graph, holder.iri), WHOLE}
    return {
        column
        for column in columns & there
        if any(not any(held.since < time.end for held in own.get(column, ())) for time in times)
    }
