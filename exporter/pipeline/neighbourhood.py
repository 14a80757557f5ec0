"""Validates with a user's shapes that look at the neighbourhood of an object.

Only if there are such shapes, nodes are sent to the objects in whose neighbourhoods they are needed.

A node is sent to the object that it belongs to. If a shape follows a link between two objects, the node with the link
is sent to both objects, or one object requests the nodes of the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Final

from msgspec import Struct, json, msgpack

from exporter.errors import UsageError
from exporter.graph.iri import absolute_iri
from exporter.graph.shapes.neighbourhood import BEHIND, BETWEEN_OBJECTS, OWN, REFERRED, class_named, object_of
from exporter.graph.shapes.on_graph import Result
from exporter.graph.terms import Node, Value
from exporter.graph.vocabulary import OBJECT
from exporter.model.facts import QueryFacts
from exporter.pipeline.extract import count_start
from exporter.pipeline.job import ExportJob
from exporter.pipeline.messages import AT_RANK, Message, To, account_key, by_receiver, encode
from exporter.pipeline.outcome import Counts
from exporter.pipeline.texts import checks, needs_neighbourhoods, refusal, refused_key
from exporter.pipeline.updates import day_of

REQUEST, OWN_NODE, OTHER_NODE = range(3)
"""Ranks of the messages to an object: requests of other objects for its nodes, its own nodes, other nodes of its
neighbourhood.
"""
_LINKS: Final = tuple(dict.fromkeys((node_class, other) for (node_class, _), other in BETWEEN_OBJECTS.items()))


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


class SentNode(Struct, array_like=True, gc=False):
    """A node in a message. ``of``: the name of its class."""

    of: str
    iri: str
    types: tuple[str, ...]
    values: dict[str, tuple[Value, ...]]
    owner: NodeOwner

    def node(self) -> Node:
        """The node."""
        return Node(class_named(self.of), self.iri, self.types, self.values)


_read_node: Final = msgpack.Decoder(SentNode).decode
_read_routed: Final = msgpack.Decoder(tuple[str, int, bytes]).decode
"""A message to an object (by IRI), its rank and body, as it is stored: beside outputs, messages keep only their body.
"""
_read_request: Final = msgpack.Decoder(tuple[str, str]).decode
"""A request: the IRI of the object that asks, and the ring of its neighbourhood in which the nodes are."""


def looks_at_others(job: ExportJob) -> bool:
    """Whether one of these shapes needs nodes of other objects, which must be requested."""
    return not checks(job.shapes).neighbourhood.needed.rings.isdisjoint({REFERRED, BEHIND})


def check_by_day(job: ExportJob) -> None:
    """Raise UsageError if a shape needs the surroundings of objects: one day of an update does not have all of them."""
    if needs_neighbourhoods(job):
        raise UsageError(
            f"{checks(job.shapes).neighbourhood.names[0]}: needs the surroundings of objects, which an update does not "
            "have: it is made day by day. Export all rows without --update, or use this shape with exporter validate "
            "--shapes"
        )


class ToObjects:
    """Sends nodes to the objects in whose neighbourhoods shapes need them."""

    def __init__(self, job: ExportJob) -> None:
        self._shapes = checks(job.shapes).neighbourhood

    def of_object(self, key: str, nodes: list[Node]) -> Iterator[Message]:
        """The nodes of an object, by the key of its messages."""
        (iri,) = (node.iri for node in nodes if node.of is OBJECT)
        for node in nodes:
            # What a CLONE of a schema brought is written by the table that was cloned.
            yield from self._sent(node, object_of(node) or iri, NodeOwner(key))

    def of_copy(self, key: str, nodes: list[Node]) -> Iterator[Message]:
        """The versions of an object that CLONEs made, by the key of its messages."""
        for node in nodes:
            yield from self._sent(node, str(node.values["prov:specializationOf"][0]), NodeOwner(key))

    def of_query(self, facts: QueryFacts, nodes: list[Node]) -> Iterator[Message]:
        """The nodes of a query that belong to objects."""
        relatives = tuple(text for text in (facts.parent_query_id, facts.root_query_id) if text is not None)
        owner = NodeOwner("", facts.account, facts.query_id, relatives, day_of(facts.start))
        for node in nodes:
            iri = object_of(node)
            if iri is not None:
                yield from self._sent(node, iri, owner)

    def _sent(self, node: Node, iri: str, owner: NodeOwner) -> Iterator[Message]:
        """The messages of a node of the object ``iri`` to this object and to the objects that it is linked with."""
        shapes = self._shapes
        needed, looks_behind = shapes.needed, BEHIND in shapes.needed.rings
        body = encode(SentNode(node.of.name, node.iri, node.types, shapes.needed_values(node), owner))
        if shapes.needs(node.of, OWN, REFERRED, BEHIND):
            yield _routed(iri, OWN_NODE, body)
        for link in _LINKS:
            for value in node.values.get(link[1], ()) if link[0] is node.of else ():
                other = str(value)
                if link in needed.referred:
                    yield _routed(other, REQUEST, encode((iri, REFERRED)))
                if link in needed.referring:
                    yield _routed(other, OTHER_NODE, body)
                    if looks_behind:
                        yield _routed(iri, REQUEST, encode((other, BEHIND)))


def _routed(iri: str, rank: int, body: bytes) -> Message:
    return Message(To.AROUND, "", b"", encode((iri, rank, body)))


def deliver_nodes(messages: Iterable[Message], _: ExportJob) -> Iterator[Message]:
    """Unpack stored messages and address each to its object."""
    for message in messages:
        iri, rank, body = _read_routed(message.body)
        yield Message(To.AROUND, iri, AT_RANK[rank], body)


def share_nodes(messages: Iterable[Message], job: ExportJob) -> Iterator[Message]:
    """Objects send their nodes to the objects that requested them."""
    shapes = checks(job.shapes).neighbourhood
    for (_to, iri), group in groupby(messages, by_receiver):
        requests: set[tuple[str, str]] = set()
        for message in group:
            if message.order[0] == REQUEST:
                requests.add(_read_request(message.body))
                continue
            yield message
            if requests and message.order[0] == OWN_NODE:
                node_class = class_named(_read_node(message.body).of)
                for requester, ring in sorted(requests):
                    if requester != iri and shapes.needs(node_class, ring):
                        yield Message(To.AROUND, requester, AT_RANK[OTHER_NODE], message.body)


def validate_neighbourhoods(messages: Iterable[Message], job: ExportJob) -> Iterator[Message]:
    """Objects with their neighbourhoods -> results of validation, and the queries that are quarantined."""
    shapes, counts = checks(job.shapes).neighbourhood, Counts()
    for _, group in groupby(messages, by_receiver):
        own: list[Node] = []
        neighbours: list[Node] = []
        owners: dict[str, set[NodeOwner]] = {}
        for message in group:
            sent = _read_node(message.body)
            if message.order[0] == OWN_NODE:
                own.append(sent.node())
                owners.setdefault(absolute_iri(sent.iri, job.base), set()).add(sent.owner)
            else:
                neighbours.append(sent.node())
        by_owner: dict[NodeOwner, list[Result]] = {}
        for focus, results in shapes.check(own, neighbours, job.base).items():
            for result in results:
                counts.result(result.severity, result.shape)
                yield Message(To.RESULT, "", b"", json.encode(result))
            for owner in owners[focus]:
                by_owner.setdefault(owner, []).extend(results)
        yield from _quarantine(by_owner, counts, job)
    yield counts.message()


def _quarantine(by_owner: dict[NodeOwner, list[Result]], counts: Counts, job: ExportJob) -> Iterator[Message]:
    """What is quarantined: the query whose node is refused; for a node of an object, all queries that mention it."""
    for owner, results in sorted(by_owner.items()):
        reason = refusal(results)
        if reason is None:
            continue
        if owner.object_key:
            counts.numbers["refused"] += 1
            yield Message(To.REFUSED, refused_key(To.OBJECT, owner.object_key), b"", reason.encode())
        else:
            counts.numbers["quarantined_queries"] += 1
            count_start(counts, owner.day, job)
            body = owner.account, owner.query_id, owner.relatives, reason, owner.day
            yield Message(To.QUARANTINED, account_key(owner.account, owner.query_id), b"", encode(body))
