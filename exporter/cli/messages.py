"""Texts for people: the summary at the end of an export, warnings, and error messages."""

from __future__ import annotations

import shlex
import shutil
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from exporter.errors import without_passwords
from exporter.system import faults
from exporter.system.terminal import counted, message, visible

if TYPE_CHECKING:
    from exporter.publish.report import Report
    from exporter.settings import Settings

_WIDTH = 12
_Count = tuple[str, int, str]
"""A line of the summary: its name, a number, and what it is."""


def say(text: str) -> None:
    """Print a message on standard error, without passwords of URIs."""
    print(f"exporter: {message(without_passwords(text))}", file=sys.stderr, flush=True)


def warn(lines: Iterable[str]) -> None:
    """Print each line on standard error."""
    for line in lines:
        say(line)


def fault(error: Exception, if_stopped: str) -> str:
    """The message for a fault of the program or its environment, never a traceback. Spark's own messages are in a file
    that only its owner can read, because they can contain values of rows. ``if_stopped``: the state that the command
    leaves; empty if there is nothing to say.
    """
    cause = faults.words(error, state_left(if_stopped))
    first = (str(error).splitlines() or [""])[0][:300]
    text = visible(
        cause or f"a fault of the program{if_stopped and f', {if_stopped}'}: {type(error).__name__}: {first}"
    )
    log = sys.modules.get("exporter.engines.session")  # loaded only if Spark was used
    if log and (hint := log.log_hint()):
        text += f"\n{hint}"
    return text if cause else f"{text}\nSet EXPORTER_DEBUG=1 to see where, and please report it."


def state_left(if_stopped: str) -> str:
    """The state that a command leaves which failed; ``if_stopped``: as in :func:`fault`."""
    return f"{if_stopped}, and existing output is unchanged" if if_stopped else "there is no result"


def summary(report: Report, settings: Settings) -> str:
    """The summary of an export, with one number on each line, and the next commands."""
    counts = [
        ("rows in", report.rows_in, ""),
        *_left_out(report),
        ("exported", report.exported, _of_rows(report)),
        ("duplicates", report.duplicates, _copies(report)),
        ("quarantined", report.quarantined, f"see {report.out}/quarantine" if report.quarantined else ""),
        *_of_other_shapes(report),
        ("events", report.events, _written(report, settings, "events")),
        ("graph nodes", report.nodes, f"{_written(report, settings, 'graph')}{_checked(report)}"),
        *_forgotten(report),
        *_days(report),
    ]
    lines = [f"  {name:<12}{number:>{_WIDTH},}   {text}".rstrip() for name, number, text in counts]
    if report.period is not None:
        first, last = (_minute(report.period[name]) for name in ("first", "last"))
        lines.append(f"  {'period':<12}{first} to {last} UTC, when the first and the last query started")
    lines.append(f"  {'seconds':<12}{report.seconds['total']:>{_WIDTH},.1f}   {_slowest(report.seconds)}".rstrip())
    written = [f"Written to {report.out} at {_minute(report.at)} UTC", *_next(settings)]
    end = ["Nothing was written: this was a dry run."] if settings.dry_run else written
    return "\n".join(map(visible, [*_skipped(report), *lines, *_doubtful(report), "", *end]))


def _copies(report: Report) -> str:
    """What the duplicates are, and which of them stay in quarantine: to give them again is not to mend them."""
    also = "" if report.made is None else ", also of rows that DIR had"
    stay = report.stay_quarantined
    held = f"; {stay:,} of them in quarantine, and stay there: exporter quarantine" if stay else ""
    return f"exact copies{also}, dropped{held}"


def _of_rows(report: Report) -> str:
    """What the exported rows are. Of an update, they are those that DIR did not have: the queries of the days that it
    writes again are in the line of the days.
    """
    if report.made is None:
        return _of_queries(report)
    rows = "new row" if report.exported == 1 else "new rows"
    if not report.exported:
        return rows
    queries = counted(report.new_queries or 0, "new query", "new queries")
    return f"{rows}, of {queries}" if report.new_queries else f"{rows}, all of queries that DIR had before"


def _of_queries(report: Report, which: str = "") -> str:
    """The number of queries; ``which``: which of them are new."""
    cut = f", {report.truncated:,} of them truncated by Snowflake" if report.truncated else ""
    streams = f", {report.unknown_streams:,} with a stream that the row does not name" if report.unknown_streams else ""
    return f"{counted(report.queries, 'query', 'queries')}{which}{cut}{streams}"


def _written(report: Report, settings: Settings, output: str) -> str:
    """Where an output is. Of an update, the counts of what is written are those of whole days."""
    if output not in settings.outputs:
        return "not among --outputs"
    return f"{'' if report.made is None else 'of the days written, in '}{report.out}/{output}"


def _left_out(report: Report) -> Iterator[_Count]:
    """What the filters left out, which is not counted in ``rows in``."""
    if report.filtered is None:
        return
    rows: dict[str, int] = report.filtered["rows"]
    texts = [f"{name} {number:,}" for name, number in rows.items() if number]
    if reduced := report.filtered["reduced"]:
        texts.append(f"objects removed from {counted(reduced, 'more row', 'more rows')}")
    yield "filtered", sum(rows.values()), ", ".join(texts) or "nothing"


