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
from exporter.serve.notes import not_ready

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
    def show() -> tuple[str, int] | str:
        thing, others = _requested_object(site)
        if thing is None:
            return unknown(site), 404
        with ThreadPoolExecutor(1) as executor:  # beside the parts
            weeks = executor.submit(_weeks, site, thing)
            notes, sections = _common_notes_apart(_of_object(site, thing), _unknown_facts(site, thing))
        return render_template(
            "object.html", thing=thing, others=others, sections=sections, unknown=notes, weeks=weeks.result(),
            brief=[_description(site, thing, sections), *_brief_lines(OF_OBJECT, sections, notes)],
        )  # fmt: skip

    @routes.get("/column")
    def column() -> tuple[str, int] | str:
        thing, others = _requested_object(site)
        name = request.args.get("column", "")
        if thing is None:
            return unknown(site), 404
        spelling, columns = _column_of(site, thing, name)
        if spelling is None and others is not None and "id" not in request.args:
            for holder in _other_holders(site, request.args["name"]):  # one of them may have had the column
                spelling, _ = _column_of(site, holder, name)
                if spelling is not None:
                    thing, others = holder, _other_objects_table(site, request.args["name"], holder)
                    break
        if spelling is None:
            return render_template("no_column.html", thing=thing, name=name, columns=columns, others=others), 404
        notes, sections = _common_notes_apart(_of_column(site, thing, spelling), _unknown_facts(site, thing))
        return render_template(
            "column.html", thing=thing, column=spelling, others=others, sections=sections,
            unknown=notes, brief=_brief_lines(OF_COLUMN, sections, notes),
            weeks=_weeks(site, thing, spelling),
        )  # fmt: skip

    return routes


def _requested_object(site: Site) -> tuple[SiteObject | None, Table | None]:
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
    thing, others = site.by_name(name)
    return thing, table(site, others) if others.rows else None


def _column_of(site: Site, thing: SiteObject, name: str) -> tuple[str | None, list[str]]:
    """The column of an object as rows spell it, None where they have none; and all of its columns."""
    rows = site.rows("page-columns", {"object": thing.iri}, 10_000)
    columns = [row["column_name"] or "" for row in rows]
    same_name = [column for column in columns if column.upper() == name.upper()]
    return (name if name in columns else next(iter(same_name), None)), columns


def _other_holders(site: Site, name: str) -> Iterator[SiteObject]:
    """The objects that had a name, but for the one that had it last."""
    for iri in dict.fromkeys(row[0] for row in site.by_name(name)[1].rows):
        holder = site.thing(iri or "")
        if holder is not None:
            yield holder


def _other_objects_table(site: Site, name: str, thing: SiteObject) -> Table:
    """All objects that had a name, but for one of them."""
    answer = site.ask("page-named", {"object_name": name})
    return table(site, Answer(answer.columns, [row for row in answer.rows if row[0] != thing.iri]))


def _unknown_facts(site: Site, thing: SiteObject) -> list[str]:
    """Notes on facts of an object that the record does not have."""
    notes = site.short_queries(thing)
    if thing.kind.upper() in VIEWS:
        notes.append(MADE_OF)
    return [*notes, *([BEFORE.format(first=site.first[:10])] if site.first else [])]


def unknown(site: Site) -> str:
    """The page for a name that no object has, with similar names."""
    requested = request.args.get("name") or request.args.get("id", "")
    part = requested.replace('"', "").rpartition(".")[2] or requested
    similar = site.ask("page-search", {"text": part, "id": part})
    notes = site.ask("page-named", {"object_name": requested}).notes
    return render_template(
        "unknown.html", what="object", requested=requested, similar=table(site, similar, _FEW), notes=notes
    )


