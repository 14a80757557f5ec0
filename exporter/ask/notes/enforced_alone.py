"""Policies that queries enforced on an object before any row sets them there: they are older than the record, or of the
provider of shared data. Until when they held is as in ``unmasked-reads``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import datetime
from functools import cache, partial
from typing import Final, NamedTuple

from exporter.ask.answers import first_of
from exporter.ask.lookups import Lookups
from exporter.ask.notes.asked import Asked
from exporter.ask.notes.mask_periods import WHOLE, Held, masked_wholes, not_dropped, policies_in_force, settings_of
from exporter.ask.notes.policies import has_tag_of, tagged_wholes
from exporter.ask.parameters import as_text
from exporter.ask.triples import EARLY, LATE, MOMENT, Solution, in_utc
from exporter.model.identifiers import match_name

ENFORCED: Final = "Enforced by queries, though no row had set it here: "
"""How the note begins."""
_NAMED: Final = 4
"""How many policies a note names."""
_MASKING_POLICY: Final = "MASKING_POLICY"
_PROPERTIES: Final = {"ROW_ACCESS_POLICY": "rowAccessPolicies"}
KINDS: Final = frozenset((_MASKING_POLICY, *_PROPERTIES))
"""The kinds of policies of which it is known when they end."""
_SHOWN: Final = 5
_Row = Mapping[str, str | None]


class Place(NamedTuple):
    """A policy on an object, or on a column of it: by its IRI, empty for the whole."""

    thing: str
    policy: str
    column: str


class InForce(NamedTuple):
    """When a policy held on an object (``column``: None) or a column: in any form of it."""

    column: str | None
    policies: frozenset[str]
    held: Held


def in_force(graph: Lookups, thing: str, kind: str, wholes: Collection[str]) -> Iterator[InForce]:
    """When policies of a kind held on an object and its columns, as far as rows tell: what no row sets, from the first
    query that enforced it, or from :data:`EARLY` if a row unsets it.
    """
    if kind == _MASKING_POLICY:
        yield from (InForce(*period) for period in policies_in_force(graph, thing, wholes))
    elif kind in _PROPERTIES:
        for policy, of_names in settings_of(graph, thing, _PROPERTIES[kind]).items():
            forms = frozenset((policy, *graph.same_names(policy)))
            pieces = (piece for held in of_names.get(WHOLE, ()) for piece in not_dropped(graph, forms, held))
            yield from (InForce(None, forms, piece) for piece in pieces)


def until_when(graph: Lookups, periods: Iterable[InForce], place: Place) -> datetime | None:
    """When a policy ended in a place: :data:`LATE` if it did not, None if it never held there."""
    own = own_periods(periods, place)
    return LATE if _may_hold_on(graph, own, place) else max((held.until for held in own), default=None)


def is_held(graph: Lookups, periods: Iterable[InForce], place: Place, time: datetime) -> bool:
    """Whether a policy holds in a place at a time; it is older than the first query that enforced it."""
    own = own_periods(periods, place)
    inside = any(held.since <= time < held.until for held in own)
    return _may_hold_on(graph, own, place) or inside or (bool(own) and time < own[0].until)


def _may_hold_on(graph: Lookups, own: Collection[Held], place: Place) -> bool:
    """Whether a policy is unset alone by a row that gives it without its id, where others give the id, or the other way
    round.
    """
    is_unset = any(held.since == EARLY for held in own)
    return is_unset and bool(graph.same_names(place.policy)) and not _is_unset(graph, place)


def own_periods(periods: Iterable[InForce], place: Place) -> list[Held]:
    """When a policy held in a place, in the order of time."""
    columns = {place.column or None, None}
    return sorted(period.held for period in periods if period.column in columns and place.policy in period.policies)


def _is_unset(graph: Lookups, place: Place) -> bool:
    """Whether a row unsets a policy, in this form of it, in a place."""
    return any(
        graph.text(setting, "ah:validFrom") is None and place.policy in graph.objects(setting, "ah:elementObject")
        for setting in graph.subjects("ah:settingOn", place.thing)
        if (graph.text(setting, "ah:onColumn") or "") == place.column
    )


def only_enforced(asked: Asked) -> Iterator[str]:
    """A note on these: on what they were enforced last, under which name a column had them, and until when."""
    graph, wholes = asked.graph, masked_wholes(asked.graph)
    held = cache(lambda thing, kind: list(in_force(graph, thing, kind, wholes)))
    by_rows = cache(partial(_set_by_rows, graph, wholes))
    columns = cache(partial(_columns, graph))
    rows, ends, later = (
        defaultdict[Place, list[_Row]](list),
        dict[Place, datetime](),
        dict[Place, tuple[datetime, datetime]](),
    )
    for row in asked.answer.dicts():
        thing, policy = row["object_iri"] or "", row["policy_iri"] or ""
        rows[Place(thing, policy, columns(thing).get(row["column_name"], ""))].append(row)
    for place, place_rows in rows.items():
        kind = place_rows[0]["policy_kind"] or ""
        until = until_when(graph, held(place.thing, kind), place) if kind in KINDS else LATE
        set_at = _set_at(graph, place, by_rows(place.thing))
        if set_at < LATE:
            first = min(in_utc(row["first"] or "") for row in place_rows)
            if first < set_at:
                then = own_periods(held(place.thing, kind), place) if kind in KINDS else []
                ended = (period.until for period in then if period.since <= first < period.until)
                later[place] = min(*ended, set_at, LATE), set_at
        elif until is not None:
            # Of reads by day, the last can be after the end: it was set again then.
            ends[place] = LATE if any(until < _last(row) for row in place_rows if not row["enforced_as"]) else until
    former = ((place, row["enforced_as"]) for place in ends for row in rows[place])
    renamed = {place._replace(column=columns(place.thing).get(name, "")) for place, name in former if name}
    texts = [
        _in_words(rows[place], until)
        for place, until in sorted(ends.items(), key=lambda item: item[1] < LATE)
        if until == LATE or place not in renamed
    ]
    texts += [_until_set(rows[place], *times) for place, times in later.items() if place not in renamed]
    if texts:
        yield f"{ENFORCED}{first_of(list(dict.fromkeys(texts)), _NAMED, '; ')}."


def _columns(graph: Lookups, thing: str) -> dict[str | None, str]:
    """The columns of an object by name."""
    return {graph.text(column, "ah:columnName"): column for column in graph.subjects("ah:columnOf", thing)}


def _set_by_rows(graph: Lookups, wholes: Collection[str], thing: str) -> dict[tuple[str | None, str], datetime]:
    """The columns of an object, None for the whole, each with what a row ever sets on it, or on a tag that it has, and
    when first.
    """
    settings = [
        (graph.text(setting, "ah:onColumn"), element, in_utc(begin))
        for setting in graph.subjects("ah:settingOn", thing)
        if (begin := graph.text(setting, "ah:validFrom"))
        for element in graph.objects(setting, "ah:elementObject")
    ]
    for column, elements, held in policies_in_force(graph, thing, wholes, only_set=True):
        settings += [(column, element, held.since) for element in elements if held.since > EARLY]
    first_set = dict[tuple[str | None, str], datetime]()
    for column, element, since in settings:
        first_set[column, element] = min(since, first_set.get((column, element), since))
    return first_set


def _set_at(graph: Lookups, place: Place, by_rows: Mapping[tuple[str | None, str], datetime]) -> datetime:
    """When a row sets a policy in a place first; :data:`LATE` if none does."""
    forms = (place.policy, *graph.same_names(place.policy))
    columns = (place.column or None, None)
    return min(
        (by_rows[column, form] for column in columns for form in forms if (column, form) in by_rows), default=LATE
    )


def _in_words(rows: Iterable[_Row], until: datetime) -> str:
    """``D.G.P on B (A then), last on 2026-01-01, held until 2026-01-02``."""
    row = max(rows, key=lambda row: (not row["enforced_as"], _last(row)))
    ended = f", held until {until:%Y-%m-%d}" if until < LATE else ""
    return f"{_policy_in_words(row)}, last on {(row['last'] or '')[:10]}{ended}"


def _until_set(rows: Iterable[_Row], until: datetime, set_at: datetime) -> str:
    """``D.G.P on B, first on 2026-01-01, held until 2026-01-02, set by a row only on 2026-01-03``."""
    row = min(rows, key=lambda row: in_utc(row["first"] or ""))
    ended = f", held until {until:%Y-%m-%d}" if until < set_at else ""
    return (
        f"{_policy_in_words(row)}, first on {(row['first'] or '')[:10]}{ended}, set by a row only on {set_at:%Y-%m-%d}"
    )


def _policy_in_words(row: _Row) -> str:
    column = f" on {row['column_name']}" if row["column_name"] else ""
    then = f" ({row['enforced_as']} then)" if row["enforced_as"] else ""
    provider = " (of the data's provider)" if row["set_by_provider"] == "true" else ""
    return f"{row['policy_name']}{column}{then}{provider}"


def _last(row: _Row) -> datetime:
    return in_utc(row["last"] or "")


# --- of what has a tag ------------------------------------------------------------------------------------------------

_OF_TAGGED: Final = """\
SELECT DISTINCT ?label ?object ?what ?kind ?policy ?column_iri WHERE {
  {
    SELECT DISTINCT ?policy ?object ?place ?then ?kind WHERE {
      {
        ?enforcement ah:policy ?policy ; ah:protectedObject ?object .
        OPTIONAL { ?enforcement ah:protectedColumn ?protected }
        OPTIONAL { ?enforcement ah:objectName ?then }
        OPTIONAL { ?enforcement ah:policyKind ?kind }
        BIND(COALESCE(?protected, ?object) AS ?place)
      } UNION {
        ?kept ah:keepsMask ?policy ; prov:specializationOf ?place .
        ?place ah:columnOf ?object .
        BIND("MASKING_POLICY" AS ?kind)
      }
    }
  }
  {
    SELECT DISTINCT ?place WHERE {
      ?mark a ah:TagSetting ; ah:settingOn ?marked .
      OPTIONAL { ?mark ah:onColumn ?marked_column }
      BIND(COALESCE(?marked_column, ?marked) AS ?place)
    }
  }
  MINUS {
    SELECT DISTINCT ?policy ?place WHERE {
      ?set a ah:PolicySetting ; ah:elementObject/(ah:sameNameAs|^ah:sameNameAs)? ?policy  ;
        ah:settingOn ?covered ; ah:validFrom ?set_from .
      FILTER(?set_from <= @at@)
      OPTIONAL { ?set ah:onColumn ?covered_column }
      BIND(COALESCE(?covered_column, ?covered) AS ?place)
    }
  }
  MINUS {
    SELECT DISTINCT ?policy ?place WHERE {
      {
        SELECT DISTINCT ?tag ?place WHERE {
          ?mark_of_policy a ah:TagSetting ; ah:settingOn ?tagged ; ah:validFrom ?tag_from .
          ?mark_of_policy ah:elementObject/(ah:sameNameAs|^ah:sameNameAs)? ?tag .
          FILTER(?tag_from <= @at@)
          OPTIONAL { ?mark_of_policy ah:onColumn ?tagged_column }
          BIND(COALESCE(?tagged_column, ?tagged) AS ?place)
        }
      }
      ?set_on_tag a ah:PolicySetting ; ah:elementObject/(ah:sameNameAs|^ah:sameNameAs)? ?policy ;
        ah:settingOn ?tag ; ah:validFrom ?on_tag_from .
      FILTER(?on_tag_from <= @at@)
    }
  }
  OPTIONAL { ?policy rdfs:label ?label_of_policy }
  OPTIONAL { ?object rdfs:label ?label_of_object }
  OPTIONAL { ?place ah:columnName ?column BIND(?place AS ?column_iri) }
  BIND(COALESCE(?label_of_policy, STR(?policy)) AS ?what)
  BIND(COALESCE(?then, ?label_of_object, STR(?object)) AS ?where)
  BIND(CONCAT(?what, " on ", ?where, IF(BOUND(?column), CONCAT(".", ?column), "")) AS ?label)
}
ORDER BY ?label
"""
"""What is set on a column names the object, too (``ah:settingOn``); it is on the object where it names no column."""


def _first_enforced(graph: Lookups, place: Place) -> datetime:
    """When a query enforced a policy in a place first; :data:`EARLY` if a version of the column kept a mask."""
    of_policy = {*graph.subjects("ah:policy", place.policy)} & {*graph.subjects("ah:protectedObject", place.thing)}
    here = [one for one in of_policy if place.column in ({*graph.objects(one, "ah:protectedColumn")} or {""})]
    queries = {query for enforcement in here for query in graph.subjects("ah:enforced", enforcement)}
    return min((start for query in queries for start in graph.starts_of(query)), default=EARLY)


def enforced_but_not_set(asked: Asked) -> Iterator[str]:
    """A note if something with a tag has a policy, since queries enforced it, that no recorded statement set on it, or
    on a tag of it or of what it is in, by the time that is asked for, when it had not ended.
    """
    graph, wholes = asked.graph, masked_wholes(asked.graph)
    masks = [row for row in tagged_wholes(asked) if row["mask"]]
    held = cache(lambda thing, kind: list(in_force(graph, thing, kind, wholes)))
    by_rows = cache(partial(_set_by_rows, graph, wholes))
    times = asked.times("at") or [LATE - MOMENT]

    def is_there(row: Solution) -> bool:
        place = Place(row["object"], row["policy"], row["column_iri"])
        set_at = _set_at(graph, place, by_rows(place.thing))
        if set_at < LATE and set_at <= _first_enforced(graph, place):
            return False  # a row sets it, later than the time that is asked for
        if row["kind"] not in KINDS:
            return True
        periods = held(place.thing, row["kind"])
        return any(is_held(graph, periods, place, time) for time in times)

    labels = [
        row["label"]
        for row in graph.select(_OF_TAGGED, at=f'"{as_text(min(times))}"^^xsd:dateTime')
        if asked.is_about(row["object"])
        if not any(match_name(mask["mask"]) == match_name(row["what"]) and has_tag_of(mask, asked, row["object"])
                   for mask in masks)
        if is_there(row)
    ]  # fmt: skip
    if labels:
        yield (
            "Enforced, but set by no row of the record, and therefore not among the policies: "
            f"{first_of(list(dict.fromkeys(labels)), _SHOWN)}."
        )
