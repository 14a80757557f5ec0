"""Compares declared edges with what rows show: verified, undeclared, phantom, or unknown for a reason that is given.

A declared edge is compared column by column where the declaration has columns, else table by table. It is a phantom
only if rows of the period show how its target was filled, and none from this source: whatever the rows cannot show is
no phantom.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from exporter.ask.answers import first_of
from exporter.input.times import iso, parse_time
from exporter.reconcile.declared import Declaration, DeclaredDataset
from exporter.reconcile.edges import (
    CLASSES,
    PHANTOM,
    UNDECLARED,
    UNKNOWN,
    VERIFIED,
    ColumnKey,
    ComparedEdge,
    DeclaredEdges,
    EdgeKey,
    End,
)
from exporter.reconcile.observed import Observed, Pair, Run, Source, Version, ViewEvidence
from exporter.reconcile.resolution import Move, ObjectLine, Resolution, Resolver, Unresolved
from exporter.system.reachable import reachable
from exporter.system.terminal import counted

if TYPE_CHECKING:
    from pyoxigraph import Store

_COLUMNS, _READS, _BEHIND = "columns", "reads", "view"
_NAMED: Final = 5
"""The most names in a note."""


@dataclass
class Comparison:
    """The result: ``edges`` in the order of classes and names; ``notes``: what it lacks, for people; ``roots``: the
    object that each dataset of a data contract is.
    """

    edges: list[ComparedEdge]
    declarations: list[Declaration]
    observed: Observed
    notes: list[str]
    roots: Mapping[DeclaredDataset, str]

    @property
    def counts(self) -> Mapping[str, int]:
        """The number of edges of each class."""
        by_verdict = Counter(edge.verdict for edge in self.edges)
        return {name: by_verdict[name] for name in CLASSES}


def compare(
    store: Store,
    declarations: list[Declaration],
    since: int | None,
    until: int | None,
    namespaces: Collection[str] = (),
) -> Comparison:
    """Compares the declarations with what rows of a period show. ``since``, ``until``: microseconds since 1970 (UTC),
    the end excluded. ``namespaces``: those that are the account of the graph. Raises UsageError for a declaration that
    cannot be read.
    """
    observed = Observed(store, since, until)
    declared = DeclaredEdges(Resolver(store, namespaces))
    for number, declaration in enumerate(declarations):
        for item in declaration.items:
            declared.add(item, number)
    declared.bridge_helpers()
    line_of = {iri: line for line in declared.lines.values() for iri in line.members}
    observed.load({*line_of, *(iri for line in declared.lines.values() for iri in line.doubtful)})
    classifier = _Classifier(observed, declared)
    for edge in declared.edges.values():
        classifier.classify(edge)
    undeclared = _Undeclared(observed, declared, line_of)
    edges = [*declared.edges.values(), *undeclared.edges()]
    edges.sort(key=lambda edge: edge.order)
    notes = [*_notes(declarations, observed, declared, line_of, edges), *undeclared.notes()]
    return Comparison(edges, declarations, observed, notes, declared.contracts)


# --- what is declared -------------------------------------------------------------------------------------------------


class _Classifier:
    """Gives declared edges their classes."""

    def __init__(self, observed: Observed, declared: DeclaredEdges) -> None:
        self._observed, self._declared = observed, declared

    def classify(self, edge: ComparedEdge) -> None:
        reason = self._not_on_record(edge)
        if reason is None:
            assert edge.target.line, "another one is not on record"
            reason = self._of_view(edge) if edge.target.line.is_view else self._of_table(edge)
            reason = self._moved(edge) or reason
        if reason is not None:
            edge.reason, edge.why = reason

    def _not_on_record(self, edge: ComparedEdge) -> tuple[str, str] | None:
        """Why the record cannot be asked for an end."""
        for end in (edge.target, edge.source):
            if isinstance(end.resolution, Unresolved):
                reason, why, _ = end.resolution
                if end.dataset in self._declared.views and reason == "no-row":
                    return "view", f"{why}; it is a view, which rows show only when it is read"
                stages = self._stages(edge.target) if end is edge.source and reason == "other-platform" else []
                if stages:
                    why += f"; queries filled {edge.target.name} from {', '.join(stages)}"
                return reason, why
        return None

    def _moved(self, edge: ComparedEdge) -> tuple[str, str] | None:
        """Why another object than those of the verdict may be meant."""
        if edge.verdict not in (VERIFIED, PHANTOM) or any(self._is_meant(edge, run) for run in edge.runs):
            return None
        for end in (edge.target, edge.source):
            if end.line and (moves := self._declared.resolver.moves(end.line)):
                edge.verdict, edge.by, edge.runs = UNKNOWN, None, []
                return (
                    "moved",
                    f"{moves[-1].text}: rows do not say which object {end.name} is after it, and which before",
                )
        return None

    def _is_meant(self, edge: ComparedEdge, run: Run) -> bool:
        """Whether a query that shows the edge is about the objects that are declared."""
        is_meant, runs = self._declared.resolver.is_meant, self._observed.runs
        if edge.by == _BEHIND:
            return all(is_meant(end.line, end.members, run.time) for end in edge.ends)
        pairs = (pair for pair in edge.pairs if run.iri in runs.get((pair[0], "", pair[1], ""), ()))
        return any(
            all(is_meant(end.line, [iri], run.time) for end, iri in zip(edge.ends, pair, strict=True)) for pair in pairs
        )

    def _stages(self, target: End) -> list[str]:
        """The stages that queries loaded a table from: rows do not say where a stage is."""
        sources = (source for source, into in self._observed.direct if into in target.members)
        return sorted({self._observed.names[source] for source in sources if _is_stage(source)})

    def _of_table(self, edge: ComparedEdge) -> tuple[str, str] | None:
        runs, by = self._runs_that_show(edge)
        if runs:
            edge.verdict, edge.by, edge.runs = VERIFIED, by, sorted(runs.values())
            return None
        source, target = edge.source, edge.target
        if any(
            self._observed.runs.get((source_iri, "", target_iri, "")) for source_iri, target_iri in edge.doubtful_pairs
        ):
            return "ambiguous", f"queries filled {target.name} from {source.name} in rows that do not give both ids"
        reason = self._why_not_shown(edge)
        if reason is not None:
            return reason
        helpers = sorted({through for pair in edge.pairs if (through := self._through_helper(pair))})
        if source.column and not target.column and helpers:
            through = f"through {first_of(helpers, _NAMED)}, of which columns that only filter or join are not followed"
            return "no-columns", f"queries filled {target.name} from {source.name} {through}"
        edge.verdict = PHANTOM
        if source.column and self._runs(edge):
            of_target = f"but not its column {target.column} from" if target.column else "and did not read its column"
            return "no-such-column", f"queries filled {target.name} from {source.name}, {of_target} {source.column}"
        fills = sum(len(self._observed.fills.get(iri, ())) for iri in target.members)
        return "never-seen", f"{_queries(fills)} filled {target.name}, none from {source.name}"

    def _through_helper(self, pair: tuple[str, str]) -> str | None:
        source = self._observed.direct.get(pair)
        return source and source.through

    def _runs_that_show(self, edge: ComparedEdge) -> tuple[dict[str, Run], str]:
        """The queries that show the edge, and how."""
        column, into = edge.source.column or "", edge.target.column or ""
        runs = self._runs(edge, column, into)
        if into:
            return (runs, _COLUMNS) if runs or column else (self._runs(edge), _READS)
        has_columns = not column and not self._observed.column_pairs.isdisjoint(edge.pairs)
        return runs, _COLUMNS if has_columns else _READS

    def _runs(self, edge: ComparedEdge, column: str = "", into: str = "") -> dict[str, Run]:
        """The queries that filled the target, or a column of it, from the source, or a column of it."""
        keys = ((source, column, target, into) for source, target in edge.pairs)
        return {iri: run for key in keys for iri, run in self._observed.runs.get(key, {}).items()}

    def _why_not_shown(self, edge: ComparedEdge) -> tuple[str, str] | None:
        """Why rows of the period need not show the edge, if it is there; None where they would."""
        observed, target = self._observed, edge.target.name
        if edge.first is not None and edge.last is not None:
            begin, end = observed.begin, observed.end
            if begin is None or end is None or edge.last < begin or edge.first > end:
                return "outside-period", f"the last run that declares it was at {iso(edge.last)}, outside of the period"
        if came := self._came_with_clones(edge.target):
            return "incomplete-rows", came
        fills = [fill for iri in edge.target.members for fill in observed.fills.get(iri, ())]
        if not fills:
            return "not-filled", f"no query of the period filled {target}"
        unclear = sum(fill.unclear for fill in fills)
        if unclear:
            return "incomplete-rows", f"{_queries(unclear)} filled {target} in rows that do not say all sources"
        if reason := self._without_columns(edge, fills):
            return reason
        why = self._through_clones(edge) or self._in_cut_rows(edge)
        return ("incomplete-rows", why) if why else self._declared.between_helpers(edge, observed)

    def _came_with_clones(self, target: End) -> str | None:
        """Which CLONE of the period may have filled the target with its schema or database; None without any."""
        origins = (self._observed.clones.origins(iri)[:1] for iri in sorted(target.members))
        steps = [step for latest in origins for step in latest if self._observed.has(parse_time(step.clone.at) or 0)]
        lead = f"{target.name} may have come with a CLONE"
        return f"{lead} of {steps[0].clone.source} at {steps[0].clone.at}: no row lists what it held" if steps else None

    def _through_clones(self, edge: ComparedEdge) -> str | None:
        """Why data may have come over clones of the source, which hold what it held; None without any."""
        observed = self._observed
        sources = {source for iri in edge.target.members for source in observed.sources.get(iri, ())}
        clones = sorted(observed.names[clone] for clone in observed.clones.of(edge.source.members, sources))
        of_source = f"made by a CLONE that is or may be of {edge.source.name}"
        return f"{edge.target.name} was filled from {first_of(clones, _NAMED)}, {of_source}" if clones else None

    def _in_cut_rows(self, edge: ComparedEdge) -> str | None:
        """Which rows may show the edge and do not say what was written; None without any."""
        cut = sum(not reads or bool(reads & edge.source.members) for reads in self._observed.cut.values())
        may_show = f"the rows of {_queries(cut)} that may have read {edge.source.name} do not say what was written"
        return may_show if cut else None

    def _without_columns(self, edge: ComparedEdge, fills: list[Version]) -> tuple[str, str] | None:
        """The reason that rows show the edge between the objects and do not list its columns; None if it is not so."""
        if not edge.source.column or not edge.target.column:
            return None
        runs = self._runs(edge)
        number = sum(fill.run.iri in runs and not fill.has_columns for fill in fills)
        if number:
            return "no-columns", f"{_queries(number)} filled {edge.target.name} in rows that list no source columns"
        number = sum(fill.reads_of_provider(edge.source.members) for fill in fills)
        listed = f"{edge.source.name}, a table of a share's provider, of which rows list no source columns"
        return ("no-columns", f"{_queries(number)} filled {edge.target.name} from {listed}") if number else None

    def _of_view(self, edge: ComparedEdge) -> tuple[str, str] | None:
        """The verdict on an edge into a view: rows show what is behind a view only when a query reads it."""
        source, target = edge.source, edge.target
        behind = [entry for iri in target.members for entry in self._observed.behind.get(iri, ())]
        evidence = [
            entry
            for entry in behind
            if entry.iri in source.members
            and source.column in {None, entry.column}
            and target.column in {None, entry.view_column}
        ]
        certain = [entry for entry in evidence if entry.is_certain]
        read = [entry for entry in certain if entry.is_read]
        if certain and not read:
            return (
                "view",
                f"no query of the period read the view {target.name}; earlier and later ones show {source.name}",
            )
        if read:
            edge.verdict, edge.by, edge.runs = VERIFIED, _BEHIND, _runs_of_view(read)
            return None
        if evidence:
            return "view", f"queries read the view {target.name} and more, so {source.name} may be behind it or not"
        names = ", ".join(
            sorted({self._observed.names[entry.iri] for entry in behind if entry.is_certain and entry.is_read})
        )
        shows = f"; queries that read it show {names} behind it" if names else ""
        return (
            "view",
            f"{target.name} is a view: it has no rows of its own, and only reads show what is behind it{shows}",
        )


def _runs_of_view(evidence: Collection[ViewEvidence]) -> list[Run]:
    """The first query that showed what is behind a view, and the time of the last one, which the graph has alone."""
    first, last = min(evidence, key=lambda entry: entry.first), max(entry.last for entry in evidence)
    return [Run(first.first, "", first.ident, 1), *([Run(last, "", None, 0)] if last != first.first else [])]


def _queries(number: int) -> str:
    return counted(number, "query", "queries")


def _is_stage(iri: str) -> bool:
    return "/stage/" in iri or "-stage/" in iri


# --- what only rows show ----------------------------------------------------------------------------------------------


class _Undeclared:
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
        declared = [(line, line.members if by == _BEHIND else [end]) for line, end in lines if line]
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
            if (_is_stage(iri) and target.root in elsewhere) or self._is_explained(iri, target, source_object):
                continue
            by = _COLUMNS if (iri, into) in observed.column_pairs else _READS
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
            self._add(key, _COLUMNS, observed.runs[key].values())

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
        self._add(pair, _BEHIND, _runs_of_view([evidence]))


def _is_elsewhere(resolution: Resolution) -> bool:
    return isinstance(resolution, Unresolved) and resolution.reason == "other-platform"


# --- notes ------------------------------------------------------------------------------------------------------------


def _notes(
    declarations: list[Declaration],
    observed: Observed,
    declared: DeclaredEdges,
    line_of: Mapping[str, ObjectLine],
    edges: Collection[ComparedEdge],
) -> Iterator[str]:
    """What the result lacks."""
    if observed.first is not None and observed.last is not None and not (observed.begin or 0) <= (observed.end or 0):
        yield (
            f"The record covers {iso(observed.first)} to {iso(observed.last)}: no query of the period is in it, so "
            "rows show nothing."
        )
    for declaration in declarations:
        if declaration.left_out:
            yield f"{declaration.name}: left out: {', '.join(declaration.left_out)}."
    if not declared.edges and not declared.properties:
        yield "The declarations have no edges, so only what rows show can be compared: nothing."
    others = observed.outgoing(line_of.keys())
    if others:
        yield (
            f"Data also went from declared objects to {len(others):,} that no declaration names; these edges are not "
            "listed (exporter query end-up follows them)."
        )
    for dataset, reason in declared.undescribed.items():
        yield f"{dataset}: nothing is known of its properties: {reason}."
    with_source = {edge.target.key for edge in edges if edge.verdict in (VERIFIED, UNDECLARED)}
    for root, columns in declared.properties.items():
        without_source = sorted(column for column in columns if (root, column) not in with_source)
        if without_source:
            more = f" and {len(without_source) - _NAMED:,} more" if len(without_source) > _NAMED else ""
            yield (
                f"{declared.lines[root].name}: for {len(without_source):,} of {len(columns):,} properties no row of "
                f"the period shows a source: {', '.join(without_source[:_NAMED])}{more}."
            )
