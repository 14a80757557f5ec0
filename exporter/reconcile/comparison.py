"""Declared edges against seen ones: verified, undeclared, phantom, or not to be known, for a reason that is said.

A declared edge is compared column by column where the declaration has columns, else table by table. It is a phantom
only if rows of the period show how its target was filled, and none from this source: whatever the rows cannot show is
no phantom.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from exporter.errors import UsageError
from exporter.input.times import iso
from exporter.model.identifiers import match_name
from exporter.openlineage.helpers import is_named
from exporter.openlineage.settings import HELPERS
from exporter.reconcile.declared import Dataset, Edge, Filled
from exporter.reconcile.listed import Listed
from exporter.reconcile.meaning import Line, Meaning, Meanings, Unknown
from exporter.reconcile.seen import Fill, Run, Seen

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from pyoxigraph import Store

    from exporter.reconcile.declared import Declaration

VERIFIED, UNDECLARED, PHANTOM, UNKNOWN = "verified", "undeclared", "phantom", "unknown"
CLASSES: Final = (VERIFIED, UNDECLARED, PHANTOM, UNKNOWN)
MOST_EDGES: Final = 2_000_000
"""The most different edges that are compared."""
_COLUMNS, _READS, _BEHIND = "columns", "reads", "view"


class End(NamedTuple):
    """One end of an edge. ``dataset``: as it is declared, None for what only rows show; ``meaning``: what it is;
    ``column``: in the form in which names are compared.
    """

    dataset: Dataset | None
    meaning: Meaning
    column: str | None

    @property
    def key(self) -> tuple[str, str]:
        """Equal for ends that are the same column of the same object."""
        if isinstance(self.meaning, Line):
            return self.meaning.root, self.column or ""
        return f"? {self.dataset!r}", self.column or ""

    @property
    def table(self) -> str:
        """Equal for ends in the same object."""
        return self.key[0]

    @property
    def name(self) -> str:
        """As it is declared; of what only rows show, the present name."""
        return str(self.dataset) if self.dataset is not None else self.now or ""

    @property
    def now(self) -> str | None:
        """The name that the object has now."""
        return self.meaning.name if isinstance(self.meaning, Line) else None

    @property
    def members(self) -> frozenset[str]:
        """The IRIs of the objects that it is; none where it is not known which."""
        return self.meaning.members if isinstance(self.meaning, Line) else frozenset()


@dataclass
class Verdict:
    """An edge and its class. ``reason``, ``why``: a word and a sentence, of what cannot be known and of phantoms.
    ``by``: how it was seen: ``columns`` (a column's data came from there), ``reads`` (the query only read it) or
    ``view`` (it is behind the view). ``runs``: the queries that show it, oldest first. ``declared``: the numbers of the
    declarations that have it; ``first``, ``last``: their times.
    """

    source: End
    target: End
    of: str = UNKNOWN
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
    def key(self) -> tuple[str, str, str, str]:
        """Equal for the same edge."""
        return *self.source.key, *self.target.key

    @property
    def queries(self) -> int:
        """How many queries show it; an aggregated row counts its calls."""
        return sum(run.calls for run in self.runs)


@dataclass
class Compared:
    """The result: ``edges`` in the order of classes and names; ``notes``: what it lacks, for people; ``roots``: the
    object that each dataset of a data contract is.
    """

    edges: list[Verdict]
    declarations: list[Declaration]
    seen: Seen
    notes: list[str]
    roots: Mapping[Dataset, str]

    @property
    def counts(self) -> Mapping[str, int]:
        """The number of edges of each class."""
        found = Counter(one.of for one in self.edges)
        return {name: found[name] for name in CLASSES}


def compare(
    store: Store, declarations: list[Declaration], since: int | None, until: int | None, namespaces: Iterable[str] = ()
) -> Compared:
    """Compares the declarations with what rows of a period show. ``since``, ``until``: microseconds since 1970 (UTC),
    the end excluded. ``namespaces``: those that are the account of the graph. Raises UsageError for a declaration that
    cannot be read.
    """
    seen = Seen(store, since, until)
    declared = _Declared(Meanings(store, namespaces))
    for number, declaration in enumerate(declarations):
        for item in declaration.items:
            declared.add(item, number)
    declared.see_through()
    seen.look({iri for line in declared.lines.values() for iri in line.members})
    edges = [_Judge(seen, declared).judged(one) for one in declared.edges.values()]
    edges += _undeclared(seen, declared)
    edges.sort(key=_order)
    edges.sort(key=_order)
    shown = {one.target.key for one in edges if one.of in (VERIFIED, UNDECLARED)}
    notes = [*_left_out(declarations), *_notes(seen, declared), *declared.listed.notes(declared.lines, shown)]
    return Compared(edges, declarations, seen, notes, declared.listed.roots)


class _Declared:
    """What all declarations say. ``lines``: the objects that they name, by their roots; ``filled``: the roots of those
    that they fill; ``views``: datasets that they call views; ``listed``: what data contracts say, column by column.
    """

    def __init__(self, meanings: Meanings) -> None:
        self._meanings = meanings
        self.edges = dict[tuple[str, str, str, str], Verdict]()
        self.lines = dict[str, Line]()
        self.filled = set[str]()
        self.views = set[Dataset]()
        self.listed = Listed()

    def add(self, item: Edge | Filled, number: int) -> None:
        if isinstance(item, Filled):
            end = self._end(item.dataset, None, item.named)
            if item.properties is None:
                self.filled.add(end.table)
            else:
                self.listed.add(item.dataset, end.meaning, item.properties)
            if item.is_view and end.dataset is not None:
                self.views.add(end.dataset)
            return
        source = self._end(item.source, item.source_column, item.named)
        target = self._end(item.target, item.target_column, item.named)
        if self.listed.has(*target.key):
            self.listed.add_source(source.key, target.key)
        else:
            self.filled.add(target.table)
        new = Verdict(source, target, via=item.via)
        one = self.edges.setdefault(new.key, new)
        one.declared.add(number)
        if item.job:
            one.jobs.add(item.job)
        if item.time is not None:
            one.first = item.time if one.first is None else min(one.first, item.time)
            one.last = item.time if one.last is None else max(one.last, item.time)
        if len(self.edges) > MOST_EDGES:
            raise UsageError(f"the declarations have more than {MOST_EDGES:,} edges; compare some of them at a time")

    def _end(self, dataset: Dataset, column: str | None, time: int | None) -> End:
        dataset = dataset._replace(namespace=dataset.namespace or self._meanings.home)
        meaning = self._meanings.of(dataset, time)
        if isinstance(meaning, Line):
            self.lines.setdefault(meaning.root, meaning)
            meaning = self.lines[meaning.root]
        is_of_graph = dataset.is_of_snowflake or isinstance(meaning, Line)
        return End(dataset, meaning, match_name(column) if column and is_of_graph else column or None)

    def see_through(self) -> None:
        """What fills a helper fills what is filled from it: its edges are joined, and it is gone."""
        helpers = {end.table: end for one in self.edges.values() for end in (one.source, one.target) if _is_helper(end)}
        for table, helper in sorted(helpers.items()):
            into = [one for one in self.edges.values() if one.target.table == table]
            out = [one for one in self.edges.values() if one.source.table == table]
            if not into or not out:  # the other half is declared elsewhere, or not at all
                continue
            for one in (*into, *out):
                self.edges.pop(one.key, None)
            for before in into:
                for after in out:
                    if _joins(before, after) and before.source.table != table != after.target.table:
                        self._join(before, after, helper.name)
            self.lines.pop(table, None)
            self.filled.discard(table)

    def _join(self, before: Verdict, after: Verdict, helper: str) -> None:
        source, target = before.source, after.target
        if before.target.column is None or after.source.column is None:  # one of them is table by table
            source, target = source._replace(column=None), target._replace(column=None)
        new = Verdict(source, target, via=(*before.via, helper, *after.via))
        one = self.edges.setdefault(new.key, new)
        one.declared |= before.declared & after.declared or before.declared | after.declared
        one.jobs |= after.jobs
        firsts = [time for time in (one.first, after.first) if time is not None]
        lasts = [time for time in (one.last, after.last) if time is not None]
        one.first, one.last = min(firsts, default=None), max(lasts, default=None)


def _is_helper(end: End) -> bool:
    return end.dataset is not None and end.dataset.is_of_snowflake and is_named(end.dataset.name, HELPERS)


def _joins(before: Verdict, after: Verdict) -> bool:
    """Whether data of one edge goes on along the other: through the same column, or where one has no columns."""
    columns = before.target.column, after.source.column
    return None in columns or columns[0] == columns[1]


# --- what is declared -------------------------------------------------------------------------------------------------


class _Judge:
    """Gives declared edges their classes."""

    def __init__(self, seen: Seen, declared: _Declared) -> None:
        self._seen, self._declared = seen, declared
        self._into = defaultdict[tuple[str, str, str], dict[str, Run]](dict)
        for (source, _, target, column), runs in seen.columns.items():
            self._into[source, target, column] |= runs

    def judged(self, one: Verdict) -> Verdict:
        for end in (one.target, one.source):
            if isinstance(end.meaning, Unknown):
                is_view = end.dataset in self._declared.views and end.meaning.reason == "no-row"
                why = f"{end.meaning.why}{'; it is a view, which rows show only when it is read' * is_view}"
                stages = [] if is_view or end is one.target else self._stages(one.target)
                if stages and end.meaning.reason == "other-platform":
                    why += f"; queries filled {one.target.name} from {', '.join(stages)}"
                return _unknown(one, "view" if is_view else end.meaning.reason, why)
        assert isinstance(one.target.meaning, Line), "what is not known was said above"
        return self._of_view(one) if one.target.meaning.is_view else self._of_table(one)

    def _stages(self, target: End) -> list[str]:
        """The stages that queries loaded a table from: rows do not say where a stage is."""
        pairs = (source for (_, to), source in self._seen.direct.items() if to in target.members)
        return sorted({source.name for source in pairs if _is_stage(source.iri)})

    def _of_table(self, one: Verdict) -> Verdict:
        runs, by = self._shown(one)
        if runs:
            one.of, one.by, one.runs = VERIFIED, by, sorted(runs.values())
            return one
        fills = [fill for iri in one.target.members for fill in self._seen.fills.get(iri, ())]
        reason = self._outside(one) or self._not_filled(one, fills) or self._unclear(one, fills)
        if reason is not None:
            return _unknown(one, *reason)
        one.of, one.reason = PHANTOM, "never-seen"
        one.why = f"{_queries(len(fills))} filled {one.target.name}, none from {one.source.name}"
        if one.source.column and self._pairs(one):
            one.reason = "no-such-column"
            what = (
                f"but not its column {one.target.column} from {one.source.column}"
                if one.target.column
                else f"and did not read its column {one.source.column}"
            )
            one.why = f"queries filled {one.target.name} from {one.source.name}, {what}"
        return one

    def _shown(self, one: Verdict) -> tuple[dict[str, Run], str]:
        """The queries that show the edge, and how."""
        seen, runs, column = self._seen, dict[str, Run](), one.source.column
        if column and one.target.column:
            for source, target in self._both(one):
                runs |= seen.columns.get((source, column, target, one.target.column), {})
            return runs, _COLUMNS
        if column:
            for source, target in self._both(one):
                runs |= seen.read.get((source, column, target), {})
            return runs, _READS
        if one.target.column:
            for source, target in self._both(one):
                runs |= self._into.get((source, target, one.target.column), {})
            return (runs, _COLUMNS) if runs else (self._pairs(one), _READS)
        has_columns = not self._seen.column_pairs.isdisjoint(self._both(one))
        return self._pairs(one), _COLUMNS if has_columns else _READS

    def _pairs(self, one: Verdict) -> dict[str, Run]:
        runs = dict[str, Run]()
        for pair in self._both(one):
            runs |= self._seen.pairs.get(pair, {})
        return runs

    def _both(self, one: Verdict) -> Iterator[tuple[str, str]]:
        return ((source, target) for source in one.source.members for target in one.target.members)

    def _outside(self, one: Verdict) -> tuple[str, str] | None:
        """Where all runs that declare the edge were before or after the period."""
        if one.first is None or one.last is None:
            return None
        begin, end = self._seen.begin, self._seen.end
        if begin is None or end is None or one.last < begin or one.first > end:
            return "outside-period", f"the last run that declares it was at {iso(one.last)}, outside of the period"
        return None

    def _not_filled(self, one: Verdict, fills: list[Fill]) -> tuple[str, str] | None:
        if fills:
            return None
        return "not-filled", f"no query of the period filled {one.target.name}"

    def _unclear(self, one: Verdict, fills: list[Fill]) -> tuple[str, str] | None:
        """Where rows that may show the edge are cut or list no sources."""
        unclear = sum(fill.unclear for fill in fills)
        if unclear:
            return (
                "incomplete-rows",
                f"{_queries(unclear)} filled {one.target.name} in rows that do not say all sources",
            )
        if one.source.column and one.target.column:
            pairs = self._pairs(one)
            bare = sum(fill.run.iri in pairs and not fill.has_columns for fill in fills)
            if bare:
                return "no-columns", f"{_queries(bare)} filled {one.target.name} in rows that list no source columns"
        cut = [reads for reads in self._seen.cut.values() if not reads or reads & one.source.members]
        if cut:
            return (
                "incomplete-rows",
                f"the rows of {_queries(len(cut))} that may have read {one.source.name} do not say what was written",
            )
        return None

    def _of_view(self, one: Verdict) -> Verdict:
        """A view shows what is behind it only to who reads it."""
        behind = [each for iri in one.target.members for each in self._seen.behind.get(iri, ())]
        found = [
            each
            for each in behind
            if each.iri in one.source.members and (not one.source.column or each.column == one.source.column)
            and (not one.target.column or each.view_column == one.target.column)
        ]  # fmt: skip
        certain = [each for each in found if each.is_certain]
        if certain:
            first, last = min(each.first for each in certain), max(each.last for each in certain)
            ident = min(certain, key=lambda each: each.first).ident
            one.of, one.by = VERIFIED, _BEHIND
            one.runs = [Run(first, "", ident, 1)] + ([Run(last, "", None, 0)] if last != first else [])
            return one
        if found:
            return _unknown(
                one,
                "view",
                f"queries read the view {one.target.name} and more, so {one.source.name} may be behind it or not",
            )
        there = ", ".join(sorted({each.name for each in behind if each.is_certain}))
        shows = f"; queries that read it show {there} behind it" if there else ""
        return _unknown(
            one,
            "view",
            f"{one.target.name} is a view: it has no rows of its own, and only reads show what is behind it{shows}",
        )


def _unknown(one: Verdict, reason: str, why: str) -> Verdict:
    one.of, one.reason, one.why = UNKNOWN, reason, why
    return one


def _queries(number: int) -> str:
    return "1 query" if number == 1 else f"{number:,} queries"


# --- what only rows show ----------------------------------------------------------------------------------------------


def _undeclared(seen: Seen, declared: _Declared) -> Iterator[Verdict]:
    """The seen edges into what the declarations fill, and between other objects that they name, which they do not
    declare. An object is not its own source.
    """
    of = {iri: line for line in declared.lines.values() for iri in line.members}
    pairs = {(one.source.table, one.target.table) for one in declared.edges.values()}
    by_columns = {
        (one.source.table, one.target.table)
        for one in declared.edges.values()
        if one.target.column and not declared.listed.has(*one.target.key)
    }
    # A stage may be the path that a declaration names: rows do not say where it is.
    elsewhere = {one.target.table for one in declared.edges.values() if _is_elsewhere(one.source.meaning)}
    found = dict[tuple[str, str, str, str], Verdict]()
    for (source, target), how in sorted(seen.direct.items()):
        ends = _line(source, how.name, of), of[target]
        pair = ends[0].root, ends[1].root
        is_filled = pair[1] in declared.filled or (source in of and pair[1] not in declared.listed.columns)
        if pair[0] == pair[1] or pair in pairs or not is_filled:
            continue
        is_loaded = _is_stage(source) and pair[1] in elsewhere
        if not is_loaded and not _is_explained(source, ends[1], seen, pairs, of):
            by = _COLUMNS if (source, target) in seen.column_pairs else _READS
            via = (how.through,) if how.through else ()
            _add(
                found,
                Verdict(End(None, ends[0], None), End(None, ends[1], None), UNDECLARED, by=by, via=via),
                seen.pairs[source, target],
            )
    for key in sorted(seen.direct_columns):
        source, source_column, target, target_column = key
        ends = _line(source, seen.names.get(source, source), of), of[target]
        to = ends[1].root, target_column
        is_of_contract = declared.listed.has(*to)
        if ends[0].root == ends[1].root or not (is_of_contract or (ends[0].root, ends[1].root) in by_columns):
            continue
        if is_of_contract and declared.listed.lists(key[:2], to, seen, declared.lines, of):
            continue
        one = Verdict(End(None, ends[0], source_column), End(None, ends[1], target_column), UNDECLARED, by=_COLUMNS)
        if one.key not in declared.edges:
            _add(found, one, seen.columns[key])
    for view, each in declared.listed.behind(seen, declared.lines, of):
        behind = End(None, _line(each.iri, each.name, of), each.column)
        one = Verdict(behind, End(None, view, each.view_column), UNDECLARED, by=_BEHIND)
        _add(found, one, {"": Run(each.first, "", each.ident, 1)})
    yield from found.values()
    yield from _undeclared_behind(seen, declared, pairs, of)


def _add(found: dict[tuple[str, str, str, str], Verdict], one: Verdict, runs: Mapping[str, Run]) -> None:
    """Adds an edge; the objects of a line have one together."""
    kept = found.setdefault(one.key, one)
    kept.runs = sorted({*kept.runs, *runs.values()})


def _is_stage(iri: str) -> bool:
    return "/stage/" in iri or "-stage/" in iri


def _is_elsewhere(meaning: Meaning) -> bool:
    return isinstance(meaning, Unknown) and meaning.reason == "other-platform"


def _line(iri: str, name: str, of: Mapping[str, Line]) -> Line:
    return of.get(iri) or Line(iri, iri, name, "", frozenset((iri,)))


def _is_explained(source: str, target: Line, seen: Seen, pairs: set[tuple[str, str]], of: Mapping[str, Line]) -> bool:
    """Whether the source is a view or stream that the declaration does not name, as it names what is behind it."""
    behind = seen.behind.get(source, ())
    return source not in of and any(each.iri in of and (of[each.iri].root, target.root) in pairs for each in behind)


def _undeclared_behind(
    seen: Seen, declared: _Declared, pairs: set[tuple[str, str]], of: Mapping[str, Line]
) -> Iterator[Verdict]:
    """What is certainly behind a declared view, but not by declared edges, also over other views."""
    above = defaultdict[str, set[str]](set)
    for source, target in pairs:
        above[target].add(source)
    for root in sorted(declared.filled & declared.lines.keys()):
        view = declared.lines[root]
        known, waiting = {root}, [root]
        while waiting:
            more = above[waiting.pop()] - known
            known |= more
            waiting += more
        found = dict[str, Verdict]()
        for each in (each for iri in view.members for each in seen.behind.get(iri, ()) if view.is_view):
            line = _line(each.iri, each.name, of)
            if each.is_certain and each.view_column is None and line.root not in known:
                one = Verdict(End(None, line, None), End(None, view, None), UNDECLARED, by=_BEHIND)
                kept = found.setdefault(line.root, one)
                kept.runs = sorted([*kept.runs, Run(each.first, "", each.ident, 1)])
        yield from found.values()


# --- notes ------------------------------------------------------------------------------------------------------------


def _left_out(declarations: list[Declaration]) -> Iterator[str]:
    for one in declarations:
        if one.left_out:
            yield f"{one.name}: left out: {', '.join(one.left_out)}."


def _notes(seen: Seen, declared: _Declared) -> Iterator[str]:
    if not declared.edges and not declared.listed.columns:
        yield "The declarations have no edges, so only what rows show can be compared: nothing."
    of = {iri: root for root, line in declared.lines.items() for iri in line.members}
    leaving = {(of[source], target) for source, target in seen.leaving(of) if target not in of and source in of}
    if leaving:
        others = len({target for _, target in leaving})
        yield (
            f"Data also went from declared objects to {others:,} that no declaration names; these edges are not listed "
            "(exporter query end-up follows them)."
        )


_RANK: Final = {name: number for number, name in enumerate((UNDECLARED, PHANTOM, UNKNOWN, VERIFIED))}


def _order(one: Verdict) -> tuple[int, str, str, str, str]:
    return _RANK[one.of], one.target.name, one.target.column or "", one.source.name, one.source.column or ""
