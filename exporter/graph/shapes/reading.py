"""Shapes in Turtle -> shapes to validate with. A feature that is not compiled is refused by name, never ignored.

Errors name file and shape. Source: SHACL, sections 2 (shapes, targets, paths) and 4 (SHACL Core).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, cast

from pyoxigraph import Store, Triple

from exporter.errors import UsageError
from exporter.graph.shapes import classes as terms
from exporter.graph.shapes import misspelt
from exporter.graph.shapes.components import PARAMETERS, Parameters
from exporter.graph.shapes.model import (
    SH,
    TYPE,
    Documents,
    Literal,
    NamedNode,
    Shape,
    Targets,
    Term,
    sh,
    text,
)
from exporter.graph.shapes.paths import REPEATED, Alternative, Inverse, PropertyPath, Repeated, Sequence
from exporter.graph.shapes.source import ShapesGraph, path_of
from exporter.graph.store import FORMATS
from exporter.system.files import BROKEN, everything_in, opened, shapes_dir, syntax_of

_COMPACT: Final = frozenset({".shaclc", ".shc"})
"""Endings of SHACL in its compact syntax, in which nothing else can be written."""
_MAY_BE_SHAPES: Final = frozenset(
    {*FORMATS, *_COMPACT, ".hext", ".json", ".n3", ".nq", ".nquads", ".ntriples", ".owl", ".rdf"}
    | {".shacl", ".trig", ".trix", ".turtle", ".xml"}
)
"""Endings, in lower case, of files that may have shapes."""
_names_shacl: Final = re.compile(rb"w3\.org/ns/shacl[#/]", re.IGNORECASE).search
_IMPORTS: Final = NamedNode("http://www.w3.org/2002/07/owl#imports")
_OF_NO_USE: Final = ("https://w3id.org/access-history", "http://www.w3.org/", "http://purl.org/dc/")
"""How the names begin of what need not be imported: this program's ontology and shapes, which are always there, and the
vocabularies of W3C and DCMI, which have no shapes.
"""


def own_files() -> list[Path]:
    """The files of the project's shapes."""
    return sorted(shapes_dir().glob("*.ttl"))


def files_of(folder: Path) -> list[Path]:
    """The files of shapes in a folder, or the file itself; raises UsageError where there are none."""
    if folder.is_file():
        return [folder]
    if not folder.is_dir():
        problem = "is a pipe or a device" if folder.exists() else "does not exist"
        raise UsageError(f"{folder}: {problem}. Give a folder with your shapes in Turtle (*.ttl)")
    paths = sorted(file for file in folder.iterdir() if file.suffix in FORMATS and file.is_file())
    if not paths:
        raise UsageError(f"{folder}: holds no shapes. Give a folder with your shapes in Turtle (*.ttl)")
    return paths


def _refuse_unread(folders: Iterable[Path], read: Collection[Path]) -> None:
    """Raise UsageError for a file below a folder, or of another syntax, that has shapes: they would never apply."""
    for path in (path for folder in folders for path in sorted(everything_in(folder, with_hidden=False))):
        may_be = syntax_of(path).lower() in _MAY_BE_SHAPES
        if may_be and not (path.is_file() or path.is_dir()):
            raise UsageError(
                f"{path}: is a link to nothing, a pipe or a device. Give a file in its place, or remove it"
            )
        is_linked = path.is_symlink() and path.is_dir()
        for file in everything_in(path.resolve(), with_hidden=False) if is_linked else [path] if may_be else []:
            is_rdf = syntax_of(file).lower() in _MAY_BE_SHAPES and file.is_file()
            if is_rdf and file.resolve() not in read and _has_shapes(file):
                raise UsageError(
                    f"{path}: has shapes that would not be read. Give it, or its folder, too, convert it to Turtle "
                    "(*.ttl) if it is not, or move it elsewhere"
                )


def _refuse_imports(by_file: dict[Path, list[Triple]]) -> None:
    """Raise UsageError for what a file imports and was not given, too: its shapes would never apply."""
    declared = {triple.subject for triples in by_file.values() for triple in triples}
    declared |= {NamedNode(file.as_uri()) for file in by_file}
    for file, triples in by_file.items():
        for imported in (triple.object for triple in triples if triple.predicate == _IMPORTS):
            is_of_no_use = isinstance(imported, NamedNode) and imported.value.startswith(_OF_NO_USE)
            if imported not in declared and not is_of_no_use:
                raise UsageError(
                    f"{file}: imports {text(cast('Term', imported))} (owl:imports), which is not fetched. Give a copy "
                    "of it with --shapes, too, or remove the line"
                )


