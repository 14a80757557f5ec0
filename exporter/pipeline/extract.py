"""What a query says: its facts, and messages to the objects and people that it names.

A query receives its rows, its lines of QUERY_HISTORY, its children, and whether it is quarantined. Its facts are sent
to the address where the query is written, its uses of objects to the objects. Attributes that need no order are merged
for the whole partition before they are sent; users, software agents, accounts and organizations are sent once for each
partition.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Final

import msgspec

from exporter.graph.nodes.agents import account_description, agent_path, named_agents, organizations
from exporter.input.query_history import History, joined
from exporter.input.reading import read_line
from exporter.input.row import Row
from exporter.model.accesses import only_reads
from exporter.model.clones import ENDS, RESTORES, remade
from exporter.model.effects import uses_in_time
from exporter.model.facts import QueryFacts, too_large
from exporter.model.incomplete import is_account_cut
from exporter.model.object_state import Profile
from exporter.model.profiles import add, attributes_of
from exporter.model.query import (
    account_of,
    contradict_each_other,
    contradicting_values,
    duplicate_groups,
    query_facts,
    representative,
    without_duplicates,
)
from exporter.openlineage import helpers
from exporter.openlineage.datasets import note_changes
from exporter.openlineage.events import parent_id, root_id
from exporter.pipeline.job import ExportJob
from exporter.pipeline.messages import (
    AT_RANK,
    Addresses,
    Known,
    Message,
    ObjectRank,
    ParentRank,
    QueryRank,
    QueryRecord,
    To,
    WrittenRank,
    account_key,
    bucket,
    by_receiver,
    decode,
    encode,
    is_later,
    join_requester,
    order,
    query_key,
)
from exporter.pipeline.outcome import Counts
from exporter.pipeline.read import (
    AS_PARENT,
    AS_ROOT,
    Place,
    file_of,
    quarantined_row,
)
from exporter.pipeline.updates import OPEN_DAY, day_of, now_or_later
from exporter.system.cache import CONTENTS, Recent

Placed = tuple[Row, Place, str]
"""A row, its place, and its text."""
Child = tuple[str, str, bool]
"""A query that names another one: as which relative it does so, its id, and whether its event needs that one's job."""
CONTRADICTED: Final = "contradicted "
"""Before the name of a column, in what is not understood."""
_ENDS_OR_RESTORES: Final = frozenset({*ENDS, RESTORES})
NOW_REFUSED, NOT_REFUSED = "now_refused", "not_refused"
"""Names of counts, of queries of earlier runs in an update with other shapes: that were exported, and that the shapes
refuse now; that other shapes refused, and that are exported now.
"""
STARTED: Final = "started "
"""Prefix of a count: the earlier days of an update on which quarantined queries started."""
_row: Final = msgspec.msgpack.Decoder(tuple[Place, str]).decode
_history: Final = msgspec.msgpack.Decoder(History).decode


class QueryMessages:
    """The messages of a query, sorted by kind. ``context``: rows of another day. ``quarantined``: children that
    are. ``reasons``: why the query itself is quarantined. ``job_name``: of its job, if another day made it.
    ``was_refused``: whether other shapes refused the query before.
    """

    def __init__(self) -> None:
        self.rows: list[Placed] = []
        self.context: list[Row] = []
        self.children: set[Child] = set()
        self.quarantined: set[str] = set()
        self.reasons: list[str] = []
        self.job_name: str | None = None
        self.was_refused = False


