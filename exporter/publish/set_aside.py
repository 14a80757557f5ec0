"""The quarantine of an export: its rows by reason, and as lines to be mended and given again (``exporter quarantine``).

A quarantined row is kept as it came (``quarantine/*.ndjson``, ``docs/interface.md``).
"""

from __future__ import annotations

import hashlib
import json
import re
import shlex
from collections import Counter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from exporter.errors import UsageError
from exporter.input.documented_form import DAMAGED
from exporter.input.files import with_damage
from exporter.pipeline.messages import time_and_query
from exporter.publish.earlier import STATE, no_export
from exporter.system import files
from exporter.system.terminal import visible

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

_SHOWN: Final = 300
"""Most characters of a row that are shown."""
_of_run: Final = re.compile(r"run=(\d+)-").match
"""Matches files with the unreadable rows of one run; the other files belong to the present state."""
_HALF: Final = re.compile("[\ud800-\udfff]")
_DAYS: Final = "^[0-9]+-[0-9]+-[0-9]+$"
"""Matches the receivers of rows in the state of an update: days."""


class QuarantinedRow(NamedTuple):
    """A quarantined row. ``run``: the run of an update, 0 if it belongs to the present state. ``query_id``: None if it
    cannot be read.
    """

    entry: dict[str, Any]
    run: int
    query_id: str | None


def reasons(folder: Path) -> list[dict[str, Any]]:
    """The quarantined rows by reason, the most frequent first. ``rows``: their number. ``given_again``: how many of
    their queries had a row that a later run accepted. ``example``: the first row, if possible one not given again.

    Raises UsageError if the folder was not made by an export.
    """
    if not (folder / "report.json").is_file():
        raise UsageError(f"{folder}: {no_export(folder)}")
    accepted_in = _accepting_runs(folder)
    by_reason: dict[str, dict[str, Any]] = {}
    for entry, run, query_id in _quarantined_rows(folder):
        is_again = _is_given_again(QuarantinedRow(entry, run, query_id), accepted_in)
        new = {"reason": entry["reason"], "rows": 0, "given_again": 0, "example": entry}
        group = by_reason.setdefault(entry["reason"], new)
        if group["rows"] == group["given_again"] and not is_again:
            group["example"] = entry
        group["rows"] += 1
        group["given_again"] += is_again
    return sorted(by_reason.values(), key=lambda group: (-group["rows"], group["reason"]))


def _is_given_again(row: QuarantinedRow, accepted_in: Mapping[str, int]) -> bool:
    """Whether a later run exported the query of the row."""
    return row.run > 0 and row.query_id is not None and accepted_in.get(row.query_id, 0) > row.run


def _quarantined_rows(folder: Path) -> Iterator[QuarantinedRow]:
    """The quarantined rows. A row that several runs were given unchanged, as from a file that lies in the inputs of
    every day, is one row, of the first of these runs.
    """
    first_run: dict[bytes, int] = {}
    for row in _rows_of_all_runs(folder):
        if row.run and row.entry["as_it_came"]:
            digest = _digest(row)
            first_run[digest] = min(row.run, first_run.get(digest, row.run))
    for row in _rows_of_all_runs(folder):
        if first_run.get(_digest(row), row.run) == row.run or not row.run:
            yield row


def _digest(row: QuarantinedRow) -> bytes:
    return hashlib.sha256(row.entry["as_it_came"].encode("utf-8", "surrogatepass")).digest()


def _rows_of_all_runs(folder: Path) -> Iterator[QuarantinedRow]:
    for path in files.find_files(folder / "quarantine", ".ndjson"):
        of_run = _of_run(path.name)
        with path.open(encoding="utf-8") as lines:
            for line in lines:
                entry = json.loads(line)
                yield QuarantinedRow(
                    entry, int(of_run[1]) if of_run else 0, _query_id(entry["as_it_came"]) if of_run else None
                )


