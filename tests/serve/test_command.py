"""``exporter serve``: how it starts and ends."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

import pytest

from exporter import cli
from tests.graph.shape_graphs import VALID

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def served(folder: Path, *options: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The server and its address."""
    graph = folder / "small.ttl"
    graph.write_bytes(VALID.read_bytes())
    command = [sys.executable, "-m", "exporter", "serve", str(graph), "--port", "0", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as server:
        try:
            yield server, server.stdout.readline().strip()
        finally:
            server.kill()


ENDLESS: Final = "SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l }"
DEADLINE: Final = 40
"""Seconds; a process that computes an answer goes on for more than a minute by itself."""


def children(process: int) -> list[str]:
    """The processes that any thread of a process has started."""
    lists = Path(f"/proc/{process}/task").glob("*/children")
    return [child for children in lists for child in children.read_text().split()]


def stat(process: str) -> list[str]:
    """The fields of proc(5)'s ``stat`` from the state on; empty if the process is gone."""
    with suppress(OSError):
        return Path("/proc", process, "stat").read_text().rpartition(")")[2].split()
    return []


def wait_until_gone(processes: list[str]) -> None:
    until = time.monotonic() + DEADLINE
    while [process for process in processes if stat(process)[:1] not in ([], ["Z"])]:
        assert time.monotonic() < until, "a process goes on"
        time.sleep(0.05)


def working_child(process: int) -> str:
    """A process that ``process`` has started, once it has worked for a second: longer than it takes to start."""
    until = time.monotonic() + DEADLINE
    while time.monotonic() < until:
        for child in children(process):
            used = stat(child)[11:12]
            if used and int(used[0]) > os.sysconf("SC_CLK_TCK"):
                return child
        time.sleep(0.05)
    raise AssertionError("no process computes an answer")


def test_a_process_that_computes_an_answer_ends_with_a_server_that_is_killed(tmp_path: Path) -> None:
    with served(tmp_path) as (server, address):
        asked = Thread(target=read, args=(f"{address}sparql?query={quote(ENDLESS)}",))
        asked.start()
        child = working_child(server.pid)
        server.kill()
        wait_until_gone([child])
        asked.join()


def read(url: str) -> None:
    with suppress(OSError):
        urllib.request.urlopen(url, timeout=DEADLINE).close()


def test_a_process_that_computes_an_answer_ends_with_a_query_that_is_killed(tmp_path: Path) -> None:
    (tmp_path / "endless.rq").write_text(ENDLESS)
    command = [sys.executable, "-m", "exporter", "query", str(tmp_path / "endless.rq"), "--graph", str(VALID)]
    with subprocess.Popen([*command, "--timeout", "600"], stderr=subprocess.DEVNULL) as query:
        child = working_child(query.pid)
        query.kill()
        wait_until_gone([child])


def test_a_process_that_watches_for_its_parent_late_ends_with_it() -> None:
    code = "from exporter.ask import worker; worker.confine(1 << 30); worker._end_with_parent()\nwhile True: pass"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE) as process:
        try:
            time.sleep(1)
            process.stdin.close()
            assert process.wait(DEADLINE) == 1
        finally:
            process.kill()


@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGTERM])
def test_it_serves_until_it_is_interrupted(tmp_path: Path, by: signal.Signals) -> None:
    with served(tmp_path) as (server, address):
        assert address.startswith("http://127.0.0.1:")
        with urllib.request.urlopen(f"{address}health", timeout=10) as answer:
            assert json.load(answer) == {"status": "ok"}
        workers = children(server.pid)
        server.send_signal(by)
        assert server.wait(20) == 130
        assert server.stdout.read() == ""
        assert "Traceback" not in (said := server.stderr.read())
        assert "warning" not in said
        wait_until_gone(workers)


def test_an_address_that_others_can_reach_causes_a_warning(tmp_path: Path) -> None:
    with served(tmp_path, "--host", "0.0.0.0") as (server, address):
        assert address.startswith("http://0.0.0.0:")
        server.send_signal(signal.SIGINT)
        assert "no login" in server.stderr.read()


def test_a_port_that_is_taken(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    graph = tmp_path / "small.ttl"
    graph.write_bytes(VALID.read_bytes())
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert cli.main(["serve", str(graph), "--port", str(port)]) == 2
    assert f"127.0.0.1:{port}" in capsys.readouterr().err


@pytest.mark.parametrize("folder", ["nowhere", "empty"])
def test_no_graph(tmp_path: Path, capsys: pytest.CaptureFixture[str], folder: str) -> None:
    (tmp_path / "empty").mkdir()
    assert cli.main(["serve", str(tmp_path / folder)]) == 2
    assert str(tmp_path / folder) in capsys.readouterr().err


def test_without_the_packages_it_says_what_to_install(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "exporter.serve.server", None)
    monkeypatch.setitem(sys.modules, "exporter.serve.server", None)
    monkeypatch.setattr("exporter.cli.serve._PACKAGES", ("exporter",))
    assert cli.main(["serve", str(tmp_path)]) == 2
    assert "pip install 'access-history-exporter[serve]'" in capsys.readouterr().err
