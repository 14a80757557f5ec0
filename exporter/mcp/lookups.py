"""The tools: one for each shipped question, and beside them what the graph covers, a search, an object, a query,
a query in SPARQL, and the lineage of an object or column, step by step.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from functools import partial
from typing import Final

from pyoxigraph import Literal, NamedNode, RdfFormat, parse

from exporter.ask.answers import Answer, Row, listed, with_rows
from exporter.ask.notes.left_out import is_of_graph
from exporter.ask.shipped import Question, comment_of
from exporter.errors import ExporterError, UsageError
from exporter.graph.terms import short
from exporter.mcp.graph import SECONDS, Json, OpenGraph, cell
from exporter.mcp.resources import model
from exporter.mcp.tool import (
    OF_PARTS,
    OF_ROWS,
    Arguments,
    Tool,
    notes_of_answer,
    of_parameter,
    page,
    paging,
    table_answer,
    text,
)
from exporter.serve import periods
from exporter.serve.lineage.flows import Direction, Flow, Lineage, LineageNode, edge, read_lineage
from exporter.serve.site import (
    CUT,
    GRANTED,
    GRANTEE_KINDS,
    NO_DATA,
    QUERY_PARTS,
    VIEW_KINDS,
    PageSubject,
    SiteObject,
    solutions,
)
from exporter.system.terminal import visible

# --- questions, search, objects, queries ------------------------------------------------------------------------------


_NOT_RECORDED: Final = (
    "Snowflake does not record everything: the resource access-history://not-recorded lists what an answer can lack."
)
_FEW: Final = 10
"""Rows of each part of an answer, if no limit is given."""
_OF_OBJECT: Final[Mapping[str, str]] = {
    "names": "page-names",
    "columns": "page-columns",
    "readers": "page-readers",
    "writers": "page-writes",
    "policies_enforced": "page-enforced",
    "behind": "page-behind",
    "views": "page-views",
    "changes": "page-changes",
}
_OF_GRANTEE: Final = {"granted_to_it": "page-granted"}
"""The same for a share or role alone."""
"""Part of the answer on an object -> the question of the pages that has it."""
_OF_PERIODS: Final = {"tags_and_policies": periods.settings, "set_on": periods.set_on}
_PARTS_OF_OBJECT: Final = (*_OF_OBJECT, *_OF_GRANTEE, *_OF_PERIODS)
_ABSENT: Final[Mapping[str, str]] = {
    "columns": "names a column of it",
    "readers": "shows a read of it",
    "writers": "shows a write to it",
    "tags_and_policies": "sets a tag or a policy on it; what was set before is not known",
    "changes": "shows a statement that made or changed it",
}
"""Part -> what no row does if it is empty: an assistant could take its absence for an answer."""
_GRANTED: Final = {"granted_to_it": GRANTED, "changes": _ABSENT["changes"]}
"""The same of a share or role, which has no data of its own."""
_NOT_FOUND: Final = (
    "No name of an object, column, user or software agent on record contains this text, and nothing has it as its id."
)
_SET_ALONE: Final = (
    "The columns are shown with the policies that are set on them alone: it took too long to look for those through "
    "tags. The tool policy-coverage has them."
)
_BEHIND: Final = "shows what is behind it: its data may come from anywhere"
_OF_QUERY: Final[Mapping[str, str]] = {
    "facts": "page-query",
    **{name: question for name, (_, question) in QUERY_PARTS.items()},
}
_LARGEST: Final = 16 << 20
"""The most bytes of the answer to a query in SPARQL, before its rows are cut."""
_SOLUTIONS: Final = "application/sparql-results+json"
_TRIPLES: Final = "application/n-triples"
OTHERS: Final = (
    "Other objects had this name, too: others_of_that_name of the tool object lists them. This answer is about one."
)
_NOTHING: Final = (
    "The query has no solution. Names are compared letter by letter: the tool model has the rules. Or no row says what "
    "is asked."
)
OBJECT: Final[Mapping[str, Json]] = {
    "object_name": text(
        "A name that it has or had, such as DB.SCHEMA.TABLE; the URL of a location outside of Snowflake. Letter case "
        "counts only in double quotes."
    ),
    "iri": text("Its IRI, as search and object give it, in place of its name."),
}
"""The arguments that name an object."""


def of_question(question: Question) -> Tool:
    """The tool with the name of the question."""
    others = {
        parameter.name: [other.name for other in question.parameters if other.instead == parameter.name]
        for parameter in question.parameters
    }
    return Tool(
        question.name,
        question.name.replace("-", " ").capitalize(),
        f"{' '.join(filter(None, comment_of(question.query)))} Columns: {', '.join(question.columns)}.",
        properties={
            **{parameter.name: of_parameter(parameter, others[parameter.name]) for parameter in question.parameters},
            **paging(),
        },
        required=tuple(
            parameter.name for parameter in question.parameters if parameter.required and not others[parameter.name]
        ),
        output=OF_ROWS,
        answer=lambda graph, arguments: _answer_question(graph, question, arguments),
    )


def _answer_question(graph: OpenGraph, question: Question, arguments: Arguments) -> Json:
    params = {
        parameter.name: values for parameter in question.parameters if (values := arguments.texts(parameter.name))
    }
    answer = graph.ask(question.name, params, arguments.most)
    notes = _without_cut(answer)
    if not answer.rows:
        own = [graph.no_row(params)] if all(map(is_of_graph, notes)) else []
        notes = [*own, *notes, *graph.notes(), _NOT_RECORDED]
    return table_answer(graph, answer, notes, arguments)


def _without_cut(answer: Answer) -> list[str]:
    """The notes on an answer but for that on rows that are left out: ``more`` says so itself."""
    return [note for note in answer.notes if CUT not in note]


# --- what every assistant needs first ---------------------------------------------------------------------------------


def requested_object(graph: OpenGraph, arguments: Arguments) -> tuple[SiteObject, Answer]:
    """The object that the arguments name, and the others that had the name. Raises UsageError if there is none."""
    iri, name = arguments.text("iri"), arguments.text("object_name")
    if iri is None and name is None:
        name = arguments.needed("object_name")
    thing, namesakes = graph.site.find(iri, name or "")
    if thing is None:
        similar = next((note for note in namesakes.notes if note.startswith("There is no")), None)
        raise UsageError(f"{similar or f'There is no object {iri or name} in the graph.'} The tool search finds more.")
    return thing, namesakes


def object_json(thing: SiteObject) -> Json:
    """An object as data."""
    facts = {"iri": thing.iri, "kind": thing.kind, "object_name": thing.name, "object_id": thing.id}
    facts |= {"account": thing.account} if thing.account else {}
    return {name: cell(value) for name, value in facts.items()}


def _answer_about(graph: OpenGraph, arguments: Arguments) -> Json:
    return table_answer(graph, graph.site.ask("page-period"), graph.site.on_queries, arguments)


def _answer_search(graph: OpenGraph, arguments: Arguments) -> Json:
    searched = arguments.needed("text")
    answer = graph.site.ask("page-search", {"text": searched}, arguments.most)
    notes = [] if answer.rows else [_NOT_FOUND, *graph.site.on_pseudonyms(searched)]
    return table_answer(graph, graph.site.with_accounts(answer), notes, arguments)


def _answer_object(graph: OpenGraph, arguments: Arguments) -> Json:
    thing, namesakes = requested_object(graph, arguments)
    is_grantee = thing.kind.upper() in GRANTEE_KINDS
    of_view = {"behind": _BEHIND} if thing.kind.upper() in VIEW_KINDS else {}
    absent = _GRANTED if is_grantee else {**_ABSENT, **of_view}
    if namesakes.rows:
        absent = {part: f"{sentence}. Rows may say it of others of its name" for part, sentence in absent.items()}
    notes = [*graph.site.short_queries([thing.iri]), *([OTHERS] if namesakes.rows else [])]
    questions = {**_OF_OBJECT, **(_OF_GRANTEE if is_grantee or arguments.text("part") in _OF_GRANTEE else {})}
    parts = _asking(graph, arguments, questions, object=thing.iri)
    parts["names"] = partial(graph.site.names, PageSubject(thing))
    parts["columns"] = partial(_columns, graph, thing, parts["columns"])
    parts |= {name: partial(ask, graph.site, PageSubject(thing)) for name, ask in _OF_PERIODS.items()}
    answer = _answer_parts(graph, arguments, parts, absent, notes)
    if namesakes.rows:
        answer["parts"].append({"part": "others_of_that_name", **page(replace(namesakes, notes=[]), _FEW, 0)})
    return {"object": object_json(thing), **answer}


def _columns(graph: OpenGraph, thing: SiteObject, ask: Callable[[], Answer]) -> Answer:
    """The columns of an object, also with the policies that cover them through tags, and with an empty line between two
    tags or policies: line ends in a value are escapes.
    """
    answer = ask()
    try:
        answer = graph.site.with_policies(thing, answer, SECONDS)
    except (ExporterError, TimeoutError):
        answer = replace(answer, notes=[*answer.notes, _SET_ALONE])
    lists = ("tags", "policies")
    return with_rows(
        answer,
        (
            {**row, **{name: "\n\n".join(map(visible, listed(row[name]))) or None for name in lists}}
            for row in answer.dicts()
        ),
    )


def _answer_query(graph: OpenGraph, arguments: Arguments) -> Json:
    ident = arguments.needed("query_id")
    if not graph.site.rows("page-query", {"query_id": ident}):
        missed = " ".join([f"There is no query {ident} in the graph.", *graph.site.on_queries])
        raise UsageError(f"{missed} The tool user-history lists queries of a user.")
    absent = {"read": "says what it read", "wrote": "says that it wrote anything"}
    answer = _answer_parts(graph, arguments, _asking(graph, arguments, _OF_QUERY, query_id=ident), absent)
    for part in answer["parts"]:
        if part["part"] == "facts":
            part["rows"] = [[short(name), value] for name, value in part["rows"]]
    return answer


_Asking = dict[str, "Callable[[], Answer]"]
"""Part of an answer -> what asks the graph for it."""


def _asking(graph: OpenGraph, arguments: Arguments, questions: Mapping[str, str], **params: str) -> _Asking:
    return {name: partial(graph.site.ask, question, params, arguments.most) for name, question in questions.items()}


def _answer_parts(
    graph: OpenGraph, arguments: Arguments, parts: _Asking, absent: Mapping[str, str], about: Sequence[str] = ()
) -> Json:
    """The parts of an answer: the first rows of each, or more of one. ``absent``: what no row does if a part is empty;
    ``about``: notes on the whole.
    """
    asked_part = arguments.text("part")
    if asked_part is not None and asked_part not in parts:
        raise UsageError(f"part: there is no part {asked_part}, but: {', '.join(parts)}.")
    if arguments.offset and asked_part is None:
        raise UsageError("offset: name the part that it is of, too.")
    tables: list[Json] = []
    notes = [*about]
    for name in parts if asked_part is None else [asked_part]:
        answer = graph.site.with_accounts(parts[name](), of_others=True)
        notes += _without_cut(answer)
        table = page(answer, arguments.limit, arguments.offset)
        if asked_part is None and table["more"]:
            table["more"] += f" Name the part, too: part={name}."
        if not answer.rows and name in absent:
            notes.append(graph.site.no_row(absent[name]))
        if answer.rows or asked_part is not None:
            tables.append({"part": name, **table})
    return {"parts": tables, **notes_of_answer(graph, notes, arguments)}


def _answer_sparql(graph: OpenGraph, arguments: Arguments) -> Json:
    query = arguments.needed("query")
    result = graph.site.sparql.result(query, _SOLUTIONS, _TRIPLES, _LARGEST, graph.site.base or None)
    answer = _triples(result.body) if result.media_type == _TRIPLES else solutions(result.body)
    return table_answer(graph, answer, [] if answer.rows else [_NOTHING], arguments)


def _triples(body: bytes) -> Answer:
    rows: list[Row] = [
        tuple(term.value if isinstance(term, NamedNode | Literal) else str(term) for term in quad.triple)
        for quad in parse(body, RdfFormat.N_TRIPLES)
    ]
    return Answer(("subject", "predicate", "object"), rows)


def _answer_model(_: OpenGraph, __: Arguments) -> Json:
    return {"text": model()}


_PART: Final = "One part alone, with the limit and offset that are given."
LOOKUPS: Final = (
    Tool(
        "about",
        "About the record",
        "What does the graph cover? Columns: first and last (when the first and the last query on record started), the "
        "numbers of queries, users and objects. The notes say what the export left out. Nothing before the first or "
        "after the last query is known.",
        {}, (), OF_ROWS, _answer_about,
    ),
    Tool(
        "search",
        "Search",
        "Which names of objects, columns, users and software agents contain a text, and what has the text as its id? "
        "Begin here if you do not know the exact name.",
        {"text": text("A part of a name, in any letter case, or a whole id."), **paging()},
        ("text",), OF_ROWS, _answer_search,
    ),
    Tool(
        "object",
        "An object",
        "What is known of a table, view, stage, tag, policy or any other object: names and when it had them, columns, "
        "readers, writers, tags and policies on it, what is behind it, views over it, statements that changed it, "
        "what was granted to a share or role, and others that had its name. Parts without rows are left out; notes say "
        "what no row shows.",
        {**OBJECT, "part": {**text(_PART), "enum": list(_PARTS_OF_OBJECT)}, **paging(_FEW)},
        (), OF_PARTS, _answer_object,
    ),
    Tool(
        "query",
        "A query",
        "What did one query of the account do? Its facts (user, time, role, text if it was exported), what it read and "
        "wrote, which columns it filled from which, DDL, policies that were enforced, joins, and statements that are "
        "part of it.",
        {
            "query_id": text("Snowflake's id of the query."),
            "part": {**text(_PART), "enum": list(_OF_QUERY)},
            **paging(_FEW),
        },
        ("query_id",), OF_PARTS, _answer_query,
    ),
    Tool(
        "sparql",
        "SPARQL",
        "Answers a query in SPARQL 1.1 (SELECT, ASK, CONSTRUCT, DESCRIBE) of the graph, which it cannot change or "
        "leave. Prefer the tool of a shipped question, which handles names, times and views. Call model first, which "
        "has the classes, the rules and examples.",
        {"query": text("The query, with its prefixes."), **paging()},
        ("query",), OF_ROWS, _answer_sparql,
    ),
    Tool(
        "model",
        "The model of the graph",
        "The classes and properties of the graph, rules and examples: what is needed to write SPARQL.",
        {}, (), {"type": "object", "properties": {"text": {"type": "string"}}}, _answer_model,
    ),
)  # fmt: skip


# --- lineage ----------------------------------------------------------------------------------------------------------


_COLUMNS: Final = (
    *("direction", "step", "source_name", "source_column", "target_name", "target_column"),
    *("queries", "first_time", "last_time", "evidence", "source_iri", "target_iri"),
)
_DIRECTIONS: Final[Mapping[str, tuple[Direction, ...]]] = {
    "upstream": ("up",),
    "downstream": ("down",),
    "both": ("up", "down"),
}
_MOST_STEPS: Final = 10
_MOST_PLACES: Final = 200
"""The most places whose neighbours are read."""


def _answer(graph: OpenGraph, arguments: Arguments) -> Json:
    steps = arguments.number("steps", 1, 1, _MOST_STEPS)
    requested = arguments.text("direction") or "both"
    if requested not in _DIRECTIONS:
        raise UsageError(f"direction: write one of {', '.join(_DIRECTIONS)}.")
    thing, namesakes = requested_object(graph, arguments)
    found_lineage = read_lineage(graph.site, thing, _column(graph, thing, arguments), _day(arguments.text("at")))
    notes = list[str]()
    rows = [row for direction in _DIRECTIONS[requested] for row in _edges(found_lineage, direction, steps, notes)]
    notes += found_lineage.notes
    if thing.kind.upper() in GRANTEE_KINDS:
        of_object = "the tool object has what was granted to it, as its part granted_to_it."
        notes.append(f"{NO_DATA.format(thing.kind.lower())}: {of_object}")
    elif not rows and not notes:
        notes.append("No row shows that data came to it or went from it.")
    notes += [*found_lineage.may_lack, *found_lineage.of_others(), *([OTHERS] if namesakes.rows else [])]
    return {"object": object_json(thing), **table_answer(graph, Answer(_COLUMNS, rows), notes, arguments)}


def _column(graph: OpenGraph, thing: SiteObject, arguments: Arguments) -> str:
    """The column as the graph spells it; empty where none is asked for. Raises UsageError where there is none."""
    requested = arguments.text("column_name")
    if requested is None:
        return ""
    spelling, _ = graph.site.column_of(thing, requested)
    if spelling is None:
        raise UsageError(f"The object has no column {requested} on record. The tool object lists its columns.")
    return spelling


def _day(value: str | None) -> date | None:
    try:
        return None if value is None else date.fromisoformat(value)
    except ValueError:
        raise UsageError("at: write a day such as 2026-09-30.") from None


def _edges(lineage: Lineage, direction: Direction, steps: int, notes: list[str]) -> Iterator[tuple[str | None, ...]]:
    """A row for each step that data took, the nearest first; each once. Objects of one name are in order of time."""
    waiting, reached, read = deque([(lineage.focus, 1)]), {lineage.focus}, 0
    while waiting:
        place, step = waiting.popleft()
        if read == _MOST_PLACES:
            notes.append(
                f"The answer has the steps of the first {_MOST_PLACES} places alone; begin at one of the last."
            )
            return
        read += 1
        for other, flow in sorted(
            lineage.neighbours(direction, place).items(),
            key=lambda neighbour: (_name(lineage, neighbour[0]), neighbour[1].first, neighbour[0].iri),
        ):
            yield _row(lineage, direction, step, edge(direction, place, other), flow)
            if other not in reached and step < steps:
                reached.add(other)
                waiting.append((other, step + 1))


def _name(lineage: Lineage, place: LineageNode) -> tuple[str, str]:
    return lineage.labels[place].name, place.column


def _row(
    lineage: Lineage, direction: Direction, step: int, ends: tuple[LineageNode, LineageNode], flow: Flow
) -> tuple[str | None, ...]:
    (source, source_column), (target, target_column) = (_name(lineage, place) for place in ends)
    word = "upstream" if direction == "up" else "downstream"
    queries = None if flow.evidence else str(flow.queries)
    iris = (place.iri for place in ends)
    cells = (source, source_column, target, target_column, queries, flow.first, flow.last, flow.evidence, *iris)
    return word, str(step), *(cell or None for cell in cells)


LINEAGE: Final = Tool(
    "lineage",
    "Lineage",
    "From where did data come to an object or a column, and where did it go, step by step? A row is a step: queries "
    "moved data from source to target, how many, when first and last; or evidence CERTAIN or POSSIBLE where a view or "
    "stream shows data and no query moved it. source_iri and target_iri tell objects of one name apart. root-cause and "
    "lineage-as-of go back to the first sources, end-up to all places where data ended up; this tool shows what is "
    "between.",
    {
        **OBJECT,
        "column_name": text("The lineage of this column alone."),
        "direction": {**text("Where to look; both if not given."), "enum": list(_DIRECTIONS)},
        "steps": {
            "type": "integer", "minimum": 1, "maximum": _MOST_STEPS,
            "description": "How many steps to follow (1 if not given).",
        },
        "at": text(
            "As of the end of this day, such as 2026-09-30 (UTC), unlike at of other tools; the whole record if not "
            "given."
        ),
        **paging(),
    },
    (), {**OF_ROWS, "properties": {"object": {"type": "object"}, **OF_ROWS["properties"]}}, _answer,
)  # fmt: skip
