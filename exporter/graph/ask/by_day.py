"""Notes on what a graph with ``--reads daily`` cannot answer: it has reads by day, and no single reads.

Such a graph is recognized by its nodes of the class ``ah:DailyRead``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyoxigraph import NamedNode

from exporter.graph.terms import full

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from pyoxigraph import Store

_TYPE: Final = NamedNode(full("rdf:type"))
_DAILY_READ: Final = NamedNode(full("ah:DailyRead"))
LEAVE_OUT: Final = frozenset({"ancestors", "end-up", "enforced-policy", "joins", "statements-of-request"})
"""Questions about single queries. Of such a graph, their answers leave out queries that only read."""
BY_DAY: Final = frozenset({"changes", "policy-access", "unmasked-reads", "user-history", "when-accessed"})
"""Questions about single queries. Of such a graph, their answers have rows without a query id, one for each daily read.
"""
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
"""Questions that have the same answer for both kinds of graphs."""
COUNTED: Final = "column-readers"
"""The question that counts queries."""
_TIMES: Final = ("since", "until")


def is_by_day(store: Store) -> bool:
    """Whether a graph has daily reads in the place of single ones."""
    return next(iter(store.quads_for_pattern(None, _TYPE, _DAILY_READ, None)), None) is not None


def notes(
    store: Store, question: str, given: Mapping[str, str | Iterable[str]], things: Collection[str] = ()
) -> list[str]:
    """Notes for a person who asked a shipped question; none where the graph has single reads. ``things``: the objects
    that the parameters mean at any time.
    """
    if not is_by_day(store):
        return []
    said = []
    if question not in ANSWERED | BY_DAY | LEAVE_OUT:
        said.append(
            f"This graph has reads by day (export --reads daily): {question} may leave out results "
            "that follow from reads alone."
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
    if question == COUNTED and (len(things) > 1 or len(_each(given.get("column_name", ()))) > 1):
        said.append(
            "This graph has reads by day (export --reads daily): several columns are asked for (a name may mean "
            "several objects), and a query that read more than one of them counts once for each."
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
    """Whether a time is midnight in UTC: a date alone, or zeros with Z, an offset of zero or no zone."""
    day, _, rest = time.strip().replace(" ", "T").partition("T")
    return bool(day) and rest.rstrip("Z").removesuffix("+00:00").strip("0:.") == ""
