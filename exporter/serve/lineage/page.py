"""``/lineage``: the picture, drawn by Dash; below it the same content as tables, for keyboards and screen readers."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, Final

import dash_cytoscape
from dash import Dash, Input, Output, State, dcc, html, no_update
from flask import g, render_template

from exporter.errors import ExporterError
from exporter.serve.lineage import elements as address
from exporter.serve.lineage.elements import STYLE, details, elements, tables, title
from exporter.serve.lineage.picture import Opened, lineage, picture

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import date

    from flask import Flask

    from exporter.serve.lineage.elements import Address
    from exporter.serve.lineage.picture import Lineage
    from exporter.serve.site import Site, SiteObject

    Find = Callable[[SiteObject, str, date | None], Lineage]

PATH: Final = "/lineage"
_MOST_KEPT: Final = 16
"""How many lineages are cached: each step in a picture needs the same one."""
_PARTS: Final = ("head", "picture", "details", "tables")
"""The elements that change with the address, in the order of the results of :func:`_shown`."""


def _policy(page: Any) -> dict[str, str]:
    """What the browser may do on this page in addition to others: run the scripts of Dash, and load what they need."""
    return {
        "script-src": " ".join(["'self'", *page.csp_hashes()]),
        "style-src": "'self' 'unsafe-inline'",
        "connect-src": "'self'",
        "font-src": "'self' data:",
        "img-src": "'self' data:",
    }


def lineage_page(app: Flask, site: Site) -> None:
    """Adds the page to the application."""
    page = Dash(
        "lineage",
        server=app,
        url_base_pathname=f"{PATH}/",
        assets_folder="no-assets",
        serve_locally=True,
        include_assets_files=False,
        update_title="",
    )
    page.layout = _layout()

    def framed(**parts: Any) -> str:
        g.policy = _policy(page)
        return render_template("lineage.html", **parts)

    page.interpolate_index = framed

    find = lru_cache(_MOST_KEPT)(partial(lineage, site))

    def show(search: str) -> tuple[Any, Any, Any, Any]:
        return _shown(site, find, address.read(search or "", site))

    def tapped(node: dict[str, str] | None, search: str) -> Any:
        if not node:
            return no_update
        return address.href(_tapped(site, find, node["id"], address.read(search or "", site)), site)

    changed = [Output(part, "elements" if part == "picture" else "children") for part in _PARTS]
    page.callback(changed, Input("address", "search"))(show)
    clicked = Input("picture", "tapNodeData")
    page.callback(Output("address", "search"), clicked, State("address", "search"), prevent_initial_call=True)(tapped)


def _layout() -> html.Div:
    drawn = dash_cytoscape.Cytoscape(
        id="picture",
        elements=[],
        layout={"name": "preset", "fit": True, "padding": 20},
        stylesheet=STYLE,
        style={"width": "100%", "height": "100%"},
        minZoom=0.05,
        maxZoom=1.25,
        autoungrabify=True,
        boxSelectionEnabled=False,
        responsive=True,
    )
    label = "The lineage as a picture; the tables below have the same content"
    return html.Div([
        dcc.Location(id="address", refresh="callback-nav"),
        html.Div(id="head"),
        html.Div(drawn, id="frame", role="img", **{"aria-label": label}),
        html.Div(id="details", **{"aria-live": "polite"}),
        html.Div(id="tables"),
    ])  # fmt: skip


def _shown(site: Site, find: Find, asked: Address) -> tuple[Any, Any, Any, Any]:
    try:
        thing = _thing(site, asked)
        if thing is None:
            return html.H1(f"No object {asked.path or asked.name}"), [], None, None
        found = find(thing, asked.column, asked.day)
    except ExporterError as error:
        return [html.H1("There is no answer"), html.P(str(error), className="note error")], [], None, None
    drawn = picture(found, asked.opened)
    chosen = asked.chosen if asked.chosen in drawn.spots else found.focus
    asked = replace(asked, path=site.path(thing.iri), name="", chosen=chosen)
    return (
        _head(site, found, asked),
        elements(site, found, drawn, chosen),
        details(site, found, drawn, asked),
        tables(site, found, drawn, asked),
    )


def _thing(site: Site, asked: Address) -> SiteObject | None:
    return site.thing(site.iri(asked.path)) if asked.path else site.named(asked.name)[0]


def _head(site: Site, found: Lineage, asked: Address) -> list[Any]:
    plain = replace(asked, day=None)
    hidden = [dcc.Input(type="hidden", name=name, value=value) for name, value in address.fields(plain, site)]
    day = dcc.Input(type="date", name="day", id="day", value=asked.day.isoformat() if asked.day else "")
    form = html.Form(
        [*hidden, html.Label("As of the end of this day (UTC); empty: all on record", htmlFor="day"), day,
         html.Button("Show", type="submit")],
        action=PATH + "/", method="GET", className="day",
    )  # fmt: skip
    said = [html.P(note, className="note") for note in found.notes]
    if not found.neighbours("up", found.focus) and not found.neighbours("down", found.focus):
        said.append(html.P("No data came from or went elsewhere on record.", className="note"))
    return [html.H1(f"Lineage of {title(found, found.focus)}"), form, *said]


def _tapped(site: Site, find: Find, node: str, asked: Address) -> Address:
    """The address after a click: what was clicked becomes the selected box, and is opened or closed if it can be."""
    thing = _thing(site, asked)
    if thing is None:
        return asked
    found = find(thing, asked.column, asked.day)
    drawn = picture(found, asked.opened)
    seen = next((seen for spot, seen in drawn.spots.items() if address.token(spot, site) == node), None)
    if seen is None:
        return asked
    if not isinstance(seen.spot, tuple):
        return asked if seen.spot.rest else asked.toggled(Opened(seen.spot.way, seen.spot.of, seen.spot.schema))
    chosen = replace(asked, chosen=seen.spot)
    if seen.way and (seen.hidden or Opened(seen.way, seen.spot) in asked.opened):
        return chosen.toggled(Opened(seen.way, seen.spot))
    return chosen
