"""Derive the facts of one query from its rows.

A query has several rows if its statement changed several objects (a SWAP), or if a row was exported twice.
Sources: view, "Columns", "Ancestor queries"; QUERY_HISTORY, if it is given.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import astuple

from exporter.queries.content import content_of, merged
from exporter.queries.ddl import properties_of
from exporter.queries.facts import NO_HISTORY, Content, History, QueryFacts
from exporter.queries.identifiers import named
from exporter.rows.documents import ChangeDocument, decode, text
from exporter.rows.row import Row

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Sequence


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
    """Whether the rows of one query name different users. They contradict each other, so the query is quarantined."""
    return len(rows) > 1 and len({row.user_name for row in rows}) > 1


def distinct(rows: Sequence[Row]) -> list[Row]:
    """The rows of one query without exact duplicates: rows equal in all columns that are read, however their JSON is
    written. A null and an empty array are equal, because some tools write one for the other.
    """
    if len(rows) == 1:
        return list(rows)
    unequal = list(dict.fromkeys(rows))
    if len(unequal) == 1:
        return unequal
    told: dict[Hashable, Row] = {}
    for row in unequal:
        told.setdefault((*astuple(row)[:3], _plain(decode(row.content)), *astuple(row)[4:]), row)
    return list(told.values())


def _plain(value: Any) -> Hashable:
    """A document as a hashable value; documents with the same meaning give equal values."""
    if isinstance(value, ChangeDocument):
        fields = (value.object_domain, value.object_id, value.object_name, value.argument_signature)
        return (*map(text, (*fields, value.operation_type)), properties_of(value))
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
    return _facts(account, row, content_of(row.content), 1, history)


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
    )
    return _facts(account, least, merged([content_of(row.content) for row in rows]), len(rows), history)


def _least(texts: Iterable[str | None]) -> str | None:
    return min([one for one in map(named, texts) if one is not None], default=None)


def _facts(account: str, row: Row, content: Content, row_count: int, history: History) -> QueryFacts:
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
    )
