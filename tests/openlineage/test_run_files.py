"""The same events in one file for each run, by a transport in the client's settings."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any

import pytest

from exporter.cli import main
from tests import exports
from tests.backends.pushing import counted, push, texts

if TYPE_CHECKING:
    from pathlib import Path

Json = dict[str, Any]
TRANSPORT = "exporter.openlineage.run_files.RunFilesTransport"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shutil.copytree(exports.everything() / "events", tmp_path / "out" / "events")
    return tmp_path / "out"


def settings(where: Path, monkeypatch: pytest.MonkeyPatch, **transport: str) -> None:
    file = where / "openlineage.yml"
    file.write_text(json.dumps({"transport": {"type": TRANSPORT, **transport}}), encoding="utf-8")
    monkeypatch.delenv("OPENLINEAGE_URL", raising=False)
    monkeypatch.setenv("OPENLINEAGE_CONFIG", str(file))


def events_of(file: Path) -> list[Json]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").split("\n") if line]


def test_each_run_has_a_file_with_its_events_and_no_others(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    settings(tmp_path, monkeypatch, folder=str(tmp_path / "runs"))
    sent = [json.loads(event) for event in exports.events(folder)]
    assert push(folder, None, capsys)[:2] == (0, counted(delivered=len(sent)))
    files = {file: events_of(file) for file in (tmp_path / "runs").iterdir()}
    assert texts(event for events in files.values() for event in events) == texts(sent)
    runs = {file.stem: events for file, events in files.items() if file.stem != "datasets"}
    assert len(runs) > 50
    for run, events in runs.items():
        assert [(event["run"]["runId"], event["eventType"]) for event in events] == [(run, "START"), (run, "COMPLETE")]


def test_an_event_that_is_sent_again_is_there_once(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    settings(tmp_path, monkeypatch, folder=str(tmp_path / "runs"))
    push(folder, None, capsys)
    before = {file: file.read_bytes() for file in (tmp_path / "runs").iterdir()}
    shutil.rmtree(folder / "push")
    assert push(folder, None, capsys)[1]["delivered"] > 0
    assert {file: file.read_bytes() for file in (tmp_path / "runs").iterdir()} == before


def test_without_a_folder_it_says_so(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    settings(tmp_path, monkeypatch)
    assert main(["push", str(folder)]) == 2
    assert "folder" in capsys.readouterr().err
