"""Follow what helpers hold, so that events show where data came from and where it went, as if there were no helpers.

:func:`step_of` is what one query does to helpers. :class:`Helpers` receives the steps of an account in the order of
their ends, and says for each query which helpers its event leaves out, and what it has in their place (a
:class:`exporter.model.answers.Bridge`).

A helper is bridged from its CREATE or REPLACE on record to its DROP, RENAME or SWAP. Each query that fills it adds the
sources of its columns; a query that reads it gets those that were there at its start. If the row of a query that fills
a helper does not say from what (:func:`exporter.openlineage.helpers.unclear`), the helper is an ordinary dataset on
that day and until it is created again: outputs and inputs have it, so that no chain is lost. What it held before from
known sources is added to what its readers read. Days are those of UTC on which queries end, so that an update, which
knows no later day, makes the same events.

What a helper held is kept by object: sessions may each have a temporary table of one name at the same time. Only where
a row gives no id, the name decides; if it could be several objects, none is bridged.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct, field
from msgspec.structs import replace

from exporter.model.answers import Bridge, ColumnSource, HelperContent
from exporter.openlineage.helpers import (
    DAY,
    KINDS,
    MOST_SOURCES,
    created,
    dropped,
    is_candidate,
    is_named,
    request_of,
    unclear,
)
from exporter.openlineage.inputs_and_outputs import ReadFromHelpers, dataset_of, dataset_uses, resolved, with_base

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from exporter.model.answers import Dataset
    from exporter.model.facts import Content, QueryFacts, Thing
    from exporter.openlineage.inputs_and_outputs import Datasets, DatasetUses
    from exporter.openlineage.naming import DatasetName
    from exporter.openlineage.settings import OpenLineageSettings

KEPT: Final = 2 * DAY
"""How long a former state of a helper is kept for queries that started when it was in force."""
KEPT_BESIDE: Final = 7 * DAY
"""How long after its last change a helper is followed if another object of its name was changed since. CREATE OR
REPLACE gives a new id and has no row of a DROP, and neither has the end of a session that had a temporary table.
"""
MOST_HELPERS: Final = 10_000
"""Most helpers of an account that are followed at a time; beyond, the one that was changed longest ago is forgotten."""
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
    """A helper that the query writes: the sources of its columns, and the datasets that it is made from, by name. Both
    may be helpers. ``adds``: False for a query that only deletes; ``empties``: what was there before is gone.
    """

    ref: Ref
    columns: dict[str, list[ColumnSource]]
    inputs: list[tuple[str, str]]
    adds: bool
    empties: bool


class Step(Struct, array_like=True, frozen=True, gc=False):
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


# --- a query ----------------------------------------------------------------------------------------------------------


def step_of(facts: QueryFacts, datasets: Datasets, settings: OpenLineageSettings) -> tuple[Step, list[Mark]] | None:
    """What the query does to helpers, and its marks; None if it has to do with none."""
    content = facts.content
    found = {
        thing.key: thing
        for thing in (*_read_things(content), *_changed_things(content))
        if is_candidate(thing, dataset_of(thing, datasets), facts.start, settings)
    }
    if not found and not any(_named_by(facts, datasets, settings)):
        return None
    uses = dataset_uses(content, datasets, with_base(settings))
    return _Query(facts, datasets, settings, uses, found).step()


def _read_things(content: Content) -> list[Thing]:
    return [
        *(access.thing for access in content.accesses),
        *(derivation.source for derivation in content.derivations),
    ]


def _changed_things(content: Content) -> list[Thing]:
    return [*(write.thing for write in content.writes), *(change.thing for change in content.changes)]


def _named_by(facts: QueryFacts, datasets: Datasets, settings: OpenLineageSettings) -> Iterator[bool]:
    for change in facts.content.changes:
        if change.new_name is not None and change.thing.kind in KINDS:
            new = datasets[change.thing.key, change.new_name, change.thing.account]
            yield is_named(new.name, settings.helpers)


class _Query:
    """A query. ``found``: the helpers that it names, by object key."""

    def __init__(
        self,
        facts: QueryFacts,
        datasets: Datasets,
        settings: OpenLineageSettings,
        uses: DatasetUses,
        found: dict[str, Thing],
    ) -> None:
        self._facts, self._datasets, self._settings = facts, datasets, settings
        self._uses, self._found = uses, found
        self._reads = _read_things(facts.content)
        self._several = {*self._shared(self._reads), *self._shared(_changed_things(facts.content))}

    def _shared(self, things: list[Thing]) -> Iterator[Ref]:
        """The objects of which the query reads, or writes, several under one name: it cannot be known which is which.
        CREATE OR REPLACE of a table from itself reads one and writes the other.
        """
        by_name: dict[DatasetName, set[Ref]] = {}
        for ref in {self._ref(thing) for thing in things}:
            if _has_id(ref):
                by_name.setdefault(ref[:2], set()).add(ref)
        yield from (ref for each in by_name.values() if len(each) > 1 for ref in each)

    def step(self) -> tuple[Step, list[Mark]]:
        facts = self._facts
        read = self._known(self._reads)
        fills = list(self._fills())
        made = Step(
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
        )
        return made, sorted(set(self._marks(made)))

    def _ref(self, thing: Thing) -> Ref:
        return (*_identity(dataset_of(thing, self._datasets)), thing.key)

    def _known(self, things: Iterable[Thing]) -> list[Ref]:
        """The helpers among the things, one for each name: a row may give the id in one place and not in another."""
        refs = sorted({self._ref(thing) for thing in things if thing.key in self._found} - self._several)
        with_id = {ref[:2] for ref in refs if _has_id(ref)}
        return [ref for ref in refs if _has_id(ref) or ref[:2] not in with_id]

    def _created(self) -> Iterator[Created]:
        facts = self._facts
        for thing in created(facts):
            if thing.key in self._found:
                dataset = dataset_of(thing, self._datasets)
                is_sure = facts.history.is_temporary or is_named(dataset.name, self._settings.helpers)
                windows = dataset.signs.windows if dataset.signs else ()
                window = next((window.start for window in windows if window.start == facts.start), -1)
                yield Created((*_identity(dataset), thing.key), thing.kind == "view", is_sure, window)

    def _fills(self) -> Iterator[Fill]:
        uses = self._uses
        filled = {ref[:2]: ref for ref in self._known(write.thing for write in self._facts.content.writes)}
        for output in uses.outputs:
            if output.name in filled:
                columns: dict[str, list[ColumnSource]] = {}
                for key in output.keys:
                    for column, namespace, name, source, is_base in uses.sources.get(key, ()):
                        columns.setdefault(column, []).append((namespace, name, source, is_base))
                sources = {origin[:2] for each in columns.values() for origin in each}
                inputs = uses.input_names() if len(uses.outputs) == 1 or not sources else sorted(sources)
                adds = any(write.columns for write in output.writes)
                by_column = {column: sorted(set(columns[column])) for column in sorted(columns)}
                empties = self._facts.content.truncates
                yield Fill(filled[output.name], by_column, inputs if adds else [], adds, empties)

    def _moved(self) -> Iterator[tuple[Ref, Ref, bool]]:
        for change in self._facts.content.changes:
            if change.thing.kind not in KINDS:
                continue
            key = change.thing.key
            if change.new_name is not None:
                to = self._datasets[key, change.new_name, change.thing.account]
            elif change.swap_key is not None and change.swap_name is not None:
                to = self._datasets[change.swap_key, change.swap_name, None]
            else:  # nothing, or what is no object (``$SYS_VIEW_7``)
                continue
            yield self._ref(change.thing), (*_identity(to), key), is_named(to.name, self._settings.helpers)

    def _facets(self, fills: list[Fill]) -> list[tuple[str, str, bytes]]:
        wanted = {name for fill in fills for name in fill.inputs}
        read = [dataset_of(thing, self._datasets) for thing in self._reads]
        facets = {_identity(dataset): dataset.facets for dataset in read if _identity(dataset) in wanted}
        return [(*name, facets[name]) for name in sorted(facets)]

    def _marks(self, step: Step) -> Iterator[Mark]:
        facts = self._facts
        for thing in unclear(facts):
            if thing.key in self._found:
                yield UNCLEAR, self._ref(thing), step.end // DAY
        for ref in self._several:
            yield UNCLEAR, ref, step.end // DAY
        for ref in (*step.read, *(fill.ref for fill in step.fills)):
            yield NAMED, ref, step.end // DAY
        has_base = any(one.access == "BASE" for one in facts.content.accesses)
        is_cut = any(text.startswith("base_objects_accessed") for text in facts.content.incomplete)
        for access in facts.content.accesses:
            if access.thing.key in self._found and access.thing.kind == "view" and (is_cut or not has_base):
                yield UNCLEAR, self._ref(access.thing), step.end // DAY
        for fill in step.fills:
            if sum(map(len, fill.columns.values())) > MOST_SOURCES or len(fill.inputs) > MOST_SOURCES:
                yield UNCLEAR, fill.ref, step.end // DAY
        yield from self._of_names(step)
        if step.start // DAY == step.end // DAY:
            yield from self._of_windows(step)

    def _of_names(self, step: Step) -> Iterator[Mark]:
        session = self._facts.history.session_id or ""
        yield from (
            (f"{MADE}{session}", one.ref, step.end) for one in step.created if not (_has_id(one.ref) or one.is_view)
        )
        yield from ((GONE, ref, step.end) for ref in step.dropped if not _has_id(ref))

    def _of_windows(self, step: Step) -> Iterator[Mark]:
        """Which windows the query uses, and whether it is of the window's own session or request."""
        facts, filled = self._facts, {fill.ref for fill in step.fills if fill.adds}
        for thing in self._found.values():
            dataset = dataset_of(thing, self._datasets)
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


