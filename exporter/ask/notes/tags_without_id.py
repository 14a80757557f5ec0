"""Tags and masks that rows give in two forms, with an id and by name alone.

A mask that queries enforced in one form, and that rows set on a tag in the other, is not taken to end where the tag is
unset or dropped. A mask on a tag in one form counts for what has the tag in the other, whenever that was.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from functools import cache
from typing import Final

from exporter.ask.lookups import Lookups
from exporter.ask.notes.mask_periods import masked_wholes, masks_by_tags
from exporter.ask.triples import LATE, Solution, in_utc
from exporter.model.effects import CREATES
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


_IN_BOTH_FORMS: Final = """\
SELECT DISTINCT ?nameless ?tag ?name ?thing ?column ?masked_since ?tagged_since ?by_name WHERE {
  ?nameless ah:sameNameAs ?tag ; ah:domain "Tag" ; rdfs:label ?name .
  { ?mask ah:settingOn ?nameless . ?mark ah:elementObject ?tag . BIND(true AS ?is_mask) } UNION {
    ?mask ah:settingOn ?tag . ?mark ah:elementObject ?nameless . BIND(false AS ?is_mask)
  }
  ?mask a ah:PolicySetting ; ah:elementObject ?policy ; ah:validFrom ?masked_since .
  ?mark a ah:TagSetting ; ah:settingOn ?thing ; ah:validFrom ?tagged_since .
  OPTIONAL { ?mask ah:validUntil ?masked_until }
  OPTIONAL { ?mark ah:validUntil ?tagged_until }
  OPTIONAL { ?mark ah:onColumn/ah:columnName ?column }
  FILTER(COALESCE(?masked_until > ?tagged_since, true) && COALESCE(?tagged_until > ?masked_since, true))
  BIND(IF(?is_mask, ?masked_since, ?tagged_since) AS ?by_name)
}
ORDER BY ?name ?thing ?column
"""
"""A policy on a tag in one form, and what has the tag in the other at the same time. ``by_name``: since when the one of
them is set that gives no id.
"""


def counted_in_the_other_form(graph: Lookups) -> Iterator[Solution]:
    """What has a tag in one form, of which a policy on the other counts, though these may be two tags: the one with the
    id had another name when a row gave this one, or a row created a tag of one of them in between.
    """
    for row in graph.select(_IN_BOTH_FORMS):
        first, last = sorted((in_utc(row["masked_since"]), in_utc(row["tagged_since"])))
        created = (time for form in (row["tag"], row["nameless"]) for time in _creations(graph, form))
        if not _had_name(graph, row, in_utc(row["by_name"])) or any(first < time <= last for time in created):
            yield row


def _had_name(graph: Lookups, row: Solution, time: datetime) -> bool:
    """Whether the tag with the id had the name of the other then; before it is on record, its first one."""
    keys, names = {holder.key for holder in graph.names_of(row["nameless"])}, graph.names_of(row["tag"])
    had = [holder for holder in names if holder.holds(time)] or names[:1]
    return any(holder.key in keys for holder in had)


def _creations(graph: Lookups, thing: str) -> Iterator[datetime]:
    for change in graph.subjects("ah:changedObject", thing):
        if graph.text(change, "ah:operation") in CREATES:
            yield in_utc(graph.text(change, "prov:startedAtTime") or "")
