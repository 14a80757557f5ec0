"""The answers to the shipped questions, each computed in plain Python from the rows: a set of rows with the question's
columns.

Written from the documents (``docs/graph.md``, "Questions", and Snowflake's guide), not from the queries. Lists in a
cell are sorted and joined by ``, ``; times are datetimes; None is an empty cell.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any, Final

from tests.ask import plain_history as past
from tests.ask.plain_asking import (
    Given,
    Row,
    domain,
    each,
    enforced,
    ident,
    in_time,
    listed,
    meant,
    name_of,
    policy_key,
    queries,
    same_name,
    same_user,
)
from tests.ask.plain_changes import changes
from tests.ask.plain_end_up import end_up, end_up_of_all
from tests.ask.plain_governance import (
    agent_reads,
    column_readers,
    column_readers_of_all,
    former_names,
    policy_coverage,
    unmasked_reads,
)
from tests.ask.plain_grants import exposure
from tests.ask.plain_lineage import (
    column_copies,
    downstream_users,
    lineage_as_of,
    root_cause,
    sensitive_data_movement,
    unmasked_copies,
)
from tests.ask.plain_names import body, value
from tests.ask.plain_tags import tag_reach
from tests.facts import plain_reading as plain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from datetime import datetime

    from tests.ask.plain_history import History, Query, State


def _objects(history: History, query: Query, *kinds: str) -> str:
    return listed(
        name or next(iter(history.names.places.get(key, ())), None) or name_of(history, key, None) or ident(key)
        for (access, key), (name, _) in query.shown.items()
        if access in kinds
    )


def user_history(history: History, given: Given) -> set[Row]:
    return {
        (
            one.user,
            one.query_id,
            one.start,
            _objects(history, one, "DIRECT"),
            _objects(history, one, "BASE", "PROVIDER_BASE"),
        )
        for one in queries(history, given)
        if "user_name" not in given or same_user(one.user, given["user_name"])
    }


def _accesses(history: History, given: Given) -> Iterator[tuple[Query, set[str]]]:
    """Queries that read an object, in whatever array the row has it, and its columns that they read."""
    things = meant(history, given, of_id="Table")
    for query in queries(history, given):
        for (_, key), (_, columns) in query.shown.items():
            if any(one.key == key and one.at(query.start) for one in things):
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
    return {(one.query_id, one.parent, one.root, _objects(history, one, "DIRECT")) for one in queries(history, given)}


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
    targets = meant(history, given, name="target_object_name")
    return {
        (ident(one.source.state.key), one.source_name, one.source.name or None, one.kind, one.target_name,
         one.target.name)
        for one in history.copies
        if in_time(given, history.queries[one.query_id].start)
        and any(
            thing.key == one.target.state.key and thing.at(history.queries[one.query_id].start) for thing in targets
        )
    }  # fmt: skip


def _policy_names(history: History, given: Given, kind: str) -> set[Row]:
    return {
        (policy["policyName"],) for _, _, _, _, _, policy in enforced(history, given) if policy["policyKind"] == kind
    }


def row_access_policies(history: History, given: Given) -> set[Row]:
    return _policy_names(history, given, "ROW_ACCESS_POLICY")


def masking_policies(history: History, given: Given) -> set[Row]:
    return _policy_names(history, given, "MASKING_POLICY")


def enforced_policy(history: History, given: Given) -> set[Row]:
    """The last change of the policy's body before the query; a policy on a whole object only with such a change."""
    found = set()
    for query, _, _, _, column, policy in enforced(history, {}):
        if query.query_id == given["query_id"]:
            key = policy_key(policy)
            changed, text = _in_force(history, history.state(key, query))
            if column or changed:
                found.add((query.query_id, ident(key), changed, text))
    return found