def _days(report: Report) -> Iterator[_Count]:
    """The days that an update wrote: those with new rows, and later ones that follow from them; with all their
    queries, since a day is written as a whole.
    """
    if report.made is None:
        return
    new = {day: rows for day, rows in (report.new or {}).items() if rows}
    days = [f"{day} ({counted(rows, 'new row', 'new rows')})" for day, rows in list(new.items())[:3]]
    more, later = len(new) - len(days), len(report.made) - len(new)
    days += [f"{more:,} more"] if more else []
    if report.other_shapes is not None:
        days.append(f"{'and all others' if days else 'all'}, since the shapes are others")
    elif later and new:
        days.append(f"{counted(later, 'later day', 'later days')} that follow from them")
    of_days = _of_queries(report, f", {_old_and_new(report)}") if report.made else "none, since no row is new"
    yield "days written", len(report.made), "; ".join(filter(None, (", ".join(days), of_days)))


def _old_and_new(report: Report) -> str:
    """Which of the queries of the days are new, and which were in DIR and are written again."""
    new = report.new_queries or 0
    again = report.queries - new
    if not (new and again):
        return "all new" if new else "all written again"
    return f"{new:,} new and {again:,} written again"


def _of_other_shapes(report: Report) -> Iterator[_Count]:
    """What an update with other shapes than those of DIR changed in what became of the queries of earlier runs."""
    if report.other_shapes is not None:
        refused, back = report.other_shapes["quarantined"], report.other_shapes["exported"]
        queries = "query" if refused == 1 else "queries"
        yield (
            "other shapes",
            refused,
            f"{queries} of earlier runs that they refuse now; {back:,} refused before, and exported now",
        )


def _forgotten(report: Report) -> Iterator[_Count]:
    """What was removed from DIR, and what was made again without it."""
    if report.forgotten is not None:
        files = counted(report.forgotten["files"], "file")
        yield "forgotten", report.forgotten["queries"], f"queries removed; {files} written again without them"


def _checked(report: Report) -> str:
    if not report.nodes:
        return ""
    return ", all validated with the shapes" if report.nodes_checked else ", NOT validated"


def _slowest(seconds: dict[str, float]) -> str:
    stages = sorted(((duration, name) for name, duration in seconds.items() if name != "total"), reverse=True)
    return ", ".join(f"{name} {seconds_taken:.1f}" for seconds_taken, name in stages[:3])


def _skipped(report: Report) -> Iterator[str]:
    if report.skipped_files:
        names = ", ".join(report.skipped_files[:3]) + (" …" if len(report.skipped_files) > 3 else "")
        files = counted(len(report.skipped_files), "file")
        yield f"  skipped {files} of the input (links, without rows, or of the output): {names}"


def _doubtful(report: Report) -> Iterator[str]:
    """The first three names of what is not understood, lines of QUERY_HISTORY that do not fit, results of shapes."""
    if report.not_understood:
        names = [f"{name} ({entry['count']:,})" for name, entry in list(report.not_understood.items())[:3]]
        remaining = len(report.not_understood) - len(names)
        more = f" and {remaining:,} more; all are in" if remaining else "; see"
        yield f"  not understood: {', '.join(names)}{more} {report.out}/report.json"
    history = report.query_history or {}
    unusable = history.get("unusable", 0)
    for number, what in (
        (
            unusable,
            "no query id that can be read, and no effect: cut off, with too many or too few fields, or a column twice?",
        ),
        (history.get("unreadable", 0) - unusable, "a value that cannot be read, which is left out"),
        (
            history.get("contradicting", 0),
            "another start than the rows of the query, or an end before it: the end is left out. Times without a zone?",
        ),
    ):
        if number:
            yield f"  {counted(number, 'row of QUERY_HISTORY has', 'rows of QUERY_HISTORY have')} {what}"
    for words, results in (("refused", report.violations), ("warning", report.warnings)):
        yield from (f"  {words} by {shape}: {count:,}" for shape, count in sorted(results.items()))
    if report.violations or report.warnings:
        yield f"  all results are in {report.out}/shacl-report.ttl"


def _minute(time: str) -> str:
    """An ISO time without seconds, for people.

    >>> _minute("2026-09-01T08:00:12.5Z")
    '2026-09-01 08:00'
    """
    return time[:16].replace("T", " ")


def _next(settings: Settings) -> list[str]:
    """What to do next, with commands on separate lines that can be pasted."""
    from exporter.graph.terms import SYNTAXES
    from exporter.input.formats import is_remote

    if is_remote(settings.out):
        return ["To query, validate or push it, copy it to a folder on this machine."]
    if "graph" in settings.outputs and not all(SYNTAXES[name].names_load for name in settings.graph_format):
        command = f"  {program()} query user-history {shlex.quote(settings.out)}"
        return ["To query it, and to list all questions:", command, f"  {program()} queries"]
    if "events" in settings.outputs:
        return ["To send the events to a backend:", f"  {program()} push {shlex.quote(settings.out)}"]
    return []


def program() -> str:
    """The program's name for a shell: its plain name if that is on the path, otherwise the path of this one."""
    started = Path(sys.argv[0])
    if started.name == "__main__.py" and started.parent.name == "exporter":
        return f"{_shell_name(Path(sys.executable))} -m exporter"
    return _shell_name(started) if started.stem == "exporter" else "exporter"


def _shell_name(started: Path) -> str:
    """The name of a program if a shell finds this same program by it, otherwise its path."""
    text = shutil.which(started.name)
    is_same = text is not None and Path(text).absolute() == started.absolute()
    return started.name if is_same else shlex.quote(str(started))
