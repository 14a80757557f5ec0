"""Golden examples: a folder ``examples/NN-name/`` has rows, and the events and the graph that they must become.

``python -m tests.golden examples/NN-name …`` makes ``events.json`` and ``graph.ttl`` again by an export of each folder;
read the changes before you commit them. The tests export all folders at once, each as a separate account.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pyoxigraph import Literal, NamedNode, Quad, RdfFormat, parse

from exporter.cli import main
from exporter.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterable

ROOT: Final = Path(__file__).parents[1]
EXAMPLES: Final = ROOT / "examples"
ORGANIZATION: Final = "EXAMPLE"
_AH: Final = "https://w3id.org/access-history#"
_KINDS: Final = ("dataset", "START", "COMPLETE")
Json = dict[str, Any]
Triple = tuple[str, str, str]


def folders() -> list[Path]:
    """The examples, found by their numbers."""
    return sorted(path for path in EXAMPLES.glob("[0-9][0-9]-*") if path.is_dir())


def rows(folder: Path) -> list[Json]:
    return list(json.loads((folder / "access_history.json").read_text(encoding="utf-8")))


def aggregates(folder: Path) -> list[Json]:
    """Its rows of AGGREGATE_ACCESS_HISTORY; most examples have none."""
    path = folder / "aggregate_access_history.json"
    return list(json.loads(path.read_text(encoding="utf-8"))) if path.is_file() else []


def account(folder: Path) -> str:
    """The account whose rows an example holds; each has its own: their ids stand for different things."""
    return f"{ORGANIZATION}-{account_name(folder)}"


def account_name(folder: Path) -> str:
    """In the one spelling of accounts, which ``--account`` has, too: ``16-swap`` -> ``16_SWAP``."""
    return folder.name.replace("-", "_").upper()


def command(folder: Path) -> str:
    return f"python -m tests.golden examples/{folder.name}"


def export_together(cases: Iterable[Path], scratch: Path) -> Path:
    """One export of all cases, with the columns of ORGANIZATION_USAGE that tell accounts apart."""
    every, sources = list(cases), []
    for read in (rows, aggregates):
        lines = [
            json.dumps(
                {**row, "organization_name": ORGANIZATION, "account_name": account_name(folder)}, ensure_ascii=False
            )
            for folder in every
            for row in read(folder)
        ]
        sources.append(scratch / f"{read.__name__}.ndjson")
        sources[-1].write_text("\n".join(lines), encoding="utf-8")
    given = ["--account", "EXAMPLE-ALL", "--out", str(scratch / "out"), "--engine", "local"]
    more = ["--aggregate", str(sources[1])] if any(map(aggregates, every)) else []
    assert main(["export", str(sources[0]), *more, *given]) == 0
    return scratch / "out"


def triples(files: Iterable[Path]) -> set[Triple]:
    """The triples of Turtle files, as N-Triples terms."""
    quads = (quad for file in files for quad in parse(path=file, format=RdfFormat.TURTLE))
    return {(str(quad.subject), str(quad.predicate), str(quad.object)) for quad in quads}


def triples_of(folder: Path, out: Path) -> set[Triple]:
    """What a common export says of one example: its account's things, its organization, and places."""
    every = [quad for file in (out / "graph").glob("*.ttl") for quad in parse(path=file, format=RdfFormat.TURTLE)]
    own = [quad for quad in every if _iri(quad).startswith(f"snowflake://{account(folder)}/")]
    named = {str(quad.object) for quad in own}
    accounts = f"snowflake://{ORGANIZATION}-"
    places = [quad for quad in every if not _iri(quad).startswith(accounts) and str(quad.subject) in named]
    kept = [quad for quad in own + places if not _is_account_of(folder, quad)]
    return {(str(quad.subject), str(quad.predicate), str(quad.object)) for quad in kept}


def _iri(quad: Quad) -> str:
    assert isinstance(quad.subject, NamedNode), f"a blank node: {quad}"
    return quad.subject.value


def _is_account_of(folder: Path, quad: Quad) -> bool:
    """Whether the triple only says what :func:`export_together` put into the row."""
    added = {(f"{_AH}organizationName", ORGANIZATION), (f"{_AH}accountName", account_name(folder))}
    of_query = isinstance(quad.object, Literal) and _iri(quad).startswith(f"snowflake://{account(folder)}/query/")
    return of_query and (quad.predicate.value, quad.object.value) in added


def events(files: Iterable[Path]) -> list[Json]:
    """Events in the order of time, kind and name, so that they can be read and compared."""
    every = [json.loads(line) for file in files for line in file.read_text(encoding="utf-8").splitlines()]
    return sorted(every, key=_order)


def _order(event: Json) -> tuple[Any, ...]:
    kind = event.get("eventType", "dataset")
    named = event.get("dataset") or event["job"]
    run = event.get("run", {}).get("runId", "")
    return event["eventTime"], _KINDS.index(kind), named["namespace"], named["name"], run, json.dumps(event)


def events_of(folder: Path, out: Path) -> list[Json]:
    """The events of one example in a common export: its account's, and those of the places that its runs name."""
    every = events((out / "events").glob("*.ndjson"))
    own = [event for event in every if _namespace(event) == f"snowflake://{account(folder)}"]
    named = {(one["namespace"], one["name"]) for run in own for one in run.get("inputs", []) + run.get("outputs", [])}
    return [_without_account(event, folder) for event in every if event in own or _dataset(event) in named]


def _namespace(event: Json) -> str:
    return str((event.get("dataset") or event["job"])["namespace"])


def _dataset(event: Json) -> tuple[str, str] | None:
    dataset = event.get("dataset")
    return (dataset["namespace"], dataset["name"]) if dataset else None


def _without_account(event: Json, folder: Path) -> Json:
    facet = event.get("run", {}).get("facets", {}).get("accessHistory_query", {})
    for name, added in (("organizationName", ORGANIZATION), ("accountName", account_name(folder))):
        if facet.get(name) == added:
            del facet[name]
    return event


def expected_events(folder: Path) -> list[Json]:
    """The events of ``events.json``, as this version of the program would sign them."""
    text = (folder / "events.json").read_text(encoding="utf-8")
    return list(json.loads(text.replace("/exporter/VERSION", f"/exporter/{__version__}")))


def make(folder: Path) -> None:
    """Write ``events.json`` and ``graph.ttl`` of an example."""
    with tempfile.TemporaryDirectory() as scratch:
        out = Path(scratch, "out")
        given = [str(folder / "access_history.json"), "--account", account(folder), "--out", str(out)]
        if aggregates(folder):
            given += ["--aggregate", str(folder / "aggregate_access_history.json")]
        if main(["export", *given, "--engine", "local"]):
            sys.exit(f"{folder}: the export did not succeed")
        made = json.dumps(events((out / "events").glob("*.ndjson")), indent=1, ensure_ascii=False)
        signed = made.replace(f"/exporter/{__version__}", "/exporter/VERSION")
        (folder / "events.json").write_text(signed + "\n", encoding="utf-8")
        graph = "".join(part.read_text(encoding="utf-8") for part in sorted((out / "graph").glob("*.ttl")))
        (folder / "graph.ttl").write_text(graph, encoding="utf-8")


if __name__ == "__main__":
    for name in sys.argv[1:]:
        make(Path(name))
