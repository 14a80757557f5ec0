"""Notes on what an export left out of its graph, or has in another form than a row for each query.

- Filters and rows in quarantine: by the files beside the graph (:func:`left_out`).
- A graph with ``--reads daily`` has reads by day (nodes of the class ``ah:DailyRead``) and no single reads.
- Short queries on hybrid tables are in AGGREGATE_ACCESS_HISTORY alone (view, "Hybrid tables"). The note says how an
  answer counts them, or that they are not on record.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from exporter.ask.answers import first_of
from exporter.ask.lookups import Lookups
from exporter.ask.notes.asked import AGENT_READS, UNMASKED_READS, Asked
from exporter.ask.parameters import instant
from exporter.publish import manifest
from exporter.publish.earlier import LOG, quarantined_rows
from exporter.system.terminal import counted

_of_run: Final = re.compile(r"run=(\d+)-").match
"""Matches files of the quarantine with the rows of one run of an update that could not be read."""


def left_out(graph: Path) -> list[str]:
    """What the settings of the export in the folder ``graph`` left out, from its manifest, and rows that are in
    quarantine, whichever run read them. None for a graph without them.
    """
    settings, report = settings_of(graph), _json_of(graph / "report.json")
    texts = [f"{name} {settings[name]}" for name in ("since", "until") if settings.get(name)]
    texts += ["[filter]"] if settings.get("filter") else []
    notes = []
    if texts:
        settings_in_words = " and ".join(texts)
        notes.append(f"The settings of this export leave out rows or objects: {settings_in_words}. Answers lack them.")
    if of_runs := _filtered_before(graph):
        notes.append(
            f"Settings of earlier runs left out rows or objects: {' and '.join(of_runs)}. Answers lack those that no "
            "later run exported."
        )
    notes += _forgotten(graph)
    if settings.get("reads") == "daily" and any(_has_aggregate(run) for run in (report, *_earlier_runs(graph))):
        notes.append(
            "Reads of AGGREGATE_ACCESS_HISTORY are among the reads by day: all calls of an interval count, at its "
            "start. Calls that also have a row in ACCESS_HISTORY count twice."
        )
    number = report.get("quarantined")
    last = number if isinstance(number, int) else 0
    rows = max(last, quarantined_rows(graph))
    if rows:
        count, are = ("1 row", "is") if rows == 1 else (f"{rows:,} rows", "are")
        runs, shows = ("all runs", "which, and why") if rows > last else ("the last run", "why")
        lacked = "it" if rows == 1 else "them"
        if _may_be_corrected(graph):
            lacked = "it if no later run exported it" if rows == 1 else "those that no later run exported"
        notes.append(
            f"{count} of {runs} {are} in quarantine; answers lack {lacked} (exporter quarantine shows {shows})."
        )
    return notes


SINGLE_READS: Final = (
    "This graph has reads by day (export --reads daily): queries that only read are not among the queries, and cannot "
    "be found by their ids."
)

QUERIES_OF_USERS: Final = (
    "This graph has reads by day (export --reads daily): in the numbers of queries of users, one that read several "
    "objects counts once for each."
)


def has_no_single_reads(graph: Path) -> bool:
    """Whether the export in the folder ``graph`` has reads by day, by its manifest."""
    return settings_of(graph).get("reads") == "daily"


def settings_of(graph: Path) -> dict[str, Any]:
    """The settings of the export in the folder ``graph``, by its manifest; empty where that does not say."""
    settings = _json_of(graph / manifest.NAME).get("settings")
    return settings if isinstance(settings, dict) else {}


def _filtered_before(graph: Path) -> list[str]:
    """The filters by which runs of an update before the last one left out anything, each once: ``since``, ``until``,
    and ``[filter]`` for lists of names.
    """
    texts = []
    for run in _earlier_runs(graph):
        counts = run.get("filtered")
        if isinstance(counts, dict):
            rows = counts.get("rows")
            left = [text for text, number in rows.items() if number] if isinstance(rows, dict) else []
            left += ["[filter]"] if counts.get("reduced") or counts.get("objects") else []
            texts += [text if text in {"since", "until"} else "[filter]" for text in left]
    return list(dict.fromkeys(texts))


def _has_aggregate(run: Mapping[str, Any]) -> bool:
    """Whether a run exported rows of AGGREGATE_ACCESS_HISTORY, by its report or its entry in the log."""
    counts = run.get("aggregate")
    return isinstance(counts, dict) and bool(counts.get("exported"))


def _forgotten(graph: Path) -> Iterator[str]:
    """A note on what runs of an update forgot, and what they removed from the quarantine with it. It names nobody."""
    numbers, quarantined, removed = Counter[str](), 0, 0
    for run in _runs(graph):
        if isinstance(forgotten := run.get("forgotten"), dict):
            numbers.update({kind: forgotten.get(kind) or 0 for kind in ("queries", "rows")})
            removed = quarantined
        quarantined += run.get("quarantined") or 0
    if numbers["rows"]:
        what = (
            counted(numbers["queries"], "query", "queries") if numbers["queries"] else counted(numbers["rows"], "row")
        )
        more = f", and removed {counted(removed, 'row')} of earlier runs from quarantine" if removed else ""
        yield (
            f"This export forgot {what} (--forget-user or --forget-before){more}: answers lack what no later run "
            "exported (exporter log has the runs)."
        )


def _earlier_runs(graph: Path) -> list[dict[str, Any]]:
    return _runs(graph)[:-1]


def _runs(graph: Path) -> list[dict[str, Any]]:
    runs = _read_json(graph / LOG)
    return [run for run in runs if isinstance(run, dict)] if isinstance(runs, list) else []


def _may_be_corrected(graph: Path) -> bool:
    """Whether a run of an update before the last one quarantined rows that could not be read. Such a row stays there
    when a later run exports it; one that could be read is there for as long as its query is in no output.
    """
    before = {run.get("run") for run in _earlier_runs(graph)}
    names = (path.name for path in (graph / "quarantine").glob("run=*"))
    return any(int(match[1]) in before for match in map(_of_run, names) if match)


def _json_of(path: Path) -> dict[str, Any]:
    document = _read_json(path)
    return document if isinstance(document, dict) else {}


def _read_json(path: Path) -> Any:
    """What is in a file of JSON; None where there is no such file, or it cannot be read."""
    with suppress(OSError, ValueError):
        return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None
    return None


# --- reads by day -----------------------------------------------------------------------------------------------------

_COUNTED_BY_DAY: Final = "column-readers"
"""The question that counts queries."""
BY_DAY: Final = "This graph has reads by day (export --reads daily):"
"""Begins notes on them."""
_ADDED_UP_BY_USER: Final = "This graph has queries that are added up (AGGREGATE_ACCESS_HISTORY)."
_LATE: Final = " The first_time of a view is too late where one of them was the first to read it."


def is_of_graph(note: str) -> bool:
    """Whether a note is on the whole graph, and is there whatever the answer is: it is no reason for an empty one."""
    return note.startswith((BY_DAY, _ADDED_UP_BY_USER))


def is_by_day(graph: Lookups) -> bool:
    """Whether a graph has daily reads in the place of single ones."""
    return any(graph.of_class("ah:DailyRead"))


def reads_by_day(asked: Asked) -> Iterator[str]:
    """Notes where the graph has daily reads."""
    if not is_by_day(asked.graph):
        return
    is_of_both = asked.name == UNMASKED_READS
    if not asked.question.daily_reads:
        yield f"{BY_DAY} {asked.name} may leave out results that follow from reads alone."
    elif asked.question.daily_reads == "left out":
        yield (
            f"{BY_DAY} {asked.name} leaves out queries that only read. They are in the events, and in a graph of "
            "--reads full." + _LATE * (asked.name == "end-up")
        )
    elif asked.question.daily_reads == "rows by day" and asked.answer.rows:
        yield (
            f"{BY_DAY} a row without query_id stands for reads of an object on a day by a user in one role, at the "
            f"time of the first{', or of the last' * is_of_both}."
        )
    if asked.name == AGENT_READS and asked.answer.rows:
        yield (
            f"{BY_DAY} the agent took part in some of the reads that a row stands for. The user may have done the "
            "others alone, so not every column and mask need be the agent's; what ran within them, and does not name "
            "the agent itself, is not in the answer."
        )
    if asked.name == _COUNTED_BY_DAY and (len(asked.things) > 1 or len(asked.values("column_name")) > 1):
        yield (
            f"{BY_DAY} several columns are asked for (a name may mean several objects), and a query that read more "
            "than one of them counts once for each."
        )
    if any(not _is_midnight(time) for time in asked.values("since", "until")):
        yield (
            f"{BY_DAY} since and until are exact for reads at midnight (UTC) only; within a day all reads that are "
            f"alike count at the time of the first{', and at that of the last' * is_of_both}."
        )


def queries_of_users(asked: Asked) -> Iterator[str]:
    """A note on pages that count the queries of users, where the graph has daily reads."""
    if is_by_day(asked.graph):
        yield QUERIES_OF_USERS


def _is_midnight(time: str) -> bool:
    """Whether a time is midnight in UTC: a date alone, or zeros with Z, an offset of zero or no zone."""
    day, _, clock_time = time.strip().replace(" ", "T").partition("T")
    return bool(day) and clock_time.rstrip("Z").removesuffix("+00:00").strip("0:.") == ""


# --- short queries ----------------------------------------------------------------------------------------------------

_ACCESSES: Final = frozenset({"reads", "writes", "lineage", "policies"})
"""Parts of rows that short queries have too, so that an answer lacks something where these are not on record."""
_SHOWN_TABLES: Final = 3
ADDED_UP: Final = "Queries are added up by interval"
"""Begins each note of :func:`within_intervals`."""
_INTERVAL: Final = """\
ASK {
  ?calls a ah:AggregatedQueries ; prov:startedAtTime ?start ; prov:endedAtTime ?end .
  FILTER(?start < @time@ && ?end > @time@)
}
"""


def short_queries(asked: Asked) -> Iterator[str]:
    """Notes on queries that are added up, or that are not on record; none where they have nothing to do with it."""
    if any(asked.graph.of_class("ah:AggregatedQueries")):
        how = {
            "left out": f"They have no query id: {asked.name} leaves them out.",
            "rows without id": "A row without query_id stands for calls of a user in an interval, at its start.",
            "counted": "All their calls count. Calls that also have a row in ACCESS_HISTORY count twice.",
        }.get(asked.question.aggregated_queries)
        if asked.name == AGENT_READS:
            how = "Their rows never name an agent."
        if how:
            yield f"{_ADDED_UP_BY_USER} {how}"
        return
    if asked.question.aggregated_queries == "left out" or not asked.question.needs & _ACCESSES:
        return
    names = sorted(_hybrid_tables(asked))
    if not names:
        return
    tables = f"{first_of(names, _SHOWN_TABLES)} {'is a hybrid table' if len(names) == 1 else 'are hybrid tables'}"
    on_record = "are not on record here, so the answer may lack them. AGGREGATE_ACCESS_HISTORY has them"
    if is_by_day(asked.graph):
        on_record = "are only in this answer if rows of AGGREGATE_ACCESS_HISTORY were exported"
    yield f"{tables}: short queries on hybrid tables {on_record} (exporter export --aggregate)."


def within_intervals(asked: Asked) -> Iterator[str]:
    """Notes on times within an interval whose calls are added up. Reads count at its start; what was written is there
    at its end (docs/input.md, "Short queries on hybrid tables").
    """
    kinds: list[tuple[tuple[str, ...], str]]
    kinds = [(("since", "until"), "all its calls count at its start, though some were after that time")]
    if asked.question.needs & {"writes", "lineage"}:
        kinds.append((("at",), "what its calls wrote is there at its end, though some wrote before that time"))
    for names, how in kinds:
        within = [
            f"{name}={value}"
            for name in names
            for value in asked.values(name)
            if asked.question.aggregated_queries != "left out"
            if asked.graph.holds(_INTERVAL, time=f'"{instant(name, value).isoformat()}"^^xsd:dateTime')
        ]
        if within:
            yield (f"{ADDED_UP}, and {' and '.join(within)} {'is' if len(within) == 1 else 'are'} within one: {how}.")


def _hybrid_tables(asked: Asked) -> set[str]:
    """The names of the hybrid tables that a question is about; of all, if it is about no certain object."""
    graph = asked.graph
    names, ids = asked.values("object_name", "target_object_name"), asked.values("object_id")
    if names or ids:
        holders = [holder for name in names for holder in graph.holders(name)]
        holders += [holder for ident in ids for holder in graph.of_id(ident)]
        name_by_iri = {holder.iri: holder.name or holder.thing for holder in holders}
        return {name for iri, name in name_by_iri.items() if graph.is_of_kind(iri, "HybridTable")}
    own_names = {iri: graph.names_of(iri) for iri in graph.of_class("ah:HybridTable")}
    return {holders[-1].name if holders else iri for iri, holders in own_names.items()}