def _of_object(site: Site, thing: SiteObject) -> list[Section]:
    def ask_page(question: str, **params: str) -> Callable[[float], Answer]:
        return lambda _: site.ask(question, {"object": thing.iri, **params})

    is_view, is_set = thing.kind.upper() in VIEWS, thing.kind.upper().endswith(_SETS)
    sources = PagePart("Read by the queries that wrote it", "sources", ask_page("page-near", way="from"), FROM)
    behind = PagePart("What is behind it", "behind", ask_page("page-behind"), BEHIND)
    views = PagePart("Views and streams over it", "views", ask_page("page-views"), "shows one")
    parts = [
        PagePart("Columns", "columns", partial(_columns, site, thing), "names a column of it"),
        *(
            [PagePart("What it is set on", "carriers", ask_page("page-carriers"), "sets it on anything")]
            if is_set
            else []
        ),
        behind if is_view else sources,
        PagePart("Written by queries that read it", "targets", ask_page("page-near", way="to"), TO),
        *(() if is_view else (views,)),
        *_shipped_part(site, thing, ("Where its data ended up", "end-up", "shows that its data went anywhere")),
        PagePart("Readers", "readers", ask_page("page-readers"), "shows a read of it"),
        PagePart("Writers", "writers", ask_page("page-writes"), "shows a write to it"),
        PagePart("Tags and policies, and when they held", "settings", lambda _: _settings(site, thing), SETS),
        *_shipped_part(
            site, thing, ("Who may use it", "exposure", "grants it to anybody; earlier grants are not known")
        ),
        PagePart("Statements that made or changed it", "changes", ask_page("page-changes"), "shows one"),
        PagePart("Names", "names", ask_page("page-names"), "has its name"),
    ]
    return _sections(site, parts)


def _columns(site: Site, thing: SiteObject, until: float) -> Answer:
    """The columns of an object with the tags and policies that hold now. A policy can cover a column through its tag:
    that is what ``policy-coverage`` answers.
    """
    answer, object_params = site.ask("page-columns", {"object": thing.iri}), site.params_for("policy-coverage", thing)
    if object_params is None:
        return answer
    params = {name: value for name, value in object_params.items() if name != "object_name"}
    covered = site.ask_meanwhile("policy-coverage", params, _WAIT, until=until, thing=thing.iri)
    position = {name: covered.columns.index(name) for name in ("column_name", "policies")}
    policies = {row[position["column_name"]]: row[position["policies"]] for row in covered.rows}
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
    settings = [dict(zip(answer.columns, row, strict=True)) for row in answer.rows]
    tags = sorted({row["set_iri"] for row in settings if row["kind"] == "Tag" and row["set_iri"]})
    of_tags = site.rows("page-settings", {"object": tags}) if tags else []
    through = [
        setting
        for tag in settings
        for policy in of_tags
        if tag["set_iri"] == policy["object_iri"] and policy["kind"] == "Policy"
        if (setting := _policy_through_tag(tag, policy))
    ]
    rows = sorted([*settings, *through], key=lambda row: row["valid_from"] or "", reverse=True)
    return Answer(answer.columns, [tuple(row[column] for column in answer.columns) for row in rows], answer.notes)


def _policy_through_tag(tag: Row, policy: Row) -> Row | None:
    """A policy that is set on a tag, as a setting of the object or column with the tag: while both settings hold, by
    the user who made the later one. None where they never held together.
    """
    later = max(tag, policy, key=lambda row: row["valid_from"] or "")
    until = min((row["valid_until"] for row in (tag, policy) if row["valid_until"]), default=None)
    if until is not None and until <= (later["valid_from"] or ""):
        return None
    both = {"value": f"through {tag['set_name']}", "valid_from": later["valid_from"], "valid_until": until}
    target = {"object_iri": tag["object_iri"], "column_name": tag["column_name"]}
    return {**policy, **both, **target, "user_name": later["user_name"], "query_id": later["query_id"]}


