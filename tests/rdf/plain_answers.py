"""The answers to the shipped questions, each by a plain reading of the rows: a set of rows, as the question's columns.

Written from the documents (``docs/graph.md``, "Questions", and Snowflake's guide), and from no query. Lists in a cell
are sorted and joined by ``, ``; times are datetimes; None is an empty cell.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any, Final

from tests.facts import plain_reading as plain
from tests.rdf import plain_history as past

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from datetime import datetime

    from tests.rdf.plain_history import Column, Copy, History, Query, State

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
    """``Table`` in any spelling; all kinds of tables are tables."""
    return plain.kind({"objectDomain": wanted}) == key.split("/", maxsplit=1)[0]


def domain(key: str) -> str:
    return key.split("/", maxsplit=1)[0].replace("-", " ").title()


def ident(key: str) -> str | None:
    rest = key.split("/", maxsplit=1)[1]
    return rest if rest.isdigit() else None


def _name(history: History, key: str, name: str | None) -> str | None:
    return name or history.label(key)


def listed(names: Iterable[str | None]) -> str:
    return ", ".join(sorted({name for name in names if name}))


def _objects(history: History, query: Query, kind: str) -> str:
    return listed(
        name or next(iter(history.places.get(key, ())), None)
        for (access, key), (name, _) in query.shown.items()
        if access == kind
    )


def _queries(history: History, given: Given) -> Iterator[Query]:
    return (query for query in history.queries.values() if in_time(given, query.start))


def user_history(history: History, given: Given) -> set[Row]:
    return {
        (one.user, one.query_id, one.start, _objects(history, one, "DIRECT"), _objects(history, one, "BASE"))
        for one in _queries(history, given)
        if given.get("user_name") in (None, one.user)
    }


def _accesses(history: History, given: Given) -> Iterator[tuple[Query, set[str]]]:
    """Queries that read an object as a base object, and its columns that they read."""
    for query in _queries(history, given):
        for (kind, key), (_, columns) in query.shown.items():
            if kind == "BASE" and ident(key) == given["object_id"] and of_kind(key, given.get("domain", "Table")):
                yield query, columns


def who_accessed(history: History, given: Given) -> set[Row]:
    return {(query.user,) for query, _ in _accesses(history, given)}


def when_accessed(history: History, given: Given) -> set[Row]:
    return {(query.query_id, query.start) for query, _ in _accesses(history, given)}


def columns_accessed(history: History, given: Given) -> set[Row]:
    return {(name,) for _, columns in _accesses(history, given) for name in columns}


def statements_of_request(history: History, given: Given) -> set[Row]:
    return {
        (one.query_id, one.parent, _objects(history, one, "DIRECT"))
        for one in history.queries.values()
        if one.parent == given["query_id"]
    }


def ancestors(history: History, given: Given) -> set[Row]:
    return {(one.query_id, one.parent, one.root, _objects(history, one, "DIRECT")) for one in _queries(history, given)}


def joins(history: History, given: Given) -> set[Row]:
    return {
        (row["query_id"], left.get("objectName"), kind.upper() if kind else None, partner.get("objectName"))
        for row in history.rows
        if in_time(given, plain.time(row["query_start_time"]))
        for _, left in plain.named(row.get("direct_objects_accessed"))
        for join in left.get("joinObjects") or []
        for partner in [join.get("node") or join.get("joinObject")]
        for kind in [join.get("joinType") or join.get("type")]
        if plain.key(partner)
    }


def column_lineage(history: History, given: Given) -> set[Row]:
    return {
        (ident(one.source.state.key), one.source_name, one.source.name or None, one.kind, one.target_name,
         one.target.name)
        for one in history.copies
        if in_time(given, history.queries[one.query_id].start)
        and ("target_object_name" not in given or same_name(one.target_name, given["target_object_name"]))
    }  # fmt: skip


def _enforced(history: History, given: Given) -> Iterator[tuple[Query, str, str, Any, str | None, Any]]:
    for row in history.rows:
        query = history.queries[row["query_id"]]
        for array, key, thing, column, policy in past.policies(row) if in_time(given, query.start) else ():
            yield query, array, key, thing, column, policy


def _policy_names(history: History, given: Given, kind: str) -> set[Row]:
    return {
        (policy["policyName"],)
        for _, array, _, _, _, policy in _enforced(history, given)
        if array == "policies_referenced" and policy["policyKind"] == kind
    }


def row_access_policies(history: History, given: Given) -> set[Row]:
    return _policy_names(history, given, "ROW_ACCESS_POLICY")


def masking_policies(history: History, given: Given) -> set[Row]:
    return _policy_names(history, given, "MASKING_POLICY")


def _policy_key(policy: Any) -> str:
    named = {"objectDomain": policy["policyKind"], "objectName": policy.get("policyName")}
    return str(plain.key({**named, "objectId": policy.get("policyId")}))


def enforced_policy(history: History, given: Given) -> set[Row]:
    """The last change of the policy's body before the query; a policy on a whole object only with such a change."""
    found = set()
    for query, _, _, _, column, policy in _enforced(history, {}):
        if query.query_id == given["query_id"]:
            key = _policy_key(policy)
            changed, text = _in_force(history, history.state(key, query))
            if column or changed:
                found.add((query.query_id, ident(key), changed, text))
    return found


