"""A push of 2,000 events that is killed and continued, and a push of only the latest runs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest

from tests.marquez import api, exported, rows
from tests.marquez.exported import ROWS, SHAPES
from tests.marquez.seen import look, push, same

if TYPE_CHECKING:
    from pathlib import Path

    from tests.marquez.api import Marquez

SECONDS = 600


@pytest.fixture
def history(tmp_path: Path) -> tuple[Path, rows.Lineage]:
    """The events of an account that no Marquez knows, in a folder to push from, and what its rows say."""
    folder = tmp_path / "out"
    return folder, exported.history(folder, f"SHAPES-{uuid4().hex[:12].upper()}")


def summary(folder: Path) -> dict[str, Any]:
    (file,) = (folder / "push").glob("*/summary.json")
    return dict(json.loads(file.read_text(encoding="utf-8")))


def test_a_push_that_is_killed_continues_and_all_is_visible(
    marquez: Marquez, history: tuple[Path, rows.Lineage], capsys: pytest.CaptureFixture[str]
) -> None:
    folder, lineage = history
    events = 2 * ROWS + len(lineage.fields)
    killed_in_the_middle(folder, marquez, events)
    capsys.readouterr()
    assert push(folder, marquez, "--json") == 0
    counts = json.loads(capsys.readouterr().out)
    assert counts["events"] == counts["already_delivered"] + counts["delivered"] == events
    assert counts["already_delivered"] > 0
    assert counts["delivered"] > 0
    assert summary(folder)["sent_again"] <= 8, "no more than were on their way"

    seen = look(marquez, lineage)
    same(set(seen.datasets), set(lineage.fields))
    assert {name: set(api.fields(one)) for name, one in seen.datasets.items()} == lineage.fields
    assert len(seen.jobs) == SHAPES
    same(seen.edges(), seen.expected_edges())
    assert push(folder, marquez, "--json") == 0
    assert json.loads(capsys.readouterr().out)["already_delivered"] == events


def killed_in_the_middle(folder: Path, marquez: Marquez, events: int) -> None:
    """A push in a process of its own, which dies by SIGKILL when about a third of the events are on record."""
    environment = {**os.environ, "OPENLINEAGE_URL": marquez.url}
    command = [sys.executable, "-m", "exporter", "push", str(folder), "--profile", "marquez", "--rate", "600"]
    pushing = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    until = time.monotonic() + SECONDS
    while time.monotonic() < until and pushing.poll() is None and delivered(folder) < events // 3:
        time.sleep(0.01)
    assert pushing.poll() is None, "the push ended before it could be killed"
    pushing.kill()
    pushing.wait()


def delivered(folder: Path) -> int:
    files = list((folder / "push").glob("*/ledger.txt"))
    return sum(file.read_bytes().count(b"+ ") for file in files)


def test_the_latest_runs_have_all_edges(
    marquez: Marquez, history: tuple[Path, rows.Lineage], capsys: pytest.CaptureFixture[str]
) -> None:
    folder, lineage = history
    capsys.readouterr()
    assert push(folder, marquez, "--json", "--runs", "latest") == 0
    counts = json.loads(capsys.readouterr().out)
    assert counts["delivered"] == counts["events"] == 2 * SHAPES + len(lineage.fields)
    assert summary(folder)["runs_left_out"] == ROWS - SHAPES

    latest = rows.Lineage(dict(lineage.in_order()[-SHAPES:]), lineage.fields)
    seen = look(marquez, latest)
    expected = {edge for statement in lineage.statements.values() for edge in statement.columns}
    same(api.column_edges(marquez.dataset(name) for name in seen.datasets), expected)
    same(seen.edges(), seen.expected_edges())
    reads = {name for statement in lineage.statements.values() for name in statement.inputs}
    shown = {edge[0] for edge in seen.edges() if edge[0].startswith("dataset:")}
    assert shown == {":".join(("dataset", *name)) for name in reads}
