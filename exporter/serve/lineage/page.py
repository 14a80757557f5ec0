"""``/lineage/``: the picture, and below it the same content as tables; the picture as SVG, the lineage as CSV."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from functools import cached_property, lru_cache, partial, wraps
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from flask import Blueprint, Response, g, render_template, request

from exporter.ask.answers import Answer, listed, render
from exporter.serve.lineage.address import ONCE, PATH, SEVERAL, Address, fields, href, page_of, read
from exporter.serve.lineage.drawing import (
    HOW,
    WIDTH,
    ColumnFacts,
    ColumnFlows,
    Drawing,
    Facts,
    drawing,
    edge_of,
    flow_words,
    moves_href,
    step_of,
)
from exporter.serve.lineage.flows import (
    NOT_SHOWN,
    NOT_SHOWN_OF_COLUMN,
    Flow,
    Lineage,
    LineageNode,
    edge,
    read_lineage,
)
from exporter.serve.lineage.picture import (
    MOST_BEYOND,
    MOST_BOXES,
    Group,
    Opened,
    Picture,
    PictureNode,
    Spot,
    Unseen,
    picture,
    unseen,
)
from exporter.serve.objects import unknown
from exporter.serve.protocol import url_parameters
from exporter.serve.site import GRANTEE_KINDS, MOST_ROWS, NO_DATA, VIEW_KINDS, Site, SiteObject
from exporter.serve.summary import past_of
from exporter.serve.tables import Cell, Table, download, table, time, users
from exporter.system.terminal import counted

Find = Callable[..., Lineage]


_MOST_CACHED: Final = 16
"""How many lineages are cached: each step in a picture needs the same one."""
_STYLE: Final = (Path(__file__).parents[1] / "static" / "picture.css").read_text("utf-8")
_STYLE_HASH: Final = b64encode(sha256(_STYLE.encode()).digest()).decode()
_not_in_xml: Final = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that a name can have, and XML cannot."""
_CSV: Final = (
    "source_object_name", "source_column_name", "target_object_name", "target_column_name",
    "queries", "first", "last", "user_names", "evidence",
)  # fmt: skip


