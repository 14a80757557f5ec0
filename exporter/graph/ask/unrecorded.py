"""A note on what ``policy-coverage`` cannot show: policies that were set before the record begins.

No recorded statement set them, so no cell of the answer has them. Only queries for which they were enforced show that
they were in force.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyoxigraph import QuerySolutions

if TYPE_CHECKING:
    from pyoxigraph import Store

QUESTION: Final = "policy-coverage"
_SHOWN: Final = 5
_ENFORCED: Final = """\
PREFIX ah: <https://w3id.org/access-history#>
PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
SELECT DISTINCT ?label WHERE {
  {
    SELECT DISTINCT ?policy ?object ?column_node ?place WHERE {
      ?enforcement ah:policy ?policy ; ah:protectedObject ?object .
      OPTIONAL { ?enforcement ah:protectedColumn ?column_node }
      BIND(COALESCE(?column_node, ?object) AS ?place)
    }
  }
  FILTER EXISTS {
    ?mark a ah:TagSetting ; ah:settingOn ?object .
    OPTIONAL { ?mark ah:onColumn ?marked }
    FILTER(COALESCE(?marked, ?object) = ?place)
  }
  FILTER NOT EXISTS {
    ?set a ah:PolicySetting ; ah:elementObject ?policy ; ah:settingOn ?object .
    OPTIONAL { ?set ah:onColumn ?covered }
    FILTER(COALESCE(?covered, ?object) = ?place)
  }
  FILTER NOT EXISTS {
    ?mark_of_policy a ah:TagSetting ; ah:settingOn ?object ; ah:elementObject ?tag .
    ?set_on_tag a ah:PolicySetting ; ah:elementObject ?policy ; ah:settingOn ?tag .
    OPTIONAL { ?mark_of_policy ah:onColumn ?marked_column }
    FILTER(COALESCE(?marked_column, ?object) = ?place)
  }
  OPTIONAL { ?policy rdfs:label ?label_of_policy }
  OPTIONAL { ?object rdfs:label ?label_of_object }
  OPTIONAL { ?place ah:columnName ?column }
  BIND(COALESCE(?label_of_policy, STR(?policy)) AS ?what)
  BIND(COALESCE(?label_of_object, STR(?object)) AS ?where)
  BIND(CONCAT(?what, " on ", ?where, IF(BOUND(?column), CONCAT(".", ?column), "")) AS ?label)
}
ORDER BY ?label
"""
"""What is set on a column names the object, too (``ah:settingOn``); it is on the object where it names no column."""


def notes(store: Store, question: str) -> list[str]:
    """A note for a person who asked the shipped question; none where a recorded statement set every policy that was
    enforced on something with a tag.
    """
    if question != QUESTION:
        return []
    answer = store.query(_ENFORCED)
    found = [row["label"].value for row in answer] if isinstance(answer, QuerySolutions) else []
    if not found:
        return []
    more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
    known = f"{', '.join(found[:_SHOWN])}{more}"
    return [f"Enforced, but set before the record begins, and therefore not among the policies: {known}."]
