"""The pages of a query, and of a user."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from flask import Blueprint, render_template, request, url_for

from exporter.errors import ExporterError
from exporter.graph.ask.answers import Answer
from exporter.serve.site import LATER
from exporter.serve.tables import Cell, ask_href, is_cut, table, time

if TYPE_CHECKING:
    from collections.abc import Mapping

    from exporter.serve.site import Site
    from exporter.serve.tables import Table

_MOST: Final = 100
_WAIT: Final = 0.75
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
    def one() -> tuple[str, int] | str:
        query_id = request.args.get("id", "")
        told = site.rows("page-query", {"query_id": query_id})
        if not told:
            near = table(site, Answer((), []))
            return render_template("unknown.html", what="query", asked=query_id, near=near), 404
        answers = [(title, _grouped(site.ask(name, {"query_id": query_id}))) for title, name in _PARTS]
        notes = dict.fromkeys(note for _, answer in answers for note in answer.notes if not is_cut(answer))
        parts = [
            (title, table(site, answer if is_cut(answer) else replace(answer, notes=[]))) for title, answer in answers
        ]
        text = next((row["value"] for row in told if _local(row) == _TEXT), None)
        return render_template("query.html", id=query_id, facts=_facts(told), text=text, parts=parts, notes=notes)

    @routes.get("/user")
    def user() -> tuple[str, int] | str:
        name = request.args.get("name", "")
        told = site.rows("page-user", {"user_name": name})
        if not told:
            near = table(site, site.ask("page-search", {"text": name, "id": name}), _MOST)
            return render_template("unknown.html", what="user", asked=name, near=near), 404
        parts = [_of_user(site, title, question, name) for title, question in _OF_USER if question in site.questions]
        return render_template("user.html", name=name, told=told[0], parts=parts)

    return routes


def _of_user(site: Site, title: str, question: str, name: str) -> tuple[str, Table | None, str, str]:
    """Title, table, the address of all rows, and the text to show where there is no table."""
    doubled = name.replace('"', '""')
    asked = {"user_name": f'"{doubled}"'}  # this user, and none whose name differs in letter case
    more = ask_href(question, asked)
    try:
        return title, table(site, site.ask_meanwhile(question, asked, _WAIT), _MOST, more), more, ""
    except TimeoutError:
        return title, None, more, LATER
    except ExporterError as error:
        return title, None, more, str(error)


def _facts(told: list[dict[str, str | None]]) -> list[tuple[str, Cell]]:
    """The facts of a query other than its text, each with a name for people."""
    known = list(_FACTS)
    found = [(_local(row), row["value"] or "") for row in told if _local(row) not in (_TEXT, _ID)]
    found.sort(key=lambda one: (known.index(one[0]) if one[0] in known else len(known), one))
    return [(_FACTS.get(name, _spaced(name)), _fact(name, value)) for name, value in found]


def _fact(name: str, value: str) -> Cell:
    if name == "user_name":
        return Cell(value, url_for("queries.user", name=value))
    if name.endswith("_query_id"):
        return Cell(value, url_for("queries.one", id=value))
    return Cell(time(value))


def _local(row: Mapping[str, str | None]) -> str:
    """The name of a property without its namespace."""
    return (row["property"] or "").rpartition("#")[2].rpartition("/")[2]


def _spaced(name: str) -> str:
    """``totalElapsedTime`` -> ``Total elapsed time``."""
    return "".join(f" {letter.lower()}" if letter.isupper() else letter for letter in name).strip().capitalize()


def _grouped(answer: Answer) -> Answer:
    """The answer with rows that differ only in their column merged into one; other answers stay unchanged."""
    if answer.columns[-1:] != ("column_name",):
        return answer
    groups: dict[tuple[str | None, ...], list[str]] = {}
    for *rest, column in answer.rows:
        groups.setdefault(tuple(rest), []).extend([column] if column else [])
    rows: list[tuple[str | None, ...]] = [(*rest, ", ".join(columns)) for rest, columns in groups.items()]
    return Answer((*answer.columns[:-1], "columns"), rows, answer.notes)
