"""Where ``tag-reach`` stops if it is asked to: at queries that enforced a masking policy on what they copied, and at
those that copied only an aggregate of it.

A path of SPARQL cannot look at the steps that it takes. So the query finds the copies, each with the version of the
tagged column where the path begins and the version of the copy where it ends. This module follows each path again, step
by step, without the steps at which it is to stop. A copy stays in the answer if one of its paths remains.

A step leads from a version of a column that a query read to the version that the query filled from it. Where a query
reads a view, rows list its columns as direct sources, and those of the tables behind it as base sources. Rows do not
say which base column is behind which direct one. So a step from a column that is a source of one kind alone stops if
the steps from all columns that are sources of the other kind alone stop.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

from exporter.ask.parameters import ParameterValues, values_of
from exporter.errors import UsageError
from exporter.system.reachable import reachable

if TYPE_CHECKING:
    from exporter.ask.answers import Row
    from exporter.ask.lookups import Lookups

QUESTION: Final = "tag-reach"
PARAMETER: Final = "stop_at"
MASKS: Final = "masks"
AGGREGATES: Final = "aggregates"
PATH_ENDS: Final = {"seed_iri": "seed", "reached_iri": "reached"}
"""The columns to add to the answer -> the variables of the question: where a path begins, and where it ends."""
_Sources = dict[str, dict[str, tuple[str, str]]]
"""Kind of source (DIRECT, BASE) -> column -> the names of its object and of the target, at that time."""


_IS_INSTALLED: Final = find_spec("sqlglot") is not None


@cache
def reader_of_sql() -> ModuleType:
    """:mod:`exporter.ask.aggregated`, which needs sqlglot. Most questions do not read SQL. A process that can open no
    files any more must have called this before (:func:`may_read_sql`).
    """
    return import_module("exporter.ask.aggregated")


def may_read_sql(graph: Lookups) -> bool:
    """Whether the graph has SQL text, and it can be read."""
    return _IS_INSTALLED and graph.is_used("ah:queryText")


def reads_sql(params: ParameterValues) -> bool:
    """Whether the question is asked to stop at what SQL text says."""
    return AGGREGATES in _stops(params)


def check(params: ParameterValues) -> None:
    """Raises UsageError for what needs a package that is not installed."""
    if reads_sql(params) and not _IS_INSTALLED:
        raise UsageError(
            "stop_at aggregates reads SQL, for which sqlglot is needed: pip install 'access-history-exporter[sql]'"
        )


def _stops(params: ParameterValues) -> frozenset[str]:
    return frozenset(value.lower() for value in values_of(params, PARAMETER))


def without_stopped(
    graph: Lookups, params: ParameterValues, columns: Sequence[str], rows: Iterable[Row]
) -> tuple[list[Row], list[str]]:
    """Those of ``rows`` with a path that does not stop, and notes on the rows left out, and why these may be too few.
    The last columns of ``rows`` are those of :data:`PATH_ENDS`; the returned rows are without them.
    """
    paths = _Paths(graph, _stops(params))
    remaining: dict[Row, None] = {}
    stopped: dict[Row, None] = {}
    for row in rows:
        *cells, seed, reached = row
        rows_of_kind = remaining if seed and reached in paths.reachable_from(seed) else stopped
        rows_of_kind[tuple(cells)] = None
    visible = [number for number, name in enumerate(columns) if not name.endswith("_iri")]
    all_stopped, all_remaining = (
        {tuple(row[number] for number in visible) for row in rows_of_kind} for rows_of_kind in (stopped, remaining)
    )
    return list(remaining), list(paths.notes(len(all_stopped - all_remaining)))


class _Paths:
    """The paths of data through the graph that do not stop. ``stops``: :data:`MASKS`, :data:`AGGREGATES` or both."""

    def __init__(self, graph: Lookups, stops: AbstractSet[str]) -> None:
        self._graph, self._stops = graph, stops
        self._without_text: set[str] = set()
        self._not_understood: set[str] = set()
        self.reachable_from = cache(self._reachable_from)
        self._stops_at = cache(self._is_stopped)
        self._masked = cache(self._masked_in)
        self._sources = cache(self._sources_of)

    def _reachable_from(self, seed: str) -> AbstractSet[str]:
        """The versions of columns to which data of ``seed`` came, and ``seed``."""
        return reachable([seed], self._next).keys()

    def _next(self, version: str) -> Iterator[str]:
        yield from self._graph.subjects("ah:priorColumnVersion", version)
        for filled in self._graph.subjects("prov:wasDerivedFrom", version):
            if not self._stops_at(version, filled):
                yield filled

    def _is_stopped(self, read: str, filled: str) -> bool:
        """Whether the step is one at which to stop."""
        query = next(self._graph.objects(filled, "prov:wasGeneratedBy"), None)
        column = next(self._graph.objects(read, "prov:specializationOf"), None)
        if query is None or column is None:
            return False
        direct, base = (set(self._sources(filled)[kind]) for kind in ("DIRECT", "BASE"))
        others = direct - base if column not in direct else base - direct if column not in base else set[str]()
        if MASKS in self._stops:
            masked = self._masked(query)
            if column in masked or (others and others <= masked):
                return True
        if AGGREGATES not in self._stops:
            return False
        # The text names direct sources alone. A table that is read both by itself and through a view is in two places.
        named_in_text = {column} if column in direct else set[str]()
        named_in_text |= others if column not in direct else direct - base if column in base else set()
        answers = [self._is_aggregated(query, filled, source) for source in sorted(named_in_text)]  # each is noted
        return bool(answers) and all(answers)

    def _masked_in(self, query: str) -> frozenset[str]:
        """The columns on which a query enforced a masking policy."""
        return frozenset(
            column
            for enforced in self._graph.objects(query, "ah:enforced")
            if "MASKING_POLICY" in self._graph.objects(enforced, "ah:policyKind")
            for column in self._graph.objects(enforced, "ah:protectedColumn")
        )

    def _is_aggregated(self, query: str, filled: str, column: str) -> bool:
        text = next(self._graph.objects(query, "ah:queryText"), None)
        if text is None:
            self._without_text.add(query)
            return False
        names = {columns[column] for columns in self._sources(filled).values() if column in columns}
        written = next(self._graph.objects(filled, "prov:specializationOf"), "")
        source, target = (
            next(self._graph.objects(column_iri, "ah:columnName"), "") for column_iri in (column, written)
        )
        sql: Any = reader_of_sql()
        answers = [sql.is_aggregated(text, (into, target), (name, source)) for name, into in sorted(names)]
        if None in answers or not answers:
            self._not_understood.add(query)
        return bool(answers) and all(answers)

    def _sources_of(self, filled: str) -> _Sources:
        """What a version of a column was filled from, in both modes of reads (docs/graph.md)."""
        sources: _Sources = defaultdict(dict)
        for derivation in self._graph.derivations_of(filled):
            kind = next(self._graph.objects(derivation, "ah:sourceType"), "")
            name, target = (next(self._graph.objects(derivation, f"ah:{end}Name"), "") for end in ("source", "target"))
            for column in self._graph.objects(derivation, "ah:sourceColumn"):
                sources[kind][column] = name, target
        return sources

    def notes(self, stopped: int) -> Iterator[str]:
        """How many rows were left out (``stopped``), and which queries were not understood."""
        if stopped:
            where = {
                MASKS: "enforced a masking policy on what they copied (whether the value was masked for their role is "
                "not on record)",
                AGGREGATES: "copied only a count, a sum or the like, by their SQL text",
            }
            how = " or ".join(where[stop] for stop in where if stop in self._stops)
            count = "1 row is" if stopped == 1 else f"{stopped:,} rows are"
            yield f"stop_at: {count} left out, since all ways of the data lead through queries that {how}."
        for queries, reason in (
            (self._without_text, "the export has no SQL text of {} (--query-history and --query-text keep it)"),
            (self._not_understood, "the SQL text of {} does not say what went into a column"),
        ):
            if queries:
                ident = next(self._graph.objects(min(queries), "ah:queryId"), "")
                single, several = f"query {ident}", f"{len(queries):,} queries (the first is {ident})"
                sentence = reason.format(single if len(queries) == 1 else several)
                yield f"stop_at: {sentence}; what {'it' if len(queries) == 1 else 'they'} copied is followed."
