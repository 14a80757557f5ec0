"""Small graphs of reads and writes, in the exporter's terms, for questions about lineage."""

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


SOME: Final = [
    Copy("S1", "T2"), Copy("T2", "T3"), Copy("T3", "T4"), Copy("T4", "T2"), Copy("T2", "T2"),
    Copy("S1", "T2"), Copy("T3", "S5"), Copy("T6", "T3", anew=True), Copy("T3", "T7"),
]  # fmt: skip
"""A circle, a table that is copied into itself, one that is made anew."""


def graph_of(copies: list[Copy], folder: Path) -> Path:
    """The graph of queries ``q0001``, ``q0002`` … a minute apart; objects that begin with S are stages."""
    states: dict[str, str] = defaultdict(lambda: "before/q-1")
    called: dict[str, list[tuple[int, str]]] = defaultdict(list)
    blocks = []
    for number, copy in enumerate(copies, start=1):
        blocks.append(_query(number, copy, states[copy.source], states[copy.target]))
        states[copy.target] = f"version/q{number:04}"
        blocks += [
            f"<{_key(copy.target)}/version/q{number:04}> ah:validUntil {_time(later)} .\n"
            for later in [next((n for n, one in enumerate(copies, 1) if n > number and one.target == copy.target), 0)]
            if later
        ]
        called[copy.source].append((number, copy.source))
        called[copy.target].append((number, copy.called or copy.target))
    text = HEADER + "".join(blocks) + "".join(_object(name, called[name]) for name in sorted(called))
    path = folder / "graph.ttl"
    path.write_text(text, encoding="utf-8")
    return path


def _time(number: int) -> str:
    return f'"2026-01-01T{number // 60:02}:{number % 60:02}:00Z"^^xsd:dateTime'


def _key(name: str) -> str:
    return f"{'stage' if name.startswith('S') else 'table'}/{name[1:]}"


def _query(number: int, copy: Copy, read: str, before: str) -> str:
    query, source, target = f"q{number:04}", _key(copy.source), _key(copy.target)
    time = _time(number)
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


def _object(name: str, called: list[tuple[int, str]]) -> str:
    """An object, with the names that it was called, each until the next."""
    key, kind = _key(name), "Stage" if name.startswith("S") else "Table"
    turns = [turn for place, turn in enumerate(called) if not place or called[place - 1][1] != turn[1]]
    names = [
        f"""<{key}> ah:hasName <{key}/called/{since}> .
<{key}/called/{since}> a ah:ObjectName ; ah:nameText "{text}" ; ah:matchName "{text}" ;
  ah:validFrom {_time(since)} ; ah:lastSeen {_time(since)} {f"; ah:validUntil {_time(until)}" if until else ""} .
"""
        for (since, text), until in zip(turns, [*(since for since, _ in turns[1:]), 0], strict=True)
    ]
    return f"""
<{key}> a ah:{kind}, ah:SnowflakeObject ; rdfs:label "{turns[-1][1]}" ; ah:domain "{kind}" ; ah:objectId "{name[1:]}" .
{"".join(names)}<{key}/column/C> a ah:Column ; ah:columnName "C" ; ah:matchName "C" ; ah:columnOf <{key}> .
<{key}/before/q-1> a ah:Version, ah:UnrecordedVersion ; prov:specializationOf <{key}> .
<{key}/before/q-1/column/C> a ah:ColumnVersion, ah:UnrecordedColumnVersion ; dcterms:isPartOf <{key}/before/q-1> ;
  prov:specializationOf <{key}/column/C> .
<user/ETL> a ah:User ; ah:userName "ETL" ; ah:matchName "ETL" .
"""
