"""A graph of an export, or of a folder or file of Turtle, and the way of a question from its text to its table.

The names in the parameters are looked up (:mod:`exporter.ask.names`), the query is answered with the values in it, and
notes say what the answer lacks (:mod:`exporter.ask.notes.index`).
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, Final, Self

from pyoxigraph import QueryBoolean, QuerySolutions, QueryTriples, Store

from exporter.ask import movement, tag_stops
from exporter.ask.answers import (
    Answer,
    Found,
    Row,
    about,
    as_list,
    as_printed,
    merged,
    render,
    with_columns,
    with_found,
    with_objects,
)
from exporter.ask.lookups import Lookups
from exporter.ask.names import IN_EACH_ACCOUNT, LOCATION_ALONE, look_up
from exporter.ask.notes.asked import Asked
from exporter.ask.notes.empty import no_row
from exporter.ask.notes.index import explain
from exporter.ask.notes.left_out import is_of_graph, left_out
from exporter.ask.parameters import (
    ParameterValues,
    bind,
    check,
    error_message,
    refuse,
    texts_of,
    values_of,
    with_plain_ids,
)
from exporter.ask.shipped import Question, find, is_shipped, questions
from exporter.ask.stores import DAMAGED, fresh, is_damage, refuse_incomplete
from exporter.ask.triples import text_of
from exporter.errors import ExporterError, UsageError, described
from exporter.graph.store import load
from exporter.system import files

__all__ = ["Answer", "Graph", "Question", "ask", "check_all", "find", "is_shipped", "questions", "render", "select"]


class Graph:
    """The graph of an export, or of a folder or file of Turtle, to be asked any number of times.

    It is loaded once, into memory or from the store beside the export, and stays as it was when it was opened, also if
    an export replaces it meanwhile. Close it, or use it as a context. Raises UsageError where there is no graph, or an
    export lacks a file of it.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        path = Path(files.path_of("folder", folder))
        refuse_incomplete(path)
        with ExitStack() as stack:
            self._notes = [*left_out(path)]
            self.on_disk = stack.enter_context(fresh(path, self._notes.append))
            """The folder of the store beside the export; None where the graph is in memory."""
            self._store: Store | None = load(path) if self.on_disk is None else Store.read_only(str(self.on_disk))
            self._stack = stack.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Releases the store; a closed graph cannot be asked. It can be closed again."""
        self._store = None
        self._stack.close()

    @property
    def store(self) -> Store:
        """The store of pyoxigraph, for what SPARQL alone cannot do. Raises UsageError if the graph is closed."""
        if self._store is None:
            raise UsageError("This graph is closed: open it again to ask it.")
        return self._store

    def ask(self, question: str | os.PathLike[str], **parameters: Any) -> Answer:
        """The answer of a shipped question (docs/questions.md), or of the question in a ``.rq`` file. ``parameters``: a
        text, a number, a date or datetime (without a zone: UTC), or a list of these; None means not given.
        ``answer.notes`` say what the answer may lack, and why it is empty. Raises UsageError for a question or a value
        that cannot be used, also for an empty list or text.
        """
        asked_question = find(files.path_of("question", question))
        params = {name: texts_of(name, value) for name, value in parameters.items() if value is not None}
        try:
            check_all(asked_question, params)
            answer = self.answer(asked_question, params)
        except UsageError as error:
            raise type(error)(_in_python(str(error))) from None
        return replace(answer, notes=[_in_python(note) for note in answer.notes])

    def answer(
        self, question: Question, params: ParameterValues, most: int | None = None, *, of_page: bool = False
    ) -> Answer:
        """The answer with at most ``most`` rows. :func:`check_all` has to be called before."""
        answer = explained(self.store, question, params, ask(self.store, question, params, most, of_page=of_page))
        return replace(answer, notes=[*answer.notes, *self._notes])

    def sparql(self, query: str) -> Answer:
        """The answer of a SPARQL query of any form: of SELECT the rows, of ASK ``true`` or ``false``, of CONSTRUCT and
        DESCRIBE the triples, each cell as text. UsageError says where the query is wrong. SERVICE is refused.
        """
        if not isinstance(query, str):
            raise UsageError(f"the query must be a text, but is {described(query)}")
        refuse(query, "the query")
        return select(self.store, query, "the query")


def _in_python(message: str) -> str:
    """A message in the words of scripts: ``object_id=VALUE``, where the command has ``--param object_id=VALUE``."""
    return _PARAM.sub(r"\1", message)


_PARAM: Final = re.compile(r"--param (\w+=)")
_MOST_FOUND: Final = 10_000


def check_all(question: Question, params: ParameterValues) -> None:
    """Raises UsageError for parameters that are unknown, missing, or have an invalid value, and for a query that is not
    allowed.
    """
    refuse(question.query, question.name)
    check(question.name, question.parameters, params)
    bind(question.query, question.parameters, params)
    if is_shipped(question) and question.name == tag_stops.QUESTION:
        tag_stops.check(params)


def ask(  # noqa: PLR0913 - a question, and how it is asked
    store: Store,
    question: Question,
    params: ParameterValues,
    most: int | None = None,
    *,
    of_page: bool = False,
    things: Collection[str] = (),
) -> Answer:
    """The answer of a loaded graph; :func:`check_all` has to be called on ``params`` before. ``of_page``: with the
    objects that the names mean (:mod:`exporter.ask.answers`). ``things``: the IRIs of the objects that the question
    is about; ``params`` need not name them, and may mean others, too.
    """
    graph, params = Lookups(store), with_plain_ids(question.parameters, params)
    resolved = look_up(graph, question.parameters, params)
    if resolved.location and is_shipped(question) and question.name != movement.QUESTION:
        # A location is asked for by its URL in the place of a name, and found by its IRI.
        objects = [parameter.name for parameter in question.parameters if parameter.kind == "object"]
        resolved.params = {name: values for name, values in resolved.params.items() if name not in objects}
        resolved.params["domain"] = [resolved.location.domain]
        things = [resolved.location.iri]
    elif resolved.location:
        resolved.notes.append(LOCATION_ALONE)
        things = ()
    answer = _answer(store, question, resolved.params, most, of_page=of_page, things=things)

    def ask_again(params: ParameterValues, most: int) -> Answer:
        return _answer(store, question, params, most, of_page=False)

    meant = set(things) or resolved.things
    seen = as_printed(answer) if of_page and is_shipped(question) else answer
    # Of the objects of all accounts that have an id, the answer is about these.
    notes = [note for note in resolved.notes if not things or IN_EACH_ACCOUNT not in note]
    reasons = explain(Asked(graph, question, resolved.params, seen, meant, ask_again), notes)
    return replace(answer, notes=[*reasons, *answer.notes])


def explained(store: Store, question: Question, params: ParameterValues, answer: Answer) -> Answer:
    """The answer of a question; if it is empty and nothing else is known of that, with a note that no row has it."""
    is_unexplained = is_shipped(question) and not answer.rows and all(map(is_of_graph, answer.notes))
    return replace(answer, notes=[no_row(store, params), *answer.notes]) if is_unexplained else answer


def _answer(  # noqa: PLR0913 - a question, and how it is asked
    store: Store,
    question: Question,
    params: ParameterValues,
    most: int | None,
    *,
    of_page: bool,
    things: Collection[str] = (),
) -> Answer:
    if is_shipped(question) and question.name == movement.QUESTION:
        paths = movement.rows(Lookups(store), question, params, together=as_list if of_page else ", ".join)
        return _cut(_without_empty(Answer(movement.COLUMNS, *paths)), most)
    query = bind(question.query, question.parameters, params)
    if things:
        query = about(query, things)
    if not is_shipped(question):
        return select(store, query, question.name, most)
    if of_page:
        query = with_objects(question.name, query)
    is_stopped = question.name == tag_stops.QUESTION and values_of(params, tag_stops.PARAMETER)
    if is_stopped:
        query = with_columns(query, tag_stops.PATH_ENDS)
    notes = list[str]()
    with in_words(question.name):
        columns, rows = _rows(store, with_objects_found(store, query))
        if is_stopped:
            columns = columns[: -len(tag_stops.PATH_ENDS)]
            rows, notes = tag_stops.without_stopped(Lookups(store), params, columns, rows)
        if of_page:
            return _cut(Answer(columns, merged(columns, rows, most), notes), most)
        return _cut(_without_empty(Answer(columns, _first(rows, most), notes)), most)


def _without_empty(answer: Answer) -> Answer:
    """The answer with None where a list of names or a privilege is empty: there is none. The value of a tag can be an
    empty text.
    """
    rows = [zip(answer.columns, row, strict=True) for row in answer.rows]
    return replace(
        answer, rows=[tuple([cell if column == "value" else cell or None for column, cell in row]) for row in rows]
    )


def select(store: Store, query: str, name: str, most: int | None = None) -> Answer:
    """The rows of a query of any form; UsageError says where its text is wrong."""
    with in_words(name):
        columns, rows = _rows(store, query)
        return _cut(Answer(columns, _first(rows, most)), most)


@contextmanager
def in_words(name: str) -> Iterator[None]:
    """Turns the engine's errors into a UsageError that names the query."""
    try:
        yield
    except SyntaxError as error:
        raise UsageError(f"{name} is not valid SPARQL 1.1: {error_message(error)}") from error
    except UnicodeEncodeError:  # a half of a surrogate pair
        raise UsageError(f"{name} is not UTF-8 text.") from None
    except OSError as error:
        raise UsageError(f"{name} reads something outside of the graph, which is not allowed: {error}") from error
    except RuntimeError as error:
        if is_damage(error):
            raise ExporterError(DAMAGED) from error
        raise UsageError(f"{name} cannot be answered: {error}") from error


