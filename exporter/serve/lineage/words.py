"""The content of a picture as text and tables with links: for keyboards, screen readers and narrow screens."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlencode

from dash import dcc, html

from exporter.serve.lineage.address import href
from exporter.serve.lineage.edges import NOT_SHOWN, NOT_SHOWN_OF_COLUMN, VIEWS
from exporter.serve.lineage.elements import title
from exporter.serve.lineage.picture import Group, Opened
from exporter.serve.tables import time

if TYPE_CHECKING:
    from exporter.serve.lineage.address import Address
    from exporter.serve.lineage.edges import Lineage, Place
    from exporter.serve.lineage.picture import Picture, Seen
    from exporter.serve.site import Site


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
    parts = [html.H2(title(lineage, place)), html.Ul([html.Li(one) for one in links], className="on-page")]
    return [*parts, *([] if place.column else _columns(site, place, asked))]


def tables(site: Site, lineage: Lineage, picture: Picture, asked: Address) -> Any:
    """The boxes and the edges of the picture as tables."""
    boxes = [_box(site, lineage, seen, asked) for seen in sorted(picture.spots.values(), key=lambda one: one.layer)]
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


def page_of(site: Site, place: Place) -> str:
    """The address of the page of an object or a column."""
    told = {"id": site.path(place.iri), **({"column": place.column} if place.column else {})}
    return f"/{'column' if place.column else 'object'}?{urlencode(told)}"


def _box(site: Site, lineage: Lineage, seen: Seen, asked: Address) -> list[Any]:
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
        one = Opened(seen.spot.way, seen.spot.of, seen.spot.schema)
        return dcc.Link("Show them", href=href(asked.toggled(one), site))
    if seen.way is None:
        return None
    one = Opened(seen.way, seen.spot)
    of = "sources" if seen.way == "up" else "targets"
    chosen = replace(asked, chosen=seen.spot)
    if one in asked.opened:
        return dcc.Link(f"Hide its {of}", href=href(chosen.toggled(one), site))
    return dcc.Link(f"Show its {of} (+{seen.hidden:,})", href=href(chosen.toggled(one), site)) if seen.hidden else None


def _columns(site: Site, place: Place, asked: Address) -> list[Any]:
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
    head = html.Thead(html.Tr([html.Th(one, scope="col") for one in heads]))
    body = html.Tbody([html.Tr([_cell(cell) for cell in row]) for row in rows])
    return html.Div(html.Table([head, body]), className="scroll", role="region", tabIndex="0", **{"aria-label": label})
