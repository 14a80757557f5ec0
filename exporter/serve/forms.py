"""Questions as forms, their answers as tables and files, and a page for the user's own SPARQL."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Final

from flask import Blueprint, Response, abort, render_template, request

from exporter.ask.answers import Answer, render
from exporter.ask.parameters import CHOICES, Parameter, check_names
from exporter.ask.questions import Question
from exporter.ask.shipped import grouped
from exporter.errors import ExporterError, UsageError
from exporter.serve.protocol import MOST, SOLUTIONS, TRIPLES, error_as_text, status_and_headers, url_parameters
from exporter.serve.site import MOST_ROWS, Site, solutions
from exporter.serve.tables import Table, ask_href, download, table

_MOST_OF_FILE: Final = 100_000
_MEDIA_TYPES: Final = {"csv": "text/csv; charset=utf-8", "json": "application/json"}
_WAIT: Final = 1.5
"""The most seconds that a page waits for an answer before it shows a message, and loads again by itself."""
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
    """A parameter in a form. ``kind``: the type of the input; ``values``: the given values; ``is_needed``: required,
    and no other parameter can replace it; ``either``: the other one, of two of which one is needed; ``choices``: all
    values that it can have, if these are few.
    """

    parameter: Parameter
    kind: str
    values: list[str]
    is_needed: bool
    either: str | None = None
    choices: tuple[str, ...] = ()


def forms(site: Site) -> Blueprint:
    """``/questions``, ``/ask/NAME``, ``/ask/NAME.csv``, ``/ask/NAME.json``, and ``/write``."""
    routes = Blueprint("questions", __name__)

    @routes.get("/questions")
    @url_parameters()
    def index() -> str:
        return render_template("questions.html", groups=grouped(site.questions.values()))

    @routes.get("/ask/<name>")
    def ask(name: str) -> tuple[str, int, dict[str, str]] | str:
        question, params = _requested(site, name)
        form = {"question": question, "fields": _fields(question, params)}
        try:
            _check_names(question)
        except UsageError as error:
            return render_template("ask.html", **form, problem=error), *status_and_headers(error)
        line, address = command_line(name, params, str(site.graph)), ask_href(name, params)
        context = {**form, "line": line, "address": address}
        if not (params or "ask" in request.args or not question.parameters):
            return render_template("ask.html", **context)
        try:
            answer = table(site, site.ask_in_background(name, params, _WAIT, of_form=True))
        except TimeoutError:
            return render_template("ask.html", **context, is_asked=True)
        except ExporterError as error:
            return render_template("ask.html", **context, problem=error), *status_and_headers(error)
        files = [(kind, ask_href(name, params, kind)) for kind in _MEDIA_TYPES]
        return render_template("ask.html", **context, answer=answer, forms=files)

    routes.add_url_rule("/ask/<name>.<any(csv, json):kind>", "as_file", partial(_as_file, site))

    @routes.get("/write")
    @url_parameters("query")
    def write() -> tuple[str, int, dict[str, str]] | str:
        query = request.args.get("query", "")
        if not query:
            return render_template("write.html", query=_EXAMPLE)
        try:
            return render_template("write.html", query=query, **_own_answer(site, query))
        except ExporterError as error:
            return render_template("write.html", query=query, problem=error), *status_and_headers(error)

    return routes


def _as_file(site: Site, name: str, kind: str) -> Response:
    """An answer as the command prints it, and in a header the notes that it prints to standard error."""
    question, params = _requested(site, name)
    try:
        _check_names(question)
        answer = site.ask(name, params, _MOST_OF_FILE, of_page=False)
    except ExporterError as error:
        return error_as_text(error)
    cut = f"-first-{_MOST_OF_FILE}-rows" if len(answer.rows) == _MOST_OF_FILE else ""
    notes = [*answer.notes, *site.left_out]
    return download(render(answer, kind), f"{name}{cut}.{kind}", _MEDIA_TYPES[kind], notes)


def _own_answer(site: Site, query: str) -> dict[str, str | Table]:
    """The answer to the user's own query, as the template takes it: triples in Turtle, all others as a table."""
    result = site.sparql.result(query, SOLUTIONS[0], TRIPLES[0], MOST, site.base or None)
    if result.media_type == TRIPLES[0]:
        return {"turtle": result.body.decode()}
    answer = solutions(result.body, yes="yes", no="no")
    if len(answer.rows) > MOST_ROWS:
        note = f"There are {len(answer.rows):,} rows; these are the first {MOST_ROWS}."
        answer = Answer(answer.columns, answer.rows[:MOST_ROWS], [note])
    return {"answer": table(site, answer, has_lists=False)}


def _requested(site: Site, name: str) -> tuple[Question, dict[str, list[str]]]:
    """The question of this name, and its parameters in the address; empty fields are left out."""
    if name not in site.questions:
        abort(404)
    question, params = site.questions[name], {}
    for parameter in question.parameters:
        if values := list(filter(None, request.args.getlist(parameter.name))):
            params[parameter.name] = values
    return question, params


def _check_names(question: Question) -> None:
    """Raises UsageError for a parameter in the address that the question does not have."""
    check_names(question.name, question.parameters, (name for name in request.args if name != "ask"))


def _fields(question: Question, params: Mapping[str, list[str]]) -> list[Field]:
    instead = {parameter.instead: parameter.name for parameter in question.parameters if parameter.instead}
    required = {parameter.name for parameter in question.parameters if parameter.required}
    fields = []
    for parameter in question.parameters:
        kind, values = _input(parameter, params.get(parameter.name, []))
        is_needed = parameter.required and parameter.name not in instead
        replaced = parameter.instead if parameter.instead in required else None
        either = instead.get(parameter.name) if parameter.required else replaced
        fields.append(Field(parameter, kind, values, is_needed, either, CHOICES.get(parameter.kind, ())))
    return fields


def _input(parameter: Parameter, values: list[str]) -> tuple[str, list[str]]:
    """The type of an HTML input, and its values in that type's format; one empty value where none is given."""
    if parameter.kind == "time":
        with suppress(ValueError, OverflowError):
            return "datetime-local", [_local_time(value) for value in values] or [""]
    return "text", values or [""]


def _local_time(value: str) -> str:
    """A time as an HTML input has it, in UTC. Raises ValueError or OverflowError where the text is not a time."""
    time = datetime.fromisoformat(value.strip())
    in_utc = time.astimezone(UTC) if time.tzinfo else time
    return in_utc.replace(tzinfo=None).isoformat(timespec="seconds")


def command_line(question: str, params: Mapping[str, Sequence[str]], graph: str) -> str:
    """The command that asks the same.

    >>> command_line("writers", {"object_name": ["D.S.A B"], "domain": ["Table"]}, "out")
    "exporter query writers out --object-name 'D.S.A B' --domain Table"
    """
    options = [(f"--{name.replace('_', '-')}", value) for name, values in params.items() for value in values]
    # A value that begins with a hyphen would be taken for an option.
    words = [word for name, value in options for word in ([f"{name}={value}"] if value[:1] == "-" else [name, value])]
    return shlex.join(["exporter", "query", question, graph, *words])
