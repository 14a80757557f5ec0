"""The pages of an object and of a column."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Final, NamedTuple

from flask import Blueprint, abort, render_template, request

from exporter.errors import ExporterError
from exporter.graph.ask.answers import Answer
from exporter.serve.site import LATER
from exporter.serve.tables import ask_href, table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from exporter.serve.site import Site, Thing
    from exporter.serve.tables import Table

_FEW: Final = 20
_WAIT: Final = 1.5
"""Seconds that a page waits for answers that may take long."""
_SETS: Final = ("TAG", "POLICY")
"""Endings of the kinds of objects that are set on others, in upper case."""


class Part(NamedTuple):
    """A part of a page, before its question is asked. ``name``: in the address; ``ask``: takes the seconds to wait,
    after which it raises TimeoutError; ``empty``: the text for an answer without rows; ``more``: the address with all
    rows, where the page shows only some.
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
            return _unknown(site), 404
        return render_template("object.html", thing=thing, others=others, sections=_of_object(site, thing))

    @routes.get("/column")
    def column() -> tuple[str, int] | str:
        thing, others = _asked_for(site)
        name = request.args.get("column", "")
        if thing is None:
            return _unknown(site), 404
        columns = [row["column_name"] for row in site.rows("page-columns", {"object": thing.iri}, 10_000)]
        known = name if name in columns else next((one for one in columns if one and one.upper() == name.upper()), None)
        if known is None:
            return render_template("no_column.html", thing=thing, name=name, columns=columns), 404
        sections = _of_column(site, thing, known)
        return render_template("column.html", thing=thing, column=known, others=others, sections=sections)

    return routes


def _asked_for(site: Site) -> tuple[Thing | None, Table | None]:
    """The object that ``id`` or ``name`` in the address names: of several with that name, the one that had it last; and
    a table of the others. None where there is none.
    """
    if path := request.args.get("id"):
        return site.thing(site.iri(path)), None
    name = request.args.get("name")
    if not name:
        abort(404)
    thing, others = site.named(name)
    return thing, table(site, others) if others.rows else None


def _unknown(site: Site) -> str:
    """The page for a name that no object has, with similar names."""
    asked = request.args.get("name") or request.args.get("id", "")
    part = asked.replace('"', "").rpartition(".")[2] or asked
    near = site.ask("page-search", {"text": part, "id": part})
    return render_template("unknown.html", what="object", asked=asked, near=table(site, near, _FEW))


def _of_object(site: Site, thing: Thing) -> list[Section]:
    def own(question: str) -> Callable[[float], Answer]:
        return lambda _: site.ask(question, {"object": thing.iri})

    parts = [
        Part("Names", "names", own("page-names"), "No row has its name."),
        Part("Columns", "columns", own("page-columns"), "No row has columns of it."),
        Part("Readers", "readers", own("page-readers"), "Nobody read it."),
        Part("Writers", "writers", own("page-writes"), "Nobody wrote to it."),
        Part("Tags and policies, and when they held", "settings", own("page-settings"), "None were set."),
        *_shipped(site, thing, ("Who may use it", "exposure", "No grant is on record.")),
        *_shipped(site, thing, ("Where its data ended up", "end-up", "Nowhere else.")),
        Part("Statements that made or changed it", "changes", own("page-changes"), "None is on record."),
    ]
    if thing.kind.upper().endswith(_SETS):
        parts.insert(1, Part("What it is set on", "carriers", own("page-carriers"), "Nothing."))
    return _sections(site, parts)


def _of_column(site: Site, thing: Thing, column: str) -> list[Section]:
    def settings(_: float) -> Answer:
        answer = site.ask("page-settings", {"object": thing.iri})
        place = answer.columns.index("column_name")
        return Answer(answer.columns, [row for row in answer.rows if row[place] == column])

    parts = [
        Part("Tags and policies, and when they held", "settings", settings, "None were set."),
        *_shipped(site, thing, ("Readers", "column-readers", "Nobody read it."), column),
        *_shipped(site, thing, ("Reads in clear", "unmasked-reads", "None."), column),
        *_shipped(site, thing, ("Where its data came from", "root-cause", "From nowhere on record."), column),
        *_shipped(site, thing, ("Where it was copied to", "column-copies", "Nowhere."), column),
    ]
    return _sections(site, parts)


def _shipped(site: Site, thing: Thing, wanted: tuple[str, str, str], column: str | None = None) -> Iterator[Part]:
    """The answer of a shipped question about the object or its column; ``wanted``: title, question, and the text for no
    rows. Nothing where there is no such question, or where it cannot find the object.
    """
    title, question, empty = wanted
    meant = site.meant(question, thing)
    if meant is not None:
        params = meant if column is None else {**meant, "column_name": column}
        yield Part(
            title,
            question,
            lambda wait: site.ask_meanwhile(question, params, wait),
            empty,
            ask_href(question, params),
        )


def _sections(site: Site, parts: Sequence[Part]) -> list[Section]:
    """The parts in order. All questions that may take long are started before the page waits for any of them."""
    for part in parts:
        with suppress(ExporterError, TimeoutError):
            part.ask(0)
    return [_section(site, part) for part in parts]


def _section(site: Site, part: Part) -> Section:
    """A part with its answer. If its question fails, the other parts of the page are not affected."""
    try:
        answer = part.ask(_WAIT)
    except TimeoutError:
        return Section(part.title, part.name, None, LATER)
    except ExporterError as error:
        return Section(part.title, part.name, None, str(error))
    return Section(part.title, part.name, table(site, answer, _FEW if part.more else None, part.more), part.empty)
