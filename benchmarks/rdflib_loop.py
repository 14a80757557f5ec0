"""The baseline: a simple loop over the rows with rdflib, as a competent person would first write it.

``python -m benchmarks.rdflib_loop FILE --rows 3000 --out graph.nt`` reads NDJSON line by line, adds the triples of a
simplified model (queries, users, objects, columns, versions, usages, derivations, policies, joins, DDL changes) to a
graph, and serializes a graph of 1,000 rows at a time as N-Triples, or (several times slower, but easier to read) as
Turtle like the export (``--format turtle``). Each IRI is made once, and a thing is described once in a graph. It does
not validate, keeps no history of names, and writes no events. The last line of the output is JSON: rows, triples,
seconds.
"""

from __future__ import annotations

import argparse
import itertools
import json
import time
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO
from urllib.parse import quote

from rdflib import DCTERMS, PROV, RDF, RDFS, XSD, Graph, Literal, Namespace, URIRef

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Json = dict[str, Any]
AH = Namespace("https://w3id.org/access-history#")
BASE = "snowflake://BENCH-ACCOUNT/"
CHUNK = 1_000


@cache
def iri(*segments: str) -> URIRef:
    return URIRef(BASE + "/".join(quote(segment, safe="") for segment in segments))


def key(element: Json) -> tuple[str, str]:
    """An object's kind and its identifier: its id, else its name, else its location."""
    if "objectName" not in element:
        return "location", str(element.get("location"))
    kind = str(element.get("objectDomain", "object")).lower().split(" ")[-1].replace("_", "-")
    number = element.get("objectId")
    return (kind, str(number)) if number not in (None, 0, -1) else (f"{kind}-name", str(element["objectName"]))


