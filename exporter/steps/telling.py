"""Derive the facts and mentions of each query from its rows. Facts are sent to the address where the query is written,
mentions to the things. Attributes that need no order are merged for the whole partition before they are sent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from exporter.messages import (
    OBJECT,
    PARENT,
    PROFILE,
    QUERY,
    STATEMENT,
    WRITTEN,
    Message,
    by_key,
    encode,
    order,
    within,
)
from exporter.openlineage.fates import note
from exporter.queries.bounds import beyond
from exporter.queries.build import disagree, distinct, query_facts
from exporter.queries.facts import NO_HISTORY, History, QueryFacts
from exporter.queries.reads import only_reads
from exporter.recent import Recent
from exporter.rows.history import latest
from exporter.steps.carried import FACTS_OF, HEIR, MENTION, Known, Told
from exporter.steps.hearing import heard_by, held
from exporter.steps.homes import Addresses, asking, home, is_later, written_at
from exporter.steps.people import People
from exporter.steps.reading import aside, file_of, relatives
from exporter.steps.state import OPEN_DAY, day_of, later
from exporter.steps.tallies import Tally
from exporter.things.lives import Profile  # noqa: TC001 - msgspec reads it
from exporter.things.mentioned import said
from exporter.things.profiles import add

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from exporter.rows.row import Row
    from exporter.steps.hearing import Heard, Placed
    from exporter.steps.job import Job
    from exporter.steps.reading import Place

DISAGREE: Final = "the rows of this query id name different users"
_FLUSH: Final = 50_000
"""Most objects that are merged in memory before they are sent; few partitions have that many."""
_PREPARED: Final = 6_000
"""Contents whose mentions are cached, because statements recur."""


Prepared = list[tuple[str, bytes, bytes | None, bytes]]
_prepared: Final[Recent[Prepared]] = Recent(_PREPARED)
"""By content, shared by all partitions that a process works on."""


def tell(messages: Iterable[Message], job: Job) -> Iterator[Message]:
    """The facts and mentions of each query, and the merged attributes of the partition. Other messages pass through."""
    teller = _Teller(job)
    for to, query_id, group in by_key(messages):
        if to != QUERY:
            yield from group
            continue
        heard, lines = heard_by(group, job)
        history = latest(lines) if lines else NO_HISTORY
        teller.tally.count("history_doubled", max(len(lines) - 1, 0))
        for account, one in heard.items():
            yield from teller.query(account, query_id, one, history)
    yield from teller.sums()
    yield teller.tally.message()


def _to_parents(told: Told, address: str) -> Iterator[Message]:
    """The messages of a query to its parent and root, with the address to which they send their job names."""
    for row in told.rows:
        for role, relative in relatives(row):
            body = encode((role, written_at(address, told.account, row.query_id)))
            yield Message(PARENT, within(told.account, relative), order(HEIR, 0, row.query_id), body)


class _Teller:
    """Processes queries one after the other, and merges what is sent once for all of them."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._known: dict[tuple[str, str], Known] = {}
        self._profiles: dict[tuple[str, str], Profile] = {}
        self._learned: Recent[str] = Recent(_PREPARED)
        self._people = People()
        self._addresses = Addresses()
        self.tally = Tally()

    def query(self, account: str, query_id: str, heard: Heard, history: History) -> Iterator[Message]:
        """The messages of a query; only its quarantined rows if it is quarantined."""
        children = sorted(one for one in heard.children if one[1] not in heard.without)
        if not heard.rows:
            if heard.context:
                yield from self._context(Told(account, distinct(heard.context), history, 0, 0), children)
            elif children:
                yield Message(STATEMENT, within(account, query_id), b"", b"")
            return
        rows = [row for row, _, _ in heard.rows]
        each = distinct(rows) if len(rows) > 1 else rows
        new = list(self._new(heard.rows, each))
        self.tally.count("duplicates", sum(self._is_new(place) for _, place, _ in heard.rows) - len(new))
        if heard.reasons:
            if children:
                yield Message(STATEMENT, within(account, query_id), b"", b"")
            yield from self._aside(heard.rows, min(heard.reasons))
        elif len(each) > 1 and disagree(each):
            self.tally.count("held", 1)
            yield held(query_facts(account, each, history), DISAGREE)
        else:
            told = Told(account, each, history, len(new), self._job.run)
            yield from self._told(told, has_heirs=any(wants for _, _, wants in children))
            if children and self._is_by_day(told):
                yield Message(STATEMENT, within(account, query_id), b"", b"")

    def _context(self, told: Told, children: list[tuple[str, str, bool]]) -> Iterator[Message]:
        """A query of an earlier day, for which only its job name is needed, and a node if it has none."""
        if children and self._is_by_day(told):
            yield Message(STATEMENT, within(told.account, told.rows[0].query_id), b"", b"")
        if not self._job.events or not any(wants for _, _, wants in children):
            return
        facts = told.facts()
        parent = within(facts.account, facts.query_id)
        self.tally.count("parents", 1)
        yield Message(PARENT, parent, order(FACTS_OF), encode(told))
        for object_key in add(self._profiles, facts, self._learned):
            self._wants(facts.account, object_key, None, parent)

    def _is_by_day(self, told: Told) -> bool:
        """Whether a query has no node of its own in the graph."""
        return self._job.daily and only_reads(told.facts().content)

    def _is_new(self, place: Place) -> bool:
        return file_of(place[0])[1] == self._job.run

    def _new(self, came: list[Placed], each: list[Row]) -> Iterator[Placed]:
        """The distinct rows that came with this run; equal rows of earlier runs come first and are not
        counted again.
        """
        kept_rows = {id(row) for row in each}
        return (one for one in came if id(one[0]) in kept_rows and self._is_new(one[1]))

    def _aside(self, rows: list[Placed], reason: str) -> Iterator[Message]:
        """The distinct rows of a quarantined query, each with its first place."""
        in_order = sorted(rows, key=lambda one: one[1])
        each = {id(row) for row in distinct([row for row, _, _ in in_order])}
        self.tally.count("aside", len(each))
        for row, place, text in in_order:
            if id(row) in each:
                yield aside(place, reason, text)

    def _told(self, told: Told, *, has_heirs: bool) -> Iterator[Message]:
        facts = told.facts()
        too_much = beyond(facts.content)
        if too_much is not None:
            self.tally.count("held", 1)
            yield held(facts, too_much)
            return
        account, body, said = facts.account, encode(told), self._prepare(facts)
        ends_later = 0 < self._job.until <= facts.end and any(ended is not None for _, _, ended, _ in said)
        address = self._addresses.of(told.rows, day_of(facts.end) if ends_later and facts.end > facts.start else "")
        written = Message(WRITTEN, written_at(address, account, facts.query_id), order(FACTS_OF), body)
        if is_later(address, self._job.day):
            self.tally.named(f"{OPEN_DAY}{day_of(facts.end)}")
            written = later(written)
        yield written
        parent = within(account, facts.query_id) if has_heirs and self._job.events else None
        if parent is not None:
            self.tally.count("parents", 1)
            yield Message(PARENT, parent, order(FACTS_OF), body)
        if self._job.events:
            yield from _to_parents(told, address)
        self.tally.told(facts)
        self._people.hear(facts)
        at = home(address)
        for object_key in add(self._profiles, facts, self._learned):
            self._wants(account, object_key, at, parent)
        if self._job.events:
            note(self._profiles, facts)
        yield from self._mentions(facts, address, said)
        if len(self._profiles) > _FLUSH:
            yield from self._objects()

    def _wants(self, account: str, object_key: str, at: str | None, parent: str | None) -> None:
        known = self._known.get((account, object_key))
        if known is None:
            self._known[account, object_key] = known = Known(self._profiles[account, object_key], set(), set())
        if at is not None:
            known.homes.add(at)
        if parent is not None and not known.parents:
            known.parents.add(parent)

    def _mentions(self, facts: QueryFacts, address: str, said: Prepared) -> Iterator[Message]:
        asks = asking(facts.query_id, address)
        begins, ends = order(MENTION, facts.start, asks, 0), order(MENTION, facts.end, asks, 1)
        at_once = facts.end == facts.start
        for object_key, started, ended, both in said:
            key = within(facts.account, object_key)
            if ended is None or at_once:
                yield Message(OBJECT, key, begins, both)
            else:
                yield Message(OBJECT, key, begins, started)
                at_end = Message(OBJECT, key, ends, ended)
                yield later(at_end) if is_later(address, self._job.day) else at_end

    @staticmethod
    def _prepare(facts: QueryFacts) -> Prepared:
        """The mentions in the content of a query, encoded: at its start, at its end, and both in one message."""
        known = _prepared.get(facts.content)
        if known is not None:
            return known
        made = [
            (key, encode((started, None)), None if ended is None else encode((None, ended)), encode((started, ended)))
            for key, started, ended in said(facts)
        ]
        return _prepared.keep(facts.content, made)

    def _objects(self) -> Iterator[Message]:
        for (account, object_key), profile in self._profiles.items():
            known = self._known.get((account, object_key)) or Known(profile, set(), set())
            yield Message(PROFILE, within(account, object_key), b"", encode(known))
        self._known.clear()
        self._profiles.clear()
        self._learned = Recent(_PREPARED)

    def sums(self) -> Iterator[Message]:
        """The merged attributes of objects, and the users, agents and accounts of the partition."""
        yield from self._objects()
        yield from self._people.messages()
