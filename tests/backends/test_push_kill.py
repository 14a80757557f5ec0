"""A push that is killed, and the next one, which continues where it was."""

from __future__ import annotations

import errno
import os
import re
import resource
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Final

import pytest

from exporter.backends.ledger import SENDING, SET_ASIDE, TAKEN, Ledger, fingerprint
from exporter.cli import main
from tests import golden
from tests.backends.hostile import Asked, Hostile, Reply, folder, history
from tests.backends.pushing import counted, push, texts

if TYPE_CHECKING:
    from pathlib import Path

EVENTS: Final = history(100)
ALL: Final = len(EVENTS)
pytestmark = pytest.mark.usefixtures("alone")


def start(where: Path, server: Hostile, *options: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "exporter", "push", str(where), "--json", *options]
    root = str(golden.ROOT)
    env = {**os.environ, "OPENLINEAGE_URL": server.url, "PYTHONPATH": root}
    return subprocess.Popen(command, env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def wait_for(server: Hostile, count: int) -> None:
    until = time.monotonic() + 60
    while len(server.taken) < count:
        assert time.monotonic() < until
        time.sleep(0.002)


@pytest.mark.parametrize("taken", [1, 25, 120])
def test_after_a_kill_and_a_second_push_everything_has_arrived(
    taken: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    where = folder(tmp_path / "out", EVENTS)
    with Hostile(lambda _: Reply(hang=0.02)) as server:
        process = start(where, server)
        wait_for(server, taken)
        process.kill()
        process.communicate()
        assert process.returncode == -signal.SIGKILL
        server.settle()
        before = len(server.taken)
        assert before < ALL
        code, counts, said = push(where, server.url, capsys)
        twice = [text for text, count in texts(server.taken).items() if count > 1]
        on_their_way = int((re.findall(r"(\d+) events? (?:was|were) being sent", said) or ["0"])[0])
    assert code == 0
    assert set(texts(server.taken)) == set(texts(EVENTS)), "nothing lost"
    assert len(twice) <= on_their_way <= 8, "as many as go at once, at most"
    assert counts == counted(already_delivered=ALL - counts["delivered"], delivered=counts["delivered"])
    assert before + counts["delivered"] == ALL + len(twice)


def test_interrupted_by_a_person(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    where = folder(tmp_path / "out", EVENTS)
    with Hostile(lambda _: Reply(hang=0.02)) as server:
        process = start(where, server)
        wait_for(server, 30)
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=30)[1]
        assert process.returncode == 130
        assert "the next push continues from here" in said
        assert "Traceback" not in said
        assert push(where, server.url, capsys).code == 0
    assert texts(server.taken) == texts(EVENTS), "an interruption lets what is on its way arrive"


SCRIPT: Final = """
import sys
from exporter import push
push(sys.argv[1])
print("went on")
"""


def test_a_script_that_is_interrupted_does_not_go_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """docs/python.md: as everywhere in Python."""
    where = folder(tmp_path / "out", EVENTS)
    env = {**os.environ, "PYTHONPATH": str(golden.ROOT)}
    with Hostile(lambda _: Reply(hang=0.02)) as server:
        command = [sys.executable, "-c", SCRIPT, str(where)]
        process = subprocess.Popen(
            command,
            env={**env, "OPENLINEAGE_URL": server.url},
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        wait_for(server, 30)
        process.send_signal(signal.SIGINT)
        out, said = process.communicate(timeout=30)
        assert (process.returncode, out) == (-signal.SIGINT, "")
        assert "KeyboardInterrupt" in said
        assert push(where, server.url, capsys).code == 0
    assert texts(server.taken) == texts(EVENTS)


def test_the_order_holds_over_a_kill(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    where, last = folder(tmp_path / "out", EVENTS), dict[str, str]()
    with Hostile(lambda _: Reply(hang=0.02)) as server:
        process = start(where, server)
        wait_for(server, 100)
        process.kill()
        process.communicate()
        push(where, server.url, capsys)
    seen = set[str]()
    for event in (one for one in server.taken if "run" in one):
        place = f"{event['eventTime']} {event['eventType'] == 'COMPLETE'}"
        key = f"{event['run']['runId']} {place}"
        assert key in seen or last.get(event["job"]["name"], "") < place
        seen.add(key)
        last[event["job"]["name"]] = place


MARKS: Final = [fingerprint({"n": n}) for n in range(5)]


def test_a_ledger_with_an_incomplete_last_line(tmp_path: Path) -> None:
    lines = [f"{SENDING} {MARKS[0]}", f"{TAKEN} {MARKS[0]}", f"{SENDING} {MARKS[1]}", f"{SENDING} {MARKS[2]}"]
    lines += [f"{SET_ASIDE} {MARKS[2]}", f"{TAKEN} {MARKS[3][:-7]}"]
    for end in (0, 1, 5, 20):
        place = tmp_path / str(end)
        place.mkdir()
        (place / "ledger.txt").write_text("\n".join(lines)[: -end or None], "ascii")
        ledger = Ledger(place)
        assert (set(ledger.marks(TAKEN)), ledger.unfinished) == ({MARKS[0]}, {MARKS[1]})
        ledger.write(TAKEN, MARKS[4])
        ledger.close({})
        assert set(Ledger(place).marks(TAKEN)) == {MARKS[0], MARKS[4]}, "what is added does not stick to the torn line"


def test_a_line_that_does_not_fit_is_told_as_the_system_tells_it(tmp_path: Path) -> None:
    """``ulimit -f`` is no full disk: the system writes what fits, and says with the next byte what is wrong."""
    ledger = Ledger(tmp_path)
    ledger.write(TAKEN, MARKS[0])
    former = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50, former[1]))
    try:
        with pytest.raises(OSError, match="File too large") as raised:
            ledger.write(TAKEN, MARKS[1])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, former)
    assert (raised.value.errno, raised.value.filename) == (errno.EFBIG, str(tmp_path))
    ledger.write(TAKEN, MARKS[2])
    ledger.close({})
    assert set(Ledger(tmp_path).marks(TAKEN)) == {MARKS[0], MARKS[2]}


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    where = folder(tmp_path / "out", EVENTS[-3:])
    (where / "push").write_text("in the way")
    with Hostile() as server, pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENLINEAGE_URL", server.url)

        assert main(["push", str(where)]) == 2
    assert f"{where / 'push'}" in capsys.readouterr().err
    assert server.asked == list[Asked]()
