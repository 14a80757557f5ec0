"""Derive what a statement did from the content of a row. Results are cached, because statements recur."""

from __future__ import annotations

from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING, Final

from exporter.queries.accesses import accesses, accesses_once, joins, joins_once, writes_once
from exporter.queries.ddl import change_of, changes_once, properties_of
from exporter.queries.derivations import derivations, derivations_once
from exporter.queries.facts import Agent, Content, Write
from exporter.queries.identifiers import TRUNCATED
from exporter.queries.incomplete import incomplete
from exporter.queries.objects import found, known_columns, said
from exporter.queries.policies import policies, policies_once
from exporter.rows.documents import AgentDocument, Document, decode

if TYPE_CHECKING:
    from collections.abc import Sequence

_SHORT: Final = 4 * 1024
_LONG: Final = 64 * 1024
"""Bytes of a content. There are two caches: a large one for short contents, a small one for long ones. Contents beyond
both hardly recur and would fill the memory.
"""
_SENTINEL: Final = TRUNCATED.encode()


def content_of(content: bytes) -> Content:
    """What the statement of one row did. ``content``: :attr:`exporter.rows.row.Row.content`. Rows share the result.

    Raises msgspec.DecodeError if the content does not have the documented form.
    """
    size = len(content)
    return _kept_short(content) if size <= _SHORT else _kept_long(content) if size <= _LONG else _read(content)


def _read(content: bytes) -> Content:
    return _said(decode(content), may_be_cut=_SENTINEL in content)


_kept_short: Final = lru_cache(maxsize=8_000)(_read)
_kept_long: Final = lru_cache(maxsize=300)(_read)


def _said(document: Document, *, may_be_cut: bool) -> Content:
    written = list(found(document.modified))
    derived = chain.from_iterable(derivations(thing, one.columns) for one, thing in written)
    own = policies(document.policies, provider=False)
    of_provider = policies(document.provider_policies, provider=True)
    properties = None if document.change is None else properties_of(document.change)
    change = change_of(document.change, properties)
    return Content(
        accesses=accesses_once(accesses(document.direct, document.base, document.provider_base)),
        writes=writes_once(Write(thing, known_columns(one.columns)) for one, thing in written),
        derivations=derivations_once(derived),
        policies=policies_once(chain(own, of_provider)),
        joins=joins_once(joins(document.direct)),
        changes=() if change is None else (change,),
        agents=tuple([_agent(one) for one in document.agents or ()]),
        incomplete=incomplete(document, properties, may_be_cut=may_be_cut),
    )


def _agent(document: AgentDocument | None) -> Agent:
    if document is None:
        return Agent(None, None, None)
    return Agent(said(document.agent_type), said(document.agent_id), said(document.agent_name))


def merged(contents: Sequence[Content]) -> Content:
    """The contents of several rows of one query as one, in any order. Of the lists of agents the greatest is kept."""
    return Content(
        accesses=accesses_once(chain.from_iterable(one.accesses for one in contents)),
        writes=writes_once(chain.from_iterable(one.writes for one in contents)),
        derivations=derivations_once(chain.from_iterable(one.derivations for one in contents)),
        policies=policies_once(chain.from_iterable(one.policies for one in contents)),
        joins=joins_once(chain.from_iterable(one.joins for one in contents)),
        changes=changes_once(chain.from_iterable(one.changes for one in contents)),
        agents=max((one.agents for one in contents), key=_agents_rank),
        incomplete=tuple(sorted({place for one in contents for place in one.incomplete})),
    )


def _agents_rank(agents: tuple[Agent, ...]) -> list[tuple[str, str, str]]:
    return [(one.agent_type or "", one.agent_id or "", one.agent_name or "") for one in agents]
