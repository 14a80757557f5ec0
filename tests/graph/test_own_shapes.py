"""``export --shapes``: a user's own shapes are added to the shipped ones, and refuse or warn in the same way."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

import pytest
from pyoxigraph import NamedNode, RdfFormat, Store

from exporter.cli import main
from exporter.graph.validate import checked
from tests import exports
from tests.input.bad_rows import GOOD

MY: Final = "https://example.org/shapes#"
SH: Final = "http://www.w3.org/ns/shacl#"
PREFIXES: Final = f"""
@prefix sh: <{SH}> .
@prefix ah: <https://w3id.org/access-history#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix my: <{MY}> .
"""
IN_CAPITALS: Final = """
my:Capitals a sh:NodeShape ;
    sh:targetClass ah:User ;
    sh:property my:UserInCapitals .
my:UserInCapitals a sh:PropertyShape ;
    sh:path ah:userName ;
    sh:pattern "^[^a-z]+$" ;
    sh:severity sh:SEVERITY ;
    sh:message "users are written in capitals" .
"""
ROWS: Final = [GOOD, {**GOOD, "query_id": "of-root", "user_name": "root"}]


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    return exports.ndjson(ROWS, tmp_path / "rows.ndjson")


def shapes(folder: Path, text: str) -> str:
    """A folder with these shapes."""
    (folder / "shapes").mkdir()
    (folder / "shapes" / "own.ttl").write_text(PREFIXES + text, encoding="utf-8")
    return str(folder / "shapes")


def report_of(out: Path) -> Store:
    """The validation report, as any tool for RDF reads it."""
    store = Store()
    store.load(path=out / "shacl-report.ttl", format=RdfFormat.TURTLE)
    return store


def test_a_violation_refuses_who_mentions_the_node(rows: Path, tmp_path: Path) -> None:
    own = shapes(tmp_path, IN_CAPITALS.replace("SEVERITY", "Violation"))
    assert exports.export([rows], tmp_path / "out", "--shapes", own) == 1
    (aside,) = exports.quarantine(tmp_path / "out")
    assert aside["line"] == 2
    assert f"{MY}UserInCapitals" in aside["reason"]
    assert "users are written in capitals" in aside["reason"]
    assert exports.report(tmp_path / "out")["violations"] == {f"{MY}UserInCapitals": 1}
    assert exports.report(tmp_path / "out")["exported"] == 1
    said = " ".join(chain for triple in exports.triples(tmp_path / "out") for chain in triple)
    assert "root" not in said + " ".join(exports.events(tmp_path / "out"))
    assert "JSMITH" in said


@pytest.mark.parametrize("severity", ["Warning", "Info"])
def test_less_than_a_violation_is_only_reported(severity: str, rows: Path, tmp_path: Path) -> None:
    own = shapes(tmp_path, IN_CAPITALS.replace("SEVERITY", severity))
    assert exports.export([rows], tmp_path / "out", "--shapes", own, "--strict") == 0
    report = exports.report(tmp_path / "out")
    assert (report["exported"], report["quarantined"], report["violations"]) == (2, 0, {})
    assert report["warnings"] == {f"{MY}UserInCapitals": 1}
    found = report_of(tmp_path / "out")
    assert [one.object.value for one in found.quads_for_pattern(None, NamedNode(f"{SH}conforms"), None)] == ["false"]
    severities = found.quads_for_pattern(None, NamedNode(f"{SH}resultSeverity"), None)
    assert [one.object.value for one in severities] == [f"{SH}{severity}"]


def test_the_same_shapes_find_the_same_in_a_graph_that_is_there(
    rows: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own = shapes(tmp_path, IN_CAPITALS.replace("SEVERITY", "Violation"))
    assert exports.export([rows], tmp_path / "out") == 0
    capsys.readouterr()
    for engine in ("pyshacl", "compiled"):
        assert main(["validate", str(tmp_path / "out"), "--shapes", own, "--by", engine, "--json"]) == 1
        (result,) = json.loads(capsys.readouterr().out)["results"]
        assert result["shape"] == f"{MY}UserInCapitals"
        assert result["value"] == "root"


NAMELESS: Final = """
my:Users a sh:NodeShape ;
    sh:targetClass ah:User ;
    sh:property [ sh:path [ sh:alternativePath ( ah:userName rdfs:label ) ] ; sh:pattern "^[^a-z]+$" ] .
