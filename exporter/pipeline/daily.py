"""``--reads daily``: reads are added up by user, role, object and day; what several queries share is written once.

A query that only reads is validated as with ``--reads full``, and its events and facts are the same. Its nodes are not
written: it sends its reads to the days instead (:class:`Sharing`), which add them up in a separate round
(:func:`daily_reads`). The day of a query is that of its start in UTC, as in an update. A query that writes keeps its
nodes, and sends only what its runs share to the days: patterns of accesses and derivations, settings.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any, Final

import msgspec

from exporter.graph.iri import Iris
from exporter.graph.nodes import daily
from exporter.graph.nodes.agents import agent_path, named_agents
from exporter.graph.nodes.changes import setting_types
from exporter.graph.nodes.daily import DailyRead, DailyReadPart, shared_patterns
from exporter.graph.nodes.versions import QueryContext
from exporter.graph.terms import Node
from exporter.graph.vocabulary import ACCESS_PATTERN, DERIVATION_PATTERN, POLICY_ENFORCEMENT, SETTING
from exporter.model.accesses import ReadGroup, only_reads, read_groups
from exporter.model.facts import Content
from exporter.model.objects import role_of
from exporter.pipeline.job import ExportJob
from exporter.pipeline.messages import Message, To, by_receiver, decode, encode
from exporter.pipeline.texts import NodeWriter, daily_output, refusal
from exporter.pipeline.updates import day_of
from exporter.system.cache import CONTENTS, Recent

_FLUSH: Final = 50_000
"""Most reads that are added up in memory before they are sent."""
REFUSED: Final = "refused_days"
"""Name of a count: nodes of days that a shape refuses."""
_CLASSES: Final = {
    node_class.name: node_class for node_class in (ACCESS_PATTERN, DERIVATION_PATTERN, POLICY_ENFORCEMENT, SETTING)
}
_read: Final = msgspec.msgpack.Decoder(tuple[str, DailyRead]).decode


class Sharing:
    """The reads of the queries in one partition, and the nodes that queries share."""

    def __init__(self) -> None:
        self._reads: dict[str, DailyRead] = {}
        self._shared: dict[str, Node] = {}
        self._alike: dict[str, Recent[list[tuple[ReadGroup, Node | None]]]] = {}
        self._written: dict[str, Recent[dict[str, Node]]] = {}

    @staticmethod
    def is_by_day(content: Content) -> bool:
        """Whether a statement only reads, so that its reads are added up by day."""
        return only_reads(content)

    def add(self, query: QueryContext) -> Iterator[Message]:
        """Add the reads of a query. Gives messages if there are many reads in memory."""
        day, user, history = day_of(query.start), query.facts.user_name, query.facts.history
        role = role_of(history.role_name, history.role_type)
        runs_as = None if role is None else query.iris.object(role.key)
        agents = {
            query.iris.user(user),
            *(query.iris.path(agent_path(agent)) for _, agent in named_agents(query.content)),
        }
        for key, of_object in self._parts(query).items():
            iri = daily.read_iri(day, user, daily.role_path(history.role_name, role), key, query.iris)
            thing, at = query.iris.object(key), query.start
            read = DailyRead(thing, history.role_name, runs_as, set(agents), query.facts.calls or 1, at, at, of_object)
            known = self._reads.setdefault(iri, read)
            if known is not read:
                known.add(read)
        if len(self._reads) > _FLUSH:
            yield from self.messages()

    def _parts(self, query: QueryContext) -> dict[str, list[DailyReadPart]]:
        """By object, the parts that a query has read."""
        enforced = dict(zip(query.content.policies, self._enforced(query), strict=True))
        by_key: dict[str, list[DailyReadPart]] = {}
        for alike, pattern in self._patterns(query):
            key, state = alike.object_key, query.answers.states.get(alike.object_key)
            versions = {query.iris.state(key, state)} if state is not None and alike.ways else set()
            rules = tuple(sorted({enforced[policy] for policy in alike.policies}))
            chain, at = query.answers.chains.get(key, 0), query.start
            count = query.facts.calls or 1
            part = DailyReadPart(None if pattern is None else pattern.iri, rules, chain, versions, count, at, at)
            by_key.setdefault(key, []).append(part)
        return by_key

    def _patterns(self, query: QueryContext) -> list[tuple[ReadGroup, Node | None]]:
        """The reads of a statement with their shared nodes, which are noted to be sent."""
        iris: Iris = query.iris
        recent = self._alike.setdefault(iris.account, Recent(CONTENTS))
        known = recent.get(query.content)
        if known is None:
            known = recent.keep(
                query.content, [(read, daily.access_pattern(read, iris)) for read in read_groups(query.content)]
            )
        for _, node in known:
            if node is not None:
                self._shared[node.iri] = node
        return known

    def _enforced(self, query: QueryContext) -> list[str]:
        nodes = daily.shared_enforcements(query) if query.content.policies else []
        self._shared.update({node.iri: node for node in nodes})
        return [node.iri for node in nodes]

    def note(self, query: QueryContext, settings: Iterable[Node]) -> None:
        """Note the patterns and shared settings of a query that writes, to be sent to the days."""
        self._shared.update({node.iri: node for node in settings})
        recent = self._written.setdefault(query.iris.account, Recent(CONTENTS))
        known = recent.get(query.content)
        if known is None:
            nodes = shared_patterns(query.content, query.iris)
            known = recent.keep(query.content, {node.iri: node for node in nodes})
        self._shared.update(known)

    def messages(self) -> Iterator[Message]:
        """All reads and shared nodes so far, sent to the days."""
        for iri, read in self._reads.items():
            yield Message(To.READ, "", b"", encode((iri, read)))
        for iri, node in sorted(self._shared.items()):
            yield Message(To.SHARED, "", b"", encode((iri, node.of.name, node.values)))
        self._reads, self._shared = {}, {}


def to_days(messages: Iterable[Message], _: ExportJob) -> Iterator[Message]:
    """Set the key of each message to its IRI again: messages stored beside outputs have no keys."""
    for message in messages:
        yield message._replace(key=decode(message.body)[0])


def daily_reads(messages: Iterable[Message], job: ExportJob) -> Iterator[Message]:
    """The nodes of the reads of a day, and the nodes that queries share."""
    node_writer = NodeWriter(job, daily_output)
    for (to, key), group in groupby(messages, by_receiver):
        if to == To.READ:
            _, read = _read(next(group).body)
            for message in group:
                read.add(_read(message.body)[1])
            nodes = list(daily.daily_read_nodes(key, read))
        else:
            nodes = [_node(*decode(next(group).body))]
        results = node_writer.checked(nodes)
        if refusal(results) is not None:
            node_writer.counts.numbers[REFUSED] += 1
        yield from node_writer.results(results)
        yield from node_writer.texts(nodes)
    yield node_writer.counts.message()


def _node(iri: str, name: str, values: dict[str, Any]) -> Node:
    node_class = _CLASSES[name]
    types = (
        setting_types(values["ah:property"][0], is_plain="ah:element" not in values)
        if node_class is SETTING
        else node_class.types
    )
    return Node(node_class, iri, types, {term: tuple(listed) for term, listed in values.items()})
