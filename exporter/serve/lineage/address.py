"""The address of the picture: it has all of its state, so it can be sent to others, and each click is a link."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import parse_qs, quote, unquote, urlencode

from exporter.serve.lineage.flows import LineageNode
from exporter.serve.lineage.picture import Opened

if TYPE_CHECKING:
    from collections.abc import Mapping

    from exporter.serve.lineage.flows import Direction
    from exporter.serve.site import Site

PATH: Final = "/lineage/"
MOST_STEPS: Final = 20
_DIRECTIONS: Final[Mapping[str, Direction]] = {"up": "up", "down": "down"}


class EdgeOfAddress(NamedTuple):
    """An edge whose queries are listed: of ``place``, to its source (``up``) or target (``down``)."""

    direction: Direction
    place: LineageNode
    other: LineageNode


@dataclass(frozen=True)
class Address:
    """``path``: of the object, without the base of the graph, or else ``name``; ``day``: None for all time; ``since``:
    without what no query moved since then; ``steps``: that are open by themselves; ``opened``: what the user opened or
    closed; ``columns``: the objects whose columns are shown; ``chosen``: the place that was clicked last.
    """

    path: str = ""
    name: str = ""
    column: str = ""
    day: date | None = None
    since: date | None = None
    steps: int = 1
    opened: frozenset[Opened] = frozenset()
    columns: frozenset[str] = frozenset()
    hides: frozenset[str] = frozenset()
    chosen: LineageNode | None = None
    edge: EdgeOfAddress | None = None

    def toggled(self, opened: Opened) -> Address:
        """The address with ``opened`` opened if it was closed, or closed if it was open."""
        return replace(self, opened=self.opened ^ {opened}, chosen=opened.place, edge=None)

    def unfolded(self, iri: str) -> Address:
        """The address with the columns of an object shown if they were not, or not if they were."""
        return replace(self, columns=self.columns ^ {iri}, chosen=LineageNode(iri), edge=None)

    def of(self, place: LineageNode, site: Site) -> Address:
        """The address with another place as the focus."""
        return Address(
            path=site.path(place.iri), column=place.column, day=self.day, since=self.since, steps=self.steps,
            hides=self.hides,
        )  # fmt: skip


def read(search: str, site: Site) -> Address:
    """The state in the query string of a URL; parts that cannot be read are ignored."""
    parameters = parse_qs(search.removeprefix("?"))

    def first(name: str) -> str:
        return parameters.get(name, [""])[0]

    steps = first("steps")[:9]  # int() refuses thousands of digits
    return Address(
        path=first("id"),
        name=first("name"),
        column=first("column"),
        day=_day(first("day")),
        since=_day(first("since")),
        steps=min(int(steps), MOST_STEPS) if steps.isascii() and steps.isdigit() else 1,
        opened=frozenset(opened for text in parameters.get("open", ()) if (opened := _opened(text, site)) is not None),
        columns=frozenset(site.iri(text) for text in parameters.get("columns", ())),
        hides=frozenset(parameters.get("hide", ())) & {"helpers", "reads"},
        chosen=_place(first("look").split("|"), site),
        edge=_edge(first("edge"), site),
    )


def fields(address: Address, site: Site) -> list[tuple[str, str]]:
    """The fields of a query string."""
    parameters = [
        ("id", address.path),
        ("name", address.name),
        ("column", address.column),
        ("day", address.day.isoformat() if address.day else ""),
        ("since", address.since.isoformat() if address.since else ""),
        ("steps", str(address.steps) if address.steps != 1 else ""),
    ]
    parameters += [
        ("open", f"{opened.direction}|{token(opened.place, site)}|{_quoted(opened.group)}")
        for opened in sorted(address.opened)
    ]
    parameters += [("columns", site.path(iri)) for iri in sorted(address.columns)]
    parameters += [("hide", what) for what in sorted(address.hides)]
    if address.chosen is not None:
        parameters.append(("look", token(address.chosen, site)))
    if address.edge is not None:
        direction, place, other = address.edge
        parameters.append(("edge", f"{direction}|{token(place, site)}|{token(other, site)}"))
    return [(name, value) for name, value in parameters if value]


def href(address: Address, site: Site, part: str = "") -> str:
    """The path with its query string; ``part``: below ``/lineage/``, for other forms of the same."""
    return f"{PATH}{part}?{urlencode(fields(address, site), safe='/:|')}"


def start(site: Site, iri: str, column: str = "") -> str:
    """The address of the lineage of an object or a column, as other pages link to it."""
    return href(Address(path=site.path(iri), column=column, steps=3), site)


def page_of(site: Site, place: LineageNode) -> str:
    """The address of the page of an object or a column."""
    parameters = {"id": site.path(place.iri), **({"column": place.column} if place.column else {})}
    return f"/{'column' if place.column else 'object'}?{urlencode(parameters)}"


def token(place: LineageNode, site: Site) -> str:
    """A place in an address."""
    return f"{_quoted(site.path(place.iri))}|{_quoted(place.column)}"


def _day(text: str) -> date | None:
    with suppress(ValueError):
        return date.fromisoformat(text)
    return None


def _opened(text: str, site: Site) -> Opened | None:
    direction, *parts = text.split("|")
    place = _place(parts[:2], site)
    if direction not in _DIRECTIONS or place is None or len(parts) != 3:
        return None
    return Opened(_DIRECTIONS[direction], place, unquote(parts[2]))


def _edge(text: str, site: Site) -> EdgeOfAddress | None:
    direction, *parts = text.split("|")
    place, other = _place(parts[:2], site), _place(parts[2:], site)
    if direction not in _DIRECTIONS or place is None or other is None:
        return None
    return EdgeOfAddress(_DIRECTIONS[direction], place, other)


def _place(parts: list[str], site: Site) -> LineageNode | None:
    return LineageNode(site.iri(unquote(parts[0])), unquote(parts[1])) if len(parts) == 2 and parts[0] else None


def _quoted(text: str) -> str:
    return quote(text, safe="/:")
