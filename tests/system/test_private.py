"""DIR, its state, quarantine and store, ledgers and locks are for their owner alone, whatever the umask."""

from __future__ import annotations

import json
import os
import stat
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from openlineage.client.event_v2 import DatasetEvent, StaticDataset

from exporter.ask import stores
from exporter.backends.ledger import Ledger
from exporter.cli import main
from exporter.engines import export as pipeline
from exporter.openlineage.run_files import RunFilesConfig, RunFilesTransport
from exporter.publish.report import summarise
from exporter.system import private
from tests import exports
from tests.input.bad_rows import GOOD

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

BAD = {"query_id": "bad"}
TIME = "2026-03-01T08:00:00Z"
RUN_FILES = "exporter.openlineage.run_files.RunFilesTransport"


@contextmanager
def umask(mask: int) -> Iterator[None]:
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


def modes(path: Path) -> set[int]:
    """The modes of a folder and of everything below it."""
    return {stat.S_IMODE(one.lstat().st_mode) for one in (path, *path.rglob("*"))}


def export(folder: Path, *options: str) -> int:
    rows = folder / "rows.ndjson"
    if not rows.exists():
        exports.ndjson([GOOD, BAD], rows)
        rows.chmod(0o600)
    return exports.export([rows], folder / "out", *options)


