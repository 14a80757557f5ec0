"""``exporter validate``: both engines give the same result for any Turtle, also with the user's own shapes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

import pytest
from pyoxigraph import RdfFormat, Store

from exporter.errors import UsageError
from exporter.graph.validate import ENGINES, checked, validate
from tests.graph.any_shapes import PREFIXES
from tests.graph.shape_graphs import AHS, BASE, ROOT, VALID

if TYPE_CHECKING:
    from pathlib import Path

EXAMPLE: Final = ROOT / "examples" / "09-enforced-policy"
_SH: Final = "http://www.w3.org/ns/shacl#"
BY: Final = pytest.mark.parametrize("by", ENGINES)
PII: Final = """
ex:TaggedTableHasPolicy a sh:NodeShape ; sh:targetClass ah:TagSetting ;
    sh:message "A table that is tagged PII has a masking or row access policy." ;
    sh:or (
        [ sh:not [ sh:path ah:element ; sh:hasValue "D.S.PII" ] ]
        [ sh:path ah:validUntil ; sh:minCount 1 ]
        [ sh:path ( ah:settingOn [ sh:inversePath ah:settingOn ] ) ;
          sh:qualifiedValueShape [ sh:class ah:PolicySetting ; sh:property [ sh:path ah:validUntil ; sh:maxCount 0 ] ] ;
          sh:qualifiedMinCount 1 ] ) .
"""


@BY
def test_an_example_conforms(by: str) -> None:
    """And what was validated is counted, so that a wrong folder cannot look like a valid graph."""
    graph, shapes = (Store() for _ in range(2))
    graph.load(path=EXAMPLE / "graph.ttl", format=RdfFormat.TURTLE)
    for file in (ROOT / "shapes").glob("*.ttl"):
        shapes.load(path=file, format=RdfFormat.TURTLE)
    (triples, nodes), (of_shapes,) = (
        [int(value.value) for value in next(iter(store.query(text)))]
        for store, text in (
            (graph, "SELECT (count(*) AS ?triples) (count(DISTINCT ?s) AS ?nodes) { ?s ?p ?o }"),
            (
                shapes,
                f"SELECT (count(DISTINCT ?s) AS ?all) {{ {{ ?s a <{_SH}NodeShape> }} UNION {{ ?s <{_SH}path> ?p }} }}",
            ),
        )
    )
    said = f"Validated: 1 file, {triples:,} triples, {nodes:,} nodes, with {of_shapes:,} shapes"
    assert validate(EXAMPLE / "graph.ttl", by=by) == (True, f"Conforms: True\n{said}")
    conforms, text = validate(EXAMPLE / "graph.ttl", by=by, as_json=True)
    assert conforms
    counted = {"files": 1, "triples": triples, "nodes": nodes, "shapes": of_shapes}
    assert json.loads(text) == {"conforms": True, "violations": 0, "counted": counted, "results": []}


@BY
def test_what_does_not_conform(by: str, tmp_path: Path) -> None:
    text = (EXAMPLE / "graph.ttl").read_text("utf-8")
    (tmp_path / "graph.ttl").write_text(text.replace('ah:accessType "BASE"', 'ah:accessType "SIDEWAYS"'), "utf-8")
    conforms, said = validate(tmp_path, by=by, as_json=True)
    assert not conforms
    told = json.loads(said)
    assert told["conforms"] is False
    assert len(told["results"]) == 1
    for one in told["results"]:
        assert list(one) == ["focus", "shape", "path", "value", "severity", "message"]
        assert one["shape"] == f"{AHS}Access-accessType"
        assert one["path"] == "https://w3id.org/access-history#accessType"
        assert (one["value"], one["severity"]) == ("SIDEWAYS", "Violation")
        assert one["message"].startswith("The type of an access is exactly one of DIRECT")
        assert "/access/" in one["focus"]


@BY
def test_the_report_for_people(by: str, tmp_path: Path) -> None:
    (tmp_path / "graph.ttl").write_text(
        PREFIXES + '<https://example.org/user/A> a ah:User, prov:Agent ; rdfs:label "A" ; ah:userName "" .', "utf-8"
    )
    conforms, said = validate(tmp_path, by=by)
    assert not conforms
    assert said.split("\n") == [
        "Conforms: False",
        "Results: 1, of which violations: 1",
        "Validated: 1 file, 4 triples, 1 node, with 334 shapes",
        "",
        "https://example.org/user/A",
        "  Violation: A user needs exactly one non-empty name. Use the column user_name.",
        "    shape https://w3id.org/access-history/shapes#User-userName",
        "    path https://w3id.org/access-history#userName",
        "    value (empty)",
    ]


@BY
def test_a_graph_with_warnings_alone_passes_but_does_not_conform(by: str, tmp_path: Path) -> None:
    """SHACL, section 3.4: a graph conforms only if there are no results, of whatever severity."""
    text = VALID.read_text("utf-8").replace('ah:operation "CREATE"', 'ah:operation "TRANSMUTE"', 1)
    (tmp_path / "graph.ttl").write_text(text, "utf-8")
    is_valid, said = validate(tmp_path / "graph.ttl", by=by)
    assert is_valid
    assert said.startswith("Conforms: False\nResults: 1, of which violations: 0\n")
    told = json.loads(validate(tmp_path / "graph.ttl", by=by, as_json=True)[1])
    assert (told["conforms"], told["violations"], len(told["results"])) == (False, 0, 1)
    assert "Warning: This operation is not known" in said


@BY
def test_a_value_that_is_missing_is_null(by: str, tmp_path: Path) -> None:
    (tmp_path / "graph.ttl").write_text(PREFIXES + '<a:u> a ah:User, prov:Agent ; rdfs:label "A" .', "utf-8")
    _, said = validate(tmp_path, by=by, as_json=True)
    (one,) = json.loads(said)["results"]
    assert (one["focus"], one["value"]) == ("a:u", None)


@BY
def test_own_shapes_are_added_to_the_shipped_ones(by: str, tmp_path: Path) -> None:
    """The steward's rule, in a graph with all that was ever set."""
    (tmp_path / "rules.ttl").write_text(PREFIXES + PII, "utf-8")
    tag = VALID.read_text("utf-8").replace(
        '    ah:validUntil "2024-03-01T00:00:00Z"^^xsd:dateTime .\n', "    ah:comment2 1 .\n"
    )
    now = tag.replace(" ;\n    ah:comment2 1 .\n", " .\n")
    (tmp_path / "tagged.ttl").write_text(now, "utf-8")
    policy = """
<query/q-2/change/table/13/setting/column/SSN/maskingPolicies/D.S.M> a ah:PolicySetting, ah:Setting ;
    ah:property "maskingPolicies" ; ah:settingOn <table/13> .
"""
    (tmp_path / "protected.ttl").write_text(now + policy, "utf-8")
    found = checked(tmp_path / "tagged.ttl", by=by, shapes_dirs=[tmp_path / "rules.ttl"])[0]
    focus = f"{BASE}query/q-2/change/table/13/setting/column/SSN/tags/D.S.PII"
    message = "A table that is tagged PII has a masking or row access policy."
    assert [one[:6] for one in found] == [
        (focus, "https://example.org/TaggedTableHasPolicy", None, focus, "Violation", message)
    ]
    assert [one.component for one in found] == ["http://www.w3.org/ns/shacl#OrConstraintComponent"]
    assert checked(tmp_path / "protected.ttl", by=by, shapes_dirs=[tmp_path / "rules.ttl"])[0] == []
    assert checked(VALID, by=by, shapes_dirs=[tmp_path / "rules.ttl"])[0] == []


