"""Questions (:mod:`exporter.ask.shipped`) are asked of a graph, and answered as a table."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

from pyoxigraph import BlankNode, Literal, NamedNode, QueryBoolean, QuerySolutions, QueryTriples, Store, Triple

from exporter.ask import answers as links
from exporter.ask import missing, movement, tag_stops
from exporter.ask import parameters as syntax
from exporter.ask.answers import Answer, Row, render
from exporter.ask.names import LOCATION_ALONE, look_up
from exporter.ask.parameters import ParameterValues, bind, check, refuse, values_of
from exporter.ask.shipped import Question, find, is_shipped, questions
from exporter.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exporter.ask.names import NameHolder, ResolvedParameters

__all__ = ["Answer", "Question", "ask", "find", "is_shipped", "questions", "render", "select"]
Term = NamedNode | BlankNode | Literal | Triple | None


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
    thing: str = "",
) -> Answer:
    """The answer of a loaded graph; :func:`check_all` has to be called on ``params`` before. ``of_page``: with the
    objects that the names mean (:mod:`exporter.ask.answers`). ``thing``: the IRI of the object that the question is
    about; ``params`` need not name it.
    """
    resolved = look_up(store, question.parameters, params)
    if resolved.location is not None:
        thing, resolved = _of_location(question, resolved, resolved.location)
    answer = _asked(store, question, resolved.params, most, of_page=of_page, thing=thing)

    def rows(params: ParameterValues, most: int) -> Answer:
        return _asked(store, question, params, most, of_page=False, thing="")

    things = {thing} if thing else resolved.things
    explained = missing.explain(store, question, resolved.params, answer, things, rows)
    return replace(answer, notes=[*resolved.notes, *explained, *answer.notes])


def _of_location(
    question: Question, resolved: ResolvedParameters, location: NameHolder
) -> tuple[str, ResolvedParameters]:
    """A location is asked for by its URL in the place of a name, and found by its IRI: this, and the parameters without
    the URL. No IRI for a question that cannot take it.
    """
    if not is_shipped(question) or question.name == movement.QUESTION:
        return "", replace(resolved, notes=[*resolved.notes, LOCATION_ALONE])
    objects = [parameter.name for parameter in question.parameters if parameter.kind == "object"]
    params = {name: values for name, values in resolved.params.items() if name not in objects}
    return location.iri, replace(resolved, params={**params, "domain": [location.domain]})


def _asked(  # noqa: PLR0913 - a question, and how it is asked
    store: Store, question: Question, params: ParameterValues, most: int | None, *, of_page: bool, thing: str
) -> Answer:
    if is_shipped(question) and question.name == movement.QUESTION:
        between = links.LIST if of_page else ", "
        paths = movement.rows(store, question.parameters, params, between=between)
        return _cut(Answer(movement.COLUMNS, *paths), most)
    query = bind(question.query, question.parameters, params)
    if thing:
        query = links.about(query, thing)
    if not is_shipped(question):
        return select(store, query, question.name, most)
    notes = list[str]()
    with in_words(question.name):
        if of_page:
            query = links.with_objects(question.name, query)
        is_stopped = question.name == tag_stops.QUESTION and values_of(params, tag_stops.PARAMETER)
        columns, rows = _answered(store, links.with_columns(query, tag_stops.PATH_ENDS) if is_stopped else query)
        if is_stopped:
            columns = columns[: -len(tag_stops.PATH_ENDS)]
            remaining, notes = tag_stops.without_stopped(store, params, columns, list(rows))
            rows = iter(remaining)
        # One more than are wanted shows whether there are more.
        first_rows = (
            links.merged(columns, rows, most) if of_page else list(islice(rows, None if most is None else most + 1))
        )
        return _cut(Answer(columns, first_rows, notes), most)


def select(store: Store, query: str, name: str, most: int | None = None) -> Answer:
    """The rows of a query of any form; UsageError says where its text is wrong."""
    with in_words(name):
        columns, rows = _answered(store, query)
        # One more than are wanted shows whether there are more.
        return _cut(Answer(columns, list(islice(rows, None if most is None else most + 1))), most)


@contextmanager
def in_words(name: str) -> Iterator[None]:
    """Turns the engine's errors into a UsageError that names the query."""
    try:
        yield
    except SyntaxError as error:
        raise UsageError(f"{name} is not valid SPARQL 1.1: {syntax.error_message(error)}") from error
    except OSError as error:
        raise UsageError(f"{name} reads something outside of the graph, which is not allowed: {error}") from error
    except RuntimeError as error:
        raise UsageError(f"{name} cannot be answered: {error}") from error


def _answered(store: Store, query: str) -> tuple[tuple[str, ...], Iterator[Row]]:
    """The columns, and the rows one after the other."""
    result = store.query(query)
    if isinstance(result, QueryBoolean):
        return ("answer",), iter([("true" if result else "false",)])
    columns = ("subject", "predicate", "object") if isinstance(result, QueryTriples) else _columns(result)
    return columns, (tuple(_text(term) for term in solution) for solution in result)


def _cut(answer: Answer, most: int | None) -> Answer:
    """The answer with at most ``most`` rows, and a note where there are more."""
    if most is None or len(answer.rows) <= most:
        return answer
    note = f"There are more rows than {most:,}; these are the first ones. --max-rows N gives more."
    return Answer(answer.columns, answer.rows[:most], [*answer.notes, note])


def _columns(result: QuerySolutions) -> tuple[str, ...]:
    return tuple(variable.value for variable in result.variables)


def _text(term: Term) -> str | None:
    """The text of a literal, or the IRI of a node; None where nothing is bound."""
    if term is None:
        return None
    return term.value if isinstance(term, NamedNode | Literal | BlankNode) else str(term)
