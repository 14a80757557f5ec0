"""Shapes on nodes in memory give the same results as on the graph of these nodes, for all nodes and shapes."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Final

import pytest
from pyoxigraph import NamedNode, Triple

from exporter.graph.shapes import on_graph
from exporter.graph.shapes.checks import WRONG_CLASS, Checks
from exporter.graph.shapes.classes import References, class_of, hierarchy
from exporter.graph.shapes.model import TYPE, MemoryGraph
from exporter.graph.shapes.reading import Shapes, compiled, shapes_graph
from exporter.graph.terms import AH
from exporter.graph.vocabulary import NODE_CLASSES
from tests.graph.any_shapes import PREFIXES, Words, shapes
from tests.graph.shape_graphs import BASE, INVALID, class_named, iri, local, nodes, triples_of, whole
from tests.graph.shape_graphs import shapes as own_shapes

if TYPE_CHECKING:
    from pathlib import Path

    from exporter.graph.shapes.on_graph import Result
    from exporter.graph.terms import Node, NodeClass, Value

NODES: Final = tuple(nodes())
IRIS: Final = tuple(sorted({node.iri for node in NODES}))
CHECKS: Final = Checks.load()
_POOLS: Final[dict[str, tuple[Value, ...]]] = {
    "xsd:string": (
        "",
        "TRUNCATED",
        "0",
        "12",
        "-1",
        "DIRECT",
        "SIDEWAYS",
        "ALTER",
        "ADD",
        "MASKING_POLICY",
        "x" * 30,
        "é",
    ),
    "xsd:integer": (-1, 0, 1, 2, 10**30),
    "xsd:boolean": (True, False),
    "xsd:dateTime": (0, 1_706_947_200_000_000, 1_706_947_200_000_001, 1_709_251_200_000_000, -62_135_596_800_000_000),
}


def on_its_graph(node: Node, base: str, by: Shapes) -> list[Result]:
    """What the shapes find in the graph of one node, of whose neighbours the class is known."""
    triples = [*triples_of(node, base), *hierarchy()]
    own = NamedNode(whole(node.iri, base))
    said = [one for one in triples if one.subject == own and one.predicate != TYPE]
    others = {one.object for one in said if isinstance(one.object, NamedNode)} - {own}
    graph = MemoryGraph([*triples, *(Triple(one, TYPE, iri(class_of(one.value, base))) for one in others)])
    focus_nodes = [(one, own) for one in by.targeted if own in on_graph.focus_nodes(graph, one.targets)]
    return on_graph.results_at(focus_nodes, graph)


def without_class(found: list[Result]) -> list[Result]:
    return [one for one in found if one.shape != WRONG_CLASS]


def drawn(random: Random, of: NodeClass) -> Node:
    """A node of a class with any values that its properties can hold."""
    (*like,) = (node for node in NODES if node.of is of)
    node = random.choice(like)
    values = dict(node.values)
    for one in random.sample(of.properties, min(len(of.properties), random.choice((0, 1, 2, 4)))):
        pool = _POOLS.get(one.range, (*IRIS, node.iri, "s3://bucket/a", "snowflake://ELSE-WHERE/table/1"))
        values[one.term] = tuple(random.sample(pool, random.choice((0, 1, 1, 2))))
    types = node.types if random.random() < 0.8 else (*node.types[1:], random.choice(NODE_CLASSES).name)
    iri = node.iri if random.random() < 0.9 else random.choice(IRIS)
    return node._replace(iri=iri, types=types, values={term: some for term, some in values.items() if some})


@pytest.mark.parametrize("node", NODES, ids=lambda node: node.iri)
def test_a_valid_node_conforms_by_itself(node: Node) -> None:
    """Each is checked without the rest of those that it refers to."""
    assert CHECKS.check(node, BASE) == []


def test_mutated_nodes_are_found_as_their_graphs_are() -> None:
    random, found = Random(11), 0
    for of in NODE_CLASSES:
        for _ in range(150):
            node = drawn(random, of)
            results = CHECKS.check(node, BASE)
            assert without_class(results) == on_its_graph(node, BASE, own_shapes()), node
            assert CHECKS.check(node, BASE) == results
            found += len(results)
    assert found > 2_000


UNSEEN: Final = {"Change-isPartOf", "ColumnDerivation-hadActivity", "Version-wasInvalidatedBy"}
"""Their mistake is a query without a row where one with a row should be: an IRI does not tell which it is."""


def in_memory(path: Path) -> list[Node]:
    """The nodes of an invalid example; none where the exporter could not have them so, such as a text for a time."""
    try:
        made = list(nodes(path))
    except (KeyError, ValueError, RuntimeError):
        return []
    return made if all(_are_references(node) for node in made) else []


def _are_references(node: Node) -> bool:
    """Whether all that is to be an IRI can be one."""
    ranges = {one.term: one.range for one in node.of.properties}
    return not any(
        " " in str(value)
        for term, values in node.values.items()
        if not ranges[term].startswith("xsd:")
        for value in values
    )


def test_invalid_examples_are_found_node_by_node() -> None:
    made = {path: in_memory(path) for path in INVALID}
    examined = {path: of for path, of in made.items() if of}
    for path, of in examined.items():
        found = {local(one.shape) for node in of for one in without_class(CHECKS.check(node, BASE))}
        name = path.name.split(".")[0]
        assert found == (set() if name in UNSEEN else {name}), path.name
    assert len(examined) > 100


WORDS: Final = {
    of: Words(
        properties=tuple(one.term for one in of.properties)[:4] + tuple(one.term for one in of.properties)[-3:],
        ordered=tuple(one.term for one in of.properties if one.range in {"xsd:dateTime", "xsd:integer"})
        or tuple(one.term for one in of.properties)[:1],
        classes=(of.name, of.name, "prov:Entity", "ah:SnowflakeObject", "ah:Version", "ah:Query", "ah:Table"),
        nodes=tuple(f"<{whole(one, BASE)}>" for one in IRIS[:12]),
        literals=('"DIRECT"', '"12"', "1", "true", '"1970-01-01T00:00:00Z"^^xsd:dateTime', '""'),
        bounds=("1", "0", '"2024-02-03T08:00:00Z"^^xsd:dateTime', '"M"', "1.5"),
        patterns=('"^$"', '"[0-9]"', '"table"', '"^snowflake"', '"R"'),
        datatypes=("xsd:string", "xsd:integer", "xsd:dateTime", "xsd:boolean", "xsd:date"),
    )
    for of in NODE_CLASSES
}


@pytest.mark.parametrize("of", NODE_CLASSES, ids=lambda of: of.name)
def test_any_shapes_find_the_same_in_nodes_as_in_graphs(of: NodeClass, tmp_path: Path) -> None:
    """What cannot be decided on a node is named, and everything else is decided as the graph decides it."""
    random, found, near = Random(of.name), 0, 0
    for number in range(12):
        file = tmp_path / f"{number}.ttl"
        file.write_text(shapes(random, WORDS[of], 12, ("sh:targetClass", "sh:targetClass", "sh:targetSubjectsOf")))
        every = compiled(shapes_graph([file], own=()))
        checks = Checks(every)
        on_nodes = Shapes(tuple(checks._shapes))
        near += len(checks._shapes)
        for _ in range(12):
            node = drawn(random, of)
            results = without_class(checks.check(node, BASE))
            assert results == on_its_graph(node, BASE, on_nodes), f"{node}\n{file.read_text()}"
            found += len(results)
    assert near > 30
    assert found > 100


def test_shapes_that_look_further_are_named_and_not_checked(tmp_path: Path) -> None:
    (tmp_path / "far.ttl").write_text(
        PREFIXES
        + """
        ex:Far a sh:NodeShape ; sh:targetClass ah:Table ; sh:property ex:Column, ex:Near .
        ex:Near a sh:PropertyShape ; sh:path ah:domain ; sh:minLength 1 .
        ex:Column a sh:PropertyShape ; sh:path [ sh:inversePath ah:columnOf ] ; sh:minCount 1 .
        ex:Objects a sh:NodeShape ; sh:targetObjectsOf ah:columnOf ; sh:nodeKind sh:IRI .
        ex:Named a sh:NodeShape ; sh:targetNode <snowflake://ACME-PROD/table/1> ; sh:class ah:Table .
        ex:Labelled a sh:PropertyShape ; sh:targetClass ah:Column ; sh:path ah:columnOf ;
            sh:node [ sh:property [ sh:path rdfs:label ; sh:minCount 1 ] ] .
        ex:Exact a sh:PropertyShape ; sh:targetClass ah:Column ; sh:path ah:columnOf ; sh:class ah:ExternalTable .
        ex:Same a sh:PropertyShape ; sh:targetClass ah:Column ; sh:path ah:columnOf ;
            sh:or ( [ sh:equals rdfs:label ] ) .
        ex:Closed a sh:PropertyShape ; sh:targetClass ah:Column ; sh:path ah:columnOf ; sh:closed true .
        ex:Who a sh:PropertyShape ; sh:targetClass ah:Version ; sh:path prov:wasGeneratedBy ; sh:property ex:Tag .
        ex:Tag a sh:PropertyShape ; sh:path ah:queryTag ; sh:minCount 1 .
        """
    )
    checks = Checks.load([tmp_path])
    assert [one.replace("https://example.org/", "ex:") for one in checks.neighbourhood.names] == [
        "ex:Far",
        "ex:Labelled",
        "ex:Exact",
        "ex:Same",
        "ex:Closed",
    ]
    words = [one.replace("https://example.org/", "ex:").replace(AH, "ah:") for one in checks.needs_graph]
    assert words == [
        "ex:Objects: sh:targetObjectsOf",
        "ex:Named: sh:targetNode, since the node may be absent",
        "ex:Who (ex:Tag): the path ah:queryTag goes on from an ah:Execution, beyond an object's surroundings",
    ]
    assert all(checks.check(node, BASE) == [] for node in NODES)


def test_the_projects_own_shapes_need_no_more_than_a_node() -> None:
    assert CHECKS.needs_graph == []
    assert not CHECKS.neighbourhood


@pytest.mark.parametrize(
    ("name", "path", "is_wrong"),
    [
        ("ah:Query", "query/1", False),
        ("ah:UnrecordedQuery", "query/1", False),
        ("ah:Query", "user/1", True),
        ("ah:SnowflakeObject", "table/1", True),
        ("ah:User", "user/A/B", True),
    ],
)
def test_a_node_has_the_class_that_its_iri_says(name: str, path: str, *, is_wrong: bool) -> None:
    of = class_named(name)
    like = next(node for node in NODES if node.of is of)
    types = of.types if of.typed else like.types
    found = [one for one in CHECKS.check(like._replace(iri=path, types=types), BASE) if one.shape == WRONG_CLASS]
    assert [one.focus for one in found] == ([BASE + path] if is_wrong else [])
    assert all(one.severity == "Violation" and class_of(path, BASE) in one.message for one in found)


@pytest.mark.parametrize("base", [BASE, "https://example.org/kg/", "snowflake://ACME-PROD/below/"])
@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("query/q", "ah:Query"),
        ("query/q/access/direct/view/12", "ah:Access"),
        ("query/q/enforced/masking-policy/7/on/view/12", "ah:PolicyEnforcement"),
        ("query/q/enforced-by-provider/masking-policy/7/on/view/12", "ah:PolicyEnforcement"),
        ("query/q/join/view/12/with/table/11", "ah:Join"),
        ("query/q/association/0", "ah:AgentAssociation"),
        ("query/q/change/table/13", "ah:Change"),
        ("query/q/change/table/13/setting/tags/T", "ah:Setting"),
        ("account", "ah:Account"),
        ("organization", "ah:Organization"),
        ("user/ETL", "ah:User"),
        ("agent/type/CORTEX_AGENT/id/a-1", "ah:SoftwareAgent"),
        ("table/13", "ah:Table"),
        ("table/name/D.S.T", "ah:Table"),
        ("table/name/D.S.T/column/C", "ah:Column"),
        ("table/13/column/C", "ah:Column"),
        ("table/13/called/2024/D.S.T", "ah:ObjectName"),
        ("table/13/version/q/derivation/C/direct/view/12/column/C", "ah:ColumnDerivation"),
        ("table/13/version/q/column/C", "ah:ColumnVersion"),
        ("table/13/before/q-1/column/C", "ah:ColumnVersion"),
        ("table/13/version-after-drop/q/column/C", "ah:ColumnVersion"),
        ("table/13/version/q", "ah:Version"),
        ("table/13/before/q-1", "ah:Version"),
        ("location/s3%3A%2F%2Fb/version-after-drop/q", "ah:Version"),
        ("location/gopher", "ah:Location"),
        ("masking-policy/7", "ah:MaskingPolicy"),
        ("projection-policy/7", "ah:Policy"),
        ("user-stage/U", "ah:UserStage"),
        ("notebook/5", "ah:SnowflakeObject"),
    ],
)
def test_the_class_that_an_iri_says(path: str, name: str, base: str) -> None:
    """As a path, whole, of another account below the base, and of another account."""
    assert class_of(path, base) == name
    assert class_of(base + path, base) == name
    assert class_of(f"{base}account/O-B/{path}", base) == name
    assert class_of(f"account/O-B/{path}", base) == name
    assert class_of(f"snowflake://O-B/{path}", base) == name
    assert class_of(f"s3://bucket/{path}", base) == "ah:Location"


def test_the_cache_of_references_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("exporter.graph.shapes.classes.REMEMBERED", 10)
    references = References(iri("ah:Query").value, BASE)
    assert all(references(f"query/{number}") for number in range(100))
    assert not references("user/1")
    assert 0 < len(references.passed) <= 10


def test_a_node_refers_under_any_base() -> None:
    for base in (BASE, "https://example.org/kg/", BASE):
        assert [one for node in NODES for one in CHECKS.check(node, base)] == []


def test_the_classes_of_a_node_have_no_class_by_their_iris(tmp_path: Path) -> None:
    """An IRI that is not below the base is a location outside, but not that of a class."""
    rule = "ex:Typed a sh:PropertyShape ; sh:targetClass ah:Query ; sh:path rdf:type ; sh:class ah:Location ."
    (tmp_path / "rules.ttl").write_text(PREFIXES + rule)
    query = next(node for node in NODES if node.of.name == "ah:Query")
    found = Checks(compiled(shapes_graph([tmp_path], own=()))).check(query, BASE)
    assert [one.value for one in found] == sorted(iri(name).value for name in query.types)


STEWARD: Final = """
ex:TagWithPolicy a sh:NodeShape ; sh:targetClass ah:Change ; sh:severity sh:Violation ;
    sh:message "A statement that sets the tag PII sets a masking policy too." ;
    sh:or ( [ sh:not [ sh:path ah:hasSetting ; sh:qualifiedMinCount 1 ;
                       sh:qualifiedValueShape [ sh:pattern "/setting/.*tags/[^/]*PII" ] ] ]
            [ sh:path ah:hasSetting ; sh:qualifiedMinCount 1 ;
              sh:qualifiedValueShape [ sh:pattern "/setting/.*maskingPolicies/" ] ] ) .
