"""A picture as elements for Cytoscape."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from exporter.printable import visible
from exporter.serve.lineage.address import token
from exporter.serve.lineage.picture import Group, at

if TYPE_CHECKING:
    from exporter.serve.lineage.edges import Lineage, Place
    from exporter.serve.lineage.picture import Picture, Seen, Spot
    from exporter.serve.site import Site

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


def elements(site: Site, lineage: Lineage, picture: Picture, chosen: Place | None) -> list[dict[str, Any]]:
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


def _box(site: Site, lineage: Lineage, seen: Seen, chosen: Place | None) -> dict[str, Any]:
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
