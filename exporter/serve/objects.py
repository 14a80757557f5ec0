"""The pages of an object and of a column."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from datetime import date, timedelta
from functools import partial
from time import monotonic
from typing import Final, NamedTuple

from flask import Blueprint, abort, render_template, request, url_for

from exporter.ask.answers import Answer, first_of, merged, with_rows
from exporter.ask.notes.clones import INFERRED
from exporter.ask.notes.shares import OF_VIEW
from exporter.errors import ExporterError
from exporter.serve.periods import seen_together, set_on, settings
from exporter.serve.protocol import url_parameters
from exporter.serve.site import GRANTED, GRANTEE_KINDS, VIEW_KINDS, PageSubject, Params, Site, SiteObject
from exporter.serve.summary import OF_COLUMN, OF_OBJECT, description, past_of, summary_lines
from exporter.serve.tables import Part, Table, ask_href, part_of, table, time

_FEW: Final = 20
_WAIT: Final = 1.0
"""Seconds that a page waits for answers that may take long."""
BEFORE: Final = (
    "Tags, policies and grants that were set before {first}, the first day on record, are not known, nor is what was "
    "read or written before."
)
MADE_OF: Final = "No row says what it is made of: only queries that read it show what is behind it."
FROM: Final = "shows a query that wrote it and read something else"
TO: Final = "shows a query that read it and wrote something else"
SETS: Final = "sets one; what was set before the record is not known"
CARRIES: Final = "sets it on anything; what was set before the record is not known"
FORMER: Final = "Renamed columns: "
FORMER_COLUMNS: Final = "Only other objects of this name had the columns {}."
ON_ALL: Final = (
    "A grant ON ALL covers what was there when it was made, which no row lists: this may have been in {} then."
)
ALONE: Final = "Of {} alone: other objects had its name."
"""What a part without rows says where the page is of one of several objects."""
OF_TODAY: Final = "Of {} alone, which got the name on {}. The other objects of this page are listed above, with links."
"""What a part says that is of one object on the page of all that had a name."""
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
    @url_parameters("id", "name")
    def show() -> tuple[str, int] | str:
        shown, others = _requested_object(site)
        if shown is None:
            return unknown(site), 404
        of_one_object = _about_one_object(shown, others)
        with ThreadPoolExecutor(1) as executor:  # beside the parts
            weeks = executor.submit(_weeks, site, shown)
            parts, notes = _answered(site, shown, _of_object(site, shown), of_one_object)
        return render_template(
            "object.html", shown=shown, thing=shown.thing, same=_same(site, shown), others=others, sections=parts,
            unknown=notes, weeks=weeks.result(),
            summary=[description(site, shown, parts), *summary_lines(OF_OBJECT, parts, notes, of_one_object)],
        )  # fmt: skip

    @routes.get("/column")
    @url_parameters("id", "name", "column")
    def column() -> tuple[str, int] | str:
        shown, others = _requested_object(site)
        name = request.args.get("column", "")
        if shown is None:
            return unknown(site), 404
        spelling, columns = site.column_of(shown.thing, name)
        if spelling is None and "id" not in request.args:
            # One of the others that had the name may have had the column.
            named = site.rows("page-named", {"object_name": request.args["name"]})
            for iri in dict.fromkeys(row["object_iri"] or "" for row in named):
                holder = site.thing(iri)
                if holder is not None and (of_holder := site.column_of(holder, name))[0] is not None:
                    (spelling, columns), shown = of_holder, site.subject(holder, request.args["name"])
                    others = _others(site, shown, site.ask("page-named", {"object_name": request.args["name"]}))
                    break
        context = {"shown": shown, "thing": shown.thing, "same": _same(site, shown), "others": others}
        if spelling is None:
            return render_template("no_column.html", **context, name=name, columns=columns), 404
        of_one_object = _about_one_object(shown, others)
        parts, notes = _answered(site, shown, _of_column(site, shown, spelling), of_one_object)
        return render_template(
            "column.html", **context, column=spelling, sections=parts, unknown=notes,
            past=next((past_of(row) for row in columns if row["column_name"] == spelling), ""),
            summary=summary_lines(OF_COLUMN, parts, notes, of_one_object), weeks=_weeks(site, shown, spelling),
        )  # fmt: skip

    return routes


def _requested_object(site: Site) -> tuple[PageSubject | None, Table | None]:
    """What ``id`` or ``name`` in the address names, and a table of the others that had the name; None where there is
    none.
    """
    path, name = request.args.get("id"), request.args.get("name", "")
    if not path and not name:
        abort(404)
    thing, others = site.find(path, name)
    if thing is None:
        return None, None
    shown = site.subject(thing, "" if path else name)
    return shown, _others(site, shown, others)


def _others(site: Site, shown: PageSubject, named: Answer) -> Table | None:
    """Of the rows of objects with a name, those that the page is not of; None if there are none."""
    namesakes = with_rows(named, (row for row in named.dicts() if row["object_iri"] not in shown.iris))
    if not namesakes.rows:
        return None
    return table(site, namesakes if "account" in namesakes.columns else site.with_accounts(namesakes))


def _same(site: Site, shown: PageSubject) -> Table | None:
    """The objects of the page of a name; None if the page is of one object."""
    if not shown.name:
        return None
    named = site.ask("page-named", {"object_name": shown.name})
    return table(site, with_rows(named, (row for row in named.dicts() if row["object_iri"] in shown.until)))


def _about_one_object(shown: PageSubject, others: Table | None) -> str:
    """What a part without rows says of a page of one object, if others had its name; else empty."""
    return ALONE.format(_called(shown.thing)) if others is not None and not shown.name else ""


def _called(thing: SiteObject) -> str:
    return f"{thing.kind} {thing.id or thing.name}{thing.of_account}"


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
    matches = site.ask("page-search", {"text": part})
    similar = replace(matches, rows=merged(matches.columns, matches.rows, None))  # the objects of a name in one row
    notes = site.ask("page-named", {"object_name": requested}).notes
    return render_template(
        "unknown.html", what="object", requested=requested, similar=table(site, similar, _FEW), notes=notes
    )


def _of_object(site: Site, shown: PageSubject) -> list[PendingPart]:
    """The parts of the page of an object, or of all that had a name."""
    thing = shown.thing

    def page(title: str, name: str, question: str, empty: str, **params: str) -> PendingPart:
        return PendingPart(title, name, lambda _: site.ask(question, {**shown.params, **params}), empty)

    def seen(title: str, name: str, empty: str) -> PendingPart:
        def ask(_: float) -> Answer:
            return seen_together(site.ask(f"page-{name}", shown.params, shown.most))

        return PendingPart(title, name, ask if shown.name else lambda _: site.ask(f"page-{name}", shown.params), empty)

    views, tables = _kinds(shown)
    near = [seen("What is behind it", "behind", BEHIND)] if views else []
    if tables:
        near.append(page("Read by the queries that wrote it", "sources", "page-near", FROM, way="from"))
    near.append(page("Written by queries that read it", "targets", "page-near", TO, way="to"))
    if tables:
        near.append(seen("Views and streams over it", "views", "shows one"))
    of_policy = [
        PendingPart("What it is set on", "carriers", lambda _: set_on(site, shown), CARRIES),
        page("What it was enforced on", "enforced", "page-enforced-on", "shows that it was enforced"),
    ]
    is_policy = thing.kind.upper().endswith("POLICY")
    of_kind = of_policy if is_policy else of_policy[:1] if thing.kind.upper() == "TAG" else []
    of_data = [
        *near,
        *_shipped_question(site, shown, "Where its data ended up", "end-up", "shows that its data went anywhere"),
        page("Readers", "readers", "page-readers", "shows a read of it"),
        page("Writers", "writers", "page-writes", "shows a write to it"),
    ]
    if thing.kind.upper() in GRANTEE_KINDS:
        granted = partial(site.ask, "page-granted", {"object": shown.iris})
        of_data = [
            PendingPart("What was granted to it", "granted", lambda _: granted(), GRANTED),
            page("Readers", "readers", "page-readers", "shows a read of it"),
        ]
    return [
        PendingPart("Columns", "columns", lambda until: _columns(site, shown, until), "names a column of it"),
        *of_kind,
        *of_data,
        PendingPart("Tags and policies, and when they held", "settings", lambda _: settings(site, shown), SETS),
        *_of_today(shown, _may_use(site, shown)),
        *_of_today(shown, _on_all(site, thing)),
        page("Statements that made or changed it", "changes", "page-changes", "shows one"),
        PendingPart("Names", "names", lambda _: _names(site, shown), "has its name"),
    ]


def _may_use(site: Site, shown: PageSubject) -> Iterator[PendingPart]:
    """Who may use an object. On the page of a name, with the notes on shared views over any object of the name: a view
    reads by name, so the one that has the name now is behind it, too, though no query read it through the view yet.
    """
    empty = "grants it to anybody; earlier grants are not known"
    params = site.params_for("exposure", shown)
    for part in _shipped_question(site, PageSubject(shown.thing), "Who may use it", "exposure", empty):

        def ask(until: float, own: PendingPart = part) -> Answer:
            answer = own.ask(until)
            if not shown.name or params is None:
                return answer
            of_all = _in_background(site, shown, "exposure", params, until).notes
            return replace(answer, notes=list(dict.fromkeys([*answer.notes, *(n for n in of_all if OF_VIEW in n)])))

        yield part._replace(ask=ask)


def _kinds(shown: PageSubject) -> tuple[bool, bool]:
    """Whether views or streams, and whether others are among the objects of a page: a name can have been of both."""
    are_views = {kind.upper() in VIEW_KINDS for kind in shown.kinds or {shown.thing.kind}}
    return True in are_views, False in are_views


def _of_today(shown: PageSubject, parts: Iterator[PendingPart]) -> Iterator[PendingPart]:
    """Parts on what holds now, of the object that has the name, or had it last; on the page of a name, they say so."""
    for part in parts:
        yield part._replace(ask=partial(_with_note, part.ask, _only(shown))) if shown.name else part


def _with_note(ask: Callable[[float], Answer], note: str, until: float) -> Answer:
    answer = ask(until)
    return replace(answer, notes=[note, *answer.notes])


def _only(shown: PageSubject) -> str:
    return OF_TODAY.format(_called(shown.thing), time(shown.since)[:10])


def _names(site: Site, shown: PageSubject) -> Answer:
    """The names of an object; of several, each with the id of the object."""
    answer = site.names(shown)
    columns = tuple(column for column in answer.columns if shown.name or column not in {"id", "object_iri"})
    return with_rows(replace(answer, columns=columns), answer.dicts())


def _of_column(site: Site, shown: PageSubject, column: str) -> list[PendingPart]:
    """The parts of the page of a column, of one object or of all that had a name."""
    behind = BEHIND if _kinds(shown)[0] else "shows where its data came from"
    return [
        *_shipped_question(site, shown, "Where its data came from", "root-cause", behind, column),
        *_shipped_question(site, shown, "Where it was copied to", "column-copies", "shows a copy of it", column),
        *_shipped_question(site, shown, "Readers", "column-readers", "shows a read of it", column),
        *_shipped_question(site, shown, "Unmasked reads", "unmasked-reads", "shows a read without its mask", column),
        PendingPart("Tags and policies, and when they held", "settings", lambda _: settings(site, shown, column), SETS),
    ]


def _shipped_question(  # noqa: PLR0913, PLR0917 - a part, and what it is about
    site: Site, shown: PageSubject, title: str, question: str, empty: str, column: str | None = None
) -> Iterator[PendingPart]:
    """The answer of a shipped question about an object or its column, or all that had a name. Nothing where the
    question cannot find the object.
    """
    params = site.params_for(question, shown)
    if params is not None:
        if column is not None:
            params["column_name"] = column
        yield PendingPart(
            title, question, lambda until: _in_background(site, shown, question, params, until), empty,
            ask_href(question, params),
        )  # fmt: skip


def _in_background(site: Site, shown: PageSubject, question: str, params: Params, until: float) -> Answer:
    """The answer to a shipped question about an object by its IRI: other objects may have had the name, and those of
    other accounts may have the id. Of a name, about what the page is of.
    """
    by_iri = {name: value for name, value in params.items() if name != "object_name" or shown.name}
    return site.ask_in_background(question, by_iri, _WAIT, until=until, things=shown.iris)


def _on_all(site: Site, thing: SiteObject) -> Iterator[PendingPart]:
    """The grants that hold ON ALL objects of its kind in its schema and database, with a note: whether it was there at
    the time of such a grant, rows do not tell, unless it was made later. Nothing where there are none.
    """
    around = site.rows("page-on-all", {"object": thing.iri})
    granted = {(row["place_iri"], row["privilege"]) for row in around}
    places = list(filter(None, (site.thing(iri) for iri in dict.fromkeys(row["place_iri"] or "" for row in around))))

    def ask(until: float) -> Answer:
        answers = [
            _in_background(site, PageSubject(place), "exposure", {"domain": place.kind}, until) for place in places
        ]
        rows = [row for answer in answers for row in answer.dicts() if (row["object_iri"], row["privilege"]) in granted]
        return with_rows(
            replace(answers[0], notes=[ON_ALL.format(" and ".join(place.name or "" for place in places))]), rows
        )

    if places:
        yield PendingPart("Who may use it by a grant ON ALL", "on-all", ask, "shows one")


def _columns(site: Site, shown: PageSubject, until: float) -> Answer:
    """The columns of an object with the tags and policies that hold now. A policy can cover a column through its tag:
    that is what ``policy-coverage`` answers. A note names the columns that have another name now; those that were
    dropped have the time. Of a name, those of the object that has it, then those that only others had.
    """
    thing = shown.thing
    answer = site.ask("page-columns", {"object": thing.iri})
    if shown.name:
        names = {row["column_name"] or "" for row in site.rows("page-column-names", {"object": shown.iris}, shown.most)}
        lost = sorted(names - {row["column_name"] for row in answer.dicts()})
        notes = [_only(shown), *([FORMER_COLUMNS.format(first_of(lost, _FEW))] if lost else []), *answer.notes]
        blank = dict.fromkeys(answer.columns)
        answer = with_rows(
            replace(answer, notes=notes), [*answer.dicts(), *({**blank, "column_name": name} for name in lost)]
        )
    former = [f"{row['column_name']} is called {row['renamed_to']} now" for row in answer.dicts() if row["renamed_to"]]
    notes = [f"{FORMER}{first_of(former, _FEW)}."] if former else []
    hidden = {"renamed_to"} if any(row["dropped"] for row in answer.dicts()) else {"renamed_to", "dropped"}
    columns = tuple(column for column in answer.columns if column not in hidden)
    answer = with_rows(replace(answer, columns=columns, notes=[*answer.notes, *notes]), answer.dicts())
    return site.with_policies(thing, answer, _WAIT, until)


def _answered(
    site: Site, shown: PageSubject, asked: Sequence[PendingPart], of_one_object: str
) -> tuple[list[Part], list[str]]:
    """The parts in order, with their answers; and the notes on the whole page: what the record does not have, and those
    that several parts have, but for those on inferred steps. A part without rows keeps its notes, since they are in the
    place of the answer. ``of_one_object``: what such a part says, too, if other objects had the name.

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
    parts = [_with_sentence(part, of_one_object) for part in parts] if of_one_object else parts
    parts = [_with_links_by_name(part, shown.name) if part.name == "columns" and shown.name else part for part in parts]
    notes = site.short_queries(shown.iris)
    notes += [MADE_OF] if _kinds(shown)[0] else []
    notes += [BEFORE.format(first=site.first[:10])] if site.first else []
    count = Counter(note for part in parts if part.table for note in part.table.notes)
    of_parts = (INFERRED, *filter(None, (of_one_object, _only(shown))))
    common = [note for note, times in count.items() if times > 1 and not note.startswith(of_parts)]
    for number, part in enumerate(parts):
        if part.table and part.table.rows:
            own_notes = [note for note in part.table.notes if note not in common]
            parts[number] = part._replace(table=replace(part.table, notes=own_notes))
    return parts, list(dict.fromkeys([*notes, *common]))


def _with_sentence(part: Part, of_one_object: str) -> Part:
    """A part that says, if it has no rows, which object it is about: in its words, or with the notes in their place."""
    if part.table is None or part.table.rows:
        return part
    notes = part.table.notes
    explained = replace(part.table, notes=[*notes, of_one_object] if part.table.is_explained else notes)
    return part._replace(table=explained, words=f"{part.words} {of_one_object}")


def _with_links_by_name(part: Part, name: str) -> Part:
    """The columns of all objects with a name, each with a link to the page of all of them."""
    if part.table is None:
        return part
    rows = [
        [first._replace(href=url_for("objects.column", name=name, column=first.text), pages=()), *other_cells]
        for first, *other_cells in part.table.rows
    ]
    return part._replace(table=replace(part.table, rows=rows))


def _weeks(site: Site, shown: PageSubject, column: str | None = None) -> list[tuple[date, int]]:
    """How many queries read it in each week of the record, by the Monday; none where none did."""
    params = {**shown.params, **({"column_name": column} if column is not None else {})}
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
