"""The declared lineage as a graph of its own: a file beside the export, which is never changed.

Its nodes are declarations, datasets, jobs and edges (:mod:`exporter.graph.vocabulary`); the objects and columns that
they refer to are repeated with their classes, so that the file can be validated and loaded alone. The same declarations
and rows give the same file. In N-Quads, the graph has a name that is made from the declarations' digests.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Final

from pyoxigraph import NamedNode, RdfFormat, parse

from exporter.ask.questions import select
from exporter.errors import RefusedError, UsageError
from exporter.graph.shapes.classes import hierarchy
from exporter.graph.shapes.model import Graph
from exporter.graph.shapes.on_graph import validate, violations
from exporter.graph.shapes.reading import ShapesGraph, compiled
from exporter.graph.terms import PREFIXES, Node, full
from exporter.graph.vocabulary import (
    COLUMN,
    DECLARATION,
    DECLARED_DATASET,
    DECLARED_DERIVATION,
    DECLARED_JOB,
    OBJECT,
)
from exporter.graph.writers import writer_of
from exporter.model.identifiers import match_name
from exporter.publish import single
from exporter.reconcile.declared import SNOWFLAKE, Dataset
from exporter.reconcile.edges import UNDECLARED
from exporter.reconcile.resolution import ObjectLine

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from pyoxigraph import Store, Triple

    from exporter.graph.terms import Value, Values
    from exporter.reconcile.comparison import Comparison
    from exporter.reconcile.edges import ComparedEdge, End

_SYNTAXES: Final = {".ttl": "turtle", ".nq": "nquads"}
CONTRACT: Final = (".yaml", ".yml")
"""How the name of a data contract ends."""
_BASE: Final = f"""PREFIX ah: <{PREFIXES["ah"]}>
SELECT ?export ?query WHERE {{
  OPTIONAL {{ SELECT ?export WHERE {{ ?export a ah:Export }} LIMIT 1 }}
  OPTIONAL {{ SELECT ?query WHERE {{ ?query a ah:Query }} LIMIT 1 }}
}}"""
_COLUMNS: Final = f"""PREFIX ah: <{PREFIXES["ah"]}>
SELECT ?object ?column ?name WHERE {{
  VALUES ?object {{ @objects@ }} ?column ah:columnOf ?object ; ah:columnName ?name
}}"""


def check(path: Path, folder: Path) -> None:
    """Raises UsageError where a file cannot be written there; nothing else has been read yet."""
    if path.suffix not in (*_SYNTAXES, *CONTRACT):
        endings = " or ".join(_SYNTAXES)
        raise UsageError(f"--out {path}: its name has to end in {endings}, or in {CONTRACT[0]} for a data contract")
    target, export_folder = path.resolve(), folder.resolve()
    if target == export_folder or export_folder in target.parents:
        raise UsageError(f"--out {path}: is in {folder}, which is not changed. Give a file beside it")
    if path.suffix in _SYNTAXES:
        single.check(path, _is_declared, "declared lineage of exporter reconcile")


def write(comparison: Comparison, store: Store, path: Path) -> None:
    """Writes the graph, once it is validated. Raises RefusedError where the shapes refuse it."""
    base = base_of(store)
    nodes = sorted(_Nodes(comparison, store, base).all(), key=lambda node: node.iri)
    digest = hashlib.sha256(
        "".join(sorted(declaration.digest for declaration in comparison.declarations)).encode()
    ).hexdigest()
    _validate(nodes, base)
    writer = writer_of(_SYNTAXES[path.suffix], base, f"{base}declared/in/{digest[:20]}")
    text = "".join(f"{part}\n" for part in writer.document([[writer.render(node) for node in nodes]] if nodes else []))
    single.save(path, text)


def _is_declared(data: bytes) -> bool:
    """Whether a file begins as one that :func:`write` makes: with a declaration."""
    head = data[:4096]
    return b"declared/by/" in head and PREFIXES["ah"].encode() in head


def base_of(store: Store) -> str:
    """The beginning of the graph's IRIs."""
    for export, query in select(store, _BASE, "the base").rows:
        if export:
            return f"{export.rpartition('/export/')[0]}/"
        if query:
            return f"{query.rpartition('/query/')[0]}/"
    return f"{SNOWFLAKE}local-account/"


def _validate(nodes: list[Node], base: str) -> None:
    writer = writer_of("ntriples", base)
    text = "\n".join(writer.render(node) for node in nodes)
    triples: list[Triple] = [quad.triple for quad in parse(text.encode(), RdfFormat.N_TRIPLES)]
    results = validate(Graph([*triples, *hierarchy()]), compiled(ShapesGraph(())))
    if violations(results):
        result = results[0]
        raise RefusedError(f"the shapes refuse {result.focus}: {result.message} ({result.shape}). Nothing was written")


