"""Notes on enforced policies of which no row gives the body that was in force, or a row may have changed it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Final

from exporter.ask.answers import first_of
from exporter.ask.asked import Asked, record_begin
from exporter.ask.lookups import Lookups, iris, literals
from exporter.model.identifiers import TRUNCATED, match_name
from exporter.model.incomplete import NOT_UNDERSTOOD, UNNAMED, unnamed

_SHOWN_POLICIES: Final = 5
_IN_FORCE: Final = """\
SELECT DISTINCT ?name ?policy ?version ?column ?time WHERE {
  VALUES ?query_id { @ids@ }
  ?query ah:queryId ?query_id ; prov:startedAtTime ?time ; ah:enforced ?enforcement .
  ?enforcement ah:policy ?policy ; ah:policyVersion ?version .
  OPTIONAL { ?enforcement ah:protectedColumn ?column }
  OPTIONAL { ?enforcement ah:policyName ?spelled }
  OPTIONAL { ?policy rdfs:label ?label }
  BIND(COALESCE(?spelled, ?label, STR(?policy)) AS ?name)
}
ORDER BY ?name
"""
"""The policies that were enforced in queries, with the version that was in force; ``?column``: what one masks."""
_BY_NAME: Final = """\
SELECT DISTINCT ?query_id ?time WHERE {
  VALUES ?policy { @policy@ }
  { ?policy ah:sameNameAs|^ah:sameNameAs ?same . ?change ah:changedObject ?same } UNION {
    # The documents also have POLICY for the kind.
    ?same ah:domain "Policy" ; (ah:objectId|rdfs:label) ?of_same . ?policy (ah:objectId|rdfs:label) ?of_same .
    ?change ah:changedObject ?same .
  } UNION {
    ?policy rdfs:label ?name FILTER NOT EXISTS { ?policy ah:objectId ?id }
    ?change ah:newName ?name .
  }
  ?change ah:operation ?operation ; prov:startedAtTime ?time ; dcterms:isPartOf/ah:queryId ?query_id .
  OPTIONAL { ?change ah:policyBody|ah:newName ?given }
  FILTER(BOUND(?given) || ?operation IN ("CREATE", "REPLACE", "DROP", "UNDROP"))
}
"""
"""Statements on what is known by the name of a policy alone, or, if the policy is, that gave it that name."""
_CUT: Final = """\
SELECT DISTINCT ?query_id ?time WHERE {
  VALUES ?lacks { @reasons@ }
  VALUES ?policy { @policy@ }
  ?query ah:incomplete ?lacks ; prov:startedAtTime ?time ; ah:queryId ?query_id .
  OPTIONAL { ?policy ah:objectId ?id }
  OPTIONAL { ?policy rdfs:label ?label }
  # Nothing says what was changed, or it is this, perhaps by its id or its name alone.
  FILTER(NOT EXISTS { ?query ah:hasChange ?any } || EXISTS {
    ?query ah:hasChange/ah:changedObject ?changed .
    OPTIONAL { ?changed ah:objectId ?changed_id }
    OPTIONAL { ?changed rdfs:label ?changed_label }
    FILTER(?changed = ?policy || COALESCE(?changed_id = ?id, false) || COALESCE(?changed_label = ?label, false))
  })
}
"""


def unknown_bodies(asked: Asked) -> Iterator[str]:
    """Notes on enforced policies whose body is not on record, and on those that the answer leaves out."""
    if asked.name != "enforced-policy":
        return
    graph = asked.graph
    unknown, left_out = dict[str, None](), dict[str, None]()
    for row in graph.select(_IN_FORCE, ids=literals(asked.values("query_id"))):
        given = _body_given_by(graph, row["version"])
        if not any(graph.objects(given, "ah:policyBody")):
            is_listed = row["column"] or any(graph.objects(given, "prov:wasGeneratedBy"))
            (unknown if is_listed else left_out)[row["name"]] = None
        yield from _not_counted(asked, row, graph.text(given, "prov:generatedAtTime"))
    if unknown:
        names = first_of(list(unknown), _SHOWN_POLICIES)
        yield f"No row since {record_begin(graph)} says which body was in force: {names}."
    if left_out:
        names = first_of(list(left_out), _SHOWN_POLICIES)
        yield (
            f"Enforced, but not in the answer: {names}. A policy on a whole object is in it only if a row shows what "
            "made it or changed its body, and it was not dropped since."
        )


def _not_counted(asked: Asked, row: dict[str, str], since: str | None) -> Iterator[str]:
    """Notes on statements between that which gave the body, if it is on record, and the query."""
    graph = asked.graph
    kinds = (graph.text(row["policy"], "ah:domain"), "POLICY")  # the documents have both
    words = (TRUNCATED, UNNAMED, NOT_UNDERSTOOD, *map(unnamed, kinds))
    reasons = {f"object_modified_by_ddl {word}" for word in words}
    found = {
        "by rows that do not give its id or kind": graph.select(_BY_NAME, policy=iris([row["policy"]])),
        "that Snowflake cut, or that are not understood": graph.select(
            _CUT, reasons=literals(reasons), policy=iris([row["policy"]])
        ),
        "of its schema or database": () if any(graph.objects(row["policy"], "ah:objectId")) else _around(asked, row),
    }
    for why, statements in found.items():
        times = sorted((datetime.fromisoformat(one["time"]), one["query_id"]) for one in statements)
        begin, end = (datetime.fromisoformat(time) for time in (since or record_begin(graph), row["time"]))
        queries = [f"query {query_id}" for time, query_id in times if begin <= time <= end]
        if queries:
            yield (
                f"Another body of {row['name']} may have been in force: changes {why} are not counted for it "
                f"({first_of(queries[::-1], _SHOWN_POLICIES)})."
            )


def _around(asked: Asked, row: dict[str, str]) -> Iterator[dict[str, str]]:
    """What was done to the schema and database of a policy that is known by its name alone."""
    for places in asked.places.values():
        for statement in places.statements:
            names = tuple(f"{match_name(name)}." for name in statement.names)
            if row["policy"].startswith(statement.account) and match_name(row["name"]).startswith(names):
                yield {"time": statement.at, "query_id": statement.query_id}


def _body_given_by(graph: Lookups, version: str) -> str:
    """The version whose body a version of a policy has: an UNDROP gives none and brings back the one before."""
    while prior := next(graph.objects(version, "ah:priorVersion"), None):
        made_by = graph.objects(version, "prov:wasGeneratedBy")
        changes = (change for query in made_by for change in graph.objects(query, "ah:hasChange"))
        is_restored = any("UNDROP" in graph.objects(change, "ah:operation") for change in changes)
        if not is_restored or any(graph.objects(version, "ah:policyBody")):
            break
        version = prior
    return version
