"""Shapes that cannot be compiled are refused with the names of shape and file; nothing is ignored."""

from __future__ import annotations

import gzip
import os
from typing import TYPE_CHECKING, Final

import pytest

from exporter.errors import UsageError
from exporter.graph.shapes.checks import Checks
from exporter.graph.shapes.reading import load, own_files
from exporter.graph.validate import checked
from tests.graph.any_shapes import PREFIXES
from tests.graph.shape_graphs import VALID

if TYPE_CHECKING:
    from pathlib import Path

OWL: Final = "@prefix owl: <http://www.w3.org/2002/07/owl#> . "
NODE: Final = "ex:S a sh:NodeShape ; sh:targetClass ex:C ; "
PROPERTY: Final = "ex:S a sh:PropertyShape ; sh:targetClass ex:C ; sh:path ex:p ; "
NOT_COMPILED: Final = [
    (NODE + 'sh:sparql [ sh:select "SELECT $this { $this ?p ?o }" ] .', "sh:sparql"),
    (NODE + "sh:target [ a sh:SPARQLTarget ] .", "sh:target"),
    (NODE + "sh:rule [ a sh:TripleRule ] .", "sh:rule"),
    (NODE + "sh:js [] .", "sh:js"),
    (NODE + "sh:expression [] .", "sh:expression"),
    (NODE + "sh:minimumCount 1 .", "sh:minimumCount"),
    (NODE + "sh:closed true ; sh:ignoreProperties ( rdf:type ) .", "sh:ignoreProperties"),
    (NODE + "sh:nodeShape ex:T .", "sh:nodeShape"),
    (PROPERTY + "sh:singleLine true .", "sh:singleLine"),
    (PROPERTY + "sh:reifierShape [] .", "sh:reifierShape"),
    (NODE + "sh:nodeKind sh:IRI . ex:My a sh:ConstraintComponent ; sh:parameter [ sh:path ex:x ] .", "sh:"),
    (NODE + "sh:nodeKind sh:IRI . ex:T a sh:SPARQLTargetType .", "the class sh:SPARQLTargetType"),
    (NODE + "sh:nodeKind sh:IRI . <> sh:entailment <http://www.w3.org/ns/entailment/RDFS> .", "sh:entailment"),
    (PROPERTY + "sh:datatype rdfs:Literal .", "sh:datatype http://www.w3.org/2000/01/rdf-schema#Literal"),
    (PROPERTY + 'sh:pattern "a" ; sh:flags "s" .', 'sh:flags "s"'),
    (PROPERTY + 'sh:pattern "\\\\p{Lu}" .', "sh:pattern"),
    (PROPERTY + 'sh:pattern "(" .', "sh:pattern"),
    (NODE + "sh:property [ sh:path [ sh:inversePath ( ex:p ex:q ) ] ] .", "the inverse of a sequence"),
    (NODE + "sh:node ex:S .", "a shape that refers to itself"),
    (NODE + "sh:property [ sh:path ex:p ; sh:not ex:S ] .", "a shape that refers to itself"),
    (NODE + "sh:or ( [ sh:and ( [ sh:path ex:p ; sh:node ex:S ] ) ] ) .", "a shape that refers to itself"),
    (PROPERTY + "sh:qualifiedValueShape [ sh:property ex:S ] ; sh:qualifiedMinCount 1 .", "refers to itself"),
]
ILL_FORMED: Final = [
    (NODE + "sh:minCount 1 .", "sh:minCount has no meaning without sh:path"),
    (NODE + "sh:uniqueLang true .", "sh:uniqueLang has no meaning without sh:path"),
    (NODE + "sh:lessThan ex:q .", "sh:lessThan has no meaning without sh:path"),
    (NODE + "sh:path ex:p .", "a node shape has no sh:path"),
    ("ex:S a sh:PropertyShape ; sh:targetClass ex:C .", "a property shape takes sh:path"),
    (PROPERTY + "sh:path ex:q .", "sh:path 2 times"),
    (PROPERTY + "sh:minCount 1, 2 .", "sh:minCount 2 times"),
    (PROPERTY + "sh:severity sh:Info, sh:Warning .", "sh:severity 2 times"),
    (PROPERTY + 'sh:minCount "1" .', "sh:minCount takes a whole number"),
    (PROPERTY + "sh:maxLength -1 .", "sh:maxLength takes a whole number"),
    (PROPERTY + "sh:minInclusive ex:x .", "sh:minInclusive takes a literal"),
    (PROPERTY + 'sh:class "C" .', "sh:class takes an IRI"),
    (PROPERTY + "sh:nodeKind sh:Iri .", "sh:nodeKind"),
    (PROPERTY + 'sh:severity "Warning" .', "sh:severity takes an IRI"),
    (PROPERTY + 'sh:deactivated "yes" .', "sh:deactivated takes true or false"),
    (PROPERTY + 'sh:uniqueLang "1"^^xsd:boolean .', "sh:uniqueLang takes true or false"),
    (PROPERTY + "sh:closed 1 .", "sh:closed takes true or false"),
    (PROPERTY + "sh:in ex:x .", "sh:in takes a list"),
    (PROPERTY + "sh:or () .", "sh:or takes a list of 1 at least"),
    (PROPERTY + "sh:in _:l . _:l rdf:first 1 ; rdf:rest _:l .", "sh:in takes a list"),
    (PROPERTY + "sh:languageIn ( ex:en ) .", "sh:languageIn takes a literal"),
    (PROPERTY + 'sh:flags "i" .', "sh:flags has no meaning without sh:pattern"),
    (NODE + "sh:ignoredProperties ( rdf:type ) .", "sh:ignoredProperties has no meaning without sh:closed"),
    (PROPERTY + "sh:qualifiedMinCount 1 .", "sh:qualifiedMinCount has no meaning without sh:qualifiedValueShape"),
    (PROPERTY + "sh:qualifiedValueShape [ sh:nodeKind sh:IRI ] .", "sh:qualifiedValueShape has no meaning without"),
    (NODE + "sh:property [ sh:nodeKind sh:IRI ] .", "sh:property takes a shape with sh:path"),
    (NODE + "sh:node [ sh:path ex:p ; sh:minCount 1 ] .", "sh:node takes a shape without sh:path"),
    (NODE + "sh:node ex:Nowhere .", "a shape that no file describes: https://example.org/Nowhere"),
    (NODE + 'sh:not "x" .', "a shape that no file describes: x"),
    (NODE + "sh:property [ sh:path ( ex:p ) ] .", "sh:path takes a list of 2 at least, and has 1"),
    (
        NODE + "sh:property [ sh:path [ sh:alternativePath ( ex:p ) ] ] .",
        "sh:path takes a list of 2 at least, and has 1",
    ),
    (NODE + "sh:property [ sh:path [] ] .", "sh:path takes an IRI or one path"),
    (NODE + 'sh:property [ sh:path "p" ] .', "sh:path takes an IRI or one path"),
    ('ex:S a sh:NodeShape ; sh:targetClass "C" .', "sh:targetClass takes an IRI"),
]


