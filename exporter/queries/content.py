"""Derive what a statement did from the content of a row. Results are cached, because statements recur."""

from __future__ import annotations

from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from exporter.queries.accesses import accesses, accesses_once, joins, joins_once, writes_once
from exporter.queries.ddl import change_of, changes_once, properties_of
from exporter.queries.derivations import derivations, derivations_once
from exporter.queries.facts import Agent, Content, Write
from exporter.queries.identifiers import TRUNCATED
from exporter.queries.incomplete import incomplete
from exporter.queries.objects import both, found, known_columns, one_of, said
from exporter.queries.policies import policies, policies_once
from exporter.queries.streams import may_have_system_views, with_streams
from exporter.rows.documents import AgentDocument, Document, decode

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from exporter.queries.facts import Derivation, Thing

_SHORT: Final = 4 * 1024
_LONG: Final = 64 * 1024
"""Bytes of a content. There are two caches: a large one for short contents, a small one for long ones. Contents beyond
both hardly recur and would fill the memory.
"""
_SENTINEL: Final = TRUNCATED.encode()
_IDENTITY: Final = ("name", "signature", "data_type", "account")
"""The fields of a thing by which events and graph know which object it is, besides its key."""


def content_of(content: bytes) -> Content:
    """What the statement of one row did. ``content``: :attr:`exporter.rows.row.Row.content`. Rows share the result.

    Raises msgspec.DecodeError if the content does not have the documented form.
    """
    size = len(content)
    return _kept_short(content) if size <= _SHORT else _kept_long(content) if size <= _LONG else _read(content)


def _read(content: bytes) -> Content:
    document = decode(content)
    unknown = with_streams(document) if may_have_system_views(content) else []
    return _said(document, unknown, may_be_cut=_SENTINEL in content)


_kept_short: Final = lru_cache(maxsize=8_000)(_read)
_kept_long: Final = lru_cache(maxsize=300)(_read)


def _said(document: Document, unknown: list[str], *, may_be_cut: bool) -> Content:
    written = list(found(document.modified))
    derived = chain.from_iterable(derivations(thing, one.columns) for one, thing in written)
    own = policies(document.policies, provider=False)
    of_provider = policies(document.provider_policies, provider=True)
    properties = None if document.change is None else properties_of(document.change)
    change = change_of(document.change, properties)
    return _completed(
        Content(
            accesses=accesses_once(accesses(document.direct, document.base, document.provider_base)),
            writes=writes_once(Write(thing, known_columns(one.columns)) for one, thing in written),
            derivations=derivations_once(derived),
            policies=policies_once(chain(own, of_provider)),
            joins=joins_once(joins(document.direct)),
            changes=() if change is None else (change,),
            agents=tuple([_agent(one) for one in document.agents or ()]),
            incomplete=tuple(sorted((*incomplete(document, properties, may_be_cut=may_be_cut), *unknown))),
        )
    )


def _agent(document: AgentDocument | None) -> Agent:
    if document is None:
        return Agent(None, None, None)
    return Agent(said(document.agent_type), said(document.agent_id), said(document.agent_name))


def merged(contents: Sequence[Content]) -> Content:
    """The contents of several rows of one query as one, in any order. Of the lists of agents the greatest is kept."""
    return _completed(
        Content(
            accesses=accesses_once(chain.from_iterable(one.accesses for one in contents)),
            writes=writes_once(chain.from_iterable(one.writes for one in contents)),
            derivations=derivations_once(chain.from_iterable(one.derivations for one in contents)),
            policies=policies_once(chain.from_iterable(one.policies for one in contents)),
            joins=joins_once(chain.from_iterable(one.joins for one in contents)),
            changes=changes_once(chain.from_iterable(one.changes for one in contents)),
            agents=max((one.agents for one in contents), key=_agents_rank),
            incomplete=tuple(sorted({place for one in contents for place in one.incomplete})),
        )
    )


def _agents_rank(agents: tuple[Agent, ...]) -> list[tuple[str, str, str]]:
    return [(one.agent_type or "", one.agent_id or "", one.agent_name or "") for one in agents]


def objects(content: Content) -> Iterator[Thing]:
    """The objects that the rows list, as each place describes them."""
    yield from (access.thing for access in content.accesses)
    yield from (write.thing for write in content.writes)
    yield from (derivation.source for derivation in content.derivations)
    yield from (policy.protected for policy in content.policies)
    yield from chain.from_iterable((join.left, join.right) for join in content.joins)
    yield from (change.thing for change in content.changes)


# --- one object, one name ---------------------------------------------------------------------------------------------


def _completed(content: Content) -> Content:
    """The content in which each object has its name, arguments, data type and account wherever it is named. A place may
    leave out the name of an object that has an id, and sources of columns and DDL changes have no account. What one
    place leaves out, the others give; otherwise one object would be two datasets of one event.
    """
    known: dict[str, Thing] = {}
    differ = False
    for thing in objects(content):
        other = known.setdefault(thing.key, thing)
        if other is not thing and other != thing:
            known[thing.key] = both(other, thing)
            differ = True
    rules: dict[str, str | None] = {}
    for one in content.policies:
        rules[one.policy_key] = one_of(rules.get(one.policy_key), one.policy_name)
    if not differ and all(one.policy_name is not None or rules[one.policy_key] is None for one in content.policies):
        return content

    def whole(thing: Thing) -> Thing:
        return _filled(thing, known[thing.key])

    def target(one: Derivation) -> str | None:
        name = one.target_name
        return known[one.target_key].name if name is None and one.target_key in known else name

    return replace(
        content,
        accesses=tuple([replace(one, thing=whole(one.thing)) for one in content.accesses]),
        writes=tuple([replace(one, thing=whole(one.thing)) for one in content.writes]),
        derivations=tuple(
            [replace(one, target_name=target(one), source=whole(one.source)) for one in content.derivations]
        ),
        policies=tuple(
            [
                replace(one, protected=whole(one.protected), policy_name=one.policy_name or rules[one.policy_key])
                for one in content.policies
            ]
        ),
        joins=tuple([replace(one, left=whole(one.left), right=whole(one.right)) for one in content.joins]),
        changes=tuple([replace(one, thing=whole(one.thing)) for one in content.changes]),
    )


def _filled(thing: Thing, known: Thing) -> Thing:
    """The thing with the fields of ``known`` that it leaves out and that say which object it is."""
    given = {name: getattr(known, name) for name in _IDENTITY if getattr(thing, name) is None}
    return replace(thing, **given) if any(one is not None for one in given.values()) else thing
