"""Versions: which state of an object a query made, and which one it read; and the same of its columns.

One entity per table would make a graph that PROV forbids: two writes generate it twice, and an INSERT from a table into
itself derives it from itself. So each query that writes an object, or creates, replaces or restores it or adds, drops
or renames its columns by DDL, makes a version; a read uses the latest one before its start, in the order of (time,
query id), so that no cycle can arise. A version exists from its writer's end where QUERY_HISTORY tells it, else from
its start (PROV-CONSTRAINTS, 6.1).

A version that writes some of the columns leaves the others as they were. So a column has versions of its own, one for
each version of the object that wrote it: what was copied out of a column is told apart from what came in later, and
from what came into the columns beside it.

``state`` is the path of a version without its object: ``version/QUERY``, ``initial-version`` before the first one on
record, ``version-after-drop/QUERY`` where an object is read that was last seen dropped. The version of a column is
``STATE/column/NAME``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from exporter.facts.identifiers import segment
from exporter.rdf.history import COLUMNS, DROP, MAKE, READ, READ_COLUMN, WRITE_COLUMN, events
from exporter.rdf.iri import path
from exporter.sql import aggregates

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from exporter.facts import Facts

INITIAL: Final = "initial-version"
_OBJECT: Final = "PARTITION BY account, object_key"
_BEFORE: Final = "ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING"
_SO_FAR: Final = f"({_OBJECT} ORDER BY at, query_id, event {_BEFORE})"
_FROM_THE_END: Final = f"({_OBJECT} ORDER BY at DESC, query_id DESC, event DESC {_BEFORE})"
_COLUMN_SO_FAR: Final = f"({_OBJECT}, column_name, chain ORDER BY at, query_id, event {_BEFORE})"


def timeline(facts: Facts) -> DataFrame:
    """Everything that happens to versions, one row per query, object and kind of event, with

    ``event``            a read of the object, or of a column of it; a drop; a new version, or a column that it wrote
    ``at``               when it counts
    ``state``            a read: the version in force; a drop: the one that it ends; else the version itself
    ``prior``            of what is new: the version before, None where the object or column was created
    ``valid_until``      of a new version: when the next one was made, or the object dropped
    ``is_data``, ``is_base``  of a read: whether an access or a source of a column, whether in base_objects_accessed
    ``policy_body``      of a new version of a policy
    ``column_name``, ``column_state``  of events of columns: the column, and the state that wrote what it held
    ``is_written``       of these: whether a query on record wrote what it held
    ``derivation``       of the read of a column: what was filled from it
    """
    return _with_column_states(_with_states(events(facts)))


def _with_states(events: DataFrame) -> DataFrame:
    changes = f"event IN ({DROP}, {MAKE})"
    made = f"last(CASE WHEN event = {MAKE} THEN query_id END, true) OVER {_SO_FAR}"
    created = f"last(CASE WHEN event = {MAKE} AND is_created THEN query_id END, true) OVER {_SO_FAR}"
    ordered = events.selectExpr(
        "*",
        f"last(CASE WHEN {changes} THEN struct(event, query_id) END, true) OVER {_SO_FAR} AS latest",
        f"{made} AS last_made",
        f"{created} AS last_created",
        f"last(CASE WHEN {changes} THEN at END, true) OVER {_FROM_THE_END} AS next_at",
    )
    after_drop = path("'version-after-drop'", segment("latest.query_id"))
    in_force = (
        f"CASE WHEN latest IS NULL THEN '{INITIAL}' "
        f"WHEN latest.event = {DROP} THEN {after_drop} "
        f"ELSE {_version('latest.query_id')} END"
    )
    before = f"coalesce({_version('last_made')}, '{INITIAL}')"
    is_new = f"event IN ({MAKE}, {WRITE_COLUMN})"
    is_gone = f"event = {READ_COLUMN} AND latest.event = {DROP}"
    chain = f"CASE WHEN {is_gone} THEN {in_force} ELSE coalesce({_version('last_created')}, '{INITIAL}') END"
    return ordered.selectExpr(
        *(*COLUMNS, "last_created"),
        f"CASE WHEN {is_new} THEN {_version('query_id')} ELSE {in_force} END AS state",
        f"CASE WHEN event = {MAKE} AND NOT is_created THEN {before} END AS prior",
        f"CASE WHEN event = {MAKE} THEN next_at END AS valid_until",
        f"CASE WHEN column_name IS NOT NULL THEN {chain} END AS chain",
    )


def _with_column_states(events: DataFrame) -> DataFrame:
    """A column holds what the last version that wrote it wrote, in the chain that began when its object was created."""
    written = f"last(CASE WHEN event = {WRITE_COLUMN} THEN state END, true) OVER {_COLUMN_SO_FAR}"
    before = "coalesce(last_written, chain)"
    is_kept = f"event = {WRITE_COLUMN} AND NOT (is_created OR last_created <=> query_id)"
    return events.selectExpr("*", f"{written} AS last_written").selectExpr(
        *(*COLUMNS, "state", "valid_until"),
        f"CASE WHEN {is_kept} THEN {before} ELSE prior END AS prior",
        f"CASE WHEN event = {READ_COLUMN} AND column_name IS NOT NULL THEN {before} END AS column_state",
        "last_written IS NOT NULL AS is_written",
    )


def _version(query_id: str) -> str:
    """Null where the query is: it is no ``path``, which would leave it out."""
    return f"concat('version/', {segment(query_id)})"


def reads(timeline: DataFrame) -> DataFrame:
    """The version in force for each query and object that it read, or policy that it met."""
    return timeline.filter(f"event = {READ}").select("account", "query_id", "object_key", "state", "is_data", "is_base")


def made(timeline: DataFrame) -> DataFrame:
    """The versions that queries made."""
    return timeline.filter(f"event = {MAKE}").select(
        *("account", "query_id", "object_key", "at", "state", "prior", "valid_until", "policy_body")
    )


def ended(timeline: DataFrame) -> DataFrame:
    """The versions that a DROP ended: ``state``, with the query and when. A drop of what was dropped ends nothing."""
    drops = timeline.filter(f"event = {DROP} AND NOT startswith(state, 'version-after-drop')")
    ends = drops.groupBy("account", "object_key", "state").agg(*aggregates(end="min(struct(at, query_id))"))
    return ends.selectExpr("account", "object_key", "state", "end.query_id AS ended_by", "end.at AS ended_at")


def unmade(timeline: DataFrame) -> DataFrame:
    """The versions that no query on record made, and that something refers to."""
    of_objects = timeline.filter(f"event IN ({READ}, {READ_COLUMN}, {DROP}, {MAKE})")
    states = of_objects.selectExpr("account", "object_key", "explode(array_compact(array(state, prior))) AS state")
    return states.filter("NOT startswith(state, 'version/')").distinct()


def sources(timeline: DataFrame) -> DataFrame:
    """The sources of columns, one row per written column, kind of source and source: ``state`` of the source object,
    ``column_state`` of the column, and the fields of ``derivation``.
    """
    return timeline.filter(f"event = {READ_COLUMN} AND derivation.source_type IS NOT NULL").selectExpr(
        "account", "query_id", "object_key", "state", "column_name AS source_column", "column_state", "derivation.*"
    )


def of_columns(timeline: DataFrame) -> DataFrame:
    """The versions of columns, one row each: those that queries wrote, and those that are only known to have been there
    (``query_id`` None). ``prior``: the state of the one before; ``source_refs``: the paths of those that it came from.
    """
    source = path("object_key", "column_state", "'column'", segment("column_name"))
    filled = (
        "struct(query_id, derivation.target_key AS object_key, derivation.target_column AS column_name, "
        f"{_version('query_id')} AS state, cast(null as string) AS prior, "
        f"CASE WHEN column_state IS NOT NULL THEN {source} END AS source)"
    )
    none = "cast(null as string)"
    written = f"struct(query_id, object_key, column_name, state, prior, {none} AS source)"
    there = (
        f"struct({none} AS query_id, object_key, column_name, coalesce(column_state, prior) AS state, "
        f"{none} AS prior, {none} AS source)"
    )
    is_there = "NOT is_written AND column_name IS NOT NULL AND coalesce(column_state, prior) IS NOT NULL"
    each = timeline.filter(f"event IN ({READ_COLUMN}, {WRITE_COLUMN})").selectExpr(
        "account",
        f"explode(array_compact(array(CASE WHEN event = {READ_COLUMN} THEN {filled} ELSE {written} END, "
        f"CASE WHEN {is_there} THEN {there} END))) AS v",
    )
    by_version = each.selectExpr("account", "v.*").groupBy("account", "object_key", "column_name", "state")
    return by_version.agg(
        *aggregates(query_id="max(query_id)", prior="max(prior)", source_refs="array_sort(collect_set(source))")
    )