@pytest.mark.parametrize(("turtle", "words"), [*NOT_COMPILED, *ILL_FORMED])
def test_a_shape_is_refused_by_name(turtle: str, words: str, tmp_path: Path) -> None:
    """The file, and what it is; the shape, where the construct is its own."""
    file = tmp_path / "mine.ttl"
    file.write_text(PREFIXES + turtle, "utf-8")
    with pytest.raises(UsageError) as refused:
        Checks.load([tmp_path])
    said = str(refused.value)
    assert said.startswith(f"{file}: ")
    assert words in said
    assert "https://example.org/" in said or "file://" in said


def test_the_error_says_what_to_write_instead(tmp_path: Path) -> None:
    (tmp_path / "mine.ttl").write_text(PREFIXES + NOT_COMPILED[0][0], "utf-8")
    with pytest.raises(UsageError, match=r"docs/shapes\.md lists what is; `exporter validate --by pyshacl` checks it"):
        load([tmp_path])


def test_terms_for_people_and_forms_constrain_nothing(tmp_path: Path) -> None:
    (tmp_path / "mine.ttl").write_text(
        PREFIXES
        + PROPERTY
        + 'sh:name "n" ; sh:description "d"@en ; sh:order 1 ; sh:group ex:G ; sh:defaultValue 5 ; ex:own "anything" .\n'
        + "ex:G a sh:PropertyGroup . <> a <http://www.w3.org/2002/07/owl#Ontology> ; "
        + 'sh:declare [ sh:prefix "ex" ; sh:namespace "https://example.org/"^^xsd:anyURI ] .',
        "utf-8",
    )
    assert any(shape.name == "https://example.org/S" for shape in load([tmp_path]).every)


def test_shipped_shapes_cannot_be_changed(tmp_path: Path) -> None:
    """Nobody switches one off in passing, or adds to it; but it may be referred to."""
    own = "<https://w3id.org/access-history/shapes#Query>"
    (tmp_path / "mine.ttl").write_text(f"{PREFIXES} {own} sh:deactivated true .", "utf-8")
    with pytest.raises(UsageError, match="is a shape of the exporter, which cannot be changed"):
        load([tmp_path])
    (tmp_path / "mine.ttl").write_text(f"{PREFIXES} {NODE} sh:node {own} .", "utf-8")
    assert load([tmp_path]).targeted


def test_a_folder_of_shapes_may_be_given_twice_and_so_may_the_exporters_own(tmp_path: Path) -> None:
    (tmp_path / "mine.ttl").write_text(PREFIXES + NODE + "sh:nodeKind sh:IRI .", "utf-8")
    once = {shape.name for shape in load([tmp_path]).every}
    again = load([own_files()[0].parent, tmp_path, tmp_path, tmp_path / "mine.ttl"]).every
    assert {shape.name for shape in again} == once
    assert len(again) == len(once)


@pytest.mark.parametrize("is_turned", [False, True])
@pytest.mark.parametrize(
    "mild",
    [f"{NODE} sh:nodeKind sh:IRI ; sh:severity sh:Warning .", "ex:S sh:severity sh:Info .", "ex:S sh:message 'x' ."],
)
def test_a_shape_in_two_files_is_refused_in_any_order(tmp_path: Path, mild: str, *, is_turned: bool) -> None:
    """Together they would be one shape: of two severities, the one that comes first would count."""
    files = {"strict": f"{NODE} sh:nodeKind sh:IRI .", "mild": mild}
    for name, shape in files.items():
        (tmp_path / f"{name}.ttl").write_text(PREFIXES + shape, "utf-8")
    every = sorted((tmp_path / f"{name}.ttl" for name in files), reverse=is_turned)
    with pytest.raises(UsageError, match=rf"{every[1].name}: .*is described in .*{every[0].name}, too"):
        load(every)
    assert load([tmp_path / "strict.ttl"]).targeted


