"""Which tables and views are helpers: a load fills them, fills its target from them, and drops them.

An object can be a helper by one of three signs. Its name matches a pattern of the settings; it was created as
TEMPORARY; or one session or request created and dropped it within one day (UTC). It also has to be created on record:
before that, nobody knows what it holds. That a table is transient is no sign: dbt makes its final tables transient.

:mod:`exporter.openlineage.bridging` follows what helpers hold.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from exporter.input.properties import COLUMNS, columns_without_operation, is_of_source, read
from exporter.model.answers import Dataset, HelperSigns, HelperWindow
from exporter.model.effects import CREATES
from exporter.model.facts import Change, Content, ObjectReference, QueryFacts
from exporter.model.identifiers import TRUNCATED, canonical_name
from exporter.model.object_state import Profile, Sign
from exporter.openlineage.naming import plain_parts

if TYPE_CHECKING:
    from exporter.openlineage.settings import OpenLineageSettings

KINDS: Final = ("table", "view")
"""Kinds of objects that can be helpers."""
DAY: Final = 86_400_000_000
"""Microseconds of a day."""
MOST_SOURCES: Final = 5_000
"""Most pairs of column and source that are followed through one helper; a helper with more is an ordinary dataset."""
_ALTERS: Final = ("ALTER", "UNKNOWN")
_CHANGE: Final = "object_modified_by_ddl"
_LINEAGE: Final = ("direct_objects_accessed", "base_objects_accessed", "objects_modified")


# --- names ------------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=20_000)
def is_named(name: str, patterns: tuple[str, ...]) -> bool:
    """Whether a dataset's name matches a pattern. Patterns are compared with the last parts of the name, and letter
    case does not count.

    >>> is_named('DB.S."orders__dbt_tmp"', ("*__DBT_TMP",)), is_named("DB.S.T", ("S.*",)), is_named("DB.S.T", ("T*T",))
    (True, True, False)
    """
    given = plain_parts(name)
    return any(
        len(given) >= len(pattern)
        and all(part.fullmatch(text) for part, text in zip(pattern, given[-len(pattern) :], strict=True))
        for pattern in _compiled(patterns)
    )


@lru_cache(maxsize=16)
def _compiled(patterns: tuple[str, ...]) -> tuple[tuple[re.Pattern[str], ...], ...]:
    return tuple(tuple(_part(part) for part in pattern.split(".")) for pattern in patterns)


def _part(pattern: str) -> re.Pattern[str]:
    # A lazy repetition before each fixed text: the time to match stays proportional to the name for one or two stars.
    return re.compile(".*?".join(map(re.escape, re.split(r"\*+", pattern.strip()))), re.IGNORECASE | re.DOTALL)


def is_candidate(thing: ObjectReference, dataset: Dataset, start: int, settings: OpenLineageSettings) -> bool:
    """Whether the object may be a helper for a query that starts then, by its name or its signs."""
    if thing.kind not in KINDS:
        return False
    if is_named(dataset.name, settings.helpers):
        return True
    signs = dataset.signs
    if signs is None:
        return False
    is_temporary = signs.temporary is not None and start >= signs.temporary
    return is_temporary or any(window.start <= start <= window.end for window in signs.windows)


# --- signs ------------------------------------------------------------------------------------------------------------


def created(facts: QueryFacts) -> Iterator[ObjectReference]:
    """The objects that the query created or replaced, by its DDL or by its ``query_type``."""
    content, kind = facts.content, facts.history.query_type or ""
    yield from (change.thing for change in content.changes if change.operation in CREATES)
    if kind.startswith("CREATE_TABLE") or kind == "CREATE_VIEW":
        known = {change.thing.key for change in content.changes}
        yield from (write.thing for write in content.writes if write.thing.key not in known)


def dropped(facts: QueryFacts) -> Iterator[ObjectReference]:
    """The objects that the query dropped."""
    yield from (change.thing for change in facts.content.changes if change.operation == "DROP")


def unclear(facts: QueryFacts) -> Iterator[ObjectReference]:
    """The objects that the query wrote while its row does not say from what: it is truncated, or lists no column, or
    the data is that of a CLONE; and those whose columns it may have renamed or dropped (:func:`cut_alters`).
    """
    content = facts.content
    is_cut = any(text.endswith(TRUNCATED) and text.startswith(_LINEAGE) for text in content.incomplete)
    clears = content.truncates or facts.history.deletes  # no data is written, so columns are not missing
    for write in content.writes:
        if is_cut or (not write.columns and not clears):
            yield write.thing
    yield from _copies(content)
    yield from cut_alters(content)


def _copies(content: Content) -> Iterator[ObjectReference]:
    """The tables that the query makes by CLONE or LIKE: the row names the source as a property of the change, or as
    read by a query that writes nothing into the new table (view, "CREATE TABLE … CLONE"), or may have named it in what
    Snowflake cut.
    """
    written = {write.thing.key for write in content.writes}
    read = {access.thing.key for access in content.accesses if access.thing.kind in KINDS}
    for change in content.changes:
        thing = change.thing
        is_made = change.operation in CREATES and thing.kind == "table" and thing.key not in written
        if change.source_key is not None or (is_made and (read - {thing.key} or hides_source(change.properties))):
            yield thing


def hides_source(properties: str | None) -> bool:
    """Whether a CREATE may be a CLONE or LIKE of an object that Snowflake cut from its properties.

    >>> hides_source('{"cloneSourceName": {"value": "TRUNCATED"}}'), hides_source('{"columns": "TRUNCATED"}')
    (True, False)
    """
    if TRUNCATED not in (properties or ""):
        return False
    given = read(properties)
    is_cut = any(is_of_source(name) and value == TRUNCATED for name, value in given.atoms.items())
    return is_cut or given.is_doubtful or given.normal == TRUNCATED


def is_like(properties: str | None) -> bool:
    """Whether the source that the properties of a CREATE name is that of a LIKE, which copies no data."""
    return any(is_of_source(name) and name.lower().startswith("like") for name in read(properties).atoms)


def cut_alters(content: Content) -> Iterator[ObjectReference]:
    """The objects whose columns the query may have renamed or dropped while its row does not say which, or how: what it
    says of them is truncated or not understood.
    """
    if any(text.startswith(_CHANGE) for text in content.incomplete):
        yield from (
            change.thing for change in content.changes if change.operation in _ALTERS and _hides_columns(change)
        )


def _hides_columns(change: Change) -> bool:
    text = change.properties or ""
    if text.startswith("{") and "column" not in text.lower() and TRUNCATED not in text:
        return False
    given = read(change.properties)
    columns = given.compounds.get(COLUMNS, {})
    if not columns and COLUMNS in text and TRUNCATED in text:  # the whole list was cut
        return True
    texts = [
        text
        for name, details in columns.items()
        for text in (name, *map(details.atom, ("objectName", "subOperationType")))
    ]
    return given.is_doubtful or given.normal == TRUNCATED or TRUNCATED in texts or any(columns_without_operation(given))


def note_signs(profiles: Mapping[tuple[str, str], Profile], facts: QueryFacts, settings: OpenLineageSettings) -> None:
    """Record the signs in the objects that the query creates, drops or writes. ``profiles``: by account and object key;
    they are changed in place.
    """
    content = facts.content
    if not settings.helpers or not (content.changes or content.writes):
        return
    for thing in created(facts):
        profile = profiles[facts.account, thing.key]
        profile.made = facts.start if profile.made is None else min(profile.made, facts.start)
        profile.signs.add(_sign(facts, is_drop=False))
        if facts.history.is_temporary:
            known = profile.temporary
            profile.temporary = facts.start if known is None else min(known, facts.start)
    for thing in dropped(facts):
        profiles[facts.account, thing.key].signs.add(_sign(facts, is_drop=True))
    for thing in unclear(facts):
        profiles[facts.account, thing.key].unclear = True


def _sign(facts: QueryFacts, *, is_drop: bool) -> Sign:
    return Sign(facts.start, facts.end, is_drop, facts.history.session_id or "", request_of(facts))


def request_of(facts: QueryFacts) -> str:
    """The id of the request: of the query at the root of the calls."""
    return facts.root_query_id or facts.query_id


def signs_of(profile: Profile) -> HelperSigns | None:
    """The signs that queries need to know; None without any."""
    if profile.kind not in KINDS:
        return None
    windows = tuple(_windows(profile))
    return HelperSigns(profile.temporary, windows) if windows or profile.temporary is not None else None


def _windows(profile: Profile) -> Iterator[HelperWindow]:
    """Each CREATE with the DROP that follows, if they belong to the same session or request and the same day."""
    made: Sign | None = None
    for sign in sorted(profile.signs):
        if not sign.is_drop:
            made = sign
        elif made is not None:
            same_session = sign.session if sign.session == made.session else ""
            same_request = sign.request if sign.request == made.request else ""
            if (same_session or same_request) and made.start // DAY == sign.end // DAY:
                yield HelperWindow(made.start, sign.end, same_session, same_request)
            made = None


def is_helper(profile: Profile, settings: OpenLineageSettings) -> bool:
    """Whether the object is a helper under every name that it had. A table that got another name is none."""
    if profile.made is None or profile.given or profile.old_names:
        return False
    names = {canonical_name(name) for name in profile.names}
    return bool(names) and hidden(profile, names, settings) == names


def hidden(profile: Profile, names: Iterable[str], settings: OpenLineageSettings) -> set[str]:
    """Those of the names (of datasets) under which the object gets no event of its own, because it is a helper and
    nothing on record keeps it from being bridged.
    """
    if not settings.helpers or profile.kind not in KINDS or profile.unclear:
        return set()
    return {name for name in names if _is_hidden(profile, name, settings)}


def _is_hidden(profile: Profile, name: str, settings: OpenLineageSettings) -> bool:
    by_name, other_names = is_named(name, settings.helpers), profile.given or profile.old_names
    if by_name and other_names and profile.made is None:
        return True  # a table that gets the name of a helper before it is dropped
    first = min((seen[0] for seen in profile.names.values()), default=None)
    if profile.made is None or first is None or profile.made > first:
        return False
    if by_name or other_names:
        return by_name
    if profile.temporary is not None and profile.temporary <= first:
        return True
    windows = list(_windows(profile))
    made_times = sum(not sign.is_drop for sign in profile.signs)
    return (
        bool(windows)
        and len(windows) == made_times
        and max(seen[1] for seen in profile.names.values()) <= windows[-1].end
    )
