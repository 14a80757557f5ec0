"""The report of an export: the fate of every row, what was validated, and why the export may not be published.

An export without rows, or with far fewer rows than the one that it would replace, is refused. This is usually a
mistake; options allow it.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

import msgspec

from exporter.errors import ExporterError, UsageError
from exporter.graph.nodes.agents import document, of_export
from exporter.graph.shapes.on_graph import ALLOWED, Result, in_order, shacl_report
from exporter.graph.terms import Node
from exporter.input.times import iso, parse_time
from exporter.pipeline.extract import NOT_REFUSED, NOW_REFUSED
from exporter.pipeline.outcome import LIMIT, Outcome
from exporter.pipeline.texts import checks
from exporter.pipeline.updates import HELD
from exporter.privacy.filters import Filters
from exporter.privacy.screen import LEFT_OUT
from exporter.publish.earlier import FORM, LOG, ROWS, SHAPES, STATE, EarlierRuns, shapes_digest
from exporter.publish.manifest import NAME
from exporter.publish.quarantine import place_of
from exporter.version import MODEL, __version__

if TYPE_CHECKING:
    from exporter.publish.publication import Publication
    from exporter.settings import Settings
    from exporter.system.progress import Progress

EXPORT_FILE = "export.ttl"
"""Describes the graph. It is not in ``graph/``, whose content depends only on the rows and not on the time."""


@dataclass(frozen=True)
class Report:
    """``report.json``. ``rows_in = exported + duplicates + quarantined``. ``quarantined``: rows that cannot be read,
    and rows of quarantined queries. ``truncated``: exported queries that Snowflake truncated. ``unknown_streams``:
    exported queries that name a stream by ``$SYS_VIEW_<number>``, and it is not certain which. ``seconds``: by stage;
    while several stages run, the time is divided among them. ``at``: when the report was made. ``period``: start of the
    first and the last query in DIR, including earlier runs; None if DIR has none. Both in UTC.

    ``not_understood``: what this version does not know in the rows of this run (:mod:`exporter.model.incomplete`), with
    the number of rows and an example: file and line.

    ``aggregate``: the rows of AGGREGATE_ACCESS_HISTORY among these, and the calls of those that were exported now;
    None without such rows. ``filtered``: what the filters left out, which is not in ``rows_in``: ``rows`` by filter,
    ``reduced`` (rows that lost ``objects``), lines of ``query_history``; None without filters. Of an update, ``new``:
    number of new rows by day; ``new_queries``: exported queries that DIR did not have before; ``made``: the days that
    were made again, which are those with new rows and the days after the first of them. ``forgotten``: the ``rows`` and
    ``queries`` that were removed from DIR, and the ``files`` that were made again without them; None if nothing was to
    be removed. ``other_shapes``: of an update with other shapes than DIR was made with, how many queries of earlier
    runs are ``quarantined`` now and were not, and how many were and are ``exported`` now; otherwise None.
    ``stay_quarantined``: the duplicates of an update whose queries are in quarantine: the shapes refuse them, or their
    rows contradict each other.
    """

    rows_in: int
    exported: int
    duplicates: int
    quarantined: int
    truncated: int
    queries: int
    events: int
    nodes: int
    nodes_checked: int
    violations: dict[str, int]
    warnings: dict[str, int]
    seconds: dict[str, float]
    account: str
    out: str
    at: str
    period: dict[str, str] | None
    version: str = __version__
    unknown_streams: int = 0
    skipped_files: list[str] = field(default_factory=list)
    not_understood: dict[str, dict[str, Any]] = field(default_factory=dict)
    query_history: dict[str, int] | None = None
    aggregate: dict[str, int] | None = None
    filtered: dict[str, Any] | None = None
    new: dict[str, int] | None = None
    new_queries: int | None = None
    made: list[str] | None = None
    forgotten: dict[str, int] | None = None
    other_shapes: dict[str, int] | None = None
    stay_quarantined: int | None = None

    def json(self) -> str:
        """The report as JSON, as ``--json`` prints it."""
        return json.dumps(asdict(self), indent=1)

    def manifest(self, settings: Settings) -> dict[str, Any]:
        """The manifest: input, version and settings. The list of files is added when they are complete."""
        return {
            "version": self.version,
            "model": MODEL,
            "input": list(settings.inputs),
            "rows_in": self.rows_in,
            "settings": settings.for_manifest(),
            SHAPES: shapes_digest(settings),
            **({STATE: FORM} if settings.update else {}),
        }


_OF_LINES: Final = ("rows", "doubled", "unreadable", "unusable", "contradicting")
"""The counts of rows of QUERY_HISTORY."""


def summarise(  # noqa: PLR0913, PLR0917 - the parts of a report
    settings: Settings,
    skipped: tuple[str, ...],
    earlier: EarlierRuns,
    outcome: Outcome,
    new: Publication,
    progress: Progress,
) -> Report:
    """Make the report from the counts, and write it and the SHACL report to DIR."""
    counts, numbers = outcome.counts, outcome.counts.numbers
    at, period = datetime.now(UTC).isoformat(timespec="seconds"), _period(earlier, outcome)
    described = _described(settings.account, at, period) if "graph" in settings.outputs else []
    results = [result for result in _validated(described, settings) if result not in outcome.results]
    for result in results:
        counts.result(result.severity, result.shape)
    faulty = {"events of datasets that are not valid": numbers["faulty"]} if numbers["faulty"] else {}
    report = Report(
        rows_in=numbers["rows"],
        exported=numbers["exported"],
        duplicates=numbers["duplicates"],
        quarantined=numbers["quarantined"],
        truncated=numbers["truncated"],
        unknown_streams=numbers["unknown_streams"],
        queries=numbers["queries"],
        events=numbers["events"],
        nodes=numbers["nodes"],
        nodes_checked=numbers["checked"],
        violations=dict(sorted(outcome.refused.items())),
        warnings=dict(sorted(counts.warnings().items())) | faulty,
        seconds=_seconds(progress),
        account=settings.account,
        out=str(settings.out),
        at=at,
        period=period,
        skipped_files=list(skipped),
        not_understood={
            kind: {"count": number, "example": f"{file}, {unit} {number_in_file}"}
            for kind, number, (file, number_in_file, unit) in counts.unknown.entries()
        },
        query_history=_of_view("history", _OF_LINES, settings.query_history, numbers),
        aggregate=_of_view("aggregate", ("rows", *ROWS[1:], "calls"), settings.aggregate, numbers),
        filtered=_filtered(settings.privacy.filters, numbers),
    )
    if settings.update:
        report = replace(report, new=outcome.new, new_queries=numbers["new_queries"], made=outcome.rebuilt_days)
        report = replace(report, stay_quarantined=numbers[HELD])
    if earlier.has_other_shapes:
        changed = {"quarantined": numbers[NOW_REFUSED], "exported": numbers[NOT_REFUSED]}
        report = replace(report, other_shapes=changed)
    if "graph" in settings.outputs:
        new.text(EXPORT_FILE, document(iter(described), settings.base))
    shown = in_order([*outcome.results, *results])[:LIMIT]
    new.text("shacl-report.ttl", shacl_report(shown, is_cut=len(shown) == LIMIT))
    if settings.forget_user or settings.forget_before:
        report = replace(report, forgotten=_forgotten(numbers, new))
    if settings.update:
        new.text(LOG, log(earlier, report, outcome))
    new.text("report.json", report.json() + "\n")
    return report


def _forgotten(numbers: dict[str, int], new: Publication) -> dict[str, int]:
    """The counts of removed rows and queries. All files are made again, since each can name what was removed."""
    files = {*new.files(), LOG, "report.json", NAME}
    return {"rows": numbers.get("forgotten", 0), "queries": numbers.get("forgotten_queries", 0), "files": len(files)}


def _described(account: str, at: str, period: dict[str, str] | None) -> list[Node]:
    """The nodes of ``export.ttl``, which describes the graph in its own vocabulary."""
    time = parse_time(at)
    assert time is not None, "the program wrote this time itself"
    times = [parse_time(period[name]) or 0 for name in ("first", "last")] if period else None
    return list(of_export(account, time, (times[0], times[1]) if times else None, __version__, MODEL))


def _validated(nodes: list[Node], settings: Settings) -> list[Result]:
    """The results of the user's shapes at these nodes, which are a part of the graph. Raises UsageError for a
    violation: the nodes belong to no query that could be kept out.
    """
    if not settings.validate:
        return []
    results = [result for node in nodes for result in checks(settings.shapes).check(node, settings.base)]
    refusing = next((result.shape for result in results if result.severity not in ALLOWED), None)
    if refusing is not None:
        raise UsageError(
            f"{refusing}: refuses the description of the export (export.ttl), which belongs to no query, so nothing "
            "can be kept out. Give the shape other targets, or sh:severity sh:Warning. Nothing was written"
        )
    return results


def _seconds(progress: Progress) -> dict[str, float]:
    """Seconds by stage, rounded down so that their sum never exceeds the total."""
    stages = {name: int(seconds * 1000) / 1000 for name, seconds in progress.seconds.items()}
    return {**stages, "total": round(progress.total(), 3)}


def _period(earlier: EarlierRuns, outcome: Outcome) -> dict[str, str] | None:
    """The period of DIR: of the days made now, or as before where its first or last day was not made again. None if DIR
    has no query: a day that is left without one makes all days again, and then none of them has any.
    """
    period_before, counts = earlier.runs[-1].get("period") if earlier.runs else None, outcome.counts
    if counts.first is None or counts.last is None:
        return period_before if outcome.days and not outcome.rebuilt_days else None
    period_now = {"first": iso(counts.first), "last": iso(counts.last)}
    if period_before is None:
        return period_now
    ends = {"first": min(outcome.days), "last": max(outcome.days)}
    return {end: (period_now if day in outcome.rebuilt_days else period_before)[end] for end, day in ends.items()}


def _of_view(view: str, names: tuple[str, ...], given: Sequence[str], numbers: dict[str, int]) -> dict[str, int] | None:
    """The counts of the rows of another view; None without such rows."""
    if not given:
        return None
    return {"rows_in" if name == "rows" else name: numbers.get(f"{view}_{name}", 0) for name in names}


def _filtered(filters: Filters, numbers: dict[str, int]) -> dict[str, Any] | None:
    if not filters.any:
        return None
    return {
        "rows": {text: numbers.get(f"{LEFT_OUT}{text}", 0) for text in filters.active},
        "reduced": numbers.get("reduced", 0),
        "objects": numbers.get("objects_left_out", 0),
        "query_history": numbers.get("history_left_out", 0),
    }


def check_row_counts(report: Report) -> None:
    """Raise ExporterError if the counts of rows do not add up, which is a fault of the program."""
    row_counts = {name: getattr(report, name) for name in ROWS}
    for counts, view in ((row_counts, ""), (report.aggregate or {}, " of AGGREGATE_ACCESS_HISTORY")):
        rows, exported, duplicates, quarantined = (counts.get(name, 0) for name in ROWS)
        accounted = exported + duplicates + quarantined
        if accounted != rows:
            raise ExporterError(
                f"{rows} rows{view} were read, but {exported} exported + {duplicates} duplicates + {quarantined} "
                f"quarantined are {accounted}; nothing was written, please report this"
            )


def log(earlier: EarlierRuns, report: Report, outcome: Outcome) -> str:
    """The log of DIR with this run added: its counts, its new rows, its time and version, how much it
    forgot; and the days of DIR, which only the last run has. JSON.
    """
    entry = {
        "run": earlier.run,
        "at": report.at,
        "period": report.period,
        "version": report.version,
        **{name: getattr(report, name) for name in (*ROWS, "queries", "events", "nodes")},
        "new": outcome.new,
        "made": outcome.rebuilt_days,
        **({"aggregate": report.aggregate} if report.aggregate else {}),
        **({"filtered": report.filtered} if report.filtered else {}),
        **({"forgotten": report.forgotten} if report.forgotten else {}),
        **({"other_shapes": report.other_shapes} if report.other_shapes else {}),
        "days": outcome.days,
    }
    runs = [{name: value for name, value in run.items() if name != "days"} for run in earlier.runs]
    # Of a year it has many lines, for which json's own indent takes five times as long.
    return msgspec.json.format(json.dumps([*runs, entry]), indent=1) + "\n"


_SHARE: Final = 2
"""An export with fewer rows than the old one divided by this needs --force."""
_REASONS: Final = 3
"""Most reasons in a message, the most frequent first."""


def refuse_too_few_rows(settings: Settings, report: Report, new: Publication, text: str) -> None:
    """Raise UsageError if the export must not be published. ``text``: the input, for messages."""
    refusal, helps = next(_refusals(settings, report, new, text), ("", ""))
    if refusal:
        raise UsageError(f"{refusal}; {settings.out} is unchanged. {helps}")


def _refusals(settings: Settings, report: Report, new: Publication, text: str) -> Iterator[tuple[str, str]]:
    """Why the export must not be published, each with what to do."""
    is_intended = "Give --allow-empty if this is intended"
    if report.rows_in == 0 and report.filtered is not None and not settings.allow_empty:
        yield f"the filters leave out all {sum(report.filtered['rows'].values()):,} rows of {text}", is_intended
    history = report.query_history
    if history and history["rows_in"] and history["unusable"] == history["rows_in"]:
        given = ", ".join(settings.query_history)
        refusal = f"none of the {history['rows_in']:,} rows of {given} is a row of QUERY_HISTORY"
        yield refusal, "Give rows of the view QUERY_HISTORY, or leave out --query-history"
    if report.period is None and _had_queries(new) and not settings.allow_empty:
        forgotten = report.forgotten["queries"] if report.forgotten else 0
        if forgotten and not report.violations:
            yield (
                f"all {forgotten:,} queries of {settings.out} would be removed",
                f"{is_intended}, or another day or user",
            )
        refused = (
            "the shapes refuse all"
            if not forgotten
            else f"{forgotten:,} would be removed, the shapes refuse the others"
        )
        yield f"{settings.out} would be left without queries: {refused}", f"{_reasons(new)}{is_intended}"
    if not settings.inputs and not settings.aggregate:  # rows are only removed, so no rows are expected
        return
    if report.rows_in == 0 and not settings.allow_empty:
        yield f"there are no rows in {text}", is_intended
    # An update in which all rows are known already is not a mistake: there is nothing new.
    number = report.exported + (report.duplicates if settings.update else 0)
    if not number and not settings.allow_empty:
        helps = f"{_reasons(new)}Give --allow-empty to publish anyway, with the quarantined rows"
        yield f"none of the {report.rows_in:,} rows can be exported", helps
    if not settings.force:
        yield from _refusals_of_size(settings, report, new)


def _refusals_of_size(settings: Settings, report: Report, new: Publication) -> Iterator[tuple[str, str]]:
    rows = f"{report.exported:,} rows were exported"
    if settings.min_rows is not None:
        if report.exported < settings.min_rows:
            yield f"{rows}, but --min-rows requires {settings.min_rows:,}", "Give --force to publish anyway"
    elif settings.replace and report.exported:  # an export without rows was allowed above
        rows_before = _before(new)
        if report.exported * _SHARE < rows_before:
            helps = "Give --force to replace it anyway, or --min-rows N for another limit"
            yield f"{rows}, fewer than half of the {rows_before:,} in {settings.out}", helps


def _had_queries(new: Publication) -> bool:
    """Whether the old DIR of an update has queries: the last of its runs gives their period."""
    runs = _json(new.text_before(LOG))
    return isinstance(runs, list) and bool(runs) and isinstance(runs[-1], dict) and runs[-1].get("period") is not None


def _before(new: Publication) -> int:
    """The exported rows of all runs of the old DIR; 0 if it does not say."""
    runs = _json(new.text_before("log.json"))
    report = _json(new.text_before("report.json"))
    reports = runs if isinstance(runs, list) else [report]
    counts = [entry.get("exported") for entry in reports if isinstance(entry, dict)]
    return sum(count for count in counts if isinstance(count, int))


def _json(text: str | None) -> Any:
    try:
        return json.loads(text or "null")
    except ValueError:
        return None


def _reasons(new: Publication) -> str:
    """The most frequent reasons why rows were quarantined, each with the place of one row, without values of rows."""
    counts, places = Counter[str](), dict[str, str]()
    for line in new.beginning("quarantine").splitlines():
        # The row itself may be long, and the last line incomplete.
        row = _json(line.partition('"as_it_came"')[0].rstrip(", ") + "}")
        if isinstance(row, dict):
            reason = str(row.get("reason")).partition(": ")[0]  # the text after a colon is quoted from the row
            counts[reason] += 1
            places.setdefault(reason, place_of(row))
    texts = [f"{reason} ({places[reason]})" for reason, _ in counts.most_common(_REASONS)]
    return f"The most frequent reasons: {'; '.join(texts)}. " if texts else ""
