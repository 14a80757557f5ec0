"""Whatever rows contain, an export ends with an output: what cannot be exported is quarantined, and counted."""

from __future__ import annotations

import json
import os
from random import Random
from typing import TYPE_CHECKING, Any, Final

import pytest
from pyoxigraph import NamedNode, RdfFormat, parse

from exporter.input.times import parse_time
from exporter.openlineage.events import Event, problems
from exporter.system import files as compressed
from tests import exports
from tests.input.input_forms import FORMS
from tests.odd_rows import OddRows, write
from tests.openlineage import test_schemas as schemas
from tests.openlineage import told

if TYPE_CHECKING:
    from pathlib import Path

    from tests.histories import Json

SEEDS: Final = range(int(os.environ.get("EXPORTER_TEST_SEEDS", "12")))
"""More of them: ``EXPORTER_TEST_SEEDS=1000 bin/test tests/input/test_odd_rows.py``."""
ROWS: Final = 150
MODES: Final[dict[str, tuple[str, ...]]] = {
    "full": ("--outputs", "events,graph,facts,catalog"),
    "daily": ("--reads", "daily"),
    "update": ("--update",),
    "update daily": ("--update", "--reads", "daily", "--compress", "gzip"),
    "pseudonyms update": ("--update", "--pseudonyms", "KEY"),
    "filters": ("--config", "FILTERS"),
    "events": ("--outputs", "events"),
    "graph": ("--outputs", "graph", "--graph-format", "turtle,ntriples,jsonld"),
    "aggregates": ("--aggregate", "CALLS", "--pseudonyms", "KEY"),
    "aggregates update": ("--update", "--aggregate", "CALLS"),
    "helpers": ("--config", "HELPERS", "--outputs", "events,graph"),
    "helpers update": ("--update", "--config", "HELPERS", "--reads", "daily"),
}
"""Words in capitals stand for files."""
OF_RUNS: Final = frozenset(
    ("columnLineage", "lineage", "lifecycleStateChange", "version", "tags", "accessHistory_columnRoutines")
)
"""Facets of a run's outputs that follow from its query alone."""
HELPERS: Final = """[lineage]
helpers = ["D.S.*", "*__DBT_TMP", "_AIRBYTE*"]
"""
FILTERS: Final = '[filter]\ndeny_schemas = ["a.b", "x.y"]\nallow_databases = ["D", "DB", "a"]\n'


@pytest.mark.parametrize("seed", SEEDS)
def test_no_row_stops_an_export(seed: int, tmp_path: Path) -> None:
    made(seed, tmp_path, ROWS)


@schemas.needs_the_specification
@pytest.mark.parametrize("seed", range(0, len(MODES), 2))
def test_events_of_odd_rows_are_what_their_schemas_say(seed: int, tmp_path: Path) -> None:
    events = [json.loads(text) for text in exports.events(made(seed, tmp_path, 60))]
    facets = {json.dumps(facet): facet["_schemaURL"] for event in events for _, facet in told.facets(event)}
    assert facets
    assert [fault for event in events for fault in schemas.faults(event, event["schemaURL"])] == []
    assert [fault for text, url in facets.items() for fault in schemas.faults(json.loads(text), url)] == []


