"""Every exported graph is a possible history by PROV-CONSTRAINTS; a graph that is not is rejected."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import pytest
import rdflib
from pyoxigraph import RdfFormat, parse

from tests import exports, golden
from tests.ask import drawn
from tests.graph.prov_constraints import RULES, Rule, violations
from tests.graph.shape_graphs import ROOT, VALID

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ONTOLOGY: Final = [ROOT / "ontology" / name for name in ("access-history.ttl", "alignments.ttl")]
PAGE: Final = ROOT / "docs" / "prov.md"
_HEAD: Final = """@prefix : <urn:example:> .
@prefix prov: <http://www.w3.org/ns/prov#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
"""
_NINE, _TEN = ('"2026-01-01T09:00:00Z"^^xsd:dateTime', '"2026-01-01T10:00:00Z"^^xsd:dateTime')
INVALID: Final[dict[int, str]] = {
    22: ":a prov:startedAtTime NINE, TEN .",
    23: ":a prov:qualifiedUsage :u . :u prov:entity :e, :f .",
    24: ":e prov:qualifiedGeneration :g, :h . :g prov:activity :a . :h prov:activity :a .",
    25: ":e prov:qualifiedInvalidation :i, :j . :i prov:activity :a . :j prov:activity :a .",
    26: ":a prov:qualifiedStart :s, :t . :s prov:hadActivity :b . :t prov:hadActivity :b .",
    27: ":a prov:qualifiedEnd :s, :t . :s prov:hadActivity :b . :t prov:hadActivity :b .",
    28: ":a prov:startedAtTime NINE ; prov:qualifiedStart :s . :s prov:atTime TEN .",
    29: ":a prov:endedAtTime NINE ; prov:qualifiedEnd :s . :s prov:atTime TEN .",
    30: ":a prov:startedAtTime TEN ; prov:endedAtTime NINE .",
    31: """:a prov:qualifiedStart :s, :t . :s prov:hadActivity :b ; prov:atTime NINE .
        :t prov:hadActivity :c ; prov:atTime TEN .""",
    32: """:a prov:qualifiedEnd :s, :t . :s prov:hadActivity :b ; prov:atTime NINE .
        :t prov:hadActivity :c ; prov:atTime TEN .""",
    33: ":a prov:startedAtTime TEN ; prov:qualifiedUsage :u . :u prov:entity :e ; prov:atTime NINE .",
    34: ":a prov:startedAtTime TEN . :e prov:wasGeneratedBy :a ; prov:generatedAtTime NINE .",
    35: ":b prov:startedAtTime TEN . :a prov:endedAtTime NINE ; prov:wasInformedBy :b .",
    36: ":e prov:generatedAtTime TEN ; prov:invalidatedAtTime NINE .",
    37: ":e prov:generatedAtTime TEN . :a prov:qualifiedUsage :u . :u prov:entity :e ; prov:atTime NINE .",
    38: ":e prov:invalidatedAtTime NINE . :a prov:qualifiedUsage :u . :u prov:entity :e ; prov:atTime TEN .",
    39: """:e prov:qualifiedGeneration :g, :h . :g prov:activity :a ; prov:atTime NINE .
        :h prov:activity :b ; prov:atTime TEN .""",
    40: """:e prov:qualifiedInvalidation :g, :h . :g prov:activity :a ; prov:atTime NINE .
        :h prov:activity :b ; prov:atTime TEN .""",
    41: """:e prov:qualifiedDerivation :d .
        :d prov:entity :f ; prov:hadActivity :a ; prov:hadUsage :u ; prov:hadGeneration :g .
        :a prov:qualifiedUsage :u . :u prov:entity :f ; prov:atTime TEN .
        :e prov:qualifiedGeneration :g . :g prov:activity :a ; prov:atTime NINE .""",
    42: ":e prov:wasDerivedFrom :f . :f prov:wasDerivedFrom :e .",
    43: ":e prov:generatedAtTime TEN . :a prov:startedAtTime NINE ; prov:wasStartedBy :e .",
    44: ":e prov:generatedAtTime TEN . :a prov:endedAtTime NINE ; prov:wasEndedBy :e .",
    45: ":e prov:specializationOf :f ; prov:generatedAtTime NINE . :f prov:generatedAtTime TEN .",
    46: ":e prov:specializationOf :f ; prov:invalidatedAtTime TEN . :f prov:invalidatedAtTime NINE .",
    47: ":a prov:wasAssociatedWith :g ; prov:endedAtTime NINE . :g prov:generatedAtTime TEN .",
    48: ":e prov:wasAttributedTo :g ; prov:generatedAtTime NINE . :g prov:generatedAtTime TEN .",
    49: ":g prov:actedOnBehalfOf :h ; prov:invalidatedAtTime NINE . :h prov:generatedAtTime TEN .",
    50: ":a prov:used :e . :b prov:wasInformedBy :e .",
    51: ":e prov:qualifiedDerivation :d . :d prov:entity :f ; prov:hadGeneration :g .",
    52: ":e prov:specializationOf :f . :f prov:specializationOf :e .",
    53: ":a prov:qualifiedUsage :u . :u prov:entity :e . :f prov:qualifiedGeneration :u . :u prov:activity :a .",
    54: ":a prov:qualifiedUsage :u . :u a prov:Entity ; prov:entity :e .",
    55: ":e a prov:Entity, prov:Activity .",
    56: ":c a prov:EmptyCollection ; prov:hadMember :e .",
}
"""For each rule a graph that breaks it, and that is valid but for it and what says the same."""
SAYS_THE_SAME: Final = {22: {28}, 35: {37}}
"""Two times for an activity's start are two times for the start; who was informed used what the other generated."""


