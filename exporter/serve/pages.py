"""The first page, and the search."""

from __future__ import annotations

from collections import defaultdict
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from flask import Blueprint, redirect, render_template, request, url_for

from exporter.errors import ExporterError
from exporter.graph.ask.answers import Answer
from exporter.serve.site import LATER
from exporter.serve.tables import Table, ask_href, is_cut, table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from flask.typing import ResponseReturnValue

    from exporter.serve.site import Site

_WAIT: Final = 1.0
"""Seconds that the first page waits for answers that are not ready."""
_FEW: Final = 5
"""Rows of each answer that the first page shows."""
_LONGEST: Final = 500
"""The most characters of a search."""
_UNUSED_DAYS: Final = 14
_CHANGED_DAYS: Final = 7


@dataclass(frozen=True)
class Look:
    """A topic of the first page: a question about the last days on record, and which rows of its answer to show."""

    title: str
    why: str
    question: str
    since_days: int | None = None
    is_shown: Callable[[dict[str, str | None]], bool] = lambda _: True


LOOKS: Final = (
    Look(
        "Masked columns that were read in clear",
        "Who read a column without its mask, before or after it had one.",
        "unmasked-reads",
    ),
    Look(
        "Copies of masked columns that are read without a mask",
        "Data left the protected column, and no policy protects the copy.",
        "unmasked-copies",
    ),
    Look(
        "Tagged columns without a policy",
        "They have a tag, and no policy masks or filters them.",
        "policy-coverage",
        is_shown=lambda row: not row.get("policies"),
    ),
    Look(
        "What changed in the last week on record",
        "New readers and copies, tags and policies, objects, columns, grants and revokes.",
        "changes",
        _CHANGED_DAYS,
    ),
    Look(
        f"Objects that nobody read in the last {_UNUSED_DAYS} days on record",
        "They may be old, or forgotten copies.",
        "unused-objects",
        _UNUSED_DAYS,
    ),
)


@dataclass(frozen=True)
class Seen:
    """A topic with its answer, for the first page. ``problem``: why there is no answer."""

    look: Look
    table: Table | None
    count: str
    href: str
    problem: str | None = None


def pages(site: Site) -> Blueprint:
    """``/`` and ``/search``."""
    routes = Blueprint("pages", __name__)

    @routes.get("/")
    def home() -> str:
        return render_template("home.html", seen=list(_seen(site)))

    @routes.get("/search")
    def search() -> ResponseReturnValue:
        text = request.args.get("q", "").strip()[:_LONGEST]
        if not text:
            return redirect(url_for("pages.home"))
        found = site.ask("page-search", {"text": text, "id": text})
        return render_template("search.html", text=text, groups=list(_grouped(site, found)), is_cut=is_cut(found))

    return routes


def _grouped(site: Site, found: Answer) -> Iterator[tuple[str, Table]]:
    """The results of a search, grouped by kind; an object appears once, with the names by which it was found."""
    rows = [dict(zip(found.columns, row, strict=True)) for row in found.rows]
    names: dict[tuple[str | None, ...], list[str]] = defaultdict(list)
    for row in rows:
        if row["kind"] not in ("Column", "User", "Query"):
            name = row["found"]
            was = [name] if name and name != row["object_name"] else []
            names[row["object_name"] or name, row["object_iri"], row["kind"]] += was
    shown: list[tuple[str | None, ...]] = [(*key, ", ".join(was)) for key, was in names.items()]
    if shown:
        yield "Objects", table(site, Answer(("object_name", "object_iri", "kind", "also_found_as"), shown))
    for title, kind, *columns in (
        ("Columns", "Column", "column_name", "object_name", "object_iri"),
        ("Users", "User", "user_name"),
        ("Queries", "Query", "query_id"),
    ):
        if cells := [tuple(row[column] for column in columns) for row in rows if row["kind"] == kind]:
            yield title, table(site, Answer(tuple(columns), cells))


def warm(site: Site) -> None:
    """Asks the questions of the first page in the background, so that the first visitor does not wait."""
    with suppress(ExporterError, RuntimeError):  # RuntimeError: the server is stopped meanwhile
        for look in LOOKS:
            if look.question in site.questions:
                with suppress(TimeoutError):
                    site.ask_meanwhile(look.question, _params(site, look), 0)


def _seen(site: Site) -> Iterator[Seen]:
    for look in LOOKS:
        if look.question not in site.questions:
            continue
        params = _params(site, look)
        href = ask_href(look.question, params)
        try:
            answer = _answer(site, look)
        except TimeoutError:
            yield Seen(look, None, "", href, LATER)
            continue
        except ExporterError as error:
            yield Seen(look, None, "", href, str(error))
            continue
        yield Seen(look, table(site, answer, _FEW, href), _counted(answer), href)


def _answer(site: Site, look: Look) -> Answer:
    """Raises TimeoutError where the answer is not ready."""
    answer = site.ask_meanwhile(look.question, _params(site, look), _WAIT)
    rows = [row for row in answer.rows if look.is_shown(dict(zip(answer.columns, row, strict=True)))]
    return Answer(answer.columns, rows, answer.notes)


def _params(site: Site, look: Look) -> dict[str, str]:
    last = site.last
    if look.since_days is None or last is None:
        return {}
    end = datetime.fromisoformat(last)
    params = {"since": f"{end - timedelta(days=look.since_days):%Y-%m-%dT%H:%M:%S}"}
    if look.question == "changes":
        params["until"] = f"{end + timedelta(seconds=1):%Y-%m-%dT%H:%M:%S}"
    return params


def _counted(answer: Answer) -> str:
    more = "more than " if is_cut(answer) else ""
    return f"{more}{len(answer.rows):,}"
