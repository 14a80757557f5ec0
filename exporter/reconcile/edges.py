"""The edges that all declarations have together, each once, between the objects that the declarations mean.

Helpers are left out: what fills a table that a load fills, reads and drops fills what is filled from that table.

A data contract has no runs and no joins, only columns. So an object that it describes is compared by these columns
alone: a table that a query only read is no source that a contract lacks, and a column that it does not have is none.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from typing import Final, NamedTuple

from exporter.errors import UsageError
from exporter.model.identifiers import match_name
from exporter.openlineage.helpers import is_named
from exporter.openlineage.settings import HELPERS
from exporter.reconcile.declared import DeclaredDataset, DeclaredEdge, FilledDataset
from exporter.reconcile.observed import Observed, Run
from exporter.reconcile.resolution import ObjectLine, Resolution, Resolver

VERIFIED, UNDECLARED, PHANTOM, UNKNOWN = "verified", "undeclared", "phantom", "unknown"
CLASSES: Final = (VERIFIED, UNDECLARED, PHANTOM, UNKNOWN)
BY_COLUMNS, BY_READS, BEHIND_VIEW = "columns", "reads", "view"
"""How rows show an edge: by sources of columns, by what queries read and wrote, by reads of a view."""
_FIRST: Final = (UNDECLARED, PHANTOM, UNKNOWN, VERIFIED)
"""The classes in the order in which edges are listed."""
MOST_EDGES: Final = 2_000_000
"""The most different edges that are compared."""

ColumnKey = tuple[str, str]
"""The root of a line of objects and a column, empty for the whole object."""
EdgeKey = tuple[str, str, str, str]
"""The keys of source and target."""


class End(NamedTuple):
    """One end of an edge. ``dataset``: as it is declared, None for what only rows show; ``resolution``: what it is;
    ``column``: in the form in which names are compared; ``seen_name``: of what only rows show, the name when the last
    query started that shows it.
    """

    dataset: DeclaredDataset | None
    resolution: Resolution
    column: str | None
    seen_name: str | None = None

    @property
    def line(self) -> ObjectLine | None:
        """The objects that it is; None where it is not known which."""
        return self.resolution if isinstance(self.resolution, ObjectLine) else None

    @property
    def key(self) -> ColumnKey:
        """Equal for ends that are the same column of the same object."""
        return self.table, self.column or ""

    @property
    def table(self) -> str:
        """Equal for ends in the same object."""
        return self.line.root if self.line else f"? {self.dataset!r}"

    @property
    def name(self) -> str:
        """As it is declared; of what only rows show, the name at that time."""
        return str(self.dataset) if self.dataset is not None else self.seen_name or self.present_name or ""

    @property
    def present_name(self) -> str | None:
        """The name that the object has now."""
        return self.line.name if self.line else None

    @property
    def iri(self) -> str | None:
        """The IRI of the object that has the name at the time."""
        return self.line.iri if self.line else None

    @property
    def members(self) -> frozenset[str]:
        """The IRIs of the objects that it is; none where it is not known which."""
        return self.line.members if self.line else frozenset()

    @property
    def doubtful(self) -> frozenset[str]:
        """The IRIs of objects that it may be or not."""
        return self.resolution.doubtful if isinstance(self.resolution, ObjectLine) else self.resolution.candidates


@dataclass
class ComparedEdge:
    """An edge and its class, ``verdict``. ``reason``, ``why``: a word and a sentence, of what cannot be known and of
    phantoms. ``by``: how it was observed: ``columns`` (a column's data came from there), ``reads`` (the query only read
    it) or ``view`` (it is behind the view). ``runs``: the queries that show it, oldest first. ``declared``: the numbers
    of the declarations that have it; ``first``, ``last``: the times of their runs, in microseconds since 1970 (UTC),
    None where it is declared for every run. ``via``: the helpers and models between the two.
    """

    source: End
    target: End
    verdict: str = UNKNOWN
    reason: str | None = None
    why: str | None = None
    by: str | None = None
    runs: list[Run] = field(default_factory=list)
    declared: set[int] = field(default_factory=set)
    first: int | None = None
    last: int | None = None
    jobs: set[str] = field(default_factory=set)
    via: tuple[str, ...] = ()

    @property
    def key(self) -> EdgeKey:
        """Equal for the same edge."""
        return *self.source.key, *self.target.key

    @property
    def order(self) -> tuple[int, str, str, str, str]:
        """The sort key of edges in a list."""
        source, target = self.source, self.target
        return _FIRST.index(self.verdict), target.name, target.column or "", source.name, source.column or ""

    @property
    def ends(self) -> tuple[End, End]:
        """Source and target."""
        return self.source, self.target

    @property
    def tables(self) -> tuple[str, str]:
        """Equal for edges between the same objects."""
        return self.source.table, self.target.table

    @property
    def pairs(self) -> Iterator[tuple[str, str]]:
        """The IRIs of what can be its source and its target."""
        return ((source, target) for source in self.source.members for target in self.target.members)

    @property
    def doubtful_pairs(self) -> Iterator[tuple[str, str]]:
        """The IRIs of possible sources and targets: one of them is in rows without an id, and may be another object, or
        is one of several that a declared name may mean.
        """
        doubtful = [end.doubtful for end in self.ends]
        pairs = product(*(end.members | more for end, more in zip(self.ends, doubtful, strict=True)))
        return ((source, target) for source, target in pairs if source in doubtful[0] or target in doubtful[1])

    @property
    def queries(self) -> int:
        """How many queries show it; an aggregated row counts its calls."""
        return sum(run.calls for run in self.runs)

    def add_times(self, *more: int | None) -> None:
        """Times at which it is declared."""
        times = [time for time in (self.first, self.last, *more) if time is not None]
        self.first, self.last = min(times, default=None), max(times, default=None)


class DeclaredEdges:
    """What all declarations say. ``lines``: the objects that they name, by their roots; ``filled``: the roots of those
    that they fill; ``named``: of all but those that only a data contract lists as sources, as it has no place for what
    these are made from; ``views``: datasets that they call views. Of data contracts: ``contracts``: the root of each of
    their datasets; ``undescribed``: why nothing is known of a dataset; ``properties``: by the root of an object, the
    columns of which the sources are to be listed; ``listed``: the sources that are.
    """

    def __init__(self, resolver: Resolver) -> None:
        self.resolver = resolver
        self.edges = dict[EdgeKey, ComparedEdge]()
        self.lines = dict[str, ObjectLine]()
        self.filled = set[str]()
        self.named = set[str]()
        self.views = set[DeclaredDataset]()
        self.contracts = dict[DeclaredDataset, str]()
        self.undescribed = dict[DeclaredDataset, str]()
        self.properties = defaultdict[str, set[str]](set)
        self.listed = defaultdict[ColumnKey, set[ColumnKey]](set)
        self._behind = dict[str, set[str]]()

    def add(self, item: DeclaredEdge | FilledDataset, number: int) -> None:
        """Adds what the declaration with a number says. Raises UsageError where it is too much."""
        if isinstance(item, FilledDataset):
            self._add_filled(item)
            return
        source = self._end(item.source, item.source_column, item.name_time)
        target = self._end(item.target, item.target_column, item.name_time)
        if self.is_property(target.key):
            self.listed[target.key].add(source.key)
        else:
            self.filled.add(target.table)
            self.named |= {source.table, target.table}
        new = ComparedEdge(source, target, via=item.via)
        edge = self.edges.setdefault(new.key, new)
        edge.declared.add(number)
        if item.job:
            edge.jobs.add(item.job)
        edge.add_times(item.time)
        if len(self.edges) > MOST_EDGES:
            raise UsageError(f"the declarations have more than {MOST_EDGES:,} edges; compare some of them at a time")

    def _add_filled(self, item: FilledDataset) -> None:
        end = self._end(item.dataset, None, item.name_time)
        if item.properties is None:
            self.filled.add(end.table)
        elif isinstance(end.resolution, ObjectLine):
            self.properties[end.table].update(item.properties)
            self.contracts[item.dataset] = end.table
        else:
            self.undescribed[item.dataset] = end.resolution.why
        if item.is_view and end.dataset is not None:
            self.views.add(end.dataset)

    def is_property(self, key: ColumnKey) -> bool:
        """Whether a contract is to list the sources of a column."""
        root, column = key
        return column in self.properties.get(root, ())

    def _end(self, dataset: DeclaredDataset, column: str | None, time: int | None) -> End:
        dataset = dataset._replace(namespace=dataset.namespace or self.resolver.default_namespace)
        resolution = self.resolver.resolve(dataset, time)
        if isinstance(resolution, ObjectLine):
            resolution = self.lines.setdefault(resolution.root, resolution)
        is_of_graph = dataset.is_of_snowflake or isinstance(resolution, ObjectLine)
        return End(dataset, resolution, match_name(column) if column and is_of_graph else column or None)

    @cached_property
    def sources(self) -> Mapping[str, list[End]]:
        """What each object is filled from by declared edges. Ask for it after :meth:`bridge_helpers`."""
        sources = defaultdict[str, list[End]](list)
        for edge in self.edges.values():
            sources[edge.target.table].append(edge.source)
        return sources

    def has_no_rows(self, end: End) -> bool:
        """Whether an end is a view or stream, so that base objects of a query are those behind it."""
        return end.line.is_view or end.line.domain.upper() == "STREAM" if end.line else end.dataset in self.views

    def behind(self, end: End, observed: Observed) -> Collection[str]:
        """The IRIs of what is behind a view or stream, as declarations or rows say; none for a table."""
        if end.table not in self._behind:
            iris = self._behind[end.table] = set()
            read, waiting = set[str](), [end]
            while waiting:
                current = waiting.pop()
                if current.table in read or not self.has_no_rows(current):
                    continue
                read.add(current.table)
                sources = self.sources.get(current.table, [])
                waiting += sources
                iris.update(iri for source in sources for iri in source.members)
                for iri in {entry.iri for member in current.members for entry in observed.behind.get(member, ())}:
                    line = self.resolver.line_of(iri)
                    iris |= line.members if line else {iri}
        return self._behind[end.table]

    def between_helpers(self, edge: ComparedEdge, observed: Observed) -> tuple[str, str] | None:
        """The reason that the source is a view and may be between a helper, which is a view too, and the tables that
        rows show behind the helper; None where it is not.
        """
        shown = {
            iri: name for member in edge.target.members for iri, name in observed.behind_helpers.get(member, {}).items()
        }
        behind = self.behind(edge.source, observed)
        if not self.has_no_rows(edge.source) or not (shown.keys() & behind if behind else shown):
            return None
        helpers = ", ".join(sorted(set(shown.values())))
        explanation = (
            f"{edge.target.name} was filled through {helpers}, a view of which rows show only the tables behind it"
        )
        return "view", f"{explanation}: {edge.source.name} may be between or not"

    def bridge_helpers(self) -> None:
        """Joins the edges into each helper with those out of it; the helper is gone."""
        helpers = {end.table: end.name for edge in self.edges.values() for end in edge.ends if _is_helper(end)}
        for table, name in sorted(helpers.items()):
            into = [edge for edge in self.edges.values() if edge.target.table == table]
            out = [edge for edge in self.edges.values() if edge.source.table == table]
            if not into or not out:  # the other half is declared elsewhere, or not at all
                continue
            for edge in (*into, *out):
                self.edges.pop(edge.key, None)
            for before in into:
                for after in out:
                    if _joins(before, after) and before.source.table != table != after.target.table:
                        self._join(before, after, name)
            self.lines.pop(table, None)
            self.filled.discard(table)
            self.properties.pop(table, None)

    def _join(self, before: ComparedEdge, after: ComparedEdge, helper: str) -> None:
        source, target = before.source, after.target
        if before.target.column is None or after.source.column is None:  # one of them is table by table
            source, target = source._replace(column=None), target._replace(column=None)
        new = ComparedEdge(source, target, via=(*before.via, helper, *after.via))
        edge = self.edges.setdefault(new.key, new)
        edge.declared |= before.declared & after.declared or before.declared | after.declared
        edge.jobs |= after.jobs
        edge.add_times(after.first, after.last)


def _is_helper(end: End) -> bool:
    return end.dataset is not None and end.dataset.is_of_snowflake and is_named(end.dataset.name, HELPERS)


def _joins(before: ComparedEdge, after: ComparedEdge) -> bool:
    """Whether data of one edge goes on along the other: through the same column, or where one has no columns."""
    columns = before.target.column, after.source.column
    return None in columns or columns[0] == columns[1]
