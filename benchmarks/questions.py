"""Times every shipped question on a large graph, and the notes on its answer: ``python -m benchmarks.questions``.

Rows of :mod:`benchmarks.generate` are exported, with ``--rebuilds`` those of :mod:`benchmarks.rebuilds` (or ``--graph
DIR`` is used as it is), and the graph is loaded. Each question is asked as ``exporter query`` asks it after loading:
with parameters from the graph that have large answers, and once more without the optional ones. Fails if the graph has
too few triples, or an answer or its notes take too long. The time is CPU time of this process, since the answer is made
in memory by one thread.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from unittest.mock import patch

from pyoxigraph import QuerySolutions

from benchmarks import generate, rebuilds
from exporter.ask import questions as asking
from exporter.ask.notes.index import explain
from exporter.ask.questions import ask, find, questions
from exporter.graph.store import load

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyoxigraph import Store

TRIPLES: Final = 1_000_000
TRIPLES_OF_REBUILDS: Final = 300_000
SECONDS: Final = 2.0
SECONDS_OF_REBUILDS: Final = 15.0
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
    "rebuilt": """SELECT ?value WHERE { ?thing ah:hasName/ah:nameText ?value
        FILTER EXISTS { ?derivation ah:sourceName ?value ; ah:sourceColumn ?column } }""",
    "rebuilt_column": """SELECT ?value WHERE { ?derivation ah:sourceName {rebuilt} .
        ?derivation ah:sourceColumn/ah:columnName ?value }""",
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
    "exposure": {"object_name": "source"},
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
        taken = {one.name for one in question.parameters}
        if given and not needed:
            yield question.name, {}
        if "at" in taken and "at" not in needed:
            yield question.name, {**given, "at": known["time"]}
        if "object_name" in taken:  # by the name that most objects had
            of_name = {"object_name": known["rebuilt"], "column_name": known["rebuilt_column"]}
            yield (
                question.name,
                {name: value for name, value in {**given, **of_name}.items() if name in taken - {"object_id"}},
            )


class _Notes:
    """The notes on answers, with the CPU seconds that they took."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def explain(self, *given: Any) -> list[str]:
        started = time.process_time()
        found = explain(*given)
        self.seconds += time.process_time() - started
        return found


def run(graph: Path, limit: float, triples: int) -> bool:
    started = time.perf_counter()
    store = load(graph)
    print(f"{len(store):,} triples loaded in {time.perf_counter() - started:.1f} s\n")
    print("| question | parameters | rows | seconds | of its query at work | of its notes |")
    print("|---|---|---:|---:|---:|---:|")
    slow = []
    for name, given in asked(store):
        started, at_work, notes = time.perf_counter(), time.process_time(), _Notes()
        with patch.object(asking, "explain", notes.explain):
            answer = ask(store, find(name), given)
        took, worked = time.perf_counter() - started, time.process_time() - at_work
        words = ", ".join(f"{key}={value}" for key, value in given.items())
        both = f"{worked - notes.seconds:.2f} | {notes.seconds:.2f}"
        print(f"| {name} | {words} | {len(answer.rows):,} | {took:.2f} | {both} |", flush=True)
        slow += [f"{name} ({words}): {worked:.1f} s, {notes.seconds:.1f} of them its notes"] * (worked > limit)
    for words in slow:
        print(f"too slow: {words}", file=sys.stderr)
    if len(store) < triples:
        print(f"too small: {len(store):,} triples are fewer than {triples:,}", file=sys.stderr)
    return not slow and len(store) >= triples


def export(rows: int, seed: int, scratch: Path, *, of_rebuilds: bool) -> Path:
    given, history, out = scratch / "rows.ndjson", scratch / "queries.csv", scratch / "out"
    command = [sys.executable, "-m", "exporter", "export", given]
    if of_rebuilds:
        rebuilds.write(rows, given)
    else:
        generate.write(generate.Sizes.of(rows), seed, given, history)
        command += ["--query-history", history]
    subprocess.run([*command, "--account", "ACME-PROD", "--outputs", "graph", "--out", out], check=True)
    return out


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.questions", description=str(__doc__).split("\n\n")[0])
    parser.add_argument("--rows", type=int, default=10_500, help="how many rows to make and export")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rebuilds", action="store_true", help="of tables that are made anew each night")
    parser.add_argument("--graph", type=Path, help="what an export left, instead of one of its own")
    parser.add_argument("--seconds", type=float, help="how long an answer may take")
    parser.add_argument("--triples", type=int, help="how many triples the graph must have")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        graph = given.graph or export(given.rows, given.seed, Path(scratch), of_rebuilds=given.rebuilds)
        seconds, triples = (SECONDS_OF_REBUILDS, TRIPLES_OF_REBUILDS) if given.rebuilds else (SECONDS, TRIPLES)
        limits = (
            seconds if given.seconds is None else given.seconds,
            triples if given.triples is None else given.triples,
        )
        sys.exit(not run(graph, *limits))


if __name__ == "__main__":
    main()
