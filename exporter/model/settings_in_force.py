"""The tags, policies and grants that hold on an object at a time.

They end when the same is set or unset again, when another policy is set in their place, when their column is dropped,
or when the object or the tag or policy is dropped. UNDROP restores them. An object that is created after a DROP does
not inherit them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from exporter.model.answers import Carried, SettingKey, SettingOfQuery, Tag
from exporter.model.grants import is_of_several, takes_back

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from exporter.model.object_state import Drop, Take

ONE_OF_COLUMN: Final = frozenset({"maskingPolicies", "projectionPolicies"})
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


class SettingInForce(NamedTuple):
    """A setting in force: the query that made it, the setting, its time (microseconds since 1970)."""

    requester: Requester
    setting: SettingOfQuery
    since: int


Over = tuple[Requester, SettingOfQuery, int]
"""A setting that has ended: the query that made it, the setting, its end (microseconds since 1970)."""


class SettingsInForce:
    """The settings of one object. ``drops``: its drops since its last version."""

    def __init__(
        self,
        settings: Iterable[SettingInForce],
        drops: list[Drop],
        of_elements: dict[str, list[Drop]],
        taken: dict[str, Take],
    ) -> None:
        self._held = {in_force.setting.key: in_force for in_force in settings}
        self._drops, self._of_elements, self._taken = drops, of_elements, taken

    def kept(self) -> tuple[list[SettingInForce], list[Drop], dict[str, list[Drop]], dict[str, Take]]:
        """The state for the next day: settings, drops of the object, drops of the tags and policies set on it, and who
        took their names.
        """
        return list(self._held.values()), self._drops, self._of_elements, self._taken

    def element_dropped(self, element: str, drops: list[Drop], taken: Take | None) -> None:
        """Record all known drops and UNDROPs of a tag or policy, in order of time, and who took its name."""
        self._of_elements[element] = drops
        self._taken.pop(element, None)
        if taken is not None:
            self._taken[element] = taken

    def set(self, requester: Requester, at: int, setting: SettingOfQuery) -> Iterator[Over]:
        """Apply a setting. Gives the settings that it ends."""
        for key in self._replaced(requester, setting):
            yield self._end(key, at)
        if setting.names:
            self._held[setting.key] = SettingInForce(requester, setting, at)

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
        held = [in_force.setting for in_force in self._held.values()]
        return [each.key for each in held if takes_back(revoked, each.property_name, each.names)]

    def lose(self, columns: Iterable[str], at: int) -> Iterator[Over]:
        """Apply the drop of columns. Gives the settings that it ends."""
        lost = set(columns)
        for key in [key for key in self._held if key[0] in lost]:
            yield self._end(key, at)

    def rename(self, requester: Requester, at: int, renames: Iterable[Rename]) -> tuple[list[Over], list[Carried]]:
        """Apply the rename of columns: their settings end, and hold from then on under the new names. Gives both. What
        does not hold because its tag or policy is dropped is not carried.
        """
        names = {former: (new, change) for former, new, change in renames}
        moved = [(in_force, *names[key[0]]) for key, in_force in self._held.items() if key[0] in names]
        holding = [move for move in moved if self._dropped(move[0].setting, move[0].since, at) is None]
        over = [self._end(in_force.setting.key, at) for in_force, _, _ in moved]
        carried: list[Carried] = []
        for in_force, new, change in holding:
            setting = in_force.setting._replace(change_key=change, column=new)
            if setting.key in self._held:
                over.append(self._end(setting.key, at))
            self._held[setting.key] = SettingInForce(requester, setting, at)
            carried.append((in_force.requester.query_id, in_force.setting, setting))
        return over, carried

    def drop(self, requester: Requester, at: int) -> None:
        """Record that the object is dropped."""
        self._drops.append((at, requester.query_id, "DROP"))

    @property
    def dropped(self) -> int | None:
        """When the object was dropped last, None if it was not dropped since its last version."""
        return self._drops[-1][0] if self._drops else None

    def make(self, requester: Requester, at: int, *, creates: bool, replaces: bool = False) -> Iterator[Over]:
        """Apply a new version. If it is created anew after a drop, or ``replaces`` another object that was known by the
        same name, gives the former settings, which end.
        """
        if creates and (self._drops or replaces):
            for key, in_force in list(self._held.items()):
                if in_force.requester != requester and (
                    replaces or _dropped(self._drops, in_force.since, at) is not None
                ):
                    yield self._end(key, at)
        self._drops = []

    def tags(self, at: int) -> list[Tag]:
        """The tags in force at a time (microseconds since 1970), sorted."""
        tags = set[Tag]()
        for _, setting, since in self._held.values():
            take = self._taken.get(setting.element or "")
            is_taken = take is not None and since <= take[0] <= at
            if setting.property_name == "tags" and not is_taken and self._dropped(setting, since, at) is None:
                values = setting.values or (None,) * len(setting.names)
                tags.update(
                    (name, value or "", setting.column) for name, value in zip(setting.names, values, strict=True)
                )
        return sorted(tags, key=lambda tag: (*tag[:2], tag[2] or ""))

    def over(self, taken: Take | None = None) -> Iterator[Over]:
        """The settings that do not hold now because of a drop, but may hold again after an UNDROP; or because another
        object took the name of this one (``taken``), or of the tag or policy, but may hold if that one is shown again.
        """
        for requester, setting, since in self._held.values():
            takes = (taken, self._taken.get(setting.element or ""))
            ends = [
                self._dropped(setting, since),
                *(take[0] for take in takes if take is not None and take[0] >= since),
            ]
            until = min((end for end in ends if end is not None), default=None)
            if until is not None:
                yield requester, setting, until

    def _end(self, key: SettingKey, at: int) -> Over:
        requester, setting, since = self._held.pop(key)
        until = self._dropped(setting, since, at)
        return requester, setting, at if until is None else until

    def _dropped(self, setting: SettingOfQuery, since: int, until: int | None = None) -> int | None:
        """When the setting ended because the object or its tag or policy was dropped; None if it did not."""
        drops = self._drops, self._of_elements.get(setting.element or "", ())
        ends = [end for end in (_dropped(drop, since, until) for drop in drops) if end is not None]
        return min(ends, default=None)


def _dropped(drops: Iterable[Drop], since: int, until: int | None = None) -> int | None:
    """The time of a drop between ``since`` and ``until`` that no UNDROP reverted by then; None if there is none."""
    number: int | None = None
    for at, _, operation in drops:
        if since <= at and (until is None or at <= until):
            number = None if operation == "UNDROP" else at if number is None else number
    return number
