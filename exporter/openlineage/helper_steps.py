"""What one query does to helpers, as a step: it reads, creates, fills, moves or drops them.

:mod:`exporter.openlineage.bridging` puts the steps of an account together. What is to be known before the first step
of a day is a mark.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from msgspec import Struct

from exporter.model.answers import Dataset
from exporter.model.effects import effects
from exporter.model.facts import Content, ObjectReference, QueryFacts
from exporter.openlineage.helpers import (
    DAY,
    KINDS,
    MOST_SOURCES,
    created,
    cut_alters,
    dropped,
    is_candidate,
    is_named,
    request_of,
    unclear,
)
from exporter.openlineage.inputs_and_outputs import Datasets, DatasetUses, dataset_of, dataset_uses, with_base
from exporter.openlineage.naming import DatasetName

if TYPE_CHECKING:
    from exporter.openlineage.settings import OpenLineageSettings

UNCLEAR, NAMED, READ, FILLED, STRANGE = "unclear", "named", "read", "filled", "strange"
"""Marks, which are known before the first step of a day. By helper and day: UNCLEAR, a fill without known
sources; NAMED, a read or fill. By helper and start of a window: it was read, it was filled, another session or request
used it.
"""
MADE, GONE = "made ", "gone"
"""Marks by table without an id and time: MADE with the id of the session, which may be empty, created it; GONE, a DROP.
"""
Ref = tuple[str, str, str]
"""A helper: the namespace and name of its dataset, and the key of the object."""
Mark = tuple[str, Ref, int]


class Created(Struct, array_like=True, frozen=True, gc=False):
    """A helper that the query creates. ``is_sure``: by its name or as TEMPORARY; else ``window`` is the start of the
    window that has to qualify.
    """

    ref: Ref
    is_view: bool
    is_sure: bool
    window: int


class Fill(Struct, array_like=True, frozen=True, gc=False):
    """A helper that the query writes: the sources of its columns, each once and sorted, and the names of the datasets
    that it is made from. Both may be helpers. ``adds``: False for a query that only deletes; ``empties``: what was
    there before is gone.
    """

    ref: Ref
    sources: list[tuple[str, str, str, str, bool]]
    inputs: list[tuple[str, str]]
    adds: bool
    empties: bool


class ColumnChange(Struct, array_like=True, frozen=True, gc=False):
    """A helper whose columns the query changes by DDL. ``renamed``: former and new names. ``gone``: what they held is
    gone, as they are dropped, or added and so empty. ``is_cut``: the row does not say all that is done to columns.
    """

    ref: Ref
    renamed: list[tuple[str, str]]
    gone: list[str]
    is_cut: bool


class HelperStep(Struct, array_like=True, frozen=True, gc=False):
    """What a query does to helpers. ``changed``: helpers that it changes by DDL. ``dropped``: those that it drops.
    ``moved``: from which name to which a RENAME or SWAP moves an object, and whether the new name is a helper's.
    ``facets``: of the inputs of fills. Times are microseconds since 1970, UTC.
    """

    query_id: str
    start: int
    end: int
    read: list[Ref] = []
    created: list[Created] = []
    fills: list[Fill] = []
    changed: list[Ref] = []
    dropped: list[Ref] = []
    moved: list[tuple[Ref, Ref, bool]] = []
    facets: list[tuple[str, str, bytes]] = []
    columns: list[ColumnChange] = []


def step_of(
    facts: QueryFacts, datasets: Datasets, settings: OpenLineageSettings
) -> tuple[HelperStep, list[Mark]] | None:
    """What the query does to helpers, and its marks; None if it has to do with none."""
    content = facts.content
    helpers = {
        thing.key: thing
        for thing in (*_read_things(content), *_changed_things(content))
        if is_candidate(thing, dataset_of(thing, datasets), facts.start, settings)
    }
    if not helpers and not any(_named_by(facts, datasets, settings)):
        return None
    uses = dataset_uses(content, datasets, with_base(settings))
    return _Query(facts, datasets, settings, uses, helpers).step()


def _read_things(content: Content) -> list[ObjectReference]:
    return [
        *(access.thing for access in content.accesses),
        *(derivation.source for derivation in content.derivations),
    ]


def _changed_things(content: Content) -> list[ObjectReference]:
    return [*(write.thing for write in content.writes), *(change.thing for change in content.changes)]


def _named_by(facts: QueryFacts, datasets: Datasets, settings: OpenLineageSettings) -> Iterator[bool]:
    for change in facts.content.changes:
        if change.new_name is not None and change.thing.kind in KINDS:
            new = datasets[change.thing.key, change.new_name, change.thing.account]
            yield is_named(new.name, settings.helpers)


@dataclass
class _Query:
    """A query. ``helpers``: the helpers that it names, by object key."""

    facts: QueryFacts
    datasets: Datasets
    settings: OpenLineageSettings
    uses: DatasetUses
    helpers: dict[str, ObjectReference]

    def __post_init__(self) -> None:
        self.reads = _read_things(self.facts.content)
        self.several = {*self._shared(self.reads), *self._shared(_changed_things(self.facts.content))}

    def _shared(self, things: list[ObjectReference]) -> Iterator[Ref]:
        """The objects of which the query reads, or writes, several under one name: it cannot be known which is which.
        CREATE OR REPLACE of a table from itself reads one and writes the other.
        """
        by_name: dict[DatasetName, set[Ref]] = {}
        for ref in {self._ref(thing) for thing in things}:
            if has_id(ref):
                by_name.setdefault(ref[:2], set()).add(ref)
        yield from (ref for refs in by_name.values() if len(refs) > 1 for ref in refs)

    def step(self) -> tuple[HelperStep, list[Mark]]:
        facts = self.facts
        read = self._known(self.reads)
        fills = list(self._fills())
        made = HelperStep(
            facts.query_id,
            facts.start,
            max(facts.start, facts.end),
            read,
            sorted(self._created(), key=lambda created: created.ref),
            fills,
            self._known(change.thing for change in facts.content.changes),
            self._known(dropped(facts)),
            sorted(self._moved()),
            self._facets(fills),
            list(self._columns()),
        )
        return made, sorted(set(self._marks(made)))

    def _ref(self, thing: ObjectReference) -> Ref:
        return (*_identity(dataset_of(thing, self.datasets)), thing.key)

    def _known(self, things: Iterable[ObjectReference]) -> list[Ref]:
        """The helpers among the things, one for each name: a row may give the id in one place and not in another."""
        refs = sorted({self._ref(thing) for thing in things if thing.key in self.helpers} - self.several)
        with_id = {ref[:2] for ref in refs if has_id(ref)}
        return [ref for ref in refs if has_id(ref) or ref[:2] not in with_id]

    def _created(self) -> Iterator[Created]:
        facts = self.facts
        for thing in created(facts):
            if thing.key in self.helpers:
                dataset = dataset_of(thing, self.datasets)
                is_sure = facts.history.is_temporary or is_named(dataset.name, self.settings.helpers)
                windows = dataset.signs.windows if dataset.signs else ()
                window = next((window.start for window in windows if window.start == facts.start), -1)
                yield Created((*_identity(dataset), thing.key), thing.kind == "view", is_sure, window)

    def _fills(self) -> Iterator[Fill]:
        uses = self.uses
        filled = {ref[:2]: ref for ref in self._known(write.thing for write in self.facts.content.writes)}
        for output in uses.outputs:
            if output.name in filled:
                sources = sorted(set(uses.sources_of(output)))
                adds = any(write.columns for write in output.writes)
                inputs = uses.made_from(sources) if adds else []
                yield Fill(filled[output.name], sources, inputs, adds, self.facts.content.truncates)

    def _columns(self) -> Iterator[ColumnChange]:
        content, by_key = self.facts.content, effects(self.facts.content)
        cut = {thing.key for thing in cut_alters(content)}
        for ref in self._known(change.thing for change in content.changes):
            keys = {thing.key for thing in _changed_things(content) if self._ref(thing)[:2] == ref[:2]}
            dataset_effects = [by_key[key] for key in sorted(keys & by_key.keys()) if not by_key[key].creates]
            renamed = {names for effect in dataset_effects for names in effect.renamed}
            gone = {column for effect in dataset_effects for column in effect.lost}
            gone |= {column for effect in dataset_effects for column, is_new in effect.written.items() if is_new}
            gone -= {new for _, new in renamed}
            if renamed or gone or keys & cut:
                yield ColumnChange(ref, sorted(renamed), sorted(gone), not keys.isdisjoint(cut))

    def _moved(self) -> Iterator[tuple[Ref, Ref, bool]]:
        for change in self.facts.content.changes:
            if change.thing.kind not in KINDS:
                continue
            key = change.thing.key
            if change.new_name is not None:
                new_dataset = self.datasets[key, change.new_name, change.thing.account]
            elif change.swap_key is not None and change.swap_name is not None:
                new_dataset = self.datasets[change.swap_key, change.swap_name, None]
            else:  # nothing, or what is no object (``$SYS_VIEW_7``)
                continue
            yield (
                self._ref(change.thing),
                (*_identity(new_dataset), key),
                is_named(new_dataset.name, self.settings.helpers),
            )

    def _facets(self, fills: list[Fill]) -> list[tuple[str, str, bytes]]:
        wanted = {name for fill in fills for name in fill.inputs}
        read = [dataset_of(thing, self.datasets) for thing in self.reads]
        facets = {_identity(dataset): dataset.facets for dataset in read if _identity(dataset) in wanted}
        return [(*name, facets[name]) for name in sorted(facets)]

    def _marks(self, step: HelperStep) -> Iterator[Mark]:
        content, day = self.facts.content, step.end // DAY
        unclear_refs = {self._ref(thing) for thing in unclear(self.facts) if thing.key in self.helpers} | self.several
        has_base = any(access.access == "BASE" for access in content.accesses)
        if not has_base or any(text.startswith("base_objects_accessed") for text in content.incomplete):
            views = [
                access.thing
                for access in content.accesses
                if access.thing.key in self.helpers and access.thing.kind == "view"
            ]
            unclear_refs |= set(map(self._ref, views))
        for fill in step.fills:
            if max(len(fill.sources), len(fill.inputs)) > MOST_SOURCES:
                unclear_refs.add(fill.ref)
        yield from ((UNCLEAR, ref, day) for ref in unclear_refs)
        yield from ((NAMED, ref, day) for ref in (*step.read, *(fill.ref for fill in step.fills)))
        yield from self._of_names(step)
        if step.start // DAY == step.end // DAY:
            yield from self._of_windows(step)

    def _of_names(self, step: HelperStep) -> Iterator[Mark]:
        session = self.facts.history.session_id or ""
        yield from (
            (f"{MADE}{session}", helper.ref, step.end)
            for helper in step.created
            if not (has_id(helper.ref) or helper.is_view)
        )
        yield from ((GONE, ref, step.end) for ref in step.dropped if not has_id(ref))

    def _of_windows(self, step: HelperStep) -> Iterator[Mark]:
        """Which windows the query uses, and whether it is of the window's own session or request."""
        facts, filled = self.facts, {fill.ref for fill in step.fills if fill.adds}
        for thing in self.helpers.values():
            dataset = dataset_of(thing, self.datasets)
            ref = (*_identity(dataset), thing.key)
            for window in dataset.signs.windows if dataset.signs else ():
                if not window.start <= facts.start <= window.end:
                    continue
                is_own = window.session and window.session == facts.history.session_id
                if not is_own and not (window.request and window.request == request_of(facts)):
                    yield STRANGE, ref, window.start
                if ref in step.read:
                    yield READ, ref, window.start
                if ref in filled:
                    yield FILLED, ref, window.start


def _identity(dataset: Dataset) -> DatasetName:
    return dataset.namespace, dataset.name


def has_id(ref: Ref) -> bool:
    """Whether the row gave the object's id (:mod:`exporter.model.facts`, "key")."""
    return not ref[2].split("/", 1)[-1].startswith("name/")
