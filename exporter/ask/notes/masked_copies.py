"""Notes on copies of masked columns: on queries that read or made them, and enforced a mask that may have been on the
same data: behind the copy, on a view over it, or on a column that rows give as the source of none.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cache, partial
from typing import Final

from pyoxigraph import Literal, NamedNode

from exporter.ask.answers import first_of
from exporter.ask.lookups import Lookups
from exporter.ask.notes.asked import MOST, Asked
from exporter.ask.notes.masks_beside import masks_beside, masks_beside_by_day, place_of
from exporter.ask.triples import Solution
from exporter.model.identifiers import match_name

_SHOWN: Final = 5
_READ_COPIES: Final = """\
SELECT DISTINCT ?read ?thing ?column ?place WHERE {
  VALUES (?thing ?match) { @copies@ }
  ?column ah:columnOf ?thing ; ah:matchName ?match ; ah:columnName ?name .
  ?access ah:readColumn ?column .
  ?read prov:qualifiedUsage|ah:accessPattern ?access FILTER EXISTS { ?read ah:enforced ?any }
  ?thing rdfs:label ?label .
  OPTIONAL { ?access ah:objectName ?then }
  BIND(CONCAT(COALESCE(?then, ?label), ".", ?name) AS ?place)
}
"""
"""The reads of copies that enforced a policy."""
_WRITTEN: Final = """\
SELECT DISTINCT ?query WHERE {
  {
    SELECT DISTINCT ?query ?enforcement WHERE {
      ?enforcement ah:policyKind "MASKING_POLICY" .
      ?query ah:enforced ?enforcement ; ah:madeVersion ?made .
    }
  }
  ?enforcement ah:protectedObject ?owner .
  FILTER(EXISTS { ?enforcement ah:setByProvider true } || NOT EXISTS {
    ?query prov:qualifiedUsage|ah:accessPattern ?access FILTER(EXISTS { ?access ah:accessedObject ?owner })
  })
}
"""
"""The queries that wrote, and enforced a mask on an object that they read by no name of its own; or a provider's."""


def copies_perhaps_masked(asked: Asked) -> Iterator[str]:
    """For ``unmasked-copies``, which looks at masks on the copy and on its source alone: notes on queries that read a
    copy, or made one, and enforced a mask that may have been on the same data.
    """
    graph, masked_copies = asked.graph, _masks_of_copies(asked)
    if masked_copies:
        texts = [f"{place} for {copy}" for place, copy in sorted(masked_copies)]
        yield (
            "Queries that read some of these copies (with reads by day perhaps others of the same user and role) "
            "enforced a masking policy on the same name in another form, behind the copy, or on a view over it, and "
            f"rows do not say whether it covered what was read: {first_of(texts, _SHOWN)}."
        )
    made = {
        f"{place} in query {graph.text(row['query'], 'ah:queryId') or row['query']}"
        for row in graph.at_most(graph.select(_WRITTEN), MOST)
        for place in _masks_of_sources(graph, row["query"])
    }
    if made:
        yield (
            "Queries that wrote enforced a masking policy on columns that rows give as the source of none, such as "
            "those of a view between a view and its table, or a provider's. What they copied may be masked there, and "
            f"its copies are not in the answer: {first_of(sorted(made), _SHOWN)}."
        )


def _masks_of_copies(asked: Asked) -> set[tuple[str, str]]:
    """The columns, as text, on which queries that read a copy enforced a mask, each with the copy."""
    graph = asked.graph
    copies = {
        (holder.iri, match_name(row["target_column_name"] or ""))
        for row in graph.at_most(asked.answer.dicts(), MOST)
        for name in [row["target_object_name"] or ""]
        for holder in (*graph.holders(name), *graph.of_id(name))
    }
    values = " ".join(f"({NamedNode(thing)} {Literal(name)})" for thing, name in sorted(copies))
    masks = cache(partial(_masks_enforced, graph))
    reads = graph.select(_READ_COPIES, copies=values) if copies else iter(())
    in_clear = (row for row in reads if _is_masked_elsewhere(row, masks(row["read"])))
    columns = defaultdict[tuple[str, str], set[str]](set)
    for row in graph.at_most(in_clear, MOST):
        columns[row["read"], row["thing"]].add(row["place"])
    masked_copies = {
        (place, column)
        for (read, thing), of_copy in columns.items()
        for place, _ in masks_beside(graph, read, thing)
        for column in of_copy
    }
    things, names = ({copy[number] for copy in copies} for number in (0, 1))
    by_day = masks_beside_by_day(graph, things, names) if copies else ()
    return masked_copies | {
        (mask.text, f"reads of {graph.name_at(thing, mask.first.isoformat())}") for mask, thing, _ in by_day
    }


def _is_masked_elsewhere(row: Solution, masks: Mapping[str, str]) -> bool:
    """Whether a query masked something of other objects than the copy that it read, and not the column that it read."""
    return row["column"] not in masks and any(owner != row["thing"] for owner in masks.values())


def _masks_enforced(graph: Lookups, query: str) -> dict[str, str]:
    """What a query masked: the columns, each with its object; in place of a column that no row names, that object."""
    return {
        column: owner
        for enforcement in graph.objects(query, "ah:enforced")
        if graph.is_mask(enforcement)
        for owner in graph.objects(enforcement, "ah:protectedObject")
        for column in (*graph.objects(enforcement, "ah:protectedColumn"), owner)
    }


def _masks_of_sources(graph: Lookups, query: str) -> set[str]:
    """The columns, as text, that a query masked which may be the same data as the sources of what it wrote, and are
    not among these.
    """
    versions = graph.objects(query, "ah:madeVersion")
    parts = (part for version in versions for part in graph.subjects("dcterms:isPartOf", version))
    derivations = {derivation for part in graph.at_most(parts, MOST) for derivation in graph.derivations_of(part)}
    own = {column for derivation in derivations for column in graph.objects(derivation, "ah:sourceColumn")}
    enforced = graph.objects(query, "ah:enforced")
    on_sources = {place_of(graph, mask) for mask in enforced if own & {*graph.objects(mask, "ah:protectedColumn")}}
    sources = {source for derivation in derivations for source in graph.objects(derivation, "ah:sourceObject")}
    on_same_data = {
        place for source in sources for place, is_given in masks_beside(graph, query, source) if not is_given
    }
    return on_same_data - on_sources
