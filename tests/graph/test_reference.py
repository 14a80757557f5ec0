"""The page of the ontology, docs/ontology.html: up to date, well-formed, with an anchor for every term."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Final
from xml.etree import ElementTree as ET

from rdflib import RDFS, SKOS

from exporter.graph.reference import KINDS, page, terms_of
from tests.graph.published import AH, ontology
from tests.graph.shape_graphs import ROOT

COMMAND: Final = "python -m exporter.graph.reference > docs/ontology.html"
TEXT: Final = (ROOT / "docs" / "ontology.html").read_text(encoding="utf-8")
TERMS: Final = [term for kind in KINDS.values() for term in terms_of(ontology(), kind)]


def test_the_page_is_up_to_date() -> None:
    assert page() == TEXT, f"the ontology, its alignments or the shapes changed; run {COMMAND}"


def test_it_is_well_formed() -> None:
    """As XML, so that no element is left open; and as HTML, where only void elements may be closed at once."""
    root = ET.fromstring(TEXT.removeprefix("<!DOCTYPE html>"))
    assert [one.tag for one in root] == ["head", "body"]
    empty: list[str] = []

    class Reader(HTMLParser):
        def handle_startendtag(self, tag: str, attrs: object) -> None:  # noqa: ARG002 - the parser's signature
            empty.append(tag)

    Reader().feed(TEXT)
    assert set(empty) == {"meta"}


def test_every_term_has_an_anchor_and_says_what_it_is() -> None:
    root = ET.fromstring(TEXT.removeprefix("<!DOCTYPE html>"))
    sections = {one.get("id"): " ".join("".join(one.itertext()).split()) for one in root.iter("section")}
    assert len(TERMS) > 100
    for term in TERMS:
        said = sections[str(term).removeprefix(str(AH))]
        for predicate in (RDFS.label, RDFS.comment, SKOS.example):
            for value in ontology().objects(term, predicate):
                assert " ".join(str(value).split()) in said


def test_every_link_on_the_page_leads_to_an_anchor() -> None:
    root = ET.fromstring(TEXT.removeprefix("<!DOCTYPE html>"))
    anchors = [one.get("id") for one in root.iter() if one.get("id")]
    links = {one.get("href", "") for one in root.iter("a")}
    assert len(anchors) == len(set(anchors))
    assert {link[1:] for link in links if link.startswith("#")} <= set(anchors)
    assert all(link.startswith(("#", "http://", "https://")) for link in links)


def test_the_documents_name_the_command() -> None:
    assert COMMAND in (ROOT / "docs" / "graph.md").read_text(encoding="utf-8")
