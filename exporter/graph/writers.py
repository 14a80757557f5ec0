"""Nodes in the syntaxes of RDF, with the header, footer and separators of a document; and differences of graphs.

- Turtle: one block for each node (RDF 1.1 Turtle, sections 2.4, 2.5 and 6.4).
- N-Triples and N-Quads: one line for each triple (RDF 1.1 N-Triples, section 2; RDF 1.1 N-Quads, section 2).
- JSON-LD: one object for each node, with a context that gives the terms short names (JSON-LD 1.1, sections 3.1, 4.2.3
  and 4.9).

A difference has the triples that one graph has and another has not, as N-Triples and as SPARQL 1.1 Update. Triples are
compared by the N-Triples line that one parser makes of them. Our graphs have no blank nodes, so equal triples have
equal lines.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, Final

import msgspec
from pyoxigraph import RdfFormat, parse

from exporter.graph.terms import KIND_CLASSES, LEXICAL, PREFIXES, SYNTAXES, Node, NodeClass, Property, full
from exporter.graph.vocabulary import OBJECT_NAME, VIEW_SOURCE
from exporter.input.times import iso
from exporter.system.files import ontology_dir

Context = dict[str, Any]
Render = Callable[[Node], str]
Piece = tuple[str, str, str, Callable[[Any], str] | None]


def escaped(text: str) -> str:
    """A text as it is written between quotes (RDF 1.1 Turtle, section 6.4)."""
    if "\\" in text:
        text = text.replace("\\", "\\\\")
    if '"' in text:
        text = text.replace('"', '\\"')
    if "\n" in text:
        text = text.replace("\n", "\\n")
    if "\r" in text:
        text = text.replace("\r", "\\r")
    return text


_TEXTS: Final = {**LEXICAL, "xsd:string": escaped}
"""How the text of a literal is written between quotes, by range."""


# --- JSON-LD ----------------------------------------------------------------------------------------------------------


_encode: Final = msgspec.json.Encoder().encode


def context_of(classes: Iterable[NodeClass], prefixes: Mapping[str, str]) -> Context:
    """A context with the local name of each property, and the type of values that are not plain text."""
    terms: Context = {"@version": 1.1, **prefixes, "id": "@id", "type": "@type"}
    for predicate in (property_ for node_class in classes for property_ in node_class.properties):
        short = predicate.term.split(":")[1]
        is_taken = short in terms and _iri(terms[short]) != predicate.term
        typed = {"@id": predicate.term, "@type": predicate.range if predicate.is_literal else "@id"}
        terms[predicate.term if is_taken else short] = predicate.term if predicate.range == "xsd:string" else typed
    return terms


def _iri(term: str | dict[str, str]) -> str:
    return term["@id"] if isinstance(term, dict) else term


def _jsonld_renderer(base: str, context: Context) -> Render:
    """How a node is written: as an object on one line, with the names of ``context``."""
    names = {_iri(term): short for short, term in context.items() if not short.startswith("@")}

    @cache
    def properties(node_class: NodeClass) -> dict[str, tuple[str, Property]]:
        return {predicate.term: (names[predicate.term], predicate) for predicate in node_class.properties}

    def render(node: Node) -> str:
        of_class = properties(node.of)
        whole: dict[str, Any] = {"id": node.iri if "://" in node.iri else base + node.iri, "type": node.types}
        for term, values in node.values.items():
            name, predicate = of_class[term]
            shown: tuple[Any, ...] | list[Any] = values
            if not predicate.is_literal:
                shown = [value if "://" in value else base + value for value in values]  # type: ignore[operator]  # not a literal, so an IRI
            elif predicate.range == "xsd:dateTime":
                shown = [iso(value) for value in values]  # type: ignore[arg-type]  # a time is microseconds
            whole[name] = shown if predicate.many else shown[0]
        return _encode(whole).decode()

    return render


# --- N-Triples and N-Quads --------------------------------------------------------------------------------------------


_TYPE: Final = f"> <{full('rdf:type')}> <"


def ntriples_renderer(base: str, graph: str | None = None) -> Render:
    """How a node is written: its lines, without a newline at the end; as quads of ``graph``, where one is given."""
    end = " ." if graph is None else f" <{graph}> ."

    def render(node: Node) -> str:
        pieces = _ntriples_pieces(node.of)
        subject = f"<{node.iri if '://' in node.iri else base + node.iri}"
        lines = [f"{subject}{_TYPE}{full(name)}>{end}" for name in node.types]
        for term, values in node.values.items():
            before, after, text = pieces[term]
            if text is None:
                iris = [value if "://" in value else base + value for value in values]  # type: ignore[operator]  # not a literal, so an IRI
                lines += [f"{subject}{before}{iri}{after}{end}" for iri in iris]
            else:
                lines += [f"{subject}{before}{text(value)}{after}{end}" for value in values]
        return "\n".join(lines)

    return render


@lru_cache(maxsize=1_000)
def _ntriples_pieces(node_class: NodeClass) -> dict[str, tuple[str, str, Callable[[Any], str] | None]]:
    """By term, the text between subject and value, the text after it, and how a literal is written (None: an IRI)."""
    return {predicate.term: _ntriples_piece(predicate) for predicate in node_class.properties}


def _ntriples_piece(predicate: Property) -> tuple[str, str, Callable[[Any], str] | None]:
    before = f"> <{full(predicate.term)}> "
    if not predicate.is_literal:
        return f"{before}<", ">", None
    datatype = "" if predicate.range == "xsd:string" else f"^^<{full(predicate.range)}>"
    return f'{before}"', f'"{datatype}', _TEXTS[predicate.range]


# --- Turtle -----------------------------------------------------------------------------------------------------------


_NEXT: Final = " ;\n    "
_END: Final = " ."
_WITHOUT_QUOTES: Final = ("xsd:integer", "xsd:boolean")
"""Datatypes whose values Turtle writes as they are (RDF 1.1 Turtle, sections 2.5.2 and 2.5.3)."""


def turtle_header(base: str, prefixes: Mapping[str, str] = PREFIXES) -> str:
    """The beginning of a document: the base and the prefixes. It may be repeated further down."""
    lines = "".join(f"@prefix {name}: <{iri}> .\n" for name, iri in prefixes.items())
    return f"@base <{base}> .\n{lines}\n"


def turtle(node: Node) -> str:
    """The block of a node, without a newline at the end; paths are relative to the base."""
    pieces = _turtle_pieces(node.of)
    parts = [f"<{node.iri}> a {_types(node.types)}"]
    for term, values in node.values.items():
        before, between, after, text = pieces[term]
        shown = values if text is None else map(text, values)
        parts.append(f"{before}{between.join(shown)}{after}")  # type: ignore[arg-type]  # each kind of value has its own function
    return _NEXT.join(parts) + _END


@lru_cache(maxsize=1_000)
def _types(types: tuple[str, ...]) -> str:
    return " , ".join(types)


@lru_cache(maxsize=1_000)
def _turtle_pieces(node_class: NodeClass) -> dict[str, Piece]:
    """By term, the text before, between and after its values, and how a literal is written (None: an IRI)."""
    return {predicate.term: _turtle_piece(predicate) for predicate in node_class.properties}


def _turtle_piece(predicate: Property) -> Piece:
    text = None
    if not predicate.is_literal:
        begins, ends = "<", ">"
    else:
        text = _TEXTS[predicate.range]
        if predicate.range in _WITHOUT_QUOTES:
            begins, ends = "", ""
        else:
            begins, ends = '"', '"' if predicate.range == "xsd:string" else f'"^^{predicate.range}'
    return f"{predicate.term} {begins}", f"{ends} , {begins}", ends, text


# --- documents --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Writer:
    """How a graph is written. ``render``: a node -> its text, without a newline at the end.

    A document is ``header``, chunks and ``footer``, each on lines of its own. A chunk is ``opening`` and then nodes.
    ``between`` stands before every node but the document's first; in a later chunk it stands before the ``opening``.
    Chunks of Turtle, N-Triples and N-Quads are documents by themselves.
    """

    render: Render
    header: str = ""
    opening: str = ""
    between: str = ""
    footer: str = ""

    def chunk(self, texts: Iterable[bytes], *, is_first: bool) -> bytes:
        """One chunk of nodes, at least one, after the header if it is the first; without a newline at the end.
        ``texts``: as ``render`` gives them, in UTF-8.
        """
        before = (f"{self.header}\n" if self.header else "") if is_first else self.between
        return f"{before}{self.opening}".encode() + f"\n{self.between}".encode().join(texts)

    def document(self, texts: Iterable[str]) -> str:
        """A whole document of nodes as ``render`` gives them, with a newline at the end."""
        return f"{self.chunk(map(str.encode, texts), is_first=True).decode()}\n" + (self.footer and f"{self.footer}\n")


def writer_of(name: str, base: str, graph: str | None = None) -> Writer:
    """The writer of a syntax, one of :data:`~exporter.graph.terms.SYNTAXES`, for a graph below ``base``; ``graph``:
    the name of the load for a syntax that has it.
    """
    if name == "turtle":
        return Writer(turtle, opening=turtle_header(base), between="\n")
    return jsonld_writer(base, _context()) if name == "jsonld" else Writer(ntriples_renderer(base, graph))


def jsonld_writer(base: str, context: Context) -> Writer:
    """The writer of JSON-LD with a context."""
    header = f'{{"@context": {json.dumps(context, ensure_ascii=False)},\n"@graph": ['
    return Writer(_jsonld_renderer(base, context), header, between=",", footer="]}")


@cache
def _context() -> Context:
    """The context that is published with the ontology."""
    text = (ontology_dir() / "context.jsonld").read_text(encoding="utf-8")
    return dict(json.loads(text)["@context"])


# --- differences ------------------------------------------------------------------------------------------------------


SEPARATORS: Final = {syntax.ending: syntax.separator for syntax in SYNTAXES.values() if syntax.separator is not None}
"""By file ending: what separates the parts of a file. Each part can be parsed without the others."""
_OPENING: Final = "@base"


def _any(*terms: str) -> str:
    return f"({'|'.join(re.escape(full(term)) for term in terms)})"


SAID_ONCE: Final = "|".join(
    (
        r"^<[^>]*/(reads/\d{4}-\d\d-\d\d/[^>]*|part/[0-9a-f]+)> ",
        rf"^<[^>]*> <{_any('ah:lastSeen', 'ah:hasName', 'ah:canonicalName', 'ah:isHelper')}> ",
        rf"^<[^>]*/({'|'.join(sorted(KIND_CLASSES))})/\d+> <{_any('rdfs:label')}> ",
        rf"^<[^>]*> <{_any('rdf:type')}> <{_any('ah:ObjectName', 'ah:ViewSource')}> ",
        rf"^<[^>]*/called/\d[^/>]*/[^/>]*> <{_any(*(predicate.term for predicate in OBJECT_NAME.properties))}> ",
        rf"^<[^>]*/shows/(object|column)/[^>]*> <{_any(*(predicate.term for predicate in VIEW_SOURCE.properties))}> ",
    )
)
"""The beginning of a line of N-Triples that one place of an export alone has: about reads of one day; or in
``graph/things`` (:func:`exporter.graph.nodes.objects.split_lasting`) names of objects, and what views show. Most
triples that an update removes are such. Any other may be in several days: about objects and accounts that each of them
mentions, nodes that queries share, classes of what one day sets and another ends."""
_TRIPLES: Final = 5_000
"""How many triples one operation of an update has at most: stores hold a whole operation in memory."""


def triples(parts: Iterable[str], ending: str, opening: str) -> Iterator[str]:
    """The triples of parts of graph files, one line each without line end; ``opening``: the prefixes that Turtle
    needs.
    """
    text = SEPARATORS[ending].join(part for part in parts if part.strip() and not part.startswith(_OPENING))
    if text:
        for triple in parse((opening + text).encode(), RdfFormat.from_extension(ending)):
            yield f"{triple.subject} {triple.predicate} {triple.object} ."


def subjects(lines: Iterable[str], base: str) -> set[str]:
    """The subjects of triples as a part of a file begins with them: whole, and in Turtle relative to the base."""
    whole = {line.partition(" ")[0] for line in lines}
    return whole | {f"<{text[len(base) + 1 :]}" for text in whole if base and text.startswith(f"<{base}")}


def subject_of(part: str) -> str:
    """The subject with which a part of a file begins."""
    return part.partition(" ")[0]


def parts_of(text: str, ending: str) -> list[str]:
    """The parts of a file, each of which parses without the others."""
    return text.split(SEPARATORS[ending])


def update(changes: Iterable[tuple[bool, str]], *, is_begun: bool = False) -> Iterator[str]:
    """An update, line by line, from triples that are added (True) or removed (False); removed ones have to come
    first. ``is_begun``: the lines follow those of other changes.
    """
    count, was_added = 0, None
    for is_added, triple in changes:
        if is_added is not was_added or count == _TRIPLES:
            if was_added is not None:
                yield "}"
            operation = "INSERT DATA {" if is_added else "DELETE DATA {"
            yield f"; {operation}" if is_begun else operation
            count, was_added, is_begun = 0, is_added, True
        yield triple
        count += 1
    if was_added is not None:
        yield "}"