def made(seed: int, folder: Path, number: int) -> Path:
    """The output of an export of odd rows, checked. An update gets half of them, in three parts, and gives the same as
    one export.
    """
    rng, forms, modes = Random(seed), list(FORMS), list(MODES)
    mode, form = modes[seed % len(modes)], forms[(seed + seed // len(modes)) % len(forms)]
    number //= 1 + ("update" in mode)
    draws = OddRows(rng, max(2, number // 3))
    rows, lines = draws.rows(number), [draws.line() for _ in range(number // 2)]
    if "helpers" in mode:
        for row in draws.load():
            rows.insert(rng.randrange(len(rows)), row)
    calls = [draws.calls() for _ in range(number // 3)] if "aggregates" in mode else []
    given = ["--query-history", str(exports.ndjson(lines, folder / "lines.ndjson")), "--allow-empty", "--force"]
    given += [_option(one, folder) for one in MODES[mode]]

    def export(rows: list[Json], calls: list[Json], name: str, *options: str) -> None:
        if calls:
            write(calls, folder / "calls", form)
        code = exports.export([write(rows, folder, form)], folder / name, *options)
        report = exports.report(folder / name)
        assert code == (1 if report["violations"] else 0), (mode, form)
        adds_up(report, len(rows) + len(calls))

    parts = 3 if "update" in mode else 1
    for start in range(parts):
        export(rows[start::parts], calls[start::parts], "out", *given)
    valid(folder / "out")
    if parts > 1 and "pseudonyms" not in mode:  # an update does not know the users of later ones
        export(rows, calls, "once", *(one for one in given if one != "--update"))
        assert exports.triples(folder / "out") == exports.triples(folder / "once")
        assert runs(folder / "out") == runs(folder / "once")
        once = datasets(folder / "once")
        more = {name for _, name in datasets(folder / "out") - once}
        assert once <= datasets(folder / "out")
        assert all(name.endswith("__DBT_TMP") for name in more), "of these only a later day shows a rename"
    return folder / "out"


def runs(out: Path) -> dict[str, list[Json]]:
    """The events of runs, without what other queries say of their datasets: an earlier day does not know all of it."""
    found: dict[str, list[Json]] = {}
    for event in map(json.loads, exports.events(out)):
        for one in [*event.get("inputs", ()), *event.get("outputs", ())]:
            one["facets"] = {name: facet for name, facet in one["facets"].items() if name in OF_RUNS}
        if "run" in event:
            found.setdefault(event["run"]["runId"], []).append(event)
    return found


def datasets(out: Path) -> set[tuple[str, str]]:
    """Namespace and name of the datasets that have an event of their own."""
    told = [event["dataset"] for event in map(json.loads, exports.events(out)) if "dataset" in event]
    return {(one["namespace"], one["name"]) for one in told}


def _option(option: str, folder: Path) -> str:
    if option == "KEY":
        (folder / "key").write_text("0123456789abcdef0123456789abcdef\n")
        return str(folder / "key")
    if option in {"FILTERS", "HELPERS"}:
        (folder / "settings.toml").write_text({"FILTERS": FILTERS, "HELPERS": HELPERS}[option])
        return str(folder / "settings.toml")
    if option == "CALLS":
        (folder / "calls").mkdir()
        return str(folder / "calls")
    return option


def adds_up(report: dict[str, Any], rows: int) -> None:
    left_out = sum(((report["filtered"] or {}).get("rows") or {}).values())
    assert report["rows_in"] + left_out == rows
    for counts in (report, report["aggregate"]):
        assert counts is None or counts["rows_in"] == sum(
            counts[one] for one in ("exported", "duplicates", "quarantined")
        )


def valid(out: Path) -> None:
    """Every file of the graph parses, what is referred to is described, the events are valid, and a parent has the job
    that its own event has.
    """
    files = compressed.find_files(out / "graph", ".ttl")
    quads = [quad for file in files for quad in parse(compressed.text(file), RdfFormat.TURTLE)]
    described = {quad.subject for quad in quads}
    referred = {quad.object for quad in quads if isinstance(quad.object, NamedNode)}
    ours = {one for one in referred if one.value.startswith("snowflake://")}
    assert ours <= described
    events = [(json.loads(text), text) for text in exports.events(out)]
    jobs = {event["run"]["runId"]: event["job"]["name"] for event, _ in events if "run" in event}
    for event, text in events:
        parent = event.get("run", {}).get("facets", {}).get("parent")
        for one in (parent, (parent or {}).get("root")):
            assert one is None or one["job"]["name"] == jobs.get(one["run"]["runId"], one["job"]["name"])
        at = parse_time(event["eventTime"])
        assert at is not None
        job = event.get("job", {}).get("name")
        assert problems(Event(at, event.get("eventType", "DATASET"), job, text.encode())) == []
