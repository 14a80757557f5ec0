"""A lease refuses a second run, ends with its process, and stops a run that did not renew it in time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from typing import Any

import pytest

from exporter.engines import lease
from exporter.engines.lease import Lease
from exporter.errors import ExporterError, UsageError


class Kept:
    """Small files in memory."""

    def __init__(self) -> None:
        self.files: dict[str, str] = {}

    def create(self, path: str, content: str) -> bool:
        return self.files.setdefault(path, content) is content

    def write(self, path: str, content: str) -> None:
        self.files[path] = content

    def text(self, path: str) -> str | None:
        return self.files.get(path)

    def delete(self, path: str) -> None:
        self.files.pop(path, None)


PATH = "hdfs://host/.out.lock"


def one(files: Kept) -> Lease:
    return Lease(files, PATH, "hdfs://host/out")


def told(files: Kept, **changed: Any) -> str:
    return json.dumps({**json.loads(files.files[PATH]), **changed})


@pytest.fixture
def files() -> Kept:
    return Kept()


def ended() -> int:
    """The number of a process that is no more."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def test_a_second_run_is_refused_with_a_message_and_may_work_afterwards(files: Kept) -> None:
    with (
        one(files).held(),
        pytest.raises(UsageError, match=rf"hdfs://host/out: another run is writing it .*process {os.getpid()} on"),
        one(files).held(),
    ):
        pass
    assert files.files == {}
    with one(files).held():
        assert PATH in files.files


@pytest.mark.parametrize(
    "changed",
    [
        {"id": "other", "host": "far", "until": time.time() - 1},  # it was not renewed
        {"id": "other", "process": ended()},
        {"id": "other"},  # a process of the same number, in a container that was started again
    ],
)
def test_a_lease_of_a_dead_process_is_taken_over(changed: dict[str, Any], files: Kept) -> None:
    with one(files).held():
        left = told(files, **changed)
    files.files[PATH] = left
    with one(files).held():
        assert json.loads(files.files[PATH])["id"] != "other"


@pytest.mark.parametrize("changed", [{"id": "other", "host": "far"}, {"id": "other", "process": os.getppid()}])
def test_a_lease_of_a_run_that_may_live_is_not(changed: dict[str, Any], files: Kept) -> None:
    with one(files).held():
        left = told(files, **changed)
    files.files[PATH] = left
    with pytest.raises(UsageError, match="another run"), one(files).held():
        pass
    assert files.files[PATH] == left


def test_an_empty_lease_is_of_a_run_that_died_at_once(files: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lease, "PATIENCE", 0.05)
    files.files[PATH] = ""
    with one(files).held():
        assert files.files[PATH]


def test_it_is_renewed_while_the_run_works(files: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lease, "RENEWAL_SECONDS", 0.01)
    with one(files).held():
        first = json.loads(files.files[PATH])["until"]
        until = time.monotonic() + 10
        while json.loads(files.files[PATH])["until"] == first:
            assert time.monotonic() < until
            time.sleep(0.01)


def test_a_run_that_lost_its_lease_publishes_nothing_and_leaves_the_other_one(files: Kept) -> None:
    mine = one(files)
    with mine.held():
        mine.check()
        theirs = files.files[PATH] = told(files, id="other")
        with pytest.raises(ExporterError, match=r"another run has taken it over.*nothing was published"):
            mine.check()
    assert files.files[PATH] == theirs


@pytest.mark.parametrize("content", ["my notes", "{}", "[1]", '{"until": 0}'])
def test_a_file_of_somebody_else_is_no_lease_and_stays(
    content: str, files: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lease, "PATIENCE", 0.05)
    files.write(PATH, content)
    with pytest.raises(UsageError, match=f"^{PATH}: has a content that no export wrote"), one(files).held():
        pass
    assert files.files[PATH] == content
