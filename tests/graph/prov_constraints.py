"""The constraints of PROV-CONSTRAINTS by their numbers: whether a graph is a possible history.

A graph is valid if its statements can be merged (uniqueness, 22 to 29), if no cycle of events contains one that
strictly precedes another (ordering, 30 to 49), and if nothing impossible is stated (50 to 56). The Recommendation does
not compare times; here ``"times"`` also requires that what precedes has no later time.

Source: PROV-CONSTRAINTS (W3C Recommendation, 30 April 2013), section 6.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from datetime import datetime
from itertools import product
from typing import TYPE_CHECKING, Final

from tests.graph.cycles import strongly_connected
from tests.graph.prov_statements import Instance, Term, Unknown, instance, typed

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

Rule = int | str
RULES: Final[tuple[Rule, ...]] = (*range(22, 57), "times")
_RELATIONS: Final = (
    *("usage", "generation", "invalidation", "start", "end", "communication", "derivation"),
    *("attribution", "association", "delegation"),
)


@dataclass(frozen=True)
class Violation:
    """``rules``: the broken one, or all that a forbidden cycle goes through."""

    rules: frozenset[Rule]
    words: str


def violations(
    triples: Iterable[tuple[str, str, str]],
    ontology: Iterable[tuple[str, str, str]] = (),
    without: Collection[Rule] = (),
) -> list[Violation]:
    """What makes the graph invalid; none if it is valid. ``without``: rules to leave out."""
    said = instance(triples, ontology)
    merge = Merge(said, frozenset(without))
    order = Order(merge, frozenset(without))
    found = [*merge.conflicts, *_impossible(merge), *_typed(merge, said), *order.cycles(), *order.late()]
    return [one for one in found if not one.rules & set(without)]


# --- uniqueness -----------------------------------------------------------------------------------------------------


class Merge:
    """Terms that constraints 22 to 29 make one; a conflict where two of them are known and differ."""

    def __init__(self, said: Instance, without: frozenset[Rule]) -> None:
        self.conflicts: list[Violation] = []
        self._same: dict[Unknown, Term] = {}
        self._without = without
        self._said = said
        while self._merged():
            pass

    def term(self, one: Term) -> Term:
        while isinstance(one, Unknown) and one in self._same:
            one = self._same[one]
        return one

    def of(self, relation: str) -> list[list[Term]]:
        """The statements of a relation, each once."""
        merged = {tuple(self.term(one) for one in terms): None for terms in self._said.of(relation)}
        return [list(terms) for terms in merged]

    def _merged(self) -> bool:
        """One round over all keys; whether it made anything one."""
        before = len(self._same), len(self.conflicts)
        for relation in _RELATIONS:
            self._key(23, [([one[0]], one[1:]) for one in self.of(relation)])
        self._key(22, [([one[0]], one[1:]) for one in self.of("activity")])
        self._key(24, [([one[1], one[2]], one[:1]) for one in self.of("generation")])
        self._key(25, [([one[1], one[2]], one[:1]) for one in self.of("invalidation")])
        self._key(26, [([one[1], one[3]], one[:1]) for one in self.of("start")])
        self._key(27, [([one[1], one[3]], one[:1]) for one in self.of("end")])
        self._times(28, "start", 1)
        self._times(29, "end", 2)
        return before[0] != len(self._same) and before[1] == len(self.conflicts)

    def _key(self, rule: Rule, pairs: list[tuple[list[Term], list[Term]]]) -> None:
        """Equal keys have equal values."""
        first: dict[tuple[Term, ...], list[Term]] = {}
        for key, values in pairs if rule not in self._without else ():
            known = first.setdefault(tuple(key), values)
            for one, other in zip(known, values, strict=True):
                self._unite(rule, key, self.term(one), self.term(other))

    def _times(self, rule: Rule, relation: str, place: int) -> None:
        """The time that an activity is said to have, and that of its start or end."""
        stated = [([one[0]], [one[place]]) for one in self.of("activity")]
        activities = {key[0] for key, _ in stated}
        self._key(rule, stated + [([one[1]], one[4:]) for one in self.of(relation) if one[1] in activities])

    def _unite(self, rule: Rule, key: list[Term], one: Term, other: Term) -> None:
        if one == other:
            return
        if isinstance(one, Unknown):
            self._same[one] = other
        elif isinstance(other, Unknown):
            self._same[other] = one
        else:
            self.conflicts.append(Violation(frozenset({rule}), f"{rule}: {key} has both {one} and {other}"))


# --- impossibility and types ----------------------------------------------------------------------------------------


def _impossible(merge: Merge) -> Iterator[Violation]:
    yield from _derivations(merge)
    yield from _specializations(merge)
    yield from _overlaps(merge)
    empty = {collection for (collection,) in merge.of("empty")}
    for collection, _ in merge.of("membership"):
        if collection in empty:
            yield Violation(frozenset({56}), f"56: {collection} is empty and has a member")


def _overlaps(merge: Merge) -> Iterator[Violation]:
    """The Recommendation leaves derivations out of both rules."""
    used: dict[Term, set[str]] = defaultdict(set)
    for relation in _RELATIONS:
        for ident, *_ in merge.of(relation) if relation != "derivation" else ():
            if isinstance(ident, str):
                used[ident].add(relation)
    things = {one for kind in ("entity", "activity", "agent") for (one, *_) in merge.of(kind)}
    for ident, names in used.items():
        if len(names) > 1:
            yield Violation(frozenset({53}), f"53: {ident} is of several relations, {sorted(names)}")
        if ident in things:
            yield Violation(frozenset({54}), f"54: {ident} is a thing and a relation, {sorted(names)}")


def _typed(merge: Merge, said: Instance) -> Iterator[Violation]:
    """What is said to be an entity and an activity, or is used as both (50 gives types to the terms of relations)."""
    stated = {(merge.term(one), kind) for kind in ("entity", "activity") for (one, *_) in merge.of(kind)}
    given = stated | {(merge.term(one), kind) for one, kind in typed(said)}
    for term, kind in given:
        if kind == "entity" and (term, "activity") in given:
            both = {(term, "entity"), (term, "activity")} <= stated
            yield Violation(frozenset({55} if both else {50, 55}), f"55: {term} is an entity and an activity")


def _derivations(merge: Merge) -> Iterator[Violation]:
    for ident, _, _, activity, made, read in merge.of("derivation"):
        if activity is None and (made is not None or read is not None):
            yield Violation(frozenset({51}), f"51: {ident} has a generation or usage and no activity")


def _specializations(merge: Merge) -> Iterator[Violation]:
    """No cycle, for inference 19 makes one a thing that is special of itself."""
    general: dict[Term, set[Term]] = defaultdict(set)
    for one, other in merge.of("specialization"):
        general[one].add(other)
    for group in strongly_connected(general):
        if len(group) > 1 or group[0] in general.get(group[0], ()):
            yield Violation(frozenset({52}), f"52: {group[0]} is a specialization of itself")


# --- order ----------------------------------------------------------------------------------------------------------


@dataclass
class Edge:
    """Which rules say that one event precedes another, and which that it does so strictly."""

    rules: set[Rule] = field(default_factory=set)
    strict: set[Rule] = field(default_factory=set)


class Order:
    """Events (generations, usages, invalidations, starts and ends), and which of them precede which."""

    def __init__(self, merge: Merge, without: frozenset[Rule]) -> None:
        self._merge = merge
        self._without = without
        self.edges: dict[Term, dict[Term, Edge]] = defaultdict(dict)
        self._times: dict[Term, Term] = {}
        self._made = self._events("generation", 1)
        self._gone = self._events("invalidation", 1)
        self._read = self._events("usage", 2)
        self._starts = self._events("start", 1)
        self._ends = self._events("end", 1)
        self._within_activities()
        self._of_entities()
        self._of_relations()
        self._of_agents()

    def _events(self, relation: str, place: int) -> dict[Term, list[Term]]:
        """By the entity or activity that they happen to."""
        found: dict[Term, list[Term]] = defaultdict(list)
        for terms in self._merge.of(relation):
            found[terms[place]].append(terms[0])
            if isinstance(terms[-1], str):
                self._times[terms[0]] = terms[-1]
        return found

    def _precede(self, rule: Rule, earlier: Iterable[Term], later: Iterable[Term], *, strictly: bool = False) -> None:
        for one, other in product(earlier, later) if rule not in self._without else ():
            if one != other or strictly:
                edge = self.edges[one].setdefault(other, Edge())
                (edge.strict if strictly else edge.rules).add(rule)

    def _within_activities(self) -> None:
        for activity in {*self._starts, *self._ends}:
            self._precede(30, self._starts[activity], self._ends[activity])
            self._precede(31, self._starts[activity], self._starts[activity])
            self._precede(32, self._ends[activity], self._ends[activity])
        for rule, relation, place in ((33, "usage", 1), (34, "generation", 2)):
            for terms in self._merge.of(relation):
                self._precede(rule, self._starts[terms[place]], terms[:1])
                self._precede(rule, terms[:1], self._ends[terms[place]])
        for _, informed, informant in self._merge.of("communication"):
            self._precede(35, self._starts[informant], self._ends[informed])

    def _of_entities(self) -> None:
        for entity in {*self._made, *self._gone, *self._read}:
            self._precede(36, self._made[entity], self._gone[entity])
            self._precede(37, self._made[entity], self._read[entity])
            self._precede(38, self._read[entity], self._gone[entity])
            self._precede(39, self._made[entity], self._made[entity])
            self._precede(40, self._gone[entity], self._gone[entity])

    def _of_relations(self) -> None:
        for _, later, earlier, activity, made, read in self._merge.of("derivation"):
            if None not in (activity, made, read):
                self._precede(41, [read], [made])
            self._precede(42, self._made[earlier], self._made[later], strictly=True)
        for rule, relation in ((43, "start"), (44, "end")):
            for ident, _, trigger, *_ in self._merge.of(relation):
                self._precede(rule, self._made[trigger], [ident])
                self._precede(rule, [ident], self._gone[trigger])
        for special, general in self._merge.of("specialization"):
            self._precede(45, self._made[general], self._made[special])
            self._precede(46, self._gone[special], self._gone[general])

    def _of_agents(self) -> None:
        for _, activity, agent, _ in self._merge.of("association"):
            self._precede(47, self._starts[activity], self._gone[agent])
            self._precede(47, self._made[agent], self._ends[activity])
            self._precede(47, self._starts[activity], self._ends[agent])
            self._precede(47, self._starts[agent], self._ends[activity])
        for _, entity, agent in self._merge.of("attribution"):
            self._precede(48, self._made[agent], self._made[entity])
            self._precede(48, self._starts[agent], self._made[entity])
        for _, lower, upper, _ in self._merge.of("delegation"):
            self._precede(49, self._made[upper], self._gone[lower])
            self._precede(49, self._starts[upper], self._ends[lower])

    def cycles(self) -> Iterator[Violation]:
        """A group of events that all precede one another, and one of them strictly."""
        for group in strongly_connected(self.edges):
            inside = set(group)
            edges = [edge for one in group for other, edge in self.edges.get(one, {}).items() if other in inside]
            strict = {rule for edge in edges for rule in edge.strict}
            if strict:
                rules = strict | {rule for edge in edges for rule in edge.rules}
                words = (
                    f"{sorted(map(str, rules))}: a cycle of {len(group)} events, such as {sorted(map(str, group))[:4]}"
                )
                yield Violation(frozenset(rules), words)

    def late(self) -> Iterator[Violation]:
        """An event that precedes, or is at one with, an event of an earlier time."""
        latest: dict[Term, tuple[datetime, Term]] = {}
        for group in reversed(strongly_connected(self.edges)):
            own = [(datetime.fromisoformat(str(self._times[one])), one) for one in group if one in self._times]
            every = [*own, *(latest[one] for one in group if one in latest)]
            last = max(every, key=_time) if every else None
            first = min(own, key=_time) if own else None
            if first and last and last[0] > first[0]:
                words = f"times: {last[1]} at {last[0]} precedes {first[1]} at {first[0]}"
                yield Violation(frozenset({"times"}), words)
            for other in {other for one in group for other in self.edges.get(one, {})} if last else ():
                latest[other] = max(last, latest.get(other, last), key=_time)


def _time(event: tuple[datetime, Term]) -> datetime:
    return event[0]