@pytest.mark.parametrize("mask", [0, 0o022, 0o777])
@pytest.mark.parametrize("options", [("--outputs", "events,graph,facts,catalog", "--compress", "gzip"), ("--update",)])
def test_an_export_is_for_its_owner_alone_under_any_umask(
    mask: int, options: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    during = set[int]()

    def look(*given: object) -> object:
        during.update(stat.S_IMODE(path.stat().st_mode) for path in tmp_path.glob(".out.*"))
        return summarise(*given)

    monkeypatch.setattr(pipeline, "summarise", look)
    with umask(mask):
        assert export(tmp_path, *options) == 0
        assert os.umask(mask) == mask, "it is as before"
    assert during == {0o700, 0o600}, "the work folder and the lock"
    assert modes(tmp_path / "out") == {0o700, 0o600}
    assert (tmp_path / "out" / "quarantine").is_dir()


@pytest.mark.parametrize("mask", [0, 0o777])
def test_the_ledger_of_a_push_and_the_store_are_too(mask: int, tmp_path: Path) -> None:
    assert export(tmp_path) == 0
    with umask(mask):
        ledger = Ledger(tmp_path / "out" / "push" / "backend")
        ledger.append_record("set-aside.ndjson", {"event": 1})
        ledger.close({"events": 1})
    assert len(list((tmp_path / "out" / "push" / "backend").iterdir())) == 3
    assert modes(tmp_path / "out") == {0o700, 0o600}
    with umask(mask & 0o077), stores.opened_store(tmp_path / "out", lambda _: None) as store:
        assert not {mode for mode in modes(store.parent) if mode & 0o077}


def test_what_a_former_version_left_open_becomes_private_and_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, backend = tmp_path / "out", tmp_path / "out" / "push" / "backend"
    assert export(tmp_path, "--update") == 0
    with umask(0o022):
        backend.mkdir(parents=True)
        (backend / "ledger.txt").write_text("+ x\n")
        (tmp_path / ".out.store").mkdir()
    for path in (out, *out.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    assert export(tmp_path, "--update") == 0
    assert modes(out) == {0o700, 0o600}
    assert "was open to others (mode 0755), has mode 0700 now; --mode 0755 keeps it open" in capsys.readouterr().err
    with stores.opened_store(out, lambda _: None):
        assert stat.S_IMODE((tmp_path / ".out.store").stat().st_mode) == 0o700


def test_a_person_opens_it_to_a_group(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    backend = tmp_path / "out" / "push" / "backend"
    assert export(tmp_path, "--mode", "0750", "--update") == 0
    assert modes(tmp_path / "out") == {0o750, 0o640}
    backend.mkdir(parents=True)
    (backend / "ledger.txt").touch()
    monkeypatch.setenv("EXPORTER_MODE", "750")
    assert export(tmp_path, "--update") == 0
    assert "was open to others" not in capsys.readouterr().err
    assert modes(tmp_path / "out" / "graph") == {0o750, 0o640}
    assert modes(tmp_path / "out" / "push") == {0o700, 0o600}, "only the owner pushes"
    monkeypatch.delenv("EXPORTER_MODE")
    assert export(tmp_path, "--update") == 0
    assert modes(tmp_path / "out") == {0o700, 0o600}


@pytest.mark.parametrize("mode", ["", "rwx", "0644", "0070", "4755", "0o750", "750 ", "07777", "0766"])
def test_a_mode_that_is_none_is_refused(mode: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert export(tmp_path, "--mode", mode) == 2
    assert "mode: " in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_store_that_others_own_is_no_obstacle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With --mode 0750 the group reads DIR, but not the store of the owner."""
    assert export(tmp_path) == 0

    def refused(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("exporter.ask.stores.private.folder", refused)
    monkeypatch.setattr("exporter.ask.stores.private.opened", refused)
    assert main(["query", "user-history", "--graph", str(tmp_path / "out")]) == 0


@pytest.mark.parametrize("mask", [0, 0o022, 0o777])
@pytest.mark.parametrize("transport", [f"{RUN_FILES}", "file"])
def test_events_that_a_push_writes_to_files_are_private(
    transport: str, mask: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By our transport and by one of the client's own."""
    assert export(tmp_path) == 0
    told = {"type": transport, "folder": f"{tmp_path}/new/runs", "log_file_path": f"{tmp_path}/events.ndjson"}
    settings = tmp_path / "openlineage.yml"
    settings.write_text(json.dumps({"transport": {**told, "append": True}}))
    monkeypatch.setenv("OPENLINEAGE_CONFIG", str(settings))
    monkeypatch.delenv("OPENLINEAGE_URL", raising=False)
    with umask(mask):
        assert main(["push", str(tmp_path / "out")]) == 0
        assert os.umask(mask) == mask, "it is as before"
    written = tmp_path / ("events.ndjson" if transport == "file" else "new")
    assert modes(written) == ({0o600} if transport == "file" else {0o700, 0o600})
    assert modes(tmp_path / "out") == {0o700, 0o600}, "the ledger"


def test_a_folder_for_runs_that_is_there_keeps_its_mode(tmp_path: Path) -> None:
    """A person made it so; the files in it are private nevertheless."""
    with umask(0):
        (tmp_path / "runs").mkdir(0o750)
        transport = RunFilesTransport(RunFilesConfig(str(tmp_path / "runs")))
        transport.emit(DatasetEvent(eventTime=TIME, producer="https://us.example", dataset=StaticDataset("a", "b")))
    assert modes(tmp_path / "runs") == {0o750, 0o600}


@pytest.mark.usefixtures("spark")
def test_an_export_on_spark_is_private(tmp_path: Path) -> None:
    """With a URI, files have the mode that the file system gives them: Java has the umask 077."""
    exports.ndjson([GOOD, BAD], tmp_path / "rows.ndjson").chmod(0o600)
    for out in (f"{tmp_path}/out", f"file://{tmp_path}/remote"):
        options = ["--account", "A-B", "--engine", "spark", "--out", out]
        with umask(0):
            assert main(["export", str(tmp_path / "rows.ndjson"), *options]) == 0
    assert modes(tmp_path) == {0o700, 0o600}


@pytest.mark.jvm
def test_what_spark_writes_between_the_rounds_is_private(spark: SparkSession, tmp_path: Path) -> None:
    """Java makes its files, and those of Python's workers, with the umask that it was started with; those of tables by
    an umask of Hadoop's.
    """
    spark.range(3).write.parquet(f"{tmp_path}/rows")
    assert modes(tmp_path / "rows") == {0o700, 0o600}
    masks = set()
    for status in Path("/proc").glob("[0-9]*/status"):
        told = dict(line.split(":\t", 1) for line in status.read_text().splitlines() if ":\t" in line)
        if told["Name"] == "java" and told["PPid"] == str(os.getpid()):
            masks.add(told["Umask"])
    assert masks == {"0077"}


def test_the_umask_returns_when_the_last_of_several_exports_has_ended() -> None:
    """As with two exports in threads of one process, of which the first to begin ends first."""
    with umask(0o022):
        first, second = private.made(), private.made()
        for begun in (first, second):
            begun.__enter__()
        first.__exit__(None, None, None)
        assert os.umask(0o077) == 0o077, "the second one still runs"
        second.__exit__(None, None, None)
        assert os.umask(0o022) == 0o022
