"""The comparison as JSON for programs, as a table for people, and the declared lineage as a graph of its own.

The graph is a file beside the export, which is never changed. Its nodes are declarations, datasets, jobs and edges
(:mod:`exporter.graph.vocabulary`); the objects and columns that they refer to are repeated with their classes, so that
the file can be validated and loaded alone. The same declarations and rows give the same file. In N-Quads, the graph has
a name that is made from the declarations' digests.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pyoxigraph import RdfFormat, parse

from exporter.ask.answers import Answer, render
from exporter.ask.lookups import Lookups
from exporter.ask.questions import select
from exporter.ask.triples import PROLOGUE
from exporter.errors import RefusedError, UsageError
from exporter.graph.shapes.classes import hierarchy
from exporter.graph.shapes.model import MemoryGraph
from exporter.graph.shapes.on_graph import validate, violations
from exporter.graph.shapes.reading import compiled, shapes_graph
from exporter.graph.terms import PREFIXES, Node, Value, Values
from exporter.graph.vocabulary import COLUMN, DECLARATION, DECLARED_DATASET, DECLARED_DERIVATION, DECLARED_JOB, OBJECT
from exporter.graph.writers import writer_of
from exporter.input.times import iso
from exporter.model.identifiers import match_name
from exporter.publish import result_file
from exporter.reconcile.declared import SNOWFLAKE, Declaration, DeclaredDataset
from exporter.reconcile.edges import PHANTOM, UNDECLARED, UNKNOWN, VERIFIED, ComparedEdge, End
from exporter.system.terminal import in_json, visible

if TYPE_CHECKING:
    from pyoxigraph import Store, Triple

    from exporter.reconcile.comparison import Comparison

_MEANING: Final = {
    VERIFIED: "declared and seen",
    UNDECLARED: "seen, and not declared",
    PHANTOM: "declared, and never seen",
    UNKNOWN: "declared, and cannot be known",
}


def as_json(comparison: Comparison) -> str:
    """The result as one JSON object (docs/interface.md)."""
    observed = comparison.observed
    document = {
        "period": {"first": _time(observed.begin), "last": _time(observed.end)},
        "declarations": [
            {
                "name": declaration.name,
                "form": declaration.form,
                "sha256": declaration.digest,
                "at": _time(declaration.at),
            }
            for declaration in comparison.declarations
        ],
        "counts": comparison.counts,
        "edges": [_edge_json(edge, comparison) for edge in comparison.edges],
        "notes": comparison.notes,
    }
    return f"{in_json(json.dumps(document, ensure_ascii=False, indent=1))}\n"


def _edge_json(edge: ComparedEdge, comparison: Comparison) -> dict[str, Any]:
    first, last = (edge.runs[0], edge.runs[-1]) if edge.runs else (None, None)
    return {
        "class": edge.verdict,
        "source": _end_json(edge.source),
        "target": _end_json(edge.target),
        "reason": edge.reason,
        "why": edge.why,
        "by": edge.by,
        "via": list(edge.via),
        "queries": edge.queries,
        "first": _time(first and first.time),
        "first_query_id": first and first.ident,
        "last": _time(last and last.time),
        "last_query_id": last and last.ident,
        "declared_by": [comparison.declarations[number].name for number in sorted(edge.declared)],
        "declared_first": _time(edge.first),
        "declared_last": _time(edge.last),
        "jobs": sorted(edge.jobs),
    }


def _end_json(end: End) -> dict[str, str | None]:
    namespace = end.dataset.namespace or None if end.dataset else None
    return {"name": end.name, "namespace": namespace, "column": end.column, "object": end.present_name, "iri": end.iri}


def as_text(comparison: Comparison) -> str:
    """The counts, and a table of the edges: first what differs."""
    counts, observed = comparison.counts, comparison.observed
    lines = [f"  {name:<12}{counts[name]:>7,}   {meaning}" for name, meaning in _MEANING.items()]
    lines += [
        f"  {'declared by':<12}{'':>7}   {visible(item.name)}, {item.form}, sha256 {item.digest[:12]}"
        for item in comparison.declarations
    ]
    begin, end = (_time(time) or "-" for time in (observed.begin, observed.end))
    lines.append(f"  {'period':<12}{'':>7}   {begin} to {end}, of the queries that are compared")
    columns = ("class", "target", "source", "queries", "last", "query_id", "reason")
    rows: list[tuple[str | None, ...]] = [
        (
            edge.verdict,
            _name(edge.target),
            _name(edge.source),
            str(edge.queries) if edge.runs else None,
            _time(edge.runs[-1].time) if edge.runs else None,
            edge.runs[-1].ident or edge.runs[0].ident if edge.runs else None,
            edge.reason,
        )
        for edge in comparison.edges
    ]
    reasons = dict[str, list[str]]()
    for edge in comparison.edges:
        if edge.why:
            reasons.setdefault(str(edge.reason), []).append(edge.why)
    whys = list[str]()
    for reason, (first, *others) in reasons.items():
        whys.append(f"{reason}: {first}{f' (and {len(others):,} more; --json has all)' if others else ''}")
    return (
        "".join(f"{line}\n" for line in [*lines, ""])
        + render(Answer(columns, rows, []), "table")
        + "".join(f"{visible(why)}\n" for why in (["", *whys] if whys else []))
    )


def _name(end: End) -> str:
    """The name with its column; and the present one, where that is another one."""
    column = f".{end.column}" if end.column else ""
    is_of_graph = end.dataset is None or end.dataset.is_of_snowflake
    is_renamed = is_of_graph and end.present_name not in (None, end.name)
    return f"{end.name}{column}{f' (now {end.present_name})' if is_renamed else ''}"


def _time(micros: int | None) -> str | None:
    return None if micros is None else iso(micros)


# --- as a graph -------------------------------------------------------------------------------------------------------

_SYNTAXES: Final = {".ttl": "turtle", ".nq": "nquads"}
CONTRACT: Final = (".yaml", ".yml")
"""How the name of a data contract ends."""
_BASE: Final = f"""{PROLOGUE}SELECT ?export ?query WHERE {{
  OPTIONAL {{ SELECT ?export WHERE {{ ?export a ah:Export }} LIMIT 1 }}
  OPTIONAL {{ SELECT ?query WHERE {{ ?query a ah:Query }} LIMIT 1 }}
}}"""
_COLUMNS: Final = f"""{PROLOGUE}SELECT ?object ?column ?name WHERE {{
  VALUES ?object {{ @objects@ }} ?column ah:columnOf ?object ; ah:columnName ?name
}}"""


_LINKS: Final = ("prov:alternateOf", "prov:wasDerivedFrom", "prov:wasAttributedTo", "prov:hadPrimarySource")
"""What a dataset refers to: objects, its sources, its jobs, the declarations that name it."""


def check_graph(path: Path, folder: Path) -> None:
    """Raises UsageError where a file cannot be written there; nothing else has been read yet."""
    if path.suffix not in (*_SYNTAXES, *CONTRACT):
        endings = " or ".join(_SYNTAXES)
        raise UsageError(f"--out {path}: its name has to end in {endings}, or in {CONTRACT[0]} for a data contract")
    target, export_folder = path.resolve(), folder.resolve()
    if target == export_folder or export_folder in target.parents:
        raise UsageError(f"--out {path}: is in {folder}, which is not changed. Give a file beside it")
    if path.suffix in _SYNTAXES:
        result_file.check(path, _is_declared, "declared lineage of exporter reconcile")


def write_graph(comparison: Comparison, store: Store, path: Path) -> None:
    """Writes the graph, once it is validated. Raises RefusedError where the shapes refuse it."""
    base = base_of(store)
    nodes = sorted(_Nodes(comparison, store).all(), key=lambda node: node.iri)
    digests = sorted(declaration.digest for declaration in comparison.declarations)
    digest = hashlib.sha256("".join(digests).encode()).hexdigest()
    _validate(nodes, base)
    writer = writer_of(_SYNTAXES[path.suffix], base, f"{base}declared/in/{digest[:20]}")
    result_file.save(path, writer.document(map(writer.render, nodes)) if nodes else "")


def _is_declared(data: bytes) -> bool:
    """Whether a file begins as one that :func:`write_graph` makes: with a declaration."""
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
    results = validate(MemoryGraph([*triples, *hierarchy()]), compiled(shapes_graph(())))
    if violations(results):
        result = results[0]
        raise RefusedError(f"the shapes refuse {result.focus}: {result.message} ({result.shape}). Nothing was written")


class _Nodes:
    """The nodes of a comparison. ``_edges``: those that a declaration has; ``_columns``: (object, column) -> its node.
    ``_used_objects``, ``_used_columns``: what these refer to, a column with its object.
    """

    def __init__(self, comparison: Comparison, store: Store) -> None:
        self._declarations, self._graph = comparison.declarations, Lookups(store)
        self._edges = [edge for edge in comparison.edges if edge.verdict != UNDECLARED]
        iris = {end.iri for edge in self._edges for end in edge.ends if end.iri}
        rows = comparison.observed.rows(_COLUMNS, iris)
        self._columns = {(str(thing), match_name(str(name))): str(column) for thing, column, name in rows}
        self._used_objects, self._used_columns = set[str](), set[tuple[str, str]]()

    def all(self) -> Iterator[Node]:
        # of equal ones, the first
        yield from {
            declaration.digest: self._declaration(declaration) for declaration in reversed(self._declarations)
        }.values()
        yield from self._datasets()
        for job in {job for edge in self._edges for job in edge.jobs}:
            yield Node(DECLARED_JOB, _iri("job", job), DECLARED_JOB.types, {"rdfs:label": (job,)})
        yield from (self._edge(edge) for edge in self._edges)
        yield from self._repeated()

    def _declaration(self, declaration: Declaration) -> Node:
        values: Values = {
            "rdfs:label": (declaration.name,),
            "ah:format": (declaration.form,),
            "ah:digest": (f"sha256:{declaration.digest}",),
        }
        if declaration.at is not None:
            values["prov:generatedAtTime"] = (declaration.at,)
        return Node(DECLARATION, _declared_by(declaration), DECLARATION.types, values)

    def _declared_in(self, numbers: Iterable[int]) -> tuple[str, ...]:
        return tuple(sorted({_declared_by(self._declarations[number]) for number in numbers}))

    def _datasets(self) -> Iterator[Node]:
        links = defaultdict[DeclaredDataset, dict[str, set[str]]](lambda: {term: set() for term in _LINKS})
        for edge in self._edges:
            source, target = map(_declared_dataset, edge.ends)
            for end, dataset in zip(edge.ends, (source, target), strict=True):
                links[dataset]["prov:hadPrimarySource"].update(self._declared_in(edge.declared))
                links[dataset]["prov:alternateOf"] |= end.members
                self._used_objects |= end.members
            if source != target:
                links[target]["prov:wasDerivedFrom"].add(_iri("dataset", *source))
            links[target]["prov:wasAttributedTo"].update(_iri("job", job) for job in edge.jobs)
        for dataset, of_dataset in links.items():
            values: Values = {"rdfs:label": (dataset.name,)}
            if dataset.namespace:
                values["ah:namespace"] = (dataset.namespace,)
            values |= {term: tuple(sorted(iris)) for term, iris in of_dataset.items() if iris}
            yield Node(DECLARED_DATASET, _iri("dataset", *dataset), DECLARED_DATASET.types, values)

    def _edge(self, edge: ComparedEdge) -> Node:
        source, target = (_iri("dataset", *_declared_dataset(end)) for end in edge.ends)
        values: Values = {"prov:entity": (source,), "ah:targetDataset": (target,)}
        for name, end in (("source", edge.source), ("target", edge.target)):
            if end.column:
                values[f"ah:{name}ColumnName"] = (end.column,)
            owner = end.iri or ""
            iri = self._columns.get((owner, end.column or ""))
            if iri is not None:
                values[f"ah:{name}Column"] = (iri,)
                self._used_columns.add((iri, owner))
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
        for iri in self._used_objects | {owner for _, owner in self._used_columns}:
            types = tuple(sorted({_prefixed(type_iri) for type_iri in self._graph.objects(iri, "rdf:type")}))
            yield Node(OBJECT, iri, types, {"ah:domain": (self._graph.text(iri, "ah:domain") or "",)})
        for iri, owner in self._used_columns:
            name = self._graph.text(iri, "ah:columnName") or ""
            values: Values = {"rdfs:label": (name,), "ah:columnName": (name,), "ah:columnOf": (owner,)}
            yield Node(COLUMN, iri, COLUMN.types, values)


def _declared_by(declaration: Declaration) -> str:
    return f"declared/by/{declaration.digest[:20]}"


def _declared_dataset(end: End) -> DeclaredDataset:
    assert end.dataset is not None, "only what rows show has none"
    return end.dataset


def _iri(kind: str, *key: str) -> str:
    digest = hashlib.sha256(
        "\0".join(f"{len(part)}:{part}" for part in key).encode("utf-8", "surrogatepass")
    ).hexdigest()
    return f"declared/{kind}/{digest[:20]}"


def _prefixed(iri: str) -> str:
    return next(
        (f"{name}:{iri[len(namespace) :]}" for name, namespace in PREFIXES.items() if iri.startswith(namespace)), iri
    )
