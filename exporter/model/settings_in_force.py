"""The tags, policies and grants that hold on an object at a time.

They end when the same is set or unset again, when another policy is set in their place, when their column is dropped,
or when the object or the tag or policy is dropped. UNDROP restores them, also if their column was renamed before it. An
object that is created after a DROP does not inherit them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from itertools import chain
from typing import TYPE_CHECKING, Final, NamedTuple

from exporter.model.answers import CarriedSetting, SettingKey, SettingOfQuery, Tag
from exporter.model.grants import GRANTED, ends_grant, is_of_several
from exporter.model.identifiers import usable_id

if TYPE_CHECKING:
    from exporter.model.object_state import Absence, Drop, Take

MASKS: Final = "maskingPolicies"
ONE_OF_COLUMN: Final = frozenset({MASKS, "projectionPolicies"})
ONE_OF_OBJECT: Final = frozenset(
    {"rowAccessPolicies", "aggregationPolicies", "joinPolicies", "storageLifecyclePolicies"}
)
"""Policies of which a column, and a table or view, can have one at a time: to set another with FORCE replaces it
(Snowflake, "ALTER TABLE"). A tag can have several masking policies, one for each data type.
"""
Rename = tuple[str, str, str]
"""Former and new name of a column, and the key of the change that renames it."""


class Requester(NamedTuple):
    """A query that uses an object. ``address``: where its answers are sent; the version history does not interpret
    it.
    """

    query_id: str
    address: str


class HeldSetting(NamedTuple):
    """The query that made a setting, the setting, its time (microseconds since 1970)."""

    requester: Requester
    setting: SettingOfQuery
    since: int


class SettingInForce(NamedTuple):
    """A setting in force, as :class:`HeldSetting`. ``formers``: the same under the former names of its column, in their
    order, if the tag or policy was dropped, or away, when the column was renamed: whether it holds under the new name
    is known only once an UNDROP restores the tag or policy, or the setting ends.
    """

    requester: Requester
    setting: SettingOfQuery
    since: int
    formers: tuple[HeldSetting, ...] = ()

    @property
    def begin(self) -> int:
        """Since when its tag or policy can be dropped."""
        return self.formers[0].since if self.formers else self.since

    def periods(self, until: int | None) -> Iterator[tuple[HeldSetting, int | None]]:
        """Under each name of its column, with the end."""
        settings = (*self.formers, HeldSetting(self.requester, self.setting, self.since))
        yield from zip(settings, (*(later.since for later in settings[1:]), until), strict=True)


class EndedSetting(NamedTuple):
    """A setting has ended: the query that made it, the setting, its end (microseconds since 1970)."""

    requester: Requester
    setting: SettingOfQuery
    until: int


class ContinuedSetting(NamedTuple):
    """A setting goes on under a new name of its column: the query that renames it, the setting."""

    requester: Requester
    carried: CarriedSetting


SettingOutcome = EndedSetting | ContinuedSetting
"""What became of a setting."""


class SettingsInForce:
    """The settings of one object. ``drops``: its drops since its last version. ``masks``: masking policies that queries
    enforced on its columns and no row set, by column.
    """

    def __init__(
        self,
        settings: Iterable[SettingInForce],
        drops: list[Drop],
        of_elements: dict[str, list[Drop]],
        taken: dict[str, Take],
        masks: dict[str, list[str]],
    ) -> None:
        self._held = {in_force.setting.key: in_force for in_force in settings}
        self._drops, self._of_elements, self._taken = drops, of_elements, taken
        self._absences: dict[str, list[Absence]] = {}
        self._masks = masks

    def kept(
        self,
    ) -> tuple[list[SettingInForce], list[Drop], dict[str, list[Drop]], dict[str, Take], dict[str, list[str]]]:
        """The state for the next day: settings, drops of the object, drops of the tags and policies set on it, who
        took their names, and masks that were enforced.
        """
        return list(self._held.values()), self._drops, self._of_elements, self._taken, self._masks

    def element_dropped(self, element: str, drops: list[Drop], taken: Take | None, absences: list[Absence]) -> None:
        """Record all known drops and UNDROPs of a tag or policy, in order of time, and who took its name. ``absences``:
        when it was not there before it was restored, with its schema or database or from another one that had its name;
        only of a time before the next day.
        """
        self._of_elements[element] = drops
        self._absences[element] = absences
        self._taken.pop(element, None)
        if taken is not None:
            self._taken[element] = taken

    def set(self, requester: Requester, at: int, setting: SettingOfQuery) -> Iterator[SettingOutcome]:
        """Apply a setting. Gives the settings that it ends."""
        setting = self._named(setting)
        if setting.property_name == MASKS and setting.column is not None:
            self._masks.pop(setting.column, None)
        for key in self._replaced(requester, setting):
            yield from self._end(key, at)
        if setting.names:
            self._held[setting.key] = SettingInForce(requester, setting, at)

    def _named(self, setting: SettingOfQuery) -> SettingOfQuery:
        """A tag whose name Snowflake cut, by the name with which it was set here before; it is known by its id."""
        former = self._held.get(setting.key)
        is_cut = setting.property_name == "tags" and len(setting.names) == 1 and usable_id(setting.names[0]) is not None
        return setting if former is None or not is_cut else setting._replace(names=former.setting.names[:1])

    def _replaced(self, requester: Requester, setting: SettingOfQuery) -> list[SettingKey]:
        """The settings that this one replaces; several if all privileges, or grants on all objects, are revoked. A
        policy replaces the one that another query set in its place.
        """
        revoked = setting.property_name
        if setting.names and revoked in (ONE_OF_OBJECT if setting.column is None else ONE_OF_COLUMN):
            place = setting.key[:2]
            return [
                key
                for key, in_force in self._held.items()
                if key == setting.key or (key[:2] == place and in_force.requester != requester)
            ]
        if setting.names or not is_of_several(revoked):
            return [setting.key] if setting.key in self._held else []
        settings = [in_force.setting for in_force in self._held.values()]
        return [other.key for other in settings if ends_grant(revoked, other.property_name, other.names)]

    def lose(self, columns: Iterable[str], at: int) -> Iterator[SettingOutcome]:
        """Apply the drop of columns. Gives the settings that it ends."""
        lost = set(columns)
        for column in lost:
            self._masks.pop(column, None)
        for key in [key for key in self._held if key[0] in lost]:
            yield from self._end(key, at)

    def rename(self, requester: Requester, at: int, renames: Iterable[Rename]) -> Iterator[SettingOutcome]:
        """Apply the rename of columns: their settings end, and hold from then on under the new names. What does not
        hold because its tag or policy is dropped does so once that is restored.
        """
        names = {former: (new, change) for former, new, change in renames}
        moved = [(in_force, *names[key[0]]) for key, in_force in self._held.items() if key[0] in names]
        going_on = list[SettingInForce]()
        for in_force, new, change in moved:
            formers: tuple[HeldSetting, ...] = ()
            if self._is_there(in_force, at):
                yield from self._end(in_force.setting.key, at)
            else:
                del self._held[in_force.setting.key]
                formers = tuple(former for former, _ in in_force.periods(at))
            setting = in_force.setting._replace(change_key=change, column=new)
            going_on.append(SettingInForce(requester, setting, at, formers))
        for (in_force, *_), renamed in zip(moved, going_on, strict=True):
            if renamed.setting.key in self._held:
                yield from self._end(renamed.setting.key, at)
            self._held[renamed.setting.key] = renamed
            if not renamed.formers:
                yield _goes_on(in_force, renamed)

    def enforced(self, at: int, masks: Iterable[tuple[str, str]]) -> None:
        """Record masking policies that a query enforced: column and policy. Of those that rows set, it is known since
        when, and until when.
        """
        for column, policy in masks:
            known, in_force = self._masks.get(column, []), self._held.get((column, MASKS, policy))
            if policy not in known and (in_force is None or not self._is_there(in_force, at)):
                self._masks[column] = sorted([*known, policy])

    def rename_masks(self, renames: Collection[Rename]) -> dict[str, list[str]]:
        """The masking policies that go on under the new name of a column, by that name, though no row set them."""
        moved = {new: self._masks.get(former, []) for former, new, _ in renames}
        for column in chain.from_iterable((former, new) for former, new, _ in renames):
            self._masks.pop(column, None)
        kept = {new: policies for new, policies in moved.items() if policies}
        self._masks |= kept
        return kept

    def drop(self, requester: Requester, at: int) -> None:
        """Record that the object is dropped."""
        self._drops.append((at, requester.query_id, "DROP"))

    @property
    def dropped(self) -> int | None:
        """When the object was dropped last, None if it was not dropped since its last version."""
        return self._drops[-1][0] if self._drops else None

    def make(
        self, requester: Requester, at: int, *, creates: bool, replaces: bool = False, keeps_grants: bool = False
    ) -> Iterator[SettingOutcome]:
        """Apply a new version. If it is created anew after a drop, or ``replaces`` another object that was known by the
        same name or id, gives the former settings, which end. ``keeps_grants``: but for grants, if it was not dropped.
        """
        if creates:
            self._masks = {}
        if creates and (self._drops or replaces):
            for key, in_force in list(self._held.items()):
                is_over = replaces and not (keeps_grants and in_force.setting.property_name.startswith(GRANTED))
                if in_force.requester != requester and (
                    is_over or _dropped(self._drops, in_force.since, at) is not None
                ):
                    yield from self._end(key, at)
        self._drops = []

    def tags(self, at: int) -> list[Tag]:
        """The tags in force at a time (microseconds since 1970), sorted."""
        tags = set[Tag]()
        for in_force in self._held.values():
            setting = in_force.setting
            if setting.property_name == "tags" and self._is_there(in_force, at):
                values = setting.values or (None,) * len(setting.names)
                tags.update(
                    (name, value or "", setting.column) for name, value in zip(setting.names, values, strict=True)
                )
        return sorted(tags, key=lambda tag: (*tag[:2], tag[2] or ""))

    def _is_there(self, in_force: SettingInForce, at: int) -> bool:
        """Whether a setting that has not ended otherwise holds at a time, by its tag or policy and its object."""
        absences = self._absences.get(in_force.setting.element or "", ())
        return self._dropped_or_taken(in_force, at) is None and not any(
            absence.covers(in_force.begin, at) for absence in absences
        )

    def over(self, taken: Take | None = None) -> Iterator[SettingOutcome]:
        """The settings that do not hold now because of a drop, but may hold again after an UNDROP; or because another
        object took the name of this one (``taken``), or of the tag or policy, but may hold if that one is shown again.
        Also those that hold under a new name since an UNDROP.
        """
        for in_force in self._held.values():
            take = None if taken is None or taken[0] < in_force.begin else taken[0]
            yield from _outcomes(in_force, _first(self._dropped_or_taken(in_force), take), None)

    def _end(self, key: SettingKey, at: int) -> Iterator[SettingOutcome]:
        in_force = self._held.pop(key)
        gone = self._dropped_or_taken(in_force, at) if in_force.formers else self._dropped(in_force, at)
        yield from _outcomes(in_force, gone, at)

    def _dropped_or_taken(self, in_force: SettingInForce, until: int | None = None) -> int | None:
        """As :meth:`_dropped`, or when another one took the name of its tag or policy."""
        take, _ = self._taken.get(in_force.setting.element or "", (None, ""))
        if take is not None and (take < in_force.begin or (until is not None and take > until)):
            take = None
        return _first(self._dropped(in_force, until), take)

    def _dropped(self, in_force: SettingInForce, until: int | None = None) -> int | None:
        """When the setting ended because the object or its tag or policy was dropped; None if it did not."""
        drops = self._drops, self._of_elements.get(in_force.setting.element or "", ())
        return _first(*(_dropped(drop, in_force.begin, until) for drop in drops))


def _outcomes(in_force: SettingInForce, gone: int | None, at: int | None) -> Iterator[SettingOutcome]:
    """What became of a setting under each name of its column. ``gone``: when it ended by a drop, None if it did not;
    ``at``: when it ended otherwise, None if it is in force.
    """
    former: HeldSetting | None = None
    for held, end in in_force.periods(at):
        if former is not None:
            if gone is not None and gone <= held.since:
                break
            yield _goes_on(former, held)
        until = _first(gone, end)
        if until is not None:
            yield EndedSetting(held.requester, held.setting, until)
        former = held


def _goes_on(former: HeldSetting | SettingInForce, now: HeldSetting | SettingInForce) -> ContinuedSetting:
    return ContinuedSetting(
        now.requester, CarriedSetting(former.requester.query_id, former.setting, now.setting, now.since)
    )


def _first(*times: int | None) -> int | None:
    return min((time for time in times if time is not None), default=None)


def _dropped(drops: Iterable[Drop], since: int, until: int | None = None) -> int | None:
    """The time of a drop between ``since`` and ``until`` that no UNDROP reverted by then; None if there is none. What a
    REPLACE ended, nothing brings back.
    """
    number: int | None = None
    for at, _, operation in drops:
        if operation == "REPLACE":
            if since < at and (until is None or at <= until):
                return at if number is None else number
            continue
        if since <= at and (until is None or at <= until):
            number = None if operation == "UNDROP" else at if number is None else number
    return number
