"""Masks that a query enforced beside what it read: on the same object under another key, on the object as a whole, on a
column behind a view, or on one of a view over the table, which the row may name nowhere else. They may have covered
what was read, too.

A graph with ``--reads daily`` has a node for each object that a user read on a day: what was enforced on another object
is with the reads of that one, by the same user and role on the same day. Reads can only be of one query if the times of
the first and the last of both overlap; where a user read each once a day, they are.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator
from datetime import datetime
from typing import Final, NamedTuple

from exporter.ask.lookups import Lookups
from exporter.ask.triples import Solution, iris, literals

_TYPES_BY_DAY: Final = """\
SELECT DISTINCT ?thing ?reads ?type ?first ?last WHERE {
  VALUES ?thing { @things@ }
  ?access ah:accessedObject ?thing ; ah:accessType ?type .
  @columns@
  ?read ah:accessPattern ?access ; prov:startedAtTime ?first .
  OPTIONAL { ?read ah:lastStartedAtTime ?any_last }
  BIND(COALESCE(?any_last, ?first) AS ?last)
  ?whole dcterms:hasPart? ?read ; a ah:DailyRead .
  BIND(STRBEFORE(STR(?whole), "/of/") AS ?reads)
}
"""
MASKED_BY_DAY: Final = """\
SELECT DISTINCT ?enforcement ?owner ?column ?read ?reads ?place ?first ?last WHERE {
  ?enforcement ah:policyKind "MASKING_POLICY" ; ah:protectedObject ?owner .
  OPTIONAL { ?enforcement ah:protectedColumn ?column . ?column ah:columnName ?masked_name }
  ?read ah:enforced ?enforcement ; prov:startedAtTime ?first .
  OPTIONAL { ?read ah:lastStartedAtTime ?any_last }
  BIND(COALESCE(?any_last, ?first) AS ?last)
  ?whole dcterms:hasPart? ?read ; a ah:DailyRead .
  BIND(STRBEFORE(STR(?whole), "/of/") AS ?reads)
  ?owner rdfs:label ?label .
  OPTIONAL { ?enforcement ah:objectName ?then }
  BIND(CONCAT(COALESCE(?then, ?label), COALESCE(CONCAT(".", ?masked_name), "")) AS ?place)
}
"""
_COLUMNS_READ: Final = "?access ah:readColumn/ah:matchName ?read_name . FILTER(?read_name IN (@names@))"


class Reads(NamedTuple):
    """Reads of one column, or masks enforced on it, by one query, or by one user and role on one day. ``text``: in
    words, empty if it is masked; ``column``: its IRI; ``key``: the query, or the user, role and day; ``first``,
    ``last``: when the first and the last query started.
    """

    text: str
    column: str
    key: str
    first: datetime
    last: datetime

    @classmethod
    def of(cls, text: str, column: str, row: Solution) -> Reads:
        first, last = (datetime.fromisoformat(row[name]) for name in ("first", "last"))
        return cls(text, column, row["reads"], first, last)

    def may_be_of(self, other: Reads) -> bool:
        """Whether both may be of one query."""
        return self.first <= other.last and other.first <= self.last


def masks_of_same_reads(graph: Lookups, thing: str, columns: Collection[str]) -> set[str]:
    """The columns, as text, on which a mask was enforced that may have covered what was read of an object. ``columns``:
    the names of those that were read, as they are compared; empty: any.
    """
    places = {place for read in _reads_of(graph, thing, columns) for place, _ in masks_beside(graph, read, thing)}
    return places | {mask.text for mask, _, _ in masks_beside_by_day(graph, [thing], columns)}


def _reads_of(graph: Lookups, thing: str, columns: Collection[str]) -> set[str]:
    """The queries, and nodes for several of them, that read these columns of an object."""
    reads = set[str]()
    for access in graph.subjects("ah:accessedObject", thing):
        names = {graph.text(column, "ah:matchName") for column in graph.objects(access, "ah:readColumn")}
        if not columns or not names.isdisjoint(columns):
            reads.update(graph.reads_with(access))
    return reads


def masks_beside(graph: Lookups, read: str, thing: str) -> Iterator[tuple[str, bool]]:
    """The other columns that a query masked which read a thing, if they may be of the same thing, or lie behind it or
    over it, and objects of which the row names no column; and whether the query read the object of that column by its
    own name, too.
    """
    for enforcement in graph.objects(read, "ah:enforced"):
        owner, column = (graph.text(enforcement, term) for term in ("ah:protectedObject", "ah:protectedColumn"))
        if graph.is_mask(enforcement) and owner is not None and (column is None or owner != thing):
            of_owner = _types(graph, read, owner)
            is_shared = _may_be_shared(graph, enforcement, column, thing)
            is_given = bool(of_owner) and not is_shared and column is not None
            if is_shared or _is_same(graph, thing, owner) or _may_cover(_types(graph, read, thing), of_owner):
                yield place_of(graph, enforcement), is_given


def place_of(graph: Lookups, enforcement: str) -> str:
    """What a query masked, as text: with the name that its row gives, since a SWAP may have given it another one."""
    columns = graph.objects(enforcement, "ah:protectedColumn")
    name = graph.text(enforcement, "ah:objectName") or graph.label(graph.text(enforcement, "ah:protectedObject") or "")
    return ".".join((name, *(graph.text(column, "ah:columnName") or "" for column in columns)))


def _may_be_shared(graph: Lookups, enforcement: str, column: str | None, thing: str) -> bool:
    """Whether a mask is one of a provider of shared data, on a column of which the object has one of that name: rows do
    not say under which name the account sees the provider's table.
    """
    if not column or graph.text(enforcement, "ah:setByProvider") != "true":
        return False
    return bool(graph.columns_of(thing, {graph.text(column, "ah:matchName") or ""}))


def _types(graph: Lookups, read: str, thing: str) -> set[str]:
    """How a query read an object: ``DIRECT``, ``BASE``."""
    return {
        kind
        for access in graph.accesses_of(read)
        if thing in graph.objects(access, "ah:accessedObject")
        for kind in graph.objects(access, "ah:accessType")
    }


def _that_read(columns: Collection[str]) -> str:
    return _COLUMNS_READ.replace("@names@", ", ".join(literals([name]) for name in columns)) if columns else ""


def masks_beside_by_day(
    graph: Lookups, things: Collection[str], columns: Collection[str] = ()
) -> Iterator[tuple[Reads, str, bool]]:
    """The same of reads by day: masks, each with the object of which it may have covered what was read, and whether the
    user read the masked one by its own name, too.
    """
    masked = list(graph.select(MASKED_BY_DAY)) if any(graph.of_class("ah:DailyRead")) else []
    own = _types_by_day(graph, things, columns) if masked else {}
    owner_types = _types_by_day(graph, {row["owner"] for row in masked}) if masked else {}
    for row in masked:
        mask, owner = Reads.of(row["place"], row["column"], row), row["owner"]
        of_owner = {kind for kind, read in owner_types.get((owner, mask.key), ()) if mask.may_be_of(read)}
        for thing in things:
            types = {kind for kind, read in own.get((thing, mask.key), ()) if mask.may_be_of(read)}
            is_shared = _may_be_shared(graph, row["enforcement"], mask.column, thing)
            is_other = (thing != owner or not mask.column) and bool(types)
            if is_other and (is_shared or _is_same(graph, thing, owner) or _may_cover(types, of_owner)):
                yield mask, thing, bool(of_owner) and not is_shared and bool(mask.column)


def _types_by_day(
    graph: Lookups, things: Collection[str], columns: Collection[str] = ()
) -> dict[tuple[str, str], list[tuple[str, Reads]]]:
    """How a user with a role read things on a day (``DIRECT``, ``BASE``), and when."""
    types = defaultdict[tuple[str, str], list[tuple[str, Reads]]](list)
    for row in graph.select(_TYPES_BY_DAY, things=iris(things), columns=_that_read(columns)):
        types[row["thing"], row["reads"]].append((row["type"], Reads.of("", "", row)))
    return types


def _is_same(graph: Lookups, thing: str, other: str) -> bool:
    """Whether both may be one object, or the other one is a view over a provider's, which may be a base object, too."""
    over = views_over(graph, thing) if graph.is_of_other(thing) else ()
    return other in {thing, *graph.same_names(thing), *over}


def _may_cover(types: Collection[str], of_owner: Collection[str]) -> bool:
    """Whether what a query read in these ways may be behind or over an object that it masked, and read in those ways:
    behind a view is what the statement does not name; over a table that the statement does not name is what is no base
    object.
    """
    if "BASE" not in types:
        return "DIRECT" not in of_owner
    return "DIRECT" not in types and "BASE" not in of_owner


def objects_behind(graph: Lookups, thing: str) -> set[str]:
    """What is behind a view; nothing if the object is none."""
    return {source for shows in graph.subjects("ah:view", thing) for source in graph.objects(shows, "ah:sourceObject")}


def views_over(graph: Lookups, thing: str) -> set[str]:
    """The views over an object."""
    return {view for shows in graph.subjects("ah:sourceObject", thing) for view in graph.objects(shows, "ah:view")}