def _has_id(ref: Ref) -> bool:
    """Whether the row gave the object's id (:mod:`exporter.model.facts`, "key")."""
    return not ref[2].split("/", 1)[-1].startswith("name/")


# --- the helpers of an account ----------------------------------------------------------------------------------------


class HelperState(Struct, array_like=True, frozen=True, gc=False):
    """What an object is. ``kind``: ``table`` or ``view``, which are followed; ``other``: a table that only got the
    name of a helper, with data that no fill on record brought. ``is_plain``: it is an ordinary dataset.
    """

    kind: str
    content: HelperContent = HelperContent()
    is_plain: bool = False


Version = tuple[int, str, HelperState | None]
"""When a state began (microseconds since 1970), by which query; None: dropped."""


class SavedHelpers(Struct, array_like=True, gc=False):
    """The states of all helpers of an account, for the next day; in the order in which they changed."""

    helpers: list[tuple[Ref, list[Version]]] = field(default_factory=list)


class Helpers:
    """The helpers of an account, by object. Pass all marks, then the steps in the order of their ends."""

    def __init__(self, before: SavedHelpers, marks: Iterable[Mark]) -> None:
        self._states: dict[Ref, list[Version]] = dict(before.helpers)
        self._named: dict[DatasetName, set[Ref]] = {}
        for ref in self._states:
            self._named.setdefault(ref[:2], set()).add(ref)
        self._marks = frozenset(marks)
        self._several = _several(self._marks) | _made_twice(self._marks)
        self._day = -1

    def kept(self) -> SavedHelpers:
        """The states for the next day."""
        return SavedHelpers(list(self._states.items()))

    def _forget_old(self, day: int) -> None:
        """Forget what was dropped long ago, or has long been beside another object of its name."""
        if day == self._day:
            return
        self._day, since = day, day * DAY - KEPT
        newest = {ref[:2]: ref for ref in self._states}
        for ref, each in list(self._states.items()):
            if each[-1][2] is None:
                is_over = each[-1][0] < since
            else:
                is_over = newest[ref[:2]] != ref and each[-1][0] < day * DAY - KEPT_BESIDE
            if is_over:
                self._forget(ref)

    def bridge(self, step: Step) -> Bridge:
        """What the event of the query says in place of helpers; and the helpers after it."""
        self._forget_old(step.end // DAY)
        read, views = self._read(step)
        from_helpers = ReadFromHelpers(Bridge(read, sorted(views)))
        for one in step.created:
            self._create(one, step)
        hidden = {fill.ref[:2] for fill in step.fills if self._fill(fill, step, from_helpers)}
        filled = {fill.ref for fill in step.fills}
        hidden |= {ref[:2] for ref in step.changed if ref not in filled and self._is_followed(ref)}
        moved = self._move(step, hidden)
        for ref in step.dropped:
            self._set(self._meant(ref), step, None)
        return Bridge(read, sorted(views), sorted(hidden), moved)

    def _read(self, step: Step) -> tuple[list[tuple[str, str, HelperContent, bool]], set[DatasetName]]:
        read: list[tuple[str, str, HelperContent, bool]] = []
        views: set[DatasetName] = set()
        for ref in step.read:
            state = self._at(ref, step)
            if state is None or state.kind == "other":
                continue
            is_plain = state.is_plain or self._is_unclear(ref, step)
            if state.kind == "table" and (not is_plain or state.content.inputs):
                read.append((*ref[:2], state.content, not is_plain))
            elif state.kind == "view" and not is_plain:
                views.add(ref[:2])
        return read, views

    def _create(self, created: Created, step: Step) -> None:
        window = created.ref, created.window
        qualifies = (READ, *window) in self._marks and (FILLED, *window) in self._marks
        if created.is_sure or (qualifies and (STRANGE, *window) not in self._marks):
            kind = "view" if created.is_view else "table"
            self._set(created.ref, step, HelperState(kind, is_plain=self._is_unclear(created.ref, step)))
        elif created.ref in self._states:
            self._set(created.ref, step, None)

    def _fill(self, fill: Fill, step: Step, from_helpers: ReadFromHelpers) -> bool:
        """Add what the query writes. Returns whether the helper is no output of it."""
        state = self._now(fill.ref)
        if state is None or state.kind != "table":
            return False
        content = HelperContent() if fill.empties else state.content
        if not state.is_plain:
            content = _together(content, _content(fill, step, from_helpers))
        is_plain = state.is_plain or self._is_unclear(fill.ref, step) or _size(content) > MOST_SOURCES
        kept = content if not is_plain or fill.empties else state.content
        self._set(self._meant(fill.ref), step, HelperState(state.kind, kept, is_plain))
        return not is_plain

    def _move(self, step: Step, hidden: set[DatasetName]) -> list[tuple[str, str, HelperContent]]:
        """Move tables to their new names. What a helper held has arrived where its new name is none of a helper."""
        before = [(self._meant(ref), self._now(ref)) for ref, _, _ in step.moved]
        former = {ref[:2]: state for (ref, _, _), (_, state) in zip(step.moved, before, strict=True)}
        arrived = []
        for ref, _ in before:
            self._set(ref, step, None)
        for (_, to, is_helper), (_, state) in zip(step.moved, before, strict=True):
            name = to[:2]
            if is_helper:
                is_plain = any(
                    helper_state is not None and helper_state.is_plain for helper_state in (state, former.get(name))
                )
                self._set(to, step, replace(state or HelperState("other"), is_plain=is_plain))
                hidden.discard(name) if is_plain else hidden.add(name)
            elif state is not None and state.kind == "table" and state.content.inputs:
                arrived.append((*name, state.content))
        return sorted(arrived)

    # --- states ------------------------------------------------------------------------------------------------------

    def _meant(self, ref: Ref) -> Ref | None:
        """The object that a row names. Where the row, or that of the CREATE, gives no id, the name decides; None if it
        could be several.
        """
        has_id = _has_id(ref)
        if has_id and ref in self._states:
            return ref
        others = [
            other
            for other in self._named.get(ref[:2], ())
            if self._states[other][-1][2] is not None and not (has_id and _has_id(other))
        ]
        if len(others) > 1:
            return None
        return others[0] if others else ref

    def _is_followed(self, ref: Ref) -> bool:
        state = self._now(ref)
        return state is not None and not state.is_plain

    def _is_unclear(self, ref: Ref, step: Step) -> bool:
        day = step.end // DAY
        meant = self._meant(ref) or ref
        return (ref[:2], day) in self._several or not {(UNCLEAR, ref, day), (UNCLEAR, meant, day)}.isdisjoint(
            self._marks
        )

    def _now(self, ref: Ref) -> HelperState | None:
        meant = self._meant(ref)
        return self._states[meant][-1][2] if meant in self._states else None

    def _at(self, ref: Ref, step: Step) -> HelperState | None:
        """The state at the start of the query."""
        meant = self._meant(ref)
        each = self._states.get(meant, ()) if meant is not None else ()
        return next((state for at, by, state in reversed(each) if (at, by) < (step.start, step.query_id)), None)

    def _set(self, ref: Ref | None, step: Step, state: HelperState | None) -> None:
        if ref is None or (state is None and ref not in self._states):
            return
        each = self._states.pop(ref, [])
        while len(each) > 1 and each[1][0] < step.end - KEPT:
            del each[0]
        self._states[ref] = [*each, (step.end, step.query_id, state)]
        self._named.setdefault(ref[:2], set()).add(ref)
        if len(self._states) > MOST_HELPERS:
            self._forget(next(iter(self._states)))

    def _forget(self, ref: Ref) -> None:
        del self._states[ref]
        self._named[ref[:2]].discard(ref)
        if not self._named[ref[:2]]:
            del self._named[ref[:2]]


def _several(marks: Iterable[Mark]) -> set[tuple[DatasetName, int]]:
    """The names that, on that day, queries use without an id while several objects have them. These are ordinary
    datasets then, so that no chain is lost.
    """
    refs: dict[tuple[DatasetName, int], set[Ref]] = {}
    for what, ref, day in marks:
        if what == NAMED:
            refs.setdefault((ref[:2], day), set()).add(ref)
    return {one for one, each in refs.items() if 1 < sum(map(_has_id, each)) < len(each)}


def _made_twice(marks: Iterable[Mark]) -> set[tuple[DatasetName, int]]:
    """The names that, on that day, two sessions give to a table without an id, and no DROP is between: temporary tables
    may be beside each other, and nothing tells which of them a query uses. Sessions that are not known may be two.
    """
    twice: set[tuple[DatasetName, int]] = set()
    before: dict[Ref, tuple[str, int]] = {}
    for at, what, ref in sorted((at, what, ref) for what, ref, at in marks if what == GONE or what.startswith(MADE)):
        known = before.pop(ref, None)
        if what == GONE:
            continue
        before[ref] = what, at // DAY
        if known is not None and (known[0] != what or what == MADE) and known[1] == at // DAY:
            twice.add((ref[:2], at // DAY))
    return twice


def _content(fill: Fill, step: Step, from_helpers: ReadFromHelpers) -> HelperContent:
    """What a fill brings: its sources, with what helpers held in the place of helpers."""
    facets = {(namespace, name): text for namespace, name, text in step.facets}
    inputs = {name: facets.get(name, b"{}") for name in fill.inputs if name not in from_helpers.hidden}
    for name in fill.inputs:
        for namespace, source, text in from_helpers.contents[name].inputs if name in from_helpers.contents else ():
            inputs.setdefault((namespace, source), text)
    columns = {column: sorted(set(resolved(each, from_helpers))) for column, each in fill.columns.items()}
    return HelperContent(columns, [(*name, inputs[name]) for name in sorted(inputs)])


def _together(content: HelperContent, other: HelperContent) -> HelperContent:
    columns = {
        column: sorted({*content.columns.get(column, ()), *other.columns.get(column, ())})
        for column in sorted({*content.columns, *other.columns})
    }
    inputs = {(namespace, name): text for namespace, name, text in (*content.inputs, *other.inputs)}
    return HelperContent(columns, [(*name, inputs[name]) for name in sorted(inputs)])


def _size(content: HelperContent) -> int:
    return max(sum(map(len, content.columns.values())), len(content.inputs))
