"""Masks that queries enforced in one form, with the id of the policy or by its name alone, and that rows set on a tag
in the other form. Where the tag is unset or dropped, the mask that was enforced is not taken to end.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from functools import cache
from typing import Final

from exporter.ask.lookups import Lookups
from exporter.ask.notes.mask_periods import masked_wholes, masks_by_tags
from exporter.ask.triples import LATE
from exporter.system.reachable import reachable

_FORMS: Final = "SELECT ?nameless ?element WHERE { ?nameless ah:sameNameAs ?element }"


def ended_with_their_tags(graph: Lookups) -> Iterator[tuple[str, str]]:
    """What had such a mask until a row unset or dropped its tag, and the name of the policy."""
    wholes = masked_wholes(graph)
    on_tags = cache(lambda thing: [*masks_by_tags(graph, thing, wholes)])
    for row in graph.select(_FORMS):
        for own, other in ((row["nameless"], row["element"]), (row["element"], row["nameless"])):
            tags = _tags_of(graph, other) - _tags_of(graph, own)
            enforcements = graph.subjects("ah:policy", own) if tags else iter(())
            for enforcement in filter(graph.is_mask, enforcements):
                thing = graph.text(enforcement, "ah:protectedObject") or ""
                ends = [
                    (column, held.until)
                    for column, elements, held in on_tags(thing)
                    if held.until < LATE and other in elements and not tags.isdisjoint(elements)
                ]
                if ends and _is_seen_before(graph, enforcement, ends):
                    yield thing, graph.label(row["nameless"])


def _tags_of(graph: Lookups, policy: str) -> set[str]:
    """The tags on which rows set or unset a policy in this form of it; the tags in all their forms."""
    tags = {tag for tag, _ in graph.tags_of_policies.get(policy, ())}
    return {form for tag in tags for form in (tag, *graph.same_names(tag))}


def _is_seen_before(graph: Lookups, enforcement: str, ends: list[tuple[str | None, datetime]]) -> bool:
    """Whether a query enforced a mask before one of these ends on its column, or on the object as a whole."""
    column = graph.text(enforcement, "ah:protectedColumn")
    columns = {*reachable([column], graph.renamed_columns), None} if column else {None}
    last = max((until for place, until in ends if place in columns), default=None)
    queries = graph.subjects("ah:enforced", enforcement) if last else iter(())
    return last is not None and any(start < last for query in queries for start in graph.starts_of(query))