def _in_force(history: History, state: State) -> tuple[datetime | None, str | None]:
    """When the body of a policy was given, and the body: that of an UNDROP is the one before."""
    if state.query_id is None or state.dropped:
        return None, None
    changes = [change for query_id, key, change in history.changes if (query_id, key) == (state.query_id, state.key)]
    texts = [text for change in changes if (text := body(change))]
    before = history.prior(state)
    if before and not texts and any((change.get("operationType") or "").upper() == "UNDROP" for change in changes):
        return _in_force(history, before)
    return history.queries[state.query_id].start, max(texts, default=None)


def policy_access(history: History, given: Given) -> set[Row]:
    return {
        (query.user, query.query_id, thing.get("objectName"), column, policy["policyName"], policy["policyKind"])
        for query, _, _, thing, column, policy in enforced(history, given)
        if "user_name" not in given or same_user(query.user, given["user_name"])
    }


def tag_history(history: History, given: Given) -> set[Row]:
    things = meant(history, given)
    return {
        (query.start, query.user, name_of(history, key, plain.said(change.get("objectName"))), column,
         doing.get("subOperationType"), tag, value(doing.get("tagValue")) or "")
        for query_id, key, change in history.changes
        for query in [history.queries[query_id]]
        if in_time(given, query.start) and any(one.key == key and one.at(query.start) for one in things)
        for column, said in columns_of(change).items()
        if plain.said(column) and _is_history_of(history, given["column_name"], key, column, query.start)
        for tag, doing in (said.get("tags") or {}).items()
    }  # fmt: skip