def _in_force(history: History, state: State) -> tuple[datetime | None, str | None]:
    if state.query_id is None or state.dropped:
        return None, None
    texts = [
        past.body(change) for query_id, key, change in history.changes if (query_id, key) == (state.query_id, state.key)
    ]
    return history.queries[state.query_id].start, max((one for one in texts if one), default=None)


def policy_access(history: History, given: Given) -> set[Row]:
    return {
        (query.user, query.query_id, thing.get("objectName"), column, policy["policyName"], policy["policyKind"])
        for query, _, _, thing, column, policy in _enforced(history, given)
        if given.get("user_name") in (None, query.user)
    }


def tag_history(history: History, given: Given) -> set[Row]:
    return {
        (query.start, query.user, change["objectName"], column, doing.get("subOperationType"), tag,
         past.value(doing.get("tagValue")) or "")
        for query_id, _, change in history.changes
        for query in [history.queries[query_id]]
        if in_time(given, query.start) and same_name(change.get("objectName"), given["object_name"])
        for column, said in columns_of(change).items()
        if plain.said(column) and same_name(column, given["column_name"])
        for tag, doing in (said.get("tags") or {}).items()
    }  # fmt: skip


def columns_of(change: Any) -> dict[str, Any]:
    columns = (change.get("properties") or {}).get("columns")
    return columns if isinstance(columns, dict) else {}


READABLE: Final = ("table", "view", "stage", "table-stage", "user-stage", "stream")


def unused_objects(history: History, given: Given) -> set[Row]:
    """Nothing later than its drop is known of what is left out: no new version, and no read."""
    last: dict[str, datetime] = {}
    for query in history.queries.values():
        for _, key in query.shown:
            last[key] = max(query.start, last.get(key, query.start))
    keys = {key for row in history.rows for key, _ in history._named(row)}
    return {
        (history.label(key), domain(key), last.get(key))
        for key in keys
        if key.split("/", maxsplit=1)[0] in READABLE
        and (key not in last or last[key] < plain.time(given["since"]))
        and not _is_gone(history, key)
    }


def _is_gone(history: History, key: str) -> bool:
    events = history.events(key)
    if not events or events[-1][2] != past.DROPPED:
        return False
    reads = [(one.start, one.query_id) for one in history.queries.values() if key in one.data]
    return all(read <= events[-1][:2] for read in reads)


def writers(history: History, given: Given) -> set[Row]:
    return {
        (query.user, query.query_id, query.start)
        for query in _queries(history, given)
        for key, (name, _) in query.written.items()
        if same_name(name, given["object_name"]) and of_kind(key, given["domain"])
    }


def downstream_users(history: History, given: Given) -> set[Row]:
    starts = {
        key for key in history.held if any(same_name(one, given["object_name"]) for one in history.ever_called(key))
    }
    states = past.reached({state for key in starts for state in history.states(key)}, history.onward)
    last: dict[tuple[str, str], datetime] = {}
    for query in _queries(history, given):
        for key in {key for _, key in query.shown if query.data[key] in states}:
            last[query.user, key] = max(query.start, last.get((query.user, key), query.start))
    return {(user, history.label(key), time) for (user, key), time in last.items() if history.label(key)}


def lineage_as_of(history: History, given: Given) -> set[Row]:
    """Back from what was in the object at that time; nothing was in one that was dropped."""
    at = plain.time(given["at"])
    states = {
        history.state_at(key, at)
        for key, turns in history.held.items()
        for name, begin, end in turns
        if same_name(name, given["object_name"]) and begin <= at and (end is None or at < end)
    }
    back: dict[State, set[State]] = defaultdict(set)
    for one, others in history.onward.items():
        for other in others:
            back[other].add(one)
    found = past.reached({state for state in states if not state.dropped}, back)
    return {
        (_read_as(history, query, key), query.query_id, query.start)
        for query in history.queries.values()
        if found & set(query.makes.values())
        for key in query.data
    }


def _read_as(history: History, query: Query, key: str) -> str | None:
    names = [name for (_, one), (name, _) in query.shown.items() if one == key and name]
    names += [
        one.source_name
        for one in history.copies
        if one.query_id == query.query_id and one.source.state.key == key and one.source_name
    ]
    return names[0] if names else history.label(key)


# --- columns ----------------------------------------------------------------------------------------------------------


def _onward_from(history: History, copies: Iterable[Copy]) -> dict[tuple[str, str], set[Column]]:
    """By source column, in whatever state, all that its data reached."""
    starts: dict[tuple[str, str], set[Column]] = defaultdict(set)
    for copy in copies:
        if copy.source.name:
            starts[copy.source.state.key, copy.source.name].add(history.held_since(copy.source))
    return {column: past.reached(states, history.column_onward) for column, states in starts.items()}