"""


def test_shapes_and_paths_without_a_name_leave_a_report_that_others_read(rows: Path, tmp_path: Path) -> None:
    assert exports.export([rows], tmp_path / "out", "--shapes", shapes(tmp_path, NAMELESS)) == 1
    assert len(report_of(tmp_path / "out")) > 5


@pytest.mark.parametrize("by", ["pyshacl", "compiled"])
def test_a_part_without_a_name_is_told_by_the_shape_that_it_is_part_of(
    by: str, rows: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    part = '[ sh:path ah:userName ; sh:pattern "^[^a-z]+$" ]'
    own = shapes(tmp_path, f"my:Users sh:targetClass ah:User ; sh:or ( {part} ) ; sh:property {part} .")
    assert exports.export([rows], tmp_path / "out") == 0
    capsys.readouterr()
    assert main(["validate", str(tmp_path / "out"), "--shapes", own, "--by", by, "--json"]) == 1
    told = {one["shape"] for one in json.loads(capsys.readouterr().out)["results"]}
    assert told == {f"{MY}Users", f"{MY}Users (its part on https://w3id.org/access-history#userName)"}
    assert exports.export([rows], tmp_path / "refused", "--shapes", own) == 1
    assert set(exports.report(tmp_path / "refused")["violations"]) == told


OWN_SEVERITY: Final = IN_CAPITALS.replace("sh:SEVERITY", "my:Grave")


def test_a_severity_of_ones_own_refuses_as_it_does_in_validate(rows: Path, tmp_path: Path) -> None:
    assert exports.export([rows], tmp_path / "out", "--shapes", shapes(tmp_path, OWN_SEVERITY)) == 1
    assert exports.report(tmp_path / "out")["violations"] == {f"{MY}UserInCapitals": 1}
    severities = report_of(tmp_path / "out").quads_for_pattern(None, NamedNode(f"{SH}resultSeverity"), None)
    assert [one.object.value for one in severities] == [f"{MY}Grave"]


UNUSABLE: Final = {
    "a shape that needs the whole graph": (
        """my:Far a sh:NodeShape ; sh:targetClass ah:Query ;
            sh:property [ sh:path ( <http://www.w3.org/ns/prov#wasAssociatedWith> rdfs:label ) ; sh:minCount 1 ] .""",
        (f"{MY}Far", "exporter validate --shapes"),
    ),
    "a target that the rows may not have": (
        "my:One a sh:NodeShape ; sh:targetNode my:thing ; sh:class ah:User .",
        (f"{MY}One", "sh:targetNode", "exporter validate --shapes"),
    ),
    "SPARQL": (
        """my:Asked a sh:NodeShape ; sh:targetClass ah:User ;
            sh:sparql [ sh:select "SELECT $this WHERE { $this ?p ?o }" ] .""",
        (f"{MY}Asked", "sh:sparql", "own.ttl"),
    ),
    "invalid Turtle": ("my:Asked a", ("own.ttl", "not valid Turtle")),
    "a shipped shape said anew": (
        "<https://w3id.org/access-history/shapes#User> sh:deactivated true .",
        ("own.ttl", "shape of the exporter"),
    ),
}


@pytest.mark.parametrize("name", UNUSABLE)
def test_a_shape_that_an_export_cannot_check_is_refused_with_a_message(
    name: str, rows: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text, words = UNUSABLE[name]
    own = shapes(tmp_path, text)
    before = sorted(path.name for path in tmp_path.iterdir())
    assert exports.export([rows], tmp_path / "out", "--shapes", own) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "Traceback" not in printed.err
    assert [word for word in words if word not in printed.err] == [], printed.err
    assert sorted(path.name for path in tmp_path.iterdir()) == before


@pytest.mark.parametrize("given", ["nowhere", "."])
def test_a_folder_without_shapes(
    given: str, rows: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert exports.export([rows], tmp_path / "out", "--shapes", given) == 2
    assert "Give a folder with your shapes" in capsys.readouterr().err


def test_several_folders_from_a_file_of_settings(rows: Path, tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "other").mkdir()
    folders = [shapes(tmp_path / "one", IN_CAPITALS.replace("SEVERITY", "Warning")), shapes(tmp_path / "other", "")]
    (tmp_path / "other" / "shapes" / "own.ttl").write_text(
        PREFIXES + IN_CAPITALS.replace("Capitals", "LETTERS").replace("SEVERITY", "Info"), encoding="utf-8"
    )
    config = tmp_path / "exporter.toml"
    config.write_text(f"shapes = {json.dumps(folders)}\n", encoding="utf-8")
    assert exports.export([rows], tmp_path / "out", "--config", str(config)) == 0
    assert exports.report(tmp_path / "out")["warnings"] == {f"{MY}UserInCapitals": 1, f"{MY}UserInLETTERS": 1}
    listed = json.loads((tmp_path / "out" / "manifest.json").read_text("utf-8"))["settings"]["shapes"]
    assert listed == folders


def test_the_description_of_the_export_is_validated_as_the_rest_of_the_graph(
    rows: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A validation of DIR had one result more than the export."""
    text = "@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> ."
    text += " my:Labelled a sh:NodeShape ; sh:targetSubjectsOf rdf:type ; sh:property my:Label ."
    text += " my:Label a sh:PropertyShape ; sh:path my:none ; sh:minCount 1 ; sh:severity sh:Warning ."
    own = shapes(tmp_path, text)
    assert exports.export([rows], tmp_path / "out", "--shapes", own) == 0
    report = json.loads((tmp_path / "out" / "report.json").read_text("utf-8"))
    results, _ = checked(tmp_path / "out", by="compiled", shapes_dirs=[Path(own)])
    assert report["warnings"] == {f"{MY}Label": len(results)}
    assert any("/export/" in result.focus for result in results)
    refused = "my:No a sh:NodeShape ; sh:targetClass ah:Export ; sh:property [ sh:path my:none ; sh:minCount 1 ] ."
    capsys.readouterr()
    (tmp_path / "more").mkdir()
    assert exports.export([rows], tmp_path / "other", "--shapes", shapes(tmp_path / "more", refused)) == 2
    assert "refuses the description of the export" in capsys.readouterr().err
    assert not (tmp_path / "other" / "report.json").exists()