class _PicturePage:
    """A request for the picture (its address), and the lineage, the picture and the drawing that answer it."""

    def __init__(self, site: Site, find: Find, thing: SiteObject, address: Address) -> None:
        self.site = site
        self.address = replace(address, path=site.path(thing.iri), name="")
        self.lineage = find(thing, address.column, address.day, address.since, "helpers" in address.hides)
        self.picture: Picture = picture(self.lineage, address.opened, address.steps)
        objects = sorted({spot.iri for spot in self.picture.spots if isinstance(spot, LineageNode)})
        self.column_flows: ColumnFlows = (
            self.lineage.columns_between(objects) if address.columns and not address.column else {}
        )  # fmt: skip
        self.drawing: Drawing = drawing(
            site, self.lineage, self.picture, self.address, self._facts(objects), self.column_flows
        )  # fmt: skip

    def _facts(self, objects: list[str]) -> Facts:
        columns: dict[str, list[ColumnFacts]] = {}
        for row in self.site.rows("page-columns", {"object": objects}, 100_000):
            marks = ", ".join([*listed(row["tags"]), *listed(row["policies"])])
            facts = ColumnFacts(row["column_name"] or "", marks, past_of(row))
            columns.setdefault(row["object_iri"] or "", []).append(facts)
        is_hidden = "reads" in self.address.hides or bool(self.address.column)
        counts = () if is_hidden else self.site.rows("page-counts", {"object": objects}, 100_000)
        return Facts(columns, {row["object_iri"] or "": int(row["users"] or 0) for row in counts})

    def title(self, spot: Spot) -> str:
        """The full name of a box."""
        if isinstance(spot, Group):
            size = self.picture.spots[spot].size
            return f"{size:,} {'more ' if spot.rest else ''}in {spot.schema}"
        labels = self.lineage.labels
        name = (labels.get(spot) or labels[spot._replace(column="")]).whole
        return f"{spot.column} of {name}" if spot.column else name

    def notes(self) -> list[str]:
        notes = list(dict.fromkeys(self.lineage.notes))
        if not self.picture.lines:
            notes.append(self._no_line())
        notes += dict.fromkeys(self.lineage.may_lack)
        if len(self.picture.spots) >= MOST_BOXES:
            notes.append(f"The picture ends at {MOST_BOXES} boxes. Fewer steps, or one column, show less.")
        if self._unseen.beyond or not self._unseen.is_whole:
            notes.append(self._no_box())
        return notes

    @cached_property
    def _unseen(self) -> Unseen:
        return unseen(self.lineage, self.picture, self.address.opened, self.address.steps)

    def _no_box(self) -> str:
        """The note on what is behind closed groups and boxes, though it is within the steps."""
        more = f"{counted(self._unseen.beyond, 'more object is', 'more objects are')} within these steps"
        how = '"Show them", in the table of boxes, opens a group; + opens a box.'
        of_tables = "The table of lines and the CSV " + (
            "have them." if self._unseen.is_whole else f"go on from the first {MOST_BEYOND:,} places alone."
        )
        least = "" if self._unseen.is_whole else "At least "
        return f"{least}{more}, behind groups and boxes that are closed. {how} {of_tables}"

    def boxes(self) -> Table:
        rows = [self._box(node) for node in sorted(self.picture.spots.values(), key=lambda node: node.layer)]
        return Table(("where", "name", "kind", "open"), rows)

    def _box(self, node: PictureNode) -> list[Cell]:
        spot, kind = node.spot, ""
        way = "up" if node.layer < 0 else "down"
        where = f"{counted(abs(node.layer), 'step')} {way}" if node.layer else "start"
        name, step = Cell(self.title(spot)), Cell("")
        if isinstance(spot, LineageNode):
            name = Cell(self.title(spot), page_of(self.site, spot))
            kind = self.lineage.labels[spot].kind
            step = Cell(*(step_of(node, self.address, self.site) or ("",)))
        elif spot.rest:
            step = Cell("see the page of the object", page_of(self.site, spot.of))
        else:
            opened = self.address.toggled(Opened(spot.direction, spot.of, spot.schema))
            step = Cell("Show them", href(opened, self.site))
        return [Cell(where), name, Cell(kind), step]

    def flows(self) -> list[tuple[LineageNode, LineageNode, Flow, str]]:
        """Each edge between places, also behind closed groups and boxes, with the address that lists its queries."""
        behind = {(line.source, line.target): line for line in self._unseen.lines}
        return [
            (line.source, line.target, line.flow, moves_href(edge, self.address, self.site))
            for line in {**self.picture.lines, **behind}.values()
            if line.flow and isinstance(line.source, LineageNode) and isinstance(line.target, LineageNode)
            if (edge := edge_of(line))
        ]

    def lines(self) -> Table:
        flows = self.flows()
        rows = [
            [Cell(self.title(source), page_of(self.site, source)), Cell(self.title(target), page_of(self.site, target)),
             Cell(HOW.get(flow.evidence, f"{flow.queries:,}"), queries_href), Cell(time(flow.first), None, "time"),
             Cell(time(flow.last), None, "time"), Cell("", items=users(flow.users))]
            for source, target, flow, queries_href in flows[:MOST_ROWS]
        ]  # fmt: skip
        cut = f"These are the first {MOST_ROWS:,} of {len(flows):,} lines; the CSV has all."
        notes = [cut] if len(flows) > MOST_ROWS else []
        return Table(("from", "to", "queries", "first", "last", "by"), rows, notes)

    def nothing(self) -> str:
        """The text where there are no edges."""
        if self.lineage.labels[self.lineage.focus].kind.upper() in VIEW_KINDS:
            return NOT_SHOWN_OF_COLUMN if self.lineage.focus.column else NOT_SHOWN
        return self._no_line()

    def _no_line(self) -> str:
        """The text of a picture without lines. It names the limits of time, since without them there may be lines."""
        kind = self.lineage.labels[self.lineage.focus].kind
        if kind.upper() in GRANTEE_KINDS:
            return f"{NO_DATA.format(kind.lower())}: the page of the object has what was granted to it."
        sentence, address = self.site.no_row("shows that data came from elsewhere, or went elsewhere"), self.address
        narrowed = [
            *([f"only since {address.since}"] if address.since else []),
            *([f"as of the end of {address.day}"] if address.day else []),
        ]
        if not narrowed:
            return sentence
        first, last = (self.site.first or "")[:10], (self.site.last or "")[:10]
        outside = (address.since and last and str(address.since) > last) or (address.day and str(address.day) < first)
        record = f" The record covers {first} to {last}." if outside else ""
        return f"{sentence[:-1]}, {' and '.join(narrowed)}.{record} At other times there may be some."

    def moves(self) -> tuple[str, str, Table | None] | None:
        """The queries of the edge that was clicked: a title, a text, and a table where queries moved the data. None
        where an end is no place of this lineage.
        """
        if self.address.edge is None:
            return None
        direction, place, other = self.address.edge
        source, target = edge(direction, place, other)
        labels = self.lineage.labels
        if any(end not in labels and LineageNode(end.iri) not in labels for end in (source, target)):
            return None
        flows = {(start, end): flow for start, end, flow, _ in self.flows()} | self.column_flows
        flow = flows.get((source, target))
        words = flow_words(flow) if flow else ""
        title = f"From {self.title(source)} to {self.title(target)}"
        params = self.lineage.moves(direction, place, other) if flow and not flow.evidence and not flow.through else {}
        moved = table(self.site, self.site.ask(f"page-moves-{direction}", params)) if params else None
        return title, words, moved

    def csv(self) -> Answer:
        """The edges of the picture, also behind closed groups and boxes, and those between the columns it shows."""
        labels = self.lineage.labels
        edges = [(source, target, flow) for source, target, flow, _ in self.flows()]
        edges += [(*ends, flow) for ends, flow in self.column_flows.items()]
        rows = []
        for source, target, flow in edges:
            names = []
            for node in (source, target):
                label = labels.get(node, labels.get(LineageNode(node.iri)))
                names += [label.name if label else node.iri, node.column or None]
            rows.append((
                *names, str(flow.queries), flow.first or None, flow.last or None,
                ", ".join(flow.users) or None, flow.evidence or None,
            ))  # fmt: skip
        return Answer(_CSV, sorted(rows, key=lambda row: [cell or "" for cell in row]))