def _has_shapes(path: Path) -> bool:
    """Whether a file of any syntax names the vocabulary of SHACL, if need be with its namespace misspelt."""
    if syntax_of(path).lower() in _COMPACT:
        return True
    try:
        with opened(path) as file:
            return _names_shacl(file.read()) is not None
    except BROKEN:
        return False


def digest_of(folders: Iterable[Path]) -> str:
    """A digest of the content of shapes in these folders and files, wherever they are and in any order."""
    digests = {hashlib.sha256(file.read_bytes()).digest() for folder in folders for file in files_of(folder)}
    return hashlib.sha256(b"".join(sorted(digests))).hexdigest()


_TARGETS: Final = ("targetClass", "targetNode", "targetSubjectsOf", "targetObjectsOf")
_OTHERS: Final = {
    "path", "inversePath", "alternativePath", *REPEATED, "severity", "message", "deactivated",
    "name", "description", "order", "group", "defaultValue", "declare", "prefix", "namespace",
}  # fmt: skip
"""Terms that are no parameters of a constraint; the second row is for people and forms, and constrains nothing."""
_KNOWN: Final = {*PARAMETERS, *_TARGETS, *_OTHERS}
_CLASSES: Final = {"NodeShape", "PropertyShape", "Shape", "PropertyGroup", "PrefixDeclaration"}
_OF_SPARQL: Final = {
    "sparql", "select", "ask", "prefixes", "validator", "nodeValidator", "propertyValidator", "parameter", "optional",
    "labelTemplate", "resultAnnotation", "annotationProperty", "annotationValue", "annotationVarName",
    "SPARQLConstraint", "ConstraintComponent", "SPARQLAskValidator", "SPARQLSelectValidator", "Parameter", "Validator",
    "ResultAnnotation",
}  # fmt: skip
"""Terms of SHACL-SPARQL (sections 5 and 6), which pySHACL applies."""
_SEVERITIES: Final = {"Violation", "Warning", "Info"}
_forbidden: Final = re.compile(r"(?<![\w:?$-])(?:MINUS|SERVICE|VALUES)\b", re.IGNORECASE).search
_selects: Final = re.compile(r"(?:\s|PREFIX\s+[\w.-]*:|BASE)*SELECT\b", re.IGNORECASE).match
_says_this: Final = re.compile(r"SELECT\b[^{]*(?:[$?]this\b|\*)", re.IGNORECASE).search
_no_query: Final = re.compile(r"""#[^\n]*|"[^"\n]*"|'[^'\n]*'|<[^<>\s]*>""")
"""What has no key words of SPARQL: comments, texts and IRIs. A text with a # or a quote in it may be cut at the wrong
place; then only a hint in an error is wrong.
"""
_PLACE: Final = "docs/shapes.md lists what is"


def shapes_graph(extra_dirs: Iterable[Path] = (), own: Iterable[Path] | None = None) -> ShapesGraph:
    """The project's shapes (``own``: those of these files in their place) and those of ``extra_dirs``: folders or
    single files, which may not change the project's shapes. Raises UsageError where a user's file or shape has no use.
    """
    triples, described, documents = list[Triple](), dict[Term, Path](), Documents()
    shape_files = dict[Term, Path]()

    def add(file: Path, known: set[Term] | None = None) -> list[Triple]:
        added = list(documents.triples(file))
        for triple in added:
            subject = cast("Term", triple.subject)  # typed wider by pyoxigraph, for RDF-star, which is not parsed here
            if known and subject in known:
                raise UsageError(
                    f"{file}: {text(subject)} is a shape of the exporter, which cannot be changed. "
                    "Give your shape another IRI"
                )
        weight = {sh("severity"), sh("message")}
        weighed = (cast("Term", triple.subject) for triple in added if triple.predicate in weight)
        for subject in (*_shapes_of(added), *weighed):
            other = shape_files.setdefault(subject, file)
            if other != file and isinstance(subject, NamedNode):
                raise UsageError(
                    f"{file}: {text(subject)} is described in {other}, too: what both files say would be one shape, "
                    "and one may weaken the other. Give one of them another IRI"
                )
        for triple in added:
            described.setdefault(cast("Term", triple.subject), file)
        triples.extend(added)
        return added

    own = own_files() if own is None else list(own)
    for file in own:
        add(file)
    known, paths, extra_dirs = set(described), {file.resolve() for file in own}, list(extra_dirs)
    folders = [(folder, [file for file in files_of(folder) if file.resolve() not in paths]) for folder in extra_dirs]
    _refuse_unread(extra_dirs, {*paths, *(file.resolve() for _, files in folders for file in files)})
    given = dict[Path, list[Triple]]()
    for file in (file for _, files in folders for file in files):
        if file.resolve() not in given:
            given[file.resolve()] = add(file, known)
    _refuse_imports(given)
    source = ShapesGraph(triples, described)
    _check_used(source, given, folders)
    return source


