"""Notes on masks: where no row gives the body of the policy that was enforced, or a row may have changed it; and reads
in clear whose query enforced a mask that may have covered what was read, too: on the same name in another form, on a
column behind the view, on that of a view over the table, or on a view between the two, which rows name nowhere else.

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
from exporter.ask.asked import MOST, Asked, record_begin
from exporter.ask.lookups import Lookups, iris, literals
from exporter.model.identifiers import TRUNCATED, match_name
from exporter.model.incomplete import NOT_UNDERSTOOD, UNNAMED, unnamed

# --- bodies of policies -----------------------------------------------------------------------------------------------


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


# --- masks on another object ------------------------------------------------------------------------------------------


_SHOWN: Final = 5
_TIME: Final = NamedNode("http://www.w3.org/2001/XMLSchema#dateTime")
_READS: Final = """\
SELECT DISTINCT ?query_id ?column_name ?column ?reads ?first ?last WHERE {
  VALUES ?query_id { @ids@ }
  ?query ah:queryId ?query_id ; ah:enforced ?enforcement ; prov:startedAtTime ?first .
  ?query (prov:qualifiedUsage|ah:accessPattern)/ah:readColumn ?column .
  ?enforcement ah:policyKind "MASKING_POLICY" .
  ?column ah:columnName ?column_name .
  FILTER NOT EXISTS { ?query ah:enforced ?own . ?own ah:policyKind "MASKING_POLICY" ; ah:protectedColumn ?column }
  BIND(STR(?query) AS ?reads) BIND(?first AS ?last)
}
"""
"""The columns that queries read in clear which enforced a mask. ``?reads``: what a mask has to be enforced for, too,
between ``?first`` and ``?last``.
"""
_READS_WITHOUT_ID: Final = """\
SELECT DISTINCT ?user_name ?time ?column_name ?column ?reads ?first ?last WHERE {
  VALUES (?user_name ?time ?column_name) { @reads@ }
  ?user ah:userName ?user_name .
  ?read prov:wasAssociatedWith ?user ; prov:startedAtTime|ah:lastStartedAtTime ?time .
  ?read (prov:qualifiedUsage|ah:accessPattern)/ah:readColumn ?column .
  ?column ah:columnName ?column_name .
  FILTER NOT EXISTS { ?read ah:queryId ?id }
  FILTER NOT EXISTS { ?read ah:enforced ?own . ?own ah:policyKind "MASKING_POLICY" ; ah:protectedColumn ?column }
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
_BESIDE: Final = """\
SELECT DISTINCT ?thing ?reads ?place WHERE {
  VALUES ?thing { @things@ }
  ?access ah:accessedObject ?thing .
  @columns@
  @reads@
  ?read prov:qualifiedUsage|ah:accessPattern ?access ; ah:enforced ?enforcement .
  ?enforcement ah:policyKind "MASKING_POLICY" ; ah:protectedColumn ?masked ; ah:protectedObject ?owner .
  FILTER(?owner != ?thing)
  BIND(EXISTS {
    ?read prov:qualifiedUsage|ah:accessPattern ?u1 . ?u1 ah:accessedObject ?thing ; ah:accessType "DIRECT"
  } AS ?is_direct)
  BIND(EXISTS {
    ?read prov:qualifiedUsage|ah:accessPattern ?u2 . ?u2 ah:accessedObject ?thing ; ah:accessType "BASE"
  } AS ?is_base)
  BIND(EXISTS {
    ?read prov:qualifiedUsage|ah:accessPattern ?u3 . ?u3 ah:accessedObject ?owner ; ah:accessType "DIRECT"
  } AS ?owner_is_direct)
  BIND(EXISTS {
    ?read prov:qualifiedUsage|ah:accessPattern ?u4 . ?u4 ah:accessedObject ?owner ; ah:accessType "BASE"
  } AS ?owner_is_base)
  FILTER(EXISTS { ?thing ah:sameNameAs|^ah:sameNameAs ?owner }
    || IF(?is_base, !?is_direct && !?owner_is_base, !?owner_is_direct))
  ?masked ah:columnName ?masked_name . ?owner rdfs:label ?label .
  BIND(CONCAT(?label, ".", ?masked_name) AS ?place)
  @key@
}
"""
"""What queries masked that read a thing, and may be the same thing, or lie behind it or over it: behind a view is what
the statement does not name; over a table that the statement does not name is what is no base object.
"""
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
_MASKED_BY_DAY: Final = """\
SELECT DISTINCT ?owner ?column ?reads ?place ?first ?last WHERE {
  ?enforcement ah:policyKind "MASKING_POLICY" ; ah:protectedColumn ?column ; ah:protectedObject ?owner .
  ?read ah:enforced ?enforcement ; prov:startedAtTime ?first .
  OPTIONAL { ?read ah:lastStartedAtTime ?any_last }
  BIND(COALESCE(?any_last, ?first) AS ?last)
  ?whole dcterms:hasPart? ?read ; a ah:DailyRead .
  BIND(STRBEFORE(STR(?whole), "/of/") AS ?reads)
  ?column ah:columnName ?masked_name . ?owner rdfs:label ?label .
  BIND(CONCAT(?label, ".", ?masked_name) AS ?place)
}
"""
_COLUMNS_READ: Final = "?access ah:readColumn/ah:matchName ?read_name . FILTER(?read_name IN (@names@))"


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
    """A note on such reads, for the questions that say what was read in clear."""
    if asked.name not in {"unmasked-reads", "agent-reads"}:
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
    found |= _over_or_behind(asked.graph, reads)
    if found:
        texts = [f"{place} in {text}" for text, place in sorted(found)]
        yield (
            "Some of these queries enforced a masking policy on the same name without an id or in another letter case, "
            "on a column behind the view, or on that of a view over the table, and rows do not say whether it covered "
            f"what was read: {first_of(texts, _SHOWN)}."
        )


def _over_or_behind(graph: Lookups, reads: Collection[_Reads]) -> set[tuple[str, str]]:
    """The reads, each with a column, as text, whose mask may have covered what was read, though no row says so."""
    of = {one: graph.text(one.column, "ah:columnOf") or "" for one in reads}
    things, texts = set(of.values()), defaultdict[tuple[str, str], list[str]](list)
    for one, thing in of.items():
        texts[thing, one.key].append(one.text)
    rows = _beside(graph, things, reads={one.key for one in reads}) if reads else ()
    found = {(text, row["place"]) for row in rows for text in texts.get((row["thing"], row["reads"]), ())}
    for mask, thing in _beside_by_day(graph, things):
        found |= {
            (one.text, mask.text) for one in reads if of[one] == thing and one.key == mask.key and one.may_be_of(mask)
        }
    return found


def masked_beside(graph: Lookups, thing: str, columns: Collection[str]) -> set[str]:
    """The columns, as text, on which a mask was enforced that may have covered what was read of an object. ``columns``:
    the names of those that were read, as they are compared; empty: any.
    """
    found = {row["place"] for row in _beside(graph, [thing], columns)}
    return found | {mask.text for mask, _ in _beside_by_day(graph, [thing], columns)}


def _beside(
    graph: Lookups, things: Collection[str], columns: Collection[str] = (), reads: Collection[str] | None = None
) -> Iterator[dict[str, str]]:
    """Rows of :data:`_BESIDE`. ``reads``: only of these queries, which the rows then name; None: of all."""
    which = {"reads": "", "key": ""}
    if reads is not None:
        which = {"reads": f"VALUES ?read {{ {iris(reads)} }}", "key": "BIND(STR(?read) AS ?reads)"}
    return graph.select(_BESIDE, things=iris(things), columns=_that_read(columns), **which)


def _that_read(columns: Collection[str]) -> str:
    return _COLUMNS_READ.replace("@names@", ", ".join(literals([name]) for name in columns)) if columns else ""


def _beside_by_day(
    graph: Lookups, things: Collection[str], columns: Collection[str] = ()
) -> Iterator[tuple[_Reads, str]]:
    """The same of reads by day: masks, each with the object of which it may have covered what was read."""
    masked = list(graph.select(_MASKED_BY_DAY)) if any(graph.of_class("ah:DailyRead")) else []
    own = _types_by_day(graph, things, columns) if masked else {}
    others = _types_by_day(graph, {row["owner"] for row in masked}) if masked else {}
    for row in masked:
        mask, owner = _Reads.of(row["place"], row["column"], row), row["owner"]
        of_owner = {kind for kind, read in others.get((owner, mask.key), ()) if mask.may_be_of(read)}
        for thing in things:
            types = {kind for kind, read in own.get((thing, mask.key), ()) if mask.may_be_of(read)}
            if types and thing != owner and (_is_same(graph, thing, owner) or _may_cover(types, of_owner)):
                yield mask, thing


def _types_by_day(
    graph: Lookups, things: Collection[str], columns: Collection[str] = ()
) -> dict[tuple[str, str], list[tuple[str, _Reads]]]:
    """How a user with a role read things on a day (``DIRECT``, ``BASE``), and when."""
    found = defaultdict[tuple[str, str], list[tuple[str, _Reads]]](list)
    for row in graph.select(_TYPES_BY_DAY, things=iris(things), columns=_that_read(columns)):
        found[row["thing"], row["reads"]].append((row["type"], _Reads.of("", "", row)))
    return found


def _is_same(graph: Lookups, thing: str, other: str) -> bool:
    return other in {*graph.objects(thing, "ah:sameNameAs"), *graph.subjects("ah:sameNameAs", thing)}


def _may_cover(types: Collection[str], of_owner: Collection[str]) -> bool:
    """The condition of :data:`_BESIDE`."""
    if "BASE" not in types:
        return "DIRECT" not in of_owner
    return "DIRECT" not in types and "BASE" not in of_owner


def _reads(asked: Asked) -> Iterator[_Reads]:
    """The reads of the answer."""
    rows = [row for row in islice(asked.answer.dicts(), MOST) if row["mask"] != "MASKED"]
    by_id = {(row["query_id"], row["column_name"]) for row in rows if row["query_id"]}
    for row in asked.graph.select(_READS, ids=literals({query_id for query_id, _ in by_id if query_id})):
        if (row["query_id"], row["column_name"]) in by_id and _is_asked(asked, row["column"]):
            yield _Reads.of(f"query {row['query_id']}", row["column"], row)
    others = {
        f"({Literal(row['user_name'] or '')} {Literal(row['query_start_time'] or '', datatype=_TIME)} "
        f"{Literal(row['column_name'] or '')})"
        for row in rows
        if not row["query_id"]
    }
    for row in asked.graph.select(_READS_WITHOUT_ID, reads=" ".join(sorted(others))) if others else ():
        if _is_asked(asked, row["column"]):
            yield _Reads.of(f"reads of {row['user_name']} at {row['time']}", row["column"], row)


def _is_asked(asked: Asked, column: str) -> bool:
    return not asked.things or asked.graph.text(column, "ah:columnOf") in asked.things


def _enforced(graph: Lookups, masked: Collection[str]) -> dict[tuple[str, str], list[_Reads]]:
    """When a mask was enforced on these columns, by column, and query or user, role and day."""
    found = defaultdict[tuple[str, str], list[_Reads]](list)
    for row in graph.select(_ENFORCED, masked=iris(masked)) if masked else ():
        found[row["masked"], row["reads"]].append(_Reads.of("", row["masked"], row))
    return found
