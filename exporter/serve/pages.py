"""The first page, the search, and the pages of queries and users."""

from __future__ import annotations

from collections import defaultdict
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Final

from flask import Blueprint, redirect, render_template, request, url_for

from exporter.ask.answers import LIST, Answer
from exporter.ask.names import nearest
from exporter.errors import ExporterError
from exporter.serve.forms import Cell, Table, ask_href, is_cut, table
from exporter.serve.gaps import QUESTION, is_gap
from exporter.serve.lineage.picture import parts
from exporter.serve.notes import not_ready, time

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from flask.typing import ResponseReturnValue

    from exporter.serve.site import Site

_WAIT: Final = 1.0
"""Seconds that the first page waits for answers that are not ready."""
_FEW: Final = 5
"""Rows of each answer that the first page shows."""
_MOST_NAMES: Final = 100_000
_LONGEST: Final = 500
"""The most characters of a search."""
_UNUSED_DAYS: Final = 14
_CHANGED_DAYS: Final = 7


@dataclass(frozen=True)
class Topic:
    """A topic of the first page: a question about the last days on record, and which rows of its answer to show."""

    title: str
    why: str
    question: str
    since_days: int | None = None
    is_shown: Callable[[Site, dict[str, str | None]], bool] = lambda _site, _row: True


TOPICS: Final = (
    Topic(
        "Masked columns that were read in clear",
        "Who read a column without its mask, before or after it had one.",
        "unmasked-reads",
    ),
    Topic(
        "Copies of masked columns that are read without a mask",
        "Data left the protected column, and no policy protects the copy.",
        "unmasked-copies",
    ),
    Topic(
        "Sensitive columns without a policy",
        "They have a sensitive tag, and no policy masks or filters them.",
        QUESTION,
        is_shown=partial(is_gap, sensitive=True),
    ),
    Topic(
        "What changed in the last week on record",
        "New readers and copies, tags and policies, objects, columns, grants and revokes.",
        "changes",
        _CHANGED_DAYS,
    ),
    Topic(
        f"Objects that nobody read in the last {_UNUSED_DAYS} days on record",
        "They may be old, or forgotten copies.",
        "unused-objects",
        _UNUSED_DAYS,
    ),
)


@dataclass(frozen=True)
class TopicAnswer:
    """A topic with its answer, for the first page. ``problem``: why there is no answer; ``since``: only later rows were
    asked for.
    """

    topic: Topic
    table: Table | None
    count: str
    href: str
    problem: str | None = None
    since: str | None = None


def pages(site: Site) -> Blueprint:
    """``/`` and ``/search``."""
    routes = Blueprint("pages", __name__)

    @routes.get("/")
    def home() -> str:
        return render_template("home.html", topics=list(_topic_answers(site)))

    @routes.get("/search")
    def search() -> ResponseReturnValue:
        text = request.args.get("q", "").strip()[:_LONGEST]
        if not text:
            return redirect(url_for("pages.home"))
        answer = site.ask("page-search", {"text": text, "id": text})
        similar = [] if answer.rows else nearest_names(site, text)
        return render_template(
            "search.html", text=text, groups=list(_by_kind(site, answer)), is_cut=is_cut(answer), similar=similar
        )

    return routes


def _by_kind(site: Site, answer: Answer) -> Iterator[tuple[str, Table]]:
    """The results of a search, grouped by kind; an object appears once, with the names by which it was found."""
    rows = [dict(zip(answer.columns, row, strict=True)) for row in answer.rows]
    names: dict[tuple[str | None, ...], list[str]] = defaultdict(list)
    for row in rows:
        if row["kind"] not in ("Column", "User", "Query", "SQL"):
            name = row["found"]
            other_names = [name] if name and name != row["object_name"] else []
            names[row["object_name"] or name, row["object_iri"], row["kind"]] += other_names
    found_objects: list[tuple[str | None, ...]] = [(*key, ", ".join(other_names)) for key, other_names in names.items()]
    for title in ("Objects", "Tags", "Policies"):
        if group_rows := [row for row in found_objects if title == _group(row[2] or "")]:
            yield title, table(site, Answer(("object_name", "object_iri", "kind", "also_found_as"), group_rows))
    for title, kind, *columns in (
        ("Columns", "Column", "column_name", "object_name", "object_iri"),
        ("Users", "User", "user_name"),
        ("Queries", "Query", "query_id"),
        ("SQL", "SQL", "query_id", "found"),
    ):
        if cells := [tuple(row[column] for column in columns) for row in rows if row["kind"] == kind]:
            yield title, table(site, Answer(tuple(columns), cells))


