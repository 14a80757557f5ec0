"""The answers for stewards, computed in plain Python: readers of columns, unmasked reads, policies; and former
names.
"""

from __future__ import annotations

import json
from collections import defaultdict
from typing import TYPE_CHECKING, Any, Final

from tests.ask.plain_asking import enforced, ident, queries, same_name
from tests.ask.plain_meant import Asked, name_at, same_column
from tests.ask.plain_settings import (
    Masked,
    enforcements,
    held,
    is_gone,
    is_one_tag,
    masks,
    named_before,
    named_later,
    only_enforced,
)
from tests.facts import plain_reading as plain

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from tests.ask.plain_asking import Given, Row
    from tests.ask.plain_history import History, Query
    from tests.ask.plain_settings import Place

MASK: Final = "MASKING_POLICY"


def former_names(history: History, given: Given) -> set[Row]:
    """All names of every object that ever had the name."""
    meant = Asked(history, given)
    return {
        (ident(key), name, since, until)
        for key, turns in history.names.held.items()
        if meant.ever(key)
        for name, since, until in turns
    }


def _reads(history: History, given: Given) -> Iterator[tuple[Query, str, str]]:
    """Query, object and column of each read of what is asked for."""
    meant = Asked(history, given)
    for query in queries(history, given):
        for (_, key), (_, columns) in query.shown.items():
            if meant.at(key, query.start):
                yield from ((query, key, one) for one in columns if same_column(one, given.get("column_name")))


def column_readers(history: History, given: Given) -> set[Row]:
    return column_readers_of_all(history, [given])


def column_readers_of_all(history: History, every: Sequence[Given]) -> set[Row]:
    """To several values the answer is one: a query counts once."""
    reads: dict[str, dict[str, datetime]] = defaultdict(dict)
    for given in every:
        for query, _, _ in _reads(history, given):
            reads[query.user][query.query_id] = query.start
    return {(user, str(len(times)), max(times.values())) for user, times in reads.items()}


def unmasked_reads(history: History, given: Given) -> set[Row]:
    """Reads without a mask of a column on which one was set or enforced at some time, under this name, a later one, or
    a former one while it had that.
    """
    periods, points = masks(history), _enforced_at(history)
    for only in only_enforced(history):
        periods[only.place].append(Masked(only.since, only.until, ((only.policy, only.since),), only.since))
    guarded = {
        (query.query_id, place)
        for place, every in enforcements(history).items()
        for query, kind, _ in every
        if kind == MASK
    }
    starts = {
        place: {mask.done for mask in periods.get(place, ())} | points.get(place, set())
        for place in periods.keys() | points.keys()
    }
    cut = {row["query_id"] for row in history.rows if '"TRUNCATED"' in json.dumps(row.get("policies_referenced"))}
    of_whole = {
        (query.query_id, key)
        for query, _, key, _, column, policy in enforced(history, {})
        if policy["policyKind"] == MASK and not column
    }
    found = set()
    for query, key, column in _reads(history, given):
        place = (key, column)
        held_by, times = periods.get(place, []), points.get(place, set())
        later = named_later(history, place, query.start)
        is_masked_later = any(periods.get(one) or points.get(one) for one in later)
        before = {
            start
            for one, until in named_before(history, place, query.start).items()
            for start in starts.get(one, ())
            if start < until
        }
        if (query.query_id, place) not in guarded and (held_by or times or is_masked_later or before):
            is_unknown = query.query_id in cut or (query.query_id, key) in of_whole
            word = "UNKNOWN" if is_unknown else _word(history, query, held_by, times | before)
            found.add((query.user, query.query_id, query.start, name_at(history, key, query.start), column, word))
    return found