def test_a_file_may_deactivate_the_shape_of_another(tmp_path: Path) -> None:
    (tmp_path / "strict.ttl").write_text(f"{PREFIXES} {NODE} sh:nodeKind sh:IRI .", "utf-8")
    (tmp_path / "a-week.ttl").write_text(f"{PREFIXES} {NODE.split()[0]} sh:deactivated true .", "utf-8")
    both = [tmp_path / "strict.ttl", tmp_path / "a-week.ttl"]
    own = {shape.name for shape in load().targeted}
    assert {shape.name for shape in load(both[:1]).targeted} > own
    for every in (both, both[::-1]):
        assert {shape.name for shape in load(every).targeted} == own


@pytest.mark.parametrize(
    "name",
    [
        *("more.rdf", "more.ttl.gz", "more.TTL", "more.turtle", "more.json", "more.xml", "more.nquads", "more.trix"),
        *("more.hext", "finance/more.ttl"),
    ],
)
def test_shapes_that_would_not_be_read_are_refused(name: str, tmp_path: Path) -> None:
    (tmp_path / "finance").mkdir()
    (tmp_path / "strict.ttl").write_text(f"{PREFIXES} {NODE} sh:nodeKind sh:IRI .", "utf-8")
    more = f"{PREFIXES} {NODE} sh:minCount 1 .".encode()
    for written in (more, more.replace(b"http://www.w3.org/ns/shacl#", b"https://www.w3.org/ns/shacl/")):
        (tmp_path / name).write_bytes(gzip.compress(written) if name.endswith(".gz") else written)
        with pytest.raises(UsageError, match=f"{name}: has shapes that would not be read"):
            load([tmp_path])
    if name == "finance/more.ttl":
        (tmp_path / name).write_text(f"{PREFIXES} ex:Other sh:targetClass ah:Query ; sh:nodeKind sh:IRI .", "utf-8")
        assert load([tmp_path, tmp_path / "finance"]), "it is given, too"


def test_shapes_in_the_compact_syntax_are_refused(tmp_path: Path) -> None:
    (tmp_path / "strict.ttl").write_text(f"{PREFIXES} {NODE} sh:nodeKind sh:IRI .", "utf-8")
    (tmp_path / "more.shaclc").write_text("shapeClass ex:C { ex:p [1..*] . }", "utf-8")
    with pytest.raises(UsageError, match=r"more\.shaclc: has shapes that would not be read"):
        load([tmp_path])


def test_links_and_pipes_in_the_place_of_shapes_are_refused(tmp_path: Path) -> None:
    """A disk that is not mounted, a folder that is not followed: their shapes would not apply."""
    rules, other = tmp_path / "rules", tmp_path / "other"
    rules.mkdir()
    other.mkdir()
    (rules / "strict.ttl").write_text(f"{PREFIXES} {NODE} sh:nodeKind sh:IRI .", "utf-8")
    (other / "a.ttl").write_text(f"{PREFIXES} ex:Other sh:targetClass ah:Query ; sh:nodeKind sh:IRI .", "utf-8")
    for make, words in (
        (lambda: (rules / "b.ttl").symlink_to("gone.ttl"), "b.ttl: is a link to nothing"),
        (lambda: os.mkfifo(rules / "b.ttl"), "b.ttl: is a link to nothing, a pipe"),
        (lambda: (rules / "b.ttl").symlink_to(other), "b.ttl: has shapes that would not be read"),
    ):
        make()
        with pytest.raises(UsageError, match=words):
            load([rules])
        (rules / "b.ttl").unlink()
    (rules / "b.ttl").symlink_to(other / "a.ttl")
    assert sum(shape.name.endswith("Other") for shape in load([rules]).every) == 1


def test_what_is_imported_has_to_be_given(tmp_path: Path) -> None:
    imports = "<https://example.org/all> a owl:Ontology ; owl:imports <https://example.org/strict>, ah: ."
    (tmp_path / "all").mkdir()
    (tmp_path / "all" / "all.ttl").write_text(f"{PREFIXES} {OWL} {imports} {NODE} sh:nodeKind sh:IRI .", "utf-8")
    with pytest.raises(UsageError, match=r"all\.ttl: imports .*example.org/strict.* \(owl:imports\), which is not"):
        load([tmp_path / "all"])
    other = "<https://example.org/strict> a owl:Ontology . ex:Other sh:targetClass ah:Query ; sh:nodeKind sh:IRI ."
    (tmp_path / "other.ttl").write_text(f"{PREFIXES} {OWL} {other}", "utf-8")
    assert load([tmp_path / "all", tmp_path / "other.ttl"]).every


