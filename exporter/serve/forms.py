"""Questions as forms, their answers as tables and CSV, and a page for the user's own SPARQL.

Cells of a table have links to the pages of what they name.
"""

from __future__ import annotations

import json
import shlex
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import urlencode

from flask import Blueprint, Response, abort, render_template, request, url_for

from exporter.ask.answers import LIST, Answer, render
from exporter.ask.parameters import CHOICES
from exporter.ask.shipped import grouped
from exporter.errors import ExporterError
from exporter.model.identifiers import match_name
from exporter.serve.notes import time
from exporter.serve.protocol import MOST, SOLUTIONS, TRIPLES, status_and_headers
from exporter.serve.site import MOST_ROWS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from exporter.ask.parameters import Parameter
    from exporter.ask.questions import Question
    from exporter.serve.site import Site

Row = dict[str, str | None]

_OBJECTS: Final[Mapping[str, str]] = {
    "object_name": "object_iri",
    "new_name": "new_iri",
    "source_name": "source_iri",
    "tag_name": "tag_iri",
    "target_name": "target_iri",
    "left_name": "left_iri",
    "right_name": "right_iri",
    "set_name": "set_iri",
    "policy_name": "policy_iri",
    "source_object_name": "source_iri",
    "target_object_name": "target_iri",
    "table_name": "object_iri",
    "left_object": "left_iri",
    "right_object": "right_iri",
}
"""Columns with the name of an object -> the column with its IRI, if the question has one; that one is not shown."""
_COLUMNS: Final[Mapping[str, tuple[str, ...]]] = {
    "column_name": ("object_name", "table_name"),
    "source_column_name": ("source_object_name", "source_name"),
    "target_column_name": ("target_object_name", "target_name"),
}
"""Columns with the name of a column -> the columns that may name its object."""
_HEADINGS: Final = {
    "set_name": "Tag or policy",
    "query_id": "Query",
    "parent_query_id": "Part of",
    "root_query_id": "Root",
    "user_names": "Users",
}
_OPTION: Final = " --max-rows"
"""Where the advice for the command line begins in a note about too many rows; pages leave it out."""
_QUERIES: Final = frozenset({"query_id", "parent_query_id", "root_query_id"})
_QUERY: Final = "Truncated query"
"""The domain that ``end-up`` gives to a query in the place of an object."""
_TIMES: Final = ("time", "first", "last", "from", "until", "seen", "_read", "_write")
_SHORT: Final = frozenset({"kind", "domain", "operation", "queries"})
_HOW_NAMED: Final = {"DIRECT": "named in the statement", "BASE": "behind what it names"}
_WORDS: Final[Mapping[str, Mapping[str, str]]] = {
    "access": _HOW_NAMED,
    "source_type": _HOW_NAMED,
    "source_column_type": _HOW_NAMED,
    "mask": {
        "BEFORE": "before its first mask",
        "AFTER": "after its mask was removed",
        "WHILE": "while it had a mask",
        "UNKNOWN": "not known: its policies were cut from the record",
        "MASKED": "masked",
        "CLEAR": "in clear",
    },
    "known_by": {"COLUMN": "column by column", "OBJECT": "as a whole"},
    "evidence": {"CERTAIN": "certain", "POSSIBLE": "possible"},
}
"""Values of columns that mean something to Snowflake or to a question -> the same in words."""
_LISTS_OF_COLUMNS: Final[Mapping[str, str]] = {"columns": "object_name", "target_columns": "target_name"}
"""Columns with names of columns -> the column that names their object."""
_LISTS_OF_OBJECTS: Final = frozenset({"direct_objects", "base_objects", "tags", "policies"})
"""Columns with names of objects; tags have their value behind a sign of equality."""


class Cell(NamedTuple):
    """``kind``: how the cell is displayed, a class of style.css; ``pages``: text and address of the page of each thing
    that the cell means, if there are several; ``items``: the same for the parts of a list, with the text after each;
    ``exact``: a time as the graph has it.
    """

    text: str
    href: str | None = None
    kind: str = ""
    pages: Sequence[tuple[str, str]] = ()
    items: Sequence[tuple[str, str | None, str]] = ()
    exact: str = ""