def _is_history_of(history: History, wanted: str, key: str, column: str, time: datetime) -> bool:
    """Whether a column has the name, or had another one at that time and was given the name later."""
    if same_name(column, wanted):
        return True
    renames = [
        (old, new, history.queries[ident].start)
        for ident, one, change in history.changes
        if one == key
        for old, new in past.columns_renamed(change)
    ]
    later = past.reached({new for old, new, at in renames if old == column and at >= time},
                         {old: {new for one, new, _ in renames if one == old} for old, _, _ in renames})  # fmt: skip
    return any(same_name(name, wanted) for name in later)


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
    keys = {key for row in history.rows for key, _ in history.names.named(row)}
    return {
        (history.names.label(key), domain(key), last.get(key))
        for key in keys
        if key.split("/", maxsplit=1)[0] in READABLE
        and "@" not in key  # only its own account can drop it
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
    things = meant(history, given)
    return {
        (query.user, query.query_id, query.start)
        for query in queries(history, given)
        for key in query.written
        if any(one.key == key and one.at(query.start) for one in things)
    }


QUESTIONS: Final = {
    "user-history": ("[user_name] …", "user_name query_id query_start_time direct_objects base_objects"),
    "who-accessed": ("object_id [domain=Table] … |object_name", "user_name"),
    "when-accessed": ("object_id [domain=Table] … |object_name", "query_id query_start_time"),
    "columns-accessed": ("object_id [domain=Table] … |object_name", "column_name"),
    "statements-of-request": ("query_id", "query_id parent_query_id direct_objects"),
    "sensitive-data-movement": (
        "object_name [domain=Stage] … |object_id",
        "path target_name target_id target_domain target_columns",
    ),
    "column-lineage": (
        "[target_object_name] … [object_id] [helpers=shown] [domain]",
        (
            "source_object_id source_object_name source_column_name source_column_type "
            "target_object_name target_column_name"
        ),
    ),
    "row-access-policies": ("…", "policy_name"),
    "masking-policies": ("…", "policy_name"),
    "enforced-policy": ("query_id", "query_id policy_id policy_changed_time policy_body"),
    "tag-history": (
        "object_name column_name … |object_id [domain]",
        "query_start_time user_name table_name column_name operation tag_name value",
    ),
    "ancestors": ("…", "query_id parent_query_id root_query_id direct_objects"),
    "joins": ("…", "query_id left_object join_type right_object"),
    "unused-objects": ("since", "object_name domain last_read"),
    "column-copies": (
        "object_name column_name |object_id [domain]",
        "target_object_name target_domain target_column_name",
    ),
    "root-cause": (
        "object_name column_name [at] |object_id [domain]",
        "source_object_name source_column_name query_id query_start_time",
    ),
    "downstream-users": ("object_name … |object_id [domain]", "user_name object_name last_read"),
    "writers": ("object_name [domain] … |object_id", "user_name query_id query_start_time"),
    "lineage-as-of": ("object_name at |object_id [domain]", "source_object_name query_id query_start_time"),
    "policy-access": ("[user_name] …", "user_name query_id object_name column_name policy_name policy_kind"),
    "unmasked-copies": (
        "…",
        "source_object_name source_column_name policy_name target_object_name target_column_name",
    ),
    "end-up": (
        "object_name [column_name] |object_id [domain] …",
        "target_name target_domain target_column_name first_time known_by",
    ),
    "unmasked-reads": (
        "[object_name] [column_name] [object_id] [domain] …",
        "user_name query_id query_start_time object_name column_name mask",
    ),
    "policy-coverage": (
        "[tag_name] [at] [object_name] [object_id] [domain]",
        "object_name column_name tags policies",
    ),
    "tag-reach": (
        "[tag_name] [at] [stop_at]",
        "source_object_name source_column_name tag_name value target_object_name target_column_name",
    ),
    "exposure": (
        "[object_name] [at] [object_id] [domain]",
        "object_name domain privilege grantee granted_to query_id query_start_time",
    ),
    "changes": ("since [until]", "change object_name column_name user_name query_id query_start_time"),
    "column-readers": ("object_name column_name … |object_id [domain]", "user_name queries last_read"),
    "agent-reads": (
        "[agent_name] …",
        "agent_name agent_type user_name query_id query_start_time object_name column_name mask",
    ),
    "former-names": ("object_name |object_id [domain]", "object_id name valid_from valid_until"),
}
"""What scripts rely on: parameters (``…``: since and until, which may be left out) and columns, in their order."""

ANSWERS: Final[dict[str, Callable[[History, Given], set[Row]]]] = {
    function.__name__.replace("_", "-"): function
    for function in (
        user_history, who_accessed, when_accessed, columns_accessed, statements_of_request, sensitive_data_movement,
        column_lineage, row_access_policies, masking_policies, enforced_policy, tag_history, ancestors, joins,
        unused_objects, column_copies, root_cause, downstream_users, writers, lineage_as_of, policy_access,
        unmasked_copies, end_up, unmasked_reads, policy_coverage, changes, column_readers, former_names,
        exposure, agent_reads, tag_reach,
    )
}  # fmt: skip


_OF_ALL: Final = {"end-up": end_up_of_all, "column-readers": column_readers_of_all}


def answers(question: str, history: History, given: Mapping[str, Sequence[str]]) -> set[Row]:
    """What the question answers to several values: the answers to each, in one."""
    if question in _OF_ALL:
        return _OF_ALL[question](history, list(each(given)))
    return in_one(question, set().union(*(ANSWERS[question](history, one) for one in each(given))))


def _all(lists: Iterable[str]) -> str:
    return listed(name for one in lists for name in one.split(", "))


_OF_THE_SAME: Final[dict[str, dict[int, Callable[[Iterable[Any]], Any]]]] = {
    "downstream-users": {2: max},
    "sensitive-data-movement": {4: _all},
}
"""What a question lists, or says the first or last of, by the place of the column: for all rows of which the
other cells are the same.
"""


def in_one(question: str, rows: Iterable[Row]) -> set[Row]:
    """The answers to several values, or about several accounts, as one."""
    of_the_same = _OF_THE_SAME.get(question, {})
    alike: dict[Row, list[Row]] = defaultdict(list)
    for row in rows:
        alike[tuple(cell for place, cell in enumerate(row) if place not in of_the_same)].append(row)
    return {
        tuple(
            of_the_same[place](row[place] for row in same) if place in of_the_same else cell
            for place, cell in enumerate(same[0])
        )
        for same in alike.values()
    }
