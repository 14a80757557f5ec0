"""Every way in which Snowflake can have cut one place of a row: -1 for a number, ``TRUNCATED`` for a text.

Source: the view's page, "Usage notes": a row that is too large is cut in phases, from the columns in the arrays to
whole arrays, of which one object is left, whose parts are cut.
"""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tests.ask.cut_stories import NAMED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Json = dict[str, Any]
Path = tuple[str | int, ...]
TRUNCATED: Final = "TRUNCATED"
CHANGE: Final = "object_modified_by_ddl"
WHOLE: Final = {"objectDomain": TRUNCATED, "objectId": -1, "objectName": TRUNCATED}
"""What is left of a whole column."""
COLUMNS: Final = (
    "direct_objects_accessed",
    "base_objects_accessed",
    "objects_modified",
    CHANGE,
    "policies_referenced",
    "agents_info",
)
"""The columns that Snowflake cuts."""


class Cut(NamedTuple):
    """``place``: the path of what was cut, which is what ``kind`` says. ``row``: what is left of the row."""

    place: Path
    kind: str
    row: Json

    def __str__(self) -> str:
        return f"{'.'.join(map(str, self.place))} ({self.kind})"


def cuts(row: Json) -> Iterator[Cut]:
    """The row with each of its places cut in each way, one at a time."""
    for column in COLUMNS:
        if row.get(column):
            yield from (cut for cut in _of_column(row, column) if cut.row != row)


def _of_column(row: Json, column: str) -> Iterator[Cut]:
    place = (column,)
    yield _with(row, place, "whole column", lambda _: [dict(WHOLE)])
    if column == CHANGE:
        yield _with(row, place, "as an object", lambda _: dict(WHOLE))
        yield _with(row, place, "all but the operation", lambda change: {**change, **WHOLE})
        yield _with(row, place, "name and id", lambda change: {**change, "objectName": TRUNCATED, "objectId": -1})
    for path, value in _nodes(row[column], place):
        yield from _of_node(row, path, value)


def _of_node(row: Json, path: Path, value: Any) -> Iterator[Cut]:
    if isinstance(value, str):
        yield _with(row, path, "text", lambda _: TRUNCATED)
    elif isinstance(value, int) and not isinstance(value, bool):
        yield _with(row, path, "number", lambda _: -1)
    elif isinstance(value, dict | list) and value:
        yield _with(row, path, "all inside", all_cut)
        yield _with(row, path, "as a text", lambda _: TRUNCATED)
        if isinstance(value, list):
            yield _with(row, path, "as a list", lambda _: [TRUNCATED])
    if isinstance(value, dict):
        for name in ("objectName", "policyName", "agentName"):
            if isinstance(value.get(name), str):
                yield _with(row, path, "name and id", lambda part, name=name: _nameless(part, name))
        if path[-1] in NAMED and path[0] == CHANGE:
            for key in value:
                yield _with(row, (*path, key), "key", lambda part: part, new_key=TRUNCATED)
                yield _with(row, (*path, key), "key and id", _without_id, new_key=TRUNCATED)


def _nodes(value: Any, path: Path) -> Iterator[tuple[Path, Any]]:
    """All that is inside, and ``value`` itself if it is no array."""
    if not isinstance(value, list) or len(path) > 1:
        yield path, value
    inside = enumerate(value) if isinstance(value, list) else value.items() if isinstance(value, dict) else ()
    for key, part in inside:
        yield from _nodes(part, (*path, key))


def all_cut(value: Any) -> Any:
    """With each number and text inside cut."""
    if isinstance(value, dict):
        return {key: all_cut(part) for key, part in value.items()}
    if isinstance(value, list):
        return [all_cut(part) for part in value]
    if isinstance(value, str):
        return TRUNCATED
    return value if isinstance(value, bool) or value is None else -1


def _nameless(part: Json, name: str) -> Json:
    ident = name.replace("Name", "Id")
    bare = not isinstance(part.get(ident), dict)
    return {**part, name: TRUNCATED, **({ident: -1 if bare else {"value": -1}} if ident in part else {})}


def _without_id(part: Json) -> Json:
    return {**part, **({"objectId": {"value": -1}} if "objectId" in part else {})}


def _with(row: Json, path: Path, kind: str, cut: Callable[[Any], Any], new_key: str = "") -> Cut:
    """The row with what ``cut`` makes of a place, and with another name of the place if ``new_key`` is given."""
    found = deepcopy(row)
    holder: Any = found
    for key in path[:-1]:
        holder = holder[key]
    last = path[-1]
    changed = cut(holder[last])
    if new_key:
        items = list(holder.items())
        holder.clear()
        holder.update((new_key, changed) if key == last else (key, part) for key, part in items)
    else:
        holder[last] = changed
    return Cut(path, kind, found)
