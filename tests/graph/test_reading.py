"""The graph that pySHACL gets, parsed by pyoxigraph, is the graph that rdflib's own parser reads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest
import rdflib
from hypothesis import given
from hypothesis import strategies as st
from rdflib import XSD, Graph, Literal, URIRef
from rdflib.compare import isomorphic

from exporter.errors import UsageError
from exporter.graph.shapes.by_pyshacl import graph_of
from exporter.graph.shapes.model import Documents
from exporter.system.files import ontology_dir, shapes_dir
from tests.graph.shape_graphs import INVALID, VALID, parsed

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FILES: Final = [VALID, *INVALID, *sorted(ontology_dir().glob("*.ttl")), *sorted(shapes_dir().glob("*.ttl"))]
LEXICAL: Final = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


def _typed(text: str, datatype: URIRef) -> Literal:
    return Literal(text, datatype=datatype, normalize=False)


LITERALS: Final = st.one_of(
    LEXICAL.map(Literal),
    LEXICAL.map(lambda text: Literal(text, lang="en-GB")),
    st.builds(_typed, LEXICAL, st.just(URIRef("urn:of-our-own"))),
    st.builds(
        _typed,
        st.from_regex(r"[+-]?0{0,3}[0-9]{1,4}(\.[0-9]{1,3})?", fullmatch=True),
        st.sampled_from([XSD.integer, XSD.decimal, XSD.double]),  # so an integer may be written wrongly, 1.5
    ),
    st.builds(_typed, st.sampled_from(["true", "false", "1", "0"]), st.just(XSD.boolean)),
    st.datetimes().map(lambda time: Literal(f"{time.isoformat()}Z", datatype=XSD.dateTime)),
)


@pytest.fixture(scope="module", autouse=True)
def _own_texts() -> Iterator[None]:
    """Literals keep their own texts: rdflib would write +00:00 for Z."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rdflib, "NORMALIZE_LITERALS", False)
        yield


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_files_are_read_alike(path: Path) -> None:
    ours = graph_of(Documents().triples(path))
    assert len(ours) > 1
    assert isomorphic(ours, Graph().parse(path))


@given(st.lists(LITERALS, max_size=20))
def test_literals_are_read_alike(values: list[Literal]) -> None:
    triples = (f"<urn:s{number}> <urn:p> {value.n3()} .\n" for number, value in enumerate(values))
    text = "".join(triples)
    assert set(graph_of(quad.triple for quad in parsed(text))) == set(Graph().parse(data=text, format="turtle"))


def test_what_is_no_turtle_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "broken.ttl"
    file.write_text("<urn:a> <urn:b> .", encoding="utf-8")
    with pytest.raises(UsageError, match=r"broken\.ttl"):
        list(Documents().triples(file))
