"""Reads in clear whose query enforced a mask that may have covered what was read, too: on the same name in another
form, on a column behind the view, or on that of a view over the table.

A graph with ``--reads daily`` has a node for each object that a user read on a day: what was enforced on another object
is with the reads of that one, by the same user and role on the same day.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import islice
from typing import TYPE_CHECKING, Final

from pyoxigraph import Literal, NamedNode

from exporter.ask.answers import first_of
from exporter.ask.asked import MOST
from exporter.ask.lookups import iris, literals

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from exporter.ask.asked import Asked
    from exporter.ask.lookups import Lookups

_SHOWN: Final = 5
_TIME: Final = NamedNode("http://www.w3.org/2001/XMLSchema#dateTime")
_READS: Final = """\
SELECT DISTINCT ?query_id ?column_name ?column ?reads WHERE {
  VALUES ?query_id { @ids@ }
  ?query ah:queryId ?query_id ; ah:enforced ?enforcement .
  ?query (prov:qualifiedUsage|ah:accessPattern)/ah:readColumn ?column .
  ?enforcement ah:policyKind "MASKING_POLICY" .
  ?column ah:columnName ?column_name .
  BIND(STR(?query) AS ?reads)
}
"""
"""The columns that queries read which enforced a mask. ``?reads``: what a mask has to be enforced for, too."""
_READS_WITHOUT_ID: Final = """\
SELECT DISTINCT ?user_name ?time ?column_name ?column ?reads WHERE {
  VALUES (?user_name ?time ?column_name) { @reads@ }
  ?user ah:userName ?user_name .
  ?read prov:wasAssociatedWith ?user ; prov:startedAtTime|ah:lastStartedAtTime ?time .
  ?read (prov:qualifiedUsage|ah:accessPattern)/ah:readColumn ?column .
  ?column ah:columnName ?column_name .
  FILTER NOT EXISTS { ?read ah:queryId ?id }
  ?whole dcterms:hasPart? ?read ; a ?class .
  FILTER(?class IN (ah:DailyRead, ah:AggregatedQueries))
  BIND(IF(?class = ah:DailyRead, STRBEFORE(STR(?whole), "/of/"), STR(?whole)) AS ?reads)
}
"""
"""The same of reads by day, and of calls that are added up, which have no id."""
_RELATED: Final = """\
SELECT DISTINCT ?column ?masked ?place WHERE {
  {
    SELECT DISTINCT ?column ?masked WHERE {
      {
        VALUES ?column { @columns@ }
        ?column ah:columnOf ?object ; ah:matchName ?match .
        ?masked ah:columnOf ?object ; ah:matchName ?match .
      } UNION {
        VALUES ?column { @columns@ }
        ?column ah:columnOf ?object ; ah:matchName ?match .
        ?object ah:sameNameAs|^ah:sameNameAs ?owner .
        ?masked ah:columnOf ?owner ; ah:matchName ?match .
      } UNION {
        VALUES ?column { @columns@ }
        ?column ah:columnOf ?object ; ah:matchName ?match .
        ?shows ah:view ?object ; ah:sourceObject ?owner .
        ?masked ah:columnOf ?owner ; ah:matchName ?match .
      } UNION {
        VALUES ?column { @columns@ }
        ?column ah:columnOf ?object ; ah:matchName ?match .
        ?shows ah:sourceObject ?object ; ah:view ?owner .
        ?masked ah:columnOf ?owner ; ah:matchName ?match .
      } UNION {
        VALUES ?column { @columns@ }
        ?shown ah:viewColumn ?column ; ah:sourceColumn ?masked .
      } UNION {
        VALUES ?column { @columns@ }
        ?shown ah:sourceColumn ?column ; ah:viewColumn ?masked .
      }
    }
  }
  FILTER(?column != ?masked)
  ?masked ah:columnName ?masked_name ; ah:columnOf ?own_object .
  ?own_object rdfs:label ?label .
  BIND(CONCAT(?label, ".", ?masked_name) AS ?place)
}
"""
"""The columns that a mask has to be on: of the same name in another form, behind a view, or of a view."""
_ENFORCED: Final = """\
SELECT DISTINCT ?masked ?reads WHERE {
  VALUES ?masked { @masked@ }
  ?enforcement ah:protectedColumn ?masked ; ah:policyKind "MASKING_POLICY" .
  ?query ah:enforced ?enforcement .
  ?whole dcterms:hasPart? ?query ; a ?class .
  FILTER(?class IN (ah:DailyRead, ah:Query, ah:AggregatedQueries))
  BIND(IF(?class = ah:DailyRead, STRBEFORE(STR(?whole), "/of/"), STR(?whole)) AS ?reads)
}
"""


def masked_elsewhere(asked: Asked) -> Iterator[str]:
    """A note on such reads, for the question about reads in clear."""
    if asked.name != "unmasked-reads":
        return
    reads = list(_reads(asked))
    related = defaultdict[str, list[tuple[str, str]]](list)
    for row in asked.graph.select(_RELATED, columns=iris({column for _, column, _ in reads})) if reads else ():
        related[row["column"]].append((row["place"], row["masked"]))
    enforced = _enforced(asked.graph, {masked for each in related.values() for _, masked in each})
    texts = sorted(
        {
            f"{place} in {text}"
            for text, column, key in reads
            for place, masked in related[column]
            if (masked, key) in enforced
        },
        key=lambda text: (text.partition(" in ")[2], text),
    )
    if texts:
        yield (
            "Some of these queries enforced a masking policy on the same name without an id or in another letter case, "
            "on a column behind the view, or on that of a view over the table, and rows do not say whether it covered "
            f"what was read: {first_of(texts, _SHOWN)}."
        )


def _reads(asked: Asked) -> Iterator[tuple[str, str, str]]:
    """The reads of the answer: in words, the column, and what a mask has to be enforced for, too."""
    rows = list(islice(asked.answer.dicts(), MOST))
    by_id = {(row["query_id"], row["column_name"]) for row in rows if row["query_id"]}
    for row in asked.graph.select(_READS, ids=literals({query_id for query_id, _ in by_id if query_id})):
        if (row["query_id"], row["column_name"]) in by_id:
            yield f"query {row['query_id']}", row["column"], row["reads"]
    others = {
        f"({Literal(row['user_name'] or '')} {Literal(row['query_start_time'] or '', datatype=_TIME)} "
        f"{Literal(row['column_name'] or '')})"
        for row in rows
        if not row["query_id"]
    }
    for row in asked.graph.select(_READS_WITHOUT_ID, reads=" ".join(sorted(others))) if others else ():
        yield f"reads of {row['user_name']} at {row['time']}", row["column"], row["reads"]


def _enforced(graph: Lookups, masked: Collection[str]) -> set[tuple[str, str]]:
    return {(row["masked"], row["reads"]) for row in graph.select(_ENFORCED, masked=iris(masked))} if masked else set()
