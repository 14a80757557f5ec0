"""Notes about short queries on hybrid tables, which AGGREGATE_ACCESS_HISTORY alone has: how an answer counts them, or
that they are not on record (view, "Hybrid tables").
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyoxigraph import NamedNode

from exporter.graph.ask import by_day
from exporter.graph.ask.known import Known
from exporter.graph.terms import full

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from pyoxigraph import Store

_TYPE: Final = NamedNode(full("rdf:type"))
_AGGREGATED: Final = NamedNode(full("ah:AggregatedQueries"))
_HYBRID: Final = NamedNode(full("ah:HybridTable"))
LEAVE_OUT: Final = frozenset({"ancestors", "enforced-policy", "statements-of-request"})
"""Questions about query ids and their parents, which aggregated queries do not have."""
WITHOUT_ID: Final = frozenset(
    {
        *("changes", "exposure", "joins", "lineage-as-of", "policy-access", "root-cause", "unmasked-reads"),
        *("user-history", "when-accessed", "writers"),
    }
)
"""Questions that name queries. Their answers have rows without a query id for aggregated queries."""
COUNTED: Final = frozenset({"column-readers"})
"""Questions that count queries: all calls count."""
ANSWERED: Final = frozenset(
    {
        *("column-copies", "column-lineage", "columns-accessed", "downstream-users", "end-up", "former-names"),
        *("masking-policies", "policy-coverage", "row-access-policies", "sensitive-data-movement", "tag-history"),
        *("unmasked-copies", "unused-objects", "who-accessed"),
    }
)
"""Questions that name neither a query nor a number of them: aggregated queries are in their answers as others."""
OF_ACCESSES: Final = (WITHOUT_ID | COUNTED | ANSWERED) - {
    *("exposure", "former-names", "masking-policies", "policy-coverage", "row-access-policies", "tag-history"),
}
"""Questions about reads and writes, which lack something if short queries are not on record."""
OBJECTS: Final = ("object_name", "target_object_name")
IDS: Final = ("object_id",)
"""Parameters that name an object, by name or by id."""
_SHOWN: Final = 3


def notes(store: Store, question: str, given: Mapping[str, str | Iterable[str]]) -> list[str]:
    """Notes for a person who asked a shipped question; none where short queries have nothing to do with it."""
    if next(iter(store.quads_for_pattern(None, _TYPE, _AGGREGATED, None)), None) is not None:
        return _of_aggregated(question)
    if question not in OF_ACCESSES:
        return []
    names = sorted(set(_hybrid(store, given)))
    if not names:
        return []
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    what = f"{', '.join(names[:_SHOWN])}{more} {'is a hybrid table' if len(names) == 1 else 'are hybrid tables'}"
    if by_day.is_by_day(store):
        known = (
            "are only in this answer if rows of AGGREGATE_ACCESS_HISTORY were exported (exporter export --aggregate)."
        )
    else:
        known = (
            "are not on record here, so the answer may lack them. AGGREGATE_ACCESS_HISTORY has them (exporter export "
            "--aggregate)."
        )
    return [f"{what}: short queries on hybrid tables {known}"]


def _of_aggregated(question: str) -> list[str]:
    if question in LEAVE_OUT:
        how = f"They have no query id: {question} leaves them out."
    elif question in WITHOUT_ID:
        how = "A row without query_id stands for calls of a user in an interval, at its start."
    elif question in COUNTED:
        how = "All their calls count. Calls that also have a row in ACCESS_HISTORY count twice."
    else:
        return []
    return [f"This graph has queries that are added up (AGGREGATE_ACCESS_HISTORY). {how}"]


def _hybrid(store: Store, given: Mapping[str, str | Iterable[str]]) -> Iterator[str]:
    """The names of the hybrid tables that a question is about; of all, if it is about no certain object."""
    known = Known(store)
    names = [one for name in OBJECTS for one in _each(given.get(name, ()))]
    ids = [one for name in IDS for one in _each(given.get(name, ()))]
    if names or ids:
        turns = [turn for name in names for turn in known.turns(name)] + [
            turn for one in ids for turn in known.of_id(one)
        ]
        found = {turn.iri: turn.name or turn.thing for turn in turns}
        yield from (name for iri, name in found.items() if known.is_of_kind(iri, "HybridTable"))
        return
    for quad in store.quads_for_pattern(None, _TYPE, _HYBRID, None):
        if isinstance(quad.subject, NamedNode):
            named = known.names_of(quad.subject.value)
            yield named[-1].name if named else quad.subject.value


def _each(values: str | Iterable[str]) -> list[str]:
    return [values] if isinstance(values, str) else list(values)
