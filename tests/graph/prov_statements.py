"""A graph of PROV-O -> its statements of PROV-DM, with those that PROV-CONSTRAINTS adds by definition and inference
(sections 5.1 to 5.4). What is not stated, such as the start of an activity, is an unknown value.

Source: PROV-CONSTRAINTS (W3C Recommendation, 30 April 2013); the names of PROV-O.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from itertools import product
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

PROV: Final = "http://www.w3.org/ns/prov#"
_RDF_TYPE: Final = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
_RDFS: Final = "http://www.w3.org/2000/01/rdf-schema#"
_BELOW: Final = {
    "Entity": ("Plan", "Collection", "EmptyCollection", "Bundle"),
    "Agent": ("SoftwareAgent", "Person", "Organization"),
    "Collection": ("EmptyCollection",),
}


class Unknown:
    """An existential variable: something that there is, and that no statement names."""


Term = str | Unknown | None
"""None is PROV-N's ``-``: not unknown, but not there."""


@dataclass
class Statement:
    """``relation(terms)``; the first term is the identifier."""

    relation: str
    terms: list[Term]


@dataclass
class Instance:
    """The statements of one graph."""

    statements: list[Statement] = field(default_factory=list)

    def say(self, relation: str, *terms: Term) -> None:
        self.statements.append(Statement(relation, list(terms)))

    def of(self, relation: str) -> list[list[Term]]:
        return [one.terms for one in self.statements if one.relation == relation]


_SIMPLE: Final = {
    "used": "usage",
    "wasGeneratedBy": "generation",
    "wasInvalidatedBy": "invalidation",
    "wasStartedBy": "start",
    "wasEndedBy": "end",
    "wasInformedBy": "communication",
    "wasDerivedFrom": "derivation",
    "wasAttributedTo": "attribution",
    "wasAssociatedWith": "association",
    "actedOnBehalfOf": "delegation",
}
_QUALIFIED: Final = {
    "usage": ("qualifiedUsage", "entity"),
    "generation": ("qualifiedGeneration", "activity"),
    "invalidation": ("qualifiedInvalidation", "activity"),
    "start": ("qualifiedStart", "entity"),
    "end": ("qualifiedEnd", "entity"),
    "communication": ("qualifiedCommunication", "activity"),
    "derivation": ("qualifiedDerivation", "entity"),
    "attribution": ("qualifiedAttribution", "agent"),
    "association": ("qualifiedAssociation", "agent"),
    "delegation": ("qualifiedDelegation", "agent"),
}
_TIMED: Final = {"usage", "generation", "invalidation", "start", "end"}
_MORE: Final = {
    "start": ("hadActivity",),
    "end": ("hadActivity",),
    "derivation": ("hadActivity", "hadGeneration", "hadUsage"),
    "association": ("hadPlan",),
    "delegation": ("hadActivity",),
}


def instance(triples: Iterable[tuple[str, str, str]], ontology: Iterable[tuple[str, str, str]] = ()) -> Instance:
    """The statements of a graph, and what follows from them; terms are strings (those of rdflib are).

    ``ontology``: whose ``rdfs:subPropertyOf`` and ``rdfs:subClassOf`` lead from other terms to those of PROV.
    """
    graph = _in_terms_of_prov(triples, _above(ontology))
    found = Instance()
    for subject, of_subject in graph.items():
        _things(found, subject, of_subject)
        for name, relation in _SIMPLE.items():
            _relations(found, graph, subject, name, relation)
    _infer(found)
    return found


def _above(ontology: Iterable[tuple[str, str, str]]) -> Mapping[str, set[str]]:
    """From each term to all terms of PROV above it."""
    direct: dict[str, set[str]] = defaultdict(set)
    for subject, predicate, value in ontology:
        if str(predicate) in (f"{_RDFS}subPropertyOf", f"{_RDFS}subClassOf"):
            direct[str(subject)].add(str(value))
    for upper, lowers in _BELOW.items():
        for lower in lowers:
            direct[PROV + lower].add(PROV + upper)
    return {term: {one for one in _reach(direct, term) if one.startswith(PROV)} for term in list(direct)}


def _reach(direct: Mapping[str, set[str]], start: str) -> set[str]:
    reached, waiting = set[str](), [start]
    while waiting:
        for one in direct.get(waiting.pop(), set()) - reached:
            reached.add(one)
            waiting.append(one)
    return reached


def _in_terms_of_prov(
    triples: Iterable[tuple[str, str, str]], above: Mapping[str, set[str]]
) -> Mapping[str, Mapping[str, set[str]]]:
    """Subject -> term of PROV without its namespace -> values; classes are the values of ``type``."""
    graph: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for subject, predicate, value in triples:
        if str(predicate) == _RDF_TYPE:
            classes = {str(value), *above.get(str(value), ())}
            graph[str(subject)]["type"] |= {one.removeprefix(PROV) for one in classes if one.startswith(PROV)}
            continue
        for term in {str(predicate), *above.get(str(predicate), ())}:
            if term.startswith(PROV):
                graph[str(subject)][term.removeprefix(PROV)].add(str(value))
    return graph


def _things(found: Instance, subject: str, said: Mapping[str, set[str]]) -> None:
    for kind in ("Entity", "Agent"):
        if kind in said.get("type", ()):
            found.say(kind.lower(), subject)
    if "Activity" in said.get("type", ()) or "startedAtTime" in said or "endedAtTime" in said:
        for start, end in product(said.get("startedAtTime") or [Unknown()], said.get("endedAtTime") or [Unknown()]):
            found.say("activity", subject, start, end)
    for general in said.get("specializationOf", ()):
        found.say("specialization", subject, general)
    for member in said.get("hadMember", ()):
        found.say("membership", subject, member)
    if "EmptyCollection" in said.get("type", ()):
        found.say("empty", subject)


