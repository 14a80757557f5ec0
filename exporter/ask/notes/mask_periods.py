"""When rows show masking policies on the columns of an object: what they set on it, or on tags that it has, and where
queries enforced one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import datetime
from operator import itemgetter
from typing import Final, NamedTuple

from exporter.ask.container_history import CONTAINERS, periods_inside
from exporter.ask.lookups import Lookups, NameHolder
from exporter.ask.notes.asked import Asked
from exporter.ask.notes.mask_ends import ends_without_unset, kept_by_renames, not_during_changes, times_made
from exporter.ask.triples import EARLY, LATE, MOMENT, in_utc
from exporter.model.identifiers import TRUNCATED
from exporter.system.reachable import reachable

_MASKED: Final = {
    ("ah:policyKind", "MASKING_POLICY"): "ah:protectedObject",
    ("ah:property", "maskingPolicies"): "ah:settingOn",
}
"""A property and its text, of all nodes that say of a mask what it is on -> the property that does."""
_CUT: Final = f"object_modified_by_ddl {TRUNCATED}"
WHOLE: Final = ""
"""In the place of a column: a mask of which rows name the object alone."""
_LOOKED_AT: Final = 10_000


def masked_things(graph: Lookups) -> set[str]:
    """The objects on which rows show masking policies, also by tags."""
    nodes = (
        (node, place) for property_and_value, place in _MASKED.items() for node in graph.with_text(*property_and_value)
    )
    masked = {thing for node, place in graph.at_most(nodes, _LOOKED_AT) for thing in graph.objects(node, place)}
    return masked | _tagged_with(graph, masked)


def _tagged_with(graph: Lookups, tags: Iterable[str]) -> set[str]:
    """The objects on which rows show one of the tags, in any form of it."""
    forms = {form for tag in tags for form in (tag, *graph.same_names(tag))}
    marks = (mark for form in forms for mark in graph.subjects("ah:elementObject", form))
    return {thing for mark in marks for thing in graph.objects(mark, "ah:settingOn")}


def masked_columns(asked: Asked, thing: str) -> set[str]:
    """The columns of an object, of those that are asked for, on which rows show a mask."""
    names, columns = masks_of(asked.graph, thing).keys() - {WHOLE}, asked.match_names("column_name")
    return names & columns if columns else names


def columns_with_masks(graph: Lookups) -> Iterator[str]:
    """The columns on which rows show a masking policy at any time; of an object with one as a whole, all."""
    for thing in sorted(masked_things(graph)):
        names = set(masks_of(graph, thing))
        yield from graph.columns_of(thing, () if WHOLE in names else names)


class Period(NamedTuple):
    """A half-open interval: from ``begin`` until before ``end``."""

    begin: datetime
    end: datetime


ALWAYS: Final = Period(EARLY, LATE)
AT_END: Final = Period(LATE - MOMENT, LATE)
"""The end of the record, and of all that no row ends."""


_ENFORCED_KINDS: Final = {"rowAccessPolicies": "ROW_ACCESS_POLICY"}
"""Policies on whole objects that rows of queries name, too."""


def own_masks(graph: Lookups, thing: str, period: Period = ALWAYS) -> set[str]:
    """The columns on which rows show a masking policy in a period, also by rows that give the object in another form:
    of which no row says that it was unset before.
    """
    forms = (thing, *graph.same_names(thing))
    periods = (
        (column, held) for form in forms for column, of_column in masks_of(graph, form).items() for held in of_column
    )
    return {column for column, held in periods if held.overlaps(period)}


class Held(NamedTuple):
    """A time in which something was set: ``until``: as far as rows tell; ``sure``: until no row may have unset it, as
    one without the id, or one that Snowflake cut.
    """

    since: datetime
    until: datetime
    sure: datetime

    def overlaps(self, period: Period) -> bool:
        """Whether it was set at any time of a period, as far as rows tell."""
        return self.since < period.end and period.begin < self.until

    def together(self, other: Held) -> Held:
        """The time in which both were set."""
        return Held(max(self.since, other.since), min(self.until, other.until), min(self.sure, other.sure))


def masks_on(graph: Lookups, thing: str) -> list[tuple[str | None, Held]]:
    """When rows show a masking policy on the columns of an object: by a tag, while the column has the tag, and the tag
    the policy. None stands for the object as a whole.
    """
    by_rows = list(_with_elements(graph, thing))
    return [(column, held) for column, _, held in (*by_rows, *_only_enforced(graph, thing, by_rows))]


def _only_enforced(
    graph: Lookups, thing: str, by_rows: Collection[tuple[str | None, frozenset[str], Held]]
) -> list[tuple[str | None, frozenset[str], Held]]:
    """What queries enforced outside of these times, each with the policy; it goes on under the new name of a column."""
    enforced, masks = [], [mask for mask in graph.subjects("ah:protectedObject", thing) if graph.is_mask(mask)]
    kept = kept_by_renames(graph, thing) if masks else []
    places = _places(graph, masks)
    for rename in kept:
        places[rename.column, rename.policy].append(rename.time)
    times_recreated = times_made(graph, thing) if places else []
    for (column, policy), starts in places.items():
        known = [held for place, elements, held in by_rows if place in {column, None} and policy in elements]
        left = [rename.time for rename in kept if (rename.former, rename.policy) == (column, policy)]
        left += [*times_recreated, *ends_without_unset(graph, thing, column, policy)]
        enforced += [
            (column, _forms(graph, policy), held)
            for held in outside(not_during_changes(graph, column, starts), known, left)
        ]
    return enforced


def _places(graph: Lookups, enforcements: Iterable[str]) -> dict[tuple[str | None, str], list[datetime]]:
    """What was enforced: the column and the policy, and when the queries started."""
    starts_by_place = defaultdict[tuple[str | None, str], list[datetime]](list)
    for enforcement in enforcements:
        starts = starts_by_place[
            graph.text(enforcement, "ah:protectedColumn"), graph.text(enforcement, "ah:policy") or ""
        ]
        for query in graph.subjects("ah:enforced", enforcement):
            starts += [in_utc(time) for time in graph.objects(query, "prov:startedAtTime")]
    return starts_by_place


def _with_elements(
    graph: Lookups, thing: str, wholes: Collection[str] = ()
) -> Iterator[tuple[str | None, frozenset[str], Held]]:
    """What rows set, each with the policy and the tag, in all their forms. ``wholes``: as in :func:`masks_by_tags`."""
    for setting, held in _set_on(graph, [thing], "maskingPolicies"):
        yield graph.text(setting, "ah:onColumn"), _elements(graph, setting), held
    yield from masks_by_tags(graph, thing, wholes)


def masks_by_tags(
    graph: Lookups, thing: str, wholes: Collection[str]
) -> Iterator[tuple[str | None, frozenset[str], Held]]:
    """What rows set on tags while the object and its columns had them; by tags of ``wholes``, on the columns on which
    queries enforced it.
    """
    for mark, mask, held in _by_tags(graph, thing):
        yield graph.text(mark, "ah:onColumn"), _elements(graph, mark) | _elements(graph, mask), held
    enforced = (
        [enforcement for enforcement in graph.subjects("ah:protectedObject", thing) if graph.is_mask(enforcement)]
        if wholes
        else []
    )
    for place in wholes if enforced else ():
        for mark, mask, held in _by_tags(graph, place):
            policy, elements = _elements(graph, mask), _elements(graph, mark) | _elements(graph, mask)
            masked = (
                enforcement
                for enforcement in enforced
                if not policy.isdisjoint(graph.objects(enforcement, "ah:policy"))
            )
            columns = {column for enforcement in masked for column in graph.objects(enforcement, "ah:protectedColumn")}
            for own in reachable(columns, graph.renamed_columns):
                periods = periods_inside(graph, thing, place)
                inside = (held.together(Held(since, until or LATE, until or LATE)) for since, until in periods)
                yield from ((own, elements, piece) for piece in inside if piece.since < piece.until)


def masks_in_force(
    graph: Lookups, thing: str, wholes: Collection[str], *, only_set: bool = False
) -> dict[str, list[Held]]:
    """As :func:`masks_of`, without the times in which the policy or the tag was dropped, and with masks by tags of
    ``wholes`` on the columns on which queries enforced them. ``only_set``: without those that no row sets.
    """
    by_name = defaultdict[str, list[Held]](list)
    for column, _, held in policies_in_force(graph, thing, wholes, only_set=only_set):
        for name in names_of_column(graph, column):
            by_name[name].append(held)
    return by_name


def policies_in_force(
    graph: Lookups, thing: str, wholes: Collection[str], *, only_set: bool = False
) -> Iterator[tuple[str | None, frozenset[str], Held]]:
    """The same by column, each with the policy and the tag, in all their forms. What a row unsets and none sets is held
    from :data:`EARLY` on.
    """
    by_rows = list(_with_elements(graph, thing, wholes))
    if not only_set:
        by_rows += _only_enforced(graph, thing, by_rows)
    for column, elements, held in by_rows:
        yield from ((column, elements, piece) for piece in not_dropped(graph, elements, held))


def _forms(graph: Lookups, element: str) -> frozenset[str]:
    return frozenset((element, *graph.same_names(element)))


def not_dropped(graph: Lookups, elements: Iterable[str], held: Held) -> Iterator[Held]:
    """The parts of a period in which none of the elements was dropped."""
    return without(held, sorted(gap for element in elements for gap in _dropped(graph, element)))


def without(held: Held, gaps: Iterable[tuple[datetime, datetime]]) -> Iterator[Held]:
    """The parts of a period outside of the gaps, which are in order."""
    since = held.since
    for gone, back in gaps:
        if since < gone < held.until:
            yield held.together(Held(since, gone, gone))
        if gone < held.until:
            since = max(since, back)
    if since < held.until:
        yield held.together(Held(since, held.until, held.sure))


def _dropped(graph: Lookups, element: str) -> Iterator[tuple[datetime, datetime]]:
    """The times from a DROP of a tag or policy, or of its schema, until it was brought back, or made anew."""
    versions = list(graph.subjects("prov:specializationOf", element))
    made = [in_utc(time) for version in versions for time in graph.objects(version, "prov:generatedAtTime")]
    for gone in {in_utc(time) for version in versions for time in graph.objects(version, "prov:invalidatedAtTime")}:
        yield gone, min((time for time in made if time >= gone), default=LATE)


def masked_without_tag(graph: Lookups, holder: NameHolder, period: Period, wholes: Collection[str]) -> set[str | None]:
    """What has a mask and no tag in a period: columns; None for the object as a whole. Not what was only enforced, if
    queries read it without a mask later, or the mask came by a tag of a schema or database, or was dropped, and that
    had ended. ``wholes``: schemas and databases with tags that mask.
    """
    thing = holder.iri
    tagged = {
        graph.text(setting, "ah:onColumn") for setting, held in _set_on(graph, [thing], "tags") if held.overlaps(period)
    }
    masked = {column for column, held in masks_on(graph, thing) if held.overlaps(period)} - tagged
    by_rows = {column for column, _, held in _with_elements(graph, thing) if held.overlaps(period)}
    last = _last_enforced(graph, thing, period) if masked - by_rows else {}
    over = {
        column
        for column, enforced in last.items()
        if column in masked and _is_over(graph, holder, enforced, period, wholes)
    }
    return masked & by_rows | (masked - over)


class _Enforced(NamedTuple):
    """When queries enforced a mask last on a column, and its policy."""

    time: datetime
    policy: str
    column: str | None


def _last_enforced(graph: Lookups, thing: str, period: Period) -> dict[str | None, _Enforced]:
    """By the end of a period, by column."""
    masks = (mask for mask in graph.subjects("ah:protectedObject", thing) if graph.is_mask(mask))
    enforced = [
        _Enforced(time, graph.text(mask, "ah:policy") or "", graph.text(mask, "ah:protectedColumn"))
        for mask in masks
        for query in graph.subjects("ah:enforced", mask)
        for time in _times(graph, query)
    ]
    enforced += [_Enforced(kept.time, kept.policy, kept.column) for kept in kept_by_renames(graph, thing)]
    return {
        enforcement.column: enforcement
        for enforcement in sorted(enforced, key=itemgetter(0, 1))
        if enforcement.time < period.end
    }


def _is_over(graph: Lookups, holder: NameHolder, enforced: _Enforced, period: Period, wholes: Collection[str]) -> bool:
    """Whether a mask that queries enforced on a column had ended by a period, as far as rows tell."""
    last, policy, column = enforced
    around = (held for place in wholes for held in _around(graph, holder, place, policy))
    return (
        any(held.since <= last < held.until <= period.begin for held in around)
        or (graph.was_dropped(policy, period.begin) and not graph.was_dropped(policy, last))
        or (column is not None and _is_read_in_clear(graph, holder.iri, column, Period(last + MOMENT, period.end)))
    )


def _around(graph: Lookups, holder: NameHolder, place: str, policy: str) -> Iterator[Held]:
    """The times in which a mask was on a tag of a schema or database, while an object was in it."""
    forms = {policy, *graph.same_names(policy)}
    held = [held for _, mask, held in _by_tags(graph, place) if forms & _elements(graph, mask)]
    periods = periods_inside(graph, holder.iri, place) if held else ()
    for since, until in periods:
        yield from (on_tag.together(Held(since, until or LATE, until or LATE)) for on_tag in held)


def _is_read_in_clear(graph: Lookups, thing: str, column: str, period: Period) -> bool:
    """Whether a query read a column in a period without a mask."""
    reads = (read for access in graph.subjects("ah:readColumn", column) for read in graph.reads_with(access))
    return any(
        any(period.begin <= time < period.end for time in _times(graph, read))
        and not _may_mask(graph, read, thing, column)
        for read in graph.at_most(reads, _LOOKED_AT)
    )


def _may_mask(graph: Lookups, read: str, thing: str, column: str) -> bool:
    """Whether a read enforced a mask on a column, or on an object as a whole, in any form of it; or its policies were
    cut.
    """
    forms, name = {thing, *graph.same_names(thing)}, graph.text(column, "ah:matchName")
    masks = (
        mask
        for mask in graph.objects(read, "ah:enforced")
        if graph.is_mask(mask) and not forms.isdisjoint(graph.objects(mask, "ah:protectedObject"))
    )
    protected = (graph.text(mask, "ah:protectedColumn") for mask in masks)
    return any(text.startswith("policies_referenced ") for text in graph.objects(read, "ah:incomplete")) or any(
        column_id is None or graph.text(column_id, "ah:matchName") == name for column_id in protected
    )


def _times(graph: Lookups, read: str) -> Iterator[datetime]:
    """When a query started; of reads by day, the first and the last."""
    for term in ("prov:startedAtTime", "ah:lastStartedAtTime"):
        yield from map(in_utc, graph.objects(read, term))


def masks_of(graph: Lookups, thing: str) -> dict[str, list[Held]]:
    """The same for each name that a column has or had; :data:`WHOLE` for the object as a whole."""
    return graph.once(_masks_of, thing)


def _masks_of(graph: Lookups, thing: str) -> dict[str, list[Held]]:
    by_name = defaultdict[str, list[Held]](list)
    for column, held in masks_on(graph, thing):
        for name in names_of_column(graph, column):
            by_name[name].append(held)
    return dict(by_name)


def settings_of(graph: Lookups, thing: str, property_: str) -> dict[str, dict[str, list[Held]]]:
    """When rows show tags, or policies of a kind, on an object and its columns, also by rows that give it in another
    form: tag or policy -> each name that a column has or had -> periods. :data:`WHOLE` for the object as a whole.
    """
    by_element = defaultdict[str, dict[str, list[Held]]](lambda: defaultdict(list))
    forms = [thing, *graph.same_names(thing)]
    for setting, held in _set_on(graph, forms, property_):
        for name in names_of_column(graph, graph.text(setting, "ah:onColumn")):
            by_element[min(_elements(graph, setting), default="")][name].append(held)
    kind = _ENFORCED_KINDS.get(property_)
    enforced = (
        enforcement for form in forms for enforcement in (graph.subjects("ah:protectedObject", form) if kind else ())
    )
    for (_, policy), starts in _places(
        graph, (enforcement for enforcement in enforced if graph.text(enforcement, "ah:policyKind") == kind)
    ).items():
        periods = by_element[policy][WHOLE]
        periods += list(outside(starts, periods))
    return by_element


def has_settings(graph: Lookups, property_: str) -> bool:
    """Whether rows set such a tag or policy anywhere, or enforced one: most accounts have no policies of most kinds."""
    kind = _ENFORCED_KINDS.get(property_)
    is_enforced = kind is not None and any(graph.with_text("ah:policyKind", kind))
    return is_enforced or any(graph.with_text("ah:property", property_))


def outside(starts: Iterable[datetime], known: Sequence[Held], left: Collection[datetime] = ()) -> Iterator[Held]:
    """The times from which on queries that started then enforced a policy outside of the times in which rows set one,
    ``known``; until rows set one again, or the column got another name, ``left``.
    """
    until = EARLY
    for first in sorted(start for start in starts if not any(held.since <= start < held.sure for held in known)):
        if first >= until:
            until = min((end for end in (*left, *(held.since for held in known)) if end > first), default=LATE)
            yield Held(first, until, until)


def _by_tags(graph: Lookups, thing: str) -> Iterator[tuple[str, str, Held]]:
    """The times in which tags masked: each with what set the tag, and what set the mask on it."""
    on_tags = dict[frozenset[str], list[tuple[str, Held]]]()
    for setting, held in _set_on(graph, [thing], "tags"):
        tags = _elements(graph, setting)
        if tags not in on_tags:
            on_tags[tags] = list(_set_on(graph, tags, "maskingPolicies"))
        both = ((mask, held.together(on_tag)) for mask, on_tag in on_tags[tags])
        yield from ((setting, mask, period) for mask, period in both if period.since < period.until)


def _set_on(graph: Lookups, places: Collection[str], property_: str) -> Iterator[tuple[str, Held]]:
    """What is set on the forms of an object, and when: before the first row that sets it, if one only unsets it."""
    settings = {
        setting: (
            graph.text(setting, "ah:onColumn"),
            _elements(graph, setting),
            _first(graph, [setting], "ah:validFrom"),
        )
        for place in places
        for setting in graph.once(_settings_on, place).get(property_, ())
    }
    changes = (change for place in places for change in graph.subjects("ah:changedObject", place)) if settings else ()
    cut = [_first(graph, [change], "prov:startedAtTime") for change in changes if _is_cut(graph, change)]
    unset = [
        (setting, column, elements, _first(graph, graph.subjects("ah:hasSetting", setting), "prov:startedAtTime"))
        for setting, (column, elements, since) in settings.items()
        if since == LATE
    ]
    for setting, (column, elements, since) in settings.items():
        if since < LATE:
            until = _first(graph, [setting], "ah:validUntil")
            ends = [time for _, place, own, time in unset if place == column and (not own or own & elements)]
            yield setting, Held(since, until, min(until, *(time for time in (*ends, *cut) if since < time), LATE))
    for setting, column, elements, time in unset:
        of_same = (since for place, own, since in settings.values() if place == column and own & elements)
        if not any(since < time for since in of_same):
            yield setting, Held(EARLY, time if elements else LATE, time if elements else EARLY)


def _settings_on(graph: Lookups, place: str) -> dict[str, list[str]]:
    """The settings on an object by their property: several notes ask for each."""
    settings = defaultdict[str, list[str]](list)
    for setting in graph.subjects("ah:settingOn", place):
        settings[graph.text(setting, "ah:property") or ""].append(setting)
    return settings


def _elements(graph: Lookups, setting: str) -> frozenset[str]:
    """The tag or policy that is set, in all its forms; empty if the row does not name it."""
    elements = graph.objects(setting, "ah:elementObject")
    return frozenset(form for element in elements for form in (element, *graph.same_names(element)))


def _is_cut(graph: Lookups, change: str) -> bool:
    return any(_CUT in graph.objects(query, "ah:incomplete") for query in graph.objects(change, "dcterms:isPartOf"))


def _first(graph: Lookups, nodes: Iterable[str], term: str) -> datetime:
    """The first such time of the nodes; :data:`LATE` if they have none, as what unsets."""
    return min((in_utc(time) for node in nodes for time in graph.objects(node, term)), default=LATE)


def masked_wholes(graph: Lookups) -> set[str]:
    """The schemas and databases with tags that mask."""
    masks = graph.with_text("ah:property", "maskingPolicies")
    masked = (thing for mask in masks for thing in graph.objects(mask, "ah:settingOn"))
    tags = {thing for thing in masked if graph.text(thing, "ah:domain") == "Tag"}
    return {whole for whole in _tagged_with(graph, tags) if graph.text(whole, "ah:domain") in CONTAINERS}


def is_masked_around(graph: Lookups, holder: NameHolder, wholes: Iterable[str], period: Period = ALWAYS) -> bool:
    """Whether an object may have a mask by a tag of one of these schemas and databases, while it is in it, in a
    period.
    """
    for place in wholes:
        if holder.account not in {around.account for around in graph.names_of(place)}:
            continue
        masked = [held for *_, held in _by_tags(graph, place)]
        periods = periods_inside(graph, holder.iri, place) if masked else ()
        for since, until in periods:
            there = Period(max(since, period.begin), min(until or LATE, period.end))
            if there.begin < there.end and any(held.overlaps(there) for held in masked):
                return True
    return False


def names_of_column(graph: Lookups, column: str | None) -> set[str]:
    """The names that a column has or had; :data:`WHOLE` for the object as a whole."""
    if column is None:
        return {WHOLE}
    return {graph.text(form, "ah:matchName") or "" for form in reachable([column], graph.renamed_columns)}
