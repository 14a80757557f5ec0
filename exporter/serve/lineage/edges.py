"""All lineage of an object or a column, up and down, as edges between objects or columns."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from exporter.serve.site import Site, Thing

MOST: Final = 50_000
"""Edges that are looked at; far more than a picture can show."""


class Place(NamedTuple):
    """An object, or a column of it. ``column``: empty for the object."""

    iri: str
    column: str = ""


@dataclass(frozen=True)
class Named:
    """What a place is called, and its kind of object."""

    name: str
    kind: str


@dataclass(frozen=True)
class Flow:
    """How data went from one place to another: by how many queries, the first and the last."""

    queries: int
    first: str
    last: str


Flows = dict[Place, dict[Place, Flow]]


@dataclass
class Lineage:
    """``up``: from each place to its sources; ``down``: from each place to where its data went. ``note``: what is to be
    said of it, such as that the object was dropped by then.
    """

    focus: Place
    up: Flows = field(default_factory=lambda: defaultdict(dict))
    down: Flows = field(default_factory=lambda: defaultdict(dict))
    named: dict[Place, Named] = field(default_factory=dict)
    note: str = ""


def lineage(site: Site, thing: Thing, column: str, day: date | None) -> Lineage:
    """The lineage of an object, or of its column, as it was at the end of a day, or as it ever was."""
    made = Lineage(Place(thing.iri, column))
    made.named[made.focus] = Named(thing.name or thing.iri, thing.kind)
    asked = {"object": thing.iri, **({"column_name": column} if column else {})}
    at = None if day is None else _end(day)
    _fill_up(site, made, asked, at)
    down = "page-column-down" if column else "page-down"
    for source, target, flow in _edges(site, made, down, asked if at is None else {**asked, "at": at}):
        made.down[source][target] = flow
    return made


def _fill_up(site: Site, made: Lineage, asked: Mapping[str, str], at: str | None) -> None:
    question = "page-column-up" if made.focus.column else "page-up"
    if at is not None:
        present = site.rows("page-present", {"object": made.focus.iri, "at": at})
        if not present or present[0]["is_gone"] == "true":
            made.note = (
                "It was dropped by then, so nothing was in it." if present else "Nothing was written to it by then."
            )
            return
        question += "-at"
        asked = {"version": present[0]["present"] or "", **{name: asked[name] for name in asked if name != "object"}}
    for source, target, flow in _edges(site, made, question, asked):
        made.up[target][source] = flow


def _edges(site: Site, made: Lineage, question: str, asked: Mapping[str, str]) -> Iterator[tuple[Place, Place, Flow]]:
    for row in site.rows(question, asked, MOST):
        told = {name: value or "" for name, value in row.items()}
        source = Place(told["source_iri"], told.get("source_column_name", ""))
        target = Place(told["target_iri"], told.get("target_column_name", ""))
        made.named.setdefault(source, Named(told["source_name"], told["source_kind"]))
        made.named.setdefault(target, Named(told["target_name"], told["target_kind"]))
        yield source, target, Flow(int(told["queries"]), told["first"], told["last"])


def _end(day: date) -> str:
    """The last moment of a day in UTC."""
    return f"{datetime.combine(day, time()) + timedelta(days=1, microseconds=-1):%Y-%m-%dT%H:%M:%S.%f}Z"
