"""The picture of lineage as elements for Cytoscape, as text, and as an address.

The text and tables with links are for keyboards, screen readers and narrow screens. The address of the page has its
state (the object, the day, and what was opened), so it can be sent to others.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qs, quote, unquote, urlencode

from dash import dcc, html

from exporter.serve.forms import time
from exporter.serve.lineage.picture import NOT_SHOWN, NOT_SHOWN_OF_COLUMN, VIEWS, Group, LineageNode, Opened, at
from exporter.system.terminal import visible

if TYPE_CHECKING:
    from exporter.serve.lineage.picture import Lineage, Picture, Seen, Spot, Way
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
    chosen: LineageNode | None = None

    def toggled(self, opened: Opened) -> Address:
        """The address with ``opened`` opened if it was closed, or closed if it was open."""
        return replace(self, opened=self.opened ^ {opened})

    def of(self, place: LineageNode, site: Site) -> Address:
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
        ("open", "|".join((opened.way, *_parts(opened.place, site), _quoted(opened.group))))
        for opened in sorted(address.opened)
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


def _place(parts: list[str], site: Site) -> LineageNode | None:
    return LineageNode(site.iri(unquote(parts[0])), unquote(parts[1])) if len(parts) == 2 and parts[0] else None


def _parts(place: LineageNode, site: Site) -> tuple[str, str]:
    return _quoted(site.path(place.iri)), _quoted(place.column)


def _quoted(text: str) -> str:
    return quote(text, safe="/:")


_LONGEST: Final = 27
"""The most characters of a line in a box."""
STYLE: Final[list[dict[str, Any]]] = [
    {
        "selector": "node",
        "style": {
            "label": "data(label)",
            "shape": "round-rectangle",
            "width": 230,
            "height": 46,
            "background-color": "#eaf2fb",
            "border-width": 1,
            "border-color": "#5b7795",
            "color": "#10151b",
            "font-size": 12,
            "font-family": "system-ui, sans-serif",
            "line-height": 1.25,
            "text-wrap": "wrap",
            "text-valign": "center",
            "text-halign": "center",
        },
    },
    {"selector": ".view", "style": {"background-color": "#eef7ea", "border-color": "#55803f"}},
    {"selector": ".outside", "style": {"background-color": "#fdf1df", "border-color": "#95691e"}},
    {"selector": ".group", "style": {"background-color": "#f0f0f0", "border-style": "dashed", "border-width": 2}},
    {"selector": ".more", "style": {"border-width": 2, "border-style": "double", "border-color": "#0a56b0"}},
    {"selector": ".focus", "style": {"border-width": 3, "border-color": "#10151b", "font-weight": "bold"}},
    {"selector": ".chosen", "style": {"border-width": 4, "border-color": "#c05600"}},
    {
        "selector": "edge",
        "style": {
            "curve-style": "straight",
            "source-endpoint": "90deg",
            "target-endpoint": "270deg",
            "target-arrow-shape": "triangle",
            "width": 1.5,
            "line-color": "#8896a5",
            "target-arrow-color": "#8896a5",
        },
    },
    {"selector": ".shows", "style": {"line-style": "dashed", "line-color": "#55803f", "target-arrow-color": "#55803f"}},
    {
        "selector": ".possible",
        "style": {"line-style": "dotted", "line-color": "#c05600", "target-arrow-color": "#c05600"},
    },
    {"selector": "node:active", "style": {"overlay-opacity": 0.1}},
]


_EVIDENCE: Final = {"": "", "CERTAIN": "shows", "POSSIBLE": "possible"}
"""The class of an edge by its evidence."""


def elements(site: Site, lineage: Lineage, picture: Picture, chosen: LineageNode | None) -> list[dict[str, Any]]:
    """The boxes and edges of a picture, for Cytoscape."""
    boxes = [_box(site, lineage, seen, chosen) for seen in picture.spots.values()]
    edges = [
        {
            "data": {"source": token(line.source, site), "target": token(line.target, site)},
            "classes": _EVIDENCE[line.flow.evidence if line.flow else ""],
        }
        for line in picture.lines.values()
    ]
    return boxes + edges


def title(lineage: Lineage, spot: Spot, size: int = 1) -> str:
    """The full name of a box."""
    if isinstance(spot, Group):
        return f"{size:,} {'more ' if spot.rest else ''}in {spot.schema}"
    name = lineage.named[spot].name
    return f"{spot.column} of {name}" if spot.column else name


def _box(site: Site, lineage: Lineage, seen: Seen, chosen: LineageNode | None) -> dict[str, Any]:
    spot = seen.spot
    classes = [
        "group" if isinstance(spot, Group) else _kind(lineage.named[spot].kind),
        "more" if seen.hidden else "",
        "focus" if spot == lineage.focus else "",
        "chosen" if spot == chosen else "",
    ]
    data = {"id": token(spot, site), "label": _label(lineage, seen)}
    return {"data": data, "position": at(seen), "classes": " ".join(filter(None, classes))}


def _kind(domain: str) -> str:
    words = domain.upper()
    return "view" if "VIEW" in words else "outside" if "STAGE" in words or "LOCATION" in words else ""


def _label(lineage: Lineage, seen: Seen) -> str:
    """Two lines for a box: database and schema (or object), and name; with the number of neighbours to open."""
    more = f" (+{seen.hidden})" if seen.hidden else ""
    if isinstance(seen.spot, Group):
        return f"{_cut(seen.spot.schema)}\n{seen.size:,} {'more' if seen.spot.rest else 'objects'}"
    name = lineage.named[seen.spot].name
    if seen.spot.column:
        return f"{_cut(name, from_left=True)}\n{_cut(seen.spot.column)}{more}"
    place, dot, last = name.rpartition("." if "://" not in name else "/")
    return f"{_cut(place + dot, from_left=True)}\n{_cut(last)}{more}" if place else f"{_cut(name)}{more}"


def _cut(text: str, *, from_left: bool = False) -> str:
    """The text, shortened to the characters of a line. Names from rows are only ever shown as text."""
    text = visible(text)
    if len(text) <= _LONGEST:
        return text
    return f"…{text[1 - _LONGEST :]}" if from_left else f"{text[: _LONGEST - 1]}…"


_HOW: Final = {"": "", "CERTAIN": "shown by the view", "POSSIBLE": "possibly shown by the view"}
"""In place of the number of queries: how a view or stream has the data of its source."""


def details(site: Site, lineage: Lineage, picture: Picture, asked: Address) -> Any:
    """The selected box: links to its page and to other lineages."""
    place = asked.chosen or lineage.focus
    seen = picture.spots[place]
    links = [html.A("Its page", href=page_of(site, place))]
    if (step := _step(site, seen, asked)) is not None:
        links.append(step)
    if place != lineage.focus:
        links.append(html.A("Lineage from here", href=href(asked.of(place, site), site)))
    if place.column:
        links.append(html.A("Lineage of the whole object", href=href(asked.of(place._replace(column=""), site), site)))
    parts = [html.H2(title(lineage, place)), html.Ul([html.Li(link) for link in links], className="on-page")]
    return [*parts, *([] if place.column else _columns(site, place, asked))]


def tables(site: Site, lineage: Lineage, picture: Picture, asked: Address) -> Any:
    """The boxes and the edges of the picture as tables."""
    boxes = [_cells(site, lineage, seen, asked) for seen in sorted(picture.spots.values(), key=lambda seen: seen.layer)]
    lines = [
        [title(lineage, line.source), title(lineage, line.target),
         _HOW[line.flow.evidence] or f"{line.flow.queries:,}", time(line.flow.first), time(line.flow.last)]
        for line in picture.lines.values() if line.flow is not None
    ]  # fmt: skip
    not_shown = NOT_SHOWN_OF_COLUMN if lineage.focus.column else NOT_SHOWN
    nowhere = not_shown if lineage.named[lineage.focus].kind.upper() in VIEWS else "Nowhere."
    return [
        html.H2("What the picture shows"),
        _table("What the picture shows", ["Where", "Name", "Kind", "Open"], boxes),
        html.H2("How data went"),
        _table("How data went", ["From", "To", "Queries", "First", "Last"], lines) if lines else html.P(nowhere),
    ]


def page_of(site: Site, place: LineageNode) -> str:
    """The address of the page of an object or a column."""
    told = {"id": site.path(place.iri), **({"column": place.column} if place.column else {})}
    return f"/{'column' if place.column else 'object'}?{urlencode(told)}"


def _cells(site: Site, lineage: Lineage, seen: Seen, asked: Address) -> list[Any]:
    name = title(lineage, seen.spot, seen.size)
    if isinstance(seen.spot, Group):
        return [_where(seen.layer), name, "", _step(site, seen, asked) or "see the table on the page of the object"]
    shown = html.A(name, href=page_of(site, seen.spot))
    return [_where(seen.layer), shown, lineage.named[seen.spot].kind, _step(site, seen, asked) or ""]


def _step(site: Site, seen: Seen, asked: Address) -> Any:
    """The link that opens or closes a box; None where it has no further neighbours."""
    if isinstance(seen.spot, Group):
        if seen.spot.rest:
            return None
        opened = Opened(seen.spot.way, seen.spot.of, seen.spot.schema)
        return dcc.Link("Show them", href=href(asked.toggled(opened), site))
    if seen.way is None:
        return None
    opened = Opened(seen.way, seen.spot)
    of = "sources" if seen.way == "up" else "targets"
    chosen = replace(asked, chosen=seen.spot)
    if opened in asked.opened:
        return dcc.Link(f"Hide its {of}", href=href(chosen.toggled(opened), site))
    return (
        dcc.Link(f"Show its {of} (+{seen.hidden:,})", href=href(chosen.toggled(opened), site)) if seen.hidden else None
    )


def _columns(site: Site, place: LineageNode, asked: Address) -> list[Any]:
    names = [row["column_name"] or "" for row in site.rows("page-columns", {"object": place.iri})]
    if not names:
        return []
    links = [html.Li(html.A(name, href=href(asked.of(place._replace(column=name), site), site))) for name in names]
    return [html.H3("Lineage of one of its columns"), html.Ul(links, className="on-page")]


def _where(layer: int) -> str:
    if layer == 0:
        return "start"
    steps = "1 step" if abs(layer) == 1 else f"{abs(layer)} steps"
    return f"{steps} {'up' if layer < 0 else 'down'}"


def _cell(content: Any) -> Any:
    is_time = isinstance(content, str) and content[4:5] == content[7:8] == "-" and content[10:11] == " "
    return html.Td(content, className="time" if is_time else "")


def _table(label: str, heads: list[str], rows: list[list[Any]]) -> Any:
    head = html.Thead(html.Tr([html.Th(head, scope="col") for head in heads]))
    body = html.Tbody([html.Tr([_cell(cell) for cell in row]) for row in rows])
    return html.Div(html.Table([head, body]), className="scroll", role="region", tabIndex="0", **{"aria-label": label})