def column_copies(history: History, given: Given) -> set[Row]:
    first = [
        one
        for one in history.copies
        if same_name(one.source_name, given["object_name"]) and same_name(one.source.name, given["column_name"])
    ]
    return {
        (one.target_name, domain(one.target.state.key), one.target.name)
        for source, columns in _onward_from(history, first).items()
        for one in history.copies
        if one.source in columns and (one.target.state.key, one.target.name) != source
    }


def root_cause(history: History, given: Given) -> set[Row]:
    """All copies that lead to one of the column's own; ``at``: of those, the ones made by then."""
    back: dict[Column, set[Column]] = defaultdict(set)
    for one, others in history.column_onward.items():
        for other in others:
            back[other].add(one)
    last = {
        one.target
        for one in history.copies
        if same_name(one.target_name, given["object_name"]) and same_name(one.target.name, given["column_name"])
        and ("at" not in given or history.queries[one.query_id].start <= plain.time(given["at"]))
    }  # fmt: skip
    columns = past.reached(last, back)
    return {
        (one.source_name, one.source.name or None, one.query_id, history.queries[one.query_id].start)
        for one in history.copies
        if one.target in columns
    }


def unmasked_copies(history: History, given: Given) -> set[Row]:
    """Copies of masked columns in states that hold their data, read by a query that enforced no mask on them."""
    masks: dict[tuple[str, str], set[str]] = defaultdict(set)
    masked_in: set[tuple[str, str, str]] = set()
    for query, _, key, _, column, policy in _enforced(history, {}):
        if column and policy["policyKind"] == "MASKING_POLICY":
            masks[key, column].add(policy["policyName"])
            masked_in.add((query.query_id, key, column))
    bare = _read_bare(history, given, masked_in)
    reached = _onward_from(history, [one for one in history.copies if (one.source.state.key, one.source.name) in masks])
    return {
        (history.label(masked[0]), masked[1], policy, one.target_name, one.target.name)
        for masked, columns in reached.items()
        for policy in masks[masked]
        for one in history.copies
        if one.source in columns and (one.target.state.key, one.target.name) != masked
        and bare & past.reached({one.target}, _kept(history))
    }  # fmt: skip


def _kept(history: History) -> dict[Column, set[Column]]:
    """From a state to the next of the same object."""
    found = {}
    for column, others in history.column_onward.items():
        found[column] = {one for one in others if one.name == column.name and history.prior(one.state) == column.state}
    return found


def _read_bare(history: History, given: Given, masked_in: set[tuple[str, str, str]]) -> set[Column]:
    return {
        past.Column(query.data[key], name)
        for query in _queries(history, given)
        for (_, key), (_, columns) in query.shown.items()
        for name in columns
        if (query.query_id, key, name) not in masked_in
    }


# --- movement ---------------------------------------------------------------------------------------------------------


def sensitive_data_movement(history: History, given: Given) -> set[Row]:
    """Every path; a step reads what the step before wrote, or a later state that goes on from it."""
    found: dict[Row, set[str]] = defaultdict(set)
    for query in history.queries.values():
        for key in query.keys("BASE"):
            name, _ = query.shown["BASE", key]
            if (
                same_name(name, given["object_name"]) and of_kind(key, given.get("domain", "Stage"))
                and ("since" not in given or query.start >= plain.time(given["since"]))
            ):  # fmt: skip
                _walk(history, given, found, query, (str(name),), (_chain(history, query.data[key]),))
    return {(*row, listed(columns)) for row, columns in found.items()}


def _chain(history: History, state: State) -> State:
    """The first state of those that go on from one another."""
    while (before := history.prior(state)) is not None:
        state = before
    return state


def _walk(
    history: History, given: Given, found: dict[Row, set[str]], query: Query, names: tuple[str, ...],
    chains: tuple[State, ...],
) -> None:  # fmt: skip
    """From a query on to each state that it made, and to the queries that read on from there."""
    if "until" in given and query.start >= plain.time(given["until"]):
        return
    for key, made in query.makes.items():
        chain = _chain(history, made)
        if chain in chains:
            continue
        name, columns = query.written.get(key, (None, set()))
        path = (*names, str(_name(history, key, name)))
        found["-->".join(path), path[-1], ident(key), domain(key)] |= columns
        for reader, state in _readers(history, key):
            if _chain(history, state) == chain and _is_at_or_after(history, state, made):
                _walk(history, given, found, reader, path, (*chains, chain))


def _readers(history: History, key: str) -> Iterator[tuple[Query, State]]:
    return ((query, query.data[key]) for query in history.queries.values() if key in query.keys("BASE"))


def _is_at_or_after(history: History, state: State | None, made: State) -> bool:
    while state is not None and state != made:
        state = history.prior(state)
    return state == made


ANSWERS: Final[dict[str, Callable[[History, Given], set[Row]]]] = {
    function.__name__.replace("_", "-"): function
    for function in (
        user_history, who_accessed, when_accessed, columns_accessed, statements_of_request, sensitive_data_movement,
        column_lineage, row_access_policies, masking_policies, enforced_policy, tag_history, ancestors, joins,
        unused_objects, column_copies, root_cause, downstream_users, writers, lineage_as_of, policy_access,
        unmasked_copies,
    )
}  # fmt: skip
