"""The place of an export: values of --out, permissions, and one run at a time."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from exporter.errors import UsageError
from exporter.publish.places import LocalPlace
from tests import exports, golden
from tests.input.bad_rows import GOOD
from tests.publish.test_publication import files
from tests.publish.test_publication_steps import NEW, OLD, publish

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

HOLD: Final = """
import sys, time
from exporter.publish.places import LocalPlace
with LocalPlace(sys.argv[1]).held():
    print("held", flush=True)
    time.sleep(60)
"""


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    return exports.ndjson([GOOD], tmp_path / "rows.ndjson")


# --- what --out names -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("out", ["s3a://bucket/lineage", "hdfs://host/lineage", "S3://bucket/lineage", "gs:/lineage"])
def test_a_uri_is_no_folder_of_this_machine(
    out: str, rows: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It made a local folder s3a:, once."""
    monkeypatch.chdir(tmp_path)
    assert exports.export([rows], Path("unused"), "--out", out) == 2
    assert f"{out}: without Spark only a folder on this machine can be written" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == [rows]


@pytest.mark.parametrize("scheme", ["file:", "file://"])
def test_a_uri_of_this_machine_is_where_it_says(scheme: str, rows: Path, tmp_path: Path) -> None:
    assert exports.export([rows], Path("unused"), "--out", f"{scheme}{tmp_path}/out") == 0
    assert (tmp_path / "out" / "manifest.json").exists()


@pytest.mark.parametrize(
    ("out", "said"),
    [
        ("file://host/lineage", "is not a path on this machine; write file:///path"),
        ("file:lineage", "is not a path on this machine"),
        ("/", "is the root of a file system; give a folder below it"),
        ("file:///", "is the root of a file system; give a folder below it"),
    ],
)
def test_what_names_no_folder_is_refused(out: str, said: str) -> None:
    with pytest.raises(UsageError, match=f"^{out}: {said}"):
        LocalPlace(out)


def test_a_link_stays_and_what_it_leads_to_is_replaced(tmp_path: Path) -> None:
    publish(tmp_path / "disk" / "lineage", OLD)
    (tmp_path / "out").symlink_to(tmp_path / "disk" / "lineage")
    publish(tmp_path / "out", NEW)
    assert (tmp_path / "out").is_symlink()
    assert (tmp_path / "disk" / "lineage" / "events" / "part-00000.ndjson").read_text() == "new\n"
    assert [path.name for path in (tmp_path / "disk").iterdir()] == ["lineage"]


# --- who may write there ----------------------------------------------------------------------------------------------


def test_where_a_disk_is_mounted_nothing_can_be_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os.path, "ismount", lambda path: path == tmp_path / "out")
    with pytest.raises(UsageError, match="is a mount point"):
        publish(tmp_path / "out", NEW)


def test_a_place_below_a_file_is_refused(rows: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert exports.export([rows], rows / "out") == 2
    assert f"{rows / 'out'}: cannot be written" in capsys.readouterr().err


@pytest.mark.parametrize("protected", ["the folder above", "the folder itself"])
def test_a_read_only_folder_is_named_and_stays(protected: str, tmp_path: Path) -> None:
    above = tmp_path / "above"
    publish(above / "out", OLD)
    rows = exports.ndjson([GOOD], tmp_path / "rows.ndjson")
    folder = above if protected == "the folder above" else above / "out"
    before = files(above)
    folder.chmod(0o555)
    given = ["export", str(rows), "--out", str(above / "out"), "--engine", "local", "--replace"]
    done = exports.without_rights([sys.executable, "-m", "exporter", *given])
    folder.chmod(0o755)
    assert done.returncode == 2, done.stderr
    assert re.search(rf"{above / 'out'}: cannot be written: .*Permission denied; nothing was changed", done.stderr)
    assert "Traceback" not in done.stderr
    assert files(above) == before


# --- one run at a time ------------------------------------------------------------------------------------------------


@pytest.fixture
def holder(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that works on DIR."""
    environ = {**os.environ, "PYTHONPATH": str(golden.ROOT)}
    command = [sys.executable, "-c", HOLD, str(tmp_path / "out")]
    with subprocess.Popen(command, env=environ, text=True, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


def test_a_second_run_is_refused_with_a_message_until_the_first_one_has_died(
    holder: subprocess.Popen[str], rows: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert exports.export([rows], out) == 2
    said = capsys.readouterr().err
    assert f"{out}: another run is writing it (process {holder.pid} on " in said
    assert "wait until it has ended" in said
    assert exports.export([rows], tmp_path / "other") == 0, "another folder beside it is free"
    assert not out.exists()
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    assert (tmp_path / ".out.lock").exists()
    assert exports.export([rows], out) == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["other", "out", "rows.ndjson"]


def test_a_lock_that_is_removed_while_one_waits_for_it_is_no_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first run removes its file when it ends: who has opened that very file by then opens the next one."""
    import fcntl  # noqa: PLC0415 - of Unix alone

    lock, flock, times = tmp_path / ".out.lock", fcntl.flock, list[int]()

    def late(file: int, operation: int) -> None:
        if not times:
            lock.unlink()
        times.append(file)
        flock(file, operation)

    monkeypatch.setattr(fcntl, "flock", late)
    with LocalPlace(str(tmp_path / "out")).held():
        assert len(times) == 2
        assert lock.exists()
        with pytest.raises(UsageError, match="another run"), LocalPlace(str(tmp_path / "out")).held():
            pass
    assert not lock.exists()


@pytest.mark.parametrize("kind", ["a link", "a dangling link", "a file", "a folder", "a pipe"])
def test_what_is_no_lock_is_refused_and_stays(
    kind: str, rows: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A link was followed and its file overwritten, and a file of the user removed."""
    lock, diary = tmp_path / ".out.lock", tmp_path / "diary"
    diary.write_text("mine")
    diary.chmod(0o644)
    made: dict[str, Callable[[], object]] = {
        "a link": lambda: lock.symlink_to("diary"),
        "a dangling link": lambda: lock.symlink_to("nowhere"),
        "a file": lambda: diary.rename(lock),
        "a folder": lock.mkdir,
        "a pipe": lambda: os.mkfifo(lock),
    }
    made[kind]()
    before = sorted((path.name, path.lstat().st_mode) for path in tmp_path.iterdir())
    assert exports.export([rows], tmp_path / "out") == 2
    why = "has a content that no export wrote" if kind == "a file" else f"is {kind.removeprefix('a dangling ')}"
    assert re.search(rf"{lock}: {why.replace('is link', 'is a link')}", capsys.readouterr().err)
    assert sorted((path.name, path.lstat().st_mode) for path in tmp_path.iterdir()) == before
    assert (lock if kind == "a file" else diary).read_text() == "mine"


def test_a_lock_that_another_program_replaced_meanwhile_is_not_removed(tmp_path: Path) -> None:
    lock = tmp_path / ".out.lock"
    with LocalPlace(str(tmp_path / "out")).held():
        lock.unlink()
        lock.write_text("mine")
    assert lock.read_text() == "mine"


def test_the_name_of_a_folder_is_no_pattern(tmp_path: Path) -> None:
    publish(tmp_path / "out[1]*", OLD)
    publish(tmp_path / "out[1]*", NEW)
    assert [path.name for path in tmp_path.iterdir()] == ["out[1]*"]
