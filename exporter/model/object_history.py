"""The version history of an object: it receives the uses of the object in order of time and answers the queries.

One PROV entity per table would be invalid: two writes would generate it twice, and an INSERT from a table into itself
would derive it from itself. So a query makes a new version of an object if it writes, creates, replaces or restores it,
or adds, drops or renames its columns by DDL. A read uses the latest version before its start, in the order of (time,
query id), so that there are no cycles. A version exists from the end of the query that made it, or from its start if
QUERY_HISTORY gives no end (PROV-CONSTRAINTS, 6.1). Reads count at the start of their query, changes at its end: a
query does not read what it writes itself.

A version that writes some columns leaves the others unchanged. So columns have their own versions, one for each version
of the object that wrote the column, in a chain that begins when the object is created.

The state of a version history is bounded by its object (its columns, names, settings), not by the number of uses.
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterable, Iterator

from msgspec import Struct
from msgspec.structs import replace

from exporter.model.answers import (
    CarriedSetting,
    Ending,
    SettingOfQuery,
    Tag,
    is_recorded,
    state_after_drop,
    state_before,
    state_made_by,
)
from exporter.model.clones import Copies, Copy, FirstStateOutcome, Inferred, Moment
from exporter.model.effects import HOLDERS, UseAtEnd, UseAtStart
from exporter.model.identifiers import canonical_name
from exporter.model.object_state import NEVER, Absence, Drop, NameHistory, ObjectHistory, Restored, SavedName, Take
from exporter.model.settings_in_force import (
    ContinuedSetting,
    Requester,
    SettingInForce,
    SettingOutcome,
    SettingsInForce,
)
from exporter.model.views import Definition, Sources


class ObjectAnswer(Struct, array_like=True, gc=False):
    """One answer of an object to a query, a part of :class:`exporter.model.answers.Answers`. ``chain``: how many
    chains of versions had ended before; it only shows whether two reads of a day used the same chain.
    """

    object_key: str
    state: str | None = None
    columns: dict[str, str] | None = None
    prior: str | None = None
    column_priors: dict[str, str] | None = None
    ending: Ending | None = None
    settings: list[tuple[SettingOfQuery, int]] | None = None
    chain: int = 0
    carried: list[CarriedSetting] | None = None
    tags: list[Tag] | None = None
    kept_masks: dict[str, list[str]] | None = None


class SavedHistory(Struct, array_like=True, gc=False):
    """The state of a version history: at the end of a day the next day continues from it.

    ``first``: the query that used the object first; the state before the record is named by it. ``made``: the query
    that made the version in force, None if it is dropped or not recorded. ``dropped``: the query that dropped it, if
    that was after the last version. ``lost``: columns that were dropped or renamed. ``taken``: who took its name after
    all that is known of it. ``passed``: time and query of the last use. ``restored``: the version in force, if the
    UNDROP of a schema or database made it on a day before. ``masks``: of columns, as queries enforced them.
    """

    first: str | None = None
    made: Requester | None = None
    dropped: str | None = None
    last_made: str | None = None
    last_created: str | None = None
    columns: dict[str, str] = {}
    held: list[SettingInForce] = []
    drops: list[Drop] = []
    drops_of_elements: dict[str, list[Drop]] = {}
    taken_elements: dict[str, Take] = {}
    unrecorded: dict[str, Ending | None] = {}
    unrecorded_columns: list[tuple[str, str]] = []
    names: list[SavedName] = []
    definitions: list[Definition] = []
    taken: Take | None = None
    moments: dict[str, Moment] = {}
    copies: list[Copy] = []
    lost: list[str] = []
    passed: tuple[int, str] = NEVER, ""
    created: int | None = None
    restored: Restored | None = None
    of_first: FirstStateOutcome = FirstStateOutcome()
    masks: dict[str, list[str]] = {}


class VersionHistory:
    """The version history of the object ``key``. Pass :class:`UseAtStart` and :class:`UseAtEnd` in order of time, then
    call :meth:`result`.
    """

    def __init__(self, key: str) -> None:
        self.key = key
        self._absences: list[Absence] = []
        self._restored: dict[str, Restored] = {}  # by query id: its versions that are new, or have ended, on this day
        kind, by_name, *_ = key.split("/", 2)
        # What is created is another object, also if its row gives the same id; COPY GRANTS is not recorded. A CREATE of
        # what holds no data can be one IF NOT EXISTS, as tools run it each night: only a REPLACE makes that anew.
        self._is_holder, self._is_by_name = kind in HOLDERS, by_name == "name"
        self._chain = 0  # increases when a new chain of versions begins, of the object or of a column
        self.continued(SavedHistory())

    def continued(self, before: SavedHistory) -> None:
        """Continue from the state at the end of the day before. To be called before any use."""
        self._now, self.passed = before, before.passed
        self._settings = SettingsInForce(
            before.held, before.drops, before.drops_of_elements, before.taken_elements, before.masks
        )
        self._unrecorded_columns, self._lost = set(before.unrecorded_columns), set(before.lost)
        self._names = NameHistory(before.names)
        self._sources = Sources(before.definitions, before.created)
        self.copies = Copies(before.moments, before.copies)

    def saved_history(self) -> SavedHistory:
        """The present state of the version history, from which :meth:`continued` continues."""
        now = self._now
        now.held, now.drops, now.drops_of_elements, now.taken_elements, now.masks = self._settings.kept()
        now.unrecorded_columns, now.lost = sorted(self._unrecorded_columns), sorted(self._lost)
        now.names, now.passed, now.restored = self._names.kept(), self.passed, self._restored_in_force()
        now.definitions, now.created = self._sources.definitions, self._sources.created
        now.moments, now.copies = self.copies.kept()
        return now

    # --- the start of a query -----------------------------------------------------------------------------------------

    def starts(
        self, requester: Requester, at: int, use_at_start: UseAtStart
    ) -> Iterator[tuple[Requester, ObjectAnswer]]:
        """Answers to this query, and later answers to earlier ones. ``at``: its start (microseconds since 1970)."""
        self._now.first = self._now.first or requester.query_id
        if use_at_start.names:
            self._names.add(at, requester.query_id, use_at_start.names)
        self._settings.enforced(at, use_at_start.masks)
        for setting in use_at_start.settings:
            yield from self._of_settings(self._settings.set(requester, at, setting))
        if use_at_start.reads or use_at_start.columns:
            state = self._referred_to(self._in_force())
            columns = {column: self._column(column) for column in use_at_start.columns}
            yield requester, ObjectAnswer(self.key, state, columns or None, chain=self._chain)
        if use_at_start.shows is not None:
            self._sources.sees(use_at_start.shows, requester.query_id, at, self._in_force())

    def _of_settings(self, outcomes: Iterable[SettingOutcome]) -> Iterator[tuple[Requester, ObjectAnswer]]:
        """Answers to the queries whose settings have ended, or that renamed the column of one that goes on."""
        for outcome in outcomes:
            if isinstance(outcome, ContinuedSetting):
                yield outcome.requester, ObjectAnswer(self.key, carried=[outcome.carried])
            else:
                yield outcome.requester, ObjectAnswer(self.key, settings=[(outcome.setting, outcome.until)])

    # --- the end of a query -------------------------------------------------------------------------------------------

    def ends(self, requester: Requester, at: int, done: UseAtEnd) -> Iterator[tuple[Requester, ObjectAnswer]]:
        """The same for its changes: columns are renamed, the object is dropped, a version is made, columns written."""
        self._now.first = self._now.first or requester.query_id
        columns = {column: self._column(column) for column in done.renamed}
        self._chain += _begins_chain(done, is_dropped=self._now.dropped is not None)
        if columns:
            self._referred_to(self._in_force())
        yield from self._of_settings(self._settings.lose(done.lost, at))
        yield from self._of_settings(self._settings.rename(requester, at, done.carries))
        masks = self._settings.rename_masks(done.carries) if done.carries else {}
        if done.drops:
            yield from self._drop(requester, at)
        prior = (yield from self._new_version(requester, at, done)) if done.makes else None
        self._lost.update(done.renamed, done.lost)
        priors = self._write_columns(requester.query_id, done.written)
        is_gone = done.drops and not done.makes
        tags = self._settings.tags(at) if done.is_changed and not is_gone else None
        if columns or prior or priors or tags:
            answer = ObjectAnswer(self.key, None, columns or None, prior, priors or None, tags=tags or None)
            answer.kept_masks = masks or None
            yield requester, answer

    def _new_version(
        self, requester: Requester, at: int, done: UseAtEnd
    ) -> Generator[tuple[Requester, ObjectAnswer], None, str | None]:
        """Make a version. Returns the state of which it has what that held; None if it begins empty."""
        yield from self._next(Ending(until=at))
        if done.creates:
            self._sources.ends(at, creates=True)
        elif self._now.dropped is not None:
            self._sources.undrop()
        made = self._settings.make(
            requester,
            at,
            creates=done.creates,
            replaces=self._is_holder or done.replaces,
            keeps_grants=not (self._is_holder and self._is_by_name),
        )
        yield from self._of_settings(made)
        is_new = done.creates or done.empties
        prior = None if is_new else self._prior()
        self._make(requester, is_new=is_new)
        return prior

    def _write_columns(self, query_id: str, written: Iterable[tuple[str, bool]]) -> dict[str, str]:
        """Record that the query wrote these columns, each with whether it is new. Returns the states that their new
        versions keep something of, by column.
        """
        priors = {}
        for column, is_new in written:
            self._lost.discard(column)
            is_kept = not (is_new or self._now.last_created == query_id)
            before = self._write(query_id, column, is_kept=is_kept)
            if is_kept:
                priors[column] = before
        return priors

    def _drop(self, requester: Requester, at: int) -> Iterator[tuple[Requester, ObjectAnswer]]:
        self._settings.drop(requester, at)
        self._sources.ends(at)
        state = self._referred_to(self._in_force())
        yield from self._next(Ending(at, requester.query_id, at))
        if not is_recorded(state):
            self._now.unrecorded[state] = Ending(None, requester.query_id, at)
        self._now.made, self._now.dropped = None, requester.query_id

    def _next(self, ending: Ending) -> Iterator[tuple[Requester, ObjectAnswer]]:
        """The answer to the query that made the version in force: how it ended."""
        if self._now.made is None:
            if self._now.dropped is None:
                self._now.of_first = replace(self._now.of_first, ending=ending)
            return
        restored = self._restored_in_force()
        if restored is None:
            yield self._now.made, ObjectAnswer(self.key, ending=ending)
        else:
            self._restored[restored.query_id] = replace(restored, ending=ending)

    def _prior(self) -> str:
        """The state of which the version that is made now has what it held."""
        if self._now.last_made is None:
            self._now.of_first = replace(self._now.of_first, is_kept=True)
        return self._referred_to(self._now.last_made or self._initial())

    def _make(self, requester: Requester, *, is_new: bool) -> None:
        self._now.made, self._now.dropped = requester, None
        self._now.last_made = state_made_by(requester.query_id)
        if is_new:
            self._now.last_created = requester.query_id
            self._now.columns = {}
            self._lost = set()

    def _write(self, query_id: str, column: str, *, is_kept: bool) -> str:
        """Record that the query wrote the column. Returns the column's state before."""
        before = self._now.columns.get(column)
        if before is None:
            before = self._chain_begin()
            if is_kept:
                self._unrecorded_columns.add((column, before))
        self._now.columns[column] = state_made_by(query_id)
        return before

    # --- states -------------------------------------------------------------------------------------------------------

    def _in_force(self) -> str:
        if self._now.made is not None:
            return state_made_by(self._now.made.query_id)
        return self._initial() if self._now.dropped is None else state_after_drop(self._now.dropped)

    def _initial(self) -> str:
        """The state before the first recorded query; it differs between exports of different periods."""
        assert self._now.first is not None, "nothing used the object"
        return state_before(self._now.first)

    def _referred_to(self, state: str) -> str:
        """The state. If no recorded query made it, note that something refers to it, so that it gets a node."""
        if not is_recorded(state):
            self._now.unrecorded.setdefault(state, None)
        return state

    def _chain_begin(self) -> str:
        return self._initial() if self._now.last_created is None else state_made_by(self._now.last_created)

    def _column(self, column: str) -> str:
        """The state that wrote the column's present data."""
        if self._now.dropped is not None:
            state = self._in_force()
        elif column in self._now.columns:
            return self._now.columns[column]
        else:
            state = self._chain_begin()
        self._unrecorded_columns.add((column, state))
        return state

    # --- while it, its schema or its database was dropped -----------------------------------------------------------

    def absent(self, absences: Iterable[Absence]) -> None:
        """Record when schemas and databases of the object's names were dropped and restored, and who took its name
        before an UNDROP of its own.
        """
        self._absences = sorted({*self._absences, *absences})

    def _apply_absences(self, before: tuple[int, str] | None) -> Iterator[tuple[Requester, ObjectAnswer]]:
        """Apply the DROPs and UNDROPs that ended before a time and query; all if None. An object that was shown between
        the two, had ended before, or was not where the DROP was made, is not concerned.
        """
        coming = []
        for absence in self._absences:
            if not absence.is_over(before):
                coming.append(absence)
            elif (
                self._now.first is not None
                and self._now.dropped is None
                and absence.known <= self.passed <= absence.dropped
                and absence.taken < self.passed
            ):
                name, _ = self._names.present() or ("", 0)
                if canonical_name(name) == absence.name:
                    yield from self._restore(absence)
        self._absences = coming

    def _restored_in_force(self) -> Restored | None:
        """The version in force, if the UNDROP of a schema or database made it."""
        if self._now.made is None or self._now.made.address:
            return None
        return self._restored.get(self._now.made.query_id, self._now.restored)

    def _restore(self, absence: Absence) -> Iterator[tuple[Requester, ObjectAnswer]]:
        (dropped, drop), (at, query_id) = absence.dropped, absence.restored
        self._chain += 1
        yield from self._drop(Requester(drop, ""), dropped)
        if absence.of_one:  # its use makes the next version
            self._names.end(dropped)
            return
        maker = Requester(query_id, "")
        self._sources.undrop()
        yield from self._of_settings(self._settings.make(maker, at, creates=False))
        self._restored[query_id] = Restored(at, query_id, self._prior())
        self._make(maker, is_new=False)
        self.passed = absence.restored

    @property
    def has_container_events(self) -> bool:
        """Whether anything is left for :meth:`apply_container_events`."""
        return bool(self._absences or self.copies.due)

    # --- copies of the object -----------------------------------------------------------------------------------------

    def apply_container_events(self, before: tuple[int, str] | None) -> Iterator[tuple[Requester, ObjectAnswer]]:
        """Apply what happened to its schema and database before a time and query, all if None: note the state at each
        CLONE, and drop and restore it with them. Gives answers to earlier queries.
        """
        for event in self.copies.clones_before(before):
            yield from self._apply_absences((event.start, event.query_id))
            name, seen = self._names.present() or ("", 0)
            state = "" if self._now.dropped is not None or self._now.first is None else self._in_force()
            chain = self._chain_begin() if state else ""
            self.copies.at(event, Moment(state, dict(self._now.columns), chain, sorted(self._lost), name, seen))
        yield from self._apply_absences(before)

    def inferred(self, columns: Collection[str]) -> list[Inferred]:
        """The copies of the object that CLONEs of its schema or database made. ``columns``: its columns in all rows."""
        if not self.copies.keys:
            return []
        # Columns that no recorded query wrote are as old as the present chain of versions.
        unwritten = {(column, self._chain_begin()) for column in columns if column not in self._now.columns}
        return list(self.copies.inferred(self._now.taken, unwritten | self._unrecorded_columns))

    def element_dropped(self, element: str, drops: list[Drop], taken: Take | None, absences: list[Absence]) -> None:
        """Record when a tag or policy that is set on the object was dropped, and who took its name."""
        self._settings.element_dropped(element, drops, taken, absences)

    def name_taken(self, take: Take | None) -> None:
        """Record who took the object's name after all that is known of it; None if that is not so any more."""
        self._now.taken = take

    def final_answers(self) -> Iterator[tuple[Requester, ObjectAnswer]]:
        """After all uses: answers to the query whose version ended because the object's name was taken, and to
        those whose settings do not hold because of that or of a drop. A later day can revert each of them. The UNDROP
        of a schema or database has no address: it has not asked.
        """
        if self._now.taken is not None and self._now.made is not None:
            yield self._now.made, ObjectAnswer(self.key, ending=_by_take(self._now.taken))
        yield from self._of_settings(self._settings.over(self._now.taken))

    def taken_state(self) -> tuple[str, Ending] | None:
        """The state that no recorded query made, if it ended because the object's name was taken. A later day can
        revert it. None for an object that only a parent names whose row is of a later day: its state begins there.
        """
        if (
            self._now.taken is None
            or self._now.first is None
            or self._now.made is not None
            or self._now.dropped is not None
        ):
            return None
        return self._initial(), _by_take(self._now.taken)

    def first_state_outcome(self) -> FirstStateOutcome:
        """What became of the state in which the first query found the object. If its name was taken, a later day can
        revert that.
        """
        taken = self.taken_state()
        return self._now.of_first if taken is None else replace(self._now.of_first, ending=taken[1])

    def result(self, seen: dict[str, tuple[int, int]]) -> ObjectHistory:
        """The result of the version history. ``seen``: name -> first and last time it was seen on the object."""
        taken = None if self._now.taken is None else self._now.taken[0]
        dropped = None if self._now.dropped is None else self._settings.dropped
        _, last_seen = self._names.present() or ("", NEVER)
        return ObjectHistory(
            self._names.periods(seen, taken, dropped),
            dict(sorted(self._now.unrecorded.items())),
            set(self._unrecorded_columns),
            sources=list(self._sources.all(taken)),
            restored=[restored for _, restored in sorted(self._restored.items())],
            is_gone=taken is not None or (dropped is not None and dropped >= last_seen),
        )


def _by_take(take: Take) -> Ending:
    at, query_id = take
    return Ending(at, query_id, at)


def _begins_chain(done: UseAtEnd, *, is_dropped: bool) -> bool:
    """Whether a new chain of versions begins: another object, or another column of the same name."""
    return (
        done.drops
        or done.creates
        or done.empties
        or is_dropped
        or bool(done.renamed)
        or any(is_new for _, is_new in done.written)
    )
