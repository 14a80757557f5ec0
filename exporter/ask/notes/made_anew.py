"""A note on objects that were made anew under their own id or name, as by CREATE OR REPLACE in rows without ids: what
was set on them is gone, which no row says.

What got the name of another object is told in :mod:`exporter.ask.notes.lost_protection`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Final, NamedTuple

from exporter.ask.answers import first_of
from exporter.ask.lookups import LATE, Lookups, in_utc
from exporter.ask.notes.asked import CHANGES, POLICY_COVERAGE, Asked
from exporter.ask.notes.lost_protection import things_with
from exporter.ask.notes.mask_periods import MOMENT, WHOLE, Held, masks_of, settings_of
from exporter.model.effects import CREATES

_MASKS, _TAGS = "maskingPolicies", "tags"
_UNMASKED_COPIES: Final = "unmasked-copies"
_KINDS: Final = {
    _MASKS: "masking policy",
    _TAGS: "tag",
    "rowAccessPolicies": "row access policy",
    "aggregationPolicies": "aggregation policy",
    "projectionPolicies": "projection policy",
    "joinPolicies": "join policy",
}
_OF: Final[Mapping[str, tuple[str, ...]]] = {"tag-history": (_TAGS,), _UNMASKED_COPIES: (_MASKS,)}
"""Questions about some of them alone."""
OF_SETTINGS: Final = ("changes", "page-settings", "policy-coverage", *_OF)
MADE_ANEW: Final = "What is made anew under its own id or name (as by CREATE OR REPLACE) loses what was set on it."
"""The beginning of the note."""
_SHOWN: Final = 3


class _Lost(NamedTuple):
    """``on``: the name of a column, or :data:`WHOLE`; ``made``: when its object was made anew."""

    kind: str
    element: str
    on: str
    made: datetime


def made_anew(asked: Asked) -> Iterator[str]:
    """What objects had when they were made anew, and of which no row shows in the time that is asked for that they have
    it again.
    """
    graph, columns, found = asked.graph, asked.match_names("column_name"), list[tuple[datetime, str]]()
    for thing in sorted(things_with(asked, "ah:TagSetting") | things_with(asked, "ah:PolicySetting")):
        lost = [one for one in _lost(asked, thing) if not columns or one.on in {*columns, WHOLE}]
        for made in sorted({one.made for one in lost}):
            what = [
                f"{_KINDS[one.kind]} {graph.label(one.element)}{'' if one.on == WHOLE else f' on {one.on}'}"
                for one in lost
                if one.made == made
            ]
            time = made.isoformat().replace("+00:00", "Z")
            found.append((made, f"{graph.name_at(thing, time)} at {time} ({first_of(what, _SHOWN)})"))
    if found:
        latest = [text for _, text in sorted(found, reverse=True)]
        copies = " Copies from before are not in the answer if they were read since: column-copies has them."
        told = copies if asked.name == _UNMASKED_COPIES else ""
        yield f"{MADE_ANEW} No row sets it since: {first_of(latest, _SHOWN)}.{told}"


def _lost(asked: Asked, thing: str) -> Iterator[_Lost]:
    graph, asked_tags = asked.graph, asked.match_names("tag_name")
    times = asked.times("at") if asked.name == POLICY_COVERAGE else []
    ends = [time for time in times or [asked.until or LATE] if not graph.was_dropped(thing, time)]
    first = min((in_utc(holder.since) for holder in graph.names_of(thing)), default=LATE)
    creations = [one for one in _creations(graph, thing) if ends and first < one[0] < max(ends)]
    if asked.name == CHANGES:
        creations = [one for one in creations if asked.has(one[0])]
    for kind in _OF.get(asked.name, _KINDS) if creations else ():
        every = settings_of(graph, thing, kind)
        for element, by_column in sorted(every.items()):
            if asked_tags and asked_tags.isdisjoint(holder.key[1] for holder in graph.names_of(element)):
                continue
            for column, periods in sorted(by_column.items()):
                again = [by_column] if kind == _TAGS else [*every.values()]
                if kind == _MASKS:
                    again.append(masks_of(graph, thing))
                since = [held.since for one in again for held in one.get(column, ())]
                for start, end in creations:
                    if any(_is_ended(graph, thing, held, start, end) for held in periods) and any(
                        start < time and not any(start <= one < time for one in since)
                        for time in ends
                        if not graph.was_dropped(element, time)
                    ):
                        yield _Lost(kind, element, column, start)


def _creations(graph: Lookups, thing: str) -> list[tuple[datetime, datetime]]:
    """When statements made an object: when each started, and when it had ended."""
    found = list[tuple[datetime, datetime]]()
    for change in graph.subjects("ah:changedObject", thing):
        if graph.text(change, "ah:operation") in CREATES:
            for query in graph.objects(change, "dcterms:isPartOf"):
                starts = sorted(map(in_utc, graph.objects(query, "prov:startedAtTime")))
                ends = sorted(map(in_utc, graph.objects(query, "prov:endedAtTime")))
                found += [(start, max([start, *ends])) for start in starts]
    return sorted(found)


def _is_ended(graph: Lookups, thing: str, held: Held, start: datetime, end: datetime) -> bool:
    """Whether a creation ended what was surely set until then, or a DROP before it did."""
    if held.since >= start or held.until > end:
        return False
    return held.sure >= start or (held.sure == held.until == graph.dropped_at(thing, start - MOMENT))
