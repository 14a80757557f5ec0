"""Masks that queries enforced while no row had set them: they are older than the record, or the row that set them is
missing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator
from datetime import datetime
from functools import cache, partial
from typing import Final, NamedTuple

from exporter.ask.answers import first_of
from exporter.ask.lookups import Lookups
from exporter.ask.notes.asked import POLICY_COVERAGE, Asked
from exporter.ask.notes.mask_ends import ends_by_tags, ends_without_unset, not_during_changes, times_made
from exporter.ask.notes.mask_periods import Held, masked_wholes, masks_by_tags, outside
from exporter.ask.parameters import as_text
from exporter.ask.triples import EARLY, LATE, in_utc, iris
from exporter.ask.without_id import renamed_forms, renamings
from exporter.system.reachable import reachable

_SHOWN: Final = 3
OF_OLDER_MASKS: Final = ("page-enforced", "unmasked-copies", "unmasked-reads")
OF_GAPS: Final = (POLICY_COVERAGE, "unmasked-copies", "unmasked-reads")
ONE_OF_A_COLUMN: Final = "A column has one masking policy, and SET MASKING POLICY … FORCE replaces it."
"""How the note on masks begins in whose place rows set another one."""
_OLDER: Final = """\
SELECT ?element ?thing ?column (MIN(?time) AS ?since) WHERE {
  VALUES ?element { @elements@ }
  ?enforcement ah:policy ?element ; ah:policyKind "MASKING_POLICY" ; ah:protectedObject ?thing .
  OPTIONAL { ?enforcement ah:protectedColumn ?column }
  ?query ah:enforced ?enforcement ; prov:startedAtTime ?time .
}
GROUP BY ?element ?thing ?column
"""


class Holding(NamedTuple):
    """A tag or policy on an object, or on a column of it (empty: on the whole): since when, and until when."""

    element: str
    thing: str
    column: str
    since: datetime
    until: datetime


def older_masks(graph: Lookups, policies: Collection[str]) -> Iterator[Holding]:
    """The masks of these policies that queries enforced while no row had set them in the same place, or on a tag that
    it has; until a row sets or ends them. Also under other names of the column.
    """
    wholes = masked_wholes(graph) if policies else ()
    settings, on_tags = cache(partial(_settings, graph)), cache(lambda thing: [*masks_by_tags(graph, thing, wholes)])
    made = cache(partial(times_made, graph))
    for row in graph.select(_OLDER, elements=iris(policies)) if policies else ():
        element, thing, since = row["element"], row["thing"], in_utc(row["since"])
        columns = set(reachable([row["column"]], graph.renamed_columns)) if row["column"] else {""}
        own = [setting for column in columns for setting in settings(element).get((thing, column), ())]
        known = [held for setting in own for held in _periods(graph, setting)]
        for column, elements, held in on_tags(thing):
            # What a row only unsets, none has set.
            if (column or "") in {*columns, ""} and element in elements and held.since > EARLY:
                known.append(held._replace(sure=held.until))
        left = [time for setting in own for time in _changed(graph, setting)] + made(thing)
        left += [time for column in columns for time in ends_without_unset(graph, thing, column or None, element)]
        is_once = not known and all(time <= since for time in left)
        starts = set(not_during_changes(graph, row["column"], [since])) if is_once else set()
        starts = starts or {*not_during_changes(graph, row["column"], {*_starts(graph, element, thing, row["column"])})}
        # What makes the object from itself read the former one.
        for held in outside(starts - {*made(thing)}, known, left):
            yield from (Holding(element, thing, column, held.since, held.until) for column in columns)


def _periods(graph: Lookups, setting: str) -> Iterator[Held]:
    """When a policy is set, if a row sets it."""
    since, until = (graph.text(setting, term) for term in ("ah:validFrom", "ah:validUntil"))
    if since:
        end = in_utc(until) if until else LATE
        yield Held(in_utc(since), end, end)


def _changed(graph: Lookups, setting: str) -> Iterator[datetime]:
    """When rows set or unset it."""
    for change in graph.subjects("ah:hasSetting", setting):
        yield from map(in_utc, graph.objects(change, "prov:startedAtTime"))


def _starts(graph: Lookups, policy: str, thing: str, column: str) -> Iterator[datetime]:
    """When queries enforced a mask on a column, or on an object as a whole."""
    for enforcement in (
        graph.subjects("ah:protectedColumn", column) if column else graph.subjects("ah:protectedObject", thing)
    ):
        is_there = (
            policy in graph.objects(enforcement, "ah:policy")
            and (graph.text(enforcement, "ah:protectedColumn") or "") == column
        )
        if is_there and graph.is_mask(enforcement):
            for query in graph.subjects("ah:enforced", enforcement):
                yield from graph.starts_of(query)


def _settings(graph: Lookups, element: str) -> dict[tuple[str, str], list[str]]:
    """What sets or unsets a tag or policy, by object and column."""
    by_place = defaultdict[tuple[str, str], list[str]](list)
    for setting in graph.subjects("ah:elementObject", element):
        by_place[graph.text(setting, "ah:settingOn") or "", graph.text(setting, "ah:onColumn") or ""].append(setting)
    return by_place


def perhaps_forced(asked: Asked) -> Iterator[str]:
    """A note on such masks in whose place rows set another one: a column has one, and SET MASKING POLICY … FORCE
    replaces it.
    """
    graph, about, texts = asked.graph, asked.asked_objects, set[tuple[datetime, str]]()
    names = asked.match_names("column_name") if asked.is_of_page else set[str]()
    later = defaultdict[str, set[tuple[datetime, str]]](set)
    for setting in graph.with_text("ah:property", "maskingPolicies"):
        column, since = graph.text(setting, "ah:onColumn"), graph.text(setting, "ah:validFrom")
        is_meant = not about or graph.text(setting, "ah:settingOn") in about
        is_meant = is_meant and (not names or graph.text(column or "", "ah:matchName") in names)
        for policy in graph.objects(setting, "ah:elementObject") if column and since and is_meant else ():
            later[column or ""].add((in_utc(since or ""), policy))
    policies = {
        policy
        for column, settings_later in later.items()
        for own in reachable([column], graph.renamed_columns)
        for enforcement in graph.subjects("ah:protectedColumn", own)
        for policy in graph.objects(enforcement, "ah:policy")
        if graph.is_mask(enforcement) and any(policy != other for _, other in settings_later)
    }
    renames = [renaming for renaming in renamings(graph) if renaming.kind == "masking-policy"] if policies else []
    for held in older_masks(graph, policies):
        forms = {held.element, *graph.same_names(held.element)} | renamed_forms(graph, held.element, renames)
        for time, policy in sorted(later[held.column]) if not about or held.thing in about else ():
            is_then = held.since < time < held.until and (asked.until is None or time <= asked.until)
            is_there = is_then and policy not in forms and not graph.was_dropped(held.element, time)
            if is_there and not _is_enforced_after(graph, held, time):
                place = f"{graph.name_at(held.thing, as_text(time))}.{graph.text(held.column, 'ah:columnName')}"
                since = f"{graph.label(policy)} was set {as_text(time)}"
                texts.add((time, f"{graph.label(held.element)} on {place} ({since})"))
    if texts:
        yield (
            f"{ONE_OF_A_COLUMN} These were enforced, though "
            "no row had set them, and count as set until a row sets or ends them, though another one may have taken "
            "their place, and until then no query enforced them again: "
            f"{first_of([text for _, text in sorted(texts)], _SHOWN)}. A mask of a tag holds again when the other one "
            "is unset."
        )


HELD_ON: Final = "Queries enforced these masks again, though no row set them since"
"""How the note on masks begins that may not have ended with a tag."""


def perhaps_held_on(asked: Asked) -> Iterator[str]:
    """A note on such masks that are taken to end where their policy is unset from a tag, or such a tag from the column,
    and that queries enforced again later: they may be on the column itself.
    """
    graph, about, texts = asked.graph, asked.asked_objects, set[tuple[datetime, str]]()
    periods = defaultdict[tuple[str, str, str], set[Holding]](set)
    for held in older_masks(graph, graph.tags_of_policies):
        if held.column and (not about or held.thing in about):
            periods[held[:3]].add(held)
    for (policy, thing, column), of_place in periods.items():
        ends = sorted(ends_by_tags(graph, thing, column, policy))
        starts = sorted(_starts(graph, policy, thing, column)) if ends else []
        for again in of_place:
            end = max((time for time in ends if time < again.since), default=EARLY)
            others = (held.until for held in of_place if held.until < again.since)
            was_masked = any(start < end for start in starts[:1]) and max(others, default=end) <= end
            if was_masked and _is_in_between(asked, end, again.since):
                place = f"{graph.name_at(thing, as_text(end))}.{graph.text(column, 'ah:columnName')}"
                texts.add((end, f"{graph.label(policy)} on {place} from {as_text(end)} to {as_text(again.since)}"))
    if texts:
        yield (
            f"{HELD_ON}: {first_of([text for _, text in sorted(texts)], _SHOWN)}. The answer has them as ended then, "
            "when the policy was unset from a tag, or a tag with it from the column; but they may be set on the column "
            "itself, since before the record."
        )


def _is_in_between(asked: Asked, since: datetime, until: datetime) -> bool:
    """Whether the answer is about a time between two others; ``policy-coverage`` is about one time."""
    if asked.name == POLICY_COVERAGE:
        return any(since <= time < until for time in asked.times("at"))
    return asked.has(since, until)


def _is_enforced_after(graph: Lookups, held: Holding, time: datetime) -> bool:
    """Whether a query enforced a mask later in the same place, while it counts as set."""
    return any(time < start < held.until for start in _starts(graph, held.element, held.thing, held.column))
