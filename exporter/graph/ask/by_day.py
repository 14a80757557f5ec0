"""What a graph with ``--reads daily`` cannot tell, said beside the answer: it has reads by day, and not one by one.

The graph says so itself: it has nodes of the class ``ah:DailyRead``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyoxigraph import NamedNode

from exporter.graph.terms import full

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pyoxigraph import Store

_TYPE: Final = NamedNode(full("rdf:type"))
_DAILY_READ: Final = NamedNode(full("ah:DailyRead"))
LEAVE_OUT: Final = frozenset({"ancestors", "end-up", "enforced-policy", "joins", "statements-of-request"})
"""Questions about single queries, which leave out those that only read."""
BY_DAY: Final = frozenset({"changes", "policy-access", "unmasked-reads", "user-history", "when-accessed"})
"""Questions about single queries that have a row without a query id for what is told by day."""
ANSWERED: Final = frozenset(
    {
        "column-copies",
        "column-lineage",
        "column-readers",
        "columns-accessed",
        "downstream-users",
        "exposure",
        "former-names",
        "lineage-as-of",
        "masking-policies",
        "policy-coverage",
        "root-cause",
        "row-access-policies",
        "sensitive-data-movement",
        "tag-history",
        "unmasked-copies",
        "unused-objects",
        "who-accessed",
        "writers",
    }
)
"""Questions that answer the same as of a graph with each read."""
_TIMES: Final = ("since", "until")


def is_by_day(store: Store) -> bool:
    """Whether a graph has reads by day."""
    return next(iter(store.quads_for_pattern(None, _TYPE, _DAILY_READ, None)), None) is not None


def notes(store: Store, question: str, given: Mapping[str, str | Iterable[str]]) -> list[str]:
    """What to tell a person who asked a shipped question of the graph; nothing where each read is in it."""
    if not is_by_day(store):
        return []
    said = []
    if question not in ANSWERED | BY_DAY | LEAVE_OUT:
        said.append(
            f"This graph has reads by day (export --reads daily): {question} may leave out what only reads tell."
        )
    if question in LEAVE_OUT:
        said.append(
            f"This graph has reads by day (export --reads daily): {question} leaves out queries that only read. "
            "They are in the events, and in a graph of --reads full."
        )
    elif question in BY_DAY:
        said.append(
            "This graph has reads by day (export --reads daily): a row without query_id stands for a user's reads of "
            "an object on a day, at the time of the first."
        )
    if any(not _is_midnight(time) for name in _TIMES for time in _each(given.get(name, ()))):
        said.append(
            "This graph has reads by day (export --reads daily): since and until are exact for reads at midnight (UTC) "
            "only; within a day all reads that are alike count at the time of the first."
        )
    return said


def _each(values: str | Iterable[str]) -> list[str]:
    return [values] if isinstance(values, str) else list(values)


def _is_midnight(time: str) -> bool:
    """Whether a time is the beginning of a day in UTC: a day alone, or no time zone but Z behind zeros."""
    day, _, rest = time.strip().replace(" ", "T").partition("T")
    return bool(day) and rest.rstrip("Z").removesuffix("+00:00").strip("0:.") == ""
