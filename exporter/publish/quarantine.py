"""The quarantine of an export: its rows by reason, and as lines to be mended and given again (``exporter quarantine``).

A quarantined row is kept as it came (``quarantine/*.ndjson``, ``docs/interface.md``).
"""

from __future__ import annotations

import hashlib
import json
import re
import shlex
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

from exporter.input.documented_form import DAMAGED
from exporter.input.files import with_damage
from exporter.pipeline.messages import time_and_query
from exporter.publish.earlier import LOG, STATE, damaged, document, no_export
from exporter.publish.manifest import refuse_incomplete
from exporter.system import files
from exporter.system.terminal import counted, visible

_SHOWN: Final = 300
"""Most characters of a row that are shown."""
_of_run: Final = re.compile(r"run=(\d+)-").match
"""Matches files with the unreadable rows of one run; the other files belong to the present state."""
_HALF: Final = re.compile("[\ud800-\udfff]")
_DAYS: Final = "^[0-9]+-[0-9]+-[0-9]+$"
"""Matches the receivers of rows in the state of an update: days."""


class QuarantinedRow(NamedTuple):
    """``entry``: the line in the quarantine. ``is_again``: whether a later run exported the query. ``is_kept``: whether
    the row could be read, and is in the state of an update (docs/updates.md, "What is promised").
    """

    entry: dict[str, Any]
    is_again: bool
    is_kept: bool


class _Quarantine:
    """The quarantined rows of an export, read twice: a row that several runs were given unchanged, as from a file that
    lies in the inputs of every day, is one row, of the first of these runs.

    Raises UsageError if the folder was not made by an export, or lacks a file of its quarantine, or its log.
    """

    def __init__(self, folder: Path) -> None:
        if not (folder / "report.json").is_file():
            raise no_export(folder)
        for needed in ("quarantine", LOG, f"{STATE}/rows"):
            refuse_incomplete(folder, needed, "the list")
        self._folder, self._keeps_rows = folder, (folder / LOG).is_file()
        self._first_run, query_ids = dict[bytes, int](), set[str]()
        for entry, run in self._of_all_runs():
            if run and entry["as_it_came"]:
                digest = _digest(entry)
                self._first_run[digest] = min(run, self._first_run.get(digest, run))
                query_ids |= _query_ids(entry)
        self._accepted_in = _accepting_runs(folder, query_ids)

    def __iter__(self) -> Iterator[QuarantinedRow]:
        for entry, run in self._of_all_runs():
            if not run or self._first_run.get(_digest(entry), run) == run:
                accepted_in = (self._accepted_in.get(query_id, 0) for query_id in _query_ids(entry))
                is_again = run > 0 and any(later > run for later in accepted_in)
                yield QuarantinedRow(entry, is_again, self._keeps_rows and not run)

    def _of_all_runs(self) -> Iterator[tuple[dict[str, Any], int]]:
        """Each line with its run; the run is 0 for rows of the present state."""
        for path in files.find_files(self._folder / "quarantine", ".ndjson"):
            of_run = _of_run(path.name)
            with path.open(encoding="utf-8", errors="replace") as lines:
                for number, line in enumerate(lines, 1):
                    where = f"{path}, line {number}:"
                    entry = document(line, dict, where, self._folder)
                    if not isinstance(entry.get("as_it_came"), str) or not isinstance(entry.get("reason"), str):
                        raise damaged(where, self._folder)
                    yield entry, int(of_run[1]) if of_run else 0


def reasons(folder: Path) -> list[dict[str, Any]]:
    """The quarantined rows by reason, the most frequent first. ``rows``: their number. ``given_again``: how many of
    their queries had a row that a later run accepted. ``kept``: how many are in the state of an update. ``example``:
    the first row, if possible one not given again.

    Raises UsageError if the folder was not made by an export.
    """
    by_reason: dict[str, dict[str, Any]] = {}
    for entry, is_again, is_kept in _Quarantine(folder):
        new = {"reason": entry["reason"], "rows": 0, "given_again": 0, "kept": 0, "example": entry}
        group = by_reason.setdefault(entry["reason"], new)
        if group["rows"] == group["given_again"] and not is_again:
            group["example"] = entry
        group["rows"] += 1
        group["given_again"] += is_again
        group["kept"] += is_kept
    return sorted(by_reason.values(), key=lambda group: (-group["rows"], group["reason"]))


def place_of(entry: dict[str, Any]) -> str:
    """Where a quarantined row came from: its file, and its line or number."""
    unit = "line" if "line" in entry else "row"
    return f"{entry.get('file')}, {unit} {entry.get(unit, '?')}"


def _digest(entry: dict[str, Any]) -> bytes:
    return hashlib.sha256(entry["as_it_came"].encode("utf-8", "surrogatepass")).digest()


def _object(text: str, *, strict: bool = True) -> dict[str, Any] | None:
    """The values of a JSON object by their keys in lower case, the first of each; None for any other text."""
    try:
        document = json.loads(text, strict=strict)
    except (ValueError, RecursionError):
        return None
    return {key.lower(): document[key] for key in reversed(document)} if isinstance(document, dict) else None


def _query_ids(entry: dict[str, Any]) -> set[str]:
    """The query id in a row, if it has one. A row whose id has half of a surrogate pair is never accepted, so no later
    run has it.
    """
    query_id = (_object(entry["as_it_came"]) or {}).get("query_id")
    return {query_id} if isinstance(query_id, str) and _HALF.search(query_id) is None else set()


