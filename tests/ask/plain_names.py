"""All names in rows: every object, tag and policy that a row names, and the names that each had."""

from __future__ import annotations

import re
from collections import defaultdict
from datetime import timedelta
from functools import cached_property
from itertools import pairwise, permutations
from typing import TYPE_CHECKING, Any, Final

from tests.facts import plain_reading as plain

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from datetime import datetime

Json = dict[str, Any]


_PART: Final = r'("(?:[^"]|"")+"|[^."]+)'


def matched(name: str) -> str:
    """Letter case counts in quotes alone, and quotes around an ordinary name in upper case say nothing."""
    if '"' in name and not re.fullmatch(rf"{_PART}(?:\.{_PART})*", name):
        return name
    parts = re.findall(_PART, name) if '"' in name else [name]
    return ".".join(
        part.upper() if '"' not in part else part.strip('"') if re.fullmatch('"[A-Z_][A-Z0-9_$]*"', part) else part
        for part in parts
    )


class Names:
    """``places``: the locations of objects that have one."""

    def __init__(self, rows: list[Json]) -> None:
        self._rows = rows
        self.places: dict[str, set[str]] = defaultdict(set)

    @cached_property
    def held(self) -> dict[str, list[tuple[str, datetime, datetime | None]]]:
        """By object the names that it had, each from when on and until when, in their order.

        A name holds from where it is first seen, or from the change that gives it, until another is seen. At one time
        what a change gives comes last. Several changes of one time go on from each other's names, if there is one way
        to do so; beyond that the rows do not tell, and names go by the alphabet.
        """
        seen: dict[str, dict[tuple[datetime, str], int]] = defaultdict(dict)
        by_query: dict[tuple[str, datetime], dict[str, dict[str, int]]] = defaultdict(lambda: defaultdict(dict))
        for key, time, name, given, query in self._sightings():
            seen[key][time, name] = max(given, seen[key].get((time, name), 0))
            in_query = by_query[key, time][query]
            in_query[name] = max(given, in_query.get(name, 0))
        return {key: _turns([(time, given, name) for time, given, _, name in sorted(
                    (time, given, _place(name, by_query[key, time].values()), name)
                    for (time, name), given in found.items())])
                for key, found in seen.items()}  # fmt: skip

    def end(self, key: str, time: datetime) -> None:
        """The last name of an object ends, yet not before what is seen of it."""
        name, begin, _ = self.held[key][-1]
        seen = self.last_seen(key)
        self.held[key][-1] = name, begin, max(time, seen + timedelta(microseconds=1))

    def last_seen(self, key: str) -> datetime:
        """When a row last names the object."""
        return max(at for one, at, *_ in self._sightings() if one == key)

    def label(self, key: str) -> str | None:
        """The latest name; a place goes by itself, and what no row names by its id."""
        if key in self.held:
            return self.held[key][-1][0]
        rest = key.split("/", maxsplit=1)[1]
        return min(self.places.get(key) or [""]) or (rest if rest.isdigit() else None)

    def called_at(self, key: str, time: datetime) -> str | None:
        """The name at a time; what never had one then goes by the latest, a place by itself."""
        then = [name for name, begin, end in self.held.get(key, []) if begin <= time and (end is None or time < end)]
        return then[0] if then else self.label(key)

    def ever_called(self, key: str) -> set[str]:
        return {name for name, _, _ in self.held.get(key, [])}

    def _sightings(self) -> Iterator[tuple[str, datetime, str, int, str]]:
        for row in self._rows:
            time = plain.time(row["query_start_time"])
            for key, name in self.named(row):
                if plain.said(name):
                    yield key, time, str(name), 0, row["query_id"]
            change = row.get("object_modified_by_ddl") or {}
            for given in ("objectName", "swapTargetName"):
                name = plain.said(value((change.get("properties") or {}).get(given)))
                if name and plain.number(change.get("objectId")):
                    yield str(plain.key(change)), time, name, 1, row["query_id"]

    def named(self, row: Json) -> Iterator[tuple[str, str | None]]:
        """Every object that the row shows, with its name."""
        for array in (*plain.READS.values(), "objects_modified"):
            for key, thing in plain.named(row.get(array)):
                yield key, thing.get("objectName")
                if thing.get("location"):
                    self.places[key].add(thing["location"])
                yield from _inside(thing)
        for array in plain.POLICIES:
            for key, thing in plain.named(row.get(array)):
                policies = list(_policies(thing))
                for _, policy in policies:
                    yield key, thing.get("objectName")
                    yield _key_of(policy.get("policyKind"), policy.get("policyId"), policy.get("policyName"))
        change = row.get("object_modified_by_ddl")
        if change and (key := plain.key(change)):
            yield key, change.get("objectName")
            name = plain.said(value((change.get("properties") or {}).get("objectName")))
            if name and key.split("/")[1] == "name" and key.split("/")[0] in ("stage", "stream", "table", "view"):
                # Known by its name alone: what has the new one is another object.
                yield plain.key({"objectDomain": change.get("objectDomain"), "objectName": name}) or "", name
            yield from _beside(change)


