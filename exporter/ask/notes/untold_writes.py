"""A note on writes of which rows give neither columns nor sources, for answers about where data came from.

Rows of calls to the Iceberg REST catalog are so, and that of a TRUNCATE TABLE, which only QUERY_HISTORY tells from a
write.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from exporter.ask.lookups import Lookups
from exporter.ask.notes.asked import Asked, queries_in_words
from exporter.ask.notes.columns import object_of, wholes_behind

NEITHER: Final = "give neither its columns nor its sources"
"""A part of the note."""
_OF_WHOLES: Final = ("lineage-as-of", "page-up", "page-up-at")
_COLUMN_LINEAGE: Final = "column-lineage"
OF_SOURCES: Final = (*_OF_WHOLES, _COLUMN_LINEAGE, "root-cause", "page-column-up", "page-column-up-at")
"""Questions about where data came from."""
_REMOVING: Final = ("DELETE", "TRUNCATE_TABLE")
_CATALOG: Final = "horizon_irc"
"""The source of rows of calls to the Iceberg REST catalog."""
_EMPTIED: Final = (
    " Without QUERY_HISTORY, such a row can be a TRUNCATE, after which nothing is left of what was there before."
)
_LOOKED_AT: Final = 10_000
"""How many versions the note looks at, at most."""


def writes_without_sources(asked: Asked) -> Iterator[str]:
    """Queries that wrote what is asked for, or what its data came from, and of which rows say no more than that."""
    graph, things = asked.graph, _asked_things(asked)
    queries: dict[str, bool] = {}
    for state in graph.at_most(_states(asked, things), _LOOKED_AT):
        if _lacks_sources(graph, state):
            is_further = things.isdisjoint(graph.objects(state, "prov:specializationOf"))
            for query in graph.objects(state, "prov:wasGeneratedBy"):
                if asked.has_activity(query) and graph.text(query, "ah:queryType") not in _REMOVING:
                    queries[query] = queries.get(query, False) or is_further
    if queries:
        further = ", or what its data came from," if any(queries.values()) else ""
        perhaps = asked.values("at") and any(_is_perhaps_truncate(graph, query) for query in queries)
        yield (
            f"Rows of queries that wrote what is asked for{further} {NEITHER}: {queries_in_words(graph, queries)}. The "
            f"answer cannot have where that came from.{_EMPTIED if perhaps else ''}"
        )


def _is_perhaps_truncate(graph: Lookups, query: str) -> bool:
    """Whether neither QUERY_HISTORY nor the row says by what a query wrote."""
    return graph.text(query, "ah:queryType") is None and graph.text(query, "ah:eventSource") != _CATALOG


def _asked_things(asked: Asked) -> set[str]:
    things = asked.asked_objects
    if not asked.is_of_page and asked.name != _COLUMN_LINEAGE:
        things = asked.lineage.asked_things
    return {object_of(asked.graph, thing) for thing in things}


def _states(asked: Asked, things: set[str]) -> Iterator[str]:
    """The versions of objects that the data may have been in; each once."""
    own = (state for thing in sorted(things) for state in asked.graph.subjects("prov:specializationOf", thing))
    states = dict.fromkeys(own)
    if asked.name in _OF_WHOLES:
        states |= dict.fromkeys(sorted(asked.lineage.states))
    elif asked.name != _COLUMN_LINEAGE:
        states |= dict.fromkeys(wholes_behind(asked, asked.lineage.columns or set()))
    yield from states


def _lacks_sources(graph: Lookups, state: str) -> bool:
    """Whether a row has a table among what was written (a change alone has no name there), and says no more of it."""
    things = graph.objects(state, "prov:specializationOf")
    is_table = any((graph.text(thing, "ah:domain") or "").lower().endswith("table") for thing in things)
    is_written = is_table and any(graph.objects(state, "ah:objectName"))
    says_more = any(graph.objects(state, "prov:wasDerivedFrom")) or any(graph.subjects("dcterms:isPartOf", state))
    return is_written and not says_more