def _of_column(site: Site, thing: SiteObject, column: str) -> list[Section]:
    def settings(_: float) -> Answer:
        answer = _settings(site, thing)
        position = answer.columns.index("column_name")
        return Answer(answer.columns, [row for row in answer.rows if row[position] == column], answer.notes)

    text = BEHIND if thing.kind.upper() in VIEWS else "shows where its data came from"
    parts = [
        *_shipped_part(site, thing, ("Where its data came from", "root-cause", text), column),
        *_shipped_part(site, thing, ("Where it was copied to", "column-copies", "shows a copy of it"), column),
        *_shipped_part(site, thing, ("Readers", "column-readers", "shows a read of it"), column),
        *_shipped_part(site, thing, ("Reads in clear", "unmasked-reads", "shows a read without its mask"), column),
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


def _brief_lines(
    lines: Sequence[tuple[str, Sequence[str]]], sections: Sequence[Section], unknown: Sequence[str]
) -> Iterator[Brief]:
    """The lines at the beginning of a page. ``unknown``: notes that the page has at another place."""
    for title, names in lines:
        for section in sections:
            if section.name in names:
                notes = [note for note in (section.table.notes if section.table else ()) if note not in unknown]
                is_empty = section.table is None or not section.table.rows
                cells = [Cell(" ".join([section.words, *notes]))] if is_empty else _brief_cells(section)
                yield Brief(title, section.name, cells)


def _brief_cells(section: Section) -> list[Cell]:
    table = section.table
    assert table is not None, "there are rows"
    rows = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
    more = "more than " if table.more or table.is_cut else ""
    if section.name == "settings":
        in_force = [row for row in rows if not row["valid_until"].text]
        in_force.sort(key=lambda row: row["kind"].text == "Tag")  # a policy protects; a tag may do so by having one
        cells = [
            cell for row in in_force[:_NAMED] for cell in (
                Cell("; ") if row is not in_force[0] else Cell(""), row["set_name"],
                Cell(_of_setting(row["kind"].text, row["value"].text)),
                *((Cell(" on "), row["column_name"]) if row["column_name"].text else ()),
                Cell(f" since {row['valid_from'].text[:10]}"),
            )
        ]  # fmt: skip
        ended = f"{len(rows) - len(in_force):,} ended" if len(in_force) < len(rows) else ""
        rest = f"; {len(in_force) - _NAMED:,} more" if len(in_force) > _NAMED else ""
        return [*cells, Cell(f"{rest}{'; ' if cells and ended else ''}{ended}")]
    if section.name == "changes":
        last = rows[0]
        count = f"; {more}{len(rows):,} statements in all" if len(rows) > 1 else ""
        return [Cell(f"{last['operation'].text} on {last['time'].text[:10]} by "), last["user_name"], Cell(count)]
    first = next(name for name in _FIRST if name in table.columns)
    if section.name == "behind":
        first = "source_object_name"
    names = list({(row[first].text, row[first].href): row[first] for row in rows if row[first].text}.values())
    certain = {row[first].text for row in rows if "evidence" not in row or row["evidence"].text.upper() != "POSSIBLE"}
    cells = [
        part for name in names[:_NAMED] for part in (
            Cell(", ") if name is not names[0] else Cell(""), name, Cell("" if name.text in certain else " (possible)")
        )
    ]  # fmt: skip
    remaining = len(names) - _NAMED
    rest = f" and {more}{remaining:,} other{'s' if remaining > 1 or more else ''}" if remaining > 0 else ""
    when = [
        row[last].text[:10] for last in ("last_read", "last", "last_write", "last_seen") for row in rows if last in row
    ]
    how = ", read by the queries that wrote it" if section.name == "sources" else ""
    return [*cells, Cell(rest + how + (f"; last on {max(when)}" if any(when) else ""))]


def _of_setting(kind: str, value: str) -> str:
    """The value of a tag, or what a policy comes through."""
    return "" if not value else f" = {value}" if kind == "Tag" else f" {value}"


def _description(site: Site, thing: SiteObject, sections: Sequence[Section]) -> Brief:
    """What an object is: its kind, its schema, how many columns, and whether it is still there."""
    (row,) = site.rows("page-object", {"object": thing.iri})
    tables = {section.name: section.table for section in sections}
    cells = [Cell(thing.kind)]
    if row["schema"]:
        cells += [Cell(" in "), Cell(row["schema_name"] or "", url_for("objects.show", id=site.path(row["schema"])))]
    if (columns := tables.get("columns")) and columns.rows:
        cells.append(Cell(f", {len(columns.rows):,} column{'s' if len(columns.rows) > 1 else ''}"))
    if (names := tables.get("names")) and names.rows:
        rows = [dict(zip(names.columns, row, strict=True)) for row in names.rows]
        since, last_seen = (
            min(row["valid_from"].text[:10] for row in rows),
            max(row["last_seen"].text[:10] for row in rows),
        )
        cells.append(Cell(f"; on record from {since} to {last_seen}"))
        if all(row["valid_until"].text for row in rows):
            cells.append(Cell(f"; its name ended on {max(row['valid_until'].text[:10] for row in rows)}"))
    if row["is_helper"] == "true":
        cells.append(Cell(f". {HELPER}"))
    return Brief("What it is", "names", cells)


def _weeks(site: Site, thing: SiteObject, column: str | None = None) -> list[tuple[date, int]]:
    """How many queries read it in each week of the record, by the Monday; none where none did."""
    params = {"object": thing.iri, **({"column_name": column} if column is not None else {})}
    days = {row["day"] or "": int(row["queries"] or 0) for row in site.rows("page-reads-by-day", params, 10_000)}
    if not days or not site.first or not site.last:
        return []
    monday, last = (date.fromisoformat(day[:10]) for day in (min(site.first, *days), site.last))
    monday -= timedelta(days=monday.weekday())
    reads: dict[date, int] = {}
    while monday <= last:
        reads[monday] = sum(days.get((monday + timedelta(days=day)).isoformat(), 0) for day in range(7))
        monday += timedelta(days=7)
    return list(reads.items())


def _shipped_part(
    site: Site, thing: SiteObject, shipped: tuple[str, str, str], column: str | None = None
) -> Iterator[PagePart]:
    """The answer of a shipped question about the object or its column; ``shipped``: title, question, and what no row
    does if there is none. Nothing where there is no such question, or where it cannot find the object.
    """
    title, question, empty = shipped
    params = site.params_for(question, thing)
    if params is not None:
        column_params = params if column is None else {**params, "column_name": column}
        # By its IRI: other objects may have had the name, and those of other accounts may have the id.
        by_iri = {name: value for name, value in column_params.items() if name != "object_name"}
        yield PagePart(
            title,
            question,
            lambda until: site.ask_meanwhile(question, by_iri, _WAIT, until=until, thing=thing.iri),
            empty,
            ask_href(question, column_params),
        )


def _sections(site: Site, parts: Sequence[PagePart]) -> list[Section]:
    """The parts in order. All questions that may take long are started before the page waits for any of them, and the
    others are asked two at a time, by the two processes for pages; their answers are cached.
    """

    def start(part: PagePart) -> None:
        with suppress(ExporterError, TimeoutError):
            part.ask(0)

    until = monotonic() + _WAIT
    with ThreadPoolExecutor(2) as executor:
        list(executor.map(start, parts))
    return [_section(site, part, until) for part in parts]


def _section(site: Site, part: PagePart, until: float) -> Section:
    """A part with its answer. If its question fails, the other parts of the page are not affected."""
    try:
        answer = part.ask(until)
    except TimeoutError:
        return Section(part.title, part.name, None, not_ready())
    except ExporterError as error:
        return Section(part.title, part.name, None, str(error))
    words = site.no_row(part.empty)
    return Section(part.title, part.name, table(site, answer, _FEW if part.more else None, part.more), words)


def _common_notes_apart(sections: Sequence[Section], notes: list[str]) -> tuple[list[str], list[Section]]:
    """The notes of a page, with those that several of its parts have; and the parts without these. A part without rows
    keeps its notes, since they are in the place of the answer.
    """
    count = Counter(note for section in sections if section.table for note in section.table.notes)
    common = [note for note, times in count.items() if times > 1]
    without_common = [
        section._replace(
            table=replace(section.table, notes=[text for text in section.table.notes if text not in common])
        )
        if section.table and section.table.rows
        else section
        for section in sections
    ]
    return list(dict.fromkeys([*notes, *common])), without_common
