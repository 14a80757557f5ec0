"""The ontology and its alignments, alone and merged with PROV-O and DCAT, checked by ROBOT and HermiT.

Neither PROV-O nor DCAT is in the profile OWL 2 DL by itself: PROV-O has a document that is a revision of another, and
DCAT leaves terms of others undeclared. Ours are, and add no violation. The files of the W3C: tests/shared.py.
"""

from __future__ import annotations

import re
import subprocess
from typing import TYPE_CHECKING, Final

import pytest
from rdflib import OWL, RDF, BNode, Graph, URIRef

from tests import jars, shared
from tests.graph.shape_graphs import ROOT, VALID

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

pytestmark = pytest.mark.jvm
ONTOLOGY: Final = ROOT / "ontology" / "access-history.ttl"
ALIGNMENTS: Final = ROOT / "ontology" / "alignments.ttl"
W3C: Final = [shared.W3C / name for name in ("prov-o.ttl", "dcat3.ttl")]
IN_PROFILE: Final = "[Ontology and imports closure in profile]"
_varies: Final = re.compile(r"_:genid\d+| in annotation .*| in OntologyID.*")


def robot(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run ROBOT; the exit code is for who calls to look at."""
    main = "org.obolibrary.robot.CommandLineInterface"
    command = [
        jars.java(),
        "-Xmx1g",
        "-XX:TieredStopAtLevel=1",
        "-XX:+UseSerialGC",
        "-XX:-UsePerfData",
        "-cp",
        jars.class_path("robot"),
        main,
        *map(str, arguments),
    ]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


def inputs(files: Iterable[Path]) -> list[str | Path]:
    return [one for file in files for one in ("--input", file)]


def violations(files: Iterable[Path], scratch: Path) -> set[str]:
    """What is not in the profile OWL 2 DL when the files are merged; without what differs from run to run."""
    report = scratch / "report.txt"
    report.unlink(missing_ok=True)
    ran = robot("merge", *inputs(files), "validate-profile", "--profile", "DL", "--output", report)
    assert report.exists(), ran.stdout + ran.stderr
    first, *found = report.read_text("utf-8").splitlines()
    assert (IN_PROFILE in first) is (ran.returncode == 0)
    return {_varies.sub("", line) for line in found if line.startswith(("Use of", "Cannot", "Not", "Illegal", "Axiom"))}


@pytest.fixture(scope="module")
def of_w3c(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The files without their imports, and without what they say of documents, which are nothing to a reasoner."""
    scratch = tmp_path_factory.mktemp("w3c")
    return [_terms_alone(file, scratch / file.name) for file in W3C]


def _terms_alone(file: Path, copy: Path) -> Path:
    graph = Graph().parse(file)
    named = {URIRef(f"http://www.w3.org/ns/prov-o{end}") for end in ("", "#")}
    for document in {*graph.subjects(RDF.type, OWL.Ontology), *named}:
        graph.remove((document, None, None))
    while loose := {one for one in {*graph.subjects()} - {*graph.objects()} if isinstance(one, BNode)}:
        for one in loose:
            graph.remove((one, None, None))
    graph.serialize(copy)
    return copy


@pytest.mark.parametrize("files", [[ALIGNMENTS], [ONTOLOGY, ALIGNMENTS]], ids=["alignments", "both"])
def test_ours_is_in_the_profile_owl_2_dl(files: list[Path], tmp_path: Path) -> None:
    assert violations(files, tmp_path) == set()


@shared.needs(shared.W3C)
def test_merged_with_prov_and_dcat_ours_adds_no_violation(of_w3c: list[Path], tmp_path: Path) -> None:
    theirs = violations(of_w3c, tmp_path)
    assert len(theirs) > 10
    assert violations([ONTOLOGY, ALIGNMENTS, *of_w3c], tmp_path) - theirs == set()


def test_a_term_that_is_not_declared_would_be_found(tmp_path: Path) -> None:
    text = ALIGNMENTS.read_text("utf-8").replace("ah:account a owl:ObjectProperty .\n", "")
    undeclared = tmp_path / "undeclared.ttl"
    undeclared.write_text(text.replace("prov:atLocation a owl:ObjectProperty .\n", ""), encoding="utf-8")
    assert violations([undeclared], tmp_path)


@shared.needs(shared.W3C)
def test_hermit_finds_no_contradiction_and_no_class_without_members(of_w3c: list[Path], tmp_path: Path) -> None:
    """With the valid example as data."""
    merged = [*inputs([ONTOLOGY, ALIGNMENTS, *of_w3c, VALID])]
    ran = robot("merge", *merged, "reason", "--reasoner", "hermit", "--output", tmp_path / "out.ttl")
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_hermit_finds_a_contradiction_that_is_there(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.ttl"
    ah = "https://w3id.org/access-history#"
    wrong.write_text(f"<urn:x> a <{ah}Table>, <{ah}Column> .", encoding="utf-8")
    ran = robot("merge", *inputs([ONTOLOGY, wrong]), "reason", "--reasoner", "hermit", "--output", tmp_path / "out.ttl")
    assert ran.returncode != 0
    assert "inconsistent" in ran.stdout + ran.stderr
