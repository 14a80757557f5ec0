"""The parameters of questions for the plain answers: times, names and kinds, as in ``docs/graph.md`` ("Questions")."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

from tests.ask.plain_names import matched, policies
from tests.facts import plain_reading as plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from datetime import datetime

    from tests.ask.plain_history import History, Query

Row = tuple[Any, ...]
Given = dict[str, str]


def each(given: Mapping[str, Sequence[str]]) -> Iterator[Given]:
    """Several values of parameters, one of each at a time."""
    for values in product(*given.values()):
        yield dict(zip(given, values, strict=True))


def in_time(given: Given, start: datetime) -> bool:
    """``since`` is included and ``until`` is not."""
    since, until = given.get("since"), given.get("until")
    return (since is None or start >= plain.time(since)) and (until is None or start < plain.time(until))


def same_user(name: str, wanted: str) -> bool:
    """Rows have users' names as they are stored: in quotes a name is exact, without them in any letter case."""
    return f'"{name}"' == wanted.replace('""', '"') if wanted.startswith('"') else name.upper() == wanted.upper()


def same_name(name: str | None, wanted: str) -> bool:
    return name is not None and matched(name) == matched(wanted)


class Meant(NamedTuple):
    """An object that is meant, from when (None: from the beginning) until when."""

    key: str
    since: datetime | None
    until: datetime | None

    def at(self, time: datetime) -> bool:
        return (self.since is None or self.since <= time) and (self.until is None or time < self.until)


def meant(history: History, given: Given, of_id: str | None = None, name: str = "object_name") -> list[Meant]:
    """Every object for as long as it had the name; what has it last, from the beginning. By an id, the object."""
    keys = history.keys
    if "object_id" in given:
        keys = {key for key in keys if ident(key) == given["object_id"]}
    wanted = given.get("domain", None if name in given else of_id)
    if wanted is not None:
        keys = {key for key in keys if of_kind(key, wanted)}
    if name not in given:
        return [Meant(key, None, None) for key in keys]
    turns = [
        (key, begin, end)
        for key, names in history.names.held.items()
        for one, begin, end in names
        if same_name(one, given[name])
    ]
    holding = [turn for turn in turns if _holds(turn, given)]
    return [
        Meant(key, None if (key, begin, end) in holding and _is_last(key, begin, holding) else begin, end)
        for key, begin, end in turns
        if key in keys
    ]


def _holds(turn: tuple[str, datetime, datetime | None], given: Given) -> bool:
    _, begin, end = turn
    if "at" in given:
        at = plain.time(given["at"])
        return begin <= at and (end is None or at < end)
    if "until" in given:
        until = plain.time(given["until"])
        return begin < until and (end is None or until <= end)
    return end is None


def _is_last(key: str, begin: datetime, holding: list[tuple[str, datetime, datetime | None]]) -> bool:
    """No other object of its kind, which tables and views are alike, got the name later."""
    kinds = {"table", "view"}
    own = key.split("/", maxsplit=1)[0]
    return not any(
        later > begin and ident(other) and (kind == own or {kind, own} <= kinds)
        for other, later, _ in holding
        for kind in [other.split("/", maxsplit=1)[0]]
    )


def of_kind(key: str, wanted: str) -> bool:
    """``Table`` in any spelling; all kinds of tables are tables, and those of tables and users are stages."""
    own, kind = key.split("/", maxsplit=1)[0], plain.kind({"objectDomain": wanted})
    return own == kind or (kind == "stage" and own in ("table-stage", "user-stage"))


def domain(key: str) -> str:
    return key.split("/", maxsplit=1)[0].replace("-", " ").title()


def ident(key: str) -> str | None:
    rest = key.split("/", maxsplit=1)[1].partition("@")[0]
    return rest if rest.isdigit() else None


def name_of(history: History, key: str, name: str | None) -> str | None:
    return name or history.names.label(key)


def listed(names: Iterable[str | None]) -> str:
    return ", ".join(sorted({name for name in names if name}))


def queries(history: History, given: Given) -> Iterator[Query]:
    return (query for query in history.queries.values() if in_time(given, query.start))


def enforced(history: History, given: Given) -> Iterator[tuple[Query, str, str, Any, str | None, Any]]:
    for row in history.rows:
        query = history.queries[row["query_id"]]
        for array, key, thing, column, policy in policies(row) if in_time(given, query.start) else ():
            yield query, array, key, thing, column, policy


def policy_key(policy: Any) -> str:
    named = {"objectDomain": policy["policyKind"], "objectName": policy.get("policyName")}
    return str(plain.key({**named, "objectId": policy.get("policyId")}))
