"""Follow what helpers hold, so that events show where data came from and where it went, as if there were no helpers.

:class:`Helpers` receives the steps of an account (:mod:`exporter.openlineage.helper_steps`) in the order of their ends,
and says for each query which helpers its event leaves out, and what it has in their place (a
:class:`exporter.model.answers.Bridge`).

A helper is bridged from its CREATE or REPLACE on record to its DROP, RENAME or SWAP. Each query that fills it adds the
sources of its columns; a query that reads it gets those that were there at its start. A column that is renamed keeps
its sources; one that is dropped, or added, has none. If the row of a query that fills a helper does not say from what
(:func:`exporter.openlineage.helpers.unclear`), the helper is an ordinary dataset on that day and until it is created
again: outputs and inputs have it, so that no chain is lost. What it held before from known sources is added to what its
readers read. Days are those of UTC on which queries end, so that an update, which knows no later day, makes the same
events.

What a helper held is kept by object: sessions may each have a temporary table of one name at the same time. Only where
a row gives no id, the name decides; if it could be several objects, none is bridged.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from operator import itemgetter
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from exporter.model.answers import Bridge, HelperContent
from exporter.openlineage.helper_steps import (
    FILLED,
    GONE,
    MADE,
    NAMED,
    READ,
    STRANGE,
    UNCLEAR,
    ColumnChange,
    Created,
    Fill,
    HelperStep,
    Mark,
    Ref,
    has_id,
)
from exporter.openlineage.helpers import DAY, MOST_SOURCES
from exporter.openlineage.inputs_and_outputs import ReadFromHelpers, resolved
from exporter.openlineage.naming import DatasetName

KEPT: Final = 2 * DAY
"""How long a former state of a helper is kept for queries that started when it was in force."""
KEPT_BESIDE: Final = 7 * DAY
"""How long after its last change a helper is followed if another object of its name was changed since. CREATE OR
REPLACE gives a new id and has no row of a DROP, and neither has the end of a session that had a temporary table.
"""
MOST_HELPERS: Final = 10_000
"""Most helpers of an account that are followed at a time; beyond, the one that was changed longest ago is forgotten."""


class HelperState(Struct, array_like=True, frozen=True, gc=False):
    """What an object is. ``kind``: ``table`` or ``view``, which are followed; ``other``: a table that only got the
    name of a helper, with data that no fill on record brought. ``is_plain``: it is an ordinary dataset. ``is_filled``:
    a query on record wrote into it.
    """

    kind: str
    content: HelperContent = HelperContent()
    is_plain: bool = False
    is_filled: bool = False


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
        for ref, states in list(self._states.items()):
            if states[-1][2] is None:
                is_over = states[-1][0] < since
            else:
                is_over = newest[ref[:2]] != ref and states[-1][0] < day * DAY - KEPT_BESIDE
            if is_over:
                self._forget(ref)

    def bridge(self, step: HelperStep) -> Bridge:
        """What the event of the query says in place of helpers; and the helpers after it."""
        self._forget_old(step.end // DAY)
        read, views = self._read(step)
        from_helpers = ReadFromHelpers(Bridge(read, sorted(views)))
        for helper in step.created:
            self._create(helper, step)
        for change in step.columns:  # before fills: a query that adds a column may fill it
            self._change_columns(change, step)
        hidden = {fill.ref[:2] for fill in step.fills if self._fill(fill, step, from_helpers)}
        filled = {fill.ref for fill in step.fills}
        hidden |= {ref[:2] for ref in step.changed if ref not in filled and self._is_followed(ref)}
        moved = self._move(step, hidden)
        for ref in step.dropped:
            self._set(self._meant(ref), step, None)
        return Bridge(read, sorted(views), sorted(hidden), moved)

    def _read(self, step: HelperStep) -> tuple[list[tuple[str, str, HelperContent, bool]], set[DatasetName]]:
        read: list[tuple[str, str, HelperContent, bool]] = []
        views: set[DatasetName] = set()
        for ref in step.read:
            state = self._at(ref, step)
            if state is None or state.kind == "other":
                continue
            is_empty = state.kind == "table" and not (state.is_filled or state.content.inputs)
            is_plain = state.is_plain or is_empty or self._is_unclear(ref, step)
            if state.kind == "table" and (not is_plain or state.content.inputs):
                read.append((*ref[:2], state.content, not is_plain))
            elif state.kind == "view" and not is_plain:
                views.add(ref[:2])
        return read, views

    def _create(self, created: Created, step: HelperStep) -> None:
        window = created.ref, created.window
        qualifies = (READ, *window) in self._marks and (FILLED, *window) in self._marks
        if created.is_sure or (qualifies and (STRANGE, *window) not in self._marks):
            kind = "view" if created.is_view else "table"
            self._set(created.ref, step, HelperState(kind, is_plain=self._is_unclear(created.ref, step)))
        elif created.ref in self._states:
            self._set(created.ref, step, None)

    def _fill(self, fill: Fill, step: HelperStep, from_helpers: ReadFromHelpers) -> bool:
        """Add what the query writes. Returns whether the helper is no output of it."""
        state = self._now(fill.ref)
        if state is None or state.kind != "table":
            return False
        content = HelperContent() if fill.empties else state.content
        if not state.is_plain:
            content = _merged(content, _content(fill, step, from_helpers))
        is_plain = state.is_plain or self._is_unclear(fill.ref, step) or _size(content) > MOST_SOURCES
        kept = content if not is_plain or fill.empties else state.content
        is_filled = state.is_filled or fill.adds
        self._set(self._meant(fill.ref), step, HelperState(state.kind, kept, is_plain, is_filled))
        return not is_plain

    def _change_columns(self, change: ColumnChange, step: HelperStep) -> None:
        state = self._now(change.ref)
        if state is not None and state.kind == "table":
            content = _with_columns(state.content, change)
            changed = replace(state, content=content, is_plain=state.is_plain or change.is_cut)
            if changed != state:
                self._set(self._meant(change.ref), step, changed)

    def _move(self, step: HelperStep, hidden: set[DatasetName]) -> list[tuple[str, str, HelperContent]]:
        """Move tables to their new names. What a helper held has arrived where its new name is none of a helper."""
        before = [(self._meant(ref), self._now(ref)) for ref, _, _ in step.moved]
        former = {ref[:2]: state for (ref, _, _), (_, state) in zip(step.moved, before, strict=True)}
        arrived = []
        for ref, _ in before:
            self._set(ref, step, None)
        for (_, new_ref, is_helper), (_, state) in zip(step.moved, before, strict=True):
            name = new_ref[:2]
            if is_helper:
                is_plain = any(
                    helper_state is not None and helper_state.is_plain for helper_state in (state, former.get(name))
                )
                self._set(new_ref, step, replace(state or HelperState("other"), is_plain=is_plain))
                hidden.discard(name) if is_plain else hidden.add(name)
            elif state is not None and state.kind == "table" and state.content.inputs:
                arrived.append((*name, state.content))
        return sorted(arrived)

    # --- states ------------------------------------------------------------------------------------------------------

    def _meant(self, ref: Ref) -> Ref | None:
        """The object that a row names. Where the row, or that of the CREATE, gives no id, the name decides; None if it
        could be several.
        """
        knows_id = has_id(ref)
        if knows_id and ref in self._states:
            return ref
        same_name = [
            other
            for other in self._named.get(ref[:2], ())
            if self._states[other][-1][2] is not None and not (knows_id and has_id(other))
        ]
        if len(same_name) > 1:
            return None
        return same_name[0] if same_name else ref

    def _is_followed(self, ref: Ref) -> bool:
        state = self._now(ref)
        return state is not None and not state.is_plain

    def _is_unclear(self, ref: Ref, step: HelperStep) -> bool:
        day = step.end // DAY
        meant = self._meant(ref) or ref
        return (ref[:2], day) in self._several or not {(UNCLEAR, ref, day), (UNCLEAR, meant, day)}.isdisjoint(
            self._marks
        )

    def _now(self, ref: Ref) -> HelperState | None:
        meant = self._meant(ref)
        return self._states[meant][-1][2] if meant in self._states else None

    def _at(self, ref: Ref, step: HelperStep) -> HelperState | None:
        """The state at the start of the query."""
        meant = self._meant(ref)
        states = self._states.get(meant, ()) if meant is not None else ()
        return next((state for at, by, state in reversed(states) if (at, by) < (step.start, step.query_id)), None)

    def _set(self, ref: Ref | None, step: HelperStep, state: HelperState | None) -> None:
        if ref is None or (state is None and ref not in self._states):
            return
        states = self._states.pop(ref, [])
        while len(states) > 1 and states[1][0] < step.end - KEPT:
            del states[0]
        self._states[ref] = [*states, (step.end, step.query_id, state)]
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
    for kind, ref, day in marks:
        if kind == NAMED:
            refs.setdefault((ref[:2], day), set()).add(ref)
    return {name_and_day for name_and_day, of_name in refs.items() if 1 < sum(map(has_id, of_name)) < len(of_name)}


def _made_twice(marks: Iterable[Mark]) -> set[tuple[DatasetName, int]]:
    """The names that, on that day, two sessions give to a table without an id, and no DROP is between: temporary tables
    may be beside each other, and nothing tells which of them a query uses. Sessions that are not known may be two.
    """
    twice: set[tuple[DatasetName, int]] = set()
    before: dict[Ref, tuple[str, int]] = {}
    for at, kind, ref in sorted((at, kind, ref) for kind, ref, at in marks if kind == GONE or kind.startswith(MADE)):
        known = before.pop(ref, None)
        if kind == GONE:
            continue
        before[ref] = kind, at // DAY
        if known is not None and (known[0] != kind or kind == MADE) and known[1] == at // DAY:
            twice.add((ref[:2], at // DAY))
    return twice


def _content(fill: Fill, step: HelperStep, from_helpers: ReadFromHelpers) -> HelperContent:
    """What a fill brings: its sources, with what helpers held in the place of helpers."""
    facets = {(namespace, name): text for namespace, name, text in step.facets}
    inputs = {name: facets.get(name, b"{}") for name in fill.inputs if name not in from_helpers.hidden}
    for name in fill.inputs:
        for namespace, source, text in from_helpers.contents[name].inputs if name in from_helpers.contents else ():
            inputs.setdefault((namespace, source), text)
    edges = groupby(resolved(fill.sources, from_helpers), itemgetter(0))
    columns = {column: [edge[1:] for edge in group] for column, group in edges}
    return HelperContent(columns, [(*name, inputs[name]) for name in sorted(inputs)])


def _merged(content: HelperContent, other: HelperContent) -> HelperContent:
    columns = {
        column: sorted({*content.columns.get(column, ()), *other.columns.get(column, ())})
        for column in sorted({*content.columns, *other.columns})
    }
    inputs = {(namespace, name): text for namespace, name, text in (*content.inputs, *other.inputs)}
    return HelperContent(columns, [(*name, inputs[name]) for name in sorted(inputs)])


def _with_columns(content: HelperContent, change: ColumnChange) -> HelperContent:
    """What the helper holds after its columns changed. Nothing is known of any column if it is not known of which."""
    if change.is_cut:
        return HelperContent({}, content.inputs)
    columns, renamed = dict(content.columns), [(new, content.columns.get(former)) for former, new in change.renamed]
    for column in (*change.gone, *(name for names in change.renamed for name in names)):
        columns.pop(column, None)
    columns |= {new: sources for new, sources in renamed if sources}
    return HelperContent({column: columns[column] for column in sorted(columns)}, content.inputs)


def _size(content: HelperContent) -> int:
    return max(sum(map(len, content.columns.values())), len(content.inputs))
