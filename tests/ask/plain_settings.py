"""Tags and policies that rows set on objects and columns, each with the period in which it held."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tests.ask.plain_asking import enforced, policy_key
from tests.ask.plain_history import DROPPED, HOLDERS, columns_renamed
from tests.ask.plain_names import matched, value
from tests.facts import plain_reading as plain

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import datetime

    from tests.ask.plain_history import History, Query

Place = tuple[str, str | None]
"""An object, and its column (None: the object itself)."""
_ONE_OF_COLUMN: Final = ("maskingPolicies", "projectionPolicies")
_ONE_OF_OBJECT: Final = ("rowAccessPolicies", "aggregationPolicies", "joinPolicies", "storageLifecyclePolicies")
_POLICIES: Final = re.compile(r"([a-zA-Z]+)Policies")


class Doing(NamedTuple):
    """One element of a change: ``element`` is the tag or policy, ``said`` its value; ``sets``: it is not taken away."""

    query: Query
    place: Place
    property: str
    element: str
    said: str | None
    sets: bool


class Held(NamedTuple):
    """``until``: the next doing with the same element at the same place, its rename, or the drop of the object."""

    doing: Doing
    since: datetime
    until: datetime | None

    def is_at(self, time: datetime | None) -> bool:
        """Whether it holds at a time; None: at the end."""
        if time is None:
            return self.until is None
        return self.since <= time and (self.until is None or time < self.until)


def is_gone(history: History, at: datetime | None, *keys: str) -> bool:
    """Whether one of the objects is dropped at a time; at the end, what is set says so itself."""
    return at is not None and any(history.state_at(key, at).dropped for key in keys)


def doings(history: History) -> list[Doing]:
    """All, in the order of time."""
    found = [
        Doing(history.queries[ident], (key, column), name, *_element(domain, element, told))
        for ident, key, change in history.changes
        for column, inside in _places(change)
        for name, elements in inside.items()
        if (domain := _domain(name)) and _is_compound(elements)
        for element, told in elements.items()
    ]
    return sorted(found, key=lambda one: (one.query.start, one.query.query_id, str(one[1:])))


def _places(change: Any) -> Iterator[tuple[str | None, dict[str, Any]]]:
    properties = change.get("properties")
    if isinstance(properties, dict):
        yield None, properties
        columns = properties.get("columns")
        if isinstance(columns, dict) and "value" not in columns:
            yield from ((name, told) for name, told in columns.items() if plain.said(name) and isinstance(told, dict))


def _domain(name: str) -> str | None:
    policy = _POLICIES.fullmatch(name)
    if policy:
        return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", policy[1]).upper() + " POLICY"
    return "TAG" if name == "tags" else None


def _is_compound(elements: Any) -> bool:
    return isinstance(elements, dict) and bool(elements) and "value" not in elements


def _element(domain: str, name: str, told: Any) -> tuple[str, str | None, bool]:
    given = told if isinstance(told, dict) else {}
    thing = {"objectDomain": domain, "objectName": name, "objectId": value(given.get("objectId"))}
    said = value(given.get("tagValue", given.get("value")))
    return str(plain.key(thing)), said, (given.get("subOperationType") or "").upper() != "DROP"


def held(history: History) -> list[Held]:
    """What was set, with its time; under each name that its column had while it held. What was dropped when the column
    was renamed holds under the new name if it is brought back before anything else ends it.
    """
    every: dict[tuple[Place, str, str], list[Doing]] = defaultdict(list)
    for one in doings(history):
        several = every[one.place, one.property, one.element]
        several += [one] if one not in several else []  # a row that was delivered twice
    found = []
    for one in [one for several in every.values() for one in several if one.sets]:
        names = _under_each_name(history, every, one)
        gone = element_drop(history, one, names[-1].until)
        found += [
            each._replace(until=first(each.until, gone))
            for each in names
            if each.doing is one or gone is None or gone > each.since
        ]
    return found


def _under_each_name(history: History, every: Mapping[tuple[Place, str, str], list[Doing]], one: Doing) -> list[Held]:
    """A setting under each name that its column got, as if its tag or policy was never dropped."""
    found, since = list[Held](), one.query.start
    while True:
        several = every.get((one.place, one.property, one.element), [])
        own = several.index(one) + 1 if one in several else 0
        after = [two for two in several[own:] if own or two.query.start >= since][:1]
        last = first(*(two.query.start for two in after), *_column_drops(history, one), *_replaced(every, one, since))
        moved = [
            (history.queries[ident].end, ident, new)
            for ident, key, change in history.changes
            for old, new in columns_renamed(change)
            if (key, old) == one.place and history.queries[ident].end >= since
        ]
        renamed = min((step for step in moved if last is None or step[0] <= last), default=None)
        last = last if renamed is None else renamed[0]
        until = first(last, object_drop(history, one, last))
        found.append(Held(one, since, until))
        if renamed is None or until != renamed[0]:
            return found
        since, ident, new = renamed
        one = one._replace(query=history.queries[ident], place=(one.place[0], new))


def _replaced(every: Mapping[tuple[Place, str, str], list[Doing]], doing: Doing, since: datetime) -> Iterator[datetime]:
    """When another policy was set where there can only be one; a tag can have several masking policies."""
    if doing.property in (_ONE_OF_OBJECT if doing.place[1] is None else _ONE_OF_COLUMN):
        for (place, name, element), others in every.items():
            if (place, name) == (doing.place, doing.property) and element != doing.element:
                yield from (
                    two.query.start
                    for two in others
                    if two.sets and (two.query.start, two.query.query_id) > (since, doing.query.query_id)
                )


def _column_drops(history: History, doing: Doing) -> Iterator[datetime]:
    for ident, key, change in history.changes:
        columns = (change.get("properties") or {}).get("columns")
        told = columns.get(doing.place[1] or "") if isinstance(columns, dict) and key == doing.place[0] else None
        end = history.queries[ident].end
        if (
            isinstance(told, dict)
            and (told.get("subOperationType") or "").upper() == "DROP"
            and end >= doing.query.start
        ):
            yield end


def object_drop(history: History, doing: Doing, last: datetime | None, *, is_grant: bool = False) -> datetime | None:
    """What is brought back has again what it had; what is created in its place has not. All that is created is another
    object, also under the same id, which the rows of a REPLACE may give; COPY GRANTS may keep its grants then. Of what
    holds no data, a CREATE may be one IF NOT EXISTS.
    """
    found: datetime | None = None
    kind, by_name, *_ = doing.place[0].split("/")
    is_holder = kind in HOLDERS and (by_name == "name" or not is_grant)
    replaces = (
        set()
        if is_grant
        else {ident for _, ident, operation in _operations(history, doing.place[0]) if operation == "REPLACE"}
    )
    for time, ident, rank in history.events(doing.place[0]):
        if time < doing.query.start or (last is not None and time > last):
            continue
        if rank == DROPPED:
            found = found or time
        elif (
            history.is_created(doing.place[0], ident)
            and ident != doing.query.query_id
            and (
                found
                or ((is_holder or ident in replaces) and (time, ident) > (doing.query.start, doing.query.query_id))
            )
        ):
            return found or time
        else:
            found = None
    return found


def _operations(history: History, of: str) -> list[tuple[datetime, str, str]]:
    """What was done to an object, in order: the end and id of each query, and the operation."""
    return sorted(
        (history.queries[ident].end, ident, (change.get("operationType") or "").upper())
        for ident, key, change in history.changes
        if key == of
    )


def element_drop(history: History, doing: Doing, last: datetime | None) -> datetime | None:
    """When a tag or policy was dropped, and not brought back, or replaced, which nothing takes back."""
    found: datetime | None = None
    is_element = doing.element.startswith("tag/") or doing.element.partition("/")[0].endswith("policy")
    for time, _, operation in _operations(history, doing.element):
        is_then = time > doing.query.start and (last is None or time <= last)
        if is_element and is_then and operation == "REPLACE":
            return found or time
        if time >= doing.query.start and (last is None or time <= last) and operation in ("DROP", "UNDROP"):
            found = None if operation == "UNDROP" else found or time
    taken = history.taken.get(doing.element)
    return found if taken is None or last is not None else first(found, taken[0])


def first(*times: datetime | None) -> datetime | None:
    return min((time for time in times if time is not None), default=None)


class Masked(NamedTuple):
    """From when until when a masking policy was set on a column. ``elements``: the policy, and the tag that it is set
    on, each with the time when it was; between DROP and UNDROP of one of them there is no mask. ``done``: when the
    statement that set it had ended.
    """

    since: datetime
    until: datetime | None
    elements: tuple[tuple[str, datetime], ...]
    done: datetime

    def is_for(self, history: History, query: Query) -> bool:
        """Whether it is set when a query starts. What the query ends itself, as a CREATE OR REPLACE does, it read
        before.
        """
        time, until = query.start, self.until
        is_ending = until == time and any(ident == query.query_id for ident, *_ in history.changes)
        is_set = self.since <= time and (until is None or time < until or is_ending)
        return is_set and not any(is_away(history, one, since, time) for one, since in self.elements)


def is_one_tag(history: History, one: str, other: str) -> bool:
    """Whether two keys are of one tag: also where one row gives its name alone, and another one the id, too."""
    if one == other:
        return True
    numbers, names = (
        [key for key in (one, other) if key.startswith("tag/") and key.startswith("tag/name/") is is_name]
        for is_name in (False, True)
    )
    if not numbers or not names:
        return False
    called = [{matched(name) for name in history.names.ever_called(key)} for key in (*numbers, *names)]
    return bool(called[0] & called[1])


def is_away(history: History, key: str, since: datetime, time: datetime) -> bool:
    """Whether a tag or policy is dropped at a time, by a DROP at ``since`` or later."""
    drops = [at for at, _, rank in history.events(key) if rank == DROPPED and since <= at <= time]
    return bool(drops) and history.state_at(key, time).dropped


def masks(history: History) -> dict[Place, list[Masked]]:
    """By column, its masks: set by itself, or on a tag that it had."""
    found: dict[Place, list[Masked]] = defaultdict(list)
    every = held(history)
    set_masks = [one for one in every if one.doing.property == "maskingPolicies"]
    of_tags = [one for one in set_masks if one.doing.place[0].startswith("tag/")]
    for one in every:
        if one.doing.property == "maskingPolicies":
            found[one.doing.place].append(Masked(one.since, one.until, ((one.doing.element, one.since),), _done(one)))
        if one.doing.property == "tags":
            for mask in of_tags:
                since, until = max(one.since, mask.since), first(one.until, mask.until)
                tag, column = mask.doing.place
                is_on_it = column is None and is_one_tag(history, tag, one.doing.element)
                if is_on_it and (until is None or since < until):
                    both = ((mask.doing.element, mask.since), (tag, since))
                    for place, begin, end in _covered(history, one.doing.place, mask.doing.element):
                        inside = max(since, begin or since), first(until, end)
                        if inside[1] is None or inside[0] < inside[1]:
                            found[place].append(Masked(*inside, both, max(inside[0], _done(one), _done(mask))))
    return found


def _done(one: Held) -> datetime:
    """When what set it had ended; under the new name of a column, when it got that."""
    return one.doing.query.end if one.since == one.doing.query.start else one.since


def _covered(history: History, place: Place, policy: str) -> Iterator[tuple[Place, datetime | None, datetime | None]]:
    """What a tag covers for a policy, from when until when: its column; of a whole table, schema or database those of
    the policy's data type, which rows show only by enforcing it, under each of their names, while the table has a name
    in it.
    """
    if place[1] is not None:
        yield place, None, None
        return
    for one, every in enforcements(history).items():
        if one[1] and any(key == policy for _, _, key in every):
            for begin, end in _inside(history, one[0], place[0]):
                yield from ((name, begin, end) for name in sorted({one, *_same_columns(history, one)}, key=str))


def _inside(history: History, key: str, whole: str) -> Iterator[tuple[datetime | None, datetime | None]]:
    """When an object is the one with the tag, or has a name in the schema or database: one that it got while this had
    its own name. It goes along when this is renamed, and has its former name until a row shows the new one. What has
    the new name already is in another schema or database.
    """
    if key == whole:
        yield None, None
    elif whole.startswith(("schema/", "database/")):
        around = history.names.held.get(whole, ())
        for number, (outer, since, until) in enumerate(around):
            for name, begin, end in history.names.held.get(key, ()):
                went_along = number == 0 and (end is None or end > since)
                if (
                    matched(name).startswith(f"{matched(outer)}.")
                    and (until is None or begin < until)
                    and (begin >= since or went_along)
                ):
                    yield max(begin, since), end


def _same_columns(history: History, place: Place) -> set[Place]:
    """The other names of a column, later and earlier."""
    renames = _column_renames(history, place[0])
    found = set[Place]()
    for steps in (renames, [(time, new, old) for time, old, new in renames]):
        names = [str(place[1])]
        for name in names:
            names += [new for _, old, new in steps if old == name and new not in names]
        found |= {(place[0], name) for name in names}
    return found - {place}


def named_later(history: History, place: Place, since: datetime) -> set[Place]:
    """What a column was called later, by renames after a time: each step by the first rename after the one before."""
    (key, name), found = place, set[Place]()
    renames = _column_renames(history, key)
    while step := next(((time, new) for time, old, new in renames if old == name and time > since), None):
        since, name = step
        if (key, name) in found:
            break
        found.add((key, name))
    return found


def named_before(history: History, place: Place, until: datetime) -> dict[Place, datetime]:
    """What a column was called before, and until when: each step by the last rename until the one after."""
    key, name = place
    found: dict[Place, datetime] = {}
    renames = _column_renames(history, key)[::-1]
    while step := next(((time, old) for time, old, new in renames if new == name and time <= until), None):
        until, name = step
        if (key, name) in found:
            break
        found[key, name] = until
    return found


def _column_renames(history: History, key: str) -> list[tuple[datetime, str, str]]:
    """When columns of an object were renamed, from what to what; in order."""
    return sorted(
        (history.queries[ident].end, old, new)
        for ident, changed, change in history.changes
        for old, new in columns_renamed(change)
        if changed == key
    )


def enforcements(history: History) -> dict[Place, list[tuple[Query, str, str]]]:
    """By what is protected: the queries that enforced a policy on it, the kind of the policy and its key."""
    found: dict[Place, list[tuple[Query, str, str]]] = defaultdict(list)
    for query, _, key, _, column, policy in enforced(history, {}):
        found[key, column].append((query, policy["policyKind"], policy_key(policy)))
    return found


class OnlyEnforced(NamedTuple):
    """A mask that a query enforced outside of the times in which rows set it, and no later row has ended."""

    place: Place
    policy: str
    since: datetime
    until: datetime | None


def only_enforced(history: History) -> list[OnlyEnforced]:
    """Each until a row sets or unsets the policy on the column, replaces it, unsets it from a tag, or such a tag from
    the column or its object; or the column is dropped, or the object made anew: by the query itself, this read the
    former one. A query that starts before such a statement has ended says nothing about the time after it. It goes on
    under the new name of a column.
    """
    set_by_rows, every, found = masks(history), doings(history), []
    for place, queries in enforcements(history).items():
        for query, kind, policy in queries if place[1] else ():
            known = (one for one in set_by_rows.get(place, ()) if one.elements[0][0] == policy)
            if kind == "MASKING_POLICY" and not any(
                one.since <= query.start and (one.until is None or query.start < one.until) for one in known
            ):
                anew = first(*(start for start, end in _made(history, place[0]) if end >= query.start))
                found += _under_later_names(history, every, set_by_rows, OnlyEnforced(place, policy, query.start, anew))
    return found


def _under_later_names(
    history: History, every: list[Doing], set_by_rows: dict[Place, list[Masked]], one: OnlyEnforced
) -> Iterator[OnlyEnforced]:
    """A mask under the name of the column when it was enforced, and under each later one that it has until it ends."""
    (key, name), since = one.place, one.since
    renames = _column_renames(history, key)
    while True:
        known = [mask for mask in set_by_rows.get((key, name), ()) if mask.elements[0][0] == one.policy]
        ends = _enforcement_ends(history, every, (key, name), one.policy, {mask.until for mask in known})
        until = first(*(time for time, end in ends if time > since or (end and end >= since)), one.until)
        steps = ((time, new) for time, old, new in renames if old == name and time > since)
        renamed, new = next(steps, (None, ""))
        if renamed is None or (until is not None and until < renamed):
            yield OnlyEnforced((key, name), one.policy, since, until)
            return
        yield OnlyEnforced((key, name), one.policy, since, renamed)
        since, name = renamed, new


def _enforcement_ends(
    history: History, every: list[Doing], place: Place, policy: str, replaced: set[datetime | None]
) -> Iterator[tuple[datetime, datetime | None]]:
    """Start and end of the statements that end it; of the drop of a column its end alone. ``replaced``: when it was set
    by rows until.
    """
    masked_tags = {
        one.place[0] for one in every if one.element == policy and one.place[1] is None and _is_on_tag(one.place[0])
    }
    for one in every:
        is_policy = one.property == "maskingPolicies" and one.element == policy
        is_tag = one.property == "tags" and one.place in {place, (place[0], None)}
        if (
            (is_policy and one.place == place)
            or (one.property == "maskingPolicies" and one.place == place and one.query.start in replaced)
            or (is_policy and _is_on_tag(one.place[0]) and not one.sets)
            or (is_tag and not one.sets and any(is_one_tag(history, tag, one.element) for tag in masked_tags))
        ):
            yield one.query.start, one.query.end
    for _, ident, what in _operations(history, policy):
        if what == "REPLACE":
            yield history.queries[ident].start, history.queries[ident].end
    for ident, key, change in history.changes:
        columns = (change.get("properties") or {}).get("columns")
        told = columns.get(place[1] or "") if isinstance(columns, dict) and key == place[0] else None
        if isinstance(told, dict) and (told.get("subOperationType") or "").upper() == "DROP":
            yield history.queries[ident].end, None


def _is_on_tag(key: str) -> bool:
    return key.startswith("tag/")


def _made(history: History, key: str) -> Iterator[tuple[datetime, datetime]]:
    for ident, changed, change in history.changes:
        if changed == key and (change.get("operationType") or "").upper() in {"CREATE", "REPLACE"}:
            yield history.queries[ident].start, history.queries[ident].end
