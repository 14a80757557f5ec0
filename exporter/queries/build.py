"""Derive the facts of one query from its rows.

A query has several rows if its statement changed several objects (a SWAP), or if a row was exported twice.
Sources: view, "Columns", "Ancestor queries"; QUERY_HISTORY, if it is given.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec
from msgspec.structs import astuple, replace

from exporter.queries.content import content_of, merged
from exporter.queries.ddl import properties_of
from exporter.queries.facts import NO_HISTORY, Content, History, QueryFacts
from exporter.queries.identifiers import named, parts_of, stored_as
from exporter.recent import Recent
from exporter.rows.documents import ChangeDocument, decode, text
from exporter.rows.properties import meaning, read
from exporter.rows.row import Row

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Sequence

    from exporter.queries.facts import Change

_TRUNCATE: Final = "TRUNCATE_TABLE"
"""The ``query_type`` of TRUNCATE TABLE."""
_MOST_PARTS: Final = 3
_truncating: Final[Recent[Content]] = Recent(1_000)


def account_of(row: Row, default: str) -> str:
    """The account of a row, ORG-ACCOUNT: the row's own in ORGANIZATION_USAGE, otherwise ``default``. Organization names
    have no hyphen; one in the data is escaped, so that two different pairs never give the same account.
    """
    if row.organization_name is None or row.account_name is None:
        return default
    organization = row.organization_name
    if "-" in organization or "%" in organization:
        organization = organization.replace("%", "%25").replace("-", "%2D")
    return f"{organization}-{row.account_name}"


def disagree(rows: Sequence[Row]) -> bool:
    """Whether the rows of one query name different users, or those of the same calls (AGGREGATE_ACCESS_HISTORY) give
    different numbers of them. They contradict each other, so the query is quarantined.
    """
    return len(rows) > 1 and len({(row.user_name, row.calls) for row in rows}) > 1


def distinct(rows: Sequence[Row]) -> list[Row]:
    """The rows of one query without duplicates: one of each group of :func:`alike`, the same in any order of rows."""
    return [least(group) for group in alike(rows)]


def alike(rows: Sequence[Row]) -> list[list[Row]]:
    """The rows of one query in groups of duplicates: rows equal in all columns that are read, however their JSON is
    written. A null and an empty array are equal, because some tools write one for the other; and so are the forms of
    DDL properties (:mod:`exporter.rows.properties`).
    """
    if len(rows) == 1:
        return [list(rows)]
    groups: dict[Hashable, list[Row]] = {}
    if len(dict.fromkeys(rows)) == 1:
        return [list(rows)]
    if rows and rows[0].calls is not None:  # the id says all but the number of calls
        for row in rows:
            groups.setdefault(row.calls, []).append(row)
        return [sorted(group, key=repr) for group in groups.values()]
    for row in rows:
        fields = astuple(row)
        groups.setdefault((*fields[:3], _plain(decode(row.content)), *fields[4:]), []).append(row)
    return list(groups.values())


def least(group: Sequence[Row]) -> Row:
    """The row that stands for duplicates: the first, or the least where the JSON of their properties differs."""
    return group[0] if len(group) == 1 else min(group, key=_properties)


def _properties(row: Row) -> str:
    change = decode(row.content).change
    return "" if change is None else properties_of(change) or ""


def _plain(value: Any) -> Hashable:
    """A document as a hashable value; documents with the same meaning give equal values."""
    if isinstance(value, ChangeDocument):
        fields = (value.object_domain, value.object_id, value.object_name, value.argument_signature)
        return (*map(text, (*fields, value.operation_type)), meaning(read(properties_of(value)).normal))
    if isinstance(value, msgspec.Struct):
        return tuple(map(_plain, astuple(value)))
    if isinstance(value, list):
        return tuple(map(_plain, value)) or None
    return text(value)


def query_facts(account: str, rows: Sequence[Row], history: History = NO_HISTORY) -> QueryFacts:
    """The facts of a query from its :func:`distinct` rows: at least one, in any order."""
    if len(rows) > 1:
        return _of_several(account, rows, history)
    (row,) = rows
    others = () if row.unknown_columns is None else (row.unknown_columns,)
    return _facts(account, row, _with_history(content_of(row.content), history), 1, history, others)


def _with_history(content: Content, history: History) -> Content:
    """The content, with what only QUERY_HISTORY says: that the statement emptied what it wrote, and in which schema a
    new name is. The row of a TRUNCATE names the table in objects_modified, like that of an INSERT (view, "Write
    operation notes"). Of a content with a TRUNCATE the result is always the same object, because caches compare
    contents by identity.
    """
    if any(change.new_name is not None for change in content.changes):
        changes = tuple([replace(one, new_name=_new_name(one, history)) for one in content.changes])
        content = content if changes == content.changes else replace(content, changes=changes)
    if not content.writes or (history.query_type or "").upper() != _TRUNCATE:
        return content
    return _truncating.get(content) or _truncating.keep(content, replace(content, truncates=True))


def _new_name(change: Change, history: History) -> str | None:
    """The name that a RENAME gives, with the session's database and schema where the row leaves them out. The row of
    the object's former name tells how many parts the name of such an object has.
    """
    name, own = change.new_name, parts_of(change.thing.name or "")
    lacks = 0 if name is None else len(own) - len(parts_of(name))
    session = (history.database_name, history.schema_name)[:lacks]
    if name is None or not 0 < lacks < len(own) <= _MOST_PARTS or None in session:
        return name
    return ".".join([*(stored_as(one) for one in session if one is not None), name])


def _of_several(account: str, rows: Sequence[Row], history: History) -> QueryFacts:
    least = Row(
        query_id=rows[0].query_id,
        start=min(row.start for row in rows),
        user_name=min(row.user_name for row in rows),
        content=b"",
        parent_query_id=_least(row.parent_query_id for row in rows),
        root_query_id=_least(row.root_query_id for row in rows),
        event_source=_least(row.event_source for row in rows),
        organization_name=_least(row.organization_name for row in rows),
        account_name=_least(row.account_name for row in rows),
        account_locator=_least(row.account_locator for row in rows),
        additional_properties=_least(row.additional_properties for row in rows),
        invoker_identity=_least(row.invoker_identity for row in rows),
        calls=rows[0].calls,
        interval_end=rows[0].interval_end,
        query_parameterized_hash=rows[0].query_parameterized_hash,
    )
    others = tuple(sorted({row.unknown_columns for row in rows if row.unknown_columns is not None}))
    content = _with_history(merged([content_of(row.content) for row in rows]), history)
    return _facts(account, least, content, len(rows), history, others)


def _least(texts: Iterable[str | None]) -> str | None:
    return min([one for one in map(named, texts) if one is not None], default=None)


def _facts(  # noqa: PLR0913, PLR0917 - the parts of a query
    account: str, row: Row, content: Content, row_count: int, history: History, others: tuple[str, ...]
) -> QueryFacts:
    if row.calls is not None:  # QUERY_HISTORY has no line for them
        hash_ = named(row.query_parameterized_hash)
        history = History(query_parameterized_hash=hash_, end_time=row.interval_end)
    return QueryFacts(
        account,
        row.query_id,
        row.start,
        row.user_name,
        content,
        named(row.parent_query_id),
        named(row.root_query_id),
        named(row.event_source),
        named(row.additional_properties),
        named(row.invoker_identity),
        named(row.organization_name),
        named(row.account_name),
        named(row.account_locator),
        row_count,
        history,
        others,
        row.calls,
    )
