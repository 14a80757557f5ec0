"""Random shapes of all compiled components, and small graphs for them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from random import Random

PREFIXES: Final = """@prefix ah: <https://w3id.org/access-history#> .
@prefix dcterms: <http://purl.org/dc/terms/> .
@prefix ex: <https://example.org/> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix prov: <http://www.w3.org/ns/prov#> .
@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix sh: <http://www.w3.org/ns/shacl#> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
"""
KINDS: Final = ("IRI", "BlankNode", "Literal", "BlankNodeOrIRI", "BlankNodeOrLiteral", "IRIOrLiteral")
BOUNDS: Final = ("minInclusive", "minExclusive", "maxInclusive", "maxExclusive")
FLAGS: Final = ("", '; sh:flags "i"', '; sh:flags "im"')
SEVERITIES: Final = ("sh:Violation", "sh:Warning", "sh:Info", "ex:Severe")


@dataclass(frozen=True)
class Words:
    """What the shapes speak of. ``ordered``: properties whose values pySHACL can put in order."""

    properties: tuple[str, ...]
    ordered: tuple[str, ...]
    classes: tuple[str, ...]
    nodes: tuple[str, ...]
    literals: tuple[str, ...]
    bounds: tuple[str, ...]
    patterns: tuple[str, ...]
    datatypes: tuple[str, ...]
    languages: tuple[str, ...] = ('"en"', '"de"', '"*"', '"de-ch"', '"fr"')


def shapes(random: Random, words: Words, count: int, targets: tuple[str, ...]) -> str:
    """``count`` shapes with targets, as Turtle."""
    drawn = _Drawn(random, words)
    return PREFIXES + "\n".join(drawn.targeted(number, targets) for number in range(count))


class _Drawn:
    def __init__(self, random: Random, words: Words) -> None:
        self.random, self.words = random, words
        self.classes = list(words.classes)

    def one(self, *among: str) -> str:
        return self.random.choice(among)

    def some(self, among: tuple[str, ...], least: int = 1) -> str:
        return " ".join(self.random.sample(among, self.random.randint(least, min(3, len(among)))))

    def targeted(self, number: int, targets: tuple[str, ...]) -> str:
        is_property = self.random.random() < 0.4
        body = self.property_shape(2) if is_property else self.node_shape(2)
        kind = "sh:PropertyShape" if is_property else "sh:NodeShape"
        target = self.one(*targets)
        values = self.words.classes if target in {"sh:targetClass", "a"} else self.words.properties
        values = (*self.words.nodes, *self.words.literals) if target == "sh:targetNode" else values
        if target == "a" and self.classes:
            return f"{self.classes.pop()} a {kind}, {self.one('rdfs:Class', 'owl:Class')} ; {body} ."
        target = "sh:targetClass" if target == "a" else target
        return f"ex:S{number} a {kind} ; {target} {self.one(*values)} ; {self.frame()} {body} ."

    def frame(self) -> str:
        severity = f"sh:severity {self.one(*SEVERITIES)} ;" if self.random.random() < 0.3 else ""
        message = 'sh:message "wrong" ;' if self.random.random() < 0.3 else ""
        return severity + message + ("sh:deactivated true ;" if self.random.random() < 0.05 else "")

    def node_shape(self, depth: int) -> str:
        parts = [self.of_node(depth) for _ in range(self.random.randint(1, 3))]
        return _joined(parts)

    def property_shape(self, depth: int) -> str:
        if self.random.random() < 0.15 and self.words.ordered:
            way = self.one("sh:lessThan", "sh:lessThanOrEquals")
            return f"sh:path {self.one(*self.words.ordered)} ; {way} {self.one(*self.words.ordered)}"
        parts = [self.of_property(depth) for _ in range(self.random.randint(1, 3))]
        return f"sh:path {self.path(2)} ; {_joined(parts)}"

    def of_node(self, depth: int) -> str:
        if self.random.random() < 0.4:
            return self.about_others(depth)
        if self.random.random() < 0.15:
            ignored = f"; sh:ignoredProperties ( {self.some(('rdf:type', *self.words.properties))} )"
            return f"sh:closed {self.one('true', 'true', 'false')} {self.one('', ignored)}"
        return self.of_value()

    def of_property(self, depth: int) -> str:
        if self.random.random() < 0.3:
            return self.about_others(depth)
        if self.random.random() < 0.5:
            return self.of_value()
        return self.random.choice(
            (
                lambda: f"sh:minCount {self.random.randint(0, 2)}",
                lambda: f"sh:maxCount {self.random.randint(0, 2)}",
                lambda: f"sh:uniqueLang {self.one('true', 'true', 'false')}",
                lambda: self.qualified(depth),
            )
        )()

    def qualified(self, depth: int) -> str:
        disjoint = self.one("", "; sh:qualifiedValueShapesDisjoint true", "; sh:qualifiedValueShapesDisjoint false")
        count = self.one("sh:qualifiedMinCount 1", "sh:qualifiedMinCount 2", "sh:qualifiedMaxCount 0")
        return f"sh:qualifiedValueShape {self.inner(depth)} ; {count} {disjoint}"

    def about_others(self, depth: int) -> str:
        if depth == 0:
            return self.of_value()
        way = self.one("sh:not", "sh:and", "sh:or", "sh:xone", "sh:node", "sh:property", "sh:property")
        if way == "sh:property":
            shapes = [f"[ {self.property_shape(depth - 1)} ]" for _ in range(self.random.randint(1, 2))]
            return f"sh:property {', '.join(shapes)}"
        if way == "sh:node":
            return f"sh:node [ {self.frame()} {self.node_shape(depth - 1)} ]"
        if way == "sh:not":
            return f"sh:not {self.inner(depth)}"
        return f"{way} ( {' '.join(self.inner(depth) for _ in range(self.random.randint(1, 3)))} )"

    def inner(self, depth: int) -> str:
        if depth == 0:
            return f"[ {self.of_value()} ]"
        body = self.node_shape(depth - 1) if self.random.random() < 0.6 else self.property_shape(depth - 1)
        return f"[ {self.frame()} {body} ]"

    def of_value(self) -> str:
        words = self.words
        return self.random.choice(
            (
                lambda: f"sh:nodeKind sh:{self.one(*KINDS)}",
                lambda: f"sh:class {self.one(*words.classes)}",
                lambda: f"sh:datatype {self.one(*words.datatypes)}",
                lambda: f"sh:in ( {self.some((*words.nodes, *words.literals))} )",
                lambda: f"sh:hasValue {self.one(*words.nodes, *words.literals)}",
                lambda: f"sh:{self.one('minLength', 'maxLength')} {self.random.randint(0, 25)}",
                lambda: f"sh:pattern {self.one(*words.patterns)} {self.one(*FLAGS)}",
                lambda: f"sh:languageIn ( {self.some(words.languages)} )",
                lambda: f"sh:{self.one(*BOUNDS)} {self.one(*words.bounds)}",
                lambda: f"sh:{self.one('equals', 'disjoint')} {self.one(*words.properties)}",
            )
        )()

    def path(self, depth: int, *, is_inverse: bool = False) -> str:
        if depth == 0 or self.random.random() < 0.6:
            return self.one(*self.words.properties, "rdf:type")
        way = self.one("/", "|", "^", "*", "+", "?")
        inner = self.path(depth - 1, is_inverse=is_inverse or way == "^")
        other = self.path(depth - 1, is_inverse=is_inverse)
        if way == "/" and not is_inverse:
            return f"( {inner} {other} )"
        names = {"^": "inverse", "*": "zeroOrMore", "+": "oneOrMore", "?": "zeroOrOne"}
        return f"[ sh:{names[way]}Path {inner} ]" if way in names else f"[ sh:alternativePath ( {inner} {other} ) ]"


def _joined(parts: list[str]) -> str:
    """The parts, without those that a shape can have once and has already."""
    seen: set[str] = set()
    kept = []
    for part in parts:
        names = {word for word in part.split() if word.startswith("sh:") and word in _ONCE}
        if not names & seen:
            seen |= names
            kept.append(part)
    return " ; ".join(kept)


_ONCE: Final = {
    f"sh:{name}"
    for name in (
        "nodeKind", "datatype", "in", "minLength", "maxLength", "pattern", "languageIn", "closed", "minCount",
        "maxCount", "uniqueLang", "qualifiedValueShape", "property", "not", "node", *BOUNDS,
    )
}  # fmt: skip


def data(random: Random, words: Words, count: int) -> str:
    """``count`` triples about the nodes, as Turtle."""
    lines = [f"{one} rdfs:subClassOf {other} ." for one, other in zip(words.classes, words.classes[1:], strict=False)]
    for _ in range(count):
        subject = random.choice(words.nodes)
        if random.random() < 0.25:
            lines.append(f"{subject} a {random.choice(words.classes)} .")
        elif random.random() < 0.2 and words.ordered:
            lines.append(f"{subject} {random.choice(words.ordered)} {random.choice(words.bounds)} .")
        else:
            value = random.choice((*words.nodes, *words.literals))
            lines.append(f"{subject} {random.choice(words.properties)} {value} .")
    return PREFIXES + "\n".join(lines)