@pytest.mark.parametrize("name", ["README.md", "tests/data.ttl", "tests/data.ttl.gz", "..data/strict.ttl"])
def test_beside_shapes_there_may_be_other_files(name: str, tmp_path: Path) -> None:
    """Also hidden ones: as a ConfigMap of Kubernetes is mounted, its files are links into a hidden folder."""
    (tmp_path / "strict.ttl").write_text(f"{PREFIXES} {NODE} sh:nodeKind sh:IRI .", "utf-8")
    once = {shape.name for shape in load([tmp_path]).every}
    (tmp_path / name).parent.mkdir(exist_ok=True)
    has_shapes = name.startswith("..")
    (tmp_path / name).write_text(f"{PREFIXES} {NODE} sh:minCount 1 ." if has_shapes else "<a:a> <a:b> <a:c> .", "utf-8")
    assert {shape.name for shape in load([tmp_path]).every} == once


def test_a_folder_without_shapes_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="holds no shapes"):
        load([tmp_path])
    with pytest.raises(UsageError, match="nowhere: does not exist"):
        load([tmp_path / "nowhere"])
    (tmp_path / "mine.ttl").write_text("ex:S a", "utf-8")
    with pytest.raises(UsageError, match=r"mine\.ttl: is not valid Turtle"):
        load([tmp_path])


SPARQL = "ex:S a sh:NodeShape ; sh:targetClass ah:Table ; sh:sparql {} ."
NO_SPARQL = {
    '[ sh:message "x" ]': "takes one sh:select, and has 0",
    '[ sh:ask "ASK { $this ?p ?o }" ]': "takes one sh:select, and has 0",
    '[ sh:select "SELECT $this WHERE {$this a ?x}", "SELECT $this WHERE {$this ?p ?x}" ]': "takes one sh:select",
    "[ sh:select ex:x ]": "sh:select takes a literal",
    '"SELECT"': "sh:sparql takes a node with sh:select",
    '[ sh:select "CONSTRUCT { $this a ex:X } WHERE { $this a ex:T }" ]': "sh:select takes a SELECT query",
    '[ sh:select "SELECT ?x WHERE { ?x a ex:T }" ]': "has to select $this",
}
TAKEN = '[ sh:select "SELECT $this WHERE { $this a ?x . FILTER(?x = 1) }" ]'


@pytest.mark.parametrize("constraint", NO_SPARQL)
@pytest.mark.parametrize("beside", ["", f", {TAKEN}"])
def test_what_is_no_constraint_in_sparql_is_refused_in_words(constraint: str, beside: str, tmp_path: Path) -> None:
    """By pySHACL with the file and the shape; the compiled shapes do not point at pySHACL then."""
    (tmp_path / "mine.ttl").write_text(PREFIXES + SPARQL.format(constraint + beside), "utf-8")
    (tmp_path / "graph.ttl").write_text("<urn:a> a <urn:b> .", "utf-8")
    with pytest.raises(UsageError) as refused:
        checked(tmp_path / "graph.ttl", shapes_dirs=[tmp_path / "mine.ttl"])[0]
    assert str(refused.value).startswith(f"{tmp_path / 'mine.ttl'}: https://example.org/S: ")
    assert NO_SPARQL[constraint] in str(refused.value)
    with pytest.raises(UsageError, match=r"lists what is\)$"):
        load([tmp_path / "mine.ttl"])


@pytest.mark.parametrize(
    ("query", "is_taken"),
    [
        ("SELECT $this WHERE { $this a ?x }", True),
        ("SELECT DISTINCT ?this ?value WHERE { ?this ?p ?value } # not MINUS", True),
        ("SELECT $this WHERE {", False),
        ("SELECT $this WHERE { $this zz:a ?x }", False),
        ("SELECT $this WHERE { $this a ?x MINUS { $this ?p ?x } }", False),
    ],
)
def test_an_error_points_at_pyshacl_only_if_that_takes_the_query(query: str, *, is_taken: bool, tmp_path: Path) -> None:
    (tmp_path / "mine.ttl").write_text(PREFIXES + SPARQL.format(f'[ sh:select "{query}" ]'), "utf-8")
    (tmp_path / "graph.ttl").write_text("<urn:a> a <urn:b> .", "utf-8")
    with pytest.raises(UsageError) as refused:
        load([tmp_path / "mine.ttl"])
    assert ("`exporter validate --by pyshacl` checks it" in str(refused.value)) == is_taken
    if is_taken:
        assert checked(tmp_path / "graph.ttl", shapes_dirs=[tmp_path / "mine.ttl"])[0] == []


def test_an_error_of_python_is_told_in_words_of_the_shape(tmp_path: Path) -> None:
    own = "ex:S a sh:PropertyShape ; sh:targetNode ex:a ; sh:path ex:p ; sh:minExclusive ex:x ."
    (tmp_path / "mine.ttl").write_text(PREFIXES + own, "utf-8")
    (tmp_path / "graph.ttl").write_text("<https://example.org/a> <https://example.org/p> 1 .", "utf-8")
    with pytest.raises(UsageError, match=r"https://example\.org/S: sh:minExclusive takes a literal"):
        checked(tmp_path / "graph.ttl", shapes_dirs=[tmp_path / "mine.ttl"])[0]


