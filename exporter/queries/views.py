"""What a query shows of the objects behind the views and streams that it reads.

No row says of what a view is made. A query that names the view has the objects behind it in base_objects_accessed, and
a written column whose directSources name a column of the view has the columns behind it in baseSources. The views
between the view and these objects are not recorded (view, "Usage notes"). A stream hides its table in the same way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct

from exporter.queries.identifiers import ROUTINE_KINDS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exporter.queries.facts import Content, Derivation, Thing

VIEW_KINDS: Final = ("view", "stream")
"""Kinds of objects that show data of others."""
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
    views = {one.key for one in _named(content) if one.kind in VIEW_KINDS}
    if not views:
        return {}
    bases = {one.thing.key: one.thing.name for one in content.accesses if one.access == "BASE" and _is_data(one.thing)}
    named = {one.key for one in _named(content)}
    is_cut = any(place.startswith(_DIRECT) for place in content.incomplete)
    certain: dict[str, dict[Pair, str | None]] = {view: {} for view in views}
    possible: dict[str, dict[Pair, str | None]] = {view: {} for view in views}
    for view, pair, name, is_certain in _of_columns(content, views):
        (certain if is_certain else possible)[view][pair] = name
        (certain if is_certain else possible)[view].setdefault((pair[0], None, None), name)
    alone = not is_cut and len(named) == 1
    for view in views:
        for key, name in bases.items():
            if key != view:
                (certain if alone else possible)[view][key, None, None] = name
    found = {view: _one(certain[view], possible[view], alone=alone) for view in sorted(views)}
    return {view: one for view, one in found.items() if one.certain or one.possible}


def _one(certain: dict[Pair, str | None], possible: dict[Pair, str | None], *, alone: bool) -> Shown:
    rest = {pair: name for pair, name in possible.items() if pair not in certain}
    return Shown(_sorted(certain), _sorted(rest), alone and any(pair[1] is None for pair in certain))


def _sorted(pairs: dict[Pair, str | None]) -> tuple[tuple[Pair, str | None], ...]:
    return tuple(sorted(pairs.items(), key=lambda one: tuple(text or "" for text in one[0])))


def _is_data(thing: Thing) -> bool:
    return thing.kind not in ROUTINE_KINDS


def _named(content: Content) -> Iterator[Thing]:
    """What the query reads itself: also sources of columns and partners of joins that are not listed as read."""
    yield from (one.thing for one in content.accesses if one.access == "DIRECT")
    yield from (one.source for one in content.derivations if one.source_type == "DIRECT")
    yield from (one.right for one in content.joins)


def _of_columns(content: Content, views: set[str]) -> Iterator[tuple[str, Pair, str | None, bool]]:
    """View, pair, name of the source, and whether it is certain, from the sources of each written column."""
    written: dict[tuple[str, str], tuple[list[Derivation], list[Derivation]]] = {}
    for one in content.derivations:
        of_column = written.setdefault((one.target_key, one.target_column), ([], []))
        of_column[one.source_type == "BASE"].append(one)
    is_cut = any(place.startswith(_WRITTEN) for place in content.incomplete)
    is_wide = sum(len(direct) * len(base) for direct, base in written.values() if len(direct) > 1) > _PAIRS
    for direct, base in written.values():
        is_certain = len(direct) == 1 and not is_cut
        for one in direct if is_certain or not is_wide else ():
            if one.source.key in views and one.source_column is not None:
                for source in base:
                    if source.source.key != one.source.key and _is_data(source.source):
                        pair = source.source.key, one.source_column, source.source_column
                        yield one.source.key, pair, source.source.name, is_certain
