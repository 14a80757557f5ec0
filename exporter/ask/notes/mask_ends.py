"""What ends a mask that queries enforced and no row sets, but for a row that unsets it, or makes its object anew."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from exporter.ask.lookups import Lookups
from exporter.ask.notes.column_names import drops_of
from exporter.ask.triples import in_utc


def ends_without_unset(graph: Lookups, thing: str, column: str | None, policy: str) -> Iterator[datetime]:
    """When its policy is made anew under its own id or name, its column is dropped, the policy is unset from a tag, or
    a tag with it from the column or its object, which may have the tag since before the record.
    """
    yield from graph.replacements(policy, None)
    yield from drops_of(graph, column) if column else ()
    on_tags = graph.tags_of_policies.get(policy, set())
    for _, setting in on_tags:
        yield from _unset(graph, setting)
    tags = {form for tag, _ in on_tags for form in (tag, *graph.same_names(tag))}
    for mark in graph.subjects("ah:settingOn", thing) if tags else ():
        is_its = graph.text(mark, "ah:onColumn") in {column, None}
        if is_its and not tags.isdisjoint(graph.objects(mark, "ah:elementObject")):
            yield from _unset(graph, mark)


def _unset(graph: Lookups, setting: str) -> Iterator[datetime]:
    """When it was unset, if it is of a row that unsets something."""
    if graph.text(setting, "ah:validFrom") is None:
        for change in graph.subjects("ah:hasSetting", setting):
            yield from map(in_utc, graph.objects(change, "prov:startedAtTime"))