NEVER: Final = {
    "ex:S a sh:NodeShape ; sh:targetClass ah:Tabel ; sh:nodeKind sh:IRI .": "S: ah:Tabel is not in the ontology. Perh",
    PROPERTY + "sh:class ah:Usr .": "ah:Usr is not in the ontology",
    NODE + "sh:property [ sh:path [ sh:inversePath ah:accesedObject ] ; sh:minCount 1 ] .": "Perhaps ah:accessedObject",
    NODE + "sh:closed true ; sh:ignoredProperties ( ah:nmae ) .": "ah:nmae is not in the ontology",
    "ex:S a sh:NodeShape ; sh:nodeKind sh:IRI .": "S: applies to nothing: it has no target",
    "ex:S sh:path ex:p ; sh:minCount 1 .": "S: applies to nothing: it has no target",
    "ex:S a sh:NodeShape ; sh:targetClass ah:accessType ; sh:nodeKind sh:IRI .": "S: ah:accessType is a property",
    "ex:S a sh:NodeShape ; sh:targetSubjectsOf ah:Table ; sh:nodeKind sh:IRI .": "sh:targetSubjectsOf takes a property",
    "ex:S a sh:NodeShape ; sh:targetObjectsOf ah:Table ; sh:nodeKind sh:IRI .": "S: ah:Table is a class, and",
    PROPERTY + "sh:class ah:accessType .": "S: ah:accessType is a property, and sh:class takes a class",
    PROPERTY + "sh:lessThan ah:Query .": "ah:Query is a class, and sh:lessThan takes a property",
    "ex:S sh:targetClass ah:Query ; sh:path ah:Access ; sh:minCount 1 .": "ah:Access is a class, and sh:path takes",
    NODE
    + "sh:property [ sh:path ( ah:hasChange [ sh:inversePath ah:Change ] ) ; sh:minCount 1 ] .": "S: ah:Change is a",
    NODE + "sh:property [ sh:path [ sh:alternativePath ( rdfs:label ah:View ) ] ; sh:minCount 1 ] .": "S: ah:View is a",
    NODE + "sh:closed true ; sh:ignoredProperties ( ah:objectName ah:View ) .": "sh:ignoredProperties takes",
    "ah:Tabel a sh:NodeShape, rdfs:Class ; sh:nodeKind sh:IRI .": "ah:Tabel is not in the ontology. Perhaps ah:Table",
    "ah:accessType a sh:NodeShape, rdfs:Class ; sh:nodeKind sh:IRI .": "ah:accessType is a property, and no class",
    NODE + "sh:nodeKind sh:IRI . ex:C rdfs:subClassOf ah:Tabel .": "C: ah:Tabel is not in the ontology. Perhaps ah:Tab",
    NODE + "sh:nodeKind sh:IRI . ex:C rdfs:subClassOf ah:accessType .": "ah:accessType is a property, and subClassOf",
    NODE + "sh:nodeKind sh:IRI . ex:p rdfs:subPropertyOf ah:acessType .": "p: ah:acessType is not in the ontology",
    NODE + "sh:nodeKind sh:IRI . ex:c a ah:Qeury .": "c: ah:Qeury is not in the ontology. Perhaps ah:Query",
    "": "holds no shapes",
    "ex:G a sh:PropertyGroup .": "holds no shapes",
}


@pytest.mark.parametrize("turtle", NEVER)
def test_what_can_never_apply_is_refused_by_export_and_validate(turtle: str, tmp_path: Path) -> None:
    (tmp_path / "mine.ttl").write_text(PREFIXES + turtle, "utf-8")
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "graph.ttl").write_text(f"{PREFIXES} ex:a a ex:C .", "utf-8")
    with pytest.raises(UsageError) as of_export:
        load([tmp_path / "mine.ttl"])
    assert NEVER[turtle] in str(of_export.value)
    for by in ("pyshacl", "compiled"):
        with pytest.raises(UsageError) as of_validate:
            checked(tmp_path / "data", by=by, shapes_dirs=[tmp_path / "mine.ttl"])
        assert str(of_validate.value) == str(of_export.value), by


