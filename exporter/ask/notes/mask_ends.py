"""What becomes of a mask that queries enforced and no row sets.

What ends it, but for a row that unsets it; and the RENAME of its column, under whose new name it goes on.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from datetime import datetime
from typing import NamedTuple

from exporter.ask.lookups import Lookups
from exporter.ask.notes.column_names import drops_of
from exporter.ask.triples import in_utc


def ends_without_unset(graph: Lookups, thing: str, column: str | None, policy: str) -> Iterator[datetime]:
    """When its policy is made anew under its own id or name, its column is dropped, the policy is unset from a tag, or
    a tag with it from the column or its object, which may have the tag since before the record.
    """
    yield from graph.replacements(policy, None)
    yield from drops_of(graph, column) if column else ()
    yield from ends_by_tags(graph, thing, column, policy)


def ends_by_tags(graph: Lookups, thing: str, column: str | None, policy: str) -> Iterator[datetime]:
    """When the policy is unset from a tag, or a tag with it from the column or its object."""
    on_tags = graph.tags_of_policies.get(policy, set())
    for _, setting in on_tags:
        yield from _unset(graph, setting)
    tags = {form for tag, _ in on_tags for form in (tag, *graph.same_names(tag))}
    for mark in graph.subjects("ah:settingOn", thing) if tags else ():
        is_its = graph.text(mark, "ah:onColumn") in {column, None}
        if is_its and not tags.isdisjoint(graph.objects(mark, "ah:elementObject")):
            yield from _unset(graph, mark)


def not_during_changes(graph: Lookups, column: str | None, starts: Collection[datetime]) -> list[datetime]:
    """The starts of queries that enforced a mask on a column, without those while a statement ran that set or unset one
    there: they say nothing about the time after it.
    """
    runs = [
        (in_utc(start), in_utc(end or start))
        for setting in (graph.subjects("ah:onColumn", column) if column else ())
        if graph.text(setting, "ah:property") == "maskingPolicies"
        for change in graph.subjects("ah:hasSetting", setting)
        for query in graph.objects(change, "dcterms:isPartOf")
        for start, end in [(graph.text(query, "prov:startedAtTime") or "", graph.text(query, "prov:endedAtTime"))]
    ]
    return [time for time in starts if not any(start <= time <= end for start, end in runs)]


def times_made(graph: Lookups, thing: str) -> list[datetime]:
    """When an object was made, or made anew, which ends what is set on it."""
    return [time for made in ("CREATE", "REPLACE") for time in graph.replacements(thing, None, made)]


def _unset(graph: Lookups, setting: str) -> Iterator[datetime]:
    """When it was unset, if it is of a row that unsets something."""
    if graph.text(setting, "ah:validFrom") is None:
        for change in graph.subjects("ah:hasSetting", setting):
            yield from map(in_utc, graph.objects(change, "prov:startedAtTime"))


class Kept(NamedTuple):
    """A mask that was only enforced goes on under the new name of a column."""

    former: str
    column: str
    policy: str
    time: datetime


def kept_by_renames(graph: Lookups, thing: str) -> list[Kept]:
    """The masks that go on, of the columns of an object."""
    return [
        Kept(former, column, policy, time)
        for column in graph.subjects("ah:columnOf", thing)
        if any(graph.objects(column, "ah:renamedFrom"))
        for version in graph.subjects("prov:specializationOf", column)
        for policy in graph.objects(version, "ah:keepsMask")
        for whole in graph.objects(version, "dcterms:isPartOf")
        for time in map(in_utc, graph.objects(whole, "prov:generatedAtTime"))
        if not _is_replaced(graph, policy, time)
        for before in graph.objects(version, "prov:wasDerivedFrom")
        for former in graph.objects(before, "prov:specializationOf")
    ]


def _is_replaced(graph: Lookups, policy: str, by: datetime) -> bool:
    """Whether a policy was made anew by a time, and no query enforced it since."""
    replaced = graph.replacements(policy, by)
    enforced = graph.subjects("ah:policy", policy) if replaced else ()
    queries = (query for enforcement in enforced for query in graph.subjects("ah:enforced", enforcement))
    starts = (in_utc(time) for query in queries for time in graph.objects(query, "prov:startedAtTime"))
    return bool(replaced) and not any(replaced[-1] < start <= by for start in starts)
