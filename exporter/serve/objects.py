"""The pages of an object and of a column."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from datetime import date, timedelta
from functools import partial
from time import monotonic
from typing import Final, NamedTuple

from flask import Blueprint, abort, render_template, request, url_for

from exporter.ask.answers import Answer, first_of, merged, with_rows
from exporter.ask.clones import INFERRED
from exporter.errors import ExporterError
from exporter.serve.lineage.flows import VIEWS
from exporter.serve.periods import ENFORCED, carriers, settings
from exporter.serve.site import READ_AS_OTHER, Row, Site, SiteObject
from exporter.serve.tables import Cell, Part, Table, ask_href, part_of, table
from exporter.serve.takes import takes

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
CARRIES: Final = "sets it on anything; what was set before the record is not known"
FORMER: Final = "Renamed columns: "
ON_ALL: Final = (
    "A grant ON ALL covers what was there when it was made, which no row lists: this may have been in {} then."
)
BEHIND: Final = "shows what is behind it; its data may come from anywhere"


class PendingPart(NamedTuple):
    """A part of a page, before its question is asked. ``name``: in the address; ``ask``: takes the time until which it
    waits (:func:`time.monotonic`), after which it raises TimeoutError; ``empty``: what no row of the record does, if
    the answer has no rows; ``more``: the address with all rows, where the page shows only some.
    """

    title: str
    name: str
    ask: Callable[[float], Answer]
    empty: str
    more: str = ""


def objects(site: Site) -> Blueprint:
    """``/object`` and ``/column``."""
    routes = Blueprint("objects", __name__)

    @routes.get("/object")
    @takes("id", "name")
    def show() -> tuple[str, int] | str:
        thing, others = _requested_object(site)
        if thing is None:
            return unknown(site), 404
        with ThreadPoolExecutor(1) as executor:  # beside the parts
            weeks = executor.submit(_weeks, site, thing)
            parts, notes = _answered(site, thing, _of_object(site, thing, has_namesakes=others is not None))
        return render_template(
            "object.html", thing=thing, others=others, sections=parts, unknown=notes, weeks=weeks.result(),
            brief=[_description(site, thing, parts), *_brief_lines(OF_OBJECT, parts, notes)],
        )  # fmt: skip

    @routes.get("/column")
    @takes("id", "name", "column")
    def column() -> tuple[str, int] | str:
        thing, others = _requested_object(site)
        name = request.args.get("column", "")
        if thing is None:
            return unknown(site), 404
        spelling, columns = site.column_of(thing, name)
        if spelling is None and others is not None and "id" not in request.args:
            # One of the others that had the name may have had the column.
            named = site.ask("page-named", {"object_name": request.args["name"]})
            for iri in dict.fromkeys(row["object_iri"] for row in named.dicts()):
                holder = site.thing(iri or "")
                if holder is not None and (found := site.column_of(holder, name))[0] is not None:
                    (spelling, columns), thing = found, holder
                    rest = with_rows(named, (row for row in named.dicts() if row["object_iri"] != iri))
                    others = table(site, site.with_accounts(rest))
                    break
        if spelling is None:
            return render_template("no_column.html", thing=thing, name=name, columns=columns, others=others), 404
        parts, notes = _answered(site, thing, _of_column(site, thing, spelling))
        return render_template(
            "column.html", thing=thing, column=spelling, others=others, sections=parts, unknown=notes,
            past=next((past_of(row) for row in columns if row["column_name"] == spelling), ""),
            brief=_brief_lines(OF_COLUMN, parts, notes), weeks=_weeks(site, thing, spelling),
        )  # fmt: skip

    return routes


def _requested_object(site: Site) -> tuple[SiteObject | None, Table | None]:
    """The object that ``id`` or ``name`` in the address names: of several with that name, the one that had it last; and
    a table of the others. None where there is none.
    """
    path, name = request.args.get("id"), request.args.get("name", "")
    if not path and not name:
        abort(404)
    thing, others = site.find(path, name)
    return thing, table(site, others) if others.rows else None


def unknown(site: Site) -> str:
    """The page for a name that no object has, with similar names."""
    requested = request.args.get("name") or request.args.get("id", "")
    same = site.of_path(request.args.get("id", ""))
    if same.rows:
        notes = [f"{len(same.rows):,} objects of other accounts have this path. Their pages have the account, too."]
        return render_template(
            "unknown.html", what="object", requested=requested, similar=table(site, same), notes=notes, is_path=True
        )
    part = requested.replace('"', "").rpartition(".")[2] or requested
    found = site.ask("page-search", {"text": part})
    similar = replace(found, rows=merged(found.columns, found.rows, None))  # the objects of a name in one row
    notes = site.ask("page-named", {"object_name": requested}).notes
    return render_template(
        "unknown.html", what="object", requested=requested, similar=table(site, similar, _FEW), notes=notes
    )


def _of_object(site: Site, thing: SiteObject, *, has_namesakes: bool) -> list[PendingPart]:
    """The parts of the page of an object."""

    def page(title: str, name: str, question: str, empty: str, **params: str) -> PendingPart:
        return PendingPart(title, name, lambda _: site.ask(question, {"object": thing.iri, **params}), empty)

    to = page("Written by queries that read it", "targets", "page-near", TO, way="to")
    if thing.kind.upper() in VIEWS:
        near = [page("What is behind it", "behind", "page-behind", BEHIND), to]
    else:
        sources = page("Read by the queries that wrote it", "sources", "page-near", FROM, way="from")
        near = [sources, to, page("Views and streams over it", "views", "page-views", "shows one")]
    of_policy = [
        PendingPart("What it is set on", "carriers", lambda _: carriers(site, thing), CARRIES),
        page("What it was enforced on", "enforced", "page-enforced-on", "shows that it was enforced"),
    ]
    is_policy = thing.kind.upper().endswith("POLICY")
    of_kind = of_policy if is_policy else of_policy[:1] if thing.kind.upper() == "TAG" else []
    may_use = "grants it to anybody; earlier grants are not known"
    return [
        PendingPart("Columns", "columns", lambda until: _columns(site, thing, until), "names a column of it"),
        *of_kind,
        *near,
        *_shipped(site, thing, "Where its data ended up", "end-up", "shows that its data went anywhere"),
        page("Readers", "readers", "page-readers", READ_AS_OTHER if has_namesakes else "shows a read of it"),
        page("Writers", "writers", "page-writes", "shows a write to it"),
        PendingPart("Tags and policies, and when they held", "settings", lambda _: settings(site, thing), SETS),
        *_shipped(site, thing, "Who may use it", "exposure", may_use),
        *_on_all(site, thing),
        page("Statements that made or changed it", "changes", "page-changes", "shows one"),
        page("Names", "names", "page-names", "has its name"),
    ]


def _of_column(site: Site, thing: SiteObject, column: str) -> list[PendingPart]:
    """The parts of the page of a column."""

    def of_column(_: float) -> Answer:
        # What is set on the table as a whole holds for the column, too.
        answer = settings(site, thing, column)
        return with_rows(answer, (row for row in answer.dicts() if row["column_name"] in {column, None, ""}))

    behind = BEHIND if thing.kind.upper() in VIEWS else "shows where its data came from"
    return [
        *_shipped(site, thing, "Where its data came from", "root-cause", behind, column),
        *_shipped(site, thing, "Where it was copied to", "column-copies", "shows a copy of it", column),
        *_shipped(site, thing, "Readers", "column-readers", "shows a read of it", column),
        *_shipped(site, thing, "Reads in clear", "unmasked-reads", "shows a read without its mask", column),
        PendingPart("Tags and policies, and when they held", "settings", of_column, SETS),
    ]


def _shipped(  # noqa: PLR0913, PLR0917 - a part, and what it is about
    site: Site, thing: SiteObject, title: str, question: str, empty: str, column: str | None = None
) -> Iterator[PendingPart]:
    """The answer of a shipped question about the object or its column. Nothing where the question cannot find the
    object.
    """
    params = site.params_for(question, thing)
    if params is not None:
        if column is not None:
            params["column_name"] = column
        yield PendingPart(
            title, question, lambda until: _meanwhile(site, thing, question, params, until), empty,
            ask_href(question, params),
        )  # fmt: skip


def _meanwhile(site: Site, thing: SiteObject, question: str, params: dict[str, str], until: float) -> Answer:
    """The answer to a shipped question about an object by its IRI: other objects may have had the name, and those of
    other accounts may have the id.
    """
    by_iri = {name: value for name, value in params.items() if name != "object_name"}
    return site.ask_meanwhile(question, by_iri, _WAIT, until=until, thing=thing.iri)


def _on_all(site: Site, thing: SiteObject) -> Iterator[PendingPart]:
    """The grants that hold ON ALL objects of its kind in its schema and database, with a note: whether it was there at
    the time of such a grant, rows do not tell, unless it was made later. Nothing where there are none.
    """
    around = site.rows("page-on-all", {"object": thing.iri})
    granted = {(row["place_iri"], row["privilege"]) for row in around}
    places = list(filter(None, (site.thing(iri) for iri in dict.fromkeys(row["place_iri"] or "" for row in around))))

    def ask(until: float) -> Answer:
        answers = [_meanwhile(site, place, "exposure", {"domain": place.kind}, until) for place in places]
        rows = [row for answer in answers for row in answer.dicts() if (row["object_iri"], row["privilege"]) in granted]
        return with_rows(
            replace(answers[0], notes=[ON_ALL.format(" and ".join(place.name or "" for place in places))]), rows
        )

    if places:
        yield PendingPart("Who may use it by a grant ON ALL", "on-all", ask, "shows one")


def _columns(site: Site, thing: SiteObject, until: float) -> Answer:
    """The columns of an object with the tags and policies that hold now. A policy can cover a column through its tag:
    that is what ``policy-coverage`` answers. A note names the columns that have another name now; those that were
    dropped have the time.
    """
    answer, params = site.ask("page-columns", {"object": thing.iri}), site.params_for("policy-coverage", thing)
    former = [f"{row['column_name']} is called {row['renamed_to']} now" for row in answer.dicts() if row["renamed_to"]]
    notes = [f"{FORMER}{first_of(former, _FEW)}."] if former else []
    hidden = {"renamed_to"} if any(row["dropped"] for row in answer.dicts()) else {"renamed_to", "dropped"}
    shown = tuple(column for column in answer.columns if column not in hidden)
    answer = with_rows(replace(answer, columns=shown, notes=[*answer.notes, *notes]), answer.dicts())
    if params is None:
        return answer
    covered = _meanwhile(site, thing, "policy-coverage", params, until)
    policies = {row["column_name"]: row["policies"] for row in covered.dicts()}
    rows = [{**row, "policies": policies.get(row["column_name"]) or row["policies"]} for row in answer.dicts()]
    return with_rows(answer, rows)


def past_of(column: Row) -> str:
    """Why an object has a column no more: ``dropped on 2026-09-02``, ``called EMAIL now``; empty if it has it."""
    if column["dropped"]:
        return f"dropped on {column['dropped'][:10]}"
    return f"called {column['renamed_to']} now" if column["renamed_to"] else ""


def _answered(site: Site, thing: SiteObject, asked: Sequence[PendingPart]) -> tuple[list[Part], list[str]]:
    """The parts in order, with their answers; and the notes on the whole page: what the record does not have, and those
    that several parts have, but for those on inferred steps. A part without rows keeps its notes, since they are in the
    place of the answer.

    All questions that may take long are started before the page waits for any of them, and the others are asked two at
    a time, by the two processes for pages; their answers are cached. If a question fails, the other parts of the page
    are not affected.
    """

    def start(part: PendingPart) -> None:
        with suppress(ExporterError, TimeoutError):
            part.ask(0)

    until = monotonic() + _WAIT
    with ThreadPoolExecutor(2) as executor:
        list(executor.map(start, asked))
    parts = [
        part_of(site, title, name, partial(ask, until), empty, _FEW if more else None, more)
        for title, name, ask, empty, more in asked
    ]
    notes = site.short_queries(thing)
    notes += [MADE_OF] if thing.kind.upper() in VIEWS else []
    notes += [BEFORE.format(first=site.first[:10])] if site.first else []
    count = Counter(note for part in parts if part.table for note in part.table.notes)
    common = [note for note, times in count.items() if times > 1 and not note.startswith(INFERRED)]
    for number, part in enumerate(parts):
        if part.table and part.table.rows:
            own_notes = [note for note in part.table.notes if note not in common]
            parts[number] = part._replace(table=replace(part.table, notes=own_notes))
    return parts, list(dict.fromkeys([*notes, *common]))


# --- what a steward asks first ----------------------------------------------------------------------------------------


class Brief(NamedTuple):
    """One line of the beginning of a page: a question with its answer in few words, and the part that has it all."""

    title: str
    name: str
    cells: list[Cell]


OF_OBJECT: Final = {
    "enforced": "What it was enforced on",
    "behind": "Where its data came from",
    "sources": "Where its data came from",
    "end-up": "Where its data went",
    "views": "Views over it",
    "readers": "Who reads it",
    "writers": "Who writes it",
    "settings": "What protects it",
    "changes": "What changed last",
}
OF_COLUMN: Final = {
    "root-cause": "Where its data came from",
    "column-copies": "Where it was copied to",
    "column-readers": "Who reads it",
    "unmasked-reads": "Who read it in clear",
    "settings": "What protects it",
}
"""The lines at the beginning of a page, by the part that answers each, if the page has it."""
_FIRST: Final = ("user_name", "object_name", "source_object_name", "target_object_name", "target_name")
"""The columns with the names that a line has, the first one that there is."""
_NAMED: Final = 4
"""How many names a line has."""


def _brief_lines(titles: Mapping[str, str], parts: Sequence[Part], unknown: Sequence[str]) -> Iterator[Brief]:
    """The lines at the beginning of a page. ``unknown``: notes that the page has at another place."""
    by_name = {part.name: part for part in parts}
    for name, title in titles.items():
        part = by_name.get(name)
        if part is None:
            continue
        if part.table is not None and part.table.rows:
            make = {"settings": _settings_in_force, "changes": _last_change}.get(name, _names_in)
            cells = make(name, part.table)
            if name == "settings":
                cells = [*cells, *(Cell(f". {note}") for note in part.table.notes if note.startswith(ENFORCED))]
            yield Brief(title, name, cells)
        else:
            notes = [note for note in (part.table.notes if part.table else ()) if note not in unknown]
            yield Brief(title, name, [Cell(" ".join([part.words, *notes]))])


def _settings_in_force(_: str, table: Table) -> list[Cell]:
    """The tags and policies that hold now, the policies first: a policy protects, a tag may do so by having one."""
    in_force = [row for row in table.dicts() if not row["valid_until"].text]
    in_force.sort(key=lambda row: row["kind"].text == "Tag")
    lines = []
    for row in in_force[:_NAMED]:
        value = row["value"].text and f" {'= ' if row['kind'].text == 'Tag' else ''}{row['value'].text}"
        column = [Cell(" on "), row["column_name"]] if row["column_name"].text else []
        lines.append([row["set_name"], Cell(value), *column, Cell(f" since {row['valid_from'].text[:10]}")])
    ended = len(table.rows) - len(in_force)
    if len(in_force) > _NAMED:
        lines.append([Cell(f"{len(in_force) - _NAMED:,} more")])
    if ended:
        lines.append([Cell(f"{ended:,} ended")])
    return _joined("; ", lines)


def _last_change(_: str, table: Table) -> list[Cell]:
    last = table.dicts()[0]
    count = f"; {_more_than(table)}{len(table.rows):,} statements in all" if len(table.rows) > 1 else ""
    return [Cell(f"{last['operation'].text} on {last['time'].text[:10]} by "), last["user_name"], Cell(count)]


def _names_in(name: str, table: Table) -> list[Cell]:
    """The first names of users or objects in a part, how many more there are, and the last time that the rows have."""
    rows = table.dicts()
    first = "source_object_name" if name == "behind" else next(one for one in _FIRST if one in table.columns)
    names: dict[str, list[dict[str, Cell]]] = {}  # several objects can have had a name
    for row in rows:
        if row[first].text:
            names.setdefault(f"{row[first].text}{row[first].after}", []).append(row)
    cells = _joined(", ", ([same[0][first], Cell(_objects_of(same, first))] for same in list(names.values())[:_NAMED]))
    rest = "" if (remaining := len(names) - _NAMED) <= 0 else (
        f" and {_more_than(table)}{remaining:,} other{'s' if remaining > 1 or _more_than(table) else ''}"
    )  # fmt: skip
    is_inferred = any(note.startswith(INFERRED) for note in table.notes)
    if name == "sources":
        rest += f", read by the queries that wrote it{' or cloned with its schema or database' if is_inferred else ''}"
    rest += " (partly inferred from names)" if is_inferred else ""
    times = [
        row[last].text[:10] for last in ("last_read", "last", "last_write", "last_seen") for row in rows if last in row
    ]
    return [*cells, Cell(rest + (f"; last on {max(times)}" if any(times) else ""))]


def _objects_of(rows: Sequence[Mapping[str, Cell]], first: str) -> str:
    """What follows a name: how many objects of these rows have it, if several, and whether they are only possible."""
    hrefs = {href for row in rows for _, href in row[first].pages or [("", row[first].href or "")]}
    are_possible = {"evidence" in row and row["evidence"].text.upper() == "POSSIBLE" for row in rows}
    words = [f"{len(hrefs):,} objects"] if len(hrefs) > 1 else []
    words += ["possible"] if are_possible == {True} else []
    words += ["some possible"] if len(hrefs) > 1 and len(are_possible) > 1 else []
    return f" ({', '.join(words)})" if words else ""


def _more_than(table: Table) -> str:
    return "more than " if table.more or table.is_cut else ""


def _joined(separator: str, lists: Iterable[list[Cell]]) -> list[Cell]:
    """The cells of all lists, with a text between two lists."""
    return [cell for cells in lists for cell in (Cell(separator), *cells)][1:]


def _description(site: Site, thing: SiteObject, parts: Sequence[Part]) -> Brief:
    """What an object is: its kind, its schema, how many columns, and whether it is still there."""
    (row,) = site.rows("page-object", {"object": thing.iri})
    tables = {part.name: part.table for part in parts}
    cells = [Cell(f"{thing.kind}{thing.of_account}")]
    if row["schema"]:
        cells += [Cell(" in "), Cell(row["schema_name"] or "", url_for("objects.show", id=site.path(row["schema"])))]
    if (columns := tables.get("columns")) and columns.rows:
        each = site.rows("page-columns", {"object": thing.iri})
        count, dropped = sum(not past_of(column) for column in each), sum(bool(column["dropped"]) for column in each)
        lost = f" and {dropped:,} that {'was' if dropped == 1 else 'were'} dropped" if dropped else ""
        cells.append(Cell(f", {count:,} column{'' if count == 1 else 's'}{lost}"))
    if (names := tables.get("names")) and names.rows:
        since, seen, until = (
            [row[name].text[:10] for row in names.dicts()] for name in ("valid_from", "last_seen", "valid_until")
        )
        cells.append(Cell(f"; on record from {min(since)} to {max(seen)}"))
        if all(until):
            cells.append(Cell(f"; its name ended on {max(until)}"))
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
