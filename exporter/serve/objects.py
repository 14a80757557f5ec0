"""The pages of an object and of a column."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from datetime import date, timedelta
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Final, NamedTuple

from flask import Blueprint, abort, render_template, request, url_for

from exporter.ask.answers import Answer
from exporter.errors import ExporterError
from exporter.serve.forms import Cell, ask_href, table
from exporter.serve.lineage.flows import VIEWS
from exporter.serve.site import later

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from exporter.serve.forms import Row, Table
    from exporter.serve.site import Site, SiteObject

_FEW: Final = 20
_WAIT: Final = 1.0
"""Seconds that a page waits for answers that may take long."""
BEFORE: Final = (
    "Tags, policies and grants that were set before {first}, the first day on record, are not known, nor is what was "
    "read or written before."
)
MADE_OF: Final = "No row says what it is made of: only queries that read it show what is behind it."
HELPER: Final = "It is a helper: a load fills, reads and drops it."
FROM: Final = "shows a query that wrote it and read something else"
TO: Final = "shows a query that read it and wrote something else"
SETS: Final = "sets one; what was set before the record is not known"
BEHIND: Final = "shows what is behind it; its data may come from anywhere"
_SETS: Final = ("TAG", "POLICY")
"""Endings of the kinds of objects that are set on others, in upper case."""


class PagePart(NamedTuple):
    """A part of a page, before its question is asked. ``name``: in the address; ``ask``: takes the time until which it
    waits (:func:`time.monotonic`), after which it raises TimeoutError; ``empty``: what no row of the record does, if
    the answer has no rows; ``more``: the address with all rows, where the page shows only some.
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
        with ThreadPoolExecutor(1) as runs:  # beside the parts
            weeks = runs.submit(_weeks, site, thing)
            notes, sections = _noted_once(_of_object(site, thing), _unknowns(site, thing))
        return render_template(
            "object.html", thing=thing, others=others, sections=sections, unknown=notes,
            brief=[_what(site, thing, sections), *_briefly(OF_OBJECT, sections, notes)], weeks=weeks.result(),
        )  # fmt: skip

    @routes.get("/column")
    def column() -> tuple[str, int] | str:
        thing, others = _asked_for(site)
        name = request.args.get("column", "")
        if thing is None:
            return unknown(site), 404
        known, columns = _column_of(site, thing, name)
        if known is None and others is not None and "id" not in request.args:
            for holder in _others_named(site, request.args["name"]):  # one of them may have had the column
                known, _ = _column_of(site, holder, name)
                if known is not None:
                    thing, others = holder, _without(site, request.args["name"], holder)
                    break
        if known is None:
            return render_template("no_column.html", thing=thing, name=name, columns=columns, others=others), 404
        notes, sections = _noted_once(_of_column(site, thing, known), _unknowns(site, thing))
        return render_template(
            "column.html", thing=thing, column=known, others=others, sections=sections,
            unknown=notes, brief=_briefly(OF_COLUMN, sections, notes),
            weeks=_weeks(site, thing, known),
        )  # fmt: skip

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


def _column_of(site: Site, thing: SiteObject, name: str) -> tuple[str | None, list[str]]:
    """The column of an object as rows spell it, None where they have none; and all of its columns."""
    rows = site.rows("page-columns", {"object": thing.iri}, 10_000)
    columns = [row["column_name"] or "" for row in rows]
    alike = [column for column in columns if column.upper() == name.upper()]
    return (name if name in columns else next(iter(alike), None)), columns


def _others_named(site: Site, name: str) -> Iterator[SiteObject]:
    """The objects that had a name, but for the one that had it last."""
    for iri in dict.fromkeys(row[0] for row in site.named(name)[1].rows):
        holder = site.thing(iri or "")
        if holder is not None:
            yield holder


def _without(site: Site, name: str, thing: SiteObject) -> Table:
    """All objects that had a name, but for one of them."""
    answer = site.ask("page-named", {"object_name": name})
    return table(site, Answer(answer.columns, [row for row in answer.rows if row[0] != thing.iri]))


def _unknowns(site: Site, thing: SiteObject) -> list[str]:
    """What the record cannot say of an object."""
    notes = site.short_queries(thing)
    if thing.kind.upper() in VIEWS:
        notes.append(MADE_OF)
    return [*notes, *([BEFORE.format(first=site.first[:10])] if site.first else [])]


