"""The graph pattern of SPARQL that resolves a name or an id to objects and periods. It is the same in every question.

A name means every object for as long as it had that name, so a table that is created again each night is one table. The
object that had the name last (at ``at``, before ``until``, or at the end of the record) also counts from the beginning,
under its former names. The lines are plain SPARQL 1.1 and are repeated in the file of each question
(``docs/graph.md``, "Names in questions"); a test compares them.
"""

from __future__ import annotations

from typing import Final

_LINES: Final = """\
{
  # The objects that are meant, each from when until when: the same lines in every question (docs/graph.md, "Names").
  SELECT DISTINCT ?object ?match_name ?from ?to ?at ?until WHERE {
    # ?begin and ?here say nothing: they tell engines that guess sizes to begin here, and not with all that there is.
    VALUES ?begin { 1 } { SELECT (1 AS ?begin) WHERE { } }
    {
      { VALUES ?object_name { UNDEF }  # param object_name
        FILTER(BOUND(?object_name)) }
      VALUES ?at { UNDEF }  # param at
      VALUES ?until { UNDEF }  # param until
      VALUES ?here { 1 } { SELECT (1 AS ?here) WHERE { } }
      BIND(COALESCE(IF(CONTAINS(?object_name, '"'), ?object_name, UCASE(?object_name)), "") AS ?match_name)
      ?named ah:matchName ?match_name ; ah:validFrom ?valid_from .
      ?object ah:hasName ?named ; ah:domain ?own_domain .
      OPTIONAL { ?named ah:validUntil ?to }
      # What has the name last counts from the beginning, under its former names too.
      BIND(COALESCE(?valid_from <= ?at, ?valid_from < ?until, true)
        && COALESCE(?to > ?at, ?to >= ?until, !BOUND(?to)) AS ?has_it)
      BIND(COALESCE(IF(?has_it, ?match_name, ""), "") AS ?name_then)
      OPTIONAL {
        ?named_later ah:matchName ?name_then ; ah:validFrom ?later .
        ?other ah:hasName ?named_later ; ah:objectId ?other_id ; ah:domain ?other_domain .
        OPTIONAL { ?named_later ah:validUntil ?later_to }
        FILTER(?later > ?valid_from && COALESCE(?later <= ?at, ?later < ?until, true)
          && COALESCE(?later_to > ?at, ?later_to >= ?until, !BOUND(?later_to))
          && (?other_domain = ?own_domain
            || (?other_domain IN ("Table", "View") && ?own_domain IN ("Table", "View")))
          # Of the same account: what an IRI has before kind and id.
          && REPLACE(STR(?other), "[^/]+/[^/]+$", "") = REPLACE(STR(?object), "[^/]+/[^/]+$", ""))
      }
      BIND(IF(?has_it && !BOUND(?later), ?always, ?valid_from) AS ?from)
    } UNION {
      { VALUES ?object_name { UNDEF }  # param object_name
        VALUES ?object_id { UNDEF }  # param object_id
        FILTER(!BOUND(?object_name) && BOUND(?object_id)) }
      ?object ah:objectId ?object_id .
    } UNION {
      { VALUES ?object_name { UNDEF }  # param object_name
        VALUES ?object_id { UNDEF }  # param object_id
        FILTER(!BOUND(?object_name) && !BOUND(?object_id)) }
      ?object ah:domain ?any_domain .
    }
    VALUES ?at { UNDEF }  # param at
    VALUES ?until { UNDEF }  # param until
    VALUES ?object_id { UNDEF }  # param object_id
    OPTIONAL { ?object ah:objectId ?own_id }
    FILTER(!BOUND(?object_id) || ?own_id = ?object_id)
    # The kind of object in any spelling: its domain, or its class (an external table is a table too).
    VALUES ?domain { UNDEF }  # param domain
    VALUES ?domain_of_id { @DOMAIN@ }
    OPTIONAL { ?object ah:domain ?object_domain }
    OPTIONAL { ?object a ?class }
    BIND(IF(BOUND(?domain), ?domain, IF(BOUND(?object_name), ?any, ?domain_of_id)) AS ?kind)
    FILTER(!BOUND(?kind) || REPLACE(LCASE(?kind), "[ _]", "")
      IN (REPLACE(LCASE(?object_domain), " ", ""), LCASE(STRAFTER(STR(?class), "#"))))
  }
}"""


def object_pattern(domain_of_id: str | None = None, name: str = "object_name", indent: str = "") -> str:
    """The group that binds ``?object``, ``?from``, ``?to``, ``?at`` and ``?until``. A thing that happens to an object
    counts where its time is not before ``?from`` and is before ``?to``; unbound means no limit. ``?match_name``: the
    name by which the object is meant in this period (``ah:matchName``), unbound where it is asked for by its id.

    ``domain_of_id``: the kind that an id alone stands for; ``name``: the parameter that has the name.
    """
    kind = "UNDEF" if domain_of_id is None else f'"{domain_of_id}"'
    lines = _LINES.replace("@DOMAIN@", kind).replace("# param object_name\n", f"# param {name}\n")
    return "\n".join(f"{indent}{line}" for line in lines.splitlines())