@dataclass(frozen=True)
class Table:
    """``more``: the address with all rows, None if these are all; ``is_cut``: whether there are more rows than the
    answer has.
    """

    columns: tuple[str, ...]
    rows: list[list[Cell]]
    notes: list[str] = field(default_factory=list)
    more: str | None = None
    is_cut: bool = False


def table(site: Site, answer: Answer, most: int | None = None, more: str | None = None) -> Table:
    """The first ``most`` rows of an answer; all if None."""
    columns = tuple(column for column in answer.columns if not column.endswith("_iri"))
    rows = [dict(zip(answer.columns, row, strict=True)) for row in answer.rows[:most]]
    is_few = most is not None and len(answer.rows) > most
    _add_objects(site, rows)
    cells = [[_cell(site, column, row) for column in columns] for row in rows]
    notes = [note.partition(_OPTION)[0] for note in answer.notes if not (is_few and _OPTION in note)]
    return Table(columns, cells, notes, more if is_few else None, is_cut(answer))


def _add_objects(site: Site, rows: Iterable[Row]) -> None:
    """Adds the objects to rows that have only their names: all that had such a name, since links are by id."""
    lacking = [
        (row, name, iri) for row in rows for name, iri in _OBJECTS.items()
        if name != "set_name" and row.get(name) and not row.get(iri)
    ]  # fmt: skip
    holders = site.holders(str(row[name]) for row, name, _ in lacking)
    for row, name, iri in lacking:
        row[iri] = " ".join(holders.get(match_name(str(row[name])), ())) or None
    lists = [
        (row, [part.partition("=")[0].strip() for part in str(row[name]).split(LIST)])
        for row in rows for name in _LISTS_OF_OBJECTS if row.get(name)
    ]  # fmt: skip
    holders_of_listed = site.holders(name for _, names in lists for name in names)
    for row, names in lists:
        row_holders = {key: holders_of_listed[key] for key in map(match_name, names) if key in holders_of_listed}
        row[_HOLDERS] = json.dumps({**json.loads(row.get(_HOLDERS) or "{}"), **row_holders})


def is_cut(answer: Answer) -> bool:
    """Whether the answer has more rows than are shown."""
    return any(_OPTION in note for note in answer.notes)


def words(column: str) -> str:
    """The name of a column of an answer as text.

    >>> words("source_object_name")
    'Source object name'
    """
    return column.replace("_", " ").capitalize()


def heading(column: str) -> str:
    """The name of a column as a heading of a table: as :func:`words`, but shorter.

    >>> heading("source_object_name"), heading("query_id"), heading("set_name")
    ('Source object', 'Query', 'Tag or policy')
    """
    return _HEADINGS.get(column) or words(column.removesuffix("_name"))


def ask_href(question: str, params: Mapping[str, str | Sequence[str]], route: str = "questions.ask") -> str:
    """The address of a question's page, or of its CSV, with parameters; the page asks it at once."""
    return f"{url_for(route, name=question)}?{urlencode({'ask': '1', **params}, doseq=True)}"


def _cell(site: Site, column: str, row: Row) -> Cell:
    text = row[column]
    if text is None:
        return Cell("")
    if pages := _hrefs(site, column, text, row):
        return Cell(text, pages=pages) if len(pages) > 1 else Cell(text, pages[0][1])
    if any(part in column for part in _TIMES) and text[10:11] == "T":
        return Cell(time(text), None, "time", exact=text)
    if items := _list_items(site, column, text, row):
        return Cell("", items=items)
    if text.isdigit() and column in ("queries", "users", "rows"):
        return Cell(f"{int(text):,}", None, "short")
    return Cell(_WORDS.get(column, {}).get(text, text).replace(LIST, ", "), None, "short" if column in _SHORT else "")