def _place(name: str, queries: Collection[dict[str, int]]) -> int:
    """Where a name is among those that queries of one time give, each before and after; 0 where that is not clear."""
    changes = [names for names in queries if max(names.values())]
    moves = [([matched(one) for one in names if not names[one]], [matched(one) for one in names if names[one]])
             for names in changes]  # fmt: skip
    if not 1 < len(moves) < 7 or any(len(before) > 1 or len(after) > 1 for before, after in moves):
        return 0
    ways = {
        tuple(after[0] for _, after in ordered)
        for ordered in permutations(moves)
        if all(one[1] == following[0] for one, following in pairwise(ordered))
        if not any(one[1] == ordered[0][0] for one in ordered[-1:])  # a circle begins anywhere
    }
    (way,) = ways if len(ways) == 1 else [()]
    return max((number for number, one in enumerate(way) if one == matched(name)), default=0)


def _turns(seen: list[tuple[datetime, int, str]]) -> list[tuple[str, datetime, datetime | None]]:
    begins = [one for place, one in enumerate(seen) if not place or matched(seen[place - 1][2]) != matched(one[2])]
    ends: list[datetime | None] = [time for time, _, _ in begins[1:]]
    return [(name, time, end) for (time, _, name), end in zip(begins, [*ends, None], strict=True)]


def _inside(thing: Json) -> Iterator[tuple[str, str | None]]:
    """The partners of its joins, and the sources of its columns where it is written."""
    for join in thing.get("joinObjects") or []:
        partner = join.get("node") or join.get("joinObject") or {}
        if key := plain.key(partner):
            yield key, partner.get("objectName")
    for column in thing.get("columns") or []:
        for spellings in plain.SOURCES.values() if plain.said(column.get("columnName")) else ():
            for source in (one for spelling in spellings for one in column.get(spelling) or []):
                if key := plain.key({name: part for name, part in source.items() if name != "location"}):
                    yield key, source.get("objectName")


def _policies(thing: Json) -> Iterator[tuple[str | None, Json]]:
    """Column (None: the whole object) and policy."""
    for policy in thing.get("policies") or []:
        yield None, policy
    for column in thing.get("columns") or []:
        for policy in column.get("policies") or []:
            yield plain.said(column.get("columnName")), policy


def _beside(change: Json) -> Iterator[tuple[str, str | None]]:
    """What a change names beside its object: the other one of a SWAP or CLONE, tags and policies."""
    properties = change.get("properties") or {}
    for role in ("swapTarget", "cloneSource"):
        domain, ident, name = (value(properties.get(f"{role}{part}")) for part in ("Domain", "Id", "Name"))
        if ident is not None or name is not None:
            yield _key_of(domain or change.get("objectDomain"), ident, name)
    for granted in (value(properties.get(name)) for name in ("grant", "revoke")):
        if isinstance(granted, dict) and granted.get("SECURABLE_OBJECT_NAME"):
            yield _key_of(*(granted.get(f"SECURABLE_OBJECT_{part}") for part in ("DOMAIN", "ID", "NAME")))
    columns = properties.get("columns")
    for where in (properties, *(columns.values() if isinstance(columns, dict) else ())):
        for kind, domain in (("tags", "TAG"), ("maskingPolicies", "MASKING POLICY"),
                             ("rowAccessPolicies", "ROW ACCESS POLICY")):  # fmt: skip
            for name, element in (where.get(kind) or {}).items():
                yield _key_of(domain, value(element.get("objectId")), name)


def _key_of(domain: Any, ident: Any, name: Any) -> tuple[str, str | None]:
    thing = {"objectDomain": domain or "POLICY", "objectId": ident, "objectName": name}
    return plain.key(thing) or "", name


def value(given: Any) -> Any:
    """Of ``{"value": x}``, x."""
    return given.get("value") if isinstance(given, dict) else given


def body(change: Json) -> str | None:
    """The policy body that a change sets."""
    return plain.said(_body(change))


def gives_body(change: Json) -> bool:
    """Whether a change sets a policy body, also one that was cut."""
    return body(change) is not None or _body(change) == "TRUNCATED"


def _body(change: Json) -> Any:
    return value((change.get("properties") or {}).get("policyBody"))


def policies(row: Json) -> Iterator[tuple[str, str, Json, str | None, Json]]:
    """Array, key and thing, column (None: the whole thing) and policy of each enforcement."""
    for array in plain.POLICIES:
        for key, thing in plain.named(row.get(array)):
            for column, policy in _policies(thing):
                yield array, key, thing, column, policy
