"""Notes on what rows set, unset, revoke or name without an id, where other rows give one.

- What is set on an object without its id is not counted for the object with an id. Nor does a tag or policy that is
  unset, dropped, replaced or renamed without its id end what was set with it, or the other way round.
- A revoke ends no grant where one of the two rows gives the id of the object or share and the other does not.
- Columns have no ids: what rows say of one counts under the name, and spelling, that they give.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Final

from exporter.ask.answers import first_of
from exporter.ask.asked import in_utc
from exporter.ask.lookups import Lookups, iris
from exporter.ask.parameters import as_text
from exporter.graph.terms import full
from exporter.input.properties import read
from exporter.model.facts import Grant, Thing
from exporter.model.grants import ANY, grants
from exporter.model.identifiers import match_name
from exporter.model.objects import containers, thing_of

if TYPE_CHECKING:
    from exporter.ask.asked import Asked

# --- tags and policies ------------------------------------------------------------------------------------------------


SAME_NAME: Final = "ah:sameNameAs"
_CONTAINERS: Final = ("Schema", "Database")
_SHOWN: Final = 5
"""How many objects and changes a note lists at most."""
_Row = dict[str, str]


def has_mixed_ids(graph: Lookups) -> bool:
    """Whether rows name an object with an id and without."""
    return graph.is_used(SAME_NAME)


def same_names(graph: Lookups, thing: str) -> set[str]:
    """The objects that may be this one: rows give one of the two with an id, and the other by the same name alone."""
    return {*graph.objects(thing, SAME_NAME), *graph.subjects(SAME_NAME, thing)}


def sentence(row: _Row, name: str, other: str) -> str:
    """``D.S.A was renamed to D.S.B (query q7, 2026-03-04T04:00:00Z)``."""
    if other:
        done = f"{'swapped with' if row['swapped'] else 'renamed to'} {other}"
    else:
        done = {"CREATE": "created", "DROP": "dropped", "REPLACE": "replaced"}.get(
            row["operation"], "restored by UNDROP"
        )
    query = f"query {row['query_id']}, " if row["query_id"] else ""
    return f"{name} was {done} ({query}{row['time']})"


def settings_by_name(asked: Asked) -> Iterator[str]:
    """Notes on what is set without an id."""
    names = sorted(set(given_without_id(asked).values()))
    if names:
        yield (
            f"Some rows give no id of {first_of(names, _SHOWN)}, and others do: tags and policies that were set "
            "without the id count for what is known by that name alone, and those that were set with it for what rows "
            "give with the id, though it may be the same."
        )
    elements = sorted({row["name"] for row in _set_by_name(asked)})
    if elements:
        yield (
            f"Some rows set or unset {first_of(elements, _SHOWN)} without an id, where other rows give the id: what is "
            "set with the id is not taken to end or to change by that, though it may be the same."
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
_SET: Final = """\
SELECT DISTINCT ?thing ?name WHERE {
  VALUES ?class { @classes@ }
  { ?nameless ah:sameNameAs ?thing . ?setting ah:settingOn ?nameless ; a ?class } UNION {
    ?nameless ah:sameNameAs ?identified . ?setting ah:settingOn ?identified ; a ?class .
    FILTER EXISTS { ?access ah:accessedObject ?nameless }
    ?nameless ah:sameNameAs? ?thing .
  }
  FILTER NOT EXISTS { ?thing ah:domain "Tag" }
  ?nameless rdfs:label ?name .
}
ORDER BY ?name
"""


def given_without_id(asked: Asked) -> dict[str, str]:
    """The objects that are asked for (all, if there are none) on which rows set tags or policies without giving their
    ids, where other rows give them, or with their ids, where other rows use them without; and their names.
    """
    if asked.name not in SET_BY or not has_mixed_ids(asked.graph):
        return {}
    rows = asked.graph.select(_SET, classes=SET_BY[asked.name])
    return {row["thing"]: row["name"] for row in rows if not asked.about or row["thing"] in asked.about}


_FORMS: Final = "SELECT ?nameless ?element WHERE { ?nameless ah:sameNameAs ?element }"
_UNSET_ON_TAG: Final = """\
SELECT DISTINCT ?thing ?tag_name ?policy ?time WHERE {
  VALUES ?class { @classes@ }
  ?thing ah:domain "Tag" ; ah:sameNameAs|^ah:sameNameAs ?other_form ; rdfs:label ?tag_name .
  ?unset ah:settingOn ?other_form ; a ?class ; ah:subOperation "DROP" ; ah:elementObject ?policy .
  ?change ah:hasSetting ?unset ; prov:startedAtTime ?time .
}
"""


def _set_by_name(asked: Asked) -> Iterator[_Row]:
    """The tags and policies that rows set on one object or column, or tag, with ids and without."""
    if asked.name in SET_BY and has_mixed_ids(asked.graph):
        about = _with_tags(asked)
        for row in (*_set_in_both_forms(asked), *_unset_on_other_form(asked)):
            if not about or row["thing"] in about:
                yield row


def _set_in_both_forms(asked: Asked) -> Iterator[_Row]:
    """The tags and policies that were set on one place with their ids and without."""
    graph, classes = asked.graph, {full(name) for name in SET_BY[asked.name].split()}
    for row in graph.select(_FORMS):
        by_id = {_place(graph, setting) for setting in graph.subjects("ah:elementObject", row["element"])}
        for setting in graph.subjects("ah:elementObject", row["nameless"]) if by_id else ():
            is_meant = not classes.isdisjoint(graph.objects(setting, "rdf:type"))
            place = _place(graph, setting)
            if is_meant and place in by_id:
                yield {"thing": place[0], "name": graph.label(row["nameless"])}


def _place(graph: Lookups, setting: str) -> tuple[str, str]:
    """The object on which a setting is, and the column, empty for the object as a whole."""
    return graph.text(setting, "ah:settingOn") or "", graph.text(setting, "ah:onColumn") or ""


def _unset_on_other_form(asked: Asked) -> Iterator[_Row]:
    """The policies that were unset on a tag in one form, and are set on it in the other."""
    graph = asked.graph
    for row in graph.select(_UNSET_ON_TAG, classes=SET_BY[asked.name]):
        time, policies = in_utc(row["time"]), {row["policy"], *same_names(graph, row["policy"])}
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
    about = {*asked.about, *containers_of(asked.graph, asked.about)}
    tags = asked.graph.select(_TAGS, things=iris(about)) if about else ()
    return {*about, *(row["tag"] for row in tags)}


def containers_of(graph: Lookups, things: Iterable[str]) -> set[str]:
    """The schemas and databases that objects are in, or were, by the names that they had."""
    holders = {holder for thing in things for holder in graph.names_of(thing) if holder.domain not in _CONTAINERS}
    return {
        around.iri
        for account, name in {holder.key for holder in holders}
        for one in containers("table", name)
        for around in graph.holders(one.name or "")
        if around.account == account and around.domain in _CONTAINERS
    }


_ELEMENTS_CHANGED: Final = """\
SELECT DISTINCT ?thing ?operation ?name ?new ?swapped ?time ?query_id WHERE {
  VALUES ?class { @classes@ }
  { ?element ah:sameNameAs ?changed } UNION { ?changed ah:sameNameAs ?element }
  ?change ah:changedObject ?changed ; ah:operation ?operation ; prov:startedAtTime ?time ; dcterms:isPartOf ?query .
  OPTIONAL { ?change ah:newName ?new }
  FILTER(?operation IN ("DROP", "REPLACE", "UNDROP") || BOUND(?new))
  ?setting ah:elementObject ?element ; ah:settingOn ?thing ; a ?class ; ah:validFrom ?since .
  FILTER(?since <= ?time)
  OPTIONAL { ?change ah:objectName ?own_name }
  OPTIONAL { ?changed rdfs:label ?label }
  BIND(COALESCE(?own_name, ?label) AS ?name)
  FILTER(BOUND(?name))
  OPTIONAL { ?query ah:queryId ?query_id }
}
ORDER BY ?time ?name
"""
"""What ended or renamed a tag or policy that some rows give an id and others do not: the change by the one form, and
what was set before in the other.
"""


def _elements_changed(asked: Asked) -> Iterator[str]:
    """A note on tags and policies that were set with an id and dropped, replaced, restored or renamed without, or the
    other way round.
    """
    if asked.name not in SET_BY or not has_mixed_ids(asked.graph):
        return
    about = _with_tags(asked)
    texts = [
        sentence(row, row["name"], row["new"])
        for row in asked.graph.select(_ELEMENTS_CHANGED, classes=SET_BY[asked.name])
        if asked.until is None or datetime.fromisoformat(row["time"]) <= asked.until
        if not about or row["thing"] in about
    ]
    if fresh := list(dict.fromkeys(texts)):
        yield (
            f"Rows name a tag or policy with its id and without: {', '.join(fresh[-_SHOWN:])}. The answer does not "
            "count this for what was set before in the other form, though it may be the same."
        )


# --- revokes ----------------------------------------------------------------------------------------------------------


_REVOKES_SHOWN: Final = 5
_REVOKES: Final = """\
SELECT DISTINCT ?changed ?domain ?id ?name ?properties ?time ?query_id WHERE {
  VALUES ?property { "revoke" "accountsToRemove" "accountsToSet" }
  ?change ah:hasSetting/ah:property ?property ; ah:changedObject ?changed ; ah:properties ?properties ;
    prov:startedAtTime ?time ; dcterms:isPartOf ?query .
  ?changed ah:domain ?domain .
  OPTIONAL { ?changed ah:objectId ?id }
  OPTIONAL { ?change ah:objectName ?name }
  OPTIONAL { ?query ah:queryId ?query_id }
}
ORDER BY ?time ?query_id
"""
_HELD: Final = """\
SELECT DISTINCT ?object ?grantee ?privilege ?on_all ?label ?whom WHERE {
  ?grant a ah:Grant ; ah:grantedObject ?object ; ah:grantee ?grantee ; ah:validFrom ?since .
  OPTIONAL { ?grant ah:validUntil ?until }
  FILTER(?since < @time@ && (!BOUND(?until) || ?until > @time@))
  OPTIONAL { ?grant ah:privilege ?privilege }
  OPTIONAL { ?grant ah:onAll ?on_all }
  OPTIONAL { ?grant ah:objectName ?object_spelled }
  OPTIONAL { ?object rdfs:label ?object_label }
  BIND(COALESCE(?object_spelled, ?object_label, "") AS ?label)
  OPTIONAL { ?grant ah:granteeName ?grantee_spelled }
  OPTIONAL { ?grantee rdfs:label ?grantee_label }
  BIND(COALESCE(?grantee_spelled, ?grantee_label, "") AS ?whom)
}
ORDER BY ?label ?whom ?privilege
"""


def revokes_not_counted(asked: Asked) -> Iterator[str]:
    """A note on each revoke that may be about a grant that the answer still has, by the names of the two."""
    if asked.name != "exposure":
        return
    texts = [
        _sentence(revoke, held)
        for revoke in asked.graph.select(_REVOKES)
        if asked.until is None or datetime.fromisoformat(revoke["time"]) <= asked.until
        for held in _held_after(asked.graph, revoke)
        if _is_asked_for(asked, held)
    ]
    if fresh := list(dict.fromkeys(texts)):
        yield (
            f"Rows name an object or share of a grant with its id and without: {first_of(fresh[::-1], _SHOWN)}. The "
            "answer does not count this for the grant in the other form, though it may be the same."
        )


def _sentence(revoke: _Row, held: _Row) -> str:
    """``SELECT on D.S.T was revoked from OUT (query q7, 2026-03-04T04:00:00Z)``."""
    what = f"{held['privilege']} on {held['label']}" if held["privilege"] else held["label"]
    query = f"query {revoke['query_id']}, " if revoke["query_id"] else ""
    return f"{what} was revoked from {held['whom']} ({query}{revoke['time']})"


def _is_asked_for(asked: Asked, held: _Row) -> bool:
    """Whether a grant is of what is asked for, or of a role or share by which somebody in the answer has it."""
    if not asked.things or held["object"] in asked.things:
        return True
    return not held["privilege"] and any(row["grantee"] == held["whom"] for row in asked.answer.dicts())


def _held_after(graph: Lookups, revoke: _Row) -> Iterator[_Row]:
    """The grants that hold after a revoke that may have been meant to end them."""
    changed = thing_of(revoke["domain"], revoke["id"] or None, revoke["name"] or None)
    every = () if changed is None else grants(changed, read(revoke["properties"]))
    revoked = [one for one in every if one.is_revoked]
    account, time = revoke["changed"].rsplit("/", 2 if revoke["id"] else 3)[0], datetime.fromisoformat(revoke["time"])
    for held in graph.select(_HELD, time=f'"{revoke["time"]}"^^<{full("xsd:dateTime")}>') if revoked else ():
        if held["object"].startswith(f"{account}/") and any(_may_end(graph, one, held, time) for one in revoked):
            yield held


def _may_end(graph: Lookups, revoked: Grant, held: _Row, time: datetime) -> bool:
    if revoked.privilege not in {ANY, held["privilege"] or None}:
        return False
    if revoked.grantee is not None and not _may_be(graph, revoked.grantee, held["grantee"], time):
        return False
    if revoked.on_all is None or held["on_all"]:
        return revoked.on_all == (held["on_all"] or None) and _may_be(graph, revoked.thing, held["object"], time)
    begins = f"{match_name(revoked.thing.name or '')}."
    is_inside = any(name.startswith(begins) for name in _names(graph, held["object"], time))
    return is_inside and graph.is_of_kind(held["object"], revoked.on_all)


def _may_be(graph: Lookups, thing: Thing, iri: str, time: datetime) -> bool:
    """Whether what a row names can be an object of the graph: by its id, else by its kind and its name at that time."""
    ident = graph.text(iri, "ah:objectId")
    if iri.rsplit("/", 2 if ident else 3)[1] != thing.kind:
        return False
    if thing.object_id is not None and ident is not None:
        return thing.object_id == ident
    return thing.name is not None and match_name(thing.name) in _names(graph, iri, time)


def _names(graph: Lookups, iri: str, time: datetime) -> set[str]:
    return {match_name(holder.name) for holder in graph.names_of(iri) if holder.holds(time)}


# --- columns ----------------------------------------------------------------------------------------------------------


_COLUMNS_SHOWN: Final = 5
_BY_COLUMN: Final = {
    "column-copies": "copies count",
    "column-readers": "reads count",
    "end-up": "copies and reads count",
    "root-cause": "writes count",
    "tag-history": "tags count",
    "unmasked-reads": "reads count",
}
"""Question about a column that is asked for by its name -> what counts under the name that the column had then."""


def former_columns(asked: Asked) -> Iterator[str]:
    """A note on each renamed column: what was done to it counts under the name that it had then, so its other names
    have to be asked for, too. It may have been renamed several times.
    """
    counted, asked_names = _BY_COLUMN.get(asked.name), asked.match_names("column_name")
    for thing in sorted(asked.things) if counted and asked_names else ():
        renames = sorted(_renames(asked.graph, thing))
        names = set(asked_names)
        for _ in renames:  # as many steps as a chain of them can have
            names.update(match_name(new) for former, new in renames if match_name(former) in names)
            if asked.name != "tag-history":  # it has the tags of former names
                names.update(match_name(former) for former, new in renames if match_name(new) in names)
        for former, new in renames:
            others = [f"column_name={column}" for column in (new, former) if match_name(column) not in asked_names]
            if others and {match_name(former), match_name(new)} <= names:
                yield (
                    f"The column {former} was renamed to {new}, and {counted} under the name of their time. "
                    f"Ask for {' and '.join(others)}, too."
                )


def dropped_columns(asked: Asked) -> Iterator[str]:
    """A note on each drop of the column that is asked for, if the answer can have something from before it."""
    names = asked.match_names("column_name") if asked.name in _BY_COLUMN and asked.answer.rows else []
    for thing in sorted(asked.things) if names and not asked.values("at") else ():
        for column, time in sorted(_drops(asked.graph, thing)):
            is_within = (asked.since is None or asked.since <= time) and (asked.until is None or time < asked.until)
            if is_within and match_name(column) in names:
                yield (
                    f"The column {column} of {asked.homes.label(thing)} was dropped at {as_text(time)}: what the "
                    "answer has from before that is of the column that is gone."
                )


def _drops(graph: Lookups, thing: str) -> Iterator[tuple[str, datetime]]:
    """The columns of an object that were dropped, each with the time."""
    for column in graph.subjects("ah:columnOf", thing):
        for setting in graph.subjects("ah:onColumn", column):
            if "columns" in graph.objects(setting, "ah:property") and "DROP" in graph.objects(
                setting, "ah:subOperation"
            ):
                for change in graph.subjects("ah:hasSetting", setting):
                    for time in graph.objects(change, "prov:startedAtTime"):
                        yield graph.text(column, "ah:columnName") or "", in_utc(time)


def _renames(graph: Lookups, thing: str) -> set[tuple[str, str]]:
    """The former and the new name of the renamed columns of an object."""
    columns = (
        (former, new) for new in graph.subjects("ah:columnOf", thing) for former in graph.objects(new, "ah:renamedFrom")
    )
    names = ((graph.text(former, "ah:columnName"), graph.text(new, "ah:columnName")) for former, new in columns)
    return {(former, new) for former, new in names if former and new}


_CASES: Final = """\
SELECT DISTINCT ?object ?label ?spelled ?other WHERE {
  { SELECT DISTINCT ?column WHERE { ?setting ah:onColumn ?column ; a ah:TagSetting } }
  UNION { SELECT DISTINCT ?column WHERE { ?setting ah:onColumn ?column ; a ah:PolicySetting } }
  ?column ah:columnOf ?object ; ah:matchName ?match_name ; ah:columnName ?spelled .
  ?same ah:columnOf ?object ; ah:matchName ?match_name ; ah:columnName ?other .
  FILTER(?same != ?column)
  OPTIONAL { ?object rdfs:label ?label }
}
"""
"""Columns with tags or policies that rows also give in another letter case."""


def letter_cases(asked: Asked) -> Iterator[str]:
    """Tags and policies count for the spelling of a column with which rows set them."""
    if asked.name not in {*SET_BY, "agent-reads"} or asked.is_of_page:
        return
    name_of: dict[tuple[str, ...], str] = {}
    for row in asked.graph.select(_CASES):
        thing, name = row["object"], row["label"] or row["object"]
        if not asked.things or thing in asked.things:
            key = (thing, *sorted((row["spelled"], row["other"])))
            name_of[key] = min(name, name_of.get(key, name))
    texts = [f"{one} and {other} of {name}" for (_, one, other), name in sorted(name_of.items())]
    if texts:
        yield (
            f"Rows give columns in several letter cases: {first_of(texts, _SHOWN)}. A tag or policy counts for the "
            "spelling with which it was set or unset, and not for the other, though it may be the same column: the "
            "answer may lack rows, and have some that do not hold."
        )