def _list_items(site: Site, column: str, text: str, row: Row) -> list[tuple[str, str | None, str]]:
    """The parts of a list, each with the address of its page, and the value of a tag; none where it is no list."""
    if not text:
        return []
    if column == "user_names":
        return users(text.split("\n"))
    if column in _LISTS_OF_COLUMNS and (paths := _paths(site, row, _LISTS_OF_COLUMNS[column])):
        return [
            (column_name, url_for("objects.column", id=paths[0], column=column_name), "")
            for column_name in text.split(LIST)
        ]
    if column not in _LISTS_OF_OBJECTS:
        return []
    holders: Mapping[str, Sequence[str]] = json.loads(row.get(_HOLDERS) or "{}")
    items: list[tuple[str, str | None, str]] = []
    for part in text.split(LIST):
        name, sign, value = part.partition("=")
        iris = holders.get(match_name(name.strip()), ())
        href = url_for("objects.show", id=site.path(iris[0])) if len(iris) == 1 else None
        items.append((name.strip(), href, f" = {value.strip()}" if sign else "") if href else (part, None, ""))
    return items


def users(names: Iterable[str]) -> list[tuple[str, str | None, str]]:
    """A list of users, each with the address of its page."""
    return [(user, url_for("queries.user", name=user), "") for user in names]


_HOLDERS: Final = "holders_iri"


def _hrefs(site: Site, column: str, text: str, row: Row) -> list[tuple[str, str]]:
    """Label and address of the page of each thing that a cell names; none where there is no such page."""
    if column in _QUERIES or (column == "target_name" and row.get("target_domain") == _QUERY):
        return [(text, url_for("queries.query", id=text))]
    if column == "user_name":
        return [(text, url_for("queries.user", name=text))]
    if column in _OBJECTS:
        return [(_label(path), url_for("objects.show", id=path)) for path in _paths(site, row, column)]
    owners = (_paths(site, row, owner) for owner in _COLUMNS.get(column, ()))
    paths: list[str] = next((owner for owner in owners if owner), [])
    return [(_label(path), url_for("objects.column", id=path, column=text)) for path in paths]


def _label(path: str) -> str:
    """The text that distinguishes one of several objects with the same name.

    >>> _label("table/2051"), _label("row-access-policy/7"), _label("table/name/D.S.T")
    ('Table 2051', 'Row access policy 7', 'table/name/D.S.T')
    """
    kind, _, number = path.partition("/")
    return f"{kind.replace('-', ' ').capitalize()} {number}" if number.isdigit() else path


def _paths(site: Site, row: Row, name: str) -> list[str]:
    return [site.path(iri) for iri in (row.get(_OBJECTS[name]) or "").split(" ") if iri]


_MOST_OF_CSV: Final = 100_000
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
    """``/questions``, ``/ask/NAME`` and ``/ask/NAME.csv``."""
    routes = Blueprint("questions", __name__)

    @routes.get("/questions")
    def index() -> str:
        return render_template("questions.html", groups=grouped(site.questions.values()))

    @routes.get("/ask/<name>")
    def ask(name: str) -> tuple[str, int, dict[str, str]] | str:
        question = _question(site, name)
        params = _params(question)
        line, address = command_line(name, params, str(site.graph)), ask_href(name, params)
        context = {"question": question, "fields": _fields(question, params), "line": line, "address": address}
        if not (params or "ask" in request.args or not question.parameters):
            return render_template("ask.html", **context)
        try:
            answer = table(site, site.ask_meanwhile(name, params, _WAIT, of_form=True))
        except TimeoutError:
            return render_template("ask.html", **context, is_asked=True)
        except ExporterError as error:
            return render_template("ask.html", **context, problem=error), *status_and_headers(error)
        forms = [(kind, ask_href(name, params, f"questions.as_{kind}")) for kind in ("csv", "json")]
        return render_template("ask.html", **context, answer=answer, forms=forms)

    @routes.get("/ask/<name>.csv")
    def as_csv(name: str) -> Response:
        return _answer_as_file(site, name, "csv", "text/csv; charset=utf-8")

    @routes.get("/ask/<name>.json")
    def as_json(name: str) -> Response:
        return _answer_as_file(site, name, "json", "application/json")

    return routes