def _check_used(source: ShapesGraph, by_file: dict[Path, list[Triple]], folders: list[tuple[Path, list[Path]]]) -> None:
    """Raises where a user's file or shape can never apply to anything: it would be silent for ever."""
    given = [triple for triples in by_file.values() for triple in triples]
    shapes = _shapes_of(given)
    for triple in given:
        if fault := misspelt.fault_of(triple, source.graph):
            raise source.refused(cast("Term", triple.subject), fault)
    used = {triple.object for triple in source.triples}
    for folder, files in folders:
        about = {file: {triple.subject for triple in by_file[file.resolve()]} for file in files}
        empty = next((file for file in files if not about[file]), None)
        if empty or (files and not any(subject in subjects for subject in shapes for subjects in about.values())):
            raise UsageError(f"{empty or folder}: holds no shapes. Write some, or leave it out")
    for triple in given:
        if fault := terms.fault_of(triple, source.graph):
            raise source.refused(cast("Term", triple.subject), fault)
    classes = source.classes_of_classes()
    for subject in shapes:
        is_class = not classes.isdisjoint(source.graph.objects(subject, TYPE))
        fault_of_name = misspelt.fault_of_term(subject, source.graph) if isinstance(subject, NamedNode) else None
        if is_class and (fault := fault_of_name or terms.fault_of_class(subject)):
            raise source.refused(subject, fault)
        if subject not in used and not _has_target(source, subject) and not source.values(subject, "deactivated"):
            problem = "applies to nothing: it has no target, and no other shape refers to it"
            raise source.refused(subject, f"{problem}. Give it one, such as sh:targetClass, or sh:deactivated true")


def _shapes_of(triples: list[Triple]) -> list[Term]:
    """The shapes that the triples describe, in their order."""
    marks, kinds = {sh(name) for name in (*PARAMETERS, *_TARGETS)}, {sh("NodeShape"), sh("PropertyShape")}
    subjects = (
        triple.subject
        for triple in triples
        if triple.predicate in marks or (triple.predicate == TYPE and triple.object in kinds)
    )
    return list(dict.fromkeys(cast("Term", subject) for subject in subjects))


def _has_target(source: ShapesGraph, subject: Term) -> bool:
    has_any = any(source.values(subject, name) for name in (*_TARGETS, "target"))
    return has_any or not source.classes_of_classes().isdisjoint(source.graph.objects(subject, TYPE))


@dataclass(frozen=True)
class Shapes:
    """All shapes. ``targeted``: those that have targets; the others are parts of these."""

    every: tuple[Shape, ...]

    @property
    def targeted(self) -> tuple[Shape, ...]:
        return tuple(shape for shape in self.every if shape.targets and not shape.is_deactivated)


def load(extra_dirs: Iterable[Path] = ()) -> Shapes:
    """The project's shapes and those in the folders; raises UsageError where one cannot be compiled."""
    return compiled(shapes_graph(extra_dirs))


def compiled(source: ShapesGraph) -> Shapes:
    """Every shape of the source, in the order of the files."""
    reader = _Reader(source)
    reader.check_known()
    return Shapes(tuple(reader.shapes()))


