"""Small invalid graphs: a node of the valid example is copied and changed in one way or several.

Many copies are in one graph under different names, so that pySHACL is started once for all of them. ``python -m
tests.graph.mutants 100000`` compares the engines on so many, with a seed as the second argument.
"""

from __future__ import annotations

import sys
import warnings
from collections import Counter
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING, Final

import rdflib
from pyoxigraph import BlankNode, Literal, NamedNode, Triple

from exporter.graph.shapes import on_graph
from exporter.graph.shapes.by_pyshacl import graph_of, run_pyshacl, validate
from exporter.graph.shapes.constraints import LessThan
from exporter.graph.shapes.model import RDFS, SUBCLASS, TYPE, XSD
from exporter.graph.shapes.paths import Predicate
from tests.graph.shape_graphs import VALID, iri, shapes, source, triples

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rdflib import Graph

    from exporter.graph.shapes.on_graph import Result

    Term = NamedNode | BlankNode | Literal

BACKGROUND: Final = tuple(triples(VALID))
SUBJECTS: Final = tuple(dict.fromkeys(one.subject for one in BACKGROUND if (one.predicate == TYPE)))
CLASSES: Final = tuple(dict.fromkeys(one.object for one in BACKGROUND if one.predicate == TYPE))
PREDICATES: Final = tuple(dict.fromkeys(one.predicate for one in BACKGROUND if one.predicate not in {TYPE, SUBCLASS}))
DATATYPES: Final = (
    *(NamedNode(XSD + name) for name in ("string", "integer", "boolean", "dateTime", "decimal", "date", "anyURI")),
    NamedNode("https://example.org/a-datatype"),
)
TEXTS: Final = (
    "", "x", "TRUNCATED", "0", "-1", "012", "12", "1.5", "1e3", "+5", " 1 ", "1_000", "99999999999999999999", "true",
    "1", "TRUE", "yes", "2024-02-03", "2024-13-01T00:00:00Z", "2024-02-30T00:00:00Z", "2024-02-03T08:00:00",
    "2024-02-03 08:00:00", "2024-02-03T24:00:00Z", "2024-02-03T08:00:00+01:00", "2024-02-03T07:00:00.000Z",
    "20240203T080000Z", "0000-01-01T00:00:00Z", "12024-02-03T08:00:00Z", "MASKING_POLICY", "masking policy", "DIRECT",
    "direct", "ALTER", "ADD", "a\nb", "é", "🂡",
)  # fmt: skip
TIMES: Final = (
    "2023-12-31T23:59:59Z", "2024-02-03T08:00:00Z", "2024-02-03T08:00:00.000001Z", "2024-02-03T09:00:00+01:00",
    "2024-02-03T08:00:00", "2025-01-01T00:00:00Z", "2025-01-01T00:00:00-12:00",
)  # fmt: skip
ORDERED: Final = tuple(
    (shape.path.iri, constraint.predicate)
    for shape in shapes().every
    for constraint in shape.constraints
    if isinstance(constraint, LessThan) and isinstance(shape.path, Predicate)
)


@dataclass
class Mutant:
    """A node to be changed: its properties with their values, and what else is said in its graph."""

    focus: NamedNode | BlankNode
    values: list[tuple[NamedNode, Term]]
    beside: list[Triple] = field(default_factory=list)

    def triples(self) -> Iterator[Triple]:
        yield from (Triple(self.focus, predicate, value) for predicate, value in self.values)
        yield from self.beside

    def stops_pyshacl(self) -> bool:
        """Whether pySHACL raises when it puts two of these values in order: it can tell nothing of such a graph."""
        return any(
            isinstance(first, BlankNode) or any(_cannot_be_ordered(first, second) for second in self.of(other))
            for one, other in ORDERED
            for first in self.of(one)
        )

    def of(self, predicate: NamedNode) -> list[Term]:
        return [value for one, value in self.values if one == predicate]


