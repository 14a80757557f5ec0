"""Write a query: its nodes and events from its facts and answers, validated, as text; or quarantine it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, groupby
from typing import Final, TypeVar

import msgspec
import orjson

from exporter.graph.catalog import catalog_notes
from exporter.graph.nodes.changes import ending_nodes
from exporter.graph.nodes.daily import sharing_nodes, with_shared_settings, without_shared
from exporter.graph.nodes.queries import Links, run_nodes, statement_nodes
from exporter.graph.nodes.versions import QueryContext
from exporter.graph.shapes.on_graph import Result
from exporter.graph.terms import Node
from exporter.model.answers import Answers, Bridge
from exporter.model.fact_tables import rows_of
from exporter.model.facts import QueryFacts
from exporter.model.object_history import ObjectAnswer
from exporter.openlineage.events import Event, events_of, name_of, problems, run_events
from exporter.pipeline.daily import Sharing
from exporter.pipeline.extract import count_start, quarantine_query
from exporter.pipeline.job import ExportJob
from exporter.pipeline.merge_profiles import Spellings
from exporter.pipeline.messages import (
    Message,
    NewRows,
    QueryRecord,
    To,
    WrittenRank,
    by_receiver,
    decode,
    encode,
    open_bucket,
    order,
    read_bridge,
    read_query_record,
    split_query_key,
    statement_of,
)
from exporter.pipeline.neighbourhood import ToObjects
from exporter.pipeline.read import AS_PARENT
from exporter.pipeline.recurring import recurring_of
from exporter.pipeline.texts import NodeWriter, facts_output, needs_neighbourhoods, refusal
from exporter.pipeline.updates import day_of

_read_answer: Final = msgspec.msgpack.Decoder(ObjectAnswer).decode
_NO_BRIDGE: Final = Bridge()
JOBS: Final = "jobs"
"""Name of a count: queries of which another day needs the name of the job."""
Given = TypeVar("Given")
_KINDS: Final = {"START": 0, "COMPLETE": 1}


def write(messages: Iterable[Message], job: ExportJob) -> Iterator[Message]:
    """The nodes and events of each query, or the message that quarantines it. Other messages pass through."""
    writer, spellings = _Writer(job), Spellings()
    for to, key, group, recurs in _looking_ahead(messages):
        if to == To.NAMED_FOR_QUERY:
            for message in group:
                spellings.add(key, message.body, open_bucket(key))
        elif to == To.WRITTEN:
            if job.day and group[0].order[0] == WrittenRank.ANSWER:
                yield from writer.ended(key, [_read_answer(message.body) for message in group])
                continue
            facts, answers, fresh = _together(group, job.run)
            answers.datasets = spellings.of(facts.account, open_bucket(key))
            yield from writer.query(facts, answers, fresh, recurs=recurs)
        else:
            yield from group
    yield from writer.sharing.messages() if writer.sharing else ()
    yield writer.node_writer.counts.message()


def _looking_ahead(messages: Iterable[Message]) -> Iterator[tuple[str, str, list[Message], bool]]:
    """Receiver, key, messages, and whether the next receiver is a query of the same statement."""
    before: tuple[str, str, list[Message]] | None = None
    for (to, key), group in groupby(messages, by_receiver):
        if before is not None:
            yield *before, to == To.WRITTEN == before[0] and statement_of(key) == statement_of(before[1])
        before = to, key, list(group)
    if before is not None:
        yield *before, False


def _together(group: Iterable[Message], run: int) -> tuple[QueryFacts, Answers, NewRows]:
    """The facts and answers of a query, and what of it came with this run."""
    answers = Answers()
    query_record: QueryRecord | None = None
    for message in group:
        rank = message.order[0]
        if rank == WrittenRank.ANSWER:
            _add(answers, _read_answer(message.body))
        elif rank == WrittenRank.FACTS:
            query_record = read_query_record(message.body)
        elif rank == WrittenRank.BRIDGE:
            answers.bridge = read_bridge(message.body)
        else:
            role, name = decode(message.body)
            if role == AS_PARENT:
                answers.parent_job = name
            else:
                answers.root_job = name
    assert query_record is not None, "an answer to a query without facts"
    return query_record.facts(), answers, query_record.fresh(run)


def _add(answers: Answers, object_answer: ObjectAnswer) -> None:
    key = object_answer.object_key
    if object_answer.state is not None:
        answers.states[key] = object_answer.state
        answers.chains[key] = object_answer.chain
    if object_answer.columns:
        for column, state in object_answer.columns.items():
            answers.columns[key, column] = state
    if object_answer.column_priors:
        for column, state in object_answer.column_priors.items():
            answers.column_priors[key, column] = state
    _keep(answers.priors, key, object_answer.prior)
    _keep(answers.endings, key, object_answer.ending)
    _keep(answers.tags, key, object_answer.tags)
    for column, policies in (object_answer.kept_masks or {}).items():
        answers.kept_masks[key, column] = policies
    if object_answer.carried:
        answers.carried.setdefault(key, []).extend(object_answer.carried)
    for setting, until in object_answer.settings or ():
        answers.settings[setting[:4]] = until


def _keep(answers: dict[str, Given], key: str, given: Given | None) -> None:
    if given:
        answers[key] = given


class _Writer:
    """Writes the queries of one partition."""

    def __init__(self, job: ExportJob) -> None:
        self._job = job
        self.node_writer = NodeWriter(job)
        self._to_objects = ToObjects(job) if needs_neighbourhoods(job) else None
        # A user's shapes may depend on anything in a node, so with them every node is made and validated.
        make_nodes = sharing_nodes if job.daily else statement_nodes
        render = self.node_writer.rendered
        self._recurring = None if job.in_order or job.shapes else recurring_of(job, make_nodes, render)
        self.sharing = Sharing() if job.daily else None

    def query(self, facts: QueryFacts, answers: Answers, fresh: NewRows, *, recurs: bool) -> Iterator[Message]:
        """A query's nodes and events, or the reason why it is quarantined. ``fresh``: what of it is counted;
        ``recurs``: whether its statement is written again next.
        """
        node_writer, job = self.node_writer, self._job
        query = QueryContext(facts, answers, node_writer.iris(facts.account))
        results, texts = self._nodes(query, recurs=recurs) if node_writer.is_asked else ([], ())
        yield from node_writer.results(results)
        events = self._events(facts, answers) if job.events else []
        reason = refusal(results) or _fault(events)
        if reason is not None:
            node_writer.counts.numbers["quarantined_queries"] += 1
            count_start(node_writer.counts, day_of(facts.start), job)
            yield quarantine_query(facts, reason)
            return
        node_writer.counts.written(facts, fresh)
        yield from texts
        node_writer.counts.numbers["events"] += len(events)
        for event in events:
            yield Message(To.EVENTS, "", order(1, event.time, facts.query_id, _KINDS[event.type]), event.body)
        if job.day and answers.bridge not in (None, _NO_BRIDGE):
            name = name_of(facts, answers.datasets, job.openlineage, answers.bridge)
            node_writer.counts.numbers[JOBS] += 1
            yield Message(To.JOB, "", b"", encode((facts.account, facts.query_id, name)))
        yield from self._more(facts, answers)

    def ended(self, key: str, object_answers: list[ObjectAnswer]) -> Iterator[Message]:
        """The ends of versions and settings that a query of an earlier day made."""
        account, query_id = split_query_key(key)
        yield from self.node_writer.more(list(ending_nodes(query_id, object_answers, self.node_writer.iris(account))))

    def _nodes(self, query: QueryContext, *, recurs: bool) -> tuple[list[Result], Iterable[Message]]:
        """The results of validating a query's nodes, and their texts."""
        node_writer = self.node_writer
        known = self._recurring.filled(query) if self._recurring else None
        if known:
            nodes, settings = self._of_run(query, known.links)
            return node_writer.checked(nodes + settings), self._texts(query, nodes, settings, known.texts, known.nodes)
        of_statement, links = statement_nodes(query)
        nodes, settings = list(run_nodes(query, links)), list[Node]()
        whole = nodes + of_statement
        results = node_writer.checked(whole)
        if self.sharing and not self.sharing.is_by_day(query.content):
            of_statement, links = without_shared(of_statement, links, query)
            nodes, settings = self._of_run(query, links)
            results += [
                result for result in node_writer.checked(nodes + settings + of_statement) if result not in results
            ]
        if self._recurring is None:
            texts_of = self._texts(query, nodes + of_statement, settings)
            to_objects = self._to_objects.of_query(query.facts, whole) if self._to_objects else ()
            return results, chain(texts_of, to_objects)
        texts = node_writer.rendered(of_statement)
        if recurs and not results:
            self._recurring.remember(query, texts, links)
        return results, self._texts(query, nodes, settings, texts, len(of_statement))

    def _of_run(self, query: QueryContext, links: Links) -> tuple[list[Node], list[Node]]:
        """The other nodes of a query, and its settings that other runs share."""
        nodes = list(run_nodes(query, links))
        return with_shared_settings(nodes, query.iris) if self.sharing else (nodes, [])

    def _texts(
        self,
        query: QueryContext,
        nodes: list[Node],
        settings: list[Node],
        texts: Sequence[str] = (),
        number: int = 0,
    ) -> Iterator[Message]:
        """The texts of a query: ``nodes``, and ``number`` further ones in ``texts``; or its reads for the days. Shared
        ``settings`` are sent to the days.
        """
        if self.sharing and self.sharing.is_by_day(query.content):
            yield from self.sharing.add(query)
            return
        if self.sharing:
            self.sharing.note(query, settings)
        yield from self.node_writer.texts(nodes)
        yield from self.node_writer.joined(list(texts), number)

    def _events(self, facts: QueryFacts, answers: Answers) -> list[Event]:
        settings = self._job.openlineage
        if self._recurring is None or answers.bridge is not None:
            return run_events(facts, answers, settings)
        statement = self._recurring.statement(facts.content, facts.account, answers.datasets, settings)
        return events_of(facts, statement, answers, settings)

    def _more(self, facts: QueryFacts, answers: Answers) -> Iterator[Message]:
        if self._job.catalog:
            for note in catalog_notes(facts, answers):
                yield Message(To.ENTRY, "", b"", encode((facts.account, None, note)))
        if self._job.facts:
            for table, row in rows_of(facts):
                yield Message(facts_output(table), "", b"", orjson.dumps(row))


def _fault(events: list[Event]) -> str | None:
    """Why an event is not valid; None if all are."""
    texts = [problem for event in events for problem in problems(event)]
    return f"its event is not valid: {'; '.join(dict.fromkeys(texts))}" if texts else None