def refuse_ignored(source: ShapesGraph) -> None:
    """Raise UsageError for what pySHACL would pass over without a word, such as a misspelt term: as :func:`compiled`
    does, but for what pySHACL applies and is not compiled.
    """
    reader = _Reader(source, for_pyshacl=True)
    reader.check_known(_OF_SPARQL)
    reader.shapes()


class _Reader:
    """``for_pyshacl``: whether what is not compiled, and pySHACL applies, is no fault."""

    def __init__(self, source: ShapesGraph, *, for_pyshacl: bool = False) -> None:
        self._source, self._for_pyshacl = source, for_pyshacl
        self._shapes: dict[Term, Shape] = {}
        self._open: list[Term] = []
        self._classes = source.classes_of_classes()

    def shapes(self) -> list[Shape]:
        marks = {sh(name) for name in (*PARAMETERS, *_TARGETS, "path")}
        kinds = {sh("NodeShape"), sh("PropertyShape"), sh("Shape")}
        for triple in self._source.triples:
            if triple.predicate in marks or (triple.predicate == TYPE and triple.object in kinds):
                self._shape(cast("Term", triple.subject))
        return list(self._shapes.values())

    def check_known(self, more: Collection[str] = ()) -> None:
        """Raises where a term of SHACL is not supported, wherever it stands in the files. ``more``: those that are."""
        does_not = "has no effect" if more else "is not compiled"
        for triple in self._source.triples:
            name = triple.predicate.value.removeprefix(SH)
            if triple.predicate.value.startswith(SH) and name not in _KNOWN and name not in more:
                other = "; `exporter validate --by pyshacl` checks it" if _is_allowed(self._source, name) else ""
                raise self._source.refused(cast("Term", triple.subject), f"sh:{name} {does_not} ({_PLACE}{other})")
        for subject, kind in (
            (cast("Term", triple.subject), triple.object) for triple in self._source.triples if triple.predicate == TYPE
        ):
            name = kind.value.removeprefix(SH) if isinstance(kind, NamedNode) else ""
            is_other = name not in _CLASSES and name not in more
            if isinstance(kind, NamedNode) and kind.value.startswith(SH) and is_other:
                raise self._source.refused(subject, f"the class sh:{name} {does_not} ({_PLACE})")

    def _shape(self, subject: Term) -> Shape:
        """The shape, read once; raises where it refers to itself."""
        source = self._source
        if subject in self._shapes:
            return self._shapes[subject]
        if subject in self._open:
            around = " > ".join(text(term) for term in [*self._open[self._open.index(subject) :], subject])
            raise source.refused(subject, f"a shape that refers to itself is not compiled: {around}")
        if subject not in source.graph.by_subject:
            raise source.refused(self._open[-1], f"refers to a shape that no file describes: {text(subject)}")
        self._open.append(subject)
        path, targets = self._path(subject), self._targets(subject)
        constraints = tuple(Parameters(source, subject, self._shape, is_property=path is not None).constraints())
        severity, deactivated = source.one(subject, "severity"), source.one(subject, "deactivated")
        self._shapes[subject] = shape = Shape(
            text(subject),
            source.shown(subject),
            source.file_of(subject),
            path,
            targets,
            constraints,
            self._severity(subject, severity),
            messages_of(source, subject),
            is_deactivated=deactivated is not None and source.truth(subject, "deactivated", deactivated),
        )
        self._open.pop()
        return shape

    def _severity(self, subject: Term, severity: Term | None) -> str:
        if severity is None:
            return "Violation"
        name = severity_of(self._source.of_kind(subject, "severity", severity, NamedNode).value)
        if name.startswith(SH):
            raise self._source.refused(subject, f"sh:{name.removeprefix(SH)} is no severity of SHACL")
        return name

    def _path(self, subject: Term) -> PropertyPath | None:
        node = self._source.one(subject, "path")
        types = self._source.graph.objects(subject, TYPE)
        if node is None:
            if sh("PropertyShape") in types:
                raise self._source.refused(subject, "a property shape takes sh:path")
            return None
        if sh("NodeShape") in types:
            raise self._source.refused(subject, "a node shape has no sh:path")
        path = path_of(self._source, subject, node)
        if _has_inverse_sequence(path) and not self._for_pyshacl:
            raise self._source.refused(
                subject, f"the inverse of a sequence is not compiled: {path}. Write a sequence of inverse paths"
            )
        return path

    def _targets(self, subject: Term) -> Targets:
        def iris(name: str) -> tuple[NamedNode, ...]:
            values = self._source.values(subject, name)
            return tuple(self._source.of_kind(subject, name, value, NamedNode) for value in values)

        types = self._source.graph.objects(subject, TYPE)
        is_class = isinstance(subject, NamedNode) and not self._classes.isdisjoint(types)
        itself = (subject,) if is_class and isinstance(subject, NamedNode) else ()
        return Targets(
            (*iris("targetClass"), *itself),
            tuple(self._source.values(subject, "targetNode")),
            iris("targetSubjectsOf"),
            iris("targetObjectsOf"),
        )


