"""What data contracts list: for each property, the objects and columns that its data comes from.

A contract has no runs and no joins, only columns. So an object that it describes is compared by these columns alone: a
table that a query only read is no source that a contract lacks, and a column that the contract does not have is none.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Final

from exporter.reconcile.meaning import Line

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from exporter.reconcile.declared import Dataset
    from exporter.reconcile.meaning import Meaning
    from exporter.reconcile.seen import Behind, Seen

_NAMED: Final = 5
"""The most names in a note."""


class Listed:
    """``columns``: of each object of a contract, by its root, the columns of which the sources are to be listed;
    ``roots``: which object each dataset of a contract is.
    """

    def __init__(self) -> None:
        self.columns: dict[str, set[str]] = defaultdict(set)
        self.roots: dict[Dataset, str] = {}
        self._missing: dict[Dataset, str] = {}
        self._sources: dict[tuple[str, str], set[tuple[str, str]]] = defaultdict(set)
        """(root of the target, its column) -> (root of a source, its column or nothing)."""

    def add(self, dataset: Dataset, meaning: Meaning, columns: Collection[str]) -> None:
        """An object of a contract."""
        if isinstance(meaning, Line):
            self.columns[meaning.root].update(columns)
            self.roots[dataset] = meaning.root
        else:
            self._missing[dataset] = meaning.why

    def add_source(self, source: tuple[str, str], target: tuple[str, str]) -> None:
        """What a property lists, each by its root and column."""
        self._sources[target].add(source)

    def has(self, root: str, column: str) -> bool:
        """Whether a contract is to list the sources of a column."""
        return column in self.columns.get(root, ())

    def lists(
        self,
        source: tuple[str, str],
        target: tuple[str, str],
        seen: Seen,
        lines: Mapping[str, Line],
        of: Mapping[str, Line],
    ) -> bool:
        """Whether a property lists a source, its object, or what stands for it: a view stands for the tables behind
        it, and they for the view. ``source``: an IRI and a column; ``lines``: by their roots; ``of``: by their members.
        """
        listed = self._sources.get(target, set())
        iri, column = source
        root = of[iri].root if iri in of else iri
        if not {(root, ""), (root, column)}.isdisjoint(listed):
            return True
        tables = {table for table, _ in listed}
        if any((of[each.iri].root if each.iri in of else each.iri) in tables for each in seen.behind.get(iri, ())):
            return True
        views = (view for table in tables if table in lines for view in lines[table].members)
        return any(each.iri == iri for view in views for each in seen.behind.get(view, ()))

    def behind(self, seen: Seen, lines: Mapping[str, Line], of: Mapping[str, Line]) -> Iterator[tuple[Line, Behind]]:
        """The views of contracts, and columns that are certainly behind theirs and that the contracts do not list."""
        for root in sorted(self.columns.keys() & lines.keys()):
            view = lines[root]
            for each in (each for iri in view.members for each in seen.behind.get(iri, ()) if view.is_view):
                if not each.is_certain or each.column is None or each.view_column is None:
                    continue
                target = root, each.view_column
                if self.has(*target) and not self.lists((each.iri, each.column), target, seen, lines, of):
                    yield view, each

    def notes(self, lines: Mapping[str, Line], shown: Collection[tuple[str, str]]) -> Iterator[str]:
        """The objects that no row shows, and the properties whose sources no row shows. ``shown``: the others."""
        for missing, why in self._missing.items():
            yield f"{missing}: nothing is known of its properties: {why}."
        for root, columns in self.columns.items():
            bare = sorted(column for column in columns if (root, column) not in shown)
            if bare:
                more = f" and {len(bare) - _NAMED:,} more" if len(bare) > _NAMED else ""
                yield (
                    f"{lines[root].name}: for {len(bare):,} of {len(columns):,} properties no row of the period shows "
                    f"a source: {', '.join(bare[:_NAMED])}{more}."
                )