def _rows(store: Store, query: str) -> tuple[tuple[str, ...], Iterable[Row]]:
    """The columns, and the rows one after the other."""
    result = store.query(query)
    if isinstance(result, QueryBoolean):
        return ("answer",), [("true" if result else "false",)]
    if isinstance(result, QueryTriples):
        columns: tuple[str, ...] = ("subject", "predicate", "object")
    else:
        columns = tuple(variable.value for variable in result.variables)
    return columns, (tuple(map(text_of, row)) for row in result)


def with_objects_found(store: Store, query: str) -> str:
    """The query of a shipped question, with its values, with the objects that its names mean in this graph in the place
    of the pattern that finds them; as it is if they are very many.
    """

    def find_in(part: str) -> Found | None:
        result = store.query(part)
        assert isinstance(result, QuerySolutions), "each part is a SELECT"
        rows = list[Iterable[object]](islice(result, _MOST_FOUND + 1))
        return (list(map(str, result.variables)), rows) if len(rows) <= _MOST_FOUND else None

    return with_found(query, find_in)


def _first(rows: Iterable[Row], most: int | None) -> list[Row]:
    """One row more than are wanted, which shows whether there are more."""
    return list(islice(rows, None if most is None else most + 1))


def _cut(answer: Answer, most: int | None) -> Answer:
    """The answer with at most ``most`` rows, and a note where there are more."""
    if most is None or len(answer.rows) <= most:
        return answer
    note = f"There are more rows than {most:,}; these are the first ones. --max-rows N gives more."
    return Answer(answer.columns, answer.rows[:most], [*answer.notes, note])
