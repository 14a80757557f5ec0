"""The questions as forms, their answers as tables and CSV; and a page for the user's own SPARQL."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from flask import Blueprint, Response, abort, render_template, request

from exporter.errors import ExporterError
from exporter.graph.ask.answers import Answer, render
from exporter.serve.protocol import MOST, SOLUTIONS, TRIPLES, answered_with
from exporter.serve.site import MOST_ROWS
from exporter.serve.tables import ask_href, table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from exporter.graph.ask.parameters import Parameter
    from exporter.graph.ask.questions import Question
    from exporter.serve.site import Site

_MOST_OF_CSV: Final = 100_000
_WAIT: Final = 1.5
"""The most seconds that a page waits for an answer before it says so, and loads again by itself."""
_EXAMPLE: Final = """PREFIX ah: <https://w3id.org/access-history#>
PREFIX prov: <http://www.w3.org/ns/prov#>

SELECT ?user_name (COUNT(?query) AS ?queries) WHERE {
  ?query a ah:Query ; prov:wasAssociatedWith/ah:userName ?user_name .
}
GROUP BY ?user_name
ORDER BY DESC(?queries)
"""


@dataclass(frozen=True)
class Field:
    """A parameter in a form. ``kind``: the type of the input; ``values``: what was given; ``is_needed``: required, and
    no other parameter can replace it.
    """

    parameter: Parameter
    kind: str
    values: list[str]
    is_needed: bool


def forms(site: Site) -> Blueprint:
    """``/questions``, ``/ask/NAME`` and ``/ask/NAME.csv``."""
    routes = Blueprint("questions", __name__)

    @routes.get("/questions")
    def every() -> str:
        return render_template("questions.html", questions=site.questions.values())

    @routes.get("/ask/<name>")
    def ask(name: str) -> tuple[str, int, dict[str, str]] | str:
        question = _question(site, name)
        params = _params(question)
        fields = _fields(question, params)
        if not (params or "ask" in request.args or not question.parameters):
            return render_template("ask.html", question=question, fields=fields)
        try:
            found = table(site, site.ask_meanwhile(name, params, _WAIT, of_form=True))
        except TimeoutError:
            return render_template("ask.html", question=question, fields=fields, is_asked=True)
        except ExporterError as error:
            return render_template("ask.html", question=question, fields=fields, problem=error), *answered_with(error)
        csv = ask_href(name, params, "questions.as_csv")
        return render_template("ask.html", question=question, fields=fields, found=found, csv=csv)

    @routes.get("/ask/<name>.csv")
    def as_csv(name: str) -> Response:
        question = _question(site, name)
        try:
            answer = site.ask(name, _params(question), _MOST_OF_CSV, of_page=False)
        except ExporterError as error:
            status, headers = answered_with(error)
            return Response(f"{error}\n", status, headers, content_type="text/plain; charset=utf-8")
        cut = f"-first-{_MOST_OF_CSV}-rows" if len(answer.rows) == _MOST_OF_CSV else ""
        told = {"Content-Disposition": f'attachment; filename="{name}{cut}.csv"'}
        return Response(render(answer, "csv"), content_type="text/csv; charset=utf-8", headers=told)

    return routes


def own_query(site: Site) -> Blueprint:
    """``/write``."""
    routes = Blueprint("own_query", __name__)

    @routes.get("/write")
    def write() -> tuple[str, int, dict[str, str]] | str:
        query = request.args.get("query", "")
        if not query:
            return render_template("write.html", query=_EXAMPLE)
        try:
            result = site.sparql.result(query, SOLUTIONS[0], TRIPLES[0], MOST, site.base or None)
        except ExporterError as error:
            return render_template("write.html", query=query, problem=error), *answered_with(error)
        if result.media_type == TRIPLES[0]:
            return render_template("write.html", query=query, turtle=result.body.decode())
        return render_template("write.html", query=query, found=table(site, _solutions(result.body)))

    return routes


def _question(site: Site, name: str) -> Question:
    if name not in site.questions:
        abort(404)
    return site.questions[name]


def _params(question: Question) -> dict[str, list[str]]:
    """The parameters in the address; empty fields are left out."""
    given = {one.name: [value for value in request.args.getlist(one.name) if value] for one in question.parameters}
    return {name: values for name, values in given.items() if values}


def _fields(question: Question, params: Mapping[str, list[str]]) -> list[Field]:
    instead = {one.instead for one in question.parameters}
    return [
        Field(one, *_input(one, params.get(one.name, [])), one.required and one.name not in instead)
        for one in question.parameters
    ]


def _input(parameter: Parameter, values: list[str]) -> tuple[str, list[str]]:
    """The type of an HTML input, and its values in that type's format; one empty value where none is given."""
    times = [_local_time(value) for value in values] if parameter.kind == "time" else [None]
    shown = [time for time in times if time is not None]
    return ("datetime-local", shown or [""]) if len(shown) == len(times) else ("text", values or [""])


def _local_time(value: str) -> str | None:
    """A time as an HTML input has it, in UTC; None where the text is not a time."""
    with suppress(ValueError, OverflowError):
        time = datetime.fromisoformat(value.strip())
        in_utc = time.astimezone(UTC) if time.tzinfo else time
        return in_utc.replace(tzinfo=None).isoformat(timespec="seconds")
    return None


def _solutions(body: bytes) -> Answer:
    """The first rows of a result in SPARQL's JSON, as a table."""
    told = json.loads(body)
    if "boolean" in told:
        return Answer(("answer",), [("yes" if told["boolean"] else "no",)])
    columns, bindings = tuple(told["head"]["vars"]), told["results"]["bindings"]
    rows = [tuple(_value(one.get(column)) for column in columns) for one in bindings[:MOST_ROWS]]
    notes = [f"There are {len(bindings):,} rows; these are the first {MOST_ROWS}."] if len(bindings) > MOST_ROWS else []
    return Answer(columns, rows, notes)


def _value(term: dict[str, object] | None) -> str | None:
    if term is None:
        return None
    value = term["value"]
    return value if isinstance(value, str) else json.dumps(value)
