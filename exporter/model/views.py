"""Views and streams: what stands for them in a row, and what is behind them.

Snowflake reads a stream through a view of its own, ``$SYS_VIEW_<number>``. Rows may name that view, without an id, in
the place of the stream: mostly as the source of a column. It is no object: no other row names it, and two streams
may get the same number. So it is the stream that the same row reads, where only one is possible; otherwise the query
records that the stream is unknown, and nothing is named after it.

No row says of what a view is made. A query that names the view has the objects behind it in base_objects_accessed (a
provider's in provider_base_objects_accessed), and a written column whose directSources name a column of the view has
the columns behind it in baseSources. The views between the view and these objects are not recorded (view, "Usage
notes"). A stream hides its table in the same way. A view that another account shares is its own base object: behind it
are the provider's objects alone (view, "Data sharing notes").

So each query shows a part, certain or possible. A source is certain if one query shows that it is. A query that reads
nothing but the view has all objects behind it at that time. So of the others, those remain possible that were seen
after the view was last read alone, and those with the name of a certain one: a view reads by name, and another object
may have had the name before, such as a table that is made anew each night.

What the queries show belongs to one definition of the view. It ends when the view is dropped, when it is created again
under the same key, or when another view (CREATE OR REPLACE with a new id) takes its name. The state is bounded by the
sources and columns of the view, and not by the number of queries.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Final

from msgspec import Struct, field

from exporter.input.row import ChangeDocument, Document, ReadDocument, SourceDocument, WrittenDocument, text
from exporter.model.facts import Content, Derivation, ObjectReference
from exporter.model.identifiers import (
    READ_AS_STREAM,
    ROUTINE_KINDS,
    kind_of,
    match_name,
    normal_domain,
    system_view,
    usable_id,
)
from exporter.model.object_state import Sighting, ViewSource
from exporter.model.objects import NamingElement, known_columns, known_text, named_elements, objects_of_array
from exporter.model.other_accounts import account_in

UNKNOWN_STREAM: Final = "UNKNOWN_STREAM"
"""The reason in ``Content.incomplete`` if a place names a stream by ``$SYS_VIEW_<number>``, and the row does not say
which stream it is."""
_MARK: Final = b"SYS_VIEW_"


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
    for place, element in named_elements(document):
        name = _system_view(element)
        if name is not None:
            stream = None if isinstance(element, WrittenDocument | ChangeDocument) else known[name]
            if stream is None:
                unknown.add(f"{place} {UNKNOWN_STREAM}")
            else:
                element.object_domain, element.object_id, element.object_name = (
                    stream.domain,
                    stream.object_id,
                    stream.name,
                )
    return sorted(unknown)


def _system_view(element: NamingElement) -> str | None:
    """The name of the system view, in upper case without quotes; None if the element names something else."""
    name = known_text(element.object_name)
    if name is None or usable_id(text(element.object_id)) is not None:
        return None
    return system_view(name) if kind_of(normal_domain(text(element.object_domain))) in READ_AS_STREAM else None


def _stream_of(columns: set[str], streams: dict[ObjectReference, set[str]] | None) -> ObjectReference | None:
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


def _streams(document: Document) -> dict[ObjectReference, set[str]] | None:
    """The streams that the row reads, with the columns that it lists. None if an element of the row is unknown
    (truncated, or removed by a filter), because it may be a further stream.
    """
    streams: dict[str, tuple[ObjectReference, set[str]]] = {}
    for direct_document in document.direct or ():
        things = [] if direct_document is None else [thing for _, thing in objects_of_array([direct_document])]
        if not things and (direct_document is None or _system_view(direct_document) is None):
            return None
        for thing in things:
            if thing.kind == "stream" and direct_document is not None:
                _, listed = streams.setdefault(thing.key, (thing, set()))
                listed.update(column.name for column in known_columns(direct_document.columns))
    return dict(streams.values())


def _columns(document: Document) -> dict[str, set[str]]:
    """System view -> the columns that the row names of it."""
    columns: dict[str, set[str]] = {}
    for _, element in named_elements(document):
        name = _system_view(element)
        if name is not None:
            of_view = columns.setdefault(name, set())
            if isinstance(element, ReadDocument):
                of_view.update(column.name for column in known_columns(element.columns))
            elif isinstance(element, SourceDocument):
                of_view.update(column for column in (known_text(element.column_name),) if column is not None)
    return columns


VIEW_KINDS: Final = ("view", "stream", "semantic-view")
"""Kinds of objects that show data of others. Ids of semantic views are not known to be those of views."""
_PAIRS: Final = 10_000
"""Most pairs of columns that one statement may show as possible. A statement with more shows only objects; otherwise
one query with thousands of columns would make millions of pairs of which hardly any is true."""
_DIRECT: Final = "direct_objects_accessed "
_WRITTEN: Final = "objects_modified "
Pair = tuple[str, str | None, str | None]
"""The key of a source, a column of the view and the column of the source that it shows. Both are None for the whole
objects; the second alone if the row gives no column of the source."""


class Shown(Struct, array_like=True, frozen=True, gc=False):
    """What one query shows of one view. ``certain``, ``possible``: the pairs, sorted, each in one of them, with the
    name of the source in the row. ``alone``: the query read nothing but the view, so ``certain`` has all objects behind
    it. Certain is also a column that is the only direct source of a column that was written.
    """

    certain: tuple[tuple[Pair, str | None], ...] = ()
    possible: tuple[tuple[Pair, str | None], ...] = ()
    alone: bool = False


def shown(content: Content) -> dict[str, Shown]:
    """Key of a view or stream that the query names -> what the query shows of it, sorted; only those with sources."""
    named = {thing.key: thing for thing in _read_directly(content)}
    views = {key for key, thing in named.items() if thing.kind in VIEW_KINDS}
    if not views:
        return {}
    is_alone = len(named) == 1 and not any(place.startswith(_DIRECT) for place in content.incomplete)
    certain: dict[str, dict[Pair, str | None]] = {view: {} for view in views}
    possible: dict[str, dict[Pair, str | None]] = {view: {} for view in views}
    sources = chain(_of_columns(content, views), _of_bases(content, views, is_alone=is_alone))
    for view, pair, name, is_certain in sources:
        pairs = (certain if is_certain else possible)[view]
        pairs[pair] = name
        pairs.setdefault((pair[0], None, None), name)
    showns = {view: _shown_of_view(certain[view], possible[view], is_alone=is_alone) for view in sorted(views)}
    return {view: behind for view, behind in showns.items() if behind.certain or behind.possible}


def _of_bases(
    content: Content, views: Iterable[str], *, is_alone: bool
) -> Iterator[tuple[str, Pair, str | None, bool]]:
    """As :func:`_of_columns`, from the base objects; behind a shared view are the provider's alone. ``is_alone``: the
    query reads nothing but the view, so all of them are surely behind it.
    """
    bases, provided = (
        {
            access.thing.key: access.thing.name
            for access in content.accesses
            if access.access in arrays and _is_data(access.thing)
        }
        for arrays in (("BASE", "PROVIDER_BASE"), ("PROVIDER_BASE",))
    )
    own = {access.thing.key for access in content.accesses if access.access == "BASE" and _is_shared_view(access.thing)}
    for view in views:
        for key, name in (provided if view in own else bases).items():
            if key != view:
                yield view, (key, None, None), name, is_alone


def _shown_of_view(certain: dict[Pair, str | None], possible: dict[Pair, str | None], *, is_alone: bool) -> Shown:
    uncertain = {pair: name for pair, name in possible.items() if pair not in certain}
    return Shown(_sorted(certain), _sorted(uncertain), is_alone and any(pair[1] is None for pair in certain))


def _sorted(pairs: dict[Pair, str | None]) -> tuple[tuple[Pair, str | None], ...]:
    return tuple(sorted(pairs.items(), key=lambda pair: tuple(text or "" for text in pair[0])))


def _is_data(thing: ObjectReference) -> bool:
    return thing.kind not in ROUTINE_KINDS


def _is_shared_view(thing: ObjectReference) -> bool:
    """Whether a base object is a view that another account shares: it has no id in this account."""
    return thing.kind == "view" and thing.object_id is None


def _read_directly(content: Content) -> Iterator[ObjectReference]:
    """What the query reads itself: also sources of columns and partners of joins that are not listed as read."""
    yield from (access.thing for access in content.accesses if access.access == "DIRECT")
    yield from (derivation.source for derivation in content.derivations if derivation.source_type == "DIRECT")
    yield from (join.right for join in content.joins)


def _of_columns(content: Content, views: set[str]) -> Iterator[tuple[str, Pair, str | None, bool]]:
    """View, pair, name of the source, and whether it is certain, from the sources of each written column."""
    written: dict[tuple[str, str], tuple[list[Derivation], list[Derivation]]] = {}
    for derivation in content.derivations:
        of_column = written.setdefault((derivation.target_key, derivation.target_column), ([], []))
        of_column[derivation.source_type == "BASE"].append(derivation)
    is_cut = any(place.startswith(_WRITTEN) for place in content.incomplete)
    is_wide = sum(len(direct) * len(base) for direct, base in written.values() if len(direct) > 1) > _PAIRS
    for direct, base in written.values():
        is_certain = len(direct) == 1 and not is_cut
        for derivation in direct if is_certain or not is_wide else ():
            if derivation.source.key in views and derivation.source_column is not None:
                for source in base:
                    if source.source.key != derivation.source.key and _is_data(source.source):
                        pair = source.source.key, derivation.source_column, source.source_column
                        yield derivation.source.key, pair, source.source.name, is_certain


class Definition(Struct, array_like=True, gc=False):
    """What is known of one definition of a view. ``state``: the version of the view in which it was first read, which
    identifies the definition. ``alone``: when the view was last read alone. ``since``: when the view was created with
    it, or the definition before it ended; None if it may be older than the record. ``until``: when it ended, None while
    it holds.
    """

    state: str
    certain: dict[str, Sighting] = field(default_factory=dict)
    possible: dict[str, Sighting] = field(default_factory=dict)
    alone: int | None = None
    until: int | None = None
    since: int | None = None


class Sources:
    """All definitions of a view, the latest last. ``created``: when the view was last created, None if no row says."""

    def __init__(self, definitions: list[Definition] | None = None, created: int | None = None) -> None:
        self.definitions = definitions or []
        self.created = created

    def sees(self, shown: Shown, query_id: str, at: int, state: str) -> None:
        """Add what a query shows. ``at``: its start; ``state``: the version of the view that it read. To be called in
        the order of time.
        """
        if not self.definitions or self.definitions[-1].until is not None:
            begun = [
                time
                for time in (self.created, *(definition.until for definition in self.definitions[-1:]))
                if time is not None
            ]
            self.definitions.append(Definition(state, since=max(begun, default=None)))
        now = self.definitions[-1]
        for known, pairs in ((now.certain, shown.certain), (now.possible, shown.possible)):
            for pair, name in pairs:
                sight = known.setdefault(_text(pair), Sighting(query_id, at, at, name))
                sight.last = max(sight.last, at)
        if shown.alone:
            now.alone = at

    def ends(self, at: int, *, creates: bool = False) -> None:
        """The view is dropped, or created again."""
        if self.definitions and self.definitions[-1].until is None:
            self.definitions[-1].until = at
        if creates:
            self.created = at

    def undrop(self) -> None:
        """A drop is reverted. The definition goes on that the drop ended, unless the view was created again since."""
        last = self.definitions[-1] if self.definitions else None
        if last is not None and last.until is not None and (self.created is None or last.until > self.created):
            last.until = None

    def all(self, taken: int | None = None) -> Iterator[ViewSource]:
        """The sources of all definitions, each once, sorted within a definition. ``taken``: when another view took the
        name for good, which ends the last definition.
        """
        for definition in self.definitions:
            until = taken if definition.until is None else definition.until
            turns = _turns(definition)
            names_behind = {_name(source, sight) for source, sight in definition.certain.items()} - {None}
            for source in sorted(definition.certain.keys() | definition.possible.keys()):
                sight = definition.certain.get(source) or definition.possible[source]
                certain = source in definition.certain
                is_left = definition.alone is None or sight.last > definition.alone
                if certain or is_left or _name(source, sight) in names_behind:
                    key, view_column, source_column = _pair(source)
                    begins, ends = turns.get(key, (None, None))
                    first = max((time for time in (definition.since, begins) if time is not None), default=None)
                    last = min((time for time in (until, ends) if time is not None), default=None)
                    yield ViewSource(definition.state, key, view_column, source_column, certain, sight, first, last)


def _name(source: str, sight: Sighting) -> tuple[str, str] | None:
    """The account and the name of a source, as names are compared; None if no row gives its name."""
    return None if sight.name is None else (account_in(_pair(source)[0]), match_name(sight.name))


def _turns(definition: Definition) -> dict[str, tuple[int | None, int | None]]:
    """From when until when objects are behind the view that had one name in turn, as tables that are made anew: a view
    shows what has the name. Only what queries tell: the one before was not seen again. Where that was seen later, as
    with two tables that are swapped each night, both are behind it all the time.
    """
    seen: dict[str, tuple[int, str, int]] = {}
    for pair, sight in chain(definition.certain.items(), definition.possible.items()):
        key, view_column, _ = _pair(pair)
        # What has no id in a row can be what has one in others; other accounts have their own names.
        if view_column is None and sight.name is not None and "/name/" not in key and "@" not in key:
            first, name, last = seen.get(key, (sight.first, sight.name, sight.last))
            seen[key] = (*min((first, name), (sight.first, sight.name)), max(last, sight.last))
    holders: dict[str, list[str]] = {}
    for key in sorted(seen, key=lambda key: seen[key]):
        holders.setdefault(match_name(seen[key][1]), []).append(key)
    turns: dict[str, tuple[int | None, int | None]] = {}
    for keys_of_name in holders.values():
        groups: list[tuple[list[str], int, int]] = []
        for key in keys_of_name:
            first, _, last = seen[key]
            if groups and first <= groups[-1][2]:
                keys, begun, seen_last = groups.pop()
                groups.append(([*keys, key], begun, max(seen_last, last)))
            else:
                groups.append(([key], first, last))
        begins = [None, *(last + 1 for _, _, last in groups)]
        ends = [*(first - 1 for _, first, _ in groups[1:]), None]
        for (keys, _, _), begin, end in zip(groups, begins, ends, strict=False):
            turns |= dict.fromkeys(keys, (begin, end))
    return turns


def _text(pair: Pair) -> str:
    """A pair as the key of a dict that can be encoded. Keys of objects contain no NUL, and names of columns may: so the
    length of the first column separates it from the second.
    """
    key, view_column, source_column = pair
    if view_column is None:
        return key
    suffix = "" if source_column is None else f"\0{source_column}"
    return f"{key}\0{len(view_column)}\0{view_column}{suffix}"


def _pair(text: str) -> Pair:
    key, has_columns, rest = text.partition("\0")
    if not has_columns:
        return key, None, None
    length, _, columns = rest.partition("\0")
    view_column, source_column = columns[: int(length)], columns[int(length) :]
    return key, view_column, source_column[1:] if source_column else None