def messages_of(source: ShapesGraph, shape: Term) -> tuple[Literal, ...]:
    """The messages of a shape in the order of their texts and languages."""
    literals = [source.of_kind(shape, "message", message, Literal) for message in source.values(shape, "message")]
    return tuple(sorted(literals, key=lambda literal: (literal.value, literal.language or "")))


def severity_of(iri: str) -> str:
    """SHACL's own severities -> ``Violation``, ``Warning`` or ``Info``; the IRI of any other."""
    name = iri.removeprefix(SH)
    return name if name in _SEVERITIES else iri


def _is_allowed(source: ShapesGraph, name: str) -> bool:
    """Whether the term is sh:sparql, and pySHACL takes all such constraints of the shapes."""
    return name == "sparql" and not any(
        problem_of_sparql(source, constraint, with_syntax=True) for constraint, _ in constraints_in_sparql(source)
    )


def constraints_in_sparql(source: ShapesGraph) -> list[tuple[Term, Term]]:
    """Each value of sh:sparql, with its shape."""
    pairs = source.graph.pairs(sh("sparql"))
    return [(constraint, shape) for constraint, shapes in pairs for shape in shapes]


def problem_of_sparql(source: ShapesGraph, constraint: Term, *, with_syntax: bool = False) -> str | None:
    """What is wrong with a value of sh:sparql (SHACL, sections 5.2 and 5.3.1); None if nothing is.
    ``with_syntax``: also whether it uses what SHACL forbids, and parses with the prefixes that its shape declares.
    """
    if isinstance(constraint, Literal):
        return f"sh:sparql takes a node with sh:select, and has {constraint}"
    queries = source.values(constraint, "select")
    if len(queries) != 1:
        return f"a constraint in SPARQL takes one sh:select, and has {len(queries)}"
    if not isinstance(queries[0], Literal):
        return f"sh:select takes a literal, and has {queries[0]}"
    bare = _no_query.sub("", queries[0].value)
    if _selects(bare) is None:
        return "sh:select takes a SELECT query"
    if _says_this(bare) is None:
        return "the SELECT query of a constraint has to select $this"
    return _problem_of_syntax(source, constraint, queries[0].value) if with_syntax else None


def _problem_of_syntax(source: ShapesGraph, constraint: Term, query: str) -> str | None:
    if _forbidden(_no_query.sub("", query)):
        return "SHACL forbids MINUS, SERVICE and VALUES (section 5.2.1)"
    declared = [
        declaration
        for given in source.values(constraint, "prefixes")
        for declaration in source.values(given, "declare")
    ]
    lines = [
        f"PREFIX {text(prefix)}: <{text(namespace)}>"
        for declaration in declared
        for prefix in source.values(declaration, "prefix")
        for namespace in source.values(declaration, "namespace")
    ]
    try:
        Store().query("\n".join([*lines, query]))
    except (SyntaxError, ValueError) as error:
        return f"the query does not parse: {error}"
    return None


def _has_inverse_sequence(path: PropertyPath, *, is_inverse: bool = False) -> bool:
    """Whether a sequence is inside an inverse path, which pySHACL follows in the wrong order."""
    if isinstance(path, Sequence):
        return is_inverse or any(map(_has_inverse_sequence, path.steps))
    if isinstance(path, Alternative):
        return any(_has_inverse_sequence(choice, is_inverse=is_inverse) for choice in path.choices)
    if isinstance(path, Inverse):
        return _has_inverse_sequence(path.of, is_inverse=not is_inverse)
    return isinstance(path, Repeated) and _has_inverse_sequence(path.of, is_inverse=is_inverse)
