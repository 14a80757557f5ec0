"""Times every shipped question on a large graph: ``python -m benchmarks.questions [--rows 10500] [--graph DIR]``.

Rows of :mod:`benchmarks.generate` are exported (or ``--graph`` is used as it is) and the graph is loaded. Each question
is asked as ``exporter query`` asks it after loading: with parameters from the graph that have large answers, and once
more without the optional ones. Fails if the graph has too few triples or an answer takes too long. The time is CPU time
of this process, since the answer is made in memory by one thread.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pyoxigraph import QuerySolutions

from benchmarks import generate
from exporter.ask.questions import ask, find, questions
from exporter.graph.store import load

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyoxigraph import Store

TRIPLES: Final = 1_000_000
SECONDS: Final = 2.0
_AH: Final = "PREFIX ah: <https://w3id.org/access-history#>\nPREFIX prov: <http://www.w3.org/ns/prov#>\n"
_VALUES: Final = {
    "object_id": """SELECT ?value WHERE { ?access ah:accessType "BASE" ; ah:accessedObject ?object .
        ?object a ah:Table ; ah:objectId ?value }""",
    "stage": "SELECT ?value WHERE { ?access ah:accessedObject ?object ; ah:objectName ?value . ?object a ah:Stage }",
    "table": "SELECT ?value WHERE { ?derivation ah:targetName ?value }",
    "column": "SELECT ?value WHERE { ?derivation ah:targetName {table} ; ah:targetColumn/ah:columnName ?value }",
    "source": "SELECT ?value WHERE { ?derivation ah:sourceName ?value ; ah:sourceColumn ?column }",
    "source_column": """SELECT ?value WHERE { ?derivation ah:sourceName {source} .
        ?derivation ah:sourceColumn/ah:columnName ?value }""",
    "tagged": """SELECT ?value WHERE { ?change ah:objectName ?value ; ah:hasSetting ?setting .
        ?setting a ah:TagSetting ; ah:onColumn ?column }""",
    "tagged_column": """SELECT ?value WHERE { ?change ah:objectName {tagged} ; ah:hasSetting ?setting .
        ?setting a ah:TagSetting ; ah:onColumn/ah:columnName ?value }""",
    "user_name": "SELECT ?value WHERE { ?query prov:wasAssociatedWith/ah:userName ?value }",
    "masked_query": "SELECT ?value WHERE { ?query ah:enforced ?policy ; ah:queryId ?value }",
    "parent": "SELECT ?value WHERE { ?query <http://purl.org/dc/terms/isPartOf>/ah:queryId ?value }",
    "time": "SELECT ?value WHERE { ?query prov:startedAtTime ?value }",
}
"""For each kind of value, the candidates: the most frequent one is taken; for times, the median."""
_GIVEN: Final = {
    "who-accessed": {"object_id": "object_id"},
    "when-accessed": {"object_id": "object_id"},
    "columns-accessed": {"object_id": "object_id"},
    "statements-of-request": {"query_id": "parent"},
    "sensitive-data-movement": {"object_name": "stage"},
    "column-lineage": {"target_object_name": "table"},
    "enforced-policy": {"query_id": "masked_query"},
    "tag-history": {"object_name": "tagged", "column_name": "tagged_column"},
    "unused-objects": {"since": "time"},
    "column-copies": {"object_name": "source", "column_name": "source_column"},
    "root-cause": {"object_name": "table", "column_name": "column"},
    "downstream-users": {"object_name": "source"},
    "writers": {"object_name": "table", "domain": "=Table"},
    "lineage-as-of": {"object_name": "table", "at": "time"},
    "user-history": {"user_name": "user_name"},
    "policy-access": {"user_name": "user_name"},
    "end-up": {"object_name": "source", "column_name": "source_column"},
    "column-readers": {"object_name": "source", "column_name": "source_column"},
    "former-names": {"object_name": "table"},
    "unmasked-reads": {"object_name": "source"},
    "policy-coverage": {"at": "time"},
    "changes": {"since": "time"},
    "agent-reads": {"since": "time"},
}


def values(store: Store) -> dict[str, str]:
    """The values that questions are asked for."""
    found: dict[str, str] = {}
    for kind, query in _VALUES.items():
        text = query
        for name, value in found.items():
            text = text.replace(f"{{{name}}}", f'"{value}"')
        solutions = store.query(f"{_AH} {text}")
        assert isinstance(solutions, QuerySolutions), "a SELECT gives solutions"
        rows = [solution["value"].value for solution in solutions]
        counts: dict[str, int] = {}
        for value in rows:
            counts[value] = counts.get(value, 0) + 1
        found[kind] = (
            sorted(rows)[len(rows) // 2] if kind == "time" else max(counts, key=lambda one: (counts[one], one))
        )
    return found


def asked(store: Store) -> Iterator[tuple[str, dict[str, str]]]:
    known = values(store)
    for question in questions():
        given = {
            name: kind.removeprefix("=") if kind.startswith("=") else known[kind]
            for name, kind in _GIVEN.get(question.name, {}).items()
        }
        yield question.name, given
        needed = {one.name for one in question.parameters if one.required}
        if given and not needed:
            yield question.name, {}
        if "at" in {one.name for one in question.parameters} and "at" not in needed:
            yield question.name, {**given, "at": known["time"]}


def run(graph: Path, limit: float, triples: int) -> bool:
    started = time.perf_counter()
    store = load(graph)
    print(f"{len(store):,} triples loaded in {time.perf_counter() - started:.1f} s\n")
    print("| question | parameters | rows | seconds | of them at work |\n|---|---|---:|---:|---:|")
    slow = []
    for name, given in asked(store):
        started, at_work = time.perf_counter(), time.process_time()
        answer = ask(store, find(name), given)
        took, worked = time.perf_counter() - started, time.process_time() - at_work
        words = ", ".join(f"{key}={value}" for key, value in given.items())
        print(f"| {name} | {words} | {len(answer.rows):,} | {took:.2f} | {worked:.2f} |", flush=True)
        slow += [f"{name} ({words}): {worked:.1f} s"] * (worked > limit)
    for words in slow:
        print(f"too slow: {words}", file=sys.stderr)
    if len(store) < triples:
        print(f"too small: {len(store):,} triples are fewer than {triples:,}", file=sys.stderr)
    return not slow and len(store) >= triples


def export(rows: int, seed: int, scratch: Path) -> Path:
    given, history, out = scratch / "rows.ndjson", scratch / "queries.csv", scratch / "out"
    generate.write(generate.Sizes.of(rows), seed, given, history)
    command = [sys.executable, "-m", "exporter", "export", given, "--query-history", history]
    subprocess.run([*command, "--account", "ACME-PROD", "--outputs", "graph", "--out", out], check=True)
    return out


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.questions", description=str(__doc__).split("\n\n")[0])
    parser.add_argument("--rows", type=int, default=10_500, help="how many rows to make and export")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--graph", type=Path, help="what an export left, instead of one of its own")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="how long an answer may take")
    parser.add_argument("--triples", type=int, default=TRIPLES, help="how many triples the graph must have")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        graph = given.graph or export(given.rows, given.seed, Path(scratch))
        sys.exit(not run(graph, given.seconds, given.triples))


if __name__ == "__main__":
    main()