GOOD: Final = PREFIXES + "ex:Good a sh:NodeShape ; sh:targetClass ah:User ; sh:property [ sh:path ah:userName ] .\n"
W3: Final = "www.w3.org/ns/shacl"
SHACL: Final = f"http://{W3}#"
OURS: Final = "w3id.org/access-history"
MISSPELT_SHACL: Final = (
    f"https://{W3}#", f"http://{W3}/", f"http://{W3}", f"http://{W3.upper()}#", "http://w3.org/ns/shacl#", f"{W3}#",
    "http://www.w3.org/ns/shcal#", "http://www.w3.org/shacl#", f"htp://{W3}#", "https://example.org/shacl#",
)  # fmt: skip
BEFORE: Final = "ex:S a sh:NodeShape ; sh:targetClass ah:Table ; sh:property [ sh:path {} ; sh:maxCount 0 ] ."
MISSPELT: Final = {
    **{
        f"@prefix sh: <{space}> . {BEFORE.format('rdfs:label')}": f"or @prefix sh: <{SHACL}>"
        for space in MISSPELT_SHACL
    },
    **{
        f"@prefix ah: <{space}> . {BEFORE.format('rdfs:label')}": f"Write https://{OURS}#Table, or @prefix ah: <https:"
        for space in (
            f"http://{OURS}#",
            f"https://{OURS}/",
            f"https://{OURS}",
            f"https://www.{OURS}#",
            f"HTTPS://{OURS}#",
        )
    },
    "@prefix ah: <http://w3id.org/access-history#> . ah:Table a sh:NodeShape, rdfs:Class .": "misspelt. Write https://",
    "@prefix prov: <https://www.w3.org/ns/prov#> . "
    + BEFORE.format("prov:used"): "or @prefix prov: <http://www.w3.org",
    "@prefix prov: <http://www.w3.org/ns/prov/> . "
    + BEFORE.format("prov:used"): "Write http://www.w3.org/ns/prov#used",
    "@prefix dcterms: <https://purl.org/dc/terms/> . " + BEFORE.format("dcterms:hasPart"): "or @prefix dcterms: <http:",
    "@prefix dcterms: <http://purl.org/dc/term/> . " + BEFORE.format("dcterms:title"): "or @prefix dcterms: <http:",
    "@prefix dc: <http://purl.org/dc/elements/1.1#> . " + BEFORE.format("dc:title"): "or @prefix dc: <http://purl",
    "@prefix skos: <http://www.w3.org/2004/02/skos#> . " + BEFORE.format("skos:prefLabel"): "or @prefix skos: <http:",
    "@prefix owl: <http://www.w3.org/2001/07/owl#> . " + BEFORE.format("owl:sameAs"): "or @prefix owl: <http://www.w3",
    BEFORE.format(f"<https://{OURS}/shapes#label>"): f"is no term of the ontology: these are in <https://{OURS}#>",
    f"ex:S a sh:NodeShape ; sh:targetClass <https://{OURS}/shapes#Table> .": "is no term of the ontology: these are",
    "@prefix rdfs: <https://www.w3.org/2000/01/rdf-schema#> . " + BEFORE.format("rdfs:label"): "or @prefix rdfs: <",
    "@prefix xsd: <http://www.w3.org/2001/XMLSchema/> . "
    + BEFORE.format("rdfs:label ; sh:datatype xsd:string"): "Write http://www.w3.org/2001/XMLSchema#string",
    "@prefix owl: <http://www.w3.org/2002/07/owl/> . <> owl:imports ah: .": "or @prefix owl: <http://www.w3.org/2002/07",
    "<> owl:import <https://example.org/strict> .": "owl:import is no term of OWL. Perhaps owl:imports is meant",
    BEFORE.format("rdfs:lable"): "S: rdfs:lable is no term of RDFS. Perhaps rdfs:label is meant",
    BEFORE.format("( ah:readColumn rdf:Type )"): "S: rdf:Type is no term of RDF. Perhaps rdf:type is meant",
    BEFORE.format("prov:wasDerivedForm"): "prov:wasDerivedForm is no term of PROV-O. Perhaps prov:wasDerivedFrom is",
    BEFORE.format(
        "rdfs:label ; sh:not [ sh:datatype xsd:String ]"
    ): "xsd:String is no term of XML Schema. Perhaps xsd:s",
    BEFORE.format('rdfs:label ; sh:not [ sh:hasValue "1"^^xsd:Integer ]'): "xsd:Integer is no term of XML Schema. Perh",
    BEFORE.format('rdfs:label ; sh:not [ sh:in ( "1"^^xsd:numeric ) ]'): "xsd:numeric is no term of XML Schema",
    "ex:S rdf:Type sh:NodeShape ; rdfs:comment 1 .": "S: rdf:Type is no term of RDF. Perhaps rdf:type is meant",
    "ex:C rdfs:subclassOf ah:Table .": "C: rdfs:subclassOf is no term of RDFS. Perhaps rdfs:subClassOf is meant",
    BEFORE.format(f"rdfs:label ; sh:severity <https://{W3}#Warning>"): f"Write {SHACL}Warning, or",
}


@pytest.mark.parametrize("is_beside", [True, False])
@pytest.mark.parametrize("turtle", MISSPELT)
def test_a_misspelt_namespace_or_term_is_refused_beside_good_shapes(
    turtle: str, tmp_path: Path, *, is_beside: bool
) -> None:
    """In the same file, or in another one of the folder: all would conform to what tests nothing."""
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules" / "a.ttl").write_text(GOOD, "utf-8")
    bad = tmp_path / "rules" / ("b.ttl" if is_beside else "a.ttl")
    bad.write_text((PREFIXES if is_beside else GOOD) + turtle, "utf-8")
    (tmp_path / "graph.ttl").write_text(f"{PREFIXES} ex:a a ah:Table .", "utf-8")
    with pytest.raises(UsageError) as of_export:
        load([tmp_path / "rules"])
    assert MISSPELT[turtle] in str(of_export.value)
    assert str(of_export.value).startswith(f"{bad}: ")
    for by in ("pyshacl", "compiled"):
        with pytest.raises(UsageError) as of_validate:
            checked(tmp_path / "graph.ttl", by=by, shapes_dirs=[tmp_path / "rules"])
        assert str(of_validate.value) == str(of_export.value), by