def _group(kind: str) -> str:
    return "Tags" if kind == "Tag" else "Policies" if kind.endswith(" Policy") else "Objects"


def nearest_names(site: Site, text: str) -> list[str]:
    """The names of objects, columns and users that are most similar to a text, of objects also by their last part."""
    names = [row["name"] or "" for row in site.rows("page-known", most=_MOST_NAMES)]
    return nearest(text, dict.fromkeys([*names, *(parts(name)[-1] for name in names)]))


def warm(site: Site) -> None:
    """Asks the questions of the first page in the background, so that the first visitor does not wait."""
    with suppress(ExporterError, RuntimeError):  # RuntimeError: the server is stopped meanwhile
        for topic in TOPICS:
            if topic.question in site.questions:
                with suppress(TimeoutError):
                    site.ask_meanwhile(topic.question, _params(site, topic), 0)


def _topic_answers(site: Site) -> Iterator[TopicAnswer]:
    for topic in TOPICS:
        if topic.question not in site.questions:
            continue
        params = _params(site, topic)
        href = url_for("gaps.show") if topic.question == QUESTION else ask_href(topic.question, params)
        try:
            answer = _answer(site, topic)
        except TimeoutError:
            yield TopicAnswer(topic, None, "", href, not_ready())
            continue
        except ExporterError as error:
            yield TopicAnswer(topic, None, "", href, str(error))
            continue
        yield TopicAnswer(topic, table(site, answer, _FEW, href), _row_count(answer), href, since=params.get("since"))


def _answer(site: Site, topic: Topic) -> Answer:
    """Raises TimeoutError where the answer is not ready."""
    answer = site.ask_meanwhile(topic.question, _params(site, topic), _WAIT)
    rows = [row for row in answer.rows if topic.is_shown(site, dict(zip(answer.columns, row, strict=True)))]
    return Answer(answer.columns, rows, answer.notes)


def _params(site: Site, topic: Topic) -> dict[str, str]:
    last = site.last
    if topic.since_days is None or last is None:
        return {}
    end = datetime.fromisoformat(last)
    params = {"since": f"{end - timedelta(days=topic.since_days):%Y-%m-%dT%H:%M:%S}"}
    if topic.question == "changes":
        params["until"] = f"{end + timedelta(seconds=1):%Y-%m-%dT%H:%M:%S}"
    return params


def _row_count(answer: Answer) -> str:
    more = "more than " if is_cut(answer) else ""
    return f"{more}{len(answer.rows):,}"


_MOST_ROWS: Final = 100
_WAIT_FOR_EACH: Final = 0.75
"""Seconds that a page waits for each of the answers that may take long: there are two, one after the other."""
_OF_USER: Final = (("Queries", "user-history"), ("Policies that were enforced for the user", "policy-access"))
_PARTS: Final = (
    ("Read", "page-query-reads"),
    ("Wrote", "page-query-writes"),
    ("Columns that it filled", "page-query-derivations"),
    ("Made, changed or dropped", "page-query-changes"),
    ("Policies that were enforced", "page-query-policies"),
    ("Joins", "page-query-joins"),
    ("Statements that are part of it", "page-query-children"),
)
_FACTS: Final[Mapping[str, str]] = {
    "user_name": "User",
    "startedAtTime": "Started",
    "endedAtTime": "Ended",
    "roleName": "Role",
    "warehouseName": "Warehouse",
    "queryType": "Type",
    "executionStatus": "Status",
    "agent": "Agent",
    "parent_query_id": "Part of query",
    "root_query_id": "Root query",
}
"""The facts that come first, in this order; all others have the name of their property."""
_TEXT: Final = "queryText"
_ID: Final = "queryId"