def agent_reads(history: History, given: Given) -> set[Row]:
    """A row for each agent of a query, and each column of what the query read. No view of the random histories is read
    by an agent under a mask, so what is behind views is left to ``tests/ask/test_agents.py``.
    """
    every = [(row, agent) for row in history.rows for agent in row.get("agents_info") or []]
    names: dict[tuple[str | None, ...], set[str]] = defaultdict(set)
    for _, agent in every:
        names[_agent(agent)] |= {agent["agentName"]} if agent.get("agentName") else set()
    masked = {
        (query.query_id, place) for place, of in enforcements(history).items() for query, kind, _ in of if kind == MASK
    }
    by_query = {query.query_id: query for query in queries(history, given)}
    found = set()
    for row, agent in every:
        query, called = by_query.get(row["query_id"]), names[_agent(agent)]
        wanted = given.get("agent_name")
        if query is None or (wanted is not None and not any(same_name(name, wanted) for name in called)):
            continue
        who = (", ".join(sorted(called)) or None, agent.get("agentType"), query.user, query.query_id, query.start)
        for (_, key), (name, columns) in query.shown.items():
            for column in columns or {None}:
                word = "MASKED" if (query.query_id, (key, column)) in masked else "CLEAR"
                found.add((*who, name, column, word if column else None))
    return found


def _agent(agent: dict[str, Any]) -> tuple[str | None, ...]:
    """An agent is known by its id, and by its name where it has none."""
    ident = agent.get("agentId")
    return (
        agent.get("agentType"),
        None if ident is None else str(ident),
        agent.get("agentName") if ident is None else None,
    )


def _word(history: History, query: Query, periods: list[Masked], points: set[datetime]) -> str:
    """A mask that is being set is not there yet, unless another one was until then."""
    if not any(start <= query.start for start in {one.done for one in periods} | points):
        return "BEFORE"
    return "WHILE" if any(one.is_for(history, query) for one in periods) else "AFTER"


def _enforced_at(history: History) -> dict[Place, set[datetime]]:
    return {
        place: times
        for place, every in enforcements(history).items()
        if place[1] and (times := {query.start for query, kind, _ in every if kind == MASK})
    }


def policy_coverage(history: History, given: Given) -> set[Row]:
    """Tags and policies that are set on a place; a policy set on a tag holds where the tag is; one that the last read
    of the place enforced holds, too, unless it was taken away since.
    """
    at = plain.time(given["at"]) if "at" in given else None
    every = [
        one
        for one in held(history)
        if one.is_at(at) and not is_gone(history, at, one.doing.place[0], one.doing.element)
    ]
    tags: dict[Place, set[tuple[str, str | None]]] = defaultdict(set)
    policies: dict[Place, set[str]] = defaultdict(set)
    for one in every:
        if one.doing.property == "tags":
            tags[one.doing.place].add((one.doing.element, one.doing.said))
        else:
            policies[one.doing.place].add(one.doing.element)
    asked = Asked(history, given)
    return {
        (
            name_at(history, place[0], at), place[1],
            ", ".join(sorted({_tag(history, tag, said, at) for tag, said in tagged})),
            ", ".join(sorted({str(name_at(history, one, at)) for one in
                              policies[place].union(*_on_tags(history, policies, {tag for tag, _ in tagged}))})),
        )
        for place, tagged in tags.items()
        if asked.at(place[0], at) and any(is_wanted(history, tag, given) for tag, _ in tagged)
    }  # fmt: skip


def _on_tags(history: History, policies: dict[Place, set[str]], tags: set[str]) -> Iterator[set[str]]:
    """The policies that are set on any of the tags."""
    for (key, column), found in policies.items():
        if column is None and any(is_one_tag(history, key, tag) for tag in tags):
            yield found


def is_wanted(history: History, tag: str, given: Given) -> bool:
    """A tag is asked for by any of its names."""
    return "tag_name" not in given or any(same_name(one, given["tag_name"]) for one in history.names.ever_called(tag))


def _tag(history: History, key: str, said: str | None, at: datetime | None) -> str:
    name = str(name_at(history, key, at))
    return f"{name}={said}" if said else name
