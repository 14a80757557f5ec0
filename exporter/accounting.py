"""The account that an export gives of itself: where every row went, what was checked, how long it took."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F

from exporter import __version__
from exporter.errors import ExporterError
from exporter.facts.identifiers import TRUNCATED
from exporter.rdf.report import shacl_report

if TYPE_CHECKING:
    from exporter.history import History
    from exporter.inputs import Inputs
    from exporter.progress import Progress
    from exporter.publication import Publication
    from exporter.rdf.validation import Verdict
    from exporter.rows import Rows, Tally
    from exporter.settings import Settings


@dataclass(frozen=True)
class Report:
    """``report.json``. ``rows_in = exported + duplicates + quarantined``; ``quarantined`` counts rows that cannot be
    read and rows of queries that were held back. ``truncated``: exported queries that Snowflake cut. Seconds by stage.
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
    version: str = __version__
    skipped_files: list[str] = field(default_factory=list)
    query_history: dict[str, int] | None = None

    def json(self) -> str:
        """The report as the program prints it with ``--json``."""
        return json.dumps(asdict(self), indent=1)

    def manifest(self, settings: Settings) -> dict[str, Any]:
        """What was read, by which version, with which settings; the files follow when they are complete."""
        return {
            "version": self.version,
            "input": list(settings.inputs),
            "rows_in": self.rows_in,
            "settings": settings.shown(),
        }


@dataclass(frozen=True)
class Work:
    """What a run did, for its account: ``written`` counts events and nodes."""

    found: Inputs
    came: Rows
    tally: Tally
    told: History | None
    verdict: Verdict
    written: dict[str, int]


def summarise(settings: Settings, work: Work, place: Publication, progress: Progress) -> Report:
    """Count what was exported from the facts themselves, what was set aside from the quarantine itself, and write both
    reports.
    """
    is_cut = F.exists("incomplete", lambda one: one.endswith(TRUNCATED))
    facts = work.verdict.facts.queries.agg(
        F.sum("row_count").alias("rows"), F.count(F.lit(1)).alias("queries"), F.count_if(is_cut).alias("truncated")
    ).first()
    assert facts is not None
    report = Report(
        rows_in=work.came.rows_in,
        exported=facts["rows"] or 0,
        duplicates=work.tally.duplicates,
        quarantined=_lines(place),
        truncated=facts["truncated"],
        queries=facts["queries"],
        events=work.written["events"],
        nodes=work.written["nodes"],
        nodes_checked=work.verdict.checked,
        violations=work.verdict.by_shape,
        warnings={**work.verdict.warnings, **_faulty(work.written["faulty"])},
        seconds={name: round(seconds, 3) for name, seconds in {**progress.seconds, "total": progress.total()}.items()},
        account=settings.account,
        out=str(settings.out),
        skipped_files=list(work.found.skipped),
        query_history=_of_history(work.told),
    )
    place.text("report.json", report.json() + "\n")
    place.text("shacl-report.ttl", shacl_report(work.verdict))
    return report


def _faulty(events: int) -> dict[str, int]:
    return {"events of datasets that cannot go out": events} if events else {}


def _lines(place: Publication) -> int:
    count = 0
    for path in (place.folder / "quarantine").glob("*.ndjson"):
        with path.open("rb") as file:
            count += sum(1 for _ in file)
    return count


def _of_history(told: History | None) -> dict[str, int] | None:
    return None if told is None else {"rows_in": told.rows_in, "doubled": told.doubled, "unreadable": told.unreadable}


def check(report: Report) -> None:
    """Hold the program to its own account."""
    told = report.exported + report.duplicates + report.quarantined
    if told != report.rows_in:
        raise ExporterError(
            f"{report.rows_in} rows came in, and {report.exported} exported + {report.duplicates} duplicates + "
            f"{report.quarantined} set aside are {told}; nothing was written, please report this"
        )