def unknown(site: Site) -> str:
    """The page for a name that no object has, with similar names."""
    asked = request.args.get("name") or request.args.get("id", "")
    part = asked.replace('"', "").rpartition(".")[2] or asked
    near = site.ask("page-search", {"text": part, "id": part})
    notes = site.ask("page-named", {"object_name": asked}).notes
    return render_template("unknown.html", what="object", asked=asked, near=table(site, near, _FEW), notes=notes)


def _of_object(site: Site, thing: SiteObject) -> list[Section]:
    def own(question: str, **params: str) -> Callable[[float], Answer]:
        return lambda _: site.ask(question, {"object": thing.iri, **params})

    is_view, is_set = thing.kind.upper() in VIEWS, thing.kind.upper().endswith(_SETS)
    came = PagePart("Read by the queries that wrote it", "sources", own("page-near", way="from"), FROM)
    behind = PagePart("What is behind it", "behind", own("page-behind"), BEHIND)
    views = PagePart("Views and streams over it", "views", own("page-views"), "shows one")
    parts = [
        PagePart("Columns", "columns", partial(_columns, site, thing), "names a column of it"),
        *([PagePart("What it is set on", "carriers", own("page-carriers"), "sets it on anything")] if is_set else []),
        behind if is_view else came,
        PagePart("Written by queries that read it", "targets", own("page-near", way="to"), TO),
        *(() if is_view else (views,)),
        *_shipped(site, thing, ("Where its data ended up", "end-up", "shows that its data went anywhere")),
        PagePart("Readers", "readers", own("page-readers"), "shows a read of it"),
        PagePart("Writers", "writers", own("page-writes"), "shows a write to it"),
        PagePart("Tags and policies, and when they held", "settings", lambda _: _settings(site, thing), SETS),
        *_shipped(site, thing, ("Who may use it", "exposure", "grants it to anybody; earlier grants are not known")),
        PagePart("Statements that made or changed it", "changes", own("page-changes"), "shows one"),
        PagePart("Names", "names", own("page-names"), "has its name"),
    ]
    return _sections(site, parts)


def _columns(site: Site, thing: SiteObject, until: float) -> Answer:
    """The columns of an object with the tags and policies that hold now. A policy can cover a column through its tag:
    that is what ``policy-coverage`` answers.
    """
    answer, meant = site.ask("page-columns", {"object": thing.iri}), site.meant("policy-coverage", thing)
    if meant is None:
        return answer
    own = {name: value for name, value in meant.items() if name != "object_name"}
    covered = site.ask_meanwhile("policy-coverage", own, _WAIT, until=until, thing=thing.iri)
    place = {name: covered.columns.index(name) for name in ("column_name", "policies")}
    policies = {row[place["column_name"]]: row[place["policies"]] for row in covered.rows}
    of_name, of_policies = answer.columns.index("column_name"), answer.columns.index("policies")
    rows = [
        (*row[:of_policies], policies.get(row[of_name]) or row[of_policies], *row[of_policies + 1 :])
        for row in answer.rows
    ]
    return Answer(answer.columns, rows, answer.notes)


def _settings(site: Site, thing: SiteObject) -> Answer:
    """The tags and policies of an object and its columns, when they held, and who set them; also the policies that it
    has through its tags, each while both held.
    """
    answer = site.ask("page-settings", {"object": thing.iri})
    own = [dict(zip(answer.columns, row, strict=True)) for row in answer.rows]
    tags = sorted({row["set_iri"] for row in own if row["kind"] == "Tag" and row["set_iri"]})
    of_tags = site.rows("page-settings", {"object": tags}) if tags else []
    through = [
        held
        for tag in own for policy in of_tags
        if tag["set_iri"] == policy["object_iri"] and policy["kind"] == "Policy" and (held := _through(tag, policy))
    ]  # fmt: skip
    rows = sorted([*own, *through], key=lambda row: row["valid_from"] or "", reverse=True)
    return Answer(answer.columns, [tuple(row[column] for column in answer.columns) for row in rows], answer.notes)


