"""Compares declared edges with what rows show: verified, undeclared, phantom, or unknown for a reason that is given.

A declared edge is compared column by column where the declaration has columns, else table by table. It is a phantom
only if rows of the period show how its target was filled, and none from this source: whatever the rows cannot show is
no phantom.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from exporter.ask.answers import first_of
from exporter.input.times import iso, parse_time
from exporter.reconcile.declared import Declaration, DeclaredDataset
from exporter.reconcile.edges import (
    BEHIND_VIEW,
    BY_COLUMNS,
    BY_READS,
    CLASSES,
    PHANTOM,
    UNDECLARED,
    UNKNOWN,
    VERIFIED,
    ComparedEdge,
    DeclaredEdges,
    End,
)
from exporter.reconcile.observed import Observed, Run, Version, is_stage, runs_of_view
from exporter.reconcile.resolution import ObjectLine, Resolver, Unresolved
from exporter.reconcile.undeclared import UndeclaredEdges
from exporter.system.terminal import counted

if TYPE_CHECKING:
    from pyoxigraph import Store

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
    undeclared = UndeclaredEdges(observed, declared, line_of)
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
        if edge.by == BEHIND_VIEW:
            return all(is_meant(end.line, end.members, run.time) for end in edge.ends)
        pairs = (pair for pair in edge.pairs if run.iri in runs.get((pair[0], "", pair[1], ""), ()))
        return any(
            all(is_meant(end.line, [iri], run.time) for end, iri in zip(edge.ends, pair, strict=True)) for pair in pairs
        )

    def _stages(self, target: End) -> list[str]:
        """The stages that queries loaded a table from: rows do not say where a stage is."""
        sources = (source for source, into in self._observed.direct if into in target.members)
        return sorted({self._observed.names[source] for source in sources if is_stage(source)})

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
            return (runs, BY_COLUMNS) if runs or column else (self._runs(edge), BY_READS)
        has_columns = not column and not self._observed.column_pairs.isdisjoint(edge.pairs)
        return runs, BY_COLUMNS if has_columns else BY_READS

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
            edge.verdict, edge.by, edge.runs = VERIFIED, BEHIND_VIEW, runs_of_view(read)
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


def _queries(number: int) -> str:
    return counted(number, "query", "queries")


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
