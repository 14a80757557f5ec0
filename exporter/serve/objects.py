"""The pages of an object and of a column."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

from flask import Blueprint, abort, render_template, request

from exporter.ask.answers import Answer
from exporter.errors import ExporterError
from exporter.serve.forms import ask_href, table
from exporter.serve.lineage.flows import VIEWS
from exporter.serve.site import LATER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from exporter.serve.forms import Table
    from exporter.serve.site import Site, SiteObject

_FEW: Final = 20
_WAIT: Final = 1.5
"""Seconds that a page waits for answers that may take long."""
MISSING: Final = (
    "This is a hybrid table. Rows of ACCESS_HISTORY do not have short queries on it: unless those of "
    "AGGREGATE_ACCESS_HISTORY were exported too, its readers and writers can be incomplete."
)
COUNTED: Final = (
    "This is a hybrid table. Its short queries are added up by user and interval (AGGREGATE_ACCESS_HISTORY): they "
    "count among its readers and writers with the number of calls, and have no query id."
)
SETS: Final = "sets one; what was set before the record is not known"
BEHIND: Final = "shows what is behind it; its data may come from anywhere"
_SETS: Final = ("TAG", "POLICY")
"""Endings of the kinds of objects that are set on others, in upper case."""


class PagePart(NamedTuple):
    """A part of a page, before its question is asked. ``name``: in the address; ``ask``: takes the seconds to wait,
    after which it raises TimeoutError; ``empty``: what no row of the record does, if the answer has no rows; ``more``:
    the address with all rows, where the page shows only some.
    """

    title: str
    name: str
    ask: Callable[[float], Answer]
    empty: str
    more: str | None = None


class Section(NamedTuple):
    """A part of a page with its answer. ``table``: None where there is none; ``words``: the reason, or the text for no
    rows.
    """

    title: str
    name: str
    table: Table | None
    words: str


def objects(site: Site) -> Blueprint:
    """``/object`` and ``/column``."""
    routes = Blueprint("objects", __name__)

    @routes.get("/object")
    def one() -> tuple[str, int] | str:
        thing, others = _asked_for(site)
        if thing is None:
            return unknown(site), 404
        notes, sections = _noted_once(_of_object(site, thing), _notes(site, thing))
        return render_template("object.html", thing=thing, others=others, notes=notes, sections=sections)

    @routes.get("/column")
    def column() -> tuple[str, int] | str:
        thing, others = _asked_for(site)
        name = request.args.get("column", "")
        if thing is None:
            return unknown(site), 404
        columns = [row["column_name"] for row in site.rows("page-columns", {"object": thing.iri}, 10_000)]
        known = (
            name
            if name in columns
            else next((column for column in columns if column and column.upper() == name.upper()), None)
        )
        if known is None:
            return render_template("no_column.html", thing=thing, name=name, columns=columns), 404
        notes, sections = _noted_once(_of_column(site, thing, known), _notes(site, thing))
        return render_template("column.html", thing=thing, column=known, others=others, notes=notes, sections=sections)

    return routes


def _asked_for(site: Site) -> tuple[SiteObject | None, Table | None]:
    """The object that ``id`` or ``name`` in the address names: of several with that name, the one that had it last; and
    a table of the others. None where there is none.
    """
    if path := request.args.get("id"):
        site_object = site.thing(site.iri(path))
        others = site.namesakes(site_object) if site_object else None
        return site_object, table(site, others) if others and others.rows else None
    name = request.args.get("name")
    if not name:
        abort(404)
    thing, others = site.named(name)
    return thing, table(site, others) if others.rows else None


def _notes(site: Site, thing: SiteObject) -> list[str]:
    """What the reader of the page of a hybrid table has to know of its short queries."""
    rows = site.rows("page-short-queries", {"object": thing.iri})
    return [(COUNTED if row["recorded"] == "true" else MISSING) for row in rows]


def unknown(site: Site) -> str:
    """The page for a name that no object has, with similar names."""
    asked = request.args.get("name") or request.args.get("id", "")
    part = asked.replace('"', "").rpartition(".")[2] or asked
    near = site.ask("page-search", {"text": part, "id": part})
    notes = site.ask("page-named", {"object_name": asked}).notes
    return render_template("unknown.html", what="object", asked=asked, near=table(site, near, _FEW), notes=notes)


def _of_object(site: Site, thing: SiteObject) -> list[Section]:
    def own(question: str) -> Callable[[float], Answer]:
        return lambda _: site.ask(question, {"object": thing.iri})

    parts = [
        PagePart("Names", "names", own("page-names"), "has its name"),
        PagePart("Columns", "columns", own("page-columns"), "names a column of it"),
        PagePart("Readers", "readers", own("page-readers"), "shows a read of it"),
        PagePart("Writers", "writers", own("page-writes"), "shows a write to it"),
        PagePart("Tags and policies, and when they held", "settings", own("page-settings"), SETS),
        *_shipped(site, thing, ("Who may use it", "exposure", "grants it to anybody; earlier grants are not known")),
        *_shipped(site, thing, ("Where its data ended up", "end-up", "shows that its data went anywhere")),
        PagePart("Statements that made or changed it", "changes", own("page-changes"), "shows one"),
    ]
    if thing.kind.upper().endswith(_SETS):
        parts.insert(1, PagePart("What it is set on", "carriers", own("page-carriers"), "sets it on anything"))
    if thing.kind.upper() in VIEWS:
        parts.insert(1, PagePart("What is behind it", "behind", own("page-behind"), BEHIND))
    else:
        parts.insert(-2, PagePart("Views and streams over it", "views", own("page-views"), "shows one"))
    return _sections(site, parts)


def _of_column(site: Site, thing: SiteObject, column: str) -> list[Section]:
    def settings(_: float) -> Answer:
        answer = site.ask("page-settings", {"object": thing.iri})
        place = answer.columns.index("column_name")
        return Answer(answer.columns, [row for row in answer.rows if row[place] == column])

    text = BEHIND if thing.kind.upper() in VIEWS else "shows where its data came from"
    parts = [
        PagePart("Tags and policies, and when they held", "settings", settings, SETS),
        *_shipped(site, thing, ("Readers", "column-readers", "shows a read of it"), column),
        *_shipped(site, thing, ("Reads in clear", "unmasked-reads", "shows a read without its mask"), column),
        *_shipped(site, thing, ("Where its data came from", "root-cause", text), column),
        *_shipped(site, thing, ("Where it was copied to", "column-copies", "shows a copy of it"), column),
    ]
    return _sections(site, parts)


def _shipped(
    site: Site, thing: SiteObject, wanted: tuple[str, str, str], column: str | None = None
) -> Iterator[PagePart]:
    """The answer of a shipped question about the object or its column; ``wanted``: title, question, and what no row
    does if there is none. Nothing where there is no such question, or where it cannot find the object.
    """
    title, question, empty = wanted
    meant = site.meant(question, thing)
    if meant is not None:
        params = meant if column is None else {**meant, "column_name": column}
        # By its IRI: other objects may have had the name, and those of other accounts may have the id.
        own = {name: value for name, value in params.items() if name != "object_name"}
        yield PagePart(
            title,
            question,
            lambda wait: site.ask_meanwhile(question, own, wait, thing=thing.iri),
            empty,
            ask_href(question, params),
        )


def _sections(site: Site, parts: Sequence[PagePart]) -> list[Section]:
    """The parts in order. All questions that may take long are started before the page waits for any of them."""
    for part in parts:
        with suppress(ExporterError, TimeoutError):
            part.ask(0)
    return [_section(site, part) for part in parts]


def _section(site: Site, part: PagePart) -> Section:
    """A part with its answer. If its question fails, the other parts of the page are not affected."""
    try:
        answer = part.ask(_WAIT)
    except TimeoutError:
        return Section(part.title, part.name, None, LATER)
    except ExporterError as error:
        return Section(part.title, part.name, None, str(error))
    words = site.no_row(part.empty)
    return Section(part.title, part.name, table(site, answer, _FEW if part.more else None, part.more), words)


def _noted_once(sections: Sequence[Section], notes: list[str]) -> tuple[list[str], list[Section]]:
    """The notes of a page, with those that several of its parts have; and the parts without these. A part without rows
    keeps its notes, since they are in the place of the answer.
    """
    count = Counter(note for section in sections if section.table for note in section.table.notes)
    common = [note for note, times in count.items() if times > 1]
    fewer = [
        section._replace(table=replace(section.table, notes=[x for x in section.table.notes if x not in common]))
        if section.table and section.table.rows else section
        for section in sections
    ]  # fmt: skip
    return list(dict.fromkeys([*notes, *common])), fewer
