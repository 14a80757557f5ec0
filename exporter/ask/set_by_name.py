"""Notes on tags and policies that rows set or unset without an id, of them or of what they are set on, where other rows
give one.

What is set on an object without its id is not counted for the object with an id. Nor does a tag or policy that is
unset, dropped, replaced or renamed without its id end what was set with it, or the other way round.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Final

from exporter.ask.answers import first_of
from exporter.ask.lookups import Lookups, iris

if TYPE_CHECKING:
    from exporter.ask.asked import Asked

SAME_NAME: Final = "ah:sameNameAs"
_SHOWN: Final = 5
"""How many objects and changes a note lists at most."""
_Row = dict[str, str]


def has_mixed_ids(graph: Lookups) -> bool:
    """Whether rows name an object with an id and without."""
    return graph.is_used(SAME_NAME)


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
    "policy-coverage": "ah:TagSetting ah:PolicySetting",
    "tag-history": "ah:TagSetting",
    "tag-reach": "ah:TagSetting",
    "unmasked-copies": "ah:TagSetting ah:PolicySetting",
    "unmasked-reads": "ah:TagSetting ah:PolicySetting",
}
"""Question -> the classes of the settings that it is about."""
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
    return {row["thing"]: row["name"] for row in rows if not asked.things or row["thing"] in asked.things}


_SET_BY_NAME: Final = """\
SELECT DISTINCT ?thing ?name WHERE {
  {
    ?nameless ah:sameNameAs ?element .
    VALUES ?class { @classes@ }
    ?by_name ah:elementObject ?nameless ; ah:settingOn ?thing ; a ?class .
    ?by_id ah:elementObject ?element ; ah:settingOn ?thing .
    OPTIONAL { ?by_name ah:onColumn ?column }
    OPTIONAL { ?by_id ah:onColumn ?same_column }
    FILTER(COALESCE(?column, ?thing) = COALESCE(?same_column, ?thing))
    ?nameless rdfs:label ?name .
  } UNION {
    # Unset on a tag in one form, and set on it in the other.
    VALUES ?class { @classes@ }
    ?thing ah:domain "Tag" ; ah:sameNameAs|^ah:sameNameAs ?other_form ; rdfs:label ?tag_name .
    ?unset ah:settingOn ?other_form ; a ?class ; ah:subOperation "DROP" ; ah:elementObject ?policy .
    ?change ah:hasSetting ?unset ; prov:startedAtTime ?time .
    ?set ah:settingOn ?thing ; ah:elementObject/(ah:sameNameAs|^ah:sameNameAs)? ?policy ; ah:validFrom ?since .
    OPTIONAL { ?set ah:validUntil ?until }
    FILTER(?since < ?time && COALESCE(?until > ?time, true))
    ?policy rdfs:label ?policy_name .
    BIND(CONCAT(?policy_name, " on ", ?tag_name) AS ?name)
  }
}
"""


def _set_by_name(asked: Asked) -> Iterator[_Row]:
    """The tags and policies that rows set on one object or column, or tag, with ids and without."""
    if asked.name in SET_BY and has_mixed_ids(asked.graph):
        about = _with_tags(asked)
        for row in asked.graph.select(_SET_BY_NAME, classes=SET_BY[asked.name]):
            if not about or row["thing"] in about:
                yield row


_TAGS: Final = """\
SELECT DISTINCT ?tag WHERE {
  VALUES ?thing { @things@ }
  ?thing dcterms:isPartOf*/(ah:sameNameAs|^ah:sameNameAs)? ?tagged .
  ?mark ah:settingOn ?tagged ; a ah:TagSetting ; ah:elementObject/(ah:sameNameAs|^ah:sameNameAs)? ?tag .
}
"""


def _with_tags(asked: Asked) -> set[str]:
    """The objects that are asked for, and the tags of them and of what they are in: a policy on a tag covers them."""
    tags = asked.graph.select(_TAGS, things=iris(asked.things)) if asked.things else ()
    return {*asked.things, *(row["tag"] for row in tags)}


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
