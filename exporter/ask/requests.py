"""Queries of which Snowflake cut the parent or the root, for answers about requests."""

from __future__ import annotations

from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING, Final

from exporter.ask.asked import MOST, in_utc
from exporter.model.identifiers import TRUNCATED
from exporter.model.incomplete import REQUESTS

if TYPE_CHECKING:
    from exporter.ask.asked import Asked

NEED: Final = "requests"
"""What a question about requests needs (``Question.needs``)."""
_PARENT, _ROOT = REQUESTS


def cut(asked: Asked) -> tuple[set[str], list[str]]:
    """The queries that may belong to what is asked for, and which of the two columns they lack. A question about one
    request needs the parents of its statements alone, and ``column-lineage`` the roots of those that made or dropped a
    helper.
    """
    found: dict[str, set[str]] = {}
    for column in _needed(asked):
        for query in islice(asked.graph.with_text("ah:incomplete", f"{column} {TRUNCATED}"), MOST):
            if _counts(asked, query):
                found.setdefault(column, set()).add(query)
    return set().union(*found.values()), sorted(found)


def _needed(asked: Asked) -> tuple[str, ...]:
    if asked.name == "column-lineage":
        return (_ROOT,) if "bridged" in asked.values("helpers") else ()
    if NEED not in asked.question.needs:
        return ()
    return (_PARENT,) if asked.values("query_id") else REQUESTS


def _counts(asked: Asked, query: str) -> bool:
    """Whether the query may be one of those that are asked for."""
    graph, ids = asked.graph, asked.values("query_id")
    if asked.name == "column-lineage":
        return any(graph.objects(query, "ah:hasChange"))
    if ids:
        return any(
            _may_be_of(asked, query, request) for ident in ids for request in graph.with_text("ah:queryId", ident)
        )
    times = _starts(asked, query)
    return not times or asked.has(*times)


def _may_be_of(asked: Asked, query: str, request: str) -> bool:
    """Whether a query whose parent was cut may be a statement of a request: it starts no earlier, and has the same
    root, if both are known.
    """
    roots, of_request = (set(asked.graph.objects(iri, "ah:rootQuery")) for iri in (query, request))
    is_other = bool(roots) and roots.isdisjoint({request, *of_request})
    begun, requested = _starts(asked, query), _starts(asked, request)
    is_earlier = bool(begun and requested) and max(begun) < min(requested)
    return query != request and not is_other and not is_earlier


def _starts(asked: Asked, query: str) -> list[datetime]:
    return [in_utc(time) for time in asked.graph.objects(query, "prov:startedAtTime")]
