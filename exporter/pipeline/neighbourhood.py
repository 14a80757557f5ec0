"""Validates with a user's shapes that look at the surroundings of an object.

Only if there are such shapes, nodes are sent to the objects in whose surroundings they are needed.

A node is sent to the object that it belongs to. If a shape follows a link between two objects, the node with the link
is sent to both objects, or one object requests the nodes of the other.
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Final

from msgspec import Struct, json, msgpack

from exporter.errors import UsageError
from exporter.graph.iri import whole
from exporter.graph.shapes.neighbourhood import BEHIND, LINKS, OWN, REFERRED, named, object_of
from exporter.graph.terms import Node, Value
from exporter.graph.vocabulary import OBJECT as THE_OBJECT
from exporter.pipeline.extract import count_start
from exporter.pipeline.messages import AT_RANK, Message, To, by_receiver, encode, order, within
from exporter.pipeline.outcome import Tally
from exporter.pipeline.texts import checks, needs_neighbourhoods, refusal, refused_key
from exporter.pipeline.updates import day_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from exporter.graph.shapes.on_graph import Result
    from exporter.model.facts import QueryFacts
    from exporter.pipeline.job import ExportJob

ASKS, IS_OWN, IS_OTHER = range(3)
"""Ranks of the messages to an object: requests for its nodes, its own nodes, other nodes of its surroundings."""
_LINKS: Final = tuple(dict.fromkeys((of, other) for (of, _), other in LINKS.items()))


class Letter(Struct, array_like=True, gc=False):
    """A message to an object (by IRI) in stored form: messages stored beside outputs keep only their body."""

    iri: str
    rank: int
    body: bytes


class NodeOwner(Struct, array_like=True, frozen=True, order=True, gc=False):
    """Which queries are quarantined if a node is refused. ``object_key``: all queries that mention this object (key of
    its messages). If it is empty: the query of the node, with its parent and root in ``relatives``, and the ``day`` on
    which it started.
    """

    object_key: str
    account: str = ""
    query_id: str = ""
    relatives: tuple[str, ...] = ()
    day: str = ""


class Sent(Struct, array_like=True, gc=False):
    """A node in a message. ``of``: the name of its class."""

    of: str
    iri: str
    types: tuple[str, ...]
    values: dict[str, tuple[Value, ...]]
    source: NodeOwner

    def node(self) -> Node:
        """The node."""
        return Node(named(self.of), self.iri, self.types, self.values)


class Asked(Struct, array_like=True, frozen=True, order=True, gc=False):
    """A request of an object (by IRI) for the nodes in one ring of its surroundings."""

    requester: str
    ring: str


_read_letter: Final = msgpack.Decoder(Letter).decode
_read_sent: Final = msgpack.Decoder(Sent).decode
_read_asked: Final = msgpack.Decoder(Asked).decode


def looks_at_others(job: ExportJob) -> bool:
    """Whether one of these shapes needs nodes of other objects, which must be requested."""
    reach = checks(job.shapes).around.reach
    return bool(reach.referred or reach.behind)


def check_by_day(job: ExportJob) -> None:
    """Raise UsageError if a shape needs the surroundings of objects: one day of an update does not have all of them."""
    if needs_neighbourhoods(job):
        raise UsageError(
            f"{checks(job.shapes).around.names[0]}: needs the surroundings of objects, which an update does not have: "
            "it is made day by day. Export all rows without --update, or use this shape with exporter validate --shapes"
        )


class ToObjects:
    """Sends nodes to the objects in whose surroundings shapes need them."""

    def __init__(self, job: ExportJob) -> None:
        self._around = checks(job.shapes).around

    def of_object(self, key: str, nodes: list[Node]) -> Iterator[Message]:
        """The nodes of an object, by the key of its messages."""
        (iri,) = (node.iri for node in nodes if node.of is THE_OBJECT)
        for node in nodes:
            # What a CLONE of a schema brought is written by the table that was cloned.
            yield from self._sent(node, object_of(node) or iri, NodeOwner(key))

    def of_query(self, facts: QueryFacts, nodes: list[Node]) -> Iterator[Message]:
        """The nodes of a query that belong to objects."""
        relatives = tuple(text for text in (facts.parent_query_id, facts.root_query_id) if text is not None)
        owner = NodeOwner("", facts.account, facts.query_id, relatives, day_of(facts.start))
        for node in nodes:
            iri = object_of(node)
            if iri is not None:
                yield from self._sent(node, iri, owner)

    def _sent(self, node: Node, iri: str, owner: NodeOwner) -> Iterator[Message]:
        """The messages of a node of the object ``iri`` to this object and to the objects that it refers to."""
        around = self._around
        body = encode(Sent(node.of.name, node.iri, node.types, around.asked_of(node).values, owner))
        if any(around.needs(node.of, ring) for ring in (OWN, REFERRED, BEHIND)):
            yield _letter(iri, IS_OWN, body)
        for link in _LINKS:
            for value in node.values.get(link[1], ()) if link[0] is node.of else ():
                other = str(value)
                if link in around.reach.referring:
                    yield _letter(other, IS_OTHER, body)
                if link in around.reach.referred:
                    yield _letter(other, ASKS, encode(Asked(iri, REFERRED)))
                if link in around.reach.behind:
                    yield _letter(iri, ASKS, encode(Asked(other, BEHIND)))


def _letter(iri: str, what: int, body: bytes) -> Message:
    return Message(To.AROUND, "", b"", encode(Letter(iri, what, body)))


def deliver(messages: Iterable[Message], _: ExportJob) -> Iterator[Message]:
    """Stored letters -> messages to objects."""
    for message in messages:
        letter = _read_letter(message.body)
        yield Message(To.AROUND, letter.iri, order(letter.rank), letter.body)


def share_nodes(messages: Iterable[Message], job: ExportJob) -> Iterator[Message]:
    """Objects send their nodes to the objects that requested them."""
    around = checks(job.shapes).around
    for (_to, iri), group in groupby(messages, by_receiver):
        asked: set[Asked] = set()
        for message in group:
            if message.order[0] == ASKS:
                asked.add(_read_asked(message.body))
                continue
            yield message
            if asked and message.order[0] == IS_OWN:
                of = named(_read_sent(message.body).of)
                for request in sorted(asked):
                    if request.requester != iri and around.needs(of, request.ring):
                        yield Message(To.AROUND, request.requester, AT_RANK[IS_OTHER], message.body)


def validate_neighbourhoods(messages: Iterable[Message], job: ExportJob) -> Iterator[Message]:
    """Objects with their surroundings -> results of validation, and the queries that are quarantined."""
    around, tally = checks(job.shapes).around, Tally()
    for (_to, _iri), group in groupby(messages, by_receiver):
        nodes: dict[int, list[Node]] = {IS_OWN: [], IS_OTHER: []}
        sources: dict[str, set[NodeOwner]] = {}
        for message in group:
            sent = _read_sent(message.body)
            nodes[message.order[0]].append(sent.node())
            sources.setdefault(whole(sent.iri, job.base), set()).add(sent.source)
        results = around.check(nodes[IS_OWN], nodes[IS_OTHER], job.base)
        for result in results:
            tally.result(result.severity, result.shape)
            yield Message(To.RESULT, "", b"", json.encode(result))
        yield from _quarantine(results, sources, tally, job)
    yield tally.message()


def _quarantine(
    results: list[Result], sources: dict[str, set[NodeOwner]], tally: Tally, job: ExportJob
) -> Iterator[Message]:
    """What is quarantined: the query whose node is refused; for a node of an object, all queries that mention it."""
    by_owner: dict[NodeOwner, list[Result]] = {}
    for result in results:
        for source in sources[result.focus]:
            by_owner.setdefault(source, []).append(result)
    for source, every in sorted(by_owner.items()):
        reason = refusal(every)
        if reason is None:
            continue
        if source.object_key:
            tally.numbers["refused"] += 1
            yield Message(To.REFUSED, refused_key(To.OBJECT, source.object_key), b"", reason.encode())
        else:
            tally.numbers["quarantined_queries"] += 1
            count_start(tally, source.day, job)
            body = source.account, source.query_id, source.relatives, reason, source.day
            yield Message(To.QUARANTINED, within(source.account, source.query_id), b"", encode(body))