def lineage_page(site: Site) -> Blueprint:
    """``/lineage/``, ``/lineage/picture.svg`` and ``/lineage/lineage.csv``."""
    routes = Blueprint("lineage", __name__)
    find: Find = lru_cache(_MOST_CACHED)(partial(read_lineage, site))

    def shown(view: Callable[[_PicturePage], Any]) -> Callable[[], Any]:
        """The answer to a request for a view of the picture; a page of similar names where there is no such object, or
        of its columns where it has no such column.
        """

        @wraps(view)
        @url_parameters(*ONCE, repeated=SEVERAL)
        def answer() -> Any:
            address = read(request.query_string.decode("ascii", "replace"), site)
            thing = site.thing(site.iri(address.path)) if address.path else site.by_name(address.name)[0]
            if thing is None:
                return unknown(site), 404
            if address.column:
                spelling, columns = site.column_of(thing, address.column)
                if spelling is None:
                    return render_template("no_column.html", thing=thing, name=address.column, columns=columns), 404
                address = replace(address, column=spelling)
            return view(_PicturePage(site, find, thing, address))

        return answer

    @routes.get(PATH)
    @shown
    def page(picture: _PicturePage) -> str:
        g.policy = {"script-src": "'self'", "connect-src": "'self'"}
        address, focus = picture.address, picture.lineage.focus
        plain = replace(address, day=None, since=None, steps=1, hides=frozenset(), edge=None)
        of_object = replace(address, column="", columns=frozenset(), opened=frozenset(), edge=None, chosen=None)
        thing, others = site.find(address.path, "")
        return render_template(
            "lineage.html",
            thing=thing,
            others=len({row["object_iri"] for row in others.dicts()}),
            page_of_object=page_of(site, LineageNode(focus.iri)),
            picture=picture,
            address=address,
            drawing=picture.drawing,
            title=picture.title(focus),
            page=page_of(site, focus),
            href_of_object=href(of_object, site),
            hidden=fields(plain, site),
            svg=href(address, site, "picture.svg"),
            csv=href(address, site, "lineage.csv"),
            width=WIDTH,
            **_days(site, address),
        )

    @routes.get(f"{PATH}picture.svg")
    @shown
    def as_svg(picture: _PicturePage) -> Response:
        g.policy = {"style-src": f"'sha256-{_STYLE_HASH}'"}
        title = picture.title(picture.lineage.focus)
        drawn = render_template("picture.svg", drawing=picture.drawing, width=WIDTH, style=_STYLE, title=title)
        return Response(_not_in_xml.sub("\ufffd", drawn), mimetype="image/svg+xml")

    @routes.get(f"{PATH}lineage.csv")
    @shown
    def as_csv(picture: _PicturePage) -> Response:
        notes = [*picture.notes(), *picture.lineage.of_others(), *site.left_out]
        return download(render(picture.csv(), "csv"), "lineage.csv", "text/csv; charset=utf-8", notes)

    return routes


def _days(site: Site, address: Address) -> dict[str, Any]:
    """The first and the last day on record, and how many days after the first one is shown."""
    if not site.first or not site.last:
        return {"first_day": None}
    first, last = (date.fromisoformat(time_[:10]) for time_ in (site.first, site.last))
    return {"first_day": first, "days": (last - first).days, "at": ((address.day or last) - first).days}