def _relations(
    found: Instance, graph: Mapping[str, Mapping[str, set[str]]], subject: str, name: str, relation: str
) -> None:
    """The qualified statements of a subject, and the plain ones that no qualified one repeats."""
    said = graph[subject]
    qualified, end = _QUALIFIED[relation]
    covered = set[str]()
    for node in said.get(qualified, ()):
        of_node = graph.get(node, {})
        ends = of_node.get(end) or [Unknown()]
        covered |= set(of_node.get(end, ()))
        more = [of_node.get(role) or [_missing(relation, role, of_node)] for role in _MORE.get(relation, ())]
        times = [of_node.get("atTime") or [Unknown()]] if relation in _TIMED else []
        for terms in product(ends, *more, *times):
            found.say(relation, node, subject, *terms)
    for value in said.get(name, set()) - covered:
        more_terms = [_missing(relation, role, {}) for role in _MORE.get(relation, ())]
        found.say(relation, Unknown(), subject, value, *more_terms, *_time(said, relation, name))
    moment = {"generation": "generatedAtTime", "invalidation": "invalidatedAtTime"}.get(relation)
    if moment in said and name not in said and qualified not in said:
        for time in said[moment]:
            found.say(relation, Unknown(), subject, Unknown(), time)


def _missing(relation: str, role: str, said: Mapping[str, set[str]]) -> Term:
    """What is left out: unknown, but for a plan, and for what a derivation without an activity cannot have
    (definition 4, optional placeholders).
    """
    if relation == "association":
        return None
    if relation == "derivation" and (role == "hadActivity" or "hadActivity" not in said):
        return None
    return Unknown()


def _time(said: Mapping[str, set[str]], relation: str, name: str) -> list[Term]:
    """PROV-O gives the time of an entity's only generation, or invalidation, to the entity."""
    if relation not in _TIMED:
        return []
    moment = {"generation": "generatedAtTime", "invalidation": "invalidatedAtTime"}.get(relation, "")
    times = said.get(moment, set())
    return [next(iter(times)) if len(times) == 1 and len(said.get(name, ())) == 1 else Unknown()]


# --- inferences -----------------------------------------------------------------------------------------------------


def _infer(found: Instance) -> None:
    """Inferences 5, 7 to 11, 13 and 14; those of alternates (12, 16 to 18, 20), of attributes (21) and of influence
    (15) lead to nothing that a constraint asks for, and 6 and 19 to nothing that their premises do not.
    """
    for _, informed, informant in found.of("communication"):
        between = Unknown()
        found.say("generation", Unknown(), between, informant, Unknown())
        found.say("usage", Unknown(), informed, between, Unknown())
    for _, later, earlier, activity, made, read in found.of("derivation"):
        if None not in (activity, made, read):
            found.say("usage", read, activity, earlier, Unknown())
            found.say("generation", made, later, activity, Unknown())
    for _, entity, agent in found.of("attribution"):
        activity = Unknown()
        found.say("generation", Unknown(), entity, activity, Unknown())
        found.say("association", Unknown(), activity, agent, None)
    for _, lower, upper, activity in found.of("delegation"):
        found.say("association", Unknown(), activity, lower, None)
        found.say("association", Unknown(), activity, upper, None)
    for relation in ("start", "end"):
        for _, _activity, trigger, starter, _time in found.of(relation):
            found.say("generation", Unknown(), trigger, starter, Unknown())
    _begin_and_end(found)


def _begin_and_end(found: Instance) -> None:
    """Inferences 7 and 8, where no statement says it."""
    for relation in ("generation", "invalidation"):
        said = {entity for _, entity, *_ in found.of(relation)}
        for entity in _entities(found) - said:
            found.say(relation, Unknown(), entity, Unknown(), Unknown())
    times = {activity: (start, end) for activity, start, end in found.of("activity")}
    for number, relation in enumerate(("start", "end")):
        said = {activity for _, activity, *_ in found.of(relation)}
        for activity in _activities(found) - said:
            time = times[activity][number] if activity in times else Unknown()
            found.say(relation, Unknown(), activity, Unknown(), Unknown(), time)


ROLES: Final[Mapping[str, Mapping[int, str]]] = {
    "entity": {0: "entity"},
    "activity": {0: "activity"},
    "agent": {0: "agent"},
    "generation": {1: "entity", 2: "activity"},
    "usage": {1: "activity", 2: "entity"},
    "invalidation": {1: "entity", 2: "activity"},
    "start": {1: "activity", 2: "entity", 3: "activity"},
    "end": {1: "activity", 2: "entity", 3: "activity"},
    "communication": {1: "activity", 2: "activity"},
    "derivation": {1: "entity", 2: "entity", 3: "activity"},
    "attribution": {1: "entity", 2: "agent"},
    "association": {1: "activity", 2: "agent", 3: "entity"},
    "delegation": {1: "agent", 2: "agent", 3: "activity"},
    "specialization": {0: "entity", 1: "entity"},
    "membership": {0: "entity", 1: "entity"},
    "empty": {0: "entity"},
}
"""Which types a statement gives to its terms (constraint 50)."""


def typed(found: Instance) -> Iterator[tuple[Term, str]]:
    """Each term that a statement gives a type."""
    for one in found.statements:
        for place, kind in ROLES[one.relation].items():
            if one.terms[place] is not None:
                yield one.terms[place], kind


def _entities(found: Instance) -> set[Term]:
    return {term for term, kind in typed(found) if kind == "entity" and isinstance(term, str)}


def _activities(found: Instance) -> set[Term]:
    return {term for term, kind in typed(found) if kind == "activity" and isinstance(term, str)}
