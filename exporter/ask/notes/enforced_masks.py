"""Notes on unmasked reads whose query enforced a mask elsewhere that may have covered what was read, too
(:mod:`exporter.ask.notes.masks_beside`). A view may call a column otherwise than its table: where no row says which of
its columns shows the one that was read, the mask may be on any that the query read.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator
from datetime import datetime
from functools import cache, partial
from typing import Final, NamedTuple

from pyoxigraph import Literal, NamedNode

from exporter.ask.answers import first_of
from exporter.ask.lookups import Lookups
from exporter.ask.notes.asked import MOST, Asked
from exporter.ask.notes.masks_beside import (
    MASKED_BY_DAY,
    Reads,
    masks_beside,
    masks_beside_by_day,
    objects_behind,
    place_of,
    views_over,
)
from exporter.ask.triples import in_utc, iris

_SHOWN: Final = 5
_TIME: Final = NamedNode("http://www.w3.org/2001/XMLSchema#dateTime")
_READS_WITHOUT_ID: Final = """\
SELECT DISTINCT ?user_name ?time ?column_name ?column ?reads ?first ?last WHERE {
  VALUES (?user_name ?time ?column_name) { @reads@ }
  ?user ah:userName ?user_name .
  ?read prov:wasAssociatedWith ?user ; prov:startedAtTime|ah:lastStartedAtTime ?time .
  ?read (prov:qualifiedUsage|ah:accessPattern)/ah:readColumn ?column .
  ?column ah:columnName ?column_name .
  FILTER NOT EXISTS { ?read ah:queryId ?id }
  FILTER NOT EXISTS {
    ?read ah:enforced ?own
    FILTER(EXISTS { ?own ah:protectedColumn ?column } && EXISTS { ?own ah:policyKind "MASKING_POLICY" })
  }
  ?read prov:startedAtTime ?first .
  OPTIONAL { ?read ah:lastStartedAtTime ?any_last }
  BIND(COALESCE(?any_last, ?first) AS ?last)
  ?whole dcterms:hasPart? ?read ; a ?class .
  FILTER(?class IN (ah:DailyRead, ah:AggregatedQueries))
  BIND(IF(?class = ah:DailyRead, STRBEFORE(STR(?whole), "/of/"), STR(?whole)) AS ?reads)
}
"""
"""The columns that reads which enforced a mask read unmasked: of reads by day, and of calls that are added up, which
have no id; of others :func:`_read_unmasked`. ``?reads``: what a mask has to be enforced for, too, from ``?first`` until
``?last``.
"""
_ENFORCED: Final = """\
SELECT DISTINCT ?masked ?place ?reads ?first ?last WHERE {
  VALUES ?masked { @masked@ }
  ?enforcement ah:protectedColumn ?masked ; ah:policyKind "MASKING_POLICY" ; ah:protectedObject ?owner .
  ?masked ah:columnName ?masked_name .
  OPTIONAL { ?owner rdfs:label ?label }
  OPTIONAL { ?enforcement ah:objectName ?then }
  BIND(CONCAT(COALESCE(?then, ?label, STR(?owner)), ".", ?masked_name) AS ?place)
  ?query ah:enforced ?enforcement ; prov:startedAtTime ?first .
  OPTIONAL { ?query ah:lastStartedAtTime ?any_last }
  BIND(COALESCE(?any_last, ?first) AS ?last)
  ?whole dcterms:hasPart? ?query ; a ?class .
  FILTER(?class IN (ah:DailyRead, ah:Query, ah:AggregatedQueries))
  BIND(IF(?class = ah:DailyRead, STRBEFORE(STR(?whole), "/of/"), STR(?whole)) AS ?reads)
}
"""
_DAYS_OF_COLUMN: Final = """\
SELECT DISTINCT ?read ?reads ?first ?last WHERE {
  VALUES ?column { @column@ }
  ?access ah:readColumn ?column .
  ?read ah:accessPattern ?access ; prov:startedAtTime ?first .
  OPTIONAL { ?read ah:lastStartedAtTime ?any_last }
  BIND(COALESCE(?any_last, ?first) AS ?last)
  ?whole dcterms:hasPart? ?read ; a ah:DailyRead .
  BIND(STRBEFORE(STR(?whole), "/of/") AS ?reads)
}
"""


def reads_perhaps_masked(asked: Asked) -> Iterator[str]:
    """A note on such reads, for the questions that say what was read unmasked."""
    reads = list(_reads(asked))
    related = _related_columns(asked.graph, {read.column for read in reads})
    enforced = _enforced(asked.graph, set[str]().union(*related.values()))
    masked_reads = {
        (read.text, mask.text)
        for read in reads
        for masked in related[read.column]
        for mask in enforced.get((masked, read.key), ())
        if read.may_be_of(mask)
    }
    masked_reads |= _over_or_behind(asked.graph, reads) | _under_other_names(asked.graph, reads)
    if masked_reads:
        texts = [f"{place} in {text}" for text, place in sorted(masked_reads)]
        yield (
            "Some of these queries enforced a masking policy on the same name without an id or in another letter case, "
            "on the object without a column, on a column behind the view, or on that of a view over the table, and "
            f"rows do not say whether it covered what was read: {first_of(texts, _SHOWN)}."
        )


def _related_columns(graph: Lookups, columns: Iterable[str]) -> dict[str, set[str]]:
    """Columns -> the columns that a mask on them may be on, too: of the same name in another form, behind a view, or of
    a view.
    """
    owners = cache(lambda thing: _same_and_views(graph, thing))
    by_column = dict[str, set[str]]()
    for column in columns:
        own, name = graph.text(column, "ah:columnOf") or "", graph.text(column, "ah:matchName") or ""
        related = {other for owner in owners(own) for other in graph.columns_of(owner, {name})}
        for from_term, to_term in (("ah:viewColumn", "ah:sourceColumn"), ("ah:sourceColumn", "ah:viewColumn")):
            related |= {end for shown in graph.subjects(from_term, column) for end in graph.objects(shown, to_term)}
        by_column[column] = related - {column}
    return by_column


def _same_and_views(graph: Lookups, thing: str) -> set[str]:
    """An object, what may be the same, what is behind it if it is a view, and the views over it."""
    return {thing, *graph.same_names(thing), *objects_behind(graph, thing), *views_over(graph, thing)}


def _over_or_behind(graph: Lookups, reads: Collection[Reads]) -> set[tuple[str, str]]:
    """The reads, each with a masked column, as text, of an object that the row gives nowhere else: it can be a view
    between a view and its table. What rows give of both is compared by columns (:func:`_related_columns`).
    """
    owners = {read: graph.text(read.column, "ah:columnOf") or "" for read in reads}
    masked_reads = {
        (read.text, place)
        for read, thing in owners.items()
        for place, is_given in masks_beside(graph, read.key, thing)
        if not is_given
    }
    for mask, thing, is_given in masks_beside_by_day(graph, set(owners.values())):
        for read in () if is_given else reads:
            if owners[read] == thing and read.key == mask.key and read.may_be_of(mask):
                masked_reads.add((read.text, mask.text))
    return masked_reads


class _Enforced(NamedTuple):
    """A mask on a column: its place as text, the column and its object, and the node of what enforced it: of a query,
    of reads of a day, or of a part of them.
    """

    text: str
    column: str
    owner: str
    node: str


def _under_other_names(graph: Lookups, reads: Collection[Reads]) -> set[tuple[str, str]]:
    """The reads, each with a masked column, as text, of a view over what was read or of what is behind it, if no row
    and no name says which column of the one is which of the other.
    """
    masks_by_day = defaultdict[str, list[tuple[Reads, _Enforced]]](list)
    for row in graph.select(MASKED_BY_DAY) if reads and any(graph.of_class("ah:DailyRead")) else ():
        if row["column"]:
            times = Reads.of(row["place"], row["column"], row)
            masks_by_day[times.key].append((times, _Enforced(row["place"], row["column"], row["owner"], row["read"])))
    of_query = cache(lambda key: list(_masks_by_query(graph, key)))
    over, behind = cache(partial(views_over, graph)), cache(partial(objects_behind, graph))
    days = cache(partial(_days_of, graph))
    may_show = cache(partial(_may_show, graph, days))
    masked_reads = set[tuple[str, str]]()
    for read in reads:
        thing = graph.text(read.column, "ah:columnOf") or ""
        of_day = [mask for times, mask in masks_by_day[read.key] if times.may_be_of(read)]
        for mask in (*of_query(read.key), *of_day):
            is_over = mask.owner in over(thing)
            if (is_over or mask.owner in behind(thing)) and may_show(read, mask, is_over=is_over):
                nodes = [node for node, times in days(read.column) if times.key == read.key and times.may_be_of(read)]
                if not (is_over and all(_reads_by_name(graph, node, read.column) for node in nodes or [mask.node])):
                    masked_reads.add((read.text, mask.text))
    return masked_reads


def _days_of(graph: Lookups, column: str) -> list[tuple[str, Reads]]:
    """The nodes of reads by day of a column, and what they stand for."""
    return [(row["read"], Reads.of("", column, row)) for row in graph.select(_DAYS_OF_COLUMN, column=iris([column]))]


def _reads_by_name(graph: Lookups, node: str, column: str) -> bool:
    """Whether a query, or all of a node for several, read a column of an object by the name of that object."""
    return any(
        column in graph.objects(access, "ah:readColumn") and "DIRECT" in graph.objects(access, "ah:accessType")
        for access in graph.accesses_of(node)
    )


def _masks_by_query(graph: Lookups, key: str) -> Iterator[_Enforced]:
    """The columns that a query masked, or that calls which are added up did."""
    for node in (key, *graph.objects(key, "dcterms:hasPart")):
        for enforcement in graph.objects(node, "ah:enforced"):
            if graph.is_mask(enforcement):
                for column in graph.objects(enforcement, "ah:protectedColumn"):
                    owner = graph.text(enforcement, "ah:protectedObject") or ""
                    yield _Enforced(place_of(graph, enforcement), column, owner, node)


_Days = Callable[[str], list[tuple[str, Reads]]]
"""Gives the reads by day of a column: their nodes, and what they stand for."""


def _may_show(graph: Lookups, days: _Days, read: Reads, mask: _Enforced, *, is_over: bool) -> bool:
    """Whether a mask on a column of a view over what was read (``is_over``), or on one of what is behind it, may have
    covered what was read: the same query read the masked one, and neither a row nor a name says of which column the
    column of the view is.
    """
    all_accesses = (access for node in _read_together(graph, mask.node) for access in graph.accesses_of(node))
    accesses = [one for one in all_accesses if mask.owner in graph.objects(one, "ah:accessedObject")]
    columns_read = [{*graph.objects(access, "ah:readColumn")} for access in accesses]
    beside = set[str]().union(*columns_read)
    is_read = mask.column in beside or not all(columns_read)
    # What is masked by a constant need not be read behind the view (view, "Masked columns").
    if not accesses or (is_over and not is_read):
        return False
    view_column, column_behind = (mask.column, read.column) if is_over else (read.column, mask.column)
    sources = _certain_sources(graph, view_column, read)
    own = {source for source in sources if graph.text(source, "ah:columnOf") == mask.owner}
    is_known = bool(sources) and (is_over or not own or bool(own & beside))
    # Columns that rows relate are told in any case.
    if is_known and (column_behind in sources or not _may_be_missing(graph, sources.values(), column_behind)):
        return False
    name = graph.text(read.column, "ah:matchName") or ""
    alike = [column for column in _columns_alike(graph, read.column, name, mask.owner) if is_over]
    is_one_of_several = any(_is_read_with(graph, days, column, read, mask) for column in alike)
    for other in beside:
        # What the view shows under the name of the column is it, unless a row shows something else, or the query read
        # another column of this name behind the view.
        shown = _certain_sources(graph, other, read) if is_over else sources
        is_named_so = graph.text(other, "ah:matchName") == name and not is_one_of_several
        if read.column in shown or (is_named_so and (not shown or other in shown)):
            return False
    return True


def _columns_alike(graph: Lookups, column: str, name: str, view: str) -> Iterator[str]:
    """The columns with the name of a column behind a view, of the same object in another letter case, and of objects
    with other names that are behind the view.
    """
    thing = graph.text(column, "ah:columnOf") or ""
    yield from (other for other in graph.columns_of(thing, {name}) if other != column)
    names = {holder.key for holder in graph.names_of(thing)}
    for source in objects_behind(graph, view) - {thing}:
        if names.isdisjoint(holder.key for holder in graph.names_of(source)):
            yield from graph.columns_of(source, {name})


def _is_read_with(graph: Lookups, days: _Days, column: str, read: Reads, mask: _Enforced) -> bool:
    """Whether a query that enforced a mask read a column, too; of reads by day, whether it may have."""
    accesses = graph.accesses_of(mask.node)
    return any(column in graph.objects(access, "ah:readColumn") for access in accesses) or any(
        times.key == read.key and times.may_be_of(read) for _, times in days(column)
    )


def _read_together(graph: Lookups, node: str) -> Iterator[str]:
    """A query, or a part of the reads of a day with those that the same queries seem to have read: at the same times.
    Masked columns are in a part of their own.
    """
    yield node
    times = {*graph.starts_of(node)}
    for whole in graph.subjects("dcterms:hasPart", node):
        yield from (part for part in graph.objects(whole, "dcterms:hasPart") if {*graph.starts_of(part)} == times)


def _certain_sources(graph: Lookups, column: str, read: Reads) -> dict[str, str]:
    """The columns that a column of a view certainly shows, by the definition of the view that was in force for all of
    these reads; each with the node that says so.
    """
    return {
        source: shown
        for shown in graph.subjects("ah:viewColumn", column)
        if graph.text(shown, "ah:evidence") == "CERTAIN" and _holds(graph, shown, read)
        for source in graph.objects(shown, "ah:sourceColumn")
    }


def _holds(graph: Lookups, shown: str, read: Reads) -> bool:
    """Whether a source is one of the definition of a view that was in force from the first until the last read."""
    since, until = (graph.text(shown, term) for term in ("ah:validFrom", "ah:validUntil"))
    return (since is None or in_utc(since) <= read.first) and (until is None or read.last < in_utc(until))


def _may_be_missing(graph: Lookups, sources: Iterable[str], column: str) -> bool:
    """Whether a column may be a source beside these, since all queries that first showed them enforced a mask on it,
    and have it as the source of nothing: a constant masks it, or it was not copied. The same if none has an id.
    """
    shown_by = {graph.text(shown, "ah:evidenceQueryId") or "" for shown in sources}
    queries = [query for ident in sorted(shown_by) for query in graph.with_text("ah:queryId", ident)]
    return all(_is_masked_in(graph, query, column) and not _is_source_in(graph, query, column) for query in queries)


def _is_masked_in(graph: Lookups, query: str, column: str) -> bool:
    masks = (mask for mask in graph.objects(query, "ah:enforced") if graph.is_mask(mask))
    return any(column in graph.objects(mask, "ah:protectedColumn") for mask in masks)


def _is_source_in(graph: Lookups, query: str, column: str) -> bool:
    """Whether a query filled something from a column, as its row says."""
    versions = graph.objects(query, "ah:madeVersion")
    parts = (part for version in versions for part in graph.subjects("dcterms:isPartOf", version))
    derivations = (derivation for part in graph.at_most(parts, MOST) for derivation in graph.derivations_of(part))
    return any(column in graph.objects(derivation, "ah:sourceColumn") for derivation in derivations)


def _reads(asked: Asked) -> Iterator[Reads]:
    """The reads of the answer."""
    graph = asked.graph
    rows = [row for row in graph.at_most(asked.answer.dicts(), MOST) if row["mask"] != "MASKED"]
    by_id = {(row["query_id"], row["column_name"]) for row in rows if row["query_id"]}
    for query_id in {query_id for query_id, _ in by_id if query_id}:
        for query in graph.with_text("ah:queryId", query_id):
            times = [datetime.fromisoformat(time) for time in graph.objects(query, "prov:startedAtTime")]
            for column in _read_unmasked(graph, query):
                names = {(query_id, name) for name in graph.objects(column, "ah:columnName")}
                if not names.isdisjoint(by_id) and asked.is_about(graph.text(column, "ah:columnOf") or ""):
                    yield from (Reads(f"query {query_id}", column, query, time, time) for time in times)
    without_id = {
        f"({Literal(row['user_name'] or '')} {Literal(row['query_start_time'] or '', datatype=_TIME)} "
        f"{Literal(row['column_name'] or '')})"
        for row in rows
        if not row["query_id"]
    }
    for row in asked.graph.select(_READS_WITHOUT_ID, reads=" ".join(sorted(without_id))) if without_id else ():
        if asked.is_about(graph.text(row["column"], "ah:columnOf") or ""):
            yield Reads.of(f"reads of {row['user_name']} at {row['time']}", row["column"], row)


def _read_unmasked(graph: Lookups, query: str) -> set[str]:
    """The columns that a query read and did not mask, if it enforced any masking policy."""
    masks = [mask for mask in graph.objects(query, "ah:enforced") if graph.is_mask(mask)]
    if not masks:
        return set()
    own = {column for mask in masks for column in graph.objects(mask, "ah:protectedColumn")}
    return {column for access in graph.accesses_of(query) for column in graph.objects(access, "ah:readColumn")} - own


def _enforced(graph: Lookups, masked: Collection[str]) -> dict[tuple[str, str], list[Reads]]:
    """When a mask was enforced on these columns, by column, and query or user, role and day."""
    masks = defaultdict[tuple[str, str], list[Reads]](list)
    for row in graph.select(_ENFORCED, masked=iris(masked)) if masked else ():
        masks[row["masked"], row["reads"]].append(Reads.of(row["place"], row["masked"], row))
    return masks
