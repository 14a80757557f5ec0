"""What the CPU seconds of an export are held against: other programs on the same rows, or on its own graph.

::

    python -m benchmarks.anchors convert GRAPH OUT      a graph in Turtle, parsed and written as N-Triples by pyoxigraph
    python -m benchmarks.anchors copy FILE OUT          the rows, read and written as bytes
    python -m benchmarks.anchors flat FILE OUT          the rows as a flat CSV, with a mapping for morph-kgc

The flat mapping is what R2RML and RML can say of the view without its arrays: a query, its user, when it ran, and the
first object that it read. That is nine triples a row or fewer. It has no versions, columns, checks or policies.
"""

from __future__ import annotations

import csv
import json
import sys
import time
from pathlib import Path
from typing import Any, Final

from pyoxigraph import RdfFormat, parse, serialize

CSV, MAPPING, CONFIG, TRIPLES = "flat.csv", "flat.rml.ttl", "morph-kgc.ini", "flat.nt"
"""The files of the folder that ``flat`` writes, and the one that morph-kgc writes there."""
_CONFIG: Final = f"""\
[CONFIGURATION]
output_file: {TRIPLES}
output_format: N-TRIPLES
logging_level: WARNING

[rows]
mappings: {MAPPING}
"""
_MAPPING: Final = f"""\
@prefix ah: <https://w3id.org/access-history#> .
@prefix prov: <http://www.w3.org/ns/prov#> .
@prefix ql: <http://semweb.mmlab.be/ns/ql#> .
@prefix rml: <http://semweb.mmlab.be/ns/rml#> .
@prefix rr: <http://www.w3.org/ns/r2rml#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .

<#query>
  rml:logicalSource [ rml:source "{CSV}" ; rml:referenceFormulation ql:CSV ] ;
  rr:subjectMap [ rr:template "snowflake://BENCH-ACCOUNT/query/{{query_id}}" ; rr:class ah:Query , prov:Activity ] ;
  rr:predicateObjectMap
    [ rr:predicate ah:queryId ; rr:objectMap [ rml:reference "query_id" ] ] ,
    [ rr:predicate prov:startedAtTime ; rr:objectMap [ rml:reference "start" ; rr:datatype xsd:dateTime ] ] ,
    [ rr:predicate prov:wasAssociatedWith ; rr:objectMap [ rr:template "snowflake://BENCH-ACCOUNT/user/{{user}}" ] ] ,
    [ rr:predicate prov:used ; rr:objectMap [ rr:template "snowflake://BENCH-ACCOUNT/table/{{object_id}}" ] ] .

<#user>
  rml:logicalSource [ rml:source "{CSV}" ; rml:referenceFormulation ql:CSV ] ;
  rr:subjectMap [ rr:template "snowflake://BENCH-ACCOUNT/user/{{user}}" ; rr:class prov:Agent ] ;
  rr:predicateObjectMap [ rr:predicate ah:userName ; rr:objectMap [ rml:reference "user" ] ] .

<#object>
  rml:logicalSource [ rml:source "{CSV}" ; rml:referenceFormulation ql:CSV ] ;
  rr:subjectMap [ rr:template "snowflake://BENCH-ACCOUNT/table/{{object_id}}" ; rr:class ah:SnowflakeObject ] ;
  rr:predicateObjectMap [ rr:predicate ah:objectName ; rr:objectMap [ rml:reference "object_name" ] ] .
"""


def convert(graph: Path, out: Path) -> int:
    """Parse a file of Turtle and write it as N-Triples; returns the number of triples."""
    with out.open("wb") as target:
        serialize(parse(path=str(graph), format=RdfFormat.TURTLE), target, format=RdfFormat.N_TRIPLES)
    return lines(out)


def copy(file: Path, out: Path) -> int:
    """Read the lines and write them; returns their number."""
    rows = 0
    with file.open("rb") as source, out.open("wb") as target:
        for line in source:
            target.write(line)
            rows += 1
    return rows


def flat(file: Path, folder: Path) -> int:
    """Write the rows as a flat CSV, with the mapping and the configuration of morph-kgc; returns their number."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / MAPPING).write_text(_MAPPING, encoding="utf-8")
    (folder / CONFIG).write_text(_CONFIG, encoding="utf-8")
    rows = 0
    with file.open("rb") as source, (folder / CSV).open("w", encoding="utf-8", newline="") as target:
        out = csv.writer(target)
        out.writerow(("query_id", "start", "user", "object_id", "object_name"))
        for line in source:
            row = json.loads(line)
            read = (row.get("direct_objects_accessed") or [{}])[0]
            day, time_of_day, _ = row["query_start_time"].split(" ")
            start = f"{day}T{time_of_day}Z"
            out.writerow((row["query_id"], start, row["user_name"], read.get("objectId"), read.get("objectName")))
            rows += 1
    return rows


def triples(graph: Path) -> int:
    """How many triples a file of Turtle has."""
    return sum(1 for _ in parse(path=str(graph), format=RdfFormat.TURTLE))


def lines(file: Path) -> int:
    """How many lines a file has."""
    with file.open("rb") as each:
        return sum(1 for _ in each)


def main() -> None:
    what, source, target = sys.argv[1:]
    of: dict[str, Any] = {"convert": convert, "copy": copy, "flat": flat}
    started = time.perf_counter()
    number = of[what](Path(source), Path(target))
    print(json.dumps({"number": number, "seconds": round(time.perf_counter() - started, 3)}))


if __name__ == "__main__":
    main()