def _through(tag: Row, policy: Row) -> Row | None:
    """A policy that is set on a tag, on what has the tag: while both hold, by who did the later of the two. None where
    they never did.
    """
    later = max(tag, policy, key=lambda row: row["valid_from"] or "")
    until = min((row["valid_until"] for row in (tag, policy) if row["valid_until"]), default=None)
    if until is not None and until <= (later["valid_from"] or ""):
        return None
    both = {"value": f"through {tag['set_name']}", "valid_from": later["valid_from"], "valid_until": until}
    place = {"object_iri": tag["object_iri"], "column_name": tag["column_name"]}
    return {**policy, **both, **place, "user_name": later["user_name"], "query_id": later["query_id"]}


def _of_column(site: Site, thing: SiteObject, column: str) -> list[Section]:
    def settings(_: float) -> Answer:
        answer = _settings(site, thing)
        place = answer.columns.index("column_name")
        return Answer(answer.columns, [row for row in answer.rows if row[place] == column], answer.notes)

    text = BEHIND if thing.kind.upper() in VIEWS else "shows where its data came from"
    parts = [
        *_shipped(site, thing, ("Where its data came from", "root-cause", text), column),
        *_shipped(site, thing, ("Where it was copied to", "column-copies", "shows a copy of it"), column),
        *_shipped(site, thing, ("Readers", "column-readers", "shows a read of it"), column),
        *_shipped(site, thing, ("Reads in clear", "unmasked-reads", "shows a read without its mask"), column),
        PagePart("Tags and policies, and when they held", "settings", settings, SETS),
    ]
    return _sections(site, parts)


# --- what a steward asks first ----------------------------------------------------------------------------------------


class Brief(NamedTuple):
    """One line of the beginning of a page: a question with its answer in few words, and the part that has it all."""

    title: str
    name: str
    cells: list[Cell]


OF_OBJECT: Final = (
    ("Where its data came from", ("behind", "sources")),
    ("Where its data went", ("end-up",)),
    ("Views over it", ("views",)),
    ("Who reads it", ("readers",)),
    ("Who writes it", ("writers",)),
    ("What protects it", ("settings",)),
    ("What changed last", ("changes",)),
)
OF_COLUMN: Final = (
    ("Where its data came from", ("root-cause",)),
    ("Where it was copied to", ("column-copies",)),
    ("Who reads it", ("column-readers",)),
    ("Who read it in clear", ("unmasked-reads",)),
    ("What protects it", ("settings",)),
)
"""The lines at the beginning of a page, each with the parts that may answer it."""
_FIRST: Final = ("user_name", "object_name", "source_object_name", "target_object_name", "target_name")
"""The columns with the names that a line has, the first one that there is."""
_NAMED: Final = 4
"""How many names a line has."""


def _briefly(
    lines: Sequence[tuple[str, Sequence[str]]], sections: Sequence[Section], unknown: Sequence[str]
) -> Iterator[Brief]:
    """``unknown``: notes that the page has at another place."""
    for title, names in lines:
        for section in sections:
            if section.name in names:
                notes = [note for note in (section.table.notes if section.table else ()) if note not in unknown]
                is_empty = section.table is None or not section.table.rows
                cells = [Cell(" ".join([section.words, *notes]))] if is_empty else _in_few_words(section)
                yield Brief(title, section.name, cells)


def _in_few_words(section: Section) -> list[Cell]:
    table = section.table
    assert table is not None, "there are rows"
    rows = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
    more = "more than " if table.more or table.is_cut else ""
    if section.name == "settings":
        held = [row for row in rows if not row["valid_until"].text]
        held.sort(key=lambda row: row["kind"].text == "Tag")  # a policy protects; a tag may do so by having one
        told = [
            cell for row in held[:_NAMED] for cell in (
                Cell("; ") if row is not held[0] else Cell(""), row["set_name"],
                Cell(_of_setting(row["kind"].text, row["value"].text)),
                *((Cell(" on "), row["column_name"]) if row["column_name"].text else ()),
                Cell(f" since {row['valid_from'].text[:10]}"),
            )
        ]  # fmt: skip
        ended = f"{len(rows) - len(held):,} ended" if len(held) < len(rows) else ""
        rest = f"; {len(held) - _NAMED:,} more" if len(held) > _NAMED else ""
        return [*told, Cell(f"{rest}{'; ' if told and ended else ''}{ended}")]
    if section.name == "changes":
        last = rows[0]
        count = f"; {more}{len(rows):,} statements in all" if len(rows) > 1 else ""
        return [Cell(f"{last['operation'].text} on {last['time'].text[:10]} by "), last["user_name"], Cell(count)]
    first = next(name for name in _FIRST if name in table.columns)
    if section.name == "behind":
        first = "source_object_name"
    names = list({(row[first].text, row[first].href): row[first] for row in rows if row[first].text}.values())
    told = [cell for name in names[:_NAMED] for cell in (Cell(", ") if name is not names[0] else Cell(""), name)]
    left = len(names) - _NAMED
    rest = f" and {more}{left:,} other{'s' if left > 1 or more else ''}" if left > 0 else ""
    when = [
        row[last].text[:10] for last in ("last_read", "last", "last_write", "last_seen") for row in rows if last in row
    ]
    how = ", read by the queries that wrote it" if section.name == "sources" else ""
    return [*told, Cell(rest + how + (f"; last on {max(when)}" if any(when) else ""))]


