"""The facts of a query, as plain values with natural keys; and the limits on them.

Keys
----
``account``   ORG-ACCOUNT, the authority of the namespace ``snowflake://ORG-ACCOUNT``.
``query_id``  as in the view; with ``account`` the key of a query.
object key    the natural key of an object within its account, and its path in the graph: ``table/66564`` by id,
              ``table/name/DB.SCH.T1`` by name if no id is given, ``location/s3%3A%2F%2Fbucket%2Fa.csv`` for a
              location outside Snowflake.
change key    the natural key of a DDL change within its query.

Times are microseconds since 1970 in UTC. ``None`` always means "the row does not say".

A query with more objects or derivations than the limits is quarantined with a reason, so that memory and time are
bounded: derivations grow with reads times writes. Real statements stay far below, since their text is at most 1 MB.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from exporter.input.query_history import NO_HISTORY, History


class ObjectReference(Struct, array_like=True, frozen=True, order=True, gc=False):
    """What a row says where it names an object. ``domain`` is in upper case, ``object_id`` is digits, ``account`` is
    the row's accountName for an object of another account.
    """

    key: str
    kind: str
    domain: str | None = None
    object_id: str | None = None
    name: str | None = None
    signature: str | None = None
    data_type: str | None = None
    stage_kind: str | None = None
    location: str | None = None
    account: str | None = None


class Column(Struct, array_like=True, frozen=True, order=True, gc=False):
    """A column that a row lists; ``column_id`` is None if the row gives none."""

    name: str
    column_id: str | None = None


class Access(Struct, array_like=True, frozen=True, gc=False):
    """An object read. ``access``: DIRECT, BASE, PROVIDER_BASE; columns by name (view, direct_objects_accessed)."""

    access: str
    thing: ObjectReference
    columns: tuple[Column, ...] = ()


class Write(Struct, array_like=True, frozen=True, gc=False):
    """An object written, with its columns that were written (view, objects_modified)."""

    thing: ObjectReference
    columns: tuple[Column, ...] = ()


class Derivation(Struct, array_like=True, frozen=True, gc=False):
    """A source of a written column. ``source_type``: DIRECT or BASE. ``source_column``: None if the source is a
    function or a procedure (guide, "Column lineage").
    """

    target_key: str
    target_name: str | None
    target_column: str
    source_type: str
    source: ObjectReference
    source_column: str | None


class PolicyReference(Struct, array_like=True, frozen=True, gc=False):
    """A policy that was enforced on an object or on one of its columns. ``policy_kind``: MASKING_POLICY,
    ROW_ACCESS_POLICY, or another (view, policies_referenced). ``provider``: it is a policy of the data's provider.
    """

    protected: ObjectReference
    column_name: str | None
    column_id: str | None
    policy_key: str
    policy_kind: str
    policy_id: str | None
    policy_name: str | None
    provider: bool


class Join(Struct, array_like=True, frozen=True, gc=False):
    """A join between two objects that a query read (guide, "Joins"). ``left``: the one that lists the other."""

    left: ObjectReference
    join_type: str | None
    right: ObjectReference


class Setting(Struct, array_like=True, frozen=True, gc=False):
    """An atomic property of a change (``element`` is None), or one element of a compound property. ``column_name``: the
    column that it is set on, None for the object itself. ``element_key``: the object key of a tag or policy; one
    whose name Snowflake cut has its id as ``element``.
    ``sub_operation``: ADD, DROP, ALTER.
    """

    change_key: str
    object_key: str
    column_name: str | None
    property: str
    element: str | None
    element_key: str | None
    element_id: str | None
    sub_operation: str | None
    value: str | None

    def name_of_element(self) -> str | None:
        """The name of the element; None if it is known by its id alone, because Snowflake cut the name."""
        return None if self.element == self.element_id else self.element


class Grant(Struct, array_like=True, frozen=True, gc=False):
    """A grant or, with ``is_revoked``, a revoke. ``privilege``: in upper case; it holds on ``thing``, or on all objects
    of the domain ``on_all`` in ``thing``. None: ``thing`` itself is granted (a role, or a share to an account).
    ``grantee``: None in a revoke means all accounts. A revoked privilege can be :data:`exporter.model.grants.ANY`.
    """

    privilege: str | None
    thing: ObjectReference
    on_all: str | None
    grantee: ObjectReference | None
    is_revoked: bool


class Change(Struct, array_like=True, frozen=True, gc=False):
    """A DDL change (view, object_modified_by_ddl). ``operation``: the view's word in upper case. ``properties``: the
    JSON of the row; ``normal``: the same in the one form of :mod:`exporter.input.properties`. ``swap_*``: the partner
    of a SWAP; ``source_*``: the source of a CLONE or LIKE. Their values are as in the row; ``*_key`` is None if the row
    names no such object.
    """

    change_key: str
    thing: ObjectReference
    operation: str
    new_name: str | None = None
    swap_key: str | None = None
    swap_name: str | None = None
    swap_id: str | None = None
    swap_domain: str | None = None
    source_key: str | None = None
    source_name: str | None = None
    source_id: str | None = None
    source_domain: str | None = None
    policy_body: str | None = None
    comment: str | None = None
    properties: str | None = None
    settings: tuple[Setting, ...] = ()
    grants: tuple[Grant, ...] = ()
    normal: str | None = None


class Agent(Struct, array_like=True, frozen=True, gc=False):
    """A software agent of agents_info."""

    agent_type: str | None
    agent_id: str | None
    agent_name: str | None


class Content(Struct, array_like=True, frozen=True, gc=False):
    """What a statement did, independent of who ran it and when. Every tuple is sorted by key, with each key once.
    ``incomplete``: sorted texts ``PLACE REASON`` for what Snowflake truncated or left without a name, what is not
    understood, and streams that it does not name (:mod:`exporter.model.views`). ``truncates``: it was a TRUNCATE
    TABLE: what it wrote is empty after it. Only QUERY_HISTORY says so, so it is part of the content. ``also_named``:
    things under further names, where rows give one id several names in one place and the fact has the least of them;
    and routines with further data types, in the same way.
    """

    accesses: tuple[Access, ...] = ()
    writes: tuple[Write, ...] = ()
    derivations: tuple[Derivation, ...] = ()
    policies: tuple[PolicyReference, ...] = ()
    joins: tuple[Join, ...] = ()
    changes: tuple[Change, ...] = ()
    agents: tuple[Agent, ...] = ()
    incomplete: tuple[str, ...] = ()
    truncates: bool = False
    also_named: tuple[ObjectReference, ...] = ()


class QueryFacts(Struct, array_like=True, frozen=True, gc=False):
    """A query: who ran it and when, and what it did. ``start``: the earliest query_start_time of its rows.
    ``row_count``: its rows in the view without exact duplicates. ``unknown_columns``: of each of its rows, the columns
    that this version does not know, as JSON; sorted. ``calls``: of a row of AGGREGATE_ACCESS_HISTORY the number of
    queries that it stands for; then ``query_id`` is made from its key, and ``start`` and ``history.end_time`` are its
    interval. None for a query.
    """

    account: str
    query_id: str
    start: int
    user_name: str
    content: Content
    parent_query_id: str | None = None
    root_query_id: str | None = None
    event_source: str | None = None
    additional_properties: str | None = None
    invoker_identity: str | None = None
    organization_name: str | None = None
    account_name: str | None = None
    account_locator: str | None = None
    row_count: int = 1
    history: History = NO_HISTORY
    unknown_columns: tuple[str, ...] = ()
    calls: int | None = None

    @property
    def end(self) -> int:
        """The time from which its changes count: its end if QUERY_HISTORY gives it, otherwise its start."""
        return self.start if self.history.end_time is None else self.history.end_time


_FIELDS: Final = QueryFacts.__struct_fields__
TEXTS: Final = _FIELDS[_FIELDS.index("content") + 1 : _FIELDS.index("row_count")]
"""The columns of a row that are a text of the query, in the fields of their names."""
OBJECTS: Final = 20_000
"""Most objects that a query may name."""
PAIRS: Final = 1_000_000
"""Most pairs of an object read and an object written."""


def too_large(content: Content) -> str | None:
    """The reason why a query with this content is too large to be written; None if it is not."""
    reads, writes = len(content.accesses), len(content.writes)
    relations = len(content.derivations) + len(content.policies) + len(content.joins)
    if reads + writes + relations <= OBJECTS and reads * writes <= PAIRS:
        return None
    named = len(set(_named(content)))
    if named > OBJECTS:
        return f"the query names {named:,} objects, more than {OBJECTS:,}"
    reads = len({access.thing.key for access in content.accesses})  # an object can be both direct and base
    if reads * writes > PAIRS:
        return f"the query reads {reads:,} objects and writes {writes:,}, more than {PAIRS:,} pairs of them"
    return None


def _named(content: Content) -> Iterator[str]:
    """The keys of all objects that are read, written or otherwise named."""
    yield from (access.thing.key for access in content.accesses)
    yield from (write.thing.key for write in content.writes)
    yield from (derivation.source.key for derivation in content.derivations)
    for policy in content.policies:
        yield policy.protected.key
        yield policy.policy_key
    yield from (join.right.key for join in content.joins)
