"""``exporter quarantine``: the quarantined rows of a DIR by reason, and whether they were exported again since."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from exporter.earlier import STATE
from exporter.errors import UsageError
from exporter.history import no_export
from exporter.messages import time_and_query
from exporter.printable import visible

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_SHOWN: Final = 300
"""Most characters of a row that are shown."""
_of_run: Final = re.compile(r"run=(\d+)-").match
"""Matches files with the unreadable rows of one run; the other files belong to the present state."""
_HALF: Final = re.compile("[\ud800-\udfff]")
_DAYS: Final = "to=[0-9]*-[0-9]*-[0-9]*"
"""Pattern for the folders with the rows of a day in the state of an update."""


class Aside(NamedTuple):
    """A quarantined row. ``run``: the run of an update, 0 if it belongs to the present state. ``query_id``: None if it
    cannot be read.
    """

    told: dict[str, Any]
    run: int
    query_id: str | None


def reasons(folder: Path) -> list[dict[str, Any]]:
    """The quarantined rows by reason, the most frequent first. ``rows``: their number. ``given_again``: how many of
    their queries had a row that a later run accepted. ``example``: the first row, if possible one not given again.

    Raises UsageError if the folder was not made by an export.
    """
    if not (folder / "report.json").is_file():
        raise UsageError(f"{folder}: {no_export(folder)}")
    taken = _taken(folder)
    found: dict[str, dict[str, Any]] = {}
    for told, run, query_id in _set_aside(folder):
        is_again = run > 0 and query_id is not None and taken.get(query_id, 0) > run
        new = {"reason": told["reason"], "rows": 0, "given_again": 0, "example": told}
        one = found.setdefault(told["reason"], new)
        if one["rows"] == one["given_again"] and not is_again:
            one["example"] = told
        one["rows"] += 1
        one["given_again"] += is_again
    return sorted(found.values(), key=lambda one: (-one["rows"], one["reason"]))


def _set_aside(folder: Path) -> Iterator[Aside]:
    for path in sorted((folder / "quarantine").glob("*.ndjson")):
        of_run = _of_run(path.name)
        with path.open(encoding="utf-8") as lines:
            for line in lines:
                told = json.loads(line)
                yield Aside(told, int(of_run[1]) if of_run else 0, _query_id(told["as_it_came"]) if of_run else None)


def _query_id(text: str) -> str | None:
    """The query id in a row; None if the text is not a JSON object or has no query id."""
    try:
        given = json.loads(text)
    except (ValueError, RecursionError):
        return None
    names = given if isinstance(given, dict) else {}
    found = next((value for name, value in names.items() if name.lower() == "query_id"), None)
    # A row whose id has half of a surrogate pair is never accepted, so no later run has it.
    return found if isinstance(found, str) and _HALF.search(found) is None else None


def _taken(folder: Path) -> dict[str, int]:
    """Query id -> the last run that accepted a row of the query, for the queries of quarantined rows."""
    wanted = {one.query_id for one in _set_aside(folder) if one.query_id is not None}
    files = sorted((folder / STATE / "rows").glob(f"*/{_DAYS}/*.parquet")) if wanted else []
    found: dict[str, int] = {}
    for path in files:
        for query_id, order in _rows_of(path, wanted):
            found[query_id] = max(found.get(query_id, 0), time_and_query(order)[0])
    return found


def _rows_of(path: Path, wanted: set[str]) -> Iterator[tuple[str, bytes]]:
    """The rows of these queries in a file of the state: query id, and order (which contains the run)."""
    import pyarrow as pa  # noqa: PLC0415 - slow to import, and seldom needed
    import pyarrow.compute as pc  # noqa: PLC0415 - as above
    from pyarrow import parquet  # noqa: PLC0415 - as above

    ids = pa.array(sorted(wanted), pa.string())
    for batch in parquet.ParquetFile(path).iter_batches(columns=["key", "order"]):
        kept = batch.filter(pc.is_in(batch.column("key"), value_set=ids))
        yield from zip(kept.column("key").to_pylist(), kept.column("order").to_pylist(), strict=True)


# --- for people -------------------------------------------------------------------------------------------------------


def shown(found: list[dict[str, Any]], folder: str) -> str:
    """The reasons as text for people, and what to do."""
    if not found:
        return "Nothing was quarantined."
    told = [_reason(one) for one in found]
    is_done = all(one["rows"] == one["given_again"] for one in found)
    todo = (
        f"The original rows are in {visible(folder)}/quarantine. Correct them and export them again: with --update "
        "they are added to the existing output."
    )
    done = "Rows of all these queries were exported again since; nothing is left to correct."
    return "\n\n".join([*told, done if is_done else todo])


def _reason(one: dict[str, Any]) -> str:
    example = one["example"]
    unit = "line" if "line" in example else "row"
    text = example["as_it_came"]
    cut = text if len(text) <= _SHOWN else f"{text[:_SHOWN]} …"
    rows = "1 row" if one["rows"] == 1 else f"{one['rows']:,} rows"
    again = one["given_again"]
    since = (
        f" ({'given again since' if again == one['rows'] else f'{again:,} of them given again since'})" if again else ""
    )
    place = f"such as {example['file']}, {unit} {example.get(unit, '?')}:"
    return f"{rows}: {visible(one['reason'])}{since}\n  {visible(place)}\n  {visible(cut)}"