def _accepting_runs(folder: Path, query_ids: set[str]) -> dict[str, int]:
    """Query id -> the last run that accepted a row of the query."""
    latest: dict[str, int] = {}
    for path in sorted((folder / STATE / "rows").glob("*/*.parquet")) if query_ids else ():
        try:
            for query_id, order in _rows_of(path, query_ids):
                latest[query_id] = max(latest.get(query_id, 0), time_and_query(order)[0])
        except (OSError, ValueError, LookupError, NotImplementedError):  # what Arrow says of damaged files
            raise damaged(f"{path}:", folder) from None
    return latest


def _rows_of(path: Path, query_ids: set[str]) -> Iterator[tuple[str, bytes]]:
    """The rows of these queries in a file of the state: query id, and order (which contains the run)."""
    import pyarrow as pa  # noqa: PLC0415 - slow to import, and seldom needed
    import pyarrow.compute as pc  # noqa: PLC0415 - slow to import, seldom needed
    from pyarrow import parquet  # noqa: PLC0415 - slow to import, seldom needed

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
        self._rows, self._counts, self._places = _Quarantine(folder), Counter[str](), dict[str, str]()

    def __iter__(self) -> Iterator[str]:
        for row in self._rows:
            line = self._line(row)
            if line is not None:
                yield line

    def _count(self, kind: str, entry: dict[str, Any]) -> None:
        self._counts[kind] += 1
        self._places.setdefault(kind, place_of(entry))

    def _line(self, row: QuarantinedRow) -> str | None:
        """The line; None if nothing is to be done, or the quarantine does not have the row."""
        entry, text = row.entry, str(row.entry["as_it_came"])
        left_out = "again" if row.is_again else "hidden" if not text else "cut" if _CUT in entry["reason"] else None
        if left_out is not None:
            self._count(left_out, entry)
            return None
        if DAMAGED in entry["reason"] and "\ufffd" in text:
            self._count("damaged", entry)
            text = with_damage(text)  # otherwise the next export would take it as it is
        has_lines = _LINE_END.search(text) is not None
        document = _object(text, strict=has_lines)  # a line must not end within a string
        if document is None:
            self._count("no_json", entry)
            return json.dumps({"as_it_came": text}, ensure_ascii=False) if has_lines else text
        if _AGGREGATE in document:
            self._count("aggregate", entry)
        return _LINE_END.sub(" ", text)  # in JSON they are between the values

    def notes(self) -> list[str]:
        """One line for each kind of rows, with the place of the first one."""
        return [
            f"{counted(number, 'row')} {words} ({'first ' if number > 1 else ''}{self._places[kind]})"
            for kind, words in _NOTES.items()
            if (number := self._counts[kind])
        ]


_NOTES: Final = {
    "again": "not written: a later run exported the query",
    "hidden": "not written: with pseudonyms or filters, or SQL, the text of such a row is not kept; take it from the "
    "input",
    "cut": "not written: too long, and only the beginning is kept; take it from the input",
    "damaged": "with bytes that are not UTF-8, which are lost; \\udcff stands for each, and has to be replaced",
    "no_json": 'not JSON: as it came, and if it has line ends as {"as_it_came": "..."}; write an object in its place',
    "aggregate": "of AGGREGATE_ACCESS_HISTORY: put such rows into a file of their own, for --aggregate",
}
"""What a person has to know of a row."""


# --- for people -------------------------------------------------------------------------------------------------------


def reasons_as_text(groups: list[dict[str, Any]], folder: Path, left: str) -> str:
    """The reasons as text for people, and what to do. ``left``: why rows are no longer there (empty if none are)."""
    if not groups:
        return f"Nothing is in quarantine. {left}" if left else "Nothing was quarantined."
    todo = list(_todo(groups, folder)) or ["A later run exported all these queries; nothing is left to correct."]
    return "\n\n".join([*map(_reason, groups), *todo, *filter(None, [left])])


def _todo(groups: list[dict[str, Any]], folder: Path) -> Iterator[str]:
    """What to do with the rows that no later run exported."""
    kept = sum(group["kept"] for group in groups)
    command = f"exporter quarantine {visible(shlex.quote(str(folder)))} --rows > rows.ndjson"
    shape = "If a shape of your own is wrong, change it"
    if not (folder / LOG).is_file():
        yield (
            f"To see all of them:  {command}\nThe output was made without --update, so no rows can be added to it. "
            f"Correct the rows in your files,\nand export all rows again with --replace. {shape} first."
        )
        return
    if sum(group["rows"] - group["given_again"] for group in groups) > kept:
        rows = "the other rows" if kept else "them"
        yield f"To correct {rows}:  {command}\nThen export rows.ndjson with --update: it adds them to the output."
    if kept:
        are = "is" if kept == 1 else "are"
        yield (
            f"{counted(kept, 'row')} could be read and {are} kept in the output. Given again, such a row is a "
            f"duplicate,\nand stays in quarantine. {shape}, and export with --update\nand --shapes: all is tried "
            "again. If the rows are wrong, correct them in your files, and make\nthe output again with all rows "
            "(--update --replace)."
        )


def _reason(group: dict[str, Any]) -> str:
    example, text = group["example"], group["example"]["as_it_came"]
    cut = text if len(text) <= _SHOWN else f"{text[:_SHOWN]} …"
    rows, again = counted(group["rows"], "row"), group["given_again"]
    whose = (
        "its query" if group["rows"] == 1 else "all their queries" if again == group["rows"] else f"{again:,} of them"
    )
    since = f" (a later run exported {whose})" if again else ""
    return f"{rows}: {visible(group['reason'])}{since}\n  such as {visible(place_of(example))}:\n  {visible(cut)}"