def _of_setting(kind: str, value: str) -> str:
    """The value of a tag, or what a policy comes through."""
    return "" if not value else f" = {value}" if kind == "Tag" else f" {value}"


def _what(site: Site, thing: SiteObject, sections: Sequence[Section]) -> Brief:
    """What an object is: its kind, its schema, how many columns, and whether it is still there."""
    (told,) = site.rows("page-object", {"object": thing.iri})
    tables = {section.name: section.table for section in sections}
    cells = [Cell(thing.kind)]
    if told["schema"]:
        cells += [Cell(" in "), Cell(told["schema_name"] or "", url_for("objects.one", id=site.path(told["schema"])))]
    if (columns := tables.get("columns")) and columns.rows:
        cells.append(Cell(f", {len(columns.rows):,} column{'s' if len(columns.rows) > 1 else ''}"))
    if (names := tables.get("names")) and names.rows:
        rows = [dict(zip(names.columns, row, strict=True)) for row in names.rows]
        since, seen = min(row["valid_from"].text[:10] for row in rows), max(row["last_seen"].text[:10] for row in rows)
        cells.append(Cell(f"; on record from {since} to {seen}"))
        if all(row["valid_until"].text for row in rows):
            cells.append(Cell(f"; its name ended on {max(row['valid_until'].text[:10] for row in rows)}"))
    if told["is_helper"] == "true":
        cells.append(Cell(f". {HELPER}"))
    return Brief("What it is", "names", cells)


def _weeks(site: Site, thing: SiteObject, column: str | None = None) -> list[tuple[date, int]]:
    """How many queries read it in each week of the record, by the Monday; none where none did."""
    asked = {"object": thing.iri, **({"column_name": column} if column is not None else {})}
    days = {row["day"] or "": int(row["queries"] or 0) for row in site.rows("page-reads-by-day", asked, 10_000)}
    if not days or not site.first or not site.last:
        return []
    monday, last = (date.fromisoformat(day[:10]) for day in (min(site.first, *days), site.last))
    monday -= timedelta(days=monday.weekday())
    found: dict[date, int] = {}
    while monday <= last:
        found[monday] = sum(days.get((monday + timedelta(days=day)).isoformat(), 0) for day in range(7))
        monday += timedelta(days=7)
    return list(found.items())


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
            lambda until: site.ask_meanwhile(question, own, _WAIT, until=until, thing=thing.iri),
            empty,
            ask_href(question, params),
        )


def _sections(site: Site, parts: Sequence[PagePart]) -> list[Section]:
    """The parts in order. All questions that may take long are started before the page waits for any of them, and the
    others are asked two at a time, by the two processes for pages; their answers are cached.
    """

    def start(part: PagePart) -> None:
        with suppress(ExporterError, TimeoutError):
            part.ask(0)

    until = monotonic() + _WAIT
    with ThreadPoolExecutor(2) as runs:
        list(runs.map(start, parts))
    return [_section(site, part, until) for part in parts]


def _section(site: Site, part: PagePart, until: float) -> Section:
    """A part with its answer. If its question fails, the other parts of the page are not affected."""
    try:
        answer = part.ask(until)
    except TimeoutError:
        return Section(part.title, part.name, None, later())
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