def _cannot_be_ordered(first: Term, second: Term) -> bool:
    if isinstance(second, BlankNode):
        return True
    if not (isinstance(first, Literal) and isinstance(second, Literal)):
        return False
    pair = graph_of([Triple(NamedNode("a:b"), NamedNode(f"a:{name}"), one) for name, one in zip("pq", (first, second))])  # noqa: B905 - the lengths are the same
    one, other = (next(pair.objects(None, rdflib.URIRef(f"a:{name}"))) for name in "pq")
    assert isinstance(one, rdflib.Literal)
    assert isinstance(other, rdflib.Literal)
    if isinstance(one.value, str) or isinstance(other.value, str):
        return False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            bool(one <= other)
        except TypeError:
            return True
    return False


def _some(random: Random, mutant: Mutant, kind: type | tuple[type, ...] = object) -> int | None:
    """The place of some value that is no type."""
    places = [
        at for at, (predicate, value) in enumerate(mutant.values) if predicate != TYPE and isinstance(value, kind)
    ]
    return random.choice(places) if places else None


def _replaced(mutant: Mutant, at: int | None, value: Term) -> None:
    if at is not None:
        mutant.values[at] = (mutant.values[at][0], value)


def missing(random: Random, mutant: Mutant) -> None:
    gone = random.choice([predicate for predicate, _ in mutant.values])
    mutant.values = [one for one in mutant.values if one[0] != gone]


def doubled(random: Random, mutant: Mutant) -> None:
    predicate, value = random.choice(mutant.values)
    if isinstance(value, Literal):
        value = Literal(random.choice(TEXTS), datatype=value.datatype)
    elif predicate == TYPE:
        value = random.choice(CLASSES)
    else:
        value = random.choice(SUBJECTS)
    mutant.values.append((predicate, value))


def of_another_class(random: Random, mutant: Mutant) -> None:
    _replaced(mutant, _some(random, mutant, NamedNode), random.choice(SUBJECTS))


def of_no_class(random: Random, mutant: Mutant) -> None:
    _replaced(mutant, _some(random, mutant), NamedNode("https://example.org/of-no-class"))


def of_a_subclass(random: Random, mutant: Mutant) -> None:
    """A class of one's own below another, which the graph itself declares."""
    name = mutant.focus.value.rsplit("/", 1)[-1]
    below, thing = NamedNode(f"https://example.org/class/{name}"), NamedNode(f"https://example.org/thing/{name}")
    mutant.beside += [Triple(below, SUBCLASS, random.choice(CLASSES)), Triple(thing, TYPE, below)]
    if random.random() < 0.5:
        _replaced(mutant, _some(random, mutant, NamedNode), thing)
    else:
        mutant.values.append((TYPE, below))


def a_text(random: Random, mutant: Mutant) -> None:
    _replaced(mutant, _some(random, mutant), Literal(random.choice(TEXTS)))


def in_a_language(random: Random, mutant: Mutant) -> None:
    _replaced(mutant, _some(random, mutant), Literal(random.choice(TEXTS), language=random.choice(("en", "de-CH"))))


def of_another_datatype(random: Random, mutant: Mutant) -> None:
    at = _some(random, mutant, Literal)
    if at is not None:
        _replaced(mutant, at, Literal(mutant.values[at][1].value, datatype=random.choice(DATATYPES)))


def of_another_form(random: Random, mutant: Mutant) -> None:
    at = _some(random, mutant, Literal)
    if at is not None:
        _replaced(mutant, at, Literal(random.choice(TEXTS), datatype=mutant.values[at][1].datatype))


def at_another_time(random: Random, mutant: Mutant) -> None:
    date_time = NamedNode(f"{XSD}dateTime")
    for at, (_, value) in enumerate(mutant.values):
        if isinstance(value, Literal) and value.datatype == date_time:
            _replaced(mutant, at, Literal(random.choice(TIMES), datatype=date_time))