@pytest.mark.parametrize(
    "turtle",
    [
        "ex:o a owl:Ontology ; rdfs:seeAlso <https://www.w3.org/TR/shacl/>, <http://www.w3.org/ns/shacl> .",
        "ex:o <https://purl.org/dc/terms/title> 'Rules' ; <https://www.w3.org/2000/01/rdf-schema#label> 1 .",
        "ex:n a ex:Note ; ex:targetClass ex:C ; ex:path 'x' ; ex:about <http://w3id.org/access-history#Table> .",
        "[] <http://www.w3.org/2001/XMLSchema-instance#type> 'x' ; rdf:_1 ex:a ; ex:q '1'^^<urn:type> .",
        "@prefix ex2: <https://example.org/sub#> . ex2:NodeShape rdfs:subClassOf sh:NodeShape .",
        BEFORE.format("<http://www.w3.org/ns/dcat#dataset>"),
        BEFORE.format("prov:qualifiedGenerationOf"),
        BEFORE.format("prov:has_anchor"),
        BEFORE.format("<https://example.org/xmlschema#integer> ; sh:datatype <http://www.w3.org/2001/XMLSchema#gYear>"),
        BEFORE.format("rdfs:label ; sh:node <https://w3id.org/access-history/shapes#Query>"),
        f"@prefix own: <https://{OURS}/> . ex:S sh:targetClass own:Own ; sh:nodeKind sh:IRI . own:Own a rdfs:Class .",
    ],
)
def test_other_rdf_beside_shapes_is_taken(turtle: str, tmp_path: Path) -> None:
    (tmp_path / "a.ttl").write_text(GOOD, "utf-8")
    (tmp_path / "b.ttl").write_text(PREFIXES + turtle, "utf-8")
    assert load([tmp_path])


@pytest.mark.parametrize(
    "turtle",
    [
        NODE + "sh:class <https://other.example/Absent> .",
        "ex:S a sh:NodeShape ; sh:deactivated true ; sh:nodeKind sh:IRI .",
        "ex:S a sh:NodeShape, rdfs:Class ; sh:nodeKind sh:IRI .",
        "ah:Table a sh:NodeShape, rdfs:Class ; sh:nodeKind sh:IRI .",
        NODE + "sh:node ex:T . ex:T a sh:NodeShape ; sh:nodeKind sh:IRI .",
        NODE + "sh:property [ sh:path rdf:type ; sh:in ( ah:Table ah:View ) ; sh:hasValue ah:Table ] .",
        NODE + "sh:property [ sh:path ah:property ; sh:not [ sh:hasValue ah:objectName ] ] .",
        NODE + "sh:nodeKind sh:IRI . ex:C rdfs:subClassOf ah:Table, ah:Own . ah:Own a rdfs:Class .",
        "ah:Mine a sh:NodeShape ; sh:targetClass ah:Table ; sh:node ah:Part . ah:Part sh:nodeKind sh:IRI .",
    ],
)
def test_what_may_apply_is_taken(turtle: str, tmp_path: Path) -> None:
    (tmp_path / "mine.ttl").write_text(PREFIXES + turtle, "utf-8")
    (tmp_path / "prefixes.ttl").write_text(f"{PREFIXES} ex:G a sh:PropertyGroup .", "utf-8")
    assert load([tmp_path])


IGNORED: Final = {
    PROPERTY + "sh:minimumCount 4 .": "sh:minimumCount has no effect",
    'ex:S a sh:NodeShape ; sh:targetClass "ah:Table" ; sh:nodeKind sh:IRI .': "sh:targetClass",
    NODE + "sh:rule [ a sh:TripleRule ] .": "sh:rule has no effect",
    NODE + "sh:node ex:Missing .": "refers to a shape that no file describes",
    NODE + "sh:and ( ex:Missing ) .": "refers to a shape that no file describes",
    NODE + "sh:nodeKind sh:IRI ; sh:severity sh:Waring .": "sh:Waring is no severity of SHACL",
    NODE + "sh:node ex:A . ex:A sh:node ex:B . ex:B sh:node ex:A .": "a shape that refers to itself",
}


@pytest.mark.parametrize("by", ["pyshacl", "compiled"])
@pytest.mark.parametrize(("shapes", "words"), IGNORED.items())
def test_what_pyshacl_would_ignore_is_refused_by_validate(shapes: str, words: str, by: str, tmp_path: Path) -> None:
    """It says that all conforms, though the shape tests nothing."""
    (tmp_path / "rules.ttl").write_text(PREFIXES + shapes, "utf-8")
    with pytest.raises(
        UsageError, match=words if by == "pyshacl" else words.replace("has no effect", "is not compiled")
    ):
        checked(VALID, by=by, shapes_dirs=[tmp_path])


@pytest.mark.parametrize(
    "shapes",
    [
        NODE + 'sh:sparql [ sh:select "SELECT $this { $this ?p ?o }" ] .',
        "ex:S a sh:PropertyShape ; sh:targetClass ex:C ; sh:path [ sh:inversePath ( ex:p ex:q ) ] ; sh:maxCount 1 .",
    ],
)
def test_what_pyshacl_applies_and_is_not_compiled_is_no_fault_there(shapes: str, tmp_path: Path) -> None:
    (tmp_path / "rules.ttl").write_text(PREFIXES + shapes, "utf-8")
    assert checked(VALID, by="pyshacl", shapes_dirs=[tmp_path])
    with pytest.raises(UsageError, match="is not compiled"):
        checked(VALID, by="compiled", shapes_dirs=[tmp_path])


