"""The pages of a query and of a user."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from flask import Blueprint, render_template, request, url_for

from exporter.ask.answers import Answer, as_list
from exporter.model.identifiers import quoted
from exporter.serve.protocol import url_parameters
from exporter.serve.site import QUERY_PARTS, Row, Site, is_cut
from exporter.serve.tables import Cell, Part, ask_href, part_of, table, time
from exporter.serve.tables import users as users_in

_MOST_ROWS: Final = 100
_WAIT: Final = 0.75
"""Seconds that a page waits for each of the answers that may take long: there are two, one after the other."""
_OF_USER: Final = (("Queries", "user-history"), ("Policies that were enforced for the user", "policy-access"))
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
_ELSEWHERE: Final = frozenset({"queryText", "queryId", "role_iri", "warehouse_iri"})
"""What the page shows at other places."""


def queries(site: Site) -> Blueprint:
    """``/query`` and ``/user``."""
    routes = Blueprint("queries", __name__)

    @routes.get("/query")
    @url_parameters("id")
    def query() -> tuple[str, int] | str:
        query_id = request.args.get("id", "")
        properties = site.rows("page-query", {"query_id": query_id})
        if not properties:
            similar = table(site, Answer((), []))
            return render_template("unknown.html", what="query", requested=query_id, similar=similar), 404
        notes: dict[str, None] = {}
        parts = []
        for name, (title, question) in QUERY_PARTS.items():
            answer = _columns_together(site.ask(question, {"query_id": query_id}))
            if not is_cut(answer):
                notes |= dict.fromkeys(answer.notes)
                answer = replace(answer, notes=[])
            parts.append(Part(title, name, table(site, answer), ""))
        values = [(_local(row["property"] or ""), row["value"] or "") for row in properties]
        text = next((value for name, value in values if name == "queryText"), None)
        return render_template(
            "query.html", id=query_id, facts=_facts(site, values), text=text, parts=parts, notes=notes
        )

    @routes.get("/user")
    @url_parameters("name")
    def user() -> tuple[str, int] | str:
        requested = request.args.get("name", "")
        users = _users(site, requested)
        if not users:
            similar = table(site, site.ask("page-search", {"text": requested.strip('"')}), _MOST_ROWS)
            notes = site.ask("page-user", {"user_name": requested}).notes  # the nearest names
            return render_template("unknown.html", what="user", requested=requested, similar=similar, notes=notes), 404
        name = users[0]["user_name"] or ""
        others = users_in({row["user_name"] or "" for row in users} - {name})
        parts = [_of_user(site, title, question, name) for title, question in _OF_USER]
        return render_template("user.html", name=name, user=users[0], parts=parts, others=others)

    return routes


def _users(site: Site, name: str) -> list[Row]:
    """The users with a name: as Snowflake stores it, which is how pages link to them, else as questions compare it. Of
    several, the one that Snowflake means by the name without quotes is the first.
    """
    for spelling in (quoted(name), name):
        if users := site.rows("page-user", {"user_name": spelling}):
            return sorted(users, key=lambda row: row["user_name"] != name.upper())
    return []


def _of_user(site: Site, title: str, question: str, name: str) -> Part:
    params = {"user_name": quoted(name)}  # this user, and none whose name differs in letter case
    ask = partial(site.ask_in_background, question, params, _WAIT)
    return part_of(site, title, question, ask, "shows one", _MOST_ROWS, ask_href(question, params))


def _local(iri: str) -> str:
    """The name of a property without its namespace."""
    return iri.rpartition("#")[2].rpartition("/")[2]


def _facts(site: Site, values: Sequence[tuple[str, str]]) -> list[tuple[str, Cell]]:
    """The facts of a query other than its text, each with a name for people, and the page of what it names: the role
    and the warehouse have their objects as further values.
    """
    order = list(_FACTS)
    objects = {
        name.replace("_iri", "Name"): url_for("objects.show", id=site.path(value))
        for name, value in values
        if name.endswith("_iri")
    }
    facts = []
    for name, value in sorted(
        (fact for fact in values if fact[0] not in _ELSEWHERE),
        key=lambda fact: (order.index(fact[0]) if fact[0] in order else len(order), fact),
    ):
        cell = _fact(name, value)
        facts.append((_FACTS.get(name, _spaced(name)), cell._replace(href=objects.get(name, cell.href))))
    return facts


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


def _spaced(name: str) -> str:
    """``totalElapsedTime`` -> ``Total elapsed time``."""
    return "".join(f" {letter.lower()}" if letter.isupper() else letter for letter in name).strip().capitalize()


def _columns_together(answer: Answer) -> Answer:
    """The answer with rows that differ only in their column merged into one; other answers stay unchanged."""
    if answer.columns[-1:] != ("column_name",):
        return answer
    groups: dict[tuple[str | None, ...], list[str]] = {}
    for *other_cells, column in answer.rows:
        groups.setdefault(tuple(other_cells), []).extend([column] if column else [])
    rows: list[tuple[str | None, ...]] = [(*other_cells, as_list(columns)) for other_cells, columns in groups.items()]
    return Answer((*answer.columns[:-1], "columns"), rows, answer.notes)