def _query_id(text: str) -> str | None:
    """The query id in a row; None if the text is not a JSON object or has no query id."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return None
    names = document if isinstance(document, dict) else {}
    query_id = next((value for name, value in names.items() if name.lower() == "query_id"), None)
    # A row whose id has half of a surrogate pair is never accepted, so no later run has it.
    return query_id if isinstance(query_id, str) and _HALF.search(query_id) is None else None


def _accepting_runs(folder: Path) -> dict[str, int]:
    """Query id -> the last run that accepted a row of the query, for the queries of quarantined rows."""
    query_ids = {
        quarantined_row.query_id
        for quarantined_row in _quarantined_rows(folder)
        if quarantined_row.query_id is not None
    }
    files = sorted((folder / STATE / "rows").glob("*/*.parquet")) if query_ids else []
    latest: dict[str, int] = {}
    for path in files:
        for query_id, order in _rows_of(path, query_ids):
            latest[query_id] = max(latest.get(query_id, 0), time_and_query(order)[0])
    return latest


def _rows_of(path: Path, query_ids: set[str]) -> Iterator[tuple[str, bytes]]:
    """The rows of these queries in a file of the state: query id, and order (which contains the run)."""
    import pyarrow as pa  # noqa: PLC0415 - slow to import, and seldom needed
    import pyarrow.compute as pc  # noqa: PLC0415 - as above
    from pyarrow import parquet  # noqa: PLC0415 - as above

    ids = pa.array(sorted(query_ids), pa.string())
    for batch in parquet.ParquetFile(path).iter_batches(columns=["to", "key", "order"]):
        is_row = pc.match_substring_regex(batch.column("to"), _DAYS)
        matching = batch.filter(pc.and_(is_row, pc.is_in(batch.column("key"), value_set=ids)))
        yield from zip(matching.column("key").to_pylist(), matching.column("order").to_pylist(), strict=True)


# --- to be mended -----------------------------------------------------------------------------------------------------

_LINE_END: Final = re.compile(r"[\r\n]+")
_CUT: Final = "characters are kept here"
"""In the reason of a record that is too long: the quarantine has only its beginning."""
_AGGREGATE: Final = "interval_start_time"
"""A column of AGGREGATE_ACCESS_HISTORY alone."""


class RowsToMend:
    """The rows that no later run exported, as lines of NDJSON, each as it came. ``notes``: after the last line, what a
    person has to know of rows that could not be written so.

    Raises UsageError if the folder was not made by an export.
    """

    def __init__(self, folder: Path) -> None:
        if not (folder / "report.json").is_file():
            raise UsageError(f"{folder}: {no_export(folder)}")
        self._folder, self._counts, self._places = folder, Counter[str](), dict[str, str]()

    def __iter__(self) -> Iterator[str]:
        accepted_in = _accepting_runs(self._folder)
        for row in _quarantined_rows(self._folder):
            line = None if self._is_left_out(row, accepted_in) else self._line(row)
            if line is not None:
                yield line

    def _count(self, what: str, entry: dict[str, Any]) -> None:
        unit = "line" if "line" in entry else "row"
        self._counts[what] += 1
        self._places.setdefault(what, f"{entry['file']}, {unit} {entry.get(unit, '?')}")

    def _is_left_out(self, row: QuarantinedRow, accepted_in: Mapping[str, int]) -> bool:
        """Whether the row is not written: nothing is to be done, or the quarantine does not have it."""
        if _is_given_again(row, accepted_in):
            self._count("again", row.entry)
        elif not row.entry["as_it_came"]:
            self._count("hidden", row.entry)
        elif _CUT in row.entry["reason"]:
            self._count("cut", row.entry)
        else:
            return False
        return True

    def _line(self, row: QuarantinedRow) -> str:
        text: str = row.entry["as_it_came"]
        if DAMAGED in row.entry["reason"] and "\ufffd" in text:
            self._count("damaged", row.entry)
            text = with_damage(text)  # otherwise the next export would take it as it is
        names = _names(text)
        if names is None:
            self._count("no_json", row.entry)
            return json.dumps({"as_it_came": text}, ensure_ascii=False) if _LINE_END.search(text) else text
        if _AGGREGATE in names:
            self._count("aggregate", row.entry)
        return _LINE_END.sub(" ", text)  # in JSON they are between the values

    def notes(self) -> list[str]:
        """One line for each kind of rows, with the place of the first one."""
        return [
            f"{_rows(number)} {words} ({'first ' if number > 1 else ''}{self._places[what]})"
            for what, words in _NOTES.items()
            if (number := self._counts[what])
        ]


_NOTES: Final = {
    "again": "not written: a later run exported the query",
    "hidden": "not written: with pseudonyms or filters the text of such a row is not kept; take it from the input",
    "cut": "not written: too long, and only the beginning is kept; take it from the input",
    "damaged": "with bytes that are not UTF-8, which are lost; \\udcff stands for each, and has to be replaced",
    "no_json": 'not JSON: as it came, and if it has line ends as {"as_it_came": "..."}; write an object in its place',
    "aggregate": "of AGGREGATE_ACCESS_HISTORY: put such rows into a file of their own, for --aggregate",
}
"""What a person has to know of a row."""


def _rows(number: int) -> str:
    return "1 row" if number == 1 else f"{number:,} rows"


def _names(text: str) -> set[str] | None:
    """The keys of a JSON object, in lower case; None for any other text, and where a line ends within a string."""
    try:
        document = json.loads(text, strict=_LINE_END.search(text) is not None)
    except (ValueError, RecursionError):
        return None
    return {name.lower() for name in document} if isinstance(document, dict) else None


# --- for people -------------------------------------------------------------------------------------------------------


def reasons_as_text(groups: list[dict[str, Any]], folder: str) -> str:
    """The reasons as text for people, and what to do."""
    if not groups:
        return "Nothing was quarantined."
    reasons = [_reason(group) for group in groups]
    is_done = all(group["rows"] == group["given_again"] for group in groups)
    todo = (
        f"To correct them:  exporter quarantine {visible(shlex.quote(folder))} --rows > rows.ndjson\n"
        "Then export rows.ndjson: with --update they are added to the existing output."
    )
    done = "A later run exported all these queries; nothing is left to correct."
    return "\n\n".join([*reasons, done if is_done else todo])


def _reason(group: dict[str, Any]) -> str:
    example = group["example"]
    unit = "line" if "line" in example else "row"
    text = example["as_it_came"]
    cut = text if len(text) <= _SHOWN else f"{text[:_SHOWN]} …"
    rows, again = _rows(group["rows"]), group["given_again"]
    whose = (
        "its query" if group["rows"] == 1 else "all their queries" if again == group["rows"] else f"{again:,} of them"
    )
    since = f" (a later run exported {whose})" if again else ""
    place = f"such as {example['file']}, {unit} {example.get(unit, '?')}:"
    return f"{rows}: {visible(group['reason'])}{since}\n  {visible(place)}\n  {visible(cut)}"