def test_what_is_beside_a_constraint_in_sparql_is_looked_at_too(tmp_path: Path) -> None:
    select = 'sh:sparql [ sh:select "SELECT $this { $this ?p ?o }" ]'
    (tmp_path / "rules.ttl").write_text(f"{PREFIXES}{NODE}{select} ; sh:node ex:Missing .", "utf-8")
    with pytest.raises(UsageError, match="refers to a shape that no file describes"):
        checked(VALID, by="pyshacl", shapes_dirs=[tmp_path])


IN_QUERY: Final = "PREFIX ah: <https://w3id.org/access-history#> SELECT $this ?value WHERE { $this "
MISSPELT_IN_QUERY: Final = {
    IN_QUERY + "ah:lable ?value }": "sh:select: ah:lable is not in the ontology",
    IN_QUERY + "rdfs:lable ?value }": "sh:select: rdfs:lable is no term of RDFS. Perhaps rdfs:label is meant",
    IN_QUERY + "rdfs:label/^ah:acessType* ?value }": "ah:acessType is not in the ontology. Perhaps ah:accessType",
    IN_QUERY + "?p ?value FILTER NOT EXISTS { $this a/rdfs:subClassOf* ah:Tabel } }": "Perhaps ah:Table is meant",
    IN_QUERY + "?p ?value . { SELECT $this { OPTIONAL { $this ah:nmae 1 } } } }": "ah:nmae is not in the ontology",
    IN_QUERY + "?p ?value FILTER(?p IN (ah:nmae, rdfs:label)) }": "ah:nmae is not in the ontology",
    IN_QUERY + "?p ?value FILTER(DATATYPE(?value) = xsd:Integer) }": "xsd:Integer is no term of XML Schema",
    IN_QUERY.replace("https", "http") + "ah:readColumn ?value }": "the namespace of http://w3id.org/access-history#re",
    "SELECT $this WHERE { $this <https://w3id.org/access-history#lable> ?x }": "ah:lable is not in the ontology",
    "SELECT $this WHERE { $this mine:lable ?x }": "ah:lable is not in the ontology",
}
DECLARED: Final = (
    "<https://example.org/o> a owl:Ontology ; "
    "sh:declare [ sh:prefix 'mine' ; sh:namespace 'https://w3id.org/access-history#'^^xsd:anyURI ] . "
)


@pytest.mark.parametrize("query", MISSPELT_IN_QUERY)
def test_a_misspelt_term_in_a_query_is_refused(query: str, tmp_path: Path) -> None:
    (tmp_path / "graph.ttl").write_text("<urn:a> a <urn:b> .", "utf-8")
    constraint = f'[ sh:select """{query}""" ; sh:prefixes <https://example.org/o> ]'
    (tmp_path / "mine.ttl").write_text(PREFIXES + DECLARED + SPARQL.format(constraint), "utf-8")
    with pytest.raises(UsageError) as refused:
        checked(tmp_path / "graph.ttl", shapes_dirs=[tmp_path / "mine.ttl"])
    assert str(refused.value).startswith(f"{tmp_path / 'mine.ttl'}: https://example.org/S: sh:select: ")
    assert MISSPELT_IN_QUERY[query] in str(refused.value)


def test_a_misspelt_term_in_the_query_of_a_component_is_refused(tmp_path: Path) -> None:
    (tmp_path / "graph.ttl").write_text("<urn:a> a <urn:b> .", "utf-8")
    component = (
        "ex:My a sh:ConstraintComponent ; sh:parameter [ sh:path ex:most ] ; "
        "sh:validator [ a sh:SPARQLAskValidator ; sh:ask 'ASK { $value ah:lable ?x }' ; sh:prefixes ex:o ] . "
    )
    own = f"{DECLARED.replace('mine', 'ah')} {component} ex:S a sh:NodeShape ; sh:targetClass ah:Table ; ex:most 1 ."
    (tmp_path / "mine.ttl").write_text(PREFIXES + own, "utf-8")
    with pytest.raises(UsageError, match=r"https://example\.org/My: sh:ask: ah:lable is not in the ontology"):
        checked(tmp_path / "graph.ttl", shapes_dirs=[tmp_path / "mine.ttl"])


@pytest.mark.parametrize(
    "query",
    [
        IN_QUERY + "ah:readColumn/prov:used ?value . ?value <https://other.example/lable> 'ah:lable' } # ah:lable",
        IN_QUERY + "a ah:Own ; $PATH ?value FILTER(?value != 'rdfs:lable') }",
        "SELECT $this WHERE { $this mine:readColumn ?x }",
    ],
)
def test_a_query_with_known_terms_is_taken(query: str, tmp_path: Path) -> None:
    (tmp_path / "graph.ttl").write_text("<urn:a> a <urn:b> .", "utf-8")
    shape = f'[ sh:select """{query}""" ; sh:prefixes <https://example.org/o> ]'
    own = f"{DECLARED} ah:Own a rdfs:Class . {PROPERTY} sh:sparql {shape} ."
    (tmp_path / "mine.ttl").write_text(PREFIXES + own, "utf-8")
    assert checked(tmp_path / "graph.ttl", shapes_dirs=[tmp_path / "mine.ttl"])[0] == []
