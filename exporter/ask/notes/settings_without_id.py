"""Notes on tags and policies that rows set, unset, drop or rename without an id, where other rows give one.

What is set on an object without its id is not counted for the object with an id. Nor does a tag or policy that is
unset, dropped, replaced or renamed without its id end what was set with it, or the other way round.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cache
from typing import Final

from exporter.ask.answers import first_of
from exporter.ask.container_history import CONTAINERS
from exporter.ask.lookups import Lookups
from exporter.ask.notes.asked import CHANGES, MOST, POLICY_COVERAGE, TAG_REACH, UNMASKED_COPIES, UNMASKED_READS, Asked
from exporter.ask.notes.mask_periods import masked_wholes, masks_by_tags
from exporter.ask.notes.older_masks import Holding, older_masks
from exporter.ask.notes.tags_without_id import counted_in_the_other_form, ended_with_their_tags
from exporter.ask.triples import LATE, MOMENT, Solution, in_utc, iris
from exporter.ask.without_id import change_in_words
from exporter.graph.terms import full
from exporter.model.effects import CREATES, HOLDERS
from exporter.model.identifiers import match_name
from exporter.model.objects import containers
from exporter.system.reachable import reachable

_SHOWN: Final = 5
"""How many objects and changes a note lists at most."""


def settings_by_name(asked: Asked) -> Iterator[str]:
    """Notes on what is set without an id."""
    if asked.name not in {*SET_BY, CHANGES}:
        return
    yield from _created_again(asked)
    if not asked.graph.has_mixed_ids():
        return
    things = given_without_id(asked)
    names = sorted({name for thing, name in things.items() if asked.name != CHANGES or _is_made(asked, thing)})
    if names:
        yield (
            f"Some rows give no id of {first_of(names, _SHOWN)}, and others do: tags and policies that were set "
            "without the id count for what is known by that name alone, and those that were set with it for what rows "
            "give with the id, though it may be the same."
        )
    if asked.name == CHANGES:
        yield from _elements_changed(asked)
        return
    elements = sorted({row["name"] for row in _set_by_name(asked)})
    if elements:
        yield (
            f"Some rows set or unset {first_of(elements, _SHOWN)} without an id, where other rows give the id: what is "
            "set with the id is not taken to end or to change by that, though it may be the same."
        )
    enforced = sorted({row["name"] for row in _enforced_by_name(asked)})
    if enforced:
        yield (
            f"Some rows give {first_of(enforced, _SHOWN)} without an id where queries enforced it, and others unset it "
            "with its id: what was enforced is not taken to end by that, though it may be the same."
        )
    of_tags = sorted(_enforced_by_tags(asked) - {*elements, *enforced})
    if of_tags:
        yield (
            f"Some rows give {first_of(of_tags, _SHOWN)} without an id, and others with it, where queries enforced it "
            "and where it was set on a tag: what was enforced is not taken to end where the tag was unset or dropped, "
            "though it may be the same."
        )
    counted = _counted_in_the_other_form(asked)
    if counted:
        yield (
            f"A tag that rows give without an id is taken for one of its name that they give with one: "
            f"{first_of(counted, _SHOWN)}. But the one with the id had another name then, or a tag of the name was "
            "created in between: these may have no policy by the tag, though the answer has them covered or masked."
        )
    tagged = _tagged_in_the_other_form(asked)
    if tagged:
        yield (
            "Rows give a tag with its id and without, and these copies have it in the other form than their source: "
            f"{first_of(tagged, _SHOWN)}. The answer has them as without it, though it may be the same."
        )
    yield from _elements_changed(asked)


SET_BY: Final[Mapping[str, str]] = {
    "page-settings": "ah:TagSetting ah:PolicySetting",
    "policy-coverage": "ah:TagSetting ah:PolicySetting",
    "tag-history": "ah:TagSetting",
    "tag-reach": "ah:TagSetting",
    "unmasked-copies": "ah:TagSetting ah:PolicySetting",
    "unmasked-reads": "ah:TagSetting ah:PolicySetting",
}
"""Question, or that of a part of pages -> the classes of the settings that it is about."""
_BY_TAGS: Final = (POLICY_COVERAGE, UNMASKED_COPIES, UNMASKED_READS)
"""Questions that count the policies on tags for what has these tags."""
_SET: Final = """\
SELECT DISTINCT ?thing ?name WHERE {
  VALUES ?class { @classes@ }
  { ?nameless ah:sameNameAs ?thing . ?setting ah:settingOn ?nameless ; a ?class } UNION {
    ?nameless ah:sameNameAs ?identified . ?setting ah:settingOn ?identified ; a ?class .
    FILTER(EXISTS { ?access ah:accessedObject ?nameless } || EXISTS { ?version prov:specializationOf ?nameless })
    ?nameless ah:sameNameAs? ?thing .
  }
  FILTER NOT EXISTS { ?thing ah:domain "Tag" }
  ?nameless rdfs:label ?name .
}
ORDER BY ?name
"""


def _is_made(asked: Asked, thing: str) -> bool:
    """Whether rows made an object in the time that is asked for: then it lacks what was set on the other form of it."""
    changes = (change for change in asked.graph.subjects("ah:changedObject", thing) if asked.has_activity(change))
    return any(asked.graph.text(change, "ah:operation") in CREATES for change in changes)


def given_without_id(asked: Asked) -> dict[str, str]:
    """The objects that are asked for (all, if there are none) on which rows set tags or policies without giving their
    ids, where other rows give them, or with their ids, where other rows use them without; and their names.
    """
    if asked.name not in {*SET_BY, CHANGES} or not asked.graph.has_mixed_ids():
        return {}
    rows = asked.graph.select(_SET, classes=SET_BY.get(asked.name, SET_BY[POLICY_COVERAGE]))
    return {row["thing"]: row["name"] for row in rows if not asked.asked_objects or row["thing"] in asked.asked_objects}


_FORMS: Final = "SELECT ?nameless ?element WHERE { ?nameless ah:sameNameAs ?element }"
_Places = defaultdict[str, set[tuple[str, str]]]
"""Tag or policy -> objects and columns with it."""
_UNSET_ON_TAG: Final = """\
SELECT DISTINCT ?thing ?tag_name ?policy ?time WHERE {
  VALUES ?class { @classes@ }
  ?thing ah:domain "Tag" ; ah:sameNameAs|^ah:sameNameAs ?other_form ; rdfs:label ?tag_name .
  ?unset ah:settingOn ?other_form ; a ?class ; ah:subOperation "DROP" ; ah:elementObject ?policy .
  ?change ah:hasSetting ?unset ; prov:startedAtTime ?time .
}
"""


def _set_by_name(asked: Asked) -> Iterator[Solution]:
    """The tags and policies that rows set on one object or column, or tag, with ids and without."""
    about = _with_tags(asked)
    for row in (*_set_in_both_forms(asked), *_unset_on_other_form(asked)):
        if not about or row["thing"] in about:
            yield row


def _set_in_both_forms(asked: Asked) -> Iterator[Solution]:
    """The tags and policies that were set on one place with their ids and without; also a mask that was only enforced
    with its id, and set or unset without.
    """
    graph, classes, older = asked.graph, {full(name) for name in SET_BY[asked.name].split()}, _Places(set)
    forms = [row for row in graph.select(_FORMS) if any(graph.subjects("ah:elementObject", row["nameless"]))]
    for mask in older_masks_of(asked, {row["element"] for row in forms}):
        older[mask.element].add((mask.thing, mask.column))
    for row in forms:
        by_id = {_place(graph, setting) for setting in graph.subjects("ah:elementObject", row["element"])}
        by_id |= older[row["element"]]
        for setting in graph.subjects("ah:elementObject", row["nameless"]) if by_id else ():
            is_meant = not classes.isdisjoint(graph.objects(setting, "rdf:type"))
            place = _place(graph, setting)
            if is_meant and place in by_id:
                yield {"thing": place[0], "name": graph.label(row["nameless"])}


def _enforced_by_name(asked: Asked) -> Iterator[Solution]:
    """The masks that queries enforced without an id, and that rows unset with it: there, or on a tag that it has."""
    graph, about, wholes = asked.graph, _with_tags(asked), masked_wholes(asked.graph)
    of_policies = "ah:PolicySetting" in SET_BY[asked.name]
    for row in graph.select(_FORMS) if of_policies else ():
        settings = list(graph.subjects("ah:elementObject", row["element"]))
        ended = {_place(graph, setting) for setting in settings if _is_end(graph, setting)}
        enforcements = graph.subjects("ah:policy", row["nameless"]) if ended else iter(())
        for enforcement in filter(graph.is_mask, enforcements):
            thing = graph.text(enforcement, "ah:protectedObject") or ""
            column = graph.text(enforcement, "ah:protectedColumn")
            columns = {*reachable([column], graph.renamed_columns)} if column else {""}
            on_tags = (
                period.until
                for tagged, elements, period in masks_by_tags(graph, thing, wholes)
                if (tagged or "") in {*columns, ""} and row["element"] in elements
            )
            is_ended = any((thing, name) in ended for name in columns) or any(until < LATE for until in on_tags)
            if is_ended and (not about or thing in about):
                yield {"thing": thing, "name": graph.label(row["nameless"])}


def _enforced_by_tags(asked: Asked) -> set[str]:
    """The masks that queries enforced, and rows set on a tag that ended, the one with an id and the other without."""
    if "ah:PolicySetting" not in SET_BY[asked.name]:
        return set()
    about = _with_tags(asked)
    return {name for thing, name in ended_with_their_tags(asked.graph) if not about or thing in about}


def _counted_in_the_other_form(asked: Asked) -> list[str]:
    """What the answer takes for covered by a tag that may be another one: ``G.T.PII on D.S.T, column C``."""
    if asked.name not in _BY_TAGS:
        return []
    about = _with_tags(asked)
    rows = [
        row
        for row in counted_in_the_other_form(asked.graph)
        if asked.is_by_then(max(row["masked_since"], row["tagged_since"]))
        if not about or row["thing"] in about
    ]
    columns = (f", column {row['column']}" if row["column"] else "" for row in rows)
    named = (f"{row['name']} on {asked.label(row['thing'])}{column}" for row, column in zip(rows, columns, strict=True))
    return list(dict.fromkeys(named))


def _tagged_in_the_other_form(asked: Asked) -> list[str]:
    """The copies in the answer of ``tag-reach`` with a tag of the name that their source has with an id and they have
    without, or the other way round: ``G.T.PII on D.S.COPY, column C``.
    """
    graph, texts = asked.graph, dict[str, None]()
    for row in graph.at_most(asked.answer.dicts(), MOST) if asked.name == TAG_REACH else ():
        names = [(row[f"{end}_object_name"] or "", row[f"{end}_column_name"] or "") for end in ("source", "target")]
        of_source, of_target = (_tags_then(asked, *name) for name in names)
        if any(not of_target.isdisjoint(graph.same_names(tag)) for tag in of_source):
            name, column = names[1]
            texts[f"{row['tag_name']} on {name}, column {column}"] = None
    return list(texts)


def _tags_then(asked: Asked, name: str, column_name: str) -> set[str]:
    """The tags of a column, or of the whole object, at the time that is asked for."""
    graph, at = asked.graph, min(asked.times("at"), default=LATE)
    return {
        tag
        for holder in graph.holders(name)
        for setting in graph.subjects("ah:settingOn", holder.iri)
        if graph.text(setting, "ah:property") == "tags"
        if (since := graph.text(setting, "ah:validFrom")) and in_utc(since) <= at
        if not (until := graph.text(setting, "ah:validUntil")) or in_utc(until) > at
        if _is_of(graph, setting, column_name)
        for tag in graph.objects(setting, "ah:elementObject")
    }


def _is_of(graph: Lookups, setting: str, column_name: str) -> bool:
    """Whether a setting is on a column with this name, or on the object as a whole."""
    column = graph.text(setting, "ah:onColumn")
    return column is None or graph.text(column, "ah:matchName") == match_name(column_name)


def _is_end(graph: Lookups, setting: str) -> bool:
    """Whether a row unsets a policy, or ends what another one set."""
    return graph.text(setting, "ah:validUntil") is not None or graph.text(setting, "ah:subOperation") == "DROP"


def _place(graph: Lookups, setting: str) -> tuple[str, str]:
    """The object on which a setting is, and the column, empty for the object as a whole."""
    return graph.text(setting, "ah:settingOn") or "", graph.text(setting, "ah:onColumn") or ""


def _unset_on_other_form(asked: Asked) -> Iterator[Solution]:
    """The policies that were unset on a tag in one form, and are set on it in the other."""
    graph = asked.graph
    for row in graph.select(_UNSET_ON_TAG, classes=SET_BY[asked.name]):
        time, policies = in_utc(row["time"]), {row["policy"], *graph.same_names(row["policy"])}
        for setting in graph.subjects("ah:settingOn", row["thing"]):
            since, until = (graph.text(setting, term) for term in ("ah:validFrom", "ah:validUntil"))
            is_then = since and in_utc(since) < time and (not until or in_utc(until) > time)
            if is_then and not policies.isdisjoint(graph.objects(setting, "ah:elementObject")):
                yield {"thing": row["thing"], "name": f"{graph.label(row['policy'])} on {row['tag_name']}"}


_TAGS: Final = """\
SELECT DISTINCT ?tag WHERE {
  VALUES ?thing { @things@ }
  ?thing dcterms:isPartOf*/(ah:sameNameAs|^ah:sameNameAs)? ?tagged .
  ?mark ah:settingOn ?tagged ; a ah:TagSetting ; ah:elementObject/(ah:sameNameAs|^ah:sameNameAs)? ?tag .
}
"""


def _with_tags(asked: Asked) -> set[str]:
    """The objects that are asked for, what they are in, and the tags of all these: a policy on a tag covers them."""
    about = {*asked.asked_objects, *containers_of(asked.graph, asked.asked_objects)}
    tags = asked.graph.select(_TAGS, things=iris(about)) if about else ()
    return {*about, *(row["tag"] for row in tags)}


def containers_of(graph: Lookups, things: Iterable[str]) -> set[str]:
    """The schemas and databases that objects are in, or were, by the names that they had."""
    holders = {holder for thing in things for holder in graph.names_of(thing) if holder.domain not in CONTAINERS}
    return {
        around.iri
        for account, name in {holder.key for holder in holders}
        for container in containers("table", name)
        for around in graph.holders(container.name or "")
        if around.account == account and around.domain in CONTAINERS
    }


_ELEMENTS_CHANGED: Final = """\
SELECT DISTINCT ?thing ?changed ?operation ?name ?new ?swapped ?time ?query_id WHERE {
  VALUES ?class { @classes@ }
  { ?element ah:sameNameAs ?changed } UNION { ?changed ah:sameNameAs ?element }
  ?change ah:changedObject ?changed ; ah:operation ?operation ; prov:startedAtTime ?time ; dcterms:isPartOf ?query .
  OPTIONAL { ?change ah:newName ?new }
  FILTER(?operation IN ("CREATE", "DROP", "REPLACE", "UNDROP") || BOUND(?new))
  { ?setting ah:elementObject ?element ; ah:settingOn ?thing ; a ?class ; ah:validFrom ?since } UNION {
    VALUES ?class { ah:PolicySetting }
    ?enforcement ah:policyKind "MASKING_POLICY" ; ah:policy ?element ; ah:protectedObject ?thing .
  }
  FILTER(IF(BOUND(?enforcement), EXISTS {
    ?by ah:enforced ?enforcement ; prov:startedAtTime ?seen FILTER(?seen <= ?time)
  }, ?since <= ?time))
  OPTIONAL { ?change ah:objectName ?own_name }
  OPTIONAL { ?changed rdfs:label ?label }
  BIND(COALESCE(?own_name, ?label) AS ?name)
  FILTER(BOUND(?name))
  OPTIONAL { ?query ah:queryId ?query_id }
}
ORDER BY ?time ?name
"""
"""What ended or renamed a tag or policy that some rows give an id and others do not: the change by the one form, and
what was set before in the other; or the masks that were only enforced.
"""


def _elements_changed(asked: Asked) -> Iterator[str]:
    """A note on tags and policies that were set with an id and created, dropped, replaced, restored or renamed without,
    or the other way round; for ``changes``, which has another note on the former, only this.
    """
    about = _with_tags(asked)
    texts = [
        change_in_words(row, row["name"], row["new"])
        for row in asked.graph.select(_ELEMENTS_CHANGED, classes=SET_BY.get(asked.name, SET_BY["page-settings"]))
        if _is_meant(asked, row["time"]) and (asked.name != CHANGES or asked.graph.text(row["changed"], "ah:objectId"))
        if not about or row["thing"] in about
    ]
    if fresh := list(dict.fromkeys(texts)):
        more = f" and {len(fresh) - _SHOWN} more before" if len(fresh) > _SHOWN else ""
        yield (
            f"Rows name a tag or policy with its id and without: {', '.join(fresh[-_SHOWN:])}{more}. The answer does "
            "not count this for what was set before in the other form, though it may be the same."
        )


_CREATED: Final = """\
SELECT DISTINCT ?created ?operation ?name ?time ?query_id WHERE {
  VALUES ?operation { "CREATE" }
  ?change ah:operation ?operation ; ah:changedObject ?created ; prov:startedAtTime ?time ; dcterms:isPartOf ?query .
  FILTER NOT EXISTS { ?created ah:objectId ?id }
  ?created rdfs:label ?name .
  OPTIONAL { ?query ah:queryId ?query_id }
}
ORDER BY ?time ?name
"""
_HELD: Final = """\
SELECT DISTINCT ?element ?thing ?since ?until WHERE {
  VALUES ?class { @classes@ }
  ?setting a ?class ; ah:validFrom ?since ; ah:elementObject ?element ; ah:settingOn ?thing .
  OPTIONAL { ?setting ah:validUntil ?until }
}
"""


def _is_meant(asked: Asked, time: str) -> bool:
    """Whether a change is in the time that ``changes`` is asked for, or before the end of that of other questions."""
    return asked.has(in_utc(time)) if asked.name == CHANGES else asked.is_by_then(time)


def _created_again(asked: Asked) -> Iterator[str]:
    """A note on tags, policies, schemas and databases that rows without an id create while something is set with them
    or on them, or with a tag or policy in them. It goes on, since it can be a CREATE IF NOT EXISTS; a CREATE of a table
    ends what was set on it.
    """
    creations = defaultdict[str, list[Solution]](list)
    for row in asked.graph.select(_CREATED):
        if _is_meant(asked, row["time"]) and row["created"].rsplit("/", 3)[1] not in HOLDERS:
            creations[row["created"]].append(row)
    about = _with_tags(asked) if creations else set()
    again = [row for thing, row in _created_while_set(asked, creations) if not about or thing in about]
    again.sort(key=lambda row: (in_utc(row["time"]), row["name"]))
    if fresh := list(dict.fromkeys(change_in_words(row, row["name"], "") for row in again)):
        more = f" and {len(fresh) - _SHOWN} more before" if len(fresh) > _SHOWN else ""
        yield (
            f"By rows that give no id, {', '.join(fresh[-_SHOWN:])}{more}, though it was there. That can be a CREATE "
            "IF NOT EXISTS, which ends nothing; if not, what was set with it, or on it, has ended. The answer has that "
            "as if it had not."
        )


def _created_while_set(asked: Asked, creations: Mapping[str, list[Solution]]) -> Iterator[tuple[str, Solution]]:
    """The creations of a tag or policy, of what it is on, or of its schema or database, while it was set; each with
    what it was set on.
    """
    graph = asked.graph
    if not creations:
        return

    @cache
    def around(element: str) -> list[Solution]:
        return [
            row for thing in sorted({element, *containers_of(graph, [element])}) for row in creations.get(thing, ())
        ]

    masks = graph.with_text("ah:policyKind", "MASKING_POLICY")
    enforced = {policy for mask in masks for policy in graph.objects(mask, "ah:policy") if around(policy)}
    held = [
        Holding(row["element"], row["thing"], "", in_utc(row["since"]), in_utc(row["until"]) if row["until"] else LATE)
        for row in graph.select(_HELD, classes=SET_BY.get(asked.name, SET_BY["page-settings"]))
    ]
    was_dropped = cache(graph.was_dropped)
    for holding in (*held, *older_masks_of(asked, enforced)):
        for row in (*around(holding.element), *creations.get(holding.thing, ())):
            time = in_utc(row["time"])
            if holding.since < time < holding.until and not was_dropped(holding.element, time - MOMENT):
                yield holding.thing, row


def older_masks_of(asked: Asked, policies: Collection[str]) -> Iterable[Holding]:
    """Those that no row had set, for questions that are about policies."""
    return older_masks(asked.graph, policies) if "ah:PolicySetting" in SET_BY.get(asked.name, "") else ()
