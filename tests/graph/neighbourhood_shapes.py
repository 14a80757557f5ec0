"""Random shapes with paths that follow the vocabulary from node to node, both supported and unsupported ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from exporter.graph.shapes.neighbourhood import OBJECT_OF, leading_to, types_of
from exporter.graph.terms import full
from exporter.graph.vocabulary import NODE_CLASSES
from tests.graph.any_shapes import PREFIXES

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    from exporter.graph.terms import NodeClass

_CLASSES: Final = tuple(OBJECT_OF)
_TYPES: Final = tuple(sorted({name for of in _CLASSES for name in types_of(of)}))
_EVERY_TYPE: Final = (*_TYPES, "ah:Query", "ah:User", "ah:ColumnVersion", "prov:Activity")
_PATTERNS: Final = ('"[0-9]$"', '"^[A-Z.]*$"', '"table"', '"policy"', '"column"')
_BEYOND: Final = 0.04
"""How often a walk may leave what belongs to objects, and is refused for that."""


@dataclass(frozen=True)
class Values:
    """What the graph has, as Turtle: of properties the literals, and IRIs."""

    literals: dict[str, tuple[str, ...]]
    iris: tuple[str, ...]


def shapes(random: Random, values: Values, count: int) -> str:
    """``count`` shapes with targets, as Turtle."""
    drawn = _Drawn(random, values)
    return PREFIXES + "\n".join(drawn.targeted(number) for number in range(count))


class _Drawn:
    def __init__(self, random: Random, values: Values) -> None:
        self.random, self.values = random, values

    def one(self, *among: str) -> str:
        return self.random.choice(among)

    def often(self, share: float) -> bool:
        return self.random.random() < share

    def targeted(self, number: int) -> str:
        of = self.random.choice(_CLASSES)
        if self.often(0.15):
            target = f"sh:targetSubjectsOf {self.random.choice(of.properties).term}"
        else:
            target = f"sh:targetClass {self.one(*sorted(set(types_of(of)) - {'prov:Entity'}))}"
        severity = self.one("", "", "sh:severity sh:Info ;", "sh:severity ex:Severe ;")
        kind, body = ("Property", self.property_shape(of, 2))
        if self.often(0.3):
            kind, body = "Node", self.of_nodes(of, 2)
        return f"ex:S{number} a sh:{kind}Shape ; {target} ; {severity} {body} ."

    def property_shape(self, of: NodeClass, depth: int) -> str:
        path, end, term = self.walk(of, self.random.randint(1, 4))
        parts = {self.of_literals(term) if end is None else self.of_nodes(end, depth - 1)}
        if end is not None and self.often(0.5):
            parts.add(self.count())
        if len(path.split()) == 1 and self.often(0.1):
            parts.add(f"sh:{self.one('equals', 'disjoint', 'lessThan')} {self.random.choice(of.properties).term}")
        return f"sh:path {path} ; {' ; '.join(sorted(parts))}"

    def count(self) -> str:
        return self.one("sh:minCount 1", "sh:minCount 2", "sh:maxCount 0", "sh:maxCount 1", "sh:maxCount 2")

    # --- walks --------------------------------------------------------------------------------------------------------

    def walk(self, of: NodeClass, steps: int) -> tuple[str, NodeClass | None, str]:
        """A path from nodes of a class, where it ends (None: at literals), and the term of its last step."""
        path, end, term = [], of, ""
        for left in reversed(range(steps)):
            if path and not self.ways(end, may_end=False):
                break
            step, after, term = self.step(end, may_end=left == 0 or not path)
            path.append(self.repeated(step, is_round=after is end))
            if after is None:
                return self.sequence(path), None, term
            end = after
        return self.sequence(path), end, term

    def sequence(self, path: list[str]) -> str:
        return path[0] if len(path) == 1 else f"( {' '.join(path)} )"

    def repeated(self, step: str, *, is_round: bool) -> str:
        if self.often(0.05):
            return f"[ sh:zeroOrOnePath {step} ]"
        if is_round and self.often(0.4):
            return f"[ sh:{self.one('zeroOrMore', 'oneOrMore')}Path {step} ]"
        return step

    def step(self, of: NodeClass, *, may_end: bool) -> tuple[str, NodeClass | None, str]:
        """A property, or the inverse of one; now and then either of two that lead to the same class."""
        ways = self.ways(of, may_end=may_end) or self.ways(of, may_end=True)
        path, end, term = self.random.choice(ways)
        alike = [one for one, other, _ in ways if other is end and one != path]
        if alike and self.often(0.1):
            path = f"[ sh:alternativePath ( {path} {self.one(*alike)} ) ]"
        return path, end, term

    def ways(self, of: NodeClass, *, may_end: bool) -> list[tuple[str, NodeClass | None, str]]:
        classes = NODE_CLASSES if self.often(_BEYOND) else _CLASSES
        every = {full(one.term): one.term for other in NODE_CLASSES for one in other.properties}
        there = [
            (term, to, term)
            for to in classes
            for iri, term in every.items()
            for other, its in leading_to(to, iri)
            if other is of and its == term
        ]
        back = [
            (f"[ sh:inversePath {term} ]", other, term)
            for iri, term in every.items()
            for other, _ in leading_to(of, iri)
            if other in classes
        ]
        literals = [(one.term, None, one.term) for one in of.properties if one.is_literal] if may_end else []
        found = [*there, *back]
        return [*found, *self.random.sample(literals, min(len(literals), 1 + len(found) // 2))]

    # --- what is asked at the end -------------------------------------------------------------------------------------

    def of_literals(self, term: str) -> str:
        known = self.values.literals.get(term, ('"X"',))
        return self.random.choice(
            (
                lambda: f"sh:hasValue {self.one(*known)}",
                lambda: f"sh:in ( {self.one(*known)} {self.one(*known)} )",
                lambda: f"sh:{self.one('minLength', 'maxLength')} {self.random.randint(0, 12)}",
                lambda: f"sh:pattern {self.one(*_PATTERNS)}",
                self.count,
                lambda: f"sh:minInclusive {self.one(*known)}",
            )
        )()

    def of_nodes(self, of: NodeClass, depth: int) -> str:
        """What is asked of nodes of a class."""
        simple: tuple[Callable[[], str], ...] = (
            lambda: f"sh:class {self.one(*_EVERY_TYPE)}",
            lambda: f"sh:class {self.one(*sorted(types_of(of)))}",
            lambda: f"sh:hasValue {self.one(*self.values.iris)}",
            lambda: f"sh:pattern {self.one(*_PATTERNS)}",
            lambda: f"sh:closed true ; sh:ignoredProperties ( rdf:type {self.terms(of)} )",
            lambda: f"sh:{self.one('equals', 'disjoint')} {self.random.choice(of.properties).term}",
        )
        if depth <= 0:
            return self.random.choice(simple)()
        deep: tuple[Callable[[], str], ...] = (
            lambda: f"sh:property [ {self.property_shape(of, depth - 1)} ]",
            lambda: f"sh:node [ sh:property [ {self.property_shape(of, depth - 1)} ] ]",
            lambda: f"sh:not [ {self.property_shape(of, depth - 1)} ]",
            lambda: f"sh:{self.one('or', 'and', 'xone')} ( {self.inner(of, depth)} {self.inner(of, depth)} )",
        )
        return self.random.choice((*simple, *deep, *deep))()

    def inner(self, of: NodeClass, depth: int) -> str:
        return f"[ {self.property_shape(of, depth - 1) if self.often(0.7) else self.of_nodes(of, 0)} ]"

    def terms(self, of: NodeClass) -> str:
        every = [one.term for one in of.properties]
        return " ".join(self.random.sample(every, self.random.randint(len(every) // 2, len(every))))
