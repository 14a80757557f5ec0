"""A note on objects that were made anew under their own id or name, as by CREATE OR REPLACE in rows without ids: what
was set on them is gone, which no row says.

What got the name of another object is told in :mod:`exporter.ask.notes.lost_protection`.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import cache, cached_property
from typing import Final, NamedTuple

from exporter.ask.answers import first_of
from exporter.ask.lookups import Lookups
from exporter.ask.notes.asked import CHANGES, POLICY_COVERAGE, UNMASKED_COPIES, UNMASKED_READS, Asked
from exporter.ask.notes.columns import copies_of
from exporter.ask.notes.lost_protection import things_with
from exporter.ask.notes.mask_periods import (
    WHOLE,
    Held,
    Period,
    is_masked_around,
    masked_wholes,
    names_of_column,
    settings_of,
)
from exporter.ask.notes.two_forms import made_at
from exporter.ask.parameters import as_text
from exporter.ask.triples import EARLY, LATE, MOMENT, in_utc
from exporter.ask.without_id import Renaming, renamed_forms, renamings
from exporter.model.effects import CREATES

_MASKS, _TAGS = "maskingPolicies", "tags"
_KINDS: Final = {
    _MASKS: "masking policy",
    _TAGS: "tag",
    "rowAccessPolicies": "row access policy",
    "aggregationPolicies": "aggregation policy",
    "projectionPolicies": "projection policy",
    "joinPolicies": "join policy",
}
_ENFORCED_KINDS: Final = {_MASKS: "MASKING_POLICY", "rowAccessPolicies": "ROW_ACCESS_POLICY"}
"""Policies that rows of queries name."""
_OF: Final[Mapping[str, tuple[str, ...]]] = {
    "tag-history": (_TAGS,),
    UNMASKED_COPIES: (_MASKS, _TAGS),
    UNMASKED_READS: (_MASKS, _TAGS),
}
"""Questions about some of them alone; of tags, those about unmasked reads are about those that mask."""
OF_SETTINGS: Final = ("changes", "page-settings", "policy-coverage", *_OF)
MADE_ANEW: Final = "What is made anew under its own id or name (as by CREATE OR REPLACE) loses what was set on it."
READ_IN_BETWEEN: Final = (
    "Copies of what was made anew under its own id or name, and masked again later, were read in between: "
)
PERHAPS_ANEW: Final = "A CREATE of a table or view that was there can be one IF NOT EXISTS, which ends nothing."
"""The beginnings of the notes."""
_COPIES: Final = " Copies from before are not in the answer if they were read since: column-copies has them."
_SHOWN: Final = 3
_LOOKED_AT: Final = 10_000
_Held = dict[str, dict[str, list[Held]]]
"""Tag or policy -> name of a column, or :data:`WHOLE` -> when it was set there."""


class _Creation(NamedTuple):
    """A statement that made an object: when it started, when it had ended, and whether it was a REPLACE."""

    start: datetime
    end: datetime
    is_replace: bool


class _Lost(NamedTuple):
    """``on``: the name of a column, or :data:`WHOLE`; ``made``: when its object was made anew; ``is_sure``: not by
    a CREATE of what was there, as far as rows tell, which can be one IF NOT EXISTS; ``until``: when it, or what takes
    its place, was set again.
    """

    kind: str
    element: str
    on: str
    made: datetime
    is_sure: bool
    until: datetime = LATE


def lost_by_recreation(asked: Asked) -> Iterator[str]:
    """What objects had when they were made anew, and of which no row shows in the time that is asked for that they have
    it again.
    """
    sure, perhaps, in_between = (sorted(texts, reverse=True) for texts in _found(asked))
    on_copies = _COPIES if asked.name == UNMASKED_COPIES else ""
    if sure and asked.name != UNMASKED_READS:  # it says AFTER
        yield f"{MADE_ANEW} No row sets it since: {first_of([text for _, text in sure], _SHOWN)}.{on_copies}"
    if perhaps:
        yield (
            f"{PERHAPS_ANEW} The answer has as ended what was set before, and no row sets it since: "
            f"{first_of([text for _, text in perhaps], _SHOWN)}.{on_copies}"
        )
    if in_between:
        yield (
            f"{READ_IN_BETWEEN}{first_of([text for _, text in in_between], _SHOWN)}. The answer does not have these "
            "reads: column-copies has the copies."
        )


def _found(asked: Asked) -> tuple[list[tuple[datetime, str]], ...]:
    """What was surely lost, what was perhaps, and what was until it was set again, each with the time."""
    graph, columns = asked.graph, asked.match_names("column_name")
    sure, perhaps, in_between, masking = *(list[tuple[datetime, str]]() for _ in range(3)), _Masking(graph)
    renames = [*renamings(graph)]
    for thing in sorted(_things(asked)):
        lost = [loss for loss in _lost(asked, thing, masking) if not columns or loss.on in {*columns, WHOLE}]
        for made, until, is_sure in sorted({(loss.made, loss.until, loss.is_sure) for loss in lost}):
            together = [loss for loss in lost if (loss.made, loss.until) == (made, until)]
            elements = [
                f"{_KINDS[loss.kind]} {graph.label(loss.element)}{'' if loss.on == WHOLE else f' on {loss.on}'}"
                for loss in _present(graph, together, renames)
            ]
            time = as_text(made)
            period = f"at {time}" if until == LATE else f"from {time} to {as_text(until)}"
            text = f"{graph.name_at(thing, time)} {period} ({first_of(elements, _SHOWN)})"
            (in_between if until < LATE else sure if is_sure else perhaps).append((made, text))
    return sure, perhaps, in_between


def _present(graph: Lookups, lost: Sequence[_Lost], renames: Sequence[Renaming]) -> list[_Lost]:
    """Without policies and tags under a former name, which are lost under the one that a row without an id gave them,
    too.
    """
    since = {loss.element: in_utc(graph.names_of(loss.element)[0].since) for loss in (lost if renames else ())}
    forms = {element: renamed_forms(graph, element, renames) for element in since}
    return [
        loss
        for loss in lost
        if not any(
            (other.kind, other.on) == (loss.kind, loss.on)
            and other.element in forms.get(loss.element, ())
            and since[loss.element] < since[other.element]
            for other in lost
        )
    ]


def _things(asked: Asked) -> set[str]:
    """The objects that are asked for, and what they are in; if it is all, those that have or had a tag or policy."""
    things = things_with(asked, "ah:TagSetting") | things_with(asked, "ah:PolicySetting")
    if asked.values("object_name", "object_id", "object"):
        return things
    masks = asked.graph.at_most(asked.graph.with_text("ah:policyKind", _ENFORCED_KINDS[_MASKS]), _LOOKED_AT)
    return things | {thing for enforcement in masks for thing in asked.graph.objects(enforcement, "ah:protectedObject")}


def _lost(asked: Asked, thing: str, masking: _Masking) -> Iterator[_Lost]:
    graph, asked_tags = asked.graph, asked.match_names("tag_name")
    times = asked.times("at") if asked.name == POLICY_COVERAGE else []
    ends = [time for time in times or [asked.until or LATE] if not graph.was_dropped(thing, time)]
    first = min((in_utc(holder.since) for holder in graph.names_of(thing)), default=LATE)
    all_creations = _creations(graph, thing) if ends else []
    creations = [creation for creation in all_creations if first < creation.start < max(ends)]
    if asked.name == CHANGES:
        creations = [creation for creation in creations if asked.has(creation.start)]
    if asked.name == UNMASKED_READS:
        creations = [creation for creation in creations if not creation.is_replace]
    dropped, copies = cache(lambda start: graph.dropped_at(thing, start - MOMENT)), _Copies(asked, thing)
    for kind in _OF.get(asked.name, _KINDS) if creations else ():
        own, replacements = _held(asked, thing, kind, all_creations, masking)
        for element, by_column in sorted(own.items()):
            names = {holder.key[1] for holder in graph.names_of(element)} if element else set[str]()
            if not element or (asked_tags and asked_tags.isdisjoint(names)):
                continue
            for column, periods in sorted(by_column.items()):
                again = [by_column] if replacements is None else replacements
                since = [held.since for by_name in again for held in by_name.get(column, ())]
                for start, end, is_replace in creations:
                    if any(_is_ended(held, start, end, dropped) for held in periods):
                        until = min((time for time in since if time >= start), default=LATE)
                        loss = _Lost(kind, element, column, start, is_replace or dropped(start) is not None, until)
                        there = [time for time in ends if not graph.was_dropped(element, time)]
                        yield from _told(loss, there, copies)


def _told(loss: _Lost, ends: Sequence[datetime], copies: _Copies) -> Iterator[_Lost]:
    """What an object lost, if it had not been set again by the time that is asked for (``ends``), or if the answer
    lacks copies for it.
    """
    if any(loss.made < time <= loss.until for time in ends):
        yield loss._replace(until=LATE)
    elif ends and copies.asked.name == UNMASKED_COPIES and copies.are_read(loss):
        yield loss


class _Copies:
    """The copies of the columns of an object, followed once for each name of a column."""

    def __init__(self, asked: Asked, thing: str) -> None:
        self.asked, self.thing = asked, thing
        self.reads = cache(self._reads)

    def are_read(self, loss: _Lost) -> bool:
        """Whether copies of what was masked before were read until it was masked again."""
        since, until = loss.made, loss.until
        starts = self.reads(loss.on, LATE)
        number = bisect_left(starts, since)
        # Mostly none is: a table that is made anew each night is masked in the next moment.
        return (
            number < len(starts)
            and starts[number] < until
            and any(since <= start < until for start in self.reads(loss.on, since))
        )

    def _reads(self, name: str, before: datetime) -> list[datetime]:
        """When what was copied from a column before a time, and copies of that, were read; in order."""
        graph, thing = self.asked.graph, self.thing
        columns = set(graph.subjects("ah:columnOf", thing) if name == WHOLE else graph.columns_of(thing, {name}))
        filled = (
            other
            for column in columns
            for version in graph.subjects("prov:specializationOf", column)
            for other in graph.subjects("prov:wasDerivedFrom", version)
        )
        first = [version for version in filled if any(made < before for made in made_at(graph, version))]
        copies = {
            column
            for version in graph.at_most(copies_of(graph, first), _LOOKED_AT)
            for column in graph.objects(version, "prov:specializationOf")
        }
        accesses = (access for copy in copies - columns for access in graph.subjects("ah:readColumn", copy))
        return sorted(start for start in graph.starts(accesses) if self.asked.has(start))


def _held(
    asked: Asked, thing: str, kind: str, creations: Sequence[_Creation], masking: _Masking
) -> tuple[_Held, list[dict[str, list[Held]]] | None]:
    """When an object had tags, or policies of a kind; and all that takes the place of one that was lost. None: that is
    only the same again, as of a tag.
    """
    graph, is_of_masks = asked.graph, kind == _MASKS or asked.name in {UNMASKED_COPIES, UNMASKED_READS}
    by_tags = masking.by_tags(thing) if is_of_masks else {}
    if kind == _TAGS and not is_of_masks:
        return settings_of(graph, thing, kind), None
    policies = settings_of(graph, thing, _MASKS if is_of_masks else kind)
    known = [*policies.values(), *by_tags.values()]
    for policy, column, held in _enforced(masking, thing, _MASKS if is_of_masks else kind, creations, known):
        policies[policy][column].append(held)
    return by_tags if kind == _TAGS else policies, [*policies.values(), *by_tags.values()]


class _Masking:
    """What masks objects by tags, looked up once."""

    def __init__(self, graph: Lookups) -> None:
        self.graph = graph
        self._on_tag = dict[str, list[Held]]()

    def by_tags(self, thing: str) -> _Held:
        """When an object and its columns had tags, each while it masked."""
        tags = _Held()
        for tag, by_column in settings_of(self.graph, thing, _TAGS).items():
            for column, periods in by_column.items():
                together = (held.together(mask) for held in periods for mask in self._masks_on(tag))
                if masked := [masked_period for masked_period in together if masked_period.since < masked_period.until]:
                    tags.setdefault(tag, {})[column] = masked
        return tags

    def _masks_on(self, tag: str) -> list[Held]:
        if tag not in self._on_tag:
            policies = settings_of(self.graph, tag, _MASKS).values() if tag else ()
            self._on_tag[tag] = [held for by_column in policies for periods in by_column.values() for held in periods]
        return self._on_tag[tag]

    @cached_property
    def _wholes(self) -> set[str]:
        return masked_wholes(self.graph)

    def is_around(self, thing: str, time: datetime) -> bool:
        """Whether a tag of its schema or database may mask an object at a time: it does so when that is made anew."""
        names, then = (self.graph.names_of(thing) if self._wholes else ()), Period(time, time + MOMENT)
        return any(is_masked_around(self.graph, holder, self._wholes, then) for holder in names)


def _enforced(
    masking: _Masking, thing: str, kind: str, creations: Sequence[_Creation], known: Sequence[Mapping[str, list[Held]]]
) -> Iterator[tuple[str, str, Held]]:
    """The times in which queries enforced policies that rows do not set then (``known``: when they set some), each with
    the policy and the name of a column: until the object was made anew, or rows set one.
    """
    graph, starts_of = masking.graph, cache(masking.graph.starts_of)  # a query enforces policies on many columns
    times = defaultdict[tuple[str, str | None], set[datetime]](set)
    for enforcement in graph.subjects("ah:protectedObject", thing) if kind in _ENFORCED_KINDS else ():
        if graph.text(enforcement, "ah:policyKind") == _ENFORCED_KINDS[kind]:
            place = graph.text(enforcement, "ah:policy") or "", graph.text(enforcement, "ah:protectedColumn")
            times[place] |= {time for query in graph.subjects("ah:enforced", enforcement) for time in starts_of(query)}
    for (policy, protected), of_place in times.items():
        for column in names_of_column(graph, protected):
            set_then = [held for by_name in known for name in {column, WHOLE} for held in by_name.get(name, ())]
            for held in _periods(sorted(of_place), creations, set_then):
                if kind != _MASKS or not masking.is_around(thing, held.since):
                    yield policy, column, held


def _periods(times: Sequence[datetime], creations: Sequence[_Creation], known: Sequence[Held]) -> Iterator[Held]:
    """The times in which one policy was enforced in one place, by when queries enforced it, and when the object was
    made anew. What a row without a name may have unset (``sure`` is :data:`EARLY`) does not count.
    """
    seen, known = set[int](), [held for held in known if not _outlasts(held, creations)]
    starts = [creation.start for creation in creations]
    for time in times:
        number = bisect_left(starts, time)  # the statement that makes it anew reads what was there before
        is_set = any(held.since <= time < held.sure or held.sure == EARLY for held in known)
        if number not in seen and not is_set:
            seen.add(number)
            ends = [*starts[number : number + 1], *(held.since for held in known if time < held.since), LATE]
            yield Held(min(time, min(ends) - MOMENT), min(ends), min(ends))


def _outlasts(held: Held, creations: Sequence[_Creation]) -> bool:
    """Whether something goes on when its object is made anew: what queries enforced, since no row set it."""
    number = bisect_right(creations, (held.since, LATE))
    return held.sure > EARLY and number < len(creations) and held.until > creations[number].end


def _creations(graph: Lookups, thing: str) -> list[_Creation]:
    """When statements made an object: when each started, and when it had ended."""
    creations = list[_Creation]()
    for change in graph.subjects("ah:changedObject", thing):
        operation = graph.text(change, "ah:operation")
        if operation in CREATES:
            for query in graph.objects(change, "dcterms:isPartOf"):
                starts = sorted(map(in_utc, graph.objects(query, "prov:startedAtTime")))
                ends = sorted(map(in_utc, graph.objects(query, "prov:endedAtTime")))
                creations += [_Creation(start, max([start, *ends]), operation == "REPLACE") for start in starts]
    return sorted(creations)


def _is_ended(held: Held, start: datetime, end: datetime, dropped: Callable[[datetime], datetime | None]) -> bool:
    """Whether a creation ended what was surely set until then, or a DROP before it did. ``dropped``: gives when the
    object was dropped before a time.
    """
    if held.since >= start or held.until > end:
        return False
    return held.sure >= start or (held.sure == held.until and held.sure == dropped(start))
