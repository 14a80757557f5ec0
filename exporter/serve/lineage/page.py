"""``/lineage/``: the picture, and below it the same content as tables; the picture as SVG, the lineage as CSV."""

from __future__ import annotations

import re
from base64 import b64encode
from dataclasses import replace
from datetime import date
from functools import lru_cache, partial
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from flask import Blueprint, Response, g, render_template, request

from exporter.ask.answers import LIST, Answer, render
from exporter.serve.forms import Cell, Table, table, users
from exporter.serve.lineage import address
from exporter.serve.lineage.address import PATH, Address, href, page_of
from exporter.serve.lineage.drawing import WIDTH, Facts, drawing, edge_of, flow_words
from exporter.serve.lineage.flows import NOT_SHOWN, NOT_SHOWN_OF_COLUMN, VIEWS, LineageNode, lineage
from exporter.serve.lineage.picture import MOST_BOXES, Group, Opened, picture
from exporter.serve.notes import time
from exporter.serve.objects import unknown

if TYPE_CHECKING:
    from collections.abc import Callable

    from exporter.serve.lineage.drawing import ColumnFlows, Drawing
    from exporter.serve.lineage.flows import Flow, _Asked
    from exporter.serve.lineage.picture import Picture, Seen, Spot
    from exporter.serve.site import Site, SiteObject

    Find = Callable[..., _Asked]

