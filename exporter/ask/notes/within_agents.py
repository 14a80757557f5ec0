"""Notes on what ran within queries of agents, such as a CALL: its parent and root alone tell of the agent."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from typing import Final

from exporter.ask.answers import first_of
from exporter.ask.lookups import Lookups
from exporter.ask.notes.asked import MOST, Asked, queries_in_words
from exporter.ask.notes.left_out import BY_DAY, is_by_day
from exporter.ask.triples import in_utc
from exporter.model.identifiers import match_name

_SHOWN: Final = 3
_WITHIN: Final = ("dcterms:isPartOf", "ah:rootQuery")
"""From a query to its parent and its root."""
_WHO: Final = "prov:wasAssociatedWith"
_LOOKED_AT: Final = 100_000
_DONE: Final = ("ah:hasChange", "ah:madeVersion")
_LONGEST: Final = timedelta(days=2)
"""A statement whose end is not known may run as long: Snowflake's default (STATEMENT_TIMEOUT_IN_SECONDS)."""


def within_queries_of_agents(asked: Asked) -> Iterator[str]:
    """Notes on statements that read something within the query of an agent, such as what its CALL ran, and whose own
    rows name no agent; of reads by day, on the CALLs that may have run some.
    """
    graph, wanted = asked.graph, wanted_agents(asked)
    agents = set(graph.of_class("ah:SoftwareAgent"))
    own = {query for agent in wanted for query in graph.at_most(graph.subjects(_WHO, agent), MOST)}
    within = _ran_by(graph, own, agents)
    reading = {query for query in within if any(graph.accesses_of(query)) and _is_asked_for(asked, query)}
    if reading:
        yield (
            "Within queries of agents, such as a CALL, others ran whose own rows name no agent: "
            f"{queries_in_words(graph, reading)}. The answer lacks what they read; {_listed_by(graph, reading)} lists "
            "them."
        )
    if not is_by_day(graph):
        return
    if calls := {query for query in own | within if _may_run_others(asked, query)}:
        yield (
            f"{BY_DAY} what ran within a CALL, block or request of an agent, only read something, and does not name "
            f"the agent itself, is not in the answer: {queries_in_words(graph, calls)}. A graph of --reads full tells."
        )
    if perhaps := {query for query in _perhaps_within(graph, wanted, agents) if _is_asked_for(asked, query)} - within:
        yield (
            f"{BY_DAY} within queries that are not in it, and may be of an agent, others ran: "
            f"{queries_in_words(graph, perhaps)}. A graph of --reads full tells."
        )


def _perhaps_within(graph: Lookups, wanted: set[str], agents: set[str]) -> Iterator[str]:
    """What ran within a query that is not in a graph with reads by day, read something and names no agent: of a user
    for whom these agents read something at the time.
    """
    times = defaultdict[str, list[tuple[datetime, datetime]]](list)
    for reads in {reads for agent in wanted for reads in graph.at_most(graph.subjects(_WHO, agent), _LOOKED_AT)}:
        starts = graph.starts_of(reads) if graph.text(reads, "ah:queryId") is None else []
        for user in graph.objects(reads, _WHO) if starts else ():
            times[user].append((min(starts), max(starts) + _LONGEST))
    for user in times.keys() - agents:
        for query in graph.at_most(graph.subjects(_WHO, user), _LOOKED_AT):
            outer = {outer_query for relation in _WITHIN for outer_query in graph.objects(query, relation)}
            if any(graph.text(outer_query, "prov:startedAtTime") is None for outer_query in outer) and any(
                graph.accesses_of(query)
            ):
                starts, who = graph.starts_of(query), set(graph.objects(query, _WHO))
                if agents.isdisjoint(who) and any(
                    first <= start <= last for first, last in times[user] for start in starts
                ):
                    yield query


def wanted_agents(asked: Asked) -> set[str]:
    """The agents that are asked for."""
    graph, names = asked.graph, asked.match_names("agent_name")
    agents = graph.of_class("ah:SoftwareAgent")
    return {
        agent for agent in agents if not names or names & set(map(match_name, graph.objects(agent, "ah:agentName")))
    }


def _ran_by(graph: Lookups, own: Iterable[str], agents: set[str]) -> set[str]:
    """What ran within queries of agents, and within that, and names no agent."""
    todo, within = list(own), set[str]()
    while todo and len(within) < MOST:
        outer = todo.pop()
        inner = (query for relation in _WITHIN for query in graph.subjects(relation, outer))
        of_none = {query for query in inner if agents.isdisjoint(graph.objects(query, _WHO))}
        todo += of_none - within
        within |= of_none
    return within


def _is_asked_for(asked: Asked, query: str) -> bool:
    times = [in_utc(time) for time in asked.graph.objects(query, "prov:startedAtTime")]
    return not times or asked.has(*times)


def _listed_by(graph: Lookups, queries: Iterable[str]) -> str:
    """The question that lists queries, and what to ask it with: their parents. What has a root alone has none."""
    parents = {parent for query in queries for parent in graph.objects(query, "dcterms:isPartOf")}
    ids = sorted({ident for parent in parents for ident in graph.objects(parent, "ah:queryId")})
    return f"statements-of-request with query_id={first_of(ids, _SHOWN)}" if ids else "ancestors"


def _may_run_others(asked: Asked, query: str) -> bool:
    """Whether a query called a procedure, or its row says nothing of it, as of a block or a request of several
    statements: it may have run others in the time that is asked for.
    """
    graph = asked.graph
    accesses = list(graph.accesses_of(query))
    called = (thing for access in accesses for thing in graph.objects(access, "ah:accessedObject"))
    says_nothing = not accesses and not any(any(graph.objects(query, term)) for term in _DONE)
    may_run = says_nothing or any(graph.is_of_kind(thing, "Procedure") for thing in called)
    if not may_run or graph.text(query, "ah:queryId") is None:
        return False
    starts, ends = (
        [in_utc(time) for time in graph.objects(query, term)] for term in ("prov:startedAtTime", "prov:endedAtTime")
    )
    return not starts or asked.has(*starts, *(ends or [max(starts) + _LONGEST]))