def _answer_as_file(site: Site, name: str, kind: str, media_type: str) -> Response:
    """An answer as the command prints it, in a file."""
    question = _question(site, name)
    try:
        answer = site.ask(name, _params(question), _MOST_OF_CSV, of_page=False)
    except ExporterError as error:
        status, headers = status_and_headers(error)
        return Response(f"{error}\n", status, headers, content_type="text/plain; charset=utf-8")
    cut = f"-first-{_MOST_OF_CSV}-rows" if len(answer.rows) == _MOST_OF_CSV else ""
    disposition = {"Content-Disposition": f'attachment; filename="{name}{cut}.{kind}"'}
    return Response(render(answer, kind), content_type=media_type, headers=disposition)


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
            return render_template("write.html", query=query, problem=error), *status_and_headers(error)
        if result.media_type == TRIPLES[0]:
            return render_template("write.html", query=query, turtle=result.body.decode())
        return render_template("write.html", query=query, answer=table(site, _solutions(result.body)))

    return routes


def _question(site: Site, name: str) -> Question:
    if name not in site.questions:
        abort(404)
    return site.questions[name]


def _params(question: Question) -> dict[str, list[str]]:
    """The parameters in the address; empty fields are left out."""
    values_by_name = {
        parameter.name: [value for value in request.args.getlist(parameter.name) if value]
        for parameter in question.parameters
    }
    return {name: values for name, values in values_by_name.items() if values}


def _fields(question: Question, params: Mapping[str, list[str]]) -> list[Field]:
    instead = {parameter.instead: parameter.name for parameter in question.parameters if parameter.instead}
    required = {parameter.name for parameter in question.parameters if parameter.required}
    return [
        Field(
            parameter,
            *_input(parameter, params.get(parameter.name, [])),
            parameter.required and parameter.name not in instead,
            instead.get(parameter.name)
            if parameter.required
            else parameter.instead
            if parameter.instead in required
            else None,
            CHOICES.get(parameter.kind, ()),
        )
        for parameter in question.parameters
    ]


def command_line(question: str, params: Mapping[str, Sequence[str]], graph: str) -> str:
    """The command that asks the same.

    >>> command_line("writers", {"object_name": ["D.S.A B"], "domain": ["Table"]}, "out")
    "exporter query writers out --object-name 'D.S.A B' --domain Table"
    """
    options = [(f"--{name.replace('_', '-')}", value) for name, values in params.items() for value in values]
    # A value that begins with a hyphen would be taken for an option.
    words = [word for name, value in options for word in ([f"{name}={value}"] if value[:1] == "-" else [name, value])]
    return shlex.join(["exporter", "query", question, graph, *words])


def _input(parameter: Parameter, values: list[str]) -> tuple[str, list[str]]:
    """The type of an HTML input, and its values in that type's format; one empty value where none is given."""
    times = [_local_time(value) for value in values] if parameter.kind == "time" else [None]
    input_times = [time for time in times if time is not None]
    return ("datetime-local", input_times or [""]) if len(input_times) == len(times) else ("text", values or [""])


def _local_time(value: str) -> str | None:
    """A time as an HTML input has it, in UTC; None where the text is not a time."""
    with suppress(ValueError, OverflowError):
        time = datetime.fromisoformat(value.strip())
        in_utc = time.astimezone(UTC) if time.tzinfo else time
        return in_utc.replace(tzinfo=None).isoformat(timespec="seconds")
    return None


def _solutions(body: bytes) -> Answer:
    """The first rows of a result in SPARQL's JSON, as a table."""
    result = json.loads(body)
    if "boolean" in result:
        return Answer(("answer",), [("yes" if result["boolean"] else "no",)])
    columns, bindings = tuple(result["head"]["vars"]), result["results"]["bindings"]
    rows = [tuple(_value(binding.get(column)) for column in columns) for binding in bindings[:MOST_ROWS]]
    notes = [f"There are {len(bindings):,} rows; these are the first {MOST_ROWS}."] if len(bindings) > MOST_ROWS else []
    return Answer(columns, rows, notes)


def _value(term: dict[str, object] | None) -> str | None:
    if term is None:
        return None
    value = term["value"]
    return value if isinstance(value, str) else json.dumps(value)
