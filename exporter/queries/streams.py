"""Replace ``$SYS_VIEW_<number>`` by the stream that it stands for.

Snowflake reads a stream through a view of its own. Rows may name that view, without an id, in the place of the stream:
mostly as the source of a column. It is no object: no other row mentions it, and two streams may get the same number. So
it is the stream that the same row reads, where only one is possible; otherwise the query records that the stream is
unknown, and nothing is named after it.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Final

from exporter.queries.identifiers import READ_AS_STREAM, kind_of, normal_domain, system_view, usable_id
from exporter.queries.objects import found, known_columns, said
from exporter.rows.documents import (
    ChangeDocument,
    Document,
    GuardedDocument,
    JoinedDocument,
    ObjectDocument,
    ReadDocument,
    SourceDocument,
    WrittenDocument,
    text,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exporter.queries.facts import Thing

UNKNOWN_STREAM: Final = "UNKNOWN_STREAM"
"""The reason in ``Content.incomplete`` if a place names a stream by ``$SYS_VIEW_<number>``, and the row does not say
which stream it is."""
_MARK: Final = b"SYS_VIEW_"
_SOURCES: Final = ("direct_sources", "base_sources", "direct_source_columns", "base_source_columns")
_ARRAYS: Final = {
    "direct_objects_accessed": "direct",
    "base_objects_accessed": "base",
    "objects_modified": "modified",
    "policies_referenced": "policies",
    "provider_base_objects_accessed": "provider_base",
    "provider_policies_referenced": "provider_policies",
}
Named = ObjectDocument | SourceDocument | JoinedDocument | ChangeDocument
"""An element of a document that names an object."""


def may_have_system_views(content: bytes) -> bool:
    """Whether a row may name such a view; the content is read without decoding it."""
    return _MARK in content or _MARK.lower() in content.lower()


def with_streams(document: Document) -> list[str]:
    """Replace the system views of a document, which is changed, by their streams. Returns the sorted texts ``PLACE
    UNKNOWN_STREAM`` for those that remain. A view in place of an object that was written or changed always remains,
    because a query does not write what it reads from a stream into the stream.
    """
    streams = _streams(document)
    columns = _columns(document)
    known = {name: _stream_of(columns[name], streams) for name in columns}
    unknown: set[str] = set()
    for place, one in _named(document):
        name = _system_view(one)
        if name is not None:
            stream = None if isinstance(one, WrittenDocument | ChangeDocument) else known[name]
            if stream is None:
                unknown.add(f"{place} {UNKNOWN_STREAM}")
            else:
                one.object_domain, one.object_id, one.object_name = stream.domain, stream.object_id, stream.name
    return sorted(unknown)


def _system_view(one: Named) -> str | None:
    """The name of the system view, in upper case without quotes; None if the element names something else."""
    name = said(one.object_name)
    if name is None or usable_id(text(one.object_id)) is not None:
        return None
    return system_view(name) if kind_of(normal_domain(text(one.object_domain))) in READ_AS_STREAM else None


def _stream_of(columns: set[str], streams: dict[Thing, set[str]] | None) -> Thing | None:
    """The stream of a system view with these columns. Of several streams, the only one with all of these columns: a
    row lists the columns of an object that the query read. None if that does not decide.
    """
    if not streams:
        return None
    if len(streams) == 1:
        return next(iter(streams))
    if not columns or not all(streams.values()):
        return None
    possible = [stream for stream, listed in streams.items() if columns <= listed]
    return possible[0] if len(possible) == 1 else None


def _streams(document: Document) -> dict[Thing, set[str]] | None:
    """The streams that the row reads, with the columns that it lists. None if an element of the row is unknown
    (truncated, or removed by a filter), because it may be a further stream.
    """
    streams: dict[str, tuple[Thing, set[str]]] = {}
    for one in document.direct or ():
        things = [] if one is None else [thing for _, thing in found([one])]
        if not things and (one is None or _system_view(one) is None):
            return None
        for thing in things:
            if thing.kind == "stream" and one is not None:
                _, listed = streams.setdefault(thing.key, (thing, set()))
                listed.update(column.name for column in known_columns(one.columns))
    return dict(streams.values())


def _columns(document: Document) -> dict[str, set[str]]:
    """System view -> the columns that the row names of it."""
    columns: dict[str, set[str]] = {}
    for _, one in _named(document):
        name = _system_view(one)
        if name is not None:
            of_view = columns.setdefault(name, set())
            if isinstance(one, ReadDocument):
                of_view.update(column.name for column in known_columns(one.columns))
            elif isinstance(one, SourceDocument):
                of_view.update(column for column in (said(one.column_name),) if column is not None)
    return columns


def _named(document: Document) -> Iterator[tuple[str, Named]]:
    """Each element of the document that names an object, with the place that names it."""
    for place, array in _ARRAYS.items():
        for one in getattr(document, array) or ():
            if one is not None:
                yield place, one
                yield from ((place, inside) for inside in _inside(one))
    if document.change is not None:
        yield "object_modified_by_ddl", document.change


def _inside(one: ReadDocument | WrittenDocument | GuardedDocument) -> Iterator[Named]:
    """The other sides of joins, and the sources of columns."""
    for join in getattr(one, "join_objects", None) or ():
        if join is not None:
            yield from (side for side in (join.node, join.join_object) if side is not None)
    if isinstance(one, WrittenDocument):
        for column in one.columns or ():
            if column is not None:
                given = chain.from_iterable(getattr(column, name) or () for name in _SOURCES)
                yield from (source for source in given if source is not None)