def messages_of_queries(group: Iterator[Message], job: ExportJob) -> tuple[dict[str, QueryMessages], list[History]]:
    """By account, the messages of a query; and its lines of QUERY_HISTORY."""
    by_account: dict[str, QueryMessages] = {}
    lines: list[History] = []
    for message in group:
        rank = message.order[0]
        if rank in {QueryRank.ROW, QueryRank.CONTEXT}:
            place, text = _row(message.body)
            row = read_line(text)
            assert isinstance(row, Row), "a row that was read before"
            query_messages = by_account.setdefault(account_of(row, job.account), QueryMessages())
            if rank == QueryRank.ROW:
                query_messages.rows.append((row, place, text))
            else:
                query_messages.context.append(row)
        elif rank == QueryRank.LINE:
            lines.append(_history(message.body))
        elif rank == QueryRank.CHILD:
            account, child, role, wants_name = decode(message.body)
            by_account.setdefault(account, QueryMessages()).children.add((role, child, wants_name))
        elif rank == QueryRank.QUARANTINED:
            account, child, reason = decode(message.body)
            query_messages = by_account.setdefault(account, QueryMessages())
            if reason is None:
                query_messages.quarantined.add(child)
            else:
                query_messages.reasons.append(reason)
        elif rank == QueryRank.JOB:
            account, name = decode(message.body)
            by_account.setdefault(account, QueryMessages()).job_name = name
        elif rank == QueryRank.REFUSED:
            by_account.setdefault(decode(message.body), QueryMessages()).was_refused = True
    return by_account, lines


def exclude_quarantined(messages: Iterable[Message], _: ExportJob) -> Iterator[Message]:
    """Quarantined queries -> messages to them, their parents and roots for the repeated round."""
    for message in messages:
        if message.to == To.QUARANTINED:
            account, query_id, relatives, reason, _ = decode(message.body)
            yield Message(To.QUERY, query_id, AT_RANK[QueryRank.QUARANTINED], encode((account, query_id, reason)))
            for relative in relatives:
                yield Message(To.QUERY, relative, AT_RANK[QueryRank.QUARANTINED], encode((account, query_id, None)))


def count_start(counts: Counts, day: str, job: ExportJob) -> None:
    """Name the day on which a quarantined query started, if an update refuses it on a later one, on which it ends."""
    if day < job.day:
        counts.named(f"{STARTED}{day}")


def quarantine_query(facts: QueryFacts, reason: str) -> Message:
    """The message that quarantines a query. The rounds are then repeated without it, so it is in neither output."""
    relatives = [text for text in (facts.parent_query_id, facts.root_query_id) if text is not None]
    body = facts.account, facts.query_id, relatives, reason, day_of(facts.start)
    return Message(To.QUARANTINED, account_key(facts.account, facts.query_id), b"", encode(body))


class People:
    """The users, agents, accounts and organizations in one partition."""

    def __init__(self) -> None:
        self._messages: set[Message] = set()
        self._known: set[tuple[str | None, ...]] = set()

    def add(self, facts: QueryFacts) -> None:
        """Add those of a query. Most are known from earlier queries, so they are looked up first."""
        is_cut = "cut" if is_account_cut(facts.content) else None
        who = facts.account, facts.user_name, facts.organization_name, facts.account_locator, is_cut
        if who not in self._known or facts.content.agents:
            self._known.add(who)
            self._messages.update(people(facts))

    def messages(self) -> Iterator[Message]:
        """The messages to each of them, sorted."""
        yield from sorted(self._messages)


def people(facts: QueryFacts) -> list[Message]:
    """The messages of a query to its user, agents, account and organizations."""
    agents = [agent for _, agent in named_agents(facts.content)]
    return [
        Message(To.USER, account_key(facts.account, facts.user_name), b"", b""),
        *[Message(To.AGENT, account_key(facts.account, agent_path(agent)), b"", encode(agent)) for agent in agents],
        Message(To.ACCOUNT, facts.account, b"", encode(account_description(facts))),
        *[Message(To.ORGANIZATION, name, b"", b"") for name in organizations(facts)],
    ]


DISAGREE: Final = "the rows of this query id name different users"
CALLS_DISAGREE: Final = (
    "rows of the same interval, user, parameterized query and objects give different numbers of calls; keep the right "
    "one, which is usually the one that was read last"
)
_FLUSH: Final = 50_000
"""Most objects that are merged in memory before they are sent; few partitions have that many."""

Prepared = list[tuple[str, bytes, bytes | None, bytes]]
_prepared: Final[Recent[Prepared]] = Recent(CONTENTS)
"""By content, shared by all partitions that a process works on."""


