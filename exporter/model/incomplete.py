"""What a row does not say, and what is not understood in it.

Snowflake truncates rows and leaves things without a name: ``PLACE TRUNCATED``, ``PLACE UNNAMED`` (view, "Usage notes",
the eight phases of truncation). ``PLACE UNNAMED KIND`` is a change or policy without name and id, of which the row
gives the kind, if only some answers are about that kind (:func:`unnamed`).

What the exporter does not understand is exported as far as it is understood, and counted by name. ``PLACE
NOT_UNDERSTOOD`` says of a query that it is incomplete by that: what it did to an object may be lost. New names of
columns and properties lose nothing. The lists say what was known when this version was made; docs/input.md has them.
Names of columns, tags and other things that users named are not in the results. Sources: view, "Columns",
"object_modified_by_ddl"; behaviour changes until bundle 2026_07.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Final

import msgspec

from exporter.input.properties import Properties, columns_without_operation, read
from exporter.input.row import (
    JSON_TEXTS,
    REMOVED_CHANGE,
    AgentDocument,
    ChangeDocument,
    DirectDocument,
    Document,
    GuardedDocument,
    JoinDocument,
    JoinedDocument,
    ObjectDocument,
    PolicyDocument,
    ReadDocument,
    Row,
    SourcedColumnDocument,
    SourceDocument,
    Text,
    WrittenDocument,
    columns_of,
    decode,
    is_path,
    text,
)
from exporter.model.accesses import policy_kind
from exporter.model.ddl import properties_of
from exporter.model.effects import CREATES
from exporter.model.facts import Content
from exporter.model.grants import are_cut, unknown_forms
from exporter.model.identifiers import (
    FUNCTIONS,
    TABLES,
    TRUNCATED,
    VIEWS,
    is_cut_id,
    is_no_id,
    normal_domain,
    parts_of,
    uncut,
    usable_id,
)
from exporter.model.objects import ARRAYS, NamingElement, known_text, named_elements, reference_of, sources
from exporter.system.cache import CONTENTS

Objects = Sequence[ReadDocument | WrittenDocument | GuardedDocument | None] | None
_SENTINEL: Final = f'"{TRUNCATED}"'
_SENTINEL_BYTES: Final = _SENTINEL.encode()
_CHANGE: Final = "object_modified_by_ddl"
_OF_POLICIES: Final = ("policies_referenced", "provider_policies_referenced")
REQUESTS: Final = ("parent_query_id", "root_query_id")
"""The columns that say of which request a query is."""
ACCOUNTS: Final = ("organization_name", "account_name")
"""The columns that say in which account a query ran."""
_OF_ACCOUNTS: Final = frozenset(f"{name} {TRUNCATED}" for name in ACCOUNTS)
UNNAMED: Final = "UNNAMED"
NOT_UNDERSTOOD: Final = "NOT_UNDERSTOOD"


def incomplete(document: Document, properties: str | None, *, may_be_cut: bool) -> Iterator[str]:
    """The texts ``PLACE REASON``, each once. ``properties``: the JSON of the change's properties. ``may_be_cut``:
    whether the sentinel occurs anywhere in the row.
    """
    for name, field in ARRAYS.items():
        objects: Objects = getattr(document, field)
        if objects:
            if may_be_cut and _SENTINEL_BYTES in msgspec.json.encode(objects):  # at any depth
                yield f"{name} {TRUNCATED}"
            if _says_nothing_somewhere(objects):
                yield f"{name} {UNNAMED}"
    doubtful = [place for place, _ in _doubtful_ids(document)]
    for place in _OF_POLICIES:
        guarded = [element for element in getattr(document, ARRAYS[place]) or () if element is not None]
        doubtful += [place for element in guarded if any(_new_kinds(element)) or any(_without_policies(element))]
        yield from {f"{place} {unnamed(kind)}" for element in guarded for _, kind in _nameless_policies(element)}
    yield from (f"{place} {NOT_UNDERSTOOD}" for place in dict.fromkeys(doubtful))
    yield from (f"agents_info {reason}" for reason in dict.fromkeys(map(_of_agent, document.agents or ())) if reason)
    if document.change is not None:
        reasons = _of_incomplete(document.change, properties, may_be_cut=may_be_cut)
        yield from (f"{_CHANGE} {reason}" for reason in reasons)


def _of_incomplete(change: ChangeDocument, properties: str | None, *, may_be_cut: bool) -> Iterator[str]:
    is_cut = (may_be_cut and _is_cut(change, properties)) or are_cut(read(properties))
    if is_cut:
        yield TRUNCATED
    if _lacks_object(change):
        if not is_cut:
            yield unnamed(change.object_domain)
    elif change.operation_type is None and not is_cut:
        yield NOT_UNDERSTOOD
    if _may_change_more(change, properties):
        yield NOT_UNDERSTOOD


def _lacks_object(change: ChangeDocument) -> bool:
    """Whether the row gives neither name nor id of what was changed, so that nothing is recorded of the change; or not
    the name of what a REPLACE made, so that nothing says what it replaced.
    """
    if known_text(change.object_name) is not None:
        return False
    return _has_no_id(change.object_id, change.object_domain) or _operation(change) == "REPLACE"


def cut_columns(rows: Iterable[Row], kept: Mapping[str, str | None]) -> tuple[str, ...]:
    """``COLUMN TRUNCATED`` for each column of text that Snowflake cut in a row of a query, if no row of it has the
    value; and for JSON in which something was cut. ``kept``: the values of the query by column.
    """
    places = dict[str, None]()
    for row in rows:
        for name, value in kept.items():
            given = getattr(row, name)
            if value is None and given is not None and _is_cut_text(given):
                places[name] = None
        for name in JSON_TEXTS:
            if _SENTINEL in (kept[name] or ""):
                places[name] = None
        if row.calls is not None and _is_cut_text(row.query_parameterized_hash):
            places["query_parameterized_hash"] = None
    return tuple([f"{name} {TRUNCATED}" for name in places])


def _is_cut_text(given: str | None) -> bool:
    return given == TRUNCATED or is_cut_id(given)


def is_account_cut(content: Content) -> bool:
    """Whether Snowflake cut a name of the account that a query ran in, so that it counts as of the exported one."""
    return not _OF_ACCOUNTS.isdisjoint(content.incomplete)


def unnamed(domain: Text) -> str:
    """``UNNAMED``, for what has neither name nor id; ``UNNAMED KIND`` if the row gives a kind that is known and is not
    of :data:`OF_ALL_ANSWERS`.

    >>> unnamed("MASKING_POLICY"), unnamed("Table"), unnamed(None)
    ('UNNAMED MASKING POLICY', 'UNNAMED', 'UNNAMED')
    """
    kind = normal_domain(text(domain))
    return f"{UNNAMED} {kind}" if kind in KNOWN_DOMAINS - OF_ALL_ANSWERS else UNNAMED


def _nameless_policies(guarded: GuardedDocument) -> Iterator[tuple[str, Text]]:
    """The policies with neither name nor id, as path and kind; those without a kind, too, are doubtful already."""
    for inside, policy in _policies_of(guarded):
        if known_text(policy.policy_name) is None and policy.policy_name != TRUNCATED and _has_no_id(policy.policy_id):
            yield f"{inside}policies[].policyName", policy.policy_kind


def _without_policies(guarded: GuardedDocument) -> Iterator[str]:
    """The path of what an object lacks that is listed as protected, or its column, if no policy is given for it. The
    columns of an object that a policy protects as a whole need none of their own.
    """
    columns = [column for column in guarded.columns or () if column is not None]
    lacking = [column for column in columns if not column.policies]
    if guarded.policies or (columns and not lacking) or _SENTINEL_BYTES in msgspec.json.encode(guarded):
        return
    yield "policies" if len(lacking) == len(columns) else "columns[].policies"


def _may_change_more(change: ChangeDocument, properties: str | None) -> bool:
    """Whether the operation is a new one, or a known property has a form that could not be read."""
    given = read(properties)
    return _new_operation(change) is not None or given.is_doubtful or any(_unknown_forms(change, given))


def _unknown_forms(change: ChangeDocument, properties: Properties) -> Iterator[str]:
    thing = reference_of(change.object_domain, change.object_id, change.object_name, change.argument_signature)
    if thing is not None:
        yield from unknown_forms(thing, _operation(change), properties)
    if _operation(change) not in CREATES and columns_without_operation(properties):
        yield "columns[].subOperationType"


def _operation(change: ChangeDocument) -> str:
    return (text(change.operation_type) or "").strip(" ").upper()


def _new_operation(change: ChangeDocument) -> str | None:
    operation = _operation(change)
    return None if operation in {"", TRUNCATED, *KNOWN_OPERATIONS} else operation


def _is_cut(change: ChangeDocument, properties: str | None) -> bool:
    # A tool that encodes twice escapes the quotes in the row: they are plain in the normal form.
    given = (properties or "", read(properties).normal or "")
    inside = properties == TRUNCATED or any(_SENTINEL in text for text in given)
    named_by = (change.object_domain, change.object_id, change.object_name, change.operation_type)
    return inside or TRUNCATED in map(text, named_by)


def _says_nothing_somewhere(objects: Objects) -> bool:
    """Whether there is an object without id, name and location, or a column without a name; or such a partner of a join
    or source of a column.
    """
    for document in objects or ():
        if document is None or _is_nothing(document):
            return True
        if isinstance(document, DirectDocument) and not all(map(_has_partner, document.join_objects or ())):
            return True
        for column in document.columns or ():
            if column is None or _is_blank(column.column_name):
                return True
            if isinstance(column, SourcedColumnDocument) and not all(map(_is_named, sources(column))):
                return True
    return False


def _has_partner(join: JoinDocument | None) -> bool:
    sides = () if join is None else (join.node, join.join_object)
    return any(side is not None and not _is_nothing(side) for side in sides)


def _is_named(source: SourceDocument | None) -> bool:
    return source is not None and not _is_nothing(source)


def _is_nothing(document: ObjectDocument | JoinedDocument | SourceDocument) -> bool:
    name = document.object_name
    if name is None and not isinstance(document, SourceDocument):
        name = document.location
    if name is None and isinstance(document, ObjectDocument) and document.locations:
        name = document.locations[0]
    return _is_blank(name) and _has_no_id(document.object_id, document.object_domain)


def _has_no_id(given: Text, domain: Text = None) -> bool:
    """Whether a row gives no id. With a kind, a text that is no number stands for the name of an object."""
    ident = text(given)
    return is_no_id(ident) or (_is_blank(domain) and usable_id(ident) is None)


def _of_agent(agent: AgentDocument | None) -> str | None:
    """What a row does not say of an agent; None where nothing was cut, and something calls it by."""
    if agent is None:
        return UNNAMED
    given = (agent.agent_type, agent.agent_id, agent.agent_name)
    if TRUNCATED in given or is_cut_id(text(agent.agent_id)):
        return TRUNCATED
    return UNNAMED if all(known_text(value) is None for value in given) else None


def _is_blank(value: Text) -> bool:
    return value is None or (isinstance(value, str) and not value.strip(" "))


KNOWN_OPERATIONS: Final = frozenset(
    {
        *("ALTER", "CREATE", "DROP", "REPLACE", "UNDROP", "REFRESH"),
        *("DESCRIBE", "SHOW", "SUSPEND", "RESUME", "GRANT", "REVOKE"),
    }
)
KNOWN_EVENT_SOURCES: Final = frozenset({"snowflake_sql", "horizon_irc"})
KNOWN_DOMAINS: Final = frozenset(
    {
        *(*TABLES, *VIEWS, *FUNCTIONS, "PROCEDURE", "DATABASE", "SCHEMA", "STREAM", "STAGE", "SEQUENCE", "COLUMN"),
        *("TAG", "SHARE", "LISTING", "ROLE", "DATABASE ROLE", "APPLICATION ROLE", "INSTANCE ROLE", "SESSION", "AGENT"),
        *("MCP SERVER", "POSTGRES INSTANCE", "WAREHOUSE", "USER", "ACCOUNT", "APPLICATION", "APPLICATION PACKAGE"),
        *("ALERT", "TASK", "PIPE", "FILE FORMAT", "INTEGRATION", "SECRET", "NETWORK RULE", "COMPUTE POOL", "SERVICE"),
        *("IMAGE REPOSITORY", "NOTEBOOK", "STREAMLIT", "MODEL", "MODULE", "DATASET", "GIT REPOSITORY", "SEMANTIC VIEW"),
        *("CORTEX SEARCH SERVICE", "FAILOVER GROUP", "REPLICATION GROUP", "CONNECTION", "EXTERNAL VOLUME", "POLICY"),
        *("MASKING POLICY", "ROW ACCESS POLICY", "AGGREGATION POLICY", "PROJECTION POLICY", "JOIN POLICY"),
        *("PASSWORD POLICY", "SESSION POLICY", "NETWORK POLICY", "AUTHENTICATION POLICY", "PACKAGES POLICY"),
        *("PRIVACY POLICY", "FEATURE POLICY", "STORAGE LIFECYCLE POLICY"),
    }
)
"""In normal form (:func:`exporter.model.identifiers.normal_domain`)."""
OF_ALL_ANSWERS: Final = frozenset(
    {*TABLES, *VIEWS, "SEMANTIC VIEW", "STREAM", "COLUMN", "SCHEMA", "DATABASE", "ACCOUNT"}
)
"""The kinds that all answers are about: what holds data, or shows it, and what it is in."""
LONGEST: Final = 80
"""Longest name in the results, in characters."""
_SHORT: Final = 4 * 1024


def not_understood(row: Row) -> tuple[str, ...]:
    """What is not understood: ``column NAME``, ``property PATH``, ``operation NAME``, ``domain NAME``,
    ``event_source NAME``; sorted.
    """
    of_content = _of_content(row.content) if len(row.content) > _SHORT else _kept(row.content)
    source = uncut(row.event_source)
    is_new = source is not None and source.strip(" ").lower() not in KNOWN_EVENT_SOURCES
    if row.unknown_columns is None and not is_new:
        return of_content
    names = () if row.unknown_columns is None else columns_of(row.unknown_columns)
    columns = [_named("property" if is_path(name) else "column", name) for name in names]
    return tuple(sorted({*of_content, *columns, *([_named("event_source", source or "")] if is_new else ())}))


def _of_content(content: bytes) -> tuple[str, ...]:
    return tuple(sorted(set(_of_document(decode(content)))))


_kept: Final = lru_cache(maxsize=CONTENTS)(_of_content)


def _named(kind: str, name: str) -> str:
    return f"{kind} {name if len(name) <= LONGEST else name[:LONGEST] + '…'}"


def _of_document(document: Document) -> Iterator[str]:
    for _, named in named_elements(document):
        yield from _domain(named.object_domain)
        if isinstance(named, GuardedDocument):
            yield from _new_kinds(named)
    for place in _OF_POLICIES:
        for element in getattr(document, ARRAYS[place]) or ():
            if element is not None:
                paths = (*(path for path, _ in _nameless_policies(element)), *_without_policies(element))
                yield from (f"property {place}[].{path}" for path in paths)
    for _, path in _doubtful_ids(document):
        yield f"property {path}"
    if document.change is not None:
        yield from _of_change(document.change)


def _is_of_no_kind(named: NamingElement) -> bool:
    """Whether something has an id, or is changed, but has no kind or location, so that nothing says what it is. Sources
    by their name alone are streams (:mod:`exporter.model.views`).
    """
    if normal_domain(text(named.object_domain)) is not None:
        return False
    if isinstance(named, ChangeDocument) and known_text(named.object_name):
        return True
    is_placed = isinstance(named, ObjectDocument) and (known_text(named.location) or named.locations)
    return known_text(named.object_id) not in {None, "0", "-1"} and not is_placed


def _doubtful_ids(document: Document) -> Iterator[tuple[str, str]]:
    """Place and path of what does not say what was meant: ids and names of something without a kind, ids that are no
    numbers (view, "objectId"), and policies without a kind. Within an object of an array only policies have a path of
    their own.
    """
    for place, named in named_elements(document):
        path = f"{place}{'' if named is document.change else '[]'}"
        ident = named.object_id
        if not named.object_domain or type(ident) is not int or ident < -1:  # nearly all have a kind, and a number
            if _is_of_no_kind(named):
                yield place, f"{path}.{'objectDomain' if known_text(named.object_name) else 'objectId'}"
            if _is_unreadable(named.object_id, named.object_domain):
                yield place, f"{path}.objectId"
        if isinstance(named, GuardedDocument):
            for inside, policy in _policies_of(named):
                if _is_unreadable(policy.policy_id):
                    yield place, f"{path}.{inside}policies[].policyId"
                if _is_blank(policy.policy_kind) and policy.policy_name != TRUNCATED:
                    yield place, f"{path}.{inside}policies[].policyKind"


def _policies_of(guarded: GuardedDocument) -> Iterator[tuple[str, PolicyDocument]]:
    """The policies of an object and of its columns, with the path to what has them."""
    yield from (("", policy) for policy in guarded.policies or () if policy is not None)
    for column in guarded.columns or ():
        yield from (("columns[].", policy) for policy in (column and column.policies) or () if policy is not None)


def _new_kinds(guarded: GuardedDocument) -> Iterator[str]:
    """The kinds of policies that are not known: whether one masks is not, either."""
    for _, policy in _policies_of(guarded):
        yield from _domain(policy_kind(policy.policy_kind))


def _is_unreadable(given: Text, domain: Text = None) -> bool:
    """Whether an id is no number. Of a user stage it is the user's name (view, "objectId")."""
    if type(given) is int and given > 0:  # nearly all are, and True is none
        return False
    ident = text(given)
    return usable_id(ident) is None and not is_no_id(ident) and normal_domain(text(domain)) != "STAGE"


def _domain(domain: Text) -> Iterator[str]:
    normal = normal_domain(text(domain))
    if normal is not None and normal not in KNOWN_DOMAINS:
        yield _named("domain", normal)


def _of_change(change: ChangeDocument) -> Iterator[str]:
    operation, properties = _new_operation(change), read(properties_of(change))
    if _lacks_object(change):
        if change != REMOVED_CHANGE and change.object_name != TRUNCATED:
            yield f"property {_CHANGE}.objectName"
    elif change.operation_type is None:
        yield f"property {_CHANGE}.operationType"
    if operation is not None:
        yield _named("operation", operation)
    for path in (*properties.unknown, *_unknown_forms(change, properties)):
        yield _named("property", path)
    own, new = (
        parts_of(name or "")
        for name in (known_text(text(change.object_name)), known_text(properties.atoms.get("objectName")))
    )
    if 0 < len(new) < len(own):
        yield "property objectName"
    for name, value in properties.atoms.items():
        if name.lower().endswith(("targetdomain", "sourcedomain")):
            yield from _domain(value)
