"""DIR is always the complete old or new output: a run is killed (kill -9) at each of its steps.

The steps are Python's audit events before each change of a file or folder, and the exchange of the two folders.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from typing import TYPE_CHECKING, Final

import pytest

from exporter.publish import manifest
from exporter.publish.places import LocalPlace
from exporter.publish.publication import Publication
from exporter.system import folders as swap
from tests.publish.test_publication import files

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_STEPS: Final = ("os.", "shutil.", "ctypes.", "fcntl.")
_NO_CHANGES: Final = ("os.listdir", "os.scandir", "os.walk", "os.fwalk", "os.kill")
OLD: Final = {"report.json": "{}", "events/part-00000.ndjson": "old\n", "graph/part-00000.ttl": "old\n"}
NEW: Final = {"report.json": "{}", "events/part-00000.ndjson": "new\n"}
LEDGER: Final = "push/backend/ledger.txt"


def publish(out: Path, texts: dict[str, str]) -> None:
    place = LocalPlace(str(out))
    with place.held(), Publication(place, replace=True) as new:
        place.write(f"{new.work}/messages", "of the work alone")
        for name, text in texts.items():
            new.text(name, text)
        new.publish({"version": "x"})


def killed_at(step: int, work: Callable[[], None]) -> bool:
    """Whether a process that does the work is killed before it makes so many changes; else it has come to its end."""
    child = os.fork()
    if not child:
        left = [step]

        def count(event: str, given: tuple[object, ...]) -> None:
            is_written = event == "open" and isinstance(given[2], int) and bool(given[2] & (os.O_WRONLY | os.O_RDWR))
            if is_written or (event.startswith(_STEPS) and event not in _NO_CHANGES):
                left[0] -= 1
                if left[0] < 0:
                    os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(count)
        code = 1
        try:
            work()
            code = 0
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    assert status in (0, signal.SIGKILL)
    return status == signal.SIGKILL


def without_manifest(out: Path) -> dict[str, bytes]:
    return {path: content for path, content in files(out).items() if path not in {"manifest.json", swap.MARK}}


def told(texts: dict[str, str]) -> dict[str, bytes]:
    return {path: text.encode() for path, text in texts.items()}


@pytest.mark.parametrize("is_there", [True, False])
def test_killed_at_any_step_dir_is_the_old_or_the_new_one_and_the_next_run_continues_from_it(
    *, is_there: bool, tmp_path: Path
) -> None:
    seen, step = set[str](), 0
    while True:
        out = tmp_path / str(step) / "out"
        if is_there:
            publish(out, OLD)
            (out / LEDGER).parent.mkdir(parents=True)
            (out / LEDGER).write_text("+ what was delivered\n")
        if not killed_at(step, lambda out=out: publish(out, NEW)):
            break
        if is_there or out.exists():
            assert manifest.problems(out) == [], step
            there = without_manifest(out)
            assert not is_there or there.pop(LEDGER) == b"+ what was delivered\n", step
            assert there in (told(OLD), told(NEW)), step
            seen.add("new" if there == told(NEW) else "old")
        publish(out, NEW)
        assert (out / LEDGER).exists() == is_there
        assert [path.name for path in out.parent.iterdir()] == ["out"], "the next run takes away what is left"
        step += 1
    assert seen == ({"old", "new"} if is_there else {"new"})
    assert step > 15


def test_where_folders_cannot_be_exchanged_the_next_run_puts_the_old_one_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There DIR is missing between two renames; which is why Linux exchanges them."""
    monkeypatch.setattr(swap, "_exchanged", lambda *_: False)
    missing, step = 0, 0
    while True:
        out = tmp_path / str(step) / "out"
        publish(out, OLD)
        if not killed_at(step, lambda out=out: publish(out, NEW)):
            break
        if not out.exists():
            missing += 1
            place = LocalPlace(str(out))
            with place.held():
                assert without_manifest(out) == told(OLD), "the next run finds it"
        assert without_manifest(out) in (told(OLD), told(NEW))
        publish(out, NEW)
        assert [path.name for path in out.parent.iterdir()] == ["out"]
        step += 1
    assert missing == 1


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no exchange of two folders that Python reaches")
def test_folders_are_exchanged_in_one_step(tmp_path: Path) -> None:
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / name).touch()
    assert swap._exchanged(tmp_path / "one", tmp_path / "other")
    assert [path.name for path in (tmp_path / "one").iterdir()] == ["other"]
    with pytest.raises(FileNotFoundError):
        swap._exchanged(tmp_path / "one", tmp_path / "nowhere")


def test_what_is_not_a_runs_stays(tmp_path: Path) -> None:
    for name in (".out.notes", ".out.0123456789abc", ".other.0123456789ab", "out.0123456789ab", ".out.0123456789ab"):
        (tmp_path / name).mkdir()
    publish(tmp_path / "out", NEW)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        ".other.0123456789ab",
        ".out.0123456789abc",
        ".out.notes",
        "out",
        "out.0123456789ab",
    ]
    assert json.loads((tmp_path / "out" / "manifest.json").read_text())["version"] == "x"
