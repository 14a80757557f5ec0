"""Notes on what took the place of another object: a table that is made anew each night (CREATE OR REPLACE, or a build
and a SWAP) is another object each time, and one table to its users. The masks and reads of the former one are not its
own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import islice
from typing import Final, NamedTuple

from exporter.ask.answers import first_of
from exporter.ask.asked import Asked, in_utc
from exporter.ask.lookups import Lookups, NameHolder
from exporter.ask.parameters import as_text
from exporter.ask.without_ids import containers_of, same_names
from exporter.model.identifiers import match_name
from exporter.system.reachable import reachable

_OF_MASKS: Final = ("changes", "policy-coverage", "unmasked-copies", "unmasked-reads")
_MASKED: Final = {
    ("ah:policyKind", "MASKING_POLICY"): "ah:protectedObject",
    ("ah:property", "maskingPolicies"): "ah:settingOn",
}
"""A property and its text, of all nodes that say of a mask what it is on -> the property that does."""
_WHOLE: Final = ""
"""In the place of a column: a mask of which rows name the object alone."""
_SHOWN: Final = 3
_LOOKED_AT: Final = 10_000
_DATA: Final = ("Table", "View", "table", "view")


def _of_name(graph: Lookups, name: str, account: str) -> list[NameHolder]:
    """The tables and views with an id that had a name, in order. What rows give without an id may be any of them."""
    return [
        holder
        for holder in graph.holders(name)
        if holder.ident and holder.account == account and holder.domain.endswith(_DATA)
    ]


# --- masks ------------------------------------------------------------------------------------------------------------


def masked_things(graph: Lookups) -> set[str]:
    """The objects on which rows show masking policies, also by tags."""
    nodes = ((node, place) for said, place in _MASKED.items() for node in graph.with_text(*said))
    masked = {thing for node, place in islice(nodes, _LOOKED_AT) for thing in graph.objects(node, place)}
    marks = (mark for tag in masked for mark in graph.subjects("ah:elementObject", tag))
    return masked | {thing for mark in marks for thing in graph.objects(mark, "ah:settingOn")}


class _Unmasked(NamedTuple):
    """What took the place of a masked object: the name that it has from it, the last masked object of that name, and
    the columns of both that were masked, and on which no row shows a mask any more.
    """

    holder: NameHolder
    masked: NameHolder
    columns: set[str]


def unmasked_since(asked: Asked) -> list[_Unmasked]:
    """What took the place of masked objects, and has their name in the time that is asked for; in the order of time."""
    graph, columns = asked.graph, asked.match_names("column_name")
    things = asked.about or masked_things(graph)
    names = {(match_name(holder.name), holder.account) for thing in things for holder in graph.names_of(thing)}
    found = list[_Unmasked]()
    for name, account in names:
        fresh = [
            one
            for one in _unmasked(graph, _of_name(graph, name, account))
            if (not asked.about or one.holder.iri in asked.about) and _is_then(asked, one.holder)
            if not columns or one.columns & {*columns, _WHOLE}
        ]
        if fresh and not _is_masked_around(graph, fresh[-1].holder.iri):
            found += fresh
    return sorted(found, key=lambda one: one.holder.order)


def _is_then(asked: Asked, holder: NameHolder) -> bool:
    """Whether it has the name in the time that is asked for; of an answer of one time, then; of changes, whether it got
    the name then.
    """
    if asked.name == "policy-coverage":
        times = asked.times("at")
        return any(map(holder.holds, times)) if times else holder.until is None
    if asked.name == "changes" and asked.since is not None and in_utc(holder.since) < asked.since:
        return False
    has_ended = holder.until is not None and asked.since is not None and in_utc(holder.until) <= asked.since
    return not has_ended and (asked.until is None or in_utc(holder.since) < asked.until)


def _unmasked(graph: Lookups, holders: Iterable[NameHolder]) -> Iterator[_Unmasked]:
    """Those of the objects that had one name, in order, that took the place of masked ones."""
    masked = dict[str, NameHolder]()
    for holder in holders:
        own = {one for form in (holder.iri, *same_names(graph, holder.iri)) for one in _masks(graph, form)}
        before = {one: other for one, other in masked.items() if one not in own and other.iri != holder.iri}
        there = {graph.text(column, "ah:matchName") for column in graph.subjects("ah:columnOf", holder.iri)}
        lost = {one for one in before if (not own if one == _WHOLE else one in there)}
        if lost and _WHOLE not in own:
            yield _Unmasked(holder, max((before[one] for one in lost), key=lambda one: one.order), lost)
        if holder.until:
            masked |= dict.fromkeys(_masks(graph, holder.iri, in_utc(holder.until)), holder)


def _masks(graph: Lookups, thing: str, until: datetime | None = None) -> set[str]:
    """The columns of an object on which rows show a masking policy at any time before ``until``, under all their
    names.
    """
    found = set[str]()
    for enforcement in graph.subjects("ah:protectedObject", thing):
        is_mask = graph.text(enforcement, "ah:policyKind") == "MASKING_POLICY"
        if is_mask and _is_before(graph, graph.subjects("ah:enforced", enforcement), "prov:startedAtTime", until):
            found |= _names(graph, graph.text(enforcement, "ah:protectedColumn"))
    for setting in graph.subjects("ah:settingOn", thing):
        if _is_mask(graph, setting) and _is_before(graph, [setting], "ah:validFrom", until):
            found |= _names(graph, graph.text(setting, "ah:onColumn"))
    return found


def _is_before(graph: Lookups, nodes: Iterable[str], term: str, until: datetime | None) -> bool:
    """Whether one of the nodes has such a time before ``until``."""
    return until is None or any(in_utc(time) < until for node in nodes for time in graph.objects(node, term))


def _is_masked_around(graph: Lookups, thing: str) -> bool:
    """Whether an object may have a mask by a tag of its schema or database."""
    around = (one for place in containers_of(graph, [thing]) for one in graph.subjects("ah:settingOn", place))
    return any(_is_mask(graph, setting) for setting in around)


def _is_mask(graph: Lookups, setting: str) -> bool:
    """Whether what is set is a masking policy, or a tag with one."""
    if graph.text(setting, "ah:property") == "maskingPolicies":
        return True
    tags = {form for tag in graph.objects(setting, "ah:elementObject") for form in (tag, *same_names(graph, tag))}
    on_tags = (one for tag in tags for one in graph.subjects("ah:settingOn", tag))
    return any(graph.text(one, "ah:property") == "maskingPolicies" for one in on_tags)


def _names(graph: Lookups, column: str | None) -> set[str]:
    if column is None:
        return {_WHOLE}

    def renamed(one: str) -> Iterator[str]:
        yield from graph.objects(one, "ah:renamedFrom")
        yield from graph.subjects("ah:renamedFrom", one)

    return {graph.text(one, "ah:matchName") or "" for one in reachable([column], renamed)}


def _in_words(one: _Unmasked) -> str:
    """``D.S.T.EMAIL (object_id=2 since 2026-09-02T03:00:00Z; masked: object_id=1)``."""
    holder, named = one.holder, sorted(one.columns - {_WHOLE})
    what = f"{holder.name}.{first_of(named, _SHOWN)}" if named else holder.name
    until = f" until {holder.until}" if holder.until else ""
    return f"{what} (object_id={holder.ident} since {holder.since}{until}; masked: object_id={one.masked.ident})"


def took_place(asked: Asked) -> Iterator[str]:
    """A note on what took the place of masked objects, which answers about masks lack."""
    if asked.name not in _OF_MASKS:
        return
    latest = dict[tuple[str, str], str]()
    for one in reversed(unmasked_since(asked)):
        latest.setdefault(one.holder.key, _in_words(one))
    texts = list(latest.values())
    if texts:
        lack = " Reads of it are not in the answer: column-readers has them." if asked.name == "unmasked-reads" else ""
        yield (
            "Another object took the place of one that was masked (CREATE OR REPLACE, or a SWAP), and no row shows a "
            f"masking policy on it: {first_of(texts, _SHOWN, '; ')}.{lack}"
        )


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
                [one for one in _read_times(graph, other.iri) if asked.has(one) and other.holds(one)]
                if is_before
                else ()
            )
            if reads:
                return f"has the name since {present.since}; what had it before was read last at {as_text(max(reads))}"
    return ""


def _read_times(graph: Lookups, thing: str) -> Iterator[datetime]:
    accesses = list(graph.subjects("ah:accessedObject", thing))
    for term in ("prov:qualifiedUsage", "ah:accessPattern"):
        for read in {read for access in accesses for read in graph.subjects(term, access)}:
            for time in ("prov:startedAtTime", "ah:lastStartedAtTime"):
                yield from map(in_utc, graph.objects(read, time))
