"""The state of the lineage page in its address: the object, the day, and what was opened. So it can be sent to
others.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, quote, unquote, urlencode

from exporter.serve.lineage.edges import Place
from exporter.serve.lineage.picture import Group, Opened

if TYPE_CHECKING:
    from exporter.serve.lineage.edges import Way
    from exporter.serve.lineage.picture import Spot
    from exporter.serve.site import Site


@dataclass(frozen=True)
class Address:
    """``path``: of the object, without the base of the graph, or else ``name``; ``day``: None for all time; ``chosen``:
    the selected place, None for the focus.
    """

    path: str = ""
    name: str = ""
    column: str = ""
    day: date | None = None
    opened: frozenset[Opened] = frozenset()
    chosen: Place | None = None

    def toggled(self, one: Opened) -> Address:
        """The address with ``one`` opened if it was closed, or closed if it was open."""
        return replace(self, opened=self.opened ^ {one})

    def of(self, place: Place, site: Site) -> Address:
        """The address with another place as the focus."""
        return Address(path=site.path(place.iri), column=place.column, day=self.day)


def read(search: str, site: Site) -> Address:
    """The state in the query string of a URL; parts that cannot be read are ignored."""
    told = parse_qs(search.removeprefix("?"))

    def first(name: str) -> str:
        return told.get(name, [""])[0]

    day = None
    with suppress(ValueError):
        day = date.fromisoformat(first("day"))
    opened = frozenset(one for text in told.get("open", ()) if (one := _opened(text, site)) is not None)
    chosen = _place(first("look").split("|"), site)
    return Address(first("id"), first("name"), first("column"), day, opened, chosen)


def fields(address: Address, site: Site) -> list[tuple[str, str]]:
    """The fields of a query string."""
    told = [("id", address.path), ("name", address.name), ("column", address.column)]
    told.append(("day", address.day.isoformat() if address.day else ""))
    told += [
        ("open", "|".join((one.way, *_parts(one.place, site), _quoted(one.group)))) for one in sorted(address.opened)
    ]
    if address.chosen is not None:
        told.append(("look", "|".join(_parts(address.chosen, site))))
    return [(name, value) for name, value in told if value]


def href(address: Address, site: Site) -> str:
    """The query string with its question mark."""
    return f"?{urlencode(fields(address, site), safe='/:|')}"


def token(spot: Spot, site: Site) -> str:
    """The identifier of a node of the picture."""
    if isinstance(spot, Group):
        return "|".join((spot.way, *_parts(spot.of, site), _quoted(spot.schema), "rest" if spot.rest else ""))
    return "|".join(_parts(spot, site))


def _opened(text: str, site: Site) -> Opened | None:
    way, *parts = text.split("|")
    place = _place(parts[:2], site)
    if way not in ("up", "down") or place is None or len(parts) != 3:
        return None
    known: Way = "up" if way == "up" else "down"
    return Opened(known, place, unquote(parts[2]))


def _place(parts: list[str], site: Site) -> Place | None:
    return Place(site.iri(unquote(parts[0])), unquote(parts[1])) if len(parts) == 2 and parts[0] else None


def _parts(place: Place, site: Site) -> tuple[str, str]:
    return _quoted(site.path(place.iri)), _quoted(place.column)


def _quoted(text: str) -> str:
    return quote(text, safe="/:")