@BY
def test_classes_are_those_of_the_graph_and_of_the_ontology(by: str, tmp_path: Path) -> None:
    (tmp_path / "graph.ttl").write_text(
        PREFIXES + "ex:Robot rdfs:subClassOf ah:User . <a:r> a ex:Robot, prov:Agent .\n<a:t> a ah:ExternalTable .",
        "utf-8",
    )
    shapes = {one.shape.removeprefix(AHS) for one in checked(tmp_path, by=by)[0]}
    assert {"User-userName", "User-label", "SnowflakeObject-domain", "SnowflakeObject-type"} == shapes


@BY
def test_every_syntax_and_blank_nodes_of_several_files(by: str, tmp_path: Path) -> None:
    line = "_:x <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <https://w3id.org/access-history#Join> .\n"
    for name in ("a.nt", "b.nt"):
        (tmp_path / name).write_text(line, "utf-8")
    found = checked(tmp_path, by=by)[0]
    assert {one.focus for one in found} == {"_:b1", "_:b2"}
    assert {one.shape.removeprefix(AHS) for one in found} == {"Join", "Join-leftObject", "Join-rightObject"}


@BY
@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("nowhere", None, "nowhere"),
        ("empty.ttl", "", "holds no triples"),
        ("events.json", '{"eventType": "COMPLETE"}', "is not valid Turtle"),
        ("broken.ttl", "<a:b> <a:c> .", "is not valid Turtle"),
    ],
)
def test_what_cannot_be_checked(by: str, name: str, text: str | None, words: str, tmp_path: Path) -> None:
    if text is not None:
        (tmp_path / name).write_text(text, "utf-8")
    with pytest.raises(UsageError, match=words):
        validate(tmp_path / name, by=by)


def test_features_that_only_pyshacl_supports(tmp_path: Path) -> None:
    (tmp_path / "rules.ttl").write_text(
        PREFIXES
        + """ex:S a sh:NodeShape ; sh:targetClass ah:User ; sh:message "no" ;
        sh:sparql [ a sh:SPARQLConstraint ; sh:select "SELECT $this WHERE { $this ?p ?o }" ] .""",
        "utf-8",
    )
    found = checked(VALID, by="pyshacl", shapes_dirs=[tmp_path])[0]
    assert {one.shape for one in found} == {"https://example.org/S"}
    with pytest.raises(UsageError, match="sh:sparql is not compiled"):
        checked(VALID, by="compiled", shapes_dirs=[tmp_path])[0]


def test_compiled_shapes_refuse_values_that_pyshacl_cannot_order(tmp_path: Path) -> None:
    """A time that is none: pySHACL stops. By the recommendation, what cannot be compared is not in order."""
    text = VALID.read_text("utf-8").replace('ah:validFrom "2024-02-03T08:00:00Z"', 'ah:validFrom "on Saturday"', 1)
    (tmp_path / "graph.ttl").write_text(text, "utf-8")
    found = {one.shape.removeprefix(AHS) for one in checked(tmp_path, by="compiled")[0]}
    assert found == {"ObjectName-validFrom", "ObjectName-endsAfterStart", "ObjectName-seenAfterStart"}
    with pytest.raises(UsageError, match=r"pySHACL cannot check this: .* Try --by compiled"):
        checked(tmp_path, by="pyshacl")[0]
