"""A query with its facts and all answers -> its nodes and events, validated, as text; or the reason why not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec
import orjson

from exporter.graph.catalog_entries import remarks
from exporter.graph.iri import Iris
from exporter.graph.nodes import of_query
from exporter.messages import (
    EVENTS,
    NAMED_FOR_QUERY,
    WRITTEN,
    Message,
    by_key,
    decode,
    order,
    rank,
)
from exporter.openlineage import check
from exporter.openlineage.events import run_events
from exporter.queries.tables import rows_of
from exporter.steps.cataloguing import of_query as to_catalog
from exporter.steps.reading import AS_PARENT
from exporter.steps.saying import Saying, refusal
from exporter.steps.spellings import Spellings
from exporter.steps.telling import ANSWER, FACTS_OF, held, read_told
from exporter.steps.texts import facts_of
from exporter.things.answers import Answers
from exporter.things.stories import Answer

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from exporter.openlineage.events import Event
    from exporter.queries.facts import QueryFacts
    from exporter.steps.job import Job

_read_answer: Final = msgspec.msgpack.Decoder(Answer).decode
_KINDS: Final = {"START": 0, "COMPLETE": 1}


def write(messages: Iterable[Message], job: Job) -> Iterator[Message]:
    """Each query of the partition as its nodes and events, or held back; what is not for queries passes through."""
    saying, spellings = Saying(job), Spellings()
    iris: dict[str, Iris] = {}
    for to, key, group in by_key(messages):
        if to == NAMED_FOR_QUERY:
            for message in group:
                spellings.hear(key, message.body)
        elif to == WRITTEN:
            facts, answers = _together(group)
            answers.datasets = spellings.of(facts.account)
            of_account = iris.get(facts.account)
            if of_account is None:
                of_account = iris[facts.account] = Iris(facts.account, job.account, job.base)
            yield from _query(facts, answers, of_account, job, saying)
        else:
            yield from group
    yield saying.tally.message()


def _together(group: Iterator[Message]) -> tuple[QueryFacts, Answers]:
    answers, facts = Answers(), None
    for message in group:
        what = rank(message)
        if what == ANSWER:
            _add(answers, _read_answer(message.body))
        elif what == FACTS_OF:
            facts = read_told(message.body).facts()
        else:
            role, name = decode(message.body)
            if role == AS_PARENT:
                answers.parent_job = name
            else:
                answers.root_job = name
    assert facts is not None, "an answer to a query that nobody told of"
    return facts, answers


def _add(answers: Answers, told: Answer) -> None:
    key = told.object_key
    if told.state is not None:
        answers.states[key] = told.state
    if told.columns:
        for column, state in told.columns.items():
            answers.columns[key, column] = state
    if told.prior is not None:
        answers.priors[key] = told.prior
    if told.column_priors:
        for column, state in told.column_priors.items():
            answers.column_priors[key, column] = state
    if told.ending is not None:
        answers.endings[key] = told.ending
    for change_key, column, property_, element, until in told.settings or ():
        answers.settings[change_key, column, property_, element] = until


def _query(facts: QueryFacts, answers: Answers, iris: Iris, job: Job, saying: Saying) -> Iterator[Message]:
    nodes = list(of_query(facts, answers, iris)) if job.graph or job.validate else []
    results = saying.checked(nodes)
    yield from saying.results(results)
    events = run_events(facts, answers, job.openlineage) if job.events else []
    reason = refusal(results) or _fault(events)
    if reason is not None:
        saying.tally.count("held")
        yield held(facts, reason)
        return
    saying.tally.written(facts)
    yield from saying.texts(nodes)
    saying.tally.count("events", len(events))
    for event in events:
        yield Message(EVENTS, "", order(1, event.time, facts.query_id, _KINDS[event.type]), event.body)
    if job.catalog:
        yield from to_catalog(facts.account, remarks(facts, answers))
    if job.facts:
        for table, row in rows_of(facts):
            yield Message(facts_of(table), "", b"", orjson.dumps(row))


def _fault(events: list[Event]) -> str | None:
    """Why an event cannot go out, if one cannot."""
    found = [problem for event in events for problem in check.problems(event)]
    return f"its event cannot go out: {'; '.join(dict.fromkeys(found))}" if found else None
