"""The facts of one query from its rows. Start reading here.

A query has several rows if its statement changed several objects (a SWAP), or if a row was exported twice. What follows
from the content of a row is cached, because statements recur. Sources: view, "Columns", "Ancestor queries";
QUERY_HISTORY, if it is given.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from operator import attrgetter
from typing import Any, Final

import msgspec
from msgspec.structs import astuple, replace

from exporter.input.properties import canonical_form, read
from exporter.input.query_history import NO_HISTORY, History
from exporter.input.reading import unknown_columns
from exporter.input.row import AgentDocument, ChangeDocument, Document, Row, decode, text
from exporter.input.times import iso_micros
from exporter.model.accesses import accesses, derivations, joins, policies
from exporter.model.ddl import change_of, changes_once, properties_of
from exporter.model.facts import (
    TEXTS,
    Agent,
    Change,
    Content,
    Derivation,
    ObjectReference,
    PolicyReference,
    QueryFacts,
    Write,
)
from exporter.model.identifiers import TABLE_STAGE, TRUNCATED, parts_of, stored_as, uncut
from exporter.model.incomplete import cut_columns, incomplete
from exporter.model.objects import (
    Fact,
    known_columns,
    known_text,
    least_text,
    merged_references,
    objects_of_array,
    unique_by_key,
)
from exporter.model.other_accounts import with_accounts
from exporter.model.views import may_have_system_views, with_streams
from exporter.system.cache import CONTENTS, LARGE, Recent

_SHORT: Final = 4 * 1024
_LONG: Final = 64 * 1024
"""Bytes of a content. There are two caches: a large one for short contents, a small one for long ones. Contents beyond
both hardly recur and would fill the memory.
"""
_SENTINEL: Final = TRUNCATED.encode()
_ACCOUNT_NAME: Final = b'"accountName"'
_IDENTITY: Final = ("name", "signature", "data_type", "account")
"""The fields of a thing by which events and graph know which object it is, besides its key."""


def content_of(content: bytes, account: str) -> Content:
    """What the statement of one row did. ``content``: :attr:`exporter.input.row.Row.content`; ``account``: a result of
    :func:`account_of`. Rows share the result.

    Raises msgspec.DecodeError if the content does not have the documented form.
    """
    size, own = len(content), account.partition("-")[2] if _ACCOUNT_NAME in content else ""
    if size > _LONG:
        return _read(content, own)
    return _kept_short(content, own) if size <= _SHORT else _kept_long(content, own)


def _read(content: bytes, own: str) -> Content:
    document = decode(content)
    unknown = with_streams(document) if may_have_system_views(content) else []
    return _content(document, unknown, own, may_be_cut=_SENTINEL in content)


_kept_short: Final = lru_cache(maxsize=CONTENTS)(_read)
_kept_long: Final = lru_cache(maxsize=LARGE)(_read)


def _content(document: Document, unknown: list[str], own: str, *, may_be_cut: bool) -> Content:
    written = list(objects_of_array(document.modified))
    properties = None if document.change is None else properties_of(document.change)
    change = change_of(document.change, properties)
    content = Content(
        tuple(accesses(document.direct, document.base, document.provider_base)),
        tuple([Write(thing, known_columns(written_document.columns)) for written_document, thing in written]),
        tuple([derivation for element, thing in written for derivation in derivations(thing, element.columns)]),
        (*policies(document.policies, provider=False), *policies(document.provider_policies, provider=True)),
        tuple(joins(document.direct)),
        () if change is None else (change,),
        tuple([_agent(agent) for agent in document.agents or ()]),
        (*incomplete(document, properties, may_be_cut=may_be_cut), *unknown),
    )
    is_shared = own or document.provider_base or document.provider_policies
    return merged_contents([with_accounts(content, own) if is_shared else content])


def _agent(document: AgentDocument | None) -> Agent:
    if document is None:
        return Agent(None, None, None)
    return Agent(known_text(document.agent_type), uncut(text(document.agent_id)), known_text(document.agent_name))


def merged_contents(contents: Sequence[Content]) -> Content:
    """The contents of the rows of one query, in any order, as one content in which each key is there once. Of the lists
    of agents the greatest is kept.
    """
    chained = chain.from_iterable
    contents = _with_stages_of_tables(contents)
    whole = _completed(
        Content(
            accesses=unique_by_key(
                chained(content.accesses for content in contents), lambda fact: (fact.access, fact.thing.key)
            ),
            writes=unique_by_key(chained(content.writes for content in contents), lambda fact: (fact.thing.key,)),
            derivations=unique_by_key(chained(content.derivations for content in contents), _key_of_derivation),
            policies=unique_by_key(chained(content.policies for content in contents), _key_of_reference),
            joins=unique_by_key(
                chained(content.joins for content in contents),
                lambda fact: (fact.left.key, fact.join_type or "", fact.right.key),
            ),
            changes=changes_once(chained(content.changes for content in contents)),
            agents=max((content.agents for content in contents), key=_agents_rank),
            incomplete=tuple(sorted({place for content in contents for place in content.incomplete})),
        )
    )
    further, types = _further_names(contents)
    if not further and not types:
        return whole
    kept = {(thing.key, thing.name) for thing in _named_things(whole)}
    also = [further[name] for name in sorted(further.keys() - kept)]
    return replace(whole, also_named=(*also, *_of_further_types(whole, types)))


def _further_names(
    contents: Iterable[Content],
) -> tuple[dict[tuple[str, str], ObjectReference], dict[str, set[str]]]:
    """The things that have several names here, by key and name, each with nothing but these; and, by key, the data
    types of routines that have several: rows that give no id do not say that these are several routines.
    """
    first: dict[str, str] = {}
    types: dict[str, set[str]] = {}
    further: dict[tuple[str, str], ObjectReference] = {}
    for thing in chain.from_iterable(map(_named_things, contents)):
        name = thing.name
        if thing.data_type is not None:
            types.setdefault(thing.key, set()).add(thing.data_type)
        if name is not None and first.setdefault(thing.key, name) != name:
            for alias in (first[thing.key], name):
                further[thing.key, alias] = ObjectReference(
                    thing.key, thing.kind, object_id=thing.object_id, name=alias
                )
    return further, {key: data_types for key, data_types in types.items() if len(data_types) > 1}


def _of_further_types(whole: Content, types: Mapping[str, set[str]]) -> Iterator[ObjectReference]:
    """The routines with the data types that no fact of the content has, sorted."""
    shown = {thing.key: thing for thing in objects(whole) if thing.key in types}
    kept = {(thing.key, thing.data_type) for thing in objects(whole)}
    for key in sorted(types):
        yield from (
            replace(shown[key], data_type=data_type) for data_type in sorted(types[key]) if (key, data_type) not in kept
        )


def _named_things(content: Content) -> Iterator[ObjectReference]:
    """The objects that the rows list, and the policies that were enforced."""
    yield from objects(content)
    for policy in content.policies:
        kind = policy.policy_key.partition("/")[0]
        yield ObjectReference(policy.policy_key, kind, object_id=policy.policy_id, name=policy.policy_name)


def _key_of_derivation(fact: Derivation) -> tuple[str, ...]:
    return fact.target_key, fact.target_column, fact.source_type, fact.source.key, fact.source_column or ""


def _key_of_reference(fact: PolicyReference) -> tuple[str, ...]:
    return fact.protected.key, fact.column_name or "", fact.policy_key, "provider" if fact.provider else ""


def _agents_rank(agents: tuple[Agent, ...]) -> list[tuple[str, str, str]]:
    return [(agent.agent_type or "", agent.agent_id or "", agent.agent_name or "") for agent in agents]


def objects(content: Content) -> Iterator[ObjectReference]:
    """The objects that the rows list, as each place describes them."""
    yield from (access.thing for access in content.accesses)
    yield from (write.thing for write in content.writes)
    yield from (derivation.source for derivation in content.derivations)
    yield from (policy.protected for policy in content.policies)
    yield from chain.from_iterable((join.left, join.right) for join in content.joins)
    yield from (change.thing for change in content.changes)
    yield from content.also_named


# --- one object, one name ---------------------------------------------------------------------------------------------


def _with_stages_of_tables(contents: Sequence[Content]) -> Sequence[Content]:
    """The contents in which a source that is a stage with the id and the name of a table is the stage of the table: a
    source has no ``stageKind``, and the stage of a table has the table's id and name (view, "objectId").
    """
    if not any(derivation.source.kind == "stage" for content in contents for derivation in content.derivations):
        return contents
    stages: dict[tuple[str | None, str | None], ObjectReference] = {}
    for thing in chain.from_iterable(map(objects, contents)):
        if thing.kind == TABLE_STAGE:
            stages[thing.object_id, thing.name] = thing
        elif thing.kind == "table" and thing.object_id is not None and thing.account is None:
            own = ObjectReference(f"{TABLE_STAGE}/{thing.object_id}", TABLE_STAGE, "STAGE", thing.object_id, thing.name)
            stages.setdefault((thing.object_id, thing.name), own)

    def listed(derivation: Derivation) -> Derivation:
        source = derivation.source
        is_stage = source.kind == "stage" and source.account is None
        stage = stages.get((source.object_id, source.name)) if is_stage else None
        return derivation if stage is None else replace(derivation, source=stage)

    return [replace(content, derivations=tuple(map(listed, content.derivations))) for content in contents]


def _completed(content: Content) -> Content:
    """The content in which each object has its name, arguments, data type and account wherever it is named. A place may
    leave out the name of an object that has an id, and sources of columns and DDL changes have no account. What one
    place leaves out, the others give; otherwise one object would be two datasets of one event.
    """
    known: dict[str, ObjectReference] = {}
    differ = False
    for thing in objects(content):
        other = known.setdefault(thing.key, thing)
        if other is not thing and other != thing:
            known[thing.key] = merged_references(other, thing)
            differ = True
    rules: dict[str, str | None] = {}
    for policy in content.policies:
        rules[policy.policy_key] = least_text(rules.get(policy.policy_key), policy.policy_name)
    if not differ and all(policy.policy_name == rules[policy.policy_key] for policy in content.policies):
        return content

    def whole(fact: Fact) -> Fact:
        fields = {name: getattr(fact, name) for name in fact.__struct_fields__}
        given = {
            name: _filled(thing, known[thing.key])
            for name, thing in fields.items()
            if isinstance(thing, ObjectReference)
        }
        return replace(fact, **given)

    def target(derivation: Derivation) -> str | None:
        name = derivation.target_name
        return known[derivation.target_key].name if name is None and derivation.target_key in known else name

    return replace(
        content,
        accesses=tuple(map(whole, content.accesses)),
        writes=tuple(map(whole, content.writes)),
        derivations=tuple(
            [replace(whole(derivation), target_name=target(derivation)) for derivation in content.derivations]
        ),
        policies=tuple(
            [
                replace(whole(policy), policy_name=policy.policy_name or rules[policy.policy_key])
                for policy in content.policies
            ]
        ),
        joins=tuple(map(whole, content.joins)),
        changes=tuple(map(whole, content.changes)),
    )


def _filled(thing: ObjectReference, known: ObjectReference) -> ObjectReference:
    """The thing with the fields of ``known`` that it leaves out and that say which object it is."""
    given = {name: getattr(known, name) for name in _IDENTITY if getattr(thing, name) is None}
    return replace(thing, **given) if any(value is not None for value in given.values()) else thing


_TRUNCATE: Final = "TRUNCATE_TABLE"
"""The ``query_type`` of TRUNCATE TABLE."""
_MOST_PARTS: Final = 3
_truncating: Final[Recent[Content]] = Recent(1_000)
_cut: Final[Recent[dict[tuple[str, ...], Content]]] = Recent(1_000)


def account_of(row: Row, default: str) -> str:
    """The account of a row, ORG-ACCOUNT: the row's own in ORGANIZATION_USAGE, otherwise ``default``, also if Snowflake
    cut one of its names. Organization names have no hyphen; one in the data is escaped, so that two different pairs
    never give the same account.
    """
    organization, account = uncut(row.organization_name), uncut(row.account_name)
    if organization is None or account is None:
        return default
    if "-" in organization or "%" in organization:
        organization = organization.replace("%", "%25").replace("-", "%2D")
    return f"{organization}-{account}"


def contradict_each_other(rows: Sequence[Row]) -> bool:
    """Whether the rows of one query name different users, or those of the same calls (AGGREGATE_ACCESS_HISTORY) give
    different numbers of them. They contradict each other, so the query is quarantined.
    """
    return len(rows) > 1 and len({(row.user_name, row.calls) for row in rows}) > 1


def without_duplicates(rows: Sequence[Row]) -> list[Row]:
    """The rows of one query, one of each group of :func:`duplicate_groups`; the same in any order of rows."""
    return [representative(group) for group in duplicate_groups(rows)]


def duplicate_groups(rows: Sequence[Row]) -> list[list[Row]]:
    """The rows of one query in groups of duplicates: rows equal in all columns that are read, however their JSON is
    written. A null and an empty array are equal, because some tools write one for the other; and so are the forms of
    DDL properties (:mod:`exporter.input.properties`).
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