_MOST_KEPT: Final = 16
"""How many lineages are cached: each step in a picture needs the same one."""
_STYLE: Final = (Path(__file__).parents[1] / "static" / "picture.css").read_text("utf-8")
_STYLE_HASH: Final = b64encode(sha256(_STYLE.encode()).digest()).decode()
_not_in_xml: Final = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that a name can have, and XML cannot."""
_HOW: Final = {"": "", "CERTAIN": "shown by the view", "POSSIBLE": "possibly shown by the view"}
_CSV: Final = (
    "source_object_name", "source_column_name", "target_object_name", "target_column_name",
    "queries", "first", "last", "user_names", "evidence",
)  # fmt: skip


class _Shown:
    """What a request for the picture asks for, and what is drawn for it."""

    def __init__(self, site: Site, find: Find, thing: SiteObject, asked: Address) -> None:
        self.site = site
        self.asked = replace(asked, path=site.path(thing.iri), name="")
        self.found = find(thing, asked.column, asked.day, asked.since, "helpers" in asked.hides)
        self.picture: Picture = picture(self.found, asked.opened, asked.steps)
        objects = sorted({spot.iri for spot in self.picture.spots if isinstance(spot, LineageNode)})
        self.between: ColumnFlows = (
            self.found.columns_between(objects) if asked.columns and not asked.column else {}
        )  # fmt: skip
        self.drawing: Drawing = drawing(
            site, self.found, self.picture, self.asked, self._facts(objects), self.between
        )  # fmt: skip

    def _facts(self, objects: list[str]) -> Facts:
        columns: dict[str, list[tuple[str, str]]] = {}
        for row in self.site.rows("page-columns", {"object": objects}, 100_000):
            marks = ", ".join(filter(None, (row["tags"], row["policies"]))).replace(LIST, ", ")
            columns.setdefault(row["object_iri"] or "", []).append((row["column_name"] or "", marks))
        is_hidden = "reads" in self.asked.hides or bool(self.asked.column)
        counts = () if is_hidden else self.site.rows("page-counts", {"object": objects}, 100_000)
        return Facts(columns, {row["object_iri"] or "": int(row["users"] or 0) for row in counts})

    def title(self, spot: Spot) -> str:
        """The full name of a box."""
        if isinstance(spot, Group):
            size = self.picture.spots[spot].size
            return f"{size:,} {'more ' if spot.rest else ''}in {spot.schema}"
        named = self.found.named
        name = (named.get(spot) or named[spot._replace(column="")]).name
        return f"{spot.column} of {name}" if spot.column else name

    def notes(self) -> list[str]:
        notes = list(dict.fromkeys(self.found.notes))
        if not self.picture.lines:
            notes.append(self._no_line())
        if len(self.picture.spots) >= MOST_BOXES:
            notes.append(f"The picture ends at {MOST_BOXES} boxes. Fewer steps, or one column, show less.")
        return notes

    def boxes(self) -> Table:
        rows = [self._box(seen) for seen in sorted(self.picture.spots.values(), key=lambda seen: seen.layer)]
        return Table(("where", "name", "kind", "open"), rows)

    def _box(self, seen: Seen) -> list[Cell]:
        spot = seen.spot
        if isinstance(spot, Group):
            opened = href(self.asked.toggled(Opened(spot.way, spot.of, spot.schema)), self.site)
            step = (
                Cell("see the page of the object", page_of(self.site, spot.of))
                if spot.rest
                else Cell("Show them", opened)
            )
            return [Cell(_where(seen.layer)), Cell(self.title(spot)), Cell(""), step]
        step = Cell("")
        if seen.way is not None and (seen.hidden or seen.is_open):
            of = "sources" if seen.way == "up" else "targets"
            text = f"Show its {of} (+{seen.hidden:,})" if seen.hidden else f"Hide its {of}"
            step = Cell(text, href(self.asked.toggled(Opened(seen.way, spot)), self.site))
        name = Cell(self.title(spot), page_of(self.site, spot))
        return [Cell(_where(seen.layer)), name, Cell(self.found.named[spot].kind), step]

    def flows(self) -> list[tuple[LineageNode, LineageNode, Flow, str]]:
        """Each edge between places, with the address that lists its queries."""
        found = []
        for line in self.picture.lines.values():
            if line.flow and isinstance(line.source, LineageNode) and isinstance(line.target, LineageNode):
                edge = edge_of(line.way, line.source, line.target)
                listed = href(replace(self.asked, edge=edge, chosen=None), self.site)
                found.append((line.source, line.target, line.flow, f"{listed}#moves"))
        return found

    def lines(self) -> Table:
        rows = [
            [Cell(self.title(source), page_of(self.site, source)), Cell(self.title(target), page_of(self.site, target)),
             Cell(_HOW[flow.evidence] or f"{flow.queries:,}", listed), Cell(time(flow.first), None, "time"),
             Cell(time(flow.last), None, "time"), Cell("", listed=users(flow.users))]
            for source, target, flow, listed in self.flows()
        ]  # fmt: skip
        return Table(("from", "to", "queries", "first", "last", "by"), rows)

    def nothing(self) -> str:
        """The text where there are no edges."""
        if self.found.named[self.found.focus].kind.upper() in VIEWS:
            return NOT_SHOWN_OF_COLUMN if self.found.focus.column else NOT_SHOWN
        return self._no_line()

    def _no_line(self) -> str:
        """What the picture says where it has no line: also what narrows it, since without that it may have some."""
        told, asked = self.site.no_row("shows that data came from elsewhere, or went elsewhere"), self.asked
        narrowed = [
            *([f"only since {asked.since}"] if asked.since else []),
            *([f"as of the end of {asked.day}"] if asked.day else []),
        ]
        if not narrowed:
            return told
        first, last = (self.site.first or "")[:10], (self.site.last or "")[:10]
        outside = (asked.since and last and str(asked.since) > last) or (asked.day and str(asked.day) < first)
        record = f" The record covers {first} to {last}." if outside else ""
        return f"{told[:-1]}, {' and '.join(narrowed)}.{record} At other times there may be some."

    def moves(self) -> tuple[str, str, Table | None] | None:
        """The queries of the edge that was clicked: a title, a text, and a table where queries moved the data."""
        if self.asked.edge is None:
            return None
        way, place, other = self.asked.edge
        source, target = (other, place) if way == "up" else (place, other)
        if source not in self.found.named and source._replace(column="") not in self.found.named:
            return None
        flows = {(one, two): flow for one, two, flow, _ in self.flows()} | self.between
        flow = flows.get((source, target))
        words = flow_words(flow) if flow else ""
        title = f"From {self.title(source)} to {self.title(target)}"
        params = self.found.moves(way, place, other)
        if flow is None or flow.evidence or flow.through or not params:
            return title, words, None
        return title, words, table(self.site, self.site.ask(f"page-moves-{way}", params))

    def csv(self) -> Answer:
        """The edges of the picture, and those between the columns that it shows."""
        named = self.found.named
        every = [(source, target, flow) for source, target, flow, _ in self.flows()]
        every += [(*ends, flow) for ends, flow in self.between.items()]
        rows = []
        for source, target, flow in every:
            names = [named.get(one, named.get(one._replace(column=""))) for one in (source, target)]
            rows.append((
                names[0].name if names[0] else source.iri, source.column or None,
                names[1].name if names[1] else target.iri, target.column or None,
                str(flow.queries), flow.first or None, flow.last or None,
                ", ".join(flow.users) or None, flow.evidence or None,
            ))  # fmt: skip
        return Answer(_CSV, sorted(rows, key=lambda row: [cell or "" for cell in row]))


def lineage_page(site: Site) -> Blueprint:
    """``/lineage/``, ``/lineage/picture.svg`` and ``/lineage/lineage.csv``."""
    routes = Blueprint("lineage", __name__)
    find: Find = lru_cache(_MOST_KEPT)(partial(lineage, site))

    def shown() -> _Shown | None:
        asked = address.read(request.query_string.decode("ascii", "replace"), site)
        thing = site.thing(site.iri(asked.path)) if asked.path else site.named(asked.name)[0]
        return _Shown(site, find, thing, asked) if thing else None

    @routes.get(PATH)
    def page() -> tuple[str, int] | str:
        made = shown()
        if made is None:
            return unknown(site), 404
        g.policy = {"script-src": "'self'", "connect-src": "'self'"}
        plain = replace(made.asked, day=None, since=None, steps=1, hides=frozenset(), edge=None)
        whole = replace(made.asked, column="", columns=frozenset(), opened=frozenset(), edge=None, chosen=None)
        return render_template(
            "lineage.html", shown=made, asked=made.asked, drawing=made.drawing, title=made.title(made.found.focus),
            page=page_of(site, made.found.focus), whole=href(whole, site), hidden=address.fields(plain, site),
            svg=href(made.asked, site, "picture.svg"), csv=href(made.asked, site, "lineage.csv"), width=WIDTH,
            **_days(site, made.asked),
        )  # fmt: skip

    @routes.get(f"{PATH}picture.svg")
    def as_svg() -> Response | tuple[str, int]:
        made = shown()
        if made is None:
            return unknown(site), 404
        g.policy = {"style-src": f"'sha256-{_STYLE_HASH}'"}
        drawn = render_template(
            "picture.svg", drawing=made.drawing, width=WIDTH, style=_STYLE, title=made.title(made.found.focus)
        )
        return Response(_not_in_xml.sub("\ufffd", drawn), mimetype="image/svg+xml")

    @routes.get(f"{PATH}lineage.csv")
    def as_csv() -> Response | tuple[str, int]:
        made = shown()
        if made is None:
            return unknown(site), 404
        told = {"Content-Disposition": 'attachment; filename="lineage.csv"'}
        return Response(render(made.csv(), "csv"), content_type="text/csv; charset=utf-8", headers=told)

    return routes


def _days(site: Site, asked: Address) -> dict[str, Any]:
    """The first and the last day on record, and how many days after the first one is shown."""
    if not site.first or not site.last:
        return {"first_day": None}
    first, last = (date.fromisoformat(time_[:10]) for time_ in (site.first, site.last))
    return {"first_day": first, "days": (last - first).days, "at": ((asked.day or last) - first).days}


def _where(layer: int) -> str:
    if layer == 0:
        return "start"
    steps = "1 step" if abs(layer) == 1 else f"{abs(layer)} steps"
    return f"{steps} {'up' if layer < 0 else 'down'}"
