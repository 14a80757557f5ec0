"""The edges that only rows show: into what declarations fill, and between other objects that they name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from exporter.ask.answers import first_of
from exporter.reconcile.edges import (
    BEHIND_VIEW,
    BY_COLUMNS,
    BY_READS,
    UNDECLARED,
    ColumnKey,
    ComparedEdge,
    DeclaredEdges,
    EdgeKey,
    End,
)
from exporter.reconcile.observed import Observed, Pair, Run, Source, ViewEvidence, is_stage, runs_of_view
from exporter.reconcile.resolution import Move, ObjectLine, Resolution, Unresolved
from exporter.system.reachable import reachable
from exporter.system.terminal import counted

_NAMED: Final = 5
"""The most names in a note."""


class UndeclaredEdges:
    """The edges that rows show and no declaration has: into what declarations fill, and between other objects that they
    name. An object is not its own source. ``line_of``: the declared objects, by the IRIs of their members.
    """

    def __init__(self, observed: Observed, declared: DeclaredEdges, line_of: Mapping[str, ObjectLine]) -> None:
        self._observed, self._declared, self._line_of = observed, declared, line_of
        self._tables = {edge.tables for edge in declared.edges.values()}
        self._doubtful = {pair for edge in declared.edges.values() for pair in edge.doubtful_pairs}
        self._edges = dict[EdgeKey, ComparedEdge]()
        self._others = dict[str, ObjectLine]()
        self._moved, self._not_listed = set[Move](), set[Pair]()

    def edges(self) -> Iterable[ComparedEdge]:
        self._add_between_objects()
        self._add_between_columns()
        self._add_behind_contracts()
        self._add_behind_views()
        return self._edges.values()

    def notes(self) -> Iterator[str]:
        """What :meth:`edges` lacks."""
        if self._not_listed:
            yield (
                f"Rows show {counted(len(self._not_listed), 'edge')} more that may be of other objects than those that "
                "are declared, and are not listed, as rows do not say which objects had these names before and after: "
                f"{first_of([move.text for move in sorted(self._moved)], _NAMED)}."
            )
        fills = self._observed.fills
        lines = (self._declared.lines[root] for root in self._declared.filled & self._declared.lines.keys())
        unclear = [
            line.name for line in lines if any(fill.unclear for iri in line.members for fill in fills.get(iri, ()))
        ]
        if unclear:
            yield (
                f"Rows do not say everything that {first_of(sorted(unclear), _NAMED)} was filled from: edges that no "
                "declaration has may be missing."
            )

    def _line(self, iri: str) -> ObjectLine:
        if iri not in self._line_of:
            name = self._observed.names.get(iri, iri)
            single = ObjectLine(iri, iri, name, "", frozenset((iri,)))
            self._others[iri] = self._others.get(iri) or self._declared.resolver.line_of(iri) or single
        return self._line_of.get(iri) or self._others[iri]

    def _add(self, pair: Pair, by: str, runs: Iterable[Run], via: tuple[str, ...] = ()) -> None:
        """Adds an edge; the objects of a line have one together, under the names when the last query started."""
        iri, column, into, target_column = pair
        lines, resolver = [(self._line_of.get(end), end) for end in (iri, into)], self._declared.resolver
        declared = [(line, line.members if by == BEHIND_VIEW else [end]) for line, end in lines if line]
        meant_runs = sorted(
            run for run in runs if all(resolver.is_meant(*declared_end, run.time) for declared_end in declared)
        )
        if not any(run.calls for run in meant_runs):  # or the time of a view's last query alone
            self._not_listed.add(pair)
            self._moved.update(move for line, _ in declared for move in resolver.moves(line)[-1:])
            return
        source, target = (
            End(None, self._line(end), end_column or None, resolver.name_at(end, meant_runs[-1].time))
            for end, end_column in ((iri, column), (into, target_column))
        )
        new = ComparedEdge(source, target, UNDECLARED, by=by, via=via)
        edge = self._edges.setdefault(new.key, new)
        if not edge.runs or edge.runs[-1] < meant_runs[-1]:
            edge.source, edge.target = source, target
        edge.runs = sorted({*edge.runs, *meant_runs})

    def _add_between_objects(self) -> None:
        observed, declared = self._observed, self._declared
        # A stage may be the path that a declaration names: rows do not say where it is.
        elsewhere = {edge.target.table for edge in declared.edges.values() if _is_elsewhere(edge.source.resolution)}
        for (iri, into), source_object in sorted(observed.direct.items()):
            if into not in self._line_of or (iri, into) in self._doubtful:
                continue
            source, target = self._line(iri), self._line_of[into]
            is_between_named = iri in self._line_of and target.root in declared.named - declared.properties.keys()
            if source.root == target.root or (source.root, target.root) in self._tables:
                continue
            if not (target.root in declared.filled or is_between_named):
                continue
            if (is_stage(iri) and target.root in elsewhere) or self._is_explained(iri, target, source_object):
                continue
            by = BY_COLUMNS if (iri, into) in observed.column_pairs else BY_READS
            via = (source_object.through,) if source_object.through else ()
            pair = iri, "", into, ""
            self._add(pair, by, observed.runs[pair].values(), via)

    def _is_explained(self, source: str, target: ObjectLine, shown_source: Source) -> bool:
        """Whether it is a view or stream, and what is certainly behind it is declared, and was read, too; or whether it
        is behind a helper and such a view.
        """
        declared = self._declared.sources.get(target.root, ()) if shown_source.is_behind else ()
        if any(source in self._declared.behind(end, self._observed) for end in declared):
            return True
        if source in self._line_of:
            return False
        behind = (evidence.iri for evidence in self._observed.behind.get(source, ()) if evidence.is_certain)
        return any(
            iri in self._line_of
            and (self._line_of[iri].root, target.root) in self._tables
            and any((iri, "", into, "") in self._observed.runs for into in target.members)
            for iri in behind
        )

    def _add_between_columns(self) -> None:
        """Adds the edges between columns of objects whose columns are declared."""
        observed, declared = self._observed, self._declared
        by_columns = {
            edge.tables
            for edge in declared.edges.values()
            if edge.target.column and not declared.is_property(edge.target.key)
        }
        for key in sorted(observed.direct_columns):
            iri, column, into, target_column = key
            if into not in self._line_of or (iri, into) in self._doubtful:
                continue
            source = End(None, self._line(iri), column)
            target = End(None, self._line_of[into], target_column)
            if source.table == target.table or (*source.key, *target.key) in declared.edges:
                continue
            if declared.is_property(target.key):
                if self._is_listed(iri, column, target.key, into):
                    continue
            elif (source.table, target.table) not in by_columns:
                continue
            self._add(key, BY_COLUMNS, observed.runs[key].values())

    def _is_listed(self, iri: str, column: str, target: ColumnKey, into: str | None = None) -> bool:
        """Whether a property of a contract lists a source, its object, or what stands for it: a view stands for the
        tables that are certainly behind it, and they for the view, if queries that filled ``into`` read both.
        """
        root, listed = self._line(iri).root, self._declared.listed.get(target, set())
        if not {(root, ""), (root, column)}.isdisjoint(listed):
            return True
        tables = {table for table, _ in listed}
        behind = (evidence.iri for evidence in self._observed.behind.get(iri, ()) if evidence.is_certain)
        if any(self._line(table).root in tables and self._is_read(table, into) for table in behind):
            return True
        views = {view for table in tables & self._declared.lines.keys() for view in self._declared.lines[table].members}
        return any(
            evidence.iri == iri and evidence.is_certain and self._is_read(view, into)
            for view in views
            for evidence in self._observed.behind.get(view, ())
        )

    def _is_read(self, source: str, into: str | None) -> bool:
        return into is None or (source, "", into, "") in self._observed.runs

    def _all_behind(self, line: ObjectLine) -> Iterator[ViewEvidence]:
        return (evidence for iri in line.members for evidence in self._observed.behind.get(iri, ()))

    def _behind(self, root: str) -> Iterator[ViewEvidence]:
        """What is certainly behind a declared object; nothing is where it is no view."""
        view = self._declared.lines[root]
        certain = (evidence for evidence in self._all_behind(view) if evidence.is_certain and evidence.is_read)
        return certain if view.is_view else iter(())

    def _add_behind_contracts(self) -> None:
        """Adds the columns behind a contract's view that its properties do not list."""
        for root in sorted(self._declared.properties.keys() & self._declared.lines.keys()):
            for evidence in self._behind(root):
                key, column = (root, evidence.view_column or ""), evidence.column
                if column is None or not key[1] or not self._declared.is_property(key):
                    continue
                if not self._is_listed(evidence.iri, column, key):
                    self._add_behind(evidence, root)

    def _add_behind_views(self) -> None:
        """Adds what is behind a declared view and not a source by declared edges, also over other views."""
        for root in sorted(self._declared.filled & self._declared.lines.keys()):
            declared = reachable(
                [root], lambda table: [source.table for source in self._declared.sources.get(table, ())]
            )
            for evidence in self._behind(root):
                if evidence.view_column is None and self._line(evidence.iri).root not in declared:
                    self._add_behind(evidence._replace(column=None), root)

    def _add_behind(self, evidence: ViewEvidence, root: str) -> None:
        pair = evidence.iri, evidence.column or "", root, evidence.view_column or ""
        self._add(pair, BEHIND_VIEW, runs_of_view([evidence]))


def _is_elsewhere(resolution: Resolution) -> bool:
    return isinstance(resolution, Unresolved) and resolution.reason == "other-platform"