def representative(group: Sequence[Row]) -> Row:
    """The row that stands for duplicates: the first, or the least where the JSON of their properties differs."""
    return group[0] if len(group) == 1 else min(group, key=_properties)


def _properties(row: Row) -> str:
    change = decode(row.content).change
    return "" if change is None else properties_of(change) or ""


def _plain(value: Any) -> Hashable:
    """A document as a hashable value; documents with the same meaning give equal values."""
    if isinstance(value, ChangeDocument):
        fields = (value.object_domain, value.object_id, value.object_name, value.argument_signature)
        return (*map(text, (*fields, value.operation_type)), canonical_form(read(properties_of(value)).normal))
    if isinstance(value, msgspec.Struct):
        return tuple(map(_plain, astuple(value)))
    if isinstance(value, list):
        return tuple(map(_plain, value)) or None
    return text(value)


def query_facts(account: str, rows: Sequence[Row], history: History = NO_HISTORY) -> QueryFacts:
    """The facts of a query from its rows (:func:`without_duplicates`): at least one, in any order."""
    row, content = rows[0], content_of(rows[0].content, account)
    kept = {row.unknown_columns for row in rows if row.unknown_columns is not None}
    if len(rows) > 1:
        row, content = _as_one(rows), merged_contents([content_of(row.content, account) for row in rows])
        kept |= {unknown for values in contradicting_values(rows) if (unknown := unknown_columns(values)) is not None}
    texts = dict(zip(TEXTS, map(uncut, _texts_of(row)), strict=True))
    content = _with_history(_with_cut(content, cut_columns(rows, texts)), history)
    if row.calls is not None:  # QUERY_HISTORY has no line for them
        hash_ = uncut(row.query_parameterized_hash)
        history = History(query_parameterized_hash=hash_, end_time=row.interval_end)
    return QueryFacts(
        account,
        row.query_id,
        row.start,
        row.user_name,
        content,
        **texts,
        row_count=len(rows),
        history=history,
        unknown_columns=tuple(sorted(kept)),
        calls=row.calls,
    )


