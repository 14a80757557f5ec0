"""The local engine in processes: its lines are those of the engine in memory; what happens if a process ends."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exporter.engines import processes
from exporter.engines.local import LocalEngine
from exporter.engines.processes import ProcessEngine
from exporter.engines.worker_processes import WorkerProcesses
from exporter.errors import ExporterError, UsageError
from exporter.input import find
from exporter.pipeline import rounds
from exporter.pipeline.messages import To
from exporter.system.progress import NoProgress
from tests import exports
from tests.engines.test_engines import CASES, JOB, SAME, Drawn, drawn, exported, own_shapes, texts, written

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["own_shapes"]
ROOT: Final = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def workers() -> Iterator[WorkerProcesses]:
    with WorkerProcesses(2) as started:
        yield started


@settings(max_examples=12)
@given(drawn(), st.integers(1, 4), st.booleans(), st.booleans())
def test_processes_change_no_line(
    workers: WorkerProcesses,
    own_shapes: str,
    history: Drawn,
    partitions: int,
    has_shapes: bool,  # noqa: FBT001 - drawn
    daily: bool,  # noqa: FBT001 - drawn
) -> None:
    """In syntaxes whose files have no beginning."""
    job = replace(JOB, shapes=(own_shapes,) if has_shapes else (), daily=daily, syntaxes=("ntriples", "nquads"))
    whole = exported(LocalEngine(), history.records, job)
    with TemporaryDirectory() as folder:
        work = Path(folder)
        engine = ProcessEngine(workers, work)
        in_parts = replace(job, in_order=False, partitions=partitions)
        made = rounds.export(engine, [engine.read(history.records, in_parts)], in_parts, NoProgress())
        files = [path for name in made.names for path in work.glob(f"{name}/to=*/*")]
        lines = Counter(
            (path.parent.name.removeprefix("to="), line)
            for path in files
            for line in path.read_bytes().split(b"\n")
            if line
        )
        assert lines == texts(whole)
        assert made.counts == whole.counts
        assert made.refused == whole.refused
        assert _results(engine, made.results) == sorted(
            message.body for part in whole.results for message in part if message.to == To.RESULT
        )


def _results(engine: ProcessEngine, results: list[processes.Segments]) -> list[bytes]:
    return sorted(body for part in results for body in engine.bodies(part, To.RESULT))


@pytest.fixture
def in_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every input is a large one, of many blocks and partitions; messages are written often."""
    monkeypatch.setattr(find, "SMALL", 0)
    monkeypatch.setattr(processes, "_PARTITION", 20_000)
    monkeypatch.setattr(processes, "_READ_AT_ONCE", 5_000)
    monkeypatch.setattr(processes, "cores", lambda: 2)


@pytest.mark.parametrize(("name", "options"), [*zip(CASES, [("--pseudonyms", "KEY"), ()], strict=True)])
def test_an_export_in_processes_is_the_export_in_memory(
    name: str, options: tuple[str, ...], tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    inputs, given_options = written(CASES[name](), tmp_path)
    key = tmp_path / "key"
    key.write_bytes(b"sixteen or more bytes")
    given_options += [str(key) if option == "KEY" else option for option in options]
    outs = tmp_path / "memory", tmp_path / "processes"
    codes = [exports.export(inputs, outs[0], *given_options)]
    request.getfixturevalue("in_processes")
    codes.append(exports.export(inputs, outs[1], *given_options))
    assert codes[0] == codes[1] == (1 if CASES[name]().refusing else 0)
    assert len(list((outs[1] / "events").iterdir())) > 2
    for what in SAME:
        assert what(outs[0]) == what(outs[1]), what.__name__


@pytest.mark.usefixtures("in_processes")
def test_two_exports_of_the_same_rows_have_the_same_files(tmp_path: Path) -> None:
    inputs, options = written(CASES["own shapes"](), tmp_path)
    outs = tmp_path / "one", tmp_path / "two"
    for out in outs:
        exports.export(inputs, out, *options)
    first, second = (
        {str(path.relative_to(out)): path.read_bytes() for path in out.rglob("part-*") if path.is_file()}
        for out in outs
    )
    assert first
    assert first == second


# --- failures ---------------------------------------------------------------------------------------------------------


def _fails(how: str) -> int:
    """Called in a process."""
    if how == "dies":
        os.kill(os.getpid(), signal.SIGKILL)
    if how == "usage":
        raise UsageError("rows.ndjson: this is wrong; correct it")
    if how == "disk":
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "/there/part")
    if how == "cannot be sent":

        class LocalError(Exception):
            pass

        raise LocalError("of a function")
    return len(how)


@pytest.mark.parametrize(
    ("how", "kind", "said"),
    [
        ("usage", UsageError, "rows.ndjson: this is wrong; correct it"),
        ("disk", OSError, "No space left on device"),
        ("cannot be sent", RuntimeError, "LocalError: of a function"),
    ],
)
def test_the_error_of_a_process_is_raised_by_its_caller(how: str, kind: type[Exception], said: str) -> None:
    with WorkerProcesses(2) as workers:
        with pytest.raises(kind, match=said) as raised:
            list(workers.map(_fails, [("fine",), (how,)]))
        assert getattr(raised.value, "errno", errno.ENOSPC) == errno.ENOSPC
        assert list(workers.map(_fails, [("fine",)] * 5)) == [4] * 5


def test_a_process_that_dies_is_named() -> None:
    with (
        WorkerProcesses(2) as workers,
        pytest.raises(ExporterError, match=r"ended by signal 9: killed, or out of memory; check .* --engine spark"),
    ):
        list(workers.map(_fails, [("fine",), ("dies",), ("fine",)]))


def dies(*_: Any) -> None:
    """Called in a process."""
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.usefixtures("in_processes")
def test_an_export_whose_process_dies_publishes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = exports.ndjson(exports.all_rows()[:3], tmp_path / "rows.ndjson")
    monkeypatch.setattr(processes, "_read_part", dies)
    assert exports.export([rows], tmp_path / "out") == 4
    assert "a process of the local engine ended by signal 9: killed, or out of memory" in capsys.readouterr().err
    assert not [path for path in tmp_path.rglob("*") if path.is_dir()]


PROGRAM: Final = """
import sys
from exporter.engines.worker_processes import WorkerProcesses
from tests.engines.test_processes import waits
with WorkerProcesses(2) as workers:
    list(workers.map(waits, [(sys.argv[1], "0"), (sys.argv[1], "1")]))
"""


def waits(folder: str, name: str) -> None:
    """Called in a process: leave its number in a file, and wait."""
    Path(folder, name).write_text(str(os.getpid()), "utf-8")
    time.sleep(120)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_no_process_outlives_its_caller(number: signal.Signals, tmp_path: Path) -> None:
    caller = subprocess.Popen([sys.executable, "-c", PROGRAM, str(tmp_path)], cwd=ROOT, stderr=subprocess.DEVNULL)
    pids = [int(until(tmp_path / name)) for name in ("0", "1")]
    caller.send_signal(number)
    assert caller.wait(20) != 0
    give_up = time.monotonic() + 20
    while any(Path("/proc", str(pid), "exe").exists() for pid in pids) and time.monotonic() < give_up:
        time.sleep(0.05)
    assert not [pid for pid in pids if Path("/proc", str(pid), "exe").exists()]


def until(path: Path) -> str:
    """The text of a file, as soon as it has one."""
    give_up = time.monotonic() + 20
    while time.monotonic() < give_up:
        if path.exists() and (text := path.read_text("utf-8")):
            return text
        time.sleep(0.05)
    raise TimeoutError(path)