ex:Spelling a sh:PropertyShape ; sh:targetClass ah:TagSetting ; sh:path ah:value ; sh:severity sh:Warning ;
    sh:message "Values of tags are in lower case." ; sh:pattern "^[a-z]*$" .
"""


def test_a_stewards_rules_are_checked_node_by_node(tmp_path: Path) -> None:
    (tmp_path / "rules.ttl").write_text(PREFIXES + STEWARD)
    checks = Checks.load([tmp_path])
    assert checks.needs_graph == []
    found = [one for node in NODES for one in checks.check(node, BASE)]
    assert [(one.shape, one.focus, one.severity) for one in found] == [
        ("https://example.org/TagWithPolicy", f"{BASE}query/q-2/change/table/13", "Violation")
    ]
    change = next(node for node in NODES if node.of.name == "ah:Change")
    settings = (*change.values["ah:hasSetting"], f"{change.iri}/setting/column/SSN/maskingPolicies/D.S.M")
    assert checks.check(change._replace(values={**change.values, "ah:hasSetting": settings}), BASE) == []
    setting = next(node for node in NODES if node.of.name == "ah:Setting")
    loud = setting._replace(values={**setting.values, "ah:value": ("SENSITIVE",)})
    (warning,) = checks.check(loud, BASE)
    assert (warning.severity, warning.value, warning.message) == (
        "Warning",
        "SENSITIVE",
        "Values of tags are in lower case.",
    )