def extract(messages: Iterable[Message], job: ExportJob) -> Iterator[Message]:
    """The facts and uses of each query, and the merged attributes of the partition. Other messages pass through."""
    extractor = _Extractor(job)
    for (to, query_id), group in groupby(messages, by_receiver):
        if to != To.QUERY:
            yield from group
            continue
        by_account, lines = messages_of_queries(group, job)
        extractor.counts.numbers["history_doubled"] += max(len(lines) - 1, 0)
        for account, query_messages in by_account.items():
            rows = query_messages.context + [row for row, _, _ in query_messages.rows]
            history, contradicting = joined(lines, {row.start for row in rows})
            extractor.counts.numbers["history_contradicting"] += contradicting if query_messages.rows else 0
            yield from extractor.query(account, query_id, query_messages, history)
    yield from extractor.sums()
    yield extractor.counts.message()


def _to_parents(facts: QueryFacts, address: str) -> Iterator[Message]:
    """The messages of a query to its parent and root, with the address to which they send their job names. Rows of one
    query can name several parents: only the one that the query is exported with gives it a name.
    """
    for role, relative in ((AS_PARENT, parent_id(facts)), (AS_ROOT, root_id(facts))):
        if relative is not None:
            body = encode((role, query_key(address, facts.account, facts.query_id)))
            yield Message(
                To.PARENT, account_key(facts.account, relative), order(ParentRank.CHILD, 0, facts.query_id), body
            )


def _why_quarantined(facts: QueryFacts, distinct_rows: list[Row]) -> str | None:
    """Why a query is quarantined because of its rows alone; None if it is not."""
    if contradict_each_other(distinct_rows):
        return DISAGREE if distinct_rows[0].calls is None else CALLS_DISAGREE
    return too_large(facts.content)


def _of_context(account: str, rows: list[Row], history: History) -> QueryFacts | None:
    """The facts of a query of another day; None if it has no rows there, or is quarantined because of them alone."""
    if not rows or contradict_each_other(rows):
        return None
    facts = query_facts(account, rows, history)
    return None if too_large(facts.content) else facts