class Loop:
    """The graph of the current chunk, and the latest version of each object over all chunks."""

    def __init__(self) -> None:
        self._latest: dict[tuple[str, str], URIRef] = {}
        self.start_graph()

    def start_graph(self) -> None:
        self.graph = Graph()
        self._described: set[object] = set()

    def add(self, row: Json) -> None:
        query = iri("query", row["query_id"])
        self._query(query, row)
        for kind in ("direct", "base"):
            for element in row[f"{kind}_objects_accessed"] or ():
                self._access(query, row["query_id"], kind.upper(), element)
        for element in row["policies_referenced"] or ():
            self._policies(query, row["query_id"], element)
        for element in row["objects_modified"] or ():
            self._write(query, row, element)
        if row["object_modified_by_ddl"]:
            self._change(query, row, row["object_modified_by_ddl"])

    def _query(self, query: URIRef, row: Json) -> None:
        started = datetime.strptime(row["query_start_time"], "%Y-%m-%d %H:%M:%S.%f %z")
        user = iri("user", row["user_name"])
        self._all(query, (RDF.type, AH.Query), (RDF.type, PROV.Activity), (AH.queryId, Literal(row["query_id"])))
        self._all(query, (PROV.startedAtTime, _time(started)), (PROV.wasAssociatedWith, user))
        self._all(user, (RDF.type, PROV.Agent), (RDF.type, AH.User), (AH.userName, Literal(row["user_name"])))
        for column, term in (("parent_query_id", DCTERMS.isPartOf), ("root_query_id", AH.rootQuery)):
            if row[column]:
                self._all(query, (term, iri("query", row[column])))

    def _all(self, subject: URIRef, *pairs: tuple[URIRef, URIRef | Literal]) -> None:
        for predicate, value in pairs:
            self.graph.add((subject, predicate, value))

    def _first(self, thing: object) -> bool:
        """Whether the current graph does not describe the thing yet."""
        known = len(self._described)
        self._described.add(thing)
        return len(self._described) > known

    def _object(self, element: Json) -> URIRef:
        thing, name = iri(*key(element)), element.get("objectName") or element.get("location")
        if self._first((thing, name)):
            self._describe(thing, Literal(name), element)
        return thing

    def _describe(self, thing: URIRef, name: Literal, element: Json) -> None:
        self._all(thing, (RDF.type, PROV.Entity), (RDF.type, AH.SnowflakeObject), (RDFS.label, name))
        for field, term in (("objectDomain", AH.domain), ("objectId", AH.objectId), ("stageKind", AH.stageKind)):
            if field in element:
                self._all(thing, (term, Literal(str(element[field]))))

    def _column(self, element: Json, name: str, number: object = None) -> URIRef:
        column = iri(*key(element), "column", name)
        if self._first(column):
            self._all(column, (RDF.type, AH.Column), (AH.columnName, Literal(name)), (AH.columnOf, iri(*key(element))))
        if number is not None and self._first((column, number)):
            self._all(column, (AH.columnId, Literal(str(number))))
        return column

    def _version(self, element: Json) -> URIRef:
        """The latest version of an object so far; an initial one where no write was seen."""
        known = self._latest.get(key(element))
        if known is None:
            known = self._latest[key(element)] = iri(*key(element), "version", "initial")
        thing = self._object(element)
        if self._first(known):
            self._all(known, (RDF.type, AH.Version), (PROV.specializationOf, thing))
        return known

    def _access(self, query: URIRef, query_id: str, kind: str, element: Json) -> None:
        version, access = self._version(element), iri("query", query_id, kind, *key(element))
        self._all(query, (PROV.used, version), (PROV.qualifiedUsage, access))
        self._all(access, (RDF.type, AH.Access), (PROV.entity, version), (AH.accessType, Literal(kind)))
        self._all(access, (AH.accessedObject, iri(*key(element))))
        for column in element.get("columns", ()):
            self._all(access, (AH.readColumn, self._column(element, column["columnName"], column.get("columnId"))))
        for join in element.get("joinObjects", ()):
            joined = iri("query", query_id, "join", *key(element), *key(join["node"]))
            self._all(query, (AH.hasJoin, joined))
            self._all(joined, (RDF.type, AH.Join), (AH.joinType, Literal(join["joinType"])))
            self._all(joined, (AH.leftObject, iri(*key(element))), (AH.rightObject, self._object(join["node"])))

    def _policies(self, query: URIRef, query_id: str, element: Json) -> None:
        protected = [(policy, None) for policy in element.get("policies", ())]
        columns = element.get("columns", ())
        protected += [(policy, column["columnName"]) for column in columns for policy in column.get("policies", ())]
        for policy, column in protected:
            thing = iri(policy["policyKind"], str(policy["policyId"]))
            enforced = iri("query", query_id, "policy", str(policy["policyId"]), *key(element), column or "")
            self._all(query, (AH.enforced, enforced))
            self._all(enforced, (RDF.type, AH.PolicyEnforcement), (AH.policy, thing))
            self._all(
                enforced, (AH.policyName, Literal(policy["policyName"])), (AH.protectedObject, self._object(element))
            )
            if column:
                self._all(enforced, (AH.protectedColumn, self._column(element, column)))

    def _write(self, query: URIRef, row: Json, element: Json) -> None:
        prior = self._version(element)
        version = iri(*key(element), "version", row["query_id"])
        self._all(version, (RDF.type, AH.Version), (RDF.type, PROV.Entity), (PROV.wasGeneratedBy, query))
        self._all(version, (PROV.specializationOf, iri(*key(element))), (AH.priorVersion, prior))
        for source in row["direct_objects_accessed"] or ():
            self._all(version, (PROV.wasDerivedFrom, self._version(source)))
        for column in element.get("columns", ()):
            target = self._column(element, column["columnName"], column.get("columnId"))
            self._all(version, (AH.wroteColumn, target))
            for kind in ("direct", "base"):
                for source in column.get(f"{kind}Sources", ()):
                    self._derivation(query, version, target, kind.upper(), source)
        self._latest[key(element)] = version

    def _derivation(self, query: URIRef, version: URIRef, target: URIRef, kind: str, source: Json) -> None:
        name = source.get("columnName", "")
        node = URIRef(f"{version}/{kind}/{quote(target, safe='')}/{'/'.join(key(source))}/{quote(name, safe='')}")
        self._all(version, (PROV.qualifiedDerivation, node))
        self._all(
            node, (RDF.type, AH.ColumnDerivation), (PROV.entity, self._version(source)), (PROV.hadActivity, query)
        )
        self._all(node, (AH.sourceType, Literal(kind)), (AH.targetColumn, target), (AH.sourceObject, iri(*key(source))))
        via = (AH.sourceColumn, self._column(source, name)) if name else (AH.viaFunction, iri(*key(source)))
        self._all(node, via)

    def _change(self, query: URIRef, row: Json, ddl: Json) -> None:
        change = iri("query", row["query_id"], "change", *key(ddl))
        self._all(query, (AH.hasChange, change))
        self._all(
            change, (RDF.type, AH.Change), (AH.operation, Literal(ddl["operationType"])), (DCTERMS.isPartOf, query)
        )
        self._all(
            change, (AH.changedObject, self._object(ddl)), (AH.properties, Literal(json.dumps(ddl["properties"])))
        )


def _time(moment: datetime) -> Literal:
    return Literal(moment.isoformat(), datatype=XSD.dateTime)


def chunks(lines: Iterable[str]) -> Iterator[list[str]]:
    remaining = iter(lines)
    while chunk := list(itertools.islice(remaining, CHUNK)):
        yield chunk


def run(lines: Iterable[str], out: BinaryIO, form: str) -> tuple[int, int]:
    """Write the graph; returns rows and triples."""
    loop, rows, triples = Loop(), 0, 0
    for chunk in chunks(lines):
        loop.start_graph()
        for line in chunk:
            loop.add(json.loads(line))
        loop.graph.serialize(out, format=form, encoding="utf-8")
        rows, triples = rows + len(chunk), triples + len(loop.graph)
    return rows, triples


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.rdflib_loop", description=str(__doc__).split("\n\n")[0])
    parser.add_argument("file", type=Path, help="NDJSON with native arrays")
    parser.add_argument("--rows", type=int, help="stop after so many rows; by default at the end of the file")
    parser.add_argument("--out", type=Path, required=True, help="file to write")
    parser.add_argument("--format", choices=("nt", "turtle"), default="nt", help="by default N-Triples (nt)")
    given = parser.parse_args()
    started = time.perf_counter()
    with given.file.open(encoding="utf-8") as lines, given.out.open("wb") as out:
        rows, triples = run(itertools.islice(lines, given.rows), out, given.format)
    print(json.dumps({"rows": rows, "triples": triples, "seconds": round(time.perf_counter() - started, 3)}))


if __name__ == "__main__":
    main()
