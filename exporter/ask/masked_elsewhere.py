"""Reads in clear whose query enforced a mask that may have covered what was read, too: on the same name in another
form, on a column behind the view, or on that of a view over the table.

A graph with ``--reads daily`` has a node for each object that a user read on a day: what was enforced on another object
is with the reads of that one, by the same user and role on the same day. Reads can only be of one query if the times of
the first and the last of both overlap; where a user read each once a day, they are.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator
from datetime import datetime
from itertools import islice
from typing import Final, NamedTuple

from pyoxigraph import Literal, NamedNode

from exporter.ask.answers import first_of
from exporter.ask.asked import MOST, Asked
from exporter.ask.lookups import Lookups, iris, literals

_SHOWN: Final = 5
_TIME: Final = NamedNode("http://www.w3.org/2001/XMLSchema#dateTime")
_READS: Final = """\
SELECT DISTINCT ?query_id ?column_name ?column ?reads ?first ?last WHERE {
  VALUES ?query_id { @ids@ }
  ?query ah:queryId ?query_id ; ah:enforced ?enforcement ; prov:startedAtTime ?first .
  ?query (prov:qualifiedUsage|ah:accessPattern)/ah:readColumn ?column .
  ?enforcement ah:policyKind "MASKING_POLICY" .
  ?column ah:columnName ?column_name .
  BIND(STR(?query) AS ?reads) BIND(?first AS ?last)
}
"""
"""The columns that queries read which enforced a mask. ``?reads``: what a mask has to be enforced for, too, between
``?first`` and ``?last``.
"""
_READS_WITHOUT_ID: Final = """\
SELECT DISTINCT ?user_name ?time ?column_name ?column ?reads ?first ?last WHERE {
  VALUES (?user_name ?time ?column_name) { @reads@ }
  ?user ah:userName ?user_name .
  ?read prov:wasAssociatedWith ?user ; prov:startedAtTime|ah:lastStartedAtTime ?time .
  ?read (prov:qualifiedUsage|ah:accessPattern)/ah:readColumn ?column .
  ?column ah:columnName ?column_name .
  FILTER NOT EXISTS { ?read ah:queryId ?id }
  ?read prov:startedAtTime ?first .
  OPTIONAL { ?read ah:lastStartedAtTime ?any_last }
  BIND(COALESCE(?any_last, ?first) AS ?last)
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
SELECT DISTINCT ?masked ?reads ?first ?last WHERE {
  VALUES ?masked { @masked@ }
  ?enforcement ah:protectedColumn ?masked ; ah:policyKind "MASKING_POLICY" .
  ?query ah:enforced ?enforcement ; prov:startedAtTime ?first .
  OPTIONAL { ?query ah:lastStartedAtTime ?any_last }
  BIND(COALESCE(?any_last, ?first) AS ?last)
  ?whole dcterms:hasPart? ?query ; a ?class .
  FILTER(?class IN (ah:DailyRead, ah:Query, ah:AggregatedQueries))
  BIND(IF(?class = ah:DailyRead, STRBEFORE(STR(?whole), "/of/"), STR(?whole)) AS ?reads)
}
"""


class _Reads(NamedTuple):
    """What was read or masked, in how many queries whatever. ``text``: in words, empty if it is masked; ``column``: its
    IRI; ``key``: the query, or the user, role and day; ``first``, ``last``: when the first and the last query started.
    """

    text: str
    column: str
    key: str
    first: datetime
    last: datetime

    @classmethod
    def of(cls, text: str, column: str, row: dict[str, str]) -> _Reads:
        first, last = (datetime.fromisoformat(row[name]) for name in ("first", "last"))
        return cls(text, column, row["reads"], first, last)

    def may_be_of(self, other: _Reads) -> bool:
        """Whether both may be of one query."""
        return self.first <= other.last and other.first <= self.last


def masked_elsewhere(asked: Asked) -> Iterator[str]:
    """A note on such reads, for the question about reads in clear."""
    if asked.name != "unmasked-reads":
        return
    reads = list(_reads(asked))
    related = defaultdict[str, list[tuple[str, str]]](list)
    for row in asked.graph.select(_RELATED, columns=iris({one.column for one in reads})) if reads else ():
        related[row["column"]].append((row["place"], row["masked"]))
    enforced = _enforced(asked.graph, {masked for each in related.values() for _, masked in each})
    found = {
        (one.text, place)
        for one in reads
        for place, masked in related[one.column]
        if any(map(one.may_be_of, enforced.get((masked, one.key), ())))
    }
    if found:
        texts = [f"{place} in {text}" for text, place in sorted(found)]
        yield (
            "Some of these queries enforced a masking policy on the same name without an id or in another letter case, "
            "on a column behind the view, or on that of a view over the table, and rows do not say whether it covered "
            f"what was read: {first_of(texts, _SHOWN)}."
        )


def _reads(asked: Asked) -> Iterator[_Reads]:
    """The reads of the answer."""
    rows = list(islice(asked.answer.dicts(), MOST))
    by_id = {(row["query_id"], row["column_name"]) for row in rows if row["query_id"]}
    for row in asked.graph.select(_READS, ids=literals({query_id for query_id, _ in by_id if query_id})):
        if (row["query_id"], row["column_name"]) in by_id:
            yield _Reads.of(f"query {row['query_id']}", row["column"], row)
    others = {
        f"({Literal(row['user_name'] or '')} {Literal(row['query_start_time'] or '', datatype=_TIME)} "
        f"{Literal(row['column_name'] or '')})"
        for row in rows
        if not row["query_id"]
    }
    for row in asked.graph.select(_READS_WITHOUT_ID, reads=" ".join(sorted(others))) if others else ():
        yield _Reads.of(f"reads of {row['user_name']} at {row['time']}", row["column"], row)


def _enforced(graph: Lookups, masked: Collection[str]) -> dict[tuple[str, str], list[_Reads]]:
    """When a mask was enforced on these columns, by column, and query or user, role and day."""
    found = defaultdict[tuple[str, str], list[_Reads]](list)
    for row in graph.select(_ENFORCED, masked=iris(masked)) if masked else ():
        found[row["masked"], row["reads"]].append(_Reads.of("", row["masked"], row))
    return found
