"""Small graphs of reads and writes, in the exporter's own terms, for questions about lineage."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathlib import Path

HEADER: Final = """@base <snowflake://ACME-PROD/> .
@prefix ah: <https://w3id.org/access-history#> .
@prefix dcterms: <http://purl.org/dc/terms/> .
@prefix prov: <http://www.w3.org/ns/prov#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
"""


@dataclass(frozen=True)
class Copy:
    """One query that read column ``C`` of ``source`` and wrote that of ``target``; ``anew``: after creating it."""

    source: str
    target: str
    anew: bool = False
    called: str | None = None


def graph_of(copies: list[Copy], folder: Path) -> Path:
    """The graph of queries ``q0001``, ``q0002`` … a minute apart; objects that begin with S are stages."""
    states: dict[str, str] = defaultdict(lambda: "before/q-1")
    blocks = []
    for number, copy in enumerate(copies, start=1):
        blocks.append(_query(number, copy, states[copy.source], states[copy.target]))
        states[copy.target] = f"version/q{number:04}"
    names = {copy.source for copy in copies} | {copy.target for copy in copies}
    text = HEADER + "".join(blocks) + "".join(_object(name) for name in sorted(names))
    path = folder / "graph.ttl"
    path.write_text(text, encoding="utf-8")
    return path


def _key(name: str) -> str:
    return f"{'stage' if name.startswith('S') else 'table'}/{name[1:]}"


def _query(number: int, copy: Copy, read: str, before: str) -> str:
    query, source, target = f"q{number:04}", _key(copy.source), _key(copy.target)
    time = f'"2026-01-01T{number // 60:02}:{number % 60:02}:00Z"^^xsd:dateTime'
    prior = "" if copy.anew else f"ah:priorVersion <{target}/{before}> ;"
    prior_column = "" if copy.anew else f"ah:priorColumnVersion <{target}/{before}/column/C> ;"
    return f"""
<query/{query}> a ah:Query ; ah:queryId "{query}" ; prov:startedAtTime {time} ; prov:wasAssociatedWith <user/ETL> ;
  prov:used <{source}/{read}> ; prov:qualifiedUsage <query/{query}/access/base/{source}> .
<query/{query}/access/base/{source}> a ah:Access ; ah:accessType "BASE" ; ah:accessedObject <{source}> ;
  prov:entity <{source}/{read}> ; ah:objectName "{copy.source}" ; ah:readColumn <{source}/column/C> .
<{target}/version/{query}> a ah:Version ; prov:specializationOf <{target}> ; {prior}
  prov:wasGeneratedBy <query/{query}> ;
  prov:generatedAtTime {time} ; prov:wasDerivedFrom <{source}/{read}> ; ah:derivedFromBase <{source}/{read}> ;
  prov:qualifiedDerivation <{target}/version/{query}/derivation/C> ; ah:wroteColumn <{target}/column/C> ;
  ah:objectName "{copy.called or copy.target}" .
<{target}/version/{query}/column/C> a ah:ColumnVersion ; prov:specializationOf <{target}/column/C> ;
  dcterms:isPartOf <{target}/version/{query}> ; prov:wasGeneratedBy <query/{query}> ; {prior_column}
  prov:wasDerivedFrom <{source}/{read}/column/C> .
<{target}/version/{query}/derivation/C> a ah:ColumnDerivation ; prov:entity <{source}/{read}> ;
  prov:hadActivity <query/{query}> ; ah:sourceType "BASE" ; ah:sourceObject <{source}> ; ah:sourceName "{copy.source}" ;
  ah:sourceColumn <{source}/column/C> ; ah:sourceColumnVersion <{source}/{read}/column/C> ;
  ah:targetColumn <{target}/column/C> ; ah:targetColumnVersion <{target}/version/{query}/column/C> ;
  ah:targetName "{copy.called or copy.target}" .
"""


def _object(name: str) -> str:
    key, kind = _key(name), "Stage" if name.startswith("S") else "Table"
    return f"""
<{key}> a ah:{kind}, ah:SnowflakeObject ; rdfs:label "{name}" ; ah:domain "{kind}" ; ah:objectId "{name[1:]}" ;
  ah:hasName <{key}/called/first/{name}> .
<{key}/called/first/{name}> a ah:ObjectName ; ah:nameText "{name}" ;
  ah:validFrom "2026-01-01T00:00:00Z"^^xsd:dateTime ; ah:lastSeen "2026-01-01T00:00:00Z"^^xsd:dateTime .
<{key}/column/C> a ah:Column ; ah:columnName "C" ; ah:columnOf <{key}> .
<{key}/before/q-1> a ah:Version, ah:UnrecordedVersion ; prov:specializationOf <{key}> .
<user/ETL> a ah:User ; ah:userName "ETL" .
"""
