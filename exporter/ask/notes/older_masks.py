"""Masks that queries enforced before any row sets them: they are older than the record, or the row that set them is
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
from exporter.ask.notes.asked import Asked
from exporter.ask.parameters import as_text
from exporter.ask.triples import LATE, in_utc, iris
from exporter.ask.without_id import renamed_forms, renamings
from exporter.system.reachable import reachable

_SHOWN: Final = 3
OF_OLDER_MASKS: Final = ("page-enforced", "unmasked-copies", "unmasked-reads")
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
    """The masks of these policies that queries enforced before any row sets them in the same place, until a row sets or
    unsets them; also under other names of the column.
    """
    settings = cache(partial(_settings, graph))
    for row in graph.select(_OLDER, elements=iris(policies)) if policies else ():
        columns = set(reachable([row["column"]], graph.renamed_columns)) if row["column"] else {""}
        own = [one for column in columns for one in settings(row["element"]).get((row["thing"], column), ())]
        since, begins = in_utc(row["since"]), [graph.text(setting, "ah:validFrom") for setting in own]
        if not any(begin and in_utc(begin) <= since for begin in begins):
            changes = (change for setting in own for change in graph.subjects("ah:hasSetting", setting))
            told = [in_utc(time) for change in changes for time in graph.objects(change, "prov:startedAtTime")]
            until = min((time for time in told if time > since), default=LATE)
            yield from (Holding(row["element"], row["thing"], column, since, until) for column in columns)


def _settings(graph: Lookups, element: str) -> dict[tuple[str, str], list[str]]:
    """What sets or unsets a tag or policy, by object and column."""
    found = defaultdict[tuple[str, str], list[str]](list)
    for setting in graph.subjects("ah:elementObject", element):
        found[graph.text(setting, "ah:settingOn") or "", graph.text(setting, "ah:onColumn") or ""].append(setting)
    return found


def perhaps_forced(asked: Asked) -> Iterator[str]:
    """A note on such masks in whose place rows set another one: a column has one, and SET MASKING POLICY … FORCE
    replaces it.
    """
    graph, about, found = asked.graph, asked.asked_objects, set[tuple[datetime, str]]()
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
        for column, others in later.items()
        for own in reachable([column], graph.renamed_columns)
        for one in graph.subjects("ah:protectedColumn", own)
        for policy in graph.objects(one, "ah:policy")
        if graph.is_mask(one) and any(policy != other for _, other in others)
    }
    renames = [one for one in renamings(graph) if one.kind == "masking-policy"] if policies else []
    for held in older_masks(graph, policies):
        forms = {held.element, *graph.same_names(held.element)} | renamed_forms(graph, held.element, renames)
        for time, policy in sorted(later[held.column]) if not about or held.thing in about else ():
            is_then = held.since < time < held.until and (asked.until is None or time <= asked.until)
            if is_then and policy not in forms and not _is_enforced_after(graph, held, time):
                place = f"{graph.name_at(held.thing, as_text(time))}.{graph.text(held.column, 'ah:columnName')}"
                since = f"{graph.label(policy)} was set {as_text(time)}"
                found.add((time, f"{graph.label(held.element)} on {place} ({since})"))
    if found:
        yield (
            f"{ONE_OF_A_COLUMN} These were enforced, though "
            "no row had set them, and count as set until a row sets or unsets them, though another one may have taken "
            "their place, and until then no query enforced them again: "
            f"{first_of([text for _, text in sorted(found)], _SHOWN)}. A mask of a tag holds again when the other one "
            "is unset."
        )


def _is_enforced_after(graph: Lookups, held: Holding, time: datetime) -> bool:
    """Whether a query enforced a mask later in the same place, while it counts as set."""
    enforcements = (one for one in graph.subjects("ah:protectedColumn", held.column) if graph.is_mask(one))
    own = (one for one in enforcements if held.element in graph.objects(one, "ah:policy"))
    queries = (query for one in own for query in graph.subjects("ah:enforced", one))
    return any(time < start < held.until for query in queries for start in graph.starts_of(query))
