"""The address of the picture: it has all of its state, so it can be sent to others, and each click is a link."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date
from typing import Final, NamedTuple, TypeVar
from urllib.parse import parse_qs, quote, unquote, urlencode

from exporter.errors import UsageError
from exporter.serve.lineage.flows import Direction, LineageNode
from exporter.serve.lineage.picture import Opened
from exporter.serve.site import Site

PATH: Final = "/lineage/"
MOST_STEPS: Final = 20
ONCE: Final = ("id", "name", "column", "day", "since", "steps", "look", "edge")
SEVERAL: Final = ("open", "columns", "hide")
"""The parameters, of which these can have several values."""
_HIDES: Final = ("helpers", "reads")
_DAY: Final = "a day, such as 2026-09-30"
_OF_LINK: Final = "what a link of the picture wrote there; a part of it is missing"
_Value = TypeVar("_Value")
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
    """The state in the query string of a URL. Raises UsageError for a part that cannot be read: without it, the picture
    would be another one, such as of all time in the place of a day.
    """
    parameters = parse_qs(search.removeprefix("?"))

    def first(name: str) -> str:
        return parameters.get(name, [""])[0]

    def each(name: str, form: str, value_of: Callable[[str], _Value | None]) -> list[_Value]:
        return [_readable(name, text, form, value_of(text)) for text in parameters.get(name, ())]

    return Address(
        path=first("id"),
        name=first("name"),
        column=first("column"),
        day=next(iter(each("day", _DAY, _day)), None),
        since=next(iter(each("since", _DAY, _day)), None),
        steps=next(iter(each("steps", f"a number from 1 to {MOST_STEPS}", _steps)), 1),
        opened=frozenset(each("open", _OF_LINK, lambda text: _opened(text, site))),
        columns=frozenset(site.iri(text) for text in parameters.get("columns", ())),
        hides=frozenset(each("hide", " or ".join(_HIDES), lambda text: text if text in _HIDES else None)),
        chosen=next(iter(each("look", _OF_LINK, lambda text: _place(text.split("|"), site))), None),
        edge=next(iter(each("edge", _OF_LINK, lambda text: _edge(text, site))), None),
    )


def _readable(name: str, text: str, form: str, value: _Value | None) -> _Value:
    if value is None:
        raise UsageError(f"{name}={text} cannot be read in this address: {name} is {form}.")
    return value


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
    parameters += [("hide", hidden) for hidden in sorted(address.hides)]
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


def _steps(text: str) -> int | None:
    # int() refuses thousands of digits
    return min(int(text[:9]), MOST_STEPS) if text.isascii() and text.isdigit() else None


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