_texts_of: Final = attrgetter(*TEXTS)


def _as_one(rows: Sequence[Row]) -> Row:
    """A row with what the rows of a query say beside its content: its earliest start, and of other values the least."""
    texts = {name: _least(getattr(row, name) for row in rows) for name in TEXTS}
    start, user_name = min(row.start for row in rows), min(row.user_name for row in rows)
    return replace(rows[0], start=start, user_name=user_name, **texts)


def _least(texts: Iterable[str | None]) -> str | None:
    return min([text for text in map(uncut, texts) if text is not None], default=None)


_AGENT: Final = ("agentType", "agentId", "agentName")


def contradicting_values(rows: Sequence[Row]) -> list[dict[str, str]]:
    """Of each row of a query (:func:`without_duplicates`) the values, as texts by column, that the facts do not have,
    because another row gives another value: a query has one start, one parent, one list of agents. Empty, if the rows
    agree.
    """
    agents_of_rows = [content_of(row.content, "").agents for row in rows]
    kept = _single_values(_as_one(rows), max(agents_of_rows, key=_agents_rank))
    values_of_rows = (_single_values(row, agents) for row, agents in zip(rows, agents_of_rows, strict=True))
    return [{name: value for name, value in values.items() if value != kept[name]} for values in values_of_rows]