def invalid(rule: int) -> rdflib.Graph:
    text = INVALID[rule].replace("NINE", _NINE).replace("TEN", _TEN)
    return rdflib.Graph().parse(data=_HEAD + text, format="turtle")


@pytest.mark.parametrize("rule", INVALID)
def test_a_graph_that_breaks_a_rule_fails_by_that_rule(rule: int) -> None:
    assert violations(invalid(rule))
    assert violations(invalid(rule), without={rule, *SAYS_THE_SAME.get(rule, ())}) == []


def test_every_rule_has_a_graph_that_breaks_it() -> None:
    assert [rule for rule in RULES if rule != "times"] == list(INVALID)


# The Recommendation's own points about merging and order.


def graph(text: str) -> rdflib.Graph:
    return rdflib.Graph().parse(data=_HEAD + text.replace("NINE", _NINE).replace("TEN", _TEN), format="turtle")


def broken(text: str) -> set[Rule]:
    return {rule for one in violations(graph(text)) for rule in one.rules}


@pytest.mark.parametrize(
    "text",
    [
        ":e prov:wasGeneratedBy :a ; prov:qualifiedGeneration :g . :g prov:activity :a ; prov:atTime NINE .",
        ":e prov:qualifiedGeneration :g ; prov:wasGeneratedBy :a . :g prov:atTime NINE .",
        ":a prov:used :e ; prov:qualifiedUsage :u, :v . :u prov:entity :e . :v prov:entity :e .",
        ":e prov:wasGeneratedBy :a, :b .",
        ":a prov:used :e . :e prov:wasGeneratedBy :a .",
        ":a prov:used :e ; prov:startedAtTime NINE . :e prov:invalidatedAtTime NINE .",
        ":e prov:specializationOf :f . :f prov:specializationOf :g .",
    ],
)
def test_values_that_may_be_equal_are_no_contradiction(text: str) -> None:
    assert broken(text) == set()


def test_a_cycle_of_events_that_only_precede_is_one_moment() -> None:
    """Used before it was made by what used it: allowed as one moment, unless a derivation says strictly."""
    circle = ":e prov:wasGeneratedBy :a . :b prov:used :e . :f prov:wasGeneratedBy :b . :a prov:used :f ."
    assert broken(circle) == set()
    assert 42 in broken(circle + ":f prov:wasDerivedFrom :e . :e prov:wasDerivedFrom :f .")


def test_a_cycle_goes_through_usages_and_generations() -> None:
    derived = graph(""":e prov:qualifiedDerivation :d .
        :d prov:entity :f ; prov:hadActivity :a ; prov:hadUsage :u ; prov:hadGeneration :g .
        :f prov:qualifiedDerivation :x .
        :x prov:entity :e ; prov:hadActivity :b ; prov:hadUsage :v ; prov:hadGeneration :h .""")
    assert [one for one in violations(derived) if {41, 42} <= one.rules]
    assert violations(derived, without={42}) == []


def test_an_inferred_usage_is_typed_too() -> None:
    """Inference 11: a derivation by an activity uses the one and generates the other."""
    said = ":e prov:qualifiedDerivation :d . :d prov:entity :f ; prov:hadActivity :a . :a a prov:Entity ."
    assert broken(said) == {50, 55}


def test_terms_of_an_ontology_count_as_those_of_prov_above_them() -> None:
    said = graph(":e :from :f . :f :from :e .")
    above = graph(":from <http://www.w3.org/2000/01/rdf-schema#subPropertyOf> prov:wasDerivedFrom .")
    assert violations(said) == []
    assert {42} <= {rule for one in violations(said, above) for rule in one.rules}


# What is exported.


def ontology() -> list[tuple[str, str, str]]:
    return [triple for path in ONTOLOGY for triple in triples(path)]


def triples(path: Path) -> Iterator[tuple[str, str, str]]:
    for quad in parse(path=path, format=RdfFormat.TURTLE):
        yield getattr(quad.subject, "value", ""), quad.predicate.value, getattr(quad.object, "value", "")


@pytest.mark.parametrize(
    "path", [VALID, *(folder / "graph.ttl" for folder in golden.folders())], ids=lambda p: p.parent.name
)
def test_a_graph_of_the_examples_is_valid(path: Path) -> None:
    assert violations(rdflib.Graph().parse(path), ontology()) == []


def test_the_graph_of_every_example_and_hard_history_is_valid() -> None:
    said = [one for file in (exports.everything() / "graph").glob("*.ttl") for one in triples(file)]
    assert len(said) > 10_000
    assert violations(said, ontology()) == []


def test_the_graph_of_random_histories_is_valid() -> None:
    """With QUERY_HISTORY and without; rows of a query that ends after others have begun."""
    said = [one for file in (drawn.exported() / "graph").glob("*.ttl") for one in triples(file)]
    assert len(said) > 10_000
    assert violations(said, ontology()) == []


def test_the_page_has_every_rule() -> None:
    numbers = re.findall(r"^\| (\d+) \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert [int(number) for number in numbers] == list(range(1, 57))