def with_another_property(random: Random, mutant: Mutant) -> None:
    predicate = random.choice([*PREDICATES, NamedNode("https://example.org/p"), NamedNode(f"{RDFS}comment")])
    mutant.values.append((predicate, random.choice([Literal(random.choice(TEXTS)), random.choice(SUBJECTS)])))


def of_other_types(random: Random, mutant: Mutant) -> None:
    types = [one for one in mutant.values if one[0] == TYPE]
    mutant.values.remove(random.choice(types)) if types and random.random() < 0.5 else mutant.values.append(
        (TYPE, random.choice([*CLASSES, iri("ah:ExternalTable"), NamedNode(f"{RDFS}Resource")]))
    )


def to_itself(random: Random, mutant: Mutant) -> None:
    _replaced(mutant, _some(random, mutant, NamedNode), mutant.focus)


def to_a_blank_node(random: Random, mutant: Mutant) -> None:
    _replaced(mutant, _some(random, mutant), BlankNode(f"v{random.randrange(10**9)}"))


def without_an_iri(random: Random, mutant: Mutant) -> None:
    mutant.focus = BlankNode(f"f{random.randrange(10**9)}")


CHANGES: Final[tuple[Callable[[Random, Mutant], None], ...]] = (
    missing, doubled, of_another_class, of_no_class, of_a_subclass, a_text, in_a_language, of_another_datatype,
    of_another_form, at_another_time, with_another_property, of_other_types, to_itself, to_a_blank_node, without_an_iri,
)  # fmt: skip
_OF: Final = {
    subject: [(one.predicate, one.object) for one in BACKGROUND if one.subject == subject] for subject in SUBJECTS
}


def unchanged(random: Random, number: int) -> Mutant:
    """One of the nodes, under a name of its own."""
    subject = random.choice(SUBJECTS)
    return Mutant(NamedNode(f"{subject.value}/{number}"), list(_OF[subject]))


def mutant(random: Random, number: int) -> Mutant:
    """One graph: one of the nodes, changed once, twice or three times."""
    made = unchanged(random, number)
    for change in random.choices(CHANGES, k=random.choice((1, 1, 2, 3))):
        if made.values:
            change(random, made)
    return made


def compared(seed: int, count: int, form: Graph | None = None) -> Counter[str]:
    """How many graphs, results, and results that one engine has alone; graphs of which pySHACL can tell nothing are
    made anew, and counted. ``form``: the shapes as pySHACL is given them, where not as they are.
    """
    random, told, graph = Random(seed), Counter[str](), list(BACKGROUND)
    while told["graphs"] < count:
        made = mutant(random, told["graphs"])
        if made.stops_pyshacl():
            told["not for pySHACL"] += 1
            continue
        graph.extend(made.triples())
        told["graphs"] += 1
    compiled, wanted = Counter(on_graph.validate(graph, shapes())), Counter(by_pyshacl(graph, form))
    if form is not None:  # there a shape that two others share is asked once of a node that both are targeted at
        compiled, wanted = Counter(set(compiled)), Counter(set(wanted))
    told["results"] = wanted.total()
    told["focus nodes"] = len({one.focus for one in wanted})
    told["shapes"] = len({one.shape for one in wanted})
    for name, found in (("by the compiled shapes alone", compiled - wanted), ("by pySHACL alone", wanted - compiled)):
        told[name] = found.total()
        for one in list(found)[:5]:
            print(name, one, file=sys.stderr)  # noqa: T201 - what a failed test shows
    return told


def by_pyshacl(graph: list[Triple], form: Graph | None) -> list[Result]:
    return validate(graph, source()) if form is None else run_pyshacl(graph, source(), form)


def main() -> None:
    """Batches of 2,000, and their sum."""
    count, seed = (int(one) for one in [*sys.argv[1:], "10000", "1"][:2])
    told = Counter[str]()
    for number in range(0, count, 2_000):
        batch = compared(seed * 1_000_003 + number, min(2_000, count - number))
        told.update({name: many for name, many in batch.items() if name != "shapes"})
    print(dict(told))  # noqa: T201 - a script


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