def queries(site: Site) -> Blueprint:
    """``/query`` and ``/user``."""
    routes = Blueprint("queries", __name__)

    @routes.get("/query")
    def query() -> tuple[str, int] | str:
        query_id = request.args.get("id", "")
        properties = site.rows("page-query", {"query_id": query_id})
        if not properties:
            similar = table(site, Answer((), []))
            return render_template("unknown.html", what="query", requested=query_id, similar=similar), 404
        answers = [(title, _columns_together(site.ask(name, {"query_id": query_id}))) for title, name in _PARTS]
        notes = dict.fromkeys(note for _, answer in answers for note in answer.notes if not is_cut(answer))
        parts = [
            (title, table(site, answer if is_cut(answer) else replace(answer, notes=[]))) for title, answer in answers
        ]
        text = next((row["value"] for row in properties if _local(row) == _TEXT), None)
        facts = _facts(
            properties, {name: url_for("objects.show", id=site.path(iri)) for name, iri in _iris(properties)}
        )
        return render_template("query.html", id=query_id, facts=facts, text=text, parts=parts, notes=notes)

    @routes.get("/user")
    def user() -> tuple[str, int] | str:
        name = request.args.get("name", "")
        users = site.rows("page-user", {"user_name": name})
        if not users:
            similar = table(site, site.ask("page-search", {"text": name, "id": name}), _MOST_ROWS)
            return render_template("unknown.html", what="user", requested=name, similar=similar), 404
        parts = [_of_user(site, title, question, name) for title, question in _OF_USER if question in site.questions]
        return render_template("user.html", name=name, user=users[0], parts=parts)

    return routes


def _of_user(site: Site, title: str, question: str, name: str) -> tuple[str, Table | None, str, str]:
    """Title, table, the address of all rows, and the text to show where there is no table."""
    doubled = name.replace('"', '""')
    params = {"user_name": f'"{doubled}"'}  # this user, and none whose name differs in letter case
    more = ask_href(question, params)
    try:
        return title, table(site, site.ask_meanwhile(question, params, _WAIT_FOR_EACH), _MOST_ROWS, more), more, ""
    except TimeoutError:
        return title, None, more, not_ready()
    except ExporterError as error:
        return title, None, more, str(error)


def _iris(properties: list[dict[str, str | None]]) -> Iterator[tuple[str, str]]:
    """The role and the warehouse of a query: the property with the name, and the object."""
    for row in properties:
        if (row["property"] or "").endswith("_iri"):
            yield f"{_local(row).removesuffix('_iri')}Name", row["value"] or ""


def _facts(properties: list[dict[str, str | None]], hrefs: Mapping[str, str]) -> list[tuple[str, Cell]]:
    """The facts of a query other than its text, each with a name for people, and the page of what it names."""
    order, hidden = list(_FACTS), (_TEXT, _ID, "role_iri", "warehouse_iri")
    facts = [(_local(row), row["value"] or "") for row in properties if _local(row) not in hidden]
    facts.sort(key=lambda fact: (order.index(fact[0]) if fact[0] in order else len(order), fact))
    return [
        (
            _FACTS.get(name, _spaced(name)),
            _fact(name, value)._replace(href=hrefs[name]) if name in hrefs else _fact(name, value),
        )
        for name, value in facts
    ]


def _fact(name: str, value: str) -> Cell:
    """A fact with its unit: QUERY_HISTORY has times in milliseconds, and sizes in bytes."""
    if value.isdigit():
        if "bytes" in name.lower():
            return Cell(size(int(value)))
        if name.endswith("Time"):
            return Cell(f"{int(value) / 1000:,.1f} s")
        return Cell(f"{int(value):,}" if name.startswith("rows") or "count" in name.lower() else value)
    if name == "user_name":
        return Cell(value, url_for("queries.user", name=value))
    if name.endswith("_query_id"):
        return Cell(value, url_for("queries.query", id=value))
    return Cell(time(value))


def size(number: int) -> str:
    """Bytes in the largest unit of which there is one.

    >>> size(40_600_000), size(999), size(2_000)
    ('40.6 MB', '999 bytes', '2.0 kB')
    """
    for unit, smallest in (("TB", 10**12), ("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if number >= smallest:
            return f"{number / smallest:,.1f} {unit}"
    return f"{number} bytes"


def _local(row: Mapping[str, str | None]) -> str:
    """The name of a property without its namespace."""
    return (row["property"] or "").rpartition("#")[2].rpartition("/")[2]


def _spaced(name: str) -> str:
    """``totalElapsedTime`` -> ``Total elapsed time``."""
    return "".join(f" {letter.lower()}" if letter.isupper() else letter for letter in name).strip().capitalize()


def _columns_together(answer: Answer) -> Answer:
    """The answer with rows that differ only in their column merged into one; other answers stay unchanged."""
    if answer.columns[-1:] != ("column_name",):
        return answer
    groups: dict[tuple[str | None, ...], list[str]] = {}
    for *rest, column in answer.rows:
        groups.setdefault(tuple(rest), []).extend([column] if column else [])
    rows: list[tuple[str | None, ...]] = [(*rest, LIST.join(columns)) for rest, columns in groups.items()]
    return Answer((*answer.columns[:-1], "columns"), rows, answer.notes)