class _Extractor:
    """Processes queries one after the other, and merges what is sent once for all of them."""

    def __init__(self, job: ExportJob) -> None:
        self._job = job
        self._known: dict[tuple[str, str], Known] = {}
        self._profiles: dict[tuple[str, str], Profile] = {}
        self._learned: Recent[str] = Recent(CONTENTS)
        self._people = People()
        self._addresses = Addresses(job.partitions)
        self.counts = Counts()

    def query(self, account: str, query_id: str, query_messages: QueryMessages, history: History) -> Iterator[Message]:
        """The messages of a query; only its quarantined rows if it is quarantined."""
        children = sorted(child for child in query_messages.children if child[1] not in query_messages.quarantined)
        needs_node = bool(children)
        if not query_messages.rows:
            context = [] if query_messages.reasons else without_duplicates(query_messages.context)
            facts = _of_context(account, context, history)
            if facts is not None:
                yield from self._context(facts, children, query_messages.job_name)
                needs_node = needs_node and self._is_by_day(facts)
        else:
            distinct_rows, new = self._distinct_rows(query_messages.rows)
            if query_messages.reasons:
                self.counts.numbers[NOW_REFUSED] += self._is_refused_now(account, query_messages, history)
                yield from self._quarantine_rows(query_messages.rows, min(query_messages.reasons))
            else:
                facts = query_facts(account, distinct_rows, history)
                reason = _why_quarantined(facts, distinct_rows)
                if reason is not None:
                    self.counts.numbers["quarantined_queries"] += 1
                    yield quarantine_query(facts, reason)
                    return
                self.counts.numbers[NOT_REFUSED] += query_messages.was_refused
                if len(distinct_rows) > 1:
                    yield from self._contradictions(query_messages.rows, distinct_rows)
                yield from self._of_query(facts, new, distinct_rows[0].content, query_messages.job_name, children)
                needs_node = needs_node and self._is_by_day(facts)
        if needs_node:
            yield Message(To.UNRECORDED_QUERY, account_key(account, query_id), b"", b"")

    def _is_refused_now(self, account: str, query_messages: QueryMessages, history: History) -> bool:
        """Whether a quarantined query is one of an earlier run that the shapes refuse now, and did not before."""
        placed = query_messages.rows
        if query_messages.was_refused or all(file_of(place[0])[1] == self._job.run for _, place, _ in placed):
            return False
        rows = without_duplicates([row for row, _, _ in placed])
        return _why_quarantined(query_facts(account, rows, history), rows) is None

    def _distinct_rows(self, placed: list[Placed]) -> tuple[list[Row], int]:
        """The rows of a query, each once, and how many of them came with this run. Counts the others."""
        if len(placed) == 1:  # nearly all queries
            return [placed[0][0]], int(file_of(placed[0][1][0])[1] == self._job.run)
        rows = [row for row, _, _ in placed]
        groups = duplicate_groups(rows)
        of_earlier_runs = {id(row) for row, place, _ in placed if file_of(place[0])[1] != self._job.run}
        new = sum(of_earlier_runs.isdisjoint(map(id, group)) for group in groups)
        duplicates = len(rows) - len(of_earlier_runs) - new
        self.counts.numbers["duplicates"] += duplicates
        self.counts.numbers["aggregate_duplicates"] += duplicates * (rows[0].calls is not None)
        return [representative(group) for group in groups], new

    def _context(self, facts: QueryFacts, children: list[Child], job_name: str | None) -> Iterator[Message]:
        """A query of another day, of which only the name of its job is needed. ``job_name``: if that day knows it."""
        if self._job.events and any(wants_name for _, _, wants_name in children):
            parent = account_key(facts.account, facts.query_id)
            yield self._parent(parent, encode(QueryRecord.of(facts, 0, 0)), job_name)
            for object_key in add(self._profiles, facts, self._learned):
                self._needs_dataset(facts.account, object_key, None, parent)

    def _parent(self, key: str, encoded: bytes, job_name: str | None) -> Message:
        """The facts from which a parent's job is named; its name, if another day of an update made it."""
        self.counts.numbers["parents"] += 1
        return (
            Message(To.PARENT, key, AT_RANK[ParentRank.FACTS], encoded)
            if job_name is None
            else Message(To.PARENT, key, AT_RANK[ParentRank.JOB], encode(job_name))
        )

    def _is_by_day(self, facts: QueryFacts) -> bool:
        """Whether a query has no node of its own in the graph."""
        return self._job.daily and only_reads(facts.content)

    def _quarantine_rows(self, rows: list[Placed], reason: str) -> Iterator[Message]:
        """The distinct rows of a quarantined query, each with its first place."""
        in_order = sorted(rows, key=lambda placed: placed[1])
        distinct_ids = {id(row) for row in without_duplicates([row for row, _, _ in in_order])}
        self.counts.numbers["rows_of_quarantined"] += len(distinct_ids)
        for row, place, text in in_order:
            if id(row) in distinct_ids:
                yield quarantined_row(place, reason, text, is_aggregate=row.calls is not None)

    def _contradictions(self, rows: list[Placed], distinct_rows: list[Row]) -> Iterator[Message]:
        """Count the rows of this run of a query whose rows contradict each other, by column."""
        names = {name for values in contradicting_values(distinct_rows) for name in values}
        distinct_ids = {id(row) for row in distinct_rows}
        for row, (file, block, number, unit), _ in rows if names else ():
            if id(row) in distinct_ids and file_of(file)[1] == self._job.run:
                entries = [(f"{CONTRADICTED}{name}", 1, (f"{block:020}", number, unit)) for name in sorted(names)]
                self.counts.numbers["not_understood"] += len(entries)
                yield Message(To.UNKNOWN, file, order(2), encode(entries))

    def _of_query(
        self, facts: QueryFacts, new: int, content: bytes, job_name: str | None, children: list[Child]
    ) -> Iterator[Message]:
        """The messages of a query. ``new``: how many of its rows came with this run; ``content``: that of its first
        row; ``job_name``: the name of its job, if another day knows it.
        """
        uses = self._prepare(facts)
        address = self._address(facts, content, uses)
        if is_later(address, self._job.day):
            self.counts.named(f"{OPEN_DAY}{day_of(facts.end)}")
        record = encode(QueryRecord.of(facts, new, self._job.run))
        written = query_key(address, facts.account, facts.query_id)
        message = Message(To.WRITTEN, written, AT_RANK[WrittenRank.FACTS], record)
        yield now_or_later(message, address, self._job.day)
        parent = None
        if self._job.events:
            if any(wants_name for _, _, wants_name in children):
                parent = account_key(facts.account, facts.query_id)
                yield self._parent(parent, record, job_name)
            yield from _to_parents(facts, address)
        self._count(facts)
        self._people.add(facts)
        self._add_profiles(facts, bucket(address), parent)
        yield from self._uses(facts, address, uses)
        if len(self._profiles) > _FLUSH:
            yield from self._objects()

    def _address(self, facts: QueryFacts, content: bytes, uses: Prepared) -> str:
        """Where a query is written: at an address of the day on which it ends, if an object answers only then."""
        ends_later = 0 < self._job.day_end <= facts.end and any(ended is not None for _, _, ended, _ in uses)
        return self._addresses.of(content, day_of(facts.end) if ends_later and facts.end > facts.start else "")

    def _count(self, facts: QueryFacts) -> None:
        self.counts.note_query(facts)
        for _, event in remade(facts.content):
            self.counts.numbers["clones"] += bool(event.source)
            self.counts.numbers["ends"] += event.operation in _ENDS_OR_RESTORES

    def _add_profiles(self, facts: QueryFacts, to_bucket: str, parent: str | None) -> None:
        """Merge what a query knows of objects, and note which bucket and parent need their datasets."""
        for object_key in add(self._profiles, facts, self._learned):
            self._needs_dataset(facts.account, object_key, to_bucket, parent)
        if self._job.events:
            note_changes(self._profiles, facts)
        helpers.note_signs(self._profiles, facts, self._job.openlineage)

    def _needs_dataset(self, account: str, object_key: str, to_bucket: str | None, parent: str | None) -> None:
        known = self._known.get((account, object_key))
        if known is None:
            self._known[account, object_key] = known = Known(self._profiles[account, object_key], set(), set())
        if to_bucket is not None:
            known.buckets.add(to_bucket)
        if parent is not None and not known.parents:
            known.parents.add(parent)

    def _uses(self, facts: QueryFacts, address: str, uses: Prepared) -> Iterator[Message]:
        asks, end = join_requester(facts.query_id, address), facts.end
        begins, ends = order(ObjectRank.USE, facts.start, asks, 0), order(ObjectRank.USE, end, asks, 1)
        at_once = end == facts.start
        for object_key, started, ended, both in uses:
            key = account_key(facts.account, object_key)
            if ended is None or at_once:
                yield Message(To.OBJECT, key, begins, both)
            else:
                yield Message(To.OBJECT, key, begins, started)
                at_end = Message(To.OBJECT, key, ends, ended)
                yield now_or_later(at_end, address, self._job.day)

    @staticmethod
    def _prepare(facts: QueryFacts) -> Prepared:
        """The uses in the content of a query, encoded: at its start, at its end, and both in one message."""
        known = _prepared.get(facts.content)
        if known is not None:
            return known
        names = attributes_of(facts.content).names
        uses = [
            (key, encode((started, None)), None if ended is None else encode((None, ended)), encode((started, ended)))
            for key, started, ended in uses_in_time(facts.content, names)
        ]
        return _prepared.keep(facts.content, uses, sum(len(both) for _, _, _, both in uses))

    def _objects(self) -> Iterator[Message]:
        for (account, object_key), profile in self._profiles.items():
            known = self._known.get((account, object_key)) or Known(profile, set(), set())
            yield Message(To.PROFILE, account_key(account, object_key), b"", encode(known))
        self._known.clear()
        self._profiles.clear()
        self._learned = Recent(CONTENTS)

    def sums(self) -> Iterator[Message]:
        """The merged attributes of objects, and the users, agents and accounts of the partition."""
        yield from self._objects()
        yield from self._people.messages()