def _single_values(row: Row, agents: tuple[Agent, ...]) -> dict[str, str]:
    texts = {name: value for name, value in zip(TEXTS, map(uncut, _texts_of(row)), strict=True) if value is not None}
    texts["query_start_time"] = iso_micros(row.start)
    if agents:
        documents = [dict(zip(_AGENT, astuple(agent), strict=True)) for agent in agents]
        texts["agents_info"] = msgspec.json.encode(documents).decode()
    return texts


def _with_cut(content: Content, places: tuple[str, ...]) -> Content:
    """The content with further places of the row that Snowflake cut. Of the same content and places the result is
    always the same object, because caches compare contents by identity.
    """
    if not places:
        return content
    known = _cut.get(content)
    if known is None:
        known = _cut.keep(content, {})
    if places not in known:
        known[places] = replace(content, incomplete=tuple(sorted({*content.incomplete, *places})))
    return known[places]


def _with_history(content: Content, history: History) -> Content:
    """The content, with what only QUERY_HISTORY says: that the statement emptied what it wrote, and in which schema a
    new name is. The row of a TRUNCATE names the table in objects_modified, like that of an INSERT (view, "Write
    operation notes"). Of a content with a TRUNCATE the result is always the same object, because caches compare
    contents by identity.
    """
    if any(change.new_name is not None for change in content.changes):
        changes = tuple([replace(change, new_name=_new_name(change, history)) for change in content.changes])
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
    return ".".join([*(stored_as(part) for part in session if part is not None), name])