class _Nodes:
    """The nodes of a comparison. ``_edges``: those that a declaration has."""

    def __init__(self, comparison: Comparison, store: Store, base: str) -> None:
        self._compared, self._store, self._base = comparison, store, base
        self._edges = [edge for edge in comparison.edges if edge.verdict != UNDECLARED]
        self._objects = set[str]()
        self._columns = dict[tuple[str, str], str]()
        self._used = set[tuple[str, str]]()

    def all(self) -> Iterator[Node]:
        ends = (end.resolution for edge in self._edges for end in (edge.source, edge.target))
        iris = {resolution.iri for resolution in ends if isinstance(resolution, ObjectLine)}
        rows = self._compared.observed.rows(_COLUMNS, iris)
        self._columns = {(str(thing), match_name(str(name))): str(column) for thing, column, name in rows}
        yield from self._declarations()
        yield from self._datasets()
        yield from (self._edge(edge) for edge in self._edges)
        yield from self._repeated()

    def _declarations(self) -> Iterator[Node]:
        written = set[str]()
        for declaration in self._compared.declarations:
            if declaration.digest in written:
                continue
            written.add(declaration.digest)
            values: Values = {
                "rdfs:label": (declaration.name,),
                "ah:format": (declaration.form,),
                "ah:digest": (f"sha256:{declaration.digest}",),
            }
            if declaration.at is not None:
                values["prov:generatedAtTime"] = (declaration.at,)
            yield Node(DECLARATION, f"declared/by/{declaration.digest[:20]}", DECLARATION.types, values)

    def _declared_in(self, numbers: Iterable[int]) -> tuple[str, ...]:
        return tuple(sorted({f"declared/by/{self._compared.declarations[number].digest[:20]}" for number in numbers}))

    def _datasets(self) -> Iterator[Node]:
        facts_of: dict[Dataset, dict[str, set[str]]] = {}
        jobs = set[str]()
        for edge in self._edges:
            for end in (edge.source, edge.target):
                facts = facts_of.setdefault(
                    _declared_dataset(end), {"in": set(), "of": set(), "from": set(), "by": set()}
                )
                facts["in"].update(self._declared_in(edge.declared))
                facts["of"].update(end.members)
            if _declared_dataset(edge.source) != _declared_dataset(edge.target):
                facts_of[_declared_dataset(edge.target)]["from"].add(_iri("dataset", *_declared_dataset(edge.source)))
            facts_of[_declared_dataset(edge.target)]["by"].update(_iri("job", job) for job in edge.jobs)
            jobs |= edge.jobs
        for dataset, facts in facts_of.items():
            values: Values = {"rdfs:label": (dataset.name,)}
            if dataset.namespace:
                values["ah:namespace"] = (dataset.namespace,)
            for term, key in (
                ("prov:alternateOf", "of"),
                ("prov:wasDerivedFrom", "from"),
                ("prov:wasAttributedTo", "by"),
            ):
                if facts[key]:
                    values[term] = tuple(sorted(facts[key]))
            values["prov:hadPrimarySource"] = tuple(sorted(facts["in"]))
            self._objects |= facts["of"]
            yield Node(DECLARED_DATASET, _iri("dataset", *dataset), DECLARED_DATASET.types, values)
        for job in jobs:
            yield Node(DECLARED_JOB, _iri("job", job), DECLARED_JOB.types, {"rdfs:label": (job,)})

    def _edge(self, edge: ComparedEdge) -> Node:
        source, target = (
            _iri("dataset", *_declared_dataset(edge.source)),
            _iri("dataset", *_declared_dataset(edge.target)),
        )
        values: Values = {"prov:entity": (source,), "ah:targetDataset": (target,)}
        for name, end in (("source", edge.source), ("target", edge.target)):
            if not end.column:
                continue
            values[f"ah:{name}ColumnName"] = (end.column,)
            if isinstance(end.resolution, ObjectLine):
                iri = self._columns.get((end.resolution.iri, end.column))
                if iri is not None:
                    values[f"ah:{name}Column"] = (iri,)
                    self._used.add((iri, end.resolution.iri))
        values["ah:verdict"] = (edge.verdict.upper(),)
        if edge.reason:
            values["ah:verdictReason"] = (edge.reason,)
        if edge.runs:
            first, last = edge.runs[0], edge.runs[-1]
            values["ah:queryCount"] = (max(edge.queries, 1),)
            idents: tuple[Value, ...] = tuple(dict.fromkeys(run.ident for run in (first, last) if run.ident))
            if idents:
                values["ah:evidenceQueryId"] = idents
            values["ah:firstSeen"], values["ah:lastSeen"] = (first.time,), (last.time,)
        values["ah:declaredIn"] = self._declared_in(edge.declared)
        key = (source, edge.source.column or "", target, edge.target.column or "")
        return Node(DECLARED_DERIVATION, _iri("edge", *key), DECLARED_DERIVATION.types, values)

    def _repeated(self) -> Iterator[Node]:
        """The objects and columns of the graph that are referred to, with what their shapes ask for."""
        for iri in self._objects | {owner for _, owner in self._used}:
            yield Node(OBJECT, iri, self._types(iri), {"ah:domain": (self._text(iri, "ah:domain"),)})
        for iri, owner in self._used:
            name = self._text(iri, "ah:columnName")
            values: Values = {"rdfs:label": (name,), "ah:columnName": (name,), "ah:columnOf": (owner,)}
            yield Node(COLUMN, iri, COLUMN.types, values)

    def _types(self, iri: str) -> tuple[str, ...]:
        quads = self._store.quads_for_pattern(NamedNode(iri), NamedNode(full("rdf:type")), None)
        types = {_prefixed(quad.object.value) for quad in quads if isinstance(quad.object, NamedNode)}
        return tuple(sorted(types))

    def _text(self, iri: str, term: str) -> str:
        quads = self._store.quads_for_pattern(NamedNode(iri), NamedNode(full(term)), None)
        return min((str(quad.object.value) for quad in quads), default="")  # type: ignore[union-attr]  # a text


def _declared_dataset(end: End) -> Dataset:
    assert end.dataset is not None, "only what rows show has none"
    return end.dataset


def _iri(what: str, *key: str) -> str:
    digest = hashlib.sha256(
        "\0".join(f"{len(part)}:{part}" for part in key).encode("utf-8", "surrogatepass")
    ).hexdigest()
    return f"declared/{what}/{digest[:20]}"


def _prefixed(iri: str) -> str:
    return next(
        (f"{name}:{iri[len(namespace) :]}" for name, namespace in PREFIXES.items() if iri.startswith(namespace)), iri
    )
