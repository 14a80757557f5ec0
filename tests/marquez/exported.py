"""One export of the corpus, the example company and a history with repeated statements, made once in a run."""

from __future__ import annotations

import atexit
import json
import shutil
import tempfile
from functools import cache
from pathlib import Path
from typing import Any, Final

from tests import exports, golden
from tests.marquez import rows, shapes

Json = dict[str, Any]
ROWS, SHAPES = 400, 40
ACCOUNT: Final = "SHAPES-ACCOUNT"
"""Whose the history of repeating statements is."""
_OF_HELPERS: Final = "24-dbt-run"
"""Its helper tables are no datasets of events: the plain reading of rows does not know them. See :func:`dbt_run`."""
_COMPANY: Final = golden.EXAMPLES / "company-month"


@cache
def _events() -> list[str]:
    folder = Path(tempfile.mkdtemp(prefix="exporter-marquez-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    given = exports.ndjson([*_examples(), *shapes.history(ACCOUNT, ROWS, SHAPES)], folder / "rows.ndjson")
    history = ["--query-history", str(_COMPANY / "query_history.csv")]
    assert exports.export([given], folder / "out", *history, "--outputs", "events") == 0
    return exports.events(folder / "out")


def _examples() -> list[Json]:
    """The rows of the corpus, each example in an account of its own, and of the company."""
    corpus = [
        {**row, "organization_name": "CORPUS", "account_name": folder.name}
        for folder in golden.folders()
        if folder.name != _OF_HELPERS
        for row in golden.rows(folder)
    ]
    company = (_COMPANY / "access_history.ndjson").read_text(encoding="utf-8").splitlines()
    return [*corpus, *map(json.loads, company)]


def examples(folder: Path) -> rows.Lineage:
    """The events of the examples, in a folder to push from, and what their rows say."""
    _write([json.loads(event) for event in _events() if ACCOUNT not in event], folder)
    return rows.read(_examples(), exports.ACCOUNT)


def dbt_run(folder: Path, account: str) -> None:
    """The export of the example of a dbt run, as that of an account."""
    given = exports.ndjson(golden.rows(golden.EXAMPLES / _OF_HELPERS), folder.with_suffix(".ndjson"))
    assert exports.export([given], folder, "--account", account, "--outputs", "events") == 0


def history(folder: Path, account: str) -> rows.Lineage:
    """The events of the repeating statements as those of another account, in a folder to push from, and what its rows
    say.
    """
    lineage = rows.read(shapes.history(account, ROWS, SHAPES), account)
    runs = {rows.run_id((ACCOUNT, query)): rows.run_id((account, query)) for _, query in lineage.statements}
    told = [json.loads(event.replace(ACCOUNT, account)) for event in _events() if ACCOUNT in event]
    for event in told:
        if "run" in event:
            event["run"]["runId"] = runs[event["run"]["runId"]]
    _write(told, folder)
    return lineage


def _write(events: list[Json], folder: Path) -> None:
    (folder / "events").mkdir(parents=True)
    exports.ndjson(events, folder / "events" / "part-00000.ndjson")
