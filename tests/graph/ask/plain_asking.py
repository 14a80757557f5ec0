"""How questions are asked of a history: times, names and kinds as ``docs/graph.md`` has them ("Questions")."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.facts import plain_reading as plain
from tests.graph.ask.plain_names import policies

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import datetime

    from tests.graph.ask.plain_history import History, Query

Row = tuple[Any, ...]
Given = dict[str, str]


def in_time(given: Given, start: datetime) -> bool:
    """``since`` is included and ``until`` is not."""
    since, until = given.get("since"), given.get("until")
    return (since is None or start >= plain.time(since)) and (until is None or start < plain.time(until))


def same_name(name: str | None, wanted: str) -> bool:
    """Names without quotes are found in any case."""
    return name is not None and (name == wanted or ('"' not in name + wanted and name.upper() == wanted.upper()))


def of_kind(key: str, wanted: str) -> bool:
    """``Table`` in any spelling; all kinds of tables are tables, and those of tables and users are stages."""
    own, kind = key.split("/", maxsplit=1)[0], plain.kind({"objectDomain": wanted})
    return own == kind or (kind == "stage" and own in ("table-stage", "user-stage"))


def domain(key: str) -> str:
    return key.split("/", maxsplit=1)[0].replace("-", " ").title()


def ident(key: str) -> str | None:
    rest = key.split("/", maxsplit=1)[1]
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
