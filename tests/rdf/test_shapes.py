"""Every shape accepts the valid example, and refuses one small example that makes its mistake and no other."""

from __future__ import annotations

import re
from pathlib import Path

import pyshacl
import pytest
from rdflib import BNode, Graph, URIRef

from tests.rdf.shape_graphs import AHS, INVALID, SH, VALID, all_shapes, data, failing, local, reporting, shapes

WARNINGS = {"Change-operationKnown", "Setting-subOperationKnown", "PolicyEnforcement-policyKindSpelling"}


def test_the_valid_example_passes_every_shape() -> None:
    assert failing(data(VALID)) == set()


@pytest.mark.parametrize("path", INVALID, ids=lambda path: path.stem)
def test_an_invalid_example_fails_for_its_reason_and_no_other(path: Path) -> None:
    """The file is named after the shape, and after the mistake where a shape has several."""
    assert failing(data(path)) == {path.name.split(".")[0]}


def test_every_shape_has_an_invalid_example() -> None:
    with_example = {path.name.split(".")[0] for path in INVALID}
    without = {local(shape) for shape in reporting()} - with_example
    assert not without, f"write shapes/invalid/NAME.ttl for: {', '.join(sorted(without))}"


@pytest.mark.parametrize("path", INVALID, ids=lambda path: path.stem)
def test_an_invalid_example_says_its_mistake(path: Path) -> None:
    assert path.read_text(encoding="utf-8").startswith("# The mistake: ")


def test_every_shape_is_named_and_described() -> None:
    graph = shapes()
    nameless = [
        local(shape)
        for shape in all_shapes()
        if not isinstance(shape, URIRef)
        or not shape.startswith(AHS)
        or any(graph.value(shape, term) is None for term in (SH.name, SH.description))
    ]
    assert nameless == []


def test_every_message_says_what_is_wrong_and_what_to_do() -> None:
    """Two sentences at least: what is expected, and what to do."""
    graph = shapes()
    terse = [local(shape) for shape in reporting() if not re.search(r"[.:] ", str(graph.value(shape, SH.message)))]
    assert terse == []


def test_only_words_that_snowflake_may_add_to_are_warnings() -> None:
    severities = {local(shape): str(shapes().value(shape, SH.severity)) for shape in reporting()}
    assert {name for name, severity in severities.items() if severity == str(SH.Warning)} == WARNINGS
    assert set(severities.values()) == {str(SH.Violation), str(SH.Warning)}


def test_shapes_keep_to_core() -> None:
    """Engines that skip ``sh:sparql`` in silence must not pass what others refuse."""
    assert (None, SH.sparql, None) not in shapes()
    assert not [subject for subject in shapes().subjects(SH.path) if isinstance(subject, BNode)]


def test_the_shapes_are_well_formed() -> None:
    """Checked by the shapes of SHACL itself."""
    conforms, _, report = pyshacl.validate(Graph(), shacl_graph=shapes(), meta_shacl=True)
    assert conforms, report
